// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of schedulers, for fences that outlive their scheduler.
 *
 * User space may keep a job's fence in a file or a syncobj, and ask for the name of the fence's
 * timeline, long after the device and this module are gone. The fence points to the scheduler, and
 * the scheduler to the name. There are two kinds of kernels:
 *
 * PAGODA_FENCE_NAMES_UNTIL_SIGNAL is true: the kernel reads the names of unsignalled fences only,
 * under RCU. A scheduler is freed an RCU grace period after its end.
 *
 * PAGODA_FENCE_NAMES_UNTIL_SIGNAL is false: the kernel reads names as long as the fence exists. A
 * scheduler and its name are never freed, but reused for the next scheduler of that name: while
 * this module is loaded, each name has as many schedulers as it ever had timelines at the same
 * time. When this module is unloaded, the schedulers stay allocated, some hundred bytes for each
 * timeline: unloading must not wait until user space closes its files, and the release of a fence
 * runs no code that could free a scheduler later.
 */
#include <linux/kmemleak.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/virtio_pagoda.h>
#include "core/compat.h"
#include "core/info.h"
#include "flight.h"

struct scheduler {
	struct drm_gpu_scheduler base;
	char name[16];
	u32 slot;		/* index in unused_schedulers of the list for this name */
	struct scheduler *next;	/* next in that list, while the scheduler is unused */
};

/* Index in unused_schedulers of the list for the paging queue's name; engines come before. */
#define SLOT_PAGING	VIRTIO_PAGODA_MAX_ENGINES

/* Protects unused_schedulers: for each name a list of the schedulers that aren't in use. */
static DEFINE_MUTEX(unused_schedulers_lock);
static struct scheduler *unused_schedulers[SLOT_PAGING + 1];

static struct scheduler *scheduler_reuse(u32 slot)
{
	struct scheduler *scheduler;

	mutex_lock(&unused_schedulers_lock);
	scheduler = unused_schedulers[slot];
	if (scheduler)
		unused_schedulers[slot] = scheduler->next;
	mutex_unlock(&unused_schedulers_lock);
	return scheduler;
}

static struct scheduler *scheduler_alloc(u32 slot)
{
	struct scheduler *scheduler = kzalloc(sizeof(*scheduler), GFP_KERNEL);

	if (!scheduler)
		return NULL;
	if (slot == SLOT_PAGING)
		strscpy(scheduler->name, "paging");
	else
		snprintf(scheduler->name, sizeof(scheduler->name), PAGODA_ENGINE_NAME, slot);
	scheduler->slot = slot;
	if (!PAGODA_FENCE_NAMES_UNTIL_SIGNAL)
		kmemleak_not_leak(scheduler);
	return scheduler;
}

static void scheduler_free(struct scheduler *scheduler)
{
	if (PAGODA_FENCE_NAMES_UNTIL_SIGNAL) {
		kfree_rcu_mightsleep(scheduler);
		return;
	}
	mutex_lock(&unused_schedulers_lock);
	scheduler->next = unused_schedulers[scheduler->slot];
	unused_schedulers[scheduler->slot] = scheduler;
	mutex_unlock(&unused_schedulers_lock);
}

/*
 * Creates a scheduler for a timeline of the kind @timeline, with the name of the paging queue or of
 * the engine @index; @args has the rest. Returns the scheduler, or ERR_PTR() of -ENOMEM or of the
 * error of drm_sched_init(). May sleep and allocate.
 */
struct drm_gpu_scheduler *pagoda_scheduler_create(enum pagoda_timeline timeline, u32 index,
						  const struct pagoda_sched_args *args)
{
	u32 slot = timeline == PAGODA_TIMELINE_PAGING ? SLOT_PAGING : index;
	struct scheduler *scheduler = scheduler_reuse(slot);
	int ret;

	if (!scheduler)
		scheduler = scheduler_alloc(slot);
	if (!scheduler)
		return ERR_PTR(-ENOMEM);
	/*
	 * Fences of the scheduler's last use may still refer to the name, which stays valid:
	 * drm_sched_init() stores the same pointer again.
	 */
	ret = pagoda_sched_init(&scheduler->base, scheduler->name, args);
	if (!ret)
		return &scheduler->base;
	scheduler_free(scheduler);
	return ERR_PTR(ret);
}

/* Destroys a scheduler that has no entities and jobs; its fences stay valid. May sleep. */
void pagoda_scheduler_destroy(struct drm_gpu_scheduler *sched)
{
	drm_sched_fini(sched);
	scheduler_free(container_of(sched, struct scheduler, base));
}
