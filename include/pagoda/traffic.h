/* SPDX-License-Identifier: GPL-2.0 */
/* How much paging nobody asked for there may be; see traffic.c. */
#ifndef PAGODA_TRAFFIC_H
#define PAGODA_TRAFFIC_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>

/** PAGODA_TRAFFIC_ALONE: percent of the bandwidth for who pages while nobody uses the device */
#define PAGODA_TRAFFIC_ALONE	125

/**
 * struct pagoda_bandwidth - What the device was measured to page, one for all buckets
 * @rate: Bytes a second; 0 = nothing was measured yet. One measures at a time, anybody reads
 */
struct pagoda_bandwidth {
	atomic64_t rate;
};

/**
 * struct pagoda_traffic - A token bucket; a token is a byte of paging
 * @bandwidth: What it is filled with a part of
 * @lock: Protects all below
 * @fixed: Bytes a second the bucket is filled with, 0 = what @bandwidth allows
 * @share: Percent of @bandwidth it is filled with while others use the device
 * @alone: Percent while nobody does; 0 = it limits nothing
 * @burst: Tokens it holds
 * @tokens: Tokens in it; negative: spent in advance
 * @filled_ns: When it was filled last
 * @busy_ns: Until then others count as using the device
 * @spent: Tokens spent so far
 * @refused: Times there were none
 */
struct pagoda_traffic {
	const struct pagoda_bandwidth *bandwidth;
	spinlock_t lock;	/* all below */
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
 * struct pagoda_traffic_state - A bucket at some time
 * @tokens: Tokens in it; negative: spent in advance
 * @burst: Most there can be
 * @rate: Tokens a second that it gets; 0 = it limits nothing
 * @spent: Tokens spent so far
 * @refused: Times there were none
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
