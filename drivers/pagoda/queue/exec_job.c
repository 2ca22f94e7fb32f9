// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs: their memory, their dependencies, arm and push.
 *
 * pagoda_exec_job_create() allocates all memory that a job will ever need, so that nothing
 * allocates in the dma_fence signalling path.
 *
 * Called by vidmm.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include "core/compat.h"
#include "exec_internal.h"
#include "fence.h"

/* Drops a reference of the scheduler side or of the transport. */
void pagoda_flight_put(struct pagoda_exec_flight *job)
{
	if (!refcount_dec_and_test(&job->refs))
		return;
	pagoda_exec_context_put(job->context);
	kfree(job);
}

/*
 * Scheduler's free_job: the job's fence is signalled, but the job may have been killed before it
 * ran. Runs in submit_wq or in a work item of the scheduler.
 */
void pagoda_flight_free_job(struct drm_sched_job *sched_job)
{
	struct pagoda_exec_flight *job = container_of(sched_job, struct pagoda_exec_flight, sched);
	struct pagoda_engines *engines = job->context->engine->engines;
	const struct pagoda_exec_ops *ops = engines->args.ops;
	unsigned long flags;

	if (ops->freed && job->base.payer)
		ops->freed(job->base.payer);
	pagoda_timeline_detach(PAGODA_TIMELINE_EXEC, sched_job);
	drm_sched_job_cleanup(sched_job);
	pagoda_hw_fence_free(job->hw);
	pagoda_flight_put(job);
	spin_lock_irqsave(&engines->lock, flags);
	/* Under the lock: pagoda_engines_destroy() may free the engines right afterwards. */
	if (!--engines->jobs)
		wake_up_all(&engines->drained);
	spin_unlock_irqrestore(&engines->lock, flags);
}

static struct pagoda_exec_flight *flight_alloc(struct pagoda_exec_context *context, u32 nr_buffers)
{
	struct pagoda_exec_flight *job;

	job = kzalloc(struct_size(job, buffers, nr_buffers), GFP_KERNEL_ACCOUNT);
	if (!job)
		return NULL;
	job->hw = pagoda_hw_fence_alloc();
	if (!job->hw || pagoda_sched_job_init(&job->sched, &context->entity, context)) {
		pagoda_hw_fence_free(job->hw);
		kfree(job);
		return NULL;
	}
	return job;
}

/**
 * pagoda_exec_job_create() - Create a job with all memory that it will ever need
 * @context: Context of the job; the job will fail if the context is banned
 * @nr_buffers: Command buffers, at most %VIRTIO_PAGODA_MAX_COMMAND_BUFFERS; a job without any
 *	does nothing, in its turn
 *
 * The caller owns the job until pagoda_exec_job_put() or pagoda_exec_job_push().
 *
 * Context: may sleep and allocate with reclaim.
 * Return: The job, its buffers to be filled before push, ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct pagoda_exec_job *pagoda_exec_job_create(struct pagoda_exec_context *context,
					       u32 nr_buffers)
{
	struct pagoda_exec_flight *job;

	if (nr_buffers > VIRTIO_PAGODA_MAX_COMMAND_BUFFERS)
		return ERR_PTR(-EINVAL);
	job = flight_alloc(context, nr_buffers);
	if (!job)
		return ERR_PTR(-ENOMEM);
	kref_get(&context->kref);
	job->context = context;
	INIT_LIST_HEAD(&job->node);
	refcount_set(&job->refs, 1);
	job->base.buffers = job->buffers;
	job->base.nr_buffers = nr_buffers;
	job->execute.address_space = cpu_to_le32(context->address_space);
	job->execute.nr_buffers = cpu_to_le32(nr_buffers);
	job->request.data = &job->execute;
	job->request.size = sizeof(job->execute) + nr_buffers * sizeof(job->buffers[0]);
	job->request.context = context->id;
	return &job->base;
}

/**
 * pagoda_exec_job_put() - Free a job that wasn't armed
 * @job: From pagoda_exec_job_create(), not armed
 *
 * Context: any process context.
 */
void pagoda_exec_job_put(struct pagoda_exec_job *job)
{
	struct pagoda_exec_flight *flight = pagoda_flight_of(job);

	drm_sched_job_cleanup(&flight->sched);
	pagoda_hw_fence_free(flight->hw);
	pagoda_flight_put(flight);
}

static bool exec_context_owns(struct pagoda_exec_context *context, struct dma_fence *fence)
{
	return fence->context == context->entity.fence_context ||
	       fence->context == context->entity.fence_context + 1;
}

/**
 * pagoda_exec_job_add_fence() - Make a job run after a fence
 * @job: Not armed
 * @fence: Any fence, or NULL; the job takes its own reference. Signalled fences and fences of
 *	the job's own context are ignored: its jobs run in order
 *
 * Context: may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_exec_job_add_fence(struct pagoda_exec_job *job, struct dma_fence *fence)
{
	struct pagoda_exec_flight *flight = pagoda_flight_of(job);

	if (!fence || exec_context_owns(flight->context, fence) || dma_fence_is_signaled(fence))
		return 0;
	/* drm_sched_job_add_dependency() consumes the reference, also when it fails. */
	return drm_sched_job_add_dependency(&flight->sched, dma_fence_get(fence));
}

/**
 * pagoda_exec_job_add_resv() - Make a job run after a reservation's fences
 * @job: Not armed
 * @resv: Reservation
 * @usage: Fences of this usage and those it includes
 *
 * Context: @resv held; may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_exec_job_add_resv(struct pagoda_exec_job *job, struct dma_resv *resv,
			     enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, resv, usage, fence) {
		ret = pagoda_exec_job_add_fence(job, fence);
		if (ret)
			return ret;
	}
	return 0;
}

/**
 * pagoda_exec_job_arm() - Publish the job's fence
 * @job: With all its dependencies
 *
 * From here to pagoda_exec_job_push() no thread that holds the caller's lock may allocate with
 * reclaim (C24).
 *
 * Context: The caller's lock that orders arm and push of the context is held.
 */
void pagoda_exec_job_arm(struct pagoda_exec_job *job)
{
	struct pagoda_exec_flight *flight = pagoda_flight_of(job);
	struct pagoda_exec_context *context = flight->context;
	struct pagoda_engines *engines = context->engine->engines;
	unsigned long flags;

	drm_sched_job_arm(&flight->sched);
	spin_lock_irqsave(&engines->lock, flags);
	engines->jobs++;
	spin_unlock_irqrestore(&engines->lock, flags);
	spin_lock_irqsave(&context->engine->lock, flags);
	job->number = ++context->submitted;
	spin_unlock_irqrestore(&context->engine->lock, flags);
	job->fence = &flight->sched.s_fence->finished;
}

/**
 * pagoda_exec_job_push() - Hand an armed job over to the scheduler
 * @job: Its buffers filled. The job must not be touched afterwards; a caller that needs the
 *	fence takes a reference before
 *
 * Context: The lock that orders arm and push is held. In the dma_fence signalling path.
 */
void pagoda_exec_job_push(struct pagoda_exec_job *job)
{
	struct pagoda_exec_flight *flight = pagoda_flight_of(job);
	struct pagoda_exec_context *context = flight->context;
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *last;
	unsigned long flags;

	spin_lock_irqsave(&context->engine->lock, flags);
	last = context->last_fence;
	context->last_fence = dma_fence_get(job->fence);
	spin_unlock_irqrestore(&context->engine->lock, flags);
	dma_fence_put(last);
	drm_sched_entity_push_job(&flight->sched);
	dma_fence_end_signalling(cookie);
}
