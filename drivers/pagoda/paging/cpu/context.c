// SPDX-License-Identifier: GPL-2.0
/* CPU executor: INIT_CONTEXT_RESOURCE and UPDATE_CONTEXT_ALLOCATION. */
#include <linux/minmax.h>
#include <linux/string.h>
#include "walk.h"

/*
 * Checks that the GPU virtual address @address is page aligned, and that the range is below
 * 2^va_bits. Returns a fault reason or 0.
 */
static u32 context_address_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size)
{
	if (!exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (address & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return pagoda_within(address, size, pagoda_va_end(exec->limits)) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

static void context_zero(const struct pagoda_cpu_side *dst, u64 size,
			 const struct virtio_pagoda_context_image *image)
{
	u64 done;

	for (done = 0; done < size; done += VIRTIO_PAGODA_PAGE_SIZE) {
		u8 *page = pagoda_cpu_side_map(dst, done);

		memset(page, 0, VIRTIO_PAGODA_PAGE_SIZE);
		if (!done)
			memcpy(page, image, sizeof(*image));
		pagoda_cpu_side_unmap(dst, page);
	}
}

u32 pagoda_init_context_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_init_context_resource *init = cpu->data;
	const struct virtio_pagoda_context_image image = {
		.magic = cpu_to_le64(VIRTIO_PAGODA_CONTEXT_MAGIC),
		.context = init->context,
	};
	u64 size = le64_to_cpu(init->size), gpu_address = le64_to_cpu(init->gpu_address);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	struct pagoda_cpu_side dst;

	if (init->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (!size)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (size & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (gpu_address)
		reason = context_address_check(cpu->exec, gpu_address, size);
	if (!reason)
		reason = pagoda_cpu_side_prepare(cpu->exec, &init->dst, size,
						 (const void *)(init + 1), cpu->dst_pages, true,
						 &dst);
	if (reason)
		return reason;
	context_zero(&dst, size, &image);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 update_context_check(const struct pagoda_cpu_packet *cpu,
				const struct pagoda_cpu_virtual *dst, u64 at)
{
	const struct virtio_pagoda_update_context_allocation *update = cpu->data;
	u64 bytes = le32_to_cpu(update->data_size), size = le64_to_cpu(update->size), done;
	const u8 *data = (const void *)(update + 1);
	struct pagoda_cpu_leaf leaf;
	u32 reason;

	if (update->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (!bytes || !pagoda_within(le32_to_cpu(update->data_offset), bytes, size))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	reason = context_address_check(cpu->exec, dst->base, size);
	if (reason)
		return reason;
	/* The padding behind the data, up to a multiple of 8 bytes, has to be zero. */
	for (done = bytes; done % 8; done++) {
		if (data[done])
			return VIRTIO_PAGODA_FAULT_RESERVED;
	}
	for (done = 0; done < bytes && !reason; done += pagoda_page_left(at + done))
		reason = pagoda_cpu_virtual_find(dst, at + done, &leaf);
	return reason;
}

u32 pagoda_update_context_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_update_context_allocation *update = cpu->data;
	const struct pagoda_cpu_virtual dst = {
		.exec = cpu->exec,
		.pages = cpu->dst_pages,
		.base = le64_to_cpu(update->address),
		.write = true,
	};
	u64 at = dst.base + le32_to_cpu(update->data_offset), bytes, done;
	u64 size = le32_to_cpu(update->data_size);
	const u8 *data = (const void *)(update + 1);
	u32 reason = update_context_check(cpu, &dst, at);

	for (done = 0; done < size && !reason; done += bytes) {
		struct pagoda_cpu_mapping to;

		bytes = min(size - done, pagoda_page_left(at + done));
		reason = pagoda_cpu_virtual_map(&dst, at + done, &to);
		if (reason)
			break;
		if (to.at)
			memcpy(to.at, data + done, bytes);
		pagoda_cpu_virtual_unmap(&dst, &to);
	}
	return reason;
}
