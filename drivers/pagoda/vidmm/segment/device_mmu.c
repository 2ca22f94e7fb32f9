// SPDX-License-Identifier: GPL-2.0
/*
 * Device-MMU mode: the device translates addresses of system memory itself.
 *
 * The device is then only given device addresses of system memory, valid from MAP_MMU to
 * UNMAP_MMU. A range of device addresses is contiguous even if its pages are scattered, so an
 * operation names a first address and a length instead of a page list.
 *
 *	pages of an allocation	MAP_MMU is emitted when TTM populates the tt, before any
 *				operation that uses the pages, and isn't waited for; UNMAP_MMU
 *				is emitted when TTM unpopulates the tt (swap-out, move to VRAM,
 *				free), and waited for: no page is freed that the device still
 *				reaches (C62, C121)
 *	pages of the driver	MAP_MMU and UNMAP_MMU are both waited for, because page tables
 *				may be walked for jobs that don't wait for paging operations
 *
 * A range of device addresses is freed when its UNMAP_MMU was executed. If UNMAP_MMU fails, pages
 * and range are kept until the device is gone or was reset. Page 0 of the device addresses is never
 * given out.
 *
 * A device without an MMU takes bus addresses, and the functions here map and unmap nothing, but
 * still allocate and free pages of allocations and of the driver.
 */
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/dma-mapping.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/info.h"
#include "core/life.h"
#include "paging/paging.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "segment.h"

/*
 * Most tries of an UNMAP_MMU: a try also fails if another operation in the same paging buffer
 * fails.
 */
#define UNMAP_TRIES	2
/*
 * Most waits of one tt_insert() for device addresses, which TTM frees a little after the moves that
 * used the addresses have ended.
 */
#define ROOM_TRIES	50

static bool mmu_is_used(const struct pagoda_vidmm *vidmm)
{
	return vidmm->info->mmu_pages;
}

/*
 * Returns the alignment, in pages, that lets the device map a range by large pages: 2 MiB for a
 * range of at least 2 MiB, 64 KiB for one of at least 64 KiB, else 1 page.
 */
static u64 mmu_alignment(u64 nr_pages)
{
	if (nr_pages >= SZ_2M >> PAGE_SHIFT)
		return SZ_2M >> PAGE_SHIFT;
	return nr_pages >= SZ_64K >> PAGE_SHIFT ? SZ_64K >> PAGE_SHIFT : 1;
}

static int mmu_insert(struct pagoda_vidmm *vidmm, struct drm_mm_node *node, u64 nr_pages,
		      u64 align)
{
	struct pagoda_device_mmu *mmu = vidmm->device_mmu;
	int ret;

	mutex_lock(&mmu->lock);
	ret = drm_mm_insert_node_generic(&mmu->mm, node, nr_pages, align, 0, DRM_MM_INSERT_BEST);
	mutex_unlock(&mmu->lock);
	return ret;
}

static void mmu_remove(struct pagoda_vidmm *vidmm, struct drm_mm_node *node)
{
	mutex_lock(&vidmm->device_mmu->lock);
	drm_mm_remove_node(node);
	mutex_unlock(&vidmm->device_mmu->lock);
}

/*
 * Returns whether the device is gone or never executes anything again; true also before
 * pagoda_device_mmu_start().
 */
bool pagoda_device_mmu_is_gone(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->device_mmu->gone);
}

static struct pagoda_paging_op mmu_op(u32 operation, u64 allocation,
				      const struct drm_mm_node *node)
{
	return (struct pagoda_paging_op) {
		.operation = operation,
		.allocation = allocation,
		.map_mmu = {
			.address = node->start << PAGE_SHIFT,
			.nr_pages = node->size,
		},
	};
}

/*
 * Emits @op, also without memory, and waits until @op has ended. Returns 0; or the error of @op or
 * of another operation in its paging buffer.
 */
static int mmu_emit_must(struct pagoda_vidmm *vidmm, struct pagoda_paging_op *op)
{
	struct pagoda_paging_cost cost = pagoda_stream_cost(vidmm, op);
	struct pagoda_stream_txn txn;
	int ret, done;

	pagoda_stream_begin_must(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
	ret = pagoda_stream_emit(&txn, op);
	done = pagoda_stream_end_wait(&txn);
	return ret ?: done;
}

/*
 * Returns whether the device has lost the mappings that it got in reset epoch @epoch: the device is
 * gone, or was reset since.
 */
static bool mmu_is_past(struct pagoda_vidmm *vidmm, u64 epoch)
{
	return pagoda_device_mmu_is_gone(vidmm) || epoch != pagoda_reset_epoch(vidmm);
}

/*
 * Unmaps a range of device addresses that was mapped in reset epoch @epoch, and waits until the
 * device has done so. Returns 0 if the device can't use the range any more (C121), also because the
 * device is gone or was reset; or the error with which UNMAP_MMU failed.
 */
static int mmu_unmap(struct pagoda_vidmm *vidmm, u64 allocation, const struct drm_mm_node *node,
		     u64 epoch)
{
	struct pagoda_paging_op op = mmu_op(VIRTIO_PAGODA_OP_UNMAP_MMU, allocation, node);
	int tries, ret = -EIO;

	for (tries = 0; tries < UNMAP_TRIES && ret && !mmu_is_past(vidmm, epoch); tries++)
		ret = mmu_emit_must(vidmm, &op);
	return mmu_is_past(vidmm, epoch) ? 0 : ret;
}

/* ---- Pages of allocations -------------------------------------------------- */

/*
 * If the allocation was created with NOTIFY_IOMMU_UNMAP, tells the device by NOTIFY_ALLOC that the
 * pages will lose their device addresses, and waits until NOTIFY_ALLOC has ended: so all paging of
 * the pages is finished before they lose the addresses (C121). NOTIFY_ALLOC has a transaction of
 * its own (C118), and names no process, because the MMU serves all processes. Its failure is
 * ignored.
 */
static void mmu_notify(struct pagoda_vidmm *vidmm, const struct pagoda_tt *tt)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
		.allocation = tt->allocation,
		.notify_alloc = {
			.size = (u64)tt->base.num_pages << PAGE_SHIFT,
			.flags = VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP,
		},
	};

	if (tt->notify && !pagoda_device_mmu_is_gone(vidmm))
		mmu_emit_must(vidmm, &op);
}

static int tt_map(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt)
{
	struct pagoda_paging_op op = mmu_op(VIRTIO_PAGODA_OP_MAP_MMU, tt->allocation, &tt->node);
	const struct pagoda_adl pages = {
		.nr_pages = tt->base.num_pages,
		.pages = tt->base.dma_address,
		.cpu_pages = tt->base.pages,
	};
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	int ret;

	if (pagoda_device_mmu_is_gone(vidmm))
		return 0;
	op.map_mmu.adl = &pages;
	cost = pagoda_stream_cost(vidmm, &op);
	ret = pagoda_stream_begin(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, 0, &cost);
	if (ret)
		return ret;
	/* The stream's lock is held: no restart can come between these values and MAP_MMU. */
	tt->epoch = pagoda_reset_epoch(vidmm);
	tt->restarts = pagoda_stream_restarts(vidmm);
	ret = pagoda_stream_emit(&txn, &op);
	dma_fence_put(tt->mapped);
	tt->mapped = pagoda_stream_end(&txn);
	return ret;
}

/*
 * Allocates device addresses for @tt. If no free range is large enough, other allocations are
 * swapped out, as TTM does when it has no pages. If none can be swapped out and @ctx allows waits,
 * waits until moves have ended and TTM has freed their device addresses. Returns 0, -ENOMEM, -EINTR
 * or -ERESTARTSYS.
 */
static int tt_insert(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt,
		     struct ttm_operation_ctx *ctx)
{
	u64 nr_pages = tt->base.num_pages;
	u32 tries = ROOM_TRIES;
	int ret;

	if (nr_pages >= vidmm->info->mmu_pages)
		return -ENOMEM;
	for (;;) {
		ret = mmu_insert(vidmm, &tt->node, nr_pages, mmu_alignment(nr_pages));
		if (ret == -ENOSPC)
			ret = mmu_insert(vidmm, &tt->node, nr_pages, 0);
		if (ret != -ENOSPC)
			return ret;
		ret = ttm_device_swapout(&vidmm->ttm, ctx, GFP_KERNEL);
		if (ret < 0)
			return ret;
		if (!ret && (ctx->no_wait_gpu || !tries--))
			return -ENOMEM;
		if (ret && ctx->interruptible && signal_pending(current))
			return -ERESTARTSYS;
		if (ret)
			continue;
		/* TTM's worker, which needs no lock held here, frees ranges of finished moves. */
		pagoda_stream_wait_idle(vidmm, HZ);
		fsleep(2 * USEC_PER_MSEC);
	}
}

/**
 * pagoda_device_mmu_map() - Map pages of an imported allocation for the device
 * @vidmm: Memory manager
 * @tt: Page array with its bus addresses filled in
 * @ctx: Says whether signals end waits, and whether waits are allowed at all
 *
 * Emits MAP_MMU and doesn't wait for it.
 *
 * Context: May sleep and allocate; the allocation's reservation is held.
 * Return: 0, also without a device MMU; -ENOMEM, also if only a wait would help and @ctx forbids
 * waits; -EINTR or -ERESTARTSYS. On failure @tt is as before.
 */
int pagoda_device_mmu_map(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt,
			  struct ttm_operation_ctx *ctx)
{
	int ret;

	if (!mmu_is_used(vidmm))
		return 0;
	ret = tt_insert(vidmm, tt, ctx);
	if (ret)
		return ret;
	ret = tt_map(vidmm, tt);
	if (ret)
		mmu_remove(vidmm, &tt->node);
	return ret;
}

/**
 * pagoda_device_mmu_populate() - Populate a tt, for ttm_device_funcs.ttm_tt_populate
 * @bdev: TTM's device
 * @ttm: Page array; gets pages and device addresses, unless it is that of an imported
 *	allocation, for which pagoda_device_mmu_map() is called later
 * @ctx: Says whether signals end waits, and whether waits are allowed at all
 *
 * Context: May sleep and allocate; the allocation's reservation is held.
 * Return: 0; -ENOMEM, also if only a wait would help and @ctx forbids waits; -EINTR or
 * -ERESTARTSYS. On failure @ttm is as before.
 */
int pagoda_device_mmu_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
			       struct ttm_operation_ctx *ctx)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);
	struct pagoda_tt *tt = pagoda_tt_of(ttm);
	int ret;

	if (ttm->page_flags & TTM_TT_FLAG_EXTERNAL)
		return 0;
	if (!mmu_is_used(vidmm))
		return pagoda_pages_alloc(vidmm, ttm, ctx);
	ret = tt_insert(vidmm, tt, ctx);
	if (ret)
		return ret;
	ret = pagoda_pages_alloc(vidmm, ttm, ctx);
	if (ret)
		goto err_node;
	ret = tt_map(vidmm, tt);
	if (!ret)
		return 0;
	pagoda_pages_free(vidmm, ttm);
err_node:
	mmu_remove(vidmm, &tt->node);
	return ret;
}

/**
 * pagoda_device_mmu_is_stale() - Whether the stream was restarted after an allocation's MAP_MMU
 * @vidmm: Memory manager
 * @ttm: Pages of an allocation, or NULL; the allocation's reservation is held
 *
 * A MAP_MMU that was emitted before the restart was given up, or the device forgot it in the reset.
 * Operations that use the pages and are emitted between a reset and the restart are given up, so
 * this function needn't return true before the restart.
 *
 * Context: Any; while the stream's lock is held, the stream isn't restarted.
 * Return: true if pagoda_device_mmu_repair() has to map the pages; false also if the pages aren't
 * mapped for the device at all.
 */
bool pagoda_device_mmu_is_stale(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm)
{
	if (!mmu_is_used(vidmm) || pagoda_device_mmu_is_gone(vidmm) || !ttm ||
	    !ttm_tt_is_populated(ttm) || !pagoda_tt_of(ttm)->mapped)
		return false;
	return pagoda_tt_of(ttm)->restarts != pagoda_stream_restarts(vidmm);
}

/**
 * pagoda_device_mmu_repair() - Map pages again if the device doesn't reach them
 * @vidmm: Memory manager
 * @ttm: Populated pages of an allocation, or NULL; the allocation's reservation is held
 *
 * Called before a use of the pages: emits another MAP_MMU if the last MAP_MMU failed or was given
 * up, or if the device forgot it in a reset.
 *
 * Context: May sleep and allocate; doesn't wait for the device.
 * Return: 0 or -ENOMEM.
 */
int pagoda_device_mmu_repair(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm)
{
	struct pagoda_tt *tt;

	if (!mmu_is_used(vidmm) || !ttm || !ttm_tt_is_populated(ttm))
		return 0;
	tt = pagoda_tt_of(ttm);
	if (!tt->mapped || (dma_fence_get_status(tt->mapped) >= 0 &&
			    !pagoda_device_mmu_is_stale(vidmm, ttm)))
		return 0;
	return tt_map(vidmm, tt);
}

/**
 * pagoda_device_mmu_remap() - Map pages again, because the device forgot their mapping in a reset
 * @vidmm: Memory manager
 * @ttm: Pages of an allocation, or NULL; the allocation's reservation is held. Pages that have no
 *	device addresses are left alone
 *
 * Unlike pagoda_device_mmu_repair(), emits MAP_MMU in any case: called by the rebuild.
 *
 * Context: May sleep and allocate; doesn't wait for the device.
 * Return: 0 or -ENOMEM.
 */
int pagoda_device_mmu_remap(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm)
{
	if (!mmu_is_used(vidmm) || !ttm || !ttm_tt_is_populated(ttm) ||
	    !drm_mm_node_allocated(&pagoda_tt_of(ttm)->node))
		return 0;
	return tt_map(vidmm, pagoda_tt_of(ttm));
}

#define KEEP_GFP	(GFP_KERNEL_ACCOUNT | __GFP_NOFAIL)

/*
 * Frees the arrays &ttm_tt.pages and &ttm_tt.dma_address, which share the memory of a kvcalloc():
 * that begins with @pages or, if @pages is NULL, with @dma_address.
 */
static void tt_free_arrays(struct ttm_tt *tt)
{
	if (tt->pages)
		kvfree(tt->pages);
	else
		kvfree(tt->dma_address);
}

/*
 * Moves pages that the device may still reach, and their device addresses, from @tt to a copy of
 * @tt in pagoda_device_mmu.kept, until the device is gone or was reset; @tt gets new arrays of
 * zeros. Allocates with __GFP_NOFAIL: after a failure, device addresses at which the device still
 * reaches these pages would be given to other pages.
 */
static void tt_abandon(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt)
{
	struct pagoda_device_mmu *mmu = vidmm->device_mmu;
	struct pagoda_tt *kept = kmemdup(tt, sizeof(*tt), KEEP_GFP);
	struct ttm_tt *ttm = &tt->base;
	void *arrays = kvcalloc(ttm->num_pages, sizeof(*ttm->dma_address) +
				(ttm->pages ? sizeof(*ttm->pages) : 0), KEEP_GFP);

	drm_err(vidmm->drm, "the device keeps %u pages of allocation %llu\n", tt->base.num_pages,
		tt->allocation);
	mutex_lock(&mmu->lock);
	drm_mm_remove_node(&tt->node);
	kept->node = (struct drm_mm_node) {
		.start = tt->node.start,
		.size = tt->base.num_pages,
	};
	WARN_ON(drm_mm_reserve_node(&mmu->mm, &kept->node));
	list_add(&kept->kept, &mmu->kept);
	mutex_unlock(&mmu->lock);
	if (ttm->pages) {
		ttm->pages = arrays;
		arrays = ttm->pages + ttm->num_pages;
	}
	ttm->dma_address = arrays;
}

/**
 * pagoda_device_mmu_unmap() - Unmap pages from the device
 * @vidmm: Memory manager
 * @tt: Pages that no operation of the device uses any more
 *
 * Frees the device addresses of the pages, too, unless UNMAP_MMU failed.
 *
 * Context: May sleep for long: waits for the device.
 * Return: true if the caller may free the pages; false if UNMAP_MMU failed: the pages, which the
 * device may still reach, were taken out of @tt and are kept.
 */
bool pagoda_device_mmu_unmap(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt)
{
	int ret;

	if (!mmu_is_used(vidmm))
		return true;
	mmu_notify(vidmm, tt);
	ret = mmu_unmap(vidmm, tt->allocation, &tt->node, tt->epoch);
	dma_fence_put(tt->mapped);
	tt->mapped = NULL;
	if (ret)
		tt_abandon(vidmm, tt);
	else
		mmu_remove(vidmm, &tt->node);
	return !ret;
}

/**
 * pagoda_device_mmu_unpopulate() - ttm_device_funcs.ttm_tt_unpopulate
 * @bdev: TTM's device
 * @ttm: Pages that no work of this device uses any more. Pages that are pinned for other devices
 *	are freed with @ttm, not here (&pagoda_tt.left); imported pages are left alone
 *
 * The allocation may be gone already: only @ttm is used.
 *
 * Context: May sleep for long: waits until the device has invalidated its mappings of the pages.
 * Also on TTM's work queue.
 */
void pagoda_device_mmu_unpopulate(struct ttm_device *bdev, struct ttm_tt *ttm)
{
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(bdev);
	struct pagoda_tt *tt = pagoda_tt_of(ttm);

	if (ttm->page_flags & TTM_TT_FLAG_EXTERNAL || !pagoda_device_mmu_unmap(vidmm, tt))
		return;
	tt->left = READ_ONCE(tt->pinned);
	if (!tt->left)
		pagoda_pages_free(vidmm, ttm);
}

/* ---- Pages of the driver -------------------------------------------------- */

/**
 * pagoda_sysmem_reserve() - Allocate device addresses for pages of the driver
 * @vidmm: Memory manager
 * @mem: Filled in; the pages aren't mapped yet
 * @dma: Bus address of the first page; the pages are consecutive
 * @nr_pages: Number of pages, a power of two
 *
 * Without a device MMU, the device is given bus addresses, and nothing is allocated.
 *
 * Context: May sleep.
 * Return: 0, or -ENOSPC without free device addresses.
 */
int pagoda_sysmem_reserve(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			  dma_addr_t dma, u32 nr_pages)
{
	int ret;

	*mem = (struct pagoda_sysmem) { .address = dma, .dma = dma, .nr_pages = nr_pages };
	INIT_LIST_HEAD(&mem->link);
	if (!mmu_is_used(vidmm))
		return 0;
	ret = mmu_insert(vidmm, &mem->node, nr_pages, nr_pages);
	if (!ret)
		mem->address = mem->node.start << PAGE_SHIFT;
	return ret;
}

/*
 * Returns the MAP_MMU that maps pages of the driver at their device addresses. Fills @adl, the page
 * list, to which the operation has a pointer.
 */
static struct pagoda_paging_op sysmem_op(const struct pagoda_sysmem *mem, struct pagoda_adl *adl)
{
	struct pagoda_paging_op op = mmu_op(VIRTIO_PAGODA_OP_MAP_MMU, 0, &mem->node);

	*adl = (struct pagoda_adl) {
		.nr_pages = mem->nr_pages,
		.contiguous = true,
		.base = mem->dma,
		.cpu_pages = mem->pages,
	};
	op.map_mmu.adl = adl;
	return op;
}

/**
 * pagoda_sysmem_map() - Map pages of the driver for the device
 * @vidmm: Memory manager; its stream works
 * @mem: Filled in by pagoda_sysmem_reserve()
 * @pages: Array of the pages for the CPU executor; must stay valid until the pages are released
 *
 * If the device was reset during the call and isn't rebuilt yet, 0 is returned: the rebuild maps
 * the pages.
 *
 * Context: May sleep; waits for the device.
 * Return: 0, also without a device MMU; or the error of MAP_MMU: then, too, the pages have to be
 * released with pagoda_sysmem_release().
 */
int pagoda_sysmem_map(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
		      struct page *const *pages)
{
	struct pagoda_paging_op op;
	struct pagoda_adl adl;
	int ret;

	if (!mmu_is_used(vidmm) || pagoda_device_mmu_is_gone(vidmm))
		return 0;
	mem->pages = pages;
	mem->epoch = pagoda_reset_epoch(vidmm);
	mutex_lock(&vidmm->device_mmu->lock);
	list_add_tail(&mem->link, &vidmm->device_mmu->own);
	mutex_unlock(&vidmm->device_mmu->lock);
	op = sysmem_op(mem, &adl);
	ret = mmu_emit_must(vidmm, &op);
	return pagoda_reset_is_pending(vidmm) ? 0 : ret;
}

/**
 * pagoda_device_mmu_own_cost() - Upper bound of the cost of pagoda_device_mmu_remap_own()
 * @vidmm: Memory manager
 *
 * Context: May sleep. No other thread maps pages of the driver until pagoda_device_mmu_remap_own()
 * has emitted the operations.
 * Return: The sum of the costs of MAP_MMU of all mapped pages of the driver.
 */
struct pagoda_paging_cost pagoda_device_mmu_own_cost(struct pagoda_vidmm *vidmm)
{
	struct pagoda_paging_cost sum = {};
	struct pagoda_sysmem *mem;

	mutex_lock(&vidmm->device_mmu->lock);
	list_for_each_entry(mem, &vidmm->device_mmu->own, link) {
		struct pagoda_adl adl;
		struct pagoda_paging_op op = sysmem_op(mem, &adl);

		pagoda_cost_add(&sum, pagoda_stream_cost(vidmm, &op), 1);
	}
	mutex_unlock(&vidmm->device_mmu->lock);
	return sum;
}

/**
 * pagoda_device_mmu_remap_own() - Emit MAP_MMU of the driver's pages for a device that was reset
 * @vidmm: Memory manager
 * @txn: Transaction begun with pagoda_device_mmu_own_cost()
 *
 * The fence page, which each paging buffer writes at its end, is mapped first, as it was at
 * probe.
 *
 * Context: Between begin and end of @txn.
 */
void pagoda_device_mmu_remap_own(struct pagoda_vidmm *vidmm, struct pagoda_stream_txn *txn)
{
	struct pagoda_sysmem *mem;

	mutex_lock(&vidmm->device_mmu->lock);
	list_for_each_entry(mem, &vidmm->device_mmu->own, link) {
		struct pagoda_adl adl;
		struct pagoda_paging_op op = sysmem_op(mem, &adl);

		mem->epoch = pagoda_reset_epoch(vidmm);
		pagoda_stream_emit_valid(txn, &op);
	}
	mutex_unlock(&vidmm->device_mmu->lock);
}

/*
 * Keeps pages in &pagoda_device_mmu.kept_own until the device is gone or was reset. Returns false,
 * and keeps nothing, if the device is gone or was reset already.
 */
static bool sysmem_keep(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem)
{
	struct pagoda_device_mmu *mmu = vidmm->device_mmu;
	bool keep;

	/*
	 * drop_kept_own() takes the lock after a reset: either drop_kept_own() finds @mem, or the
	 * reset is noticed here.
	 */
	mutex_lock(&mmu->lock);
	keep = !mmu_is_past(vidmm, mem->epoch);
	if (keep)
		list_add(&mem->link, &mmu->kept_own);
	mutex_unlock(&mmu->lock);
	if (keep)
		drm_err(vidmm->drm, "the device keeps %u pages of the driver\n", mem->nr_pages);
	return keep;
}

/**
 * pagoda_sysmem_release() - Unmap pages of the driver; free their device addresses and the pages
 * @vidmm: Memory manager
 * @mem: From pagoda_sysmem_reserve(), mapped or not
 * @free: Frees the pages of @mem, and @mem unless it is part of another struct. Called at once or,
 *	if UNMAP_MMU failed, when the device is gone or was reset
 *
 * Context: May sleep; waits for the device.
 */
void pagoda_sysmem_release(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			   void (*free)(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem))
{
	int ret;

	mem->free = free;
	if (drm_mm_node_allocated(&mem->node)) {
		/* A rebuild doesn't map the pages again from here on. */
		mutex_lock(&vidmm->device_mmu->lock);
		list_del_init(&mem->link);
		mutex_unlock(&vidmm->device_mmu->lock);
		ret = mmu_unmap(vidmm, 0, &mem->node, mem->epoch);
		if (ret && sysmem_keep(vidmm, mem))
			return;
		mmu_remove(vidmm, &mem->node);
	}
	free(vidmm, mem);
}

/**
 * pagoda_sysmem_alloc() - Allocate a page of the driver and a device address
 * @vidmm: Memory manager
 * @mem: Filled in; the page is zeroed, and has to be mapped by pagoda_sysmem_map()
 *
 * Context: May sleep.
 * Return: 0, -ENOMEM, or -ENOSPC without free device addresses.
 */
int pagoda_sysmem_alloc(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem)
{
	struct page *page;
	dma_addr_t dma;
	int ret;

	/* The DMA API zeroes these pages and uses no bounce buffer for them. */
	page = dma_alloc_pages(vidmm->info->dma_dev, PAGE_SIZE, &dma, DMA_BIDIRECTIONAL,
			       GFP_KERNEL);
	if (!page)
		return -ENOMEM;
	ret = pagoda_sysmem_reserve(vidmm, mem, dma, 1);
	mem->page = page;
	if (ret)
		pagoda_sysmem_free_page(vidmm, mem);
	return ret;
}

/* Frees the page that pagoda_sysmem_alloc() allocated; for @free of pagoda_sysmem_release(). */
void pagoda_sysmem_free_page(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem)
{
	dma_free_pages(vidmm->info->dma_dev, PAGE_SIZE, mem->page, mem->dma, DMA_BIDIRECTIONAL);
}

/* ---- Init and fini --------------------------------------------------------- */

/* Sets up the allocator of device addresses. Probe; may sleep. Returns 0 or -ENOMEM. */
int pagoda_device_mmu_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_device_mmu *mmu;

	mmu = drmm_kzalloc(vidmm->drm, sizeof(*mmu), GFP_KERNEL);
	if (!mmu)
		return -ENOMEM;
	vidmm->device_mmu = mmu;
	mmu->gone = true;
	mutex_init(&mmu->lock);
	INIT_LIST_HEAD(&mmu->own);
	INIT_LIST_HEAD(&mmu->kept);
	INIT_LIST_HEAD(&mmu->kept_own);
	if (mmu_is_used(vidmm))
		drm_mm_init(&mmu->mm, 1, vidmm->info->mmu_pages - 1);
	return 0;
}

static void drop_kept_own(struct pagoda_vidmm *vidmm)
{
	struct pagoda_device_mmu *mmu = vidmm->device_mmu;
	struct pagoda_sysmem *mem, *next;
	LIST_HEAD(kept);

	mutex_lock(&mmu->lock);
	list_for_each_entry_safe(mem, next, &mmu->kept_own, link) {
		if (!mmu_is_past(vidmm, mem->epoch))
			continue;
		list_move(&mem->link, &kept);
		drm_mm_remove_node(&mem->node);
	}
	mutex_unlock(&mmu->lock);
	list_for_each_entry_safe(mem, next, &kept, link)
		mem->free(vidmm, mem);
}

/**
 * pagoda_device_mmu_drop_kept() - Free kept pages that the device doesn't reach any more
 * @vidmm: Memory manager; its device is gone, or was reset and forgot its mappings
 *
 * Context: May sleep.
 */
void pagoda_device_mmu_drop_kept(struct pagoda_vidmm *vidmm)
{
	struct pagoda_device_mmu *mmu = vidmm->device_mmu;
	struct pagoda_tt *tt, *next;
	LIST_HEAD(kept);

	mutex_lock(&mmu->lock);
	list_for_each_entry_safe(tt, next, &mmu->kept, kept) {
		if (!mmu_is_past(vidmm, tt->epoch))
			continue;
		list_move(&tt->kept, &kept);
		drm_mm_remove_node(&tt->node);
	}
	mutex_unlock(&mmu->lock);
	list_for_each_entry_safe(tt, next, &kept, kept) {
		if (tt->import)
			tt->release_import(tt);
		else
			pagoda_pages_free(vidmm, &tt->base);
		tt_free_arrays(&tt->base);
		kfree(tt);
	}
	drop_kept_own(vidmm);
}

/**
 * pagoda_device_mmu_start() - Begin to map and unmap pages, because the stream works
 * @vidmm: Memory manager
 *
 * Until this call pages are freed without UNMAP_MMU, for which there is no stream.
 *
 * Context: Probe; no page is mapped.
 */
void pagoda_device_mmu_start(struct pagoda_vidmm *vidmm)
{
	WRITE_ONCE(vidmm->device_mmu->gone, false);
}

/**
 * pagoda_device_mmu_stop() - Stop mapping and unmapping pages, because the device uses none again
 * @vidmm: Memory manager; its device is gone or never executes anything again
 *
 * From now on no MAP_MMU is emitted, and pages are freed without UNMAP_MMU; pages that were kept
 * because UNMAP_MMU failed are freed here.
 *
 * Context: May sleep.
 */
void pagoda_device_mmu_stop(struct pagoda_vidmm *vidmm)
{
	WRITE_ONCE(vidmm->device_mmu->gone, true);
	pagoda_device_mmu_drop_kept(vidmm);
}

/* Undoes pagoda_device_mmu_init() after all device addresses were freed. */
void pagoda_device_mmu_fini(struct pagoda_vidmm *vidmm)
{
	if (mmu_is_used(vidmm))
		drm_mm_takedown(&vidmm->device_mmu->mm);
	mutex_destroy(&vidmm->device_mmu->lock);
}
