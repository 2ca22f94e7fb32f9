// SPDX-License-Identifier: GPL-2.0
/*
 * The steps of a move as paging operations. Each step but POPULATE runs twice: the first run adds
 * up its costs, the second run emits its operations. See move.c.
 */
#include <linux/dma-mapping.h>
#include <drm/drm_device.h>
#include "core/core.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "ttm.h"

/*
 * Emits an operation if the move's operations are being emitted, that is, the move has a
 * transaction; else adds the operation's cost to @m->cost. Returns 0 or a negative errno.
 */
static int move_op(struct pagoda_move *m, struct pagoda_paging_op *op)
{
	struct pagoda_vidmm *vidmm = m->vidmm;

	op->allocation = m->bo->id;
	if (m->txn)
		return pagoda_stream_emit(m->txn, op);
	pagoda_cost_add(&m->cost, pagoda_stream_cost(vidmm, op), 1);
	return 0;
}

/*
 * Emits the notice that the allocation isn't resident any more, if the device was told that it is;
 * comes before any operation on the content (C115). Returns 0 or a negative errno.
 */
static int move_notice_left(struct pagoda_move *m)
{
	struct pagoda_paging_op op;
	int ret;

	if (!pagoda_notice_left(m->bo, &op))
		return 0;
	ret = move_op(m, &op);
	if (!ret && m->txn)
		m->bo->content.told = false;
	return ret;
}

static int move_notice_op(void *arg, struct pagoda_paging_op *op)
{
	return move_op(arg, op);
}

static int move_notice_arrived(struct pagoda_move *m, struct ttm_resource *res)
{
	int ret = pagoda_notice_arrived(m->bo, res, move_notice_op, m);

	if (ret > 0 && m->txn)
		m->bo->content.told = true;
	return min(ret, 0);
}

/**
 * pagoda_move_map_op() - Make the operation that maps an aperture range
 * @bo: Allocation with a populated tt; reservation held
 * @res: Aperture resource with an address
 * @pages: Pages of the allocation; must stay valid until the operation is emitted
 *
 * Return: MAP_APERTURE_SEGMENT or MAP_APERTURE_SEGMENT2 of the whole range.
 */
struct pagoda_paging_op pagoda_move_map_op(struct pagoda_bo *bo, struct ttm_resource *res,
					   const struct pagoda_adl *pages)
{
	struct pagoda_aperture_resource *to = pagoda_aperture_of(res);
	struct pagoda_paging_op op = {
		.operation = pagoda_vidmm_map_op(bo->vidmm),
		.map_aperture = {
			.first_page = to->node.start,
			.nr_pages = pages->nr_pages,
			.adl = pages,
			.flags = pagoda_bo_is_coherent(bo) ? VIRTIO_PAGODA_MAP_CACHE_COHERENT : 0,
			.generation = to->generation,
		},
	};

	if (op.operation == VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2)
		op.map_aperture.cpu_visible_address = to->cpu;
	return op;
}

static int move_map(struct pagoda_move *m, struct ttm_resource *res)
{
	struct pagoda_paging_op op = pagoda_move_map_op(m->bo, res, &m->pages);
	int ret = move_op(m, &op);

	if (!ret && m->txn)
		pagoda_aperture_of(res)->bound = true;
	return ret;
}

static int move_unmap(struct pagoda_move *m, struct ttm_resource *res)
{
	struct pagoda_aperture_resource *from = pagoda_aperture_of(res);
	struct pagoda_paging_op op = pagoda_release_unmap_op(m->vidmm, res);
	int ret;

	if (!from->bound)
		return 0;
	ret = move_op(m, &op);
	if (!ret && m->txn) {
		pagoda_dummy_inspect(m->vidmm);
		from->bound = false;
	}
	return ret;
}

/*
 * Fills the allocation's new place in VRAM with zeros, except for ranges that are known to hold
 * zeros (C45). Returns 0 or a negative errno.
 */
static int move_fill(struct pagoda_move *m)
{
	struct pagoda_move_side *dst = &m->side[PAGODA_SCRATCH_DESTINATION];
	struct pagoda_vram_cursor *cur = &dst->vram;
	u64 size = m->bo->ttm.base.size;
	int ret = 0;

	dst->res = m->dst;
	m->virtual.at_unique = 0;
	pagoda_vram_first_clean(cur, m->dst, size, m->epoch);
	while (cur->size && !ret) {
		u64 left = cur->left;
		struct pagoda_paging_op op = {
			.operation = VIRTIO_PAGODA_OP_FILL,
			.fill = {
				.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
				.address = cur->address,
				.size = min_t(u64, cur->size, PAGODA_PIECE_BYTES),
			},
		};

		if (cur->clean) {
			pagoda_vram_next(cur, cur->size);
			continue;
		}
		if (m->is_virtual) {
			ret = pagoda_virtual_fill(m, size - left);
		} else {
			ret = move_op(m, &op);
			pagoda_vram_next(cur, op.fill.size);
		}
		if (m->txn && !ret)
			atomic64_add(left - cur->left, &m->vidmm->stats.filled);
	}
	return ret;
}

static void side_first(struct pagoda_move_side *side, struct ttm_resource *res, u64 size)
{
	side->res = res;
	if (res->mem_type == TTM_PL_VRAM)
		pagoda_vram_first(&side->vram, res, 0, size);
}

static u64 side_contiguous(const struct pagoda_move_side *side, u64 left)
{
	return side->res->mem_type == TTM_PL_VRAM ? min(side->vram.size, left) : left;
}

static void side_next(struct pagoda_move_side *side, u64 size)
{
	if (side->res->mem_type == TTM_PL_VRAM)
		pagoda_vram_next(&side->vram, size);
}

/*
 * Returns the place, in the source or destination @side, of the next part to be copied, which
 * begins @done bytes into the allocation. In VRAM and in the aperture the returned address is
 * @offset less than that of the part: the device adds TransferOffset, which is @offset (C30), or,
 * in a tiled surface, looks for byte @offset of the surface itself.
 */
static struct pagoda_side side_describe(struct pagoda_move *m,
					const struct pagoda_move_side *side, u64 done, u64 offset)
{
	if (side->res->mem_type == TTM_PL_VRAM)
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = side->vram.address - offset,
		};
	if (pagoda_aperture_has_address(side->res))
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
			.address = (pagoda_aperture_of(side->res)->node.start << PAGE_SHIFT) +
				   done - offset,
			.generation = pagoda_aperture_of(side->res)->generation,
		};
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.adl = &m->pages,
	};
}

static bool side_in_one_piece(struct ttm_resource *res)
{
	return res->mem_type != TTM_PL_VRAM || pagoda_vram_is_contiguous(res);
}

/*
 * Returns the flags, CLEAN, DIRTY or none, with which the device copies from byte @done on, and
 * reduces *@size to the number of bytes that have the same flags: what the CPU may have written is
 * copied even if the device didn't write it.
 */
static u32 move_tracking(const struct pagoda_move *m, u64 done, u64 *size)
{
	if (m->tracking == VIRTIO_PAGODA_TRANSFER_DIRTY &&
	    pagoda_copy_is_touched(m->kept, done, size))
		return 0;
	return m->tracking;
}

/*
 * Transfers the whole content, in consecutive pieces of up to PAGODA_PIECE_BYTES (C27 - C29).
 * WDDM's segments hold an allocation in one range, and TransferOffset counts from the start of the
 * range; in fragmented VRAM each piece has its own address instead, with offset 0. A tiled
 * allocation is never fragmented. Returns 0 or a negative errno.
 */
static int move_transfer(struct pagoda_move *m)
{
	bool whole = side_in_one_piece(m->src) && side_in_one_piece(m->dst);
	struct pagoda_move_side *src = &m->side[PAGODA_SCRATCH_SOURCE];
	struct pagoda_move_side *dst = &m->side[PAGODA_SCRATCH_DESTINATION];
	u64 size = m->bo->ttm.base.size;
	u64 done, piece;
	u32 tracking;
	int ret;

	m->virtual.at_unique = 0;
	side_first(src, m->src, size);
	side_first(dst, m->dst, size);
	for (done = 0; done < size; done += piece) {
		u64 offset = whole ? done : 0;
		struct pagoda_paging_op op = m->copy;

		piece = min_t(u64, size - done, PAGODA_PIECE_BYTES);
		tracking = move_tracking(m, done, &piece);
		if (m->is_virtual) {
			ret = pagoda_virtual_transfer(m, done, &piece, tracking);
			if (ret)
				return ret;
			continue;
		}
		op.needs_idle = pagoda_swizzle_needs_idle(m->bo, op.operation);
		op.transfer.flags |= tracking;
		op.transfer.offset = offset;
		op.transfer.mdl_offset = done >> PAGE_SHIFT;
		op.transfer.src = side_describe(m, src, done, offset);
		op.transfer.dst = side_describe(m, dst, done, offset);
		if (!done)
			op.transfer.flags |= VIRTIO_PAGODA_TRANSFER_START;
		piece = side_contiguous(src, piece);
		piece = side_contiguous(dst, piece);
		if (done + piece == size)
			op.transfer.flags |= VIRTIO_PAGODA_TRANSFER_END;
		op.transfer.size = piece;
		ret = move_op(m, &op);
		if (ret)
			return ret;
		side_next(src, piece);
		side_next(dst, piece);
	}
	return 0;
}

/*
 * Returns whether the device snoops CPU caches when it writes to the destination: entries of page
 * tables and of the aperture have a flag that asks for it, a list of pages in an operation has
 * none.
 */
static bool move_is_snooped(const struct pagoda_move *m)
{
	return pagoda_bo_is_coherent(m->bo) &&
	       (m->is_virtual || pagoda_aperture_has_address(m->dst));
}

/*
 * Drains the device's write combiner by a write to pagoda_dummy_flush(), a page that has no other
 * use; used in place of move_flush_read() for an allocation whose pages the CPU maps without
 * caching. Returns 0 or a negative errno.
 */
static int move_flush_write(struct pagoda_move *m)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
		.access_physical = {
			.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
			.address = pagoda_dummy_flush(m->vidmm)->address,
			.size = sizeof(u64),
			.cpu_pages = &pagoda_dummy_flush(m->vidmm)->page,
		},
	};

	return move_op(m, &op);
}

static int move_flush_read(struct pagoda_move *m)
{
	struct ttm_tt *tt = m->bo->ttm.ttm;
	u32 last = tt->num_pages - 1;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL,
		.access_physical = {
			.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
			.address = pagoda_adl_page(&m->pages, last),
			.size = sizeof(u64),
			.cpu_pages = &tt->pages[last],
		},
	};

	return move_op(m, &op);
}

/*
 * Unless the device snoops CPU caches, drains its write combiner, which keeps the last bytes
 * written to pages until a READ_PHYSICAL or WRITE_PHYSICAL. After that operation's fence the CPU
 * may read the pages (C51), and the pages may be freed. Returns 0 or a negative errno.
 */
static int move_flush(struct pagoda_move *m)
{
	int ret = 0;

	if (!move_is_snooped(m))
		ret = m->bo->ttm.ttm->caching == ttm_cached ? move_flush_read(m) :
							      move_flush_write(m);
	if (!ret)
		m->unflushed = false;
	return ret;
}

static int move_discard_op(void *arg, struct pagoda_paging_op *op)
{
	struct pagoda_move *m = arg;
	int ret = move_op(m, op);

	if (!ret && m->txn)
		m->torn = true;
	return ret;
}

/*
 * Discards the content in VRAM instead of copying it, because the allocation is offered (C170: the
 * discard waits for all uses of the allocation), or its kept system pages have the content (C155).
 * Returns 0 or a negative errno.
 */
static int move_discard(struct pagoda_move *m)
{
	int ret = pagoda_release_discard_ops(m->bo, m->src, move_discard_op, m);

	if (!ret && m->txn)
		atomic64_add(m->bo->ttm.base.size, &m->vidmm->stats.discarded);
	return ret;
}

/*
 * Emits NOTIFY_FENCE_RESIDENCY with the new address of a monitored fence's page, or with address 0
 * if the page leaves the aperture segment; nothing if the page was outside and stays outside.
 * Returns 0 or a negative errno.
 */
static int move_notify_fence(struct pagoda_move *m)
{
	struct pagoda_fence_residency fence = { .fence = m->bo->id };
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
		.notify_fences = { .nr_fences = 1, .fences = &fence },
	};

	if (m->dst->mem_type == TTM_PL_TT)
		fence.current_value = pagoda_adl_page(&m->pages, 0);
	else if (!m->src || m->src->mem_type != TTM_PL_TT)
		return 0;
	return move_op(m, &op);
}

/*
 * Runs all steps once, except POPULATE: emits their operations if @m->txn is set, else adds up the
 * costs of these and of pagoda_move_undo(). Returns 0 or a negative errno.
 */
int pagoda_move_run(struct pagoda_move *m)
{
	int ret = 0;

	if (m->bo->is_fence)
		ret = move_notify_fence(m);
	if (!ret && m->steps & PAGODA_STEP_NOTIFY)
		ret = pagoda_notice_eviction(m->bo, m->txn, &m->cost);
	if (!ret && !m->stays)
		ret = move_notice_left(m);
	if (!ret && m->steps & PAGODA_STEP_MAP)
		ret = move_map(m, m->dst);
	if (!ret && m->steps & PAGODA_STEP_FILL)
		ret = move_fill(m);
	m->unflushed = m->txn && m->steps & PAGODA_STEP_FLUSH;
	if (!ret && m->steps & PAGODA_STEP_TRANSFER)
		ret = move_transfer(m);
	if (!ret && m->steps & PAGODA_STEP_DISCARD)
		ret = move_discard(m);
	if (!ret && m->steps & PAGODA_STEP_FLUSH)
		ret = move_flush(m);
	if (!ret && m->steps & PAGODA_STEP_UNMAP)
		ret = move_unmap(m, m->src);
	if (!ret && !m->stays)
		ret = move_notice_arrived(m, m->dst);
	/*
	 * Add the cost of pagoda_move_undo(), which repeats the notices that the allocation is
	 * resident in its source.
	 */
	if (!ret && !m->txn && m->was_told)
		ret = move_notice_arrived(m, m->src);
	return ret;
}

/*
 * Undoes a move of which some operations were emitted; the allocation stays in its source. Repeats
 * the notices that the allocation is resident in its source, if the move told otherwise. Drains the
 * device's write combiner, and unmaps the destination from the aperture if it was mapped, before
 * the caller frees the destination's pages (C62). Called in the move's transaction.
 */
void pagoda_move_undo(struct pagoda_move *m)
{
	if (m->was_told && !m->bo->content.told)
		move_notice_arrived(m, m->src);
	if (m->unflushed)
		move_flush(m);
	if (m->steps & PAGODA_STEP_MAP && pagoda_aperture_of(m->dst)->bound)
		move_unmap(m, m->dst);
}
