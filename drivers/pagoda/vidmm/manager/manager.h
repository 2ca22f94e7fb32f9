/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Creates, stops and destroys the memory manager with all of its parts; tells whether it has
 * engines; fault injection into moves of an allocation.
 */
#ifndef PAGODA_VIDMM_MANAGER_MANAGER_H
#define PAGODA_VIDMM_MANAGER_MANAGER_H

#include <linux/types.h>

struct pagoda_vidmm;
struct pagoda_vidmm_args;

struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args);
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm);
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm);
bool pagoda_vidmm_has_engines(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id);

#endif
