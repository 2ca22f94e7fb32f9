/* SPDX-License-Identifier: GPL-2.0 */
/* Monitored fences: the struct and functions that the fence_*.c files share. */
#ifndef PAGODA_VIDMM_FENCE_H
#define PAGODA_VIDMM_FENCE_H

#include <linux/kref.h>
#include "core/core.h"
#include "fence.h"

/**
 * struct pagoda_mfence - A monitored fence
 * @kref: References of the client's id, of waits and of promises
 * @bo: Page, a reference
 * @flags: DRM_PAGODA_FENCE_* flags
 * @holds: Number of users that need the page in place; changes from and to 0 with the page's
 *	reservation held
 * @held: In &pagoda_mfences.held while @holds isn't 0
 * @lock: Protects @last, @page, @waits, @waiters, @closed, @saved, @lost and @gone; taken in
 *	interrupts and in the dma_fence signalling path
 * @last: Last value that the fence was told to take; the largest one, unless the fence may rewind
 * @page: Page while the fence is held and the device is there, else NULL
 * @waits: Armed waits by value
 * @waiters: All waits, armed or not
 * @closed: The fence has no id any more: no new wait is accepted
 * @saved: With @lost, the value that the fence gets back; with @gone, its last value
 * @lost: The fence shows the maximum value until the adapter is restored; held during that time
 * @gone: The device is gone, and the page with it
 */
struct pagoda_mfence {
	struct kref kref;
	struct pagoda_bo *bo;
	u32 flags;
	atomic_t holds;
	struct list_head held;
	spinlock_t lock;	/* all below */
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

int pagoda_mfence_hold(struct pagoda_mfence *mfence);
void pagoda_mfence_unhold(struct pagoda_mfence *mfence);

/* Callers of the functions below hold pagoda_mfence.lock. */
u64 pagoda_mfence_read(struct pagoda_mfence *mfence);
void pagoda_mfence_write(struct pagoda_mfence *mfence, u64 value);
u64 pagoda_mfence_swap(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_note(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_leave(struct pagoda_mfence *mfence);
void pagoda_mfence_look(struct pagoda_mfence *mfence);

#endif
