// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled allocations and the ranges in which the CPU sees them as rows.
 *
 * A range is a linear window of the device. While an allocation has one and the CPU
 * was shown it, the window is what counts and not the tiles in VRAM. It leaves VRAM
 * by SPECIAL_LOCK_TRANSFER then, which takes the window's bytes as the CPU saw them, and
 * comes back by it if a range is free without waiting (C34, C38). All other copies are
 * TRANSFER with just the conversion that is needed (C33).
 *
 * There are few ranges. What a range is used for changes with the allocation's
 * reservation and the lock held; taking one away from an allocation means trying for
 * its reservation, under the lock, as the thief has one already. What the device was
 * told last about a free range doesn't matter: it forgets when it is bound anew.
 */
#include <linux/slab.h>
#include <drm/drm_print.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

static bool swizzle_in_vram(const struct ttm_resource *res)
{
	return res && res->mem_type == TTM_PL_VRAM;
}

/* Who looks at it outside of VRAM looks at rows. */
static bool swizzle_wants_rows(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE ||
	       bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
}

static struct pagoda_cpu_range *swizzle_cpu(struct pagoda_vidmm *vidmm,
					    const struct pagoda_swizzle_range *range)
{
	return &vidmm->swizzle.cpu[range->id];
}

/* ---- Who has which range -------------------------------------------------- */

static void swizzle_assign(struct pagoda_swizzle *swizzle, struct pagoda_swizzle_range *range,
			   struct pagoda_bo *bo)
{
	lockdep_assert_held(&swizzle->lock);
	range->bo = bo;
	range->shown = false;
	list_move_tail(&range->link, &swizzle->lru);
	bo->range = range;
}

/*
 * The allocation gives its range back. It is free behind @fence; for a device that left
 * a command unanswered it isn't any more, because it may still execute that.
 */
static void swizzle_put(struct pagoda_bo *bo, struct dma_fence *fence, bool dead)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_swizzle_range *range = bo->range;

	mutex_lock(&swizzle->lock);
	bo->range = NULL;
	range->bo = NULL;
	range->dead |= dead;
	dma_fence_put(range->fence);
	range->fence = dma_fence_get(fence);
	list_move(&range->link, &swizzle->lru);
	mutex_unlock(&swizzle->lock);
}

/* A range nobody has; one behind a fence only if somebody would wait for that. */
static struct pagoda_swizzle_range *swizzle_find_free(struct pagoda_swizzle *swizzle, bool wait)
{
	struct pagoda_swizzle_range *range;

	lockdep_assert_held(&swizzle->lock);
	list_for_each_entry(range, &swizzle->lru, link)
		if (!range->bo && !range->dead &&
		    (wait || !range->fence || dma_fence_is_signaled(range->fence)))
			return range;
	return NULL;
}

/*
 * The range that was longest without a page fault, of those whose allocation can be
 * had: it is reserved and referenced afterwards. One that is about to be freed waits for
 * the lock to give its range back, so it is there as long as we have that.
 */
static struct pagoda_swizzle_range *swizzle_find_victim(struct pagoda_swizzle *swizzle)
{
	struct pagoda_swizzle_range *range;

	lockdep_assert_held(&swizzle->lock);
	list_for_each_entry(range, &swizzle->lru, link) {
		struct pagoda_bo *bo = range->bo;

		if (!bo || !dma_resv_trylock(bo->ttm.base.resv))
			continue;
		if (kref_get_unless_zero(&bo->ttm.base.refcount))
			return range;
		dma_resv_unlock(bo->ttm.base.resv);
	}
	return NULL;
}

/* ---- What the device is told ---------------------------------------------- */

/* Did the device answer, so that it won't do it later? */
static bool swizzle_answered(int ret)
{
	return !ret || ret == -EINVAL || ret == -ENOMEM;
}

/* Nothing that uses the allocation is under way. */
static void swizzle_wait(struct pagoda_bo *bo)
{
	pagoda_stream_wait_resv(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}

/* Both executors know from here on which surface the range shows. */
static void swizzle_tell_cpu(struct pagoda_bo *bo)
{
	struct pagoda_cpu_range *cpu = swizzle_cpu(bo->vidmm, bo->range);

	cpu->address = (u64)bo->ttm.resource->start << PAGE_SHIFT;
	cpu->size = bo->ttm.base.size;
	cpu->layout = bo->layout;
}

/* ACQUIRE_RANGE: the surface's rows appear in the window. On failure the range is gone. */
static int swizzle_bind(struct pagoda_bo *bo)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE,
		.index = bo->range->id,
		.address = (u64)bo->ttm.resource->start << PAGE_SHIFT,
		.size = bo->ttm.base.size,
		.tiling = bo->layout.tiling,
		.pitch = bo->layout.pitch,
		.height = bo->layout.height,
		.mips = bo->layout.mips,
	};
	int ret = pagoda_vidmm_command(bo->vidmm, &command);

	if (ret)
		swizzle_put(bo, NULL, !swizzle_answered(ret));
	else
		swizzle_tell_cpu(bo);
	return ret;
}

/*
 * The tiles are what counts again, and nobody sees the window any more. The CPU can only
 * have written to what it was shown. Without an answer the content is as good as lost.
 */
static int swizzle_write_back(struct pagoda_bo *bo)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_RELEASE_RANGE,
		.index = bo->range->id,
		.size = 1,
	};
	int ret;

	ttm_bo_unmap_virtual(&bo->ttm);
	swizzle_wait(bo);
	if (!bo->range->shown)
		return 0;
	ret = pagoda_vidmm_command(bo->vidmm, &command);
	if (ret)
		pagoda_bo_mark_lost(bo);
	return ret;
}

/* ---- For the CPU ----------------------------------------------------------- */

/* Takes the range of @range's allocation, which is reserved and referenced. */
static int swizzle_steal(struct pagoda_bo *bo, struct pagoda_swizzle_range *range)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_bo *victim = range->bo;
	int ret = swizzle_write_back(victim);

	if (ret) {
		swizzle_put(victim, NULL, !swizzle_answered(ret));
	} else {
		mutex_lock(&swizzle->lock);
		victim->range = NULL;
		swizzle_assign(swizzle, range, bo);
		mutex_unlock(&swizzle->lock);
		atomic64_inc(&bo->vidmm->stats.range_steals);
	}
	dma_resv_unlock(victim->ttm.base.resv);
	drm_gem_object_put(&victim->ttm.base);
	return ret;
}

/* Any range, for who can wait. */
static int swizzle_get(struct pagoda_bo *bo)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_swizzle_range *victim = NULL, *range;

	mutex_lock(&swizzle->lock);
	range = swizzle_find_free(swizzle, false) ?: swizzle_find_free(swizzle, true);
	if (range)
		swizzle_assign(swizzle, range, bo);
	else
		victim = swizzle_find_victim(swizzle);
	mutex_unlock(&swizzle->lock);

	if (victim)
		return swizzle_steal(bo, victim);
	if (!range)
		return -EBUSY;
	if (range->fence)
		pagoda_stream_wait_fence(bo->vidmm, range->fence);
	return 0;
}

/*
 * The device bound a range that came with the content when it executed START. If the
 * CPU did that in its place, the device doesn't know yet.
 */
static int swizzle_show(struct pagoda_bo *bo)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	int ret = 0;

	if (!bo->range->shown && swizzle_cpu(bo->vidmm, bo->range)->size)
		ret = swizzle_bind(bo);
	else if (!bo->range->shown)
		swizzle_tell_cpu(bo);
	if (ret)
		return ret;
	bo->range->shown = true;
	mutex_lock(&swizzle->lock);
	list_move_tail(&bo->range->link, &swizzle->lru);
	mutex_unlock(&swizzle->lock);
	return 0;
}

/**
 * pagoda_swizzle_is_shown() - Can the CPU look at a tiled allocation in VRAM?
 * @bo: Allocation, reservation held
 *
 * Return: Whether it can without pagoda_swizzle_acquire().
 */
bool pagoda_swizzle_is_shown(const struct pagoda_bo *bo)
{
	return bo->range && bo->range->shown;
}

/**
 * pagoda_swizzle_acquire() - Give a tiled allocation a range, for the CPU to look
 * @bo: Tiled allocation in VRAM, reservation held; its content isn't lost
 *
 * Waits for what uses the allocation. Without a free range it waits for one that is
 * being left, or takes that of another allocation. Failing that, the CPU can look at
 * the allocation in system memory only.
 *
 * Context: May sleep and allocate; inside mmap_lock too.
 * Return: 0, -E2BIG if no range could hold it, -EBUSY if every range is taken by who
 * can't be disturbed, or how the device failed.
 */
int pagoda_swizzle_acquire(struct pagoda_bo *bo)
{
	int ret;

	if (bo->ttm.base.size > bo->vidmm->info->swizzling_bytes)
		return -E2BIG;
	swizzle_wait(bo);
	if (bo->range)
		return swizzle_show(bo);
	ret = swizzle_get(bo);
	if (!ret)
		ret = swizzle_bind(bo);
	if (ret)
		return ret;
	bo->range->shown = true;
	atomic64_inc(&bo->vidmm->stats.range_acquires);
	return 0;
}

/**
 * pagoda_swizzle_release() - Make the tiles in VRAM what counts
 * @bo: Allocation, reservation held
 *
 * For whatever uses the surface itself: its CPU mappings are taken away, what the CPU
 * wrote goes into the tiles, the range is free. Nothing happens to who has none.
 *
 * Context: May sleep; waits for what uses the allocation.
 * Return: 0, or how the device failed: the content is lost then.
 */
int pagoda_swizzle_release(struct pagoda_bo *bo)
{
	int ret;

	if (!bo->range)
		return 0;
	ret = swizzle_write_back(bo);
	swizzle_put(bo, NULL, !swizzle_answered(ret));
	return ret;
}

/* The fence behind everything that uses the allocation; without memory, it is waited for. */
static struct dma_fence *swizzle_last_fence(struct pagoda_bo *bo)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	struct dma_fence *fence;

	if (!dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, &fence))
		return fence;
	swizzle_wait(bo);
	return NULL;
}

/**
 * pagoda_swizzle_drop() - Nobody needs the content any more
 * @bo: Allocation, reservation held or nobody else left
 *
 * A range it has is free when what uses the allocation is through; what the window
 * holds is forgotten, and so is how the content is stored outside of VRAM.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_drop(struct pagoda_bo *bo)
{
	struct dma_fence *fence;

	bo->system_tiled = false;
	bo->alternate_view = false;
	if (!bo->range)
		return;
	ttm_bo_unmap_virtual(&bo->ttm);
	fence = swizzle_last_fence(bo);
	swizzle_put(bo, fence, false);
	dma_fence_put(fence);
}

/**
 * pagoda_swizzle_pfn() - Page frame behind a page of what the CPU sees
 * @bo: Allocation that is shown, reservation held
 * @page_offset: Page of it
 *
 * Return: Page frame number to map for the CPU.
 */
unsigned long pagoda_swizzle_pfn(struct pagoda_bo *bo, unsigned long page_offset)
{
	const struct pagoda_device_info *info = bo->vidmm->info;

	return pagoda_extents_pfn(info->swizzling, info->nr_swizzling,
				  bo->range->id * info->swizzling_bytes +
				  ((u64)page_offset << PAGE_SHIFT));
}

/**
 * pagoda_swizzle_window() - Kernel address of what the CPU sees
 * @bo: Allocation that is shown, reservation held
 *
 * Return: Its first byte.
 */
u8 *pagoda_swizzle_window(struct pagoda_bo *bo)
{
	return swizzle_cpu(bo->vidmm, bo->range)->window;
}

/* ---- For moves -------------------------------------------------------------- */

/* A range that needs no waiting, for content that was evicted out of one. */
static bool swizzle_claim(struct pagoda_bo *bo)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_swizzle_range *range;

	mutex_lock(&swizzle->lock);
	range = swizzle_find_free(swizzle, false);
	if (range) {
		swizzle_assign(swizzle, range, bo);
		swizzle_cpu(bo->vidmm, range)->size = 0;
	}
	mutex_unlock(&swizzle->lock);
	return range;
}

/* Out of VRAM: the window if the CPU may have written to it, else the tiles. */
static void swizzle_plan_out(struct pagoda_bo *bo, struct pagoda_paging_op *copy)
{
	if (pagoda_swizzle_is_shown(bo))
		copy->operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	else if (swizzle_wants_rows(bo))
		copy->transfer.flags = VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
}

static void swizzle_plan_in(struct pagoda_bo *bo, struct pagoda_paging_op *copy)
{
	if (bo->alternate_view && swizzle_claim(bo))
		copy->operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	else if (!bo->system_tiled)
		copy->transfer.flags = VIRTIO_PAGODA_TRANSFER_SWIZZLE;
}

/**
 * pagoda_swizzle_plan() - Which operation copies an allocation, with which conversion
 * @bo: Allocation, reservation held
 * @to: Where to
 * @no_wait: Don't wait for the device
 * @copy: Filled; the caller adds the sides and what differs from piece to piece
 *
 * Ended by pagoda_swizzle_moved() or pagoda_swizzle_undo().
 *
 * Context: May sleep. Waits only for who has a range and stays in VRAM.
 * Return: 0, -EBUSY if it had to wait, or how the device failed.
 */
int pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to, bool no_wait,
			struct pagoda_paging_op *copy)
{
	*copy = (struct pagoda_paging_op) { .operation = VIRTIO_PAGODA_OP_TRANSFER };
	if (!bo->layout.tiling)
		return 0;
	if (swizzle_in_vram(bo->ttm.resource) && swizzle_in_vram(to)) {
		if (bo->range && no_wait)
			return -EBUSY;
		return pagoda_swizzle_release(bo);
	}

	if (swizzle_in_vram(to))
		swizzle_plan_in(bo, copy);
	else
		swizzle_plan_out(bo, copy);
	if (copy->operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER && !copy->transfer.flags)
		return 0;
	copy->transfer.layout = bo->layout;
	copy->transfer.surface_size = bo->ttm.base.size;
	if (copy->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) {
		copy->transfer.range_id = bo->range->id;
		copy->transfer.range_data = lower_32_bits(bo->id);
	}
	return 0;
}

/**
 * pagoda_swizzle_moved() - A move is on its way
 * @bo: Allocation, reservation held; it is still where it was
 * @to: Where to
 * @copy: As pagoda_swizzle_plan() left it
 * @fence: Signals when it is there
 *
 * Context: May sleep.
 */
void pagoda_swizzle_moved(struct pagoda_bo *bo, struct ttm_resource *to,
			  const struct pagoda_paging_op *copy, struct dma_fence *fence)
{
	if (swizzle_in_vram(to)) {
		bo->alternate_view = false;
		bo->system_tiled = false;
	} else if (bo->layout.tiling && swizzle_in_vram(bo->ttm.resource)) {
		bo->alternate_view = copy->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
		bo->system_tiled = !bo->alternate_view && !copy->transfer.flags;
		if (bo->range)
			swizzle_put(bo, fence, false);
	}
}

/**
 * pagoda_swizzle_undo() - The copy isn't done
 * @bo: Allocation, reservation held; it is where it was
 * @to: Where it was to go
 *
 * Context: May sleep.
 */
void pagoda_swizzle_undo(struct pagoda_bo *bo, struct ttm_resource *to)
{
	if (bo->range && swizzle_in_vram(to) && !swizzle_in_vram(bo->ttm.resource))
		swizzle_put(bo, NULL, false);
}

/**
 * pagoda_swizzle_forget() - The device was reset: no range is bound
 * @vidmm: Memory manager
 *
 * It won't execute any more what it left unanswered. Allocations give up their ranges
 * when they are cleared.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_forget(struct pagoda_vidmm *vidmm)
{
	struct pagoda_swizzle_range *range;

	mutex_lock(&vidmm->swizzle.lock);
	list_for_each_entry(range, &vidmm->swizzle.lru, link)
		range->dead = false;
	mutex_unlock(&vidmm->swizzle.lock);
}

/* ---- All of them -------------------------------------------------------------- */

/**
 * pagoda_swizzle_validate() - Refuse an allocation for its layout
 * @vidmm: The manager
 * @params: What is asked for, otherwise checked
 * @why: Set when refused
 *
 * Context: Any.
 * Return: 0, -EINVAL, or -EOPNOTSUPP when the device has no tiling.
 */
int pagoda_swizzle_validate(struct pagoda_vidmm *vidmm, const struct pagoda_bo_params *params,
			    const char **why)
{
	const struct pagoda_layout *layout = &params->layout;

	if (!layout->tiling) {
		*why = "layout of what isn't tiled";
		return layout->pitch || layout->height || layout->mips ? -EINVAL : 0;
	}
	if (pagoda_layout_validate(layout, params->size, why))
		return -EINVAL;
	if (!(params->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM))) {
		*why = "tiled, but not in VRAM";
		return -EINVAL;
	}
	*why = "the device has no tiling";
	return vidmm->info->swizzling_ranges ? 0 : -EOPNOTSUPP;
}

static void swizzle_free(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_swizzle *swizzle = &vidmm->swizzle;

	if (swizzle->window)
		pagoda_extents_unmap(info->swizzling, info->nr_swizzling, swizzle->window);
	kfree(swizzle->ranges);
	kfree(swizzle->cpu);
	mutex_destroy(&swizzle->lock);
}

/**
 * pagoda_swizzle_init() - Set up the ranges, all of them free
 * @vidmm: Memory manager with info set
 *
 * Context: Probe; may sleep.
 * Return: 0, -EINVAL for windows that are partly memory of the kernel, or -ENOMEM.
 */
int pagoda_swizzle_init(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_swizzle *swizzle = &vidmm->swizzle;
	u32 i, count = info->swizzling_ranges;
	int ret = 0;

	mutex_init(&swizzle->lock);
	INIT_LIST_HEAD(&swizzle->lru);
	if (!count)
		return 0;
	swizzle->ranges = kcalloc(count, sizeof(*swizzle->ranges), GFP_KERNEL);
	swizzle->cpu = kcalloc(count, sizeof(*swizzle->cpu), GFP_KERNEL);
	if (swizzle->ranges && swizzle->cpu)
		ret = pagoda_extents_map(info->swizzling, info->nr_swizzling, &swizzle->window);
	else
		ret = -ENOMEM;
	if (ret) {
		swizzle_free(vidmm);
		return ret;
	}
	for (i = 0; i < count; i++) {
		swizzle->ranges[i].id = i;
		list_add_tail(&swizzle->ranges[i].link, &swizzle->lru);
		swizzle->cpu[i].window = swizzle->window + i * info->swizzling_bytes;
	}
	return 0;
}

/**
 * pagoda_swizzle_fini() - Undo pagoda_swizzle_init()
 * @vidmm: Memory manager; all allocations are gone, the queue is stopped
 *
 * Context: May sleep.
 */
void pagoda_swizzle_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_swizzle *swizzle = &vidmm->swizzle;
	struct pagoda_swizzle_range *range;

	list_for_each_entry(range, &swizzle->lru, link)
		dma_fence_put(range->fence);
	swizzle_free(vidmm);
}
