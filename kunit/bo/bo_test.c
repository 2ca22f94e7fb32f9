// SPDX-License-Identifier: GPL-2.0
/*
 * Placements: the places that TTM is asked for when an allocation is made resident, is evicted, or
 * is accessed by the CPU. Also the point of its creation from which an allocation can be found, and
 * waits for an allocation.
 */
#include <kunit/test-bug.h>
#include <drm/drm_gem.h>
#include "queue/queue_helpers.h"
#include "rig/rig.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

static struct pagoda_bo *bo_make(struct pagoda_rig *rig, struct pagoda_bo_params params)
{
	params.size = params.size ?: 3 * PAGE_SIZE;
	return test_ok(rig->test, pagoda_bo_create(rig->vidmm, rig->client, &params));
}

/* A list of places as a number: a hexadecimal digit for each place, the first place in front. */
#define IN_SYSTEM	1
#define IN_VRAM		2
#define IN_APERTURE	3
#define THEN(a, b)	((a) << 4 | (b))

static u32 bo_places(struct pagoda_bo *bo, u32 (*fill)(struct pagoda_bo *, struct ttm_place *))
{
	struct ttm_place places[4] = {};
	u32 order = 0;
	u32 i, n = fill(bo, places);

	for (i = 0; i < n; i++)
		order = THEN(order, places[i].mem_type == TTM_PL_VRAM ? IN_VRAM :
				    places[i].mem_type == TTM_PL_TT ? IN_APERTURE : IN_SYSTEM);
	return order;
}

struct bo_order {
	u32 supported;
	u32 preferred[2];
	u32 size;
	u32 resident;
};

/*
 * The places of a resident allocation are its supported segments, preferred ones first; a preferred
 * segment that isn't supported, and a segment that is too small, are left out.
 */
static void bo_resident(struct kunit *test)
{
	static const struct bo_order orders[] = {
		{ VRAM, { }, 1, IN_VRAM },
		{ APERTURE, { }, 1, IN_APERTURE },
		{ VRAM | APERTURE, { }, 1, THEN(IN_VRAM, IN_APERTURE) },
		{ VRAM | APERTURE, { DRM_PAGODA_SEGMENT_VRAM }, 1, THEN(IN_VRAM, IN_APERTURE) },
		{ VRAM | APERTURE, { DRM_PAGODA_SEGMENT_APERTURE }, 1, THEN(IN_APERTURE, IN_VRAM) },
		{ VRAM | APERTURE,
		  { DRM_PAGODA_SEGMENT_APERTURE, DRM_PAGODA_SEGMENT_VRAM }, 1,
		  THEN(IN_APERTURE, IN_VRAM) },
		{ VRAM | APERTURE,
		  { DRM_PAGODA_SEGMENT_VRAM, DRM_PAGODA_SEGMENT_APERTURE }, 1,
		  THEN(IN_VRAM, IN_APERTURE) },
		{ VRAM, { DRM_PAGODA_SEGMENT_APERTURE }, 1, IN_VRAM },
		{ APERTURE, { DRM_PAGODA_SEGMENT_VRAM }, 1, IN_APERTURE },
		{ VRAM | APERTURE, { }, PAGODA_RIG_APERTURE_PAGES + 1, IN_VRAM },
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		const struct bo_order *order = &orders[i];
		struct pagoda_bo *bo = bo_make(rig, (struct pagoda_bo_params) {
			.size = (u64)order->size << PAGE_SHIFT,
			.flags = CPU,
			.supported = order->supported,
			.preferred = { order->preferred[0], order->preferred[1] },
		});

		PAGODA_PROVES(C160, C161);
		KUNIT_EXPECT_EQ_MSG(test, bo_places(bo, pagoda_bo_placement_resident),
				    order->resident, "order %u", i);
		pagoda_rig_close(bo);
	}
}

/* Expects that the allocation isn't moved, because @fill has no place for it. */
static void bo_expect_no_place(struct kunit *test, struct pagoda_bo *bo,
			       u32 (*fill)(struct pagoda_bo *, struct ttm_place *))
{
	struct ttm_operation_ctx ctx = {};
	struct pagoda_operation op = {};

	KUNIT_EXPECT_EQ(test, 0, bo_places(bo, fill));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, -ENOSPC, pagoda_bo_place(bo, fill, &op));
	KUNIT_EXPECT_EQ(test, -ENOSPC, pagoda_bo_move(bo, fill, &ctx));
	dma_resv_unlock(bo->ttm.base.resv);
}

/*
 * Free room in VRAM, from which no other allocation is evicted, is a place for an allocation that
 * prefers VRAM; not for one that prefers the aperture, or that is pinned there.
 */
static void bo_free_room(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct ttm_place places[4] = {};
	struct pagoda_bo *vram = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM | APERTURE,
	});
	struct pagoda_bo *aperture = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM | APERTURE,
		.preferred = { DRM_PAGODA_SEGMENT_APERTURE },
	});

	KUNIT_EXPECT_EQ(test, IN_VRAM, bo_places(vram, pagoda_bo_placement_free));
	bo_expect_no_place(test, aperture, pagoda_bo_placement_free);
	pagoda_bo_placement_free(vram, places);
	KUNIT_EXPECT_NE(test, places[0].flags & TTM_PL_FLAG_DESIRED, 0);
	KUNIT_EXPECT_EQ(test, THEN(IN_VRAM, IN_APERTURE),
			bo_places(vram, pagoda_bo_placement_modest));
	pagoda_bo_placement_modest(vram, places);
	KUNIT_EXPECT_NE(test, places[0].flags & TTM_PL_FLAG_DESIRED, 0);
	KUNIT_EXPECT_EQ(test, places[1].flags & TTM_PL_FLAG_DESIRED, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(vram, false));
	pagoda_rig_pin(vram, true);
	bo_expect_no_place(test, vram, pagoda_bo_placement_free);
	pagoda_rig_pin(vram, false);
	pagoda_rig_close(vram);
	pagoda_rig_close(aperture);
}

/*
 * An allocation whose eviction segment is the aperture is evicted to the aperture or, without room
 * there, to system memory; an allocation without eviction segment is evicted to system memory.
 */
static void bo_evicted(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *pages = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM | APERTURE,
	});
	struct pagoda_bo *aperture = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM | APERTURE, .eviction = APERTURE,
	});

	PAGODA_PROVES(C37);
	KUNIT_EXPECT_EQ(test, bo_places(pages, pagoda_bo_placement_evicted), IN_SYSTEM);
	KUNIT_EXPECT_EQ(test, bo_places(aperture, pagoda_bo_placement_evicted),
			THEN(IN_APERTURE, IN_SYSTEM));
	pagoda_rig_close(pages);
	pagoda_rig_close(aperture);
}

/*
 * For access by the CPU an allocation's places are its supported segment, of VRAM the visible part,
 * then system memory; VRAM is left out for an allocation that is larger than the visible part.
 */
static void bo_cpu(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct ttm_place places[4] = {};
	struct pagoda_bo *vram = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM,
	});
	struct pagoda_bo *aperture = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = APERTURE,
	});
	struct pagoda_bo *large = bo_make(rig, (struct pagoda_bo_params) {
		.size = (PAGODA_RIG_VISIBLE_PAGES + 1) << PAGE_SHIFT,
		.flags = CPU, .supported = VRAM,
	});

	PAGODA_PROVES(C160);
	KUNIT_EXPECT_EQ(test, bo_places(vram, pagoda_bo_placement_cpu), THEN(IN_VRAM, IN_SYSTEM));
	KUNIT_EXPECT_EQ(test, bo_places(aperture, pagoda_bo_placement_cpu),
			THEN(IN_APERTURE, IN_SYSTEM));
	KUNIT_EXPECT_EQ(test, bo_places(large, pagoda_bo_placement_cpu), IN_SYSTEM);
	pagoda_bo_placement_cpu(vram, places);
	KUNIT_EXPECT_EQ(test, places[0].lpfn, PAGODA_RIG_VISIBLE_PAGES);
	/* With this flag TTM evicts no other allocation to make room. */
	KUNIT_EXPECT_NE(test, places[0].flags & TTM_PL_FLAG_DESIRED, 0);
	pagoda_bo_placement_cpu(aperture, places);
	KUNIT_EXPECT_NE(test, places[0].flags & TTM_PL_FLAG_DESIRED, 0);
	pagoda_rig_close(vram);
	pagoda_rig_close(aperture);
	pagoda_rig_close(large);
}

/* CONTIGUOUS asks for one range of VRAM; AccessedPhysically for that and for aperture addresses. */
static void bo_contiguous(struct kunit *test)
{
	static const u32 flags[] = { DRM_PAGODA_ALLOCATION_CONTIGUOUS, PHYSICAL };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = bo_make(rig, (struct pagoda_bo_params) {
		.flags = CPU, .supported = VRAM | APERTURE,
	});
	struct ttm_place places[4] = {};
	u32 i;

	PAGODA_PROVES(C162, C163);
	KUNIT_EXPECT_EQ(test, 2, pagoda_bo_placement_resident(bo, places));
	KUNIT_EXPECT_EQ(test, places[0].flags & TTM_PL_FLAG_CONTIGUOUS, 0);
	KUNIT_EXPECT_EQ(test, places[1].lpfn, 0);
	pagoda_rig_close(bo);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		bo = bo_make(rig, (struct pagoda_bo_params) {
			.flags = CPU | flags[i], .supported = VRAM | APERTURE,
		});
		KUNIT_EXPECT_EQ(test, 2, pagoda_bo_placement_resident(bo, places));
		KUNIT_EXPECT_NE(test, places[0].flags & TTM_PL_FLAG_CONTIGUOUS, 0);
		KUNIT_EXPECT_EQ(test, places[1].lpfn,
				flags[i] == PHYSICAL ? PAGODA_RIG_APERTURE_PAGES : 0);
		pagoda_rig_close(bo);
	}
}

/*
 * The aperture is no place for an allocation that needs aperture addresses and is larger than the
 * aperture: the allocation is evicted to system memory, and the CPU reaches it there or in VRAM.
 */
static void bo_exceeds_aperture(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *large = bo_make(rig, (struct pagoda_bo_params) {
		.size = (PAGODA_RIG_APERTURE_PAGES + 1) << PAGE_SHIFT,
		.flags = CPU | PHYSICAL, .supported = VRAM | APERTURE, .eviction = APERTURE,
	});
	struct pagoda_bo *other = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES -
						PAGODA_RIG_APERTURE_PAGES, CPU, VRAM, 0);

	KUNIT_EXPECT_EQ(test, bo_places(large, pagoda_bo_placement_evicted), IN_SYSTEM);
	KUNIT_EXPECT_EQ(test, bo_places(large, pagoda_bo_placement_cpu), THEN(IN_VRAM, IN_SYSTEM));
	pagoda_rig_write_vram(rig, large, 7);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(other));
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, large->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, large, 7));
	pagoda_rig_close(large);
	pagoda_rig_close(other);
}

/* A wait for an allocation ends with -ETIME if work uses the allocation for longer. */
static void bo_wait_is_over(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = bo_make(rig, (struct pagoda_bo_params) { .supported = VRAM });
	struct dma_fence *fence = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_bo_wait(bo, -1));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_bo_wait(bo, 0));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_bo_wait(bo, 1));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_wait(bo, -1));
	pagoda_rig_close(bo);
}

/* Stands in for the driver's ttm_tt_create(), which is called while an allocation is made. */
static struct ttm_tt *bo_half_made(struct ttm_buffer_object *ttm_bo, u32 flags)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo), *found;
	unsigned long id = bo->id;

	found = pagoda_bo_next(bo->vidmm, &id, XA_PRESENT);
	KUNIT_EXPECT_NULL(kunit_get_current_test(), found);
	if (found)
		drm_gem_object_put(pagoda_bo_gem(found));
	return pagoda_ttm_funcs.ttm_tt_create(ttm_bo, flags);
}

/*
 * A walk over all allocations, as for a rebuild or a sleep, finds an allocation only when its
 * creation has succeeded: the walk takes a reference and the reservation.
 */
static void bo_is_found_when_made(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct ttm_device_funcs funcs = pagoda_ttm_funcs;
	struct pagoda_bo *bo, *found;
	unsigned long id;

	funcs.ttm_tt_create = bo_half_made;
	rig->vidmm->ttm.funcs = &funcs;
	bo = pagoda_rig_bo(rig, 1, CPU, VRAM, 0);
	rig->vidmm->ttm.funcs = &pagoda_ttm_funcs;
	KUNIT_ASSERT_NOT_NULL(test, bo->ttm.ttm);
	id = bo->id;
	found = pagoda_bo_next(rig->vidmm, &id, XA_PRESENT);
	KUNIT_EXPECT_PTR_EQ(test, bo, found);
	if (found)
		drm_gem_object_put(pagoda_bo_gem(found));
	pagoda_rig_close(bo);
}

static struct kunit_case bo_cases[] = {
	KUNIT_CASE(bo_resident),
	KUNIT_CASE(bo_free_room),
	KUNIT_CASE(bo_evicted),
	KUNIT_CASE(bo_cpu),
	KUNIT_CASE(bo_contiguous),
	KUNIT_CASE(bo_exceeds_aperture),
	KUNIT_CASE(bo_wait_is_over),
	KUNIT_CASE(bo_is_found_when_made),
	{}
};

static struct kunit_suite bo_suite = {
	.name = "pagoda_bo",
	.test_cases = bo_cases,
};

kunit_test_suite(bo_suite);
