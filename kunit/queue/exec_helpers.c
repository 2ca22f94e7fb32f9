// SPDX-License-Identifier: GPL-2.0
#include <kunit/device.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include "../drivers/pagoda/queue/exec_internal.h"
#include "queue/exec.h"
#include "vidmm/submit/context.h"
#include "exec_helpers.h"
#include "queue_helpers.h"

/* Returns the address of context @i's save area. */
static u64 exec_test_image_of(u32 i)
{
	return (i + 1) * 0x10000ull;
}

static void exec_test_begin(struct pagoda_exec_test *t, u32 number, u64 seqno)
{
	struct pagoda_exec_test_job *job = &t->job[number];
	unsigned long flags;

	spin_lock_irqsave(&t->lock, flags);
	job->started++;
	job->seqno = seqno;
	if (t->nr_log < PAGODA_EXEC_TEST_JOBS)
		t->log[t->nr_log++] = number;
	spin_unlock_irqrestore(&t->lock, flags);
}

static void exec_test_finish(struct pagoda_exec_test *t, u32 number)
{
	struct pagoda_exec_test_job *job = &t->job[number];
	struct pagoda_exec_test_context *context = &t->context[job->context];

	job->executed++;
	/*
	 * A job of the context that had the same index before may still run, on another engine: the
	 * order of such a job doesn't count.
	 */
	if (number <= READ_ONCE(context->first))
		return;
	t->wrong_order += number <= context->last_executed;
	context->last_executed = number;
}

/*
 * Executes a job as the device: does the job's deed, and counts a request with wrong members. A job
 * has one command buffer, whose address is the job's number in the test.
 */
static int exec_test_execute(void *arg, u64 seqno, const void *data, u32 start, u32 end,
			     struct pagoda_fault *fault)
{
	const struct virtio_pagoda_execute *execute = data;
	const struct virtio_pagoda_command_buffer *buffer = (const void *)(execute + 1);
	u32 number = le64_to_cpu(buffer->address);
	u32 space = le32_to_cpu(execute->address_space);
	struct pagoda_exec_test *t = arg;

	exec_test_begin(t, number, seqno);
	t->wrong_image += space != t->job[number].context + 1 || start ||
			  le32_to_cpu(execute->nr_buffers) != 1 ||
			  end != sizeof(*execute) + sizeof(*buffer) ||
			  le32_to_cpu(execute->image_segment) != VIRTIO_PAGODA_SEGMENT_VRAM ||
			  le64_to_cpu(execute->image_address) !=
			  exec_test_image_of(space - 1);
	switch (READ_ONCE(t->job[number].deed)) {
	case PAGODA_EXEC_FAULTS:
		fault->reason = VIRTIO_PAGODA_FAULT_READ_ONLY;
		fault->access = VIRTIO_PAGODA_ACCESS_WRITE;
		fault->address = number * 0x1000ull;
		return -EFAULT;
	case PAGODA_EXEC_HANGS:
		return PAGODA_FAKE_STANDS_STILL;
	case PAGODA_EXEC_CONFUSES:
		return PAGODA_FAKE_BABBLES;
	default:
		exec_test_finish(t, number);
		return 0;
	}
}

static int exec_test_image(void *owner, u64 mark, struct virtio_pagoda_execute *execute)
{
	struct pagoda_exec_test_context *context = owner;

	execute->image_address =
		cpu_to_le64(exec_test_image_of(context - context->t->context));
	execute->image_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	return 0;
}

static void exec_test_banned(void *owner, const struct pagoda_exec_report *report)
{
	struct pagoda_exec_test_context *context = owner;
	struct pagoda_exec_test *t = context->t;
	/* Pairs with the release in exec_test_push(). */
	u32 last = smp_load_acquire(&t->nr_jobs);
	u32 i, number = 0;

	if (report->reset)
		context->nr_lost++;
	else
		context->nr_banned++;
	context->report = *report;
	/* report->job is the job's number in the context: find the job in the test. */
	for (i = context->first + 1; i <= last && number < report->job; i++)
		if (&t->context[t->job[i].context] == context && ++number == report->job)
			t->late_told += dma_fence_is_signaled(t->job[i].fence);
}

/* Has engine 0, which hung at job 1 and couldn't be reset, execute job 1 after all. */
static void exec_test_answer_late(struct pagoda_exec_test *t)
{
	WRITE_ONCE(t->job[1].deed, PAGODA_EXEC_RUNS);
	pagoda_fake_transport_go_on(t->fake[0]);
	while (READ_ONCE(t->fake[0]->nr_ring))
		usleep_range(500, 1000);
}

static int exec_test_reset_adapter(void *owner)
{
	struct pagoda_exec_test *t = owner;
	u32 i;

	t->adapter_resets++;
	if (t->answers_late)
		exec_test_answer_late(t);
	if (t->adapter_error)
		return t->adapter_error;
	pagoda_engines_hold(t->engines);
	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		pagoda_fake_transport_lose(t->fake[i]);
	pagoda_engines_lost(t->engines);
	if (!t->resume_later)
		pagoda_engines_resume(t->engines);
	WRITE_ONCE(t->adapter_ends, t->adapter_ends + 1);
	return 0;
}

static void exec_test_done(void *owner, const struct pagoda_exec_account *account)
{
	struct pagoda_exec_test *t = owner;

	atomic_inc(&t->nr_done);
}

static void exec_test_placed(void *owner)
{
	struct pagoda_exec_test_context *context = owner;

	atomic_inc(&context->nr_placed);
}

static const struct pagoda_exec_ops exec_test_ops = {
	.placed = exec_test_placed,
	.done = exec_test_done,
	.image = exec_test_image,
	.banned = exec_test_banned,
	.reset_adapter = exec_test_reset_adapter,
};

static void exec_test_destroy(void *data)
{
	struct pagoda_exec_test *t = data;
	u32 i;

	/* Jobs that a failed test left behind must not keep the engines busy. */
	if (t->engines)
		pagoda_engines_stop(t->engines);
	for (i = 0; i < PAGODA_EXEC_TEST_CONTEXTS; i++)
		pagoda_exec_test_context_destroy(t, i);
	pagoda_engines_destroy(t->engines);
	t->engines = NULL;
	for (i = 1; i <= t->nr_jobs; i++)
		dma_fence_put(t->job[i].fence);
}

struct pagoda_exec_test *pagoda_exec_test_create(struct kunit *test)
{
	struct pagoda_exec_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct pagoda_transport *transports[PAGODA_EXEC_TEST_ENGINES];
	struct pagoda_engines_args args = {
		.transports = transports,
		.count = PAGODA_EXEC_TEST_ENGINES,
		.timeout_ms = PAGODA_TEST_TIMEOUT_MS,
		.ops = &exec_test_ops,
		.owner = t,
	};
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->test = test;
	spin_lock_init(&t->lock);
	t->job = kunit_kcalloc(test, PAGODA_EXEC_TEST_JOBS, sizeof(*t->job), GFP_KERNEL);
	t->log = kunit_kcalloc(test, PAGODA_EXEC_TEST_JOBS, sizeof(*t->log), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->job);
	KUNIT_ASSERT_NOT_NULL(test, t->log);
	args.dev = kunit_device_register(test, "pagoda-test");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, args.dev);
	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++) {
		t->fake[i] = pagoda_fake_transport_create(test, exec_test_execute, t);
		t->fake[i]->engine = true;
		t->fake[i]->mode = PAGODA_FAKE_DEFERRED;
		transports[i] = &t->fake[i]->base;
	}
	t->engines = pagoda_engines_create(&args);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->engines);
	/*
	 * exec_test_destroy() is registered last, and so runs first: the transports outlive the
	 * engines, as in the driver.
	 */
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, exec_test_destroy, t));
	return t;
}

void pagoda_exec_test_context(struct pagoda_exec_test *t, u32 i, u32 engine,
			      enum pagoda_exec_priority priority)
{
	struct pagoda_exec_test_context *context = &t->context[i];

	context->t = t;
	WRITE_ONCE(context->first, t->nr_jobs);
	context->context = pagoda_exec_context_create(t->engines, engine, priority, i + 1, i + 1,
						      context);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, context->context);
}

void pagoda_exec_test_context_destroy(struct pagoda_exec_test *t, u32 i)
{
	pagoda_exec_context_destroy(t->context[i].context);
	t->context[i].context = NULL;
}

static u32 exec_test_push(struct pagoda_exec_test *t, u32 i, enum pagoda_exec_deed deed,
			  struct pagoda_exec_job *job)
{
	struct pagoda_exec_test_job *mine;
	u32 number = t->nr_jobs + 1;

	KUNIT_ASSERT_LT(t->test, number, PAGODA_EXEC_TEST_JOBS);
	mine = &t->job[number];
	mine->deed = deed;
	mine->context = i;
	pagoda_exec_job_arm(job);
	job->buffers[0].address = cpu_to_le64(number);
	job->buffers[0].size = cpu_to_le64(8);
	mine->fence = dma_fence_get(job->fence);
	/* Before the push: if the job fails at once, exec_test_banned() looks for the job. */
	smp_store_release(&t->nr_jobs, number);
	pagoda_exec_job_push(job);
	return number;
}

u32 pagoda_exec_test_push(struct pagoda_exec_test *t, u32 i, enum pagoda_exec_deed deed,
			  struct dma_fence *after)
{
	struct pagoda_exec_job *job = pagoda_exec_job_create(t->context[i].context, 1);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, job);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_exec_job_add_fence(job, after));
	return exec_test_push(t, i, deed, job);
}

u32 pagoda_exec_test_push_fenced_after(struct pagoda_exec_test *t, u32 i, struct dma_fence *after)
{
	struct pagoda_exec_job *job = pagoda_exec_job_create(t->context[i].context, 1);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, job);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_exec_job_add_fence(job, after));
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_exec_job_wait_place(job));
	return exec_test_push(t, i, PAGODA_EXEC_RUNS, job);
}

u32 pagoda_exec_test_push_fenced(struct pagoda_exec_test *t, u32 i)
{
	return pagoda_exec_test_push_fenced_after(t, i, NULL);
}

u32 pagoda_exec_test_push_placed(struct pagoda_exec_test *t, u32 i)
{
	struct pagoda_exec_job *job = pagoda_exec_job_create(t->context[i].context, 1);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(t->test, job);
	if (pagoda_exec_job_place(job))
		return exec_test_push(t, i, PAGODA_EXEC_RUNS, job);
	pagoda_exec_job_put(job);
	return 0;
}

int pagoda_exec_test_wait(struct pagoda_exec_test *t, u32 job)
{
	return pagoda_queue_test_wait(dma_fence_get(t->job[job].fence));
}

bool pagoda_exec_test_is_done(struct pagoda_exec_test *t, u32 job)
{
	return dma_fence_is_signaled(t->job[job].fence);
}

struct pagoda_engine_stats pagoda_exec_test_stats(struct pagoda_exec_test *t, u32 engine)
{
	struct pagoda_engine_stats stats;

	pagoda_engines_stats(t->engines, engine, &stats);
	return stats;
}

void pagoda_exec_test_wait_given(struct pagoda_exec_test *t, u32 engine, u64 jobs)
{
	u32 tries = 60000;

	while (pagoda_exec_test_stats(t, engine).jobs < jobs && --tries)
		usleep_range(500, 1000);
	KUNIT_ASSERT_NE(t->test, 0, tries);
}

void pagoda_exec_test_wait_reset(struct pagoda_exec_test *t, u32 resets)
{
	u32 tries = 60000;

	while (READ_ONCE(t->adapter_ends) < resets && --tries)
		usleep_range(500, 1000);
	KUNIT_ASSERT_NE(t->test, 0, tries);
}

bool pagoda_test_engine_expire(struct pagoda_engines *engines, u32 index, const bool *hangs)
{
	struct pagoda_exec_engine *engine = &engines->engine[index];
	bool silent;

	spin_lock_irq(&engine->flight.lock);
	silent = !hangs || READ_ONCE(*hangs);
	if (silent)
		engine->flight.progress = jiffies - msecs_to_jiffies(engine->flight.timeout_ms);
	spin_unlock_irq(&engine->flight.lock);
	return silent && mod_delayed_work(engines->recover_wq, &engine->flight.watchdog, 0);
}

void pagoda_exec_test_expire(struct pagoda_exec_test *t, u32 engine)
{
	pagoda_fake_transport_wait_silent(t->fake[engine]);
	/* The watchdog must have been pending: it would have run later by itself. */
	KUNIT_EXPECT_TRUE(t->test, pagoda_test_engine_expire(t->engines, engine, NULL));
}

void pagoda_exec_test_modes(struct pagoda_exec_test *t, enum pagoda_fake_mode mode)
{
	u32 i;

	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		pagoda_fake_transport_mode(t->fake[i], mode);
}

void pagoda_exec_test_expect_clean(struct pagoda_exec_test *t)
{
	u32 i;

	KUNIT_EXPECT_EQ(t->test, 0, t->wrong_image);
	KUNIT_EXPECT_EQ(t->test, 0, t->wrong_order);
	KUNIT_EXPECT_EQ(t->test, 0, t->late_told);
	for (i = 0; i < PAGODA_EXEC_TEST_ENGINES; i++)
		KUNIT_EXPECT_EQ(t->test, 0, t->fake[i]->violations);
}
