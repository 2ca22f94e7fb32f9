/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPU page tables: address spaces, and the paging process, which has space 0.
 *
 * mmu/ knows entries, tables and the order in which tables may change. mmu/ knows neither
 * TTM nor where tables come from: the owner (vidmm) allocates tables and takes operations.
 * Tables change by UPDATE_PAGE_TABLE and COPY_PAGE_TABLE_ENTRIES. Behind every change of a valid
 * entry comes a FLUSH_TLB in the same stream (C105), unless the device has no root of the space. A
 * batch of changes has at most one FLUSH_TLB of the changed space; each use of table windows takes
 * flushes of the paging space, too.
 *
 * The mappings of a VM are kept in four forms, each for another purpose:
 *
 *	plan	(vidmm/vm/bind_plan.c) addresses after all accepted VM_BIND arrays: a new array
 *		is accepted or refused by the plan, long before the array is executed
 *	books	(vidmm/vm/bind_books.c) the gpuva tree: the allocations that the executed arrays
 *		mapped, in which eviction and residency find an allocation's mappings
 *	records	(record.c) allocation, offset and DriverProtection of ranges that map memory:
 *		an update of such entries names all three (of a large page the first two), also
 *		for a split or a restore long after the map (C98, C100)
 *	words	(block.c) the entries of each table, as the device has or shall have them:
 *		an evicted or lost table is written again from words, and comparing with
 *		words tells which entries a change has to write and to flush
 *
 * A change is staged:
 *
 *	prepare	allocates all tables and records that the change can need, counts operations,
 *		and suspends contexts if necessary; may sleep and fail, changes nothing else
 *		visible outside mmu/
 *	cost	returns an upper bound of the operations, to begin a transaction of the stream
 *	commit	changes words and records and emits operations, under the space's lock;
 *		doesn't allocate and can't fail
 *	finish	sets a new root, resumes contexts, and gives unreachable tables back to the
 *		owner, with the fence of the flush
 *	abort	instead of commit and finish: frees what prepare allocated, resumes contexts
 *
 * The caller keeps other changes of structure out from prepare to finish (by pagoda_vm.lock
 * in the driver). Invalidation of whole mappings, which a move needs, changes no structure,
 * allocates nothing and may happen at any time.
 *
 * Operations are emitted in a transaction of the stream, so the caller of commit takes the
 * space's lock by pagoda_space_lock() before beginning the transaction. The order of all locks
 * is in core/core.h.
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
 * struct pagoda_table_memory - Memory of a page table
 * @segment: VRAM or SYSTEM
 * @size: Bytes, multiple of the page size
 * @address: Offset in the segment, or bus address; aligned to @size
 * @cpu: Kernel address, or NULL if the CPU can't reach the memory; never NULL in
 *	CPU_VIRTUAL mode and for tables of the paging process
 * @pages: Array of struct page pointers of system memory, for the CPU executor; else NULL
 * @cookie: The owner's name for the memory, opaque to mmu/
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
 * struct pagoda_mmu_ops - What the owner implements for mmu/
 * @table_alloc: Allocates memory for a table of @size bytes at @level, for the space with the
 *	given owner data (NULL: the paging process). @level 0 is a leaf table of 4 KiB or
 *	64 KiB entries. The content may be garbage. May sleep. Returns 0 or -errno
 * @table_free: Frees memory that no emitted operation uses once @fence has signalled (NULL:
 *	none uses it now). May sleep
 * @set_root: Has the device execute SetRootPageTable, and waits for that; a root of 0 entries
 *	takes the root away. No job or operation of the space executes during the call. May sleep.
 *	Returns 0; or -errno, and the device has no root of the space, whose jobs can't execute
 *	before the owner has the space rebuilt. Taking a root away can't fail
 * @written: Called after the CPU wrote entries of a table of the paging process without a
 *	buffer (C76); the operation describes the entries. Also called in the dma_fence
 *	signalling path; may be NULL
 * @suspend: Waits until no job of the space runs, and keeps further jobs from running until
 *	@resume (C102). May sleep; may be NULL
 * @resume: Undoes @suspend; may be NULL
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
 * struct pagoda_emit - Receiver of the operations that mmu/ makes
 * @emit: Takes an operation that is valid by construction; can't fail, because the transaction
 *	was begun with the cost of all operations
 * @arg: First argument of @emit
 */
struct pagoda_emit {
	void (*emit)(void *arg, struct pagoda_paging_op *op);
	void *arg;
};

/**
 * struct pagoda_mmu_args - How to make the page-table subsystem of a device
 * @limits: va_bits, pt_levels, page_sizes, features of the device; must outlive the subsystem
 * @mode: Mode of all updates except those that the CPU makes at once in the paging process' tables,
 *	to initialise the tables or, after a loss, to invalidate the windows (C89)
 * @invalid_not_cached: No flush is needed when an invalid entry becomes valid (C106), except in
 *	the windows of the paging space, which are always flushed
 * @ops: Functions that the owner implements
 * @owner: First argument of @ops
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

/* ---- Address spaces (space.c, prepare.c, update.c) ------------------------ */

/** enum pagoda_map_kind - What the device's accesses to a range of virtual addresses do. */
enum pagoda_map_kind {
	PAGODA_MAP_INVALID,	/* accesses fault */
	PAGODA_MAP_ZERO,	/* reads give zeros, writes are dropped */
	PAGODA_MAP_MEMORY,	/* accesses reach an allocation */
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
 * struct pagoda_map - A range of addresses, to be mapped to memory or zeros, or to be unmapped
 * @va: First address, page aligned
 * @size: Bytes, multiple of the page size, not zero; the range is below pagoda_mmu_reach() and
 *	doesn't hold page 0 of the space (C77)
 * @kind: enum pagoda_map_kind; members marked MEMORY are only for PAGODA_MAP_MEMORY
 * @flags: MEMORY: PAGODA_PTE_READ_ONLY, NO_EXECUTE, CACHE_COHERENT; else 0
 * @driver_protection: MEMORY: DriverProtection, opaque (C98); else 0
 * @allocation: MEMORY: number of the allocation
 * @allocation_offset: MEMORY: byte of the allocation at which the range begins (C100), or
 *	at which the window begins if @window isn't 0
 * @window: MEMORY: bytes of a window of the allocation that repeats over the range (C136),
 *	multiple of the page size; 0: nothing repeats
 * @first: MEMORY: byte of the window that @va shows, multiple of the page size; 0 without window
 * @extents: MEMORY: extents of @window bytes in total, or of @size bytes if @window is 0; NULL
 *	with @adl
 * @nr_extents: Entries of @extents
 * @adl: MEMORY: pages of system memory; NULL with @extents
 * @adl_offset: Index of the page of @adl at which the memory begins
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
void pagoda_space_destroy(struct pagoda_space *space);

int pagoda_space_prepare(struct pagoda_space *space, const struct pagoda_map *maps,
			 u32 nr_maps, struct pagoda_pt_update **update);
struct pagoda_paging_cost pagoda_pt_update_cost(const struct pagoda_pt_update *update,
						u32 buffer_size);
void pagoda_pt_update_commit(struct pagoda_pt_update *update, const struct pagoda_emit *emit);
bool pagoda_pt_update_uses_windows(const struct pagoda_pt_update *update);
bool pagoda_pt_update_waits(const struct pagoda_pt_update *update);
void pagoda_pt_update_finish(struct pagoda_pt_update *update, struct dma_fence *fence);
void pagoda_pt_update_abort(struct pagoda_pt_update *update);

struct pagoda_paging_cost pagoda_space_invalidate_cost(struct pagoda_space *space, u64 va,
						       u64 size, u32 buffer_size);
void pagoda_space_invalidate(struct pagoda_space *space, u64 va, u64 size,
			     const struct pagoda_emit *emit);

/*
 * Eviction and restore of tables (C90, C91), and queries whether, and how many, tables are evicted
 * now. Eviction emits updates that make all entries of the table invalid and, unless the table is
 * the root, the update of the parent's entry, if the parent is resident, and a flush, if the device
 * has a root of the space; the table's memory may be used again once the fence behind these
 * operations has signalled. Restore is a struct pagoda_pt_update: prepare allocates memory for
 * evicted tables, commit writes their entries and links the tables.
 */
struct pagoda_paging_cost pagoda_space_evict_cost(struct pagoda_space *space, u32 buffer_size);
void pagoda_space_evict_table(struct pagoda_space *space, void *cookie,
			      const struct pagoda_emit *emit);
bool pagoda_space_is_resident(struct pagoda_space *space);
bool pagoda_space_is_stale(struct pagoda_space *space);
u32 pagoda_space_nr_absent(struct pagoda_space *space);
int pagoda_space_prepare_restore(struct pagoda_space *space, struct pagoda_pt_update **update);

/*
 * For a device that lost its memory. pagoda_space_forget() notes that the device has no root of the
 * space, so that no flush of the space is emitted until the root is set again; the owner calls
 * pagoda_space_forget() for all spaces before emitting any operation. From then on the space is
 * stale until the rebuild, a struct pagoda_pt_update, writes resident tables again in place and
 * sets the root.
 */
void pagoda_space_forget(struct pagoda_space *space);
int pagoda_space_prepare_rebuild(struct pagoda_space *space, struct pagoda_pt_update **update);

void pagoda_space_detach(struct pagoda_space *space);
int pagoda_space_prepare_close(struct pagoda_space *space, struct pagoda_pt_update **update);

/*
 * Copy of the entries of [src, src + size) to dst, with the result of memmove() (C137). The device
 * reads the entries when the device executes COPY_PAGE_TABLE_ENTRIES. Updates that the driver makes
 * from its own copy of the entries replace that operation, for all copies of a list, in CPU_VIRTUAL
 * mode, while a table of the space isn't resident, and if one of the copies writes, or in a long
 * list may write, entries that the copy itself or an earlier copy reads.
 */
struct pagoda_space_copy {
	u64 src;
	u64 dst;
	u64 size;
};

int pagoda_space_prepare_copy(struct pagoda_space *space, const struct pagoda_space_copy *copies,
			      u32 nr_copies, struct pagoda_pt_update **update);

/* Queries, which change nothing. */
bool pagoda_space_lookup(struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size);
void pagoda_space_root(struct pagoda_space *space, struct pagoda_root *root);
u32 pagoda_space_id(const struct pagoda_space *space);
u64 pagoda_space_table_bytes(struct pagoda_space *space);

/* ---- The paging process (process.c, scratch.c) ---------------------------- */

/**
 * PAGODA_SCRATCH_BYTES: bytes of a scratch window; a larger transfer is several operations (C70).
 */
#define PAGODA_SCRATCH_BYTES	(16ull << 20)
/** PAGODA_TABLE_WINDOWS: number of windows of the paging space for page tables to be written. */
#define PAGODA_TABLE_WINDOWS	256
/**
 * PAGODA_TABLE_WINDOW_BYTES: bytes of a table window, and of the largest table that isn't a
 * resizable root. Table windows are adjacent: a larger root takes several in a row.
 */
#define PAGODA_TABLE_WINDOW_BYTES 8192

/** enum pagoda_scratch - Ranges of the paging space for an operation's source and destination. */
enum pagoda_scratch {
	PAGODA_SCRATCH_SOURCE,
	PAGODA_SCRATCH_DESTINATION,
	PAGODA_SCRATCH_COUNT
};

/*
 * pagoda_mmu_create() makes the paging process (address space 0): its tables are in system memory,
 * initialised by the CPU without a buffer (C76), and never evicted (C75). Page 0 of space 0 is
 * never valid (C77).
 *
 * Windows are address ranges of space 0, which are mapped, used and unmapped under the stream's
 * lock, in one transaction: the next transaction of the stream can use the windows again.
 * In CPU_VIRTUAL mode the CPU changes entries at once: the caller waits for the stream before map
 * and before unmap, in two transactions, and keeps out other users from map to unmap.
 */
int pagoda_process_rebuild(struct pagoda_mmu *mmu);
void pagoda_process_root(struct pagoda_mmu *mmu, struct pagoda_root *root);

u64 pagoda_process_map(struct pagoda_mmu *mmu, enum pagoda_scratch window,
		       const struct pagoda_map *map, bool *large,
		       const struct pagoda_emit *emit);
void pagoda_process_flush(struct pagoda_mmu *mmu, const struct pagoda_emit *emit);
void pagoda_process_unmap(struct pagoda_mmu *mmu, const struct pagoda_emit *emit);
struct pagoda_paging_cost pagoda_process_cost(struct pagoda_mmu *mmu, u64 size,
					      u32 buffer_size);
void pagoda_process_lost(struct pagoda_mmu *mmu);
u64 pagoda_process_map_table(struct pagoda_mmu *mmu, u32 index,
			     const struct pagoda_table_memory *memory,
			     const struct pagoda_emit *emit);
struct pagoda_paging_cost pagoda_process_table_cost(struct pagoda_mmu *mmu, u32 nr_tables,
						    u32 buffer_size);
const void *pagoda_mmu_table_page(struct pagoda_mmu *mmu, u64 bus);

#endif
