// SPDX-License-Identifier: GPL-2.0
#include <kunit/device.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "../drivers/pagoda/queue/internal.h"
#include "core/compat.h"
#include "queue/queue.h"
#include "queue_helpers.h"

/* Returns the value of packet @unit of submission @seqno. */
static u64 queue_helpers_test_unit(u64 seqno, u32 unit)
{
	return seqno << 8 | (unit + 1);
}

static void queue_helpers_test_execute_unit(struct pagoda_queue_test *t, u64 seqno, u32 unit,
					    const u64 *data, bool cpu)
{
	u64 number = queue_helpers_test_unit(seqno, unit);

	t->wrong_bytes += data[unit] != number;
	t->disorder += number <= t->last_unit;
	t->last_unit = number;
	t->executed++;
	if (seqno >= PAGODA_TEST_MAX_SEQNO || unit >= PAGODA_TEST_MAX_UNITS)
		return;
	if (cpu)
		t->cpu[seqno][unit]++;
	else
		t->device[seqno][unit]++;
}

static int queue_helpers_test_device_execute(void *arg, u64 seqno, const void *data, u32 start,
					     u32 end, struct pagoda_fault *fault)
{
	u32 unit;

	for (unit = start / 8; unit < end / 8; unit++)
		queue_helpers_test_execute_unit(arg, seqno, unit, data, false);
	return 0;
}

static int queue_helpers_test_cpu_execute(void *owner, struct pagoda_submission *submission,
					  u32 start, u32 *stopped_at)
{
	struct pagoda_queue_test *t = owner;
	u32 end = t->cpu_error ? max(start, t->cpu_stops_at) : submission->built;
	u32 unit;

	for (unit = start / 8; unit < end / 8; unit++)
		queue_helpers_test_execute_unit(t, submission->seqno, unit,
						(const u64 *)submission->data, true);
	*stopped_at = end;
	return t->cpu_error;
}

static bool queue_helpers_test_lost(void *owner, struct pagoda_submission *submission, u32 offset,
				    int error)
{
	struct pagoda_queue_test *t = owner;

	t->nr_lost++;
	t->lost_seqno = submission->seqno;
	t->lost_offset = offset;
	t->lost_error = error;
	t->late_lost += dma_fence_is_signaled(submission->fence);
	if (submission->to_blame) {
		t->nr_blamed++;
		t->blamed_seqno = submission->seqno;
	}
	return t->lost_is_fatal;
}

static void queue_helpers_test_measured(void *owner, u64 bytes, u64 ns)
{
	struct pagoda_queue_test *t = owner;

	t->measured_bytes += bytes;
	t->measured_ns += ns;
}

static int queue_helpers_test_reset_adapter(void *owner, u32 asked, bool broken)
{
	struct pagoda_queue_test *t = owner;

	if (t->adapter_error)
		return t->adapter_error;
	t->adapter_resets++;
	if (t->adapter_hook)
		t->adapter_hook(t);
	return 0;
}

static void queue_helpers_test_numbered(void *owner, struct pagoda_submission *submission)
{
	u32 unit;

	for (unit = 0; unit < submission->built / 8; unit++)
		((u64 *)submission->data)[unit] = queue_helpers_test_unit(submission->seqno, unit);
}

static const struct pagoda_queue_ops queue_helpers_test_queue_ops = {
	.numbered = queue_helpers_test_numbered,
	.execute = queue_helpers_test_cpu_execute,
	.lost = queue_helpers_test_lost,
	.measured = queue_helpers_test_measured,
	.reset_adapter = queue_helpers_test_reset_adapter,
};

static void queue_helpers_test_queue_destroy(void *data)
{
	struct pagoda_queue_test *t = data;

	pagoda_queue_destroy(t->queue);
	t->queue = NULL;
}

struct pagoda_queue_test *pagoda_queue_test_create(struct kunit *test, bool use_cpu)
{
	struct pagoda_queue_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	const struct pagoda_queue_args args = {
		.ops = &queue_helpers_test_queue_ops,
		.owner = t,
		.buffer_size = 4 * PAGE_SIZE,
		.priv_size = 256,
		.timeout_ms = PAGODA_TEST_TIMEOUT_MS,
		.use_cpu = use_cpu,
	};

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->test = test;
	t->adapter_error = -EOPNOTSUPP;
	t->args = args;
	t->args.dev = kunit_device_register(test, "pagoda-test");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->args.dev);
	t->fake = pagoda_fake_transport_create(test, queue_helpers_test_device_execute, t);
	t->args.transport = &t->fake->base;
	t->queue = pagoda_queue_create(&t->args);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->queue);
	/* The queue's action is added last and so runs first: the transport outlives the queue. */
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, queue_helpers_test_queue_destroy, t));
	test->priv = t;
	return t;
}

struct dma_fence *pagoda_queue_test_push(struct pagoda_queue_test *t, u32 units,
					 struct dma_fence *after)
{
	return pagoda_queue_test_push_in(t, NULL, units, after);
}

struct dma_fence *pagoda_queue_test_push_in(struct pagoda_queue_test *t, struct pagoda_line *line,
					    u32 units, struct dma_fence *after)
{
	struct pagoda_submission *submission = pagoda_queue_get(t->queue, line, units * 8, 0);
	struct dma_fence *fence;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, submission);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_submission_add_fence(submission, after));
	pagoda_submission_arm(submission);
	submission->built = units * 8;
	submission->operations = units;
	submission->moved = units * 8;
	fence = dma_fence_get(submission->fence);
	pagoda_submission_push(submission);
	return fence;
}

void pagoda_queue_test_push_many(struct pagoda_queue_test *t, struct dma_fence **fences,
				 u32 count, u32 units)
{
	u32 i;

	for (i = 0; i < count; i++)
		fences[i] = pagoda_queue_test_push(t, units, NULL);
}

int pagoda_queue_test_wait(struct dma_fence *fence)
{
	long left = dma_fence_wait_timeout(fence, false, 60 * HZ);
	int ret = left > 0 ? fence->error : -ETIME;

	dma_fence_put(fence);
	return ret;
}

void pagoda_queue_test_expire(struct pagoda_queue_test *t)
{
	struct pagoda_queue *queue = t->queue;

	pagoda_fake_transport_wait_silent(t->fake);
	spin_lock_irq(&queue->flight.lock);
	queue->flight.progress = jiffies - msecs_to_jiffies(queue->flight.timeout_ms);
	spin_unlock_irq(&queue->flight.lock);
	/* The watchdog must have been armed. */
	KUNIT_EXPECT_TRUE(t->test, mod_delayed_work(queue->recover_wq, &queue->flight.watchdog, 0));
}

static void test_block(struct work_struct *work)
{
	struct pagoda_queue_test *t = container_of(work, struct pagoda_queue_test, blocker);

	wait_for_completion(&t->let);
}

void pagoda_queue_test_block(struct pagoda_queue_test *t)
{
	init_completion(&t->let);
	INIT_WORK(&t->blocker, test_block);
	queue_work(t->queue->recover_wq, &t->blocker);
}

void pagoda_queue_test_let(struct pagoda_queue_test *t)
{
	complete(&t->let);
	flush_work(&t->blocker);
}

void pagoda_queue_test_wait_need(struct pagoda_queue_test *t)
{
	u32 i;

	for (i = 0; i < 60000 && !READ_ONCE(t->queue->flight.need_reset); i++)
		usleep_range(500, 1000);
	KUNIT_EXPECT_TRUE(t->test, READ_ONCE(t->queue->flight.need_reset));
}

void pagoda_test_queue_timeout(struct pagoda_queue *queue, u32 timeout_ms)
{
	queue->flight.timeout_ms = timeout_ms;
	/* The watchdog may still be armed with the previous timeout: have it run now. */
	mod_delayed_work(queue->recover_wq, &queue->flight.watchdog, 0);
	flush_delayed_work(&queue->flight.watchdog);
}

/*
 * Waits until the callbacks of a signalled fence have run: removing a callback, even one that was
 * never added, takes the lock under which callbacks run.
 */
static void queue_helpers_test_callbacks(struct dma_fence *fence)
{
	struct dma_fence_cb nobody = {};

	INIT_LIST_HEAD(&nobody.node);
	dma_fence_remove_callback(fence, &nobody);
}

int pagoda_test_queue_settle(struct pagoda_queue *queue)
{
	struct dma_fence *last[32];
	struct pagoda_line *line;
	u32 i, count = 0;
	int ret;

	spin_lock_irq(&queue->flight.lock);
	list_for_each_entry(line, &queue->lines, node)
		/* A line without references is about to be destroyed, with its last fence. */
		if (line->refs && line->last && count < ARRAY_SIZE(last))
			last[count++] = dma_fence_get(line->last);
	spin_unlock_irq(&queue->flight.lock);
	ret = pagoda_queue_wait_idle(queue, 60 * HZ);
	for (i = 0; i < count; i++) {
		queue_helpers_test_callbacks(last[i]);
		dma_fence_put(last[i]);
	}
	return ret;
}

struct pagoda_queue_stats pagoda_queue_test_stats(struct pagoda_queue_test *t)
{
	struct pagoda_queue_stats stats;

	pagoda_queue_stats(t->queue, &stats);
	return stats;
}

void pagoda_queue_test_expect_once(struct pagoda_queue_test *t, u64 seqno, u32 units)
{
	u32 unit;

	for (unit = 0; unit < units; unit++)
		KUNIT_EXPECT_EQ_MSG(t->test, 1, t->device[seqno][unit] + t->cpu[seqno][unit],
				    "request %llu packet %u", seqno, unit);
}

void pagoda_queue_test_expect_clean(struct pagoda_queue_test *t)
{
	KUNIT_EXPECT_EQ(t->test, 0, t->disorder);
	KUNIT_EXPECT_EQ(t->test, 0, t->wrong_bytes);
	KUNIT_EXPECT_EQ(t->test, 0, t->late_lost);
	KUNIT_EXPECT_EQ(t->test, 0, t->fake->violations);
}

const void *pagoda_test_fence_sched(struct kunit *test, struct dma_fence *fence)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);

	KUNIT_ASSERT_NOT_NULL(test, s_fence);
	return s_fence->sched;
}

/* Returns the text with a fence's names that /sys/kernel/debug/dma_buf/bufinfo shows. */
static const char *test_fence_text(struct kunit *test, struct dma_fence *fence)
{
	struct seq_file seq = { .size = 256 };

	seq.buf = kunit_kzalloc(test, seq.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, seq.buf);
	dma_fence_describe(fence, &seq);
	return seq.buf;
}

static void expect_names(struct kunit *test, struct dma_fence *fence, const char *name)
{
	const char *text = test_fence_text(test, fence);

	if (!PAGODA_FENCE_NAMES_UNTIL_SIGNAL) {
		KUNIT_EXPECT_NOT_NULL(test, strstr(text, "drm_sched"));
		KUNIT_EXPECT_NOT_NULL(test, strstr(text, name));
	}
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " signalled"));
}

void pagoda_test_expect_name(struct kunit *test, struct dma_fence *fence, const char *driver,
			     const char *timeline)
{
	const char *text = test_fence_text(test, fence);
	struct dma_fence *stub = dma_fence_get_stub();

	if (fence->ops != stub->ops) {
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, driver), "%s", text);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, timeline), "%s", text);
	}
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, " unsignalled"));
	dma_fence_put(stub);
}

void pagoda_test_expect_kept(struct kunit *test, struct dma_fence *fence, const char *name,
			     const void *sched)
{
	struct drm_sched_fence *s_fence = to_drm_sched_fence(fence);
	struct dma_fence *stub = dma_fence_get_stub();

	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fence));
	KUNIT_EXPECT_PTR_EQ(test, sched, pagoda_test_fence_sched(test, fence));
	KUNIT_ASSERT_NOT_NULL(test, s_fence->parent);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(s_fence->parent));
	/* The parent has the operations of the kernel's stub fence, or none, as the stub fence. */
	KUNIT_EXPECT_TRUE(test, stub->ops == s_fence->parent->ops);
	dma_fence_set_deadline(fence, ktime_get());
	expect_names(test, fence, name);
	dma_fence_put(stub);
}

u32 pagoda_test_rescuers(void)
{
	struct task_struct *task;
	u32 count = 0;

	rcu_read_lock();
	for_each_process(task)
		/*
		 * The kernel cuts the names of threads: all of the driver's begin like this. A
		 * thread that has ended is in the list for a moment longer.
		 */
		count += str_has_prefix(task->comm, "kworker/R-pagod") &&
			 !(READ_ONCE(task->flags) & PF_EXITING);
	rcu_read_unlock();
	return count;
}

/* A work item that notes the priority of the thread that executes it. */
struct test_nice {
	struct work_struct work;
	int nice;
};

static void test_nice_run(struct work_struct *work)
{
	container_of(work, struct test_nice, work)->nice = task_nice(current);
}

void pagoda_test_expect_urgent(struct kunit *test, struct workqueue_struct *wq)
{
	struct test_nice nice = {};

	INIT_WORK_ONSTACK(&nice.work, test_nice_run);
	queue_work(wq, &nice.work);
	flush_work(&nice.work);
	destroy_work_on_stack(&nice.work);
	KUNIT_EXPECT_EQ(test, MIN_NICE, nice.nice);
}

struct pagoda_test_fence {
	struct dma_fence base;
	spinlock_t lock;	/* the fence's lock */
};

static const char *queue_helpers_test_fence_name(struct dma_fence *fence)
{
	return "pagoda-test";
}

static const struct dma_fence_ops queue_helpers_test_fence_ops = {
	.get_driver_name = queue_helpers_test_fence_name,
	.get_timeline_name = queue_helpers_test_fence_name,
};

bool pagoda_is_test_fence(const struct dma_fence *fence)
{
	return (__force const void *)fence->ops == &queue_helpers_test_fence_ops;
}

struct dma_fence *pagoda_test_fence(struct kunit *test)
{
	struct pagoda_test_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fence);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &queue_helpers_test_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	return &fence->base;
}
