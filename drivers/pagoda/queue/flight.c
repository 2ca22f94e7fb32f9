// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of the paging queue and of the engines: set-up, dependencies and arm; jobs in flight, from
 * run_job to the signalled fence; free_job.
 *
 * No function of this file sleeps or allocates in the dma_fence signalling path, but for
 * &pagoda_flight_ops.ended, which may sleep: pagoda_job_init() allocates what a job needs.
 */
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>
#include "core/compat.h"
#include "flight.h"

/*
 * Fence of the device's work on a job; the scheduler's fence holds it as its parent as long as the
 * scheduler's fence exists. User space may keep the scheduler's fence when this module is gone: a
 * signalled fence of the device's work uses nothing of this module. The fence's memory is freed by
 * dma_fence_free(), for which @base is first; for the fence's operations see
 * pagoda_fence_detach_ops().
 * @lock protects this fence alone, so the scheduler may use the fence with any other lock held.
 * @name is the name of the scheduler, which stays valid as long as the kernel may ask for it.
 */
struct hw_fence {
	struct dma_fence base;
	spinlock_t lock; /* lock of @base, given to dma_fence_init() */
	const char *name;
};

static const char *hw_fence_driver_name(struct dma_fence *fence)
{
	return "pagoda";
}

static const char *hw_fence_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct hw_fence, base)->name;
}

static const struct dma_fence_ops hw_fence_ops = {
	.get_driver_name = hw_fence_driver_name,
	.get_timeline_name = hw_fence_timeline_name,
};

static struct dma_fence *hw_fence_alloc(void)
{
	struct hw_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	spin_lock_init(&fence->lock);
	return &fence->base;
}

/* Frees a fence, or NULL, that was not initialized with dma_fence_init(). */
static void hw_fence_free(struct dma_fence *fence)
{
	if (fence)
		kfree(container_of(fence, struct hw_fence, base));
}

/*
 * Lockdep classes of &pagoda_flight.signal_lock and &pagoda_flight.lock, for each kind of timeline:
 * all engines have the same two classes.
 */
static struct lock_class_key flight_keys[PAGODA_TIMELINE_COUNT][2];

/*
 * Initializes @flight, in which the caller has set the members from @ops to @index, and zeroed all
 * others. @depth is the most jobs in flight at once. Returns 0 or the error of
 * pagoda_scheduler_create().
 */
int pagoda_flight_init(struct pagoda_flight *flight, struct workqueue_struct *submit_wq, u32 depth)
{
	const struct pagoda_sched_args args = {
		.ops = &flight->ops->sched,
		.submit_wq = submit_wq,
		.priorities = flight->ops->priorities,
		.credit_limit = depth,
		.dev = flight->dev,
	};

	INIT_WORK(&flight->work, flight->ops->work);
	INIT_DELAYED_WORK(&flight->watchdog, flight->ops->watchdog);
	flight->hw_context = dma_fence_context_alloc(1);
	flight->hw_ops = &hw_fence_ops;
	pagoda_fence_detach_ops(&flight->hw_ops);
	spin_lock_init(&flight->signal_lock);
	spin_lock_init(&flight->lock);
	lockdep_set_class(&flight->signal_lock, &flight_keys[flight->ops->timeline][0]);
	lockdep_set_class(&flight->lock, &flight_keys[flight->ops->timeline][1]);
	INIT_LIST_HEAD(&flight->inflight);
	init_waitqueue_head(&flight->drained);
	flight->sched = pagoda_scheduler_create(flight->ops->timeline, flight->index, &args);
	return PTR_ERR_OR_ZERO(flight->sched);
}

/* Undoes pagoda_flight_init(); there are no more entities and jobs. */
void pagoda_flight_fini(struct pagoda_flight *flight)
{
	pagoda_scheduler_destroy(flight->sched);
}

/* Returns the number of done jobs at the front of flight->inflight. */
static u32 flight_count(struct pagoda_flight *flight)
{
	struct pagoda_job *job;
	u32 count = 0;

	spin_lock(&flight->lock);
	list_for_each_entry(job, &flight->inflight, node) {
		if (job->state != PAGODA_JOB_DONE)
			break;
		count++;
	}
	spin_unlock(&flight->lock);
	return count;
}

/*
 * Removes the first job from flight->inflight, then signals its fence. Afterwards the job must not
 * be used: the scheduler may free it. Caller holds &pagoda_flight.signal_lock.
 */
static void flight_signal_first(struct pagoda_flight *flight)
{
	struct pagoda_job *job;
	struct dma_fence *hw;

	lockdep_assert_held(&flight->signal_lock);
	spin_lock(&flight->lock);
	job = list_first_entry(&flight->inflight, struct pagoda_job, node);
	list_del_init(&job->node);
	flight->retired++;
	spin_unlock(&flight->lock);
	hw = job->hw;
	job->hw = NULL;
	if (job->error)
		dma_fence_set_error(hw, job->error);
	flight->ops->retired(job);
	dma_fence_signal(hw);
	dma_fence_put(hw);
}

/*
 * Signals, in order, the fences of the done jobs that have no unfinished job before them. The
 * caller holds neither signal_lock nor lock. As soon as the last fence is signalled, the creator of
 * the paging queue or the engines may be gone.
 */
void pagoda_flight_retire(struct pagoda_flight *flight)
{
	unsigned long flags;
	u32 count, i;

	spin_lock_irqsave(&flight->signal_lock, flags);
	do {
		count = flight_count(flight);
		if (flight->ops->finished)
			flight->ops->finished(flight, count);
		for (i = 0; i < count; i++)
			flight_signal_first(flight);
	} while (count);
	spin_unlock_irqrestore(&flight->signal_lock, flags);
}

/* Rings the device's doorbell if jobs were @sent. The caller doesn't hold flight->lock. */
void pagoda_flight_kick(struct pagoda_flight *flight, bool sent)
{
	if (sent)
		flight->transport->ops->kick(flight->transport);
}

static void job_returned(struct pagoda_job *job, enum pagoda_job_state state)
{
	struct pagoda_flight *flight = job->flight;

	lockdep_assert_held(&flight->lock);
	if (flight->ops->charge)
		flight->ops->charge(flight);
	flight->nr_sent--;
	job->state = state;
}

/*
 * Sets all jobs that are PAGODA_JOB_SENT back to PAGODA_JOB_WAITING. Answers of the device to the
 * requests of these jobs are ignored from now on. Caller holds &pagoda_flight.lock.
 */
void pagoda_flight_take_back(struct pagoda_flight *flight)
{
	struct pagoda_job *job;

	lockdep_assert_held(&flight->lock);
	list_for_each_entry(job, &flight->inflight, node)
		if (job->state == PAGODA_JOB_SENT)
			job_returned(job, PAGODA_JOB_WAITING);
}

/* Queues the work item that recovers the device's queue. */
void pagoda_flight_recover(struct pagoda_flight *flight)
{
	queue_work(flight->recover_wq, &flight->work);
}

void pagoda_flight_watch(struct pagoda_flight *flight)
{
	queue_delayed_work(flight->recover_wq, &flight->watchdog,
			   msecs_to_jiffies(flight->timeout_ms));
}

/*
 * Returns true if the device made no progress for the whole timeout. Else queues the watchdog's
 * work item for the end of the timeout, and returns false. Caller holds &pagoda_flight.lock.
 */
bool pagoda_flight_overdue(struct pagoda_flight *flight)
{
	unsigned long due = flight->progress + msecs_to_jiffies(flight->timeout_ms);
	unsigned long now = jiffies;

	lockdep_assert_held(&flight->lock);
	if (!time_before(now, due))
		return true;
	queue_delayed_work(flight->recover_wq, &flight->watchdog, due - now);
	return false;
}

static bool flight_is_drained(struct pagoda_flight *flight)
{
	bool drained;

	spin_lock_irq(&flight->lock);
	drained = !flight->jobs;
	spin_unlock_irq(&flight->lock);
	return drained;
}

/* Waits until the scheduler has called free_job for all armed jobs. */
void pagoda_flight_drain(struct pagoda_flight *flight)
{
	wait_event(flight->drained, flight_is_drained(flight));
}

/*
 * Waits for the fence *@last, if not NULL, @timeout jiffies at most; flight->lock protects *@last.
 * Returns 0, -ETIME, or -ERESTARTSYS for a signal if @interruptible.
 */
int pagoda_flight_wait(struct pagoda_flight *flight, struct dma_fence **last, bool interruptible,
		       long timeout)
{
	struct dma_fence *fence;
	long left;

	spin_lock_irq(&flight->lock);
	fence = dma_fence_get(*last);
	spin_unlock_irq(&flight->lock);
	if (!fence)
		return 0;
	left = dma_fence_wait_timeout(fence, interruptible, timeout);
	dma_fence_put(fence);
	return left > 0 ? 0 : left ? left : -ETIME;
}

/* Returns whether the fence is of the entity's timeline, whose jobs run in order. */
bool pagoda_entity_owns(const struct drm_sched_entity *entity, const struct dma_fence *fence)
{
	return fence->context == entity->fence_context ||
	       fence->context == entity->fence_context + 1;
}

/*
 * Allocates job->hw, and initializes the scheduler's job and the members of @job; the caller has
 * the only reference. Returns 0, -ENOMEM or the error of drm_sched_job_init().
 */
int pagoda_job_init(struct pagoda_job *job, struct pagoda_flight *flight,
		    struct drm_sched_entity *entity, void *owner)
{
	struct dma_fence *hw = hw_fence_alloc();
	int ret;

	if (!hw)
		return -ENOMEM;
	ret = pagoda_sched_job_init(&job->sched, entity, owner);
	if (ret) {
		hw_fence_free(hw);
		return ret;
	}
	job->flight = flight;
	INIT_LIST_HEAD(&job->node);
	job->hw = hw;
	refcount_set(&job->refs, 1);
	job->state = PAGODA_JOB_WAITING;
	job->seqno = 0;
	job->sent_before = false;
	job->error = 0;
	return 0;
}

/*
 * Makes a job that isn't armed run after @fence, which may be NULL; the job takes a reference.
 * Signalled fences and fences of the job's own entity are ignored. Returns 0 or -ENOMEM. May sleep
 * and allocate.
 */
int pagoda_job_add_fence(struct pagoda_job *job, struct dma_fence *fence)
{
	if (!fence || pagoda_entity_owns(job->sched.entity, fence) || dma_fence_is_signaled(fence))
		return 0;
	/* drm_sched_job_add_dependency() consumes the reference, also when it fails. */
	return drm_sched_job_add_dependency(&job->sched, dma_fence_get(fence));
}

/*
 * Calls pagoda_job_add_fence() for the fences of @usage and of the usages below; @resv is held.
 * Returns 0 or -ENOMEM.
 */
int pagoda_job_add_resv(struct pagoda_job *job, struct dma_resv *resv, enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret;

	dma_resv_for_each_fence(&cursor, resv, usage, fence) {
		ret = pagoda_job_add_fence(job, fence);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Publishes the job's scheduler fence, and counts the job in &pagoda_flight.jobs. Adds one to
 * *@last and returns *@last as the job's number.
 */
u64 pagoda_job_arm(struct pagoda_job *job, u64 *last)
{
	struct pagoda_flight *flight = job->flight;
	unsigned long flags;
	u64 number;

	drm_sched_job_arm(&job->sched);
	spin_lock_irqsave(&flight->lock, flags);
	number = ++*last;
	flight->jobs++;
	spin_unlock_irqrestore(&flight->lock, flags);
	return number;
}

/*
 * Initializes job->hw and appends the job to the jobs in flight. Returns job->hw with a reference
 * for the scheduler. Caller holds &pagoda_flight.lock.
 */
struct dma_fence *pagoda_job_take(struct pagoda_job *job)
{
	struct hw_fence *fence = container_of(job->hw, struct hw_fence, base);
	struct pagoda_flight *flight = job->flight;

	lockdep_assert_held(&flight->lock);
	fence->name = flight->sched->name;
	dma_fence_init(job->hw, flight->hw_ops, &fence->lock, flight->hw_context, ++flight->taken);
	list_add_tail(&job->node, &flight->inflight);
	return dma_fence_get(job->hw);
}

/*
 * Handles the answer @outcome to a job: the job is done, or waits again unless the answer is OK.
 * Ignores the answer if the job was taken back before. Returns whether recovery has to run. Caller
 * holds flight.lock.
 */
static bool job_answer(struct pagoda_job *job, enum pagoda_outcome outcome,
		       const struct pagoda_fault *fault)
{
	struct pagoda_flight *flight = job->flight;
	bool ok = outcome == PAGODA_OUTCOME_OK;

	lockdep_assert_held(&flight->lock);
	if (job->state != PAGODA_JOB_SENT)
		return false;
	flight->progress = jiffies;
	job_returned(job, ok ? PAGODA_JOB_DONE : PAGODA_JOB_WAITING);
	if (ok) {
		flight->acked_seqno = max(flight->acked_seqno, job->seqno);
		flight->polled += flight->polling;
		return false;
	}
	if (!flight->ops->failed(job, outcome, fault))
		return false;
	flight->need_reset = true;
	return true;
}

/*
 * &pagoda_request.complete: the transport calls this function once for each request, from an
 * interrupt, a poll or a reset, or when the device is gone.
 */
static void job_complete(struct pagoda_request *request, enum pagoda_outcome outcome,
			 const struct pagoda_fault *fault)
{
	struct pagoda_job *job = container_of(request, struct pagoda_job, request);
	struct pagoda_flight *flight = job->flight;
	bool cookie = dma_fence_begin_signalling();
	unsigned long flags;
	bool reset;

	spin_lock_irqsave(&flight->lock, flags);
	flight->skipped += request->skipped;
	reset = job_answer(job, outcome, fault);
	spin_unlock_irqrestore(&flight->lock, flags);
	/*
	 * Drop the transport's reference before the fence signals: pagoda_queue_ended(), which runs
	 * later, checks whether the transport has a reference.
	 */
	pagoda_job_put(job);
	pagoda_flight_retire(flight);
	if (reset)
		pagoda_flight_recover(flight);
	dma_fence_end_signalling(cookie);
	kref_put(flight->owner, flight->ops->release);
}

/*
 * Submits job->request, in which the caller has set what is to be sent; on success the job is
 * PAGODA_JOB_SENT and the watchdog is armed. Caller holds &pagoda_flight.lock. Returns 0 or the
 * error of &pagoda_transport_ops.submit.
 */
int pagoda_job_send(struct pagoda_job *job)
{
	struct pagoda_flight *flight = job->flight;
	int ret;

	lockdep_assert_held(&flight->lock);
	job->request.complete = job_complete;
	refcount_inc(&job->refs);
	kref_get(flight->owner);
	ret = flight->transport->ops->submit(flight->transport, &job->request);
	if (ret) {
		refcount_dec(&job->refs);
		kref_put(flight->owner, flight->ops->release);
		return ret;
	}
	job->state = PAGODA_JOB_SENT;
	flight->nr_sent++;
	pagoda_flight_watch(flight);
	return 0;
}

void pagoda_job_put(struct pagoda_job *job)
{
	if (refcount_dec_and_test(&job->refs))
		job->flight->ops->free(job);
}

/*
 * Undoes pagoda_job_init(), but for the reference to @job. The fence of the device's work, job->hw,
 * is NULL already if the job was run and its fence has signalled.
 */
void pagoda_job_fini(struct pagoda_job *job)
{
	drm_sched_job_cleanup(&job->sched);
	hw_fence_free(job->hw);
	job->hw = NULL;
}

/*
 * Scheduler's free_job: undoes pagoda_job_init() and pagoda_job_arm(), and calls
 * &pagoda_flight_ops.ended. The job's fence is signalled, but the entity may have been destroyed
 * before the job ran. Runs in submit_wq or in a work item of the scheduler.
 */
void pagoda_flight_free_job(struct drm_sched_job *sched_job)
{
	struct pagoda_job *job = container_of(sched_job, struct pagoda_job, sched);
	struct pagoda_flight *flight = job->flight;
	unsigned long flags;

	pagoda_job_fini(job);
	flight->ops->ended(job);
	spin_lock_irqsave(&flight->lock, flags);
	/* Under the lock: once it is released, pagoda_flight_drain()'s caller may free @flight. */
	if (!--flight->jobs)
		wake_up_all(&flight->drained);
	spin_unlock_irqrestore(&flight->lock, flags);
}

const char *pagoda_job_state_name(const struct pagoda_job *job)
{
	static const char * const names[] = {
		[PAGODA_JOB_WAITING] = "waiting",
		[PAGODA_JOB_SENT] = "sent",
		[PAGODA_JOB_DONE] = "done",
	};

	return names[job->state];
}
