// SPDX-License-Identifier: GPL-2.0
/*
 * TTM placements that bring an allocation to its supported, preferred or eviction segments, moves
 * to such placements, and the LRU list of TTM that an allocation is in.
 */
#include <drm/drm_exec.h>
#include "core/core.h"
#include "core/info.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/*
 * Returns the place of an allocation in the aperture segment. Only an allocation that the GPU
 * reaches by physical address gets an address in the aperture (lpfn isn't 0; C162, C163).
 */
static struct ttm_place place_aperture(struct pagoda_bo *bo)
{
	struct ttm_place place = { .mem_type = TTM_PL_TT };

	if (bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY)
		place.lpfn = bo->vidmm->info->aperture_pages;
	return place;
}

/*
 * Returns whether an allocation needs no address in the aperture, or an empty aperture could hold
 * it. If not, TTM would get -E2BIG for place_aperture() and try no place after it.
 */
static bool place_fits_aperture(const struct pagoda_bo *bo)
{
	return !(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY) ||
	       bo->ttm.base.size >> PAGE_SHIFT <= bo->vidmm->info->aperture_pages;
}

/*
 * Fills in the present segment of a pinned allocation, whatever placement was asked for. Returns 1,
 * the number of places.
 */
static u32 place_pinned(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = (struct ttm_place) { .mem_type = bo->ttm.resource->mem_type };
	return 1;
}

/*
 * Fills in the place where devices that import the allocation reach it: the aperture segment, which
 * must be supported. Returns 1, the number of places.
 */
u32 pagoda_bo_placement_shared(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = place_aperture(bo);
	return 1;
}

/*
 * Fills in the places where the GPU can use an allocation: supported segments (C160) in the order
 * of preference (C161). A later segment is used only if evictions made no room in the segments
 * before it; TTM evicts from a later segment, too. A pinned allocation stays in its segment.
 * Returns the number of places.
 */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n;

	if (bo->ttm.pin_count)
		return place_pinned(bo, places);
	for (n = 0; n < DRM_PAGODA_MAX_PREFERRED && bo->preferred[n]; n++) {
		if (bo->preferred[n] == DRM_PAGODA_SEGMENT_VRAM)
			places[n] = (struct ttm_place) {
				.mem_type = TTM_PL_VRAM,
				.flags = pagoda_bo_vram_flags(bo->flags),
			};
		else
			places[n] = place_aperture(bo);
		if (n)
			places[n].flags |= TTM_PL_FLAG_FALLBACK;
	}
	return n;
}

/*
 * Fills in a single place for an allocation that prefers VRAM: free room in VRAM, for which no
 * other allocation is evicted. Returns 1, the number of places; 0 if the allocation prefers, or is
 * pinned in, another segment.
 */
u32 pagoda_bo_placement_free(struct pagoda_bo *bo, struct ttm_place *places)
{
	if (!pagoda_bo_placement_resident(bo, places) || places[0].mem_type != TTM_PL_VRAM)
		return 0;
	places[0].flags |= TTM_PL_FLAG_DESIRED;
	return 1;
}

/*
 * Fills in the places of pagoda_bo_placement_resident(), VRAM restricted to free room, so that no
 * other allocation is evicted from VRAM. For an allocation that prefers VRAM and has another
 * supported segment. Returns the number of places.
 */
u32 pagoda_bo_placement_modest(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = pagoda_bo_placement_resident(bo, places);

	places[0].flags |= TTM_PL_FLAG_DESIRED;
	return n;
}

/*
 * Fills in the places that an allocation is evicted to: the aperture if it is an eviction segment
 * of the allocation (C37) and large enough, then the system segment, which has no limit of its own.
 * An offered allocation goes to the system segment, from VRAM without its content. An allocation
 * that is charged to another cgroup than the current task's goes to the system segment, too: in the
 * aperture TTM would charge the current task's cgroup. A pinned allocation stays in its segment.
 * Returns the number of places.
 */
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = 0;

	if (bo->ttm.pin_count)
		return place_pinned(bo, places);
	if (bo->eviction & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE) &&
	    place_fits_aperture(bo) && !pagoda_bo_is_offered(bo) && pagoda_dmem_is_own(bo))
		places[n++] = place_aperture(bo);
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}

/*
 * Fills in the places where the CPU can reach an allocation: free room in the visible part of VRAM,
 * then in the aperture segment, then the system segment. No other allocation is evicted for a CPU
 * access: without TTM_PL_FLAG_DESIRED, TTM would evict others while dmem.min or dmem.low protects
 * the caller's cgroup, before it tries the next place. VRAM and the aperture are left out unless
 * supported and able to hold the allocation. VRAM is also left out for a tiled surface, which the
 * CPU can't read in VRAM as rows, and for an allocation that isn't declared CPU-visible (C175).
 * Returns the number of places.
 */
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places)
{
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = bo->vidmm->info->visible_size >> PAGE_SHIFT,
		.flags = pagoda_bo_vram_flags(bo->flags) | TTM_PL_FLAG_DESIRED,
	};
	u32 n = 0;

	if (bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM) && visible.lpfn &&
	    bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE && !bo->tiling.layout.tiling &&
	    pagoda_vram_could_hold(bo->vidmm, &visible, bo->ttm.base.size, bo->alignment))
		places[n++] = visible;
	if (bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE) &&
	    place_fits_aperture(bo)) {
		places[n] = place_aperture(bo);
		places[n++].flags |= TTM_PL_FLAG_DESIRED;
	}
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}

/*
 * Calls ttm_bo_validate() and returns its result, but splits its -ENOMEM: -ENOSPC for a lack of
 * room in the segment, which evictions could end; -ENOMEM for a lack of system memory, which
 * evictions would make worse.
 */
static int place_try(struct pagoda_bo *bo, struct ttm_placement *placement,
		     struct ttm_operation_ctx *ctx)
{
	int ret = ttm_bo_validate(&bo->ttm, placement, ctx);
	struct ttm_resource *res = NULL;

	if (ret != -ENOMEM)
		return ret;
	ret = ttm_bo_mem_space(&bo->ttm, placement, &res, ctx);
	if (ret)
		return ret;
	ttm_resource_free(&bo->ttm, &res);
	return -ENOMEM;
}

/*
 * Brings an allocation to VRAM, the first place of @placement; other places aren't tried. While
 * there is no room, calls @take, which makes room by evicting victims that @claim allows, until
 * @take returns false. Returns -ENOMEM if there isn't enough room or memory, or if the first place
 * isn't in VRAM or allows only free room; -EDEADLK if the operation's reservations are contended;
 * -ERESTARTSYS if a signal ended a victim's move or a wait for another operation; else the result
 * of ttm_bo_validate(). The caller holds the reservation.
 */
int pagoda_bo_place_taking(struct pagoda_bo *bo, const struct ttm_placement *placement,
			   struct pagoda_placing *placing, pagoda_take_fn take,
			   struct pagoda_dmem_claim *claim, struct pagoda_victims_search *search)
{
	struct ttm_resource_manager *man = ttm_manager_type(&bo->vidmm->ttm, TTM_PL_VRAM);
	const struct ttm_place *place = placement->placement;
	struct ttm_place calm = *place;
	struct ttm_placement only = { .num_placement = 1, .placement = &calm };
	struct drm_exec *exec = placing->op->exec;
	int ret;

	if (place->mem_type != TTM_PL_VRAM || place->flags & TTM_PL_FLAG_DESIRED)
		return -ENOMEM;
	/* With this flag TTM evicts nothing: place_try() fails if there is no free room. */
	calm.flags |= TTM_PL_FLAG_DESIRED;
	do {
		ret = place_try(bo, &only, &placing->op->ttm);
		if (ret != -ENOSPC)
			break;
		pagoda_vram_claim(bo->vidmm, &placing->claim, &bo->ttm);
		pagoda_dmem_claim_look(claim, man, bo->ttm.base.size);
	} while (take(bo, place, placing, claim, search));
	if (ret != -ENOSPC)
		return ret;
	if (exec && drm_exec_is_contended(exec))
		return -EDEADLK;
	return claim->interrupted ? -ERESTARTSYS : -ENOMEM;
}

/*
 * Returns the bulk move that an allocation belongs in: that of the VM that the allocation is
 * private to, which each job of the VM moves to the end of the LRU list as a whole; NULL if the
 * allocation isn't private, has no handle, or is offered.
 */
static struct ttm_lru_bulk_move *priority_bulk(const struct pagoda_bo *bo)
{
	if (!bo->vm.private_to || !bo->vm.opened || pagoda_bo_is_offered(bo))
		return NULL;
	return &bo->vm.uses->bulk;
}

/**
 * pagoda_priority_apply() - Apply a change of an allocation's priority, handle or offer
 * @bo: Allocation, reservation held
 *
 * Tells the policy, which chooses victims, and promotion, which brings allocations back to VRAM. If
 * the allocation now belongs in another LRU list or bulk move of TTM, it is moved to the end there.
 *
 * Context: Takes TTM's LRU lock.
 */
void pagoda_priority_apply(struct pagoda_bo *bo)
{
	u32 level = pagoda_priority_level(bo);

	dma_resv_assert_held(bo->ttm.base.resv);
	pagoda_victims_changed(bo);
	pagoda_promote_look(bo);
	if (level == bo->ttm.priority && priority_bulk(bo) == bo->ttm.bulk_move)
		return;
	ttm_bo_set_bulk_move(&bo->ttm, NULL);
	spin_lock(&bo->vidmm->ttm.lru_lock);
	bo->ttm.priority = level;
	ttm_bo_move_to_lru_tail(&bo->ttm);
	spin_unlock(&bo->vidmm->ttm.lru_lock);
	ttm_bo_set_bulk_move(&bo->ttm, priority_bulk(bo));
}

/* pagoda_bo_move() with @flags, PAGODA_PL_*, added to all places. */
static int bo_move(struct pagoda_bo *bo,
		   u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places), u32 flags,
		   struct ttm_operation_ctx *ctx)
{
	struct ttm_place places[4];
	struct ttm_placement placement = { .placement = places };
	u32 i;

	placement.num_placement = where(bo, places);
	if (!placement.num_placement)
		return -ENOSPC;
	for (i = 0; i < placement.num_placement; i++)
		places[i].flags |= flags;
	return ttm_bo_validate(&bo->ttm, &placement, ctx);
}

/*
 * Moves an allocation to the placement that @where fills. Unlike pagoda_bo_place(), doesn't evict
 * other allocations first: only TTM makes room. Returns 0, -ENOSPC if @where fills no place, or the
 * result of ttm_bo_validate(). The caller holds the reservation.
 */
int pagoda_bo_move(struct pagoda_bo *bo,
		   u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		   struct ttm_operation_ctx *ctx)
{
	return bo_move(bo, where, 0, ctx);
}

/*
 * Evicts a victim: pagoda_bo_move() to pagoda_bo_placement_evicted(), queued behind the jobs that
 * use the allocation. Returns 0 or the result of ttm_bo_validate(): -EBUSY, for instance, if work
 * without a place of an engine uses the allocation.
 */
int pagoda_bo_evict(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx)
{
	return bo_move(bo, pagoda_bo_placement_evicted, PAGODA_PL_VICTIM, ctx);
}
