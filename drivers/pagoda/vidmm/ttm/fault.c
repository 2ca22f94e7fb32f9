// SPDX-License-Identifier: GPL-2.0
/*
 * CPU page faults, and accesses of ptrace and /proc/<pid>/mem to mappings. A mapping shows the
 * allocation wherever the allocation is (C34): TTM removes the page table entries before a move,
 * and the next fault adds entries again. An allocation in VRAM that the CPU can't reach, or that
 * isn't declared CPU-visible, is moved first. A tiled allocation in VRAM is shown in the window of
 * a swizzling range, or moved if it gets no range.
 *
 * A fault holds mmap_lock. At the first try of a fault that can be retried, TTM only tries to lock
 * the reservation, so that mmap_lock isn't held during a wait. Where TTM or this file drops
 * mmap_lock to wait, the fault ends in VM_FAULT_RETRY with the reservation dropped, and neither the
 * area nor the object may be touched again.
 *
 * A swizzling range is shown only while no job uses the allocation; a move, and a fill of VRAM that
 * lost its content, come after jobs and other devices that use the allocation. These may take as
 * long as a client wants: the fault waits for them without holding a lock. But a fault that was
 * retried, or can't be retried, waits with locks held, so that no new jobs come first: before a
 * range is shown up to FAULT_LINGER; before a move or a fill for jobs that have a place of an
 * engine, which end within their time limit.
 */
#include <linux/mm.h>
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <drm/drm_vma_manager.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "core/trace.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

/*
 * Longest wait in jiffies for jobs with locks held, when a fault is tried again. Without this wait
 * a client that always has jobs queued would queue the next jobs before each new try.
 */
#define FAULT_LINGER	(HZ / 10 ?: 1)

/* Returns whether an allocation has to leave its present place before the CPU can map it. */
bool pagoda_fault_must_move(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (res->mem_type != TTM_PL_VRAM)
		return false;
	/* An allocation that isn't declared CPU-visible isn't shown in VRAM (C175). */
	if (!(bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE))
		return true;
	return !bo->tiling.layout.tiling && !pagoda_vram_is_visible(bo->vidmm, res);
}

/*
 * Moves an allocation with pagoda_fault_must_move() to where the CPU can map it, once jobs with a
 * place of an engine that use the allocation have ended. Returns 0; -EINPROGRESS with *@late set to
 * a fence to wait for, without the reservation, before the next call, if other work uses the
 * allocation, such as that of an importer that was told of the move; -ENOMEM, -EBUSY, -EINTR,
 * -ERESTARTSYS, or another error of pagoda_bo_place(). The caller holds the reservation.
 */
int pagoda_fault_bring(struct pagoda_bo *bo, bool interruptible, struct dma_fence **late)
{
	struct pagoda_operation op = {
		.ttm.interruptible = interruptible,
		.flags = PAGODA_PL_PROMPT,
	};
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_cpu, &op);

	*late = op.late;
	return ret;
}

/*
 * Waits for work that uses the allocation, before a move or a fill that would wait in spite of
 * signals. If the caller is to wait without locks, sets *@busy to the fence and returns
 * VM_FAULT_RETRY, with all locks still held: for any work at the first try of a fault that can be
 * retried, else for other devices and jobs without a place of an engine. Returns 0 if no work is
 * left; VM_FAULT_NOPAGE if a signal ended the wait; VM_FAULT_RETRY with *@busy unchanged if the
 * fault must not wait.
 */
static vm_fault_t fault_await(struct pagoda_bo *bo, struct vm_fault *vmf, struct dma_fence **busy)
{
	struct dma_resv *resv = bo->ttm.base.resv;

	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	pagoda_stream_flush(bo->vidmm);
	if (!fault_flag_allow_retry_first(vmf->flags) ||
	    dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, busy))
		*busy = pagoda_stream_get_queued(bo->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP);
	if (*busy)
		return VM_FAULT_RETRY;
	return dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, true,
				     MAX_SCHEDULE_TIMEOUT) < 0 ? VM_FAULT_NOPAGE : 0;
}

/* Returns whether an allocation is in VRAM, and its lost content has to be replaced by zeros. */
static bool fault_must_fill(const struct pagoda_bo *bo)
{
	return pagoda_bo_is_in_vram(bo) &&
	       (READ_ONCE(bo->content.unclean) || pagoda_lost_is_stale(bo));
}

/*
 * Moves an allocation to where the CPU can map it, after fault_await() if work uses the allocation.
 * Signals don't end the move. Returns 0, or a VM_FAULT_* value as fault_await() or for an error;
 * also VM_FAULT_RETRY with *@busy set if an importer that was told of the move has added a fence.
 */
static vm_fault_t fault_move(struct pagoda_bo *bo, struct vm_fault *vmf, struct dma_fence **busy)
{
	vm_fault_t waited = 0;
	int ret;

	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	if (pagoda_vm_bo_is_used(bo) || fault_must_fill(bo))
		waited = fault_await(bo, vmf, busy);
	if (waited)
		return waited;
	ret = pagoda_fault_bring(bo, false, busy);
	if (ret == -EINPROGRESS)
		return VM_FAULT_RETRY;
	if (ret == -EBUSY)
		return VM_FAULT_NOPAGE;
	if (ret)
		return VM_FAULT_SIGBUS;
	atomic64_inc(&bo->vidmm->stats.faults);
	return 0;
}

/*
 * Waits for paging of the allocation, because the caller has to know whether this paging lost
 * content, which the caller then replaces by zeros. TTM waits for paging, too, but later, and with
 * the reservation held. At the first try of a fault that can be retried, doesn't wait, but sets
 * *@busy to the fence and returns VM_FAULT_RETRY; with FAULT_FLAG_RETRY_NOWAIT returns
 * VM_FAULT_RETRY only. Returns 0 if no paging is left, or VM_FAULT_NOPAGE if a signal ended the
 * wait. Drops no lock.
 */
static vm_fault_t fault_wait(struct pagoda_bo *bo, struct vm_fault *vmf, struct dma_fence **busy)
{
	struct dma_resv *resv = bo->ttm.base.resv;

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL))
		return 0;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	pagoda_stream_flush(bo->vidmm);
	if (!fault_flag_allow_retry_first(vmf->flags))
		return dma_resv_wait_timeout(resv, DMA_RESV_USAGE_KERNEL, true,
					     MAX_SCHEDULE_TIMEOUT) < 0 ? VM_FAULT_NOPAGE : 0;
	if (dma_resv_get_singleton(resv, DMA_RESV_USAGE_KERNEL, busy))
		*busy = pagoda_access_user(bo, DMA_RESV_USAGE_KERNEL);
	return *busy ? VM_FAULT_RETRY : 0;
}

static void fault_trace(struct pagoda_bo *bo, struct vm_fault *vmf, bool moved)
{
	unsigned long page = vmf->pgoff - drm_vma_node_start(&bo->ttm.base.vma_node);

	trace_pagoda_cpu_fault(dev_name(bo->vidmm->drm->dev), bo->id, (u64)page << PAGE_SHIFT,
			       pagoda_segment_of(bo->ttm.resource), moved);
}

/*
 * Returns a reference to an unsignalled fence of jobs or other work that uses the allocation; NULL
 * if there is none, or the swizzling range is shown already. A fault that was tried before, or that
 * can't be tried again, first waits for that work, up to FAULT_LINGER.
 */
static struct dma_fence *fault_find_user(struct pagoda_bo *bo, struct vm_fault *vmf)
{
	if (pagoda_swizzle_is_shown(bo))
		return NULL;
	if (!fault_flag_allow_retry_first(vmf->flags))
		dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP, true,
				      FAULT_LINGER);
	return pagoda_access_user(bo, DMA_RESV_USAGE_BOOKKEEP);
}

/*
 * Returns true if the CPU must not map an allocation, because the device is being reset or rebuilt:
 * false for the page of a monitored fence, whose value tells clients of the reset.
 */
static bool fault_is_hidden(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(ttm_bo->bdev);

	return pagoda_reset_is_hidden(vidmm) && !pagoda_bo_of_ttm(ttm_bo)->is_fence;
}

/*
 * Replaces lost content by zeros, in VRAM after fault_await(), and waits until that is done.
 * Returns 0 if the content can be shown; what fault_await() returns; VM_FAULT_NOPAGE if a reset
 * came meanwhile, so that the access faults anew and waits for the rebuild; else VM_FAULT_SIGBUS.
 */
static vm_fault_t fault_settle(struct pagoda_bo *bo, struct vm_fault *vmf, struct dma_fence **busy)
{
	u64 epoch = pagoda_reset_epoch(bo->vidmm);
	vm_fault_t ret = fault_must_fill(bo) ? fault_await(bo, vmf, busy) : 0;

	if (ret)
		return ret;
	if (!pagoda_lost_settle(bo))
		return 0;
	return fault_is_hidden(&bo->ttm) || epoch != pagoda_reset_epoch(bo->vidmm) ?
	       VM_FAULT_NOPAGE : VM_FAULT_SIGBUS;
}

/*
 * Shows a tiled allocation in VRAM in a swizzling range, once paging of the allocation has ended,
 * if no job uses the allocation. Sets *@move if the allocation gets no range and has to be moved.
 * If VM_FAULT_RETRY is returned and *@busy set, no lock was dropped: the caller has to wait for
 * *@busy. Returns 0 or a VM_FAULT_* value.
 */
static vm_fault_t fault_show(struct pagoda_bo *bo, struct vm_fault *vmf, bool *move,
			     struct dma_fence **busy)
{
	vm_fault_t ret;
	int error;

	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT && !pagoda_swizzle_is_shown(bo))
		return VM_FAULT_RETRY;
	ret = fault_wait(bo, vmf, busy);
	if (ret)
		return ret;
	*busy = fault_find_user(bo, vmf);
	if (*busy)
		return VM_FAULT_RETRY;
	ret = fault_settle(bo, vmf, busy);
	if (ret)
		return ret;
	error = pagoda_swizzle_acquire(bo, busy);
	*move = error;
	return error == -EAGAIN ? VM_FAULT_RETRY : 0;
}

/*
 * Unlocks the reservation, then waits for @busy, the fence of work that uses the allocation, or of
 * another allocation's copy through a swizzling range. If the fault can be retried, first drops
 * mmap_lock, too; else returns VM_FAULT_NOPAGE, so that the access faults anew.
 */
static vm_fault_t fault_wait_busy(struct pagoda_bo *bo, struct vm_fault *vmf,
				  struct dma_fence *busy)
{
	bool retry = vmf->flags & FAULT_FLAG_ALLOW_RETRY;
	struct drm_gem_object *gem = &bo->ttm.base;

	drm_gem_object_get(gem);
	dma_resv_unlock(gem->resv);
	if (retry)
		mmap_read_unlock(vmf->vma->vm_mm);
	dma_fence_wait(busy, true);
	dma_fence_put(busy);
	drm_gem_object_put(gem);
	return retry ? VM_FAULT_RETRY : VM_FAULT_NOPAGE;
}

/*
 * Populates an allocation outside of VRAM by pagoda_pages_populate(), in which threads take turns
 * while memory is short, as they don't in TTM's fault code. Returns 0, or for an error the
 * VM_FAULT_* value that TTM's fault code would return.
 */
static vm_fault_t fault_populate(struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	int ret = 0;

	if (bo->ttm.resource->mem_type != TTM_PL_VRAM)
		ret = pagoda_pages_populate(bo, &ctx);
	if (!ret)
		return 0;
	return ret == -EINTR || ret == -ERESTARTSYS || ret == -EAGAIN ? VM_FAULT_NOPAGE :
								      VM_FAULT_SIGBUS;
}

/*
 * Returns the protection of page table entries that allow all that the mapping does. The kernel
 * keeps &vm_area_struct.vm_page_prot of a shared mapping read-only, because pagoda_bo_vm_ops has
 * pfn_mkwrite. Nothing else changes vm_page_prot: TTM derives the caching of each page itself.
 */
static pgprot_t fault_all_rights(const struct vm_area_struct *vma)
{
	return vm_get_page_prot(vma->vm_flags);
}

/*
 * Returns the protection of the page table entries that a fault adds: read-only if the mapping may
 * not be written, or if the access reads and the allocation has a kept copy that may be up to date;
 * then bo_write() notices the first write. Else the entries are writable. The driver doesn't see
 * what the CPU writes from then on, so the kept copy, if any, of the pages that the entries may map
 * counts as outdated.
 */
static pgprot_t fault_protection(struct pagoda_bo *bo, struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 offset = (u64)(vmf->pgoff - drm_vma_node_start(&bo->ttm.base.vma_node)) << PAGE_SHIFT;

	if (!(vma->vm_flags & VM_WRITE) ||
	    (!(vmf->flags & FAULT_FLAG_WRITE) && pagoda_copy_is_watched(bo)))
		return vma->vm_page_prot;
	pagoda_copy_touched(bo, offset, TTM_BO_VM_NUM_PREFAULT << PAGE_SHIFT);
	return fault_all_rights(vma);
}

static vm_fault_t fault_reserved(struct pagoda_bo *bo, struct vm_fault *vmf,
				 struct dma_fence **busy)
{
	vm_fault_t ret;
	bool move;

	dma_resv_assert_held(bo->ttm.base.resv);
	/* A client that offers an allocation promises not to access its content (C171). */
	if (pagoda_offer_refuses(bo))
		return VM_FAULT_SIGBUS;
	move = pagoda_fault_must_move(bo);
	if (!move && bo->tiling.layout.tiling && bo->ttm.resource->mem_type == TTM_PL_VRAM) {
		ret = fault_show(bo, vmf, &move, busy);
		if (ret)
			return ret;
	}
	if (move) {
		ret = fault_move(bo, vmf, busy);
		if (ret)
			return ret;
	}
	fault_trace(bo, vmf, move);
	ret = fault_wait(bo, vmf, busy);
	if (ret)
		return ret;
	ret = fault_settle(bo, vmf, busy);
	if (ret)
		return ret;
	ret = fault_populate(bo);
	if (ret)
		return ret;
	return ttm_bo_vm_fault_reserved(vmf, fault_protection(bo, vmf), TTM_BO_VM_NUM_PREFAULT);
}

static void fault_free_page(struct drm_device *drm, void *page)
{
	__free_page(page);
}

/*
 * Maps a new page with the value that a monitored fence has once the device is gone: U64_MAX, so
 * that a program which polls the value notices; or, if the fence was created with NO_MAX_ON_RESET,
 * the last value that it had. Returns a VM_FAULT_* value.
 */
static vm_fault_t fault_gone_fence(struct pagoda_bo *bo, struct vm_fault *vmf)
{
	struct drm_device *drm = bo->ttm.base.dev;
	struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	u64 *here;

	if (!page || drmm_add_action_or_reset(drm, fault_free_page, page))
		return VM_FAULT_OOM;
	here = kmap_local_page(page);
	*here = READ_ONCE(bo->fence_left);
	kunmap_local(here);
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, page_to_pfn(page),
				   fault_all_rights(vmf->vma));
}

static vm_fault_t fault_wait_rebuilt(struct ttm_buffer_object *ttm_bo, struct vm_fault *vmf)
{
	if (!fault_is_hidden(ttm_bo))
		return 0;
	if (!fault_flag_allow_retry_first(vmf->flags))
		return VM_FAULT_NOPAGE;
	if (vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_RETRY;
	drm_gem_object_get(&ttm_bo->base);
	mmap_read_unlock(vmf->vma->vm_mm);
	pagoda_reset_wait(pagoda_vidmm_of_ttm(ttm_bo->bdev));
	drm_gem_object_put(&ttm_bo->base);
	return VM_FAULT_RETRY;
}

static vm_fault_t bo_fault(struct vm_fault *vmf)
{
	struct ttm_buffer_object *ttm_bo = vmf->vma->vm_private_data;
	bool nowait = vmf->flags & FAULT_FLAG_RETRY_NOWAIT;
	struct dma_fence *busy = NULL;
	vm_fault_t ret;
	int idx;

	ret = fault_wait_rebuilt(ttm_bo, vmf);
	if (!ret)
		ret = ttm_bo_vm_reserve(ttm_bo, vmf);
	if (ret)
		return ret;
	if (drm_dev_enter(ttm_bo->base.dev, &idx)) {
		ret = fault_reserved(pagoda_bo_of_ttm(ttm_bo), vmf, &busy);
		drm_dev_exit(idx);
	} else if (pagoda_bo_of_ttm(ttm_bo)->is_fence) {
		ret = fault_gone_fence(pagoda_bo_of_ttm(ttm_bo), vmf);
	} else {
		ret = ttm_bo_vm_dummy_page(vmf, fault_all_rights(vmf->vma));
	}
	if (busy && !nowait)
		return fault_wait_busy(pagoda_bo_of_ttm(ttm_bo), vmf, busy);
	dma_fence_put(busy);
	if (ret == VM_FAULT_RETRY && !nowait)
		return ret;
	/* A reset that began before the page table entries were added may have missed these. */
	if (fault_is_hidden(ttm_bo))
		ttm_bo_unmap_virtual(ttm_bo);
	dma_resv_unlock(ttm_bo->base.resv);
	return ret;
}

/*
 * Returns 0 with the reservation locked, when pagoda_move_access() has no fence to wait for; or a
 * negative errno. Waits for such fences, which may be those of jobs, without the reservation, but
 * under mmap_lock, which callers of vm_operations_struct.access hold.
 */
static int fault_access_lock(struct pagoda_bo *bo)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	struct dma_fence *user;
	int ret;

	for (;;) {
		ret = dma_resv_lock_interruptible(resv, NULL);
		user = ret ? NULL : pagoda_access_blocker(bo);
		if (!user)
			return ret;
		dma_resv_unlock(resv);
		ret = dma_fence_wait(user, true);
		dma_fence_put(user);
		if (ret)
			return ret;
	}
}

/*
 * Reads or writes a mapping for ptrace and /proc/<pid>/mem. ttm_bo_vm_access() isn't used, because
 * it reads system pages without waiting for the copy that fills them. Returns @len or a negative
 * errno.
 */
static int bo_access(struct vm_area_struct *vma, unsigned long addr, void *buf, int len, int write)
{
	struct ttm_buffer_object *ttm_bo = vma->vm_private_data;
	u64 first = vma->vm_pgoff - drm_vma_node_start(&ttm_bo->base.vma_node);
	u64 offset = addr - vma->vm_start + (first << PAGE_SHIFT);
	int ret, idx;

	if (len < 1 || offset + len > ttm_bo->base.size)
		return -EIO;
	/*
	 * A debugger may write to a read-only mapping, but not if VM_MAYWRITE is clear (C182).
	 */
	if (write && !(vma->vm_flags & VM_MAYWRITE))
		return -EACCES;
	ret = fault_access_lock(pagoda_bo_of_ttm(ttm_bo));
	if (ret)
		return ret;
	ret = -ENODEV;
	if (drm_dev_enter(ttm_bo->base.dev, &idx)) {
		ret = pagoda_move_access(pagoda_bo_of_ttm(ttm_bo), offset, buf, len, write);
		if (fault_is_hidden(ttm_bo))
			ret = -EIO;
		drm_dev_exit(idx);
	}
	dma_resv_unlock(ttm_bo->base.resv);
	return ret;
}

/*
 * &vm_operations_struct.pfn_mkwrite: the CPU writes to a page whose entry is read-only
 * (fault_protection()). Removes the entry: the access faults anew, as a write, and bo_fault() notes
 * the write with the reservation held.
 */
static vm_fault_t bo_write(struct vm_fault *vmf)
{
	zap_special_vma_range(vmf->vma, vmf->address & PAGE_MASK, PAGE_SIZE);
	return VM_FAULT_NOPAGE;
}

const struct vm_operations_struct pagoda_bo_vm_ops = {
	.fault = bo_fault,
	.pfn_mkwrite = bo_write,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.access = bo_access,
};
