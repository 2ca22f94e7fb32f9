/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the execution part of the queue layer.
 *
 *	exec.c          engines, creation and destruction
 *	exec_context.c  contexts
 *	exec_job.c      jobs until they are pushed
 *	exec_flight.c   jobs from the scheduler to the signalled fence
 *	exec_reset.c    recovery of an engine that faults, hangs or is lost
 *	exec_account.c  accounts of the time that engines spend
 *	exec_print.c    state and counters of engines, for debugfs
 *
 * A job that the scheduler hands over is appended to engine->inflight and leaves the list only from
 * the front, with its fence signalled: however jobs end, an engine's fences signal in order (C185).
 * Besides the scheduler side, the transport owns the request while the device may write to it. The
 * two owners are counted by job->refs, so that the memory of a request stays allocated for a device
 * that doesn't answer, although the fence was signalled long ago.
 *
 * The scheduler's own timeout is off. It would decide a second time which job is to blame, can't
 * poll for completions without an interrupt, and starts anew with every job that is sent. The
 * watchdog in exec_reset.c takes its place, and the scheduler sees nothing but fences that signal.
 *
 * All work in the dma_fence signalling path that may sleep (polls, resets) runs either in one
 * ordered work queue for all engines of a device, or in the call of an owner that resets the
 * adapter; engine->reset_lock serializes the two.
 *
 * The order of all locks is in core/core.h.
 */
#ifndef PAGODA_EXEC_INTERNAL_H
#define PAGODA_EXEC_INTERNAL_H

#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <drm/gpu_scheduler.h>
#include "exec.h"

/*
 * Jobs the device has at once: enough to keep it busy, few enough that a job of high priority
 * doesn't wait behind many.
 */
#define PAGODA_EXEC_DEPTH	4
/* Failures at a job, without a fault or a timeout, after which the engine counts as broken. */
#define PAGODA_EXEC_FAILURES	3

/**
 * enum pagoda_exec_state - State of a job in flight
 * @PAGODA_EXEC_WAITING: to be given to the device, or to be ended, in its turn
 * @PAGODA_EXEC_SENT: the device has the job
 * @PAGODA_EXEC_DONE: executed or given up; signals when the job is the first in flight
 */
enum pagoda_exec_state {
	PAGODA_EXEC_WAITING,
	PAGODA_EXEC_SENT,
	PAGODA_EXEC_DONE,
};

/**
 * struct pagoda_exec_flight - A job with all memory it will ever need
 * @request: Request for the transport; first, for its alignment
 * @base: Part that the submitter sees
 * @sched: The scheduler's part
 * @context: Context; a counted reference
 * @node: In engine->inflight; engine->lock
 * @hw: Fence of the device's work; a reference of the job until the fence is signalled under
 *	signal_lock
 * @refs: References: one of the scheduler side, one of the transport
 * @state: State of the job, valid in flight; engine->lock
 * @seqno: Number of the request that the device has, 0 = the device doesn't have the job;
 *	engine->lock
 * @sent_before: The job was given to the device before; engine->lock
 * @faulted: The device refused the job for the reason in @fault; engine->lock
 * @failures: Failures of the engine at this job without a fault or a timeout; engine->lock
 * @error: Error for the fence, once it is known; engine->lock
 * @fault: Coordinates of the fault; engine->lock
 * @execute: Command for the device
 * @buffers: The command buffers, which follow @execute
 */
struct pagoda_exec_flight {
	struct pagoda_request request;
	struct pagoda_exec_job base;
	struct drm_sched_job sched;
	struct pagoda_exec_context *context;
	struct list_head node;
	struct dma_fence *hw;
	refcount_t refs;
	enum pagoda_exec_state state;
	u64 seqno;
	bool sent_before;
	bool faulted;
	u32 failures;
	int error;
	struct pagoda_fault fault;
	struct virtio_pagoda_execute execute ____cacheline_aligned;
	struct virtio_pagoda_command_buffer buffers[];
};

/**
 * struct pagoda_exec_engine - An engine
 * @engines: All engines of the device
 * @index: Index of the engine in @engines
 * @transport: Transport to the engine
 * @sched: Scheduler of the engine
 * @work: Resets the engine, or ends its jobs
 * @watchdog: Checks whether the engine still makes progress
 * @hw_context: Fence context of the device fences
 * @kill_lock: Held while the scheduler is stopped to remove an entity
 * @reset_lock: Held while the engine is reset or its jobs are given up. Taken in the dma_fence
 *	signalling path: no allocation under it
 * @signal_lock: Keeps the order of signalling; the locks of the hw fences nest inside
 * @lock: Protects all members below
 * @inflight: Jobs that the scheduler handed over, in order, until their fence signals
 * @held: Nothing is sent because the owner resets the adapter; counted
 * @refusing: Jobs fail instead of waiting while @held
 * @need_reset: The device refused a request, gave an invalid answer or made no progress
 * @paused: @inflight is being rearranged under @reset_lock, or the engine is @broken
 * @broken: The engine couldn't be reset: the owner has to reset the adapter
 * @stopped: All jobs end
 * @gone: Nothing may be sent any more
 * @polling: The watchdog is looking for completions
 * @taken: Jobs the scheduler handed over so far
 * @sent_seqno: Number of the last request the device was given
 * @acked_seqno: Highest number that the device is known to have finished
 * @suspect_seqno: Request that takes too long, 0 = none
 * @nr_sent: Requests the device has
 * @progress: jiffies when the first request that the device has began
 * @busy_since: Time when @nr_sent became more than 0, or up to which busy time was charged
 * @stats: Counters
 */
struct pagoda_exec_engine {
	struct pagoda_engines *engines;
	u32 index;
	struct pagoda_transport *transport;
	struct drm_gpu_scheduler sched;
	struct work_struct work;
	struct delayed_work watchdog;
	u64 hw_context;

	struct mutex kill_lock;		/* stops its scheduler */
	struct mutex reset_lock;	/* resets, giving up */
	spinlock_t signal_lock;		/* order of signalling */
	spinlock_t lock;		/* all members below */
	struct list_head inflight;
	u32 held;
	bool refusing;
	bool need_reset;
	bool paused;
	bool broken;
	bool stopped;
	bool gone;
	bool polling;
	u64 taken;
	u64 sent_seqno;
	u64 acked_seqno;
	u64 suspect_seqno;
	u32 nr_sent;
	unsigned long progress;
	ktime_t busy_since;
	struct pagoda_engine_stats stats;
};

/**
 * struct pagoda_engines - The engines of a device
 * @kref: References: the owner's, and one per request that a transport owns
 * @args: Arguments of pagoda_engines_create(), without the list of transports
 * @submit_wq: Ordered: runs jobs, frees them
 * @recover_wq: Ordered: resets and watchdogs
 * @lock: Protects @jobs
 * @jobs: Jobs armed and not freed
 * @drained: Woken when @jobs reaches zero
 * @count: Number of engines
 * @engine: The engines
 */
struct pagoda_engines {
	struct kref kref;
	struct pagoda_engines_args args;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *recover_wq;
	spinlock_t lock;	/* jobs */
	u32 jobs;
	wait_queue_head_t drained;
	u32 count;
	struct pagoda_exec_engine engine[] __counted_by(count);
};

/**
 * struct pagoda_exec_account - Time that engines spent on the jobs of some contexts
 * @kref: References: the owner's, and one per context
 * @busy_ns: Time by engine, without the time that isn't charged yet; lock of the engine
 */
struct pagoda_exec_account {
	struct kref kref;
	u64 busy_ns[VIRTIO_PAGODA_MAX_ENGINES];
};

/**
 * struct pagoda_exec_context - A context
 * @kref: References: the owner's, and one per job
 * @rcu: A dependency's callback may still use @entity after the last reference is dropped
 * @engine: Engine that runs the context's jobs
 * @entity: Scheduler entity, which holds the jobs that wait
 * @account: Account that the time of jobs is charged to, a reference; NULL = none
 * @id: Device's id of the context
 * @address_space: Address space that the jobs run in
 * @owner_lock: Protects @owner, also during a call of the owner's banned()
 * @owner: Argument of the owner's operations; NULL once the context is destroyed
 * @banned: Jobs of the context fail; engine->lock
 * @dead: The context is destroyed; engine->lock
 * @submitted: Jobs armed; engine->lock
 * @completed: Number of the last job finished, all jobs before it are too; engine->lock
 * @last_fence: Fence of the last job pushed; engine->lock
 */
struct pagoda_exec_context {
	struct kref kref;
	struct rcu_head rcu;
	struct pagoda_exec_engine *engine;
	struct drm_sched_entity entity;
	struct pagoda_exec_account *account;
	u64 id;
	u32 address_space;
	struct mutex owner_lock;	/* owner */
	void *owner;
	bool banned;
	bool dead;
	u64 submitted;
	u64 completed;
	struct dma_fence *last_fence;
};

static inline struct pagoda_exec_flight *pagoda_flight_of(struct pagoda_exec_job *job)
{
	return container_of(job, struct pagoda_exec_flight, base);
}

/* exec.c */
void pagoda_engines_release(struct kref *kref);

/* exec_context.c */
void pagoda_exec_context_put(struct pagoda_exec_context *context);
void pagoda_exec_context_tell(struct pagoda_exec_context *context,
			      const struct pagoda_exec_report *report);

/* exec_job.c */
void pagoda_flight_put(struct pagoda_exec_flight *job);
void pagoda_flight_free_job(struct drm_sched_job *sched_job);

/* exec_flight.c */
struct dma_fence *pagoda_flight_run_job(struct drm_sched_job *sched_job);
bool pagoda_flight_send(struct pagoda_exec_engine *engine);
void pagoda_engine_retire(struct pagoda_exec_engine *engine);
void pagoda_flight_end(struct pagoda_exec_flight *job, int error);
void pagoda_flight_tell_lost(struct pagoda_exec_flight *job);
void pagoda_engine_take_back(struct pagoda_exec_engine *engine);
void pagoda_engine_watch(struct pagoda_exec_engine *engine);

/* exec_account.c */
u64 pagoda_engine_uncounted(struct pagoda_exec_engine *engine);
void pagoda_engine_charge(struct pagoda_exec_engine *engine);

/* exec_reset.c */
struct pagoda_exec_flight *pagoda_exec_stuck(struct pagoda_exec_engine *engine, u64 seqno);
void pagoda_exec_work(struct work_struct *work);
void pagoda_exec_watchdog(struct work_struct *work);

#endif
