// SPDX-License-Identifier: GPL-2.0
/*
 * Moves: what TTM decided, as paging operations.
 *
 * One table says which steps a move from here to there takes. The steps (move_steps.c) run
 * twice through the same code: once to add up what they cost, so that all
 * memory is there before the first one is encoded, and once to emit them.
 * Nothing is copied by the CPU here, and nothing is waited for, unless the
 * builder answers that the allocation is busy.
 *
 * The point of no return is pagoda_stream_begin(): before it a failure leaves
 * everything as it was, after it the operations run and TTM is told so.
 *
 * Called by TTM with the allocation's reservation held.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <pagoda/residency.h>
#include <pagoda/trace.h>
#include <pagoda/virtio.h>
#include "move.h"
#include "prime.h"

/*
 * The decision table. Rows: where it is. Columns: where TTM wants it; both
 * system columns mean the same. 0: only TTM's books change.
 *
 * TTM fills the tt of an aperture target before it calls, of a system target
 * it doesn't. VRAM to VRAM happens when the CPU needs the visible part.
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
	/*  from            system          aperture        bound        vram */
	ROW(NONE,           0,              0,              MAP,         FILL),
	ROW(SYSTEM_EMPTY,   0,              0,              MAP,         FILL),
	ROW(SYSTEM,         0,              0,              MAP,         POPULATE | TRANSFER),
	ROW(APERTURE,       NOTIFY,         0,              MAP,         TRANSFER),
	ROW(APERTURE_BOUND, NOTIFY | UNMAP, NOTIFY | UNMAP, MAP | UNMAP, TRANSFER | UNMAP),
	ROW(VRAM, POPULATE | TRANSFER | FLUSH, TRANSFER | FLUSH, MAP | TRANSFER | FLUSH,
	    TRANSFER),
#undef ROW
};

/**
 * pagoda_move_steps() - What a move takes
 * @from: Where the content is
 * @to: Where it shall be
 *
 * Return: PAGODA_STEP_ bits; 0 if only TTM's books change.
 */
u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to)
{
	return move_table[from][to];
}

/**
 * pagoda_move_place() - A resource as the decision table sees it
 * @bo: Object it belongs to; reservation held
 * @res: Resource or NULL
 *
 * Return: The place.
 */
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res)
{
	if (!res)
		return PAGODA_PLACE_NONE;
	if (res->mem_type == TTM_PL_VRAM)
		return PAGODA_PLACE_VRAM;
	if (res->mem_type == TTM_PL_TT)
		return pagoda_aperture_has_address(res) ? PAGODA_PLACE_APERTURE_BOUND :
							  PAGODA_PLACE_APERTURE;
	if (bo->ttm && (ttm_tt_is_populated(bo->ttm) ||
			bo->ttm->page_flags & TTM_TT_FLAG_SWAPPED))
		return PAGODA_PLACE_SYSTEM;
	return PAGODA_PLACE_SYSTEM_EMPTY;
}

/* It stays, but not all of what it held. */
static void move_tear(struct pagoda_move *m)
{
	if (!m->kept)
		pagoda_offer_torn(m->bo);
	else if (m->torn)
		pagoda_bo_mark_lost(m->bo);
}

/*
 * Nobody restarts the stream from here on. If somebody just did, the device doesn't reach the
 * pages that were looked at before.
 */
static int move_begin(struct pagoda_move *m, struct pagoda_stream_txn *txn, struct dma_resv *resv,
		      enum dma_resv_usage usage)
{
	struct ttm_tt *tt = m->bo->ttm.ttm;
	int ret;

	do {
		ret = pagoda_stream_begin(txn, m->vidmm, m->bo, resv, usage, &m->cost);
		if (ret || !pagoda_device_mmu_is_stale(m->vidmm, tt))
			return ret;
		dma_fence_put(pagoda_stream_end(txn));
		ret = pagoda_device_mmu_repair(m->vidmm, tt);
	} while (!ret);
	return ret;
}

/*
 * What is waited for before the first operation: everything that uses the allocation, so that
 * it is idle when its content is copied, filled (C42), discarded or unmapped. The fences of what
 * is private to a VM are those of all of the VM's jobs. A fill isn't held up by them: a job
 * before it can't use memory that the allocation doesn't have yet, and if it had some, the
 * DISCARD_CONTENT of that came before in the stream and waited.
 */
static enum dma_resv_usage move_usage(const struct pagoda_move *m)
{
	const struct dma_resv *resv = m->bo->ttm.base.resv;

	if (m->steps & (TRANSFER | UNMAP | DISCARD) ||
	    (m->steps & FILL && resv == &m->bo->ttm.base._resv))
		return DMA_RESV_USAGE_BOOKKEEP;
	return DMA_RESV_USAGE_KERNEL;
}

/*
 * Costs, then operations.
 *
 * When an operation fails the earlier ones are waited for: none of them has
 * changed anything but the target, which the caller gives back.
 */
static int move_submit(struct pagoda_move *m, struct dma_resv *resv, bool no_wait,
		       struct dma_fence **fence)
{
	struct pagoda_stream_txn txn;
	int ret;

	*fence = NULL;
	ret = pagoda_move_run(m);
	if (ret)
		return ret;
	if (!m->cost.packets)
		return 0;
	ret = move_begin(m, &txn, resv, move_usage(m));
	if (ret)
		return ret;
	/* The device was reset since it was looked at: what is copied is garbage. */
	if (m->steps & TRANSFER && pagoda_lost_is_stale(m->bo))
		pagoda_bo_mark_lost(m->bo);
	txn.no_wait = no_wait;
	m->txn = &txn;
	ret = pagoda_move_run(m);
	if (ret)
		pagoda_move_undo(m);
	if (ret && m->steps & DISCARD)
		move_tear(m);
	m->txn = NULL;
	*fence = pagoda_stream_end(&txn);
	if (ret && *fence) {
		pagoda_stream_wait_fence(m->bo->vidmm, *fence);
		dma_fence_put(*fence);
		*fence = NULL;
	}
	return ret;
}

/* Of the device, and of who pays, if anybody does. */
static void move_count_traffic(struct pagoda_move *m, u64 in, u64 out, bool eviction)
{
	struct pagoda_counters *stats = &m->vidmm->stats;
	struct pagoda_client *client = m->bo->client;

	atomic64_add(in, &stats->paged_in);
	atomic64_add(out, &stats->paged_out);
	atomic64_add(eviction, &stats->evictions);
	if (!client)
		return;
	atomic64_add(in, &client->traffic.paged_in);
	atomic64_add(out, &client->traffic.paged_out);
	atomic64_add(eviction, &client->traffic.evictions);
}

static void move_count(struct pagoda_move *m)
{
	struct pagoda_counters *stats = &m->vidmm->stats;
	u64 copied = m->steps & TRANSFER ? m->bo->ttm.base.size : 0;
	bool in = pagoda_move_is_page_in(m), out = pagoda_move_leaves_vram(m);

	if (!in && !out) {
		atomic64_add(copied, &stats->moved);
		return;
	}
	if (in && copied)
		atomic64_inc(&stats->page_ins);
	move_count_traffic(m, in ? copied : 0, out ? copied : 0, out);
}

/* Who offered it knows that it may go. */
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
	return PAGODA_MOVE_VALIDATE;
}

static void move_trace(struct pagoda_move *m, bool evict)
{
	trace_pagoda_bo_move(dev_name(m->vidmm->drm->dev), m->bo->id, m->bo->ttm.base.size,
			     m->src ? pagoda_segment_of(m->src) : VIRTIO_PAGODA_SEGMENT_COUNT,
			     pagoda_segment_of(m->dst), evict, move_reason(m, evict));
}

/*
 * Tells TTM. After a copy the old place lives on until its fence, without one
 * the pages stay and only the books change. Where content was discarded room was wanted.
 * The tt of an allocation that is filled in VRAM will next be overwritten whole: no need to
 * zero it then.
 */
static int move_finish(struct pagoda_move *m, bool evict, struct dma_fence *fence)
{
	struct ttm_buffer_object *bo = &m->bo->ttm;

	m->bo->epoch = m->epoch;
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

/* What converts between tiles and rows, and what may be busy, has no virtual form. */
static int move_plan_virtual(struct pagoda_move *m)
{
	m->is_virtual = pagoda_virtual_wanted(m->vidmm, m->bo) && !m->copy.transfer.flags &&
			m->copy.operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	return m->is_virtual ? pagoda_virtual_init(&m->virtual, m->bo, m->src, m->dst) : 0;
}

/*
 * The pages that were kept when it came to VRAM, instead of those TTM made. If what is in them
 * is as good, nothing has to be copied to them.
 */
static void move_take_copy(struct pagoda_move *m)
{
	if (!(m->steps & TRANSFER) || !pagoda_move_leaves_vram(m))
		return;
	m->kept = pagoda_copy_take(m->bo);
	if (m->kept && pagoda_copy_is_clean(m->bo))
		m->steps = DISCARD | (m->steps & MAP);
}

/* What was copied to them before it failed is nothing to come back to. */
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
 * MAP_APERTURE_SEGMENT2 may hand out a kernel address: made from the pages, never
 * from their bus addresses (C66), and only for who asked (C67).
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

/* All that may fail before anything is emitted. */
static int move_prepare(struct pagoda_move *m, struct ttm_operation_ctx *ctx)
{
	struct ttm_buffer_object *ttm_bo = &m->bo->ttm;
	int ret = 0;

	if (m->steps & POPULATE)
		ret = ttm_bo_populate(ttm_bo, ctx);
	if (!ret && m->dst->mem_type == TTM_PL_TT)
		ret = pagoda_import_map(m->bo, ctx);
	if (!ret)
		ret = pagoda_device_mmu_repair(m->vidmm, ttm_bo->ttm);
	if (ret)
		return ret;
	if (ttm_bo->ttm)
		pagoda_bo_adl(m->bo, &m->pages);
	m->was_told = m->bo->told;
	m->stays = m->bo->told && !m->steps;
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
	/* A move that fails after this leaves them to be made valid again. */
	pagoda_vm_bo_moves(bo);
	ret = move_plan_virtual(m);
	if (!ret)
		ret = move_submit(m, bo->ttm.base.resv, ctx->no_wait_gpu, &fence);
	pagoda_virtual_fini(&m->virtual);
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
	pagoda_offer_left_vram(bo);

	move_count(m);
	move_tell(m, evict);
	move_trace(m, evict);
	pagoda_bo_account(bo, m->src, m->dst);
	ret = move_finish(m, evict, fence);
	dma_fence_put(fence);
	return ret;
}

/**
 * pagoda_move() - ttm_device_funcs.move
 * @ttm_bo: Allocation, reservation held, one fence slot reserved
 * @evict: To make room, or at the end of the world
 * @ctx: Whether waits may be interrupted, or happen at all
 * @new_mem: Where to
 * @hop: Unused: the device reaches unbound pages, nothing needs two steps (C37)
 *
 * Context: May sleep and allocate. Doesn't wait for the device.
 * Return: 0, or a negative errno and nothing has changed.
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
	int ret;

	if (WARN_ON_ONCE(m.steps & NEVER))
		return -EINVAL;
	/* TTM frees its pages without a look at what is emitted now. */
	if (WARN_ON_ONCE(ttm_bo->deleted))
		return -EBUSY;
	pagoda_settled_clear(bo);
	evict |= bo->makes_room;
	/* Its first update sets every entry (C90). */
	if (bo->table_of)
		m.steps &= ~FILL;
	if (pagoda_offer_can_discard(bo, new_mem))
		m.steps = DISCARD;
	if (m.steps & TRANSFER) {
		ret = pagoda_lost_clear(bo);
		if (ret)
			return ret;
		if (pagoda_vidmm_moves_by_cpu(bo->vidmm) && !bo->layout.tiling) {
			pagoda_vm_bo_moves(bo);
			pagoda_copy_drop(bo);
			bo->epoch = m.epoch;
			return ttm_bo_move_memcpy(ttm_bo, ctx, new_mem);
		}
	}
	move_take_copy(&m);
	ret = move_perform(&m, evict, ctx);
	move_end_copy(&m, ret);
	/* Who leaves for others wants to come back; who came doesn't any more. */
	if (!ret && (evict || pagoda_bo_is_in_vram(bo)))
		pagoda_promote_look(bo);
	return ret;
}
