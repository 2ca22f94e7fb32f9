// SPDX-License-Identifier: GPL-2.0
/*
 * The shape of packets, from the ABI header alone: neither side's idea of it may
 * decide what the two are compared with.
 */
#include "fuzz.h"

/* Bytes of a packet without runs; 0 = an operation nobody executes. */
u32 fuzz_packet_fixed(u32 opcode)
{
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		return sizeof(struct virtio_pagoda_transfer);
	case VIRTIO_PAGODA_OP_FILL:
		return sizeof(struct virtio_pagoda_fill);
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		return sizeof(struct virtio_pagoda_discard_content);
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		return sizeof(struct virtio_pagoda_access_physical);
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		return sizeof(struct virtio_pagoda_map_aperture_segment);
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		return sizeof(struct virtio_pagoda_unmap_aperture_segment);
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		return sizeof(struct virtio_pagoda_signal_monitored_fence);
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		return sizeof(struct virtio_pagoda_notify_alloc);
	default:
		return 0;
	}
}

/* Sets the runs a packet says it has; returns where they start, 0 = never any. */
u32 fuzz_packet_runs(const void *packet, u32 *nr_src, u32 *nr_dst)
{
	const struct virtio_pagoda_packet *head = packet;
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	const struct virtio_pagoda_transfer *transfer = packet;

	*nr_src = 0;
	*nr_dst = 0;
	switch (le16_to_cpu(head->opcode)) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		*nr_src = le32_to_cpu(transfer->src.nr_runs);
		*nr_dst = le32_to_cpu(transfer->dst.nr_runs);
		return sizeof(*transfer);
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		*nr_dst = le32_to_cpu(map->nr_runs);
		return sizeof(*map);
	default:
		return 0;
	}
}

/* Where the packet ends that starts at @offset, by its length; 0 if that is no length. */
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
