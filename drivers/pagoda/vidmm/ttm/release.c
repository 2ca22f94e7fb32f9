// SPDX-License-Identifier: GPL-2.0
/*
 * Places that are left without a copy: memory of a closed allocation, and content that isn't
 * needed any more.
 *
 * A VRAM range needs no fence when its content is discarded: the next owner of the range writes
 * it on the same timeline, behind DISCARD_CONTENT. An aperture range does: its pages must not
 * be freed while the device can reach them (C62).
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
 * pagoda_release_unmap_op() - Fill in the operation that unmaps an aperture range
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

/* Tells the device that the allocation isn't resident any more, before it leaves its place. */
static void release_tell(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_paging_op op;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;

	if (!pagoda_notice_left(bo, &op))
		return;
	cost = pagoda_stream_cost(vidmm, &op);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	pagoda_stream_emit(&txn, &op);
	bo->content.told = false;
	dma_fence_put(pagoda_stream_end(&txn));
}

/* Calls @emit with a DISCARD_CONTENT for every range of @res in VRAM. Returns 0 or its error. */
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

static void release_discard(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	u32 ranges = pagoda_vram_count_ranges(res);
	struct pagoda_paging_cost cost = {
		.encoded = (u64)ranges * sizeof(struct virtio_pagoda_discard_content),
		.packets = ranges,
	};
	struct pagoda_stream_txn txn;

	dma_resv_assert_held(resv);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	pagoda_release_discard_ops(bo, res, release_emit_discard, &txn);
	dma_fence_put(pagoda_stream_end(&txn));
}

/* Unmaps an aperture range; the fence keeps its pages from being freed before that. */
static void release_unmap(struct pagoda_bo *bo, struct dma_resv *resv)
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
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	if (!pagoda_stream_emit(&txn, &op))
		pagoda_aperture_of(res)->bound = false;
	fence = pagoda_stream_end(&txn);
	/*
	 * TTM waits for @resv if @resv is the allocation's reservation; an import waits for
	 * both reservations before its memory is unmapped, see pagoda_import_unmap(). Otherwise
	 * TTM, for want of memory, left the allocation with a shared reservation, and waits for
	 * its fences only: wait here.
	 */
	if (fence && (bo->share.imported || bo->ttm.base.resv == resv) &&
	    !dma_resv_reserve_fences(resv, 1))
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	else if (fence)
		pagoda_stream_wait_fence(bo->vidmm, fence);
	dma_fence_put(fence);
}

/* Returns whether a resource is mapped in the aperture. Reservation held, or no user left. */
bool pagoda_release_is_mapped(struct ttm_resource *res)
{
	return res->mem_type == TTM_PL_TT && pagoda_aperture_has_address(res) &&
	       pagoda_aperture_of(res)->bound;
}

/*
 * Discards the content of an allocation that is about to be gutted: DISCARD_CONTENT in VRAM
 * (C46 - C48), else the pages leave the aperture. The reservation is held; may sleep and
 * allocate.
 */
void pagoda_move_discard(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	dma_resv_assert_held(bo->ttm.base.resv);
	pagoda_swizzle_drop(bo);
	if (!res)
		return;
	release_tell(bo, bo->ttm.base.resv);
	if (res->mem_type == TTM_PL_VRAM)
		release_discard(bo, bo->ttm.base.resv);
	else if (pagoda_release_is_mapped(res))
		release_unmap(bo, bo->ttm.base.resv);
}

/*
 * Releases the place of an allocation without references, in ttm_device_funcs.release_notify.
 * TTM has given the allocation a reservation of its own by now, which only a walk over the LRU
 * list may lock for a moment, to find that there is no reference to take. The loop, rather than
 * a lock, is no inversion of the order with reservations that the caller may hold. May sleep
 * and allocate.
 */
void pagoda_move_release(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct dma_resv *resv = &bo->ttm.base._resv;
	bool mapped;

	pagoda_swizzle_drop(bo);
	if (!res)
		return;
	mapped = pagoda_release_is_mapped(res);
	if (res->mem_type != TTM_PL_VRAM && !mapped && !bo->content.told)
		return;

	while (!dma_resv_trylock(resv))
		fsleep(10);
	release_tell(bo, resv);
	if (mapped)
		release_unmap(bo, resv);
	else if (res->mem_type == TTM_PL_VRAM)
		release_discard(bo, resv);
	dma_resv_unlock(resv);
}
