/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulation under way, for simulate_run.c, which has the rules, and simulate_ahead.c, which has
 * the queue of jobs and its times.
 */
#ifndef PAGODA_SIMULATE_RUN_H
#define PAGODA_SIMULATE_RUN_H

#include "vidmm/ledger/policy.h"
#include "simulate.h"
#include "simulate_heap.h"

/* Where content is: nowhere, because not used or touched yet; in system memory; in VRAM. */
enum place {
	NOWHERE,
	SYSTEM,
	VRAM,
};

/*
 * An allocation. @older, @newer: neighbours in the order of use, while in VRAM
 * @named: last step that submits the allocation; @use: index of its use in that step; @next: the
 *	next step that submits or frees the allocation
 * @written: bytes of the pieces that were written since the move to VRAM; @pieces: which those are,
 *	unless all are; NULL if no piece had to be told from others
 * @fresh: the content is in system memory and never was in VRAM: the CPU touched the allocation
 *	before its first use, or wrote all of it
 * @there: time when the last copy to VRAM is done; @done: when the last job is that uses the
 *	allocation
 * @clock: the simulation's; @chosen: the next of several victims
 */
struct item {
	struct pagoda_policy_item policy;
	struct pagoda_policy_lane lane;
	struct item *older;
	struct item *newer;
	uint64_t size;
	uint64_t written;
	uint8_t *pieces;
	size_t named;
	size_t use;
	uint32_t next;
	enum place place;
	bool fresh;
	double there;
	double done;
	const struct sim_clock *clock;
	struct item *chosen;
};

/*
 * Variants of the optimum's order, of which the best result is taken. An allocation that is freed
 * before it is used again is worth nothing in VRAM, but leaving costs a copy out if it was written:
 * whether to wait for the free is a matter of luck. The allocation's next use counts as
 * @FREED_IS_NEVER: never, so that it leaves first
 * @FREED_IS_AN_END: being where the free is
 * @FREED_IS_HALF_THE_COST: being twice as far away as the free
 * @FREED: number of these, which come four times: as they are; with a next use that is no free of
 *	what was written counting as half as far, because leaving costs twice as much; and both
 *	again, but with what @worth says not to keep leaving first
 */
enum variant {
	FREED_IS_NEVER,
	FREED_IS_AN_END,
	FREED_IS_HALF_THE_COST,
	FREED,
	VARIANTS = 4 * FREED,
};

/*
 * Times of the jobs, in bytes that could be copied until then.
 * @pace: time that a job takes for a byte that it uses
 * @now: when victims are chosen; @made: when the present job is made: its paging begins
 * @copied: when all paging so far is done
 * @ended: when the last job ends; @before: when the job before it does
 * @cpu: when the jobs are done that the CPU has waited for
 * @idle: time in which the engine had nothing to do but to wait for paging
 */
struct sim_clock {
	double pace;
	double now;
	double made;
	double copied;
	double ended;
	double before;
	double cpu;
	double idle;
};

/*
 * @policy: the driver's, NULL if another chooser decides; @coming: by use, what the policy is told
 *	of queued uses, NULL if it is told of none
 * @oldest, @newest: what is in VRAM, in the order of use
 * @heap: the optimum's order
 * @worth: by use, whether the bound says to stay until the next one; NULL = not known
 * @step: number of the step being done; @client: of the last submission; @used: VRAM in use
 * @queued: frames queued behind the step's; @known: first step that the policy isn't told of yet
 * @jobs: most jobs in flight, see simulate_ahead.c; 0: @queued counts, and no time passes
 * @ahead: what queued jobs use comes in ahead of the jobs
 * @waiting: jobs that are queued; @submitted: step of the last job that was made
 */
struct sim {
	const struct sim_script *script;
	struct pagoda_policy *policy;
	struct pagoda_policy_group groups[SIM_CLIENTS];
	struct pagoda_policy_coming *coming;
	struct sim_result *result;
	struct item *items;
	struct item *oldest;
	struct item *newest;
	struct sim_heap heap;
	const uint8_t *worth;
	size_t step;
	size_t known;
	unsigned int queued;
	unsigned int client;
	uint64_t used;
	uint64_t vram;
	enum sim_chooser chooser;
	enum variant variant;
	bool copies_all;
	unsigned int jobs;
	bool ahead;
	unsigned int waiting;
	size_t submitted;
	struct sim_clock clock;
};

/*
 * simulate_run.c: the policy's next victim; an allocation leaves or comes to VRAM; tell the policy
 * of a queued job; a step in which the CPU touches or frees an allocation
 */
struct item *sim_victim(struct sim *s);
void sim_leave(struct sim *s, struct item *it);
void sim_enter(struct sim *s, struct item *it);
void sim_expect(struct sim *s, const struct sim_step *step);
int sim_alone(struct sim *s, const struct sim_step *step);

/*
 * simulate_ahead.c: what is queued at a step; times of a job that is made and then runs, and of
 * copies; what comes in ahead of the engine
 */
bool sim_is_busy(struct pagoda_policy_item *item);
int sim_queue_look(struct sim *s);
void sim_clock_make(struct sim *s);
void sim_clock_leaves(struct sim *s, const struct item *it);
void sim_clock_comes(struct sim *s, struct item *it);
void sim_clock_run(struct sim *s, const struct sim_step *step);
void sim_page_ahead(struct sim *s);

#endif
