// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of engines until they are pushed: their memory, their dependencies, arm and push; and how
 * jobs are freed.
 *
 * pagoda_exec_job_create() allocates all memory that a job will ever need, so that nothing
 * allocates in the dma_fence signalling path.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include "exec_internal.h"

void pagoda_engine_free(struct pagoda_job *core)
{
	struct pagoda_engine_job *job = container_of(core, struct pagoda_engine_job, core);

	pagoda_places_fini(job);
	pagoda_exec_context_put(job->context);
	kfree(job);
}

void pagoda_engine_ended(struct pagoda_job *core)
{
	struct pagoda_engine_job *job = container_of(core, struct pagoda_engine_job, core);
	const struct pagoda_engines_args *args = &pagoda_engine_of(core->flight)->engines->args;
	unsigned long flags;

	pagoda_kcov_begin(job->base.kcov);
	/* A job that ended unexecuted because its context was destroyed may still have a place. */
	spin_lock_irqsave(&core->flight->lock, flags);
	pagoda_places_remove(job);
	list_del_init(&job->done);
	spin_unlock_irqrestore(&core->flight->lock, flags);
	if (args->ops->freed && job->base.payer)
		args->ops->freed(args->owner, &job->base);
	pagoda_job_put(core);
	pagoda_kcov_end();
}

/**
 * pagoda_exec_job_create() - Create a job with all memory that it will ever need
 * @context: Context of the job; the job will fail if the context is banned
 * @nr_buffers: Number of command buffers, at most %VIRTIO_PAGODA_MAX_COMMAND_BUFFERS; a job with 0
 *	buffers does nothing, but in order
 *
 * The caller owns the job until pagoda_exec_job_put() or pagoda_exec_job_push().
 *
 * Context: may sleep and allocate with reclaim.
 * Return: The job, its buffers to be filled before push, ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct pagoda_exec_job *pagoda_exec_job_create(struct pagoda_exec_context *context,
					       u32 nr_buffers)
{
	struct pagoda_engine_job *job;

	if (nr_buffers > VIRTIO_PAGODA_MAX_COMMAND_BUFFERS)
		return ERR_PTR(-EINVAL);
	job = kzalloc(struct_size(job, buffers, nr_buffers), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	if (pagoda_job_init(&job->core, &context->engine->flight, &context->entity, context)) {
		kfree(job);
		return ERR_PTR(-ENOMEM);
	}
	kref_get(&context->kref);
	job->context = context;
	INIT_LIST_HEAD(&job->placed);
	INIT_LIST_HEAD(&job->done);
	job->base.buffers = job->buffers;
	job->base.nr_buffers = nr_buffers;
	job->execute.address_space = cpu_to_le32(context->address_space);
	job->execute.nr_buffers = cpu_to_le32(nr_buffers);
	job->core.request.data = &job->execute;
	job->core.request.size = sizeof(job->execute) + nr_buffers * sizeof(job->buffers[0]);
	job->core.request.context = context->id;
	return &job->base;
}

/**
 * pagoda_exec_job_put() - Free a job that wasn't armed
 * @job: From pagoda_exec_job_create(), not armed, without a place of the engine
 *
 * Context: any process context.
 */
void pagoda_exec_job_put(struct pagoda_exec_job *job)
{
	struct pagoda_job *core = &pagoda_engine_job_of(job)->core;

	pagoda_job_fini(core);
	pagoda_job_put(core);
}

/**
 * pagoda_exec_job_add_fence() - Make a job run after a fence
 * @job: Not armed
 * @fence: Any fence, or NULL; the job takes its own reference. Signalled fences and fences of
 *	the job's own context, whose jobs run in order, are ignored
 *
 * Context: may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_exec_job_add_fence(struct pagoda_exec_job *job, struct dma_fence *fence)
{
	return pagoda_job_add_fence(&pagoda_engine_job_of(job)->core, fence);
}

/**
 * pagoda_exec_job_add_resv() - Make a job run after a reservation's fences
 * @job: Not armed
 * @resv: Reservation
 * @usage: The job waits for fences of this usage and of the usages below
 *
 * Context: @resv held; may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_exec_job_add_resv(struct pagoda_exec_job *job, struct dma_resv *resv,
			     enum dma_resv_usage usage)
{
	return pagoda_job_add_resv(&pagoda_engine_job_of(job)->core, resv, usage);
}

/**
 * pagoda_exec_job_arm() - Publish the job's fence
 * @job: Job whose dependencies are all added
 *
 * From here to pagoda_exec_job_push() no thread that holds the caller's lock which orders arm and
 * push of the context may allocate with reclaim (C24).
 *
 * Context: The caller's lock that orders arm and push of the context is held.
 */
void pagoda_exec_job_arm(struct pagoda_exec_job *job)
{
	struct pagoda_engine_job *engine_job = pagoda_engine_job_of(job);

	job->number = pagoda_job_arm(&engine_job->core, &engine_job->context->submitted);
	/* Release: an acquire in exec_places.c that reads this fence also sees the job as armed. */
	smp_store_release(&job->fence, &engine_job->core.sched.s_fence->finished);
}

/**
 * pagoda_exec_job_push() - Hand an armed job over to the scheduler
 * @job: Armed, with its buffers filled. The job must not be touched afterwards; a caller that needs
 *	the fence takes a reference before
 *
 * Context: The caller's lock that orders arm and push of the context is held. In the dma_fence
 * signalling path.
 */
void pagoda_exec_job_push(struct pagoda_exec_job *job)
{
	struct pagoda_engine_job *engine_job = pagoda_engine_job_of(job);
	struct pagoda_exec_context *context = engine_job->context;
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *last;
	unsigned long flags;

	spin_lock_irqsave(&context->engine->flight.lock, flags);
	last = context->last_fence;
	context->last_fence = dma_fence_get(job->fence);
	pagoda_places_pushed(engine_job);
	spin_unlock_irqrestore(&context->engine->flight.lock, flags);
	dma_fence_put(last);
	drm_sched_entity_push_job(&engine_job->core.sched);
	dma_fence_end_signalling(cookie);
}
