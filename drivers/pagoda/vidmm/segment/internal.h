/* SPDX-License-Identifier: GPL-2.0 */
/* Structs and functions that only the files of this room use. */
#ifndef PAGODA_VIDMM_SEGMENT_INTERNAL_H
#define PAGODA_VIDMM_SEGMENT_INTERNAL_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include "core/compat.h"
#include "segment.h"

struct dma_fence;
struct pagoda_bo;
struct pagoda_cpu_range;
struct pagoda_device_info;
struct pagoda_extent;
struct pagoda_vidmm;
struct ttm_operation_ctx;
struct ttm_tt;

/**
 * struct pagoda_dummy - Page behind unmapped addresses of the aperture (dummy.c)
 * @mem: The page; zeros, unless the device wrote to an unmapped address
 * @flush: Another page, which WRITE_PHYSICAL writes to
 * @fence: The page that each paging buffer writes its number to at its end
 * @lock: Protects @found, @offset and @value
 * @found: Number of times that the page wasn't zeros
 * @offset: Offset in bytes of the last stray word
 * @value: The last stray word
 */
struct pagoda_dummy {
	struct pagoda_sysmem mem;
	struct pagoda_sysmem flush;
	struct pagoda_sysmem fence;
	spinlock_t lock;	/* found, offset, value */
	u64 found;
	u32 offset;
	u64 value;
};

/**
 * struct pagoda_swizzle_range - A swizzling range
 * @link: In pagoda_swizzle.lru
 * @id: Number of the range; constant
 * @bo: Allocation that the range is assigned to, or NULL; also protected by the allocation's
 *	reservation
 * @fence: Copy through the window that must be finished before another allocation can get the
 *	range, or NULL
 * @shown: The CPU may have written to the window: the content is in the window, and the device
 *	uses neither the window nor @bo; protected by the reservation of @bo
 * @dead: The device left a command about the range unanswered: the range is never used again,
 *	until a reset
 *
 * Protected by pagoda_swizzle.lock, except as said above.
 */
struct pagoda_swizzle_range {
	struct list_head link;
	u32 id;
	struct pagoda_bo *bo;
	struct dma_fence *fence;
	bool shown;
	bool dead;
};

/**
 * struct pagoda_swizzle - All swizzling ranges
 * @lock: Protects the ranges and @lru. Not held while a command waits for the device
 * @lru: Ranges: free ones first, the range with the latest page fault last
 * @ranges: Array of all ranges
 * @cpu: Ranges as the CPU executor sees them; the owner of a range fills its entry in while no
 *	packet that names the range is under way
 * @window: Kernel address of all windows
 */
struct pagoda_swizzle {
	struct mutex lock;	/* ranges, lru */
	struct list_head lru;
	struct pagoda_swizzle_range *ranges;
	struct pagoda_cpu_range *cpu;
	u8 *window;
};

/**
 * struct pagoda_device_mmu - Device addresses
 * @lock: Protects @mm, @own, @kept and @kept_own. Taken under the stream's lock: no memory is
 *	allocated with @lock held
 * @mm: Addresses in pages; page 0 is excluded
 * @own: struct pagoda_sysmem that are mapped, in the order of mapping
 * @kept: struct pagoda_tt with a failed UNMAP_MMU
 * @kept_own: struct pagoda_sysmem with a failed UNMAP_MMU
 * @gone: The device is gone or never executes anything again
 */
struct pagoda_device_mmu {
	struct mutex lock;	/* mm, own, kept, kept_own */
	struct drm_mm mm;
	struct list_head own;
	struct list_head kept;
	struct list_head kept_own;
	bool gone;
};

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

/* Returns whether @address is in the reserve. */
static inline bool pagoda_reserve_has(const struct pagoda_reserve *reserve, u64 address)
{
	return address >= reserve->start && address - reserve->start < reserve->size;
}

/**
 * struct pagoda_aperture - The aperture segment, TTM_PL_TT
 * @manager: TTM's view; its usage is the bytes of all resources, also of those without an address
 * @lock: Protects @mm, @mapped and @generation
 * @mm: Addresses in pages
 * @mapped: Pages that have an address, never more than the segment's size (C68)
 * @generation: Last number given to a mapping. The device refuses an access that names a mapping's
 *	number when the page has another mapping by then
 */
struct pagoda_aperture {
	struct ttm_resource_manager manager;
	struct mutex lock;	/* mm, mapped, generation */
	struct drm_mm mm;
	u64 mapped;
	u32 generation;
};

/* pages.c */
int pagoda_pages_alloc(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		       const struct ttm_operation_ctx *ctx);

/* reserve.c */
int pagoda_reserve_init(struct pagoda_vram *vram);
void pagoda_reserve_fini(struct pagoda_vram *vram);
u64 pagoda_reserve_used(struct pagoda_vram *vram);

/* vram_walk.c */
u64 pagoda_vram_chunk(const struct pagoda_device_info *info);

/* window.c */
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm);
void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm);
unsigned long pagoda_extents_pfn(const struct pagoda_extent *list, u32 count, u64 offset);
int pagoda_extents_map(const struct pagoda_extent *list, u32 count, u8 **window);
void pagoda_extents_unmap(const struct pagoda_extent *list, u32 count, u8 *window);

#if IS_ENABLED(CONFIG_KUNIT)
/* Allocations for KUnit to redirect; NULL means -ENOMEM. */
struct pagoda_vram_resource *pagoda_vram_new_resource(void);
struct pagoda_aperture_resource *pagoda_aperture_new_resource(void);
#endif

#endif
