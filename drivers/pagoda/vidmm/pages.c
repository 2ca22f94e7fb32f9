// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of allocations: TTM's pool, and how much is taken from the machine.
 *
 * The kernel gives away pages until there are none, then it kills the process with the most
 * memory. A client's pages aren't in the size of any process: it would be a stranger. So
 * allocations only get new pages while the machine keeps some, in memory or in swap,
 * and -ENOMEM otherwise.
 *
 * TTM swaps out one allocation at a time, by a copy to shared memory which the kernel can swap
 * out then: for a moment the allocation is there twice. What is kept includes as much as the
 * largest allocation that has pages takes, rounded up to a power of two. What comes back from
 * shared memory needs no more than it gives back, and may use what is kept.
 *
 * Nothing is reserved: between the look and the allocation others may take the pages. The
 * margin is for that, and the allocator is told to fail rather than to kill.
 */
#include <kunit/static_stub.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_pool.h>
#include "vidmm.h"

/* The part of memory that is left to others, as a shift. */
#define PAGES_MARGIN	4

/* What the kernel could find without killing a process; in pages. */
static long pages_available(void)
{
	return si_mem_available() + pagoda_pool_reclaimable() + get_nr_swap_pages();
}

static atomic_t *pages_of_size(struct pagoda_vidmm *vidmm, const struct ttm_tt *tt)
{
	return &vidmm->nr_populated[order_base_2(tt->num_pages)];
}

/* No allocation that has pages has more than these. */
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

/* What was swapped out is memory that is in use already. */
static bool pages_may_grow(struct pagoda_vidmm *vidmm, const struct ttm_tt *tt)
{
	long available = pages_available();
	long kept = pages_kept(vidmm);

	if (tt->page_flags & TTM_TT_FLAG_SWAPPED || available >= kept + (long)tt->num_pages)
		return true;
	drm_dbg_driver(vidmm->drm, "%u pages can't be had: %ld of %ld are kept\n", tt->num_pages,
		       kept, available);
	return false;
}

/**
 * pagoda_pages_alloc() - Get pages for an allocation
 * @vidmm: The manager
 * @tt: Without pages; gets all of them
 * @ctx: Whether waits may be interrupted, or happen at all
 *
 * Context: May sleep and allocate; the allocation's reservation is held.
 * Return: 0, -ENOMEM, -EINTR or -ERESTARTSYS; then nothing has changed.
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
 * TTM keeps pages that aren't cached by the CPU for the next allocation of that kind, and a
 * kernel that doesn't count them takes them for used. A pool that only lives for this call
 * gives them back.
 */
static bool pages_free_to_system(struct pagoda_vidmm *vidmm, struct ttm_tt *tt)
{
	struct ttm_pool *pool;

	/* The DMA API's go back to it. */
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
 * pagoda_pages_free() - Give pages of an allocation back
 * @vidmm: The manager
 * @tt: With pages, which nobody uses any more
 *
 * Where less than half of memory could still be had, they are everybody's at once.
 *
 * Context: May sleep.
 */
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt)
{
	bool plenty = pages_available() >= (long)totalram_pages() / 2;

	atomic_dec(pages_of_size(vidmm, tt));
	if (plenty || tt->caching == ttm_cached || !pages_free_to_system(vidmm, tt))
		ttm_pool_free(&vidmm->ttm.pool, tt);
}
