/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations: creation, description, waiting; placement, and eviction to make room; offers, kept
 * copies, lost content; limits by cgroups.
 */
#ifndef PAGODA_VIDMM_BO_BO_H
#define PAGODA_VIDMM_BO_BO_H

#include <linux/types.h>
#include <linux/xarray.h>
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
 * Mark of an entry in &pagoda_vidmm.bos: a reset of the device may lose anything of the allocation,
 * but for mappings of the device MMU: content in VRAM, an address in the aperture, a notice of
 * residency; or paging of the allocation was lost. An allocation may have the mark without need
 * until the rebuild after the next reset looks at it.
 */
#define PAGODA_BO_EXPOSED	XA_MARK_1

/*
 * Flags of a struct ttm_place, beside TTM's TTM_PL_FLAG_*. TTM copies them to the resource that it
 * makes at the place, where pagoda_move() finds them and removes them. With PIPELINED, VICTIM or
 * PROMPT a move fails with -EBUSY if anything but paging and jobs with a place of an engine uses
 * the allocation.
 */

/* The place is one of an operation with &pagoda_operation.urgent set. */
#define PAGODA_PL_URGENT	BIT(31)
/* The stream has the move wait for jobs that use the allocation; the call seldom waits (move.c). */
#define PAGODA_PL_PIPELINED	BIT(30)
/* As PAGODA_PL_PIPELINED; the move is the eviction of a victim, to make room or to trim VRAM. */
#define PAGODA_PL_VICTIM	BIT(29)
/* The call waits for jobs that use the allocation; -EBUSY if any has no place of an engine. */
#define PAGODA_PL_PROMPT	BIT(28)
/* The allocation comes to VRAM ahead of a queued job, which is told in the trace. */
#define PAGODA_PL_AHEAD		BIT(27)
/* All flags that a struct ttm_place has from this driver. */
#define PAGODA_PL_FLAGS		(PAGODA_PL_URGENT | PAGODA_PL_PIPELINED | PAGODA_PL_VICTIM | \
				 PAGODA_PL_PROMPT | PAGODA_PL_AHEAD)

/**
 * struct pagoda_operation - Operation that brings allocations to places, on its caller's stack
 * @ttm: Whether waits may be interrupted, or happen at all, and which reservation the victims may
 *	share
 * @exec: Reservations that the operation has locked. If the only victims left are locked by other
 *	operations, this operation waits until another unlocks a victim, or finds @exec contended:
 *	then the caller unlocks all and begins anew (drm_exec_retry_on_contention()). NULL = victims
 *	whose reservation another thread holds are passed over
 * @flags: PAGODA_PL_* of all places that the operation brings allocations to
 * @urgent: No room was found otherwise: page tables and save areas of VMs that have paging but no
 *	jobs in flight may be evicted, and allocations that queued VM_BIND arrays will map (C145)
 * @evicted: Out: bytes evicted from VRAM for the last allocation, also if it doesn't fit in the
 *	end; without those of offered allocations and of victims that TTM chooses
 * @late: Out, with -EINPROGRESS: fence that the allocation can't move before, a reference; the
 *	caller waits for it outside of sections and reservations
 */
struct pagoda_operation {
	struct ttm_operation_ctx ttm;
	struct drm_exec *exec;
	u32 flags;
	bool urgent;
	u64 evicted;
	struct dma_fence *late;
};

/**
 * struct pagoda_dmem_claim - Which cgroups' memory may be evicted to make room for an allocation
 * @pool: Pool of the segment that the current task's cgroup has, a reference; NULL = the segment
 *	has no pools, that cgroup or an ancestor is above its maximum, or memory was missing
 * @limit: Pool that the allocation would bring above its maximum, of the current task's cgroup or
 *	of an ancestor, a reference: only memory charged to this pool or below may be evicted; NULL
 *	= none
 * @root: The root cgroup's pool of the segment; no reference
 * @low: Allocations that dmem.low protects may be evicted, too
 * @hit_low: pagoda_dmem_may_take() refused a victim because of dmem.low
 * @refused: pagoda_dmem_may_take() refused a victim, because of dmem.min, dmem.low or @limit
 * @taken: A victim was evicted since the last call of pagoda_dmem_claim_again()
 * @interrupted: A signal ended a victim's move, or a wait for another operation: no other victim
 *	is tried
 *
 * Without @pool and @limit, memory of all cgroups may be evicted. If memory is evicted because a
 * cgroup's maximum was lowered, @pool and @limit are both the pool of that cgroup, without
 * references.
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
void pagoda_copies_fini(struct pagoda_vidmm *vidmm);
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo);
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader);
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo);
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy);
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left);
void pagoda_copy_touched(struct pagoda_bo *bo, u64 offset, u64 size);
bool pagoda_copy_is_touched(const struct pagoda_copy *copy, u64 offset, u64 *size);
void pagoda_copy_drop(struct pagoda_bo *bo);
bool pagoda_copy_has_pages(const struct pagoda_bo *bo);
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo);
bool pagoda_copies_reclaim(struct pagoda_vidmm *vidmm, unsigned long pages);

/* track.c: which pages of an allocation the GPU has written, for a client that called TRACK */
int pagoda_track_start(struct pagoda_bo *bo, const struct pagoda_client *client);
int pagoda_track_stop(struct pagoda_bo *bo, const struct pagoda_client *client);
int pagoda_track_query(struct pagoda_bo *bo, const struct pagoda_client *client, u64 offset,
		       u64 size, u64 *words);
void pagoda_track_restore(struct pagoda_bo *bo, u64 offset, u64 size, const u64 *words);
void pagoda_track_moves(struct pagoda_bo *bo, const struct ttm_resource *to);
void pagoda_track_fini(struct pagoda_bo *bo);

/* dmem.c: threads in the cgroups of clients; limits and protection of segments by cgroups */
int pagoda_payer_follow(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
void pagoda_payer_end(struct pagoda_client *client);
int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type);
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type);
bool pagoda_dmem_protects(struct pagoda_bo *bo, const struct ttm_place *place);
void pagoda_payer_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg);
bool pagoda_payer_try_run(struct pagoda_payer *payer, void (*run)(void *arg), void *arg);

/*
 * bo.c: create allocations, find them, wait for them, describe and charge them, list their pages
 * for the device, note whether they were made resident
 */
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
struct pagoda_bo *pagoda_bo_next(struct pagoda_vidmm *vidmm, unsigned long *id, xa_mark_t filter);
void pagoda_bo_expose(struct pagoda_bo *bo);
void pagoda_bo_charge(struct pagoda_bo *bo, u32 segment);
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *to);

/*
 * lost.c: content that a reset or failed paging lost; bring the CPU's writes into the tiles of an
 * allocation before a job uses the allocation
 */
int pagoda_lost_acknowledge(struct pagoda_bo *bo);
u64 pagoda_lost_mark(struct pagoda_vidmm *vidmm);
int pagoda_lost_since(struct pagoda_vidmm *vidmm, u64 mark);
bool pagoda_lost_is_stale(const struct pagoda_bo *bo);
int pagoda_swizzle_use(struct pagoda_bo *bo);
int pagoda_swizzle_use_private(struct pagoda_vidmm *vidmm, const struct pagoda_vm *vm);
int pagoda_lost_clear(struct pagoda_bo *bo);
int pagoda_lost_settle(struct pagoda_bo *bo);

/* offer.c: offered allocations: refuse their use, prevent offers, discard content */
bool pagoda_offer_refuses(const struct pagoda_bo *bo);
int pagoda_offer_prevent(struct pagoda_bo **bos, u32 count);
void pagoda_offer_allow(struct pagoda_bo **bos, u32 count);
bool pagoda_offer_can_discard(struct pagoda_bo *bo, struct ttm_resource *to);
void pagoda_offer_discarded(struct pagoda_bo *bo);
void pagoda_offer_torn(struct pagoda_bo *bo);
int pagoda_offer_drop(struct pagoda_bo *bo);
void pagoda_offer_swap_notify(struct pagoda_bo *bo);

/* victims.c: evictions that the user asks for by debugfs `trim`; bytes evicted to trim VRAM */
int pagoda_vidmm_trim(struct pagoda_vidmm *vidmm, u64 bytes);
u64 pagoda_vidmm_trimmed(struct pagoda_vidmm *vidmm);

/*
 * placement.c: apply a change of an allocation's priority, handle or offer; TTM placements for
 * each purpose of a move
 */
void pagoda_priority_apply(struct pagoda_bo *bo);
/* pagoda_bo_placement_*() fill @places, of at least 4 entries, and return the number filled. */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_free(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_modest(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_shared(struct pagoda_bo *bo, struct ttm_place *places);

/*
 * place.c: bring an allocation to a placement, or ahead of a queued job to VRAM; segment/reserve.c:
 * or into the reserve
 */
int pagoda_bo_place(struct pagoda_bo *bo,
		    u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		    struct pagoda_operation *op);
int pagoda_bo_place_ahead(struct pagoda_bo *bo, u64 when, struct pagoda_operation *op);
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);

#endif
