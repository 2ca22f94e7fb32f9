// SPDX-License-Identifier: GPL-2.0
/*
 * Victim choice: see include/pagoda/policy.h for what is asked of it.
 *
 * Real programs repeat a frame's uses in the same order. When these don't fit into VRAM, the
 * longest unused is just what is needed next, and plain LRU moves everything every frame. So an
 * item's next use is predicted from its last intervals, and the victim is who is used again
 * last: an approximation of what Belady's optimum does by looking ahead.
 *
 *	known interval p, used a ago:	a <= p		p - a to go
 *					a <= p + p/8	due: nothing to go
 *					later		overdue: 2 a
 *	no interval yet:				2 a
 *
 * What is overdue, or was used only once, may be used no more. Without a model of the
 * program the best guess of how long it still isn't used is how long it hasn't been: a.
 * Evicting it is also cheaper, because what is never used again is copied out, but not in:
 * for the same bytes moved it may be half as far away, hence 2 a. So may be what is clean,
 * because it is copied in, but not out.
 *
 * Idle goes before busy, and what the CPU can't see before what it can, only between those
 * that are as far away but for an eighth. With a factor of two a program that keeps all of
 * VRAM busy moved 5 % more than with nobody busy, and up to a tenth more in a simulation.
 *
 * Victims are found without a look at all candidates. A row has the items whose intervals
 * are of one power of two, in the order of last use: who has longest to go is at its end, and
 * who is longest overdue at its beginning, up to what intervals of one power of two differ.
 * There are 33 rows, so a pick costs the same however many candidates there are.
 *
 * Programs may defy prediction. Who would be in VRAM with plain LRU is kept track of (a list
 * and a sum: nothing else is needed to know what plain LRU moves). When the policy has moved
 * more by what can't be chance, the longest unused goes for a while, twice as long each time
 * that happens again.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <pagoda/policy.h>

static_assert(PAGODA_POLICY_RANKS <= 32, "a rank is a bit of pagoda_policy.filled");

/* The policy's own unit: the smallest size of an allocation. */
#define PAGE_BITS	12

/*
 * Intervals and distances that differ by less than an eighth are the same: uses move about
 * within a frame and frames differ by some objects, but what is twice a frame or half of one
 * differs by more.
 */
#define SAME_SHIFT	3

/*
 * Candidates looked at from each end of a row: one more than the first, so that a busy item
 * doesn't hide an idle one, and few, because each may be a cache miss.
 */
#define LOOKED_AT	2

/*
 * Two ways to choose differ by at most the whole content of VRAM at any time: a copy out and a
 * copy in of all of it. Less may be chance and comes back; more is a loss.
 */
#define CHANCE(policy)	(2 * (policy)->capacity)

/* How often the time without predictions doubles: then a trial costs next to nothing. */
#define FAILURES_MAX	16u

/**
 * struct policy_choice - The best candidate so far
 * @item: It, or NULL
 * @key: How good it is roughly: policy_step() of @distance, then idle, clean, not visible
 * @distance: policy_distance()
 */
struct policy_choice {
	struct pagoda_policy_item *item;
	u32 key;
	u64 distance;
};

static bool interval_is_same(u32 a, u32 b)
{
	u32 longer = max(a, b);

	return longer - min(a, b) <= longer >> SAME_SHIFT;
}

/*
 * Two intervals that take turns, for two turns: a use in the shadow pass and one in the main
 * pass of each frame. Anything that repeats less regularly is left to interval_shortest().
 */
static bool interval_alternates(const struct pagoda_policy_item *item)
{
	const u32 *i = item->intervals;

	return item->nr_intervals == PAGODA_POLICY_HISTORY && interval_is_same(i[0], i[2]) &&
	       interval_is_same(i[1], i[3]) && !interval_is_same(i[0], i[1]);
}

/*
 * The cautious guess. Who comes back after a long time often stays for a while: one long
 * interval among short ones says little, so the last is not believed alone.
 */
static u32 interval_shortest(const struct pagoda_policy_item *item)
{
	u32 n, shortest = item->intervals[0];

	for (n = 1; n < min_t(u32, item->nr_intervals, PAGODA_POLICY_HISTORY - 1); n++)
		shortest = min(shortest, item->intervals[n]);
	return shortest;
}

/* 0: can't be told. */
static u32 policy_predict(const struct pagoda_policy_item *item)
{
	if (!item->nr_intervals)
		return 0;
	return interval_alternates(item) ? item->intervals[1] : interval_shortest(item);
}

static bool policy_is_offered(const struct pagoda_policy_item *item)
{
	return item->rank < PAGODA_POLICY_OFFERS;
}

/* As far away as is worth evicting it. Of what is offered nobody expects a use. */
static u64 policy_distance(const struct pagoda_policy *policy,
			   const struct pagoda_policy_item *item)
{
	u64 age = policy->clock - item->last;
	u64 interval = policy_predict(item);

	if (policy->distrusts || policy_is_offered(item))
		return age;
	if (!interval || age > interval + (interval >> SAME_SHIFT))
		return (2 * age) << item->clean;
	return (interval - min(age, interval)) << item->clean;
}

/* Distances on a scale on which an eighth more or less is a step, or none. */
static u32 policy_step(u64 distance)
{
	u32 shift = max(fls64(distance), SAME_SHIFT + 1) - SAME_SHIFT - 1;

	return (shift << SAME_SHIFT) + (distance >> shift);
}

static u32 policy_key(const struct pagoda_policy *policy, struct pagoda_policy_item *item,
		      u64 distance)
{
	bool idle = !policy->is_busy || !policy->is_busy(item);
	bool hidden = !item->visible;

	return policy_step(distance) << 3 | idle << 2 | item->clean << 1 | hidden;
}

static void policy_consider(const struct pagoda_policy *policy, struct policy_choice *best,
			    struct list_head *at)
{
	struct pagoda_policy_item *item = list_entry(at, struct pagoda_policy_item, order);
	u64 distance = policy_distance(policy, item);
	u32 key;

	/* Who can't be better needn't be asked whether it is busy. */
	if (best->item && policy_step(distance) < best->key >> 3)
		return;
	key = policy_key(policy, item, distance);
	if (best->item && (key < best->key || (key == best->key && distance <= best->distance)))
		return;
	*best = (struct policy_choice){ item, key, distance };
}

/* Both ends; a short row is looked at twice. */
static void policy_consider_row(const struct pagoda_policy *policy, struct policy_choice *best,
				struct list_head *row)
{
	struct list_head *first = row->next, *last = row->prev;
	u32 n;

	for (n = 0; n < LOOKED_AT && first != row && last != row; n++) {
		policy_consider(policy, best, first);
		if (last != first)
			policy_consider(policy, best, last);
		first = first->next;
		last = last->prev;
	}
}

static void policy_consider_side(struct pagoda_policy *policy, struct policy_choice *best,
				 struct pagoda_policy_rank *rank, u32 side)
{
	u64 left;

	for (left = rank->filled[side]; left; left &= left - 1)
		policy_consider_row(policy, best, &rank->rows[side][__ffs64(left)]);
}

/* Of 0 there is none: the bits of an empty mask. */
static u32 policy_class(u32 interval)
{
	return fls64(interval);
}

static struct list_head *policy_row(struct pagoda_policy *policy,
				    struct pagoda_policy_item *item)
{
	return &policy->ranks[item->rank].rows[item->visible][item->class];
}

static bool policy_is_candidate(const struct pagoda_policy_item *item)
{
	return !list_empty(&item->order);
}

static void policy_unlink(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	struct pagoda_policy_rank *rank = &policy->ranks[item->rank];

	if (!policy_is_candidate(item))
		return;
	list_del_init(&item->order);
	if (!list_empty(policy_row(policy, item)))
		return;
	rank->filled[item->visible] &= ~BIT_ULL(item->class);
	if (!rank->filled[0] && !rank->filled[1])
		policy->filled &= ~(1u << item->rank);
}

/*
 * At the end of its row that it belongs to. Who wasn't just used may belong between the
 * ends; there it would take a search, and is found as well where it is.
 */
static void policy_link(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	struct pagoda_policy_rank *rank = &policy->ranks[item->rank];
	struct pagoda_policy_item *first;
	struct list_head *row;

	item->class = policy_is_offered(item) ? 0 : policy_class(policy_predict(item));
	row = policy_row(policy, item);
	first = list_first_entry(row, struct pagoda_policy_item, order);
	if (!list_empty(row) && policy->clock - item->last > policy->clock - first->last)
		list_add(&item->order, row);
	else
		list_add_tail(&item->order, row);
	rank->filled[item->visible] |= BIT_ULL(item->class);
	policy->filled |= 1u << item->rank;
}

/* Changes something that rows depend on. */
#define POLICY_RELINK(policy, item, change) do { \
	bool was_candidate = policy_is_candidate(item); \
	\
	policy_unlink(policy, item); \
	change; \
	if (was_candidate) \
		policy_link(policy, item); \
} while (0)

/* ---- Whether predictions are worth it ---------------------------------------- */

/* For as long as it took to find out, which may have been long, and longer each time. */
static void judge_distrust(struct pagoda_policy *policy)
{
	u64 rest = max(policy->lru_moved, CHANCE(policy));

	policy->distrusts = true;
	policy->rest = rest << min(policy->failures, FAILURES_MAX);
	policy->failures++;
	policy->lru_moved = 0;
	policy->behind = 0;
}

static void judge_try_again(struct pagoda_policy *policy)
{
	policy->distrusts = false;
	policy->lru_moved = 0;
	policy->behind = 0;
}

/* What was gained long ago excuses no loss: beyond what may be chance it isn't remembered. */
static void judge_success(struct pagoda_policy *policy)
{
	policy->behind = -(s64)CHANCE(policy);
	policy->lru_moved = 0;
	policy->failures = 0;
}

static void judge(struct pagoda_policy *policy)
{
	s64 chance = CHANCE(policy);

	if (policy->distrusts && policy->lru_moved >= policy->rest)
		judge_try_again(policy);
	else if (!policy->distrusts && policy->behind > chance)
		judge_distrust(policy);
	else if (!policy->distrusts && policy->behind < -chance)
		judge_success(policy);
}

static void judge_lru_moves(struct pagoda_policy *policy, const struct pagoda_policy_item *item)
{
	policy->behind -= item->pages;
	policy->lru_moved += item->pages;
}

static void judge_forget(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	if (list_empty(&item->recent))
		return;
	list_del_init(&item->recent);
	policy->recent_pages -= item->pages;
}

static void judge_lru_evicts(struct pagoda_policy *policy)
{
	struct pagoda_policy_item *item =
		list_first_entry(&policy->recent, struct pagoda_policy_item, recent);

	judge_forget(policy, item);
	judge_lru_moves(policy, item);
	item->lru_evicted = true;
}

/* Both pay for who comes back after they evicted it. */
static void judge_use(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	if (item->evicted)
		policy->behind += item->pages;
	if (item->lru_evicted)
		judge_lru_moves(policy, item);
	item->evicted = false;
	item->lru_evicted = false;
	judge_forget(policy, item);
	list_add_tail(&item->recent, &policy->recent);
	policy->recent_pages += item->pages;
	while (policy->recent_pages > policy->capacity)
		judge_lru_evicts(policy);
	judge(policy);
}

/* ---- What the manager calls -------------------------------------------------- */

/**
 * pagoda_policy_init() - Before anything else
 * @policy: Policy; &pagoda_policy.is_busy may be set afterwards
 * @vram_size: Bytes that allocations can have at once
 */
void pagoda_policy_init(struct pagoda_policy *policy, u64 vram_size)
{
	u32 rank, side, class;

	memset(policy, 0, sizeof(*policy));
	policy->capacity = vram_size >> PAGE_BITS;
	INIT_LIST_HEAD(&policy->recent);
	for (rank = 0; rank < PAGODA_POLICY_RANKS; rank++)
		for (side = 0; side < PAGODA_POLICY_SIDES; side++)
			for (class = 0; class < PAGODA_POLICY_CLASSES; class++)
				INIT_LIST_HEAD(&policy->ranks[rank].rows[side][class]);
}

static u8 policy_rank(u32 priority)
{
	priority = min(max(priority, DRM_PAGODA_RESIDENCY_MINIMUM), DRM_PAGODA_RESIDENCY_MAXIMUM);
	priority -= DRM_PAGODA_RESIDENCY_MINIMUM;
	return PAGODA_POLICY_OFFERS + priority / PAGODA_POLICY_FINEST;
}

/**
 * pagoda_policy_add() - An allocation was made
 * @policy: Policy
 * @item: Not in VRAM, not used, of normal priority, not visible, dirty
 * @size: Bytes
 */
void pagoda_policy_add(struct pagoda_policy *policy, struct pagoda_policy_item *item, u64 size)
{
	u64 pages = (size + BIT_ULL(PAGE_BITS) - 1) >> PAGE_BITS;

	*item = (struct pagoda_policy_item){
		.pages = min_t(u64, pages, U32_MAX),
		.last = policy->clock,
	};
	item->home_rank = policy_rank(DRM_PAGODA_RESIDENCY_NORMAL);
	item->rank = item->home_rank;
	INIT_LIST_HEAD(&item->order);
	INIT_LIST_HEAD(&item->recent);
}

/**
 * pagoda_policy_remove() - An allocation is freed
 * @policy: Policy
 * @item: Not to be used any more
 */
void pagoda_policy_remove(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	judge_forget(policy, item);
}

static void policy_remember(struct pagoda_policy_item *item, u64 interval)
{
	u32 n;

	for (n = PAGODA_POLICY_HISTORY - 1; n; n--)
		item->intervals[n] = item->intervals[n - 1];
	item->intervals[0] = min_t(u64, interval, U32_MAX);
	if (item->nr_intervals < PAGODA_POLICY_HISTORY)
		item->nr_intervals++;
}

/**
 * pagoda_policy_use() - A submission uses an allocation
 * @policy: Policy
 * @item: In VRAM by now; a candidate from now on
 *
 * Once a submission, in the order in which it names them.
 */
void pagoda_policy_use(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	item->picked = false;
	policy->clock += item->pages;
	judge_use(policy, item);
	if (item->used)
		policy_remember(item, policy->clock - item->last);
	item->used = true;
	item->last = policy->clock;
	policy_link(policy, item);
}

/**
 * pagoda_policy_use_late() - A use is reported late
 * @policy: Policy
 * @item: In VRAM; a candidate from now on
 * @when: &pagoda_policy.clock then
 *
 * Says that it was used, not how often: it is no interval.
 */
void pagoda_policy_use_late(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			    u64 when)
{
	policy_unlink(policy, item);
	item->picked = false;
	judge_use(policy, item);
	item->used = true;
	item->last = when;
	policy_link(policy, item);
}

/**
 * pagoda_policy_enter() - An allocation is in VRAM and may be picked
 * @policy: Policy
 * @item: Came without being used, or was held or picked and stays
 */
void pagoda_policy_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	item->picked = false;
	policy_link(policy, item);
}

/**
 * pagoda_policy_leave() - An allocation isn't in VRAM any more
 * @policy: Policy
 * @item: It, picked or not
 */
void pagoda_policy_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	if (!item->picked) {
		/* Who chooses doesn't matter: with plain LRU it would have left as well. */
		judge_forget(policy, item);
		item->lru_evicted = false;
		return;
	}
	item->picked = false;
	item->evicted = true;
	policy->behind += item->pages;
	judge(policy);
}

/**
 * pagoda_policy_hold() - An allocation in VRAM may not be picked for now
 * @policy: Policy
 * @item: It; until pagoda_policy_use() or pagoda_policy_enter()
 */
void pagoda_policy_hold(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
}

/**
 * pagoda_policy_offer() - The content isn't needed
 * @policy: Policy
 * @item: It
 * @priority: Below %PAGODA_POLICY_OFFERS; who has more goes later
 */
void pagoda_policy_offer(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			 unsigned int priority)
{
	POLICY_RELINK(policy, item,
		      item->rank = min(priority, PAGODA_POLICY_OFFERS - 1u));
}

/**
 * pagoda_policy_reclaim() - The content is needed again
 * @policy: Policy
 * @item: It; offered or not
 */
void pagoda_policy_reclaim(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	POLICY_RELINK(policy, item, item->rank = item->home_rank);
}

/**
 * pagoda_policy_set_priority() - Sets the residency priority
 * @policy: Policy
 * @item: It; if it is offered the priority counts when it is reclaimed
 * @priority: As WDDM counts; what is out of range is taken for the nearest that isn't
 */
void pagoda_policy_set_priority(struct pagoda_policy *policy, struct pagoda_policy_item *item,
				u32 priority)
{
	item->home_rank = policy_rank(priority);
	if (!policy_is_offered(item))
		pagoda_policy_reclaim(policy, item);
}

/**
 * pagoda_policy_set_visible() - Says whether the CPU can see an allocation where it is
 * @policy: Policy
 * @item: It
 * @visible: Whether it lies in VRAM that the CPU can reach, where not all is
 */
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible)
{
	POLICY_RELINK(policy, item, item->visible = visible);
}

/**
 * pagoda_policy_set_clean() - Says whether eviction has to copy
 * @policy: Policy
 * @item: It
 * @clean: System memory has the content, too
 */
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean)
{
	item->clean = clean;
}

/* A rank that has nothing on the side asked for is as good as empty. */
static void policy_pick_rank(struct pagoda_policy *policy, struct policy_choice *best, u32 rank,
			     enum pagoda_policy_need need)
{
	u32 side = need == PAGODA_POLICY_NEED_VISIBLE ? 1 : 0;

	for (; side < PAGODA_POLICY_SIDES; side++)
		policy_consider_side(policy, best, &policy->ranks[rank], side);
}

/**
 * pagoda_policy_pick() - Chooses a victim
 * @policy: Policy
 * @need: What room is needed
 *
 * The victim is held. pagoda_policy_leave() says that it went; when it can't, it is kept
 * aside until the search is over, and pagoda_policy_enter() makes it a candidate again.
 *
 * Return: The item, or NULL if there is no candidate.
 */
struct pagoda_policy_item *pagoda_policy_pick(struct pagoda_policy *policy,
					      enum pagoda_policy_need need)
{
	struct policy_choice best = {};
	u32 left;

	for (left = policy->filled; left && !best.item; left &= left - 1)
		policy_pick_rank(policy, &best, __ffs64(left), need);
	if (!best.item)
		return NULL;
	policy_unlink(policy, best.item);
	best.item->picked = true;
	return best.item;
}
