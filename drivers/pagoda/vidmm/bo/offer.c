// SPDX-License-Identifier: GPL-2.0
/*
 * Offered content, which may be discarded without asking its client; uses of offered allocations,
 * which are refused.
 *
 * OFFER moves and discards nothing. The offer has an effect on the content in these cases:
 *
 *	VRAM is needed	for another allocation, or is trimmed: of the policy's victims
 *			(victims.c), offered allocations are the first, idle ones before others,
 *			by rank and age; TTM has them in the LRU list that it looks at first. The
 *			content isn't copied to the system segment: DISCARD_CONTENT is emitted
 *			instead, behind the work that uses the allocation (C170), and no thread
 *			waits
 *	EVICT		of an offered allocation in VRAM discards the content, too
 *	swap-out	of system pages: an offered allocation is swapped out as any other, but
 *			with decommit its pages are freed instead
 *	a reset, or a	offered allocations leave VRAM without their content. Not those that jobs
 *	sleep		still use after a reset: they stay, and are filled with zeros; nor those
 *			in VRAM that the device preserves in a sleep: they keep their content
 *
 * An allocation with discarded content is in the system segment without pages; the pages that the
 * allocation gets later are zeros. But if jobs still use the allocation after a reset, or a discard
 * failed, the allocation is in VRAM, to be filled with zeros. RECLAIM (residency/reclaim.c) ends
 * an offer.
 *
 * Every job of a VM uses the allocations that are private to the VM and bound. If such an
 * allocation is offered, the VM's next submission, not OFFER, invalidates the page table entries,
 * because all jobs that may use the entries have to end first: the submission waits for these jobs
 * in its queue, once, or leaves the entries to a later submission if its job is fenced or new jobs
 * came during the wait. A move out of VRAM before then invalidates the entries, behind these jobs.
 */
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/**
 * pagoda_offer_refuses() - Test whether the use of an allocation is refused because it is offered
 * (C171)
 * @bo: Allocation; the answer may change unless its reservation is held
 *
 * A refusal is written to the debug log.
 *
 * Return: Whether the use is refused.
 */
bool pagoda_offer_refuses(const struct pagoda_bo *bo)
{
	if (!pagoda_bo_is_offered(bo))
		return false;
	drm_dbg_driver(bo->vidmm->drm, "allocation %llu can't be used: it is offered\n", bo->id);
	return true;
}

/* Undoes pagoda_offer_prevent() for the first @count allocations of @bos. */
void pagoda_offer_allow(struct pagoda_bo **bos, u32 count)
{
	while (count)
		atomic_dec(&bos[--count]->wish.queued);
}

/**
 * pagoda_offer_prevent() - Prevent that allocations are offered, for work that is about to be
 * accepted
 * @bos: Allocations; none of them can be offered until pagoda_offer_allow()
 * @count: Number of allocations
 *
 * No reservation is taken, because paging may hold a reservation for long. Either this function
 * sees an offer, or offer_mark_all() sees that &pagoda_bo.wish.queued isn't 0.
 *
 * Context: Any but interrupts.
 * Return: 0, or -ENODATA if an allocation is offered; then nothing has changed.
 */
int pagoda_offer_prevent(struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		atomic_inc(&bos[i]->wish.queued);
		/*
		 * The look for an offer comes after @queued is raised: this barrier pairs with that
		 * in offer_mark_all().
		 */
		smp_mb__after_atomic();
		if (pagoda_offer_refuses(bos[i])) {
			pagoda_offer_allow(bos, i + 1);
			return -ENODATA;
		}
	}
	return 0;
}

/* ---- Discarding offered content ----------------------------------------------- */

/*
 * Fills in the place that an allocation goes to when its content is discarded: the system segment.
 * The move copies nothing and needs no pages; pages that the allocation gets later are zeros.
 * Returns 1, the number of places.
 */
static u32 offer_placement(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return 1;
}

/**
 * pagoda_offer_can_discard() - Test whether a move discards offered content
 * @bo: Allocation, reservation held; TTM has created its tt
 * @to: Resource that the allocation moves to
 *
 * Return: true if the allocation is offered and goes from VRAM to the system segment, where it has
 * no pages yet: DISCARD_CONTENT is emitted instead of a copy.
 */
bool pagoda_offer_can_discard(struct pagoda_bo *bo, struct ttm_resource *to)
{
	return pagoda_bo_is_offered(bo) && pagoda_bo_is_in_vram(bo) &&
	       pagoda_move_place(&bo->ttm, to) == PAGODA_PLACE_SYSTEM_EMPTY;
}

/*
 * Has the content count as zeros from now on; what was lost or partly discarded before needn't be
 * cleared any more. Drops the swizzling range, because zeros are the same in rows and in tiles.
 */
static void offer_forget_content(struct pagoda_bo *bo)
{
	bo->offer.discarded = true;
	WRITE_ONCE(bo->content.unclean, false);
	pagoda_swizzle_drop(bo);
}

/**
 * pagoda_offer_discarded() - Replace an allocation's content by zeros, because a move discards it
 * @bo: Allocation, reservation held; still in VRAM
 *
 * Has TTM zero the pages that the allocation gets later. TTM doesn't do so by itself, because after
 * a move out of VRAM it expects that a copy fills the pages.
 *
 * Context: May sleep.
 */
void pagoda_offer_discarded(struct pagoda_bo *bo)
{
	offer_forget_content(bo);
	bo->ttm.ttm->page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
}

/**
 * pagoda_offer_torn() - Have an allocation cleared later, because discarding its content failed
 * @bo: Allocation, reservation held; stays in VRAM, but some of its content may be gone
 *
 * All of the allocation is filled with zeros before the CPU or a job can access the content, and
 * reclaiming the offer reports that the content was discarded.
 */
void pagoda_offer_torn(struct pagoda_bo *bo)
{
	bo->offer.discarded = true;
	/* Pairs with pagoda_lost_clear(), which clears the allocation. */
	smp_store_release(&bo->content.unclean, true);
}

/**
 * pagoda_offer_drop() - Move an offered allocation out of VRAM, because of a reset or a sleep
 * @bo: Allocation, offered or not, reservation held
 *
 * Discards the content instead of copying it (C198). Does nothing if the allocation isn't offered
 * or isn't in VRAM.
 *
 * Context: May sleep and allocate.
 * Return: 0, or an error of ttm_bo_validate(): the allocation then stays in VRAM.
 */
int pagoda_offer_drop(struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = {};

	if (!pagoda_bo_is_offered(bo) || !pagoda_bo_is_in_vram(bo))
		return 0;
	return pagoda_bo_move(bo, offer_placement, &ctx);
}

/**
 * pagoda_offer_swap_notify() - ttm_device_funcs.swap_notify for allocations
 * @bo: Allocation in the system segment, idle, about to be swapped out; reservation held
 *
 * Frees the pages of an allocation that was offered with decommit, so that TTM finds nothing to
 * swap out. Does nothing for other allocations.
 *
 * Context: May sleep and allocate.
 */
void pagoda_offer_swap_notify(struct pagoda_bo *bo)
{
	struct ttm_placement nowhere = {};
	struct ttm_operation_ctx ctx = {};

	if (!pagoda_bo_is_offered(bo) || !bo->offer.decommit)
		return;
	if (ttm_bo_validate(&bo->ttm, &nowhere, &ctx))
		return;
	offer_forget_content(bo);
	atomic64_add(bo->ttm.base.size, &bo->vidmm->stats.discarded);
	/* If this move fails, @bo has no TTM resource until reclaim_commit() moves @bo. */
	if (pagoda_bo_move(bo, offer_placement, &ctx))
		pagoda_bo_account(bo, NULL);
}
