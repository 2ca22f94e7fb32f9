// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for values of monitored fences, and who looks whether they are there.
 *
 * What the CPU stores is looked at on the spot. What the GPU stores it tells of by an event,
 * if it was asked to and the event isn't lost, and work that is done may have stored
 * anything: pagoda_mfences_changed() then has all fences that are held looked at.
 */
#include <linux/slab.h>
#include <pagoda/sync.h>
#include "fence.h"

static void wait_end(struct pagoda_mfence *mfence, struct pagoda_mfence_wait *wait, int error)
{
	rb_erase_cached(&wait->node, &mfence->waits);
	RB_CLEAR_NODE(&wait->node);
	wait->func(wait, error);
}

static struct pagoda_mfence_wait *wait_first(struct pagoda_mfence *mfence)
{
	return rb_entry_safe(rb_first_cached(&mfence->waits), struct pagoda_mfence_wait, node);
}

/**
 * pagoda_mfence_look() - Call whoever waits for a value that is there
 * @mfence: Fence, held
 *
 * Context: &pagoda_mfence.lock is held.
 */
void pagoda_mfence_look(struct pagoda_mfence *mfence)
{
	struct pagoda_mfence_wait *wait = wait_first(mfence);
	u64 value;

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

static bool wait_enter(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	bool closed;

	spin_lock_irq(&mfence->lock);
	closed = mfence->closed;
	if (!closed)
		list_add(&wait->waiter, &mfence->waiters);
	spin_unlock_irq(&mfence->lock);
	return !closed;
}

static void wait_leave(struct pagoda_mfence_wait *wait)
{
	spin_lock_irq(&wait->mfence->lock);
	list_del(&wait->waiter);
	spin_unlock_irq(&wait->mfence->lock);
}

/* A group that is over needs no more values. */
static bool wait_is_moot(const struct pagoda_mfence_wait *wait)
{
	const atomic_t *left = READ_ONCE(wait->left);

	return left && atomic_read(left) <= 0;
}

/* What a lost adapter shows doesn't count: the value comes back. */
static bool mfence_is_awaited(struct pagoda_mfence *mfence)
{
	struct pagoda_mfence_wait *wait;
	u64 value;

	if (list_empty(&mfence->waiters))
		return false;
	value = mfence->lost ? mfence->saved : pagoda_mfence_read(mfence);
	list_for_each_entry(wait, &mfence->waiters, waiter)
		if (wait->value > value && !wait_is_moot(wait))
			return true;
	return false;
}

/**
 * pagoda_mfence_close() - The id of a fence goes: it can't be given a value any more
 * @mfence: Fence
 *
 * Context: Takes a spinlock.
 * Return: 0, and no wait begins any more; or -EBUSY: something waits for a value that isn't there.
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
 * pagoda_mfence_wait_init() - Get ready to wait for a value
 * @wait: Wait; pagoda_mfence_wait_fini() it
 * @mfence: Fence
 * @value: Value
 * @func: Called when it is there, see &pagoda_mfence_wait.func
 * @arg: &pagoda_mfence_wait.arg
 *
 * Context: May sleep and allocate. Outside of reservations. The device is there.
 * Return: 0; -EPERM: made without; -ENOENT: pagoda_mfence_close() was faster; -EDQUOT, -ENOMEM or
 * -ERESTARTSYS.
 */
int pagoda_mfence_wait_init(struct pagoda_mfence_wait *wait, struct pagoda_mfence *mfence,
			    u64 value,
			    void (*func)(struct pagoda_mfence_wait *wait, int error), void *arg)
{
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
	if (wait_enter(wait)) {
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

/**
 * pagoda_mfence_wait_arm() - Wait
 * @wait: From pagoda_mfence_wait_init(), for the first time
 *
 * A value that is there already is told of before it returns.
 *
 * Context: Any.
 */
void pagoda_mfence_wait_arm(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	rb_add_cached(&wait->node, &mfence->waits, wait_less);
	pagoda_mfence_look(mfence);
	spin_unlock_irqrestore(&mfence->lock, flags);
}

/**
 * pagoda_mfence_wait_disarm() - Don't wait any more
 * @wait: From pagoda_mfence_wait_init()
 *
 * Its function isn't running afterwards, and won't.
 *
 * Context: Any.
 */
void pagoda_mfence_wait_disarm(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;
	unsigned long flags;

	spin_lock_irqsave(&mfence->lock, flags);
	if (!RB_EMPTY_NODE(&wait->node))
		rb_erase_cached(&wait->node, &mfence->waits);
	RB_CLEAR_NODE(&wait->node);
	spin_unlock_irqrestore(&mfence->lock, flags);
}

/**
 * pagoda_mfence_wait_fini() - Undo pagoda_mfence_wait_init()
 * @wait: Wait, armed or not
 *
 * Its function isn't running afterwards, and won't.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_wait_fini(struct pagoda_mfence_wait *wait)
{
	struct pagoda_mfence *mfence = wait->mfence;

	pagoda_mfence_wait_disarm(wait);
	wait_leave(wait);
	pagoda_mfence_unhold(mfence);
	pagoda_mfence_put(mfence);
}

/**
 * pagoda_mfence_wait_is_over() - Is the value there?
 * @wait: From pagoda_mfence_wait_init(), armed or not
 *
 * For who looks again when pagoda_deferred_kick() says that something has changed.
 *
 * Context: Any.
 * Return: Whether the fence has at least the value (C180).
 */
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

static void mfences_look(struct work_struct *work)
{
	struct pagoda_mfences *mfences = container_of(work, struct pagoda_mfences, look);
	struct pagoda_mfence *mfence;

	mutex_lock(&mfences->lock);
	list_for_each_entry(mfence, &mfences->held, held) {
		spin_lock_irq(&mfence->lock);
		pagoda_mfence_look(mfence);
		spin_unlock_irq(&mfence->lock);
	}
	mutex_unlock(&mfences->lock);
}

/**
 * pagoda_mfences_changed() - The GPU may have written to fences
 * @vidmm: The manager, not destroyed
 *
 * To be called for events about fences, for lost events, and when work is done.
 *
 * Context: Any.
 */
void pagoda_mfences_changed(struct pagoda_vidmm *vidmm)
{
	/* Pairs with mfence_pin(): who holds a fence from now on looks himself. */
	smp_mb();
	if (!list_empty(&vidmm->mfences.held))
		queue_work(vidmm->mfences.wq, &vidmm->mfences.look);
	pagoda_deferred_kick(vidmm);
}

/* An adapter that will be restored. The hold makes sure that it is found again. */
static void mfence_lose(struct pagoda_mfence *mfence)
{
	if (mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET || !mfence->page ||
	    !atomic_inc_not_zero(&mfence->holds))
		return;
	pagoda_mfence_get(mfence);
	spin_lock_irq(&mfence->lock);
	mfence->saved = pagoda_mfence_swap(mfence, U64_MAX);
	mfence->lost = true;
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

/**
 * pagoda_mfence_device_lost() - The adapter is being reset
 * @vidmm: The manager
 *
 * Whoever waits for a fence is released, by the maximum value, unless the fence was made
 * with NO_MAX_ON_RESET (C184). It has this value until pagoda_mfence_restore_all().
 *
 * Context: On the way to fences; may sleep, doesn't allocate or take reservations.
 */
void pagoda_mfence_device_lost(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfence *mfence;

	mutex_lock(&vidmm->mfences.lock);
	list_for_each_entry(mfence, &vidmm->mfences.held, held)
		if (!mfence->lost)
			mfence_lose(mfence);
	mutex_unlock(&vidmm->mfences.lock);
	pagoda_deferred_kick(vidmm);
}

static void mfence_restore(struct pagoda_mfence *mfence)
{
	spin_lock_irq(&mfence->lock);
	mfence->lost = false;
	if (mfence->page)
		pagoda_mfence_swap(mfence, mfence->saved);
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

static struct pagoda_mfence *mfences_next_lost(struct pagoda_mfences *mfences)
{
	struct pagoda_mfence *mfence;

	list_for_each_entry(mfence, &mfences->held, held)
		if (mfence->lost)
			return mfence;
	return NULL;
}

/**
 * pagoda_mfence_restore_all() - The adapter was reset
 * @vidmm: The manager; the work that was lost has signalled its fences
 *
 * Every fence gets the value it had, or the last one that was promised by work that
 * was lost: the CPU keeps the promise. Nothing of it needs the device.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_mfence_restore_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfence *mfence;

	do {
		mutex_lock(&vidmm->mfences.lock);
		mfence = mfences_next_lost(&vidmm->mfences);
		if (mfence)
			mfence_restore(mfence);
		mutex_unlock(&vidmm->mfences.lock);
		if (mfence) {
			pagoda_mfence_unhold(mfence);
			pagoda_mfence_put(mfence);
		}
	} while (mfence);
	pagoda_deferred_kick(vidmm);
}

static void mfence_gone(struct pagoda_mfence *mfence)
{
	spin_lock_irq(&mfence->lock);
	if (!mfence->lost)
		mfence->saved = pagoda_mfence_read(mfence);
	pagoda_mfence_leave(mfence);
	mfence->page = NULL;
	mfence->gone = true;
	pagoda_mfence_look(mfence);
	spin_unlock_irq(&mfence->lock);
}

/**
 * pagoda_mfences_stop() - The device is gone
 * @vidmm: The manager; all work has ended, nobody begins to wait
 *
 * Whoever waits is released, or told that it is no use (C184). The pages aren't
 * looked at any more.
 *
 * Context: May sleep.
 */
void pagoda_mfences_stop(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfence *mfence;

	mutex_lock(&vidmm->mfences.lock);
	/* Who waits for any of both kinds is released, not refused. */
	list_for_each_entry(mfence, &vidmm->mfences.held, held)
		if (!(mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET))
			mfence_gone(mfence);
	list_for_each_entry(mfence, &vidmm->mfences.held, held)
		if (mfence->flags & DRM_PAGODA_FENCE_NO_MAX_ON_RESET)
			mfence_gone(mfence);
	mutex_unlock(&vidmm->mfences.lock);
	pagoda_mfence_restore_all(vidmm);
	flush_workqueue(vidmm->mfences.wq);
}

/**
 * pagoda_mfences_init() - Get ready for monitored fences
 * @vidmm: The manager
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_mfences_init(struct pagoda_vidmm *vidmm)
{
	struct pagoda_mfences *mfences = &vidmm->mfences;

	mutex_init(&mfences->lock);
	INIT_LIST_HEAD(&mfences->held);
	init_llist_head(&mfences->kept);
	INIT_WORK(&mfences->look, mfences_look);
	INIT_WORK(&mfences->reap, pagoda_mfences_reap);
	mfences->wq = alloc_workqueue("pagoda-fences", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return mfences->wq ? 0 : -ENOMEM;
}

/**
 * pagoda_mfences_fini() - Undo pagoda_mfences_init()
 * @vidmm: The manager; there is no fence any more
 *
 * Context: May sleep.
 */
void pagoda_mfences_fini(struct pagoda_vidmm *vidmm)
{
	destroy_workqueue(vidmm->mfences.wq);
	mutex_destroy(&vidmm->mfences.lock);
}
