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
 *	escalate    the reset failed: the whole device is reset and forgets all (adapter.c)
 *	dead        not even that works: everything goes to the CPU
 *	lost        the CPU can't either: the owner marks the content lost, and where
 *	            the device's tables would be wrong without it, escalate
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

/**
 * pagoda_queue_hold() - Submit nothing from now on (C23)
 * @queue: The queue
 * @polling: Completions that are found were missed
 *
 * Context: recover_wq.
 * Return: The completions polled so far.
 */
u64 pagoda_queue_hold(struct pagoda_queue *queue, bool polling)
{
	u64 polled;

	spin_lock_irq(&queue->lock);
	queue->held = true;
	queue->polling = polling;
	polled = queue->stats.polled;
	spin_unlock_irq(&queue->lock);
	return polled;
}

/**
 * pagoda_queue_resume() - Let new work through, after all that waits
 * @queue: The queue, held
 *
 * Context: recover_wq.
 */
void pagoda_queue_resume(struct pagoda_queue *queue)
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

/**
 * pagoda_queue_take_back() - Believe no answer any more for what the device has
 * @queue: The queue
 *
 * What the transport still has keeps its memory; answers that come later are ignored.
 *
 * Context: queue->lock held.
 */
void pagoda_queue_take_back(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	lockdep_assert_held(&queue->lock);
	list_for_each_entry(job, &queue->inflight, node)
		if (job->state == PAGODA_JOB_SENT)
			job->state = PAGODA_JOB_WAITING;
}

static int pagoda_job_execute(struct pagoda_job *job, bool doomed, u32 *stopped_at)
{
	struct pagoda_queue *queue = job->queue;

	*stopped_at = job->start;
	if (job->refused)
		return -ENODEV;
	if (doomed || !queue->args.ops->execute)
		return -EIO;
	if (queue->args.ops->execute(queue->args.owner, &job->base, job->start, stopped_at))
		return -EIO;
	return 0;
}

/*
 * The CPU has its go at the first job in flight; the last one, if it fails. True if the
 * device mustn't go on then.
 */
static bool pagoda_job_finish(struct pagoda_job *job)
{
	struct pagoda_queue *queue = job->queue;
	bool doomed, fatal = false;
	u32 stopped_at;
	int ret;

	spin_lock_irq(&queue->lock);
	doomed = pagoda_job_is_doomed(job);
	spin_unlock_irq(&queue->lock);
	ret = pagoda_job_execute(job, doomed, &stopped_at);
	if (ret && queue->args.ops->lost)
		fatal = queue->args.ops->lost(queue->args.owner, &job->base,
					      min(stopped_at, job->base.built), ret);
	spin_lock_irq(&queue->lock);
	job->finished = true;
	job->rescue = false;
	job->failures = 0;
	job->start = job->base.built;
	job->error = ret;
	queue->stats.lost += !!ret;
	queue->stats.given_up += ret && doomed;
	queue->stats.rescued += !ret && queue->mode != PAGODA_QUEUE_CPU;
	fatal &= queue->mode == PAGODA_QUEUE_DEVICE && !doomed && !job->refused;
	spin_unlock_irq(&queue->lock);
	return fatal;
}

/* The first job in flight if it is the CPU's. */
static struct pagoda_job *pagoda_queue_cpu_job(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	spin_lock_irq(&queue->lock);
	job = pagoda_job_first(queue);
	if (job && (job->state != PAGODA_JOB_WAITING ||
		    (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused && !job->rescue &&
		     !pagoda_job_is_doomed(job))))
		job = NULL;
	spin_unlock_irq(&queue->lock);
	return job;
}

/* Nothing of it will go to the device, which doesn't know of it, or knows that. */
static void pagoda_job_skip(struct pagoda_job *job)
{
	struct pagoda_queue *queue = job->queue;

	lockdep_assert_held(&queue->lock);
	if (queue->mode != PAGODA_QUEUE_DEVICE || job->refused)
		return;
	queue->skipped += !job->sent_before;
	queue->sent_seqno = job->base.seqno;
	queue->acked_seqno = job->base.seqno;
}

/**
 * pagoda_queue_run_cpu() - Do what is the CPU's, as far as it comes first
 * @queue: The queue; held when it returns, if the device had to be reset
 *
 * Context: recover_wq; the caller resumes.
 */
void pagoda_queue_run_cpu(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	while ((job = pagoda_queue_cpu_job(queue))) {
		if (!job->finished && pagoda_job_finish(job)) {
			pagoda_queue_hold(queue, false);
			pagoda_queue_escalate(queue);
		}
		spin_lock_irq(&queue->lock);
		/* The device still has to count it. */
		if (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused &&
		    !pagoda_job_is_doomed(job)) {
			spin_unlock_irq(&queue->lock);
			return;
		}
		pagoda_job_skip(job);
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
	/* Its numbers are without those that it never got. */
	result.seqno += queue->skipped;
	if (!ret && !pagoda_reset_apply(queue, &result))
		ret = -EIO;
	spin_unlock_irq(&queue->lock);
	if (!ret) {
		dev_warn_ratelimited(queue->args.dev,
				     "paging queue reset, resuming at request %llu, offset %u\n",
				     result.seqno + 1, result.offset);
	} else {
		dev_err_ratelimited(queue->args.dev, "paging queue can't be reset (%d)\n", ret);
		pagoda_queue_escalate(queue);
	}
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

	if (!pagoda_queue_answer_asked(queue) && READ_ONCE(queue->need_reset))
		pagoda_queue_recover(queue);
	pagoda_queue_run_cpu(queue);
	/* What comes behind jobs that were given up. */
	pagoda_queue_resume(queue);
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
