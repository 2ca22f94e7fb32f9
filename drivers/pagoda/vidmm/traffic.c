// SPDX-License-Identifier: GPL-2.0
/*
 * The paging-traffic budget: token buckets for paging that nobody asked for.
 *
 *	promotion	what comes back to VRAM by itself; one bucket of the device's
 *	submissions	what others leave VRAM for because a job uses it, and nobody asked for
 *			it to be resident (pace.c); a bucket of each client's
 *
 * A token is a byte. A bucket is filled at a part of the rate that paging was measured to run
 * at: promotion's with all of it while nobody else uses the device, with a small share while
 * somebody pages or has jobs executed, and what was saved up before isn't spent then. Whoever
 * waits for that is held up by no more than the share, and what is paid for from the bucket gets
 * on all the same. Who finds a token may spend more than there are, because an allocation moves
 * as a whole; the next one waits until the debt is paid.
 *
 * Requests aren't paid for from any: what is asked for is done.
 *
 * Time is an argument, in nanoseconds: nothing here sleeps or looks at a clock.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <pagoda/traffic.h>

/* A sample is an eighth of what is believed. */
#define MEASURE_SHIFT	3
/* What is faster than this many times what is believed is believed to be this fast. */
#define MEASURE_TIMES	2
/* Who used the device lately may do so again: frames follow each other in less. */
#define OTHERS_NS	(50 * NSEC_PER_MSEC)
/* Longest time that is filled in for at once, so that no product is too large. */
#define FILL_NS_MAX	(10ull * NSEC_PER_SEC)

/**
 * pagoda_bandwidth_measure() - Some paging was through
 * @bandwidth: Changed
 * @bytes: What it moved
 * @ns: How long it took, waits for others not counted
 *
 * One that was told late makes the next one look fast: it isn't believed.
 *
 * Context: Any; one at a time.
 */
void pagoda_bandwidth_measure(struct pagoda_bandwidth *bandwidth, u64 bytes, u64 ns)
{
	u64 rate = mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, max(ns, 1ull));
	u64 believed = atomic64_read(&bandwidth->rate);

	if (believed)
		rate = believed - (believed >> MEASURE_SHIFT) +
		       (min(rate, MEASURE_TIMES * believed) >> MEASURE_SHIFT);
	atomic64_set(&bandwidth->rate, max(rate, 1ull));
}

/**
 * pagoda_traffic_init() - A full bucket
 * @traffic: Filled
 * @bandwidth: What was measured; there as long as the bucket is
 * @share: Percent of it while others use the device, up to 100
 * @alone: Percent of it while nobody does; 0: it limits nothing. More than 100 has a rate
 *	that was once measured too low not be what keeps it low
 * @burst: Tokens it holds
 * @now: Time
 */
void pagoda_traffic_init(struct pagoda_traffic *traffic, const struct pagoda_bandwidth *bandwidth,
			 u32 share, u32 alone, s64 burst, u64 now)
{
	*traffic = (struct pagoda_traffic) {
		.bandwidth = bandwidth,
		.share = share,
		.alone = alone,
		.burst = burst,
		.tokens = burst,
		.filled_ns = now,
	};
	spin_lock_init(&traffic->lock);
}

/**
 * pagoda_traffic_others() - Somebody else uses the device
 * @traffic: Bucket
 * @now: Time
 *
 * What was saved up while nobody did isn't spent beside him, but for a token: the next who asks
 * finds it, and pays for all that he takes.
 *
 * Context: Takes a spinlock.
 */
void pagoda_traffic_others(struct pagoda_traffic *traffic, u64 now)
{
	spin_lock(&traffic->lock);
	traffic->busy_ns = now + OTHERS_NS;
	if (!traffic->fixed)
		traffic->tokens = min(traffic->tokens, 1);
	spin_unlock(&traffic->lock);
}

/* Bytes a second that paging moves; 0: nothing is known, or nothing is to be limited. */
static u64 traffic_base(const struct pagoda_traffic *traffic)
{
	return traffic->alone ? atomic64_read(&traffic->bandwidth->rate) : 0;
}

/* Bytes a second; 0: it isn't limited. */
static u64 traffic_rate(const struct pagoda_traffic *traffic, u64 now)
{
	u32 percent = now < traffic->busy_ns ? traffic->share : traffic->alone;
	u64 base = traffic_base(traffic);

	lockdep_assert_held(&traffic->lock);
	if (traffic->fixed || !base)
		return traffic->fixed;
	return max(div_u64(base * percent, 100), 1ull);
}

/* Who looked at the clock earlier may come later. */
static void traffic_fill(struct pagoda_traffic *traffic, u64 rate, u64 now)
{
	u64 ns = now > traffic->filled_ns ? min(now - traffic->filled_ns, FILL_NS_MAX) : 0;
	u64 more = mul_u64_u64_div_u64(ns, rate, NSEC_PER_SEC), paid;

	lockdep_assert_held(&traffic->lock);
	if (!ns)
		return;
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
 * @now: Time
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
	if (traffic->fixed || traffic_base(traffic))
		traffic->tokens -= bytes;
	traffic->spent += bytes;
	spin_unlock(&traffic->lock);
}

/**
 * pagoda_traffic_look() - How much there is in a bucket
 * @traffic: Bucket
 * @now: Time
 * @state: Filled
 *
 * Context: Takes a spinlock.
 */
void pagoda_traffic_look(struct pagoda_traffic *traffic, u64 now,
			 struct pagoda_traffic_state *state)
{
	u64 rate;

	spin_lock(&traffic->lock);
	rate = traffic_rate(traffic, now);
	if (rate)
		traffic_fill(traffic, rate, now);
	*state = (struct pagoda_traffic_state) {
		.tokens = traffic->tokens,
		.burst = traffic->burst,
		.rate = rate,
		.spent = traffic->spent,
		.refused = traffic->refused,
	};
	spin_unlock(&traffic->lock);
}
