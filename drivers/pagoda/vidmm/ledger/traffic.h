/* SPDX-License-Identifier: GPL-2.0 */
/* Limits of paging that no client asked for: token buckets, measured bandwidth; see traffic.c. */
#ifndef PAGODA_VIDMM_LEDGER_TRAFFIC_H
#define PAGODA_VIDMM_LEDGER_TRAFFIC_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/** PAGODA_TRAFFIC_ALONE: percent of the bandwidth for promotion while no client uses the device */
#define PAGODA_TRAFFIC_ALONE	125

/**
 * struct pagoda_bandwidth - Measured bandwidth of the device's paging, shared by all buckets
 * @rate: Bytes per second; 0 = nothing was measured yet. Written by one measuring thread at a time,
 *	read by any
 */
struct pagoda_bandwidth {
	atomic64_t rate;
};

/**
 * struct pagoda_traffic - A token bucket; a token is a byte of paging
 * @bandwidth: Measured bandwidth; a percentage of it fills the bucket
 * @lock: Protects all members below
 * @fixed: Tokens per second that fill the bucket, whatever @bandwidth is; 0 = by @bandwidth. Set by
 *	KUnit tests only
 * @share: Percent of @bandwidth that fills the bucket until @busy_ns
 * @alone: Percent of @bandwidth that fills the bucket from @busy_ns on; 0 = no limit, whatever
 *	@share is
 * @burst: Most tokens that the bucket holds
 * @tokens: Tokens in the bucket; negative: spent in advance
 * @filled_ns: Time when the bucket was filled last, in nanoseconds
 * @busy_ns: Time, in nanoseconds, until which clients count as using the device
 * @spent: Bytes given to pagoda_traffic_spend() so far, also while there was no limit
 * @refused: Number of times that a caller of pagoda_traffic_wait() found no token
 */
struct pagoda_traffic {
	const struct pagoda_bandwidth *bandwidth;
	spinlock_t lock;	/* protects all members below */
	u64 fixed;
	u32 share;
	u32 alone;
	s64 burst;
	s64 tokens;
	u64 filled_ns;
	u64 busy_ns;
	u64 spent;
	u64 refused;
};

/**
 * struct pagoda_traffic_state - State of a bucket at some time
 * @tokens: Tokens in the bucket; negative: spent in advance
 * @burst: Most tokens that the bucket holds
 * @rate: Tokens per second that fill the bucket; 0 = no limit
 * @spent: Bytes given to pagoda_traffic_spend() so far, also while there was no limit
 * @refused: Number of times that a caller of pagoda_traffic_wait() found no token
 */
struct pagoda_traffic_state {
	s64 tokens;
	s64 burst;
	u64 rate;
	u64 spent;
	u64 refused;
};

void pagoda_bandwidth_measure(struct pagoda_bandwidth *bandwidth, u64 bytes, u64 ns);
void pagoda_traffic_init(struct pagoda_traffic *traffic, const struct pagoda_bandwidth *bandwidth,
			 u32 share, u32 alone, s64 burst, u64 now);
void pagoda_traffic_others(struct pagoda_traffic *traffic, u64 now);
u64 pagoda_traffic_wait(struct pagoda_traffic *traffic, u64 now);
void pagoda_traffic_spend(struct pagoda_traffic *traffic, u64 bytes);
void pagoda_traffic_look(struct pagoda_traffic *traffic, u64 now,
			 struct pagoda_traffic_state *state);

#endif
