/* SPDX-License-Identifier: GPL-2.0 */
/* A heap of what is in VRAM, by the next use, for optimums, which know that. */
#ifndef PAGODA_SIMULATE_HEAP_H
#define PAGODA_SIMULATE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * @item: an allocation; @next: the next use of it when the entry was added; the entry is out of
 *	date if that has changed. @key: decides the order
 */
struct sim_entry {
	void *item;
	uint64_t key;
	uint64_t next;
};

/* @entries: @count of them are used, with room for @capacity; freed by the caller */
struct sim_heap {
	struct sim_entry *entries;
	size_t count;
	size_t capacity;
};

/* Adds an entry. Returns 0 or -ENOMEM. */
int sim_heap_push(struct sim_heap *heap, const struct sim_entry *entry);

/* Removes and returns an entry with the highest key; the heap must not be empty. */
struct sim_entry sim_heap_pop(struct sim_heap *heap);

#endif
