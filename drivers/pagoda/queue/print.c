// SPDX-License-Identifier: GPL-2.0
/*
 * Gets counters of the paging queue; prints its state and visits its last buffers, for debugfs and
 * coredumps.
 */
#include <linux/dma-fence.h>

#include <drm/drm_print.h>

#include "internal.h"

static const char * const queue_modes[] = {
	[PAGODA_QUEUE_DEVICE] = "device",
	[PAGODA_QUEUE_CPU] = "cpu",
	[PAGODA_QUEUE_DEAD] = "cpu, device dead",
};

/**
 * pagoda_queue_stats() - Copy the counters of the queue and of its transport
 * @queue: The queue
 * @stats: Receives the counters
 *
 * Context: any process context.
 */
void pagoda_queue_stats(struct pagoda_queue *queue, struct pagoda_queue_stats *stats)
{
	struct pagoda_transport *transport = queue->flight.transport;

	spin_lock_irq(&queue->flight.lock);
	*stats = queue->stats;
	stats->polled = queue->flight.polled;
	stats->skipped = queue->flight.skipped;
	spin_unlock_irq(&queue->flight.lock);
	if (transport)
		stats->doorbells = transport->ops->doorbells(transport);
}

/**
 * pagoda_queue_busy_bytes() - Get the memory of submissions in flight
 * @queue: The queue
 *
 * Context: any.
 * Return: Bytes of all submissions that are between arm and free_job, without their fences.
 */
u64 pagoda_queue_busy_bytes(struct pagoda_queue *queue)
{
	unsigned long flags;
	u64 bytes;

	spin_lock_irqsave(&queue->flight.lock, flags);
	bytes = queue->busy;
	spin_unlock_irqrestore(&queue->flight.lock, flags);
	return bytes;
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
	struct pagoda_paging_job *job;

	pagoda_queue_stats(queue, &stats);
	spin_lock_irq(&queue->flight.lock);
	drm_printf(p, "executes: %s%s%s%s\n", queue_modes[queue->mode], queue->held ? ", held" : "",
		   queue->closed ? ", closed" : "", queue->stopped ? ", stopped" : "");
	drm_printf(p, "seqno: armed %llu, sent %llu, executed %llu, signalled %llu\n",
		   queue->last_id, queue->flight.sent_seqno, queue->flight.acked_seqno,
		   queue->flight.retired);
	drm_printf(p, "submissions: %llu, bytes: %llu, doorbells: %llu\n",
		   stats.submissions, stats.bytes, stats.doorbells);
	drm_printf(p, "not copied, because not written: %llu bytes\n", stats.skipped);
	drm_printf(p, "resets: %llu, replayed: %llu, rescued: %llu, lost: %llu, polled: %llu\n",
		   stats.resets, stats.replayed, stats.rescued, stats.lost, stats.polled);
	drm_printf(p, "given up because the device was reset: %llu\n", stats.given_up);
	drm_printf(p, "memory: %llu bytes in flight, %u in the pool, %zu of %u pieces set aside\n",
		   queue->busy, queue->pooled, list_count_nodes(&queue->aside), PAGODA_QUEUE_ASIDE);
	drm_puts(p, "in flight:\n");
	list_for_each_entry(job, &queue->flight.inflight, core.node)
		drm_printf(p, "\t%llu: %s, %u bytes, %u operations, from %u, failures %u%s%s\n",
			   job->base.seqno, pagoda_job_state_name(&job->core), job->base.built,
			   job->base.operations, job->start, job->failures,
			   job->finished ? ", finished by the CPU" : "",
			   job->refused ? ", refused" : "");
	spin_unlock_irq(&queue->flight.lock);
}

/**
 * pagoda_queue_visit_recent() - Visit the last finished submissions
 * @queue: The queue
 * @visit: Called for each, the oldest first, without a lock, with the buffer, its bytes in use, the
 *	submission's number and the error of its fence
 * @arg: First argument of @visit
 *
 * Context: any process context.
 */
void pagoda_queue_visit_recent(struct pagoda_queue *queue,
			       void (*visit)(void *arg, const void *data, u32 size,
					     u64 seqno, int error),
			       void *arg)
{
	struct pagoda_paging_job *job, *jobs[PAGODA_QUEUE_HISTORY];
	u32 i, count = 0;

	spin_lock_irq(&queue->flight.lock);
	list_for_each_entry(job, &queue->history, core.node) {
		/*
		 * This reference keeps the job, and its buffer, from being reused when the job
		 * leaves the history.
		 */
		refcount_inc(&job->core.refs);
		jobs[count++] = job;
	}
	spin_unlock_irq(&queue->flight.lock);
	for (i = 0; i < count; i++) {
		job = jobs[i];
		visit(arg, job->base.data, job->base.built, job->base.seqno, job->core.error);
		pagoda_job_put(&job->core);
	}
}
