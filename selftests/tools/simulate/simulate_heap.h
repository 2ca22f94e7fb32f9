/* SPDX-License-Identifier: GPL-2.0 */
/* What is in VRAM, by the next use, for optimums that know it. */
#ifndef PAGODA_SIMULATE_HEAP_H
#define PAGODA_SIMULATE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* An entry says when @item was to be used next; out of date if that isn't so any more. */
struct sim_entry {
	void *item;
	uint64_t key;
	uint64_t next;
};

/* @entries: room for @capacity, of which @count are used; freed by the caller. */
struct sim_heap {
	struct sim_entry *entries;
	size_t count;
	size_t capacity;
};

/* 0 or -ENOMEM */
int sim_heap_push(struct sim_heap *heap, const struct sim_entry *entry);

/* Takes an entry of the highest key; the heap isn't empty. */
struct sim_entry sim_heap_pop(struct sim_heap *heap);

#endif
