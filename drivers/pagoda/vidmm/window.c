// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU's window into VRAM: page frames for faults, one mapping for the kernel.
 *
 * The device describes the window as extents, because memory it takes from the
 * machine comes in pieces. Nothing changes after it was mapped: no lock.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/* Extents are sorted and cover the visible part without a gap. */
static unsigned long window_pfn(const struct pagoda_device_info *info, u64 address)
{
	u32 low = 0;
	u32 high = info->nr_window;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (info->window[mid].offset <= address)
			low = mid;
		else
			high = mid;
	}
	return PHYS_PFN(info->window[low].address + (address - info->window[low].offset));
}

/**
 * pagoda_vram_pfn() - Page frame behind a page of a resource
 * @vidmm: Memory manager
 * @res: Resource in VRAM, all of it visible
 * @page_offset: Page of the resource
 *
 * Context: reservation of the allocation held.
 * Return: Page frame number to map for the CPU.
 */
unsigned long pagoda_vram_pfn(struct pagoda_vidmm *vidmm, struct ttm_resource *res,
			      unsigned long page_offset)
{
	struct pagoda_vram_cursor cur;

	pagoda_vram_first(&cur, res, (u64)page_offset << PAGE_SHIFT, PAGE_SIZE);
	return window_pfn(vidmm->info, cur.address);
}

/* Memory the kernel knows: the window is made of its pages, fully cached. */
static void *window_map_pages(const struct pagoda_device_info *info, u32 count)
{
	struct page **pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	void *window;
	u32 i;

	if (!pages)
		return NULL;
	for (i = 0; i < count; i++)
		pages[i] = pfn_to_page(window_pfn(info, (u64)i << PAGE_SHIFT));
	window = vmap(pages, count, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return window;
}

/* A BAR or the like in several pieces; few configurations have vmap_pfn(). */
static void *window_map_pfns(const struct pagoda_device_info *info, u32 count)
{
#ifdef CONFIG_VMAP_PFN
	unsigned long *pfns = kvmalloc_array(count, sizeof(*pfns), GFP_KERNEL);
	void *window;
	u32 i;

	if (!pfns)
		return NULL;
	for (i = 0; i < count; i++)
		pfns[i] = window_pfn(info, (u64)i << PAGE_SHIFT);
	window = vmap_pfn(pfns, count, PAGE_KERNEL);
	kvfree(pfns);
	return window;
#else
	return NULL;
#endif
}

static u32 window_count_ram(const struct pagoda_device_info *info)
{
	u32 count = 0;
	u32 i;

	for (i = 0; i < info->nr_window; i++)
		count += pfn_valid(PHYS_PFN(info->window[i].address));
	return count;
}

/**
 * pagoda_vram_map_window() - Map the visible part of VRAM for the kernel
 * @vidmm: Memory manager; vram.window stays NULL when nothing is visible
 *
 * Context: may sleep and allocate.
 * Return: 0, -EINVAL if only some of the window is memory the kernel knows, or
 * -ENOMEM.
 */
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_vram *vram = &vidmm->vram;
	u32 ram = window_count_ram(info);
	u32 count = info->visible_size >> PAGE_SHIFT;

	if (!info->visible_size)
		return 0;
	if (ram == info->nr_window)
		vram->window = window_map_pages(info, count);
	else if (ram)
		return -EINVAL;
	else if (info->nr_window == 1)
		vram->window = memremap(info->window[0].address, info->visible_size, MEMREMAP_WB);
	else
		vram->window = window_map_pfns(info, count);
	return vram->window ? 0 : -ENOMEM;
}

/**
 * pagoda_vram_unmap_window() - Undo pagoda_vram_map_window()
 * @vidmm: Memory manager
 *
 * Context: may sleep; nobody uses the mapping any more.
 */
void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_vram *vram = &vidmm->vram;

	if (!vram->window)
		return;
	if (info->nr_window == 1 && !window_count_ram(info))
		memunmap(vram->window);
	else
		vunmap(vram->window);
	vram->window = NULL;
}
