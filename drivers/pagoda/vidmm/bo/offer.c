// SPDX-License-Identifier: GPL-2.0
/*
 * Offered content, which may be discarded without asking its client.
 *
 * OFFER only marks the allocation. The mark has an effect in three cases:
 *
 *	VRAM is needed	for another allocation: first the offered allocations in VRAM that are
 *			idle leave, by rank and age, before the policy or TTM choose victims; TTM
 *			has the others in the LRU list that it looks at first. The content isn't
 *			copied to the system segment: DISCARD_CONTENT is emitted instead, behind
 *			the work that uses the allocation (C170), and no thread waits
 *	swap-out	of system pages: an offered allocation is swapped out as any other, but
 *			with decommit its pages are freed instead
 *	a reset		offered allocations leave VRAM: their content isn't restored or cleared
 *
 * An allocation with discarded content is in the system segment without pages; the pages that the
 * allocation gets later are zeros. residency/reclaim.c takes offers back.
 *
 * Every job of a VM uses the allocations that are private to the VM and bound. If such an
 * allocation is offered, the VM's next submission invalidates the page table entries, not OFFER,
 * because all jobs that may use the entries have to end first: the submission waits for these jobs
 * in its queue, once, or leaves the entries to a later submission if its job is fenced or new jobs
 * came meanwhile. Until the entries are invalid the allocation stays where it is.
 */
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "bo.h"
#include "internal.h"

/* Sets up the lists of offered allocations. Returns 0 or -ENOMEM. */
int pagoda_offers_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_offers *offers;
	u32 rank;

	offers = drmm_kzalloc(vidmm->drm, sizeof(*offers), GFP_KERNEL);
	if (!offers)
		return -ENOMEM;
	vidmm->offers = offers;
	spin_lock_init(&offers->lock);
	for (rank = 0; rank < PAGODA_OFFER_RANKS; rank++)
		INIT_LIST_HEAD(&offers->ranks[rank]);
	return 0;
}

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
 * pagoda_offer_torn() - Have an allocation cleared whose discard failed: it stays in VRAM, but some
 * of its content may be gone
 * @bo: Allocation, reservation held
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
 * pagoda_offer_left_vram() - Remove an allocation from the lists of offered allocations in VRAM
 * @bo: Allocation, offered or not; its reservation is held, or no other reference is left
 *
 * Context: Takes pagoda_offers.lock.
 */
void pagoda_offer_left_vram(struct pagoda_bo *bo)
{
	struct pagoda_offers *offers = bo->vidmm->offers;

	if (!pagoda_bo_is_offered(bo))
		return;
	spin_lock(&offers->lock);
	if (!list_empty(&bo->offer.entry)) {
		list_del_init(&bo->offer.entry);
		WRITE_ONCE(offers->count, offers->count - 1);
	}
	spin_unlock(&offers->lock);
}

/*
 * Moves the offered allocation in VRAM of the lowest rank, and there the one offered first, to
 * @tried and returns it with a reference; NULL if no allocation is left.
 */
static struct pagoda_bo *offer_next(struct pagoda_offers *offers, struct list_head *tried)
{
	struct pagoda_bo *bo, *found = NULL;
	u32 rank;

	spin_lock(&offers->lock);
	for (rank = PAGODA_OFFER_LOW; rank < PAGODA_OFFER_RANKS && !found; rank++) {
		list_for_each_entry(bo, &offers->ranks[rank], offer.entry) {
			/* Skip allocations without references, which are being destroyed. */
			if (!kref_get_unless_zero(&bo->ttm.base.refcount))
				continue;
			list_move_tail(&bo->offer.entry, tried);
			found = bo;
			break;
		}
	}
	spin_unlock(&offers->lock);
	return found;
}

/*
 * Evicts an offered allocation without its content and returns true. Returns false if @claim or
 * @place rule the allocation out, the move fails, or the allocation has unsignalled fences: work
 * submitted before the offer still uses the content then.
 */
static bool offer_take_locked(struct pagoda_bo *bo, const struct ttm_place *place,
			      const struct ttm_operation_ctx *ctx,
			      struct pagoda_dmem_claim *claim)
{
	struct ttm_operation_ctx mine = {
		.interruptible = ctx->interruptible,
		.no_wait_gpu = ctx->no_wait_gpu,
	};
	int ret;

	if (!pagoda_bo_is_offered(bo) || !pagoda_bo_is_in_vram(bo) ||
	    !pagoda_dmem_may_take(claim, bo) ||
	    !dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP) ||
	    !bo->ttm.bdev->funcs->eviction_valuable(&bo->ttm, place))
		return false;
	ret = pagoda_bo_move(bo, offer_placement, &mine);
	claim->interrupted |= ret == -ERESTARTSYS || ret == -EINTR;
	return !ret;
}

static bool offer_take_next(struct pagoda_bo *want, const struct ttm_place *place,
			    struct pagoda_operation *op, struct pagoda_dmem_claim *claim,
			    struct list_head *tried)
{
	const struct dma_resv *mine = want->ttm.base.resv;
	struct pagoda_bo *bo;
	bool done = false;

	while (!done && !claim->interrupted && (bo = offer_next(want->vidmm->offers, tried))) {
		if (pagoda_victims_lock(bo, mine, &op->ttm)) {
			done = offer_take_locked(bo, place, &op->ttm, claim);
			claim->taken |= done;
			pagoda_victims_unlock(bo, mine);
		}
		drm_gem_object_put(&bo->ttm.base);
	}
	return done;
}

/*
 * Brings an allocation to VRAM, to room that offered allocations make by leaving VRAM, without
 * waiting for the device. Returns what pagoda_bo_place_taking() returns; -ENOMEM if no allocation
 * is offered. The caller holds the reservation.
 */
int pagoda_offer_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
		       struct pagoda_operation *op, struct pagoda_dmem_claim *claim)
{
	struct pagoda_offers *offers = bo->vidmm->offers;
	struct pagoda_bo *each, *next;
	LIST_HEAD(tried);
	int ret;

	if (!READ_ONCE(offers->count))
		return -ENOMEM;
	ret = pagoda_bo_place_taking(bo, placement, op, offer_take_next, claim, &tried);
	/* Put allocations that stayed back to the front of their ranks, in their former order. */
	spin_lock(&offers->lock);
	list_for_each_entry_safe_reverse(each, next, &tried, offer.entry)
		list_move(&each->offer.entry, &offers->ranks[each->offer.rank]);
	spin_unlock(&offers->lock);
	return ret;
}

/**
 * pagoda_offer_drop() - Move an offered allocation out of VRAM, because of a reset or a sleep
 * @bo: Allocation, offered or not, reservation held
 *
 * Discards the content instead of copying it (C198). Does nothing if the allocation isn't offered
 * or isn't in VRAM.
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno.
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
	/* If this move fails, @bo has no TTM resource until reclaim_commit() gives it one. */
	if (pagoda_bo_move(bo, offer_placement, &ctx))
		pagoda_bo_account(bo, NULL);
}

/**
 * pagoda_offer_enter() - Add an offered allocation in VRAM to &pagoda_offers.ranks, at the end of
 * its rank
 * @bo: Allocation, reservation held
 */
void pagoda_offer_enter(struct pagoda_bo *bo)
{
	struct pagoda_offers *offers = bo->vidmm->offers;

	dma_resv_assert_held(bo->ttm.base.resv);
	spin_lock(&offers->lock);
	list_add_tail(&bo->offer.entry, &offers->ranks[bo->offer.rank]);
	WRITE_ONCE(offers->count, offers->count + 1);
	spin_unlock(&offers->lock);
}
