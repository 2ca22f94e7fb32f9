/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a residency trace moves between VRAM and system memory under the driver's rules, and a
 * choice of policies for what leaves. See simulate_run.c for the rules.
 */
#ifndef PAGODA_SIMULATE_H
#define PAGODA_SIMULATE_H

#include <stddef.h>
#include <stdint.h>

#include "tools/replay/trace.h"

enum sim_type {
	SIM_SUBMIT,
	SIM_TOUCH,
	SIM_FREE,
};

/* One step: @count of sim_script.uses from @first on; one of them unless it is a submission. */
struct sim_step {
	enum sim_type type;
	uint32_t count;
	size_t first;
};

/*
 * What the driver is asked for, in order. @next: for each of @uses, the step that uses or frees
 * the same allocation next, or SIM_NEVER. @sizes: bytes in VRAM of each ID, 0 = not for VRAM.
 */
struct sim_script {
	struct sim_step *steps;
	uint32_t *uses;
	uint32_t *next;
	uint64_t *sizes;
	size_t nr_steps;
	size_t nr_uses;
	uint32_t max_id;
};

#define SIM_NEVER	UINT32_MAX

enum sim_chooser {
	SIM_LRU,
	SIM_POLICY,
	SIM_OPTIMUM,
	SIM_CHOOSERS
};

/* Bytes and number of moves. */
struct sim_result {
	uint64_t in;
	uint64_t out;
	uint64_t page_ins;
	uint64_t evictions;
};

/* What the replay asks of a driver with @vram bytes; 0 or -ENOMEM. */
int sim_script_make(struct sim_script *script, const struct trace *trace, uint64_t vram);
void sim_script_free(struct sim_script *script);

/* What it moves; 0 or -ENOMEM. */
int sim_run(const struct sim_script *script, uint64_t vram, enum sim_chooser chooser,
	    struct sim_result *result);

/*
 * Programs that are in no file, see simulate_patterns.c: the name of one, NULL = there are only
 * so many; and its trace, 0 or -ENOMEM.
 */
const char *sim_pattern_name(unsigned int pattern);
int sim_pattern_make(struct trace *trace, unsigned int pattern);

static inline uint64_t sim_moved(const struct sim_result *result)
{
	return result->in + result->out;
}

#endif
