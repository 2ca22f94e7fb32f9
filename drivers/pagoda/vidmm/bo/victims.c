// SPDX-License-Identifier: GPL-2.0
/*
 * Victims in VRAM: the policy chooses them before TTM takes the least recently used. Victims leave
 * VRAM to make room for an allocation, because a user asks for that (debugfs `trim`), or because
 * the maximum of a cgroup was lowered.
 *
 * The policy (ledger/policy.c) knows neither locks nor allocations. This file asks the policy for
 * victims and evicts them. ledger/candidates.c tells the policy of events:
 *
 *	an allocation came to VRAM or left VRAM		pagoda_victims_moved()
 *	a submission lists allocations			pagoda_victims_used()
 *	a call needs allocations at the same time	pagoda_victims_keep()
 *	a priority or an offer changed			pagoda_victims_changed()
 *	a queued job will use allocations		pagoda_victims_expect()
 *
 * A job uses every bound allocation that is private to its VM, without listing it. If the policy
 * were told of each of these, a submission would cost more the more of them there are. Instead the
 * VM notes the policy's clock at its last job, and the policy is told of that use when the policy
 * chooses such an allocation as a victim.
 *
 * A victim whose reservation another thread holds is passed over, together with all allocations
 * that share the reservation because they are private to the same VM. When no other victim is left,
 * an operation that has locked its reservations with a ww ticket waits for the first victim passed
 * over. Two operations may each hold what the other needs: the younger of them finds its struct
 * drm_exec contended, unlocks all its reservations and begins anew, behind the older. TTM comes
 * last, with an order of its own: TTM also evicts page tables and save areas, which the policy
 * isn't told of because their VM decides when they may leave.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_exec.h>
#include <drm/ttm/ttm_bo.h>
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "core/trace.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/stream/stream.h"
#include "bo.h"
#include "internal.h"

/*
 * Most private allocations that a search for one victim passes over because jobs of their VM used
 * the allocations after the last use that the policy was told of. Without passing over, allocations
 * of a VM in use would leave before those of an idle VM. There is a limit, because allocations of
 * the same VM are equally good victims.
 */
#define LATE_MAX	64

/*
 * Number of allocations that pagoda_victims_spare() may make candidates of other clients before a
 * search for a victim lets other threads take pagoda_victims.lock. After a client gets over its
 * budget, that function may do so once to each allocation that the client shares.
 */
#define SPARED_AT_ONCE	64

/*
 * VICTIMS_WAIT_MS: milliseconds that an allocation's waits for other operations may take together,
 * beyond the time limits of two jobs: another operation may be waiting for the two jobs that have a
 * place of an engine.
 * VICTIMS_LOOK_US: microseconds of the first wait for an operation that is looking at victims, or
 * evicting them; where the CPU changes page tables (CPU_VIRTUAL), an eviction waits for jobs. Each
 * further wait is twice as long, up to VICTIMS_LOOK_MOST_US.
 */
#define VICTIMS_WAIT_MS		1000
#define VICTIMS_LOOK_US		100u
#define VICTIMS_LOOK_MOST_US	5000u

static void victims_search_init(struct pagoda_victims_search *search)
{
	INIT_LIST_HEAD(&search->tried);
	INIT_LIST_HEAD(&search->held);
	search->aside.count = 0;
	search->aside.only_offered = false;
}

/*
 * Returns whether jobs of the VM that @bo is private to, which don't list @bo, used it after the
 * last use that the policy was told of; false if @bo is offered. If so, tells the policy of that
 * use. If such jobs may have written to @bo, @bo doesn't count as clean any more (written.c).
 */
static bool victims_is_late(struct pagoda_victims *victims, struct pagoda_bo *bo)
{
	const struct pagoda_vm_uses *uses = bo->vm.uses;

	lockdep_assert_held(&victims->lock);
	pagoda_copy_settle(bo);
	if (!uses || pagoda_bo_is_offered(bo) || (s64)(uses->used_at - bo->choice.item.last) <= 0)
		return false;
	pagoda_policy_use_late(&victims->policy, &bo->choice.item, uses->used_at);
	return true;
}

static struct pagoda_bo *victims_pick(struct pagoda_victims *victims,
				      enum pagoda_policy_need need,
				      const struct pagoda_policy_aside *aside)
{
	struct pagoda_policy_item *item;
	struct pagoda_bo *bo = NULL;
	u32 late = 0, spared = 0;

	pagoda_victims_look_at_budgets(victims);
	for (;;) {
		item = pagoda_policy_pick(&victims->policy, need, aside);
		if (!item)
			return NULL;
		bo = container_of(item, struct pagoda_bo, choice.item);
		if (pagoda_victims_spare(victims, bo)) {
			if (!(++spared % SPARED_AT_ONCE))
				cond_resched_lock(&victims->lock);
			continue;
		}
		if (late++ >= LATE_MAX || !victims_is_late(victims, bo))
			return bo;
	}
}

/*
 * Returns the policy's next victim for room at @place, with a reference, and adds it to
 * &pagoda_victims_search.tried; NULL if none is left, or if as many VMs were set aside as can be.
 * Skips allocations without references, and those in the lists of another search, which makes them
 * candidates again at its end.
 */
struct pagoda_bo *pagoda_victims_next(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
				      struct pagoda_victims_search *search)
{
	bool visible = place->lpfn && place->lpfn < vidmm->info->vram_size >> PAGE_SHIFT;
	enum pagoda_policy_need need = visible ? PAGODA_POLICY_NEED_VISIBLE :
						 PAGODA_POLICY_NEED_ANY;
	struct pagoda_victims *victims = vidmm->victims;
	struct pagoda_bo *bo;

	if (search->aside.count == PAGODA_POLICY_ASIDE)
		return NULL;
	spin_lock(&victims->lock);
	do {
		bo = victims_pick(victims, need, &search->aside);
	} while (bo &&
		 (!list_empty(&bo->choice.tried) || !kref_get_unless_zero(&bo->ttm.base.refcount)));
	if (bo) {
		list_add_tail(&bo->choice.tried, &search->tried);
		WRITE_ONCE(victims->nr_tried, victims->nr_tried + 1);
	}
	spin_unlock(&victims->lock);
	return bo;
}

/*
 * Notes that the search passes over a victim whose reservation pagoda_victims_lock() couldn't lock:
 * another thread holds the reservation, or it is @mine and the victims may not share it. If a VM's
 * private allocations have the reservation, the search passes over all of them; others find them.
 */
void pagoda_victims_pass_over(struct pagoda_bo *bo, const struct dma_resv *mine,
			      struct pagoda_victims_search *search)
{
	struct pagoda_policy_aside *aside = &search->aside;

	if (bo->ttm.base.resv != mine)
		list_move_tail(&bo->choice.tried, &search->held);
	if (bo->vm.uses && aside->count < PAGODA_POLICY_ASIDE)
		aside->groups[aside->count++] = &bo->vm.uses->group;
}

/*
 * Ends a search: makes victims that are still in VRAM candidates of the policy again, and drops the
 * references that pagoda_victims_next() took.
 */
static void victims_put_back(struct pagoda_victims *victims, struct pagoda_victims_search *search)
{
	struct pagoda_bo *bo, *next;

	search->aside.count = 0;
	list_splice_tail_init(&search->held, &search->tried);
	list_for_each_entry_safe_reverse(bo, next, &search->tried, choice.tried) {
		spin_lock(&victims->lock);
		list_del_init(&bo->choice.tried);
		WRITE_ONCE(victims->nr_tried, victims->nr_tried - 1);
		pagoda_victims_enter(victims, bo);
		spin_unlock(&victims->lock);
		drm_gem_object_put(&bo->ttm.base);
	}
}

/*
 * Tries to lock a victim's reservation, without waiting; returns whether the victim may be evicted
 * now. @mine is the held reservation of the allocation that needs room; NULL if none does. If the
 * victim's reservation is @mine, locks nothing, and @ctx says whether the victim may be evicted.
 */
bool pagoda_victims_lock(struct pagoda_bo *bo, const struct dma_resv *mine,
			 const struct ttm_operation_ctx *ctx)
{
	if (bo->ttm.base.resv == mine)
		return ctx->allow_res_evict && ctx->resv == mine;
	return dma_resv_trylock(bo->ttm.base.resv);
}

void pagoda_victims_unlock(struct pagoda_bo *bo, const struct dma_resv *mine)
{
	if (bo->ttm.base.resv != mine)
		dma_resv_unlock(bo->ttm.base.resv);
}

/*
 * Evicts a victim, whose reservation is held, from VRAM and returns whether that succeeded. Adds
 * the victim's size to @op->evicted, unless the victim is offered: offered content is discarded.
 * Refuses allocations that have left VRAM, are pinned, or that @claim or ttm_eviction_valuable()
 * rules out, the latter for instance because work without a place of an engine uses them; and
 * those whose content isn't needed (&pagoda_bo.content.discardable): TTM discards such content
 * instead of moving it.
 */
static bool victims_evict(struct pagoda_bo *bo, const struct ttm_place *place,
			  struct pagoda_operation *op, struct pagoda_dmem_claim *claim)
{
	struct ttm_operation_ctx mine = {
		.interruptible = op->ttm.interruptible,
		.no_wait_gpu = op->ttm.no_wait_gpu,
	};
	bool offered = pagoda_bo_is_offered(bo);
	int ret;

	if (!pagoda_bo_is_in_vram(bo) || bo->content.discardable || bo->ttm.pin_count ||
	    !pagoda_dmem_may_take(claim, bo) ||
	    !bo->ttm.bdev->funcs->eviction_valuable(&bo->ttm, place))
		return false;
	ret = pagoda_bo_evict(bo, &mine);
	if (!ret && !offered)
		op->evicted += bo->ttm.base.size;
	claim->taken |= !ret;
	claim->interrupted |= ret == -ERESTARTSYS || ret == -EINTR;
	return !ret;
}

/*
 * Evicts a victim although no allocation needs the room: because a cgroup's maximum was lowered, or
 * for debugfs `trim`. Returns whether that succeeded; if so, sets &pagoda_bo.wish.trimmed, so that
 * promotion doesn't bring the victim back.
 */
static bool victims_trim(struct pagoda_bo *bo, const struct ttm_place *place,
			 struct pagoda_operation *op, struct pagoda_dmem_claim *claim)
{
	bool trimmed = bo->wish.trimmed;

	bo->wish.trimmed = true;
	if (victims_evict(bo, place, op, claim))
		return true;
	bo->wish.trimmed = trimmed;
	return false;
}

/*
 * Evicts the policy's next victim that can be evicted. Returns that victim, to which @search has a
 * reference; NULL if no victim can be evicted or after a signal. @mine is the held reservation of
 * the allocation that needs room; NULL if no allocation does, see victims_trim().
 */
static struct pagoda_bo *victims_take(struct pagoda_vidmm *vidmm, const struct dma_resv *mine,
				      const struct ttm_place *place,
				      struct pagoda_operation *op,
				      struct pagoda_dmem_claim *claim,
				      struct pagoda_victims_search *search)
{
	struct pagoda_bo *bo = NULL;
	bool done = false;

	while (!done && !claim->interrupted && (bo = pagoda_victims_next(vidmm, place, search))) {
		if (!pagoda_victims_lock(bo, mine, &op->ttm)) {
			pagoda_victims_pass_over(bo, mine, search);
			continue;
		}
		done = mine ? victims_evict(bo, place, op, claim) :
			      victims_trim(bo, place, op, claim);
		pagoda_victims_unlock(bo, mine);
	}
	return done ? bo : NULL;
}

/*
 * Waits for the operation that holds the reservation of @bo, then evicts @bo if that is possible.
 * Returns true, evicted or not; false if a signal ended the wait, memory is missing, or @op->exec
 * is contended.
 */
static bool victims_take_held(struct pagoda_bo *bo, const struct ttm_place *place,
			      struct pagoda_operation *op, struct pagoda_dmem_claim *claim)
{
	int ret;

	trace_pagoda_wait(dev_name(bo->vidmm->drm->dev), 0, 0, bo->id);
	ret = drm_exec_lock_obj(op->exec, &bo->ttm.base);
	claim->interrupted |= ret == -ERESTARTSYS || ret == -EINTR;
	if (ret)
		return false;
	if (pagoda_bo_is_in_vram(bo))
		victims_evict(bo, place, op, claim);
	drm_exec_unlock_obj(op->exec, &bo->ttm.base);
	return true;
}

/*
 * For an allocation that an operation keeps from being evicted: returns true, with a reference to
 * @bo, if @bo is in VRAM and that operation isn't @op; else false.
 */
static bool victims_is_of_others(struct pagoda_bo *bo, const struct pagoda_operation *op)
{
	return bo->choice.in_vram &&
	       dma_resv_locking_ctx(bo->ttm.base.resv) != &op->exec->ticket &&
	       kref_get_unless_zero(&bo->ttm.base.refcount);
}

/*
 * Returns an allocation in VRAM, with a reference, that another operation needs itself; NULL if
 * there is none. Such an allocation is no candidate of the policy until that operation ends.
 * Allocations that are looked at in vain go to the end of @victims->kept, so that the next call
 * finds those of other operations at once.
 */
static struct pagoda_bo *victims_of_others(struct pagoda_victims *victims,
					   const struct pagoda_operation *op)
{
	struct pagoda_bo *bo, *found = NULL;
	u32 left;

	spin_lock(&victims->lock);
	for (left = victims->nr_kept; left && !list_empty(&victims->kept); left--) {
		bo = list_first_entry(&victims->kept, struct pagoda_bo, choice.kept);
		if (victims_is_of_others(bo, op)) {
			found = bo;
			break;
		}
		list_move_tail(&bo->choice.kept, &victims->kept);
		if (left % PAGODA_WALK_SLICE)
			continue;
		spin_unlock(&victims->lock);
		pagoda_walk_pause();
		spin_lock(&victims->lock);
	}
	spin_unlock(&victims->lock);
	return found;
}

/*
 * Returns whether the allocation that @placing brings to its place has waited for other operations,
 * in all waits together, as long as it may.
 */
static bool victims_has_waited(struct pagoda_vidmm *vidmm, const struct pagoda_placing *placing)
{
	u64 most_ms = VICTIMS_WAIT_MS + 2ull * vidmm->job_timeout_ms;

	return placing->waited_ns >= most_ms * NSEC_PER_MSEC;
}

/*
 * Waits a moment for an operation that is looking at victims, or evicting them. Returns true, even
 * if that operation goes on; false after a signal, if the caller's operation is interruptible.
 */
static bool victims_wait_for_search(struct pagoda_placing *placing, struct pagoda_dmem_claim *claim)
{
	placing->look_us = clamp(2 * placing->look_us, VICTIMS_LOOK_US, VICTIMS_LOOK_MOST_US);
	fsleep(placing->look_us);
	claim->interrupted |= placing->op->ttm.interruptible && signal_pending(current);
	return !claim->interrupted;
}

/*
 * After @search has found no victim, waits for another operation: that holds a victim's
 * reservation, or that needs what it has in VRAM itself, or that is just looking at victims. Ends
 * the search first, so that other operations find its victims during the wait. Returns true after a
 * wait; false if there is no such operation, @placing->op has no struct drm_exec or a contended
 * one, if victims_has_waited(), after a signal, or without memory.
 */
static bool victims_wait(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
			 struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			 struct pagoda_victims_search *search)
{
	struct pagoda_victims *victims = vidmm->victims;
	struct pagoda_operation *op = placing->op;
	u64 start = ktime_get_ns();
	struct pagoda_bo *bo;
	bool done;

	if (!op->exec || claim->interrupted || drm_exec_is_contended(op->exec) ||
	    victims_has_waited(vidmm, placing))
		return false;
	bo = list_first_entry_or_null(&search->held, struct pagoda_bo, choice.tried);
	if (bo)
		drm_gem_object_get(&bo->ttm.base);
	else
		bo = victims_of_others(victims, op);
	victims_put_back(victims, search);
	if (!bo && !READ_ONCE(victims->nr_tried))
		return false;
	if (bo) {
		done = victims_take_held(bo, place, op, claim);
		drm_gem_object_put(&bo->ttm.base);
	} else {
		done = victims_wait_for_search(placing, claim);
	}
	placing->waited_ns += ktime_get_ns() - start;
	return done;
}

/*
 * Evicts the policy's next victim or, if none is left, waits for another operation that holds
 * victims or keeps its allocations in VRAM; a pagoda_take_fn. Doesn't wait if TTM chooses the
 * victims that aren't offered. Returns false if nothing could be evicted, and there was no
 * operation to wait for, no wait was allowed, or the wait failed.
 */
bool pagoda_victims_take_next(struct pagoda_bo *want, const struct ttm_place *place,
			      struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			      struct pagoda_victims_search *search)
{
	if (victims_take(want->vidmm, want->ttm.base.resv, place, placing->op, claim, search))
		return true;
	return !search->aside.only_offered &&
	       victims_wait(want->vidmm, place, placing, claim, search);
}

/*
 * Evicts a victim for @want, if its reservation can be locked at once. Returns whether the victim
 * is out of VRAM.
 */
bool pagoda_victims_take(struct pagoda_bo *want, struct pagoda_bo *victim,
			 const struct ttm_place *place, struct pagoda_operation *op,
			 struct pagoda_dmem_claim *claim)
{
	const struct dma_resv *mine = want->ttm.base.resv;
	bool done;

	if (claim->interrupted || !pagoda_victims_lock(victim, mine, &op->ttm))
		return false;
	done = !pagoda_bo_is_in_vram(victim) || victims_evict(victim, place, op, claim);
	pagoda_victims_unlock(victim, mine);
	return done;
}

static bool victims_comes_later(const struct pagoda_victims *victims, const struct pagoda_bo *bo,
				u64 when)
{
	lockdep_assert_held(&victims->lock);
	return pagoda_policy_is_later(&victims->policy, &bo->choice.item, when);
}

/*
 * Returns whether a victim that the policy picked may leave VRAM for an allocation that comes ahead
 * of the queued job @when: an idle allocation whose next use comes after that job. Jobs may use
 * allocations that they don't list if these are private or on a residency list: such allocations
 * stay.
 */
static bool victims_is_spare(struct pagoda_bo *bo, u64 when)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	bool later;

	if (bo->vm.uses || atomic_read(&bo->wish.required) ||
	    pagoda_stream_is_awaited(bo->vidmm, bo->ttm.base.resv))
		return false;
	spin_lock(&victims->lock);
	later = victims_comes_later(victims, bo, when);
	spin_unlock(&victims->lock);
	return later;
}

/*
 * Adds victims to @search->tried, in the policy's order, until @want fits if all of them leave that
 * aren't pinned. Returns false if the next one isn't spare, or none is left; or if there is enough
 * free room, but other operations claim it.
 */
static bool victims_find_later(struct pagoda_bo *want, const struct ttm_place *place, u64 when,
			       struct pagoda_victims_search *search)
{
	u64 room = READ_ONCE(want->vidmm->vram_free);
	struct pagoda_bo *bo;

	if (room >= want->ttm.base.size)
		return false;
	while (room < want->ttm.base.size) {
		bo = pagoda_victims_next(want->vidmm, place, search);
		if (!bo)
			return false;
		if (READ_ONCE(bo->ttm.pin_count))
			continue;
		if (!victims_is_spare(bo, when))
			return false;
		room += bo->ttm.base.size;
	}
	return true;
}

/*
 * Evicts a victim of victims_find_later(), unless it is pinned or has left VRAM. Returns false if
 * it can't be evicted, or its reservation can't be locked, at once, or a job has begun to use it.
 */
static bool victims_evict_later(struct pagoda_bo *bo, const struct dma_resv *mine,
				const struct ttm_place *place, struct pagoda_placing *placing,
				struct pagoda_dmem_claim *claim)
{
	bool done;

	if (!pagoda_victims_lock(bo, mine, &placing->op->ttm))
		return false;
	done = !pagoda_bo_is_in_vram(bo) || bo->ttm.pin_count ||
	       (victims_is_spare(bo, placing->when) &&
		victims_evict(bo, place, placing->op, claim));
	pagoda_victims_unlock(bo, mine);
	return done;
}

/*
 * Evicts the policy's next victims, as many as @want needs, or none if one of them isn't spare; a
 * pagoda_take_fn. Waits for nothing, nor does the stream.
 */
bool pagoda_victims_take_later(struct pagoda_bo *want, const struct ttm_place *place,
			       struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			       struct pagoda_victims_search *search)
{
	struct pagoda_bo *bo;

	if (!victims_find_later(want, place, placing->when, search))
		return false;
	list_for_each_entry(bo, &search->tried, choice.tried)
		if (!victims_evict_later(bo, want->ttm.base.resv, place, placing, claim))
			return false;
	return true;
}

/*
 * Brings an allocation to VRAM, to room that the policy's victims make by leaving VRAM; @take
 * evicts them. May wait for other operations; seldom waits for the device (move.c). Returns what
 * pagoda_bo_place_taking() returns. If &pagoda_victims.asked isn't set, @take evicts only offered
 * allocations: to evict others, the caller calls TTM afterwards. The caller holds the reservation.
 */
int pagoda_victims_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
			 struct pagoda_placing *placing, pagoda_take_fn take,
			 struct pagoda_dmem_claim *claim)
{
	struct pagoda_victims_search search;
	int ret;

	victims_search_init(&search);
	search.aside.only_offered = !bo->vidmm->victims->asked;
	ret = pagoda_bo_place_taking(bo, placement, placing, take, claim, &search);
	victims_put_back(bo->vidmm->victims, &search);
	return ret;
}

static u64 victims_trim_pass(struct pagoda_vidmm *vidmm, u64 bytes,
			     struct pagoda_dmem_claim *claim)
{
	const struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	struct pagoda_operation op = { .ttm.interruptible = true };
	struct pagoda_victims *victims = vidmm->victims;
	struct pagoda_victims_search search;
	struct pagoda_bo *bo;
	u64 done = 0;

	victims_search_init(&search);
	while (done < bytes && !signal_pending(current)) {
		bo = victims_take(vidmm, NULL, &place, &op, claim, &search);
		if (!bo)
			break;
		done += bo->ttm.base.size;
		atomic64_add(bo->ttm.base.size, &victims->trimmed);
	}
	victims_put_back(victims, &search);
	return done;
}

/*
 * Evicts victims that @claim allows until at least @bytes have left VRAM, no victim is left, or a
 * signal is pending; returns the number of bytes that left. The policy chooses the victims even if
 * &pagoda_victims.asked isn't set; memory that dmem.low protects comes last. Called in a
 * pagoda_enter() section; locks one reservation at a time and seldom waits for the device (move.c).
 */
u64 pagoda_victims_trim(struct pagoda_vidmm *vidmm, u64 bytes, struct pagoda_dmem_claim *claim)
{
	u64 done = 0;

	pagoda_assert_entered(vidmm);
	do {
		done += victims_trim_pass(vidmm, bytes - done, claim);
	} while (done < bytes && !signal_pending(current) && pagoda_dmem_claim_again(claim));
	return done;
}

/**
 * pagoda_vidmm_trim() - Evict allocations as if the caller needed their VRAM, for debugfs `trim`
 * @vidmm: The manager
 * @bytes: Number of bytes that leave VRAM at least; fewer if no victim is left or after a signal
 *
 * A victim stays out of VRAM until it is used or made resident.
 *
 * Context: Outside of pagoda_enter() sections; no reservation is held. May sleep and allocate;
 * seldom waits for the device (move.c).
 * Return: 0; -EINTR or -ERESTARTSYS after a signal, but victims evicted before the signal stay out;
 * -ENODEV if the device is gone.
 */
int pagoda_vidmm_trim(struct pagoda_vidmm *vidmm, u64 bytes)
{
	struct pagoda_dmem_claim claim = {};
	int ret = pagoda_enter(vidmm);
	u64 done;

	if (ret)
		return ret;
	pagoda_dmem_claim_look(&claim, ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM), 0);
	done = pagoda_victims_trim(vidmm, bytes, &claim);
	pagoda_dmem_claim_end(&claim);
	pagoda_leave(vidmm);
	return done < bytes && signal_pending(current) ? -EINTR : 0;
}

u64 pagoda_vidmm_trimmed(struct pagoda_vidmm *vidmm)
{
	return atomic64_read(&vidmm->victims->trimmed);
}
