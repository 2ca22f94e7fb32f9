/* SPDX-License-Identifier: GPL-2.0 */
/* A GPU engine, and page tables of several shapes for it, which tests write by these functions. */
#ifndef PAGODA_KUNIT_ENGINE_MMU_HELPERS_H
#define PAGODA_KUNIT_ENGINE_MMU_HELPERS_H

#include <linux/sizes.h>

#include "../drivers/vgpu/engine/internal.h"
#include "engine_helpers.h"

#define MMU_PAGE	PAGODA_PAGE
#define MMU_VRAM	SZ_8M
#define MMU_SYSTEM	SZ_1M
#define MMU_APERTURE	32u		/* pages; mapped to the first system pages, in reverse */
#define MMU_TABLES	SZ_2M		/* bytes of VRAM, at its end, for tables */
#define MMU_DATA	SZ_256K		/* bytes of system memory in front of the tables' memory */
#define MMU_INVALID	(SZ_4M + SZ_1M)	/* offset of the unusable page of VRAM */

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

struct engine_fixture *mmu_fixture_init(struct kunit *test);
int mmu_suite_init(struct kunit *test);
void mmu_shape_set(struct kunit *test, struct engine_fixture *fix, const struct mmu_shape *shape);

u64 mmu_entry(u32 segment, u64 address, u64 flags);
u64 mmu_table_alloc(struct engine_fixture *fix);
__le64 *mmu_table(struct engine_fixture *fix, u64 address);
__le64 *mmu_word(struct engine_fixture *fix, u32 space, u64 va, u32 level, bool page_64k);
void mmu_map(struct engine_fixture *fix, u32 space, u64 va, u64 page_size, u64 entry);
u8 *mmu_memory(struct engine_fixture *fix, u32 segment, u64 address);

u32 mmu_span(struct engine_fixture *fix, u32 tlb, u32 space, u64 va, u64 want, u32 access,
	     struct pagoda_virtual_span *span, struct pagoda_engine_fault *fault);
u8 *mmu_reach(struct engine_fixture *fix, u32 tlb, u32 space, u64 va);
void mmu_expect_refused(struct kunit *test, struct engine_fixture *fix, u64 va, u32 access,
			u32 reason, u32 level, const char *what);

struct virtio_pagoda_update_page_table *mmu_add_update(struct engine_fixture *fix, u64 table,
						       u32 level, u32 first, u32 nr_entries,
						       u32 nr_values, u16 flags);

#endif
