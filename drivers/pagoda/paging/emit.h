/* SPDX-License-Identifier: GPL-2.0 */
/* Functions that builders share: room in a paging buffer, heads of packets, and costs. */
#ifndef PAGODA_PAGING_EMIT_H
#define PAGODA_PAGING_EMIT_H

#include <linux/types.h>
#include <asm/byteorder.h>
#include "core/check.h"
#include "paging.h"

/* Returns whether @buf has room for a packet of @bytes and for the packet's private data. */
static inline bool pagoda_buffer_has(const struct pagoda_paging_buffer *buf, u32 bytes)
{
	return buf->size >= bytes && buf->priv_size >= sizeof(struct pagoda_paging_private);
}

/*
 * Writes the private data of the packet of @bytes at @buf->pos, and advances @buf past packet and
 * private data.
 */
static inline void pagoda_buffer_commit(struct pagoda_paging_buffer *buf, u32 bytes,
					const void *src_pages, const void *dst_pages)
{
	struct pagoda_paging_private *priv = (void *)buf->priv;

	*priv = (struct pagoda_paging_private) {
		.offset = buf->write_offset,
		.src_pages = src_pages,
		.dst_pages = dst_pages,
	};
	buf->priv += sizeof(*priv);
	buf->priv_size -= sizeof(*priv);
	buf->pos += bytes;
	buf->size -= bytes;
	buf->write_offset += bytes;
}

static inline struct virtio_pagoda_packet pagoda_packet_head(u32 opcode, u32 flags, u32 length,
							     u64 allocation)
{
	return (struct virtio_pagoda_packet) {
		.opcode = cpu_to_le16(opcode),
		.flags = cpu_to_le16(flags),
		.length = cpu_to_le32(length),
		.allocation = cpu_to_le64(allocation),
	};
}

/*
 * Returns the exact cost of an operation that is always a single packet, of @bytes bytes, and that
 * moves @moved bytes.
 */
static inline struct pagoda_paging_cost pagoda_cost_single(u64 moved, u32 bytes)
{
	return (struct pagoda_paging_cost) { .moved = moved, .encoded = bytes, .packets = 1 };
}

/*
 * Returns an upper bound of the cost of encoding @count elements of @unit bytes each, in packets
 * with a head of @head bytes each: one packet in the rest of the buffer in use, the others in fresh
 * buffers of @buffer_size bytes, one in each. No byte of memory counts as moved.
 */
static inline struct pagoda_paging_cost pagoda_units_cost(u32 buffer_size, u32 head, u32 unit,
							  u64 count)
{
	u32 fit = (buffer_size - head) / unit;
	u64 packets = count / fit + !!(count % fit) + 1;

	if (packets > count)
		packets = count;
	return (struct pagoda_paging_cost) {
		.encoded = packets * head + count * unit,
		.packets = packets,
	};
}

#endif
