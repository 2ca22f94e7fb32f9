// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaim: offers that are taken back.
 *
 * Everything that may fail comes first, while all of the list is still offered: memory for
 * allocations that the CPU may access, and a place for those that had been made resident. Then the
 * offers end, but not of allocations without memory. A failure before that may leave allocations
 * moved, but nothing has to be undone.
 */
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "residency.h"

/*
 * struct reclaim - allocations that are reclaimed; @results: enum drm_pagoda_reclaim_result of
 * each; @all: lack of memory for one allocation fails the whole call; @urgent: no room was found
 * otherwise: more may be evicted; @until: end of the pauses of all attempts, in jiffies;
 * @exec: reservations that are locked; @fence: fence behind the
 * paging of the allocations, a reference, or NULL; @late: with -EINPROGRESS the fence that an
 * allocation can't move before, a reference
 */
struct reclaim {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo **bos;
	u32 count;
	u32 *results;
	bool all;
	bool urgent;
	unsigned long until;
	struct drm_exec *exec;
	struct dma_fence *fence;
	struct dma_fence *late;
};

static u32 reclaim_system(struct pagoda_bo *bo, struct ttm_place *places)
{
	places[0] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return 1;
}

/*
 * Gives an allocation outside of VRAM system pages if the CPU may access the content at once
 * (C173); other allocations need no memory before they are made resident. An allocation without a
 * TTM resource gets one in the system segment. Returns 0 or a negative errno.
 */
static int reclaim_commit(struct pagoda_bo *bo)
{
	struct pagoda_operation op = { .ttm.interruptible = true };
	int ret = 0;

	if (!bo->ttm.resource)
		ret = pagoda_bo_place(bo, reclaim_system, &op);
	if (ret || !pagoda_bo_may_be_mapped(bo) ||
	    bo->ttm.resource->mem_type == TTM_PL_VRAM)
		return ret;
	return pagoda_pages_populate(bo, &op.ttm);
}

/*
 * Returns whether an allocation's content is gone: discarded since the offer, or lost by a failure
 * or a reset and not replaced by zeros yet, which happens before lost content could be seen.
 */
static bool reclaim_is_discarded(const struct pagoda_bo *bo)
{
	return bo->offer.discarded || READ_ONCE(bo->content.unclean) || pagoda_lost_is_stale(bo);
}

static int reclaim_commit_all(struct reclaim *list)
{
	int ret;
	u32 i;

	for (i = 0; i < list->count; i++) {
		struct pagoda_bo *bo = list->bos[i];

		if (!pagoda_bo_is_offered(bo)) {
			drm_dbg_driver(bo->vidmm->drm, "allocation %llu isn't offered\n", bo->id);
			return -EINVAL;
		}
		ret = reclaim_commit(bo);
		if (ret && (ret != -ENOMEM || list->all))
			return ret;
		list->results[i] = ret ? DRM_PAGODA_RECLAIM_NOT_COMMITTED :
				   reclaim_is_discarded(bo) ? DRM_PAGODA_RECLAIM_DISCARDED :
				   DRM_PAGODA_RECLAIM_OK;
	}
	return 0;
}

static bool reclaim_succeeds(const struct reclaim *list, u32 index)
{
	return list->results[index] != DRM_PAGODA_RECLAIM_NOT_COMMITTED;
}

static int reclaim_bring(struct reclaim *list, struct pagoda_bo *bo)
{
	struct pagoda_operation op = {
		.ttm.interruptible = true,
		.ttm.resv = bo->ttm.base.resv,
		.ttm.allow_res_evict = true,
		.exec = list->exec,
		.flags = PAGODA_PL_PROMPT,
		.urgent = list->urgent,
	};
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);

	list->late = op.late;
	return ret ?: pagoda_lost_clear(bo);
}

/*
 * Makes those allocations of @list resident again that had been made resident, whether or not they
 * were evicted to make room since: until EVICT is called for them, their clients count on residency
 * (C174). Leaves out those whose result is NOT_COMMITTED. Stops at the first error. Returns 0 or a
 * negative errno; with -EINPROGRESS @list->late is set.
 */
static int reclaim_bring_all(struct reclaim *list)
{
	struct pagoda_plug plug;
	int ret = 0;
	u32 i, rank;

	pagoda_stream_plug(list->vidmm, &plug);
	pagoda_victims_keep(list->vidmm, list->bos, list->count, true);
	for (rank = 0; rank < PAGODA_ROOM_RANKS; rank++) {
		for (i = 0; i < list->count && !ret; i++) {
			if (!list->bos[i]->wish.resident || !reclaim_succeeds(list, i) ||
			    pagoda_room_rank(list->bos[i]) != rank)
				continue;
			pagoda_caller_pause(list->vidmm, list->until);
			ret = reclaim_bring(list, list->bos[i]);
		}
	}
	pagoda_victims_keep(list->vidmm, list->bos, list->count, false);
	pagoda_stream_unplug(list->vidmm, &plug);
	return ret;
}

/*
 * Has the next submission of the VM that @bo is private to make the mappings of @bo valid again, if
 * they became invalid; else, if @bo was left out of VRAM before the offer, has submissions try to
 * bring @bo there as before.
 */
static void reclaim_show(struct pagoda_bo *bo)
{
	struct pagoda_vm *vm = bo->vm.private_to;
	struct drm_gpuvm_bo *vm_bo;

	list_del_init(&bo->vm.evicted);
	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo)) {
		if (vm_bo->evicted)
			pagoda_vm_bo_evicted(vm_bo);
		else if (bo->vm.left_out && list_empty(&bo->vm.evicted))
			list_add_tail(&bo->vm.evicted, &vm->left_out);
	}
}

static void reclaim_one(struct reclaim *list, struct pagoda_bo *bo)
{
	WRITE_ONCE(bo->offer.rank, PAGODA_OFFER_NONE);
	pagoda_wish_changed(bo);
	bo->offer.discarded = false;
	if (bo->vm.private_to)
		reclaim_show(bo);
	pagoda_priority_apply(bo);
	if (bo->wish.resident)
		list->fence = pagoda_residency_later(list->vidmm, list->fence,
						     bo->ttm.base.resv);
}

static int reclaim_locked(struct drm_exec *exec, void *arg)
{
	struct reclaim *list = arg;
	int ret = reclaim_commit_all(list);
	u32 i;

	list->exec = exec;
	if (!ret)
		ret = reclaim_bring_all(list);
	for (i = 0; i < list->count && !ret; i++)
		if (reclaim_succeeds(list, i))
			reclaim_one(list, list->bos[i]);
	return ret;
}

/*
 * Returns pagoda_fixed_check() of those allocations of @list that had been made resident: 0,
 * -ENOSPC if they don't fit, whatever leaves, or -ENOMEM if they may fit when jobs have ended.
 */
static int reclaim_check(const struct reclaim *list)
{
	struct pagoda_demand demand = {};
	u64 misfit;
	u32 i;

	for (i = 0; i < list->count; i++)
		if (READ_ONCE(list->bos[i]->wish.resident))
			pagoda_demand_add_movable(&demand, list->bos[i]);
	return pagoda_fixed_check(list->vidmm, &demand, NULL, &misfit);
}

/**
 * pagoda_reclaim() - Reclaim a list of offered allocations: their content is needed
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Number of allocations
 * @results: Filled on success: enum drm_pagoda_reclaim_result of each
 * @all: The call fails if there are no system pages for an allocation; if false, the allocation's
 *	entry in @results is NOT_COMMITTED then, and the allocation stays offered
 * @fence: Out: fence behind the paging of the allocations that had been made resident, a reference;
 *	NULL = none is under way. With -EINPROGRESS the fence to wait for before the next call
 *
 * Context: In a section, outside of reservations. May sleep and allocate; waits for jobs with a
 * place of an engine that use an allocation, and for paging if lost content is to be zeroed.
 * Return: 0; -EINVAL if an allocation isn't offered; -EINPROGRESS if an allocation can't move
 * before *@fence has signalled; -ENOSPC if those that had been made resident don't fit, whatever
 * leaves; -ENOMEM, also if they may fit when jobs have ended; -EBUSY, -EINTR or -ERESTARTSYS; after
 * an error no offer has ended.
 */
int pagoda_reclaim(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 *results,
		   bool all, struct dma_fence **fence)
{
	struct reclaim list = {
		.vidmm = vidmm,
		.bos = bos,
		.count = count,
		.results = results,
		.all = all,
		.until = jiffies + msecs_to_jiffies(PAGODA_PAUSE_MS),
	};
	int ret;

	pagoda_assert_entered(vidmm);
	*fence = NULL;
	ret = reclaim_check(&list);
	if (ret)
		return ret;
	ret = pagoda_bos_run(bos, count, reclaim_locked, &list);
	if (ret == -ENOMEM || ret == -EBUSY) {
		/*
		 * No PAGODA_ATTEMPT_ANEW follows: to leave VRAM would discard the offered content.
		 */
		list.urgent = true;
		ret = pagoda_bos_run(bos, count, reclaim_locked, &list);
	}
	*fence = ret == -EINPROGRESS ? list.late : list.fence;
	return ret;
}
