// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs of contexts on engines: order, priorities, dependencies, fences and their names, a lost
 * interrupt; arguments that are refused; contexts that are destroyed or banned; engines that are
 * held; accounts of the time that engines spend on jobs.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <drm/gpu_scheduler.h>
#include "../drivers/pagoda/queue/exec_internal.h"
#include "queue/exec.h"
#include "rig/prove.h"
#include "exec_helpers.h"
#include "queue_helpers.h"

/* Jobs of three contexts on two engines run once each, those of a context in the order of push. */
static void exec_order(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u64 submitted, completed;
	u32 i;

	for (i = 0; i < 3; i++)
		pagoda_exec_test_context(t, i, i / 2, PAGODA_EXEC_NORMAL);
	for (i = 0; i < 96; i++)
		pagoda_exec_test_push(t, i % 3, PAGODA_EXEC_RUNS, NULL);
	for (i = 1; i <= t->nr_jobs; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, 1, t->job[i].executed);
	}
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_context_wait_idle(t->context[i].context, 1));
		pagoda_exec_context_progress(t->context[i].context, &submitted, &completed);
		KUNIT_EXPECT_EQ(test, 32, submitted);
		KUNIT_EXPECT_EQ(test, 32, completed);
	}
	KUNIT_EXPECT_EQ(test, 64, pagoda_exec_test_stats(t, 0).jobs);
	KUNIT_EXPECT_EQ(test, 32, pagoda_exec_test_stats(t, 1).jobs);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_stats(t, 0).resets);
	KUNIT_EXPECT_GT(test, pagoda_exec_test_stats(t, 0).busy_ns, 0);
	pagoda_exec_test_expect_clean(t);
}

struct pagoda_exec_watch {
	struct dma_fence_cb cb;
	struct pagoda_exec_test *t;
	u32 earlier;
	u32 early;
};

static void exec_watch_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct pagoda_exec_watch *watch = container_of(cb, struct pagoda_exec_watch, cb);

	watch->early += !dma_fence_is_signaled(watch->t->job[watch->earlier].fence);
}

/*
 * The first job's interrupt is lost, and the device answers the jobs behind it at once: no job's
 * fence signals before that of the job before, and the watchdog finds by a poll that the first job
 * is complete. The engine isn't reset.
 */
static void exec_lost_interrupt(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_watch watch[3] = {};
	struct pagoda_engine_stats stats;
	u32 i;

	PAGODA_PROVES(C185);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_fake_transport_order(t->fake[0], 1, PAGODA_FAKE_SILENT, 0, 1);
	for (i = 0; i < 4; i++) {
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
		pagoda_exec_test_push(t, i, PAGODA_EXEC_RUNS, NULL);
		pagoda_exec_test_wait_given(t, 0, i + 1);
	}
	for (i = 0; i < 3; i++) {
		watch[i].t = t;
		watch[i].earlier = i + 1;
		KUNIT_ASSERT_EQ(test, 0, dma_fence_add_callback(t->job[i + 2].fence, &watch[i].cb,
								exec_watch_signalled));
	}
	pagoda_fake_transport_let(t->fake[0], 4);
	pagoda_exec_test_expire(t, 0);
	for (i = 4; i; i--)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	for (i = 0; i < 3; i++) {
		/* The removal waits for a callback that is just running. */
		dma_fence_remove_callback(t->job[i + 2].fence, &watch[i].cb);
		KUNIT_EXPECT_EQ(test, 0, watch[i].early);
	}
	stats = pagoda_exec_test_stats(t, 0);
	KUNIT_EXPECT_EQ(test, 1, stats.polled);
	KUNIT_EXPECT_EQ(test, 0, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.timeouts);
	pagoda_exec_test_expect_clean(t);
}

/* Jobs on the device are executed first, then jobs by priority, however late they were pushed. */
static void exec_priorities(struct kunit *test)
{
	static const enum pagoda_exec_priority priorities[] = {
		PAGODA_EXEC_NORMAL, PAGODA_EXEC_LOW, PAGODA_EXEC_NORMAL, PAGODA_EXEC_HIGH,
	};
	static const u8 order[] = { 0, 0, 0, 0, 3, 3, 3, 2, 2, 2, 1, 1, 1 };
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(priorities); i++)
		pagoda_exec_test_context(t, i, 0, priorities[i]);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < 4; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	for (i = 0; i < 9; i++)
		pagoda_exec_test_push(t, 1 + i / 3, PAGODA_EXEC_RUNS, NULL);
	pagoda_fake_transport_let(t->fake[0], 13);
	for (i = 1; i <= t->nr_jobs; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(order), t->nr_log);
	for (i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, order[i], t->job[t->log[i]].context);
	/* The device has at most four jobs at once: a job of high priority waits for few others. */
	KUNIT_EXPECT_EQ(test, 4, t->fake[0]->most);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A job starts after the fences that the job depends on: of a job of its own context, of a job of
 * another engine, and of the test.
 */
static void exec_dependencies(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct dma_fence *gate = pagoda_test_fence(test);
	u32 first, second, third, free;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 1, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 2, 0, PAGODA_EXEC_LOW);
	first = pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, gate);
	second = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, t->job[first].fence);
	/* A job's dependency on a job of the same context changes nothing. */
	third = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, t->job[second].fence);
	free = pagoda_exec_test_push(t, 2, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, free));
	KUNIT_EXPECT_EQ(test, 0, t->job[first].started);
	KUNIT_EXPECT_EQ(test, 0, t->job[second].started);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_context_wait_idle(t->context[1].context, 1));
	dma_fence_signal(gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, third));
	KUNIT_ASSERT_EQ(test, 4, t->nr_log);
	KUNIT_EXPECT_EQ(test, first, t->log[1]);
	KUNIT_EXPECT_EQ(test, second, t->log[2]);
	KUNIT_EXPECT_EQ(test, third, t->log[3]);
	dma_fence_put(gate);
	pagoda_exec_test_expect_clean(t);
}

/* A job waits for a reservation's fences; a job freed unarmed keeps no reference to them. */
static void exec_dependencies_resv(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct dma_fence *gate = pagoda_test_fence(test), *done;
	struct pagoda_exec_job *job;
	struct dma_resv resv;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	dma_resv_init(&resv);
	dma_resv_lock(&resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, dma_resv_reserve_fences(&resv, 1));
	dma_resv_add_fence(&resv, gate, DMA_RESV_USAGE_BOOKKEEP);
	/* The only references to the fence left are the test's and the reservation's. */
	job = pagoda_exec_job_create(t->context[0].context, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_job_add_resv(job, &resv, DMA_RESV_USAGE_BOOKKEEP));
	pagoda_exec_job_put(job);
	KUNIT_EXPECT_EQ(test, 2, kref_read(&gate->refcount));

	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	job = pagoda_exec_job_create(t->context[0].context, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_job_add_resv(job, &resv, DMA_RESV_USAGE_BOOKKEEP));
	dma_resv_unlock(&resv);
	t->job[1].context = 0;
	job->buffers[0].address = cpu_to_le64(1);
	pagoda_exec_job_arm(job);
	KUNIT_EXPECT_EQ(test, 1, job->number);
	done = dma_fence_get(job->fence);
	pagoda_exec_job_push(job);
	pagoda_fake_transport_let(t->fake[0], 1);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake[0]->submits);
	dma_fence_signal(gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(done));
	KUNIT_EXPECT_EQ(test, 1, t->job[1].executed);
	dma_resv_fini(&resv);
	dma_fence_put(gate);
	pagoda_exec_test_expect_clean(t);
}

/* Contexts and jobs with arguments out of range are refused with -EINVAL. */
static void exec_arguments(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	const u32 most = VIRTIO_PAGODA_MAX_COMMAND_BUFFERS;
	struct pagoda_exec_job *job;

	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(pagoda_exec_context_create(t->engines, PAGODA_EXEC_TEST_ENGINES,
							   PAGODA_EXEC_NORMAL, 1, 1, t)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(pagoda_exec_context_create(t->engines, 0, PAGODA_EXEC_HIGH + 1, 1,
							   1, t)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(pagoda_exec_context_create(t->engines, 0, PAGODA_EXEC_NORMAL, 0, 1,
							   t)));
	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	job = pagoda_exec_job_create(t->context[0].context, most + 1);
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(job));
	job = pagoda_exec_job_create(t->context[0].context, most);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
	KUNIT_EXPECT_EQ(test, most, job->nr_buffers);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_job_add_fence(job, NULL));
	memset(job->buffers, 0xff, most * sizeof(job->buffers[0]));
	pagoda_exec_job_put(job);
}

/* A number of engines out of range, and missing operations, are refused with -EINVAL. */
static void exec_engines_refuse(struct kunit *test)
{
	const struct pagoda_exec_ops none = {};
	struct pagoda_engines_args args = { .timeout_ms = 1, .ops = &none };

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_engines_create(&args)));
	args.count = VIRTIO_PAGODA_MAX_ENGINES + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_engines_create(&args)));
	args.count = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_engines_create(&args)));
	pagoda_engines_destroy(NULL);
	pagoda_exec_context_destroy(NULL);
}

/* Thousands of jobs are queued without a wait in between, and each runs once. */
static void exec_thousands(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 4; i++)
		pagoda_exec_test_context(t, i, i % 2, PAGODA_EXEC_NORMAL + i % 3);
	for (i = 0; i < 6000; i++)
		pagoda_exec_test_push(t, i % 4, PAGODA_EXEC_RUNS, i > 7 && i % 5 == 0 ?
				      t->job[i - 6].fence : NULL);
	for (i = 1; i <= t->nr_jobs; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_exec_test_wait(t, i));
		KUNIT_ASSERT_EQ(test, 1, t->job[i].executed);
	}
	KUNIT_EXPECT_EQ(test, 6000, atomic_read(&t->nr_done));
	KUNIT_EXPECT_LE(test, t->fake[0]->most, 4);
	pagoda_exec_test_expect_clean(t);
}

/* A fence is valid after its context and the engines are gone. */
static void exec_fence_outlives_engines(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct dma_fence *fence;
	const void *sched;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	fence = t->job[pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL)].fence;
	sched = pagoda_test_fence_sched(test, fence);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	pagoda_exec_test_context_destroy(t, 0);
	pagoda_engines_destroy(t->engines);
	t->engines = NULL;
	pagoda_test_expect_kept(test, fence, "exec0", sched);
}

/* Fences of a job have the name of the job's engine. */
static void exec_fences_name_engines(struct kunit *test)
{
	static const char * const names[] = { "exec0", "exec1" };
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct drm_sched_fence *fence;
	u32 i, job;

	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		pagoda_exec_test_context(t, i, i, PAGODA_EXEC_NORMAL);
		job = pagoda_exec_test_push(t, i, PAGODA_EXEC_RUNS, NULL);
		fence = to_drm_sched_fence(t->job[job].fence);
		KUNIT_ASSERT_NOT_NULL(test, fence);
		pagoda_test_expect_name(test, &fence->finished, "drm_sched", names[i]);
		/* Once the job is scheduled, fence->parent is the fence of the device's work. */
		KUNIT_ASSERT_EQ(test, 0, dma_fence_wait(&fence->scheduled, false));
		pagoda_test_expect_name(test, fence->parent, "pagoda", names[i]);
		pagoda_fake_transport_let(t->fake[i], 1);
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, job));
	}
	pagoda_exec_test_expect_clean(t);
}

/*
 * A context is destroyed, as when a process is killed: its jobs on the device complete; its other
 * jobs never start, and fail with -ESRCH once their dependencies have signalled.
 */
static void exec_kill(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct dma_fence *gate = pagoda_test_fence(test);
	u32 i, other;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < 2; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	for (i = 0; i < 100; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, gate);
	other = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_context_destroy(t, 0);
	KUNIT_EXPECT_FALSE(test, pagoda_exec_test_is_done(t, 1));
	pagoda_fake_transport_let(t->fake[0], 1000);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, other));
	/*
	 * Job 3 doesn't run any more, but its fence waits for the gate: the work that signals the
	 * gate may still use the same memory.
	 */
	KUNIT_EXPECT_FALSE(test, pagoda_exec_test_is_done(t, 3));
	dma_fence_signal(gate);
	for (i = 3; i < other; i++) {
		KUNIT_EXPECT_EQ(test, -ESRCH, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, 0, t->job[i].started);
	}
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned + t->context[0].nr_lost);
	dma_fence_put(gate);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A context is banned: its jobs on the device complete; its other jobs, and new ones, fail with
 * -ECANCELED.
 */
static void exec_ban(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u64 submitted, completed;
	u32 i, other;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < 4; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	for (i = 0; i < 8; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	other = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_FALSE(test, pagoda_exec_context_is_banned(t->context[0].context));
	pagoda_exec_context_ban(t->context[0].context);
	KUNIT_EXPECT_TRUE(test, pagoda_exec_context_is_banned(t->context[0].context));
	pagoda_exec_context_progress(t->context[0].context, &submitted, &completed);
	KUNIT_EXPECT_EQ(test, 12, submitted);
	KUNIT_EXPECT_EQ(test, 0, completed);
	pagoda_fake_transport_let(t->fake[0], 1000);
	for (i = 1; i < other; i++) {
		KUNIT_EXPECT_EQ(test, i <= 4 ? 0 : -ECANCELED, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, i <= 4, t->job[i].started);
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, other));
	i = pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, i));
	pagoda_exec_context_progress(t->context[0].context, &submitted, &completed);
	KUNIT_EXPECT_EQ(test, 13, completed);
	/* pagoda_exec_context_ban() doesn't call &pagoda_exec_ops.banned. */
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned);
	pagoda_exec_test_expect_clean(t);
}

/* No job is submitted before the engines are resumed as often as they were held. */
static void exec_hold(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 1, PAGODA_EXEC_NORMAL);
	pagoda_engines_hold(t->engines);
	pagoda_engines_hold(t->engines);
	for (i = 0; i < 16; i++)
		pagoda_exec_test_push(t, i % 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_engines_resume(t->engines);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake[0]->submits + t->fake[1]->submits);
	pagoda_engines_resume(t->engines);
	for (i = 1; i <= 16; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	pagoda_exec_test_expect_clean(t);
}

/* ---- Accounts --------------------------------------------------------------------- */

#define ACCOUNTS	2

/*
 * Makes contexts on engine 0, and an account for each, without any time charged. The device
 * executes nothing until pagoda_fake_transport_let().
 */
static void exec_make_accounts(struct pagoda_exec_test *t, struct pagoda_exec_account **accounts)
{
	u32 i;

	for (i = 0; i < ACCOUNTS; i++) {
		accounts[i] = pagoda_exec_account_create();
		KUNIT_ASSERT_NOT_NULL(t->test, accounts[i]);
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
		pagoda_exec_context_set_account(t->context[i].context, accounts[i]);
		KUNIT_EXPECT_EQ(t->test, 0,
				pagoda_exec_account_busy_ns(accounts[i], t->engines, 0));
	}
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
}

/* Expects both accounts' times to add up to the busy time of engine 0, which is idle. */
static void exec_expect_sum(struct pagoda_exec_test *t, struct pagoda_exec_account **accounts)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < ACCOUNTS; i++)
		sum += pagoda_exec_account_busy_ns(accounts[i], t->engines, 0);
	KUNIT_EXPECT_EQ(t->test, pagoda_exec_test_stats(t, 0).busy_ns, sum);
}

static void exec_put_accounts(struct pagoda_exec_account **accounts)
{
	u32 i;

	for (i = 0; i < ACCOUNTS; i++)
		pagoda_exec_account_put(accounts[i]);
}

/* Sleeps for 1 ms or more; returns the time of engine 0 that account @i is charged, in ns. */
static u64 exec_account_gets(struct pagoda_exec_test *t, struct pagoda_exec_account **accounts,
			     u32 i)
{
	u64 before = pagoda_exec_account_busy_ns(accounts[i], t->engines, 0);

	usleep_range(1000, 2000);
	return pagoda_exec_account_busy_ns(accounts[i], t->engines, 0) - before;
}

/*
 * An engine's time is charged to the account of the job that the engine executes, not to that of a
 * job behind it.
 */
static void exec_accounts(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_account *accounts[ACCOUNTS];
	u32 i, k;

	exec_make_accounts(t, accounts);
	KUNIT_EXPECT_EQ(test, 0, exec_account_gets(t, accounts, 0));
	for (i = 0; i < 4; i++)
		pagoda_exec_test_push(t, i / 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	for (i = 0; i < 4; i++) {
		for (k = 0; k < ACCOUNTS; k++)
			KUNIT_EXPECT_EQ(test, k == i / 2,
					!!exec_account_gets(t, accounts, k));
		pagoda_fake_transport_let(t->fake[0], 1);
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i + 1));
	}
	for (k = 0; k < ACCOUNTS; k++) {
		KUNIT_EXPECT_EQ(test, 0, exec_account_gets(t, accounts, k));
		KUNIT_EXPECT_EQ(test, 0,
				pagoda_exec_account_busy_ns(accounts[k], t->engines, 1));
	}
	exec_expect_sum(t, accounts);
	exec_put_accounts(accounts);
	pagoda_exec_test_expect_clean(t);
}

/*
 * The accounts together have all of the engine's busy time, also after a lost interrupt, a hang, a
 * fault, and a job that is submitted again because of another job's hang.
 */
static void exec_accounts_trouble(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_account *accounts[ACCOUNTS];

	exec_make_accounts(t, accounts);
	/* The first job's interrupt is lost. */
	pagoda_fake_transport_order(t->fake[0], 1, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_fake_transport_let(t->fake[0], 2);
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 2));
	exec_expect_sum(t, accounts);
	/* The second account's job hangs: the time of the hang is that account's. */
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, exec_account_gets(t, accounts, 0));
	KUNIT_EXPECT_LT(test, 0, exec_account_gets(t, accounts, 1));
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 3));
	/* Job 4 was submitted again, and is alone on the device. */
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 4));
	exec_expect_sum(t, accounts);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_FAULTS, NULL);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, 5));
	exec_expect_sum(t, accounts);
	exec_put_accounts(accounts);
	pagoda_exec_test_expect_clean(t);
}

/*
 * The time of a job that the engine has is charged to the account of the job's context although the
 * context is destroyed; the account lives until the job ends.
 */
static void exec_account_outlives_owner(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_account *accounts[ACCOUNTS];
	u64 before;

	exec_make_accounts(t, accounts);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_test_context_destroy(t, 0);
	pagoda_exec_test_context_destroy(t, 1);
	before = pagoda_exec_account_busy_ns(accounts[0], t->engines, 0);
	KUNIT_EXPECT_LT(test, 0, exec_account_gets(t, accounts, 0));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_LT(test, before, pagoda_exec_account_busy_ns(accounts[0], t->engines, 0));
	exec_put_accounts(accounts);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 2));
	pagoda_exec_test_expect_clean(t);
}

/*
 * The engines' work items run before others, also when no memory is left for threads; the threads
 * that are kept for this go with the engines.
 */
static void exec_work_is_urgent(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 rescuers = pagoda_test_rescuers();

	pagoda_test_expect_urgent(test, t->engines->submit_wq);
	pagoda_test_expect_urgent(test, t->engines->recover_wq);
	pagoda_engines_destroy(t->engines);
	t->engines = NULL;
	KUNIT_EXPECT_EQ(test, rescuers - 2, pagoda_test_rescuers());
}

static struct kunit_case exec_cases[] = {
	KUNIT_CASE(exec_order),
	KUNIT_CASE(exec_lost_interrupt),
	KUNIT_CASE(exec_priorities),
	KUNIT_CASE(exec_dependencies),
	KUNIT_CASE(exec_dependencies_resv),
	KUNIT_CASE(exec_arguments),
	KUNIT_CASE(exec_engines_refuse),
	KUNIT_CASE_SLOW(exec_thousands),
	KUNIT_CASE(exec_fence_outlives_engines),
	KUNIT_CASE(exec_fences_name_engines),
	KUNIT_CASE(exec_kill),
	KUNIT_CASE(exec_ban),
	KUNIT_CASE(exec_hold),
	KUNIT_CASE(exec_accounts),
	KUNIT_CASE(exec_accounts_trouble),
	KUNIT_CASE(exec_account_outlives_owner),
	KUNIT_CASE(exec_work_is_urgent),
	{}
};

static struct kunit_suite exec_suite = {
	.name = "pagoda_exec",
	.test_cases = exec_cases,
};

kunit_test_suite(exec_suite);
