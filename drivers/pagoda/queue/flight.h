/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Jobs in flight: the part that the paging queue and the engines have in common.
 *
 * A job is a request for the device, together with the scheduler's job and a fence of the device's
 * work. A paging job carries a submission, an engine's job carries commands of a context: both
 * embed struct pagoda_job, and the paging queue and each engine embed struct pagoda_flight.
 *
 * A job that the scheduler hands over is appended to flight->inflight and leaves the list only from
 * the front, with its fence signalled: however jobs end, their fences signal in order (C185).
 * Answers may come in any order, from interrupts and from polls at once.
 *
 * Both the scheduler side and, while the device may write to the request, the transport hold a
 * reference to a job, counted by job->refs, so that the memory of a request stays allocated for a
 * device that doesn't answer, although the job's fence was signalled long ago.
 *
 * The scheduler's own timeout is off, because the scheduler would decide a second time which job is
 * to blame, can't poll for completions without an interrupt or resume a job in its middle, and
 * starts the timeout anew with every job that is sent. The watchdog replaces this timeout, and the
 * scheduler sees nothing but fences that signal.
 *
 * Lock order: signal_lock, lock, then the transport's locks.
 */
#ifndef PAGODA_QUEUE_FLIGHT_H
#define PAGODA_QUEUE_FLIGHT_H

#include <linux/dma-resv.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>
#include "core/transport.h"

struct device;
struct dma_fence;
struct dma_fence_ops;
struct pagoda_flight;
struct pagoda_sched_args;

/*
 * Kinds of timelines: PAGODA_TIMELINE_PAGING is the kind of the paging queue's timeline,
 * PAGODA_TIMELINE_EXEC that of the timelines of all engines. scheduler.c names the timelines.
 */
enum pagoda_timeline {
	PAGODA_TIMELINE_PAGING,
	PAGODA_TIMELINE_EXEC,
	PAGODA_TIMELINE_COUNT
};

/**
 * enum pagoda_job_state - State of a job in flight
 * @PAGODA_JOB_WAITING: to be sent to the device, executed by the CPU or ended unexecuted
 * @PAGODA_JOB_SENT: the device has the job
 * @PAGODA_JOB_DONE: executed, failed or given up; the fence signals when the job is the first in
 *	flight
 */
enum pagoda_job_state {
	PAGODA_JOB_WAITING,
	PAGODA_JOB_SENT,
	PAGODA_JOB_DONE,
};

/**
 * struct pagoda_job - A job with all memory it will ever need
 * @request: Request for the transport; first, for its alignment
 * @sched: The scheduler's job
 * @flight: Queue of the device that executes the job; @flight->lock protects @node and the members
 *	from @state on
 * @node: In @flight->inflight from run_job to the signalled fence; a paging job that is free or
 *	finished is in the pool or the history of the paging queue
 * @hw: Fence of the device's work; a reference of the job until the fence is signalled under
 *	signal_lock
 * @refs: References: the scheduler side's, and the transport's while the transport has @request
 * @state: State of the job, valid in flight
 * @seqno: Number of the job by which flight->sent_seqno and flight->acked_seqno count
 * @sent_before: The job was sent to the device at least once
 * @error: Negative errno that the fence will get, 0 = none so far
 */
struct pagoda_job {
	struct pagoda_request request;
	struct drm_sched_job sched;
	struct pagoda_flight *flight;
	struct list_head node;
	struct dma_fence *hw;
	refcount_t refs;
	enum pagoda_job_state state;
	u64 seqno;
	bool sent_before;
	int error;
};

/**
 * struct pagoda_flight_ops - Where the paging queue and the engines differ
 * @timeline: Kind of timeline
 * @priorities: Number of run queues of the scheduler
 * @sched: Operations of the scheduler, with a run_job that calls pagoda_job_take(), and with
 *	pagoda_flight_free_job() as free_job
 * @work: Work function that recovers the device's queue
 * @watchdog: Work function that checks whether the device still makes progress
 * @charge: Charges the device's time so far, before a sent job is answered or taken back; lock
 *	held. May be NULL
 * @failed: The device answered a job otherwise than by success, or a reset returned the job,
 *	executed or not; lock held. Returns true if @work has to run to reset the device's queue
 * @finished: The first @count jobs in flight, maybe 0, are done and about to signal; signal_lock
 *	held. May be NULL
 * @retired: A job left the jobs in flight, and its fence is about to signal; signal_lock held
 * @ended: free_job of the scheduler: keeps or drops the scheduler side's reference to the job
 * @free: The last reference to a job was dropped
 * @release: The last reference in &pagoda_flight.owner was dropped
 */
struct pagoda_flight_ops {
	enum pagoda_timeline timeline;
	u32 priorities;
	struct drm_sched_backend_ops sched;
	void (*work)(struct work_struct *work);
	void (*watchdog)(struct work_struct *work);
	void (*charge)(struct pagoda_flight *flight);
	bool (*failed)(struct pagoda_job *job, enum pagoda_outcome outcome,
		       const struct pagoda_fault *fault);
	void (*finished)(struct pagoda_flight *flight, u32 count);
	void (*retired)(struct pagoda_job *job);
	void (*ended)(struct pagoda_job *job);
	void (*free)(struct pagoda_job *job);
	void (*release)(struct kref *kref);
};

/**
 * struct pagoda_flight - The jobs in flight on a queue of the device
 * @ops: Operations
 * @dev: For messages and the scheduler
 * @transport: Transport to the device's queue; may be NULL if jobs are never sent
 * @owner: Reference count of the struct that embeds this one; each request that the transport owns
 *	has a reference
 * @recover_wq: Ordered work queue that runs @work and @watchdog
 * @timeout_ms: Milliseconds without progress after which the watchdog acts
 * @index: Index of the engine; the paging queue has none
 * @sched: The scheduler, from pagoda_scheduler_create()
 * @work: Recovers the device's queue
 * @watchdog: Checks whether the device still makes progress
 * @hw_context: Fence context of &pagoda_job.hw of all jobs
 * @hw_ops: Operations of &pagoda_job.hw of all jobs
 * @signal_lock: Held while fences are signalled, to keep their order; their locks nest inside
 * @lock: Protects all members below
 * @inflight: Jobs that the scheduler handed over, in order, until their fence signals
 * @need_reset: The device's queue has to be reset: the device refused or lost a request, gave an
 *	invalid answer or made no progress, or a request couldn't be submitted
 * @polling: The watchdog is looking for completions
 * @taken: Jobs that the scheduler handed over so far
 * @retired: Jobs taken off @inflight so far, to have their fence signalled
 * @sent_seqno: Highest &pagoda_job.seqno that the device was sent, or of a paging job that was
 *	given up unsent
 * @acked_seqno: Highest &pagoda_job.seqno that the device is known to have finished, or that counts
 *	as finished after a reset
 * @nr_sent: Number of jobs that are PAGODA_JOB_SENT
 * @skipped: Bytes that the device didn't copy, by &pagoda_request.skipped
 * @polled: Completions found by a poll, without an interrupt
 * @progress: jiffies of the device's last progress
 * @jobs: Number of jobs that the scheduler side has, from arm to free_job
 * @drained: Woken when @jobs reaches zero
 */
struct pagoda_flight {
	const struct pagoda_flight_ops *ops;
	struct device *dev;
	struct pagoda_transport *transport;
	struct kref *owner;
	struct workqueue_struct *recover_wq;
	u32 timeout_ms;
	u32 index;
	struct drm_gpu_scheduler *sched;
	struct work_struct work;
	struct delayed_work watchdog;
	u64 hw_context;
	const struct dma_fence_ops *hw_ops;

	spinlock_t signal_lock;	/* keeps fences signalling in order */
	spinlock_t lock;	/* protects all members below */
	struct list_head inflight;
	bool need_reset;
	bool polling;
	u64 taken;
	u64 retired;
	u64 sent_seqno;
	u64 acked_seqno;
	u32 nr_sent;
	u64 skipped;
	u64 polled;
	unsigned long progress;
	u32 jobs;
	wait_queue_head_t drained;
};

/* flight.c: jobs in flight of the paging queue or an engine: retire, take back, watch, drain */
int pagoda_flight_init(struct pagoda_flight *flight, struct workqueue_struct *submit_wq, u32 depth);
void pagoda_flight_fini(struct pagoda_flight *flight);
void pagoda_flight_free_job(struct drm_sched_job *sched_job);
void pagoda_flight_retire(struct pagoda_flight *flight);
void pagoda_flight_kick(struct pagoda_flight *flight, bool sent);
void pagoda_flight_take_back(struct pagoda_flight *flight);
void pagoda_flight_recover(struct pagoda_flight *flight);
void pagoda_flight_watch(struct pagoda_flight *flight);
bool pagoda_flight_overdue(struct pagoda_flight *flight);
void pagoda_flight_drain(struct pagoda_flight *flight);
int pagoda_flight_wait(struct pagoda_flight *flight, struct dma_fence **last, bool interruptible,
		       long timeout);

/* flight.c: a single job: set-up, dependencies, arm, take from the scheduler, send, put */
bool pagoda_entity_owns(const struct drm_sched_entity *entity, const struct dma_fence *fence);
int pagoda_job_init(struct pagoda_job *job, struct pagoda_flight *flight,
		    struct drm_sched_entity *entity, void *owner);
int pagoda_job_add_fence(struct pagoda_job *job, struct dma_fence *fence);
int pagoda_job_add_resv(struct pagoda_job *job, struct dma_resv *resv, enum dma_resv_usage usage);
u64 pagoda_job_arm(struct pagoda_job *job, u64 *last);
struct dma_fence *pagoda_job_take(struct pagoda_job *job);
int pagoda_job_send(struct pagoda_job *job);
void pagoda_job_put(struct pagoda_job *job);
void pagoda_job_fini(struct pagoda_job *job);
const char *pagoda_job_state_name(const struct pagoda_job *job);

/* scheduler.c: create and destroy the schedulers of timelines */
struct drm_gpu_scheduler *pagoda_scheduler_create(enum pagoda_timeline timeline, u32 index,
						  const struct pagoda_sched_args *args);
void pagoda_scheduler_destroy(struct drm_gpu_scheduler *sched);

#endif
