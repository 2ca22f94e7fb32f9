// SPDX-License-Identifier: GPL-2.0
/*
 * Placements: the only place where the segments that an allocation was created with become
 * placements for TTM.
 */
#include "core/core.h"
#include "core/info.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/*
 * Only an allocation that the GPU reaches by physical address gets an address in the aperture
 * (C162, C163).
 */
static struct ttm_place place_aperture(struct pagoda_bo *bo)
{
	struct ttm_place place = { .mem_type = TTM_PL_TT };

	if (bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY)
		place.lpfn = bo->vidmm->info->aperture_pages;
	return place;
}

/* A pinned allocation stays in its segment, whatever placement is asked for. */
static u32 place_pinned(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = (struct ttm_place) { .mem_type = bo->ttm.resource->mem_type };
	return 1;
}

/* Fills the place where other devices can reach an allocation that the aperture supports. */
u32 pagoda_bo_placement_shared(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = place_aperture(bo);
	return 1;
}

/*
 * Fills the places where the GPU can use an allocation: supported segments (C160) in the order
 * of preference (C161). A segment after the first is used only if evictions made no room in the
 * segments before; TTM evicts in that segment, too.
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
 * Fills free room of VRAM for an allocation that prefers VRAM: no other allocation is evicted.
 * Returns 0 if the allocation prefers another segment.
 */
u32 pagoda_bo_placement_free(struct pagoda_bo *bo, struct ttm_place *places)
{
	if (!pagoda_bo_placement_resident(bo, places) || places[0].mem_type != TTM_PL_VRAM)
		return 0;
	places[0].flags |= TTM_PL_FLAG_DESIRED;
	return 1;
}

/*
 * Fills free room in VRAM, then the other segments in the order of preference, for an allocation
 * that prefers VRAM and could be used in another segment: no other allocation is evicted from VRAM.
 */
u32 pagoda_bo_placement_modest(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = pagoda_bo_placement_resident(bo, places);

	places[0].flags |= TTM_PL_FLAG_DESIRED;
	return n;
}

/*
 * Fills the places that an allocation is evicted to: the eviction segment (C37), then the
 * system segment, which always has room. An offered allocation goes to the system segment
 * without its content. An allocation that is charged to another cgroup than the caller's
 * doesn't go to the aperture, because TTM would charge the caller for it.
 */
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = 0;

	if (bo->ttm.pin_count)
		return place_pinned(bo, places);
	if (bo->eviction & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE) &&
	    !pagoda_bo_is_offered(bo) && pagoda_dmem_is_own(bo))
		places[n++] = place_aperture(bo);
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}

/*
 * Fills the places where the CPU can reach an allocation: the visible part of VRAM if there
 * is such a part with enough free room, else system memory, in the aperture segment if that is
 * supported. No other allocation is evicted for a CPU access. A tiled surface isn't shown in
 * VRAM, nor is an allocation that isn't declared CPU-visible (C175).
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
	if (bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE))
		places[n++] = place_aperture(bo);
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}

/*
 * Returns as ttm_bo_validate(), but tells two cases of its -ENOMEM apart: -ENOSPC is a lack of
 * room in the segment, which evictions could end; -ENOMEM is a lack of system memory, which
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
 * Brings an allocation to VRAM. While there is no room, @take evicts a victim from @place that
 * @claim allows, or returns false; @take adds victims that aren't to be tried again to @tried.
 * Doesn't wait for the device. Returns -ENOMEM if there isn't enough room or memory, or if
 * @placement doesn't evict from VRAM, -ERESTARTSYS if a victim's move was interrupted, else the
 * result of ttm_bo_validate(). The caller holds the reservation.
 */
int pagoda_bo_place_taking(struct pagoda_bo *bo, const struct ttm_placement *placement,
			   struct ttm_operation_ctx *ctx, pagoda_take_fn take,
			   struct pagoda_dmem_claim *claim, struct list_head *tried)
{
	struct ttm_resource_manager *man = ttm_manager_type(&bo->vidmm->ttm, TTM_PL_VRAM);
	const struct ttm_place *place = placement->placement;
	struct ttm_place calm = *place;
	struct ttm_placement only = { .num_placement = 1, .placement = &calm };
	int ret;

	if (place->mem_type != TTM_PL_VRAM || place->flags & TTM_PL_FLAG_DESIRED)
		return -ENOMEM;
	/* TTM evicts nothing by itself: place_try() fails without free room. */
	calm.flags |= TTM_PL_FLAG_DESIRED;
	atomic_inc(&bo->vidmm->taking);
	do {
		ret = place_try(bo, &only, ctx);
		if (ret == -ENOSPC)
			pagoda_dmem_claim_look(claim, man, bo->ttm.base.size);
	} while (ret == -ENOSPC && take(bo, place, ctx, claim, tried));
	atomic_dec(&bo->vidmm->taking);
	if (ret != -ENOSPC)
		return ret;
	return claim->interrupted ? -ERESTARTSYS : -ENOMEM;
}

/*
 * Returns the bulk move with which each job moves its VM's private allocations to the end of the
 * LRU list, or NULL if the allocation isn't in it: not private, without handle, or offered.
 */
static struct ttm_lru_bulk_move *priority_bulk(const struct pagoda_bo *bo)
{
	if (!bo->vm.private_to || !bo->vm.opened || pagoda_bo_is_offered(bo))
		return NULL;
	return &bo->vm.uses->bulk;
}

/**
 * pagoda_priority_apply() - Note that an allocation's priority, handle or offer changed
 * @bo: Allocation, reservation held
 *
 * Tells the policy and promotion. If the change puts the allocation into another LRU list or bulk
 * move of TTM, the allocation goes to the end there.
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

/*
 * Moves an allocation to a placement that @where fills, without making room. Returns 0, -ENOSPC if
 * @where fills no place, or the result of ttm_bo_validate(). The caller holds the reservation.
 */
int pagoda_bo_move(struct pagoda_bo *bo,
		   u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		   struct ttm_operation_ctx *ctx)
{
	struct ttm_place places[4];
	struct ttm_placement placement = { .placement = places };

	placement.num_placement = where(bo, places);
	if (!placement.num_placement)
		return -ENOSPC;
	return ttm_bo_validate(&bo->ttm, &placement, ctx);
}
