// SPDX-License-Identifier: GPL-2.0
/*
 * The aperture segment: random allocations compared with the test's own map of the pages in use,
 * requests that fail, objects with and without an address, generations, evictions and bounces; what
 * clients and debugfs are told of the segment.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <drm/drm_print.h>
#include "rig/prove.h"
#include "rig/vidmm_helpers.h"

#define APERTURE	257	/* pages: odd, and no power of two */
#define SLOTS		48

static const struct ttm_place anywhere = {};
static const struct ttm_place mapped = { .lpfn = APERTURE };

struct aperture_slot {
	struct ttm_buffer_object *bo;
	struct ttm_resource *res;
};

/* Segments of a test, and a map of the aperture's pages. */
struct aperture_fixture {
	struct pagoda_vidmm *vidmm;
	struct aperture_slot slots[SLOTS];
	u8 owner[APERTURE];	/* for each page its slot plus one, 0 = free */
	u32 generation;	/* of the resource that aperture_claim() saw last */
};

static struct pagoda_aperture_resource *aperture_res(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_aperture_resource, base);
}

static int aperture_put(struct kunit *test, struct aperture_fixture *fix, u32 slot, u32 pages,
			u32 align, const struct ttm_place *place)
{
	struct ttm_buffer_object *bo = pagoda_kunit_object(test, fix->vidmm, pages, align);
	int ret = pagoda_kunit_alloc(bo, TTM_PL_TT, place, &fix->slots[slot].res);

	if (ret)
		pagoda_kunit_object_end(bo);
	else
		fix->slots[slot].bo = bo;
	return ret;
}

static void aperture_drop(struct aperture_fixture *fix, u32 slot)
{
	struct aperture_slot *s = &fix->slots[slot];
	u32 i;

	if (!s->bo)
		return;
	ttm_resource_free(s->bo, &s->res);
	pagoda_kunit_object_end(s->bo);
	s->bo = NULL;
	for (i = 0; i < APERTURE; i++)
		if (fix->owner[i] == slot + 1)
			fix->owner[i] = 0;
}

static u32 aperture_owned(struct aperture_fixture *fix)
{
	u32 owned = 0;
	u32 i;

	for (i = 0; i < APERTURE; i++)
		owned += !!fix->owner[i];
	return owned;
}

/* Returns whether the map has room for an aligned range inside of a placement. */
static bool aperture_has_room(struct aperture_fixture *fix, u32 pages, u32 align,
			      const struct ttm_place *place)
{
	u32 end = min_t(u32, place->lpfn, APERTURE);
	u32 start;

	for (start = round_up(place->fpfn, align); start + pages <= end; start += align) {
		u32 i;

		for (i = 0; i < pages && !fix->owner[start + i]; i++)
			;
		if (i == pages)
			return true;
	}
	return false;
}

/*
 * Expects the new resource of @slot to be inside of its placement, on pages that were free, and to
 * have a new generation; notes its pages in the map.
 */
static void aperture_claim(struct kunit *test, struct aperture_fixture *fix, u32 slot, u32 align,
			   const struct ttm_place *place)
{
	struct pagoda_aperture_resource *ares = aperture_res(fix->slots[slot].res);
	u32 pages = fix->slots[slot].bo->base.size >> PAGE_SHIFT;
	u32 start = ares->base.start;
	u32 i;

	KUNIT_ASSERT_TRUE(test, pagoda_aperture_has_address(&ares->base));
	KUNIT_ASSERT_GE(test, start, place->fpfn);
	KUNIT_ASSERT_LE(test, start + pages, min_t(u32, place->lpfn, APERTURE));
	KUNIT_EXPECT_EQ(test, start % align, 0);
	for (i = start; i < start + pages; i++) {
		KUNIT_ASSERT_EQ(test, fix->owner[i], 0);
		fix->owner[i] = slot + 1;
	}
	KUNIT_EXPECT_NE(test, ares->generation, fix->generation);
	KUNIT_EXPECT_GE(test, ares->generation, 1);
	KUNIT_EXPECT_LE(test, ares->generation, VIRTIO_PAGODA_MAX_GENERATION);
	fix->generation = ares->generation;
}

static void aperture_random_put(struct kunit *test, struct aperture_fixture *fix, u32 slot,
				struct rnd_state *rnd)
{
	u32 pages = 1 + pagoda_kunit_below(rnd, pagoda_kunit_below(rnd, 8) ? 12 : APERTURE / 2);
	u32 align = 1u << pagoda_kunit_below(rnd, 4);
	u32 size = APERTURE >> pagoda_kunit_below(rnd, 2);
	struct ttm_place place = {
		.fpfn = pagoda_kunit_below(rnd, 3) ? 0 : pagoda_kunit_below(rnd, APERTURE / 4),
		.flags = pagoda_kunit_below(rnd, 2) ? TTM_PL_FLAG_TOPDOWN : 0,
	};
	int ret;

	/* A limit beyond the end of the segment means its end. */
	place.lpfn = size == APERTURE ? APERTURE + pagoda_kunit_below(rnd, 9) : size;
	ret = aperture_put(test, fix, slot, pages, align, &place);
	if (ret == -E2BIG) {
		KUNIT_EXPECT_GT(test, pages, min_t(u32, place.lpfn, APERTURE) - place.fpfn);
	} else if (ret) {
		KUNIT_EXPECT_EQ(test, ret, -ENOSPC);
		KUNIT_EXPECT_FALSE(test, aperture_has_room(fix, pages, align, &place));
	} else {
		aperture_claim(test, fix, slot, align, &place);
	}
}

/*
 * Random allocations: a range is refused only if the map has no room for it (-ENOSPC) or it could
 * never fit (-E2BIG), and all space comes back.
 */
static void aperture_random(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	struct pagoda_aperture *aperture = fix->vidmm->aperture;
	struct rnd_state rnd;
	u32 i;

	PAGODA_PROVES(C63, C68);
	pagoda_kunit_seed(test, &rnd);
	for (i = 0; i < 4000; i++) {
		u32 slot = pagoda_kunit_below(&rnd, SLOTS);

		if (fix->slots[slot].bo)
			aperture_drop(fix, slot);
		else
			aperture_random_put(test, fix, slot, &rnd);
		KUNIT_ASSERT_EQ(test, aperture->mapped, aperture_owned(fix));
		KUNIT_ASSERT_LE(test, aperture->mapped, fix->vidmm->info->aperture_pages);
	}
	for (i = 0; i < SLOTS; i++)
		aperture_drop(fix, i);
	KUNIT_EXPECT_EQ(test, aperture->mapped, 0);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(&aperture->manager), 0);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, APERTURE, 1, &mapped), 0);
	aperture_drop(fix, 0);
}

/*
 * An object that doesn't ask for an address takes none: eight objects as large as the segment fit
 * in.
 */
static void aperture_no_address(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	struct pagoda_aperture *aperture = fix->vidmm->aperture;
	u32 i;

	PAGODA_PROVES(C163);
	for (i = 0; i < 8; i++) {
		KUNIT_ASSERT_EQ(test, aperture_put(test, fix, i, APERTURE, 1, &anywhere), 0);
		KUNIT_EXPECT_FALSE(test, pagoda_aperture_has_address(fix->slots[i].res));
		KUNIT_EXPECT_EQ(test, aperture_res(fix->slots[i].res)->generation, 0);
	}
	KUNIT_EXPECT_EQ(test, aperture->mapped, 0);
	KUNIT_EXPECT_TRUE(test, drm_mm_clean(&aperture->mm));
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(&aperture->manager),
			8ull * APERTURE << PAGE_SHIFT);
	/* All addresses are left for an object that asks for one. */
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 8, APERTURE, 1, &mapped), 0);
	KUNIT_EXPECT_TRUE(test, pagoda_aperture_has_address(fix->slots[8].res));
	for (i = 0; i < 9; i++)
		aperture_drop(fix, i);
}

/*
 * A request that finds no room fails with -ENOSPC and changes neither the mapped pages nor TTM's
 * usage.
 */
static void aperture_full(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	struct pagoda_aperture *aperture = fix->vidmm->aperture;
	u64 usage;

	PAGODA_PROVES(C68);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 0, APERTURE - 1, 1, &mapped), 0);
	usage = ttm_resource_manager_usage(&aperture->manager);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 1, 2, 1, &mapped), -ENOSPC);
	KUNIT_EXPECT_EQ(test, aperture->mapped, APERTURE - 1);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(&aperture->manager), usage);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 1, 1, 1, &mapped), 0);
	KUNIT_EXPECT_EQ(test, aperture->mapped, APERTURE);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 2, 1, 1, &mapped), -ENOSPC);
	/* A resource for a bounce (TTM_PL_FLAG_TEMPORARY) needs no address. */
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 2, APERTURE, 1, &(struct ttm_place){
					   .flags = TTM_PL_FLAG_TEMPORARY }), 0);
	aperture_drop(fix, 0);
	aperture_drop(fix, 1);
	aperture_drop(fix, 2);
	KUNIT_EXPECT_EQ(test, aperture->mapped, 0);
}

/* A request that can never fit fails with -E2BIG, for which TTM evicts nothing. */
static void aperture_too_large(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	const struct ttm_place narrow = { .fpfn = 10, .lpfn = 20 };
	const struct ttm_place outside = { .fpfn = APERTURE, .lpfn = APERTURE + 5 };

	PAGODA_PROVES(C63, C68);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, APERTURE + 1, 1, &mapped), -E2BIG);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, 11, 1, &narrow), -E2BIG);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, 1, 1, &outside), -E2BIG);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, 10, 1, &narrow), 0);
	KUNIT_EXPECT_EQ(test, fix->slots[0].res->start, 10);
	aperture_drop(fix, 0);
}

/* The generation after the largest one is 1; a resource without an address has generation 0. */
static void aperture_generation_wraps(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;

	fix->vidmm->aperture->generation = VIRTIO_PAGODA_MAX_GENERATION - 1;
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 0, 1, 1, &mapped), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 1, 1, 1, &anywhere), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 2, 1, 1, &mapped), 0);
	KUNIT_EXPECT_EQ(test, aperture_res(fix->slots[0].res)->generation,
			VIRTIO_PAGODA_MAX_GENERATION);
	KUNIT_EXPECT_EQ(test, aperture_res(fix->slots[1].res)->generation, 0);
	KUNIT_EXPECT_EQ(test, aperture_res(fix->slots[2].res)->generation, 1);
	aperture_drop(fix, 0);
	aperture_drop(fix, 1);
	aperture_drop(fix, 2);
}

/* If a placement needs an address, intersects() and compatible() go by the resource's address. */
static void aperture_matches(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	struct ttm_resource_manager *man = &fix->vidmm->aperture->manager;
	const struct ttm_place low = { .lpfn = 100 };
	const struct ttm_place high = { .fpfn = 104, .lpfn = APERTURE };
	const struct ttm_place at = { .fpfn = 96, .lpfn = 104 };
	struct ttm_resource *res;

	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 0, 8, 1, &at), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 1, 8, 1, &anywhere), 0);
	res = fix->slots[0].res;
	KUNIT_EXPECT_TRUE(test, man->func->intersects(man, res, &low, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, man->func->intersects(man, res, &high, PAGE_SIZE));
	KUNIT_EXPECT_TRUE(test, man->func->intersects(man, res, &anywhere, PAGE_SIZE));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &at, res->size));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &mapped, res->size));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &anywhere, res->size));
	KUNIT_EXPECT_FALSE(test, man->func->compatible(man, res, &low, res->size));
	KUNIT_EXPECT_FALSE(test, man->func->compatible(man, res, &high, res->size));
	res = fix->slots[1].res;
	KUNIT_EXPECT_FALSE(test, man->func->intersects(man, res, &mapped, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, man->func->compatible(man, res, &mapped, res->size));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &anywhere, res->size));
	aperture_drop(fix, 0);
	aperture_drop(fix, 1);
}

/* For an object that needs an address TTM evicts an object that has one, and no object without. */
static void aperture_eviction(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	const struct ttm_place tt = { .mem_type = TTM_PL_TT };
	const struct ttm_place tt_mapped = { .mem_type = TTM_PL_TT, .lpfn = APERTURE };
	struct ttm_buffer_object *bare = pagoda_kunit_bo(test, fix->vidmm, 8, &tt);
	struct ttm_buffer_object *old = pagoda_kunit_bo(test, fix->vidmm, 200, &tt_mapped);
	struct ttm_buffer_object *new;

	KUNIT_ASSERT_NOT_NULL(test, bare);
	KUNIT_ASSERT_NOT_NULL(test, old);
	new = pagoda_kunit_bo(test, fix->vidmm, 100, &tt_mapped);
	KUNIT_ASSERT_NOT_NULL(test, new);
	KUNIT_EXPECT_EQ(test, bare->resource->mem_type, TTM_PL_TT);
	KUNIT_EXPECT_EQ(test, old->resource->mem_type, TTM_PL_SYSTEM);
	KUNIT_EXPECT_TRUE(test, pagoda_aperture_has_address(new->resource));

	/*
	 * Late assignment: an object in the aperture gets its address when it is validated for a
	 * placement with one.
	 */
	KUNIT_EXPECT_EQ(test, pagoda_kunit_validate(bare, &tt_mapped), 0);
	KUNIT_EXPECT_TRUE(test, pagoda_aperture_has_address(bare->resource));
	KUNIT_EXPECT_EQ(test, fix->vidmm->aperture->mapped, 108);
}

/*
 * The resource of a bounce, in which an object stays if its second hop fails, is compatible with no
 * placement: validation gives the object another resource.
 */
static void aperture_stopover(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	const struct ttm_place hop = { .mem_type = TTM_PL_TT, .flags = TTM_PL_FLAG_TEMPORARY };
	const struct ttm_place tt = { .mem_type = TTM_PL_TT };
	struct ttm_buffer_object *bo = pagoda_kunit_bo(test, fix->vidmm, 8, &hop);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	KUNIT_EXPECT_TRUE(test, bo->resource->placement & TTM_PL_FLAG_TEMPORARY);
	KUNIT_EXPECT_EQ(test, pagoda_kunit_validate(bo, &tt), 0);
	KUNIT_EXPECT_FALSE(test, bo->resource->placement & TTM_PL_FLAG_TEMPORARY);
}

static struct pagoda_aperture_resource *aperture_no_resource(void)
{
	return NULL;
}

/* Without memory for a resource the request fails with -ENOMEM and takes no addresses. */
static void aperture_no_memory(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	struct pagoda_aperture *aperture = fix->vidmm->aperture;

	kunit_activate_static_stub(test, pagoda_aperture_new_resource, aperture_no_resource);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, 4, 1, &mapped), -ENOMEM);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, 4, 1, &anywhere), -ENOMEM);
	kunit_deactivate_static_stub(test, pagoda_aperture_new_resource);
	KUNIT_EXPECT_EQ(test, aperture->mapped, 0);
	KUNIT_EXPECT_EQ(test, aperture->generation, 0);
	KUNIT_EXPECT_EQ(test, ttm_resource_manager_usage(&aperture->manager), 0);
	KUNIT_EXPECT_EQ(test, aperture_put(test, fix, 0, APERTURE, 1, &mapped), 0);
	aperture_drop(fix, 0);
}

/* Taking the segment down evicts the allocations that are still in it. */
static void aperture_taken_down(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	const struct ttm_place tt_mapped = { .mem_type = TTM_PL_TT, .lpfn = APERTURE };
	struct ttm_buffer_object *bo = pagoda_kunit_bo(test, fix->vidmm, 8, &tt_mapped);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	pagoda_aperture_fini(fix->vidmm);
	KUNIT_EXPECT_EQ(test, bo->resource->mem_type, TTM_PL_SYSTEM);
	KUNIT_EXPECT_EQ(test, fix->vidmm->aperture->mapped, 0);
	KUNIT_ASSERT_EQ(test, pagoda_aperture_init(fix->vidmm, NULL), 0);
	KUNIT_EXPECT_EQ(test, pagoda_kunit_validate(bo, &tt_mapped), 0);
}

/*
 * Frees what a test that was aborted left in its slots: no resource may be left when the segments
 * are taken down.
 */
static void aperture_fixture_end(void *data)
{
	struct aperture_fixture *fix = data;
	u32 i;

	for (i = 0; i < SLOTS; i++)
		aperture_drop(fix, i);
}

static int aperture_test_init(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .aperture = APERTURE };
	struct aperture_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);

	if (!fix)
		return -ENOMEM;
	fix->vidmm = pagoda_kunit_segments(test, &shape);
	test->priv = fix;
	return kunit_add_action_or_reset(test, aperture_fixture_end, fix);
}

/* What a client is told of the segment: size, use and holes; and that the CPU reaches all of it. */
static void aperture_reports(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;
	const struct ttm_place middle = { .fpfn = 100, .lpfn = 105 };
	struct drm_pagoda_segment_info info = {};

	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 0, 5, 1, &middle), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 1, 9, 1, &anywhere), 0);
	pagoda_aperture_report(fix->vidmm, &info);
	KUNIT_EXPECT_EQ(test, info.flags,
			DRM_PAGODA_SEGMENT_APERTURE_FLAG | DRM_PAGODA_SEGMENT_CPU_VISIBLE);
	KUNIT_EXPECT_EQ(test, info.size, APERTURE * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.visible_size, APERTURE * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.usage, 14 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.visible_usage, 14 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.mapped, 5 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.largest_free, (APERTURE - 105) * PAGE_SIZE);
	aperture_drop(fix, 0);
	aperture_drop(fix, 1);
}

/* Expects debugfs to tell of so many pages and ranges, and of the generation given out last. */
static void aperture_expect_text(struct kunit *test, u32 pages, u32 ranges, u32 generation)
{
	struct aperture_fixture *fix = test->priv;
	char *text = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	struct drm_print_iterator iterator = { .data = text, .remain = SZ_4K - 1 };
	struct drm_printer p = drm_coredump_printer(&iterator);
	char line[64];

	KUNIT_ASSERT_NOT_NULL(test, text);
	ttm_resource_manager_debug(&fix->vidmm->aperture->manager, &p);
	snprintf(line, sizeof(line), "mapped: %u of %u pages in %u ranges\n", pages, APERTURE,
		 ranges);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "%s in %s", line, text);
	snprintf(line, sizeof(line), "last generation: %u\n", generation);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, line), "%s in %s", line, text);
}

static void aperture_in_debugfs(struct kunit *test)
{
	struct aperture_fixture *fix = test->priv;

	aperture_expect_text(test, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 0, 5, 1, &mapped), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 1, 7, 1, &mapped), 0);
	KUNIT_ASSERT_EQ(test, aperture_put(test, fix, 2, 7, 1, &anywhere), 0);
	aperture_expect_text(test, 12, 2, 2);
	aperture_drop(fix, 0);
	aperture_expect_text(test, 7, 1, 2);
	aperture_drop(fix, 1);
	aperture_drop(fix, 2);
}

static struct kunit_case aperture_cases[] = {
	KUNIT_CASE_SLOW(aperture_random),
	KUNIT_CASE(aperture_no_address),
	KUNIT_CASE(aperture_full),
	KUNIT_CASE(aperture_too_large),
	KUNIT_CASE(aperture_generation_wraps),
	KUNIT_CASE(aperture_matches),
	KUNIT_CASE(aperture_eviction),
	KUNIT_CASE(aperture_stopover),
	KUNIT_CASE(aperture_no_memory),
	KUNIT_CASE(aperture_taken_down),
	KUNIT_CASE(aperture_reports),
	KUNIT_CASE(aperture_in_debugfs),
	{}
};

static struct kunit_suite aperture_suite = {
	.name = "pagoda_aperture",
	.init = aperture_test_init,
	.test_cases = aperture_cases,
};

kunit_test_suite(aperture_suite);
