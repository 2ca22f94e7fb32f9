/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of the ledger that only files of this directory, and KUnit tests, call. */
#ifndef PAGODA_VIDMM_LEDGER_INTERNAL_H
#define PAGODA_VIDMM_LEDGER_INTERNAL_H

#include <linux/types.h>

struct pagoda_bo;
struct pagoda_client;
struct pagoda_demand;

/* written.c: note moves, uses and residency lists, by which content counts as written or clean */
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo, bool reads);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* demand.c: take an allocation out of a demand */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);

/*
 * candidates.c: note that a client took another client's allocation off its residency list; get the
 * time of an allocation's last use
 */
void pagoda_victims_user_left(struct pagoda_bo *bo, struct pagoda_client *client);
u64 pagoda_victims_last_use(struct pagoda_bo *bo);

#endif
