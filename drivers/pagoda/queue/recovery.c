// SPDX-License-Identifier: GPL-2.0
/*
 * Recovery from a device that refuses, loses or forgets a submission.
 *
 *	watchdog    no progress for too long: look for completions that came
 *	            without an interrupt; recover if there are none, or after a failure
 *	recover     hold new jobs back, reset the device's queue, accept the progress
 *	            that the device reports if possible at all, and continue behind it:
 *	            with unchanged numbers, in order, before any newer job
 *	rescue      a packet that the device fails at for the third time is executed
 *	            by the CPU, with the rest of its buffer
 *	lost        the CPU can't execute the job either: the owner marks the content
 *	            lost, and the queue escalates if the owner says that the device must
 *	            not continue without the job's effect
 *	escalate    the device's queue couldn't be reset, or a reset of the whole device
 *	            was requested: the owner resets the device, and all requests that the
 *	            device was given count as executed (C193)
 *	closed      jobs that were in flight, and jobs pushed until the restart, are given
 *	            up in order: the content of the device's memory is unknown
 *	restart     called by the owner once the device's memory is rebuilt
 *	dead        the whole device can't be reset either: the CPU executes everything
 *
 * Unless the queue escalates, a job that was rescued or lost is still sent, with nothing left to
 * execute, so that the device's numbers have no gaps and the job's fence keeps its place.
 *
 * All recovery runs in recover_wq, one work item at a time, in the dma_fence signalling path: a
 * work item may sleep, but neither allocates with reclaim nor waits for a thread that does so. The
 * owner's rebuild of the device's memory isn't in that path.
 */
#include <linux/device.h>
#include <linux/dma-fence.h>

#include "internal.h"

/*
 * Keeps the queue from sending jobs until pagoda_queue_resume() (C23). With @polling, completions
 * until then count as found without an interrupt. Returns the number of completions so far that
 * count so. Runs in recover_wq.
 */
u64 pagoda_queue_hold(struct pagoda_queue *queue, bool polling)
{
	u64 polled;

	spin_lock_irq(&queue->flight.lock);
	queue->held = true;
	queue->flight.polling = polling;
	polled = queue->flight.polled;
	spin_unlock_irq(&queue->flight.lock);
	return polled;
}

/* Ends pagoda_queue_hold(), and sends waiting jobs by pagoda_queue_send(). Runs in recover_wq. */
void pagoda_queue_resume(struct pagoda_queue *queue)
{
	bool kick;

	spin_lock_irq(&queue->flight.lock);
	queue->held = false;
	queue->flight.polling = false;
	queue->flight.progress = jiffies;
	kick = pagoda_queue_send(queue);
	spin_unlock_irq(&queue->flight.lock);
	pagoda_flight_kick(&queue->flight, kick);
}

/*
 * Counts the device's failures in a row at the packet at @offset; after more than
 * PAGODA_QUEUE_REPLAYS failures the CPU executes the rest of the job.
 */
static void job_failed(struct pagoda_paging_job *job, u32 offset)
{
	job->start = max(job->start, offset);
	if (job->failures && job->failed_at == job->start) {
		job->failures++;
	} else {
		job->failures = 1;
		job->failed_at = job->start;
	}
	job->rescue = job->failures > PAGODA_QUEUE_REPLAYS;
}

/*
 * Marks jobs that the device executed before its reset as done, and has the next job continue at
 * the offset that the device reached. Returns false if a job wasn't taken back, the reset's result
 * doesn't fit the jobs sent and acknowledged before, or the device fails at an empty job.
 */
static bool reset_apply(struct pagoda_queue *queue, const struct pagoda_reset_result *result)
{
	struct pagoda_paging_job *job, *next = NULL;

	lockdep_assert_held(&queue->flight.lock);
	if (result->seqno < queue->flight.acked_seqno || result->seqno > queue->flight.sent_seqno)
		return false;
	list_for_each_entry(job, &queue->flight.inflight, core.node) {
		if (job->core.state == PAGODA_JOB_SENT)
			return false;
		if (job->base.seqno == result->seqno + 1 && job->core.sent_before)
			next = job;
	}
	if (result->offset && (!next || result->offset > next->base.built ||
			       result->offset % VIRTIO_PAGODA_PACKET_ALIGN))
		return false;
	if (next)
		job_failed(next, result->offset);
	/* The device fails at a job with nothing left to execute: replays would never end. */
	if (next && next->rescue && next->finished)
		return false;
	list_for_each_entry(job, &queue->flight.inflight, core.node)
		if (job->base.seqno <= result->seqno)
			job->core.state = PAGODA_JOB_DONE;
	queue->flight.acked_seqno = result->seqno;
	return true;
}

/*
 * Executes the first job in flight on the CPU, unless the job is to be given up. If the job fails
 * or is given up, reports the job to the owner as lost. Returns true if the device must not
 * continue without the job's effect.
 */
static bool job_finish(struct pagoda_paging_job *job)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);
	const struct pagoda_queue_ops *ops = queue->args.ops;
	void *owner = queue->args.owner;
	bool doomed, fatal = false;
	u32 stopped_at = job->start;
	int ret = 0;

	pagoda_kcov_begin(job->base.kcov);
	spin_lock_irq(&queue->flight.lock);
	doomed = pagoda_queue_dooms(job);
	spin_unlock_irq(&queue->flight.lock);
	if (job->refused)
		ret = -ENODEV;
	else if (doomed || !ops->execute ||
		 ops->execute(owner, &job->base, job->start, &stopped_at))
		ret = -EIO;
	if (ret && ops->lost)
		fatal = ops->lost(owner, &job->base, min(stopped_at, job->base.built), ret);
	spin_lock_irq(&queue->flight.lock);
	job->finished = true;
	job->rescue = false;
	job->failures = 0;
	job->start = job->base.built;
	job->core.error = ret;
	queue->stats.lost += !!ret;
	queue->stats.given_up += ret && doomed;
	queue->stats.rescued += !ret && queue->mode != PAGODA_QUEUE_CPU;
	fatal &= queue->mode == PAGODA_QUEUE_DEVICE && !doomed && !job->refused;
	spin_unlock_irq(&queue->flight.lock);
	pagoda_kcov_end();
	return fatal;
}

/* Returns the first job in flight if the CPU has to execute it or give it up, else NULL. */
static struct pagoda_paging_job *queue_cpu_job(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;

	spin_lock_irq(&queue->flight.lock);
	job = pagoda_queue_first(queue);
	if (job && (job->core.state != PAGODA_JOB_WAITING ||
		    (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused && !job->rescue &&
		     !pagoda_queue_dooms(job))))
		job = NULL;
	spin_unlock_irq(&queue->flight.lock);
	return job;
}

/*
 * Has a job that is given up, and that the device never got or lost in a reset (C193), count as if
 * the device had been sent the job and had finished it. Does nothing if the CPU executes all jobs,
 * or if the job was pushed after pagoda_queue_stop(), because the device gets no more jobs then.
 * Caller holds flight.lock.
 */
static void job_skip(struct pagoda_paging_job *job)
{
	struct pagoda_queue *queue = pagoda_queue_of(job);

	lockdep_assert_held(&queue->flight.lock);
	if (queue->mode != PAGODA_QUEUE_DEVICE || job->refused)
		return;
	queue->skipped += !job->core.sent_before;
	queue->flight.sent_seqno = job->base.seqno;
	queue->flight.acked_seqno = job->base.seqno;
}

static int queue_reset_device(struct pagoda_queue *queue, u32 asked, bool broken)
{
	const struct pagoda_queue_ops *ops = queue->args.ops;
	int ret;

	if (!ops->reset_adapter)
		return -EOPNOTSUPP;
	ret = ops->reset_adapter(queue->args.owner, asked, broken);
	/* Collect the requests that the reset returned: jobs executed before the reset get done. */
	if (!ret && queue->mode == PAGODA_QUEUE_DEVICE)
		queue->flight.transport->ops->poll(queue->flight.transport);
	return ret;
}

/*
 * Closes the queue, then resets the whole device; pagoda_queue_restart() fails until the reset is
 * over. Returns 0, or an error: then the queue isn't closed, unless an earlier reset closed it, and
 * the CPU executes everything.
 */
static int queue_reset_whole(struct pagoda_queue *queue, bool broken)
{
	struct pagoda_transport *transport = queue->flight.transport;
	struct pagoda_reset_result result;
	bool was_closed;
	u32 asked;
	int ret;

	spin_lock_irq(&queue->flight.lock);
	was_closed = queue->closed;
	queue->closed = true;
	/* This reset answers all calls of pagoda_queue_reset_adapter() so far. */
	asked = queue->adapter_wanted;
	queue->adapter_wanted = 0;
	queue->adapter_busy = true;
	ret = queue->mode == PAGODA_QUEUE_DEAD ? -ENODEV : 0;
	spin_unlock_irq(&queue->flight.lock);
	if (!ret)
		ret = queue_reset_device(queue, asked, broken);
	/* The device's queue may still work although the device can't be reset: stop the queue. */
	if (ret && !broken && queue->mode == PAGODA_QUEUE_DEVICE)
		transport->ops->reset(transport, &result);
	spin_lock_irq(&queue->flight.lock);
	queue->flight.need_reset = false;
	pagoda_flight_take_back(&queue->flight);
	if (ret)
		queue->closed = was_closed;
	if (ret && queue->mode == PAGODA_QUEUE_DEVICE)
		queue->mode = PAGODA_QUEUE_DEAD;
	queue->adapter_busy = false;
	queue->adapter_result = ret;
	queue->adapter_tries++;
	wake_up_all(&queue->adapter_done);
	spin_unlock_irq(&queue->flight.lock);
	if (ret)
		dev_err(queue->args.dev, "the device can't be reset (%d), the CPU takes over\n",
			ret);
	return ret;
}

/*
 * Resets the whole device, which can't continue otherwise after a failure. Returns 0, or an error,
 * after which the CPU executes everything. Runs in recover_wq with the queue held; the caller
 * retires jobs, runs the CPU's jobs and resumes the queue.
 */
int pagoda_queue_escalate(struct pagoda_queue *queue)
{
	return queue_reset_whole(queue, true);
}

/*
 * Called after a reset of the whole device because the device's queue couldn't be reset: marks the
 * job at which the device failed as the one to blame, the first job in flight. A job that the
 * device never got broke nothing; jobs behind it are only given up. A reset for another reason is
 * the fault of no job that it gives up: a lost job that left wrong mappings is reported before the
 * reset.
 */
static void queue_blame(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;

	spin_lock_irq(&queue->flight.lock);
	job = pagoda_queue_first(queue);
	if (job && job->core.sent_before)
		job->base.to_blame = true;
	spin_unlock_irq(&queue->flight.lock);
}

/*
 * Executes on the CPU, or gives up, the first jobs in flight, up to the first that the device is to
 * get, maybe empty. The caller resumes the queue, which is held if the whole device was reset. Runs
 * in recover_wq.
 */
void pagoda_queue_run_cpu(struct pagoda_queue *queue)
{
	struct pagoda_paging_job *job;

	while ((job = queue_cpu_job(queue))) {
		if (!job->finished && job_finish(job)) {
			pagoda_queue_hold(queue, false);
			pagoda_queue_escalate(queue);
		}
		spin_lock_irq(&queue->flight.lock);
		/* The device still gets the job, now empty, so that its numbers have no gaps. */
		if (queue->mode == PAGODA_QUEUE_DEVICE && !job->refused &&
		    !pagoda_queue_dooms(job)) {
			spin_unlock_irq(&queue->flight.lock);
			return;
		}
		job_skip(job);
		job->core.state = PAGODA_JOB_DONE;
		spin_unlock_irq(&queue->flight.lock);
		pagoda_flight_retire(&queue->flight);
	}
}

/* Resets the whole device if a reset was requested; returns whether one was. In recover_wq. */
static bool queue_answer_asked(struct pagoda_queue *queue)
{
	if (!READ_ONCE(queue->adapter_wanted))
		return false;
	pagoda_queue_hold(queue, false);
	queue_reset_whole(queue, false);
	pagoda_flight_retire(&queue->flight);
	pagoda_queue_run_cpu(queue);
	pagoda_queue_resume(queue);
	return true;
}

static void queue_recover(struct pagoda_queue *queue)
{
	struct pagoda_transport *transport = queue->flight.transport;
	struct pagoda_reset_result result = {};
	bool blame = false;
	int ret;

	pagoda_queue_hold(queue, false);
	ret = transport->ops->reset(transport, &result);
	spin_lock_irq(&queue->flight.lock);
	queue->stats.resets++;
	queue->flight.need_reset = false;
	/* The device counts only the jobs that it got: add the jobs that were given up unsent. */
	result.seqno += queue->skipped;
	if (!ret && !reset_apply(queue, &result))
		ret = -EIO;
	spin_unlock_irq(&queue->flight.lock);
	if (!ret) {
		dev_warn_ratelimited(queue->args.dev,
				     "paging queue reset, resuming at request %llu, offset %u\n",
				     result.seqno + 1, result.offset);
	} else {
		dev_err_ratelimited(queue->args.dev, "paging queue can't be reset (%d)\n", ret);
		blame = !pagoda_queue_escalate(queue);
	}
	pagoda_flight_retire(&queue->flight);
	if (blame)
		queue_blame(queue);
	pagoda_queue_run_cpu(queue);
	pagoda_queue_resume(queue);
}

/*
 * Work item of the paging queue: resets the whole device or the device's queue, if needed or
 * requested, then calls pagoda_queue_run_cpu() for the first jobs in flight, and sends the jobs
 * that wait. Runs in recover_wq.
 */
void pagoda_queue_work(struct work_struct *work)
{
	struct pagoda_queue *queue = container_of(work, struct pagoda_queue, flight.work);
	bool cookie = dma_fence_begin_signalling();

	if (!queue_answer_asked(queue) && READ_ONCE(queue->flight.need_reset))
		queue_recover(queue);
	pagoda_queue_run_cpu(queue);
	/* Send the jobs that waited until jobs before them were executed by the CPU or given up. */
	pagoda_queue_resume(queue);
	dma_fence_end_signalling(cookie);
}

/*
 * Returns true if the device has a request, and made no progress for the whole timeout. If the
 * device has a request and the timeout isn't over, arms the watchdog for the rest of the timeout.
 */
static bool queue_overdue(struct pagoda_queue *queue)
{
	bool overdue;

	spin_lock_irq(&queue->flight.lock);
	overdue = queue->flight.nr_sent && pagoda_flight_overdue(&queue->flight);
	spin_unlock_irq(&queue->flight.lock);
	return overdue;
}

/* Returns true if a poll found completions and no failure. Leaves the queue held. */
static bool queue_poll(struct pagoda_queue *queue)
{
	struct pagoda_transport *transport = queue->flight.transport;
	u64 before = pagoda_queue_hold(queue, true);
	bool found;

	transport->ops->poll(transport);
	spin_lock_irq(&queue->flight.lock);
	found = queue->flight.polled != before && !queue->flight.need_reset;
	spin_unlock_irq(&queue->flight.lock);
	return found;
}

/*
 * Resets the device's queue if the device made no progress for too long, and a poll finds a failure
 * or no completion. Runs in recover_wq.
 */
void pagoda_queue_watchdog(struct work_struct *work)
{
	struct pagoda_queue *queue = container_of(work, struct pagoda_queue, flight.watchdog.work);
	bool cookie = dma_fence_begin_signalling();

	if (!queue_overdue(queue))
		goto out;
	if (queue_poll(queue)) {
		pagoda_queue_resume(queue);
		/* Further completions may follow: give the device the whole timeout again. */
		queue_overdue(queue);
	} else {
		queue_recover(queue);
	}
out:
	dma_fence_end_signalling(cookie);
}

/**
 * pagoda_queue_reset_adapter() - Reset the whole device
 * @queue: The queue; its owner has a reset_adapter()
 * @reasons: Bits to be set in @asked of &pagoda_queue_ops.reset_adapter, not 0
 *
 * Returns when the reset is over; if it succeeded, jobs that were in flight and not executed are
 * given up then or soon after. Calls made before the reset begins share that reset, which gets the
 * reasons of all these calls; a call made during a reset causes another reset.
 *
 * Context: may sleep for some seconds, but doesn't allocate: may be called in the dma_fence
 * signalling path. Not to be called from an operation of the queue.
 * Return: 0, or the error of the reset, after which the CPU executes everything.
 */
int pagoda_queue_reset_adapter(struct pagoda_queue *queue, u32 reasons)
{
	u32 want;
	int ret;

	spin_lock_irq(&queue->flight.lock);
	want = queue->adapter_tries + 1 + queue->adapter_busy;
	queue->adapter_wanted |= reasons;
	spin_unlock_irq(&queue->flight.lock);
	pagoda_flight_recover(&queue->flight);
	wait_event(queue->adapter_done, (s32)(READ_ONCE(queue->adapter_tries) - want) >= 0);
	spin_lock_irq(&queue->flight.lock);
	ret = queue->adapter_result;
	spin_unlock_irq(&queue->flight.lock);
	return ret;
}

/**
 * pagoda_queue_is_closed() - Check whether pushed jobs are given up
 * @queue: The queue
 *
 * Context: any. The lock that orders arm and push only keeps pagoda_queue_restart() from opening
 * the queue: a reset of the device closes the queue, and undoes that if the reset fails.
 * Return: True if the device is being reset, or was reset and its memory isn't rebuilt yet.
 */
bool pagoda_queue_is_closed(struct pagoda_queue *queue)
{
	return READ_ONCE(queue->closed);
}

/* Opens the queue if it is closed; returns false if a reset of the device is in progress. */
static bool queue_open(struct pagoda_queue *queue)
{
	lockdep_assert_held(&queue->flight.lock);
	if (queue->adapter_busy)
		return false;
	if (queue->closed)
		queue->doomed_id = queue->last_id;
	queue->closed = false;
	return true;
}

/**
 * pagoda_queue_restart() - Give the device work again after its memory was rebuilt
 * @queue: The queue
 *
 * If the queue was closed, jobs of all lines that were armed before the call and haven't ended are
 * given up, before or after the return; else nothing changes. The next job armed may be the first
 * that the device executes, with the number that follows the last number sent to the device.
 *
 * Context: doesn't sleep. The lock that orders arm and push is held, and all armed jobs are pushed.
 * Return: False if a reset of the device is in progress: the queue stays closed.
 */
bool pagoda_queue_restart(struct pagoda_queue *queue)
{
	bool opened;

	spin_lock_irq(&queue->flight.lock);
	opened = queue_open(queue);
	spin_unlock_irq(&queue->flight.lock);
	return opened;
}
