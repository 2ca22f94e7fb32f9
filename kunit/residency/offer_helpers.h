/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers of the suites of offers, promotion and other suites that need VRAM to be full: calls of
 * residency/ for one allocation, allocations of an eighth of VRAM, and another client that fills
 * VRAM.
 */
#ifndef PAGODA_KUNIT_OFFER_HELPERS_H
#define PAGODA_KUNIT_OFFER_HELPERS_H

#include "submit/submit_helpers.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define EITHER		(SUBMIT_VRAM | SUBMIT_APERTURE)
#define PIECE		(PAGODA_RIG_VRAM_PAGES / 8)	/* pages; eight pieces fill VRAM */

static inline int offer_flags(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 priority, u32 flags)
{
	return pagoda_offer(rig->vidmm, &bo, 1, priority, flags);
}

static inline int offer(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 priority)
{
	return offer_flags(rig, bo, priority, 0);
}

/* Reclaims an allocation; returns an enum drm_pagoda_reclaim_result or a negative errno. */
static inline int reclaim(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_fence *fence;
	u32 result;
	int ret = pagoda_rig_reclaim(rig, &bo, 1, &result, false, &fence);

	dma_fence_put(fence);
	return ret ?: result;
}

static inline int make_resident(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_fence *fence;
	u64 trim;
	int ret = pagoda_rig_make_resident(rig, &bo, 1, &fence, &trim);

	dma_fence_put(fence);
	return ret;
}

static inline int evict(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_fence *fence;
	int ret = pagoda_rig_evict(rig, &bo, 1, &fence);

	dma_fence_put(fence);
	return ret;
}

static inline bool in_vram(const struct pagoda_bo *bo)
{
	return bo->ttm.resource->mem_type == TTM_PL_VRAM;
}

/* Returns an allocation of %PIECE pages that was made resident, with content of @seed. */
static inline struct pagoda_bo *piece(struct pagoda_rig *rig, u32 flags, u32 supported, u32 seed)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PIECE, flags, supported, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, bo));
	pagoda_rig_write(rig, bo, seed);
	return bo;
}

/*
 * Adds @fence to the allocation's reservation, as if a job used the allocation until @fence
 * signals.
 */
static inline void make_busy(struct pagoda_rig *rig, struct pagoda_bo *bo, struct dma_fence *fence)
{
	struct dma_resv *resv = bo->ttm.base.resv;

	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(rig->test, 0, dma_resv_reserve_fences(resv, 1));
	dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_unlock(resv);
}

/*
 * Waits until all paging is complete and TTM's workqueue has run, which frees the places that
 * moved allocations have left.
 */
static inline void settle_moves(struct pagoda_rig *rig)
{
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
}

static inline void close_all(struct pagoda_bo **bos, u32 count)
{
	while (count)
		if (bos[--count])
			pagoda_rig_close(bos[count]);
}

/*
 * Has a new client make @count allocations of a piece each resident in VRAM, with one request, and
 * returns them in @crowd.
 */
static inline void crowd_in(struct pagoda_rig *rig, struct pagoda_bo **crowd, u32 count)
{
	const struct pagoda_bo_params params = {
		.size = (u64)PIECE << PAGE_SHIFT,
		.supported = SUBMIT_VRAM,
	};
	struct pagoda_client *other = pagoda_client_create(rig->vidmm);
	struct dma_fence *fence;
	u64 trim;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(rig->test, other);
	/* Places that earlier moves left are free only when TTM's workqueue has run. */
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
	for (i = 0; i < count; i++) {
		crowd[i] = pagoda_bo_create(rig->vidmm, other, &params);
		KUNIT_ASSERT_FALSE(rig->test, IS_ERR(crowd[i]));
	}
	/* Each allocation holds a reference to its client. */
	pagoda_client_put(other);
	KUNIT_ASSERT_EQ(rig->test, 0,
			pagoda_rig_make_resident(rig, crowd, count, &fence, &trim));
	dma_fence_put(fence);
	pagoda_rig_settle(rig);
}

static inline void swap_out_all(struct pagoda_rig *rig)
{
	struct ttm_operation_ctx ctx = {};

	while (ttm_device_swapout(&rig->vidmm->ttm, &ctx, GFP_KERNEL) > 0)
		;
}

#endif
