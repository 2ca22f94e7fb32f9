// SPDX-License-Identifier: GPL-2.0
/*
 * Moves by virtual addresses: in GPU_VIRTUAL mode VIRTUAL_TRANSFER and VIRTUAL_FILL replace
 * TRANSFER and FILL. move_steps.c walks over the pieces.
 *
 * The memory of a piece is mapped into the scratch windows of the paging process, one for the
 * source and one for the destination, copied or filled there, and unmapped, all in the move's
 * transaction:
 *
 *	UPDATE_PAGE_TABLE	source, destination
 *	FLUSH_TLB		(C72)
 *	VIRTUAL_TRANSFER	or VIRTUAL_FILL
 *	UPDATE_PAGE_TABLE	both invalid
 *	FLUSH_TLB		(C78)
 *
 * In the windows a piece has consecutive addresses, however fragmented its memory is (C71). Memory
 * with an address in the aperture is mapped by its pages, not through the aperture: so the CPU
 * executor reaches the memory, too, and a single translation is enough.
 *
 * Every packet may be repeated with the same result, so a buffer can be resumed at any packet. When
 * the rest of a buffer is given up the CPU invalidates the windows (pagoda_process_lost()): later
 * operations don't find mappings that were meant for the lost part.
 *
 * Bytes of an allocation that only one driver protection may map (PAGODA_PROTECTION_UNIQUE) have
 * that protection in the windows, too (C143): a piece ends where such a protection begins, ends or
 * changes. Other bytes may be mapped with several protections, and have protection 0 in the
 * windows.
 *
 * A virtual operation can't report that the allocation is busy, so TRANSFER is used for allocations
 * with set-up that can't be queued (pagoda_swizzle_needs_idle()); and also for copies that convert
 * between tiles and rows (move_plan_virtual()).
 */
#include <linux/slab.h>
#include "core/core.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"

static_assert(PAGODA_PIECE_BYTES <= PAGODA_SCRATCH_BYTES);
static_assert(PAGODA_PIECE_BYTES % SZ_64K == 0);

/*
 * Returns whether an allocation may be moved by VIRTUAL_TRANSFER and VIRTUAL_FILL: in GPU_VIRTUAL
 * mode, unless the move needs a set-up that can't be queued. The reservation is held.
 */
bool pagoda_virtual_wanted(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo)
{
	return vidmm->mmu && !pagoda_swizzle_needs_idle(bo, VIRTIO_PAGODA_OP_TRANSFER) &&
	       pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
}

static bool side_is_vram(const struct ttm_resource *res)
{
	return res && res->mem_type == TTM_PL_VRAM;
}

static int side_init(struct pagoda_move_side *side, struct ttm_resource *res)
{
	if (!side_is_vram(res))
		return 0;
	side->extents = kvmalloc_array(pagoda_vram_count_ranges(res), sizeof(*side->extents),
				       GFP_KERNEL_ACCOUNT);
	return side->extents ? 0 : -ENOMEM;
}

/*
 * Allocates the arrays that a move by virtual addresses needs. Returns 0 or -ENOMEM; the caller
 * calls pagoda_virtual_fini() in any case.
 */
int pagoda_virtual_init(struct pagoda_move *m)
{
	int ret = pagoda_unique_of(m->bo, &m->virtual.unique, &m->virtual.nr_unique);

	ret = ret ?: side_init(&m->side[PAGODA_SCRATCH_SOURCE], m->src);
	return ret ?: side_init(&m->side[PAGODA_SCRATCH_DESTINATION], m->dst);
}

/* Frees the arrays of pagoda_virtual_init(), if that was called. */
void pagoda_virtual_fini(struct pagoda_move *m)
{
	u32 i;

	for (i = 0; i < PAGODA_SCRATCH_COUNT; i++)
		kvfree(m->side[i].extents);
	kvfree(m->virtual.unique);
}

/*
 * &pagoda_emit.emit for operations that map or unmap a scratch window. These are valid and never
 * busy, so there should be no error; the first error is kept in the move's &pagoda_virtual.ret.
 */
static void virtual_emit(void *arg, struct pagoda_paging_op *op)
{
	struct pagoda_move *m = arg;
	int ret = pagoda_stream_emit(m->txn, op);

	WARN_ON_ONCE(ret);
	m->virtual.ret = m->virtual.ret ?: ret;
}

/*
 * Returns the flags of the page table entries that map the source or the destination of a move in
 * @window, a scratch window. The device snoops system pages that the CPU caches, but not VRAM; the
 * source is read-only.
 */
static u64 side_flags(struct pagoda_move *m, u32 window)
{
	u64 flags = PAGODA_PTE_NO_EXECUTE;

	if (window == PAGODA_SCRATCH_SOURCE)
		flags |= PAGODA_PTE_READ_ONLY;
	if (!side_is_vram(m->side[window].res) && pagoda_bo_is_coherent(m->bo))
		flags |= PAGODA_PTE_CACHE_COHERENT;
	return flags;
}

/*
 * Fills @side->extents with the ranges of the next @size bytes in VRAM, advances @side->vram behind
 * these, and returns the number of extents.
 */
static u32 side_collect(struct pagoda_move_side *side, u64 size)
{
	u32 nr = 0;

	while (size) {
		u64 part = min(side->vram.size, size);

		side->extents[nr++] = (struct pagoda_map_extent) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = side->vram.address,
			.size = part,
		};
		pagoda_vram_next(&side->vram, part);
		size -= part;
	}
	return nr;
}

/*
 * Returns the driver protection (WDDM's DriverProtection of a mapping) of byte @done of a move by
 * virtual addresses, and reduces *@size so that the bytes [@done, @done + *@size) have one
 * protection. @done never decreases in a run of the move's steps.
 */
static u64 virtual_protection(struct pagoda_virtual *virtual, u64 done, u64 *size)
{
	const struct pagoda_unique *unique;

	while (virtual->at_unique < virtual->nr_unique &&
	       virtual->unique[virtual->at_unique].end <= done)
		virtual->at_unique++;
	if (virtual->at_unique == virtual->nr_unique)
		return 0;
	unique = &virtual->unique[virtual->at_unique];
	if (unique->start > done) {
		*size = min(*size, unique->start - done);
		return 0;
	}
	*size = min(*size, unique->end - done);
	return unique->value;
}

/*
 * Emits operations that map bytes [@done, @done + @size) of the source or destination in @window,
 * its scratch window, and returns the virtual address of byte @done. In VRAM that byte is where the
 * side's cursor is, which advances. Sets *@large to whether the mapping has 64 KiB pages.
 */
static u64 virtual_map(struct pagoda_move *m, u32 window, u64 done, u64 size,
		       const struct pagoda_emit *emit, bool *large)
{
	struct pagoda_move_side *side = &m->side[window];
	u64 protection = virtual_protection(&m->virtual, done, &size);
	struct pagoda_map map = {
		.size = size,
		.kind = PAGODA_MAP_MEMORY,
		.flags = side_flags(m, window),
		.driver_protection = protection,
		.allocation = m->bo->id,
		.allocation_offset = done,
	};
	struct pagoda_adl pages;

	if (side_is_vram(side->res)) {
		map.extents = side->extents;
		map.nr_extents = side_collect(side, size);
	} else {
		pagoda_bo_adl(m->bo, &pages);
		map.adl = &pages;
		map.adl_offset = done >> PAGE_SHIFT;
	}
	return pagoda_process_map(m->vidmm->mmu, window, &map, large, emit);
}

static const void *virtual_cpu_pages(struct pagoda_move *m, u32 window, u64 done)
{
	if (side_is_vram(m->side[window].res))
		return NULL;
	return &m->bo->ttm.ttm->pages[done >> PAGE_SHIFT];
}

static u32 virtual_direction(const struct pagoda_move *m)
{
	if (!side_is_vram(m->src))
		return VIRTIO_PAGODA_SYSTEM_TO_LOCAL;
	return side_is_vram(m->dst) ? VIRTIO_PAGODA_LOCAL_TO_LOCAL : VIRTIO_PAGODA_LOCAL_TO_SYSTEM;
}

/*
 * Emits the copy or fill of a piece, of @size bytes, if the move has a transaction; else adds to
 * @m->cost the cost of @op and of mapping and unmapping the windows. Returns 0 or a negative errno.
 */
static int virtual_op(struct pagoda_move *m, struct pagoda_paging_op *op, u64 size)
{
	struct pagoda_vidmm *vidmm = m->vidmm;
	int ret;

	op->allocation = m->bo->id;
	if (m->txn) {
		ret = pagoda_stream_emit(m->txn, op);
		return m->virtual.ret ?: ret;
	}
	pagoda_cost_add(&m->cost,
			pagoda_process_cost(vidmm->mmu, size, pagoda_stream_room(vidmm)), 1);
	pagoda_cost_add(&m->cost, pagoda_stream_cost(vidmm, op), 1);
	return 0;
}

/*
 * Transfers a piece of the allocation that begins at byte @done: at most *@size bytes; reduces
 * *@size to the piece's size. @tracking: VIRTIO_PAGODA_TRANSFER_CLEAN, _DIRTY or 0. In a run of the
 * move's steps the calls follow each other and cover the allocation once (C70). Returns 0 or a
 * negative errno. Without a transaction only adds up the cost.
 */
int pagoda_virtual_transfer(struct pagoda_move *m, u64 done, u64 *size, u32 tracking)
{
	const struct pagoda_emit emit = { .emit = virtual_emit, .arg = m };
	struct pagoda_mmu *mmu = m->vidmm->mmu;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.allocation_offset = done,
			.flags = tracking,
			.direction = virtual_direction(m),
			.src_pages = virtual_cpu_pages(m, PAGODA_SCRATCH_SOURCE, done),
			.dst_pages = virtual_cpu_pages(m, PAGODA_SCRATCH_DESTINATION, done),
		},
	};
	bool large;
	int ret;

	virtual_protection(&m->virtual, done, size);
	op.virtual_transfer.size = *size;
	if (!m->txn)
		return virtual_op(m, &op, *size);
	op.virtual_transfer.src_address = virtual_map(m, PAGODA_SCRATCH_SOURCE, done, *size, &emit,
						      &large);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_SRC_64K : 0;
	op.virtual_transfer.dst_address = virtual_map(m, PAGODA_SCRATCH_DESTINATION, done, *size,
						      &emit, &large);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_DST_64K : 0;
	pagoda_process_flush(mmu, &emit);
	ret = virtual_op(m, &op, *size);
	pagoda_process_unmap(mmu, &emit);
	return ret;
}

/*
 * Fills a part of the destination with zeros, from byte @done on, which is the position of the
 * destination's walk: at most PAGODA_PIECE_BYTES, up to VRAM known to hold zeros (C45), or to where
 * the driver protection changes. Advances the walk behind that part. Returns 0 or a negative errno.
 * Without a transaction only adds up the cost.
 */
int pagoda_virtual_fill(struct pagoda_move *m, u64 done)
{
	const struct pagoda_emit emit = { .emit = virtual_emit, .arg = m };
	struct pagoda_move_side *side = &m->side[PAGODA_SCRATCH_DESTINATION];
	struct pagoda_vram_cursor ahead = side->vram;
	struct pagoda_mmu *mmu = m->vidmm->mmu;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_FILL,
		.virtual_fill.allocation_offset = done,
	};
	u64 size = 0;
	bool large;
	int ret;

	while (ahead.size && !ahead.clean && size < PAGODA_PIECE_BYTES) {
		size += ahead.size;
		pagoda_vram_next(&ahead, ahead.size);
	}
	size = min_t(u64, size, PAGODA_PIECE_BYTES);
	virtual_protection(&m->virtual, done, &size);
	op.virtual_fill.size = size;
	if (!m->txn) {
		side_collect(side, size);
		return virtual_op(m, &op, size);
	}
	op.virtual_fill.address = virtual_map(m, PAGODA_SCRATCH_DESTINATION, done, size, &emit,
					      &large);
	pagoda_process_flush(mmu, &emit);
	ret = virtual_op(m, &op, size);
	pagoda_process_unmap(mmu, &emit);
	return ret;
}
