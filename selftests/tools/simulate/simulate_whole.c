// SPDX-License-Identifier: GPL-2.0
/*
 * What an optimum would move that isn't bound to the driver's rules: the measure for the policy in
 * "ratio". The optimum looks at one access at a time, so that only the accessed allocation has to
 * be in VRAM, and knows when each allocation is accessed next.
 *
 *	- Accesses are the GPU's, and the CPU's writes, which go to VRAM, too. What has no content
 *	  yet, and what the CPU writes as a whole, comes for nothing.
 *	- What was written since it came costs its bytes when it leaves, but not if it is freed
 *	  before it is accessed again. What wasn't written leaves for nothing.
 *	- What is accessed again last leaves. This is tried twice, the second time with what was
 *	  written counting as accessed in half the time: the better result is taken.
 *	- What is larger than VRAM costs its bytes with each access of the GPU: once in,
 *	  if there is content, and once out, if the GPU writes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"
#include "simulate_heap.h"

#define NEVER	(UINT64_MAX / 4)
#define FREED	(2 * NEVER)

/* An allocation. @next: index of the next access, NEVER or FREED; @has_content: was accessed */
struct item {
	uint64_t size;
	uint64_t next;
	bool resident;
	bool written;
	bool has_content;
};

struct whole {
	const struct trace *trace;
	struct item *items;
	uint64_t *next;
	struct sim_heap heap;
	uint64_t vram;
	uint64_t used;
	uint64_t moved;
	bool halves;
};

static bool is_access(const struct trace_event *event)
{
	return event->type == TRACE_USE || event->type == TRACE_WRITE;
}

/*
 * Sets @next of each access to the event that accesses the same allocation next, to NEVER, or to
 * FREED if the allocation is freed before. Returns 0 or -ENOMEM.
 */
static int look_ahead(struct whole *w)
{
	const struct trace *trace = w->trace;
	uint64_t *coming = malloc((trace->max_id + 1ul) * sizeof(*coming));
	uint32_t id;
	size_t n;

	if (!coming)
		return -ENOMEM;
	for (id = 0; id <= trace->max_id; id++)
		coming[id] = NEVER;
	for (n = trace->count; n--;) {
		const struct trace_event *event = &trace->events[n];

		if (event->type == TRACE_FREE) {
			coming[event->id] = FREED;
		} else if (is_access(event)) {
			w->next[n] = coming[event->id];
			coming[event->id] = n;
		}
	}
	free(coming);
	return 0;
}

static void evict(struct whole *w)
{
	struct sim_entry entry;
	struct item *it;

	do {
		entry = sim_heap_pop(&w->heap);
		it = entry.item;
	} while (!it->resident || it->next != entry.next);
	it->resident = false;
	w->used -= it->size;
	if (it->written && it->next != FREED)
		w->moved += it->size;
}

static int access_one(struct whole *w, const struct trace_event *event, size_t at)
{
	struct item *it = &w->items[event->id];
	bool by_cpu = event->type == TRACE_WRITE, writes = by_cpu || event->flag;
	bool replaced = by_cpu && trace_pages(event->length) >= it->size;
	struct sim_entry entry = { .item = it, .next = w->next[at], .key = w->next[at] };

	if (it->size > w->vram) {
		w->moved += it->has_content && !by_cpu ? it->size : 0;
		w->moved += writes && !by_cpu ? it->size : 0;
		it->has_content = true;
		return 0;
	}
	it->next = w->next[at];
	if (!it->resident) {
		while (w->used + it->size > w->vram)
			evict(w);
		w->moved += it->has_content && !replaced ? it->size : 0;
		w->used += it->size;
		it->resident = true;
		it->written = false;
	}
	it->has_content = true;
	it->written |= writes;
	if (w->halves && it->written && it->next < NEVER)
		entry.key = at + (it->next - at) / 2;
	return sim_heap_push(&w->heap, &entry);
}

static int run(struct whole *w)
{
	const struct trace *trace = w->trace;
	size_t n;
	int ret = 0;

	for (n = 0; !ret && n < trace->count; n++) {
		const struct trace_event *event = &trace->events[n];
		struct item *it = &w->items[event->id];

		if (event->type == TRACE_ALLOC) {
			it->size = trace_pages(event->length);
		} else if (event->type == TRACE_FREE) {
			w->used -= it->resident ? it->size : 0;
			it->resident = false;
			it->has_content = false;
		} else if (is_access(event)) {
			ret = access_one(w, event, n);
		}
	}
	return ret;
}

static int run_once(const struct trace *trace, uint64_t vram, bool halves, uint64_t *moved)
{
	struct whole w = { .trace = trace, .vram = vram, .halves = halves };
	int ret = -ENOMEM;

	w.items = calloc(trace->max_id + 1ul, sizeof(*w.items));
	w.next = calloc(trace->count + 1, sizeof(*w.next));
	if (w.items && w.next)
		ret = look_ahead(&w);
	if (!ret)
		ret = run(&w);
	*moved = w.moved;
	free(w.items);
	free(w.next);
	free(w.heap.entries);
	return ret;
}

int sim_whole(const struct trace *trace, uint64_t vram, uint64_t *moved)
{
	uint64_t other;
	int ret = run_once(trace, vram, false, moved);

	if (!ret)
		ret = run_once(trace, vram, true, &other);
	if (!ret && other < *moved)
		*moved = other;
	return ret;
}
