// SPDX-License-Identifier: GPL-2.0
/*
 * Victim choice: see policy.h for the questions it answers.
 *
 * Real programs repeat a frame's uses in the same order. When these don't fit into VRAM, the
 * least recently used item is just the one needed next, and plain LRU moves everything every
 * frame. So an item's next use is predicted from its last intervals, and the victim is the item
 * used again last: an approximation of what Belady's optimum does by looking ahead.
 *
 *	known interval p, used a ago:	a <= p		p - a to go
 *					a <= p + p/8	due: nothing to go
 *					later		overdue: 2 a
 *	no interval yet:				2 a
 *
 * An overdue item, or one used only once, may not be used any more. Without a model of the
 * program the best guess of how long it still isn't used is how long it hasn't been: a.
 * Evicting it is also cheaper, because an item that is never used again is copied out, but not
 * in: for the same bytes moved it may be half as far away, hence 2 a. The same holds for a clean
 * item, because it is copied in, but not out.
 *
 * Idle goes before busy, and items the CPU can't see before those it can, only between items
 * that are as far away but for an eighth. With a factor of two a program that keeps all of
 * VRAM busy moved 5 % more than without busy items, and up to a tenth more in a simulation.
 *
 * Victims are found without a look at all candidates. A row has the items with intervals of one
 * power of two, in the order of last use: the one that has longest to go is at its end, and the
 * one that is longest overdue at its beginning, up to what intervals of one power of two differ.
 * There are 33 rows, so a pick costs the same however many candidates there are.
 *
 * Programs may defy prediction. The items that would be in VRAM with plain LRU are kept track of
 * (a list and a sum: nothing else is needed to know what plain LRU moves). When the policy has
 * moved more than can be chance, the least recently used item goes for a while, twice as long
 * each time that happens again.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy.h"

static_assert(PAGODA_POLICY_RANKS <= 32, "a rank is a bit of pagoda_policy.filled");

/* The policy's own unit: the smallest size of an allocation. */
#define PAGE_BITS	12

/*
 * Intervals and distances that differ by less than an eighth count as equal: uses move about
 * within a frame and frames differ by some objects, but twice a frame or half a frame differs
 * by more.
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

/*
 * Limit of how often the time without predictions doubles: with it a trial costs next to
 * nothing.
 */
#define FAILURES_MAX	16u

/*
 * struct policy_choice - best candidate so far; @key: policy_step() of @distance, then idle,
 * clean, not visible
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
 * Two intervals that take turns, for two turns: a use in the shadow pass and another in the
 * main pass of each frame. Anything that repeats less regularly is left to interval_shortest().
 */
static bool interval_alternates(const struct pagoda_policy_item *item)
{
	const u32 *i = item->intervals;

	return item->nr_intervals == PAGODA_POLICY_HISTORY && interval_is_same(i[0], i[2]) &&
	       interval_is_same(i[1], i[3]) && !interval_is_same(i[0], i[1]);
}

/*
 * Returns a cautious guess. An item that comes back after a long time often stays for a while:
 * one long interval among short ones says little, so the last interval isn't believed alone.
 */
static u32 interval_shortest(const struct pagoda_policy_item *item)
{
	u32 n, shortest = item->intervals[0];

	for (n = 1; n < min_t(u32, item->nr_intervals, PAGODA_POLICY_HISTORY - 1); n++)
		shortest = min(shortest, item->intervals[n]);
	return shortest;
}

/* Returns the predicted interval; 0 if there is none yet. */
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

/*
 * Returns the distance to the predicted next use, doubled where eviction costs less; the age
 * while predictions are distrusted, or if the item is offered: no use of it is expected.
 */
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

/* Returns a distance on a scale on which a difference of an eighth is a step, or none. */
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

	/* An item that can't be better isn't asked whether it is busy, which costs more. */
	if (best->item && policy_step(distance) < best->key >> 3)
		return;
	key = policy_key(policy, item, distance);
	if (best->item && (key < best->key || (key == best->key && distance <= best->distance)))
		return;
	*best = (struct policy_choice){ item, key, distance };
}

/* Considers the candidates at both ends of a row; in a short row twice. */
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
 * Links an item at the end of its row. An item that wasn't just used may belong between the
 * ends; that place would take a search, and the item is found as well at the end.
 */
static void policy_link(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	struct pagoda_policy_rank *rank = &policy->ranks[item->rank];
	struct pagoda_policy_item *first;
	struct list_head *row;

	item->class = policy_is_offered(item) ? 0 : fls64(policy_predict(item));
	row = policy_row(policy, item);
	first = list_first_entry(row, struct pagoda_policy_item, order);
	if (!list_empty(row) && policy->clock - item->last > policy->clock - first->last)
		list_add(&item->order, row);
	else
		list_add_tail(&item->order, row);
	rank->filled[item->visible] |= BIT_ULL(item->class);
	policy->filled |= 1u << item->rank;
}

/* Changes something that the item's row depends on. */
#define POLICY_RELINK(policy, item, change) do { \
	bool was_candidate = policy_is_candidate(item); \
	\
	policy_unlink(policy, item); \
	change; \
	if (was_candidate) \
		policy_link(policy, item); \
} while (0)

/* ---- Whether predictions are worth it ---------------------------------------- */

/* Stops predictions for as long as the loss took to show, and longer each time that happens. */
static void judge_distrust(struct pagoda_policy *policy)
{
	u64 rest = max(policy->lru_moved, CHANCE(policy));

	policy->distrusts = true;
	policy->rest = rest << min(policy->failures, FAILURES_MAX);
	policy->failures++;
	policy->lru_moved = 0;
	policy->behind = 0;
}

static void judge(struct pagoda_policy *policy)
{
	s64 chance = CHANCE(policy);

	if (policy->distrusts && policy->lru_moved >= policy->rest) {
		policy->distrusts = false;
		policy->lru_moved = 0;
		policy->behind = 0;
	} else if (!policy->distrusts && policy->behind > chance) {
		judge_distrust(policy);
	} else if (!policy->distrusts && policy->behind < -chance) {
		/* An old gain excuses no loss: a gain beyond chance isn't remembered. */
		policy->behind = -chance;
		policy->lru_moved = 0;
		policy->failures = 0;
	}
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

/*
 * An item that comes back counts as moved once more: by predictions if these evicted it, by
 * plain LRU if that would have evicted it.
 */
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

/* ---- Interface ---------------------------------------------------------------- */

/* Sets up a policy for VRAM of a size. &pagoda_policy.is_busy may be set afterwards. */
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

/*
 * Fills the item of a new allocation: not in VRAM, not used, of normal priority, not visible,
 * not clean.
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

/* Removes the item of an allocation that is freed. */
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

/*
 * Notes that a submission uses an item in VRAM, which is a candidate from now on. Called once
 * for each item of a submission, in the order in which the submission names the allocations.
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

/*
 * Notes a use at an earlier @when of an item in VRAM, which is a candidate from now on. No
 * interval ends: how often the item was used isn't known.
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

/*
 * Makes an item in VRAM a candidate: it came without being used, or was held or picked and
 * stays.
 */
void pagoda_policy_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	item->picked = false;
	policy_link(policy, item);
}

/* Notes that an item, picked or not, isn't in VRAM any more. */
void pagoda_policy_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	if (!item->picked) {
		/* The item left for another reason: with plain LRU it would have left as well. */
		judge_forget(policy, item);
		item->lru_evicted = false;
		return;
	}
	item->picked = false;
	item->evicted = true;
	policy->behind += item->pages;
	judge(policy);
}

/* Keeps an item in VRAM from being picked until pagoda_policy_use() or _enter(). */
void pagoda_policy_hold(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
}

/* Notes that an item's content isn't needed; an item of a higher @priority leaves later. */
void pagoda_policy_offer(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			 unsigned int priority)
{
	POLICY_RELINK(policy, item,
		      item->rank = min(priority, PAGODA_POLICY_OFFERS - 1u));
}

/* Notes that the content of an item, offered or not, is needed again. */
void pagoda_policy_reclaim(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	POLICY_RELINK(policy, item, item->rank = item->home_rank);
}

/*
 * Sets the residency priority, clamped to its range. The priority of an offered item counts
 * once the item is reclaimed.
 */
void pagoda_policy_set_priority(struct pagoda_policy *policy, struct pagoda_policy_item *item,
				u32 priority)
{
	item->home_rank = policy_rank(priority);
	if (!policy_is_offered(item))
		pagoda_policy_reclaim(policy, item);
}

/* Notes whether the item lies in VRAM that the CPU can reach, where not all of VRAM is. */
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible)
{
	POLICY_RELINK(policy, item, item->visible = visible);
}

/* Notes whether system memory has the content, too, so that eviction needs no copy. */
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean)
{
	item->clean = clean;
}

/* Considers the candidates of a rank, for visible room those on the visible side only. */
static void policy_pick_rank(struct pagoda_policy *policy, struct policy_choice *best,
			     struct pagoda_policy_rank *rank, enum pagoda_policy_need need)
{
	u32 side = need == PAGODA_POLICY_NEED_VISIBLE ? 1 : 0;
	u64 left;

	for (; side < PAGODA_POLICY_SIDES; side++)
		for (left = rank->filled[side]; left; left &= left - 1)
			policy_consider_row(policy, best, &rank->rows[side][__ffs64(left)]);
}

/**
 * pagoda_policy_pick() - Choose a victim
 * @policy: Policy
 * @need: Kind of room that is needed
 *
 * The victim is held. pagoda_policy_leave() says that it left; a victim that can't leave is kept
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
		policy_pick_rank(policy, &best, &policy->ranks[__ffs64(left)], need);
	if (!best.item)
		return NULL;
	policy_unlink(policy, best.item);
	best.item->picked = true;
	return best.item;
}
