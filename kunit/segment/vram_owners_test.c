// SPDX-License-Identifier: GPL-2.0
/*
 * Which allocations have blocks in a range of VRAM: as many as pagoda_vram_owners() can tell, and
 * one more, whose blocks lie between those of all others.
 */
#include <linux/sort.h>
#include "rig/rig.h"

#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define MOST	PAGODA_VRAM_OWNERS
#define BLOCKS	3u	/* pages, blocks of VRAM, of each allocation */
#define AREA	(4u * MOST)	/* pages at the end of VRAM */

/*
 * @single: allocations of a page each, in all pages of the area, in the order of their addresses;
 * NULL once closed. @mixed: allocations in pages that were closed
 */
struct owners_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *rest[2];
	struct pagoda_bo *single[AREA];
	struct pagoda_bo *mixed[MOST];
	struct pagoda_bo *found[MOST];
	u64 start;
};

static struct pagoda_bo *owners_bo(struct owners_test *t, u32 pages)
{
	struct pagoda_bo *bo = pagoda_rig_bo(t->rig, pages, CPU, VRAM, 0);

	KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_to_vram(bo));
	return bo;
}

static u64 owners_address(const struct pagoda_bo *bo)
{
	return (u64)bo->ttm.resource->start << PAGE_SHIFT;
}

static int owners_compare(const void *a, const void *b)
{
	u64 left = owners_address(*(struct pagoda_bo **)a);
	u64 right = owners_address(*(struct pagoda_bo **)b);

	return left < right ? -1 : left > right;
}

/*
 * Makes the allocations: each of @t->mixed gets a page in each of the first BLOCKS parts of the
 * area, at the same place in each part, because no other pages of VRAM are free then.
 */
static struct owners_test *owners_begin(struct kunit *test)
{
	struct owners_test *t = test_zalloc(test, sizeof(*t));
	u32 i, part;

	t->test = test;
	t->rig = pagoda_rig_create(test, NULL);
	/* Powers of two, which VRAM's allocator places one behind the other. */
	t->rest[0] = owners_bo(t, PAGODA_RIG_VRAM_PAGES / 2);
	t->rest[1] = owners_bo(t, PAGODA_RIG_VRAM_PAGES / 2 - AREA);
	for (i = 0; i < AREA; i++)
		t->single[i] = owners_bo(t, 1);
	sort(t->single, AREA, sizeof(t->single[0]), owners_compare, NULL);
	t->start = owners_address(t->single[0]);
	KUNIT_ASSERT_EQ(test, t->start + ((AREA - 1) << PAGE_SHIFT),
			owners_address(t->single[AREA - 1]));
	for (i = 0; i < MOST; i++) {
		for (part = 0; part < BLOCKS; part++) {
			pagoda_rig_close(t->single[part * MOST + i]);
			t->single[part * MOST + i] = NULL;
		}
		pagoda_rig_settle_freed(t->rig);
		t->mixed[i] = owners_bo(t, BLOCKS);
	}
	return t;
}

static void owners_end(struct owners_test *t)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(t->rest); i++)
		pagoda_rig_close(t->rest[i]);
	for (i = 0; i < AREA; i++)
		if (t->single[i])
			pagoda_rig_close(t->single[i]);
	for (i = 0; i < MOST; i++)
		pagoda_rig_close(t->mixed[i]);
}

static int owners_look(struct owners_test *t, u32 pages, u32 room)
{
	return pagoda_vram_owners(t->rig->vidmm, t->start, (u64)pages << PAGE_SHIFT, t->found,
				  room);
}

/* Each allocation is found once, in the order of the first blocks. */
static void owners_of_mixed(struct kunit *test)
{
	struct owners_test *t = owners_begin(test);
	u32 i;

	KUNIT_ASSERT_EQ(test, (int)MOST, owners_look(t, BLOCKS * MOST, MOST));
	for (i = 0; i < MOST; i++) {
		KUNIT_EXPECT_PTR_EQ(test, t->mixed[i], t->found[i]);
		KUNIT_EXPECT_EQ(test, 2u, kref_read(&t->mixed[i]->ttm.base.refcount));
		drm_gem_object_put(&t->found[i]->ttm.base);
	}
	owners_end(t);
}

/* With one allocation too many in the range, none is told, and no reference is left. */
static void owners_too_many(struct kunit *test)
{
	struct owners_test *t = owners_begin(test);
	u32 i;

	KUNIT_EXPECT_EQ(test, -EBUSY, owners_look(t, BLOCKS * MOST + 1, MOST));
	KUNIT_EXPECT_EQ(test, -EBUSY, owners_look(t, BLOCKS * MOST, MOST - 1));
	for (i = 0; i < MOST; i++)
		KUNIT_EXPECT_EQ(test, 1u, kref_read(&t->mixed[i]->ttm.base.refcount));
	owners_end(t);
}

static struct kunit_case vram_owners_cases[] = {
	KUNIT_CASE(owners_of_mixed),
	KUNIT_CASE(owners_too_many),
	{}
};

static struct kunit_suite vram_owners_suite = {
	.name = "pagoda_vram_owners",
	.test_cases = vram_owners_cases,
};

kunit_test_suite(vram_owners_suite);
