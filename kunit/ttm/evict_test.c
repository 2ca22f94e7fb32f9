// SPDX-License-Identifier: GPL-2.0
/* Evictions: which allocations in VRAM may be evicted, and when their room is free. */
#include "rig/rig.h"
#include "work_helpers.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define PAGES		8

static bool evict_gains(struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_VRAM };
	bool gains;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	gains = bo->ttm.bdev->funcs->eviction_valuable(&bo->ttm, &place);
	dma_resv_unlock(bo->ttm.base.resv);
	return gains;
}

/*
 * TTM passes over an allocation with a reservation of its own while work without a place of an
 * engine uses the allocation, whatever the usage of the work's fence is.
 */
static void evict_passes_over_the_used(struct kunit *test)
{
	static const enum dma_resv_usage usages[] = {
		DMA_RESV_USAGE_KERNEL, DMA_RESV_USAGE_WRITE, DMA_RESV_USAGE_READ,
		DMA_RESV_USAGE_BOOKKEEP,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	struct other_work *work;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(usages); i++) {
		work = other_work_add(test, bo, usages[i]);
		KUNIT_EXPECT_FALSE_MSG(test, evict_gains(bo), "usage %u", usages[i]);
		KUNIT_EXPECT_FALSE(test, work->awaited);
		dma_fence_signal(&work->base);
		other_work_put(work);
		KUNIT_EXPECT_TRUE_MSG(test, evict_gains(bo), "usage %u", usages[i]);
	}
	pagoda_rig_close(bo);
}

/* The room of an evicted allocation is free before the device has copied the content out. */
static void evict_frees_room_at_once(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGES, CPU, VRAM, 0);
	struct ttm_operation_ctx ctx = {};
	u64 before;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle_freed(rig);
	before = READ_ONCE(rig->vidmm->vram_free);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_evict(bo, &ctx));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(bo));
	KUNIT_EXPECT_EQ(test, before + PAGES * PAGE_SIZE, READ_ONCE(rig->vidmm->vram_free));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

static struct kunit_case evict_cases[] = {
	KUNIT_CASE(evict_passes_over_the_used),
	KUNIT_CASE(evict_frees_room_at_once),
	{}
};

static struct kunit_suite evict_suite = {
	.name = "pagoda_evict",
	.test_cases = evict_cases,
};

kunit_test_suite(evict_suite);
