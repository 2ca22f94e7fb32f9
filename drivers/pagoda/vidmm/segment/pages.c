// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of allocations: allocated from TTM's pool if enough memory is left for the rest of the
 * machine; freed to the pool or to the kernel.
 *
 * When the kernel has no pages left, the OOM killer ends the process with the most memory. The
 * pages of allocations don't count for any process, so an unrelated process would be ended.
 * Therefore an allocation only gets new pages if enough memory, RAM or swap, remains available;
 * else its client gets -ENOMEM.
 *
 * TTM swaps out an allocation by a copy to shared memory, which the kernel can then swap out:
 * for a moment the allocation exists twice. So the memory that must remain includes the size of
 * the largest allocation that has pages, rounded up to a power of two. Swapping an allocation
 * in frees as much shared memory as it takes, and may use the memory that must remain. That memory
 * suffices for a single allocation at a time, so while memory is short pagoda_pages_populate()
 * populates allocations one after the other. But an allocation that moves to the aperture segment
 * is populated by TTM itself, also while another thread populates an allocation.
 *
 * No memory is reserved: between check and allocation the rest of the machine may take pages. The
 * memory that must remain allows for that, and the page allocator is told to fail rather than to
 * invoke the OOM killer.
 */
#include <kunit/static_stub.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_pool.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "internal.h"
#include "segment.h"

/* Part of the machine's RAM that must remain available, as a shift of its pages: a 16th. */
#define PAGES_MARGIN	4

/* Held by the one thread in pagoda_pages_populate() that populates while memory is short. */
static DEFINE_MUTEX(pages_turn);

/* Returns the number of pages, of RAM and swap, that the kernel can find without the OOM killer. */
long pagoda_pages_available(void)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_pages_available);
	return si_mem_available() + pagoda_pool_reclaimable() + get_nr_swap_pages();
}

static atomic_t *pages_of_size(struct pagoda_vidmm *vidmm, const struct ttm_tt *tt)
{
	return &vidmm->nr_populated[order_base_2(tt->num_pages)];
}

/*
 * Returns the size in pages, rounded up to a power of two, of the largest allocation that has
 * pages; 0 if none has.
 */
static long pages_largest(struct pagoda_vidmm *vidmm)
{
	int order;

	for (order = PAGODA_TT_ORDERS - 1; order >= 0; order--)
		if (atomic_read(&vidmm->nr_populated[order]))
			return 1l << order;
	return 0;
}

static long pages_kept(struct pagoda_vidmm *vidmm)
{
	return (totalram_pages() >> PAGES_MARGIN) + pages_largest(vidmm);
}

/*
 * Returns whether enough memory would remain if @tt got its pages; true in any case if its content
 * is swapped out to shared memory.
 */
static bool pages_may_grow(struct pagoda_vidmm *vidmm, const struct ttm_tt *tt)
{
	long available = pagoda_pages_available();
	long kept = pages_kept(vidmm);

	if (tt->page_flags & TTM_TT_FLAG_SWAPPED || available >= kept + (long)tt->num_pages)
		return true;
	drm_dbg_driver(vidmm->drm, "%u pages can't be had: %ld of %ld are kept\n", tt->num_pages,
		       kept, available);
	return false;
}

/*
 * Allocates all pages of @tt; the reservation is held. Returns 0; -ENOMEM, also if too little
 * memory would remain available; -EINTR or -ERESTARTSYS; on failure nothing has changed.
 */
int pagoda_pages_alloc(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		       const struct ttm_operation_ctx *ctx)
{
	struct ttm_operation_ctx mine = *ctx;
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_pages_alloc, vidmm, tt, ctx);
	if (!pages_may_grow(vidmm, tt))
		return -ENOMEM;
	mine.gfp_retry_mayfail = true;
	ret = ttm_pool_alloc(&vidmm->ttm.pool, tt, &mine);
	if (!ret)
		atomic_inc(pages_of_size(vidmm, tt));
	return ret;
}

/*
 * Gives uncached or write-combined pages back to the kernel, through a pool that only exists
 * during this call: TTM's pool would keep the pages, and some kernels count pooled pages as used.
 * Returns false, and frees nothing, on kernels that tell the number of pooled pages
 * (pagoda_pool_reclaimable()), for pages of the DMA API, and without memory for the private pool;
 * the caller then has to free the pages to TTM's pool.
 */
static bool pages_free_to_system(struct pagoda_vidmm *vidmm, struct ttm_tt *tt)
{
	struct ttm_pool *pool;

	/*
	 * If the device reaches only a part of memory, the pages came from the DMA API, and must go
	 * back to the DMA API.
	 */
	if (vidmm->reaches_part)
		return false;
	pool = kzalloc(sizeof(*pool), GFP_KERNEL | __GFP_NOWARN);
	if (!pool || !pagoda_pool_init_private(pool, vidmm->ttm.pool.dev)) {
		kfree(pool);
		return false;
	}
	ttm_pool_free(pool, tt);
	ttm_pool_fini(pool);
	kfree(pool);
	return true;
}

/**
 * pagoda_pages_populate() - Give an allocation its pages, or swap it in
 * @bo: Allocation, reservation held
 * @ctx: TTM's context; if interruptible, a signal ends the wait for another thread that populates
 *	an allocation
 *
 * While memory is short, threads that call this function take turns.
 *
 * Context: May sleep and allocate, and swap other allocations out.
 * Return: 0, also if there is nothing to do; -ENOMEM, -EINTR or -ERESTARTSYS.
 */
int pagoda_pages_populate(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct ttm_tt *tt = bo->ttm.ttm;
	int ret;

	if (!tt || ttm_tt_is_populated(tt) || pagoda_pages_available() >= 2 * pages_kept(bo->vidmm))
		return ttm_bo_populate(&bo->ttm, ctx);
	/* Memory is short: a single thread populates at a time. */
	if (!ctx->interruptible)
		mutex_lock(&pages_turn);
	else if (mutex_lock_interruptible(&pages_turn))
		return -ERESTARTSYS;
	ret = ttm_bo_populate(&bo->ttm, ctx);
	mutex_unlock(&pages_turn);
	return ret;
}

/**
 * pagoda_pages_free() - Free the pages of an allocation
 * @vidmm: Memory manager
 * @tt: Page array; its pages have no users any more
 *
 * While the available RAM and swap are less than half of all RAM, uncached and write-combined pages
 * go back to the kernel, if pages_free_to_system() can do that. All other pages go to TTM's pool,
 * which may give them to the kernel.
 *
 * Context: May sleep.
 */
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt)
{
	bool plenty = pagoda_pages_available() >= (long)totalram_pages() / 2;

	atomic_dec(pages_of_size(vidmm, tt));
	if (plenty || tt->caching == ttm_cached || !pages_free_to_system(vidmm, tt))
		ttm_pool_free(&vidmm->ttm.pool, tt);
}
