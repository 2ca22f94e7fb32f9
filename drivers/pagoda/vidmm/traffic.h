/* SPDX-License-Identifier: GPL-2.0 */
/* How much paging nobody asked for there may be; see traffic.c. */
#ifndef PAGODA_TRAFFIC_H
#define PAGODA_TRAFFIC_H

#include <linux/spinlock.h>
#include <linux/types.h>

/**
 * struct pagoda_traffic - A token bucket; a token is a byte of paging
 * @lock: Protects all below
 * @bandwidth: Bytes a second that paging was measured to move, 0 = not yet
 * @fixed: Bytes a second the bucket is filled with, 0 = what @bandwidth allows
 * @share: Percent of @bandwidth it is filled with while others page
 * @burst: Tokens it holds
 * @tokens: Tokens in it; negative: spent in advance
 * @filled_ns: When it was filled last
 * @busy_ns: Until then others count as paging
 * @spent: Tokens spent so far
 * @refused: Times there were none
 */
struct pagoda_traffic {
	spinlock_t lock;	/* all below */
	u64 bandwidth;
	u64 fixed;
	u32 share;
	s64 burst;
	s64 tokens;
	u64 filled_ns;
	u64 busy_ns;
	u64 spent;
	u64 refused;
};

void pagoda_traffic_init(struct pagoda_traffic *traffic, u32 share, s64 burst, u64 now);
void pagoda_traffic_measure(struct pagoda_traffic *traffic, u64 bytes, u64 ns);
void pagoda_traffic_others(struct pagoda_traffic *traffic, u64 now);
u64 pagoda_traffic_wait(struct pagoda_traffic *traffic, u64 now);
void pagoda_traffic_spend(struct pagoda_traffic *traffic, u64 bytes);

#endif
