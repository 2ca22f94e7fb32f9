// SPDX-License-Identifier: GPL-2.0
/*
 * Calls a function for, or prints, the packets in untrusted bytes: a packet's fields are read only
 * after pagoda_packet_check() found the packet complete.
 */
#include "emit.h"
#include "print.h"
#include "table.h"

/**
 * pagoda_paging_walk() - Call a function for the packets of a buffer
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN; any content
 * @size: Bytes of @data that hold packets
 * @start: Offset in bytes; packets that begin before this offset are skipped
 * @visit: Called with each packet, up to the first malformed packet
 * @arg: First argument of @visit
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

/**
 * pagoda_paging_print() - Print a paging buffer
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN; any content
 * @size: Bytes of the buffer
 * @text: Gets a line per packet; the last line is cut off, and printing ends, when @text is full
 *
 * Context: any.
 * Return: number of packets printed, or -EINVAL after a line that says where the first malformed
 * packet is and what is wrong with it.
 */
int pagoda_paging_print(const void *data, u32 size, struct pagoda_paging_text *text)
{
	const struct pagoda_paging_row *row;
	const char *why;
	int packets = 0;
	u32 offset = 0;

	while (offset < size && text->len + 1 < text->size) {
		const struct virtio_pagoda_packet *packet = data + offset;

		row = pagoda_packet_check(packet, size - offset, &why);
		if (!row) {
			pagoda_text_add(text, "0x%04x malformed: %s\n", offset, why);
			return -EINVAL;
		}
		pagoda_text_add(text, "0x%04x %s alloc=%llu", offset, row->name,
				(unsigned long long)le64_to_cpu(packet->allocation));
		row->print(text, packet);
		pagoda_text_add(text, "\n");
		offset += le32_to_cpu(packet->length);
		packets++;
	}
	return packets;
}
