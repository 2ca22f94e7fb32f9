// SPDX-License-Identifier: GPL-2.0
/*
 * Tiled allocations: conversions by moves, the limited number of ranges, failures, accesses by a
 * debugger, and layouts that are refused.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "tiled_helpers.h"
#include "vm/vm_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define SPECIAL		VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER
#define SWIZZLE		VIRTIO_PAGODA_TRANSFER_SWIZZLE
#define UNSWIZZLE	VIRTIO_PAGODA_TRANSFER_UNSWIZZLE

/* ---- Conversions ----------------------------------------------------------- */

/*
 * Moves an allocation from VRAM to a place, another place and back, for each pair of its places,
 * and expects the content outside of VRAM as rows if @rows, else as tiles.
 */
static void tiled_walk(struct kunit *test, const struct pagoda_layout *layout, u32 flags,
		       u32 supported, bool rows)
{
	static const enum pagoda_place places[] = {
		PAGODA_PLACE_SYSTEM, PAGODA_PLACE_APERTURE, PAGODA_PLACE_APERTURE_BOUND,
		PAGODA_PLACE_VRAM,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, layout, flags, supported);
	u32 from, to, nr = supported & APERTURE ? 4 : 1, seed = 1;

	for (from = 0; from < nr; from++) {
		for (to = 0; to < nr; to++) {
			KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
			tiled_content(rig, bo, ++seed, true, true);
			KUNIT_ASSERT_EQ(test, 0, tiled_place(bo, places[from]));
			KUNIT_EXPECT_TRUE(test, tiled_content(rig, bo, seed,
							      from == 3 || !rows, false));
			if (from != 3)
				KUNIT_EXPECT_EQ(test, tiled_conversion(rig, bo),
						rows ? UNSWIZZLE : 0);
			KUNIT_ASSERT_EQ(test, 0, tiled_place(bo, places[to]));
			KUNIT_EXPECT_TRUE(test, tiled_content(rig, bo, seed,
							      to == 3 || !rows, false));
			KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
			KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, seed));
			if (from != 3 && to != 3)
				KUNIT_EXPECT_EQ(test, tiled_conversion(rig, bo),
						rows ? SWIZZLE : 0);
		}
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_count(rig, SPECIAL, 0));
	pagoda_rig_close(bo);
}

/*
 * Moves out of VRAM make rows of tiles, moves into VRAM tiles of rows, unless the CPU never sees
 * the allocation and it supports VRAM only.
 */
static void tiled_conversions(struct kunit *test)
{
	u32 i;

	PAGODA_PROVES(C32, C33, C38);
	for (i = 0; i < TILED_LAYOUTS; i++) {
		tiled_walk(test, &tiled_layouts[i], CPU, VRAM, true);
		tiled_walk(test, &tiled_layouts[i], CPU, VRAM | APERTURE, true);
		tiled_walk(test, &tiled_layouts[i], 0, VRAM | APERTURE, true);
		tiled_walk(test, &tiled_layouts[i], 0, VRAM, false);
	}
}

/* A new tiled allocation is zero, in VRAM and in the window. */
static void tiled_new_is_zero(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[0], CPU, VRAM);
	struct pagoda_bo *hidden = tiled_bo(rig, &tiled_layouts[1], 0, VRAM);
	u64 i;

	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(hidden));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, hidden));
	memset(rig->windows, 0x77, rig->swizzling.size);
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	for (i = 0; i < bo->ttm.base.size; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_swizzle_window(bo)[i]);
	/* The window isn't written beyond the surface's size. */
	KUNIT_EXPECT_EQ(test, 0x77, pagoda_swizzle_window(bo)[i]);
	pagoda_rig_close(bo);
	pagoda_rig_close(hidden);
}

/*
 * Moves convert a surface that is copied in several pieces and packets. The surface is too large
 * for a range (-E2BIG).
 */
static void tiled_pieces(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.large = true,
		.buffer_size = VIRTIO_PAGODA_MIN_BUFFER,
	};
	const struct pagoda_layout layout = {
		.tiling = VIRTIO_PAGODA_TILING_64K,
		.pitch = 4096,
		.height = 2048,
		.mips = 2,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = tiled_bo(rig, &layout, CPU, VRAM);

	KUNIT_ASSERT_GT(test, bo->ttm.base.size, PAGODA_PIECE_BYTES);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	tiled_content(rig, bo, 5, true, true);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C33);
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 5));
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	PAGODA_PROVES(C32);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 5));
	KUNIT_EXPECT_EQ(test, -E2BIG, tiled_acquire(bo));
	pagoda_rig_close(bo);
}

/* ---- Ranges -------------------------------------------------------------------------- */

/*
 * If no range is free, the least recently acquired range is taken from its allocation, whose
 * content is written back from the window to the tiles.
 */
static void ranges_lru(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bos[PAGODA_RIG_RANGES + 2];
	struct drm_pagoda_stats stats;
	u32 i;

	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		bos[i] = tiled_shown(rig, &tiled_layouts[i % 2], i);
	/* The range of bos[0] is acquired again, and becomes the last to be taken away. */
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bos[0]));
	bos[i] = tiled_shown(rig, &tiled_layouts[0], i);
	bos[i + 1] = tiled_shown(rig, &tiled_layouts[0], i + 1);
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		if (i == 1 || i == 2) {
			KUNIT_EXPECT_NULL(test, bos[i]->tiling.range);
			KUNIT_EXPECT_TRUE(test, tiled_is(rig, bos[i], i));
		} else {
			KUNIT_EXPECT_TRUE(test, window_content(rig, bos[i], i, false));
		}
	}
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bos[1]));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bos[1], 1, false));
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.range_steals, 3);
	KUNIT_EXPECT_EQ(test, stats.range_acquires, PAGODA_RIG_RANGES + 3);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
}

/* Allocations that are closed, evicted or discarded free their ranges: no range is stolen. */
static void ranges_come_back(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct drm_pagoda_stats stats;
	struct pagoda_bo *bo;
	u32 i;

	for (i = 0; i < 3 * PAGODA_RIG_RANGES; i++) {
		bo = tiled_shown(rig, &tiled_layouts[0], i);
		if (i % 3 == 0)
			KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		if (i % 3 == 1) {
			dma_resv_lock(bo->ttm.base.resv, NULL);
			pagoda_move_discard(bo);
			dma_resv_unlock(bo->ttm.base.resv);
			KUNIT_EXPECT_NULL(test, bo->tiling.range);
		}
		pagoda_rig_close(bo);
	}
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.range_steals, 0);
	KUNIT_EXPECT_EQ(test, stats.range_acquires, 3 * PAGODA_RIG_RANGES);
}

/*
 * While the reservations of all allocations with a range are held, acquiring a range fails with
 * -EBUSY; when one of these reservations is unlocked, acquiring a range succeeds.
 */
static void ranges_exhausted(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bos[PAGODA_RIG_RANGES], *bo;
	struct dma_fence *busy;
	u32 i;

	bo = tiled_bo(rig, &tiled_layouts[0], CPU, VRAM);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		bos[i] = tiled_shown(rig, &tiled_layouts[0], i);
	for (i = 0; i < PAGODA_RIG_RANGES; i++)
		KUNIT_ASSERT_TRUE(test, dma_resv_trylock(bos[i]->ttm.base.resv));
	KUNIT_ASSERT_TRUE(test, dma_resv_trylock(bo->ttm.base.resv));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_swizzle_acquire(bo, &busy));
	KUNIT_EXPECT_NULL(test, busy);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	dma_resv_unlock(bos[2]->ttm.base.resv);
	KUNIT_EXPECT_EQ(test, 0, pagoda_swizzle_acquire(bo, &busy));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_NULL(test, bos[2]->tiling.range);
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bos[2], 2));
	for (i = 0; i < PAGODA_RIG_RANGES; i++) {
		if (i != 2)
			dma_resv_unlock(bos[i]->ttm.base.resv);
		pagoda_rig_close(bos[i]);
	}
	pagoda_rig_close(bo);
}

/*
 * A range can be acquired again after the device refused ACQUIRE_RANGE; after ACQUIRE_RANGE wasn't
 * answered, the range can't be acquired until the device is reset.
 */
static void ranges_refused(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_bo(rig, &tiled_layouts[0], CPU, VRAM);
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	tiled_content(rig, bo, 1, true, true);
	for (i = 0; i < 2 * PAGODA_RIG_RANGES; i++) {
		rig->fake->control_error = -EINVAL;
		KUNIT_EXPECT_EQ(test, -EINVAL, tiled_acquire(bo));
		KUNIT_EXPECT_NULL(test, bo->tiling.range);
	}
	rig->fake->control_error = 0;
	KUNIT_EXPECT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 1, false));
	KUNIT_EXPECT_EQ(test, 0, tiled_release(bo));
	for (i = 0; i < PAGODA_RIG_RANGES; i++) {
		rig->fake->control_error = -ETIMEDOUT;
		KUNIT_EXPECT_EQ(test, -ETIMEDOUT, tiled_acquire(bo));
	}
	rig->fake->control_error = 0;
	KUNIT_EXPECT_EQ(test, -EBUSY, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 1));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* If the device fails to write a window back, the allocation's content counts as lost. */
static void ranges_lost_write_back(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 6);
	struct drm_pagoda_allocation_info info;

	rig->fake->control_error = -ETIMEDOUT;
	KUNIT_EXPECT_EQ(test, -ETIMEDOUT, tiled_release(bo));
	rig->fake->control_error = 0;
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_EXPECT_EQ(test, info.tiling, tiled_layouts[0].tiling);
	KUNIT_EXPECT_EQ(test, info.pitch, tiled_layouts[0].pitch);
	KUNIT_EXPECT_EQ(test, info.height, tiled_layouts[0].height);
	KUNIT_EXPECT_EQ(test, info.mips, tiled_layouts[0].mips);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_swizzle_window(bo)[0]);
	pagoda_rig_close(bo);
}

/* Returns an allocation that is private to @vm and shown to the CPU in a range. */
static struct pagoda_bo *ranges_private(struct pagoda_rig *rig, struct pagoda_vm *vm)
{
	const struct pagoda_bo_params params = {
		.size = pagoda_layout_size(&tiled_layouts[0]),
		.flags = CPU,
		.supported = VRAM,
		.layout = tiled_layouts[0],
		.vm = vm,
		.uses = &vm->uses,
	};
	struct pagoda_bo *bo = test_ok(rig->test, pagoda_bo_create(rig->vidmm, rig->client,
								   &params));

	KUNIT_ASSERT_EQ(rig->test, 0, tiled_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(rig->test, 0, tiled_acquire(bo));
	return bo;
}

/* Stands in for pagoda_queue_get(), once: there is no memory. */
static struct pagoda_submission *ranges_get_none(struct pagoda_queue *queue,
						 struct pagoda_line *line, u32 bytes,
						 u32 priv_bytes)
{
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_queue_get);
	return ERR_PTR(-ENOMEM);
}

/* Calls pagoda_swizzle_use_private(), and expects that @ranges allocations have ranges then. */
static int ranges_use_private(struct pagoda_rig *rig, struct pagoda_vm *vm,
			      struct pagoda_bo * const bos[2], u32 ranges)
{
	int ret;

	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ret = pagoda_swizzle_use_private(rig->vidmm, vm);
	dma_resv_unlock(pagoda_vm_resv(vm));
	KUNIT_EXPECT_EQ(rig->test, ranges, !!bos[0]->tiling.range + !!bos[1]->tiling.range);
	return ret;
}

/*
 * The content of the first of two private allocations can't be written back and, without memory,
 * can't be replaced by zeros either: the call fails, and leaves the second to the next call.
 */
static void ranges_private_fail(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_stream *stream = rig->vidmm->stream;
	struct pagoda_vm *vm = vmt_make(rig);
	struct pagoda_bo *bos[] = { ranges_private(rig, vm), ranges_private(rig, vm) };

	pagoda_rig_settle(rig);
	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	stream->reserve = NULL;
	rig->fake->control_error = -EINVAL;
	kunit_activate_static_stub(test, pagoda_queue_get, ranges_get_none);
	KUNIT_EXPECT_EQ(test, -ENOMEM, ranges_use_private(rig, vm, bos, 1));
	rig->fake->control_error = 0;
	KUNIT_EXPECT_EQ(test, 0, ranges_use_private(rig, vm, bos, 0));
	pagoda_rig_close(bos[0]);
	pagoda_rig_close(bos[1]);
	vmt_drop(vm);
}

/* ---- Failures -------------------------------------------------------------------- */

/* When the device refuses a copy out of a range, the CPU executor copies the window's bytes. */
static void failure_out(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[1], 9);
	struct pagoda_queue_stats stats;

	pagoda_rig_settle(rig);
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, rows_are(rig, bo, 9));
	pagoda_queue_stats(rig->vidmm->queue, &stats);
	KUNIT_EXPECT_EQ(test, stats.rescued, 1);
	KUNIT_EXPECT_EQ(test, stats.lost, 0);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 9, false));
	pagoda_rig_close(bo);
}

/*
 * When the device refuses a copy into a range's window, the CPU executor writes the tiles only, and
 * before the window is shown to the CPU, ACQUIRE_RANGE is sent for the range.
 */
static void failure_in(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[1], 9);
	struct pagoda_queue_stats stats;
	u32 controls;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 9));
	pagoda_queue_stats(rig->vidmm->queue, &stats);
	KUNIT_EXPECT_EQ(test, stats.rescued, 1);
	controls = rig->fake->controls;
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_EQ(test, controls + 1, rig->fake->controls);
	KUNIT_EXPECT_TRUE(test, window_content(rig, bo, 9, false));
	window_content(rig, bo, 10, true);
	KUNIT_ASSERT_EQ(test, 0, tiled_release(bo));
	KUNIT_EXPECT_TRUE(test, tiled_is(rig, bo, 10));
	pagoda_rig_close(bo);
}

/*
 * When neither the device nor the CPU can copy into VRAM, the content is lost; after
 * pagoda_lost_clear() the window shows zeros.
 */
static void failure_lost(struct kunit *test)
{
	const struct pagoda_rig_options blind = { .no_window = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 9);
	struct drm_pagoda_allocation_info info;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	memset(rig->windows, 0x77, rig->swizzling.size);
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
	pagoda_rig_settle(rig);
	pagoda_bo_info(bo, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_NULL(test, bo->tiling.range);
	KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_swizzle_window(bo)[0]);
	KUNIT_EXPECT_NULL(test, memchr_inv(pagoda_swizzle_window(bo), 0, bo->ttm.base.size));
	pagoda_rig_close(bo);
}

/*
 * A debugger (pagoda_move_access()) reads and writes an allocation in VRAM as rows: with a window
 * shown, without a range, and with a range whose window isn't shown.
 */
static void debugger_access(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	u8 *buf = test_zalloc(test, 3 * PAGE_SIZE);
	u32 length = 2 * PAGE_SIZE + 9, offset = PAGE_SIZE - 5, state, i;

	for (state = 0; state < 3; state++) {
		struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], state);

		if (state == 1)
			KUNIT_ASSERT_EQ(test, 0, tiled_release(bo));
		if (state == 2) {
			KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
			KUNIT_ASSERT_EQ(test, 0, tiled_to_vram(bo));
			KUNIT_EXPECT_NOT_NULL(test, bo->tiling.range);
		}
		dma_resv_lock(bo->ttm.base.resv, NULL);
		KUNIT_EXPECT_EQ(test, length, pagoda_move_access(bo, offset, buf, length, 0));
		for (i = 0; i < length; i++)
			KUNIT_ASSERT_EQ(test, buf[i], tiled_byte(state, offset + i));
		for (i = 0; i < length; i++)
			buf[i] = tiled_byte(state + 50, offset + i);
		KUNIT_EXPECT_EQ(test, length, pagoda_move_access(bo, offset, buf, length, 1));
		dma_resv_unlock(bo->ttm.base.resv);
		KUNIT_ASSERT_EQ(test, 0, tiled_acquire(bo));
		for (i = 0; i < bo->ttm.base.size; i++)
			KUNIT_ASSERT_EQ(test, pagoda_swizzle_window(bo)[i],
					tiled_byte(i >= offset && i < offset + length ?
						   state + 50 : state, i));
		pagoda_rig_close(bo);
	}
}

/* ---- Layouts that are refused ------------------------------------------------ */

/* Returns what pagoda_swizzle_validate() returns for an allocation on a device with @ranges. */
static int layout_result(struct kunit *test, const struct pagoda_layout *layout, u64 size,
			 u32 supported, u32 ranges)
{
	struct pagoda_device_info *info = test_zalloc(test, sizeof(*info));
	struct pagoda_vidmm *vidmm = test_zalloc(test, sizeof(*vidmm));
	const struct pagoda_bo_params params = {
		.size = size,
		.supported = supported,
		.layout = *layout,
	};
	const char *why = NULL;
	int ret;

	info->swizzling_ranges = ranges;
	vidmm->info = info;
	ret = pagoda_swizzle_validate(vidmm, &params, &why);
	KUNIT_EXPECT_TRUE(test, !ret || why);
	return ret;
}

/*
 * A layout is refused without tiling, for too few bytes, outside of VRAM, and by a device that has
 * no tiling.
 */
static void layout_refused(struct kunit *test)
{
	static const struct pagoda_layout linear[] = {
		{}, { .pitch = 1 }, { .height = 1 }, { .mips = 1 },
	};
	const struct pagoda_layout *tiled = &tiled_layouts[0];
	u64 size = pagoda_layout_size(tiled);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(linear); i++)
		KUNIT_EXPECT_EQ(test, i ? -EINVAL : 0,
				layout_result(test, &linear[i], PAGE_SIZE, APERTURE, 0));
	KUNIT_EXPECT_EQ(test, 0, layout_result(test, tiled, size, VRAM | APERTURE, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, layout_result(test, tiled, size - PAGE_SIZE, VRAM, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, layout_result(test, tiled, size, APERTURE, 1));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, layout_result(test, tiled, size, VRAM, 0));
}

static struct kunit_case tiled_cases[] = {
	KUNIT_CASE_SLOW(tiled_conversions),
	KUNIT_CASE(tiled_new_is_zero),
	KUNIT_CASE_SLOW(tiled_pieces),
	KUNIT_CASE(ranges_lru),
	KUNIT_CASE(ranges_come_back),
	KUNIT_CASE(ranges_exhausted),
	KUNIT_CASE(ranges_refused),
	KUNIT_CASE(ranges_lost_write_back),
	KUNIT_CASE(ranges_private_fail),
	KUNIT_CASE(failure_out),
	KUNIT_CASE(failure_in),
	KUNIT_CASE(failure_lost),
	KUNIT_CASE(debugger_access),
	KUNIT_CASE(layout_refused),
	{}
};

static struct kunit_suite tiled_suite = {
	.name = "pagoda_tiled",
	.test_cases = tiled_cases,
};

kunit_test_suite(tiled_suite);
