// SPDX-License-Identifier: GPL-2.0
/* CPU executor: TRANSFER, FILL, DISCARD_CONTENT. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "cpu.h"
#include "table.h"

/* Fields of one side that must be zero where they mean nothing. */
static int pagoda_location_check(const struct virtio_pagoda_location *location)
{
	u32 segment = le32_to_cpu(location->segment);

	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT || location->reserved)
		return -EINVAL;
	if (location->generation && segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return -EINVAL;
	if (segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return location->address ? -EINVAL : 0;
	return location->nr_runs || le64_to_cpu(location->address) & PAGODA_PAGE_MASK ? -EINVAL : 0;
}

/* Checks one side and prepares it for copying. */
static int pagoda_side_prepare(struct pagoda_cpu_executor *exec,
			       const struct virtio_pagoda_location *location, u64 size,
			       const struct virtio_pagoda_run *runs, const void *pages,
			       struct pagoda_cpu_side *side)
{
	u64 address = le64_to_cpu(location->address);
	int ret = pagoda_location_check(location);

	if (ret)
		return ret;
	*side = (struct pagoda_cpu_side) { .exec = exec };
	switch (le32_to_cpu(location->segment)) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->pages = pages;
		ret = pagoda_cpu_runs_check(runs, le32_to_cpu(location->nr_runs),
					    pagoda_pages(size));
		return ret || pages ? ret : -EFAULT;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		ret = pagoda_cpu_vram_check(exec, address, size);
		if (!ret)
			side->vram = exec->vram + address;
		return ret;
	default:
		side->pages = exec->aperture;
		side->first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
		return pagoda_cpu_aperture_check(exec, address, size,
						 le32_to_cpu(location->generation));
	}
}

static bool pagoda_runs_meet(const struct virtio_pagoda_run *a, const struct virtio_pagoda_run *b)
{
	u64 a_page = le64_to_cpu(a->address) >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 b_page = le64_to_cpu(b->address) >> VIRTIO_PAGODA_PAGE_SHIFT;

	return a_page < b_page ? b_page - a_page < le32_to_cpu(a->nr_pages) :
				 a_page - b_page < le32_to_cpu(b->nr_pages);
}

/* Does the packet itself say that source and destination share bytes? */
static bool pagoda_transfer_overlaps(const struct virtio_pagoda_transfer *transfer)
{
	const struct virtio_pagoda_run *src = (const void *)(transfer + 1), *s, *d;
	const struct virtio_pagoda_run *dst = src + le32_to_cpu(transfer->src.nr_runs);
	const struct virtio_pagoda_run *end = dst + le32_to_cpu(transfer->dst.nr_runs);
	u64 from = le64_to_cpu(transfer->src.address), to = le64_to_cpu(transfer->dst.address);

	if (transfer->src.segment != transfer->dst.segment)
		return false;
	if (le32_to_cpu(transfer->src.segment) != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return max(from, to) - min(from, to) < le64_to_cpu(transfer->size);
	for (s = src; s < dst; s++) {
		for (d = dst; d < end; d++) {
			if (pagoda_runs_meet(s, d))
				return true;
		}
	}
	return false;
}

static int pagoda_transfer_check(const struct virtio_pagoda_transfer *transfer)
{
	u32 tiling = VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	u32 flags = le16_to_cpu(transfer->packet.flags);
	u64 size = le64_to_cpu(transfer->size);

	if (flags & ~(tiling | VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END))
		return -EINVAL;
	if (flags & tiling)
		return -EOPNOTSUPP;
	return size && size % 4 == 0 ? 0 : -EINVAL;
}

/* Neither side is consecutive for the CPU, or only one: page by page. */
static void pagoda_copy_pages(const struct pagoda_cpu_side *dst, const struct pagoda_cpu_side *src,
			      u64 size)
{
	u64 done;

	for (done = 0; done < size; done += VIRTIO_PAGODA_PAGE_SIZE) {
		size_t bytes = min_t(u64, size - done, VIRTIO_PAGODA_PAGE_SIZE);
		u8 *from = pagoda_cpu_side_map(src, done);
		u8 *to = pagoda_cpu_side_map(dst, done);

		/* Two unmapped aperture pages are the same dummy page (C58). */
		if (from != to)
			memcpy(to, from, bytes);
		pagoda_cpu_side_unmap(dst, to);
		pagoda_cpu_side_unmap(src, from);
	}
}

int pagoda_transfer_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_transfer *transfer = cpu->data;
	const struct virtio_pagoda_run *runs = (const void *)(transfer + 1);
	u64 size = le64_to_cpu(transfer->size);
	struct pagoda_cpu_side src, dst;
	int ret;

	ret = pagoda_transfer_check(transfer);
	if (!ret)
		ret = pagoda_side_prepare(cpu->exec, &transfer->src, size, runs, cpu->src_pages,
					  &src);
	if (!ret)
		ret = pagoda_side_prepare(cpu->exec, &transfer->dst, size,
					  runs + le32_to_cpu(transfer->src.nr_runs),
					  cpu->dst_pages, &dst);
	if (!ret && pagoda_transfer_overlaps(transfer))
		ret = -EINVAL;
	if (ret)
		return ret;
	if (src.vram && dst.vram)
		memcpy(dst.vram, src.vram, size);
	else
		pagoda_copy_pages(&dst, &src, size);
	return 0;
}

int pagoda_fill_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_fill *fill = cpu->data;
	u64 address = le64_to_cpu(fill->address), size = le64_to_cpu(fill->size);
	u32 pattern = le32_to_cpu(fill->pattern);
	int ret;

	if (fill->packet.flags || !size || size % 4 || address % 4)
		return -EINVAL;
	if (le32_to_cpu(fill->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return -EINVAL;
	ret = pagoda_cpu_vram_check(cpu->exec, address, size);
	if (ret)
		return ret;
	if (pattern == 0x01010101u * (u8)pattern)
		memset(cpu->exec->vram + address, (u8)pattern, size);
	else
		memset32((u32 *)(cpu->exec->vram + address), (__force u32)fill->pattern, size / 4);
	return 0;
}

/* The bytes are undefined afterwards: what they were will do (C46). */
int pagoda_discard_content_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_discard_content *discard = cpu->data;
	u64 address = le64_to_cpu(discard->address), size = le64_to_cpu(discard->size);

	if (discard->packet.flags || discard->reserved || !size ||
	    (address | size) & PAGODA_PAGE_MASK)
		return -EINVAL;
	if (le32_to_cpu(discard->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return -EINVAL;
	return pagoda_cpu_vram_check(cpu->exec, address, size);
}
