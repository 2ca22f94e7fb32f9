/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger: what the driver knows about allocations and clients: the state of allocations,
 * whether their content in VRAM is clean, victims, demand, clients and what they hold, settled
 * allocations, residency lists, allocations that wait for promotion. The ledger's functions move no
 * content; the other directories of vidmm/ act on what the ledger says.
 */
#ifndef PAGODA_VIDMM_LEDGER_LEDGER_H
#define PAGODA_VIDMM_LEDGER_LEDGER_H

#include <linux/atomic.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include "policy.h"

struct drm_gem_object;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_policy_coming;
struct pagoda_held;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct pagoda_vm;
struct pagoda_vm_uses;
struct ttm_buffer_object;
struct ttm_resource;

/* Number of sizes in &pagoda_demand.slots and @runs: 8 KiB, 16 KiB, ..., 4 GiB. */
#define PAGODA_DEMAND_ALIGNMENTS	20

/* Most allocations that a walk looks at under a spinlock before pagoda_walk_pause(). */
#define PAGODA_WALK_SLICE		64

/**
 * struct pagoda_demand - What allocations need at the same time, by segment
 * @only_vram: Bytes of allocations that must be in VRAM
 * @only_aperture: Bytes of allocations that must have an address in the aperture
 * @either: Bytes of allocations that must have an address, in VRAM or in the aperture
 * @slots: For each size of pieces: number of pieces of VRAM, aligned to their size, that contiguous
 *	allocations which must be in VRAM need, each for itself alone
 * @runs: For each size of pieces: number of whole pieces, at any address, in contiguous allocations
 *	which must be in VRAM
 */
struct pagoda_demand {
	u64 only_vram;
	u64 only_aperture;
	u64 either;
	u64 slots[PAGODA_DEMAND_ALIGNMENTS];
	u64 runs[PAGODA_DEMAND_ALIGNMENTS];
};

/**
 * struct pagoda_victims - Choice of the allocations that leave VRAM to make room
 * @lock: Protects @policy, its owners and groups, the items of all allocations, @kept and @nr_kept.
 *	Fences may be found signalled under this lock, and their callbacks run
 * @policy: Policy that chooses victims; its items are &pagoda_bo.choice.item
 * @unowned: Group of @policy for allocations without a client
 * @kept: Allocations with &pagoda_bo.choice.keep set, which aren't candidates of @policy
 * @nr_kept: Number of allocations in @kept
 * @nr_tried: Number of allocations in lists of victims that searches have tried
 * @asked: @policy chooses victims, and TTM only when @policy has no more; if false, @policy only
 *	chooses offered allocations and the victims of pagoda_victims_trim(), and TTM evicts the
 *	least recently used of all others
 * @trimmed: Bytes that pagoda_victims_trim() has evicted, for debugfs `trim` and for the reclaim of
 *	dmem cgroups
 */
struct pagoda_victims {
	spinlock_t lock;	/* protects policy, owners, groups, items, kept, nr_kept */
	struct pagoda_policy policy;
	struct pagoda_policy_group unowned;
	struct list_head kept;
	u32 nr_kept;
	u32 nr_tried;
	bool asked;
	atomic64_t trimmed;
};

/**
 * struct pagoda_settling - State of a MAKE_RESIDENT call that looks for allocations which need no
 * work, called settled (settled.c)
 * @client: Client; &pagoda_requirements.lock of its residency list is held
 * @counted: The call raises &pagoda_requirement.count of the settled allocations
 * @settled: Value of &pagoda_bo.wish.settled that means settled: 1 + pagoda_reset_epoch()
 * @call: Number of the call: value of &pagoda_bo.wish.named in allocations that the call has
 *	named
 */
struct pagoda_settling {
	struct pagoda_client *client;
	bool counted;
	u64 settled;
	u64 call;
};

/*
 * written.c: note that an allocation in VRAM was or may be written, or equals its new copy; test
 * whether its content is clean, and whether writes are noticed
 */
void pagoda_copy_shared(struct pagoda_bo *bo);
void pagoda_copy_begin(struct pagoda_bo *bo);
bool pagoda_copy_is_clean(struct pagoda_bo *bo);
void pagoda_copy_expect_written(struct pagoda_bo *bo);
bool pagoda_copy_is_tracked(struct pagoda_bo *bo);
bool pagoda_copy_is_watched(struct pagoda_bo *bo);
void pagoda_copy_settle(struct pagoda_bo *bo);
void pagoda_copy_written(struct pagoda_bo *bo);

/*
 * demand.c: add an allocation to a demand, the bytes and contiguous pieces that allocations need at
 * the same time; get the bytes of a demand that don't fit
 */
void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo);
void pagoda_demand_add_movable(struct pagoda_demand *demand, const struct pagoda_bo *bo);
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand);
u64 pagoda_demand_misfit_beside(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
				u64 fixed);

/* client.c: create a client (NULL = no memory), drop a reference; count what clients hold */
struct pagoda_client *pagoda_client_create(struct pagoda_vidmm *vidmm);
void pagoda_client_put(struct pagoda_client *client);
void pagoda_hold(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		 struct pagoda_client *client, u32 segment, u64 bytes);
void pagoda_hold_for(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		     struct pagoda_client *client);
void pagoda_let_go(struct pagoda_vidmm *vidmm, struct pagoda_held *held);

/* allocation.c: the state of an allocation: queries, and notes of changes; pauses of long walks */
struct pagoda_bo *pagoda_bo_of_gem(struct drm_gem_object *obj);
struct drm_gem_object *pagoda_bo_gem(struct pagoda_bo *bo);
bool pagoda_bo_is_usable_in(const struct pagoda_bo *bo, const struct pagoda_vm *vm);
void pagoda_wish_changed(struct pagoda_bo *bo);
void pagoda_bo_mark_lost(struct pagoda_bo *bo);
bool pagoda_bo_is_offered(const struct pagoda_bo *bo);
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo);
struct pagoda_client *pagoda_client_of_ttm(struct ttm_buffer_object *bo);
void pagoda_settled_clear(struct pagoda_bo *bo);
u32 pagoda_segment_of(const struct ttm_resource *res);
bool pagoda_bo_may_be_mapped(const struct pagoda_bo *bo);
void pagoda_walk_pause(void);

/*
 * candidates.c: tell the policy which allocations come to VRAM, leave VRAM, are kept, used, offered
 * or will be used, and which clients are over their budgets; spare victims that clients within
 * their budgets use; get levels of allocations, and ranks of residency priorities
 */
int pagoda_victims_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_victims_fini(struct pagoda_vidmm *vidmm);
void pagoda_victims_add(struct pagoda_bo *bo, struct pagoda_policy_lane *lane);
void pagoda_victims_remove(struct pagoda_bo *bo);
void pagoda_victims_enter(struct pagoda_victims *victims, struct pagoda_bo *bo);
void pagoda_victims_look_at_budgets(struct pagoda_victims *victims);
bool pagoda_victims_spare(struct pagoda_victims *victims, struct pagoda_bo *bo);
u32 pagoda_victims_level(struct pagoda_vidmm *vidmm, struct pagoda_bo *const *bos, u32 count);
void pagoda_victims_moved(struct pagoda_bo *bo, struct ttm_resource *to, bool visible);
void pagoda_victims_changed(struct pagoda_bo *bo);
void pagoda_victims_keep(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			 bool keep);
void pagoda_victims_expect(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			   struct pagoda_bo **bos, struct pagoda_policy_coming *coming, u32 count);
void pagoda_victims_forget(struct pagoda_vidmm *vidmm, struct pagoda_policy_coming *coming,
			   u32 count);
void pagoda_victims_used(struct pagoda_vidmm *vidmm, struct pagoda_vm_uses *uses,
			 struct pagoda_bo **bos, u32 count, const u32 *flags, u32 nr_flags);
u32 pagoda_priority_level(const struct pagoda_bo *bo);
u32 pagoda_priority_step(const struct pagoda_bo *bo);

/* settled.c: mark and find settled allocations, which MAKE_RESIDENT only counts */
void pagoda_settled_mark(struct pagoda_bo *bo, u64 epoch);
bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted);
u32 pagoda_settling_some(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_undo(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_end(struct pagoda_settling *settling);

/*
 * require.c: take an allocation off a client's residency list; get its count there, and the number
 * of clients that have it on their lists; report its eviction to these clients
 */
void pagoda_require_forget(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_count(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_clients(const struct pagoda_bo *bo);
void pagoda_require_left(struct pagoda_bo *bo, u32 group);

/* waiting.c: have promotion look for room; add and remove allocations that wait for promotion */
void pagoda_promote_kick(struct pagoda_vidmm *vidmm);
void pagoda_promote_look(struct pagoda_bo *bo);
void pagoda_promote_forget(struct pagoda_bo *bo);

#endif
