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
int pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size)
{
	if (!exec->vram || !size || !pagoda_within(address, size, exec->vram_size))
		return -EFAULT;
	return 0;
}

/* Do all pages of the range lead somewhere, and with that generation? */
int pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation)
{
	u64 first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 limit = exec->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
	u64 page, end;

	if (generation > VIRTIO_PAGODA_MAX_GENERATION)
		return -EINVAL;
	if (!exec->aperture || !size || !pagoda_within(address, size, limit))
		return -EFAULT;
	end = pagoda_pages(address + size);
	for (page = first; page < end; page++) {
		u32 mapped = exec->generations ? exec->generations[page] : 0;

		if (!exec->aperture[page])
			return -EFAULT;
		if (generation && mapped && mapped != generation)
			return -EFAULT;
	}
	return 0;
}

/* Are the runs well-formed and together exactly that many pages? */
int pagoda_cpu_runs_check(const struct virtio_pagoda_run *runs, u32 nr_runs, u64 nr_pages)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < nr_runs; i++) {
		if (!runs[i].nr_pages || runs[i].reserved)
			return -EINVAL;
		if (le64_to_cpu(runs[i].address) & PAGODA_PAGE_MASK)
			return -EINVAL;
		sum += le32_to_cpu(runs[i].nr_pages);
	}
	return nr_runs && sum == nr_pages ? 0 : -EINVAL;
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

static int pagoda_cpu_packet_execute(struct pagoda_cpu_executor *exec,
				     const struct pagoda_paging_row *row, const void *data,
				     const struct pagoda_paging_private *priv)
{
	struct pagoda_cpu_packet packet = {
		.exec = exec,
		.data = data,
		.src_pages = priv ? priv->src_pages : NULL,
		.dst_pages = priv ? priv->dst_pages : NULL,
	};

	if (!row->execute)
		return -EOPNOTSUPP;
	return row->execute(&packet);
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
 * A packet that is refused had no effect. Monitored fences are written, but
 * nobody is told: that is left to the caller.
 *
 * Context: as the callbacks of @exec allow. One call at a time for one @exec,
 * and nothing else that writes the same memory.
 * Return: 0; -EINVAL for a malformed packet or @start, -EFAULT for memory that
 *	isn't there or that the CPU can't reach, -EOPNOTSUPP for an operation it
 *	doesn't execute.
 */
int pagoda_cpu_execute(struct pagoda_cpu_executor *exec, const void *data, u32 size,
		       u32 start, const void *priv, u32 priv_size, u32 *stopped_at)
{
	u32 nr_priv = priv ? priv_size / sizeof(struct pagoda_paging_private) : 0;
	u32 offset = 0, index = 0;

	*stopped_at = start;
	if (start > size)
		return -EINVAL;
	while (offset < size) {
		const struct virtio_pagoda_packet *packet = data + offset;
		const struct pagoda_paging_row *row;
		const char *why;
		u32 next;
		int ret;

		row = pagoda_packet_check(packet, size - offset, &why);
		if (!row)
			return -EINVAL;
		next = offset + le32_to_cpu(packet->length);
		if (offset < start) {
			if (next > start)
				return -EINVAL;
		} else {
			ret = pagoda_cpu_packet_execute(exec, row, packet,
							pagoda_cpu_private(priv, nr_priv, &index,
									   offset));
			if (ret)
				return ret;
			*stopped_at = next;
		}
		offset = next;
	}
	return 0;
}
