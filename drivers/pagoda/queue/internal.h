/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside of the queue layer.
 *
 * A job goes through these hands:
 *
 *	pool      -> get                     caller's, may sleep and allocate
 *	get       -> arm, push               scheduler's, waits for dependencies
 *	run_job   -> queue->inflight         ours, until its fence is signalled
 *	free_job  -> history -> pool         whole for debugfs, then used again
 *
 * Beside that the transport owns the request while the device may write it. The
 * two owners are counted by job->refs, so that a device that doesn't answer
 * keeps its memory although the fence was signalled long ago.
 *
 * Everything that may sleep on the way to a fence (reset, the CPU executor, what
 * the watchdog does) runs from one ordered work queue, so it never runs twice
 * at a time and needs no lock against itself.
 *
 * Lock order: signal_lock, lock, then the transport's own.
 */
#ifndef PAGODA_QUEUE_INTERNAL_H
#define PAGODA_QUEUE_INTERNAL_H

#include <linux/kref.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>

#include <pagoda/queue.h>
#include <pagoda/transport.h>

/*
 * Free jobs kept, as many as a GiB of scattered pages is mapped with; a burst beyond that
 * pays for its memory.
 */
#define PAGODA_QUEUE_POOL	48
/* Jobs in flight when there is no ring that limits them. */
#define PAGODA_QUEUE_CPU_DEPTH	64

/**
 * enum pagoda_job_state - Where a job in flight is
 * @PAGODA_JOB_WAITING: to be given to the device or the CPU, in its turn
 * @PAGODA_JOB_SENT: the device has it
 * @PAGODA_JOB_DONE: executed or given up; signals when it's the first
 */
enum pagoda_job_state {
	PAGODA_JOB_WAITING,
	PAGODA_JOB_SENT,
	PAGODA_JOB_DONE,
};

/**
 * enum pagoda_queue_mode - Who executes
 * @PAGODA_QUEUE_DEVICE: the device
 * @PAGODA_QUEUE_CPU: the CPU, because the owner asked for it
 * @PAGODA_QUEUE_DEAD: the CPU, because the device doesn't answer
 */
enum pagoda_queue_mode {
	PAGODA_QUEUE_DEVICE,
	PAGODA_QUEUE_CPU,
	PAGODA_QUEUE_DEAD,
};

/**
 * struct pagoda_job - A submission with all it will ever need
 * @request: What the transport carries; first, for its alignment
 * @base: What the owner sees
 * @sched: The scheduler's part
 * @queue: Queue; counted while the transport owns @request
 * @node: In the pool, in flight or in the history; queue->lock
 * @hw: Fence of the device's work, signalled under signal_lock; the job's own
 *	reference
 * @refs: One of the scheduler side, one of the transport
 * @state: Valid in flight; queue->lock
 * @start: First byte not executed yet; queue->lock
 * @sent_before: Was given to the device already; queue->lock
 * @refused: Pushed after stop; set before the scheduler sees the job
 * @rescue: The device failed often enough; queue->lock
 * @finished: Rescued or lost: nothing is left for the device; queue->lock
 * @begun_ns: CLOCK_MONOTONIC when all it waited for was there; queue->lock
 * @failed_at: Offset the device failed at; queue->lock
 * @failures: Times in a row it failed there; queue->lock
 * @error: For the fence; queue->lock
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
 * @kref: The owner's reference, and one a request the transport owns
 * @args: As made
 * @sched: The scheduler; one run queue
 * @entity: The one entity
 * @submit_wq: Ordered: runs jobs, frees them
 * @recover_wq: Ordered: @work and @watchdog
 * @work: Recovery and the CPU executor
 * @watchdog: Looks whether the device is still alive
 * @hw_context: Context of the device fences
 * @signal_lock: Keeps the order of signalling, and protects @retired_ns; the hw fences' own
 *	locks nest in
 * @retired_ns: CLOCK_MONOTONIC when jobs were last found to be through
 * @lock: Protects all below
 * @inflight: Jobs whose fence isn't signalled, by sequence number
 * @pool: Free jobs
 * @history: Finished jobs, oldest first
 * @pooled: Jobs in @pool
 * @remembered: Jobs in @history
 * @mode: Who executes
 * @held: Jobs wait: somebody resets or polls the device
 * @need_reset: The device refused something, or told nonsense
 * @closed: The device was reset as a whole: all is given up until it is rebuilt
 * @adapter_busy: It is under way
 * @stopped: No more work accepted
 * @gone: Destroyed; only late requests hold it
 * @polling: The watchdog is looking for completions
 * @adapter_wanted: Reasons of those requests for a reset of the whole device that no reset has
 *	answered yet, 0 = there are none
 * @adapter_tries: Resets of the whole device that were tried
 * @adapter_result: What became of the last one
 * @doomed_seqno: Jobs up to this one are given up although the queue isn't closed any more
 * @skipped: Jobs the device never got because they were given up: so much the numbers
 *	it knows are behind ours
 * @next_seqno: Number of the last armed job
 * @sent_seqno: Highest number the device was given
 * @acked_seqno: Highest number the device is known to have executed
 * @retired_seqno: Number of the last job whose fence signalled
 * @progress: jiffies of the last sign of life
 * @last_fence: Fence of the last job pushed
 * @stats: Counters, but the doorbells
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
	spinlock_t lock;	/* all below */
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

/* Was it pushed before the device was built anew? */
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
void pagoda_queue_take_back(struct pagoda_queue *queue);
void pagoda_queue_run_cpu(struct pagoda_queue *queue);
void pagoda_queue_work(struct work_struct *work);
void pagoda_queue_watchdog(struct work_struct *work);

/* adapter.c */
int pagoda_queue_escalate(struct pagoda_queue *queue);
bool pagoda_queue_answer_asked(struct pagoda_queue *queue);

#endif
