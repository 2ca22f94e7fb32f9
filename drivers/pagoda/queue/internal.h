/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the paging queue.
 *
 * A job is a submission. The owner of a job at each stage of the job's life:
 *
 *	from get on		the caller, which may sleep and allocate
 *	from push on		the scheduler, which waits for the job's dependencies
 *	from run_job on		the queue: in flight.inflight until the job's fence signals
 *	from free_job on	the queue: most jobs in the history, then free for reuse
 *
 * Resets, the CPU executor and the watchdog, which may sleep in the dma_fence signalling path, run
 * in work items of one ordered work queue: no two such work items run at a time, so that they need
 * no locks against each other.
 */
#ifndef PAGODA_QUEUE_INTERNAL_H
#define PAGODA_QUEUE_INTERNAL_H

#include "flight.h"
#include "queue.h"

/* Most bytes of free jobs kept for reuse: as much as is needed to map a GiB of scattered pages. */
#define PAGODA_QUEUE_POOL	(48 * 100u << 10)
/* Most sizes of jobs' pieces of memory: 1, 2, 4, 8 and 16 pages, and the largest piece. */
#define PAGODA_QUEUE_CLASSES	6
/* Number of small submissions that are set aside for work that can't fail. */
#define PAGODA_QUEUE_ASIDE	8
/* Most jobs in flight if the CPU executes all jobs: no ring of the device limits their number. */
#define PAGODA_QUEUE_CPU_DEPTH	64

/**
 * enum pagoda_queue_mode - Executor of jobs
 * @PAGODA_QUEUE_DEVICE: the device
 * @PAGODA_QUEUE_CPU: the CPU, because &pagoda_queue_args.use_cpu is set
 * @PAGODA_QUEUE_DEAD: the CPU, because the device can't be reset
 */
enum pagoda_queue_mode {
	PAGODA_QUEUE_DEVICE,
	PAGODA_QUEUE_CPU,
	PAGODA_QUEUE_DEAD,
};

/**
 * struct pagoda_line - Submissions that are executed in the order in which they were armed
 * @queue: The queue
 * @entity: Has the pushed submissions until the scheduler hands them over
 * @node: In &pagoda_queue.lines
 * @refs: References: the owner's, those of armed jobs, and those of threads that wait
 * @armed: Number of jobs that are armed and not finished
 * @last: Fence of the last job pushed, or NULL
 * @room: Wait queue, woken when @armed becomes less
 * @free: Work item that destroys the line
 *
 * queue->flight.lock protects the members from @node to @last.
 */
struct pagoda_line {
	struct pagoda_queue *queue;
	struct drm_sched_entity entity;
	struct list_head node;
	u32 refs;
	u32 armed;
	struct dma_fence *last;
	wait_queue_head_t room;
	struct rcu_work free;
};

/**
 * struct pagoda_paging_job - A submission with all memory it will ever need
 * @core: Part in common with the engines' jobs; first, for its alignment
 * @base: Part that the owner sees
 * @line: Line of the submission, of which an armed job has a reference
 * @class: Size of the piece of memory: index into &pagoda_queue.pool; constant
 * @bytes: Bytes of the piece of memory, at whose end the job is; constant
 * @aside: One of the submissions that are set aside; constant
 * @start: Offset of the first byte of the buffer that isn't executed yet
 * @refused: Pushed after pagoda_queue_stop(); set before the scheduler sees the job
 * @rescue: The device failed too often: the CPU executes the rest
 * @finished: Executed by the CPU, or lost: nothing is left for the device to execute
 * @begun_ns: CLOCK_MONOTONIC when run_job was called: all dependencies were signalled, or sent in
 *	another line
 * @failed_at: Offset at which the device failed last
 * @failures: Failures of the device in a row at @failed_at
 *
 * queue->flight.lock protects the members from @start on but @refused.
 */
struct pagoda_paging_job {
	struct pagoda_job core;
	struct pagoda_submission base;
	struct pagoda_line *line;
	u32 class;
	u32 bytes;
	bool aside;
	u32 start;
	bool refused;
	bool rescue;
	bool finished;
	u64 begun_ns;
	u32 failed_at;
	u32 failures;
};

/**
 * struct pagoda_queue - The paging queue of a device
 * @kref: References: the owner's, and one per request that the transport owns
 * @args: Arguments of pagoda_queue_create()
 * @flight: Jobs in flight, in the order of their numbers; flight.lock protects @lines and, but for
 *	wait queues, all members from @pool on
 * @main: The line for submissions that have no line of their own; constant
 * @lines: All lines
 * @lineless: Wait queue, woken when a line is gone
 * @submit_wq: Ordered work queue of the scheduler, which runs and frees jobs
 * @recover_wq: Ordered work queue of the work item and watchdog of @flight, and of ends of lines
 * @retired_ns: CLOCK_MONOTONIC when jobs were last found to be finished; protected by
 *	flight.signal_lock
 * @classes: Number of sizes of jobs; constant
 * @pool: Free jobs, by size
 * @aside: Free jobs among those that are set aside
 * @returned: Wait queue, woken when a job gets into @aside
 * @history: Finished jobs, oldest first
 * @pooled: Bytes of the jobs in @pool
 * @busy: Bytes of the jobs that the scheduler side has, from arm to free_job
 * @remembered: Number of jobs in @history
 * @mode: Executor of jobs
 * @held: Nothing is sent, because the device is being reset or polled
 * @closed: All jobs are given up, from a reset of the whole device until its memory is rebuilt
 * @adapter_busy: A reset of the whole device is in progress
 * @stopped: Jobs that are pushed fail
 * @gone: Destroyed; only requests that the transport still owns refer to the queue
 * @adapter_wanted: Reasons of those calls of pagoda_queue_reset_adapter() that no reset of the
 *	whole device has answered yet, 0 = there are none
 * @adapter_tries: Number of resets of the whole device so far, failed ones too
 * @adapter_result: Result of the last reset of the whole device
 * @doomed_id: &pagoda_submission.id: jobs with this id or a lower one are given up although the
 *	queue isn't @closed any more
 * @skipped: Number of jobs that were given up before the device got them: numbers of requests are
 *	lower than those of their jobs by this amount
 * @last_id: &pagoda_submission.id of the last armed job
 * @last_seqno: &pagoda_submission.seqno of the last job that the scheduler handed over
 * @stats: Counters, but for those in the transport (doorbells) and in @flight (polled, skipped)
 * @adapter_done: Woken when @adapter_tries changes
 */
struct pagoda_queue {
	struct kref kref;
	struct pagoda_queue_args args;
	struct pagoda_flight flight;
	struct pagoda_line *main;
	struct list_head lines;
	wait_queue_head_t lineless;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *recover_wq;
	u64 retired_ns;
	u32 classes;

	struct list_head pool[PAGODA_QUEUE_CLASSES];
	struct list_head aside;
	wait_queue_head_t returned;
	struct list_head history;
	u32 pooled;
	u64 busy;
	u32 remembered;
	enum pagoda_queue_mode mode;
	bool held;
	bool closed;
	bool adapter_busy;
	bool stopped;
	bool gone;
	u32 adapter_wanted;
	u32 adapter_tries;
	int adapter_result;
	u64 doomed_id;
	u64 skipped;
	u64 last_id;
	u64 last_seqno;
	struct pagoda_queue_stats stats;
	wait_queue_head_t adapter_done;
};

static inline struct pagoda_paging_job *pagoda_paging_job_of(struct pagoda_submission *submission)
{
	return container_of(submission, struct pagoda_paging_job, base);
}

static inline struct pagoda_queue *pagoda_queue_of(const struct pagoda_paging_job *job)
{
	return container_of(job->core.flight, struct pagoda_queue, flight);
}

static inline struct pagoda_paging_job *pagoda_queue_first(struct pagoda_queue *queue)
{
	lockdep_assert_held(&queue->flight.lock);
	return list_first_entry_or_null(&queue->flight.inflight, struct pagoda_paging_job,
					core.node);
}

/*
 * Returns whether the job is to be given up: armed before the device, which was reset, was rebuilt.
 */
static inline bool pagoda_queue_dooms(const struct pagoda_paging_job *job)
{
	const struct pagoda_queue *queue = pagoda_queue_of(job);

	lockdep_assert_held(&queue->flight.lock);
	return queue->closed || job->base.id <= queue->doomed_id;
}

/* line.c: count an armed job of a line, and undo that when the job has ended */
void pagoda_line_armed(struct pagoda_paging_job *job);
void pagoda_line_ended(struct pagoda_paging_job *job);

/*
 * submission.c: sizes of submissions, submissions set aside; what becomes of jobs that have ended
 */
bool pagoda_queue_set_classes(struct pagoda_queue *queue);
int pagoda_queue_set_aside(struct pagoda_queue *queue);
void pagoda_queue_ended(struct pagoda_job *core);
void pagoda_queue_free(struct pagoda_paging_job *job);
void pagoda_queue_reuse(struct pagoda_job *core);

/*
 * send.c: send jobs to the device; report jobs that failed, are done or retire, as the members
 * failed, finished and retired of struct pagoda_flight_ops
 */
struct dma_fence *pagoda_queue_run_job(struct drm_sched_job *sched_job);
bool pagoda_queue_send(struct pagoda_queue *queue);
bool pagoda_queue_failed(struct pagoda_job *core, enum pagoda_outcome outcome,
			 const struct pagoda_fault *fault);
void pagoda_queue_finished(struct pagoda_flight *flight, u32 count);
void pagoda_queue_retired(struct pagoda_job *core);

/* recovery.c: recovery from paging buffers that the device refuses, loses or doesn't finish */
u64 pagoda_queue_hold(struct pagoda_queue *queue, bool polling);
void pagoda_queue_resume(struct pagoda_queue *queue);
void pagoda_queue_run_cpu(struct pagoda_queue *queue);
int pagoda_queue_escalate(struct pagoda_queue *queue);
void pagoda_queue_work(struct work_struct *work);
void pagoda_queue_watchdog(struct work_struct *work);

#endif
