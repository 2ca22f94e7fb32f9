// SPDX-License-Identifier: GPL-2.0
/*
 * Lanes of candidates, by which the policy (policy.c) finds victims; owners and groups of items,
 * and the levels in which candidates leave.
 *
 *	owner		a client; over its budget or within
 *	group		a part of the owner's items
 *	lane		items of a group that have the same rank, side and class
 *	row		lanes with candidates, of all groups, with the same level, side and class
 *
 * When an owner gets over its budget, or is within again, its lanes change their rows, but no
 * candidate changes its lane. So that costs time for each lane, of which a client with thousands of
 * allocations has a few. Likewise, to skip a group that was set aside, a pick skips its lanes,
 * not each candidate. An item that is held for a job stays a member of its lane: mostly the item
 * becomes a candidate of the same lane again when the job is made.
 */
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/string.h>
#include "lanes.h"
#include "policy.h"

/*
 * Difference between the level and the rank of an item that isn't offered and whose owner, if any,
 * is within its budget; of all other items level and rank are equal.
 */
#define WITHIN	(PAGODA_POLICY_RANKS - PAGODA_POLICY_OFFERS)

void pagoda_policy_owner_init(struct pagoda_policy_owner *owner)
{
	INIT_LIST_HEAD(&owner->groups);
	owner->over = false;
}

/* Sets up a group without items; @owner may be NULL. */
void pagoda_policy_group_init(struct pagoda_policy_group *group, struct pagoda_policy_owner *owner)
{
	u32 i;

	for (i = 0; i < PAGODA_POLICY_BUCKETS; i++)
		INIT_LIST_HEAD(&group->lanes[i]);
	group->owner = owner;
	group->nr_lanes = 0;
	group->horizon = 0;
}

/* Returns the owner of the group that an item is in, or NULL. */
const struct pagoda_policy_owner *pagoda_policy_owner_of(const struct pagoda_policy_item *item)
{
	return item->lane->group->owner;
}

static u32 level_of(u32 rank, const struct pagoda_policy_owner *owner)
{
	bool ahead = rank < PAGODA_POLICY_OFFERS || (owner && owner->over);

	return rank + (ahead ? 0 : WITHIN);
}

/* Returns the level of an item, whether or not it is a candidate: lower levels leave first. */
u32 pagoda_policy_level(const struct pagoda_policy_item *item)
{
	return level_of(item->rank, pagoda_policy_owner_of(item));
}

static struct pagoda_policy_lane **lane_row(struct pagoda_policy *policy,
					    const struct pagoda_policy_lane *lane)
{
	return &policy->levels[lane->level].rows[lane->row];
}

static u64 *lane_word(struct pagoda_policy *policy, const struct pagoda_policy_lane *lane)
{
	return &policy->levels[lane->level].filled[lane->row / 64];
}

/*
 * Adds a lane with candidates, which is in no row, to the end of the row that its rank, side and
 * class and its owner's budget say, where picks find the lane's candidates.
 */
static void lane_show(struct pagoda_policy *policy, struct pagoda_policy_lane *lane)
{
	struct pagoda_policy_lane **row;

	lane->level = level_of(lane->rank, lane->group->owner);
	row = lane_row(policy, lane);
	if (*row) {
		list_add_tail(&lane->order, &(*row)->order);
		return;
	}
	INIT_LIST_HEAD(&lane->order);
	*row = lane;
	*lane_word(policy, lane) |= BIT_ULL(lane->row % 64);
	policy->filled |= BIT_ULL(lane->level);
}

static void lane_hide(struct pagoda_policy *policy, struct pagoda_policy_lane *lane)
{
	struct pagoda_policy_level *level = &policy->levels[lane->level];
	struct pagoda_policy_lane **row = lane_row(policy, lane);
	u32 i;

	if (!list_empty(&lane->order)) {
		if (*row == lane)
			*row = list_next_entry(lane, order);
		list_del_init(&lane->order);
		return;
	}
	*row = NULL;
	*lane_word(policy, lane) &= ~BIT_ULL(lane->row % 64);
	for (i = 0; i < PAGODA_POLICY_WORDS; i++)
		if (level->filled[i])
			return;
	policy->filled &= ~BIT_ULL(lane->level);
}

/* Returns the index in &pagoda_policy_level.rows for an item of @class. */
static u32 row_of(const struct pagoda_policy_item *item, u32 class)
{
	u32 side = item->visible << 1 | item->clean;

	return (PAGODA_POLICY_CLASSES - 1 - class) * PAGODA_POLICY_SIDES + side;
}

static struct list_head *lane_bucket(struct pagoda_policy_group *group, u32 row)
{
	return &group->lanes[row / PAGODA_POLICY_SIDES % PAGODA_POLICY_BUCKETS];
}

static struct pagoda_policy_lane *lane_find(struct pagoda_policy_group *group, u32 rank, u32 row)
{
	struct pagoda_policy_lane *lane;

	list_for_each_entry(lane, lane_bucket(group, row), of_group)
		if (lane->row == row && lane->rank == rank)
			return lane;
	return NULL;
}

/*
 * Adds a spare lane, @lane, to its group as the lane for items of row @row with the rank of @item.
 * The lane is empty, and in no row before it has a candidate. If the lane is the only one of the
 * group, the group is added to the groups of its owner, if any.
 */
static void lane_begin(struct pagoda_policy *policy, struct pagoda_policy_lane *lane,
		       const struct pagoda_policy_item *item, u32 row)
{
	struct pagoda_policy_group *group = lane->group;
	struct pagoda_policy_owner *owner = group->owner;

	INIT_LIST_HEAD(&lane->items);
	lane->rank = item->rank;
	lane->row = row;
	lane->merits = (item->clean ? 2 : 0) + (item->visible ? 0 : 1);
	list_add(&lane->of_group, lane_bucket(group, row));
	if (group->nr_lanes++ || !owner)
		return;
	if (list_empty(&owner->groups))
		list_add_tail(&owner->turn, &policy->owners);
	list_add_tail(&group->of_owner, &owner->groups);
}

/* Makes a lane without members a spare lane. */
static void lane_end(struct pagoda_policy_lane *lane)
{
	struct pagoda_policy_group *group = lane->group;
	struct pagoda_policy_owner *owner = group->owner;

	list_del_init(&lane->of_group);
	if (--group->nr_lanes || !owner)
		return;
	list_del_init(&group->of_owner);
	if (list_empty(&owner->groups))
		list_del_init(&owner->turn);
}

static const struct pagoda_policy_item *lane_first(const struct pagoda_policy_lane *lane)
{
	return list_first_entry(&lane->items, struct pagoda_policy_item, order);
}

static const struct pagoda_policy_item *lane_last(const struct pagoda_policy_lane *lane)
{
	return list_last_entry(&lane->items, struct pagoda_policy_item, order);
}

/*
 * Returns whether @item was last used earlier than the first candidate of a lane, which isn't
 * empty; of offered items, whether @item was offered earlier; of items that queued jobs list,
 * whether the next use of @item is earlier.
 */
static bool lane_is_newer(const struct pagoda_policy *policy, const struct pagoda_policy_lane *lane,
			  const struct pagoda_policy_item *item)
{
	if (item->rank < PAGODA_POLICY_OFFERS)
		return policy->offers - item->offered > policy->offers - lane_first(lane)->offered;
	if (item->queued)
		return (s64)(pagoda_policy_queued_next(item) -
			     pagoda_policy_queued_next(lane_first(lane))) < 0;
	return item->last != policy->clock &&
	       policy->clock - item->last > policy->clock - lane_first(lane)->last;
}

/*
 * Makes an item, which is a member of no lane, a member of the lane of its group for row @row and
 * the item's rank. If the group has no such lane, the item's spare lane becomes that lane. Returns
 * the lane.
 */
static struct pagoda_policy_lane *lane_join(struct pagoda_policy *policy,
					    struct pagoda_policy_item *item, u32 row)
{
	struct pagoda_policy_lane *spare = item->lane;
	struct pagoda_policy_lane *lane = lane_find(spare->group, item->rank, row);

	item->member = true;
	if (!lane) {
		lane_begin(policy, spare, item, row);
		return spare;
	}
	spare->spare = lane->spare;
	lane->spare = spare;
	item->lane = lane;
	return lane;
}

/* Takes a member that isn't a candidate out of its lane. */
static void lane_part(struct pagoda_policy_item *item)
{
	struct pagoda_policy_lane *lane = item->lane, *spare = lane->spare;

	item->member = false;
	if (!spare) {
		lane_end(lane);
		return;
	}
	lane->spare = spare->spare;
	spare->spare = NULL;
	item->lane = spare;
}

/*
 * Moves a lane in its row, of which it isn't the only lane, after @item has become the lane's first
 * or last candidate: to the front if @item was used (offered, or will be used) earlier than the
 * first candidate of the row's first lane; else to the end if @item is the lane's last candidate.
 */
static void lane_move(struct pagoda_policy *policy, struct pagoda_policy_lane *lane,
		      const struct pagoda_policy_item *item)
{
	struct pagoda_policy_lane **row = lane_row(policy, lane), *first = *row;

	if (first != lane && lane_is_newer(policy, first, item)) {
		list_move_tail(&lane->order, &first->order);
		*row = lane;
	} else if (!list_is_last(&item->order, &lane->items)) {
		return;
	} else if (first == lane) {
		*row = list_next_entry(lane, order);
	} else {
		list_move_tail(&lane->order, &first->order);
	}
}

/*
 * Makes an item a candidate: at the beginning of its lane if its last use (its offer if offered,
 * its next use if queued jobs list it) is earlier than that of the lane's first candidate; else at
 * the end. To find the right place in between would take a search, and only items at the ends are
 * considered. Likewise, lane_move() may move the lane to an end of its row.
 */
void pagoda_lanes_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item, u32 class)
{
	struct pagoda_policy_lane *lane = item->lane;
	u32 row = row_of(item, class);

	if (item->member && (lane->row != row || lane->rank != item->rank))
		lane_part(item);
	if (!item->member)
		lane = lane_join(policy, item, row);
	lane->looked = 0;
	if (list_empty(&lane->items)) {
		lane->sorted = true;
		list_add(&item->order, &lane->items);
		lane_show(policy, lane);
	} else if (lane_is_newer(policy, lane, item)) {
		list_add(&item->order, &lane->items);
	} else {
		lane->sorted &= (s64)(item->last - lane_last(lane)->last) >= 0;
		list_add_tail(&item->order, &lane->items);
	}
	if (!list_empty(&lane->order))
		lane_move(policy, lane, item);
}

/* Takes a candidate out of the order of its lane: the item stays a member, but isn't picked. */
void pagoda_lanes_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	struct pagoda_policy_lane *lane = item->lane;

	list_del_init(&item->order);
	lane->looked = 0;
	if (list_empty(&lane->items))
		lane_hide(policy, lane);
}

/* Takes an item that isn't a candidate out of its lane, if the item is a member of one. */
void pagoda_lanes_part(struct pagoda_policy_item *item)
{
	if (item->member)
		lane_part(item);
}

static void group_show(struct pagoda_policy *policy, struct pagoda_policy_group *group)
{
	struct pagoda_policy_lane *lane;
	u32 i;

	for (i = 0; i < PAGODA_POLICY_BUCKETS; i++) {
		list_for_each_entry(lane, &group->lanes[i], of_group) {
			if (list_empty(&lane->items))
				continue;
			lane_hide(policy, lane);
			lane_show(policy, lane);
		}
	}
}

/*
 * Notes whether an owner is over its budget. If that has changed, takes time for each lane of the
 * owner, not for each candidate.
 */
void pagoda_policy_set_over(struct pagoda_policy *policy, struct pagoda_policy_owner *owner,
			    bool over)
{
	struct pagoda_policy_group *group;

	if (owner->over == over)
		return;
	owner->over = over;
	list_for_each_entry(group, &owner->groups, of_owner)
		group_show(policy, group);
}
