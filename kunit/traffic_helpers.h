/* SPDX-License-Identifier: GPL-2.0 */
/* Buckets of the traffic budget that don't depend on the clock. */
#ifndef PAGODA_KUNIT_TRAFFIC_HELPERS_H
#define PAGODA_KUNIT_TRAFFIC_HELPERS_H

#include <pagoda/traffic.h>

/* As many as these, and hardly any more for as long as a test takes. */
static inline void traffic_give(struct pagoda_traffic *traffic, s64 tokens)
{
	spin_lock(&traffic->lock);
	traffic->fixed = 1;
	traffic->tokens = tokens;
	spin_unlock(&traffic->lock);
}

/* It is empty, and stays so. */
static inline void traffic_hold(struct pagoda_traffic *traffic)
{
	traffic_give(traffic, S32_MIN);
}

/* It is full, and filled faster than anybody pages. */
static inline void traffic_let(struct pagoda_traffic *traffic)
{
	spin_lock(&traffic->lock);
	traffic->fixed = S64_MAX >> 24;
	traffic->tokens = traffic->burst;
	spin_unlock(&traffic->lock);
}

#endif
