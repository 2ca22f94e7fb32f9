// SPDX-License-Identifier: GPL-2.0
/* Iteration over the packets of a buffer. */
#include "emit.h"
#include "table.h"

/**
 * pagoda_paging_walk() - Call a function for the packets of a buffer
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @size: Bytes built
 * @start: Packets before this offset are skipped
 * @visit: Called with each packet, which is readable in its whole length
 * @arg: First argument of @visit
 *
 * Ends at the first malformed packet.
 *
 * Context: any that @visit can be called in.
 */
void pagoda_paging_walk(const void *data, u32 size, u32 start,
			void (*visit)(void *arg, const struct virtio_pagoda_packet *packet),
			void *arg)
{
	u32 offset = 0;

	while (offset < size) {
		const struct virtio_pagoda_packet *packet = data + offset;
		const char *why;

		if (!pagoda_packet_check(packet, size - offset, &why))
			return;
		if (offset >= start)
			visit(arg, packet);
		offset += le32_to_cpu(packet->length);
	}
}
