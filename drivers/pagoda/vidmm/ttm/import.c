// SPDX-License-Identifier: GPL-2.0
/*
 * Sharing: allocations around the memory of other devices.
 *
 * An import is an allocation that can be used in the aperture segment only and has no pages of its
 * own. The reservation of its dma-buf is also that of the import: all users have one lock and one
 * set of fences. The memory of an import is
 *
 *	mapped		when the import moves to the aperture segment. Bus addresses come from the
 *			attachment; on a device with an MMU they are mapped at device addresses, so
 *			that the device reaches mapped memory only
 *	unmapped	when the exporter moves the memory, when the import is freed, when the
 *			device goes; always when all work that uses the memory has ended and no
 *			page table of the GPU maps the memory any more
 *
 * Eviction alone doesn't unmap the memory. The CPU doesn't reach the memory through this driver: a
 * CPU mapping of an import is a mapping of the dma-buf.
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/scatterlist.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "paging/cpu/cpu.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

/*
 * struct pagoda_import - attachment to a dma-buf
 * @ref: One reference of the allocation until it is detached, one of the mapped memory until it is
 *	unmapped: the device may keep the memory longer than the allocation exists
 * @attach: Attachment; its importer_priv is the allocation's GEM object, or NULL once the device
 *	keeps the memory though it should be unmapped: then the exporter's moves are ignored
 */
struct pagoda_import {
	struct kref ref;
	struct dma_buf_attachment *attach;
};

/*
 * Detaches from the dma-buf, whose reservation dma_buf_detach() locks, and frees the struct
 * pagoda_import.
 */
static void import_free(struct kref *ref)
{
	struct pagoda_import *import = container_of(ref, struct pagoda_import, ref);
	struct dma_buf *dma_buf = import->attach->dmabuf;

	dma_buf_detach(dma_buf, import->attach);
	dma_buf_put(dma_buf);
	kfree(import);
}

static void import_put(struct pagoda_import *import)
{
	kref_put(&import->ref, import_free);
}

/* &pagoda_tt.release_import: unmaps memory that the device kept because UNMAP_MMU failed. */
static void import_release(struct pagoda_tt *tt)
{
	dma_buf_unmap_attachment_unlocked(tt->import->attach, tt->base.sg, DMA_BIDIRECTIONAL);
	import_put(tt->import);
}

static bool import_is_mapped(const struct pagoda_bo *bo)
{
	return bo->share.imported && bo->ttm.ttm && bo->ttm.ttm->sg;
}

/*
 * Stores the bus address of each page in the allocation's tt. Returns 0, or -EINVAL if the memory
 * isn't whole pages, is less than the allocation, or is out of the device's reach.
 */
static int import_set_addresses(struct pagoda_bo *bo, const struct sg_table *sgt)
{
	u64 end = BIT_ULL(bo->vidmm->info->system_address_bits);
	struct ttm_tt *tt = bo->ttm.ttm;
	struct scatterlist *sg;
	u32 i, n = 0;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		u64 address = sg_dma_address(sg), size = sg_dma_len(sg);

		if (!PAGE_ALIGNED(address) || !PAGE_ALIGNED(size) || address >= end ||
		    size > end - address)
			return -EINVAL;
		for (; size && n < tt->num_pages; size -= PAGE_SIZE, address += PAGE_SIZE)
			tt->dma_address[n++] = address;
	}
	return n == tt->num_pages ? 0 : -EINVAL;
}

/*
 * Maps the memory of an import for the device, if it isn't mapped yet; does nothing for other
 * allocations. The reservation is held, and the allocation has a tt. Returns 0; -ENODEV if the
 * import is detached, the device is gone, or the device keeps memory that was to be unmapped;
 * -EINVAL if the memory isn't whole pages, is less than the allocation, or is out of the device's
 * reach; -ENOMEM, another errno of pagoda_device_mmu_map(), or the exporter's error. May sleep and
 * allocate.
 */
int pagoda_import_map(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct pagoda_import *import = READ_ONCE(bo->share.import);
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	struct pagoda_tt *tt;
	int ret;

	if (!bo->share.imported || import_is_mapped(bo))
		return 0;
	if (!import || !import->attach->importer_priv || pagoda_device_mmu_is_gone(bo->vidmm))
		return -ENODEV;
	attach = import->attach;
	tt = pagoda_tt_of(bo->ttm.ttm);
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt))
		return PTR_ERR(sgt);
	ret = import_set_addresses(bo, sgt);
	if (ret)
		drm_dbg_driver(bo->vidmm->drm, "allocation %llu: not whole pages\n", bo->id);
	else
		ret = pagoda_device_mmu_map(bo->vidmm, tt, ctx);
	if (ret) {
		dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
		return ret;
	}
	kref_get(&import->ref);
	tt->base.sg = sgt;
	tt->import = import;
	tt->release_import = import_release;
	return 0;
}

/*
 * Unmaps the memory of an import that is mapped; does nothing for other allocations. The caller has
 * removed the allocation from all page tables, or has emitted operations that do. Waits for these
 * and for all uses of the memory: for all fences in the reservation, and in &drm_gem_object._resv,
 * which has the fence of the UNMAP_APERTURE_SEGMENT if TTM deletes the allocation. The reservation
 * is held. May sleep for long.
 */
void pagoda_import_unmap(struct pagoda_bo *bo)
{
	struct drm_gem_object *obj = &bo->ttm.base;
	struct pagoda_tt *tt;

	if (!import_is_mapped(bo))
		return;
	pagoda_stream_wait_resv(bo->vidmm, obj->resv, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_stream_wait_resv(bo->vidmm, &obj->_resv, DMA_RESV_USAGE_BOOKKEEP);
	tt = pagoda_tt_of(bo->ttm.ttm);
	if (pagoda_device_mmu_unmap(bo->vidmm, tt)) {
		dma_buf_unmap_attachment(tt->import->attach, tt->base.sg, DMA_BIDIRECTIONAL);
		import_put(tt->import);
	} else {
		/*
		 * UNMAP_MMU failed and the device keeps the mapping: from now on the exporter's
		 * moves are ignored.
		 */
		tt->import->attach->importer_priv = NULL;
	}
	tt->base.sg = NULL;
	tt->import = NULL;
}

/*
 * Takes a reference to the TTM object (&ttm_buffer_object.kref). If its count is 0, another thread
 * is in ttm_bo_release(), without the reservation: waits until TTM has taken the reference that it
 * keeps until it deletes the object. From then on the object changes only with the reservation
 * held.
 */
static void import_hold(struct pagoda_bo *bo)
{
	while (!kref_get_unless_zero(&bo->ttm.kref))
		fsleep(10);
}

/*
 * Moves the allocation to the system segment and so out of all page tables. Tries again as long as
 * the move fails with -ENOMEM or -EBUSY, because the exporter can't be refused. If the move fails
 * otherwise, only removes the allocation from the page tables. Waits for jobs that use the
 * allocation.
 */
static void import_leave(struct pagoda_bo *bo)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = {};
	int ret;

	while ((ret = ttm_bo_validate(&bo->ttm, &placement, &ctx)) == -ENOMEM || ret == -EBUSY)
		fsleep(USEC_PER_MSEC);
	if (!ret)
		return;
	drm_err(bo->vidmm->drm, "allocation %llu is imported and can't leave (%d)\n", bo->id, ret);
	pagoda_stream_await(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP, false);
	pagoda_vm_bo_hide(bo, PAGODA_VM_MOVES);
}

/*
 * Called before the exporter moves the memory, with the reservation held: takes the allocation out
 * of all page tables and unmaps the memory. An object that TTM deletes left all page tables when
 * its last handle was closed, and isn't moved any more: its memory is unmapped once its fences have
 * signalled.
 */
static void import_invalidate_mappings(struct dma_buf_attachment *attach)
{
	struct pagoda_bo *bo;

	if (!attach->importer_priv)
		return;
	bo = pagoda_bo_of_gem(attach->importer_priv);
	if (!import_is_mapped(bo))
		return;
	import_hold(bo);
	if (!bo->ttm.deleted)
		import_leave(bo);
	pagoda_import_unmap(bo);
	/*
	 * Drops the reference of import_hold(). The caller holds the reservation, but in this call
	 * TTM doesn't lock the reservation of an import.
	 */
	ttm_bo_fini(&bo->ttm);
}

static const struct dma_buf_attach_ops import_ops = {
	.invalidate_mappings = import_invalidate_mappings,
};

static int import_check(struct pagoda_vidmm *vidmm, const struct dma_buf *dma_buf)
{
	if (!dma_buf->size || !PAGE_ALIGNED(dma_buf->size)) {
		drm_dbg_driver(vidmm->drm, "%zu bytes aren't whole pages\n", dma_buf->size);
		return -EINVAL;
	}
	if (vidmm->reaches_part) {
		drm_dbg_driver(vidmm->drm, "the device doesn't reach all memory\n");
		return -EOPNOTSUPP;
	}
	if (vidmm->executor->mmu) {
		drm_dbg_driver(vidmm->drm, "the CPU executes, and has no pages of imports\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static struct pagoda_import *import_attach(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf,
					   struct drm_gem_object *obj)
{
	struct pagoda_import *import = kzalloc(sizeof(*import), GFP_KERNEL_ACCOUNT);
	struct dma_buf_attachment *attach;

	if (!import)
		return ERR_PTR(-ENOMEM);
	attach = dma_buf_dynamic_attach(dma_buf, vidmm->info->dma_dev, &import_ops, obj);
	if (IS_ERR(attach)) {
		kfree(import);
		return ERR_CAST(attach);
	}
	get_dma_buf(dma_buf);
	kref_init(&import->ref);
	import->attach = attach;
	return import;
}

/*
 * Returns the GEM object of a new import or an ERR_PTR, as pagoda_prime_import(). The GEM object is
 * complete before the attachment can report moves.
 */
static struct drm_gem_object *import_create(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf)
{
	struct pagoda_import *import;
	struct drm_gem_object *obj;
	struct pagoda_bo *bo;
	int ret = import_check(vidmm, dma_buf);

	if (ret)
		return ERR_PTR(ret);
	bo = pagoda_bo_create_import(vidmm, dma_buf);
	if (IS_ERR(bo))
		return ERR_CAST(bo);
	obj = pagoda_bo_gem(bo);
	import = import_attach(vidmm, dma_buf, obj);
	if (IS_ERR(import)) {
		drm_gem_object_put(obj);
		return ERR_CAST(import);
	}
	WRITE_ONCE(bo->share.import, import);
	obj->import_attach = import->attach;
	return obj;
}

/**
 * pagoda_prime_import() - Create an allocation around the memory of a dma-buf
 * @vidmm: The manager
 * @dma_buf: dma-buf; if this device exported the dma-buf, the exported allocation is returned
 *
 * Context: May sleep and allocate; the DRM core's locks of names and handles are held.
 * Return: The GEM object with a reference, or ERR_PTR: -ENODEV, -ENOMEM, -EINVAL if the memory
 * isn't whole pages, -E2BIG if the memory is larger than the aperture, -EOPNOTSUPP if the device
 * can't reach all memory, or has an MMU that the CPU executor replaces, or the exporter's error.
 */
struct drm_gem_object *pagoda_prime_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj;
	int idx;

	if (pagoda_prime_is_ours(dma_buf, vidmm->drm)) {
		obj = dma_buf->priv;
		drm_gem_object_get(obj);
		return obj;
	}
	if (!drm_dev_enter(vidmm->drm, &idx))
		return ERR_PTR(-ENODEV);
	obj = import_create(vidmm, dma_buf);
	drm_dev_exit(idx);
	return obj;
}

/*
 * Takes the attachment, if any, away from the allocation, and returns it. The DRM core reads
 * &drm_gem_object.import_attach under object_name_lock.
 */
static struct pagoda_import *import_take(struct pagoda_bo *bo)
{
	struct drm_gem_object *obj = &bo->ttm.base;
	struct pagoda_import *import = bo->share.import;

	lockdep_assert_held(&obj->dev->object_name_lock);
	WRITE_ONCE(bo->share.import, NULL);
	obj->import_attach = NULL;
	return import;
}

/*
 * Detaches an import, whose memory isn't mapped, from its dma-buf; does nothing for other
 * allocations, and for detached imports. No reservation is held.
 */
void pagoda_import_detach(struct pagoda_bo *bo)
{
	struct drm_device *drm = bo->ttm.base.dev;
	struct pagoda_import *import;

	mutex_lock(&drm->object_name_lock);
	import = import_take(bo);
	mutex_unlock(&drm->object_name_lock);
	if (import)
		import_put(import);
}

/**
 * pagoda_prime_stop() - End the sharing of an allocation when the device goes
 * @bo: Allocation, which the device doesn't use any more
 *
 * Unmaps and detaches imported memory. Tells devices that import the allocation to drop their
 * mappings, as before a move.
 *
 * Context: May sleep. No reservation is held.
 */
void pagoda_prime_stop(struct pagoda_bo *bo)
{
	if (!bo->share.imported && !READ_ONCE(bo->share.exported))
		return;
	dma_resv_lock(bo->ttm.base.resv, NULL);
	pagoda_import_unmap(bo);
	pagoda_prime_moves(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	pagoda_import_detach(bo);
}
