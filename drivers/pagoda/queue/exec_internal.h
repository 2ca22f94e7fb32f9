/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the execution part of the queue layer.
 *
 *	exec.c          engines, creation and destruction
 *	exec_reset.c    recovery of an engine that faults, hangs or is lost
 *	exec_send.c     jobs from the scheduler to the signalled fence
 *	exec_job.c      jobs from creation to push
 *	exec_places.c   how many jobs are prepared at once, and of which contexts
 *	exec_context.c  contexts
 *	exec_print.c    state and counters of engines, for debugfs and coredumps
 *	exec_account.c  accounts of the time that engines spend on jobs
 *	flight.c        the part in common with the paging queue
 *
 * Polls and resets, which may sleep in the dma_fence signalling path, run either in recover_wq, one
 * ordered work queue for all engines of a device, or in calls of an owner that resets the adapter;
 * engine->reset_lock serializes resets in recover_wq with those calls.
 */
#ifndef PAGODA_EXEC_INTERNAL_H
#define PAGODA_EXEC_INTERNAL_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include "exec.h"
#include "flight.h"

/*
 * Most jobs of an engine in flight at once: credits of the scheduler. More than PAGODA_EXEC_PLACES,
 * so that a job that only ends, because its context is banned, needn't wait for jobs with a place.
 */
#define PAGODA_EXEC_DEPTH	4
/* Most jobs of an engine that are prepared or executed at once: one runs, one is next. */
#define PAGODA_EXEC_PLACES	2
/* Failures of an engine at one job, other than faults and hangs, by which the engine is broken. */
#define PAGODA_EXEC_FAILURES	3

/**
 * struct pagoda_engine_job - A job of a context with all memory it will ever need
 * @core: Part in common with the paging queue's jobs; first, for @core's alignment. @core.seqno is
 *	the number of the job's request, 0 = the job wasn't sent since the engine's last reset
 * @base: Part that the submitter sees
 * @context: Context; a counted reference
 * @faulted: The device reported the fault @fault for the job
 * @placed: In &pagoda_exec_engine.places while the job has a place, else empty
 * @done: In &pagoda_exec_engine.done from pagoda_engine_retired() until free_job, else empty
 * @unplaced: The job was armed without a place and has had none yet
 * @failures: Failures of the engine at this job, other than faults and timeouts
 * @fault: Coordinates of the fault
 * @turn: Fence that signals when the job, armed without a place, gets a place or needs none any
 *	more (exec_places.c); NULL = the job gets its place before arm
 * @execute: First part of the request's buffer for the device
 * @buffers: The command buffers, the rest of the request's buffer
 *
 * engine->flight.lock protects @faulted, @placed, @done, @unplaced, @failures and @fault.
 */
struct pagoda_engine_job {
	struct pagoda_job core;
	struct pagoda_exec_job base;
	struct pagoda_exec_context *context;
	bool faulted;
	struct list_head placed;
	struct list_head done;
	bool unplaced;
	u32 failures;
	struct pagoda_fault fault;
	struct dma_fence *turn;
	struct virtio_pagoda_execute execute ____cacheline_aligned;
	struct virtio_pagoda_command_buffer buffers[];
};

/**
 * struct pagoda_exec_engine - An engine
 * @engines: All engines of the device
 * @index: Index of the engine in @engines
 * @kill_lock: Held while the scheduler is stopped to remove an entity
 * @reset_lock: Held while the engine is reset or its jobs are given up. Taken in the dma_fence
 *	signalling path: nothing is allocated under this lock
 * @flight: Jobs in flight; flight.lock protects all members from @held on. flight.progress is the
 *	time since which the device could work on the first request that the device has
 * @held: Number of calls of pagoda_engines_hold() in effect: above 0 nothing is sent
 * @refusing: Jobs fail instead of waiting while @held
 * @paused: No job is sent or ended: a thread with @reset_lock decides about the jobs in flight, or
 *	the engine is @broken
 * @broken: The engine couldn't be reset: the owner has to reset the adapter
 * @stopped: pagoda_engines_stop() was called: all jobs end
 * @gone: The device is gone for good: nothing may be sent any more
 * @suspect_seqno: Number of the request that takes too long, 0 = none
 * @busy_since: Time up to which busy time was charged, or, if later, when an idle engine got a job
 * @stats: Counters; that of polled completions is in @flight
 * @places: Jobs that have a place, see exec_places.c
 * @done: Jobs that ended and gave their places back, until free_job: fences of some may not have
 *	signalled yet
 * @placed: Number of @places
 * @nr_granted: Number of @grants
 * @grants: Contexts that a place is kept for
 * @asking: Contexts that wait for a place, the next one to get a place first
 * @turn: Largest &pagoda_exec_context.turn of a context that got its place from @asking so far
 * @slice: Account whose contexts ask with @slice_turn until the account's turn reaches @slice_end;
 *	the account may be freed: the pointer is only compared. NULL = none
 * @slice_turn: &pagoda_exec_context.turn of the context that began the slice
 * @slice_end: Value of &pagoda_exec_account.turn with which the slice ends
 * @grants_end: Work item that ends unused grants
 */
struct pagoda_exec_engine {
	struct pagoda_engines *engines;
	u32 index;
	struct mutex kill_lock;		/* held while flight.sched is stopped */
	struct mutex reset_lock;	/* held while engine is reset or jobs are given up */
	struct pagoda_flight flight;

	u32 held;
	bool refusing;
	bool paused;
	bool broken;
	bool stopped;
	bool gone;
	u64 suspect_seqno;
	ktime_t busy_since;
	struct pagoda_engine_stats stats;
	struct list_head places;
	struct list_head done;
	u32 placed;
	u32 nr_granted;
	struct list_head grants;
	struct rb_root_cached asking;
	u64 turn;
	const struct pagoda_exec_account *slice;
	u64 slice_turn;
	u64 slice_end;
	struct delayed_work grants_end;
};

/**
 * struct pagoda_engines - The engines of a device
 * @kref: References: the owner's, and one per request that a transport owns
 * @args: Arguments of pagoda_engines_create(), without the list of transports
 * @submit_wq: Ordered work queue of the schedulers, which runs and frees jobs
 * @recover_wq: Ordered work queue of resets and watchdogs
 * @count: Number of engines
 * @engine: The engines
 */
struct pagoda_engines {
	struct kref kref;
	struct pagoda_engines_args args;
	struct workqueue_struct *submit_wq;
	struct workqueue_struct *recover_wq;
	u32 count;
	struct pagoda_exec_engine engine[] __counted_by(count);
};

/**
 * struct pagoda_exec_account - Time that engines spent on the jobs of some contexts
 * @kref: References: the owner's, and one per context
 * @busy_ns: Nanoseconds charged so far, by index of the engine, whose flight.lock protects them
 * @turn: By index of the engine: grows like @busy_ns, and is raised to &pagoda_exec_engine.turn
 *	when a context asks outside of the account's slice, so that idle time isn't saved up;
 *	protected by flight.lock, too
 */
struct pagoda_exec_account {
	struct kref kref;
	u64 busy_ns[VIRTIO_PAGODA_MAX_ENGINES];
	u64 turn[VIRTIO_PAGODA_MAX_ENGINES];
};

/**
 * struct pagoda_exec_context - A context
 * @kref: References: the owner's, and one per job
 * @rcu: Frees the context after a grace period: a dependency's callback may still use @entity
 * @engine: Engine that runs the context's jobs
 * @entity: Scheduler entity, which holds the pushed jobs that the scheduler hasn't run yet
 * @account: Account that the time of jobs is charged to, a reference; NULL = none
 * @id: Device's id of the context
 * @address_space: Address space that the jobs run in
 * @owner_lock: Protects @owner, also during a call of the owner's banned()
 * @owner: Argument of &struct pagoda_exec_ops; NULL once the context is destroyed
 * @rank: The context's priority, lowest value first; constant
 * @asking: In &pagoda_exec_engine.asking while the context waits for a place
 * @turn: Order among contexts of a rank: &pagoda_exec_account.turn when the context asked for a
 *	place, &pagoda_exec_engine.slice_turn if @in_slice, &pagoda_exec_engine.turn if no @account
 * @in_slice: The context asked while its account had the slice
 * @grant: In &pagoda_exec_engine.grants while a place is kept for the context
 * @asked: The owner waits for a call of &pagoda_exec_ops.placed
 * @next: Armed job that waits for a place, or NULL
 * @nr_unplaced: Number of armed jobs that have had no place yet: no job behind them gets one
 * @banned: Jobs of the context fail
 * @dead: The context is destroyed
 * @submitted: Number of the last job armed
 * @completed: Number of the last job that is finished, as are all jobs before
 * @last_fence: Fence of the last job pushed
 *
 * engine->flight.lock protects the members from @asking on.
 */
struct pagoda_exec_context {
	struct kref kref;
	struct rcu_head rcu;
	struct pagoda_exec_engine *engine;
	struct drm_sched_entity entity;
	struct pagoda_exec_account *account;
	u64 id;
	u32 address_space;
	struct mutex owner_lock;	/* protects owner */
	void *owner;
	u32 rank;
	struct rb_node asking;
	u64 turn;
	bool in_slice;
	struct list_head grant;
	bool asked;
	struct pagoda_engine_job *next;
	u32 nr_unplaced;
	bool banned;
	bool dead;
	u64 submitted;
	u64 completed;
	struct dma_fence *last_fence;
};

static inline struct pagoda_engine_job *pagoda_engine_job_of(struct pagoda_exec_job *job)
{
	return container_of(job, struct pagoda_engine_job, base);
}

static inline struct pagoda_exec_engine *pagoda_engine_of(struct pagoda_flight *flight)
{
	return container_of(flight, struct pagoda_exec_engine, flight);
}

/* exec_context.c: drop a reference to a context; report a context's failed or lost job */
void pagoda_exec_context_put(struct pagoda_exec_context *context);
void pagoda_exec_context_tell(struct pagoda_exec_context *context,
			      const struct pagoda_exec_report *report);

/* exec_job.c: free a job; handle the end of a job, whose fence has signalled */
void pagoda_engine_free(struct pagoda_job *core);
void pagoda_engine_ended(struct pagoda_job *core);

/* exec_places.c: give, keep, wait for and free places, the right of a job to hold memory */
struct dma_fence *pagoda_engine_prepare_job(struct drm_sched_job *sched_job,
					    struct drm_sched_entity *entity);
void pagoda_places_fini(struct pagoda_engine_job *job);
void pagoda_places_work(struct work_struct *work);
void pagoda_places_leave(struct pagoda_exec_context *context);
void pagoda_places_add(struct pagoda_engine_job *job);
void pagoda_places_pushed(struct pagoda_engine_job *job);
void pagoda_places_remove(struct pagoda_engine_job *job);

/* exec_send.c: send jobs to an engine, and retire those that are done, failed or lost */
struct dma_fence *pagoda_engine_run_job(struct drm_sched_job *sched_job);
bool pagoda_engine_send(struct pagoda_exec_engine *engine);
void pagoda_engine_end(struct pagoda_engine_job *job, int error);
void pagoda_engine_tell_lost(struct pagoda_engine_job *job);
bool pagoda_engine_failed(struct pagoda_job *core, enum pagoda_outcome outcome,
			  const struct pagoda_fault *fault);
void pagoda_engine_retired(struct pagoda_job *core);

/* exec_account.c: find an engine's first unfinished job; charge the engine's time to accounts */
struct pagoda_engine_job *pagoda_engine_stuck(struct pagoda_exec_engine *engine, u64 seqno);
u64 pagoda_engine_uncounted(struct pagoda_exec_engine *engine);
void pagoda_engine_charge(struct pagoda_flight *flight);

/* exec_reset.c: recovery of an engine: its work item and its watchdog */
void pagoda_engine_work(struct work_struct *work);
void pagoda_engine_watchdog(struct work_struct *work);

#endif
