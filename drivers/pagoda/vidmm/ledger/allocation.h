/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations: struct pagoda_bo and its parts, parameters of a new allocation; functions that offer
 * allocations and find unfinished work that uses an allocation.
 */
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
struct pagoda_track;
struct pagoda_vidmm;
struct pagoda_vm;
struct ttm_buffer_object;

/**
 * enum pagoda_offer - Whether an allocation is offered, and the order in which offered content is
 * discarded when VRAM is needed: first that of idle allocations, then that of others, both in the
 * order of these values
 * @PAGODA_OFFER_NONE: the allocation isn't offered
 * @PAGODA_OFFER_LOW: discarded first
 * @PAGODA_OFFER_NORMAL: discarded after all of %PAGODA_OFFER_LOW
 * @PAGODA_OFFER_HIGH: discarded last
 */
enum pagoda_offer {
	PAGODA_OFFER_NONE,
	PAGODA_OFFER_LOW,
	PAGODA_OFFER_NORMAL,
	PAGODA_OFFER_HIGH,
};

/**
 * PAGODA_PRIORITY_STEPS: number of ranks that pagoda_priority_step() may return: one for offered
 * allocations, the others for residency priorities
 */
#define PAGODA_PRIORITY_STEPS	18

/* Segments as bits of &pagoda_bo.supported and &pagoda_bo.eviction. */
#define PAGODA_VRAM_BIT		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define PAGODA_APERTURE_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

/* Flags of &pagoda_bo.content.aborted: set when a reset of the device ends paging. */
#define PAGODA_ABORTED_BY_RESET	BIT(0)	/* a reset ended a copy or fill of the content */
#define PAGODA_ABORTED_TO_BLAME	BIT(1)	/* paging of the allocation made the device fail (C190) */

/**
 * struct pagoda_bo_content - Content of an allocation, and what the device was told of the
 * content
 * @epoch: pagoda_reset_epoch() when the content got into VRAM: once that function returns another
 *	value, a reset of the device has lost that content, unless a rebuild finds it preserved
 * @copy: Kept copy (copy.c): the system pages that the allocation was brought to VRAM from. What
 *	they hold may be outdated, or the pages may be freed already. NULL = none
 * @track: Pages that the GPU wrote, for a client that called TRACK (bo/track.c); or NULL
 * @keeps_copy: A move to VRAM of an allocation on a residency list keeps the pages as @copy: true
 *	at first; each time that the allocation's count on a residency list is lowered, set to
 *	whether the client said that the content wasn't written. Neither changed nor used if the
 *	device tracks what it writes. Changed with pagoda_victims.lock held
 * @told: The device was notified that the allocation is resident, and hasn't been notified since
 *	that the allocation isn't resident any more
 * @released: The last reference is gone; operations that release the memory, if any, are emitted
 * @discardable: The content isn't needed: an eviction emits DISCARD_CONTENT instead of a copy. Set
 *	by KUnit tests only
 * @needs_idle: Fault injection, set by debugfs: while the allocation isn't idle, builders of
 *	transfers and DISCARD_CONTENT answer that the allocation is busy
 * @lost: Content was lost to a device failure or a reset, and the client hasn't acknowledged that;
 *	may be set in the dma_fence signalling path
 * @unclean: Content was lost or partly discarded, and the allocation hasn't been filled with zeros
 *	since; may be set in the dma_fence signalling path
 * @aborted: PAGODA_ABORTED_* bits; set in the dma_fence signalling path, read and cleared when the
 *	device is rebuilt after a reset
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_content {
	u64 epoch;
	struct pagoda_copy *copy;
	struct pagoda_track *track;
	bool keeps_copy;
	bool told;
	bool released;
	bool discardable;
	bool needs_idle;
	bool lost;
	bool unclean;
	atomic_t aborted;
};

/**
 * struct pagoda_bo_tiling - Geometry of a tiled surface, and the swizzling range through which the
 * CPU sees the surface in rows (swizzle.c)
 * @layout: Geometry, all zeros for an allocation that isn't tiled; constant
 * @range: Swizzling range of the allocation while in VRAM, or NULL; changed with the
 *	reservation and pagoda_swizzle.lock held
 * @is_tiled_in_system: The evicted content is tiled as in VRAM, not in rows
 * @alternate_view: The content was evicted from the window of a swizzling range, and comes back to
 *	the window of a range if a range is free at the move to VRAM
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
 * struct pagoda_bo_choice - State of an allocation for the choice of victims in VRAM (policy.c)
 * @item: The allocation, as the policy sees it
 * @tried: Entry in &pagoda_victims_search.tried or &pagoda_victims_search.held while a search for
 *	room has a reference to the allocation as a victim. That search moves the entry from one
 *	list to the other without the lock: other searches only look whether there is an entry
 * @kept: Entry in &pagoda_victims.kept while @keep is set
 * @jobs: Value of &pagoda_vm_uses.jobs of the VM that the allocation is private to, when the
 *	allocation was last marked as written, as clean or as just copied (written.c); 0 if the
 *	allocation isn't private
 * @in_vram: The policy was told that the allocation is in VRAM. Changed with the reservation held,
 *	too, unless no reference is left
 * @written: The content in VRAM may differ from &pagoda_bo.content.copy, or there is no copy. If
 *	the device tracks what it writes, only set if there is no copy, or the content moved within
 *	VRAM or was lost since the copy was made. Also read without a lock
 * @handed_out: The allocation had several handles at some time, so that other clients may have
 *	used it. Also read without a lock
 * @keep: The allocation isn't evicted, because the call that holds its reservation needs it.
 *	Changed with both the reservation and pagoda_victims.lock held; also read without a lock
 *
 * Protected by pagoda_victims.lock but for what is said above.
 */
struct pagoda_bo_choice {
	struct pagoda_policy_item item;
	struct list_head tried;
	struct list_head kept;
	u64 jobs;
	bool in_vram;
	bool written;
	bool handed_out;
	bool keep;
};

/**
 * struct pagoda_bo_wish - Where clients want an allocation to be
 * @resident: A request or a job made the allocation resident; cleared when EVICT is executed for an
 *	allocation that is on no residency list. Not changed by moves for want of room, or by OFFER
 * @released: EVICT took the allocation off the last residency list, or the last reference is gone:
 *	the allocation isn't wanted any more and isn't promoted after an eviction, until it is made
 *	resident again. Set without a lock
 * @trimmed: The allocation was evicted to trim VRAM: the allocation isn't promoted until it is made
 *	resident again
 * @priority: Residency priority, DRM_PAGODA_RESIDENCY_MINIMUM to _MAXIMUM
 * @promote: Entry among the allocations that wait for promotion to VRAM
 * @queued: Number of deferred jobs that list the allocation, and of MAKE_RESIDENT requests that
 *	wait: above 0 the allocation can't be offered
 * @waits: Number of entries of queued VM_BIND arrays that will map the allocation: above 0 the
 *	allocation can't be offered, EVICT leaves it where it is, and it is evicted to make room
 *	only if there is no other room (&pagoda_operation.urgent)
 * @required: Number of clients that have the allocation on their residency lists: above 0 EVICT
 *	leaves the allocation where it is, but the allocation may be evicted to make room
 * @requirements: List of struct pagoda_requirement, one for each client in @required; protected by
 *	pagoda_vidmm.required_lock
 * @owned: The allocation's entry in the residency list of &pagoda_bo.client, or NULL; protected
 *	by &pagoda_requirements.lock of that client
 * @named: &pagoda_settling.call of the last MAKE_RESIDENT call that found the allocation settled;
 *	protected by &pagoda_requirements.lock of &pagoda_bo.client
 * @settled: 1 + pagoda_reset_epoch() when MAKE_RESIDENT found nothing left to do for the
 *	allocation: settled while no reset has followed; 0 = not settled. Read without a lock
 *
 * Protected by the reservation but for what is said above; counters are atomic.
 */
struct pagoda_bo_wish {
	bool resident;
	bool released;
	bool trimmed;
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
 * @rank: %PAGODA_OFFER_NONE while the content isn't offered; read without a lock
 * @decommit: The pages of the offered content in system memory may be freed instead of swapped out
 * @discarded: The content, or a part of it, was dropped since the content was offered
 *
 * Protected by the reservation but for what is said above.
 */
struct pagoda_bo_offer {
	enum pagoda_offer rank;
	bool decommit;
	bool discarded;
};

/**
 * struct pagoda_vm_uses - Uses of a VM's private allocations, which jobs don't list one by one
 * @gpuvm: The VM's struct drm_gpuvm; a reference to it keeps the VM. Constant
 * @group: The VM's private allocations in the choice of victims; protected by pagoda_victims.lock
 * @bulk: Private allocations with a handle that aren't offered; each job moves all of them at once
 *	to the tail of TTM's LRU lists
 * @used_at: &pagoda_policy.clock after the VM's last submission; protected by
 *	pagoda_victims.lock
 * @jobs: Number of the VM's submissions so far; protected by pagoda_victims.lock
 */
struct pagoda_vm_uses {
	struct drm_gpuvm *gpuvm;
	struct pagoda_policy_group group;
	struct ttm_lru_bulk_move bulk;
	u64 used_at;
	u64 jobs;
};

/**
 * struct pagoda_bo_vm - Ties of an allocation to address spaces
 * @private_to: VM that the allocation is private to, a reference; or NULL. Constant
 * @uses: &pagoda_vm.uses of @private_to, or NULL. Constant
 * @shared: GEM object with the reservation that the allocation uses, or NULL; a reference,
 *	because TTM's object for the memory that a move leaves behind may keep the allocation
 *	longer than its VM. Constant
 * @table_of: VM that the allocation is a page table of, or NULL
 * @save_of: VM of the context that the allocation is the save area of, or NULL
 * @was_save: The allocation was the save area of a context that is gone; jobs of the context may
 *	still run
 * @behind: Of a page table that was dropped: reference to the fence of a TLB flush, until which the
 *	device may read the table; else NULL
 * @evicted: Entry in &pagoda_vm.evicted, &pagoda_vm.offered or &pagoda_vm.left_out of @private_to
 * @left_out: @evicted was put into &pagoda_vm.left_out, and hasn't been put into
 *	&pagoda_vm.evicted since; of an offered allocation: @evicted was in one of these two lists
 *	when the allocation was offered
 * @unique: A VM_BIND array mapped the allocation with PAGODA_PROTECTION_UNIQUE, or was refused, at
 *	some time: mappings of the allocation are compared (vm/bind_unique.c)
 * @opened: The allocation has a handle; kept for private allocations only
 * @had_handle: The allocation has or had a handle; kept for private allocations only
 * @fixed: The allocation counts in &pagoda_vm.fixed, as a page table or save area in VRAM, outside
 *	of the reserve
 *
 * Protected by the reservation; private allocations, page tables and save areas use that of their
 * VM.
 */
struct pagoda_bo_vm {
	struct pagoda_vm *private_to;
	struct pagoda_vm_uses *uses;
	struct drm_gem_object *shared;
	struct pagoda_vm *table_of;
	struct pagoda_vm *save_of;
	struct dma_fence *behind;
	struct list_head evicted;
	bool was_save;
	bool left_out;
	bool unique;
	bool opened;
	bool had_handle;
	bool fixed;
};

/**
 * struct pagoda_bo_share - Sharing of an allocation with other devices
 * @imported: dma-buf that the allocation was imported from, a reference; or NULL. Constant
 * @import: Attachment to @imported, a reference; NULL while not attached. Detached with the DRM
 *	core's object_name_lock held
 * @exported: dma-buf that exports the allocation, or NULL
 * @detach: Work that detaches @import and frees the allocation, when the last reference is dropped
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
 * struct pagoda_bo_params - Parameters of an allocation that is to be created; those from user
 * space are checked already
 * @size: Bytes, multiple of the page size
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Bits of the segments that the GPU may use the allocation in
 * @eviction: Bits of the segments that evictions may choose before system memory
 * @preferred: Segment ids, most preferred first, then zeros
 * @alignment: Bytes, a power of two; 0 = none
 * @layout: Geometry of a tiled surface, or all zeros
 * @vm: VM that the allocation is private to, a reference; or NULL
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
 * @ttm: TTM's object, which contains the GEM object
 * @vidmm: Manager
 * @client: Client that is charged; NULL for an imported allocation until it has a handle
 * @id: Number for traces and packets; never 0, never reused
 * @flags: DRM_PAGODA_ALLOCATION_* flags
 * @supported: Bits of the segments that the GPU may use the allocation in
 * @eviction: Bits of the segments that evictions may choose before system memory
 * @preferred: Supported segments that can hold the allocation, most preferred first, then zeros
 * @alignment: Bytes
 * @is_fence: The allocation is the page of a monitored fence: the device is told each new place of
 *	the page
 * @fence_left: Value that the CPU reads from the fence page once the device is gone (C184); no lock
 *	is needed
 * @content: Content, and what the device was told of it
 * @tiling: Geometry of a tiled surface
 * @choice: State for the choice of victims
 * @wish: Where clients want the allocation to be
 * @offer: Offer of the content
 * @vm: Ties to address spaces
 * @share: Sharing with other devices
 * @part: Part of the budget of @client that the allocation uses; @part.segment is changed with the
 *	reservation held, too
 * @evict_places: Placement that TTM was last given for an eviction; protected by the reservation
 *
 * A member for which no lock is named, here or in the member's struct, is constant once the
 * allocation has a handle.
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

/* Returns the allocation that contains a TTM object for which pagoda_bo_is_ours() is true. */
static inline struct pagoda_bo *pagoda_bo_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_bo, ttm);
}

/* Returns whether an allocation is in VRAM. The caller holds the allocation's reservation. */
static inline bool pagoda_bo_is_in_vram(const struct pagoda_bo *bo)
{
	return bo->ttm.resource && bo->ttm.resource->mem_type == TTM_PL_VRAM;
}

int pagoda_offer(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count, u32 priority,
		 u32 flags);

struct dma_fence *pagoda_access_user(struct pagoda_bo *bo, enum dma_resv_usage usage);

#endif
