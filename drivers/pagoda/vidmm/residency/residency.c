// SPDX-License-Identifier: GPL-2.0
/*
 * Residency of lists: either all allocations of a list are made resident, or none (C147).
 *
 * A list is locked as a whole, then brought in one allocation after the other. None of its
 * allocations can be evicted before all are in: TTM locks a victim's reservation with the ww ticket
 * of the list, and recognizes a reservation that the ticket holds already. Allocations private to
 * one VM share one reservation: those outside of the list may be evicted, and those in it are
 * marked (&pagoda_bo.choice.keep).
 *
 * A list that finds no room although it fits into the segments is tried again, with more that may
 * leave VRAM, and last with the list's own allocations moved out of VRAM, because they may lie
 * where a contiguous allocation has to go (enum pagoda_attempt). Jobs keep page tables in place:
 * callers wait for jobs outside of sections (pagoda_room_again()).
 */
#include <linux/dma-fence-unwrap.h>
#include <drm/drm_exec.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "core/life.h"
#include "queue/queue.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "residency.h"

/*
 * struct residency_list - list to be made resident (@resident) or evicted; @process moves one
 * allocation; @until: end of the pauses of all attempts, in jiffies; @late: with -EINPROGRESS the
 * fence that an allocation can't move before, a reference
 */
struct residency_list {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo **bos;
	u32 count;
	int (*process)(struct residency_list *list, struct pagoda_bo *bo);
	bool resident;
	enum pagoda_attempt attempt;
	unsigned long until;
	struct drm_exec exec;
	struct dma_fence *late;
};

/**
 * pagoda_residency_check() - Test whether a list can fit, whatever leaves
 * @vidmm: The manager
 * @bos: Allocations, each only once
 * @count: Number of allocations
 * @bytes_to_trim: Out: bytes of the list that don't fit, with -ENOMEM that don't fit now; 0 = the
 *	list may fit
 *
 * What can't leave: pinned allocations, and page tables and save areas of VMs with jobs in flight.
 *
 * Context: Takes a spinlock; not in interrupts. Reservations needn't be held.
 * Return: 0; -ENOSPC if the list doesn't fit; -ENOMEM if it may fit when jobs have ended.
 */
int pagoda_residency_check(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   u64 *bytes_to_trim)
{
	struct pagoda_demand demand = {};
	u32 i;

	for (i = 0; i < count; i++)
		pagoda_demand_add_movable(&demand, bos[i]);
	return pagoda_fixed_check(vidmm, &demand, NULL, bytes_to_trim);
}

static int residency_validate(struct residency_list *list, struct pagoda_bo *bo,
			      u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places))
{
	struct pagoda_operation op = {
		.ttm.interruptible = true,
		.ttm.resv = bo->ttm.base.resv,
		.ttm.allow_res_evict = true,
		.exec = &list->exec,
		.flags = PAGODA_PL_PROMPT,
		.urgent = list->attempt != PAGODA_ATTEMPT_FIRST,
	};
	int ret = pagoda_bo_place(bo, where, &op);

	list->late = op.late;
	return ret;
}

/*
 * Returns whether the GPU can use the allocation in its present place; says nothing of whether the
 * dma-buf of an import is mapped (pagoda_import_is_away()). The reservation is held.
 */
bool pagoda_residency_is_placed(const struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (!res || res->placement & TTM_PL_FLAG_TEMPORARY)
		return false;
	if (res->mem_type == TTM_PL_VRAM)
		return bo->supported & PAGODA_VRAM_BIT;
	if (res->mem_type != TTM_PL_TT || !(bo->supported & PAGODA_APERTURE_BIT))
		return false;
	return !(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY) ||
	       pagoda_aperture_has_address(res);
}

/*
 * Brings an allocation to where the GPU can use it. If the allocation can't move now, returns 0 if
 * the GPU can use it where it is, else -EINPROGRESS with @list->late set. If the allocation can
 * move now, returns what pagoda_bo_place() returns.
 */
static int residency_process_make(struct residency_list *list, struct pagoda_bo *bo)
{
	int ret = residency_validate(list, bo, pagoda_bo_placement_resident);

	if (ret != -EINPROGRESS || !pagoda_residency_is_placed(bo))
		return ret;
	dma_fence_put(list->late);
	list->late = NULL;
	return 0;
}

/*
 * Evicts an allocation, unless the allocation is in the system segment, on a client's residency
 * list, used by a job or another device, or to be mapped by a VM_BIND that waits (C145). Returns 0,
 * evicted or not, or an error of pagoda_bo_place().
 */
static int residency_process_evict(struct residency_list *list, struct pagoda_bo *bo)
{
	if (!bo->ttm.resource || bo->ttm.resource->mem_type == TTM_PL_SYSTEM ||
	    atomic_read(&bo->wish.waits) || atomic_read(&bo->wish.required) ||
	    pagoda_vm_bo_is_used(bo))
		return 0;
	return residency_validate(list, bo, pagoda_bo_placement_evicted);
}

static int residency_process_all(struct residency_list *list)
{
	u32 i, rank;
	int ret = 0;

	for (rank = 0; rank < PAGODA_ROOM_RANKS; rank++) {
		for (i = 0; i < list->count && !ret; i++) {
			if (pagoda_room_rank(list->bos[i]) != rank)
				continue;
			pagoda_caller_pause(list->vidmm, list->until);
			ret = list->process(list, list->bos[i]);
		}
	}
	return ret;
}

/*
 * Moves all allocations of a list, with the stream plugged so that moves share paging buffers.
 * Allocations to be made resident are kept from eviction; with PAGODA_ATTEMPT_ANEW they leave VRAM
 * first. Returns 0 or the first error, after which some allocations may have moved.
 */
static int residency_process(struct residency_list *list)
{
	bool anew = list->attempt == PAGODA_ATTEMPT_ANEW;
	struct pagoda_plug plug;
	int ret = 0;
	u32 i;

	pagoda_stream_plug(list->vidmm, &plug);
	pagoda_victims_keep(list->vidmm, list->bos, list->count, list->resident);
	for (i = 0; anew && i < list->count && !ret; i++)
		ret = pagoda_room_leave(list->bos[i]);
	if (!ret)
		ret = residency_process_all(list);
	pagoda_victims_keep(list->vidmm, list->bos, list->count, false);
	pagoda_stream_unplug(list->vidmm, &plug);
	return ret;
}

/*
 * Notes all allocations of a list that residency_process() evicted as evicted, moved or not, but
 * for those on a client's residency list; allocations that were brought in count as used now in
 * TTM's LRU lists. Can't fail. Returns a reference to the fence behind the paging of the list; NULL
 * if no paging is under way.
 */
static struct dma_fence *residency_commit(struct residency_list *list)
{
	struct dma_fence *fence = NULL;
	u32 i;

	for (i = 0; i < list->count; i++) {
		struct pagoda_bo *bo = list->bos[i];

		if (!list->resident && !atomic_read(&bo->wish.required))
			pagoda_bo_set_resident(bo, false);
		fence = pagoda_residency_later(list->vidmm, fence, bo->ttm.base.resv);
		if (list->resident)
			ttm_bo_move_to_lru_tail_unlocked(&bo->ttm);
	}
	return fence;
}

static int residency_lock_list(struct residency_list *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < list->count && !ret; i++) {
		ret = drm_exec_prepare_obj(&list->exec, &list->bos[i]->ttm.base, 1);
		if (!ret && list->resident && pagoda_offer_refuses(list->bos[i]))
			ret = -ENODATA;
	}
	return ret;
}

/*
 * Locks the reservations of a list's allocations, moves the allocations, and sets *@fence to the
 * fence of the moves. Moves within the loop of drm_exec, in which the ticket may lock victims, too.
 * Returns 0; -ENODATA if an allocation that is to be made resident is offered; or an error of the
 * locks or moves.
 */
static int residency_try(struct residency_list *list, struct dma_fence **fence)
{
	int ret = 0;

	drm_exec_init(&list->exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      list->count);
	drm_exec_until_all_locked(&list->exec) {
		ret = residency_lock_list(list);
		drm_exec_retry_on_contention(&list->exec);
		if (ret)
			break;
		ret = residency_process(list);
		drm_exec_retry_on_contention(&list->exec);
		if (ret)
			break;
	}
	if (!ret)
		*fence = residency_commit(list);
	drm_exec_fini(&list->exec);
	return ret;
}

static int residency_run(struct residency_list *list, struct dma_fence **fence)
{
	int ret;

	pagoda_assert_entered(list->vidmm);
	*fence = NULL;
	list->until = jiffies + msecs_to_jiffies(PAGODA_PAUSE_MS);
	do {
		ret = residency_try(list, fence);
		if (ret != -ENOMEM && ret != -EBUSY)
			break;
	} while (++list->attempt < (list->resident ? PAGODA_ATTEMPTS : PAGODA_ATTEMPT_ANEW));
	if (ret == -EINPROGRESS)
		*fence = list->late;
	return ret;
}

/**
 * pagoda_residency_make() - Bring a list to where the GPU can use it
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Number of allocations
 * @fence: Out: fence behind the paging of the list, a reference; NULL = none is under way. With
 *	-EINPROGRESS the fence to wait for before the next call
 * @bytes_to_trim: Out: bytes of the list that don't fit, whatever leaves, or that don't fit before
 *	jobs have ended; if not 0, nothing is moved
 *
 * Doesn't note the allocations as resident: the caller does so with pagoda_residency_note(), when
 * nothing is left that the request may fail for. On failure some allocations may have been moved or
 * evicted.
 *
 * Context: In a section, outside of reservations. May sleep and allocate; waits for other threads
 * that have allocations locked, and for jobs with a place of an engine that use an allocation of
 * the list that moves; for copies only as pagoda_caller_pause() does.
 * Return: 0; -ENODATA if an allocation is offered; -EINPROGRESS if the GPU can't use an allocation
 * where it is, and the allocation can't move before *@fence has signalled; -ENOSPC if the list
 * doesn't fit, whatever leaves; -ENOMEM, also if the list may fit when jobs have ended; -EBUSY,
 * -EINTR or -ERESTARTSYS; or another error of a move, such as that of pagoda_import_map().
 */
int pagoda_residency_make(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			  struct dma_fence **fence, u64 *bytes_to_trim)
{
	struct residency_list list = {
		.vidmm = vidmm,
		.bos = bos,
		.count = count,
		.process = residency_process_make,
		.resident = true,
	};
	int ret = pagoda_residency_check(vidmm, bos, count, bytes_to_trim);

	*fence = NULL;
	return ret ?: residency_run(&list, fence);
}

/**
 * pagoda_residency_note() - Note a list as resident, after pagoda_residency_make()
 * @bos: Allocations; references held
 * @count: Number of allocations
 *
 * The last step of a request: can't fail.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_residency_note(struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		dma_resv_lock(bos[i]->ttm.base.resv, NULL);
		pagoda_bo_set_resident(bos[i], true);
		dma_resv_unlock(bos[i]->ttm.base.resv);
	}
}

/**
 * pagoda_residency_evict() - Evict a list of allocations
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Number of allocations
 * @fence: Out: fence that signals when all that leave have left, a reference; NULL = they have left
 *
 * An allocation goes to its eviction segment (C37), unless it is in the system segment, on a
 * client's residency list, used by a job or another device, or to be mapped by a VM_BIND that waits
 * (C145). Allocations on a client's residency list stay resident; all others count as evicted,
 * moved or not.
 *
 * Context: In a section, outside of reservations. May sleep and allocate; waits for other threads
 * that have allocations locked, and as pagoda_caller_pause() does.
 * Return: 0, -ENOMEM, -EBUSY, -EINTR or -ERESTARTSYS.
 */
int pagoda_residency_evict(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   struct dma_fence **fence)
{
	struct residency_list list = {
		.vidmm = vidmm,
		.bos = bos,
		.count = count,
		.process = residency_process_evict,
	};

	return residency_run(&list, fence);
}

/**
 * pagoda_residency_await() - Wait for all work that uses the allocations of a list, before EVICT
 * @bos: Allocations; references held
 * @count: Number of allocations
 *
 * Waits for all fences of one allocation after the other: of jobs, paging and other devices. Jobs
 * that begin to use an allocation after its turn aren't waited for.
 *
 * Context: Sleeps, as long as a client lets work wait. Outside of sections and all locks.
 * Return: 0, -ENOMEM or -ERESTARTSYS.
 */
int pagoda_residency_await(struct pagoda_bo **bos, u32 count)
{
	struct dma_fence *users;
	long ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++) {
		ret = dma_resv_get_singleton(bos[i]->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP,
					     &users);
		if (ret || !users)
			continue;
		pagoda_stream_flush(bos[i]->vidmm);
		ret = dma_fence_wait(users, true);
		dma_fence_put(users);
	}
	return ret;
}

/*
 * Replaces *@fence, a reference or NULL, by a fence that also waits for @other. Returns 0 or, with
 * *@fence unchanged, -ENOMEM.
 */
static int residency_merge(struct dma_fence **fence, struct dma_fence *other)
{
	struct dma_fence *both = *fence ? dma_fence_unwrap_merge(*fence, other) :
					  dma_fence_unwrap_merge(other);

	if (!both)
		return -ENOMEM;
	dma_fence_put(*fence);
	*fence = both;
	return 0;
}

/**
 * pagoda_residency_and_others() - Have a fence also wait for other devices that share allocations
 * @bos: Allocations of a list after pagoda_residency_make(), pagoda_residency_evict() or
 *	pagoda_reclaim(); references held
 * @count: Number of allocations
 * @fence: *@fence, a reference or NULL, is replaced by a fence that signals only when the kernel
 *	fences of other devices have signalled, too
 *
 * A fence of another device signals when that device's driver says: nothing waits for *@fence but
 * the client that asked for the list.
 *
 * Context: May sleep and allocate. Outside of reservations.
 * Return: 0 or -ENOMEM, with a *@fence that may not wait for all devices.
 */
int pagoda_residency_and_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence)
{
	struct dma_resv_iter cursor;
	struct dma_fence *other;
	int ret = 0;
	u32 i;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_residency_and_others, bos, count, fence);
	for (i = 0; i < count && !ret; i++) {
		dma_resv_iter_begin(&cursor, bos[i]->ttm.base.resv, DMA_RESV_USAGE_KERNEL);
		dma_resv_for_each_fence_unlocked(&cursor, other) {
			if (pagoda_queue_owns(bos[i]->vidmm->queue, other))
				continue;
			ret = residency_merge(fence, other);
			if (ret)
				break;
		}
		dma_resv_iter_end(&cursor);
	}
	return ret;
}

/**
 * pagoda_residency_with_others() - As pagoda_residency_and_others(), but can't fail
 * @bos: Allocations; references held
 * @count: Number of allocations
 * @fence: As for pagoda_residency_and_others()
 *
 * For a call that has had its effect. Without memory to have *@fence also wait for other devices,
 * waits here for all kernel fences of the allocations.
 *
 * Context: May allocate; sleeps, as long as paging and other devices need. Outside of sections and
 * reservations.
 */
void pagoda_residency_with_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence)
{
	u32 i;

	if (!pagoda_residency_and_others(bos, count, fence))
		return;
	for (i = 0; i < count; i++)
		pagoda_stream_wait_resv(bos[i]->vidmm, bos[i]->ttm.base.resv,
					DMA_RESV_USAGE_KERNEL);
}

/*
 * Returns whether @fence, from pagoda_residency_and_others(), waits for other devices, not only for
 * paging; false if @fence is NULL. Any context.
 */
bool pagoda_residency_has_others(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return fence && !pagoda_queue_owns(vidmm->queue, fence);
}

/* Returns whether all VMs of the client that map the allocation map it at its present place. */
static bool residency_is_shown(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		if (pagoda_vm_of(vm_bo->vm)->client == client && vm_bo->evicted)
			return false;
	return true;
}

/*
 * Returns whether the allocation was made resident before and wasn't released since, isn't offered,
 * and is pinned or in the segment that it prefers: nothing changes if it is noted as resident
 * again. The reservation is held.
 */
static bool residency_is_made_again(const struct pagoda_bo *bo)
{
	return bo->wish.resident && !READ_ONCE(bo->wish.released) && !pagoda_bo_is_offered(bo) &&
	       (bo->ttm.pin_count || pagoda_segment_of(bo->ttm.resource) == bo->preferred[0]);
}

static bool residency_is_made_one(struct pagoda_client *client, struct pagoda_bo *bo, bool again)
{
	u64 epoch = pagoda_reset_epoch(bo->vidmm);
	bool made;

	if (!dma_resv_trylock(bo->ttm.base.resv))
		return false;
	made = pagoda_residency_is_placed(bo) && (!again || residency_is_made_again(bo)) &&
	       residency_is_shown(client, bo) &&
	       dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL);
	if (made) {
		pagoda_bo_set_resident(bo, true);
		pagoda_settled_mark(bo, epoch);
		ttm_bo_move_to_lru_tail_unlocked(&bo->ttm);
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return made;
}

/**
 * pagoda_residency_is_made() - Test whether a list is resident already, without anything left to do
 * @client: Client that wants to use the list
 * @bos: Allocations
 * @count: Number of allocations
 * @again: Require that each allocation was made resident before and wasn't released since, isn't
 *	offered, and is pinned or in the segment that it prefers
 *
 * Notes each allocation that passes the test as resident, as settled if it is, and as used now in
 * TTM's LRU lists; stops at the first that doesn't pass. An allocation whose reservation another
 * thread holds doesn't pass.
 *
 * Context: Tries to lock the reservations, one after another.
 * Return: Whether the GPU can use all allocations of the list now, at the client's addresses, too.
 */
bool pagoda_residency_is_made(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			      bool again)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (!residency_is_made_one(client, bos[i], again))
			return false;
	return true;
}
