// SPDX-License-Identifier: GPL-2.0
/*
 * CPU access to VRAM: page frames for page faults, and one mapping for the kernel. The functions
 * for lists of extents also serve the windows of swizzling ranges.
 *
 * The device describes the visible part of VRAM as a list of extents, because VRAM may be
 * scattered pages of the machine. List and mapping don't change while VRAM is in use, so there is
 * no lock.
 */
#include <linux/io.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "core/core.h"
#include "core/info.h"
#include "internal.h"
#include "segment.h"

/*
 * Returns the page frame number of byte @offset of the extents in @list, which are sorted by
 * offset, begin at offset 0 and have no gaps.
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
 * pagoda_vram_pfn() - Page frame of a page of a resource in VRAM
 * @vidmm: Memory manager
 * @res: Resource in VRAM, all of it CPU-visible
 * @page_offset: Number of the page, from the start of the resource
 *
 * Context: Caller holds the reservation of the allocation.
 * Return: Page frame number to map for the CPU.
 */
unsigned long pagoda_vram_pfn(struct pagoda_vidmm *vidmm, struct ttm_resource *res,
			      unsigned long page_offset)
{
	struct pagoda_vram_cursor cur;

	pagoda_vram_first(&cur, res, (u64)page_offset << PAGE_SHIFT, PAGE_SIZE);
	return pagoda_extents_pfn(vidmm->info->window, vidmm->info->nr_window, cur.address);
}

/* Maps extents of RAM, which has struct pages, cached. Returns the kernel address or NULL. */
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

/*
 * Maps extents of I/O memory, cached. Returns the kernel address; NULL on failure, and always
 * without CONFIG_VMAP_PFN.
 */
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

/*
 * Maps the extents in @list, which are sorted, begin at offset 0 and have no gaps, for the kernel
 * as a single range. Returns 0; -EINVAL if some but not all extents are RAM with struct pages; or
 * -ENOMEM, also for several extents of I/O memory without CONFIG_VMAP_PFN. On failure *@window is
 * NULL.
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

/* Undoes pagoda_extents_map(), which returned @window; may sleep. */
void pagoda_extents_unmap(const struct pagoda_extent *list, u32 count, u8 *window)
{
	if (count == 1 && !window_count_ram(list, count))
		memunmap(window);
	else
		vunmap(window);
}

/*
 * Maps the CPU-visible part of VRAM for the kernel; &pagoda_vram.window stays NULL if no part is
 * visible. Returns 0, -EINVAL if only some of the extents are RAM with struct pages, or -ENOMEM.
 */
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;

	if (!info->visible_size)
		return 0;
	return pagoda_extents_map(info->window, info->nr_window, &vidmm->vram->window);
}

void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_vram *vram = vidmm->vram;

	if (!vram->window)
		return;
	pagoda_extents_unmap(info->window, info->nr_window, vram->window);
	vram->window = NULL;
}
