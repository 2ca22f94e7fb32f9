/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Residency: makes lists of allocations resident, evicts and reclaims them, sets their priorities,
 * promotes; limits evictions for jobs; collects what a residency list adds to a job. pagoda_offer()
 * is in ledger/allocation.h.
 */
#ifndef PAGODA_VIDMM_RESIDENCY_RESIDENCY_H
#define PAGODA_VIDMM_RESIDENCY_RESIDENCY_H

#include <linux/types.h>

struct dma_fence;
struct drm_pagoda_stats;
struct drm_printer;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_operation;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct pagoda_vm;

/**
 * struct pagoda_pace - Pace: limit of what a submission evicts from VRAM (pace.c)
 * @client: Client whose tokens the submission spends
 * @left: Bytes of the submission's allocations that stayed out of VRAM because @client had no token
 */
struct pagoda_pace {
	struct pagoda_client *client;
	u64 left;
};

/*
 * residency.c: make lists of allocations resident, or evict them; test whether a list can fit or is
 * resident; wait for work that uses a list; have a list's fence also wait for other devices
 */
bool pagoda_residency_is_made(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			      bool again);
int pagoda_residency_make(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			  struct dma_fence **fence, u64 *bytes_to_trim);
void pagoda_residency_note(struct pagoda_bo **bos, u32 count);
int pagoda_residency_check(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   u64 *bytes_to_trim);
bool pagoda_residency_is_placed(const struct pagoda_bo *bo);
int pagoda_residency_await(struct pagoda_bo **bos, u32 count);
int pagoda_residency_evict(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   struct dma_fence **fence);
int pagoda_residency_and_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence);
void pagoda_residency_with_others(struct pagoda_bo **bos, u32 count, struct dma_fence **fence);
bool pagoda_residency_has_others(struct pagoda_vidmm *vidmm, struct dma_fence *fence);

/* reclaim.c: take offers of allocations back (RECLAIM) */
int pagoda_reclaim(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 *results,
		   bool all, struct dma_fence **fence);

/* priority.c: set residency priorities of allocations */
int pagoda_set_priority(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos,
			const u32 *priorities, u32 count);

/*
 * pace.c: place the allocations of a submission, within the limit of what a client's submissions
 * evict from VRAM; statistics of the limit
 */
void pagoda_client_stats(struct pagoda_client *client, struct drm_pagoda_stats *stats);
int pagoda_pace_place(struct pagoda_pace *pace, struct pagoda_bo *bo,
		      struct pagoda_operation *op);
int pagoda_pace_ahead(struct pagoda_client *client, struct pagoda_bo *bo, u64 when,
		      struct pagoda_operation *op);
void pagoda_pace_again(struct pagoda_vm *vm);
void pagoda_pace_settle(struct pagoda_pace *pace, struct pagoda_vm *vm, u64 context);

/*
 * promote.c: set up and end promotion, which brings evicted allocations back to free VRAM; print
 * the state of promotion for debugfs
 */
void pagoda_vidmm_print_promotion(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_promote_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_promote_stop(struct pagoda_vidmm *vidmm);

/* bound.c: collect the allocations of a client's residency list that a VM maps */
int pagoda_require_bound(struct pagoda_vm *vm, u64 job, struct pagoda_bo **named, u32 nr_named,
			 struct pagoda_bo ***bos, u32 *count);

#endif
