// SPDX-License-Identifier: GPL-2.0
/*
 * The shape of a packet in bytes that anybody may have written. Printer and CPU
 * executor look at fields only after this found that all of them are there.
 */
#include "emit.h"
#include "table.h"

/**
 * pagoda_packet_check() - Is there a whole packet?
 * @data: Bytes, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @left: How many
 * @why: Set when there is none
 *
 * Context: any.
 * Return: the row of a packet whose length is what its counts call for, or NULL.
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
