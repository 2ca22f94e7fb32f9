/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_VGPU_ENGINE_INTERNAL_H
#define PAGODA_VGPU_ENGINE_INTERNAL_H

#include "engine.h"

#define PAGODA_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
/* Bytes of work after which a packet or job yields the CPU, or releases a lock for a moment. */
#define PAGODA_CHUNK		0x100000u
/* Returned instead of a fault reason when a buffer's execution ends early without a fault. */
#define PAGODA_STOPPED		VIRTIO_PAGODA_FAULT_COUNT
/*
 * Most page-table entries whose memory a step of UPDATE_PAGE_TABLE finds and then writes. The
 * translation lock may be released for a moment only between two steps.
 */
#define PAGODA_UPDATE_CHUNK	0x10000u

/*
 * struct pagoda_translation - Translation of a virtual address
 * @entry: page-table entry in CPU byte order, 0 = invalid
 * @size: bytes of virtual addresses that @entry translates, or that are invalid; a power of two
 * @level: level of @entry, or the level at which the walk of the page tables stopped
 */
struct pagoda_translation {
	u64 entry;
	u64 size;
	u32 level;
};

/*
 * struct pagoda_leaf - Level-1 entry found by the last page-table walk, kept for the entry's 2 MiB
 * @tag: address space and number of the 2 MiB range, 0 = no entry is kept
 * @table: [0] leaf table of 4 KiB pages, [1] of 64 KiB pages; NULL = @side translates the 2 MiB
 * @side: translation by the level-1 entry itself: [0] of its word for 4 KiB pages, [1] of its word
 *	for 64 KiB pages
 */
struct pagoda_leaf {
	u64 tag;
	const u64 *table[2];
	struct pagoda_translation side[2];
};

/*
 * struct pagoda_ahead - Translation of the address that follows a span (memory that is contiguous
 * for the CPU), kept for the next span
 * @va: virtual address that follows the span
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
 * struct pagoda_notes - Spans (memory that is contiguous for the CPU) found in advance for a range
 * of virtual addresses
 * @next: next span to use, a pair of pointers: to its first byte, and behind its last byte
 * @end: end of the pairs; spans that follow in the range are looked up when they are used
 * @limit: end of the room for pairs, NULL = no more spans are stored
 * @combined: accesses to all stored spans use the write combiner, else to none of them
 */
struct pagoda_notes {
	u8 **next;
	u8 **end;
	u8 **limit;
	bool combined;
};

/*
 * struct pagoda_exec - A buffer being executed and its current packet, or a job, on the stack of
 * the queue's thread
 * @window_*: memory found by the last lookup of system memory, so that a run that is checked, then
 *	used, and contiguous runs need a single lookup; if there is a device MMU, dropped before
 *	each packet or command
 * @bus: the packet is a MAP_MMU, which names system memory by bus addresses even with a device MMU
 * @spans: place in run->spans where the check of the next run of pages, or range of virtual
 *	addresses, stores the memory that it finds; NULL = nowhere
 * @half: the packet or command stops after half of its effect (failure injection)
 * @since: bytes of work; set to 0 when they reach PAGODA_CHUNK and the thread yields the CPU
 * @skipped: number of packets in the buffer before run->start
 * @leaves: level-1 entries of the last walks: [0] for reads and fetches, [1] for writes
 * @ahead: translations that follow the last span: [0] of reads and fetches, [1] of writes
 * @notes: spans stored in run->spans: [0] of the source, [1] of the destination
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
 * the packet is validated and releases the lock after the packet was executed; a long packet with
 * virtual addresses releases it for moments in between (pagoda_engine_translation_pause())
 * @PAGODA_HOLD_SYSTEM: uses no virtual address; held for reading if the device MMU is on
 * @PAGODA_HOLD_VIRTUAL: may walk page tables, or write back an engine's write combiner; held for
 *	reading
 * @PAGODA_HOLD_CHANGE: invalidates translations of all queues; held for writing, so that no access
 *	by a translation is in progress when the packet executes (C103, C121)
 */
enum pagoda_hold {
	PAGODA_HOLD_SYSTEM,
	PAGODA_HOLD_VIRTUAL,
	PAGODA_HOLD_CHANGE,
};

/*
 * struct pagoda_op - A row of the operation table
 * @size: bytes of the packet without its variable part
 * @flags: flags that may be set in the packet
 * @exec: the operation is allowed on execution queues, not only on the paging queue
 * @bus: the packet's runs name bus addresses, even with a device MMU
 * @hold: how the packet uses engine->translation
 * @tail: returns the bytes of the packet's variable part; NULL = there is none
 * @validate: checks everything that can be refused before the first effect
 * @execute: carries out the effect; NULL = not supported. Like @validate returns a fault
 *	reason, %VIRTIO_PAGODA_FAULT_NONE for success; @execute may also return PAGODA_STOPPED
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
	bool snooped;				/* current span: VRAM or snooped aperture page */
	u64 address;				/* offset of the next byte in segment or @run */
	u64 left;				/* bytes that follow the current span */
	const struct virtio_pagoda_run *run;	/* next run of pages in system memory */
	u8 *const *span;			/* @run's entry of run->spans, NULL without spans */
	u8 *here;				/* unused rest of the current span */
	u64 here_size;
	u8 *tail;				/* last line, cut off by the combiner: next span */
	u64 tail_size;
};

/*
 * memory.c: stores a fault; checks and finds the memory of a segment's addresses and of run lists.
 * u32 results: a fault reason or 0.
 */
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

/* dirty.c: dirty tracking; pagoda_engine_wrote() follows all stores to VRAM but those of resets */
void pagoda_engine_wrote(struct pagoda_engine *engine, const void *here, u64 size);
void pagoda_engine_cleaned(struct pagoda_engine *engine, const void *here, u64 size);
bool pagoda_engine_is_dirty(const struct pagoda_engine *engine, const u8 *here, u64 *size,
			    const u8 *start, u64 whole);
u32 pagoda_engine_dirty_flags_check(struct pagoda_exec *exec, u16 flags, u64 size, bool into,
				    bool out);
void pagoda_engine_dirty_reset(struct pagoda_engine *engine);

/* combine.c: redirect a queue's writes to lines of its write combiner; write lines back */
void pagoda_engine_combine_meet(struct pagoda_exec *exec, const u8 *here, u64 size);
void pagoda_engine_combine_write(struct pagoda_exec *exec, u8 **here, u64 *size, bool last);
void pagoda_engine_combine_drain(struct pagoda_engine *engine, u32 number);
void pagoda_engine_combine_drain_all(struct pagoda_engine *engine, u32 first);

/* root.c: limit of a root table's entries; check of the engine's address spaces */
u64 pagoda_engine_root_limit(const struct pagoda_engine *engine);
bool pagoda_engine_roots_valid(const struct pagoda_engine *engine);

/* tlb.c: find, cache and drop translations; FLUSH_TLB. u32 results: a fault reason or 0. */
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
 * @here: address of the first byte; NULL = a page of zeros: reads get zeros, writes are dropped
 * @size: contiguous bytes, of a page or of consecutive pages
 * @page_size: bytes of virtual addresses that each page-table entry translates
 * @segment: segment of the memory; SYSTEM for a page of zeros
 * @combined: the memory isn't snooped: accesses to @here use the write combiner
 */
struct pagoda_virtual_span {
	u8 *here;
	u64 size;
	u64 page_size;
	u32 segment;
	bool combined;
};

/* Requirements for the pages of a source or destination; pages of zeros suit any segment. */
#define PAGODA_VIRTUAL_64K	0x1u	/* requires pages of 64 KiB or more (C73) */
#define PAGODA_VIRTUAL_NOT_64K	0x2u	/* requires pages of any size but 64 KiB (C73) */
#define PAGODA_VIRTUAL_LOCAL	0x4u	/* requires pages in VRAM (C74) */
#define PAGODA_VIRTUAL_SYSTEM	0x8u	/* requires pages in system memory or the aperture (C74) */

/*
 * walk.c: finds memory by virtual addresses, with the translation lock held for reading. The memory
 * found is valid until the packet or command ends or pauses (pagoda_engine_translation_pause()).
 * u32 results: a fault reason or 0.
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

/*
 * aperture.c: check and find memory by aperture addresses; MAP_ and UNMAP_APERTURE_SEGMENT.
 * u32 results: a fault reason or 0.
 */
u32 pagoda_engine_aperture_check(struct pagoda_exec *exec, u64 address, u64 size,
				 u32 generation, u32 access);
u32 pagoda_engine_aperture_span(struct pagoda_exec *exec, struct pagoda_cursor *cursor);
u64 pagoda_engine_map_tail(const void *packet);
u32 pagoda_engine_map_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map2_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_map_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_unmap_execute(struct pagoda_exec *exec, const void *packet);

/* device_mmu.c: translate device addresses; MAP_MMU, UNMAP_MMU; u32 results: fault reason or 0 */
bool pagoda_engine_mmu_valid(const struct pagoda_engine *engine);
u32 pagoda_engine_mmu_translate(const struct pagoda_exec *exec, u64 address, u64 want,
				u32 access, u64 *bus, u64 *size, bool *read_only);
u64 pagoda_engine_mmu_limit(const struct pagoda_exec *exec, u32 *reason);
u64 pagoda_engine_mmu_tail(const void *packet);
u32 pagoda_engine_mmu_map_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_map_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_unmap_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_mmu_unmap_execute(struct pagoda_exec *exec, const void *packet);

/* transfer.c: TRANSFER; u32 results: a fault reason or 0; _execute: or PAGODA_STOPPED */
u64 pagoda_engine_transfer_runs(const struct virtio_pagoda_transfer *transfer);
u32 pagoda_engine_transfer_size_check(struct pagoda_exec *exec,
				      const struct virtio_pagoda_transfer *transfer);
u64 pagoda_engine_transfer_tail(const void *packet);
u32 pagoda_engine_transfer_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_transfer_execute(struct pagoda_exec *exec, const void *packet);

/*
 * swizzle.c: tiled surfaces, swizzling ranges and SPECIAL_LOCK_TRANSFER. u32 results: a fault
 * reason or 0; _copy: or PAGODA_STOPPED.
 */
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

/*
 * fill.c: fills memory or VRAM with a pattern; FILL and DISCARD_CONTENT. u32 results: a fault
 * reason or 0; FILL's _execute: or PAGODA_STOPPED.
 */
void pagoda_engine_fill_words(u8 *here, u32 size, u32 pattern);
void pagoda_engine_fill_vram(struct pagoda_engine *engine, u64 address, u64 size, u32 pattern);
u32 pagoda_engine_fill_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_fill_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_discard_execute(struct pagoda_exec *exec, const void *packet);

/*
 * physical.c: READ_PHYSICAL, WRITE_PHYSICAL and SIGNAL_MONITORED_FENCE, which access up to 8 bytes;
 * return a fault reason or 0
 */
u32 pagoda_engine_physical_validate_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_validate_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_read(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_physical_write(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_signal_execute(struct pagoda_exec *exec, const void *packet);

/*
 * context.c: save areas of contexts: INIT_CONTEXT_RESOURCE and UPDATE_CONTEXT_ALLOCATION. u32
 * results: a fault reason or 0.
 */
u64 pagoda_engine_init_context_tail(const void *packet);
u32 pagoda_engine_init_context_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_init_context_execute(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_update_context_tail(const void *packet);
u32 pagoda_engine_update_context_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_update_context_execute(struct pagoda_exec *exec, const void *packet);

/* notify.c: notices; _execute is for all kinds of notices; u32 results: a fault reason or 0 */
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
 * @access: kind of the accesses to @space
 * @span: memory found at @va and not used yet; valid until the translation lock is released
 * @notes: spans stored for the addresses from @va + span.size on, NULL = none are stored
 */
struct pagoda_span_side {
	u64 va;
	u32 space;
	u32 access;
	struct pagoda_virtual_span span;
	struct pagoda_notes *notes;
};

/*
 * virtual.c: copies and fills by virtual addresses, also for commands; VIRTUAL_TRANSFER and
 * VIRTUAL_FILL. u32 results: a fault reason or 0.
 */
u32 pagoda_engine_side_refill(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 want);
void pagoda_engine_side_ahead(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 size);
u32 pagoda_engine_virtual_copy(struct pagoda_exec *exec, struct pagoda_span_side *src,
			       struct pagoda_span_side *dst, u64 left, u16 flags);
u32 pagoda_engine_virtual_fill(struct pagoda_exec *exec, struct pagoda_span_side *dst, u64 want,
			       u32 pattern, u64 *size);
u32 pagoda_engine_virtual_transfer_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_transfer_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_fill_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_virtual_fill_execute(struct pagoda_exec *exec, const void *packet);

/* table.c: UPDATE_PAGE_TABLE, COPY_PAGE_TABLE_ENTRIES; u32 results: a fault reason or 0 */
u64 pagoda_engine_update_tail(const void *packet);
u32 pagoda_engine_update_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_update_execute(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_copy_entries_tail(const void *packet);
u32 pagoda_engine_copy_entries_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_copy_entries_execute(struct pagoda_exec *exec, const void *packet);

/* command.c: executes a job's commands. Returns 0, a fault reason or PAGODA_STOPPED. */
u32 pagoda_engine_job(struct pagoda_exec *exec);

/* Advances a source or destination by @size bytes, at most side->span.size. */
static inline void pagoda_side_advance(struct pagoda_span_side *side, u64 size)
{
	side->va += size;
	side->span.size -= size;
	if (side->span.here)
		side->span.here += size;
}

/*
 * Returns the offset of byte @column of row @row in a tiled mip level with rows of @pitch bytes;
 * the bytes that follow in the tile's row are contiguous. Tiles are 2^@shift bytes wide and
 * 2^@shift rows high.
 */
static inline u64 pagoda_tile_offset(u64 pitch, u32 shift, u64 row, u64 column)
{
	u64 inside = (1ull << shift) - 1;

	return (row & ~inside) * pitch + ((row & inside) << shift) +
	       ((column & ~inside) << shift) + (column & inside);
}

/* Returns log2 of the width in bytes of a tile of @tiling, which isn't linear. */
static inline u32 pagoda_tile_shift(u32 tiling)
{
	return __builtin_ctz(tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
								VIRTIO_PAGODA_TILE_64K_WIDTH);
}

/* Returns whether the device MMU is on, which translates device addresses to bus addresses. */
static inline bool pagoda_translates(const struct pagoda_engine *engine)
{
	return engine->mmu && engine->features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU;
}

/*
 * Returns whether writes of the buffer being executed may be combined: with F_WRITE_COMBINER those
 * of the paging queue's packets and of jobs, but not of packets of an execution queue.
 */
static inline bool pagoda_engine_combines(const struct pagoda_exec *exec)
{
	const struct pagoda_engine_run *run = exec->run;
	u64 features = exec->engine->features;

	return features & 1ull << VIRTIO_PAGODA_F_WRITE_COMBINER &&
	       run->tlb < PAGODA_ENGINE_COMBINERS &&
	       (run->kind == PAGODA_ENGINE_QUEUE_PAGING ||
		(run->context && features & 1ull << VIRTIO_PAGODA_F_EXECUTE));
}

/* Returns whether the write combiner of the queue that executes may hold writes. */
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

/* Copies memory; source and destination may overlap, as their addresses may lead to one page. */
static inline void pagoda_copy(u8 *dst, const u8 *src, size_t size)
{
	if (likely(dst + size <= src || src + size <= dst))
		memcpy(dst, src, size);
	else
		memmove(dst, src, size);
}

/*
 * Counts @bytes of work, and yields the CPU after each PAGODA_CHUNK. Then returns PAGODA_STOPPED if
 * a packet of an execution queue has to stop in the middle; the paging queue stops between packets.
 * Returns 0 otherwise.
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
 * Finds the memory at @address of the system segment, a device address or bus address. *@here
 * receives the memory, and *@got how many of @want bytes (not zero) are contiguous. Returns a fault
 * reason, which isn't stored in run->fault, or 0. All accesses to system memory begin here; memory
 * within the last lookup's result isn't looked up again.
 */
static inline u32 pagoda_system_span(struct pagoda_exec *exec, u64 address, u64 want,
				     u32 access, u8 **here, u64 *got)
{
	u64 skip = address - exec->window_bus;

	/*
	 * The memory at exec->window ends where the last lookup ended. More contiguous memory may
	 * follow, so that an access beyond the end is looked up.
	 */
	if (likely(skip < exec->window_size) && likely(want <= exec->window_size - skip) &&
	    likely(!exec->window_read_only || access != VIRTIO_PAGODA_ACCESS_WRITE)) {
		*got = want;
		*here = exec->window + skip;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	return pagoda_engine_system_lookup(exec, address, want, access, here, got);
}

/*
 * Drops the translations that @exec keeps, and the memory that the packet's check found for virtual
 * addresses (@exec->notes); with a device MMU also the memory that the last lookup of system memory
 * found (@exec->window). TLBs keep their translations.
 */
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
 * Releases the translation lock for a moment, so that other threads can change translations. If
 * another thread did, drops the translations and the memory that the packet or command has found.
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

/* Returns whether a level-1 page-table entry has two words: for a 4 KiB and a 64 KiB leaf table. */
static inline bool pagoda_engine_dual(const struct pagoda_engine *engine)
{
	return engine->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
}

/* Returns log2 of the bytes of virtual addresses that a page-table entry of @level translates. */
static inline u32 pagoda_engine_level_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS * level;
}

#endif
