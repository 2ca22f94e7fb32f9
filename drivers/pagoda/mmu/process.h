/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of the paging process' address space. Only process.c, scratch.c and KUnit suites include
 * this header.
 *
 * The space is divided into slots of 2 MiB, each translated by a leaf table of its own, all under
 * one level-1 table:
 *
 *	slot	holds
 *	0	nothing, ever: page 0 is never valid (C77), nor is the rest of the slot
 *	1	the system page table: maps the leaf tables of all slots, that of
 *		slot n at page n, so that GPU_VIRTUAL mode can write entries of windows
 *	2	table windows: tables of other spaces
 *	3-10	scratch source, 4 KiB entries
 *	11-18	scratch destination, 4 KiB entries
 *	19-26	scratch source, 64 KiB entries
 *	27-34	scratch destination, 64 KiB entries
 *
 * Windows for 64 KiB entries have slots of their own because without dual PTEs a leaf table has
 * entries of one size; with dual PTEs sharing addresses would gain nothing. Without 64 KiB pages
 * slots 19-34 have no tables. The entries of slot 1 and of the tables above the leaf tables are
 * written at probe and in rebuilds only.
 */
#ifndef PAGODA_MMU_PROCESS_H
#define PAGODA_MMU_PROCESS_H

#include "internal.h"

/** PAGODA_PROCESS_SPACE: number of the paging process' address space. */
#define PAGODA_PROCESS_SPACE	0u
/** PAGODA_SCRATCH_SLOTS: number of slots, of 2 MiB each, that a scratch window takes. */
#define PAGODA_SCRATCH_SLOTS	((u32)(PAGODA_SCRATCH_BYTES / PAGODA_BLOCK_BYTES))

/** enum pagoda_slot - First 2 MiB slot of each use of the paging space; number of all slots. */
enum pagoda_slot {
	PAGODA_SLOT_NEVER,
	PAGODA_SLOT_TABLES,
	PAGODA_SLOT_WINDOWS,
	PAGODA_SLOT_SCRATCH,
	PAGODA_SLOT_LARGE = PAGODA_SLOT_SCRATCH + PAGODA_SCRATCH_COUNT * PAGODA_SCRATCH_SLOTS,
	PAGODA_SLOT_COUNT = PAGODA_SLOT_LARGE + PAGODA_SCRATCH_COUNT * PAGODA_SCRATCH_SLOTS
};

/**
 * struct pagoda_process_area - Slots of one scratch window, or of all table windows
 * @slot: First slot
 * @mapped: Bytes from the start of the area whose entries may be valid
 * @large: The entries map 64 KiB each, not 4 KiB
 */
struct pagoda_process_area {
	u32 slot;
	u64 mapped;
	bool large;
};

/**
 * enum pagoda_area - Index in &pagoda_process.area
 * @PAGODA_AREA_SCRATCH: First of the scratch windows with 4 KiB entries
 * @PAGODA_AREA_LARGE: First of the scratch windows with 64 KiB entries
 * @PAGODA_AREA_WINDOWS: All windows for tables of other spaces, together
 * @PAGODA_AREA_COUNT: Number of areas
 */
enum pagoda_area {
	PAGODA_AREA_SCRATCH,
	PAGODA_AREA_LARGE = PAGODA_AREA_SCRATCH + PAGODA_SCRATCH_COUNT,
	PAGODA_AREA_WINDOWS = PAGODA_AREA_LARGE + PAGODA_SCRATCH_COUNT,
	PAGODA_AREA_COUNT
};

/**
 * struct pagoda_process - The paging process
 * @leaf: Leaf table of each slot; of size 0 for a slot without table
 * @upper: Tables above the leaves, level 1 first; that of the highest level is the root
 * @root: The root, as set_root() gets it
 * @area: Scratch windows and table windows; protected by the stream's lock
 * @flush_start: First byte whose translation changed since the last flush; protected by the
 *	stream's lock
 * @flush_end: Byte behind the last whose translation changed, 0: none did; protected by
 *	the stream's lock
 * @values: Entries for the operation being built; protected by the stream's lock
 */
struct pagoda_process {
	struct pagoda_table_memory leaf[PAGODA_SLOT_COUNT];
	struct pagoda_table_memory upper[PAGODA_PT_LEVELS - 1];
	struct pagoda_root root;
	struct pagoda_process_area area[PAGODA_AREA_COUNT];
	u64 flush_start;
	u64 flush_end;
	u64 values[VIRTIO_PAGODA_PT_ENTRIES];
};

bool pagoda_process_lookup(struct pagoda_mmu *mmu, u64 va, u64 *entry, u64 *page_size);

u32 pagoda_process_entries(const struct pagoda_process *process, u32 slot);
void pagoda_process_wipe(struct pagoda_mmu *mmu, u32 slot);
struct pagoda_paging_op pagoda_process_update(struct pagoda_mmu *mmu, u32 slot, u32 first,
					      u32 nr);

static inline u64 pagoda_slot_address(u32 slot)
{
	return slot * PAGODA_BLOCK_BYTES;
}

static inline u64 pagoda_area_page(const struct pagoda_process_area *area)
{
	return area->large ? PAGODA_CHUNK_BYTES : VIRTIO_PAGODA_PAGE_SIZE;
}

#endif
