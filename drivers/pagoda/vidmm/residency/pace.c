// SPDX-License-Identifier: GPL-2.0
/*
 * Pace: limits how many bytes of other allocations leave VRAM for the allocations of submissions.
 *
 * Each client has a token bucket (traffic.c) that holds as many tokens as VRAM has bytes without
 * the reserve: a client that comes to the foreground may get all of VRAM at once. A percentage of
 * the paging bandwidth fills the bucket.
 *
 *	limited		an allocation that prefers VRAM, could be used elsewhere, and is on no
 *			residency list. Without a token no other allocation leaves VRAM for it: it
 *			takes free room, or is used where it is or in the next preferred segment
 *	not limited	an allocation that can be used in VRAM only, prefers the aperture, or that a
 *			client asked to be resident: it is on a residency list, and has to be where
 *			it was promised to be (C152). It costs no token either: there is no choice,
 *			and its cost would keep the client's limited allocations out
 *	cost		a token for each byte that left VRAM for a limited allocation, but for
 *			offered bytes, whether or not the allocation fitted in the end. Where TTM
 *			chooses the victims, a token for each byte of the allocation that came in
 *			their place
 *
 * An allocation that was left out comes later: by promotion (promote.c) if room gets free, or with
 * a submission that finds tokens. Each submission looks at the allocations it lists anyway; the
 * VM remembers private allocations, and submissions try as many of these again as there are tokens.
 *
 * If the other segments have no room, VRAM is used without a token, because any place is better
 * than none.
 */
#include <linux/ktime.h>
#include <drm/drm_device.h>
#include "core/core.h"
#include "core/trace.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/traffic.h"
#include "vidmm/vm/vm.h"
#include "residency.h"

/*
 * Returns whether other allocations leave VRAM for @bo only if the client has tokens, or if @bo
 * finds no room elsewhere: @bo prefers VRAM, isn't in VRAM, can be used elsewhere, isn't pinned,
 * and is on no residency list.
 */
static bool pace_limits(const struct pagoda_bo *bo)
{
	return bo->preferred[0] == DRM_PAGODA_SEGMENT_VRAM && bo->preferred[1] &&
	       !bo->ttm.pin_count && !pagoda_require_clients(bo) && !pagoda_bo_is_in_vram(bo);
}

/*
 * Brings an allocation to free room in VRAM. Without free room, evicts other allocations and takes
 * tokens for these from the client, which may have none left afterwards; if nothing can be evicted,
 * brings the allocation to the next preferred segment. Returns 0 or a negative errno.
 */
static int pace_bring(struct pagoda_pace *pace, struct pagoda_bo *bo,
		      struct pagoda_operation *op)
{
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_free, op);
	u64 cost;

	if (ret != -ENOMEM)
		return ret;
	ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, op);
	cost = op->evicted;
	if (!bo->vidmm->victims->asked && !ret && pagoda_bo_is_in_vram(bo))
		cost = bo->ttm.base.size;
	pagoda_traffic_spend(&pace->client->pace.traffic, cost);
	return ret;
}

static int pace_leave_out(struct pagoda_pace *pace, struct pagoda_bo *bo,
			  struct pagoda_operation *op)
{
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_modest, op);

	if (ret == -ENOMEM)
		return pace_bring(pace, bo, op);
	if (!ret && !pagoda_bo_is_in_vram(bo))
		pace->left += bo->ttm.base.size;
	return ret;
}

/**
 * pagoda_pace_place() - Bring an allocation to where the GPU can use it, for a submission
 * @pace: Pace of the submission
 * @bo: Allocation, reservation held
 * @op: Operation that the move is a part of
 *
 * If the pace limits @bo and the client has no token, @bo gets only free room in VRAM, or a place
 * elsewhere, which adds its size to &pagoda_pace.left; other allocations leave VRAM for @bo only if
 * there is no room elsewhere either.
 *
 * Context: May sleep and allocate.
 * Return: As pagoda_bo_place().
 */
int pagoda_pace_place(struct pagoda_pace *pace, struct pagoda_bo *bo,
		      struct pagoda_operation *op)
{
	if (!pace_limits(bo))
		return pagoda_bo_place(bo, pagoda_bo_placement_resident, op);
	if (pagoda_traffic_wait(&pace->client->pace.traffic, ktime_get_ns()))
		return pace_leave_out(pace, bo, op);
	return pace_bring(pace, bo, op);
}

/**
 * pagoda_pace_ahead() - Bring an allocation to VRAM before a queued job needs it there
 * @client: Client that has queued the job
 * @bo: Allocation that prefers VRAM and isn't in VRAM, as for pagoda_bo_place_ahead()
 * @when: The job, as for that function
 * @op: Operation that the move is a part of, as for that function
 *
 * Without free room other allocations leave VRAM, as pagoda_bo_place_ahead() says; if the pace
 * limits @bo, only if the client has a token, which takes tokens as for the job itself. @bo is
 * brought nowhere else.
 *
 * Context: May sleep and allocate.
 * Return: 0; -ENOMEM without room; or another result of pagoda_bo_place().
 */
int pagoda_pace_ahead(struct pagoda_client *client, struct pagoda_bo *bo, u64 when,
		      struct pagoda_operation *op)
{
	bool limited = pace_limits(bo);
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_free, op);

	if (ret != -ENOMEM ||
	    (limited && pagoda_traffic_wait(&client->pace.traffic, ktime_get_ns())))
		return ret;
	ret = pagoda_bo_place_ahead(bo, when, op);
	if (limited)
		pagoda_traffic_spend(&client->pace.traffic, op->evicted);
	return ret;
}

/**
 * pagoda_pace_again() - Have a submission try again what earlier submissions left out of VRAM
 * @vm: VM, its reservation held
 *
 * Moves private allocations from &pagoda_vm.left_out to &pagoda_vm.evicted, until they have as many
 * bytes as the client has tokens, all if there is no limit. Takes no tokens.
 *
 * Context: Any but interrupts.
 */
void pagoda_pace_again(struct pagoda_vm *vm)
{
	struct pagoda_traffic_state state;
	struct pagoda_bo *bo, *next;
	s64 left;

	if (list_empty(&vm->left_out))
		return;
	pagoda_traffic_look(&vm->client->pace.traffic, ktime_get_ns(), &state);
	left = state.rate ? state.tokens : S64_MAX;
	list_for_each_entry_safe(bo, next, &vm->left_out, vm.evicted) {
		if (left <= 0)
			break;
		left -= bo->ttm.base.size;
		bo->vm.left_out = false;
		list_move_tail(&bo->vm.evicted, &vm->evicted);
	}
}

/*
 * Empties &pagoda_vm.evicted. Allocations that stayed out of VRAM for want of tokens go to
 * &pagoda_vm.left_out.
 */
static void pace_remember(struct pagoda_pace *pace, struct pagoda_vm *vm)
{
	struct pagoda_bo *bo, *next;

	list_for_each_entry_safe(bo, next, &vm->evicted, vm.evicted) {
		bo->vm.left_out = pace->left && pace_limits(bo);
		if (bo->vm.left_out)
			list_move_tail(&bo->vm.evicted, &vm->left_out);
		else
			list_del_init(&bo->vm.evicted);
	}
}

/**
 * pagoda_pace_settle() - Finish placing the allocations that a submission uses
 * @pace: Pace of the submission
 * @vm: VM of the submission, its reservation held
 * @context: Number of the submission's context, for the trace
 *
 * Empties &pagoda_vm.evicted: its allocations are in no list afterwards, or in &pagoda_vm.left_out
 * if they stayed out of VRAM for want of tokens. If any bytes stayed out so, counts them and the
 * submission, for statistics.
 *
 * Context: Any but interrupts.
 */
void pagoda_pace_settle(struct pagoda_pace *pace, struct pagoda_vm *vm, u64 context)
{
	struct pagoda_client_pace *client = &pace->client->pace;

	pace_remember(pace, vm);
	if (!pace->left)
		return;
	atomic64_inc(&client->held);
	atomic64_add(pace->left, &client->left);
	trace_pagoda_left_out(dev_name(vm->vidmm->drm->dev), context, pace->left);
}

/**
 * pagoda_client_stats() - Report tokens, and what submissions of a client left out of VRAM
 * @client: Client
 * @stats: The members submit_* are filled, others aren't changed
 *
 * Context: Takes a spinlock; not in interrupts.
 */
void pagoda_client_stats(struct pagoda_client *client, struct drm_pagoda_stats *stats)
{
	struct pagoda_client_pace *pace = &client->pace;
	struct pagoda_traffic_state state;

	pagoda_traffic_look(&pace->traffic, ktime_get_ns(), &state);
	stats->submit_tokens = state.tokens;
	stats->submit_rate = state.rate;
	stats->submit_spent = state.spent;
	stats->submit_held = atomic64_read(&pace->held);
	stats->submit_left = atomic64_read(&pace->left);
}
