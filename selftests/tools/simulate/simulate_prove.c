// SPDX-License-Identifier: GPL-2.0
/* Is the bound one? On small programs: bound <= exact minimum <= what each chooser moves. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "simulate.h"

/* Most frames that are queued when the policy is tried. */
#define QUEUED		2

/* Bytes, over the programs so far. */
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

int sim_prove(unsigned int count)
{
	struct proof proof = { 0 };
	struct trace trace;
	uint64_t vram;
	unsigned int n;
	int ret = 0;

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
