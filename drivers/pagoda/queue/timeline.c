// SPDX-License-Identifier: GPL-2.0
/*
 * Creates, stops and destroys the paging queue, which has one scheduler, with an entity for each
 * line and a job for each submission.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "internal.h"

static void queue_release(struct kref *kref)
{
	kfree(container_of(kref, struct pagoda_queue, kref));
}

static const struct pagoda_flight_ops flight_ops = {
	.timeline = PAGODA_TIMELINE_PAGING,
	.priorities = 1,
	.sched = {
		.run_job = pagoda_queue_run_job,
		.free_job = pagoda_flight_free_job,
	},
	.work = pagoda_queue_work,
	.watchdog = pagoda_queue_watchdog,
	.failed = pagoda_queue_failed,
	.finished = pagoda_queue_finished,
	.retired = pagoda_queue_retired,
	.ended = pagoda_queue_ended,
	.free = pagoda_queue_reuse,
	.release = queue_release,
};

static struct pagoda_queue *queue_alloc(const struct pagoda_queue_args *args)
{
	struct pagoda_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL);
	u32 i;

	if (!queue)
		return NULL;
	kref_init(&queue->kref);
	queue->args = *args;
	queue->flight.ops = &flight_ops;
	queue->flight.dev = args->dev;
	queue->flight.transport = args->transport;
	queue->flight.owner = &queue->kref;
	queue->flight.timeout_ms = args->timeout_ms;
	queue->mode = args->use_cpu ? PAGODA_QUEUE_CPU : PAGODA_QUEUE_DEVICE;
	for (i = 0; i < PAGODA_QUEUE_CLASSES; i++)
		INIT_LIST_HEAD(&queue->pool[i]);
	INIT_LIST_HEAD(&queue->lines);
	init_waitqueue_head(&queue->lineless);
	INIT_LIST_HEAD(&queue->aside);
	init_waitqueue_head(&queue->returned);
	INIT_LIST_HEAD(&queue->history);
	init_waitqueue_head(&queue->adapter_done);
	return queue;
}

static void queue_free_jobs(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job, *next;
	LIST_HEAD(jobs);
	u32 i;

	spin_lock_irq(&queue->flight.lock);
	queue->gone = true;
	for (i = 0; i < queue->classes; i++)
		list_splice_init(&queue->pool[i], &jobs);
	list_splice_init(&queue->aside, &jobs);
	list_splice_init(&queue->history, &jobs);
	spin_unlock_irq(&queue->flight.lock);
	list_for_each_entry_safe(job, next, &jobs, core.node)
		pagoda_queue_free(job);
}

static bool queue_is_lineless(struct pagoda_queue *queue)
{
	bool lineless;

	spin_lock_irq(&queue->flight.lock);
	lineless = list_empty(&queue->lines);
	spin_unlock_irq(&queue->flight.lock);
	return lineless;
}

/* Waits until all lines are destroyed; each of them was put before. */
static void queue_wait_lines(struct pagoda_queue *queue)
{
	wait_event(queue->lineless, queue_is_lineless(queue));
}

/* Creates the work queues. Returns 0 or -ENOMEM. */
static int queue_make_wqs(struct pagoda_queue *queue)
{
	queue->submit_wq = alloc_ordered_workqueue("pagoda-submit", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!queue->submit_wq)
		return -ENOMEM;
	queue->recover_wq = alloc_ordered_workqueue("pagoda-recover", WQ_MEM_RECLAIM | WQ_HIGHPRI);
	if (!queue->recover_wq) {
		destroy_workqueue(queue->submit_wq);
		return -ENOMEM;
	}
	queue->flight.recover_wq = queue->recover_wq;
	return 0;
}

static void queue_destroy_wqs(struct pagoda_queue *queue)
{
	destroy_workqueue(queue->recover_wq);
	destroy_workqueue(queue->submit_wq);
}

/**
 * pagoda_queue_create() - Create a paging queue, with a line
 * @args: Description of the queue; copied. The transport may be NULL with @args->use_cpu
 *
 * Context: may sleep and allocate.
 * Return: The queue, ERR_PTR(-EINVAL) for invalid arguments or ERR_PTR(-ENOMEM).
 */
struct pagoda_queue *pagoda_queue_create(const struct pagoda_queue_args *args)
{
	struct pagoda_transport *transport = args->transport;
	struct pagoda_queue *queue;
	int ret;

	if (!args->buffer_size || !PAGE_ALIGNED(args->buffer_size) ||
	    args->buffer_size > VIRTIO_PAGODA_MAX_BUFFER || !args->timeout_ms ||
	    (!transport && !args->use_cpu))
		return ERR_PTR(-EINVAL);
	queue = queue_alloc(args);
	if (!queue)
		return ERR_PTR(-ENOMEM);
	if (!pagoda_queue_set_classes(queue)) {
		ret = -EINVAL;
		goto err_free;
	}
	ret = queue_make_wqs(queue);
	if (ret)
		goto err_free;
	ret = pagoda_flight_init(&queue->flight, queue->submit_wq, args->use_cpu ?
				 PAGODA_QUEUE_CPU_DEPTH : transport->ops->depth(transport));
	if (ret)
		goto err_wqs;
	queue->main = pagoda_line_create(queue);
	if (IS_ERR(queue->main)) {
		ret = PTR_ERR(queue->main);
		goto err_flight;
	}
	ret = pagoda_queue_set_aside(queue);
	if (ret)
		goto err_line;
	return queue;

err_line:
	queue_free_jobs(queue);
	pagoda_line_put(queue->main);
	queue_wait_lines(queue);
err_flight:
	pagoda_flight_fini(&queue->flight);
err_wqs:
	queue_destroy_wqs(queue);
err_free:
	kref_put(&queue->kref, queue_release);
	return ERR_PTR(ret);
}

/**
 * pagoda_queue_stop() - Accept no more submissions and finish those in flight
 * @queue: The queue
 *
 * Returns when the fences of all submissions pushed so far are signalled. A submission that is
 * pushed later is reported to &pagoda_queue_ops.lost and fails with -ENODEV.
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence.
 */
void pagoda_queue_stop(struct pagoda_queue *queue)
{
	spin_lock_irq(&queue->flight.lock);
	queue->stopped = true;
	spin_unlock_irq(&queue->flight.lock);
	pagoda_queue_wait_idle(queue, MAX_SCHEDULE_TIMEOUT);
}

/**
 * pagoda_queue_destroy() - Destroy a paging queue
 * @queue: The queue, or NULL; no more submissions are got or pushed, all submissions that were got
 *	were pushed or put, and all lines that were created were put
 *
 * Requests that the transport couldn't get back from the device stay allocated.
 *
 * Context: may sleep; the caller holds no lock that is needed to signal a fence.
 */
void pagoda_queue_destroy(struct pagoda_queue *queue)
{
	if (!queue)
		return;
	pagoda_queue_stop(queue);
	pagoda_flight_drain(&queue->flight);
	cancel_delayed_work_sync(&queue->flight.watchdog);
	cancel_work_sync(&queue->flight.work);
	pagoda_line_put(queue->main);
	queue_wait_lines(queue);
	pagoda_flight_fini(&queue->flight);
	queue_destroy_wqs(queue);
	queue_free_jobs(queue);
	kref_put(&queue->kref, queue_release);
}

