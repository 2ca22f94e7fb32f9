// SPDX-License-Identifier: GPL-2.0
/* CPU executor: VIRTUAL_TRANSFER and VIRTUAL_FILL. */
#include <linux/minmax.h>
#include <linux/string.h>
#include "walk.h"

/*
 * Checks that the entry that translates an address is of at least 64 KiB if @is_64k, else of any
 * size but 64 KiB (C73), and that it maps VRAM if @local, else other memory (C74); an entry that
 * maps zeros is right for either. Returns 0 or a fault reason.
 */
static u32 leaf_check(const struct pagoda_cpu_leaf *leaf, bool is_64k, bool local)
{
	if (is_64k ? leaf->page_size < SZ_64K : leaf->page_size == SZ_64K)
		return VIRTIO_PAGODA_FAULT_BAD_TABLE;
	if (leaf->zero)
		return VIRTIO_PAGODA_FAULT_NONE;
	return local == (leaf->segment == VIRTIO_PAGODA_SEGMENT_VRAM) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
}

static u32 side_check(const struct pagoda_cpu_virtual *side, u64 size, bool is_64k, bool local)
{
	struct pagoda_cpu_leaf leaf;
	u64 done;
	u32 reason;

	for (done = 0; done < size; done += pagoda_page_left(side->base + done)) {
		reason = pagoda_cpu_virtual_find(side, side->base + done, &leaf);
		if (!reason)
			reason = leaf_check(&leaf, is_64k, local);
		if (reason)
			return reason;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks size and address of a packet's source or destination, without reading page tables. Returns
 * 0 or a fault reason.
 */
static u32 virtual_range_check(const struct pagoda_cpu_virtual *side, u64 size)
{
	if (!side->exec->limits->max_address_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (!size || size > VIRTIO_PAGODA_MAX_VIRTUAL)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if ((size | side->base) % 4)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return pagoda_within(side->base, size, pagoda_va_end(side->exec->limits)) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

static u32 virtual_transfer_check(const struct virtio_pagoda_virtual_transfer *transfer,
				  const struct pagoda_cpu_virtual *src,
				  const struct pagoda_cpu_virtual *dst)
{
	u32 direction = le32_to_cpu(transfer->direction);
	u32 flags = le16_to_cpu(transfer->packet.flags);
	u64 size = le64_to_cpu(transfer->size);
	u32 reason;

	if (flags & ~(VIRTIO_PAGODA_VIRTUAL_SRC_64K | VIRTIO_PAGODA_VIRTUAL_DST_64K |
		      PAGODA_CPU_TRACKING))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (transfer->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (direction > VIRTIO_PAGODA_LOCAL_TO_LOCAL)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = virtual_range_check(src, size);
	if (!reason)
		reason = virtual_range_check(dst, size);
	if (reason)
		return reason;
	if (max(src->base, dst->base) - min(src->base, dst->base) < size)
		return VIRTIO_PAGODA_FAULT_OVERLAP;
	if (!pagoda_cpu_tracking_is_valid(src->exec, flags,
					  direction != VIRTIO_PAGODA_LOCAL_TO_SYSTEM &&
					  !((size | dst->base) % VIRTIO_PAGODA_PAGE_SIZE),
					  direction != VIRTIO_PAGODA_SYSTEM_TO_LOCAL))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = side_check(src, size, flags & VIRTIO_PAGODA_VIRTUAL_SRC_64K,
			    direction != VIRTIO_PAGODA_SYSTEM_TO_LOCAL);
	return reason ? reason :
			side_check(dst, size, flags & VIRTIO_PAGODA_VIRTUAL_DST_64K,
				   direction != VIRTIO_PAGODA_LOCAL_TO_SYSTEM);
}

/*
 * Copies @bytes bytes, which are within one page of the source and one page of the destination.
 * Returns a fault reason or 0.
 */
static u32 piece_copy(const struct pagoda_cpu_virtual *dst, const struct pagoda_cpu_virtual *src,
		      u64 done, u64 bytes)
{
	struct pagoda_cpu_mapping from, to;
	u32 reason = pagoda_cpu_virtual_map(src, src->base + done, &from);

	if (reason)
		return reason;
	reason = pagoda_cpu_virtual_map(dst, dst->base + done, &to);
	if (!reason) {
		if (to.at && from.at)
			memmove(to.at, from.at, bytes);
		else if (to.at)
			memset(to.at, 0, bytes);
		pagoda_cpu_virtual_unmap(dst, &to);
	}
	pagoda_cpu_virtual_unmap(src, &from);
	return reason;
}

u32 pagoda_virtual_transfer_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_virtual_transfer *transfer = cpu->data;
	struct pagoda_cpu_virtual src = {
		.exec = cpu->exec,
		.pages = cpu->src_pages,
		.base = le64_to_cpu(transfer->src_address),
	};
	struct pagoda_cpu_virtual dst = {
		.exec = cpu->exec,
		.pages = cpu->dst_pages,
		.base = le64_to_cpu(transfer->dst_address),
		.write = true,
	};
	u64 size = le64_to_cpu(transfer->size), done, bytes;
	u32 reason;

	if (!cpu->exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	reason = virtual_transfer_check(transfer, &src, &dst);
	for (done = 0; done < size && !reason; done += bytes) {
		bytes = min3(size - done, pagoda_page_left(src.base + done),
			     pagoda_page_left(dst.base + done));
		reason = piece_copy(&dst, &src, done, bytes);
	}
	return reason;
}

static u32 virtual_fill_check(const struct virtio_pagoda_virtual_fill *fill,
			      const struct pagoda_cpu_virtual *dst)
{
	u64 size = le64_to_cpu(fill->size), done;
	struct pagoda_cpu_leaf leaf;
	u32 reason;

	if (fill->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (fill->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	reason = virtual_range_check(dst, size);
	for (done = 0; done < size && !reason; done += pagoda_page_left(dst->base + done))
		reason = pagoda_cpu_virtual_find(dst, dst->base + done, &leaf);
	return reason;
}

u32 pagoda_virtual_fill_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_virtual_fill *fill = cpu->data;
	struct pagoda_cpu_virtual dst = {
		.exec = cpu->exec,
		.pages = cpu->dst_pages,
		.base = le64_to_cpu(fill->address),
		.write = true,
	};
	u64 size = le64_to_cpu(fill->size), done, bytes;
	struct pagoda_cpu_mapping to;
	u32 reason;

	if (!cpu->exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	reason = virtual_fill_check(fill, &dst);
	for (done = 0; done < size && !reason; done += bytes) {
		bytes = min(size - done, pagoda_page_left(dst.base + done));
		reason = pagoda_cpu_virtual_map(&dst, dst.base + done, &to);
		if (reason)
			break;
		if (to.at)
			memset32((u32 *)to.at, (__force u32)fill->pattern, bytes / 4);
		pagoda_cpu_virtual_unmap(&dst, &to);
	}
	return reason;
}
