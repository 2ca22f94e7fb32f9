// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing: dma-bufs of this driver's allocations.
 *
 * VRAM has no address on any bus, so other devices reach an allocation in system memory only. The
 * dma-buf core knows two kinds of importers:
 *
 *	told of moves	an allocation that such an importer maps is brought to system memory, and
 *			may leave it again. Before a move the importer is told
 *			(pagoda_prime_moves()); the fences of the importer's work and of the move
 *			in the reservation order the accesses
 *	all others	the allocation is pinned in system memory as long as such an importer has
 *			the dma-buf mapped; on older kernels from attaching to detaching. Mappings
 *			for the kernel (prime_vmap()) and monitored fences pin, too. The bytes that
 *			importers or prime_vmap() pin are charged to the client that made the
 *			allocation, up to a limit
 *
 * The dma-buf holds references to the GEM object and the DRM device, so that all functions here
 * work as long as there is a file descriptor, a mapping or an attachment. When the hardware is gone
 * allocations don't move any more, and pinned pages stay until their last importer has gone
 * (&pagoda_tt.left).
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

PAGODA_IMPORT_DMA_BUF;

/* Rounds of an access of the CPU that wait for all work without the reservation. */
#define PRIME_ROUNDS	4
/* Jiffies after which a wait with the reservation held looks whether the device was reset. */
#define PRIME_LOOK	(HZ / 20 ?: 1)

static struct pagoda_bo *prime_bo(const struct dma_buf *dma_buf)
{
	return pagoda_bo_of_gem(dma_buf->priv);
}

/*
 * Returns 0 if other devices can use the allocation; -EOPNOTSUPP if it is tiled, which they can't
 * read, or must be in VRAM, which they don't reach; -ENODEV if this device is gone.
 */
static int prime_check(struct pagoda_bo *bo)
{
	const char *why = NULL;

	if (pagoda_device_mmu_is_gone(bo->vidmm))
		return -ENODEV;
	if (bo->tiling.layout.tiling)
		why = "tiled";
	else if (!(bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)))
		why = "in VRAM only";
	if (!why)
		return 0;
	drm_dbg_driver(bo->vidmm->drm, "others can't reach allocation %llu: it is %s\n", bo->id,
		       why);
	return -EOPNOTSUPP;
}

static int prime_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct pagoda_bo *bo = prime_bo(dma_buf);

	pagoda_reset_wait(bo->vidmm);
	return prime_check(bo);
}

/*
 * Waits for work that uses the allocation and has no place of an engine, as long as clients let it
 * last: callers of dma_buf_ops hold the reservation, which can't be dropped here. But the rebuild
 * after a reset, for which all clients wait, needs the reservation: then the wait ends. Returns 0,
 * -EAGAIN after a reset, or -ERESTARTSYS.
 */
static int prime_await(struct pagoda_bo *bo)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	struct dma_fence *fence;
	long left;

	while ((fence = pagoda_stream_get_queued(bo->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP))) {
		pagoda_stream_flush(bo->vidmm);
		do {
			left = -EAGAIN;
			if (!pagoda_reset_is_pending(bo->vidmm))
				left = dma_fence_wait_timeout(fence, true, PRIME_LOOK);
		} while (!left);
		dma_fence_put(fence);
		if (left < 0)
			return left;
	}
	return 0;
}

/* Returns whether an allocation is where pagoda_bo_placement_shared() places it. */
static bool prime_is_there(const struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	return res && res->mem_type == TTM_PL_TT &&
	       (!(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY) ||
		pagoda_aperture_has_address(res));
}

/*
 * Moves the allocation to the aperture segment, where other devices reach it, and replaces lost
 * content by zeros. A move waits in the stream for jobs that have a place of an engine, so that the
 * other device waits for the move's fence; for other jobs and devices this function waits before
 * the move. Returns 0; -ENODATA if the allocation is offered; -EAGAIN if the device is reset during
 * the wait; or another negative errno.
 */
static int prime_bring(struct pagoda_bo *bo)
{
	struct pagoda_operation op = {
		.ttm.interruptible = true,
		.flags = PAGODA_PL_PIPELINED,
	};
	bool waits = !prime_is_there(bo);
	int ret;

	if (pagoda_offer_refuses(bo))
		return -ENODATA;
	do {
		ret = waits ? prime_await(bo) : 0;
		ret = ret ?: pagoda_bo_place(bo, pagoda_bo_placement_shared, &op);
		/* If devices that were told of the move have added fences, wait for these, too. */
		waits = true;
	} while (ret == -EBUSY && pagoda_stream_has_queued(bo->vidmm, bo->ttm.base.resv,
							   DMA_RESV_USAGE_BOOKKEEP));
	return ret ?: pagoda_lost_settle(bo);
}

/* ---- Pins for importers that aren't told of moves ----------------------------- */

static int prime_charge(struct pagoda_bo *bo)
{
	return pagoda_quota_charge(bo->client->quota, PAGODA_LIMIT_SHARED,
				   bo->ttm.base.size >> PAGE_SHIFT);
}

static void prime_uncharge(struct pagoda_bo *bo)
{
	pagoda_quota_uncharge(bo->client->quota, PAGODA_LIMIT_SHARED,
			      bo->ttm.base.size >> PAGE_SHIFT);
}

/* Returns the bytes of aperture addresses that a pinned allocation keeps from other allocations. */
static u64 prime_addresses(struct pagoda_bo *bo)
{
	return pagoda_aperture_has_address(bo->ttm.resource) ? bo->ttm.base.size : 0;
}

static int prime_bo_pin(struct pagoda_bo *bo)
{
	int ret = 0;

	if (pagoda_device_mmu_is_gone(bo->vidmm))
		return -ENODEV;
	if (!bo->ttm.pin_count) {
		ret = prime_charge(bo);
		if (ret)
			return ret;
		ret = prime_bring(bo);
		if (ret) {
			prime_uncharge(bo);
			return ret;
		}
		atomic64_add(prime_addresses(bo), &bo->vidmm->pinned);
	}
	ttm_bo_pin(&bo->ttm);
	WRITE_ONCE(pagoda_tt_of(bo->ttm.ttm)->pinned, true);
	return 0;
}

static void prime_bo_unpin(struct pagoda_bo *bo)
{
	ttm_bo_unpin(&bo->ttm);
	if (bo->ttm.pin_count)
		return;
	atomic64_sub(prime_addresses(bo), &bo->vidmm->pinned);
	atomic64_inc(&bo->vidmm->releases);
	WRITE_ONCE(pagoda_tt_of(bo->ttm.ttm)->pinned, false);
	prime_uncharge(bo);
}

/*
 * dma_buf_ops.pin: pins the allocation. Returns -EAGAIN instead of -EBUSY: the dma-buf core warns
 * of -EBUSY, as if the exporter had made a buffer inaccessible to a device that is attached.
 */
static int prime_pin(struct dma_buf_attachment *attach)
{
	int ret = prime_bo_pin(prime_bo(attach->dmabuf));

	return ret == -EBUSY ? -EAGAIN : ret;
}

static void prime_unpin(struct dma_buf_attachment *attach)
{
	prime_bo_unpin(prime_bo(attach->dmabuf));
}

/* ---- Mappings of importers ------------------------------------------------------ */

static struct sg_table *prime_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct pagoda_bo *bo = prime_bo(attach->dmabuf);
	struct sg_table *sgt;
	int ret;

	if (pagoda_device_mmu_is_gone(bo->vidmm))
		return ERR_PTR(-ENODEV);
	ret = prime_bring(bo);
	if (ret)
		return ERR_PTR(ret);
	sgt = drm_prime_pages_to_sg(bo->vidmm->drm, bo->ttm.ttm->pages, bo->ttm.ttm->num_pages);
	if (IS_ERR(sgt))
		return sgt;
	ret = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (!ret)
		return sgt;
	sg_free_table(sgt);
	kfree(sgt);
	return ERR_PTR(ret);
}

static void prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

/* ---- Accesses of the CPU -------------------------------------------------------- */

/*
 * struct prime_access - access of the CPU that begins
 * @reads: the CPU is going to read
 * @rounds: number of calls of prime_show() so far
 * @filled: lost content was replaced by zeros
 * @busy: with -EINPROGRESS the fence to wait for before the next call of prime_show(), a reference
 */
struct prime_access {
	struct pagoda_bo *bo;
	bool reads;
	u32 rounds;
	bool filled;
	struct dma_fence *busy;
};

/*
 * Returns whether an allocation that the CPU may map and is going to read has to move to where the
 * CPU can map it, so that no page fault has to move the allocation.
 */
static bool access_moves(const struct prime_access *access)
{
	return access->reads && pagoda_bo_may_be_mapped(access->bo) &&
	       pagoda_fault_must_move(access->bo);
}

/* Returns whether lost content has to be replaced by zeros. */
static bool access_fills(const struct prime_access *access)
{
	/* Pairs with pagoda_bo_mark_lost(): sees losses by paging whose fence has signalled. */
	return smp_load_acquire(&access->bo->content.unclean) || pagoda_lost_is_stale(access->bo);
}

/*
 * Returns a reference to a fence that the access has to wait for without the reservation, or NULL:
 * for PRIME_ROUNDS rounds a fence of any work that a move or a fill would wait for; later only one
 * of work without a place of an engine.
 */
static struct dma_fence *access_blocker(const struct prime_access *access)
{
	struct pagoda_bo *bo = access->bo;
	enum dma_resv_usage usage = DMA_RESV_USAGE_BOOKKEEP;

	if (!access_moves(access)) {
		if (!access_fills(access))
			return NULL;
		/* The CPU clears system pages, which waits for no job. */
		if (!pagoda_bo_is_in_vram(bo))
			usage = DMA_RESV_USAGE_KERNEL;
	}
	if (access->rounds < PRIME_ROUNDS)
		return pagoda_access_user(bo, usage);
	return pagoda_stream_get_queued(bo->vidmm, bo->ttm.base.resv, usage);
}

/*
 * Moves the allocation if access_moves(). Returns 0; -EINPROGRESS with @access->busy set if the
 * allocation can't move yet, because an importer that was told of the move goes on using the
 * allocation until a fence signals; or another negative errno.
 */
static int access_bring(struct prime_access *access)
{
	int ret;

	if (!access_moves(access))
		return 0;
	ret = pagoda_fault_bring(access->bo, true, &access->busy);
	if (ret != -EBUSY || access->rounds >= PRIME_ROUNDS)
		return ret;
	/* The fence that the move couldn't wait for has signalled since: try again. */
	access->busy = dma_fence_get_stub();
	return -EINPROGRESS;
}

/*
 * Makes the content ready for the CPU: moves the allocation if access_moves(), and replaces lost
 * content by zeros. Otherwise doesn't wait for the implicit fences: the dma-buf core does. The
 * reservation is held. Returns 0; -EINPROGRESS with @access->busy set if the caller has to wait for
 * that fence, without the reservation, and to call again; -EIO if the zeros were lost, too; or
 * another negative errno.
 */
static int prime_show(struct prime_access *access)
{
	int ret;

	access->busy = access_blocker(access);
	access->rounds++;
	if (access->busy)
		return -EINPROGRESS;
	ret = access_bring(access);
	if (ret || !access_fills(access))
		return ret;
	if (access->filled)
		return -EIO;
	access->filled = true;
	ret = pagoda_lost_clear(access->bo);
	if (ret)
		return ret;
	access->busy = pagoda_access_user(access->bo, DMA_RESV_USAGE_KERNEL);
	if (access->busy)
		return -EINPROGRESS;
	return access_fills(access) ? -EIO : 0;
}

/* Calls prime_show() with the reservation held. Returns what that returns, -EINTR or -ENODEV. */
static int access_try(struct prime_access *access)
{
	struct pagoda_vidmm *vidmm = access->bo->vidmm;
	struct dma_resv *resv = access->bo->ttm.base.resv;
	int ret, idx;

	if (!drm_dev_enter(vidmm->drm, &idx))
		return -ENODEV;
	pagoda_reset_wait(vidmm);
	ret = dma_resv_lock_interruptible(resv, NULL);
	if (!ret) {
		ret = prime_show(access);
		dma_resv_unlock(resv);
	}
	if (ret == -EINPROGRESS)
		pagoda_stream_flush(vidmm);
	drm_dev_exit(idx);
	return ret;
}

/*
 * dma_buf_ops.begin_cpu_access. Waits, as long as the users of the allocation let their work last,
 * without a lock; but after PRIME_ROUNDS rounds with the reservation held for jobs that have a
 * place of an engine, which end within their time limit: else a client that always has jobs queued
 * would keep the CPU from the content. Returns 0, -ERESTARTSYS or -EINTR after a signal, or another
 * negative errno.
 */
static int prime_begin_cpu_access(struct dma_buf *dma_buf, enum dma_data_direction dir)
{
	struct prime_access access = {
		.bo = prime_bo(dma_buf),
		.reads = dir != DMA_TO_DEVICE,
	};
	int ret;

	while ((ret = access_try(&access)) == -EINPROGRESS) {
		ret = dma_fence_wait(access.busy, true);
		dma_fence_put(access.busy);
		if (ret)
			break;
	}
	return ret;
}

/* ---- Mappings for the kernel, and the end of a dma-buf -------------------------- */

/*
 * dma_buf_ops.vmap: maps the allocation for the kernel. Pins the allocation, because the address in
 * @map must stay valid. Returns 0 or a negative errno.
 */
static int prime_vmap(struct dma_buf *dma_buf, struct iosys_map *map)
{
	struct pagoda_bo *bo = prime_bo(dma_buf);
	int ret = prime_check(bo);

	if (!ret)
		ret = prime_bo_pin(bo);
	if (ret)
		return ret;
	pagoda_stream_wait_resv(bo->vidmm, dma_buf->resv, DMA_RESV_USAGE_KERNEL);
	ret = ttm_bo_vmap(&bo->ttm, map);
	if (ret)
		prime_bo_unpin(bo);
	return ret;
}

static void prime_vunmap(struct dma_buf *dma_buf, struct iosys_map *map)
{
	struct pagoda_bo *bo = prime_bo(dma_buf);

	ttm_bo_vunmap(&bo->ttm, map);
	prime_bo_unpin(bo);
}

/* dma_buf_ops.release: the dma-buf has no attachment any more, the GEM object still exists. */
static void prime_release(struct dma_buf *dma_buf)
{
	struct pagoda_bo *bo = prime_bo(dma_buf);

	dma_resv_lock(bo->ttm.base.resv, NULL);
	bo->share.exported = NULL;
	dma_resv_unlock(bo->ttm.base.resv);
	drm_gem_dmabuf_release(dma_buf);
}

static const struct dma_buf_ops prime_ops = {
	.attach = prime_attach,
	.pin = prime_pin,
	.unpin = prime_unpin,
	.map_dma_buf = prime_map,
	.unmap_dma_buf = prime_unmap,
	.begin_cpu_access = prime_begin_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = prime_vmap,
	.vunmap = prime_vunmap,
	.release = prime_release,
};

/*
 * Returns a new dma-buf of an allocation that has none, or ERR_PTR: -EPERM if the allocation is
 * private to a VM, whose reservation other devices must not lock; -ENODATA if the allocation is
 * offered; -ENOMEM. The DRM core's locks of names and handles are held.
 */
struct dma_buf *pagoda_prime_export(struct pagoda_bo *bo, int flags)
{
	struct drm_gem_object *obj = pagoda_bo_gem(bo);
	struct dma_buf_export_info info = {
		.exp_name = "pagoda",
		.owner = THIS_MODULE,
		.ops = &prime_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};
	struct dma_buf *dma_buf;

	if (bo->vm.private_to) {
		drm_dbg_driver(bo->vidmm->drm, "allocation %llu is private to a VM\n", bo->id);
		return ERR_PTR(-EPERM);
	}
	if (pagoda_offer_refuses(bo))
		return ERR_PTR(-ENODATA);
	dma_buf = drm_gem_dmabuf_export(bo->vidmm->drm, &info);
	if (IS_ERR(dma_buf))
		return dma_buf;
	dma_resv_lock(obj->resv, NULL);
	bo->share.exported = dma_buf;
	dma_resv_unlock(obj->resv);
	return dma_buf;
}

/* Returns whether @dma_buf is an exported allocation of @drm: then its priv is the GEM object. */
bool pagoda_prime_is_ours(const struct dma_buf *dma_buf, const struct drm_device *drm)
{
	const struct drm_gem_object *obj = dma_buf->priv;

	return dma_buf->ops == &prime_ops && obj->dev == drm;
}

/*
 * Tells devices that import an allocation that it is about to move: these drop their mappings,
 * at once or after fences that they add to the reservation, for which the move has to wait. The
 * reservation is held. May sleep and allocate; not in a stream transaction.
 */
void pagoda_prime_moves(struct pagoda_bo *bo)
{
	if (bo->share.exported)
		dma_buf_invalidate_mappings(bo->share.exported);
}
