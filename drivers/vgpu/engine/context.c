// SPDX-License-Identifier: GPL-2.0
/*
 * Save areas of contexts: INIT_CONTEXT_RESOURCE initializes a save area in any segment, and
 * UPDATE_CONTEXT_ALLOCATION writes to a save area that is mapped in the paging process.
 */
#include "internal.h"

static const struct virtio_pagoda_run *
context_runs(const struct virtio_pagoda_init_context_resource *init)
{
	return (const void *)(init + 1);
}

u64 pagoda_engine_init_context_tail(const void *packet)
{
	const struct virtio_pagoda_init_context_resource *init = packet;

	return (u64)le32_to_cpu(init->dst.nr_runs) * sizeof(struct virtio_pagoda_run);
}

/*
 * Checks that a range of virtual addresses of the paging process begins at a page and is inside of
 * the address space. Returns 0 or a fault reason.
 */
static u32 context_address_check(struct pagoda_exec *exec, u64 address, u64 size)
{
	u64 limit = 1ull << exec->engine->va_bits;

	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address);
	if (size > limit || address > limit - size)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, address);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_init_context_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_init_context_resource *init = packet;
	u64 gpu_address = le64_to_cpu(init->gpu_address);
	u64 size = le64_to_cpu(init->size);
	u32 reason;

	if (!size)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (!IS_ALIGNED(size, PAGODA_PAGE))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
	if (gpu_address) {
		reason = context_address_check(exec, gpu_address, size);
		if (reason)
			return reason;
	}
	return pagoda_engine_location_check(exec, &init->dst, context_runs(init), size,
					    VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_engine_init_context_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_init_context_resource *init = packet;
	const struct virtio_pagoda_context_image image = {
		.magic = cpu_to_le64(VIRTIO_PAGODA_CONTEXT_MAGIC),
		.context = init->context,
	};
	u64 left = le64_to_cpu(init->size) >> exec->half;
	struct pagoda_cursor cursor;
	bool first = true;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	pagoda_engine_cursor_init(&cursor, &init->dst, context_runs(init), exec->run->spans, left,
				  VIRTIO_PAGODA_ACCESS_WRITE);
	while (left && !reason) {
		u64 size;

		if (!cursor.here_size) {
			reason = pagoda_engine_cursor_refill(exec, &cursor);
			if (reason)
				return reason;
		}
		size = min_t(u64, cursor.here_size, PAGODA_CHUNK);
		memset(cursor.here, 0, size);
		if (first)	/* the first span, half a page or more, has room for the image */
			memcpy(cursor.here, &image, sizeof(image));
		pagoda_engine_wrote(exec->engine, cursor.here, size);
		first = false;
		cursor.here += size;
		cursor.here_size -= size;
		left -= size;
		reason = pagoda_progress(exec, size);
	}
	return reason;
}

static const u8 *update_data(const struct virtio_pagoda_update_context_allocation *update)
{
	return (const void *)(update + 1);
}

u64 pagoda_engine_update_context_tail(const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;

	return ALIGN_DOWN((u64)le32_to_cpu(update->data_size) + VIRTIO_PAGODA_PACKET_ALIGN - 1,
			  VIRTIO_PAGODA_PACKET_ALIGN);
}

/*
 * Refuses a byte other than zero in the padding behind the packet's data: like a reserved field,
 * the padding may get a meaning later. Returns 0 or a fault reason.
 */
static u32 update_padding_check(struct pagoda_exec *exec,
				const struct virtio_pagoda_update_context_allocation *update)
{
	u64 end = pagoda_engine_update_context_tail(update);
	u64 i;

	for (i = le32_to_cpu(update->data_size); i < end; i++)
		if (update_data(update)[i])
			return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
					     update_data(update)[i]);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_update_context_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;
	u64 address = le64_to_cpu(update->address);
	u64 offset = le32_to_cpu(update->data_offset);
	u64 data_size = le32_to_cpu(update->data_size);
	u64 size = le64_to_cpu(update->size);
	u32 reason;

	if (!data_size || offset + data_size > size)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, offset + data_size);
	reason = context_address_check(exec, address, size);
	if (reason)
		return reason;
	reason = update_padding_check(exec, update);
	if (reason)
		return reason;
	return pagoda_engine_virtual_check(exec, 0, address + offset, data_size,
					   VIRTIO_PAGODA_ACCESS_WRITE, 0, NULL);
}

u32 pagoda_engine_update_context_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;
	u64 address = le64_to_cpu(update->address) + le32_to_cpu(update->data_offset);
	u32 left = le32_to_cpu(update->data_size) >> exec->half;
	const u8 *data = update_data(update);

	while (left) {
		struct pagoda_virtual_span span;
		u32 reason;

		reason = pagoda_engine_virtual_span(exec, 0, address, left,
						    VIRTIO_PAGODA_ACCESS_WRITE, &span);
		if (reason)
			return reason;
		if (span.here) {
			memcpy(span.here, data, span.size);
			pagoda_engine_wrote(exec->engine, span.here, span.size);
		}
		address += span.size;
		data += span.size;
		left -= span.size;
		exec->run->bytes += span.size;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}
