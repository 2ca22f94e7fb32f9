// SPDX-License-Identifier: GPL-2.0
/*
 * Turns a trace into what the driver is asked for, as replay's engine asks it: uses are collected,
 * in order, into submissions of at most a quarter of VRAM, or one larger allocation, each naming an
 * allocation once. A submission ends when the next allocation doesn't fit, at the end of a frame,
 * and before one of its allocations is touched or freed by the CPU.
 *
 * An allocation larger than VRAM is never in VRAM, and in no step. Where the CPU touches or frees
 * such an allocation, the submission that would have named it ends all the same.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "simulate.h"

/*
 * @pending: the @count uses of the submission being collected; @bytes: size of their allocations
 * @member: by ID, serial of the last submission that names it; @serial: of the one being collected
 * @place: by ID, index in @pending of its use
 */
struct writer {
	struct sim_script *script;
	struct sim_use *pending;
	uint32_t *member;
	uint32_t *place;
	uint32_t frame;
	uint32_t count;
	uint32_t serial;
	uint64_t bytes;
	uint64_t vram;
};

/*
 * Allocates the script's arrays. An event adds at most one step of its own and ends at most one
 * submission, and adds at most one use. Returns 0 or -ENOMEM.
 */
static int script_reserve(struct sim_script *script, const struct trace *trace)
{
	script->max_id = trace->max_id;
	script->steps = calloc(2 * trace->count + 1, sizeof(*script->steps));
	script->uses = calloc(trace->count + 1, sizeof(*script->uses));
	script->sizes = calloc(trace->max_id + 1ul, sizeof(*script->sizes));
	return script->steps && script->uses && script->sizes ? 0 : -ENOMEM;
}

static struct sim_step *step_add(struct writer *w, enum sim_type type, const struct sim_use *uses,
				 uint32_t count)
{
	struct sim_script *script = w->script;
	struct sim_step *step = &script->steps[script->nr_steps++];

	*step = (struct sim_step){
		.type = type,
		.count = count,
		.first = script->nr_uses,
		.frame = w->frame,
	};
	memcpy(script->uses + script->nr_uses, uses, count * sizeof(*uses));
	script->nr_uses += count;
	return step;
}

static void submission_end(struct writer *w)
{
	if (w->count)
		step_add(w, SIM_SUBMIT, w->pending, w->count);
	w->serial++;
	w->count = 0;
	w->bytes = 0;
}

static void submission_add(struct writer *w, uint32_t id, bool writes)
{
	uint64_t size = w->script->sizes[id];

	if (w->member[id] == w->serial) {
		w->pending[w->place[id]].writes |= writes && size;
		return;
	}
	if (w->bytes + size > w->vram / REPLAY_BATCH_PART)
		submission_end(w);
	w->member[id] = w->serial;
	w->place[id] = w->count;
	w->bytes += size;
	w->pending[w->count] = (struct sim_use){ .id = id, .writes = writes };
	if (size)
		w->count++;
}

/*
 * Adds the step in which the CPU touches or frees an allocation; before, ends the submission being
 * collected if the allocation is in it.
 */
static void step_alone(struct writer *w, enum sim_type type, const struct trace_event *event)
{
	struct sim_use use = { .id = event->id };
	struct sim_step *step;

	if (w->member[event->id] == w->serial)
		submission_end(w);
	if (!w->script->sizes[event->id])
		return;
	step = step_add(w, type, &use, 1);
	if (event->type == TRACE_WRITE) {
		step->offset = event->offset;
		step->length = event->length;
	}
}

static uint64_t size_in_vram(uint64_t length, uint64_t vram)
{
	uint64_t size = trace_pages(length);

	return size > vram ? 0 : size;
}

static void script_event(struct writer *w, const struct trace_event *event)
{
	switch (event->type) {
	case TRACE_ALLOC:
		w->script->sizes[event->id] = size_in_vram(event->length, w->vram);
		break;
	case TRACE_USE:
		submission_add(w, event->id, event->flag);
		break;
	case TRACE_WRITE:
	case TRACE_READ:
		step_alone(w, SIM_TOUCH, event);
		break;
	case TRACE_FREE:
		step_alone(w, SIM_FREE, event);
		break;
	case TRACE_FRAME:
		submission_end(w);
		w->frame++;
		break;
	}
}

/*
 * Sets @next of all uses. Touches aren't next steps: they bring nothing to VRAM, so that no
 * allocation has to stay in VRAM for a touch. Returns 0 or -ENOMEM.
 */
static int script_look_ahead(struct sim_script *script)
{
	uint32_t *coming = malloc((script->max_id + 1ul) * sizeof(*coming));
	size_t n, at;

	if (!coming)
		return -ENOMEM;
	memset(coming, 0xff, (script->max_id + 1ul) * sizeof(*coming));
	for (n = script->nr_steps; n--;) {
		const struct sim_step *step = &script->steps[n];

		for (at = step->first; at < step->first + step->count; at++) {
			struct sim_use *use = &script->uses[at];

			use->next = coming[use->id];
			if (step->type != SIM_TOUCH)
				coming[use->id] = n;
		}
	}
	free(coming);
	return 0;
}

int sim_script_make(struct sim_script *script, const struct trace *trace, uint64_t vram)
{
	struct writer w = { .script = script, .serial = 1, .vram = vram };
	int ret;
	size_t n;

	memset(script, 0, sizeof(*script));
	w.pending = calloc(trace->max_id + 1ul, sizeof(*w.pending));
	w.member = calloc(trace->max_id + 1ul, sizeof(*w.member));
	w.place = calloc(trace->max_id + 1ul, sizeof(*w.place));
	ret = w.pending && w.member && w.place ? script_reserve(script, trace) : -ENOMEM;
	for (n = 0; !ret && n < trace->count; n++)
		script_event(&w, &trace->events[n]);
	if (!ret) {
		submission_end(&w);
		ret = script_look_ahead(script);
	}
	free(w.pending);
	free(w.member);
	free(w.place);
	if (ret)
		sim_script_free(script);
	return ret;
}

void sim_script_free(struct sim_script *script)
{
	free(script->steps);
	free(script->uses);
	free(script->sizes);
	memset(script, 0, sizeof(*script));
}
