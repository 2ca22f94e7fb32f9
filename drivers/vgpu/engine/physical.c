// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of a few bytes: READ_PHYSICAL, WRITE_PHYSICAL, the monitored fence,
 * and NOTIFY_ALLOC, which touches none.
 */
#include "internal.h"

static u32 pagoda_physical_validate(struct pagoda_exec *exec, const void *packet, u32 access)
{
	const struct virtio_pagoda_access_physical *physical = packet;
	u64 address = le64_to_cpu(physical->address);
	u32 size = le32_to_cpu(physical->size);
	u8 *here;

	if (!size || size > 8 || size & (size - 1))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, size, access);
	if (!IS_ALIGNED(address, size))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address, access);
	return pagoda_engine_address_resolve(exec, le32_to_cpu(physical->segment), address, size,
					     access, &here);
}

u32 pagoda_engine_physical_validate_read(struct pagoda_exec *exec, const void *packet)
{
	return pagoda_physical_validate(exec, packet, VIRTIO_PAGODA_ACCESS_READ);
}

u32 pagoda_engine_physical_validate_write(struct pagoda_exec *exec, const void *packet)
{
	return pagoda_physical_validate(exec, packet, VIRTIO_PAGODA_ACCESS_WRITE);
}

u32 pagoda_engine_physical_read(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_access_physical *physical = packet;
	u32 size = le32_to_cpu(physical->size);
	u32 reason;
	u8 *here;

	reason = pagoda_engine_address_resolve(exec, le32_to_cpu(physical->segment),
					       le64_to_cpu(physical->address), size,
					       VIRTIO_PAGODA_ACCESS_READ, &here);
	if (reason)
		return reason;
	switch (size) {
	case 1:
		(void)READ_ONCE(*here);
		break;
	case 2:
		(void)READ_ONCE(*(u16 *)here);
		break;
	case 4:
		(void)READ_ONCE(*(u32 *)here);
		break;
	default:
		(void)READ_ONCE(*(u64 *)here);
	}
	smp_mb();	/* C51: all earlier writes are visible to the CPU */
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_physical_write(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_access_physical *physical = packet;
	u32 size = le32_to_cpu(physical->size);
	u32 reason;
	u8 *here;

	reason = pagoda_engine_address_resolve(exec, le32_to_cpu(physical->segment),
					       le64_to_cpu(physical->address), size,
					       VIRTIO_PAGODA_ACCESS_WRITE, &here);
	if (reason)
		return reason;
	switch (size) {
	case 1:
		WRITE_ONCE(*here, 0);
		break;
	case 2:
		WRITE_ONCE(*(u16 *)here, 0);
		break;
	case 4:
		WRITE_ONCE(*(u32 *)here, 0);
		break;
	default:
		WRITE_ONCE(*(u64 *)here, 0);
	}
	smp_mb();	/* C51: all earlier writes are visible to the CPU */
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_signal_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	u64 address = le64_to_cpu(signal->address);
	u8 *here;

	if (signal->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(signal->reserved));
	if (!IS_ALIGNED(address, 8))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return pagoda_engine_address_resolve(exec, le32_to_cpu(signal->segment), address, 8,
					     VIRTIO_PAGODA_ACCESS_WRITE, &here);
}

u32 pagoda_engine_signal_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	u64 address = le64_to_cpu(signal->address);
	u64 value = le64_to_cpu(signal->value);
	u32 reason;
	u8 *here;

	reason = pagoda_engine_address_resolve(exec, le32_to_cpu(signal->segment), address, 8,
					       VIRTIO_PAGODA_ACCESS_WRITE, &here);
	if (reason)
		return reason;
	smp_mb();	/* C116: the work before it is visible before it is */
	WRITE_ONCE(*(__le64 *)here, signal->value);	/* C117 */
	smp_mb();	/* and it is visible before anybody hears of it */
	if (le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_EVENT)
		exec->engine->ops->fence(exec->engine->context, exec->run->queue,
					 exec->run->seqno, exec->run->offset, address, value);
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
		reason = VIRTIO_PAGODA_FAULT_BAD_FLAGS;		/* C118 */
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

/* This GPU caches nothing about allocations: being told is all there is. */
u32 pagoda_engine_notify_alloc_execute(struct pagoda_exec *exec, const void *packet)
{
	return VIRTIO_PAGODA_FAULT_NONE;
}
