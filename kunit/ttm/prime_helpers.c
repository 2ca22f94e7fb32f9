// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs of pages that belong to no driver, and what tests do with dma-bufs: import, export,
 * attach, access by jobs; see prime_helpers.h.
 */
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <drm/ttm/ttm_device.h>
#include "prime_helpers.h"

static struct sg_table *memory_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct prime_memory *memory = attach->dmabuf->priv;
	struct sg_table *sgt;
	int ret;

	if (memory->error)
		return ERR_PTR(memory->error);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table_from_pages(sgt, memory->pages, PRIME_PAGES, 0,
					PRIME_PAGES * PAGE_SIZE, GFP_KERNEL);
	if (ret)
		goto err_free;
	ret = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (ret)
		goto err_table;
	sg_dma_address(sgt->sgl) += memory->shift;
	memory->maps++;
	return sgt;

err_table:
	sg_free_table(sgt);
err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void memory_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct prime_memory *memory = attach->dmabuf->priv;

	sg_dma_address(sgt->sgl) -= memory->shift;
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
	memory->maps--;
}

static int memory_pin(struct dma_buf_attachment *attach)
{
	struct prime_memory *memory = attach->dmabuf->priv;

	memory->pins++;
	return 0;
}

static void memory_unpin(struct dma_buf_attachment *attach)
{
	struct prime_memory *memory = attach->dmabuf->priv;

	memory->pins--;
}

static void memory_release(struct dma_buf *dma_buf)
{
	struct prime_memory *memory = dma_buf->priv;

	memory->released = true;
}

static const struct dma_buf_ops memory_ops = {
	.map_dma_buf = memory_map,
	.unmap_dma_buf = memory_unmap,
	.release = memory_release,
};

static const struct dma_buf_ops memory_dynamic_ops = {
	.pin = memory_pin,
	.unpin = memory_unpin,
	.map_dma_buf = memory_map,
	.unmap_dma_buf = memory_unmap,
	.release = memory_release,
};

static void memory_free_pages(void *data)
{
	struct prime_memory *memory = data;
	u32 i;

	KUNIT_EXPECT_TRUE(memory->test, memory->released);
	KUNIT_EXPECT_EQ(memory->test, 0u, memory->maps);
	KUNIT_EXPECT_EQ(memory->test, 0u, memory->pins);
	for (i = 0; i < PRIME_PAGES; i++) {
		if (memory->pages[i])
			__free_page(memory->pages[i]);
		if (memory->other[i])
			__free_page(memory->other[i]);
	}
}

struct prime_memory *prime_memory(struct kunit *test, bool dynamic, size_t size)
{
	struct prime_memory *memory = kunit_kzalloc(test, sizeof(*memory), GFP_KERNEL);
	struct dma_buf_export_info info = {
		.exp_name = "pagoda-kunit",
		.owner = THIS_MODULE,
		.ops = dynamic ? &memory_dynamic_ops : &memory_ops,
		.size = size,
		.flags = O_RDWR,
		.priv = memory,
	};
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, memory);
	memory->test = test;
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, memory_free_pages, memory));
	for (i = 0; i < PRIME_PAGES; i++) {
		memory->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		memory->other[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_TRUE(test, memory->pages[i] && memory->other[i]);
	}
	memory->dma_buf = test_ok(test, dma_buf_export(&info));
	return memory;
}

void prime_move(struct prime_memory *memory)
{
	u32 i;

	dma_resv_lock(memory->dma_buf->resv, NULL);
	KUNIT_EXPECT_EQ(memory->test, 0u, memory->pins);
	dma_buf_invalidate_mappings(memory->dma_buf);
	dma_resv_wait_timeout(memory->dma_buf->resv, DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
	for (i = 0; i < PRIME_PAGES; i++) {
		memcpy(page_address(memory->other[i]), page_address(memory->pages[i]), PAGE_SIZE);
		memset(page_address(memory->pages[i]), 0xdb, PAGE_SIZE);
		swap(memory->pages[i], memory->other[i]);
	}
	dma_resv_unlock(memory->dma_buf->resv);
}

u64 *prime_word(struct prime_memory *memory, u64 offset)
{
	return page_address(memory->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

void prime_put(struct dma_buf *dma_buf)
{
	dma_buf_put(dma_buf);
	/* KUnit's threads are kernel threads, which leave the release of a file to a work item. */
	flush_delayed_fput();
}

struct pagoda_bo *prime_import(struct pagoda_rig *rig, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = test_ok(rig->test, pagoda_prime_import(rig->vidmm, dma_buf));

	return pagoda_bo_of_gem(obj);
}

struct dma_buf *prime_export(struct pagoda_bo *bo)
{
	struct dma_buf *dma_buf = pagoda_prime_export(bo, O_RDWR);

	return IS_ERR(dma_buf) ? NULL : dma_buf;
}

/* Attaches to the dma-buf and maps it: kernels differ in which of the two pins the memory. */
struct dma_buf_attachment *prime_attach(struct pagoda_rig *rig, struct dma_buf *dma_buf)
{
	struct dma_buf_attachment *attach = dma_buf_attach(dma_buf, rig->info.dma_dev);
	struct sg_table *sgt;

	if (IS_ERR(attach))
		return attach;
	sgt = dma_buf_map_attachment_unlocked(attach, DMA_BIDIRECTIONAL);
	if (IS_ERR(sgt)) {
		dma_buf_detach(dma_buf, attach);
		return ERR_CAST(sgt);
	}
	attach->importer_priv = sgt;
	return attach;
}

void prime_detach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	dma_buf_unmap_attachment_unlocked(attach, attach->importer_priv, DMA_BIDIRECTIONAL);
	dma_buf_detach(dma_buf, attach);
}

/* Takes the bus address for a physical address, as without an IOMMU. */
u64 *prime_attached_word(struct dma_buf_attachment *attach, u64 offset)
{
	struct sg_table *sgt = attach->importer_priv;
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (offset < sg_dma_len(sg))
			return phys_to_virt(sg_dma_address(sg) + offset);
		offset -= sg_dma_len(sg);
	}
	return NULL;
}

void prime_swap_out(struct submit_client *client)
{
	struct ttm_device *bdev = &client->rig->vidmm->ttm;
	struct ttm_operation_ctx ctx = {};

	while (ttm_device_swapout(bdev, &ctx, GFP_KERNEL) > 0)
		;
	KUNIT_ASSERT_EQ(client->rig->test, 0, pagoda_rig_to_aperture(client->code, false));
}

void prime_settle(struct pagoda_rig *rig)
{
	if (!rig->unplugged)
		pagoda_rig_settle(rig);
	/*
	 * Flush twice: the work that deletes a TTM object queues the work that detaches the
	 * dma-buf.
	 */
	flush_workqueue(rig->vidmm->ttm.wq);
	flush_workqueue(rig->vidmm->ttm.wq);
	flush_delayed_fput();
}

static int prime_run(struct submit_client *client, struct pagoda_bo *bo)
{
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };
	int ret = submit_job(client, &args);

	return ret ?: submit_wait(client);
}

int prime_store(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value)
{
	submit_store(client, PRIME_HERE + offset, value);
	return prime_run(client, bo);
}

int prime_compare(struct submit_client *client, struct pagoda_bo *bo, u64 offset, u64 value)
{
	submit_compare(client, PRIME_HERE + offset, value);
	return prime_run(client, bo);
}
