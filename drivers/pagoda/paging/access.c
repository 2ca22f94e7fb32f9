// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that are always a single small packet: READ_PHYSICAL and WRITE_PHYSICAL
 * (C49 - C51), SIGNAL_MONITORED_FENCE (C116, C117) and NOTIFY_ALLOC (C118 - C121).
 */
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

static int access_range_validate(const struct pagoda_paging_limits *limits, u32 segment,
				 u64 address, u32 size, const char **why)
{
	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_refuse(why, -EINVAL, "access: no such segment");
	if (address & (size - 1))
		return pagoda_refuse(why, -EINVAL, "access: address misaligned");
	if (!pagoda_within(address, size, pagoda_segment_size(limits, segment)))
		return pagoda_refuse(why, -ERANGE, "access: outside the segment");
	return 0;
}

int pagoda_access_physical_validate(const struct pagoda_paging_limits *limits,
				    const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_access_physical *access = &op->access_physical;

	if (!access->size || access->size > 8 || access->size & (access->size - 1))
		return pagoda_refuse(why, -EINVAL, "access: size");
	return access_range_validate(limits, access->segment, access->address, access->size, why);
}

enum pagoda_build pagoda_access_physical_build(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op,
					       struct pagoda_paging_cursor *cursor,
					       struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_access_physical *access = &op->access_physical;
	struct virtio_pagoda_access_physical *packet = (void *)buf->pos;
	bool read = op->operation == VIRTIO_PAGODA_OP_READ_PHYSICAL;
	bool system = access->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
	const void *pages = system ? access->cpu_pages : NULL;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_access_physical) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.address = cpu_to_le64(access->address),
		.segment = cpu_to_le32(access->segment),
		.size = cpu_to_le32(access->size),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), read ? pages : NULL, read ? NULL : pages);
	cursor->done = access->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_access_physical_cost(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, u32 buffer_size)
{
	bool read = op->operation == VIRTIO_PAGODA_OP_READ_PHYSICAL;

	return pagoda_cost_single(read ? 0 : op->access_physical.size,
				  sizeof(struct virtio_pagoda_access_physical));
}

static int signal_virtual_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_op_signal_fence *signal, const char **why)
{
	if (!limits->va_bits)
		return pagoda_refuse(why, -EOPNOTSUPP, "signal: no virtual addresses");
	if (signal->segment)
		return pagoda_refuse(why, -EINVAL, "signal: segment of a virtual address");
	if (signal->address % sizeof(signal->value))
		return pagoda_refuse(why, -EINVAL, "access: address misaligned");
	if (!pagoda_within(signal->address, sizeof(signal->value), pagoda_va_end(limits)))
		return pagoda_refuse(why, -ERANGE, "signal: virtual address too large");
	return 0;
}

int pagoda_signal_fence_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_signal_fence *signal = &op->signal_fence;

	if (signal->flags & ~VIRTIO_PAGODA_SIGNAL_FLAGS)
		return pagoda_refuse(why, -EINVAL, "signal: unknown flag");
	if (signal->flags & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		return signal_virtual_validate(limits, signal, why);
	return access_range_validate(limits, signal->segment, signal->address,
				     sizeof(signal->value), why);
}

enum pagoda_build pagoda_signal_fence_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_signal_fence *signal = &op->signal_fence;
	struct virtio_pagoda_signal_monitored_fence *packet = (void *)buf->pos;
	bool system = signal->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_signal_monitored_fence) {
		.packet = pagoda_packet_head(op->operation, signal->flags, sizeof(*packet),
					     op->allocation),
		.address = cpu_to_le64(signal->address),
		.value = cpu_to_le64(signal->value),
		.segment = cpu_to_le32(signal->segment),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, system ? signal->cpu_pages : NULL);
	cursor->done = sizeof(signal->value);
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_signal_fence_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(sizeof(op->signal_fence.value),
				  sizeof(struct virtio_pagoda_signal_monitored_fence));
}

int pagoda_notify_alloc_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_notify_alloc *notify = &op->notify_alloc;

	if (!op->allocation)
		return pagoda_refuse(why, -EINVAL, "notify: allocation missing");
	if (notify->flags != VIRTIO_PAGODA_NOTIFY_EVICTION &&
	    notify->flags != VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP)
		return pagoda_refuse(why, -EINVAL, "notify: not exactly one flag");
	if (notify->process && notify->flags == VIRTIO_PAGODA_NOTIFY_EVICTION)
		return pagoda_refuse(why, -EINVAL, "notify: process of an eviction");
	if ((notify->offset | notify->address) & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "notify: address misaligned");
	if (!notify->size)
		return pagoda_refuse(why, -EINVAL, "notify: size zero");
	if (notify->size & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "notify: size misaligned");
	if (!pagoda_within(notify->offset, notify->size, U64_MAX))
		return pagoda_refuse(why, -ERANGE, "notify: range wraps");
	return 0;
}

enum pagoda_build pagoda_notify_alloc_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_notify_alloc *notify = &op->notify_alloc;
	struct virtio_pagoda_notify_alloc *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_notify_alloc) {
		.packet = pagoda_packet_head(op->operation, notify->flags, sizeof(*packet),
					     op->allocation),
		.offset = cpu_to_le64(notify->offset),
		.size = cpu_to_le64(notify->size),
		.address = cpu_to_le64(notify->address),
		.process = cpu_to_le64(notify->process),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = notify->size;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_notify_alloc_cost(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_notify_alloc));
}
