// SPDX-License-Identifier: GPL-2.0
/*
 * Lists that are resident already: what programs ask for every frame.
 *
 * An allocation is settled when MAKE_RESIDENT found nothing left to do for it: it was made
 * resident, is where it prefers to be, nothing is on its way, and every address of it leads
 * there. Who finds that holds the reservation, and so does whoever ends it: a move, an
 * offer, an eviction on request, a loss of content. A reset ends it for all at once, because
 * what is noted is the epoch.
 *
 * A call about settled allocations takes no reservation and no reference: a look at each and a
 * count is all. It holds the lock of the client's residency list, which serializes the calls
 * of a client, and looks handles up under the lock of these, which keeps what they name. What
 * leaves right after the look leaves as if that had been right after the call.
 *
 * What several files have handles of is never taken for settled: a list that names something
 * twice is found by a mark in what is named, which has to be of one client's calls.
 *
 * TTM isn't told of such a use. Its own order counts for who isn't chosen by the policy;
 * where TTM chooses alone, nothing is settled.
 */
#include <linux/xarray.h>
#include "require.h"
#include "reset.h"
#include "victims.h"
#include "vm.h"

/* Never 0, which is what a new allocation has. */
static u64 settled_now(struct pagoda_vidmm *vidmm)
{
	return pagoda_reset_epoch(vidmm) + 1;
}

static bool settled_is_shown(struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		if (vm_bo->evicted)
			return false;
	return true;
}

/**
 * pagoda_settled_mark() - Nothing was left to do for an allocation
 * @bo: Allocation, reservation held; what is on its way there has arrived
 * @epoch: pagoda_reset_epoch() before that was found
 *
 * Context: Any.
 */
void pagoda_settled_mark(struct pagoda_bo *bo, u64 epoch)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	if (bo->resident && !bo->imported && !pagoda_bo_is_offered(bo) &&
	    pagoda_segment_of(bo->ttm.resource) == bo->preferred[0] && settled_is_shown(bo))
		WRITE_ONCE(bo->settled, epoch + 1);
}

/**
 * pagoda_settled_clear() - Something is to be done for an allocation, or done to it
 * @bo: Allocation, reservation held
 *
 * Context: Any.
 */
void pagoda_settled_clear(struct pagoda_bo *bo)
{
	WRITE_ONCE(bo->settled, 0);
}

/**
 * pagoda_settling_begin() - Begin to look at a list
 * @settling: Filled; pagoda_settling_end() it if there is something to look at
 * @vidmm: The manager
 * @client: Whose list
 * @counted: One more is required of each
 *
 * Context: May sleep. Takes the lock of the client's residency list.
 * Return: Whether anything may be settled at all.
 */
bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted)
{
	if (!vidmm->victims->asked)
		return false;
	*settling = (struct pagoda_settling) {
		.client = client,
		.counted = counted,
		.settled = settled_now(vidmm),
	};
	mutex_lock(&settling->client->requirements->lock);
	settling->call = atomic64_inc_return(&vidmm->settling_calls);
	return true;
}

/**
 * pagoda_settling_end() - The list was looked at
 * @settling: Begun
 */
void pagoda_settling_end(struct pagoda_settling *settling)
{
	mutex_unlock(&settling->client->requirements->lock);
}

/* Most know it of the client that made them. */
static struct pagoda_requirement *settling_find(struct pagoda_settling *settling,
						struct pagoda_bo *bo)
{
	if (bo->client == settling->client)
		return bo->owned;
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
	if (READ_ONCE(bo->settled) != settling->settled || READ_ONCE(bo->released) ||
	    READ_ONCE(pagoda_bo_gem(bo)->handle_count) > 1 || bo->named == settling->call ||
	    !settling_count(settling, bo))
		return false;
	bo->named = settling->call;
	return true;
}

/**
 * pagoda_settling_some() - Look at some allocations of a list
 * @settling: Begun
 * @bos: Allocations that stay meanwhile, in the caller's order; NULL isn't one
 * @count: Their number
 *
 * Context: Any but interrupts.
 * Return: How many of the first ones are settled, were not named before, and, if they are
 * counted, are on the client's list; these are required once more.
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
 * pagoda_settling_undo() - Not all of a list is settled
 * @settling: Begun
 * @bos: Of those that pagoda_settling_some() counted, what there still is, or NULL
 * @count: Their number
 *
 * What was closed since took its counts with it.
 *
 * Context: Any but interrupts.
 */
void pagoda_settling_undo(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirement *req;
	u32 i;

	lockdep_assert_held(&settling->client->requirements->lock);
	for (i = 0; i < count && settling->counted; i++) {
		if (!bos[i] || bos[i]->named != settling->call)
			continue;
		req = settling_find(settling, bos[i]);
		if (req)
			req->count--;
	}
}
