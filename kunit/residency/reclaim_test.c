// SPDX-License-Identifier: GPL-2.0
/*
 * RECLAIM of offered allocations: the content is whole or zeros, wherever the allocation was and
 * whatever the device did during the offer, also at random against a model; and which allocations
 * get pages and become resident again.
 */
#include <linux/prandom.h>
#include <drm/ttm/ttm_tt.h>
#include "segment/tiled_helpers.h"
#include "offer_helpers.h"

/* ---- Reclaim ------------------------------------------------------------------------- */

/*
 * After RECLAIM an allocation has its content or, if that was discarded, zeros. A new allocation in
 * the VRAM of discarded content reads as zeros.
 */
static void reclaim_content(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = piece(rig, CPU, EITHER, 3), *next;

	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	PAGODA_PROVES(C172);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	/* Evicted from the aperture, the allocation keeps its content. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bo));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));

	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bo));
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_EXPECT_FALSE(test, ttm_tt_is_populated(bo->ttm.ttm));
	PAGODA_PROVES(C172, C173);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, bo));
	KUNIT_EXPECT_TRUE(test, ttm_tt_is_populated(bo->ttm.ttm));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	/*
	 * The rig's device fills discarded VRAM with poison: a new allocation in this VRAM reads as
	 * zeros all the same.
	 */
	next = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES - 2 * PIECE, CPU, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, next));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, next));
	pagoda_rig_close(next);
	pagoda_rig_close(bo);
}

/*
 * RECLAIM makes an allocation resident again that was made resident before the offer, unless EVICT
 * was called since; the fence covers the move. An allocation outside of VRAM that isn't CPU visible
 * gets no pages.
 */
static void reclaim_pages_in(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[2] = {
		piece(rig, CPU, SUBMIT_VRAM, 1), piece(rig, 0, SUBMIT_VRAM, 2),
	};
	struct dma_fence *fence;
	u32 results[2];

	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(rig->vidmm, bos, 2, DRM_PAGODA_OFFER_LOW, 0));
	/* The first allocation leaves VRAM as a victim, the second one on its client's request. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[0]));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[1]));
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_reclaim(rig, bos, 2, results, true, &fence));
	PAGODA_PROVES(C174);
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	KUNIT_EXPECT_FALSE(test, bos[1]->ttm.ttm && ttm_tt_is_populated(bos[1]->ttm.ttm));
	KUNIT_EXPECT_EQ(test, results[0], (u32)DRM_PAGODA_RECLAIM_DISCARDED);
	KUNIT_EXPECT_EQ(test, results[1], (u32)DRM_PAGODA_RECLAIM_DISCARDED);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, dma_fence_is_signaled(fence));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bos[0]));
	dma_fence_put(fence);
	close_all(bos, 2);
}

/*
 * Pages of allocations that were offered with ALLOW_DECOMMIT are freed instead of swapped out, and
 * the content is discarded; without the flag it comes back.
 */
static void reclaim_decommitted(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u64 discarded = atomic64_read(&rig->vidmm->stats.discarded);
	struct pagoda_bo *bos[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		bos[i] = pagoda_rig_bo(rig, 9, CPU, EITHER, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bos[i], i == 2));
		pagoda_rig_write(rig, bos[i], i);
	}
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[0], DRM_PAGODA_OFFER_LOW));
	for (i = 1; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, offer_flags(rig, bos[i], DRM_PAGODA_OFFER_LOW,
						     DRM_PAGODA_OFFER_ALLOW_DECOMMIT));
	pagoda_rig_settle(rig);
	swap_out_all(rig);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, ttm_tt_is_populated(bos[i]->ttm.ttm));
		KUNIT_EXPECT_EQ(test, !(bos[i]->ttm.ttm->page_flags & TTM_TT_FLAG_SWAPPED), i > 0);
		KUNIT_EXPECT_EQ(test, bos[i]->offer.discarded, i > 0);
	}
	KUNIT_EXPECT_EQ(test, discarded + 2 * bos[1]->ttm.base.size,
			(u64)atomic64_read(&rig->vidmm->stats.discarded));
	PAGODA_PROVES(C172, C173);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, bos[0]));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[0], 0));
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, bos[i]));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bos[i]));
	}
	close_all(bos, 3);
}

/*
 * If an allocation's pages find no device addresses, it stays offered: RECLAIM reports
 * NOT_COMMITTED for it or, if all of the list must succeed, fails with -ENOMEM.
 */
static void reclaim_not_committed(struct kunit *test)
{
	static const struct pagoda_rig_mode mode = {
		VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, true
	};
	const struct pagoda_rig_options options = { .mode = &mode, .mmu_pages = 512 };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bos[2] = { pagoda_rig_bo(rig, 2, CPU, EITHER, 0),
				     pagoda_rig_bo(rig, 600, CPU, SUBMIT_VRAM, 0) };
	struct dma_fence *fence;
	u32 results[2];

	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[1]));
	pagoda_rig_write(rig, bos[1], 4);
	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(rig->vidmm, bos, 2, DRM_PAGODA_OFFER_LOW, 0));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[1]));
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_reclaim(rig, bos, 2, results, true, &fence));
	KUNIT_EXPECT_NULL(test, fence);
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_offered(bos[0]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_reclaim(rig, bos, 2, results, false, &fence));
	PAGODA_PROVES(C172);
	KUNIT_EXPECT_EQ(test, results[0], (u32)DRM_PAGODA_RECLAIM_OK);
	KUNIT_EXPECT_EQ(test, results[1], (u32)DRM_PAGODA_RECLAIM_NOT_COMMITTED);
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_offered(bos[0]));
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_offered(bos[1]));
	KUNIT_EXPECT_EQ(test, -ENODATA, make_resident(rig, bos[1]));
	dma_fence_put(fence);
	close_all(bos, 2);
}

/*
 * When the content of a tiled allocation is discarded, so is the content in its window; else
 * RECLAIM leaves the window as it was.
 */
static void offer_tiled(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 i;

	for (i = 0; i < TILED_LAYOUTS; i++) {
		struct pagoda_bo *shown = tiled_shown(rig, &tiled_layouts[i], 7);
		struct pagoda_bo *kept = tiled_shown(rig, &tiled_layouts[i], 9);

		KUNIT_ASSERT_EQ(test, 0, offer(rig, shown, DRM_PAGODA_OFFER_LOW));
		KUNIT_ASSERT_EQ(test, 0, offer(rig, kept, DRM_PAGODA_OFFER_LOW));
		KUNIT_ASSERT_EQ(test, 0, evict(rig, shown));
		KUNIT_EXPECT_NULL(test, shown->tiling.range);
		KUNIT_EXPECT_FALSE(test, shown->tiling.is_tiled_in_system);
		KUNIT_EXPECT_FALSE(test, shown->tiling.alternate_view);
		KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, shown));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, shown));
		KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(shown));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, shown));
		KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(rig, kept));
		KUNIT_EXPECT_TRUE(test, window_content(rig, kept, 9, false));
		pagoda_rig_close(kept);
		pagoda_rig_close(shown);
	}
}

/* ---- Resets and failures --------------------------------------------------------------- */

/* After a reset idle offered allocations aren't filled with zeros, but leave VRAM, discarded. */
static void offer_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *offered = piece(rig, CPU, SUBMIT_VRAM, 1);
	struct pagoda_bo *other = piece(rig, CPU, SUBMIT_VRAM, 2);
	struct drm_pagoda_allocation_info info;
	u32 fills;

	KUNIT_ASSERT_EQ(test, 0, offer(rig, offered, DRM_PAGODA_OFFER_HIGH));
	fills = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, offered->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_rig_settle(rig);
	/* The offered allocation wasn't cleared; the other allocation's content is lost. */
	KUNIT_EXPECT_FALSE(test, in_vram(offered));
	KUNIT_EXPECT_EQ(test, fills, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, offered->id));
	pagoda_bo_info(offered, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_OFFERED);
	pagoda_bo_info(other, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, offered));
	KUNIT_EXPECT_TRUE(test, in_vram(offered));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, offered));
	pagoda_rig_close(offered);
	pagoda_rig_close(other);
}

/*
 * If the device fails at DISCARD_CONTENT, or the builder reports busy, the content counts as
 * discarded all the same, and the allocation has zeros after RECLAIM.
 */
static void offer_discard_fails(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = piece(rig, CPU, SUBMIT_VRAM, 1);
	struct drm_pagoda_allocation_info info;

	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	pagoda_rig_settle(rig);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_DISCARD_CONTENT, .allocation = bo->id, .times = 1,
	};
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, rig->fail.times, 0u);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, info.state & DRM_PAGODA_CONTENT_OFFERED, 0u);
	/* A builder that reports busy is waited for (C11). */
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_rig_write(rig, bo, 6);
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_vidmm_set_needs_idle(rig->vidmm, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, pagoda_vidmm_set_needs_idle(rig->vidmm, U32_MAX));
	KUNIT_EXPECT_FALSE(test, bo->content.needs_idle);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_set_needs_idle(rig->vidmm, bo->id));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bo));
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_DISCARDED, reclaim(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/* ---- A model ------------------------------------------------------------------------------ */

#define MODEL_BOS	12
#define MODEL_STEPS	400

/* The expected state of allocations; seed 0 means zeros. */
struct model {
	struct pagoda_rig *rig;
	struct pagoda_bo *bos[MODEL_BOS];
	u32 seed[MODEL_BOS];
	bool offered[MODEL_BOS];
};

static bool model_holds(struct model *m, u32 i)
{
	struct pagoda_bo *bo = m->bos[i];

	if (m->seed[i])
		return pagoda_rig_holds(m->rig, bo, m->seed[i]);
	return (!in_vram(bo) && !(bo->ttm.ttm && ttm_tt_is_populated(bo->ttm.ttm))) ||
	       pagoda_rig_is_zero(m->rig, bo);
}

static void model_reclaim(struct model *m, u32 i)
{
	struct pagoda_bo *bo = m->bos[i];
	int expected = bo->offer.discarded ? DRM_PAGODA_RECLAIM_DISCARDED : DRM_PAGODA_RECLAIM_OK;
	int ret = reclaim(m->rig, bo);

	if (!m->offered[i]) {
		KUNIT_EXPECT_EQ(m->rig->test, ret, -EINVAL);
		return;
	}
	KUNIT_ASSERT_EQ(m->rig->test, ret, expected);
	m->offered[i] = false;
	if (ret == DRM_PAGODA_RECLAIM_DISCARDED)
		m->seed[i] = 0;
	KUNIT_EXPECT_TRUE(m->rig->test, model_holds(m, i));
}

static void model_step(struct model *m, struct rnd_state *rnd)
{
	u32 i = prandom_u32_state(rnd) % MODEL_BOS, draw = prandom_u32_state(rnd);
	struct pagoda_bo *bo = m->bos[i];
	u32 priority;

	switch (draw % 8) {
	case 0:
	case 1:
		KUNIT_EXPECT_EQ(m->rig->test, m->offered[i] ? -EALREADY : 0,
				offer_flags(m->rig, bo, 1 + (draw >> 8) % 4, (draw >> 12) & 1));
		m->offered[i] = true;
		break;
	case 2:
	case 3:
		model_reclaim(m, i);
		break;
	case 4:
		KUNIT_EXPECT_EQ(m->rig->test, 0, evict(m->rig, bo));
		break;
	case 5:
		priority = DRM_PAGODA_RESIDENCY_MINIMUM + (draw >> 4) %
			   (DRM_PAGODA_RESIDENCY_MAXIMUM - DRM_PAGODA_RESIDENCY_MINIMUM);
		KUNIT_EXPECT_EQ(m->rig->test, 0,
				pagoda_set_priority(m->rig->vidmm, &bo, &priority, 1));
		break;
	default:
		KUNIT_EXPECT_EQ(m->rig->test, m->offered[i] ? -ENODATA : 0,
				make_resident(m->rig, bo));
		if (m->offered[i])
			break;
		KUNIT_EXPECT_TRUE(m->rig->test, model_holds(m, i));
		m->seed[i] = 1 + draw % 1000;
		pagoda_rig_write(m->rig, bo, m->seed[i]);
	}
	if (!(draw >> 28))
		swap_out_all(m->rig);
}

/*
 * Expects that those allocations are offered that the model says, that no other allocation lost its
 * content, and that TTM and the policy rank each allocation by its priority and offer.
 */
static void model_check(struct model *m)
{
	u32 i;

	for (i = 0; i < MODEL_BOS; i++) {
		struct pagoda_bo *bo = m->bos[i];

		KUNIT_EXPECT_EQ(m->rig->test, pagoda_bo_is_offered(bo), m->offered[i]);
		KUNIT_EXPECT_EQ(m->rig->test, bo->ttm.priority, pagoda_priority_level(bo));
		KUNIT_EXPECT_EQ(m->rig->test,
				pagoda_victims_level(bo->vidmm, &bo, 1) < PAGODA_POLICY_OFFERS,
				m->offered[i]);
		if (!m->offered[i])
			KUNIT_EXPECT_FALSE(m->rig->test, bo->content.lost);
	}
}

/* Random offers, reclaims, evictions and priorities keep content as the model says. */
static void offer_random(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct model *m = test_zalloc(test, sizeof(*m));
	struct rnd_state rnd;
	u32 i;

	m->rig = rig;
	prandom_seed_state(&rnd, 23);
	for (i = 0; i < MODEL_BOS; i++)
		m->bos[i] = pagoda_rig_bo(rig, 20 + PIECE * (i % 3) / 2, CPU,
					  i % 2 ? EITHER : SUBMIT_VRAM, 0);
	for (i = 0; i < MODEL_STEPS && test->status != KUNIT_FAILURE; i++) {
		model_step(m, &rnd);
		model_check(m);
	}
	PAGODA_PROVES(C172);
	for (i = 0; i < MODEL_BOS; i++)
		if (m->offered[i])
			model_reclaim(m, i);
	close_all(m->bos, MODEL_BOS);
}

static struct kunit_case reclaim_cases[] = {
	KUNIT_CASE_PARAM(reclaim_content, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reclaim_pages_in, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reclaim_decommitted, pagoda_rig_modes),
	KUNIT_CASE(reclaim_not_committed),
	KUNIT_CASE_PARAM(offer_tiled, pagoda_rig_modes),
	KUNIT_CASE_PARAM(offer_reset, pagoda_rig_modes),
	KUNIT_CASE_PARAM(offer_discard_fails, pagoda_rig_modes),
	KUNIT_CASE_PARAM(offer_random, pagoda_rig_modes),
	{ }
};

static struct kunit_suite reclaim_suite = {
	.name = "pagoda_offer_reclaim",
	.test_cases = reclaim_cases,
};

kunit_test_suite(reclaim_suite);
