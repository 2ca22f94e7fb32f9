// SPDX-License-Identifier: GPL-2.0
/*
 * Checks the lower bounds of the bytes that programs move. On each small program: bound <= exact
 * minimum <= what each chooser moves. On average over programs that differ only in which of some
 * allocations that are alike a later frame uses: blind, the result of sim_blind(), <= what each
 * chooser moves that doesn't know the later frame.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

/* Most frames that are queued when the policy is tried. */
#define QUEUED		2

/*
 * Sums, over the small programs so far, of bytes moved between VRAM and system memory: the lower
 * bound, the exact minimum, and the least that any chooser moved.
 */
struct proof {
	uint64_t bounds;
	uint64_t exacts;
	uint64_t found;
};

static int check(const char *name, const char *what, uint64_t low, uint64_t high)
{
	if (low <= high)
		return 0;
	fprintf(stderr, "simulate: %s: %s: %llu bytes are more than %llu\n", name, what,
		(unsigned long long)low, (unsigned long long)high);
	return -ERANGE;
}

static int check_choosers(const struct sim_script *script, const char *name, uint64_t vram,
			  const uint8_t *worth, uint64_t exact, uint64_t *least)
{
	static const char * const what[SIM_CHOOSERS] = {
		[SIM_LRU] = "LRU", [SIM_POLICY] = "policy", [SIM_OPTIMUM] = "optimum",
	};
	struct sim_result result;
	enum sim_chooser chooser;
	unsigned int queued;
	int ret = 0;

	*least = UINT64_MAX;
	for (chooser = 0; !ret && chooser < SIM_CHOOSERS; chooser++) {
		for (queued = 0; !ret && queued <= QUEUED; queued++) {
			const struct sim_choice choice = {
				.vram = vram,
				.chooser = chooser,
				.queued = queued,
				.worth = worth,
			};

			ret = sim_run(script, &choice, &result);
			if (!ret)
				ret = check(name, what[chooser], exact, sim_moved(&result));
			if (sim_moved(&result) < *least)
				*least = sim_moved(&result);
		}
	}
	return ret;
}

static int prove_one(struct proof *proof, const struct trace *trace, uint64_t vram)
{
	uint64_t bound = 0, exact = 0, least = 0;
	struct sim_script script;
	uint8_t *worth;
	int ret = sim_script_make(&script, trace, vram);

	if (ret)
		return ret;
	worth = malloc(script.nr_uses + 1);
	ret = worth ? sim_bound(&script, vram, &bound, worth) : -ENOMEM;
	if (!ret)
		ret = sim_exact(&script, vram, &exact);
	if (!ret)
		ret = check(trace->name, "bound", bound, exact);
	if (!ret)
		ret = check_choosers(&script, trace->name, vram, worth, exact, &least);
	proof->bounds += bound;
	proof->exacts += exact;
	proof->found += least;
	free(worth);
	sim_script_free(&script);
	return ret;
}

/* Number of allocations in the programs of prove_blind(); they are alike, and VRAM holds half. */
#define ALIKE	4

static int add(struct trace *trace, enum trace_type type, uint32_t id, bool flag)
{
	const struct trace_event event = {
		.type = type, .id = id, .length = type == TRACE_ALLOC ? SIM_PIECE : 0, .flag = flag,
	};

	return trace_add(trace, &event);
}

/*
 * Makes a program: a frame writes all allocations; a later frame, which isn't queued yet during the
 * first, uses those whose bits are set in @set. Returns 0 or -ENOMEM.
 */
static int alike_make(struct trace *trace, uint32_t set)
{
	uint32_t id, n;
	int ret = 0;

	memset(trace, 0, sizeof(*trace));
	for (id = 1; !ret && id <= ALIKE; id++)
		ret = add(trace, TRACE_ALLOC, id, false);
	for (id = 1; !ret && id <= ALIKE; id++)
		ret = add(trace, TRACE_USE, id, true);
	for (n = 0; !ret && n <= QUEUED; n++)
		ret = add(trace, TRACE_FRAME, 0, false);
	for (id = 1; !ret && id <= ALIKE; id++)
		if (set >> (id - 1) & 1)
			ret = add(trace, TRACE_USE, id, false);
	return ret;
}

/*
 * Runs the program of @set: adds the bytes that the chooser moves to *@moved, and the result of
 * sim_blind() to *@blind. Returns 0 or a negative errno.
 */
static int alike_run(uint32_t set, struct sim_choice *choice, uint64_t *moved, uint64_t *blind)
{
	struct sim_result result;
	struct sim_script script;
	struct trace trace;
	uint64_t least;
	int ret = alike_make(&trace, set);

	if (!ret)
		ret = sim_script_make(&script, &trace, choice->vram);
	trace_unload(&trace);
	if (ret)
		return ret;
	ret = sim_run(&script, choice, &result);
	if (!ret)
		ret = sim_blind(&script, choice->vram, QUEUED, &least);
	*moved += sim_moved(&result);
	*blind += least;
	sim_script_free(&script);
	return ret;
}

/*
 * Checks that over all programs whose later frame uses @used allocations a chooser moves no less
 * than the sum of sim_blind(); but that the optimum, which knows the later frame, moves less if
 * @used is 1. Returns 0, -ERANGE after a message, or another negative errno.
 */
static int prove_alike(struct sim_choice *choice, int used)
{
	bool knows = choice->chooser == SIM_OPTIMUM && used == 1;
	uint64_t moved = 0, blind = 0;
	uint32_t set;
	int ret = 0;

	for (set = 0; !ret && set < 1u << ALIKE; set++)
		if (__builtin_popcount(set) == used)
			ret = alike_run(set, choice, &moved, &blind);
	if (ret)
		return ret;
	return knows ? check("alike", "optimum", moved + 1, blind) :
		       check("alike", "blind", blind, moved);
}

static int prove_blind(void)
{
	struct sim_choice choice = { .vram = ALIKE / 2 * SIM_PIECE };
	int ret = 0, used;

	for (used = 1; !ret && used <= ALIKE; used++) {
		for (choice.chooser = 0; !ret && choice.chooser < SIM_CHOOSERS; choice.chooser++) {
			choice.queued = choice.chooser == SIM_POLICY ? QUEUED : 0;
			ret = prove_alike(&choice, used);
		}
	}
	return ret;
}

int sim_prove(unsigned int count)
{
	struct proof proof = { 0 };
	struct trace trace;
	uint64_t vram;
	unsigned int n;
	int ret = prove_blind();

	for (n = 0; !ret && n < count; n++) {
		ret = sim_small_make(&trace, n, &vram);
		if (ret)
			break;
		ret = prove_one(&proof, &trace, vram);
		trace_unload(&trace);
	}
	if (!ret)
		printf("%u small programs: KiB: bound %llu <= exact %llu <= found %llu\n",
		       count, (unsigned long long)proof.bounds / 1024,
		       (unsigned long long)proof.exacts / 1024,
		       (unsigned long long)proof.found / 1024);
	return ret;
}
