// SPDX-License-Identifier: GPL-2.0
/*
 * Residency of lists: all or nothing (C147).
 *
 * A list is locked as a whole, then brought in piece by piece. Nothing of it can
 * be evicted meanwhile: TTM only tries for reservations first and then asks for
 * them with the list's own ticket, which tells it that they are ours already.
 *
 * When TTM finds no room although the list fits, other lists are in the way, or
 * what was closed but isn't gone yet. It is tried again alone, after TTM's own
 * work, and then once more after the list's own allocations have left VRAM,
 * because they may lie where a contiguous one has to go.
 */
#include <drm/drm_exec.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

#define VRAM_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

/**
 * enum residency_attempt - How hard it is tried
 * @SHARED: beside other lists
 * @ALONE: no other list is locked
 * @EMPTIED: alone, and the list leaves VRAM first
 * @ATTEMPTS: number of attempts
 */
enum residency_attempt {
	SHARED,
	ALONE,
	EMPTIED,
	ATTEMPTS
};

/**
 * struct residency_list - A list being worked on
 * @vidmm: Manager
 * @bos: Allocations, each once
 * @count: Their number
 * @process: What is done to each; reservation held
 * @resident: What they are afterwards
 * @attempt: How hard it is tried
 */
struct residency_list {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo **bos;
	u32 count;
	int (*process)(struct pagoda_bo *bo);
	bool resident;
	enum residency_attempt attempt;
};

static u64 residency_vram_size(struct pagoda_vidmm *vidmm)
{
	u64 size = vidmm->info->vram_size;
	u32 i;

	for (i = 0; i < vidmm->info->nr_invalid; i++)
		size -= vidmm->info->invalid[i].size;
	return size;
}

static u64 residency_excess(u64 need, u64 room)
{
	return need > room ? need - room : 0;
}

/* Bytes of the list that fit nowhere even if it had the device for itself. */
static u64 residency_misfit(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count)
{
	u64 aperture = vidmm->info->aperture_pages << PAGE_SHIFT;
	u64 vram = residency_vram_size(vidmm);
	u64 only_vram = 0, only_aperture = 0, either = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		u64 size = bos[i]->ttm.base.size;

		if (bos[i]->supported == VRAM_BIT)
			only_vram += size;
		else if (!(bos[i]->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY))
			continue; /* needs no address: system pages will do */
		else if (bos[i]->supported == APERTURE_BIT)
			only_aperture += size;
		else
			either += size;
	}
	return max3(residency_excess(only_vram, vram),
		    residency_excess(only_aperture, aperture),
		    residency_excess(only_vram + only_aperture + either, vram + aperture));
}

static int residency_validate(struct pagoda_bo *bo,
			      u32 (*fill)(struct pagoda_bo *bo, struct ttm_place *places))
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_place places[4];
	struct ttm_placement placement = { .placement = places };

	placement.num_placement = fill(bo, places);
	return ttm_bo_validate(&bo->ttm, &placement, &ctx);
}

static int residency_process_make(struct pagoda_bo *bo)
{
	return residency_validate(bo, pagoda_bo_placement_resident);
}

static int residency_process_evict(struct pagoda_bo *bo)
{
	if (bo->ttm.resource->mem_type == TTM_PL_SYSTEM)
		return 0;
	return residency_validate(bo, pagoda_bo_placement_evicted);
}

static int residency_leave_vram(struct residency_list *list)
{
	u32 i;
	int ret;

	for (i = 0; i < list->count; i++) {
		if (list->bos[i]->ttm.resource->mem_type != TTM_PL_VRAM)
			continue;
		ret = residency_process_evict(list->bos[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* Many moves share paging buffers while the stream is plugged. */
static int residency_process(struct residency_list *list)
{
	int ret = 0;
	u32 i;

	pagoda_stream_plug(list->vidmm);
	if (list->attempt == EMPTIED)
		ret = residency_leave_vram(list);
	for (i = 0; i < list->count && !ret; i++)
		ret = list->process(list->bos[i]);
	pagoda_stream_unplug(list->vidmm);
	return ret;
}

/* All kernel fences are of the paging timeline: the latest stands for all. */
static struct dma_fence *residency_later(struct dma_fence *latest, struct dma_resv *resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_KERNEL, fence) {
		if (dma_fence_is_signaled(fence))
			continue;
		if (latest && !dma_fence_is_later(fence, latest))
			continue;
		dma_fence_put(latest);
		latest = dma_fence_get(fence);
	}
	return latest;
}

/* Point of no return: from here on the list is what was asked for. */
static struct dma_fence *residency_commit(struct residency_list *list)
{
	struct dma_fence *fence = NULL;
	u32 i;

	for (i = 0; i < list->count; i++) {
		struct pagoda_bo *bo = list->bos[i];

		WRITE_ONCE(bo->resident, list->resident);
		fence = residency_later(fence, bo->ttm.base.resv);
		if (list->resident)
			ttm_bo_move_to_lru_tail_unlocked(&bo->ttm);
	}
	return fence;
}

static int residency_lock_list(struct drm_exec *exec, struct residency_list *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < list->count && !ret; i++)
		ret = drm_exec_prepare_obj(exec, &list->bos[i]->ttm.base, 1);
	return ret;
}

/* The work is inside of the loop, where the ticket may still ask for victims. */
static int residency_run_locked(struct residency_list *list, struct dma_fence **fence)
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT, list->count);
	drm_exec_until_all_locked(&exec) {
		ret = residency_lock_list(&exec, list);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
		ret = residency_process(list);
		if (ret)
			break;
	}
	if (!ret)
		*fence = residency_commit(list);
	drm_exec_fini(&exec);
	return ret;
}

static int residency_try(struct residency_list *list, struct dma_fence **fence)
{
	struct rw_semaphore *sem = &list->vidmm->residency;
	int ret;

	if (list->attempt == SHARED) {
		ret = down_read_interruptible(sem);
		if (ret)
			return ret;
		ret = residency_run_locked(list, fence);
		up_read(sem);
		return ret;
	}
	ret = down_write_killable(sem);
	if (ret)
		return ret;
	flush_workqueue(list->vidmm->ttm.wq);
	ret = residency_run_locked(list, fence);
	up_write(sem);
	return ret;
}

static int residency_run(struct residency_list *list, struct dma_fence **fence)
{
	int ret;

	*fence = NULL;
	for (list->attempt = SHARED; list->attempt < ATTEMPTS; list->attempt++) {
		ret = residency_try(list, fence);
		if (ret != -ENOMEM && ret != -EBUSY)
			break;
	}
	return ret;
}

/**
 * pagoda_residency_make() - Bring a list to where the GPU can use it
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Their number
 * @fence: Out: signals when all of it can be used; NULL = now. The caller's
 * @bytes_to_trim: Out with -ENOMEM: bytes that don't fit even without others
 *
 * On failure none of it becomes resident that wasn't, although some may have been
 * moved or evicted for it.
 *
 * Context: May sleep and allocate; waits for no copy. Outside of reservations.
 * Return: 0, -ENOMEM, -EBUSY, -EINTR or -ERESTARTSYS.
 */
int pagoda_residency_make(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			  struct dma_fence **fence, u64 *bytes_to_trim)
{
	struct residency_list list = {
		.vidmm = vidmm,
		.bos = bos,
		.count = count,
		.process = residency_process_make,
		.resident = true,
	};

	*fence = NULL;
	*bytes_to_trim = residency_misfit(vidmm, bos, count);
	if (*bytes_to_trim)
		return -ENOMEM;
	return residency_run(&list, fence);
}

/**
 * pagoda_residency_evict() - Give up residency of a list
 * @vidmm: The manager
 * @bos: Allocations, each only once; references held
 * @count: Their number
 * @fence: Out: signals when all of it has left; NULL = it has. The caller's
 *
 * Each goes to its eviction segment (C37); one that never was anywhere stays where
 * it is.
 *
 * Context: May sleep and allocate; waits for no copy. Outside of reservations.
 * Return: 0, -ENOMEM, -EBUSY, -EINTR or -ERESTARTSYS.
 */
int pagoda_residency_evict(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   struct dma_fence **fence)
{
	struct residency_list list = {
		.vidmm = vidmm,
		.bos = bos,
		.count = count,
		.process = residency_process_evict,
	};

	return residency_run(&list, fence);
}
