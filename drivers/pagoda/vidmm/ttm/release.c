// SPDX-License-Identifier: GPL-2.0
/*
 * Places that are left without a copy: memory of a closed allocation, content
 * that isn't wanted any more.
 *
 * A VRAM range needs no fence when it is discarded: the next owner writes
 * it on the same timeline, behind the notice. An aperture range does: its pages
 * must not be freed while the device can reach them (C62).
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
 * pagoda_release_unmap_op() - The operation that leaves the dummy page behind
 * @vidmm: The manager
 * @res: Aperture resource with an address
 *
 * Return: UNMAP_APERTURE_SEGMENT of all of it, without an allocation.
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

static struct pagoda_paging_op release_discard_op(struct pagoda_bo *bo,
						  const struct pagoda_vram_cursor *cur)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
		.allocation = bo->id,
		.needs_idle = pagoda_swizzle_needs_idle(bo, VIRTIO_PAGODA_OP_DISCARD_CONTENT),
		.discard_content = {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = cur->address,
			.size = cur->size,
		},
	};
}

static struct pagoda_paging_cost release_discard_cost(struct pagoda_bo *bo,
						      struct ttm_resource *res)
{
	u32 ranges = pagoda_vram_count_ranges(res);

	return (struct pagoda_paging_cost) {
		.encoded = (u64)ranges * sizeof(struct virtio_pagoda_discard_content),
		.packets = ranges,
	};
}

/* The device is told first that the allocation isn't there any more. */
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

/**
 * pagoda_release_discard_ops() - DISCARD_CONTENT for every range of an allocation
 * @bo: Allocation
 * @res: Its place in VRAM
 * @emit: What to do with each
 * @arg: For @emit
 *
 * Return: 0, or what @emit answered.
 */
int pagoda_release_discard_ops(struct pagoda_bo *bo, struct ttm_resource *res,
			       int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg)
{
	struct pagoda_vram_cursor cur;
	int ret = 0;

	pagoda_vram_first(&cur, res, 0, bo->ttm.base.size);
	while (cur.size && !ret) {
		struct pagoda_paging_op op = release_discard_op(bo, &cur);

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

/* The reservation @resv is held. */
static void release_discard(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct pagoda_paging_cost cost = release_discard_cost(bo, res);
	struct pagoda_stream_txn txn;

	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	pagoda_release_discard_ops(bo, res, release_emit_discard, &txn);
	dma_fence_put(pagoda_stream_end(&txn));
}

/* UNMAP_APERTURE_SEGMENT; its fence keeps the pages alive. */
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
	 * TTM looks at the shared reservation where there was no memory to take its fences over.
	 * Of what is imported both are looked at before its memory goes, see import.c.
	 */
	if (fence && (bo->share.imported || bo->ttm.base.resv == resv) &&
	    !dma_resv_reserve_fences(resv, 1))
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	else if (fence)
		pagoda_stream_wait_fence(bo->vidmm, fence);
	dma_fence_put(fence);
}

/**
 * pagoda_release_is_mapped() - Is there a mapping of the aperture to take away?
 * @res: Resource, in whatever segment
 *
 * Context: Reservation of its allocation held, or no other user is left.
 * Return: Whether there is.
 */
bool pagoda_release_is_mapped(struct ttm_resource *res)
{
	return res->mem_type == TTM_PL_TT && pagoda_aperture_has_address(res) &&
	       pagoda_aperture_of(res)->bound;
}

/**
 * pagoda_move_discard() - The content of an allocation isn't needed any more
 * @bo: Allocation, reservation held; it is about to be gutted
 *
 * DISCARD_CONTENT is for VRAM only (C46 - C48); elsewhere pages leave the aperture.
 *
 * Context: May sleep and allocate.
 */
void pagoda_move_discard(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	pagoda_swizzle_drop(bo);
	if (!res)
		return;
	release_tell(bo, bo->ttm.base.resv);
	if (res->mem_type == TTM_PL_VRAM)
		release_discard(bo, bo->ttm.base.resv);
	else if (pagoda_release_is_mapped(res))
		release_unmap(bo, bo->ttm.base.resv);
}

/**
 * pagoda_move_release() - ttm_device_funcs.release_notify
 * @bo: Allocation whose last reference is gone
 *
 * TTM has given it a reservation object of its own by now. Only a walk over the
 * LRU may hold that for a moment, to find that there is no reference to take:
 * hence the loop, where taking a lock would invert the order with the
 * reservations the caller may hold.
 *
 * Context: May sleep and allocate.
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
