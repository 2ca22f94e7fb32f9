/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fences that work (a job, a VM_BIND array, a paging request) waits for and signals; and deferred
 * work: accepted work that can't be submitted yet.
 *
 * A dma_fence is published only for work that will be done in finite time. Work that waits for a
 * syncobj or point without a fence, or for a value of a monitored fence, has no such bound. Such
 * work is kept without a fence in the queue of its context, VM or client. When all that the work
 * waits for exists (a value, when the monitored fence has reached that value), the queue's worker,
 * a work item, submits the work and publishes its fence. Later work of equal or lower priority
 * waits behind.
 *
 *	pagoda_syncs_get	copies and checks a list from user space (uapi/sync.c); takes
 *				references, and allocates what signalling needs
 *	pagoda_syncs_look	looks up what the work waits for; true if all of it exists
 *	pagoda_syncs_signal	publishes the fence of the work that was submitted or has failed
 *	pagoda_syncs_put	releases the list, signalled or not
 */
#ifndef PAGODA_VIDMM_FENCE_SYNC_H
#define PAGODA_VIDMM_FENCE_SYNC_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/* Bit number in the dma_fence flags of &pagoda_deferred_item.failure: item is a paging request. */
#define PAGODA_DEFERRED_IS_PAGING	DMA_FENCE_FLAG_USER_BITS

struct dma_fence;
struct dma_fence_chain;
struct drm_syncobj;
struct pagoda_client;
struct pagoda_deferred;
struct pagoda_mfence_signal;
struct pagoda_mfence_wait;
struct pagoda_payer;
struct pagoda_point;
struct pagoda_vidmm;

/**
 * struct pagoda_sync_source - Owner of a timeline syncobj, which knows which points failed
 * @failed: Returns true if the work that a point stands for failed. Any context
 * @put: Drops a reference to the owner. May sleep
 */
struct pagoda_sync_source {
	bool (*failed)(struct pagoda_sync_source *source, u64 point);
	void (*put)(struct pagoda_sync_source *source);
};

/**
 * struct pagoda_sync - A fence that work waits for or signals; a checked struct drm_pagoda_sync
 * @syncobj: Syncobj, a reference; NULL for a monitored fence, or if only @ordered is used
 * @point: Point of the syncobj's timeline, 0 = binary
 * @signal: The work signals the entry; else the work waits for it
 * @found: Wait: what the work waits for exists: @fence is final, or the value was reached or won't
 *	come, because the device is gone
 * @fence: Wait: the dma_fence that was found, a reference; NULL = none yet, signalled already, or
 *	a monitored fence
 * @source: Wait: owner of the timeline that knows which points failed, a reference, or NULL
 * @failed: Wait: @found, and the entry stands for a paging request that failed
 * @ordered: Signal: point that gets its fence in the order of points (points.c), instead of @chain
 * @chain: Signal: chain node for @point, allocated in advance
 * @value: Wait: the wait for a monitored fence's value, owned; else NULL
 * @promise: Signal: promise of a monitored fence's value, owned; else NULL
 */
struct pagoda_sync {
	struct drm_syncobj *syncobj;
	u64 point;
	bool signal;
	bool found;
	struct dma_fence *fence;
	struct pagoda_sync_source *source;
	bool failed;
	struct dma_fence_chain *chain;
	struct pagoda_point *ordered;
	struct pagoda_mfence_wait *value;
	struct pagoda_mfence_signal *promise;
};

/**
 * struct pagoda_syncs - A list of fences that work waits for and signals
 * @list: Entries: syncobjs, points of syncobjs, values of monitored fences
 * @count: Number of entries
 */
struct pagoda_syncs {
	struct pagoda_sync *list;
	u32 count;
};

/**
 * struct pagoda_deferred_item - Work that can't be submitted yet; embedded
 * @entry: In &pagoda_deferred.items
 * @priority: Items of higher priority are submitted first; 0 in queues without priorities
 * @syncs: Fences that the item waits for and signals; part of the struct that embeds the item
 * @is_paging: The item is a paging request: if it fails, work that waits for it is cancelled
 * @failure: Fence, signalled from its creation, that is published with an error if submitting the
 *	item fails
 */
struct pagoda_deferred_item {
	struct list_head entry;
	int priority;
	struct pagoda_syncs *syncs;
	bool is_paging;
	struct dma_fence *failure;
};

/**
 * struct pagoda_deferred_ops - Calls of a queue to its owner
 * @ready: Returns whether the next item may be submitted now; if not, the owner has the worker run
 *	again: by pagoda_deferred_is_signalled() when a fence signals, or by
 *	pagoda_deferred_again(). Process context, outside of sections. NULL = always
 * @owns: Returns whether a fence is of the queue's own work: items don't wait until such a fence
 *	signals, because the work is done in order. Any context. NULL = no fence is
 * @waits: Called whenever the worker finds that the next item has to wait until dma_fences signal
 *	or @ready returns true; what the item waits for exists. Process context, outside of
 *	sections. NULL = nothing is to be done
 * @make: Submits an item; all that the item waits for exists. Calls pagoda_syncs_signal() with the
 *	fence of the work and returns 0; or returns -EAGAIN to be called again after a delay;
 *	-ERESTART to be called when @ready returns true again, or, while the queue is hurried,
 *	after a delay; or another negative errno: then the queue signals
 *	&pagoda_deferred_item.syncs with this error. Process context, in a section, without locks
 *	but &pagoda_payer.lock
 * @put: Frees an item that isn't used any more
 */
struct pagoda_deferred_ops {
	bool (*ready)(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
	bool (*owns)(struct pagoda_deferred *queue, struct dma_fence *fence);
	void (*waits)(struct pagoda_deferred *queue);
	int (*make)(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
	void (*put)(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
};

/**
 * struct pagoda_deferred - Queue of work that can't be submitted yet, in order of priority and then
 * of arrival; embedded
 * @vidmm: Manager
 * @payer: The client's payer: runs &pagoda_deferred_ops.make in the client's cgroup, which is
 *	charged
 * @ops: Functions of the owner
 * @until_done: Dma_fences that an item waits for must have signalled before the item is
 *	submitted; if false, they need only exist
 * @entry: In &pagoda_vidmm.deferred while there are items; protected by &pagoda_vidmm.deferred_lock
 * @lock: Protects @items, @count, @hurried and @error
 * @items: Items, the next one first; an item stays in the list until it is submitted
 * @count: Number of @items
 * @hurried: Number of items from the first one on that are submitted as soon as the dma_fences that
 *	they wait for exist, and monitored fences have reached the values that they wait for,
 *	whatever @until_done and &pagoda_deferred_ops.ready say
 * @error: Negative errno with which all items end, or 0: items are submitted
 * @fence: Dma_fence that the next item waits for with @callback, a reference, or NULL; used by the
 *	worker only
 * @callback: Callback on @fence
 * @work: Worker: submits items; runs again after @patience if &pagoda_deferred_ops.make returned
 *	-EAGAIN, or -ERESTART while the queue is hurried, or no section could be entered
 * @patience: Jiffies until @work runs again in these cases; used by the worker only
 * @runs: Number of runs that the worker began; written by the worker
 * @held_up: Value of @runs when the worker last found that the next item waits for a point that
 *	doesn't exist or a value that wasn't reached; 0 = there is no such point or value; written
 *	by the worker
 * @missing: Syncobj of which the next item misses a point, or NULL; like @by_syncobj, @polled, @due
 *	and @interval protected by &pagoda_missing.lock
 * @by_syncobj: In &pagoda_missing.by_syncobj while @missing is set
 * @polled: In &pagoda_payer.missing while @missing is set
 * @due: Jiffies from which on &pagoda_missing.poll has @work run again
 * @interval: Jiffies from a run at @due to the next @due; grows with each of these runs
 * @lowered: Has @work run when the client may go on paging
 * @told: @lowered is in use; used by the worker only
 * @room: Wait queue, woken when an item leaves the queue
 */
struct pagoda_deferred {
	struct pagoda_vidmm *vidmm;
	struct pagoda_payer *payer;
	const struct pagoda_deferred_ops *ops;
	bool until_done;
	struct list_head entry;
	spinlock_t lock;	/* protects items, count, hurried, error */
	struct list_head items;
	u32 count;
	u32 hurried;
	int error;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
	struct delayed_work work;
	unsigned long patience;
	u32 runs;
	u32 held_up;
	struct drm_syncobj *missing;
	struct hlist_node by_syncobj;
	struct list_head polled;
	unsigned long due;
	unsigned long interval;
	struct wait_queue_entry lowered;
	bool told;
	wait_queue_head_t room;
};

/* sync.c: lists of fences that work waits for and signals */
int pagoda_syncs_add_point(struct pagoda_syncs *syncs, struct pagoda_point *point);
int pagoda_syncs_add(struct pagoda_syncs *syncs, struct drm_syncobj *syncobj, u64 point,
		     struct dma_fence_chain *chain);
int pagoda_syncs_add_promise(struct pagoda_syncs *syncs, struct pagoda_mfence_signal *promise);
void pagoda_syncs_put(struct pagoda_syncs *syncs);
bool pagoda_syncs_look(struct pagoda_syncs *syncs);
bool pagoda_syncs_are_done(const struct pagoda_syncs *syncs);
bool pagoda_syncs_failed(const struct pagoda_syncs *syncs);
bool pagoda_syncs_wait(const struct pagoda_syncs *syncs);
struct dma_fence *pagoda_syncs_next(const struct pagoda_syncs *syncs, u32 *index);
void pagoda_syncs_promise(struct pagoda_vidmm *vidmm, struct pagoda_syncs *syncs);
void pagoda_syncs_signal(struct pagoda_vidmm *vidmm, struct pagoda_syncs *syncs,
			 struct dma_fence *fence);
struct drm_syncobj *pagoda_syncs_missing(const struct pagoda_syncs *syncs);
void pagoda_syncs_arm(struct pagoda_syncs *syncs, struct pagoda_deferred *queue);

/* points.c: points of timeline syncobjs, which get fences in the order of their values */
int pagoda_points_init(struct pagoda_vidmm *vidmm);
struct pagoda_point *pagoda_point_alloc(struct drm_syncobj *syncobj, u64 value);
void pagoda_point_free(struct pagoda_point *point);
void pagoda_point_promise(struct pagoda_vidmm *vidmm, struct pagoda_point *point);
void pagoda_point_signal(struct pagoda_vidmm *vidmm, struct pagoda_point *point,
			 struct dma_fence *fence);

/* missing.c: queues of deferred work that wait for points of syncobjs that don't exist yet */
int pagoda_missing_init(struct pagoda_vidmm *vidmm);
void pagoda_missing_note(struct pagoda_deferred *queue, struct drm_syncobj *syncobj);
void pagoda_missing_came(struct pagoda_vidmm *vidmm, struct drm_syncobj *syncobj);
void pagoda_missing_kick(struct pagoda_vidmm *vidmm, struct pagoda_client *client);

/*
 * deferred.c: queues of deferred work; sync.c: pagoda_deferred_is_failed_paging() recognises the
 * fence of a paging request that failed
 */
void pagoda_deferred_init(struct pagoda_deferred *queue, struct pagoda_vidmm *vidmm,
			  struct pagoda_payer *payer, const struct pagoda_deferred_ops *ops,
			  bool until_done);
bool pagoda_deferred_is_empty(struct pagoda_deferred *queue);
int pagoda_deferred_prepare(struct pagoda_deferred_item *item, struct pagoda_syncs *syncs);
void pagoda_deferred_add(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
bool pagoda_deferred_is_signalled(struct pagoda_deferred *queue, struct dma_fence *fence);
int pagoda_deferred_settle(struct pagoda_deferred *queue);
int pagoda_deferred_wait_room(struct pagoda_deferred *queue, u32 most);
bool pagoda_deferred_is_failed_paging(struct dma_fence *fence);
void pagoda_deferred_stop(struct pagoda_deferred *queue, int error);
void pagoda_deferred_cancel(struct pagoda_deferred *queue, int error);

/* kick.c: have queues of deferred work test their next item again */
void pagoda_deferred_again(struct pagoda_deferred *queue);
void pagoda_deferred_kick(struct pagoda_vidmm *vidmm);

#endif
