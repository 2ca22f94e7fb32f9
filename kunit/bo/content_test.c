// SPDX-License-Identifier: GPL-2.0
/*
 * Content of allocations: lost, or rescued by the CPU, when the device fails; kept when memory is
 * short; read and written by a debugger; moved by the CPU executor. Also waits for paging that a
 * plug holds back.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/timekeeping.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "rig/rig.h"
#include "ttm/work_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

/*
 * If the device refuses a copy out of VRAM that the CPU can't reach, the content is lost, as
 * pagoda_bo_info() says until the loss is acknowledged. pagoda_lost_clear() leaves zeros; content
 * written after it stays, and another allocation keeps its content.
 */
static void content_lost(struct kunit *test)
{
	const struct pagoda_rig_options blind = {
		.no_window = true,
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bad = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct pagoda_bo *good = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct drm_pagoda_allocation_info info;
	struct drm_pagoda_stats stats;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bad));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(good));
	pagoda_rig_write(rig, bad, 1);
	pagoda_rig_write(rig, good, 2);
	pagoda_rig_settle(rig);
	pagoda_rig_refuse_copy_out(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bad));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(good));
	pagoda_rig_settle(rig);

	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, good, 2));
	pagoda_bo_info(bad, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	pagoda_bo_info(good, &info);
	KUNIT_EXPECT_EQ(test, info.state, 0);
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.lost, 1);

	dma_resv_lock(bad->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bad));
	dma_resv_unlock(bad->ttm.base.resv);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bad));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bad));
	/* The state stays until the loss is acknowledged, for which -EIO is returned once. */
	pagoda_bo_info(bad, &info);
	KUNIT_EXPECT_EQ(test, info.state, DRM_PAGODA_CONTENT_LOST);
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_lost_acknowledge(bad));
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_acknowledge(bad));
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_acknowledge(good));
	pagoda_bo_info(bad, &info);
	KUNIT_EXPECT_EQ(test, info.state, 0);
	pagoda_rig_write(rig, bad, 7);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bad));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bad, 7));
	/* A loss acknowledged before pagoda_lost_clear(): the acknowledgment leaves zeros. */
	pagoda_bo_mark_lost(bad);
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_lost_acknowledge(bad));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bad));
	pagoda_bo_info(bad, &info);
	KUNIT_EXPECT_EQ(test, info.state, 0);
	pagoda_rig_close(bad);
	pagoda_rig_close(good);
}

/*
 * After a lost copy into VRAM the memory has old bytes, maybe another client's, until
 * pagoda_lost_clear() replaces them by zeros.
 */
static void content_lost_in_vram(struct kunit *test)
{
	const struct pagoda_rig_options blind = {
		.no_window = true,
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct pagoda_bo *old = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, old, 1);
	pagoda_rig_close(old);
	pagoda_rig_settle_freed(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	memset(rig->engine.vram, 0x5a, rig->engine.vram_size);
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_FALSE(test, pagoda_rig_is_zero(rig, bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	PAGODA_PROVES(C45);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/*
 * When pagoda_lost_settle() returns 0, the device has replaced lost content in VRAM by zeros, so
 * that the content can be read. If the zeros are lost, too, the call fails with -EIO.
 */
static void content_lost_settles(struct kunit *test)
{
	const struct pagoda_rig_options blind = { .no_window = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct dma_resv *resv = bo->ttm.base.resv;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	pagoda_bo_mark_lost(bo);
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(bo));
	KUNIT_EXPECT_TRUE(test, dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL));
	dma_resv_unlock(resv);
	KUNIT_EXPECT_LT(test, 0u, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, bo->id));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_settle(rig);
	pagoda_bo_mark_lost(bo);
	pagoda_rig_refuse_next(rig);
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(test, -EIO, pagoda_lost_settle(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(bo));
	dma_resv_unlock(resv);
	pagoda_rig_close(bo);
}

/* Zeros replace lost content of system pages only after paging that may still write there. */
static void content_lost_after_paging(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct other_work *work;

	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_bo_mark_lost(bo);
	work = other_work_add(test, bo, DMA_RESV_USAGE_KERNEL);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_TRUE(test, work->awaited);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	other_work_put(work);
	pagoda_rig_close(bo);
}

/*
 * Access by a debugger reads and writes the right bytes of VRAM and no others, with and without a
 * CPU window.
 */
static void content_access(struct kunit *test)
{
	static const struct pagoda_rig_options windows[] = { { }, { .no_window = true } };
	static const struct ttm_place one_range = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};
	static const u32 offsets[] = { 0, 1, 8, PAGE_SIZE - 3, PAGE_SIZE + 17, 3 * PAGE_SIZE - 5 };
	u8 *out = test_zalloc(test, 2 * PAGE_SIZE);
	u8 *in = test_zalloc(test, 2 * PAGE_SIZE);
	u32 i, n;

	for (n = 0; n < 2 * ARRAY_SIZE(offsets); n++) {
		struct pagoda_rig *rig = pagoda_rig_create(test, &windows[n % 2]);
		struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);
		u32 offset = offsets[n / 2], length = PAGE_SIZE + 9;
		u8 *vram;

		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
		pagoda_rig_settle(rig);
		vram = rig->engine.vram + ((u64)bo->ttm.resource->start << PAGE_SHIFT);
		for (i = 0; i < 5 * PAGE_SIZE; i++)
			vram[i] = i * 7 + i / 251;
		for (i = 0; i < length; i++)
			out[i] = ~i;
		dma_resv_lock(bo->ttm.base.resv, NULL);
		KUNIT_EXPECT_EQ(test, length, pagoda_move_access(bo, offset, in, length, 0));
		KUNIT_EXPECT_EQ(test, 0, memcmp(in, vram + offset, length));
		KUNIT_EXPECT_EQ(test, length, pagoda_move_access(bo, offset, out, length, 1));
		dma_resv_unlock(bo->ttm.base.resv);
		KUNIT_EXPECT_EQ(test, 0, memcmp(out, vram + offset, length));
		for (i = 0; i < 5 * PAGE_SIZE; i++)
			if (i < offset || i >= offset + length)
				KUNIT_ASSERT_EQ(test, vram[i], (u8)(i * 7 + i / 251));
		pagoda_rig_close(bo);
	}
}

struct reader {
	struct pagoda_bo *bo;
	u64 word;
	int ret;
	struct completion done;
};

static int reader_run(void *data)
{
	struct reader *reader = data;

	dma_resv_lock(reader->bo->ttm.base.resv, NULL);
	reader->ret = pagoda_move_access(reader->bo, 0, &reader->word, sizeof(reader->word), 0);
	dma_resv_unlock(reader->bo->ttm.base.resv);
	complete(&reader->done);
	return 0;
}

/* Access by a debugger waits until the copy from VRAM to the allocation's pages is complete. */
static void content_access_waits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct reader reader = { .bo = bo };

	pagoda_rig_write_vram(rig, bo, 77);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	init_completion(&reader.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(reader_run, &reader, "pagoda-reader")));
	KUNIT_EXPECT_EQ(test, 0, wait_for_completion_timeout(&reader.done, HZ / 10));
	pagoda_rig_settle(rig);
	wait_for_completion(&reader.done);
	KUNIT_EXPECT_EQ(test, reader.ret, (int)sizeof(reader.word));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 77));
	KUNIT_EXPECT_EQ(test, reader.word, *(u64 *)page_address(bo->ttm.ttm->pages[0]));
	pagoda_rig_close(bo);
}

/*
 * After one fault at a packet inside of a paging buffer the device's queue is reset once, and the
 * buffer is executed again from that packet on: no content is lost.
 */
static void content_replay(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *a = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct pagoda_bo *b = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	u64 next;

	pagoda_rig_write_vram(rig, a, 1);
	pagoda_rig_settle(rig);
	next = rig->fake->last_submitted + 1;
	pagoda_fake_transport_order(rig->fake, next, PAGODA_FAKE_FAULT, 72, 1);
	pagoda_rig_plug_shared(rig);
	/* One buffer has the copy of @a out of VRAM and the zeros for @b, which evicts @a. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(b));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C22);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, a, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, b));
	KUNIT_EXPECT_EQ(test, rig->fake->resets, 1);
	pagoda_rig_close(a);
	pagoda_rig_close(b);
}

/*
 * Content is lost while the calling thread has plugged the stream and the copy to VRAM hasn't been
 * sent. pagoda_lost_clear() waits for that copy, and so sends it first.
 */
static void content_lost_plugged(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	unsigned long begun;

	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_bo_mark_lost(bo);
	begun = jiffies;
	KUNIT_ASSERT_EQ(test, 0, dma_resv_lock(bo->ttm.base.resv, NULL));
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_clear(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begun + 50 * HZ));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_share(rig, false);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/* Before it waits, pagoda_bo_wait() sends paging operations that a plug holds back. */
static void content_wait_plugged(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, 1);
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, -ETIME, pagoda_bo_wait(bo, 0));
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_wait(bo, ktime_get_ns() + 50 * NSEC_PER_SEC));
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_wait(bo, 0));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_share(rig, false);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/*
 * The CPU executor can't change the device's aperture: a MAP_APERTURE_SEGMENT that the device
 * refuses counts as lost, not as rescued.
 */
static void content_map_is_not_rescued(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU | PHYSICAL, APERTURE, 0);
	struct pagoda_queue_stats stats;

	pagoda_rig_settle(rig);
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	pagoda_queue_stats(rig->vidmm->queue, &stats);
	KUNIT_EXPECT_EQ(test, stats.rescued, 0);
	KUNIT_EXPECT_EQ(test, stats.lost, 1);
	pagoda_rig_close(bo);
}

/* A copy that the device refuses is done by the CPU: source and destination are CPU visible. */
static void content_copy_is_rescued(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = PAGODA_RIG_VISIBLE_PAGES,
	};
	struct pagoda_queue_stats stats;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &visible, false));
	pagoda_rig_write(rig, bo, 3);
	pagoda_rig_settle(rig);
	pagoda_rig_refuse_copy_out(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	pagoda_queue_stats(rig->vidmm->queue, &stats);
	KUNIT_EXPECT_EQ(test, stats.rescued, 1);
	KUNIT_EXPECT_EQ(test, stats.lost, 0);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	pagoda_rig_close(bo);
}

/* With the CPU executor, in every mode, moves bring the content and submit no buffer. */
static void content_by_cpu(struct kunit *test)
{
	const struct pagoda_rig_options options = { .mode = test->param_value, .by_cpu = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 45, CPU | PHYSICAL, VRAM | APERTURE, 0);

	pagoda_rig_write_vram(rig, bo, 9);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 9));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 9));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 9));
	KUNIT_EXPECT_EQ(test, rig->fake->submits, 0);
	pagoda_rig_close(bo);
	/* TTM's worker frees the VRAM of the closed allocation once the allocation is idle. */
	pagoda_rig_settle_freed(rig);
	bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/*
 * When memory is short, moves that need new pages fail with -ENOMEM and lose no content; an
 * allocation that was swapped out still gets pages.
 */
static void content_short_of_memory(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *new = pagoda_rig_bo(rig, 5, CPU, APERTURE, 0);
	struct pagoda_bo *vram = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);
	struct pagoda_bo *out = pagoda_rig_bo(rig, 5, CPU, APERTURE, 0);
	struct ttm_operation_ctx ctx = {};

	pagoda_rig_write_vram(rig, vram, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(out, false));
	pagoda_rig_write(rig, out, 2);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(out));
	while (ttm_device_swapout(&rig->vidmm->ttm, &ctx, GFP_KERNEL) > 0)
		;
	KUNIT_ASSERT_TRUE(test, out->ttm.ttm->page_flags & TTM_TT_FLAG_SWAPPED);

	/* As if an allocation with 2^32 pages existed: as much memory must remain available. */
	atomic_inc(&rig->vidmm->nr_populated[PAGODA_TT_ORDERS - 1]);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_to_aperture(new, false));
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_to_system(vram));
	KUNIT_EXPECT_EQ(test, vram->ttm.resource->mem_type, (u32)TTM_PL_VRAM);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(out, false));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, vram, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, out, 2));

	atomic_dec(&rig->vidmm->nr_populated[PAGODA_TT_ORDERS - 1]);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(new, false));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(vram));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, vram, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, new));
	pagoda_rig_close(new);
	pagoda_rig_close(vram);
	pagoda_rig_close(out);
}

static u32 content_populated(struct pagoda_rig *rig)
{
	u32 order, nr = 0;

	for (order = 0; order < PAGODA_TT_ORDERS; order++)
		nr += atomic_read(&rig->vidmm->nr_populated[order]);
	return nr;
}

/*
 * An allocation counts in nr_populated, by which memory for its swap-out is kept available, from
 * when it gets pages until these are freed.
 */
static void content_large_goes(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *large = pagoda_rig_bo(rig, 33, CPU, APERTURE, 0);
	struct pagoda_bo *small = pagoda_rig_bo(rig, 4, CPU, APERTURE, 0);
	u32 before = content_populated(rig);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(large, false));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(small, false));
	KUNIT_EXPECT_EQ(test, before + 2, content_populated(rig));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&rig->vidmm->nr_populated[order_base_2(33)]));
	pagoda_rig_close(large);
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, before + 1, content_populated(rig));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&rig->vidmm->nr_populated[order_base_2(33)]));
	pagoda_rig_close(small);
}

static int no_pages(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		    const struct ttm_operation_ctx *ctx)
{
	return -ENOMEM;
}

/* A move to VRAM that fails for want of system pages evicts or discards no other allocation. */
static void content_short_isnt_full(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *out = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);
	struct pagoda_bo *offered = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);
	struct pagoda_bo *other = pagoda_rig_bo(rig, 5, CPU, VRAM, 0);
	struct ttm_operation_ctx ctx = {};
	struct pagoda_operation op = {};

	pagoda_rig_write_vram(rig, out, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(out));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(offered));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
	pagoda_rig_settle(rig);
	while (ttm_device_swapout(&rig->vidmm->ttm, &ctx, GFP_KERNEL) > 0)
		;
	KUNIT_ASSERT_TRUE(test, out->ttm.ttm->page_flags & TTM_TT_FLAG_SWAPPED);
	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(rig->vidmm, &offered, 1, DRM_PAGODA_OFFER_LOW, 0));

	kunit_activate_static_stub(test, pagoda_pages_alloc, no_pages);
	dma_resv_lock(out->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_bo_place(out, pagoda_bo_placement_resident, &op));
	dma_resv_unlock(out->ttm.base.resv);
	kunit_deactivate_static_stub(test, pagoda_pages_alloc);
	KUNIT_EXPECT_FALSE(test, offered->offer.discarded);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, offered->ttm.resource->mem_type);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, other->ttm.resource->mem_type);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(out));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, out, 1));
	pagoda_rig_close(out);
	pagoda_rig_close(offered);
	pagoda_rig_close(other);
}

/* Stands in for pagoda_pages_available(): memory is short, but suffices for small allocations. */
static long few_pages(void)
{
	return totalram_pages() / 32 * 3;
}

static struct pagoda_bo *pages_populated;

/* Stands in for pagoda_pages_alloc(): another thread could have this done at the same time. */
static int pages_meanwhile(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
			   const struct ttm_operation_ctx *ctx)
{
	struct kunit *test = kunit_get_current_test();
	struct ttm_operation_ctx other = {};

	kunit_deactivate_static_stub(test, pagoda_pages_alloc);
	KUNIT_EXPECT_EQ(test, 0, pagoda_pages_populate(pages_populated, &other));
	return pagoda_pages_alloc(vidmm, tt, ctx);
}

/*
 * While memory is short a single allocation is populated at a time; nothing waits for that with an
 * allocation that has its pages.
 */
static void content_has_its_pages(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *full = pagoda_rig_bo(rig, 2, CPU, VRAM, 0);
	struct pagoda_bo *empty = pagoda_rig_bo(rig, 2, CPU, VRAM, 0);
	struct ttm_operation_ctx ctx = {};

	dma_resv_lock(full->ttm.base.resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, pagoda_pages_populate(full, &ctx));
	KUNIT_ASSERT_FALSE(test, ttm_tt_is_populated(empty->ttm.ttm));
	pages_populated = full;
	kunit_activate_static_stub(test, pagoda_pages_available, few_pages);
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_meanwhile);
	KUNIT_ASSERT_TRUE(test, dma_resv_trylock(empty->ttm.base.resv));
	KUNIT_EXPECT_EQ(test, 0, pagoda_pages_populate(empty, &ctx));
	dma_resv_unlock(empty->ttm.base.resv);
	dma_resv_unlock(full->ttm.base.resv);
	kunit_deactivate_static_stub(test, pagoda_pages_available);
	KUNIT_EXPECT_TRUE(test, ttm_tt_is_populated(empty->ttm.ttm));
	pagoda_rig_close(full);
	pagoda_rig_close(empty);
}

static struct kunit_case content_cases[] = {
	KUNIT_CASE_PARAM(content_lost, pagoda_rig_modes),
	KUNIT_CASE_PARAM(content_lost_in_vram, pagoda_rig_modes),
	KUNIT_CASE(content_lost_settles),
	KUNIT_CASE(content_lost_after_paging),
	KUNIT_CASE(content_access),
	KUNIT_CASE_PARAM(content_access_waits, pagoda_rig_modes),
	KUNIT_CASE(content_replay),
	KUNIT_CASE(content_lost_plugged),
	KUNIT_CASE(content_wait_plugged),
	KUNIT_CASE(content_map_is_not_rescued),
	KUNIT_CASE_PARAM(content_copy_is_rescued, pagoda_rig_modes),
	KUNIT_CASE_PARAM(content_by_cpu, pagoda_rig_modes),
	KUNIT_CASE_PARAM(content_short_of_memory, pagoda_rig_modes),
	KUNIT_CASE_PARAM(content_large_goes, pagoda_rig_modes),
	KUNIT_CASE_PARAM(content_short_isnt_full, pagoda_rig_modes),
	KUNIT_CASE(content_has_its_pages),
	{}
};

static struct kunit_suite content_suite = {
	.name = "pagoda_content",
	.test_cases = content_cases,
};

kunit_test_suite(content_suite);
