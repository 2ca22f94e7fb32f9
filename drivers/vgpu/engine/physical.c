// SPDX-License-Identifier: GPL-2.0
/* Operations on up to 8 bytes: READ_PHYSICAL, WRITE_PHYSICAL and SIGNAL_MONITORED_FENCE. */
#include "internal.h"

static u32 physical_validate(struct pagoda_exec *exec, const void *packet, u32 access)
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
	return physical_validate(exec, packet, VIRTIO_PAGODA_ACCESS_READ);
}

u32 pagoda_engine_physical_validate_write(struct pagoda_exec *exec, const void *packet)
{
	return physical_validate(exec, packet, VIRTIO_PAGODA_ACCESS_WRITE);
}

#define PAGODA_TOUCH(type, here, write) do { \
		if (write) \
			WRITE_ONCE(*(type *)(here), 0); \
		else \
			(void)READ_ONCE(*(type *)(here)); \
	} while (0)

/*
 * Makes one access of @size bytes at @here: a read, whose value is ignored, or, if @write, a write
 * of zero.
 */
static void physical_touch(u8 *here, u32 size, bool write)
{
	switch (size) {
	case 1:
		PAGODA_TOUCH(u8, here, write);
		break;
	case 2:
		PAGODA_TOUCH(u16, here, write);
		break;
	case 4:
		PAGODA_TOUCH(u32, here, write);
		break;
	default:
		PAGODA_TOUCH(u64, here, write);
		break;
	}
}

static u32 physical_execute(struct pagoda_exec *exec, const void *packet, u32 access)
{
	const struct virtio_pagoda_access_physical *physical = packet;
	u32 size = le32_to_cpu(physical->size);
	u32 reason;
	u8 *here;

	reason = pagoda_engine_address_resolve(exec, le32_to_cpu(physical->segment),
					       le64_to_cpu(physical->address), size, access,
					       &here);
	if (reason)
		return reason;
	pagoda_engine_combine_drain(exec->engine, exec->run->tlb);
	physical_touch(here, size, access == VIRTIO_PAGODA_ACCESS_WRITE);
	if (access == VIRTIO_PAGODA_ACCESS_WRITE)
		pagoda_engine_wrote(exec->engine, here, size);
	smp_mb();	/* C51: from here on the CPU sees the queue's earlier writes */
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_physical_read(struct pagoda_exec *exec, const void *packet)
{
	return physical_execute(exec, packet, VIRTIO_PAGODA_ACCESS_READ);
}

u32 pagoda_engine_physical_write(struct pagoda_exec *exec, const void *packet)
{
	return physical_execute(exec, packet, VIRTIO_PAGODA_ACCESS_WRITE);
}

/*
 * Sets *@here to the memory of a monitored fence's value, or to NULL for a page of zeros, to which
 * nothing is written. Returns 0 or a fault reason.
 */
static u32 signal_resolve(struct pagoda_exec *exec,
			  const struct virtio_pagoda_signal_monitored_fence *signal, u8 **here)
{
	u64 address = le64_to_cpu(signal->address);

	if (le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		return pagoda_engine_virtual_address_resolve(exec, 0, address, 8,
							     VIRTIO_PAGODA_ACCESS_WRITE, here);
	return pagoda_engine_address_resolve(exec, le32_to_cpu(signal->segment), address, 8,
					     VIRTIO_PAGODA_ACCESS_WRITE, here);
}

u32 pagoda_engine_signal_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	u64 address = le64_to_cpu(signal->address);
	u8 *here;

	if (signal->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(signal->reserved));
	if (signal->segment && le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(signal->segment));
	if (!IS_ALIGNED(address, 8))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return signal_resolve(exec, signal, &here);
}

/*
 * Writes a fence's value with a single access (C117). With @forward the fence never decreases: a
 * greater value stays, even if the CPU writes it concurrently.
 */
static void signal_store(__le64 *here, __le64 value, bool forward)
{
	__le64 old = READ_ONCE(*here);

	if (!forward)
		WRITE_ONCE(*here, value);
	while (forward && le64_to_cpu(old) < le64_to_cpu(value))
		forward = !pagoda_shim_swap64(here, &old, value);
}

/*
 * Writes a monitored fence's value, and calls ops->fence() if the packet asks for an event. Does
 * neither if an injected failure stops the packet in the middle (exec->half), as a single write has
 * no middle. Returns 0 or a fault reason.
 */
u32 pagoda_engine_signal_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	u16 flags = le16_to_cpu(signal->packet.flags);
	u32 reason;
	u8 *here;

	reason = signal_resolve(exec, signal, &here);
	if (reason || exec->half)
		return reason;
	pagoda_engine_combine_drain(exec->engine, exec->run->tlb);
	smp_mb();	/* C116: the queue's earlier writes are visible before the fence's value */
	if (here) {
		signal_store((__le64 *)here, signal->value, flags & VIRTIO_PAGODA_SIGNAL_FORWARD);
		pagoda_engine_wrote(exec->engine, here, 8);
	}
	smp_mb();	/* the fence's value is visible before the event */
	if (flags & VIRTIO_PAGODA_SIGNAL_EVENT)
		exec->engine->ops->fence(exec->engine->context, exec->run,
					 le64_to_cpu(signal->address),
					 le64_to_cpu(signal->value));
	return VIRTIO_PAGODA_FAULT_NONE;
}
