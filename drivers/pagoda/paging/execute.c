// SPDX-License-Identifier: GPL-2.0
/*
 * Execution of paging buffers by the CPU, without the device.
 *
 * A buffer may have been damaged since it was built, and the offset to start at comes from the
 * device: pagoda_packet_check() finds each packet complete before its operation is executed.
 */
#include <linux/errno.h>
#include <asm/byteorder.h>
#include "cpu/cpu.h"
#include "table.h"

/* Returns the private data of the packet at @offset, or NULL; *@index only moves forward. */
static const struct pagoda_paging_private *
cpu_private(const struct pagoda_paging_private *priv, u32 nr_priv, u32 *index, u32 offset)
{
	while (*index < nr_priv && priv[*index].offset < offset)
		(*index)++;
	if (*index < nr_priv && priv[*index].offset == offset)
		return &priv[*index];
	return NULL;
}

/* Returns why there is no packet: the opcode is checked before the length. */
static u32 cpu_head_reason(const struct virtio_pagoda_packet *packet)
{
	return pagoda_paging_row(le16_to_cpu(packet->opcode)) ? VIRTIO_PAGODA_FAULT_BAD_LENGTH :
								VIRTIO_PAGODA_FAULT_BAD_OPCODE;
}

/*
 * Executes the packets from @start on; @stopped_at as in pagoda_cpu_execute(). Returns a fault
 * reason.
 */
static u32 cpu_buffer_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
			      u32 start, const struct pagoda_paging_private *priv, u32 nr_priv,
			      u32 *stopped_at)
{
	u32 offset, next, index = 0, reason;

	if (start > size || size % VIRTIO_PAGODA_PACKET_ALIGN)
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	for (offset = 0; offset < size; offset = next) {
		const struct virtio_pagoda_packet *packet = data + offset;
		struct pagoda_cpu_packet cpu = { .exec = exec, .data = packet };
		const struct pagoda_paging_private *own;
		const struct pagoda_paging_row *row;
		const char *why;

		row = pagoda_packet_check(packet, size - offset, &why);
		if (!row)
			return offset < start ? VIRTIO_PAGODA_FAULT_BAD_BUFFER :
						cpu_head_reason(packet);
		next = offset + le32_to_cpu(packet->length);
		if (offset < start && next > start)
			return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
		if (offset < start)
			continue;
		own = cpu_private(priv, nr_priv, &index, offset);
		if (own) {
			cpu.src_pages = own->src_pages;
			cpu.dst_pages = own->dst_pages;
		}
		reason = row->execute(&cpu);
		if (reason)
			return reason;
		*stopped_at = next;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns the errno for a fault reason, as pagoda_cpu_execute() documents it. */
static int cpu_error(u32 reason)
{
	switch (reason) {
	case VIRTIO_PAGODA_FAULT_NONE:
		return 0;
	case VIRTIO_PAGODA_FAULT_UNSUPPORTED:
		return -EOPNOTSUPP;
	case VIRTIO_PAGODA_FAULT_OUT_OF_RANGE:
	case VIRTIO_PAGODA_FAULT_UNREACHABLE:
	case VIRTIO_PAGODA_FAULT_STALE_GENERATION:
	case VIRTIO_PAGODA_FAULT_INVALID_ENTRY:
	case VIRTIO_PAGODA_FAULT_READ_ONLY:
	case VIRTIO_PAGODA_FAULT_BAD_TABLE:
	case VIRTIO_PAGODA_FAULT_NOT_MAPPED:
		return -EFAULT;
	default:
		return -EINVAL;
	}
}

/**
 * pagoda_cpu_execute() - Execute a paging buffer on the CPU
 * @exec: Memory, and the CPU's copy of the aperture, which MAP and UNMAP change
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @size: Bytes built
 * @start: Offset of the first packet to execute; packets before it are skipped
 * @priv: Private data of the buffer, from its beginning
 * @priv_size: Bytes of @priv
 * @stopped_at: Set to the offset of the first packet not executed, @size if there is none
 *
 * A refused packet has no effect; @exec->reason is set to the fault reason that the device
 * would have reported. Values of monitored fences are written, but waiters aren't woken: the
 * caller has to do that.
 *
 * Context: as the callbacks of @exec allow. One call at a time for one @exec, and no other
 * writer of that memory.
 * Return: 0; -EFAULT for memory that isn't there or that the CPU can't reach, -EOPNOTSUPP for
 * an operation that the CPU doesn't execute, -EINVAL for other errors in a packet or @start.
 */
int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at)
{
	u32 nr_priv = priv ? priv_size / sizeof(struct pagoda_paging_private) : 0;

	*stopped_at = start;
	exec->reason = cpu_buffer_execute(exec, data, size, start, priv, nr_priv, stopped_at);
	return cpu_error(exec->reason);
}
