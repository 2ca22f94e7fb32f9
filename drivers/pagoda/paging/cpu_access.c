// SPDX-License-Identifier: GPL-2.0
/* CPU executor: READ_PHYSICAL, WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE, NOTIFY_ALLOC. */
#include <linux/compiler.h>
#include <asm/barrier.h>

#include "cpu.h"
#include "table.h"

/* Checks and prepares a naturally aligned access that so lies within one page. */
static int pagoda_access_prepare(const struct pagoda_cpu_packet *cpu, u32 segment, u64 address,
				 u32 size, const void *pages, struct pagoda_cpu_side *side)
{
	struct pagoda_cpu_executor *exec = cpu->exec;
	int ret;

	if (address & (size - 1))
		return -EINVAL;
	*side = (struct pagoda_cpu_side) { .exec = exec };
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->pages = pages;
		return pages ? 0 : -EFAULT;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		ret = pagoda_cpu_vram_check(exec, address, size);
		if (!ret)
			side->vram = exec->vram + (address & ~PAGODA_PAGE_MASK);
		return ret;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		side->pages = exec->aperture;
		side->first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
		return pagoda_cpu_aperture_check(exec, address, size, 0);
	default:
		return -EINVAL;
	}
}

static int pagoda_physical_prepare(const struct pagoda_cpu_packet *cpu, const void *pages,
				   struct pagoda_cpu_side *side)
{
	const struct virtio_pagoda_access_physical *access = cpu->data;
	u32 size = le32_to_cpu(access->size);

	if (access->packet.flags || !size || size > 8 || size & (size - 1))
		return -EINVAL;
	return pagoda_access_prepare(cpu, le32_to_cpu(access->segment),
				     le64_to_cpu(access->address), size, pages, side);
}

int pagoda_read_physical_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_access_physical *access = cpu->data;
	struct pagoda_cpu_side side;
	u8 *page, *at;
	int ret;

	ret = pagoda_physical_prepare(cpu, cpu->src_pages, &side);
	if (ret)
		return ret;
	page = pagoda_cpu_side_map(&side, 0);
	at = page + (le64_to_cpu(access->address) & PAGODA_PAGE_MASK);
	switch (le32_to_cpu(access->size)) {
	case 1:
		(void)READ_ONCE(*at);
		break;
	case 2:
		(void)READ_ONCE(*(u16 *)at);
		break;
	case 4:
		(void)READ_ONCE(*(u32 *)at);
		break;
	case 8:
		(void)READ_ONCE(*(u64 *)at);
		break;
	}
	pagoda_cpu_side_unmap(&side, page);
	return 0;
}

int pagoda_write_physical_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_access_physical *access = cpu->data;
	struct pagoda_cpu_side side;
	u8 *page, *at;
	int ret;

	ret = pagoda_physical_prepare(cpu, cpu->dst_pages, &side);
	if (ret)
		return ret;
	page = pagoda_cpu_side_map(&side, 0);
	at = page + (le64_to_cpu(access->address) & PAGODA_PAGE_MASK);
	switch (le32_to_cpu(access->size)) {
	case 1:
		WRITE_ONCE(*at, 0);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)at, 0);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)at, 0);
		break;
	case 8:
		WRITE_ONCE(*(u64 *)at, 0);
		break;
	}
	pagoda_cpu_side_unmap(&side, page);
	return 0;
}

int pagoda_signal_fence_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = cpu->data;
	u64 address = le64_to_cpu(signal->address);
	u32 flags = le16_to_cpu(signal->packet.flags);
	struct pagoda_cpu_side side;
	u8 *page;
	int ret;

	if (flags & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		return -EOPNOTSUPP;
	if (flags & ~VIRTIO_PAGODA_SIGNAL_EVENT || signal->reserved)
		return -EINVAL;
	ret = pagoda_access_prepare(cpu, le32_to_cpu(signal->segment), address,
				    sizeof(signal->value), cpu->dst_pages, &side);
	if (ret)
		return ret;
	page = pagoda_cpu_side_map(&side, 0);
	/* Whoever sees the value sees what came before it (C116), never half of it (C117). */
	smp_wmb();
	WRITE_ONCE(*(__le64 *)(page + (address & PAGODA_PAGE_MASK)), signal->value);
	pagoda_cpu_side_unmap(&side, page);
	return 0;
}

/* The CPU keeps nothing of an allocation that it would have to write back. */
int pagoda_notify_alloc_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_notify_alloc *notify = cpu->data;
	u32 flags = le16_to_cpu(notify->packet.flags);
	u64 offset = le64_to_cpu(notify->offset), size = le64_to_cpu(notify->size);

	if (flags != VIRTIO_PAGODA_NOTIFY_EVICTION && flags != VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP)
		return -EINVAL;
	if (flags == VIRTIO_PAGODA_NOTIFY_EVICTION && notify->process)
		return -EINVAL;
	if (!notify->packet.allocation || !size || (offset | size) & PAGODA_PAGE_MASK)
		return -EINVAL;
	return pagoda_within(offset, size, U64_MAX) ? 0 : -EINVAL;
}
