// SPDX-License-Identifier: GPL-2.0
/* Another device's work that uses an allocation: see work_helpers.h. */
#include <linux/mm.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "work_helpers.h"

static const char *work_name(struct dma_fence *fence)
{
	return "pagoda-other-work";
}

/* Notes which locks are held when a thread begins to wait; other threads don't take these locks. */
static bool work_awaited(struct dma_fence *fence)
{
	struct other_work *work = container_of(fence, struct other_work, base);

	work->awaited = true;
	work->under_mmap_lock = current->mm && rwsem_is_locked(&current->mm->mmap_lock);
	work->under_resv = dma_resv_is_locked(work->resv);
	return work->stays;
}

static bool work_is_done(struct dma_fence *fence)
{
	return ++container_of(fence, struct other_work, base)->looks > OTHER_WORK_LOOKS;
}

static const struct dma_fence_ops work_ops = {
	.get_driver_name = work_name,
	.get_timeline_name = work_name,
	.enable_signaling = work_awaited,
	.signaled = work_is_done,
};

struct other_work *other_work_new(struct kunit *test, struct dma_resv *resv)
{
	struct other_work *work = kzalloc(sizeof(*work), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, work);
	spin_lock_init(&work->lock);
	work->resv = resv;
	dma_fence_init(&work->base, &work_ops, &work->lock, dma_fence_context_alloc(1), 1);
	return work;
}

struct other_work *other_work_add(struct kunit *test, struct pagoda_bo *bo,
				  enum dma_resv_usage usage)
{
	struct other_work *work = other_work_new(test, bo->ttm.base.resv);

	pagoda_rig_add_fence(test, work->resv, &work->base, usage);
	return work;
}

void other_work_put(struct other_work *work)
{
	dma_fence_put(&work->base);
}
