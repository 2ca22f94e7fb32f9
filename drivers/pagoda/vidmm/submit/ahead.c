// SPDX-License-Identifier: GPL-2.0
/*
 * Paging ahead of the engines: while the jobs of a client are queued, what the next of these jobs
 * list comes to VRAM, so that the engine needn't wait for paging when it is the jobs' turn.
 *
 *	which	allocations that prefer VRAM, and that the next &pagoda_vidmm.ahead_jobs queued jobs
 *		of the client list, in the order in which the jobs were queued. Together the jobs
 *		list at most VRAM's size divided by AHEAD_PART, or it is only one job
 *	not	jobs of a context whose next job waits for a point or value that doesn't exist yet:
 *		whether and when these jobs are executed is up to clients
 *	room	free VRAM, or that of idle allocations which are used later than the job: those
 *		that would leave if the job was made now, see pagoda_policy_is_later()
 *	when	the next job of a context has to wait for fences or for a place of the engine
 *	pays	the client: its quota for paging, and its tokens, as for the job itself (pace.c)
 *
 * Nothing waits for this paging, and this paging waits for nothing: a work item of the client only
 * tries to lock reservations, and passes over what jobs use. It pages in slices, one at a time, so
 * that other paging, which shares the line of moves, isn't held up for longer than a slice takes,
 * or a single larger allocation.
 *
 * A queued job still holds no memory: what came in for the job may leave again for others, if the
 * policy finds nothing that is used later. Each allocation of a job is brought in once at most; if
 * it has left when the job is made, the job itself brings it back. When a job is cancelled, its
 * allocations are no longer looked for; what came in stays as any other allocation does.
 */
#include <linux/dma-fence.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/residency/residency.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/* Bytes of a slice, which the device copies in about two milliseconds. */
#define AHEAD_SLICE	(2 * PAGODA_PIECE_BYTES)
/* Several jobs that are looked at list at most VRAM's size divided by this. */
#define AHEAD_PART	2
/* Most queued jobs that are looked at, or passed over because they list nothing or mustn't be. */
#define AHEAD_LOOK	64

/*
 * struct ahead_turn - a slice of paging ahead; @number, @index: the next allocation to look at is
 * that one of the job with this number, or is listed by a later job; @when: of the job that lists
 * the allocation found last, see pagoda_bo_place_ahead(); @fence: fence behind all paging of the
 * slice so far, a reference, or NULL; @bytes, @count: what came in
 */
struct ahead_turn {
	struct pagoda_client *client;
	u64 number;
	u32 index;
	u64 when;
	struct dma_fence *fence;
	u64 bytes;
	u32 count;
};

static struct pagoda_vidmm *ahead_vidmm(struct pagoda_client *client)
{
	return client->closing.vidmm;
}

/*
 * Returns whether an allocation that a queued job lists should come to VRAM now. Without the
 * reservation the answer may be outdated.
 */
static bool ahead_is_wanted(const struct pagoda_bo *bo)
{
	return bo->preferred[0] == DRM_PAGODA_SEGMENT_VRAM && !READ_ONCE(bo->choice.in_vram) &&
	       bo->ttm.type == ttm_bo_type_device && !pagoda_bo_is_offered(bo) &&
	       !READ_ONCE(bo->ttm.pin_count);
}

/*
 * Returns the first allocation of a queued job that ahead_is_wanted(), from @turn->index on if the
 * job is the one that was looked at last, with a reference; NULL if there is none.
 */
static struct pagoda_bo *ahead_look(struct ahead_turn *turn, struct pagoda_submit *submit)
{
	u32 i = submit->nr_ahead;

	if (submit->number == turn->number)
		i = max(i, turn->index);
	while (i < submit->nr_bos && !ahead_is_wanted(submit->bos[i]))
		i++;
	submit->nr_ahead = i;
	if (i == submit->nr_bos)
		return NULL;
	turn->number = submit->number;
	turn->index = i + 1;
	turn->when = submit->coming[submit->nr_bos - 1].when;
	drm_gem_object_get(pagoda_bo_gem(submit->bos[i]));
	return submit->bos[i];
}

/* Returns the next allocation that should come to VRAM, with a reference; or NULL. May sleep. */
static struct pagoda_bo *ahead_next(struct ahead_turn *turn)
{
	struct pagoda_closing *closing = &turn->client->closing;
	struct pagoda_vidmm *vidmm = closing->vidmm;
	u64 room = pagoda_vidmm_vram_size(vidmm) / AHEAD_PART, listed = 0;
	struct pagoda_submit *submit;
	struct pagoda_bo *bo = NULL;
	u32 jobs = 0, looked = 0;

	mutex_lock(&closing->lock);
	list_for_each_entry(submit, &closing->jobs, held_up) {
		if (looked++ == AHEAD_LOOK)
			break;
		if (!submit->coming || READ_ONCE(submit->context->deferred.held_up))
			continue;
		listed += submit->bytes;
		if (jobs++ == vidmm->ahead_jobs || (jobs > 1 && listed > room))
			break;
		if (submit->number >= turn->number)
			bo = ahead_look(turn, submit);
		if (bo)
			break;
	}
	mutex_unlock(&closing->lock);
	return bo;
}

/*
 * Brings an allocation to VRAM, and replaces @turn->fence by a fence behind the copy. Returns 0;
 * -EBUSY if another thread has locked the reservation, or jobs or other devices use the allocation;
 * -ESTALE if it needn't move any more; or another result of pagoda_pace_ahead().
 */
static int ahead_bring(struct ahead_turn *turn, struct pagoda_bo *bo)
{
	struct pagoda_operation op = { .flags = PAGODA_PL_AHEAD };
	struct dma_resv *resv = bo->ttm.base.resv;
	int ret = -ESTALE;

	if (!dma_resv_trylock(resv))
		return -EBUSY;
	/* Without such fences the move waits for paging only, and that in the stream. */
	if (pagoda_stream_has_foreign(bo->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP)) {
		ret = -EBUSY;
	} else if (ahead_is_wanted(bo)) {
		pagoda_swizzle_expect_job(bo);
		ret = pagoda_pace_ahead(turn->client, bo, turn->when, &op);
	}
	if (!ret) {
		turn->fence = pagoda_residency_later(bo->vidmm, turn->fence, resv);
		turn->bytes += bo->ttm.base.size;
		turn->count++;
	}
	dma_resv_unlock(resv);
	return ret;
}

/*
 * Brings in a slice: the next allocations, until they have AHEAD_SLICE bytes together, or there is
 * no room for the next one, which is tried again later. Runs in the client's thread
 * (&pagoda_payer.worker), if there is one.
 */
static void ahead_slice(void *arg)
{
	struct ahead_turn *turn = arg;
	struct pagoda_vidmm *vidmm = ahead_vidmm(turn->client);
	struct pagoda_caller caller;
	struct pagoda_plug plug;
	struct pagoda_bo *bo;
	int ret = 0;

	if (pagoda_caller_must_wait(vidmm, turn->client) || !pagoda_try_enter(vidmm))
		return;
	pagoda_caller_begin(vidmm, &caller, turn->client);
	pagoda_stream_plug(vidmm, &plug);
	while (ret != -ENOMEM && turn->bytes < AHEAD_SLICE && (bo = ahead_next(turn))) {
		ret = ahead_bring(turn, bo);
		drm_gem_object_put(pagoda_bo_gem(bo));
	}
	pagoda_stream_unplug(vidmm, &plug);
	pagoda_caller_end(vidmm, &caller);
	pagoda_leave(vidmm);
}

static void ahead_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct pagoda_client_ahead *ahead = container_of(callback, struct pagoda_client_ahead,
							 callback);

	queue_work(system_dfl_wq, &ahead->work);
}

/* Drops the fence of the last slice, if any. Waits for the fence's callback, if that is running. */
static void ahead_drop(struct pagoda_client_ahead *ahead)
{
	struct dma_fence *fence = ahead->fence;

	if (!fence)
		return;
	dma_fence_remove_callback(fence, &ahead->callback);
	WRITE_ONCE(ahead->fence, NULL);
	dma_fence_put(fence);
}

/*
 * Work item: brings in the next slice, unless the last one is still being paged; runs again when
 * the device has paged this slice, and, if that is nothing, when pagoda_ahead_kick() is called.
 */
void pagoda_ahead_work(struct work_struct *work)
{
	struct pagoda_client_ahead *ahead = container_of(work, struct pagoda_client_ahead, work);
	struct pagoda_client *client = container_of(ahead, struct pagoda_client, ahead);
	struct ahead_turn turn = { .client = client };

	if (ahead->fence && !dma_fence_is_signaled(ahead->fence))
		return;
	ahead_drop(ahead);
	pagoda_payer_run(&client->payer, ahead_slice, &turn);
	atomic64_add(turn.bytes, &ahead->bytes);
	atomic64_add(turn.count, &ahead->count);
	if (turn.fence && !dma_fence_add_callback(turn.fence, &ahead->callback, ahead_signalled)) {
		WRITE_ONCE(ahead->fence, turn.fence);
		return;
	}
	dma_fence_put(turn.fence);
	if (turn.count)
		queue_work(system_dfl_wq, &ahead->work);
}

/*
 * Called when the next job of a context has to wait for fences or for a place of its engine: queues
 * the work item, unless the end of a slice will do that. Any context.
 */
void pagoda_ahead_kick(struct pagoda_client *client)
{
	struct pagoda_client_ahead *ahead = &client->ahead;

	if (ahead_vidmm(client)->ahead_jobs && !READ_ONCE(ahead->fence))
		queue_work(system_dfl_wq, &ahead->work);
}

/*
 * Ends paging ahead of the engines for good, for a client that has no contexts any more; may be
 * called more than once. Waits for the work item, but not for paging under way. May sleep.
 */
void pagoda_ahead_end(struct pagoda_client *client)
{
	disable_work_sync(&client->ahead.work);
	ahead_drop(&client->ahead);
}
