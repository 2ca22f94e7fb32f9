/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the queue layer.
 *
 * The owner of a job at each stage of its life:
 *
 *	pool      -> get                     caller, may sleep and allocate
 *	get       -> arm, push               scheduler, waits for dependencies
 *	run_job   -> queue->inflight         queue, until the job's fence is signalled
 *	free_job  -> history -> pool         kept whole for debugfs, then reused
 *
 * Besides, the transport owns the request while the device may write to it. The two owners are
 * counted by job->refs, so that the memory of a request stays allocated for a device that doesn't
 * answer, although the fence was signalled long ago.
 *
 * All work in the dma_fence signalling path that may sleep (reset, the CPU executor, the watchdog)
 * runs in one ordered work queue, so that it never runs twice at a time and needs no lock against
 * itself.
 *
 * The order of all locks is in core/core.h.
 */
#ifndef PAGODA_QUEUE_INTERNAL_H
#define PAGODA_QUEUE_INTERNAL_H

#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>
#include "core/transport.h"
#include "queue.h"

/*
 * Free jobs kept: as many as are needed to map a GiB of scattered pages. A larger burst allocates
 * and frees memory.
 */
#define PAGODA_QUEUE_POOL	48
/* Jobs in flight when no ring limits their number. */
#define PAGODA_QUEUE_CPU_DEPTH	64

/**
 * enum pagoda_job_state - State of a job in flight
 * @PAGODA_JOB_WAITING: to be given to the device or the CPU, in its turn
 * @PAGODA_JOB_SENT: the device has the job
 * @PAGODA_JOB_DONE: executed or given up; signals when the job is the first in flight
 */
enum pagoda_job_state {
	PAGODA_JOB_WAITING,
	PAGODA_JOB_SENT,
	PAGODA_JOB_DONE,
};

/**
 * enum pagoda_queue_mode - Executor of jobs
 * @PAGODA_QUEUE_DEVICE: the device
 * @PAGODA_QUEUE_CPU: the CPU, because the owner asked for it
 * @PAGODA_QUEUE_DEAD: the CPU, because the device can't be reset
 */
enum pagoda_queue_mode {
	PAGODA_QUEUE_DEVICE,
	PAGODA_QUEUE_CPU,
	PAGODA_QUEUE_DEAD,
};

/**
 * struct pagoda_job - A submission with all memory it will ever need
 * @request: Request for the transport; first, for its alignment
 * @base: Part that the owner sees
 * @sched: The scheduler's part
 * @queue: Queue; counted while the transport owns @request
 * @node: In the pool, in flight or in the history; queue->lock
 * @hw: Fence of the device's work, signalled under signal_lock; the job's own reference
 * @refs: References: one of the scheduler side, one of the transport
 * @state: State of the job, valid in flight; queue->lock
 * @start: Offset of the first byte not executed yet; queue->lock
 * @sent_before: The job was given to the device before; queue->lock
 * @refused: Pushed after stop; set before the scheduler sees the job
 * @rescue: The device failed too often, the CPU executes the rest; queue->lock
 * @finished: Rescued or lost: nothing is left for the device to execute; queue->lock
 * @begun_ns: CLOCK_MONOTONIC when all dependencies were signalled; queue->lock
 * @failed_at: Offset at which the device failed; queue->lock
 * @failures: Consecutive failures at @failed_at; queue->lock
 * @error: Error for the fence; queue->lock
 */
struct pagoda_job {
	struct pagoda_request request;
	struct pagoda_submission base;
	struct drm_sched_job sched;
	struct pagoda_queue *queue;
	struct list_head node;
	struct dma_fence *hw;
	refcount_t refs;
	enum pagoda_job_state state;
	u32 start;
	bool sent_before;
	bool refused;
	bool rescue;
	bool finished;
	u64 begun_ns;
	u32 failed_at;
	u32 failures;
	int error;
};

/**
 * struct pagoda_queue - A paging timeline
 * @kref: References: the owner's, and one per request that the transport owns
 * @args: Arguments of pagoda_queue_create()
 * @sched: The scheduler; one run queue
 * @entity: The only entity
 * @submit_wq: Ordered: runs jobs, frees them
 * @recover_wq: Ordered: @work and @watchdog
 * @work: Recovery and the CPU executor
 * @watchdog: Checks whether the device still makes progress
 * @hw_context: Fence context of the device fences
 * @signal_lock: Keeps the order of signalling, and protects @retired_ns; the locks of the hw
 *	fences nest inside
 * @retired_ns: CLOCK_MONOTONIC when jobs were last found to be finished
 * @lock: Protects all members below
 * @inflight: Jobs without a signalled fence, by sequence number
 * @pool: Free jobs
 * @history: Finished jobs, oldest first
 * @pooled: Jobs in @pool
 * @remembered: Jobs in @history
 * @mode: Executor of jobs
 * @held: Nothing is sent, because the device is being reset or polled
 * @need_reset: The device refused a request or gave an invalid answer
 * @closed: The device was reset as a whole: all jobs are given up until it is rebuilt
 * @adapter_busy: A reset of the whole device is in progress
 * @stopped: No more jobs are accepted
 * @gone: Destroyed; only requests that the transport still owns refer to the queue
 * @polling: The watchdog is looking for completions
 * @adapter_wanted: Reasons of those requests for a reset of the whole device that no reset has
 *	answered yet, 0 = there are none
 * @adapter_tries: Resets of the whole device that were tried
 * @adapter_result: Result of the last reset of the whole device
 * @doomed_seqno: Jobs up to this number are given up although the queue isn't closed any more
 * @skipped: Jobs the device never got because they were given up: the device's numbers are
 *	lower than those of jobs by this amount
 * @next_seqno: Number of the last armed job
 * @sent_seqno: Highest number the device was given
 * @acked_seqno: Highest number the device is known to have executed
 * @retired_seqno: Number of the last job with a signalled fence
 * @progress: jiffies of the device's last progress
 * @last_fence: Fence of the last job pushed
 * @stats: Counters, except for the doorbells
 * @jobs: Jobs the scheduler side has, from arm to free_job
 * @drained: Woken when @jobs reaches zero
 * @adapter_done: Woken when @adapter_tries changes
 */
struct pagoda_queue {
	struct kref kref;
	struct pagoda_queue_args args;
	struct drm_gpu_scheduler sched;
	struct drm_sched_entity entity;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *recover_wq;
	struct work_struct work;
	struct delayed_work watchdog;
	u64 hw_context;

	spinlock_t signal_lock;	/* order of signalling, retired_ns */
	u64 retired_ns;
	spinlock_t lock;	/* all members below */
	struct list_head inflight;
	struct list_head pool;
	struct list_head history;
	u32 pooled;
	u32 remembered;
	enum pagoda_queue_mode mode;
	bool held;
	bool need_reset;
	bool closed;
	bool adapter_busy;
	bool stopped;
	bool gone;
	bool polling;
	u32 adapter_wanted;
	u32 adapter_tries;
	int adapter_result;
	u64 doomed_seqno;
	u64 skipped;
	u64 next_seqno;
	u64 sent_seqno;
	u64 acked_seqno;
	u64 retired_seqno;
	unsigned long progress;
	struct dma_fence *last_fence;
	struct pagoda_queue_stats stats;
	u32 jobs;
	wait_queue_head_t drained;
	wait_queue_head_t adapter_done;
};

static inline struct pagoda_job *pagoda_job_of(struct pagoda_submission *submission)
{
	return container_of(submission, struct pagoda_job, base);
}

static inline struct pagoda_job *pagoda_job_first(struct pagoda_queue *queue)
{
	lockdep_assert_held(&queue->lock);
	return list_first_entry_or_null(&queue->inflight, struct pagoda_job, node);
}

/* Returns whether the job was pushed before the device was rebuilt, and is to be given up. */
static inline bool pagoda_job_is_doomed(const struct pagoda_job *job)
{
	lockdep_assert_held(&job->queue->lock);
	return job->queue->closed || job->base.seqno <= job->queue->doomed_seqno;
}

/* submission.c */
void pagoda_job_put(struct pagoda_job *job);
void pagoda_job_remember(struct pagoda_job *job);
void pagoda_job_free(struct pagoda_job *job);
void pagoda_queue_release(struct kref *kref);

/* flight.c */
struct dma_fence *pagoda_queue_run_job(struct drm_sched_job *sched_job);
bool pagoda_queue_send(struct pagoda_queue *queue);
void pagoda_queue_retire(struct pagoda_queue *queue);

/* recovery.c */
u64 pagoda_queue_hold(struct pagoda_queue *queue, bool polling);
void pagoda_queue_resume(struct pagoda_queue *queue);
void pagoda_queue_run_cpu(struct pagoda_queue *queue);
int pagoda_queue_escalate(struct pagoda_queue *queue);
void pagoda_queue_work(struct work_struct *work);
void pagoda_queue_watchdog(struct work_struct *work);

#endif
