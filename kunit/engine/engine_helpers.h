/* SPDX-License-Identifier: GPL-2.0 */
/* A GPU engine with memory of its own, and functions that build and execute packets for it. */
#ifndef PAGODA_KUNIT_ENGINE_HELPERS_H
#define PAGODA_KUNIT_ENGINE_HELPERS_H

#include <kunit/test.h>

#include "../drivers/vgpu/engine/engine.h"
#include "rig/alloc.h"
#include "rig/prove.h"

#define ENGINE_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
#define ENGINE_PAGES		64u	/* pages of each: VRAM, system memory, aperture */
#define ENGINE_BYTES		(ENGINE_PAGES * ENGINE_PAGE)
#define ENGINE_BUS		0x100000000ull
#define ENGINE_HOLE		48u	/* system page without memory */
#define ENGINE_INVALID		60u	/* VRAM page published as unusable */
#define ENGINE_BUFFER		16384u
#define ENGINE_MAX_RUNS		64u
/* Operations of a device MMU, which the engine of most tests doesn't have. */
#define ENGINE_MMU_OPS \
	(BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_MMU)) | \
	 BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UNMAP_MMU)))
#define ENGINE_RANGES		2u	/* swizzling ranges */
#define ENGINE_WINDOW		0x20000u	/* bytes of the window of each range */
#define ENGINE_SPACES		4u
#define ENGINE_TLBS		3u	/* TLBs of the paging queue and of two engines */
#define ENGINE_GUARDS		5u
/* Address space 0: pages of VRAM, then of system memory, in 4 KiB pages. */
#define ENGINE_VA		0x40000000ull
#define ENGINE_VA_SYSTEM	(ENGINE_VA + ENGINE_BYTES)
#define ENGINE_ROOT		61u	/* system page of space 0's root; its other tables follow */

/* What differs between the fixtures of engines. */
struct engine_kind {
	u64 vram;	/* bytes */
	u64 system;	/* bytes */
	u64 invalid;	/* first byte of the page of VRAM that is published as unusable */
	u64 gap;	/* offset at which system memory stops being contiguous */
	u64 gap_size;	/* bytes from @gap on without memory */
	u32 aperture;	/* pages */
	u32 window;	/* bytes of the window of each swizzling range, 0 = no ranges */
	u32 max_runs;
};

struct mmu_shape;

/**
 * struct engine_fixture - An engine, its memory, and guards around each part of the memory
 * @engine: Engine
 * @kind: Sizes of the memory
 * @invalid: The unusable page of VRAM
 * @memory: Guard, VRAM, guard, system memory, guard, aperture, guard, windows, guard; each guard
 *	is a page
 * @memory_size: Bytes of @memory
 * @guards: First byte of each guard in @memory
 * @ranges: Swizzling ranges, with their windows one after another
 * @before: Copy of @memory, made by engine_snapshot()
 * @vram: VRAM in @memory
 * @system: System memory in @memory
 * @spaces: Address spaces; engine_fixture_init() gives only space 0 a root
 * @spans: &pagoda_engine_run.spans of each run; NULL: the engine looks memory up twice
 * @span_limit: Most pages of system memory that the engine is told are contiguous, 0 = no limit
 * @buffer: Buffer under construction
 * @size: Bytes in @buffer
 * @fences: Number of fence events
 * @fence_value: Value of the last fence event
 * @fence: Called for each fence event, may be NULL
 * @idle: Called while a WAIT waits, may be NULL
 * @priv: Pointer for use by @fence and @idle
 * @notices: Number of calls of &pagoda_engine_ops.notify
 * @notice: Head of the packet of the last such call
 * @marks: Copy of VRAM before a run, for the test in engine_execute() that pages which the run
 *	changes are marked as written; NULL = no such test
 * @shape: Shape of the page tables that mmu_shape_set() made
 * @next_table: Bytes in use of the memory for tables, for mmu_table_alloc()
 */
struct engine_fixture {
	struct pagoda_engine engine;
	const struct engine_kind *kind;
	struct pagoda_engine_range invalid;
	u8 *memory;
	size_t memory_size;
	u8 *guards[ENGINE_GUARDS];
	struct pagoda_engine_swizzling ranges[ENGINE_RANGES];
	u8 *before;
	u8 *vram;
	u8 *system;
	struct pagoda_engine_space spaces[ENGINE_SPACES];
	u8 **spans;
	u32 span_limit;
	u8 *buffer;
	u32 size;
	u32 fences;
	u64 fence_value;
	void (*fence)(struct engine_fixture *fix, const struct pagoda_engine_run *run, u64 address,
		      u64 value);
	void (*idle)(struct engine_fixture *fix);
	void *priv;
	u32 notices;
	struct virtio_pagoda_packet notice;
	u8 *marks;
	const struct mmu_shape *shape;
	u64 next_table;
};

/**
 * struct engine_side - Source or destination of a transfer
 * @segment: enum virtio_pagoda_segment
 * @address: Offset in the segment
 * @generation: Generation of the aperture's pages; 0 = not checked
 * @nr_runs: Number of runs of system memory, each of one page
 * @pages: Page number of each run
 */
struct engine_side {
	u32 segment;
	u64 address;
	u32 generation;
	u32 nr_runs;
	const u8 *pages;
};

/**
 * struct engine_mutation - A valid packet with one field changed
 * @opcode: Opcode of the packet
 * @offset: Offset of the field in the packet
 * @width: Size of the field in bytes
 * @value: New value of the field
 * @reason: Reason of the fault
 * @what: Name for messages
 */
struct engine_mutation {
	u16 opcode;
	u32 offset;
	u32 width;
	u64 value;
	u32 reason;
	const char *what;
};

#define MUTATE(OP, type, field, number, REASON) { \
		.opcode = VIRTIO_PAGODA_OP_##OP, \
		.offset = offsetof(struct virtio_pagoda_##type, field), \
		.width = sizeof_field(struct virtio_pagoda_##type, field), \
		.value = number, \
		.reason = VIRTIO_PAGODA_FAULT_##REASON, \
		.what = #OP " " #field "=" #number, \
	}

/* A mutation of field @field of run @index, from 0, behind the packet. */
#define MUTATE_RUN(OP, type, index, field, number, REASON) { \
		.opcode = VIRTIO_PAGODA_OP_##OP, \
		.offset = sizeof(struct virtio_pagoda_##type) + \
			  (index) * sizeof(struct virtio_pagoda_run) + \
			  offsetof(struct virtio_pagoda_run, field), \
		.width = sizeof_field(struct virtio_pagoda_run, field), \
		.value = number, \
		.reason = VIRTIO_PAGODA_FAULT_##REASON, \
		.what = #OP " run " #index " " #field "=" #number, \
	}

struct engine_fixture *engine_fixture_make(struct kunit *test, const struct engine_kind *kind);
struct engine_fixture *engine_fixture_init(struct kunit *test);
int engine_suite_init(struct kunit *test);
void engine_snapshot(struct engine_fixture *fix);
void engine_expect_unchanged(struct kunit *test, struct engine_fixture *fix, const char *what);
void engine_expect_guards(struct kunit *test, struct engine_fixture *fix, const char *what);
u8 *engine_before(struct engine_fixture *fix, const u8 *here);

u64 engine_bus(u32 page);
void *engine_packet(struct engine_fixture *fix, u16 opcode, u32 length);
void engine_add_transfer(struct engine_fixture *fix, u64 size, const struct engine_side *src,
			 const struct engine_side *dst);
void engine_layout(struct virtio_pagoda_layout *layout, u32 tiling, u32 pitch, u32 height,
		   u32 mips);
struct virtio_pagoda_special_lock_transfer *
engine_add_lock(struct engine_fixture *fix, u64 size, const struct engine_side *src,
		const struct engine_side *dst, u16 flags);
struct virtio_pagoda_transfer *
engine_add_tiled(struct engine_fixture *fix, u64 size, const struct engine_side *src,
		 const struct engine_side *dst, u16 flags, const struct virtio_pagoda_tiled *tiled);
void engine_add_fill(struct engine_fixture *fix, u64 address, u64 size, u32 pattern);
void engine_add_map(struct engine_fixture *fix, u16 opcode, u16 flags, u32 first, u32 nr_pages,
		    u32 page, u32 generation, bool array);
void engine_add_unmap(struct engine_fixture *fix, u32 first, u32 nr_pages, u32 dummy);
void engine_add_physical(struct engine_fixture *fix, u16 opcode, u32 segment, u64 address,
			 u32 size);
void engine_add_signal(struct engine_fixture *fix, u32 segment, u64 address, u64 value,
		       u16 flags);
struct virtio_pagoda_init_context_resource *
engine_add_init_context(struct engine_fixture *fix, u64 size, u64 context,
			const struct engine_side *dst);
u8 *engine_add_update_context(struct engine_fixture *fix, u64 address, u64 size, u32 offset,
			      u32 data_size);
struct virtio_pagoda_notify_residency *engine_add_residency(struct engine_fixture *fix,
							    u16 opcode, u64 nr_pages);
struct virtio_pagoda_fence_residency *engine_add_fence_residency(struct engine_fixture *fix,
								 u32 nr_fences);
void engine_add_notify(struct engine_fixture *fix);
struct virtio_pagoda_virtual_transfer *
engine_add_virtual(struct engine_fixture *fix, u64 src, u64 dst, u64 size, u32 direction,
		   u16 flags);
struct virtio_pagoda_virtual_fill *engine_add_virtual_fill(struct engine_fixture *fix, u64 va,
							   u64 size, u32 pattern);
__le64 *engine_add_update(struct engine_fixture *fix, u32 segment, u64 table, u32 level,
			  u32 first, u32 nr_entries, u32 nr_values);
struct virtio_pagoda_flush_tlb *engine_add_flush(struct engine_fixture *fix, u32 space, u64 start,
						 u64 end);
struct virtio_pagoda_copy_range *engine_add_copy_entries(struct engine_fixture *fix,
							 u32 nr_ranges);
void engine_add_valid(struct engine_fixture *fix, u16 opcode);

enum pagoda_engine_outcome engine_execute(struct engine_fixture *fix,
					  struct pagoda_engine_run *run);
enum pagoda_engine_outcome engine_run(struct engine_fixture *fix, struct pagoda_engine_run *run,
				      enum pagoda_engine_queue kind, u32 start);
void engine_expect_done(struct kunit *test, struct engine_fixture *fix);
void engine_expect_fault(struct kunit *test, struct engine_fixture *fix, u32 reason,
			 const char *what);
void engine_expect_failure(struct kunit *test, struct engine_fixture *fix, bool middle);
void engine_expect_mutations(struct kunit *test, struct engine_fixture *fix,
			     const struct engine_mutation *mutations, u32 nr);

#endif
