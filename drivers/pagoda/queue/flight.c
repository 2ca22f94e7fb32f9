// SPDX-License-Identifier: GPL-2.0
/*
 * Submissions in flight: from run_job to the signalled fence.
 *
 * queue->inflight holds the jobs by sequence number. Answers may come in any order, from interrupts
 * and from the watchdog at once; fences signal strictly in order, under signal_lock. Nothing here
 * sleeps or allocates.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/timekeeping.h>
#include "core/trace.h"
#include "internal.h"

static const char *queue_name(struct pagoda_queue *queue)
{
	return dev_name(queue->args.dev);
}

/*
 * Measurement of the jobs that were found finished at once: their number, when the first of them
 * began or the job before it was finished, the bytes of content they moved, and whether any of them
 * failed, which makes the measurement useless.
 */
struct flight_measure {
	u32 count;
	u64 begun_ns;
	u64 bytes;
	bool failed;
};

static void flight_add(struct flight_measure *measure, const struct pagoda_job *job)
{
	if (!measure->count++)
		measure->begun_ns = max(job->begun_ns, job->queue->retired_ns);
	measure->bytes += job->base.moved;
	measure->failed |= job->error || job->failures;
}

static void flight_look(struct pagoda_queue *queue, struct flight_measure *measure)
{
	struct pagoda_job *job;

	spin_lock(&queue->lock);
	list_for_each_entry(job, &queue->inflight, node) {
		if (job->state != PAGODA_JOB_DONE)
			break;
		flight_add(measure, job);
	}
	/* Refused jobs wait until the device has finished the jobs before them. */
	job = pagoda_job_first(queue);
	if (job && !measure->count && job->refused)
		queue_work(queue->recover_wq, &queue->work);
	spin_unlock(&queue->lock);
}

/*
 * Returns the number of finished jobs and reports their time to the owner. Called before the fences
 * signal: the owner may be freed afterwards.
 */
static u32 flight_measure(struct pagoda_queue *queue)
{
	const struct pagoda_queue_args *args = &queue->args;
	struct flight_measure measure = {};
	u64 now;

	lockdep_assert_held(&queue->signal_lock);
	flight_look(queue, &measure);
	if (!measure.count)
		return 0;
	now = ktime_get_ns();
	queue->retired_ns = now;
	if (measure.bytes && !measure.failed && args->ops->measured)
		args->ops->measured(args->owner, measure.bytes, now - measure.begun_ns);
	return measure.count;
}

/* Removes the first job in flight, which is finished, and returns it. */
static struct pagoda_job *flight_pop(struct pagoda_queue *queue)
{
	struct pagoda_job *job;

	spin_lock(&queue->lock);
	job = pagoda_job_first(queue);
	list_del_init(&job->node);
	queue->retired_seqno = job->base.seqno;
	spin_unlock(&queue->lock);
	return job;
}

/* A job belongs to the scheduler again as soon as its fence is signalled. */
static void flight_signal(struct pagoda_queue *queue, struct pagoda_job *job)
{
	struct dma_fence *hw = job->hw;

	job->hw = NULL;
	trace_pagoda_complete(queue_name(queue), job->base.seqno, job->error);
	if (job->error)
		dma_fence_set_error(hw, job->error);
	dma_fence_signal(hw);
	dma_fence_put(hw);
}

/* Signals the fences of all finished jobs in order. Caller holds no lock of the queue. */
void pagoda_queue_retire(struct pagoda_queue *queue)
{
	unsigned long flags;
	u32 count;

	spin_lock_irqsave(&queue->signal_lock, flags);
	while ((count = flight_measure(queue)))
		while (count--)
			flight_signal(queue, flight_pop(queue));
	spin_unlock_irqrestore(&queue->signal_lock, flags);
}

static void job_fault(struct pagoda_job *job, const struct pagoda_fault *fault)
{
	struct pagoda_queue *queue = job->queue;

	trace_pagoda_fault(queue_name(queue), job->base.seqno, fault->reason, fault->opcode,
			   fault->offset, fault->address);
	dev_err_ratelimited(queue->args.dev,
			    "paging request %llu refused: reason %u, opcode %u, offset %u, address 0x%llx\n",
			    job->base.seqno, fault->reason, fault->opcode, fault->offset,
			    fault->address);
}

/*
 * Notes the device's answer to a job. Returns true if the queue needs a reset. An answer that comes
 * after the job was taken back is ignored.
 */
static bool job_answer(struct pagoda_job *job, enum pagoda_outcome outcome,
		       const struct pagoda_fault *fault)
{
	struct pagoda_queue *queue = job->queue;

	lockdep_assert_held(&queue->lock);
	if (job->state != PAGODA_JOB_SENT)
		return false;
	queue->progress = jiffies;
	if (outcome == PAGODA_OUTCOME_OK) {
		job->state = PAGODA_JOB_DONE;
		queue->acked_seqno = max(queue->acked_seqno, job->base.seqno);
		queue->stats.polled += queue->polling;
		return false;
	}
	job->state = PAGODA_JOB_WAITING;
	if (outcome == PAGODA_OUTCOME_FAULT)
		job_fault(job, fault);
	else if (outcome == PAGODA_OUTCOME_BAD_ANSWER)
		dev_err_ratelimited(queue->args.dev, "paging request %llu: bad answer\n",
				    job->base.seqno);
	else if (queue->held && !queue->polling)
		return false;		/* the reset returned the request */
	queue->need_reset = true;
	return true;
}

/* Called by the transport once per request, from interrupt context. */
static void request_complete(struct pagoda_request *request, enum pagoda_outcome outcome,
			     const struct pagoda_fault *fault)
{
	struct pagoda_job *job = container_of(request, struct pagoda_job, request);
	struct pagoda_queue *queue = job->queue;
	bool cookie = dma_fence_begin_signalling();
	unsigned long flags;
	bool reset;

	spin_lock_irqsave(&queue->lock, flags);
	reset = job_answer(job, outcome, fault);
	spin_unlock_irqrestore(&queue->lock, flags);
	/* Before the fence signals: the history takes only jobs without another reference. */
	pagoda_job_put(job);
	pagoda_queue_retire(queue);
	if (reset)
		queue_work(queue->recover_wq, &queue->work);
	dma_fence_end_signalling(cookie);
	kref_put(&queue->kref, pagoda_queue_release);
}

static int job_send(struct pagoda_job *job)
{
	struct pagoda_queue *queue = job->queue;
	struct pagoda_transport *transport = queue->args.transport;
	struct pagoda_request *request = &job->request;
	int ret;

	lockdep_assert_held(&queue->lock);
	request->seqno = job->base.seqno - queue->skipped;
	request->data = job->base.data;
	request->size = job->base.built;
	request->start = job->start;
	request->context = 0;
	request->complete = request_complete;
	refcount_inc(&job->refs);
	kref_get(&queue->kref);
	ret = transport->ops->submit(transport, request);
	if (ret) {
		refcount_dec(&job->refs);
		kref_put(&queue->kref, pagoda_queue_release);
		return ret;
	}
	trace_pagoda_submit(queue_name(queue), request->seqno, request->size, request->start,
			    job->base.operations);
	job->state = PAGODA_JOB_SENT;
	queue->stats.replayed += job->sent_before && !job->finished;
	job->sent_before = true;
	queue->sent_seqno = max(queue->sent_seqno, job->base.seqno);
	if (job == pagoda_job_first(queue))
		queue->progress = jiffies;
	queue_delayed_work(queue->recover_wq, &queue->watchdog,
			   msecs_to_jiffies(queue->args.timeout_ms));
	return 0;
}

/* Returns the first waiting job, or NULL; waiting jobs are the last ones in flight. */
static struct pagoda_job *flight_waiting(struct pagoda_queue *queue)
{
	struct pagoda_job *job, *first = NULL;

	list_for_each_entry_reverse(job, &queue->inflight, node) {
		if (job->state != PAGODA_JOB_WAITING)
			break;
		first = job;
	}
	return first;
}

/*
 * Sends all waiting jobs in order, unless the queue is held or needs a reset (C23). A job that
 * can't be sent causes a reset. Caller holds queue->lock. Returns true if the caller has to ring
 * the doorbell, without the lock.
 */
bool pagoda_queue_send(struct pagoda_queue *queue)
{
	struct pagoda_job *job;
	bool sent = false;

	lockdep_assert_held(&queue->lock);
	if (queue->mode != PAGODA_QUEUE_DEVICE || queue->held || queue->need_reset)
		return false;
	job = flight_waiting(queue);
	/* Doomed jobs come first, and are given up before others are sent. */
	if (!job || pagoda_job_is_doomed(job))
		return false;
	list_for_each_entry_from(job, &queue->inflight, node) {
		if (job->refused)
			break;
		if (job_send(job)) {
			queue->need_reset = true;
			queue_work(queue->recover_wq, &queue->work);
			break;
		}
		sent = true;
	}
	return sent;
}

/*
 * Scheduler's run_job: returns the fence of the device's work, with a reference for the scheduler.
 * Never waits for room: the scheduler has as many credits as the ring has entries. Runs in
 * submit_wq, in the dma_fence signalling path.
 */
struct dma_fence *pagoda_queue_run_job(struct drm_sched_job *sched_job)
{
	struct pagoda_job *job = container_of(sched_job, struct pagoda_job, sched);
	struct pagoda_queue *queue = job->queue;
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *hw = dma_fence_get(job->hw);
	unsigned long flags;
	bool kick;

	spin_lock_irqsave(&queue->lock, flags);
	job->begun_ns = ktime_get_ns();
	list_add_tail(&job->node, &queue->inflight);
	if (job->refused || queue->mode != PAGODA_QUEUE_DEVICE || pagoda_job_is_doomed(job))
		queue_work(queue->recover_wq, &queue->work);
	kick = pagoda_queue_send(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	if (kick)
		queue->args.transport->ops->kick(queue->args.transport);
	dma_fence_end_signalling(cookie);
	return hw;
}
