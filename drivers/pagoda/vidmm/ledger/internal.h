/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the ledger share. */
#ifndef PAGODA_VIDMM_LEDGER_INTERNAL_H
#define PAGODA_VIDMM_LEDGER_INTERNAL_H

#include <linux/types.h>

struct pagoda_bo;
struct pagoda_client_pace;
struct pagoda_demand;
struct pagoda_vidmm;

/* written.c */
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* demand.c */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);

/* candidates.c */
u64 pagoda_victims_last_use(struct pagoda_bo *bo);

/* client.c */
void pagoda_pace_init(struct pagoda_vidmm *vidmm, struct pagoda_client_pace *pace);

#endif
