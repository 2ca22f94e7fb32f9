// SPDX-License-Identifier: GPL-2.0
/*
 * Lengths of packets and of buffers' parts, computed from the ABI header alone: a mistake of the
 * engine or the CPU executor in a length must not get into the code that compares the two.
 */
#include "fuzz.h"

#define TILING	(VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE)

/*
 * Size in bytes of the fixed part of a packet, without runs, values, ranges, fences, data and what
 * flags add; 0 = @opcode isn't an operation.
 */
u32 fuzz_packet_fixed(u32 opcode)
{
	static const u32 sizes[VIRTIO_PAGODA_OP_COUNT] = {
#define SIZE(NAME, type)[VIRTIO_PAGODA_OP_##NAME] = sizeof(struct virtio_pagoda_##type)
		SIZE(TRANSFER, transfer),
		SIZE(FILL, fill),
		SIZE(DISCARD_CONTENT, discard_content),
		SIZE(READ_PHYSICAL, access_physical),
		SIZE(WRITE_PHYSICAL, access_physical),
		SIZE(MAP_APERTURE_SEGMENT, map_aperture_segment),
		SIZE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment),
		SIZE(SPECIAL_LOCK_TRANSFER, special_lock_transfer),
		SIZE(VIRTUAL_TRANSFER, virtual_transfer),
		SIZE(VIRTUAL_FILL, virtual_fill),
		SIZE(INIT_CONTEXT_RESOURCE, init_context_resource),
		SIZE(UPDATE_PAGE_TABLE, update_page_table),
		SIZE(FLUSH_TLB, flush_tlb),
		SIZE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation),
		SIZE(COPY_PAGE_TABLE_ENTRIES, copy_page_table_entries),
		SIZE(NOTIFY_RESIDENCY, notify_residency),
		SIZE(SIGNAL_MONITORED_FENCE, signal_monitored_fence),
		SIZE(MAP_APERTURE_SEGMENT2, map_aperture_segment),
		SIZE(NOTIFY_FENCE_RESIDENCY, notify_fence_residency),
		SIZE(MAP_MMU, map_mmu),
		SIZE(UNMAP_MMU, map_mmu),
		SIZE(NOTIFY_RESIDENCY2, notify_residency),
		SIZE(NOTIFY_ALLOC, notify_alloc),
#undef SIZE
	};

	return opcode < VIRTIO_PAGODA_OP_COUNT ? sizes[opcode] : 0;
}

/* Returns whether execution queues accept the operation. */
bool fuzz_packet_exec(u32 opcode)
{
	return opcode == VIRTIO_PAGODA_OP_TRANSFER || opcode == VIRTIO_PAGODA_OP_FILL ||
	       opcode == VIRTIO_PAGODA_OP_READ_PHYSICAL ||
	       opcode == VIRTIO_PAGODA_OP_WRITE_PHYSICAL ||
	       opcode == VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE;
}

/*
 * Stores the numbers of runs that a packet's fields tell; a packet with one list has the number in
 * *@nr_dst. Returns the offset of the runs in the packet; 0 = the operation never has runs, both
 * numbers are 0. The packet's fixed part (fuzz_packet_fixed()) must be in memory.
 */
u32 fuzz_packet_runs(const void *packet, u32 *nr_src, u32 *nr_dst)
{
	const struct virtio_pagoda_packet *head = packet;
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	const struct virtio_pagoda_init_context_resource *init = packet;
	const struct virtio_pagoda_map_mmu *mmu = packet;
	const struct virtio_pagoda_transfer *transfer = packet;
	u32 opcode = le16_to_cpu(head->opcode), fixed = fuzz_packet_fixed(opcode);

	*nr_src = 0;
	*nr_dst = 0;
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		if (le16_to_cpu(head->flags) & TILING)
			fixed += sizeof(struct virtio_pagoda_tiled);
		/* fall through */
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		*nr_src = le32_to_cpu(transfer->src.nr_runs);
		*nr_dst = le32_to_cpu(transfer->dst.nr_runs);
		return fixed;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		*nr_dst = le32_to_cpu(map->nr_runs);
		return fixed;
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
		*nr_dst = le32_to_cpu(init->dst.nr_runs);
		return fixed;
	case VIRTIO_PAGODA_OP_MAP_MMU:
	case VIRTIO_PAGODA_OP_UNMAP_MMU:
		*nr_dst = le32_to_cpu(mmu->nr_runs);
		return fixed;
	default:
		return 0;
	}
}

/*
 * Length that a packet must have by its opcode, flags and counts, whatever its length field says,
 * even beyond @left; 0 = @left is too little for the fixed part, or the opcode isn't an operation.
 */
u64 fuzz_packet_length(const void *packet, u32 left)
{
	const struct virtio_pagoda_packet *head = packet;
	const struct virtio_pagoda_update_page_table *update = packet;
	const struct virtio_pagoda_update_context_allocation *context = packet;
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_notify_fence_residency *fences = packet;
	u32 fixed, runs, nr_src, nr_dst;

	fixed = left < sizeof(*head) ? 0 : fuzz_packet_fixed(le16_to_cpu(head->opcode));
	if (!fixed || left < fixed)
		return 0;
	switch (le16_to_cpu(head->opcode)) {
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return fixed + le32_to_cpu(update->nr_values) * 8ull;
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		return fixed + (le32_to_cpu(context->data_size) + 7ull) / 8 * 8;
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		return fixed + le32_to_cpu(copy->nr_ranges) * 32ull;
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		return fixed + le32_to_cpu(fences->nr_fences) * 24ull;
	default:
		runs = fuzz_packet_runs(packet, &nr_src, &nr_dst);
		return (runs ? runs : fixed) + ((u64)nr_src + nr_dst) * 16;
	}
}

/* End of the packet at @offset, by its length field; 0 if its length is wrong or it is cut off. */
u32 fuzz_packet_next(const u8 *data, u32 size, u32 offset)
{
	const struct virtio_pagoda_packet *head = (const void *)(data + offset);
	u32 left = size - offset, length;

	if (left < sizeof(*head))
		return 0;
	length = le32_to_cpu(head->length);
	if (length < sizeof(*head) || length % VIRTIO_PAGODA_PACKET_ALIGN || length > left)
		return 0;
	return offset + length;
}

/* Offset behind the first @packets packets if these are well-formed, else 0. */
u32 fuzz_packet_start(const u8 *data, u32 size, u32 packets)
{
	u32 offset = 0, next;

	for (; packets; packets--) {
		next = fuzz_packet_next(data, size, offset);
		if (!next || fuzz_packet_length(data + offset, size - offset) != next - offset)
			return 0;
		offset = next;
	}
	return offset;
}

/*
 * Sum of the sizes of VIRTUAL_FILL and VIRTUAL_TRANSFER packets before a buffer's first malformed
 * packet. Sizes above VIRTIO_PAGODA_MAX_VIRTUAL don't count: such packets are refused.
 */
u64 fuzz_packet_virtual(const u8 *data, u32 size)
{
	u32 offset, next;
	u64 sum = 0;

	for (offset = 0; offset < size; offset = next) {
		const struct virtio_pagoda_virtual_fill *fill = (const void *)(data + offset);
		u32 opcode;

		next = fuzz_packet_next(data, size, offset);
		if (!next)
			break;
		opcode = le16_to_cpu(fill->packet.opcode);
		/* The size is at the same offset in a VIRTUAL_TRANSFER as in a VIRTUAL_FILL. */
		if ((opcode == VIRTIO_PAGODA_OP_VIRTUAL_FILL ||
		     opcode == VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER) &&
		    next - offset >= sizeof(*fill) &&
		    le64_to_cpu(fill->size) <= VIRTIO_PAGODA_MAX_VIRTUAL)
			sum += le64_to_cpu(fill->size);
	}
	return sum;
}
