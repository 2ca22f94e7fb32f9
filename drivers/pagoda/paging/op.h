/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations in WDDM's terms, the input of the paging layer, with page lists and page-table
 * entries. Unless a member is said to be a virtual or kernel address, addresses are offsets in a
 * segment; in system memory bus addresses, or device addresses if the device has an MMU of its own.
 */
#ifndef PAGODA_PAGING_OP_H
#define PAGODA_PAGING_OP_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "core/layout.h"

/*
 * AllocationIsIdle of TRANSFER, SPECIAL_LOCK_TRANSFER and DISCARD_CONTENT: all GPU work on the
 * allocation is complete.
 */
#define PAGODA_ALLOCATION_IS_IDLE	0x4u

/**
 * struct pagoda_adl - Address descriptor list: pages of system memory
 * @nr_pages: Pages in the list
 * @contiguous: The pages are consecutive from @base on; @pages isn't used
 * @base: Bus or device address of the first page if @contiguous
 * @pages: Bus or device address of each page, page aligned, if not @contiguous
 * @cpu_pages: Array with the struct page pointer of each page, for the CPU executor; valid until
 *	the paging buffer was executed; NULL if the CPU can't reach the pages (C66)
 */
struct pagoda_adl {
	u32 nr_pages;
	bool contiguous;
	u64 base;
	const dma_addr_t *pages;
	const void *cpu_pages;
};

/* Returns the bus or device address of page number @page of a list. */
static inline u64 pagoda_adl_page(const struct pagoda_adl *adl, u64 page)
{
	if (adl->contiguous)
		return adl->base + (page << VIRTIO_PAGODA_PAGE_SHIFT);
	return adl->pages[page];
}

/**
 * struct pagoda_side - Source or destination of an operation
 * @segment: enum virtio_pagoda_segment
 * @generation: Aperture: number (generation) of the mapping that the pages must have, 0 = any.
 *	Other segments: 0
 * @address: Offset in the segment, to which a transfer adds &pagoda_op_transfer.offset unless the
 *	side is a tiled surface; unused for system memory
 * @adl: Page list of system memory; unused for VRAM and aperture
 */
struct pagoda_side {
	u32 segment;
	u32 generation;
	u64 address;
	const struct pagoda_adl *adl;
};

/**
 * struct pagoda_op_transfer - TRANSFER and SPECIAL_LOCK_TRANSFER (C26 - C38)
 * @offset: TransferOffset: bytes, page aligned, added to addresses in VRAM and aperture (C30), but
 *	not to that of a tiled surface, in whose linear view @offset is the first byte to copy
 * @size: TransferSize: bytes to copy, multiple of 4; 0 = the content is lost, nothing is encoded
 *	(C35)
 * @mdl_offset: MdlOffset: index of the first page to copy in each page list (C30)
 * @flags: VIRTIO_PAGODA_TRANSFER_* flags and %PAGODA_ALLOCATION_IS_IDLE; SWIZZLE and UNSWIZZLE have
 *	no effect if the operation has no allocation (C31)
 * @src: Source
 * @dst: Destination
 * @range_id: SPECIAL_LOCK_TRANSFER: number of the swizzling range
 * @range_data: SPECIAL_LOCK_TRANSFER: driver's value for the range, which the device ignores
 * @layout: SPECIAL_LOCK_TRANSFER, or TRANSFER with flag SWIZZLE or UNSWIZZLE: geometry of the tiled
 *	surface, which begins at the address of its side
 * @surface_size: SPECIAL_LOCK_TRANSFER, or TRANSFER with flag SWIZZLE or UNSWIZZLE: bytes of the
 *	whole surface
 */
struct pagoda_op_transfer {
	u64 offset;
	u64 size;
	u64 mdl_offset;
	u32 flags;
	struct pagoda_side src;
	struct pagoda_side dst;
	u32 range_id;
	u32 range_data;
	struct pagoda_layout layout;
	u64 surface_size;
};

/**
 * struct pagoda_op_fill - FILL (C39 - C45)
 * @size: Bytes, multiple of 4
 * @address: Offset in the segment, multiple of 4
 * @segment: VRAM, the only memory segment
 * @pattern: Replicated 32-bit value
 */
struct pagoda_op_fill {
	u64 size;
	u64 address;
	u32 segment;
	u32 pattern;
};

/**
 * struct pagoda_op_discard_content - DISCARD_CONTENT (C46 - C48)
 * @size: Bytes, multiple of the page size
 * @address: Offset in the segment, page aligned
 * @segment: VRAM, the only memory segment
 * @flags: %PAGODA_ALLOCATION_IS_IDLE or 0
 */
struct pagoda_op_discard_content {
	u64 size;
	u64 address;
	u32 segment;
	u32 flags;
};

/**
 * struct pagoda_op_access_physical - READ_PHYSICAL, WRITE_PHYSICAL (C49 - C51)
 * @address: Offset in the segment, or bus address for system memory
 * @segment: enum virtio_pagoda_segment
 * @size: Bytes of the access: 1, 2, 4 or 8
 * @cpu_pages: System memory: struct page array of one entry for the CPU executor, valid until
 *	the buffer was executed; or NULL
 */
struct pagoda_op_access_physical {
	u64 address;
	u32 segment;
	u32 size;
	const void *cpu_pages;
};

/**
 * struct pagoda_op_map_aperture - MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 (C52 - C67)
 * @device: Owner of the mapping, 0 = none (C60); not encoded: all owners share one aperture
 * @first_page: OffsetInPages: first aperture page to map
 * @nr_pages: Number of pages to map
 * @adl_offset: Index in @adl of the page that @first_page is mapped to
 * @adl: Pages that the aperture is mapped to
 * @flags: %VIRTIO_PAGODA_MAP_CACHE_COHERENT or 0
 * @generation: Number of the mapping, not 0; an access by a packet that names a different number is
 *	refused, unless that number is 0
 * @cpu_visible_address: MAP_APERTURE_SEGMENT2: kernel address of the pages if the allocation
 *	asked for CPU access, else NULL (C67); not encoded: the CPU executor uses @adl
 */
struct pagoda_op_map_aperture {
	u64 device;
	u64 first_page;
	u64 nr_pages;
	u64 adl_offset;
	const struct pagoda_adl *adl;
	u32 flags;
	u32 generation;
	const void *cpu_visible_address;
};

/**
 * struct pagoda_op_unmap_aperture - UNMAP_APERTURE_SEGMENT (C57 - C63)
 * @device: Owner of the mapping, 0 = none (C60); not encoded: all owners share one aperture
 * @first_page: First aperture page to unmap
 * @nr_pages: Number of pages to unmap
 * @dummy_page: Bus or device address of the dummy page, to which the unmapped pages lead
 * @cpu_pages: struct page array with @dummy_page as the only entry, for the CPU executor, valid
 *	until the buffer was executed; or NULL
 */
struct pagoda_op_unmap_aperture {
	u64 device;
	u64 first_page;
	u64 nr_pages;
	u64 dummy_page;
	const void *cpu_pages;
};

/**
 * struct pagoda_op_signal_fence - SIGNAL_MONITORED_FENCE (C116, C117)
 * @address: Offset in the segment, or bus address for system memory; with SIGNAL_VIRTUAL, which
 *	the driver never sets, virtual address in the paging address space
 * @value: Value to write
 * @segment: enum virtio_pagoda_segment; 0 with SIGNAL_VIRTUAL
 * @flags: VIRTIO_PAGODA_SIGNAL_* flags
 * @cpu_pages: System memory: struct page array of one entry for the CPU executor, valid until
 *	the buffer was executed; or NULL
 */
struct pagoda_op_signal_fence {
	u64 address;
	u64 value;
	u32 segment;
	u32 flags;
	const void *cpu_pages;
};

/**
 * struct pagoda_op_notify_alloc - NOTIFY_ALLOC (C118 - C121)
 * @process: Driver's name for the owning process, 0 = none; 0 for an eviction
 * @offset: Byte of the allocation at which the range begins that the notice is about
 * @size: Bytes of the range
 * @address: Virtual address of the range in the paging address space, 0 = not mapped
 * @flags: Either VIRTIO_PAGODA_NOTIFY_EVICTION or VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP
 */
struct pagoda_op_notify_alloc {
	u64 process;
	u64 offset;
	u64 size;
	u64 address;
	u32 flags;
};

/**
 * struct pagoda_op_virtual_transfer - VIRTUAL_TRANSFER (C69 - C74)
 * @size: Bytes, multiple of 4
 * @src_address: Virtual address in the paging address space, of the first byte to copy (C69)
 * @dst_address: Virtual address in the paging address space, of the first byte to write (C69)
 * @allocation_offset: Byte of the allocation at which the copy starts; only shown when
 *	the packet is printed (pagoda_paging_print())
 * @direction: enum virtio_pagoda_direction
 * @flags: VIRTIO_PAGODA_VIRTUAL_SRC_64K, VIRTIO_PAGODA_VIRTUAL_DST_64K, and one of
 *	VIRTIO_PAGODA_TRANSFER_CLEAN and VIRTIO_PAGODA_TRANSFER_DIRTY at most
 * @src_pages: Source in system memory: struct page array for the CPU executor with the page at
 *	@src_address as entry 0, valid until the buffer was executed; else NULL
 * @dst_pages: Destination in system memory: like @src_pages, for @dst_address
 */
struct pagoda_op_virtual_transfer {
	u64 size;
	u64 src_address;
	u64 dst_address;
	u64 allocation_offset;
	u32 direction;
	u32 flags;
	const void *src_pages;
	const void *dst_pages;
};

/**
 * struct pagoda_op_virtual_fill - VIRTUAL_FILL (C69 - C72)
 * @size: Bytes, multiple of 4
 * @address: Virtual address in the paging address space
 * @allocation_offset: Byte of the allocation at which the fill starts; only shown when
 *	the packet is printed (pagoda_paging_print())
 * @pattern: Replicated 32-bit value
 * @dst_pages: Destination in system memory: struct page array for the CPU executor with the page at
 *	@address as entry 0, valid until the buffer was executed; else NULL
 */
struct pagoda_op_virtual_fill {
	u64 size;
	u64 address;
	u64 allocation_offset;
	u32 pattern;
	const void *dst_pages;
};

/**
 * struct pagoda_op_init_context - INIT_CONTEXT_RESOURCE (C81, C83)
 * @context: Id of the context, 0 = the save area belongs to the device
 * @size: Bytes of the save area, multiple of the page size
 * @gpu_address: Virtual address of the save area, 0 = not mapped; informational: the device
 *	reaches the save area by @dst
 * @dst: Memory of the save area; a page list has exactly the pages of @size bytes
 * @cpu_address: Kernel address of the save area, not NULL only if @flags is
 *	%PAGODA_SAVE_CPU_ADDRESS (C83); not encoded, and always NULL in this driver, which has
 *	no such save areas
 * @flags: Properties of the save area: PAGODA_SAVE_* flags
 */
struct pagoda_op_init_context {
	u64 context;
	u64 size;
	u64 gpu_address;
	struct pagoda_side dst;
	const void *cpu_address;
	u32 flags;
};

/* Property of a context's save area: the CPU may see the save area. */
#define PAGODA_SAVE_CPU_VISIBLE		0x1u
/* Property of a context's save area: only the device may access the save area. */
#define PAGODA_SAVE_PROTECTED		0x2u
/* Property of a context's save area: the save area is always in the aperture. */
#define PAGODA_SAVE_APERTURE_ONLY	0x4u
/* All properties that a context's save area must have to have a CPU address (C83). */
#define PAGODA_SAVE_CPU_ADDRESS \
	(PAGODA_SAVE_CPU_VISIBLE | PAGODA_SAVE_PROTECTED | PAGODA_SAVE_APERTURE_ONLY)

/* Flags of struct pagoda_pte: bits of WDDM's DXGK_PTE. */
#define PAGODA_PTE_VALID		BIT_ULL(0)
#define PAGODA_PTE_ZERO			BIT_ULL(1)
#define PAGODA_PTE_CACHE_COHERENT	BIT_ULL(2)
#define PAGODA_PTE_READ_ONLY		BIT_ULL(3)
#define PAGODA_PTE_NO_EXECUTE		BIT_ULL(4)
#define PAGODA_PTE_SEGMENT_SHIFT	5
#define PAGODA_PTE_SEGMENT_MASK		GENMASK_ULL(9, 5)
#define PAGODA_PTE_LARGE_PAGE		BIT_ULL(10)
#define PAGODA_PTE_ADAPTER_MASK		GENMASK_ULL(16, 11)	/* bits must be 0 */
#define PAGODA_PTE_PAGE_SIZE_SHIFT	17
#define PAGODA_PTE_PAGE_SIZE_MASK	GENMASK_ULL(18, 17)	/* 1 = 64 KiB leaf table */
/*
 * WDDM's unique bit in DriverProtection: no mapping of the same bytes may have another value of
 * DriverProtection. Not sent to the device.
 */
#define PAGODA_PROTECTION_UNIQUE	BIT_ULL(63)

/**
 * struct pagoda_pte - Page-table entry in the driver's format, WDDM's DXGK_PTE
 * @flags: PAGODA_PTE_* bits
 * @address: Address of the page or table: offset in the segment, or bus address for segment 0;
 *	aligned to the size of the page or table
 */
struct pagoda_pte {
	u64 flags;
	u64 address;
};

u64 pagoda_pte_encode(const struct pagoda_pte *pte, u64 driver_protection);
struct pagoda_pte pagoda_pte_decode(u64 entry);

/**
 * struct pagoda_op_update_page_table - UPDATE_PAGE_TABLE (C86 - C100)
 * @mode: enum virtio_pagoda_update_mode
 * @level: 0 = leaf
 * @first_entry: StartIndex: index of the first entry to write
 * @nr_entries: NumPageTableEntries: entries to write; with USE_64K at level 0 of 64 KiB each
 * @flags: VIRTIO_PAGODA_UPDATE_* flags
 * @address_space: Id of the address space that the table belongs to
 * @table_entries: Number of entries of the whole table, for checks
 * @table_segment: GPU_PHYSICAL: VRAM or SYSTEM; else 0
 * @table_address: Address of the table. GPU_PHYSICAL: offset or bus address. GPU_VIRTUAL: virtual
 *	address in the paging space. CPU_VIRTUAL: bus address, for the journal of CPU writes, or 0
 * @cpu_table: CPU_VIRTUAL: kernel address of the table; else NULL
 * @table_pages: struct page array of a table in system memory, for the CPU executor; else NULL
 * @first_va: FirstPteVirtualAddress: virtual address that the first entry translates; only shown,
 *	in printed packets, in traces and in the journal
 * @allocation_offset: AllocationOffsetInBytes: byte of the allocation that the first entry maps;
 *	the device ignores this member and &pagoda_paging_op.allocation (hAllocation)
 * @driver_protection: DriverProtection of the mapping; 0 above level 0 (C98)
 * @ptes: Entries to write: a single entry with REPEAT, else @nr_entries; with USE_64K at level 0
 *	sixteen for each of @nr_entries, of which only the first is used (C88). NULL with @values
 * @values: Entries to write, in the device's format, which has @driver_protection in it: a single
 *	entry with REPEAT, else @nr_entries, even with USE_64K; NULL with @ptes
 */
struct pagoda_op_update_page_table {
	u32 mode;
	u32 level;
	u32 first_entry;
	u32 nr_entries;
	u32 flags;
	u32 address_space;
	u32 table_entries;
	u32 table_segment;
	u64 table_address;
	void *cpu_table;
	const void *table_pages;
	u64 first_va;
	u64 allocation_offset;
	u64 driver_protection;
	const struct pagoda_pte *ptes;
	const u64 *values;
};

/**
 * struct pagoda_op_flush_tlb - FLUSH_TLB (C103 - C106)
 * @root_address: Address of the root table in @root_segment
 * @root_segment: VRAM or SYSTEM
 * @address_space: Id of the address space
 * @start: Virtual address of the first byte to flush
 * @end: Virtual address behind the last byte; @start and @end both 0 = the whole space (C104)
 */
struct pagoda_op_flush_tlb {
	u64 root_address;
	u32 root_segment;
	u32 address_space;
	u64 start;
	u64 end;
};

/**
 * struct pagoda_op_update_context - UPDATE_CONTEXT_ALLOCATION (C84)
 * @address: Virtual address of the context allocation in the paging address space
 * @size: Bytes of the context allocation
 * @data: Driver's private data, written unmodified
 * @data_size: Bytes of @data, multiple of 8
 * @data_offset: Byte of the context allocation to write to, multiple of 8
 * @pages: struct page array of a context allocation in system memory, for the CPU executor; else
 *	NULL
 */
struct pagoda_op_update_context {
	u64 address;
	u64 size;
	const void *data;
	u32 data_size;
	u32 data_offset;
	const void *pages;
};

/**
 * struct pagoda_copy_range - A range of COPY_PAGE_TABLE_ENTRIES
 * @src_table: Virtual address of the source table in the paging address space
 * @dst_table: Virtual address of the destination table in the paging address space
 * @src_entry: Index of the first entry read
 * @dst_entry: Index of the first entry written
 * @nr_entries: Number of entries to copy
 */
struct pagoda_copy_range {
	u64 src_table;
	u64 dst_table;
	u32 src_entry;
	u32 dst_entry;
	u32 nr_entries;
};

/**
 * struct pagoda_op_copy_entries - COPY_PAGE_TABLE_ENTRIES (C108 - C112)
 * @address_space: Id of the address space that the tables belong to
 * @nr_ranges: Elements of @ranges
 * @ranges: Ranges to copy, in this order (C109)
 */
struct pagoda_op_copy_entries {
	u32 address_space;
	u32 nr_ranges;
	const struct pagoda_copy_range *ranges;
};

/**
 * struct pagoda_op_notify_residency - NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2 (C113 - C115)
 * @address: Present address of the allocation, or of its pages from @offset on; 0 if the allocation
 *	was evicted
 * @segment: Segment of @address, 0 if the allocation was evicted
 * @flags: %VIRTIO_PAGODA_NOTIFY_RESIDENT or 0
 * @offset: NOTIFY_RESIDENCY2: first page of the allocation that the notice is about; else 0
 * @nr_pages: NOTIFY_RESIDENCY2: pages that the notice is about; else 0
 */
struct pagoda_op_notify_residency {
	u64 address;
	u32 segment;
	u32 flags;
	u64 offset;
	u64 nr_pages;
};

/**
 * struct pagoda_fence_residency - An entry of NOTIFY_FENCE_RESIDENCY
 * @fence: Number by which the driver names the fence
 * @current_value: Bus or device address of the fence's current value, 0 = not resident
 * @monitored_value: Bus or device address of the monitored value, 0 = not resident;
 *	informational: no event depends on a monitored value
 */
struct pagoda_fence_residency {
	u64 fence;
	u64 current_value;
	u64 monitored_value;
};

/**
 * struct pagoda_op_notify_fences - NOTIFY_FENCE_RESIDENCY
 * @nr_fences: Elements of @fences
 * @fences: Fences whose values became resident, moved or are no longer resident
 */
struct pagoda_op_notify_fences {
	u32 nr_fences;
	const struct pagoda_fence_residency *fences;
};

/**
 * struct pagoda_op_map_mmu - MAP_MMU, UNMAP_MMU (Pagoda's own)
 * @address: Device address of the first page
 * @nr_pages: Number of pages to map or unmap
 * @adl_offset: MAP_MMU: index in @adl of the page that @address is mapped to
 * @adl: MAP_MMU: pages to map, by bus address; else NULL
 * @mmu: Id of the MMU, always 0
 * @flags: MAP_MMU: %VIRTIO_PAGODA_MAP_MMU_READ_ONLY or 0; else 0
 */
struct pagoda_op_map_mmu {
	u64 address;
	u64 nr_pages;
	u64 adl_offset;
	const struct pagoda_adl *adl;
	u32 mmu;
	u32 flags;
};

/**
 * struct pagoda_paging_op - An operation, WDDM's DXGKARG_BUILDPAGINGBUFFER
 * @operation: enum virtio_pagoda_opcode; an unknown value is counted and encodes nothing (C17)
 * @needs_idle: The allocation has state that only the CPU can change: the builders of TRANSFER,
 *	SPECIAL_LOCK_TRANSFER (both unless the size is 0) and DISCARD_CONTENT return allocation
 *	busy without %PAGODA_ALLOCATION_IS_IDLE (C11 - C14)
 * @allocation: Number by which the driver names the allocation, 0 = none
 * @transfer: TRANSFER, SPECIAL_LOCK_TRANSFER
 * @fill: FILL
 * @discard_content: DISCARD_CONTENT
 * @access_physical: READ_PHYSICAL, WRITE_PHYSICAL
 * @map_aperture: MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2
 * @unmap_aperture: UNMAP_APERTURE_SEGMENT
 * @signal_fence: SIGNAL_MONITORED_FENCE
 * @notify_alloc: NOTIFY_ALLOC
 * @virtual_transfer: VIRTUAL_TRANSFER
 * @virtual_fill: VIRTUAL_FILL
 * @init_context: INIT_CONTEXT_RESOURCE
 * @update_page_table: UPDATE_PAGE_TABLE
 * @flush_tlb: FLUSH_TLB
 * @update_context: UPDATE_CONTEXT_ALLOCATION
 * @copy_entries: COPY_PAGE_TABLE_ENTRIES
 * @notify_residency: NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2
 * @notify_fences: NOTIFY_FENCE_RESIDENCY
 * @map_mmu: MAP_MMU, UNMAP_MMU
 */
struct pagoda_paging_op {
	u32 operation;
	bool needs_idle;
	u64 allocation;
	union {
		struct pagoda_op_transfer transfer;
		struct pagoda_op_fill fill;
		struct pagoda_op_discard_content discard_content;
		struct pagoda_op_access_physical access_physical;
		struct pagoda_op_map_aperture map_aperture;
		struct pagoda_op_unmap_aperture unmap_aperture;
		struct pagoda_op_signal_fence signal_fence;
		struct pagoda_op_notify_alloc notify_alloc;
		struct pagoda_op_virtual_transfer virtual_transfer;
		struct pagoda_op_virtual_fill virtual_fill;
		struct pagoda_op_init_context init_context;
		struct pagoda_op_update_page_table update_page_table;
		struct pagoda_op_flush_tlb flush_tlb;
		struct pagoda_op_update_context update_context;
		struct pagoda_op_copy_entries copy_entries;
		struct pagoda_op_notify_residency notify_residency;
		struct pagoda_op_notify_fences notify_fences;
		struct pagoda_op_map_mmu map_mmu;
	};
};

#endif
