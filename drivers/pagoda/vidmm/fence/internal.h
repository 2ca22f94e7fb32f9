/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structs and functions that only the files in fence/ share: of monitored fences, and of queues of
 * deferred work whose next item misses a point.
 */
#ifndef PAGODA_VIDMM_FENCE_INTERNAL_H
#define PAGODA_VIDMM_FENCE_INTERNAL_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/pagoda_drm.h>

struct page;
struct pagoda_bo;
struct pagoda_deferred;
struct work_struct;
struct workqueue_struct;

#define PAGODA_AWAITED_BITS	6

/**
 * struct pagoda_mfences - All monitored fences of a device
 * @lock: Protects @held and @lost, and keeps a FENCE_SIGNAL from storing values while another
 *	checks or stores its own; taken in the dma_fence signalling path
 * @held: Fences whose page is pinned, but for those in @lost, linked by &pagoda_mfence.held
 * @lost: Fences with &pagoda_mfence.lost, linked by &pagoda_mfence.held
 * @awaited_lock: Protects @awaited, @due, @looked, &pagoda_mfence.awaited and each struct
 *	pagoda_awaited; taken in any context, under &pagoda_mfence.lock
 * @awaited: Clients that created awaited fences, linked by &pagoda_awaited.entry, hashed by account
 * @due: Clients whose awaited fences may have changed, linked by &pagoda_awaited.due
 * @looked: Number of fences that @look has tested so far
 * @kept: Promises that were kept, which @reap frees; linked by &pagoda_mfence_signal.done
 * @look: Work item: ends satisfied waits for fences of the clients in @due, which take turns
 * @reap: Work item: frees the promises in @kept
 * @wq: Runs @look, @reap and &pagoda_mfence_group.work
 */
struct pagoda_mfences {
	struct mutex lock;		/* protects held, lost */
	struct list_head held;
	struct list_head lost;
	spinlock_t awaited_lock;	/* protects awaited, due, looked */
	struct hlist_head awaited[1 << PAGODA_AWAITED_BITS];
	struct list_head due;
	u64 looked;
	struct llist_head kept;
	struct work_struct look;
	struct work_struct reap;
	struct workqueue_struct *wq;
};

/**
 * struct pagoda_mfence - A monitored fence
 * @kref: References: of the client's id, of waits, of promises, of a reset while @lost is set
 * @bo: Allocation that is the fence's page, a reference
 * @flags: DRM_PAGODA_FENCE_* flags
 * @holds: Number of users that need the page in place; changes from and to 0 with the page's
 *	reservation held
 * @held: In &pagoda_mfences.held or &pagoda_mfences.lost while @holds isn't 0
 * @awaited: In &pagoda_awaited.fences or &pagoda_awaited.todo of the client that created the fence
 *	while @waits isn't empty; protected by &pagoda_mfences.awaited_lock
 * @lock: Protects @last, @page, @waits, @waiters, @closed, @saved, @lost and @gone; taken in
 *	interrupts and in the dma_fence signalling path
 * @last: Initial value, or the last value that was promised, or stored by FENCE_SIGNAL, since; the
 *	largest of them unless the fence may rewind
 * @page: Page with the value while the fence is held and the device is there, else NULL
 * @waits: Armed waits by value
 * @waiters: All waits, armed or not
 * @closed: The fence has no id any more: no new wait is accepted
 * @saved: If @lost, the value that the fence will get back; if @gone, the fence's last value
 * @lost: Until pagoda_mfence_restore_all() the fence is held and shows the maximum value, because
 *	the device is being reset, or is never used again
 * @gone: The device is gone; @page is NULL, because the page isn't accessed any more
 */
struct pagoda_mfence {
	struct kref kref;
	struct pagoda_bo *bo;
	u32 flags;
	atomic_t holds;
	struct list_head held;
	struct list_head awaited;
	spinlock_t lock;	/* protects all below */
	u64 last;
	struct page *page;
	struct rb_root_cached waits;
	struct list_head waiters;
	bool closed;
	u64 saved;
	bool lost;
	bool gone;
};

#define PAGODA_MISSING_BITS	8

/*
 * Queues of deferred work that miss points of syncobjs with one hash value. @lock is taken in
 * process context, also under &pagoda_missing.lock.
 */
struct pagoda_missing_bucket {
	spinlock_t lock;	/* protects queues, and &pagoda_deferred.missing of the queues */
	struct hlist_head queues;
};

/**
 * struct pagoda_missing - Queues of deferred work whose next item misses a point (missing.c)
 * @lock: Protects @clients, and in struct pagoda_payer: missing, turn and nr_missing; taken in
 *	process context. &pagoda_deferred.missing changes under @lock and the bucket's lock
 * @by_syncobj: Queues, linked by &pagoda_deferred.by_syncobj, hashed by &pagoda_deferred.missing
 * @clients: Clients that have such queues, linked by &pagoda_payer.turn, the next to poll first
 * @poll: Work item, the poller: runs the workers of the queues, in turn
 */
struct pagoda_missing {
	spinlock_t lock;	/* protects clients, and their lists of queues */
	struct pagoda_missing_bucket by_syncobj[1 << PAGODA_MISSING_BITS];
	struct list_head clients;
	struct delayed_work poll;
};

/* Returns true if a fence was created with ALLOW_REWIND: its value may become smaller. */
static inline bool pagoda_mfence_may_rewind(const struct pagoda_mfence *mfence)
{
	return mfence->flags & DRM_PAGODA_FENCE_ALLOW_REWIND;
}

/* awaited.c: note that a monitored fence has armed waits, or none any more */
void pagoda_awaited_enter(struct pagoda_mfence *mfence);
void pagoda_awaited_leave(struct pagoda_mfence *mfence);

/* signal.c: the work item that frees promises that were kept */
void pagoda_mfences_reap(struct work_struct *work);

/* fence.c: keep a fence's page in place; read, write and record a fence's value */
int pagoda_mfence_hold(struct pagoda_mfence *mfence);
void pagoda_mfence_unhold(struct pagoda_mfence *mfence);
/* Callers of pagoda_mfence_read() ... pagoda_mfence_leave() hold &pagoda_mfence.lock. */
u64 pagoda_mfence_read(struct pagoda_mfence *mfence);
void pagoda_mfence_write(struct pagoda_mfence *mfence, u64 value);
u64 pagoda_mfence_swap(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_note(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_leave(struct pagoda_mfence *mfence);

/* wait.c: ends the waits whose value a fence has reached; if the device is gone, all waits */
void pagoda_mfence_look(struct pagoda_mfence *mfence);

/* deferred.c: waits for the end of a run of a queue's worker */
#if IS_ENABLED(CONFIG_KUNIT)
void pagoda_deferred_flush(struct pagoda_deferred *queue);
#endif

#endif
