/* SPDX-License-Identifier: GPL-2.0 */
/* A heap by which optimums, which know next uses, find the allocation that should leave VRAM. */
#ifndef PAGODA_SIMULATE_HEAP_H
#define PAGODA_SIMULATE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * @item: an allocation; @next: the allocation's next use when the entry was added; the entry is out
 *	of date if the next use has changed. @key: decides the order
 */
struct sim_entry {
	void *item;
	uint64_t key;
	uint64_t next;
};

/* @entries: @count are used, of room for @capacity; the user of the heap frees them */
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
