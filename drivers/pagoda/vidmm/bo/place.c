// SPDX-License-Identifier: GPL-2.0
/* Brings an allocation to a place; to make room, offered allocations leave VRAM before others. */
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/**
 * pagoda_bo_place() - Bring an allocation to a placement
 * @bo: Allocation, reservation held
 * @where: Fills the placement and returns the number of places, as pagoda_bo_placement_resident().
 *	0 is refused, because TTM would drop the content
 * @ctx: Whether waits may be interrupted, or happen at all
 *
 * If the first place is in VRAM and isn't restricted to free room, offered allocations are evicted
 * to make room, then victims that the policy chooses, then allocations of both kinds that dmem.low
 * protects. If all that isn't enough, TTM makes room or uses the next place.
 *
 * Context: May sleep and allocate.
 * Return: 0, -ENOSPC if @where fills no place, or the result of ttm_bo_validate().
 */
int pagoda_bo_place(struct pagoda_bo *bo,
		    u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		    struct ttm_operation_ctx *ctx)
{
	struct ttm_place places[4];
	struct ttm_placement placement = { .placement = places };
	struct pagoda_dmem_claim claim = {};
	int ret;

	placement.num_placement = where(bo, places);
	if (!placement.num_placement)
		return -ENOSPC;
	do {
		ret = pagoda_offer_place(bo, &placement, ctx, &claim);
		if (ret == -ENOMEM)
			ret = pagoda_victims_place(bo, &placement, ctx, &claim);
	} while (ret == -ENOMEM && pagoda_dmem_claim_again(&claim));
	pagoda_dmem_claim_end(&claim);
	if (ret != -ENOMEM)
		return ret;
	return ttm_bo_validate(&bo->ttm, &placement, ctx);
}
