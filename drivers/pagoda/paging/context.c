// SPDX-License-Identifier: GPL-2.0
/*
 * Save areas of contexts: INIT_CONTEXT_RESOURCE (C81, C83) initializes a save area, and
 * UPDATE_CONTEXT_ALLOCATION (C84) writes data at virtual addresses of a save area.
 * &pagoda_paging_cursor.done is in bytes.
 *
 * INIT_CONTEXT_RESOURCE is never split into several packets, because a second packet couldn't
 * say where the save area begins. Save areas are a few pages, so that their runs fit in any
 * buffer; a page list with more runs than fit into the smallest buffer is refused.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "runs.h"
#include "table.h"

u64 pagoda_init_context_tail(const void *packet)
{
	const struct virtio_pagoda_init_context_resource *init = packet;

	return (u64)le32_to_cpu(init->dst.nr_runs) * sizeof(struct virtio_pagoda_run);
}

u64 pagoda_update_context_tail(const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;

	return ((u64)le32_to_cpu(update->data_size) + 7) & ~7ull;
}

static u32 init_context_runs(const struct pagoda_op_init_context *init)
{
	if (init->dst.segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return 0;
	return min_t(u64, pagoda_runs_count(init->dst.adl, 0, pagoda_pages(init->size)), U32_MAX);
}

static int init_context_side_validate(const struct pagoda_paging_limits *limits,
				      const struct pagoda_op_init_context *init, const char **why)
{
	u32 most = pagoda_runs_fit(limits, PAGODA_PAGING_MIN_BUFFER,
				   sizeof(struct virtio_pagoda_init_context_resource));
	int ret = pagoda_side_validate(limits, &init->dst, 0, 0, init->size, why);

	if (ret)
		return ret;
	if (init->cpu_address && init->dst.segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_refuse(why, -EINVAL, "context: CPU address outside the aperture");
	if (init->cpu_address && init->flags != PAGODA_SAVE_CPU_ADDRESS)
		return pagoda_refuse(why, -EINVAL, "context: CPU address of what has none");
	if (init->dst.segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return 0;
	if (init->dst.adl->nr_pages != pagoda_pages(init->size))
		return pagoda_refuse(why, -EINVAL, "context: page list too long");
	if (init_context_runs(init) > most)
		return pagoda_refuse(why, -ERANGE, "context: more runs than one packet");
	return 0;
}

/*
 * &pagoda_paging_row.validate of INIT_CONTEXT_RESOURCE. Also refuses page lists whose runs don't
 * fit into a packet of PAGODA_PAGING_MIN_BUFFER bytes: 28 runs fit, or max_runs of the device if
 * that is less, and a save area of VIRTIO_PAGODA_CONTEXT_BYTES has four at most. Returns 0, or a
 * negative errno with the reason in *@why.
 */
int pagoda_init_context_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_init_context *init = &op->init_context;

	if (!init->size)
		return pagoda_refuse(why, -EINVAL, "context: size zero");
	if (init->size & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "context: size misaligned");
	if (init->gpu_address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "context: address misaligned");
	if (init->flags & ~PAGODA_SAVE_CPU_ADDRESS)
		return pagoda_refuse(why, -EINVAL, "context: unknown flag");
	if (init->gpu_address &&
	    !pagoda_within(init->gpu_address, init->size, pagoda_va_end(limits)))
		return pagoda_refuse(why, -ERANGE, "context: address too large");
	return init_context_side_validate(limits, init, why);
}

enum pagoda_build pagoda_init_context_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_init_context *init = &op->init_context;
	struct virtio_pagoda_init_context_resource *packet = (void *)buf->pos;
	u32 nr_runs = init_context_runs(init);
	u32 length = sizeof(*packet) + nr_runs * sizeof(struct virtio_pagoda_run);
	u64 pages;

	if (!pagoda_buffer_has(buf, length))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	if (nr_runs)
		pagoda_runs_write(init->dst.adl, 0, pagoda_pages(init->size), (void *)(packet + 1),
				  nr_runs, &pages);
	*packet = (struct virtio_pagoda_init_context_resource) {
		.packet = pagoda_packet_head(op->operation, 0, length, op->allocation),
		.size = cpu_to_le64(init->size),
		.context = cpu_to_le64(init->context),
		.gpu_address = cpu_to_le64(init->gpu_address),
		.dst = pagoda_location_make(&init->dst, 0, nr_runs),
	};
	pagoda_buffer_commit(buf, length, NULL, pagoda_side_cpu_pages(&init->dst, 0));
	cursor->done = init->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_init_context_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size)
{
	u32 nr_runs = init_context_runs(&op->init_context);

	return pagoda_cost_single(op->init_context.size,
				  sizeof(struct virtio_pagoda_init_context_resource) +
				  nr_runs * sizeof(struct virtio_pagoda_run));
}

int pagoda_update_context_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_update_context *update = &op->update_context;

	if (!limits->va_bits)
		return pagoda_refuse(why, -EOPNOTSUPP, "context: no virtual addresses");
	if (!update->data || !update->data_size)
		return pagoda_refuse(why, -EINVAL, "context: no data");
	if (update->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "context: address misaligned");
	if ((update->data_size | update->data_offset) % 8)
		return pagoda_refuse(why, -EINVAL, "context: data misaligned");
	if (!pagoda_within(update->data_offset, update->data_size, update->size))
		return pagoda_refuse(why, -ERANGE, "context: data outside");
	if (!pagoda_within(update->address, update->size, pagoda_va_end(limits)))
		return pagoda_refuse(why, -ERANGE, "context: address too large");
	return 0;
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool update_context_packet(const struct pagoda_paging_op *op,
				  struct pagoda_paging_cursor *cursor,
				  struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_update_context *update = &op->update_context;
	struct virtio_pagoda_update_context_allocation *packet = (void *)buf->pos;
	u32 bytes = update->data_size - cursor->done;

	if (!pagoda_buffer_has(buf, sizeof(*packet) + 8))
		return false;
	bytes = min_t(u32, bytes, (buf->size - sizeof(*packet)) & ~7u);
	*packet = (struct virtio_pagoda_update_context_allocation) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet) + bytes,
					     op->allocation),
		.address = cpu_to_le64(update->address),
		.size = cpu_to_le64(update->size),
		.data_size = cpu_to_le32(bytes),
		.data_offset = cpu_to_le32(update->data_offset + cursor->done),
	};
	memcpy(packet + 1, update->data + cursor->done, bytes);
	pagoda_buffer_commit(buf, sizeof(*packet) + bytes, NULL, update->pages);
	cursor->done += bytes;
	return true;
}

enum pagoda_build pagoda_update_context_build(const struct pagoda_paging_limits *limits,
					      const struct pagoda_paging_op *op,
					      struct pagoda_paging_cursor *cursor,
					      struct pagoda_paging_buffer *buf)
{
	while (cursor->done < op->update_context.data_size) {
		if (!update_context_packet(op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_update_context_cost(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, u32 buffer_size)
{
	u32 size = op->update_context.data_size;
	struct pagoda_paging_cost cost;

	cost = pagoda_units_cost(buffer_size,
				 sizeof(struct virtio_pagoda_update_context_allocation), 8,
				 size / 8);
	cost.moved = size;
	return cost;
}
