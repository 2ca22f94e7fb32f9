// SPDX-License-Identifier: GPL-2.0
/*
 * The paging queue without trouble: order, dependencies, memory of submissions, measured times, the
 * history, execution by the CPU only; the end of a queue, and fences that outlive the queue.
 */
#include <linux/delay.h>
#include <linux/dma-resv.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include "../drivers/pagoda/queue/internal.h"
#include "core/compat.h"
#include "queue/queue.h"
#include "rig/alloc.h"
#include "rig/prove.h"
#include "queue_helpers.h"

/* Submissions are executed and their fences signal one by one, in the order of push. */
static void queue_order(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[32];
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_HELD);
	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), 3);
	for (i = 1; i < ARRAY_SIZE(fences); i++) {
		KUNIT_EXPECT_EQ(test, fences[0]->context, fences[i]->context);
		KUNIT_EXPECT_TRUE(test, dma_fence_is_later(fences[i], fences[i - 1]));
	}
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[i]));
		pagoda_fake_transport_let(t->fake, 1);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(dma_fence_get(fences[i])));
		/* One submission, one fence: no later fence signals with it. */
		if (i + 1 < ARRAY_SIZE(fences))
			KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fences[i + 1]));
		pagoda_queue_test_expect_once(t, i + 1, 3);
		dma_fence_put(fences[i]);
	}
	PAGODA_PROVES(C10);
	KUNIT_EXPECT_EQ(test, 32 * 3, t->executed);
	pagoda_queue_test_expect_clean(t);
}

/* The device executes exactly the packets that were built, and the statistics count their bytes. */
static void queue_lengths(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_queue_stats stats;
	struct dma_fence *fence;
	u32 units;

	for (units = 1; units <= PAGODA_TEST_MAX_UNITS; units++) {
		fence = pagoda_queue_test_push(t, units, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
		pagoda_queue_test_expect_once(t, units, units);
	}
	/* The device got neither more nor fewer packets than were built. */
	KUNIT_EXPECT_EQ(test, 36, t->executed);
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 36 * 8, stats.bytes);
	KUNIT_EXPECT_EQ(test, 8, stats.submissions);
	PAGODA_PROVES(C21);
	pagoda_queue_test_expect_clean(t);
}

/* A submission isn't sent before the fence it depends on has signalled. */
static void queue_dependencies(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *before = pagoda_test_fence(test);
	struct dma_fence *first, *second;

	first = pagoda_queue_test_push(t, 1, before);
	second = pagoda_queue_test_push(t, 1, first);
	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake->submits);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(first));
	dma_fence_signal(before);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(first));
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(second));
	dma_fence_put(before);
	pagoda_queue_test_expect_clean(t);
}

/* A submission that waits for a reservation's fences up to WRITE doesn't wait for those of READ. */
static void queue_dependencies_resv(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *write = pagoda_test_fence(test), *read = pagoda_test_fence(test);
	struct pagoda_submission *submission;
	struct dma_fence *fence;
	struct dma_resv resv;

	dma_resv_init(&resv);
	KUNIT_ASSERT_EQ(test, 0, dma_resv_lock(&resv, NULL));
	KUNIT_ASSERT_EQ(test, 0, dma_resv_reserve_fences(&resv, 2));
	dma_resv_add_fence(&resv, write, DMA_RESV_USAGE_WRITE);
	dma_resv_add_fence(&resv, read, DMA_RESV_USAGE_READ);
	submission = pagoda_queue_get(t->queue, NULL, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, submission);
	KUNIT_EXPECT_EQ(test, 0, pagoda_submission_add_resv(submission, &resv,
							    DMA_RESV_USAGE_WRITE));
	dma_resv_unlock(&resv);
	pagoda_submission_arm(submission);
	fence = dma_fence_get(submission->fence);
	pagoda_submission_push(submission);

	msleep(20);
	KUNIT_EXPECT_EQ(test, 0, t->fake->submits);
	/* The submission doesn't wait for the fence of usage READ. */
	dma_fence_signal(write);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	dma_fence_signal(read);
	dma_fence_put(read);
	dma_fence_put(write);
	dma_resv_fini(&resv);
}

static void queue_owns_its_fences(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *mine = pagoda_queue_test_push(t, 1, NULL);
	struct dma_fence *other = pagoda_test_fence(test);

	KUNIT_EXPECT_TRUE(test, pagoda_queue_owns(t->queue, mine));
	KUNIT_EXPECT_FALSE(test, pagoda_queue_owns(t->queue, other));
	dma_fence_signal(other);
	dma_fence_put(other);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(mine));
}

/* Buffers begin at a page, whatever their size, and share no byte with anything else (C18). */
static void queue_buffers_are_aligned(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_submission *submission;
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < 3 * PAGODA_QUEUE_HISTORY; i++) {
		submission = pagoda_queue_get(t->queue, NULL, i * PAGE_SIZE / 4, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, submission);
		KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(submission->data));
		KUNIT_EXPECT_GE(test, submission->size,
				min_t(u32, i * PAGE_SIZE / 4, t->args.buffer_size));
		PAGODA_PROVES(C18);
		/* The whole buffer may be written although the submission is freed unarmed. */
		memset(submission->data, 0xff, submission->size);
		memset(submission->priv, 0xff, submission->priv_size);
		pagoda_submission_put(submission);
		fence = pagoda_queue_test_push(t, 8, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	}
	pagoda_queue_test_expect_clean(t);
}

/* A submission is one piece of memory, of the smallest size with room: a page for few packets. */
static void queue_sizes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_submission *submission;
	u32 bytes = 0, priv_bytes = 0, pages;

	pagoda_queue_smallest(t->queue, &bytes, &priv_bytes);
	KUNIT_EXPECT_GE(test, bytes, PAGE_SIZE / 4);
	KUNIT_EXPECT_GT(test, priv_bytes, 0);
	for (pages = 1; pages <= 4; pages *= 2) {
		submission = pagoda_queue_get(t->queue, NULL, pages * bytes, priv_bytes);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, submission);
		KUNIT_EXPECT_EQ(test, pages * PAGE_SIZE, pagoda_submission_bytes(submission));
		KUNIT_EXPECT_GE(test, submission->size, pages * bytes);
		KUNIT_EXPECT_GE(test, submission->priv_size, priv_bytes);
		KUNIT_EXPECT_PTR_EQ(test, submission->data + submission->size, submission->priv);
		pagoda_submission_put(submission);
	}
	/* A request for too much, here of private data, gives the largest submission. */
	submission = pagoda_queue_get(t->queue, NULL, 1, U32_MAX);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, submission);
	KUNIT_EXPECT_EQ(test, t->args.buffer_size, submission->size);
	KUNIT_EXPECT_EQ(test, t->args.priv_size, submission->priv_size);
	pagoda_submission_put(submission);
}

/*
 * The memory of freed submissions is used again, without being cleared, but no more of it is kept
 * than PAGODA_QUEUE_POOL bytes.
 */
static void queue_memory_is_pooled(struct kunit *test)
{
	const u32 most = PAGODA_QUEUE_POOL / PAGE_SIZE, count = most + 8;
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_submission **list = test_calloc(test, count, sizeof(*list));
	u32 i, round, used = 0;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < count; i++) {
			list[i] = pagoda_queue_get(t->queue, NULL, 0, 0);
			KUNIT_ASSERT_FALSE(test, IS_ERR(list[i]));
			KUNIT_ASSERT_EQ(test, PAGE_SIZE, pagoda_submission_bytes(list[i]));
			/* New memory is zeroed. */
			used += *(u8 *)list[i]->data;
			*(u8 *)list[i]->data = 1;
		}
		for (i = 0; i < count; i++)
			pagoda_submission_put(list[i]);
	}
	KUNIT_EXPECT_EQ(test, most, used);
}

/* A submission's memory counts as in flight from arm until soon after its fence signals. */
static void queue_busy_bytes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *before = pagoda_test_fence(test);
	struct pagoda_submission *submission;
	struct dma_fence *fences[5];
	u32 i;

	submission = pagoda_queue_get(t->queue, NULL, t->args.buffer_size, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, submission);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_queue_busy_bytes(t->queue));
	pagoda_submission_put(submission);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		fences[i] = pagoda_queue_test_push(t, 1, before);
	KUNIT_EXPECT_EQ(test, (u64)ARRAY_SIZE(fences) * PAGE_SIZE,
			pagoda_queue_busy_bytes(t->queue));
	dma_fence_signal(before);
	dma_fence_put(before);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	for (i = 0; i < 1000 && pagoda_queue_busy_bytes(t->queue); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_queue_busy_bytes(t->queue));
}

/* pagoda_queue_wait_idle() returns -ETIME while a submission waits, and 0 once all are done. */
static void queue_wait_idle_times_out(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *before = pagoda_test_fence(test);

	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_wait_idle(t->queue, 1));
	dma_fence_put(pagoda_queue_test_push(t, 1, before));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_queue_wait_idle(t->queue, 2));
	dma_fence_signal(before);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_wait_idle(t->queue, 60 * HZ));
	KUNIT_EXPECT_EQ(test, 1, t->executed);
	dma_fence_put(before);
}

struct pagoda_recent {
	u32 count;
	u64 last;
	u32 wrong;
};

static void recent_visit(void *arg, const void *data, u32 size, u64 seqno, int error)
{
	struct pagoda_recent *recent = arg;
	const u64 *units = data;

	recent->wrong += size != 16 || error || units[1] != (seqno << 8 | 2) ||
			 (recent->last && seqno != recent->last + 1);
	recent->last = seqno;
	recent->count++;
}

/* The history has the last PAGODA_QUEUE_HISTORY submissions, in order and with their bytes. */
static void queue_history(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_recent recent = {};
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < 20; i++) {
		fence = pagoda_queue_test_push(t, 2, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	}
	/* Submissions enter the history slightly later than their fences signal. */
	for (i = 0; i < 6000 && recent.last != 20; i++) {
		usleep_range(5000, 6000);
		memset(&recent, 0, sizeof(recent));
		pagoda_queue_visit_recent(t->queue, recent_visit, &recent);
	}
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_HISTORY, recent.count);
	KUNIT_EXPECT_EQ(test, 20, recent.last);
	KUNIT_EXPECT_EQ(test, 0, recent.wrong);
}

/* A visit of the history that takes long; @last is the number of the last submission pushed. */
struct pagoda_keep {
	struct pagoda_queue_test *t;
	u64 last;
	u32 count;
	u32 wrong;
};

/*
 * Pushes so many submissions that the history has none of the submissions that are being visited
 * any more, and all free buffers are used again.
 */
static void keep_go_on(struct pagoda_keep *keep)
{
	struct pagoda_recent recent = {};
	struct dma_fence *fence;
	u32 i, turn;

	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < 2 * PAGODA_QUEUE_HISTORY; i++, keep->last++) {
			fence = pagoda_queue_test_push(keep->t, 2, NULL);
			KUNIT_EXPECT_EQ(keep->t->test, 0, pagoda_queue_test_wait(fence));
		}
		for (i = 0; i < 6000 && recent.last != keep->last; i++) {
			usleep_range(100, 200);
			memset(&recent, 0, sizeof(recent));
			pagoda_queue_visit_recent(keep->t->queue, recent_visit, &recent);
		}
	}
	KUNIT_EXPECT_EQ(keep->t->test, keep->last, recent.last);
}

static void keep_visit(void *arg, const void *data, u32 size, u64 seqno, int error)
{
	struct pagoda_keep *keep = arg;
	const u64 *units = data;

	/* The visitor is called with interrupts enabled. */
	KUNIT_EXPECT_FALSE(keep->t->test, irqs_disabled());
	if (!keep->count++ && !irqs_disabled())
		keep_go_on(keep);
	keep->wrong += size != 16 || error || units[1] != (seqno << 8 | 2);
}

/* A visit of the history may take any time: the queue goes on, and the bytes visited stay. */
static void queue_history_is_kept(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct pagoda_keep keep = { .t = t, .last = PAGODA_QUEUE_HISTORY };
	struct pagoda_recent recent = {};
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < PAGODA_QUEUE_HISTORY; i++) {
		fence = pagoda_queue_test_push(t, 2, NULL);
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fence));
	}
	for (i = 0; i < 6000 && recent.count != PAGODA_QUEUE_HISTORY; i++) {
		usleep_range(100, 200);
		memset(&recent, 0, sizeof(recent));
		pagoda_queue_visit_recent(t->queue, recent_visit, &recent);
	}
	KUNIT_ASSERT_EQ(test, PAGODA_QUEUE_HISTORY, recent.count);
	pagoda_queue_visit_recent(t->queue, keep_visit, &keep);
	KUNIT_EXPECT_EQ(test, PAGODA_QUEUE_HISTORY, keep.count);
	KUNIT_EXPECT_EQ(test, 0, keep.wrong);
	pagoda_queue_test_expect_clean(t);
}

/* With use_cpu set the CPU executes all submissions; nothing is sent and nothing is lost. */
static void queue_cpu_only(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, true);
	struct dma_fence *fences[20];
	struct pagoda_queue_stats stats;
	u32 i;

	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), 2);
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
		KUNIT_EXPECT_EQ(test, 1, t->cpu[i + 1][1]);
	}
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, 0, t->fake->submits);
	KUNIT_EXPECT_EQ(test, 0, stats.rescued);
	KUNIT_EXPECT_EQ(test, 0, stats.lost);
	pagoda_queue_test_expect_clean(t);
}

/* A failure of the CPU gives -EIO and is reported to lost(); the next submission is executed. */
static void queue_cpu_only_fails(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, true);

	t->cpu_error = -EFAULT;
	t->cpu_stops_at = 16;
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(pagoda_queue_test_push(t, 4, NULL)));
	KUNIT_EXPECT_EQ(test, 1, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 16, t->lost_offset);
	t->cpu_error = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(pagoda_queue_test_push(t, 4, NULL)));
	pagoda_queue_test_expect_clean(t);
}

/* 10000 submissions, executed within kick() or by a work item: all are sent once, no recovery. */
static void queue_stress(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	const u32 count = 10000;
	struct pagoda_queue_stats stats;
	struct dma_fence *last = NULL;
	u32 i;

	for (i = 0; i < count; i++) {
		if (!(i % 1000))
			pagoda_fake_transport_mode(t->fake, i / 1000 % 2 ?
						   PAGODA_FAKE_DEFERRED : PAGODA_FAKE_IMMEDIATE);
		dma_fence_put(last);
		last = pagoda_queue_test_push(t, i % PAGODA_TEST_MAX_UNITS + 1, NULL);
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(last));
	stats = pagoda_queue_test_stats(t);
	KUNIT_EXPECT_EQ(test, count, stats.submissions);
	KUNIT_EXPECT_EQ(test, count, t->fake->submits);
	KUNIT_EXPECT_EQ(test, count, t->fake->seqno);
	KUNIT_EXPECT_LE(test, stats.doorbells, count + 10);
	KUNIT_EXPECT_EQ(test, 0, stats.resets + stats.polled + stats.replayed + stats.lost);
	pagoda_queue_test_expect_clean(t);
}

/*
 * pagoda_queue_stop() finishes all that was pushed; a later submission isn't executed: its fence
 * signals with -ENODEV.
 */
static void queue_stop_finishes(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[10], *late;
	u32 i;

	pagoda_fake_transport_mode(t->fake, PAGODA_FAKE_DEFERRED);
	pagoda_queue_test_push_many(t, fences, ARRAY_SIZE(fences), 2);
	pagoda_queue_stop(t->queue);
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fences[i]));
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	}
	late = pagoda_queue_test_push(t, 2, NULL);
	KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_queue_test_wait(late));
	KUNIT_EXPECT_EQ(test, 1, t->nr_lost);
	KUNIT_EXPECT_EQ(test, 11, t->lost_seqno);
	KUNIT_EXPECT_EQ(test, -ENODEV, t->lost_error);
	KUNIT_EXPECT_EQ(test, 10, t->fake->submits);
	pagoda_queue_test_expect_clean(t);
}

/*
 * The queue's work items run before others, also when no memory is left for threads; the threads
 * that are kept for this go with the queue.
 */
static void queue_work_is_urgent(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	u32 rescuers = pagoda_test_rescuers();

	pagoda_test_expect_urgent(test, t->queue->submit_wq);
	pagoda_test_expect_urgent(test, t->queue->recover_wq);
	pagoda_queue_destroy(t->queue);
	t->queue = NULL;
	KUNIT_EXPECT_EQ(test, rescuers - 2, pagoda_test_rescuers());
}

/* Fences stay usable after the queue was destroyed. */
static void queue_fence_outlives_queue(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fence = pagoda_queue_test_push(t, 1, NULL);
	const void *sched = pagoda_test_fence_sched(test, fence);

	pagoda_queue_destroy(t->queue);
	t->queue = NULL;
	pagoda_test_expect_kept(test, fence, "paging", sched);
	dma_fence_put(fence);
}

/*
 * Fences of several queues, made one after the other, stay valid. On kernels that read names of
 * signalled fences all these queues use the memory of one scheduler, which is never freed.
 */
static void queue_kept_fences_are_bounded(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *fences[4];
	const void *sched[4];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		fences[i] = pagoda_queue_test_push(t, 1, NULL);
		sched[i] = pagoda_test_fence_sched(test, fences[i]);
		pagoda_queue_destroy(t->queue);
		t->queue = pagoda_queue_create(&t->args);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->queue);
	}
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		if (!PAGODA_FENCE_NAMES_UNTIL_SIGNAL)
			KUNIT_EXPECT_PTR_EQ(test, sched[0], sched[i]);
		pagoda_test_expect_kept(test, fences[i], "paging", sched[i]);
		dma_fence_put(fences[i]);
	}
}

static void queue_create_refuses(struct kunit *test)
{
	struct pagoda_queue_args args = { .timeout_ms = 1, .use_cpu = true };

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_queue_create(&args)));
	args.buffer_size = PAGE_SIZE + 8;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_queue_create(&args)));
	args.buffer_size = VIRTIO_PAGODA_MAX_BUFFER + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_queue_create(&args)));
	args.buffer_size = PAGE_SIZE;
	args.use_cpu = false;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(pagoda_queue_create(&args)));
}

/* All bytes moved are measured; no time counts twice, and waits for dependencies don't count. */
static void queue_measures(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, false);
	struct dma_fence *before = pagoda_test_fence(test);
	struct dma_fence *fences[8], *first;
	u64 begun, units = 1;
	u32 i;

	first = pagoda_queue_test_push(t, 1, before);
	msleep(20);
	begun = ktime_get_ns();
	dma_fence_signal(before);
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(first));
	for (i = 0; i < ARRAY_SIZE(fences); i++, units += i)
		fences[i] = pagoda_queue_test_push(t, i + 1, NULL);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(fences[i]));
	KUNIT_EXPECT_EQ(test, 8 * units, t->measured_bytes);
	KUNIT_EXPECT_LE(test, t->measured_ns, ktime_get_ns() - begun);
	KUNIT_EXPECT_NE(test, 0ull, t->measured_ns);
	dma_fence_put(before);
	pagoda_queue_test_expect_clean(t);
}

/* A submission that failed isn't measured. */
static void queue_measures_no_failure(struct kunit *test)
{
	struct pagoda_queue_test *t = pagoda_queue_test_create(test, true);

	t->cpu_error = -EIO;
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_queue_test_wait(pagoda_queue_test_push(t, 3, NULL)));
	KUNIT_EXPECT_EQ(test, 0ull, t->measured_bytes);
	t->cpu_error = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_queue_test_wait(pagoda_queue_test_push(t, 3, NULL)));
	KUNIT_EXPECT_EQ(test, 24ull, t->measured_bytes);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(queue_order),
	KUNIT_CASE(queue_lengths),
	KUNIT_CASE(queue_dependencies),
	KUNIT_CASE(queue_dependencies_resv),
	KUNIT_CASE(queue_owns_its_fences),
	KUNIT_CASE(queue_buffers_are_aligned),
	KUNIT_CASE(queue_sizes),
	KUNIT_CASE(queue_memory_is_pooled),
	KUNIT_CASE(queue_busy_bytes),
	KUNIT_CASE(queue_wait_idle_times_out),
	KUNIT_CASE(queue_measures),
	KUNIT_CASE(queue_measures_no_failure),
	KUNIT_CASE(queue_history),
	KUNIT_CASE(queue_history_is_kept),
	KUNIT_CASE(queue_cpu_only),
	KUNIT_CASE(queue_cpu_only_fails),
	KUNIT_CASE_SLOW(queue_stress),
	KUNIT_CASE(queue_stop_finishes),
	KUNIT_CASE(queue_work_is_urgent),
	KUNIT_CASE(queue_fence_outlives_queue),
	KUNIT_CASE(queue_kept_fences_are_bounded),
	KUNIT_CASE(queue_create_refuses),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "pagoda_queue",
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
