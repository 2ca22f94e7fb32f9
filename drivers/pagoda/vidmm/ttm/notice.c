// SPDX-License-Identifier: GPL-2.0
/*
 * Notices: operations that tell the device where allocations are.
 *
 *	NOTIFY_RESIDENCY	an allocation that is accessed physically and asked for notices
 *				(C113) is resident at an address now, or isn't resident any more
 *	NOTIFY_RESIDENCY2	the same for an allocation that is accessed by virtual addresses
 *				and asked for notices: a notice for each contiguous range
 *	NOTIFY_ALLOC		content of an allocation is about to leave shared memory
 *
 * An arrival and a departure are told once, however many pieces the content moves in (C114). A move
 * of content between resident places is a departure and an arrival. In TTM_PL_SYSTEM an allocation
 * isn't resident. Pages in TTM_PL_TT without an address in the aperture are reached by virtual
 * addresses only: an allocation with such pages isn't resident for NOTIFY_RESIDENCY, but for
 * NOTIFY_RESIDENCY2 it is resident in ranges of the system segment.
 *
 * NOTIFY_RESIDENCY and NOTIFY_RESIDENCY2 go only to a device that supports the opcode; NOTIFY_ALLOC
 * is supported by every device.
 */
#include <linux/slab.h>
#include "core/core.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "ttm.h"

static u32 notice_opcode(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY ?
		VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY : VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2;
}

static bool notice_wanted(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION &&
	       bo->vidmm->paging_limits->features & BIT_ULL(VIRTIO_PAGODA_F_OP(notice_opcode(bo)));
}

/*
 * Returns whether an allocation whose content is in @res counts as resident for the device: the GPU
 * reaches @res by the kind of addresses, physical or virtual, that it uses for @bo.
 */
static bool notice_is_resident(const struct pagoda_bo *bo, struct ttm_resource *res)
{
	if (!res || res->mem_type == TTM_PL_SYSTEM)
		return false;
	return res->mem_type == TTM_PL_VRAM || pagoda_aperture_has_address(res) ||
	       !(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY);
}

/*
 * Sets *@op to the notice that an allocation isn't resident any more, and returns whether the
 * caller has to emit the notice, because the device was told that the allocation is resident. The
 * notice comes before any operation on the content (C115), also before DISCARD_CONTENT; a caller
 * that emits the notice clears &pagoda_bo.content.told. The reservation is held, or no other user
 * is left.
 */
bool pagoda_notice_left(const struct pagoda_bo *bo, struct pagoda_paging_op *op)
{
	*op = (struct pagoda_paging_op) {
		.operation = notice_opcode(bo),
		.allocation = bo->id,
	};
	if (op->operation == VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2)
		op->notify_residency.nr_pages = bo->ttm.base.size >> PAGE_SHIFT;
	return bo->content.told;
}

/*
 * struct notice_place - walk over the contiguous ranges of a resource: @vram is the position if
 * @res is in VRAM; @pages lists the system pages otherwise
 */
struct notice_place {
	struct pagoda_bo *bo;
	struct ttm_resource *res;
	struct pagoda_vram_cursor vram;
	struct pagoda_adl pages;
};

/* Returns how many of @pages from @first on are consecutive for the device; at least 1. */
static u64 notice_run(const struct pagoda_adl *pages, u64 first)
{
	u64 next = first + 1;

	while (next < pages->nr_pages &&
	       pagoda_adl_page(pages, next) == pagoda_adl_page(pages, next - 1) + PAGE_SIZE)
		next++;
	return next - first;
}

/*
 * Fills in segment and address of page @first of an allocation; in VRAM, of the position of the
 * walk, which advances to the next range. Returns how many pages from @first on are contiguous.
 */
static u64 notice_range(struct notice_place *place, u64 first,
			struct pagoda_op_notify_residency *notice)
{
	u64 nr_pages = place->bo->ttm.base.size >> PAGE_SHIFT;

	notice->flags = VIRTIO_PAGODA_NOTIFY_RESIDENT;
	if (place->res->mem_type == TTM_PL_VRAM) {
		notice->segment = VIRTIO_PAGODA_SEGMENT_VRAM;
		notice->address = place->vram.address;
		nr_pages = place->vram.size >> PAGE_SHIFT;
		pagoda_vram_next(&place->vram, place->vram.size);
	} else if (pagoda_aperture_has_address(place->res)) {
		notice->segment = VIRTIO_PAGODA_SEGMENT_APERTURE;
		notice->address = pagoda_aperture_of(place->res)->node.start << PAGE_SHIFT;
	} else {
		notice->segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
		notice->address = pagoda_adl_page(&place->pages, first);
		nr_pages = notice_run(&place->pages, first);
	}
	return nr_pages;
}

/**
 * pagoda_notice_arrived() - Emit the notices that an allocation is resident
 * @bo: Allocation, reservation held
 * @res: Resource with the content; operations that brought the content were emitted before (C115)
 * @emit: Called with each notice; emits it or adds up its cost
 * @arg: First argument of @emit
 *
 * A caller whose @emit emits notices sets &pagoda_bo.content.told if there were any.
 *
 * Return: Number of notices; 0 if the device isn't to be told, or the allocation isn't resident in
 * @res; or the error of @emit.
 */
int pagoda_notice_arrived(struct pagoda_bo *bo, struct ttm_resource *res,
			  int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg)
{
	struct notice_place place = { .bo = bo, .res = res };
	u64 nr_pages = bo->ttm.base.size >> PAGE_SHIFT;
	int count = 0, ret;
	u64 first, run;

	if (!notice_wanted(bo) || !notice_is_resident(bo, res))
		return 0;
	if (res->mem_type == TTM_PL_VRAM)
		pagoda_vram_first(&place.vram, res, 0, bo->ttm.base.size);
	else
		pagoda_bo_adl(bo, &place.pages);
	for (first = 0; first < nr_pages; first += run) {
		struct pagoda_paging_op op = {
			.operation = notice_opcode(bo),
			.allocation = bo->id,
		};

		run = notice_range(&place, first, &op.notify_residency);
		if (op.operation == VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2) {
			op.notify_residency.offset = first;
			op.notify_residency.nr_pages = run;
		} else {
			/* An allocation that is accessed physically is in a single range. */
			run = nr_pages;
		}
		ret = emit(arg, &op);
		if (ret)
			return ret;
		count++;
	}
	return count;
}

/* ---- NOTIFY_ALLOC: content leaves shared memory ------------------------------ */

/*
 * Returns how many of the last @left bytes of an allocation the next NOTIFY_ALLOC names: all; but
 * if the device has page tables, at most as many as a scratch window maps, through which the device
 * may read the content while it executes the notice.
 */
static u64 eviction_piece(struct pagoda_vidmm *vidmm, u64 left)
{
	return vidmm->mmu ? min(left, PAGODA_SCRATCH_BYTES) : left;
}

static struct pagoda_paging_op eviction_op(struct pagoda_bo *bo, u64 offset, u64 size)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
		.allocation = bo->id,
		.notify_alloc = {
			.offset = offset,
			.size = size,
			.flags = VIRTIO_PAGODA_NOTIFY_EVICTION,
		},
	};
}

static bool eviction_is_written_by_cpu(struct pagoda_vidmm *vidmm)
{
	return vidmm->mmu && pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
}

static struct pagoda_paging_cost eviction_piece_cost(struct pagoda_bo *bo, u64 size)
{
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_paging_op op = eviction_op(bo, 0, size);
	struct pagoda_paging_cost cost = pagoda_stream_cost(vidmm, &op);
	struct pagoda_paging_cost window;

	if (!bo->vidmm->mmu)
		return cost;
	window = pagoda_process_cost(bo->vidmm->mmu, size, pagoda_stream_room(vidmm));
	cost.encoded += window.encoded;
	cost.packets += window.packets;
	return cost;
}

/*
 * Emits NOTIFY_ALLOC for a piece of the allocation. If the device has page tables, first maps the
 * piece in a scratch window, because the device may read the content while it executes the notice
 * (C120); eviction_unmap() unmaps the piece. Returns 0 or a negative errno.
 */
static int eviction_tell(struct pagoda_bo *bo, u64 offset, u64 size,
			 struct pagoda_stream_txn *txn)
{
	const struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = txn };
	struct pagoda_paging_op op = eviction_op(bo, offset, size);
	struct pagoda_adl pages;
	struct pagoda_map map = {
		.size = size,
		.kind = PAGODA_MAP_MEMORY,
		.flags = PAGODA_PTE_NO_EXECUTE,
		.allocation = bo->id,
		.allocation_offset = offset,
		.adl = &pages,
		.adl_offset = offset >> PAGE_SHIFT,
	};
	bool large;

	if (bo->vidmm->mmu) {
		pagoda_bo_adl(bo, &pages);
		op.notify_alloc.address = pagoda_process_map(bo->vidmm->mmu, PAGODA_SCRATCH_SOURCE,
							     &map, &large, &emit);
		pagoda_process_flush(bo->vidmm->mmu, &emit);
	}
	return pagoda_stream_emit(txn, &op);
}

static void eviction_unmap(struct pagoda_bo *bo, struct pagoda_stream_txn *txn)
{
	const struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = txn };

	if (bo->vidmm->mmu)
		pagoda_process_unmap(bo->vidmm->mmu, &emit);
}

/*
 * Emits the notices that an allocation's content leaves shared memory, if NOTIFY_EVICTION is set in
 * @bo->flags; without @txn adds their cost to @cost. The notices cover each byte of the allocation
 * once (C120). Does nothing in CPU_VIRTUAL mode, see pagoda_notice_eviction_wait(). The reservation
 * is held, the tt populated. Returns 0 or the error of pagoda_stream_emit().
 */
int pagoda_notice_eviction(struct pagoda_bo *bo, struct pagoda_stream_txn *txn,
			   struct pagoda_paging_cost *cost)
{
	u64 size = bo->ttm.base.size;
	u64 done, piece;
	int ret = 0;

	if (!(bo->flags & DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION) ||
	    eviction_is_written_by_cpu(bo->vidmm))
		return 0;
	for (done = 0; done < size && !ret; done += piece) {
		piece = eviction_piece(bo->vidmm, size - done);
		if (txn) {
			ret = eviction_tell(bo, done, piece, txn);
			eviction_unmap(bo, txn);
		} else {
			struct pagoda_paging_cost one = eviction_piece_cost(bo, piece);

			cost->encoded += one.encoded;
			cost->packets += one.packets;
		}
	}
	return ret;
}

static int eviction_wait_piece(struct pagoda_bo *bo, u64 offset, u64 size)
{
	struct pagoda_paging_cost cost = eviction_piece_cost(bo, size);
	struct pagoda_stream_txn txn;
	int ret;

	ret = pagoda_stream_begin(&txn, bo->vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, 0,
				  &cost);
	if (ret)
		return ret;
	ret = eviction_tell(bo, offset, size, &txn);
	pagoda_stream_end_wait(&txn);
	pagoda_stream_begin_must(&txn, bo->vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
	eviction_unmap(bo, &txn);
	pagoda_stream_end_wait(&txn);
	return ret;
}

/*
 * In CPU_VIRTUAL mode tells the device that an allocation's content leaves shared memory, if
 * NOTIFY_EVICTION is set in @bo->flags. In this mode the CPU changes page table entries while
 * operations are built, but the scratch window must not change until the device has executed the
 * notice: so each piece of 16 MiB costs two waits for the device. If the move fails afterwards, the
 * device was told in vain, which is allowed. The reservation is held, the tt populated. Returns 0,
 * -ENOMEM, or -EBUSY if a wait is necessary and @no_wait is set. May sleep and allocate.
 */
int pagoda_notice_eviction_wait(struct pagoda_bo *bo, bool no_wait)
{
	u64 size = bo->ttm.base.size;
	u64 done, piece;
	int ret = 0;

	if (!(bo->flags & DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION) ||
	    !eviction_is_written_by_cpu(bo->vidmm))
		return 0;
	if (no_wait)
		return -EBUSY;
	mutex_lock(&bo->vidmm->scratch_lock);
	for (done = 0; done < size && !ret; done += piece) {
		piece = eviction_piece(bo->vidmm, size - done);
		ret = eviction_wait_piece(bo, done, piece);
	}
	mutex_unlock(&bo->vidmm->scratch_lock);
	return ret;
}
