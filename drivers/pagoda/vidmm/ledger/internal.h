/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the ledger that only files of this directory call. */
#ifndef PAGODA_VIDMM_LEDGER_INTERNAL_H
#define PAGODA_VIDMM_LEDGER_INTERNAL_H

#include <linux/types.h>

struct pagoda_bo;
struct pagoda_client;
struct pagoda_demand;

/* written.c: whether an allocation in VRAM may have been written since its copy was made */
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo, bool reads);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* demand.c: bytes and contiguous pieces that allocations need at the same time, by segment */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);

/* candidates.c: clients that protect an allocation from eviction, and its last use */
void pagoda_victims_user_left(struct pagoda_bo *bo, struct pagoda_client *client);
u64 pagoda_victims_last_use(struct pagoda_bo *bo);

#endif
