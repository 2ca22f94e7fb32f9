/* SPDX-License-Identifier: GPL-2.0 */
/* Sharing: dma-bufs of our allocations (prime.c), and allocations of others' (import.c). */
#ifndef PAGODA_VIDMM_PRIME_H
#define PAGODA_VIDMM_PRIME_H

#include <linux/types.h>

struct dma_buf;
struct drm_device;
struct pagoda_bo;
struct pagoda_tt;
struct ttm_operation_ctx;

struct dma_buf *pagoda_prime_export(struct pagoda_bo *bo, int flags);
bool pagoda_prime_is_ours(const struct dma_buf *dma_buf, const struct drm_device *drm);
void pagoda_prime_moves(struct pagoda_bo *bo);
int pagoda_import_map(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);
void pagoda_import_unmap(struct pagoda_bo *bo);
bool pagoda_import_is_away(const struct pagoda_bo *bo);
void pagoda_import_detach(struct pagoda_bo *bo);
void pagoda_import_release(struct pagoda_tt *tt);
void pagoda_prime_stop(struct pagoda_bo *bo);

#endif
