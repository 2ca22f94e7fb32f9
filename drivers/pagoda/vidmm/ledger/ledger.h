/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ledger: what the driver knows about allocations and clients. The ledger's functions move no
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
struct pagoda_held;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct pagoda_vm;
struct pagoda_vm_uses;
struct ttm_buffer_object;
struct ttm_resource;

/* Number of alignments in &pagoda_demand.slots: 8 KiB, 16 KiB, ..., 4 GiB. */
#define PAGODA_DEMAND_ALIGNMENTS	20

/* Most allocations that a walk looks at under a spinlock before pagoda_walk_pause(). */
#define PAGODA_WALK_SLICE		64

/**
 * struct pagoda_demand - What allocations need at the same time, by segment
 * @only_vram: Bytes of allocations that must be in VRAM
 * @only_aperture: Bytes of allocations that must have an address in the aperture
 * @either: Bytes of allocations that must have an address, in VRAM or in the aperture
 * @slots: By alignment: aligned pieces of VRAM that contiguous allocations of this or a larger
 *	alignment occupy, at least in part, if they must be in VRAM: no two of them share a piece
 */
struct pagoda_demand {
	u64 only_vram;
	u64 only_aperture;
	u64 either;
	u64 slots[PAGODA_DEMAND_ALIGNMENTS];
};

/**
 * struct pagoda_victims - Choice of the allocations that leave VRAM to make room
 * @lock: Protects @policy, its owners and groups, and the items of all allocations. Fences may be
 *	found signalled under this lock, and their callbacks run
 * @policy: Policy that chooses victims; its items are &pagoda_bo.choice.item
 * @unowned: Allocations without a client
 * @kept: Allocations with &pagoda_bo.choice.keep set, which aren't candidates of @policy
 * @nr_kept: Number of allocations in @kept
 * @nr_tried: Number of allocations in lists of victims that searches have tried
 * @asked: @policy chooses the victims; if false @policy is only told of uses, and TTM evicts
 *	the least recently used allocation
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
 * @counted: The call raises &pagoda_requirement.count of its allocations
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

/* written.c: whether an allocation in VRAM may have been written since its copy was made */
void pagoda_copy_shared(struct pagoda_bo *bo);
void pagoda_copy_begin(struct pagoda_bo *bo);
bool pagoda_copy_is_clean(struct pagoda_bo *bo);
void pagoda_copy_settle(struct pagoda_bo *bo);
void pagoda_copy_written(struct pagoda_bo *bo);

/* demand.c: bytes that allocations need at the same time, by segment */
void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo);
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand);

/* client.c: create a client, and drop a reference */
struct pagoda_client *pagoda_client_create(struct pagoda_vidmm *vidmm);
void pagoda_client_put(struct pagoda_client *client);
void pagoda_hold(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		 struct pagoda_client *client, u32 segment, u64 bytes);
void pagoda_hold_for(struct pagoda_vidmm *vidmm, struct pagoda_held *held,
		     struct pagoda_client *client);
void pagoda_let_go(struct pagoda_vidmm *vidmm, struct pagoda_held *held);

/* allocation.c: queries about the state of an allocation */
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

/* candidates.c: tell the policy which allocations come to VRAM, leave VRAM and are used */
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
void pagoda_victims_used(struct pagoda_vidmm *vidmm, struct pagoda_vm_uses *uses,
			 struct pagoda_bo **bos, u32 count);
u32 pagoda_priority_level(const struct pagoda_bo *bo);
u32 pagoda_priority_step(const struct pagoda_bo *bo);

/* settled.c: settled allocations, which MAKE_RESIDENT only counts */
void pagoda_settled_mark(struct pagoda_bo *bo, u64 epoch);
bool pagoda_settling_begin(struct pagoda_settling *settling, struct pagoda_vidmm *vidmm,
			   struct pagoda_client *client, bool counted);
u32 pagoda_settling_some(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_undo(struct pagoda_settling *settling, struct pagoda_bo **bos, u32 count);
void pagoda_settling_end(struct pagoda_settling *settling);

/* require.c: residency lists of clients */
void pagoda_require_forget(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_count(struct pagoda_client *client, struct pagoda_bo *bo);
u32 pagoda_require_clients(const struct pagoda_bo *bo);
void pagoda_require_left(struct pagoda_bo *bo, u32 group);

/* waiting.c: allocations that wait for promotion to VRAM */
void pagoda_promote_kick(struct pagoda_vidmm *vidmm);
void pagoda_promote_look(struct pagoda_bo *bo);
void pagoda_promote_forget(struct pagoda_bo *bo);

#endif
