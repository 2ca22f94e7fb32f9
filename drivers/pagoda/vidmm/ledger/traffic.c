// SPDX-License-Identifier: GPL-2.0
/*
 * The paging-traffic budget: token buckets for paging that no client asked for.
 *
 *	promotion	allocations that come back to VRAM by themselves; one bucket a device
 *	jobs		allocations that leave VRAM because a job uses another allocation, which
 *			is on no residency list (pace.c); one bucket a client
 *
 * A token is a byte. A bucket is filled at a percentage of the bandwidth that paging was measured
 * to have. For promotion the percentage is 125 while no client uses the device, and `traffic_share`
 * while a client pages or has jobs executed; all saved tokens but one are dropped then. With a
 * token left a whole allocation or slice may move, which can make the number of tokens negative;
 * other moves wait until the number is positive. Until a bandwidth was measured there is no limit.
 *
 * Paging that clients ask for takes no tokens.
 *
 * Time is an argument, in nanoseconds: nothing here sleeps or reads a clock.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include "traffic.h"

/* Weight of a new sample in the average bandwidth, as a shift: an eighth. */
#define MEASURE_SHIFT	3
/* Largest multiple of the average bandwidth so far that a faster sample counts as. */
#define MEASURE_TIMES	2
/*
 * Nanoseconds after a client's use of the device during which the device counts as used: longer
 * than a frame.
 */
#define OTHERS_NS	(50 * NSEC_PER_MSEC)
/* Most nanoseconds for which a token bucket is filled at once, so that no product overflows. */
#define FILL_NS_MAX	(10ull * NSEC_PER_SEC)

/**
 * pagoda_bandwidth_measure() - Add a sample to the measured bandwidth
 * @bandwidth: Bandwidth that the sample is averaged into
 * @bytes: Bytes that paging moved
 * @ns: Nanoseconds that the paging took, without waits for other work
 *
 * A sample's rate is limited, because a completion that is reported late makes the next sample
 * look too fast.
 *
 * Context: Any; one caller at a time.
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
 * pagoda_traffic_init() - Set up a full bucket
 * @traffic: Filled
 * @bandwidth: Measured bandwidth; outlives the bucket
 * @share: Percent of the bandwidth for a while after pagoda_traffic_others(), up to 100
 * @alone: Percent of the bandwidth at all other times; 0 = no limit. More than 100 lets a bandwidth
 *	that was measured too low recover
 * @burst: Most tokens that the bucket holds
 * @now: Time in nanoseconds
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
 * pagoda_traffic_others() - Fill a bucket slowly for a while, because clients use the device
 * @traffic: Bucket
 * @now: Time in nanoseconds
 *
 * For %OTHERS_NS the bucket is filled at &pagoda_traffic.share percent. Saved tokens are dropped
 * except for a single token, with which another allocation may move.
 */
void pagoda_traffic_others(struct pagoda_traffic *traffic, u64 now)
{
	spin_lock(&traffic->lock);
	traffic->busy_ns = now + OTHERS_NS;
	if (!traffic->fixed)
		traffic->tokens = min(traffic->tokens, 1);
	spin_unlock(&traffic->lock);
}

/* Returns the measured bytes per second; 0: nothing was measured, or the bucket has no limit. */
static u64 traffic_base(const struct pagoda_traffic *traffic)
{
	return traffic->alone ? atomic64_read(&traffic->bandwidth->rate) : 0;
}

/* Returns the tokens per second that fill the bucket at @now; 0: no limit, or nothing measured. */
static u64 traffic_rate(const struct pagoda_traffic *traffic, u64 now)
{
	u32 percent = now < traffic->busy_ns ? traffic->share : traffic->alone;
	u64 base = traffic_base(traffic);

	lockdep_assert_held(&traffic->lock);
	if (traffic->fixed || !base)
		return traffic->fixed;
	return max(div_u64(base * percent, 100), 1ull);
}

/*
 * Adds the tokens for the time since the bucket was filled last. If that was after @now, adds
 * nothing: another thread may have filled the bucket after the caller read the clock.
 */
static void traffic_fill(struct pagoda_traffic *traffic, u64 rate, u64 now)
{
	u64 ns = now > traffic->filled_ns ? min(now - traffic->filled_ns, FILL_NS_MAX) : 0;
	u64 more = mul_u64_u64_div_u64(ns, rate, NSEC_PER_SEC), paid;

	lockdep_assert_held(&traffic->lock);
	if (!ns)
		return;
	traffic->tokens = min_t(s64, traffic->tokens + more, traffic->burst);
	/* Leave time that wasn't enough for another token to the next call. */
	if (traffic->tokens < traffic->burst)
		paid = more ? min(mul_u64_u64_div_u64(more, NSEC_PER_SEC, rate) + 1, ns) : 0;
	else
		paid = now - traffic->filled_ns;
	traffic->filled_ns += paid;
}

/**
 * pagoda_traffic_wait() - Test whether there is a token
 * @traffic: Bucket
 * @now: Time in nanoseconds
 *
 * Takes no token. Counts in &pagoda_traffic.refused if there is none.
 *
 * Return: 0 if there is a token or no limit, else nanoseconds until a token comes at the present
 * rate.
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
 * pagoda_traffic_spend() - Take the tokens of paging out of a bucket
 * @traffic: Bucket
 * @bytes: Bytes that were paged
 */
void pagoda_traffic_spend(struct pagoda_traffic *traffic, u64 bytes)
{
	spin_lock(&traffic->lock);
	/* Without a limit no tokens are taken: a later limit starts without debt. */
	if (traffic->fixed || traffic_base(traffic))
		traffic->tokens -= bytes;
	traffic->spent += bytes;
	spin_unlock(&traffic->lock);
}

/**
 * pagoda_traffic_look() - Report the state of a bucket
 * @traffic: Bucket
 * @now: Time in nanoseconds
 * @state: Filled
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
