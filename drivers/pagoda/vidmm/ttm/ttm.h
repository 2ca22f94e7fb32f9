/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of ttm/ that other directories use, and callbacks of TTM, GEM and page faults. */
#ifndef PAGODA_VIDMM_TTM_TTM_H
#define PAGODA_VIDMM_TTM_TTM_H

#include <linux/dma-resv.h>
#include <linux/types.h>
#include "paging/paging.h"

struct dma_buf;
struct dma_fence;
struct drm_gem_object;
struct pagoda_adl;
struct vm_area_struct;
struct pagoda_bo;
struct pagoda_paging_op;
struct pagoda_vidmm;
struct ttm_resource;

/* move_steps.c: makes the operation that maps an allocation in the aperture */
struct pagoda_paging_op pagoda_move_map_op(struct pagoda_bo *bo, struct ttm_resource *res,
					   const struct pagoda_adl *pages);

/* notice.c: emits the notices that an allocation is resident in a place */
int pagoda_notice_arrived(struct pagoda_bo *bo, struct ttm_resource *res,
			  int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);

/*
 * release.c: makes the operation that unmaps an allocation from the aperture; tells whether a
 * resource is mapped in the aperture
 */
struct pagoda_paging_op pagoda_release_unmap_op(struct pagoda_vidmm *vidmm,
						struct ttm_resource *res);
bool pagoda_release_is_mapped(struct ttm_resource *res);

/* import.c: imports a dma-buf; ends all sharing of an allocation when the device goes */
struct drm_gem_object *pagoda_prime_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf);
void pagoda_prime_stop(struct pagoda_bo *bo);

/* gem.c: callbacks of GEM, and of TTM for the end of an allocation */
void pagoda_bo_gem_free(struct drm_gem_object *obj);
int pagoda_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma);
struct dma_buf *pagoda_bo_gem_export(struct drm_gem_object *obj, int flags);
void pagoda_bo_destroy(struct ttm_buffer_object *ttm_bo);

/* ttm.c: callbacks of TTM */
extern const struct ttm_device_funcs pagoda_ttm_funcs;

/* fault.c: callbacks of CPU mappings of allocations */
extern const struct vm_operations_struct pagoda_bo_vm_ops;

#endif
