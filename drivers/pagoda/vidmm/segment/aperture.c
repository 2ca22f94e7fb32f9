// SPDX-License-Identifier: GPL-2.0
/*
 * The aperture segment, TTM_PL_TT: system pages that the GPU uses in place.
 *
 * Only a placement with an upper limit (lpfn) gets a range of aperture addresses (C163).
 * Without an address an allocation is limited only as system pages are: by TTM, by pages.c and by
 * the cgroup (bo/dmem.c).
 *
 * A range is free as soon as TTM frees the resource. The range may be given out at once, because
 * its UNMAP was emitted before, and the MAP for the next resource follows in the line of moves.
 * A kernel address of the resource's pages (C67) stays valid until the UNMAP was executed.
 *
 * pagoda_aperture.lock protects the ranges, the number of mapped pages and the last generation.
 *
 * pagoda_move_place() is for resources of all segments.
 */
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include "core/core.h"
#include "core/info.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "segment.h"

static struct pagoda_aperture *aperture_of_manager(struct ttm_resource_manager *man)
{
	return container_of(man, struct pagoda_aperture, manager);
}

static struct pagoda_aperture_resource *aperture_resource(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_aperture_resource, base);
}

static u64 aperture_pages(struct pagoda_aperture *aperture)
{
	return aperture->manager.size >> PAGE_SHIFT;
}

/* Returns whether a resource has aperture addresses, from page &ttm_resource.start on. */
bool pagoda_aperture_has_address(struct ttm_resource *res)
{
	return res->mem_type == TTM_PL_TT &&
	       drm_mm_node_allocated(&aperture_resource(res)->node);
}

VISIBLE_IF_KUNIT struct pagoda_aperture_resource *pagoda_aperture_new_resource(void)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_aperture_new_resource);
	return kzalloc(sizeof(struct pagoda_aperture_resource), GFP_KERNEL_ACCOUNT);
}

/*
 * Gives a resource addresses that the placement allows (C63), and a new generation. Returns 0;
 * -ENOSPC if an eviction may make room; -E2BIG if the placement's range is too small anyway.
 */
static int aperture_assign(struct pagoda_aperture *aperture, struct ttm_buffer_object *bo,
			   const struct ttm_place *place, struct pagoda_aperture_resource *ares)
{
	u64 end = min_t(u64, place->lpfn, aperture_pages(aperture));
	u64 pages = PFN_UP(bo->base.size);
	int ret = -ENOSPC;

	if (place->fpfn >= end || pages > end - place->fpfn)
		return -E2BIG;
	mutex_lock(&aperture->lock);
	/* The number of mapped pages never exceeds the segment's commit limit (C68). */
	if (aperture->mapped + pages > aperture_pages(aperture))
		goto unlock;
	ret = drm_mm_insert_node_in_range(&aperture->mm, &ares->node, pages, bo->page_alignment,
					  0, place->fpfn, end,
					  place->flags & TTM_PL_FLAG_TOPDOWN ?
						DRM_MM_INSERT_HIGH : DRM_MM_INSERT_BEST);
	if (ret)
		goto unlock;
	aperture->mapped += pages;
	aperture->generation = aperture->generation % VIRTIO_PAGODA_MAX_GENERATION + 1;
	ares->generation = aperture->generation;
unlock:
	mutex_unlock(&aperture->lock);
	return ret;
}

/*
 * &ttm_resource_manager_func.alloc of the aperture. Returns 0; -ENOSPC if TTM should evict a victim
 * and try again, -E2BIG if no eviction can help, or another negative errno. The resource has no
 * aperture address unless @place has an upper limit (lpfn).
 */
static int aperture_alloc(struct ttm_resource_manager *man, struct ttm_buffer_object *bo,
			  const struct ttm_place *place, struct ttm_resource **res)
{
	struct pagoda_aperture *aperture = aperture_of_manager(man);
	struct pagoda_aperture_resource *ares;

	ares = pagoda_aperture_new_resource();
	if (!ares)
		return -ENOMEM;
	if (place->lpfn) {
		int ret = aperture_assign(aperture, bo, place, ares);

		if (ret) {
			kfree(ares);
			return ret;
		}
	}
	ttm_resource_init(bo, place, &ares->base);
	pagoda_hold(pagoda_vidmm_of_ttm(bo->bdev), &ares->held, pagoda_client_of_ttm(bo),
		    VIRTIO_PAGODA_SEGMENT_APERTURE, ares->base.size);
	ares->base.start = ares->node.start;
	/*
	 * Keep TTM from moving the resource when contiguous memory is asked for: an aperture
	 * range is contiguous already, and a move can't make pages without addresses contiguous.
	 */
	ares->base.placement |= TTM_PL_FLAG_CONTIGUOUS;
	*res = &ares->base;
	return 0;
}

/**
 * pagoda_aperture_unmapped() - Keep a resource's kernel address until its UNMAP was executed
 * @res: Resource of the range, reservation held
 * @fence: Fence behind the UNMAP, or NULL
 *
 * The resource's kernel address, if there is one, is kept until @fence is signalled.
 *
 * Context: Any.
 */
void pagoda_aperture_unmapped(struct ttm_resource *res, struct dma_fence *fence)
{
	struct pagoda_aperture_resource *ares = aperture_resource(res);

	if (!ares->cpu || !fence)
		return;
	dma_fence_put(ares->unmapped);
	ares->unmapped = dma_fence_get(fence);
}

static void aperture_release(struct pagoda_aperture_resource *ares)
{
	vunmap(ares->cpu);
	dma_fence_put(ares->unmapped);
	kfree(ares);
}

static void aperture_release_work(struct work_struct *work)
{
	aperture_release(container_of(work, struct pagoda_aperture_resource, work));
}

/*
 * Fence callback, when the UNMAP of a freed resource was executed: has a work item free the kernel
 * mapping of the pages, and the resource; vunmap() may sleep, a fence callback may not.
 */
static void aperture_release_later(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct pagoda_aperture_resource *ares =
		container_of(cb, struct pagoda_aperture_resource, cb);

	queue_work(ares->wq, &ares->work);
}

/*
 * Frees a resource's addresses at once, and the resource with its kernel mapping when its UNMAP was
 * executed. May sleep, allocates nothing; also called on TTM's work queue.
 */
static void aperture_free(struct ttm_resource_manager *man, struct ttm_resource *res)
{
	struct pagoda_aperture *aperture = aperture_of_manager(man);
	struct pagoda_aperture_resource *ares = aperture_resource(res);

	ttm_resource_fini(man, res);
	if (drm_mm_node_allocated(&ares->node)) {
		mutex_lock(&aperture->lock);
		aperture->mapped -= ares->node.size;
		drm_mm_remove_node(&ares->node);
		mutex_unlock(&aperture->lock);
	}
	pagoda_let_go(pagoda_vidmm_of_ttm(man->bdev), &ares->held);
	INIT_WORK(&ares->work, aperture_release_work);
	ares->wq = man->bdev->wq;
	if (!ares->unmapped ||
	    dma_fence_add_callback(ares->unmapped, &ares->cb, aperture_release_later))
		aperture_release(ares);
}

/*
 * Returns whether evicting @res can help @place: always if the placement needs no address, else if
 * @res has addresses that overlap the placement's range.
 */
static bool aperture_intersects(struct ttm_resource_manager *man, struct ttm_resource *res,
				const struct ttm_place *place, size_t size)
{
	struct drm_mm_node *node = &aperture_resource(res)->node;

	if (!place->lpfn)
		return true;
	return drm_mm_node_allocated(node) && node->start < place->lpfn &&
	       node->start + node->size > place->fpfn;
}

static bool aperture_compatible(struct ttm_resource_manager *man, struct ttm_resource *res,
				const struct ttm_place *place, size_t size)
{
	struct drm_mm_node *node = &aperture_resource(res)->node;

	if (!place->lpfn)
		return true;
	return drm_mm_node_allocated(node) && node->start >= place->fpfn &&
	       node->start + node->size <= place->lpfn;
}

static void aperture_debug(struct ttm_resource_manager *man, struct drm_printer *p)
{
	struct pagoda_aperture *aperture = aperture_of_manager(man);
	struct drm_mm_node *node;
	u64 count = 0;

	mutex_lock(&aperture->lock);
	drm_mm_for_each_node(node, &aperture->mm)
		count++;
	drm_printf(p, "  mapped: %llu of %llu pages in %llu ranges\n", aperture->mapped,
		   aperture_pages(aperture), count);
	drm_printf(p, "  last generation: %u\n", aperture->generation);
	mutex_unlock(&aperture->lock);
}

static const struct ttm_resource_manager_func aperture_manager_func = {
	.alloc = aperture_alloc,
	.free = aperture_free,
	.intersects = aperture_intersects,
	.compatible = aperture_compatible,
	.debug = aperture_debug,
};

/* Makes the aperture segment, before the device is registered. May sleep. Returns 0 or -ENOMEM. */
int pagoda_aperture_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_aperture *aperture;

	aperture = drmm_kzalloc(vidmm->drm, sizeof(*aperture), GFP_KERNEL);
	if (!aperture)
		return -ENOMEM;
	vidmm->aperture = aperture;
	mutex_init(&aperture->lock);
	drm_mm_init(&aperture->mm, 0, vidmm->info->aperture_pages);
	aperture->manager.func = &aperture_manager_func;
	aperture->manager.use_tt = true;
	ttm_resource_manager_init(&aperture->manager, &vidmm->ttm,
				  vidmm->info->aperture_pages << PAGE_SHIFT);
	ttm_set_driver_manager(&vidmm->ttm, TTM_PL_TT, &aperture->manager);
	ttm_resource_manager_set_used(&aperture->manager, true);
	return 0;
}

/**
 * pagoda_aperture_fini() - Empty the aperture segment and take it down
 * @vidmm: Memory manager, after pagoda_aperture_init()
 *
 * VRAM has to be empty already, because allocations that leave VRAM may go to the aperture segment.
 * Evicts all allocations left in the aperture segment, so the device must still answer. If the
 * segment can't be emptied, an error is logged and the segment isn't taken down.
 *
 * Context: May sleep; the segment has no other users any more.
 */
void pagoda_aperture_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_aperture *aperture = vidmm->aperture;

	if (ttm_resource_manager_evict_all(&vidmm->ttm, &aperture->manager)) {
		drm_err(vidmm->drm, "the aperture can't be emptied\n");
		return;
	}
	ttm_resource_manager_set_used(&aperture->manager, false);
	ttm_resource_manager_cleanup(&aperture->manager);
	ttm_set_driver_manager(&vidmm->ttm, TTM_PL_TT, NULL);
	drm_WARN_ON(vidmm->drm, aperture->mapped);
	drm_mm_takedown(&aperture->mm);
	mutex_destroy(&aperture->lock);
}

/**
 * pagoda_move_place() - Get the place of a resource in the decision table of moves
 * @bo: TTM object with the resource; reservation held
 * @res: Resource or NULL
 *
 * Return: The place; PAGODA_PLACE_NONE without a resource.
 */
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res)
{
	if (!res)
		return PAGODA_PLACE_NONE;
	if (res->mem_type == TTM_PL_VRAM)
		return PAGODA_PLACE_VRAM;
	if (res->mem_type == TTM_PL_TT)
		return pagoda_aperture_has_address(res) ? PAGODA_PLACE_APERTURE_BOUND :
							  PAGODA_PLACE_APERTURE;
	if (bo->ttm && (ttm_tt_is_populated(bo->ttm) ||
			bo->ttm->page_flags & TTM_TT_FLAG_SWAPPED))
		return PAGODA_PLACE_SYSTEM;
	return PAGODA_PLACE_SYSTEM_EMPTY;
}

/* Fills in @info, in which the caller has set the id only, for the aperture. May sleep. */
void pagoda_aperture_report(struct pagoda_vidmm *vidmm, struct drm_pagoda_segment_info *info)
{
	struct pagoda_aperture *aperture = vidmm->aperture;
	struct drm_mm_node *node;
	u64 start, end;

	info->flags = DRM_PAGODA_SEGMENT_APERTURE_FLAG | DRM_PAGODA_SEGMENT_CPU_VISIBLE;
	info->size = vidmm->info->aperture_pages << PAGE_SHIFT;
	info->visible_size = info->size;
	info->usage = ttm_resource_manager_usage(&aperture->manager);
	info->visible_usage = info->usage;
	info->pin_limit = vidmm->pin_limit;
	mutex_lock(&aperture->lock);
	info->mapped = aperture->mapped << PAGE_SHIFT;
	drm_mm_for_each_hole(node, &aperture->mm, start, end)
		info->largest_free = max_t(u64, info->largest_free, (end - start) << PAGE_SHIFT);
	mutex_unlock(&aperture->lock);
}
