// SPDX-License-Identifier: GPL-2.0
/*
 * The paging-traffic budget: a token bucket for paging that nobody asked for.
 *
 * A token is a byte. The bucket is filled at the rate paging was measured to run at, all of
 * it while nobody else pages, a small share while somebody does: whoever waits for his own
 * paging is held up by no more than that share, and what is paid for from the bucket gets on
 * all the same. Who finds a token may spend more than there are, because an allocation moves
 * as a whole; the next one waits until the debt is paid.
 *
 * Requests aren't paid for from it: what is asked for is done.
 *
 * Time is an argument, in nanoseconds: nothing here sleeps or looks at a clock.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "traffic.h"

/* A sample is an eighth of what is believed. */
#define MEASURE_SHIFT	3
/*
 * Alone it is filled a quarter faster than measured: a rate that was once measured too low
 * must not be what keeps it low.
 */
#define ALONE_PERCENT	125
/* Who paged lately may page again: frames follow each other in less. */
#define OTHERS_NS	(50 * NSEC_PER_MSEC)
/* Longest time that is filled in for at once, so that no product is too large. */
#define FILL_NS_MAX	(10ull * NSEC_PER_SEC)

/**
 * pagoda_traffic_init() - A full bucket
 * @traffic: Filled
 * @share: Percent of the bandwidth while others page, 1 to 100
 * @burst: Tokens it holds
 * @now: Time
 */
void pagoda_traffic_init(struct pagoda_traffic *traffic, u32 share, s64 burst, u64 now)
{
	*traffic = (struct pagoda_traffic) {
		.share = share,
		.burst = burst,
		.tokens = burst,
		.filled_ns = now,
	};
	spin_lock_init(&traffic->lock);
}

/**
 * pagoda_traffic_measure() - Some paging was through
 * @traffic: Bucket
 * @bytes: What it moved
 * @ns: How long it took, waits for others not counted
 *
 * Context: Takes a spinlock.
 */
void pagoda_traffic_measure(struct pagoda_traffic *traffic, u64 bytes, u64 ns)
{
	u64 rate = mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, max(ns, 1ull));

	spin_lock(&traffic->lock);
	if (traffic->bandwidth)
		rate = traffic->bandwidth - (traffic->bandwidth >> MEASURE_SHIFT) +
		       (rate >> MEASURE_SHIFT);
	traffic->bandwidth = max(rate, 1ull);
	spin_unlock(&traffic->lock);
}

/**
 * pagoda_traffic_others() - Somebody else pages
 * @traffic: Bucket
 * @now: Time
 *
 * Context: Takes a spinlock.
 */
void pagoda_traffic_others(struct pagoda_traffic *traffic, u64 now)
{
	spin_lock(&traffic->lock);
	traffic->busy_ns = now + OTHERS_NS;
	spin_unlock(&traffic->lock);
}

/* Bytes a second; 0: nothing is known, so nothing is limited. */
static u64 traffic_rate(const struct pagoda_traffic *traffic, u64 now)
{
	u32 percent = now < traffic->busy_ns ? traffic->share : ALONE_PERCENT;

	lockdep_assert_held(&traffic->lock);
	if (traffic->fixed || !traffic->bandwidth)
		return traffic->fixed;
	return max(div_u64(traffic->bandwidth * percent, 100), 1ull);
}

static void traffic_fill(struct pagoda_traffic *traffic, u64 rate, u64 now)
{
	u64 ns = min(now - traffic->filled_ns, FILL_NS_MAX);
	u64 more = mul_u64_u64_div_u64(ns, rate, NSEC_PER_SEC), paid;

	lockdep_assert_held(&traffic->lock);
	traffic->tokens = min_t(s64, traffic->tokens + more, traffic->burst);
	/* Time that is too short for a token isn't lost, but for a nanosecond. */
	if (traffic->tokens < traffic->burst)
		paid = more ? min(mul_u64_u64_div_u64(more, NSEC_PER_SEC, rate) + 1, ns) : 0;
	else
		paid = now - traffic->filled_ns;
	traffic->filled_ns += paid;
}

/**
 * pagoda_traffic_wait() - Is there a token?
 * @traffic: Bucket
 * @now: Time, not before that of an earlier call
 *
 * Context: Takes a spinlock.
 * Return: 0 if there is, else nanoseconds until there will be one at the rate of now.
 */
u64 pagoda_traffic_wait(struct pagoda_traffic *traffic, u64 now)
{
	u64 rate, wait = 0;

	spin_lock(&traffic->lock);
	rate = traffic_rate(traffic, now);
	if (rate)
		traffic_fill(traffic, rate, now);
	if (rate && traffic->tokens <= 0) {
		wait = mul_u64_u64_div_u64(1 - traffic->tokens, NSEC_PER_SEC, rate) + 1;
		traffic->refused++;
	}
	spin_unlock(&traffic->lock);
	return wait;
}

/**
 * pagoda_traffic_spend() - Some was paged
 * @traffic: Bucket
 * @bytes: How much
 *
 * Context: Takes a spinlock.
 */
void pagoda_traffic_spend(struct pagoda_traffic *traffic, u64 bytes)
{
	spin_lock(&traffic->lock);
	/* Unlimited so far: nobody owes for that. */
	if (traffic->fixed || traffic->bandwidth)
		traffic->tokens -= bytes;
	traffic->spent += bytes;
	spin_unlock(&traffic->lock);
}
