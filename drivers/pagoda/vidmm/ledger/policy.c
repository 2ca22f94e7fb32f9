// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of the victims that leave VRAM. policy.h has the order and the terms.
 *
 * Real programs use the same items in the same order each frame. When these don't fit into
 * VRAM, the least recently used item is just the item needed next, and plain LRU moves
 * everything in every frame. So an item's next use is predicted from the last intervals between
 * its uses, and the item with the latest next use leaves: an approximation of Belady's optimum,
 * which knows the future. The distance to the next use of an item that was last used a pages of
 * the clock ago, and has the predicted interval p, is
 *
 *	a <= p			p - a
 *	p < a <= p + p/8	0: the use is due
 *	a > p + p/8		2 a: the use is overdue
 *	no interval yet		2 a
 *
 * An overdue item, or an item used only once, may never be used again. Without a model of the
 * program the best guess is that it isn't used for another a pages. Its eviction probably costs
 * half, because an item that isn't used again is copied out, but not in: hence 2 a.
 *
 * A dirty item costs a copy out and a copy in for each interval in which it isn't in VRAM, a clean
 * one half of that, however much of the interval is left. So p is added to the distance of a clean
 * item, or 2 a if there is no prediction or the use is overdue. Only doubling the distance would
 * let go of a dirty item soon after its use, although it is copied in each interval from then on.
 *
 * What queued jobs list is known, in order: the next use of such an item isn't predicted. An item
 * of the same group that they don't list isn't used before they are done, so its distance is that
 * to the end of the queue, and what is predicted then.
 *
 * Idle goes before busy, and items that the CPU can't see before those that it can, only if
 * their distances differ by less than an eighth. If a factor of two was allowed, a program that
 * keeps all of VRAM busy moved 5 % more, and up to 10 % more in a simulation.
 *
 * A pick doesn't look at all candidates. The candidates of a rank are in lanes, each for the
 * clean or the dirty items of a group with intervals of the same power of two, known or
 * predicted, roughly in the order of last use, oldest use first: near the end of a lane is the
 * item whose next use is farthest away, near the beginning the item that is longest overdue.
 * Only the ends are looked at, so the cost of a pick doesn't depend on the number of candidates.
 * Likewise, of many groups' lanes for the same power of two only those are looked at that were
 * used most recently or least recently.
 *
 * Programs may defy prediction. &pagoda_policy.recent lists the items that would be in VRAM with
 * plain LRU, which tells how many pages plain LRU would have moved. When predictions have moved so
 * many pages more that chance doesn't explain the difference, plain LRU is used for a while: after
 * each further such failure for twice as long.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "lanes.h"
#include "policy.h"

static_assert(PAGODA_POLICY_CLASSES <= 64, "a class is a bit of pagoda_policy_level.filled");
static_assert(PAGODA_POLICY_LEVELS <= 64, "a level is a bit of pagoda_policy.filled");
static_assert(offsetof(struct pagoda_policy_item, recent) <= 64, "a pick reads one cache line");

/* The policy's pages are 4 KiB, the smallest size of an allocation, whatever PAGE_SIZE is. */
#define PAGE_BITS	12

/*
 * Shift for an eighth: intervals or distances that differ by less count as equal, because the
 * place of a use in a frame varies a little.
 */
#define SAME_SHIFT	3

/*
 * Number of candidates considered at each end of a lane: 2, so that a busy item doesn't hide an
 * idle item; not more, because each may be a cache miss. Number of lanes considered at each end of
 * a row.
 */
#define LOOKED_AT	2
#define LANES		4

/*
 * Pages by which predictions may have moved more than plain LRU by chance: a copy out and a
 * copy in of all of VRAM, because at any time the choices differ by at most VRAM's content.
 */
#define CHANCE(policy)	(2 * (policy)->capacity)

/* Most doublings of how long LRU chooses after predictions were worse: then trials are rare. */
#define FAILURES_MAX	16u

/*
 * struct policy_choice - best victim found so far; @key: policy_step() of @distance, then, in the
 * low bits, a bit each for idle, clean and not visible; the highest key is the best. Of an offered
 * item, @key is 1 if the item is idle, and @distance the number of offers since the item's
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
 * Returns the shortest of up to three last intervals: an item that is used after a long time is
 * often used more often from then on, so a single long interval isn't believed.
 */
static u32 interval_shortest(const struct pagoda_policy_item *item)
{
	u32 n, shortest = item->intervals[0];

	for (n = 1; n < min_t(u32, item->nr_intervals, PAGODA_POLICY_HISTORY - 1); n++)
		shortest = min(shortest, item->intervals[n]);
	return shortest;
}

/* Returns the predicted interval in pages of an item that was used at least twice. */
static u32 policy_predict(const struct pagoda_policy_item *item)
{
	return interval_alternates(item) ? item->intervals[1] : interval_shortest(item);
}

static bool policy_is_offered(const struct pagoda_policy_item *item)
{
	return item->rank < PAGODA_POLICY_OFFERS;
}

/* Returns &pagoda_policy.clock at the use of an item that the first queued job makes. */
static u64 queued_next(const struct pagoda_policy_item *item)
{
	return list_first_entry(&item->coming, struct pagoda_policy_coming, of_item)->when;
}

/*
 * Returns whether the next use of an item is known: a queued job lists the item. A job that is late
 * by as many pages as VRAM has waits for something else, for however long.
 */
static bool queued_soon(const struct pagoda_policy *policy, const struct pagoda_policy_item *item)
{
	return item->queued && policy->clock < queued_next(item) + policy->capacity;
}

/* Returns how many pages the queued jobs of an item's group use; none of them uses the item. */
static u64 queue_length(const struct pagoda_policy *policy, const struct pagoda_policy_item *item)
{
	u64 horizon = item->lane->group->horizon;

	return policy->expected ? horizon - min(horizon, policy->clock) : 0;
}

/* Returns how many pages @distance counts as, at the end of an interval of @interval pages. */
static u64 policy_weigh(const struct pagoda_policy_item *item, u64 distance, u64 interval)
{
	return item->clean ? distance + interval : distance;
}

/*
 * Returns how many pages an item's next use is away, plus the whole interval between its uses if
 * the item is clean. An item that no queued job uses is looked at as it will be after these jobs:
 * its use is as far away as predicted then, or twice the item's age (pages since its last use) if
 * there is no prediction or the use is overdue; the age alone if predictions are distrusted.
 */
static u64 policy_distance(const struct pagoda_policy *policy,
			   const struct pagoda_policy_item *item)
{
	u64 interval, queue, age;

	if (queued_soon(policy, item)) {
		u64 next = queued_next(item);

		return policy_weigh(item, next - min(next, policy->clock),
				    next - min(next, item->last));
	}
	queue = queue_length(policy, item);
	age = policy->clock + queue - item->last;
	if (policy->distrusts)
		return queue + age;
	interval = item->interval;
	if (!interval || age > interval + (interval >> SAME_SHIFT))
		return policy_weigh(item, queue + 2 * age, queue + 2 * age);
	return policy_weigh(item, queue + interval - min(age, interval), queue + interval);
}

/* Returns a logarithm of @distance; differs for distances that differ by over an eighth. */
static u32 policy_step(u64 distance)
{
	u32 shift = max(fls64(distance), SAME_SHIFT + 1) - SAME_SHIFT - 1;

	return (shift << SAME_SHIFT) + (distance >> shift);
}

static bool policy_is_idle(const struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	return !policy->is_busy || !policy->is_busy(item);
}

static u32 policy_key(const struct pagoda_policy *policy, struct pagoda_policy_item *item,
		      u64 distance)
{
	bool idle = policy_is_idle(policy, item);
	bool hidden = !item->visible;

	return policy_step(distance) << 3 | idle << 2 | item->clean << 1 | hidden;
}

/* Considers an offered candidate: idle goes before busy, then what was offered first. */
static void policy_consider_offered(const struct pagoda_policy *policy,
				    struct policy_choice *best, struct pagoda_policy_item *item)
{
	u64 distance = policy->offers - item->offered;
	bool sooner = !best->item || distance > best->distance;

	if (best->item && best->key && !sooner)
		return;
	if (policy_is_idle(policy, item))
		*best = (struct policy_choice){ item, 1, distance };
	else if (!best->item || (!best->key && sooner))
		*best = (struct policy_choice){ item, 0, distance };
}

static void policy_consider(struct pagoda_policy *policy, struct policy_choice *best,
			    struct list_head *at)
{
	struct pagoda_policy_item *item = list_entry(at, struct pagoda_policy_item, order);
	u64 distance;
	u32 key;

	policy->looked_at++;
	if (policy_is_offered(item)) {
		policy_consider_offered(policy, best, item);
		return;
	}
	distance = policy_distance(policy, item);
	/*
	 * Ask is_busy(), which is expensive, only for an item whose distance is at least about that
	 * of @best.
	 */
	if (best->item && policy_step(distance) < best->key >> 3)
		return;
	key = policy_key(policy, item, distance);
	if (best->item && (key < best->key || (key == best->key && distance <= best->distance)))
		return;
	*best = (struct policy_choice){ item, key, distance };
}

/*
 * Compares the LOOKED_AT candidates at each end of a lane with the best victim so far; in a short
 * lane some of them twice.
 */
static void policy_consider_lane(struct pagoda_policy *policy, struct policy_choice *best,
				 struct list_head *items)
{
	struct list_head *first = items->next, *last = items->prev;
	u32 n;

	for (n = 0; n < LOOKED_AT && first != items && last != items; n++) {
		policy_consider(policy, best, first);
		if (last != first)
			policy_consider(policy, best, last);
		first = first->next;
		last = last->prev;
	}
}

static bool policy_is_aside(const struct pagoda_policy_aside *aside,
			    const struct pagoda_policy_lane *lane)
{
	u32 i;

	for (i = 0; aside && i < aside->count; i++)
		if (aside->groups[i] == lane->group)
			return true;
	return false;
}

/* Considers up to LANES lanes at each end of a row that aren't set aside, each of them once. */
static void policy_consider_row(struct pagoda_policy *policy, struct policy_choice *best,
				struct list_head *row, const struct pagoda_policy_aside *aside)
{
	struct pagoda_policy_lane *lane;
	struct list_head *first, *last;
	u32 n = 0;

	for (first = row->next; first != row && n < LANES; first = first->next) {
		lane = list_entry(first, struct pagoda_policy_lane, order);
		if (policy_is_aside(aside, lane))
			continue;
		policy_consider_lane(policy, best, &lane->items);
		n++;
	}
	if (first == row)
		return;
	n = 0;
	for (last = row->prev; last != first->prev && n < LANES; last = last->prev) {
		lane = list_entry(last, struct pagoda_policy_lane, order);
		if (policy_is_aside(aside, lane))
			continue;
		policy_consider_lane(policy, best, &lane->items);
		n++;
	}
}

static bool policy_is_candidate(const struct pagoda_policy_item *item)
{
	return !list_empty(&item->order);
}

static void policy_unlink(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	if (policy_is_candidate(item))
		pagoda_lanes_leave(policy, item);
}

static u32 policy_class(const struct pagoda_policy_item *item)
{
	u64 next;

	if (policy_is_offered(item))
		return 0;
	if (!item->queued)
		return fls64(item->interval);
	next = queued_next(item);
	return PAGODA_POLICY_QUEUED + min_t(u32, fls64(next - min(next, item->last)),
					    PAGODA_POLICY_CLASSES - PAGODA_POLICY_QUEUED - 1);
}

static void policy_link(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	item->class = policy_class(item);
	pagoda_lanes_enter(policy, item, item->class);
}

/* Unlinks a candidate, does @change, on which the candidate's lane depends, and links it again. */
#define POLICY_RELINK(policy, item, change) do { \
	bool was_candidate = policy_is_candidate(item); \
	\
	policy_unlink(policy, item); \
	change; \
	if (was_candidate) \
		policy_link(policy, item); \
} while (0)

/* ---- Plain LRU instead of predicted uses, while LRU would move fewer pages ---------- */

/*
 * Predictions have moved more than plain LRU would have: has plain LRU choose the victims until it
 * has moved as many pages as it would have moved before the loss was noticed, or CHANCE() if that
 * is more; twice as many for each earlier failure in a row.
 */
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
		/* Limit the gain that is remembered, because an old gain would hide a new loss. */
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
	if (!item->lru_clean)
		judge_lru_moves(policy, item);
	item->lru_evicted = true;
}

/*
 * An item is used. Compares the policy's choice of victims, usually by predictions, with that of
 * plain LRU: counts the item's pages as copied in by the predictions if it was evicted as a victim,
 * and by plain LRU if plain LRU would have evicted it. Then plain LRU, too, takes note of the use.
 */
static void judge_use(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	if (item->evicted)
		policy->behind += item->pages;
	if (item->lru_evicted)
		judge_lru_moves(policy, item);
	if (list_empty(&item->recent))
		item->lru_clean = item->clean;
	item->evicted = false;
	item->lru_evicted = false;
	judge_forget(policy, item);
	list_add_tail(&item->recent, &policy->recent);
	policy->recent_pages += item->pages;
	while (policy->recent_pages > policy->capacity)
		judge_lru_evicts(policy);
	judge(policy);
}

/* ---- Functions for the memory manager ------------------------------------------- */

/*
 * Sets up a policy for empty VRAM of @vram_size bytes; the caller may set &pagoda_policy.is_busy
 * afterwards.
 */
void pagoda_policy_init(struct pagoda_policy *policy, u64 vram_size)
{
	u32 level, side, class;

	memset(policy, 0, sizeof(*policy));
	policy->capacity = vram_size >> PAGE_BITS;
	INIT_LIST_HEAD(&policy->recent);
	INIT_LIST_HEAD(&policy->owners);
	for (level = 0; level < PAGODA_POLICY_LEVELS; level++)
		for (side = 0; side < PAGODA_POLICY_SIDES; side++)
			for (class = 0; class < PAGODA_POLICY_CLASSES; class++)
				INIT_LIST_HEAD(&policy->levels[level].rows[side][class]);
}

static u8 policy_rank(u32 priority)
{
	priority = min(max(priority, DRM_PAGODA_RESIDENCY_MINIMUM), DRM_PAGODA_RESIDENCY_MAXIMUM);
	priority -= DRM_PAGODA_RESIDENCY_MINIMUM;
	return PAGODA_POLICY_OFFERS + priority / PAGODA_POLICY_FINEST;
}

/*
 * Fills in the item of a new allocation, which isn't in VRAM and has normal priority. The item
 * brings @lane, any memory, to the policy, and is in @group, which outlives the item.
 */
void pagoda_policy_add(struct pagoda_policy *policy, struct pagoda_policy_item *item,
		       struct pagoda_policy_lane *lane, struct pagoda_policy_group *group,
		       u64 size)
{
	u64 pages = (size + BIT_ULL(PAGE_BITS) - 1) >> PAGE_BITS;

	*lane = (struct pagoda_policy_lane){ .group = group };
	*item = (struct pagoda_policy_item){
		.lane = lane,
		.pages = min_t(u64, pages, U32_MAX),
		.last = policy->clock,
	};
	item->home_rank = policy_rank(DRM_PAGODA_RESIDENCY_NORMAL);
	item->rank = item->home_rank;
	INIT_LIST_HEAD(&item->order);
	INIT_LIST_HEAD(&item->recent);
	INIT_LIST_HEAD(&item->coming);
}

/*
 * Removes the item of an allocation that is freed. Returns a lane that the policy doesn't need any
 * more; the lane that the item brought may be in use.
 */
struct pagoda_policy_lane *pagoda_policy_remove(struct pagoda_policy *policy,
						struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	judge_forget(policy, item);
	return item->lane;
}

/* Moves an item to another group, which outlives the item or the next call for the item. */
void pagoda_policy_regroup(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			   struct pagoda_policy_group *group)
{
	POLICY_RELINK(policy, item, item->lane->group = group);
}

static void policy_remember(struct pagoda_policy_item *item, u64 interval)
{
	u32 n;

	for (n = PAGODA_POLICY_HISTORY - 1; n; n--)
		item->intervals[n] = item->intervals[n - 1];
	item->intervals[0] = min_t(u64, interval, U32_MAX);
	if (item->nr_intervals < PAGODA_POLICY_HISTORY)
		item->nr_intervals++;
	item->interval = policy_predict(item);
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
 * Notes that a job was queued that lists an item: the item's next use is known. Called once for
 * each allocation that the job lists, in the order of the list. @group: Group whose other items
 * aren't used before the job; NULL = there is none. @coming: any memory, the policy's until
 * pagoda_policy_forget()
 */
void pagoda_policy_expect(struct pagoda_policy *policy, struct pagoda_policy_group *group,
			  struct pagoda_policy_item *item, struct pagoda_policy_coming *coming)
{
	if (!policy->expected++)
		policy->horizon = policy->clock;
	policy->horizon = max(policy->horizon, policy->clock) + item->pages;
	if (group)
		group->horizon = policy->horizon;
	coming->item = item;
	coming->when = policy->horizon;
	if (item->queued)
		list_add_tail(&coming->of_item, &item->coming);
	else
		POLICY_RELINK(policy, item,
			      list_add_tail(&coming->of_item, &item->coming); item->queued = true);
}

/*
 * Notes that a job isn't queued any more, because its allocations are made resident now, or it was
 * dropped. Called for each use that pagoda_policy_expect() was told of.
 */
void pagoda_policy_forget(struct pagoda_policy *policy, struct pagoda_policy_coming *coming)
{
	struct pagoda_policy_item *item = coming->item;

	policy->expected--;
	if (!list_is_first(&coming->of_item, &item->coming)) {
		list_del_init(&coming->of_item);
		return;
	}
	POLICY_RELINK(policy, item,
		      list_del_init(&coming->of_item);
		      item->queued = !list_empty(&item->coming));
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

/* The item left VRAM, as a victim or for another reason: it is no candidate any more. */
void pagoda_policy_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
	if (!item->picked) {
		/* An item that isn't a victim would have left VRAM with plain LRU, too. */
		judge_forget(policy, item);
		item->lru_evicted = false;
		return;
	}
	item->picked = false;
	item->evicted = true;
	if (item->costs)
		policy->behind += item->pages;
	judge(policy);
}

/* Keeps an item in VRAM from being picked until pagoda_policy_use() or pagoda_policy_enter(). */
void pagoda_policy_hold(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy_unlink(policy, item);
}

/*
 * Notes that an item's content is offered, at an offer @priority; lower priorities leave first.
 * Does nothing if the item is offered already.
 */
void pagoda_policy_offer(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			 unsigned int priority)
{
	if (policy_is_offered(item))
		return;
	item->offered = ++policy->offers;
	POLICY_RELINK(policy, item,
		      item->rank = min(priority, PAGODA_POLICY_OFFERS - 1u));
}

/* The item isn't offered, or not any more: gives the item the rank of its residency priority. */
void pagoda_policy_reclaim(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	POLICY_RELINK(policy, item, item->rank = item->home_rank);
}

/* Sets an item's residency priority, clamped; has no effect while the item is offered. */
void pagoda_policy_set_priority(struct pagoda_policy *policy, struct pagoda_policy_item *item,
				u32 priority)
{
	item->home_rank = policy_rank(priority);
	if (!policy_is_offered(item))
		pagoda_policy_reclaim(policy, item);
}

/* Sets whether the CPU can reach the VRAM that the item is in. */
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible)
{
	POLICY_RELINK(policy, item, item->visible = visible);
}

/* Sets whether system memory has the item's content, too, so that an eviction needs no copy. */
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean)
{
	if (!clean)
		item->lru_clean = false;
	if (item->clean != clean)
		POLICY_RELINK(policy, item, item->clean = clean);
}

/*
 * Compares the candidates of a level with the best victim so far, @best; with NEED_VISIBLE only
 * those that the CPU can see.
 */
static void policy_pick_level(struct pagoda_policy *policy, struct policy_choice *best,
			      struct pagoda_policy_level *level, enum pagoda_policy_need need,
			      const struct pagoda_policy_aside *aside)
{
	u32 side = need == PAGODA_POLICY_NEED_VISIBLE ? PAGODA_POLICY_SIDES / 2 : 0;
	u64 left;

	for (; side < PAGODA_POLICY_SIDES; side++)
		for (left = level->filled[side]; left; left &= left - 1)
			policy_consider_row(policy, best, &level->rows[side][__ffs64(left)], aside);
}

/**
 * pagoda_policy_pick() - Choose a victim
 * @policy: Policy
 * @need: Kind of room that is needed
 * @aside: Candidates that aren't considered; NULL = none
 *
 * The victim isn't a candidate any more: the caller calls pagoda_policy_leave() when the victim has
 * left VRAM, or pagoda_policy_enter() if the victim stays.
 *
 * Return: The item, or NULL if there is no candidate.
 */
struct pagoda_policy_item *pagoda_policy_pick(struct pagoda_policy *policy,
					      enum pagoda_policy_need need,
					      const struct pagoda_policy_aside *aside)
{
	struct policy_choice best = {}, busy = {};
	u64 left;
	u32 level;

	for (left = policy->filled; left && !best.item; left &= left - 1) {
		level = __ffs64(left);
		if (level >= PAGODA_POLICY_OFFERS && (busy.item || (aside && aside->only_offered)))
			break;
		policy_pick_level(policy, &best, &policy->levels[level], need, aside);
		if (level >= PAGODA_POLICY_OFFERS || !best.item || best.key)
			continue;
		/* An idle item of a higher offer priority goes first. */
		if (!busy.item)
			busy = best;
		best.item = NULL;
	}
	if (!best.item)
		best = busy;
	if (!best.item)
		return NULL;
	policy_unlink(policy, best.item);
	best.item->picked = true;
	best.item->costs = !best.item->clean;
	return best.item;
}
