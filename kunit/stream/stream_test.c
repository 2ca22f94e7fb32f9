// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the stream: operations that wait for fences, plugs and shared buffers, an operation in
 * several buffers, refused operations, missing memory, set-up and end.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <drm/drm_gem.h>
#include "queue/internal.h"
#include "queue/queue_helpers.h"
#include "rig/rig.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE

struct evictor {
	struct pagoda_bo *bo;
	int (*move)(struct pagoda_bo *bo);	/* NULL: to system memory */
	struct kunit *test;			/* whose static stubs the thread calls; or NULL */
	struct completion done;
	int ret;
};

static int evictor_run(void *data)
{
	struct evictor *evictor = data;

	current->kunit_test = evictor->test;
	evictor->ret = evictor->move ? evictor->move(evictor->bo) :
				       pagoda_rig_to_system(evictor->bo);
	complete(&evictor->done);
	return 0;
}

/*
 * If an allocation leaves VRAM as a victim does, the copy waits in the paging queue for all fences
 * of the allocation; the thread that moves the allocation doesn't wait.
 */
static void stream_dependency(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	struct dma_fence *fence;

	pagoda_rig_write_vram(rig, bo, 1);
	fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	msleep(50);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* A fill also waits for pending writes to the allocation, although there is nothing to copy. */
static void stream_fill_waits(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *old = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	struct evictor mover = { .bo = bo, .move = pagoda_rig_to_vram };
	struct dma_fence *fence;

	/*
	 * Use all of VRAM once: no block is left that is known to be zeros, so that the move needs
	 * a fill.
	 */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(old));
	pagoda_rig_close(old);
	pagoda_rig_settle_freed(rig);
	fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_KERNEL);
	init_completion(&mover.done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(evictor_run, &mover, "pagoda-mover")));
	msleep(50);
	PAGODA_PROVES(C42);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, bo->id), 0);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_NE(test, 0, wait_for_completion_timeout(&mover.done, 30 * HZ));
	KUNIT_EXPECT_EQ(test, 0, mover.ret);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, bo->id), 0);
	pagoda_rig_close(bo);
}

/*
 * While moves share buffers, an operation that waits for a fence isn't put into the buffer of
 * operations that don't wait.
 */
static void stream_dependency_plugged(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *other = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 11, CPU, VRAM, 0);
	struct dma_fence *fence;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_write(rig, other, 1);
	pagoda_rig_write(rig, bo, 2);
	fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(other));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, other, 1));
	msleep(50);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 2));
	pagoda_rig_close(other);
	pagoda_rig_close(bo);
}

/* Plugged moves share submissions and doorbells, and are executed in order. */
static void stream_batch(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	const struct pagoda_rig_note *first, *note;
	struct pagoda_bo *bos[20];
	u64 doorbells;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
		pagoda_rig_write_vram(rig, bos[i], i);
	}
	pagoda_rig_settle(rig);
	doorbells = rig->fake->doorbells;
	pagoda_rig_plug_shared(rig);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[i]));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_LT(test, rig->fake->doorbells - doorbells, 5);
	first = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bos[0]->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, first);
	PAGODA_PROVES(C19);
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i));
		note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bos[i]->id, 0);
		KUNIT_EXPECT_TRUE(test, note >= first);
		first = note;
		pagoda_rig_close(bos[i]);
	}
}

/* A submission is queued soon although the stream stays plugged: the fence of a move signals. */
static void stream_plug_is_bounded(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_stream_plug(rig->vidmm, &rig->plug);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_GT(test, dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL,
						    false, 30 * HZ), 0);
	dma_resv_unlock(bo->ttm.base.resv);
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_close(bo);
}

static bool stream_is_done(struct pagoda_bo *bo, unsigned long patience)
{
	return dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false,
				     patience) > 0;
}

static void stream_mover(struct kunit *test, struct evictor *mover)
{
	init_completion(&mover->done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(evictor_run, mover, "pagoda-mover")));
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&mover->done, 30 * HZ));
	KUNIT_EXPECT_EQ(test, 0, mover->ret);
}

/* A thread that has plugged the stream doesn't delay operations of other threads. */
static void stream_plug_of_a_thread(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *mine = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct pagoda_bo *other = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct evictor mover = { .bo = other, .test = test };

	pagoda_rig_write_vram(rig, mine, 1);
	pagoda_rig_write_vram(rig, other, 2);
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	stream_mover(test, &mover);
	KUNIT_EXPECT_TRUE(test, stream_is_done(other, 10 * HZ));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(mine));
	KUNIT_EXPECT_FALSE(test, stream_is_done(mine, HZ / 5));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, mine, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, other, 2));
	pagoda_rig_close(mine);
	pagoda_rig_close(other);
}

static struct pagoda_plug *stream_passed;

static int to_system_plugged(struct pagoda_bo *bo)
{
	pagoda_stream_plug_pass(bo->vidmm, stream_passed);
	return pagoda_rig_to_system(bo);
}

/*
 * By pagoda_stream_plug_pass() a thread takes over the plug of another thread, which waits for the
 * calling thread: moves of the calling thread stay in an open submission.
 */
static void stream_plug_is_passed(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct evictor mover = { .bo = bo, .test = test, .move = to_system_plugged };

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	stream_passed = &rig->plug;
	stream_mover(test, &mover);
	pagoda_stream_plug_pass(rig->vidmm, &rig->plug);
	KUNIT_EXPECT_FALSE(test, stream_is_done(bo, HZ / 5));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* pagoda_stream_wait_idle() queues the open submission instead of waiting for the unplug. */
static void stream_wait_sends(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct dma_resv *resv = bo->ttm.base.resv;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_plug_shared(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_FALSE(test, dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL));
	KUNIT_EXPECT_EQ(test, 0, pagoda_stream_wait_idle(rig->vidmm, 30 * HZ));
	KUNIT_EXPECT_TRUE(test, dma_resv_test_signaled(resv, DMA_RESV_USAGE_KERNEL));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_close(bo);
}

/* Returns pagoda_residency_later() for the allocation. */
static struct dma_fence *stream_later(struct pagoda_bo *bo, struct dma_fence *latest)
{
	dma_resv_lock(bo->ttm.base.resv, NULL);
	latest = pagoda_residency_later(bo->vidmm, latest, bo->ttm.base.resv);
	dma_resv_unlock(bo->ttm.base.resv);
	return latest;
}

/*
 * Of the moves of two allocations pagoda_residency_later() finds the later one, in whatever order
 * the allocations are, and keeps no reference to the other's fence.
 */
static void stream_finds_the_latest(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *first = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct pagoda_bo *second = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	struct dma_fence *early, *late;
	u32 early_refs, late_refs;

	pagoda_rig_write_vram(rig, first, 1);
	pagoda_rig_write_vram(rig, second, 2);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_NULL(test, stream_later(second, stream_later(first, NULL)));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(first));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(second));
	early = stream_later(first, NULL);
	late = stream_later(second, NULL);
	KUNIT_ASSERT_NOT_NULL(test, early);
	KUNIT_ASSERT_NOT_NULL(test, late);
	KUNIT_EXPECT_PTR_NE(test, early, late);
	/* The device has both moves: no other thread takes or drops references from then on. */
	while (!pagoda_queue_is_sent(late))
		fsleep(100);
	flush_workqueue(rig->vidmm->queue->submit_wq);
	early_refs = kref_read(&early->refcount);
	late_refs = kref_read(&late->refcount);
	/* Each call consumes the reference to the result of the call before. */
	KUNIT_EXPECT_PTR_EQ(test, late, stream_later(second, dma_fence_get(early)));
	KUNIT_EXPECT_EQ(test, early_refs, kref_read(&early->refcount));
	KUNIT_EXPECT_EQ(test, late_refs + 1, kref_read(&late->refcount));
	KUNIT_EXPECT_PTR_EQ(test, late, stream_later(first, late));
	KUNIT_EXPECT_EQ(test, early_refs, kref_read(&early->refcount));
	KUNIT_EXPECT_EQ(test, late_refs + 1, kref_read(&late->refcount));
	dma_fence_put(early);
	dma_fence_put(late);
	dma_fence_put(late);
	pagoda_rig_settle(rig);
	pagoda_rig_close(first);
	pagoda_rig_close(second);
}

/*
 * A small move leaves a spare submission in &pagoda_stream.reserve for the next small move; plugged
 * moves, which use it or an open submission, keep the content.
 */
static void stream_small(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	u32 i;

	pagoda_rig_write_vram(rig, bo, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_NOT_NULL(test, rig->vidmm->stream->reserve);
	pagoda_stream_plug(rig->vidmm, &rig->plug);
	for (i = 0; i < 10; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	}
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

/* Operations without an allocation are executed, too: a fill of all of VRAM. */
static void stream_no_owner(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_stream *stream = rig->vidmm->stream;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.size = rig->info.vram_size,
			.pattern = 0x600d600d,
		},
	};
	struct pagoda_paging_cost cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;

	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_BOOKKEEP, &cost));
	PAGODA_PROVES(C25);
	KUNIT_EXPECT_EQ(test, 0, pagoda_stream_emit(&txn, &op));
	fence = pagoda_stream_end(&txn);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	KUNIT_EXPECT_GT(test, dma_fence_wait_timeout(fence, false, 30 * HZ), 0);
	KUNIT_EXPECT_EQ(test, fence->error, 0);
	dma_fence_put(fence);
	PAGODA_PROVES(C39, C43);
	KUNIT_EXPECT_NULL(test, memchr_inv(rig->engine.vram, 0x600d600d & 0xff, 1));
	KUNIT_EXPECT_EQ(test, *(u32 *)rig->engine.vram, 0x600d600d);
	KUNIT_EXPECT_EQ(test, *(u32 *)(rig->engine.vram + rig->info.vram_size - 4), 0x600d600d);
}

#define SPLIT_PAGES	600

/* Makes a list of pages 0 (0xaa) and 2 (0xbb) of @pages in turn, so that each entry is a run. */
static void split_list(struct kunit *test, struct page *pages, struct pagoda_adl *adl)
{
	dma_addr_t *list = test_calloc(test, SPLIT_PAGES, sizeof(*list));
	u32 i;

	for (i = 0; i < SPLIT_PAGES; i++)
		list[i] = page_to_phys(pages + i % 2 * 2);
	memset(page_address(pages), 0xaa, PAGE_SIZE);
	memset(page_address(pages + 2), 0xbb, PAGE_SIZE);
	*adl = (struct pagoda_adl) { .nr_pages = SPLIT_PAGES, .pages = list };
}

static void expect_split(struct kunit *test, struct pagoda_rig *rig)
{
	u32 i, count = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0);
	u64 next = 0, seqno = 0;

	KUNIT_EXPECT_GE(test, count, 3);
	for (i = 0; i < count; i++) {
		const struct pagoda_rig_note *note =
			pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, 0, i);

		KUNIT_EXPECT_EQ(test, !!(note->flags & VIRTIO_PAGODA_TRANSFER_START), i == 0);
		KUNIT_EXPECT_EQ(test, !!(note->flags & VIRTIO_PAGODA_TRANSFER_END),
				i == count - 1);
		KUNIT_EXPECT_EQ(test, note->address, next);
		KUNIT_EXPECT_GT(test, note->seqno, seqno);
		next += note->size;
		seqno = note->seqno;
	}
	KUNIT_EXPECT_EQ(test, next, SPLIT_PAGES * PAGE_SIZE);
}

/*
 * One operation takes several buffers: each is a submission, no byte is left out or moved twice,
 * and the fence signals after the last submission.
 */
static void stream_split(struct kunit *test)
{
	const struct pagoda_rig_options small = { .buffer_size = PAGE_SIZE };
	struct pagoda_rig *rig = pagoda_rig_create(test, &small);
	struct pagoda_stream *stream = rig->vidmm->stream;
	struct page *pages = alloc_pages(GFP_KERNEL, 2);
	struct pagoda_adl adl;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.size = SPLIT_PAGES * PAGE_SIZE,
			.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
			.src = { .segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .adl = &adl },
			.dst = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM },
		},
	};
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	split_list(test, pages, &adl);
	cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_BOOKKEEP, &cost));
	KUNIT_EXPECT_EQ(test, 0, pagoda_stream_emit(&txn, &op));
	fence = pagoda_stream_end(&txn);
	KUNIT_ASSERT_NOT_NULL(test, fence);
	pagoda_fake_transport_let(rig->fake, 2);
	for (i = 0; i < 1000 && !pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0); i++)
		msleep(20);
	PAGODA_PROVES(C10);
	KUNIT_EXPECT_GE(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, 0), 1);
	KUNIT_EXPECT_FALSE(test, dma_fence_is_signaled(fence));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	KUNIT_EXPECT_GT(test, dma_fence_wait_timeout(fence, false, 30 * HZ), 0);
	KUNIT_EXPECT_EQ(test, fence->error, 0);
	dma_fence_put(fence);
	PAGODA_PROVES(C6, C8);
	expect_split(test, rig);
	for (i = 0; i < SPLIT_PAGES; i++)
		KUNIT_EXPECT_NULL(test, memchr_inv(rig->engine.vram + i * PAGE_SIZE,
						   i % 2 ? 0xbb : 0xaa, PAGE_SIZE));
	__free_pages(pages, 2);
}

/* An operation that the stream refuses leaves nothing in the paging buffer. */
static void stream_refused(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = {
			.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
			.size = PAGE_SIZE,
		},
	};
	struct pagoda_paging_cost cost = { .encoded = 512, .packets = 2 };
	struct pagoda_stream_txn txn;

	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_BOOKKEEP, &cost));
	PAGODA_PROVES(C41);
	KUNIT_EXPECT_NE(test, 0, pagoda_stream_emit(&txn, &op));
	KUNIT_EXPECT_NULL(test, pagoda_stream_end(&txn));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, 0), 0);
}

/* The pagoda_queue_get() call that counts this down to 0 fails; calls before and after succeed. */
static u32 gets_until_failure;

static struct pagoda_submission *get_failing(struct pagoda_queue *queue, struct pagoda_line *line,
					     u32 bytes, u32 priv_bytes)
{
	struct pagoda_submission *sub = ERR_PTR(-ENOMEM);

	if (--gets_until_failure) {
		struct kunit *test = kunit_get_current_test();

		kunit_deactivate_static_stub(test, pagoda_queue_get);
		sub = pagoda_queue_get(queue, line, bytes, priv_bytes);
		kunit_activate_static_stub(test, pagoda_queue_get, get_failing);
	}
	return sub;
}

/* Drops &pagoda_stream.reserve, the spare submission that a small move would use. */
static void drop_reserve(struct pagoda_rig *rig)
{
	struct pagoda_stream *stream = rig->vidmm->stream;

	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	stream->reserve = NULL;
}

/*
 * Lets a move fail at the first submission that it allocates, then at the second, and so on: the
 * move returns -ENOMEM and has no effect, until it succeeds because none of its allocations fails.
 * (fail_nth_test.c tests failures of other allocations: failslab leaves sleeping allocations alone
 * unless debugfs says otherwise.)
 */
static void stream_no_memory(struct kunit *test)
{
	const struct ttm_place to_vram = { .mem_type = TTM_PL_VRAM };
	const struct ttm_place to_tt = { .mem_type = TTM_PL_TT, .lpfn = PAGODA_RIG_APERTURE_PAGES };
	const struct ttm_place to_system = { .mem_type = TTM_PL_SYSTEM };
	const struct ttm_place *round[] = { &to_vram, &to_system, &to_tt, &to_vram, &to_tt,
					    &to_system, &to_vram };
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 77, CPU, VRAM | APERTURE, 0);
	u32 i, nth, place, failures = 0;

	pagoda_rig_write_vram(rig, bo, 42);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	for (i = 0; i < ARRAY_SIZE(round); i++) {
		place = bo->ttm.resource->mem_type;
		for (nth = 1; nth < 20; nth++) {
			int ret;

			drop_reserve(rig);
			gets_until_failure = nth;
			kunit_activate_static_stub(test, pagoda_queue_get, get_failing);
			ret = pagoda_rig_place(bo, round[i], false);
			kunit_deactivate_static_stub(test, pagoda_queue_get);
			if (!ret)
				break;
			failures++;
			KUNIT_EXPECT_EQ(test, ret, -ENOMEM);
			KUNIT_EXPECT_EQ(test, bo->ttm.resource->mem_type, place);
			KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 42));
		}
		KUNIT_EXPECT_EQ(test, bo->ttm.resource->mem_type, round[i]->mem_type);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 42));
	}
	KUNIT_EXPECT_GE(test, failures, ARRAY_SIZE(round));
	pagoda_rig_close(bo);
}

/* The work item that queues open submissions runs in front of usual work. */
static void stream_is_urgent(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);

	pagoda_test_expect_urgent(test, rig->vidmm->stream->wq);
}

/* The end of the stream drops the reference to the fence of the last move. */
static void stream_drops_the_last_fence(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_stream_line *moves = &rig->vidmm->stream->moves;
	struct dma_fence *fence = pagoda_test_fence(test);

	dma_fence_signal(fence);
	pagoda_rig_unplug(rig);
	dma_fence_put(moves->last);
	moves->last = dma_fence_get(fence);
	pagoda_rig_end(rig);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(stream_dependency),
	KUNIT_CASE(stream_fill_waits),
	KUNIT_CASE(stream_dependency_plugged),
	KUNIT_CASE(stream_batch),
	KUNIT_CASE(stream_plug_is_bounded),
	KUNIT_CASE(stream_plug_of_a_thread),
	KUNIT_CASE(stream_plug_is_passed),
	KUNIT_CASE(stream_wait_sends),
	KUNIT_CASE(stream_finds_the_latest),
	KUNIT_CASE(stream_small),
	KUNIT_CASE(stream_no_owner),
	KUNIT_CASE(stream_split),
	KUNIT_CASE(stream_refused),
	KUNIT_CASE(stream_no_memory),
	KUNIT_CASE(stream_is_urgent),
	KUNIT_CASE(stream_drops_the_last_fence),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "pagoda_stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
