/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Choice of the victims that leave VRAM when room is needed.
 *
 * The manager tells the policy which allocations are used, come to VRAM, leave VRAM and are
 * freed, and asks for victims. The policy allocates nothing and uses no locks or objects of the
 * driver: the simulator is built from this source, too.
 *
 * The victim is chosen among the offered items of the lowest offer priority (C169): the least
 * recently used of them; without offered items, among those of the lowest residency priority
 * (C168): the item with the latest predicted use. Clean items count as twice as far from their
 * next use. Between items that are about equally far, idle goes before busy, clean before dirty,
 * and items that the CPU can't see before those that the CPU can.
 *
 * An item is an allocation as the policy sees it: a candidate if it is in VRAM and may be
 * picked, held if it is in VRAM and may not. Clean means that system memory has the content,
 * too. Time is counted in pages of 4 KiB: a use of an item advances the clock by the item's size.
 *
 * Context: any; callers hold a lock of their own around all calls for a policy.
 */
#ifndef PAGODA_VIDMM_LEDGER_POLICY_H
#define PAGODA_VIDMM_LEDGER_POLICY_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/**
 * PAGODA_POLICY_FINEST: residency priorities that differ by less than this, a quarter of a
 * level, may count as equal.
 */
#define PAGODA_POLICY_FINEST \
	((DRM_PAGODA_RESIDENCY_LOW - DRM_PAGODA_RESIDENCY_MINIMUM) / 4)

/** PAGODA_POLICY_OFFERS: number of offer priorities; allocations of priority 0 leave VRAM first. */
#define PAGODA_POLICY_OFFERS	3

/**
 * PAGODA_POLICY_RANKS: number of ranks: offer priorities, then residency priorities. Lower
 * ranks leave first.
 */
#define PAGODA_POLICY_RANKS \
	(PAGODA_POLICY_OFFERS + \
	 (DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM) / PAGODA_POLICY_FINEST + 1)

/** PAGODA_POLICY_SIDES: sides of VRAM: 0 for allocations that the CPU can't see, 1 for others. */
#define PAGODA_POLICY_SIDES	2

/**
 * PAGODA_POLICY_CLASSES: number of classes; an allocation's class is fls() of the predicted
 * interval between its uses, in pages, or 0 without a prediction.
 */
#define PAGODA_POLICY_CLASSES	33

/**
 * PAGODA_POLICY_HISTORY: number of intervals between uses of an allocation that are remembered:
 * enough to see each of two alternating intervals twice.
 */
#define PAGODA_POLICY_HISTORY	4

/**
 * enum pagoda_policy_need - Kind of room that is needed
 * @PAGODA_POLICY_NEED_ANY: anywhere in VRAM
 * @PAGODA_POLICY_NEED_VISIBLE: in VRAM that the CPU can reach
 */
enum pagoda_policy_need {
	PAGODA_POLICY_NEED_ANY,
	PAGODA_POLICY_NEED_VISIBLE,
};

/**
 * struct pagoda_policy_item - An allocation as the policy sees it; part of struct pagoda_bo
 * @order: Entry in a row of &pagoda_policy_rank.rows while the item is a candidate
 * @recent: Entry in &pagoda_policy.recent while plain LRU would have the item in VRAM
 * @last: &pagoda_policy.clock at the last use
 * @pages: Size of the allocation, by which a use advances the clock
 * @intervals: Pages by which &pagoda_policy.clock advanced between the last uses, newest first
 * @nr_intervals: Number of valid entries in @intervals
 * @class: fls() of the predicted interval, 0 without a prediction or while offered
 * @rank: Offer priority, or rank of the residency priority; a lower rank leaves first
 * @home_rank: @rank while the allocation isn't offered
 * @visible: The allocation is where the CPU can see it
 * @clean: System memory has a copy of the content
 * @used: The item was ever used; @intervals get no entry at the first use
 * @picked: The item is a victim that hasn't left VRAM yet
 * @evicted: The item left VRAM as a victim, and wasn't used since
 * @lru_evicted: Plain LRU would have evicted the item since its last use
 *
 * The members fill a single cache line: cache misses are most of the cost of choosing a victim.
 */
struct pagoda_policy_item {
	struct list_head order;
	struct list_head recent;
	u64 last;
	u32 pages;
	u32 intervals[PAGODA_POLICY_HISTORY];
	u32 nr_intervals : 3;
	u32 class : 6;
	u32 rank : 5;
	u32 home_rank : 5;
	u32 visible : 1;
	u32 clean : 1;
	u32 used : 1;
	u32 picked : 1;
	u32 evicted : 1;
	u32 lru_evicted : 1;
};

/**
 * struct pagoda_policy_rank - Candidates of one rank
 * @rows: Candidates by side and class, each list roughly in the order of last use, oldest use first
 * @filled: By side, a bit for each class that has candidates
 */
struct pagoda_policy_rank {
	struct list_head rows[PAGODA_POLICY_SIDES][PAGODA_POLICY_CLASSES];
	u64 filled[PAGODA_POLICY_SIDES];
};

/**
 * struct pagoda_policy - Choice of victims for a device's VRAM; 22 KB
 * @ranks: Candidates by rank
 * @filled: A bit for each rank that has candidates
 * @clock: Sum of the pages of all uses so far
 * @capacity: Pages of VRAM
 * @is_busy: Optional: returns whether the GPU may still be using an item; called under the caller's
 *	lock
 * @recent: Items that plain LRU would have in VRAM, the least recently used first
 * @recent_pages: Pages of the items in @recent
 * @behind: Number of pages by which predictions have moved more than plain LRU would have moved;
 *	negative if predictions have moved less
 * @lru_moved: Pages that plain LRU would have moved since @distrusts changed, or since
 *	predictions last were ahead by more than chance
 * @rest: Value of @lru_moved at which predictions are tried again
 * @failures: Number of times in a row that predictions were given up
 * @distrusts: Predictions are given up: the least recently used item leaves
 */
struct pagoda_policy {
	struct pagoda_policy_rank ranks[PAGODA_POLICY_RANKS];
	u32 filled;
	u64 clock;
	u64 capacity;
	bool (*is_busy)(struct pagoda_policy_item *item);
	struct list_head recent;
	u64 recent_pages;
	s64 behind;
	u64 lru_moved;
	u64 rest;
	u32 failures;
	bool distrusts;
};

void pagoda_policy_init(struct pagoda_policy *policy, u64 vram_size);
void pagoda_policy_add(struct pagoda_policy *policy, struct pagoda_policy_item *item, u64 size);
void pagoda_policy_remove(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_use(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_use_late(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			    u64 when);
void pagoda_policy_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_hold(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_offer(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			 unsigned int priority);
void pagoda_policy_reclaim(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_set_priority(struct pagoda_policy *policy, struct pagoda_policy_item *item,
				u32 priority);
void pagoda_policy_set_visible(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			       bool visible);
void pagoda_policy_set_clean(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			     bool clean);
struct pagoda_policy_item *pagoda_policy_pick(struct pagoda_policy *policy,
					      enum pagoda_policy_need need);

#endif
