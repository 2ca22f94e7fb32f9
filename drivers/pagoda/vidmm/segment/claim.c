// SPDX-License-Identifier: GPL-2.0
/*
 * Claims: keep the room in VRAM that evictions make for an allocation from other allocations.
 *
 * An operation that evicts victims for an allocation has a claim of the allocation's size until the
 * operation has the room or fails. For another allocation the free room is smaller by the claims
 * that come before its own: of two operations that make room at the same time, the operation that
 * began first gets its room first, and the other goes on evicting. An allocation without a claim,
 * for example one that promotion brings back, gets only room that no operation claims.
 *
 * A claim is no guarantee: an operation that has no more victims takes room that others claim. An
 * older operation that finds its room so taken waits for the reservations of the younger operation,
 * and evicts the allocation that took the room (bo/victims.c).
 */
#include <linux/dma-resv.h>
#include <drm/ttm/ttm_bo.h>
#include "core/core.h"
#include "internal.h"
#include "segment.h"

/*
 * Returns the stamp of the ww ticket with which the reservation of @bo was locked: the earlier an
 * operation began, the smaller its stamp. ULONG_MAX if the reservation was locked without a ticket.
 */
static unsigned long claim_stamp(struct ttm_buffer_object *bo)
{
	struct ww_acquire_ctx *ticket = dma_resv_locking_ctx(bo->base.resv);

	return ticket ? ticket->stamp : ULONG_MAX;
}

static bool claim_is_before(const struct pagoda_vram_claim *claim, unsigned long stamp)
{
	return claim->stamp != ULONG_MAX && (stamp == ULONG_MAX ||
					     (long)(claim->stamp - stamp) <= 0);
}

/**
 * pagoda_vram_claim() - Claim as much room in VRAM as an allocation needs
 * @vidmm: Memory manager
 * @claim: Claim of the operation that makes room; nothing is done if the claim is in use already
 * @bo: Allocation, reservation held
 *
 * Allocations with a later claim, or none, leave as much free room to @bo (pagoda_vram_claimed()).
 *
 * Context: May sleep. To be followed by pagoda_vram_unclaim().
 */
void pagoda_vram_claim(struct pagoda_vidmm *vidmm, struct pagoda_vram_claim *claim,
		       struct ttm_buffer_object *bo)
{
	struct pagoda_vram *vram = vidmm->vram;
	struct pagoda_vram_claim *before;

	dma_resv_assert_held(bo->base.resv);
	if (claim->bo)
		return;
	*claim = (struct pagoda_vram_claim){
		.bo = bo,
		.stamp = claim_stamp(bo),
		.bytes = bo->base.size,
	};
	mutex_lock(&vram->lock);
	list_for_each_entry_reverse(before, &vram->claims, entry)
		if (claim_is_before(before, claim->stamp))
			break;
	list_add(&claim->entry, &before->entry);
	mutex_unlock(&vram->lock);
}

/* Ends an operation's claim on room in VRAM, if it has one. May sleep. */
void pagoda_vram_unclaim(struct pagoda_vidmm *vidmm, struct pagoda_vram_claim *claim)
{
	if (!claim->bo)
		return;
	mutex_lock(&vidmm->vram->lock);
	list_del(&claim->entry);
	mutex_unlock(&vidmm->vram->lock);
	claim->bo = NULL;
}

/*
 * Returns the bytes of free room that @bo must leave to other allocations: the sum of the claims
 * before the claim of @bo; of all claims if @bo has none; 0 once &pagoda_vram_claim.last is set in
 * the claim of @bo. Caller holds pagoda_vram.lock.
 */
u64 pagoda_vram_claimed(struct pagoda_vram *vram, const struct ttm_buffer_object *bo)
{
	struct pagoda_vram_claim *claim;
	u64 bytes = 0;

	lockdep_assert_held(&vram->lock);
	list_for_each_entry(claim, &vram->claims, entry) {
		if (claim->bo == bo)
			return claim->last ? 0 : bytes;
		bytes += claim->bytes;
	}
	return bytes;
}
