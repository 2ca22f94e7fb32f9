// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of TTM, except for the moves of allocations (move.c).
 *
 * TTM also passes ghost objects, which it creates itself for the resource that a move leaves
 * behind: every callback asks pagoda_bo_is_ours() before it uses an allocation. Only
 * access_memory needn't, because it is reached through an allocation's mapping.
 */
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include "core/core.h"
#include "core/trace.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

/*
 * Without CPU_VISIBLE the backing pages are hardly used but by the device, and changing the caching
 * of pages is expensive: the pages, and the CPU's mappings of them, stay cached.
 */
static enum ttm_caching tt_caching(const struct pagoda_bo *bo)
{
	if (bo->flags & DRM_PAGODA_ALLOCATION_CACHED ||
	    !(bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE))
		return ttm_cached;
	return ttm_write_combined;
}

static struct ttm_tt *tt_create(struct ttm_buffer_object *ttm_bo, u32 page_flags)
{
	enum ttm_caching caching = ttm_cached;
	const struct pagoda_bo *bo;
	struct pagoda_tt *tt;

	tt = kzalloc(sizeof(*tt), GFP_KERNEL_ACCOUNT);
	if (!tt)
		return NULL;
	bo = pagoda_bo_is_ours(ttm_bo) ? pagoda_bo_of_ttm(ttm_bo) : pagoda_copy_owner(ttm_bo);
	if (bo) {
		tt->allocation = bo->id;
		tt->notify = bo->flags & DRM_PAGODA_ALLOCATION_NOTIFY_IOMMU_UNMAP;
		caching = tt_caching(bo);
	}
	/* An sg tt has an array of bus addresses, which TTM's pool then fills. */
	if (ttm_sg_tt_init(&tt->base, ttm_bo, page_flags, caching)) {
		kfree(tt);
		return NULL;
	}
	return &tt->base;
}

static void tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	if (pagoda_tt_of(tt)->left)
		pagoda_pages_free(pagoda_vidmm_of_ttm(bdev), tt);
	ttm_tt_fini(tt);
	kfree(pagoda_tt_of(tt));
}

/*
 * TTM is about to wait for all fences of an object. A caller that makes room may have plugged the
 * stream, and operations behind these fences may be collected there: send them now, because no
 * other thread sends them soon.
 */
static void ttm_is_going_to_wait(struct ttm_buffer_object *bo)
{
	if (!dma_resv_test_signaled(bo->base.resv, DMA_RESV_USAGE_BOOKKEEP))
		pagoda_stream_flush(pagoda_vidmm_of_ttm(bo->bdev));
}

static const struct ttm_place place_system = { .mem_type = TTM_PL_SYSTEM };

static void evict_place(struct pagoda_bo *bo, struct ttm_placement *placement)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (bo->vm.table_of) {
		pagoda_vm_table_evict(bo);
		pagoda_bo_account(bo, NULL);
	} else if (bo->content.discardable) {
		pagoda_move_begins(bo);
		pagoda_move_discard(bo);
		pagoda_bo_account(bo, NULL);
	} else if (res->mem_type == TTM_PL_VRAM) {
		placement->num_placement = pagoda_bo_placement_evicted(bo, bo->evict_places);
		placement->placement = bo->evict_places;
	} else {
		placement->num_placement = 1;
		placement->placement = &place_system;
	}
}

/*
 * Allocations in VRAM are evicted to the eviction segment, all others to the system segment. The
 * content of discardable allocations, and of TTM's ghost objects, isn't needed: without a
 * placement TTM waits for the object and frees its memory.
 */
static void ttm_evict_flags(struct ttm_buffer_object *bo, struct ttm_placement *placement)
{
	placement->num_placement = 0;
	if (pagoda_bo_is_ours(bo))
		evict_place(pagoda_bo_of_ttm(bo), placement);
	if (!placement->num_placement)
		ttm_is_going_to_wait(bo);
}

/*
 * Moves an allocation, or a ghost: TTM unlocks a move's ghost before TTM drops its reference,
 * and another eviction or a swap-out may come in between. The ghost's content isn't read again:
 * it needs no paging, but operations that still read the content have to end before.
 */
static int ttm_move(struct ttm_buffer_object *bo, bool evict, struct ttm_operation_ctx *ctx,
		    struct ttm_resource *new_mem, struct ttm_place *hop)
{
	int ret;

	if (pagoda_bo_is_ours(bo))
		return pagoda_move(bo, evict, ctx, new_mem, hop);
	ttm_is_going_to_wait(bo);
	ret = ttm_bo_wait_ctx(bo, ctx);
	if (!ret)
		ttm_bo_move_null(bo, new_mem);
	return ret;
}

/* Returns whether evicting @bo gains memory: always for a ghost, which TTM is about to free. */
static bool eviction_gains(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	if (!pagoda_bo_is_ours(bo))
		return true;
	if (!pagoda_vm_may_evict(pagoda_bo_of_ttm(bo)) ||
	    pagoda_dmem_protects(pagoda_bo_of_ttm(bo), place))
		return false;
	return ttm_bo_eviction_valuable(bo, place);
}

/*
 * A placement with TTM_PL_FLAG_DESIRED asks for free room only, but TTM evicts for it all the same
 * while the caller is below its dmem.min or dmem.low: refuse, the driver's own victims come first.
 * A deleted object isn't moved any more, but TTM waits for its fences.
 */
static bool ttm_eviction_valuable(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	bool valuable = !(place && place->flags & TTM_PL_FLAG_DESIRED) &&
			eviction_gains(bo, place);

	if (valuable && bo->deleted)
		ttm_is_going_to_wait(bo);
	return valuable;
}

/*
 * The last reference to the object is gone. While its fences are pending TTM takes a reference of
 * its own, waits for them, and only then locks the object and frees its memory. From here on no
 * thread may find the allocation to move it, because TTM wouldn't wait for a later fence.
 */
static void ttm_release_notify(struct ttm_buffer_object *bo)
{
	if (!pagoda_bo_is_ours(bo))
		return;
	pagoda_offer_left_vram(pagoda_bo_of_ttm(bo));
	pagoda_victims_moved(pagoda_bo_of_ttm(bo), NULL, false);
	pagoda_move_release(pagoda_bo_of_ttm(bo));
}

/*
 * Pages that a lost copy should have written are cleared before they are swapped out: afterwards
 * there are no pages to clear, and the swapped content would be stale data of another client.
 */
static void ttm_swap_notify(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	if (!pagoda_bo_is_ours(ttm_bo)) {
		pagoda_copy_swap_notify(ttm_bo);
		return;
	}
	pagoda_offer_swap_notify(bo);
	pagoda_lost_clear(bo);
}

static void ttm_delete_mem_notify(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	if (!pagoda_bo_is_ours(ttm_bo) || !ttm_bo->resource)
		return;
	trace_pagoda_bo_free(dev_name(bo->vidmm->drm->dev), bo->id, ttm_bo->base.size,
			     pagoda_segment_of(ttm_bo->resource));
	pagoda_import_unmap(bo);
	pagoda_bo_account(bo, NULL);
}

static bool io_mem_is_tiled(struct ttm_buffer_object *bo)
{
	return pagoda_bo_is_ours(bo) && pagoda_bo_of_ttm(bo)->tiling.layout.tiling;
}

/* The CPU maps VRAM of this device cached, like RAM; io_mem_pfn returns its pages. */
static int ttm_io_mem_reserve(struct ttm_device *bdev, struct ttm_resource *res)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);

	if (res->mem_type != TTM_PL_VRAM)
		return 0;
	if (io_mem_is_tiled(res->bo)) {
		/* A tiled resource has no address of its own, but that of its swizzling range. */
		if (!pagoda_swizzle_is_shown(pagoda_bo_of_ttm(res->bo)))
			return -EINVAL;
	} else if (!pagoda_vram_is_visible(vidmm, res)) {
		return -EINVAL;
	} else if (pagoda_vram_is_contiguous(res)) {
		res->bus.addr = pagoda_vram_window(vidmm) + ((u64)res->start << PAGE_SHIFT);
	}
	res->bus.is_iomem = true;
	res->bus.caching = ttm_cached;
	return 0;
}

static unsigned long ttm_io_mem_pfn(struct ttm_buffer_object *bo, unsigned long page_offset)
{
	if (io_mem_is_tiled(bo))
		return pagoda_swizzle_pfn(pagoda_bo_of_ttm(bo), page_offset);
	return pagoda_vram_pfn(pagoda_vidmm_of_ttm(bo->bdev), bo->resource, page_offset);
}

static int ttm_access_memory(struct ttm_buffer_object *bo, unsigned long offset, void *buf, int len,
			     int write)
{
	return pagoda_move_access(pagoda_bo_of_ttm(bo), offset, buf, len, write);
}

const struct ttm_device_funcs pagoda_ttm_funcs = {
	.ttm_tt_create = tt_create,
	.ttm_tt_populate = pagoda_device_mmu_populate,
	.ttm_tt_unpopulate = pagoda_device_mmu_unpopulate,
	.ttm_tt_destroy = tt_destroy,
	.evict_flags = ttm_evict_flags,
	.eviction_valuable = ttm_eviction_valuable,
	.move = ttm_move,
	.release_notify = ttm_release_notify,
	.delete_mem_notify = ttm_delete_mem_notify,
	.swap_notify = ttm_swap_notify,
	.io_mem_reserve = ttm_io_mem_reserve,
	.io_mem_pfn = ttm_io_mem_pfn,
	.access_memory = ttm_access_memory,
};
