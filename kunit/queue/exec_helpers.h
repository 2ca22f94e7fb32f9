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

/* What happens to a job on the device. */
enum pagoda_exec_deed {
	PAGODA_EXEC_RUNS,
	PAGODA_EXEC_FAULTS,
	PAGODA_EXEC_HANGS,
	PAGODA_EXEC_CONFUSES,	/* the device answers with nonsense */
};

/*
 * A job by its number in the test: what is to happen to it, and what device and engines did to it.
 */
struct pagoda_exec_test_job {
	enum pagoda_exec_deed deed;
	u32 context;
	u32 started;
	u32 executed;		/* number of times, to its end */
	u64 seqno;		/* that the device had it by last */
	struct dma_fence *fence;
};

struct pagoda_exec_test_context {
	struct pagoda_exec_test *t;
	struct pagoda_exec_context *context;
	u32 first;		/* jobs pushed before the context was made */
	u32 last_executed;
	u32 nr_banned;
	u32 nr_lost;
	atomic_t nr_placed;
	struct pagoda_exec_report report;
};

/* The engines of a device on fake transports. */
struct pagoda_exec_test {
	struct kunit *test;
	struct pagoda_engines *engines;
	struct pagoda_fake_transport *fake[PAGODA_EXEC_TEST_ENGINES];
	struct pagoda_exec_test_context context[PAGODA_EXEC_TEST_CONTEXTS];
	struct pagoda_exec_test_job *job;	/* from 1 */
	u32 nr_jobs;
	atomic_t nr_done;

	/* Jobs in the order in which the device began them, on all engines. */
	spinlock_t lock;	/* log */
	u16 *log;
	u32 nr_log;

	/* Behaviour of reset_adapter(). */
	int adapter_error;
	bool resume_later;
	bool answers_late;	/* job 1, which hung, succeeds during the reset */
	u32 adapter_resets;	/* calls, */
	u32 adapter_ends;	/* and those that succeeded */

	/* Counts of mistakes; must stay 0. */
	u32 wrong_image;
	u32 wrong_order;
	u32 late_told;
};

struct pagoda_exec_test *pagoda_exec_test_create(struct kunit *test);
/* Makes context @i with save area and address space; its id is @i + 1. */
void pagoda_exec_test_context(struct pagoda_exec_test *t, u32 i, u32 engine,
			      enum pagoda_exec_priority priority);
void pagoda_exec_test_context_destroy(struct pagoda_exec_test *t, u32 i);
/* Pushes a job of context @i; returns its number in the test. */
u32 pagoda_exec_test_push(struct pagoda_exec_test *t, u32 i, enum pagoda_exec_deed deed,
			  struct dma_fence *after);
/* As pagoda_exec_test_push(), for a job that waits for its place. */
u32 pagoda_exec_test_push_fenced(struct pagoda_exec_test *t, u32 i);
u32 pagoda_exec_test_push_fenced_after(struct pagoda_exec_test *t, u32 i, struct dma_fence *after);
/* As pagoda_exec_test_push(), but takes a place; returns 0 if there is none. */
u32 pagoda_exec_test_push_placed(struct pagoda_exec_test *t, u32 i);
/* Waits for a job; returns the error of its fence, or -ETIME. */
int pagoda_exec_test_wait(struct pagoda_exec_test *t, u32 job);
bool pagoda_exec_test_is_done(struct pagoda_exec_test *t, u32 job);
/* Waits until an engine was given @jobs jobs, complete or not. */
void pagoda_exec_test_wait_given(struct pagoda_exec_test *t, u32 engine, u64 jobs);
/* Waits until the adapter was reset @resets times and all engines run again. */
void pagoda_exec_test_wait_reset(struct pagoda_exec_test *t, u32 resets);
/* Waits until an engine is silent, and then has its timeout expire. */
void pagoda_exec_test_expire(struct pagoda_exec_test *t, u32 engine);
/*
 * Has the timeout of an engine expire, unless *@hangs is false (checked while nothing can be sent);
 * NULL: in any case. Returns whether the watchdog was pending, and so runs now.
 */
bool pagoda_test_engine_expire(struct pagoda_engines *engines, u32 engine, const bool *hangs);
void pagoda_exec_test_modes(struct pagoda_exec_test *t, enum pagoda_fake_mode mode);
struct pagoda_engine_stats pagoda_exec_test_stats(struct pagoda_exec_test *t, u32 engine);
/* No mistake was counted, and the engines used the transports correctly. */
void pagoda_exec_test_expect_clean(struct pagoda_exec_test *t);

#endif
