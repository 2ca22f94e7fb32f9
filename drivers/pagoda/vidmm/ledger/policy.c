// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of the victims that leave VRAM. policy.h has the order and the terms.
 *
 * Real programs use the same items in the same order each frame. When these don't fit into
 * VRAM, the least recently used item is just the item needed next, and plain LRU moves
 * everything in every frame. So an item's next use is predicted from its last intervals, and
 * the item with the latest next use leaves: an approximation of Belady's optimum, which knows
 * the future. The distance to the next use of an item that was used a pages ago is
 *
 *	predicted interval p:	a <= p		p - a
 *				a <= p + p/8	0, the use is due
 *				a > p + p/8	2 a, overdue
 *	no interval yet:			2 a
 *
 * An overdue item, or an item used only once, may never be used again. Without a model of the
 * program the best guess is that it isn't used for another a pages. Its eviction probably costs
 * half, because an item that isn't used again is copied out, but not in: hence 2 a. The
 * distance of a clean item is doubled, too, because it is copied in, but not out.
 *
 * Idle goes before busy, and items that the CPU can't see before those that it can, only if
 * their distances differ by less than an eighth. If a factor of two was allowed, a program that
 * keeps all of VRAM busy moved 5 % more, and up to 10 % more in a simulation.
 *
 * A pick doesn't look at all candidates. Each row has the items with predicted intervals of the
 * same power of two, in the order of last use: near its end is the item whose next use is
 * farthest away, near its beginning the item that is longest overdue. There are 33 rows, so the
 * cost of a pick doesn't depend on the number of candidates.
 *
 * Programs may defy prediction. A list has the items that would be in VRAM with plain LRU,
 * which tells how many pages plain LRU would have moved. When predictions have moved more by
 * more than chance explains, plain LRU is used for a while, twice as long each time that
 * happens again.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "policy.h"

static_assert(PAGODA_POLICY_RANKS <= 32, "a rank is a bit of pagoda_policy.filled");

/* The policy's pages are 4 KiB, the smallest size of an allocation, whatever PAGE_SIZE is. */
#define PAGE_BITS	12

/*
 * Shift for an eighth: intervals or distances that differ by less count as equal, because the
 * place of a use in a frame varies a little.
 */
#define SAME_SHIFT	3

/*
 * Number of candidates considered at each end of a row: 2, so that a busy item doesn't hide an
 * idle item; not more, because each may be a cache miss.
 */
#define LOOKED_AT	2

/*
 * Pages by which predictions may have moved more than plain LRU by chance: a copy out and a
 * copy in of all of VRAM, because at any time the choices differ by at most VRAM's content.
 */
#define CHANCE(policy)	(2 * (policy)->capacity)

/* Most doublings of the time without predictions; then trials cost next to nothing. */
#define FAILURES_MAX	16u

/*
 * struct policy_choice - best candidate so far; @key: policy_step() of @distance, then a bit
 * each for idle, clean and not visible; the highest key is the best
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
 * Returns whether two different intervals have alternated twice, as for an item that is used in
 * a frame's shadow pass and in its main pass.
 */
static bool interval_alternates(const struct pagoda_policy_item *item)
{
	const u32 *i = item->intervals;

	return item->nr_intervals == PAGODA_POLICY_HISTORY && interval_is_same(i[0], i[2]) &&
	       interval_is_same(i[1], i[3]) && !interval_is_same(i[0], i[1]);
}

/*
 * Returns the shortest of the last three intervals: an item that is used after a long time is
 * often used more often from then on, so a single long interval isn't believed.
 */
static u32 interval_shortest(const struct pagoda_policy_item *item)
{
	u32 n, shortest = item->intervals[0];

	for (n = 1; n < min_t(u32, item->nr_intervals, PAGODA_POLICY_HISTORY - 1); n++)
		shortest = min(shortest, item->intervals[n]);
	return shortest;
}

/* Returns the predicted interval in pages; 0 before the item's second use. */
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
 * Returns the distance to the predicted next use in pages, doubled where eviction costs less;
 * or the time since the last use, if predictions are distrusted or the item is offered.
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

/* Returns a logarithm of @distance: the values differ if distances differ by over an eighth. */
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

	/* is_busy() is expensive: skip an item whose distance alone makes it worse. */
	if (best->item && policy_step(distance) < best->key >> 3)
		return;
	key = policy_key(policy, item, distance);
	if (best->item && (key < best->key || (key == best->key && distance <= best->distance)))
		return;
	*best = (struct policy_choice){ item, key, distance };
}

/* Considers LOOKED_AT candidates at each end of a row; those of a short row twice. */
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
 * Links an item at the end of its row, or at the beginning if its last use is the oldest. The
 * right place in between would take a search, and only items at the ends are considered.
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

/* Does @change, which the item's row depends on, while the item is in no row. */
#define POLICY_RELINK(policy, item, change) do { \
	bool was_candidate = policy_is_candidate(item); \
	\
	policy_unlink(policy, item); \
	change; \
	if (was_candidate) \
		policy_link(policy, item); \
} while (0)

/* ---- Whether predictions are worth it ---------------------------------------- */

/* Stops predictions for as long as the loss took to show, times two for each earlier failure. */
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
		/* Limit the gain that is remembered: an old gain must not hide a new loss. */
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
 * Counts a used item as copied in: by predictions if it was evicted as a victim, by plain LRU
 * if plain LRU would have evicted it.
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

/* Sets up a policy for empty VRAM of @vram_size bytes; the caller may set @is_busy. */
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

/* Fills in the item of a new allocation, which isn't in VRAM and has normal priority. */
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
 * Notes that a submission uses an item in VRAM; the item becomes a candidate. Called once for
 * each allocation that the submission lists, in the order of the list.
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
 * Notes that an item in VRAM was last used at an earlier time @when; the item becomes a
 * candidate. No interval is recorded, because the number of uses isn't known.
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
 * Makes an item in VRAM a candidate: when the item came to VRAM without being used, when
 * pagoda_policy_hold() ends, or when a picked victim stays.
 */
void pagoda_policy_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	item->picked = false;
	policy_link(policy, item);
}

/* Notes that an item left VRAM, as a victim or for another reason. */
void pagoda_policy_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	if (!item->picked) {
		/* The item isn't a victim: it would have left VRAM with plain LRU, too. */
		judge_forget(policy, item);
		item->lru_evicted = false;
		return;
	}
	item->picked = false;
	item->evicted = true;
	policy->behind += item->pages;
	judge(policy);
}

/* Keeps an item in VRAM from being picked until pagoda_policy_use() or pagoda_policy_enter(). */
void pagoda_policy_hold(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
}

/* Notes that an item's content is offered, at an offer @priority; lower priorities leave first. */
void pagoda_policy_offer(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			 unsigned int priority)
{
	POLICY_RELINK(policy, item,
		      item->rank = min(priority, PAGODA_POLICY_OFFERS - 1u));
}

/* Notes that an item isn't offered, or not any more: its residency priority counts. */
void pagoda_policy_reclaim(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	POLICY_RELINK(policy, item, item->rank = item->home_rank);
}

/* Sets an item's residency priority, clamped; it counts once the item isn't offered. */
void pagoda_policy_set_priority(struct pagoda_policy *policy, struct pagoda_policy_item *item,
				u32 priority)
{
	item->home_rank = policy_rank(priority);
	if (!policy_is_offered(item))
		pagoda_policy_reclaim(policy, item);
}

/* Notes whether the CPU can reach the VRAM that the item is in. */
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible)
{
	POLICY_RELINK(policy, item, item->visible = visible);
}

/* Notes whether system memory has the item's content, too, so that eviction needs no copy. */
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean)
{
	item->clean = clean;
}

/* Considers a rank's candidates; for visible room only those that the CPU can see. */
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
 * The victim is no candidate until the caller calls pagoda_policy_leave(), because it left
 * VRAM, or pagoda_policy_enter(), because it stays.
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
