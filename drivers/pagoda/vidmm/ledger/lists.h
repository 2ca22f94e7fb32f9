/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Residency lists of clients and paging queues, as the ioctls see them.
 *
 * A call changes the counts itself (vidmm/ledger/require.c), for settled allocations without locking
 * them (vidmm/ledger/settled.c). Moves that it needs are a request, executed by the client's worker,
 * the pager (vidmm/submit/paging_queue.c).
 *
 * Lock order, outermost first: pagoda_paging_queue.lock and pagoda_vm.lock, which are never
 * taken both; the lock of the requirements; spinlocks.
 */
#ifndef PAGODA_RESIDENCY_H
#define PAGODA_RESIDENCY_H

#include <linux/types.h>
#include "vidmm/fence/sync.h"

struct drm_syncobj;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_paging_queue;
struct pagoda_requirements;
struct pagoda_vidmm;

struct pagoda_requirements *pagoda_requirements_create(void);
void pagoda_requirements_destroy(struct pagoda_requirements *reqs);
void pagoda_require_forget(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_count(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_clients(const struct pagoda_bo *bo);
void pagoda_require_left(struct pagoda_bo *bo, u32 group);

/**
 * struct pagoda_settling - A call that finds out whether anything is left to do
 * @client: Client with the residency list that is locked
 * @counted: Each of the call's allocations is required once more
 * @settled: Value of &pagoda_bo.wish.settled for a settled allocation
 * @call: Value of &pagoda_bo.wish.named for an allocation that this call named
 */
struct pagoda_settling {
	struct pagoda_client *client;
	bool counted;
	u64 settled;
	u64 call;
};

bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted);
u32 pagoda_settling_some(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_undo(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_end(struct pagoda_settling *settling);

/**
 * struct pagoda_paging_args - Arguments and results of a paging queue's call
 * @bos: Allocations, each once; the caller's
 * @count: Number of allocations, not 0
 * @flags: DRM_PAGODA_RESIDENT_* or DRM_PAGODA_EVICT_* flags, checked
 * @syncs: Syncobjs that are signalled besides the queue's own. Consumed if 0 is returned
 * @bytes_to_trim: Out with -ENOMEM: bytes by which the client's list would be too long, or the
 *	client over its budget; 0: another reason. Out of an eviction: bytes by which the client is
 *	over its budgets
 * @value: Out: value to wait for; 0 = there is nothing to wait for
 */
struct pagoda_paging_args {
	struct pagoda_bo **bos;
	u32 count;
	u32 flags;
	struct pagoda_syncs syncs;
	u64 bytes_to_trim;
	u64 value;
};

struct pagoda_paging_queue *pagoda_paging_queue_create(struct pagoda_vidmm *vidmm,
						       struct pagoda_client *client, int priority,
						       struct drm_syncobj *syncobj);
void pagoda_paging_queue_get(struct pagoda_paging_queue *queue);
void pagoda_paging_queue_put(struct pagoda_paging_queue *queue);
struct pagoda_paging_queue *pagoda_paging_queue_of(struct pagoda_client *client,
						   const struct drm_syncobj *syncobj);
bool pagoda_paging_queue_failed(struct pagoda_paging_queue *queue, u64 value);
int pagoda_paging_make_resident(struct pagoda_paging_queue *queue,
				struct pagoda_paging_args *args);
void pagoda_paging_is_made(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args);
int pagoda_paging_evict(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args);
void pagoda_paging_queue_state(struct pagoda_paging_queue *queue,
			       struct drm_pagoda_paging_queue_state *state);
void pagoda_client_drop_lists(struct pagoda_client *client);

#endif
