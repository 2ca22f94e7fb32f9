// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and UNMAP_APERTURE_SEGMENT. The
 * aperture's pages are the struct page pointers in pagoda_cpu_executor.aperture: these operations
 * set them, and other operations map the pages by &pagoda_cpu_executor.map_page.
 */
#include "internal.h"

static u32 cpu_range_check(const struct pagoda_cpu_executor *exec, u32 segment, u64 first_page,
			   u64 nr_pages)
{
	if (segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	if (!exec->aperture)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	return nr_pages && pagoda_within(first_page, nr_pages, exec->aperture_pages) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

static void cpu_entry_set(struct pagoda_cpu_executor *exec, u64 page, const void *entry,
			  u32 generation)
{
	exec->aperture[page] = entry;
	if (exec->generations)
		exec->generations[page] = generation;
}

static u32 map_flags_check(const struct pagoda_paging_limits *limits,
			   const struct virtio_pagoda_map_aperture_segment *map)
{
	bool second = le16_to_cpu(map->packet.opcode) == VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;
	u32 allowed = VIRTIO_PAGODA_MAP_CACHE_COHERENT;
	u32 flags = le16_to_cpu(map->packet.flags);
	u64 coherent = 1ull << VIRTIO_PAGODA_F_COHERENT;

	if (second)
		allowed |= VIRTIO_PAGODA_MAP_CONTIGUOUS;
	if (flags & ~allowed)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (flags & VIRTIO_PAGODA_MAP_CONTIGUOUS && le32_to_cpu(map->nr_runs) != 1)
		return VIRTIO_PAGODA_FAULT_BAD_RUNS;
	if (flags & VIRTIO_PAGODA_MAP_CACHE_COHERENT && limits && !(limits->features & coherent))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 map_check(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_aperture_segment *map = cpu->data;
	u32 generation = le32_to_cpu(map->generation);
	const struct pagoda_cpu_runs runs = {
		.runs = (const void *)(map + 1),
		.nr_runs = le32_to_cpu(map->nr_runs),
		.nr_pages = le64_to_cpu(map->nr_pages),
		.pages = cpu->dst_pages,
	};
	u32 reason;

	reason = map_flags_check(cpu->exec->limits, map);
	if (reason)
		return reason;
	if (map->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	reason = cpu_range_check(cpu->exec, le32_to_cpu(map->segment), le64_to_cpu(map->first_page),
				 runs.nr_pages);
	if (reason)
		return reason;
	if (!generation || generation > VIRTIO_PAGODA_MAX_GENERATION)
		return VIRTIO_PAGODA_FAULT_STALE_GENERATION;
	return pagoda_cpu_runs_check(cpu->exec, &runs);
}

u32 pagoda_map_aperture_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_aperture_segment *map = cpu->data;
	u64 first = le64_to_cpu(map->first_page), nr_pages = le64_to_cpu(map->nr_pages);
	u32 reason = map_check(cpu);
	u64 i;

	if (reason)
		return reason;
	for (i = 0; i < nr_pages; i++)
		cpu_entry_set(cpu->exec, first + i, cpu->exec->page_at(cpu->dst_pages, i),
			      le32_to_cpu(map->generation));
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 unmap_check(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = cpu->data;
	const struct virtio_pagoda_run dummy = {
		.address = unmap->dummy_page,
		.nr_pages = cpu_to_le32(1),
	};
	const struct pagoda_cpu_runs runs = {
		.runs = &dummy,
		.nr_runs = 1,
		.nr_pages = 1,
		.pages = cpu->dst_pages,
	};
	u32 reason;

	if (unmap->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (unmap->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	reason = cpu_range_check(cpu->exec, le32_to_cpu(unmap->segment),
				 le64_to_cpu(unmap->first_page), le64_to_cpu(unmap->nr_pages));
	if (reason)
		return reason;
	return unmap->dummy_page ? pagoda_cpu_runs_check(cpu->exec, &runs) :
				   VIRTIO_PAGODA_FAULT_UNREACHABLE;
}

u32 pagoda_unmap_aperture_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = cpu->data;
	u64 first = le64_to_cpu(unmap->first_page), nr_pages = le64_to_cpu(unmap->nr_pages);
	u32 reason = unmap_check(cpu);
	u64 i;

	if (reason)
		return reason;
	for (i = 0; i < nr_pages; i++)
		cpu_entry_set(cpu->exec, first + i, cpu->exec->page_at(cpu->dst_pages, 0), 0);
	return VIRTIO_PAGODA_FAULT_NONE;
}
