// SPDX-License-Identifier: GPL-2.0
/*
 * Lists that are resident already: what programs ask for every frame.
 *
 * An allocation is settled when MAKE_RESIDENT found nothing left to do for it: it was made
 * resident, is where it prefers to be, nothing is on its way, and every address of it is mapped
 * there. The caller that finds it settled holds the reservation, as does the caller that ends
 * it: a move, an offer, an eviction on request, a loss of content. A reset ends it for all at
 * once, because &pagoda_bo.wish.settled has the reset epoch.
 *
 * A call about settled allocations takes no reservation and no reference: it looks at each and
 * counts. It holds the lock of the client's residency list, which serializes the calls of a
 * client, and looks handles up under the lock of the handles, which keeps the allocations that
 * they name. An allocation that leaves right after the look leaves as if it had been right after
 * the call.
 *
 * An allocation that several files have handles of never counts as settled: a list that names an
 * allocation twice is found by a mark in it, which has to be of one client's calls.
 *
 * TTM isn't told of such a use. TTM's own order only counts for allocations that the policy
 * doesn't choose; where TTM chooses alone, no allocation is settled.
 */
#include <linux/xarray.h>
#include <drm/drm_gpuvm.h>
#include "core/core.h"
#include "core/life.h"
#include "allocation.h"
#include "client.h"
#include "ledger.h"
#include "require.h"

/* Returns whether the allocation is mapped where it is in each VM that maps it. */
static bool settled_is_shown(struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		if (vm_bo->evicted)
			return false;
	return true;
}

/**
 * pagoda_settled_mark() - Note that nothing was left to do for an allocation
 * @bo: Allocation, reservation held; its paging has arrived
 * @epoch: pagoda_reset_epoch() before the caller looked what was left to do
 */
void pagoda_settled_mark(struct pagoda_bo *bo, u64 epoch)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	if (bo->wish.resident && !bo->share.imported && !pagoda_bo_is_offered(bo) &&
	    pagoda_segment_of(bo->ttm.resource) == bo->preferred[0] && settled_is_shown(bo))
		WRITE_ONCE(bo->wish.settled, epoch + 1);
}

/**
 * pagoda_settling_begin() - Begin to look at a list
 * @settling: Filled; to be ended with pagoda_settling_end() if the result is true
 * @vidmm: The manager
 * @client: Client of the list
 * @counted: Count a residency request of each settled allocation
 *
 * Context: May sleep. Takes the lock of the client's residency list.
 * Return: Whether any allocation may be settled at all.
 */
bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted)
{
	if (!vidmm->victims->asked)
		return false;
	*settling = (struct pagoda_settling) {
		.client = client,
		.counted = counted,
		.settled = pagoda_reset_epoch(vidmm) + 1, /* never 0, which a new allocation has */
	};
	mutex_lock(&settling->client->requirements->lock);
	settling->call = atomic64_inc_return(&vidmm->settling_calls);
	return true;
}

/* Ends what pagoda_settling_begin() began. */
void pagoda_settling_end(struct pagoda_settling *settling)
{
	mutex_unlock(&settling->client->requirements->lock);
}

/*
 * Returns the client's entry of an allocation, or NULL. The client that made the allocation
 * finds the entry without a search.
 */
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
 * pagoda_settling_some() - Count settled allocations of a list
 * @settling: Begun
 * @bos: Allocations that stay meanwhile, in the caller's order; NULL isn't settled
 * @count: Number of allocations
 *
 * Context: Any but interrupts.
 * Return: Number of leading allocations that are settled, were not named before in this call and,
 * if they are counted, are on the client's residency list; each of these is required once more.
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
 * pagoda_settling_undo() - Undo the counts of a list that isn't settled as a whole
 * @settling: Begun
 * @bos: Allocations that pagoda_settling_some() counted, NULL for those that don't exist any more
 * @count: Number of allocations
 *
 * An allocation that was closed since took its counts with it.
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
