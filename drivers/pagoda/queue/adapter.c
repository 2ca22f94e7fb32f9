// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device, as the paging queue sees them.
 *
 *	escalate    the queue couldn't be reset, or a reset was requested: the owner
 *	            resets the device, and all requests that the device was given count
 *	            as executed (C193)
 *	closed      jobs that were in flight, and jobs pushed from now on, are given up
 *	            in order: the content of the device's memory is unknown
 *	restart     called by the owner once the device's memory is rebuilt
 *	dead        the device can't be reset: the CPU executes everything
 *
 * All resets run in recover_wq, like all recovery. The reset and the completion of the fences given
 * up are in the dma_fence signalling path and wait for no thread that allocates; the owner's
 * rebuild isn't in that path.
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
	/*
	 * Collect the requests that the reset returned; requests executed before the reset count.
	 */
	if (!ret && queue->mode == PAGODA_QUEUE_DEVICE)
		queue->args.transport->ops->poll(queue->args.transport);
	return ret;
}

/* Stops the device's queue, which may still work although the device can't be reset. */
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

/* The queue is closed before the reset begins; restarts are refused until the reset is over. */
static int pagoda_queue_reset_whole(struct pagoda_queue *queue, bool broken)
{
	bool was_closed;
	u32 asked;
	int ret;

	spin_lock_irq(&queue->lock);
	was_closed = queue->closed;
	queue->closed = true;
	/* This reset answers all requests up to now and gets the reasons of all of them. */
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

/*
 * Resets the whole device after a reset of the queue failed. Returns 0, or an error, after which
 * the CPU executes everything. Runs in recover_wq with the queue held; the caller retires, runs the
 * CPU's jobs and resumes.
 */
int pagoda_queue_escalate(struct pagoda_queue *queue)
{
	return pagoda_queue_reset_whole(queue, true);
}

/* Resets the whole device if a reset was requested. Returns whether one was. Runs in recover_wq. */
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
 * pagoda_queue_reset_adapter() - Reset the whole device
 * @queue: The queue; its owner has a reset_adapter()
 * @reasons: Bits that the owner is told, not 0
 *
 * Returns when all jobs that were in flight are given up. Concurrent requests get a single reset,
 * with the reasons of all of them.
 *
 * Context: may sleep for some seconds, but doesn't allocate: may be called in the dma_fence
 * signalling path. Not to be called from an operation of the queue.
 * Return: 0, or the error of the reset, after which the CPU executes everything.
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
 * pagoda_queue_is_closed() - Check whether pushed jobs are given up
 * @queue: The queue
 *
 * Context: any; a closed queue stays closed as long as the lock is held that pagoda_queue_restart()
 * requires. A reset of the device closes the queue without that lock.
 * Return: True if the device was reset and its memory isn't rebuilt yet.
 */
bool pagoda_queue_is_closed(struct pagoda_queue *queue)
{
	return READ_ONCE(queue->closed);
}

/**
 * pagoda_queue_restart() - Give the device work again after its memory was rebuilt
 * @queue: The queue
 *
 * Jobs that were pushed before are given up even if that hasn't happened yet. The next job armed is
 * the first one that the device executes, with the number that follows the last one given to the
 * device.
 *
 * Context: doesn't sleep. The lock that orders arm and push is held, and all armed jobs are pushed.
 * Return: False if another reset of the device is in progress.
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
