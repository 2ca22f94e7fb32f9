// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of queued jobs, which hold no memory: a job is prepared when what it waits for has
 * signalled and its engine has a place; of fenced jobs, which are prepared at once; and of the
 * order in which points get fences.
 */
#include <linux/delay.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include "core/compat.h"
#include "core/life.h"
#include "submit_helpers.h"
#include "uapi/args.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/submit/internal.h"

#define HERE	SZ_4M
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE

/*
 * Two clients on an engine that is held: jobs of @first have the engine's places, jobs of @client
 * are queued.
 */
struct queue_world {
	struct pagoda_rig *rig;
	struct submit_client *first;
	struct submit_client *client;
	struct submit_args args;	/* lists @bo */
	struct pagoda_bo *bo;		/* mapped by @client at HERE */
};

static struct queue_world *queue_world(struct kunit *test)
{
	struct queue_world *w = test_zalloc(test, sizeof(*w));
	u32 i;

	w->rig = submit_rig(test);
	w->first = submit_client(w->rig, 0);
	w->client = submit_client(w->rig, 0);
	w->bo = pagoda_rig_bo(w->rig, 1, CPU, SUBMIT_VRAM, 0);
	w->args.bos[0] = w->bo;
	w->args.nr_bos = 1;
	KUNIT_ASSERT_EQ(test, 0, submit_map(w->client, w->bo, HERE));
	pagoda_rig_hold(w->rig, 0, true);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(w->first, NULL));
	return w;
}

static void queue_world_end(struct queue_world *w)
{
	submit_close(w->client, w->bo);
	submit_client_end(w->client);
	submit_client_end(w->first);
}

static u32 queue_length(struct submit_client *client)
{
	return READ_ONCE(client->context->deferred.count);
}

static bool queue_is_idle(struct pagoda_bo *bo)
{
	bool idle;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	idle = dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_unlock(bo->ttm.base.resv);
	return idle;
}

/*
 * While the engine is busy, an allocation that only queued jobs list is idle and may be in system
 * memory; when the jobs are executed, the allocation is resident.
 */
static void queue_holds_nothing(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	u32 i;

	for (i = 0; i < 8; i++) {
		submit_add(w->client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, &w->args));
	}
	KUNIT_EXPECT_EQ(test, 8u, queue_length(w->client));
	KUNIT_EXPECT_TRUE(test, queue_is_idle(w->bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(w->bo));
	pagoda_rig_settle(w->rig);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_SYSTEM, w->bo->ttm.resource->mem_type);
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_EQ(test, 8ull, submit_word(w->rig, w->bo, 0));
	queue_world_end(w);
}

/*
 * The policy knows which allocations queued jobs list, here code and @bo of each job, until the
 * jobs are armed or their context is destroyed.
 */
static void queue_tells_the_policy(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct pagoda_policy *policy = &w->rig->vidmm->victims->policy;
	struct submit_client *gone = submit_client(w->rig, 0);
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, submit_map(gone, w->bo, HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(gone, &w->args));
	KUNIT_EXPECT_EQ(test, 2u, policy->expected);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, 18u, policy->expected);
	KUNIT_EXPECT_TRUE(test, w->bo->choice.item.queued);
	KUNIT_EXPECT_EQ(test, policy->horizon,
			w->client->context->vm->client->choice.group.horizon);
	pagoda_vm_forget(gone->vm, w->bo);
	submit_client_end(gone);
	KUNIT_EXPECT_EQ(test, 16u, policy->expected);
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	pagoda_rig_settle(w->rig);
	KUNIT_EXPECT_EQ(test, 0u, policy->expected);
	KUNIT_EXPECT_FALSE(test, w->bo->choice.item.queued);
	queue_world_end(w);
}

/*
 * Unless fenced, a job isn't prepared before what it waits for has signalled, even on an idle
 * engine.
 */
static void queue_waits_for_fences(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct submit_client *other = submit_client(w->rig, 1);

	KUNIT_ASSERT_EQ(test, 0, submit_map(other, w->bo, HERE));
	w->args.in = w->first->done;
	w->args.in_point = w->first->sent;
	submit_add(other, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(other, &w->args));
	KUNIT_EXPECT_EQ(test, 1u, queue_length(other));
	KUNIT_EXPECT_TRUE(test, queue_is_idle(w->bo));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(w->rig, w->bo, 0));
	pagoda_vm_forget(other->vm, w->bo);
	submit_client_end(other);
	queue_world_end(w);
}

/*
 * For a queued job the allocations are resident that the client's residency list had when the job
 * was submitted, although EVICT has taken them off since; a job submitted after EVICT can't rely on
 * them.
 */
static void queue_remembers_the_list(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct pagoda_client *client = w->rig->client;
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, pagoda_require(client, &w->bo, 1, &trim));
	submit_add(w->client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, NULL));
	KUNIT_EXPECT_EQ(test, 0, pagoda_require_release(client, &w->bo, 1, false,
							pagoda_closing_next(client)));
	submit_add(w->client, HERE, 7);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, NULL));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(w->bo));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(w->client->done, 1));
	KUNIT_EXPECT_LE(test, 5ull, submit_word(w->rig, w->bo, 0));
	submit_wait(w->client);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_closing_next(client));
	KUNIT_EXPECT_TRUE(test, xa_empty(&client->requirements->left));
	queue_world_end(w);
}

/*
 * A handle that is closed while a queued job needs its allocation is kept until the job is armed;
 * but not if the client's file is being closed, which ends all jobs and mappings anyway.
 */
static void queue_keeps_handles(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct pagoda_client *client = w->rig->client;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &w->args));
	for (i = 0; i < 2; i++) {
		pagoda_enter_anyway(w->rig->vidmm);
		pagoda_closing_handle(client, w->bo);
		pagoda_leave(w->rig->vidmm);
		KUNIT_EXPECT_EQ(test, i == 1, list_empty(&client->closing.handles));
		/* As if the client opened the handle again. */
		pagoda_closing_undo(client, w->bo);
		KUNIT_EXPECT_TRUE(test, list_empty(&client->closing.handles));
		pagoda_closing_begin_end(client);
	}
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	queue_world_end(w);
}

/*
 * A point gets its fence only after all smaller points of its timeline that jobs have promised to
 * signal.
 */
static void queue_signals_in_order(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct submit_client *other = submit_client(w->rig, 1);
	struct submit_args args = { .out = submit_syncobj(test), .out_point = 1 };
	struct dma_fence *fence;

	KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &args));
	args.out_point = 2;
	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	KUNIT_EXPECT_FALSE(test, submit_point(args.out, 1, &fence));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(args.out, 2));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	submit_client_end(other);
	queue_world_end(w);
}

/*
 * Points that calls other than SUBMIT signal, by pagoda_point_add() or by a list of syncobjs, also
 * get their fences only after smaller points that jobs have promised.
 */
static void queue_signals_calls_in_order(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct submit_args args = { .out = submit_syncobj(test), .out_point = 1 };
	struct drm_device *drm = w->rig->drm;
	struct pagoda_syncs syncs = {};
	struct pagoda_out_point out;
	struct drm_file *file;
	struct dma_fence *fence;
	u32 handle;

	file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, file);
	pagoda_file_syncobjs_init(file);
	KUNIT_ASSERT_EQ(test, 0, drm_syncobj_get_handle(file, args.out, &handle));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &args));
	KUNIT_ASSERT_EQ(test, 0, pagoda_point_get(drm, file, handle, 2, &out));
	pagoda_point_add(w->rig->vidmm, &out, NULL);
	pagoda_point_put(&out);
	KUNIT_EXPECT_FALSE(test, submit_point(args.out, 1, &fence));
	KUNIT_ASSERT_EQ(test, 0, pagoda_point_get_sync(drm, file, handle, 3, &syncs));
	pagoda_syncs_promise(w->rig->vidmm, &syncs);
	pagoda_syncs_signal(w->rig->vidmm, &syncs, NULL);
	pagoda_syncs_put(&syncs);
	KUNIT_EXPECT_FALSE(test, submit_point(args.out, 1, &fence));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(args.out, 3));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	drm_syncobj_put(pagoda_file_syncobj_remove(file, handle));
	pagoda_file_syncobjs_fini(file);
	queue_world_end(w);
}

/* Work that signals point 2 and waits for point 1 may be submitted before the work of point 1. */
static void queue_signals_by_value(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct submit_client *other = submit_client(w->rig, 1);
	struct drm_syncobj *syncobj = submit_syncobj(test);
	struct submit_args later = { .in = syncobj, .in_point = 1, .out = syncobj, .out_point = 2 };
	struct submit_args sooner = { .out = syncobj, .out_point = 1 };

	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &later));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, &sooner));
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(syncobj, 2));
	submit_client_end(other);
	queue_world_end(w);
}

/* A fenced job has its fence when SUBMIT returns, and so have the jobs before it in its context. */
static void queue_fenced(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct dma_fence *fence;
	u32 i;

	for (i = 0; i < 3; i++) {
		submit_add(w->client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, &w->args));
	}
	KUNIT_EXPECT_FALSE(test, submit_point(w->client->done, 1, &fence));
	submit_add(w->client, HERE, 1);
	w->args.fenced = true;
	KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, 0u, queue_length(w->client));
	KUNIT_EXPECT_FALSE(test, queue_is_idle(w->bo));
	KUNIT_ASSERT_TRUE(test, submit_point(w->client->done, 4, &fence));
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	dma_fence_put(fence);
	/* SUBMIT refuses a fenced job that waits for a point without a fence. */
	w->args.in = submit_syncobj(test);
	w->args.in_point = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, submit_empty(w->client, &w->args));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_EQ(test, 4ull, submit_word(w->rig, w->bo, 0));
	queue_world_end(w);
}

/*
 * Fenced jobs hold memory while they wait, so a client may have only DRM_PAGODA_MAX_FENCED_JOBS of
 * them; a job that isn't fenced is accepted all the same.
 */
static void queue_fenced_limit(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	u32 i;

	w->args.fenced = true;
	for (i = 0; i < DRM_PAGODA_MAX_FENCED_JOBS; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(w->client, &w->args));
	w->args.fenced = false;
	KUNIT_EXPECT_EQ(test, 0, submit_empty(w->client, &w->args));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	w->args.fenced = true;
	KUNIT_EXPECT_EQ(test, 0, submit_empty(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	queue_world_end(w);
}

/*
 * A fenced job is prepared at once, and so are the jobs before it in its context: if these are too
 * many, SUBMIT refuses the fenced job.
 */
static void queue_fenced_behind_others(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	u32 i;

	for (i = 0; i < DRM_PAGODA_MAX_FENCED_JOBS; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &w->args));
	w->args.fenced = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, submit_empty(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_MAX_FENCED_JOBS, queue_length(w->client));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(w->client, &w->args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	queue_world_end(w);
}

/* A SUBMIT that is refused doesn't take away the place that a job queued before has asked for. */
static void queue_survives_a_refusal(struct kunit *test)
{
	struct queue_world *w = queue_world(test);
	struct pagoda_bo *offered = pagoda_rig_bo(w->rig, 1, CPU, SUBMIT_VRAM, 0);
	const struct submit_args refused = { .bos = { offered }, .nr_bos = 1 };
	u32 tries = 10000;

	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(w->rig->vidmm, (struct pagoda_bo *[]) { offered }, 1,
					      DRM_PAGODA_OFFER_NORMAL, 0));
	submit_add(w->client, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, &w->args));
	/* The worker asks for a place. */
	flush_delayed_work(&w->client->context->deferred.work);
	KUNIT_EXPECT_EQ(test, -ENODATA, submit_empty(w->client, &refused));
	pagoda_rig_hold(w->rig, 0, false);
	while (queue_length(w->client) && --tries)
		usleep_range(500, 1000);
	KUNIT_EXPECT_NE(test, 0u, tries);
	pagoda_deferred_again(&w->client->context->deferred);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_EQ(test, 1ull, submit_word(w->rig, w->bo, 0));
	pagoda_rig_close(offered);
	queue_world_end(w);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE_PARAM(queue_holds_nothing, pagoda_rig_modes),
	KUNIT_CASE(queue_tells_the_policy),
	KUNIT_CASE_PARAM(queue_waits_for_fences, pagoda_rig_modes),
	KUNIT_CASE_PARAM(queue_remembers_the_list, pagoda_rig_modes),
	KUNIT_CASE(queue_keeps_handles),
	KUNIT_CASE_PARAM(queue_signals_in_order, pagoda_rig_modes),
	KUNIT_CASE_PARAM(queue_signals_calls_in_order, pagoda_rig_modes),
	KUNIT_CASE_PARAM(queue_signals_by_value, pagoda_rig_modes),
	KUNIT_CASE(queue_survives_a_refusal),
	KUNIT_CASE_PARAM(queue_fenced, pagoda_rig_modes),
	KUNIT_CASE_PARAM(queue_fenced_limit, pagoda_rig_modes),
	KUNIT_CASE(queue_fenced_behind_others),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "pagoda_submit_queue",
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
