/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structs and functions that only files of segment/ and KUnit tests use: dummy page, swizzling
 * ranges, device MMU, reserve, VRAM with its claims, blocks and kernel mapping, aperture, pages.
 */
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
 * struct pagoda_dummy - Dummy, flush and fence page, and the stray writes found in the dummy page
 * (dummy.c)
 * @mem: Dummy page behind unmapped addresses of the aperture; zeros, unless the device wrote to
 *	such an address
 * @flush: Flush page: a WRITE_PHYSICAL to this page drains the device's write combiner
 * @fence: Fence page: each paging buffer writes its number there at its end
 * @lock: Protects @found, @offset and @value
 * @found: Number of inspections that found @mem not all zeros
 * @offset: Byte offset in @mem of the first word, not 0, that the last of these inspections found
 * @value: Value of the word at @offset when it was found
 */
struct pagoda_dummy {
	struct pagoda_sysmem mem;
	struct pagoda_sysmem flush;
	struct pagoda_sysmem fence;
	spinlock_t lock;	/* protects found, offset, value */
	u64 found;
	u32 offset;
	u64 value;
};

/**
 * struct pagoda_swizzle_range - A swizzling range: a window of the device through which the CPU
 * sees a tiled allocation in rows
 * @link: Entry in pagoda_swizzle.lru
 * @id: Number of the range; constant
 * @bo: Allocation that the range is assigned to, or NULL; also protected by the allocation's
 *	reservation
 * @fence: Fence of the last move of an allocation that had the range: must signal before another
 *	allocation can get the range; or NULL
 * @shown: The CPU may have written to the window: the content of @bo is in the window, and no
 *	work of the device uses the window or @bo; protected by the reservation of @bo
 * @dead: The device didn't answer a command about the range: the range isn't used until the
 *	device was reset
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
 * @lru: List of the ranges: free ranges first, the range with the latest page fault or assignment
 *	last
 * @ranges: Array of all ranges
 * @cpu: Ranges as the CPU executor sees them; an entry changes only while no packet that names
 *	the range is under way
 * @window: Kernel address of the first window; the windows are contiguous
 */
struct pagoda_swizzle {
	struct mutex lock;	/* protects ranges, lru */
	struct list_head lru;
	struct pagoda_swizzle_range *ranges;
	struct pagoda_cpu_range *cpu;
	u8 *window;
};

/**
 * struct pagoda_device_mmu - Device addresses of system memory (device_mmu.c)
 * @lock: Protects @mm, @own, @kept and @kept_own. Also taken under the stream's lock: no memory is
 *	allocated with @lock held
 * @mm: Device addresses in pages; page 0 is never given out
 * @own: List of struct pagoda_sysmem that are mapped, in the order of mapping
 * @kept: List of struct pagoda_tt with a failed UNMAP_MMU
 * @kept_own: List of struct pagoda_sysmem with a failed UNMAP_MMU
 * @gone: Nothing is mapped or unmapped: the stream doesn't work yet, or the device is gone or never
 *	executes anything again
 */
struct pagoda_device_mmu {
	struct mutex lock;	/* protects mm, own, kept, kept_own */
	struct drm_mm mm;
	struct list_head own;
	struct list_head kept;
	struct list_head kept_own;
	bool gone;
};

/**
 * struct pagoda_reserve - Reserve: the part of VRAM for page tables and save areas only
 * (reserve.c)
 * @start: Offset of the reserve in VRAM, in bytes; constant
 * @size: Bytes of the reserve, 0 = no reserve; constant
 * @mm: Buddy allocator of the reserve, with VRAM's addresses; those outside of the reserve are
 *	allocated for good
 * @outside: Blocks of @mm outside of the reserve, sorted by address
 * @placed: Number of calls of pagoda_reserve_place() since probe that placed an allocation
 * @refused: Number of calls of pagoda_reserve_place() since probe that failed; 0 without a reserve
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
 * @manager: TTM's resource manager; usage in bytes
 * @lock: Protects @mm, the reserve's allocator, @visible_used, @claims, @changes, @largest,
 *	@largest_at, @walks, writes of @frees, and changes of the block lists of resources
 * @mm: Buddy allocator of VRAM; pages that the device reports as invalid and the reserve are
 *	allocated for good
 * @reserved: Blocks of invalid pages and of the reserve, sorted by address
 * @reserve: Part of VRAM for page tables and save areas that find no other place
 * @visible_size: Bytes from offset 0 that the CPU can reach
 * @visible_used: CPU-visible bytes in use, without those of the reserve
 * @frees: Number of resources freed so far; read without @lock
 * @claims: Claims of operations that evict victims (claim.c), the oldest operation's first
 * @changes: Number of allocations and frees of resources so far
 * @largest: Bytes of the largest free range outside of the reserve when @changes was @largest_at
 * @largest_at: Value of @changes for which @largest holds; %U64_MAX = @largest isn't set yet
 * @walks: Number of times that all blocks were visited to find room for a contiguous allocation
 * @window: Kernel address of VRAM's visible part, virtually contiguous, or NULL
 */
struct pagoda_vram {
	struct pagoda_vidmm *vidmm;
	struct ttm_resource_manager manager;
	struct mutex lock;	/* protects mm, visible_used, claims, largest*, changes, walks */
	struct gpu_buddy mm;
	struct list_head reserved;
	struct pagoda_reserve reserve;
	u64 visible_size;
	u64 visible_used;
	u64 frees;
	struct list_head claims;
	u64 changes;
	u64 largest;
	u64 largest_at;
	u64 walks;
	u8 *window;
};

/* Returns whether @address, an offset in VRAM, is in the reserve. */
static inline bool pagoda_reserve_has(const struct pagoda_reserve *reserve, u64 address)
{
	return address >= reserve->start && address - reserve->start < reserve->size;
}

/**
 * struct pagoda_aperture - The aperture segment, TTM_PL_TT
 * @manager: TTM's resource manager; usage is the bytes of all resources, also of those without
 *	an address
 * @lock: Protects @mm, @mapped and @generation
 * @mm: Addresses in pages
 * @mapped: Pages that have an address, never more than the segment's size (C68)
 * @generation: Generation given to the last range, 0 if none was given out yet. The device refuses
 *	an operation that names a generation, not 0, if a page is mapped with another generation
 */
struct pagoda_aperture {
	struct ttm_resource_manager manager;
	struct mutex lock;	/* protects mm, mapped, generation */
	struct drm_mm mm;
	u64 mapped;
	u32 generation;
};

/* pages.c: allocate pages for an allocation */
long pagoda_pages_available(void);
int pagoda_pages_alloc(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		       const struct ttm_operation_ctx *ctx);

/* reserve.c: set up and take down the reserve's allocator; allocated bytes of the reserve */
int pagoda_reserve_init(struct pagoda_vram *vram);
void pagoda_reserve_fini(struct pagoda_vram *vram);
u64 pagoda_reserve_used(struct pagoda_vram *vram);

/* vram_walk.c: granularity of allocations in VRAM */
u64 pagoda_vram_chunk(const struct pagoda_device_info *info);

/* window.c: map visible VRAM or a list of extents for the kernel; find a page frame in a list */
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm);
void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm);
unsigned long pagoda_extents_pfn(const struct pagoda_extent *list, u32 count, u64 offset);
int pagoda_extents_map(const struct pagoda_extent *list, u32 count, u8 **window);
void pagoda_extents_unmap(const struct pagoda_extent *list, u32 count, u8 *window);

#if IS_ENABLED(CONFIG_KUNIT)
/*
 * pagoda_vram_new_resource(), pagoda_aperture_new_resource(): return a new, zeroed resource, or
 * NULL without memory. KUnit tests redirect the calls.
 */
struct pagoda_vram_resource *pagoda_vram_new_resource(void);
struct pagoda_aperture_resource *pagoda_aperture_new_resource(void);
#endif

/* vram_owners.c: stores which resource the blocks of VRAM belong to; finds a block by address */
void pagoda_vram_own(struct pagoda_vram_resource *res);
struct gpu_buddy_block *pagoda_vram_block_at(struct gpu_buddy *mm, u64 address);

/* claim.c: bytes of free VRAM that an allocation must leave to other allocations with claims */
u64 pagoda_vram_claimed(struct pagoda_vram *vram, const struct ttm_buffer_object *bo);

#endif
