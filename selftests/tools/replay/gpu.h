/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The GPU's part of a replay: an address space in which every allocation has its address, a
 * context, and a few slots, each with the program of one batch and what its reads must find.
 */
#ifndef PAGODA_GPU_H
#define PAGODA_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/pagoda_commands.h"

/* A read of all of an allocation by the GPU; @expected is the hash it must find. */
struct gpu_read {
	uint64_t expected;
	uint64_t size;
	uint32_t id;
};

/*
 * @reads, @results: the @count reads, and the hashes that they found, which the GPU writes at
 *	@address
 */
struct gpu_slot {
	struct pagoda_program program;
	struct gpu_read *reads;
	uint64_t *results;
	uint64_t address;
	uint32_t count;
};

/* @slots: @nr_slots of them; a batch uses the slot of its point modulo @nr_slots */
struct gpu {
	struct gpu_slot *slots;
	uint32_t nr_slots;
	uint64_t next;
	void *map;
	uint32_t vm;
	uint32_t context;
	uint32_t memory;
	int fd;
};

/* Returns 1 if the device has page tables and executes commands, 0 if not, or a negative errno. */
int gpu_is_there(int fd);

/* Allocates slots, without programs; to be freed with gpu_close(). Returns 0 or -ENOMEM. */
int gpu_init(struct gpu *gpu, uint32_t nr_slots);
/* Makes VM, context and the slots' programs, after gpu_init(). Returns 0 or a negative errno. */
int gpu_open(struct gpu *gpu, int fd);
void gpu_close(struct gpu *gpu);

/*
 * Maps all @size bytes of an allocation in the VM, until @handle or @gpu is closed, at *@address,
 * which no other allocation ever gets. Returns 0 or a negative errno.
 */
int gpu_bind(struct gpu *gpu, uint32_t handle, uint64_t size, uint64_t *address);

/* Empties a slot whose batch is done. */
void gpu_begin(struct gpu_slot *slot);
/* Returns whether another read or write fits into the slot. */
bool gpu_has_room(const struct gpu_slot *slot);
void gpu_read(struct gpu_slot *slot, const struct gpu_read *read, uint64_t address);
/*
 * Appends commands that fill @size bytes at @address with @word, then the 8 bytes at
 * @address + @offset with @mark.
 */
void gpu_write(struct gpu_slot *slot, uint64_t address, uint64_t size, uint32_t word,
	       uint64_t offset, uint32_t mark);
/*
 * Submits the slot's program as a job that lists @count allocations, @entries, and signals @point
 * of @syncobj. Returns 0 or a negative errno.
 */
int gpu_submit(struct gpu *gpu, const struct gpu_slot *slot,
	       const struct drm_pagoda_submit_entry *entries, uint32_t count, uint32_t syncobj,
	       uint64_t point);

/* Unless the context's state is 0, prints to stderr the state and the job that faulted. */
void gpu_explain(const struct gpu *gpu);

#endif
