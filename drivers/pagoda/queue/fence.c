// SPDX-License-Identifier: GPL-2.0
/* Timeline names of fences that outlive their scheduler. */
#include <linux/dma-fence.h>
#include <linux/kmemleak.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include "flight.h"

#define PAGODA_TIMELINE_NAME	16

/*
 * Stands in for a scheduler that is freed; only sched.name is used. User space may keep a fence in
 * a file and ask for the name of the fence's timeline long after the device and this module are
 * gone, and the DRM core reads the name from the scheduler. A finished job's fence is made to point
 * to a tombstone, so that neither the scheduler nor the module has to stay. There is a single
 * tombstone for each kind of timeline, never freed.
 */
struct pagoda_tombstone {
	struct drm_gpu_scheduler sched;
	char name[PAGODA_TIMELINE_NAME];
};

static const char * const timeline_names[PAGODA_TIMELINE_COUNT] = {
	[PAGODA_TIMELINE_PAGING] = "pagoda-paging",
	[PAGODA_TIMELINE_EXEC] = "pagoda-exec",
};

/* Serializes the creation of tombstones in fence_tombstones. */
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
 * Creates the tombstone of a kind of timeline, unless it exists, before the scheduler of such a
 * timeline is initialized. Returns the name that the scheduler must have, valid for ever, or NULL
 * without memory. May sleep and allocate.
 */
const char *pagoda_timeline_prepare(enum pagoda_timeline timeline)
{
	struct pagoda_tombstone *tombstone;

	mutex_lock(&pagoda_tombstone_lock);
	if (!fence_tombstones[timeline])
		fence_tombstones[timeline] = tombstone_create(timeline_names[timeline]);
	tombstone = fence_tombstones[timeline];
	mutex_unlock(&pagoda_tombstone_lock);
	return tombstone ? tombstone->name : NULL;
}

/* Removes all pointers to the scheduler and the module from a finished job's signalled fence. */
void pagoda_timeline_detach(enum pagoda_timeline timeline, struct drm_sched_job *job)
{
	struct drm_sched_fence *s_fence = job->s_fence;
	struct dma_fence *hw = s_fence->parent;

	s_fence->parent = NULL;
	dma_fence_put(hw);
	WRITE_ONCE(s_fence->sched, &fence_tombstones[timeline]->sched);
}
