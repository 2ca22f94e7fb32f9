/* SPDX-License-Identifier: GPL-2.0 */
/* Properties and limits that the device reported, checked and in CPU order. */
#ifndef PAGODA_CORE_INFO_H
#define PAGODA_CORE_INFO_H

#include <linux/types.h>

struct device;

/*
 * Name of an engine, with its index, wherever the driver tells user space of an engine: in fdinfo,
 * which tools for all GPUs read, in the names of fences and schedulers, and in tracepoints.
 */
#define PAGODA_ENGINE_NAME	"exec%u"

/**
 * struct pagoda_extent - Entry of an extent list, checked and in CPU order
 * @address: Physical address at which the CPU reaches the extent; 0 in the list of invalid ranges
 * @offset: Offset of the first byte in VRAM; in the list of swizzling windows: offset in the
 *	windows of all ranges, one after another
 * @size: Bytes, not zero
 */
struct pagoda_extent {
	u64 address;
	u64 offset;
	u64 size;
};

/**
 * struct pagoda_device_info - Properties that the device reported, all of them checked
 * @dma_dev: Device that system memory is mapped for by the DMA API; its DMA mask is set
 * @features: Bit n set: feature n was negotiated; without virtio's own features (bits 24 to 49)
 * @vram_size: Bytes of VRAM, multiple of the page size
 * @visible_size: Bytes from the start of VRAM that @window covers, 0 = none
 * @aperture_pages: Pages of the aperture
 * @max_buffer_bytes: Largest paging buffer, multiple of the page size
 * @max_runs: Most runs of consecutive system pages in one packet, at least 2
 * @num_engines: Execution engines, at least 1
 * @alignment: Bytes that addresses of allocations in VRAM are aligned to; power of two, at least a
 *	page
 * @system_address_bits: Width of the bus addresses that the device can emit
 * @va_bits: Width of GPU virtual addresses, 0 = there are none
 * @pt_levels: Levels of page tables, 0 = there are none
 * @page_sizes: Bit n set: page tables can map pages of 2^n bytes
 * @max_address_spaces: Address spaces that the device holds roots of; space 0 belongs to the
 *	paging process
 * @swizzling_ranges: Number of swizzling ranges
 * @swizzling_bytes: Bytes of the window of each swizzling range
 * @mmu_pages: Pages that MAP_MMU can map; 0 = the device has no MMU of its own
 * @dual_pte: A level-1 entry links two tables: of 4 KiB pages and of 64 KiB pages
 * @invalid_not_cached: The device's TLB never holds an invalid entry
 * @coherent: The device snoops CPU caches where a mapping asks for snooping
 * @vram_zeroed: VRAM reads as zeros after the reset that precedes probe
 * @preserved_standby: Bytes from the start of VRAM that keep their content in standby
 * @preserved_hibernate: Bytes from the start of VRAM that keep their content in hibernation
 * @window: Entries of the CPU window, sorted by offset, covering exactly [0, @visible_size)
 * @nr_window: Entries of @window
 * @invalid: Ranges of VRAM that must not be used, sorted by offset, not overlapping, page aligned
 * @nr_invalid: Entries of @invalid
 * @swizzling: Physical addresses of the swizzling ranges' windows, sorted by offset, covering [0,
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
 * @features: Bit n set: feature n was negotiated. Paging looks at VIRTIO_PAGODA_F_OP(opcode),
 *	F_COHERENT, F_DUAL_PTE, F_DEVICE_MMU and F_DIRTY
 * @vram_size: Bytes of VRAM
 * @aperture_pages: Pages of the aperture
 * @mmu_pages: Pages that MAP_MMU can map, 0 = none
 * @swizzling_bytes: Bytes of the window of a swizzling range
 * @max_runs: Most runs of consecutive system pages in one packet, at least 2
 * @va_bits: Width of GPU virtual addresses, 0 = none
 * @pt_levels: Levels of page tables
 * @page_sizes: Bit n set: page tables can map pages of 2^n bytes
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
 * @address: Address of the table: offset in VRAM, or bus address in system memory
 * @entries: Number of entries, 0 = the space has no root
 * @segment: VIRTIO_PAGODA_SEGMENT_VRAM or VIRTIO_PAGODA_SEGMENT_SYSTEM
 */
struct pagoda_root {
	u64 address;
	u64 entries;
	u32 segment;
};

#endif
