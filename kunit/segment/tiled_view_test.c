// SPDX-License-Identifier: GPL-2.0
/*
 * Views: rows of tiled allocations in the windows of ranges. What becomes of views in moves, and
 * when their ranges are free again.
 */
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "rig/map.h"
#include "tiled_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define SPECIAL		VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER

/* An eviction to any place copies a view out of its range; the move back copies it into a range. */
static void view_survives(struct kunit *test)
{
	u32 i, place, seed = 10;

	for (i = 0; i < 2 * TILED_LAYOUTS; i++) {
		const struct pagoda_rig_options options = {
			.no_window = i % 2,
			.buffer_size = VIRTIO_PAGODA_MIN_BUFFER,
		};
		struct pagoda_rig *rig = pagoda_rig_create(test, &options);
		struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[i / 2], seed);
		u32 special = 0;

		for (place = PAGODA_PLACE_SYSTEM; place < PAGODA_PLACE_VRAM; place++) {
			KUNIT_ASSERT_EQ(test, 0, tiled_place(bo, place));
			PAGODA_PROVES(C34);
			KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, seed));
			KUNIT_EXPECT_NULL(test, bo->tiling.range);
			KUNIT_EXPECT_TRUE(test, bo->tiling.alternate_view);
			KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, SPECIAL, bo->id), special);
			special = pagoda_rig_count(rig, SPECIAL, bo->id);
			/* The CPU goes on writing rows while the allocation is out of VRAM. */
			tiled_content(rig, bo, ++seed, false, true);

			memset(rig->windows, 0x77, rig->swizzling.size);
			KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
			KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, seed));
			KUNIT_EXPECT_NOT_NULL(test, bo->tiling.range);
			PAGODA_PROVES(C38);
			KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, SPECIAL, bo->id), special);
			special = pagoda_rig_count(rig, SPECIAL, bo->id);
			KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
			KUNIT_EXPECT_TRUE(test, window_content(rig, bo, seed, false));
			window_content(rig, bo, ++seed, true);
		}
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0));
		pagoda_rig_close(bo);
	}
}

/* A view that came back to VRAM and wasn't used by the CPU since isn't kept in the next move. */
static void view_unused(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 3);
	u32 special;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_NOT_NULL(test, bo->tiling.range);
	pagoda_rig_settle(rig);
	special = pagoda_rig_count(rig, SPECIAL, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 3));
	KUNIT_EXPECT_FALSE(test, bo->tiling.alternate_view);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 3));
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	PAGODA_PROVES(C38);
	KUNIT_EXPECT_EQ(test, special, pagoda_rig_count(rig, SPECIAL, 0));
	pagoda_rig_close(bo);
}

/* If no range is free when an allocation returns to VRAM, its content comes without a view. */
static void view_without_range(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *others[PAGODA_RIG_RANGES], *bo = tiled_shown(rig, &tiled_layouts[0], 7);
	u32 special, i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		others[i] = tiled_shown(rig, &tiled_layouts[0], 20 + i);
	pagoda_rig_settle(rig);
	special = pagoda_rig_count(rig, SPECIAL, 0);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 7));
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_EXPECT_FALSE(test, bo->tiling.alternate_view);
	PAGODA_PROVES(C38);
	KUNIT_EXPECT_EQ(test, special, pagoda_rig_count(rig, SPECIAL, 0));
	for (i = 0; i < PAGODA_RIG_RANGES; i++) {
		KUNIT_EXPECT_TRUE(test, window_content(rig, others[i], 20 + i, false));
		pagoda_rig_close(others[i]);
	}
	pagoda_rig_close(bo);
}

/*
 * A range is free only after the copy out of its window was executed; a move into VRAM doesn't wait
 * for that copy, and comes without a view.
 */
static void view_fence(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 7);
	struct pagoda_bo *others[PAGODA_RIG_RANGES - 1];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = tiled_shown(rig, &tiled_layouts[0], 20 + i);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 7));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 7, false));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		pagoda_rig_close(others[i]);
	pagoda_rig_close(bo);
}

/* Work item that lets the held device continue while the test waits for the device. */
struct view_release {
	struct work_struct work;
	struct pagoda_rig *rig;
};

static void view_let_go(struct work_struct *work)
{
	struct view_release *release = container_of(work, struct view_release, work);

	pagoda_fake_transport_mode(release->rig->fake, PAGODA_FAKE_DEFERRED);
}

static struct dma_fence *view_last;
static bool view_was_early;

/*
 * Stands in for the device's control queue: executes no command, and notes in view_was_early
 * whether an ACQUIRE_RANGE comes before the fence view_last has signalled.
 */
static int view_control(void *arg, const struct pagoda_command *command)
{
	view_was_early |= command->type == VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE &&
			  !dma_fence_is_signaled(view_last);
	return 0;
}

/* As a page fault, tiled_acquire() waits for the copy out of a range, then acquires the range. */
static void view_fence_waits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 7);
	struct pagoda_bo *others[PAGODA_RIG_RANGES];
	struct view_release release = { .rig = rig };
	u32 i;

	others[0] = tiled_bo(rig, &tiled_layouts[0], CPU, VRAM);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(others[0]));
	for (i = 1; i < ARRAY_SIZE(others); i++)
		others[i] = tiled_shown(rig, &tiled_layouts[0], 20 + i);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_FALSE(test, pagoda_rig_idle(bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, dma_resv_get_singleton(bo->ttm.base.resv,
							DMA_RESV_USAGE_BOOKKEEP, &view_last));
	dma_resv_unlock(bo->ttm.base.resv);
	view_was_early = false;
	rig->fake->control = view_control;
	INIT_WORK_ONSTACK(&release.work, view_let_go);
	schedule_work(&release.work);
	KUNIT_EXPECT_EQ(test, 0, tiled_acquire(others[0]));
	KUNIT_EXPECT_FALSE(test, view_was_early);
	flush_work(&release.work);
	destroy_work_on_stack(&release.work);
	pagoda_rig_settle(rig);
	dma_fence_put(view_last);
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 7));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		pagoda_rig_close(others[i]);
	pagoda_rig_close(bo);
}

/* A range that was dropped is free only after the pending copy into its window. */
static void view_fence_dropped(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 7);
	struct pagoda_bo *other = tiled_shown(rig, &tiled_layouts[0], 8);
	struct pagoda_bo *others[PAGODA_RIG_RANGES - 1];
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(other));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		others[i] = tiled_shown(rig, &tiled_layouts[0], 20 + i);
	pagoda_rig_settle(rig);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_ASSERT_NOT_NULL(test, bo->tiling.range);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	pagoda_swizzle_drop(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(other));
	KUNIT_EXPECT_NULL(test, other->tiling.range);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, other, 8));
	for (i = 0; i < ARRAY_SIZE(others); i++)
		pagoda_rig_close(others[i]);
	pagoda_rig_close(other);
	pagoda_rig_close(bo);
}

/* A range has a reference to the fence of the last copy through its window, and to no other. */
static void view_fence_replaced(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 7);
	const struct pagoda_paging_op copy = { .operation = VIRTIO_PAGODA_OP_TRANSFER };
	struct dma_fence *fences[2];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, bo->tiling.range);
	for (i = 0; i < ARRAY_SIZE(fences); i++) {
		fences[i] = dma_fence_allocate_private_stub(ktime_get());
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, fences[i]);
	}
	dma_resv_lock(bo->ttm.base.resv, NULL);
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		pagoda_swizzle_moved(bo, bo->ttm.resource, &copy, fences[i]);
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fences[0]->refcount));
	KUNIT_EXPECT_EQ(test, 2, kref_read(&fences[1]->refcount));
	for (i = 0; i < ARRAY_SIZE(fences); i++)
		dma_fence_put(fences[i]);
	pagoda_rig_close(bo);
}

/* A move within VRAM first writes the window back, or fails with -EBUSY if it must not wait. */
static void view_moves_in_vram(struct kunit *test)
{
	static const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = 512,
					      .flags = TTM_PL_FLAG_CONTIGUOUS };
	static const struct ttm_place high = { .mem_type = TTM_PL_VRAM, .fpfn = 512,
					       .flags = TTM_PL_FLAG_CONTIGUOUS };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[1], CPU, VRAM);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, false));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	window_content(rig, bo, 4, true);
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &high, true));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 4, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &high, false));
	KUNIT_EXPECT_GE(test, bo->ttm.resource->start, 512);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 4));
	KUNIT_EXPECT_EQ(test, tiled_conversion(rig, bo), 0);
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 4, false));
	pagoda_rig_close(bo);
}

/*
 * By fault injection the builder reports busy until the allocation is idle: each move waits for
 * that once, or fails with -EBUSY if the move must not wait.
 */
static void view_busy(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 8);
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct drm_pagoda_stats stats;

	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_set_needs_idle(rig->vidmm, bo->id));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &system, true));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 8, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_vidmm_stats(rig->vidmm, &stats);
	PAGODA_PROVES(C11);
	KUNIT_EXPECT_EQ(test, stats.busy_retries, 2);
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 8));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.busy_retries, 3);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 8));
	KUNIT_EXPECT_GE(test, pagoda_rig_count(rig, SPECIAL, bo->id), 2);
	pagoda_rig_close(bo);
}

/* Delayed work item that lets the held device continue. */
struct view_later {
	struct delayed_work work;
	struct pagoda_rig *rig;
};

static void view_go_on(struct work_struct *work)
{
	struct view_later *later = container_of(to_delayed_work(work), struct view_later, work);

	pagoda_fake_transport_mode(later->rig->fake, PAGODA_FAKE_DEFERRED);
}

/*
 * No range is free, but each will be when a copy out of its window is done: a CPU access waits for
 * such a copy, and the accessed allocation isn't moved out of VRAM.
 */
static void view_waits_for_a_range(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[0], CPU, VRAM);
	struct view_later later = { .rig = rig };
	struct pagoda_bo *bos[PAGODA_RIG_RANGES];
	unsigned long at;
	u8 byte;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	tiled_content(rig, bo, 9, true, true);
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		bos[i] = tiled_shown(rig, &tiled_layouts[0], i);
	pagoda_rig_settle(rig);
	at = rig_map(rig, bo, O_RDWR, PROT_READ | PROT_WRITE);
	KUNIT_ASSERT_NE(test, 0, at);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[i]));
	INIT_DELAYED_WORK_ONSTACK(&later.work, view_go_on);
	schedule_delayed_work(&later.work, HZ / 5 ?: 1);
	KUNIT_EXPECT_EQ(test, 0, get_user(byte, (u8 __user *)at));
	flush_delayed_work(&later.work);
	destroy_delayed_work_on_stack(&later.work);
	KUNIT_EXPECT_EQ(test, tiled_byte(9, 0), byte);
	KUNIT_EXPECT_EQ(test, TTM_PL_VRAM, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_NOT_NULL(test, bo->tiling.range);
	rig_unmap(rig, bo, at);
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		pagoda_rig_close(bos[i]);
	pagoda_rig_close(bo);
}

static struct kunit_case tiled_view_cases[] = {
	KUNIT_CASE_SLOW(view_survives),
	KUNIT_CASE(view_unused),
	KUNIT_CASE(view_without_range),
	KUNIT_CASE(view_fence),
	KUNIT_CASE(view_fence_waits),
	KUNIT_CASE(view_fence_dropped),
	KUNIT_CASE(view_fence_replaced),
	KUNIT_CASE(view_moves_in_vram),
	KUNIT_CASE(view_busy),
	KUNIT_CASE(view_waits_for_a_range),
	{}
};

static struct kunit_suite tiled_view_suite = {
	.name = "pagoda_tiled_view",
	.test_cases = tiled_view_cases,
};

kunit_test_suite(tiled_view_suite);
