// SPDX-License-Identifier: GPL-2.0
/*
 * Paging on the rig: submissions that stay open or fail, the wait for all paging, allocations with
 * their places and content; see rig.h.
 */
#include <drm/drm_gem.h>
#include "../drivers/vgpu/engine/internal.h"
#include "queue/queue_helpers.h"
#include "rig.h"

void pagoda_rig_share(struct pagoda_rig *rig, bool share)
{
	struct pagoda_stream *stream = rig->vidmm->stream;

	stream->patience = share ? 100 * HZ : rig->patience;
	/* Queue submissions that are open, with the former patience, now. */
	mod_delayed_work(stream->wq, &stream->flush, 0);
	flush_delayed_work(&stream->flush);
}

void pagoda_rig_plug_shared(struct pagoda_rig *rig)
{
	pagoda_rig_share(rig, true);
	pagoda_stream_plug(rig->vidmm, &rig->plug);
}

static void rig_refuse(struct pagoda_rig *rig, u32 nth)
{
	pagoda_fake_transport_order(rig->fake, rig->fake->last_submitted + nth, PAGODA_FAKE_FAULT,
				    0, 10);
}

void pagoda_rig_refuse_next(struct pagoda_rig *rig)
{
	rig_refuse(rig, 1);
}

void pagoda_rig_refuse_copy_out(struct pagoda_rig *rig)
{
	rig_refuse(rig, rig->engine.mmu ? 2 : 1);
}

static bool rig_is_plugged(struct pagoda_rig *rig)
{
	struct pagoda_stream *stream = rig->vidmm->stream;
	bool cookie = pagoda_stream_lock(stream), plugged;

	plugged = pagoda_stream_is_plugged(stream);
	pagoda_stream_unlock(stream, cookie);
	return plugged;
}

static void rig_settle_queue(struct pagoda_rig *rig)
{
	/* Operations that free memory may still be in the open submission. */
	if (!rig_is_plugged(rig))
		pagoda_stream_flush(rig->vidmm);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_test_queue_settle(rig->vidmm->queue));
	flush_workqueue(rig->vidmm->mfences->wq);
}

void pagoda_rig_settle(struct pagoda_rig *rig)
{
	u32 i;

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	rig_settle_queue(rig);
	/*
	 * Operations that were queued during the wait may have left writes in the engine's write
	 * combiner.
	 */
	for (i = 0; i < 10 && pagoda_engine_holds_writes(&rig->engine, 0); i++)
		rig_settle_queue(rig);
	/* The caller may free memory now: the write combiner has no write to that memory. */
	KUNIT_EXPECT_FALSE(rig->test, pagoda_engine_holds_writes(&rig->engine, 0));
}

void pagoda_rig_settle_freed(struct pagoda_rig *rig)
{
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
}

void pagoda_rig_add_fence(struct kunit *test, struct dma_resv *resv, struct dma_fence *fence,
			  enum dma_resv_usage usage)
{
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, dma_resv_reserve_fences(resv, 1));
	dma_resv_add_fence(resv, fence, usage);
	dma_resv_unlock(resv);
}

void pagoda_rig_pin(struct pagoda_bo *bo, bool pin)
{
	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (pin)
		ttm_bo_pin(&bo->ttm);
	else
		ttm_bo_unpin(&bo->ttm);
	dma_resv_unlock(bo->ttm.base.resv);
}

struct pagoda_bo *pagoda_rig_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 supported,
				u32 eviction)
{
	const struct pagoda_bo_params params = {
		.size = (u64)pages << PAGE_SHIFT,
		.flags = flags,
		.supported = supported,
		.eviction = eviction,
	};
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(bo));
	return bo;
}

void pagoda_rig_close(struct pagoda_bo *bo)
{
	drm_gem_object_put(pagoda_bo_gem(bo));
}

int pagoda_rig_place(struct pagoda_bo *bo, const struct ttm_place *place, bool no_wait)
{
	struct ttm_place where = *place;
	struct ttm_placement placement = { .num_placement = 1, .placement = &where };
	struct ttm_operation_ctx ctx = { .no_wait_gpu = no_wait };
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	/*
	 * An allocation that leaves VRAM while it has unsignalled fences leaves as a victim does:
	 * the copy is queued behind jobs, and the caller doesn't wait.
	 */
	if (pagoda_bo_is_in_vram(bo) && place->mem_type != TTM_PL_VRAM &&
	    !dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		where.flags |= PAGODA_PL_PIPELINED;
	ret = ttm_bo_validate(&bo->ttm, &placement, &ctx);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

int pagoda_rig_to_vram(struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_VRAM };

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_to_system(struct pagoda_bo *bo)
{
	const struct ttm_place place = { .mem_type = TTM_PL_SYSTEM };

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_to_aperture(struct pagoda_bo *bo, bool address)
{
	const struct ttm_place place = {
		.mem_type = TTM_PL_TT,
		.lpfn = address ? PAGODA_RIG_APERTURE_PAGES : 0,
	};

	return pagoda_rig_place(bo, &place, false);
}

int pagoda_rig_make_resident(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
			     struct dma_fence **fence, u64 *trim)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_residency_make(rig->vidmm, bos, count, fence, trim);
	if (!ret)
		pagoda_residency_note(bos, count);
	pagoda_leave(rig->vidmm);
	return ret;
}

int pagoda_rig_evict(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count,
		     struct dma_fence **fence)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_residency_evict(rig->vidmm, bos, count, fence);
	pagoda_leave(rig->vidmm);
	return ret;
}

int pagoda_rig_reclaim(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count, u32 *results,
		       bool all, struct dma_fence **fence)
{
	int ret;

	pagoda_enter_anyway(rig->vidmm);
	ret = pagoda_reclaim(rig->vidmm, bos, count, results, all, fence);
	pagoda_leave(rig->vidmm);
	return ret;
}

void pagoda_rig_fragment(struct pagoda_rig *rig, struct pagoda_bo **odd, u32 count)
{
	const u32 flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE;
	const u32 vram = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
	struct pagoda_bo **even = test_calloc(rig->test, count, sizeof(*even));
	u32 i;

	for (i = 0; i < count; i++) {
		odd[i] = pagoda_rig_bo(rig, 1, flags, vram, 0);
		even[i] = pagoda_rig_bo(rig, 1, flags, vram, 0);
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(odd[i]));
		KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(even[i]));
	}
	for (i = 0; i < count; i++)
		pagoda_rig_close(even[i]);
	pagoda_rig_settle(rig);
	flush_workqueue(rig->vidmm->ttm.wq);
}

/*
 * Returns the kernel address of a page of the allocation, in VRAM or system memory; NULL if the
 * allocation has no pages.
 */
static u64 *rig_page(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 page)
{
	struct pagoda_vram_cursor cur;

	if (bo->ttm.resource->mem_type == TTM_PL_VRAM) {
		pagoda_vram_first(&cur, bo->ttm.resource, (u64)page << PAGE_SHIFT, PAGE_SIZE);
		return (u64 *)(rig->engine.vram + cur.address);
	}
	if (!bo->ttm.ttm || !ttm_tt_is_populated(bo->ttm.ttm))
		return NULL;
	return page_address(bo->ttm.ttm->pages[page]);
}

static u64 rig_word(u32 seed, u32 page, u32 word)
{
	return seed * 0x9e3779b97f4a7c15ull + ((u64)page << 32) + word;
}

static u32 rig_lock(struct pagoda_bo *bo)
{
	dma_resv_lock(bo->ttm.base.resv, NULL);
	dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false, 30 * HZ);
	return bo->ttm.base.size >> PAGE_SHIFT;
}

void pagoda_rig_write_vram(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_write(rig, bo, seed);
}

void pagoda_rig_write(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	u32 pages = rig_lock(bo);
	u32 page, word;

	for (page = 0; page < pages; page++) {
		u64 *words = rig_page(rig, bo, page);

		KUNIT_EXPECT_NOT_NULL(rig->test, words);
		for (word = 0; words && word < PAGE_SIZE / sizeof(u64); word++)
			words[word] = rig_word(seed, page, word);
		/*
		 * Tell the engine of the writes, as if a job had written: writes by the CPU are
		 * tested through mappings.
		 */
		pagoda_engine_wrote(&rig->engine, words, PAGE_SIZE);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

bool pagoda_rig_holds(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	u32 pages = rig_lock(bo);
	u32 page, word;
	bool same = true;

	for (page = 0; page < pages && same; page++) {
		u64 *words = rig_page(rig, bo, page);

		same = words;
		for (word = 0; same && word < PAGE_SIZE / sizeof(u64); word++)
			same = words[word] == rig_word(seed, page, word);
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return same;
}

bool pagoda_rig_is_zero(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u32 pages = rig_lock(bo);
	bool zero = true;
	u32 page;

	for (page = 0; page < pages && zero; page++) {
		u64 *words = rig_page(rig, bo, page);

		zero = words && !memchr_inv(words, 0, PAGE_SIZE);
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return zero;
}

bool pagoda_rig_idle(struct pagoda_bo *bo)
{
	return dma_resv_test_signaled(bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}
