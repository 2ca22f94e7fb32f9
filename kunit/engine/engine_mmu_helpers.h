/* SPDX-License-Identifier: GPL-2.0 */
/* A GPU engine with page tables in every shape, which a test writes itself. */
#ifndef PAGODA_KUNIT_ENGINE_MMU_HELPERS_H
#define PAGODA_KUNIT_ENGINE_MMU_HELPERS_H

#include <kunit/test.h>
#include <linux/sizes.h>

#include "../drivers/vgpu/engine/internal.h"
#include "rig/prove.h"

#define MMU_PAGE	PAGODA_PAGE
#define MMU_VRAM	SZ_8M
#define MMU_SYSTEM	SZ_1M
#define MMU_BUS		0x100000000ull
#define MMU_APERTURE	32u		/* pages; all mapped, in reverse */
#define MMU_TABLES	SZ_2M		/* bytes of VRAM, at its end, for tables */
#define MMU_DATA	SZ_256K		/* bytes of system memory that aren't tables */
#define MMU_INVALID	(SZ_4M + SZ_1M)	/* page of VRAM that must not be used */
#define MMU_SPACES	3u
#define MMU_TLBS	3u		/* of the paging queue and two others */
#define MMU_BUFFER	SZ_16K

/**
 * struct mmu_shape - Shape of page tables
 * @levels: Number of levels
 * @dual: Entries of level 1 have two words
 * @segment: Segment of the tables
 * @va: First address that tests use; a multiple of 1 GiB, except with two levels
 */
struct mmu_shape {
	u32 levels;
	bool dual;
	u32 segment;
	u64 va;
};

#define MMU_SHAPES	7
extern const struct mmu_shape mmu_shapes[MMU_SHAPES];

/**
 * struct mmu_fixture - An engine with address spaces
 * @engine: Engine
 * @shape: Shape of its tables
 * @invalid: The unusable page of VRAM
 * @spaces: Address spaces
 * @memory: Guard, VRAM, guard, system memory, guard
 * @before: Copy of @memory, made by mmu_snapshot()
 * @vram: VRAM, inside of @memory
 * @system: System memory, inside of @memory
 * @next_table: Bytes of the memory for tables that are in use
 * @buffer: Buffer under construction
 * @size: Bytes in @buffer
 * @notices: Number of notices
 * @fence: Called for each fence event, may be NULL
 * @idle: Called when the engine waits, may be NULL
 * @priv: First argument of @fence and @idle
 */
struct mmu_fixture {
	struct pagoda_engine engine;
	const struct mmu_shape *shape;
	struct pagoda_engine_range invalid;
	struct pagoda_engine_space spaces[MMU_SPACES];
	u8 *memory;
	u8 *before;
	u8 *vram;
	u8 *system;
	u64 next_table;
	u8 *buffer;
	u32 size;
	u32 notices;
	void (*fence)(void *priv, const struct pagoda_engine_run *run, u64 address, u64 value);
	void (*idle)(void *priv, const struct pagoda_engine_run *run);
	void *priv;
};

struct mmu_fixture *mmu_fixture_init(struct kunit *test);
void mmu_shape_set(struct kunit *test, struct mmu_fixture *fix, const struct mmu_shape *shape);
void mmu_expect_guards(struct kunit *test, struct mmu_fixture *fix);
void mmu_snapshot(struct mmu_fixture *fix);
void mmu_expect_unchanged(struct kunit *test, struct mmu_fixture *fix, const char *what);

u64 mmu_entry(u32 segment, u64 address, u64 flags);
u64 mmu_table_alloc(struct mmu_fixture *fix);
__le64 *mmu_table(struct mmu_fixture *fix, u64 address);
__le64 *mmu_word(struct mmu_fixture *fix, u32 space, u64 va, u32 level, bool page_64k);
void mmu_map(struct mmu_fixture *fix, u32 space, u64 va, u64 page_size, u64 entry);
u8 *mmu_memory(struct mmu_fixture *fix, u32 segment, u64 address);

u32 mmu_span(struct mmu_fixture *fix, u32 tlb, u32 space, u64 va, u64 want, u32 access,
	     struct pagoda_virtual_span *span, struct pagoda_engine_fault *fault);
u8 *mmu_reach(struct mmu_fixture *fix, u32 tlb, u32 space, u64 va);
void mmu_expect_refused(struct kunit *test, struct mmu_fixture *fix, u64 va, u32 access,
			u32 reason, u32 level, const char *what);

void *mmu_packet(struct mmu_fixture *fix, u16 opcode, u32 length);
struct virtio_pagoda_virtual_transfer *mmu_add_transfer(struct mmu_fixture *fix, u64 src, u64 dst,
							u64 size, u32 direction, u16 flags);
struct virtio_pagoda_virtual_fill *mmu_add_fill(struct mmu_fixture *fix, u64 va, u64 size,
						u32 pattern);
struct virtio_pagoda_update_page_table *mmu_add_update(struct mmu_fixture *fix, u64 table,
						       u32 level, u32 first, u32 nr_entries,
						       u32 nr_values, u16 flags);
struct virtio_pagoda_flush_tlb *mmu_add_flush(struct mmu_fixture *fix, u32 space, u64 start,
					      u64 end);
struct virtio_pagoda_copy_range *mmu_add_copy(struct mmu_fixture *fix, u32 nr_ranges);
enum pagoda_engine_outcome mmu_execute(struct mmu_fixture *fix, struct pagoda_engine_run *run);
void mmu_expect_done(struct kunit *test, struct mmu_fixture *fix);
void mmu_expect_fault(struct kunit *test, struct mmu_fixture *fix, u32 reason, const char *what);

#endif
