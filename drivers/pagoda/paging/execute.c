// SPDX-License-Identifier: GPL-2.0
/*
 * Execution of paging buffers by the CPU, without the device.
 *
 * Buffers are untrusted: memory may have been damaged since a buffer was built, and the offset at
 * which execution goes on after a failure comes from the device. pagoda_packet_check() checks
 * opcode and length of each packet.
 */
#include <linux/errno.h>
#include <asm/byteorder.h>
#include "cpu/cpu.h"
#include "table.h"

/*
 * Returns the private data of the packet at @offset, NULL if there is none. Searches from element
 * *@index on, and moves *@index forward.
 */
static const struct pagoda_paging_private *
cpu_private(const struct pagoda_paging_private *priv, u32 nr_priv, u32 *index, u32 offset)
{
	while (*index < nr_priv && priv[*index].offset < offset)
		(*index)++;
	if (*index < nr_priv && priv[*index].offset == offset)
		return &priv[*index];
	return NULL;
}

/* Returns the fault reason for a packet whose opcode or length pagoda_packet_check() refused. */
static u32 cpu_head_reason(const struct virtio_pagoda_packet *packet)
{
	return pagoda_paging_row(le16_to_cpu(packet->opcode)) ? VIRTIO_PAGODA_FAULT_BAD_LENGTH :
								VIRTIO_PAGODA_FAULT_BAD_OPCODE;
}

/*
 * Executes the packets from offset @start on, and sets *@stopped_at, unchanged if no packet was
 * executed, to the end of the last packet that was executed. Returns VIRTIO_PAGODA_FAULT_NONE, or
 * the fault reason for which a packet, @size or @start was refused.
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
 * @exec: Memory, and the CPU's copy of the aperture, which map and unmap operations change
 * @data: The buffer, aligned to %VIRTIO_PAGODA_PACKET_ALIGN
 * @size: Bytes of @data that hold packets
 * @start: Offset of the first packet to execute
 * @priv: Private data of all packets of the buffer, or NULL
 * @priv_size: Bytes of @priv
 * @stopped_at: Set to the offset of the first packet not executed, @size if there is none
 *
 * Stops at the first packet that is refused. That packet has had no effect, unless it overwrote the
 * page tables of its own addresses. Sets @exec->reason to 0 if all packets were executed, else to
 * the fault reason that the device would have reported; or, if only the CPU can't execute the
 * packet, to UNREACHABLE, BAD_TABLE or UNSUPPORTED. Values of monitored fences are written; to wake
 * their waiters is up to the caller.
 *
 * Context: as the callbacks of @exec allow. The caller excludes other calls with @exec, and
 * other writers of the memory that the packets name.
 * Return: 0; -EFAULT for memory that is outside a segment, isn't mapped, is mapped read-only or
 * with another generation than the packet names, or can't be reached by the CPU, and for malformed
 * page tables; -EOPNOTSUPP for an operation that the CPU doesn't execute, -EINVAL for other errors
 * in a packet, @size or @start.
 */
int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at)
{
	u32 nr_priv = priv ? priv_size / sizeof(struct pagoda_paging_private) : 0;

	*stopped_at = start;
	exec->reason = cpu_buffer_execute(exec, data, size, start, priv, nr_priv, stopped_at);
	return cpu_error(exec->reason);
}
