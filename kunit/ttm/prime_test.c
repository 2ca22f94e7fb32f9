// SPDX-License-Identifier: GPL-2.0
/*
 * Exported allocations, on the rig: pins for importers that aren't told of moves, and their limit;
 * access by the kernel and the CPU; two GPUs that share an allocation, resets of either; unplugging
 * the device; every order in which the references to an allocation are dropped.
 */
#include "debug/debug.h"
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "prime_helpers.h"

#define SIZE	(PRIME_PAGES * PAGE_SIZE)
#define LAST	(SIZE - sizeof(u64))
#define BOTH	(SUBMIT_VRAM | SUBMIT_APERTURE)
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CACHED	DRM_PAGODA_ALLOCATION_CACHED
#define SEED	0x5a4eu

static u32 prime_where(struct pagoda_bo *bo)
{
	return bo->ttm.resource->mem_type;
}

static int prime_make_resident(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_fence *fence;
	u64 trim;
	int ret = pagoda_rig_make_resident(rig, &bo, 1, &fence, &trim);

	dma_fence_put(fence);
	return ret;
}

static int prime_evict(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_fence *fence;
	int ret = pagoda_rig_evict(rig, &bo, 1, &fence);

	dma_fence_put(fence);
	return ret;
}

/* When a device imports a dma-buf that it exported, it gets the exported allocation itself. */
static void prime_self(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, SUBMIT_VRAM, 0);
	struct dma_buf *dma_buf = prime_export(bo);

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	KUNIT_EXPECT_EQ(test, SIZE, dma_buf->size);
	KUNIT_EXPECT_PTR_EQ(test, bo->ttm.base.resv, dma_buf->resv);
	KUNIT_EXPECT_PTR_EQ(test, bo, prime_import(rig, dma_buf));
	KUNIT_EXPECT_PTR_EQ(test, bo, prime_import(rig, dma_buf));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bo));
	KUNIT_EXPECT_TRUE(test, list_empty(&dma_buf->attachments));
	pagoda_rig_close(bo);
	pagoda_rig_close(bo);
	prime_put(dma_buf);
	/* Only the reference from the allocation's creation is left. */
	KUNIT_EXPECT_EQ(test, 1u, kref_read(&bo->ttm.base.refcount));
	KUNIT_EXPECT_NULL(test, bo->share.exported);
	pagoda_rig_close(bo);
}

/*
 * For an importer that isn't told of moves, the allocation is moved with its content from VRAM to
 * the aperture segment and pinned until prime_detach(); the GPU goes on using the allocation.
 */
static void prime_pinned(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU | CACHED, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct dma_buf_attachment *attach;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, PRIME_HERE));
	for (i = 0; i < PRIME_PAGES; i++)
		KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, i * PAGE_SIZE, 50 + i));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bo));
	attach = test_ok(test, prime_attach(rig, dma_buf));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bo));
	for (i = 0; i < PRIME_PAGES; i++)
		KUNIT_EXPECT_EQ(test, 50ull + i, *prime_attached_word(attach, i * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 0, prime_make_resident(rig, bo));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bo));
	*prime_attached_word(attach, LAST) = 99;
	KUNIT_EXPECT_EQ(test, 0, prime_compare(client, bo, LAST, 99));
	KUNIT_EXPECT_EQ(test, 0, prime_store(client, bo, 8, 98));
	KUNIT_EXPECT_EQ(test, 98ull, *prime_attached_word(attach, 8));
	KUNIT_EXPECT_EQ(test, 0, prime_evict(rig, bo));
	prime_swap_out(client);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bo));
	KUNIT_EXPECT_EQ(test, 98ull, *prime_attached_word(attach, 8));
	prime_detach(dma_buf, attach);
	KUNIT_EXPECT_EQ(test, 0, prime_make_resident(rig, bo));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bo));
	KUNIT_EXPECT_EQ(test, 98ull, submit_word(rig, bo, 8));
	KUNIT_EXPECT_EQ(test, 99ull, submit_word(rig, bo, LAST));
	prime_put(dma_buf);
	submit_close(client, bo);
	submit_client_end(client);
}

/*
 * Pinned allocations keep their addresses in the aperture: pagoda_residency_make() of an allocation
 * for which the rest of the aperture is too small fails with -ENOSPC and says how many bytes are
 * missing, and no other allocation leaves the aperture for that allocation.
 */
static void prime_pins_count(struct kunit *test)
{
	const u32 physical = CPU | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY;
	const struct pagoda_rig_options options = { .pin_limit = SZ_1M };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bos[3];
	struct dma_buf_attachment *attach;
	struct dma_buf *dma_buf;
	struct dma_fence *fence;
	u64 trim;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = pagoda_rig_bo(rig, i < 2 ? PRIME_PAGES :
				       PAGODA_RIG_APERTURE_PAGES - PRIME_PAGES + 1, physical,
				       SUBMIT_APERTURE, 0);
	dma_buf = prime_export(bos[0]);
	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	attach = test_ok(test, prime_attach(rig, dma_buf));
	KUNIT_ASSERT_EQ(test, 0, prime_make_resident(rig, bos[1]));
	KUNIT_EXPECT_EQ(test, -ENOSPC, pagoda_rig_make_resident(rig, &bos[2], 1, &fence, &trim));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE, trim);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bos[1]));
	/* A pinned allocation in the list needs no second place in the aperture. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, bos, 2, &fence, &trim));
	dma_fence_put(fence);
	prime_detach(dma_buf, attach);
	prime_put(dma_buf);
	KUNIT_EXPECT_EQ(test, 0, prime_evict(rig, bos[0]));
	KUNIT_EXPECT_EQ(test, 0, prime_evict(rig, bos[1]));
	prime_settle(rig);
	KUNIT_EXPECT_EQ(test, 0, prime_make_resident(rig, bos[2]));
	KUNIT_EXPECT_EQ(test, 0, atomic64_read(&rig->vidmm->pinned));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
}

/*
 * Attaching fails with -EDQUOT if more than &pagoda_rig_options.pin_limit bytes of the client's
 * allocations would be pinned then. An allocation counts once, however often it is attached.
 */
static void prime_limit(struct kunit *test)
{
	const struct pagoda_rig_options options = { .pin_limit = 2 * SIZE };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct dma_buf_attachment *attach[3], *again;
	struct drm_pagoda_segment_info info;
	struct pagoda_bo *bos[3];
	struct dma_buf *bufs[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		bos[i] = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
		bufs[i] = prime_export(bos[i]);
		KUNIT_ASSERT_NOT_NULL(test, bufs[i]);
		attach[i] = prime_attach(rig, bufs[i]);
	}
	KUNIT_ASSERT_FALSE(test, IS_ERR(attach[0]) || IS_ERR(attach[1]));
	KUNIT_EXPECT_EQ(test, -EDQUOT, PTR_ERR_OR_ZERO(attach[2]));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bos[2]));
	again = test_ok(test, prime_attach(rig, bufs[0]));
	pagoda_vidmm_segment_info(rig->vidmm, rig->client, DRM_PAGODA_SEGMENT_APERTURE, &info);
	KUNIT_EXPECT_EQ(test, 2 * SIZE, info.client_pinned);
	KUNIT_EXPECT_EQ(test, 2 * SIZE, info.pin_limit);
	/* Pages are pinned in the aperture, and for a client. */
	pagoda_vidmm_segment_info(rig->vidmm, rig->client, DRM_PAGODA_SEGMENT_VRAM, &info);
	KUNIT_EXPECT_EQ(test, 0ull, info.client_pinned);
	pagoda_vidmm_segment_info(rig->vidmm, NULL, DRM_PAGODA_SEGMENT_APERTURE, &info);
	KUNIT_EXPECT_EQ(test, 0ull, info.client_pinned);
	prime_detach(bufs[0], attach[0]);
	KUNIT_EXPECT_EQ(test, -EDQUOT, PTR_ERR_OR_ZERO(prime_attach(rig, bufs[2])));
	prime_detach(bufs[0], again);
	attach[2] = test_ok(test, prime_attach(rig, bufs[2]));
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		if (i)
			prime_detach(bufs[i], attach[i]);
		prime_put(bufs[i]);
		pagoda_rig_close(bos[i]);
	}
	pagoda_vidmm_segment_info(rig->vidmm, rig->client, DRM_PAGODA_SEGMENT_APERTURE, &info);
	KUNIT_EXPECT_EQ(test, 0ull, info.client_pinned);
}

static void prime_expect_refused(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct dma_buf *dma_buf = prime_export(bo);
	struct iosys_map map;

	KUNIT_ASSERT_NOT_NULL(rig->test, dma_buf);
	KUNIT_EXPECT_EQ(rig->test, -EOPNOTSUPP, PTR_ERR_OR_ZERO(prime_attach(rig, dma_buf)));
	dma_resv_lock(dma_buf->resv, NULL);
	KUNIT_EXPECT_EQ(rig->test, -EOPNOTSUPP, dma_buf->ops->vmap(dma_buf, &map));
	dma_resv_unlock(dma_buf->resv);
	KUNIT_EXPECT_EQ(rig->test, 0u, bo->ttm.pin_count);
	/* The allocation's own device can import the dma-buf. */
	KUNIT_EXPECT_PTR_EQ(rig->test, bo, prime_import(rig, dma_buf));
	pagoda_rig_close(bo);
	prime_put(dma_buf);
	pagoda_rig_close(bo);
}

/*
 * The dma-buf of a tiled allocation, or of one that supports VRAM only, can't be attached or mapped
 * for the kernel (-EOPNOTSUPP); a private allocation can't be exported (-EPERM).
 */
static void prime_refused(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *private = submit_private(client, 1, BOTH, PRIME_HERE);
	const struct pagoda_bo_params tiled = {
		.size = SZ_64K,
		.flags = CPU,
		.supported = BOTH,
		.layout = {
			.tiling = DRM_PAGODA_TILING_4K,
			.pitch = 256,
			.height = 64,
			.mips = 1,
		},
	};
	struct pagoda_bo *bo = test_ok(test, pagoda_bo_create(rig->vidmm, rig->client, &tiled));

	prime_expect_refused(rig, bo);
	prime_expect_refused(rig, pagoda_rig_bo(rig, 1, CPU, SUBMIT_VRAM, 0));
	KUNIT_EXPECT_EQ(test, -EPERM, PTR_ERR_OR_ZERO(pagoda_prime_export(private, O_RDWR)));
	submit_close(client, private);
	submit_client_end(client);
}

/* dma_buf_ops.vmap flushes the stream, so that vmap doesn't wait until the stream is unplugged. */
static void prime_kernel_access_plugged(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct iosys_map map;
	unsigned long begun;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	pagoda_rig_write_vram(rig, bo, SEED);
	pagoda_rig_settle(rig);
	pagoda_rig_plug_shared(rig);
	begun = jiffies;
	KUNIT_EXPECT_EQ(test, 0, dma_buf_vmap_unlocked(dma_buf, &map));
	KUNIT_EXPECT_TRUE(test, time_before(jiffies, begun + 50 * HZ));
	pagoda_stream_unplug(rig->vidmm, &rig->plug);
	pagoda_rig_share(rig, false);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, SEED));
	dma_buf_vunmap_unlocked(dma_buf, &map);
	prime_put(dma_buf);
	pagoda_rig_close(bo);
}

/*
 * dma_buf_ops.vmap moves an allocation from VRAM to the aperture segment and keeps it there until
 * vunmap; the mapping shows its content. After vunmap the allocation can go to VRAM again.
 */
static void prime_kernel_access(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct iosys_map map;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	pagoda_rig_write_vram(rig, bo, SEED);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(dma_buf, DMA_BIDIRECTIONAL));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, SEED));
	KUNIT_ASSERT_EQ(test, 0, dma_buf_vmap_unlocked(dma_buf, &map));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, SEED));
	KUNIT_EXPECT_EQ(test, 0, memcmp(map.vaddr + 3 * PAGE_SIZE,
					page_address(bo->ttm.ttm->pages[3]), PAGE_SIZE));
	*(u64 *)(map.vaddr + LAST) = 1234;
	KUNIT_EXPECT_EQ(test, 0, prime_make_resident(rig, bo));
	KUNIT_EXPECT_EQ(test, 1u, bo->ttm.pin_count);
	dma_buf_vunmap_unlocked(dma_buf, &map);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_end_cpu_access(dma_buf, DMA_BIDIRECTIONAL));
	KUNIT_EXPECT_EQ(test, 0u, bo->ttm.pin_count);
	KUNIT_EXPECT_EQ(test, 0, prime_make_resident(rig, bo));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bo));
	KUNIT_EXPECT_EQ(test, 1234ull, submit_word(rig, bo, LAST));
	prime_put(dma_buf);
	pagoda_rig_close(bo);
}

/*
 * dma_buf_begin_cpu_access() of an allocation in VRAM that the CPU doesn't reach moves the
 * allocation to the aperture segment, unless the CPU is only going to write (DMA_TO_DEVICE).
 */
static void prime_cpu_reads_hidden(struct kunit *test)
{
	const struct pagoda_rig_options options = { .no_window = true };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	pagoda_rig_write_vram(rig, bo, SEED);
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(dma_buf, DMA_TO_DEVICE));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(bo));
	KUNIT_EXPECT_EQ(test, 0, dma_buf_begin_cpu_access(dma_buf, DMA_FROM_DEVICE));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, prime_where(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, SEED));
	prime_put(dma_buf);
	pagoda_rig_close(bo);
}

/* ---- Two GPUs ------------------------------------------------------------------- */

/* An allocation of one GPU and its import on another GPU; index 0 is the exporter. */
struct prime_pair {
	struct pagoda_rig *rig[2];
	struct submit_client *client[2];
	struct pagoda_bo *bo[2];
	struct dma_buf *dma_buf;
};

static void prime_pair(struct kunit *test, struct prime_pair *pair)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		pair->rig[i] = submit_rig(test);
		pair->client[i] = submit_client(pair->rig[i], 0);
	}
	pair->bo[0] = pagoda_rig_bo(pair->rig[0], PRIME_PAGES, CPU | CACHED, BOTH, 0);
	pair->dma_buf = prime_export(pair->bo[0]);
	KUNIT_ASSERT_NOT_NULL(test, pair->dma_buf);
	pair->bo[1] = prime_import(pair->rig[1], pair->dma_buf);
	KUNIT_EXPECT_PTR_NE(test, pair->bo[0], pair->bo[1]);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_map(pair->client[i], pair->bo[i], PRIME_HERE));
}

static void prime_pair_end(struct prime_pair *pair)
{
	s32 i;

	for (i = 1; i >= 0; i--) {
		submit_close(pair->client[i], pair->bo[i]);
		prime_settle(pair->rig[i]);
		if (i)
			prime_put(pair->dma_buf);
		submit_client_end(pair->client[i]);
	}
}

/*
 * Two GPUs use an allocation in turn: each finds the value that the other left. With move_notify
 * the allocation is in VRAM for the exporter's jobs, in the aperture segment for the importer's.
 */
static void prime_two_take_turns(struct kunit *test)
{
	struct prime_pair pair;
	u32 round, which;

	prime_pair(test, &pair);
	for (round = 0; round < 6; round++) {
		which = round % 2;
		submit_add(pair.client[which], PRIME_HERE + LAST, 1);
		KUNIT_EXPECT_EQ(test, 0, prime_compare(pair.client[which], pair.bo[which], LAST,
						       round + 1));
		/* Without move_notify the allocation is pinned in the aperture once mapped. */
		if (PAGODA_HAVE_MOVE_NOTIFY)
			KUNIT_EXPECT_EQ(test, which ? (u32)TTM_PL_TT : (u32)TTM_PL_VRAM,
					prime_where(pair.bo[0]));
	}
	KUNIT_EXPECT_EQ(test, 6ull, submit_word(pair.rig[0], pair.bo[0], LAST));
	prime_pair_end(&pair);
}

static u32 prime_executed(struct prime_pair *pair, u32 which)
{
	flush_work(&pair->rig[which]->engines[0].work);
	return pair->rig[which]->engines[0].executed;
}

/* With implicit sync a job that reads waits for a job on another GPU that writes. */
static void prime_two_implicit(struct kunit *test)
{
	struct submit_args args = { .nr_bos = 1 };
	struct prime_pair pair;
	u32 before;

	prime_pair(test, &pair);
	pagoda_rig_hold(pair.rig[0], 0, true);
	args.bos[0] = pair.bo[0];
	args.flags[0] = DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE;
	submit_store(pair.client[0], PRIME_HERE, 41);
	KUNIT_ASSERT_EQ(test, 0, submit_job(pair.client[0], &args));
	args.bos[0] = pair.bo[1];
	args.flags[0] = DRM_PAGODA_SUBMIT_IMPLICIT;
	before = prime_executed(&pair, 1);
	submit_compare(pair.client[1], PRIME_HERE, 41);
	if (PAGODA_HAVE_MOVE_NOTIFY) {
		/* SUBMIT returns, but the move out of VRAM waits in the stream for the held job. */
		KUNIT_ASSERT_EQ(test, 0, submit_job(pair.client[1], &args));
		KUNIT_EXPECT_EQ(test, before, prime_executed(&pair, 1));
		KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(pair.bo[1]));
	}
	pagoda_rig_hold(pair.rig[0], 0, false);
	/* Without move_notify the job is submitted only now that the first job isn't held. */
	if (!PAGODA_HAVE_MOVE_NOTIFY)
		KUNIT_ASSERT_EQ(test, 0, submit_job(pair.client[1], &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(pair.client[1]));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(pair.client[0]));
	KUNIT_EXPECT_EQ(test, 41ull, submit_word(pair.rig[0], pair.bo[0], 0));
	prime_pair_end(&pair);
}

/*
 * Both GPUs in turn make an allocation resident, and the importer evicts it; the fences of both are
 * in its reservation: no move fails, and the content stays.
 */
static void prime_two_resident(struct kunit *test)
{
	struct prime_pair pair;
	u32 round;

	prime_pair(test, &pair);
	for (round = 0; round < 3; round++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(pair.bo[1], round & 1));
		KUNIT_EXPECT_EQ(test, 0, prime_make_resident(pair.rig[1], pair.bo[1]));
		KUNIT_EXPECT_EQ(test, 0, prime_make_resident(pair.rig[0], pair.bo[0]));
		KUNIT_EXPECT_EQ(test, 0, prime_store(pair.client[1], pair.bo[1], 0, round));
		KUNIT_EXPECT_EQ(test, round, (u32)submit_word(pair.rig[0], pair.bo[0], 0));
		KUNIT_EXPECT_EQ(test, 0, prime_evict(pair.rig[1], pair.bo[1]));
	}
	prime_pair_end(&pair);
}

/* Content in system memory survives a reset of either GPU, and both GPUs go on using it. */
static void prime_two_reset(struct kunit *test)
{
	struct drm_pagoda_allocation_info info;
	struct prime_pair pair;
	u32 which;

	prime_pair(test, &pair);
	for (which = 0; which < 2; which++) {
		KUNIT_EXPECT_EQ(test, 0, prime_store(pair.client[1], pair.bo[1], LAST, 60 + which));
		KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(pair.rig[which]->vidmm));
		pagoda_bo_info(pair.bo[0], &info);
		KUNIT_EXPECT_EQ(test, 0u, info.state);
		pagoda_bo_info(pair.bo[1], &info);
		KUNIT_EXPECT_EQ(test, 0u, info.state);
		KUNIT_EXPECT_EQ(test, 60ull + which, submit_word(pair.rig[0], pair.bo[0], LAST));
		KUNIT_EXPECT_EQ(test, 0, prime_compare(pair.client[1], pair.bo[1], LAST,
						       60 + which));
		KUNIT_EXPECT_EQ(test, 0, prime_compare(pair.client[0], pair.bo[0], LAST,
						       60 + which));
	}
	prime_pair_end(&pair);
}

/*
 * When a reset of the exporter loses the content in its VRAM, importers find zeros, and only the
 * exporter's allocation says that content was lost.
 */
static void prime_lost_in_vram(struct kunit *test)
{
	struct drm_pagoda_allocation_info info;
	struct prime_pair pair;

	prime_pair(test, &pair);
	KUNIT_EXPECT_EQ(test, 0, prime_store(pair.client[0], pair.bo[0], LAST, 5));
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(pair.rig[0]->vidmm));
	KUNIT_EXPECT_EQ(test, 0, prime_compare(pair.client[1], pair.bo[1], LAST, 0));
	pagoda_bo_info(pair.bo[0], &info);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_CONTENT_LOST, info.state);
	pagoda_bo_info(pair.bo[1], &info);
	KUNIT_EXPECT_EQ(test, 0u, info.state);
	prime_pair_end(&pair);
}

/* ---- Teardown ------------------------------------------------------------------------ */

/*
 * When the exporter is unplugged, pages pinned for an importer stay, with their content, until the
 * importer detaches; dma_buf_attach() and dma_buf_ops.vmap fail with -ENODEV from then on.
 */
static void prime_unplug_pinned(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	attach = test_ok(test, prime_attach(rig, dma_buf));
	for (i = 0; i < PRIME_PAGES; i++)
		*prime_attached_word(attach, i * PAGE_SIZE) = 70 + i;
	pagoda_rig_unplug(rig);
	for (i = 0; i < PRIME_PAGES; i++) {
		KUNIT_EXPECT_EQ(test, 70ull + i, *prime_attached_word(attach, i * PAGE_SIZE));
		*prime_attached_word(attach, i * PAGE_SIZE) = i;
	}
	KUNIT_EXPECT_EQ(test, -ENODEV, PTR_ERR_OR_ZERO(prime_attach(rig, dma_buf)));
	dma_resv_lock(dma_buf->resv, NULL);
	KUNIT_EXPECT_EQ(test, -ENODEV, dma_buf->ops->vmap(dma_buf, &map));
	dma_resv_unlock(dma_buf->resv);
	pagoda_rig_close(bo);
	prime_detach(dma_buf, attach);
	prime_put(dma_buf);
}

/*
 * Unplugs GPU @which of a pair, and tears both down. Without the exporter (0), jobs that list the
 * import fail with -ENODEV; without the importer (1), the exporter goes on.
 */
static void prime_two_unplug(struct kunit *test, u32 which)
{
	struct prime_pair pair;

	prime_pair(test, &pair);
	KUNIT_EXPECT_EQ(test, 0, prime_store(pair.client[1], pair.bo[1], LAST, 3));
	pagoda_rig_unplug(pair.rig[which]);
	if (which) {
		KUNIT_EXPECT_EQ(test, 0, prime_compare(pair.client[0], pair.bo[0], LAST, 3));
	} else {
		KUNIT_EXPECT_EQ(test, -ENODEV,
				prime_store(pair.client[1], pair.bo[1], LAST, 4));
	}
	prime_pair_end(&pair);
}

static void prime_exporter_goes(struct kunit *test)
{
	prime_two_unplug(test, 0);
}

static void prime_importer_goes(struct kunit *test)
{
	prime_two_unplug(test, 1);
}

enum prime_holder {
	PRIME_MAKER,
	PRIME_FILE,
	PRIME_IMPORT,
	PRIME_ATTACHMENT,
	PRIME_HOLDERS
};

/*
 * Exports an allocation of @rig. @other imports the dma-buf, and attaches to it once more. Drops
 * the references of enum prime_holder in the permutation with the number @order, from 0 to 23.
 */
static void prime_close_in_order(struct pagoda_rig *rig, struct pagoda_rig *other, u32 order)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct dma_buf_attachment *attach;
	struct pagoda_bo *import;
	u32 left = PRIME_HOLDERS, done = 0, which;

	KUNIT_ASSERT_NOT_NULL(rig->test, dma_buf);
	import = prime_import(other, dma_buf);
	get_dma_buf(dma_buf);
	attach = test_ok(rig->test, prime_attach(other, dma_buf));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_aperture(import, true));
	for (; left; order /= left--) {
		u32 skip = order % left;

		for (which = 0; done & BIT(which) || skip; which++)
			skip -= !(done & BIT(which));
		done |= BIT(which);
		if (which == PRIME_MAKER)
			pagoda_rig_close(bo);
		else if (which == PRIME_IMPORT)
			pagoda_rig_close(import);
		else if (which == PRIME_ATTACHMENT)
			prime_detach(dma_buf, attach);
		if (which == PRIME_FILE || which == PRIME_ATTACHMENT)
			prime_put(dma_buf);
		prime_settle(other);
		prime_settle(rig);
	}
}

/*
 * In whichever order the references of the maker, the dma-buf's file, an import and an attachment
 * are dropped, no allocation and no charge is left.
 */
static void prime_every_order(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_rig *other = pagoda_rig_create_mode(test);
	u32 order;

	for (order = 0; order < 24; order++)
		prime_close_in_order(rig, other, order);
	KUNIT_EXPECT_EQ(test, 0ull,
			pagoda_quota_count(rig->client->quota, PAGODA_LIMIT_SHARED));
	KUNIT_EXPECT_TRUE(test, xa_empty(&rig->vidmm->bos));
	KUNIT_EXPECT_TRUE(test, xa_empty(&other->vidmm->bos));
}

/* A pin that fails isn't charged to the client: as much as before can be pinned. */
static void prime_failure_isnt_charged(struct kunit *test)
{
	const struct pagoda_rig_options options = { .pin_limit = SIZE };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0);
	struct dma_buf *dma_buf = prime_export(bo);
	struct drm_pagoda_segment_info info;
	struct dma_buf_attachment *attach;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	/* The rank is set directly, because OFFER refuses a shared allocation. */
	WRITE_ONCE(bo->offer.rank, PAGODA_OFFER_NORMAL);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, -ENODATA, PTR_ERR_OR_ZERO(prime_attach(rig, dma_buf)));
	WRITE_ONCE(bo->offer.rank, PAGODA_OFFER_NONE);
	pagoda_vidmm_segment_info(rig->vidmm, rig->client, DRM_PAGODA_SEGMENT_APERTURE, &info);
	KUNIT_EXPECT_EQ(test, 0ull, info.client_pinned);
	attach = test_ok(test, prime_attach(rig, dma_buf));
	prime_detach(dma_buf, attach);
	prime_put(dma_buf);
	pagoda_rig_close(bo);
}

/* An importer whose device uses the memory until @fence signals. */
struct prime_user {
	struct pagoda_bo *bo;
	struct dma_fence *fence;
};

static void prime_user_told(struct dma_buf_attachment *attach)
{
	struct prime_user *user = attach->importer_priv;
	struct dma_resv *resv = attach->dmabuf->resv;

	if (!dma_resv_reserve_fences(resv, 2))
		dma_resv_add_fence(resv, user->fence, DMA_RESV_USAGE_BOOKKEEP);
}

static const struct dma_buf_attach_ops prime_user_ops = {
	.invalidate_mappings = prime_user_told,
};

static int prime_user_move(void *arg)
{
	struct prime_user *user = arg;

	return pagoda_rig_to_vram(user->bo);
}

/*
 * Not only an eviction, also a move to VRAM waits for fences that an importer adds to the
 * reservation when it is told of the move.
 */
static void prime_importer_adds_a_fence(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct prime_user user = {
		.bo = pagoda_rig_bo(rig, PRIME_PAGES, CPU, BOTH, 0),
		.fence = pagoda_test_fence(test),
	};
	struct pagoda_worker worker = { .run = prime_user_move, .arg = &user };
	struct dma_buf *dma_buf = prime_export(user.bo);
	struct dma_buf_attachment *attach;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(user.bo, false));
	attach = test_ok(test, dma_buf_dynamic_attach(dma_buf, rig->info.dma_dev, &prime_user_ops,
						      &user));
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, HZ / 5));
	dma_fence_signal(user.fence);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, prime_where(user.bo));
	dma_buf_detach(dma_buf, attach);
	dma_fence_put(user.fence);
	prime_put(dma_buf);
	pagoda_rig_close(user.bo);
}

static struct kunit_case prime_cases[] = {
	KUNIT_CASE_PARAM(prime_self, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_pinned, pagoda_rig_modes),
	KUNIT_CASE(prime_pins_count),
	KUNIT_CASE(prime_limit),
	KUNIT_CASE(prime_failure_isnt_charged),
	KUNIT_CASE_PARAM(prime_refused, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_kernel_access_plugged, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_kernel_access, pagoda_rig_mmu_modes),
	KUNIT_CASE(prime_cpu_reads_hidden),
	KUNIT_CASE_PARAM(prime_two_take_turns, pagoda_rig_modes),
	KUNIT_CASE_PARAM(prime_two_implicit, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_two_resident, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_two_reset, pagoda_rig_modes),
	KUNIT_CASE_PARAM(prime_lost_in_vram, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_unplug_pinned, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_exporter_goes, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(prime_importer_goes, pagoda_rig_mmu_modes),
	KUNIT_CASE(prime_importer_adds_a_fence),
	KUNIT_CASE_PARAM(prime_every_order, pagoda_rig_mmu_modes),
	{}
};

static struct kunit_suite prime_suite = {
	.name = "pagoda_prime",
	.test_cases = prime_cases,
};

kunit_test_suite(prime_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit suite of shared allocations");
