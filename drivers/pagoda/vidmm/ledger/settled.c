// SPDX-License-Identifier: GPL-2.0
/*
 * Settled allocations: a fast path for MAKE_RESIDENT of allocations that are resident already,
 * which programs ask for every frame.
 *
 * An allocation is settled when MAKE_RESIDENT has nothing to do for the allocation but to count
 * the call: the allocation is in the segment that it prefers, its paging is done, and all VMs that
 * map the allocation map it at that place. &pagoda_bo.wish.settled is set with the reservation
 * held, and is cleared with the reservation held at a move, an offer, an eviction on request, when
 * a VM's page tables don't map it any more, and when lost content is replaced by zeros. A reset
 * makes all values invalid at once, because each contains the reset epoch.
 *
 * A MAKE_RESIDENT call whose allocations are all settled takes no reservations and no references.
 * The call holds the lock of the client's residency list, which serializes the calls of a client,
 * and the lock of the handle table, which keeps the allocations. If an allocation moves after the
 * call has looked at it, the result is the same as if the allocation had moved after the call.
 *
 * An allocation with several handles never counts as settled: a call that names an allocation
 * twice is noticed by &pagoda_bo.wish.named, which calls of a second client would overwrite.
 *
 * The fast path doesn't move allocations in TTM's LRU lists. Therefore, if TTM chooses the victims
 * (policy=lru), no allocation counts as settled.
 */
#include <linux/xarray.h>
#include <drm/drm_gpuvm.h>
#include "core/core.h"
#include "core/life.h"
#include "allocation.h"
#include "client.h"
#include "ledger.h"
#include "require.h"

/* Returns whether all VMs that map an allocation map it at its present place. */
static bool settled_is_shown(struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		if (vm_bo->evicted)
			return false;
	return true;
}

/**
 * pagoda_settled_mark() - Mark an allocation as settled
 * @bo: Allocation, reservation held; all fences of its paging have signalled
 * @epoch: Result of pagoda_reset_epoch() before the caller tested the allocation's place and
 *	fences: the mark doesn't count if the device was reset since then
 *
 * An allocation isn't marked if MAKE_RESIDENT may have something left to do for it: if it wasn't
 * made resident, is imported or offered, is outside of the segment that it prefers, or isn't mapped
 * at its present place by all VMs that map it.
 */
void pagoda_settled_mark(struct pagoda_bo *bo, u64 epoch)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	if (bo->wish.resident && !bo->share.imported && !pagoda_bo_is_offered(bo) &&
	    pagoda_segment_of(bo->ttm.resource) == bo->preferred[0] && settled_is_shown(bo))
		WRITE_ONCE(bo->wish.settled, epoch + 1);
}

/**
 * pagoda_settling_begin() - Begin a call that looks for settled allocations
 * @settling: Filled; to be ended with pagoda_settling_end() if the result is true
 * @vidmm: The manager
 * @client: Client that calls
 * @counted: Raise the count of each settled allocation on the client's residency list
 *
 * Context: May sleep. If the result is true, the lock of the client's residency list is held until
 * pagoda_settling_end().
 * Return: false if no allocation ever counts as settled, because TTM chooses the victims.
 */
bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted)
{
	if (!vidmm->victims->asked)
		return false;
	*settling = (struct pagoda_settling) {
		.client = client,
		.counted = counted,
		/* Plus 1: &pagoda_bo.wish.settled of an allocation that isn't settled is 0. */
		.settled = pagoda_reset_epoch(vidmm) + 1,
	};
	mutex_lock(&settling->client->requirements->lock);
	settling->call = atomic64_inc_return(&vidmm->settling_calls);
	return true;
}

/* Ends a call that pagoda_settling_begin() began. */
void pagoda_settling_end(struct pagoda_settling *settling)
{
	mutex_unlock(&settling->client->requirements->lock);
}

/* Returns an allocation's entry in the residency list of the client that calls, or NULL. */
static struct pagoda_requirement *settling_find(struct pagoda_settling *settling,
						struct pagoda_bo *bo)
{
	if (bo->client == settling->client)
		return bo->wish.owned;
	return xa_load(&settling->client->requirements->by_id, bo->id);
}

static bool settling_count(struct pagoda_settling *settling, struct pagoda_bo *bo)
{
	struct pagoda_requirement *req;

	if (!settling->counted)
		return true;
	req = settling_find(settling, bo);
	if (!req || req->count == U32_MAX)
		return false;
	req->count++;
	return true;
}

static bool settling_one(struct pagoda_settling *settling, struct pagoda_bo *bo)
{
	if (READ_ONCE(bo->wish.settled) != settling->settled || READ_ONCE(bo->wish.released) ||
	    READ_ONCE(pagoda_bo_gem(bo)->handle_count) > 1 || bo->wish.named == settling->call ||
	    !settling_count(settling, bo))
		return false;
	bo->wish.named = settling->call;
	return true;
}

/**
 * pagoda_settling_some() - Test and count settled allocations, up to the first that isn't settled
 * @settling: From pagoda_settling_begin()
 * @bos: Allocations that the caller keeps from being freed; NULL counts as not settled
 * @count: Number of allocations
 *
 * Context: Any but interrupts.
 * Return: Number of leading allocations that are settled, aren't &pagoda_bo.wish.released, have a
 * single handle, weren't named before in the same MAKE_RESIDENT call and, with
 * &pagoda_settling.counted, are on the client's residency list with a count below %U32_MAX; with
 * that flag the counts of these allocations on the list were raised.
 */
u32 pagoda_settling_some(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count)
{
	u32 i;

	lockdep_assert_held(&settling->client->requirements->lock);
	for (i = 0; i < count; i++)
		if (!bos[i] || !settling_one(settling, bos[i]))
			break;
	return i;
}

/**
 * pagoda_settling_undo() - Lower the counts that pagoda_settling_some() raised
 * @settling: From pagoda_settling_begin()
 * @bos: Allocations that pagoda_settling_some() found settled, NULL for those freed since
 * @count: Number of allocations
 *
 * Context: Any but interrupts.
 */
void pagoda_settling_undo(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirement *req;
	u32 i;

	lockdep_assert_held(&settling->client->requirements->lock);
	for (i = 0; i < count && settling->counted; i++) {
		if (!bos[i] || bos[i]->wish.named != settling->call)
			continue;
		req = settling_find(settling, bos[i]);
		if (req)
			req->count--;
	}
}
