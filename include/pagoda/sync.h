/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What work waits for and what it signals, and work that can't be made yet.
 *
 * A fence is published only for work that will be done in finite time. Work that waits
 * for a point nobody has submitted, or for a value of a monitored fence, isn't: it
 * is kept in a queue of its context or VM, nothing of it is public, and a worker makes it
 * when all it waits for is there. What is asked for later waits behind it.
 *
 *	pagoda_syncs_get	copies and checks; references, and memory to signal with
 *	pagoda_syncs_look	is all there that is waited for?
 *	pagoda_syncs_signal	the work is made: its fence is what is signalled
 *	pagoda_syncs_put	instead, or after it
 */
#ifndef PAGODA_SYNC_H
#define PAGODA_SYNC_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/pagoda_drm.h>

struct dma_fence_chain;
struct drm_device;
struct drm_file;
struct drm_syncobj;
struct pagoda_mfence_signal;
struct pagoda_mfence_wait;
struct pagoda_paging_queue;
struct pagoda_payer;
struct pagoda_vidmm;

/**
 * struct pagoda_sync - A checked struct drm_pagoda_sync
 * @syncobj: A reference; NULL: it is a monitored fence
 * @point: Point of its timeline, 0 = binary
 * @signal: Signalled by the work; else waited for
 * @found: Waited for: @fence is what there was to wait for when it was looked at
 * @fence: That fence, a reference; NULL: it was over
 * @paging: Waited for: the client's paging queue whose timeline it is, a reference, or NULL
 * @failed: Found, and what it would say was done is paging that failed
 * @chain: Signalled point: got in advance
 * @value: Fence waited for: its value
 * @promise: Fence signalled: got in advance
 */
struct pagoda_sync {
	struct drm_syncobj *syncobj;
	u64 point;
	bool signal;
	bool found;
	struct dma_fence *fence;
	struct pagoda_paging_queue *paging;
	bool failed;
	struct dma_fence_chain *chain;
	struct pagoda_mfence_wait *value;
	struct pagoda_mfence_signal *promise;
};

/**
 * struct pagoda_syncs - A list of them
 * @list: Entries
 * @count: Their number
 */
struct pagoda_syncs {
	struct pagoda_sync *list;
	u32 count;
};

int pagoda_syncs_get(struct drm_device *drm, struct drm_file *file,
		     const struct drm_pagoda_array *array, struct pagoda_syncs *syncs);
int pagoda_syncs_add(struct pagoda_syncs *syncs, struct drm_syncobj *syncobj, u64 point,
		     struct dma_fence_chain *chain);
int pagoda_syncs_add_promise(struct pagoda_syncs *syncs, struct pagoda_mfence_signal *promise);
void pagoda_syncs_put(struct pagoda_syncs *syncs);
bool pagoda_syncs_look(struct pagoda_syncs *syncs);
bool pagoda_syncs_failed(const struct pagoda_syncs *syncs);
bool pagoda_syncs_wait(const struct pagoda_syncs *syncs);
struct dma_fence *pagoda_syncs_next(const struct pagoda_syncs *syncs, u32 *index);
void pagoda_syncs_promise(struct pagoda_syncs *syncs);
void pagoda_syncs_signal(struct pagoda_syncs *syncs, struct dma_fence *fence);

/**
 * struct pagoda_deferred_item - Work that can't be made yet; embedded
 * @entry: In the queue
 * @priority: It is made before those of lower priority; 0 where there is no such thing
 * @syncs: What it waits for and signals; the owner's
 * @is_paging: What waits for it isn't made, either, if it can't be made
 * @failure: Fence that is signalled if it can't be made
 */
struct pagoda_deferred_item {
	struct list_head entry;
	int priority;
	struct pagoda_syncs *syncs;
	bool is_paging;
	struct dma_fence *failure;
};

struct pagoda_deferred;

/**
 * struct pagoda_deferred_ops - What a queue asks its owner
 * @make: All that the item waits for is there: make the work. Calls
 *	pagoda_syncs_signal() with its fence and answers 0, or a negative errno: then the
 *	queue signals what the item would have, with that error; but for -EAGAIN: it is
 *	asked again later. Process context, without locks; the device isn't taken away
 *	meanwhile
 * @put: The item isn't used any more; frees it and all of it
 */
struct pagoda_deferred_ops {
	int (*make)(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
	void (*put)(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
};

/**
 * struct pagoda_deferred - Work that can't be made yet, in order of priority and then of
 * arrival; embedded
 * @vidmm: Manager
 * @payer: Makes the items where the owner's cgroup is charged
 * @ops: Owner's calls
 * @until_done: Fences waited for must have signalled, too; else it is enough that they
 *	exist
 * @entry: In &pagoda_vidmm.deferred while there are items; protected by
 *	&pagoda_vidmm.deferred_lock
 * @lock: Protects @items, @count and @error; inside of &pagoda_vidmm.deferred_lock
 * @items: Items, the next one first. It stays there until it is made
 * @count: Their number
 * @error: Nothing is made any more, with this negative errno
 * @fence: Fence the next item waits for with @callback, a reference, or NULL; the
 *	worker's own
 * @callback: On @fence
 * @work: Makes what can be made; runs again after @patience for what tells nobody
 * @patience: Jiffies; the worker's own
 * @runs: How often the worker began; written by the worker, as is @held_up
 * @held_up: @runs when the worker last found that the next item waits for what isn't there; 0: the
 *	item can be made
 * @room: Woken up when an item went
 */
struct pagoda_deferred {
	struct pagoda_vidmm *vidmm;
	struct pagoda_payer *payer;
	const struct pagoda_deferred_ops *ops;
	bool until_done;
	struct list_head entry;
	spinlock_t lock;	/* items, count, error */
	struct list_head items;
	u32 count;
	int error;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
	struct delayed_work work;
	unsigned long patience;
	u32 runs;
	u32 held_up;
	wait_queue_head_t room;
};

void pagoda_deferred_init(struct pagoda_deferred *queue, struct pagoda_vidmm *vidmm,
			  struct pagoda_payer *payer, const struct pagoda_deferred_ops *ops,
			  bool until_done);
bool pagoda_deferred_is_empty(struct pagoda_deferred *queue);
int pagoda_deferred_prepare(struct pagoda_deferred_item *item, struct pagoda_syncs *syncs);
void pagoda_deferred_add(struct pagoda_deferred *queue, struct pagoda_deferred_item *item);
int pagoda_deferred_settle(struct pagoda_deferred *queue);
int pagoda_deferred_wait_room(struct pagoda_deferred *queue, u32 most);
bool pagoda_deferred_is_failed_paging(struct dma_fence *fence);
void pagoda_deferred_stop(struct pagoda_deferred *queue, int error);
void pagoda_deferred_cancel(struct pagoda_deferred *queue, int error);
void pagoda_deferred_kick(struct pagoda_vidmm *vidmm);

#endif
