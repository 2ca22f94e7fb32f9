/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the ledger share. */
#ifndef PAGODA_VIDMM_LEDGER_INTERNAL_H
#define PAGODA_VIDMM_LEDGER_INTERNAL_H

#include <linux/types.h>

struct pagoda_bo;
struct pagoda_demand;

/* written.c */
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* demand.c */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);

/* candidates.c */
u64 pagoda_victims_last_use(struct pagoda_bo *bo);

#endif
