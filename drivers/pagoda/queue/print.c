// SPDX-License-Identifier: GPL-2.0
/* Counters, state and last buffers of the queue, for debugfs. */
#include <linux/dma-fence.h>

#include <drm/drm_print.h>

#include "internal.h"

static const char * const queue_modes[] = {
	[PAGODA_QUEUE_DEVICE] = "device",
	[PAGODA_QUEUE_CPU] = "cpu",
	[PAGODA_QUEUE_DEAD] = "cpu, device dead",
};

static const char * const job_states[] = {
	[PAGODA_JOB_WAITING] = "waiting",
	[PAGODA_JOB_SENT] = "sent",
	[PAGODA_JOB_DONE] = "done",
};

/**
 * pagoda_queue_stats() - Read the counters
 * @queue: The queue
 * @stats: Receives the counters
 *
 * Context: any process context.
 */
void pagoda_queue_stats(struct pagoda_queue *queue, struct pagoda_queue_stats *stats)
{
	struct pagoda_transport *transport = queue->args.transport;

	spin_lock_irq(&queue->lock);
	*stats = queue->stats;
	spin_unlock_irq(&queue->lock);
	if (transport)
		stats->doorbells = transport->ops->doorbells(transport);
}

static void queue_print_jobs(struct pagoda_queue *queue, struct drm_printer *p)
{
	struct pagoda_job *job;

	lockdep_assert_held(&queue->lock);
	list_for_each_entry(job, &queue->inflight, node)
		drm_printf(p, "\t%llu: %s, %u bytes, %u operations, from %u, failures %u%s%s\n",
			   job->base.seqno, job_states[job->state], job->base.built,
			   job->base.operations, job->start, job->failures,
			   job->finished ? ", finished by the CPU" : "",
			   job->refused ? ", refused" : "");
}

/**
 * pagoda_queue_print() - Print state, counters and jobs in flight
 * @queue: The queue
 * @p: Printer; must not sleep
 *
 * Context: any process context.
 */
void pagoda_queue_print(struct pagoda_queue *queue, struct drm_printer *p)
{
	struct pagoda_queue_stats stats;

	pagoda_queue_stats(queue, &stats);
	spin_lock_irq(&queue->lock);
	drm_printf(p, "executes: %s%s%s%s\n", queue_modes[queue->mode], queue->held ? ", held" : "",
		   queue->closed ? ", closed" : "", queue->stopped ? ", stopped" : "");
	drm_printf(p, "seqno: armed %llu, sent %llu, executed %llu, signalled %llu\n",
		   queue->next_seqno, queue->sent_seqno, queue->acked_seqno,
		   queue->retired_seqno);
	drm_printf(p, "submissions: %llu, bytes: %llu, doorbells: %llu\n",
		   stats.submissions, stats.bytes, stats.doorbells);
	drm_printf(p, "resets: %llu, replayed: %llu, rescued: %llu, lost: %llu, polled: %llu\n",
		   stats.resets, stats.replayed, stats.rescued, stats.lost, stats.polled);
	drm_printf(p, "given up because the device was reset: %llu\n", stats.given_up);
	drm_printf(p, "pool: %u\n", queue->pooled);
	drm_puts(p, "in flight:\n");
	queue_print_jobs(queue, p);
	spin_unlock_irq(&queue->lock);
}

/*
 * Fills @jobs with the jobs of the history, and returns their number. The references keep a job
 * that leaves the history meanwhile from being reused.
 */
static u32 queue_take_recent(struct pagoda_queue *queue, struct pagoda_job **jobs)
{
	struct pagoda_job *job;
	u32 count = 0;

	spin_lock_irq(&queue->lock);
	list_for_each_entry(job, &queue->history, node) {
		refcount_inc(&job->refs);
		jobs[count++] = job;
	}
	spin_unlock_irq(&queue->lock);
	return count;
}

/**
 * pagoda_queue_visit_recent() - Visit the last submissions
 * @queue: The queue
 * @visit: Called oldest first with buffer, bytes, sequence number and fence error, without a lock
 * @arg: First argument of @visit
 *
 * Context: any process context.
 */
void pagoda_queue_visit_recent(struct pagoda_queue *queue,
			       void (*visit)(void *arg, const void *data, u32 size,
					     u64 seqno, int error),
			       void *arg)
{
	struct pagoda_job *jobs[PAGODA_QUEUE_HISTORY];
	u32 i, count = queue_take_recent(queue, jobs);

	for (i = 0; i < count; i++) {
		struct pagoda_submission *base = &jobs[i]->base;

		visit(arg, base->data, base->built, base->seqno, jobs[i]->error);
		pagoda_job_put(jobs[i]);
	}
}
