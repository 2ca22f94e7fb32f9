/* SPDX-License-Identifier: GPL-2.0 */
/* Limits and protection by control groups; see dmem.c. */
#ifndef PAGODA_DMEM_H
#define PAGODA_DMEM_H

#include <linux/types.h>

struct pagoda_vidmm;
struct ttm_resource_manager;

int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type);
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type);
bool pagoda_dmem_allows(struct ttm_resource_manager *man, u64 size);

#endif
