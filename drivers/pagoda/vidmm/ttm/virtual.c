// SPDX-License-Identifier: GPL-2.0
/*
 * Moves by virtual addresses: what GPU_VIRTUAL mode makes of TRANSFER and FILL.
 *
 * A piece is mapped into the scratch windows of the paging process, used, and
 * unmapped again, all in the move's transaction:
 *
 *	UPDATE_PAGE_TABLE	source, destination
 *	FLUSH_TLB		(C72)
 *	VIRTUAL_TRANSFER	or VIRTUAL_FILL
 *	UPDATE_PAGE_TABLE	both invalid
 *	FLUSH_TLB		(C78)
 *
 * In the windows a piece is consecutive, however fragmented the memory is (C71).
 * What has an address in the aperture is mapped by its pages and not through the
 * aperture: that way the CPU executor reaches it too, and one translation is enough.
 *
 * Every packet leaves what it found when it is repeated, so a buffer can go on from
 * any of them. When the rest of a buffer is given up the CPU invalidates the windows
 * (pagoda_process_lost()): nothing later finds what was meant for the lost part.
 *
 * Where an allocation is mapped with unique driver protection, so are the windows (C143):
 * a piece ends where that begins, ends or changes. Elsewhere it is 0, because one
 * allocation may be mapped with several values.
 *
 * A virtual operation can't answer that the allocation is busy, so allocations with
 * set-up that can't be queued (pagoda_swizzle_needs_idle()) keep TRANSFER.
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

/**
 * pagoda_virtual_wanted() - Shall an allocation be paged by virtual addresses?
 * @vidmm: The manager
 * @bo: Allocation; reservation held
 *
 * Context: Any.
 * Return: Whether VIRTUAL_TRANSFER and VIRTUAL_FILL are for it.
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

static int side_init(struct pagoda_virtual_side *side, struct ttm_resource *res)
{
	side->res = res;
	if (!side_is_vram(res))
		return 0;
	side->extents = kvmalloc_array(pagoda_vram_count_ranges(res), sizeof(*side->extents),
				       GFP_KERNEL_ACCOUNT);
	return side->extents ? 0 : -ENOMEM;
}

/**
 * pagoda_virtual_init() - Prepare a move by virtual addresses
 * @virtual: Filled; undone by pagoda_virtual_fini(), failed or not
 * @bo: Allocation, reservation held
 * @src: Where it is, or NULL
 * @dst: Where it goes
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int pagoda_virtual_init(struct pagoda_virtual *virtual, struct pagoda_bo *bo,
			struct ttm_resource *src, struct ttm_resource *dst)
{
	int ret;

	*virtual = (struct pagoda_virtual) { .bo = bo };
	ret = pagoda_unique_of(bo, &virtual->unique, &virtual->nr_unique);
	ret = ret ?: side_init(&virtual->side[PAGODA_SCRATCH_SOURCE], src);
	return ret ?: side_init(&virtual->side[PAGODA_SCRATCH_DESTINATION], dst);
}

/**
 * pagoda_virtual_fini() - Undo pagoda_virtual_init()
 * @virtual: The move
 *
 * Context: May sleep.
 */
void pagoda_virtual_fini(struct pagoda_virtual *virtual)
{
	u32 i;

	for (i = 0; i < PAGODA_SCRATCH_COUNT; i++)
		kvfree(virtual->side[i].extents);
	kvfree(virtual->unique);
}

/* What process.c emits is valid and never busy. */
static void virtual_emit(void *arg, struct pagoda_paging_op *op)
{
	struct pagoda_virtual *virtual = arg;
	int ret = pagoda_stream_emit(virtual->txn, op);

	WARN_ON_ONCE(ret);
	virtual->ret = virtual->ret ?: ret;
}

/* Snooping is for cached pages, and VRAM has none. */
static u64 side_flags(struct pagoda_virtual *virtual, u32 window)
{
	u64 flags = PAGODA_PTE_NO_EXECUTE;

	if (window == PAGODA_SCRATCH_SOURCE)
		flags |= PAGODA_PTE_READ_ONLY;
	if (!side_is_vram(virtual->side[window].res) && pagoda_bo_is_coherent(virtual->bo))
		flags |= PAGODA_PTE_CACHE_COHERENT;
	return flags;
}

/* @size bytes of VRAM from the cursor on, as extents */
static u32 side_collect(struct pagoda_virtual_side *side, u64 size)
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
 * What byte @done is mapped with in windows, and how many of @size bytes from there on are
 * mapped alike. Moves go forward.
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

/* Maps bytes [@done, @done + @size) of the allocation; VRAM sides go on from their cursor. */
static u64 virtual_map(struct pagoda_virtual *virtual, u32 window, u64 done, u64 size,
		       const struct pagoda_emit *emit, bool *large)
{
	struct pagoda_virtual_side *side = &virtual->side[window];
	u64 protection = virtual_protection(virtual, done, &size);
	struct pagoda_map map = {
		.size = size,
		.kind = PAGODA_MAP_MEMORY,
		.flags = side_flags(virtual, window),
		.driver_protection = protection,
		.allocation = virtual->bo->id,
		.allocation_offset = done,
	};
	struct pagoda_adl pages;

	if (side_is_vram(side->res)) {
		map.extents = side->extents;
		map.nr_extents = side_collect(side, size);
	} else {
		pagoda_bo_adl(virtual->bo, &pages);
		map.adl = &pages;
		map.adl_offset = done >> PAGE_SHIFT;
	}
	return pagoda_process_map(virtual->bo->vidmm->mmu, window, &map, large, emit);
}

static const void *virtual_cpu_pages(struct pagoda_virtual *virtual, u32 window, u64 done)
{
	if (side_is_vram(virtual->side[window].res))
		return NULL;
	return &virtual->bo->ttm.ttm->pages[done >> PAGE_SHIFT];
}

static u32 virtual_direction(const struct pagoda_virtual *virtual)
{
	if (!side_is_vram(virtual->side[PAGODA_SCRATCH_SOURCE].res))
		return VIRTIO_PAGODA_SYSTEM_TO_LOCAL;
	return side_is_vram(virtual->side[PAGODA_SCRATCH_DESTINATION].res) ?
		VIRTIO_PAGODA_LOCAL_TO_LOCAL : VIRTIO_PAGODA_LOCAL_TO_SYSTEM;
}

/* The costs of a piece, in the pass that adds them up; or the piece itself. */
static int virtual_piece(struct pagoda_virtual *virtual, struct pagoda_paging_op *op, u64 size)
{
	struct pagoda_vidmm *vidmm = virtual->bo->vidmm;
	int ret;

	op->allocation = virtual->bo->id;
	if (virtual->txn) {
		ret = pagoda_stream_emit(virtual->txn, op);
		return virtual->ret ?: ret;
	}
	pagoda_cost_add(virtual->cost,
			pagoda_process_cost(vidmm->mmu, size, pagoda_stream_room(vidmm)),
			1);
	pagoda_cost_add(virtual->cost, pagoda_stream_cost(vidmm, op), 1);
	return 0;
}

static int virtual_transfer_piece(struct pagoda_virtual *virtual, u64 done, u64 size)
{
	const struct pagoda_emit emit = { .emit = virtual_emit, .arg = virtual };
	struct pagoda_mmu *mmu = virtual->bo->vidmm->mmu;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.size = size,
			.allocation_offset = done,
			.direction = virtual_direction(virtual),
			.src_pages = virtual_cpu_pages(virtual, PAGODA_SCRATCH_SOURCE, done),
			.dst_pages = virtual_cpu_pages(virtual, PAGODA_SCRATCH_DESTINATION, done),
		},
	};
	bool large;
	int ret;

	if (!virtual->txn)
		return virtual_piece(virtual, &op, size);
	op.virtual_transfer.src_address = virtual_map(virtual, PAGODA_SCRATCH_SOURCE, done, size,
						      &emit, &large);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_SRC_64K : 0;
	op.virtual_transfer.dst_address = virtual_map(virtual, PAGODA_SCRATCH_DESTINATION, done,
						      size, &emit, &large);
	op.virtual_transfer.flags |= large ? VIRTIO_PAGODA_VIRTUAL_DST_64K : 0;
	pagoda_process_flush(mmu, &emit);
	ret = virtual_piece(virtual, &op, size);
	pagoda_process_unmap(mmu, &emit);
	return ret;
}

static void virtual_rewind(struct pagoda_virtual *virtual)
{
	u32 i;

	for (i = 0; i < PAGODA_SCRATCH_COUNT; i++)
		if (side_is_vram(virtual->side[i].res))
			pagoda_vram_first(&virtual->side[i].vram, virtual->side[i].res, 0,
					  virtual->bo->ttm.base.size);
}

/**
 * pagoda_virtual_transfer() - Move the whole content, or add up what that costs
 * @virtual: The move
 * @txn: Transaction, or NULL: costs
 * @cost: Costs are added here
 *
 * Pieces follow each other and cover the allocation once (C70).
 *
 * Context: Between pagoda_stream_begin() and end if there is a transaction.
 * Return: 0 or what pagoda_stream_emit() answered.
 */
int pagoda_virtual_transfer(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn,
			    struct pagoda_paging_cost *cost)
{
	u64 size = virtual->bo->ttm.base.size;
	u64 done, piece;
	int ret = 0;

	virtual->txn = txn;
	virtual->cost = cost;
	virtual->at_unique = 0;
	virtual_rewind(virtual);
	for (done = 0; done < size && !ret; done += piece) {
		piece = min_t(u64, size - done, PAGODA_PIECE_BYTES);
		virtual_protection(virtual, done, &piece);
		ret = virtual_transfer_piece(virtual, done, piece);
	}
	return ret;
}

/* Bytes from the cursor on that aren't known to be zero already, a piece's worth at most. */
static u64 virtual_unclean(const struct pagoda_virtual_side *side)
{
	struct pagoda_vram_cursor cur = side->vram;
	u64 size = 0;

	while (cur.size && !cur.clean && size < PAGODA_PIECE_BYTES) {
		size += cur.size;
		pagoda_vram_next(&cur, cur.size);
	}
	return min_t(u64, size, PAGODA_PIECE_BYTES);
}

static int virtual_fill_piece(struct pagoda_virtual *virtual, u64 done, u64 size)
{
	const struct pagoda_emit emit = { .emit = virtual_emit, .arg = virtual };
	struct pagoda_mmu *mmu = virtual->bo->vidmm->mmu;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_FILL,
		.virtual_fill = { .size = size, .allocation_offset = done },
	};
	bool large;
	int ret;

	if (!virtual->txn) {
		side_collect(&virtual->side[PAGODA_SCRATCH_DESTINATION], size);
		return virtual_piece(virtual, &op, size);
	}
	op.virtual_fill.address = virtual_map(virtual, PAGODA_SCRATCH_DESTINATION, done, size,
					      &emit, &large);
	pagoda_process_flush(mmu, &emit);
	ret = virtual_piece(virtual, &op, size);
	pagoda_process_unmap(mmu, &emit);
	if (!ret)
		atomic64_add(size, &virtual->bo->vidmm->stats.filled);
	return ret;
}

/**
 * pagoda_virtual_fill() - Zeros in the destination, or what they cost
 * @virtual: The move
 * @txn: Transaction, or NULL: costs
 * @epoch: pagoda_reset_epoch() when the move began
 * @cost: Costs are added here
 *
 * Blocks that hold zeros already are left out (C45).
 *
 * Context: As pagoda_virtual_transfer().
 * Return: 0 or what pagoda_stream_emit() answered.
 */
int pagoda_virtual_fill(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn, u64 epoch,
			struct pagoda_paging_cost *cost)
{
	struct pagoda_virtual_side *side = &virtual->side[PAGODA_SCRATCH_DESTINATION];
	struct pagoda_vram_cursor *cur = &side->vram;
	u64 size = virtual->bo->ttm.base.size;
	int ret = 0;

	virtual->txn = txn;
	virtual->cost = cost;
	virtual->at_unique = 0;
	pagoda_vram_first_clean(cur, side->res, size, epoch);
	while (cur->size && !ret) {
		u64 dirty = virtual_unclean(side);

		virtual_protection(virtual, size - cur->left, &dirty);
		if (dirty)
			ret = virtual_fill_piece(virtual, size - cur->left, dirty);
		else
			pagoda_vram_next(cur, cur->size);
	}
	return ret;
}
