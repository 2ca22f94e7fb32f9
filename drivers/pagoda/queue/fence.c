// SPDX-License-Identifier: GPL-2.0
/*
 * Fences of the device's work, which only a scheduler sees, and a substitute for a scheduler that
 * is freed before its own fences.
 */
#include <linux/dma-fence.h>
#include <linux/kmemleak.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <drm/gpu_scheduler.h>

#include "fence.h"

#define PAGODA_TIMELINE_NAME	16

/*
 * Substitute for a freed scheduler; only its name is used. User space may keep a fence in a file
 * and ask for the name of the fence's timeline long after the device and this module are gone, and
 * the DRM core reads that name from the scheduler. Fences are pointed here when their job is
 * finished, so that neither the queue nor the module has to stay. One per kind of timeline, never
 * freed.
 */
struct pagoda_tombstone {
	struct drm_gpu_scheduler sched;
	char name[PAGODA_TIMELINE_NAME];
};

static const char * const timeline_names[PAGODA_TIMELINE_COUNT] = {
	[PAGODA_TIMELINE_PAGING] = "pagoda-paging",
	[PAGODA_TIMELINE_EXEC] = "pagoda-exec",
};

/* Protects the creation of fence_tombstones. */
static DEFINE_MUTEX(pagoda_tombstone_lock);
static struct pagoda_tombstone *fence_tombstones[PAGODA_TIMELINE_COUNT];

static struct pagoda_tombstone *tombstone_create(const char *name)
{
	struct pagoda_tombstone *tombstone = kzalloc(sizeof(*tombstone), GFP_KERNEL);

	if (!tombstone)
		return NULL;
	strscpy(tombstone->name, name);
	tombstone->sched.name = tombstone->name;
	kmemleak_not_leak(tombstone);
	return tombstone;
}

/*
 * Creates the tombstone of a timeline, before the timeline's scheduler is initialized. Returns the
 * name that the scheduler must have, valid for ever, or NULL without memory. May sleep and
 * allocate.
 */
const char *pagoda_timeline_prepare(enum pagoda_timeline timeline)
{
	struct pagoda_tombstone *tombstone;

	mutex_lock(&pagoda_tombstone_lock);
	if (!fence_tombstones[timeline])
		fence_tombstones[timeline] =
			tombstone_create(timeline_names[timeline]);
	tombstone = fence_tombstones[timeline];
	mutex_unlock(&pagoda_tombstone_lock);
	return tombstone ? tombstone->name : NULL;
}

/*
 * Removes all pointers to the queue and the module from the fence of a finished job. The fence is
 * signalled.
 */
void pagoda_timeline_detach(enum pagoda_timeline timeline, struct drm_sched_job *job)
{
	struct drm_sched_fence *s_fence = job->s_fence;
	struct dma_fence *hw = s_fence->parent;

	s_fence->parent = NULL;
	dma_fence_put(hw);
	WRITE_ONCE(s_fence->sched, &fence_tombstones[timeline]->sched);
}

/*
 * Fence of the device's work. Only the scheduler sees it, and only until free_job: a fence that
 * user space keeps has no reference into this module. @base is first, for dma_fence_free(); @lock
 * is the fence's own, because the scheduler may use the fence from anywhere.
 */
struct pagoda_hw_fence {
	struct dma_fence base;
	spinlock_t lock; /* dma_fence_init() wants one */
};

static const char *hw_fence_driver_name(struct dma_fence *fence)
{
	return "pagoda";
}

static const char *hw_fence_timeline_name(struct dma_fence *fence)
{
	return "pagoda-device";
}

static const struct dma_fence_ops hw_fence_ops = {
	.get_driver_name = hw_fence_driver_name,
	.get_timeline_name = hw_fence_timeline_name,
};

/*
 * Returns a fence for pagoda_hw_fence_init() or pagoda_hw_fence_free() only, or NULL. May sleep and
 * allocate.
 */
struct dma_fence *pagoda_hw_fence_alloc(void)
{
	struct pagoda_hw_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	return &fence->base;
}

/* Initializes the fence with its timeline and number; from now on it is counted. */
void pagoda_hw_fence_init(struct dma_fence *fence, u64 context, u64 seqno)
{
	dma_fence_init(fence, &hw_fence_ops,
		       &container_of(fence, struct pagoda_hw_fence, base)->lock, context, seqno);
}

/* Frees a fence, or NULL, that was not initialized with pagoda_hw_fence_init(). */
void pagoda_hw_fence_free(struct dma_fence *fence)
{
	if (fence)
		kfree(container_of(fence, struct pagoda_hw_fence, base));
}
