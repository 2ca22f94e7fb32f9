// SPDX-License-Identifier: GPL-2.0
/*
 * What happens when the device refuses, loses or forgets a submission.
 *
 *	watchdog    no sign of life for too long: look for completions whose
 *	            interrupt was lost; if there are none, reset
 *	recover     hold new work back, reset, believe what the device says about
 *	            how far it came if it is possible at all, and go on from there:
 *	            same numbers, same order, before anything newer
 *	rescue      a packet the device fails at for the third time is executed by
 *	            the CPU, with the rest of its buffer
 *	dead        the device doesn't answer: everything goes to the CPU
 *	lost        the CPU can't either: the owner marks the content lost
 *
 * A job that was rescued or lost is still sent, with nothing left to execute: the
 * device's numbers stay without gaps and its fence keeps its place.
 *
 * All of it runs from recover_wq, one at a time, on the way to fences: it may
 * sleep, but not allocate with reclaim.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>

#include "internal.h"

/* From now on nothing is submitted (C23). Returns the completions polled so far. */
static u64 pagoda_queue_hold(struct pagoda_queue *queue, bool polling)
{
	u64 polled;

	spin_lock_irq(&queue->lock);
	queue->held = true;
	queue->polling = polling;
	polled = queue->stats.polled;
	spin_unlock_irq(&queue->lock);
	return polled;
}

/* Lets new work through, after all that waits. */
static void pagoda_queue_resume(struct pagoda_queue *queue)
{
	bool kick;

	spin_lock_irq(&queue->lock);
	queue->held = false;
	queue->polling = false;
	queue->progress = jiffies;
	kick = pagoda_queue_send(queue);
	spin_unlock_irq(&queue->lock);
	if (kick)
		queue->args.transport->ops->kick(queue->args.transport);
}

/* Counts failures of one packet. */
static void pagoda_job_failed(struct pagoda_job *job, u32 offset)
{
	job->start = max(job->start, offset);
	if (job->failures && job->failed_at == job->start) {
		job->failures++;
	} else {
		job->failures = 1;
		job->failed_at = job->start;
	}
	job->rescue = job->failures > PAGODA_QUEUE_REPLAYS;
}

/*
 * Marks what was executed as done and finds where to go on. False if the answer
 * doesn't fit what was submitted and what was acknowledged before.
 */
static bool pagoda_reset_apply(struct pagoda_queue *queue,
			       const struct pagoda_reset_result *result)
{
	struct pagoda_job *job, *next = NULL;

	lockdep_assert_held(&queue->lock);
	if (result->seqno < queue->acked_seqno || result->seqno > queue->sent_seqno)
		return false;
	list_for_each_entry(job, &queue->inflight, node) {
		if (job->state == PAGODA_JOB_SENT)
			return false;
		if (job->base.seqno == result->seqno + 1 && job->sent_before)
			next = job;
	}
	if (result->offset && (!next || result->offset > next->base.built ||
			       result->offset % VIRTIO_PAGODA_PACKET_ALIGN))
		return false;
	if (next)
		pagoda_job_failed(next, result->offset);
	/* A device that fails at nothing will fail at anything. */
	if (next && next->rescue && next->finished)
		return false;
	list_for_each_entry(job, &queue->inflight, node)
		if (job->base.seqno <= result->seqno)
			job->state = PAGODA_JOB_DONE;
	queue->acked_seqno = result->seqno;
	return true;
}

/*
 * What the transport still has keeps its memory; it is executed again by the CPU
 * and answers that come later are ignored.
 */
static void pagoda_queue_die(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	lockdep_assert_held(&queue->lock);
	queue->mode = PAGODA_QUEUE_DEAD;
	list_for_each_entry(job, &queue->inflight, node)
		if (job->state == PAGODA_JOB_SENT)
			job->state = PAGODA_JOB_WAITING;
}

static int pagoda_job_execute(struct pagoda_job *job, u32 *stopped_at)
{
	struct pagoda_queue *queue = job->queue;

	*stopped_at = job->start;
	if (job->refused)
		return -ENODEV;
	if (!queue->args.ops->execute)
		return -EIO;
	if (queue->args.ops->execute(queue->args.owner, &job->base, job->start, stopped_at))
		return -EIO;
	return 0;
}

/* The CPU has its go at the first job in flight; the last one, if it fails. */
static void pagoda_job_finish(struct pagoda_job *job)
{
	struct pagoda_queue *queue = job->queue;
	u32 stopped_at;
	int ret = pagoda_job_execute(job, &stopped_at);

	if (ret && queue->args.ops->lost)
		queue->args.ops->lost(queue->args.owner, &job->base,
				      min(stopped_at, job->base.built), ret);
	spin_lock_irq(&queue->lock);
	job->finished = true;
	job->rescue = false;
	job->failures = 0;
	job->start = job->base.built;
	job->error = ret;
	queue->stats.lost += !!ret;
	queue->stats.rescued += !ret && queue->mode != PAGODA_QUEUE_CPU;
	spin_unlock_irq(&queue->lock);
}

/* The first job in flight if it is the CPU's. */
static struct pagoda_job *pagoda_queue_cpu_job(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	spin_lock_irq(&queue->lock);
	job = pagoda_job_first(queue);
	if (job && (job->state != PAGODA_JOB_WAITING ||
		    (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused && !job->rescue)))
		job = NULL;
	spin_unlock_irq(&queue->lock);
	return job;
}

static void pagoda_queue_run_cpu(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	while ((job = pagoda_queue_cpu_job(queue))) {
		if (!job->finished)
			pagoda_job_finish(job);
		spin_lock_irq(&queue->lock);
		/* The device still has to count it. */
		if (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused) {
			spin_unlock_irq(&queue->lock);
			return;
		}
		job->state = PAGODA_JOB_DONE;
		spin_unlock_irq(&queue->lock);
		pagoda_queue_retire(queue);
	}
}

static void pagoda_queue_recover(struct pagoda_queue *queue)
{
	struct pagoda_transport *transport = queue->args.transport;
	struct pagoda_reset_result result = {};
	int ret;

	pagoda_queue_hold(queue, false);
	ret = transport->ops->reset(transport, &result);
	spin_lock_irq(&queue->lock);
	queue->stats.resets++;
	queue->need_reset = false;
	if (!ret && !pagoda_reset_apply(queue, &result))
		ret = -EIO;
	if (ret)
		pagoda_queue_die(queue);
	spin_unlock_irq(&queue->lock);
	if (ret)
		dev_err(queue->args.dev,
			"paging queue can't be reset (%d), the CPU takes over\n", ret);
	else
		dev_warn_ratelimited(queue->args.dev,
				     "paging queue reset, resuming at request %llu, offset %u\n",
				     result.seqno + 1, result.offset);
	pagoda_queue_retire(queue);
	pagoda_queue_run_cpu(queue);
	pagoda_queue_resume(queue);
}

/**
 * pagoda_queue_work() - Recover if the device needs it, run what is the CPU's
 * @work: pagoda_queue.work
 *
 * Context: recover_wq.
 */
void pagoda_queue_work(struct work_struct *work)
{
	struct pagoda_queue *queue = container_of(work, struct pagoda_queue, work);
	bool cookie = dma_fence_begin_signalling();

	if (READ_ONCE(queue->need_reset))
		pagoda_queue_recover(queue);
	pagoda_queue_run_cpu(queue);
	dma_fence_end_signalling(cookie);
}

/* True if the device has something, and was silent for the whole timeout. */
static bool pagoda_queue_overdue(struct pagoda_queue *queue)
{
	unsigned long timeout = msecs_to_jiffies(queue->args.timeout_ms);
	unsigned long due, now = jiffies;
	struct pagoda_job *job;
	bool sent = false;

	spin_lock_irq(&queue->lock);
	list_for_each_entry(job, &queue->inflight, node)
		sent |= job->state == PAGODA_JOB_SENT;
	due = queue->progress + timeout;
	spin_unlock_irq(&queue->lock);
	if (sent && time_before(now, due))
		queue_delayed_work(queue->recover_wq, &queue->watchdog, due - now);
	return sent && !time_before(now, due);
}

/* True if completions were there although no interrupt told. */
static bool pagoda_queue_poll(struct pagoda_queue *queue)
{
	struct pagoda_transport *transport = queue->args.transport;
	u64 before = pagoda_queue_hold(queue, true);
	bool found;

	transport->ops->poll(transport);
	spin_lock_irq(&queue->lock);
	found = queue->stats.polled != before && !queue->need_reset;
	spin_unlock_irq(&queue->lock);
	return found;
}

/**
 * pagoda_queue_watchdog() - Look whether the device is still alive
 * @work: pagoda_queue.watchdog
 *
 * Context: recover_wq.
 */
void pagoda_queue_watchdog(struct work_struct *work)
{
	struct pagoda_queue *queue = container_of(work, struct pagoda_queue, watchdog.work);
	bool cookie = dma_fence_begin_signalling();

	if (!pagoda_queue_overdue(queue))
		goto out;
	if (pagoda_queue_poll(queue)) {
		pagoda_queue_resume(queue);
		/* The rest may be on its way: give it the whole time again. */
		pagoda_queue_overdue(queue);
	} else {
		pagoda_queue_recover(queue);
	}
out:
	dma_fence_end_signalling(cookie);
}
