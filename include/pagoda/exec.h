/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The execution part of the queue layer: jobs of contexts on engines.
 *
 * Every engine has a scheduler (drm_sched), every context an entity of one engine's.
 * A job is one request: it executes command buffers in the context's address space.
 * Its life is that of a paging submission: create allocates all it will ever need, add
 * collects dependencies, arm publishes the fence, push hands it over; put instead of
 * arm gives it back.
 *
 * A job that faults, or takes longer than the timeout, costs its context and nobody
 * else: the engine is reset, the guilty context banned, its other jobs fail with
 * -ECANCELED, and jobs of others that the engine had are submitted again with new
 * numbers (C187). When an engine can't be reset, the owner resets the adapter: then all
 * jobs the engines had fail, and only the context that started it is guilty.
 *
 * A fence always signals, with an error when the work wasn't done: -EFAULT (fault),
 * -ETIME (hang), -ECANCELED (banned before it ran, or lost to somebody else's
 * reset), -ENODEV (the device is gone), -ESRCH (its context was destroyed), or what the
 * owner's @image answered.
 */
#ifndef PAGODA_EXEC_H
#define PAGODA_EXEC_H

#include <linux/dma-resv.h>
#include <linux/types.h>
#include <pagoda/transport.h>

struct device;
struct dma_fence;
struct drm_printer;
struct pagoda_engines;
struct pagoda_exec_account;
struct pagoda_exec_context;

/** enum pagoda_exec_priority - Priorities of contexts, as the user ABI has them. */
enum pagoda_exec_priority {
	PAGODA_EXEC_NORMAL,
	PAGODA_EXEC_LOW,
	PAGODA_EXEC_HIGH,
};

/**
 * struct pagoda_exec_report - Why a context was banned, or what it lost
 * @job: Number of the job in its context, 0 = none
 * @engine: Engine
 * @hung: It took too long; else @fault says why
 * @reset: Not guilty: the job was lost to a reset of the adapter
 * @fault: Coordinates
 */
struct pagoda_exec_report {
	u64 job;
	u32 engine;
	bool hung;
	bool reset;
	struct pagoda_fault fault;
};

/**
 * struct pagoda_exec_ops - What the engines ask their owner (vidmm)
 * @image: Where a context's save area is now: fills the head of what the device is
 *	given. Called when the job goes to the device, in the scheduler's work item, on
 *	the way to a fence: doesn't allocate or take a reservation. What it says stays true
 *	until the job's fence signals, because whoever moves a save area waits for that;
 *	it isn't asked again when the job is. Only @image_address and @image_segment. May
 *	answer an error instead: the job ends with it and isn't executed; -ECANCELED: it
 *	was lost to a reset, which @banned is told
 * @banned: A job failed and its context is banned, or a job was lost (@report->reset).
 *	On the way to a fence, before it signals; may sleep, but not allocate, nor take a lock
 *	under which engines are held, or a context is destroyed. Not after
 *	pagoda_exec_context_destroy() returned. May be NULL
 * @done: A job is through, executed or not, and its fence is about to signal: what it
 *	wrote is there, to be found without a fence. Any context, interrupts off; takes
 *	spinlocks only. May be NULL
 * @freed: A job with a &pagoda_exec_job.payer isn't kept any more: its fence has signalled. May
 *	sleep; not on the way to a fence. May be NULL
 * @reset_adapter: An engine didn't let itself be reset. Holds the engines, resets the
 *	whole device, calls pagoda_engines_lost() and answers 0, and resumes them as soon as
 *	they may execute again, then or later; or the device is gone: negative errno. Work
 *	item context, on the way to fences: doesn't allocate or take a reservation. Not
 *	called while somebody holds the engines: who does is resetting already
 */
struct pagoda_exec_ops {
	int (*image)(void *context_owner, u64 mark, struct virtio_pagoda_execute *execute);
	void (*banned)(void *context_owner, const struct pagoda_exec_report *report);
	void (*done)(void *owner);
	void (*freed)(void *payer);
	int (*reset_adapter)(void *owner);
};

/**
 * struct pagoda_engines_args - How to make the engines of a device
 * @dev: For messages and schedulers
 * @transports: The way to each, @count of them; the list needn't stay. Not used any more
 *	once pagoda_engines_stop() returned
 * @count: Engines
 * @timeout_ms: How long a job may run
 * @ops: Owner's calls
 * @owner: Their argument
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
 * struct pagoda_exec_job - A job, what its submitter may see of it
 * @buffers: Command buffers, for the caller to fill between create and push
 * @nr_buffers: Their number
 * @mark: For the caller to fill likewise, and to get back with &pagoda_exec_ops.image
 * @payer: For the caller to set after arm: argument of &pagoda_exec_ops.freed; NULL = no call
 * @fence: After arm: signals when the job is done; reference is the job's, take
 *	your own
 * @number: After arm: its number in its context, from 1
 */
struct pagoda_exec_job {
	struct virtio_pagoda_command_buffer *buffers;
	u32 nr_buffers;
	u64 mark;
	void *payer;
	struct dma_fence *fence;
	u64 number;
};

/**
 * struct pagoda_engine_stats - Counters of an engine since it was made
 * @jobs: Given to the device
 * @faults: Jobs that faulted
 * @timeouts: Jobs that took too long
 * @resets: Resets of the engine
 * @resubmitted: Jobs given to the device again
 * @polled: Completions found by a timeout, without an interrupt
 * @busy_ns: Time it had something to do
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
int pagoda_exec_context_wait_idle(struct pagoda_exec_context *context, long timeout);

struct pagoda_exec_job *pagoda_exec_job_create(struct pagoda_exec_context *context,
					       u32 nr_buffers);
void pagoda_exec_job_put(struct pagoda_exec_job *job);
int pagoda_exec_job_add_fence(struct pagoda_exec_job *job, struct dma_fence *fence);
int pagoda_exec_job_add_resv(struct pagoda_exec_job *job, struct dma_resv *resv,
			     enum dma_resv_usage usage);
void pagoda_exec_job_arm(struct pagoda_exec_job *job);
void pagoda_exec_job_push(struct pagoda_exec_job *job);

#endif
