// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of deferred work: accepted work that can't be submitted yet, see sync.h.
 *
 * The worker of a queue takes the items in order, up to the first that has to wait. The worker runs
 * again when a dma_fence that this item waits for signals, a monitored fence reaches a value that
 * the item waits for, a syncobj gets a point that the item waits for (missing.c), the client has
 * less paging in flight, or the owner of the queue calls pagoda_deferred_again(); and after a delay
 * (&pagoda_deferred.patience) if the item waits for something else.
 */
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <drm/drm_drv.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/client.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "sync.h"

/*
 * Jiffies until the worker runs again after deferred_run() returned true: PATIENCE_MIN at first and
 * whenever deferred_run() has taken an item off the queue, else twice the delay before, at most
 * PATIENCE_MAX.
 */
#define PATIENCE_MIN	1
#define PATIENCE_MAX	(HZ / 20 ?: 1)

/**
 * pagoda_deferred_prepare() - Prepare an item for a queue
 * @item: Item; the caller has set @item->is_paging to true or false
 * @syncs: Fences that the item waits for and signals
 *
 * Allocates the fence that is published if the item fails. User space may keep that fence until
 * after this module is unloaded, so the fence has operations of the dma-buf core.
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_deferred_prepare(struct pagoda_deferred_item *item, struct pagoda_syncs *syncs)
{
	item->failure = dma_fence_allocate_private_stub(ktime_get());
	if (!item->failure)
		return -ENOMEM;
	if (item->is_paging)
		set_bit(PAGODA_DEFERRED_IS_PAGING, &item->failure->flags);
	item->syncs = syncs;
	return 0;
}

/*
 * Frees an item that was removed from its queue, and wakes &pagoda_deferred.room. If @error, first
 * publishes the item's failure fence, with the error, in all that the item signals.
 */
static void deferred_end(struct pagoda_deferred *queue, struct pagoda_deferred_item *item,
			 int error)
{
	if (error) {
		/*
		 * dma_fence_set_error() would warn, because this fence was created signalled. The
		 * assignment is safe: the fence isn't published yet.
		 */
		item->failure->error = error;
		pagoda_syncs_signal(queue->vidmm, item->syncs, item->failure);
	}
	dma_fence_put(item->failure);
	queue->ops->put(queue, item);
	wake_up_all(&queue->room);
}

static void deferred_callback(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	pagoda_deferred_again(container_of(callback, struct pagoda_deferred, callback));
}

static struct pagoda_client *deferred_client(struct pagoda_deferred *queue)
{
	return container_of(queue->payer, struct pagoda_client, payer);
}

/* Drops the fence that the next item waited for, with its callback. Called by the worker only. */
static void deferred_drop_fence(struct pagoda_deferred *queue)
{
	if (!queue->fence)
		return;
	dma_fence_remove_callback(queue->fence, &queue->callback);
	dma_fence_put(queue->fence);
	queue->fence = NULL;
}

/* Function of &pagoda_deferred.lowered: the client may go on paging. */
static int deferred_lowered(struct wait_queue_entry *entry, unsigned int mode, int flags,
			    void *key)
{
	pagoda_deferred_again(container_of(entry, struct pagoda_deferred, lowered));
	return 0;
}

static void deferred_untell(struct pagoda_deferred *queue)
{
	if (queue->told)
		pagoda_caller_untell(deferred_client(queue), &queue->lowered);
	queue->told = false;
}

/*
 * Returns true if the client has too much paging in flight: then the worker runs again when that is
 * less.
 */
static bool deferred_is_too_much(struct pagoda_deferred *queue)
{
	queue->told = pagoda_caller_tell(queue->vidmm, deferred_client(queue), &queue->lowered);
	return queue->told;
}

/*
 * Returns true if a fence, and all points before the fence on its timeline, have signalled or
 * belong to the queue's own work. Else takes a reference to the fence of such a point that hasn't
 * signalled, and has the worker run again when that fence signals.
 */
static bool deferred_fence_is_done(struct pagoda_deferred *queue, struct dma_fence *fence)
{
	const struct pagoda_deferred_ops *ops = queue->ops;
	struct dma_fence *point;

	dma_fence_chain_for_each(point, fence) {
		struct dma_fence *work = dma_fence_chain_contained(point);

		if ((ops->owns && ops->owns(queue, work)) ||
		    dma_fence_add_callback(work, &queue->callback, deferred_callback))
			continue;
		queue->fence = dma_fence_get(work);
		dma_fence_put(point);
		return false;
	}
	return true;
}

/*
 * For &pagoda_deferred_ops.ready, in the worker: returns true if a dma_fence has signalled. Else
 * takes a reference to the fence, and has the worker run again when the fence signals.
 */
bool pagoda_deferred_is_signalled(struct pagoda_deferred *queue, struct dma_fence *fence)
{
	if (dma_fence_add_callback(fence, &queue->callback, deferred_callback))
		return true;
	queue->fence = dma_fence_get(fence);
	return false;
}

/* Returns false if the next item waits for a dma_fence or for &pagoda_deferred_ops.ready. */
static bool deferred_is_ready(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct dma_fence *fence;
	u32 index = 0;

	if (READ_ONCE(queue->hurried))
		return true;
	while (queue->until_done && (fence = pagoda_syncs_next(item->syncs, &index)))
		if (!deferred_fence_is_done(queue, fence))
			return false;
	return !queue->ops->ready || queue->ops->ready(queue, item);
}

/*
 * Returns true if the next item has to wait until a dma_fence signals or &pagoda_deferred_ops.ready
 * returns true, after a call of &pagoda_deferred_ops.waits.
 */
static bool deferred_waits(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	if (deferred_is_ready(queue, item))
		return false;
	if (queue->ops->waits)
		queue->ops->waits(queue);
	return true;
}

static struct pagoda_deferred_item *deferred_first(struct pagoda_deferred *queue, int *error)
{
	struct pagoda_deferred_item *item;
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	item = list_first_entry_or_null(&queue->items, struct pagoda_deferred_item, entry);
	*error = queue->error;
	spin_unlock_irqrestore(&queue->lock, flags);
	return item;
}

static void deferred_delete(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	lockdep_assert_held(&queue->vidmm->deferred_lock);
	spin_lock(&queue->lock);
	list_del(&item->entry);
	queue->hurried -= !!queue->hurried;
	if (!--queue->count)
		list_del_init(&queue->entry);
	spin_unlock(&queue->lock);
}

/* Removes an item from its queue, and an emptied queue from &pagoda_vidmm.deferred. */
static void deferred_remove(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_vidmm *vidmm = queue->vidmm;
	unsigned long flags;

	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	deferred_delete(queue, item);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
}

/* Argument of deferred_turn(): a call of &pagoda_deferred_ops.make in the client's cgroup. */
struct deferred_turn {
	struct pagoda_deferred *queue;
	struct pagoda_deferred_item *item;
	int error;	/* out: result of the call; without a call -ENODEV (no device) or -EAGAIN */
};

static void deferred_turn(void *arg)
{
	struct deferred_turn *turn = arg;
	struct pagoda_deferred *queue = turn->queue;
	struct pagoda_caller caller;

	turn->error = drm_dev_is_unplugged(queue->vidmm->drm) ? -ENODEV : -EAGAIN;
	if (!pagoda_try_enter(queue->vidmm))
		return;
	pagoda_caller_begin(queue->vidmm, &caller, deferred_client(queue));
	turn->error = queue->ops->make(queue, turn->item);
	pagoda_caller_end(queue->vidmm, &caller);
	pagoda_leave(queue->vidmm);
}

/*
 * Returns whether all dma_fences that an item waits for exist, and monitored fences have reached
 * all values that the item waits for, or won't because the device is gone. If not, the worker runs
 * again when the first missing dma_fence comes, or a value is reached.
 */
static bool deferred_look(struct pagoda_deferred *queue, struct pagoda_syncs *syncs)
{
	if (pagoda_syncs_look(syncs))
		return true;
	pagoda_missing_note(queue, pagoda_syncs_missing(syncs));
	/* Look again: a missing point may have come before the call of pagoda_missing_note(). */
	return pagoda_syncs_look(syncs);
}

/*
 * Submits items, or ends items with an error, in order, until an item has to wait. Returns true if
 * the worker has to run again after &pagoda_deferred.patience.
 */
static bool deferred_run(struct pagoda_deferred *queue)
{
	struct deferred_turn turn = { .queue = queue };
	bool there;
	int error;

	WRITE_ONCE(queue->runs, queue->runs + 1);
	/*
	 * The increment of @runs, the number of runs begun so far, comes before this run looks
	 * for points and values. This barrier pairs with that in pagoda_deferred_settle().
	 */
	smp_mb();
	deferred_drop_fence(queue);
	deferred_untell(queue);
	while ((turn.item = deferred_first(queue, &error))) {
		if (!error && !drm_dev_is_unplugged(queue->vidmm->drm)) {
			there = deferred_look(queue, turn.item->syncs);
			WRITE_ONCE(queue->held_up, there ? 0 : queue->runs);
			if (!there)
				return false;
			/* Check first: &pagoda_deferred_ops.ready keeps a place of an engine. */
			if (deferred_is_too_much(queue))
				return false;
			if (deferred_waits(queue, turn.item))
				return false;
		}
		if (!error) {
			pagoda_payer_run(queue->payer, deferred_turn, &turn);
			error = turn.error;
			/*
			 * A hurried queue doesn't ask &pagoda_deferred_ops.ready whether the item
			 * may be submitted again: without a pause this run might never end.
			 */
			if (error == -EAGAIN ||
			    (error == -ERESTART && READ_ONCE(queue->hurried)))
				return true;
			if (error == -ERESTART)
				continue;
		}
		pagoda_missing_note(queue, NULL);
		deferred_remove(queue, turn.item);
		deferred_end(queue, turn.item, error);
		queue->patience = PATIENCE_MIN;
	}
	return false;
}

static void deferred_work(struct work_struct *work)
{
	struct pagoda_deferred *queue = container_of(to_delayed_work(work),
						     struct pagoda_deferred, work);
	bool again;

	pagoda_kcov_begin(deferred_client(queue)->kcov);
	again = deferred_run(queue);
	pagoda_kcov_end();
	if (!again)
		return;
	queue_delayed_work(system_dfl_wq, &queue->work, queue->patience);
	queue->patience = min_t(unsigned long, 2 * queue->patience, PATIENCE_MAX);
}

/**
 * pagoda_deferred_init() - Initialise a queue of deferred work
 * @queue: Queue, to be emptied with pagoda_deferred_cancel()
 * @vidmm: Manager
 * @payer: The client's payer, which outlives the queue
 * @ops: Functions of the owner
 * @until_done: Dma_fences that an item waits for must have signalled before the item is submitted
 */
void pagoda_deferred_init(struct pagoda_deferred *queue, struct pagoda_vidmm *vidmm,
			  struct pagoda_payer *payer, const struct pagoda_deferred_ops *ops,
			  bool until_done)
{
	*queue = (struct pagoda_deferred) {
		.vidmm = vidmm,
		.payer = payer,
		.ops = ops,
		.until_done = until_done,
		.patience = PATIENCE_MIN,
	};
	INIT_LIST_HEAD(&queue->entry);
	INIT_LIST_HEAD(&queue->items);
	spin_lock_init(&queue->lock);
	INIT_DELAYED_WORK(&queue->work, deferred_work);
	init_waitqueue_func_entry(&queue->lowered, deferred_lowered);
	init_waitqueue_head(&queue->room);
}

/* Returns true if the queue has no item. Takes no lock: the caller keeps items from being added. */
bool pagoda_deferred_is_empty(struct pagoda_deferred *queue)
{
	return !READ_ONCE(queue->count);
}

/*
 * Inserts an item behind all items of equal or higher priority, and a queue that was empty in
 * &pagoda_vidmm.deferred. An item of lower priority that the worker is submitting at the moment may
 * then be behind the new item in the list.
 */
static void deferred_insert(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_deferred_item *before;

	lockdep_assert_held(&queue->vidmm->deferred_lock);
	spin_lock(&queue->lock);
	list_for_each_entry_reverse(before, &queue->items, entry)
		if (before->priority >= item->priority)
			break;
	list_add(&item->entry, &before->entry);
	if (!queue->count++)
		list_add_tail(&queue->entry, &queue->vidmm->deferred);
	spin_unlock(&queue->lock);
}

/**
 * pagoda_deferred_add() - Add an item behind all items of equal or higher priority
 * @queue: Queue; the caller excludes pagoda_deferred_cancel()
 * @item: Prepared item, owned by the queue afterwards
 *
 * Empties the binary syncobjs that the item signals, and therefore mustn't fail: if the queue was
 * stopped before, the item is added, too, and the worker signals the item's syncobjs with the
 * queue's error. Promises the points that the item signals, arms the item's waits for monitored
 * fences and runs the worker.
 *
 * Context: Takes spinlocks.
 */
void pagoda_deferred_add(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_vidmm *vidmm = queue->vidmm;
	unsigned long flags;

	pagoda_syncs_promise(vidmm, item->syncs);
	pagoda_syncs_arm(item->syncs, queue);
	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	deferred_insert(queue, item);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
	mod_delayed_work(system_dfl_wq, &queue->work, 0);
}

/*
 * Returns true if the worker, when it last looked, found that the next item waits for a point that
 * doesn't exist or a value that wasn't reached, in a run that began after the caller read @before
 * from &pagoda_deferred.runs.
 */
static bool deferred_is_held_up(struct pagoda_deferred *queue, u32 before)
{
	u32 run = READ_ONCE(queue->held_up);

	return run && (s32)(run - before) > 0;
}

/*
 * Waits for the end of a run of the worker that is queued or going on. Doesn't wait if another
 * thread is just queueing the worker.
 */
VISIBLE_IF_KUNIT void pagoda_deferred_flush(struct pagoda_deferred *queue)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_deferred_flush, queue);
	flush_delayed_work(&queue->work);
}

/*
 * Has the items that are in the queue now submitted as soon as the dma_fences that they wait for
 * exist, and monitored fences have reached the values that they wait for: without waiting until the
 * dma_fences signal or &pagoda_deferred_ops.ready returns true. Caller holds the queue's lock.
 */
static void deferred_hurry(struct pagoda_deferred *queue)
{
	lockdep_assert_held(&queue->lock);
	queue->hurried = queue->count;
	pagoda_deferred_again(queue);
}

/**
 * pagoda_deferred_settle() - Have all items submitted that can be submitted
 * @queue: Queue
 *
 * Items are submitted without waiting for dma_fences to signal or for &pagoda_deferred_ops.ready,
 * but not before the dma_fences exist and values of monitored fences are reached.
 *
 * Context: Sleeps, outside of locks and sections; waits for a rebuild, for a sleep of the machine,
 * and while the client has too much paging in flight.
 * Return: 0 if the queue is empty; -EBUSY if the first item waits for a point that doesn't exist or
 * a value that wasn't reached; or -ERESTARTSYS.
 */
int pagoda_deferred_settle(struct pagoda_deferred *queue)
{
	u32 before;

	/*
	 * The read of @runs comes after what the caller signalled: a run that @before doesn't
	 * count sees the signals. This barrier pairs with that in deferred_run().
	 */
	smp_mb();
	before = READ_ONCE(queue->runs);
	spin_lock_irq(&queue->lock);
	deferred_hurry(queue);
	spin_unlock_irq(&queue->lock);
	do {
		pagoda_deferred_flush(queue);
		if (pagoda_deferred_is_empty(queue))
			return 0;
		if (deferred_is_held_up(queue, before))
			return -EBUSY;
	} while (!schedule_timeout_interruptible(1));
	return -ERESTARTSYS;
}

/**
 * pagoda_deferred_wait_room() - Wait until a queue has fewer than @most items
 * @queue: Queue
 * @most: Number of items
 *
 * Context: Sleeps, outside of sections.
 * Return: 0 or -ERESTARTSYS.
 */
int pagoda_deferred_wait_room(struct pagoda_deferred *queue, u32 most)
{
	return wait_event_interruptible(queue->room, READ_ONCE(queue->count) < most);
}

/**
 * pagoda_deferred_stop() - End all items of a queue with an error
 * @queue: Queue
 * @error: Negative errno for items that are in the queue or added later; only the first call for a
 *	queue sets the error
 *
 * An item that is being submitted may still succeed. Doesn't wait until the items have ended:
 * &pagoda_deferred_ops.make may call this function.
 *
 * Context: Any, the dma_fence signalling path included.
 */
void pagoda_deferred_stop(struct pagoda_deferred *queue, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->error)
		queue->error = error;
	/* Queue no work for an empty queue: after pagoda_deferred_cancel() it may be freed. */
	if (queue->count)
		mod_delayed_work(system_dfl_wq, &queue->work, 0);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * pagoda_deferred_cancel() - Stop a queue and wait until the worker has ended all items
 * @queue: Queue
 * @error: Negative errno, as for pagoda_deferred_stop()
 *
 * Waits also for an item that is being submitted.
 *
 * Context: Sleeps, outside of sections. The caller holds no lock that &pagoda_deferred_ops.make
 * takes.
 */
void pagoda_deferred_cancel(struct pagoda_deferred *queue, int error)
{
	pagoda_deferred_stop(queue, error);
	/*
	 * A flush may find no run while another thread is queueing the work, and items would be
	 * left to a run after the queue was freed.
	 */
	wait_event(queue->room, pagoda_deferred_is_empty(queue));
	/* Wait for the run that emptied the queue; cancel a run that deferred_callback() queued. */
	cancel_delayed_work_sync(&queue->work);
}
