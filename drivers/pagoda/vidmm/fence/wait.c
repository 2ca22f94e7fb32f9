// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for values of monitored fences; the values that fences show during a reset of the device.
 *
 * Functions that store a value by the CPU test the waits at once. The GPU tells of its stores by an
 * event, if the operation asked for one and the event isn't lost, and commands of a job may store
 * values without an event: when a job ends, pagoda_mfences_changed() therefore has the waits for
 * all fences of the job's client tested (awaited.c).
 */
#include "core/core.h"
#include "fence.h"
#include "internal.h"
#include "sync.h"

/* Takes an armed wait out of &pagoda_mfence.waits; without such a wait the fence isn't awaited. */
static void wait_leave(struct pagoda_mfence *mfence, struct pagoda_mfence_wait *wait)
{
	rb_erase_cached(&wait->node, &mfence->waits);
	RB_CLEAR_NODE(&wait->node);
	if (RB_EMPTY_ROOT(&mfence->waits.rb_root))
		pagoda_awaited_leave(mfence);
}

static void wait_end(struct pagoda_mfence *mfence, struct pagoda_mfence_wait *wait, int error)
{
	wait_leave(mfence, wait);
	wait->func(wait, error);
}

static struct pagoda_mfence_wait *wait_first(struct pagoda_mfence *mfence)
{
	return rb_entry_safe(rb_first_cached(&mfence->waits), struct pagoda_mfence_wait, node);
}

/*
 * Ends the armed waits that a held fence's value satisfies; if the device is gone, ends all others
 * with -ENODEV. Caller holds &pagoda_mfence.lock.
 */
void pagoda_mfence_look(struct pagoda_mfence *mfence)
{
	struct pagoda_mfence_wait *wait = wait_first(mfence);
	u64 value;

	lockdep_assert_held(&mfence->lock);
	if (!wait)
		return;
	value = pagoda_mfence_read(mfence);
	while (wait && wait->value <= value) {
		wait_end(mfence, wait, 0);
		wait = wait_first(mfence);
	}
	while (mfence->gone && (wait = wait_first(mfence)))
		wait_end(mfence, wait, -ENODEV);
}

/*
 * Returns true if a wait doesn't matter any more: it is part of a group of waits, a struct
 * pagoda_mfence_group, that is over.
 */
static bool wait_is_moot(const struct pagoda_mfence_wait *wait)
{
	const atomic_t *left = READ_ONCE(wait->left);

	return left && atomic_read(left) <= 0;
}

/*
 * Returns true if any wait, armed or not, is for a larger value than the fence has. A wait of a
 * group that is over already doesn't count. While the fence shows the maximum value, because the
 * device is being reset, the waits are compared with &pagoda_mfence.saved, the value that comes
 * back. Caller holds the fence's lock.
 */
static bool mfence_is_awaited(struct pagoda_mfence *mfence)
{
	struct pagoda_mfence_wait *wait;
	u64 value;

	lockdep_assert_held(&mfence->lock);
	if (list_empty(&mfence->waiters))
		return false;
	value = mfence->lost ? mfence->saved : pagoda_mfence_read(mfence);
	list_for_each_entry(wait, &mfence->waiters, waiter)
		if (wait->value > value && !wait_is_moot(wait))
			return true;
	return false;
}

/**
 * pagoda_mfence_close() - Refuse new waits for a fence that is about to lose its id
 * @mfence: Fence
 *
 * Context: Takes a spinlock.
 * Return: 0, and no new wait is accepted; or -EBUSY if a wait, other than those of a group that is
 * over already, is for a larger value than the fence has. During a reset of the device the value
 * that comes back after the reset counts.
 */
int pagoda_mfence_close(struct pagoda_mfence *mfence)
{
	int ret = 0;

	spin_lock_irq(&mfence->lock);
	if (mfence_is_awaited(mfence))
		ret = -EBUSY;
	else
		mfence->closed = true;
	spin_unlock_irq(&mfence->lock);
	return ret;
}

/**
 * pagoda_mfence_wait_init() - Prepare to wait for a value
 * @wait: Wait, to be released with pagoda_mfence_wait_fini()
 * @mfence: Fence; the wait takes a reference and a hold
 * @value: Value
 * @func: Called when the fence has the value, see &pagoda_mfence_wait.func
 * @arg: &pagoda_mfence_wait.arg
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: 0; -EPERM if the fence was created with NO_WAIT; -ENOENT after pagoda_mfence_close();
 * -EDQUOT if the client that created the fence, or this client's user, has too many fences held;
 * -ENOMEM; -ENODEV if the device is gone; -ERESTARTSYS.
 */
int pagoda_mfence_wait_init(struct pagoda_mfence_wait *wait, struct pagoda_mfence *mfence,
			    u64 value,
			    void (*func)(struct pagoda_mfence_wait *wait, int error), void *arg)
{
	bool closed;
	int ret;

	if (mfence->flags & DRM_PAGODA_FENCE_NO_WAIT)
		return -EPERM;
	ret = pagoda_mfence_hold(mfence);
	if (ret)
		return ret;
	wait->mfence = mfence;
	wait->value = value;
	wait->func = func;
	wait->arg = arg;
	wait->left = NULL;
	RB_CLEAR_NODE(&wait->node);
	spin_lock_irq(&mfence->lock);
	closed = mfence->closed;
	if (!closed)
		list_add(&wait->waiter, &mfence->waiters);
	spin_unlock_irq(&mfence->lock);
	if (!closed) {
		pagoda_mfence_get(mfence);
		return 0;
	}
	pagoda_mfence_unhold(mfence);
	return -ENOENT;
}

static bool wait_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct pagoda_mfence_wait, node)->value <
	       rb_entry(b, struct pagoda_mfence_wait, node)->value;
}

/*
 * Arms a wait, once at most after pagoda_mfence_wait_init(). &pagoda_mfence_wait.func is called
 * once, unless the wait is disarmed before: when the driver sees that the fence has at least
 * &pagoda_mfence_wait.value, before the return if the fence has that already; or when the device is
 * gone. This function may be called in any context.
 */
void pagoda_mfence_wait_arm(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	rb_add_cached(&wait->node, &mfence->waits, wait_less);
	pagoda_awaited_enter(mfence);
	pagoda_mfence_look(mfence);
	spin_unlock_irqrestore(&mfence->lock, flags);
}

/*
 * Disarms a wait, if it is armed and hasn't ended. After the return &pagoda_mfence_wait.func of the
 * wait isn't running and won't be called. May be called in any context, but not by that function.
 */
void pagoda_mfence_wait_disarm(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	if (!RB_EMPTY_NODE(&wait->node))
		wait_leave(mfence, wait);
	spin_unlock_irqrestore(&mfence->lock, flags);
}

/*
 * Undoes pagoda_mfence_wait_init() for a wait, armed or not: &pagoda_mfence_wait.func of the wait
 * isn't running any more and won't be called. May sleep; outside of reservations.
 */
void pagoda_mfence_wait_fini(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;

	pagoda_mfence_wait_disarm(wait);
	spin_lock_irq(&mfence->lock);
	list_del(&wait->waiter);
	spin_unlock_irq(&mfence->lock);
	pagoda_mfence_unhold(mfence);
	pagoda_mfence_put(mfence);
}

/* Returns true if a fence has at least the value of @wait, armed or not (C180). Any context. */
bool pagoda_mfence_wait_is_over(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	unsigned long flags;
	bool over;

	spin_lock_irqsave(&mfence->lock, flags);
	over = wait->value <= pagoda_mfence_read(mfence);
	spin_unlock_irqrestore(&mfence->lock, flags);
	return over;
}

/*
 * Saves the value of a held fence and stores the maximum value instead, which ends the fence's
 * waits. A reference and an extra hold keep the fence in &pagoda_mfences.lost until
 * pagoda_mfence_restore_all(). Does nothing for a fence with NO_MAX_ON_RESET or without holds.
 * Caller holds &pagoda_mfences.lock.
 */
static void mfence_lose(struct pagoda_mfences *mfences, struct pagoda_mfence *mfence)
{
	if (mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET || !mfence->page ||
	    !atomic_inc_not_zero(&mfence->holds))
		return;
	pagoda_mfence_get(mfence);
	list_move(&mfence->held, &mfences->lost);
	spin_lock_irq(&mfence->lock);
	mfence->saved = pagoda_mfence_swap(mfence, U64_MAX);
	mfence->lost = true;
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

/**
 * pagoda_mfence_device_lost() - Have held fences show the maximum value while the device is reset
 * @vidmm: Manager
 *
 * Fences created with NO_MAX_ON_RESET keep their values (C184). Other held fences have the maximum
 * value, which ends all waits for them, until pagoda_mfence_restore_all(); for ever if the device
 * is never used again.
 *
 * Context: dma_fence signalling path; may sleep, doesn't allocate or take reservations.
 */
void pagoda_mfence_device_lost(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfences *mfences = vidmm->mfences;
	struct pagoda_mfence *mfence, *next;

	mutex_lock(&mfences->lock);
	list_for_each_entry_safe(mfence, next, &mfences->held, held)
		mfence_lose(mfences, mfence);
	mutex_unlock(&mfences->lock);
}

/*
 * Gives the next fence of &pagoda_mfences.lost its value back. Returns the fence, whose reference
 * and hold of mfence_lose() the caller drops; or NULL if there is none. Takes &pagoda_mfences.lock.
 */
static struct pagoda_mfence *mfence_restore_next(struct pagoda_mfences *mfences)
{
	struct pagoda_mfence *mfence;

	mutex_lock(&mfences->lock);
	mfence = list_first_entry_or_null(&mfences->lost, struct pagoda_mfence, held);
	if (!mfence) {
		mutex_unlock(&mfences->lock);
		return NULL;
	}
	list_move(&mfence->held, &mfences->held);
	spin_lock_irq(&mfence->lock);
	mfence->lost = false;
	if (mfence->page)
		pagoda_mfence_swap(mfence, mfence->saved);
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
	mutex_unlock(&mfences->lock);
	return mfence;
}

/**
 * pagoda_mfence_restore_all() - Give fences their values back after a reset of the device
 * @vidmm: Manager; the fences of lost work have signalled
 *
 * Every fence that shows the maximum value gets &pagoda_mfence.saved: its value before the reset,
 * or what was stored since by FENCE_SIGNAL or for a promise. If the device is gone, the fence shows
 * the maximum value for ever, and only its hold ends. Doesn't access the device.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_restore_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfence *mfence;

	while ((mfence = mfence_restore_next(vidmm->mfences))) {
		pagoda_mfence_unhold(mfence);
		pagoda_mfence_put(mfence);
	}
}
