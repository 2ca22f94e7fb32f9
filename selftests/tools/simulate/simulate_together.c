// SPDX-License-Identifier: GPL-2.0
/*
 * Several programs at once: their frames in turns, as one trace. Each program begins a little later
 * than the one before, so that a program and its copy aren't in step, and frees its allocations
 * when its trace ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

/* Turns by which each program begins later than the one before. */
#define LATER	17

/*
 * A program. @ids: by ID in the program's trace, the ID in the merged trace; 0 = not allocated
 * @at: index of the next event in the program's trace
 */
struct program {
	const struct trace *trace;
	uint32_t *ids;
	size_t at;
};

struct merger {
	struct trace *merged;
	uint8_t *clients;
	struct program programs[SIM_CLIENTS];
	unsigned int count;
};

static int add(struct merger *m, unsigned int client, const struct trace_event *event)
{
	struct program *program = &m->programs[client];
	struct trace_event copy = *event;

	if (event->type == TRACE_ALLOC) {
		program->ids[event->id] = m->merged->max_id + 1;
		m->clients[program->ids[event->id]] = client;
	}
	if (event->type != TRACE_FRAME)
		copy.id = program->ids[event->id];
	if (event->type == TRACE_FREE)
		program->ids[event->id] = 0;
	return trace_add(m->merged, &copy);
}

static int add_exit(struct merger *m, unsigned int client)
{
	const struct trace_event end = { .type = TRACE_FRAME };
	struct program *program = &m->programs[client];
	int ret = add(m, client, &end);
	uint32_t id;

	for (id = 1; !ret && id <= program->trace->max_id; id++) {
		const struct trace_event event = { .type = TRACE_FREE, .id = id };

		if (program->ids[id])
			ret = add(m, client, &event);
	}
	return ret;
}

/*
 * Adds a program's events up to the end of a frame, and what add_exit() adds if its trace has
 * ended. Returns 0 or -ENOMEM.
 */
static int add_frame(struct merger *m, unsigned int client)
{
	struct program *program = &m->programs[client];
	const struct trace *trace = program->trace;
	enum trace_type type = TRACE_ALLOC;
	int ret = 0;

	while (!ret && program->at < trace->count && type != TRACE_FRAME) {
		type = trace->events[program->at].type;
		ret = add(m, client, &trace->events[program->at++]);
	}
	return ret || program->at < trace->count ? ret : add_exit(m, client);
}

static int add_turns(struct merger *m)
{
	unsigned int client, running = m->count, turn;
	int ret = 0;

	for (turn = 0; !ret && running; turn++) {
		for (client = 0; !ret && client < m->count; client++) {
			struct program *program = &m->programs[client];

			if (turn < client * LATER || program->at == program->trace->count)
				continue;
			ret = add_frame(m, client);
			running -= program->at == program->trace->count;
		}
	}
	return ret;
}

int sim_together_make(struct trace *merged, uint8_t **clients, const struct trace * const *traces,
		      unsigned int count)
{
	struct merger m = { .merged = merged, .count = count };
	size_t ids = 1;
	unsigned int n;
	int ret = 0;

	memset(merged, 0, sizeof(*merged));
	for (n = 0; n < count; n++)
		ids += traces[n]->max_id;
	m.clients = calloc(ids, 1);
	if (!m.clients)
		return -ENOMEM;
	for (n = 0; n < count; n++) {
		m.programs[n].trace = traces[n];
		m.programs[n].ids = calloc(traces[n]->max_id + 1ul, sizeof(uint32_t));
		if (!m.programs[n].ids)
			ret = -ENOMEM;
	}
	if (!ret)
		ret = add_turns(&m);
	for (n = 0; n < count; n++)
		free(m.programs[n].ids);
	*clients = m.clients;
	if (ret) {
		free(m.clients);
		trace_unload(merged);
	}
	return ret;
}
