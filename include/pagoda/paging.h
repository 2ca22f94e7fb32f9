/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The paging layer: one operation in, commands out.
 *
 * A struct pagoda_paging_op is what vidmm and mmu ask for, in WDDM's terms. A
 * row of the table in paging/table.c knows how to refuse it, build it, execute
 * it on the CPU, print it and what it costs. Nothing in this layer takes a
 * lock, allocates, sleeps, or knows TTM; everything may be called from any
 * context, and from several threads on different buffers.
 *
 * Contract of a builder
 *  1. It answers built, insufficient buffer or allocation busy (C1). What can be
 *     wrong with an operation was refused by pagoda_paging_validate() before.
 *  2. It is pure: reads the operation, writes buffer and cursor. Building the
 *     same operation twice gives the same bytes (C22). The one exception is
 *     WDDM's: UPDATE_PAGE_TABLE in CPU_VIRTUAL mode stores the entries by the CPU
 *     while it is built and encodes nothing; it needs no buffer (C76).
 *  3. Any buffer size from zero up: whole packets only (C4), and the cursor says
 *     where to go on (C5). An empty buffer of %PAGODA_PAGING_MIN_BUFFER bytes
 *     with %PAGODA_PAGING_MIN_PRIVATE bytes of private data always makes
 *     progress (C9).
 *  4. Never a byte past the end of the buffer or the private data (C2).
 *  5. Size follows runs: consecutive pages are one run however many.
 *  6. Busy only when asked to change what cannot be queued while the
 *     allocation isn't idle, before anything is encoded (C11 - C13).
 */
#ifndef PAGODA_PAGING_H
#define PAGODA_PAGING_H

#include <linux/bits.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>

/** PAGODA_PAGING_MIN_BUFFER: bytes in which every builder makes progress. */
#define PAGODA_PAGING_MIN_BUFFER	512
/** PAGODA_PAGING_MIN_PRIVATE: private data bytes for one packet. */
#define PAGODA_PAGING_MIN_PRIVATE	sizeof(struct pagoda_paging_private)

/** TRANSFER and DISCARD_CONTENT flag: the allocation is idle; WDDM's value. */
#define PAGODA_ALLOCATION_IS_IDLE	0x4u

/**
 * enum pagoda_build - The three answers of a builder
 * @PAGODA_BUILD_SUCCESS: the rest of the operation is encoded
 * @PAGODA_BUILD_INSUFFICIENT_BUFFER: submit what is there, come back with a
 *	fresh buffer, the same operation and the same cursor
 * @PAGODA_BUILD_ALLOCATION_BUSY: wait for the allocation's fences, come back
 *	with %PAGODA_ALLOCATION_IS_IDLE; nothing was encoded
 */
enum pagoda_build {
	PAGODA_BUILD_SUCCESS,
	PAGODA_BUILD_INSUFFICIENT_BUFFER,
	PAGODA_BUILD_ALLOCATION_BUSY,
};

/**
 * struct pagoda_adl - Address descriptor list: pages of system memory
 * @nr_pages: Pages in the list
 * @contiguous: The pages are consecutive from @base; @pages isn't looked at
 * @base: Bus address of the first page if @contiguous
 * @pages: Bus address of each page, page aligned, else
 * @cpu_pages: Array of pointers, the struct page of each page for the CPU
 *	executor, opaque to this layer, there until the buffer was executed; or
 *	NULL when the CPU can't reach them (C66)
 */
struct pagoda_adl {
	u32 nr_pages;
	bool contiguous;
	u64 base;
	const dma_addr_t *pages;
	const void *cpu_pages;
};

/** pagoda_adl_page() - Address of page @page of a list. */
static inline u64 pagoda_adl_page(const struct pagoda_adl *adl, u64 page)
{
	if (adl->contiguous)
		return adl->base + (page << VIRTIO_PAGODA_PAGE_SHIFT);
	return adl->pages[page];
}

/**
 * struct pagoda_side - Source or destination of a transfer
 * @segment: enum virtio_pagoda_segment
 * @generation: Generation of the aperture mapping, 0 elsewhere
 * @address: Offset in the segment of the allocation's first byte; unused for
 *	system memory
 * @adl: System memory: the pages
 */
struct pagoda_side {
	u32 segment;
	u32 generation;
	u64 address;
	const struct pagoda_adl *adl;
};

/**
 * struct pagoda_layout - Geometry of a surface, struct virtio_pagoda_layout in CPU
 *	order
 * @tiling: enum virtio_pagoda_tiling
 * @pitch: Bytes from row to row of mip level 0
 * @height: Rows of level 0
 * @mips: Levels
 */
struct pagoda_layout {
	u32 tiling;
	u32 pitch;
	u32 height;
	u32 mips;
};

u64 pagoda_layout_size(const struct pagoda_layout *layout);
int pagoda_layout_validate(const struct pagoda_layout *layout, u64 size, const char **why);

/**
 * struct pagoda_op_transfer - TRANSFER and SPECIAL_LOCK_TRANSFER (C26 - C38)
 * @offset: TransferOffset in bytes, page aligned: added to segment sides only (C30)
 * @size: TransferSize in bytes of this piece; 0 = content lost, nothing is
 *	encoded (C35)
 * @mdl_offset: First page of the list this piece uses, on system sides (C30)
 * @flags: VIRTIO_PAGODA_TRANSFER_* and %PAGODA_ALLOCATION_IS_IDLE
 * @src: Where from
 * @dst: Where to
 * @range_id: SPECIAL_LOCK_TRANSFER: swizzling range
 * @range_data: SPECIAL_LOCK_TRANSFER: the driver's value for it
 * @layout: SPECIAL_LOCK_TRANSFER and with SWIZZLE or UNSWIZZLE: geometry of the
 *	surface, which starts at the VRAM side's address
 * @surface_size: The same: bytes of the whole surface
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
 * @address: Offset in the segment
 * @segment: A memory segment
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
 * @address: Offset in the segment
 * @segment: A memory segment
 * @flags: %PAGODA_ALLOCATION_IS_IDLE
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
 * @size: 1, 2, 4 or 8
 * @cpu_pages: System memory: struct page array of one entry for the CPU
 *	executor, there until the buffer was executed, or NULL
 */
struct pagoda_op_access_physical {
	u64 address;
	u32 segment;
	u32 size;
	const void *cpu_pages;
};

/**
 * struct pagoda_op_map_aperture - MAP_APERTURE_SEGMENT and 2 (C52 - C67)
 * @device: Owner, 0 = none (C60); carried for form: the aperture is one for all
 * @first_page: OffsetInPages: first page of the aperture
 * @nr_pages: Pages
 * @adl_offset: First page of @adl
 * @adl: The pages
 * @flags: %VIRTIO_PAGODA_MAP_CACHE_COHERENT
 * @generation: Generation of the mapping
 * @cpu_visible_address: MAP_APERTURE_SEGMENT2: kernel address of the pages if
 *	the allocation asked for one, else NULL (C67); carried for form: the CPU executor
 *	goes by @adl
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
 * @device: Owner, 0 = none (C60); carried for form: the aperture is one for all
 * @first_page: First page of the aperture
 * @nr_pages: Pages
 * @dummy_page: Bus address of the page the range shall reach
 * @cpu_pages: struct page array whose only entry is it, for the CPU executor,
 *	there until the buffer was executed, or NULL
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
 * @address: Offset in the segment, or bus address for system memory, or virtual in
 *	the paging address space with %VIRTIO_PAGODA_SIGNAL_VIRTUAL; that is carried for
 *	form: the driver names fences by segment and address
 * @value: Value to write
 * @segment: enum virtio_pagoda_segment; 0 with SIGNAL_VIRTUAL
 * @flags: VIRTIO_PAGODA_SIGNAL_ flags
 * @cpu_pages: System memory: struct page array of one entry for the CPU
 *	executor, there until the buffer was executed, or NULL
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
 * @process: Owning process, 0 for an eviction
 * @offset: First byte of the allocation
 * @size: Bytes
 * @address: GPU virtual address of @offset or 0
 * @flags: One of VIRTIO_PAGODA_NOTIFY_EVICTION, VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP
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
 * @src_address: Virtual address in the paging space; used unchanged (C69)
 * @dst_address: The same
 * @allocation_offset: Byte of the allocation the piece starts at; informational
 * @direction: enum virtio_pagoda_direction
 * @flags: VIRTIO_PAGODA_VIRTUAL_SRC_64K, VIRTIO_PAGODA_VIRTUAL_DST_64K
 * @src_pages: If the source is system memory: struct page array for the CPU
 *	executor whose entry 0 is the page at @src_address, there until the buffer
 *	was executed; else NULL
 * @dst_pages: The same for the destination
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
 * @address: Virtual address in the paging space
 * @allocation_offset: Informational
 * @pattern: Replicated 32-bit value
 * @dst_pages: As in &struct pagoda_op_virtual_transfer
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
 * @context: Context, 0 = per device
 * @size: Bytes of the save area, multiple of the page size
 * @gpu_address: Virtual address of it, 0 = not mapped; carried for form: save areas are
 *	reached by @dst
 * @dst: Where it is; a system side's list holds exactly its pages
 * @cpu_address: Kernel address of it, non-NULL only for what is CPU visible,
 *	protected and lives in the aperture only (C83), the device never sees it; carried for
 *	form: no save area is all of that
 * @flags: What the save area is: PAGODA_SAVE_ flags
 */
struct pagoda_op_init_context {
	u64 context;
	u64 size;
	u64 gpu_address;
	struct pagoda_side dst;
	const void *cpu_address;
	u32 flags;
};

/* A save area that the CPU may see. */
#define PAGODA_SAVE_CPU_VISIBLE		0x1u
/* A save area that is protected from all but the device. */
#define PAGODA_SAVE_PROTECTED		0x2u
/* A save area that is never anywhere but in the aperture. */
#define PAGODA_SAVE_APERTURE_ONLY	0x4u
/* What a save area has to be for a CPU address, all of it (C83). */
#define PAGODA_SAVE_CPU_ADDRESS \
	(PAGODA_SAVE_CPU_VISIBLE | PAGODA_SAVE_PROTECTED | PAGODA_SAVE_APERTURE_ONLY)

/* Entries as the OS side has them: WDDM's DXGK_PTE bits. */
#define PAGODA_PTE_VALID		BIT_ULL(0)
#define PAGODA_PTE_ZERO			BIT_ULL(1)
#define PAGODA_PTE_CACHE_COHERENT	BIT_ULL(2)
#define PAGODA_PTE_READ_ONLY		BIT_ULL(3)
#define PAGODA_PTE_NO_EXECUTE		BIT_ULL(4)
#define PAGODA_PTE_SEGMENT_SHIFT	5
#define PAGODA_PTE_SEGMENT_MASK		GENMASK_ULL(9, 5)
#define PAGODA_PTE_LARGE_PAGE		BIT_ULL(10)
#define PAGODA_PTE_ADAPTER_MASK		GENMASK_ULL(16, 11)	/* must be 0 */
#define PAGODA_PTE_PAGE_SIZE_SHIFT	17
#define PAGODA_PTE_PAGE_SIZE_MASK	GENMASK_ULL(18, 17)	/* 1 = 64 KiB leaf table */
/** PAGODA_PROTECTION_UNIQUE: bit of DriverProtection, see WDDM; not for the device. */
#define PAGODA_PROTECTION_UNIQUE	BIT_ULL(63)

/**
 * struct pagoda_pte - DXGK_PTE
 * @flags: PAGODA_PTE_ bits
 * @address: Page or table: offset in the segment, or bus address for segment 0;
 *	multiple of the page size
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
 * @first_entry: StartIndex
 * @nr_entries: NumPageTableEntries; in the table's own pages: 64 KiB ones with USE_64K
 * @flags: VIRTIO_PAGODA_UPDATE_ flags
 * @address_space: Space the table belongs to
 * @table_entries: Entries the whole table has, for the checks
 * @table_segment: GPU_PHYSICAL: VRAM or SYSTEM; else 0
 * @table_address: GPU_PHYSICAL: offset or bus address of the table. GPU_VIRTUAL:
 *	its address in the paging space. CPU_VIRTUAL: its bus address, for who records
 *	what the CPU wrote, or 0
 * @cpu_table: CPU_VIRTUAL: kernel address of the table; else NULL
 * @table_pages: Table in system memory: struct page array of it for the CPU executor;
 *	else NULL
 * @first_va: FirstPteVirtualAddress; carried for form: shown in traces
 * @allocation_offset: AllocationOffsetInBytes: byte of the allocation the first entry maps;
 *	carried for form as &pagoda_paging_op.allocation is (hAllocation): shown in traces
 * @driver_protection: Value of the map call; 0 above level 0 (C98)
 * @ptes: What the entries shall be: one with REPEAT; else @nr_entries; or, with
 *	USE_64K at level 0, sixteen times that, one for each 4 KiB, of which every
 *	sixteenth is used (C88). NULL with @values
 * @values: The same as hardware entries, one an entry even with USE_64K; NULL with
 *	@ptes. @driver_protection is in them already
 *
 * Consecutive entries whose addresses follow each other cost one value.
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
 * @root_address: Of the root table in @root_segment
 * @root_segment: VRAM or SYSTEM
 * @address_space: Space
 * @start: First byte
 * @end: Byte behind the last; both 0 = the whole space (C104)
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
 * @address: Virtual address of the context allocation in the paging space
 * @size: Its bytes
 * @data: Driver's private data, reaches the device unmodified
 * @data_size: Bytes of it, multiple of 8
 * @data_offset: Byte of the context allocation it is written at, multiple of 8
 * @pages: Context allocation in system memory: struct page array of it for the CPU
 *	executor; else NULL
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
 * @src_table: Virtual address of the source table in the paging space
 * @dst_table: The same of the destination table
 * @src_entry: First entry read
 * @dst_entry: First entry written
 * @nr_entries: Entries
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
 * @address_space: Space the tables belong to
 * @nr_ranges: Entries of @ranges
 * @ranges: Applied in order (C109)
 */
struct pagoda_op_copy_entries {
	u32 address_space;
	u32 nr_ranges;
	const struct pagoda_copy_range *ranges;
};

/**
 * struct pagoda_op_notify_residency - NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2 (C113 - C115)
 * @address: Where it is now, 0 when evicted
 * @segment: The same
 * @flags: %VIRTIO_PAGODA_NOTIFY_RESIDENT or 0
 * @offset: NOTIFY_RESIDENCY2: first page of the allocation meant; else 0
 * @nr_pages: NOTIFY_RESIDENCY2: pages meant; else 0
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
 * @fence: Driver's name for the fence
 * @current_value: Bus address of the current value, 0 = not resident
 * @monitored_value: Bus address of the monitored value, 0 = not resident; carried for form:
 *	no event depends on a monitored value
 */
struct pagoda_fence_residency {
	u64 fence;
	u64 current_value;
	u64 monitored_value;
};

/**
 * struct pagoda_op_notify_fences - NOTIFY_FENCE_RESIDENCY
 * @nr_fences: Entries of @fences
 * @fences: The fences whose place changed
 */
struct pagoda_op_notify_fences {
	u32 nr_fences;
	const struct pagoda_fence_residency *fences;
};

/**
 * struct pagoda_op_map_mmu - MAP_MMU, UNMAP_MMU (ours)
 * @address: Device address of the first page
 * @nr_pages: Pages
 * @adl_offset: MAP_MMU: first page of @adl
 * @adl: MAP_MMU: the pages, by bus address; else NULL
 * @mmu: Id of the MMU, 0
 * @flags: %VIRTIO_PAGODA_MAP_MMU_READ_ONLY or 0
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
 * struct pagoda_paging_op - One operation, the equivalent of
 *	DXGKARG_BUILDPAGINGBUFFER
 * @operation: enum virtio_pagoda_opcode; an unknown value encodes nothing,
 *	succeeds and is counted (C17)
 * @needs_idle: The allocation has set-up that only the CPU can change, so that
 *	TRANSFER and DISCARD_CONTENT are busy until it is idle (C11 - C14)
 * @allocation: Driver's name for the allocation, 0 = none
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

/**
 * struct pagoda_paging_cursor - MultipassOffset: progress of one operation
 * @done: Bytes (or aperture pages) encoded; 0 before the first call, owned by
 *	the builder until it answers success (C7, C8). 64 bits: no 4 GiB limit
 */
struct pagoda_paging_cursor {
	u64 done;
};

/**
 * struct pagoda_paging_buffer - Where to write: DMA buffer and private data
 * @pos: First free byte; aligned to 4 KiB in a fresh buffer, later only to
 *	%VIRTIO_PAGODA_PACKET_ALIGN (C18). The builder advances it (C2)
 * @size: Bytes left; the builder lowers it (C3)
 * @priv: First free byte of private data, one struct pagoda_paging_private a
 *	packet; the builder advances it (C20)
 * @priv_size: Bytes of private data left
 * @gpu_address: DmaBufferGpuVirtualAddress, 0 = none; carried for form: buffers come through
 *	the ring and have no address
 * @write_offset: Bytes from the buffer's start to @pos; kept by the builder
 */
struct pagoda_paging_buffer {
	u8 *pos;
	u32 size;
	u8 *priv;
	u32 priv_size;
	u64 gpu_address;
	u32 write_offset;
};

/**
 * struct pagoda_paging_private - What the CPU executor needs for a packet and
 *	the device must not see; in packet order
 * @offset: Offset of the packet from the start of its buffer
 * @reserved: Zero
 * @src_pages: struct page array for the source's runs, or NULL
 * @dst_pages: The same for the destination, map target or fence page
 */
struct pagoda_paging_private {
	u32 offset;
	u32 reserved;
	const void *src_pages;
	const void *dst_pages;
};

/**
 * struct pagoda_paging_limits - What the device can do, as far as it matters
 * @features: Features negotiated, as virtio numbers them: of interest are
 *	VIRTIO_PAGODA_F_OP(opcode), F_COHERENT, F_DUAL_PTE and F_DEVICE_MMU
 * @vram_size: Bytes of VRAM
 * @aperture_pages: Pages of the aperture
 * @mmu_pages: Pages MAP_MMU can map, 0 = none
 * @swizzling_bytes: Bytes of a swizzling range's window
 * @max_runs: Most runs of one packet, at least 2
 * @va_bits: Width of GPU virtual addresses, 0 = none
 * @pt_levels: Levels of page tables
 * @page_sizes: Bit n set: pages of 2^n bytes
 * @max_address_spaces: Address spaces
 * @swizzling_ranges: Swizzling ranges
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
 * struct pagoda_paging_cost - What an operation takes
 * @moved: Bytes the device copies or writes
 * @encoded: Upper bound for the bytes of all its packets, however they are split:
 *	what is left of one buffer, then fresh ones of at least the size asked
 *	for (or %PAGODA_PAGING_MIN_BUFFER, if that is more)
 * @packets: Upper bound for the number of packets in such buffers
 */
struct pagoda_paging_cost {
	u64 moved;
	u64 encoded;
	u32 packets;
};

/**
 * pagoda_cost_add() - Add what several operations take
 * @sum: Added to
 * @cost: Of one of them
 * @times: Their number
 */
static inline void pagoda_cost_add(struct pagoda_paging_cost *sum,
				   struct pagoda_paging_cost cost, u32 times)
{
	sum->moved += cost.moved * times;
	sum->encoded += cost.encoded * times;
	sum->packets += cost.packets * times;
}

/**
 * struct pagoda_paging_ends - Where an operation is from and to, in the terms of its own
 *	fields
 * @source: Address it is from, or what it has in place of one
 * @address: Address it is to
 * @size: In the operation's own unit: bytes, pages or entries
 * @src_segment: Segment of @source, %VIRTIO_PAGODA_SEGMENT_COUNT = none
 * @dst_segment: Segment of @address, the same
 */
struct pagoda_paging_ends {
	u64 source;
	u64 address;
	u64 size;
	u32 src_segment;
	u32 dst_segment;
};

int pagoda_paging_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_paging_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_paging_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op,
					     u32 buffer_size);
u64 pagoda_paging_moved(const struct pagoda_paging_limits *limits,
			const struct pagoda_paging_op *op);
struct pagoda_paging_ends pagoda_paging_ends(const struct pagoda_paging_op *op);
const char *pagoda_paging_name(u32 opcode);
u64 pagoda_paging_unknown_count(void);

/**
 * struct pagoda_paging_text - Text being written by the printer
 * @data: Memory, always terminated
 * @size: Its bytes
 * @len: Characters so far, without the terminator; stops at @size - 1
 */
struct pagoda_paging_text {
	char *data;
	size_t size;
	size_t len;
};

int pagoda_paging_print(const void *data, u32 size, struct pagoda_paging_text *text);

void pagoda_paging_walk(const void *data, u32 size, u32 start,
			void (*visit)(void *arg, const struct virtio_pagoda_packet *packet),
			void *arg);

/**
 * struct pagoda_root - Root page table of an address space
 * @address: Offset in the segment or bus address
 * @entries: Entries, 0 = the space has no root
 * @segment: VRAM or SYSTEM
 */
struct pagoda_root {
	u64 address;
	u64 entries;
	u32 segment;
};

/**
 * struct pagoda_cpu_range - A swizzling range as the CPU executor sees it
 * @window: Kernel address of its linear window
 * @address: Surface in VRAM it is bound to
 * @size: Bytes of the surface, 0 = not bound
 * @layout: Geometry
 */
struct pagoda_cpu_range {
	u8 *window;
	u64 address;
	u64 size;
	struct pagoda_layout layout;
};

/**
 * struct pagoda_cpu_executor - Memory as the CPU executor sees it
 * @vram: Kernel address of VRAM, or NULL when the CPU can't reach it
 * @vram_size: Bytes reachable from @vram on
 * @aperture: A struct page pointer for every page of the aperture: the CPU's
 *	copy of the mappings made through it, or NULL. An entry is NULL until
 *	its page is first mapped or unmapped
 * @generations: Generation of every page of the aperture, 0 = not mapped; or
 *	NULL: generations aren't checked
 * @aperture_pages: Entries of @aperture and @generations
 * @map_page: Returns the kernel address of page @index of a struct page array;
 *	local mapping, released in reverse order. Never NULL for a valid page
 * @unmap_page: Releases it
 * @page_at: Returns entry @index of a struct page array, to be kept in @aperture; NULL
 *	for a page the CPU doesn't have, with which the packet is refused
 * @table_page: Returns the struct page of a page table in system memory by its bus
 *	address, in the form entries of struct page arrays have, NULL if there is no
 *	table. From a register of tables, never made from the number (C66). May be
 *	NULL: no table is in system memory
 * @context: Argument of @table_page
 * @limits: Of the device; needed by whatever walks page tables. NULL: such packets
 *	are refused with -EOPNOTSUPP
 * @roots: Root of each address space, limits->max_address_spaces entries, or NULL
 * @mmu: A struct page pointer for every device page that MAP_MMU mapped, and
 * @mmu_pages: their number; NULL without a device MMU: then addresses of system
 *	memory aren't checked
 * @mmu_read_only: For each device page whether it may only be read; NULL: not checked
 * @ranges: Swizzling ranges, limits->swizzling_ranges entries, or NULL
 * @reason: Out: enum virtio_pagoda_fault_reason of the packet that was refused last, 0 if
 *	the last buffer was executed whole
 */
struct pagoda_cpu_executor {
	u8 *vram;
	u64 vram_size;
	const void **aperture;
	u32 *generations;
	u64 aperture_pages;
	void *(*map_page)(const void *pages, u64 index);
	void (*unmap_page)(void *address);
	const void *(*page_at)(const void *pages, u64 index);
	const void *(*table_page)(void *context, u64 bus);
	void *context;
	const struct pagoda_paging_limits *limits;
	const struct pagoda_root *roots;
	const void **mmu;
	u64 mmu_pages;
	u8 *mmu_read_only;
	struct pagoda_cpu_range *ranges;
	u32 reason;
};

int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at);

#endif
