/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU page tables: address spaces, and the paging process that has the first one.
 *
 * mmu/ knows entries, tables and the order in which they may change. It knows
 * neither TTM nor where tables come from: its owner (vidmm) gives it memory and
 * takes its operations. Every change of a table is an UPDATE_PAGE_TABLE, every
 * change of a valid entry is followed by a FLUSH_TLB in the same stream (C105),
 * one a batch and space.
 *
 * A change is staged:
 *
 *	prepare	allocates every table the change can need, and plans; may sleep and
 *		fail, changes nothing that is seen outside
 *	cost	upper bound for the stream
 *	commit	takes the space's lock, emits and changes the books; can't fail
 *	finish	gives tables that became unreachable to the owner, behind the fence
 *		of the flush
 *	abort	instead of commit: gives back what prepare got
 *
 * The caller of prepare keeps other changes of structure out until commit (the caller's
 * lock of the space, struct pagoda_vm.lock in the driver). Invalidation of whole
 * mappings, which is what a move needs, changes no structure and needs no memory,
 * and may happen at any time.
 *
 * For each table mmu/ keeps what its entries are, as hardware entries: tables that
 * were evicted come back from that.
 *
 * Emission happens under the stream's lock, so the caller of commit has begun a
 * transaction: the space's lock is taken before, by pagoda_space_lock(). The order
 * of all locks is in core/core.h.
 */
#ifndef PAGODA_MMU_H
#define PAGODA_MMU_H

#include <linux/types.h>
#include "paging/paging.h"

struct dma_fence;
struct pagoda_mmu;
struct pagoda_pt_update;
struct pagoda_space;

/**
 * struct pagoda_table_memory - Where a page table is
 * @segment: VRAM or SYSTEM
 * @size: Bytes, multiple of the page size
 * @address: Offset in the segment, or bus address; aligned to @size
 * @cpu: Kernel address, or NULL if the CPU can't reach it; never NULL in CPU_VIRTUAL
 *	mode and for tables of the paging process
 * @pages: struct page array of it if it is system memory, for the CPU executor
 * @cookie: The owner's
 */
struct pagoda_table_memory {
	u32 segment;
	u32 size;
	u64 address;
	void *cpu;
	const void *pages;
	void *cookie;
};

/**
 * struct pagoda_mmu_ops - What mmu/ asks its owner
 * @table_alloc: Memory for a table of @space (its owner_data) at @level; @level 0
 *	tables may be of either kind. Content is garbage. May sleep. 0 or -ENOMEM
 * @table_free: The table isn't used by any operation emitted so far once @fence has
 *	signalled (NULL: already). Takes it back. May sleep
 * @set_root: SetRootPageTable, done on return; entries 0 takes the root away. Nothing
 *	of the space executes. 0 or -errno. May sleep
 * @written: The CPU wrote entries of a table of the paging process at once, as the
 *	UPDATE_PAGE_TABLE says that no buffer has (C76). On the way to signalling a fence;
 *	may be NULL
 * @suspend: Keeps contexts of the space from running until @resume (C102, demotion);
 *	both may be NULL
 * @resume: See @suspend
 */
struct pagoda_mmu_ops {
	int (*table_alloc)(void *owner, void *space_data, u32 level, u32 size,
			   struct pagoda_table_memory *memory);
	void (*table_free)(void *owner, void *space_data, struct pagoda_table_memory *memory,
			   struct dma_fence *fence);
	int (*set_root)(void *owner, u32 space, const struct pagoda_root *root);
	void (*written)(void *owner, const struct pagoda_paging_op *op);
	void (*suspend)(void *owner, void *space_data);
	void (*resume)(void *owner, void *space_data);
};

/**
 * struct pagoda_emit - Where operations go
 * @emit: Takes an operation that is valid by construction; it must not fail: what
 *	it was begun with covered the cost
 * @arg: Its first argument
 */
struct pagoda_emit {
	void (*emit)(void *arg, struct pagoda_paging_op *op);
	void *arg;
};

/**
 * struct pagoda_mmu_args - How to make the page-table subsystem of a device
 * @limits: Of the device: va_bits, pt_levels, page_sizes, features; must outlive it
 * @mode: enum virtio_pagoda_update_mode for everything but the set-up of the paging
 *	process (C89)
 * @invalid_not_cached: No flush when an invalid entry becomes valid (C106)
 * @ops: The owner's calls
 * @owner: Their first argument
 */
struct pagoda_mmu_args {
	const struct pagoda_paging_limits *limits;
	enum virtio_pagoda_update_mode mode;
	bool invalid_not_cached;
	const struct pagoda_mmu_ops *ops;
	void *owner;
};

struct pagoda_mmu *pagoda_mmu_create(const struct pagoda_mmu_args *args);
void pagoda_mmu_destroy(struct pagoda_mmu *mmu);
enum virtio_pagoda_update_mode pagoda_mmu_mode(const struct pagoda_mmu *mmu);
u64 pagoda_mmu_reach(const struct pagoda_mmu *mmu);

/* ---- Address spaces (space.c, table.c, update.c, restore.c) -------------- */

/** enum pagoda_map_kind - What a range of addresses shall be. */
enum pagoda_map_kind {
	PAGODA_MAP_INVALID,	/* accesses fault */
	PAGODA_MAP_ZERO,	/* reads give zeros, writes are dropped */
	PAGODA_MAP_MEMORY,	/* an allocation */
};

/**
 * struct pagoda_map_extent - Consecutive memory of a mapping
 * @segment: enum virtio_pagoda_segment
 * @address: Offset in the segment or bus address
 * @size: Bytes, multiple of the page size
 */
struct pagoda_map_extent {
	u32 segment;
	u64 address;
	u64 size;
};

/**
 * struct pagoda_map - A range of addresses and what it shall be
 * @va: First address, page aligned
 * @size: Bytes, multiple of the page size, not zero; the range is below 2^va_bits and
 *	doesn't hold page 0 of the space (C77)
 * @kind: enum pagoda_map_kind
 * @flags: MEMORY: PAGODA_PTE_READ_ONLY, NO_EXECUTE, CACHE_COHERENT; else 0
 * @driver_protection: MEMORY: opaque (C98)
 * @allocation: MEMORY: driver's name for it
 * @allocation_offset: MEMORY: byte of the allocation the range begins at (C100); with a
 *	@window, the byte that one begins at
 * @window: MEMORY: bytes that repeat over the range (C136), multiple of the page size;
 *	0 = they don't
 * @first: MEMORY: byte of the window at @va, below @window, multiple of the page size
 * @extents: MEMORY: the memory, together exactly @window or @size; NULL with @adl
 * @nr_extents: Entries of @extents
 * @adl: MEMORY: pages of system memory instead of @extents
 * @adl_offset: First page of @adl
 */
struct pagoda_map {
	u64 va;
	u64 size;
	enum pagoda_map_kind kind;
	u64 flags;
	u64 driver_protection;
	u64 allocation;
	u64 allocation_offset;
	u64 window;
	u64 first;
	const struct pagoda_map_extent *extents;
	u32 nr_extents;
	const struct pagoda_adl *adl;
	u64 adl_offset;
};

struct pagoda_space *pagoda_space_create(struct pagoda_mmu *mmu, u32 id, void *data);
void pagoda_space_lock(struct pagoda_space *space);
void pagoda_space_unlock(struct pagoda_space *space);
/* No operation of the space is in flight; its root is taken away. */
void pagoda_space_destroy(struct pagoda_space *space);

int pagoda_space_prepare(struct pagoda_space *space, const struct pagoda_map *maps,
			 u32 nr_maps, struct pagoda_pt_update **update);
struct pagoda_paging_cost pagoda_pt_update_cost(const struct pagoda_pt_update *update,
						u32 buffer_size);
void pagoda_pt_update_commit(struct pagoda_pt_update *update, const struct pagoda_emit *emit);
bool pagoda_pt_update_waits(const struct pagoda_pt_update *update);
void pagoda_pt_update_finish(struct pagoda_pt_update *update, struct dma_fence *fence);
void pagoda_pt_update_abort(struct pagoda_pt_update *update);

/* Whole mappings become invalid, e.g. because their allocation moves. No memory needed. */
struct pagoda_paging_cost pagoda_space_invalidate_cost(struct pagoda_space *space, u64 va,
						       u64 size, u32 buffer_size);
void pagoda_space_invalidate(struct pagoda_space *space, u64 va, u64 size,
			     const struct pagoda_emit *emit);

/*
 * Tables that leave and come back (C90, C91). Evict: last update of the table, its
 * parent's entry, flush; the memory may go when the fence behind that has signalled.
 * Restore: prepare allocates, commit initialises the tables and links them.
 */
struct pagoda_paging_cost pagoda_space_evict_cost(struct pagoda_space *space, u32 buffer_size);
void pagoda_space_evict_table(struct pagoda_space *space, void *cookie,
			      const struct pagoda_emit *emit);
bool pagoda_space_is_resident(struct pagoda_space *space);
int pagoda_space_prepare_restore(struct pagoda_space *space, struct pagoda_pt_update **update);

/*
 * The device lost its memory: forget says that it has no root any more, so that nothing
 * names one, and is called for all spaces before anything is emitted. Rebuild then writes
 * the tables that are there anew, where they are, and hands over the root.
 */
void pagoda_space_forget(struct pagoda_space *space);
int pagoda_space_prepare_rebuild(struct pagoda_space *space, struct pagoda_pt_update **update);

/*
 * The root can't be evicted before the device has given it up: detach asks for that,
 * may sleep, and is called before the stream's transaction. Nothing of the space
 * executes from then on until a restore was finished.
 */
int pagoda_space_detach(struct pagoda_space *space);
/*
 * Instead of maps: everything becomes invalid and every table leaves, the root too.
 * Finish takes the root from the device. Only destroy may follow.
 */
int pagoda_space_prepare_close(struct pagoda_space *space, struct pagoda_pt_update **update);

/*
 * Copies entries of [src, src + size) to dst, as memmove does (C137); when executed
 * (COPY_PAGE_TABLE_ENTRIES) unless an entry of the list writes what it or one before reads.
 */
struct pagoda_space_copy {
	u64 src;
	u64 dst;
	u64 size;
};

int pagoda_space_prepare_copy(struct pagoda_space *space, const struct pagoda_space_copy *copies,
			      u32 nr_copies, struct pagoda_pt_update **update);

/* What the space's own books say of an address; for tests and debugfs. */
bool pagoda_space_lookup(struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size);
void pagoda_space_root(struct pagoda_space *space, struct pagoda_root *root);
u32 pagoda_space_id(const struct pagoda_space *space);
u64 pagoda_space_table_bytes(struct pagoda_space *space);

/* ---- The paging process (process.c, scratch.c) ---------------------------- */

/** PAGODA_SCRATCH_BYTES: bytes of each scratch window; more goes in chunks (C70). */
#define PAGODA_SCRATCH_BYTES	(16ull << 20)
/** PAGODA_TABLE_WINDOWS: table windows; what can be mapped for GPU_VIRTUAL at once. */
#define PAGODA_TABLE_WINDOWS	256
/**
 * PAGODA_TABLE_WINDOW_BYTES: bytes of a table window, those of the largest table that
 * isn't a resizable root. Windows follow each other without gaps: a larger root takes
 * several in a row.
 */
#define PAGODA_TABLE_WINDOW_BYTES 8192

/** enum pagoda_scratch - Scratch windows of the paging process, used in stream order. */
enum pagoda_scratch {
	PAGODA_SCRATCH_SOURCE,
	PAGODA_SCRATCH_DESTINATION,
	PAGODA_SCRATCH_COUNT
};

/*
 * Made by pagoda_mmu_create() when the device has address spaces: tables in system
 * memory, written by the CPU without a buffer (C76), never evicted (C75). Page 0 is
 * never valid (C77). pagoda_process_rebuild() does it again after memory was lost
 * (C80), while nothing of the stream is in flight.
 *
 * Windows are used under the stream's lock, map to unmap in one transaction: the
 * stream's order is what makes them reusable. In CPU_VIRTUAL mode entries change at
 * once, so the user of a window waits for the stream before map and before unmap, and
 * keeps other users out meanwhile.
 */
int pagoda_process_rebuild(struct pagoda_mmu *mmu);
void pagoda_process_root(struct pagoda_mmu *mmu, struct pagoda_root *root);

/*
 * Maps memory into a scratch window: @map's va is ignored, its size is at most
 * PAGODA_SCRATCH_BYTES. Returns the address of its first byte; @large: mapped by 64 KiB
 * entries (C73). Needs pagoda_process_flush() before use (C72), and
 * pagoda_process_unmap() after it, which invalidates what was mapped and flushes (C78).
 */
u64 pagoda_process_map(struct pagoda_mmu *mmu, enum pagoda_scratch window,
		       const struct pagoda_map *map, bool *large,
		       const struct pagoda_emit *emit);
void pagoda_process_flush(struct pagoda_mmu *mmu, const struct pagoda_emit *emit);
void pagoda_process_unmap(struct pagoda_mmu *mmu, const struct pagoda_emit *emit);
/* Upper bound for one map on each side, flush and unmap, of mappings of @size bytes. */
struct pagoda_paging_cost pagoda_process_cost(struct pagoda_mmu *mmu, u64 size,
					      u32 buffer_size);
/* Operations were given up: the CPU invalidates all windows, in no particular order. */
void pagoda_process_lost(struct pagoda_mmu *mmu);

/*
 * Page tables of other spaces in the paging space, for GPU_VIRTUAL updates and
 * COPY_PAGE_TABLE_ENTRIES: table window @index (below PAGODA_TABLE_WINDOWS) shows
 * @memory; a table larger than 8 KiB takes the windows behind it too. Same protocol:
 * flush before use, pagoda_process_unmap() after it.
 */
u64 pagoda_process_map_table(struct pagoda_mmu *mmu, u32 index,
			     const struct pagoda_table_memory *memory,
			     const struct pagoda_emit *emit);
/* Upper bound for @nr_tables windows mapped, with flush and unmap every PAGODA_TABLE_WINDOWS. */
struct pagoda_paging_cost pagoda_process_table_cost(struct pagoda_mmu *mmu, u32 nr_tables,
						    u32 buffer_size);
/* A page-table page of any space in system memory, by bus address; for the CPU executor. */
const void *pagoda_mmu_table_page(struct pagoda_mmu *mmu, u64 bus);

#endif
