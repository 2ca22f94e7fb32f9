// SPDX-License-Identifier: GPL-2.0
/*
 * What happens when an engine faults, hangs, forgets or is lost.
 *
 *	watchdog    no sign of life for too long: look for completions whose
 *	            interrupt was lost; if there are none, the first job hangs
 *	recover     reset the engine, believe what it says about how far it came if
 *	            that is possible at all (C188), ban the context of the job that
 *	            faulted or hung, send what is left of others again (C187)
 *	escalate    the engine can't be reset: the owner resets the adapter and calls
 *	            pagoda_engines_lost()
 *	gone        not even that: every job ends, from now on
 *
 * A fault halts the engine until it is reset, so it goes the same way as a hang, but
 * without the wait and with known guilt.
 *
 * All of it is on the way to fences: it may sleep, but not allocate with reclaim.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>

#include "exec_internal.h"

/* Nobody but the caller, who holds reset_lock, changes what is in flight. */
static void pagoda_exec_pause(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->reset_lock);
	spin_lock_irq(&engine->lock);
	engine->paused = true;
	engine->need_reset = false;
	spin_unlock_irq(&engine->lock);
}

/* Lets jobs go on, or end, in order. */
static void pagoda_exec_go_on(struct pagoda_exec_engine *engine)
{
	bool kick;

	lockdep_assert_held(&engine->reset_lock);
	spin_lock_irq(&engine->lock);
	engine->paused = false;
	engine->broken = false;
	engine->suspect_seqno = 0;
	kick = pagoda_flight_send(engine);
	spin_unlock_irq(&engine->lock);
	if (kick)
		engine->transport->ops->kick(engine->transport);
	pagoda_flight_retire(engine);
}

/**
 * pagoda_exec_stuck() - The first job that an engine was given and isn't through with
 * @engine: Engine
 * @seqno: It has executed all up to this one, whether it said so or not; 0: what it said
 *
 * Context: engine->lock held.
 * Return: The job; NULL if there is none.
 */
struct pagoda_exec_flight *pagoda_exec_stuck(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_exec_flight *job;

	lockdep_assert_held(&engine->lock);
	list_for_each_entry(job, &engine->inflight, node)
		if (job->state != PAGODA_EXEC_DONE && job->seqno > seqno)
			return job;
	return NULL;
}

/* Whether an answer fits what was submitted, acknowledged and refused before (C188). */
static bool pagoda_exec_plausible(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_exec_flight *stuck = pagoda_exec_stuck(engine, seqno);
	struct pagoda_exec_flight *job;

	if (seqno < engine->acked_seqno || seqno > engine->sent_seqno)
		return false;
	list_for_each_entry(job, &engine->inflight, node)
		if (job->state == PAGODA_EXEC_SENT || (job->faulted && job != stuck))
			return false;
	return true;
}

/* Whether the engine fails at a job for no reason again and again. */
static bool pagoda_exec_hopeless(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_exec_flight *stuck = pagoda_exec_stuck(engine, seqno);
	struct pagoda_exec_flight *job;

	if (stuck && !stuck->faulted && !engine->suspect_seqno)
		stuck->failures++;
	list_for_each_entry(job, &engine->inflight, node)
		if (job->failures >= PAGODA_EXEC_FAILURES)
			return true;
	return false;
}

/*
 * Marks what was executed as done and makes the rest fit to be sent again. False if
 * the answer can't be, or there is no hope.
 */
static bool pagoda_exec_apply(struct pagoda_exec_engine *engine, u64 seqno)
{
	struct pagoda_exec_flight *job;

	lockdep_assert_held(&engine->lock);
	if (!pagoda_exec_plausible(engine, seqno) || pagoda_exec_hopeless(engine, seqno))
		return false;
	list_for_each_entry(job, &engine->inflight, node)
		if (job->state == PAGODA_EXEC_WAITING && job->seqno && job->seqno <= seqno)
			pagoda_flight_end(job, 0);
	/* All it was given counts as executed. */
	engine->acked_seqno = engine->sent_seqno;
	return true;
}

/* Who is to blame, if anybody is. */
static struct pagoda_exec_flight *pagoda_exec_guilty(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;

	lockdep_assert_held(&engine->lock);
	list_for_each_entry(job, &engine->inflight, node)
		if (job->state != PAGODA_EXEC_DONE && job->seqno &&
		    (job->faulted || job->seqno == engine->suspect_seqno))
			return job;
	return NULL;
}

/* Paused: the job stays where it is. Its owner knows before its fence signals. */
static void pagoda_exec_blame(struct pagoda_exec_engine *engine, struct pagoda_exec_flight *job)
{
	const struct pagoda_exec_report report = {
		.job = job->base.number,
		.engine = engine->index,
		.hung = !job->faulted,
		.fault = job->fault,
	};

	dev_dbg_ratelimited(engine->engines->args.dev,
			    "engine %u: context %llu job %llu %s, reason %u, address 0x%llx\n",
			    engine->index, job->context->id, report.job,
			    report.hung ? "hangs" : "faulted", report.fault.reason,
			    report.fault.address);
	spin_lock_irq(&engine->lock);
	job->context->banned = true;
	job->error = report.hung ? -ETIME : -EFAULT;
	engine->stats.faults += !report.hung;
	engine->stats.timeouts += report.hung;
	spin_unlock_irq(&engine->lock);
	pagoda_exec_context_tell(job->context, &report);
}

/* Resets the engine; what is in flight waits afterwards, or is done. */
static int pagoda_exec_reset(struct pagoda_exec_engine *engine)
{
	struct pagoda_transport *transport = engine->transport;
	struct pagoda_reset_result result = {};
	struct pagoda_exec_flight *guilty, *job;
	int ret = transport->ops->reset(transport, &result);

	spin_lock_irq(&engine->lock);
	engine->stats.resets++;
	if (!ret && !pagoda_exec_apply(engine, result.seqno))
		ret = -EIO;
	engine->broken = ret;
	pagoda_flight_take_back(engine);
	guilty = pagoda_exec_guilty(engine);
	list_for_each_entry(job, &engine->inflight, node)
		job->seqno = 0;
	spin_unlock_irq(&engine->lock);
	if (guilty)
		pagoda_exec_blame(engine, guilty);
	return ret;
}

/* Ends all jobs; what the device has it keeps. */
static void pagoda_exec_gone(struct pagoda_exec_engine *engine)
{
	lockdep_assert_held(&engine->reset_lock);
	pagoda_exec_pause(engine);
	spin_lock_irq(&engine->lock);
	engine->gone = true;
	pagoda_flight_take_back(engine);
	spin_unlock_irq(&engine->lock);
	pagoda_exec_go_on(engine);
}

/**
 * pagoda_engines_gone() - Nothing is ever executed again
 * @engines: The engines, held or not
 *
 * All jobs end with -ENODEV but for those that were executed whole before; what the
 * device has it keeps.
 *
 * Context: as pagoda_engines_hold().
 */
void pagoda_engines_gone(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		pagoda_exec_gone(&engines->engine[i]);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/* True if the owner is to reset the adapter, and isn't at it already. */
static bool pagoda_exec_is_broken(struct pagoda_exec_engine *engine)
{
	bool broken;

	spin_lock_irq(&engine->lock);
	broken = engine->broken && !engine->held && !engine->gone;
	spin_unlock_irq(&engine->lock);
	return broken;
}

/* Without reset_lock: the owner's reset takes it. */
static void pagoda_exec_escalate(struct pagoda_exec_engine *engine)
{
	struct pagoda_engines *engines = engine->engines;
	int ret;

	if (!pagoda_exec_is_broken(engine))
		return;
	dev_err_ratelimited(engines->args.dev, "engine %u can't be reset\n", engine->index);
	ret = engines->args.ops->reset_adapter(engines->args.owner);
	if (!ret && !pagoda_exec_is_broken(engine))
		return;
	dev_err(engines->args.dev, "the device is gone (%d)\n", ret);
	pagoda_engines_gone(engines);
}

static bool pagoda_exec_may_recover(struct pagoda_exec_engine *engine)
{
	bool may;

	spin_lock_irq(&engine->lock);
	may = engine->need_reset && !engine->paused && !engine->held && !engine->gone;
	spin_unlock_irq(&engine->lock);
	return may;
}

static void pagoda_exec_recover(struct pagoda_exec_engine *engine)
{
	mutex_lock(&engine->reset_lock);
	if (pagoda_exec_may_recover(engine)) {
		pagoda_exec_pause(engine);
		if (!pagoda_exec_reset(engine))
			pagoda_exec_go_on(engine);
	}
	mutex_unlock(&engine->reset_lock);
	pagoda_exec_escalate(engine);
}

/* The next job that is lost and whose owner doesn't know yet. */
static struct pagoda_exec_flight *pagoda_exec_next_lost(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;

	list_for_each_entry(job, &engine->inflight, node)
		if (job->state == PAGODA_EXEC_WAITING && !job->error)
			return job;
	return NULL;
}

/* Paused, so that jobs stay where they are without the lock. */
static void pagoda_exec_lost(struct pagoda_exec_engine *engine)
{
	struct pagoda_exec_flight *job;

	/* All jobs have ended, and the transport may be gone too. */
	if (engine->gone)
		return;
	pagoda_exec_pause(engine);
	engine->transport->ops->poll(engine->transport);
	spin_lock_irq(&engine->lock);
	pagoda_flight_take_back(engine);
	while ((job = pagoda_exec_next_lost(engine))) {
		spin_unlock_irq(&engine->lock);
		pagoda_flight_tell_lost(job);
		spin_lock_irq(&engine->lock);
		job->error = -ECANCELED;
	}
	/* C193. */
	engine->acked_seqno = engine->sent_seqno;
	engine->need_reset = false;
	spin_unlock_irq(&engine->lock);
	pagoda_exec_go_on(engine);
}

/* The device has nothing; what came meanwhile isn't waited with. */
static void pagoda_exec_refuse(struct pagoda_exec_engine *engine)
{
	mutex_lock(&engine->reset_lock);
	if (READ_ONCE(engine->refusing))
		pagoda_exec_lost(engine);
	mutex_unlock(&engine->reset_lock);
}

/* Stops the engine in the middle of what it does; all jobs end. */
static void pagoda_exec_shut_down(struct pagoda_exec_engine *engine)
{
	mutex_lock(&engine->reset_lock);
	if (!engine->gone) {
		pagoda_exec_pause(engine);
		if (engine->nr_sent)
			pagoda_exec_reset(engine);
		pagoda_exec_gone(engine);
	}
	mutex_unlock(&engine->reset_lock);
}

/**
 * pagoda_exec_work() - Recover if the engine needs it, or end all jobs
 * @work: pagoda_exec_engine.work
 *
 * Context: recover_wq.
 */
void pagoda_exec_work(struct work_struct *work)
{
	struct pagoda_exec_engine *engine = container_of(work, struct pagoda_exec_engine, work);
	bool cookie = dma_fence_begin_signalling();

	if (READ_ONCE(engine->stopped))
		pagoda_exec_shut_down(engine);
	else if (READ_ONCE(engine->refusing))
		pagoda_exec_refuse(engine);
	else
		pagoda_exec_recover(engine);
	dma_fence_end_signalling(cookie);
}

/* The request the device is at if it was silent for the whole timeout, else 0. */
static u64 pagoda_exec_overdue(struct pagoda_exec_engine *engine)
{
	struct pagoda_engines *engines = engine->engines;
	unsigned long timeout = msecs_to_jiffies(engines->args.timeout_ms);
	struct pagoda_exec_flight *job;
	unsigned long due, now;
	u64 seqno = 0;

	spin_lock_irq(&engine->lock);
	now = jiffies;
	due = engine->progress + timeout;
	job = pagoda_exec_stuck(engine, 0);
	if (job && engine->nr_sent && !engine->need_reset && !engine->paused && !engine->held)
		seqno = job->seqno;
	spin_unlock_irq(&engine->lock);
	if (!seqno || !time_before(now, due))
		return seqno;
	queue_delayed_work(engines->recover_wq, &engine->watchdog, due - now);
	return 0;
}

/* Handles completions that are there although no interrupt told. */
static void pagoda_exec_poll(struct pagoda_exec_engine *engine)
{
	spin_lock_irq(&engine->lock);
	engine->polling = true;
	spin_unlock_irq(&engine->lock);
	engine->transport->ops->poll(engine->transport);
	spin_lock_irq(&engine->lock);
	engine->polling = false;
	spin_unlock_irq(&engine->lock);
}

/**
 * pagoda_exec_watchdog() - Look whether the engine is still alive
 * @work: pagoda_exec_engine.watchdog
 *
 * Context: recover_wq.
 */
void pagoda_exec_watchdog(struct work_struct *work)
{
	struct pagoda_exec_engine *engine = container_of(work, struct pagoda_exec_engine,
							 watchdog.work);
	bool cookie = dma_fence_begin_signalling();
	u64 suspect = pagoda_exec_overdue(engine);

	if (!suspect)
		goto out;
	pagoda_exec_poll(engine);
	/* If it was there, the rest may be on its way and has its whole time. */
	if (pagoda_exec_overdue(engine) != suspect)
		goto out;
	spin_lock_irq(&engine->lock);
	engine->suspect_seqno = suspect;
	engine->need_reset = true;
	spin_unlock_irq(&engine->lock);
	pagoda_exec_recover(engine);
out:
	dma_fence_end_signalling(cookie);
}

/**
 * pagoda_engines_hold() - Send nothing from now on, because the adapter will be reset
 * @engines: The engines
 *
 * Waits for resets of engines that have begun. Counted; pagoda_engines_resume() ends it.
 *
 * Context: may sleep, a little more than a command may take; also in
 * pagoda_exec_ops.reset_adapter, not in pagoda_exec_ops.banned. Doesn't allocate: may
 * be on the way to a fence.
 */
void pagoda_engines_hold(struct pagoda_engines *engines)
{
	struct pagoda_exec_engine *engine;
	u32 i;

	for (i = 0; i < engines->count; i++) {
		engine = &engines->engine[i];
		spin_lock_irq(&engine->lock);
		engine->held++;
		spin_unlock_irq(&engine->lock);
	}
	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/**
 * pagoda_engines_lost() - The adapter was reset: all the engines had is lost
 * @engines: The engines, held; the device has nothing of theirs any more and goes on
 *	with the number behind the last it was given (C193)
 *
 * Jobs that were executed whole before are done; the others fail with -ECANCELED,
 * and the owners of contexts that aren't to blame are told. Jobs that the engines didn't
 * have yet run after pagoda_engines_resume(), unless they are refused until then.
 *
 * Context: as pagoda_engines_hold().
 */
void pagoda_engines_lost(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		mutex_lock(&engines->engine[i].reset_lock);
		pagoda_exec_lost(&engines->engine[i]);
		mutex_unlock(&engines->engine[i].reset_lock);
	}
}

/**
 * pagoda_engines_refuse() - Let jobs fail until pagoda_engines_resume()
 * @engines: The engines, held
 *
 * As those that pagoda_engines_lost() ends, which follows. For who can resume only after
 * work that must not be waited for on the way to a fence: memory is allocated for it, or
 * it waits for who waits for jobs.
 *
 * Context: as pagoda_engines_hold().
 */
void pagoda_engines_refuse(struct pagoda_engines *engines)
{
	u32 i;

	for (i = 0; i < engines->count; i++) {
		spin_lock_irq(&engines->engine[i].lock);
		engines->engine[i].refusing = true;
		spin_unlock_irq(&engines->engine[i].lock);
	}
}

/**
 * pagoda_engines_resume() - Let jobs through again
 * @engines: The engines, held
 *
 * Context: may sleep; as pagoda_engines_hold().
 */
void pagoda_engines_resume(struct pagoda_engines *engines)
{
	struct pagoda_exec_engine *engine;
	bool kick;
	u32 i;

	for (i = 0; i < engines->count; i++) {
		engine = &engines->engine[i];
		spin_lock_irq(&engine->lock);
		engine->refusing &= --engine->held > 0;
		engine->progress = jiffies;
		kick = pagoda_flight_send(engine);
		spin_unlock_irq(&engine->lock);
		if (kick)
			engine->transport->ops->kick(engine->transport);
		pagoda_flight_retire(engine);
		/* It may have waited with a reset, and what was sent is watched again. */
		queue_work(engines->recover_wq, &engine->work);
		pagoda_flight_watch(engine);
	}
}
