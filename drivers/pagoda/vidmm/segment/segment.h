/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: TTM's resource managers for VRAM and the aperture, with the reserve, claims of room,
 * the walk over ranges in VRAM and CPU access to VRAM; swizzling ranges; system pages of
 * allocations and of the driver (such as the dummy page), and their mappings in the device's MMU.
 */
#ifndef PAGODA_VIDMM_SEGMENT_SEGMENT_H
#define PAGODA_VIDMM_SEGMENT_SEGMENT_H

#include <linux/container_of.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_resource.h>
#include <drm/ttm/ttm_tt.h>
#include "paging/paging.h"
#include "vidmm/ledger/holdings.h"

struct dma_fence;
struct drm_pagoda_segment_info;
struct drm_printer;
struct gpu_buddy_block;
struct page;
struct pagoda_bo;
struct pagoda_bo_params;
struct pagoda_cpu_range;
struct pagoda_device_info;
struct pagoda_import;
struct pagoda_paging_op;
struct pagoda_stream_txn;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct pagoda_vm;
struct pagoda_vram;
struct ttm_buffer_object;
struct ttm_device;
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_resource;
struct ttm_tt;
struct workqueue_struct;

/**
 * struct pagoda_vram_claim - Claim of an operation on the room that its evictions make (claim.c)
 * @entry: In &pagoda_vram.claims
 * @bo: Allocation that the room is for; NULL = the claim isn't in use
 * @stamp: Stamp of the operation's ww ticket: the claim of the operation that began earlier, and
 *	so has the smaller stamp, comes first; %ULONG_MAX = no ticket: comes after all others
 * @bytes: Size of @bo
 * @last: The operation has no more victims: @bo may take room that other operations claim
 */
struct pagoda_vram_claim {
	struct list_head entry;
	const struct ttm_buffer_object *bo;
	unsigned long stamp;
	u64 bytes;
	bool last;
};

/**
 * enum pagoda_place - Places of an allocation, for the table that tells which operations a move
 * from one place to another needs
 * @PAGODA_PLACE_NONE: no resource: the allocation is new, or TTM has dropped the content
 * @PAGODA_PLACE_SYSTEM_EMPTY: TTM_PL_SYSTEM without content: no pages, none swapped out
 * @PAGODA_PLACE_SYSTEM: TTM_PL_SYSTEM with content
 * @PAGODA_PLACE_APERTURE: TTM_PL_TT without an address in the aperture
 * @PAGODA_PLACE_APERTURE_BOUND: TTM_PL_TT with an address in the aperture
 * @PAGODA_PLACE_VRAM: VRAM
 * @PAGODA_PLACE_COUNT: number of places
 */
enum pagoda_place {
	PAGODA_PLACE_NONE,
	PAGODA_PLACE_SYSTEM_EMPTY,
	PAGODA_PLACE_SYSTEM,
	PAGODA_PLACE_APERTURE,
	PAGODA_PLACE_APERTURE_BOUND,
	PAGODA_PLACE_VRAM,
	PAGODA_PLACE_COUNT
};

/**
 * struct pagoda_sysmem - Consecutive system pages that the device uses for the driver, not for
 * an allocation
 * @address: Address of the first page as the device uses it: a device address, or @dma without
 *	a device MMU
 * @dma: Bus address of the first page
 * @nr_pages: Number of pages
 * @node: Range of device addresses, in pages; not allocated without a device MMU
 * @page: The single page, if pagoda_sysmem_alloc() allocated it
 * @pages: Array of the pages for the CPU executor, valid while mapped
 * @link: Entry in pagoda_device_mmu.own while mapped, or in pagoda_device_mmu.kept_own after a
 *	failed UNMAP_MMU
 * @epoch: pagoda_reset_epoch() when the pages were last mapped
 * @free: Argument @free of pagoda_sysmem_release(), for pages that are kept in
 *	pagoda_device_mmu.kept_own
 */
struct pagoda_sysmem {
	u64 address;
	dma_addr_t dma;
	u32 nr_pages;
	struct drm_mm_node node;
	struct page *page;
	struct page *const *pages;
	struct list_head link;
	u64 epoch;
	void (*free)(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem);
};

/**
 * struct pagoda_tt - System pages of an allocation
 * @base: TTM's part
 * @allocation: Id of the allocation; the pages may outlive the allocation
 * @notify: Emit NOTIFY_ALLOC before the pages leave the device's address space
 * @node: Range of device addresses, in pages; allocated while populated, with a device MMU
 * @mapped: Fence of the last MAP_MMU of the pages, or NULL
 * @kept: Entry in pagoda_device_mmu.kept, only in a copy of the struct that has taken over pages
 *	which UNMAP_MMU failed to unmap
 * @epoch: pagoda_reset_epoch() when the pages were last mapped
 * @restarts: pagoda_stream_restarts() when the pages were last mapped; if paging was restarted
 *	after a reset since then, the device has lost the mapping
 * @import: dma-buf attachment of an imported allocation while its memory is mapped for the
 *	device, a reference; else NULL. @base.sg is the sg list
 * @release_import: Drops @import of a copy in pagoda_device_mmu.kept, once the device doesn't reach
 *	the memory any more
 * @pinned: Other devices use the pages, which are exported
 * @left: TTM unpopulated the pages while they were @pinned: the pages are freed with this struct
 *
 * Protected by the allocation's reservation until the allocation is freed.
 */
struct pagoda_tt {
	struct ttm_tt base;
	u64 allocation;
	bool notify;
	struct drm_mm_node node;
	struct dma_fence *mapped;
	struct list_head kept;
	u64 epoch;
	u64 restarts;
	struct pagoda_import *import;
	void (*release_import)(struct pagoda_tt *tt);
	bool pinned;
	bool left;
};

/* Returns the struct pagoda_tt that contains @tt, which pagoda_ttm_funcs created. */
static inline struct pagoda_tt *pagoda_tt_of(struct ttm_tt *tt)
{
	return container_of(tt, struct pagoda_tt, base);
}

/**
 * struct pagoda_vram_resource - An allocation's place in VRAM
 * @base: TTM's resource; @base.start is the page number in VRAM of the allocation's first byte
 * @blocks: Buddy blocks, in the order of the allocation's bytes
 * @visible: CPU-visible bytes of the resource; 0 if the resource is in the reserve
 * @held: Counts the place in a client's holding, or as held by no client
 */
struct pagoda_vram_resource {
	struct ttm_resource base;
	struct list_head blocks;
	u64 visible;
	struct pagoda_held held;
};

/**
 * struct pagoda_vram_cursor - Walk over the contiguous ranges of a VRAM resource
 * @address: Offset in VRAM of the current range
 * @size: Bytes of the current range that the walk covers; 0 = the walk is over
 * @clean: The current range is known to read as zeros; only in a walk of
 *	pagoda_vram_first_clean()
 * @split: Ranges also end where cleared blocks meet blocks that aren't cleared
 * @resource: Resource that is walked
 * @block: Last block of the current range
 * @left: Bytes that are left to walk, including those of the current range
 */
struct pagoda_vram_cursor {
	u64 address;
	u64 size;
	bool clean;
	bool split;
	struct pagoda_vram_resource *resource;
	struct gpu_buddy_block *block;
	u64 left;
};

/**
 * struct pagoda_aperture_resource - Place of an allocation in TTM_PL_TT: system pages that the
 * GPU may use
 * @base: TTM's part
 * @node: Range of aperture addresses in pages, allocated only if the placement had an upper
 *	limit (place->lpfn)
 * @generation: Generation of the mapping of @node, 0 if @node isn't allocated
 * @bound: A MAP of @node was emitted, and no UNMAP since; protected by the reservation
 * @cpu: Kernel address of the pages, if the allocation asked for a kernel address (C67); set
 *	before MAP, freed with the resource, but not before @unmapped is signalled
 * @unmapped: If @cpu is set, fence of the UNMAP of a move away; else NULL. When an allocation is
 *	freed or its content discarded, TTM frees the resource only after the UNMAP was executed
 * @cb: Callback on @unmapped, added when TTM frees the resource
 * @work: Frees @cpu and the resource after @unmapped
 * @wq: Work queue for @work
 * @held: Counts the place in a client's holding, or as held by no client
 */
struct pagoda_aperture_resource {
	struct ttm_resource base;
	struct drm_mm_node node;
	u32 generation;
	bool bound;
	void *cpu;
	struct dma_fence *unmapped;
	struct dma_fence_cb cb;
	struct work_struct work;
	struct workqueue_struct *wq;
	struct pagoda_held held;
};

/* Returns the struct pagoda_aperture_resource of a resource of the aperture. */
static inline struct pagoda_aperture_resource *pagoda_aperture_of(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_aperture_resource, base);
}

/*
 * aperture.c: the enum pagoda_place of a resource; the aperture segment, TTM_PL_TT: set-up, report,
 * addresses of resources, kernel addresses kept until the UNMAP was executed
 */
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res);
int pagoda_aperture_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_aperture_fini(struct pagoda_vidmm *vidmm);
void pagoda_aperture_report(struct pagoda_vidmm *vidmm, struct drm_pagoda_segment_info *info);
bool pagoda_aperture_has_address(struct ttm_resource *res);
void pagoda_aperture_unmapped(struct ttm_resource *res, struct dma_fence *fence);

/* claim.c: claim the room in VRAM that evictions make, against other allocations */
void pagoda_vram_claim(struct pagoda_vidmm *vidmm, struct pagoda_vram_claim *claim,
		       struct ttm_buffer_object *bo);
void pagoda_vram_unclaim(struct pagoda_vidmm *vidmm, struct pagoda_vram_claim *claim);

/* dummy.c: set up and get the dummy, flush and fence page; inspect the dummy page */
int pagoda_dummy_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
int pagoda_dummy_map(struct pagoda_vidmm *vidmm);
struct pagoda_sysmem *pagoda_dummy_mem(struct pagoda_vidmm *vidmm);
struct pagoda_sysmem *pagoda_dummy_flush(struct pagoda_vidmm *vidmm);
struct page *pagoda_dummy_fence_page(struct pagoda_vidmm *vidmm, u64 *address);
void pagoda_dummy_inspect(struct pagoda_vidmm *vidmm);
void pagoda_dummy_print(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_dummy_fini(struct pagoda_vidmm *vidmm);

/* reserve.c: size and place of the reserve; place a page table or save area in the reserve */
u64 pagoda_reserve_default(const struct pagoda_device_info *info);
int pagoda_reserve_plan(struct pagoda_vidmm *vidmm, u64 size);
bool pagoda_reserve_holds(const struct pagoda_vidmm *vidmm, const struct ttm_resource *res);
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);

/*
 * swizzle.c: layouts and moves of tiled allocations; swizzling ranges, in whose windows the CPU
 * sees tiled allocations in rows
 */
int pagoda_swizzle_validate(struct pagoda_vidmm *vidmm, const struct pagoda_bo_params *params,
			    const char **why);
int pagoda_swizzle_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_swizzle_forget(struct pagoda_vidmm *vidmm);
struct pagoda_cpu_range *pagoda_swizzle_cpu_ranges(struct pagoda_vidmm *vidmm);
void pagoda_swizzle_fini(struct pagoda_vidmm *vidmm);
bool pagoda_swizzle_is_shown(const struct pagoda_bo *bo);
int pagoda_swizzle_acquire(struct pagoda_bo *bo, struct dma_fence **busy);
int pagoda_swizzle_release(struct pagoda_bo *bo);
void pagoda_swizzle_drop(struct pagoda_bo *bo);
unsigned long pagoda_swizzle_pfn(struct pagoda_bo *bo, unsigned long page_offset);
u8 *pagoda_swizzle_window(struct pagoda_bo *bo);
void pagoda_swizzle_expect_job(struct pagoda_bo *bo);
struct pagoda_bo *pagoda_swizzle_find_private(struct pagoda_vidmm *vidmm,
					      const struct pagoda_vm *vm);
void pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to,
			 struct pagoda_paging_op *copy);
bool pagoda_swizzle_needs_idle(const struct pagoda_bo *bo, u32 operation);
int pagoda_swizzle_make_idle(struct pagoda_bo *bo, u32 operation);
void pagoda_swizzle_moved(struct pagoda_bo *bo, struct ttm_resource *to,
			  const struct pagoda_paging_op *copy, struct dma_fence *fence);
void pagoda_swizzle_undo(struct pagoda_bo *bo, struct ttm_resource *to);

/* vram.c: the VRAM segment: set-up, report, kernel address, what is free and what could fit */
int pagoda_vram_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_vram_fini(struct pagoda_vidmm *vidmm);
void pagoda_vram_report(struct pagoda_vidmm *vidmm, struct drm_pagoda_segment_info *info);
u8 *pagoda_vram_window(struct pagoda_vidmm *vidmm);
u64 pagoda_vram_frees(struct pagoda_vidmm *vidmm);
u64 pagoda_vram_largest_free(struct pagoda_vidmm *vidmm);
bool pagoda_vram_could_hold(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
			    u64 size, u64 align);

/*
 * device_mmu.c: mappings of allocations' and the driver's system pages in the device's MMU; pages
 * of the driver
 */
int pagoda_device_mmu_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_device_mmu_start(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_stop(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_fini(struct pagoda_vidmm *vidmm);
int pagoda_device_mmu_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
			       struct ttm_operation_ctx *ctx);
void pagoda_device_mmu_unpopulate(struct ttm_device *bdev, struct ttm_tt *ttm);
int pagoda_device_mmu_map(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt,
			  struct ttm_operation_ctx *ctx);
bool pagoda_device_mmu_unmap(struct pagoda_vidmm *vidmm, struct pagoda_tt *tt);
bool pagoda_device_mmu_is_gone(struct pagoda_vidmm *vidmm);
bool pagoda_device_mmu_is_stale(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
int pagoda_device_mmu_repair(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
int pagoda_device_mmu_remap(struct pagoda_vidmm *vidmm, struct ttm_tt *ttm);
void pagoda_device_mmu_drop_kept(struct pagoda_vidmm *vidmm);
struct pagoda_paging_cost pagoda_device_mmu_own_cost(struct pagoda_vidmm *vidmm);
void pagoda_device_mmu_remap_own(struct pagoda_vidmm *vidmm, struct pagoda_stream_txn *txn);
int pagoda_sysmem_alloc(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem);
void pagoda_sysmem_free_page(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem);
int pagoda_sysmem_reserve(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			  dma_addr_t dma, u32 nr_pages);
int pagoda_sysmem_map(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
		      struct page *const *pages);
void pagoda_sysmem_release(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem,
			   void (*free)(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem));

/* pages.c: give allocations their system pages, and free the pages */
int pagoda_pages_populate(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt);

/* vram_owners.c: find the allocations, not more than PAGODA_VRAM_OWNERS, in a range of VRAM */
#define PAGODA_VRAM_OWNERS	64
int pagoda_vram_owners(struct pagoda_vidmm *vidmm, u64 start, u64 size, struct pagoda_bo **bos,
		       u32 room);

/* vram_walk.c: contiguous ranges of a VRAM resource, its visibility, and TTM's flags for VRAM */
u32 pagoda_bo_vram_flags(u32 flags);
bool pagoda_vram_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res);
bool pagoda_vram_is_contiguous(struct ttm_resource *res);
u32 pagoda_vram_count_ranges(struct ttm_resource *res);
void pagoda_vram_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size);
void pagoda_vram_first_clean(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
			     u64 size, u64 epoch);
void pagoda_vram_next(struct pagoda_vram_cursor *cur, u64 size);

/* window.c: page frame by which the CPU sees a page of a resource in VRAM */
unsigned long pagoda_vram_pfn(struct pagoda_vidmm *vidmm, struct ttm_resource *res,
			      unsigned long page_offset);

#endif
