/* SPDX-License-Identifier: GPL-2.0 */
/* What the paging queues are made of, for them and the suites. */
#ifndef PAGODA_VIDMM_PAGING_QUEUE_H
#define PAGODA_VIDMM_PAGING_QUEUE_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <pagoda/residency.h>

/* So many values that failed are remembered. */
#define PAGODA_PAGING_FAILURES	64

/**
 * struct pagoda_paging_queue - A paging queue
 * @kref: The client's, and its requests'
 * @vidmm: Manager
 * @client: Client; it has the queue
 * @syncobj: Timeline of its values; a reference
 * @priority: -1, 0 or 1
 * @patience: How long a request that finds no memory is repeated, in jiffies
 * @patience_must: The same if it has to succeed
 * @failures: Values that failed; 0 = none. The oldest is replaced by the next one
 * @nr_failures: Values that failed so far
 * @failures_lock: Protects both
 * @lock: Protects all below; keeps requests in the order of their values
 * @given: Last value given
 * @error: Negative errno of the last request that failed in the pager, or 0
 * @failed: Its value
 */
struct pagoda_paging_queue {
	struct kref kref;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct drm_syncobj *syncobj;
	int priority;
	unsigned long patience;
	unsigned long patience_must;
	u64 failures[PAGODA_PAGING_FAILURES];
	u64 nr_failures;
	spinlock_t failures_lock;	/* failures, nr_failures */
	struct mutex lock;	/* all below */
	u64 given;
	int error;
	u64 failed;
};

#endif
