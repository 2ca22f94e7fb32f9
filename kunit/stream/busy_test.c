// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the stream: operations whose builder answers that the allocation is busy. How long they
 * wait, and what other moves do meanwhile.
 */
#include <linux/delay.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "queue/queue_helpers.h"
#include "rig/rig.h"
#include "rig/spy.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

/* A thread that calls @move for @bo, with the static stubs of the test. */
struct busy_mover {
	struct pagoda_worker worker;
	struct kunit *test;
	struct pagoda_bo *bo;
	int (*move)(struct pagoda_bo *bo);
};

static int busy_mover_run(void *arg)
{
	struct busy_mover *mover = arg;

	current->kunit_test = mover->test;
	return mover->move(mover->bo);
}

static void busy_start(struct kunit *test, struct busy_mover *mover, struct pagoda_bo *bo,
		       int (*move)(struct pagoda_bo *bo))
{
	*mover = (struct busy_mover) {
		.worker = { .run = busy_mover_run, .arg = mover },
		.test = test,
		.bo = bo,
		.move = move,
	};
	pagoda_worker_start(test, &mover->worker);
}

/* Waits until builders have answered @times that an allocation is busy. */
static void busy_await(struct pagoda_rig *rig, u32 times)
{
	u32 i;

	for (i = 0; i < 1000 && atomic64_read(&rig->vidmm->stats.busy_retries) < times; i++)
		msleep(20);
	KUNIT_ASSERT_EQ(rig->test, times, atomic64_read(&rig->vidmm->stats.busy_retries));
}

/* Returns a fence that the test signals, and adds the fence to the allocation's reservation. */
static struct dma_fence *busy_fence(struct kunit *test, struct pagoda_bo *bo)
{
	struct dma_fence *fence = pagoda_test_fence(test);

	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	return fence;
}

static void busy_signal(struct dma_fence *fence)
{
	dma_fence_signal(fence);
	dma_fence_put(fence);
}

static int to_mapped(struct pagoda_bo *bo)
{
	return pagoda_rig_to_aperture(bo, true);
}

/*
 * The builder of a copy that needs the allocation idle reports busy until it is told so. The stream
 * tells it only when all fences of the allocation, of any usage, have signalled; the reservation
 * stays locked during this wait.
 */
static void stream_busy(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	struct drm_pagoda_stats stats;
	struct busy_mover mover;
	struct dma_fence *fence;
	u32 pieces;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pieces = pagoda_vram_count_ranges(bo->ttm.resource);
	pagoda_rig_write(rig, bo, 1);
	fence = busy_fence(test, bo);
	bo->content.needs_idle = true;
	busy_start(test, &mover, bo, pagoda_rig_to_system);
	busy_await(rig, 1);

	PAGODA_PROVES(C14, C15, C16);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&mover.worker, HZ / 5));
	KUNIT_EXPECT_FALSE(test, dma_resv_trylock(bo->ttm.base.resv));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.busy_retries, 1);

	busy_signal(fence);
	pagoda_worker_end(test, &mover.worker);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.busy_retries, pieces);
	KUNIT_EXPECT_EQ(test, stats.cpu_waits, pieces);
	pagoda_rig_close(bo);
}

/*
 * Each piece of a move makes the allocation busy again: the next piece is built as idle only after
 * the piece before was executed, in a submission of its own.
 */
static void stream_busy_pieces(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	const struct pagoda_rig_note *piece;
	struct drm_pagoda_stats stats;
	u32 pieces, i;
	u64 last = 0;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pieces = pagoda_vram_count_ranges(bo->ttm.resource);
	KUNIT_ASSERT_GT(test, pieces, 1);
	pagoda_rig_write(rig, bo, 1);
	bo->content.needs_idle = true;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C15);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	for (i = 0; i < pieces; i++) {
		piece = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, i);
		KUNIT_ASSERT_NOT_NULL(test, piece);
		KUNIT_EXPECT_LT(test, last, piece->seqno);
		last = piece->seqno;
	}
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.busy_retries, pieces);
	KUNIT_EXPECT_EQ(test, stats.cpu_waits, pieces);
	KUNIT_EXPECT_EQ(test, 0, atomic64_read(&rig->vidmm->stats.overruns));
	pagoda_rig_close(bo);
}

/*
 * A busy copy also waits for earlier operations of its own move, here the mapping, although their
 * fence isn't in the reservation yet.
 */
static void stream_busy_own(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU | PHYSICAL, VRAM | APERTURE, 0);
	const struct pagoda_rig_note *map, *copy;
	struct busy_mover mover;

	pagoda_rig_write_vram(rig, bo, 1);
	bo->content.needs_idle = true;
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	busy_start(test, &mover, bo, to_mapped);

	PAGODA_PROVES(C14);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&mover.worker, HZ / 5));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_worker_end(test, &mover.worker);
	pagoda_rig_settle(rig);
	map = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, bo->id, 0);
	copy = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_EXPECT_LT(test, map->seqno, copy->seqno);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* Copies two pages of an allocation in VRAM to the page behind; is busy at the second copy. */
static int two_transfers(struct pagoda_bo *bo)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = bo->id,
		.transfer = {
			.size = PAGE_SIZE,
			.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
			.src = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM },
			.dst = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM },
		},
	};
	struct pagoda_paging_cost cost = {};
	struct pagoda_stream_txn txn;
	struct pagoda_vram_cursor cur;
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	pagoda_vram_first(&cur, bo->ttm.resource, 0, bo->ttm.base.size);
	op.transfer.src.address = cur.address;
	op.transfer.dst.address = cur.address + PAGE_SIZE;
	pagoda_cost_add(&cost, pagoda_stream_cost(bo->vidmm, &op), 2);
	ret = pagoda_stream_begin(&txn, bo->vidmm, bo, PAGODA_STREAM_WAITS_NOT, NULL,
				  DMA_RESV_USAGE_KERNEL, &cost);
	if (!ret) {
		ret = pagoda_stream_emit(&txn, &op);
		op.needs_idle = true;
		ret = ret ?: pagoda_stream_emit(&txn, &op);
		dma_fence_put(pagoda_stream_end(&txn));
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/* While a copy waits behind a copy that is complete, other moves go on. */
static void stream_busy_alone(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 8, CPU, VRAM, 0);
	struct pagoda_bo *other = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct busy_mover busy, mover;
	struct dma_fence *fence;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_write_vram(rig, other, 2);
	pagoda_rig_settle(rig);
	fence = busy_fence(test, bo);
	bo->content.needs_idle = true;
	busy_start(test, &busy, bo, two_transfers);
	busy_await(rig, 1);
	busy_start(test, &mover, other, pagoda_rig_to_system);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&mover.worker, 10 * HZ));
	KUNIT_EXPECT_FALSE(test, completion_done(&busy.worker.done));
	busy_signal(fence);
	pagoda_worker_end(test, &busy.worker);
	pagoda_worker_end(test, &mover.worker);
	bo->content.needs_idle = false;
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, other, 2));
	pagoda_rig_close(bo);
	pagoda_rig_close(other);
}

/*
 * A copy that waited behind a copy that is complete goes on only when no other move waits between
 * two pieces of its copy: the copies don't overlap.
 */
static void stream_busy_takes_turns(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *first = pagoda_rig_bo(rig, 8, CPU, VRAM, 0);
	struct pagoda_bo *second = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	const struct pagoda_rig_note *piece, *copy;
	struct busy_mover early, late;
	struct dma_fence *fence;
	u32 pieces;

	pagoda_rig_write_vram(rig, first, 1);
	pagoda_rig_write_vram(rig, second, 2);
	pieces = pagoda_vram_count_ranges(second->ttm.resource);
	KUNIT_ASSERT_GT(test, pieces, 1);
	pagoda_rig_settle(rig);
	fence = busy_fence(test, first);
	first->content.needs_idle = true;
	second->content.needs_idle = true;
	busy_start(test, &early, first, two_transfers);
	busy_await(rig, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_wait_idle(rig->vidmm, 30 * HZ));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	busy_start(test, &late, second, pagoda_rig_to_system);
	/* The second time that @late is busy, the first piece is emitted, and isn't executed. */
	busy_await(rig, 3);
	busy_signal(fence);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&early.worker, HZ / 5));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_worker_end(test, &late.worker);
	pagoda_worker_end(test, &early.worker);
	pagoda_rig_settle(rig);
	piece = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, second->id, pieces - 1);
	copy = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, first->id, 1);
	KUNIT_ASSERT_NOT_NULL(test, piece);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	PAGODA_PROVES(C28);
	KUNIT_EXPECT_TRUE(test, piece < copy);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, second, 2));
	first->content.needs_idle = false;
	pagoda_rig_close(first);
	pagoda_rig_close(second);
}

/* With no_wait_gpu the move of a busy allocation returns -EBUSY and has no effect. */
static void stream_busy_no_wait(struct kunit *test)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, bo, 1);
	bo->content.needs_idle = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &system, true));
	KUNIT_EXPECT_EQ(test, bo->ttm.resource->mem_type, TTM_PL_VRAM);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/*
 * A copy whose allocation stays busy longer than the stream is willing to wait returns -EBUSY, and
 * isn't executed.
 */
static void stream_busy_too_long(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 8, CPU, VRAM, 0);
	struct pagoda_stream *stream = rig->vidmm->stream;
	unsigned long patience = stream->busy_patience;
	struct dma_fence *fence;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	fence = busy_fence(test, bo);
	bo->content.needs_idle = true;
	stream->busy_patience = 1;
	KUNIT_EXPECT_EQ(test, -EBUSY, two_transfers(bo));
	KUNIT_EXPECT_EQ(test, 1, atomic64_read(&rig->vidmm->stats.cpu_waits));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 1, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id));
	stream->busy_patience = patience;
	busy_signal(fence);
	KUNIT_EXPECT_EQ(test, 0, two_transfers(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 3, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id));
	bo->content.needs_idle = false;
	pagoda_rig_close(bo);
}

static struct kunit_case busy_cases[] = {
	KUNIT_CASE(stream_busy),
	KUNIT_CASE(stream_busy_pieces),
	KUNIT_CASE(stream_busy_own),
	KUNIT_CASE(stream_busy_alone),
	KUNIT_CASE(stream_busy_takes_turns),
	KUNIT_CASE(stream_busy_no_wait),
	KUNIT_CASE(stream_busy_too_long),
	{}
};

static struct kunit_suite busy_suite = {
	.name = "pagoda_stream_busy",
	.test_cases = busy_cases,
};

kunit_test_suite(busy_suite);
