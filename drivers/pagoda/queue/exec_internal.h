/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Inside of the execution part of the queue layer.
 *
 *	exec.c          engines, up and down
 *	exec_context.c  contexts
 *	exec_job.c      jobs until they are pushed
 *	exec_flight.c   jobs from the scheduler to the signalled fence
 *	exec_reset.c    what happens when an engine faults, hangs or is lost
 *	exec_account.c  whose time it is that engines spend
 *	exec_print.c    what engines tell about themselves
 *
 * A job the scheduler hands over is appended to engine->inflight and leaves it from
 * the front only, with its fence signalled: whatever becomes of it, an engine's
 * fences signal in order (C185). Beside that the transport owns the request while
 * the device may write it: two owners, counted by job->refs, so that a device that
 * doesn't answer keeps its memory although the fence was signalled long ago.
 *
 * The scheduler's own timeout is off. It would be a second opinion on which job
 * is to blame, can't poll for completions whose interrupt was lost, and starts anew
 * with every job that is sent. The watchdog in exec_reset.c takes its place, and
 * the scheduler sees nothing but fences that signal.
 *
 * Everything that may sleep on the way to a fence (polls, resets) runs from one
 * ordered work queue for all engines of a device, or in the call of an owner that
 * resets it; engine->reset_lock keeps the two apart.
 *
 * Lock order: kill_lock, reset_lock, owner_lock; signal_lock, lock, then the transport's own.
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

#include <pagoda/exec.h>

/*
 * Jobs the device has at once: enough to keep it busy, few enough that one of high
 * priority doesn't stand behind many.
 */
#define PAGODA_EXEC_DEPTH	4
/* Times an engine may not get past a job for no reason before it counts as broken. */
#define PAGODA_EXEC_FAILURES	3

/**
 * enum pagoda_exec_state - Where a job in flight is
 * @PAGODA_EXEC_WAITING: to be given to the device, or to be ended, in its turn
 * @PAGODA_EXEC_SENT: the device has it
 * @PAGODA_EXEC_DONE: executed or given up; signals when it's the first
 */
enum pagoda_exec_state {
	PAGODA_EXEC_WAITING,
	PAGODA_EXEC_SENT,
	PAGODA_EXEC_DONE,
};

/**
 * struct pagoda_exec_flight - A job with all it will ever need
 * @request: What the transport carries; first, for its alignment
 * @base: What the submitter sees
 * @sched: The scheduler's part
 * @context: Context; counted
 * @node: In engine->inflight; engine->lock
 * @hw: Fence of the device's work; the job's own until it is signalled under
 *	signal_lock
 * @refs: One of the scheduler side, one of the transport
 * @state: Valid in flight; engine->lock
 * @seqno: Number the device has it by, 0 = it hasn't; engine->lock
 * @sent_before: Was given to the device already; engine->lock
 * @faulted: The device refused it, @fault says why; engine->lock
 * @failures: Times the engine didn't get past it for no reason; engine->lock
 * @error: For the fence, once it is known; engine->lock
 * @fault: Coordinates of the fault; engine->lock
 * @execute: What the device reads
 * @buffers: The command buffers, behind it
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
 * @engines: All of the device
 * @index: Which
 * @transport: The way to it
 * @sched: Its scheduler
 * @work: Resets it, or takes it down
 * @watchdog: Looks whether it is still alive
 * @hw_context: Context of the device fences
 * @kill_lock: An entity is taken from the scheduler, which isn't at work; outside all others
 * @reset_lock: Whoever resets the engine or gives up what it had. Taken on the way
 *	to fences: nobody allocates under it
 * @signal_lock: Keeps the order of signalling; the hw fences' own locks nest in
 * @lock: Protects all below
 * @inflight: Jobs the scheduler handed over whose fence isn't signalled, in order
 * @held: The owner resets the adapter: nothing is sent; counted
 * @refusing: While it is held jobs fail instead of waiting
 * @need_reset: The device refused something, or told nonsense
 * @paused: Somebody under @reset_lock rearranges @inflight, or left it like that
 *	because of @broken
 * @broken: It couldn't be reset: the owner has to
 * @stopped: All jobs end
 * @gone: Nothing may be sent any more
 * @polling: The watchdog is looking for completions
 * @taken: Jobs the scheduler handed over so far
 * @sent_seqno: Number of the last request the device was given
 * @acked_seqno: Highest number the device is known to be through with
 * @suspect_seqno: Request that takes too long, 0 = none
 * @nr_sent: Requests the device has
 * @progress: jiffies when the first of them began
 * @busy_since: When @nr_sent became more than 0, or the time since then was counted last
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

	struct mutex kill_lock;		/* its scheduler doesn't run */
	struct mutex reset_lock;	/* resets, giving up */
	spinlock_t signal_lock;		/* order of signalling */
	spinlock_t lock;		/* all below */
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
 * @kref: The owner's reference, and one a request a transport owns
 * @args: As made; its transports aren't used
 * @submit_wq: Ordered: runs jobs, frees them
 * @recover_wq: Ordered: resets and watchdogs
 * @lock: Protects @jobs
 * @jobs: Jobs armed and not freed
 * @drained: Woken when @jobs reaches zero
 * @count: Engines
 * @engine: Each
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
 * struct pagoda_exec_account - Time that engines spent for somebody
 * @kref: The owner's reference, and one a context
 * @busy_ns: By engine, whose lock protects its entry; without what isn't counted yet
 */
struct pagoda_exec_account {
	struct kref kref;
	u64 busy_ns[VIRTIO_PAGODA_MAX_ENGINES];
};

/**
 * struct pagoda_exec_context - A context
 * @kref: The owner's reference, and one a job
 * @rcu: A dependency's callback may still look at @entity when it is gone
 * @engine: Where its jobs run
 * @entity: Its jobs that wait
 * @account: Who pays for what they take, a reference; NULL = nobody
 * @id: The device's name for it
 * @address_space: Space its jobs run in
 * @owner_lock: Keeps @owner from going while it is told something
 * @owner: Argument of the owner's calls; NULL once the context is destroyed
 * @banned: Its jobs fail; engine->lock
 * @dead: It is destroyed, the same; engine->lock
 * @submitted: Jobs armed; engine->lock
 * @completed: All jobs up to this one are done; engine->lock
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
void pagoda_flight_retire(struct pagoda_exec_engine *engine);
void pagoda_flight_end(struct pagoda_exec_flight *job, int error);
void pagoda_flight_tell_lost(struct pagoda_exec_flight *job);
void pagoda_flight_take_back(struct pagoda_exec_engine *engine);
void pagoda_flight_watch(struct pagoda_exec_engine *engine);

/* exec_account.c */
u64 pagoda_engine_uncounted(struct pagoda_exec_engine *engine);
void pagoda_engine_charge(struct pagoda_exec_engine *engine);

/* exec_reset.c */
struct pagoda_exec_flight *pagoda_exec_stuck(struct pagoda_exec_engine *engine, u64 seqno);
void pagoda_exec_work(struct work_struct *work);
void pagoda_exec_watchdog(struct work_struct *work);

#endif
