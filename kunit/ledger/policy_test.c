// SPDX-License-Identifier: GPL-2.0
/*
 * Choice of victims: which goes before which by priority, offers, recency, cleanness, predictions
 * and queued jobs. Picks against a plain, slow model: policy_model_test.c.
 */
#include <kunit/test.h>
#include "policy_helpers.h"

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

/* ---- Queued jobs ------------------------------------------------------------------ */

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

/* Has items 0 and 1, of two groups, be overdue, item 0 a little longer; 2 to 9 were used last. */
static void few_be_overdue(struct policy_few *few)
{
	u32 n;

	few_give(few, 0, 1, 1);
	for (n = 0; n < 3; n++) {
		few_use(few, 0, 2);
		few_pass_time(few, 4);
	}
	few_use(few, 2, 8);
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

	few_be_overdue(few);
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

/* A pick sees what was queued since the pick before, although the clock hasn't advanced. */
static void policy_queued_between(struct kunit *test)
{
	struct pagoda_policy_coming coming[8] = {};
	struct policy_few *few = few_make(test, 0);
	u32 n;

	few_be_overdue(few);
	for (n = 2; n < 10; n++)
		pagoda_policy_hold(&few->policy, &few->items[n].base);
	/* Items 0 and 1 are overdue, item 0 a little longer. */
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
	pagoda_policy_enter(&few->policy, &few->items[0].base);
	for (n = 0; n < 8; n++)
		few_queue(few, 2 + n, &coming[n]);
	/* Now only item 1 is known not to be used before the jobs are done. */
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 1);
	pagoda_policy_enter(&few->policy, &few->items[1].base);
	for (n = 0; n < 8; n++)
		pagoda_policy_forget(&few->policy, &coming[n]);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), 0);
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
	KUNIT_EXPECT_EQ(test, few->items[0].base.intervals[0], PAGODA_POLICY_NO_INTERVAL);
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
	KUNIT_CASE(policy_queued_between),
	KUNIT_CASE(policy_later_queued),
	KUNIT_CASE(policy_later_predicted),
	KUNIT_CASE(policy_visible),
	KUNIT_CASE(policy_cycle),
	KUNIT_CASE(policy_alternates),
	KUNIT_CASE(policy_distrusts),
	KUNIT_CASE(policy_overdue),
	KUNIT_CASE(policy_late),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "pagoda_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
