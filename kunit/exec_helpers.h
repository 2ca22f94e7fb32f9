/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_EXEC_HELPERS_H
#define PAGODA_KUNIT_EXEC_HELPERS_H

#include <kunit/test.h>
#include <linux/dma-fence.h>

#include <pagoda/exec.h>

#include "fake_transport.h"

#define PAGODA_EXEC_TEST_ENGINES	2
#define PAGODA_EXEC_TEST_CONTEXTS	8
#define PAGODA_EXEC_TEST_JOBS		8192

/* What a job does on the device. */
enum pagoda_exec_deed {
	PAGODA_EXEC_RUNS,
	PAGODA_EXEC_FAULTS,
	PAGODA_EXEC_HANGS,
	PAGODA_EXEC_CONFUSES,	/* the device answers nonsense */
};

/*
 * A job, by the number its test gave it: what it is to do, and what the device and
 * the engines did to it.
 */
struct pagoda_exec_test_job {
	enum pagoda_exec_deed deed;
	u32 context;
	u32 started;
	u32 executed;		/* whole */
	u64 seqno;		/* the last one the device had it by */
	struct dma_fence *fence;
};

struct pagoda_exec_test_context {
	struct pagoda_exec_test *t;
	struct pagoda_exec_context *context;
	u32 first;		/* jobs of others pushed before it was made */
	u32 last_executed;
	u32 nr_banned;
	u32 nr_lost;
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

	/* In the order the device began them, all engines. */
	spinlock_t lock;	/* log */
	u16 *log;
	u32 nr_log;

	/* What reset_adapter() does. */
	int adapter_error;
	bool resume_later;
	bool answers_late;	/* job 1, which hung, ends well while it resets */
	u32 adapter_resets;	/* that it began, */
	u32 adapter_ends;	/* and ended well */

	/* What should never be. */
	u32 wrong_image;
	u32 wrong_order;
	u32 late_told;
};

struct pagoda_exec_test *pagoda_exec_test_create(struct kunit *test);
/* Makes context @i, its owner and address space; its id is @i + 1. */
void pagoda_exec_test_context(struct pagoda_exec_test *t, u32 i, u32 engine,
			      enum pagoda_exec_priority priority);
void pagoda_exec_test_context_destroy(struct pagoda_exec_test *t, u32 i);
/* Pushes a job of context @i; returns its number in the test. */
u32 pagoda_exec_test_push(struct pagoda_exec_test *t, u32 i, enum pagoda_exec_deed deed,
			  struct dma_fence *after);
/* Waits for a job; its fence's error or -ETIME. */
int pagoda_exec_test_wait(struct pagoda_exec_test *t, u32 job);
bool pagoda_exec_test_is_done(struct pagoda_exec_test *t, u32 job);
/* Waits until an engine was given @jobs jobs, whatever became of them. */
void pagoda_exec_test_wait_given(struct pagoda_exec_test *t, u32 engine, u64 jobs);
/* Waits until the adapter was reset @resets times, and all engines go on. */
void pagoda_exec_test_wait_reset(struct pagoda_exec_test *t, u32 resets);
/* Waits until an engine doesn't say anything any more, and has it be so for too long. */
void pagoda_exec_test_expire(struct pagoda_exec_test *t, u32 engine);
/*
 * Has an engine be silent for too long, unless *@hangs isn't true any more when nothing can be
 * sent; NULL: whatever it does. False if nobody would have looked at it.
 */
bool pagoda_test_engine_expire(struct pagoda_engines *engines, u32 engine, const bool *hangs);
void pagoda_exec_test_modes(struct pagoda_exec_test *t, enum pagoda_fake_mode mode);
struct pagoda_engine_stats pagoda_exec_test_stats(struct pagoda_exec_test *t, u32 engine);
/* Nothing was out of order, the transport was used as it wants to be. */
void pagoda_exec_test_expect_clean(struct pagoda_exec_test *t);

#endif
