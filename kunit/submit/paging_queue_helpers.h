/* SPDX-License-Identifier: GPL-2.0 */
/* A client's paging queues, one of each priority, and allocations for requests of these queues. */
#ifndef PAGODA_KUNIT_PAGING_QUEUE_HELPERS_H
#define PAGODA_KUNIT_PAGING_QUEUE_HELPERS_H

#include <linux/completion.h>
#include <linux/dma-fence.h>
#include "submit_helpers.h"

#define MOST		12u

struct paging_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_paging_queue *queues[3];
	struct drm_syncobj *points[3];
	struct pagoda_bo *bos[MOST];
	u64 trim;
	struct completion held;
	struct completion let;
	struct completion over;
};

#define LOW	0
#define NORMAL	1
#define HIGH	2

static inline struct paging_test paging_make(struct kunit *test, u32 pages)
{
	struct paging_test t = { .test = test, .rig = submit_rig(test) };
	u32 i;

	for (i = 0; i < 3; i++) {
		t.points[i] = submit_syncobj(test);
		t.queues[i] = pagoda_paging_queue_create(t.rig->vidmm, t.rig->client,
							 (int)i - NORMAL, t.points[i]);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t.queues[i]));
	}
	for (i = 0; i < MOST; i++) {
		t.bos[i] = pagoda_rig_bo(t.rig, pages, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
					 SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bos[i]));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(t.bos[i]));
		pagoda_rig_write(t.rig, t.bos[i], i);
	}
	pagoda_rig_settle_freed(t.rig);
	t.rig->nr_log = 0;
	return t;
}

static inline void paging_end(struct paging_test *t)
{
	u32 i;

	pagoda_client_drop_lists(t->rig->client);
	for (i = 0; i < 3; i++)
		pagoda_paging_queue_put(t->queues[i]);
	for (i = 0; i < MOST; i++)
		pagoda_rig_close(t->bos[i]);
}

/*
 * Calls MAKE_RESIDENT for @count allocations from @first on. Returns the call's return value, the
 * paging value in @value, and the bytes to trim in @t->trim.
 */
static inline int paging_resident(struct paging_test *t, u32 queue, u32 first, u32 count, u32 flags,
				  u64 *value)
{
	struct pagoda_paging_args args = {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	int ret = pagoda_paging_make_resident(t->queues[queue], &args);

	*value = args.value;
	t->trim = args.bytes_to_trim;
	return ret;
}

static inline int paging_evict(struct paging_test *t, u32 queue, u32 first, u32 count, u32 flags,
			       u64 *value)
{
	struct pagoda_paging_args args = {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	int ret = pagoda_paging_evict(t->queues[queue], &args);

	*value = args.value;
	return ret;
}

/* Waits until a paging value has signalled; returns the error of its fence, 0 for the value 0. */
static inline int paging_wait(struct paging_test *t, u32 queue, u64 value)
{
	return value ? submit_wait_point(t->points[queue], value) : 0;
}

static inline bool paging_is_over(struct paging_test *t, u32 queue, u64 value)
{
	struct dma_fence *fence;
	bool over;

	if (!submit_point(t->points[queue], value, &fence))
		return false;
	over = !fence || dma_fence_is_signaled(fence);
	dma_fence_put(fence);
	return over;
}

static inline bool paging_in_vram(struct paging_test *t, u32 index)
{
	return t->bos[index]->ttm.resource->mem_type == TTM_PL_VRAM;
}

static inline u32 paging_count(struct paging_test *t, u32 index)
{
	return pagoda_require_count(t->rig->client, t->bos[index]);
}

#endif
