/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The video memory manager, as the ioctls see it.
 *
 * Lock order, outermost first:
 *	the gate (not inside mmap_lock: faults test whether they have to wait)
 *	pagoda_vidmm.residency (not inside mmap_lock: faults lock one allocation)
 *	mmap_lock
 *	reservation of an allocation (several: drm_exec)
 *	pagoda_swizzle.lock (with it held other reservations may be tried for only)
 *	pagoda_vram.lock, pagoda_aperture.lock (segment managers; TTM calls them
 *		with a reservation held, or from its work queue without one)
 *	pagoda_stream.lock (the open paging buffer; taken in the dma_fence signalling
 *		path: allocations under it must not reclaim)
 *	spinlocks of TTM, the queue and the transport
 */
#ifndef PAGODA_VIDMM_H
#define PAGODA_VIDMM_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <drm/pagoda_drm.h>
#include "paging/paging.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/ledger/traffic.h"

struct dma_buf;
struct dma_fence;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct dmem_cgroup_pool_state;
struct drm_printer;
struct kthread_worker;
struct pagoda_bo;
struct pagoda_deferred;
struct pagoda_device_info;
struct pagoda_requirements;
struct pagoda_transport;
struct pagoda_vidmm;
struct pagoda_vm;
struct task_struct;

/**
 * struct pagoda_vidmm_args - Arguments of pagoda_vidmm_create()
 * @drm: DRM device, its anon_inode and vma_offset_manager set up
 * @info: Properties of the device, checked; must outlive the manager
 * @transport: Way to the device
 * @use_cpu: Execute paging buffers on the CPU; needs all of VRAM visible
 * @timeout_ms: Paging timeout
 * @update_mode: enum virtio_pagoda_update_mode: how page tables are written; with GPU_VIRTUAL the
 *	device pages by virtual addresses
 * @record_kb: KiB of paging buffers to record from the first one on, 0 = none
 * @engines: Way to each execution engine; NULL: none is used
 * @job_timeout_ms: Longest time that a job may run on an engine
 * @pin_limit: Bytes of one client's allocations that may be pinned for other devices; 0 = half of
 *	VRAM's
 * @lru: TTM chooses victims in VRAM, the least recently used first; otherwise the policy does
 * @promote_ms: Milliseconds that room in VRAM has to last before evicted allocations are promoted;
 *	0 = no promotion
 * @traffic_share: Percent of the bandwidth for promotion while other clients use the device, 1 to
 *	100
 * @submit_share: Percent of the bandwidth at which a client's submissions may evict others from
 *	VRAM for allocations that could be used elsewhere, 1 to 100; 0 = without a limit
 * @reserve: Bytes of VRAM that only page tables and save areas may use; 0 = none
 */
struct pagoda_vidmm_args {
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	struct pagoda_transport *transport;
	bool use_cpu;
	u32 timeout_ms;
	u32 update_mode;
	u32 record_kb;
	struct pagoda_transport **engines;
	u32 job_timeout_ms;
	u64 pin_limit;
	bool lru;
	u32 promote_ms;
	u32 traffic_share;
	u32 submit_share;
	u64 reserve;
};

/**
 * enum pagoda_sleep - Kind of sleep of the machine
 * @PAGODA_SLEEP_STANDBY: memory is kept
 * @PAGODA_SLEEP_HIBERNATE: only an image of memory is kept; also if both are done at once
 */
enum pagoda_sleep {
	PAGODA_SLEEP_STANDBY,
	PAGODA_SLEEP_HIBERNATE,
};

struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args);
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm);
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm);
u64 pagoda_reserve_default(const struct pagoda_device_info *info);
const char *pagoda_vidmm_mode_name(u32 mode);
bool pagoda_vidmm_has_tables(struct pagoda_vidmm *vidmm);
bool pagoda_vidmm_has_engines(struct pagoda_vidmm *vidmm);

/**
 * struct pagoda_gate - A thread inside of the gate that keeps the device from being rebuilt
 * @link: Entry in pagoda_reset.inside
 * @task: Thread; NULL if it was inside already
 */
struct pagoda_gate {
	struct list_head link;
	struct task_struct *task;
};

int pagoda_gate_enter(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate, bool interruptible);
bool pagoda_gate_try(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate);
void pagoda_gate_leave(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate);
struct pagoda_gate *pagoda_gate_pause(struct pagoda_vidmm *vidmm);
void pagoda_gate_resume(struct pagoda_vidmm *vidmm, struct pagoda_gate *gate);

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
 * @traffic: Bucket that they pay from
 * @held: Number of submissions that left allocations out of VRAM because there was no token
 * @left: Bytes they left out, counted for each submission
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
 * @lock: Protects all members below; outside of &pagoda_client.lock
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

struct pagoda_submit;

void pagoda_closing_init(struct pagoda_closing *closing, struct pagoda_vidmm *vidmm);
void pagoda_closing_begin_end(struct pagoda_client *client);
void pagoda_closing_end(struct pagoda_client *client);
void pagoda_closing_hold_up(struct pagoda_submit *submit);
void pagoda_closing_let_go(struct pagoda_submit *submit);
void pagoda_closing_handle(struct pagoda_client *client, struct pagoda_bo *bo);
void pagoda_closing_undo(struct pagoda_client *client, struct pagoda_bo *bo);

/**
 * struct pagoda_client - Accounting of one DRM file
 * @budget: Usage and budget
 * @traffic: Moves of allocations it pays for
 * @pace: Pace of its submissions
 * @ears: Its event listeners
 * @account: Time that engines spent for it; outlives it
 * @quota: Its limits and counts
 * @kref: References of the DRM file and of the client's allocations, VMs, waits and listeners,
 *	which may outlive the file
 * @lock: Protects @vms, @contexts, @fences and @paging_queues against lookups while an entry goes,
 *	and @groups
 * @vms: VMs by id
 * @contexts: Contexts by id
 * @fences: Monitored fences by id
 * @groups: Waits for fences that signal an eventfd
 * @requirements: Its residency list
 * @paging_queues: Paging queues by id
 * @pager: Executes the requests of its paging queues; NULL until there is one. Set with @lock held
 * @payer: Does work in the client's cgroup that a work item must not do in its own
 * @closing: Handles it closed that jobs need, which are held up
 * @end: Destroys @vms when nothing uses them any more; runs after its file is closed
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
	struct mutex lock;	/* vms, fences, groups; outside of pagoda_vm.lock */
	struct xarray vms;
	struct xarray contexts;
	struct xarray fences;
	struct list_head groups;
	struct pagoda_requirements *requirements;
	struct xarray paging_queues;
	struct pagoda_deferred *pager;
	struct pagoda_payer payer;
	struct pagoda_closing closing;
	struct work_struct end;
	struct drm_device *drm;
	int error;
};

int pagoda_payer_follow(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
void pagoda_payer_end(struct pagoda_client *client);

struct pagoda_client *pagoda_client_create(struct pagoda_vidmm *vidmm);
void pagoda_client_put(struct pagoda_client *client);

/**
 * struct pagoda_bo_params - Parameters of an allocation, as checked by ALLOCATION_CREATE
 * @size: Bytes, multiple of the page size
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Segment ids in order, then zeros
 * @alignment: Bytes, a power of two; 0 = none
 * @layout: Geometry of a tiled surface, or all zeros
 * @vm: VM it is private to, a reference is held; or NULL
 */
struct pagoda_bo_params {
	u64 size;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
	struct pagoda_layout layout;
	struct pagoda_vm *vm;
};

int pagoda_swizzle_validate(struct pagoda_vidmm *vidmm, const struct pagoda_bo_params *params,
			    const char **why);
bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params);
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params);
struct pagoda_bo *pagoda_bo_of_gem(struct drm_gem_object *obj);
struct drm_gem_object *pagoda_bo_gem(struct pagoda_bo *bo);
bool pagoda_bo_is_usable_in(const struct pagoda_bo *bo, const struct pagoda_vm *vm);
int pagoda_bo_wait(struct pagoda_bo *bo, s64 timeout_ns);
void pagoda_bo_info(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info);
int pagoda_lost_acknowledge(struct pagoda_bo *bo);
bool pagoda_bo_may_be_mapped(const struct pagoda_bo *bo);
void pagoda_bo_mark_lost(struct pagoda_bo *bo);

struct drm_gem_object *pagoda_prime_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf);

bool pagoda_residency_is_made(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			      bool again);
int pagoda_residency_make(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			  struct dma_fence **fence, u64 *bytes_to_trim);
int pagoda_residency_evict(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   struct dma_fence **fence);

bool pagoda_bo_is_offered(const struct pagoda_bo *bo);
bool pagoda_offer_refuses(const struct pagoda_bo *bo);
int pagoda_offer_prevent(struct pagoda_bo **bos, u32 count);
void pagoda_offer_allow(struct pagoda_bo **bos, u32 count);
int pagoda_offer(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 priority,
		 u32 flags);
int pagoda_reclaim(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 *results,
		   bool all, struct dma_fence **fence);
int pagoda_set_priority(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos,
			const u32 *priorities, u32 count);

/**
 * struct pagoda_memory - Memory of a client in a segment, in bytes
 * @total: Size of its allocations there
 * @shared: Bytes of @total that other files have handles of, too
 * @resident: Bytes of @total that take up memory
 * @active: Bytes of @total that the GPU has work for
 * @purgeable: Bytes of @total that are offered, take up memory and aren't active
 * @spilled: Bytes of allocations elsewhere that were made resident and prefer this segment most
 */
struct pagoda_memory {
	u64 total;
	u64 shared;
	u64 resident;
	u64 active;
	u64 purgeable;
	u64 spilled;
};

void pagoda_memory_add(struct pagoda_memory *memory, const struct pagoda_client *client,
		       struct pagoda_bo *bo, bool shared);
void pagoda_memory_add_client(struct pagoda_memory *memory, const struct pagoda_client *client);
u64 pagoda_client_engine_ns(struct pagoda_client *client, struct pagoda_vidmm *vidmm, u32 engine);
int pagoda_vidmm_segment_info(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			      u32 id, struct drm_pagoda_segment_info *info);
void pagoda_vidmm_stats(struct pagoda_vidmm *vidmm, struct drm_pagoda_stats *stats);
void pagoda_client_stats(struct pagoda_client *client, struct drm_pagoda_stats *stats);
void pagoda_vidmm_print_segments(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_lru(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_queue(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_engines(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_buffers(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_journal(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_vidmm_record(struct pagoda_vidmm *vidmm, u64 size);
ssize_t pagoda_vidmm_read_recording(struct pagoda_vidmm *vidmm, char __user *buf, size_t size,
				    loff_t *pos);
void *pagoda_vidmm_journal(struct pagoda_vidmm *vidmm, size_t *size);
void pagoda_reset_told(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_reset(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_prepare_sleep(struct pagoda_vidmm *vidmm, enum pagoda_sleep kind);
int pagoda_vidmm_sleep(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_wake(struct pagoda_vidmm *vidmm, int error);
void pagoda_vidmm_end_sleep(struct pagoda_vidmm *vidmm);
void pagoda_vidmm_print_coredump(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_resets(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_promotion(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id);
int pagoda_vidmm_trim(struct pagoda_vidmm *vidmm, u64 bytes);
u64 pagoda_vidmm_trimmed(struct pagoda_vidmm *vidmm);

#endif
