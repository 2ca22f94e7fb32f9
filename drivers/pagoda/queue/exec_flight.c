// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs in flight: from run_job to the signalled fence.
 *
 * engine->inflight holds the jobs in the order in which the scheduler handed them over. Answers may
 * come in any order, from interrupts and from polls at once; fences signal strictly in the order of
 * engine->inflight, under signal_lock. Nothing here allocates, and only pagoda_flight_run_job() may
 * sleep, in operations of the owner.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>
#include "core/trace.h"
#include "exec_internal.h"
#include "fence.h"

static const char *engine_dev(struct pagoda_exec_engine *engine)
{
	return dev_name(engine->engines->args.dev);
}

/* Removes the first job in flight and returns it if the job is finished, else NULL. */
static struct pagoda_exec_flight *exec_flight_pop(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;

	spin_lock(&engine->lock);
	job = list_first_entry_or_null(&engine->inflight, struct pagoda_exec_flight, node);
	if (job && job->state == PAGODA_EXEC_DONE) {
		list_del_init(&job->node);
		job->context->completed = job->base.number;
	} else {
		job = NULL;
	}
	spin_unlock(&engine->lock);
	return job;
}

/*
 * Signals the fences of all finished jobs in order. A job belongs to the scheduler again as soon as
 * its fence is signalled. The caller may hold reset_lock, but no other lock of the engine.
 */
void pagoda_engine_retire(struct pagoda_exec_engine *engine)
{
	const struct pagoda_engines_args *args = &engine->engines->args;
	struct pagoda_exec_flight *job;
	struct dma_fence *hw;
	unsigned long flags;

	spin_lock_irqsave(&engine->signal_lock, flags);
	while ((job = exec_flight_pop(engine))) {
		hw = job->hw;
		job->hw = NULL;
		trace_pagoda_job_complete(engine_dev(engine), engine->index, job->context->id,
					  job->base.number, job->error);
		if (job->error)
			dma_fence_set_error(hw, job->error);
		/* Call done() first: a waiter on the fence may destroy the owner. */
		if (args->ops->done)
			args->ops->done(args->owner);
		dma_fence_signal(hw);
		dma_fence_put(hw);
	}
	spin_unlock_irqrestore(&engine->signal_lock, flags);
}

/*
 * Notes that a job was executed or given up; its fence signals in its turn. Caller holds
 * engine->lock.
 */
void pagoda_flight_end(struct pagoda_exec_flight *job, int error)
{
	lockdep_assert_held(&job->context->engine->lock);
	job->error = error;
	job->state = PAGODA_EXEC_DONE;
}

/* Counts the requests the device has, and the time during which the device has any. */
static void engine_count(struct pagoda_exec_engine *engine, bool sent)
{
	if (!sent) {
		pagoda_engine_charge(engine);
		engine->nr_sent--;
	} else if (!engine->nr_sent++) {
		engine->busy_since = ktime_get();
		engine->progress = jiffies;
	}
}

/*
 * Moves all jobs that were sent back to waiting. The transport may still have the requests; later
 * answers to them are ignored. Caller holds engine->lock.
 */
void pagoda_engine_take_back(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;

	lockdep_assert_held(&engine->lock);
	list_for_each_entry(job, &engine->inflight, node) {
		if (job->state != PAGODA_EXEC_SENT)
			continue;
		engine_count(engine, false);
		job->state = PAGODA_EXEC_WAITING;
	}
}

/*
 * Notes the device's answer to a job. Returns true if the engine needs a reset. An answer that
 * comes after the job was taken back is ignored.
 */
static bool flight_answer(struct pagoda_exec_flight *job, enum pagoda_outcome outcome,
			  const struct pagoda_fault *fault)
{
	struct pagoda_exec_engine *engine = job->context->engine;

	lockdep_assert_held(&engine->lock);
	if (job->state != PAGODA_EXEC_SENT)
		return false;
	engine->progress = jiffies;
	engine_count(engine, false);
	if (outcome == PAGODA_OUTCOME_OK) {
		pagoda_flight_end(job, 0);
		engine->acked_seqno = max(engine->acked_seqno, job->seqno);
		engine->stats.polled += engine->polling;
		return false;
	}
	job->state = PAGODA_EXEC_WAITING;
	if (outcome == PAGODA_OUTCOME_FAULT) {
		job->faulted = true;
		job->fault = *fault;
	} else if (engine->paused) {
		return false;		/* the reset returned the request */
	}
	engine->need_reset = true;
	return true;
}

/* Called by the transport once per request, from interrupt context. */
static void flight_complete(struct pagoda_request *request, enum pagoda_outcome outcome,
			    const struct pagoda_fault *fault)
{
	struct pagoda_exec_flight *job = container_of(request, struct pagoda_exec_flight, request);
	struct pagoda_exec_engine *engine = job->context->engine;
	struct pagoda_engines *engines = engine->engines;
	bool cookie = dma_fence_begin_signalling();
	unsigned long flags;
	bool reset;

	spin_lock_irqsave(&engine->lock, flags);
	reset = flight_answer(job, outcome, fault);
	spin_unlock_irqrestore(&engine->lock, flags);
	pagoda_flight_put(job);
	pagoda_engine_retire(engine);
	if (reset)
		queue_work(engines->recover_wq, &engine->work);
	dma_fence_end_signalling(cookie);
	kref_put(&engines->kref, pagoda_engines_release);
}

/* Arms the watchdog. */
void pagoda_engine_watch(struct pagoda_exec_engine *engine)
{
	struct pagoda_engines *engines = engine->engines;

	queue_delayed_work(engines->recover_wq, &engine->watchdog,
			   msecs_to_jiffies(engines->args.timeout_ms));
}

/* A job that was sent before gets a new number (C187). */
static int flight_submit(struct pagoda_exec_flight *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;
	struct pagoda_engines *engines = engine->engines;
	struct pagoda_request *request = &job->request;
	int ret;

	lockdep_assert_held(&engine->lock);
	request->seqno = engine->sent_seqno + 1;
	request->complete = flight_complete;
	refcount_inc(&job->refs);
	kref_get(&engines->kref);
	ret = engine->transport->ops->submit(engine->transport, request);
	if (ret) {
		refcount_dec(&job->refs);
		kref_put(&engines->kref, pagoda_engines_release);
		return ret;
	}
	job->seqno = ++engine->sent_seqno;
	job->state = PAGODA_EXEC_SENT;
	trace_pagoda_job_submit(engine_dev(engine), engine->index, job->context->id,
				job->base.number, job->seqno);
	engine->stats.jobs += !job->sent_before;
	engine->stats.resubmitted += job->sent_before;
	job->sent_before = true;
	engine_count(engine, true);
	pagoda_engine_watch(engine);
	return 0;
}

/* Returns the error with which a waiting job ends unexecuted, or 0 if the job may be executed. */
static int flight_verdict(struct pagoda_exec_flight *job)
{
	struct pagoda_exec_engine *engine = job->context->engine;

	if (job->error)
		return job->error;
	if (engine->stopped || engine->gone)
		return -ENODEV;
	if (job->context->dead)
		return -ESRCH;
	return job->context->banned ? -ECANCELED : 0;
}

/*
 * Sends all waiting jobs in order, and ends those that mustn't be executed any more. Does nothing
 * while the engine is paused; sends nothing while the engine is held or needs a reset. A job that
 * can't be sent causes a reset. Caller holds engine->lock and calls pagoda_engine_retire() without
 * it. Returns true if the caller has to ring the doorbell, also without the lock.
 */
bool pagoda_flight_send(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;
	bool sent = false;
	int error;

	lockdep_assert_held(&engine->lock);
	if (engine->paused)
		return false;
	list_for_each_entry(job, &engine->inflight, node) {
		/* The reset decides about jobs that the device had already. */
		if (job->state != PAGODA_EXEC_WAITING || (engine->need_reset && job->seqno))
			continue;
		error = flight_verdict(job);
		if (error) {
			pagoda_flight_end(job, error);
			continue;
		}
		if (engine->refusing)
			queue_work(engine->engines->recover_wq, &engine->work);
		if (engine->held || engine->need_reset)
			continue;
		if (flight_submit(job)) {
			job->failures++;
			engine->need_reset = true;
			queue_work(engine->engines->recover_wq, &engine->work);
			continue;
		}
		sent = true;
	}
	return sent;
}

/*
 * Tells the context's owner that a reset of the adapter lost a job, unless the context is banned.
 * May sleep; in the dma_fence signalling path. The job stays in flight meanwhile.
 */
void pagoda_flight_tell_lost(struct pagoda_exec_flight *job)
{
	const struct pagoda_exec_report report = {
		.job = job->base.number,
		.engine = job->context->engine->index,
		.reset = true,
	};

	if (!pagoda_exec_context_is_banned(job->context))
		pagoda_exec_context_tell(job->context, &report);
}

/* Gets the context's save area, which doesn't move from now until the job is finished. */
static void flight_load(struct pagoda_exec_flight *job)
{
	struct pagoda_exec_context *context = job->context;
	const struct pagoda_exec_ops *ops = context->engine->engines->args.ops;

	job->error = ops->image(context->owner, job->base.mark, &job->execute);
	if (job->error == -ECANCELED)
		pagoda_flight_tell_lost(job);
}

/*
 * Scheduler's run_job: returns the fence of the device's work, with a reference for the scheduler.
 * Never waits for room: the scheduler has no more credits than the ring has entries. Runs in
 * submit_wq, in the dma_fence signalling path.
 */
struct dma_fence *pagoda_flight_run_job(struct drm_sched_job *sched_job)
{
	struct pagoda_exec_flight *job = container_of(sched_job, struct pagoda_exec_flight, sched);
	struct pagoda_exec_engine *engine = job->context->engine;
	bool cookie = dma_fence_begin_signalling();
	struct dma_fence *hw = job->hw;
	unsigned long flags;
	bool kick;

	flight_load(job);
	spin_lock_irqsave(&engine->lock, flags);
	pagoda_hw_fence_init(hw, engine->hw_context, ++engine->taken);
	dma_fence_get(hw);
	list_add_tail(&job->node, &engine->inflight);
	kick = pagoda_flight_send(engine);
	spin_unlock_irqrestore(&engine->lock, flags);
	if (kick)
		engine->transport->ops->kick(engine->transport);
	pagoda_engine_retire(engine);
	dma_fence_end_signalling(cookie);
	return hw;
}
