// SPDX-License-Identifier: GPL-2.0
/*
 * Exported allocations that other work uses. A CPU access, bracketed by dma_buf_begin_cpu_access(),
 * waits for such work without the reservation, which all that share the allocation need. An
 * importer that maps the allocation holds the reservation, but doesn't hold up the rebuild after a
 * reset.
 */
#include <linux/delay.h>
#include <kunit/static_stub.h>
#include "queue/queue_helpers.h"
#include "prime_helpers.h"
#include "rig/spy.h"
#include "work_helpers.h"

#define BOTH	(SUBMIT_VRAM | SUBMIT_APERTURE)
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define SEED	0x5a4eu
#define WORKS	6
/* PRIME_ROUNDS */
#define ROUNDS	4
#define LIMIT	(30 * HZ)

/* @dma_buf: that of @bo, whose content of SEED is in VRAM, where the CPU doesn't reach it */
struct wait_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	struct dma_buf *dma_buf;
};

static struct wait_test wait_begin(struct kunit *test)
{
	const struct pagoda_rig_options options = { .no_window = true };
	struct wait_test t = { .test = test, .rig = pagoda_rig_create(test, &options) };

	t.bo = pagoda_rig_bo(t.rig, PRIME_PAGES, CPU, BOTH, 0);
	t.dma_buf = prime_export(t.bo);
	KUNIT_ASSERT_NOT_NULL(test, t.dma_buf);
	pagoda_rig_write_vram(t.rig, t.bo, SEED);
	pagoda_rig_settle(t.rig);
	return t;
}

static void wait_end(struct wait_test *t)
{
	prime_put(t->dma_buf);
	pagoda_rig_close(t->bo);
}

/* Expects that a thread has waited for @work, with the reservation held if @locked. Drops @work. */
static void wait_expect_awaited(struct wait_test *t, struct other_work *work, bool locked)
{
	KUNIT_EXPECT_TRUE(t->test, work->awaited);
	KUNIT_EXPECT_EQ(t->test, locked, work->under_resv);
	other_work_put(work);
}

static void wait_expect_moved(struct wait_test *t)
{
	KUNIT_EXPECT_EQ(t->test, (u32)TTM_PL_TT, t->bo->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(t->test, pagoda_rig_holds(t->rig, t->bo, SEED));
}

/* Before the allocation moves, work is waited for without the reservation. */
static void cpu_moves_after_work(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct other_work *work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);

	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	wait_expect_awaited(&t, work, false);
	wait_expect_moved(&t);
	wait_end(&t);
}

/* Once the exporter's device is removed, an access of the CPU fails, and moves nothing. */
static void cpu_of_removed_device(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct other_work *work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);

	/* As drm_dev_unplug(), for a DRM device that isn't registered. */
	WRITE_ONCE(t.rig->drm->unplugged, true);
	KUNIT_EXPECT_EQ(test, -ENODEV, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	KUNIT_EXPECT_FALSE(test, work->awaited);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, t.bo->ttm.resource->mem_type);
	WRITE_ONCE(t.rig->drm->unplugged, false);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	wait_expect_awaited(&t, work, false);
	wait_expect_moved(&t);
	wait_end(&t);
}

/* Before zeros replace lost content in VRAM, work is waited for without the reservation. */
static void cpu_fills_after_work(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct other_work *work = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);

	pagoda_bo_mark_lost(t.bo);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_TO_DEVICE));
	wait_expect_awaited(&t, work, false);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, t.bo->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	wait_end(&t);
}

/* Lost content of system pages is replaced by zeros at once, by the CPU. */
static void cpu_fills_pages(struct kunit *test)
{
	struct wait_test t = wait_begin(test);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(t.bo, false));
	pagoda_rig_settle(t.rig);
	KUNIT_ASSERT_TRUE(test, pagoda_rig_holds(t.rig, t.bo, SEED));
	pagoda_bo_mark_lost(t.bo);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_TO_DEVICE));
	KUNIT_EXPECT_FALSE(test, t.bo->content.unclean);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_idle(t.bo));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, t.bo->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	wait_end(&t);
}

/* If the zeros are lost, too, the access fails; the next access finds zeros. */
static void cpu_loses_zeros(struct kunit *test)
{
	struct wait_test t = wait_begin(test);

	pagoda_bo_mark_lost(t.bo);
	pagoda_rig_refuse_next(t.rig);
	KUNIT_EXPECT_EQ(test, -EIO, dma_buf_begin_cpu_access(t.dma_buf, DMA_TO_DEVICE));
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_TO_DEVICE));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	wait_end(&t);
}

/* Stands in for pagoda_stream_is_queued(): all work has a place of an engine. */
static bool cpu_work_has_place(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return false;
}

/*
 * A piece of work follows the other. Expects that the reservation isn't held for any if @queued;
 * else that it is held from the ROUNDS + 1st on, so that the access comes to an end.
 */
static void cpu_after_works(struct kunit *test, bool queued)
{
	struct wait_test t = wait_begin(test);
	struct other_work *works[WORKS];
	u32 i;

	for (i = 0; i < WORKS; i++)
		works[i] = other_work_add(test, t.bo, DMA_RESV_USAGE_BOOKKEEP);
	if (!queued)
		kunit_activate_static_stub(test, pagoda_stream_is_queued, cpu_work_has_place);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	if (!queued)
		kunit_deactivate_static_stub(test, pagoda_stream_is_queued);
	for (i = 0; i < WORKS; i++)
		wait_expect_awaited(&t, works[i], !queued && i >= ROUNDS);
	wait_expect_moved(&t);
	wait_end(&t);
}

static void cpu_after_queued_works(struct kunit *test)
{
	cpu_after_works(test, true);
}

static void cpu_after_works_with_place(struct kunit *test)
{
	cpu_after_works(test, false);
}

static struct other_work *wait_importers_work;

static void wait_importer_told(struct dma_buf_attachment *attach)
{
	struct dma_resv *resv = attach->dmabuf->resv;

	if (!dma_resv_reserve_fences(resv, 2))
		dma_resv_add_fence(resv, &wait_importers_work->base, DMA_RESV_USAGE_BOOKKEEP);
}

static const struct dma_buf_attach_ops wait_importer_ops = {
	.invalidate_mappings = wait_importer_told,
};

/* An importer, told of the move, adds its work: this is waited for without the reservation, too. */
static void cpu_moves_after_importer(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct dma_buf_attachment *attach;

	wait_importers_work = other_work_new(test, t.dma_buf->resv);
	attach = test_ok(test, dma_buf_dynamic_attach(t.dma_buf, t.rig->info.dma_dev,
						      &wait_importer_ops, &t));
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	wait_expect_moved(&t);
	dma_buf_detach(t.dma_buf, attach);
	wait_expect_awaited(&t, wait_importers_work, false);
	wait_end(&t);
}

static u32 cpu_looks;

/*
 * Stands in for pagoda_stream_is_queued(): work gets a place of an engine after the first look at
 * it.
 */
static bool cpu_work_gets_place(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return !cpu_looks++;
}

/*
 * The move fails because of work without a place of an engine, which an importer added when it was
 * told, and which has got a place when the access looks for it: the access tries again.
 */
static void cpu_moves_at_second_try(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct dma_buf_attachment *attach;

	wait_importers_work = other_work_new(test, t.dma_buf->resv);
	attach = test_ok(test, dma_buf_dynamic_attach(t.dma_buf, t.rig->info.dma_dev,
						      &wait_importer_ops, &t));
	cpu_looks = 0;
	kunit_activate_static_stub(test, pagoda_stream_is_queued, cpu_work_gets_place);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(t.dma_buf, DMA_FROM_DEVICE));
	kunit_deactivate_static_stub(test, pagoda_stream_is_queued);
	KUNIT_EXPECT_LT(test, 1u, cpu_looks);
	wait_expect_moved(&t);
	dma_buf_detach(t.dma_buf, attach);
	wait_expect_awaited(&t, wait_importers_work, false);
	wait_end(&t);
}

/* Attaches and maps, which an importer in the kernel does with the reservation held. */
static int wait_import(void *arg)
{
	struct wait_test *t = arg;
	struct dma_buf_attachment *attach = prime_attach(t->rig, t->dma_buf);

	if (IS_ERR(attach))
		return PTR_ERR(attach);
	prime_detach(t->dma_buf, attach);
	return 0;
}

/* An importer that maps an allocation which needn't move doesn't wait for work. */
static void import_beside_work(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct pagoda_worker importer = { .run = wait_import, .arg = &t };
	struct dma_fence *fence = pagoda_test_fence(test);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(t.bo, false));
	pagoda_rig_settle(t.rig);
	pagoda_rig_add_fence(test, t.dma_buf->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_worker_start(test, &importer);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&importer, LIMIT));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	pagoda_worker_end(test, &importer);
	wait_expect_moved(&t);
	wait_end(&t);
}

static int wait_reset(void *arg)
{
	struct wait_test *t = arg;

	return pagoda_vidmm_reset(t->rig->vidmm);
}

/* Waits until a thread waits for the fence. */
static void wait_until_awaited(struct kunit *test, struct dma_fence *fence)
{
	unsigned long end = jiffies + LIMIT;

	while (!test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &fence->flags) &&
	       time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &fence->flags));
}

/*
 * An importer that maps the allocation waits for queued work with the reservation held, which the
 * rebuild after a reset needs: the importer gives up, and the rebuild comes to an end.
 */
static void import_ends_at_reset(struct kunit *test)
{
	struct wait_test t = wait_begin(test);
	struct pagoda_worker importer = { .run = wait_import, .arg = &t };
	struct pagoda_worker resetter = { .run = wait_reset, .arg = &t };
	struct dma_fence *fence = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, t.dma_buf->resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_worker_start(test, &importer);
	wait_until_awaited(test, fence);
	KUNIT_EXPECT_TRUE(test, dma_resv_is_locked(t.dma_buf->resv));
	pagoda_worker_start(test, &resetter);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&resetter, LIMIT));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_ASSERT_TRUE(test, pagoda_worker_is_done(&importer, LIMIT));
	KUNIT_EXPECT_EQ(test, -EAGAIN, importer.ret);
	pagoda_worker_end(test, &resetter);
	KUNIT_EXPECT_EQ(test, 0, wait_import(&t));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(t.rig, t.bo));
	wait_end(&t);
}

static struct kunit_case prime_wait_cases[] = {
	KUNIT_CASE(cpu_moves_after_work),
	KUNIT_CASE(cpu_of_removed_device),
	KUNIT_CASE(cpu_fills_after_work),
	KUNIT_CASE(cpu_fills_pages),
	KUNIT_CASE(cpu_loses_zeros),
	KUNIT_CASE(cpu_after_queued_works),
	KUNIT_CASE(cpu_after_works_with_place),
	KUNIT_CASE(cpu_moves_after_importer),
	KUNIT_CASE(cpu_moves_at_second_try),
	KUNIT_CASE(import_beside_work),
	KUNIT_CASE(import_ends_at_reset),
	{}
};

static struct kunit_suite prime_wait_suite = {
	.name = "pagoda_prime_wait",
	.test_cases = prime_wait_cases,
};

kunit_test_suite(prime_wait_suite);
