// SPDX-License-Identifier: GPL-2.0
/*
 * Fences that work waits for and signals, as lists: binary syncobjs, timeline points and monitored
 * fences.
 *
 * What work waits for is looked up until the lookup succeeds. The work then waits for the dma_fence
 * that was found, even if the syncobj is reused later. A monitored fence's value that was reached
 * once counts, even if the fence rewinds later.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <drm/drm_syncobj.h>
#include "fence.h"
#include "sync.h"

static void sync_put(struct pagoda_sync *sync)
{
	dma_fence_put(sync->fence);
	dma_fence_chain_free(sync->chain);
	pagoda_point_free(sync->ordered);
	if (sync->syncobj)
		drm_syncobj_put(sync->syncobj);
	if (sync->source)
		sync->source->put(sync->source);
	if (sync->value)
		pagoda_mfence_wait_fini(sync->value);
	kfree(sync->value);
	if (sync->promise)
		pagoda_mfence_take_back(sync->promise);
}

/**
 * pagoda_syncs_put() - Release a list of fences that work waits for and signals
 * @syncs: List, filled by pagoda_syncs_get() or pagoda_syncs_add*(); empty afterwards
 *
 * Drops all references, ends the waits for monitored fences, and takes back promises of values that
 * weren't signalled: these values may be promised again.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_syncs_put(struct pagoda_syncs *syncs)
{
	/* Last entry first, to restore &pagoda_mfence.last if several promises are of one fence. */
	while (syncs->count)
		sync_put(&syncs->list[--syncs->count]);
	kvfree(syncs->list);
	*syncs = (struct pagoda_syncs) {};
}

static int syncs_append(struct pagoda_syncs *syncs, const struct pagoda_sync *sync)
{
	struct pagoda_sync *list;

	list = kvmalloc_array(syncs->count + 1, sizeof(*list), GFP_KERNEL_ACCOUNT);
	if (!list)
		return -ENOMEM;
	if (syncs->count)
		memcpy(list, syncs->list, syncs->count * sizeof(*list));
	list[syncs->count++] = *sync;
	kvfree(syncs->list);
	syncs->list = list;
	return 0;
}

/**
 * pagoda_syncs_add() - Add a syncobj that the work signals, without regard to other points
 * @syncs: List
 * @syncobj: Syncobj; the list takes the caller's reference
 * @point: Timeline point, 0 = binary
 * @chain: Chain node for the point, owned by the list afterwards; NULL for a binary syncobj
 *
 * Context: May sleep.
 * Return: 0; or -ENOMEM, and the caller still owns @syncobj and @chain.
 */
int pagoda_syncs_add(struct pagoda_syncs *syncs, struct drm_syncobj *syncobj, u64 point,
		     struct dma_fence_chain *chain)
{
	const struct pagoda_sync sync = {
		.syncobj = syncobj, .point = point, .signal = true, .chain = chain,
	};

	return syncs_append(syncs, &sync);
}

/**
 * pagoda_syncs_add_point() - Add a timeline point that the work signals, in the order of points
 * @syncs: List
 * @point: Point, owned by the list afterwards
 *
 * Context: May sleep.
 * Return: 0; or -ENOMEM, and the caller still owns @point.
 */
int pagoda_syncs_add_point(struct pagoda_syncs *syncs, struct pagoda_point *point)
{
	const struct pagoda_sync sync = { .signal = true, .ordered = point };

	return syncs_append(syncs, &sync);
}

/**
 * pagoda_syncs_add_promise() - Add a monitored fence that the work signals
 * @syncs: List
 * @promise: Promise of the fence's value, owned by the list afterwards
 *
 * Context: May sleep.
 * Return: 0; or -ENOMEM, and the caller still owns @promise.
 */
int pagoda_syncs_add_promise(struct pagoda_syncs *syncs, struct pagoda_mfence_signal *promise)
{
	const struct pagoda_sync sync = { .signal = true, .promise = promise };

	return syncs_append(syncs, &sync);
}

static bool sync_look(struct pagoda_sync *sync)
{
	struct dma_fence *fence;

	if (sync->value) {
		sync->found = READ_ONCE(sync->value->came) ||
			      pagoda_mfence_wait_is_over(sync->value);
		return sync->found;
	}
	fence = drm_syncobj_fence_get(sync->syncobj);
	if (!fence)
		return false;
	if (dma_fence_chain_find_seqno(&fence, sync->point)) {
		dma_fence_put(fence);
		return false;
	}
	sync->fence = fence;
	sync->found = true;
	sync->failed = fence && pagoda_deferred_is_failed_paging(fence);
	if (sync->source)
		sync->failed |= sync->source->failed(sync->source, sync->point);
	return true;
}

/**
 * pagoda_syncs_look() - Look up the fences and values that the work waits for
 * @syncs: List
 *
 * A dma_fence that was found is kept for pagoda_syncs_next(), and its entry isn't looked up again.
 *
 * Context: Takes spinlocks. One thread at a time.
 * Return: true if all dma_fences that the work waits for exist, and all values have come, or won't
 * come because the device is gone.
 */
bool pagoda_syncs_look(struct pagoda_syncs *syncs)
{
	bool all = true;
	u32 i;

	for (i = 0; i < syncs->count; i++) {
		struct pagoda_sync *sync = &syncs->list[i];

		if (!sync->signal && !sync->found && !sync_look(sync))
			all = false;
	}
	return all;
}

/**
 * pagoda_syncs_failed() - Tell whether paging that the work waits for failed
 * @syncs: List for which pagoda_syncs_look() returned true
 *
 * Return: true if an entry stands for a paging request that failed.
 */
bool pagoda_syncs_failed(const struct pagoda_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->count; i++)
		if (syncs->list[i].failed)
			return true;
	return false;
}

/* Returns true if all dma_fences that pagoda_syncs_look() found have signalled. */
bool pagoda_syncs_are_done(const struct pagoda_syncs *syncs)
{
	struct dma_fence *fence;
	u32 index = 0;

	while ((fence = pagoda_syncs_next(syncs, &index)))
		if (!dma_fence_is_signaled(fence))
			return false;
	return true;
}

/*
 * Returns true if the list has an entry that the work waits for, whether or not the dma_fence
 * exists or the value is reached already.
 */
bool pagoda_syncs_wait(const struct pagoda_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->count; i++)
		if (!syncs->list[i].signal)
			return true;
	return false;
}

/**
 * pagoda_syncs_next() - Walk the dma_fences that pagoda_syncs_look() found
 * @syncs: List
 * @index: Position of the walk, 0 to begin with
 *
 * Return: The next fence, no reference is taken; or NULL.
 */
struct dma_fence *pagoda_syncs_next(const struct pagoda_syncs *syncs, u32 *index)
{
	while (*index < syncs->count) {
		struct dma_fence *fence = syncs->list[(*index)++].fence;

		if (fence)
			return fence;
	}
	return NULL;
}

/*
 * Called when work was accepted that will be submitted later. Empties the binary syncobjs that the
 * work signals, so that a wait that begins now doesn't find the fence of earlier work. Promises the
 * timeline points that get their fences in order. Takes spinlocks.
 */
void pagoda_syncs_promise(struct pagoda_vidmm *vidmm, struct pagoda_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->count; i++) {
		struct pagoda_sync *sync = &syncs->list[i];

		if (sync->ordered)
			pagoda_point_promise(vidmm, sync->ordered);
		else if (sync->signal && sync->syncobj && !sync->point)
			drm_syncobj_replace_fence(sync->syncobj, NULL);
	}
}

/**
 * pagoda_syncs_signal() - Give the fence of work to all entries of its list that the work signals
 * @vidmm: Manager
 * @syncs: List
 * @fence: Fence of the work; NULL = the work is done
 *
 * Syncobjs and points get the fence; a point with &pagoda_sync.ordered set gets the fence after all
 * smaller promised points (points.c), maybe after this function returns. Monitored fences get their
 * values when the fence signals. Runs the workers of deferred work that misses a fence or point of
 * these syncobjs.
 *
 * Context: Takes spinlocks, can't fail.
 */
void pagoda_syncs_signal(struct pagoda_vidmm *vidmm, struct pagoda_syncs *syncs,
			 struct dma_fence *fence)
{
	u32 i;

	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	for (i = 0; i < syncs->count; i++) {
		struct pagoda_sync *sync = &syncs->list[i];

		if (!sync->signal)
			continue;
		if (sync->promise) {
			pagoda_mfence_signal_after(sync->promise, fence);
			sync->promise = NULL;
			continue;
		}
		if (sync->ordered) {
			pagoda_point_signal(vidmm, sync->ordered, fence);
			sync->ordered = NULL;
			continue;
		}
		if (sync->chain)
			drm_syncobj_add_point(sync->syncobj, sync->chain, fence, sync->point);
		else
			drm_syncobj_replace_fence(sync->syncobj, fence);
		sync->chain = NULL;
		pagoda_missing_came(vidmm, sync->syncobj);
	}
	dma_fence_put(fence);
}

/*
 * Returns a syncobj that the work waits for and whose fence or point pagoda_syncs_look() didn't
 * find; or NULL. No reference is taken.
 */
struct drm_syncobj *pagoda_syncs_missing(const struct pagoda_syncs *syncs)
{
	u32 i;

	for (i = 0; i < syncs->count; i++)
		if (!syncs->list[i].signal && !syncs->list[i].found && syncs->list[i].syncobj)
			return syncs->list[i].syncobj;
	return NULL;
}

/* A &pagoda_mfence_wait.func: has the worker run of the queue whose item waited for the value. */
static void sync_value_came(struct pagoda_mfence_wait *wait, int error)
{
	WRITE_ONCE(wait->came, true);
	pagoda_deferred_again(wait->arg);
}

/*
 * Arms the waits of @syncs for values of monitored fences, but for those with &pagoda_sync.found
 * set: the worker of @queue will run when a fence has at least the value, or has it already, and
 * when the device is gone. The caller releases @syncs with pagoda_syncs_put() before @queue. Takes
 * spinlocks.
 */
void pagoda_syncs_arm(struct pagoda_syncs *syncs, struct pagoda_deferred *queue)
{
	u32 i;

	for (i = 0; i < syncs->count; i++) {
		struct pagoda_mfence_wait *wait = syncs->list[i].value;

		if (!wait || syncs->list[i].found)
			continue;
		wait->func = sync_value_came;
		wait->arg = queue;
		pagoda_mfence_wait_arm(wait);
	}
}

/*
 * Returns true if a dma_fence, or the fence in a timeline point, is &pagoda_deferred_item.failure
 * of a paging request that failed. May be called in any context.
 */
bool pagoda_deferred_is_failed_paging(struct dma_fence *fence)
{
	struct dma_fence *stub = dma_fence_get_stub();
	bool is_stub;

	fence = dma_fence_chain_contained(fence);
	/* In fences that aren't stubs the bit PAGODA_DEFERRED_IS_PAGING has another meaning. */
	is_stub = fence->ops == stub->ops;
	dma_fence_put(stub);
	return is_stub && fence->error && test_bit(PAGODA_DEFERRED_IS_PAGING, &fence->flags);
}
