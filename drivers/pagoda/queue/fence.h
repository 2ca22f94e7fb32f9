/* SPDX-License-Identifier: GPL-2.0 */
/* Fences of the queue layer, of paging and of engines alike. */
#ifndef PAGODA_QUEUE_FENCE_H
#define PAGODA_QUEUE_FENCE_H

#include <linux/types.h>

struct dma_fence;
struct drm_sched_job;

/* Kinds of timelines, for their names. */
enum pagoda_timeline {
	PAGODA_TIMELINE_PAGING,
	PAGODA_TIMELINE_EXEC,
	PAGODA_TIMELINE_COUNT
};

const char *pagoda_timeline_prepare(enum pagoda_timeline timeline);
void pagoda_timeline_detach(enum pagoda_timeline timeline, struct drm_sched_job *job);

struct dma_fence *pagoda_hw_fence_alloc(void);
void pagoda_hw_fence_init(struct dma_fence *fence, u64 context, u64 seqno);
void pagoda_hw_fence_free(struct dma_fence *fence);

#endif
