// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: MAP and UNMAP change the CPU's copy of the aperture.
 *
 * An entry is a struct page pointer, which is all that pages reached through the
 * aperture need: an array of them is what map_page() takes.
 */
#include "cpu.h"
#include "table.h"

static int pagoda_cpu_range_check(const struct pagoda_cpu_executor *exec, u32 segment,
				  u64 first_page, u64 nr_pages)
{
	if (segment != VIRTIO_PAGODA_SEGMENT_APERTURE || !nr_pages)
		return -EINVAL;
	if (!exec->aperture || !pagoda_within(first_page, nr_pages, exec->aperture_pages))
		return -EFAULT;
	return 0;
}

static void pagoda_cpu_entry_set(struct pagoda_cpu_executor *exec, u64 page, const void *entry,
				 u32 generation)
{
	exec->aperture[page] = entry;
	if (exec->generations)
		exec->generations[page] = generation;
}

static int pagoda_map_flags_check(const struct virtio_pagoda_map_aperture_segment *map)
{
	u32 flags = le16_to_cpu(map->packet.flags);

	if (flags & VIRTIO_PAGODA_MAP_CONTIGUOUS &&
	    (le16_to_cpu(map->packet.opcode) != VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2 ||
	     le32_to_cpu(map->nr_runs) != 1))
		return -EINVAL;
	return flags & ~(VIRTIO_PAGODA_MAP_CACHE_COHERENT | VIRTIO_PAGODA_MAP_CONTIGUOUS) ?
	       -EINVAL : 0;
}

static int pagoda_map_check(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_aperture_segment *map = cpu->data;
	u32 generation = le32_to_cpu(map->generation);
	u64 nr_pages = le64_to_cpu(map->nr_pages);
	int ret;

	if (map->reserved || !generation || generation > VIRTIO_PAGODA_MAX_GENERATION)
		return -EINVAL;
	ret = pagoda_map_flags_check(map);
	if (!ret)
		ret = pagoda_cpu_range_check(cpu->exec, le32_to_cpu(map->segment),
					     le64_to_cpu(map->first_page), nr_pages);
	if (!ret)
		ret = pagoda_cpu_runs_check((const void *)(map + 1), le32_to_cpu(map->nr_runs),
					    nr_pages);
	return ret || cpu->dst_pages ? ret : -EFAULT;
}

int pagoda_map_aperture_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_map_aperture_segment *map = cpu->data;
	u64 first = le64_to_cpu(map->first_page), nr_pages = le64_to_cpu(map->nr_pages);
	int ret = pagoda_map_check(cpu);
	u64 i;

	if (ret)
		return ret;
	for (i = 0; i < nr_pages; i++)
		pagoda_cpu_entry_set(cpu->exec, first + i,
				     cpu->exec->page_at(cpu->dst_pages, i),
				     le32_to_cpu(map->generation));
	return 0;
}

int pagoda_unmap_aperture_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = cpu->data;
	u64 first = le64_to_cpu(unmap->first_page), nr_pages = le64_to_cpu(unmap->nr_pages);
	u64 dummy = le64_to_cpu(unmap->dummy_page);
	u64 i;
	int ret;

	if (unmap->packet.flags || unmap->reserved || !dummy || dummy & PAGODA_PAGE_MASK)
		return -EINVAL;
	ret = pagoda_cpu_range_check(cpu->exec, le32_to_cpu(unmap->segment), first, nr_pages);
	if (ret)
		return ret;
	if (!cpu->dst_pages)
		return -EFAULT;
	for (i = 0; i < nr_pages; i++)
		pagoda_cpu_entry_set(cpu->exec, first + i, cpu->exec->page_at(cpu->dst_pages, 0),
				     0);
	return 0;
}
