/* SPDX-License-Identifier: GPL-2.0 */
/* Room in a paging buffer, and the checks that several builders make. */
#ifndef PAGODA_PAGING_EMIT_H
#define PAGODA_PAGING_EMIT_H

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <pagoda/paging.h>

#define PAGODA_PAGE_MASK	((u64)VIRTIO_PAGODA_PAGE_SIZE - 1)

static inline int pagoda_refuse(const char **why, int error, const char *text)
{
	*why = text;
	return error;
}

static inline u64 pagoda_pages(u64 bytes)
{
	return (bytes >> VIRTIO_PAGODA_PAGE_SHIFT) + !!(bytes & PAGODA_PAGE_MASK);
}

/* Is [start, start + size) within [0, limit)? */
static inline bool pagoda_within(u64 start, u64 size, u64 limit)
{
	return start <= limit && size <= limit - start;
}

/* Bytes of a segment; of system memory: of the addresses there can be. */
static inline u64 pagoda_segment_size(const struct pagoda_paging_limits *limits, u32 segment)
{
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		if (limits->features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU)
			return limits->mmu_pages << VIRTIO_PAGODA_PAGE_SHIFT;
		return U64_MAX;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return limits->vram_size;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		return limits->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
	default:
		return 0;
	}
}

/* Is there room for a packet and its private data? */
static inline bool pagoda_buffer_has(const struct pagoda_paging_buffer *buf, u32 bytes)
{
	return buf->size >= bytes && buf->priv_size >= sizeof(struct pagoda_paging_private);
}

/* The packet at @buf->pos is whole: step behind it. */
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

/* An operation that is one packet of constant size. */
static inline struct pagoda_paging_cost pagoda_cost_single(u64 moved, u32 bytes)
{
	return (struct pagoda_paging_cost) { .moved = moved, .encoded = bytes, .packets = 1 };
}

/*
 * An operation of @count units behind a head, as many in a packet as the buffer takes:
 * one packet in what is left of the first buffer, then one in each fresh one.
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
