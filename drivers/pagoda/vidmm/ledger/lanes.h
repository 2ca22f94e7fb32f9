/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lanes of candidates (policy.h): which lane a candidate is in, and what policy.c and policy_pick.c
 * share. Only these two files and lanes.c use what is declared here.
 */
#ifndef PAGODA_VIDMM_LEDGER_LANES_H
#define PAGODA_VIDMM_LEDGER_LANES_H

#include <linux/list.h>
#include <linux/types.h>
#include "policy.h"

/*
 * Shift for an eighth: intervals that differ by no more count as equal, and so do most such
 * distances, because the place of a use in a frame varies a little.
 */
#define PAGODA_POLICY_SAME_SHIFT	3

static inline bool pagoda_policy_is_offered(const struct pagoda_policy_item *item)
{
	return item->rank < PAGODA_POLICY_OFFERS;
}

/*
 * Returns the value that &pagoda_policy.clock is expected to have at the next use of an item that
 * queued jobs list.
 */
static inline u64 pagoda_policy_queued_next(const struct pagoda_policy_item *item)
{
	return list_first_entry(&item->coming, struct pagoda_policy_coming, of_item)->when;
}

void pagoda_lanes_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item, u32 class);
void pagoda_lanes_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item);
void pagoda_lanes_part(struct pagoda_policy_item *item);

#endif
