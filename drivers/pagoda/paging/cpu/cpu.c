// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU executor: executes paging buffers without the device. It is the fallback when the
 * device fails, resumes after a suspend, and is the model that the device's engine is compared
 * with; therefore the two share no code.
 *
 * A buffer may have been damaged since it was built, and the offset to start at comes from the
 * device: every packet is checked like untrusted input, and completely before its first effect.
 * System memory is reached through the struct pages in the private data and never through the
 * bus addresses of the runs, which needn't mean anything to the CPU (C66).
 */
#include <linux/minmax.h>
#include "paging/table.h"
#include "cpu.h"

/* Checks that the CPU can reach a range of VRAM. Returns a fault reason. */
u32 pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size)
{
	if (!exec->vram)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	return size && pagoda_within(address, size, exec->vram_size) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

/*
 * Checks that all pages of an aperture range are mapped, and none by another generation than
 * @generation; 0 matches any generation. Returns a fault reason.
 */
u32 pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation)
{
	u64 first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 limit = exec->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
	u64 page, end;

	if (!exec->aperture)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	if (!size || !pagoda_within(address, size, limit))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	end = pagoda_pages(address + size);
	for (page = first; page < end; page++) {
		u32 mapped = exec->generations ? exec->generations[page] : 0;

		if (!exec->aperture[page])
			return VIRTIO_PAGODA_FAULT_UNREACHABLE;
		if (generation && mapped && mapped != generation)
			return VIRTIO_PAGODA_FAULT_STALE_GENERATION;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns the private data of the packet at @offset, or NULL; *@index only moves forward. */
static const struct pagoda_paging_private *
pagoda_cpu_private(const struct pagoda_paging_private *priv, u32 nr_priv, u32 *index, u32 offset)
{
	while (*index < nr_priv && priv[*index].offset < offset)
		(*index)++;
	if (*index < nr_priv && priv[*index].offset == offset)
		return &priv[*index];
	return NULL;
}

static u32 pagoda_cpu_packet_execute(struct pagoda_cpu_executor *exec,
				     const struct pagoda_paging_row *row, const void *data,
				     const struct pagoda_paging_private *priv)
{
	struct pagoda_cpu_packet packet = {
		.exec = exec,
		.data = data,
		.src_pages = priv ? priv->src_pages : NULL,
		.dst_pages = priv ? priv->dst_pages : NULL,
	};

	return row->execute(&packet);
}

/* Returns why there is no packet: the opcode is checked before the length. */
static u32 pagoda_cpu_head_reason(const struct virtio_pagoda_packet *packet)
{
	return pagoda_paging_row(le16_to_cpu(packet->opcode)) ? VIRTIO_PAGODA_FAULT_BAD_LENGTH :
								VIRTIO_PAGODA_FAULT_BAD_OPCODE;
}

/*
 * Executes the packets from @start on; @stopped_at as in pagoda_cpu_execute(). Returns a fault
 * reason.
 */
static u32 pagoda_cpu_buffer_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
				     u32 start, const struct pagoda_paging_private *priv,
				     u32 nr_priv, u32 *stopped_at)
{
	u32 offset, next, index = 0, reason;

	if (start > size || size % VIRTIO_PAGODA_PACKET_ALIGN)
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	for (offset = 0; offset < size; offset = next) {
		const struct virtio_pagoda_packet *packet = data + offset;
		const struct pagoda_paging_row *row;
		const char *why;

		row = pagoda_packet_check(packet, size - offset, &why);
		if (!row)
			return offset < start ? VIRTIO_PAGODA_FAULT_BAD_BUFFER :
						pagoda_cpu_head_reason(packet);
		next = offset + le32_to_cpu(packet->length);
		if (offset < start && next > start)
			return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
		if (offset < start)
			continue;
		reason = pagoda_cpu_packet_execute(exec, row, packet,
						   pagoda_cpu_private(priv, nr_priv, &index,
								      offset));
		if (reason)
			return reason;
		*stopped_at = next;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns the errno for a fault reason, as pagoda_cpu_execute() documents it. */
static int pagoda_cpu_error(u32 reason)
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
	exec->reason = pagoda_cpu_buffer_execute(exec, data, size, start, priv, nr_priv,
						 stopped_at);
	return pagoda_cpu_error(exec->reason);
}
