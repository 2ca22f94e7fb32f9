/* SPDX-License-Identifier: GPL-2.0 */
/* What the device reported about itself. */
#ifndef PAGODA_CORE_INFO_H
#define PAGODA_CORE_INFO_H

#include <linux/types.h>

struct device;

/**
 * struct pagoda_extent - Entry of an extent list, checked and in CPU order
 * @address: CPU window: physical address; invalid ranges: 0
 * @offset: Offset of the first byte in VRAM
 * @size: Bytes, not zero
 */
struct pagoda_extent {
	u64 address;
	u64 offset;
	u64 size;
};

/**
 * struct pagoda_device_info - Properties that the device reported, all of them checked
 * @dma_dev: Device to map memory for; its DMA mask is set
 * @features: All negotiated features except for virtio's own, as &pagoda_paging_limits.features
 * @vram_size: Bytes of VRAM, multiple of the page size
 * @visible_size: Bytes from the start of VRAM that @window covers, 0 = none
 * @aperture_pages: Pages of the aperture
 * @max_buffer_bytes: Largest paging buffer, multiple of the page size
 * @max_runs: Most runs of consecutive system pages in one packet, at least 2
 * @num_engines: Execution engines, at least 1
 * @alignment: Bytes VRAM allocations are aligned to; power of two, at least a page
 * @system_address_bits: Width of the bus addresses that the device can emit
 * @va_bits: Width of GPU virtual addresses or 0
 * @pt_levels: Levels of page tables or 0
 * @page_sizes: Bit n set: pages of 2^n bytes
 * @max_address_spaces: Address spaces that the device holds roots of; space 0 belongs to the
 *	paging process
 * @swizzling_ranges: Number of swizzling ranges
 * @swizzling_bytes: Bytes of the window of each swizzling range
 * @mmu_pages: Pages MAP_MMU can map; 0 = the device has no MMU of its own
 * @dual_pte: A level-1 entry links a 4 KiB and a 64 KiB table
 * @invalid_not_cached: The device's TLB never holds an invalid entry
 * @coherent: The device snoops CPU caches where a mapping asks for it
 * @vram_zeroed: VRAM reads as zeros after the reset that precedes probe
 * @preserved_standby: Bytes from the start of VRAM that keep their content in standby
 * @preserved_hibernate: Bytes from the start of VRAM that keep their content in hibernation
 * @window: Entries of the CPU window, sorted by offset, covering exactly [0, @visible_size)
 * @nr_window: Entries of @window
 * @invalid: VRAM that must not be used, sorted by offset, not overlapping, page aligned
 * @nr_invalid: Entries of @invalid
 * @swizzling: CPU addresses of the swizzling ranges' windows, sorted by offset, covering [0,
 *	@swizzling_ranges * @swizzling_bytes)
 * @nr_swizzling: Entries of @swizzling
 */
struct pagoda_device_info {
	struct device *dma_dev;
	u64 features;
	u64 vram_size;
	u64 visible_size;
	u64 aperture_pages;
	u32 max_buffer_bytes;
	u32 max_runs;
	u32 num_engines;
	u32 alignment;
	u32 system_address_bits;
	u32 va_bits;
	u32 pt_levels;
	u32 page_sizes;
	u32 max_address_spaces;
	u32 swizzling_ranges;
	u64 swizzling_bytes;
	u64 mmu_pages;
	bool dual_pte;
	bool invalid_not_cached;
	bool coherent;
	bool vram_zeroed;
	u64 preserved_standby;
	u64 preserved_hibernate;
	const struct pagoda_extent *window;
	u32 nr_window;
	const struct pagoda_extent *invalid;
	u32 nr_invalid;
	const struct pagoda_extent *swizzling;
	u32 nr_swizzling;
};

/**
 * struct pagoda_paging_limits - Limits of the device that paging needs
 * @features: Negotiated features, as virtio numbers them; used are VIRTIO_PAGODA_F_OP(opcode),
 *	F_COHERENT, F_DUAL_PTE and F_DEVICE_MMU
 * @vram_size: Bytes of VRAM
 * @aperture_pages: Pages of the aperture
 * @mmu_pages: Pages that MAP_MMU can map, 0 = none
 * @swizzling_bytes: Bytes of the window of a swizzling range
 * @max_runs: Most runs of one packet, at least 2
 * @va_bits: Width of GPU virtual addresses, 0 = none
 * @pt_levels: Levels of page tables
 * @page_sizes: Bit n set: pages of 2^n bytes
 * @max_address_spaces: Number of address spaces
 * @swizzling_ranges: Number of swizzling ranges
 */
struct pagoda_paging_limits {
	u64 features;
	u64 vram_size;
	u64 aperture_pages;
	u64 mmu_pages;
	u64 swizzling_bytes;
	u32 max_runs;
	u32 va_bits;
	u32 pt_levels;
	u32 page_sizes;
	u32 max_address_spaces;
	u32 swizzling_ranges;
};

/**
 * struct pagoda_root - Root page table of an address space
 * @address: Offset in the segment or bus address
 * @entries: Number of entries, 0 = the space has no root
 * @segment: VRAM or SYSTEM
 */
struct pagoda_root {
	u64 address;
	u64 entries;
	u32 segment;
};

#endif
