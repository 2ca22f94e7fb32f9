// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts, to which jobs belong: creation, destruction and progress; the ban of a context, whose
 * jobs fail from then on.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "exec_internal.h"

static const enum drm_sched_priority exec_priorities[] = {
	[PAGODA_EXEC_NORMAL] = DRM_SCHED_PRIORITY_NORMAL,
	[PAGODA_EXEC_LOW] = DRM_SCHED_PRIORITY_LOW,
	[PAGODA_EXEC_HIGH] = DRM_SCHED_PRIORITY_HIGH,
};

static void exec_context_release(struct kref *kref)
{
	struct pagoda_exec_context *context = container_of(kref, struct pagoda_exec_context, kref);

	pagoda_exec_account_put(context->account);
	kfree_rcu(context, rcu);
}

void pagoda_exec_context_put(struct pagoda_exec_context *context)
{
	kref_put(&context->kref, exec_context_release);
}

/**
 * pagoda_exec_context_create() - Create a context
 * @engines: The engines
 * @engine: Index of the engine; -EINVAL if there is no such engine
 * @priority: Priority of the context's jobs over those of other contexts of the engine
 * @id: Id by which the device knows the context, not 0
 * @address_space: Device's number of the address space that the jobs run in
 * @owner: First argument of image(), banned() and placed() of &struct pagoda_exec_ops
 *
 * Context: may sleep and allocate.
 * Return: The context, ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct pagoda_exec_context *pagoda_exec_context_create(struct pagoda_engines *engines, u32 engine,
						       enum pagoda_exec_priority priority, u64 id,
						       u32 address_space, void *owner)
{
	struct pagoda_exec_context *context;
	int ret;

	if (engine >= engines->count || priority >= ARRAY_SIZE(exec_priorities) || !id)
		return ERR_PTR(-EINVAL);
	context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);
	if (!context)
		return ERR_PTR(-ENOMEM);
	kref_init(&context->kref);
	context->engine = &engines->engine[engine];
	context->id = id;
	context->address_space = address_space;
	mutex_init(&context->owner_lock);
	context->owner = owner;
	context->rank = exec_priorities[priority];
	RB_CLEAR_NODE(&context->asking);
	INIT_LIST_HEAD(&context->grant);
	ret = drm_sched_entity_init(&context->entity, exec_priorities[priority],
				    &context->engine->flight.sched, 1, NULL);
	if (ret) {
		kfree(context);
		return ERR_PTR(ret);
	}
	return context;
}

/**
 * pagoda_exec_context_destroy() - Destroy a context
 * @context: Context, or NULL; no more jobs are submitted, and all jobs were pushed or put
 *
 * Jobs that the device doesn't have yet fail with -ESRCH when their dependencies are signalled;
 * jobs that the device has may finish. After the return &struct pagoda_exec_ops isn't called for
 * @context's owner any more. A caller that wants the jobs executed waits for the jobs first.
 *
 * Context: may sleep, but doesn't wait for jobs; not to be called in &struct pagoda_exec_ops.
 */
void pagoda_exec_context_destroy(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine;

	if (!context)
		return;
	engine = context->engine;
	spin_lock_irq(&engine->flight.lock);
	context->dead = true;
	pagoda_places_leave(context);
	spin_unlock_irq(&engine->flight.lock);
	/*
	 * The scheduler takes an entity's first job and then puts the entity back into the run
	 * queue, even if the entity was removed in between: stop the scheduler meanwhile, or freed
	 * memory stays in the run queue.
	 */
	mutex_lock(&engine->kill_lock);
	drm_sched_wqueue_stop(engine->flight.sched);
	drm_sched_entity_fini(&context->entity);
	drm_sched_wqueue_start(engine->flight.sched);
	mutex_unlock(&engine->kill_lock);
	mutex_lock(&context->owner_lock);
	context->owner = NULL;
	mutex_unlock(&context->owner_lock);
	dma_fence_put(context->last_fence);
	pagoda_exec_context_put(context);
}

/*
 * Calls &pagoda_exec_ops.banned with @report, unless the context is destroyed. May sleep; called in
 * the dma_fence signalling path.
 */
void pagoda_exec_context_tell(struct pagoda_exec_context *context,
			      const struct pagoda_exec_report *report)
{
	const struct pagoda_exec_ops *ops = context->engine->engines->args.ops;

	mutex_lock(&context->owner_lock);
	if (context->owner && ops->banned)
		ops->banned(context->owner, report);
	mutex_unlock(&context->owner_lock);
}

/**
 * pagoda_exec_context_ban() - Ban a context, whose jobs fail from now on
 * @context: Context
 *
 * Jobs that the device has may finish; the others fail with -ECANCELED, in order. The function
 * doesn't call &pagoda_exec_ops.banned.
 *
 * Context: any.
 */
void pagoda_exec_context_ban(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->flight.lock, flags);
	context->banned = true;
	pagoda_places_leave(context);
	spin_unlock_irqrestore(&engine->flight.lock, flags);
}

/**
 * pagoda_exec_context_is_banned() - Check whether a context is banned: its jobs fail
 * @context: Context
 *
 * Context: any.
 * Return: True if the context is banned; a ban is never lifted.
 */
bool pagoda_exec_context_is_banned(struct pagoda_exec_context *context)
{
	return READ_ONCE(context->banned);
}

/**
 * pagoda_exec_context_progress() - Get the progress of a context
 * @context: Context
 * @submitted: Receives the number of the last job armed
 * @completed: Receives the number of the last job that is finished, executed or not; all jobs
 *	before it are finished too
 *
 * Context: any.
 */
void pagoda_exec_context_progress(struct pagoda_exec_context *context, u64 *submitted,
				  u64 *completed)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->flight.lock, flags);
	*submitted = context->submitted;
	*completed = context->completed;
	spin_unlock_irqrestore(&engine->flight.lock, flags);
}

/*
 * Returns true if @fence is of a job of @context. Jobs of a context run in order, so another job of
 * @context needn't depend on such a fence.
 */
bool pagoda_exec_context_owns(struct pagoda_exec_context *context, struct dma_fence *fence)
{
	return pagoda_entity_owns(&context->entity, fence);
}

/*
 * Waits for the fences of all jobs of @context pushed so far, @timeout jiffies at most. Returns 0,
 * -ETIME, or -ERESTARTSYS for a signal. Caller holds no lock that is needed to signal a fence.
 */
int pagoda_exec_context_wait_idle(struct pagoda_exec_context *context, long timeout)
{
	return pagoda_flight_wait(&context->engine->flight, &context->last_fence, true, timeout);
}
