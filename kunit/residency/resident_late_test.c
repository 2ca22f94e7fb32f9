// SPDX-License-Identifier: GPL-2.0
/*
 * Residency of lists beside work that hasn't ended: which fences calls wait for, moves that have to
 * wait, and which allocations a queued job still needs. Also lists of private allocations, which
 * share a reservation, and that allocations are noted as resident in the last step only.
 */
#include <kunit/static_stub.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/life.h"
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "offer_helpers.h"

#define HERE	SZ_4M
#define BOS	2u
#define LATE	(HZ / 50 ?: 1)	/* jiffies until late_begin()'s fence signals */
#define NUMBER	7u		/* of a queued job */
#define AT_ONCE	(5 * HZ)

static void late_make(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	for (i = 0; i < BOS; i++)
		bos[i] = pagoda_rig_bo(rig, 1, CPU, EITHER, 0);
}

/* ---- Waits ---------------------------------------------------------------------------- */

/* A fence of another device in an allocation's reservation; a work item signals the fence. */
struct late_signal {
	struct delayed_work work;
	struct dma_fence *fence;
};

static void late_work(struct work_struct *work)
{
	struct late_signal *signal = container_of(to_delayed_work(work), struct late_signal, work);

	dma_fence_signal(signal->fence);
}

static void late_begin(struct kunit *test, struct late_signal *signal, struct pagoda_bo *bo,
		       enum dma_resv_usage usage)
{
	signal->fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, signal->fence, usage);
	INIT_DELAYED_WORK_ONSTACK(&signal->work, late_work);
	queue_delayed_work(system_dfl_wq, &signal->work, LATE);
}

/* Returns whether the fence had signalled when the function was called. */
static bool late_end(struct late_signal *signal)
{
	bool ended = dma_fence_is_signaled(signal->fence);

	flush_delayed_work(&signal->work);
	destroy_delayed_work_on_stack(&signal->work);
	dma_fence_put(signal->fence);
	return ended;
}

static int late_joins_no_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence)
{
	return -ENOMEM;
}

/*
 * Without memory for a fence that also waits for other devices, pagoda_residency_with_others()
 * waits for the devices itself, whichever allocation of the list they share.
 */
static void late_waits_for_others(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct dma_fence *fence = NULL;
	struct late_signal signal;
	struct pagoda_bo *bos[BOS];
	u32 i;

	late_make(rig, bos);
	kunit_activate_static_stub(test, pagoda_residency_and_others, late_joins_no_others);
	for (i = 0; i < BOS; i++) {
		late_begin(test, &signal, bos[i], DMA_RESV_USAGE_KERNEL);
		pagoda_residency_with_others(bos, BOS, &fence);
		KUNIT_EXPECT_TRUE_MSG(test, late_end(&signal), "allocation %u", i);
	}
	kunit_deactivate_static_stub(test, pagoda_residency_and_others);
	KUNIT_EXPECT_NULL(test, fence);
	close_all(bos, BOS);
}

/* pagoda_residency_await() waits for all work that uses an allocation of the list. */
static void late_awaits_work(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct late_signal signal;
	struct pagoda_bo *bos[BOS];
	u32 i;

	late_make(rig, bos);
	for (i = 0; i < BOS; i++) {
		late_begin(test, &signal, bos[i], DMA_RESV_USAGE_BOOKKEEP);
		KUNIT_EXPECT_EQ(test, 0, pagoda_residency_await(bos, BOS));
		KUNIT_EXPECT_TRUE_MSG(test, late_end(&signal), "allocation %u", i);
	}
	close_all(bos, BOS);
}

static int late_set_priority(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	const u32 low = DRM_PAGODA_RESIDENCY_LOW;

	return pagoda_set_priority(rig->vidmm, &bo, &low, 1);
}

/* A call for an allocation whose reservation another thread holds. */
struct late_call {
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	int (*call)(struct pagoda_rig *rig, struct pagoda_bo *bo);
	int ret;
};

/* Makes the call in a thread that has got a signal. */
static int late_run(void *arg)
{
	struct late_call *call = arg;

	allow_signal(SIGINT);
	send_sig(SIGINT, current, 1);
	call->ret = call->call(call->rig, call->bo);
	flush_signals(current);
	disallow_signal(SIGINT);
	return 0;
}

/* A signal ends the wait for the reservation of an allocation in the list. */
static void late_interrupted(struct kunit *test)
{
	static int (* const calls[])(struct pagoda_rig *rig, struct pagoda_bo *bo) = {
		make_resident, evict, late_set_priority,
	};
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = piece(rig, CPU, SUBMIT_VRAM, 1);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		struct late_call call = { .rig = rig, .bo = bo, .call = calls[i] };
		struct pagoda_worker worker = { .run = late_run, .arg = &call };

		dma_resv_lock(bo->ttm.base.resv, NULL);
		pagoda_worker_start(test, &worker);
		KUNIT_EXPECT_TRUE_MSG(test, pagoda_worker_is_done(&worker, AT_ONCE), "call %u", i);
		dma_resv_unlock(bo->ttm.base.resv);
		pagoda_worker_end(test, &worker);
		KUNIT_EXPECT_EQ_MSG(test, -EINTR, call.ret, "call %u", i);
	}
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_NE(test, (u32)DRM_PAGODA_RESIDENCY_LOW, bo->wish.priority);
	pagoda_rig_close(bo);
}

/* ---- Moves that have to wait ---------------------------------------------------------- */

/*
 * MAKE_RESIDENT leaves an allocation in the aperture that can't move to VRAM before another
 * device's fence has signalled, keeps no reference to the fence, and brings the allocation to VRAM
 * when it is called after the fence has signalled.
 */
static void late_stays_usable(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct dma_fence *gate = pagoda_test_fence(test), *fence;
	struct pagoda_bo *bo = piece(rig, CPU, EITHER, 1);
	u32 refs;
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	settle_moves(rig);
	/* The rig's stub takes the fence for that of a job with a place of an engine. */
	kunit_deactivate_static_stub(test, pagoda_stream_is_queued);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, gate, DMA_RESV_USAGE_BOOKKEEP);
	refs = kref_read(&gate->refcount);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, &bo, 1, &fence, &trim));
	KUNIT_EXPECT_NULL(test, fence);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_EQ(test, refs, kref_read(&gate->refcount));
	dma_fence_signal(gate);
	dma_fence_put(gate);
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, bo));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* Fence that late_is_queued() signals. */
static struct dma_fence *late_gate;

/*
 * Stub of pagoda_stream_is_queued(): the fence signals after the first look at it and before the
 * second.
 */
static bool late_is_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	if (fence != late_gate || dma_fence_is_signaled(fence))
		return false;
	dma_fence_signal(fence);
	return true;
}

/*
 * If the fence that an eviction would have to wait for signals just when the eviction fails for
 * that reason, EVICT tries once more instead of failing with -EBUSY.
 */
static void late_evicts_again(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, PIECE, SUBMIT_VRAM, HERE);

	/* Without a mapping no job can use the allocation: only paging is in the way. */
	pagoda_vm_forget(client->vm, bo);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	settle_moves(rig);
	late_gate = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, late_gate, DMA_RESV_USAGE_KERNEL);
	kunit_activate_static_stub(test, pagoda_stream_is_queued, late_is_queued);
	KUNIT_EXPECT_EQ(test, 0, evict(rig, bo));
	kunit_deactivate_static_stub(test, pagoda_stream_is_queued);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(late_gate));
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	dma_fence_put(late_gate);
	pagoda_rig_close(bo);
	submit_client_end(client);
}

/* ---- Lists ---------------------------------------------------------------------------- */

/* Private allocations of a VM, which share a reservation, may be in one list of every call. */
static void late_private_list(struct kunit *test)
{
	static const u32 priorities[BOS] = {
		DRM_PAGODA_RESIDENCY_HIGH, DRM_PAGODA_RESIDENCY_LOW,
	};
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct dma_fence *fence = NULL;
	struct pagoda_bo *bos[BOS];
	u32 results[BOS], i;
	u64 trim;

	for (i = 0; i < BOS; i++)
		bos[i] = submit_private(client, 1, SUBMIT_VRAM, HERE + i * SZ_2M);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_make_resident(rig, bos, BOS, &fence, &trim));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, pagoda_set_priority(rig->vidmm, bos, priorities, BOS));
	for (i = 0; i < BOS; i++) {
		KUNIT_EXPECT_TRUE(test, in_vram(bos[i]));
		KUNIT_EXPECT_EQ(test, priorities[i], bos[i]->wish.priority);
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_offer(rig->vidmm, bos, BOS, DRM_PAGODA_OFFER_LOW, 0));
	for (i = 0; i < BOS; i++)
		KUNIT_EXPECT_TRUE(test, pagoda_bo_is_offered(bos[i]));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_reclaim(rig, bos, BOS, results, false, &fence));
	dma_fence_put(fence);
	for (i = 0; i < BOS; i++)
		KUNIT_EXPECT_EQ(test, (u32)DRM_PAGODA_RECLAIM_OK, results[i]);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_evict(rig, bos, BOS, &fence));
	dma_fence_put(fence);
	for (i = 0; i < BOS; i++) {
		KUNIT_EXPECT_FALSE(test, in_vram(bos[i]));
		submit_close(client, bos[i]);
	}
	submit_client_end(client);
}

/*
 * pagoda_residency_make() changes neither that an allocation isn't noted as resident, nor that it
 * is: a request that fails afterwards leaves that as before.
 */
static void late_notes_last(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);
	struct dma_fence *fence;
	u64 trim;
	u32 i;

	for (i = 0; i < 2; i++) {
		pagoda_enter_anyway(rig->vidmm);
		KUNIT_EXPECT_EQ(test, 0, pagoda_residency_make(rig->vidmm, &bo, 1, &fence, &trim));
		pagoda_leave(rig->vidmm);
		dma_fence_put(fence);
		KUNIT_EXPECT_TRUE(test, in_vram(bo));
		KUNIT_EXPECT_EQ(test, i == 1, READ_ONCE(bo->wish.resident));
		pagoda_residency_note(&bo, 1);
		KUNIT_EXPECT_TRUE(test, READ_ONCE(bo->wish.resident));
	}
	pagoda_rig_close(bo);
}

/* Returns how many allocations pagoda_require_bound() adds to @named for a job with number @job. */
static u32 late_bound(struct submit_client *client, u64 job, struct pagoda_bo **named, u32 nr_named)
{
	struct pagoda_bo **found;
	u32 i, count;

	mutex_lock(&client->vm->lock);
	KUNIT_EXPECT_EQ(client->rig->test, 0,
			pagoda_require_bound(client->vm, job, named, nr_named, &found, &count));
	mutex_unlock(&client->vm->lock);
	for (i = nr_named; i < count; i++)
		drm_gem_object_put(pagoda_bo_gem(found[i]));
	kvfree(found);
	return count - nr_named;
}

/*
 * An allocation that EVICT takes off the residency list is still needed by the jobs that were
 * queued before, but not by later jobs, and isn't needed twice by a job that lists it.
 */
static void late_needed_by_queued(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0);
	u64 trim;

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE));
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, NUMBER, NULL, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(rig->client, &bo, 1, &trim));
	KUNIT_EXPECT_EQ(test, 1u, late_bound(client, NUMBER, NULL, 0));
	KUNIT_EXPECT_EQ(test, 1u, late_bound(client, U64_MAX, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, NUMBER, &bo, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require_release(rig->client, &bo, 1, false, NUMBER + 1));
	KUNIT_EXPECT_EQ(test, 1u, late_bound(client, NUMBER, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, NUMBER, &bo, 1));
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, NUMBER + 1, NULL, 0));
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, U64_MAX, NULL, 0));
	pagoda_require_purge(rig->client);
	KUNIT_EXPECT_EQ(test, 0u, late_bound(client, NUMBER, NULL, 0));
	submit_close(client, bo);
	submit_client_end(client);
}

static struct kunit_case late_cases[] = {
	KUNIT_CASE(late_waits_for_others),
	KUNIT_CASE(late_awaits_work),
	KUNIT_CASE(late_interrupted),
	KUNIT_CASE(late_stays_usable),
	KUNIT_CASE(late_evicts_again),
	KUNIT_CASE(late_private_list),
	KUNIT_CASE(late_notes_last),
	KUNIT_CASE(late_needed_by_queued),
	{}
};

static struct kunit_suite late_suite = {
	.name = "pagoda_resident_late",
	.test_cases = late_cases,
};

kunit_test_suite(late_suite);
