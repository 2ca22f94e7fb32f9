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
 * The content has one truth at any time. Before a job uses the tiles, the submission gives the
 * range back: CPU mappings are revoked and what the CPU wrote is in the tiles. A window is shown
 * only while nothing that uses the tiles is under way; a CPU access that comes behind a job waits
 * for it. So neither side of a shown window has to be waited for:
 *
 *	shown		the window is what counts; no job and no copy uses the allocation
 *	not shown	came with the content from a view; the copy that fills it is the range's
 *			fence, a job or an eviction makes it worthless
 *	no range	the tiles are what counts
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
	dma_fence_put(range->fence);
	range->fence = NULL;
	list_move_tail(&range->link, &swizzle->lru);
	bo->range = range;
}

/*
 * The allocation gives its range back, free behind the range's fence. For a device that left
 * a command unanswered it isn't free any more, because the device may still execute that.
 */
static void swizzle_put(struct pagoda_bo *bo, bool dead)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_swizzle_range *range = bo->range;

	mutex_lock(&swizzle->lock);
	bo->range = NULL;
	range->bo = NULL;
	range->dead |= dead;
	list_move(&range->link, &swizzle->lru);
	mutex_unlock(&swizzle->lock);
}

/* What the allocation's range must be free behind: a copy through its window. */
static void swizzle_set_fence(struct pagoda_bo *bo, struct dma_fence *fence)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;

	mutex_lock(&swizzle->lock);
	dma_fence_put(bo->range->fence);
	bo->range->fence = dma_fence_get(fence);
	mutex_unlock(&swizzle->lock);
}

static bool swizzle_is_ready(const struct pagoda_swizzle_range *range)
{
	return !range->fence || dma_fence_is_signaled(range->fence);
}

/* A range without an allocation; with @wait also one behind a fence. */
static struct pagoda_swizzle_range *swizzle_find_free(struct pagoda_swizzle *swizzle, bool wait)
{
	struct pagoda_swizzle_range *range;

	lockdep_assert_held(&swizzle->lock);
	list_for_each_entry(range, &swizzle->lru, link)
		if (!range->bo && !range->dead && (wait || swizzle_is_ready(range)))
			return range;
	return NULL;
}

/*
 * The range that was longest without a page fault, of those whose allocation can be
 * had and that no copy uses: the allocation is reserved and referenced afterwards. One that is
 * about to be freed waits for the lock to give its range back, so it is there as long as we have
 * that. @busy: one that a copy uses.
 */
static struct pagoda_swizzle_range *swizzle_find_victim(struct pagoda_swizzle *swizzle,
							struct pagoda_swizzle_range **busy)
{
	struct pagoda_swizzle_range *range;

	lockdep_assert_held(&swizzle->lock);
	list_for_each_entry(range, &swizzle->lru, link) {
		struct pagoda_bo *bo = range->bo;

		if (bo && !swizzle_is_ready(range) && !*busy)
			*busy = range;
		if (!bo || !swizzle_is_ready(range) || !dma_resv_trylock(bo->ttm.base.resv))
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
		swizzle_put(bo, !swizzle_answered(ret));
	else
		swizzle_tell_cpu(bo);
	return ret;
}

/*
 * The tiles are what counts again, and the window is mapped nowhere any more. The CPU can only
 * have written to what it was shown, and then the device uses neither tiles nor window. Without
 * an answer the content is as good as lost.
 */
static int swizzle_write_back(struct pagoda_bo *bo)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_RELEASE_RANGE,
		.index = bo->range->id,
		.size = 1,
	};
	int ret;

	if (!bo->range->shown)
		return 0;
	ttm_bo_unmap_virtual(&bo->ttm);
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
		swizzle_put(victim, !swizzle_answered(ret));
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

/*
 * Any range: a free one, one that is being left, one of another allocation, one that is still
 * being filled. -EAGAIN: @busy must be through before one can be had, nothing has changed.
 */
static int swizzle_get(struct pagoda_bo *bo, struct dma_fence **busy)
{
	struct pagoda_swizzle *swizzle = &bo->vidmm->swizzle;
	struct pagoda_swizzle_range *victim = NULL, *left, *range;

	mutex_lock(&swizzle->lock);
	range = swizzle_find_free(swizzle, false);
	left = range ? NULL : swizzle_find_free(swizzle, true);
	if (range)
		swizzle_assign(swizzle, range, bo);
	else if (!left)
		victim = swizzle_find_victim(swizzle, &left);
	if (!range && !victim && left)
		*busy = dma_fence_get(left->fence);
	mutex_unlock(&swizzle->lock);

	if (victim)
		return swizzle_steal(bo, victim);
	return range ? 0 : *busy ? -EAGAIN : -EBUSY;
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
 * @busy: Out: reference to the fence to wait for, without any lock: jobs are among what it may
 *	stand for, and other clients' copies
 *
 * Without a free range it takes that of another allocation, unless one is about to be free.
 * Failing that, the CPU can look at the allocation in system memory only.
 *
 * Context: May sleep; inside mmap_lock too. Waits for nothing but the device's answers.
 * Return: 0, -EAGAIN with @busy set, -E2BIG if no range could hold it, -EBUSY if every range
 * is that of an allocation whose reservation is held, or how the device failed.
 */
int pagoda_swizzle_acquire(struct pagoda_bo *bo, struct dma_fence **busy)
{
	int ret;

	*busy = NULL;
	if (bo->ttm.base.size > bo->vidmm->info->swizzling_bytes)
		return -E2BIG;
	if (pagoda_swizzle_is_shown(bo))
		return swizzle_show(bo);
	*busy = pagoda_access_user(bo, DMA_RESV_USAGE_BOOKKEEP);
	if (*busy)
		return -EAGAIN;
	if (bo->range)
		return swizzle_show(bo);
	ret = swizzle_get(bo, busy);
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
 * wrote goes into the tiles, the range is free. Nothing happens to an allocation without one.
 *
 * Context: May sleep. Waits for nothing but the device's answer.
 * Return: 0, or how the device failed: the content is lost then.
 */
int pagoda_swizzle_release(struct pagoda_bo *bo)
{
	int ret;

	if (!bo->range)
		return 0;
	ret = swizzle_write_back(bo);
	swizzle_put(bo, !swizzle_answered(ret));
	return ret;
}

/**
 * pagoda_swizzle_drop() - The content isn't needed any more
 * @bo: Allocation, reservation held or nobody else left
 *
 * A range it has is free when a copy through the window is through; what the window
 * holds is forgotten, and so is how the content is stored outside of VRAM.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_drop(struct pagoda_bo *bo)
{
	bo->system_tiled = false;
	bo->alternate_view = false;
	if (!bo->range)
		return;
	ttm_bo_unmap_virtual(&bo->ttm);
	swizzle_put(bo, false);
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

/* ---- For jobs --------------------------------------------------------------- */

/**
 * pagoda_swizzle_expect_job() - An allocation is brought to VRAM for a job
 * @bo: Allocation, reservation held
 *
 * The job is going to use the tiles: a range would be of no use.
 *
 * Context: Any.
 */
void pagoda_swizzle_expect_job(struct pagoda_bo *bo)
{
	bo->alternate_view = false;
}

/**
 * pagoda_swizzle_use() - A job is about to use an allocation: have it find what the CPU wrote
 * @bo: Allocation, listed by the job, reservation held until the job's fence is in it
 *
 * Content that the device doesn't write back is lost, and cleared.
 *
 * Context: May sleep and allocate.
 * Return: 0, or a negative errno if lost content can't be cleared.
 */
int pagoda_swizzle_use(struct pagoda_bo *bo)
{
	return pagoda_swizzle_release(bo) ? pagoda_lost_clear(bo) : 0;
}

/* One of a VM's private allocations that have a range, referenced. Free ranges are in front. */
static struct pagoda_bo *swizzle_find_private(struct pagoda_swizzle *swizzle,
					      const struct pagoda_vm *vm)
{
	struct pagoda_swizzle_range *range;
	struct pagoda_bo *bo, *found = NULL;

	mutex_lock(&swizzle->lock);
	list_for_each_entry_reverse(range, &swizzle->lru, link) {
		bo = range->bo;
		if (!bo)
			break;
		if (bo->private_to == vm && kref_get_unless_zero(&bo->ttm.base.refcount)) {
			found = bo;
			break;
		}
	}
	mutex_unlock(&swizzle->lock);
	return found;
}

/**
 * pagoda_swizzle_use_private() - A job of a VM is about to use what is private to that VM
 * @vidmm: Memory manager
 * @vm: VM, its reservation held until the job's fence is in it
 *
 * As pagoda_swizzle_use() for each private allocation, mapped or not: what is mapped later may
 * be what a job waits for. Only those with a range are looked at.
 *
 * Context: May sleep and allocate.
 * Return: 0, or a negative errno if lost content can't be cleared.
 */
int pagoda_swizzle_use_private(struct pagoda_vidmm *vidmm, const struct pagoda_vm *vm)
{
	struct pagoda_bo *bo;
	int ret = 0;

	if (!vidmm->info->swizzling_ranges)
		return 0;
	while (!ret && (bo = swizzle_find_private(&vidmm->swizzle, vm))) {
		ret = pagoda_swizzle_use(bo);
		drm_gem_object_put(&bo->ttm.base);
	}
	return ret;
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
 * @copy: Filled; the caller adds the sides and what differs from piece to piece
 *
 * Ended by pagoda_swizzle_moved() or pagoda_swizzle_undo(). What stays in VRAM is copied as it
 * is, without its range: the operation is busy until pagoda_swizzle_make_idle().
 *
 * Context: May sleep.
 */
void pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to,
			 struct pagoda_paging_op *copy)
{
	*copy = (struct pagoda_paging_op) { .operation = VIRTIO_PAGODA_OP_TRANSFER };
	if (!bo->layout.tiling)
		return;
	if (swizzle_in_vram(bo->ttm.resource) && swizzle_in_vram(to)) {
		if (bo->range && !bo->range->shown)
			swizzle_put(bo, false);
		return;
	}

	if (swizzle_in_vram(to))
		swizzle_plan_in(bo, copy);
	else
		swizzle_plan_out(bo, copy);
	if (copy->operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER && !copy->transfer.flags)
		return;
	copy->transfer.layout = bo->layout;
	copy->transfer.surface_size = bo->ttm.base.size;
	if (copy->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) {
		copy->transfer.range_id = bo->range->id;
		copy->transfer.range_data = lower_32_bits(bo->id);
	}
}

/**
 * pagoda_swizzle_needs_idle() - Has an operation set-up that can't be queued?
 * @bo: Allocation, reservation held
 * @operation: VIRTIO_PAGODA_OP_ that is to copy or discard it
 *
 * A range that the CPU sees is released by a command, not by a packet, before the content in VRAM
 * is used or discarded. SPECIAL_LOCK_TRANSFER uses the range itself.
 *
 * Context: Any.
 * Return: What &pagoda_paging_op.needs_idle is to be.
 */
bool pagoda_swizzle_needs_idle(const struct pagoda_bo *bo, u32 operation)
{
	return bo->needs_idle || (operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER &&
				  pagoda_swizzle_is_shown(bo));
}

/**
 * pagoda_swizzle_make_idle() - The set-up that couldn't be queued
 * @bo: Allocation, reservation held, whose fences have signalled
 * @operation: VIRTIO_PAGODA_OP_ that was busy
 *
 * Context: May sleep.
 * Return: 0, or how the device failed: the content is lost then.
 */
int pagoda_swizzle_make_idle(struct pagoda_bo *bo, u32 operation)
{
	if (operation == VIRTIO_PAGODA_OP_DISCARD_CONTENT)
		pagoda_swizzle_drop(bo);
	else if (operation == VIRTIO_PAGODA_OP_TRANSFER)
		return pagoda_swizzle_release(bo);
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
		if (bo->range)
			swizzle_set_fence(bo, fence);
	} else if (bo->layout.tiling && swizzle_in_vram(bo->ttm.resource)) {
		bo->alternate_view = copy->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
		bo->system_tiled = !bo->alternate_view && !copy->transfer.flags;
		if (!bo->range)
			return;
		swizzle_set_fence(bo, fence);
		swizzle_put(bo, false);
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
		swizzle_put(bo, false);
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
