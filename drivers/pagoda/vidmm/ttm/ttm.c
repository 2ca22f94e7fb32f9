// SPDX-License-Identifier: GPL-2.0
/*
 * Callbacks of TTM. move.c has the moves of allocations, segment/device_mmu.c populates and
 * unpopulates page arrays.
 *
 * TTM also passes ghost objects, which it creates itself for the resource that a move leaves
 * behind, and struct pagoda_copy: a callback asks pagoda_bo_is_ours() before it takes an object for
 * an allocation. Only access_memory needn't: TTM calls it for mapped allocations only.
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
 * Returns how the CPU maps an allocation's backing pages: cached with CACHED, and also without
 * CPU_VISIBLE, because then hardly anything but the device uses the pages, and to change the
 * caching of pages is expensive; else write-combined.
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
	/* ttm_sg_tt_init() also allocates the array of the pages' bus addresses. */
	if (ttm_sg_tt_init(&tt->base, ttm_bo, page_flags, caching)) {
		kfree(tt);
		return NULL;
	}
	return &tt->base;
}

/* As pagoda_device_mmu_populate(), but retries after -ENOMEM while kept copies can be freed. */
static int tt_populate(struct ttm_device *bdev, struct ttm_tt *tt, struct ttm_operation_ctx *ctx)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);
	int ret;

	do {
		ret = pagoda_device_mmu_populate(bdev, tt, ctx);
	} while (ret == -ENOMEM && pagoda_copies_reclaim(vidmm, tt->num_pages));
	return ret;
}

static void tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	if (pagoda_tt_of(tt)->left)
		pagoda_pages_free(pagoda_vidmm_of_ttm(bdev), tt);
	ttm_tt_fini(tt);
	kfree(pagoda_tt_of(tt));
}

/*
 * Called before a wait for all fences of an object; does nothing if these have signalled. A fence
 * may be that of a submission which a thread that plugged the stream has left open: queues the open
 * submissions of all lines now, rather than some milliseconds later.
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
		pagoda_prime_moves(bo);
		pagoda_vm_bo_hide(bo, PAGODA_VM_EVICTS);
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
 * Says where TTM evicts an object to: an allocation in VRAM to pagoda_bo_placement_evicted(), other
 * allocations to the system segment. Page tables, discardable allocations, kept copies and TTM's
 * ghost objects get no place: their content isn't needed, and TTM waits for the object and frees
 * its memory. For page tables and discardable allocations also emits the eviction's operations.
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
 * ttm_device_funcs.move for three kinds of objects: an allocation, which pagoda_move() moves; a new
 * struct pagoda_copy, the pages that an allocation in VRAM keeps (bo/copy.c), which gets its place;
 * and a ghost, the memory that a moved object left, which another eviction or a swap-out may find
 * before TTM frees it. A ghost's content isn't needed any more, but the function waits for the
 * operations that still read that content. Returns 0 or a negative errno.
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

/*
 * Returns which fences of the reservation an eviction of the allocation waits for: those of all
 * uses, DMA_RESV_USAGE_BOOKKEEP, if jobs can reach the allocation (move_usage() says when); else
 * those of paging, DMA_RESV_USAGE_KERNEL.
 */
static enum dma_resv_usage victim_usage(struct pagoda_bo *bo)
{
	bool own = bo->ttm.base.resv == &bo->ttm.base._resv;

	return own || pagoda_vm_bo_is_shown(bo) ? DMA_RESV_USAGE_BOOKKEEP : DMA_RESV_USAGE_KERNEL;
}

/*
 * Returns whether an allocation is used by work for which its eviction must not wait: if the object
 * is deleted, by anything but paging, because TTM would wait with the reservations of its caller
 * held; else by anything but paging and jobs that have a place of an engine, because the stream
 * would wait.
 */
static bool victim_is_used(struct pagoda_bo *bo)
{
	if (bo->ttm.deleted)
		return pagoda_stream_has_foreign(bo->vidmm, bo->ttm.base.resv,
						 DMA_RESV_USAGE_BOOKKEEP);
	return pagoda_stream_has_queued(bo->vidmm, bo->ttm.base.resv, victim_usage(bo));
}

/*
 * Returns whether @bo may be evicted or swapped out, and so makes room at @place: true for a ghost,
 * which TTM is about to free, and a struct pagoda_copy; false for an allocation that work, a VM or
 * dmem.min keeps in place.
 */
static bool eviction_gains(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	bool urgent = place && place->flags & PAGODA_PL_URGENT;

	if (!pagoda_bo_is_ours(bo))
		return true;
	if (victim_is_used(pagoda_bo_of_ttm(bo)))
		return false;
	if (!pagoda_vm_may_evict(pagoda_bo_of_ttm(bo), urgent) ||
	    pagoda_dmem_protects(pagoda_bo_of_ttm(bo), place))
		return false;
	return ttm_bo_eviction_valuable(bo, place);
}

/*
 * Returns whether TTM may evict or swap out @bo to make room at @place. A place with
 * TTM_PL_FLAG_DESIRED asks for free room only, but TTM evicts for it all the same while the
 * caller's cgroup is below its dmem.min or dmem.low: returns false, because victims that the driver
 * chooses come first. TTM doesn't move a deleted object any more, but waits for its fences: if true
 * is returned for such an object, open paging buffers are queued before.
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
 * Called when the last reference to the object is gone: takes the allocation out of the choice of
 * victims and, unless jobs use it, tells the device that the allocation leaves its place. If the
 * object's fences are pending, TTM takes a reference, waits for the fences, and only then locks the
 * object and frees its memory. From this call on no thread may find the allocation and move it,
 * because TTM wouldn't wait for the move's fence.
 */
static void ttm_release_notify(struct ttm_buffer_object *bo)
{
	if (!pagoda_bo_is_ours(bo))
		return;
	pagoda_victims_moved(pagoda_bo_of_ttm(bo), NULL, false);
	pagoda_move_release(pagoda_bo_of_ttm(bo));
}

/*
 * Called before the object's pages are swapped out. Clears pages that a lost copy should have
 * written: after the swap-out there would be no pages to clear, and the swapped content would be
 * what another client left in the pages. Frees the pages of kept copies and of offers with
 * decommit.
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
	pagoda_move_release_idle(bo);
	pagoda_import_unmap(bo);
	pagoda_bo_account(bo, NULL);
	atomic64_inc(&bo->vidmm->releases);
}

static bool io_mem_is_tiled(struct ttm_buffer_object *bo)
{
	return pagoda_bo_is_ours(bo) && pagoda_bo_of_ttm(bo)->tiling.layout.tiling;
}

/*
 * Prepares a resource for a CPU mapping; -EINVAL if the CPU can't reach it. The CPU maps VRAM of
 * this device cached, like RAM; ttm_io_mem_pfn() returns the page frames.
 */
static int ttm_io_mem_reserve(struct ttm_device *bdev, struct ttm_resource *res)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);

	if (res->mem_type != TTM_PL_VRAM)
		return 0;
	if (io_mem_is_tiled(res->bo)) {
		/* Tiled: the CPU maps the window of the swizzling range instead of VRAM. */
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
	.ttm_tt_populate = tt_populate,
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
