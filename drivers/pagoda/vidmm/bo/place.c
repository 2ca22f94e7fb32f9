// SPDX-License-Identifier: GPL-2.0
/* Brings an allocation to a placement; for room in VRAM evicts victims before TTM does. */
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "bo.h"
#include "internal.h"

/*
 * Most further attempts of an urgent operation that found no room while other threads freed VRAM:
 * TTM's worker may hold the reservation of an object while it frees the object's room, and TTM,
 * when it makes room, passes over such an object.
 */
#define PLACE_AGAIN	16

/*
 * Makes one attempt to bring an allocation to @placement, with room made in the order that
 * pagoda_bo_place() describes. Returns 0 or a negative errno.
 */
static int place_once(struct pagoda_bo *bo, struct ttm_placement *placement,
		      struct pagoda_placing *placing)
{
	struct pagoda_dmem_claim claim = {};
	int ret = -ENOMEM;

	do {
		if (placement->placement->flags & TTM_PL_FLAG_CONTIGUOUS)
			ret = pagoda_victims_place(bo, placement, placing, pagoda_window_take,
						   &claim);
		if (ret == -ENOMEM)
			ret = pagoda_victims_place(bo, placement, placing, pagoda_victims_take_next,
						   &claim);
	} while (ret == -ENOMEM && pagoda_dmem_claim_again(&claim));
	pagoda_dmem_claim_end(&claim);
	placing->claim.last = true;
	if (ret == -ENOMEM)
		ret = ttm_bo_validate(&bo->ttm, placement, &placing->op->ttm);
	return ret;
}

/**
 * pagoda_bo_place() - Bring an allocation to a placement
 * @bo: Allocation, reservation held
 * @where: Fills the placement and returns the number of places, as pagoda_bo_placement_resident().
 *	0 is refused, because TTM would drop the content
 * @op: Operation that the move is a part of
 *
 * If the first place is in VRAM, isn't restricted to free room and has no free room, victims that
 * the policy chooses are evicted: offered allocations first, allocations that dmem.low protects
 * last; only offered ones if TTM chooses the others. For a contiguous @bo, the first attempt is to
 * free a contiguous range of VRAM (window.c). If none of this is enough, TTM makes room or uses the
 * next place. Room that is made is claimed for @bo (segment/claim.c).
 *
 * Context: May sleep and allocate. Waits for jobs that use @bo before a move, as @op->flags say;
 * with @op->exec also for other operations that hold VRAM (victims.c).
 * Return: 0; -ENOSPC if @where fills no place; -EDEADLK if @op->exec is contended; with
 * %PAGODA_PL_PROMPT, -EINPROGRESS and a fence in @op->late if work without a place of an engine
 * uses @bo; -ERESTARTSYS after a signal; or the result of ttm_bo_validate().
 */
int pagoda_bo_place(struct pagoda_bo *bo,
		    u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		    struct pagoda_operation *op)
{
	struct ttm_place places[4];
	struct ttm_placement placement = { .placement = places };
	struct pagoda_placing placing = { .op = op };
	u32 i, tries = 0;
	u64 frees;
	int ret;

	placement.num_placement = where(bo, places);
	if (!placement.num_placement)
		return -ENOSPC;
	op->evicted = 0;
	for (i = 0; i < placement.num_placement; i++)
		places[i].flags |= op->flags | (op->urgent ? PAGODA_PL_URGENT : 0);
	do {
		frees = pagoda_vram_frees(bo->vidmm);
		ret = place_once(bo, &placement, &placing);
	} while (ret == -ENOMEM && op->urgent && frees != pagoda_vram_frees(bo->vidmm) &&
		 tries++ < PLACE_AGAIN);
	pagoda_vram_unclaim(bo->vidmm, &placing.claim);
	if (ret == -EBUSY && op->flags & PAGODA_PL_PROMPT)
		op->late = pagoda_stream_get_queued(bo->vidmm, bo->ttm.base.resv,
						    DMA_RESV_USAGE_BOOKKEEP);
	return ret == -EBUSY && op->late ? -EINPROGRESS : ret;
}

/**
 * pagoda_bo_place_ahead() - Bring an allocation to VRAM before a queued job needs it there
 * @bo: Allocation that prefers VRAM, reservation held; no job or other device uses it
 * @when: &pagoda_policy_coming.when of the last allocation that the job lists
 * @op: Operation that the move is a part of; @op->exec is NULL
 *
 * Room is made by idle victims whose next use comes after the job: those that the policy would
 * choose now for any allocation, or none. For a contiguous allocation there has to be free room.
 *
 * Context: May sleep and allocate. Waits neither for other operations nor for jobs; the stream
 * doesn't wait for jobs either.
 * Return: 0; -ENOMEM without room; or another result of pagoda_bo_place_taking().
 */
int pagoda_bo_place_ahead(struct pagoda_bo *bo, u64 when, struct pagoda_operation *op)
{
	struct ttm_place places[4];
	const struct ttm_placement placement = { .placement = places, .num_placement = 1 };
	struct pagoda_placing placing = { .op = op, .when = when };
	struct pagoda_dmem_claim claim = {};
	int ret;

	op->evicted = 0;
	if (!pagoda_bo_placement_resident(bo, places) ||
	    places[0].flags & TTM_PL_FLAG_CONTIGUOUS)
		return -ENOMEM;
	places[0].flags |= op->flags;
	ret = pagoda_victims_place(bo, &placement, &placing, pagoda_victims_take_later, &claim);
	pagoda_dmem_claim_end(&claim);
	pagoda_vram_unclaim(bo->vidmm, &placing.claim);
	return ret;
}
