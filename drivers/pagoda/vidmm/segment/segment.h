/* SPDX-License-Identifier: GPL-2.0 */
/* The memory segments as TTM's resource managers; members of struct pagoda_vidmm. */
#ifndef PAGODA_VIDMM_SEGMENTS_H
#define PAGODA_VIDMM_SEGMENTS_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include "core/compat.h"

struct pagoda_bo;
struct pagoda_device_info;
struct pagoda_extent;
struct pagoda_vidmm;
struct ttm_operation_ctx;

/* ---- VRAM segment (vram.c) ---------------------------------------------- */

/**
 * struct pagoda_reserve - The part of VRAM for page tables and save areas only (reserve.c)
 * @start: First byte, constant
 * @size: Bytes, constant; 0 = no reserve
 * @mm: Allocator of the reserve; VRAM outside of the reserve is allocated for good
 * @outside: Blocks of @mm outside of the reserve, sorted by address
 * @placed: Number of allocations placed in the reserve since probe
 * @refused: Number of allocations that found no room in the reserve, nor elsewhere
 */
struct pagoda_reserve {
	u64 start;
	u64 size;
	struct gpu_buddy mm;
	struct list_head outside;
	atomic64_t placed;
	atomic64_t refused;
};

/**
 * struct pagoda_vram - The VRAM segment
 * @vidmm: Manager
 * @manager: TTM's view; usage in bytes
 * @lock: Protects @mm, the reserve's allocator, @visible_used and the block lists of resources
 * @mm: Allocator; pages reported invalid and the reserve are allocated for good
 * @reserved: Blocks of invalid pages and of the reserve, sorted by address
 * @reserve: Room for page tables and save areas that find no other place
 * @visible_size: Bytes from 0 the CPU can reach
 * @visible_used: CPU-visible bytes in use, without those of the reserve
 * @window: Kernel address of VRAM's visible part, virtually contiguous, or NULL
 */
struct pagoda_vram {
	struct pagoda_vidmm *vidmm;
	struct ttm_resource_manager manager;
	struct mutex lock;	/* mm, visible_used, block lists */
	struct gpu_buddy mm;
	struct list_head reserved;
	struct pagoda_reserve reserve;
	u64 visible_size;
	u64 visible_used;
	u8 *window;
};

/**
 * struct pagoda_vram_resource - An allocation's place in VRAM
 * @base: TTM's part; @base.start is the first page
 * @blocks: Buddy blocks in allocation order
 * @visible: CPU-visible bytes of the resource; 0 in the reserve
 */
struct pagoda_vram_resource {
	struct ttm_resource base;
	struct list_head blocks;
	u64 visible;
};

/**
 * struct pagoda_vram_cursor - Walk over the contiguous ranges of a VRAM resource
 * @address: Offset in VRAM of the current range
 * @size: Bytes of the current range, never more than @left; 0 = at the end
 * @clean: The range is known to read as zeros; only in a walk of pagoda_vram_first_clean()
 * @split: Ranges also end where clear blocks meet others
 * @resource: Resource that is walked
 * @block: Last block of the current range
 * @left: Bytes left of the walk, including the current range
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

/* Returns whether @address is in the reserve. */
static inline bool pagoda_reserve_has(const struct pagoda_reserve *reserve, u64 address)
{
	return address >= reserve->start && address - reserve->start < reserve->size;
}

int pagoda_reserve_plan(struct pagoda_vidmm *vidmm, u64 size);
int pagoda_reserve_init(struct pagoda_vram *vram);
void pagoda_reserve_fini(struct pagoda_vram *vram);
u64 pagoda_reserve_used(struct pagoda_vram *vram);
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);

u64 pagoda_vram_chunk(const struct pagoda_device_info *info);
int pagoda_vram_init(struct pagoda_vidmm *vidmm);
void pagoda_vram_fini(struct pagoda_vidmm *vidmm);
bool pagoda_vram_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res);
bool pagoda_vram_is_contiguous(struct ttm_resource *res);
u32 pagoda_vram_count_ranges(struct ttm_resource *res);
u64 pagoda_vram_largest_free(struct pagoda_vidmm *vidmm);
bool pagoda_vram_could_hold(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
			    u64 size, u64 align);
void pagoda_vram_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size);
void pagoda_vram_first_clean(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
			     u64 size, u64 epoch);
void pagoda_vram_next(struct pagoda_vram_cursor *cur, u64 size);
unsigned long pagoda_vram_pfn(struct pagoda_vidmm *vidmm, struct ttm_resource *res,
			      unsigned long page_offset);
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm);
void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm);
unsigned long pagoda_extents_pfn(const struct pagoda_extent *list, u32 count, u64 offset);
int pagoda_extents_map(const struct pagoda_extent *list, u32 count, u8 **window);
void pagoda_extents_unmap(const struct pagoda_extent *list, u32 count, u8 *window);

/* ---- Aperture segment (aperture.c) --------------------------------------- */

/**
 * struct pagoda_aperture - The aperture segment, TTM_PL_TT
 * @manager: TTM's view. System pages without an address count only in usage
 * @lock: Protects @mm, @mapped and @generation
 * @mm: Addresses in pages
 * @mapped: Pages that have an address, never more than the segment's size (C68)
 * @generation: Last generation given to a mapping
 */
struct pagoda_aperture {
	struct ttm_resource_manager manager;
	struct mutex lock;	/* mm, mapped, generation */
	struct drm_mm mm;
	u64 mapped;
	u32 generation;
};

/**
 * struct pagoda_aperture_resource - System pages the GPU may use in place
 * @base: TTM's part
 * @node: Range of aperture addresses, allocated only if the placement asked for one
 *	(place->lpfn != 0)
 * @generation: Generation of the mapping, 0 without an address
 * @bound: MAP was issued and no UNMAP since; protected by the reservation
 * @cpu: Kernel address of the pages while mapped, if the allocation asked for one
 *	(C67); set before MAP, freed with the resource, but not before @unmapped is signalled
 * @unmapped: Fence of the UNMAP if @cpu is set, NULL until the UNMAP was emitted
 * @cb: Callback on @unmapped, added when TTM frees the resource
 * @work: Frees @cpu and the resource after @unmapped
 * @wq: Work queue for @work
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
};

/* Returns the struct pagoda_aperture_resource of a resource of the aperture. */
static inline struct pagoda_aperture_resource *pagoda_aperture_of(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_aperture_resource, base);
}

int pagoda_aperture_init(struct pagoda_vidmm *vidmm);
void pagoda_aperture_fini(struct pagoda_vidmm *vidmm);
bool pagoda_aperture_has_address(struct ttm_resource *res);
void pagoda_aperture_unmapped(struct ttm_resource *res, struct dma_fence *fence);

#if IS_ENABLED(CONFIG_KUNIT)
/* Allocations for KUnit to redirect; NULL means -ENOMEM. */
struct pagoda_vram_resource *pagoda_vram_new_resource(void);
struct pagoda_aperture_resource *pagoda_aperture_new_resource(void);
#endif

#endif
