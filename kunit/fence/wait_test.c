// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that operations which move, free, discard, clear or write an allocation's memory are
 * executed only after a fence in the allocation's reservation, of any usage, has signalled.
 */
#include <linux/delay.h>
#include <linux/dma-resv.h>
#include <linux/kthread.h>
#include "queue/queue_helpers.h"
#include "rig/rig.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define PAGES		9
/* Times that a test looks, 1 to 2 ms apart, whether any operation was executed too early. */
#define LOOKS		5

/*
 * A move, between TTM's memory types, that has to wait; with a negative @to the allocation is
 * closed instead.
 */
struct wait_step {
	const char *name;
	int from;
	int to;
};

static const struct wait_step steps[] = {
	{ "VRAM to system", TTM_PL_VRAM, TTM_PL_SYSTEM },
	{ "VRAM to aperture", TTM_PL_VRAM, TTM_PL_TT },
	{ "aperture to VRAM", TTM_PL_TT, TTM_PL_VRAM },
	{ "aperture to system", TTM_PL_TT, TTM_PL_SYSTEM },
	{ "system to VRAM", TTM_PL_SYSTEM, TTM_PL_VRAM },
	{ "closed in VRAM", TTM_PL_VRAM, -1 },
	{ "closed in the aperture", TTM_PL_TT, -1 },
};

static const enum dma_resv_usage usages[] = {
	DMA_RESV_USAGE_KERNEL, DMA_RESV_USAGE_WRITE, DMA_RESV_USAGE_READ, DMA_RESV_USAGE_BOOKKEEP,
};

static int wait_place(struct pagoda_bo *bo, int where)
{
	if (where == TTM_PL_VRAM)
		return pagoda_rig_to_vram(bo);
	return where == TTM_PL_TT ? pagoda_rig_to_aperture(bo, true) : pagoda_rig_to_system(bo);
}

static struct dma_fence *wait_attach(struct kunit *test, struct pagoda_bo *bo,
				     enum dma_resv_usage usage)
{
	struct dma_fence *fence = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, usage);
	return fence;
}

/* Returns the number of executed copies, fills, discards, MAPs and UNMAPs of an allocation. */
static u32 wait_operations(struct pagoda_rig *rig, u64 id)
{
	return pagoda_rig_count(rig, pagoda_rig_copy_op(rig), id) +
	       pagoda_rig_count(rig, pagoda_rig_fill_op(rig), id) +
	       pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, id) +
	       pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, id) +
	       pagoda_rig_count(rig, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, id);
}

/* Argument of a thread that moves, closes or releases an allocation, and may have to wait. */
struct waiter {
	struct kunit *test;
	struct pagoda_bo *bo;
	const struct wait_step *step;
	struct completion done;
	int ret;
};

static int waiter_run(void *data)
{
	struct waiter *waiter = data;

	/*
	 * With the test set, rig_is_queued() applies: the test's fences count as jobs with a place.
	 */
	current->kunit_test = waiter->test;
	if (waiter->step->to < 0)
		pagoda_rig_close(waiter->bo);
	else
		waiter->ret = wait_place(waiter->bo, waiter->step->to);
	complete(&waiter->done);
	return 0;
}

static void wait_one(struct pagoda_rig *rig, const struct wait_step *step,
		     enum dma_resv_usage usage)
{
	struct waiter waiter = {
		.test = rig->test,
		.bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM | APERTURE, 0),
		.step = step,
	};
	struct kunit *test = rig->test;
	u64 id = waiter.bo->id;
	struct dma_fence *fence;
	u32 i, before;

	pagoda_rig_write_vram(rig, waiter.bo, 1);
	KUNIT_ASSERT_EQ(test, 0, wait_place(waiter.bo, step->from));
	pagoda_rig_settle(rig);
	before = wait_operations(rig, id);
	fence = wait_attach(test, waiter.bo, usage);
	init_completion(&waiter.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(waiter_run, &waiter, "pagoda-waiter")));
	for (i = 0; i < LOOKS && wait_operations(rig, id) == before; i++) {
		pagoda_stream_flush(rig->vidmm);
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_EQ_MSG(test, before, wait_operations(rig, id), "%s, usage %u", step->name,
			    usage);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	wait_for_completion(&waiter.done);
	KUNIT_EXPECT_EQ(test, 0, waiter.ret);
	flush_workqueue(rig->vidmm->ttm.wq);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_LT_MSG(test, before, wait_operations(rig, id), "%s, usage %u", step->name,
			    usage);
	if (step->to < 0)
		return;
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, waiter.bo, 1));
	pagoda_rig_close(waiter.bo);
}

/* Each kind of move, and closing, is executed only after a fence of any usage has signalled. */
static void wait_for_usages(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(steps); i++)
		for (n = 0; n < ARRAY_SIZE(usages); n++)
			wait_one(rig, &steps[i], usages[n]);
}

static int releaser_run(void *data)
{
	struct waiter *waiter = data;

	pagoda_move_release(waiter->bo);
	complete(&waiter->done);
	return 0;
}

/*
 * If memory is short, TTM waits for a shared reservation instead of a dying allocation's own. The
 * fence of the unmap from the aperture isn't in the shared one, so pagoda_move_release() waits for
 * the unmap.
 */
static void wait_for_shared_unmap(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, APERTURE, 0);
	struct waiter waiter = { .bo = bo };
	struct dma_resv shared;

	dma_resv_init(&shared);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_TRUE(test, pagoda_release_is_mapped(bo->ttm.resource));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	bo->ttm.base.resv = &shared;
	init_completion(&waiter.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(releaser_run, &waiter, "pagoda-releaser")));
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&waiter.done, HZ / 20));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	wait_for_completion(&waiter.done);
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
						  bo->id));
	bo->ttm.base.resv = &bo->ttm.base._resv;
	dma_resv_fini(&shared);
	pagoda_rig_close(bo);
}

/* ---- Other ways to change memory ---------------------------------------------------- */

static int act_to_system(struct pagoda_bo *bo)
{
	return pagoda_rig_to_system(bo);
}

static int act_offer(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	return pagoda_offer(rig->vidmm, &bo, 1, DRM_PAGODA_OFFER_LOW, 0);
}

/*
 * Evicts the allocation, puts it on the client's residency list, brings it to VRAM, and takes it
 * off the list as not written to. So the kept copy is still valid: the allocation is clean.
 */
static int act_keep(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u64 trim;
	int ret = pagoda_rig_to_system(bo);

	if (!ret)
		ret = pagoda_require(rig->client, &bo, 1, &trim);
	if (!ret)
		ret = pagoda_rig_to_vram(bo);
	if (!ret)
		ret = pagoda_require_release(rig->client, &bo, 1, true, 0);
	KUNIT_EXPECT_TRUE(rig->test, pagoda_copy_is_clean(bo));
	return ret;
}

static int act_lose(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	pagoda_bo_mark_lost(bo);
	return 0;
}

static int act_clear(struct pagoda_bo *bo)
{
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = pagoda_lost_clear(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/* Writes as a debugger does. The device writes, because the CPU sees nothing of VRAM. */
static int act_write(struct pagoda_bo *bo)
{
	u64 value = 5;
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = pagoda_move_access(bo, PAGE_SIZE + 8, &value, sizeof(value), true);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret == sizeof(value) ? 0 : -EIO;
}

/*
 * A way to change memory besides a move with a copy; @prepare, if not NULL, is called before, and
 * @act has to wait for the fence.
 */
struct wait_act {
	const char *name;
	int (*prepare)(struct pagoda_rig *rig, struct pagoda_bo *bo);
	int (*act)(struct pagoda_bo *bo);
};

static const struct wait_act acts[] = {
	{ "what is offered is discarded", act_offer, act_to_system },
	{ "what has a copy is discarded", act_keep, act_to_system },
	{ "what was lost is cleared", act_lose, act_clear },
	{ "a debugger writes", NULL, act_write },
};

/* Returns the number of packets in the log that were executed for an allocation. */
static u32 act_packets(struct pagoda_rig *rig, u64 id)
{
	u32 i, count = 0;

	for (i = 0; i < READ_ONCE(rig->nr_log); i++)
		count += rig->log[i].allocation == id;
	return count;
}

struct actor {
	struct kunit *test;
	struct pagoda_bo *bo;
	const struct wait_act *act;
	struct completion done;
	int ret;
};

static int actor_run(void *data)
{
	struct actor *actor = data;

	current->kunit_test = actor->test;
	actor->ret = actor->act->act(actor->bo);
	complete(&actor->done);
	return 0;
}

static void wait_for_act(struct pagoda_rig *rig, const struct wait_act *act,
			 enum dma_resv_usage usage)
{
	struct actor actor = {
		.test = rig->test,
		.bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0),
		.act = act,
	};
	struct kunit *test = rig->test;
	u64 id = actor.bo->id;
	struct dma_fence *fence;
	u32 i;

	pagoda_rig_write_vram(rig, actor.bo, 1);
	if (act->prepare)
		KUNIT_ASSERT_EQ(test, 0, act->prepare(rig, actor.bo));
	pagoda_rig_settle_freed(rig);
	rig->nr_log = 0;
	fence = wait_attach(test, actor.bo, usage);
	init_completion(&actor.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(actor_run, &actor, "pagoda-actor")));
	for (i = 0; i < LOOKS && !act_packets(rig, id); i++) {
		pagoda_stream_flush(rig->vidmm);
		usleep_range(1000, 2000);
	}
	KUNIT_EXPECT_EQ_MSG(test, 0, act_packets(rig, id), "%s, usage %u", act->name, usage);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	wait_for_completion(&actor.done);
	KUNIT_EXPECT_EQ(test, 0, actor.ret);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_LT_MSG(test, 0, act_packets(rig, id), "%s, usage %u", act->name, usage);
	pagoda_rig_close(actor.bo);
	pagoda_rig_settle_freed(rig);
}

/* Discards, clears and a debugger's writes, too, are executed only after a fence of any usage. */
static void wait_for_acts(struct kunit *test)
{
	const struct pagoda_rig_options blind = { .no_window = true, .mode = test->param_value };
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(acts); i++)
		for (n = 0; n < ARRAY_SIZE(usages); n++)
			wait_for_act(rig, &acts[i], usages[n]);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE_PARAM(wait_for_usages, pagoda_rig_modes),
	KUNIT_CASE_PARAM(wait_for_acts, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(wait_for_shared_unmap, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite wait_suite = {
	.name = "pagoda_wait",
	.test_cases = wait_cases,
};

kunit_test_suite(wait_suite);
