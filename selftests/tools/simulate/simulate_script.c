// SPDX-License-Identifier: GPL-2.0
/*
 * From a trace to what the driver is asked for, as replay's engine asks it: uses are collected,
 * in order, into submissions of at most a part of VRAM, each naming an allocation once. A
 * submission ends when the next allocation doesn't fit into it, at the end of a frame, and before
 * one of its allocations is touched or freed by the CPU.
 *
 * An allocation larger than VRAM isn't brought there. It still ends submissions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/replay/replay.h"
#include "simulate.h"

/*
 * @pending: the submission being collected, @count of them for VRAM, @bytes in all
 * @member: number of the last submission an ID is in; @serial: of the one being collected
 */
struct writer {
	struct sim_script *script;
	uint32_t *pending;
	uint32_t *member;
	uint32_t count;
	uint32_t serial;
	uint64_t bytes;
	uint64_t vram;
};

/* No event becomes more than one step of its own and one submission, nor more than one use. */
static int script_reserve(struct sim_script *script, const struct trace *trace)
{
	script->max_id = trace->max_id;
	script->steps = calloc(2 * trace->count + 1, sizeof(*script->steps));
	script->uses = calloc(trace->count + 1, sizeof(*script->uses));
	script->next = calloc(trace->count + 1, sizeof(*script->next));
	script->sizes = calloc(trace->max_id + 1ul, sizeof(*script->sizes));
	return script->steps && script->uses && script->next && script->sizes ? 0 : -ENOMEM;
}

static void step_add(struct sim_script *script, enum sim_type type, const uint32_t *ids,
		     uint32_t count)
{
	script->steps[script->nr_steps++] = (struct sim_step){
		.type = type,
		.count = count,
		.first = script->nr_uses,
	};
	memcpy(script->uses + script->nr_uses, ids, count * sizeof(*ids));
	script->nr_uses += count;
}

static void submission_end(struct writer *w)
{
	if (w->count)
		step_add(w->script, SIM_SUBMIT, w->pending, w->count);
	w->serial++;
	w->count = 0;
	w->bytes = 0;
}

static void submission_add(struct writer *w, uint32_t id)
{
	uint64_t size = w->script->sizes[id];

	if (w->member[id] == w->serial)
		return;
	if (w->bytes + size > w->vram / REPLAY_BATCH_PART)
		submission_end(w);
	w->member[id] = w->serial;
	w->bytes += size;
	if (size)
		w->pending[w->count++] = id;
}

/* The CPU touches or frees it, after what was to use it. */
static void step_alone(struct writer *w, enum sim_type type, uint32_t id)
{
	if (w->member[id] == w->serial)
		submission_end(w);
	if (w->script->sizes[id])
		step_add(w->script, type, &id, 1);
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
		submission_add(w, event->id);
		break;
	case TRACE_WRITE:
	case TRACE_READ:
		step_alone(w, SIM_TOUCH, event->id);
		break;
	case TRACE_FREE:
		step_alone(w, SIM_FREE, event->id);
		break;
	case TRACE_FRAME:
		submission_end(w);
		break;
	}
}

/* The CPU's touches bring nothing to VRAM, so that no submission waits for them. */
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
			script->next[at] = coming[script->uses[at]];
			if (step->type != SIM_TOUCH)
				coming[script->uses[at]] = n;
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
	ret = w.pending && w.member ? script_reserve(script, trace) : -ENOMEM;
	for (n = 0; !ret && n < trace->count; n++)
		script_event(&w, &trace->events[n]);
	if (!ret) {
		submission_end(&w);
		ret = script_look_ahead(script);
	}
	free(w.pending);
	free(w.member);
	if (ret)
		sim_script_free(script);
	return ret;
}

void sim_script_free(struct sim_script *script)
{
	free(script->steps);
	free(script->uses);
	free(script->next);
	free(script->sizes);
	memset(script, 0, sizeof(*script));
}
