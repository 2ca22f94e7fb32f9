// SPDX-License-Identifier: GPL-2.0
/*
 * MAP_MMU and UNMAP_MMU: map device addresses, which the device's own MMU translates, to system
 * memory, and unmap them. &pagoda_paging_cursor.done counts pages. The page list of MAP_MMU has bus
 * addresses; on a device with an MMU the page lists of all other operations have device addresses.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "runs.h"
#include "table.h"

u64 pagoda_map_mmu_tail(const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;

	return (u64)le32_to_cpu(map->nr_runs) * sizeof(struct virtio_pagoda_run);
}

static int mmu_range_validate(const struct pagoda_paging_limits *limits,
			      const struct pagoda_op_map_mmu *map, const char **why)
{
	if (!limits->mmu_pages)
		return pagoda_refuse(why, -EOPNOTSUPP, "mmu: device has none");
	if (map->mmu)
		return pagoda_refuse(why, -EINVAL, "mmu: no such MMU");
	if (map->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "mmu: address misaligned");
	if (!map->nr_pages)
		return pagoda_refuse(why, -EINVAL, "mmu: no pages");
	if (!pagoda_within(map->address >> VIRTIO_PAGODA_PAGE_SHIFT, map->nr_pages,
			   limits->mmu_pages))
		return pagoda_refuse(why, -ERANGE, "mmu: range crosses the end");
	return 0;
}

int pagoda_map_mmu_validate(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_map_mmu *map = &op->map_mmu;

	if (map->flags & ~VIRTIO_PAGODA_MAP_MMU_READ_ONLY)
		return pagoda_refuse(why, -EINVAL, "mmu: unknown flag");
	return mmu_range_validate(limits, map, why) ?:
	       pagoda_adl_validate(map->adl, map->adl_offset, map->nr_pages, U64_MAX, why);
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool map_mmu_packet(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, struct pagoda_paging_cursor *cursor,
			   struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_map_mmu *map = &op->map_mmu;
	struct virtio_pagoda_map_mmu *packet = (void *)buf->pos;
	struct pagoda_runs_packet runs;

	runs = pagoda_runs_put(limits, buf, map->adl, map->adl_offset + cursor->done,
			       map->nr_pages - cursor->done, sizeof(*packet));
	if (!runs.nr_runs)
		return false;
	*packet = (struct virtio_pagoda_map_mmu) {
		.packet = pagoda_packet_head(op->operation, map->flags, runs.length,
					     op->allocation),
		.address = cpu_to_le64(map->address + (cursor->done << VIRTIO_PAGODA_PAGE_SHIFT)),
		.nr_pages = cpu_to_le64(runs.nr_pages),
		.mmu = cpu_to_le32(map->mmu),
		.nr_runs = cpu_to_le32(runs.nr_runs),
	};
	pagoda_buffer_commit(buf, runs.length, NULL, runs.cpu_pages);
	cursor->done += runs.nr_pages;
	return true;
}

enum pagoda_build pagoda_map_mmu_build(const struct pagoda_paging_limits *limits,
				       const struct pagoda_paging_op *op,
				       struct pagoda_paging_cursor *cursor,
				       struct pagoda_paging_buffer *buf)
{
	while (cursor->done < op->map_mmu.nr_pages) {
		if (!map_mmu_packet(limits, op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_map_mmu_cost(const struct pagoda_paging_limits *limits,
					      const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_op_map_mmu *map = &op->map_mmu;
	u64 runs = pagoda_runs_count(map->adl, map->adl_offset, map->nr_pages);

	return pagoda_runs_cost(limits, buffer_size, sizeof(struct virtio_pagoda_map_mmu), 0, runs);
}

int pagoda_unmap_mmu_validate(const struct pagoda_paging_limits *limits,
			      const struct pagoda_paging_op *op, const char **why)
{
	if (op->map_mmu.flags)
		return pagoda_refuse(why, -EINVAL, "mmu: unknown flag");
	return mmu_range_validate(limits, &op->map_mmu, why);
}

enum pagoda_build pagoda_unmap_mmu_build(const struct pagoda_paging_limits *limits,
					 const struct pagoda_paging_op *op,
					 struct pagoda_paging_cursor *cursor,
					 struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_map_mmu *map = &op->map_mmu;
	struct virtio_pagoda_map_mmu *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_map_mmu) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.address = cpu_to_le64(map->address),
		.nr_pages = cpu_to_le64(map->nr_pages),
		.mmu = cpu_to_le32(map->mmu),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, NULL);
	cursor->done = map->nr_pages;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_unmap_mmu_cost(const struct pagoda_paging_limits *limits,
						const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_map_mmu));
}
