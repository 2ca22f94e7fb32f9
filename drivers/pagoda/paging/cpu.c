// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU executor: runs paging buffers without the device. It is the fallback
 * when the device fails, the way to resume, and the model the device's engine is
 * compared with; so it shares no code with that.
 *
 * A buffer may have been damaged since it was built, and where to start comes
 * from the device: every packet is checked as if a stranger had written it, and
 * all of it before its first effect. System memory is reached through the struct
 * pages in the private data and never through the bus addresses of the runs,
 * which needn't mean anything to the CPU (C66).
 */
#include <linux/minmax.h>

#include "cpu.h"
#include "table.h"

/* Is the range in the VRAM that the CPU reaches? */
u32 pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size)
{
	if (!exec->vram)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	return size && pagoda_within(address, size, exec->vram_size) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

/* Do all pages of the range lead somewhere, and with that generation? */
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

/* The private data of the packet at @offset; *@index moves forward only. */
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

/* Why there is no packet: the opcode is looked at before the length. */
static u32 pagoda_cpu_head_reason(const struct virtio_pagoda_packet *packet)
{
	return pagoda_paging_row(le16_to_cpu(packet->opcode)) ? VIRTIO_PAGODA_FAULT_BAD_LENGTH :
								VIRTIO_PAGODA_FAULT_BAD_OPCODE;
}

/* Packets from @start on; @stopped_at as in pagoda_cpu_execute(). */
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

/* Memory that isn't there, an operation that isn't there, or a packet that is wrong. */
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
 * @start: Offset of the first packet to execute; the ones before it are skipped
 * @priv: Private data of the buffer, from its beginning
 * @priv_size: Its bytes
 * @stopped_at: Set to the offset of the first packet not executed whole, @size
 *	if there is none
 *
 * A packet that is refused had no effect; why it was is left in @exec, with the reason
 * the device would have given. Monitored fences are written, but nobody is told: that is
 * left to the caller.
 *
 * Context: as the callbacks of @exec allow. One call at a time for one @exec,
 * and nothing else that writes the same memory.
 * Return: 0; -EFAULT for memory that isn't there or that the CPU can't reach,
 *	-EOPNOTSUPP for an operation it doesn't execute, -EINVAL for whatever else is
 *	wrong with a packet or @start.
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
