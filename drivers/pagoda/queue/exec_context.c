// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: who submits, and who pays for a job that goes wrong.
 *
 * Called by vidmm.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>

#include "exec_internal.h"

static const enum drm_sched_priority pagoda_exec_priorities[] = {
	[PAGODA_EXEC_NORMAL] = DRM_SCHED_PRIORITY_NORMAL,
	[PAGODA_EXEC_LOW] = DRM_SCHED_PRIORITY_LOW,
	[PAGODA_EXEC_HIGH] = DRM_SCHED_PRIORITY_HIGH,
};

static void pagoda_exec_context_release(struct kref *kref)
{
	struct pagoda_exec_context *context = container_of(kref, struct pagoda_exec_context, kref);

	pagoda_exec_account_put(context->account);
	kfree_rcu(context, rcu);
}

/**
 * pagoda_exec_context_put() - Drop the owner's reference or a job's
 * @context: Context
 *
 * Context: any.
 */
void pagoda_exec_context_put(struct pagoda_exec_context *context)
{
	kref_put(&context->kref, pagoda_exec_context_release);
}

/**
 * pagoda_exec_context_create() - Make a context
 * @engines: The engines
 * @engine: Which of them, below their number
 * @priority: Its jobs' priority over those of other contexts of the engine
 * @id: The device's name for it, not 0
 * @address_space: Device's number of the space its jobs run in
 * @owner: Argument of the owner's calls
 *
 * Context: may sleep and allocate.
 * Return: The context, or ERR_PTR(-EINVAL) or ERR_PTR(-ENOMEM).
 */
struct pagoda_exec_context *pagoda_exec_context_create(struct pagoda_engines *engines, u32 engine,
						       enum pagoda_exec_priority priority, u64 id,
						       u32 address_space, void *owner)
{
	struct pagoda_exec_context *context;
	struct drm_gpu_scheduler *sched;
	int ret;

	if (engine >= engines->count || priority >= ARRAY_SIZE(pagoda_exec_priorities) || !id)
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
	sched = &context->engine->sched;
	ret = drm_sched_entity_init(&context->entity, pagoda_exec_priorities[priority], &sched, 1,
				    NULL);
	if (ret) {
		kfree(context);
		return ERR_PTR(ret);
	}
	return context;
}

/*
 * The scheduler chooses an entity, takes its first job, and puts the entity back among those that
 * have one, by the time of the next. It does so too if the entity was stopped and taken out in
 * between, which would leave freed memory there: it may not be at work meanwhile.
 */
static void context_fini_entity(struct pagoda_exec_engine *engine,
				struct drm_sched_entity *entity)
{
	mutex_lock(&engine->kill_lock);
	drm_sched_wqueue_stop(&engine->sched);
	drm_sched_entity_fini(entity);
	drm_sched_wqueue_start(&engine->sched);
	mutex_unlock(&engine->kill_lock);
}

/**
 * pagoda_exec_context_destroy() - Destroy a context
 * @context: Context, or NULL; nobody submits any more, and all jobs were pushed or put
 *
 * Jobs that the engine doesn't have yet fail with -ESRCH, when what they wait for
 * is signalled; what it has it may finish. The owner isn't called any more. Who wants
 * the jobs done waits for them before.
 *
 * Context: may sleep, but doesn't wait for jobs; not in a call of the engines.
 */
void pagoda_exec_context_destroy(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine;

	if (!context)
		return;
	engine = context->engine;
	spin_lock_irq(&engine->lock);
	context->dead = true;
	spin_unlock_irq(&engine->lock);
	context_fini_entity(engine, &context->entity);
	mutex_lock(&context->owner_lock);
	context->owner = NULL;
	mutex_unlock(&context->owner_lock);
	dma_fence_put(context->last_fence);
	pagoda_exec_context_put(context);
}

/**
 * pagoda_exec_context_tell() - Tell the owner of a context what became of a job
 * @context: Context
 * @report: What
 *
 * Context: may sleep; on the way to a fence.
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
 * pagoda_exec_context_ban() - Let all jobs of a context fail from now on
 * @context: Context
 *
 * What the engine has it may finish; the others fail with -ECANCELED in their turn. The
 * owner isn't told.
 *
 * Context: any.
 */
void pagoda_exec_context_ban(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	context->banned = true;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * pagoda_exec_context_is_banned() - Whether jobs of a context fail
 * @context: Context
 *
 * Context: any.
 * Return: True if they do; that is for ever.
 */
bool pagoda_exec_context_is_banned(struct pagoda_exec_context *context)
{
	return READ_ONCE(context->banned);
}

/**
 * pagoda_exec_context_progress() - How far a context came
 * @context: Context
 * @submitted: Receives the number of the last job armed
 * @completed: Receives a number: all jobs up to it are done, executed or not
 *
 * Context: any.
 */
void pagoda_exec_context_progress(struct pagoda_exec_context *context, u64 *submitted,
				  u64 *completed)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->lock, flags);
	*submitted = context->submitted;
	*completed = context->completed;
	spin_unlock_irqrestore(&engine->lock, flags);
}

/**
 * pagoda_exec_context_wait_idle() - Wait for all that was pushed so far
 * @context: Context
 * @timeout: In jiffies
 *
 * Context: may sleep; no lock that is needed to signal a fence.
 * Return: 0, -ETIME, or -ERESTARTSYS for a signal.
 */
int pagoda_exec_context_wait_idle(struct pagoda_exec_context *context, long timeout)
{
	struct pagoda_exec_engine *engine = context->engine;
	struct dma_fence *last;
	long left;

	spin_lock_irq(&engine->lock);
	last = dma_fence_get(context->last_fence);
	spin_unlock_irq(&engine->lock);
	if (!last)
		return 0;
	left = dma_fence_wait_timeout(last, true, timeout);
	dma_fence_put(last);
	return left > 0 ? 0 : left ? left : -ETIME;
}
