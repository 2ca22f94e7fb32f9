// SPDX-License-Identifier: GPL-2.0
/*
 * Checks VIRTUAL_TRANSFER and VIRTUAL_FILL (C69 - C74), encodes each as a single packet, with
 * addresses in the paging space, and computes the cost. Whether memory is mapped at the addresses
 * isn't checked.
 */
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

#define PAGODA_VIRTUAL_TRACKING	(VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY)
#define PAGODA_VIRTUAL_64K	(VIRTIO_PAGODA_VIRTUAL_SRC_64K | VIRTIO_PAGODA_VIRTUAL_DST_64K)

static int virtual_range_validate(const struct pagoda_paging_limits *limits, u64 address, u64 size,
				  const char **why)
{
	if (!size)
		return pagoda_refuse(why, -EINVAL, "virtual: size zero");
	if (size > VIRTIO_PAGODA_MAX_VIRTUAL)
		return pagoda_refuse(why, -ERANGE, "virtual: size too large");
	if (size % 4)
		return pagoda_refuse(why, -EINVAL, "virtual: size misaligned");
	if (address % 4)
		return pagoda_refuse(why, -EINVAL, "virtual: address misaligned");
	if (!pagoda_within(address, size, pagoda_va_end(limits)))
		return pagoda_refuse(why, -ERANGE, "virtual: outside the address space");
	return 0;
}

static bool virtual_overlaps(const struct pagoda_op_virtual_transfer *transfer)
{
	u64 src = transfer->src_address, dst = transfer->dst_address;

	return src < dst ? dst - src < transfer->size : src - dst < transfer->size;
}

int pagoda_virtual_transfer_validate(const struct pagoda_paging_limits *limits,
				     const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_virtual_transfer *transfer = &op->virtual_transfer;
	int ret;

	if (transfer->flags & ~(PAGODA_VIRTUAL_64K | PAGODA_VIRTUAL_TRACKING))
		return pagoda_refuse(why, -EINVAL, "virtual: unknown flag");
	if (transfer->flags & PAGODA_VIRTUAL_64K && !pagoda_has_64k(limits))
		return pagoda_refuse(why, -EOPNOTSUPP, "virtual: device has no 64 KiB pages");
	if (transfer->direction > VIRTIO_PAGODA_LOCAL_TO_LOCAL)
		return pagoda_refuse(why, -EINVAL, "virtual: no such direction");
	ret = virtual_range_validate(limits, transfer->src_address, transfer->size, why);
	if (!ret)
		ret = virtual_range_validate(limits, transfer->dst_address, transfer->size, why);
	if (!ret && virtual_overlaps(transfer))
		ret = pagoda_refuse(why, -EINVAL, "virtual: source and destination overlap");
	if (ret)
		return ret;
	return pagoda_tracking_validate(limits, transfer->flags & PAGODA_VIRTUAL_TRACKING,
					transfer->direction != VIRTIO_PAGODA_LOCAL_TO_SYSTEM &&
					!((transfer->size | transfer->dst_address) &
					  PAGODA_PAGE_MASK),
					transfer->direction != VIRTIO_PAGODA_SYSTEM_TO_LOCAL, why);
}

enum pagoda_build pagoda_virtual_transfer_build(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						struct pagoda_paging_cursor *cursor,
						struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_virtual_transfer *transfer = &op->virtual_transfer;
	struct virtio_pagoda_virtual_transfer *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_virtual_transfer) {
		.packet = pagoda_packet_head(op->operation, transfer->flags, sizeof(*packet),
					     op->allocation),
		.size = cpu_to_le64(transfer->size),
		.src_address = cpu_to_le64(transfer->src_address),
		.dst_address = cpu_to_le64(transfer->dst_address),
		.allocation_offset = cpu_to_le64(transfer->allocation_offset),
		.direction = cpu_to_le32(transfer->direction),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), transfer->src_pages, transfer->dst_pages);
	cursor->done = transfer->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_virtual_transfer_cost(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(op->virtual_transfer.size,
				  sizeof(struct virtio_pagoda_virtual_transfer));
}

int pagoda_virtual_fill_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	return virtual_range_validate(limits, op->virtual_fill.address, op->virtual_fill.size, why);
}

enum pagoda_build pagoda_virtual_fill_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_virtual_fill *fill = &op->virtual_fill;
	struct virtio_pagoda_virtual_fill *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_virtual_fill) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.size = cpu_to_le64(fill->size),
		.address = cpu_to_le64(fill->address),
		.allocation_offset = cpu_to_le64(fill->allocation_offset),
		.pattern = cpu_to_le32(fill->pattern),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, fill->dst_pages);
	cursor->done = fill->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_virtual_fill_cost(const struct pagoda_paging_limits *limits,
						   const struct pagoda_paging_op *op,
						   u32 buffer_size)
{
	return pagoda_cost_single(op->virtual_fill.size,
				  sizeof(struct virtio_pagoda_virtual_fill));
}
