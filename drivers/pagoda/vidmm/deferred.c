// SPDX-License-Identifier: GPL-2.0
/*
 * Work that can't be made yet, see include/pagoda/sync.h.
 *
 * A syncobj doesn't tell the kernel when somebody gives it a point. What our own ioctls
 * do is noticed (pagoda_deferred_kick()); for points that come from elsewhere the
 * worker looks again and again, less and less often.
 */
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <pagoda/compat.h>
#include <pagoda/sync.h>
#include "dmem.h"
#include "vidmm.h"

/* Least and most time between two looks. */
#define PATIENCE_MIN	1
#define PATIENCE_MAX	(HZ / 20 ?: 1)

/* Flag of the fence of work that could not be made: the work was paging. */
#define DEFERRED_IS_PAGING	DMA_FENCE_FLAG_USER_BITS

/**
 * pagoda_deferred_prepare() - Get what an item can need
 * @item: Item; says what it is
 * @syncs: What it waits for and signals
 *
 * User space may keep the fence of an item that failed for longer than this module is there:
 * its operations are the DMA-buf core's.
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
		set_bit(DEFERRED_IS_PAGING, &item->failure->flags);
	item->syncs = syncs;
	return 0;
}

/**
 * pagoda_deferred_is_failed_paging() - Does a fence say that paging could not be made?
 * @fence: Fence, or a point of a timeline
 *
 * Context: Any.
 * Return: Whether it does.
 */
bool pagoda_deferred_is_failed_paging(struct dma_fence *fence)
{
	struct dma_fence *stub = dma_fence_get_stub();
	bool is_stub;

	fence = dma_fence_chain_contained(fence);
	/* The flag means something else in the fences of others. */
	is_stub = fence->ops == stub->ops;
	dma_fence_put(stub);
	return is_stub && fence->error && test_bit(DEFERRED_IS_PAGING, &fence->flags);
}

/* The item isn't in the list any more. */
static void deferred_end(struct pagoda_deferred *queue, struct pagoda_deferred_item *item,
			 int error)
{
	if (error) {
		/* The fence is born signalled, and isn't published before this. */
		item->failure->error = error;
		pagoda_syncs_signal(item->syncs, item->failure);
		pagoda_deferred_kick(queue->vidmm);
	}
	dma_fence_put(item->failure);
	queue->ops->put(queue, item);
	wake_up_all(&queue->room);
}

static void deferred_callback(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct pagoda_deferred *queue = container_of(callback, struct pagoda_deferred, callback);

	mod_delayed_work(system_dfl_wq, &queue->work, 0);
}

/* The worker's: the next item doesn't wait for a fence any more. */
static void deferred_drop_fence(struct pagoda_deferred *queue)
{
	if (!queue->fence)
		return;
	dma_fence_remove_callback(queue->fence, &queue->callback);
	dma_fence_put(queue->fence);
	queue->fence = NULL;
}

/* Has all signalled that is waited for? If not, one that hasn't will call. */
static bool deferred_is_done(struct pagoda_deferred *queue, const struct pagoda_syncs *syncs)
{
	struct dma_fence *fence;
	u32 index = 0;

	if (!queue->until_done)
		return true;
	while ((fence = pagoda_syncs_next(syncs, &index))) {
		if (dma_fence_add_callback(fence, &queue->callback, deferred_callback))
			continue;
		queue->fence = dma_fence_get(fence);
		return false;
	}
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

/* The queue is told of news as long as there is something in it. */
static void deferred_remove(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_vidmm *vidmm = queue->vidmm;
	unsigned long flags;

	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	spin_lock(&queue->lock);
	list_del(&item->entry);
	if (!--queue->count)
		list_del_init(&queue->entry);
	spin_unlock(&queue->lock);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
}

/* False if the device is about to be rebuilt, or the owner says so: later. */
static bool deferred_try(struct pagoda_deferred *queue, struct pagoda_deferred_item *item,
			 int *error)
{
	struct pagoda_gate gate;
	int idx;

	*error = -ENODEV;
	if (!drm_dev_enter(queue->vidmm->drm, &idx))
		return true;
	if (!pagoda_gate_try(queue->vidmm, &gate)) {
		*error = 0;
		drm_dev_exit(idx);
		return false;
	}
	*error = queue->ops->make(queue, item);
	pagoda_gate_leave(queue->vidmm, &gate);
	drm_dev_exit(idx);
	if (*error != -EAGAIN)
		return true;
	*error = 0;
	return false;
}

/**
 * struct deferred_turn - One item, made where the owner's cgroup is charged
 * @queue: Its queue
 * @item: Item
 * @error: Out: 0 or a negative errno
 * @done: Out: false = later
 */
struct deferred_turn {
	struct pagoda_deferred *queue;
	struct pagoda_deferred_item *item;
	int error;
	bool done;
};

static void deferred_turn(void *arg)
{
	struct deferred_turn *turn = arg;

	turn->done = deferred_try(turn->queue, turn->item, &turn->error);
}

static bool deferred_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item,
			  int *error)
{
	struct deferred_turn turn = { .queue = queue, .item = item };

	pagoda_payer_run(queue->payer, deferred_turn, &turn);
	*error = turn.error;
	return turn.done;
}

/* Whether the worker shall look again by itself. */
static bool deferred_run(struct pagoda_deferred *queue)
{
	struct pagoda_deferred_item *item;
	bool there;
	int error;

	WRITE_ONCE(queue->runs, queue->runs + 1);
	/* Before the look. Pairs with pagoda_deferred_settle(). */
	smp_mb();
	deferred_drop_fence(queue);
	while ((item = deferred_first(queue, &error))) {
		if (!error && !drm_dev_is_unplugged(queue->vidmm->drm)) {
			there = pagoda_syncs_look(item->syncs);
			WRITE_ONCE(queue->held_up, there ? 0 : queue->runs);
			if (!there)
				return true;
			if (!deferred_is_done(queue, item->syncs))
				return false;
		}
		if (!error && !deferred_make(queue, item, &error))
			return true;
		deferred_remove(queue, item);
		deferred_end(queue, item, error);
		queue->patience = PATIENCE_MIN;
	}
	return false;
}

static void deferred_work(struct work_struct *work)
{
	struct pagoda_deferred *queue = container_of(to_delayed_work(work),
						     struct pagoda_deferred, work);

	if (!deferred_run(queue))
		return;
	queue_delayed_work(system_dfl_wq, &queue->work, queue->patience);
	queue->patience = min_t(unsigned long, 2 * queue->patience, PATIENCE_MAX);
}

/**
 * pagoda_deferred_init() - Set up a queue
 * @queue: Queue; pagoda_deferred_cancel() it
 * @vidmm: Manager
 * @payer: The client's, which outlives the queue
 * @ops: Owner's calls
 * @until_done: Fences must have signalled before an item is made
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
	init_waitqueue_head(&queue->room);
}

/**
 * pagoda_deferred_is_empty() - Can work be made at once?
 * @queue: Queue; the caller keeps others from adding to it
 *
 * Context: Takes a spinlock.
 * Return: Whether nothing waits that came before.
 */
bool pagoda_deferred_is_empty(struct pagoda_deferred *queue)
{
	return !READ_ONCE(queue->count);
}

/* One that is just being made may find itself behind others. */
static void deferred_insert(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_deferred_item *before;

	list_for_each_entry_reverse(before, &queue->items, entry)
		if (before->priority >= item->priority)
			break;
	list_add(&item->entry, &before->entry);
}

/**
 * pagoda_deferred_add() - Put an item behind those that wait, of its priority or a higher one
 * @queue: Queue; the caller keeps pagoda_deferred_cancel() out
 * @item: Item, prepared; the queue's
 *
 * Can't fail, because the binary syncobjs that the item signals are emptied here: the item of a
 * queue that was stopped meanwhile ends with the queue's error, and its syncobjs say so.
 *
 * Context: Takes spinlocks.
 */
void pagoda_deferred_add(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_vidmm *vidmm = queue->vidmm;
	unsigned long flags;

	pagoda_syncs_promise(item->syncs);
	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	spin_lock(&queue->lock);
	deferred_insert(queue, item);
	if (!queue->count++)
		list_add_tail(&queue->entry, &vidmm->deferred);
	spin_unlock(&queue->lock);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
	mod_delayed_work(system_dfl_wq, &queue->work, 0);
}

/*
 * Did a run that began after @before of them find so? A flush alone doesn't say it: it may find
 * nothing while another thread is queueing the work anew.
 */
static bool deferred_is_held_up(struct pagoda_deferred *queue, u32 before)
{
	u32 run = READ_ONCE(queue->held_up);

	return run && (s32)(run - before) > 0;
}

/**
 * pagoda_deferred_settle() - Have all made that can be
 * @queue: Queue
 *
 * Afterwards it is empty, or its first item waits for what isn't there.
 *
 * Context: Sleeps, outside of all locks; a rebuild and a sleep of the machine are waited for.
 * Return: 0 or -ERESTARTSYS.
 */
int pagoda_deferred_settle(struct pagoda_deferred *queue)
{
	struct pagoda_gate *gate;
	u32 before;

	/* Behind what the caller signalled: only a run that begins now has to have seen that. */
	smp_mb();
	before = READ_ONCE(queue->runs);
	do {
		gate = pagoda_gate_pause(queue->vidmm);
		flush_delayed_work(&queue->work);
		pagoda_gate_resume(queue->vidmm, gate);
		if (pagoda_deferred_is_empty(queue) || deferred_is_held_up(queue, before))
			return 0;
	} while (!schedule_timeout_interruptible(1));
	return -ERESTARTSYS;
}

/**
 * pagoda_deferred_wait_room() - Wait until fewer items wait
 * @queue: Queue
 * @most: Items that may wait
 *
 * Context: Sleeps.
 * Return: 0 or -ERESTARTSYS.
 */
int pagoda_deferred_wait_room(struct pagoda_deferred *queue, u32 most)
{
	struct pagoda_gate *gate;
	int ret;

	if (READ_ONCE(queue->count) < most)
		return 0;
	gate = pagoda_gate_pause(queue->vidmm);
	ret = wait_event_interruptible(queue->room, READ_ONCE(queue->count) < most);
	pagoda_gate_resume(queue->vidmm, gate);
	return ret;
}

/**
 * pagoda_deferred_stop() - Nothing of a queue shall be made any more
 * @queue: Queue
 * @error: What items that wait or are added get; a negative errno
 *
 * Waits for nothing: &pagoda_deferred_ops.make may call it.
 *
 * Context: Any, the way to signalling a fence included.
 */
void pagoda_deferred_stop(struct pagoda_deferred *queue, int error)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->lock, flags);
	if (!queue->error)
		queue->error = error;
	/* After pagoda_deferred_cancel() the queue may be freed: it has no items then. */
	if (queue->count)
		mod_delayed_work(system_dfl_wq, &queue->work, 0);
	spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * pagoda_deferred_cancel() - pagoda_deferred_stop(), and wait until nothing is left
 * @queue: Queue
 * @error: The same
 *
 * An item that is just being made is waited for.
 *
 * Context: Sleeps. The caller holds nothing that &pagoda_deferred_ops.make takes.
 */
void pagoda_deferred_cancel(struct pagoda_deferred *queue, int error)
{
	pagoda_deferred_stop(queue, error);
	flush_delayed_work(&queue->work);
	/* A fence that signalled meanwhile may have started it once more. */
	cancel_delayed_work_sync(&queue->work);
}

/**
 * pagoda_deferred_kick() - Something may be there that wasn't
 * @vidmm: Manager
 *
 * Context: Any.
 */
void pagoda_deferred_kick(struct pagoda_vidmm *vidmm)
{
	struct pagoda_deferred *queue;
	unsigned long flags;

	if (list_empty_careful(&vidmm->deferred))
		return;
	spin_lock_irqsave(&vidmm->deferred_lock, flags);
	list_for_each_entry(queue, &vidmm->deferred, entry)
		mod_delayed_work(system_dfl_wq, &queue->work, 0);
	spin_unlock_irqrestore(&vidmm->deferred_lock, flags);
}
