// SPDX-License-Identifier: GPL-2.0
/*
 * Promotion: allocations that were evicted from VRAM come back by themselves when there is room.
 *
 *	waits	an allocation, but none that is imported or the driver's own, that was made
 *		resident, prefers VRAM, isn't in VRAM, pinned or offered, and wasn't evicted on
 *		request, trimmed or released since. Tested whenever any of this changes
 *	order	residency priority, then the latest use
 *	room	free VRAM. No allocation is evicted for a promotion, not even if it is offered
 *	when	room appears (VRAM is freed, a budget grows, the device is rebuilt) or another
 *		allocation waits, and a period has passed; a later walk tries allocations again
 *		that were in use
 *
 * A work item walks through the waiting allocations, in order. The work item waits for nothing that
 * a client may hold or wait for: it only tries to lock reservations and &pagoda_payer.lock. It
 * leaves out an allocation that the GPU uses, because the copy would hold up all paging behind the
 * copy; the next submission that uses the allocation brings it back. The work item pages in slices
 * of about a millisecond, of which at most two are under way, so that other paging comes in
 * between. The slices are paid from a token bucket (traffic.c), which is filled at 125 percent of
 * the measured bandwidth while no client uses the device, and at `traffic_share` percent while any
 * client pages or has jobs executed.
 *
 * The cgroup of the client is charged, as for a move in a call of the client (dmem.c).
 *
 * GPU addresses of a promoted allocation become valid with the next submission, as after any move:
 * no job uses them before.
 */
#include <linux/ktime.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/promotion.h"
#include "vidmm/ledger/traffic.h"
#include "vidmm/stream/stream.h"
#include "residency.h"

/* Most tokens (bytes) in the bucket: for the slices under way, and for as many that follow. */
#define PROMOTE_BURST		(2 * PAGODA_PROMOTE_SLICES * (s64)PAGODA_PIECE_BYTES)
/*
 * Most waiting allocations that are looked at before &pagoda_promotion.lock is dropped for a
 * moment.
 */
#define PROMOTE_LOOK		64
/* Longest time between two walks that bring nothing back, in units of &pagoda_promotion.period. */
#define PROMOTE_PATIENCE	32

/* The key that is before all others in the order of promotion. */
static const struct pagoda_promote_key promote_first = { .step = U32_MAX, .used = U64_MAX };

/* ---- Allocations that wait for promotion -------------------------------------------- */

/* Returns the first entry behind @key in the order of promotion, or NULL. */
static struct rb_node *promote_behind(struct pagoda_promotion *promotion,
				      const struct pagoda_promote_key *key)
{
	struct rb_node *node = promotion->waiting.rb_node, *found = NULL;

	lockdep_assert_held(&promotion->lock);
	while (node) {
		if (pagoda_promote_is_before(key, &pagoda_promote_bo(node)->wish.promote.key)) {
			found = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return found;
}

/*
 * Looks at the next few allocations that wait for promotion, in order, behind @promotion->at.
 * Returns the first of them whose size is at most @room bytes, with a reference, or NULL. Sets
 * *@end to whether none was found and none is left to look at. @promotion->at becomes the key of
 * the last allocation looked at.
 */
static struct pagoda_bo *promote_search(struct pagoda_promotion *promotion, u64 room, bool *end)
{
	struct pagoda_bo *bo = NULL;
	struct rb_node *node;
	u32 looked = 0;

	spin_lock(&promotion->lock);
	node = promote_behind(promotion, &promotion->at);
	while (node && !bo && looked++ < PROMOTE_LOOK) {
		struct pagoda_bo *next = pagoda_promote_bo(node);

		promotion->at = next->wish.promote.key;
		/*
		 * An allocation without references is being freed, maybe deferred until idle: VRAM
		 * that it got would never be evicted.
		 */
		if (next->ttm.base.size <= room && kref_get_unless_zero(&next->ttm.base.refcount))
			bo = next;
		node = rb_next(node);
	}
	*end = !node && !bo;
	spin_unlock(&promotion->lock);
	return bo;
}

/*
 * Returns the next allocation that waits for promotion and fits in free VRAM, with a reference;
 * NULL, which ends the walk, if none is left.
 */
static struct pagoda_bo *promote_next(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;
	struct pagoda_bo *bo;
	bool end;

	do {
		bo = promote_search(promotion, READ_ONCE(vidmm->vram_free), &end);
		cond_resched();
	} while (!bo && !end);
	promotion->walking = bo;
	return bo;
}

/*
 * Moves an allocation to free VRAM, evicting nothing. Returns 0; -EDQUOT, without a move, if the
 * client's usage would exceed its budget; or an error of pagoda_bo_place().
 */
static int promote_place(struct pagoda_bo *bo)
{
	struct pagoda_operation op = { .ttm.no_wait_gpu = true };
	struct pagoda_budget_info info;

	pagoda_budget_info(&bo->client->budget, bo->part.prefers, &info);
	if (info.usage + bo->part.bytes > info.budget)
		return -EDQUOT;
	return pagoda_bo_place(bo, pagoda_bo_placement_free, &op);
}

/*
 * Brings an allocation back to VRAM, and replaces *@fence by a fence behind the copy. Returns 0;
 * -EBUSY if jobs or other devices use the allocation or it can't move now; -ESTALE if it needn't
 * move any more; or another error of promote_place(). The reservation is held.
 */
static int promote_locked(struct pagoda_bo *bo, struct dma_fence **fence)
{
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct dma_resv *resv = bo->ttm.base.resv;
	int ret;

	/* The state may have changed since the search. */
	if (!pagoda_promote_waits(bo) || !pagoda_promote_is_wanted(bo))
		return -ESTALE;
	if (pagoda_stream_has_foreign(vidmm, resv, DMA_RESV_USAGE_BOOKKEEP))
		return -EBUSY;
	ret = promote_place(bo);
	if (!ret)
		*fence = pagoda_residency_later(vidmm, *fence, resv);
	return ret;
}

/*
 * struct promote_turn - try to promote @bo; @plug: plug of the stream for the slice; @fence: fence
 * behind all paging of this slice so far, a reference, or NULL; @stop: no section can be entered;
 * @ret: result of promote_locked(), or -EBUSY if it wasn't called
 */
struct promote_turn {
	struct pagoda_bo *bo;
	struct pagoda_plug *plug;
	struct dma_fence *fence;
	bool stop;
	int ret;
};

/*
 * Calls promote_locked() for an allocation, unless no section can be entered, the client has too
 * much paging in flight, or another thread has locked the reservation. Runs in the client's thread
 * (&pagoda_payer.worker); in the work item of promotion if the client has no thread.
 */
static void promote_turn(void *arg)
{
	struct promote_turn *turn = arg;
	struct pagoda_bo *bo = turn->bo;
	struct pagoda_caller caller;

	if (!pagoda_try_enter(bo->vidmm))
		return;
	turn->stop = false;
	pagoda_stream_plug_pass(bo->vidmm, turn->plug);
	pagoda_caller_begin(bo->vidmm, &caller, bo->client);
	if (!pagoda_caller_must_wait(bo->vidmm, bo->client) &&
	    dma_resv_trylock(bo->ttm.base.resv)) {
		turn->ret = promote_locked(bo, &turn->fence);
		dma_resv_unlock(bo->ttm.base.resv);
	}
	pagoda_caller_end(bo->vidmm, &caller);
	pagoda_leave(bo->vidmm);
}

/*
 * Brings an allocation back to VRAM, if possible, and then adds its size to *@bytes and replaces
 * *@fence by a fence behind the copy. Returns true, promoted or not; false if sections are closed,
 * so that no other allocation could come back now either.
 */
static bool promote_one(struct pagoda_bo *bo, struct pagoda_plug *plug, struct dma_fence **fence,
			u64 *bytes)
{
	struct pagoda_promotion *promotion = bo->vidmm->promotion;
	struct promote_turn turn = {
		.bo = bo,
		.plug = plug,
		.fence = *fence,
		.stop = true,
		.ret = -EBUSY,
	};

	pagoda_kcov_begin(bo->client->kcov);
	if (!pagoda_payer_try_run(&bo->client->payer, promote_turn, &turn))
		turn.stop = false;
	pagoda_kcov_end();
	pagoda_stream_plug_pass(bo->vidmm, plug);
	*fence = turn.fence;
	promotion->skipped |= turn.ret == -EBUSY;
	if (turn.ret)
		return !turn.stop;
	*bytes += bo->ttm.base.size;
	atomic64_add(bo->ttm.base.size, &promotion->promoted);
	atomic64_inc(&promotion->promotions);
	return true;
}

/* ---- Slices: parts of a promotion, a millisecond each ------------------------------- */

static void promote_signalled(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct pagoda_promote_slice *slice = container_of(callback, struct pagoda_promote_slice,
							  callback);

	mod_delayed_work(system_dfl_wq, &slice->vidmm->promotion->work, 0);
}

/*
 * Drops the fence of a slice, a part of promotion's paging. Waits for the fence's callback, if that
 * is running.
 */
static void promote_drop(struct pagoda_promote_slice *slice)
{
	dma_fence_remove_callback(slice->fence, &slice->callback);
	dma_fence_put(slice->fence);
	slice->fence = NULL;
}

static struct pagoda_promote_slice *promote_slice(struct pagoda_promotion *promotion, u32 number)
{
	return &promotion->slices[number % PAGODA_PROMOTE_SLICES];
}

/*
 * Drops the fences of slices whose paging has ended. Slices end in the order in which they were
 * sent.
 */
static void promote_reap(struct pagoda_promotion *promotion)
{
	for (; promotion->ended != promotion->sent; promotion->ended++) {
		struct pagoda_promote_slice *slice = promote_slice(promotion, promotion->ended);

		if (!dma_fence_is_signaled(slice->fence))
			break;
		promote_drop(slice);
	}
}

static void promote_note(struct pagoda_promotion *promotion, struct dma_fence *fence, u64 bytes)
{
	struct pagoda_promote_slice *slice = promote_slice(promotion, promotion->sent);

	pagoda_traffic_spend(&promotion->traffic, bytes);
	WRITE_ONCE(promotion->patience, promotion->period);
	if (!fence)
		return;
	slice->fence = fence;
	promotion->sent++;
	if (dma_fence_add_callback(fence, &slice->callback, promote_signalled))
		mod_delayed_work(system_dfl_wq, &promotion->work, 0);
}

/*
 * Promotes the next waiting allocations, until they have %PAGODA_PIECE_BYTES together: a slice,
 * which the device copies in about a millisecond. Takes tokens for them. Sets *@sent to whether any
 * was promoted. Returns false if nothing can be promoted now, because sections are closed.
 */
static bool promote_slice_send(struct pagoda_vidmm *vidmm, bool *sent)
{
	struct pagoda_promotion *promotion = vidmm->promotion;
	struct dma_fence *fence = NULL;
	struct pagoda_plug plug;
	struct pagoda_bo *bo;
	bool go = true;
	u64 bytes = 0;

	pagoda_stream_plug(vidmm, &plug);
	while (go && bytes < PAGODA_PIECE_BYTES && (bo = promote_next(vidmm))) {
		go = promote_one(bo, &plug, &fence, &bytes);
		drm_gem_object_put(&bo->ttm.base);
	}
	pagoda_stream_unplug(vidmm, &plug);
	promotion->commands = atomic64_read(&vidmm->stats.commands);
	if (bytes)
		promote_note(promotion, fence, bytes);
	*sent = bytes;
	return go;
}

/*
 * Returns whether clients used the device since the last call or slice: paged or had jobs executed.
 * Paging of clients waits behind promotion's copies, and jobs of clients share the bandwidth.
 */
static bool promote_has_others(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;
	u64 commands = atomic64_read(&vidmm->stats.commands);
	u64 busy_ns = pagoda_engines_busy_ns(vidmm->engines);
	bool others = promotion->commands != commands || promotion->busy_ns != busy_ns;

	promotion->commands = commands;
	promotion->busy_ns = busy_ns;
	return others;
}

/*
 * Returns 0 if promotion may page now, as its bucket has a token or no limit; else the nanoseconds
 * until the bucket gets a token.
 */
static u64 promote_wait(struct pagoda_vidmm *vidmm)
{
	struct pagoda_traffic *traffic = &vidmm->promotion->traffic;
	bool others = promote_has_others(vidmm);
	u64 now = ktime_get_ns();

	if (others)
		pagoda_traffic_others(traffic, now);
	return pagoda_traffic_wait(traffic, now);
}

/* ---- The walk through the allocations that wait --------------------------------------- */

static bool promote_begin(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;

	if (promotion->walking)
		return true;
	/*
	 * Clear @news first: a change that happens during the walk sets @news again. Pairs with
	 * pagoda_promote_kick().
	 */
	if (!xchg(&promotion->news, false) || !READ_ONCE(promotion->count))
		return false;
	promotion->walking = true;
	promotion->skipped = false;
	promotion->at = promote_first;
	/* Only use of the device by clients from now on slows the walk down. */
	promote_has_others(vidmm);
	WRITE_ONCE(promotion->patience,
		   min(2 * promotion->patience, PROMOTE_PATIENCE * promotion->period));
	return true;
}

/*
 * Ends a walk through the allocations that wait for promotion. The next walk comes after
 * &pagoda_promotion.patience if this one left out an allocation that was in use, is ended early, or
 * pagoda_promote_kick() was called during it; else with the next call of pagoda_promote_kick(), as
 * when VRAM becomes free.
 */
static void promote_end(struct pagoda_promotion *promotion)
{
	if (promotion->skipped || promotion->walking)
		WRITE_ONCE(promotion->news, true);
	promotion->walking = false;
	if (READ_ONCE(promotion->news))
		pagoda_promote_again(promotion, promotion->patience);
}

static void promote_walk(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;
	bool sent = true;
	u64 wait;

	if (!promote_begin(vidmm))
		return;
	while (sent && promotion->sent - promotion->ended < PAGODA_PROMOTE_SLICES) {
		wait = promote_wait(vidmm);
		if (wait) {
			pagoda_promote_again(promotion,
					     min_t(unsigned long, nsecs_to_jiffies(wait) + 1,
						   PAGODA_PROMOTE_POOR));
			return;
		}
		if (!promote_slice_send(vidmm, &sent))
			break;
	}
	/*
	 * While allocations are left to look at, promote_signalled() queues the work item when a
	 * slice ends.
	 */
	if (!promotion->walking || promotion->sent == promotion->ended)
		promote_end(promotion);
}

static void promote_work(struct work_struct *work)
{
	struct pagoda_promotion *promotion = container_of(to_delayed_work(work),
							  struct pagoda_promotion, work);
	struct pagoda_vidmm *vidmm = promotion->vidmm;
	int idx;

	promote_reap(promotion);
	if (!drm_dev_enter(vidmm->drm, &idx))
		return;
	promote_walk(vidmm);
	drm_dev_exit(idx);
}

/*
 * Sets up promotion, with no waiting allocation, and &pagoda_vidmm.bandwidth, for all token
 * buckets. Probe; may sleep. Returns 0 or -ENOMEM.
 */
int pagoda_promote_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_promotion *promotion;
	u32 i;

	vidmm->bandwidth = drmm_kzalloc(vidmm->drm, sizeof(*vidmm->bandwidth), GFP_KERNEL);
	if (!vidmm->bandwidth)
		return -ENOMEM;
	promotion = drmm_kzalloc(vidmm->drm, sizeof(*promotion), GFP_KERNEL);
	if (!promotion)
		return -ENOMEM;
	vidmm->promotion = promotion;
	promotion->vidmm = vidmm;
	spin_lock_init(&promotion->lock);
	promotion->waiting = RB_ROOT;
	promotion->period = msecs_to_jiffies(args->promote_ms);
	promotion->patience = promotion->period;
	INIT_DELAYED_WORK(&promotion->work, promote_work);
	for (i = 0; i < PAGODA_PROMOTE_SLICES; i++)
		promotion->slices[i].vidmm = vidmm;
	pagoda_traffic_init(&promotion->traffic, vidmm->bandwidth, args->traffic_share,
			    PAGODA_TRAFFIC_ALONE, PROMOTE_BURST, ktime_get_ns());
	return 0;
}

/*
 * Ends promotion for good; may be called more than once. Waits for the work item, but not for
 * paging under way. May sleep.
 */
void pagoda_promote_stop(struct pagoda_vidmm *vidmm)
{
	struct pagoda_promotion *promotion = vidmm->promotion;

	disable_delayed_work_sync(&promotion->work);
	for (; promotion->ended != promotion->sent; promotion->ended++)
		promote_drop(promote_slice(promotion, promotion->ended));
}

void pagoda_vidmm_print_promotion(struct pagoda_vidmm *vidmm, struct drm_printer *p)
{
	struct pagoda_promotion *promotion = vidmm->promotion;
	struct pagoda_traffic_state state;

	pagoda_traffic_look(&promotion->traffic, ktime_get_ns(), &state);
	drm_printf(p, "waiting: %u allocations, %llu bytes\n",
		   READ_ONCE(promotion->count), READ_ONCE(promotion->bytes));
	drm_printf(p, "promoted: %lld allocations, %lld bytes\n",
		   atomic64_read(&promotion->promotions), atomic64_read(&promotion->promoted));
	drm_printf(p, "bandwidth: %lld bytes/s, share %u %%\n",
		   atomic64_read(&vidmm->bandwidth->rate), promotion->traffic.share);
	drm_printf(p, "tokens: %lld of %lld, %llu bytes/s, spent %llu, refused %llu\n",
		   state.tokens, state.burst, state.rate, state.spent, state.refused);
}
