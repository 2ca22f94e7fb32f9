// SPDX-License-Identifier: GPL-2.0
/*
 * Offers: a client offers allocations whose content the client does without for a while.
 * bo/offer.c discards the content when its memory is needed.
 */
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include "core/core.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "internal.h"

static int offer_refuse(const struct pagoda_bo *bo, const char *why, int error)
{
	drm_dbg_driver(bo->vidmm->drm, "allocation %llu can't be offered: it %s\n", bo->id, why);
	return error;
}

/* Returns true if the allocation is private to a VM with submissions that wait as deferred work. */
static bool offer_is_queued(const struct pagoda_bo *bo)
{
	return bo->vm.private_to && atomic_read(&bo->vm.private_to->queued);
}

/* Returns 0; or -EBUSY if accepted work that still waits will map or use the allocation. */
VISIBLE_IF_KUNIT int pagoda_offer_check_work(const struct pagoda_bo *bo)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_offer_check_work, bo);
	if (atomic_read(&bo->wish.waits))
		return offer_refuse(bo, "will be mapped", -EBUSY);
	if (atomic_read(&bo->wish.queued) || offer_is_queued(bo))
		return offer_refuse(bo, "is used by what waits", -EBUSY);
	return 0;
}

/*
 * Returns 0 if an allocation may be offered; -EALREADY if it is offered already; -EPERM if it is
 * imported, exported or has a global name; -EBUSY if accepted work that still waits will map or use
 * it. The reservation is held.
 */
static int offer_check(const struct pagoda_bo *bo)
{
	if (pagoda_bo_is_offered(bo))
		return offer_refuse(bo, "is offered already", -EALREADY);
	/* A global name (GEM_FLINK) counts as sharing: it lasts as long as there is a handle. */
	if (bo->share.imported || bo->share.exported || READ_ONCE(bo->ttm.base.name))
		return offer_refuse(bo, "is shared", -EPERM);
	return pagoda_offer_check_work(bo);
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
	if (bo->wish.priority < DRM_PAGODA_RESIDENCY_NORMAL)
		return PAGODA_OFFER_LOW;
	return bo->wish.priority < DRM_PAGODA_RESIDENCY_HIGH ? PAGODA_OFFER_NORMAL :
							       PAGODA_OFFER_HIGH;
}

/*
 * struct offer_list - allocations to be offered; @priority: enum drm_pagoda_offer_priority;
 * @decommit: system pages of the allocations may be freed
 */
struct offer_list {
	struct pagoda_bo **bos;
	u32 count;
	u32 priority;
	bool decommit;
};

/*
 * Marks all allocations of the list as offered; or none, and returns -EBUSY, if a deferred job, a
 * MAKE_RESIDENT request or a queued VM_BIND that was accepted after offer_check() needs one of
 * them.
 */
static int offer_mark_all(const struct offer_list *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < list->count; i++)
		WRITE_ONCE(list->bos[i]->offer.rank, offer_rank(list->bos[i], list->priority));
	/*
	 * The marks come before the look for accepted work: this barrier pairs with those in
	 * pagoda_offer_prevent() and job_queue().
	 */
	smp_mb();
	for (i = 0; i < list->count && !ret; i++)
		ret = pagoda_offer_check_work(list->bos[i]);
	for (i = 0; i < list->count && ret; i++)
		WRITE_ONCE(list->bos[i]->offer.rank, PAGODA_OFFER_NONE);
	for (i = 0; i < list->count; i++)
		pagoda_wish_changed(list->bos[i]);
	return ret;
}

/*
 * Completes an offer after offer_mark_all(): unmaps the allocation from CPUs, and lets its content
 * be discarded. If the allocation is private to a VM, notes whether the next submission would have
 * tried to bring it to VRAM; if the VM maps it, has the next submission invalidate the mappings.
 */
static void offer_one(struct pagoda_bo *bo, const struct offer_list *list)
{
	pagoda_settled_clear(bo);
	bo->offer.decommit = list->decommit;
	bo->offer.discarded = false;
	ttm_bo_unmap_virtual(&bo->ttm);
	if (bo->vm.private_to) {
		bo->vm.left_out = !list_empty(&bo->vm.evicted);
		list_del_init(&bo->vm.evicted);
		if (!list_empty(&pagoda_bo_gem(bo)->gpuva.list))
			list_add_tail(&bo->vm.evicted, &bo->vm.private_to->offered);
	}
	pagoda_priority_apply(bo);
}

static int offer_all(struct drm_exec *exec, void *arg)
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
 * pagoda_offer() - Offer allocations: their content isn't needed until they are reclaimed
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Number of allocations
 * @priority: enum drm_pagoda_offer_priority
 * @flags: DRM_PAGODA_OFFER_* flags
 *
 * Either all of the allocations are offered, or none.
 *
 * Context: May sleep; waits only for reservations, of which the caller holds none.
 * Return: 0; -EALREADY if an allocation is offered already; -EPERM if an allocation is imported,
 * exported or has a global name; -EBUSY if accepted work that waits needs an allocation; -EINTR,
 * -ERESTARTSYS or -ENOMEM.
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
