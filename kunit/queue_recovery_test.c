// SPDX-License-Identifier: GPL-2.0
/*
 * The paging timeline when the device refuses, loses, forgets or dies. In every
 * case each packet is executed exactly once and in order, whoever executes it.
 */
#include <linux/debug_locks.h>
#include <linux/delay.h>

#include "prove.h"
#include "queue_helpers.h"

#define PAGODA_UNITS	4

/* Has the device take @count submissions while it holds still, then lets it go. */
static void pagoda_recovery_push(struct pagoda_queue_test *t, struct dma_fence **fences,
				 u32 count)
{
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	pagoda_queue_test_push_many(t, fences, count, PAGODA_UNITS);
	for (i = 0; i < 300000 && READ_ONCE(t->fake->nr_ring) != count; i++)
		usleep_range(100, 200);
	KUNIT_ASSERT_EQ(t->test, count, t->fake->nr_ring);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
}

/* All are through without an error, each packet once. */
static void pagoda_recovery_expect_all(struct pagoda_queue_test *t, struct dma_fence **fences,
				       u32 count)
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

static void pagoda_recovery_interrupt_lost(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_SILENT, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(dma_fence_get(fences[0])));
	pagoda_fake_transport_wait_silent(t->fake);
	/* The device answered 3 and 4, but their fences wait for their turn. */
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[1]));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[3]));
	pagoda_queue_test_expire(t);
	pagoda_recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.polled);
	KUNIT_EXPECT_EQ(test, 0, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, t->fake->resets);
}

/* What the device did and forgot to tell isn't done again. */
static void pagoda_recovery_drop(struct kunit *test, u32 which)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, which, PAGODA_FAKE_DROP, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	pagoda_recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.replayed);
}

static void pagoda_recovery_completion_dropped(struct kunit *test)
{
	pagoda_recovery_drop(test, 2);
}

static void pagoda_recovery_last_completion_dropped(struct kunit *test)
{
	pagoda_recovery_drop(test, 4);
}

static void pagoda_recovery_answer_corrupt(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 3, PAGODA_FAKE_CORRUPT, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
}

struct pagoda_recovery_fault {
	u32 offset;
	u32 times;
};

static const struct pagoda_recovery_fault pagoda_recovery_faults[] = {
	{ 0, 1 }, { 8, 1 }, { 16, 1 }, { 24, 1 },
	{ 0, 2 }, { 8, 2 }, { 16, 2 }, { 24, 2 },
};

static void pagoda_recovery_fault_name(const struct pagoda_recovery_fault *fault, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "offset %u, %u times", fault->offset, fault->times);
}

KUNIT_ARRAY_PARAM(pagoda_recovery_fault, pagoda_recovery_faults, pagoda_recovery_fault_name);

/* A packet of the second of four submissions fails, as often as is forgiven. */
static void pagoda_recovery_fault_resumes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	const struct pagoda_recovery_fault *fault = test->param_value;
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, fault->offset, fault->times);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, fault->times, stats.resets);
	/* The one that failed and the two behind it, each time. */
	KUNIT_EXPECT_EQ(test, 3 * fault->times, stats.replayed);
	KUNIT_EXPECT_EQ(test, 0, stats.rescued + stats.lost);
	/* The bytes were the same each time: nobody patched them. */
	PAGODA_PROVES(C22);
}

static void pagoda_recovery_hang_resumes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[3];

	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_HANG, 16, 1);
	pagoda_recovery_push(t, fences, 3);
	pagoda_queue_test_expire(t);
	pagoda_recovery_expect_all(t, fences, 3);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 0, stats.polled);
}

/* Until the device is being reset, because it said that it failed or is found out. */
static void pagoda_recovery_wait_reset(struct pagoda_queue_test *t,
				       enum pagoda_fake_trouble trouble)
{
	u32 i;

	if (trouble == PAGODA_FAKE_HANG)
		pagoda_queue_test_expire(t);
	for (i = 0; i < 60000 && !READ_ONCE(t->fake->resetting); i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_TRUE(t->test, t->fake->resetting);
}

/* Whether the device said that it failed or was found out: nothing is sent meanwhile. */
static void pagoda_recovery_hold(struct kunit *test, enum pagoda_fake_trouble trouble)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[8];
	u32 submits;

	t->fake->reset_held = true;
	pagoda_fake_transport_order(t->fake, 1, trouble, 8, 1);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, 2, PAGODA_UNITS);
	pagoda_recovery_wait_reset(t, trouble);
	submits = t->fake->submits;
	pagoda_queue_test_push_many(t, &fences[2], 6, PAGODA_UNITS);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, t->fake->resetting);
	KUNIT_EXPECT_EQ(test, submits, t->fake->submits);
	WRITE_ONCE(t->fake->reset_held, false);
	pagoda_recovery_expect_all(t, fences, 8);
}

static void pagoda_recovery_new_work_waits(struct kunit *test)
{
	pagoda_recovery_hold(test, PAGODA_FAKE_FAULT);
	/* The fake counts submit, poll and reset that overlap as violations. */
	PAGODA_PROVES(C23);
}

static void pagoda_recovery_new_work_waits_for_watchdog(struct kunit *test)
{
	pagoda_recovery_hold(test, PAGODA_FAKE_HANG);
	PAGODA_PROVES(C23);
}

/* What the device had comes first again, as it was: numbers, order and bytes (C186). */
static void pagoda_recovery_resubmit(struct kunit *test, enum pagoda_fake_trouble trouble)
{
	static const u64 want[] = { 1, 2, 3, 4, 2, 3, 4, 5, 6, 7 };
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[7];
	u32 i;

	t->fake->reset_held = true;
	pagoda_fake_transport_order(t->fake, 2, trouble, 16, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_wait_reset(t, trouble);
	pagoda_queue_test_push_many(t, &fences[4], 3, PAGODA_UNITS);
	WRITE_ONCE(t->fake->reset_held, false);
	pagoda_recovery_expect_all(t, fences, 7);
	KUNIT_ASSERT_EQ(test, ARRAY_SIZE(want), t->fake->submits);
	for (i = 0; i < ARRAY_SIZE(want); i++)
		KUNIT_EXPECT_EQ(test, want[i], t->fake->log[i].seqno);
	/* From the packet that wasn't executed, and from the start. */
	for (i = 4; i < 7; i++) {
		KUNIT_EXPECT_PTR_EQ(test, t->fake->log[i - 3].data, t->fake->log[i].data);
		KUNIT_EXPECT_EQ(test, i == 4 ? 16 : 0, t->fake->log[i].start);
	}
}

static void pagoda_recovery_fault_resubmits(struct kunit *test)
{
	pagoda_recovery_resubmit(test, PAGODA_FAKE_FAULT);
	PAGODA_PROVES(C186);
}

static void pagoda_recovery_hang_resubmits(struct kunit *test)
{
	pagoda_recovery_resubmit(test, PAGODA_FAKE_HANG);
	PAGODA_PROVES(C186);
}

static void pagoda_recovery_cpu_rescues(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];

	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 16, 100);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 1, stats.rescued);
	KUNIT_EXPECT_EQ(test, 0, stats.lost);
	/* What the device did before, it did; the CPU did the rest. */
	KUNIT_EXPECT_EQ(test, 1, t->device[2][1]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][2]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][3]);
	KUNIT_EXPECT_EQ(test, 1, t->device[3][0]);
}

static void pagoda_recovery_lost(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[4];
	u32 i;

	t->cpu_error = -EFAULT;
	t->cpu_stops_at = 24;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 16, 100);
	pagoda_recovery_push(t, fences, 4);
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

/* Every submission fails at every packet: the CPU does it all, in order. */
static void pagoda_recovery_all_fail(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	u32 i;

	for (i = 0; i < 4; i++)
		pagoda_fake_transport_order(t->fake, i + 1, PAGODA_FAKE_FAULT, 0, 100);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 4, pagoda_queue_test_stats(t).rescued);
}

/* The device doesn't answer the reset and keeps what it has. */
static void pagoda_recovery_device_dies(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fences[6];

	t->fake->reset_error = -ETIMEDOUT;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_HANG, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	pagoda_recovery_expect_all(t, fences, 4);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 3, stats.rescued);
	KUNIT_EXPECT_EQ(test, 1, stats.resets);
	KUNIT_EXPECT_EQ(test, 3, t->fake->nr_ring);

	/* Later work never goes near it. */
	pagoda_queue_test_push_many(t, &fences[4], 2, PAGODA_UNITS);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[4]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[5]));
	KUNIT_EXPECT_EQ(test, 4, t->fake->submits);
	KUNIT_EXPECT_EQ(test, 1, pagoda_queue_test_stats(t).resets);
	pagoda_queue_test_expect_clean(t);

	/* What it kept comes back when the queue is long gone. */
	pagoda_queue_destroy(t->queue);
	t->queue = NULL;
	KUNIT_EXPECT_EQ(test, 3, t->fake->nr_ring);
	pagoda_fake_transport_drain(t->fake);
	KUNIT_EXPECT_EQ(test, 0, t->fake->nr_ring);
}

/* The same, and the device comes to life again while the queue still exists. */
static void pagoda_recovery_late_answers(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4], *late;
	u64 executed;

	t->fake->reset_error = -EIO;
	pagoda_fake_transport_order(t->fake, 1, PAGODA_FAKE_HANG, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_queue_test_expire(t);
	pagoda_recovery_expect_all(t, fences, 4);
	executed = t->executed;
	pagoda_fake_transport_drain(t->fake);
	late = pagoda_queue_test_push(t, PAGODA_UNITS, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(late));
	KUNIT_EXPECT_EQ(test, executed + PAGODA_UNITS, t->executed);
	pagoda_queue_test_expect_clean(t);
}

static void pagoda_recovery_device_gone(struct kunit *test)
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

static const struct pagoda_reset_result pagoda_recovery_lies[] = {
	{ .seqno = 5, .offset = 0 },		/* never submitted */
	{ .seqno = 0, .offset = 0 },		/* 1 was acknowledged */
	{ .seqno = 1, .offset = 40 },		/* past the end of the second */
	{ .seqno = 1, .offset = 4 },		/* in the middle of a packet */
	{ .seqno = 4, .offset = 8 },		/* in a request that isn't there */
	{ .seqno = U64_MAX, .offset = U32_MAX },
};

static void pagoda_recovery_lie_name(const struct pagoda_reset_result *lie, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "seqno %llu offset %u", lie->seqno, lie->offset);
}

KUNIT_ARRAY_PARAM(pagoda_recovery_lie, pagoda_recovery_lies, pagoda_recovery_lie_name);

/* An impossible answer to a reset is none: the CPU takes over. */
static void pagoda_recovery_reset_lies(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];

	t->fake->reset_lies = true;
	t->fake->lie = *(const struct pagoda_reset_result *)test->param_value;
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 0, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_recovery_expect_all(t, fences, 4);
	KUNIT_EXPECT_EQ(test, 3, pagoda_queue_test_stats(t).rescued);
	KUNIT_EXPECT_EQ(test, 1, t->device[1][0]);
	KUNIT_EXPECT_EQ(test, 1, t->cpu[2][0]);
}

static void pagoda_recovery_stop_in_trouble(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	u32 i;

	/* The watchdog has to come by itself; nobody counts how often. */
	pagoda_test_queue_timeout(t->queue, 100);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_HANG, 8, 1);
	pagoda_recovery_push(t, fences, 4);
	pagoda_queue_stop(t->queue);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fences[i]));
	pagoda_recovery_expect_all(t, fences, 4);
}

/* All the troubles at once, many times; the seed decides who gets which. */
static void pagoda_recovery_storm(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[48];
	u32 seed = 20240917, i;

	kunit_info(test, "seed %u\n", seed);
	/* Whom it hits by mistake is only executed in another way. */
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
	pagoda_recovery_expect_all(t, fences, ARRAY_SIZE(fences));
}

/* Last: an allocation or a lock in the wrong place has turned lockdep off by now. */
static void pagoda_recovery_lockdep_is_content(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "needs PROVE_LOCKING");
	KUNIT_EXPECT_TRUE(test, debug_locks);
	PAGODA_PROVES(C24);
}

static struct kunit_case pagoda_recovery_cases[] = {
	KUNIT_CASE(pagoda_recovery_interrupt_lost),
	KUNIT_CASE(pagoda_recovery_completion_dropped),
	KUNIT_CASE(pagoda_recovery_last_completion_dropped),
	KUNIT_CASE(pagoda_recovery_answer_corrupt),
	KUNIT_CASE_PARAM(pagoda_recovery_fault_resumes, pagoda_recovery_fault_gen_params),
	KUNIT_CASE(pagoda_recovery_hang_resumes),
	KUNIT_CASE(pagoda_recovery_new_work_waits),
	KUNIT_CASE(pagoda_recovery_new_work_waits_for_watchdog),
	KUNIT_CASE(pagoda_recovery_fault_resubmits),
	KUNIT_CASE(pagoda_recovery_hang_resubmits),
	KUNIT_CASE(pagoda_recovery_cpu_rescues),
	KUNIT_CASE(pagoda_recovery_lost),
	KUNIT_CASE(pagoda_recovery_all_fail),
	KUNIT_CASE(pagoda_recovery_device_dies),
	KUNIT_CASE(pagoda_recovery_late_answers),
	KUNIT_CASE(pagoda_recovery_device_gone),
	KUNIT_CASE_PARAM(pagoda_recovery_reset_lies, pagoda_recovery_lie_gen_params),
	KUNIT_CASE(pagoda_recovery_stop_in_trouble),
	KUNIT_CASE_SLOW(pagoda_recovery_storm),
	KUNIT_CASE(pagoda_recovery_lockdep_is_content),
	{}
};

static struct kunit_suite pagoda_recovery_suite = {
	.name = "pagoda_queue_recovery",
	.test_cases = pagoda_recovery_cases,
};

kunit_test_suite(pagoda_recovery_suite);
