/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a residency trace moves between VRAM and system memory under the driver's rules, and a
 * choice of policies for what leaves. See simulate_run.c for the rules.
 */
#ifndef PAGODA_SIMULATE_H
#define PAGODA_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/replay/trace.h"

enum sim_type {
	SIM_SUBMIT,
	SIM_TOUCH,
	SIM_FREE,
};

/*
 * One step: @count of sim_script.uses from @first on; one of them unless it is a submission.
 * @offset, @length: bytes that the CPU writes; @length is 0 if it only reads
 * @frame: number of frames that ended before
 */
struct sim_step {
	enum sim_type type;
	uint32_t count;
	size_t first;
	uint32_t frame;
	uint64_t offset;
	uint64_t length;
};

/*
 * An allocation in a step. @writes: the GPU writes all of it.
 * @next: the step that uses or frees the same allocation next, or SIM_NEVER
 */
struct sim_use {
	uint32_t id;
	uint32_t next;
	bool writes;
};

/*
 * What the driver is asked for, in order. @sizes: bytes in VRAM of each ID, 0 = not for VRAM.
 * @clients: the client of @nr_clients that each ID is of; NULL = there is only one
 */
struct sim_script {
	struct sim_step *steps;
	struct sim_use *uses;
	uint64_t *sizes;
	const uint8_t *clients;
	unsigned int nr_clients;
	size_t nr_steps;
	size_t nr_uses;
	uint32_t max_id;
};

/* Most clients at once. */
#define SIM_CLIENTS	4

#define SIM_NEVER	UINT32_MAX

/* Bytes of a piece, of which system memory's copy is up to date or isn't. */
#define SIM_PIECE	(64 * 1024ull)

enum sim_chooser {
	SIM_LRU,
	SIM_POLICY,
	SIM_OPTIMUM,
	SIM_CHOOSERS
};

/*
 * Bytes and number of moves. @uploads: bytes of @in that weren't in VRAM before: what the CPU wrote
 * to system memory as new content of a whole allocation
 * @evicted: bytes of what left; @good: of them, those that sim_choice.worth says had better leave
 * @moved_for: bytes moved both ways for each client's submissions; @used_by: bytes they name
 */
struct sim_result {
	uint64_t in;
	uint64_t out;
	uint64_t uploads;
	uint64_t page_ins;
	uint64_t evictions;
	uint64_t evicted;
	uint64_t good;
	uint64_t moved_for[SIM_CLIENTS];
	uint64_t used_by[SIM_CLIENTS];
};

/* What the replay asks of a driver with @vram bytes; 0 or -ENOMEM. */
int sim_script_make(struct sim_script *script, const struct trace *trace, uint64_t vram);
void sim_script_free(struct sim_script *script);

/*
 * @queued: number of frames that are queued behind the one that is executed, which the policy is
 *	told of
 * @worth: what sim_bound() says; NULL = not known
 * @copies_all: what leaves is copied out even if it wasn't written
 */
struct sim_choice {
	uint64_t vram;
	enum sim_chooser chooser;
	unsigned int queued;
	const uint8_t *worth;
	bool copies_all;
};

/* What it moves; 0 or -ENOMEM. */
int sim_run(const struct sim_script *script, const struct sim_choice *choice,
	    struct sim_result *result);

/*
 * Bytes that are moved at least, whatever is chosen, see simulate_bound.c; 0 or -ENOMEM. Sets
 * @worth of each use after which the allocation had better stay until it is used again.
 */
int sim_bound(const struct sim_script *script, uint64_t vram, uint64_t *moved, uint8_t *worth);

/*
 * Bytes, but for what the CPU made new, that are to be expected at least of a choice that knows
 * @queued frames ahead, see simulate_blind.c; 0 or -ENOMEM.
 */
int sim_blind(const struct sim_script *script, uint64_t vram, unsigned int queued, uint64_t *moved);

/* Bytes that an optimum moves that isn't bound to the driver's rules; 0 or -ENOMEM. */
int sim_whole(const struct trace *trace, uint64_t vram, uint64_t *moved);

/*
 * Programs that are in no file, see simulate_patterns.c: the name of one, NULL = there are only
 * so many; and its trace, 0 or -ENOMEM.
 */
const char *sim_pattern_name(unsigned int pattern);
int sim_pattern_make(struct trace *trace, unsigned int pattern);

/*
 * @count programs at once, as one trace, and the client that each ID is of, to be freed by the
 * caller; 0 or -ENOMEM.
 */
int sim_together_make(struct trace *merged, uint8_t **clients, const struct trace * const *traces,
		      unsigned int count);

/* A program of at most SIM_EXACT_IDS allocations, and the VRAM for it; 0 or -ENOMEM. */
#define SIM_EXACT_IDS	6

int sim_small_make(struct trace *trace, unsigned int number, uint64_t *vram);

/* The least bytes that such a program can move, by trying everything; 0 or a negative errno. */
int sim_exact(const struct sim_script *script, uint64_t vram, uint64_t *moved);

/*
 * Compares the bound with the exact minimum, and that with what each chooser moves, for @count
 * small programs; and sim_blind() with what they move of all programs that are alike. 0, -ERANGE
 * after a message if one is lower than it can be, or -ENOMEM.
 */
int sim_prove(unsigned int count);

static inline uint64_t sim_moved(const struct sim_result *result)
{
	return result->in + result->out;
}

#endif
