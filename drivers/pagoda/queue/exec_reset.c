// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery of an engine that faults, hangs, loses requests or is lost.
 *
 *	watchdog    no progress for too long: look for completions that came
 *	            without an interrupt; if there are none, the first job counts as hung
 *	recover     reset the engine, accept the number of the last executed request that
 *	            the device reports if that number is possible (C188), ban the context
 *	            of the job that faulted or hung, send the unfinished jobs of other
 *	            contexts again (C187)
 *	escalate    the engine can't be reset: the owner resets the adapter and calls
 *	            pagoda_engines_lost()
 *	gone        the adapter can't be reset either: all jobs end, and so do later jobs
 *
 * A fault halts the engine until the engine is reset, so a fault is handled like a hang, but
 * without the wait and with the guilty job known.
 *
 * All code of this file may run in the dma_fence signalling path: the code may sleep, but not
 * allocate with reclaim.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>

#include "core/info.h"
#include "exec_internal.h"

/* Keeps pagoda_engine_send() from sending and ending jobs until exec_go_on(). */
static void exec_pause(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->reset_lock);
	spin_lock_irq(&engine->flight.lock);
	engine->paused = true;
	engine->flight.need_reset = false;
	spin_unlock_irq(&engine->flight.lock);
}

/*
 * Undoes exec_pause(): sends the jobs that wait, unless the engine is held, and ends those that
 * mustn't be executed, in order. The engine isn't broken any more, and no job is suspected.
 */
static void exec_go_on(struct pagoda_exec_engine *engine)
{
	bool kick;

	lockdep_assert_held(&engine->reset_lock);
	spin_lock_irq(&engine->flight.lock);
	engine->paused = false;
	engine->broken = false;
	engine->suspect_seqno = 0;
	kick = pagoda_engine_send(engine);
	spin_unlock_irq(&engine->flight.lock);
	pagoda_flight_kick(&engine->flight, kick);
	pagoda_flight_retire(&engine->flight);
}

/*
 * Returns true if @seqno, according to a reset the number of the last executed request, is possible
 * (C188): a number that was sent, and not below the last acknowledged one; if a request faulted,
 * that request is the first unfinished one above @seqno. Returns false, too, if the transport
 * didn't give all requests back.
 */
static bool exec_plausible(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_engine_job *stuck = pagoda_engine_stuck(engine, seqno);
	struct pagoda_engine_job *job;

	if (seqno < engine->flight.acked_seqno || seqno > engine->flight.sent_seqno)
		return false;
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->core.state == PAGODA_JOB_SENT || (job->faulted && job != stuck))
			return false;
	return true;
}

/*
 * Counts a failure at the first job in flight that wasn't executed (@seqno: the last request that
 * was), unless that job faulted or the watchdog suspects a job. Returns true if any job in flight
 * has PAGODA_EXEC_FAILURES failures or more.
 */
static bool exec_hopeless(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_engine_job *stuck = pagoda_engine_stuck(engine, seqno);
	struct pagoda_engine_job *job;

	if (stuck && !stuck->faulted && !engine->suspect_seqno)
		stuck->failures++;
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->failures >= PAGODA_EXEC_FAILURES)
			return true;
	return false;
}

/*
 * Marks jobs as done that were executed before the reset, up to request @seqno. Returns false if
 * the reset reported an impossible @seqno, or if the engine failed too often at one job.
 */
static bool exec_apply(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->flight.lock);
	if (!exec_plausible(engine, seqno) || exec_hopeless(engine, seqno))
		return false;
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->core.state == PAGODA_JOB_WAITING && job->core.seqno &&
		    job->core.seqno <= seqno)
			pagoda_engine_end(job, 0);
	/* After a reset all requests that the engine was given count as executed. */
	engine->flight.acked_seqno = engine->flight.sent_seqno;
	return true;
}

/* Returns the first job in flight that faulted or takes too long, or NULL. */
static struct pagoda_engine_job *exec_guilty(struct pagoda_exec_engine *engine)
{
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->flight.lock);
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->core.state != PAGODA_JOB_DONE && job->core.seqno &&
		    (job->faulted || job->core.seqno == engine->suspect_seqno))
			return job;
	return NULL;
}

/* Bans the context of the guilty job, and counts the fault, or that the job hung. */
static void exec_ban_context(struct pagoda_exec_engine *engine, struct pagoda_engine_job *job,
			     bool hung)
{
	lockdep_assert_held(&engine->flight.lock);
	job->context->banned = true;
	pagoda_places_leave(job->context);
	job->core.error = hung ? -ETIME : -EFAULT;
	engine->stats.faults += !hung;
	engine->stats.timeouts += hung;
}

/*
 * Bans the context of the guilty job and tells the context's owner, before the job's fence signals.
 * The engine is paused, so that the job stays in flight.
 */
static void exec_blame(struct pagoda_exec_engine *engine, struct pagoda_engine_job *job)
{
	const struct pagoda_exec_report report = {
		.job = job->base.number,
		.engine = engine->index,
		.hung = !job->faulted,
		.fault = job->fault,
	};

	dev_dbg_ratelimited(engine->engines->args.dev,
			    PAGODA_ENGINE_NAME
			    ": context %llu job %llu %s, reason %u, address 0x%llx\n",
			    engine->index, job->context->id, report.job,
			    report.hung ? "hangs" : "faulted", report.fault.reason,
			    report.fault.address);
	spin_lock_irq(&engine->flight.lock);
	exec_ban_context(engine, job, report.hung);
	spin_unlock_irq(&engine->flight.lock);
	pagoda_exec_context_tell(job->context, &report);
}

/*
 * Resets the paused engine, and bans the context of the job that faulted or hung, if any. All jobs
 * in flight are waiting or done afterwards. Returns 0, or an error if the engine is broken.
 */
static int exec_reset(struct pagoda_exec_engine *engine)
{
	struct pagoda_transport *transport = engine->flight.transport;
	struct pagoda_reset_result result = {};
	struct pagoda_engine_job *guilty, *job;
	int ret = transport->ops->reset(transport, &result);

	spin_lock_irq(&engine->flight.lock);
	engine->stats.resets++;
	if (!ret && !exec_apply(engine, result.seqno))
		ret = -EIO;
	engine->broken = ret;
	pagoda_flight_take_back(&engine->flight);
	guilty = exec_guilty(engine);
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		job->core.seqno = 0;
	spin_unlock_irq(&engine->flight.lock);
	if (guilty)
		exec_blame(engine, guilty);
	return ret;
}

/*
 * Ends all jobs in flight and lets later jobs fail. Requests that the device has stay with the
 * transport.
 */
static void exec_gone(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->reset_lock);
	exec_pause(engine);
	spin_lock_irq(&engine->flight.lock);
	engine->gone = true;
	pagoda_flight_take_back(&engine->flight);
	spin_unlock_irq(&engine->flight.lock);
	exec_go_on(engine);
}

/**
 * pagoda_engines_gone() - End all jobs because the device is gone for good
 * @engines: The engines, held or not
 *
 * All jobs that the schedulers have handed over end with -ENODEV, except for those that were
 * executed completely, or failed, before; so do jobs that are handed over later, unless
 * &pagoda_exec_ops.image returns another error. Requests that the device has stay with the
 * transports.
 *
 * Context: may sleep, in the dma_fence signalling path too; not in &pagoda_exec_ops.banned.
 */
void pagoda_engines_gone(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		exec_gone(&engines->engine[i]);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/* Returns true if the owner has to reset the adapter: the engine is broken, not held, not gone. */
static bool exec_is_broken(struct pagoda_exec_engine *engine)
{
	bool broken;

	spin_lock_irq(&engine->flight.lock);
	broken = engine->broken && !engine->held && !engine->gone;
	spin_unlock_irq(&engine->flight.lock);
	return broken;
}

/*
 * If the engine is broken, and not held, has the owner reset the adapter, and ends all jobs of all
 * engines if the owner can't. The caller doesn't hold reset_lock.
 */
static void exec_escalate(struct pagoda_exec_engine *engine)
{
	struct pagoda_engines *engines = engine->engines;
	int ret;

	if (!exec_is_broken(engine))
		return;
	dev_err_ratelimited(engines->args.dev, PAGODA_ENGINE_NAME " can't be reset\n",
			    engine->index);
	ret = engines->args.ops->reset_adapter(engines->args.owner);
	if (!ret && !exec_is_broken(engine))
		return;
	dev_err(engines->args.dev, "the device is gone (%d)\n", ret);
	pagoda_engines_gone(engines);
}

static void exec_recover(struct pagoda_exec_engine *engine)
{
	bool may;

	mutex_lock(&engine->reset_lock);
	spin_lock_irq(&engine->flight.lock);
	may = engine->flight.need_reset && !engine->paused && !engine->held && !engine->gone;
	spin_unlock_irq(&engine->flight.lock);
	if (may) {
		exec_pause(engine);
		if (!exec_reset(engine))
			exec_go_on(engine);
	}
	mutex_unlock(&engine->reset_lock);
	exec_escalate(engine);
}

/* Returns the next waiting job that exec_lost() hasn't given up yet, or NULL. */
static struct pagoda_engine_job *exec_next_lost(struct pagoda_exec_engine *engine)
{
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->flight.lock);
	list_for_each_entry(job, &engine->flight.inflight, core.node)
		if (job->core.state == PAGODA_JOB_WAITING && !job->core.error)
			return job;
	return NULL;
}

/*
 * Ends all jobs in flight: jobs that weren't executed and hadn't failed before end with -ECANCELED,
 * and the owners of their contexts are told, unless the context is banned. The engine is paused
 * until then, so that jobs stay in flight while flight.lock is dropped. Does nothing if the device
 * is gone for good.
 */
static void exec_lost(struct pagoda_exec_engine *engine)
{
	struct pagoda_engine_job *job;

	lockdep_assert_held(&engine->reset_lock);
	/* All jobs of an engine that is gone have ended, and its transport may be freed already. */
	if (engine->gone)
		return;
	exec_pause(engine);
	engine->flight.transport->ops->poll(engine->flight.transport);
	spin_lock_irq(&engine->flight.lock);
	pagoda_flight_take_back(&engine->flight);
	while ((job = exec_next_lost(engine))) {
		spin_unlock_irq(&engine->flight.lock);
		pagoda_engine_tell_lost(job);
		spin_lock_irq(&engine->flight.lock);
		job->core.error = -ECANCELED;
	}
	/* The adapter's reset counts as execution of all requests (C193). */
	engine->flight.acked_seqno = engine->flight.sent_seqno;
	engine->flight.need_reset = false;
	spin_unlock_irq(&engine->flight.lock);
	exec_go_on(engine);
}

/*
 * If the engine refuses jobs (from a reset of the adapter until the device is rebuilt), ends all
 * jobs in flight by exec_lost(): the jobs that the scheduler handed over since the reset.
 */
static void exec_refuse(struct pagoda_exec_engine *engine)
{
	mutex_lock(&engine->reset_lock);
	if (READ_ONCE(engine->refusing))
		exec_lost(engine);
	mutex_unlock(&engine->reset_lock);
}

/*
 * Ends all jobs, and lets later jobs fail; if the device has jobs, resets the engine before, even
 * in the middle of a job.
 */
static void exec_shut_down(struct pagoda_exec_engine *engine)
{
	mutex_lock(&engine->reset_lock);
	if (!engine->gone) {
		exec_pause(engine);
		if (engine->flight.nr_sent)
			exec_reset(engine);
		exec_gone(engine);
	}
	mutex_unlock(&engine->reset_lock);
}

/*
 * Begins to collect coverage for the first job that the engine hasn't finished, which is the one
 * that faulted or hangs, if any did.
 */
static void exec_kcov_begin(struct pagoda_exec_engine *engine)
{
	struct pagoda_engine_job *job;
	struct pagoda_kcov kcov = {};

	if (!IS_ENABLED(CONFIG_KCOV))
		return;
	spin_lock_irq(&engine->flight.lock);
	job = pagoda_engine_stuck(engine, 0);
	if (job)
		kcov = job->base.kcov;
	spin_unlock_irq(&engine->flight.lock);
	pagoda_kcov_begin(kcov);
}

/*
 * Work item of an engine: ends all jobs if the engine is stopped or refuses jobs; else resets the
 * engine if that is needed.
 */
void pagoda_engine_work(struct work_struct *work)
{
	struct pagoda_exec_engine *engine = container_of(work, struct pagoda_exec_engine,
							 flight.work);
	bool cookie;

	exec_kcov_begin(engine);
	cookie = dma_fence_begin_signalling();
	if (READ_ONCE(engine->stopped))
		exec_shut_down(engine);
	else if (READ_ONCE(engine->refusing))
		exec_refuse(engine);
	else
		exec_recover(engine);
	dma_fence_end_signalling(cookie);
	pagoda_kcov_end();
}

/*
 * Returns the number of the first unfinished request if the device made no progress for the whole
 * timeout. Else arms the watchdog for the rest of the timeout, and returns 0. Only returns 0 while
 * no watchdog may act, because the device has no job, or the engine is held or (to be) reset.
 */
static u64 exec_overdue(struct pagoda_exec_engine *engine)
{
	struct pagoda_flight *flight = &engine->flight;
	struct pagoda_engine_job *job;
	u64 seqno = 0;

	spin_lock_irq(&flight->lock);
	job = pagoda_engine_stuck(engine, 0);
	if (job && flight->nr_sent && !flight->need_reset && !engine->paused && !engine->held &&
	    pagoda_flight_overdue(flight))
		seqno = job->core.seqno;
	spin_unlock_irq(&flight->lock);
	return seqno;
}

/* Handles completions for which no interrupt came, and counts them as polled. */
static void exec_poll(struct pagoda_exec_engine *engine)
{
	spin_lock_irq(&engine->flight.lock);
	engine->flight.polling = true;
	spin_unlock_irq(&engine->flight.lock);
	engine->flight.transport->ops->poll(engine->flight.transport);
	spin_lock_irq(&engine->flight.lock);
	engine->flight.polling = false;
	spin_unlock_irq(&engine->flight.lock);
}

/*
 * Resets the engine if it made no progress for the whole timeout and a poll finds no completion.
 * Runs in recover_wq.
 */
void pagoda_engine_watchdog(struct work_struct *work)
{
	struct pagoda_exec_engine *engine = container_of(work, struct pagoda_exec_engine,
							 flight.watchdog.work);
	bool cookie;
	u64 suspect;

	exec_kcov_begin(engine);
	cookie = dma_fence_begin_signalling();
	suspect = exec_overdue(engine);
	if (!suspect)
		goto out;
	exec_poll(engine);
	/* After a completion others may follow: the next request gets the whole timeout. */
	if (exec_overdue(engine) != suspect)
		goto out;
	spin_lock_irq(&engine->flight.lock);
	engine->suspect_seqno = suspect;
	engine->flight.need_reset = true;
	spin_unlock_irq(&engine->flight.lock);
	exec_recover(engine);
out:
	dma_fence_end_signalling(cookie);
	pagoda_kcov_end();
}

/**
 * pagoda_engines_hold() - Send nothing from now on, because the adapter will be reset
 * @engines: The engines
 *
 * Waits for resets of engines that have begun. Each call is undone by a pagoda_engines_resume().
 *
 * Context: may sleep, a little longer than a control command of the device may take; also allowed
 * in &pagoda_exec_ops.reset_adapter, not in &pagoda_exec_ops.banned. Doesn't allocate: may be
 * called in the dma_fence signalling path.
 */
void pagoda_engines_hold(struct pagoda_engines *engines)
{
	struct pagoda_exec_engine *engine;
	u32 i;

	for (i = 0; i < engines->count; i++) {
		engine = &engines->engine[i];
		spin_lock_irq(&engine->flight.lock);
		engine->held++;
		spin_unlock_irq(&engine->flight.lock);
	}
	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/**
 * pagoda_engines_lost() - Give up all jobs the engines had, because the adapter was reset
 * @engines: The engines, held; the device has none of the engines' requests any more, and expects
 *	the request number that follows the last number sent (C193)
 *
 * Jobs that were executed completely before are done, and jobs that failed before keep their error.
 * All others that the schedulers have handed over, including jobs that weren't sent yet, fail with
 * -ECANCELED, and &pagoda_exec_ops.banned is called for those of contexts that aren't banned. Jobs
 * handed over later run after pagoda_engines_resume(), unless pagoda_engines_refuse() was called.
 *
 * Context: may sleep, in the dma_fence signalling path too; not in &pagoda_exec_ops.banned.
 */
void pagoda_engines_lost(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		exec_lost(&engines->engine[i]);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/**
 * pagoda_engines_refuse() - Let jobs fail until pagoda_engines_resume()
 * @engines: The engines, held
 *
 * Jobs that the schedulers hand over fail with -ECANCELED, like those that pagoda_engines_lost()
 * ends; the caller calls pagoda_engines_lost() next. For an owner that can resume the engines only
 * after work which the dma_fence signalling path must not wait for: work that allocates memory, or
 * that waits for threads which wait for jobs.
 *
 * Context: any process context.
 */
void pagoda_engines_refuse(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		spin_lock_irq(&engines->engine[i].flight.lock);
		engines->engine[i].refusing = true;
		spin_unlock_irq(&engines->engine[i].flight.lock);
	}
}

/**
 * pagoda_engines_resume() - Let jobs run again, unless the engines are still held by another call
 * @engines: The engines, held
 *
 * Context: any process context; not in &pagoda_exec_ops.banned.
 */
void pagoda_engines_resume(struct pagoda_engines *engines)
{
	struct pagoda_exec_engine *engine;
	bool kick;
	u32 i;

	for (i = 0; i < engines->count; i++) {
		engine = &engines->engine[i];
		spin_lock_irq(&engine->flight.lock);
		engine->refusing &= --engine->held > 0;
		engine->flight.progress = jiffies;
		kick = pagoda_engine_send(engine);
		spin_unlock_irq(&engine->flight.lock);
		pagoda_flight_kick(&engine->flight, kick);
		pagoda_flight_retire(&engine->flight);
		/*
		 * An engine isn't reset while it is held: reset it now, if needed. Jobs that were
		 * sent need the watchdog.
		 */
		pagoda_flight_recover(&engine->flight);
		pagoda_flight_watch(&engine->flight);
	}
}
