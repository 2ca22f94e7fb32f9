// SPDX-License-Identifier: GPL-2.0
/*
 * Lost content: what happens when neither the device nor the CPU could finish
 * a copy or a fill.
 *
 * The fence path can only set a flag. Whoever is about to show the memory to
 * somebody, or to move it on, clears it first: page faults, ptrace, moves.
 */
#include <linux/highmem.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/**
 * pagoda_bo_mark_lost() - The allocation's content is lost
 * @bo: Allocation; alive, but otherwise not locked
 *
 * Context: Any, the way to signalling a fence included.
 */
void pagoda_bo_mark_lost(struct pagoda_bo *bo)
{
	if (!READ_ONCE(bo->lost))
		atomic64_inc(&bo->vidmm->stats.lost);
	WRITE_ONCE(bo->lost, true);
	/* Pairs with pagoda_lost_clear(), for who saw the fence signal. */
	smp_store_release(&bo->unclean, true);
}

static int lost_fill(struct pagoda_bo *bo)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.allocation = bo->id,
		.fill.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	};
	u32 ranges = pagoda_vram_count_ranges(bo->ttm.resource);
	const struct pagoda_paging_cost cost = {
		.moved = bo->ttm.base.size,
		.encoded = (u64)ranges * sizeof(struct virtio_pagoda_fill),
		.packets = ranges,
	};
	struct pagoda_vram_cursor cur;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	int ret;

	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret)
		ret = pagoda_stream_begin(&txn, bo->vidmm, bo, resv, DMA_RESV_USAGE_BOOKKEEP,
					  &cost);
	if (ret)
		return ret;
	pagoda_vram_first(&cur, bo->ttm.resource, 0, bo->ttm.base.size);
	while (cur.size && !ret) {
		op.fill.address = cur.address;
		op.fill.size = cur.size;
		ret = pagoda_stream_emit(&txn, &op);
		pagoda_vram_next(&cur, cur.size);
	}
	fence = pagoda_stream_end(&txn);
	if (fence)
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	dma_fence_put(fence);
	return ret;
}

static void lost_clear_pages(struct ttm_tt *tt)
{
	u32 i;

	if (!tt || !ttm_tt_is_populated(tt))
		return;
	for (i = 0; i < tt->num_pages; i++)
		clear_highpage(tt->pages[i]);
}

/**
 * pagoda_lost_clear() - Clear an allocation whose content was lost
 * @bo: Allocation, reservation held
 *
 * Nothing happens unless it was lost since the last time. The loss may be that of
 * a copy that is still on its way: whoever shows content waits for that first.
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno, and it still is to be cleared.
 */
int pagoda_lost_clear(struct pagoda_bo *bo)
{
	int ret = 0;

	/* Pairs with pagoda_bo_mark_lost(). */
	if (!smp_load_acquire(&bo->unclean))
		return 0;
	dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	WRITE_ONCE(bo->unclean, false);
	if (bo->ttm.resource && bo->ttm.resource->mem_type == TTM_PL_VRAM)
		ret = lost_fill(bo);
	else
		lost_clear_pages(bo->ttm.ttm);
	if (ret)
		WRITE_ONCE(bo->unclean, true);
	return ret;
}
