/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that set a token bucket of paging traffic to states that don't depend on the clock. */
#ifndef PAGODA_KUNIT_TRAFFIC_HELPERS_H
#define PAGODA_KUNIT_TRAFFIC_HELPERS_H

#include "vidmm/ledger/traffic.h"

/* Leaves @tokens in the bucket, which gets a single token per second from then on. */
static inline void traffic_give(struct pagoda_traffic *traffic, s64 tokens)
{
	spin_lock(&traffic->lock);
	traffic->fixed = 1;
	traffic->tokens = tokens;
	spin_unlock(&traffic->lock);
}

/* Gives the bucket so large a debt that it has no token until the end of the test. */
static inline void traffic_hold(struct pagoda_traffic *traffic)
{
	traffic_give(traffic, S32_MIN);
}

/* Fills the bucket, which is refilled faster than any paging takes tokens from it. */
static inline void traffic_let(struct pagoda_traffic *traffic)
{
	spin_lock(&traffic->lock);
	traffic->fixed = S64_MAX >> 24;
	traffic->tokens = traffic->burst;
	spin_unlock(&traffic->lock);
}

#endif
