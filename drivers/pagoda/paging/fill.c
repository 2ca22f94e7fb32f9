// SPDX-License-Identifier: GPL-2.0
/*
 * FILL (C39 - C45) and DISCARD_CONTENT (C46 - C48): operations on a range of VRAM. Each is a
 * single packet, whatever the size of the range.
 */
#include <linux/string.h>

#include "emit.h"
#include "table.h"

int pagoda_fill_validate(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_fill *fill = &op->fill;

	if (fill->segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL, "fill: not a memory segment");
	if (!fill->size)
		return pagoda_refuse(why, -EINVAL, "fill: size zero");
	if (fill->size % 4)
		return pagoda_refuse(why, -EINVAL, "fill: size misaligned");
	if (fill->address % 4)
		return pagoda_refuse(why, -EINVAL, "fill: address misaligned");
	if (!pagoda_within(fill->address, fill->size, limits->vram_size))
		return pagoda_refuse(why, -ERANGE, "fill: outside the segment");
	return 0;
}

enum pagoda_build pagoda_fill_build(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op,
				    struct pagoda_paging_cursor *cursor,
				    struct pagoda_paging_buffer *buf)
{
	struct virtio_pagoda_fill *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_fill) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.size = cpu_to_le64(op->fill.size),
		.address = cpu_to_le64(op->fill.address),
		.segment = cpu_to_le32(op->fill.segment),
		.pattern = cpu_to_le32(op->fill.pattern),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = op->fill.size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_fill_cost(const struct pagoda_paging_limits *limits,
					   const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(op->fill.size, sizeof(struct virtio_pagoda_fill));
}

int pagoda_discard_content_validate(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_discard_content *discard = &op->discard_content;

	if (discard->segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL, "discard: not a memory segment");
	if (discard->flags & ~PAGODA_ALLOCATION_IS_IDLE)
		return pagoda_refuse(why, -EINVAL, "discard: unknown flag");
	if (!discard->size)
		return pagoda_refuse(why, -EINVAL, "discard: size zero");
	if (discard->size & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "discard: size misaligned");
	if (discard->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "discard: address misaligned");
	if (!pagoda_within(discard->address, discard->size, limits->vram_size))
		return pagoda_refuse(why, -ERANGE, "discard: outside the segment");
	return 0;
}

enum pagoda_build pagoda_discard_content_build(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       struct pagoda_paging_cursor *cursor,
					       struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_discard_content *discard = &op->discard_content;
	struct virtio_pagoda_discard_content *packet = (void *)buf->pos;

	if (op->needs_idle && !(discard->flags & PAGODA_ALLOCATION_IS_IDLE))
		return PAGODA_BUILD_ALLOCATION_BUSY;
	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_discard_content) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.size = cpu_to_le64(discard->size),
		.address = cpu_to_le64(discard->address),
		.segment = cpu_to_le32(discard->segment),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = discard->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_discard_content_cost(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_discard_content));
}
