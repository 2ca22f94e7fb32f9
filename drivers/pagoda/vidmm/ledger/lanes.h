/* SPDX-License-Identifier: GPL-2.0 */
/* Lanes of candidates (policy.h): which lane a candidate is in. Only policy.c includes this. */
#ifndef PAGODA_VIDMM_LEDGER_LANES_H
#define PAGODA_VIDMM_LEDGER_LANES_H

#include <linux/types.h>

struct pagoda_policy;
struct pagoda_policy_item;

void pagoda_lanes_enter(struct pagoda_policy *policy, struct pagoda_policy_item *item, u32 class);
void pagoda_lanes_leave(struct pagoda_policy *policy, struct pagoda_policy_item *item);

#endif
