// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of engines in flight: which jobs are sent or end, and what the device's answers mean.
 *
 * No function of this file allocates; only pagoda_engine_run_job() and pagoda_engine_tell_lost()
 * may sleep, in &struct pagoda_exec_ops.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include "core/trace.h"
#include "exec_internal.h"

static const char *engine_dev(struct pagoda_exec_engine *engine)
{
	return dev_name(engine->engines->args.dev);
}

/*
 * Sets a job's state to done, with the error, or 0, that its fence gets. The fence signals once all
 * jobs before it are done. Caller holds flight.lock.
 */
void pagoda_engine_end(struct pagoda_engine_job *job, int error)
{
	lockdep_assert_held(&job->context->engine->flight.lock);
	job->core.error = error;
	job->core.state = PAGODA_JOB_DONE;
}

/*
 * &pagoda_flight_ops.failed: stores the fault that the device answered a job with. Returns whether
 * the engine has to be reset: not if a reset that is under way made the device give the job back.
 */
bool pagoda_engine_failed(struct pagoda_job *core, enum pagoda_outcome outcome,
			  const struct pagoda_fault *fault)
{
	struct pagoda_engine_job *job = container_of(core, struct pagoda_engine_job, core);

	/* No fault: a failure, unless a reset, which pauses the engine, returned the job. */
	if (outcome != PAGODA_OUTCOME_FAULT)
		return !job->context->engine->paused;
	job->faulted = true;
	job->fault = *fault;
	return true;
}

/*
 * &pagoda_flight_ops.retired, before the job's fence signals: records the job as the last finished
 * one of its context, frees the job's place, and calls &pagoda_exec_ops.done.
 */
void pagoda_engine_retired(struct pagoda_job *core)
{
	struct pagoda_engine_job *job = container_of(core, struct pagoda_engine_job, core);
	struct pagoda_exec_engine *engine = job->context->engine;
	const struct pagoda_engines_args *args = &engine->engines->args;

	spin_lock(&engine->flight.lock);
	job->context->completed = job->base.number;
	pagoda_places_remove(job);
	list_add_tail(&job->done, &engine->done);
	spin_unlock(&engine->flight.lock);
	trace_pagoda_job_complete(engine_dev(engine), engine->index, job->context->id,
				  job->base.number, core->error);
	/* The fence signals only after this call: a waiter on the fence may destroy the owner. */
	if (args->ops->done)
		args->ops->done(args->owner, job->context->account);
}

static void engine_stored(struct pagoda_exec_engine *engine)
{
	const struct pagoda_engines_args *args = &engine->engines->args;
	struct pagoda_engine_job *job;
	unsigned long flags;

	spin_lock_irqsave(&engine->flight.lock, flags);
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		args->ops->done(args->owner, job->context->account);
	spin_unlock_irqrestore(&engine->flight.lock, flags);
}

/**
 * pagoda_engines_stored() - Handle the device's report that a job has stored a value
 * @engines: Engines
 *
 * Calls &pagoda_exec_ops.done for all jobs in flight, which are few: which of them stored the value
 * isn't known. If that job has ended since, the call for that job was made at its end.
 *
 * Context: any.
 */
void pagoda_engines_stored(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; engines->args.ops->done && i < engines->count; i++)
		engine_stored(&engines->engine[i]);
}

/*
 * Sends a job with the next request number, even if the job was sent before (C187). Returns 0 or
 * the error of pagoda_job_send().
 */
static int job_submit(struct pagoda_engine_job *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;
	struct pagoda_flight *flight = &engine->flight;
	int ret;

	lockdep_assert_held(&flight->lock);
	job->core.request.seqno = flight->sent_seqno + 1;
	ret = pagoda_job_send(&job->core);
	if (ret)
		return ret;
	job->core.seqno = ++flight->sent_seqno;
	trace_pagoda_job_submit(engine_dev(engine), engine->index, job->context->id,
				job->base.number, job->core.seqno);
	engine->stats.jobs += !job->core.sent_before;
	engine->stats.resubmitted += job->core.sent_before;
	job->core.sent_before = true;
	if (flight->nr_sent == 1) {
		engine->busy_since = ktime_get();
		flight->progress = jiffies;
	}
	return 0;
}

/* Returns the error with which a waiting job ends unexecuted, or 0 if the job may be executed. */
static int job_verdict(struct pagoda_engine_job *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;

	if (job->core.error)
		return job->core.error;
	if (engine->stopped || engine->gone)
		return -ENODEV;
	if (job->context->dead)
		return -ESRCH;
	return job->context->banned ? -ECANCELED : 0;
}

/*
 * Sends all waiting jobs in order, and ends those that mustn't be executed any more. Does nothing
 * while the engine is paused; sends nothing while the engine is held or needs a reset. While the
 * engine refuses jobs, queues its work item, which ends them. A job that can't be sent causes a
 * reset. The caller drops flight.lock, then rings the doorbell if the function returned true, and
 * calls pagoda_flight_retire().
 */
bool pagoda_engine_send(struct pagoda_exec_engine *engine)
{
	struct pagoda_flight *flight = &engine->flight;
	struct pagoda_engine_job *job;
	bool sent = false;
	int error;

	lockdep_assert_held(&flight->lock);
	if (engine->paused)
		return false;
	list_for_each_entry(job, &flight->inflight, core.node) {
		/* Before a reset skip jobs that the device had: they may have been executed. */
		if (job->core.state != PAGODA_JOB_WAITING ||
		    (flight->need_reset && job->core.seqno))
			continue;
		error = job_verdict(job);
		if (error) {
			pagoda_engine_end(job, error);
			continue;
		}
		if (engine->refusing)
			pagoda_flight_recover(flight);
		if (engine->held || flight->need_reset)
			continue;
		if (job_submit(job)) {
			job->failures++;
			flight->need_reset = true;
			pagoda_flight_recover(flight);
			continue;
		}
		sent = true;
	}
	return sent;
}

/*
 * Tells the context's owner, through &pagoda_exec_ops.banned, that a reset of the adapter lost a
 * job, unless the context is banned. May sleep; called in the dma_fence signalling path. The caller
 * sees to it that the job isn't freed meanwhile.
 */
void pagoda_engine_tell_lost(struct pagoda_engine_job *job)
{
	const struct pagoda_exec_report report = {
		.job = job->base.number,
		.engine = job->context->engine->index,
		.reset = true,
	};

	if (!pagoda_exec_context_is_banned(job->context))
		pagoda_exec_context_tell(job->context, &report);
}

/*
 * Has the owner write the address of the context's save area into the job's request; the save area
 * stays there until the job is done. If the owner returns an error, the job ends with that error.
 */
static void job_load(struct pagoda_engine_job *job)
{
	struct pagoda_exec_context *context = job->context;
	const struct pagoda_exec_ops *ops = context->engine->engines->args.ops;

	job->core.error = ops->image(context->owner, job->base.mark, &job->execute);
	if (job->core.error == -ECANCELED)
		pagoda_engine_tell_lost(job);
}

/*
 * Scheduler's run_job: returns the fence of the device's work, with a reference for the scheduler.
 * Never waits for room: the scheduler has no more credits than the ring has entries. Runs in
 * submit_wq, in the dma_fence signalling path.
 */
struct dma_fence *pagoda_engine_run_job(struct drm_sched_job *sched_job)
{
	struct pagoda_engine_job *job = container_of(sched_job, struct pagoda_engine_job,
						     core.sched);
	struct pagoda_exec_engine *engine = job->context->engine;
	struct dma_fence *hw;
	unsigned long flags;
	bool cookie, kick;

	pagoda_kcov_begin(job->base.kcov);
	cookie = dma_fence_begin_signalling();
	job_load(job);
	spin_lock_irqsave(&engine->flight.lock, flags);
	pagoda_places_add(job);
	hw = pagoda_job_take(&job->core);
	kick = pagoda_engine_send(engine);
	spin_unlock_irqrestore(&engine->flight.lock, flags);
	pagoda_flight_kick(&engine->flight, kick);
	pagoda_flight_retire(&engine->flight);
	dma_fence_end_signalling(cookie);
	pagoda_kcov_end();
	return hw;
}
