// SPDX-License-Identifier: GPL-2.0
/*
 * What TTM calls, but for moves.
 *
 * TTM also calls with objects it made itself for what a move leaves behind:
 * every function asks pagoda_bo_is_ours() before it looks at an allocation.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <pagoda/trace.h>
#include "vidmm.h"

/*
 * Without CPU_VISIBLE nobody but the device looks, and changing the caching of
 * pages is expensive: they stay as they are.
 */
static enum ttm_caching tt_caching(struct ttm_buffer_object *bo)
{
	u32 flags = pagoda_bo_of_ttm(bo)->flags;

	if (flags & DRM_PAGODA_ALLOCATION_CACHED ||
	    !(flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE))
		return ttm_cached;
	return ttm_write_combined;
}

static struct ttm_tt *pagoda_tt_create(struct ttm_buffer_object *bo, u32 page_flags)
{
	struct ttm_tt *tt;

	tt = kzalloc(sizeof(*tt), GFP_KERNEL);
	if (!tt)
		return NULL;
	/* With an array of bus addresses, which TTM's pool then fills. */
	if (ttm_sg_tt_init(tt, bo, page_flags, tt_caching(bo))) {
		kfree(tt);
		return NULL;
	}
	return tt;
}

static void pagoda_tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(tt);
}

static const struct ttm_place pagoda_place_system = { .mem_type = TTM_PL_SYSTEM };

/*
 * VRAM goes to the eviction segment, everything else to the system segment.
 * Nobody needs what is discardable: without a place TTM throws it away.
 */
static void pagoda_evict_flags(struct ttm_buffer_object *ttm_bo, struct ttm_placement *placement)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	placement->num_placement = 1;
	placement->placement = &pagoda_place_system;
	if (!pagoda_bo_is_ours(ttm_bo))
		return;

	if (bo->discardable) {
		pagoda_move_discard(bo);
		pagoda_bo_account(bo, ttm_bo->resource, NULL);
		placement->num_placement = 0;
	} else if (ttm_bo->resource->mem_type == TTM_PL_VRAM) {
		placement->num_placement = pagoda_bo_placement_evicted(bo, bo->evict_places);
		placement->placement = bo->evict_places;
	}
}

/* What TTM made itself is on its way out: waiting for it always gains something. */
static bool pagoda_eviction_valuable(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	return !pagoda_bo_is_ours(bo) || ttm_bo_eviction_valuable(bo, place);
}

static void pagoda_release_notify(struct ttm_buffer_object *bo)
{
	if (pagoda_bo_is_ours(bo))
		pagoda_move_release(pagoda_bo_of_ttm(bo));
}

static void pagoda_delete_mem_notify(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	if (!pagoda_bo_is_ours(ttm_bo) || !ttm_bo->resource)
		return;
	trace_pagoda_bo_free(dev_name(bo->vidmm->drm->dev), bo->id, ttm_bo->base.size,
			     pagoda_segment_of(ttm_bo->resource));
	pagoda_bo_account(bo, ttm_bo->resource, NULL);
}

/* VRAM of this device is memory like any other; the pages come from io_mem_pfn. */
static int pagoda_io_mem_reserve(struct ttm_device *bdev, struct ttm_resource *res)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);

	if (res->mem_type != TTM_PL_VRAM)
		return 0;
	if (!pagoda_vram_is_visible(vidmm, res))
		return -EINVAL;
	if (pagoda_vram_is_contiguous(res))
		res->bus.addr = vidmm->vram.window + ((u64)res->start << PAGE_SHIFT);
	res->bus.is_iomem = true;
	res->bus.caching = ttm_cached;
	return 0;
}

static unsigned long pagoda_io_mem_pfn(struct ttm_buffer_object *bo, unsigned long page_offset)
{
	return pagoda_vram_pfn(pagoda_vidmm_of_ttm(bo->bdev), bo->resource, page_offset);
}

static int pagoda_access_memory(struct ttm_buffer_object *bo, unsigned long offset, void *buf,
				int len, int write)
{
	return pagoda_move_access(pagoda_bo_of_ttm(bo), offset, buf, len, write);
}

const struct ttm_device_funcs pagoda_ttm_funcs = {
	.ttm_tt_create = pagoda_tt_create,
	.ttm_tt_destroy = pagoda_tt_destroy,
	.evict_flags = pagoda_evict_flags,
	.eviction_valuable = pagoda_eviction_valuable,
	.move = pagoda_move,
	.release_notify = pagoda_release_notify,
	.delete_mem_notify = pagoda_delete_mem_notify,
	.io_mem_reserve = pagoda_io_mem_reserve,
	.io_mem_pfn = pagoda_io_mem_pfn,
	.access_memory = pagoda_access_memory,
};
