// SPDX-License-Identifier: GPL-2.0
/*
 * Jobs that fault or hang, or whose answer is lost or nonsense; engines that can't be reset, for
 * which the adapter is reset; engines that are stopped; a random mix of faults, hangs, bans and
 * destructions of contexts.
 */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/prandom.h>
#include "queue/exec.h"
#include "rig/prove.h"
#include "exec_helpers.h"
#include "queue_helpers.h"

/*
 * Pushes jobs so that context 0's second job goes wrong, as soon as the test lets it be executed,
 * while jobs of contexts 0, 1 and 2 are behind it, some on the device and some waiting. Returns the
 * number of that second job.
 */
static u32 exec_push_trouble(struct pagoda_exec_test *t, enum pagoda_exec_deed deed)
{
	u32 i;

	for (i = 0; i < 3; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 0, deed, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 3);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	/* The device gets job 5 when job 1 is complete: four jobs at most are on the device. */
	pagoda_exec_test_push(t, 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(t->test, 0, pagoda_exec_test_wait(t, 1));
	pagoda_exec_test_wait_given(t, 0, 5);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	return 2;
}

static void exec_expect_only_guilty(struct pagoda_exec_test *t, u32 guilty, int error)
{
	struct kunit *test = t->test;
	u32 i;

	for (i = 1; i <= t->nr_jobs; i++) {
		bool fails = !t->job[i].context && i > guilty;

		KUNIT_EXPECT_EQ(test, i == guilty ? error : fails ? -ECANCELED : 0,
				pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, i != guilty && !fails, t->job[i].executed);
		KUNIT_EXPECT_EQ(test, !fails, t->job[i].started);
	}
	KUNIT_EXPECT_TRUE(test, pagoda_exec_context_is_banned(t->context[0].context));
	KUNIT_EXPECT_FALSE(test, pagoda_exec_context_is_banned(t->context[1].context));
	KUNIT_EXPECT_EQ(test, 1, t->context[0].nr_banned);
	KUNIT_EXPECT_EQ(test, 0, t->context[1].nr_banned + t->context[2].nr_banned);
	KUNIT_EXPECT_EQ(test, 0, t->context[1].nr_lost + t->context[2].nr_lost);
	KUNIT_EXPECT_EQ(test, guilty, t->context[0].report.job);
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
}

/*
 * A fault costs only the context of the job that faults: this job fails with -EFAULT, later jobs of
 * the context with -ECANCELED, and jobs of other contexts that the device had are submitted again
 * under new numbers.
 */
static void exec_reset_fault(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	const struct pagoda_exec_report *report = &t->context[0].report;
	u32 guilty = exec_push_trouble(t, PAGODA_EXEC_FAULTS);
	struct pagoda_engine_stats stats;

	PAGODA_PROVES(C187);
	pagoda_fake_transport_let(t->fake[0], 1000);
	exec_expect_only_guilty(t, guilty, -EFAULT);
	KUNIT_EXPECT_FALSE(test, report->hung || report->reset);
	KUNIT_EXPECT_EQ(test, 0, report->engine);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_READ_ONLY, report->fault.reason);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_ACCESS_WRITE, report->fault.access);
	KUNIT_EXPECT_EQ(test, guilty * 0x1000, report->fault.address);
	/* Five numbers were used; jobs that are submitted again get numbers behind those. */
	KUNIT_EXPECT_EQ(test, 6, t->job[3].seqno);
	KUNIT_EXPECT_EQ(test, 7, t->job[5].seqno);
	stats = pagoda_exec_test_stats(t, 0);
	KUNIT_EXPECT_EQ(test, 1, stats.faults);
	KUNIT_EXPECT_EQ(test, 0, stats.timeouts);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 2, stats.resubmitted);
	pagoda_exec_test_expect_clean(t);
}

/* A hang costs only the context of the job that hangs, and the other engine isn't reset. */
static void exec_reset_hang(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 guilty = exec_push_trouble(t, PAGODA_EXEC_HANGS);
	struct pagoda_engine_stats stats;
	u32 other;

	pagoda_fake_transport_mode(t->fake[1], PAGODA_FAKE_DEFERRED);
	pagoda_fake_transport_let(t->fake[0], 1000);
	pagoda_exec_test_context(t, 3, 1, PAGODA_EXEC_NORMAL);
	other = pagoda_exec_test_push(t, 3, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, other));
	pagoda_exec_test_expire(t, 0);
	exec_expect_only_guilty(t, guilty, -ETIME);
	KUNIT_EXPECT_TRUE(test, t->context[0].report.hung);
	stats = pagoda_exec_test_stats(t, 0);
	KUNIT_EXPECT_EQ(test, 1, stats.timeouts);
	KUNIT_EXPECT_EQ(test, 0, stats.faults);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_stats(t, 1).resets);
	pagoda_exec_test_expect_clean(t);
}

/* Each of four faults bans the context of its job; all jobs of the other two contexts succeed. */
static void exec_reset_faults(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 6; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < 60; i++)
		pagoda_exec_test_push(t, i % 6, i % 6 < 4 && i >= 12 && i < 18 ?
				      PAGODA_EXEC_FAULTS : PAGODA_EXEC_RUNS, NULL);
	pagoda_fake_transport_let(t->fake[0], 1000);
	for (i = 0; i < 60; i++)
		KUNIT_EXPECT_EQ(test, i % 6 >= 4 || i < 12 ? 0 : i < 18 ? -EFAULT : -ECANCELED,
				pagoda_exec_test_wait(t, i + 1));
	KUNIT_EXPECT_EQ(test, 4, pagoda_exec_test_stats(t, 0).faults);
	KUNIT_EXPECT_EQ(test, 4, pagoda_exec_test_stats(t, 0).resets);
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

/* Jobs that are pushed during a reset of the engine are submitted after the reset. */
static void exec_reset_meanwhile(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	t->fake[0]->reset_held = true;
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_FAULTS, NULL);
	while (!READ_ONCE(t->fake[0]->resets))
		usleep_range(500, 1000);
	for (i = 0; i < 3; i++)
		pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 1, t->fake[0]->submits);
	WRITE_ONCE(t->fake[0]->reset_held, false);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, 1));
	for (i = 2; i <= 4; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, i, t->job[i].seqno);
	}
	pagoda_exec_test_expect_clean(t);
}

/*
 * Pushes eight jobs, of which the second is executed but its answer is lost or nonsense. Expects
 * that one reset of the engine finds this out: all jobs succeed, executed once each, and no context
 * is banned.
 */
static void exec_expect_forgotten(struct pagoda_exec_test *t, enum pagoda_fake_trouble trouble)
{
	struct kunit *test = t->test;
	u32 i;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_fake_transport_order(t->fake[0], 2, trouble, 0, 1);
	for (i = 1; i <= 8; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	if (trouble == PAGODA_FAKE_DROP) {
		/* The engine is given five jobs while the second isn't complete. */
		pagoda_exec_test_wait_given(t, 0, 5);
		pagoda_exec_test_expire(t, 0);
	}
	for (i = 1; i <= 8; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, 1, t->job[i].executed);
	}
	KUNIT_EXPECT_EQ(test, 1, pagoda_exec_test_stats(t, 0).resets);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_stats(t, 0).timeouts);
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned);
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

/* The answer is lost: the reset finds that the job was executed. */
static void exec_reset_forgotten(struct kunit *test)
{
	exec_expect_forgotten(pagoda_exec_test_create(test), PAGODA_FAKE_DROP);
}

/* The answer is nonsense: the reset finds that the job was executed. */
static void exec_reset_corrupt(struct kunit *test)
{
	exec_expect_forgotten(pagoda_exec_test_create(test), PAGODA_FAKE_CORRUPT);
}

/*
 * As exec_push_trouble(), but with a job on the other engine, too; jobs 7 and 8, of which 7 is of
 * context 0, are on no engine yet. Returns the number of the job that goes wrong.
 */
static u32 exec_push_lost(struct pagoda_exec_test *t, enum pagoda_exec_deed deed)
{
	u32 i;

	for (i = 0; i < 4; i++)
		pagoda_exec_test_context(t, i, i == 3, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 0, deed, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	pagoda_exec_test_push(t, 3, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 1, 1);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(t->test, 0, pagoda_exec_test_wait(t, 1));
	pagoda_exec_test_push(t, 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 5);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 2, PAGODA_EXEC_RUNS, NULL);
	return 2;
}

/*
 * After exec_push_lost(): expects that a reset of the adapter lost all jobs that the engines had,
 * that context 0 is banned and its waiting job fails, that the other contexts are told of their
 * lost jobs, and that job 8 succeeds.
 */
static void exec_expect_lost(struct pagoda_exec_test *t, u32 guilty, int error)
{
	static const u32 lost[] = { 0, 1, 1, 1 };
	struct kunit *test = t->test;
	u32 i;

	for (i = 1; i <= 8; i++)
		KUNIT_EXPECT_EQ(test, i == guilty ? error : i > guilty && i < 8 ? -ECANCELED : 0,
				pagoda_exec_test_wait(t, i));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, !i, t->context[i].nr_banned);
		KUNIT_EXPECT_EQ(test, !i, pagoda_exec_context_is_banned(t->context[i].context));
		KUNIT_EXPECT_EQ(test, lost[i], t->context[i].nr_lost);
		KUNIT_EXPECT_EQ(test, lost[i], t->context[i].report.reset);
		KUNIT_EXPECT_EQ(test, i ? 1 : guilty, t->context[i].report.job);
	}
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
}

/*
 * If the engine's reset fails, the adapter is reset: jobs on all engines are lost, and a job of
 * context 2 that wasn't submitted yet runs after the owner has resumed the engines.
 */
static void exec_reset_fails(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 guilty = exec_push_lost(t, PAGODA_EXEC_FAULTS);
	u32 i;

	PAGODA_PROVES(C193);
	t->fake[0]->reset_error = -ETIMEDOUT;
	t->resume_later = true;
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, guilty));
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 5));
	/* The engines aren't resumed yet: remaining jobs wait. */
	t->fake[0]->reset_error = 0;
	pagoda_exec_test_modes(t, PAGODA_FAKE_DEFERRED);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 5, t->fake[0]->submits);
	KUNIT_EXPECT_FALSE(test, pagoda_exec_test_is_done(t, 8));
	pagoda_engines_resume(t->engines);
	exec_expect_lost(t, guilty, -EFAULT);
	/* All numbers that were used count as executed, on each engine. */
	KUNIT_EXPECT_EQ(test, 6, t->job[8].seqno);
	i = pagoda_exec_test_push(t, 3, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 2, t->job[i].seqno);
	pagoda_exec_test_expect_clean(t);
}

/*
 * The reset of a hanging engine fails, and the adapter is reset: the context of the job that hung
 * is told of the hang, the context of the lost job behind it of the reset.
 */
static void exec_reset_hang_fails(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	t->fake[0]->reset_error = -ETIMEDOUT;
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_wait_given(t, 0, 1);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_TRUE(test, t->context[0].report.hung);
	KUNIT_EXPECT_TRUE(test, t->context[1].report.reset);
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	t->fake[0]->reset_error = 0;
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3));
	pagoda_exec_test_expect_clean(t);
}

/* An answer that comes after the engine's reset failed doesn't save the job from failing. */
static void exec_reset_late_answer(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	t->fake[0]->reset_error = -ETIMEDOUT;
	t->answers_late = true;
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, 1, t->job[1].executed);
	KUNIT_EXPECT_EQ(test, 1, t->context[0].nr_banned);
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

/*
 * Request numbers that a reset can't report as the last executed one, if the first of five requests
 * was acknowledged and the second faulted.
 */
static const u64 exec_lies[] = { 0, 2, 5, 6, U64_MAX };

static void exec_lie_name(const u64 *lie, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%llu", *lie);
}

KUNIT_ARRAY_PARAM(exec_lies, exec_lies, exec_lie_name);

/* A reset that answers with an impossible number counts as failed: the adapter is reset. */
static void exec_reset_lies(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 guilty = exec_push_lost(t, PAGODA_EXEC_FAULTS);

	PAGODA_PROVES(C188);
	t->fake[0]->reset_lies = true;
	t->fake[0]->lie.seqno = *(const u64 *)test->param_value;
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, guilty));
	t->fake[0]->reset_lies = false;
	pagoda_exec_test_modes(t, PAGODA_FAKE_DEFERRED);
	exec_expect_lost(t, guilty, -EFAULT);
	pagoda_exec_test_expect_clean(t);
}

/* A reset after a hang counts as failed, too, if it reports a request that was never submitted. */
static void exec_reset_boasts(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	PAGODA_PROVES(C188);
	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	t->fake[0]->reset_lies = true;
	t->fake[0]->lie.seqno = 3;
	for (i = 0; i < 2; i++)
		pagoda_exec_test_push(t, 0, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

/* If the adapter's reset fails, all remaining and later jobs fail with -ENODEV. */
static void exec_reset_adapter_fails(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 guilty = exec_push_lost(t, PAGODA_EXEC_FAULTS);
	u32 i;

	t->fake[0]->reset_error = -ETIMEDOUT;
	t->adapter_error = -ETIMEDOUT;
	pagoda_fake_transport_let(t->fake[0], 1);
	pagoda_exec_test_push(t, 3, PAGODA_EXEC_RUNS, NULL);
	for (i = guilty; i <= t->nr_jobs; i++)
		KUNIT_EXPECT_EQ(test, i == guilty ? -EFAULT : -ENODEV,
				pagoda_exec_test_wait(t, i));
	i = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	KUNIT_EXPECT_EQ(test, 5, t->fake[0]->submits);
	/* The device gives its requests back only after contexts and engines are gone. */
	for (i = 0; i < 4; i++)
		pagoda_exec_test_context_destroy(t, i);
	pagoda_engines_destroy(t->engines);
	t->engines = NULL;
	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		pagoda_fake_transport_drain(t->fake[i]);
	pagoda_exec_test_expect_clean(t);
}

/*
 * After a reset because of a hang, too, a job that is answered with nonsense is lost after three
 * tries.
 */
static void exec_reset_nonsense_after_hang(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_CONFUSES, NULL);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 3, t->job[2].started);
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	pagoda_exec_test_wait_reset(t, 1);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A job that is answered with nonsense, or that can't be submitted, is lost after three tries, and
 * the adapter is reset.
 */
static void exec_reset_nonsense(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_context(t, 1, 1, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_CONFUSES, NULL);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, 3, t->job[1].started);
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	/* Before the end of the adapter's reset a job pushed to engine 1 would be lost, too. */
	pagoda_exec_test_wait_reset(t, 1);
	t->fake[1]->submit_error = -ENOSPC;
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 3, t->fake[1]->submits);
	KUNIT_EXPECT_EQ(test, 2, t->adapter_resets);
	pagoda_exec_test_wait_reset(t, 2);
	t->fake[1]->submit_error = 0;
	/* The owners of the contexts are told of the lost jobs; no context is banned. */
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, 0, t->context[i].nr_banned);
		KUNIT_EXPECT_EQ(test, 1, t->context[i].nr_lost);
		pagoda_exec_test_push(t, i, PAGODA_EXEC_RUNS, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3 + i));
	}
}

/*
 * The owner resets the adapter without being asked: jobs that the device has are lost, and jobs
 * that the schedulers hand over after the reset run when the engines are resumed.
 */
static void exec_reset_by_owner(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, i, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < 8; i++)
		pagoda_exec_test_push(t, i % 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 4);
	pagoda_exec_test_wait_given(t, 1, 4);
	for (i = 0; i < 8; i++)
		pagoda_exec_test_push(t, i % 2, PAGODA_EXEC_RUNS, NULL);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	pagoda_engines_hold(t->engines);
	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		pagoda_fake_transport_lose(t->fake[i]);
	pagoda_engines_lost(t->engines);
	for (i = 2; i <= 8; i++)
		KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 4, t->context[1].nr_lost);
	pagoda_exec_test_modes(t, PAGODA_FAKE_DEFERRED);
	pagoda_engines_resume(t->engines);
	for (i = 10; i <= 16; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned + t->context[1].nr_banned);
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

/*
 * When the engines are stopped, all jobs that aren't complete, and later jobs, fail with -ENODEV,
 * and the transports aren't used any more.
 */
static void exec_unplug(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct dma_fence *gate = pagoda_test_fence(test);
	u32 i, polls;

	for (i = 0; i < 4; i++)
		pagoda_exec_test_context(t, i, i % 2, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_HANGS, NULL);
	pagoda_fake_transport_let(t->fake[0], 2);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	for (i = 0; i < 40; i++)
		pagoda_exec_test_push(t, i % 4, PAGODA_EXEC_RUNS, i == 30 ? gate : NULL);
	dma_fence_signal(gate);
	pagoda_engines_stop(t->engines);
	for (i = 2; i <= t->nr_jobs; i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_exec_test_is_done(t, i));
		KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_exec_test_wait(t, i));
		KUNIT_EXPECT_EQ(test, 0, t->job[i].executed);
	}
	polls = t->fake[0]->polls;
	i = pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned);
	/* The transports may be gone now: these calls by the owner must not use the transports. */
	pagoda_engines_hold(t->engines);
	pagoda_engines_lost(t->engines);
	pagoda_engines_resume(t->engines);
	KUNIT_EXPECT_EQ(test, polls, t->fake[0]->polls);
	KUNIT_EXPECT_EQ(test, 1, t->fake[0]->resets);
	dma_fence_put(gate);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A context is destroyed, and then a job of the context that the device has hangs: the job fails,
 * &pagoda_exec_ops.banned isn't called for the context, and other contexts' jobs succeed.
 */
static void exec_kill_hanging(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 guilty = exec_push_trouble(t, PAGODA_EXEC_HANGS);
	u32 i;

	pagoda_exec_test_context_destroy(t, 0);
	pagoda_fake_transport_let(t->fake[0], 1000);
	pagoda_exec_test_expire(t, 0);
	for (i = 1; i <= t->nr_jobs; i++)
		KUNIT_EXPECT_EQ(test, i == guilty ? -ETIME :
				!t->job[i].context && i > guilty ? -ESRCH : 0,
				pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_banned);
	pagoda_exec_test_expect_clean(t);
}

/*
 * Returns whether the error of a job's fence fits the job's deed and the number of its executions.
 * Unless @innocent, a job may also fail because its context was banned or destroyed.
 */
static bool exec_storm_fits(struct pagoda_exec_test *t, u32 number, bool innocent)
{
	const struct pagoda_exec_test_job *job = &t->job[number];
	int error = pagoda_exec_test_wait(t, number);

	if (job->executed != !error)
		return false;
	switch (error) {
	case 0:
		return job->deed == PAGODA_EXEC_RUNS;
	case -EFAULT:
		return job->deed == PAGODA_EXEC_FAULTS && job->started;
	case -ETIME:
		return job->deed == PAGODA_EXEC_HANGS && job->started;
	case -ECANCELED:
	case -ESRCH:
		return !innocent;
	default:
		return false;
	}
}

#define PAGODA_EXEC_STORM_SEED	0x55af2b4a
#define PAGODA_EXEC_STORM_JOBS	3000
#define PAGODA_EXEC_STORM_HANGS	3

/*
 * Pushes a job of a random context. Contexts 6 and 7 are innocent, and all of their jobs must
 * succeed; for the others the job may fault or hang, or the context be banned before, or be
 * destroyed and made again.
 */
static void exec_storm_step(struct pagoda_exec_test *t, struct rnd_state *rnd, u32 *hangs)
{
	u32 i = prandom_u32_state(rnd) % PAGODA_EXEC_TEST_CONTEXTS;
	u32 what = prandom_u32_state(rnd) % 64;
	enum pagoda_exec_deed deed = PAGODA_EXEC_RUNS;
	struct dma_fence *after = NULL;

	if (i < 6 && what < 3) {
		deed = PAGODA_EXEC_FAULTS;
	} else if (i < 6 && what == 3 && *hangs) {
		deed = PAGODA_EXEC_HANGS;
		--*hangs;
	} else if (i < 6 && what == 4) {
		pagoda_exec_context_ban(t->context[i].context);
	} else if (i < 6 && (what == 5 || pagoda_exec_context_is_banned(t->context[i].context))) {
		pagoda_exec_test_context_destroy(t, i);
		pagoda_exec_test_context(t, i, prandom_u32_state(rnd) % 2, what % 3);
	}
	if (t->nr_jobs && what % 8 == 7)
		after = t->job[1 + prandom_u32_state(rnd) % t->nr_jobs].fence;
	pagoda_exec_test_push(t, i, deed, after);
}

/* Has the timeout of each engine expire that hangs at a job, then sleeps for a moment. */
static void exec_storm_look(struct pagoda_exec_test *t)
{
	u32 i;

	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		pagoda_test_engine_expire(t->engines, i, &t->fake[i]->hangs);
	usleep_range(50, 100);
}

/*
 * Random faults, hangs, bans and destructions of contexts: each job is executed once, or fails by
 * its own fault or hang or because its context was banned or destroyed; the adapter is never reset.
 */
static void exec_storm(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i, hangs = PAGODA_EXEC_STORM_HANGS;
	struct rnd_state rnd;

	kunit_info(test, "seed 0x%x\n", PAGODA_EXEC_STORM_SEED);
	prandom_seed_state(&rnd, PAGODA_EXEC_STORM_SEED);
	for (i = 0; i < PAGODA_EXEC_TEST_CONTEXTS; i++)
		pagoda_exec_test_context(t, i, i % 2, i % 3);
	for (i = 0; i < PAGODA_EXEC_STORM_JOBS; i++) {
		exec_storm_step(t, &rnd, &hangs);
		if (prandom_u32_state(&rnd) % 16 == 0)
			exec_storm_look(t);
	}
	for (i = 1; i <= t->nr_jobs; i++)
		while (!pagoda_exec_test_is_done(t, i))
			exec_storm_look(t);
	for (i = 1; i <= t->nr_jobs; i++)
		KUNIT_EXPECT_TRUE_MSG(test, exec_storm_fits(t, i, t->job[i].context >= 6),
				      "job %u of context %u, deed %u, executed %u, error %d", i,
				      t->job[i].context, t->job[i].deed, t->job[i].executed,
				      t->job[i].fence->error);
	KUNIT_EXPECT_GT(test, pagoda_exec_test_stats(t, 0).faults +
			pagoda_exec_test_stats(t, 1).faults, 0);
	KUNIT_EXPECT_GT(test, pagoda_exec_test_stats(t, 0).resubmitted +
			pagoda_exec_test_stats(t, 1).resubmitted, 0);
	KUNIT_EXPECT_EQ(test, 0, t->adapter_resets);
	pagoda_exec_test_expect_clean(t);
}

static struct kunit_case exec_reset_cases[] = {
	KUNIT_CASE(exec_reset_fault),
	KUNIT_CASE_SLOW(exec_reset_hang),
	KUNIT_CASE(exec_reset_faults),
	KUNIT_CASE(exec_reset_meanwhile),
	KUNIT_CASE_SLOW(exec_reset_forgotten),
	KUNIT_CASE(exec_reset_corrupt),
	KUNIT_CASE(exec_reset_fails),
	KUNIT_CASE_SLOW(exec_reset_hang_fails),
	KUNIT_CASE_SLOW(exec_reset_late_answer),
	KUNIT_CASE_PARAM(exec_reset_lies, exec_lies_gen_params),
	KUNIT_CASE_SLOW(exec_reset_boasts),
	KUNIT_CASE(exec_reset_adapter_fails),
	KUNIT_CASE(exec_reset_nonsense),
	KUNIT_CASE(exec_reset_nonsense_after_hang),
	KUNIT_CASE(exec_reset_by_owner),
	KUNIT_CASE(exec_unplug),
	KUNIT_CASE_SLOW(exec_kill_hanging),
	KUNIT_CASE_SLOW(exec_storm),
	{}
};

static struct kunit_suite exec_reset_suite = {
	.name = "pagoda_exec_reset",
	.test_cases = exec_reset_cases,
};

kunit_test_suite(exec_reset_suite);
