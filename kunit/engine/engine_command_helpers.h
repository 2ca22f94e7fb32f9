/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A context of a GPU engine with an address space that has pages of every kind, and functions that
 * build and execute the commands of the context's jobs.
 */
#ifndef PAGODA_KUNIT_ENGINE_COMMAND_HELPERS_H
#define PAGODA_KUNIT_ENGINE_COMMAND_HELPERS_H

#include "engine_mmu_helpers.h"

#define COMMAND_CONTEXT		0x700000042ull
#define COMMAND_SPACE		1u
#define COMMAND_IMAGE		SZ_64K		/* offset of the save area in VRAM */
#define COMMAND_CODE		SZ_64K		/* room for code, from 0 on in VRAM */
#define COMMAND_REGIONS		8u		/* regions, of 2 MiB each */
#define COMMAND_PAGES		(COMMAND_REGIONS * 512u)

/*
 * Regions, from &mmu_shape.va on. No page of memory is mapped at two addresses, so that the order
 * in which bytes are copied makes no difference.
 */
#define COMMAND_AT_CODE		(0ull * SZ_2M)	/* code, 4 KiB pages of VRAM */
#define COMMAND_AT_VRAM		(1ull * SZ_2M)	/* 64 pages of VRAM, scattered */
#define COMMAND_AT_SYSTEM	(2ull * SZ_2M)	/* 32 pages of system memory, scattered */
#define COMMAND_AT_APERTURE	(3ull * SZ_2M)	/* 32 pages of the aperture */
#define COMMAND_AT_64K		(4ull * SZ_2M)	/* 8 pages of 64 KiB of VRAM, scattered */
#define COMMAND_AT_2M		(5ull * SZ_2M)	/* a page of 2 MiB of VRAM */
#define COMMAND_AT_ZERO		(6ull * SZ_2M)	/* 2 MiB that read as zeros */
#define COMMAND_AT_ODD		(7ull * SZ_2M)	/* read-only, writable, no-execute, unmapped, ... */

/**
 * struct command_page - Mapping of 4 KiB of addresses
 * @here: The memory; NULL: unmapped, or zeros if @entry is valid
 * @entry: The page-table entry, 0 = none
 */
struct command_page {
	u8 *here;
	u64 entry;
};

/**
 * struct command_fixture - An engine and a context of it
 * @mmu: Engine and memory
 * @test: The test
 * @va: First address of the address space's regions
 * @pages: Mapping of each page of the regions
 * @code_size: Bytes of commands appended since the last request was prepared
 * @request: Request that command_execute() executes
 * @run: State of the last execution
 * @spans: Room in which the engine may store the memory that it looks up (&pagoda_engine_run.spans)
 * @ahead: The engine is given @spans; else it looks memory up again
 * @stop: The engine is asked to stop (&pagoda_engine_run.stop)
 * @fences: Number of fence events
 * @fence_address: Address of the last fence event
 * @fence_value: Value of the last fence event
 * @fence_seen: Value that was in memory at @fence_address at the last fence event
 * @idle: Called while a WAIT waits; NULL: @stop is set instead
 */
struct command_fixture {
	struct engine_fixture *mmu;
	struct kunit *test;
	u64 va;
	struct command_page *pages;
	u32 code_size;
	struct {
		struct virtio_pagoda_execute execute;
		struct virtio_pagoda_command_buffer buffers[VIRTIO_PAGODA_MAX_COMMAND_BUFFERS];
	} request;
	struct pagoda_engine_run run;
	u8 *spans[16];
	bool ahead;
	bool stop;
	u32 fences;
	u64 fence_address;
	u64 fence_value;
	u64 fence_seen;
	void (*idle)(struct command_fixture *fix);
};

struct command_fixture *command_fixture_init(struct kunit *test);
void command_shape_set(struct command_fixture *fix, const struct mmu_shape *shape);
void command_map(struct command_fixture *fix, u64 va, u64 page_size, u64 entry);
u8 *command_memory(struct command_fixture *fix, u64 va);
struct virtio_pagoda_context_image *command_image(struct command_fixture *fix);

void *command_add(struct command_fixture *fix, u16 opcode, u16 flags, u32 size);
void command_copy(struct command_fixture *fix, u64 src, u64 dst, u64 size);
void command_fill(struct command_fixture *fix, u64 dst, u64 size, u32 pattern);
void command_store(struct command_fixture *fix, u64 address, u64 value, u16 flags);
void command_compare(struct command_fixture *fix, u64 address, u64 value, u64 mask, u16 flags);
void command_atomic_add(struct command_fixture *fix, u64 address, u64 value, u64 result,
			u16 flags);
void command_wait(struct command_fixture *fix, u64 address, u64 value);
void command_signal(struct command_fixture *fix, u64 address, u64 value, u16 flags);
void command_branch(struct command_fixture *fix, u64 address, u64 size);
void command_compute(struct command_fixture *fix, u32 operation, u64 count, u64 dst, u64 a, u64 b,
		     u64 c);
void command_reduce(struct command_fixture *fix, u32 operation, u64 count, u64 src, u64 dst,
		    u64 initial);
void command_set_register(struct command_fixture *fix, u32 number, u64 value, u16 flags);
void command_store_register(struct command_fixture *fix, u32 number, u64 address);
struct virtio_pagoda_copy_rect *command_rect(struct command_fixture *fix, u32 width, u32 rows);
void command_surface(struct virtio_pagoda_surface *surface, u64 address, u32 tiling, u32 pitch,
		     u32 height, u32 x, u32 y);

void command_request(struct command_fixture *fix);
enum pagoda_engine_outcome command_execute(struct command_fixture *fix);
void command_expect_done(struct command_fixture *fix, u32 commands, const char *what);
void command_expect_fault(struct command_fixture *fix, u32 reason, u64 address, u32 access,
			  const char *what);

#endif
