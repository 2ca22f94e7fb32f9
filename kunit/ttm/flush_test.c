// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what the driver does about the device's write combiner: once a fence has signalled, the
 * CPU finds all bytes in memory, and the device writes nothing to pages that were freed.
 */
#include "submit/submit_helpers.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define FLUSH_PAGES	7u
#define HERE		0x80000000ull

static struct pagoda_bo *flush_bo(struct pagoda_rig *rig, bool cached, bool mapped)
{
	u32 flags = CPU | (cached ? DRM_PAGODA_ALLOCATION_CACHED : 0) | (mapped ? PHYSICAL : 0);

	return pagoda_rig_bo(rig, FLUSH_PAGES, flags, SUBMIT_VRAM | SUBMIT_APERTURE,
			     mapped ? SUBMIT_APERTURE : 0);
}

static u32 flush_count(struct pagoda_rig *rig, u32 opcode, const struct pagoda_bo *bo)
{
	return pagoda_rig_count(rig, opcode, bo->id);
}

/*
 * A move out of VRAM flushes the write combiner: by a WRITE_PHYSICAL if the pages aren't cached, by
 * a READ_PHYSICAL if they are, and by no packet if the device's writes are snooped.
 */
static void flush_moves(struct kunit *test)
{
	const struct pagoda_rig_mode *mode = test->param_value;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	bool is_virtual = mode->update_mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
	u32 i;

	for (i = 0; i < 4; i++) {
		bool cached = i & 1, mapped = i & 2;
		bool snooped = cached && (mapped || is_virtual);
		struct pagoda_bo *bo = flush_bo(rig, cached, mapped);

		pagoda_rig_write_vram(rig, bo, 1 + i);
		KUNIT_ASSERT_EQ(test, 0, mapped ? pagoda_rig_to_aperture(bo, true) :
						  pagoda_rig_to_system(bo));
		pagoda_rig_settle(rig);
		PAGODA_PROVES(C51, C55, C97);
		KUNIT_EXPECT_TRUE_MSG(test, pagoda_rig_holds(rig, bo, 1 + i), "%u", i);
		KUNIT_EXPECT_EQ(test, flush_count(rig, VIRTIO_PAGODA_OP_READ_PHYSICAL, bo),
				cached && !snooped);
		KUNIT_EXPECT_EQ(test, flush_count(rig, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, bo),
				!cached);
		/*
		 * What the CPU writes after the flush, without another flush, is what the device
		 * copies back to VRAM.
		 */
		pagoda_rig_write(rig, bo, 100 + i);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		pagoda_rig_settle(rig);
		KUNIT_EXPECT_TRUE_MSG(test, pagoda_rig_holds(rig, bo, 100 + i), "%u", i);
		pagoda_rig_close(bo);
	}
}

/*
 * Fills in @m as a move by TTM does before its transaction: the places, pages, steps and the cost.
 */
static void flush_begin_move(struct kunit *test, struct pagoda_move *m, struct ttm_resource *dst)
{
	struct ttm_operation_ctx ctx = {};

	KUNIT_ASSERT_EQ(test, 0, ttm_bo_populate(&m->bo->ttm, &ctx));
	KUNIT_ASSERT_EQ(test, 0, pagoda_device_mmu_repair(m->vidmm, m->bo->ttm.ttm));
	pagoda_bo_adl(m->bo, &m->pages);
	m->src = m->bo->ttm.resource;
	m->dst = dst;
	m->copy.operation = VIRTIO_PAGODA_OP_TRANSFER;
	m->steps = PAGODA_STEP_TRANSFER | PAGODA_STEP_FLUSH;
	KUNIT_ASSERT_EQ(test, 0, pagoda_move_run(m));
}

/*
 * A move fails after some of its pieces and is undone. The destination's pages may be freed once
 * the fence of the transaction has signalled: the write combiner has no more writes to these pages.
 */
static void flush_undone(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2, i;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct ttm_resource system = { .mem_type = TTM_PL_SYSTEM };
	struct pagoda_move m;
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;

	pagoda_rig_fragment(rig, odd, count);
	for (i = 0; i < 2; i++) {
		m = (struct pagoda_move) { .vidmm = rig->vidmm, .bo = flush_bo(rig, i, false) };
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(m.bo));
		KUNIT_ASSERT_EQ(test, FLUSH_PAGES, pagoda_vram_count_ranges(m.bo->ttm.resource));
		pagoda_rig_write(rig, m.bo, 5);
		dma_resv_lock(m.bo->ttm.base.resv, NULL);
		flush_begin_move(test, &m, &system);
		KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&txn, rig->vidmm, m.bo,
							     PAGODA_STREAM_WAITS_NOT,
							     m.bo->ttm.base.resv,
							     DMA_RESV_USAGE_BOOKKEEP, &m.cost));
		/* The third piece fails: the page list has only two pages. */
		m.pages.nr_pages = 2;
		m.txn = &txn;
		KUNIT_EXPECT_NE(test, 0, pagoda_move_run(&m));
		pagoda_move_undo(&m);
		fence = pagoda_stream_end(&txn);
		KUNIT_ASSERT_NOT_NULL(test, fence);
		pagoda_stream_wait_fence(rig->vidmm, fence);
		dma_fence_put(fence);
		KUNIT_EXPECT_FALSE(test, pagoda_engine_holds_writes(&rig->engine, 0));
		KUNIT_EXPECT_MEMEQ(test, page_address(m.bo->ttm.ttm->pages[1]),
				   rig->engine.vram +
				   pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, m.bo->id,
						   1)->src_address, PAGE_SIZE);
		dma_resv_unlock(m.bo->ttm.base.resv);
		pagoda_rig_settle(rig);
		KUNIT_EXPECT_EQ(test, 2, flush_count(rig, VIRTIO_PAGODA_OP_TRANSFER, m.bo));
		pagoda_rig_close(m.bo);
	}
	for (i = 0; i < count; i++)
		pagoda_rig_close(odd[i]);
}

static u64 flush_word(struct pagoda_bo *bo, u32 page, u32 word)
{
	return READ_ONCE(((u64 *)page_address(bo->ttm.ttm->pages[page]))[word]);
}

/* A job's stores to pages, cached or not, are in memory when the job's fence has signalled. */
static void flush_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_engine_page page;
	u32 i, round;

	for (i = 0; i < 2; i++) {
		struct pagoda_bo *bo = pagoda_rig_bo(rig, FLUSH_PAGES, CPU |
						     (i ? DRM_PAGODA_ALLOCATION_CACHED : 0),
						     SUBMIT_APERTURE, 0);
		const struct submit_args args = { .bos = { bo }, .nr_bos = 1 };

		KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE + i * SZ_1M));
		for (round = 1; round < 4; round++) {
			submit_store(client, HERE + i * SZ_1M + 2 * PAGE_SIZE + 16, round);
			KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
			KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
			PAGODA_PROVES(C51);
			KUNIT_EXPECT_EQ(test, round, flush_word(bo, 2, 2));
			KUNIT_EXPECT_FALSE(test, pagoda_engine_holds_writes(&rig->engine, 1));
		}
		/*
		 * Only cached pages are mapped coherent: stores to them are in memory even before
		 * the job's end.
		 */
		KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
				pagoda_engine_lookup(&rig->engine, client->vm->id,
						     HERE + i * SZ_1M, &page));
		KUNIT_EXPECT_EQ(test, !!(page.flags & VIRTIO_PAGODA_PTE_COHERENT), i);
		pagoda_rig_close(bo);
	}
	submit_client_end(client);
}

static struct kunit_case flush_cases[] = {
	KUNIT_CASE_PARAM(flush_moves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(flush_undone, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(flush_jobs, pagoda_rig_modes),
	{}
};

static struct kunit_suite flush_suite = {
	.name = "pagoda_flush",
	.test_cases = flush_cases,
};

kunit_test_suite(flush_suite);
