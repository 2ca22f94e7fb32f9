/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_EXEC_HELPERS_H
#define PAGODA_KUNIT_EXEC_HELPERS_H

#include <kunit/test.h>
#include <linux/dma-fence.h>
#include "queue/exec.h"
#include "rig/fake_transport.h"

#define PAGODA_EXEC_TEST_ENGINES	2
#define PAGODA_EXEC_TEST_CONTEXTS	8
#define PAGODA_EXEC_TEST_JOBS		8192

/* What the fake device does with a job. */
enum pagoda_exec_deed {
	PAGODA_EXEC_RUNS,
	PAGODA_EXEC_FAULTS,
	PAGODA_EXEC_HANGS,
	PAGODA_EXEC_CONFUSES,	/* the device answers with nonsense */
};

/* A job of a test: what the device is to do with the job, and what the device did. */
struct pagoda_exec_test_job {
	enum pagoda_exec_deed deed;
	u32 context;
	u32 started;
	u32 executed;		/* times that the device executed the job to its end */
	u64 seqno;		/* request number of the job when the device began the job last */
	struct dma_fence *fence;
};

struct pagoda_exec_test_context {
	struct pagoda_exec_test *t;
	struct pagoda_exec_context *context;
	u32 first;		/* number of the last job pushed before the context was made */
	u32 last_executed;
	u32 nr_banned;
	u32 nr_lost;
	atomic_t nr_placed;
	struct pagoda_exec_report report;
};

/* Engines under test, each on a fake transport, with their contexts and jobs. */
struct pagoda_exec_test {
	struct kunit *test;
	struct pagoda_engines *engines;
	struct pagoda_fake_transport *fake[PAGODA_EXEC_TEST_ENGINES];
	struct pagoda_exec_test_context context[PAGODA_EXEC_TEST_CONTEXTS];
	struct pagoda_exec_test_job *job;	/* by number in the test, from 1 */
	u32 nr_jobs;
	atomic_t nr_done;

	/* Numbers of the jobs that the device began, on all engines, in this order. */
	spinlock_t lock;	/* protects log, and started and seqno of jobs */
	u16 *log;
	u32 nr_log;

	/* What the test's &pagoda_exec_ops.reset_adapter does, and counts of its calls. */
	int adapter_error;
	bool resume_later;	/* pagoda_engines_resume() is left to the test */
	bool answers_late;	/* the device executes job 1, which hung, during the reset */
	u32 adapter_resets;	/* all calls */
	u32 adapter_ends;	/* calls that succeeded */

	/* Counts of mistakes; must stay 0. */
	u32 wrong_image;	/* requests with wrong members */
	u32 wrong_order;	/* jobs executed behind a later job of their context, or twice */
	u32 late_told;		/* calls of banned() after the job's fence signalled */
};

struct pagoda_exec_test *pagoda_exec_test_create(struct kunit *test);
/* Makes context @i on an engine; the ids of context and address space are @i + 1. */
void pagoda_exec_test_context(struct pagoda_exec_test *t, u32 i, u32 engine,
			      enum pagoda_exec_priority priority);
void pagoda_exec_test_context_destroy(struct pagoda_exec_test *t, u32 i);
/* Pushes a job of context @i, behind fence @after if not NULL; returns its number in the test. */
u32 pagoda_exec_test_push(struct pagoda_exec_test *t, u32 i, enum pagoda_exec_deed deed,
			  struct dma_fence *after);
/* Pushes a fenced job of context @i, which waits for a place; returns its number in the test. */
u32 pagoda_exec_test_push_fenced(struct pagoda_exec_test *t, u32 i);
/* As pagoda_exec_test_push_fenced(), for a job that runs after @after. */
u32 pagoda_exec_test_push_fenced_after(struct pagoda_exec_test *t, u32 i, struct dma_fence *after);
/* Pushes a job of context @i if the job gets a place; returns its number in the test, or 0. */
u32 pagoda_exec_test_push_placed(struct pagoda_exec_test *t, u32 i);
/* Waits for a job; returns 0, the error of the job's fence, or -ETIME. */
int pagoda_exec_test_wait(struct pagoda_exec_test *t, u32 job);
bool pagoda_exec_test_is_done(struct pagoda_exec_test *t, u32 job);
/* Waits until the device was given at least @jobs jobs for an engine, complete or not. */
void pagoda_exec_test_wait_given(struct pagoda_exec_test *t, u32 engine, u64 jobs);
/*
 * Waits until the adapter was reset @resets times, and, but for resume_later, all engines may run
 * again.
 */
void pagoda_exec_test_wait_reset(struct pagoda_exec_test *t, u32 resets);
/*
 * Waits until the fake device has requests for an engine and does nothing about them, then has the
 * watchdog find that the engine's timeout has expired.
 */
void pagoda_exec_test_expire(struct pagoda_exec_test *t, u32 engine);
/*
 * If @hangs is NULL, or *@hangs is true while no job can be sent, has the watchdog run now and find
 * that the engine's timeout has expired. Returns whether this call made a pending watchdog, which
 * would have run later anyway, run now.
 */
bool pagoda_test_engine_expire(struct pagoda_engines *engines, u32 engine, const bool *hangs);
void pagoda_exec_test_modes(struct pagoda_exec_test *t, enum pagoda_fake_mode mode);
struct pagoda_engine_stats pagoda_exec_test_stats(struct pagoda_exec_test *t, u32 engine);
/* Expects that no mistake was counted, and that the engines used the transports correctly. */
void pagoda_exec_test_expect_clean(struct pagoda_exec_test *t);

#endif
