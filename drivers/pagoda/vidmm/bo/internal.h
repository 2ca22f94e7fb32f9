/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that only the files of bo/ use. */
#ifndef PAGODA_VIDMM_BO_INTERNAL_H
#define PAGODA_VIDMM_BO_INTERNAL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "vidmm/ledger/allocation.h"
#include "vidmm/segment/segment.h"

struct dma_resv;
struct pagoda_dmem_claim;
struct pagoda_operation;
struct pagoda_vidmm;
struct shrinker;
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_placement;
struct ttm_resource_manager;

/* All kept copies: the system pages that allocations in VRAM were brought from (copy.c). */
struct pagoda_copies {
	atomic64_t bytes;		/* sum of the sizes of copies that have pages */
	u64 limit;			/* largest value that @bytes may have; constant */
	spinlock_t lock;		/* protects lists, listed, delay; taken in reclaim, too */
	struct list_head list;		/* struct pagoda_copy that is to be kept, oldest first */
	unsigned long listed;		/* pages of the copies in @list; also read without @lock */
	struct list_head unwanted;	/* struct pagoda_copy whose pages @work is to free */
	struct list_head locked;	/* struct pagoda_copy that @work couldn't lock */
	unsigned long delay;		/* jiffies before @retry runs the next time */
	struct workqueue_struct *wq;	/* for @work and @retry only */
	struct work_struct work;
	struct delayed_work retry;	/* moves the copies in @locked to @unwanted, for @work */
	struct shrinker *shrinker;	/* fills @unwanted; NULL once unregistered */
};

/**
 * struct pagoda_victims_search - A search for victims (victims.c)
 * @tried: Victims, evicted or not, that the search doesn't try again
 * @held: Victims passed over because another thread holds their reservations
 * @aside: What the policy isn't to choose: private allocations of VMs whose reservations can't be
 *	locked now, with an allocation of each VM in @tried or @held, whose reference keeps the VM;
 *	and, if TTM chooses the other victims, all allocations that aren't offered
 *
 * The lists hold references; their entries are &pagoda_bo.choice.tried.
 */
struct pagoda_victims_search {
	struct list_head tried;
	struct list_head held;
	struct pagoda_policy_aside aside;
};

/**
 * struct pagoda_placing - An allocation that is brought to its place, as a part of an operation
 * @op: The operation
 * @claim: Claim of the allocation on the room that evictions make (segment/claim.c)
 * @windows: Number of attempts to free a contiguous range of VRAM for the allocation (window.c)
 * @when: The queued job that the allocation comes ahead of, as pagoda_policy_is_later() wants it;
 *	used by pagoda_victims_take_later() only
 * @look_us: Microseconds of the last wait for another operation's search (victims.c)
 * @waited_ns: Nanoseconds that all waits for other operations took together
 */
struct pagoda_placing {
	struct pagoda_operation *op;
	struct pagoda_vram_claim claim;
	u32 windows;
	u64 when;
	u32 look_us;
	u64 waited_ns;
};

/**
 * typedef pagoda_take_fn - Makes room for @want at @place by evicting victims that @claim allows
 * @want: Allocation that needs room, reservation held
 * @place: Place in VRAM where @want needs room
 * @placing: Brings @want to its place
 * @claim: Says which victims may be evicted; notes refusals
 * @search: Search that the victim is chosen in
 *
 * Return: true if there may be room now: victims were evicted, or a wait for another operation is
 * over; false if the caller is not to call again: nothing can be evicted, waits took too long or
 * are impossible, or a signal came.
 */
typedef bool (*pagoda_take_fn)(struct pagoda_bo *want, const struct ttm_place *place,
			       struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			       struct pagoda_victims_search *search);

/*
 * dmem.c: which cgroups' memory may be evicted (struct pagoda_dmem_claim); whether an allocation is
 * charged to the current task's cgroup
 */
void pagoda_dmem_claim_look(struct pagoda_dmem_claim *claim, struct ttm_resource_manager *man,
			    u64 size);
bool pagoda_dmem_claim_again(struct pagoda_dmem_claim *claim);
void pagoda_dmem_claim_end(struct pagoda_dmem_claim *claim);
bool pagoda_dmem_may_take(struct pagoda_dmem_claim *claim, struct pagoda_bo *bo);
bool pagoda_dmem_is_own(struct pagoda_bo *bo);

/* window.c: evict allocations that lie in the cheapest contiguous part of VRAM */
bool pagoda_window_take(struct pagoda_bo *want, const struct ttm_place *place,
			struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			struct pagoda_victims_search *search);

/* victims.c: choose, lock and evict victims */
struct pagoda_bo *pagoda_victims_next(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
				      struct pagoda_victims_search *search);
void pagoda_victims_pass_over(struct pagoda_bo *bo, const struct dma_resv *mine,
			      struct pagoda_victims_search *search);
bool pagoda_victims_take(struct pagoda_bo *want, struct pagoda_bo *victim,
			 const struct ttm_place *place, struct pagoda_operation *op,
			 struct pagoda_dmem_claim *claim);
bool pagoda_victims_lock(struct pagoda_bo *bo, const struct dma_resv *mine,
			 const struct ttm_operation_ctx *ctx);
void pagoda_victims_unlock(struct pagoda_bo *bo, const struct dma_resv *mine);
bool pagoda_victims_take_next(struct pagoda_bo *want, const struct ttm_place *place,
			      struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			      struct pagoda_victims_search *search);
bool pagoda_victims_take_later(struct pagoda_bo *want, const struct ttm_place *place,
			       struct pagoda_placing *placing, struct pagoda_dmem_claim *claim,
			       struct pagoda_victims_search *search);
int pagoda_victims_place(struct pagoda_bo *bo, const struct ttm_placement *placement,
			 struct pagoda_placing *placing, pagoda_take_fn take,
			 struct pagoda_dmem_claim *claim);
u64 pagoda_victims_trim(struct pagoda_vidmm *vidmm, u64 bytes, struct pagoda_dmem_claim *claim);

/*
 * placement.c: move an allocation to a TTM placement: only TTM makes room, or, in
 * pagoda_bo_place_taking(), only victims of a search do
 */
int pagoda_bo_move(struct pagoda_bo *bo,
		   u32 (*where)(struct pagoda_bo *bo, struct ttm_place *places),
		   struct ttm_operation_ctx *ctx);
int pagoda_bo_evict(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);
int pagoda_bo_place_taking(struct pagoda_bo *bo, const struct ttm_placement *placement,
			   struct pagoda_placing *placing, pagoda_take_fn take,
			   struct pagoda_dmem_claim *claim, struct pagoda_victims_search *search);

#endif
