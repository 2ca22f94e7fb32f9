// SPDX-License-Identifier: GPL-2.0
/*
 * Lost content: neither the device nor the CPU could finish a copy or a fill of an allocation, or a
 * reset of the device lost what was in VRAM.
 *
 * The dma_fence signalling path can only mark the allocation (pagoda_bo_mark_lost()). Submissions,
 * page faults, ptrace, dma-buf and moves that copy fill the memory with zeros before they use the
 * content. A reset of the device sets no flag: after a reset &pagoda_bo.content.epoch of an
 * allocation in VRAM differs from pagoda_reset_epoch().
 *
 * Also here: what the CPU wrote through a swizzling range is brought into the tiles before a job
 * uses the allocation, or is lost.
 */
#include <linux/highmem.h>
#include "core/core.h"
#include "core/life.h"
#include "paging/paging.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "bo.h"

/**
 * pagoda_lost_mark() - Get the numbers of losses of content and of resets so far
 * @vidmm: The manager
 *
 * A loss is counted when the allocation is marked, before the fence of the lost operation signals.
 * A reset of the device is counted at once. A loss that a reset caused counts as a reset, too, but
 * may be counted much later than the reset: all paging is given up until the device is rebuilt.
 *
 * Return: A mark for pagoda_lost_since().
 */
u64 pagoda_lost_mark(struct pagoda_vidmm *vidmm)
{
	/*
	 * This acquire pairs with the release in stream_lost_content(): a loss that a reset caused
	 * is added to &pagoda_vidmm.aborts before it is added to &pagoda_vidmm.losses.
	 */
	u32 losses = atomic64_read_acquire(&vidmm->losses);
	u64 resets = pagoda_reset_epoch(vidmm) + atomic64_read(&vidmm->aborts);

	return resets << 32 | losses;
}

/**
 * pagoda_lost_since() - Test whether content of any allocation was lost since a mark
 * @vidmm: The manager
 * @mark: From pagoda_lost_mark(), taken before allocations were looked at
 *
 * Content is lost if a packet that moves or clears an allocation wasn't executed: the allocation's
 * memory may then hold what another allocation left there. A caller first waits for the fences of
 * the paging of its allocations: if 0 is returned then, that paging lost no content.
 *
 * Return: 0 if no loss was counted since @mark; -ECANCELED if losses and resets were counted; -EIO
 * if only losses were counted.
 */
int pagoda_lost_since(struct pagoda_vidmm *vidmm, u64 mark)
{
	u64 differ = pagoda_lost_mark(vidmm) ^ mark;

	if (!lower_32_bits(differ))
		return 0;
	return upper_32_bits(differ) ? -ECANCELED : -EIO;
}

/*
 * Returns whether an allocation's content in VRAM is from before a reset of the device and hasn't
 * been found preserved: the content is undefined then. The reservation is held.
 */
bool pagoda_lost_is_stale(const struct pagoda_bo *bo)
{
	return pagoda_bo_is_in_vram(bo) && bo->content.epoch != pagoda_reset_epoch(bo->vidmm);
}

/*
 * Tells the device that the content of an allocation in VRAM was lost: emits a TRANSFER without
 * size and target (C35, C192). Returns 0 or a negative errno.
 */
static int lost_tell(struct pagoda_bo *bo, struct pagoda_stream_txn *txn)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = bo->id,
		.transfer = {
			.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
			.src.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		},
	};

	return pagoda_stream_emit(txn, &op);
}

/*
 * Returns the number of bytes that the next FILL covers: all that is left of the cursor's
 * contiguous range, but at most PAGODA_PIECE_BYTES.
 */
static u64 lost_piece(const struct pagoda_vram_cursor *cur)
{
	return min_t(u64, cur->size, PAGODA_PIECE_BYTES);
}

/*
 * Returns an upper bound of the cost, for pagoda_stream_begin(), of FILLs of the first @size bytes
 * of an allocation in VRAM and of lost_tell().
 */
static struct pagoda_paging_cost lost_cost(struct pagoda_bo *bo, u64 size)
{
	struct pagoda_vram_cursor cur;
	u32 pieces = 1;

	pagoda_vram_first(&cur, bo->ttm.resource, 0, size);
	for (; cur.size; pagoda_vram_next(&cur, lost_piece(&cur)))
		pieces++;
	return (struct pagoda_paging_cost) {
		.moved = bo->ttm.base.size,
		.encoded = (u64)pieces * sizeof(struct virtio_pagoda_fill),
		.packets = pieces,
	};
}

/*
 * Has the device fill an allocation in VRAM with zeros, after lost_tell() if @tell is set. A page
 * table isn't filled, because its entries are written anew. Waits for jobs that use the allocation,
 * but not from a reset to the end of the rebuild, which mustn't wait for what clients' queued jobs
 * wait for: the device has no jobs until then. A save area is filled at once: no job of its context
 * is in flight, and other jobs of the VM don't use it. Doesn't wait for the FILLs, whose fence
 * becomes a kernel fence of the allocation. Returns 0 or a negative errno.
 */
static int lost_fill(struct pagoda_bo *bo, bool tell)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.allocation = bo->id,
		.fill.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	};
	u64 size = bo->vm.table_of ? 0 : bo->ttm.base.size;
	bool unused = pagoda_reset_is_pending(bo->vidmm) || bo->vm.save_of;
	struct dma_resv *users = unused ? NULL : resv;
	const struct pagoda_paging_cost cost = lost_cost(bo, size);
	struct pagoda_vram_cursor cur;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	int ret;

	ret = dma_resv_reserve_fences(resv, 1);
	if (!ret && users)
		ret = pagoda_stream_await(bo->vidmm, users, DMA_RESV_USAGE_BOOKKEEP, false);
	if (!ret)
		ret = pagoda_stream_begin(&txn, bo->vidmm, bo, PAGODA_STREAM_WAITS_NOT, users,
					  DMA_RESV_USAGE_BOOKKEEP, &cost);
	if (ret)
		return ret;
	if (tell)
		ret = lost_tell(bo, &txn);
	pagoda_vram_first(&cur, bo->ttm.resource, 0, size);
	while (cur.size && !ret) {
		op.fill.address = cur.address;
		op.fill.size = lost_piece(&cur);
		ret = pagoda_stream_emit(&txn, &op);
		pagoda_vram_next(&cur, op.fill.size);
	}
	fence = pagoda_stream_end(&txn);
	if (fence)
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_KERNEL);
	dma_fence_put(fence);
	return ret;
}

static void lost_clear_pages(struct ttm_tt *tt)
{
	u32 i;

	if (!tt || !ttm_tt_is_populated(tt))
		return;
	for (i = 0; i < tt->num_pages; i++)
		clear_highpage(tt->pages[i]);
}

/**
 * pagoda_lost_clear() - Replace the lost content of an allocation by zeros
 * @bo: Allocation, reservation held
 *
 * Does nothing unless content was lost or partly discarded, or a reset found @bo in VRAM, since the
 * last call. Waits for paging under way, unless a reset ended it, and in VRAM for jobs that use @bo
 * (but not before the rebuild after a reset has ended), yet not until the device has filled VRAM;
 * system pages are cleared at once, by the CPU. A copy that is still under way may lose content,
 * too: a caller that gives access to the content waits for the copy first.
 *
 * &pagoda_bo.content.lost stays set, so that the client is told of the loss.
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno; after an error the allocation still has to be filled.
 */
int pagoda_lost_clear(struct pagoda_bo *bo)
{
	bool stale = pagoda_lost_is_stale(bo);
	u64 epoch = bo->content.epoch;
	int ret = 0;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (stale)
		pagoda_bo_mark_lost(bo);
	/* Pairs with pagoda_bo_mark_lost(): sees losses by paging whose fence has signalled. */
	if (!smp_load_acquire(&bo->content.unclean))
		return 0;
	if (!stale)
		pagoda_stream_wait_resv(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL);
	WRITE_ONCE(bo->content.unclean, false);
	pagoda_settled_clear(bo);
	pagoda_copy_written(bo);
	/* Zeros are the same in rows and in tiles: no swizzling range is needed from now on. */
	pagoda_swizzle_drop(bo);
	if (pagoda_bo_is_in_vram(bo)) {
		bo->content.epoch = pagoda_reset_epoch(bo->vidmm);
		ret = lost_fill(bo, stale);
	} else {
		lost_clear_pages(bo->ttm.ttm);
	}
	if (ret) {
		bo->content.epoch = epoch;
		WRITE_ONCE(bo->content.unclean, true);
	}
	return ret;
}

static int lost_acknowledge(struct pagoda_bo *bo)
{
	int ret = dma_resv_lock_interruptible(bo->ttm.base.resv, NULL);

	if (ret)
		return -ERESTARTSYS;
	/*
	 * Clear the content now: if that was left until later, content from before a reset would
	 * set @lost again.
	 */
	ret = pagoda_lost_clear(bo);
	if (!ret && READ_ONCE(bo->content.lost)) {
		WRITE_ONCE(bo->content.lost, false);
		/*
		 * @lost is cleared before @unclean is read: this barrier pairs with that in
		 * pagoda_bo_mark_lost(), so that a loss after pagoda_lost_clear() isn't forgotten.
		 */
		smp_mb();
		if (READ_ONCE(bo->content.unclean))
			WRITE_ONCE(bo->content.lost, true);
		ret = -EIO;
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/**
 * pagoda_lost_acknowledge() - Report lost content to the client and clear &pagoda_bo.content.lost
 * @bo: Allocation
 *
 * Fills the allocation with zeros if that wasn't done since the loss, as pagoda_lost_clear().
 *
 * Context: May sleep and allocate. Outside of pagoda_enter() sections; no reservation is held.
 * Return: 0 if no content was lost since the last call; -EIO if content was lost, which is
 * acknowledged now; another negative errno: the loss is still to be acknowledged.
 */
int pagoda_lost_acknowledge(struct pagoda_bo *bo)
{
	int ret = pagoda_enter(bo->vidmm);

	if (ret)
		return ret;
	ret = lost_acknowledge(bo);
	pagoda_leave(bo->vidmm);
	return ret;
}

/**
 * pagoda_lost_settle() - Replace the lost content of an allocation by zeros, and wait for them
 * @bo: Allocation, reservation held
 *
 * As pagoda_lost_clear(), but also waits until the memory is filled with zeros. If no content was
 * lost so far, doesn't wait at all, not even for a copy under way.
 *
 * Context: May sleep and allocate.
 * Return: 0, an error of pagoda_lost_clear(), or -EIO if the zeros were lost, too.
 */
int pagoda_lost_settle(struct pagoda_bo *bo)
{
	int ret;

	/* Pairs with pagoda_bo_mark_lost(): sees losses by paging whose fence has signalled. */
	if (!smp_load_acquire(&bo->content.unclean) && !pagoda_lost_is_stale(bo))
		return 0;
	ret = pagoda_lost_clear(bo);
	if (ret)
		return ret;
	pagoda_stream_wait_resv(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL);
	return READ_ONCE(bo->content.unclean) || pagoda_lost_is_stale(bo) ? -EIO : 0;
}

/**
 * pagoda_swizzle_use() - Bring the CPU's writes into an allocation's tiles, which a job may use
 * @bo: Allocation that the job may use; reservation held until the job's fence is added
 *
 * Releases the allocation's swizzling range, if there is one: if the range's window was shown to
 * the CPU, the device writes the content from there to the tiles. If that fails, the content is
 * lost and replaced by zeros.
 *
 * Context: May sleep and allocate.
 * Return: 0, or a negative errno if lost content can't be replaced by zeros.
 */
int pagoda_swizzle_use(struct pagoda_bo *bo)
{
	return pagoda_swizzle_release(bo) ? pagoda_lost_clear(bo) : 0;
}

/**
 * pagoda_swizzle_use_private() - Call pagoda_swizzle_use() for a VM's private allocations
 * @vidmm: Memory manager
 * @vm: VM of the job; its reservation is held until the job's fence is added
 *
 * Covers each private allocation that has a swizzling range, mapped in the VM or not: the job may
 * wait for a VM_BIND that maps the allocation later.
 *
 * Context: May sleep and allocate.
 * Return: 0, or a negative errno if lost content can't be replaced by zeros.
 */
int pagoda_swizzle_use_private(struct pagoda_vidmm *vidmm, const struct pagoda_vm *vm)
{
	struct pagoda_bo *bo;
	int ret = 0;

	if (!vidmm->info->swizzling_ranges)
		return 0;
	while (!ret && (bo = pagoda_swizzle_find_private(vidmm, vm))) {
		ret = pagoda_swizzle_use(bo);
		drm_gem_object_put(&bo->ttm.base);
	}
	return ret;
}
