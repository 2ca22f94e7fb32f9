// SPDX-License-Identifier: GPL-2.0
/*
 * Offered content: what may be taken without asking.
 *
 * An offer is a mark. It has an effect when something else wants the place:
 *
 *	in VRAM		what is placed there takes it from who is offered and idle, by rank
 *			and age, before TTM looks for victims; those that aren't idle are in
 *			the list TTM looks at first. Either way it is a move to the system
 *			segment without content: DISCARD_CONTENT instead of a copy, in the
 *			stream behind what uses the allocation (C170). Nobody waits
 *	system pages	are swapped out as any others; with decommit they are freed instead
 *	a reset		what was in VRAM leaves it: there is nothing to build anew
 *
 * What was discarded is in the system segment without pages, where it is zeros when it gets
 * some. reclaim.c takes an offer back.
 *
 * What is private to a VM and bound is used by every job of the VM. The first submission
 * after the offer makes its addresses invalid, not the offer itself, because page tables
 * change in the order of paging, behind the jobs.
 */
#include <drm/drm_print.h>
#include <pagoda/virtio.h>
#include "dmem.h"
#include "victims.h"
#include "vm.h"

/**
 * pagoda_offers_init() - Nothing is offered
 * @offers: Lists
 */
void pagoda_offers_init(struct pagoda_offers *offers)
{
	u32 rank;

	spin_lock_init(&offers->lock);
	for (rank = 0; rank < PAGODA_OFFER_RANKS; rank++)
		INIT_LIST_HEAD(&offers->ranks[rank]);
}

/**
 * pagoda_bo_is_offered() - May an allocation's content be taken?
 * @bo: Allocation; who holds its reservation gets to know for sure
 *
 * Context: Any.
 * Return: Whether it is offered.
 */
bool pagoda_bo_is_offered(const struct pagoda_bo *bo)
{
	return READ_ONCE(bo->offer) != PAGODA_OFFER_NONE;
}

/**
 * pagoda_offer_refuses() - Is the use of an allocation refused because it is offered (C171)?
 * @bo: Allocation; who holds its reservation gets to know for sure
 *
 * Who debugs the caller is told.
 *
 * Context: Any.
 * Return: Whether it is.
 */
bool pagoda_offer_refuses(const struct pagoda_bo *bo)
{
	if (!pagoda_bo_is_offered(bo))
		return false;
	drm_dbg_driver(bo->vidmm->drm, "allocation %llu can't be used: it is offered\n", bo->id);
	return true;
}

/**
 * pagoda_offer_allow() - What pagoda_offer_prevent() was asked for isn't needed any more
 * @bos: Allocations
 * @count: Their number
 *
 * Context: Any.
 */
void pagoda_offer_allow(struct pagoda_bo **bos, u32 count)
{
	while (count)
		atomic_dec(&bos[--count]->queued);
}

/**
 * pagoda_offer_prevent() - Work is about to be accepted that needs a list
 * @bos: Allocations; none of them can be offered until pagoda_offer_allow()
 * @count: Their number
 *
 * Waits for nothing: a reservation may be held for as long as paging takes. Either this sees an
 * offer, or the offer sees the count.
 *
 * Context: Any.
 * Return: 0, or -ENODATA if one is offered; then nothing has changed.
 */
int pagoda_offer_prevent(struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		atomic_inc(&bos[i]->queued);
		/* Pairs with offer_mark_all(). */
		smp_mb__after_atomic();
		if (pagoda_offer_refuses(bos[i])) {
			pagoda_offer_allow(bos, i + 1);
			return -ENODATA;
		}
	}
	return 0;
}

/* ---- Discarding --------------------------------------------------------------- */

/* Without pages, so that what gets there without a copy is zeros. */
static u32 offer_placement(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return 1;
}

/**
 * pagoda_offer_can_discard() - Is a move one that takes offered content away?
 * @bo: Allocation, reservation held; TTM made its tt for @to
 * @to: Where to
 *
 * Return: Whether nothing has to be copied.
 */
bool pagoda_offer_can_discard(struct pagoda_bo *bo, struct ttm_resource *to)
{
	return pagoda_bo_is_offered(bo) && pagoda_bo_is_in_vram(bo) &&
	       pagoda_move_place(&bo->ttm, to) == PAGODA_PLACE_SYSTEM_EMPTY;
}

/* What is there is zeros, however it is stored. */
static void offer_forget_content(struct pagoda_bo *bo)
{
	bo->discarded = true;
	WRITE_ONCE(bo->unclean, false);
	pagoda_swizzle_drop(bo);
}

/**
 * pagoda_offer_discarded() - Content is on its way to nowhere
 * @bo: Allocation, reservation held; still in VRAM
 *
 * TTM takes it that a copy fills the pages.
 *
 * Context: May sleep.
 */
void pagoda_offer_discarded(struct pagoda_bo *bo)
{
	offer_forget_content(bo);
	bo->ttm.ttm->page_flags |= TTM_TT_FLAG_ZERO_ALLOC;
}

/**
 * pagoda_offer_torn() - Some of the content may be gone, and the allocation stays
 * @bo: Allocation, reservation held
 *
 * It is cleared before anybody looks.
 */
void pagoda_offer_torn(struct pagoda_bo *bo)
{
	bo->discarded = true;
	/* Pairs with pagoda_lost_clear(). */
	smp_store_release(&bo->unclean, true);
}

/**
 * pagoda_offer_left_vram() - An allocation isn't to be taken from VRAM
 * @bo: Allocation, offered or not, reservation held or nobody else left
 *
 * Context: Takes pagoda_offers.lock.
 */
void pagoda_offer_left_vram(struct pagoda_bo *bo)
{
	struct pagoda_offers *offers = &bo->vidmm->offers;

	if (!pagoda_bo_is_offered(bo))
		return;
	spin_lock(&offers->lock);
	if (!list_empty(&bo->offered)) {
		list_del_init(&bo->offered);
		WRITE_ONCE(offers->count, offers->count - 1);
	}
	spin_unlock(&offers->lock);
}

static void offer_enter(struct pagoda_bo *bo)
{
	struct pagoda_offers *offers = &bo->vidmm->offers;

	spin_lock(&offers->lock);
	list_add_tail(&bo->offered, &offers->ranks[bo->offer]);
	WRITE_ONCE(offers->count, offers->count + 1);
	spin_unlock(&offers->lock);
}

/* The next one in order with a reference, from then on among those that were tried. */
static struct pagoda_bo *offer_next(struct pagoda_offers *offers, struct list_head *tried)
{
	struct pagoda_bo *bo, *found = NULL;
	u32 rank;

	spin_lock(&offers->lock);
	for (rank = PAGODA_OFFER_LOW; rank < PAGODA_OFFER_RANKS && !found; rank++) {
		list_for_each_entry(bo, &offers->ranks[rank], offered) {
			/* Who has no reference any more is leaving. */
			if (!kref_get_unless_zero(&bo->ttm.base.refcount))
				continue;
			list_move_tail(&bo->offered, tried);
			found = bo;
			break;
		}
	}
	spin_unlock(&offers->lock);
	return found;
}

/* Each back to the front, the last one first: the order is what it was. */
static void offer_put_back(struct pagoda_offers *offers, struct list_head *tried)
{
	struct pagoda_bo *bo, *next;

	spin_lock(&offers->lock);
	list_for_each_entry_safe_reverse(bo, next, tried, offered)
		list_move(&bo->offered, &offers->ranks[bo->offer]);
	spin_unlock(&offers->lock);
}

/* Before work that was submitted earlier is through an offer isn't one. */
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
	    !pagoda_ttm_funcs.eviction_valuable(&bo->ttm, place))
		return false;
	ret = pagoda_bo_place(bo, offer_placement, &mine);
	claim->interrupted |= ret == -ERESTARTSYS || ret == -EINTR;
	return !ret;
}

static bool offer_take(struct pagoda_bo *bo, struct pagoda_bo *want,
		       const struct ttm_place *place, const struct ttm_operation_ctx *ctx,
		       struct pagoda_dmem_claim *claim)
{
	const struct dma_resv *mine = want->ttm.base.resv;
	bool done;

	if (!pagoda_victims_lock(bo, mine, ctx))
		return false;
	done = offer_take_locked(bo, place, ctx, claim);
	claim->taken |= done;
	pagoda_victims_unlock(bo, mine);
	return done;
}

static bool offer_take_next(struct pagoda_bo *want, const struct ttm_place *place,
			    const struct ttm_operation_ctx *ctx,
			    struct pagoda_dmem_claim *claim, struct list_head *tried)
{
	struct pagoda_bo *bo;
	bool done = false;

	while (!done && !claim->interrupted && (bo = offer_next(&want->vidmm->offers, tried))) {
		done = offer_take(bo, want, place, ctx, claim);
		drm_gem_object_put(&bo->ttm.base);
	}
	return done;
}

/**
 * pagoda_offer_place() - Bring an allocation to VRAM, if who is offered makes room for it
 * @bo: Allocation, reservation held
 * @placement: Where it shall be
 * @ctx: Whether waits may be interrupted, or happen at all
 * @claim: The caller's claim to the memory of others
 *
 * Context: May sleep and allocate. Doesn't wait for the device.
 * Return: 0, -ENOMEM if there isn't enough, or what ttm_bo_validate() answers.
 */
int pagoda_offer_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
		       struct ttm_operation_ctx *ctx, struct pagoda_dmem_claim *claim)
{
	LIST_HEAD(tried);
	int ret;

	if (!READ_ONCE(bo->vidmm->offers.count))
		return -ENOMEM;
	ret = pagoda_bo_place_taking(bo, placement, ctx, offer_take_next, claim, &tried);
	offer_put_back(&bo->vidmm->offers, &tried);
	return ret;
}

/**
 * pagoda_offer_drop() - VRAM is about to lose its content, or has: what is offered leaves
 * @bo: Allocation, offered or not, reservation held
 *
 * Nothing is copied (C198).
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno.
 */
int pagoda_offer_drop(struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = {};

	if (!pagoda_bo_is_offered(bo) || !pagoda_bo_is_in_vram(bo))
		return 0;
	return pagoda_bo_place(bo, offer_placement, &ctx);
}

/**
 * pagoda_offer_swap_notify() - ttm_device_funcs.swap_notify
 * @bo: Allocation in the system segment, idle, about to be swapped out; reservation held
 *
 * Pages that may be given up are, and TTM finds nothing to swap.
 *
 * Context: May sleep and allocate.
 */
void pagoda_offer_swap_notify(struct pagoda_bo *bo)
{
	struct ttm_placement nowhere = {};
	struct ttm_operation_ctx ctx = {};

	if (!pagoda_bo_is_offered(bo) || !bo->decommit)
		return;
	if (ttm_bo_validate(&bo->ttm, &nowhere, &ctx))
		return;
	offer_forget_content(bo);
	atomic64_add(bo->ttm.base.size, &bo->vidmm->stats.discarded);
	/* Without memory for that it is nowhere; who reclaims it tries again. */
	if (pagoda_bo_place(bo, offer_placement, &ctx))
		pagoda_bo_account(bo, NULL, NULL);
}

/**
 * pagoda_offer_hide() - What was offered since the last submission isn't there for the next
 * @vm: VM, its reservation held
 *
 * Context: May sleep and allocate. Not in a stream transaction.
 */
void pagoda_offer_hide(struct pagoda_vm *vm)
{
	struct pagoda_bo *bo, *next;

	list_for_each_entry_safe(bo, next, &vm->offered, evicted) {
		list_del_init(&bo->evicted);
		pagoda_vm_bo_moves(bo);
	}
}

/* ---- Offering ------------------------------------------------------------------ */

/**
 * struct offer_list - A list that is offered
 * @bos: Allocations
 * @count: Their number
 * @priority: enum drm_pagoda_offer_priority
 * @decommit: With their pages
 */
struct offer_list {
	struct pagoda_bo **bos;
	u32 count;
	u32 priority;
	bool decommit;
};

static int offer_refuse(const struct pagoda_bo *bo, const char *why, int error)
{
	drm_dbg_driver(bo->vidmm->drm, "allocation %llu can't be offered: it %s\n", bo->id, why);
	return error;
}

/* What was accepted will be done, and needs what it names. */
static int offer_check(const struct pagoda_bo *bo)
{
	if (pagoda_bo_is_offered(bo))
		return offer_refuse(bo, "is offered already", -EALREADY);
	/* A global name (GEM_FLINK) lasts as long as the allocation has a handle. */
	if (bo->imported || bo->exported || READ_ONCE(bo->ttm.base.name))
		return offer_refuse(bo, "is shared", -EPERM);
	if (atomic_read(&bo->waits))
		return offer_refuse(bo, "will be mapped", -EBUSY);
	if (atomic_read(&bo->queued) || (bo->private_to && atomic_read(&bo->private_to->queued)))
		return offer_refuse(bo, "is used by what waits", -EBUSY);
	return 0;
}

static enum pagoda_offer offer_rank(const struct pagoda_bo *bo, u32 priority)
{
	switch (priority) {
	case DRM_PAGODA_OFFER_LOW:
		return PAGODA_OFFER_LOW;
	case DRM_PAGODA_OFFER_NORMAL:
		return PAGODA_OFFER_NORMAL;
	case DRM_PAGODA_OFFER_HIGH:
		return PAGODA_OFFER_HIGH;
	}
	if (bo->priority < DRM_PAGODA_RESIDENCY_NORMAL)
		return PAGODA_OFFER_LOW;
	return bo->priority < DRM_PAGODA_RESIDENCY_HIGH ? PAGODA_OFFER_NORMAL : PAGODA_OFFER_HIGH;
}

/* A request that was accepted since the check needs what it names. */
static int offer_mark_all(const struct offer_list *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < list->count; i++)
		WRITE_ONCE(list->bos[i]->offer, offer_rank(list->bos[i], list->priority));
	/* Pairs with pagoda_offer_prevent(). */
	smp_mb();
	for (i = 0; i < list->count && !ret; i++)
		if (atomic_read(&list->bos[i]->queued))
			ret = offer_refuse(list->bos[i], "is used by what waits", -EBUSY);
	for (i = 0; i < list->count && ret; i++)
		WRITE_ONCE(list->bos[i]->offer, PAGODA_OFFER_NONE);
	return ret;
}

/* Marked. */
static void offer_one(struct pagoda_bo *bo, const struct offer_list *list)
{
	pagoda_settled_clear(bo);
	bo->decommit = list->decommit;
	bo->discarded = false;
	ttm_bo_unmap_virtual(&bo->ttm);
	if (pagoda_bo_is_in_vram(bo))
		offer_enter(bo);
	if (bo->private_to) {
		list_del_init(&bo->evicted);
		if (!list_empty(&pagoda_bo_gem(bo)->gpuva.list))
			list_add_tail(&bo->evicted, &bo->private_to->offered);
	}
	pagoda_priority_apply(bo);
}

static int offer_all(void *arg)
{
	struct offer_list *list = arg;
	int ret = 0;
	u32 i;

	for (i = 0; i < list->count && !ret; i++)
		ret = offer_check(list->bos[i]);
	if (!ret)
		ret = offer_mark_all(list);
	for (i = 0; i < list->count && !ret; i++)
		offer_one(list->bos[i], list);
	return ret;
}

/**
 * pagoda_offer() - The content of a list isn't needed until it is reclaimed
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Their number
 * @priority: enum drm_pagoda_offer_priority
 * @flags: DRM_PAGODA_OFFER_ flags
 *
 * All or none.
 *
 * Context: May sleep; waits for nothing but reservations. Outside of those.
 * Return: 0, -EALREADY, -EPERM, -EBUSY, -EINTR, -ERESTARTSYS or -ENOMEM.
 */
int pagoda_offer(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 priority,
		 u32 flags)
{
	struct offer_list list = {
		.bos = bos,
		.count = count,
		.priority = priority,
		.decommit = flags & DRM_PAGODA_OFFER_ALLOW_DECOMMIT,
	};

	return pagoda_bos_run(bos, count, offer_all, &list);
}
