// SPDX-License-Identifier: GPL-2.0
/* A binary heap of entries for allocations: the entry with the highest key comes out first. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "simulate_heap.h"

int sim_heap_push(struct sim_heap *heap, const struct sim_entry *entry)
{
	size_t at = heap->count, up;

	if (heap->count == heap->capacity) {
		size_t capacity = heap->capacity ? 2 * heap->capacity : 4096;
		void *entries = realloc(heap->entries, capacity * sizeof(*heap->entries));

		if (!entries)
			return -ENOMEM;
		heap->entries = entries;
		heap->capacity = capacity;
	}
	for (heap->count++; at; at = up) {
		up = (at - 1) / 2;
		if (heap->entries[up].key >= entry->key)
			break;
		heap->entries[at] = heap->entries[up];
	}
	heap->entries[at] = *entry;
	return 0;
}

struct sim_entry sim_heap_pop(struct sim_heap *heap)
{
	struct sim_entry top = heap->entries[0], last = heap->entries[--heap->count];
	size_t at = 0, down;

	for (; (down = 2 * at + 1) < heap->count; at = down) {
		if (down + 1 < heap->count && heap->entries[down + 1].key > heap->entries[down].key)
			down++;
		if (last.key >= heap->entries[down].key)
			break;
		heap->entries[at] = heap->entries[down];
	}
	heap->entries[at] = last;
	return top;
}
