/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations: creation, placement, eviction to make room, offers, kept copies, lost content. */
#ifndef PAGODA_VIDMM_BO_BO_H
#define PAGODA_VIDMM_BO_BO_H

#include <linux/types.h>
#include <drm/pagoda_drm.h>
#include <drm/ttm/ttm_bo.h>
#include "paging/paging.h"
#include "vidmm/segment/segment.h"

struct pagoda_bo_params;
struct dma_buf;
struct dma_fence;
struct dmem_cgroup_pool_state;
struct drm_exec;
struct drm_gem_object;
struct drm_pagoda_allocation_info;
struct pagoda_adl;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_copy;
struct pagoda_payer;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct pagoda_vm;
struct ttm_place;
struct ttm_resource;
struct ttm_resource_manager;

/*
 * Flags of a struct ttm_place, beside TTM's TTM_PL_FLAG_*. TTM copies them to the resource that it
 * makes at the place, where pagoda_move() finds them and removes them. With any of the last three a
 * move fails with -EBUSY if anything but paging and jobs with a place of an engine uses the memory.
 */
#define PAGODA_PL_URGENT	BIT(31)	/* of an operation with &pagoda_operation.urgent set */
#define PAGODA_PL_PIPELINED	BIT(30)	/* jobs are waited for in the stream, not in the call */
#define PAGODA_PL_VICTIM	BIT(29)	/* the same, and the move is an eviction to make room */
#define PAGODA_PL_PROMPT	BIT(28)	/* jobs are waited for in the call */
#define PAGODA_PL_FLAGS		(PAGODA_PL_URGENT | PAGODA_PL_PIPELINED | PAGODA_PL_VICTIM | \
				 PAGODA_PL_PROMPT)

/**
 * struct pagoda_operation - Operation that brings allocations to places, on its caller's stack
 * @ttm: Whether waits may be interrupted, or happen at all, and which reservation the victims may
 *	share
 * @exec: Reservations that the operation has locked. If the only victims left are locked by other
 *	operations, this one waits for another to unlock a victim, or finds @exec contended: then
 *	the caller unlocks all and begins anew (drm_exec_retry_on_contention()). NULL = victims
 *	whose reservation another thread holds are passed over
 * @claim: Room that evictions make for the allocation that is brought to its place
 * @windows: Number of windows that were freed for the allocation (window.c)
 * @waits: Number of waits for other operations, for the allocation (victims.c)
 * @evicted: Bytes evicted from VRAM for the allocation, also if it doesn't fit in the end; without
 *	those of offered allocations and of victims that TTM chooses
 * @flags: PAGODA_PL_* of all places that the operation brings allocations to
 * @late: Out, with -EINPROGRESS: fence that the allocation can't move before, a reference; the
 *	caller waits for it outside of sections and reservations
 * @urgent: No room was found otherwise: page tables and save areas of VMs that have paging but no
 *	jobs in flight may be evicted, and allocations that queued VM_BIND arrays will map (C145)
 */
struct pagoda_operation {
	struct ttm_operation_ctx ttm;
	struct drm_exec *exec;
	struct pagoda_vram_claim claim;
	u32 windows;
	u32 waits;
	u64 evicted;
	u32 flags;
	struct dma_fence *late;
	bool urgent;
};

/**
 * struct pagoda_dmem_claim - Which cgroups' memory may be evicted to make room for an allocation
 * @pool: Pool of the segment that the current task's cgroup has, a reference; NULL = the segment
 *	has no pools, or that cgroup is above its maximum
 * @limit: Pool at its maximum, of the current task's cgroup or of an ancestor, a reference: only
 *	memory charged to this pool or below may be evicted; NULL = no pool is at its maximum
 * @root: The root cgroup's pool of the segment
 * @low: Allocations that dmem.low protects may be evicted, too
 * @hit_low: pagoda_dmem_may_take() refused a victim because of dmem.low
 * @refused: pagoda_dmem_may_take() refused a victim, because of dmem.min, dmem.low or @limit
 * @taken: A victim was evicted since the last call of pagoda_dmem_claim_again()
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

/* copy.c: kept copies: system pages of allocations in VRAM that stay after the move to VRAM */
int pagoda_copies_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_copies_stop(struct pagoda_vidmm *vidmm);
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo);
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader);
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo);
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy);
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left);
void pagoda_copy_drop(struct pagoda_bo *bo);
bool pagoda_copy_has_pages(const struct pagoda_bo *bo);
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo);

/* dmem.c: limits and protection of VRAM by cgroups; the cgroup that pays for a client's work */
int pagoda_payer_follow(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
void pagoda_payer_end(struct pagoda_client *client);
int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type);
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type);
bool pagoda_dmem_protects(struct pagoda_bo *bo, const struct ttm_place *place);
void pagoda_payer_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg);
bool pagoda_payer_try_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg);

/* bo.c: create allocations, wait for them, report and account them */
bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params);
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params);
int pagoda_bo_wait(struct pagoda_bo *bo, s64 timeout_ns);
void pagoda_bo_info(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info);
struct pagoda_bo *pagoda_bo_create_kernel(struct pagoda_vidmm *vidmm,
					  struct pagoda_client *client,
					  const struct pagoda_bo_params *params,
					  struct drm_gem_object *shared,
					  struct pagoda_vm *table_of);
struct pagoda_bo *pagoda_bo_create_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf);
void pagoda_bo_adl(struct pagoda_bo *bo, struct pagoda_adl *adl);
bool pagoda_bo_is_coherent(struct pagoda_bo *bo);
bool pagoda_import_is_away(const struct pagoda_bo *bo);
void pagoda_bo_set_resident(struct pagoda_bo *bo, bool resident);
struct pagoda_bo *pagoda_bo_next(struct pagoda_vidmm *vidmm, unsigned long *id);
void pagoda_bo_charge(struct pagoda_bo *bo, u32 segment);
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *to);

/* lost.c: content that a reset or a failed move lost */
int pagoda_lost_acknowledge(struct pagoda_bo *bo);
u64 pagoda_lost_mark(struct pagoda_vidmm *vidmm);
int pagoda_lost_since(struct pagoda_vidmm *vidmm, u64 mark);
bool pagoda_lost_is_stale(const struct pagoda_bo *bo);
int pagoda_swizzle_use(struct pagoda_bo *bo);
int pagoda_swizzle_use_private(struct pagoda_vidmm *vidmm, const struct pagoda_vm *vm);
int pagoda_lost_clear(struct pagoda_bo *bo);
int pagoda_lost_settle(struct pagoda_bo *bo);

/* offer.c: offered allocations: when content may be discarded, and is */
bool pagoda_offer_refuses(const struct pagoda_bo *bo);
int pagoda_offer_prevent(struct pagoda_bo **bos, u32 count);
void pagoda_offer_allow(struct pagoda_bo **bos, u32 count);
bool pagoda_offer_can_discard(struct pagoda_bo *bo, struct ttm_resource *to);
void pagoda_offer_discarded(struct pagoda_bo *bo);
void pagoda_offer_torn(struct pagoda_bo *bo);
int pagoda_offer_drop(struct pagoda_bo *bo);
void pagoda_offer_swap_notify(struct pagoda_bo *bo);

/* victims.c: evictions that the user asks for by debugfs */
int pagoda_vidmm_trim(struct pagoda_vidmm *vidmm, u64 bytes);
u64 pagoda_vidmm_trimmed(struct pagoda_vidmm *vidmm);

/* placement.c: TTM placements of an allocation, by what the placement is for */
void pagoda_priority_apply(struct pagoda_bo *bo);
/* pagoda_bo_placement_*() fill @places, of at least 4 entries, and return the number filled. */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_free(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_modest(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_shared(struct pagoda_bo *bo, struct ttm_place *places);

/* place.c: bring an allocation to a placement; segment/reserve.c: pagoda_reserve_place() */
int pagoda_bo_place(struct pagoda_bo *bo,
		    u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		    struct pagoda_operation *op);
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);

#endif
