// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: MAP_MMU and UNMAP_MMU, which change &pagoda_cpu_executor.mmu. The CPU needs no MMU
 * to reach pages; the executor uses that array only to refuse accesses that the device would
 * refuse.
 */
#include "internal.h"

static u32 mmu_range_check(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_mmu *map = cpu->data;
	u64 address = le64_to_cpu(map->address), nr_pages = le64_to_cpu(map->nr_pages);

	if (!cpu->exec->mmu)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (map->mmu)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (address & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return nr_pages && pagoda_within(address >> VIRTIO_PAGODA_PAGE_SHIFT, nr_pages,
					 cpu->exec->mmu_pages) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

static void mmu_entry_set(struct pagoda_cpu_executor *exec, u64 page, const void *entry,
			  bool read_only)
{
	exec->mmu[page] = entry;
	if (exec->mmu_read_only)
		exec->mmu_read_only[page] = read_only;
}

u32 pagoda_map_mmu_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_mmu *map = cpu->data;
	u64 first = le64_to_cpu(map->address) >> VIRTIO_PAGODA_PAGE_SHIFT, i;
	u32 flags = le16_to_cpu(map->packet.flags), reason;
	const struct pagoda_cpu_runs runs = {
		.runs = (const void *)(map + 1),
		.nr_runs = le32_to_cpu(map->nr_runs),
		.nr_pages = le64_to_cpu(map->nr_pages),
		.pages = cpu->dst_pages,
		.bus = true,
	};

	if (flags & ~VIRTIO_PAGODA_MAP_MMU_READ_ONLY)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = mmu_range_check(cpu);
	if (!reason)
		reason = pagoda_cpu_runs_check(cpu->exec, &runs);
	for (i = 0; i < runs.nr_pages && !reason; i++)
		mmu_entry_set(cpu->exec, first + i, cpu->exec->page_at(cpu->dst_pages, i),
			      flags & VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	return reason;
}

u32 pagoda_unmap_mmu_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_mmu *map = cpu->data;
	u64 first = le64_to_cpu(map->address) >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 nr_pages = le64_to_cpu(map->nr_pages), i;
	u32 reason;

	if (map->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (map->nr_runs)
		return VIRTIO_PAGODA_FAULT_BAD_RUNS;
	reason = mmu_range_check(cpu);
	for (i = 0; i < nr_pages && !reason; i++)
		mmu_entry_set(cpu->exec, first + i, NULL, false);
	return reason;
}
