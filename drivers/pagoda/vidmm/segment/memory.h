/* SPDX-License-Identifier: GPL-2.0 */
/* Memory behind allocations: as the device reaches it, and as the CPU sees it. */
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
#include "core/vidmm.h"
#include "paging/paging.h"

struct pagoda_stream_txn;

/* ---- Tiled allocations and the CPU's windows of them (swizzle.c) ------------ */

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
 * Protected by pagoda_swizzle.lock but for what is said above.
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
 * @lock: Protects the ranges and @lru. Nests in reservations. Not held while a command waits for
 *	the device
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
 * @address: Address for the device: a device address, or @dma if the device has no MMU
 * @dma: Bus address of the first page
 * @nr_pages: Number of pages
 * @node: Device addresses, in pages; not allocated without a device MMU
 * @page: The single page that pagoda_sysmem_alloc() allocated
 * @pages: Page array, valid while the pages are mapped
 * @link: In pagoda_device_mmu.own while mapped, in .kept_own after a failed UNMAP_MMU
 * @epoch: pagoda_reset_epoch() when the pages were mapped
 * @free: Frees the pages and the struct around this one; see pagoda_sysmem_release()
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
 * @allocation: Id of the allocation; the pages may outlive the allocation
 * @notify: Emit NOTIFY_ALLOC before the pages leave the device's address space
 * @node: Device addresses in pages; allocated while populated, with a device MMU
 * @mapped: Fence of the MAP_MMU, or NULL
 * @kept: In pagoda_device_mmu.kept
 * @epoch: pagoda_reset_epoch() when the pages were mapped
 * @restarts: &pagoda_stream.restarts when the pages were mapped
 * @import: Attachment of an imported allocation while its memory is mapped for the device
 *	(TTM's part has the sg list), a reference; else NULL
 * @pinned: Other devices use the pages
 * @left: TTM unpopulated the pages while other devices used them: they are freed with this struct
 *
 * Protected as @base is: by the reservation, or by being the last user.
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
	bool pinned;
	bool left;
};

/* Returns the struct pagoda_tt of a struct ttm_tt, which pagoda_ttm_funcs created. */
static inline struct pagoda_tt *pagoda_tt_of(struct ttm_tt *tt)
{
	return container_of(tt, struct pagoda_tt, base);
}

/**
 * struct pagoda_device_mmu - Device addresses
 * @lock: Protects @mm, @own, @kept and @kept_own. Innermost but for TTM's locks. Taken under the
 *	stream's lock: no memory is allocated with it held
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

int pagoda_device_mmu_init(struct pagoda_vidmm *vidmm);
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
int pagoda_pages_populate(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);
void pagoda_pages_free(struct pagoda_vidmm *vidmm, struct ttm_tt *tt);

#endif
