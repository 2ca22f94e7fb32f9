/* SPDX-License-Identifier: GPL-2.0 */
/* States of the traffic budget that don't depend on the clock. */
#ifndef PAGODA_KUNIT_TRAFFIC_HELPERS_H
#define PAGODA_KUNIT_TRAFFIC_HELPERS_H

#include "vidmm/ledger/traffic.h"

/* Leaves @tokens in the budget, and adds hardly any while a test runs. */
static inline void traffic_give(struct pagoda_traffic *traffic, s64 tokens)
{
	spin_lock(&traffic->lock);
	traffic->fixed = 1;
	traffic->tokens = tokens;
	spin_unlock(&traffic->lock);
}

/* Empties the budget until the end of the test. */
static inline void traffic_hold(struct pagoda_traffic *traffic)
{
	traffic_give(traffic, S32_MIN);
}

/* Fills the budget and refills it faster than any paging takes from it. */
static inline void traffic_let(struct pagoda_traffic *traffic)
{
	spin_lock(&traffic->lock);
	traffic->fixed = S64_MAX >> 24;
	traffic->tokens = traffic->burst;
	spin_unlock(&traffic->lock);
}

#endif
