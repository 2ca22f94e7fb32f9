// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that only tell the device where an allocation or the value of a fence is:
 * NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2 (C113 - C115) and NOTIFY_FENCE_RESIDENCY.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "table.h"

#define PAGODA_MOST_PAGES	(U64_MAX >> VIRTIO_PAGODA_PAGE_SHIFT)

u64 pagoda_notify_fences_tail(const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;

	return (u64)le32_to_cpu(notify->nr_fences) * sizeof(struct virtio_pagoda_fence_residency);
}

/*
 * Checks offset and nr_pages of @op: both have to be 0 in NOTIFY_RESIDENCY; in NOTIFY_RESIDENCY2
 * they have to be a range that isn't empty and doesn't overflow. Returns 0, or -EINVAL or -ERANGE
 * with the reason in *@why.
 */
static int residency_pages_validate(const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_notify_residency *notify = &op->notify_residency;

	if (op->operation == VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY)
		return notify->offset || notify->nr_pages ?
		       pagoda_refuse(why, -EINVAL, "residency: pages") : 0;
	if (!notify->nr_pages)
		return pagoda_refuse(why, -EINVAL, "residency: no pages");
	if (!pagoda_within(notify->offset, notify->nr_pages, PAGODA_MOST_PAGES))
		return pagoda_refuse(why, -ERANGE, "residency: pages wrap");
	return 0;
}

static int residency_place_validate(const struct pagoda_paging_limits *limits,
				    const struct pagoda_op_notify_residency *notify,
				    const char **why)
{
	u64 nr_pages = max_t(u64, notify->nr_pages, 1);

	if (!notify->flags)
		return notify->address || notify->segment ?
		       pagoda_refuse(why, -EINVAL, "residency: place of what was evicted") : 0;
	if (notify->segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_refuse(why, -EINVAL, "residency: no such segment");
	if (notify->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "residency: address misaligned");
	if (!pagoda_within(notify->address, nr_pages << VIRTIO_PAGODA_PAGE_SHIFT,
			   pagoda_segment_size(limits, notify->segment)))
		return pagoda_refuse(why, -ERANGE, "residency: outside the segment");
	return 0;
}

int pagoda_notify_residency_validate(const struct pagoda_paging_limits *limits,
				     const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_notify_residency *notify = &op->notify_residency;

	if (!op->allocation)
		return pagoda_refuse(why, -EINVAL, "residency: allocation missing");
	if (notify->flags & ~VIRTIO_PAGODA_NOTIFY_RESIDENT)
		return pagoda_refuse(why, -EINVAL, "residency: unknown flag");
	return residency_pages_validate(op, why) ?: residency_place_validate(limits, notify, why);
}

enum pagoda_build pagoda_notify_residency_build(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op,
						struct pagoda_paging_cursor *cursor,
						struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_notify_residency *notify = &op->notify_residency;
	struct virtio_pagoda_notify_residency *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_notify_residency) {
		.packet = pagoda_packet_head(op->operation, notify->flags, sizeof(*packet),
					     op->allocation),
		.address = cpu_to_le64(notify->address),
		.offset = cpu_to_le64(notify->offset),
		.nr_pages = cpu_to_le64(notify->nr_pages),
		.segment = cpu_to_le32(notify->segment),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = 1;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_notify_residency_cost(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_notify_residency));
}

static int fence_value_validate(const struct pagoda_paging_limits *limits, u64 address,
				const char **why)
{
	if (!address)
		return 0;
	if (address % 8)
		return pagoda_refuse(why, -EINVAL, "fences: address misaligned");
	if (!pagoda_within(address, 8, pagoda_segment_size(limits, VIRTIO_PAGODA_SEGMENT_SYSTEM)))
		return pagoda_refuse(why, -ERANGE, "fences: address too large");
	return 0;
}

int pagoda_notify_fences_validate(const struct pagoda_paging_limits *limits,
				  const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_notify_fences *notify = &op->notify_fences;
	u32 i;
	int ret;

	if (!notify->nr_fences || !notify->fences)
		return pagoda_refuse(why, -EINVAL, "fences: none");
	for (i = 0; i < notify->nr_fences; i++) {
		ret = fence_value_validate(limits, notify->fences[i].current_value, why);
		if (!ret)
			ret = fence_value_validate(limits, notify->fences[i].monitored_value, why);
		if (ret)
			return ret;
	}
	return 0;
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool notify_fences_packet(const struct pagoda_paging_op *op,
				 struct pagoda_paging_cursor *cursor,
				 struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_notify_fences *notify = &op->notify_fences;
	const struct pagoda_fence_residency *fence = notify->fences + cursor->done;
	struct virtio_pagoda_notify_fence_residency *packet = (void *)buf->pos;
	struct virtio_pagoda_fence_residency *entry = (void *)(packet + 1);
	u32 nr_fences = notify->nr_fences - cursor->done, length, i;

	if (!pagoda_buffer_has(buf, sizeof(*packet) + sizeof(*entry)))
		return false;
	nr_fences = min_t(u32, nr_fences, (buf->size - sizeof(*packet)) / sizeof(*entry));
	length = sizeof(*packet) + nr_fences * sizeof(*entry);
	*packet = (struct virtio_pagoda_notify_fence_residency) {
		.packet = pagoda_packet_head(op->operation, 0, length, op->allocation),
		.nr_fences = cpu_to_le32(nr_fences),
	};
	for (i = 0; i < nr_fences; i++)
		entry[i] = (struct virtio_pagoda_fence_residency) {
			.fence = cpu_to_le64(fence[i].fence),
			.current_value = cpu_to_le64(fence[i].current_value),
			.monitored_value = cpu_to_le64(fence[i].monitored_value),
		};
	pagoda_buffer_commit(buf, length, NULL, NULL);
	cursor->done += nr_fences;
	return true;
}

/*
 * &pagoda_paging_row.build of NOTIFY_FENCE_RESIDENCY: &pagoda_paging_cursor.done counts the fences
 * that packets name so far.
 */
enum pagoda_build pagoda_notify_fences_build(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op,
					     struct pagoda_paging_cursor *cursor,
					     struct pagoda_paging_buffer *buf)
{
	while (cursor->done < op->notify_fences.nr_fences) {
		if (!notify_fences_packet(op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_notify_fences_cost(const struct pagoda_paging_limits *limits,
			  const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_units_cost(buffer_size, sizeof(struct virtio_pagoda_notify_fence_residency),
				 sizeof(struct virtio_pagoda_fence_residency),
				 op->notify_fences.nr_fences);
}
