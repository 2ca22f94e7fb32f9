// SPDX-License-Identifier: GPL-2.0
/* CPU executor: READ_PHYSICAL, WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE. */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <asm/barrier.h>
#include "walk.h"

/*
 * Checks an access and sets @side to the page of @address: only aligned accesses, which stay within
 * a page, are accepted. Returns a fault reason or 0.
 */
static u32 access_prepare(const struct pagoda_cpu_packet *cpu, u32 segment, u64 address, u32 size,
			  const void *pages, bool write, struct pagoda_cpu_side *side)
{
	struct pagoda_cpu_executor *exec = cpu->exec;
	u32 reason;

	if (address & (size - 1))
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	*side = (struct pagoda_cpu_side) { .exec = exec };
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->pages = pages;
		reason = pagoda_cpu_system_check(exec, address, size, write);
		return reason || pages ? reason : VIRTIO_PAGODA_FAULT_UNREACHABLE;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		reason = pagoda_cpu_vram_check(exec, address, size);
		if (!reason)
			side->vram = exec->vram + (address & ~PAGODA_PAGE_MASK);
		return reason;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		side->pages = exec->aperture;
		side->first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
		return pagoda_cpu_aperture_check(exec, address, size, 0);
	default:
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	}
}

#define PAGODA_ACCESS(type, at, write) do { \
		if (write) \
			WRITE_ONCE(*(type *)(at), 0); \
		else \
			(void)READ_ONCE(*(type *)(at)); \
	} while (0)

/*
 * Makes a single access of @size bytes at @at: a read, whose value is dropped, or, if @write, a
 * write of zero.
 */
static void access_bytes(u8 *at, u32 size, bool write)
{
	switch (size) {
	case 1:
		PAGODA_ACCESS(u8, at, write);
		break;
	case 2:
		PAGODA_ACCESS(u16, at, write);
		break;
	case 4:
		PAGODA_ACCESS(u32, at, write);
		break;
	default:
		PAGODA_ACCESS(u64, at, write);
		break;
	}
}

static u32 physical_execute(const struct pagoda_cpu_packet *cpu, const void *pages, bool write)
{
	const struct virtio_pagoda_access_physical *access = cpu->data;
	u64 address = le64_to_cpu(access->address);
	u32 size = le32_to_cpu(access->size);
	struct pagoda_cpu_side side;
	u32 reason;
	u8 *page;

	if (access->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (!size || size > 8 || size & (size - 1))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	reason = access_prepare(cpu, le32_to_cpu(access->segment), address, size, pages, write,
				&side);
	if (reason)
		return reason;
	page = pagoda_cpu_side_map(&side, 0);
	access_bytes(page + (address & PAGODA_PAGE_MASK), size, write);
	pagoda_cpu_side_unmap(&side, page);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_read_physical_execute(const struct pagoda_cpu_packet *cpu)
{
	return physical_execute(cpu, cpu->src_pages, false);
}

u32 pagoda_write_physical_execute(const struct pagoda_cpu_packet *cpu)
{
	return physical_execute(cpu, cpu->dst_pages, true);
}

/*
 * Writes a fence's value at @at; with FORWARD only if the new value is larger than the old. Readers
 * of the new value see all earlier writes (C116), and never a half-written value (C117): both ways
 * to store the value order it behind earlier writes.
 */
static void fence_write(u8 *at, const struct virtio_pagoda_signal_monitored_fence *signal)
{
	bool forward = le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_FORWARD;
	__le64 *here = (__le64 *)at, old = READ_ONCE(*here);

	if (!forward)
		smp_store_release(here, signal->value);	/* after the writes of earlier packets */
	while (forward && le64_to_cpu(old) < le64_to_cpu(signal->value))
		forward = !try_cmpxchg(here, &old, signal->value);
}

static u32 signal_virtual(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = cpu->data;
	const struct pagoda_cpu_virtual memory = {
		.exec = cpu->exec,
		.pages = cpu->dst_pages,
		.base = le64_to_cpu(signal->address),
		.write = true,
	};
	struct pagoda_cpu_mapping to;
	u32 reason;

	if (signal->segment)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (memory.base % sizeof(signal->value))
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	reason = pagoda_cpu_virtual_map(&memory, memory.base, &to);
	if (reason)
		return reason;
	if (to.at)
		fence_write(to.at, signal);
	pagoda_cpu_virtual_unmap(&memory, &to);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_signal_fence_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = cpu->data;
	u64 address = le64_to_cpu(signal->address);
	u32 flags = le16_to_cpu(signal->packet.flags), reason;
	struct pagoda_cpu_side side;
	u8 *page;

	if (flags & ~VIRTIO_PAGODA_SIGNAL_FLAGS)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (signal->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (flags & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		return signal_virtual(cpu);
	reason = access_prepare(cpu, le32_to_cpu(signal->segment), address, sizeof(signal->value),
				cpu->dst_pages, true, &side);
	if (reason)
		return reason;
	page = pagoda_cpu_side_map(&side, 0);
	fence_write(page + (address & PAGODA_PAGE_MASK), signal);
	pagoda_cpu_side_unmap(&side, page);
	return VIRTIO_PAGODA_FAULT_NONE;
}
