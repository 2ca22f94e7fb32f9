// SPDX-License-Identifier: GPL-2.0
/*
 * Paging queue and engines: nothing is sent between a failure and its recovery; a second failure
 * behind or in the recovery of the first; from when on the device's silence counts as a hang; which
 * time is measured as the device's work; executed jobs aren't lost when the device is reset.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include "../drivers/pagoda/queue/exec_internal.h"
#include "../drivers/pagoda/queue/internal.h"
#include "queue/exec.h"
#include "rig/spy.h"
#include "exec_helpers.h"
#include "queue_helpers.h"

#define UNITS	4
#define TRIES	60000

/* A work item that keeps an ordered workqueue busy until the test calls unblock(). */
struct blocker {
	struct work_struct work;
	struct completion begun;
	struct completion go;
};

static void blocker_run(struct work_struct *work)
{
	struct blocker *blocker = container_of(work, struct blocker, work);

	complete(&blocker->begun);
	wait_for_completion(&blocker->go);
}

static struct blocker *block(struct kunit *test, struct workqueue_struct *wq)
{
	struct blocker *blocker = kunit_kzalloc(test, sizeof(*blocker), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, blocker);
	INIT_WORK(&blocker->work, blocker_run);
	init_completion(&blocker->begun);
	init_completion(&blocker->go);
	queue_work(wq, &blocker->work);
	wait_for_completion(&blocker->begun);
	return blocker;
}

static void unblock(struct blocker *blocker)
{
	complete(&blocker->go);
	flush_work(&blocker->work);
}

/* ---- The paging queue ------------------------------------------------------- */

static u32 nr_in_flight(struct pagoda_queue *queue)
{
	u32 nr;

	spin_lock_irq(&queue->flight.lock);
	nr = list_count_nodes(&queue->flight.inflight);
	spin_unlock_irq(&queue->flight.lock);
	return nr;
}

/* No submission is sent after a fault was reported and before recovery has begun. */
static void trouble_waits_for_recovery(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct blocker *blocker = block(test, t->queue->recover_wq);
	struct dma_fence *fences[6];
	u32 i, submits;

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_FAULT, 8, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, 1, UNITS);
	for (i = 0; i < TRIES && !READ_ONCE(t->queue->flight.need_reset); i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, t->queue->flight.need_reset);
	submits = t->fake->submits;
	pagoda_queue_test_push_many(t, &fences[1], 5, UNITS);
	for (i = 0; i < TRIES && nr_in_flight(t->queue) < 6; i++)
		usleep_range(100, 200);
	KUNIT_EXPECT_EQ(test, 6, nr_in_flight(t->queue));
	KUNIT_EXPECT_EQ(test, submits, t->fake->submits);
	unblock(blocker);
	for (i = 0; i < 6; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
		pagoda_queue_test_expect_once(t, i + 1, UNITS);
	}
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
	pagoda_queue_test_expect_clean(t);
}

/*
 * After the watchdog has found a completion whose interrupt was lost, the watchdog is armed again,
 * and finds that the device hangs at the next submission.
 */
static void trouble_behind_lost_interrupt(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_fake_transport_order(t->fake, 3, PAGODA_FAKE_HANG, 8, 1);
	pagoda_queue_test_push_many(t, fences, 4, UNITS);
	for (i = 0; i < TRIES && READ_ONCE(t->fake->nr_ring) != 4; i++)
		usleep_range(100, 200);
	pagoda_fake_transport_let(t->fake, 4);
	pagoda_fake_transport_wait_silent(t->fake);
	/* After pagoda_queue_test_expire() the watchdog expires by itself, in 50 ms. */
	t->queue->flight.timeout_ms = 50;
	pagoda_queue_test_expire(t);
	for (i = 0; i < TRIES && !dma_fence_is_signaled(fences[1]); i++)
		usleep_range(100, 200);
	pagoda_fake_transport_let(t->fake, 100);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
		pagoda_queue_test_expect_once(t, i + 1, UNITS);
	}
	KUNIT_EXPECT_GE(test, pagoda_queue_test_stats(t).polled, 1);
	pagoda_queue_test_expect_clean(t);
}

/* Pretends that the device has been silent for longer than the timeout. */
static void long_ago(struct pagoda_queue *queue)
{
	spin_lock_irq(&queue->flight.lock);
	queue->flight.progress = jiffies - 2 * msecs_to_jiffies(queue->flight.timeout_ms);
	spin_unlock_irq(&queue->flight.lock);
}

static void look(struct pagoda_queue *queue)
{
	mod_delayed_work(queue->recover_wq, &queue->flight.watchdog, 0);
	flush_delayed_work(&queue->flight.watchdog);
}

/*
 * The watchdog's timeout begins with the device's last answer, or when a submission is sent to the
 * idle device: neither idle time nor the time of the previous submission leads to a reset.
 */
static void trouble_silence(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[3];
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	/* The queue was idle for long. */
	long_ago(t->queue);
	pagoda_queue_test_push_many(t, fences, 3, UNITS);
	for (i = 0; i < TRIES && READ_ONCE(t->fake->nr_ring) != 3; i++)
		usleep_range(100, 200);
	look(t->queue);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
	/* The first submission took long. */
	long_ago(t->queue);
	pagoda_fake_transport_let(t->fake, 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[0]));
	look(t->queue);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
	/* Now the device is silent. */
	long_ago(t->queue);
	look(t->queue);
	KUNIT_EXPECT_EQ(test, 1, t->fake->resets);
	pagoda_fake_transport_let(t->fake, 100);
	for (i = 1; i < 3; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	pagoda_queue_test_expect_clean(t);
}

/* The sum of the times given to measured() is never more than the time that passed. */
static void trouble_measured(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *fence, *fences[4];
	ktime_t begun;
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	/* The time a submission waits for its dependencies doesn't count. */
	fence = pagoda_queue_test_push(t, UNITS, gate);
	msleep(50);
	begun = ktime_get();
	dma_fence_signal(gate);
	pagoda_fake_transport_let(t->fake, 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_LE(test, t->measured_ns, ktime_to_ns(ktime_sub(ktime_get(), begun)));
	KUNIT_EXPECT_EQ(test, UNITS * 8, t->measured_bytes);
	/* The time of earlier submissions doesn't count for a later one either. */
	t->measured_ns = 0;
	begun = ktime_get();
	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), UNITS);
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		msleep(20);
		pagoda_fake_transport_let(t->fake, 1);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	}
	KUNIT_EXPECT_LE(test, t->measured_ns, ktime_to_ns(ktime_sub(ktime_get(), begun)));
	KUNIT_EXPECT_GE(test, t->measured_ns, 4 * 20 * NSEC_PER_MSEC * 3 / 4);
	dma_fence_put(gate);
	pagoda_queue_test_expect_clean(t);
}

/* The time of a submission at which the device failed once isn't given to measured(). */
static void trouble_isnt_measured(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fence;

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_FAULT, 8, 1);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
	KUNIT_EXPECT_EQ(test, 0, t->measured_bytes);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_EQ(test, UNITS * 8, t->measured_bytes);
	pagoda_queue_test_expect_clean(t);
}

/*
 * The replay of a submission hangs before it makes progress, and the reset reports the submission's
 * begin: packets that were executed before the first failure aren't executed again.
 */
static void trouble_in_the_replay(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fence;
	u32 i;

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_FAULT, 16, 1);
	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_HANG, 16, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	for (i = 0; i < TRIES && !READ_ONCE(t->fake->hangs); i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, t->fake->hangs);
	KUNIT_EXPECT_EQ(test, 16, t->fake->log[1].start);
	/* The end of the first recovery, which goes on, would count as progress. */
	flush_work(&t->queue->flight.work);
	/* The reset reports the submission's begin, in spite of the two packets executed before. */
	t->fake->lie = (struct pagoda_reset_result) { .seqno = 0, .offset = 0 };
	t->fake->reset_lies = true;
	pagoda_queue_test_expire(t);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_EQ(test, 16, t->fake->log[2].start);
	pagoda_queue_test_expect_once(t, 1, UNITS);
	KUNIT_EXPECT_EQ(test, 2, pagoda_queue_test_stats(t).resets);
	pagoda_queue_test_expect_clean(t);
}

/* The time of a submission that moves nothing doesn't count for the next one. */
static void trouble_measures_moves_only(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *nothing, *fence;
	ktime_t begun;
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	nothing = pagoda_queue_test_push(t, 0, NULL);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	for (i = 0; i < TRIES && READ_ONCE(t->fake->nr_ring) != 2; i++)
		usleep_range(100, 200);
	msleep(50);
	begun = ktime_get();
	pagoda_fake_transport_let(t->fake, 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(nothing));
	KUNIT_EXPECT_EQ(test, 0ull, t->measured_ns);
	pagoda_fake_transport_let(t->fake, 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_EQ(test, UNITS * 8, t->measured_bytes);
	KUNIT_EXPECT_LE(test, t->measured_ns, ktime_to_ns(ktime_sub(ktime_get(), begun)));
	pagoda_queue_test_expect_clean(t);
}

/* The watchdog looks again when the timeout since the last progress is over, not later. */
static void trouble_looks_in_time(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	unsigned long timeout = msecs_to_jiffies(PAGODA_TEST_TIMEOUT_MS), due;
	struct dma_fence *fence;
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	for (i = 0; i < TRIES && READ_ONCE(t->fake->nr_ring) != 1; i++)
		usleep_range(100, 200);
	spin_lock_irq(&t->queue->flight.lock);
	t->queue->flight.progress = jiffies - timeout / 2;
	due = t->queue->flight.progress + timeout;
	spin_unlock_irq(&t->queue->flight.lock);
	look(t->queue);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->queue->flight.watchdog));
	/* A tolerance, because the watchdog is armed a moment after it reads jiffies. */
	KUNIT_EXPECT_TRUE(test, time_before_eq(t->queue->flight.watchdog.timer.expires,
					       due + timeout / 8));
	pagoda_fake_transport_let(t->fake, 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	pagoda_queue_test_expect_clean(t);
}

/* A work item that asks for a reset of the whole device; @returned: the call is over. */
struct trouble_asker {
	struct pagoda_queue_test *t;
	int ret;
	bool returned;
	struct work_struct work;
};

static void trouble_asker_run(struct work_struct *work)
{
	struct trouble_asker *asker = container_of(work, struct trouble_asker, work);

	asker->ret = pagoda_queue_reset_adapter(asker->t->queue, BIT(0));
	WRITE_ONCE(asker->returned, true);
}

static void trouble_ask(struct trouble_asker *asker, struct pagoda_queue_test *t)
{
	asker->t = t;
	INIT_WORK_ONSTACK(&asker->work, trouble_asker_run);
	queue_work(system_dfl_wq, &asker->work);
}

static void trouble_hold_adapter(struct pagoda_queue_test *t)
{
	wait_for_completion(&t->let);
}

static void trouble_wait_adapter(struct pagoda_queue_test *t, u32 resets)
{
	u32 i;

	for (i = 0; i < TRIES && READ_ONCE(t->adapter_resets) < resets; i++)
		usleep_range(100, 200);
	KUNIT_EXPECT_EQ(t->test, resets, READ_ONCE(t->adapter_resets));
}

/* A request for a reset that comes while the device is being reset gets a reset of its own. */
static void trouble_asks_again(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct trouble_asker first = { .ret = 1 }, second = { .ret = 1 };
	u32 i;

	init_completion(&t->let);
	t->adapter_error = 0;
	t->adapter_hook = trouble_hold_adapter;
	trouble_ask(&first, t);
	trouble_wait_adapter(t, 1);
	trouble_ask(&second, t);
	for (i = 0; i < TRIES && !READ_ONCE(t->queue->adapter_wanted); i++)
		usleep_range(100, 200);
	complete(&t->let);
	flush_work(&first.work);
	trouble_wait_adapter(t, 2);
	/* The first reset began before the second request, which only the second reset answers. */
	msleep(20);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(second.returned));
	complete(&t->let);
	flush_work(&second.work);
	destroy_work_on_stack(&first.work);
	destroy_work_on_stack(&second.work);
	KUNIT_EXPECT_EQ(test, 0, first.ret);
	KUNIT_EXPECT_EQ(test, 0, second.ret);
}

/*
 * When the whole device is reset, a submission that the device has executed, but hasn't reported as
 * completed yet, isn't lost: the submission's fence signals without error.
 */
static void trouble_untold_isnt_lost(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fence;

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	fence = pagoda_queue_test_push(t, UNITS, NULL);
	pagoda_fake_transport_wait_silent(t->fake);
	t->adapter_error = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_reset_adapter(t->queue, BIT(0)));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	KUNIT_EXPECT_EQ(test, 0, t->nr_lost);
	pagoda_queue_test_expect_once(t, 1, UNITS);
	pagoda_queue_test_expect_clean(t);
}

static int trouble_stop_run(void *queue)
{
	pagoda_queue_stop(queue);
	return 0;
}

/*
 * A submission that is pushed while pagoda_queue_stop() waits for submissions in flight fails with
 * -ENODEV, after these have been executed.
 */
static void trouble_while_stopping(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_worker worker = { .run = trouble_stop_run, .arg = t->queue };
	struct dma_fence *fences[2], *late;
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), 2);
	pagoda_worker_start(test, &worker);
	for (i = 0; i < TRIES && !READ_ONCE(t->queue->stopped); i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, t->queue->stopped);
	late = pagoda_queue_test_push(t, 2, NULL);
	for (i = 0; i < TRIES && nr_in_flight(t->queue) < 3; i++)
		usleep_range(100, 200);
	KUNIT_EXPECT_EQ(test, 3, nr_in_flight(t->queue));
	/* Recovery can't give @late up yet, because of the submissions in flight before it. */
	flush_work(&t->queue->flight.work);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(late));
	pagoda_fake_transport_let(t->fake, 2);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_queue_test_wait(late));
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 1, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 2, t->fake->submits);
	pagoda_queue_test_expect_clean(t);
}

/* ---- Engines ---------------------------------------------------------------- */

static u32 nr_on_engine(struct pagoda_exec_engine *engine)
{
	u32 nr;

	spin_lock_irq(&engine->flight.lock);
	nr = list_count_nodes(&engine->flight.inflight);
	spin_unlock_irq(&engine->flight.lock);
	return nr;
}

/* An engine sends no job after a fault was reported and before recovery has begun. */
static void engine_waits_for_recovery(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_engine *engine = &t->engines->engine[0];
	struct blocker *blocker = block(test, t->engines->recover_wq);
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_FAULTS, NULL);
	for (i = 0; i < TRIES && !READ_ONCE(engine->flight.need_reset); i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, engine->flight.need_reset);
	for (i = 0; i < 3; i++)
		pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	for (i = 0; i < TRIES && nr_on_engine(engine) < 4; i++)
		usleep_range(100, 200);
	KUNIT_EXPECT_EQ(test, 4, nr_on_engine(engine));
	KUNIT_EXPECT_EQ(test, 1, t->fake[0]->submits);
	unblock(blocker);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, 1));
	for (i = 2; i <= 4; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, i));
	KUNIT_EXPECT_EQ(test, 1, pagoda_exec_test_stats(t, 0).resets);
	pagoda_exec_test_expect_clean(t);
}

/* An engine's watchdog finds a hang behind a lost interrupt, too. */
static void engine_behind_lost_interrupt(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_fake_transport_order(t->fake[0], 1, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_fake_transport_let(t->fake[0], 2);
	pagoda_fake_transport_wait_silent(t->fake[0]);
	t->engines->engine[0].flight.timeout_ms = 50;
	pagoda_exec_test_expire(t, 0);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_GE(test, pagoda_exec_test_stats(t, 0).polled, 1);
	KUNIT_EXPECT_EQ(test, 1, pagoda_exec_test_stats(t, 0).timeouts);
	pagoda_exec_test_expect_clean(t);
}

static void engine_long_ago(struct pagoda_exec_test *t)
{
	struct pagoda_exec_engine *engine = &t->engines->engine[0];

	spin_lock_irq(&engine->flight.lock);
	engine->flight.progress = jiffies - 2 * msecs_to_jiffies(engine->flight.timeout_ms);
	spin_unlock_irq(&engine->flight.lock);
}

static void engine_look(struct pagoda_exec_test *t)
{
	mod_delayed_work(t->engines->recover_wq, &t->engines->engine[0].flight.watchdog, 0);
	flush_delayed_work(&t->engines->engine[0].flight.watchdog);
}

/* A job has its whole timeout, whatever the engine did, or didn't do, before the job began. */
static void engine_silence(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u32 i;

	for (i = 0; i < 3; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	engine_long_ago(t);
	for (i = 0; i < 3; i++) {
		pagoda_exec_test_push(t, i, PAGODA_EXEC_RUNS, NULL);
		pagoda_exec_test_wait_given(t, 0, i + 1);
	}
	engine_look(t);
	engine_long_ago(t);
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	engine_look(t);
	/* The time for which the engines are held doesn't count for the second job. */
	pagoda_engines_hold(t->engines);
	engine_long_ago(t);
	pagoda_engines_resume(t->engines);
	engine_look(t);
	KUNIT_EXPECT_EQ(test, 0, t->fake[0]->resets);
	engine_long_ago(t);
	engine_look(t);
	KUNIT_EXPECT_EQ(test, 1, t->fake[0]->resets);
	pagoda_fake_transport_let(t->fake[0], 100);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3));
	pagoda_exec_test_expect_clean(t);
}

/* After a hold of the engines, the watchdog is armed again for jobs that they had before. */
static void engine_is_watched_again(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);

	pagoda_exec_test_context(t, 0, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 1);
	pagoda_engines_hold(t->engines);
	engine_look(t);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&t->engines->engine[0].flight.watchdog));
	pagoda_engines_resume(t->engines);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&t->engines->engine[0].flight.watchdog));
	pagoda_fake_transport_let(t->fake[0], 1);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	pagoda_exec_test_expect_clean(t);
}

/* A fault that is reported while the engine is held is recovered from after the hold. */
static void engine_fails_while_held(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	struct pagoda_exec_engine *engine = &t->engines->engine[0];
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_FAULTS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_engines_hold(t->engines);
	pagoda_fake_transport_let(t->fake[0], 1);
	for (i = 0; i < TRIES && !READ_ONCE(engine->flight.need_reset); i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_TRUE(test, engine->flight.need_reset);
	/* Recovery does nothing while the engine is held. */
	flush_work(&engine->flight.work);
	KUNIT_EXPECT_EQ(test, 0, t->fake[0]->resets);
	pagoda_engines_resume(t->engines);
	flush_work(&engine->flight.work);
	KUNIT_ASSERT_EQ(test, 1, t->fake[0]->resets);
	pagoda_fake_transport_let(t->fake[0], 100);
	KUNIT_EXPECT_EQ(test, -EFAULT, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 2));
	pagoda_exec_test_expect_clean(t);
}

/*
 * When the whole device is reset, a job that the device has executed, but hasn't reported as
 * completed yet, isn't lost: the job's fence signals without error.
 */
static void engine_untold_isnt_lost(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	bool cookie;
	u32 i;

	for (i = 0; i < 2; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	pagoda_fake_transport_order(t->fake[0], 1, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_exec_test_push(t, 0, PAGODA_EXEC_RUNS, NULL);
	pagoda_exec_test_push(t, 1, PAGODA_EXEC_HANGS, NULL);
	pagoda_exec_test_wait_given(t, 0, 2);
	pagoda_fake_transport_let(t->fake[0], 2);
	pagoda_fake_transport_wait_silent(t->fake[0]);
	pagoda_engines_hold(t->engines);
	/* A reset calls pagoda_engines_lost() in the dma_fence signalling path, too. */
	cookie = dma_fence_begin_signalling();
	pagoda_engines_lost(t->engines);
	dma_fence_end_signalling(cookie);
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 1));
	KUNIT_EXPECT_EQ(test, -ECANCELED, pagoda_exec_test_wait(t, 2));
	KUNIT_EXPECT_EQ(test, 0, t->context[0].nr_lost);
	KUNIT_EXPECT_EQ(test, 1, t->context[1].nr_lost);
	pagoda_fake_transport_lose(t->fake[0]);
	pagoda_engines_resume(t->engines);
}

/* Time in which an engine has several jobs counts once in its busy time, idle time not at all. */
static void engine_busy_time(struct kunit *test)
{
	struct pagoda_exec_test *t = pagoda_exec_test_create(test);
	u64 busy, total = 0;
	ktime_t begun;
	u32 i, n;

	for (i = 0; i < 3; i++)
		pagoda_exec_test_context(t, i, 0, PAGODA_EXEC_NORMAL);
	pagoda_exec_test_modes(t, PAGODA_FAKE_HELD);
	for (n = 0; n < 2; n++) {
		begun = ktime_get();
		for (i = 0; i < 3; i++) {
			pagoda_exec_test_push(t, i, PAGODA_EXEC_RUNS, NULL);
			pagoda_exec_test_wait_given(t, 0, 3 * n + i + 1);
		}
		for (i = 1; i <= 3; i++) {
			msleep(20);
			pagoda_fake_transport_let(t->fake[0], 1);
			KUNIT_EXPECT_EQ(test, 0, pagoda_exec_test_wait(t, 3 * n + i));
		}
		total += ktime_to_ns(ktime_sub(ktime_get(), begun));
		busy = pagoda_exec_test_stats(t, 0).busy_ns;
		KUNIT_EXPECT_LE(test, busy, total);
		KUNIT_EXPECT_GE(test, busy, (n + 1) * 3 * 20 * NSEC_PER_MSEC * 3 / 4);
		/* While the engine is idle the busy time stays. */
		msleep(50);
		KUNIT_EXPECT_EQ(test, busy, pagoda_exec_test_stats(t, 0).busy_ns);
	}
	pagoda_exec_test_expect_clean(t);
}

static struct kunit_case trouble_cases[] = {
	KUNIT_CASE(trouble_waits_for_recovery),
	KUNIT_CASE(trouble_behind_lost_interrupt),
	KUNIT_CASE(trouble_silence),
	KUNIT_CASE(trouble_measured),
	KUNIT_CASE(trouble_isnt_measured),
	KUNIT_CASE(trouble_in_the_replay),
	KUNIT_CASE(trouble_measures_moves_only),
	KUNIT_CASE(trouble_looks_in_time),
	KUNIT_CASE(trouble_asks_again),
	KUNIT_CASE(trouble_untold_isnt_lost),
	KUNIT_CASE(trouble_while_stopping),
	KUNIT_CASE(engine_waits_for_recovery),
	KUNIT_CASE(engine_behind_lost_interrupt),
	KUNIT_CASE(engine_silence),
	KUNIT_CASE(engine_is_watched_again),
	KUNIT_CASE(engine_fails_while_held),
	KUNIT_CASE(engine_untold_isnt_lost),
	KUNIT_CASE(engine_busy_time),
	{}
};

static struct kunit_suite trouble_suite = {
	.name = "pagoda_queue_trouble",
	.test_cases = trouble_cases,
};

kunit_test_suite(trouble_suite);
