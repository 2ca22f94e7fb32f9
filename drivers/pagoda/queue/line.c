// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of a paging queue. A line is an entity of the queue's scheduler: the scheduler hands over
 * the submissions of a line in the order in which they were pushed, and those of several lines as
 * they become ready, the oldest first.
 *
 * When an entity is destroyed, the scheduler ends the jobs left in the entity unexecuted: page
 * tables could still map memory that then belongs to other allocations. Therefore a line outlives
 * its owner until all its submissions have ended; then a work item destroys the entity.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include "internal.h"

static void line_free_work(struct work_struct *work)
{
	struct pagoda_line *line = container_of(to_rcu_work(work), struct pagoda_line, free);
	struct pagoda_queue *queue = line->queue;

	drm_sched_entity_fini(&line->entity);
	dma_fence_put(line->last);
	spin_lock_irq(&queue->flight.lock);
	list_del(&line->node);
	/* Under the lock: once it is released, pagoda_queue_destroy() may free the queue. */
	wake_up_all(&queue->lineless);
	spin_unlock_irq(&queue->flight.lock);
	kfree(line);
}

/**
 * pagoda_line_create() - Add a line to a queue
 * @queue: The queue
 *
 * Context: may sleep and allocate.
 * Return: The line, for pagoda_line_put(); or ERR_PTR(-ENOMEM).
 */
struct pagoda_line *pagoda_line_create(struct pagoda_queue *queue)
{
	struct pagoda_line *line = kzalloc(sizeof(*line), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!line)
		return ERR_PTR(-ENOMEM);
	ret = drm_sched_entity_init(&line->entity, DRM_SCHED_PRIORITY_KERNEL,
				    &queue->flight.sched, 1, NULL);
	if (ret) {
		kfree(line);
		return ERR_PTR(ret);
	}
	line->queue = queue;
	line->refs = 1;
	init_waitqueue_head(&line->room);
	INIT_RCU_WORK(&line->free, line_free_work);
	spin_lock_irq(&queue->flight.lock);
	list_add_tail(&line->node, &queue->lines);
	spin_unlock_irq(&queue->flight.lock);
	return line;
}

/*
 * Drops a reference to a line. A grace period after the last drop the line is destroyed: callbacks
 * of jobs' dependencies, even of the last job's, may until then use the entity.
 */
static void line_drop(struct pagoda_line *line)
{
	lockdep_assert_held(&line->queue->flight.lock);
	if (!--line->refs)
		queue_rcu_work(line->queue->recover_wq, &line->free);
}

/**
 * pagoda_line_put() - Drop the owner's reference to a line
 * @line: Line without submissions that are neither pushed nor put
 *
 * Submissions that were pushed are still executed.
 *
 * Context: any.
 */
void pagoda_line_put(struct pagoda_line *line)
{
	struct pagoda_queue *queue = line->queue;
	unsigned long flags;

	spin_lock_irqsave(&queue->flight.lock, flags);
	line_drop(line);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
}

/* Returns the line that the queue has from the start. */
struct pagoda_line *pagoda_queue_main(struct pagoda_queue *queue)
{
	return queue->main;
}

/* Returns whether the fence is of a submission to the line, whose submissions run in order. */
bool pagoda_line_owns(const struct pagoda_line *line, const struct dma_fence *fence)
{
	return pagoda_entity_owns(&line->entity, fence);
}

/* Counts a job that is armed, and takes a reference to its line. Caller holds flight.lock. */
void pagoda_line_armed(struct pagoda_paging_job *job)
{
	lockdep_assert_held(&job->line->queue->flight.lock);
	job->line->refs++;
	job->line->armed++;
}

/* Undoes pagoda_line_armed(), because the fence of the job has signalled. */
void pagoda_line_ended(struct pagoda_paging_job *job)
{
	struct pagoda_line *line = job->line;
	struct pagoda_queue *queue = line->queue;
	unsigned long flags;

	job->line = NULL;
	spin_lock_irqsave(&queue->flight.lock, flags);
	line->armed--;
	wake_up_all(&line->room);
	line_drop(line);
	spin_unlock_irqrestore(&queue->flight.lock, flags);
}

/* Returns the number of the line's submissions that are armed and not finished. */
u32 pagoda_line_armed_jobs(struct pagoda_line *line)
{
	return READ_ONCE(line->armed);
}

/**
 * pagoda_line_await() - Wait until a line has few submissions
 * @line: The line; the caller keeps it from being put
 * @most: Number of submissions, not 0
 *
 * Context: sleeps; outside of all locks.
 * Return: 0 when fewer than @most submissions are armed and not finished; -ERESTARTSYS for a
 * signal.
 */
int pagoda_line_await(struct pagoda_line *line, u32 most)
{
	return wait_event_interruptible(line->room, pagoda_line_armed_jobs(line) < most);
}

/*
 * Returns the line behind @line, or the first if @line is NULL, with a reference; skips lines about
 * to be destroyed; NULL at the end. Drops the caller's reference to @line.
 */
static struct pagoda_line *line_next(struct pagoda_queue *queue, struct pagoda_line *line)
{
	struct pagoda_line *next = NULL, *here = line;

	spin_lock_irq(&queue->flight.lock);
	here = list_prepare_entry(here, &queue->lines, node);
	list_for_each_entry_continue(here, &queue->lines, node) {
		/* A line without references is about to be destroyed. */
		if (!here->refs)
			continue;
		here->refs++;
		next = here;
		break;
	}
	if (line)
		line_drop(line);
	spin_unlock_irq(&queue->flight.lock);
	return next;
}

/**
 * pagoda_queue_wait_idle() - Wait for all submissions of all lines pushed so far
 * @queue: The queue
 * @timeout: Jiffies to wait at most
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence.
 * Return: 0 or -ETIME.
 */
int pagoda_queue_wait_idle(struct pagoda_queue *queue, long timeout)
{
	unsigned long end = jiffies + timeout;
	struct pagoda_line *line = NULL;
	int ret = 0;

	while ((line = line_next(queue, line))) {
		long left = timeout == MAX_SCHEDULE_TIMEOUT ? timeout :
							      max_t(long, end - jiffies, 0);

		ret = pagoda_flight_wait(&queue->flight, &line->last, false, left) ?: ret;
	}
	return ret;
}
