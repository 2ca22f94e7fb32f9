/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SUBMIT calls, contexts, paging queues, and handles of allocations. An accepted SUBMIT call, in
 * submit/ called a submission, becomes a job: commands of a context, which are executed when all
 * allocations that the commands need are resident. The order of all locks is in core/core.h.
 */
#ifndef PAGODA_VIDMM_SUBMIT_SUBMIT_H
#define PAGODA_VIDMM_SUBMIT_SUBMIT_H

#include <linux/list.h>
#include <linux/types.h>
#include "vidmm/fence/sync.h"

struct dma_fence;
struct drm_pagoda_context_state;
struct drm_pagoda_paging_queue_state;
struct drm_syncobj;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_policy_coming;
struct pagoda_closing;
struct pagoda_context;
struct pagoda_paging_args;
struct pagoda_paging_queue;
struct pagoda_quota;
struct pagoda_vidmm;
struct pagoda_vm;
struct drm_file;
struct drm_gem_object;
struct work_struct;
struct virtio_pagoda_command_buffer;

/**
 * struct pagoda_submit - A checked SUBMIT
 * @item: Entry in &pagoda_context.deferred while the submission waits
 * @context: Context, a reference
 * @buffers: Command buffers, @nr_buffers of them
 * @nr_buffers: Number of command buffers, may be 0
 * @bos: Listed allocations, each once, with references; @nr_bos of them
 * @flags: DRM_PAGODA_SUBMIT_* flags of each allocation
 * @nr_bos: Number of allocations, may be 0
 * @coming: What the policy knows of the queued submission's @bos; NULL if it isn't queued or lists
 *	none, or if there was no memory. Set and read with pagoda_closing.lock held while @queued
 * @bytes: Sum of the sizes of @bos, once @coming is set
 * @nr_ahead: Number of @bos that paging ahead of the job is through with; protected by
 *	pagoda_closing.lock
 * @syncs: Fences and points that the job waits for and signals
 * @quota: Quota that is charged for the submission; NULL before the charge, and after the job took
 *	the charge over
 * @held: %PAGODA_LIMIT_WAITING is charged, too: when accepted, the submission waited for a timeline
 *	point that didn't exist or a fence value that wasn't reached, or was behind such a
 *	submission in its context
 * @fenced: The job is armed even if it has no place yet; %PAGODA_LIMIT_FENCED is charged, too
 * @waited: The deferred job found no room once: its next attempt to find room is the last
 * @let_end: The job was put off once until the VM's jobs in flight had ended, because mappings of
 *	offered private allocations are made invalid only when no job of the VM is in flight
 * @blockers: Fence that has to signal before the next attempt to make the job, a reference, or
 *	NULL: set if there was no room, and by pagoda_submit_make() with -EINPROGRESS or -ERESTART
 * @queued: The submission is counted in &pagoda_vm.queued and is in &pagoda_closing.jobs
 * @nr_queued: Number of @bos that count this submission in &pagoda_bo.wish.queued
 * @held_up: Entry in &pagoda_closing.jobs while @queued
 * @number: Number of the deferred job, in the order of &pagoda_closing.jobs
 */
struct pagoda_submit {
	struct pagoda_deferred_item item;
	struct pagoda_context *context;
	struct virtio_pagoda_command_buffer *buffers;
	u32 nr_buffers;
	struct pagoda_bo **bos;
	u32 *flags;
	u32 nr_bos;
	struct pagoda_policy_coming *coming;
	u64 bytes;
	u32 nr_ahead;
	struct pagoda_syncs syncs;
	struct pagoda_quota *quota;
	bool held;
	bool fenced;
	bool waited;
	bool let_end;
	struct dma_fence *blockers;
	bool queued;
	u32 nr_queued;
	struct list_head held_up;
	u64 number;
};

/*
 * closing.c: handles of allocations, opened and closed, also while jobs need the allocation or the
 * client's file is being closed
 */
void pagoda_closing_work(struct work_struct *work);
int pagoda_handle_open(struct drm_gem_object *obj, struct drm_file *file);
void pagoda_handle_close(struct drm_gem_object *obj, struct drm_file *file);
void pagoda_closing_begin_end(struct pagoda_client *client);
void pagoda_closing_end(struct pagoda_client *client);

/* ahead.c: allocations that queued jobs list come to VRAM before a place is free for the jobs */
void pagoda_ahead_work(struct work_struct *work);
void pagoda_ahead_end(struct pagoda_client *client);

/*
 * paging_queue.c: MAKE_RESIDENT and EVICT by paging queues; pagoda_client_drop_lists() stops a
 * client's pager and empties the client's residency list
 */
struct pagoda_paging_queue *pagoda_paging_queue_create(struct pagoda_vidmm *vidmm,
						       struct pagoda_client *client, int priority,
						       struct drm_syncobj *syncobj);
void pagoda_paging_queue_get(struct pagoda_paging_queue *queue);
void pagoda_paging_queue_put(struct pagoda_paging_queue *queue);
struct pagoda_sync_source *pagoda_paging_queue_of(struct pagoda_client *client,
						  const struct drm_syncobj *syncobj);
int pagoda_paging_make_resident(struct pagoda_paging_queue *queue,
				struct pagoda_paging_args *args);
void pagoda_paging_is_made(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args);
int pagoda_paging_evict(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args);
void pagoda_paging_queue_state(struct pagoda_paging_queue *queue,
			       struct drm_pagoda_paging_queue_state *state);
void pagoda_client_drop_lists(struct pagoda_client *client);

/* context.c, accept.c (pagoda_context_create()): contexts; putting a client in error */
void pagoda_context_give_up(struct pagoda_context *context);
void pagoda_client_fail(struct pagoda_client *client, int error);
struct pagoda_context *pagoda_context_create(struct pagoda_vm *vm, u32 engine, u32 priority);
void pagoda_context_get(struct pagoda_context *context);
void pagoda_context_put(struct pagoda_context *context);
void pagoda_context_kill(struct pagoda_context *context);
void pagoda_context_destroy(struct pagoda_context *context);
struct pagoda_vm *pagoda_context_vm(struct pagoda_context *context);
void pagoda_context_state(struct pagoda_context *context, struct drm_pagoda_context_state *state);

/* accept.c: accepts a submission: makes its job at once or queues it */
int pagoda_submit(struct pagoda_submit *submit, u64 *job);

/* submit.c: frees a submission */
void pagoda_submit_free(struct pagoda_submit *submit);

#endif
