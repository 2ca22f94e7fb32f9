/* SPDX-License-Identifier: GPL-2.0 */
/* A policy with few items, and calls for these by their numbers, for the suites of single picks. */
#ifndef PAGODA_KUNIT_POLICY_HELPERS_H
#define PAGODA_KUNIT_POLICY_HELPERS_H

#include <linux/mm.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "vidmm/ledger/policy.h"

#define FEW_ITEMS	48

/* An allocation; @busy is what the policy's is_busy() returns. */
struct few_item {
	struct pagoda_policy_item base;
	bool busy;
};

#define FEW_GROUPS	4

/*
 * A policy and some items, one page each unless said otherwise; items are in VRAM once used. All
 * items are in the first group at first, which has no owner. The second group is of the first
 * owner, the third and fourth of the second.
 */
struct policy_few {
	struct pagoda_policy policy;
	struct few_item items[FEW_ITEMS];
	struct pagoda_policy_lane lanes[FEW_ITEMS];
	struct pagoda_policy_owner owners[2];
	struct pagoda_policy_group groups[FEW_GROUPS];
};

static inline bool few_is_busy(struct pagoda_policy_item *item)
{
	return container_of(item, struct few_item, base)->busy;
}

/*
 * Returns a policy with clock @clock, and VRAM so large that predictions are never distrusted;
 * classes are those of small VRAM.
 */
static inline struct policy_few *few_make(struct kunit *test, u64 clock)
{
	struct policy_few *few = test_vzalloc(test, sizeof(*few));
	u32 n;

	pagoda_policy_init(&few->policy, SZ_1T);
	few->policy.unit = 0;
	few->policy.is_busy = few_is_busy;
	few->policy.clock = clock;
	for (n = 0; n < ARRAY_SIZE(few->owners); n++)
		pagoda_policy_owner_init(&few->owners[n]);
	for (n = 0; n < FEW_GROUPS; n++)
		pagoda_policy_group_init(&few->groups[n], n ? &few->owners[n / 2] : NULL);
	for (n = 0; n < FEW_ITEMS; n++)
		pagoda_policy_add(&few->policy, &few->items[n].base, &few->lanes[n],
				  &few->groups[0], SZ_4K);
	return few;
}

static inline void few_use(struct policy_few *few, u32 first, u32 count)
{
	for (; count; count--, first++)
		pagoda_policy_use(&few->policy, &few->items[first].base);
}

/* Advances the clock by @pages: the last item is used so often, and is no candidate afterwards. */
static inline void few_pass_time(struct policy_few *few, u32 pages)
{
	struct pagoda_policy_item *other = &few->items[FEW_ITEMS - 1].base;

	while (pages--)
		pagoda_policy_use(&few->policy, other);
	pagoda_policy_leave(&few->policy, other);
}

static inline int few_pick(struct policy_few *few, enum pagoda_policy_need need)
{
	struct pagoda_policy_item *item = pagoda_policy_pick(&few->policy, need, NULL);

	return item ? container_of(item, struct few_item, base) - few->items : -1;
}

/* Expects these victims in this order, and then no further candidate. */
static inline void few_expect(struct kunit *test, struct policy_few *few, const int *order,
			      u32 count)
{
	u32 n;

	for (n = 0; n < count; n++)
		KUNIT_EXPECT_EQ_MSG(test, few_pick(few, PAGODA_POLICY_NEED_ANY), order[n],
				    "victim %u", n);
	KUNIT_EXPECT_EQ(test, few_pick(few, PAGODA_POLICY_NEED_ANY), -1);
}

static inline void few_give(struct policy_few *few, u32 first, u32 count, u32 group)
{
	for (; count; count--, first++)
		pagoda_policy_regroup(&few->policy, &few->items[first].base, &few->groups[group]);
}

static inline void few_set_over(struct policy_few *few, u32 owner, bool over)
{
	pagoda_policy_set_over(&few->policy, &few->owners[owner], over);
}

#endif
