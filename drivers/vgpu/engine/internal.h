/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_VGPU_ENGINE_INTERNAL_H
#define PAGODA_VGPU_ENGINE_INTERNAL_H

#include "engine.h"

#define PAGODA_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
/* Bytes copied or filled between two points where other threads may run. */
#define PAGODA_CHUNK		0x100000u
/* Used like a fault reason: the run was asked to stop. */
#define PAGODA_STOPPED		VIRTIO_PAGODA_FAULT_COUNT
/* Most page-table entries that UPDATE_PAGE_TABLE looks up, and writes, at once. */
#define PAGODA_UPDATE_CHUNK	0x10000u

/*
 * struct pagoda_translation - Translation of a virtual address
 * @entry: page-table entry in CPU byte order, 0 = invalid
 * @size: bytes of virtual addresses that @entry translates, a power of two
 * @level: level of @entry, or the level at which the walk of the page tables stopped
 */
struct pagoda_translation {
	u64 entry;
	u64 size;
	u32 level;
};

/*
 * struct pagoda_leaf - Level-1 entry found by the last page-table walk, cached for its 2 MiB
 * @tag: address space and number of the 2 MiB range, 0 = nothing is cached
 * @table: the 4 KiB and the 64 KiB leaf table; NULL = @side alone translates the 2 MiB
 * @side: translation by the level-1 entry's word for 4 KiB and by its word for 64 KiB pages
 */
struct pagoda_leaf {
	u64 tag;
	const u64 *table[2];
	struct pagoda_translation side[2];
};

/*
 * struct pagoda_ahead - Translation of the address behind a span, kept for the next span
 * @va: virtual address behind the span
 * @space: address space of @va
 * @access: access that was translated, VIRTIO_PAGODA_ACCESS_NONE = no translation is kept
 * @found: translation of @va
 */
struct pagoda_ahead {
	u64 va;
	u32 space;
	u32 access;
	struct pagoda_translation found;
};

/*
 * struct pagoda_notes - Spans of memory that the check of a virtual range found
 * @next: pair of pointers for the next span to use: first byte, and the byte behind the last
 * @end: end of the pairs; spans of the range behind the noted spans are looked up
 * @limit: end of the room for pairs, NULL = no more spans are noted
 * @combined: accesses to all noted spans use the write combiner, else to none of them
 */
struct pagoda_notes {
	u8 **next;
	u8 **end;
	u8 **limit;
	bool combined;
};

/*
 * struct pagoda_exec - A packet being executed, on the stack of its queue's thread
 * @window_*: memory found by the last lookup of system memory, so that a run that is checked, then
 *	used, and contiguous runs need a single lookup; with a device MMU dropped after the packet
 * @bus: the packet names system memory by bus addresses, even with a device MMU
 * @spans: room for the memory of the next run of pages, NULL = the check notes no memory
 * @half: stop after half of the effect (failure injection)
 * @since: bytes worked on since the last pagoda_shim_yield()
 * @skipped: number of packets in the buffer before run->start
 * @leaves: last level-1 entries, of walks for reads and of walks for writes
 * @ahead: translations behind the last span, of reads and of writes
 * @notes: spans noted for the source and for the destination, in the room of run->spans
 */
struct pagoda_exec {
	struct pagoda_engine *engine;
	struct pagoda_engine_run *run;
	u64 window_bus;
	u64 window_size;
	u8 *window;
	bool window_read_only;
	bool bus;
	u8 **spans;
	u32 since;
	u32 skipped;
	struct pagoda_leaf leaves[2];
	struct pagoda_ahead ahead[2];
	struct pagoda_notes notes[2];
	bool half;
};

/*
 * enum pagoda_hold - Use of engine->translation by a packet. packet_execute() takes the lock before
 * the packet is validated and releases the lock after the packet was executed
 * @PAGODA_HOLD_SYSTEM: uses no virtual address; held for reading if the device MMU is on
 * @PAGODA_HOLD_VIRTUAL: may walk page tables, or write back an engine's write combiner; held for
 *	reading
 * @PAGODA_HOLD_CHANGE: invalidates translations of other queues; held for writing, so that no
 *	access is in progress when the packet executes (C103, C121)
 */
enum pagoda_hold {
	PAGODA_HOLD_SYSTEM,
	PAGODA_HOLD_VIRTUAL,
	PAGODA_HOLD_CHANGE,
};

/*
 * struct pagoda_op - A row of the operation table
 * @size: bytes of the packet without its variable part
 * @flags: flags that may be set
 * @exec: allowed on execution queues, not only on the paging queue
 * @bus: the packet's runs name bus addresses, even with a device MMU
 * @hold: use of engine->translation
 * @tail: returns the bytes of the packet's variable part; NULL = there is none
 * @validate: checks everything that can be refused before the first effect
 * @execute: carries out the effect; NULL = not supported. Like @validate returns a fault
 *	reason, %VIRTIO_PAGODA_FAULT_NONE for success
 */
struct pagoda_op {
	const char *name;
	u32 size;
	u16 flags;
	bool exec;
	bool bus;
	enum pagoda_hold hold;
	u64 (*tail)(const void *packet);
	u32 (*validate)(struct pagoda_exec *exec, const void *packet);
	u32 (*execute)(struct pagoda_exec *exec, const void *packet);
};

/* Position in the source or destination of a packet, which advances from span to span. */
struct pagoda_cursor {
	u32 segment;
	u32 access;
	u32 generation;
	bool combines;				/* use the write combiner unless @snooped */
	bool snooped;				/* current span is VRAM or mapped as coherent */
	u64 address;				/* next byte's offset: in the segment or in @run */
	u64 left;				/* bytes that follow the current span */
	const struct virtio_pagoda_run *run;	/* next run of pages in system memory */
	u8 *const *span;			/* memory of @run, NULL = not noted by the check */
	u8 *here;				/* unused rest of the current span */
	u64 here_size;
	u8 *tail;				/* next span: rest that the combiner cut off */
	u64 tail_size;
};

/* memory.c */
u32 pagoda_engine_refuse(struct pagoda_exec *exec, u32 reason, u64 address, u32 access);
u32 pagoda_engine_system_lookup(struct pagoda_exec *exec, u64 address, u64 want, u32 access,
				u8 **here, u64 *got);
bool pagoda_engine_vram_valid(const struct pagoda_engine *engine, u64 address, u64 size, u64 *bad);
u32 pagoda_engine_vram_check(struct pagoda_exec *exec, u64 address, u64 size, u32 access);
u32 pagoda_engine_runs_check(struct pagoda_exec *exec,
			     const struct virtio_pagoda_run *runs, u32 nr_runs,
			     u64 nr_pages, u32 access);
u32 pagoda_engine_location_check(struct pagoda_exec *exec,
				 const struct virtio_pagoda_location *location,
				 const struct virtio_pagoda_run *runs, u64 size, u32 access);
void pagoda_engine_cursor_init(struct pagoda_cursor *cursor,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_run *runs, u8 *const *spans,
			       u64 size, u32 access);
u32 pagoda_engine_cursor_refill(struct pagoda_exec *exec, struct pagoda_cursor *cursor);
u32 pagoda_engine_address_resolve(struct pagoda_exec *exec, u32 segment, u64 address,
				  u32 size, u32 access, u8 **here);

/* combine.c */
void pagoda_engine_combine_meet(struct pagoda_exec *exec, const u8 *here, u64 size);
void pagoda_engine_combine_write(struct pagoda_exec *exec, u8 **here, u64 *size, bool last);
void pagoda_engine_combine_drain(struct pagoda_engine *engine, u32 number);
void pagoda_engine_combine_drain_all(struct pagoda_engine *engine, u32 first);

/* root.c */
u64 pagoda_engine_root_limit(const struct pagoda_engine *engine);
bool pagoda_engine_roots_valid(const struct pagoda_engine *engine);

/* tlb.c */
bool pagoda_engine_tlb_find(struct pagoda_exec *exec, u32 space, u64 va,
			    struct pagoda_translation *found);
void pagoda_engine_tlb_keep(struct pagoda_exec *exec, u32 space, u64 va,
			    const struct pagoda_translation *translation);
void pagoda_engine_tlb_forget(struct pagoda_engine *engine, u32 nr_tlbs, u32 space, u64 first,
			      u64 last);
void pagoda_engine_tlb_clear(struct pagoda_engine *engine);
u32 pagoda_engine_flush_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_flush_execute(struct pagoda_exec *exec, const void *packet);

/*
 * struct pagoda_virtual_span - Memory behind virtual addresses
 * @here: address of the first byte; NULL = zeros: reads return zeros, writes are dropped
 * @size: contiguous bytes, of a page or of consecutive pages
 * @page_size: bytes of each page
 * @segment: segment of the memory; SYSTEM for zeros
 * @combined: the memory isn't snooped: accesses to @here use the write combiner
 */
struct pagoda_virtual_span {
	u8 *here;
	u64 size;
	u64 page_size;
	u32 segment;
	bool combined;
};

/* What an operation requires of its source's or destination's pages; zeros fit any segment. */
#define PAGODA_VIRTUAL_64K	0x1u	/* 64 KiB or larger pages (C73) */
#define PAGODA_VIRTUAL_NOT_64K	0x2u	/* any but 64 KiB pages (C73) */
#define PAGODA_VIRTUAL_LOCAL	0x4u	/* in VRAM (C74) */
#define PAGODA_VIRTUAL_SYSTEM	0x8u	/* in system memory or the aperture (C74) */

/*
 * walk.c: lookup in address spaces, with the translation lock held for reading. The memory found is
 * valid until the packet or command ends or pauses (pagoda_engine_translation_pause()).
 */
u32 pagoda_engine_virtual_span(struct pagoda_exec *exec, u32 space, u64 va, u64 want,
			       u32 access, struct pagoda_virtual_span *span);
u32 pagoda_engine_virtual_address_resolve(struct pagoda_exec *exec, u32 space, u64 va,
					  u32 size, u32 access, u8 **here);
u32 pagoda_engine_virtual_store_resolve(struct pagoda_exec *exec, u32 space, u64 va, u32 size,
					u8 **here);
void pagoda_engine_note(struct pagoda_notes *notes, const struct pagoda_virtual_span *span);
u32 pagoda_engine_virtual_check(struct pagoda_exec *exec, u32 space, u64 va, u64 size,
				u32 access, u32 wants, struct pagoda_notes *notes);

/* aperture.c */
u32 pagoda_engine_aperture_check(struct pagoda_exec *exec, u64 address, u64 size,
				 u32 generation, u32 access);
u32 pagoda_engine_aperture_span(struct pagoda_exec *exec, struct pagoda_cursor *cursor);
u64 pagoda_engine_map_tail(const void *packet);
u32 pagoda_engine_map_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map2_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_execute(struct pagoda_exec *exec, const void *packet);

/* device_mmu.c */
bool pagoda_engine_mmu_valid(const struct pagoda_engine *engine);
u32 pagoda_engine_mmu_translate(const struct pagoda_exec *exec, u64 address, u64 want,
				u32 access, u64 *bus, u64 *size, bool *read_only);
u64 pagoda_engine_mmu_limit(const struct pagoda_exec *exec, u32 *reason);
u64 pagoda_engine_mmu_tail(const void *packet);
u32 pagoda_engine_mmu_map_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_map_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_unmap_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_unmap_execute(struct pagoda_exec *exec, const void *packet);

/* transfer.c */
u64 pagoda_engine_transfer_runs(const struct virtio_pagoda_transfer *transfer);
u32 pagoda_engine_transfer_size_check(struct pagoda_exec *exec,
				      const struct virtio_pagoda_transfer *transfer);
u64 pagoda_engine_transfer_tail(const void *packet);
u32 pagoda_engine_transfer_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_transfer_execute(struct pagoda_exec *exec, const void *packet);

/* swizzle.c */
u32 pagoda_engine_tiled_check(struct pagoda_exec *exec,
			      const struct virtio_pagoda_location *location,
			      const struct virtio_pagoda_tiled *tiled, u64 size, u32 access);
u32 pagoda_engine_tiled_copy(struct pagoda_exec *exec, u64 address,
			     const struct virtio_pagoda_tiled *tiled,
			     struct pagoda_cursor *cursor, u64 size, bool swizzle);
bool pagoda_engine_ranges_valid(const struct pagoda_engine *engine);
u64 pagoda_engine_lock_tail(const void *packet);
u32 pagoda_engine_lock_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_lock_execute(struct pagoda_exec *exec, const void *packet);

/* fill.c */
void pagoda_engine_fill_words(u8 *here, u32 size, u32 pattern);
void pagoda_engine_fill_vram(struct pagoda_engine *engine, u64 address, u64 size, u32 pattern);
u32 pagoda_engine_fill_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_fill_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_execute(struct pagoda_exec *exec, const void *packet);

/* physical.c */
u32 pagoda_engine_physical_validate_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_validate_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_execute(struct pagoda_exec *exec, const void *packet);

/* context.c */
u64 pagoda_engine_init_context_tail(const void *packet);
u32 pagoda_engine_init_context_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_init_context_execute(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_update_context_tail(const void *packet);
u32 pagoda_engine_update_context_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_update_context_execute(struct pagoda_exec *exec, const void *packet);

/* notify.c: pagoda_engine_notify_execute() serves all notices */
u32 pagoda_engine_notify_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_residency_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_residency2_validate(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_fence_residency_tail(const void *packet);
u32 pagoda_engine_fence_residency_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_notify_alloc_validate(struct pagoda_exec *exec, const void *packet);

/*
 * struct pagoda_span_side - Position of a source or destination in an address space
 * @va: virtual address of the first byte of @span
 * @space: address space
 * @access: kind of access
 * @span: memory found at @va and not used yet; valid until the packet or command pauses
 * @notes: spans noted from @va + span.size on, NULL = none are noted
 */
struct pagoda_span_side {
	u64 va;
	u32 space;
	u32 access;
	struct pagoda_virtual_span span;
	struct pagoda_notes *notes;
};

/* virtual.c */
u32 pagoda_engine_side_refill(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 want);
void pagoda_engine_side_ahead(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 size);
u32 pagoda_engine_virtual_copy(struct pagoda_exec *exec, struct pagoda_span_side *src,
			       struct pagoda_span_side *dst, u64 left);
u32 pagoda_engine_virtual_fill(struct pagoda_exec *exec, struct pagoda_span_side *dst, u64 want,
			       u32 pattern, u64 *size);
u32 pagoda_engine_virtual_transfer_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_transfer_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_fill_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_fill_execute(struct pagoda_exec *exec, const void *packet);

/* table.c */
u64 pagoda_engine_update_tail(const void *packet);
u32 pagoda_engine_update_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_update_execute(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_copy_entries_tail(const void *packet);
u32 pagoda_engine_copy_entries_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_copy_entries_execute(struct pagoda_exec *exec, const void *packet);

/* command.c: executes a job's commands. Returns a fault reason or PAGODA_STOPPED. */
u32 pagoda_engine_job(struct pagoda_exec *exec);

/* Advances a side by @size bytes, at most side->span.size. */
static inline void pagoda_side_advance(struct pagoda_span_side *side, u64 size)
{
	side->va += size;
	side->span.size -= size;
	if (side->span.here)
		side->span.here += size;
}

/*
 * Returns the offset of byte @column of @row in a tiled mip level of @pitch bytes; the bytes that
 * follow in the tile's row are contiguous. Tiles are 2^@shift bytes wide and 2^@shift rows high.
 */
static inline u64 pagoda_tile_offset(u64 pitch, u32 shift, u64 row, u64 column)
{
	u64 inside = (1ull << shift) - 1;

	return (row & ~inside) * pitch + ((row & inside) << shift) +
	       ((column & ~inside) << shift) + (column & inside);
}

/* Returns log2 of a tile's width in bytes; @tiling isn't linear. */
static inline u32 pagoda_tile_shift(u32 tiling)
{
	return __builtin_ctz(tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
								VIRTIO_PAGODA_TILE_64K_WIDTH);
}

/* Returns whether the device MMU is on: it translates device addresses to bus addresses. */
static inline bool pagoda_translates(const struct pagoda_engine *engine)
{
	return engine->mmu && engine->features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU;
}

/* Returns whether writes of the run to memory that isn't snooped use a write combiner. */
static inline bool pagoda_engine_combines(const struct pagoda_exec *exec)
{
	const struct pagoda_engine_run *run = exec->run;
	u64 features = exec->engine->features;

	return features & 1ull << VIRTIO_PAGODA_F_WRITE_COMBINER &&
	       run->tlb < PAGODA_ENGINE_COMBINERS &&
	       (run->kind == PAGODA_ENGINE_QUEUE_PAGING ||
		(run->context && features & 1ull << VIRTIO_PAGODA_F_EXECUTE));
}

/* Returns whether the write combiner of the run's queue may hold writes. */
static inline bool pagoda_engine_has_lines(const struct pagoda_exec *exec)
{
	u32 number = exec->run->tlb;

	return number < PAGODA_ENGINE_COMBINERS && exec->engine->combiners[number].used;
}

static inline bool pagoda_stopped(const struct pagoda_exec *exec)
{
	return exec->run->stop && READ_ONCE(*exec->run->stop);
}

/* Stores a fault for a refused value that isn't an accessed address. Returns @reason. */
static inline u32 pagoda_refuse(struct pagoda_exec *exec, u32 reason, u64 value)
{
	return pagoda_engine_refuse(exec, reason, value, VIRTIO_PAGODA_ACCESS_NONE);
}

/* Copies memory that may overlap: checks accept that two addresses lead to a single page. */
static inline void pagoda_copy(u8 *dst, const u8 *src, size_t size)
{
	if (likely(dst + size <= src || src + size <= dst))
		memcpy(dst, src, size);
	else
		memmove(dst, src, size);
}

/*
 * Counts @bytes of work, and yields the CPU after each PAGODA_CHUNK. Returns PAGODA_STOPPED if an
 * execution queue has to stop in the middle of a packet; the paging queue stops between packets.
 */
static inline u32 pagoda_progress(struct pagoda_exec *exec, u32 bytes)
{
	exec->run->bytes += bytes;
	exec->since += bytes;
	if (exec->since < PAGODA_CHUNK)
		return VIRTIO_PAGODA_FAULT_NONE;
	exec->since = 0;
	pagoda_shim_yield();
	return exec->run->kind == PAGODA_ENGINE_QUEUE_EXEC && pagoda_stopped(exec) ?
	       PAGODA_STOPPED : VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Finds the memory at a device or bus address of the system segment; *@got receives how many of
 * @want bytes (not zero) are contiguous. Returns a fault reason, which isn't stored in the run. All
 * accesses to system memory begin here; memory found by the last lookup needs no other lookup.
 */
static inline u32 pagoda_system_span(struct pagoda_exec *exec, u64 address, u64 want,
				     u32 access, u8 **here, u64 *got)
{
	u64 skip = address - exec->window_bus;

	/* Contiguous memory may follow the window, which ends where the last lookup ended. */
	if (likely(skip < exec->window_size) && likely(want <= exec->window_size - skip) &&
	    likely(!exec->window_read_only || access != VIRTIO_PAGODA_ACCESS_WRITE)) {
		*got = want;
		*here = exec->window + skip;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	return pagoda_engine_system_lookup(exec, address, want, access, here, got);
}

/* Drops translations and notes outside of the TLBs; with a device MMU the window, too. */
static inline void pagoda_engine_translation_forget(struct pagoda_exec *exec)
{
	exec->leaves[0].tag = 0;
	exec->leaves[1].tag = 0;
	exec->ahead[0].access = VIRTIO_PAGODA_ACCESS_NONE;
	exec->ahead[1].access = VIRTIO_PAGODA_ACCESS_NONE;
	memset(exec->notes, 0, sizeof(exec->notes));
	if (exec->engine->mmu)
		exec->window_size = 0;
}

/*
 * Releases the translation lock for a moment, so that threads can change translations. If they do,
 * the translations and the memory that the packet or command has found are dropped.
 */
static inline void pagoda_engine_translation_pause(struct pagoda_exec *exec)
{
	u64 changes = exec->engine->changes;

	pagoda_shim_read_unlock(&exec->engine->translation);
	pagoda_shim_yield();
	pagoda_shim_read_lock(&exec->engine->translation);
	if (exec->engine->changes != changes)
		pagoda_engine_translation_forget(exec);
}

/* Counts @bytes of work; after each PAGODA_CHUNK releases the translation lock for a moment. */
static inline void pagoda_virtual_progress(struct pagoda_exec *exec, u32 bytes)
{
	exec->run->bytes += bytes;
	exec->since += bytes;
	if (exec->since >= PAGODA_CHUNK) {
		exec->since = 0;
		pagoda_engine_translation_pause(exec);
	}
}

/* Returns whether a level-1 entry has two words: for a 4 KiB and for a 64 KiB leaf table. */
static inline bool pagoda_engine_dual(const struct pagoda_engine *engine)
{
	return engine->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
}

/* Returns log2 of the bytes of virtual addresses that an entry of @level translates. */
static inline u32 pagoda_engine_level_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS * level;
}

#endif
