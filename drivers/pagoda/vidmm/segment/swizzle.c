// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled allocations, and the swizzling ranges through which the CPU sees them in rows.
 *
 * A range is a window of the device with an allocation's bytes in rows. Once the window was
 * shown to the CPU, the content is in the window and not in the tiles in VRAM. The allocation
 * then leaves VRAM by SPECIAL_LOCK_TRANSFER, which copies the window's rows. An allocation that
 * left so comes back by SPECIAL_LOCK_TRANSFER, too, if a range is free without waiting and the
 * allocation doesn't come back for a job. All other copies are TRANSFER, with the conversion
 * between tiles and rows that is needed.
 *
 * Before a job uses the tiles, its submission gives the range back: CPU mappings are revoked, and
 * the content goes from the window to the tiles. A window is shown only while no job or copy uses
 * the tiles; a CPU access waits for earlier jobs. The states of an allocation in VRAM:
 *
 *	shown		the content is in the window; no job and no copy uses the allocation
 *	not shown	the allocation has a range because a SPECIAL_LOCK_TRANSFER, whose fence
 *			is the range's, brings it to VRAM and writes its content to the tiles and
 *			to the window: both are valid. A job or a move uses the tiles, and takes
 *			the range away
 *	no range	the content is in the tiles
 *
 * There are few ranges. A range is assigned with the allocation's reservation and
 * pagoda_swizzle.lock held. To take a range from another allocation, that allocation's
 * reservation is only try-locked, because the caller holds a reservation already. In the device, a
 * range that was taken away without a copy from the window stays bound until it is bound anew.
 */
#include <linux/slab.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/info.h"
#include "core/transport.h"
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "segment.h"

static bool swizzle_in_vram(const struct ttm_resource *res)
{
	return res && res->mem_type == TTM_PL_VRAM;
}

/*
 * Returns whether the content of a tiled allocation must be stored row by row in system memory,
 * because the CPU or, in the aperture, the GPU may read the content there.
 */
static bool swizzle_wants_rows(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE ||
	       bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
}

static struct pagoda_cpu_range *swizzle_cpu(struct pagoda_vidmm *vidmm,
					    const struct pagoda_swizzle_range *range)
{
	return &vidmm->swizzle->cpu[range->id];
}

/* ---- Assignment of swizzling ranges to allocations ---------------------------- */

/* Makes a swizzling range the last one that is taken from its allocation. */
static void swizzle_touch(struct pagoda_swizzle *swizzle, struct pagoda_swizzle_range *range)
{
	lockdep_assert_held(&swizzle->lock);
	list_move_tail(&range->link, &swizzle->lru);
}

static void swizzle_assign(struct pagoda_swizzle *swizzle, struct pagoda_swizzle_range *range,
			   struct pagoda_bo *bo)
{
	lockdep_assert_held(&swizzle->lock);
	range->bo = bo;
	range->shown = false;
	dma_fence_put(range->fence);
	range->fence = NULL;
	swizzle_touch(swizzle, range);
	bo->tiling.range = range;
}

/*
 * Takes the swizzling range of @bo away from @bo; the range is free once its fence has signalled.
 * But with @dead the device left a command about the range unanswered and may still execute the
 * command: the range isn't used again until the device was reset.
 */
static void swizzle_put(struct pagoda_bo *bo, bool dead)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;
	struct pagoda_swizzle_range *range = bo->tiling.range;

	mutex_lock(&swizzle->lock);
	bo->tiling.range = NULL;
	range->bo = NULL;
	range->dead |= dead;
	list_move(&range->link, &swizzle->lru);
	mutex_unlock(&swizzle->lock);
}

/*
 * Makes @fence, that of a move of @bo, the fence of @bo's swizzling range: before @fence has
 * signalled, no other allocation gets the range.
 */
static void swizzle_set_fence(struct pagoda_bo *bo, struct dma_fence *fence)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;

	mutex_lock(&swizzle->lock);
	dma_fence_put(bo->tiling.range->fence);
	bo->tiling.range->fence = dma_fence_get(fence);
	mutex_unlock(&swizzle->lock);
}

static bool swizzle_is_ready(const struct pagoda_swizzle_range *range)
{
	return !range->fence || dma_fence_is_signaled(range->fence);
}

/*
 * Returns a swizzling range that no allocation has, and that isn't &pagoda_swizzle_range.dead; or
 * NULL. Only with @wait may a copy still use the range. Caller holds pagoda_swizzle.lock.
 */
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
 * Returns a range that can be taken from its allocation, with that allocation referenced and its
 * reservation locked: of the ranges for which the lock needs no wait and whose window no copy uses,
 * the range that wasn't used for longest; or NULL. Because an allocation gives its range back under
 * pagoda_swizzle.lock before it is freed, the allocations looked at aren't freed yet. If *@busy is
 * NULL, sets *@busy to the first range passed over because a copy uses its window.
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

/* ---- Commands to the device ------------------------------------------------- */

/*
 * Returns whether @ret, the result of a command, means that the device answered, and so won't
 * execute the command later.
 */
static bool swizzle_answered(int ret)
{
	return !ret || ret == -EINVAL || ret == -ENOMEM;
}

/* Tells the CPU executor which surface the range of @bo shows; the device knows already. */
static void swizzle_tell_cpu(struct pagoda_bo *bo)
{
	struct pagoda_cpu_range *cpu = swizzle_cpu(bo->vidmm, bo->tiling.range);

	cpu->address = (u64)bo->ttm.resource->start << PAGE_SHIFT;
	cpu->size = bo->ttm.base.size;
	cpu->layout = bo->tiling.layout;
}

/*
 * Has the device show the surface of @bo row by row in the window of its swizzling range. On
 * failure @bo has no range any more. Returns 0 or a negative errno.
 */
static int swizzle_bind(struct pagoda_bo *bo)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE,
		.index = bo->tiling.range->id,
		.address = (u64)bo->ttm.resource->start << PAGE_SHIFT,
		.size = bo->ttm.base.size,
		.tiling = bo->tiling.layout.tiling,
		.pitch = bo->tiling.layout.pitch,
		.height = bo->tiling.layout.height,
		.mips = bo->tiling.layout.mips,
	};
	int ret = pagoda_vidmm_command(bo->vidmm, &command);

	if (ret)
		swizzle_put(bo, !swizzle_answered(ret));
	else
		swizzle_tell_cpu(bo);
	return ret;
}

/*
 * If the window is shown to the CPU, moves the content from there to the tiles, and removes the
 * window's CPU mappings; @bo keeps the range until the caller takes the range away. Needn't wait
 * for jobs or copies, because none uses the tiles or the window while the window is shown. If the
 * device fails or doesn't answer, the content is marked as lost. Returns 0 or a negative errno.
 */
static int swizzle_write_back(struct pagoda_bo *bo)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_RELEASE_RANGE,
		.index = bo->tiling.range->id,
		.size = 1,
	};
	int ret;

	if (!bo->tiling.range->shown)
		return 0;
	ttm_bo_unmap_virtual(&bo->ttm);
	ret = pagoda_vidmm_command(bo->vidmm, &command);
	if (ret)
		pagoda_bo_mark_lost(bo);
	return ret;
}

/* ---- Showing windows to the CPU ---------------------------------------------- */

/*
 * Moves the content of @range's allocation from the window, if it is shown, to the tiles, then
 * gives @range to @bo; unlocks the reservation and drops the reference that swizzle_find_victim()
 * got. Returns 0, or the device's error: then neither allocation has the range.
 */
static int swizzle_steal(struct pagoda_bo *bo, struct pagoda_swizzle_range *range)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;
	struct pagoda_bo *victim = range->bo;
	int ret = swizzle_write_back(victim);

	if (ret) {
		swizzle_put(victim, !swizzle_answered(ret));
	} else {
		mutex_lock(&swizzle->lock);
		victim->tiling.range = NULL;
		swizzle_assign(swizzle, range, bo);
		mutex_unlock(&swizzle->lock);
		atomic64_inc(&bo->vidmm->stats.range_steals);
	}
	dma_resv_unlock(victim->ttm.base.resv);
	drm_gem_object_put(&victim->ttm.base);
	return ret;
}

/*
 * Gives @bo a free range or, if no range is free or will be free when a copy has ended, another
 * allocation's range. Returns 0; the device's error; -EAGAIN if the caller has to wait for *@busy,
 * a reference to the fence of a copy through the window of a range; -EBUSY if no range can be had.
 */
static int swizzle_get(struct pagoda_bo *bo, struct dma_fence **busy)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;
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
 * Notes that the window of @bo's range is shown to the CPU. If the range isn't shown yet, it comes
 * from a SPECIAL_LOCK_TRANSFER: if the device executed that operation, it has bound the range; if
 * the CPU executor did, a command has to bind the range in the device. Returns 0; or a negative
 * errno, and @bo has no range any more.
 */
static int swizzle_show(struct pagoda_bo *bo)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;
	int ret = 0;

	if (!bo->tiling.range->shown && swizzle_cpu(bo->vidmm, bo->tiling.range)->size)
		ret = swizzle_bind(bo);
	else if (!bo->tiling.range->shown)
		swizzle_tell_cpu(bo);
	if (ret)
		return ret;
	bo->tiling.range->shown = true;
	mutex_lock(&swizzle->lock);
	swizzle_touch(swizzle, bo->tiling.range);
	mutex_unlock(&swizzle->lock);
	return 0;
}

/*
 * Returns whether @bo has a range with a window that is shown to the CPU: only then is the content
 * in the window and not in the tiles in VRAM. The reservation is held.
 */
bool pagoda_swizzle_is_shown(const struct pagoda_bo *bo)
{
	return bo->tiling.range && bo->tiling.range->shown;
}

/**
 * pagoda_swizzle_acquire() - Give a tiled allocation a range and show its window to the CPU
 * @bo: Tiled allocation in VRAM, reservation held; its content isn't lost
 * @busy: Out: reference to the fence of work that uses @bo, or of a copy through the window of a
 *	range, to be waited for without any lock held; else NULL
 *
 * If no range is free or about to be free, another allocation's range is taken. Without a range
 * the CPU can access the allocation outside of VRAM only.
 *
 * Context: May sleep; also called under mmap_lock. Waits for the device's answer to commands only.
 * Return: 0; -EAGAIN with @busy set; -E2BIG if no range is large enough; -EBUSY if all ranges that
 * can be used belong to allocations whose reservations are locked; or the error of a command to the
 * device, after which @bo has no range.
 */
int pagoda_swizzle_acquire(struct pagoda_bo *bo, struct dma_fence **busy)
{
	int ret;

	dma_resv_assert_held(bo->ttm.base.resv);
	*busy = NULL;
	if (bo->ttm.base.size > bo->vidmm->info->swizzling_bytes)
		return -E2BIG;
	if (pagoda_swizzle_is_shown(bo))
		return swizzle_show(bo);
	*busy = pagoda_access_user(bo, DMA_RESV_USAGE_BOOKKEEP);
	if (*busy)
		return -EAGAIN;
	if (bo->tiling.range)
		return swizzle_show(bo);
	ret = swizzle_get(bo, busy);
	if (!ret)
		ret = swizzle_bind(bo);
	if (ret)
		return ret;
	bo->tiling.range->shown = true;
	atomic64_inc(&bo->vidmm->stats.range_acquires);
	return 0;
}

/**
 * pagoda_swizzle_release() - Bring an allocation's content from the window to its tiles in VRAM
 * @bo: Allocation, reservation held
 *
 * Called before a use of the tiles. Removes the CPU's mappings of the window and takes the range
 * away from the allocation; does nothing if the allocation has no range.
 *
 * Context: May sleep. Waits for the device's answer only.
 * Return: 0; or the device's error, after which the content is lost.
 */
int pagoda_swizzle_release(struct pagoda_bo *bo)
{
	int ret;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!bo->tiling.range)
		return 0;
	ret = swizzle_write_back(bo);
	swizzle_put(bo, !swizzle_answered(ret));
	return ret;
}

/**
 * pagoda_swizzle_drop() - Take a tiled allocation's range away without saving what its window has
 * @bo: Allocation whose content is lost or not needed; reservation held, or no other user is left
 *
 * Removes the CPU's mappings of the window. The range, if any, becomes free when a copy through its
 * window is finished. Forgets how the content was stored in system memory, too.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_drop(struct pagoda_bo *bo)
{
	bo->tiling.is_tiled_in_system = false;
	bo->tiling.alternate_view = false;
	if (!bo->tiling.range)
		return;
	ttm_bo_unmap_virtual(&bo->ttm);
	swizzle_put(bo, false);
}

/* Returns the page frame of a page of the window of @bo, which is shown to the CPU. */
unsigned long pagoda_swizzle_pfn(struct pagoda_bo *bo, unsigned long page_offset)
{
	const struct pagoda_device_info *info = bo->vidmm->info;

	return pagoda_extents_pfn(info->swizzling, info->nr_swizzling,
				  bo->tiling.range->id * info->swizzling_bytes +
				  ((u64)page_offset << PAGE_SHIFT));
}

/* Returns the kernel address of the window of @bo, which is shown to the CPU. */
u8 *pagoda_swizzle_window(struct pagoda_bo *bo)
{
	return swizzle_cpu(bo->vidmm, bo->tiling.range)->window;
}

/* ---- Giving ranges back for jobs --------------------------------------------- */

/*
 * Has the next move of @bo to VRAM write the tiles only, not a swizzling range's window, too,
 * because a job is about to use the tiles.
 */
void pagoda_swizzle_expect_job(struct pagoda_bo *bo)
{
	bo->tiling.alternate_view = false;
}

/*
 * Returns a private allocation of @vm that has a range, with a reference; or NULL. Free ranges
 * are at the front of &pagoda_swizzle.lru, so the search from the back ends at a free range.
 */
struct pagoda_bo *pagoda_swizzle_find_private(struct pagoda_vidmm *vidmm,
					      const struct pagoda_vm *vm)
{
	struct pagoda_swizzle *swizzle = vidmm->swizzle;
	struct pagoda_swizzle_range *range;
	struct pagoda_bo *bo, *found = NULL;

	mutex_lock(&swizzle->lock);
	list_for_each_entry_reverse(range, &swizzle->lru, link) {
		bo = range->bo;
		if (!bo)
			break;
		if (bo->vm.private_to == vm && kref_get_unless_zero(&bo->ttm.base.refcount)) {
			found = bo;
			break;
		}
	}
	mutex_unlock(&swizzle->lock);
	return found;
}

/* ---- Moves of tiled allocations ----------------------------------------------- */

/*
 * Gives @bo a swizzling range that no allocation has and no copy uses, for a SPECIAL_LOCK_TRANSFER
 * into the range's window. Returns whether there is such a range.
 */
static bool swizzle_claim(struct pagoda_bo *bo)
{
	struct pagoda_swizzle *swizzle = bo->vidmm->swizzle;
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

/* Plans a move out of VRAM: from the window if it is shown to the CPU, else from tiles in VRAM. */
static void swizzle_plan_out(struct pagoda_bo *bo, struct pagoda_paging_op *copy)
{
	if (pagoda_swizzle_is_shown(bo))
		copy->operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	else if (swizzle_wants_rows(bo))
		copy->transfer.flags = VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
}

static void swizzle_plan_in(struct pagoda_bo *bo, struct pagoda_paging_op *copy)
{
	if (bo->tiling.alternate_view && swizzle_claim(bo))
		copy->operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	else if (!bo->tiling.is_tiled_in_system)
		copy->transfer.flags = VIRTIO_PAGODA_TRANSFER_SWIZZLE;
}

/**
 * pagoda_swizzle_plan() - Choose the operation and conversion that copy an allocation
 * @bo: Allocation, reservation held
 * @to: Destination of the move
 * @copy: Filled in; the caller adds source, destination and the members that differ between pieces
 *
 * Followed by pagoda_swizzle_moved() or, if the move fails, pagoda_swizzle_undo(). A move within
 * VRAM copies tiles as they are: a range that isn't shown to the CPU is taken away here, a shown
 * range later, by pagoda_swizzle_make_idle().
 *
 * Context: May sleep.
 */
void pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to,
			 struct pagoda_paging_op *copy)
{
	*copy = (struct pagoda_paging_op) { .operation = VIRTIO_PAGODA_OP_TRANSFER };
	if (!bo->tiling.layout.tiling)
		return;
	if (swizzle_in_vram(bo->ttm.resource) && swizzle_in_vram(to)) {
		if (bo->tiling.range && !bo->tiling.range->shown)
			swizzle_put(bo, false);
		return;
	}

	if (swizzle_in_vram(to))
		swizzle_plan_in(bo, copy);
	else
		swizzle_plan_out(bo, copy);
	if (copy->operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER && !copy->transfer.flags)
		return;
	copy->transfer.layout = bo->tiling.layout;
	copy->transfer.surface_size = bo->ttm.base.size;
	if (copy->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) {
		copy->transfer.range_id = bo->tiling.range->id;
		copy->transfer.range_data = lower_32_bits(bo->id);
	}
}

/**
 * pagoda_swizzle_needs_idle() - Whether an operation needs a set-up that can't be queued
 * @bo: Allocation, reservation held
 * @operation: VIRTIO_PAGODA_OP_* that is to copy or discard the content
 *
 * Before tiles are used or discarded, a range whose window is shown to the CPU has to be taken
 * away, which can't be queued as a packet can. A SPECIAL_LOCK_TRANSFER copies from the window, and
 * doesn't need that.
 *
 * Context: Any.
 * Return: Value for &pagoda_paging_op.needs_idle; true for any operation if fault injection set
 * &pagoda_bo.content.needs_idle.
 */
bool pagoda_swizzle_needs_idle(const struct pagoda_bo *bo, u32 operation)
{
	return bo->content.needs_idle || (operation != VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER &&
				  pagoda_swizzle_is_shown(bo));
}

/**
 * pagoda_swizzle_make_idle() - Take an allocation's range away, after a builder answered "busy"
 * @bo: Allocation, idle now; reservation held
 * @operation: VIRTIO_PAGODA_OP_* that is built again next: pagoda_swizzle_release() is called for a
 *	TRANSFER, pagoda_swizzle_drop() for a DISCARD_CONTENT, nothing for others
 *
 * Context: May sleep.
 * Return: 0; or the device's error, after which the content is lost.
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
 * pagoda_swizzle_moved() - Update a tiled allocation's state after the copy of a move was emitted
 * @bo: Allocation, reservation held; it still has its old resource
 * @to: Destination of the move
 * @copy: Operation that pagoda_swizzle_plan() filled in
 * @fence: Fence of the copy
 *
 * An allocation that leaves VRAM loses its range, which is free when @fence has signalled.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_moved(struct pagoda_bo *bo, struct ttm_resource *to,
			  const struct pagoda_paging_op *copy, struct dma_fence *fence)
{
	if (swizzle_in_vram(to)) {
		bo->tiling.alternate_view = false;
		bo->tiling.is_tiled_in_system = false;
		if (bo->tiling.range)
			swizzle_set_fence(bo, fence);
	} else if (bo->tiling.layout.tiling && swizzle_in_vram(bo->ttm.resource)) {
		bo->tiling.alternate_view = copy->operation ==
					    VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
		bo->tiling.is_tiled_in_system = !bo->tiling.alternate_view && !copy->transfer.flags;
		if (!bo->tiling.range)
			return;
		swizzle_set_fence(bo, fence);
		swizzle_put(bo, false);
	}
}

/**
 * pagoda_swizzle_undo() - Give a range back that a move into VRAM got, because the move failed
 * @bo: Allocation, reservation held; it still has its old resource
 * @to: Destination of the move
 *
 * Context: May sleep.
 */
void pagoda_swizzle_undo(struct pagoda_bo *bo, struct ttm_resource *to)
{
	if (bo->tiling.range && swizzle_in_vram(to) && !swizzle_in_vram(bo->ttm.resource))
		swizzle_put(bo, false);
}

/**
 * pagoda_swizzle_forget() - Make all ranges usable after a reset of the device
 * @vidmm: Memory manager
 *
 * After a reset the device doesn't execute unanswered commands any more, so ranges that weren't
 * used because of such a command are used again. Ranges that allocations have stay theirs;
 * pagoda_lost_clear() takes the range of an allocation with lost content away.
 *
 * Context: May sleep.
 */
void pagoda_swizzle_forget(struct pagoda_vidmm *vidmm)
{
	struct pagoda_swizzle_range *range;

	mutex_lock(&vidmm->swizzle->lock);
	list_for_each_entry(range, &vidmm->swizzle->lru, link)
		range->dead = false;
	mutex_unlock(&vidmm->swizzle->lock);
}

/* ---- Init and fini ---------------------------------------------------------- */

/**
 * pagoda_swizzle_validate() - Check the layout of a new allocation, tiled or not
 * @vidmm: Memory manager
 * @params: Parameters of the allocation; all but the layout were checked
 * @why: Out: text that says why the layout is refused, if an error is returned
 *
 * Context: Any.
 * Return: 0; -EINVAL if the layout is invalid, or a tiled allocation can't be in VRAM; -EOPNOTSUPP
 * for a tiled allocation if the device has no tiling.
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
	struct pagoda_swizzle *swizzle = vidmm->swizzle;

	if (swizzle->window)
		pagoda_extents_unmap(info->swizzling, info->nr_swizzling, swizzle->window);
	kfree(swizzle->ranges);
	kfree(swizzle->cpu);
	mutex_destroy(&swizzle->lock);
}

/**
 * pagoda_swizzle_init() - Set up the swizzling ranges, all of them free
 * @vidmm: Memory manager with info set
 * @args: Unused
 *
 * Context: Probe; may sleep.
 * Return: 0, -EINVAL if only some extents of the windows are RAM with struct pages, or -ENOMEM.
 */
int pagoda_swizzle_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_swizzle *swizzle;
	u32 i, count = info->swizzling_ranges;
	int ret = 0;

	swizzle = drmm_kzalloc(vidmm->drm, sizeof(*swizzle), GFP_KERNEL);
	if (!swizzle)
		return -ENOMEM;
	vidmm->swizzle = swizzle;
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

/*
 * Returns the array of all swizzling ranges as the CPU executor (paging/cpu/) sees them; NULL if
 * the device has no tiling.
 */
struct pagoda_cpu_range *pagoda_swizzle_cpu_ranges(struct pagoda_vidmm *vidmm)
{
	return vidmm->swizzle->cpu;
}

/* Undoes pagoda_swizzle_init() after all allocations are gone and the queue is stopped. */
void pagoda_swizzle_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_swizzle *swizzle = vidmm->swizzle;
	struct pagoda_swizzle_range *range;

	list_for_each_entry(range, &swizzle->lru, link)
		dma_fence_put(range->fence);
	swizzle_free(vidmm);
}
