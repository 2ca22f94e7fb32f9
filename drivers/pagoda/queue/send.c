// SPDX-License-Identifier: GPL-2.0
/*
 * Submissions in flight: gives jobs their numbers, sends jobs, and reports failed answers of the
 * device and how long jobs took. No function of this file sleeps or allocates.
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
 * &pagoda_flight_ops.finished: reports to the owner how long the first @count jobs in flight took,
 * and how many bytes of content the jobs moved, unless the jobs moved none, or a failure of any job
 * makes the time useless. If @count is 0, queues recovery for a first job that is to be given up.
 * Called with signal_lock held, before the fences signal: from then on the owner may be freed.
 */
void pagoda_queue_finished(struct pagoda_flight *flight, u32 count)
{
	struct pagoda_queue *queue = container_of(flight, struct pagoda_queue, flight);
	const struct pagoda_queue_args *args = &queue->args;
	struct pagoda_paging_job *job;
	u64 now, begun_ns, bytes = 0;
	bool failed = false;
	u32 left = count;

	lockdep_assert_held(&flight->signal_lock);
	spin_lock(&flight->lock);
	job = pagoda_queue_first(queue);
	/*
	 * If the first job in flight was pushed after pagoda_queue_stop(), or armed before the
	 * rebuild that follows a reset of the whole device, recovery gives the job up.
	 */
	if (job && !count && job->core.state == PAGODA_JOB_WAITING &&
	    (job->refused || pagoda_queue_dooms(job)))
		pagoda_flight_recover(flight);
	begun_ns = count ? max(job->begun_ns, queue->retired_ns) : 0;
	list_for_each_entry(job, &flight->inflight, core.node) {
		if (!left--)
			break;
		bytes += job->base.moved - min(job->core.request.skipped, job->base.moved);
		failed |= job->core.error || job->failures;
	}
	spin_unlock(&flight->lock);
	if (!count)
		return;
	now = ktime_get_ns();
	queue->retired_ns = now;
	if (bytes && !failed && args->ops->measured)
		args->ops->measured(args->owner, bytes, now - begun_ns);
}

void pagoda_queue_retired(struct pagoda_job *core)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);

	trace_pagoda_complete(queue_name(pagoda_queue_of(job)), job->base.id, job->base.seqno,
			      core->request.skipped, core->error);
}

static void job_fault(struct pagoda_paging_job *job, const struct pagoda_fault *fault)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);

	trace_pagoda_fault(queue_name(queue), job->base.seqno, fault->reason, fault->opcode,
			   fault->offset, fault->address);
	dev_err_ratelimited(queue->args.dev,
			    "paging request %llu refused: reason %u, opcode %u, offset %u, address 0x%llx\n",
			    job->base.seqno, fault->reason, fault->opcode, fault->offset,
			    fault->address);
}

/*
 * A job came back with @outcome, which isn't success. Reports a fault, to the kernel log and by a
 * tracepoint, and an invalid answer, to the log; PAGODA_OUTCOME_ABORTED isn't reported. Returns
 * whether the paging queue has to be reset: not if a reset that is under way gave back the job.
 */
bool pagoda_queue_failed(struct pagoda_job *core, enum pagoda_outcome outcome,
			 const struct pagoda_fault *fault)
{
	struct pagoda_paging_job *job = container_of(core, struct pagoda_paging_job, core);
	struct pagoda_queue *queue = pagoda_queue_of(job);

	if (outcome == PAGODA_OUTCOME_FAULT)
		job_fault(job, fault);
	else if (outcome == PAGODA_OUTCOME_BAD_ANSWER)
		dev_err_ratelimited(queue->args.dev, "paging request %llu: bad answer\n",
				    job->base.seqno);
	else	/* A reset, which holds the queue without polling, gives all requests back. */
		return !queue->held || queue->flight.polling;
	return true;
}

static int job_send(struct pagoda_paging_job *job)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);
	struct pagoda_request *request = &job->core.request;
	int ret;

	lockdep_assert_held(&queue->flight.lock);
	request->seqno = job->base.seqno - queue->skipped;
	request->data = job->base.data;
	request->size = job->base.built;
	request->start = job->start;
	request->context = 0;
	ret = pagoda_job_send(&job->core);
	if (ret)
		return ret;
	trace_pagoda_submit(queue_name(queue), job->base.id, job->base.seqno, request->size,
			    request->start, job->base.operations);
	queue->stats.replayed += job->core.sent_before && !job->finished;
	job->core.sent_before = true;
	queue->flight.sent_seqno = max(queue->flight.sent_seqno, job->base.seqno);
	if (job == pagoda_queue_first(queue))
		queue->flight.progress = jiffies;
	return 0;
}

/* Returns the first waiting job, or NULL; all jobs in flight behind it are waiting, too. */
static struct pagoda_paging_job *queue_waiting(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job, *first = NULL;

	list_for_each_entry_reverse(job, &queue->flight.inflight, core.node) {
		if (job->core.state != PAGODA_JOB_WAITING)
			break;
		first = job;
	}
	return first;
}

/*
 * Sends the waiting jobs in order, and stops at the first that is to be given up; sends none if the
 * CPU executes all jobs, or the queue is held or needs a reset (C23). A failure causes a reset.
 * Returns true if the caller has to ring the doorbell, after dropping flight.lock.
 */
bool pagoda_queue_send(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;
	bool sent = false;

	lockdep_assert_held(&queue->flight.lock);
	if (queue->mode != PAGODA_QUEUE_DEVICE || queue->held || queue->flight.need_reset)
		return false;
	job = queue_waiting(queue);
	if (!job)
		return false;
	list_for_each_entry_from(job, &queue->flight.inflight, core.node) {
		/* Jobs behind a job to be given up are sent when recovery has ended that job. */
		if (job->refused || pagoda_queue_dooms(job))
			break;
		if (job_send(job)) {
			queue->flight.need_reset = true;
			pagoda_flight_recover(&queue->flight);
			break;
		}
		sent = true;
	}
	return sent;
}

/*
 * Gives a job its number, and tells the owner (&pagoda_queue_ops.numbered). The scheduler hands
 * over one job at a time, so numbers are in the order in which jobs are sent.
 */
static void job_number(struct pagoda_paging_job *job)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);
	const struct pagoda_queue_args *args = &queue->args;
	unsigned long flags;

	spin_lock_irqsave(&queue->flight.lock, flags);
	job->base.seqno = ++queue->last_seqno;
	job->core.seqno = job->base.seqno;
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	if (args->ops->numbered)
		args->ops->numbered(args->owner, &job->base);
}

/*
 * Scheduler's run_job: adds the job to the jobs in flight, and sends what pagoda_queue_send() may
 * send. Returns the fence of the device's work, with a reference for the scheduler. Never waits for
 * room: the scheduler hands over no more jobs at once than the ring has entries. Runs in submit_wq,
 * in the dma_fence signalling path.
 */
struct dma_fence *pagoda_queue_run_job(struct drm_sched_job *sched_job)
{
	struct pagoda_paging_job *job = container_of(sched_job, struct pagoda_paging_job,
						     core.sched);
	struct pagoda_queue *queue = pagoda_queue_of(job);
	struct dma_fence *hw;
	unsigned long flags;
	bool cookie, kick;

	pagoda_kcov_begin(job->base.kcov);
	cookie = dma_fence_begin_signalling();
	job_number(job);
	spin_lock_irqsave(&queue->flight.lock, flags);
	job->begun_ns = ktime_get_ns();
	hw = pagoda_job_take(&job->core);
	if (job->refused || queue->mode != PAGODA_QUEUE_DEVICE || pagoda_queue_dooms(job))
		pagoda_flight_recover(&queue->flight);
	kick = pagoda_queue_send(queue);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	pagoda_flight_kick(&queue->flight, kick);
	dma_fence_end_signalling(cookie);
	pagoda_kcov_end();
	return hw;
}
