/* SPDX-License-Identifier: GPL-2.0 */
/* A GPU engine on memory of its own, and packets for it. */
#ifndef PAGODA_KUNIT_ENGINE_HELPERS_H
#define PAGODA_KUNIT_ENGINE_HELPERS_H

#include <kunit/test.h>

#include "../drivers/vgpu/engine/engine.h"
#include "prove.h"

#define ENGINE_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
#define ENGINE_PAGES		64u	/* of VRAM, of system memory, of the aperture */
#define ENGINE_BYTES		(ENGINE_PAGES * ENGINE_PAGE)
#define ENGINE_BUS		0x100000000ull
#define ENGINE_HOLE		48u	/* system page that isn't there */
#define ENGINE_INVALID		60u	/* VRAM page published as unusable */
#define ENGINE_BUFFER		16384u
#define ENGINE_MAX_RUNS		64u

/**
 * struct engine_fixture - An engine, its memory and guards around all of it
 * @engine: Engine
 * @invalid: The unusable page of VRAM
 * @memory: Guard, VRAM, guard, system memory, guard, aperture, guard; a page each guard
 * @before: Copy of @memory that engine_snapshot() made
 * @vram: Inside of @memory
 * @system: Inside of @memory
 * @spans: Room for runs that were looked up
 * @span_limit: Most pages that system memory is contiguous for, 0 = all
 * @buffer: Buffer under construction
 * @size: Bytes in it
 * @fences: Events the engine sent
 * @fence_value: Value of the last
 */
struct engine_fixture {
	struct pagoda_engine engine;
	struct pagoda_engine_range invalid;
	u8 *memory;
	u8 *before;
	u8 *vram;
	u8 *system;
	u8 *spans[ENGINE_MAX_RUNS];
	u32 span_limit;
	u8 *buffer;
	u32 size;
	u32 fences;
	u64 fence_value;
};

/**
 * struct engine_side - One side of a transfer, before it is a packet
 * @segment: enum virtio_pagoda_segment
 * @address: Offset in the segment
 * @generation: Of the aperture's pages
 * @nr_runs: Runs of system memory, of one page each
 * @pages: Number of each run's page
 */
struct engine_side {
	u32 segment;
	u64 address;
	u32 generation;
	u32 nr_runs;
	const u8 *pages;
};

struct engine_fixture *engine_fixture_init(struct kunit *test);
void engine_snapshot(struct engine_fixture *fix);
void engine_expect_unchanged(struct kunit *test, struct engine_fixture *fix, const char *what);
void engine_expect_guards(struct kunit *test, struct engine_fixture *fix, const char *what);
u8 *engine_before(struct engine_fixture *fix, const u8 *here);

u64 engine_bus(u32 page);
void *engine_packet(struct engine_fixture *fix, u16 opcode, u32 length);
void engine_add_transfer(struct engine_fixture *fix, u64 size, const struct engine_side *src,
			 const struct engine_side *dst);
void engine_add_fill(struct engine_fixture *fix, u64 address, u64 size, u32 pattern);
void engine_add_map(struct engine_fixture *fix, u16 opcode, u16 flags, u32 first, u32 nr_pages,
		    u32 page, u32 generation, bool array);
void engine_add_unmap(struct engine_fixture *fix, u32 first, u32 nr_pages, u32 dummy);
void engine_add_physical(struct engine_fixture *fix, u16 opcode, u32 segment, u64 address,
			 u32 size);
void engine_add_signal(struct engine_fixture *fix, u32 segment, u64 address, u64 value,
		       u16 flags);
void engine_add_notify(struct engine_fixture *fix);
void engine_add_valid(struct engine_fixture *fix, u16 opcode);

enum pagoda_engine_outcome engine_run(struct engine_fixture *fix, struct pagoda_engine_run *run,
				      enum pagoda_engine_queue kind, u32 start);
void engine_expect_done(struct kunit *test, struct engine_fixture *fix);
void engine_expect_fault(struct kunit *test, struct engine_fixture *fix, u32 reason,
			 const char *what);

#endif
