/* SPDX-License-Identifier: GPL-2.0 */
/* The choice of victims in VRAM; see victims.c. */
#ifndef PAGODA_VICTIMS_H
#define PAGODA_VICTIMS_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include "vidmm/ledger/policy.h"

struct dma_resv;
struct pagoda_bo;
struct pagoda_dmem_claim;
struct pagoda_vidmm;
struct pagoda_vm;
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_placement;
struct ttm_resource;

/**
 * struct pagoda_victims - The policy, and what goes with it
 * @lock: Protects @policy and the items of all allocations; nests in reservations. Fences may be
 *	found signalled under this lock, and their callbacks run
 * @policy: The policy; its items are &pagoda_bo.choice.item
 * @asked: The policy chooses victims; if false it is only told of uses, and TTM evicts the least
 *	recently used allocation
 * @trimmed: Bytes that pagoda_victims_trim() has evicted
 */
struct pagoda_victims {
	spinlock_t lock;	/* policy, items */
	struct pagoda_policy policy;
	bool asked;
	atomic64_t trimmed;
};

int pagoda_victims_init(struct pagoda_vidmm *vidmm, bool lru);
void pagoda_victims_fini(struct pagoda_vidmm *vidmm);
void pagoda_victims_add(struct pagoda_bo *bo);
void pagoda_victims_remove(struct pagoda_bo *bo);
void pagoda_victims_moved(struct pagoda_bo *bo, struct ttm_resource *to);
void pagoda_victims_changed(struct pagoda_bo *bo);
void pagoda_victims_keep(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			 bool keep);
u64 pagoda_victims_last_use(struct pagoda_bo *bo);
void pagoda_victims_used(struct pagoda_vm *vm, struct pagoda_bo **bos, u32 count);
bool pagoda_victims_lock(struct pagoda_bo *bo, const struct dma_resv *mine,
			 const struct ttm_operation_ctx *ctx);
void pagoda_victims_unlock(struct pagoda_bo *bo, const struct dma_resv *mine);
int pagoda_victims_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
			 struct ttm_operation_ctx *ctx, struct pagoda_dmem_claim *claim);
u64 pagoda_victims_trim(struct pagoda_vidmm *vidmm, u64 bytes, struct pagoda_dmem_claim *claim);

#endif
