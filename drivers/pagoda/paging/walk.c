// SPDX-License-Identifier: GPL-2.0
/* Going over the packets of a buffer without looking into them. */
#include "emit.h"
#include "table.h"

/**
 * pagoda_paging_walk() - Visit the packets of a buffer
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @size: Bytes built
 * @start: Packets before this offset are left out
 * @visit: Called with the opcode and the allocation of each packet
 * @arg: Its first argument
 *
 * Ends at the first thing that is no packet.
 *
 * Context: any that @visit can be called in.
 */
void pagoda_paging_walk(const void *data, u32 size, u32 start,
			void (*visit)(void *arg, u32 opcode, u64 allocation), void *arg)
{
	u32 offset = 0;

	while (offset < size) {
		const struct virtio_pagoda_packet *packet = data + offset;
		const char *why;

		if (!pagoda_packet_check(packet, size - offset, &why))
			return;
		if (offset >= start)
			visit(arg, le16_to_cpu(packet->opcode), le64_to_cpu(packet->allocation));
		offset += le32_to_cpu(packet->length);
	}
}
