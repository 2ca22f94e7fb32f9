/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Formats of what the journal writes: debugfs `journal_raw`, the data of a device
 * coredump, and debugfs `recording`. Read by selftests/tools, so plain types and
 * nothing of the kernel's. Little endian, like everything else of the device.
 */
#ifndef PAGODA_JOURNAL_H
#define PAGODA_JOURNAL_H

#include <linux/types.h>

/** PAGODA_JOURNAL_MAGIC: "PGDAJRN1", first word of a journal. */
#define PAGODA_JOURNAL_MAGIC	0x314e524a41444750ull
/** PAGODA_JOURNAL_ENTRIES: operations remembered. */
#define PAGODA_JOURNAL_ENTRIES	4096

/** PAGODA_JOURNAL_PENDING: result of what isn't known to be through. */
#define PAGODA_JOURNAL_PENDING	1

/**
 * struct pagoda_journal_head - Start of a journal
 * @magic: %PAGODA_JOURNAL_MAGIC
 * @count: Entries that follow, oldest first
 * @entry_bytes: Bytes of each
 * @recorded: Operations since the device was probed
 * @completed: Last submission known to be through
 * @clock_ns: CLOCK_MONOTONIC when it was written
 *
 * In a coredump text follows the entries, to the end: what failed, and the state then.
 */
struct pagoda_journal_head {
	__le64 magic;
	__le32 count;
	__le32 entry_bytes;
	__le64 recorded;
	__le64 completed;
	__le64 clock_ns;
};

/**
 * struct pagoda_journal_entry - One pass of a builder over an operation
 * @number: Number of the entry, from 1
 * @time_ns: CLOCK_MONOTONIC
 * @seqno: Submission it is in
 * @allocation: Allocation or 0
 * @address: Destination: where it says (offset, bus or virtual address), or first page
 * @source: Source, or 0
 * @size: Bytes, or pages, or entries
 * @offset: Byte of the paging buffer its packets begin at
 * @encoded: Bytes of its packets
 * @operation: enum virtio_pagoda_opcode
 * @pass: Number of the pass, from 0
 * @src_segment: Segment of the source, 255 = none
 * @dst_segment: Segment of the destination, 255 = none
 * @reserved: Zero
 * @result: 0, %PAGODA_JOURNAL_PENDING, or a negative errno
 */
struct pagoda_journal_entry {
	__le64 number;
	__le64 time_ns;
	__le64 seqno;
	__le64 allocation;
	__le64 address;
	__le64 source;
	__le64 size;
	__le32 offset;
	__le32 encoded;
	__le32 operation;
	__le16 pass;
	__u8 src_segment;
	__u8 dst_segment;
	__le32 reserved;
	__le32 result;
};

/** PAGODA_RECORDING_MAGIC: "PGDAREC2", first word of a recording; the digit is its version. */
#define PAGODA_RECORDING_MAGIC	0x3243455241444750ull
/** PAGODA_RECORDING_MAX: most bytes of a recording. */
#define PAGODA_RECORDING_MAX	(256u << 20)

/**
 * struct pagoda_recording_head - Start of a recorded stream
 * @magic: %PAGODA_RECORDING_MAGIC
 * @features: Features of the device
 * @vram_size: Its VRAM in bytes
 * @aperture_pages: Its aperture
 * @mmu_pages: Its device MMU
 * @swizzling_bytes: Bytes of a swizzling range
 * @max_runs: Runs of a packet
 * @va_bits: Width of virtual addresses
 * @pt_levels: Levels of page tables
 * @page_sizes: Their page sizes
 * @max_address_spaces: Address spaces
 * @swizzling_ranges: Swizzling ranges
 * @bytes: Bytes of the items that follow
 * @dropped: Items that had no room any more: all behind the first one
 * @missed: Submissions before the recording began, and losses that had no room: not
 *	everything that is needed to understand the items is among them
 */
struct pagoda_recording_head {
	__le64 magic;
	__le64 features;
	__le64 vram_size;
	__le64 aperture_pages;
	__le64 mmu_pages;
	__le64 swizzling_bytes;
	__le32 max_runs;
	__le32 va_bits;
	__le32 pt_levels;
	__le32 page_sizes;
	__le32 max_address_spaces;
	__le32 swizzling_ranges;
	__le64 bytes;
	__le64 dropped;
	__le64 missed;
};

/**
 * enum pagoda_recording_kind - What an item is
 * @PAGODA_RECORDING_BUFFER: A submission: its paging buffer
 * @PAGODA_RECORDING_CPU: What the CPU wrote to page tables at once: the UPDATE_PAGE_TABLE
 *	packets, GPU_PHYSICAL, that would have done the same
 * @PAGODA_RECORDING_ROOT: SET_ROOT: a struct pagoda_recording_root
 * @PAGODA_RECORDING_LOST: A submission that was recorded before has ended early: a struct
 *	pagoda_recording_lost. What isn't named by one was executed whole
 * @PAGODA_RECORDING_RESET: RESET_ADAPTER, no bytes: the device forgot mappings and roots,
 *	and VRAM holds anything
 */
enum pagoda_recording_kind {
	PAGODA_RECORDING_BUFFER = 1,
	PAGODA_RECORDING_CPU = 2,
	PAGODA_RECORDING_ROOT = 3,
	PAGODA_RECORDING_LOST = 4,
	PAGODA_RECORDING_RESET = 5,
};

/**
 * struct pagoda_recording_item - Something in a recording; its bytes follow
 * @seqno: BUFFER, LOST: the submission's number; else of the last one before it
 * @size: Bytes that follow, a multiple of 8
 * @kind: enum pagoda_recording_kind
 */
struct pagoda_recording_item {
	__le64 seqno;
	__le32 size;
	__le32 kind;
};

/**
 * struct pagoda_recording_root - Root of an address space
 * @address: Of the table in its segment
 * @entries: Entries of it; 0 = the space has no root any more
 * @segment: VRAM or SYSTEM
 * @space: Address space
 */
struct pagoda_recording_root {
	__le64 address;
	__le64 entries;
	__le32 segment;
	__le32 space;
};

/**
 * struct pagoda_recording_lost - Where a submission ended
 * @offset: First byte that neither the device nor the CPU executed
 * @error: Negative errno
 */
struct pagoda_recording_lost {
	__le32 offset;
	__le32 error;
};

#endif
