// SPDX-License-Identifier: GPL-2.0
/* Choice of victims: which goes before which, in single cases and against a plain, slow model. */
#include <kunit/test.h>
#include <linux/bitops.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "vidmm/ledger/policy.h"

/* ---- Few items ---------------------------------------------------------------- */

#define FEW	48

/* An allocation; @busy is what the policy's is_busy() returns. */
struct few_item {
	struct pagoda_policy_item base;
	bool busy;
};

#define GROUPS	4

/*
 * A policy and some items, one page each unless said otherwise; items are in VRAM once used. All
 * items are in the first group at first, which has no owner. The second group is of the first
 * owner, the third and fourth of the second.
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

/*
 * Returns a policy with clock @clock, and VRAM so large that predictions are never distrusted;
 * classes are those of small VRAM.
 */
static struct policy_few *few_make(struct kunit *test, u64 clock)
{
	struct policy_few *few = test_vzalloc(test, sizeof(*few));
	u32 n;

	pagoda_policy_init(&few->policy, SZ_1T);
	few->policy.unit = 0;
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

/* Advances the clock by @pages: the last item is used so often, and is no candidate afterwards. */
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

/*
 * Only items in VRAM that aren't held are candidates, and a victim is picked once until it is
 * entered again.
 */
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

/*
 * Offered items of any age go before all others, in the order of offer priority (C169); then the
 * others in the order of residency priority (C168).
 */
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
 * Of offered items of equal offer priority the item goes first that was offered first, however it
 * was used. Busy offered items go after idle ones of any offer priority, but before items that
 * aren't offered.
 */
static void policy_offers(struct kunit *test)
{
	static const int offers[] = { 3, 1, 5, 0, 2, 6 };
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few_use(few, 0, 8);
	for (n = 0; n < ARRAY_SIZE(offers); n++)
		pagoda_policy_offer(&few->policy, &few->items[offers[n]].base, n >= 4);
	/* Nothing changes for an item that is offered again. */
	pagoda_policy_offer(&few->policy, &few->items[3].base, 2);
	few->items[3].busy = true;
	few->items[2].busy = true;
	few_expect(test, few, (const int[]){ 1, 5, 0, 6, 3, 2, 4, 7 }, 8);
}

/* After RECLAIM a residency priority takes effect that was set while the item was offered. */
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

/* Residency priorities of one priority step are equal, and recency decides. */
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
 * Among items used at about the same time, clean items go before dirty ones, clean items that the
 * CPU can't see before clean visible ones, and a busy item goes last.
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

/*
 * A busy item that is expected to be used much later goes first, although the other item is idle
 * and clean.
 */
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

/* If the expected use of a busy item is a quarter later, the item goes before an idle one. */
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
 * If it isn't known whether items are used again, the eviction of a clean one costs a third: the
 * clean one goes before a dirty one that was last used less than three times as long ago.
 */
static void policy_clean(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few_use(few, 0, 1);
	few_pass_time(few, 10);
	few_use(few, 1, 1);
	few_pass_time(few, 15);
	few_use(few, 2, 1);
	few_pass_time(few, 4);
	few_use(few, 3, 1);
	few_pass_time(few, 11);
	/* Items 0 to 3 were last used 43, 32, 16 and 11 pages ago. */
	for (n = 1; n < 4; n++)
		pagoda_policy_set_clean(&few->policy, &few->items[n].base, true);
	few_expect(test, few, (const int[]){ 1, 2, 0, 3 }, 4);
}

/*
 * Of items with the same intervals, a clean one goes before a dirty one whose next use is later by
 * less than an interval: the dirty one would be copied once more in each interval.
 */
static void policy_clean_interval(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 5; n++) {
		few_use(few, 0, 1);
		pagoda_policy_set_clean(&few->policy, &few->items[0].base, false);
		few_pass_time(few, 39);
		few_use(few, 1, 1);
		few_pass_time(few, 59);
	}
	few_use(few, 0, 1);
	few_pass_time(few, 38);
	/* The next uses of items 0 and 1 are 62 and 2 pages away. */
	pagoda_policy_set_clean(&few->policy, &few->items[1].base, true);
	few_expect(test, few, (const int[]){ 1, 0 }, 2);
}

/*
 * Of dirty items with the same intervals, one that was written once goes before one that is written
 * at each use and is due a little later: the former is probably clean when it comes back.
 */
static void policy_clean_seldom(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	/* Otherwise both items are in one lane, where recency decides. */
	pagoda_policy_regroup(&few->policy, &few->items[1].base, &few->groups[1]);
	for (n = 0; n < 6; n++) {
		few_use(few, 0, 1);
		if (!n)
			pagoda_policy_set_clean(&few->policy, &few->items[0].base, false);
		few_pass_time(few, 12);
		few_use(few, 1, 1);
		pagoda_policy_set_clean(&few->policy, &few->items[1].base, false);
		few_pass_time(few, n < 5 ? 26 : 1);
	}
	/* Item 0 is due in 26 pages, to which half of 40 is added, and item 1 in 39. */
	few_expect(test, few, (const int[]){ 0, 1 }, 2);
}

/* A candidate that becomes clean is picked first, although many dirty ones were used earlier. */
static void policy_clean_hidden(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 20);
	few_pass_time(few, 40);
	pagoda_policy_set_clean(&few->policy, &few->items[10].base, true);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 10);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
}

/*
 * The eviction of a clean item costs no copy, so that only the copy back counts against
 * predictions.
 */
static void policy_clean_costs(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	struct pagoda_policy_item *item = &few->items[0].base;

	few_use(few, 0, 1);
	pagoda_policy_set_clean(&few->policy, item, true);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	pagoda_policy_leave(&few->policy, item);
	KUNIT_EXPECT_EQ(test, few->policy.behind, 0);
	few_use(few, 0, 1);
	KUNIT_EXPECT_EQ(test, few->policy.behind, 1);
	pagoda_policy_set_clean(&few->policy, item, false);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	pagoda_policy_leave(&few->policy, item);
	KUNIT_EXPECT_EQ(test, few->policy.behind, 2);
}

/*
 * An item that plain LRU would evict counts as a copy by plain LRU, unless the item was clean when
 * it came to VRAM and wasn't written since.
 */
static void policy_clean_lru(struct kunit *test)
{
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few->policy.capacity = 2;
	for (n = 0; n < 3; n++)
		pagoda_policy_set_clean(&few->policy, &few->items[n].base, true);
	few_use(few, 0, 2);
	pagoda_policy_set_clean(&few->policy, &few->items[1].base, false);
	few_use(few, 2, 1);
	KUNIT_EXPECT_EQ(test, few->policy.lru_moved, 0);
	few_use(few, 3, 1);
	KUNIT_EXPECT_EQ(test, few->policy.lru_moved, 1);
}

/* With NEED_VISIBLE only visible items are picked, by priority. */
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
 * A frame uses item 0 twice, so that its intervals are 2 and 22 pages in turn, and item 1 at equal
 * intervals of 12. Item 0 is used next in 2 pages after an interval of 22, when item 1 goes, and in
 * 22 pages after an interval of 2, when item 0 goes.
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

/* An item that wasn't used when expected counts as unlikely to be used soon: it goes first. */
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

/* ---- Against a model ----------------------------------------------------------- */

/* Most uses of an item that the model can hold; it forgets none. */
#define USES	512
#define STEPS	6000

/*
 * An item of the model. @place orders the items of a lane, lowest first. @home_rank is the rank
 * while the item isn't offered. @unsorted: the item's lane may not be in the order of last use.
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
	bool unsorted;
	bool written;
	u32 writes;
};

/* Most uses by queued jobs that the model can hold. */
#define QUEUED	32

struct model_coming {
	struct pagoda_policy_coming base;
	u64 when;
	u32 item;
	bool queued;
};

struct model {
	struct policy_few *few;
	struct model_item items[FEW];
	struct model_coming coming[QUEUED];
	u64 horizons[GROUPS];
	u64 horizon;
	u32 nr_coming;
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

static u64 model_after(u64 when, u64 before)
{
	return when > before ? when - before : 0;
}

static bool model_is_queued(const struct model *model)
{
	u32 n;

	for (n = 0; n < QUEUED; n++)
		if (model->coming[n].queued)
			return true;
	return false;
}

/* Returns when a queued job first uses an item, or 0. */
static u64 model_next(const struct model *model, const struct model_item *it)
{
	u64 next = 0;
	u32 n;

	for (n = 0; n < QUEUED; n++)
		if (model->coming[n].queued && it == &model->items[model->coming[n].item] &&
		    (!next || model->coming[n].when < next))
			next = model->coming[n].when;
	return next;
}

static u64 model_distance(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), last = it->uses[it->nr_uses - 1];
	u64 next = model_next(model, it), end, age;
	u32 eighths = it->clean ? 8 : 4 - hweight8(it->writes);

	if (next)
		return model_after(next, model->clock) + model_after(next, last) * eighths / 8;
	end = model_is_queued(model) ? max(model->clock, model->horizons[it->group]) : model->clock;
	age = end - last;
	if (!interval || age > interval + interval / 8)
		return (end - model->clock + 2 * age) * (1 + 2 * it->clean);
	return end - model->clock + model_after(interval, age) +
	       (end - model->clock + interval) * eighths / 8;
}

/* Returns equal values for distances in the same eighth of a power of two. */
static u64 model_step(u64 distance)
{
	u32 power = distance ? ilog2(distance) : 0;

	return distance ? 1 + 8 * power + ((8 * distance >> power) - 8) : 0;
}

static u32 model_lane(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), next = model_next(model, it);
	u32 class;

	if (next)
		interval = model_after(next, it->nr_uses ? it->uses[it->nr_uses - 1] : 0);
	if (it->rank < PAGODA_POLICY_OFFERS) {
		next = 0;
		interval = 0;
	}
	class = interval ? min(ilog2(interval) + 1, 15) : !!next;
	class += next ? 64 : 0;
	return class << 16 | it->group << 8 | it->rank << 2 | it->visible << 1 | it->clean;
}

/* Returns a number that is lower for items that leave first, whatever their uses. */
static u32 model_level(const struct model *model, const struct model_item *it)
{
	bool over = it->group && model->over[it->group / 2];

	return it->rank < PAGODA_POLICY_OFFERS || over ? it->rank : 32 + it->rank;
}

/*
 * Returns whether an item that no queued job lists will be overdue when its group's queued jobs are
 * done, or has no predicted use.
 */
static bool model_is_overdue(const struct model *model, const struct model_item *it)
{
	u64 interval = model_predict(it), end = model->clock;

	if (model_is_queued(model))
		end = max(end, model->horizons[it->group]);
	return !interval || end - it->uses[it->nr_uses - 1] > interval + interval / 8;
}

/* Returns the candidate of an item's lane that has @before others before it, or NULL. */
static const struct model_item *model_at(const struct model *model, const struct model_item *it,
					 u32 before)
{
	const struct model_item *at, *other;

	for (at = model->items; at < model->items + FEW; at++) {
		u32 found = 0;

		if (!at->candidate || model_lane(model, at) != model_lane(model, it))
			continue;
		for (other = model->items; other < model->items + FEW; other++)
			found += other->candidate && other->place < at->place &&
				 model_lane(model, other) == model_lane(model, it);
		if (found == before)
			return at;
	}
	return NULL;
}

static u32 model_lane_length(const struct model *model, const struct model_item *it)
{
	u32 n, length = 0;

	for (n = 0; n < FEW; n++)
		length += model->items[n].candidate &&
			  model_lane(model, &model->items[n]) == model_lane(model, it);
	return length;
}

static bool model_is_busy(const struct model *model, const struct model_item *it)
{
	return model->few->items[it - model->items].busy;
}

/*
 * Returns whether an item is at an end of its lane at which a pick looks; with @behind, also if the
 * item is next to a busy one at such an end. A pick looks at the first item, unless that item's
 * next use is known, or predicted and not overdue; and at the last item, unless no next use is
 * known or predicted. In an offered lane, and in an unsorted one without known uses, a pick looks
 * at both.
 */
static bool model_is_at_end(const struct model *model, const struct model_item *it, bool behind)
{
	u32 length = model_lane_length(model, it);
	const struct model_item *first = model_at(model, it, 0);
	const struct model_item *last = model_at(model, it, length - 1);
	bool offered = it->rank < PAGODA_POLICY_OFFERS, known = !offered && model_next(model, it);
	bool any = offered || (it->unsorted && !known);
	bool at_first = length == 1 || any || (!known && model_is_overdue(model, first));
	bool at_last = length > 1 && (any || known || model_predict(it));

	if ((at_first && it == first) || (at_last && it == last))
		return true;
	if (!behind || length < 2)
		return false;
	return (at_first && model_is_busy(model, first) && it == model_at(model, it, 1)) ||
	       (at_last && model_is_busy(model, last) && it == model_at(model, it, length - 2));
}

/*
 * Returns a value for comparison with items of the same model_level(): the item with the larger
 * value goes first, items with equal values may go in either order.
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
		if (!model->few->items[n].busy && model_is_at_end(model, &model->items[n], true))
			lowest_idle = min(lowest_idle, level);
	}
	/* Of offered items, idle ones go first. */
	return lowest_idle < PAGODA_POLICY_OFFERS ? lowest_idle : lowest;
}

static void model_expect(struct kunit *test, struct model *model, int victim,
			 enum pagoda_policy_need need)
{
	u32 n, level = model_lowest_level(model, need);
	u64 best = 0, highest = 0;

	if (level == U32_MAX) {
		KUNIT_EXPECT_EQ(test, victim, -1);
		return;
	}
	for (n = 0; n < FEW; n++) {
		if (!model_may_go(model, n, need) ||
		    model_level(model, &model->items[n]) != level)
			continue;
		if (model_is_at_end(model, &model->items[n], false))
			best = max(best, model_merit(model, n));
		if (model_is_at_end(model, &model->items[n], true))
			highest = max(highest, model_merit(model, n));
	}
	KUNIT_ASSERT_GE(test, victim, 0);
	KUNIT_EXPECT_TRUE(test, model_may_go(model, victim, need));
	KUNIT_EXPECT_EQ(test, model_level(model, &model->items[victim]), level);
	/*
	 * A pick looks behind a busy item at a lane's end only if the pick asked whether that item
	 * is busy, which depends on the best victim found before: either result is right.
	 */
	KUNIT_EXPECT_GE(test, model_merit(model, victim), best);
	KUNIT_EXPECT_LE(test, model_merit(model, victim), highest);
}

static u64 model_last(const struct model_item *it)
{
	return it->uses[it->nr_uses - 1];
}

/* Returns whether an item comes before @first, the first item of its lane. */
static bool model_is_before(const struct model *model, const struct model_item *it,
			    const struct model_item *first)
{
	if (it->rank < PAGODA_POLICY_OFFERS)
		return it->offered < first->offered;
	if (model_next(model, it))
		return model_next(model, it) < model_next(model, first);
	return model_last(it) < model_last(first);
}

static void model_link(struct model *model, struct model_item *it)
{
	const struct model_item *first, *last;
	bool unsorted = false;
	u32 n;

	it->candidate = false;
	n = model_lane_length(model, it);
	first = model_at(model, it, 0);
	last = n ? model_at(model, it, n - 1) : NULL;
	it->candidate = true;
	model->places++;
	it->place = model->places;
	if (first && model_is_before(model, it, first))
		it->place = -it->place;
	else if (first)
		unsorted = last->unsorted || model_last(it) < model_last(last);
	if (first && it->place < 0)
		unsorted = first->unsorted;
	for (n = 0; n < FEW; n++)
		if (model->items[n].candidate &&
		    model_lane(model, &model->items[n]) == model_lane(model, it))
			model->items[n].unsorted = unsorted;
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
	it->writes = (it->writes << 1 | it->written) & 0xf;
	it->written = false;
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
		/* Mostly the normal priority, so that many items compete. */
		value = value < 3 ? value * 8 : 8;
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
		it->written |= !(value & 1);
		if (it->clean == (value & 1))
			return;
		it->clean = value & 1;
		break;
	default:
		model->few->items[n].busy = value & 1;
		return;
	}
	model_relink(model, it);
}

/*
 * Queues a job that uses an item; does nothing if the next slot for a queued use is taken, or if
 * the item was never used.
 */
static void model_queue(struct model *model, u32 n)
{
	struct model_coming *coming = &model->coming[model->nr_coming % QUEUED];
	struct model_item *it = &model->items[n];
	u64 before = model_next(model, it);

	if (coming->queued || !it->nr_uses)
		return;
	if (!model_is_queued(model))
		model->horizon = model->clock;
	model->nr_coming++;
	model->horizon = max(model->horizon, model->clock) + model->few->items[n].base.pages;
	model->horizons[it->group] = model->horizon;
	*coming = (struct model_coming){ .when = model->horizon, .item = n, .queued = true };
	pagoda_policy_expect(&model->few->policy, &model->few->groups[it->group],
			     &model->few->items[n].base, &coming->base);
	if (!before)
		model_relink(model, it);
}

/* Ends the use in slot @n modulo QUEUED, if any; slot nr_coming modulo QUEUED has the oldest. */
static void model_forget(struct model *model, u32 n)
{
	struct model_coming *coming = &model->coming[n % QUEUED];
	struct model_item *it = &model->items[coming->item];

	if (!coming->queued)
		return;
	pagoda_policy_forget(&model->few->policy, &coming->base);
	coming->queued = false;
	if (!model_next(model, it) || coming->when < model_next(model, it))
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
		u32 what = prandom_u32_state(&random) % 10;

		at = prandom_u32_state(&random) % 16 ? at + 1 : prandom_u32_state(&random);
		if (what < 5)
			model_use(model, at % FEW);
		else if (what < 7)
			model_pick(test, model, &random);
		else if (what == 7)
			model_queue(model, (at + n % 8) % FEW);
		else if (what == 8)
			model_forget(model, n % 4 ? model->nr_coming : n);
		else
			model_change(model, prandom_u32_state(&random) % FEW, &random);
	}
}

static void few_queue(struct policy_few *few, u32 n, struct pagoda_policy_coming *coming)
{
	pagoda_policy_expect(&few->policy, &few->groups[0], &few->items[n].base, coming);
}

/*
 * Of items that queued jobs list, the item whose first queued use is latest goes first; items that
 * queued jobs don't list go before these.
 */
static void policy_queued(struct kunit *test)
{
	struct pagoda_policy_coming coming[4] = {};
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 4; n++)
		few_use(few, 0, 5);
	few_queue(few, 4, &coming[0]);
	few_queue(few, 2, &coming[1]);
	few_queue(few, 0, &coming[2]);
	few_queue(few, 4, &coming[3]);
	/* When the jobs are done, item 3 will be due and item 1 overdue. */
	few_expect(test, few, (const int[]){ 1, 3, 0, 2, 4 }, 5);
	for (n = 0; n < 4; n++)
		pagoda_policy_forget(&few->policy, &coming[n]);
	KUNIT_EXPECT_EQ(test, few->policy.expected, 0);
}

/* When a job isn't queued any more, the next queued use of its item counts, then predictions. */
static void policy_queued_forget(struct kunit *test)
{
	struct pagoda_policy_coming coming[3] = {};
	struct policy_few *few = few_make(test, 0);
	struct pagoda_policy_item *item = &few->items[0].base;
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 2);
	few_queue(few, 0, &coming[0]);
	few_queue(few, 1, &coming[1]);
	few_queue(few, 0, &coming[2]);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	pagoda_policy_enter(&few->policy, &few->items[1].base);
	pagoda_policy_forget(&few->policy, &coming[0]);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	pagoda_policy_enter(&few->policy, item);
	pagoda_policy_forget(&few->policy, &coming[2]);
	KUNIT_EXPECT_FALSE(test, item->queued);
	KUNIT_EXPECT_EQ(test, few->policy.expected, 1);
	pagoda_policy_forget(&few->policy, &coming[1]);
	few_expect(test, few, (const int[]){ 1, 0 }, 2);
}

/* Many items that queued jobs list don't hide an item that isn't listed, or not any more. */
static void policy_queued_hidden(struct kunit *test)
{
	struct pagoda_policy_coming coming[20] = {};
	struct policy_few *few = few_make(test, 0);
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 20);
	for (n = 0; n < 20; n++)
		if (n != 9)
			few_queue(few, n, &coming[n]);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 9);
	pagoda_policy_leave(&few->policy, &few->items[9].base);
	pagoda_policy_forget(&few->policy, &coming[7]);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 7);
	pagoda_policy_leave(&few->policy, &few->items[7].base);
	for (n = 0; n < 20; n++)
		if (n != 7 && n != 9)
			pagoda_policy_forget(&few->policy, &coming[n]);
}

/*
 * A job that is queued after the time of an earlier queued job has passed, or after all queued jobs
 * were forgotten, counts as executed next.
 */
static void policy_queued_horizon(struct kunit *test)
{
	struct pagoda_policy_coming coming[2] = {};
	struct policy_few *few = few_make(test, 0);

	few_use(few, 0, 2);
	few_queue(few, 0, &coming[0]);
	few_pass_time(few, 40);
	few_queue(few, 1, &coming[1]);
	KUNIT_EXPECT_EQ(test, coming[1].when, few->policy.clock + 1);
	pagoda_policy_forget(&few->policy, &coming[0]);
	pagoda_policy_forget(&few->policy, &coming[1]);
	few_queue(few, 0, &coming[0]);
	KUNIT_EXPECT_EQ(test, coming[0].when, few->policy.clock + 1);
	pagoda_policy_forget(&few->policy, &coming[0]);
}

/*
 * A queued job no longer keeps its items in VRAM once the policy's clock has advanced by as many
 * pages as VRAM has since the time at which the job was expected to be executed.
 */
static void policy_queued_late(struct kunit *test)
{
	struct pagoda_policy_coming coming = {};
	struct policy_few *few = few_make(test, 0);

	few->policy.capacity = 16;
	few_use(few, 0, 1);
	few_queue(few, 0, &coming);
	few_pass_time(few, 10);
	few_use(few, 1, 1);
	few_pass_time(few, 2);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	pagoda_policy_enter(&few->policy, &few->items[1].base);
	few_pass_time(few, 10);
	few_expect(test, few, (const int[]){ 0, 1 }, 2);
	pagoda_policy_forget(&few->policy, &coming);
}

/*
 * Of items that queued jobs don't list, only those of the group that has these jobs are known not
 * to be used before the jobs are done.
 */
static void policy_queued_groups(struct kunit *test)
{
	struct pagoda_policy_coming coming[8] = {};
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few_give(few, 0, 1, 1);
	for (n = 0; n < 3; n++) {
		few_use(few, 0, 2);
		few_pass_time(few, 4);
	}
	few_use(few, 2, 8);
	for (n = 0; n < 8; n++)
		few_queue(few, 2 + n, &coming[n]);
	/*
	 * Items 0 and 1 are overdue, item 0 a little longer, but only item 1 is known not to be
	 * used before the jobs are done.
	 */
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	for (n = 0; n < 8; n++)
		pagoda_policy_forget(&few->policy, &coming[n]);
}

/*
 * Items that a job or jobs before it list aren't used later than the job; those that only jobs
 * behind it list are, and so are all others of the group that has queued these jobs.
 */
static void policy_later_queued(struct kunit *test)
{
	struct pagoda_policy_coming coming[3] = {};
	struct policy_few *few = few_make(test, 0);
	const struct pagoda_policy *policy = &few->policy;
	u32 n;

	for (n = 0; n < 3; n++)
		few_use(few, 0, 4);
	/* Three jobs: the first lists item 0, the second item 1, the third item 2. */
	few_queue(few, 0, &coming[0]);
	few_queue(few, 1, &coming[1]);
	few_queue(few, 2, &coming[2]);
	KUNIT_EXPECT_FALSE(test, pagoda_policy_is_later(policy, &few->items[0].base,
							coming[0].when));
	KUNIT_EXPECT_FALSE(test, pagoda_policy_is_later(policy, &few->items[0].base,
							coming[1].when));
	KUNIT_EXPECT_FALSE(test, pagoda_policy_is_later(policy, &few->items[1].base,
							coming[1].when));
	KUNIT_EXPECT_TRUE(test, pagoda_policy_is_later(policy, &few->items[1].base,
						       coming[0].when));
	KUNIT_EXPECT_TRUE(test, pagoda_policy_is_later(policy, &few->items[2].base,
						       coming[1].when));
	/* Nor does a job come later because it is overdue. */
	few_pass_time(few, 64);
	KUNIT_EXPECT_FALSE(test, pagoda_policy_is_later(policy, &few->items[0].base,
							coming[1].when));
	KUNIT_EXPECT_TRUE(test, pagoda_policy_is_later(policy, &few->items[3].base,
						       coming[2].when));
	for (n = 0; n < 3; n++)
		pagoda_policy_forget(&few->policy, &coming[n]);
}

/*
 * An item of another group than the queued jobs' is used later than a job if that is predicted; an
 * offered item always is.
 */
static void policy_later_predicted(struct kunit *test)
{
	struct pagoda_policy_coming coming[16] = {};
	struct policy_few *few = few_make(test, 0);
	const struct pagoda_policy_item *item = &few->items[0].base;
	u32 n;

	few_give(few, 0, 1, 1);
	for (n = 0; n < 3; n++) {
		few_use(few, 0, 1);
		few_pass_time(few, 7);
	}
	few_use(few, 0, 1);
	/* The item is used every 8 pages. */
	for (n = 0; n < 16; n++)
		few_queue(few, 2 + n, &coming[n]);
	KUNIT_EXPECT_TRUE(test, pagoda_policy_is_later(&few->policy, item, coming[6].when));
	KUNIT_EXPECT_FALSE(test, pagoda_policy_is_later(&few->policy, item, coming[9].when));
	pagoda_policy_offer(&few->policy, &few->items[0].base, 0);
	KUNIT_EXPECT_TRUE(test, pagoda_policy_is_later(&few->policy, item, coming[9].when));
	for (n = 0; n < 16; n++)
		pagoda_policy_forget(&few->policy, &coming[n]);
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
	KUNIT_CASE(policy_clean_interval),
	KUNIT_CASE(policy_clean_seldom),
	KUNIT_CASE(policy_clean_hidden),
	KUNIT_CASE(policy_clean_costs),
	KUNIT_CASE(policy_clean_lru),
	KUNIT_CASE(policy_queued),
	KUNIT_CASE(policy_queued_forget),
	KUNIT_CASE(policy_queued_hidden),
	KUNIT_CASE(policy_queued_horizon),
	KUNIT_CASE(policy_queued_late),
	KUNIT_CASE(policy_queued_groups),
	KUNIT_CASE(policy_later_queued),
	KUNIT_CASE(policy_later_predicted),
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
	KUNIT_CASE(policy_held),
	KUNIT_CASE(policy_shorter),
	KUNIT_CASE(policy_shorter_overdue),
	KUNIT_CASE(policy_random),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "pagoda_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
