/* SPDX-License-Identifier: GPL-2.0 */
/* Monitored fences: declarations that the files in fence/ share. */
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

/* All monitored fences of a device. */
struct pagoda_mfences {
	struct mutex lock;		/* protects held; taken in the dma_fence signalling path */
	struct list_head held;		/* fences whose page is pinned, by &pagoda_mfence.held */
	struct llist_head kept;		/* kept promises, by &pagoda_mfence_signal.done */
	struct work_struct look;	/* ends satisfied waits of all fences in @held */
	struct work_struct reap;	/* frees @kept */
	struct workqueue_struct *wq;	/* runs @look, @reap and &pagoda_mfence_group.work */
};

/**
 * struct pagoda_mfence - A monitored fence
 * @kref: References of the client's id, of waits and of promises
 * @bo: Allocation that is the fence's page, a reference
 * @flags: DRM_PAGODA_FENCE_* flags
 * @holds: Number of users that need the page in place; changes from and to 0 with the page's
 *	reservation held
 * @held: In &pagoda_mfences.held while @holds isn't 0
 * @lock: Protects @last, @page, @waits, @waiters, @closed, @saved, @lost and @gone; taken in
 *	interrupts and in the dma_fence signalling path
 * @last: Last value that was promised, or stored by FENCE_SIGNAL; the largest of them unless the
 *	fence may rewind
 * @page: Page with the value while the fence is held and the device is there, else NULL
 * @waits: Armed waits by value
 * @waiters: All waits, armed or not
 * @closed: The fence has no id any more: no new wait is accepted
 * @saved: If @lost, the value that the fence will get back; if @gone, the fence's last value
 * @lost: The fence shows the maximum value because the device is being reset, and is held until
 *	pagoda_mfence_restore_all()
 * @gone: The device is gone, and the page with it
 */
struct pagoda_mfence {
	struct kref kref;
	struct pagoda_bo *bo;
	u32 flags;
	atomic_t holds;
	struct list_head held;
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

/* Returns true if a smaller value may follow a larger one. */
static inline bool pagoda_mfence_may_rewind(const struct pagoda_mfence *mfence)
{
	return mfence->flags & DRM_PAGODA_FENCE_ALLOW_REWIND;
}

/* signal.c */
void pagoda_mfences_reap(struct work_struct *work);

/* fence.c */
int pagoda_mfence_hold(struct pagoda_mfence *mfence);
void pagoda_mfence_unhold(struct pagoda_mfence *mfence);
/* Callers of the functions below hold pagoda_mfence.lock. */
u64 pagoda_mfence_read(struct pagoda_mfence *mfence);
void pagoda_mfence_write(struct pagoda_mfence *mfence, u64 value);
u64 pagoda_mfence_swap(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_note(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_leave(struct pagoda_mfence *mfence);

/* wait.c */
void pagoda_mfence_look(struct pagoda_mfence *mfence);

/* deferred.c */
#if IS_ENABLED(CONFIG_KUNIT)
void pagoda_deferred_flush(struct pagoda_deferred *queue);
#endif

#endif
