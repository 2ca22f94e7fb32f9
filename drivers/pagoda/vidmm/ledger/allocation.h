/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations and their placements. */
#ifndef PAGODA_VIDMM_LEDGER_ALLOCATION_H
#define PAGODA_VIDMM_LEDGER_ALLOCATION_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/pagoda_drm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include "paging/paging.h"
#include "budget.h"
#include "policy.h"
#include "promotion.h"

struct dma_buf;
struct drm_gem_object;
struct drm_gpuvm;
struct pagoda_client;
struct pagoda_copy;
struct pagoda_import;
struct pagoda_requirement;
struct pagoda_swizzle_range;
struct pagoda_vidmm;
struct pagoda_vm;
struct ttm_buffer_object;

/**
 * enum pagoda_offer - Order in which offered allocations are discarded
 * @PAGODA_OFFER_NONE: isn't offered
 * @PAGODA_OFFER_LOW: first
 * @PAGODA_OFFER_NORMAL: then
 * @PAGODA_OFFER_HIGH: last
 * @PAGODA_OFFER_RANKS: number of values
 */
enum pagoda_offer {
	PAGODA_OFFER_NONE,
	PAGODA_OFFER_LOW,
	PAGODA_OFFER_NORMAL,
	PAGODA_OFFER_HIGH,
	PAGODA_OFFER_RANKS
};

/** PAGODA_PRIORITY_STEPS: number of values that pagoda_priority_step() returns */
#define PAGODA_PRIORITY_STEPS	18

/* Segments as bits of &pagoda_bo.supported and &pagoda_bo.eviction. */
#define PAGODA_VRAM_BIT		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define PAGODA_APERTURE_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

/* Flags of &pagoda_bo.content.aborted: how a reset of the device ended paging of an allocation. */
#define PAGODA_ABORTED_BY_RESET	BIT(0)	/* some of the paging was given up */
#define PAGODA_ABORTED_TO_BLAME	BIT(1)	/* the device failed at that paging (C190) */

/**
 * struct pagoda_bo_content - Content of an allocation, and what the device knows of it
 * @epoch: pagoda_reset_epoch() when the content got into VRAM
 * @copy: Copy in system memory while the allocation is in VRAM (copy.c), or NULL
 * @keeps_copy: Keep a copy while the allocation is on a residency list: no client gave the
 *	allocation up yet, or the last client to do so said that the content wasn't written
 * @told: The device was told where the allocation is, and wasn't told since that it left
 * @discardable: The content isn't needed: eviction is DISCARD_CONTENT
 * @needs_idle: There is set-up that can't be queued besides the swizzling range (fault injection
 *	sets it)
 * @lost: Content was lost to a device failure; set in the dma_fence signalling path, sticky
 * @unclean: Content was lost, and not cleared since; set in the dma_fence signalling path
 * @aborted: PAGODA_ABORTED_* bits; set in the dma_fence signalling path, taken by the rebuild
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_content {
	u64 epoch;
	struct pagoda_copy *copy;
	bool keeps_copy;
	bool told;
	bool discardable;
	bool needs_idle;
	bool lost;
	bool unclean;
	atomic_t aborted;
};

/**
 * struct pagoda_bo_tiling - Geometry of a tiled surface, and how the CPU is shown it
 * @layout: Geometry, all zeros for an allocation that isn't tiled; constant
 * @range: Swizzling range of the allocation, or NULL; only in VRAM. Changed with the reservation
 *	and pagoda_swizzle.lock held
 * @is_tiled_in_system: The evicted content is tiled as in VRAM, not in rows
 * @alternate_view: Evicted out of a swizzling range that the CPU was shown
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_tiling {
	struct pagoda_layout layout;
	struct pagoda_swizzle_range *range;
	bool is_tiled_in_system;
	bool alternate_view;
};

/**
 * struct pagoda_bo_choice - What the policy knows of an allocation
 * @item: The policy's item
 * @tried: Entry in a caller's list of victims that were tried
 * @jobs: &pagoda_vm.jobs of its VM when @written or the policy's clean flag was last set
 * @in_vram: The policy was told that the allocation is in VRAM
 * @written: The content in VRAM may differ from the copy, or there is no copy
 * @handed_out: The allocation has or had several handles, which other clients may have
 * @keep: The call that holds the reservation needs the allocation where it is; changed with the
 *	reservation held, too
 * @makes_room: The allocation is being evicted for another one; protected by the reservation
 *
 * Protected by pagoda_victims.lock but for what is said above.
 */
struct pagoda_bo_choice {
	struct pagoda_policy_item item;
	struct list_head tried;
	u64 jobs;
	bool in_vram;
	bool written;
	bool handed_out;
	bool keep;
	bool makes_room;
};

/**
 * struct pagoda_bo_wish - Where clients want an allocation to be
 * @resident: Was made resident and not evicted on request since
 * @released: No client requires the allocation any more, or it was evicted by request: it leaves
 *	only when its place is needed, and isn't promoted afterwards. Set without a lock
 * @priority: Residency priority, DRM_PAGODA_RESIDENCY_MINIMUM to _MAXIMUM
 * @promote: Entry among the allocations that wait for promotion to VRAM
 * @queued: Number of waiting submissions that list the allocation, and of requests that are to make
 *	it resident
 * @waits: Number of waiting VM_BIND entries that map the allocation: above 0 it is evicted only if
 *	nothing else can be
 * @required: Number of clients that have the allocation on their residency lists: above 0 it is
 *	evicted only if nothing else can be
 * @requirements: struct pagoda_requirement, entries of these lists; protected by
 *	pagoda_vidmm.required_lock
 * @owned: Entry in the residency list of &pagoda_bo.client, or NULL; protected by
 *	&pagoda_requirements.lock of that client
 * @named: Number of the last call that found the allocation settled; protected as @owned
 * @settled: 1 + pagoda_reset_epoch() when MAKE_RESIDENT found nothing left to do, 0 otherwise;
 *	read without a lock
 *
 * Protected by the reservation but for what is said above; counters are atomic.
 */
struct pagoda_bo_wish {
	bool resident;
	bool released;
	u32 priority;
	struct pagoda_promote_item promote;
	atomic_t queued;
	atomic_t waits;
	atomic_t required;
	struct list_head requirements;
	struct pagoda_requirement *owned;
	u64 named;
	u64 settled;
};

/**
 * struct pagoda_bo_offer - Offer of an allocation's content
 * @rank: Rank of the offer, %PAGODA_OFFER_NONE if it isn't offered; read without a lock
 * @decommit: Offered with its pages in system memory
 * @discarded: The content was dropped since it was offered
 * @entry: In pagoda_offers.ranks while it is offered and in VRAM; protected by pagoda_offers.lock
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_offer {
	enum pagoda_offer rank;
	bool decommit;
	bool discarded;
	struct list_head entry;
};

/**
 * struct pagoda_vm_uses - What is known of a VM where its private allocations are chosen and placed
 * @gpuvm: The VM's mappings, which hold the VM; constant
 * @bulk: Private allocations with a handle in LRU order; each job moves all of them to the tail
 *	at once
 * @used_at: &pagoda_policy.clock behind the VM's last submission; protected by
 *	pagoda_victims.lock
 * @jobs: Number of submissions so far; protected by pagoda_victims.lock
 */
struct pagoda_vm_uses {
	struct drm_gpuvm *gpuvm;
	struct ttm_lru_bulk_move bulk;
	u64 used_at;
	u64 jobs;
};

/**
 * struct pagoda_bo_vm - Ties of an allocation to address spaces
 * @private_to: VM it is private to, a reference; or NULL. Constant
 * @uses: What @private_to shares with all of its allocations, or NULL. Constant
 * @shared: Object that shares its reservation with it, or NULL; a reference, because the resource
 *	that a move leaves behind may keep the allocation longer than its VM. Constant
 * @table_of: VM that it is a page table of, or NULL
 * @save_of: VM with the context that it is the save area of, or NULL
 * @evicted: Entry in &pagoda_vm.evicted of @private_to, or in another list of that VM
 * @left_out: If @evicted is in a list, the list is &pagoda_vm.left_out
 * @unique: Was mapped with unique driver protection at some time
 * @opened: Has a handle; kept for private allocations only
 * @had_handle: Has or had a handle; kept for private allocations only
 *
 * Protected by the reservation, which is the VM's for all but @unique.
 */
struct pagoda_bo_vm {
	struct pagoda_vm *private_to;
	struct pagoda_vm_uses *uses;
	struct drm_gem_object *shared;
	struct pagoda_vm *table_of;
	struct pagoda_vm *save_of;
	struct list_head evicted;
	bool left_out;
	bool unique;
	bool opened;
	bool had_handle;
};

/**
 * struct pagoda_bo_share - Sharing of an allocation with other devices
 * @imported: dma-buf that it was imported from, a reference; or NULL. Constant
 * @import: Attachment to @imported, a reference; NULL before it is attached and once it is
 *	detached, which happens with the core's object_name_lock held
 * @exported: dma-buf that was made of it, or NULL
 * @detach: Work that ends an import
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_share {
	struct dma_buf *imported;
	struct pagoda_import *import;
	struct dma_buf *exported;
	struct work_struct detach;
};

/**
 * struct pagoda_bo_params - Parameters of an allocation, as checked by ALLOCATION_CREATE
 * @size: Bytes, multiple of the page size
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Segment ids in order, then zeros
 * @alignment: Bytes, a power of two; 0 = none
 * @layout: Geometry of a tiled surface, or all zeros
 * @vm: VM it is private to, a reference is held; or NULL
 * @uses: &pagoda_vm.uses of @vm, or NULL
 */
struct pagoda_bo_params {
	u64 size;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
	struct pagoda_layout layout;
	struct pagoda_vm *vm;
	struct pagoda_vm_uses *uses;
};

/**
 * struct pagoda_bo - An allocation
 * @ttm: TTM's part, with the GEM object in it
 * @vidmm: Manager
 * @client: Client that is charged; NULL for an imported allocation until it has a handle
 * @id: Number for traces and packets; never 0, never reused
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Supported segments with enough memory for it, preferred ones first, then zeros
 * @alignment: Bytes
 * @is_fence: The allocation is the page of a monitored fence: the device is told where it is
 * @fence_left: Value that the fence page shows when the device is gone (C184)
 * @content: Content
 * @tiling: Geometry of a tiled surface
 * @choice: What the policy knows
 * @wish: Where clients want it
 * @offer: Offer of its content
 * @vm: Ties to address spaces
 * @share: Sharing with other devices
 * @part: Part of the budget of @client that the allocation uses; @part.segment is changed with the
 *	reservation held
 * @evict_places: Placement that TTM was last given for an eviction; protected by the reservation
 *
 * Members without a lock of their own are constant once there is a handle.
 */
struct pagoda_bo {
	struct ttm_buffer_object ttm;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	u64 id;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
	bool is_fence;
	u64 fence_left;
	struct pagoda_bo_content content;
	struct pagoda_bo_tiling tiling;
	struct pagoda_bo_choice choice;
	struct pagoda_bo_wish wish;
	struct pagoda_bo_offer offer;
	struct pagoda_bo_vm vm;
	struct pagoda_bo_share share;
	struct pagoda_budget_part part;
	struct ttm_place evict_places[4];
};

/* Returns the allocation around a TTM object for which pagoda_bo_is_ours(). */
static inline struct pagoda_bo *pagoda_bo_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_bo, ttm);
}

/* Returns whether an allocation is in VRAM. Caller holds its reservation. */
static inline bool pagoda_bo_is_in_vram(const struct pagoda_bo *bo)
{
	return bo->ttm.resource && bo->ttm.resource->mem_type == TTM_PL_VRAM;
}

int pagoda_offer(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 priority,
		 u32 flags);

struct dma_fence *pagoda_access_user(struct pagoda_bo *bo, enum dma_resv_usage usage);

#endif
