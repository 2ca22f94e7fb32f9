// SPDX-License-Identifier: GPL-2.0
/*
 * COPY_PAGE_TABLE_ENTRIES (C108 - C112). &pagoda_paging_cursor.done counts ranges. The device
 * copies ranges in their order (C109), so each packet has the next ranges, as many as the buffer
 * has room for.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

u64 pagoda_copy_entries_tail(const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;

	return (u64)le32_to_cpu(copy->nr_ranges) * sizeof(struct virtio_pagoda_copy_range);
}

static int copy_table_validate(const struct pagoda_paging_limits *limits, u64 table, u32 entry,
			       u32 nr_entries, const char **why)
{
	if (table & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "copy: table misaligned");
	if (!pagoda_within(table, VIRTIO_PAGODA_PAGE_SIZE, pagoda_va_end(limits)))
		return pagoda_refuse(why, -ERANGE, "copy: table outside the address space");
	if (!pagoda_within(entry, nr_entries, VIRTIO_PAGODA_PT_ENTRIES))
		return pagoda_refuse(why, -ERANGE, "copy: entries outside the table");
	return 0;
}

int pagoda_copy_entries_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_copy_entries *copy = &op->copy_entries;
	u32 i;
	int ret;

	if (copy->address_space >= limits->max_address_spaces)
		return pagoda_refuse(why, -ERANGE, "copy: no such address space");
	if (!copy->nr_ranges || !copy->ranges)
		return pagoda_refuse(why, -EINVAL, "copy: ranges missing");
	for (i = 0; i < copy->nr_ranges; i++) {
		const struct pagoda_copy_range *range = &copy->ranges[i];

		if (!range->nr_entries)
			return pagoda_refuse(why, -EINVAL, "copy: range without entries");
		ret = copy_table_validate(limits, range->src_table, range->src_entry,
					  range->nr_entries, why);
		if (!ret)
			ret = copy_table_validate(limits, range->dst_table, range->dst_entry,
						  range->nr_entries, why);
		if (ret)
			return ret;
	}
	return 0;
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool copy_packet(const struct pagoda_paging_op *op, struct pagoda_paging_cursor *cursor,
			struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_copy_entries *copy = &op->copy_entries;
	const struct pagoda_copy_range *range = copy->ranges + cursor->done;
	struct virtio_pagoda_copy_page_table_entries *packet = (void *)buf->pos;
	struct virtio_pagoda_copy_range *entry = (void *)(packet + 1);
	u32 nr_ranges, length, i;

	if (!pagoda_buffer_has(buf, sizeof(*packet) + sizeof(*entry)))
		return false;
	nr_ranges = min_t(u64, copy->nr_ranges - cursor->done,
			  (buf->size - sizeof(*packet)) / sizeof(*entry));
	length = sizeof(*packet) + nr_ranges * sizeof(*entry);
	*packet = (struct virtio_pagoda_copy_page_table_entries) {
		.packet = pagoda_packet_head(op->operation, 0, length, op->allocation),
		.nr_ranges = cpu_to_le32(nr_ranges),
		.address_space = cpu_to_le32(copy->address_space),
	};
	for (i = 0; i < nr_ranges; i++)
		entry[i] = (struct virtio_pagoda_copy_range) {
			.src_table = cpu_to_le64(range[i].src_table),
			.dst_table = cpu_to_le64(range[i].dst_table),
			.src_entry = cpu_to_le32(range[i].src_entry),
			.dst_entry = cpu_to_le32(range[i].dst_entry),
			.nr_entries = cpu_to_le32(range[i].nr_entries),
		};
	pagoda_buffer_commit(buf, length, NULL, NULL);
	cursor->done += nr_ranges;
	return true;
}

enum pagoda_build pagoda_copy_entries_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	while (cursor->done < op->copy_entries.nr_ranges) {
		if (!copy_packet(op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_copy_entries_cost(const struct pagoda_paging_limits *limits,
						   const struct pagoda_paging_op *op,
						   u32 buffer_size)
{
	const struct pagoda_op_copy_entries *copy = &op->copy_entries;
	u32 head = sizeof(struct virtio_pagoda_copy_page_table_entries);
	u32 fresh = (buffer_size - head) / sizeof(struct virtio_pagoda_copy_range);
	u64 packets = min_t(u64, DIV_ROUND_UP(copy->nr_ranges, fresh) + 1ull, copy->nr_ranges);
	u64 moved = 0;
	u32 i;

	for (i = 0; i < copy->nr_ranges; i++)
		moved += (u64)copy->ranges[i].nr_entries * VIRTIO_PAGODA_PT_ENTRY_BYTES;
	return (struct pagoda_paging_cost) {
		.moved = moved,
		.encoded = packets * head +
			   (u64)copy->nr_ranges * sizeof(struct virtio_pagoda_copy_range),
		.packets = packets,
	};
}
