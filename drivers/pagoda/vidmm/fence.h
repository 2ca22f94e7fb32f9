/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files about monitored fences show each other.
 */
#ifndef PAGODA_VIDMM_FENCE_H
#define PAGODA_VIDMM_FENCE_H

#include <linux/kref.h>
#include <pagoda/mfence.h>
#include "vidmm.h"

/**
 * struct pagoda_mfence - A monitored fence
 * @kref: References: the client's id, waits and promises
 * @bo: Its page; a reference
 * @flags: DRM_PAGODA_FENCE_ flags
 * @holds: Who needs the page where it is; from and to 0 with the reservation held
 * @held: In &pagoda_mfences.held while there are @holds
 * @lock: Protects everything below; taken from interrupts and on the way to fences
 * @last: Last value it was told to take; the largest, unless it may go back
 * @page: Page while it is held, and the device there; else NULL
 * @waits: Armed waits, by value
 * @waiters: All waits, armed or not
 * @closed: It has no id any more: no wait begins
 * @saved: With @lost: the value it goes on with. With @gone: its last one
 * @lost: It shows the maximum value until the adapter is restored; then it is held
 * @gone: The device is gone, the page too
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

/* pagoda_mfence_may_rewind() - May a smaller value follow a larger one? */
static inline bool pagoda_mfence_may_rewind(const struct pagoda_mfence *mfence)
{
	return mfence->flags & DRM_PAGODA_FENCE_ALLOW_REWIND;
}

int pagoda_mfence_hold(struct pagoda_mfence *mfence);
void pagoda_mfence_unhold(struct pagoda_mfence *mfence);

/* With pagoda_mfence.lock held. */
u64 pagoda_mfence_read(struct pagoda_mfence *mfence);
void pagoda_mfence_write(struct pagoda_mfence *mfence, u64 value);
u64 pagoda_mfence_swap(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_note(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_leave(struct pagoda_mfence *mfence);
void pagoda_mfence_look(struct pagoda_mfence *mfence);

#endif
