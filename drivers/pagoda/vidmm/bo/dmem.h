/* SPDX-License-Identifier: GPL-2.0 */
/* Limits and protection by control groups; see dmem.c. */
#ifndef PAGODA_DMEM_H
#define PAGODA_DMEM_H

#include <linux/types.h>

struct dmem_cgroup_pool_state;
struct pagoda_bo;
struct pagoda_payer;
struct pagoda_vidmm;
struct ttm_place;
struct ttm_resource_manager;

/**
 * struct pagoda_dmem_claim - Limits of the search for victims of one allocation
 * @pool: Share of the segment that the caller's cgroup has, a reference; NULL = no limits
 * @limit: Share that is at its maximum, of the caller's cgroup or of an ancestor, a reference;
 *	NULL = no share is
 * @root: The root cgroup's share of the segment
 * @low: Allocations that dmem.low protects may be taken, too
 * @hit_low: A victim was left alone because of dmem.low
 * @refused: A victim was left alone, for any reason
 * @taken: A victim was evicted since the victims were last asked from the beginning
 * @interrupted: A signal ended a victim's move: no other victim is tried
 */
struct pagoda_dmem_claim {
	struct dmem_cgroup_pool_state *pool;
	struct dmem_cgroup_pool_state *limit;
	struct dmem_cgroup_pool_state *root;
	bool low;
	bool hit_low;
	bool refused;
	bool taken;
	bool interrupted;
};

int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type);
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type);
void pagoda_dmem_claim_look(struct pagoda_dmem_claim *claim, struct ttm_resource_manager *man,
			    u64 size);
bool pagoda_dmem_claim_again(struct pagoda_dmem_claim *claim);
void pagoda_dmem_claim_end(struct pagoda_dmem_claim *claim);
bool pagoda_dmem_may_take(struct pagoda_dmem_claim *claim, struct pagoda_bo *bo);
bool pagoda_dmem_protects(struct pagoda_bo *bo, const struct ttm_place *place);
bool pagoda_dmem_is_own(struct pagoda_bo *bo);
void pagoda_payer_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg);

#endif
