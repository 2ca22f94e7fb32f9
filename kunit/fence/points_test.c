// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of promised points of a timeline: the order in which these points get their fences, and the
 * cost of a promise among many.
 */
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <drm/drm_syncobj.h>
#include "rig/rig.h"

#define POINTS	60000u
#define LIMIT	(2 * NSEC_PER_SEC)

struct points_world {
	struct pagoda_rig *rig;
	struct drm_syncobj *syncobj;
	struct pagoda_point **point;
};

static struct points_world points_world(struct kunit *test, u32 count)
{
	struct points_world w = { .rig = pagoda_rig_create(test, NULL) };
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, drm_syncobj_create(&w.syncobj, 0, NULL));
	w.point = kvcalloc(count, sizeof(*w.point), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w.point);
	for (i = 0; i < count; i++) {
		w.point[i] = pagoda_point_alloc(w.syncobj, i + 1);
		KUNIT_ASSERT_NOT_NULL(test, w.point[i]);
	}
	return w;
}

static void points_world_end(struct points_world *w)
{
	kvfree(w->point);
	drm_syncobj_put(w->syncobj);
}

/* Returns the last point of the timeline that has a fence; 0 = none. */
static u64 points_last(const struct points_world *w)
{
	struct dma_fence *fence = drm_syncobj_fence_get(w->syncobj);
	u64 last = fence ? fence->seqno : 0;

	dma_fence_put(fence);
	return last;
}

static void points_signal(const struct points_world *w, u32 index)
{
	struct dma_fence *fence = dma_fence_get_stub();

	pagoda_point_signal(w->rig->vidmm, w->point[index], fence);
	dma_fence_put(fence);
}

/* Points that are promised in any order get their fences in the order of their values. */
static void points_in_order(struct kunit *test)
{
	static const u8 promised[] = { 3, 0, 4, 1, 2 };
	struct points_world w = points_world(test, 6);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(promised); i++)
		pagoda_point_promise(w.rig->vidmm, w.point[promised[i]]);
	points_signal(&w, 3);
	points_signal(&w, 1);
	/* Point 6 wasn't promised before, as for work that is submitted at once. */
	points_signal(&w, 5);
	KUNIT_EXPECT_EQ(test, 0ull, points_last(&w));
	points_signal(&w, 0);
	KUNIT_EXPECT_EQ(test, 2ull, points_last(&w));
	points_signal(&w, 4);
	KUNIT_EXPECT_EQ(test, 2ull, points_last(&w));
	points_signal(&w, 2);
	KUNIT_EXPECT_EQ(test, 6ull, points_last(&w));
	points_world_end(&w);
}

/*
 * Promises of 60000 points, the smallest first, then in descending order, take less than LIMIT: the
 * cost of a promise grows as the logarithm of their number. All points get their fences.
 */
static void points_are_many(struct kunit *test)
{
	struct points_world w = points_world(test, POINTS);
	u64 start = ktime_get_ns();
	u32 i;

	pagoda_point_promise(w.rig->vidmm, w.point[0]);
	for (i = POINTS - 1; i; i--)
		pagoda_point_promise(w.rig->vidmm, w.point[i]);
	KUNIT_EXPECT_LT(test, ktime_get_ns() - start, LIMIT);
	for (i = 0; i < POINTS; i++)
		points_signal(&w, i);
	KUNIT_EXPECT_EQ(test, (u64)POINTS, points_last(&w));
	points_world_end(&w);
}

static struct kunit_case points_cases[] = {
	KUNIT_CASE(points_in_order),
	KUNIT_CASE_SLOW(points_are_many),
	{}
};

static struct kunit_suite points_suite = {
	.name = "pagoda_points",
	.test_cases = points_cases,
};

kunit_test_suite(points_suite);
