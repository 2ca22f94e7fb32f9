/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Another device's work that uses an allocation. The work is done as soon as a thread waits for it,
 * unless @stays is set; or after OTHER_WORK_LOOKS looks at the fence, so that a thread that looks
 * again and again comes to an end.
 */
#ifndef PAGODA_KUNIT_WORK_HELPERS_H
#define PAGODA_KUNIT_WORK_HELPERS_H

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include "rig/rig.h"

#define OTHER_WORK_LOOKS	1000u

/**
 * struct other_work - Work of another device
 * @base: Fence of the work
 * @lock: The fence's lock
 * @resv: Reservation of the allocation
 * @looks: Number of looks at @base by threads that want to know whether the work is done
 * @stays: The work isn't done when a thread waits for it
 * @awaited: A thread has waited for the work
 * @under_mmap_lock: That thread, or another one, held mmap_lock of the thread's address space
 * @under_resv: That thread, or another one, held @resv
 */
struct other_work {
	struct dma_fence base;
	spinlock_t lock;	/* the fence's lock */
	struct dma_resv *resv;
	u32 looks;
	bool stays;
	bool awaited;
	bool under_mmap_lock;
	bool under_resv;
};

/* Returns new work whose fence is in no reservation, a reference; @resv is only looked at. */
struct other_work *other_work_new(struct kunit *test, struct dma_resv *resv);
/* Returns new work whose fence is in the allocation's reservation, a reference. */
struct other_work *other_work_add(struct kunit *test, struct pagoda_bo *bo,
				  enum dma_resv_usage usage);
void other_work_put(struct other_work *work);

#endif
