// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations that leave their place without a copy: because they are freed, or their content isn't
 * needed any more.
 *
 * A VRAM range whose content is discarded may be allocated again before a fence signals: the next
 * allocation in the range is written in the line of moves, behind DISCARD_CONTENT, or, if it is a
 * page table, behind all operations that this line had when the table was allocated. Therefore
 * operations of several releases from VRAM may share a submission. For an aperture range a fence is
 * needed: its pages must not be freed while the device can reach these pages (C62).
 */
#include <linux/delay.h>
#include "core/core.h"
#include "core/trace.h"
#include "paging/paging.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "ttm.h"

/**
 * pagoda_release_unmap_op() - Make the operation that unmaps an aperture range
 * @vidmm: The manager
 * @res: Aperture resource with an address
 *
 * Return: UNMAP_APERTURE_SEGMENT of the whole range, which then shows the dummy page; the caller
 * fills in the allocation.
 */
struct pagoda_paging_op pagoda_release_unmap_op(struct pagoda_vidmm *vidmm,
						struct ttm_resource *res)
{
	struct pagoda_aperture_resource *from = pagoda_aperture_of(res);

	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = {
			.first_page = from->node.start,
			.nr_pages = from->node.size,
			.dummy_page = pagoda_dummy_mem(vidmm)->address,
			.cpu_pages = &pagoda_dummy_mem(vidmm)->page,
		},
	};
}

/*
 * If the device was told that the allocation is resident, emits the notice that the allocation
 * isn't resident any more. The device executes the notice after the fences in @resv.
 */
static void release_tell(struct pagoda_bo *bo, enum pagoda_stream_waits waits,
			 struct dma_resv *resv)
{
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_paging_op op;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;

	if (!pagoda_notice_left(bo, &op))
		return;
	cost = pagoda_stream_cost(vidmm, &op);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, waits, resv, &cost);
	pagoda_stream_emit(&txn, &op);
	bo->content.told = false;
	pagoda_stream_end_later(&txn);
}

/*
 * Calls @emit with a DISCARD_CONTENT for each contiguous range of @res, the allocation's place in
 * VRAM, up to the first error of @emit. Returns 0 or that error.
 */
int pagoda_release_discard_ops(struct pagoda_bo *bo, struct ttm_resource *res,
			       int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg)
{
	struct pagoda_vram_cursor cur;
	int ret = 0;

	pagoda_vram_first(&cur, res, 0, bo->ttm.base.size);
	while (cur.size && !ret) {
		struct pagoda_paging_op op = {
			.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
			.allocation = bo->id,
			.discard_content = {
				.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
				.address = cur.address,
				.size = cur.size,
			},
		};

		op.needs_idle = pagoda_swizzle_needs_idle(bo, op.operation);
		ret = emit(arg, &op);
		pagoda_vram_next(&cur, cur.size);
	}
	return ret;
}

static int release_emit_discard(void *arg, struct pagoda_paging_op *op)
{
	struct pagoda_stream_txn *txn = arg;
	int ret = pagoda_stream_emit(txn, op);

	if (!ret)
		atomic64_add(op->discard_content.size, &txn->vidmm->stats.discarded);
	return ret;
}

static void release_discard(struct pagoda_bo *bo, enum pagoda_stream_waits waits,
			    struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	u32 ranges = pagoda_vram_count_ranges(res);
	struct pagoda_paging_cost cost = {
		.encoded = (u64)ranges * sizeof(struct virtio_pagoda_discard_content),
		.packets = ranges,
	};
	struct pagoda_stream_txn txn;

	dma_resv_assert_held(resv);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, waits, resv, &cost);
	pagoda_release_discard_ops(bo, res, release_emit_discard, &txn);
	pagoda_stream_end_later(&txn);
}

/*
 * Unmaps an allocation from the aperture, after the fences in @resv. Makes sure that TTM frees the
 * pages only after that: adds the UNMAP's fence to @resv, or waits for the fence.
 */
static void release_unmap(struct pagoda_bo *bo, enum pagoda_stream_waits waits,
			  struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct pagoda_paging_op op = pagoda_release_unmap_op(bo->vidmm, res);
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;

	pagoda_dummy_inspect(bo->vidmm);
	op.allocation = bo->id;
	cost = pagoda_stream_cost(vidmm, &op);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, waits, resv, &cost);
	if (!pagoda_stream_emit(&txn, &op))
		pagoda_aperture_of(res)->bound = false;
	fence = pagoda_stream_end(&txn);
	/*
	 * A fence in @resv is enough for an imported allocation, because pagoda_import_unmap()
	 * waits for @resv, and if @resv is the allocation's reservation, because TTM waits for
	 * that. In the remaining cases memory is short: @resv has no room for a fence, or TTM
	 * couldn't give the allocation @resv instead of a shared reservation, and waits for the
	 * shared reservation only. Wait here then.
	 */
	if (fence && (bo->share.imported || bo->ttm.base.resv == resv) &&
	    !dma_resv_reserve_fences(resv, 1))
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	else if (fence)
		pagoda_stream_wait_fence(bo->vidmm, fence);
	dma_fence_put(fence);
}

/*
 * Returns whether a resource has an address in the aperture that is mapped (MAP emitted, no UNMAP).
 * The allocation's reservation is held, or the allocation has no user.
 */
bool pagoda_release_is_mapped(struct ttm_resource *res)
{
	return res->mem_type == TTM_PL_TT && pagoda_aperture_has_address(res) &&
	       pagoda_aperture_of(res)->bound;
}

/*
 * Tells the device that an allocation's content isn't needed, before TTM frees the memory: emits
 * the notice that the allocation isn't resident, if the device was told that it is; and
 * DISCARD_CONTENT in VRAM (C46 - C48), or unmaps the allocation from the aperture. Takes the
 * allocation's swizzling range, if any, away. The reservation is held; may sleep and allocate.
 */
void pagoda_move_discard(struct pagoda_bo *bo)
{
	const enum pagoda_stream_waits waits = PAGODA_STREAM_WAITS_FOR_VICTIM;
	struct ttm_resource *res = bo->ttm.resource;

	dma_resv_assert_held(bo->ttm.base.resv);
	pagoda_swizzle_drop(bo);
	if (!res)
		return;
	release_tell(bo, waits, bo->ttm.base.resv);
	if (res->mem_type == TTM_PL_VRAM)
		release_discard(bo, waits, bo->ttm.base.resv);
	else if (pagoda_release_is_mapped(res))
		release_unmap(bo, waits, bo->ttm.base.resv);
}

/*
 * Tells the device that an allocation without references leaves its place, as pagoda_move_release()
 * says. The reservation @resv is held.
 */
static void release_place(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;

	release_tell(bo, PAGODA_STREAM_WAITS_NOT, resv);
	if (pagoda_release_is_mapped(res))
		release_unmap(bo, PAGODA_STREAM_WAITS_NOT, resv);
	else if (res->mem_type == TTM_PL_VRAM)
		release_discard(bo, PAGODA_STREAM_WAITS_NOT, resv);
	bo->content.released = true;
}

/*
 * Releases the place of an allocation without references, in ttm_device_funcs.release_notify: emits
 * the notice that the allocation isn't resident, if the device was told that it is; and
 * DISCARD_CONTENT in VRAM, or unmaps the allocation from the aperture. While jobs or other devices
 * use the allocation, leaves these operations to pagoda_move_release_idle(). Unless memory is
 * short, the allocation's fences are in &drm_gem_object._resv by now. Only a walk over an LRU list
 * may have locked _resv, for a moment. The caller may hold other reservations, so this function
 * only tries to lock _resv, in a loop. May sleep and allocate.
 */
void pagoda_move_release(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct dma_resv *resv = &bo->ttm.base._resv;

	pagoda_swizzle_drop(bo);
	if (!res)
		return;
	if (res->mem_type != TTM_PL_VRAM && !pagoda_release_is_mapped(res) && !bo->content.told) {
		bo->content.released = true;
		return;
	}
	while (!dma_resv_trylock(resv))
		fsleep(10);
	if (!pagoda_stream_has_foreign(bo->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP))
		release_place(bo, resv);
	dma_resv_unlock(resv);
}

/*
 * Emits in ttm_device_funcs.delete_mem_notify the operations that pagoda_move_release() left out
 * because jobs or other devices used the allocation; else does nothing. TTM has waited for these
 * uses, holds the reservation, and frees the memory next. For an allocation in the aperture
 * segment, waits until the pages are unmapped. May sleep and allocate.
 */
void pagoda_move_release_idle(struct pagoda_bo *bo)
{
	struct dma_resv *resv = bo->ttm.base.resv;

	if (bo->content.released)
		return;
	release_place(bo, resv);
	if (bo->ttm.resource->mem_type == TTM_PL_TT)
		pagoda_stream_wait_resv(bo->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP);
}
