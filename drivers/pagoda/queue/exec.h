/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The execution part of the queue layer: jobs of contexts on engines.
 *
 * Every engine has a scheduler (drm_sched), every context an entity of one engine's scheduler.
 * A job is one request to execute command buffers in the context's address space. A job's life is
 * that of a paging submission (queue.h: get, add, arm, push, put), with create instead of get.
 *
 * A job that faults, or takes longer than the timeout, costs only its own context: the engine is
 * reset, the guilty context is banned, its other jobs fail with -ECANCELED, and unfinished jobs of
 * other contexts that the device had are sent again with new request numbers (C187). When an engine
 * can't be reset, the owner resets the adapter, that is the whole device: then all jobs in flight
 * on all engines fail that weren't executed completely, and at most the contexts of jobs that
 * faulted or hung are banned.
 *
 * A job's fence always signals, with an error if the work wasn't done: -EFAULT (fault), -ETIME
 * (hang), -ECANCELED (the context was banned before the job ran, or the job was lost to a reset of
 * the adapter), -ENODEV (the device is gone, or the engines are stopped), -ESRCH (the context was
 * destroyed), or an error that &pagoda_exec_ops.image returned.
 */
#ifndef PAGODA_EXEC_H
#define PAGODA_EXEC_H

#include <linux/dma-resv.h>
#include <linux/types.h>
#include "core/kcov.h"
#include "core/transport.h"

struct device;
struct dma_fence;
struct drm_printer;
struct pagoda_engines;
struct pagoda_exec_account;
struct pagoda_exec_context;
struct pagoda_exec_job;

/* Priorities of contexts, with the same values as in the user ABI. */
enum pagoda_exec_priority {
	PAGODA_EXEC_NORMAL,
	PAGODA_EXEC_LOW,
	PAGODA_EXEC_HIGH,
};

/**
 * struct pagoda_exec_report - Why a context was banned, or which job of the context was lost
 * @job: Number of the job in its context, 0 = none
 * @engine: Index of the engine
 * @hung: The job took too long; if neither @hung nor @reset, the job faulted at @fault
 * @reset: The context isn't guilty: the job was lost to a reset of the adapter
 * @fault: Coordinates of the fault
 */
struct pagoda_exec_report {
	u64 job;
	u32 engine;
	bool hung;
	bool reset;
	struct pagoda_fault fault;
};

/**
 * struct pagoda_exec_ops - Calls of the engines to their owner (vidmm)
 * @image: Fills in where the context's save area is: only image_address, image_segment and flags
 *	of @execute; @mark is &pagoda_exec_job.mark. Called once for a job, when the scheduler runs
 *	the job, in a work item: dma_fence signalling path, doesn't allocate or take a reservation.
 *	The save area stays there until the job's fence signals, because a move of the save area
 *	waits for the fence; there is no second call when the job is sent again. Returns 0, or an
 *	error with which the job ends unexecuted; for -ECANCELED, which means that the job was lost
 *	to a reset of the adapter, @banned is called too
 * @banned: A job failed and its context is banned, or a job was lost (report->reset). Called in
 *	the dma_fence signalling path, before the fence signals; may sleep, but must not allocate,
 *	nor take a lock that is held around pagoda_engines_hold() or pagoda_exec_context_destroy().
 *	Not called after pagoda_exec_context_destroy() has returned. May be NULL
 * @placed: The engine keeps a place, in which a job may be prepared, for a context whose
 *	pagoda_exec_context_ask() returned false. Called with a spinlock of the engine held: takes
 *	spinlocks only. Not called once the context is banned or destroyed
 * @done: A job in flight has ended, executed or not, and its fence is about to signal: what the job
 *	wrote to memory can be read already; or pagoda_engines_stored() is called while the job is
 *	in flight. The second argument is the account of the job's context, or NULL. Called in any
 *	context, interrupts off, maybe under a spinlock of the engine; takes spinlocks only. May be
 *	NULL
 * @freed: A job whose &pagoda_exec_job.payer isn't NULL is about to be freed: its fence has
 *	signalled. May sleep, but not allocate with reclaim, because other jobs may be run only
 *	after the return. May be NULL
 * @reset_adapter: An engine couldn't be reset: the owner calls pagoda_engines_hold(), resets the
 *	whole device, calls pagoda_engines_lost() and returns 0, or returns a negative errno if the
 *	device is gone. As soon as the engines may execute again, before the return or later, the
 *	owner calls pagoda_engines_resume(). Called in a work item, in the dma_fence signalling
 *	path: doesn't allocate or take a reservation. Not called while the engines are held, since
 *	the caller of pagoda_engines_hold() is resetting the device already
 */
struct pagoda_exec_ops {
	int (*image)(void *context_owner, u64 mark, struct virtio_pagoda_execute *execute);
	void (*banned)(void *context_owner, const struct pagoda_exec_report *report);
	void (*placed)(void *context_owner);
	void (*done)(void *owner, const struct pagoda_exec_account *account);
	void (*freed)(void *owner, struct pagoda_exec_job *job);
	int (*reset_adapter)(void *owner);
};

/**
 * struct pagoda_engines_args - How to create the engines of a device
 * @dev: For messages and schedulers
 * @transports: Transport of each engine, @count of them; the array may be freed after creation. The
 *	transports aren't used any more once pagoda_engines_stop() has returned
 * @count: Number of engines
 * @timeout_ms: Milliseconds that a job may run on the device
 * @ops: Calls to the owner
 * @owner: First argument of done(), freed() and reset_adapter() of @ops
 */
struct pagoda_engines_args {
	struct device *dev;
	struct pagoda_transport **transports;
	u32 count;
	u32 timeout_ms;
	const struct pagoda_exec_ops *ops;
	void *owner;
};

/**
 * struct pagoda_exec_job - The part of a job that its submitter may use
 * @buffers: Command buffers, filled in by the caller between create and push
 * @nr_buffers: Number of command buffers
 * @mark: Set by the caller between create and push, passed to &pagoda_exec_ops.image, which finds
 *	out by it whether paging has lost content since the caller took the mark
 * @kcov: Set by the caller between create and arm: background work on the job counts there
 * @payer: Quota that the job was charged to, for &pagoda_exec_ops.freed; set by the caller after
 *	arm. NULL = freed() isn't called
 * @fenced: The job counts as a fenced job in the quota, even if it had a place before arm; for
 *	&pagoda_exec_ops.freed, set by the caller after arm
 * @fence: After arm: signals when the job is done; the job's reference, so callers take their own
 * @number: After arm: number of the job in its context, from 1
 */
struct pagoda_exec_job {
	struct virtio_pagoda_command_buffer *buffers;
	u32 nr_buffers;
	u64 mark;
	struct pagoda_kcov kcov;
	void *payer;
	bool fenced;
	struct dma_fence *fence;
	u64 number;
};

/**
 * struct pagoda_engine_stats - Counters of an engine since its creation
 * @jobs: Jobs given to the device, each counted once
 * @faults: Jobs that faulted
 * @timeouts: Jobs that took too long
 * @resets: Resets of the engine, failed ones too
 * @resubmitted: Jobs given to the device again after a reset
 * @polled: Completions without an interrupt, found by the watchdog
 * @busy_ns: Nanoseconds in which the device had jobs for the engine
 */
struct pagoda_engine_stats {
	u64 jobs;
	u64 faults;
	u64 timeouts;
	u64 resets;
	u64 resubmitted;
	u64 polled;
	u64 busy_ns;
};

struct pagoda_engines *pagoda_engines_create(const struct pagoda_engines_args *args);
void pagoda_engines_stop(struct pagoda_engines *engines);
void pagoda_engines_destroy(struct pagoda_engines *engines);
void pagoda_engines_hold(struct pagoda_engines *engines);
void pagoda_engines_lost(struct pagoda_engines *engines);
void pagoda_engines_refuse(struct pagoda_engines *engines);
void pagoda_engines_resume(struct pagoda_engines *engines);
void pagoda_engines_gone(struct pagoda_engines *engines);
void pagoda_engines_stats(struct pagoda_engines *engines, u32 engine,
			  struct pagoda_engine_stats *stats);
void pagoda_engines_print(struct pagoda_engines *engines, struct drm_printer *p);
u64 pagoda_engines_busy_ns(struct pagoda_engines *engines);
struct dma_fence *pagoda_engines_placed(struct pagoda_engines *engines);
void pagoda_engines_stored(struct pagoda_engines *engines);
bool pagoda_engines_have_place(struct pagoda_engines *engines, struct dma_fence *fence);

struct pagoda_exec_account *pagoda_exec_account_create(void);
void pagoda_exec_account_put(struct pagoda_exec_account *account);
u64 pagoda_exec_account_busy_ns(struct pagoda_exec_account *account,
				struct pagoda_engines *engines, u32 engine);

struct pagoda_exec_context *pagoda_exec_context_create(struct pagoda_engines *engines, u32 engine,
						       enum pagoda_exec_priority priority, u64 id,
						       u32 address_space, void *owner);
void pagoda_exec_context_set_account(struct pagoda_exec_context *context,
				     struct pagoda_exec_account *account);
void pagoda_exec_context_destroy(struct pagoda_exec_context *context);
void pagoda_exec_context_ban(struct pagoda_exec_context *context);
bool pagoda_exec_context_is_banned(struct pagoda_exec_context *context);
void pagoda_exec_context_progress(struct pagoda_exec_context *context, u64 *submitted,
				  u64 *completed);
bool pagoda_exec_context_ask(struct pagoda_exec_context *context);
void pagoda_exec_context_pass(struct pagoda_exec_context *context);
bool pagoda_exec_context_owns(struct pagoda_exec_context *context, struct dma_fence *fence);
int pagoda_exec_context_wait_idle(struct pagoda_exec_context *context, long timeout);

struct pagoda_exec_job *pagoda_exec_job_create(struct pagoda_exec_context *context,
					       u32 nr_buffers);
void pagoda_exec_job_put(struct pagoda_exec_job *job);
int pagoda_exec_job_add_fence(struct pagoda_exec_job *job, struct dma_fence *fence);
int pagoda_exec_job_add_resv(struct pagoda_exec_job *job, struct dma_resv *resv,
			     enum dma_resv_usage usage);
bool pagoda_exec_job_place(struct pagoda_exec_job *job);
int pagoda_exec_job_wait_place(struct pagoda_exec_job *job);
void pagoda_exec_job_arm(struct pagoda_exec_job *job);
void pagoda_exec_job_push(struct pagoda_exec_job *job);

#endif
