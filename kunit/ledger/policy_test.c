// SPDX-License-Identifier: GPL-2.0
/* Choice of victims: which goes before which, in single cases and against a plain, slow model. */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "vidmm/ledger/policy.h"

/* ---- Few items ---------------------------------------------------------------- */

#define FEW	48

/* An allocation; @busy is what the policy's callback returns. */
struct few_item {
	struct pagoda_policy_item base;
	bool busy;
};

#define GROUPS	4

/*
 * A policy and some items, one page each unless said otherwise; they are in VRAM once used. All are
 * in the first group at first, which has no owner. The second group is of the first owner, the
 * third and fourth of the second.
 */
struct policy_few {
	struct pagoda_policy policy;
	struct few_item items[FEW];
	struct pagoda_policy_lane lanes[FEW];
	struct pagoda_policy_owner owners[2];
	struct pagoda_policy_group groups[GROUPS];
};

static bool few_is_busy(struct pagoda_policy_item *item)
{
	return container_of(item, struct few_item, base)->busy;
}

/* VRAM is so large that predictions are never given up. */
static struct policy_few *few_make(struct kunit *test, u64 clock)
{
	struct policy_few *few = test_zalloc(test, sizeof(*few));
	u32 n;

	pagoda_policy_init(&few->policy, SZ_1T);
	few->policy.is_busy = few_is_busy;
	few->policy.clock = clock;
	for (n = 0; n < ARRAY_SIZE(few->owners); n++)
		pagoda_policy_owner_init(&few->owners[n]);
	for (n = 0; n < GROUPS; n++)
		pagoda_policy_group_init(&few->groups[n], n ? &few->owners[n / 2] : NULL);
	for (n = 0; n < FEW; n++)
		pagoda_policy_add(&few->policy, &few->items[n].base, &few->lanes[n],
				  &few->groups[0], SZ_4K);
	return few;
}

static void few_use(struct policy_few *few, u32 first, u32 count)
{
	for (; count; count--, first++)
		pagoda_policy_use(&few->policy, &few->items[first].base);
}

/* Lets time pass: another item uses so many pages and is no candidate afterwards. */
static void few_pass_time(struct policy_few *few, u32 pages)
{
	struct pagoda_policy_item *other = &few->items[FEW - 1].base;

	while (pages--)
		pagoda_policy_use(&few->policy, other);
	pagoda_policy_leave(&few->policy, other);
}

static int few_pick(struct policy_few *few, enum pagoda_policy_need need)
{
	struct pagoda_policy_item *item = pagoda_policy_pick(&few->policy, need, NULL);

	return item ? container_of(item, struct few_item, base) - few->items : -1;
}

/* Expects these victims in this order, and then no further candidate. */
static void few_expect(struct kunit *test, struct policy_few *few, const int *order, u32 count)
{
	u32 n;

	for (n = 0; n < count; n++)
		KUNIT_EXPECT_EQ_MSG(test, few_pick(few, PAGODA_POLICY_NEED_ANY), order[n],
				    "victim %u", n);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), -1);
}

/* Only items in VRAM are candidates, and a victim is picked once until it is entered again. */
static void policy_candidates(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	struct pagoda_policy *policy = &few->policy;

	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), -1);
	few_use(few, 0, 4);
	pagoda_policy_hold(policy, &few->items[0].base);
	pagoda_policy_leave(policy, &few->items[2].base);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 3);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), -1);

	pagoda_policy_enter(policy, &few->items[3].base);
	pagoda_policy_enter(policy, &few->items[0].base);
	KUNIT_EXPECT_EQ(test, policy->recent_pages, 3);
	pagoda_policy_remove(policy, &few->items[1].base);
	KUNIT_EXPECT_EQ(test, policy->recent_pages, 2);
	few_expect(test, few, (const int[]){ 0, 3 }, 2);
	KUNIT_EXPECT_EQ(test, policy->filled, 0);
}

/* Items used once each: the one unused for longest goes first. */
static void policy_recency(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 3, 1);
	few_use(few, 0, 3);
	few_use(few, 4, 2);
	few_expect(test, few, (const int[]){ 3, 0, 1, 2, 4, 5 }, 6);
}

/* Offered items of any age go before all others, by rank (C169); then by priority (C168). */
static void policy_ranks(struct kunit *test)
{
	static const u32 priorities[] = {
		DRM_PAGODA_RESIDENCY_MAXIMUM, DRM_PAGODA_RESIDENCY_HIGH,
		DRM_PAGODA_RESIDENCY_NORMAL, DRM_PAGODA_RESIDENCY_LOW,
		DRM_PAGODA_RESIDENCY_MINIMUM, DRM_PAGODA_RESIDENCY_NORMAL + PAGODA_POLICY_FINEST,
		DRM_PAGODA_RESIDENCY_NORMAL - PAGODA_POLICY_FINEST, U32_MAX, 0,
	};
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < ARRAY_SIZE(priorities); n++)
		pagoda_policy_set_priority(&few->policy, &few->items[n].base, priorities[n]);
	few_use(few, 0, 12);
	for (n = 0; n < PAGODA_POLICY_OFFERS; n++)
		pagoda_policy_offer(&few->policy, &few->items[9 + n].base,
				    PAGODA_POLICY_OFFERS - 1 - n);
	few_expect(test, few, (const int[]){ 11, 10, 9, 4, 8, 3, 6, 2, 5, 1, 0, 7 }, 12);
}

/*
 * Of offered items the one goes first that was offered first, however it was used. Busy ones go
 * after idle ones of any offer priority, but before items that aren't offered.
 */
static void policy_offers(struct kunit *test)
{
	static const int offers[] = { 3, 1, 5, 0, 2, 6 };
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few_use(few, 0, 8);
	for (n = 0; n < ARRAY_SIZE(offers); n++)
		pagoda_policy_offer(&few->policy, &few->items[offers[n]].base, n >= 4);
	/* Nothing changes if they are offered again. */
	pagoda_policy_offer(&few->policy, &few->items[3].base, 2);
	few->items[3].busy = true;
	few->items[2].busy = true;
	few_expect(test, few, (const int[]){ 1, 5, 0, 6, 3, 2, 4, 7 }, 8);
}

/* An offer that is taken back: a priority that was set meanwhile takes effect. */
static void policy_reclaim(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 4);
	pagoda_policy_offer(&few->policy, &few->items[3].base, 0);
	pagoda_policy_offer(&few->policy, &few->items[2].base, 0);
	pagoda_policy_set_priority(&few->policy, &few->items[2].base, DRM_PAGODA_RESIDENCY_HIGH);
	pagoda_policy_reclaim(&few->policy, &few->items[2].base);
	few_expect(test, few, (const int[]){ 3, 0, 1, 2 }, 4);
}

/* Priorities that differ too little are equal, and recency decides. */
static void policy_fine_priorities(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	pagoda_policy_set_priority(&few->policy, &few->items[0].base,
				   DRM_PAGODA_RESIDENCY_HIGH + SZ_64K);
	pagoda_policy_set_priority(&few->policy, &few->items[1].base, DRM_PAGODA_RESIDENCY_HIGH);
	few_use(few, 0, 2);
	few_expect(test, few, (const int[]){ 0, 1 }, 2);
}

/*
 * Among items used at about the same time, busy ones go last, dirty ones before clean ones, and
 * visible ones before others.
 */
static void policy_ties(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 4);
	few->items[0].busy = true;
	pagoda_policy_set_visible(&few->policy, &few->items[2].base, true);
	pagoda_policy_set_clean(&few->policy, &few->items[2].base, true);
	pagoda_policy_set_clean(&few->policy, &few->items[3].base, true);
	few_pass_time(few, 16);
	few_expect(test, few, (const int[]){ 3, 2, 1, 0 }, 4);
}

/* An item that is expected to be used much later goes first, busy or not. */
static void policy_ties_end(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 1);
	few_pass_time(few, 16);
	few_use(few, 1, 1);
	few->items[0].busy = true;
	pagoda_policy_set_clean(&few->policy, &few->items[1].base, true);
	few_pass_time(few, 1);
	few_expect(test, few, (const int[]){ 0, 1 }, 2);
}

/* A fifth later counts as later. */
static void policy_ties_near(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 1);
	few_pass_time(few, 4);
	few_use(few, 1, 1);
	few->items[0].busy = true;
	few_pass_time(few, 20);
	few_expect(test, few, (const int[]){ 0, 1 }, 2);
}

/*
 * Clean items cost half a move: one goes before a dirty item unless it is expected to be used twice
 * as soon.
 */
static void policy_clean(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 1);
	few_pass_time(few, 10);
	few_use(few, 1, 1);
	few_pass_time(few, 15);
	few_use(few, 2, 1);
	few_pass_time(few, 14);
	/* Last used 40, 29 and 14 pages ago. */
	pagoda_policy_set_clean(&few->policy, &few->items[1].base, true);
	pagoda_policy_set_clean(&few->policy, &few->items[2].base, true);
	few_expect(test, few, (const int[]){ 1, 0, 2 }, 3);
}

/* For visible room only visible items are picked, by priority. */
static void policy_visible(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 4);
	pagoda_policy_offer(&few->policy, &few->items[0].base, 0);
	pagoda_policy_set_visible(&few->policy, &few->items[2].base, true);
	pagoda_policy_set_visible(&few->policy, &few->items[3].base, true);
	pagoda_policy_set_priority(&few->policy, &few->items[2].base, DRM_PAGODA_RESIDENCY_HIGH);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_VISIBLE), 3);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_VISIBLE), 2);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_VISIBLE), -1);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
}

/* In a cycle the item used last is used again last, so it goes first. */
static void policy_cycle(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 8);
	few_expect(test, few, (const int[]){ 7, 6, 5, 4, 3, 2, 1, 0 }, 8);
}

/*
 * A frame uses one item twice, at near and far distances in turn, and another at equal distances of
 * 12. The first item is used again after 22 pages following the near use, and after 2 following the
 * far use.
 */
static void policy_alternates(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 5; n++) {
		few_use(few, 0, 1);
		few_pass_time(few, 1);
		few_use(few, 0, 1);
		few_pass_time(few, 3);
		few_use(few, 1, 1);
		few_pass_time(few, 11);
		few_use(few, 1, 1);
		few_pass_time(few, 5);
	}
	few_use(few, 0, 1);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	pagoda_policy_enter(&few->policy, &few->items[1].base);
	few_pass_time(few, 1);
	few_use(few, 0, 1);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
}

/* As policy_cycle(), while predictions aren't trusted: plain LRU. */
static void policy_distrusts(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 8);
	few->policy.distrusts = true;
	few->policy.rest = U64_MAX;
	few_expect(test, few, (const int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, 8);
}

/* An item that wasn't used when expected isn't waited for any longer. */
static void policy_overdue(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 8);
	for (n = 0; n < 3; n++)
		few_use(few, 1, 7);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
}

/* ---- Owners and their budgets ---------------------------------------------------- */

static void few_give(struct policy_few *few, u32 first, u32 count, u32 group)
{
	for (; count; count--, first++)
		pagoda_policy_regroup(&few->policy, &few->items[first].base, &few->groups[group]);
}

static void few_set_over(struct policy_few *few, u32 owner, bool over)
{
	pagoda_policy_set_over(&few->policy, &few->owners[owner], over);
}

static void few_set_priority(struct policy_few *few, u32 n, u32 priority)
{
	pagoda_policy_set_priority(&few->policy, &few->items[n].base, priority);
}

/* Two owners' items of several priorities, one of which is offered, and two without an owner. */
static struct policy_few *few_make_owned(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_give(few, 0, 4, 1);
	few_give(few, 4, 4, 2);
	few_set_priority(few, 0, DRM_PAGODA_RESIDENCY_MAXIMUM);
	few_set_priority(few, 1, DRM_PAGODA_RESIDENCY_HIGH);
	few_set_priority(few, 4, DRM_PAGODA_RESIDENCY_MINIMUM);
	few_set_priority(few, 5, DRM_PAGODA_RESIDENCY_MAXIMUM);
	few_use(few, 0, 10);
	pagoda_policy_offer(&few->policy, &few->items[7].base, 2);
	return few;
}

/*
 * Items of an owner over its budget go before those of an owner within, whatever the priorities.
 * The priorities order an owner's own items, and those of owners that are both over or both within.
 * Offered items go first.
 */
static void policy_over(struct kunit *test)
{
	struct policy_few *few = few_make_owned(test);

	few_set_over(few, 0, true);
	few_expect(test, few, (const int[]){ 7, 2, 3, 1, 0, 4, 6, 8, 9, 5 }, 10);
	few = few_make_owned(test);
	few_set_over(few, 1, true);
	few_set_over(few, 0, true);
	few_expect(test, few, (const int[]){ 7, 4, 2, 3, 6, 1, 0, 5, 8, 9 }, 10);
	few = few_make_owned(test);
	few_set_over(few, 0, true);
	few_set_over(few, 0, false);
	few_expect(test, few, (const int[]){ 7, 4, 2, 3, 6, 8, 9, 1, 0, 5 }, 10);
}

#define CROSSING	10000u

/* What the measurement of a crossing needs. */
struct crossing {
	struct pagoda_policy policy;
	struct pagoda_policy_owner owner;
	struct pagoda_policy_group groups[2];
	struct pagoda_policy_item items[CROSSING];
	struct pagoda_policy_lane lanes[CROSSING];
};

static bool crossing_is_busy(struct pagoda_policy_item *item)
{
	return true;
}

/*
 * An owner with thousands of candidates has one lane for those that are alike, and only lanes
 * change their places when the owner gets over its budget.
 */
static void policy_crossing(struct kunit *test)
{
	struct crossing *c = test_vzalloc(test, sizeof(*c));
	struct pagoda_policy_item *item;
	u32 n;

	pagoda_policy_init(&c->policy, SZ_1T);
	pagoda_policy_owner_init(&c->owner);
	pagoda_policy_group_init(&c->groups[0], NULL);
	pagoda_policy_group_init(&c->groups[1], &c->owner);
	for (n = 0; n < CROSSING; n++) {
		pagoda_policy_add(&c->policy, &c->items[n], &c->lanes[n], &c->groups[n > 0],
				  SZ_4K);
		pagoda_policy_set_priority(&c->policy, &c->items[n], n ?
					   DRM_PAGODA_RESIDENCY_MAXIMUM :
					   DRM_PAGODA_RESIDENCY_MINIMUM);
		pagoda_policy_use(&c->policy, &c->items[n]);
	}
	KUNIT_EXPECT_EQ(test, c->groups[1].nr_lanes, 1u);
	item = pagoda_policy_pick(&c->policy, PAGODA_POLICY_NEED_ANY, NULL);
	KUNIT_EXPECT_PTR_EQ(test, item, &c->items[0]);
	pagoda_policy_enter(&c->policy, item);
	pagoda_policy_set_over(&c->policy, &c->owner, true);
	KUNIT_EXPECT_EQ(test, c->groups[1].nr_lanes, 1u);
	for (n = 1; n < CROSSING; n++) {
		item = pagoda_policy_pick(&c->policy, PAGODA_POLICY_NEED_ANY, NULL);
		if (item != &c->items[n])
			break;
		pagoda_policy_leave(&c->policy, item);
	}
	KUNIT_EXPECT_EQ(test, n, CROSSING);
	KUNIT_EXPECT_EQ(test, c->groups[1].nr_lanes, 0u);
	KUNIT_EXPECT_TRUE(test, list_empty(&c->policy.owners));
	item = pagoda_policy_pick(&c->policy, PAGODA_POLICY_NEED_ANY, NULL);
	KUNIT_EXPECT_PTR_EQ(test, item, &c->items[0]);
}

/* What a pick looks at doesn't depend on the number of offered items, all of which are busy. */
static void policy_offered_busy(struct kunit *test)
{
	static const u32 counts[] = { 100, CROSSING };
	struct crossing *c = test_vzalloc(test, sizeof(*c));
	u64 looked_at[ARRAY_SIZE(counts)];
	struct pagoda_policy_item *item;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		pagoda_policy_init(&c->policy, SZ_1T);
		c->policy.is_busy = crossing_is_busy;
		pagoda_policy_group_init(&c->groups[0], NULL);
		for (n = 0; n < counts[i]; n++) {
			pagoda_policy_add(&c->policy, &c->items[n], &c->lanes[n], &c->groups[0],
					  SZ_4K);
			pagoda_policy_use(&c->policy, &c->items[n]);
			pagoda_policy_offer(&c->policy, &c->items[n], n % 3);
		}
		item = pagoda_policy_pick(&c->policy, PAGODA_POLICY_NEED_ANY, NULL);
		KUNIT_EXPECT_PTR_EQ(test, item, &c->items[0]);
		looked_at[i] = c->policy.looked_at;
	}
	KUNIT_EXPECT_EQ(test, looked_at[0], looked_at[1]);
}

/* Each item takes a lane with it that isn't used any more, in whatever order items end. */
static void policy_lanes(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	unsigned long seen[BITS_TO_LONGS(FEW)] = {};
	struct pagoda_policy_lane *lane;
	u32 n;

	few_use(few, 0, FEW);
	few_use(few, 0, FEW / 2);
	few_give(few, 5, 20, 1);
	for (n = 0; n < FEW; n++) {
		lane = pagoda_policy_remove(&few->policy, &few->items[n * 5 % FEW].base);
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(lane - few->lanes, seen));
		memset(lane, 0x55, sizeof(*lane));
	}
	KUNIT_EXPECT_EQ(test, few->groups[0].nr_lanes + few->groups[1].nr_lanes, 0u);
	KUNIT_EXPECT_EQ(test, few->policy.filled, 0);
}

/* ---- Against a model ----------------------------------------------------------- */

/* Number of uses of an item the model can hold; it forgets none. */
#define USES	512
#define STEPS	6000

/*
 * An item of the model. @place is its place in its lane: lanes are sorted by place. @home_rank is
 * its rank while it isn't offered.
 */
struct model_item {
	u64 uses[USES];
	u32 nr_uses;
	s64 place;
	u32 rank;
	u32 home_rank;
	u32 group;
	u32 offered;
	bool candidate;
	bool visible;
	bool clean;
};

struct model {
	struct policy_few *few;
	struct model_item items[FEW];
	u64 clock;
	s64 places;
	u32 offers;
	bool over[2];
	int aside;
};

static u64 model_interval(const struct model_item *it, u32 back)
{
	return it->uses[it->nr_uses - 1 - back] - it->uses[it->nr_uses - 2 - back];
}

static bool model_same(u64 a, u64 b)
{
	return max(a, b) - min(a, b) <= max(a, b) / 8;
}

static u64 model_predict(const struct model_item *it)
{
	u64 shortest = U64_MAX;
	u32 n;

	if (it->nr_uses < 2)
		return 0;
	if (it->nr_uses >= 5 && model_same(model_interval(it, 0), model_interval(it, 2)) &&
	    model_same(model_interval(it, 1), model_interval(it, 3)) &&
	    !model_same(model_interval(it, 0), model_interval(it, 1)))
		return model_interval(it, 1);
	for (n = 0; n < 3 && n + 2 <= it->nr_uses; n++)
		shortest = min(shortest, model_interval(it, n));
	return shortest;
}

static u64 model_distance(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it);
	u64 age = model->clock - it->uses[it->nr_uses - 1];
	u32 cheaper = it->clean ? 2 : 1;

	if (interval && age <= interval)
		return cheaper * (interval - age);
	return interval && age <= interval + interval / 8 ? 0 : cheaper * 2 * age;
}

/* Returns equal values for distances in the same eighth of a power of two. */
static u64 model_step(u64 distance)
{
	u32 power = distance ? ilog2(distance) : 0;

	return distance ? 1 + 8 * power + ((8 * distance >> power) - 8) : 0;
}

static u32 model_lane(const struct model_item *it)
{
	u64 interval = it->rank < PAGODA_POLICY_OFFERS ? 0 : model_predict(it);

	return (interval ? ilog2(interval) + 1 : 0) << 8 | it->group << 6 | it->rank << 1 |
	       it->visible;
}

/* Returns what is lower for items that leave first, whatever their uses. */
static u32 model_level(const struct model *model, const struct model_item *it)
{
	bool over = it->group && model->over[it->group / 2];

	return it->rank < PAGODA_POLICY_OFFERS || over ? it->rank : 32 + it->rank;
}

/* Returns whether the item is among the first or last two of its lane. */
static bool model_is_at_end(const struct model *model, const struct model_item *it)
{
	u32 n, before = 0, behind = 0;

	for (n = 0; n < FEW; n++) {
		const struct model_item *other = &model->items[n];

		if (!other->candidate || model_lane(other) != model_lane(it))
			continue;
		before += other->place < it->place;
		behind += other->place > it->place;
	}
	return before < 2 || behind < 2;
}

/*
 * Returns a value that is larger for earlier victims, and equal for items that may go in either
 * order.
 */
static u64 model_merit(const struct model *model, u32 n)
{
	const struct model_item *it = &model->items[n];
	u64 distance = model_distance(model, it);
	u64 merit = model_step(distance);

	if (it->rank < PAGODA_POLICY_OFFERS)
		return (u64)!model->few->items[n].busy << 32 | (model->offers - it->offered);
	merit = 2 * merit + !model->few->items[n].busy;
	merit = 2 * merit + it->clean;
	merit = 2 * merit + !it->visible;
	return merit << 48 | distance;
}

static bool model_may_go(const struct model *model, u32 n, enum pagoda_policy_need need)
{
	const struct model_item *it = &model->items[n];

	return it->candidate && (int)it->group != model->aside &&
	       (it->visible || need == PAGODA_POLICY_NEED_ANY);
}

static u32 model_lowest_level(const struct model *model, enum pagoda_policy_need need)
{
	u32 n, lowest = U32_MAX, lowest_idle = U32_MAX, level;

	for (n = 0; n < FEW; n++) {
		if (!model_may_go(model, n, need))
			continue;
		level = model_level(model, &model->items[n]);
		lowest = min(lowest, level);
		if (!model->few->items[n].busy && model_is_at_end(model, &model->items[n]))
			lowest_idle = min(lowest_idle, level);
	}
	/* Of offered items, idle ones go first. */
	return lowest_idle < PAGODA_POLICY_OFFERS ? lowest_idle : lowest;
}

static void model_expect(struct kunit *test, struct model *model, int victim,
			 enum pagoda_policy_need need)
{
	u32 n, level = model_lowest_level(model, need);
	u64 best = 0;

	if (level == U32_MAX) {
		KUNIT_EXPECT_EQ(test, victim, -1);
		return;
	}
	for (n = 0; n < FEW; n++)
		if (model_may_go(model, n, need) &&
		    model_level(model, &model->items[n]) == level &&
		    model_is_at_end(model, &model->items[n]))
			best = max(best, model_merit(model, n));
	KUNIT_ASSERT_GE(test, victim, 0);
	KUNIT_EXPECT_TRUE(test, model_may_go(model, victim, need));
	KUNIT_EXPECT_EQ(test, model_level(model, &model->items[victim]), level);
	KUNIT_EXPECT_EQ(test, model_merit(model, victim), best);
}

static void model_link(struct model *model, struct model_item *it)
{
	const struct model_item *first = NULL;
	u32 n;

	it->candidate = false;
	for (n = 0; n < FEW; n++) {
		const struct model_item *other = &model->items[n];

		if (other->candidate && model_lane(other) == model_lane(it) &&
		    (!first || other->place < first->place))
			first = other;
	}
	it->candidate = true;
	model->places++;
	it->place = model->places;
	if (first && (it->rank < PAGODA_POLICY_OFFERS ? it->offered < first->offered :
		      it->uses[it->nr_uses - 1] < first->uses[first->nr_uses - 1]))
		it->place = -it->place;
}

static void model_relink(struct model *model, struct model_item *it)
{
	if (it->candidate)
		model_link(model, it);
}

static void model_use(struct model *model, u32 n)
{
	struct model_item *it = &model->items[n];

	if (it->nr_uses == USES)
		return;
	pagoda_policy_use(&model->few->policy, &model->few->items[n].base);
	model->clock += model->few->items[n].base.pages;
	it->uses[it->nr_uses++] = model->clock;
	model_link(model, it);
}

static void model_change(struct model *model, u32 n, struct rnd_state *random)
{
	struct pagoda_policy *policy = &model->few->policy;
	struct pagoda_policy_item *item = &model->few->items[n].base;
	struct model_item *it = &model->items[n];
	u32 value = prandom_u32_state(random) % 17;

	switch (prandom_u32_state(random) % 8) {
	case 0:
		pagoda_policy_offer(policy, item, value % 3);
		if (it->rank < PAGODA_POLICY_OFFERS)
			return;
		it->offered = ++model->offers;
		it->rank = value % 3;
		break;
	case 1:
		pagoda_policy_reclaim(policy, item);
		it->rank = it->home_rank;
		break;
	case 2:
		pagoda_policy_set_priority(policy, item, DRM_PAGODA_RESIDENCY_MINIMUM +
					   value * PAGODA_POLICY_FINEST);
		it->home_rank = PAGODA_POLICY_OFFERS + value;
		if (it->rank < PAGODA_POLICY_OFFERS)
			return;
		it->rank = it->home_rank;
		break;
	case 3:
		pagoda_policy_set_visible(policy, item, value & 1);
		it->visible = value & 1;
		break;
	case 4:
		few_give(model->few, n, 1, value % GROUPS);
		it->group = value % GROUPS;
		break;
	case 5:
		model->over[value % 2] = value / 2 % 2;
		few_set_over(model->few, value % 2, value / 2 % 2);
		return;
	case 6:
		pagoda_policy_set_clean(policy, item, value & 1);
		it->clean = value & 1;
		return;
	default:
		model->few->items[n].busy = value & 1;
		return;
	}
	model_relink(model, it);
}

static void model_pick(struct kunit *test, struct model *model, struct rnd_state *random)
{
	enum pagoda_policy_need need = prandom_u32_state(random) % 2;
	struct pagoda_policy *policy = &model->few->policy;
	struct pagoda_policy_aside aside = {};
	struct pagoda_policy_item *item;
	int victim;

	model->aside = prandom_u32_state(random) % (2 * GROUPS);
	if (model->aside < GROUPS)
		aside.groups[aside.count++] = &model->few->groups[model->aside];
	item = pagoda_policy_pick(policy, need, &aside);
	victim = item ? container_of(item, struct few_item, base) - model->few->items : -1;
	model_expect(test, model, victim, need);
	if (victim < 0)
		return;
	model->items[victim].candidate = false;
	if (prandom_u32_state(random) % 4) {
		pagoda_policy_leave(policy, &model->few->items[victim].base);
	} else {
		pagoda_policy_enter(policy, &model->few->items[victim].base);
		model_link(model, &model->items[victim]);
	}
}

static struct model *model_make(struct kunit *test, struct rnd_state *random)
{
	struct model *model = test_vzalloc(test, sizeof(*model));
	u32 n;

	model->clock = prandom_u32_state(random);
	model->few = few_make(test, model->clock);
	for (n = 0; n < FEW; n++) {
		pagoda_policy_add(&model->few->policy, &model->few->items[n].base,
				  &model->few->lanes[n], &model->few->groups[0],
				  (1 + prandom_u32_state(random) % 9) * SZ_4K);
		model->items[n].rank = model->few->items[n].base.rank;
		model->items[n].home_rank = model->items[n].rank;
	}
	return model;
}

/*
 * Random uses, mostly in the order of items, so that there is something to predict: each victim is
 * one that the model allows.
 */
static void policy_random(struct kunit *test)
{
	struct rnd_state random;
	struct model *model;
	u32 n, at = 0;

	prandom_seed_state(&random, 5);
	model = model_make(test, &random);
	for (n = 0; n < STEPS; n++) {
		u32 what = prandom_u32_state(&random) % 8;

		at = prandom_u32_state(&random) % 16 ? at + 1 : prandom_u32_state(&random);
		if (what < 5)
			model_use(model, at % FEW);
		else if (what < 7)
			model_pick(test, model, &random);
		else
			model_change(model, prandom_u32_state(&random) % FEW, &random);
	}
}

/* A use that is reported late counts from when it happened, and gives no interval. */
static void policy_late(struct kunit *test)
{
	struct policy_few *few = few_make(test, 100);
	u64 when;

	few_use(few, 0, 2);
	when = few->policy.clock;
	few_use(few, 2, 2);
	pagoda_policy_use_late(&few->policy, &few->items[0].base, when);
	KUNIT_EXPECT_FALSE(test, few->items[0].base.nr_intervals);
	KUNIT_EXPECT_EQ(test, few->items[0].base.last, when);
	KUNIT_EXPECT_EQ(test, few->policy.clock, when + 2);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 2);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(policy_candidates),
	KUNIT_CASE(policy_recency),
	KUNIT_CASE(policy_ranks),
	KUNIT_CASE(policy_offers),
	KUNIT_CASE(policy_reclaim),
	KUNIT_CASE(policy_fine_priorities),
	KUNIT_CASE(policy_ties),
	KUNIT_CASE(policy_ties_end),
	KUNIT_CASE(policy_ties_near),
	KUNIT_CASE(policy_clean),
	KUNIT_CASE(policy_visible),
	KUNIT_CASE(policy_cycle),
	KUNIT_CASE(policy_alternates),
	KUNIT_CASE(policy_distrusts),
	KUNIT_CASE(policy_overdue),
	KUNIT_CASE(policy_late),
	KUNIT_CASE(policy_over),
	KUNIT_CASE(policy_crossing),
	KUNIT_CASE(policy_offered_busy),
	KUNIT_CASE(policy_lanes),
	KUNIT_CASE(policy_random),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "pagoda_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
