// SPDX-License-Identifier: GPL-2.0
/*
 * Notices: operations that only tell the GPU where allocations and fences are, or what happens to
 * an allocation next: NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2, NOTIFY_FENCE_RESIDENCY and NOTIFY_ALLOC.
 * This GPU caches no state of allocations and fences: the engine only checks a notice and passes
 * the notice to ops->notify().
 */
#include "internal.h"

/*
 * Passes a notice, a packet that only informs the GPU, to ops->notify(); not if an injected failure
 * stops the packet in the middle (exec->half), as a notice has no middle. Returns 0.
 */
u32 pagoda_engine_notify_execute(struct pagoda_exec *exec, const void *packet)
{
	struct pagoda_engine *engine = exec->engine;

	if (engine->ops->notify && !exec->half)
		engine->ops->notify(engine->context, packet);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks the place of a resident allocation: @nr_pages pages at @address of @segment. Returns a
 * fault reason or 0.
 */
static u32 notify_place_check(struct pagoda_exec *exec, u32 segment, u64 address, u64 nr_pages)
{
	u32 reason = VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	u64 limit;

	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		limit = pagoda_engine_mmu_limit(exec, &reason);
		break;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		limit = exec->engine->vram_size;
		break;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		limit = exec->engine->aperture_pages * PAGODA_PAGE;
		break;
	default:
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment);
	}
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address);
	if (nr_pages > limit / PAGODA_PAGE || address > limit - nr_pages * PAGODA_PAGE)
		return pagoda_refuse(exec, reason, address);
	if (segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_engine_vram_check(exec, address, nr_pages * PAGODA_PAGE,
						VIRTIO_PAGODA_ACCESS_NONE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks a NOTIFY_RESIDENCY or NOTIFY_RESIDENCY2; if it says that an allocation is resident, also
 * the place of @nr_pages pages. Returns a fault reason or 0.
 */
static u32 residency_check(struct pagoda_exec *exec,
			   const struct virtio_pagoda_notify_residency *notify, u64 nr_pages)
{
	u32 segment = le32_to_cpu(notify->segment);
	u64 address = le64_to_cpu(notify->address);

	if (notify->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(notify->reserved));
	if (!notify->packet.allocation)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (le16_to_cpu(notify->packet.flags) & VIRTIO_PAGODA_NOTIFY_RESIDENT)
		return notify_place_check(exec, segment, address, nr_pages);
	if (address || segment)		/* C115: an evicted allocation has no place */
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     address ? address : segment);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_residency_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_notify_residency *notify = packet;

	if (notify->offset || notify->nr_pages)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le64_to_cpu(notify->offset ? notify->offset :
								  notify->nr_pages));
	/* NOTIFY_RESIDENCY doesn't tell the number of pages: check the first page only. */
	return residency_check(exec, notify, 1);
}

u32 pagoda_engine_residency2_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_notify_residency *notify = packet;
	u64 nr_pages = le64_to_cpu(notify->nr_pages);
	u64 offset = le64_to_cpu(notify->offset);
	u64 most = ~0ull / PAGODA_PAGE;

	if (!nr_pages || nr_pages > most || offset > most - nr_pages)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE,
				     !nr_pages || nr_pages > most ? nr_pages : offset);
	return residency_check(exec, notify, nr_pages);
}

u64 pagoda_engine_fence_residency_tail(const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;

	return (u64)le32_to_cpu(notify->nr_fences) * sizeof(struct virtio_pagoda_fence_residency);
}

/*
 * Checks the system memory address of a fence's value; 0 = the value isn't resident. Returns a
 * fault reason or 0.
 */
static u32 fence_value_check(struct pagoda_exec *exec, u64 address, u32 access)
{
	u8 *here;

	if (!address)
		return VIRTIO_PAGODA_FAULT_NONE;
	if (!IS_ALIGNED(address, 8))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address, access);
	return pagoda_engine_address_resolve(exec, VIRTIO_PAGODA_SEGMENT_SYSTEM, address, 8,
					     access, &here);
}

u32 pagoda_engine_fence_residency_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;
	const struct virtio_pagoda_fence_residency *fences = (const void *)(notify + 1);
	u32 nr_fences = le32_to_cpu(notify->nr_fences);
	u32 i, reason;

	if (notify->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(notify->reserved));
	if (!nr_fences)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	for (i = 0; i < nr_fences; i++) {
		reason = fence_value_check(exec, le64_to_cpu(fences[i].current_value),
					   VIRTIO_PAGODA_ACCESS_WRITE);
		if (!reason)
			reason = fence_value_check(exec, le64_to_cpu(fences[i].monitored_value),
						   VIRTIO_PAGODA_ACCESS_READ);
		if (reason)
			return reason;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_notify_alloc_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_notify_alloc *notify = packet;
	u16 flags = le16_to_cpu(notify->packet.flags);
	u64 offset = le64_to_cpu(notify->offset);
	u64 size = le64_to_cpu(notify->size);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u64 value = 0;

	if (flags != VIRTIO_PAGODA_NOTIFY_EVICTION && flags != VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP) {
		reason = VIRTIO_PAGODA_FAULT_BAD_FLAGS;	/* C118: exactly one flag must be set */
		value = flags;
	} else if (flags == VIRTIO_PAGODA_NOTIFY_EVICTION && notify->process) {
		reason = VIRTIO_PAGODA_FAULT_RESERVED;
		value = le64_to_cpu(notify->process);
	} else if (!IS_ALIGNED(offset, PAGODA_PAGE)) {
		reason = VIRTIO_PAGODA_FAULT_MISALIGNED;
		value = offset;
	} else if (!IS_ALIGNED(size, PAGODA_PAGE)) {
		reason = VIRTIO_PAGODA_FAULT_MISALIGNED;
		value = size;
	} else if (!notify->packet.allocation || !size || offset + size < size) {
		reason = VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
		value = offset;
	}
	return reason ? pagoda_refuse(exec, reason, value) : reason;
}
