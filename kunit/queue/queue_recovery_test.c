// SPDX-License-Identifier: GPL-2.0
/*
 * The paging queue when the device refuses, loses or doesn't complete submissions, or can't be
 * reset: each packet is executed exactly once and in order, by the device or by the CPU. If the CPU
 * fails, too, the submission is reported as lost.
 */
#include <linux/debug_locks.h>
#include <linux/delay.h>
#include "queue/queue.h"
#include "rig/prove.h"
#include "queue_helpers.h"

#define PAGODA_UNITS	4

/* Pushes @count submissions, and lets the device execute them only when it has all of them. */
static void recovery_push(struct pagoda_queue_test *t, struct dma_fence **fences, u32 count)
{
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	pagoda_queue_test_push_many(t, fences, count, PAGODA_UNITS);
	for (i = 0; i < 300000 && READ_ONCE(t->fake->nr_ring) != count; i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_EQ(t->test, count, t->fake->nr_ring);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
}

/* Expects all fences to signal without an error, and each packet to be executed once. */
static void recovery_expect_all(struct pagoda_queue_test *t, struct dma_fence **fences, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ_MSG(t->test, 0, pagoda_queue_test_wait(fences[i]),
				    "request %u", i + 1);
		pagoda_queue_test_expect_once(t, i + 1, PAGODA_UNITS);
	}
	KUNIT_EXPECT_EQ(t->test, count * PAGODA_UNITS, t->executed);
	pagoda_queue_test_expect_clean(t);
}

/* A lost interrupt costs a poll by the watchdog and no reset. */
static void recovery_interrupt_lost(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_SILENT, 0, 1);
	recovery_push(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(dma_fence_get(fences[0])));
	pagoda_fake_transport_wait_silent(t->fake);
	/*
	 * The device answered submissions 3 and 4, but fences signal in order: those of 3 and 4
	 * wait for the fence of 2.
	 */
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[1]));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[3]));
	pagoda_queue_test_expire(t);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.polled);
	KUNIT_EXPECT_EQ(test, 0, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
}

/* A submission that was executed but never completed isn't executed again after the reset. */
static void recovery_drop(struct kunit *test, u32 which)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, which, PAGODA_FAKE_DROP, 0, 1);
	recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.replayed);
}

static void recovery_completion_dropped(struct kunit *test)
{
	recovery_drop(test, 2);
}

static void recovery_last_completion_dropped(struct kunit *test)
{
	recovery_drop(test, 4);
}

/* An invalid completion leads to one reset, and nothing is executed twice. */
static void recovery_answer_corrupt(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 3, PAGODA_FAKE_CORRUPT, 0, 1);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
}

struct pagoda_recovery_fault {
	u32 offset;
	u32 times;
};

static const struct pagoda_recovery_fault recovery_faults[] = {
	{ 0, 1 }, { 8, 1 }, { 16, 1 }, { 24, 1 },
	{ 0, 2 }, { 8, 2 }, { 16, 2 }, { 24, 2 },
};

static void recovery_fault_name(const struct pagoda_recovery_fault *fault, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "offset %u, %u times", fault->offset, fault->times);
}

KUNIT_ARRAY_PARAM(pagoda_recovery_fault, recovery_faults, recovery_fault_name);

/*
 * One packet of the second of four submissions fails once or twice, for which replays are allowed:
 * the submission is resumed at that packet, and nothing is executed twice.
 */
static void recovery_fault_resumes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	const struct pagoda_recovery_fault *fault = test->param_value;
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, fault->offset, fault->times);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, fault->times, stats.resets);
	/* The submission that failed and the two behind it are submitted again, each time. */
	KUNIT_EXPECT_EQ(test, 3 * fault->times, stats.replayed);
	KUNIT_EXPECT_EQ(test, 0, stats.rescued + stats.lost);
	/* Each attempt had the same bytes: the driver doesn't patch packets. */
	PAGODA_PROVES(C22);
}

/* A submission that hangs is resumed after one reset at the packet that wasn't executed. */
static void recovery_hang_resumes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[3];

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_HANG, 16, 1);
	recovery_push(t, fences, 3);
	pagoda_queue_test_expire(t);
	recovery_expect_all(t, fences, 3);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.polled);
}

/*
 * Waits until the reset of the device's queue has begun. If @trouble is a hang, has the watchdog
 * find the hang before; after a fault the reset begins by itself.
 */
static void recovery_wait_reset(struct pagoda_queue_test *t, enum pagoda_fake_trouble trouble)
{
	u32 i;

	if (trouble == PAGODA_FAKE_HANG)
		pagoda_queue_test_expire(t);
	for (i = 0; i < 60000 && !READ_ONCE(t->fake->resetting); i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_TRUE(t->test, t->fake->resetting);
}

/*
 * Expects that nothing is sent to the device while its queue is being reset because of @trouble: a
 * fault that the device reported, or a hang that the watchdog found.
 */
static void recovery_hold(struct kunit *test, enum pagoda_fake_trouble trouble)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[8];
	u32 submits;

	t->fake->reset_held = true;
	pagoda_fake_transport_order(t->fake, 1, trouble, 8, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, 2, PAGODA_UNITS);
	recovery_wait_reset(t, trouble);
	submits = t->fake->submits;
	pagoda_queue_test_push_many(t, &fences[2], 6, PAGODA_UNITS);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, t->fake->resetting);
	KUNIT_EXPECT_EQ(test, submits, t->fake->submits);
	WRITE_ONCE(t->fake->reset_held, false);
	recovery_expect_all(t, fences, 8);
}

static void recovery_new_work_waits(struct kunit *test)
{
	recovery_hold(test, PAGODA_FAKE_FAULT);
	/* The fake transport counts submit, poll and reset during a reset as violations. */
	PAGODA_PROVES(C23);
}

static void recovery_new_work_waits_for_watchdog(struct kunit *test)
{
	recovery_hold(test, PAGODA_FAKE_HANG);
	PAGODA_PROVES(C23);
}

/* Nothing is sent from the device's report of a fault on, although the reset hasn't begun yet. */
static void recovery_new_work_waits_for_begin(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[8];
	u32 submits;

	pagoda_queue_test_block(t);
	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_FAULT, 8, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, 2, PAGODA_UNITS);
	pagoda_queue_test_wait_need(t);
	submits = t->fake->submits;
	pagoda_queue_test_push_many(t, &fences[2], 6, PAGODA_UNITS);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
	KUNIT_EXPECT_EQ(test, submits, t->fake->submits);
	pagoda_queue_test_let(t);
	recovery_expect_all(t, fences, 8);
	PAGODA_PROVES(C23);
}

/*
 * Expects that after a reset because of @trouble the submissions that the device had are sent again
 * first, with the same numbers, order and bytes (C186).
 */
static void recovery_resubmit(struct kunit *test, enum pagoda_fake_trouble trouble)
{
	static const u64 want[] = { 1, 2, 3, 4, 2, 3, 4, 5, 6, 7 };
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[7];
	u32 i;

	t->fake->reset_held = true;
	pagoda_fake_transport_order(t->fake, 2, trouble, 16, 1);
	recovery_push(t, fences, 4);
	recovery_wait_reset(t, trouble);
	pagoda_queue_test_push_many(t, &fences[4], 3, PAGODA_UNITS);
	WRITE_ONCE(t->fake->reset_held, false);
	recovery_expect_all(t, fences, 7);
	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(want), t->fake->submits);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ(test, want[i], t->fake->log[i].seqno);
	/* The resumed submission starts at the packet that wasn't executed, the others at 0. */
	for (i = 4; i < 7; i++) {
		KUNIT_EXPECT_PTR_EQ(test, t->fake->log[i - 3].data, t->fake->log[i].data);
		KUNIT_EXPECT_EQ(test, i == 4 ? 16 : 0, t->fake->log[i].start);
	}
}

static void recovery_fault_resubmits(struct kunit *test)
{
	recovery_resubmit(test, PAGODA_FAKE_FAULT);
	PAGODA_PROVES(C186);
}

static void recovery_hang_resubmits(struct kunit *test)
{
	recovery_resubmit(test, PAGODA_FAKE_HANG);
	PAGODA_PROVES(C186);
}

/*
 * When the device has failed at a packet more often than replays are allowed, the CPU executes the
 * rest of the submission, and the device continues with the next submission.
 */
static void recovery_cpu_rescues(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 16, 100);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.rescued);
	KUNIT_EXPECT_EQ(test, 0, stats.lost);
	/* The device executed the packets before the faulty packet, the CPU the rest. */
	KUNIT_EXPECT_EQ(test, 1, t->device[2][1]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][2]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][3]);
	KUNIT_EXPECT_EQ(test, 1, t->device[3][0]);
}

/*
 * Two packets of a submission fail, each as often as replays are allowed: the failures of each
 * packet are counted apart, and the device executes both packets in the end.
 */
static void recovery_faults_apart(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 0, PAGODA_QUEUE_REPLAYS);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 16, PAGODA_QUEUE_REPLAYS);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 2 * PAGODA_QUEUE_REPLAYS, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.rescued);
}

/*
 * When the CPU fails, too, the submission's fence signals with -EIO after the owner was told from
 * which offset on it is lost; later submissions are executed.
 */
static void recovery_lost(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];
	u32 i;

	t->cpu_error = -EFAULT;
	t->cpu_stops_at = 24;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 16, 100);
	recovery_push(t, fences, 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, i == 1 ? -EIO : 0, pagoda_queue_test_wait(fences[i]));
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 0, stats.rescued);
	KUNIT_EXPECT_EQ(test, 1, stats.lost);
	KUNIT_EXPECT_EQ(test, 1, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 2, t->lost_seqno);
	KUNIT_EXPECT_EQ(test, 24, t->lost_offset);
	KUNIT_EXPECT_EQ(test, -EIO, t->lost_error);
	KUNIT_EXPECT_EQ(test, 0, t->device[2][3] + t->cpu[2][3]);
	pagoda_queue_test_expect_once(t, 3, PAGODA_UNITS);
	pagoda_queue_test_expect_once(t, 4, PAGODA_UNITS);
	pagoda_queue_test_expect_clean(t);
}

/* The device fails at the first packet of each submission: the CPU executes all, in order. */
static void recovery_all_fail(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	u32 i;

	for (i = 0; i < 4; i++)
		pagoda_fake_transport_order(t->fake, i + 1, PAGODA_FAKE_FAULT, 0, 100);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 4, pagoda_queue_test_stats(t).rescued);
}

/*
 * The device doesn't answer the reset and keeps its requests: the CPU executes the submissions that
 * the device hasn't executed, and all later submissions.
 */
static void recovery_device_dies(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[6];

	t->fake->reset_error = -ETIMEDOUT;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_HANG, 0, 1);
	recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 3, stats.rescued);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 3, t->fake->nr_ring);

	/* Later submissions aren't sent to the device. */
	pagoda_queue_test_push_many(t, &fences[4], 2, PAGODA_UNITS);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[4]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[5]));
	KUNIT_EXPECT_EQ(test, 4, t->fake->submits);
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
	pagoda_queue_test_expect_clean(t);

	/* The requests the device kept are completed after the queue was destroyed. */
	pagoda_queue_destroy(t->queue);
	t->queue = NULL;
	KUNIT_EXPECT_EQ(test, 3, t->fake->nr_ring);
	pagoda_fake_transport_drain(t->fake);
	KUNIT_EXPECT_EQ(test, 0, t->fake->nr_ring);
}

/*
 * The reset fails, and the device gives its requests back after the CPU has executed them, while
 * the queue still exists: nothing is executed twice.
 */
static void recovery_late_answers(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4], *late;
	u64 executed;

	t->fake->reset_error = -EIO;
	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_HANG, 0, 1);
	recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	recovery_expect_all(t, fences, 4);
	executed = t->executed;
	pagoda_fake_transport_drain(t->fake);
	late = pagoda_queue_test_push(t, PAGODA_UNITS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(late));
	KUNIT_EXPECT_EQ(test, executed + PAGODA_UNITS, t->executed);
	pagoda_queue_test_expect_clean(t);
}

/* The device is gone and the CPU fails: every fence signals with -EIO, after a call of lost(). */
static void recovery_device_gone(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[3];

	t->cpu_error = -EFAULT;
	t->fake->submit_error = -ENODEV;
	t->fake->reset_error = -ENODEV;
	pagoda_queue_test_push_many(t, fences, 3, PAGODA_UNITS);
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(fences[0]));
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(fences[1]));
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(fences[2]));
	KUNIT_EXPECT_EQ(test, 3, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 0, t->late_lost);
}

static const struct pagoda_reset_result recovery_lies[] = {
	{ .seqno = 5, .offset = 0 },		/* never submitted */
	{ .seqno = 0, .offset = 0 },		/* but 1 was completed */
	{ .seqno = 1, .offset = 40 },		/* beyond the end of submission 2 */
	{ .seqno = 1, .offset = 4 },		/* in the middle of a packet */
	{ .seqno = 4, .offset = 8 },		/* in a submission that doesn't exist */
	{ .seqno = U64_MAX, .offset = U32_MAX },
};

static void recovery_lie_name(const struct pagoda_reset_result *lie, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "seqno %llu offset %u", lie->seqno, lie->offset);
}

KUNIT_ARRAY_PARAM(pagoda_recovery_lie, recovery_lies, recovery_lie_name);

/* A reset that reports impossible progress counts as failed: the CPU executes the rest. */
static void recovery_reset_lies(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];

	t->fake->reset_lies = true;
	t->fake->lie = *(const struct pagoda_reset_result *)test->param_value;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 0, 1);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 3, pagoda_queue_test_stats(t).rescued);
	KUNIT_EXPECT_EQ(test, 1, t->device[1][0]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][0]);
}

/* &pagoda_fake_transport.stopped: the first reset reports one submission executed, others none. */
static void recovery_forget(void *arg)
{
	struct pagoda_queue_test *t = arg;

	t->fake->lie.seqno = t->fake->resets == 1;
}

/*
 * A reset that reports less progress than the reset before, which told that a submission was
 * executed whose completion was lost, counts as failed: the CPU executes the rest.
 */
static void recovery_reset_forgets(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];

	t->fake->reset_lies = true;
	t->fake->stopped = recovery_forget;
	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_DROP, 0, 1);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 0, 2);
	recovery_push(t, fences, 4);
	recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 2, t->fake->resets);
	KUNIT_EXPECT_EQ(test, 3, pagoda_queue_test_stats(t).rescued);
	KUNIT_EXPECT_EQ(test, 1, t->device[1][0]);
}

/* &pagoda_queue_test.adapter_hook: does what RESET_ADAPTER does to the device's queue. */
static void recovery_lose_all(struct pagoda_queue_test *t)
{
	t->fake->reset_error = 0;
	pagoda_fake_transport_lose(t->fake);
}

/*
 * Pushes four submissions, at the second of which the device fails @times times. Expects the device
 * to be reset as a whole, which loses all submissions but the first, and @nr of the lost ones, the
 * second or none, to be to blame.
 */
static void recovery_blame(struct pagoda_queue_test *t, u32 times, u32 nr)
{
	struct kunit *test = t->test;
	struct dma_fence *fences[4];
	u32 i;

	t->adapter_error = 0;
	t->adapter_hook = recovery_lose_all;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 8, times);
	recovery_push(t, fences, 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, i ? -EIO : 0, pagoda_queue_test_wait(fences[i]));
	KUNIT_EXPECT_EQ(test, 1, t->adapter_resets);
	KUNIT_EXPECT_EQ(test, 3, t->nr_lost);
	KUNIT_EXPECT_EQ(test, nr, t->nr_blamed);
	KUNIT_EXPECT_EQ(test, nr ? 2 : 0, t->blamed_seqno);
	KUNIT_EXPECT_EQ(test, 0, t->late_lost);
}

/*
 * If the device's queue can't be reset after a failure, only the submission that failed is blamed.
 */
static void recovery_blames_the_first(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);

	PAGODA_PROVES(C190);
	t->fake->reset_error = -EIO;
	recovery_blame(t, 1, 1);
}

/*
 * If the device is reset because a submission is lost without which the device must not continue,
 * the submissions behind it are given up, but not blamed.
 */
static void recovery_blames_nobody(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);

	PAGODA_PROVES(C190);
	t->cpu_error = -EFAULT;
	t->lost_is_fatal = true;
	recovery_blame(t, 100, 0);
}

/*
 * pagoda_queue_stop() returns only after the recovery: all fences have signalled, without an error.
 */
static void recovery_stop_in_trouble(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	u32 i;

	/* The watchdog has to expire by itself; the number of resets isn't checked. */
	pagoda_test_queue_timeout(t->queue, 100);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_HANG, 8, 1);
	recovery_push(t, fences, 4);
	pagoda_queue_stop(t->queue);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fences[i]));
	recovery_expect_all(t, fences, 4);
}

/*
 * Eight troubles of random kinds, each up to four times, at submissions and packets that a
 * constant seed chooses: each packet of 48 submissions is executed once.
 */
static void recovery_storm(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[48];
	u32 seed = 20240917, i;

	kunit_info(test, "seed %u\n", seed);
	/* A timeout that comes too early only changes how a submission is executed. */
	pagoda_test_queue_timeout(t->queue, 500);
	for (i = 0; i < PAGODA_FAKE_ORDERS; i++) {
		seed = seed * 1664525 + 1013904223;
		pagoda_fake_transport_order(t->fake, 1 + (seed >> 8) % ARRAY_SIZE(fences),
					    (seed >> 20) % (PAGODA_FAKE_CORRUPT + 1),
					    (seed >> 24) % PAGODA_UNITS * 8,
					    1 + (seed >> 28) % 4);
	}
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), PAGODA_UNITS);
	recovery_expect_all(t, fences, ARRAY_SIZE(fences));
}

/*
 * Runs last, and expects that lockdep is still on: lockdep turns itself off when it reports an
 * allocation or a lock in the wrong place.
 */
static void recovery_lockdep_is_content(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "needs PROVE_LOCKING");
	KUNIT_EXPECT_TRUE(test, debug_locks);
	PAGODA_PROVES(C24);
}

static struct kunit_case recovery_cases[] = {
	KUNIT_CASE(recovery_interrupt_lost),
	KUNIT_CASE(recovery_completion_dropped),
	KUNIT_CASE(recovery_last_completion_dropped),
	KUNIT_CASE(recovery_answer_corrupt),
	KUNIT_CASE_PARAM(recovery_fault_resumes, pagoda_recovery_fault_gen_params),
	KUNIT_CASE(recovery_hang_resumes),
	KUNIT_CASE(recovery_new_work_waits),
	KUNIT_CASE(recovery_new_work_waits_for_watchdog),
	KUNIT_CASE(recovery_new_work_waits_for_begin),
	KUNIT_CASE(recovery_fault_resubmits),
	KUNIT_CASE(recovery_hang_resubmits),
	KUNIT_CASE(recovery_cpu_rescues),
	KUNIT_CASE(recovery_faults_apart),
	KUNIT_CASE(recovery_lost),
	KUNIT_CASE(recovery_all_fail),
	KUNIT_CASE(recovery_device_dies),
	KUNIT_CASE(recovery_late_answers),
	KUNIT_CASE(recovery_device_gone),
	KUNIT_CASE_PARAM(recovery_reset_lies, pagoda_recovery_lie_gen_params),
	KUNIT_CASE(recovery_reset_forgets),
	KUNIT_CASE(recovery_blames_the_first),
	KUNIT_CASE(recovery_blames_nobody),
	KUNIT_CASE(recovery_stop_in_trouble),
	KUNIT_CASE_SLOW(recovery_storm),
	KUNIT_CASE(recovery_lockdep_is_content),
	{}
};

static struct kunit_suite recovery_suite = {
	.name = "pagoda_queue_recovery",
	.test_cases = recovery_cases,
};

kunit_test_suite(recovery_suite);
