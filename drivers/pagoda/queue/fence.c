// SPDX-License-Identifier: GPL-2.0
/*
 * Fences: those of the device's work, which only a scheduler sees, and what is left
 * of a scheduler when its own fences outlive it.
 */
#include <linux/dma-fence.h>
#include <linux/kmemleak.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <drm/gpu_scheduler.h>

#include "fence.h"

#define PAGODA_TIMELINE_NAME	16

/**
 * struct pagoda_tombstone - What is left of a scheduler when its fences outlive it
 * @sched: Only its name is looked at
 * @name: The name
 *
 * User space may keep a fence in a file and ask for its timeline's name long after
 * the device and this module are gone, and the core looks for it in the
 * scheduler. Fences are pointed here when their job is through, so that neither
 * the queue nor the module has to stay. One for all queues of a kind, never freed.
 */
struct pagoda_tombstone {
	struct drm_gpu_scheduler sched;
	char name[PAGODA_TIMELINE_NAME];
};

static const char * const pagoda_timeline_names[PAGODA_TIMELINE_COUNT] = {
	[PAGODA_TIMELINE_PAGING] = "pagoda-paging",
	[PAGODA_TIMELINE_EXEC] = "pagoda-exec",
};

/* Protects pagoda_tombstones until they are there. */
static DEFINE_MUTEX(pagoda_tombstone_lock);
static struct pagoda_tombstone *pagoda_tombstones[PAGODA_TIMELINE_COUNT];

static struct pagoda_tombstone *pagoda_tombstone_create(const char *name)
{
	struct pagoda_tombstone *tombstone = kzalloc(sizeof(*tombstone), GFP_KERNEL);

	if (!tombstone)
		return NULL;
	strscpy(tombstone->name, name);
	tombstone->sched.name = tombstone->name;
	kmemleak_not_leak(tombstone);
	return tombstone;
}

/**
 * pagoda_timeline_prepare() - Make sure that fences of a timeline may outlive it
 * @timeline: Kind
 *
 * Context: may sleep and allocate; before the timeline's scheduler is made.
 * Return: The name its scheduler has to have, valid for ever, or NULL without memory.
 */
const char *pagoda_timeline_prepare(enum pagoda_timeline timeline)
{
	struct pagoda_tombstone *tombstone;

	mutex_lock(&pagoda_tombstone_lock);
	if (!pagoda_tombstones[timeline])
		pagoda_tombstones[timeline] =
			pagoda_tombstone_create(pagoda_timeline_names[timeline]);
	tombstone = pagoda_tombstones[timeline];
	mutex_unlock(&pagoda_tombstone_lock);
	return tombstone ? tombstone->name : NULL;
}

/**
 * pagoda_timeline_detach() - Leave nothing of ours within reach of a job's fence
 * @timeline: Kind of its timeline, prepared
 * @job: Job that is through, its fence signalled
 *
 * Context: any.
 */
void pagoda_timeline_detach(enum pagoda_timeline timeline, struct drm_sched_job *job)
{
	struct drm_sched_fence *s_fence = job->s_fence;
	struct dma_fence *hw = s_fence->parent;

	s_fence->parent = NULL;
	dma_fence_put(hw);
	WRITE_ONCE(s_fence->sched, &pagoda_tombstones[timeline]->sched);
}

/**
 * struct pagoda_hw_fence - Fence of the device's work
 * @base: First, for dma_fence_free()
 * @lock: Its own: the scheduler may look at it from anywhere
 *
 * Only the scheduler sees it, and only until free_job: nothing of this module
 * stays behind in a fence that user space keeps.
 */
struct pagoda_hw_fence {
	struct dma_fence base;
	spinlock_t lock; /* dma_fence_init() wants one */
};

static const char *pagoda_hw_fence_driver_name(struct dma_fence *fence)
{
	return "pagoda";
}

static const char *pagoda_hw_fence_timeline_name(struct dma_fence *fence)
{
	return "pagoda-device";
}

static const struct dma_fence_ops pagoda_hw_fence_ops = {
	.get_driver_name = pagoda_hw_fence_driver_name,
	.get_timeline_name = pagoda_hw_fence_timeline_name,
};

/**
 * pagoda_hw_fence_alloc() - Memory for a fence of the device's work
 *
 * Context: may sleep and allocate.
 * Return: The fence, good for pagoda_hw_fence_init() or pagoda_hw_fence_free() only, or
 * NULL.
 */
struct dma_fence *pagoda_hw_fence_alloc(void)
{
	struct pagoda_hw_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	return &fence->base;
}

/**
 * pagoda_hw_fence_init() - Give the fence its place on a timeline
 * @fence: From pagoda_hw_fence_alloc(); counted afterwards
 * @context: Timeline
 * @seqno: Place
 *
 * Context: any.
 */
void pagoda_hw_fence_init(struct dma_fence *fence, u64 context, u64 seqno)
{
	dma_fence_init(fence, &pagoda_hw_fence_ops,
		       &container_of(fence, struct pagoda_hw_fence, base)->lock, context, seqno);
}

/**
 * pagoda_hw_fence_free() - Free a fence that has no place yet
 * @fence: From pagoda_hw_fence_alloc(), or NULL
 *
 * Context: any.
 */
void pagoda_hw_fence_free(struct dma_fence *fence)
{
	if (fence)
		kfree(container_of(fence, struct pagoda_hw_fence, base));
}
