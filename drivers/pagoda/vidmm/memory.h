/* SPDX-License-Identifier: GPL-2.0 */
/* Memory behind allocations: what the device reaches, and what the CPU sees of it. */
#ifndef PAGODA_MEMORY_H
#define PAGODA_MEMORY_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_tt.h>
#include <pagoda/paging.h>
#include <pagoda/vidmm.h>

struct pagoda_stream_txn;

/* ---- Tiled allocations and the ranges the CPU sees them in (swizzle.c) ------- */

/**
 * struct pagoda_swizzle_range - A swizzling range
 * @link: In pagoda_swizzle.lru
 * @id: Its number; constant
 * @bo: Allocation that has it, or NULL
 * @fence: Copy through the window that must be through before another allocation can have it,
 *	or NULL
 * @shown: The CPU may have written to the window: that is what counts, and the device uses
 *	neither it nor @bo; changed with the reservation of @bo held
 * @dead: The device left a command about it unanswered: never used again
 *
 * Protected by pagoda_swizzle.lock; @bo changes with its reservation held too.
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
 * @lock: Protects the ranges and @lru. Nests in reservations; commands aren't waited
 *	for with it held
 * @lru: Ranges: free ones first, the one with the latest page fault last
 * @ranges: The ranges
 * @cpu: The same as the CPU executor sees them; whoever has a range fills its entry
 *	in while no packet that names it is under way
 * @window: Kernel address of all windows
 */
struct pagoda_swizzle {
	struct mutex lock;	/* ranges, lru */
	struct list_head lru;
	struct pagoda_swizzle_range *ranges;
	struct pagoda_cpu_range *cpu;
	u8 *window;
};

int pagoda_swizzle_init(struct pagoda_vidmm *vidmm);
void pagoda_swizzle_forget(struct pagoda_vidmm *vidmm);
void pagoda_swizzle_fini(struct pagoda_vidmm *vidmm);
bool pagoda_swizzle_is_shown(const struct pagoda_bo *bo);
int pagoda_swizzle_acquire(struct pagoda_bo *bo, struct dma_fence **busy);
int pagoda_swizzle_release(struct pagoda_bo *bo);
void pagoda_swizzle_drop(struct pagoda_bo *bo);
unsigned long pagoda_swizzle_pfn(struct pagoda_bo *bo, unsigned long page_offset);
u8 *pagoda_swizzle_window(struct pagoda_bo *bo);
void pagoda_swizzle_expect_job(struct pagoda_bo *bo);
int pagoda_swizzle_use(struct pagoda_bo *bo);
int pagoda_swizzle_use_private(struct pagoda_vidmm *vidmm, const struct pagoda_vm *vm);
void pagoda_swizzle_plan(struct pagoda_bo *bo, struct ttm_resource *to,
			 struct pagoda_paging_op *copy);
bool pagoda_swizzle_needs_idle(const struct pagoda_bo *bo, u32 operation);
int pagoda_swizzle_make_idle(struct pagoda_bo *bo, u32 operation);
void pagoda_swizzle_moved(struct pagoda_bo *bo, struct ttm_resource *to,
			  const struct pagoda_paging_op *copy, struct dma_fence *fence);
void pagoda_swizzle_undo(struct pagoda_bo *bo, struct ttm_resource *to);

/* ---- System memory as the device reaches it (device_mmu.c) ------------------ */

/**
 * struct pagoda_sysmem - Consecutive pages of the driver's own that the device uses
 * @address: What the device is told: a device address, or @dma if it has no MMU
 * @dma: Bus address of the first page
 * @nr_pages: Their number
 * @node: Device addresses, in pages; not allocated without a device MMU
 * @page: The only one, if pagoda_sysmem_alloc() got it
 * @pages: The pages, while mapped
 * @link: In pagoda_device_mmu.own while mapped, in .kept_own when they couldn't be unmapped
 * @epoch: When it was mapped, pagoda_reset_epoch()
 * @free: Frees the pages, and what this is a part of; see pagoda_sysmem_release()
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
 * struct pagoda_tt - Pages of an allocation
 * @base: TTM's part
 * @allocation: Its number; the pages may outlive it
 * @notify: NOTIFY_ALLOC before the pages leave the device's address space
 * @node: Device addresses in pages; allocated while populated, with a device MMU
 * @mapped: Fence behind the MAP_MMU, or NULL
 * @kept: In pagoda_device_mmu.kept
 * @epoch: When they were mapped, pagoda_reset_epoch()
 * @restarts: The same, &pagoda_stream.restarts
 * @attach: Of an imported allocation whose memory is mapped for the device (TTM's part
 *	has the sg list), else NULL
 * @pinned: Other devices have them
 * @left: Taken away while other devices had them: freed with this
 *
 * Protected as TTM's part is: by the reservation, or nobody else has it any more.
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
	struct dma_buf_attachment *attach;
	bool pinned;
	bool left;
};

/** pagoda_tt_of() - Pages around TTM's part; pagoda_ttm_funcs made it. */
static inline struct pagoda_tt *pagoda_tt_of(struct ttm_tt *tt)
{
	return container_of(tt, struct pagoda_tt, base);
}

/**
 * struct pagoda_device_mmu - Device addresses
 * @lock: Protects @mm, @own, @kept and @kept_own; innermost but for TTM's. Taken under the
 *	stream's lock: nobody allocates under it
 * @mm: Addresses in pages; page 0 isn't in it
 * @own: struct pagoda_sysmem that are mapped, in the order they were
 * @kept: pagoda_tt whose UNMAP_MMU failed
 * @kept_own: struct pagoda_sysmem whose did
 * @gone: There is no device that would have to be told
 */
struct pagoda_device_mmu {
	struct mutex lock;	/* mm, own, kept, kept_own */
	struct drm_mm mm;
	struct list_head own;
	struct list_head kept;
	struct list_head kept_own;
	bool gone;
};

void pagoda_device_mmu_init(struct pagoda_vidmm *vidmm);
int pagoda_device_mmu_start(struct pagoda_vidmm *vidmm);
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

/* ---- Pages of allocations (pages.c) ----------------------------------------- */

int pagoda_pages_alloc(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
		       const struct ttm_operation_ctx *ctx);
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt);

#endif
