// SPDX-License-Identifier: GPL-2.0
/*
 * Places that are left without a copy: memory of a closed allocation, content
 * that nobody wants.
 *
 * A VRAM range needs no fence when it is discarded: whoever gets it next writes
 * it on the same timeline, behind the notice. An aperture range does: its pages
 * must not be freed while the device can reach them (C62).
 */
#include <linux/delay.h>
#include <pagoda/trace.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

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
			.dummy_page = vidmm->dummy_dma,
			.cpu_pages = &vidmm->dummy_page,
		},
	};
}

static struct pagoda_paging_op release_discard_op(struct pagoda_bo *bo,
						  const struct pagoda_vram_cursor *cur)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT,
		.allocation = bo->id,
		.needs_idle = bo->needs_idle,
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

/* DISCARD_CONTENT for every range; the reservation @resv is held. */
static void release_discard(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct pagoda_paging_cost cost = release_discard_cost(bo, res);
	struct pagoda_vram_cursor cur;
	struct pagoda_stream_txn txn;

	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	pagoda_vram_first(&cur, res, 0, bo->ttm.base.size);
	while (cur.size) {
		struct pagoda_paging_op op = release_discard_op(bo, &cur);

		if (pagoda_stream_emit(&txn, &op))
			break;
		atomic64_add(cur.size, &bo->vidmm->stats.discarded);
		pagoda_vram_next(&cur, cur.size);
	}
	dma_fence_put(pagoda_stream_end(&txn));
}

/* UNMAP_APERTURE_SEGMENT; its fence keeps the pages alive. */
static void release_unmap(struct pagoda_bo *bo, struct dma_resv *resv)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct pagoda_paging_op op = pagoda_release_unmap_op(bo->vidmm, res);
	struct pagoda_stream *stream = &bo->vidmm->stream;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;

	op.allocation = bo->id;
	cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	pagoda_stream_begin_must(&txn, bo->vidmm, bo, resv, &cost);
	if (!pagoda_stream_emit(&txn, &op))
		pagoda_aperture_of(res)->bound = false;
	fence = pagoda_stream_end(&txn);
	if (fence && !dma_resv_reserve_fences(resv, 1))
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	else if (fence)
		dma_fence_wait(fence, false);
	dma_fence_put(fence);
}

/**
 * pagoda_move_discard() - The content of a VRAM allocation isn't needed any more
 * @bo: Allocation, reservation held; it is about to be gutted
 *
 * Elsewhere than in VRAM nothing happens (C46 - C48).
 *
 * Context: May sleep and allocate.
 */
void pagoda_move_discard(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (res && res->mem_type == TTM_PL_VRAM)
		release_discard(bo, bo->ttm.base.resv);
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

	if (!res)
		return;
	mapped = res->mem_type == TTM_PL_TT && pagoda_aperture_has_address(res) &&
		 pagoda_aperture_of(res)->bound;
	if (res->mem_type != TTM_PL_VRAM && !mapped)
		return;

	while (!dma_resv_trylock(resv))
		fsleep(10);
	if (mapped)
		release_unmap(bo, resv);
	else
		release_discard(bo, resv);
	dma_resv_unlock(resv);
}
