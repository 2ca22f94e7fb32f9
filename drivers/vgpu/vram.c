// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that the GPU works on: allocates VRAM and the windows of swizzling ranges, and finds
 * system memory by its bus address.
 *
 * VRAM consists of ordinary pages of the machine, allocated in the largest blocks available, 4 MiB
 * at most: no memory has to be set aside by a boot parameter. The engine accesses VRAM through a
 * contiguous mapping of the pages, the driver by the list of extents of the CPU window.
 */
#include <linux/gfp.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vgpu.h"

static_assert(PAGE_SIZE == VIRTIO_PAGODA_PAGE_SIZE, "VRAM is given out page by page");

#define PAGODA_VRAM_MAX_ORDER	min(MAX_PAGE_ORDER, 22 - PAGE_SHIFT)

/*
 * Adds a block of 2^@order pages, or the largest smaller block that is available, to @vram, up to
 * @wanted pages in all. Returns the block's order, or -ENOMEM.
 */
static int vram_grow(struct pagoda_vgpu_vram *vram, unsigned long wanted, int order)
{
	while ((1ul << order) > wanted - vram->nr_pages)
		order--;
	for (; order >= 0; order--) {
		gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
			    (order ? __GFP_NORETRY : 0);
		struct page *page = alloc_pages(gfp, order);
		unsigned long i;

		if (!page)
			continue;
		split_page(page, order);
		for (i = 0; i < 1ul << order; i++)
			vram->pages[vram->nr_pages++] = page + i;
		return order;
	}
	return -ENOMEM;
}

/*
 * Stores the extents of the first @visible bytes in @extents, unless @extents is NULL, and returns
 * their number. Pages that are contiguous in physical memory form one extent.
 */
static u32 vram_extents(const struct pagoda_vgpu_vram *vram, u64 visible,
			struct virtio_pagoda_extent *extents)
{
	u32 nr_extents = 0;
	u64 start = 0;
	u64 end;

	for (; start < visible; start = end) {
		phys_addr_t address = page_to_phys(vram->pages[start >> PAGE_SHIFT]);

		end = start + PAGE_SIZE;
		while (end < visible &&
		       page_to_phys(vram->pages[end >> PAGE_SHIFT]) == address + (end - start))
			end += PAGE_SIZE;
		if (extents) {
			extents[nr_extents].address = cpu_to_le64(address);
			extents[nr_extents].offset = cpu_to_le64(start);
			extents[nr_extents].size = cpu_to_le64(end - start);
		}
		nr_extents++;
	}
	return nr_extents;
}

/*
 * Allocates zeroed memory of @size bytes, a multiple of the page size, as VRAM or as the windows of
 * swizzling ranges; @vram->extents list the pages of the first @visible_size bytes. Returns 0 or
 * -ENOMEM. May sleep.
 */
int pagoda_vgpu_vram_init(struct pagoda_vgpu_vram *vram, u64 size, u64 visible_size)
{
	unsigned long wanted = size >> PAGE_SHIFT;
	int order = PAGODA_VRAM_MAX_ORDER;

	vram->pages = kvcalloc(wanted, sizeof(*vram->pages), GFP_KERNEL);
	if (!vram->pages)
		return -ENOMEM;
	while (vram->nr_pages < wanted) {
		order = vram_grow(vram, wanted, order);
		if (order < 0)
			goto err_fini;
		cond_resched();
	}
	vram->vaddr = vmap(vram->pages, wanted, VM_MAP, PAGE_KERNEL);
	if (!vram->vaddr)
		goto err_fini;
	vram->nr_extents = vram_extents(vram, visible_size, NULL);
	vram->extents = kvcalloc(vram->nr_extents + 1, sizeof(*vram->extents), GFP_KERNEL);
	if (!vram->extents)
		goto err_fini;
	vram_extents(vram, visible_size, vram->extents);
	return 0;

err_fini:
	pagoda_vgpu_vram_fini(vram);
	return -ENOMEM;
}

/* Frees the memory of @vram, also after pagoda_vgpu_vram_init() failed halfway. */
void pagoda_vgpu_vram_fini(struct pagoda_vgpu_vram *vram)
{
	unsigned long i;

	kvfree(vram->extents);
	if (vram->vaddr)
		vunmap(vram->vaddr);
	for (i = 0; i < vram->nr_pages; i++)
		__free_page(vram->pages[i]);
	kvfree(vram->pages);
	memset(vram, 0, sizeof(*vram));
}

/*
 * Zeroes the memory from byte @from on, a multiple of the page size; does nothing if no driver can
 * have written to the memory. The caller has stopped the queues' threads. May sleep.
 */
void pagoda_vgpu_vram_zero(struct pagoda_vgpu_vram *vram, u64 from)
{
	unsigned long i;

	if (!vram->touched)
		return;
	for (i = from >> PAGE_SHIFT; i < vram->nr_pages; i++) {
		memset(vram->vaddr + (i << PAGE_SHIFT), 0, PAGE_SIZE);
		if (!(i % 256))
			cond_resched();
	}
	vram->touched = from;	/* a driver may have written to the first @from bytes, which stay */
}

/*
 * memory_blocks: cache of the numbers of blocks of 2 MiB of physical addresses that are known to
 * consist of memory only, so that long runs are checked quickly. A block's number is at the index
 * that the number's low bits give; 0 = no block is known. Any thread reads and writes an entry
 * without a lock, since each entry is valid on its own. Memory stays memory unless it is unplugged,
 * which pfn_valid() reports.
 */
#define PAGODA_BLOCK_SHIFT	(21 - PAGE_SHIFT)
#define PAGODA_BLOCK_PAGES	BIT(PAGODA_BLOCK_SHIFT)
static unsigned long memory_blocks[8192];

/*
 * Returns whether a page is memory in the kernel's direct map. Reserved pages (holes, firmware, the
 * kernel's own text) needn't be in the direct map. Other pages are, except for those taken out of
 * the direct map (secretmem, hardware poison, DEBUG_PAGEALLOC): these aren't recognized here, and a
 * driver doesn't name such a page to the device.
 */
static bool pfn_is_memory(unsigned long pfn)
{
	struct page *page;

	if (!pfn_valid(pfn))
		return false;
	page = pfn_to_page(pfn);
	return !PageReserved(page) && !PageHighMem(page) && !is_zone_device_page(page);
}

/*
 * Returns whether all pages of the 2 MiB block number @block are memory; may return false for block
 * 0, as number 0 means an unused entry.
 */
static bool block_is_memory(unsigned long block)
{
	unsigned long *known = &memory_blocks[block % ARRAY_SIZE(memory_blocks)];
	unsigned long pfn = block << PAGODA_BLOCK_SHIFT;
	unsigned long i;

	if (READ_ONCE(*known) == block)
		return block && pfn_valid(pfn);
	for (i = 0; i < PAGODA_BLOCK_PAGES; i++) {
		if (!pfn_is_memory(pfn + i))
			return false;
	}
	WRITE_ONCE(*known, block);
	return true;
}

/* Returns how many pages from page @pfn on are known to be memory; 0 if page @pfn isn't memory. */
static unsigned long pfn_memory(unsigned long pfn)
{
	if (block_is_memory(pfn >> PAGODA_BLOCK_SHIFT))
		return PAGODA_BLOCK_PAGES - pfn % PAGODA_BLOCK_PAGES;
	return pfn_is_memory(pfn);
}

/*
 * Returns the kernel address of the memory at a bus address below 2^52, which is a physical address
 * because the device has no IOMMU, or NULL if no memory is there. *@got receives the number of
 * contiguous bytes, which may be more than @want, or fewer.
 */
void *pagoda_vgpu_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	unsigned long pfn = bus >> PAGE_SHIFT;
	u64 inside = offset_in_page(bus);
	unsigned long pages;
	u64 size = 0;

	while (size < inside + want) {
		pages = pfn_memory(pfn);
		if (!pages)
			break;
		size += (u64)pages << PAGE_SHIFT;
		pfn += pages;
	}
	if (!size)
		return NULL;
	*got = size - inside;
	return phys_to_virt(bus);
}
