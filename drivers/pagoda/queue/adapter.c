// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device, as the paging queue sees them.
 *
 *	escalate    the queue couldn't be reset, or somebody asks: the owner resets the
 *	            device, which counts all it was given as executed (C193)
 *	closed      what was in flight, and what is pushed from now on, is given up in
 *	            order: the device's memory isn't what anybody thinks it is
 *	restart     the owner's, once it can build on the device again
 *	dead        the device can't be reset: the CPU executes everything
 *
 * Whoever asks, it happens in recover_wq, like all recovery. The way there and the
 * fences given up there wait for nobody who allocates; the rebuild isn't on it.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>

#include "internal.h"

static int pagoda_queue_reset_device(struct pagoda_queue *queue, u32 asked, bool broken)
{
	const struct pagoda_queue_ops *ops = queue->args.ops;
	int ret;

	if (!ops->reset_adapter)
		return -EOPNOTSUPP;
	ret = ops->reset_adapter(queue->args.owner, asked, broken);
	/* What it gave back; nothing that was executed before the reset is lost. */
	if (!ret && queue->mode == PAGODA_QUEUE_DEVICE)
		queue->args.transport->ops->poll(queue->args.transport);
	return ret;
}

/* The queue may work although the device can't be reset: it mustn't go on. */
static void pagoda_queue_quiet(struct pagoda_queue *queue)
{
	struct pagoda_transport *transport = queue->args.transport;
	struct pagoda_reset_result result;

	if (queue->mode == PAGODA_QUEUE_DEVICE)
		transport->ops->reset(transport, &result);
}

static void pagoda_queue_adapter_done(struct pagoda_queue *queue, int ret)
{
	lockdep_assert_held(&queue->lock);
	queue->adapter_busy = false;
	queue->adapter_result = ret;
	queue->adapter_tries++;
	wake_up_all(&queue->adapter_done);
}

/* Closed before anybody can know of the reset, and nobody opens it until it is over. */
static int pagoda_queue_reset_whole(struct pagoda_queue *queue, bool broken)
{
	bool was_closed;
	u32 asked;
	int ret;

	spin_lock_irq(&queue->lock);
	was_closed = queue->closed;
	queue->closed = true;
	/* All requests up to now are answered by this reset, which has all their reasons. */
	asked = queue->adapter_wanted;
	queue->adapter_wanted = 0;
	queue->adapter_busy = true;
	ret = queue->mode == PAGODA_QUEUE_DEAD ? -ENODEV : 0;
	spin_unlock_irq(&queue->lock);
	if (!ret)
		ret = pagoda_queue_reset_device(queue, asked, broken);
	if (ret && !broken)
		pagoda_queue_quiet(queue);
	spin_lock_irq(&queue->lock);
	queue->need_reset = false;
	pagoda_queue_take_back(queue);
	if (ret)
		queue->closed = was_closed;
	if (ret && queue->mode == PAGODA_QUEUE_DEVICE)
		queue->mode = PAGODA_QUEUE_DEAD;
	pagoda_queue_adapter_done(queue, ret);
	spin_unlock_irq(&queue->lock);
	if (ret)
		dev_err(queue->args.dev, "the device can't be reset (%d), the CPU takes over\n",
			ret);
	return ret;
}

/**
 * pagoda_queue_escalate() - The queue couldn't be reset: reset the device
 * @queue: The queue, held; the caller retires, runs what is the CPU's and resumes
 *
 * Context: recover_wq.
 * Return: 0, or an error and the CPU executes everything.
 */
int pagoda_queue_escalate(struct pagoda_queue *queue)
{
	return pagoda_queue_reset_whole(queue, true);
}

/**
 * pagoda_queue_answer_asked() - Reset the device if somebody asked for it
 * @queue: The queue
 *
 * Context: recover_wq.
 * Return: Whether somebody had.
 */
bool pagoda_queue_answer_asked(struct pagoda_queue *queue)
{
	if (!READ_ONCE(queue->adapter_wanted))
		return false;
	pagoda_queue_hold(queue, false);
	pagoda_queue_reset_whole(queue, false);
	pagoda_queue_retire(queue);
	pagoda_queue_run_cpu(queue);
	pagoda_queue_resume(queue);
	return true;
}

/**
 * pagoda_queue_reset_adapter() - Have the whole device reset
 * @queue: The queue; its owner has a reset_adapter()
 * @reasons: Bits that the owner is told, not 0
 *
 * Returns when all that was in flight is given up. Requests that meet get one reset, with the
 * reasons of all of them.
 *
 * Context: may sleep for some seconds, but doesn't allocate: may be on the way to a
 * fence. Not in a call of the queue.
 * Return: 0, or what became of the reset; then the CPU executes everything.
 */
int pagoda_queue_reset_adapter(struct pagoda_queue *queue, u32 reasons)
{
	u32 want;
	int ret;

	spin_lock_irq(&queue->lock);
	want = queue->adapter_tries + 1 + queue->adapter_busy;
	queue->adapter_wanted |= reasons;
	spin_unlock_irq(&queue->lock);
	queue_work(queue->recover_wq, &queue->work);
	wait_event(queue->adapter_done, (s32)(READ_ONCE(queue->adapter_tries) - want) >= 0);
	spin_lock_irq(&queue->lock);
	ret = queue->adapter_result;
	spin_unlock_irq(&queue->lock);
	return ret;
}

/**
 * pagoda_queue_is_closed() - Is all given up that is pushed?
 * @queue: The queue
 *
 * Context: any; the answer stays as long as the lock is held that pagoda_queue_restart()
 * wants, but for a reset of the device.
 * Return: Whether it is, because the device was reset and isn't built anew.
 */
bool pagoda_queue_is_closed(struct pagoda_queue *queue)
{
	return READ_ONCE(queue->closed);
}

/**
 * pagoda_queue_restart() - The device can be given work again
 * @queue: The queue
 *
 * What was pushed before is given up if it isn't yet. What is armed next is the first that
 * the device executes, with the number behind the last it was given.
 *
 * Context: doesn't sleep. The lock that orders arm and push is held, all that is armed is
 * pushed.
 * Return: False if the device is just being reset once more.
 */
bool pagoda_queue_restart(struct pagoda_queue *queue)
{
	bool busy;

	spin_lock_irq(&queue->lock);
	busy = queue->adapter_busy;
	if (queue->closed && !busy) {
		queue->doomed_seqno = queue->next_seqno;
		queue->closed = false;
	}
	spin_unlock_irq(&queue->lock);
	return !busy;
}
