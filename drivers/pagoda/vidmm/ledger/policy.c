// SPDX-License-Identifier: GPL-2.0
/*
 * What the choice of victims knows of items: notes their uses, moves, offers and priorities, and
 * predicts the intervals between uses. policy.h has the order and the terms, policy_pick.c the
 * choice.
 *
 * Programs may defy prediction. &pagoda_policy.recent lists the items that would be in VRAM with
 * plain LRU, which tells how many pages plain LRU would have moved. When predictions have moved so
 * many pages more that chance doesn't explain the difference, plain LRU is used for a while, which
 * is longer the more such failures there were in a row (judge_distrust()).
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "lanes.h"
#include "policy.h"

static_assert(PAGODA_POLICY_ROWS % 64 == 0, "a row is a bit of pagoda_policy_level.filled");
static_assert(PAGODA_POLICY_LEVELS <= 64, "a level is a bit of pagoda_policy.filled");
static_assert(sizeof(struct pagoda_policy) <= 40 * 1024, "the rows stay in a processor's cache");
static_assert(offsetof(struct pagoda_policy_item, recent) <= 64, "a pick reads two cache lines");

/* The policy's pages are 4 KiB, whatever PAGE_SIZE is. */
#define PAGE_BITS	12

/*
 * Class of the longest intervals up to the next use by a queued job; the class of the longest
 * predicted intervals is higher by %PAGODA_POLICY_PREDICTED.
 */
#define CLASS_MOST	(PAGODA_POLICY_PREDICTED - 1u)

/*
 * Class, fls() of pages >> &pagoda_policy.unit, of an interval of as many pages as VRAM has. Only
 * with less than 256 pages of VRAM the class is lower, because the shift is 0 at least.
 */
#define CLASS_VRAM	9

/*
 * Pages by which predictions may have moved more than plain LRU by chance: a copy out and a
 * copy in of all of VRAM, because at any time the choices differ by at most VRAM's content.
 */
#define CHANCE(policy)	(2 * (policy)->capacity)

/* Most doublings of the time for which plain LRU chooses after predictions were worse. */
#define FAILURES_MAX	16u

static bool interval_is_same(u32 a, u32 b)
{
	u32 longer = max(a, b);

	return longer - min(a, b) <= longer >> PAGODA_POLICY_SAME_SHIFT;
}

/*
 * Returns whether two different intervals have alternated twice, as for an item that is used in
 * a frame's shadow pass and in its main pass.
 */
static bool interval_alternates(const struct pagoda_policy_item *item)
{
	const u32 *i = item->intervals;

	return !interval_is_same(i[0], i[1]) && interval_is_same(i[0], i[2]) &&
	       interval_is_same(i[1], i[3]) && i[3] != PAGODA_POLICY_NO_INTERVAL;
}

/*
 * Returns the shortest of up to three last intervals: an item that is used after a long time is
 * often used more often from then on, so a long interval isn't believed beside a shorter one.
 */
static u32 interval_shortest(const struct pagoda_policy_item *item)
{
	return min3(item->intervals[0], item->intervals[1], item->intervals[2]);
}

/* Returns the predicted interval in pages of an item that has an entry in @intervals. */
static u32 policy_predict(const struct pagoda_policy_item *item)
{
	return interval_alternates(item) ? item->intervals[1] : interval_shortest(item);
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

static u32 policy_class(const struct pagoda_policy *policy, const struct pagoda_policy_item *item)
{
	u64 next, interval = item->interval;
	u32 first = PAGODA_POLICY_PREDICTED;

	if (pagoda_policy_is_offered(item) || (!item->queued && !interval))
		return first;
	if (item->queued) {
		next = pagoda_policy_queued_next(item);
		interval = next - min(next, item->last);
		first = 0;
	}
	return first + min_t(u32, max(fls64(interval >> policy->unit), 1), CLASS_MOST);
}

static void policy_link(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	pagoda_lanes_enter(policy, item, policy_class(policy, item));
}

/*
 * Does @change, on which the item's lane depends. Unlinks a candidate before, and links the
 * candidate again after @change.
 */
#define POLICY_RELINK(policy, item, change) do { \
	bool was_candidate = policy_is_candidate(item); \
	\
	policy_unlink(policy, item); \
	change; \
	if (was_candidate) \
		policy_link(policy, item); \
} while (0)

/* ---- Comparison with plain LRU, which chooses for a while after predictions failed ---- */

/*
 * Predictions have moved more than plain LRU would have: has plain LRU choose the victims until it
 * would have moved as many pages as &pagoda_policy.lru_moved tells now, or CHANCE() if that is
 * more; doubled for each earlier failure in a row, up to FAILURES_MAX times.
 */
static void judge_distrust(struct pagoda_policy *policy)
{
	u64 rest = max(policy->lru_moved, CHANCE(policy));

	policy->distrusts = true;
	policy->moment++;
	policy->rest = rest << min(policy->failures, FAILURES_MAX);
	policy->failures++;
	policy->lru_moved = 0;
	policy->behind = 0;
}

/* Plain LRU has chosen for long enough: predictions are used again. */
static void judge_trust(struct pagoda_policy *policy)
{
	policy->distrusts = false;
	policy->moment++;
	policy->lru_moved = 0;
	policy->behind = 0;
}

static void judge(struct pagoda_policy *policy)
{
	s64 chance = CHANCE(policy);

	if (policy->distrusts) {
		if (policy->lru_moved >= policy->rest)
			judge_trust(policy);
	} else if (policy->behind > chance) {
		judge_distrust(policy);
	} else if (policy->behind < -chance) {
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
	bool counts = item->evicted || item->lru_evicted;

	if (item->evicted)
		policy->behind += item->pages;
	if (item->lru_evicted)
		judge_lru_moves(policy, item);
	item->evicted = false;
	item->lru_evicted = false;
	if (list_empty(&item->recent)) {
		item->lru_clean = item->clean;
		policy->recent_pages += item->pages;
	}
	list_move_tail(&item->recent, &policy->recent);
	for (; policy->recent_pages > policy->capacity; counts = true)
		judge_lru_evicts(policy);
	if (counts)
		judge(policy);
}

/* ---- Functions for the memory manager ------------------------------------------- */

/*
 * Sets up a policy for empty VRAM of @vram_size bytes, with &pagoda_policy.is_busy NULL: the caller
 * may set that function.
 */
void pagoda_policy_init(struct pagoda_policy *policy, u64 vram_size)
{
	memset(policy, 0, sizeof(*policy));
	policy->moment = 1;
	policy->capacity = vram_size >> PAGE_BITS;
	policy->unit = max(fls64(policy->capacity), CLASS_VRAM) - CLASS_VRAM;
	INIT_LIST_HEAD(&policy->recent);
	INIT_LIST_HEAD(&policy->owners);
}

static u8 policy_rank(u32 priority)
{
	priority = min(max(priority, DRM_PAGODA_RESIDENCY_MINIMUM), DRM_PAGODA_RESIDENCY_MAXIMUM);
	priority -= DRM_PAGODA_RESIDENCY_MINIMUM;
	return PAGODA_POLICY_OFFERS + priority / PAGODA_POLICY_FINEST;
}

/*
 * Fills in the item of a new allocation, which isn't in VRAM and has normal priority. The item
 * brings @lane, any memory, to the policy, and is in @group, which lasts while items are in it.
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
	memset32(item->intervals, PAGODA_POLICY_NO_INTERVAL, PAGODA_POLICY_HISTORY);
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
	pagoda_lanes_part(item);
	judge_forget(policy, item);
	return item->lane;
}

/* Moves an item to another group, which lasts until the item is removed or moved once more. */
void pagoda_policy_regroup(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			   struct pagoda_policy_group *group)
{
	POLICY_RELINK(policy, item,
		      pagoda_lanes_part(item);
		      item->lane->group = group);
}

static void policy_remember(struct pagoda_policy_item *item, u64 interval)
{
	u32 n;

	for (n = PAGODA_POLICY_HISTORY - 1; n; n--)
		item->intervals[n] = item->intervals[n - 1];
	item->intervals[0] = min_t(u64, interval, PAGODA_POLICY_NO_INTERVAL - 1);
	item->interval = policy_predict(item);
}

/* An item in VRAM was last used when the clock was @when, and becomes a candidate. */
static void policy_used(struct pagoda_policy *policy, struct pagoda_policy_item *item, u64 when)
{
	policy_unlink(policy, item);
	judge_use(policy, item);
	item->picked = false;
	item->used = true;
	item->last = when;
	policy_link(policy, item);
}

/*
 * Notes that a submission uses an item in VRAM; the item becomes a candidate. Called once for each
 * such item of the submission, in the order of the submission's list.
 */
void pagoda_policy_use(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	policy->clock += item->pages;
	policy->moment++;
	item->writes <<= 1;
	if (item->used)
		policy_remember(item, policy->clock - item->last);
	policy_used(policy, item, policy->clock);
}

/*
 * Notes that an item in VRAM was last used at an earlier time @when; the item becomes a
 * candidate. No interval is recorded, because the number of uses isn't known.
 */
void pagoda_policy_use_late(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			    u64 when)
{
	policy_used(policy, item, when);
}

/*
 * Notes that a job was queued that lists an item: the item's next use is known. Called once for
 * each allocation that the job lists, in the order of the list. @group: group of which, until the
 * job is executed, only items are used that queued jobs list; NULL = there is none. @coming: any
 * memory, the policy's until pagoda_policy_forget()
 */
void pagoda_policy_expect(struct pagoda_policy *policy, struct pagoda_policy_group *group,
			  struct pagoda_policy_item *item, struct pagoda_policy_coming *coming)
{
	policy->moment++;
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
 * Undoes pagoda_policy_expect() for one use by a job that isn't queued any more, because the job's
 * allocations are made resident now, or the job was dropped.
 */
void pagoda_policy_forget(struct pagoda_policy *policy, struct pagoda_policy_coming *coming)
{
	struct pagoda_policy_item *item = coming->item;

	policy->expected--;
	policy->moment++;
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
	pagoda_lanes_part(item);
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
	if (pagoda_policy_is_offered(item))
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
	if (!pagoda_policy_is_offered(item))
		pagoda_policy_reclaim(policy, item);
}

/* Sets whether the CPU can reach the VRAM that the item is in. */
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible)
{
	POLICY_RELINK(policy, item, item->visible = visible);
}

/*
 * Sets whether system memory has the item's content, too, so that an eviction needs no copy. Called
 * with false whenever the item may have been written, even if it isn't clean.
 */
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean)
{
	if (!clean) {
		item->lru_clean = false;
		item->writes |= 1;
	}
	if (item->clean != clean)
		POLICY_RELINK(policy, item, item->clean = clean);
}
