// SPDX-License-Identifier: GPL-2.0
/*
 * The memory manager as a whole: made at probe, stopped when the hardware goes,
 * destroyed when the last file is closed.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <pagoda/transport.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/* Marks what pagoda_vidmm_stop() keeps alive for a moment. */
#define VIDMM_HELD	XA_MARK_0

static void *vidmm_map_page(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return kmap_local_page(array[index]);
}

static void vidmm_unmap_page(void *address)
{
	kunmap_local(address);
}

static const void *vidmm_page_at(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return array[index];
}

static void vidmm_fini_executor(struct pagoda_vidmm *vidmm)
{
	kvfree(vidmm->executor.aperture);
	kvfree(vidmm->executor.generations);
}

/*
 * What the CPU needs to do the device's work. It has an aperture only when the device
 * does nothing at all: it can't change the device's, and must not say that it did.
 */
static int vidmm_init_executor(struct pagoda_vidmm *vidmm, bool use_cpu)
{
	struct pagoda_cpu_executor *exec = &vidmm->executor;
	u64 pages = vidmm->info->aperture_pages;

	*exec = (struct pagoda_cpu_executor) {
		.vram = vidmm->vram.window,
		.vram_size = vidmm->vram.window ? vidmm->vram.visible_size : 0,
		.map_page = vidmm_map_page,
		.unmap_page = vidmm_unmap_page,
		.page_at = vidmm_page_at,
	};
	if (!use_cpu)
		return 0;
	exec->aperture = kvcalloc(pages, sizeof(*exec->aperture), GFP_KERNEL);
	exec->generations = kvcalloc(pages, sizeof(*exec->generations), GFP_KERNEL);
	exec->aperture_pages = pages;
	if (exec->aperture && exec->generations)
		return 0;
	vidmm_fini_executor(vidmm);
	return -ENOMEM;
}

static int vidmm_init_dummy(struct pagoda_vidmm *vidmm)
{
	struct device *dev = vidmm->info->dma_dev;

	vidmm->dummy_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!vidmm->dummy_page)
		return -ENOMEM;
	vidmm->dummy_dma = dma_map_page(dev, vidmm->dummy_page, 0, PAGE_SIZE,
					DMA_BIDIRECTIONAL);
	if (!dma_mapping_error(dev, vidmm->dummy_dma))
		return 0;
	__free_page(vidmm->dummy_page);
	return -ENOMEM;
}

static void vidmm_fini_dummy(struct pagoda_vidmm *vidmm)
{
	dma_unmap_page(vidmm->info->dma_dev, vidmm->dummy_dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
	__free_page(vidmm->dummy_page);
}

/* The segments and the stream; TTM's device is there. */
static int vidmm_init_parts(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	int ret;

	ret = vidmm_init_dummy(vidmm);
	if (ret)
		return ret;
	ret = pagoda_vram_init(vidmm);
	if (ret)
		goto err_dummy;
	ret = pagoda_aperture_init(vidmm);
	if (ret)
		goto err_vram;
	ret = vidmm_init_executor(vidmm, args->use_cpu);
	if (ret)
		goto err_aperture;
	ret = pagoda_stream_init(vidmm, args);
	if (ret)
		goto err_executor;
	return 0;

err_executor:
	vidmm_fini_executor(vidmm);
err_aperture:
	pagoda_aperture_fini(vidmm);
err_vram:
	pagoda_vram_fini(vidmm);
err_dummy:
	vidmm_fini_dummy(vidmm);
	return ret;
}

static struct pagoda_vidmm *vidmm_alloc(const struct pagoda_vidmm_args *args)
{
	struct pagoda_vidmm *vidmm = kzalloc(sizeof(*vidmm), GFP_KERNEL);

	if (!vidmm)
		return NULL;
	vidmm->drm = args->drm;
	vidmm->info = args->info;
	xa_init(&vidmm->bos);
	init_rwsem(&vidmm->residency);
	get_device(vidmm->info->dma_dev);
	return vidmm;
}

static void vidmm_free(struct pagoda_vidmm *vidmm)
{
	put_device(vidmm->info->dma_dev);
	xa_destroy(&vidmm->bos);
	kfree(vidmm);
}

/**
 * pagoda_vidmm_create() - Make the memory manager of a device
 * @args: See struct pagoda_vidmm_args
 *
 * Context: Probe; may sleep.
 * Return: The manager or ERR_PTR.
 */
struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args)
{
	struct pagoda_vidmm *vidmm = vidmm_alloc(args);
	int ret;

	if (!vidmm)
		return ERR_PTR(-ENOMEM);
	ret = ttm_device_init(&vidmm->ttm, &pagoda_ttm_funcs, vidmm->info->dma_dev,
			      vidmm->drm->anon_inode->i_mapping,
			      vidmm->drm->vma_offset_manager, false, false);
	if (ret)
		goto err_free;
	ret = vidmm_init_parts(vidmm, args);
	if (ret)
		goto err_ttm;
	return vidmm;

err_ttm:
	ttm_device_fini(&vidmm->ttm);
err_free:
	vidmm_free(vidmm);
	return ERR_PTR(ret);
}

/*
 * Takes a reference to every allocation. One whose last reference is just being
 * dropped can't be held: false, it is gone soon.
 */
static bool vidmm_hold_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id;
	bool all = true;

	xa_lock(&vidmm->bos);
	xa_for_each(&vidmm->bos, id, bo) {
		if (xa_get_mark(&vidmm->bos, id, VIDMM_HELD))
			continue;
		if (kref_get_unless_zero(&bo->ttm.kref))
			__xa_set_mark(&vidmm->bos, id, VIDMM_HELD);
		else
			all = false;
	}
	xa_unlock(&vidmm->bos);
	return all;
}

static void vidmm_drop_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id;

	xa_for_each_marked(&vidmm->bos, id, bo, VIDMM_HELD) {
		xa_clear_mark(&vidmm->bos, id, VIDMM_HELD);
		ttm_bo_put(&bo->ttm);
	}
}

/**
 * pagoda_vidmm_stop() - The hardware goes
 * @vidmm: The manager; no ioctl and no fault is in it and none will come
 *
 * All work is done or given up and no page is mapped for the device any more.
 * What is left are allocations that can only be closed. Content is lost.
 *
 * TTM takes the pages away without asking who just closes an allocation: so all
 * of them are held until it is through.
 *
 * Context: May sleep for long.
 */
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm)
{
	flush_delayed_work(&vidmm->stream.flush);
	pagoda_queue_stop(vidmm->stream.queue);
	while (!vidmm_hold_all(vidmm)) {
		flush_workqueue(vidmm->ttm.wq);
		fsleep(USEC_PER_MSEC);
	}
	flush_workqueue(vidmm->ttm.wq);
	ttm_device_clear_dma_mappings(&vidmm->ttm);
	vidmm_drop_all(vidmm);
}

/**
 * pagoda_vidmm_destroy() - Undo pagoda_vidmm_create()
 * @vidmm: The manager, stopped or never used; no allocation has a handle or a
 *	mapping any more
 *
 * Context: May sleep.
 */
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm)
{
	flush_workqueue(vidmm->ttm.wq);
	pagoda_aperture_fini(vidmm);
	pagoda_vram_fini(vidmm);
	pagoda_stream_fini(vidmm);
	vidmm_fini_executor(vidmm);
	vidmm_fini_dummy(vidmm);
	ttm_device_fini(&vidmm->ttm);
	vidmm_free(vidmm);
}

/**
 * pagoda_vidmm_set_needs_idle() - Fault injection: make an allocation's set-up
 *	impossible to queue
 * @vidmm: The manager
 * @id: Allocation id
 *
 * Its next moves are answered ALLOCATION_BUSY until it is idle (C11 - C14).
 *
 * Context: Takes the reservation; may sleep.
 * Return: 0 or -ENOENT.
 */
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id)
{
	struct pagoda_bo *bo;

	xa_lock(&vidmm->bos);
	bo = xa_load(&vidmm->bos, id);
	if (bo && !kref_get_unless_zero(&bo->ttm.kref))
		bo = NULL;
	xa_unlock(&vidmm->bos);
	if (!bo)
		return -ENOENT;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	bo->needs_idle = true;
	dma_resv_unlock(bo->ttm.base.resv);
	ttm_bo_put(&bo->ttm);
	return 0;
}
