// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2, NOTIFY_FENCE_RESIDENCY and NOTIFY_ALLOC.
 * The CPU executor keeps no state of allocations and fences: these functions only check the packet.
 */
#include <linux/minmax.h>
#include "internal.h"

/*
 * Checks that the range of pages is page aligned and inside the segment, whether mapped or not.
 * Returns a fault reason or 0.
 */
static u32 place_check(const struct pagoda_cpu_executor *exec, u32 segment, u64 address,
		       u64 nr_pages)
{
	u32 reason = VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	u64 limit;

	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		reason = exec->mmu ? VIRTIO_PAGODA_FAULT_NOT_MAPPED :
				     VIRTIO_PAGODA_FAULT_UNREACHABLE;
		limit = exec->mmu ? exec->mmu_pages << VIRTIO_PAGODA_PAGE_SHIFT : U64_MAX;
		break;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		limit = exec->limits ? exec->limits->vram_size : U64_MAX;
		break;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		limit = exec->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
		break;
	default:
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	}
	if (address & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return nr_pages <= limit >> VIRTIO_PAGODA_PAGE_SHIFT &&
	       pagoda_within(address, nr_pages << VIRTIO_PAGODA_PAGE_SHIFT, limit) ?
	       VIRTIO_PAGODA_FAULT_NONE : reason;
}

/*
 * Checks offset and nr_pages of @notify: both have to be 0 in NOTIFY_RESIDENCY; in
 * NOTIFY_RESIDENCY2 they have to be a range that isn't empty and doesn't overflow. Returns 0 or a
 * fault reason.
 */
static u32 notify_pages_check(const struct virtio_pagoda_notify_residency *notify)
{
	u64 nr_pages = le64_to_cpu(notify->nr_pages), most = U64_MAX >> VIRTIO_PAGODA_PAGE_SHIFT;

	if (le16_to_cpu(notify->packet.opcode) == VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY)
		return nr_pages || notify->offset ? VIRTIO_PAGODA_FAULT_RESERVED :
						    VIRTIO_PAGODA_FAULT_NONE;
	return nr_pages && pagoda_within(le64_to_cpu(notify->offset), nr_pages, most) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

u32 pagoda_notify_residency_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_notify_residency *notify = cpu->data;
	u32 flags = le16_to_cpu(notify->packet.flags), reason;

	if (flags & ~VIRTIO_PAGODA_NOTIFY_RESIDENT)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = notify_pages_check(notify);
	if (reason)
		return reason;
	if (notify->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (!notify->packet.allocation)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (!flags)
		return notify->address || notify->segment ? VIRTIO_PAGODA_FAULT_RESERVED :
							    VIRTIO_PAGODA_FAULT_NONE;
	return place_check(cpu->exec, le32_to_cpu(notify->segment), le64_to_cpu(notify->address),
			   max_t(u64, le64_to_cpu(notify->nr_pages), 1));
}

static u32 fence_value_check(const struct pagoda_cpu_executor *exec, u64 address, bool write)
{
	if (address % 8)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return address ? pagoda_cpu_system_check(exec, address, 8, write) :
			 VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_notify_fences_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_notify_fence_residency *notify = cpu->data;
	const struct virtio_pagoda_fence_residency *fences = (const void *)(notify + 1);
	u32 nr_fences = le32_to_cpu(notify->nr_fences), i, reason = VIRTIO_PAGODA_FAULT_NONE;

	if (notify->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (notify->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (!nr_fences)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	for (i = 0; i < nr_fences && !reason; i++) {
		reason = fence_value_check(cpu->exec, le64_to_cpu(fences[i].current_value), true);
		if (!reason)
			reason = fence_value_check(cpu->exec,
						   le64_to_cpu(fences[i].monitored_value), false);
	}
	return reason;
}

u32 pagoda_notify_alloc_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_notify_alloc *notify = cpu->data;
	u32 flags = le16_to_cpu(notify->packet.flags);
	u64 offset = le64_to_cpu(notify->offset), size = le64_to_cpu(notify->size);

	if (flags != VIRTIO_PAGODA_NOTIFY_EVICTION && flags != VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (flags == VIRTIO_PAGODA_NOTIFY_EVICTION && notify->process)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if ((offset | size) & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return notify->packet.allocation && size && pagoda_within(offset, size, U64_MAX) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}
