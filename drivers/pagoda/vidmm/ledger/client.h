/* SPDX-License-Identifier: GPL-2.0 */
/* Clients: struct pagoda_client, the state of an open DRM file, and its parts. */
#ifndef PAGODA_VIDMM_LEDGER_CLIENT_H
#define PAGODA_VIDMM_LEDGER_CLIENT_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "core/kcov.h"
#include "budget.h"
#include "events.h"
#include "holdings.h"
#include "policy.h"
#include "traffic.h"

struct dmem_cgroup_pool_state;
struct drm_device;
struct kthread_worker;
struct pagoda_bo;
struct pagoda_deferred;
struct pagoda_exec_account;
struct pagoda_quota;
struct pagoda_requirements;
struct pagoda_vidmm;

/**
 * struct pagoda_client_traffic - Moves, since a client's file was opened, of the allocations that
 * are charged to the client
 * @paged_in: Bytes copied to VRAM
 * @paged_out: Bytes of allocations that left VRAM by a copy, including what the device didn't copy
 *	because it wasn't written: the device reports that for a paging buffer, which may have moves
 *	of several clients
 * @evictions: Number of times that an allocation left VRAM
 */
struct pagoda_client_traffic {
	atomic64_t paged_in;
	atomic64_t paged_out;
	atomic64_t evictions;
};

/**
 * struct pagoda_client_choice - Client in the choice of victims in VRAM (candidates.c)
 * @owner: The client, as the policy sees it
 * @group: Allocations of the client that are private to no VM and that no other client protects,
 *	and those of other clients that this client protects (pagoda_victims_spare())
 *
 * Protected by pagoda_victims.lock.
 */
struct pagoda_client_choice {
	struct pagoda_policy_owner owner;
	struct pagoda_policy_group group;
};

/**
 * struct pagoda_client_pace - Limit of the bytes that leave VRAM for a client's jobs (pace.c)
 * @traffic: Token bucket: one token for each byte that leaves VRAM for the client's jobs; pace.c
 *	says which bytes cost nothing
 * @held: Number of jobs that had allocations left out of VRAM for want of tokens
 * @left: Bytes of the allocations so left out, added up over all jobs
 */
struct pagoda_client_pace {
	struct pagoda_traffic traffic;
	atomic64_t held;
	atomic64_t left;
};

/**
 * struct pagoda_payer - Thread that executes work in the client's cgroup, so that memory which the
 * work allocates is charged to that cgroup (dmem.c); and queues of the client that are polled
 * (fence/missing.c)
 * @lock: Protects @worker and @pool; only one work item uses @worker at a time
 * @worker: Thread in the cgroup of the client's last call, or still in that of an earlier call
 *	(pagoda_payer_follow()); NULL = none: work items are in that cgroup anyway, VRAM isn't a
 *	region of the dmem controller, the thread couldn't be created or moved, or the file was
 *	closed
 * @pool: VRAM's pool of that cgroup, a reference, NULL = unknown; also compared without @lock
 * @missing: Queues of the client whose next item waits for a syncobj point that doesn't exist yet;
 *	protected by &pagoda_missing.lock
 * @nr_missing: Number of queues in @missing; protected by &pagoda_missing.lock
 * @turn: Entry in &pagoda_missing.clients while @missing isn't empty; protected by
 *	&pagoda_missing.lock
 */
struct pagoda_payer {
	struct mutex lock;	/* protects worker, pool */
	struct kthread_worker *worker;
	struct dmem_cgroup_pool_state *pool;
	struct list_head missing;
	u32 nr_missing;
	struct list_head turn;
};

/**
 * struct pagoda_awaited - Monitored fences of a client that have armed waits (fence/awaited.c)
 * @fences: Such fences that aren't in @todo, linked by &pagoda_mfence.awaited
 * @todo: Such fences, linked likewise, whose waits have yet to be tested
 * @changed: All of @fences have to be tested, too, because the GPU may have stored values
 * @entry: Entry in &pagoda_mfences.awaited while @fences or @todo isn't empty
 * @due: Entry in &pagoda_mfences.due while fences have to be tested
 *
 * Protected by &pagoda_mfences.awaited_lock. Each fence has a reference to the client.
 */
struct pagoda_awaited {
	struct list_head fences;
	struct list_head todo;
	bool changed;
	struct hlist_node entry;
	struct list_head due;
};

/**
 * struct pagoda_closing - Closed handles of allocations that deferred jobs need, or armed jobs that
 * haven't ended (closing.c)
 * @vidmm: The manager
 * @lock: Protects @next, @ends, @jobs, @handles and @forgetting, and what struct pagoda_submit has
 *	for &pagoda_client.ahead of the jobs in @jobs
 * @forget_lock: Held by @work while the allocation @forgetting is taken out of the VMs; outside of
 *	@lock
 * @next: Number that the next deferred job gets
 * @ends: The client's file is being closed: a handle that is closed now isn't entered into
 *	@handles, because the VMs are destroyed with all mappings. Threads that close a handle read
 *	this without @lock
 * @jobs: List of the deferred jobs, by &pagoda_submit.held_up, in the order of their numbers
 * @handles: List of struct closing_handle: closed handles whose allocations @work has still to take
 *	off the residency list and out of the VMs, in the order in which they were closed
 * @forgetting: Allocation that @work takes out of the VMs, for comparison only; or NULL
 * @work: Takes allocations whose handle is in @handles off the residency list and out of the VMs,
 *	once no job in @jobs needs them and the jobs that were armed by then have ended
 */
struct pagoda_closing {
	struct pagoda_vidmm *vidmm;
	struct mutex lock;	/* protects next, ends, jobs, handles, forgetting */
	struct mutex forget_lock;
	u64 next;
	bool ends;
	struct list_head jobs;
	struct list_head handles;
	struct pagoda_bo *forgetting;
	struct delayed_work work;
};

/**
 * struct pagoda_client_ahead - Paging ahead of the engines: what a client's queued jobs list comes
 * to VRAM before a place of the engine is free for these jobs (submit/ahead.c)
 * @work: Brings in allocations, a slice at a time; only @work uses the members below, unless
 *	something else is said at the member
 * @fence: Fence of the last slice's paging, a reference; NULL = none. Also read without a lock
 * @callback: Queues @work when @fence signals
 * @bytes: Bytes of the allocations brought in so far; read by any thread
 * @count: Number of these allocations; read by any thread
 */
struct pagoda_client_ahead {
	struct work_struct work;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
	atomic64_t bytes;
	atomic64_t count;
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
 * struct pagoda_client - State of an open DRM file; may outlive the file
 * @budget: Usage, wants and reservation of video memory
 * @holding: Places in segments that the client holds
 * @traffic: Moves of the client's allocations
 * @choice: The client in the choice of victims
 * @pace: Limit of the bytes that leave VRAM for the client's jobs
 * @ears: Event listeners of the client
 * @account: Time that engines spent for the client; may outlive the client
 * @quota: Counts of the limited things that the client has (limits.h)
 * @kref: References of the DRM file and of the client's allocations, their places and kept copies,
 *	VMs, page tables, waits and listeners, which may outlive the file
 * @lock: Protects @groups, and an entry of @objects between lookup and reference
 * @objects: VMs, contexts, monitored fences and paging queues, by kind and id
 * @groups: Waits for monitored fences that signal an eventfd (fence/group.c)
 * @requirements: The client's residency list
 * @pager: Queue whose worker executes the requests of all the client's paging queues; NULL until
 *	there is a paging queue. Set with @lock held
 * @payer: Thread in the client's cgroup, for work items that allocate for the client
 * @closing: Handles that the client closed while jobs needed the allocations
 * @ahead: Paging ahead of the engines, for the client's queued jobs
 * @awaited: Monitored fences that are awaited
 * @end: Work item that destroys the client's VMs when the last job has finished; used only if jobs
 *	outlast the close of the file
 * @copies: Bytes of the kept copies, in system memory, of the client's allocations in VRAM
 *	(bo/copy.c)
 * @kcov: Handle of the task that opened the file: background work for the client counts there
 * @drm: Device, a reference, while @end is to run
 * @error: Negative errno of a MAKE_RESIDENT that had to succeed and failed: the client's contexts
 *	are banned, and no job or MAKE_RESIDENT is accepted any more; else 0. Set with @lock held
 */
struct pagoda_client {
	struct kref kref;
	struct pagoda_budget budget;
	struct pagoda_holding holding;
	struct pagoda_client_traffic traffic;
	struct pagoda_client_choice choice;
	struct pagoda_client_pace pace;
	struct pagoda_ears ears;
	struct pagoda_exec_account *account;
	struct pagoda_quota *quota;
	struct mutex lock;	/* protects objects, groups */
	struct xarray objects[PAGODA_OBJECTS];
	struct list_head groups;
	struct pagoda_requirements *requirements;
	struct pagoda_deferred *pager;
	struct pagoda_payer payer;
	struct pagoda_closing closing;
	struct pagoda_client_ahead ahead;
	struct pagoda_awaited awaited;
	struct work_struct end;
	atomic64_t copies;
	struct pagoda_kcov kcov;
	struct drm_device *drm;
	int error;
};

struct pagoda_requirements *pagoda_requirements_create(void);
void pagoda_requirements_destroy(struct pagoda_requirements *reqs);

#endif
