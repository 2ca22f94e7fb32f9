// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the VRAM segment: random operations against a map of VRAM's pages; which pages and holes
 * are chosen, zeros, the cursor, TTM's callbacks, the reserve.
 */
#include <kunit/static_stub.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <drm/drm_print.h>
#include "rig/alloc.h"
#include "rig/prove.h"
#include "vram_helpers.h"

static const struct ttm_place anywhere = {};
static const struct ttm_place contiguous = { .flags = TTM_PL_FLAG_CONTIGUOUS };

/* ---- Random operations ---------------------------------------------------------- */

static const struct pagoda_kunit_shape vram_shapes[] = {
	{ .vram = 1024, .visible = 1024, .zeroed = true },
	{ .vram = 1003, .visible = 400, .zeroed = true, .nr_invalid = 4,
	  .invalid = { { 0, 1 }, { 37, 3 }, { 390, 20 }, { 1000, 3 } } },
	{ .vram = 777, .visible = 0, .nr_invalid = 1, .invalid = { { 511, 2 } } },
	{ .vram = 512, .visible = 1, .zeroed = true },
	{ .vram = 1024, .visible = 1024, .zeroed = true, .reserve = 64 },
	{ .vram = 1003, .visible = 880, .zeroed = true, .reserve = 101, .nr_invalid = 3,
	  .invalid = { { 0, 1 }, { 37, 3 }, { 950, 20 } } },
};

static void vram_shape_name(const struct pagoda_kunit_shape *shape, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE,
		 "%u pages, %u visible, %u reserve, %u invalid ranges%s", shape->vram,
		 shape->visible, shape->reserve, shape->nr_invalid,
		 shape->zeroed ? ", zeroed" : "");
}

KUNIT_ARRAY_PARAM(vram_shape, vram_shapes, vram_shape_name);

static struct ttm_place vram_random_place(struct vram_fixture *fix, struct rnd_state *rnd)
{
	const struct pagoda_reserve *reserve = &fix->vidmm->vram->reserve;
	struct ttm_place place = {};

	switch (pagoda_kunit_below(rnd, 7)) {
	case 0:
		place.lpfn = fix->shape->visible;
		break;
	case 1:
		place.fpfn = fix->shape->visible % fix->shape->vram;
		break;
	case 2:
		place.fpfn = pagoda_kunit_below(rnd, fix->shape->vram);
		place.lpfn = place.fpfn + 1 + pagoda_kunit_below(rnd, fix->shape->vram);
		break;
	case 3:
		place.fpfn = reserve->start >> PAGE_SHIFT;
		place.lpfn = (reserve->start + reserve->size) >> PAGE_SHIFT;
		break;
	}
	if (!pagoda_kunit_below(rnd, 3))
		place.flags |= TTM_PL_FLAG_CONTIGUOUS;
	if (!pagoda_kunit_below(rnd, 3))
		place.flags |= TTM_PL_FLAG_TOPDOWN;
	return place;
}

static void vram_random_put(struct kunit *test, struct vram_fixture *fix, u32 slot,
			    struct rnd_state *rnd)
{
	u32 most = pagoda_kunit_below(rnd, 8) ? 24 : fix->shape->vram / 2;
	u32 pages = 1 + pagoda_kunit_below(rnd, most);
	u32 align = 1u << pagoda_kunit_below(rnd, 5);
	struct ttm_place place = vram_random_place(fix, rnd);
	bool room = vram_has_room(fix, &place, pages, align, false);
	int ret = vram_put_content(test, fix, slot, pages, align, &place,
				   pagoda_kunit_below(rnd, 2));

	if (ret) {
		KUNIT_ASSERT_FALSE(test, room);
		KUNIT_ASSERT_EQ(test, ret, vram_has_room(fix, &place, pages, align, true) ?
				-ENOSPC : -E2BIG);
		return;
	}
	KUNIT_ASSERT_TRUE(test, room);
	vram_claim(test, fix, slot, &place);
	if (place.flags & TTM_PL_FLAG_CONTIGUOUS)
		KUNIT_EXPECT_EQ(test, fix->slots[slot].res->start % align, 0);
	vram_check_window(test, fix, slot, pagoda_kunit_below(rnd, pages));
}

/* After each random allocation or free, the segment's answers and counters agree with the map. */
static void vram_random(struct kunit *test)
{
	struct vram_fixture *fix = vram_fixture(test, test->param_value);
	struct rnd_state rnd;
	u32 i;

	PAGODA_PROVES(C164);
	pagoda_kunit_seed(test, &rnd);
	for (i = 0; i < 3000; i++) {
		u32 slot = pagoda_kunit_below(&rnd, VRAM_SLOTS);

		if (fix->slots[slot].bo)
			vram_drop(fix, slot);
		else
			vram_random_put(test, fix, slot, &rnd);
		vram_check_books(test, fix);
	}
	vram_drop_all(fix);
	vram_check_books(test, fix);
}

/* ---- Single properties ------------------------------------------------------------ */

/*
 * Every valid page can be allocated, no invalid page is, and a failed allocation changes nothing.
 */
static void vram_exhaustion(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = {
		.vram = 59, .visible = 20, .nr_invalid = 3,
		.invalid = { { 5, 1 }, { 19, 2 }, { 58, 1 } },
	};
	struct vram_fixture *fix = vram_fixture(test, &shape);
	u32 i;

	PAGODA_PROVES(C164);
	for (i = 0; i < 59 - 4; i++) {
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 1, &anywhere), 0);
		vram_claim(test, fix, i, &anywhere);
	}
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, i, 1, &anywhere), -ENOSPC);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, i, 1, &contiguous), -ENOSPC);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, i, 7, &anywhere), -ENOSPC);
	vram_check_books(test, fix);
	KUNIT_EXPECT_EQ(test, pagoda_vram_largest_free(fix->vidmm), 0);
	vram_drop_all(fix);
	vram_check_books(test, fix);
	/* One object gets all pages again, around the invalid ranges. */
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 59 - 4, &anywhere), 0);
	vram_claim(test, fix, 0, &anywhere);
	vram_drop_all(fix);
}

/* Contiguous allocations aren't rounded up to powers of two: all of VRAM can be allocated. */
static void vram_contiguous_exact(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 1000, .visible = 1000 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	u32 i;

	PAGODA_PROVES(C162);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 700, &contiguous), 0);
	vram_claim(test, fix, 0, &contiguous);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 300, &contiguous), 0);
	vram_claim(test, fix, 1, &contiguous);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 2, 1, &contiguous), -ENOSPC);
	vram_drop_all(fix);
	for (i = 0; i < 10; i++) {
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 99, &contiguous), 0);
		vram_claim(test, fix, i, &contiguous);
	}
	vram_check_books(test, fix);
	vram_drop_all(fix);
}

/*
 * If enough pages are free, but no free range is large enough, a contiguous allocation fails with
 * -ENOSPC, and an allocation that may be scattered succeeds.
 */
static void vram_fragmented(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	u32 i;

	PAGODA_PROVES(C162);
	for (i = 0; i < 64; i++) {
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 1, &(struct ttm_place){
				.fpfn = i, .lpfn = i + 1 }), 0);
		vram_claim(test, fix, i, &anywhere);
	}
	for (i = 0; i < 64; i += 2)
		vram_drop(fix, i);
	KUNIT_EXPECT_EQ(test, pagoda_vram_largest_free(fix->vidmm), PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 2, &contiguous), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 30, &anywhere), 0);
	KUNIT_EXPECT_EQ(test, pagoda_vram_count_ranges(fix->slots[0].res), 30);
	KUNIT_EXPECT_FALSE(test, pagoda_vram_is_contiguous(fix->slots[0].res));
	vram_drop(fix, 0);
	/* Pages 8, 9 and 10 are the only hole of three pages. */
	vram_drop(fix, 9);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 3, &contiguous), 0);
	KUNIT_EXPECT_EQ(test, fix->slots[0].res->start, 8);
	vram_drop_all(fix);
}

/*
 * A contiguous allocation of 2^n pages anywhere in VRAM gets a free buddy block without visiting
 * all blocks. Other sizes visit all blocks, and so does a small alignment if no such block is free.
 */
static void vram_walks(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const u64 *walks = &fix->vidmm->vram->walks;
	u32 i;

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 8, &contiguous), 0);
	KUNIT_ASSERT_EQ(test, vram_put_content(test, fix, 1, 16, 16, &contiguous, false), 0);
	KUNIT_EXPECT_EQ(test, 0ull, *walks);
	vram_claim(test, fix, 0, &contiguous);
	vram_claim(test, fix, 1, &contiguous);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 2, 12, &contiguous), 0);
	KUNIT_EXPECT_EQ(test, 1ull, *walks);
	vram_drop_all(fix);
	for (i = 0; i < 64; i++)
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 1, &(struct ttm_place){
				.fpfn = i, .lpfn = i + 1 }), 0);
	for (i = 0; i < 64; i += 2)
		vram_drop(fix, i);
	KUNIT_EXPECT_EQ(test, vram_put_content(test, fix, 0, 8, 8, &contiguous, false), -ENOSPC);
	KUNIT_EXPECT_EQ(test, 1ull, *walks);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 3, &contiguous), -ENOSPC);
	KUNIT_EXPECT_EQ(test, 2ull, *walks);
	/*
	 * No buddy block of two pages is free, but two free blocks may be adjacent: the allocator
	 * visits all blocks before the allocation fails.
	 */
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 2, &contiguous), -ENOSPC);
	KUNIT_EXPECT_EQ(test, 3ull, *walks);
	vram_drop(fix, 5);
	vram_drop(fix, 7);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 4, &contiguous), 0);
	KUNIT_EXPECT_EQ(test, 3ull, *walks);
	vram_drop_all(fix);
}

/* A contiguous allocation that has to visit all blocks gets the smallest sufficient hole. */
static void vram_best_hole(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const struct ttm_place wall = { .fpfn = 40, .lpfn = 41 };
	const struct ttm_place from_end = {
		.flags = TTM_PL_FLAG_CONTIGUOUS | TTM_PL_FLAG_TOPDOWN
	};

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 1, &wall), 0);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 10, &contiguous), 0);
	KUNIT_EXPECT_EQ(test, fix->slots[1].res->start, 42);
	KUNIT_EXPECT_EQ(test, pagoda_vram_largest_free(fix->vidmm), 40 << PAGE_SHIFT);
	vram_drop(fix, 1);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 8, &from_end), 0);
	KUNIT_EXPECT_EQ(test, fix->slots[1].res->start, 56);
	vram_drop_all(fix);
}

/* ---- Zeros ------------------------------------------------------------------------ */

static u32 vram_clean_pages(struct ttm_resource *res)
{
	struct pagoda_vram_cursor cur;
	u64 clean = 0;

	for (pagoda_vram_first_clean(&cur, res, res->size, 0); cur.size;
	     pagoda_vram_next(&cur, cur.size))
		clean += cur.clean ? cur.size : 0;
	return clean >> PAGE_SHIFT;
}

/*
 * An allocation gets zeroed pages if it has no content, else others, as long as there are such
 * pages; a page counts as zeroed only until its first use.
 */
static void vram_zeros(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .zeroed = true };
	struct vram_fixture *fix = vram_fixture(test, &shape);

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 16, &anywhere), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(fix->slots[0].res), 16);
	vram_drop(fix, 0);
	/* 16 pages don't count as zeroed now: an allocation with content takes those ... */
	KUNIT_ASSERT_EQ(test, vram_put_content(test, fix, 0, 16, 1, &anywhere, true), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(fix->slots[0].res), 0);
	/* ... and the 48 zeroed pages are left for an allocation without content. */
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 48, &anywhere), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(fix->slots[1].res), 48);
	vram_drop_all(fix);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 64, &anywhere), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(fix->slots[0].res), 0);
	vram_drop_all(fix);
}

/* An object with content, swapped out or in VRAM, gets no zeroed pages; an empty object does. */
static void vram_zeros_not_for_content(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .zeroed = true };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	struct ttm_buffer_object *bo = pagoda_kunit_object(test, fix->vidmm, 4, 1);
	struct ttm_resource in_vram = { .mem_type = TTM_PL_VRAM };
	struct ttm_tt swapped = { .page_flags = TTM_TT_FLAG_SWAPPED };
	struct ttm_tt empty = {};
	struct ttm_resource *res;

	/* Use 4 pages, which then don't count as zeroed: 60 zeroed pages are left. */
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 4, &anywhere), 0);
	vram_drop(fix, 0);
	bo->ttm = &swapped;
	KUNIT_ASSERT_EQ(test, pagoda_kunit_alloc(bo, TTM_PL_VRAM, &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(res), 0);
	ttm_resource_free(bo, &res);
	bo->ttm = NULL;
	bo->resource = &in_vram;
	KUNIT_ASSERT_EQ(test, pagoda_kunit_alloc(bo, TTM_PL_VRAM, &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(res), 0);
	ttm_resource_free(bo, &res);
	bo->ttm = &empty;
	bo->resource = NULL;
	KUNIT_ASSERT_EQ(test, pagoda_kunit_alloc(bo, TTM_PL_VRAM, &anywhere, &res), 0);
	KUNIT_EXPECT_EQ(test, vram_clean_pages(res), 4);
	ttm_resource_free(bo, &res);
	pagoda_kunit_object_end(bo);
}

/* ---- The cursor -------------------------------------------------------------------- */

/*
 * Walks from random offsets in random steps find each byte at the address that a walk page by page
 * finds.
 */
static void vram_cursor_steps(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 256, .zeroed = true };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	struct pagoda_vram_cursor cur;
	struct ttm_resource *res;
	struct rnd_state rnd;
	u64 *address;
	u32 i;

	pagoda_kunit_seed(test, &rnd);
	for (i = 0; i < 32; i++)
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 1 + i % 7, &anywhere), 0);
	for (i = 0; i < 32; i += 3)
		vram_drop(fix, i);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 150, &anywhere), 0);
	res = fix->slots[0].res;
	address = test_calloc(test, 150, sizeof(*address));
	for (i = 0; i < 150; i++) {
		pagoda_vram_first(&cur, res, (u64)i << PAGE_SHIFT, PAGE_SIZE);
		KUNIT_ASSERT_EQ(test, cur.size, PAGE_SIZE);
		address[i] = cur.address;
	}
	for (i = 0; i < 500; i++) {
		u64 pos = pagoda_kunit_below(&rnd, res->size);
		u64 left = pagoda_kunit_below(&rnd, res->size - pos);

		for (pagoda_vram_first(&cur, res, pos, left); cur.size; ) {
			u64 step = 1 + pagoda_kunit_below(&rnd, cur.size);

			KUNIT_ASSERT_EQ(test, cur.left, left);
			KUNIT_ASSERT_EQ(test, cur.address,
					address[pos >> PAGE_SHIFT] + offset_in_page(pos));
			pagoda_vram_next(&cur, step);
			pos += step;
			left -= step;
		}
		KUNIT_ASSERT_EQ(test, left, 0);
	}
	vram_drop_all(fix);
}

/*
 * A cursor takes adjacent buddy blocks as one range; only that of pagoda_vram_first_clean() ends a
 * range where zeroed blocks meet others.
 */
static void vram_cursor_merges(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .zeroed = true };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const struct ttm_place low = { .lpfn = 8, .flags = TTM_PL_FLAG_CONTIGUOUS };
	struct pagoda_vram_cursor cur;

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 7, &low), 0);
	pagoda_vram_first_clean(&cur, fix->slots[0].res, 7 << PAGE_SHIFT, 0);
	KUNIT_EXPECT_EQ(test, cur.size, 7 << PAGE_SHIFT);
	KUNIT_EXPECT_TRUE(test, cur.clean);
	vram_drop(fix, 0);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 64, &contiguous), 0);
	KUNIT_EXPECT_TRUE(test, pagoda_vram_is_contiguous(fix->slots[0].res));
	pagoda_vram_first(&cur, fix->slots[0].res, 0, 64 << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, cur.size, 64 << PAGE_SHIFT);
	KUNIT_EXPECT_FALSE(test, cur.clean);
	/* In a later epoch, after a reset of the device, no page is known to be zero. */
	pagoda_vram_first_clean(&cur, fix->slots[0].res, 64 << PAGE_SHIFT, 1);
	KUNIT_EXPECT_EQ(test, cur.size, 64 << PAGE_SHIFT);
	KUNIT_EXPECT_FALSE(test, cur.clean);
	pagoda_vram_first_clean(&cur, fix->slots[0].res, 64 << PAGE_SHIFT, 0);
	KUNIT_EXPECT_FALSE(test, cur.clean);
	KUNIT_EXPECT_EQ(test, cur.size, 7 << PAGE_SHIFT);
	pagoda_vram_next(&cur, cur.size);
	KUNIT_EXPECT_TRUE(test, cur.clean);
	KUNIT_EXPECT_EQ(test, cur.address, 7 << PAGE_SHIFT);
	KUNIT_EXPECT_EQ(test, cur.size, 57 << PAGE_SHIFT);
	pagoda_vram_next(&cur, cur.size);
	KUNIT_EXPECT_EQ(test, cur.size, 0);
	KUNIT_EXPECT_EQ(test, cur.left, 0);
	vram_drop_all(fix);
}

/* ---- Callbacks of TTM ----------------------------------------------------------------- */

/* intersects() and compatible() agree with where a resource is. */
static void vram_matches(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 32 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	struct ttm_resource_manager *man = &fix->vidmm->vram->manager;
	const struct ttm_place visible = { .lpfn = 32 };
	const struct ttm_place hidden = { .fpfn = 32 };
	const struct ttm_place both = { .fpfn = 30, .lpfn = 34 };
	struct ttm_resource *res;

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 4, &both), 0);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 4, &visible), 0);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 2, 4, &hidden), 0);
	res = fix->slots[0].res;
	KUNIT_EXPECT_FALSE(test, pagoda_vram_is_visible(fix->vidmm, res));
	KUNIT_EXPECT_TRUE(test, man->func->intersects(man, res, &visible, 1));
	KUNIT_EXPECT_TRUE(test, man->func->intersects(man, res, &hidden, 1));
	KUNIT_EXPECT_FALSE(test, man->func->compatible(man, res, &visible, res->size));
	KUNIT_EXPECT_FALSE(test, man->func->compatible(man, res, &hidden, res->size));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &both, res->size));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &anywhere, res->size));
	res = fix->slots[1].res;
	KUNIT_EXPECT_TRUE(test, pagoda_vram_is_visible(fix->vidmm, res));
	KUNIT_EXPECT_FALSE(test, man->func->intersects(man, res, &hidden, 1));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &visible, res->size));
	res = fix->slots[2].res;
	KUNIT_EXPECT_FALSE(test, pagoda_vram_is_visible(fix->vidmm, res));
	KUNIT_EXPECT_FALSE(test, man->func->intersects(man, res, &visible, 1));
	KUNIT_EXPECT_TRUE(test, man->func->compatible(man, res, &hidden, res->size));
	vram_drop_all(fix);
}

/* A placement in the CPU-visible part of VRAM evicts only objects that are in that part. */
static void vram_eviction(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 32 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const struct ttm_place visible = { .mem_type = TTM_PL_VRAM, .lpfn = 32 };
	const struct ttm_place hidden = { .mem_type = TTM_PL_VRAM, .fpfn = 32 };
	struct ttm_buffer_object *first = pagoda_kunit_bo(test, fix->vidmm, 30, &hidden);
	struct ttm_buffer_object *second = pagoda_kunit_bo(test, fix->vidmm, 30, &visible);
	struct ttm_buffer_object *third;

	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, second);
	third = pagoda_kunit_bo(test, fix->vidmm, 20, &visible);
	KUNIT_ASSERT_NOT_NULL(test, third);
	KUNIT_EXPECT_EQ(test, first->resource->mem_type, TTM_PL_VRAM);
	KUNIT_EXPECT_EQ(test, second->resource->mem_type, TTM_PL_SYSTEM);
	KUNIT_EXPECT_TRUE(test, pagoda_vram_is_visible(fix->vidmm, third->resource));
	/* An object that can never fit must not empty the segment first. */
	KUNIT_EXPECT_NULL(test, pagoda_kunit_bo(test, fix->vidmm, 33, &visible));
	KUNIT_EXPECT_EQ(test, third->resource->mem_type, TTM_PL_VRAM);
	/* TTM moves an object that isn't where the placement wants it. */
	KUNIT_EXPECT_EQ(test, pagoda_kunit_validate(first, &visible), 0);
	KUNIT_EXPECT_TRUE(test, pagoda_vram_is_visible(fix->vidmm, first->resource));
	KUNIT_EXPECT_EQ(test, third->resource->mem_type, TTM_PL_SYSTEM);
}

/* -E2BIG for an object that could never fit; -ENOSPC for an object that others leave no room. */
static void vram_too_large(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = {
		.vram = 64, .visible = 32, .nr_invalid = 2, .invalid = { { 20, 2 }, { 60, 4 } },
	};
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const struct ttm_place visible = { .lpfn = 32 };

	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 59, &anywhere), -E2BIG);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 39, &contiguous), -E2BIG);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 31, &visible), -E2BIG);
	KUNIT_EXPECT_EQ(test, vram_put_content(test, fix, 0, 33, 32, &contiguous, false), -E2BIG);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 58, &anywhere), 0);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 1, 58, &anywhere), -ENOSPC);
	vram_drop(fix, 0);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 38, &contiguous), 0);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 1, 38, &contiguous), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fix->slots[0].res->start, 22);
	vram_drop_all(fix);
}

/*
 * If the device aligns VRAM to 16 pages, an allocation gets whole units of 16 pages, and none that
 * has an invalid page.
 */
static void vram_coarse(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = {
		.vram = 256, .visible = 128, .alignment = 16, .nr_invalid = 2,
		.invalid = { { 3, 1 }, { 9, 10 } },
	};
	struct vram_fixture *fix = vram_fixture(test, &shape);
	u32 i;

	PAGODA_PROVES(C128, C164);
	for (i = 0; i < 14; i++) {
		KUNIT_ASSERT_EQ(test, vram_put(test, fix, i, 5, &anywhere), 0);
		KUNIT_EXPECT_EQ(test, fix->slots[i].res->start % 16, 0);
		KUNIT_EXPECT_GE(test, fix->slots[i].res->start, 32);
	}
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, i, 1, &anywhere), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fix->vidmm->vram->visible_used, (128 - 32) << PAGE_SHIFT);
	vram_drop_all(fix);
	KUNIT_EXPECT_EQ(test, fix->vidmm->vram->visible_used, 0);
}

static bool vram_helps(struct vram_fixture *fix, u32 slot, const struct ttm_place *place)
{
	struct ttm_resource_manager *man = &fix->vidmm->vram->manager;

	return man->func->intersects(man, fix->slots[slot].res, place, PAGE_SIZE);
}

static bool vram_is_there(struct vram_fixture *fix, u32 slot, const struct ttm_place *place)
{
	struct ttm_resource_manager *man = &fix->vidmm->vram->manager;

	return man->func->compatible(man, fix->slots[slot].res, place, PAGE_SIZE);
}

/*
 * Evicting an object from the reserve makes no room for a placement outside of the reserve, nor the
 * other way round; but an object in the reserve satisfies a placement anywhere in VRAM.
 */
static void vram_reserve_is_apart(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = {
		.vram = 128, .visible = 128, .reserve = 16
	};
	static const struct ttm_place inside = { .fpfn = 112, .lpfn = 128 };
	struct vram_fixture *fix = vram_fixture(test, &shape);

	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 113, &anywhere), -E2BIG);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 17, &inside), -E2BIG);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 112, &contiguous), 0);
	vram_claim(test, fix, 0, &contiguous);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 1, 1, &anywhere), -ENOSPC);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 1, 16, &inside), 0);
	vram_claim(test, fix, 1, &inside);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 2, 1, &inside), -ENOSPC);
	vram_check_books(test, fix);

	KUNIT_EXPECT_TRUE(test, vram_helps(fix, 0, &anywhere));
	KUNIT_EXPECT_FALSE(test, vram_helps(fix, 0, &inside));
	KUNIT_EXPECT_FALSE(test, vram_helps(fix, 1, &anywhere));
	KUNIT_EXPECT_TRUE(test, vram_helps(fix, 1, &inside));
	KUNIT_EXPECT_TRUE(test, vram_is_there(fix, 0, &anywhere));
	KUNIT_EXPECT_FALSE(test, vram_is_there(fix, 0, &inside));
	KUNIT_EXPECT_TRUE(test, vram_is_there(fix, 1, &anywhere));
	KUNIT_EXPECT_TRUE(test, vram_is_there(fix, 1, &inside));
	vram_drop_all(fix);
	vram_check_books(test, fix);
}

static struct pagoda_vram_resource *vram_no_resource(void)
{
	return NULL;
}

/* Without kernel memory the manager returns -ENOMEM and changes nothing. */
static void vram_no_memory(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);

	kunit_activate_static_stub(test, pagoda_vram_new_resource, vram_no_resource);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 4, &anywhere), -ENOMEM);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 4, &contiguous), -ENOMEM);
	kunit_deactivate_static_stub(test, pagoda_vram_new_resource);
	vram_check_books(test, fix);
	KUNIT_EXPECT_EQ(test, vram_put(test, fix, 0, 64, &contiguous), 0);
	vram_drop_all(fix);
}

static void vram_no_window(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);

	KUNIT_EXPECT_NULL(test, fix->vidmm->vram->window);
	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 1, &anywhere), 0);
	KUNIT_EXPECT_FALSE(test, pagoda_vram_is_visible(fix->vidmm, fix->slots[0].res));
	KUNIT_EXPECT_EQ(test, fix->vidmm->vram->visible_used, 0);
	vram_drop_all(fix);
}

struct vram_visible {
	struct pagoda_kunit_shape shape;
	u32 flags;
};

static const struct vram_visible vram_visibles[] = {
	{ { .vram = 64, .visible = 64 }, DRM_PAGODA_SEGMENT_CPU_VISIBLE },
	{ { .vram = 64, .visible = 63 }, DRM_PAGODA_SEGMENT_CPU_PARTIAL },
	{ { .vram = 64, .visible = 0 }, 0 },
};

static void vram_visible_name(const struct vram_visible *visible, char *name)
{
	vram_shape_name(&visible->shape, name);
}

KUNIT_ARRAY_PARAM(vram_visible, vram_visibles, vram_visible_name);

/* The segment's flags say whether the CPU reaches all of VRAM, a part, or nothing. */
static void vram_reports_visible(struct kunit *test)
{
	const struct vram_visible *visible = test->param_value;
	struct vram_fixture *fix = vram_fixture(test, &visible->shape);
	struct drm_pagoda_segment_info info = {};

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 64, &anywhere), 0);
	pagoda_vram_report(fix->vidmm, &info);
	KUNIT_EXPECT_EQ(test, info.flags, visible->flags);
	KUNIT_EXPECT_EQ(test, info.size, 64 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.usage, 64 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.visible_size, visible->shape.visible * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.visible_usage, visible->shape.visible * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, info.largest_free, 0);
	vram_drop_all(fix);
}

/* debugfs tells of the CPU-visible part, of free bytes, of holes and of the reserve. */
static void vram_in_debugfs(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 16 };
	static const struct ttm_place visible = { .lpfn = 16 };
	static const char * const lines[] = {
		"visible: 65536 bytes, 65536 in use\n",
		"free: 196608 bytes, 0 known to be zero\n",
		"holes: 1, largest 196608 bytes;",
		"reserve: 0 bytes, 0 in use, placed 0, refused 0\n",
	};
	struct vram_fixture *fix = vram_fixture(test, &shape);
	char *text = test_zalloc(test, SZ_4K);
	struct drm_print_iterator iterator = { .data = text, .remain = SZ_4K - 1 };
	struct drm_printer p = drm_coredump_printer(&iterator);
	u32 i;

	KUNIT_ASSERT_EQ(test, vram_put(test, fix, 0, 16, &visible), 0);
	ttm_resource_manager_debug(&fix->vidmm->vram->manager, &p);
	for (i = 0; i < ARRAY_SIZE(lines); i++)
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, lines[i]), "%s in %s", lines[i], text);
	vram_drop_all(fix);
}

/*
 * Blocks belong to a resource before TTM has set &ttm_resource.bo: until then pagoda_vram_owners()
 * returns -EBUSY for a range with such a block.
 */
static void vram_owners_of_new(struct kunit *test)
{
	struct vram_fixture *fix = vram_fixture(test, &vram_shapes[0]);
	struct ttm_buffer_object *bo;
	struct pagoda_bo *owners[1];
	struct ttm_resource *res;

	KUNIT_ASSERT_EQ(test, 0, vram_put(test, fix, 0, 4, &contiguous));
	res = fix->slots[0].res;
	bo = res->bo;
	res->bo = NULL;
	KUNIT_EXPECT_EQ(test, -EBUSY,
			pagoda_vram_owners(fix->vidmm, (u64)res->start << PAGE_SHIFT, PAGE_SIZE,
					   owners, ARRAY_SIZE(owners)));
	res->bo = bo;
}

/* Destroying the segment evicts the objects in it. */
static void vram_taken_down(struct kunit *test)
{
	static const struct pagoda_kunit_shape shape = { .vram = 64, .visible = 64 };
	struct vram_fixture *fix = vram_fixture(test, &shape);
	const struct ttm_place vram = { .mem_type = TTM_PL_VRAM };
	struct ttm_buffer_object *bo = pagoda_kunit_bo(test, fix->vidmm, 8, &vram);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	pagoda_vram_fini(fix->vidmm);
	KUNIT_EXPECT_EQ(test, bo->resource->mem_type, TTM_PL_SYSTEM);
	KUNIT_EXPECT_NULL(test, fix->vidmm->vram->window);
	KUNIT_ASSERT_EQ(test, pagoda_vram_init(fix->vidmm, NULL), 0);
	KUNIT_EXPECT_EQ(test, pagoda_kunit_validate(bo, &vram), 0);
}

static struct kunit_case vram_cases[] = {
	PAGODA_CASE_PARAM_SLOW(vram_random, vram_shape_gen_params),
	KUNIT_CASE(vram_exhaustion),
	KUNIT_CASE(vram_contiguous_exact),
	KUNIT_CASE(vram_walks),
	KUNIT_CASE(vram_fragmented),
	KUNIT_CASE(vram_best_hole),
	KUNIT_CASE(vram_zeros),
	KUNIT_CASE(vram_zeros_not_for_content),
	KUNIT_CASE(vram_cursor_steps),
	KUNIT_CASE(vram_cursor_merges),
	KUNIT_CASE(vram_matches),
	KUNIT_CASE(vram_eviction),
	KUNIT_CASE(vram_too_large),
	KUNIT_CASE(vram_coarse),
	KUNIT_CASE(vram_reserve_is_apart),
	KUNIT_CASE(vram_no_memory),
	KUNIT_CASE(vram_no_window),
	KUNIT_CASE_PARAM(vram_reports_visible, vram_visible_gen_params),
	KUNIT_CASE(vram_in_debugfs),
	KUNIT_CASE(vram_owners_of_new),
	KUNIT_CASE(vram_taken_down),
	{}
};

static struct kunit_suite vram_suite = {
	.name = "pagoda_vram",
	.test_cases = vram_cases,
};

kunit_test_suite(vram_suite);
