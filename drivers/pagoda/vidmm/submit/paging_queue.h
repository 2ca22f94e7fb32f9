/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Struct of a paging queue of a client, whose values are points of a syncobj; struct of the
 * arguments and results of a MAKE_RESIDENT or EVICT call with such a queue.
 */
#ifndef PAGODA_VIDMM_SUBMIT_PAGING_QUEUE_H
#define PAGODA_VIDMM_SUBMIT_PAGING_QUEUE_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "vidmm/fence/sync.h"

struct drm_syncobj;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_vidmm;

/**
 * struct pagoda_paging_args - A MAKE_RESIDENT or EVICT with a paging queue, and its results
 * @bos: Allocations, each once; the array and the references are the caller's
 * @count: Number of allocations, not 0
 * @flags: DRM_PAGODA_RESIDENT_* or DRM_PAGODA_EVICT_* flags, checked
 * @syncs: Fences and points that are signalled when the call's paging is done, in addition to a
 *	point of the queue's syncobj. Consumed if the call returns 0
 * @bytes_to_trim: Out: of a MAKE_RESIDENT that fails with -ENOMEM, bytes by which the allocations
 *	on the client's residency list, or @bos together with pinned allocations, would exceed the
 *	device's memory, or by which the client would exceed its budget; 0 = another reason. Of
 *	EVICT, bytes by which the client exceeds its budgets
 * @value: Out: point of the queue's timeline to wait for; 0 = there is nothing to wait for
 */
struct pagoda_paging_args {
	struct pagoda_bo **bos;
	u32 count;
	u32 flags;
	struct pagoda_syncs syncs;
	u64 bytes_to_trim;
	u64 value;
};

/* Most values of failed requests that a paging queue remembers, the last ones. */
#define PAGODA_PAGING_FAILURES	64

/**
 * struct pagoda_paging_queue - A paging queue of a client
 * @source: The queue as &pagoda_sync.source of waits for points of @syncobj, which asks whether the
 *	request of a point failed
 * @kref: References of the client's handle, of requests, and of &pagoda_sync.source
 * @vidmm: Manager
 * @client: Client that has the queue; no reference
 * @syncobj: Timeline of the queue's values, a reference
 * @priority: -1, 0 or 1: the client's pager runs requests of higher priority first
 * @patience: Jiffies for which a request without MUST_SUCCEED that finds no memory is repeated,
 *	after the end of the jobs that the request waits for
 * @patience_must: Likewise, of a request with MUST_SUCCEED
 * @failures: Values of the last requests that failed, 0 = none; a new value replaces the oldest
 * @nr_failures: Number of requests that failed so far
 * @failures_lock: Protects @failures and @nr_failures
 * @lock: Protects @given, @error and @failed; keeps requests in the order of their values
 * @given: Value of the last request that was queued; values are given in order, from 1 on
 * @error: Negative errno of the last request that failed in the pager, or 0
 * @failed: Value of the request with @error
 */
struct pagoda_paging_queue {
	struct pagoda_sync_source source;
	struct kref kref;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct drm_syncobj *syncobj;
	int priority;
	unsigned long patience;
	unsigned long patience_must;
	u64 failures[PAGODA_PAGING_FAILURES];
	u64 nr_failures;
	spinlock_t failures_lock;	/* protects failures, nr_failures */
	struct mutex lock;	/* protects given, error, failed */
	u64 given;
	int error;
	u64 failed;
};

#endif
