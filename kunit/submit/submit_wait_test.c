// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of jobs that wait for points which don't exist yet: the jobs' own points exist only once
 * the jobs are armed, their order is kept, and whatever ends the context ends all these jobs. Also
 * lost paging that jobs wait for, and closed handles of allocations that waiting jobs use.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-fence-chain.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <drm/drm_syncobj.h>
#include "submit_helpers.h"

#define HERE	SZ_4M

struct wait_world {
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct pagoda_bo *bo;
	struct drm_syncobj *in;
	struct drm_syncobj *out;
};

static struct wait_world wait_world(struct kunit *test)
{
	struct wait_world world = { .rig = submit_rig(test) };

	world.client = submit_client(world.rig, 0);
	world.bo = submit_private(world.client, 1, SUBMIT_VRAM, HERE);
	world.in = submit_syncobj(test);
	world.out = submit_syncobj(test);
	return world;
}

static void wait_end(struct wait_world *world)
{
	submit_close(world->client, world->bo);
	submit_client_end(world->client);
}

static bool wait_exists(struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence;

	if (!submit_point(syncobj, point, &fence))
		return false;
	dma_fence_put(fence);
	return true;
}

/* Waits until a point, which must exist, has signalled; returns the error of its fence. */
static int wait_error(struct kunit *test, struct drm_syncobj *syncobj, u64 point)
{
	struct dma_fence *fence;
	int error = 0;

	KUNIT_ASSERT_TRUE(test, submit_point(syncobj, point, &fence));
	if (fence) {
		dma_fence_wait(fence, false);
		error = dma_fence_chain_contained(fence)->error;
	}
	dma_fence_put(fence);
	return error;
}

/*
 * A job that waits for a point isn't armed before the point exists, nor are jobs behind it in its
 * context: their own points don't exist, either.
 */
static void wait_for_points_to_come(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct submit_args args = {
		.in = world.in, .in_point = 5, .out = world.out, .out_point = 1,
	};
	const struct submit_args behind = { .out = world.out, .out_point = 2 };

	submit_store(world.client, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	KUNIT_EXPECT_EQ(test, 1ull, world.client->number);
	/* The second job waits only for its turn. */
	submit_compare(world.client, HERE, 1);
	submit_store(world.client, HERE, 2);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &behind));
	KUNIT_EXPECT_EQ(test, 2ull, world.client->number);
	submit_signal(world.client, world.in, 4);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, wait_exists(world.out, 1));
	KUNIT_EXPECT_FALSE(test, wait_exists(world.out, 2));
	KUNIT_EXPECT_EQ(test, 2ull, submit_state(world.client).submitted);
	KUNIT_EXPECT_EQ(test, 0ull, submit_state(world.client).completed);
	KUNIT_EXPECT_EQ(test, 0u, world.rig->engines[0].executed);

	submit_signal(world.client, world.in, 9);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, 2ull, submit_word(world.rig, world.bo, 0));
	KUNIT_EXPECT_TRUE(test, wait_exists(world.out, 1));
	KUNIT_EXPECT_EQ(test, 0, wait_error(test, world.out, 2));
	KUNIT_EXPECT_EQ(test, 2ull, submit_state(world.client).completed);
	/* Once the worker knows that the queue is empty, SUBMIT itself arms a job. */
	flush_delayed_work(&world.client->context->deferred.work);
	args.out_point = 3;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(world.client, &args));
	KUNIT_EXPECT_EQ(test, 0, wait_error(test, world.out, 3));
	wait_end(&world);
}

/*
 * The context's queue of waiting jobs is stopped, as if that happened within SUBMIT: if SUBMIT
 * fails, the binary syncobj keeps its fence; if the job is accepted, the syncobj gets a fence with
 * the error.
 */
static void wait_in_a_queue_that_stops(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	const struct submit_args args = { .in = world.in, .in_point = 1, .out = world.out };
	struct dma_fence *stub = dma_fence_get_stub(), *fence = NULL;
	int ret;

	drm_syncobj_replace_fence(world.out, stub);
	pagoda_deferred_stop(&world.client->context->deferred, -ECANCELED);
	ret = submit_empty(world.client, &args);
	flush_delayed_work(&world.client->context->deferred.work);
	fence = drm_syncobj_fence_get(world.out);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	if (ret)
		KUNIT_EXPECT_PTR_EQ(test, stub, fence);
	else
		KUNIT_EXPECT_EQ(test, -ECANCELED, dma_fence_get_status(fence));
	dma_fence_put(fence);
	dma_fence_put(stub);
	wait_end(&world);
}

/* A waiting job finds a fence that is put into its syncobj without a call of the driver. */
static void wait_for_points_from_elsewhere(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	const struct submit_args args = { .in = world.in };
	struct dma_fence *fence = dma_fence_get_stub();

	submit_store(world.client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	drm_syncobj_replace_fence(world.in, fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(world.rig, world.bo, 0));
	wait_end(&world);
}

/* A job waits for the fence that existed when it was submitted, whatever happens to the syncobj. */
static void wait_for_what_was_there(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct submit_client *other = submit_client(world.rig, 1);
	const struct submit_args first = { .out = world.in };
	const struct submit_args second = { .in = world.in };

	pagoda_rig_hold(world.rig, 1, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, &first));
	submit_store(world.client, HERE, 4);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &second));
	KUNIT_EXPECT_FALSE(test, pagoda_deferred_is_empty(&world.client->context->deferred));
	drm_syncobj_replace_fence(world.in, NULL);
	KUNIT_EXPECT_EQ(test, 0u, world.rig->engines[0].executed);
	pagoda_rig_hold(world.rig, 1, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, 4ull, submit_word(world.rig, world.bo, 0));
	wait_end(&world);
	submit_client_end(other);
}

/* Destroying a context ends its waiting jobs: their points signal with -ECANCELED. */
static void wait_ends_with_the_context(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct submit_args args = {
		.in = world.in, .in_point = 1, .out = world.out, .out_point = 1,
	};
	u32 i;

	for (i = 0; i < 50; i++) {
		submit_store(world.client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
		args.out_point++;
	}
	pagoda_context_destroy(world.client->context);
	world.client->context = NULL;
	for (i = 1; i < 50; i++)
		KUNIT_EXPECT_TRUE(test, wait_exists(world.out, i));
	KUNIT_EXPECT_EQ(test, -ECANCELED, wait_error(test, world.out, 50));
	KUNIT_EXPECT_EQ(test, 0u, world.rig->engines[0].executed);
	wait_end(&world);
}

/*
 * Destroying a context also ends jobs that wait for a place of the engine: at most the jobs that
 * the engine has already are executed.
 */
static void wait_ends_on_the_engine(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct submit_args args = { .out = world.out };
	u32 i;

	pagoda_rig_hold(world.rig, 0, true);
	for (i = 1; i <= 50; i++) {
		args.out_point = i;
		submit_add(world.client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	}
	pagoda_context_destroy(world.client->context);
	world.client->context = NULL;
	pagoda_rig_hold(world.rig, 0, false);
	KUNIT_EXPECT_NE(test, 0, wait_error(test, world.out, 50));
	pagoda_rig_settle(world.rig);
	dma_resv_wait_timeout(pagoda_vm_resv(world.client->vm), DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
	KUNIT_EXPECT_LE(test, submit_word(world.rig, world.bo, 0), 8ull);
	wait_end(&world);
}

/* The fault of a job also cancels the jobs of its context that wait for points. */
static void wait_ends_with_a_fault(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	const struct submit_args args = { .in = world.in, .in_point = 1 };

	pagoda_rig_hold(world.rig, 0, true);
	submit_store(world.client, SZ_1G * 3ull, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, NULL));
	submit_store(world.client, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	pagoda_rig_hold(world.rig, 0, false);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, 2ull, submit_state(world.client).completed);
	KUNIT_EXPECT_EQ(test, 1ull, submit_state(world.client).job);
	wait_end(&world);
}

/*
 * If a job is on the engine when its context is banned, and then faults, the context's state
 * reports the fault, too.
 */
static void wait_reports_a_fault_after_a_ban(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct drm_pagoda_context_state state;

	pagoda_rig_hold(world.rig, 0, true);
	submit_store(world.client, SZ_1G * 3ull, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, NULL));
	while (!READ_ONCE(world.rig->engines[0].nr_ring))
		fsleep(100);
	pagoda_context_give_up(world.client->context);
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_CONTEXT_BANNED, submit_state(world.client).state);
	pagoda_rig_hold(world.rig, 0, false);
	KUNIT_EXPECT_EQ(test, -EFAULT, submit_wait(world.client));
	state = submit_state(world.client);
	KUNIT_EXPECT_EQ(test, (u32)(DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_FAULTED),
			state.state);
	KUNIT_EXPECT_EQ(test, 1ull, state.job);
	KUNIT_EXPECT_EQ(test, SZ_1G * 3ull, state.address);
	wait_end(&world);
}

/*
 * A job that was accepted, and finds no room for its allocations when it is to be armed, bans its
 * context.
 */
static void wait_and_find_no_room(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct submit_args args = {
		.bos = {
			pagoda_rig_bo(world.rig, 600, 0, SUBMIT_VRAM, 0),
			pagoda_rig_bo(world.rig, 600, 0, SUBMIT_VRAM, 0),
		},
		.nr_bos = 2,
		.in = world.in,
		.in_point = 1,
	};

	KUNIT_ASSERT_EQ(test, 0, submit_empty(world.client, &args));
	submit_signal(world.client, world.in, 1);
	KUNIT_EXPECT_EQ(test, -ENOMEM, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_CONTEXT_BANNED, submit_state(world.client).state);
	KUNIT_EXPECT_EQ(test, 0ull, submit_state(world.client).job);
	KUNIT_EXPECT_EQ(test, 1ull, submit_state(world.client).completed);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_empty(world.client, NULL));
	pagoda_rig_close(args.bos[0]);
	pagoda_rig_close(args.bos[1]);
	wait_end(&world);
}

/* Jobs may signal the points of a timeline in any order, as the kernel's timelines allow. */
static void wait_points_out_of_order(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	static const u64 points[] = { 10, 3, 3, 20, 5 };
	struct submit_args args = { .out = world.out };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(points); i++) {
		args.out_point = points[i];
		submit_add(world.client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	}
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, (u64)ARRAY_SIZE(points), submit_word(world.rig, world.bo, 0));
	KUNIT_EXPECT_EQ(test, 0, wait_error(test, world.out, 20));
	wait_end(&world);
}

/*
 * A client in a thread of its own. The allocations @bos of all threads are three times VRAM; all
 * threads also add to @other. @error: of the first SUBMIT that failed, else of the last job.
 */
struct wait_thread {
	struct submit_client *client;
	struct pagoda_bo *bos[3];
	struct pagoda_bo *other;
	int error;
	struct completion done;
};

#define THREAD_JOBS	50

static int wait_thread_run(void *data)
{
	struct wait_thread *thread = data;
	struct submit_args args = { .nr_bos = 2 };
	u32 job;

	for (job = 0; job < THREAD_JOBS && !thread->error; job++) {
		u32 which = job % ARRAY_SIZE(thread->bos);

		args.bos[0] = thread->bos[which];
		args.bos[1] = thread->other;
		args.flags[1] = DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE;
		submit_add(thread->client, HERE + which * SZ_2M, 1);
		submit_add(thread->client, HERE + SZ_16M, 1);
		thread->error = submit_job(thread->client, &args);
		cond_resched();
	}
	thread->error = thread->error ?: submit_wait(thread->client);
	complete(&thread->done);
	while (!kthread_should_stop())
		fsleep(USEC_PER_MSEC);
	return 0;
}

/*
 * Threads submit jobs, each for a client of its own, on allocations that exceed VRAM: in the end
 * the allocations have every addition of every job.
 */
static void wait_threads(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *shared = pagoda_rig_bo(rig, 1, 0, SUBMIT_VRAM | SUBMIT_APERTURE, 0);
	struct wait_thread threads[4] = {};
	struct task_struct *tasks[4];
	u64 sum = 0;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		init_completion(&threads[i].done);
		threads[i].client = submit_client(rig, i % 2);
		threads[i].other = shared;
		KUNIT_ASSERT_EQ(test, 0, submit_map(threads[i].client, shared, HERE + SZ_16M));
		for (k = 0; k < ARRAY_SIZE(threads[i].bos); k++) {
			threads[i].bos[k] = pagoda_rig_bo(rig, 256, 0, SUBMIT_VRAM, 0);
			KUNIT_ASSERT_EQ(test, 0, submit_map(threads[i].client, threads[i].bos[k],
							    HERE + k * SZ_2M));
		}
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		tasks[i] = kthread_run(wait_thread_run, &threads[i], "pagoda-submit");
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		KUNIT_ASSERT_FALSE(test, IS_ERR(tasks[i]));
		/* kthread_stop() counts as a signal, so wait first. */
		wait_for_completion(&threads[i].done);
		kthread_stop(tasks[i]);
		KUNIT_EXPECT_EQ(test, 0, threads[i].error);
	}
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		for (k = 0; k < ARRAY_SIZE(threads[i].bos); k++) {
			sum += submit_word(rig, threads[i].bos[k], 0);
			submit_close(threads[i].client, threads[i].bos[k]);
		}
		pagoda_vm_forget(threads[i].client->vm, shared);
	}
	KUNIT_EXPECT_EQ(test, 4ull * THREAD_JOBS, sum);
	KUNIT_EXPECT_EQ(test, 4ull * THREAD_JOBS, submit_word(rig, shared, 0));
	pagoda_rig_close(shared);
	for (i = 0; i < ARRAY_SIZE(threads); i++)
		submit_client_end(threads[i].client);
}

/*
 * Paging that a job waits for fails: the job must not see stale memory, and the next job finds
 * zeros in the allocation. @resets: 1 if the paging that writes the mapping is lost, too, for which
 * the device is reset; 0 if only the content is lost.
 */
static void wait_for_what_is_lost(struct kunit *test, u32 pages, u64 resets)
{
	const int error = resets ? -ECANCELED : -EIO;
	const u32 state = resets ? DRM_PAGODA_CONTEXT_RESET : 0;
	const struct pagoda_rig_options blind = {
		.engines = true,
		.no_window = true,
		.buffer_size = PAGE_SIZE,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *from = submit_private(client, pages, SUBMIT_VRAM, HERE);
	struct pagoda_bo *to = submit_private(client, 1, SUBMIT_APERTURE, HERE + SZ_2M);
	struct drm_pagoda_allocation_info info;

	pagoda_rig_fragment(rig, odd, count);
	submit_store(client, HERE, 1);
	submit_store(client, HERE + SZ_2M, 2);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(from));
	pagoda_rig_settle(rig);

	pagoda_rig_refuse_next(rig);
	/* The content is in the paging buffer that was refused above, the mapping in the next. */
	if (resets)
		pagoda_fake_transport_order(rig->fake, rig->fake->last_submitted + 2,
					    PAGODA_FAKE_FAULT, 0, 10);
	submit_copy(client, HERE, HERE + SZ_2M, 8);
	pagoda_rig_share(rig, true);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	pagoda_rig_share(rig, false);
	KUNIT_EXPECT_EQ(test, error, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 2ull, submit_word(rig, to, 0));
	pagoda_bo_info(from, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_EXPECT_EQ(test, state, submit_state(client).state);
	KUNIT_EXPECT_EQ(test, resets, pagoda_reset_epoch(rig->vidmm));

	/* Wait for the reset, as ioctls do. */
	pagoda_reset_wait(rig->vidmm);
	submit_copy(client, HERE, HERE + SZ_2M, 8);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0ull, submit_word(rig, to, 0));
	pagoda_vm_forget(client->vm, from);
	pagoda_vm_forget(client->vm, to);
	pagoda_rig_close(from);
	pagoda_rig_close(to);
	while (count--)
		pagoda_rig_close(odd[count]);
	submit_client_end(client);
}

static void wait_for_lost_content(struct kunit *test)
{
	wait_for_what_is_lost(test, 200, 0);
}

static void wait_for_lost_mapping(struct kunit *test)
{
	wait_for_what_is_lost(test, 1, 1);
}

/*
 * Waits until the closed handles of a client are freed. A fence that joins several fences signals a
 * moment after them, in an irq_work, and queues the work item only then.
 */
static void wait_handles_end(struct pagoda_client *client)
{
	u32 i;

	for (i = 0; i < 2000 && !list_empty_careful(&client->closing.handles); i++) {
		flush_delayed_work(&client->closing.work);
		usleep_range(500, 1000);
	}
	flush_delayed_work(&client->closing.work);
}

/*
 * The mappings of an allocation whose handle is closed stay until jobs that were waiting at the
 * close, and may use the allocation, have ended.
 */
static void wait_outlives_handles(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct pagoda_client *owner = world.rig->client;
	struct pagoda_bo *listed = pagoda_rig_bo(world.rig, 1, 0, SUBMIT_VRAM, 0);
	struct pagoda_bo *other = pagoda_rig_bo(world.rig, 1, 0, SUBMIT_APERTURE, 0);
	const struct submit_args args = {
		.bos = { listed }, .nr_bos = 1, .in = world.in, .in_point = 1,
	};

	KUNIT_ASSERT_EQ(test, 0, submit_map(world.client, listed, HERE + SZ_2M));
	KUNIT_ASSERT_EQ(test, 0, submit_map(world.client, other, HERE + SZ_4M));
	submit_store(world.client, HERE, 5);
	submit_store(world.client, HERE + SZ_2M, 6);
	KUNIT_ASSERT_EQ(test, 0, submit_job(world.client, &args));
	pagoda_closing_handle(owner, world.bo);
	pagoda_closing_handle(owner, listed);
	pagoda_closing_handle(owner, other);
	/* No job uses this allocation: it is unmapped at once. */
	KUNIT_EXPECT_TRUE(test, list_empty(&pagoda_bo_gem(other)->gpuva.list));
	flush_delayed_work(&owner->closing.work);
	KUNIT_EXPECT_FALSE(test, list_empty(&pagoda_bo_gem(world.bo)->gpuva.list));
	KUNIT_EXPECT_FALSE(test, list_empty(&pagoda_bo_gem(listed)->gpuva.list));

	submit_signal(world.client, world.in, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(world.client).state);
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(world.rig, world.bo, 0));
	KUNIT_EXPECT_EQ(test, 6ull, submit_word(world.rig, listed, 0));
	flush_delayed_work(&world.client->context->deferred.work);
	wait_handles_end(owner);
	KUNIT_EXPECT_TRUE(test, list_empty(&owner->closing.handles));
	KUNIT_EXPECT_TRUE(test, list_empty(&pagoda_bo_gem(world.bo)->gpuva.list));
	KUNIT_EXPECT_TRUE(test, list_empty(&pagoda_bo_gem(listed)->gpuva.list));
	pagoda_rig_close(other);
	pagoda_rig_close(listed);
	wait_end(&world);
}

/*
 * The mappings of an allocation whose handle is closed stay for jobs that were waiting at the
 * close, not for later jobs.
 */
static void wait_outlives_no_other_handles(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct pagoda_client *owner = world.rig->client;
	struct pagoda_bo *listed = pagoda_rig_bo(world.rig, 1, 0, SUBMIT_VRAM, 0);
	struct submit_client *later = submit_client(world.rig, 1);
	struct submit_args args = {
		.bos = { listed }, .nr_bos = 1, .in = world.in, .in_point = 1,
	};

	KUNIT_ASSERT_EQ(test, 0, submit_map(world.client, listed, HERE + SZ_2M));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(world.client, &args));
	/* Close a handle and get a new one at once: the mapping stays. */
	pagoda_closing_handle(owner, listed);
	pagoda_closing_undo(owner, listed);
	KUNIT_EXPECT_TRUE(test, list_empty(&owner->closing.handles));
	pagoda_closing_handle(owner, listed);
	args.in_point = 2;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(later, &args));
	submit_signal(world.client, world.in, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	flush_delayed_work(&world.client->context->deferred.work);
	wait_handles_end(owner);
	KUNIT_EXPECT_TRUE(test, list_empty(&pagoda_bo_gem(listed)->gpuva.list));
	submit_signal(later, world.in, 2);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(later));
	pagoda_rig_close(listed);
	submit_client_end(later);
	wait_end(&world);
}

/*
 * SUBMIT refuses implicit sync (-EINVAL) of a job that waits for a point without a fence, or is
 * behind such a job: a reader must not overtake a writer that has no fence yet.
 */
static void wait_refuses_implicit(struct kunit *test)
{
	struct wait_world world = wait_world(test);
	struct pagoda_bo *shared = pagoda_rig_bo(world.rig, 1, 0, SUBMIT_VRAM, 0);
	struct submit_args args = {
		.bos = { shared },
		.flags = { DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE },
		.nr_bos = 1,
		.in = world.in,
		.in_point = 1,
	};
	struct submit_args after = args;

	after.in = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL, submit_empty(world.client, &args));
	args.flags[0] = 0;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(world.client, &args));
	KUNIT_EXPECT_EQ(test, -EINVAL, submit_empty(world.client, &after));
	KUNIT_EXPECT_TRUE(test, dma_resv_test_signaled(shared->ttm.base.resv,
						       DMA_RESV_USAGE_READ));
	/* Now the point exists: the job behind is accepted, even if the worker hasn't run yet. */
	pagoda_rig_hold(world.rig, 0, true);
	submit_signal(world.client, world.in, 1);
	KUNIT_EXPECT_EQ(test, 0, submit_empty(world.client, &after));
	KUNIT_EXPECT_FALSE(test, dma_resv_test_signaled(shared->ttm.base.resv,
							DMA_RESV_USAGE_WRITE));
	pagoda_rig_hold(world.rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(world.client));
	pagoda_rig_close(shared);
	wait_end(&world);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_for_points_to_come),
	KUNIT_CASE(wait_in_a_queue_that_stops),
	KUNIT_CASE(wait_for_points_from_elsewhere),
	KUNIT_CASE(wait_for_what_was_there),
	KUNIT_CASE(wait_ends_with_the_context),
	KUNIT_CASE(wait_ends_on_the_engine),
	KUNIT_CASE(wait_ends_with_a_fault),
	KUNIT_CASE(wait_reports_a_fault_after_a_ban),
	KUNIT_CASE(wait_and_find_no_room),
	KUNIT_CASE(wait_points_out_of_order),
	KUNIT_CASE(wait_for_lost_content),
	KUNIT_CASE(wait_for_lost_mapping),
	KUNIT_CASE(wait_threads),
	KUNIT_CASE(wait_outlives_handles),
	KUNIT_CASE(wait_outlives_no_other_handles),
	KUNIT_CASE(wait_refuses_implicit),
	{ }
};

static struct kunit_suite wait_suite = {
	.name = "pagoda_submit_wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
