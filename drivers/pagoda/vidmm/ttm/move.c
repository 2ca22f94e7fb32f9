// SPDX-License-Identifier: GPL-2.0
/*
 * Moves: TTM's decisions as paging operations.
 *
 * One table holds the steps of a move from one place to another. The steps (move_steps.c) run twice
 * through the same code: the first run adds up their costs, so that all memory is allocated before
 * the first operation is encoded, and the second run emits the operations. No move copies by the
 * CPU, except in a benchmark, or if the CPU executor executes the paging buffer. An eviction, or a
 * move with PAGODA_PL_PIPELINED, doesn't wait for the device, unless content was lost, the builder
 * answers that the allocation is busy, or, in CPU_VIRTUAL mode, valid mappings are invalidated or
 * NOTIFY_ALLOC is emitted; any other move first waits for jobs that use the allocation.
 *
 * If a move fails before pagoda_stream_begin() has succeeded, no step is emitted, except
 * NOTIFY_ALLOC in CPU_VIRTUAL mode. After pagoda_stream_begin() a move fails only if an operation
 * can't be emitted; pagoda_move_undo() then undoes the operations before.
 *
 * TTM calls pagoda_move() with the allocation's reservation held.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include "core/core.h"
#include "core/life.h"
#include "core/trace.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

/* Short names of PAGODA_STEP_* for move_table. */
#define POPULATE	PAGODA_STEP_POPULATE
#define NOTIFY		PAGODA_STEP_NOTIFY
#define MAP		PAGODA_STEP_MAP
#define FILL		PAGODA_STEP_FILL
#define TRANSFER	PAGODA_STEP_TRANSFER
#define FLUSH		PAGODA_STEP_FLUSH
#define UNMAP		PAGODA_STEP_UNMAP
#define NEVER		PAGODA_STEP_NEVER
#define DISCARD		PAGODA_STEP_DISCARD

/*
 * The steps of each move. Rows: place that the allocation is in. Columns: place that TTM wants;
 * moves to the two system places have equal steps. 0: no step; notices may be emitted all the same.
 *
 * Before a move to the aperture, but not to the system segment, TTM has populated the tt. A move
 * within VRAM happens when, for example, the CPU needs the allocation in the visible part of VRAM.
 */
static const u8 move_table[PAGODA_PLACE_COUNT][PAGODA_PLACE_COUNT] = {
#define ROW(from, system, aperture, bound, vram) \
	[PAGODA_PLACE_##from] = { \
		[PAGODA_PLACE_NONE] = NEVER, \
		[PAGODA_PLACE_SYSTEM_EMPTY] = (system), \
		[PAGODA_PLACE_SYSTEM] = (system), \
		[PAGODA_PLACE_APERTURE] = (aperture), \
		[PAGODA_PLACE_APERTURE_BOUND] = (bound), \
		[PAGODA_PLACE_VRAM] = (vram), \
	}
	/* from / to:       system          aperture        bound        vram */
	ROW(NONE,           0,              0,              MAP,         FILL),
	ROW(SYSTEM_EMPTY,   0,              0,              MAP,         FILL),
	ROW(SYSTEM,         0,              0,              MAP,         POPULATE | TRANSFER),
	ROW(APERTURE,       NOTIFY,         0,              MAP,         TRANSFER),
	ROW(APERTURE_BOUND, NOTIFY | UNMAP, NOTIFY | UNMAP, MAP | UNMAP, TRANSFER | UNMAP),
	ROW(VRAM, POPULATE | TRANSFER | FLUSH, TRANSFER | FLUSH, MAP | TRANSFER | FLUSH,
	    TRANSFER),
#undef ROW
};

/* Returns the steps of a move from one place to another, as PAGODA_STEP_* bits. */
u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to)
{
	return move_table[from][to];
}

/*
 * Returns the usage of the fences in the reservation that signal before the first operation of a
 * move is executed. victim_usage() of ttm.c returns that for an eviction that is only considered.
 *
 * DMA_RESV_USAGE_BOOKKEEP, all uses, so that the allocation is idle, if one of its mappings is
 * valid, or if it has its own reservation and is copied, filled (C42), discarded or unmapped; else
 * DMA_RESV_USAGE_KERNEL, paging only. No job can reach a private allocation without valid mapping,
 * because the invalidation of the mappings waited for jobs: the fences of all of the VM's jobs,
 * which share the reservation, aren't waited for then.
 */
static enum dma_resv_usage move_usage(const struct pagoda_move *m)
{
	bool own = m->bo->ttm.base.resv == &m->bo->ttm.base._resv;

	if (pagoda_vm_bo_is_shown(m->bo))
		return DMA_RESV_USAGE_BOOKKEEP;
	return own && m->steps & (TRANSFER | FILL | UNMAP | DISCARD) ? DMA_RESV_USAGE_BOOKKEEP :
								       DMA_RESV_USAGE_KERNEL;
}

/*
 * Begins the transaction, during which a rebuild can't restart the stream. If a rebuild restarted
 * the stream just before, the device has forgotten MAP_MMU of the allocation's pages: emits MAP_MMU
 * again before the transaction. Returns 0; or -ENOMEM, and no transaction is open.
 */
static int move_begin(struct pagoda_move *m, struct pagoda_stream_txn *txn)
{
	enum pagoda_stream_waits waits = m->pipelined ? PAGODA_STREAM_WAITS_FOR_VICTIM :
							PAGODA_STREAM_WAITS_NOT;
	struct dma_resv *resv = m->bo->ttm.base.resv;
	struct ttm_tt *tt = m->bo->ttm.ttm;
	int ret;

	do {
		ret = pagoda_stream_begin(txn, m->vidmm, m->bo, waits, resv, m->usage, &m->cost);
		if (ret || !pagoda_device_mmu_is_stale(m->vidmm, tt))
			return ret;
		dma_fence_put(pagoda_stream_end(txn));
		ret = pagoda_device_mmu_repair(m->vidmm, tt);
	} while (!ret);
	return ret;
}

/*
 * Adds up the costs of the steps, then emits the operations. Sets *@fence to the last operation's
 * fence, or to NULL if there was nothing to emit.
 *
 * When an operation can't be emitted, pagoda_move_undo() undoes those before it, and this function
 * waits for them: after that the destination, which TTM frees, isn't in use. The allocation stays.
 * Returns 0 or a negative errno.
 */
static int move_submit(struct pagoda_move *m, bool no_wait, struct dma_fence **fence)
{
	struct pagoda_stream_txn txn;
	int ret;

	*fence = NULL;
	ret = pagoda_move_run(m);
	if (ret)
		return ret;
	if (!m->cost.packets)
		return 0;
	ret = move_begin(m, &txn);
	if (ret)
		return ret;
	/*
	 * If the device was reset after pagoda_lost_clear(), the content to be copied is garbage.
	 */
	if (m->steps & TRANSFER && pagoda_lost_is_stale(m->bo))
		pagoda_bo_mark_lost(m->bo);
	txn.no_wait = no_wait;
	m->txn = &txn;
	ret = pagoda_move_run(m);
	if (ret)
		pagoda_move_undo(m);
	/*
	 * If the discard of offered content failed, the allocation stays in VRAM, and a part of its
	 * content may be discarded. If a discard in place of a copy failed, the content is lost
	 * once a DISCARD_CONTENT was emitted.
	 */
	if (ret && m->steps & DISCARD && !m->kept)
		pagoda_offer_torn(m->bo);
	else if (ret && m->steps & DISCARD && m->torn)
		pagoda_bo_mark_lost(m->bo);
	m->txn = NULL;
	*fence = pagoda_stream_end(&txn);
	if (ret && *fence) {
		pagoda_stream_wait_fence(m->bo->vidmm, *fence);
		dma_fence_put(*fence);
		*fence = NULL;
	}
	return ret;
}

/*
 * Counts a move for the device; a move into or out of VRAM also for the client, if any, that is
 * charged for the allocation.
 */
static void move_count(struct pagoda_move *m)
{
	struct pagoda_counters *stats = &m->vidmm->stats;
	struct pagoda_client *client = m->bo->client;
	u64 copied = m->steps & TRANSFER ? m->bo->ttm.base.size : 0;
	bool in = pagoda_move_is_page_in(m), out = pagoda_move_leaves_vram(m);

	if (!in && !out) {
		atomic64_add(copied, &stats->moved);
		return;
	}
	if (in && copied)
		atomic64_inc(&stats->page_ins);
	atomic64_add(in ? copied : 0, &stats->paged_in);
	atomic64_add(out ? copied : 0, &stats->paged_out);
	atomic64_add(out, &stats->evictions);
	if (!client)
		return;
	atomic64_add(in ? copied : 0, &client->traffic.paged_in);
	atomic64_add(out ? copied : 0, &client->traffic.paged_out);
	atomic64_add(out, &client->traffic.evictions);
}

/*
 * If an eviction takes the allocation to another segment group, tells the clients that have the
 * allocation on their residency lists. The eviction of an offered allocation isn't told.
 */
static void move_tell(struct pagoda_move *m, bool evict)
{
	u32 group = m->src ? pagoda_budget_group(pagoda_segment_of(m->src)) :
			     PAGODA_BUDGET_GROUPS;

	if (evict && group != PAGODA_BUDGET_GROUPS && !pagoda_bo_is_offered(m->bo) &&
	    group != pagoda_budget_group(pagoda_segment_of(m->dst)))
		pagoda_require_left(m->bo, group);
}

static int move_reason(const struct pagoda_move *m, bool evict)
{
	if (evict)
		return PAGODA_MOVE_EVICT;
	if (m->src && m->src->mem_type == TTM_PL_VRAM)
		return m->dst->mem_type == TTM_PL_VRAM ? PAGODA_MOVE_FAULT : PAGODA_MOVE_REQUEST;
	return m->ahead ? PAGODA_MOVE_AHEAD : PAGODA_MOVE_VALIDATE;
}

/*
 * Tells TTM of the move. After a copy, TTM frees the old resource when @fence signals. After an
 * eviction or a discard, which make room, TTM frees the old resource at once, and the next user of
 * its memory waits for @fence. If content was neither copied nor discarded, the pages stay, the
 * allocation gets its new resource at once, and users of the allocation wait for @fence, if there
 * is one: that of a FILL or of a MAP, for instance.
 *
 * The tt of an allocation in VRAM needn't get zeroed pages: the next move out of VRAM overwrites
 * all. Always returns 0.
 */
static int move_finish(struct pagoda_move *m, bool evict, struct dma_fence *fence)
{
	struct ttm_buffer_object *bo = &m->bo->ttm;

	m->bo->content.epoch = m->epoch;
	if (m->steps & TRANSFER && pagoda_move_is_page_in(m))
		pagoda_copy_keep(m->bo, fence);
	if (m->steps & (TRANSFER | DISCARD)) {
		bool at_once = evict || m->steps & DISCARD;
		int ret = ttm_bo_move_accel_cleanup(bo, fence, at_once, true, m->dst);

		if (!ret)
			return 0;
		pagoda_stream_wait_fence(m->bo->vidmm, fence);
	} else if (fence) {
		dma_resv_add_fence(bo->base.resv, fence, DMA_RESV_USAGE_KERNEL);
	}
	if (m->dst->mem_type == TTM_PL_VRAM && bo->ttm)
		bo->ttm->page_flags &= ~TTM_TT_FLAG_ZERO_ALLOC;
	ttm_bo_move_null(bo, m->dst);
	return 0;
}

/*
 * Decides whether copies and fills of the move use virtual addresses, and prepares for that. Copies
 * and fills use other addresses if the copy converts between tiles and rows, or if
 * pagoda_virtual_wanted() is false. Returns 0 or -ENOMEM.
 */
static int move_plan_virtual(struct pagoda_move *m)
{
	m->is_virtual = pagoda_virtual_wanted(m->vidmm, m->bo) && !m->copy.transfer.flags &&
			m->copy.operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	return m->is_virtual ? pagoda_virtual_init(m) : 0;
}

/* Returns whether the device tracks what it writes to the allocation: not for tiled surfaces. */
static bool move_is_tracked(const struct pagoda_move *m)
{
	return m->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_DIRTY) &&
	       !m->bo->tiling.layout.tiling;
}

/*
 * When an allocation is to be copied out of VRAM, gives it the pages of its kept copy, if any,
 * instead of pages of TTM's. If the device knows all that it wrote since the copy was made,
 * TRANSFER copies only that, and what the CPU may have written. Else, if the device doesn't track
 * writes to the allocation and the kept pages still have the current content, DISCARD replaces
 * TRANSFER: nothing is copied.
 */
static void move_take_copy(struct pagoda_move *m)
{
	if (!(m->steps & TRANSFER) || !pagoda_move_leaves_vram(m))
		return;
	m->kept = pagoda_copy_take(m->bo);
	if (m->kept && pagoda_copy_is_tracked(m->bo))
		m->tracking = VIRTIO_PAGODA_TRANSFER_DIRTY;
	else if (m->kept && !move_is_tracked(m) && pagoda_copy_is_clean(m->bo))
		m->steps = DISCARD | (m->steps & MAP);
}

/*
 * Prepares a copy into VRAM, if the device tracks what it writes to the allocation. A copy from
 * outside of VRAM gets the flag CLEAN: the device then knows that VRAM equals the pages. After a
 * move within VRAM all of the allocation counts as written, because the CPU may have to execute
 * that copy in place of the device.
 */
static void move_plan_tracking(struct pagoda_move *m)
{
	if (!(m->steps & TRANSFER) || m->dst->mem_type != TTM_PL_VRAM || !move_is_tracked(m))
		return;
	if (pagoda_move_is_page_in(m))
		m->tracking = VIRTIO_PAGODA_TRANSFER_CLEAN;
	else
		pagoda_copy_written(m->bo);
}

/*
 * Undoes move_take_copy() after a failed move, or frees the kept copy, with the allocation's former
 * tt, after a successful one. After a failed move the kept pages are put back only if the move was
 * to discard instead of copying to them, and no DISCARD_CONTENT was emitted; else they are freed.
 */
static void move_end_copy(struct pagoda_move *m, int error)
{
	if (!m->kept)
		return;
	if (error && m->steps & DISCARD && !m->torn)
		pagoda_copy_put_back(m->bo, m->kept);
	else
		pagoda_copy_put(m->bo, m->kept, !error);
}

/*
 * Maps the pages of an allocation with APERTURE_CPU_VISIBLE for the kernel (C67), because
 * MAP_APERTURE_SEGMENT2 tells their kernel address, which isn't derived from bus addresses (C66).
 * Returns 0 or -ENOMEM.
 */
static int move_map_cpu(struct pagoda_move *m)
{
	struct pagoda_aperture_resource *to = pagoda_aperture_of(m->dst);
	struct ttm_tt *tt = m->bo->ttm.ttm;

	if (!(m->bo->flags & DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE) || to->cpu)
		return 0;
	to->cpu = vmap(tt->pages, tt->num_pages, VM_MAP,
		       ttm_io_prot(&m->bo->ttm, m->dst, PAGE_KERNEL));
	return to->cpu ? 0 : -ENOMEM;
}

/*
 * Populates and maps the pages that the move needs, tells the device in CPU_VIRTUAL mode that
 * content leaves shared memory, and plans the copy. May allocate and wait. Returns 0 or a negative
 * errno; the VMs' mappings of the allocation haven't changed in either case.
 */
static int move_prepare(struct pagoda_move *m, struct ttm_operation_ctx *ctx)
{
	struct ttm_buffer_object *ttm_bo = &m->bo->ttm;
	int ret = 0;

	if (m->steps & POPULATE)
		ret = pagoda_pages_populate(m->bo, ctx);
	if (!ret && m->dst->mem_type == TTM_PL_TT)
		ret = pagoda_import_map(m->bo, ctx);
	if (!ret)
		ret = pagoda_device_mmu_repair(m->vidmm, ttm_bo->ttm);
	if (ret)
		return ret;
	if (ttm_bo->ttm)
		pagoda_bo_adl(m->bo, &m->pages);
	m->was_told = m->bo->content.told;
	m->stays = m->bo->content.told && !m->steps;
	if (m->steps & NOTIFY)
		ret = pagoda_notice_eviction_wait(m->bo, ctx->no_wait_gpu);
	if (!ret && m->steps & MAP)
		ret = move_map_cpu(m);
	if (!ret && m->steps & TRANSFER)
		pagoda_swizzle_plan(m->bo, m->dst, &m->copy);
	return ret;
}

static int move_perform(struct pagoda_move *m, bool evict, struct ttm_operation_ctx *ctx)
{
	struct pagoda_bo *bo = m->bo;
	struct dma_fence *fence;
	int ret = move_prepare(m, ctx);

	if (ret)
		return ret;
	/* If the move fails, the VMs' mappings stay invalid until they are validated again. */
	pagoda_vm_bo_hide(bo, m->pipelined ? PAGODA_VM_EVICTS : PAGODA_VM_MOVES);
	ret = move_plan_virtual(m);
	if (!ret)
		ret = move_submit(m, ctx->no_wait_gpu, &fence);
	pagoda_virtual_fini(m);
	if (ret) {
		pagoda_swizzle_undo(bo, m->dst);
		return ret;
	}
	if (m->steps & UNMAP)
		pagoda_aperture_unmapped(m->src, fence);
	if (!(m->steps & DISCARD))
		pagoda_swizzle_moved(bo, m->dst, &m->copy, fence);
	else if (!m->kept)
		pagoda_offer_discarded(bo);

	move_count(m);
	move_tell(m, evict);
	trace_pagoda_bo_move(dev_name(m->vidmm->drm->dev), bo->id, bo->ttm.base.size,
			     m->src ? pagoda_segment_of(m->src) : VIRTIO_PAGODA_SEGMENT_COUNT,
			     pagoda_segment_of(m->dst), evict, move_reason(m, evict));
	pagoda_bo_account(bo, m->dst);
	ret = move_finish(m, evict, fence);
	dma_fence_put(fence);
	return ret;
}

/*
 * Waits for jobs that use the allocation, unless the stream does (@m->pipelined). Returns 0; -EBUSY
 * if the stream, or the caller (@prompt, PAGODA_PL_PROMPT), must not wait for what uses the
 * allocation, or a wait is necessary and @ctx forbids waits; or -ERESTARTSYS.
 */
static int move_await(struct pagoda_move *m, bool prompt, struct ttm_operation_ctx *ctx)
{
	struct dma_resv *resv = m->bo->ttm.base.resv;

	if ((m->pipelined || prompt) && pagoda_stream_has_queued(m->vidmm, resv, m->usage))
		return -EBUSY;
	if (m->pipelined || !pagoda_stream_has_foreign(m->vidmm, resv, m->usage))
		return 0;
	if (ctx->no_wait_gpu)
		return -EBUSY;
	return pagoda_stream_await(m->vidmm, resv, m->usage, ctx->interruptible);
}

/* Returns whether the CPU copies the content, instead of the device. */
static bool move_is_for_cpu(const struct pagoda_move *m)
{
	return m->steps & TRANSFER && pagoda_vidmm_moves_by_cpu(m->vidmm) &&
	       !m->bo->tiling.layout.tiling;
}

/*
 * Returns whether a reset of the device may lose anything that the move leaves in the device, but
 * for mappings of the device MMU: content, a mapping in the aperture, or a notice.
 */
static bool move_exposes(const struct pagoda_move *m)
{
	return m->dst->mem_type == TTM_PL_VRAM || pagoda_aperture_has_address(m->dst) ||
	       m->bo->flags & DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION;
}

static int move_by_cpu(struct pagoda_move *m, struct ttm_operation_ctx *ctx)
{
	pagoda_vm_bo_hide(m->bo, m->pipelined ? PAGODA_VM_EVICTS : PAGODA_VM_MOVES);
	pagoda_copy_drop(m->bo);
	m->bo->content.epoch = m->epoch;
	return ttm_bo_move_memcpy(&m->bo->ttm, ctx, m->dst);
}

/*
 * ttm_device_funcs.move for allocations. Returns 0, or a negative errno: the allocation then stays
 * where it is. The caller holds the reservation and has reserved one fence slot. @hop isn't used:
 * the device copies to and from pages without an address in the aperture, so no move needs a second
 * move (C37).
 */
int pagoda_move(struct ttm_buffer_object *ttm_bo, bool evict, struct ttm_operation_ctx *ctx,
		struct ttm_resource *new_mem, struct ttm_place *hop)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);
	struct pagoda_move m = {
		.vidmm = bo->vidmm,
		.bo = bo,
		.src = ttm_bo->resource,
		.dst = new_mem,
		.epoch = pagoda_reset_epoch(bo->vidmm),
		.steps = pagoda_move_steps(pagoda_move_place(ttm_bo, ttm_bo->resource),
					   pagoda_move_place(ttm_bo, new_mem)),
	};
	u32 flags = new_mem->placement;
	int ret;

	if (WARN_ON_ONCE(m.steps & NEVER))
		return -EINVAL;
	/* TTM frees the pages of a deleted object without waiting for operations emitted now. */
	if (WARN_ON_ONCE(ttm_bo->deleted))
		return -EBUSY;
	new_mem->placement &= ~PAGODA_PL_FLAGS;
	pagoda_settled_clear(bo);
	evict |= flags & PAGODA_PL_VICTIM;
	/* A page table needs no zeros: its first update sets every entry (C90). */
	if (bo->vm.table_of)
		m.steps &= ~FILL;
	if (pagoda_offer_can_discard(bo, new_mem))
		m.steps = DISCARD;
	m.pipelined = evict || flags & PAGODA_PL_PIPELINED;
	m.ahead = flags & PAGODA_PL_AHEAD;
	m.usage = move_usage(&m);
	pagoda_prime_moves(bo);
	ret = move_await(&m, flags & PAGODA_PL_PROMPT, ctx);
	if (ret)
		return ret;
	pagoda_track_moves(bo, new_mem);
	ret = m.steps & TRANSFER ? pagoda_lost_clear(bo) : 0;
	if (ret)
		return ret;
	if (move_exposes(&m))
		pagoda_bo_expose(bo);
	if (move_is_for_cpu(&m))
		return move_by_cpu(&m, ctx);
	move_take_copy(&m);
	move_plan_tracking(&m);
	ret = move_perform(&m, evict, ctx);
	move_end_copy(&m, ret);
	/* An evicted allocation may now wait for promotion; an allocation in VRAM doesn't. */
	if (!ret && (evict || pagoda_bo_is_in_vram(bo)))
		pagoda_promote_look(bo);
	return ret;
}
