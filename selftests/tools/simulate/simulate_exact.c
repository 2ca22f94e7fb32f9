// SPDX-License-Identifier: GPL-2.0
/*
 * The least that can be moved, by trying everything: for programs of a few allocations. A state is
 * what is in VRAM and which of that was written. Before each submission any allocations that it
 * doesn't name may leave, even if no room is needed, which is more than the driver's rules allow.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

#define IMPOSSIBLE	UINT64_MAX

/*
 * @least: by state, the least bytes moved to reach the state; @before: likewise, before the step
 * @known: set of allocations that have content, so that coming to VRAM costs their bytes
 * @bits: number of allocations; a state has a bit of each that is in VRAM, and behind these one of
 *	each that was written in VRAM
 */
struct exact {
	const struct sim_script *script;
	uint64_t *least;
	uint64_t *before;
	uint64_t vram;
	uint32_t known;
	uint32_t states;
	uint32_t bits;
};

static uint32_t in_vram(const struct exact *e, uint32_t state)
{
	return state & ((1u << e->bits) - 1);
}

static uint64_t bytes_of(const struct exact *e, uint32_t set)
{
	uint64_t bytes = 0;
	uint32_t id;

	for (id = 0; id < e->bits; id++)
		if (set >> id & 1)
			bytes += e->script->sizes[id + 1];
	return bytes;
}

static void reach(struct exact *e, uint32_t resident, uint32_t written, uint64_t moved)
{
	uint64_t *least = &e->least[(resident & written) << e->bits | resident];

	if (moved < *least)
		*least = moved;
}

/*
 * Tries all sets of allocations that may leave in @state; then what the submission names comes, and
 * of that @writes are written.
 */
static void submit_from(struct exact *e, uint32_t state, uint32_t named, uint32_t writes)
{
	uint32_t resident = in_vram(e, state), written = state >> e->bits, may = resident & ~named;
	uint32_t leave = may;
	uint64_t moved = e->before[state] + bytes_of(e, named & ~resident & e->known);

	while (true) {
		uint32_t stay = (resident & ~leave) | named;

		if (bytes_of(e, stay) <= e->vram)
			reach(e, stay, written | writes, moved + bytes_of(e, leave & written));
		if (!leave)
			return;
		leave = (leave - 1) & may;
	}
}

static void step_from(struct exact *e, const struct sim_step *step, uint32_t state)
{
	const struct sim_use *uses = e->script->uses + step->first;
	uint32_t bit = 1u << (uses->id - 1), resident = in_vram(e, state);
	uint32_t written = state >> e->bits, named = 0, writes = 0, n;

	if (step->type == SIM_FREE) {
		reach(e, resident & ~bit, written & ~bit, e->before[state]);
	} else if (step->type == SIM_TOUCH) {
		reach(e, resident, step->length ? written | bit : written, e->before[state]);
	} else {
		for (n = 0; n < step->count; n++) {
			named |= 1u << (uses[n].id - 1);
			if (uses[n].writes)
				writes |= 1u << (uses[n].id - 1);
		}
		submit_from(e, state, named, writes);
	}
}

/* Notes that the allocations of the step have content from now on. */
static void learn(struct exact *e, const struct sim_step *step)
{
	uint32_t n;

	for (n = 0; n < step->count; n++)
		e->known |= 1u << (e->script->uses[step->first + n].id - 1);
}

int sim_exact(const struct sim_script *script, uint64_t vram, uint64_t *moved)
{
	struct exact e = { .script = script, .vram = vram, .bits = script->max_id };
	size_t bytes, n;
	uint32_t state;
	int ret = 0;

	if (script->max_id > SIM_EXACT_IDS)
		return -E2BIG;
	e.states = 1u << 2 * e.bits;
	bytes = e.states * sizeof(*e.least);
	e.least = malloc(bytes);
	e.before = malloc(bytes);
	if (!e.least || !e.before)
		ret = -ENOMEM;
	else
		memset(e.least, 0xff, bytes);
	if (!ret)
		e.least[0] = 0;
	for (n = 0; !ret && n < script->nr_steps; n++) {
		memcpy(e.before, e.least, bytes);
		memset(e.least, 0xff, bytes);
		for (state = 0; state < e.states; state++)
			if (e.before[state] != IMPOSSIBLE)
				step_from(&e, &script->steps[n], state);
		learn(&e, &script->steps[n]);
	}
	*moved = IMPOSSIBLE;
	for (state = 0; !ret && state < e.states; state++)
		if (e.least[state] < *moved)
			*moved = e.least[state];
	free(e.least);
	free(e.before);
	return ret;
}
