// SPDX-License-Identifier: GPL-2.0
/*
 * The state of an allocation, for all parts of the memory management: queries, and functions that
 * note a change: of whether the allocation is wanted, that its content is lost, or that the next
 * MAKE_RESIDENT may have work to do. Also the pause of walks over many allocations.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "queue/exec.h"
#include "allocation.h"
#include "client.h"
#include "events.h"
#include "ledger.h"

/**
 * pagoda_segment_of() - Segment of a TTM resource
 * @res: Resource
 *
 * All of TTM_PL_TT counts as the aperture segment, with or without an address in the aperture.
 *
 * Return: enum virtio_pagoda_segment.
 */
u32 pagoda_segment_of(const struct ttm_resource *res)
{
	switch (res->mem_type) {
	case TTM_PL_VRAM:
		return VIRTIO_PAGODA_SEGMENT_VRAM;
	case TTM_PL_TT:
		return VIRTIO_PAGODA_SEGMENT_APERTURE;
	default:
		return VIRTIO_PAGODA_SEGMENT_SYSTEM;
	}
}

/* Returns the allocation that a GEM object of this driver is part of; takes no reference. */
struct pagoda_bo *pagoda_bo_of_gem(struct drm_gem_object *obj)
{
	return pagoda_bo_of_ttm(drm_gem_ttm_of_gem(obj));
}

/* Returns an allocation's GEM object; takes no reference. */
struct drm_gem_object *pagoda_bo_gem(struct pagoda_bo *bo)
{
	return &bo->ttm.base;
}

/**
 * pagoda_bo_is_ours() - Test whether a TTM object is an allocation of this driver
 * @bo: TTM object
 *
 * Kept copies, and the objects (ghosts) that TTM creates to hold the resource that a move leaves
 * behind, are part of no struct pagoda_bo.
 *
 * Return: Whether pagoda_bo_of_ttm() may be used.
 */
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo)
{
	return bo->destroy == pagoda_vidmm_of_ttm(bo->bdev)->bo_destroy;
}

/* Returns the client that is charged for a TTM object; NULL if there is none. */
struct pagoda_client *pagoda_client_of_ttm(struct ttm_buffer_object *bo)
{
	return pagoda_bo_is_ours(bo) ? pagoda_bo_of_ttm(bo)->client : NULL;
}

/* Returns whether @vm may map an allocation: false if it is private to another VM. */
bool pagoda_bo_is_usable_in(const struct pagoda_bo *bo, const struct pagoda_vm *vm)
{
	return !bo->vm.private_to || bo->vm.private_to == vm;
}

/*
 * Returns whether an allocation is offered: OFFER says that its content may be discarded, until
 * RECLAIM. The offer changes only with the reservation held.
 */
bool pagoda_bo_is_offered(const struct pagoda_bo *bo)
{
	return READ_ONCE(bo->offer.rank) != PAGODA_OFFER_NONE;
}

static bool wish_wants(const struct pagoda_budget_part *part)
{
	const struct pagoda_bo *bo = container_of(part, struct pagoda_bo, part);

	if (pagoda_bo_is_offered(bo))
		return false;
	if (atomic_read(&bo->wish.required))
		return true;
	return !READ_ONCE(bo->wish.released) &&
	       (READ_ONCE(bo->wish.resident) || bo->ttm.type == ttm_bo_type_kernel);
}

/**
 * pagoda_wish_changed() - Tell the client's budget whether an allocation is wanted
 * @bo: Allocation, which may have no client
 *
 * An allocation is wanted while it is on a client's residency list; and from when it was made
 * resident on request or by a job, or was made by the driver for a client (ttm_bo_type_kernel),
 * until EVICT leaves it on no residency list, or its last reference is gone. An allocation isn't
 * wanted while it is offered. Moves and evictions for want of room change nothing (budget.h).
 *
 * Called after each change of &pagoda_bo.wish.resident, &pagoda_bo.wish.released, whether
 * &pagoda_bo.wish.required is 0, and &pagoda_bo.offer.rank; and after &pagoda_bo.client was set.
 *
 * Context: Any but interrupts; no lock is needed.
 */
void pagoda_wish_changed(struct pagoda_bo *bo)
{
	if (bo->client)
		pagoda_budget_want(&bo->client->budget, &bo->part, wish_wants);
}

/**
 * pagoda_bo_mark_lost() - Mark an allocation's content as lost
 * @bo: Allocation that the caller keeps from being freed; no lock is needed
 *
 * The allocation is filled with zeros before the content is used. &pagoda_bo.client, if any, gets a
 * CONTENT_LOST event, unless an earlier loss isn't acknowledged yet. Imported memory is never
 * marked: its content belongs to the exporting driver.
 *
 * Context: Any, including the dma_fence signalling path.
 */
void pagoda_bo_mark_lost(struct pagoda_bo *bo)
{
	bool news;

	if (bo->share.imported)
		return;
	news = !READ_ONCE(bo->content.lost);
	if (news)
		atomic64_inc(&bo->vidmm->stats.lost);
	WRITE_ONCE(bo->content.lost, true);
	/*
	 * Pairs with pagoda_lost_clear(): a thread that found the fence of the lost paging
	 * signalled finds &pagoda_bo.content.unclean set, too, and fills the content with zeros.
	 */
	smp_store_release(&bo->content.unclean, true);
	/*
	 * This barrier pairs with that in lost_acknowledge(), which may have cleared @lost, set
	 * above, before @unclean was set: set @lost again.
	 */
	smp_mb();
	WRITE_ONCE(bo->content.lost, true);
	if (news && bo->client)
		pagoda_ears_content_lost(&bo->client->ears);
}

/*
 * Notes that an allocation changed: from now on it isn't settled, so that the next MAKE_RESIDENT
 * doesn't take the fast path of settled.c for it. The caller holds the reservation.
 */
void pagoda_settled_clear(struct pagoda_bo *bo)
{
	WRITE_ONCE(bo->wish.settled, 0);
}

/**
 * pagoda_access_user() - Find unfinished work that uses an allocation
 * @bo: Allocation, reservation held
 * @usage: Fences of this and all lower usages are looked at, as by dma_resv_for_each_fence()
 *
 * Return: A reference to one of the fences that aren't signalled, not always the last; or NULL.
 */
struct dma_fence *pagoda_access_user(struct pagoda_bo *bo, enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, bo->ttm.base.resv, usage, fence)
		if (!dma_fence_is_signaled(fence))
			return dma_fence_get(fence);
	return NULL;
}

/**
 * pagoda_bo_may_be_mapped() - Test whether the CPU may map an allocation (C175)
 * @bo: Allocation
 *
 * An allocation that isn't declared CPU-visible is mapped while it is in system memory only, so
 * the GPU must be able to use that allocation in the aperture segment, too.
 *
 * Return: Whether the allocation may be mapped.
 */
bool pagoda_bo_may_be_mapped(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE ||
	       bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
}

/**
 * pagoda_walk_pause() - Let other threads go on between two slices of a walk over many allocations
 *
 * The caller has just dropped the lock that the walk needs.
 *
 * Context: May sleep.
 */
void pagoda_walk_pause(void)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_walk_pause);
	cond_resched();
}
