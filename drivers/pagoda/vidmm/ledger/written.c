// SPDX-License-Identifier: GPL-2.0
/*
 * Tracks whether an allocation in VRAM may have been written since its copy in system memory was
 * made (bo/copy.c): if not, the allocation is clean.
 *
 * If the device tracks what it writes (VIRTIO_PAGODA_F_DIRTY), &pagoda_bo_choice.written says only
 * that there is no copy of this content: none was made, or the content moved within VRAM or was
 * lost since. On such a device "clean" is an estimate, by which the policy knows what an eviction
 * costs: a wrong estimate loses no data, because the eviction has the device copy all that was
 * written (bo/copy.c).
 */
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include <drm/drm_managed.h>
#include "core/core.h"
#include "allocation.h"
#include "internal.h"
#include "ledger.h"
#include "policy.h"

/* Returns how many jobs the VM had so far that an allocation is private to; 0 if not private. */
static u64 copy_jobs(const struct pagoda_bo *bo)
{
	return bo->vm.uses ? bo->vm.uses->jobs : 0;
}

/* Returns whether the device knows which pages of VRAM it wrote. */
static bool copy_is_tracked(const struct pagoda_bo *bo)
{
	return bo->vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
}

static void copy_set_clean(struct pagoda_bo *bo, bool clean)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	lockdep_assert_held(&victims->lock);
	bo->choice.jobs = copy_jobs(bo);
	pagoda_policy_set_clean(&victims->policy, &bo->choice.item, clean);
}

static void copy_set_written(struct pagoda_bo *bo)
{
	WRITE_ONCE(bo->choice.written, true);
	copy_set_clean(bo, false);
}

/*
 * Returns whether the copy in system memory equals the content in VRAM: the allocation was marked
 * clean, no client's residency list has it, and no job of its VM may have used it after that mark.
 * If the device tracks what it writes, residency lists don't matter, and true is an estimate.
 */
static bool copy_is_clean(const struct pagoda_bo *bo)
{
	lockdep_assert_held(&bo->vidmm->victims->lock);
	return bo->choice.item.clean && bo->choice.jobs == copy_jobs(bo) &&
	       (copy_is_tracked(bo) || !atomic_read(&bo->wish.required));
}

/**
 * pagoda_copy_is_tracked() - Test whether the device knows all its writes since the copy was made
 * @bo: Allocation in VRAM with a copy, reservation held; CPU mappings were removed
 *
 * Context: Any.
 * Return: Whether a transfer with the flag DIRTY brings the copy up to date, but for CPU writes.
 */
bool pagoda_copy_is_tracked(struct pagoda_bo *bo)
{
	return copy_is_tracked(bo) && !READ_ONCE(bo->choice.written);
}

/*
 * Returns whether a write of the CPU to an allocation would have to be noticed: there is a copy in
 * system memory that may still be up to date. The reservation is held.
 */
bool pagoda_copy_is_watched(struct pagoda_bo *bo)
{
	return bo->content.copy && !READ_ONCE(bo->choice.written);
}

/**
 * pagoda_copy_is_clean() - Test whether an allocation's copy equals its content in VRAM
 * @bo: Allocation, reservation held
 *
 * For a device without dirty tracking: a client that says it wrote nothing is believed.
 *
 * Context: Any but interrupts.
 * Return: Whether the content can leave VRAM without being copied.
 */
bool pagoda_copy_is_clean(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;
	bool clean;

	spin_lock(&victims->lock);
	clean = copy_is_clean(bo);
	spin_unlock(&victims->lock);
	return clean;
}

/**
 * pagoda_copy_settle() - Notice jobs that may have used an allocation since it was marked clean
 * @bo: Allocation; pagoda_victims.lock is held
 *
 * Jobs don't list the private allocations of their VM: such a use is noticed here, and marks the
 * allocation as written, or only as not clean if the device tracks what it writes.
 */
void pagoda_copy_settle(struct pagoda_bo *bo)
{
	lockdep_assert_held(&bo->vidmm->victims->lock);
	if (!bo->choice.item.clean || copy_is_clean(bo))
		return;
	if (copy_is_tracked(bo))
		copy_set_clean(bo, false);
	else
		copy_set_written(bo);
}

/*
 * Called with pagoda_victims.lock held when an allocation came to VRAM or left VRAM. Until
 * pagoda_copy_begin() the allocation counts as written, so that an eviction copies its content.
 */
void pagoda_copy_moved(struct pagoda_bo *bo)
{
	copy_set_written(bo);
}

/*
 * Called with pagoda_victims.lock held for each allocation in VRAM that a job lists or has resident
 * because of a residency list; @reads: the client says that the job only reads it. If the device
 * tracks what is written, the allocation isn't expected to be clean any more, unless @reads. On
 * another device it counts as written, whatever @reads is, unless it is on a residency list.
 */
void pagoda_copy_used(struct pagoda_bo *bo, bool reads)
{
	lockdep_assert_held(&bo->vidmm->victims->lock);
	if (!copy_is_tracked(bo) && !atomic_read(&bo->wish.required))
		copy_set_written(bo);
	else if (copy_is_tracked(bo) && !reads)
		copy_set_clean(bo, false);
}

/**
 * pagoda_copy_written() - Have all of an allocation count as written, because its content was lost
 * or moves within VRAM
 * @bo: Allocation, reservation held; nothing changes if it has no copy
 *
 * Context: Any but interrupts.
 */
void pagoda_copy_written(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	if (!bo->content.copy)
		return;
	spin_lock(&victims->lock);
	copy_set_written(bo);
	spin_unlock(&victims->lock);
}

/*
 * The CPU may write to a part of an allocation from now on. If the device tracks its own writes,
 * the allocation isn't expected to be clean any more, and bo/copy.c has noted the part; else all of
 * the allocation counts as written. Reservation held.
 */
void pagoda_copy_expect_written(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	if (copy_is_tracked(bo))
		copy_set_clean(bo, false);
	else
		copy_set_written(bo);
	spin_unlock(&victims->lock);
}

/*
 * Called when a client puts the allocation on its residency list, after
 * &pagoda_bo.wish.required was raised. Does nothing if the device tracks what it writes. Else the
 * allocation doesn't count as clean while on a list. If the allocation was on no list before, and
 * is private to a VM that has had jobs since &pagoda_bo_choice.jobs was set, the allocation counts
 * as written.
 */
void pagoda_copy_required(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	if (copy_is_tracked(bo))
		return;
	spin_lock(&victims->lock);
	if (bo->choice.jobs != copy_jobs(bo) && atomic_read(&bo->wish.required) == 1)
		copy_set_written(bo);
	else
		pagoda_policy_set_clean(&victims->policy, &bo->choice.item, false);
	spin_unlock(&victims->lock);
}

/*
 * Called when the allocation's count on a residency list was lowered; &pagoda_bo.wish.required is
 * up to date. Does nothing if the device tracks what it writes. @unwritten: the client said that it
 * wrote nothing since the allocation was made resident: the allocation becomes clean if it is on no
 * list any more and doesn't count as written. Without @unwritten, or after pagoda_copy_shared(),
 * the allocation counts as written.
 */
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	if (copy_is_tracked(bo))
		return;
	spin_lock(&victims->lock);
	WRITE_ONCE(bo->content.keeps_copy, unwritten);
	if (!unwritten || bo->choice.handed_out)
		copy_set_written(bo);
	else if (!bo->choice.written && !atomic_read(&bo->wish.required))
		copy_set_clean(bo, true);
	spin_unlock(&victims->lock);
}

/*
 * Another client may use the allocation from now on: unless the device tracks what any client
 * writes, the allocation never counts as clean again.
 */
void pagoda_copy_shared(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	WRITE_ONCE(bo->choice.handed_out, true);
	if (!copy_is_tracked(bo))
		copy_set_written(bo);
	spin_unlock(&victims->lock);
}

/*
 * Called when &pagoda_bo.content.copy was made and equals the content in VRAM: the allocation
 * doesn't count as written from now on, and if the device tracks what it writes, counts as clean.
 */
void pagoda_copy_begin(struct pagoda_bo *bo)
{
	struct pagoda_victims *victims = bo->vidmm->victims;

	spin_lock(&victims->lock);
	WRITE_ONCE(bo->choice.written, false);
	bo->choice.jobs = copy_jobs(bo);
	if (copy_is_tracked(bo))
		copy_set_clean(bo, true);
	spin_unlock(&victims->lock);
}
