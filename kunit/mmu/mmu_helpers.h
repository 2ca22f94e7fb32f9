/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Rig for tests of mmu/ without the rest of the driver: the device is the engine of drivers/vgpu,
 * and the rig itself is the owner that allocates page tables. Operations that mmu/ emits are built
 * into paging buffers, which the engine executes. Then the engine's translations are compared with
 * the plain list, which has the expected mapping of each page. Data is never accessed, so only page
 * tables have memory.
 */
#ifndef PAGODA_KUNIT_MMU_HELPERS_H
#define PAGODA_KUNIT_MMU_HELPERS_H

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/xarray.h>
#include "../drivers/vgpu/engine/internal.h"
#include "mmu/mmu.h"

#define MMU_RIG_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
#define MMU_RIG_TABLES		SZ_4M			/* bytes for tables in each mmu_pool */
#define MMU_RIG_VRAM		SZ_1G
#define MMU_RIG_BUS		0x100000000ull		/* first bus address of tables */
#define MMU_RIG_DATA_BUS	0x200000000ull		/* first bus address of data */
#define MMU_RIG_SPACES		4
#define MMU_RIG_SEEN		256

/**
 * struct mmu_variant - Device and update mode of a rig
 * @mode: enum virtio_pagoda_update_mode
 * @levels: Number of levels of page tables
 * @dual: The device has dual PTEs: a level-1 entry may lead to two leaf tables, of 4 KiB and of
 *	64 KiB pages
 * @not_cached: The device declares that its TLB doesn't cache invalid entries
 */
struct mmu_variant {
	u32 mode;
	u32 levels;
	bool dual;
	bool not_cached;
};

/**
 * struct mmu_pool - Memory for tables in a segment
 * @memory: MMU_RIG_TABLES bytes, which the engine sees at VRAM offset 0, or at bus address
 *	MMU_RIG_BUS
 * @pages: struct page pointers of @memory
 * @used: A bit for each page of @memory, set while the page is allocated
 */
struct mmu_pool {
	u8 *memory;
	struct page **pages;
	unsigned long *used;
};

/**
 * struct mmu_seen - An operation that mmu/ emitted
 * @op: The operation; its pointers may be stale
 * @value: First value of an UPDATE_PAGE_TABLE, else 0
 * @suspended: Contexts were suspended when the operation was emitted
 */
struct mmu_seen {
	struct pagoda_paging_op op;
	u64 value;
	bool suspended;
};

/*
 * struct mmu_rig - The device, the owner of tables, and the expected mappings
 * @hold: Set by tests: operations are built into a buffer, which isn't executed
 * @spread: Set by tests: buffers have random sizes
 * @fail_alloc: Set by tests: table allocation that fails, counted from now: 1 = the next one, 0 =
 *	none
 * @suspended: Number of suspend() calls without their resume() so far
 * @nr_suspends: Number of suspend() calls
 * @nr_roots: Number of set_root() calls that gave a root, except for the paging process
 * @roots_while_running: Number of set_root() calls that replaced the root of a space while no
 *	contexts were suspended
 * @has_root: A bit for each space that has a root
 * @freed_with: Fence of the last table_free()
 * @unflushed: An entry of the paging space changed since the last flush of that space
 * @encoded: Bytes of the packets built since mmu_rig_begin()
 * @maps: The plain list of each space: pages' expected mappings, in pieces, see mmu_rig_page()
 * @piece: Piece of a plain list that was used last; NULL = none
 * @piece_space: Space of @piece
 * @piece_nr: Index of @piece in @maps
 */
struct mmu_rig {
	struct kunit *test;
	struct mmu_variant variant;
	struct rnd_state rnd;
	struct pagoda_paging_limits limits;
	struct pagoda_engine engine;
	struct pagoda_mmu *mmu;
	struct pagoda_space *spaces[MMU_RIG_SPACES];
	struct xarray maps[MMU_RIG_SPACES];
	struct mmu_rig_piece *piece;
	u32 piece_space;
	u64 piece_nr;
	struct mmu_pool vram;
	struct mmu_pool system;
	struct pagoda_emit emit;
	u8 *data;
	u8 *priv;
	struct pagoda_paging_buffer buf;
	u32 buffer_size;
	bool hold;
	bool spread;
	u32 fail_alloc;
	u32 nr_tables;
	u32 nr_allocs;
	int suspended;
	u32 nr_suspends;
	u32 nr_roots;
	u32 roots_while_running;
	unsigned long has_root;
	struct dma_fence *freed_with;
	bool unflushed;
	u64 encoded;
	u32 packets;
	struct mmu_seen *seen;
	u32 nr_seen;
};

/* Base of the made-up CPU addresses of data in system memory, which is never accessed. */
extern u8 mmu_rig_nothing;

struct mmu_rig *mmu_rig_make(struct kunit *test, const struct mmu_variant *variant, u64 seed);
void mmu_rig_begin(struct mmu_rig *rig);
void mmu_rig_execute(struct mmu_rig *rig);
int mmu_rig_change(struct mmu_rig *rig, u32 space, const struct pagoda_map *maps, u32 nr_maps);
void mmu_rig_invalidate(struct mmu_rig *rig, u32 space, u64 va, u64 size);
int mmu_rig_copy(struct mmu_rig *rig, u32 space, const struct pagoda_space_copy *copies, u32 nr);
void mmu_rig_evict(struct mmu_rig *rig, u32 space, void *cookie);
int mmu_rig_restore(struct mmu_rig *rig, u32 space);
void mmu_rig_scribble(struct mmu_rig *rig);
int mmu_rig_rebuild(struct mmu_rig *rig, u32 space);
void *mmu_rig_any_table(struct mmu_rig *rig, u32 space, bool root);
void *mmu_rig_page(struct mmu_rig *rig, u32 space, u64 page);
void mmu_rig_set_page(struct mmu_rig *rig, u32 space, u64 page, void *entry);
void mmu_rig_forget_pages(struct mmu_rig *rig, u32 space);
void mmu_rig_expect(struct mmu_rig *rig, u32 space, const struct pagoda_map *map);
void mmu_rig_check(struct mmu_rig *rig, u32 space, u64 va, u64 size);
u32 mmu_rig_count(struct mmu_rig *rig, u32 opcode, u32 space);
u32 mmu_rig_access(struct mmu_rig *rig, u32 space, u64 va, u32 access, u64 *segment_address);

static inline struct pagoda_map mmu_map_vram(const struct pagoda_map_extent *extent, u64 va)
{
	return (struct pagoda_map) {
		.va = va,
		.size = extent->size,
		.kind = PAGODA_MAP_MEMORY,
		.allocation = 7,
		.extents = extent,
		.nr_extents = 1,
	};
}

#endif
