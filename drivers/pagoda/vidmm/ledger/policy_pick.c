// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of a victim. policy.h has the order and the terms.
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
 * item. Only doubling the distance would evict a dirty item soon after its use, although it is
 * copied in each interval from then on. A dirty item that isn't written at each of its uses may be
 * clean once it is back: p/8 is added for each of the last four uses at which it wasn't written. If
 * there is no prediction or the use is overdue, an item is used again in about half of all
 * cases: a dirty one costs a copy out and half a copy in, three times as much as a clean one. So
 * the distance of a clean one counts three times.
 *
 * What queued jobs list is known, in order: the next use of such an item isn't predicted. An item
 * of the same group that no queued job lists isn't used before these jobs are done, so its distance
 * is that to the end of the queue, plus what is predicted for then.
 *
 * Idle goes before busy, and items that the CPU can't see before those that it can, only if
 * their distances differ by less than an eighth. If a factor of two was allowed, a program that
 * keeps all of VRAM busy moved 5 % more, and up to 10 % more in a simulation.
 *
 * A pick doesn't look at all candidates. The candidates of a level are in lanes, each for the items
 * of a group and a side (policy.h) with intervals of the same power of two, known or predicted,
 * roughly in the order of last use, oldest use first: near the end of a lane is the item whose next
 * use is farthest away, near the beginning the item that is longest overdue. Only the first and
 * last candidates are looked at, so the cost of a pick doesn't depend on the number of candidates:
 * of most lanes only the last ones. Likewise, of many groups' lanes for the same power of two only
 * those are looked at that were used most recently or least recently.
 *
 * A job that needs room for several allocations picks several victims in a row, while the clock
 * stands still. So a lane remembers the distances of the candidates at its ends until its order or
 * &pagoda_policy.moment changes.
 */
#include <linux/bitops.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include "lanes.h"
#include "policy.h"

/* Most lanes considered at each end of a row. */
#define LANES		4

/* Bits of &pagoda_policy_level.filled that are those of rows of items that the CPU can see. */
#define VISIBLE		0xccccccccccccccccull

/* Bits of &pagoda_policy_item.writes that tell of intervals between uses. */
#define WRITES		((BIT(PAGODA_POLICY_HISTORY) - 1) << 1)

/*
 * struct policy_choice - best victim found so far, or a candidate to be compared with that; @about:
 * policy_round() of @distance; @merits: a bit each for idle, clean and not visible. The highest
 * @about is the best, then the highest @merits, then the highest @distance. Of an offered item,
 * @merits is 1 if the item is idle, and @distance the number of offers since the item's
 */
struct policy_choice {
	struct pagoda_policy_item *item;
	u64 about;
	u64 distance;
	u32 merits;
};

/*
 * Returns whether the next use of an item is known: a queued job lists the item and isn't overdue
 * by as many pages as VRAM has; a job so overdue waits for something else, for however long.
 */
static bool queued_soon(const struct pagoda_policy *policy, const struct pagoda_policy_item *item)
{
	return item->queued && policy->clock < pagoda_policy_queued_next(item) + policy->capacity;
}

/*
 * Returns by how many pages the clock is expected to advance until the jobs are executed that were
 * queued for the group of a lane (&pagoda_policy_group.horizon); 0 if no job is queued.
 */
static u64 queue_length(const struct pagoda_policy *policy, const struct pagoda_policy_lane *lane)
{
	u64 horizon;

	if (!policy->expected)
		return 0;
	horizon = lane->group->horizon;
	return horizon - min(horizon, policy->clock);
}

/*
 * Returns how many pages @distance, to a use that ends an interval of @interval pages, counts as:
 * more for a clean item, and for a dirty one that wasn't written at each of its last uses.
 */
static u64 policy_weigh(const struct pagoda_policy_item *item, u64 distance, u64 interval)
{
	u32 unwritten;

	if (item->clean)
		return distance + interval;
	unwritten = PAGODA_POLICY_HISTORY - hweight8(item->writes & WRITES);
	return distance + interval * unwritten / (2 * PAGODA_POLICY_HISTORY);
}

/* Returns how many pages @distance counts as if it isn't known whether the item is used again. */
static u64 policy_weigh_unknown(const struct pagoda_policy_item *item, u64 distance)
{
	return item->clean ? 3 * distance : distance;
}

static bool policy_is_overdue(const struct pagoda_policy_item *item, u64 age)
{
	return age > item->interval + (u64)(item->interval >> PAGODA_POLICY_SAME_SHIFT);
}

/**
 * pagoda_policy_is_later() - Whether the next use of an item comes after a queued job
 * @policy: Policy
 * @item: Item in VRAM
 * @when: &pagoda_policy_coming.when of the last item that the job lists
 *
 * If queued jobs list the item, the first of these jobs counts, however overdue it is. Any other
 * item is used after the jobs that were queued for its group, when the rest of the predicted
 * interval has passed; without a prediction, or if the use is overdue then, when as many pages have
 * passed as since the last use.
 *
 * Return: false if the job itself lists the item; true if the item is offered.
 */
bool pagoda_policy_is_later(const struct pagoda_policy *policy,
			    const struct pagoda_policy_item *item, u64 when)
{
	u64 queue, age, interval = item->interval;

	if (pagoda_policy_is_offered(item))
		return true;
	if (item->queued)
		return pagoda_policy_queued_next(item) > when;
	queue = queue_length(policy, item->lane);
	age = policy->clock + queue - item->last;
	if (policy->distrusts || !interval || policy_is_overdue(item, age))
		return policy->clock + queue + age >= when;
	return policy->clock + queue + interval - min(age, interval) >= when;
}

/*
 * Returns how many pages an item's next use counts as being away, weighed by what an eviction
 * costs. If the next use isn't known, it comes after the queued jobs of the item's group: to the
 * length of that queue, @queue, is added what is left then of the predicted interval; or twice the
 * age (pages since the last use) that the item has then, if there is no prediction or the use is
 * overdue. If predictions are distrusted, that age is added once, and the sum isn't weighed.
 */
static u64 policy_distance(const struct pagoda_policy *policy,
			   const struct pagoda_policy_item *item, u64 queue)
{
	u64 interval, age;

	if (queued_soon(policy, item)) {
		u64 next = pagoda_policy_queued_next(item);

		return policy_weigh(item, next - min(next, policy->clock),
				    next - min(next, item->last));
	}
	age = policy->clock + queue - item->last;
	if (policy->distrusts)
		return queue + age;
	interval = item->interval;
	if (!interval || policy_is_overdue(item, age))
		return policy_weigh_unknown(item, queue + 2 * age);
	return policy_weigh(item, queue + interval - min(age, interval), queue + interval);
}

/* Returns @distance rounded down, so that distances that differ by over an eighth still differ. */
static u64 policy_round(u64 distance)
{
	const int bits = PAGODA_POLICY_SAME_SHIFT + 1;
	u32 shift = max(fls64(distance), bits) - bits;

	return distance >> shift << shift;
}

static bool policy_is_idle(const struct pagoda_policy *policy, struct pagoda_policy_item *item)
{
	return !policy->is_busy || !policy->is_busy(item);
}

/*
 * Makes an offered candidate @best if it is the better victim: idle goes before busy, then what was
 * offered first. Returns true if the candidate was found busy; false if it is idle, or if is_busy()
 * wasn't called because the answer doesn't matter.
 */
static bool policy_consider_offered(const struct pagoda_policy *policy,
				    struct policy_choice *best, struct pagoda_policy_item *item)
{
	u64 distance = policy->offers - item->offered;
	bool sooner = !best->item || distance > best->distance;

	if (best->item && best->merits && !sooner)
		return false;
	if (policy_is_idle(policy, item)) {
		*best = (struct policy_choice){ item, .distance = distance, .merits = 1 };
		return false;
	}
	if (!best->item || (!best->merits && sooner))
		*best = (struct policy_choice){ item, .distance = distance };
	return true;
}

static bool policy_is_better(const struct policy_choice *a, const struct policy_choice *b)
{
	if (!b->item || a->about != b->about)
		return !b->item || a->about > b->about;
	return a->merits != b->merits ? a->merits > b->merits : a->distance > b->distance;
}

/*
 * Makes a candidate of a lane, with the distance @distance, @best if it is the better victim.
 * Returns true if the candidate was found busy; false if it is idle, or if is_busy(), which is
 * expensive, wasn't called: it doesn't matter for an item whose distance is below that of @best.
 */
static bool policy_consider(const struct pagoda_policy *policy, struct policy_choice *best,
			    const struct pagoda_policy_lane *lane, struct pagoda_policy_item *item,
			    u64 distance)
{
	struct policy_choice choice;
	bool idle;

	if (distance < best->about)
		return false;
	if (lane->rank < PAGODA_POLICY_OFFERS)
		return policy_consider_offered(policy, best, item);
	idle = policy_is_idle(policy, item);
	choice = (struct policy_choice){
		.item = item,
		.about = policy_round(distance),
		.distance = distance,
		.merits = idle << 2 | lane->merits,
	};
	if (policy_is_better(&choice, best))
		*best = choice;
	return !idle;
}

static struct pagoda_policy_item *policy_item(struct list_head *order)
{
	return list_entry(order, struct pagoda_policy_item, order);
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

/* Ends of a lane, as bits: that of the first candidate, and that of the last one. */
#define END_FIRST	BIT(0)
#define END_LAST	BIT(1)

/*
 * Returns at which ends of a lane the best victim may be; @queue is queue_length():
 *
 *	last	if there is only one candidate, or if queued jobs list them: the next use of the
 *		last one is latest
 *	both	else, if they are offered, predictions are distrusted, or the lane isn't sorted
 *	first	else, if no use is predicted: the last use of the first one is earliest
 *	both	else, if the use of the first one is overdue
 *	last	else
 */
static u32 policy_lane_ends(const struct pagoda_policy *policy,
			    const struct pagoda_policy_lane *lane, u64 queue)
{
	const struct pagoda_policy_item *first = policy_item(lane->items.next);
	u32 class = PAGODA_POLICY_CLASSES - 1 - lane->row / PAGODA_POLICY_SIDES;

	if (lane->items.next == lane->items.prev || class < PAGODA_POLICY_PREDICTED)
		return END_LAST;
	if (lane->rank < PAGODA_POLICY_OFFERS || policy->distrusts || !lane->sorted)
		return END_FIRST | END_LAST;
	if (class == PAGODA_POLICY_PREDICTED)
		return END_FIRST;
	if (policy_is_overdue(first, policy->clock + queue - first->last))
		return END_FIRST | END_LAST;
	return END_LAST;
}

/* Notes at which ends of a lane the best victim may be, and how far the candidates there are. */
static void policy_look(const struct pagoda_policy *policy, struct pagoda_policy_lane *lane)
{
	u64 queue = queue_length(policy, lane);

	lane->looked = policy->moment;
	lane->ends = policy_lane_ends(policy, lane, queue);
	if (lane->ends & END_FIRST)
		lane->distance[0] = policy_distance(policy, policy_item(lane->items.next), queue);
	if (lane->ends & END_LAST)
		lane->distance[1] = policy_distance(policy, policy_item(lane->items.prev), queue);
}

/* Considers the candidate of a lane that is next to that at one end, which is busy. */
static void policy_consider_behind(const struct pagoda_policy *policy, struct policy_choice *best,
				   struct pagoda_policy_lane *lane, struct list_head *at)
{
	struct pagoda_policy_item *item = policy_item(at);

	if (at != &lane->items)
		policy_consider(policy, best, lane, item,
				policy_distance(policy, item, queue_length(policy, lane)));
}

/*
 * Considers the candidates at those ends of a lane that policy_lane_ends() tells; if the candidate
 * at an end is busy, also the one next to it.
 */
static void policy_consider_lane(const struct pagoda_policy *policy, struct policy_choice *best,
				 struct pagoda_policy_lane *lane)
{
	struct list_head *at;

	if (lane->looked != policy->moment)
		policy_look(policy, lane);
	at = lane->items.next;
	if (lane->ends & END_FIRST &&
	    policy_consider(policy, best, lane, policy_item(at), lane->distance[0]))
		policy_consider_behind(policy, best, lane, at->next);
	at = lane->items.prev;
	if (lane->ends & END_LAST &&
	    policy_consider(policy, best, lane, policy_item(at), lane->distance[1]))
		policy_consider_behind(policy, best, lane, at->prev);
}

/* Considers up to LANES lanes of a row, from the last one back to @first, that aren't set aside. */
static void policy_consider_row_back(const struct pagoda_policy *policy, struct policy_choice *best,
				     struct pagoda_policy_lane *row,
				     const struct pagoda_policy_lane *first,
				     const struct pagoda_policy_aside *aside)
{
	struct pagoda_policy_lane *last = row;
	u32 n = 0;

	do {
		last = list_prev_entry(last, order);
		if (!policy_is_aside(aside, last)) {
			policy_consider_lane(policy, best, last);
			n++;
		}
	} while (last != first && n < LANES);
}

/* Considers up to LANES lanes at each end of a row that aren't set aside, each of them once. */
static void policy_consider_row(const struct pagoda_policy *policy, struct policy_choice *best,
				struct pagoda_policy_lane *row,
				const struct pagoda_policy_aside *aside)
{
	struct pagoda_policy_lane *first = row;
	u32 n = 0;

	do {
		if (!policy_is_aside(aside, first)) {
			policy_consider_lane(policy, best, first);
			n++;
		}
		first = list_next_entry(first, order);
	} while (first != row && n < LANES);
	if (first != row)
		policy_consider_row_back(policy, best, row, first, aside);
}

/*
 * Compares the candidates of a level with the best victim so far, @best; with NEED_VISIBLE only
 * those that the CPU can see. Lanes of the longest predicted intervals come first.
 */
static void policy_pick_level(struct pagoda_policy *policy, struct policy_choice *best,
			      struct pagoda_policy_level *level, enum pagoda_policy_need need,
			      const struct pagoda_policy_aside *aside)
{
	u64 left, mask = need == PAGODA_POLICY_NEED_VISIBLE ? VISIBLE : U64_MAX;
	u32 word;

	for (word = 0; word < PAGODA_POLICY_WORDS; word++)
		for (left = level->filled[word] & mask; left; left &= left - 1)
			policy_consider_row(policy, best,
					    level->rows[64 * word + __ffs64(left)], aside);
}

/* Picks among the offered candidates: an idle one of the lowest priority, else a busy one. */
static void policy_pick_offered(struct pagoda_policy *policy, struct policy_choice *best,
				enum pagoda_policy_need need,
				const struct pagoda_policy_aside *aside)
{
	struct policy_choice busy = {};
	u32 level;

	for (level = 0; level < PAGODA_POLICY_OFFERS && !best->item; level++) {
		policy_pick_level(policy, best, &policy->levels[level], need, aside);
		if (!best->item || best->merits)
			continue;
		if (!busy.item)
			busy = *best;
		best->item = NULL;
	}
	if (!best->item)
		*best = busy;
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
 * Return: The item, or NULL if @need and @aside leave no candidate.
 */
struct pagoda_policy_item *pagoda_policy_pick(struct pagoda_policy *policy,
					      enum pagoda_policy_need need,
					      const struct pagoda_policy_aside *aside)
{
	u64 left, offered = BIT_ULL(PAGODA_POLICY_OFFERS) - 1;
	struct policy_choice best = {};

	if (policy->filled & offered)
		policy_pick_offered(policy, &best, need, aside);
	left = aside && aside->only_offered ? 0 : policy->filled & ~offered;
	for (; left && !best.item; left &= left - 1)
		policy_pick_level(policy, &best, &policy->levels[__ffs64(left)], need, aside);
	if (!best.item)
		return NULL;
	pagoda_lanes_leave(policy, best.item);
	best.item->picked = true;
	best.item->costs = !best.item->clean;
	return best.item;
}
