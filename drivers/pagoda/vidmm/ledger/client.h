/* SPDX-License-Identifier: GPL-2.0 */
/* Clients: open files, and what the manager keeps of them. */
#ifndef PAGODA_VIDMM_LEDGER_CLIENT_H
#define PAGODA_VIDMM_LEDGER_CLIENT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "budget.h"
#include "events.h"
#include "traffic.h"

struct dmem_cgroup_pool_state;
struct drm_device;
struct kthread_worker;
struct pagoda_deferred;
struct pagoda_exec_account;
struct pagoda_quota;
struct pagoda_requirements;
struct pagoda_vidmm;

/**
 * struct pagoda_client_traffic - Counters of moves of a client's allocations, as struct
 * drm_pagoda_stats counts them
 * @paged_in: Bytes copied to VRAM
 * @paged_out: Bytes copied out of it
 * @evictions: Allocations that left it
 */
struct pagoda_client_traffic {
	atomic64_t paged_in;
	atomic64_t paged_out;
	atomic64_t evictions;
};

/**
 * struct pagoda_client_pace - Bucket and counters of a client's submissions
 * @traffic: Bucket that submissions pay from
 * @held: Number of submissions that left allocations out of VRAM because there was no token
 * @left: Bytes that submissions left out, counted for each submission
 */
struct pagoda_client_pace {
	struct pagoda_traffic traffic;
	atomic64_t held;
	atomic64_t left;
};

/**
 * struct pagoda_payer - Thread that charges the client's cgroup for work outside of the client's
 * calls
 * @lock: Protects @worker and @pool; only one work item uses @worker at a time
 * @worker: Thread in the cgroup of the client's last call; NULL = work items are in that cgroup
 *	already, or no segment is a region of the dmem controller
 * @pool: The cgroup's share of VRAM, a reference; also compared without the lock
 */
struct pagoda_payer {
	struct mutex lock;	/* worker, pool */
	struct kthread_worker *worker;
	struct dmem_cgroup_pool_state *pool;
};

/**
 * struct pagoda_closing - Handles that were closed while jobs needed the allocations (closing.c)
 * @vidmm: The manager
 * @lock: Protects all members below
 * @next: Number of the next job that is held up
 * @ends: The file is being closed: VMs are destroyed with all their mappings, and handles need no
 *	work of their own
 * @jobs: &pagoda_submit.held_up, by number
 * @handles: struct closing_handle, in the order in which they were closed
 * @work: Forgets handles that no job needs any more
 */
struct pagoda_closing {
	struct pagoda_vidmm *vidmm;
	struct mutex lock;	/* next, ends, jobs, handles */
	u64 next;
	bool ends;
	struct list_head jobs;
	struct list_head handles;
	struct delayed_work work;
};

/* Kinds of objects that a client names by ids; each kind has its own ids. */
enum pagoda_object {
	PAGODA_OBJECT_VM,
	PAGODA_OBJECT_CONTEXT,
	PAGODA_OBJECT_FENCE,
	PAGODA_OBJECT_PAGING_QUEUE,
	PAGODA_OBJECTS
};

/**
 * struct pagoda_client - Accounting of one DRM file
 * @budget: Usage and budget
 * @traffic: Moves of allocations that the client pays for
 * @pace: Pace of its submissions
 * @ears: Its event listeners
 * @account: Time that engines spent for the client; may outlive the client
 * @quota: Its limits and counts
 * @kref: References of the DRM file and of the client's allocations, VMs, waits and listeners,
 *	which may outlive the file
 * @lock: Protects @objects against lookups while an entry goes, and @groups
 * @objects: VMs, contexts, monitored fences and paging queues, by kind and id
 * @groups: Waits for fences that signal an eventfd
 * @requirements: Its residency list
 * @pager: Executes the requests of its paging queues; NULL until there is one. Set with @lock held
 * @payer: Does work in the client's cgroup that a work item must not do in its own
 * @closing: Handles that the client closed while jobs needed the allocations
 * @end: Destroys the VMs when nothing uses them any more; runs after the client's file is closed
 * @drm: Device, a reference, while @end is to run
 * @error: Negative errno of a MAKE_RESIDENT that had to succeed and failed: no job of the client is
 *	executed any more; else 0. Set with @lock held
 */
struct pagoda_client {
	struct kref kref;
	struct pagoda_budget budget;
	struct pagoda_client_traffic traffic;
	struct pagoda_client_pace pace;
	struct pagoda_ears ears;
	struct pagoda_exec_account *account;
	struct pagoda_quota *quota;
	struct mutex lock;	/* objects, groups */
	struct xarray objects[PAGODA_OBJECTS];
	struct list_head groups;
	struct pagoda_requirements *requirements;
	struct pagoda_deferred *pager;
	struct pagoda_payer payer;
	struct pagoda_closing closing;
	struct work_struct end;
	struct drm_device *drm;
	int error;
};

struct pagoda_requirements *pagoda_requirements_create(void);
void pagoda_requirements_destroy(struct pagoda_requirements *reqs);

#endif
