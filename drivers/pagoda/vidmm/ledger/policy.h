/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Choice of the victims that leave VRAM when room is needed.
 *
 * The manager tells the policy which allocations are used, come, leave and are freed, and asks it
 * for victims. The policy allocates nothing, knows no lock and none of the driver's objects: the
 * same source is the driver's and the simulator's.
 *
 * A victim is, in this order: offered, of the lowest offer priority (C169); of the lowest
 * residency priority (C168); used again last, as far as that can be told, where clean may be
 * half as far away as dirty. Between items that are used again about equally late, idle goes
 * before busy, clean before dirty, and items the CPU can't see before those it can.
 *
 * Vocabulary: an item is an allocation, as far as the policy knows it. It is a candidate while
 * it is in VRAM and may be picked; a held item is in VRAM too, but may not. Time is counted in
 * pages: it goes on by an item's size when the item is used, so that intervals mean the same
 * whatever the speed and the size of submissions.
 *
 * Context: any; callers hold one lock of their own around every call with the same policy.
 */
#ifndef PAGODA_VIDMM_LEDGER_POLICY_H
#define PAGODA_VIDMM_LEDGER_POLICY_H

#include <linux/list.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/**
 * PAGODA_POLICY_FINEST: smallest difference of residency priorities; smaller ones are equal. A
 * quarter of a level.
 */
#define PAGODA_POLICY_FINEST \
	((DRM_PAGODA_RESIDENCY_LOW - DRM_PAGODA_RESIDENCY_MINIMUM) / 4)

/** PAGODA_POLICY_OFFERS: number of offer priorities; 0 leaves first. */
#define PAGODA_POLICY_OFFERS	3

/**
 * PAGODA_POLICY_RANKS: number of ranks: offers, then residency priorities; a lower rank leaves
 * first.
 */
#define PAGODA_POLICY_RANKS \
	(PAGODA_POLICY_OFFERS + \
	 (DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM) / PAGODA_POLICY_FINEST + 1)

/** PAGODA_POLICY_SIDES: number of sides: items that the CPU can't see, and items that it can. */
#define PAGODA_POLICY_SIDES	2

/** PAGODA_POLICY_CLASSES: number of intervals by their power of two; class 0 has no interval. */
#define PAGODA_POLICY_CLASSES	33

/**
 * PAGODA_POLICY_HISTORY: number of intervals remembered, enough to see two turns of an
 * alternation.
 */
#define PAGODA_POLICY_HISTORY	4

/**
 * enum pagoda_policy_need - Kind of room that is needed
 * @PAGODA_POLICY_NEED_ANY: anywhere in VRAM
 * @PAGODA_POLICY_NEED_VISIBLE: where the CPU can see it
 */
enum pagoda_policy_need {
	PAGODA_POLICY_NEED_ANY,
	PAGODA_POLICY_NEED_VISIBLE,
};

/**
 * struct pagoda_policy_item - An allocation, as far as the policy knows it; embedded in it
 * @order: Entry in a row of the policy while it is a candidate
 * @recent: Entry in &pagoda_policy.recent while plain LRU would have it in VRAM
 * @last: Time of the last use
 * @pages: Its size; also how much time a use takes
 * @intervals: Intervals between the last uses, newest first
 * @nr_intervals: Number of valid entries in @intervals
 * @class: Class of the predicted interval
 * @rank: Order of leaving; a lower rank leaves first
 * @home_rank: Its rank when it isn't offered
 * @visible: The CPU can see it where it is
 * @clean: System memory has a copy of its content
 * @used: Was used at any time: before, @last means nothing
 * @picked: The policy named it as a victim
 * @evicted: It left because the policy named it
 * @lru_evicted: Plain LRU would have evicted it
 *
 * The members are the policy's. They fill one cache line, because a cache miss is most of what a
 * victim costs.
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
 * @rows: Candidates by side and class, each in the order of last use
 * @filled: A bit for each class that isn't empty, by side
 */
struct pagoda_policy_rank {
	struct list_head rows[PAGODA_POLICY_SIDES][PAGODA_POLICY_CLASSES];
	u64 filled[PAGODA_POLICY_SIDES];
};

/**
 * struct pagoda_policy - The policy of one VRAM; 22 KB
 * @ranks: Candidates by rank
 * @filled: A bit for each rank that has candidates
 * @clock: Time
 * @capacity: Pages of VRAM
 * @is_busy: Optional: returns whether the GPU may still be using an item; called under the caller's
 *	lock
 * @recent: Items that plain LRU would have in VRAM, the least recently used first
 * @recent_pages: Sum of their pages
 * @behind: Pages that predictions have moved more than plain LRU would have; negative: fewer
 * @lru_moved: Pages that plain LRU would have moved since predictions were given up, or were tried
 *	again, or last proved good
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
