// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU's windows into VRAM: page frames for faults, one mapping for the kernel.
 *
 * The device describes a window as extents, because memory it takes from the
 * machine comes in pieces. Nothing changes after it was mapped: no lock.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/**
 * pagoda_extents_pfn() - Page frame behind an offset of an extent list
 * @list: Extents, sorted and without a gap
 * @count: Their number
 * @offset: Offset
 *
 * Return: Page frame number.
 */
unsigned long pagoda_extents_pfn(const struct pagoda_extent *list, u32 count, u64 offset)
{
	u32 low = 0;
	u32 high = count;

	while (high - low > 1) {
		u32 mid = low + (high - low) / 2;

		if (list[mid].offset <= offset)
			low = mid;
		else
			high = mid;
	}
	return PHYS_PFN(list[low].address + (offset - list[low].offset));
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
	return pagoda_extents_pfn(vidmm->info->window, vidmm->info->nr_window, cur.address);
}

/* Memory the kernel knows: the window is made of its pages, fully cached. */
static void *window_map_pages(const struct pagoda_extent *list, u32 count, u64 nr_pages)
{
	struct page **pages = kvmalloc_array(nr_pages, sizeof(*pages), GFP_KERNEL);
	void *window;
	u64 i;

	if (!pages)
		return NULL;
	for (i = 0; i < nr_pages; i++)
		pages[i] = pfn_to_page(pagoda_extents_pfn(list, count, i << PAGE_SHIFT));
	window = vmap(pages, nr_pages, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return window;
}

/* A BAR or the like in several pieces; few configurations have vmap_pfn(). */
static void *window_map_pfns(const struct pagoda_extent *list, u32 count, u64 nr_pages)
{
#ifdef CONFIG_VMAP_PFN
	unsigned long *pfns = kvmalloc_array(nr_pages, sizeof(*pfns), GFP_KERNEL);
	void *window;
	u64 i;

	if (!pfns)
		return NULL;
	for (i = 0; i < nr_pages; i++)
		pfns[i] = pagoda_extents_pfn(list, count, i << PAGE_SHIFT);
	window = vmap_pfn(pfns, nr_pages, PAGE_KERNEL);
	kvfree(pfns);
	return window;
#else
	return NULL;
#endif
}

static u32 window_count_ram(const struct pagoda_extent *list, u32 count)
{
	u32 ram = 0;
	u32 i;

	for (i = 0; i < count; i++)
		ram += pfn_valid(PHYS_PFN(list[i].address));
	return ram;
}

/**
 * pagoda_extents_map() - Map an extent list for the kernel
 * @list: Extents, sorted by offset, from 0 on without a gap
 * @count: Their number, not zero
 * @window: Out: address of the first byte; NULL on failure
 *
 * Context: may sleep and allocate.
 * Return: 0, -EINVAL if only some of it is memory the kernel knows, or -ENOMEM.
 */
int pagoda_extents_map(const struct pagoda_extent *list, u32 count, u8 **window)
{
	u64 size = list[count - 1].offset + list[count - 1].size;
	u32 ram = window_count_ram(list, count);

	*window = NULL;
	if (ram == count)
		*window = window_map_pages(list, count, size >> PAGE_SHIFT);
	else if (ram)
		return -EINVAL;
	else if (count == 1)
		*window = memremap(list[0].address, size, MEMREMAP_WB);
	else
		*window = window_map_pfns(list, count, size >> PAGE_SHIFT);
	return *window ? 0 : -ENOMEM;
}

/**
 * pagoda_extents_unmap() - Undo pagoda_extents_map()
 * @list: The extents
 * @count: Their number
 * @window: What it gave
 *
 * Context: may sleep; nobody uses the mapping any more.
 */
void pagoda_extents_unmap(const struct pagoda_extent *list, u32 count, u8 *window)
{
	if (count == 1 && !window_count_ram(list, count))
		memunmap(window);
	else
		vunmap(window);
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

	if (!info->visible_size)
		return 0;
	return pagoda_extents_map(info->window, info->nr_window, &vidmm->vram.window);
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
	pagoda_extents_unmap(info->window, info->nr_window, vram->window);
	vram->window = NULL;
}
