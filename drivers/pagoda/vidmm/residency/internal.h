/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files in residency/ share. */
#ifndef PAGODA_VIDMM_RESIDENCY_INTERNAL_H
#define PAGODA_VIDMM_RESIDENCY_INTERNAL_H

#include <linux/kconfig.h>
#include <linux/types.h>

struct drm_exec;
struct pagoda_bo;

/* priority.c: runs a function with the reservations of a list of allocations held */
int pagoda_bos_run(struct pagoda_bo **bos, u32 count,
		   int (*run)(struct drm_exec *exec, void *arg), void *arg);

/* offer.c: looks for accepted work that keeps an allocation from being offered */
#if IS_ENABLED(CONFIG_KUNIT)
int pagoda_offer_check_work(const struct pagoda_bo *bo);
#endif

#endif
