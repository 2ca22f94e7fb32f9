// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and writes of an allocation's content for ptrace and /proc/<pid>/mem.
 *
 * The CPU accesses system pages, VRAM in the CPU window, and tiled allocations whose swizzling
 * range is shown. Other VRAM is accessed page by page: the device copies the page to a bounce page,
 * which the CPU reads or writes, and, if the CPU wrote, copies the bounce page back to VRAM. Tiled
 * allocations in VRAM that aren't shown are accessed likewise; the device converts tiles to rows
 * and back. Content that is in tiles in system pages can't be accessed.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/slab.h>
#include "core/core.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "ttm.h"

/* struct bounce - system page that the device copies to or from; @adl lists this page only */
struct bounce {
	struct pagoda_sysmem mem;
	struct pagoda_adl adl;
};

static void bounce_free(struct pagoda_vidmm *vidmm, struct pagoda_sysmem *mem)
{
	pagoda_sysmem_free_page(vidmm, mem);
	kfree(container_of(mem, struct bounce, mem));
}

static struct bounce *bounce_create(struct pagoda_vidmm *vidmm)
{
	struct bounce *b = kzalloc(sizeof(*b), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!b)
		return ERR_PTR(-ENOMEM);
	ret = pagoda_sysmem_alloc(vidmm, &b->mem);
	if (ret) {
		kfree(b);
		return ERR_PTR(ret);
	}
	b->adl = (struct pagoda_adl) {
		.nr_pages = 1,
		.contiguous = true,
		.base = b->mem.address,
		.cpu_pages = &b->mem.page,
	};
	ret = pagoda_sysmem_map(vidmm, &b->mem, &b->mem.page);
	if (!ret)
		return b;
	pagoda_sysmem_release(vidmm, &b->mem, bounce_free);
	return ERR_PTR(ret);
}

/*
 * Returns a READ_PHYSICAL of the bounce page: before the read the device's write combiner writes
 * the last bytes of a copy to the page (C51).
 */
static struct pagoda_paging_op bounce_flush_op(struct bounce *b)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_READ_PHYSICAL,
		.access_physical = {
			.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
			.address = b->mem.address,
			.size = sizeof(u64),
			.cpu_pages = &b->mem.page,
		},
	};
}

/*
 * Has the device copy a page of the allocation, at @address in VRAM and @offset in the allocation,
 * to the bounce page, or from the bounce page if @to_vram. Waits for all work that uses the
 * allocation, and for the end of the copy. Returns 0 or a negative errno.
 */
static int bounce_copy(struct bounce *b, struct pagoda_bo *bo, u64 address, u64 offset,
		       bool to_vram)
{
	bool tiled = bo->tiling.layout.tiling;
	const struct pagoda_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = tiled ? address - offset : address,
	};
	const struct pagoda_side system = {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.adl = &b->adl,
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = bo->id,
		.needs_idle = bo->content.needs_idle,
		.transfer = {
			.offset = tiled ? offset : 0,
			.size = PAGE_SIZE,
			.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
			.src = to_vram ? system : vram,
			.dst = to_vram ? vram : system,
			.layout = bo->tiling.layout,
			.surface_size = tiled ? bo->ttm.base.size : 0,
		},
	};
	struct pagoda_paging_op flush = bounce_flush_op(b);
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	int ret, done;

	if (tiled)
		op.transfer.flags |= to_vram ? VIRTIO_PAGODA_TRANSFER_SWIZZLE :
					       VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	cost = pagoda_stream_cost(vidmm, &op);
	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &flush), 1);
	pagoda_stream_wait_resv(vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
	ret = pagoda_stream_begin(&txn, vidmm, bo, PAGODA_STREAM_WAITS_NOT, bo->ttm.base.resv,
				  DMA_RESV_USAGE_BOOKKEEP, &cost);
	if (ret)
		return ret;
	ret = pagoda_stream_emit(&txn, &op);
	if (!ret && !to_vram)
		ret = pagoda_stream_emit(&txn, &flush);
	done = pagoda_stream_end_wait(&txn);
	return ret ?: done;
}

static int access_bounced(struct pagoda_bo *bo, u64 address, u64 offset, void *buf, u32 len,
			  bool write)
{
	u32 in_page = offset_in_page(address);
	struct bounce *b = bounce_create(bo->vidmm);
	int ret;

	if (IS_ERR(b))
		return PTR_ERR(b);
	ret = bounce_copy(b, bo, address - in_page, offset - in_page, false);
	if (!ret && write) {
		memcpy_to_page(b->mem.page, in_page, buf, len);
		ret = bounce_copy(b, bo, address - in_page, offset - in_page, true);
	} else if (!ret) {
		memcpy_from_page(buf, b->mem.page, in_page, len);
	}
	pagoda_sysmem_release(bo->vidmm, &b->mem, bounce_free);
	return ret;
}

static int access_system(struct pagoda_bo *bo, u64 offset, void *buf, u32 len, bool write)
{
	struct page *page = bo->ttm.ttm->pages[offset >> PAGE_SHIFT];

	if (write)
		memcpy_to_page(page, offset_in_page(offset), buf, len);
	else
		memcpy_from_page(buf, page, offset_in_page(offset), len);
	return 0;
}

static int access_memory(u8 *memory, void *buf, u32 len, bool write)
{
	if (write)
		memcpy(memory, buf, len);
	else
		memcpy(buf, memory, len);
	return 0;
}

/*
 * Returns whether the CPU can't reach all of the content itself, but some only by copies that the
 * device makes after the jobs that use the allocation.
 */
static bool access_is_bounced(struct pagoda_bo *bo)
{
	return pagoda_bo_is_in_vram(bo) &&
	       (bo->tiling.layout.tiling ? !pagoda_swizzle_is_shown(bo) :
				    !pagoda_vram_is_visible(bo->vidmm, bo->ttm.resource));
}

/*
 * Returns a reference to an unsignalled fence for which pagoda_move_access() may wait, and not
 * interruptibly; or NULL. The caller holds the reservation.
 */
struct dma_fence *pagoda_access_blocker(struct pagoda_bo *bo)
{
	return pagoda_access_user(bo, access_is_bounced(bo) ? DMA_RESV_USAGE_BOOKKEEP :
							      DMA_RESV_USAGE_KERNEL);
}

/*
 * Copies @len bytes, all in one page, from the allocation to @buf, or to the allocation if @write.
 * Bytes of one page are also contiguous in VRAM. Returns 0 or a negative errno.
 */
static int access_page(struct pagoda_bo *bo, u64 offset, void *buf, u32 len, bool write)
{
	const struct pagoda_device_info *info = bo->vidmm->info;
	u8 *window = pagoda_vram_window(bo->vidmm);
	struct pagoda_vram_cursor cur;

	if (bo->ttm.resource->mem_type != TTM_PL_VRAM)
		return access_system(bo, offset, buf, len, write);
	if (pagoda_swizzle_is_shown(bo))
		return access_memory(pagoda_swizzle_window(bo) + offset, buf, len, write);
	pagoda_vram_first(&cur, bo->ttm.resource, offset, len);
	if (bo->tiling.layout.tiling || !window || cur.address + len > info->visible_size)
		return access_bounced(bo, cur.address, offset, buf, len, write);
	return access_memory(window + cur.address, buf, len, write);
}

/*
 * Copies @len bytes from @buf to the allocation if @write is set, else from the allocation to
 * @buf, wherever the content is. Waits, uninterruptibly, for the fences of pagoda_access_blocker().
 * Returns @len; -ENODATA if the allocation is offered; -EACCES if its evicted content is in tiles,
 * not in rows; or another negative errno. The caller holds the reservation. May sleep and allocate.
 */
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write)
{
	struct ttm_operation_ctx ctx = {};
	int done, ret;
	u32 piece;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (pagoda_offer_refuses(bo))
		return -ENODATA;
	pagoda_stream_wait_resv(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL);
	ret = pagoda_lost_settle(bo);
	/* Take a swizzling range away that isn't shown: writes below change the tiles only. */
	if (!ret && !pagoda_swizzle_is_shown(bo))
		ret = pagoda_swizzle_release(bo);
	/*
	 * Content that was evicted in tiles, without conversion to rows, can't be read here: the
	 * caller expects rows.
	 */
	if (!ret && bo->tiling.is_tiled_in_system)
		ret = -EACCES;
	if (!ret && bo->ttm.resource->mem_type != TTM_PL_VRAM)
		ret = pagoda_pages_populate(bo, &ctx);
	if (ret)
		return ret;
	if (write && len)
		pagoda_copy_touched(bo, offset, len);
	for (done = 0; done < len; done += piece) {
		piece = min_t(u32, len - done, PAGE_SIZE - offset_in_page(offset + done));
		ret = access_page(bo, offset + done, buf + done, piece, write);
		if (ret)
			return ret;
	}
	return len;
}
