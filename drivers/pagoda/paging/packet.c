// SPDX-License-Identifier: GPL-2.0
/*
 * Shape of a packet in untrusted bytes. Printer and CPU executor read fields only after the
 * check here found the packet complete.
 */
#include "emit.h"
#include "table.h"

/**
 * pagoda_packet_check() - Check that bytes begin with a complete packet
 * @data: Bytes, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @left: Number of bytes
 * @why: Set to a constant text if there is no complete packet
 *
 * Context: any.
 * Return: the row of a packet that has the length its counts call for, or NULL.
 */
const struct pagoda_paging_row *pagoda_packet_check(const void *data, u32 left,
						    const char **why)
{
	const struct virtio_pagoda_packet *packet = data;
	const struct pagoda_paging_row *row;
	u32 length;
	u64 tail;

	*why = "packet head cut off";
	if (left < sizeof(*packet))
		return NULL;
	*why = "unknown opcode";
	row = pagoda_paging_row(le16_to_cpu(packet->opcode));
	if (!row)
		return NULL;
	*why = "packet longer than the buffer";
	length = le32_to_cpu(packet->length);
	if (length > left)
		return NULL;
	*why = "packet length";
	if (length < sizeof(*packet) || length % VIRTIO_PAGODA_PACKET_ALIGN || length < row->head)
		return NULL;
	tail = row->tail ? row->tail(data) : 0;
	if (length != row->head + tail)
		return NULL;
	return row;
}
