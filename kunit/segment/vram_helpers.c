// SPDX-License-Identifier: GPL-2.0
/*
 * Puts objects into the VRAM segment, keeps a map of VRAM's pages, and compares the segment with
 * the map; see vram_helpers.h.
 */
#include <linux/highmem.h>
#include "rig/alloc.h"
#include "vram_helpers.h"

#define VRAM_INVALID	0xff

/* ---- Operations ---------------------------------------------------------------- */

int vram_put_content(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 pages,
		     u32 align, const struct ttm_place *place, bool content)
{
	struct ttm_buffer_object *bo = pagoda_kunit_object(test, fix->vidmm, pages, align);
	int ret;

	bo->ttm = content ? &fix->populated : NULL;
	ret = pagoda_kunit_alloc(bo, TTM_PL_VRAM, place, &fix->slots[slot].res);
	if (ret)
		pagoda_kunit_object_end(bo);
	else
		fix->slots[slot].bo = bo;
	return ret;
}

int vram_put(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 pages,
	     const struct ttm_place *place)
{
	return vram_put_content(test, fix, slot, pages, 1, place, false);
}

void vram_drop(struct vram_fixture *fix, u32 slot)
{
	struct vram_slot *s = &fix->slots[slot];
	u32 i;

	if (!s->bo)
		return;
	ttm_resource_free(s->bo, &s->res);
	pagoda_kunit_object_end(s->bo);
	s->bo = NULL;
	for (i = 0; i < fix->shape->vram; i++)
		if (fix->owner[i] == slot + 1)
			fix->owner[i] = 0;
}

void vram_drop_all(struct vram_fixture *fix)
{
	u32 i;

	for (i = 0; i < VRAM_SLOTS; i++)
		vram_drop(fix, i);
}

/*
 * The segments are destroyed after this action: a case that failed midway must not leave resources
 * in them.
 */
static void vram_fixture_end(void *fix)
{
	vram_drop_all(fix);
}

struct vram_fixture *vram_fixture(struct kunit *test,
				  const struct pagoda_kunit_shape *shape)
{
	struct vram_fixture *fix = test_zalloc(test, sizeof(*fix));
	u32 i;

	fix->shape = shape;
	fix->vidmm = pagoda_kunit_segments(test, shape);
	fix->populated.page_flags = TTM_TT_FLAG_PRIV_POPULATED;
	for (i = 0; i < shape->nr_invalid; i++)
		memset(fix->owner + shape->invalid[i][0], VRAM_INVALID, shape->invalid[i][1]);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vram_fixture_end, fix), 0);
	return fix;
}

/* ---- The map ------------------------------------------------------------------- */

static u32 vram_place_end(struct vram_fixture *fix, const struct ttm_place *place)
{
	return place->lpfn ? min_t(u32, place->lpfn, fix->shape->vram) : fix->shape->vram;
}

static bool vram_is_reserve(struct vram_fixture *fix, u32 page)
{
	return pagoda_reserve_has(&fix->vidmm->vram->reserve, (u64)page << PAGE_SHIFT);
}

/*
 * Returns whether the map allows @page for @place: the page is free, or with @when_empty would be
 * if no object existed, and the page and the beginning of @place are both in the reserve, or
 * neither.
 */
static bool vram_page_free(struct vram_fixture *fix, const struct ttm_place *place, u32 page,
			   bool when_empty)
{
	if (vram_is_reserve(fix, page) != vram_is_reserve(fix, place->fpfn))
		return false;
	return when_empty ? fix->owner[page] != VRAM_INVALID : !fix->owner[page];
}

static u32 vram_count_free(struct vram_fixture *fix, const struct ttm_place *place,
			   bool when_empty)
{
	u32 end = vram_place_end(fix, place);
	u32 count = 0;
	u32 i;

	for (i = place->fpfn; i < end; i++)
		count += vram_page_free(fix, place, i, when_empty);
	return count;
}

static bool vram_has_range(struct vram_fixture *fix, const struct ttm_place *place, u32 pages,
			   u32 align, bool when_empty)
{
	u32 end = vram_place_end(fix, place);
	u32 start;

	for (start = round_up(place->fpfn, align); start + pages <= end; start += align) {
		u32 i;

		for (i = 0; i < pages; i++)
			if (!vram_page_free(fix, place, start + i, when_empty))
				break;
		if (i == pages)
			return true;
	}
	return false;
}

/*
 * Returns whether the map has room for the placement, or with @when_empty would have if no object
 * existed. If there is room, the segment's manager has to find it, too.
 */
bool vram_has_room(struct vram_fixture *fix, const struct ttm_place *place, u32 pages,
		   u32 align, bool when_empty)
{
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		return vram_has_range(fix, place, pages, align, when_empty);
	return vram_count_free(fix, place, when_empty) >= pages;
}

static u32 vram_largest_free(struct vram_fixture *fix)
{
	u32 largest = 0;
	u32 run = 0;
	u32 i;

	for (i = 0; i < fix->shape->vram; i++) {
		run = fix->owner[i] || vram_is_reserve(fix, i) ? 0 : run + 1;
		largest = max(largest, run);
	}
	return largest;
}

/*
 * Enters the cursor's range into the map as the slot's. Expects the range to be free, inside the
 * placement, in the reserve exactly if that is, and, if it counts as zeroed, never used before.
 */
static void vram_claim_range(struct kunit *test, struct vram_fixture *fix, u32 slot,
			     const struct ttm_place *place, const struct pagoda_vram_cursor *cur)
{
	u32 start = cur->address >> PAGE_SHIFT;
	u32 end = start + (cur->size >> PAGE_SHIFT);
	u32 i;

	KUNIT_ASSERT_TRUE(test, PAGE_ALIGNED(cur->address | cur->size));
	KUNIT_ASSERT_GE(test, start, place->fpfn);
	KUNIT_ASSERT_LE(test, end, vram_place_end(fix, place));
	for (i = start; i < end; i++) {
		KUNIT_ASSERT_EQ(test, fix->owner[i], 0);
		KUNIT_ASSERT_EQ(test, vram_is_reserve(fix, i), vram_is_reserve(fix, place->fpfn));
		if (cur->clean)
			KUNIT_ASSERT_FALSE(test, fix->used[i] || !fix->shape->zeroed);
		fix->owner[i] = slot + 1;
		fix->used[i] = true;
	}
}

/* Enters all ranges of a resource into the map; returns their bytes. */
static u64 vram_claim_ranges(struct kunit *test, struct vram_fixture *fix, u32 slot,
			     const struct ttm_place *place)
{
	struct ttm_resource *res = fix->slots[slot].res;
	struct pagoda_vram_cursor cur;
	u64 bytes = 0;

	for (pagoda_vram_first_clean(&cur, res, res->size, 0); cur.size;
	     pagoda_vram_next(&cur, cur.size)) {
		vram_claim_range(test, fix, slot, place, &cur);
		bytes += cur.size;
	}
	return bytes;
}

/*
 * Enters the slot's new resource into the map, and expects that no object had its pages.
 * pagoda_vram_count_ranges() must be exact, because callers allocate arrays of that length.
 */
void vram_claim(struct kunit *test, struct vram_fixture *fix, u32 slot,
		const struct ttm_place *place)
{
	struct ttm_resource *res = fix->slots[slot].res;
	struct pagoda_vram_cursor cur;
	u64 bytes = 0;
	u32 ranges = 0;

	KUNIT_EXPECT_EQ(test, vram_claim_ranges(test, fix, slot, place), res->size);
	pagoda_vram_first(&cur, res, 0, res->size);
	KUNIT_EXPECT_EQ(test, res->start, cur.address >> PAGE_SHIFT);
	for (; cur.size; pagoda_vram_next(&cur, cur.size)) {
		bytes += cur.size;
		ranges++;
	}
	KUNIT_EXPECT_EQ(test, bytes, res->size);
	KUNIT_EXPECT_EQ(test, pagoda_vram_count_ranges(res), ranges);
	KUNIT_EXPECT_EQ(test, pagoda_vram_is_contiguous(res), ranges == 1);
	KUNIT_EXPECT_EQ(test, !!(res->placement & TTM_PL_FLAG_CONTIGUOUS), ranges == 1);
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		KUNIT_EXPECT_EQ(test, ranges, 1);
}

/* Expects the manager's counters and the largest free range to agree with the map. */
void vram_check_books(struct kunit *test, struct vram_fixture *fix)
{
	struct pagoda_vram *vram = fix->vidmm->vram;
	u32 used = 0;
	u32 visible = 0;
	u32 reserve = 0;
	u32 i;

	for (i = 0; i < fix->shape->vram; i++) {
		if (!fix->owner[i] || fix->owner[i] == VRAM_INVALID)
			continue;
		used++;
		if (vram_is_reserve(fix, i))
			reserve++;
		else
			visible += i < fix->shape->visible;
	}
	mutex_lock(&vram->lock);
	KUNIT_EXPECT_EQ(test, pagoda_reserve_used(vram), (u64)reserve << PAGE_SHIFT);
	mutex_unlock(&vram->lock);
	KUNIT_ASSERT_EQ(test, vram->visible_used, (u64)visible << PAGE_SHIFT);
	KUNIT_ASSERT_EQ(test, ttm_resource_manager_usage(&vram->manager), (u64)used << PAGE_SHIFT);
	KUNIT_ASSERT_EQ(test, pagoda_vram_largest_free(fix->vidmm),
			(u64)vram_largest_free(fix) << PAGE_SHIFT);
}

/*
 * Expects pagoda_vram_pfn() of page @page of the slot's resource to be the page frame that the CPU
 * window shows at that page's VRAM address. Does nothing if a part of the resource is invisible to
 * the CPU.
 */
void vram_check_window(struct kunit *test, struct vram_fixture *fix, u32 slot, u32 page)
{
	struct ttm_resource *res = fix->slots[slot].res;
	struct pagoda_vram_cursor cur;
	struct page *frame;
	u8 *data;

	if (!pagoda_vram_is_visible(fix->vidmm, res))
		return;
	pagoda_vram_first(&cur, res, (u64)page << PAGE_SHIFT, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, cur.size, PAGE_SIZE);
	frame = pfn_to_page(pagoda_vram_pfn(fix->vidmm, res, page));
	fix->vidmm->vram->window[cur.address] ^= 0x5a;
	data = kmap_local_page(frame);
	KUNIT_EXPECT_EQ(test, *data, fix->vidmm->vram->window[cur.address]);
	*data ^= 0xff;
	KUNIT_EXPECT_EQ(test, *data, fix->vidmm->vram->window[cur.address]);
	kunmap_local(data);
}
