/* SPDX-License-Identifier: GPL-2.0 */
/* Prices of room over time, by a network simplex; simulate_bound.c says what they are for. */
#ifndef PAGODA_SIMULATE_FLOW_H
#define PAGODA_SIMULATE_FLOW_H

#include <stddef.h>
#include <stdint.h>

/*
 * @bytes of an allocation that are worth @gain each if they stay from time @first to before @end.
 */
struct sim_stay {
	uint32_t first;
	uint32_t end;
	uint64_t bytes;
	int64_t gain;
};

/*
 * Finds what should stay, parts of allocations included, so that the sum of gains is the highest
 * with at most @room[t] bytes at any time t < @times, or nearly so if that takes too long. Sets
 * @prices to what one more byte of room is worth at each time. Returns 0 or -ENOMEM.
 */
int sim_flow_prices(const struct sim_stay *stays, size_t count, const uint64_t *room,
		    uint32_t times, int64_t *prices);

#endif
