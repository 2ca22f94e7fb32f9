// SPDX-License-Identifier: GPL-2.0
/* FLUSH_TLB (C103 - C106): drops the TLB's translations of a range or a whole address space. */
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

int pagoda_flush_tlb_validate(const struct pagoda_paging_limits *limits,
			      const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_flush_tlb *flush = &op->flush_tlb;

	if (flush->address_space >= limits->max_address_spaces)
		return pagoda_refuse(why, -ERANGE, "flush: no such address space");
	if (flush->root_segment > VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL,
				     "flush: root neither in VRAM nor in system memory");
	if (flush->root_address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "flush: root misaligned");
	if (flush->root_segment == VIRTIO_PAGODA_SEGMENT_VRAM &&
	    flush->root_address >= limits->vram_size)
		return pagoda_refuse(why, -ERANGE, "flush: root outside the segment");
	if (!flush->start && !flush->end)
		return 0;
	if (flush->start >= flush->end)
		return pagoda_refuse(why, -EINVAL, "flush: empty range");
	if (flush->end > pagoda_va_end(limits))
		return pagoda_refuse(why, -ERANGE, "flush: outside the address space");
	return 0;
}

enum pagoda_build pagoda_flush_tlb_build(const struct pagoda_paging_limits *limits,
					 const struct pagoda_paging_op *op,
					 struct pagoda_paging_cursor *cursor,
					 struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_flush_tlb *flush = &op->flush_tlb;
	struct virtio_pagoda_flush_tlb *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_flush_tlb) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.root_address = cpu_to_le64(flush->root_address),
		.start = cpu_to_le64(flush->start),
		.end = cpu_to_le64(flush->end),
		.root_segment = cpu_to_le32(flush->root_segment),
		.address_space = cpu_to_le32(flush->address_space),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = 1;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_flush_tlb_cost(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_flush_tlb));
}
