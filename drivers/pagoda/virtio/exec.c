// SPDX-License-Identifier: GPL-2.0
/*
 * Execution engines: one buffer at a time, waiting for it.
 */
#include <linux/completion.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * struct pagoda_exec_job - A buffer on an engine
 * @request: What the ring carries; first, for its alignment
 * @refs: The caller's and the ring's
 * @done: The ring gave it back
 * @outcome: How it ended
 * @fault: Where, if it faulted
 */
struct pagoda_exec_job {
	struct pagoda_request request;
	refcount_t refs;
	struct completion done;
	enum pagoda_outcome outcome;
	struct pagoda_fault fault;
};

static void pagoda_exec_job_put(struct pagoda_exec_job *job)
{
	if (!refcount_dec_and_test(&job->refs))
		return;
	free_pages_exact(job->request.data, job->request.size);
	kfree(job);
}

static void pagoda_exec_complete(struct pagoda_request *request, enum pagoda_outcome outcome,
				 const struct pagoda_fault *fault)
{
	struct pagoda_exec_job *job = container_of(request, struct pagoda_exec_job, request);

	job->outcome = outcome;
	job->fault = *fault;
	complete(&job->done);
	pagoda_exec_job_put(job);
}

static struct pagoda_exec_job *pagoda_exec_job_create(const void *buffer, u32 size)
{
	struct pagoda_exec_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	job->request.data = alloc_pages_exact(size, GFP_KERNEL);
	if (!job->request.data) {
		kfree(job);
		return NULL;
	}
	memcpy(job->request.data, buffer, size);
	job->request.size = size;
	job->request.complete = pagoda_exec_complete;
	init_completion(&job->done);
	refcount_set(&job->refs, 1);
	return job;
}

/* After a fault or a timeout: everything back, and the engine's own count. */
static int pagoda_engine_recover(struct pagoda_engine_queue *engine)
{
	struct pagoda_reset_result result;
	int ret = pagoda_ring_reset(&engine->ring, &result);

	if (!ret)
		engine->seqno = result.seqno;
	return ret;
}

/* False if the engine doesn't give it back in time. */
static bool pagoda_exec_wait(struct pagoda_engine_queue *engine, struct pagoda_exec_job *job)
{
	if (wait_for_completion_timeout(&job->done, msecs_to_jiffies(PAGODA_EXEC_TIMEOUT_MS)))
		return true;
	/* Perhaps only the interrupt was lost. */
	pagoda_ring_drain(&engine->ring);
	return try_wait_for_completion(&job->done);
}

static int pagoda_engine_run(struct pagoda_engine_queue *engine, struct pagoda_exec_job *job)
{
	int ret;

	lockdep_assert_held(&engine->lock);
	job->request.seqno = engine->seqno + 1;
	refcount_inc(&job->refs);
	ret = pagoda_ring_submit(&engine->ring, &job->request);
	if (ret) {
		pagoda_exec_job_put(job);
		return ret;
	}
	pagoda_ring_kick(&engine->ring);
	if (!pagoda_exec_wait(engine, job)) {
		ret = pagoda_engine_recover(engine);
		return ret ? ret : -ETIMEDOUT;
	}
	if (job->outcome == PAGODA_OUTCOME_OK) {
		engine->seqno++;
		return 0;
	}
	ret = pagoda_engine_recover(engine);
	if (ret)
		return ret;
	return job->outcome == PAGODA_OUTCOME_FAULT ? -EFAULT : -EIO;
}

/**
 * pagoda_virtio_exec() - Execute a buffer on an engine and wait for it
 * @virtio: Device
 * @engine: Engine, from 0
 * @buffer: Packets; copied
 * @size: Their bytes, multiple of 8, not zero
 * @fault: Receives where it faulted; zeros otherwise
 *
 * Buffers of one engine run one after the other, those of several at once.
 *
 * Context: may sleep and allocate; two seconds and the reset at most.
 * Return: 0, -EINVAL for bad arguments, -ENOMEM, -EFAULT with @fault filled,
 * -EIO for an answer that makes no sense, -ETIMEDOUT or -ENODEV.
 */
int pagoda_virtio_exec(struct pagoda_virtio *virtio, u32 engine, const void *buffer,
		       u32 size, struct pagoda_fault *fault)
{
	struct pagoda_engine_queue *queue;
	struct pagoda_exec_job *job;
	int ret;

	memset(fault, 0, sizeof(*fault));
	if (engine >= virtio->info.num_engines || !size ||
	    size % VIRTIO_PAGODA_PACKET_ALIGN || size > virtio->info.max_buffer_bytes)
		return -EINVAL;
	job = pagoda_exec_job_create(buffer, size);
	if (!job)
		return -ENOMEM;
	queue = &virtio->engines[engine];
	mutex_lock(&queue->lock);
	ret = pagoda_engine_run(queue, job);
	mutex_unlock(&queue->lock);
	if (ret == -EFAULT)
		*fault = job->fault;
	pagoda_exec_job_put(job);
	return ret;
}

/**
 * pagoda_engine_interrupt() - An engine is through with something
 * @vq: An execution queue
 *
 * Context: interrupt.
 */
void pagoda_engine_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;
	u32 engine = vq->index - VIRTIO_PAGODA_QUEUE_EXEC0;

	pagoda_ring_drain(&virtio->engines[engine].ring);
}

/**
 * pagoda_engines_init() - Set the execution queues up
 * @virtio: Device
 * @vqs: Its virtqueues, the execution queues only
 *
 * Context: may sleep and allocate; before the device is ready.
 * Return: 0 or -ENOMEM.
 */
int pagoda_engines_init(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	u32 i;

	virtio->engines = kcalloc(virtio->info.num_engines, sizeof(*virtio->engines),
				  GFP_KERNEL);
	if (!virtio->engines)
		return -ENOMEM;
	for (i = 0; i < virtio->info.num_engines; i++) {
		mutex_init(&virtio->engines[i].lock);
		pagoda_ring_init(&virtio->engines[i].ring, virtio, vqs[i]);
	}
	return 0;
}

/**
 * pagoda_engines_detach() - Give back what engines kept, free the queues
 * @virtio: Device that was reset
 *
 * Context: process.
 */
void pagoda_engines_detach(struct pagoda_virtio *virtio)
{
	u32 i;

	for (i = 0; virtio->engines && i < virtio->info.num_engines; i++)
		pagoda_ring_detach(&virtio->engines[i].ring);
	kfree(virtio->engines);
	virtio->engines = NULL;
}
