// SPDX-License-Identifier: GPL-2.0
/*
 * Places of an engine: two jobs are prepared at once; contexts take turns, by the time that their
 * accounts have used, in slices; an unused place is lost to another context. Also fenced jobs,
 * which may get a place after arm, and places of jobs that end unexecuted.
 */
#include <linux/delay.h>
#include <drm/gpu_scheduler.h>
#include "exec_helpers.h"
#include "queue_helpers.h"
#include "queue/exec_internal.h"

static bool places_ask(struct pagoda_exec_test *t, u32 i)
{
	return pagoda_exec_context_ask(t->context[i].context);
}

static int places_told(struct pagoda_exec_test *t, u32 i)
{
	return atomic_read(&t->context[i].nr_placed);
}

/* Waits until context @i was told @times times that a place is kept for the context. */
static void places_wait_told(struct pagoda_exec_test *t, u32 i, int times)
{
	u32 tries = 10000;

	while (places_told(t, i) < times && --tries)
		usleep_range(500, 1000);
	KUNIT_EXPECT_NE(t->test, 0u, tries);
}

/* Makes contexts on engine 0, which executes nothing until pagoda_fake_transport_let(). */
static struct pagoda_exec_test *places_engine(struct kunit *test, u32 contexts)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (i = 0; i < contexts; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	return t;
}

/*
 * As places_engine(), but a place that is kept for a context is kept without a limit of time: the
 * test's thread may have to wait for a processor for longer than the driver keeps a place.
 */
static struct pagoda_exec_test *places_patient_engine(struct kunit *test, u32 contexts)
{
	struct pagoda_exec_test *t = places_engine(test, contexts);

	disable_delayed_work_sync(&t->context[0].context->engine->grants_end);
	return t;
}

/*
 * A third job finds no place until one of two jobs is done; the context of the third job is told
 * once that a place is kept.
 */
static void places_are_two(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 3);

	KUNIT_EXPECT_TRUE(test, places_ask(t, 0));
	KUNIT_EXPECT_EQ(test, 1u, pagoda_exec_test_push_placed(t, 0));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 1));
	KUNIT_EXPECT_EQ(test, 2u, pagoda_exec_test_push_placed(t, 1));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_exec_test_push_placed(t, 2));
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 2));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	places_wait_told(t, 2, 1);
	KUNIT_EXPECT_TRUE(test, places_ask(t, 2));
	KUNIT_EXPECT_EQ(test, 3u, pagoda_exec_test_push_placed(t, 2));
	pagoda_fake_transport_let(t->fake[0], 100);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3));
	KUNIT_EXPECT_EQ(test, 1, places_told(t, 2));
	pagoda_exec_test_expect_clean(t);
}

/*
 * A place that is kept for a context goes to the next context that asked, if the first context
 * passes the place on or is destroyed; a context that was banned after it asked is left out.
 */
static void places_are_passed(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 5);

	KUNIT_EXPECT_TRUE(test, places_ask(t, 0));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 1));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 3));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 4));
	pagoda_exec_context_ban(t->context[2].context);
	pagoda_exec_context_pass(t->context[0].context);
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 2));
	KUNIT_EXPECT_EQ(test, 1, places_told(t, 3));
	/* Jobs of a banned context need no place: they end without holding memory. */
	KUNIT_EXPECT_TRUE(test, places_ask(t, 2));
	pagoda_exec_test_context_destroy(t, 1);
	KUNIT_EXPECT_EQ(test, 1, places_told(t, 4));
	pagoda_exec_test_expect_clean(t);
}

/* A context that doesn't use its place for a while loses the place to another context that asks. */
static void places_are_not_kept(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 4);

	KUNIT_EXPECT_TRUE(test, places_ask(t, 0));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 1));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	places_wait_told(t, 2, 1);
	KUNIT_EXPECT_EQ(test, 1u, pagoda_exec_test_push_placed(t, 2));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 3));
	KUNIT_EXPECT_EQ(test, 2u, pagoda_exec_test_push_placed(t, 3));
	/* Context 0 is too late: both places have jobs. */
	KUNIT_EXPECT_EQ(test, 0u, pagoda_exec_test_push_placed(t, 0));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 0));
	pagoda_fake_transport_let(t->fake[0], 100);
	places_wait_told(t, 0, 1);
	pagoda_exec_test_expect_clean(t);
}

/* Of two contexts that ask, the context whose account used less of the engine is told first. */
static void places_take_turns(struct kunit *test)
{
	struct pagoda_exec_test *t = places_patient_engine(test, 4);
	struct pagoda_exec_account *account[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		account[i] = pagoda_exec_account_create();
		KUNIT_ASSERT_NOT_NULL(test, account[i]);
		pagoda_exec_context_set_account(t->context[2 + i].context, account[i]);
	}
	KUNIT_EXPECT_TRUE(test, places_ask(t, 2));
	KUNIT_EXPECT_EQ(test, 1u, pagoda_exec_test_push_placed(t, 2));
	pagoda_exec_test_wait_given(t, 0, 1);
	/* Job 1 keeps the engine for longer than a slice. */
	usleep_range(8000, 9000);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, places_ask(t, i));
		KUNIT_EXPECT_NE(test, 0u, pagoda_exec_test_push_placed(t, i));
	}
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 3));
	pagoda_fake_transport_let(t->fake[0], 1);
	places_wait_told(t, 3, 1);
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 2));
	pagoda_fake_transport_let(t->fake[0], 100);
	places_wait_told(t, 2, 1);
	for (i = 0; i < 2; i++)
		pagoda_exec_account_put(account[i]);
	pagoda_exec_test_expect_clean(t);
}

/*
 * Within an account's slice its context gets the next place, too, although another account's
 * context asked earlier.
 */
static void places_have_slices(struct kunit *test)
{
	struct pagoda_exec_test *t = places_patient_engine(test, 3);
	struct pagoda_exec_account *account[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		account[i] = pagoda_exec_account_create();
		KUNIT_ASSERT_NOT_NULL(test, account[i]);
		pagoda_exec_context_set_account(t->context[i].context, account[i]);
	}
	KUNIT_EXPECT_NE(test, 0u, pagoda_exec_test_push_placed(t, 2));
	KUNIT_EXPECT_NE(test, 0u, pagoda_exec_test_push_placed(t, 2));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 0));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 1));
	pagoda_fake_transport_let(t->fake[0], 1);
	places_wait_told(t, 0, 1);
	KUNIT_EXPECT_EQ(test, 3u, pagoda_exec_test_push_placed(t, 0));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 0));
	pagoda_fake_transport_let(t->fake[0], 1);
	places_wait_told(t, 0, 2);
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 1));
	pagoda_exec_context_pass(t->context[0].context);
	KUNIT_EXPECT_EQ(test, 1, places_told(t, 1));
	pagoda_fake_transport_let(t->fake[0], 100);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3));
	for (i = 0; i < 2; i++)
		pagoda_exec_account_put(account[i]);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A new account at the address of a freed account, which began engine->slice, doesn't have that
 * slice: the new account has used the engine too little to be within the slice.
 */
static void places_know_their_slice(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 3);
	struct pagoda_exec_engine *engine = t->context[0].context->engine;
	struct pagoda_exec_account *fresh = pagoda_exec_account_create();

	KUNIT_ASSERT_NOT_NULL(test, fresh);
	pagoda_exec_context_set_account(t->context[0].context, fresh);
	/* As if a freed account, at the same address, had used the engine for an hour. */
	spin_lock_irq(&engine->flight.lock);
	engine->slice = fresh;
	engine->slice_end = 3600 * NSEC_PER_SEC;
	engine->turn = engine->slice_end;
	spin_unlock_irq(&engine->flight.lock);
	KUNIT_EXPECT_TRUE(test, places_ask(t, 1));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 2));
	KUNIT_EXPECT_FALSE(test, places_ask(t, 0));
	KUNIT_EXPECT_FALSE(test, t->context[0].context->in_slice);
	pagoda_exec_account_put(fresh);
}

/* Returns the number of jobs that the device began before @job. */
static u32 places_began(struct pagoda_exec_test *t, u32 job)
{
	u32 i;

	for (i = 0; i < t->nr_log && t->log[i] != job; i++)
		;
	return i;
}

/*
 * Many fenced jobs of one context keep neither a fenced job of another context from the engine, nor
 * a third context that asks: the contexts take turns.
 */
static void places_fenced(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 3);
	u32 job[8], late, n;

	for (n = 0; n < ARRAY_SIZE(job); n++)
		job[n] = pagoda_exec_test_push_fenced(t, 0);
	pagoda_exec_test_wait_given(t, 0, 2);
	late = pagoda_exec_test_push_fenced(t, 1);
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	usleep_range(2000, 3000);
	KUNIT_EXPECT_EQ(test, 2ull, pagoda_exec_test_stats(t, 0).jobs);
	pagoda_fake_transport_let(t->fake[0], 4);
	pagoda_exec_test_wait_given(t, 0, 5);
	places_wait_told(t, 2, 1);
	pagoda_fake_transport_let(t->fake[0], 100);
	for (n = 0; n < ARRAY_SIZE(job); n++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, job[n]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, late));
	KUNIT_EXPECT_LE(test, places_began(t, late), 4u);
	pagoda_exec_test_expect_clean(t);
}

/*
 * A job gets no place while a fenced job before it in its context has none: else two such jobs
 * would take all places and wait for the fenced job, which needs a place.
 */
static void places_behind_fenced(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 2);
	struct dma_fence *gate = pagoda_test_fence(test);
	u32 fenced, other, late;

	fenced = pagoda_exec_test_push_fenced_after(t, 0, gate);
	KUNIT_EXPECT_FALSE(test, places_ask(t, 0));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_exec_test_push_placed(t, 0));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 1));
	other = pagoda_exec_test_push_placed(t, 1);
	KUNIT_EXPECT_NE(test, 0u, other);
	KUNIT_EXPECT_TRUE(test, pagoda_engines_have_place(t->engines, t->job[other].fence));
	KUNIT_EXPECT_FALSE(test, pagoda_engines_have_place(t->engines, t->job[fenced].fence));
	KUNIT_EXPECT_FALSE(test, pagoda_engines_have_place(t->engines, gate));
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 0));
	dma_fence_signal(gate);
	dma_fence_put(gate);
	pagoda_exec_test_wait_given(t, 0, 2);
	KUNIT_EXPECT_TRUE(test, pagoda_engines_have_place(t->engines, t->job[fenced].fence));
	/* Context 0 isn't told yet: both places have jobs. */
	KUNIT_EXPECT_EQ(test, 0, places_told(t, 0));
	pagoda_fake_transport_let(t->fake[0], 1);
	places_wait_told(t, 0, 1);
	late = pagoda_exec_test_push_placed(t, 0);
	KUNIT_EXPECT_NE(test, 0u, late);
	pagoda_fake_transport_let(t->fake[0], 100);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, fenced));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, other));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, late));
	KUNIT_EXPECT_TRUE(test, pagoda_engines_have_place(t->engines, t->job[late].fence));
	pagoda_exec_test_expect_clean(t);
}

/*
 * A fence behind the jobs that have a place signals when these two have ended, not earlier, and
 * doesn't wait for a job that gets a place later.
 */
static void places_fence(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 3);
	struct dma_fence *placed;
	u32 job[3], n;

	KUNIT_EXPECT_NULL(test, pagoda_engines_placed(t->engines));
	for (n = 0; n < 2; n++)
		job[n] = pagoda_exec_test_push_placed(t, n);
	placed = pagoda_engines_placed(t->engines);
	KUNIT_ASSERT_NOT_NULL(test, placed);
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, job[0]));
	places_wait_told(t, 2, 1);
	job[2] = pagoda_exec_test_push_placed(t, 2);
	KUNIT_EXPECT_NE(test, 0u, job[2]);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(placed));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, job[1]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(placed));
	KUNIT_EXPECT_FALSE(test, pagoda_exec_test_is_done(t, job[2]));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, job[2]));
	pagoda_exec_test_expect_clean(t);
}

/*
 * Results of pagoda_exec_test_is_done() and pagoda_engines_have_place() for a job when the job's
 * scheduled fence signals: the scheduler hasn't looked yet whether the job has ended.
 */
struct places_look {
	struct dma_fence_cb cb;
	struct pagoda_exec_test *t;
	u32 job;
	bool done;
	bool has_place;
};

static void places_look(struct dma_fence *scheduled, struct dma_fence_cb *cb)
{
	struct places_look *look = container_of(cb, struct places_look, cb);

	look->done = pagoda_exec_test_is_done(look->t, look->job);
	look->has_place = pagoda_engines_have_place(look->t->engines,
						    look->t->job[look->job].fence);
}

/*
 * The device ends a job while the scheduler still hands the job over. The job has no place any
 * more, and its fence hasn't signalled, but pagoda_engines_have_place() returns true: the fence
 * waits for the scheduler only.
 */
static void places_ended_at_once(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 1);
	struct dma_fence *gate = pagoda_test_fence(test);
	struct places_look look = { .t = t };
	struct drm_sched_fence *fence;

	pagoda_exec_test_modes(t, PAGODA_FAKE_IMMEDIATE);
	look.job = pagoda_exec_test_push_fenced_after(t, 0, gate);
	fence = to_drm_sched_fence(t->job[look.job].fence);
	KUNIT_EXPECT_EQ(test, 0, dma_fence_add_callback(&fence->scheduled, &look.cb, places_look));
	dma_fence_signal(gate);
	dma_fence_put(gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, look.job));
	KUNIT_EXPECT_FALSE(test, look.done);
	KUNIT_EXPECT_TRUE(test, look.has_place);
	pagoda_exec_test_expect_clean(t);
}

/*
 * Fenced jobs that wait for a place end when their context is banned or destroyed, or the engines
 * are stopped.
 */
static void places_fenced_end(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 3);
	u32 job[6], n;

	for (n = 0; n < ARRAY_SIZE(job); n++)
		job[n] = pagoda_exec_test_push_fenced(t, n % 3);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_exec_context_ban(t->context[0].context);
	/* Fences signal in order: let the jobs run that may be in flight before job[3]. */
	pagoda_fake_transport_let(t->fake[0], 3);
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, job[3]));
	pagoda_exec_test_context_destroy(t, 1);
	pagoda_engines_stop(t->engines);
	for (n = 0; n < ARRAY_SIZE(job); n++)
		KUNIT_EXPECT_TRUE(test, pagoda_exec_test_is_done(t, job[n]));
}

/* Jobs that end with their destroyed context before they were sent give their places back. */
static void places_of_killed_jobs(struct kunit *test)
{
	struct pagoda_exec_test *t = places_engine(test, 4);
	struct dma_fence *gate = pagoda_test_fence(test), *done[2];
	struct pagoda_exec_job *job;
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, places_ask(t, i));
		job = pagoda_exec_job_create(t->context[i].context, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, job);
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_job_add_fence(job, gate));
		KUNIT_EXPECT_TRUE(test, pagoda_exec_job_place(job));
		pagoda_exec_job_arm(job);
		done[i] = dma_fence_get(job->fence);
		pagoda_exec_job_push(job);
	}
	KUNIT_EXPECT_FALSE(test, places_ask(t, 2));
	for (i = 0; i < 2; i++)
		pagoda_exec_test_context_destroy(t, i);
	dma_fence_signal(gate);
	dma_fence_put(gate);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_GT(test, 0, pagoda_queue_test_wait(done[i]));
	places_wait_told(t, 2, 1);
	KUNIT_EXPECT_TRUE(test, places_ask(t, 2));
	KUNIT_EXPECT_TRUE(test, places_ask(t, 3));
	pagoda_exec_test_expect_clean(t);
}

static struct kunit_case places_cases[] = {
	KUNIT_CASE(places_are_two),
	KUNIT_CASE(places_are_passed),
	KUNIT_CASE(places_are_not_kept),
	KUNIT_CASE(places_take_turns),
	KUNIT_CASE(places_have_slices),
	KUNIT_CASE(places_know_their_slice),
	KUNIT_CASE(places_fenced),
	KUNIT_CASE(places_behind_fenced),
	KUNIT_CASE(places_fence),
	KUNIT_CASE(places_ended_at_once),
	KUNIT_CASE(places_fenced_end),
	KUNIT_CASE(places_of_killed_jobs),
	{}
};

static struct kunit_suite places_suite = {
	.name = "pagoda_places",
	.test_cases = places_cases,
};

kunit_test_suite(places_suite);
