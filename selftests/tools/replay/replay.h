/* SPDX-License-Identifier: GPL-2.0 */
/* The replay of a trace by one client. */
#ifndef PAGODA_REPLAY_H
#define PAGODA_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "trace.h"

/* A submission names at most this part of VRAM, so that a few can be in flight. */
#define REPLAY_BATCH_PART	4

/* @rival_from, @rival_to: frames from which to which another program wants VRAM too; 0: none */
struct replay_options {
	const char *path;
	double vram;
	unsigned int scale;
	unsigned int frames;
	unsigned int clients;
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
 * @reads, @writes: uses that the GPU executed, as a source or a destination
 * @hashed: bytes that these reads read
 * @misplaced: allocations of a batch that weren't where the GPU can use them after the point
 * @mismatches: bytes that were wrong; all of an allocation whose hash was
 * @retries: a batch was refused because others use the memory
 * @beside: bytes of VRAM it had in the end that weren't its allocations'
 * @trims: times it was told to use less VRAM; @budgets: that its budget there changed
 * @stall_ns: waiting for points; @call_ns: submitting; @upload_ns and @check_ns: CPU access,
 *	and making what is expected
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
 * Replays @trace as client number @client and verifies it. Returns 0 when it got to the end,
 * whatever the verification said, or a negative errno after a message.
 */
int replay_run(const struct trace *trace, const struct replay_options *options,
	       unsigned int client, struct replay_result *result);

#endif
