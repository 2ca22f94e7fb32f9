/* SPDX-License-Identifier: GPL-2.0 */
/* What the engine's files share with each other and nobody else. */
#ifndef PAGODA_VGPU_ENGINE_INTERNAL_H
#define PAGODA_VGPU_ENGINE_INTERNAL_H

#include "engine.h"

#define PAGODA_PAGE		((u64)VIRTIO_PAGODA_PAGE_SIZE)
/* Bytes copied or filled before others get a chance to run. */
#define PAGODA_CHUNK		0x100000u
/* Instead of a fault reason: the run was asked to stop. */
#define PAGODA_STOPPED		VIRTIO_PAGODA_FAULT_COUNT
/* Page-table entries written with the translation lock held. */
#define PAGODA_UPDATE_CHUNK	0x10000u

/*
 * struct pagoda_translation - What an address translates to
 * @entry: page-table entry in CPU order, 0 = invalid
 * @size: bytes that share it, a power of two; the address's part of the space
 * @level: of the entry, or where the walk stopped
 */
struct pagoda_translation {
	u64 entry;
	u64 size;
	u32 level;
};

/*
 * struct pagoda_leaf - What a walk found at level 1, for the addresses next to it
 * @tag: address space and 2 MiB of it, 0 = nothing
 * @table: the 4 KiB and the 64 KiB leaf table, NULL = @side says it all
 * @side: each one's level-1 entry
 */
struct pagoda_leaf {
	u64 tag;
	const u64 *table[2];
	struct pagoda_translation side[2];
};

/*
 * struct pagoda_ahead - A translation that was found on the way to what ends a span
 * @va: the address
 * @space: its address space
 * @access: what it was asked for, PAGODA_ACCESS_NONE = nothing is kept
 * @found: the translation
 */
struct pagoda_ahead {
	u64 va;
	u32 space;
	u32 access;
	struct pagoda_translation found;
};

/*
 * struct pagoda_notes - Memory that the check of a virtual range found, span by span
 * @next: first byte of the next span and the byte behind its last, and so on
 * @end: behind the last of these; what follows in the range wasn't noted
 * @limit: behind the room there is, NULL = no more is noted
 * @combined: all of it is memory whose writes are combined, else none of it
 */
struct pagoda_notes {
	u8 **next;
	u8 **end;
	u8 **limit;
	bool combined;
};

/*
 * struct pagoda_exec - A packet being executed, on the stack of its queue
 * @window_*: last answer of the lookup of system memory: a page list that is
 *	validated, then executed, or runs next to each other, ask only once. With a
 *	device MMU it is good for this packet only
 * @bus: addresses of system memory are bus addresses even with a device MMU
 * @spans: where the next run's memory is noted, NULL = nowhere
 * @half: stop after half of the effect (failure injection)
 * @since: bytes since pagoda_shim_yield()
 * @skipped: packets of the buffer before the first one executed
 * @leaves: where the walks for reads and those for writes were last
 * @ahead: and what they found behind the last span
 * @notes: what the checks of VIRTUAL_TRANSFER's sides found, in the run's spans
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
 * enum pagoda_hold - What a packet has to do with engine->translation, which is
 * taken before it is validated and released after it was executed: no operation
 * takes it by itself
 * @PAGODA_HOLD_SYSTEM: uses no virtual address; held for reading if there is a
 *	device MMU
 * @PAGODA_HOLD_VIRTUAL: may walk page tables, or drains the queue's write combiner; held
 *	for reading
 * @PAGODA_HOLD_CHANGE: makes translations of others untrue; held for writing, so
 *	that when it executes no access is under way (C103, C121)
 */
enum pagoda_hold {
	PAGODA_HOLD_SYSTEM,
	PAGODA_HOLD_VIRTUAL,
	PAGODA_HOLD_CHANGE,
};

/*
 * struct pagoda_op - A row of the operation table
 * @size: bytes of the packet without what its counts call for
 * @flags: flags that may be set
 * @exec: allowed on execution queues, not only on the paging queue
 * @bus: its runs are bus addresses, not device addresses
 * @hold: what it does with translations
 * @tail: bytes behind the fixed part; NULL = none
 * @validate: everything that can be refused before the first effect
 * @execute: the effect; NULL = not supported. Both return a fault reason,
 *	%VIRTIO_PAGODA_FAULT_NONE when all is well
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

extern const struct pagoda_op pagoda_engine_table[VIRTIO_PAGODA_OP_COUNT];

/* A place in memory that is walked from span to span. */
struct pagoda_cursor {
	u32 segment;
	u32 access;
	u32 generation;
	bool combines;				/* goes through the write combiner, unless */
	bool snooped;				/* this part of it is mapped as coherent */
	u64 address;				/* next byte: VRAM, aperture */
	u64 left;				/* bytes behind @here */
	const struct virtio_pagoda_run *run;	/* next run: system memory */
	u8 *const *span;			/* and what its check found out */
	u8 *here;
	u64 here_size;
	u8 *tail;				/* what of the last span comes next */
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
 * @here: its first byte; NULL = zeros: reads give zeros, writes are dropped
 * @size: bytes that follow in a row, of one page or of consecutive ones
 * @page_size: bytes each page has
 * @segment: where they are; SYSTEM for zeros
 * @combined: the entry doesn't ask for snooping: what uses @here goes by way of the write
 *	combiner
 */
struct pagoda_virtual_span {
	u8 *here;
	u64 size;
	u64 page_size;
	u32 segment;
	bool combined;
};

/* What a side of an operation wants of its pages; zeros are all segments at once. */
#define PAGODA_VIRTUAL_64K	0x1u	/* 64 KiB or larger ones (C73) */
#define PAGODA_VIRTUAL_NOT_64K	0x2u	/* any but 64 KiB ones (C73) */
#define PAGODA_VIRTUAL_LOCAL	0x4u	/* in VRAM (C74) */
#define PAGODA_VIRTUAL_SYSTEM	0x8u	/* in system memory or the aperture (C74) */

/*
 * walk.c: places in address spaces, for operations of PAGODA_HOLD_VIRTUAL. What is
 * found is good until the packet ends or pauses (pagoda_engine_translation_pause()).
 */
u32 pagoda_engine_virtual_span(struct pagoda_exec *exec, u32 space, u64 va, u64 want,
			       u32 access, struct pagoda_virtual_span *span);
u32 pagoda_engine_virtual_address_resolve(struct pagoda_exec *exec, u32 space, u64 va,
					  u32 size, u32 access, u8 **here);
u32 pagoda_engine_virtual_store_resolve(struct pagoda_exec *exec, u32 space, u64 va, u32 size,
					u8 **here);
void pagoda_engine_note(struct pagoda_notes *notes, const struct pagoda_virtual_span *span);
/* Every page of a range, without touching it; may pause. @notes: filled, or NULL. */
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

/*
 * device_mmu.c: what a device address (with exec->bus: a bus address) translates to.
 * @size receives how many bytes, at most @want, follow there in a row.
 */
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

/* notify.c; execute takes any notice */
u32 pagoda_engine_notify_execute(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_residency_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_residency2_validate(struct pagoda_exec *exec, const void *packet);
u64 pagoda_engine_fence_residency_tail(const void *packet);
u32 pagoda_engine_fence_residency_validate(struct pagoda_exec *exec, const void *packet);
u32 pagoda_engine_notify_alloc_validate(struct pagoda_exec *exec, const void *packet);

/*
 * struct pagoda_span_side - A place in an address space that is walked
 * @va: first byte of @span
 * @space: address space
 * @access: what is done to it
 * @span: memory found there and not used yet; good as long as what is found is
 * @notes: what a check found from there on, NULL = there was none
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

/* command.c: the commands a request leads to. Returns a fault reason or PAGODA_STOPPED. */
u32 pagoda_engine_job(struct pagoda_exec *exec);

/* @size bytes at the side are used up; the span has as many. */
static inline void pagoda_side_advance(struct pagoda_span_side *side, u64 size)
{
	side->va += size;
	side->span.size -= size;
	if (side->span.here)
		side->span.here += size;
}

/*
 * Where byte @column of @row is in a mip level of that pitch, tiled; what follows in the
 * row of the tile follows there. Tiles are 2^@shift bytes wide and have as many rows.
 */
static inline u64 pagoda_tile_offset(u64 pitch, u32 shift, u64 row, u64 column)
{
	u64 inside = (1ull << shift) - 1;

	return (row & ~inside) * pitch + ((row & inside) << shift) +
	       ((column & ~inside) << shift) + (column & inside);
}

/* Log2 of the width of a tile of a tiling that isn't linear. */
static inline u32 pagoda_tile_shift(u32 tiling)
{
	return __builtin_ctz(tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
								VIRTIO_PAGODA_TILE_64K_WIDTH);
}

/* Whether addresses of system memory are device addresses for this driver. */
static inline bool pagoda_translates(const struct pagoda_engine *engine)
{
	return engine->mmu && engine->features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU;
}

/* Whether writes of the run to memory that isn't snooped are combined. */
static inline bool pagoda_engine_combines(const struct pagoda_exec *exec)
{
	const struct pagoda_engine_run *run = exec->run;
	u64 features = exec->engine->features;

	return features & 1ull << VIRTIO_PAGODA_F_WRITE_COMBINER &&
	       run->tlb < PAGODA_ENGINE_COMBINERS &&
	       (run->kind == PAGODA_ENGINE_QUEUE_PAGING ||
		(run->context && features & 1ull << VIRTIO_PAGODA_F_EXECUTE));
}

/* Whether the run's queue wrote something that may not be in memory yet. */
static inline bool pagoda_engine_has_lines(const struct pagoda_exec *exec)
{
	u32 number = exec->run->tlb;

	return number < PAGODA_ENGINE_COMBINERS && exec->engine->combiners[number].used;
}

/* Was the run told to stop? */
static inline bool pagoda_stopped(const struct pagoda_exec *exec)
{
	return exec->run->stop && READ_ONCE(*exec->run->stop);
}

/* Refuses a value that isn't the address of an access. */
static inline u32 pagoda_refuse(struct pagoda_exec *exec, u32 reason, u64 value)
{
	return pagoda_engine_refuse(exec, reason, value, VIRTIO_PAGODA_ACCESS_NONE);
}

/* Aliases get through validation, so memory may overlap after all. */
static inline void pagoda_copy(u8 *dst, const u8 *src, size_t size)
{
	if (likely(dst + size <= src || src + size <= dst))
		memcpy(dst, src, size);
	else
		memmove(dst, src, size);
}

/*
 * Counts work done, lets others run now and then, and hears then whether to stop: an
 * execution queue does so in the middle of a packet, the paging queue behind it.
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
 * Memory behind an address of the system segment, whatever kind of address that is:
 * how many of @want bytes (not zero) follow from there. The one way to system memory;
 * returns a fault reason that the caller refuses the packet with. Like
 * pagoda_engine_system_lookup(), which it spares for the window at hand.
 */
static inline u32 pagoda_system_span(struct pagoda_exec *exec, u64 address, u64 want,
				     u32 access, u8 **here, u64 *got)
{
	u64 skip = address - exec->window_bus;

	/* A window that ends early was asked for that much: it isn't all there is. */
	if (likely(skip < exec->window_size) && likely(want <= exec->window_size - skip) &&
	    likely(!exec->window_read_only || access != VIRTIO_PAGODA_ACCESS_WRITE)) {
		*got = want;
		*here = exec->window + skip;
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	return pagoda_engine_system_lookup(exec, address, want, access, here, got);
}

/* Translations and, with a device MMU, memory found before aren't used any more. */
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
 * Lets those who wait to change translations go first: a packet of
 * PAGODA_HOLD_VIRTUAL does so after each PAGODA_CHUNK, with no memory at hand. If
 * there was nobody, all that was found is as good as before.
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

/* Like pagoda_progress(), and lets flushers go first: what they change isn't used any more. */
static inline void pagoda_virtual_progress(struct pagoda_exec *exec, u32 bytes)
{
	exec->run->bytes += bytes;
	exec->since += bytes;
	if (exec->since >= PAGODA_CHUNK) {
		exec->since = 0;
		pagoda_engine_translation_pause(exec);
	}
}

/* Level-1 entries are two words: the 4 KiB table's and the 64 KiB table's. */
static inline bool pagoda_engine_dual(const struct pagoda_engine *engine)
{
	return engine->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
}

/* Log2 of what an entry covers. */
static inline u32 pagoda_engine_level_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS * level;
}

#endif
