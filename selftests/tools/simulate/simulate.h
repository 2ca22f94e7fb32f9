/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a residency trace moves between VRAM and system memory under the driver's rules, with a
 * choice of policies for what leaves; and bounds of that. See simulate_run.c for the rules.
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
 * One step: @count of sim_script.uses, from index @first on; a touch or free has one.
 * @offset, @length: range that the CPU writes in a touch; @length is 0 if the CPU only reads
 * @frame: number of frames that ended before the step
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
 * @next: the next step that submits or frees the allocation, touches left out, or SIM_NEVER
 */
struct sim_use {
	uint32_t id;
	uint32_t next;
	bool writes;
};

/*
 * What the driver is asked for: @steps, in order, and their @uses.
 * @sizes: bytes that each ID takes in VRAM, 0 = larger than VRAM, so never in VRAM
 * @clients: client of each ID, less than @nr_clients; NULL = there is only one
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

/* Bytes of a piece of an allocation: the simulation knows which pieces in VRAM were written. */
#define SIM_PIECE	(64 * 1024ull)

enum sim_chooser {
	SIM_LRU,
	SIM_POLICY,
	SIM_OPTIMUM,
	SIM_CHOOSERS
};

/*
 * @in, @out: bytes copied to VRAM and from VRAM; @page_ins: times that an allocation came from
 *	system memory; @evictions: times that an allocation left, copied or not
 * @uploads: bytes of @in that are new content: of allocations that never were in VRAM, or whose
 *	content the CPU has replaced as a whole in system memory
 * @evicted: size of the allocations evicted; @good: likewise, of those that sim_choice.worth says
 *	not to keep
 * @moved_for: bytes moved both ways for each client's submissions; @used_by: size of the
 *	allocations that these name
 * @idle: with sim_choice.jobs: time in which the engine waits for paging and nothing else, in bytes
 *	that could be copied in that time
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
	double idle;
};

/*
 * Makes the script of what the replay asks of a driver with @vram bytes of VRAM. Returns 0 or
 * -ENOMEM.
 */
int sim_script_make(struct sim_script *script, const struct trace *trace, uint64_t vram);
void sim_script_free(struct sim_script *script);

/*
 * @vram: bytes of VRAM
 * @queued: for SIM_POLICY: number of frames behind the executed one whose uses the policy is told
 *	of
 * @worth: as sim_bound() sets it; NULL = not known
 * @copies_all: what leaves is copied out even if it wasn't written
 * @jobs: for SIM_POLICY and one client, instead of @queued: most jobs in flight, see
 *	simulate_ahead.c; 0 = @queued counts
 * @ahead: with @jobs: what queued jobs use comes in ahead of the jobs
 * @pace: with @jobs: time that a job takes for a byte that it uses, to that of copying a byte
 */
struct sim_choice {
	uint64_t vram;
	enum sim_chooser chooser;
	unsigned int queued;
	const uint8_t *worth;
	bool copies_all;
	unsigned int jobs;
	bool ahead;
	double pace;
};

/* Simulates @script, and sets @result to what is moved. Returns 0 or a negative errno. */
int sim_run(const struct sim_script *script, const struct sim_choice *choice,
	    struct sim_result *result);

/*
 * Sets *@moved to bytes that are moved at least, whatever is chosen, see simulate_bound.c; and, by
 * index in sim_script.uses, @worth to whether the allocation had better stay in VRAM after the use,
 * until its next use. Returns 0 or -ENOMEM.
 */
int sim_bound(const struct sim_script *script, uint64_t vram, uint64_t *moved, uint8_t *worth);

/*
 * Sets *@moved to the bytes that a choice which knows @queued frames ahead is expected to move at
 * least, see simulate_blind.c, without the first move to VRAM of what the CPU wrote. Returns 0 or
 * -ENOMEM.
 */
int sim_blind(const struct sim_script *script, uint64_t vram, unsigned int queued, uint64_t *moved);

/*
 * Sets *@moved to the bytes that an optimum moves which isn't bound to the driver's rules, see
 * simulate_whole.c. Returns 0 or -ENOMEM.
 */
int sim_whole(const struct trace *trace, uint64_t vram, uint64_t *moved);

/*
 * Invented programs, see simulate_patterns.c. sim_pattern_name() returns the name of program number
 * @pattern, from 0 on, or NULL if there are fewer; sim_pattern_make() makes the trace of the
 * program, and returns 0 or -ENOMEM.
 */
const char *sim_pattern_name(unsigned int pattern);
int sim_pattern_make(struct trace *trace, unsigned int pattern);

/*
 * Makes one trace, @merged, of @count programs that run at once, and an array *@clients, to be
 * freed by the caller, with the client of each ID. Returns 0 or -ENOMEM.
 */
int sim_together_make(struct trace *merged, uint8_t **clients, const struct trace * const *traces,
		      unsigned int count);

/* Most allocations of a program that sim_small_make() makes and sim_exact() takes. */
#define SIM_EXACT_IDS	6

/*
 * Makes the trace of small program number @number, and sets *@vram to the bytes of VRAM with which
 * the program is to be simulated. Returns 0 or -ENOMEM.
 */
int sim_small_make(struct trace *trace, unsigned int number, uint64_t *vram);

/*
 * Sets *@moved to the least bytes that a program can move, found by trying everything. Returns 0,
 * -E2BIG if the program has too many allocations, or -ENOMEM.
 */
int sim_exact(const struct sim_script *script, uint64_t vram, uint64_t *moved);

/*
 * Checks for @count small programs that sim_bound() isn't higher than sim_exact(), nor sim_exact()
 * higher than what any chooser moves; and that on average over programs that are alike sim_blind()
 * isn't higher than what choosers move that don't know the later frames. Returns 0, -ERANGE after a
 * message if a check failed, or another negative errno.
 */
int sim_prove(unsigned int count);

static inline uint64_t sim_moved(const struct sim_result *result)
{
	return result->in + result->out;
}

#endif
