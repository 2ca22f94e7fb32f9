/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Formats of debugfs `journal_raw` and `recording`, and of device coredumps. User space
 * (selftests/tools) includes this header, too, so it has plain types only. Little endian.
 */
#ifndef PAGODA_JOURNAL_H
#define PAGODA_JOURNAL_H

#include <linux/types.h>

/** PAGODA_JOURNAL_MAGIC: "PGDAJRN1", first word of a journal. */
#define PAGODA_JOURNAL_MAGIC	0x314e524a41444750ull
/** PAGODA_JOURNAL_ENTRIES: most entries of the journal; later entries replace the oldest. */
#define PAGODA_JOURNAL_ENTRIES	4096

/**
 * PAGODA_JOURNAL_PENDING: value of &pagoda_journal_entry.result while it isn't known whether the
 * operation was executed or failed.
 */
#define PAGODA_JOURNAL_PENDING	1

/**
 * struct pagoda_journal_head - Start of a journal
 * @magic: %PAGODA_JOURNAL_MAGIC
 * @count: Number of entries that follow, oldest first
 * @entry_bytes: Size of an entry in bytes
 * @recorded: Number of the last entry: entries are numbered from 1 since probe
 * @completed: Number of the last submission known to be executed
 * @clock_ns: CLOCK_MONOTONIC when the journal was copied
 *
 * In a coredump the text about the failure follows the entries. Debugfs `failure` shows that text,
 * too, and then the state of the dummy page.
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
 * @time_ns: CLOCK_MONOTONIC at the end of the pass
 * @seqno: Number of the submission that the pass wrote packets into; 0 = not sent yet, or unknown
 * @allocation: Id of the allocation, or 0
 * @address: Destination; an offset, address or first page, depending on @operation
 * @source: Source, in the form of @address; 0 = none
 * @size: Size of the operation in bytes, pages or entries, depending on @operation
 * @offset: Offset of the pass's packets in the paging buffer, in bytes
 * @encoded: Size of the pass's packets in bytes
 * @operation: enum virtio_pagoda_opcode
 * @pass: Number of the pass over this operation, from 0
 * @src_segment: Segment of the source, 255 = none
 * @dst_segment: Segment of the destination, 255 = none
 * @reserved: Zero
 * @result: Result of the operation: 0 = executed, %PAGODA_JOURNAL_PENDING, or a negative errno.
 *	Errnos are kept of the last 64 submissions that were given up; operations of submissions
 *	that were given up before may have 0
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
/** PAGODA_RECORDING_MAX: most bytes that a recording's items, with their heads, may have. */
#define PAGODA_RECORDING_MAX	(256u << 20)

/**
 * struct pagoda_recording_head - Start of a recording: properties of the device, and sizes
 * @magic: %PAGODA_RECORDING_MAGIC
 * @features: Features of the device
 * @vram_size: VRAM of the device in bytes
 * @aperture_pages: Pages of the aperture
 * @mmu_pages: Pages of the device MMU's address space; 0 = no device MMU
 * @swizzling_bytes: Size of a swizzling range in bytes
 * @max_runs: Most runs of pages that a packet can have
 * @va_bits: Width of virtual addresses in bits
 * @pt_levels: Levels of page tables
 * @page_sizes: Bit n set: page tables support pages of 2^n bytes
 * @max_address_spaces: Number of address spaces
 * @swizzling_ranges: Number of swizzling ranges
 * @bytes: Bytes of the items that follow
 * @dropped: Number of items left out for want of room: the first that had no room, and all items
 *	after it
 * @missed: Number of submissions sent before the recording began, plus number of LOST items that
 *	were left out: if not 0, the items don't tell all that the device has done
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
 * enum pagoda_recording_kind - Kind of an item
 * @PAGODA_RECORDING_BUFFER: The paging buffer of a submission
 * @PAGODA_RECORDING_CPU: Writes of the CPU to page tables, as the UPDATE_PAGE_TABLE packets in
 *	GPU_PHYSICAL mode that would write the entries
 * @PAGODA_RECORDING_ROOT: An address space got a new root (SET_ROOT): a struct
 *	pagoda_recording_root
 * @PAGODA_RECORDING_LOST: A submission ended early: a struct pagoda_recording_lost. A submission
 *	without a LOST item was executed completely, or wasn't finished yet
 * @PAGODA_RECORDING_RESET: The device was reset (RESET_ADAPTER); without content. The device forgot
 *	mappings and roots, and the content of VRAM is undefined from here on
 */
enum pagoda_recording_kind {
	PAGODA_RECORDING_BUFFER = 1,
	PAGODA_RECORDING_CPU = 2,
	PAGODA_RECORDING_ROOT = 3,
	PAGODA_RECORDING_LOST = 4,
	PAGODA_RECORDING_RESET = 5,
};

/**
 * struct pagoda_recording_item - Head of an item in a recording; @size bytes follow
 * @seqno: BUFFER, LOST: number of the submission; others: number of the last submission that was
 *	sent before the item
 * @size: Bytes that follow this head, a multiple of 8
 * @kind: enum pagoda_recording_kind
 */
struct pagoda_recording_item {
	__le64 seqno;
	__le32 size;
	__le32 kind;
};

/**
 * struct pagoda_recording_root - New root page table of an address space
 * @address: Address of the root table in @segment
 * @entries: Number of entries; 0 = the address space has no root any more
 * @segment: enum virtio_pagoda_segment: VRAM or SYSTEM
 * @space: Number of the address space
 */
struct pagoda_recording_root {
	__le64 address;
	__le64 entries;
	__le32 segment;
	__le32 space;
};

/**
 * struct pagoda_recording_lost - Where and how a submission ended early
 * @offset: Offset of the first byte that wasn't executed, by the device or the CPU executor
 * @error: Negative errno
 */
struct pagoda_recording_lost {
	__le32 offset;
	__le32 error;
};

#endif
