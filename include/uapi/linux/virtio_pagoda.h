/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The device ABI of the Pagoda GPU: a virtio device with memory segments of its own. The device
 * moves, fills and maps memory as told by the packets in paging buffers, and executes the commands
 * of programs.
 *
 * Driver and device are both built from this header, which includes virtio_pagoda_commands.h, and
 * share nothing else. The two headers hold every number: opcodes, feature bits, layouts of packets
 * and commands, page-table format, limits.
 *
 * Rules of evolution
 *  - Everything is little endian. Sizes of structs are multiples of 8. There
 *    are no unions and no implicit padding.
 *  - Reserved fields and unknown flags must be zero; the device refuses a packet where they
 *    aren't, so that they can be given a meaning later.
 *  - An opcode works if and only if its feature bit was negotiated. A new field
 *    or behaviour gets a feature bit of its own, never a version number.
 *  - Structures grow at their end only; the length of a packet tells which
 *    fields are there.
 *
 * Vocabulary
 *  segment     A range of GPU-addressable memory with an id. 0 is system
 *              memory (described by runs), 1 is VRAM, 2 is the aperture.
 *  run         Consecutive pages of system memory: bus address and count.
 *  generation  Number that the driver gives to every aperture mapping. A packet that names a
 *              generation is refused if a page is mapped with another generation.
 *  seqno       Number of a request on its queue. Starts at 1 and grows by 1.
 *  job         Request on an execution queue whose buffer is a struct virtio_pagoda_execute: it
 *              executes commands, not packets.
 */
#ifndef _LINUX_VIRTIO_PAGODA_H
#define _LINUX_VIRTIO_PAGODA_H

#include <linux/types.h>
#include <linux/virtio_pagoda_commands.h>

/** VIRTIO_ID_PAGODA: virtio device id, from the range left for experiments. */
#define VIRTIO_ID_PAGODA		0x3f

/**
 * VIRTIO_PAGODA_VENDOR: virtio vendor id of the software GPU, "PGDA". Other devices may have
 * another vendor id: the driver takes any.
 */
#define VIRTIO_PAGODA_VENDOR		0x41444750

/** VIRTIO_PAGODA_PAGE_SHIFT: log2 of the bytes of a page. */
#define VIRTIO_PAGODA_PAGE_SHIFT	12
#define VIRTIO_PAGODA_PAGE_SIZE		(1u << VIRTIO_PAGODA_PAGE_SHIFT)
/** VIRTIO_PAGODA_PACKET_ALIGN: packets start and end at multiples of this many bytes. */
#define VIRTIO_PAGODA_PACKET_ALIGN	8

/**
 * VIRTIO_PAGODA_OPS() - Every operation of a paging buffer
 * @X: Macro called with (NAME, name, opcode)
 *
 * The enum below and all lists of names are made from this list. The opcode is the number of
 * the equivalent WDDM operation plus one, so that a zeroed buffer has no valid packet. 24, 25
 * and 26 are kept free for TRANSFER2, FILL2 and DISCARD_CONTENT2.
 */
#define VIRTIO_PAGODA_OPS(X) \
	X(TRANSFER, transfer, 1) \
	X(FILL, fill, 2) \
	X(DISCARD_CONTENT, discard_content, 3) \
	X(READ_PHYSICAL, read_physical, 4) \
	X(WRITE_PHYSICAL, write_physical, 5) \
	X(MAP_APERTURE_SEGMENT, map_aperture_segment, 6) \
	X(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, 7) \
	X(SPECIAL_LOCK_TRANSFER, special_lock_transfer, 8) \
	X(VIRTUAL_TRANSFER, virtual_transfer, 9) \
	X(VIRTUAL_FILL, virtual_fill, 10) \
	X(INIT_CONTEXT_RESOURCE, init_context_resource, 11) \
	X(UPDATE_PAGE_TABLE, update_page_table, 12) \
	X(FLUSH_TLB, flush_tlb, 13) \
	X(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, 14) \
	X(COPY_PAGE_TABLE_ENTRIES, copy_page_table_entries, 15) \
	X(NOTIFY_RESIDENCY, notify_residency, 16) \
	X(SIGNAL_MONITORED_FENCE, signal_monitored_fence, 17) \
	X(MAP_APERTURE_SEGMENT2, map_aperture_segment2, 18) \
	X(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, 19) \
	X(MAP_MMU, map_mmu, 20) \
	X(UNMAP_MMU, unmap_mmu, 21) \
	X(NOTIFY_RESIDENCY2, notify_residency2, 22) \
	X(NOTIFY_ALLOC, notify_alloc, 23)

/** enum virtio_pagoda_opcode - Opcodes of packets; 0 is never valid. */
enum virtio_pagoda_opcode {
#define VIRTIO_PAGODA_OP_ENUM(NAME, name, opcode) VIRTIO_PAGODA_OP_##NAME = (opcode),
	VIRTIO_PAGODA_OPS(VIRTIO_PAGODA_OP_ENUM)
#undef VIRTIO_PAGODA_OP_ENUM
	VIRTIO_PAGODA_OP_COUNT		/* one past the last opcode */
};

/**
 * VIRTIO_PAGODA_F_OP() - Feature bit of an opcode
 * @opcode: One of enum virtio_pagoda_opcode
 *
 * Bits 0 to 22, and 23 for opcode 24. Bits 24 to 49 are the transport's: an opcode from 25 on
 * needs a bit above those that are defined below. A packet whose bit was not negotiated faults
 * with %VIRTIO_PAGODA_FAULT_UNSUPPORTED.
 */
#define VIRTIO_PAGODA_F_OP(opcode)	((opcode) - 1)
/** VIRTIO_PAGODA_F_CPU_WINDOW: the CPU can reach VRAM, or a part that begins at its start. */
#define VIRTIO_PAGODA_F_CPU_WINDOW	50
/**
 * VIRTIO_PAGODA_F_VRAM_ZEROED: VRAM reads as zeros after a reset of the virtio device. If the
 * device lost its power before, the part of VRAM that it preserves keeps its content instead.
 */
#define VIRTIO_PAGODA_F_VRAM_ZEROED	51
/**
 * VIRTIO_PAGODA_F_COHERENT: the device snoops CPU caches where a mapping asks for that, and in
 * all accesses to tables and runs; F_WRITE_COMBINER may delay writes to runs. The driver
 * doesn't flush caches, and refuses a device without this feature.
 */
#define VIRTIO_PAGODA_F_COHERENT	52
/**
 * VIRTIO_PAGODA_F_DUAL_PTE: a level-1 entry links two tables: of 4 KiB and of 64 KiB pages. A
 * device without 64 KiB pages doesn't offer this feature.
 */
#define VIRTIO_PAGODA_F_DUAL_PTE	53
/**
 * VIRTIO_PAGODA_F_DEVICE_MMU: the device accesses system memory, except for the virtqueues and what
 * their descriptors name, by mappings of MAP_MMU only.
 */
#define VIRTIO_PAGODA_F_DEVICE_MMU	54
/** VIRTIO_PAGODA_F_INVALID_NOT_CACHED: the TLB never caches an invalid page-table entry. */
#define VIRTIO_PAGODA_F_INVALID_NOT_CACHED 55
/** VIRTIO_PAGODA_F_EXECUTE: engines execute command buffers; RESET_ADAPTER is supported. */
#define VIRTIO_PAGODA_F_EXECUTE		56
/**
 * VIRTIO_PAGODA_F_WRITE_COMBINER: some writes to system memory are combined: kept back for a while.
 *
 * Each queue has a write combiner of a few lines of a few bytes. A line is kept until other
 * writes need the room. Only accesses of the same queue see the content of lines that are not
 * in memory.
 *
 * Writes that may be combined are those
 *
 *  - by TRANSFER and SPECIAL_LOCK_TRANSFER of the paging queue to runs, and to pages of the
 *    aperture that were mapped without %VIRTIO_PAGODA_MAP_CACHE_COHERENT;
 *  - by VIRTUAL_TRANSFER, VIRTUAL_FILL and commands through page-table entries without
 *    %VIRTIO_PAGODA_PTE_COHERENT that lead to system memory, or to pages of the aperture
 *    that were mapped without %VIRTIO_PAGODA_MAP_CACHE_COHERENT.
 *
 * Other writes are in memory at once: VRAM, tables, save areas, fences, the value that
 * ATOMIC_ADD changes, and writes by packets of an execution queue.
 *
 * All combined writes of a queue are in memory
 *
 *  - for the paging queue, before READ_PHYSICAL, WRITE_PHYSICAL and SIGNAL_MONITORED_FENCE have
 *    their own effect, and after MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and
 *    UNMAP_APERTURE_SEGMENT;
 *  - for an engine, before READ_PHYSICAL, WRITE_PHYSICAL and SIGNAL_MONITORED_FENCE on its queue
 *    have their own effect; when a job with %VIRTIO_PAGODA_EXECUTE_DRAIN ends; before SIGNAL writes
 *    its value and before WAIT reads the value it waits for; and now and then while a job runs;
 *  - for every queue, after FLUSH_TLB, MAP_MMU and UNMAP_MMU; for engines after SET_ROOT;
 *  - when a buffer of the paging queue or a job faults or is stopped, unless it was refused before
 *    it began; and when RESET_QUEUE or RESET_ADAPTER is answered.
 *
 * A reset of the device drops the remaining lines: their memory may have been given back by
 * then. No line is written to memory that the driver gives back after the operations that end
 * the memory's mapping. Memory that is named by runs has no mapping: between TRANSFER and the
 * time when the driver gives such memory back, it sends one of the operations above. A combined
 * write changes only the bytes that the operation or command writes.
 */
#define VIRTIO_PAGODA_F_WRITE_COMBINER	57
/**
 * VIRTIO_PAGODA_F_DIRTY: the device knows which pages of VRAM were written.
 *
 * There are %VIRTIO_PAGODA_DIRTY_TRACKERS trackers. Each has a bit for each page of 4 KiB of VRAM.
 * Every write to VRAM by the device sets the page's bit in all trackers, after the write: by
 * packets of all queues, by commands, to page tables, save areas and fences, and by RELEASE_RANGE.
 * A write to a tiled surface may set the bits of the whole surface. Writes of the CPU through the
 * CPU window set no bits. After a reset of the virtio device, and after RESET_ADAPTER, all bits are
 * set, because the content may be lost, and no tracker tracks a range any more.
 *
 * TRANSFER and VIRTUAL_TRANSFER get the flags CLEAN and DIRTY, and each completion of a request
 * ends with &virtio_pagoda_completion.skipped. Trackers 1 and above can be started, stopped and
 * queried by control commands.
 */
#define VIRTIO_PAGODA_F_DIRTY		58

/** VIRTIO_PAGODA_DIRTY_TRACKERS: trackers of a device with %VIRTIO_PAGODA_F_DIRTY. */
#define VIRTIO_PAGODA_DIRTY_TRACKERS	8
/**
 * VIRTIO_PAGODA_DIRTY_CONTENT: tracker that transfers with DIRTY look at. Control commands can't
 * name it: else they would make such a transfer skip what was written.
 */
#define VIRTIO_PAGODA_DIRTY_CONTENT	0
/**
 * VIRTIO_PAGODA_DIRTY_OWNER: tracker for the owners of allocations. Transfers with CLEAN bring back
 * what the owner had: the bits of their pages are cleared in this tracker and in tracker CONTENT,
 * and set in trackers 2 and above, as by other writes.
 */
#define VIRTIO_PAGODA_DIRTY_OWNER	1
/**
 * VIRTIO_PAGODA_DIRTY_BLOCK: bytes of an aligned block of VRAM. If a page of the source in a block
 * was written, TRANSFER with DIRTY copies all of the source in this block, VIRTUAL_TRANSFER at
 * least the written pages.
 */
#define VIRTIO_PAGODA_DIRTY_BLOCK	(64u << 10)

/** enum virtio_pagoda_queue - Virtqueue numbers; execution engine i has queue EXEC0 + i. */
enum virtio_pagoda_queue {
	VIRTIO_PAGODA_QUEUE_CONTROL = 0,
	VIRTIO_PAGODA_QUEUE_PAGING = 1,
	VIRTIO_PAGODA_QUEUE_EVENT = 2,
	VIRTIO_PAGODA_QUEUE_EXEC0 = 3,
};

/** VIRTIO_PAGODA_MAX_ENGINES: most execution engines (&virtio_pagoda_config.num_engines). */
#define VIRTIO_PAGODA_MAX_ENGINES	16
/** VIRTIO_PAGODA_MAX_BUFFER: upper bound, in bytes, of one paging buffer. */
#define VIRTIO_PAGODA_MAX_BUFFER	(64u << 10)
/** VIRTIO_PAGODA_MIN_BUFFER: a device must accept paging buffers of up to this many bytes. */
#define VIRTIO_PAGODA_MIN_BUFFER	4096u
/** VIRTIO_PAGODA_MAX_VRAM: most bytes of VRAM (&virtio_pagoda_config.vram_size). */
#define VIRTIO_PAGODA_MAX_VRAM		(1ull << 40)
/** VIRTIO_PAGODA_MAX_APERTURE_PAGES: most pages of 4 KiB in the aperture: 64 GiB in all. */
#define VIRTIO_PAGODA_MAX_APERTURE_PAGES (1ull << 24)
/** VIRTIO_PAGODA_MAX_EXTENTS: most ranges of addresses in a list that GET_EXTENTS reads. */
#define VIRTIO_PAGODA_MAX_EXTENTS	(1u << 18)
/** VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER: most ranges of addresses that one GET_EXTENTS returns. */
#define VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER 128
/** VIRTIO_PAGODA_MAX_DIRTY_PAGES: most pages whose bits one QUERY_DIRTY returns: 64 MiB. */
#define VIRTIO_PAGODA_MAX_DIRTY_PAGES	(1u << 14)

/** VIRTIO_PAGODA_MAX_MMU_PAGES: most 4 KiB pages of device addresses: 64 GiB in all. */
#define VIRTIO_PAGODA_MAX_MMU_PAGES	(1ull << 24)
/** VIRTIO_PAGODA_MIN_VA_BITS: least width of virtual addresses of a device with page tables. */
#define VIRTIO_PAGODA_MIN_VA_BITS	47
/** VIRTIO_PAGODA_MAX_VA_BITS: largest width of virtual addresses in bits. */
#define VIRTIO_PAGODA_MAX_VA_BITS	63
/** VIRTIO_PAGODA_MAX_VA_BITS_2: largest width with two levels of tables: a root of 2^27 entries. */
#define VIRTIO_PAGODA_MAX_VA_BITS_2	48
/** VIRTIO_PAGODA_PT_MAX_LEVELS: most levels of page tables (&virtio_pagoda_config.pt_levels). */
#define VIRTIO_PAGODA_PT_MAX_LEVELS	6
/** VIRTIO_PAGODA_MAX_SPACES: most address spaces (&virtio_pagoda_config.max_address_spaces). */
#define VIRTIO_PAGODA_MAX_SPACES	4096
/** VIRTIO_PAGODA_MAX_SWIZZLING_RANGES: most swizzling ranges, see struct virtio_pagoda_control. */
#define VIRTIO_PAGODA_MAX_SWIZZLING_RANGES 64

/** VIRTIO_PAGODA_MAX_GENERATION: largest generation; the driver's next generation is 1 again. */
#define VIRTIO_PAGODA_MAX_GENERATION	((1u << 24) - 1)

/** enum virtio_pagoda_segment - Segment ids: system memory, VRAM, aperture. */
enum virtio_pagoda_segment {
	VIRTIO_PAGODA_SEGMENT_SYSTEM = 0,
	VIRTIO_PAGODA_SEGMENT_VRAM = 1,
	VIRTIO_PAGODA_SEGMENT_APERTURE = 2,
	VIRTIO_PAGODA_SEGMENT_COUNT
};

/**
 * struct virtio_pagoda_config - Configuration space: every limit of the device. The driver reads
 *	the space by aligned accesses of 32 bits, as virtio asks for
 * @vram_size: Bytes in segment 1; multiple of the page size, not zero
 * @visible_size: Bytes from the start of VRAM that the CPU window covers;
 *	0 without %VIRTIO_PAGODA_F_CPU_WINDOW, at most @vram_size
 * @aperture_pages: Pages of 4 KiB in segment 2; not zero
 * @max_buffer_bytes: Largest paging buffer; %VIRTIO_PAGODA_MIN_BUFFER to
 *	%VIRTIO_PAGODA_MAX_BUFFER, multiple of the page size
 * @max_runs: Most runs in one packet, source and destination together; at least 2
 * @num_engines: Execution queues, 1 to %VIRTIO_PAGODA_MAX_ENGINES
 * @alignment: Alignment in bytes of VRAM addresses an allocation may start
 *	at; a power of two from the page size to 2 MiB
 * @window_extents: Entries of the CPU window list (GET_EXTENTS)
 * @invalid_extents: Entries of the list of VRAM that must not be used
 * @system_address_bits: Width of the bus addresses the device can emit, 32-52
 * @va_bits: Width of GPU virtual addresses, 0 or %VIRTIO_PAGODA_MIN_VA_BITS to
 *	%VIRTIO_PAGODA_MAX_VA_BITS
 * @pt_levels: Levels of GPU page tables: 0 exactly when @va_bits is 0; 2 or 4 for 47 and 48
 *	bits, 5 for 49 to 57, 6 for 58 to 63. Each level's index has 1 to 9 bits of the address;
 *	with two levels the root's index has more
 * @page_sizes: Bit n set: GPU page tables can map pages of 2^n bytes; n is 12, 16 or 21, and 12 is
 *	set unless @va_bits is 0
 * @max_address_spaces: Address spaces the device can hold roots of; space 0 belongs to the
 *	paging process. 0 exactly when @va_bits is 0
 * @swizzling_ranges: Number of swizzling ranges, windows in which the CPU sees a tiled surface row
 *	by row; 0 without SPECIAL_LOCK_TRANSFER
 * @mmu_pages: Pages of device addresses that MAP_MMU can map; 0 exactly without
 *	%VIRTIO_PAGODA_F_DEVICE_MMU
 * @swizzling_bytes: Bytes of the linear window of each range, multiple of 64 KiB; 0
 *	exactly when @swizzling_ranges is 0
 * @swizzling_extents: Entries of the list of the swizzling ranges' windows
 * @preserved: VIRTIO_PAGODA_PRESERVED_* flags: in which sleep of the machine VRAM keeps its
 *	content. None, STANDBY, STANDBY with HIBERNATE, or STANDBY with HIBERNATE_PART
 * @preserved_bytes: HIBERNATE_PART: bytes from the start of VRAM, multiple of the page size,
 *	less than @vram_size and not zero; else 0
 */
struct virtio_pagoda_config {
	__le64 vram_size;
	__le64 visible_size;
	__le64 aperture_pages;
	__le32 max_buffer_bytes;
	__le32 max_runs;
	__le32 num_engines;
	__le32 alignment;
	__le32 window_extents;
	__le32 invalid_extents;
	__le32 system_address_bits;
	__le32 va_bits;
	__le32 pt_levels;
	__le32 page_sizes;
	__le32 max_address_spaces;
	__le32 swizzling_ranges;
	__le64 mmu_pages;
	__le64 swizzling_bytes;
	__le32 swizzling_extents;
	__le32 preserved;
	__le64 preserved_bytes;
};

/** VIRTIO_PAGODA_PRESERVED_STANDBY: all VRAM keeps its content in a suspend to RAM or to idle. */
#define VIRTIO_PAGODA_PRESERVED_STANDBY		(1u << 0)
/** VIRTIO_PAGODA_PRESERVED_HIBERNATE: all VRAM keeps its content in a hibernation, too. */
#define VIRTIO_PAGODA_PRESERVED_HIBERNATE	(1u << 1)
/**
 * VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART: the first &virtio_pagoda_config.preserved_bytes of VRAM
 * keep their content in a hibernation, too.
 */
#define VIRTIO_PAGODA_PRESERVED_HIBERNATE_PART	(1u << 2)

/* ---- Faults, completions, events ----------------------------------------- */

/**
 * VIRTIO_PAGODA_FAULTS() - Reasons for which the device refuses or stops a packet or command
 * @X: Macro called with (NAME, number, text)
 */
#define VIRTIO_PAGODA_FAULTS(X) \
	X(NONE, 0, "none") \
	X(BAD_OPCODE, 1, "unknown opcode") \
	X(UNSUPPORTED, 2, "opcode not negotiated") \
	X(FORBIDDEN, 3, "opcode not allowed on this queue") \
	X(BAD_LENGTH, 4, "packet length") \
	X(BAD_FLAGS, 5, "unknown or contradictory flags") \
	X(RESERVED, 6, "reserved or forbidden field set") \
	X(BAD_SEGMENT, 7, "segment id") \
	X(OUT_OF_RANGE, 8, "address or size outside the segment") \
	X(MISALIGNED, 9, "alignment") \
	X(BAD_RUNS, 10, "page runs don't match the size") \
	X(UNREACHABLE, 11, "bus address is not memory") \
	X(STALE_GENERATION, 12, "mapping generation") \
	X(OVERLAP, 13, "source and destination overlap") \
	X(DEVICE_FAILURE, 14, "device failure") \
	X(BAD_BUFFER, 15, "request header or buffer size") \
	X(INVALID_ENTRY, 16, "invalid page-table entry") \
	X(READ_ONLY, 17, "write through a read-only entry") \
	X(NO_EXECUTE, 18, "fetch through a no-execute entry") \
	X(BAD_TABLE, 19, "malformed page table") \
	X(BAD_CONTEXT, 20, "context or address space id") \
	X(BAD_LAYOUT, 21, "surface layout or swizzling range") \
	X(NOT_MAPPED, 22, "device address that MAP_MMU didn't map") \
	X(COMPARE, 23, "memory isn't what COMPARE wants") \
	X(BAD_COMMAND, 24, "unknown or malformed command")

/** enum virtio_pagoda_fault_reason - Reasons of faults, listed by VIRTIO_PAGODA_FAULTS(). */
enum virtio_pagoda_fault_reason {
#define VIRTIO_PAGODA_FAULT_ENUM(NAME, number, text) VIRTIO_PAGODA_FAULT_##NAME = (number),
	VIRTIO_PAGODA_FAULTS(VIRTIO_PAGODA_FAULT_ENUM)
#undef VIRTIO_PAGODA_FAULT_ENUM
	VIRTIO_PAGODA_FAULT_COUNT
};

/** enum virtio_pagoda_access - Kind of the access that faulted; FETCH reads commands. */
enum virtio_pagoda_access {
	VIRTIO_PAGODA_ACCESS_NONE = 0,
	VIRTIO_PAGODA_ACCESS_READ = 1,
	VIRTIO_PAGODA_ACCESS_WRITE = 2,
	VIRTIO_PAGODA_ACCESS_FETCH = 3,
};

/**
 * struct virtio_pagoda_fault - Where and why a packet or command was refused
 * @reason: enum virtio_pagoda_fault_reason
 * @opcode: Opcode found in the packet or command
 * @offset: Byte offset in the request's buffer: of the packet or, if a command faulted, of the
 *	struct virtio_pagoda_command_buffer with which the job was busy
 * @queue: Virtqueue number
 * @seqno: Number of the request with the packet or command
 * @address: Address or field value that was refused, 0 if there is none
 * @access: enum virtio_pagoda_access
 * @level: Page-table level at which the walk stopped (0 = leaf), 0 for other faults
 * @context: Execution context, 0 for paging
 * @command: GPU virtual address of the command that was executed, 0 for packets
 */
struct virtio_pagoda_fault {
	__le32 reason;
	__le32 opcode;
	__le32 offset;
	__le32 queue;
	__le64 seqno;
	__le64 address;
	__le32 access;
	__le32 level;
	__le64 context;
	__le64 command;
};

/**
 * enum virtio_pagoda_status - Outcome of a request; 0 is never valid.
 * @VIRTIO_PAGODA_STATUS_OK: every packet or command was executed
 * @VIRTIO_PAGODA_STATUS_FAULT: the request was refused, or the packet or command that the
 *	completion's @fault names faulted. Earlier packets or commands are executed whole, the one
 *	that faulted may be executed in part, later ones are not executed. The queue is halted: it
 *	executes nothing until RESET_QUEUE or RESET_ADAPTER
 * @VIRTIO_PAGODA_STATUS_ABORTED: the request was given back by RESET_ADAPTER, or by RESET_QUEUE,
 *	whose answer tells what was executed
 */
enum virtio_pagoda_status {
	VIRTIO_PAGODA_STATUS_OK = 1,
	VIRTIO_PAGODA_STATUS_FAULT = 2,
	VIRTIO_PAGODA_STATUS_ABORTED = 3,
};

/**
 * struct virtio_pagoda_request - Head of a request on the paging or an
 *	execution queue; device-readable, followed by the buffer's bytes
 * @seqno: One more than the number of the request before on this queue; a request that is submitted
 *	again to the paging queue after RESET_QUEUE keeps its number
 * @size: Bytes of the buffer, multiple of 8, at most max_buffer_bytes
 * @start: Offset of the first packet to execute; not 0 only in a request that is submitted again
 * @context: Execution context; 0 on the paging queue
 * @reserved: Zero
 *
 * On an execution queue with @context not 0 and %VIRTIO_PAGODA_F_EXECUTE negotiated
 * the buffer is a struct virtio_pagoda_execute, and @start is 0; else the buffer has packets.
 */
struct virtio_pagoda_request {
	__le64 seqno;
	__le32 size;
	__le32 start;
	__le64 context;
	__le64 reserved;
};

/**
 * struct virtio_pagoda_command_buffer - Commands to execute
 * @address: GPU virtual address of the first command, multiple of 8
 * @size: Bytes, multiple of 8, at most %VIRTIO_PAGODA_MAX_COMMAND_BUFFER, not 0
 */
struct virtio_pagoda_command_buffer {
	__le64 address;
	__le64 size;
};

/** VIRTIO_PAGODA_MAX_COMMAND_BUFFERS: most command buffers of one request. */
#define VIRTIO_PAGODA_MAX_COMMAND_BUFFERS	64

/**
 * struct virtio_pagoda_execute - Buffer of a job: a request that executes commands
 * @image_address: Address of the context's save area (struct virtio_pagoda_context_image):
 *	offset in VRAM, or address of its first page in system memory
 * @image_segment: VRAM or SYSTEM
 * @address_space: Address space to run in, not 0
 * @nr_buffers: Number of struct virtio_pagoda_command_buffer that follow, at most
 *	%VIRTIO_PAGODA_MAX_COMMAND_BUFFERS; a job without any executes no commands
 * @flags: %VIRTIO_PAGODA_EXECUTE_DRAIN
 *
 * The save area must have been initialised for the request's context (C81) and name the root
 * that the address space has (C84), else BAD_CONTEXT. Registers are loaded from the save area, and
 * stored back however the job ends, unless the job was refused before its first command. The save
 * area may move between two jobs, never during a job (C85).
 */
struct virtio_pagoda_execute {
	__le64 image_address;
	__le32 image_segment;
	__le32 address_space;
	__le32 nr_buffers;
	__le32 flags;
};

/**
 * VIRTIO_PAGODA_EXECUTE_DRAIN: the job's writes, snooped or not, are in memory when the job is
 * answered. Only with %VIRTIO_PAGODA_F_WRITE_COMBINER.
 */
#define VIRTIO_PAGODA_EXECUTE_DRAIN	(1u << 0)

/**
 * struct virtio_pagoda_completion - Device-writable tail of a request
 * @seqno: Number of the request
 * @status: enum virtio_pagoda_status
 * @packets: Number of packets or commands that this request executed whole; 2^32 - 2 also stands
 *	for any larger number
 * @fault: Filled if @status is %VIRTIO_PAGODA_STATUS_FAULT, else zero
 * @skipped: Bytes that transfers with the flag DIRTY didn't copy. Written only with
 *	%VIRTIO_PAGODA_F_DIRTY; without it the completion ends before this field
 */
struct virtio_pagoda_completion {
	__le64 seqno;
	__le32 status;
	__le32 packets;
	struct virtio_pagoda_fault fault;
	__le64 skipped;
};

/** enum virtio_pagoda_event_type - Events of the event queue. */
enum virtio_pagoda_event_type {
	VIRTIO_PAGODA_EVENT_FAULT = 1,		/* a request ended with STATUS_FAULT */
	VIRTIO_PAGODA_EVENT_FENCE = 2,		/* a fence was signalled by work with flag EVENT */
	VIRTIO_PAGODA_EVENT_RESET = 3,		/* the device reset itself, as RESET_ADAPTER does */
};

/**
 * struct virtio_pagoda_event - Device-writable buffer of the event queue
 * @type: enum virtio_pagoda_event_type
 * @lost: Number of events dropped since the last event, because the queue had no buffer
 * @value: FENCE: the 64-bit value that SIGNAL_MONITORED_FENCE or SIGNAL named; else 0
 * @fault: FAULT: the fault. FENCE: reason 0; opcode, offset, queue, seqno, context and command say
 *	which packet or command signalled, and address is the address that it named: a GPU virtual
 *	address of the context for a command, of space 0 with SIGNAL_VIRTUAL. RESET: zeros
 */
struct virtio_pagoda_event {
	__le32 type;
	__le32 lost;
	__le64 value;
	struct virtio_pagoda_fault fault;
};

/* ---- Control queue -------------------------------------------------------- */

/** enum virtio_pagoda_control_type - Commands of the control queue. */
enum virtio_pagoda_control_type {
	VIRTIO_PAGODA_CONTROL_NOP = 1,
	VIRTIO_PAGODA_CONTROL_GET_EXTENTS = 2,
	VIRTIO_PAGODA_CONTROL_RESET_QUEUE = 3,
	VIRTIO_PAGODA_CONTROL_SET_ROOT = 4,
	VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE = 5,
	VIRTIO_PAGODA_CONTROL_RELEASE_RANGE = 6,
	VIRTIO_PAGODA_CONTROL_RESET_ADAPTER = 7,
	VIRTIO_PAGODA_CONTROL_START_DIRTY = 8,
	VIRTIO_PAGODA_CONTROL_STOP_DIRTY = 9,
	VIRTIO_PAGODA_CONTROL_QUERY_DIRTY = 10,
};

/** enum virtio_pagoda_control_status - Whether a control command was executed or refused. */
enum virtio_pagoda_control_status {
	VIRTIO_PAGODA_CONTROL_OK = 1,
	VIRTIO_PAGODA_CONTROL_EINVAL = 2,
};

/** enum virtio_pagoda_extents - Lists that GET_EXTENTS reads, see struct virtio_pagoda_extent. */
enum virtio_pagoda_extents {
	VIRTIO_PAGODA_EXTENTS_WINDOW = 1,
	VIRTIO_PAGODA_EXTENTS_INVALID = 2,
	VIRTIO_PAGODA_EXTENTS_SWIZZLING = 3,
};

/** enum virtio_pagoda_tiling - How a surface is laid out in VRAM. */
enum virtio_pagoda_tiling {
	VIRTIO_PAGODA_TILING_LINEAR = 0,
	VIRTIO_PAGODA_TILING_4K = 1,	/* tiles of 64 bytes by 64 rows */
	VIRTIO_PAGODA_TILING_64K = 2,	/* tiles of 256 bytes by 256 rows */
	VIRTIO_PAGODA_TILING_COUNT
};

#define VIRTIO_PAGODA_TILE_4K_WIDTH	64u	/* bytes of a row; a tile has as many rows */
#define VIRTIO_PAGODA_TILE_64K_WIDTH	256u	/* bytes of a row; a tile has as many rows */
/** VIRTIO_PAGODA_MAX_PITCH: most bytes from row to row of a surface. */
#define VIRTIO_PAGODA_MAX_PITCH		65536u
/** VIRTIO_PAGODA_MAX_MIPS: most mip levels of a surface. */
#define VIRTIO_PAGODA_MAX_MIPS		16u

/**
 * struct virtio_pagoda_layout - Geometry of a tiled surface; not WDDM's
 * @tiling: enum virtio_pagoda_tiling, not linear
 * @pitch: Bytes from row to row of mip level 0; not zero, a multiple of the tile's
 *	width, at most %VIRTIO_PAGODA_MAX_PITCH
 * @height: Rows of level 0; not zero, a multiple of the tile's rows
 * @mips: Levels, 1 to %VIRTIO_PAGODA_MAX_MIPS
 *
 * Level n + 1 has half the pitch and half the rows of level n, each rounded up to whole tiles.
 * Levels follow each other. In the linear view a level is stored row by row; in the tiled view
 * tile by tile, left to right and top to bottom, each tile row by row. Both views of a level
 * begin at the same byte and have the same size; bytes behind the last level are linear in both
 * views.
 */
struct virtio_pagoda_layout {
	__le32 tiling;
	__le32 pitch;
	__le32 height;
	__le32 mips;
};

/**
 * struct virtio_pagoda_control - A control command, device-readable
 * @type: enum virtio_pagoda_control_type
 * @index: GET_EXTENTS: enum virtio_pagoda_extents. RESET_QUEUE: virtqueue number of the paging or
 *	an execution queue. SET_ROOT: address space. ACQUIRE_RANGE, RELEASE_RANGE: swizzling range.
 *	START_DIRTY, STOP_DIRTY, QUERY_DIRTY: tracker, from %VIRTIO_PAGODA_DIRTY_OWNER on. Else 0
 * @first: GET_EXTENTS: number of the first entry wanted. Else 0
 * @address: SET_ROOT: address of the root table in @segment, aligned to the table's size (the
 *	software GPU only requires page alignment); 0 without a root.
 *	ACQUIRE_RANGE: address of the surface in VRAM, page aligned. START_DIRTY, QUERY_DIRTY:
 *	address of the range in VRAM, page aligned. Else 0
 * @size: SET_ROOT: entries of the root, 0 = the space has no root any more.
 *	ACQUIRE_RANGE: bytes of the surface, multiple of the page size, at most
 *	swizzling_bytes. RELEASE_RANGE: 1 = write the view back into the
 *	surface, 0 = drop the view. START_DIRTY, QUERY_DIRTY: bytes of the range, multiple of the
 *	page size, not 0; for QUERY_DIRTY at most %VIRTIO_PAGODA_MAX_DIRTY_PAGES pages. Else 0
 * @segment: SET_ROOT: VRAM or SYSTEM; 0 without a root. Else 0
 * @reserved: Zero
 * @layout: ACQUIRE_RANGE: geometry of the surface. Else 0
 *
 * SET_ROOT is WDDM's SetRootPageTable: no job of the space may be executing, unless the space
 * has this root already, with as many entries. SET_ROOT drops all translations cached for the
 * space, and an access with a top-level index that isn't below @size faults. When SET_ROOT is
 * answered, no access of any queue uses the old translations: with the same root SET_ROOT acts as
 * FLUSH_TLB of the whole space, but doesn't write back the paging queue's write combiner. The
 * driver sends such a SET_ROOT when the CPU, after a reset of the paging queue, executed a
 * FLUSH_TLB in place of the device.
 *
 * ACQUIRE_RANGE is WDDM's AcquireSwizzlingRange: the linear view of the surface is copied
 * into the window of the range, where the CPU reads and writes the view; until the
 * range is released or taken by SPECIAL_LOCK_TRANSFER the content is in the window.
 * If the range is bound already, its view is dropped and the range is bound anew.
 *
 * START_DIRTY clears the tracker's bits of the range (C201); the tracker then tracks the range
 * until STOP_DIRTY. A tracker tracks one range: START_DIRTY of a tracker that tracks one already,
 * and the other two commands for a tracker that tracks none, are refused. What one tracker is told
 * changes nothing for the others, even if their ranges overlap (C203).
 *
 * QUERY_DIRTY of a part of the tracked range writes the part's bits behind the answer and clears
 * them, and no others (C204). Each bit is read and cleared in one step: a write that races with
 * the query shows in its answer or in the next one (C202), and a write whose bit an answer shows
 * can be read from the page once the answer is there.
 *
 * RESET_QUEUE of an execution queue stops the queue in the middle of a command or packet, and
 * counts every request that the queue was given as executed: the next request's number is that of
 * the last request plus one (C187, C193). The answer's @seqno is the number of the last request
 * that was executed whole. The paging queue stops between packets, and continues with the next
 * packet (C186).
 *
 * RESET_ADAPTER, only with %VIRTIO_PAGODA_F_EXECUTE, resets all execution queues and the paging
 * queue: each counts all requests that it was given as executed (C193). Mappings of the aperture
 * and of the device MMU, roots, translations, bound ranges and the ranges of trackers are forgotten
 * and the content of VRAM is undefined. Negotiated features stay. From the answer until the next
 * request the device accesses no memory but its rings (C191).
 */
struct virtio_pagoda_control {
	__le32 type;
	__le32 index;
	__le64 first;
	__le64 address;
	__le64 size;
	__le32 segment;
	__le32 reserved;
	struct virtio_pagoda_layout layout;
};

/**
 * struct virtio_pagoda_answer - Device-writable answer to a control command
 * @status: enum virtio_pagoda_control_status
 * @count: GET_EXTENTS: entries that follow. QUERY_DIRTY: words, each an __le64, that follow: bit n
 *	% 64 of word n / 64 is set if page n of the range was written. Else 0
 * @seqno: RESET_QUEUE: all requests up to this number were executed whole, or counted so by an
 *	earlier reset. All requests that the queue held were given back before this answer
 * @offset: RESET_QUEUE of the paging queue: offset of the first packet that wasn't executed whole,
 *	in the request with number @seqno + 1; 0 if that request wasn't started
 * @reserved: Zero
 */
struct virtio_pagoda_answer {
	__le32 status;
	__le32 count;
	__le64 seqno;
	__le32 offset;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_extent - An entry of an extent list
 * @address: WINDOW, SWIZZLING: physical address of CPU-reachable memory, which isn't memory of the
 *	machine, unless the device is a part of the kernel that the driver runs in. INVALID: 0
 * @offset: WINDOW, INVALID: offset in VRAM of the entry's first byte; SWIZZLING: offset in the
 *	windows of all ranges, one after another, range 0 first
 * @size: Bytes
 *
 * WINDOW lists the VRAM that the CPU reaches, INVALID the VRAM that must not be used, SWIZZLING the
 * windows of the swizzling ranges, in which the CPU sees tiled surfaces row by row. All fields are
 * multiples of the page size. The entries of WINDOW are sorted by @offset, without gaps, and cover
 * exactly [0, visible_size); the entries of SWIZZLING cover [0, swizzling_ranges * swizzling_bytes)
 * in the same way. The entries of INVALID are sorted by @offset and don't overlap.
 */
struct virtio_pagoda_extent {
	__le64 address;
	__le64 offset;
	__le64 size;
};

/* ---- Packets -------------------------------------------------------------- */

/**
 * struct virtio_pagoda_packet - Head of every packet
 * @opcode: enum virtio_pagoda_opcode
 * @flags: Flags that @opcode has; all other bits must be zero
 * @length: Bytes of the packet, with this head and all runs or entries behind the struct; multiple
 *	of 8, and exactly as many as the struct and the counts in it need
 * @allocation: Driver's name for the allocation, 0 = none (C25, C31, C43, C60). For traces: the
 *	device only tests whether it is 0, in TRANSFER and in NOTIFY_* packets about allocations
 */
struct virtio_pagoda_packet {
	__le16 opcode;
	__le16 flags;
	__le32 length;
	__le64 allocation;
};

/**
 * struct virtio_pagoda_run - Consecutive pages of system memory
 * @address: Bus address of the first page, page aligned
 * @nr_pages: Pages, at least 1
 * @reserved: Zero
 */
struct virtio_pagoda_run {
	__le64 address;
	__le32 nr_pages;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_location - Memory that a packet names: source or destination of a transfer,
 * or a save area
 * @segment: enum virtio_pagoda_segment
 * @nr_runs: SYSTEM: runs that describe the memory, at least 1, together exactly the
 *	pages that the size needs. Else 0
 * @address: Offset in the segment in bytes, page aligned. SYSTEM: 0
 * @generation: APERTURE: generation with which the pages must be mapped; 0 = any. A page that
 *	UNMAP_APERTURE_SEGMENT unmapped leads to the dummy page, whatever generation (C58). Else 0
 * @reserved: Zero
 */
struct virtio_pagoda_location {
	__le32 segment;
	__le32 nr_runs;
	__le64 address;
	__le32 generation;
	__le32 reserved;
};

/*
 * Flags of TRANSFER and SPECIAL_LOCK_TRANSFER, with WDDM's values: SWIZZLE copies from linear to
 * tiled memory, UNSWIZZLE back; START and END are in the first and the last packet of a move, and
 * have an effect in SPECIAL_LOCK_TRANSFER only.
 */
#define VIRTIO_PAGODA_TRANSFER_SWIZZLE		(1u << 0)
#define VIRTIO_PAGODA_TRANSFER_UNSWIZZLE	(1u << 1)
#define VIRTIO_PAGODA_TRANSFER_START		(1u << 3)
#define VIRTIO_PAGODA_TRANSFER_END		(1u << 4)
/*
 * Flags of TRANSFER, without SWIZZLE and UNSWIZZLE, and of VIRTUAL_TRANSFER; only with
 * %VIRTIO_PAGODA_F_DIRTY, and not both. CLEAN, into VRAM in whole pages: when the bytes are copied,
 * the bits of their pages are cleared in the trackers CONTENT and OWNER. DIRTY, out of VRAM: copies
 * only the blocks of %VIRTIO_PAGODA_DIRTY_BLOCK that have a page of the source whose bit is set in
 * the tracker CONTENT; the destination keeps its bytes elsewhere. DIRTY changes no bit of its
 * source.
 */
#define VIRTIO_PAGODA_TRANSFER_CLEAN		(1u << 5)
#define VIRTIO_PAGODA_TRANSFER_DIRTY		(1u << 6)

/**
 * struct virtio_pagoda_transfer - TRANSFER: copy @size bytes
 * @packet: Head
 * @size: Bytes, not zero, multiple of 4. Only the last page may be covered in
 *	part
 * @src: Source
 * @dst: Destination; must not overlap @src, by the addresses in the packet
 *
 * Runs of @src follow, then runs of @dst. With SWIZZLE (linear source, tiled destination) or
 * UNSWIZZLE (the reverse) a struct virtio_pagoda_tiled stands before the runs. Both flags
 * together are refused, and so is each flag unless SPECIAL_LOCK_TRANSFER was negotiated. The
 * tiled side is in VRAM, and its address is that of the whole surface's first byte; the linear
 * side is the piece that is copied. With allocation 0 the copy is linear whatever the flags say
 * (C31), and copies from or to the tiled side's address + &virtio_pagoda_tiled.offset.
 */
struct virtio_pagoda_transfer {
	struct virtio_pagoda_packet packet;
	__le64 size;
	struct virtio_pagoda_location src;
	struct virtio_pagoda_location dst;
};

/**
 * struct virtio_pagoda_tiled - The tiled surface of a TRANSFER with flag SWIZZLE or UNSWIZZLE, or
 * of a SPECIAL_LOCK_TRANSFER
 * @offset: First byte of the copied piece in the linear view of the surface, page aligned
 * @surface_size: Bytes of the whole surface, at least what @layout takes
 * @layout: Geometry
 */
struct virtio_pagoda_tiled {
	__le64 offset;
	__le64 surface_size;
	struct virtio_pagoda_layout layout;
};

/**
 * struct virtio_pagoda_fill - FILL: replicate a 32-bit pattern
 * @packet: Head, no flags
 * @size: Bytes, not zero, multiple of 4
 * @address: Offset in VRAM, multiple of 4
 * @segment: %VIRTIO_PAGODA_SEGMENT_VRAM; an aperture or system memory is refused (C41)
 * @pattern: Value of every 32-bit word
 */
struct virtio_pagoda_fill {
	struct virtio_pagoda_packet packet;
	__le64 size;
	__le64 address;
	__le32 segment;
	__le32 pattern;
};

/**
 * struct virtio_pagoda_discard_content - DISCARD_CONTENT: the content isn't needed any more
 * @packet: Head, no flags
 * @size: Bytes, not zero, multiple of the page size
 * @address: Offset in VRAM, page aligned
 * @segment: %VIRTIO_PAGODA_SEGMENT_VRAM
 * @reserved: Zero
 *
 * The bytes are undefined afterwards.
 */
struct virtio_pagoda_discard_content {
	struct virtio_pagoda_packet packet;
	__le64 size;
	__le64 address;
	__le32 segment;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_access_physical - READ_PHYSICAL and WRITE_PHYSICAL: access an address, so
 * that the CPU sees earlier writes
 * @packet: Head, no flags
 * @address: Offset in the segment; SYSTEM: bus address. Aligned to @size
 * @segment: enum virtio_pagoda_segment
 * @size: 1, 2, 4 or 8 bytes
 *
 * The device makes one access. The value read is dropped; the value written is the device's choice
 * (the software GPU writes zeros), so WRITE_PHYSICAL names memory with content that isn't needed.
 * All earlier writes of the queue are visible to the CPU afterwards (C51), combined writes
 * (%VIRTIO_PAGODA_F_WRITE_COMBINER) as well.
 */
struct virtio_pagoda_access_physical {
	struct virtio_pagoda_packet packet;
	__le64 address;
	__le32 segment;
	__le32 size;
};

/*
 * Flag of MAP_APERTURE_SEGMENT and MAP_APERTURE_SEGMENT2: accesses to the pages snoop CPU caches,
 * and writes to the pages aren't combined (C55).
 */
#define VIRTIO_PAGODA_MAP_CACHE_COHERENT	(1u << 0)
/* Flag of MAP_APERTURE_SEGMENT2: the pages are consecutive, so the packet has one run. */
#define VIRTIO_PAGODA_MAP_CONTIGUOUS		(1u << 1)

/**
 * struct virtio_pagoda_map_aperture_segment - MAP_APERTURE_SEGMENT and MAP_APERTURE_SEGMENT2: map
 * system memory at addresses of the aperture
 * @packet: Head
 * @first_page: First page of the aperture
 * @nr_pages: Pages, not zero; exactly the sum of the runs
 * @segment: %VIRTIO_PAGODA_SEGMENT_APERTURE
 * @nr_runs: Runs that follow; 1 with MAP_CONTIGUOUS
 * @generation: Generation of the new mapping, 1 to %VIRTIO_PAGODA_MAX_GENERATION
 * @reserved: Zero
 *
 * Each of the pages is mapped in one step, and no other page changes (C53). A page may be
 * mapped already: then the new mapping and its generation replace the old ones.
 */
struct virtio_pagoda_map_aperture_segment {
	struct virtio_pagoda_packet packet;
	__le64 first_page;
	__le64 nr_pages;
	__le32 segment;
	__le32 nr_runs;
	__le32 generation;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_unmap_aperture_segment - UNMAP_APERTURE_SEGMENT: map the dummy page instead
 * @packet: Head, no flags
 * @first_page: First page of the aperture that is unmapped
 * @nr_pages: Pages, not zero
 * @dummy_page: Bus address, page aligned and not 0, of the page that accesses to each of the pages
 *	reach afterwards
 * @segment: %VIRTIO_PAGODA_SEGMENT_APERTURE
 * @reserved: Zero
 *
 * The pages may be unmapped already (C61). Accesses to pages that were never mapped nor unmapped
 * fault as UNREACHABLE.
 *
 * Packets that name the aperture use the dummy page once the unmap is complete. An access
 * through a page-table entry with segment APERTURE may have been translated before the unmap,
 * and reach the old page after the unmap: only FLUSH_TLB of the access's address ends such
 * accesses. So a page is given back after UNMAP_APERTURE_SEGMENT and, where page tables name
 * the page, FLUSH_TLB.
 */
struct virtio_pagoda_unmap_aperture_segment {
	struct virtio_pagoda_packet packet;
	__le64 first_page;
	__le64 nr_pages;
	__le64 dummy_page;
	__le32 segment;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_special_lock_transfer - SPECIAL_LOCK_TRANSFER: copy a tiled surface that the
 * CPU accesses through a swizzling range
 * @transfer: As TRANSFER, without SWIZZLE and UNSWIZZLE; one side is the surface in
 *	VRAM, the other side a piece in system memory or the aperture. Runs follow the
 *	whole struct
 * @range_id: Number of the swizzling range through which the CPU accesses the surface
 * @range_data: Driver's value for that range, for traces: the device ignores it
 * @tiled: The surface; all pieces of a copy have equal geometry
 *
 * Out of VRAM: the range must be bound to the surface; the piece gets the bytes that
 * the CPU saw in the range's window, and with TRANSFER_END the range is free afterwards.
 * Into VRAM: TRANSFER_START binds the range to the surface, later pieces need it bound; the piece
 * is copied into the range's window and, tiled, into the surface. WDDM says only that the copy is
 * between the segment and the alternate view; the details are Pagoda's.
 */
struct virtio_pagoda_special_lock_transfer {
	struct virtio_pagoda_transfer transfer;
	__le32 range_id;
	__le32 range_data;
	struct virtio_pagoda_tiled tiled;
};

/*
 * Flags of VIRTUAL_TRANSFER, with WDDM's values: SRC_64K, the source is mapped by pages of 64 KiB
 * or more; DST_64K, the destination is.
 */
#define VIRTIO_PAGODA_VIRTUAL_SRC_64K		(1u << 0)
#define VIRTIO_PAGODA_VIRTUAL_DST_64K		(1u << 1)

/** VIRTIO_PAGODA_MAX_VIRTUAL: most bytes of one VIRTUAL_TRANSFER or VIRTUAL_FILL. */
#define VIRTIO_PAGODA_MAX_VIRTUAL		(1ull << 30)

/**
 * enum virtio_pagoda_direction - Direction of a VIRTUAL_TRANSFER, with WDDM's values
 * @VIRTIO_PAGODA_LOCAL_TO_SYSTEM: from VRAM to system memory or the aperture
 * @VIRTIO_PAGODA_SYSTEM_TO_LOCAL: from system memory or the aperture to VRAM
 * @VIRTIO_PAGODA_LOCAL_TO_LOCAL: within VRAM
 */
enum virtio_pagoda_direction {
	VIRTIO_PAGODA_LOCAL_TO_SYSTEM = 0,
	VIRTIO_PAGODA_SYSTEM_TO_LOCAL = 1,
	VIRTIO_PAGODA_LOCAL_TO_LOCAL = 2,
};

/**
 * struct virtio_pagoda_virtual_transfer - VIRTUAL_TRANSFER: copy by virtual addresses
 * @packet: Head
 * @size: Bytes, not zero, multiple of 4, at most %VIRTIO_PAGODA_MAX_VIRTUAL
 * @src_address: GPU virtual address in the paging address space, multiple of 4
 * @dst_address: GPU virtual address in the paging address space, multiple of 4; both addresses
 *	are used unchanged (C69)
 * @allocation_offset: Byte of the allocation at which the copied piece starts, for traces only
 * @direction: enum virtio_pagoda_direction
 * @reserved: Zero
 *
 * Addresses are translated in address space 0. A side whose 64K flag is set must be
 * mapped by 64 KiB or larger entries, a side without the flag by entries of any size but
 * 64 KiB (C73), else BAD_TABLE; the sides' segments must match @direction
 * (C74), where system memory and aperture are SYSTEM, else BAD_SEGMENT. A page of
 * zeros matches LOCAL and SYSTEM. The sides' addresses must not overlap; different addresses of
 * the same memory are legal, and the result then depends on the order of copying.
 * The paging queue alone takes this operation and VIRTUAL_FILL.
 */
struct virtio_pagoda_virtual_transfer {
	struct virtio_pagoda_packet packet;
	__le64 size;
	__le64 src_address;
	__le64 dst_address;
	__le64 allocation_offset;
	__le32 direction;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_virtual_fill - VIRTUAL_FILL: fill a range of virtual addresses
 * @packet: Head, no flags
 * @size: Bytes, not zero, multiple of 4, at most %VIRTIO_PAGODA_MAX_VIRTUAL
 * @address: GPU virtual address in the paging address space, multiple of 4
 * @allocation_offset: Byte of the allocation that @address maps, for traces only
 * @pattern: Value of every 32-bit word
 * @reserved: Zero
 *
 * The address is translated in address space 0; pages of any size and segment are filled.
 */
struct virtio_pagoda_virtual_fill {
	struct virtio_pagoda_packet packet;
	__le64 size;
	__le64 address;
	__le64 allocation_offset;
	__le32 pattern;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_init_context_resource - INIT_CONTEXT_RESOURCE: initialize a save area
 * @packet: Head, no flags
 * @size: Bytes of the save area, multiple of the page size, not zero
 * @context: Context that the save area belongs to, 0 = none: the save area is the device's
 * @gpu_address: GPU virtual address of the save area in the paging address space, page aligned,
 *	0 = not mapped. The device doesn't use this address: it reaches the save area by @dst
 * @dst: Place of the save area; runs follow
 *
 * The save area is zeroed and gets a struct virtio_pagoda_context_image at its start, with
 * @magic and @context set and the rest zero (WDDM leaves the content to the device).
 * @dst is in the aperture only if the save area's pages are mapped there.
 */
struct virtio_pagoda_init_context_resource {
	struct virtio_pagoda_packet packet;
	__le64 size;
	__le64 context;
	__le64 gpu_address;
	struct virtio_pagoda_location dst;
};

/** VIRTIO_PAGODA_CONTEXT_MAGIC: "PGDACTX1", first word of struct virtio_pagoda_context_image. */
#define VIRTIO_PAGODA_CONTEXT_MAGIC	0x3158544341444750ull
/** VIRTIO_PAGODA_CONTEXT_BYTES: bytes of a context's save area. */
#define VIRTIO_PAGODA_CONTEXT_BYTES	16384u

/**
 * struct virtio_pagoda_context_image - Start of a context's save area; not WDDM's
 * @magic: %VIRTIO_PAGODA_CONTEXT_MAGIC
 * @context: Context that the save area belongs to
 * @root_address: Address of the root page table in @root_segment
 * @root_entries: Entries of the root, 0 = no address space
 * @root_segment: VRAM or SYSTEM
 * @address_space: Address space the context runs in
 * @saved: The context's registers (%VIRTIO_PAGODA_REGISTERS), then the number of jobs that ended in
 *	any way but a refusal before their first command, then zeros
 *
 * INIT_CONTEXT_RESOURCE writes the image, without a root; UPDATE_CONTEXT_ALLOCATION writes the root
 * and the address space, at first and when the root changes.
 */
struct virtio_pagoda_context_image {
	__le64 magic;
	__le64 context;
	__le64 root_address;
	__le64 root_entries;
	__le32 root_segment;
	__le32 address_space;
	__le64 saved[16];
};

/*
 * GPU page tables. Entries have 64 bits, but see F_DUAL_PTE. A virtual address has, from the top
 * bit down, an index for each level, %VIRTIO_PAGODA_PT_INDEX_BITS bits each but for the root's,
 * which has the bits that remain at the top, then the offset in the page. A leaf table of 64 KiB
 * pages has a sixteenth of the entries of a leaf table of 4 KiB pages: both cover 2 MiB.
 *
 * With F_DUAL_PTE a level-1 entry has two words: first the word of the 4 KiB table (or of the large
 * page), then the word of the 64 KiB table. A level-1 table is twice as large then; UPDATE_USE_64K
 * has the second word written. An address that a valid entry below one word translates may not be
 * translated by a valid entry below the other word as well. Where two such entries overlap,
 * even in part, an access anywhere in the larger of the two entries is BAD_TABLE (C93).
 *
 * Without F_DUAL_PTE, TABLE_64K in a level-1 entry says that the entry points to a leaf table of 64
 * KiB pages.
 *
 * A table is aligned to its size, at least to a page, and is in VRAM or, for the paging process and
 * in CPU_VIRTUAL mode, in system memory (consecutive pages if it has several). The root may have
 * fewer entries than an index can count (SET_ROOT); with two levels the root may have more than
 * 512.
 *
 * An entry that points to a table has VALID, SEGMENT, the table's address and maybe TABLE_64K,
 * nothing else; other entries are leaves. A leaf with LARGE, at level 1 only, maps 2 MiB of memory.
 * In leaves SEGMENT is VRAM or APERTURE, with an offset in that segment as address, or SYSTEM, with
 * a bus address. VALID | ZERO at any level is a leaf: reads give zeros, writes are dropped (C94).
 * COHERENT, in leaves only: accesses snoop and writes aren't combined (C97). The driver's bits may
 * be set in leaves only. An entry with VALID clear is invalid whatever its other bits are.
 *
 * All virtual addresses of a packet are translated before the packet has an effect, and some of
 * them again during its execution. So a packet that writes to the tables of its own addresses
 * (VIRTUAL_TRANSFER, VIRTUAL_FILL, UPDATE_PAGE_TABLE with GPU_VIRTUAL, UPDATE_CONTEXT_ALLOCATION,
 * COPY_PAGE_TABLE_ENTRIES) may go on by the old or by the new entries, and may be refused
 * halfway for the new ones.
 */
#define VIRTIO_PAGODA_PT_INDEX_BITS	9
#define VIRTIO_PAGODA_PT_ENTRIES	(1u << VIRTIO_PAGODA_PT_INDEX_BITS)
#define VIRTIO_PAGODA_PT_ENTRY_BYTES	8
#define VIRTIO_PAGODA_PT_ENTRIES_64K	(VIRTIO_PAGODA_PT_ENTRIES / 16)

#define VIRTIO_PAGODA_PTE_VALID		(1ull << 0)
#define VIRTIO_PAGODA_PTE_ZERO		(1ull << 1)
#define VIRTIO_PAGODA_PTE_COHERENT	(1ull << 2)
#define VIRTIO_PAGODA_PTE_READ_ONLY	(1ull << 3)
#define VIRTIO_PAGODA_PTE_NO_EXECUTE	(1ull << 4)
#define VIRTIO_PAGODA_PTE_SEGMENT_SHIFT	5
#define VIRTIO_PAGODA_PTE_SEGMENT_MASK	(0x1full << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT)
#define VIRTIO_PAGODA_PTE_LARGE		(1ull << 10)
#define VIRTIO_PAGODA_PTE_TABLE_64K	(1ull << 11)
#define VIRTIO_PAGODA_PTE_ADDRESS_MASK	(((1ull << 52) - 1) & ~0xfffull)
#define VIRTIO_PAGODA_PTE_DRIVER_SHIFT	52	/* bits 52 to 63: DriverProtection's low 12 bits */

/** enum virtio_pagoda_update_mode - How page tables are written; WDDM's values. */
enum virtio_pagoda_update_mode {
	VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL = 0,	/* the CPU writes page tables, without packets */
	VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL = 1,	/* packets name tables by addresses of space 0 */
	VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL = 2,	/* packets name tables by segment and address */
};

/* Flags of UPDATE_PAGE_TABLE, with WDDM's values; see struct virtio_pagoda_update_page_table. */
#define VIRTIO_PAGODA_UPDATE_REPEAT		(1u << 0)
#define VIRTIO_PAGODA_UPDATE_INITIAL		(1u << 1)
#define VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION	(1u << 2)
#define VIRTIO_PAGODA_UPDATE_USE_64K		(1u << 3)

/**
 * struct virtio_pagoda_update_page_table - UPDATE_PAGE_TABLE: write entries of a page table
 * @packet: Head
 * @table_address: Address of the table, page aligned: GPU virtual, or offset in @table_segment (bus
 *	address in SYSTEM)
 * @first_va: GPU virtual address that entry @first_entry translates, for traces only
 * @allocation_offset: Byte of the allocation that entry @first_entry maps, for traces only
 * @driver_protection: Opaque value of the call that maps the range; 0 above level 0 (C98)
 * @table_segment: GPU_PHYSICAL: segment of the table, VRAM or SYSTEM; else 0
 * @mode: GPU_VIRTUAL or GPU_PHYSICAL, of enum virtio_pagoda_update_mode
 * @level: Level of the table, 0 = leaf
 * @first_entry: Index of the first entry that is written
 * @nr_entries: Number of entries that are written, not zero
 * @nr_values: Number of entry values that follow, each an __le64: 1 with REPEAT or if @increment
 *	isn't 0, else @nr_entries
 * @increment: Bytes added to the address in the value from entry to entry, multiple of the page
 *	size: a contiguous range needs one value. 0 with REPEAT
 * @address_space: Address space that the table belongs to. With GPU_VIRTUAL
 *	@table_address is nevertheless an address of space 0
 *
 * Each entry is written in one 64-bit store; REPEAT writes one value to all. INITIAL is a hint in
 * the first update of a table in new memory (C90), NOTIFY_EVICTION in the last before the table
 * moves or is freed (C91); the software GPU only records them. USE_64K says at level 0 that the
 * table is of 64 KiB pages, at level 1 with F_DUAL_PTE that the second word of the entries is
 * written, and is refused elsewhere. Values are stored unchecked and checked when the table is
 * walked.
 */
struct virtio_pagoda_update_page_table {
	struct virtio_pagoda_packet packet;
	__le64 table_address;
	__le64 first_va;
	__le64 allocation_offset;
	__le64 driver_protection;
	__le32 table_segment;
	__le32 mode;
	__le32 level;
	__le32 first_entry;
	__le32 nr_entries;
	__le32 nr_values;
	__le32 increment;
	__le32 address_space;
};

/**
 * struct virtio_pagoda_flush_tlb - FLUSH_TLB: drop cached translations of an address space
 * @packet: Head, no flags
 * @root_address: Address of the root table in @root_segment
 * @start: First address that is flushed; 0 with @end 0: the whole space (C104)
 * @end: Address behind the range; the page at @end is flushed as well (Pagoda's rule). An @end
 *	below @start, or above 2 to the power of &virtio_pagoda_config.va_bits, is OUT_OF_RANGE
 * @root_segment: Segment of the root table
 * @address_space: Address space whose cached translations are dropped
 *
 * Pagoda's rules: a root that isn't the space's root is refused as BAD_CONTEXT; for a space without
 * a root any root is accepted. A cached translation that overlaps the range in part is dropped as a
 * whole. When the packet is complete, no access of any queue uses a translation of the range that
 * was cached before.
 */
struct virtio_pagoda_flush_tlb {
	struct virtio_pagoda_packet packet;
	__le64 root_address;
	__le64 start;
	__le64 end;
	__le32 root_segment;
	__le32 address_space;
};

/**
 * struct virtio_pagoda_update_context_allocation - UPDATE_CONTEXT_ALLOCATION: write to a save area
 * @packet: Head, no flags
 * @address: GPU virtual address of the context allocation in the paging address space, page aligned
 * @size: Bytes of the context allocation
 * @data_size: Bytes of driver data that follow the struct, not zero, padded to 8 with zeros
 * @data_offset: Byte of the context allocation at which the data is written; all of the data fits
 *	into @size
 *
 * Only the bytes that are written must be mapped. The device doesn't interpret the data.
 */
struct virtio_pagoda_update_context_allocation {
	struct virtio_pagoda_packet packet;
	__le64 address;
	__le64 size;
	__le32 data_size;
	__le32 data_offset;
};

/**
 * struct virtio_pagoda_copy_range - A range of COPY_PAGE_TABLE_ENTRIES
 * @src_table: GPU virtual address of the source table in the paging address space
 * @dst_table: GPU virtual address of the destination table in the paging address space
 * @src_entry: Index of the first entry that is read
 * @dst_entry: Index of the first entry that is written
 * @nr_entries: Number of entries, not zero
 * @reserved: Zero
 */
struct virtio_pagoda_copy_range {
	__le64 src_table;
	__le64 dst_table;
	__le32 src_entry;
	__le32 dst_entry;
	__le32 nr_entries;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_copy_page_table_entries - COPY_PAGE_TABLE_ENTRIES: copy between leaf tables
 * @packet: Head, no flags
 * @nr_ranges: Number of struct virtio_pagoda_copy_range that follow, copied in order; not zero
 * @address_space: Address space that the tables belong to
 *
 * The addresses of the tables are addresses of space 0, aligned to pages (Pagoda's rules). Entries
 * are read when the packet is executed, not before (C111). Both tables of a range are leaf tables
 * of pages of the same size; where source and destination overlap the copy behaves as memmove().
 */
struct virtio_pagoda_copy_page_table_entries {
	struct virtio_pagoda_packet packet;
	__le32 nr_ranges;
	__le32 address_space;
};

/*
 * Flag of NOTIFY_RESIDENCY and NOTIFY_RESIDENCY2: the allocation is resident; without the flag the
 * allocation was evicted.
 */
#define VIRTIO_PAGODA_NOTIFY_RESIDENT		(1u << 0)

/**
 * struct virtio_pagoda_notify_residency - NOTIFY_RESIDENCY and NOTIFY_RESIDENCY2: an allocation
 * became resident, or was evicted
 * @packet: Head; the allocation must not be 0
 * @address: Address of the memory in @segment; 0 when evicted
 * @offset: NOTIFY_RESIDENCY2: first page of the allocation that the notice is about; else 0
 * @nr_pages: NOTIFY_RESIDENCY2: number of pages that the notice is about; else 0
 * @segment: Segment in which the memory is; 0 when evicted
 * @reserved: Zero
 *
 * The driver sends notices of residency only for allocations whose client asked for them.
 * NOTIFY_RESIDENCY is for allocations that are accessed physically: one notice when the allocation
 * becomes resident, one when it is evicted (C113 - C115). NOTIFY_RESIDENCY2 is for other
 * allocations: when the allocation becomes resident, a notice for each contiguous range, together
 * covering every page once; when it is evicted, one notice for all pages. These details are
 * Pagoda's: WDDM documents none.
 */
struct virtio_pagoda_notify_residency {
	struct virtio_pagoda_packet packet;
	__le64 address;
	__le64 offset;
	__le64 nr_pages;
	__le32 segment;
	__le32 reserved;
};

/*
 * Flag of SIGNAL_MONITORED_FENCE: the address is a GPU virtual address of the paging space. The
 * driver doesn't use the flag, because it names fences by segment and address.
 */
#define VIRTIO_PAGODA_SIGNAL_VIRTUAL		(1u << 0)
/*
 * Flag of SIGNAL_MONITORED_FENCE: the device sends EVENT_FENCE after the store of the value, and
 * also if FORWARD stores nothing.
 */
#define VIRTIO_PAGODA_SIGNAL_EVENT		(1u << 1)
/* Flag of SIGNAL_MONITORED_FENCE: store only if memory has a smaller value, in one atomic step. */
#define VIRTIO_PAGODA_SIGNAL_FORWARD		(1u << 2)
/* All flags of SIGNAL_MONITORED_FENCE. */
#define VIRTIO_PAGODA_SIGNAL_FLAGS \
	(VIRTIO_PAGODA_SIGNAL_VIRTUAL | VIRTIO_PAGODA_SIGNAL_EVENT | VIRTIO_PAGODA_SIGNAL_FORWARD)

/**
 * struct virtio_pagoda_signal_monitored_fence - SIGNAL_MONITORED_FENCE: write a fence's value
 * @packet: Head
 * @address: Address of the fence's value, aligned to 8: offset in @segment, bus address for SYSTEM,
 *	or GPU virtual address with SIGNAL_VIRTUAL
 * @value: Value that is written in one access (C117), after all earlier work of the queue (C116);
 *	with SIGNAL_FORWARD only if memory has a smaller value
 * @segment: enum virtio_pagoda_segment; 0 with SIGNAL_VIRTUAL
 * @reserved: Zero
 */
struct virtio_pagoda_signal_monitored_fence {
	struct virtio_pagoda_packet packet;
	__le64 address;
	__le64 value;
	__le32 segment;
	__le32 reserved;
};

/**
 * struct virtio_pagoda_fence_residency - An entry of NOTIFY_FENCE_RESIDENCY
 * @fence: Driver's name for the fence
 * @current_value: Bus address, aligned to 8, of the fence's current value, 0 = not resident
 * @monitored_value: Bus address, aligned to 8, of the fence's monitored value, 0 = not resident.
 *	The device doesn't use the monitored value
 */
struct virtio_pagoda_fence_residency {
	__le64 fence;
	__le64 current_value;
	__le64 monitored_value;
};

/**
 * struct virtio_pagoda_notify_fence_residency - NOTIFY_FENCE_RESIDENCY: where fences' values are
 * @packet: Head, no flags
 * @nr_fences: Number of struct virtio_pagoda_fence_residency that follow, not zero
 * @reserved: Zero
 */
struct virtio_pagoda_notify_fence_residency {
	struct virtio_pagoda_packet packet;
	__le32 nr_fences;
	__le32 reserved;
};

/* Flag of MAP_MMU: writes of the device to the addresses that the packet maps fault. */
#define VIRTIO_PAGODA_MAP_MMU_READ_ONLY		(1u << 0)

/**
 * struct virtio_pagoda_map_mmu - MAP_MMU and UNMAP_MMU, not WDDM's: mappings of the device MMU
 * @packet: Head
 * @address: Device address of the first page, page aligned
 * @nr_pages: Pages, not zero; exactly the sum of the runs. UNMAP_MMU: no runs
 * @mmu: Id of the MMU, 0
 * @nr_runs: Runs of bus addresses that follow; 0 for UNMAP_MMU
 *
 * With %VIRTIO_PAGODA_F_DEVICE_MMU every bus address in all other packets, in jobs, in SET_ROOT, in
 * page tables and in the aperture is a device address, which lies in one of the first mmu_pages
 * pages and is translated at each access. An access to an address that isn't mapped faults with
 * NOT_MAPPED, a write to a read-only address with READ_ONLY. MAP_MMU replaces earlier mappings of
 * its addresses. UNMAP_MMU of addresses that aren't mapped does nothing. When UNMAP_MMU is
 * complete, no access of any queue reaches the old pages any more (C121).
 */
struct virtio_pagoda_map_mmu {
	struct virtio_pagoda_packet packet;
	__le64 address;
	__le64 nr_pages;
	__le32 mmu;
	__le32 nr_runs;
};

/*
 * Flags of NOTIFY_ALLOC, exactly one of them: what happens to the allocation next. EVICTION: the
 * allocation goes from the aperture to plain system memory, or loses its address in the aperture;
 * IOMMU_UNMAP: UNMAP_MMU unmaps the allocation's pages.
 */
#define VIRTIO_PAGODA_NOTIFY_EVICTION		(1u << 0)
#define VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP	(1u << 1)

/**
 * struct virtio_pagoda_notify_alloc - NOTIFY_ALLOC: content of an allocation will be evicted from
 * the aperture, or unmapped from the device MMU
 * @packet: Head; the allocation must not be 0
 * @offset: First byte of the allocation that the notice is about, page aligned
 * @size: Bytes, multiple of the page size, not zero
 * @address: GPU virtual address in the paging address space at which @offset is mapped, so that the
 *	device may read the content while it executes the packet; 0 = not mapped
 * @process: Driver's name for the owning process, 0 = none; 0 for EVICTION
 */
struct virtio_pagoda_notify_alloc {
	struct virtio_pagoda_packet packet;
	__le64 offset;
	__le64 size;
	__le64 address;
	__le64 process;
};

#define VIRTIO_PAGODA_ASSERT_SIZE(type, size) \
	_Static_assert(sizeof(struct virtio_pagoda_##type) == (size), "size of " #type)
VIRTIO_PAGODA_ASSERT_SIZE(config, 104);
VIRTIO_PAGODA_ASSERT_SIZE(fault, 56);
VIRTIO_PAGODA_ASSERT_SIZE(request, 32);
VIRTIO_PAGODA_ASSERT_SIZE(completion, 80);
VIRTIO_PAGODA_ASSERT_SIZE(command_buffer, 16);
VIRTIO_PAGODA_ASSERT_SIZE(execute, 24);
VIRTIO_PAGODA_ASSERT_SIZE(event, 72);
VIRTIO_PAGODA_ASSERT_SIZE(layout, 16);
VIRTIO_PAGODA_ASSERT_SIZE(control, 56);
VIRTIO_PAGODA_ASSERT_SIZE(answer, 24);
VIRTIO_PAGODA_ASSERT_SIZE(extent, 24);
VIRTIO_PAGODA_ASSERT_SIZE(packet, 16);
VIRTIO_PAGODA_ASSERT_SIZE(run, 16);
VIRTIO_PAGODA_ASSERT_SIZE(location, 24);
VIRTIO_PAGODA_ASSERT_SIZE(transfer, 72);
VIRTIO_PAGODA_ASSERT_SIZE(tiled, 32);
VIRTIO_PAGODA_ASSERT_SIZE(fill, 40);
VIRTIO_PAGODA_ASSERT_SIZE(discard_content, 40);
VIRTIO_PAGODA_ASSERT_SIZE(access_physical, 32);
VIRTIO_PAGODA_ASSERT_SIZE(map_aperture_segment, 48);
VIRTIO_PAGODA_ASSERT_SIZE(unmap_aperture_segment, 48);
VIRTIO_PAGODA_ASSERT_SIZE(special_lock_transfer, 112);
VIRTIO_PAGODA_ASSERT_SIZE(virtual_transfer, 56);
VIRTIO_PAGODA_ASSERT_SIZE(virtual_fill, 48);
VIRTIO_PAGODA_ASSERT_SIZE(init_context_resource, 64);
VIRTIO_PAGODA_ASSERT_SIZE(context_image, 168);
VIRTIO_PAGODA_ASSERT_SIZE(update_page_table, 80);
VIRTIO_PAGODA_ASSERT_SIZE(flush_tlb, 48);
VIRTIO_PAGODA_ASSERT_SIZE(update_context_allocation, 40);
VIRTIO_PAGODA_ASSERT_SIZE(copy_range, 32);
VIRTIO_PAGODA_ASSERT_SIZE(copy_page_table_entries, 24);
VIRTIO_PAGODA_ASSERT_SIZE(notify_residency, 48);
VIRTIO_PAGODA_ASSERT_SIZE(signal_monitored_fence, 40);
VIRTIO_PAGODA_ASSERT_SIZE(fence_residency, 24);
VIRTIO_PAGODA_ASSERT_SIZE(notify_fence_residency, 24);
VIRTIO_PAGODA_ASSERT_SIZE(map_mmu, 40);
VIRTIO_PAGODA_ASSERT_SIZE(notify_alloc, 48);

#endif
