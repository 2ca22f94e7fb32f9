// SPDX-License-Identifier: GPL-2.0
/*
 * Looking in from outside: ptrace and /proc/<pid>/mem.
 *
 * VRAM that the CPU can reach is copied through the window. The rest of it is fetched
 * page by page by the device, into a bounce page and back.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/**
 * struct bounce - A page the device copies to or from
 * @page: The page
 * @dma: Its bus address
 * @adl: List of just this page
 */
struct bounce {
	struct page *page;
	dma_addr_t dma;
	struct pagoda_adl adl;
};

static int bounce_init(struct bounce *b, struct device *dev)
{
	b->page = alloc_page(GFP_KERNEL);
	if (!b->page)
		return -ENOMEM;
	b->dma = dma_map_page(dev, b->page, 0, PAGE_SIZE, DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, b->dma)) {
		__free_page(b->page);
		return -ENOMEM;
	}
	b->adl = (struct pagoda_adl) {
		.nr_pages = 1,
		.pages = &b->dma,
		.cpu_pages = &b->page,
	};
	return 0;
}

static void bounce_fini(struct bounce *b, struct device *dev)
{
	dma_unmap_page(dev, b->dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	__free_page(b->page);
}

/* One page from or to VRAM, waited for. */
static int bounce_copy(struct bounce *b, struct pagoda_bo *bo, u64 address, bool to_vram)
{
	const struct pagoda_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = address,
	};
	const struct pagoda_side system = {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.adl = &b->adl,
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = bo->id,
		.needs_idle = bo->needs_idle,
		.transfer = {
			.size = PAGE_SIZE,
			.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
			.src = to_vram ? system : vram,
			.dst = to_vram ? vram : system,
		},
	};
	struct pagoda_stream *stream = &bo->vidmm->stream;
	struct pagoda_paging_cost cost = pagoda_paging_cost(&stream->limits, &op, stream->room);
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	int ret;

	ret = pagoda_stream_begin(&txn, bo->vidmm, bo, bo->ttm.base.resv,
				  DMA_RESV_USAGE_BOOKKEEP, &cost);
	if (ret)
		return ret;
	ret = pagoda_stream_emit(&txn, &op);
	fence = pagoda_stream_end(&txn);
	if (fence) {
		dma_fence_wait(fence, false);
		if (!ret)
			ret = fence->error;
		dma_fence_put(fence);
	}
	return ret;
}

static int access_bounced(struct pagoda_bo *bo, u64 address, void *buf, u32 len, bool write)
{
	struct device *dev = bo->vidmm->info->dma_dev;
	u32 in_page = offset_in_page(address);
	struct bounce b;
	int ret;

	ret = bounce_init(&b, dev);
	if (ret)
		return ret;
	ret = bounce_copy(&b, bo, address - in_page, false);
	if (!ret && write) {
		memcpy_to_page(b.page, in_page, buf, len);
		ret = bounce_copy(&b, bo, address - in_page, true);
	} else if (!ret) {
		memcpy_from_page(buf, b.page, in_page, len);
	}
	bounce_fini(&b, dev);
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

/* Within one page, so within one range of VRAM. */
static int access_page(struct pagoda_bo *bo, u64 offset, void *buf, u32 len, bool write)
{
	struct pagoda_vram *vram = &bo->vidmm->vram;
	struct pagoda_vram_cursor cur;

	if (bo->ttm.resource->mem_type != TTM_PL_VRAM)
		return access_system(bo, offset, buf, len, write);
	pagoda_vram_first(&cur, bo->ttm.resource, offset, len);
	if (!vram->window || cur.address + len > vram->visible_size)
		return access_bounced(bo, cur.address, buf, len, write);
	if (write)
		memcpy(vram->window + cur.address, buf, len);
	else
		memcpy(buf, vram->window + cur.address, len);
	return 0;
}

/**
 * pagoda_move_access() - Read or write an allocation's bytes, wherever they are
 * @bo: Allocation, reservation held
 * @offset: First byte
 * @buf: Kernel buffer
 * @len: Bytes
 * @write: From @buf to the allocation, else the other way
 *
 * Context: May sleep and allocate.
 * Return: @len, or a negative errno.
 */
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write)
{
	struct ttm_operation_ctx ctx = {};
	int done, ret;
	u32 piece;

	dma_resv_wait_timeout(bo->ttm.base.resv, DMA_RESV_USAGE_KERNEL, false,
			      MAX_SCHEDULE_TIMEOUT);
	ret = pagoda_lost_clear(bo);
	if (!ret && bo->ttm.resource->mem_type != TTM_PL_VRAM)
		ret = ttm_tt_populate(bo->ttm.bdev, bo->ttm.ttm, &ctx);
	if (ret)
		return ret;
	for (done = 0; done < len; done += piece) {
		piece = min_t(u32, len - done, PAGE_SIZE - offset_in_page(offset + done));
		ret = access_page(bo, offset + done, buf + done, piece, write);
		if (ret)
			return ret;
	}
	return len;
}
