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
 *     same operation twice gives the same bytes (C22).
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
 * @device: Owner, 0 = none (C60)
 * @first_page: OffsetInPages: first page of the aperture
 * @nr_pages: Pages
 * @adl_offset: First page of @adl
 * @adl: The pages
 * @flags: %VIRTIO_PAGODA_MAP_CACHE_COHERENT
 * @generation: Generation of the mapping
 * @cpu_visible_address: MAP_APERTURE_SEGMENT2: kernel address of the pages if
 *	the allocation asked for one, else NULL (C67)
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
 * @device: Owner, 0 = none
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
 * @address: Offset in the segment, or bus address for system memory
 * @value: Value to write
 * @segment: enum virtio_pagoda_segment
 * @flags: %VIRTIO_PAGODA_SIGNAL_EVENT
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
 * @gpu_address: GPU virtual address of the buffer's start, 0 = none
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
 *	VIRTIO_PAGODA_F_OP(opcode) and %VIRTIO_PAGODA_F_COHERENT
 * @vram_size: Bytes of VRAM
 * @aperture_pages: Pages of the aperture
 * @max_runs: Most runs of one packet, at least 2
 */
struct pagoda_paging_limits {
	u64 features;
	u64 vram_size;
	u64 aperture_pages;
	u32 max_runs;
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

int pagoda_paging_validate(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, const char **why);
enum pagoda_build pagoda_paging_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf);
struct pagoda_paging_cost pagoda_paging_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op,
					     u32 buffer_size);
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
			void (*visit)(void *arg, u32 opcode, u64 allocation), void *arg);

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
 * @page_at: Returns entry @index of a struct page array, to be kept in @aperture
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
};

int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at);

#endif
