// SPDX-License-Identifier: GPL-2.0
/*
 * Lines of a paging queue: order within a line and between lines, numbers of submissions, recovery,
 * lines that were put, waits for lines, and submissions that are given up after a reset.
 */
#include <linux/delay.h>
#include "queue/internal.h"
#include "queue_helpers.h"

#define LINES	3u
#define EACH	4u	/* submissions of a line */
#define UNITS	4u

static struct pagoda_line *line_make(struct pagoda_queue_test *t)
{
	struct pagoda_line *line = pagoda_line_create(t->queue);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, line);
	return line;
}

static void line_expect_waits(struct pagoda_queue_test *t, struct dma_fence *fence)
{
	KUNIT_EXPECT_EQ(t->test, 0l, dma_fence_wait_timeout(fence, false, HZ / 20));
}

/* A submission that waits for a fence holds up only its line, and gets its number when sent. */
static void line_passes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *fences[3];
	struct pagoda_line *line = line_make(t);

	fences[0] = pagoda_queue_test_push(t, 1, gate);
	fences[1] = pagoda_queue_test_push(t, 2, NULL);
	fences[2] = pagoda_queue_test_push_in(t, line, 3, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[2]));
	pagoda_queue_test_expect_once(t, 1, 3);
	line_expect_waits(t, fences[1]);
	dma_fence_signal(gate);
	dma_fence_put(gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[0]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[1]));
	pagoda_queue_test_expect_once(t, 2, 1);
	pagoda_queue_test_expect_once(t, 3, 2);
	pagoda_queue_test_expect_clean(t);
	pagoda_line_put(line);
}

/*
 * A submission that depends on a submission in another line waits until the latter is sent, and not
 * until the latter is executed.
 */
static void line_depends(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *first, *second;
	struct pagoda_line *line = line_make(t);
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	first = pagoda_queue_test_push(t, 1, gate);
	second = pagoda_queue_test_push_in(t, line, 1, first);
	KUNIT_EXPECT_FALSE(test, pagoda_queue_is_sent(first));
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake->submits);
	dma_fence_signal(gate);
	dma_fence_put(gate);
	for (i = 0; i < 1000 && READ_ONCE(t->fake->submits) < 2; i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_EQ(test, 2, t->fake->submits);
	KUNIT_EXPECT_TRUE(test, pagoda_queue_is_sent(first));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(first));
	KUNIT_EXPECT_TRUE(test, pagoda_queue_owns(t->queue, second));
	KUNIT_EXPECT_TRUE(test, pagoda_line_owns(line, second));
	KUNIT_EXPECT_FALSE(test, pagoda_line_owns(line, first));
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(first));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(second));
	pagoda_line_put(line);
}

/*
 * After faults the device gets the submissions in flight of all lines again, in the order in which
 * they were sent: each packet is executed once.
 */
static void line_recovers(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[LINES * EACH];
	struct pagoda_line *lines[LINES];
	u32 i;

	for (i = 0; i < LINES; i++)
		lines[i] = line_make(t);
	pagoda_fake_transport_order(t->fake, 2, PAGODA_FAKE_FAULT, 8, 1);
	pagoda_fake_transport_order(t->fake, 7, PAGODA_FAKE_FAULT, 16, 1);
	for (i = 0; i < LINES * EACH; i++)
		fences[i] = pagoda_queue_test_push_in(t, lines[i % LINES], UNITS, NULL);
	for (i = 0; i < LINES * EACH; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	for (i = 1; i <= LINES * EACH; i++)
		pagoda_queue_test_expect_once(t, i, UNITS);
	pagoda_queue_test_expect_clean(t);
	KUNIT_EXPECT_GT(test, pagoda_queue_test_stats(t).resets, 0ull);
	KUNIT_EXPECT_EQ(test, 0u, t->nr_lost);
	for (i = 0; i < LINES; i++)
		pagoda_line_put(lines[i]);
}

/* Submissions of a line are still executed after the line was put. */
static void line_put_drains(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *fences[EACH];
	struct pagoda_line *line = line_make(t);
	u32 i;

	for (i = 0; i < EACH; i++)
		fences[i] = pagoda_queue_test_push_in(t, line, 1, i ? NULL : gate);
	pagoda_line_put(line);
	line_expect_waits(t, fences[0]);
	dma_fence_signal(gate);
	dma_fence_put(gate);
	for (i = 0; i < EACH; i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	for (i = 1; i <= EACH; i++)
		pagoda_queue_test_expect_once(t, i, 1);
	KUNIT_EXPECT_EQ(test, 0, t->nr_lost);
}

/*
 * pagoda_queue_wait_idle() waits for all lines; pagoda_line_armed_jobs() counts the submissions of
 * a line that aren't finished.
 */
static void line_is_waited_for(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *fence;
	struct pagoda_line *line = line_make(t);

	fence = pagoda_queue_test_push_in(t, line, 1, gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(pagoda_queue_test_push(t, 1, NULL)));
	KUNIT_EXPECT_EQ(test, 1u, pagoda_line_armed_jobs(line));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_queue_wait_idle(t->queue, HZ / 20));
	dma_fence_signal(gate);
	dma_fence_put(gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_wait_idle(t->queue, 60 * HZ));
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fence));
	KUNIT_EXPECT_EQ(test, 0, pagoda_line_await(line, 1));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_line_armed_jobs(line));
	dma_fence_put(fence);
	pagoda_line_put(line);
}

/*
 * A submission that was armed before a reset of the whole device is given up, even if the scheduler
 * hands it over only when submissions that were armed after the restart are executed already.
 */
static void line_gives_up(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *gate = pagoda_test_fence(test), *old, *fresh, *behind;
	struct pagoda_line *line = line_make(t);

	t->adapter_error = 0;
	old = pagoda_queue_test_push_in(t, line, 1, gate);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_reset_adapter(t->queue, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_queue_is_closed(t->queue));
	KUNIT_EXPECT_TRUE(test, pagoda_queue_restart(t->queue));
	fresh = pagoda_queue_test_push(t, 1, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fresh));
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	fresh = pagoda_queue_test_push(t, 1, NULL);
	msleep(20);
	/*
	 * Now the scheduler hands @old, which was armed before the reset, over to the queue, behind
	 * a submission that the device has and before another. The queue gives @old up.
	 */
	dma_fence_signal(gate);
	dma_fence_put(gate);
	msleep(20);
	behind = pagoda_queue_test_push(t, 1, NULL);
	msleep(20);
	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fresh));
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(old));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(behind));
	KUNIT_EXPECT_EQ(test, 1, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 0, t->fake->violations);
	pagoda_line_put(line);
}

static struct kunit_case line_cases[] = {
	KUNIT_CASE(line_passes),
	KUNIT_CASE(line_depends),
	KUNIT_CASE(line_recovers),
	KUNIT_CASE(line_put_drains),
	KUNIT_CASE(line_is_waited_for),
	KUNIT_CASE(line_gives_up),
	{}
};

static struct kunit_suite line_suite = {
	.name = "pagoda_queue_line",
	.test_cases = line_cases,
};

kunit_test_suite(line_suite);
