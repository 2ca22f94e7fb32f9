/* SPDX-License-Identifier: GPL-2.0 */
/* The replay of a trace by one client. */
#ifndef PAGODA_REPLAY_H
#define PAGODA_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

/* Batches in flight: by default one more than an engine has places for jobs; and at most. */
#define REPLAY_QUEUED		3
#define REPLAY_QUEUED_MAX	63

/* Several allocations of a batch take at most VRAM divided by this; one alone may be larger. */
#define REPLAY_BATCH_PART	4

/*
 * Options, as usage_text in replay.c explains them.
 * @queued: batches in flight while the next is collected
 * @rival_from, @rival_to: frames after which the rival begins to use VRAM and ends; 0: no rival
 */
struct replay_options {
	const char *path;
	double vram;
	unsigned int scale;
	unsigned int frames;
	unsigned int clients;
	unsigned int queued;
	unsigned int verbose;
	unsigned int rival_from;
	unsigned int rival_to;
	uint64_t seed;
	bool plan;
	bool cpu;
	bool verify_free;
};

/*
 * What a client did. Lives in memory shared with its parent.
 * @reads, @writes: uses for which the GPU got commands, as a source or a destination
 * @hashed: bytes that these reads read; @uploaded: bytes that the CPU wrote, @checked: compared
 * @misplaced: allocations that batch_check() found not resident, or lost
 * @mismatches: bytes that were wrong; if the GPU found a wrong hash, all of the allocation
 * @retries: times that a batch was refused and submitted again
 * @beside: bytes of VRAM in the end for page tables and save areas
 * @trims, @budgets: events to use less VRAM, and of a changed VRAM budget
 * @stall_ns: time of waiting for points; @call_ns: of submitting; @upload_ns: of CPU writes;
 *	@check_ns: of CPU reads, and of computing the expected hashes
 * @done: all of the trace was replayed, and no call failed
 */
struct replay_result {
	uint64_t frames;
	uint64_t batches;
	uint64_t uses;
	uint64_t reads;
	uint64_t writes;
	uint64_t hashed;
	uint64_t uploaded;
	uint64_t checked;
	uint64_t misplaced;
	uint64_t mismatches;
	uint64_t retries;
	uint64_t beside;
	uint64_t trims;
	uint64_t budgets;
	int64_t stall_ns;
	int64_t call_ns;
	int64_t upload_ns;
	int64_t check_ns;
	bool done;
};

/*
 * Replays @trace as client number @client and verifies content. Returns 0 if no call failed, even
 * if content was wrong, which @result tells; else a negative errno.
 */
int replay_run(const struct trace *trace, const struct replay_options *options,
	       unsigned int client, struct replay_result *result);

#endif
