// SPDX-License-Identifier: GPL-2.0
/*
 * GEM's callbacks: an allocation is freed, mapped by the CPU, exported as a dma-buf; and TTM's
 * callback that frees struct pagoda_bo.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "ttm.h"

static void bo_free(struct pagoda_bo *bo)
{
	drm_gem_object_release(&bo->ttm.base);
	if (bo->share.imported)
		dma_buf_put(bo->share.imported);
	if (bo->vm.shared)
		drm_gem_object_put(bo->vm.shared);
	if (bo->vm.private_to)
		pagoda_vm_put(bo->vm.private_to);
	if (bo->client)
		pagoda_client_put(bo->client);
	kfree(bo);
}

static void bo_detach_work(struct work_struct *work)
{
	struct pagoda_bo *bo = container_of(work, struct pagoda_bo, share.detach);

	pagoda_import_detach(bo);
	bo_free(bo);
}

/*
 * &ttm_buffer_object.destroy: frees an allocation that has no reference any more. An imported
 * allocation is detached and freed by a work item: detaching takes the reservation of the dma-buf,
 * which the thread that dropped the last reference may hold.
 */
void pagoda_bo_destroy(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	xa_erase(&bo->vidmm->bos, bo->id);
	dma_fence_put(bo->vm.behind);
	pagoda_copy_drop(bo);
	pagoda_track_fini(bo);
	pagoda_promote_forget(bo);
	pagoda_victims_remove(bo);
	if (!bo->share.imported) {
		bo_free(bo);
		return;
	}
	INIT_WORK(&bo->share.detach, bo_detach_work);
	queue_work(bo->vidmm->ttm.wq, &bo->share.detach);
}

void pagoda_bo_gem_free(struct drm_gem_object *obj)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);

	/*
	 * TTM may keep the allocation until it is idle, but from now on it doesn't count as wanted
	 * by its client.
	 */
	WRITE_ONCE(bo->wish.released, true);
	pagoda_wish_changed(bo);
	ttm_bo_fini(drm_gem_ttm_of_gem(obj));
}

/*
 * mmap() of an imported allocation: has the exporter map the dma-buf. The mapping holds a reference
 * to the dma-buf, not to the GEM object. Returns 0 or a negative errno.
 */
static int bo_mmap_imported(struct pagoda_bo *bo, struct vm_area_struct *vma)
{
	int ret;

	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(bo->share.imported, vma, 0);
	if (ret)
		return ret;
	vm_flags_set(vma, VM_DONTEXPAND);
	drm_gem_object_put(&bo->ttm.base);
	return 0;
}

int pagoda_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);

	if (bo->share.imported)
		return bo_mmap_imported(bo, vma);
	if (!pagoda_bo_may_be_mapped(bo))
		return -EACCES;
	if (pagoda_offer_refuses(bo))
		return -ENODATA;
	if (bo->is_fence) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	return pagoda_gem_ttm_mmap(obj, vma);
}

struct dma_buf *pagoda_bo_gem_export(struct drm_gem_object *obj, int flags)
{
	return pagoda_prime_export(pagoda_bo_of_gem(obj), flags);
}
