// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of victims: owners over their budgets, and lanes, which hold candidates that are alike: a
 * pick looks only at a lane's ends, and doesn't miss the item that is to go first.
 */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/string.h>
#include "policy_helpers.h"

/* ---- Owners and their budgets ---------------------------------------------------- */

static void few_set_priority(struct policy_few *few, u32 n, u32 priority)
{
	pagoda_policy_set_priority(&few->policy, &few->items[n].base, priority);
}

/*
 * Returns a policy with items of two owners, of several priorities and one of them offered, and two
 * items without an owner.
 */
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

/* A policy with CROSSING items, and an owner, which gets over its budget in policy_crossing(). */
struct crossing {
	struct pagoda_policy policy;
	struct pagoda_policy_owner owner;
	struct pagoda_policy_group groups[2];
	struct pagoda_policy_item items[CROSSING];
	struct pagoda_policy_lane lanes[CROSSING];
};

/* Number of calls of crossing_is_busy(), the policy's is_busy(). */
static u32 crossing_asked;

static bool crossing_is_busy(struct pagoda_policy_item *item)
{
	crossing_asked++;
	return true;
}

/*
 * An owner with thousands of candidates that are alike has a single lane for them, and only lanes
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

/* ---- Lanes -------------------------------------------------------------------------- */

/*
 * However many candidates are offered and busy, a pick calls is_busy() for the same number of them.
 */
static void policy_offered_busy(struct kunit *test)
{
	static const u32 counts[] = { 100, CROSSING };
	struct crossing *c = test_vzalloc(test, sizeof(*c));
	u32 asked[ARRAY_SIZE(counts)];
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
		crossing_asked = 0;
		item = pagoda_policy_pick(&c->policy, PAGODA_POLICY_NEED_ANY, NULL);
		KUNIT_EXPECT_PTR_EQ(test, item, &c->items[0]);
		asked[i] = crossing_asked;
	}
	KUNIT_EXPECT_GT(test, asked[0], 0);
	KUNIT_EXPECT_EQ(test, asked[0], asked[1]);
}

/*
 * All items are removed, in a mixed order: each removal returns a lane that no other removal
 * returned and that the policy doesn't use any more.
 */
static void policy_lanes(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	unsigned long seen[BITS_TO_LONGS(FEW_ITEMS)] = {};
	struct pagoda_policy_lane *lane;
	u32 n;

	few_use(few, 0, FEW_ITEMS);
	few_use(few, 0, FEW_ITEMS / 2);
	few_give(few, 5, 20, 1);
	for (n = 0; n < FEW_ITEMS; n++) {
		lane = pagoda_policy_remove(&few->policy, &few->items[n * 5 % FEW_ITEMS].base);
		KUNIT_EXPECT_FALSE(test, __test_and_set_bit(lane - few->lanes, seen));
		memset(lane, 0x55, sizeof(*lane));
	}
	KUNIT_EXPECT_EQ(test, few->groups[0].nr_lanes + few->groups[1].nr_lanes, 0u);
	KUNIT_EXPECT_EQ(test, few->policy.filled, 0);
}

/*
 * A held item is no candidate, but stays a member of its lane. When it becomes a candidate again,
 * its owner's budget, priority, group or cleanness may have changed: the item joins another lane,
 * or its lane another row.
 */
static void policy_held(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	struct pagoda_policy *policy = &few->policy;
	u32 n;

	few_give(few, 0, 4, 1);
	few_use(few, 0, 5);
	few_pass_time(few, 40);
	for (n = 0; n < 4; n++)
		pagoda_policy_hold(policy, &few->items[n].base);
	KUNIT_EXPECT_EQ(test, few->groups[1].nr_lanes, 1u);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 4);
	KUNIT_EXPECT_EQ(test, policy->filled, 0);
	pagoda_policy_enter(policy, &few->items[4].base);
	few_set_over(few, 0, true);
	few_set_priority(few, 1, DRM_PAGODA_RESIDENCY_LOW);
	few_give(few, 2, 1, 2);
	pagoda_policy_set_clean(policy, &few->items[3].base, true);
	for (n = 0; n < 4; n++)
		pagoda_policy_enter(policy, &few->items[n].base);
	KUNIT_EXPECT_EQ(test, few->groups[1].nr_lanes, 3u);
	/*
	 * The first owner is over its budget: its item of lower priority, its clean item and its
	 * item 0 go before items 2 and 4, which aren't of this owner.
	 */
	few_expect(test, few, (const int[]){ 1, 3, 0, 2, 4 }, 5);
	for (n = 0; n < 5; n++)
		pagoda_policy_leave(policy, &few->items[n].base);
	KUNIT_EXPECT_EQ(test, few->groups[0].nr_lanes + few->groups[1].nr_lanes +
			few->groups[2].nr_lanes, 0u);
	KUNIT_EXPECT_TRUE(test, list_empty(&policy->owners));
}

/*
 * Items with longer intervals don't hide an item that is due later, nor an item with a short
 * interval that is long overdue.
 */
static void policy_shorter(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 3; n++) {
		few_use(few, 0, 2);
		few_pass_time(few, 6);
	}
	few_use(few, 2, 2);
	few_pass_time(few, 20);
	few_use(few, 4, 2);
	few_pass_time(few, 12);
	few_use(few, 2, 2);
	few_pass_time(few, 14);
	few_use(few, 4, 2);
	/*
	 * Items 2 and 3, with an interval of 36, are due in 19 and 20 pages; 4 and 5, with one of
	 * 30, in 29 and 30.
	 */
	few_expect(test, few, (const int[]){ 0, 1, 5, 4, 3, 2 }, 6);
}

/*
 * An item whose short interval is over isn't hidden by an item of its lane that was used before it
 * and has a longer interval.
 */
static void policy_shorter_overdue(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 2, 1);
	few_pass_time(few, 3);
	few_use(few, 0, 1);
	few_pass_time(few, 19);
	few_use(few, 1, 1);
	few_pass_time(few, 10);
	few_use(few, 0, 1);
	few_pass_time(few, 4);
	few_use(few, 1, 1);
	few_pass_time(few, 7);
	few_use(few, 2, 1);
	few_pass_time(few, 20);
	/* Items 0, 1 and 2 were used 33, 28 and 20 pages ago, after intervals of 31, 16 and 48. */
	few_expect(test, few, (const int[]){ 1, 2, 0 }, 3);
}

static struct kunit_case policy_lanes_cases[] = {
	KUNIT_CASE(policy_over),
	KUNIT_CASE(policy_crossing),
	KUNIT_CASE(policy_offered_busy),
	KUNIT_CASE(policy_lanes),
	KUNIT_CASE(policy_held),
	KUNIT_CASE(policy_shorter),
	KUNIT_CASE(policy_shorter_overdue),
	{}
};

static struct kunit_suite policy_lanes_suite = {
	.name = "pagoda_policy_lanes",
	.test_cases = policy_lanes_cases,
};

kunit_test_suite(policy_lanes_suite);
