// SPDX-License-Identifier: GPL-2.0
/*
 * Notices: what the device is told about where allocations are.
 *
 *	NOTIFY_RESIDENCY	an allocation that is accessed physically and asked for
 *				it (C113) is at this address now, or nowhere
 *	NOTIFY_RESIDENCY2	the same for one that is accessed by virtual addresses:
 *				one notice for each contiguous range
 *	NOTIFY_ALLOC		content is about to leave shared memory
 *
 * One commit, one evict, however many pieces the content moves in (C114). A move from
 * one place of the GPU's to another is both. System pages without an address in the
 * aperture are a place that only virtual addresses reach: for NOTIFY_RESIDENCY they
 * are nowhere, for NOTIFY_RESIDENCY2 they are ranges of the system segment.
 *
 * What a device has no opcode for it isn't told.
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

/* Can the GPU use the allocation there, as it is used? */
static bool notice_is_resident(const struct pagoda_bo *bo, struct ttm_resource *res)
{
	if (!res || res->mem_type == TTM_PL_SYSTEM)
		return false;
	return res->mem_type == TTM_PL_VRAM || pagoda_aperture_has_address(res) ||
	       !(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY);
}

/**
 * pagoda_notice_left() - The notice that an allocation isn't resident any more
 * @bo: Allocation, reservation held, or no other user is left
 * @op: Filled if true is returned
 *
 * To be emitted before anything happens to the content (C115), and before
 * DISCARD_CONTENT. The caller that emits it clears &pagoda_bo.content.told.
 *
 * Context: Any.
 * Return: Whether there is one to give.
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

/**
 * struct notice_place - Ranges of a resource, one after another
 * @bo: Allocation
 * @res: Resource
 * @vram: Walk over it if it is VRAM
 * @pages: Its pages if it has no address
 */
struct notice_place {
	struct pagoda_bo *bo;
	struct ttm_resource *res;
	struct pagoda_vram_cursor vram;
	struct pagoda_adl pages;
};

static u64 notice_run(const struct pagoda_adl *pages, u64 first)
{
	u64 next = first + 1;

	while (next < pages->nr_pages &&
	       pagoda_adl_page(pages, next) == pagoda_adl_page(pages, next - 1) + PAGE_SIZE)
		next++;
	return next - first;
}

/* Where page @first is, and how many follow it there. */
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
 * pagoda_notice_arrived() - The notices that an allocation is resident
 * @bo: Allocation, reservation held
 * @res: Where; what put its content there was emitted (C115)
 * @emit: Takes the operations
 * @arg: Its first argument
 *
 * The caller that emits them sets &pagoda_bo.content.told if there were any.
 *
 * Context: As @emit allows.
 * Return: Number of operations, 0 if there is nothing to tell; or what @emit answered.
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
			/* Physical means in one piece: where it begins says it all. */
			run = nr_pages;
		}
		ret = emit(arg, &op);
		if (ret)
			return ret;
		count++;
	}
	return count;
}

/* ---- Eviction out of shared memory ------------------------------------------ */

/* Most of an allocation that a window shows at once. */
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

/* The piece is in the window while the notice is executed, so that it can be read (C120). */
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

/**
 * pagoda_notice_eviction() - Tell that content leaves shared memory, or what that costs
 * @bo: Allocation that is in shared memory, populated; reservation held
 * @txn: The move's transaction, or NULL: costs
 * @cost: Costs are added here
 *
 * In pieces that together are the allocation, each once (C120). Nothing in CPU_VIRTUAL
 * mode, which pagoda_notice_eviction_wait() is for.
 *
 * Context: Between pagoda_stream_begin() and end if there is a transaction.
 * Return: 0 or what pagoda_stream_emit() answered.
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

	ret = pagoda_stream_begin(&txn, bo->vidmm, NULL, NULL, DMA_RESV_USAGE_KERNEL, &cost);
	if (ret)
		return ret;
	ret = eviction_tell(bo, offset, size, &txn);
	pagoda_stream_end_wait(&txn);
	pagoda_stream_begin_must(&txn, bo->vidmm, NULL, NULL, &cost);
	eviction_unmap(bo, &txn);
	pagoda_stream_end_wait(&txn);
	return ret;
}

/**
 * pagoda_notice_eviction_wait() - pagoda_notice_eviction() in CPU_VIRTUAL mode
 * @bo: Allocation that is in shared memory, populated; reservation held
 * @no_wait: Answer -EBUSY instead of waiting
 *
 * There entries change while they are built: the window is one user's from before the
 * notice is built until it was executed. So each piece, 16 MiB, costs two waits for the
 * device. Only allocations that asked for notices pay. If the move then fails the device was
 * told for nothing, which it has to bear anyway: a notice is no order.
 *
 * Context: May sleep and allocate; waits for the device.
 * Return: 0, -ENOMEM or -EBUSY.
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
