/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The paging layer: one operation in, commands out.
 *
 * vidmm/ and mmu/ fill in a struct pagoda_paging_op, in WDDM's terms. The operation's row of the
 * table in paging/table.c has the functions that check the operation, build it, execute it on the
 * CPU, print it and compute its cost. No function of this layer takes a lock, allocates, sleeps or
 * uses TTM. All may be called from any context, by several threads at a time on different buffers;
 * pagoda_cpu_execute() as its executor's callbacks allow, by one thread at a time per executor.
 *
 * Contract of a builder
 *  1. A builder returns success, insufficient buffer or allocation busy (C1). Invalid
 *     operations were refused by pagoda_paging_validate() before.
 *  2. A builder only reads the operation, and writes only buffer and cursor. Building an
 *     operation twice gives equal bytes (C22). The exception is WDDM's: for UPDATE_PAGE_TABLE
 *     in CPU_VIRTUAL mode the builder itself stores the entries and needs no buffer (C76).
 *  3. The buffer may have any size from zero up: only whole packets are encoded (C4), and
 *     the cursor says where the next call goes on (C5). An empty buffer of
 *     %PAGODA_PAGING_MIN_BUFFER bytes with %PAGODA_PAGING_MIN_PRIVATE bytes of private data
 *     has room for a packet of any operation (C9).
 *  4. No byte past the end of the buffer or the private data is written (C2).
 *  5. The encoded size of a page list depends on the number of its runs (sequences of pages with
 *     consecutive addresses), not on the number of its pages.
 *  6. Allocation busy is returned only for changes that can't be queued while the allocation
 *     isn't idle, and before anything is encoded (C11 - C13).
 */
#ifndef PAGODA_PAGING_H
#define PAGODA_PAGING_H

#include <linux/types.h>
#include <linux/virtio_pagoda.h>
#include "core/info.h"
#include "op.h"

struct pagoda_cpu_executor;

/* Bytes of an empty buffer that has room for a packet of any operation. */
#define PAGODA_PAGING_MIN_BUFFER	512
/* Bytes of private data that a builder writes for each packet. */
#define PAGODA_PAGING_MIN_PRIVATE	sizeof(struct pagoda_paging_private)

/**
 * enum pagoda_build - Results of a builder
 * @PAGODA_BUILD_SUCCESS: the operation is encoded up to its end
 * @PAGODA_BUILD_INSUFFICIENT_BUFFER: submit the encoded packets, then call again with a fresh
 *	buffer, the unchanged operation and the unchanged cursor
 * @PAGODA_BUILD_ALLOCATION_BUSY: wait for the allocation's fences, then call again with
 *	%PAGODA_ALLOCATION_IS_IDLE; nothing was encoded
 */
enum pagoda_build {
	PAGODA_BUILD_SUCCESS,
	PAGODA_BUILD_INSUFFICIENT_BUFFER,
	PAGODA_BUILD_ALLOCATION_BUSY,
};

/**
 * struct pagoda_paging_cursor - MultipassOffset: progress of an operation's encoding
 * @done: What is encoded, in a unit that the builder defines, such as bytes, pages or entries; 0
 *	before the first call, then changed only by the builder until the builder returns success
 *	(C7, C8)
 */
struct pagoda_paging_cursor {
	u64 done;
};

/**
 * struct pagoda_paging_buffer - DMA buffer and private data to encode into
 * @pos: First free byte, advanced by the builder (C2); aligned to 4 KiB in a fresh buffer, later
 *	only to %VIRTIO_PAGODA_PACKET_ALIGN (C18)
 * @size: Free bytes from @pos on, lowered by the builder (C3)
 * @priv: First free byte of private data, advanced by the builder by a struct
 *	pagoda_paging_private per packet (C20)
 * @priv_size: Free bytes from @priv on
 * @gpu_address: DmaBufferGpuVirtualAddress; always 0, because the driver's buffers are sent
 *	through the virtqueue and have no GPU address
 * @write_offset: Bytes from the buffer's start to @pos, kept up by the builder
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
 * struct pagoda_paging_private - Data of a packet for the CPU executor, not for the device
 * @offset: Bytes from the start of the buffer to the packet; grows from element to element
 * @reserved: Zero
 * @src_pages: struct page array of the system memory that the packet reads, or NULL
 * @dst_pages: struct page array of the system memory that the packet writes or maps, or NULL
 */
struct pagoda_paging_private {
	u32 offset;
	u32 reserved;
	const void *src_pages;
	const void *dst_pages;
};

/**
 * struct pagoda_paging_cost - Cost of an operation
 * @moved: Bytes of memory and page tables that the operation copies or writes, in CPU_VIRTUAL mode
 *	by the CPU
 * @encoded: Upper bound for the bytes of all packets, if they are built into the rest of a used
 *	buffer, then into fresh buffers of at least the size that pagoda_paging_cost() got
 * @packets: Upper bound for the number of packets in these buffers
 */
struct pagoda_paging_cost {
	u64 moved;
	u64 encoded;
	u32 packets;
};

/* Adds the cost @cost, taken @times times, to @sum. */
static inline void pagoda_cost_add(struct pagoda_paging_cost *sum,
				   struct pagoda_paging_cost cost, u32 times)
{
	sum->moved += cost.moved * times;
	sum->encoded += cost.encoded * times;
	sum->packets += cost.packets * times;
}

/**
 * struct pagoda_paging_ends - Source and destination of an operation, for traces and the journal
 * @source: Address of the source; or a table's address, a fence's new value, an offset (ends.c)
 * @address: Address of the destination, or the number of its first page for aperture mappings; the
 *	address that READ_PHYSICAL reads; the first virtual address of a changed or flushed range
 * @size: Size in the operation's own unit: bytes, pages, entries, ranges or fences
 * @src_segment: Segment of @source, %VIRTIO_PAGODA_SEGMENT_COUNT = none
 * @dst_segment: Segment of @address, %VIRTIO_PAGODA_SEGMENT_COUNT = none
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
 * @data: Text, always terminated by a 0 byte
 * @size: Bytes of @data
 * @len: Characters in @data without the terminator, at most @size - 1
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

int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at);

#endif
