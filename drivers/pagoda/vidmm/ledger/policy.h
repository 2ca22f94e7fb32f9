/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Choice of the victims that leave VRAM when room is needed.
 *
 * The manager tells the policy which allocations are used, come to VRAM, leave VRAM and are
 * freed, and asks for victims. The policy allocates nothing and uses no locks or objects of the
 * driver: the simulator is built from this source, too.
 *
 * The victim is chosen among the offered items: an idle one before those that are busy, then one of
 * the lowest offer priority (C169), then the one that was offered first. Without offered items, the
 * victim is chosen among the items of owners that are over their budget; without those, among all
 * others. Of these items, the victim is one of the lowest residency priority (C168): the item whose
 * next use is latest. Uses by queued jobs are known, others are predicted, unless predictions were
 * worse than plain LRU lately (policy.c). The next use of a clean item counts as later than it is,
 * because its eviction costs less. Between items that are about equally far, idle goes before busy,
 * clean before dirty, and items that the CPU can't see before those that the CPU can.
 *
 * An item is an allocation as the policy sees it: a candidate if it is in VRAM and may be picked,
 * held if it is in VRAM and may not. Clean means that system memory has the content, too. Time is
 * counted in pages: each use of an item by a job that lists the item advances the clock by the
 * item's size. An owner is a client. A group is a part of an owner's items, which a search for
 * victims can set aside as a whole.
 *
 * Context: any; callers hold a lock of their own around all calls for a policy.
 */
#ifndef PAGODA_VIDMM_LEDGER_POLICY_H
#define PAGODA_VIDMM_LEDGER_POLICY_H

#include <linux/limits.h>
#include <linux/list.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/**
 * PAGODA_POLICY_FINEST: residency priorities that differ by less than this, a quarter of the
 * difference between MINIMUM and LOW, may count as equal.
 */
#define PAGODA_POLICY_FINEST \
	((DRM_PAGODA_RESIDENCY_LOW - DRM_PAGODA_RESIDENCY_MINIMUM) / 4)

/** PAGODA_POLICY_OFFERS: number of offer priorities; allocations of priority 0 leave VRAM first. */
#define PAGODA_POLICY_OFFERS	3

/**
 * PAGODA_POLICY_RANKS: number of ranks: offer priorities, then residency priorities. If owners are
 * all over their budgets, or all within, lower ranks leave first.
 */
#define PAGODA_POLICY_RANKS \
	(PAGODA_POLICY_OFFERS + \
	 (DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM) / PAGODA_POLICY_FINEST + 1)

/**
 * PAGODA_POLICY_LEVELS: number of levels: offer priorities, residency priorities of owners over
 * their budget, those of all others. Lower levels leave first, apart from busy offered items.
 */
#define PAGODA_POLICY_LEVELS	(2 * PAGODA_POLICY_RANKS - PAGODA_POLICY_OFFERS)

/**
 * PAGODA_POLICY_SIDES: number of sides. Sides 0 and 1 are for items that the CPU can't see, 2 and 3
 * for all others; 1 and 3 are for clean items.
 */
#define PAGODA_POLICY_SIDES	4

/**
 * PAGODA_POLICY_CLASSES: number of classes. An allocation's class is %PAGODA_POLICY_PREDICTED plus
 * fls() of the predicted interval between its uses, in pages >> &pagoda_policy.unit, at least 1 and
 * at most 15; or plus 0 if offered or without a prediction. If queued jobs list the allocation, the
 * class is fls() of the interval from the last use to the first of these jobs, likewise.
 */
#define PAGODA_POLICY_CLASSES	32

/** PAGODA_POLICY_PREDICTED: first class of allocations that queued jobs don't list. */
#define PAGODA_POLICY_PREDICTED	16

/**
 * PAGODA_POLICY_ROWS: number of rows of a level, one for each class and side. First come those of
 * the highest class, in the order of sides.
 */
#define PAGODA_POLICY_ROWS	(PAGODA_POLICY_CLASSES * PAGODA_POLICY_SIDES)

/** PAGODA_POLICY_WORDS: number of words of 64 bits that have a bit for each row of a level. */
#define PAGODA_POLICY_WORDS	(PAGODA_POLICY_ROWS / 64)

/**
 * PAGODA_POLICY_HISTORY: number of intervals between uses of an allocation that are remembered:
 * enough to see each of two alternating intervals twice.
 */
#define PAGODA_POLICY_HISTORY	4

/** PAGODA_POLICY_NO_INTERVAL: pages of no interval; longer ones are remembered as shorter ones. */
#define PAGODA_POLICY_NO_INTERVAL	U32_MAX

/**
 * enum pagoda_policy_need - Kind of room that is needed
 * @PAGODA_POLICY_NEED_ANY: anywhere in VRAM
 * @PAGODA_POLICY_NEED_VISIBLE: in VRAM that the CPU can reach
 */
enum pagoda_policy_need {
	PAGODA_POLICY_NEED_ANY,
	PAGODA_POLICY_NEED_VISIBLE,
};

/** PAGODA_POLICY_BUCKETS: number of lists of a group's lanes. */
#define PAGODA_POLICY_BUCKETS	16

/** PAGODA_POLICY_ASIDE: most groups that a search sets aside. */
#define PAGODA_POLICY_ASIDE	32

/**
 * struct pagoda_policy_owner - A client as the policy sees it; part of struct pagoda_client
 * @groups: Groups of the owner that have lanes
 * @turn: Entry in &pagoda_policy.owners while @groups isn't empty
 * @over: The owner was over its budget when the policy was last told
 */
struct pagoda_policy_owner {
	struct list_head groups;
	struct list_head turn;
	bool over;
};

/**
 * struct pagoda_policy_group - A part of an owner's items, or of the items without an owner
 * @lanes: Lanes that have members, by class modulo %PAGODA_POLICY_BUCKETS
 * @of_owner: Entry in &pagoda_policy_owner.groups while @nr_lanes isn't 0; unused without @owner
 * @owner: Owner; NULL = none, the items count as those of an owner within its budget. Constant
 * @nr_lanes: Number of lanes in @lanes
 * @horizon: Value that &pagoda_policy.clock is expected to have when the last job is executed for
 *	which pagoda_policy_expect() was given the group
 */
struct pagoda_policy_group {
	struct list_head lanes[PAGODA_POLICY_BUCKETS];
	struct list_head of_owner;
	struct pagoda_policy_owner *owner;
	u32 nr_lanes;
	u64 horizon;
};

/**
 * struct pagoda_policy_lane - Members of a group that have the same rank, side and class
 * @items: Members that are candidates, roughly in the order of last use, oldest use first; offered
 *	ones in the order of offers, those that queued jobs list in the order of next use
 * @order: Entry in the ring of a row of &pagoda_policy_level.rows while @items isn't empty
 * @group: Group; of a spare lane, the group of the item that has the lane
 * @looked: &pagoda_policy.moment when @ends and @distance were found; 0 if @items changed since
 * @distance: Of the candidates at those ends of @items that @ends tells: how far the next use is
 * @of_group: Entry in &pagoda_policy_group.lanes; of a spare lane unused
 * @spare: First of the spare lanes that members of the lane have brought; of a spare lane among
 *	these, the next; NULL = none
 * @rank: Rank of the members
 * @level: Index in &pagoda_policy.levels, from @rank and &pagoda_policy_owner.over
 * @row: Index in &pagoda_policy_level.rows, from side and class of the members
 * @merits: What speaks for a victim of this side: 2 if clean, plus 1 if the CPU can't see it
 * @ends: At which ends of @items the best victim may be: 1 = at the first, 2 = at the last one
 * @sorted: Of @items in the order of last use: the order is exact, not just rough
 *
 * An item becomes a member when it becomes a candidate. It stays a member while it is held or
 * picked: until it leaves VRAM, changes its group, or becomes a candidate again with another rank,
 * side or class.
 *
 * The policy allocates nothing. Each item brings a lane, which is spare while the item isn't a
 * member. The spare lane of a lane's first member becomes the lane; further members leave spare
 * lanes in the list @spare. A member that parts takes one of these; the last one takes the lane.
 */
struct pagoda_policy_lane {
	struct list_head items;
	struct list_head order;
	struct pagoda_policy_group *group;
	u64 looked;
	u64 distance[2];
	u8 rank;
	u8 level;
	u8 row;
	u8 merits;
	u8 ends;
	bool sorted;
	struct list_head of_group;
	struct pagoda_policy_lane *spare;
};

/**
 * struct pagoda_policy_coming - A use of an item by a queued job; memory of that job
 * @of_item: Entry in &pagoda_policy_item.coming
 * @item: Item
 * @when: Value that &pagoda_policy.clock has at the use if until then all jobs are executed that
 *	were queued before, and no others
 */
struct pagoda_policy_coming {
	struct list_head of_item;
	struct pagoda_policy_item *item;
	u64 when;
};

/**
 * struct pagoda_policy_item - An allocation as the policy sees it; part of struct pagoda_bo
 * @order: Entry in &pagoda_policy_lane.items while the item is a candidate
 * @lane: Lane of a member; else the item's spare lane
 * @last: &pagoda_policy.clock at the last use; before the first use, when the item was added
 * @pages: Size of the allocation, by which a use advances the clock
 * @intervals: Pages by which &pagoda_policy.clock advanced between the last uses, newest first;
 *	%PAGODA_POLICY_NO_INTERVAL = not used so often yet
 * @interval: Predicted interval in pages; 0 while @intervals is empty
 * @offered: &pagoda_policy.offers at the last offer
 * @rank: Offer priority, or rank of the residency priority; a lower rank leaves first
 * @writes: Bit 0: pagoda_policy_set_clean() told of a write since the last pagoda_policy_use();
 *	from bit 1 on, likewise of each of the last intervals between uses, the latest first
 * @home_rank: @rank while the allocation isn't offered
 * @visible: The allocation is where the CPU can see it; never set if the CPU can see all of VRAM
 * @clean: pagoda_policy_set_clean() said that system memory has the content, too
 * @used: The item was ever used; @intervals get no entry at the first use
 * @picked: The item was picked, and since then neither left VRAM nor became a candidate again
 * @costs: Of a picked item: it wasn't clean when it was picked
 * @queued: @coming isn't empty
 * @member: The item is a member of @lane
 * @evicted: The item left VRAM as a victim, and wasn't used since
 * @lru_evicted: Plain LRU would have evicted the item since its last use
 * @lru_clean: The item would be clean if plain LRU had chosen the victims
 * @recent: Entry in &pagoda_policy.recent while plain LRU would have the item in VRAM
 * @coming: List of struct pagoda_policy_coming, the first use first
 *
 * The members before @recent have 64 bytes at most. So they are in no more than two cache lines of
 * 64 bytes, wherever the item is in struct pagoda_bo: cache misses are most of the cost of choosing
 * a victim.
 */
struct pagoda_policy_item {
	struct list_head order;
	struct pagoda_policy_lane *lane;
	u64 last;
	u32 pages;
	u32 intervals[PAGODA_POLICY_HISTORY];
	u32 offered;
	u32 interval;
	u8 rank;
	u8 writes;
	u8 home_rank : 5;
	u8 visible : 1;
	u8 clean : 1;
	u8 queued : 1;
	u8 used : 1;
	u8 picked : 1;
	u8 costs : 1;
	u8 member : 1;
	u8 evicted : 1;
	u8 lru_evicted : 1;
	u8 lru_clean : 1;
	struct list_head recent;
	struct list_head coming;
};

/**
 * struct pagoda_policy_level - Candidates of one level
 * @rows: By class, the highest first, and side: the first of a ring of lanes, which are roughly in
 *	the order that &pagoda_policy_lane.items has; NULL = no lane has candidates
 * @filled: A bit for each row that has candidates
 */
struct pagoda_policy_level {
	struct pagoda_policy_lane *rows[PAGODA_POLICY_ROWS];
	u64 filled[PAGODA_POLICY_WORDS];
};

/**
 * struct pagoda_policy - Choice of victims for a device's VRAM; 39 KB
 * @levels: Candidates by level
 * @filled: A bit for each level that has candidates
 * @owners: Owners whose groups have lanes
 * @offers: Number of offers so far
 * @expected: Number of uses that queued jobs will make
 * @horizon: Value that @clock is expected to have when all queued jobs are executed
 * @clock: Sum of the pages of all uses by pagoda_policy_use() so far
 * @capacity: Pages of VRAM
 * @moment: Changes whenever distances of candidates may change, because @clock, what is queued or
 *	@distrusts changes; never 0
 * @unit: Shift from pages to the unit of classes, so that @capacity has a class in their middle
 * @is_busy: Optional: returns whether the GPU may still be using an item; called under the caller's
 *	lock
 * @recent: Items that plain LRU would have in VRAM, the least recently used first
 * @recent_pages: Pages of the items in @recent
 * @behind: Number of pages by which predictions have moved more than plain LRU would have moved,
 *	since @distrusts changed; negative if less, but the negative number is limited (judge())
 * @lru_moved: Pages that plain LRU would have moved since @distrusts changed, or since
 *	predictions last were ahead by more than chance
 * @rest: Value of @lru_moved at which predictions are tried again
 * @failures: Number of times in a row that @distrusts was set
 * @distrusts: Predictions aren't used: for items that no queued job lists, the last use counts
 */
struct pagoda_policy {
	struct pagoda_policy_level levels[PAGODA_POLICY_LEVELS];
	u64 filled;
	struct list_head owners;
	u32 offers;
	u32 expected;
	u64 horizon;
	u64 clock;
	u64 capacity;
	u64 moment;
	u32 unit;
	bool (*is_busy)(struct pagoda_policy_item *item);
	struct list_head recent;
	u64 recent_pages;
	s64 behind;
	u64 lru_moved;
	u64 rest;
	u32 failures;
	bool distrusts;
};

/**
 * struct pagoda_policy_aside - Candidates that a search for victims has set aside
 * @groups: Groups whose candidates aren't picked
 * @count: Number of groups
 * @only_offered: No candidates are picked but those that are offered
 */
struct pagoda_policy_aside {
	const struct pagoda_policy_group *groups[PAGODA_POLICY_ASIDE];
	u32 count;
	bool only_offered;
};

void pagoda_policy_init(struct pagoda_policy *policy, u64 vram_size);
void pagoda_policy_owner_init(struct pagoda_policy_owner *owner);
void pagoda_policy_group_init(struct pagoda_policy_group *group,
			      struct pagoda_policy_owner *owner);
const struct pagoda_policy_owner *pagoda_policy_owner_of(const struct pagoda_policy_item *item);
u32 pagoda_policy_level(const struct pagoda_policy_item *item);
void pagoda_policy_set_over(struct pagoda_policy *policy, struct pagoda_policy_owner *owner,
			    bool over);
void pagoda_policy_add(struct pagoda_policy *policy, struct pagoda_policy_item *item,
		       struct pagoda_policy_lane *lane, struct pagoda_policy_group *group,
		       u64 size);
struct pagoda_policy_lane *pagoda_policy_remove(struct pagoda_policy *policy,
						struct pagoda_policy_item *item);
void pagoda_policy_regroup(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			   struct pagoda_policy_group *group);
void pagoda_policy_use(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_policy_use_late(struct pagoda_policy *policy, struct pagoda_policy_item *item,
			    u64 when);
void pagoda_policy_expect(struct pagoda_policy *policy, struct pagoda_policy_group *group,
			  struct pagoda_policy_item *item, struct pagoda_policy_coming *coming);
void pagoda_policy_forget(struct pagoda_policy *policy, struct pagoda_policy_coming *coming);
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
bool pagoda_policy_is_later(const struct pagoda_policy *policy,
			    const struct pagoda_policy_item *item, u64 when);
struct pagoda_policy_item *pagoda_policy_pick(struct pagoda_policy *policy,
					      enum pagoda_policy_need need,
					      const struct pagoda_policy_aside *aside);

#endif
