// SPDX-License-Identifier: GPL-2.0
/*
 * Places of an engine: how many jobs hold memory at once, and which context prepares the next job.
 *
 * A job holds memory from its preparation until its fence signals. Only as many jobs are prepared
 * as keep the engine busy, PAGODA_EXEC_PLACES: the job that runs and the job behind it. All other
 * jobs, but fenced ones, wait at their contexts' owners, without memory and without a fence.
 *
 *	asking		the context waits for a place, ordered by priority, then by the time of
 *			the engine that the context's account has used
 *	granted		a place is kept for the context, at most PLACES_PATIENCE while others ask
 *	placed		the job has the place, from just before arm until the job is done; a fenced
 *			job may get its place only after arm
 *
 * When a context that asks gets a place, the context's account keeps its position in this order for
 * PLACES_SLICE of the engine's time: if accounts that need the same room in VRAM alternated, each
 * job would page. A context that gets a free place at once, without asking, begins no such slice.
 *
 * A preparation may be slow, because it pages or waits for a lock of its client. A grant therefore
 * ends at most PLACES_PATIENCE after others ask, and the next context in order gets the place; a
 * context that is ready later takes a place that is free, or asks again. So no preparation blocks
 * other contexts that ask for a place of the engine for longer than PLACES_PATIENCE.
 *
 * A fenced job that can't have a place at once is armed without one (pagoda_exec_job_wait_place()).
 * When all its other dependencies have signalled, the scheduler asks for a place on behalf of the
 * job's context, in pagoda_engine_prepare_job(), and waits for the job's turn fence. Until the
 * fenced job has its place, no later job of the context gets a place, in which the later job would
 * only wait for the fenced job: a job with a place waits for nothing but paging and the job that
 * runs.
 */
#include <linux/dma-fence.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/trace.h"
#include "exec_internal.h"

/*
 * Most jiffies that a place stays kept for a context that prepares a job, once other contexts ask.
 */
#define PLACES_PATIENCE	2
/* Nanoseconds of an engine's time that an account gets before accounts behind it have a turn. */
#define PLACES_SLICE	(5 * NSEC_PER_MSEC)

static bool places_free(const struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->flight.lock);
	return engine->placed + engine->nr_granted < PAGODA_EXEC_PLACES;
}

/* Returns true if a place is free and no context waits for a place. */
static bool places_at_once(const struct pagoda_exec_engine *engine)
{
	return RB_EMPTY_ROOT(&engine->asking.rb_root) && places_free(engine);
}

static bool asking_less(struct rb_node *a, const struct rb_node *b)
{
	const struct pagoda_exec_context *first =
		rb_entry(a, struct pagoda_exec_context, asking);
	const struct pagoda_exec_context *second =
		rb_entry(b, struct pagoda_exec_context, asking);

	if (first->rank != second->rank)
		return first->rank < second->rank;
	if (first->turn != second->turn)
		return first->turn < second->turn;
	return first->in_slice && !second->in_slice;
}

/*
 * Fence of pagoda_engine_job.turn. The fence may be signalled with flight.lock held, because only
 * the scheduler waits for the fence, with a callback that takes no lock of the engine.
 */
struct turn_fence {
	struct dma_fence base;
	spinlock_t lock; /* lock of @base, given to dma_fence_init() */
	const char *name; /* name of the engine, the fence's timeline name */
};

static const char *turn_fence_driver_name(struct dma_fence *fence)
{
	return "pagoda-turn";
}

static const char *turn_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct turn_fence, base)->name;
}

static const struct dma_fence_ops turn_fence_ops = {
	.get_driver_name = turn_fence_driver_name,
	.get_timeline_name = turn_fence_timeline_name,
};

static void turn_come(struct pagoda_engine_job *job)
{
	job->context->next = NULL;
	dma_fence_signal(job->turn);
}

static void asking_leave(struct pagoda_exec_context *context)
{
	if (RB_EMPTY_NODE(&context->asking))
		return;
	rb_erase_cached(&context->asking, &context->engine->asking);
	RB_CLEAR_NODE(&context->asking);
}

/*
 * Returns true if @account began engine->slice and hasn't used the slice up. If the account that
 * began the slice was freed, also returns true for a new account at the same address, if the new
 * account's turn is within the slice: contexts of the new account then ask with engine->slice_turn.
 */
static bool slice_is_of(const struct pagoda_exec_engine *engine,
			const struct pagoda_exec_account *account)
{
	return account && account == engine->slice &&
	       engine->slice_end - account->turn[engine->index] - 1 < PLACES_SLICE;
}

/*
 * Puts a context among those that ask for a place, engine->asking, unless it is there. A lower turn
 * of the context's account is raised to engine->turn, so that idle time isn't saved up, unless the
 * account has the slice.
 */
static void asking_enter(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;
	u64 *turn = context->account ? &context->account->turn[engine->index] : &engine->turn;

	if (!RB_EMPTY_NODE(&context->asking))
		return;
	context->in_slice = slice_is_of(engine, context->account);
	if (context->in_slice) {
		context->turn = engine->slice_turn;
	} else {
		*turn = max(*turn, engine->turn);
		context->turn = *turn;
	}
	rb_add_cached(&context->asking, &engine->asking, asking_less);
}

/*
 * Called when @context leaves engine->asking with a place, not when pagoda_exec_context_ask() keeps
 * a free place at once: raises engine->turn to the context's turn, and begins a slice of time in
 * which the context's account, if any, keeps its position in the order, unless the context asked
 * within such a slice of its account.
 */
static void slice_begin(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;

	engine->turn = max(engine->turn, context->turn);
	if (context->in_slice || !context->account)
		return;
	engine->slice = context->account;
	engine->slice_turn = context->turn;
	engine->slice_end = context->account->turn[engine->index] + PLACES_SLICE;
}

/* Has a context wait for a place, unless an armed job of the context has to get one before. */
static void asking_begin(struct pagoda_exec_context *context)
{
	if (!context->nr_unplaced)
		asking_enter(context);
}

/*
 * Notes that a job that was armed without a place has one now, or needs none any more. If that was
 * the context's last such job, and the context's owner waits for a place, has the context ask.
 */
static void job_has_place(struct pagoda_engine_job *job)
{
	struct pagoda_exec_context *context = job->context;

	if (!job->unplaced)
		return;
	job->unplaced = false;
	context->nr_unplaced--;
	if (context->asked)
		asking_begin(context);
}

static void grant_end(struct pagoda_exec_context *context)
{
	lockdep_assert_held(&context->engine->flight.lock);
	if (list_empty(&context->grant))
		return;
	list_del_init(&context->grant);
	context->engine->nr_granted--;
}

static void grant_begin(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;

	list_add_tail(&context->grant, &engine->grants);
	engine->nr_granted++;
}

/*
 * Gives the free places of an engine to the first contexts that ask: to an armed job that waits for
 * a place, or else keeps the place for the job that the context prepares next, and calls
 * &pagoda_exec_ops.placed. If more contexts ask, queues the work item that ends unused grants.
 */
static void places_grant(struct pagoda_exec_engine *engine)
{
	const struct pagoda_exec_ops *ops = engine->engines->args.ops;
	struct pagoda_exec_context *context;
	struct rb_node *first;

	lockdep_assert_held(&engine->flight.lock);
	while (places_free(engine) && (first = rb_first_cached(&engine->asking))) {
		context = rb_entry(first, struct pagoda_exec_context, asking);
		asking_leave(context);
		slice_begin(context);
		if (context->next) {
			pagoda_places_add(context->next);
			turn_come(context->next);
			continue;
		}
		context->asked = false;
		grant_begin(context);
		ops->placed(context->owner);
	}
	if (engine->nr_granted && !RB_EMPTY_ROOT(&engine->asking.rb_root))
		queue_delayed_work(system_dfl_wq, &engine->grants_end, PLACES_PATIENCE);
}

/*
 * Work item: ends all grants, however new: the places that are kept for contexts, and that no job
 * has taken yet, go to the contexts that are next in engine->asking.
 */
void pagoda_places_work(struct work_struct *work)
{
	struct pagoda_exec_engine *engine = container_of(to_delayed_work(work),
							 struct pagoda_exec_engine, grants_end);
	struct pagoda_exec_context *context, *next;

	spin_lock_irq(&engine->flight.lock);
	list_for_each_entry_safe(context, next, &engine->grants, grant)
		grant_end(context);
	places_grant(engine);
	spin_unlock_irq(&engine->flight.lock);
}

/*
 * Takes a banned or destroyed context out of engine->asking and engine->grants: ops->placed isn't
 * called for the context any more, and its job that waits for a place may run, to fail. Caller
 * holds flight.lock.
 */
void pagoda_places_leave(struct pagoda_exec_context *context)
{
	lockdep_assert_held(&context->engine->flight.lock);
	asking_leave(context);
	context->asked = false;
	if (context->next)
		turn_come(context->next);
	grant_end(context);
	places_grant(context->engine);
}

/*
 * Gives a job a place of its engine, unless the job has one. Doesn't check whether a place is free.
 * Caller holds flight.lock.
 */
void pagoda_places_add(struct pagoda_engine_job *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;

	lockdep_assert_held(&engine->flight.lock);
	if (!list_empty(&job->placed))
		return;
	list_add_tail(&job->placed, &engine->places);
	engine->placed++;
	job_has_place(job);
}

/*
 * Frees the place of a job that has ended, executed or not. A job that waits for a place doesn't
 * end: the scheduler runs the job only after turn_come(), and frees a job that wasn't run only when
 * the job's context is destroyed, after pagoda_places_leave(), and from then on no job of the
 * context begins to wait. Caller holds flight.lock.
 */
void pagoda_places_remove(struct pagoda_engine_job *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;

	lockdep_assert_held(&engine->flight.lock);
	if (WARN_ON_ONCE(job->context->next == job)) {
		asking_leave(job->context);
		turn_come(job);
	}
	job_has_place(job);
	if (!list_empty(&job->placed)) {
		list_del_init(&job->placed);
		engine->placed--;
	}
	places_grant(engine);
}

/**
 * pagoda_exec_context_ask() - Ask whether the next job of a context may be prepared
 * @context: Context
 *
 * If true is returned, a place is kept until pagoda_exec_job_place() or pagoda_exec_context_pass(),
 * but only for a few jiffies once other contexts ask. If false is returned, &pagoda_exec_ops.placed
 * is called once, when a place is kept: then the owner calls pagoda_exec_context_ask() again. There
 * is no such call once the context was banned, destroyed or passed to pagoda_exec_context_pass().
 *
 * Context: any.
 * Return: True if a place is kept, or if the context is banned or destroyed: its jobs need none.
 */
bool pagoda_exec_context_ask(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;
	bool may = true;

	spin_lock_irqsave(&engine->flight.lock, flags);
	if (list_empty(&context->grant) && !context->banned && !context->dead) {
		may = !context->nr_unplaced && places_at_once(engine);
		context->asked = !may;
		if (may)
			grant_begin(context);
		else
			asking_begin(context);
		places_grant(engine);
	}
	spin_unlock_irqrestore(&engine->flight.lock, flags);
	return may;
}

/**
 * pagoda_exec_context_pass() - Give up the place that a context asked for, kept already or not
 * @context: Context that doesn't prepare a job after all
 *
 * Context: any.
 */
void pagoda_exec_context_pass(struct pagoda_exec_context *context)
{
	struct pagoda_exec_engine *engine = context->engine;
	unsigned long flags;

	spin_lock_irqsave(&engine->flight.lock, flags);
	context->asked = false;
	if (!context->next)
		asking_leave(context);
	grant_end(context);
	places_grant(engine);
	spin_unlock_irqrestore(&engine->flight.lock, flags);
}

/**
 * pagoda_exec_job_place() - Take a place for a job that is prepared
 * @job: Not armed
 *
 * Context: any.
 * Return: True if the job may be armed; false if the place that was kept went to another context,
 * or if an armed job of the context has had no place yet: the caller calls
 * pagoda_exec_context_ask() again.
 */
bool pagoda_exec_job_place(struct pagoda_exec_job *job)
{
	struct pagoda_engine_job *engine_job = pagoda_engine_job_of(job);
	struct pagoda_exec_context *context = engine_job->context;
	unsigned long flags;
	bool may;

	spin_lock_irqsave(&context->engine->flight.lock, flags);
	grant_end(context);
	may = context->banned || context->dead ||
	      (!context->nr_unplaced && places_free(context->engine));
	if (may)
		pagoda_places_add(engine_job);
	spin_unlock_irqrestore(&context->engine->flight.lock, flags);
	return may;
}

/*
 * Returns true if a job needs no place of the engine, because it will end without being sent to the
 * device.
 */
static bool places_are_moot(const struct pagoda_engine_job *job)
{
	const struct pagoda_exec_context *context = job->context;

	return context->banned || context->dead || context->engine->stopped ||
	       context->engine->gone;
}

/*
 * Scheduler's prepare_job: returns NULL if the job may run, or a reference to job->turn, which
 * signals when the job has a place, or will fail because its context is banned or destroyed. Called
 * in the dma_fence signalling path when all other dependencies of the job have signalled.
 */
struct dma_fence *pagoda_engine_prepare_job(struct drm_sched_job *sched_job,
					    struct drm_sched_entity *entity)
{
	struct pagoda_engine_job *job = container_of(sched_job, struct pagoda_engine_job,
						     core.sched);
	struct pagoda_exec_engine *engine = job->context->engine;
	struct dma_fence *turn = NULL;
	unsigned long flags;

	if (!job->turn)
		return NULL;
	spin_lock_irqsave(&engine->flight.lock, flags);
	if (list_empty(&job->placed) && !places_are_moot(job) &&
	    !dma_fence_is_signaled(job->turn)) {
		job->context->next = job;
		asking_enter(job->context);
		places_grant(engine);
		if (list_empty(&job->placed))
			turn = dma_fence_get(job->turn);
	}
	spin_unlock_irqrestore(&engine->flight.lock, flags);
	return turn;
}

/**
 * pagoda_exec_job_wait_place() - Allow a fenced job to be armed before the job has a place
 * @job: Not armed, without a place
 *
 * Doesn't wait. When all other dependencies of the armed job have signalled, the scheduler waits
 * until the job is one of the %PAGODA_EXEC_PLACES jobs of the engine that may hold memory.
 *
 * Context: may sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_exec_job_wait_place(struct pagoda_exec_job *job)
{
	struct turn_fence *turn = kzalloc(sizeof(*turn), GFP_KERNEL_ACCOUNT);

	if (!turn)
		return -ENOMEM;
	spin_lock_init(&turn->lock);
	turn->name = pagoda_engine_job_of(job)->context->engine->flight.sched->name;
	dma_fence_init(&turn->base, &turn_fence_ops, &turn->lock, dma_fence_context_alloc(1), 1);
	pagoda_engine_job_of(job)->turn = &turn->base;
	return 0;
}

/*
 * Called when a job is about to be pushed: counts the job in &pagoda_exec_context.nr_unplaced if
 * the job was armed without a place and has none yet. Until all jobs so counted have had a place,
 * later jobs of the context get none.
 */
void pagoda_places_pushed(struct pagoda_engine_job *job)
{
	lockdep_assert_held(&job->context->engine->flight.lock);
	job->unplaced = job->turn && list_empty(&job->placed);
	job->context->nr_unplaced += job->unplaced;
}

static bool places_is_job_of(const struct pagoda_engine_job *job, const struct dma_fence *fence)
{
	/* This acquire pairs with the release in pagoda_exec_job_arm(): the job is armed. */
	return smp_load_acquire(&job->base.fence) == fence;
}

/*
 * Returns true if @fence is that of a job that has a place, or of a job that has ended and isn't
 * freed yet: the scheduler may signal the fence of such a job only some time after the job's end.
 */
static bool places_have(struct pagoda_exec_engine *engine, const struct dma_fence *fence)
{
	struct pagoda_engine_job *job;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&engine->flight.lock, flags);
	list_for_each_entry(job, &engine->places, placed)
		found |= places_is_job_of(job, fence);
	list_for_each_entry(job, &engine->done, done)
		found |= places_is_job_of(job, fence);
	spin_unlock_irqrestore(&engine->flight.lock, flags);
	return found;
}

/**
 * pagoda_engines_have_place() - Check whether the job that a fence belongs to has a place
 * @engines: The engines
 * @fence: Any fence
 *
 * A job that has a place waits for paging, and for the job that runs. Any other fence may depend on
 * what a client does.
 *
 * Context: any.
 * Return: True if the fence has signalled, or if its job has a place of an engine or has ended.
 */
bool pagoda_engines_have_place(struct pagoda_engines *engines, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < engines->count; i++)
		if (places_have(&engines->engine[i], fence))
			return true;
	return dma_fence_is_signaled(fence);
}

/*
 * Fills @fences with references to the fences of the armed jobs that have a place, at most @room,
 * and traces that the caller will wait for these jobs. Returns the number of fences.
 */
static u32 places_collect(struct pagoda_exec_engine *engine, struct dma_fence **fences, u32 room)
{
	struct pagoda_engine_job *job;
	u32 count = 0;

	spin_lock_irq(&engine->flight.lock);
	list_for_each_entry(job, &engine->places, placed) {
		/* Acquire: pairs with pagoda_exec_job_arm(). A job without fence isn't armed. */
		struct dma_fence *fence = smp_load_acquire(&job->base.fence);

		if (!fence || count == room)
			continue;
		trace_pagoda_wait(dev_name(engine->engines->args.dev), job->context->id,
				  job->base.number, 0);
		fences[count++] = dma_fence_get(fence);
	}
	spin_unlock_irq(&engine->flight.lock);
	return count;
}

/**
 * pagoda_engines_placed() - Get a fence behind the armed jobs that have a place of an engine now
 * @engines: The engines
 *
 * The fence signals when all those jobs have ended, whatever is armed, prepared or queued later.
 * The caller is about to wait for the jobs, which is traced (pagoda_wait).
 *
 * Context: May sleep and allocate.
 * Return: The fence, a reference; NULL if no armed job has a place, or without memory.
 */
struct dma_fence *pagoda_engines_placed(struct pagoda_engines *engines)
{
	u32 room = PAGODA_EXEC_DEPTH * engines->count, count = 0, i;
	struct dma_fence **fences = kcalloc(room, sizeof(*fences), GFP_KERNEL);
	struct dma_fence *all = NULL;

	if (!fences)
		return NULL;
	for (i = 0; i < engines->count; i++)
		count += places_collect(&engines->engine[i], fences + count, room - count);
	if (count)
		all = pagoda_fence_all(count, fences);
	if (all)
		return all;
	while (count)
		dma_fence_put(fences[--count]);
	kfree(fences);
	return NULL;
}

/*
 * Called when a job is freed: signals job->turn, if any, the fence by which the scheduler waits
 * until the job has a place, and drops the job's reference to this fence.
 */
void pagoda_places_fini(struct pagoda_engine_job *job)
{
	if (!job->turn)
		return;
	dma_fence_signal(job->turn);
	dma_fence_put(job->turn);
}
