// SPDX-License-Identifier: GPL-2.0
/*
 * MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and UNMAP_APERTURE_SEGMENT (C52 - C67).
 * &pagoda_paging_cursor.done counts pages. Both map operations encode the page list as runs, a
 * contiguous list as a single run; for a contiguous list MAP_APERTURE_SEGMENT2 also sets
 * VIRTIO_PAGODA_MAP_CONTIGUOUS.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "runs.h"
#include "table.h"

u64 pagoda_map_aperture_tail(const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;

	return (u64)le32_to_cpu(map->nr_runs) * sizeof(struct virtio_pagoda_run);
}

static int range_validate(const struct pagoda_paging_limits *limits, u64 first_page, u64 nr_pages,
			  const char **why)
{
	if (!nr_pages)
		return pagoda_refuse(why, -EINVAL, "aperture: no pages");
	if (!pagoda_within(first_page, nr_pages, limits->aperture_pages))
		return pagoda_refuse(why, -ERANGE, "aperture: range crosses the end");
	return 0;
}

int pagoda_map_aperture_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_map_aperture *map = &op->map_aperture;

	if (map->flags & ~VIRTIO_PAGODA_MAP_CACHE_COHERENT)
		return pagoda_refuse(why, -EINVAL, "map: unknown flag");
	if (map->flags && !(limits->features & 1ull << VIRTIO_PAGODA_F_COHERENT))
		return pagoda_refuse(why, -EOPNOTSUPP, "map: device isn't coherent");
	if (!map->generation)
		return pagoda_refuse(why, -EINVAL, "map: generation zero");
	if (map->generation > VIRTIO_PAGODA_MAX_GENERATION)
		return pagoda_refuse(why, -ERANGE, "map: generation too large");
	if (map->cpu_visible_address && op->operation != VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2)
		return pagoda_refuse(why, -EINVAL, "map: CPU address");
	return range_validate(limits, map->first_page, map->nr_pages, why) ?:
	       pagoda_adl_validate(map->adl, map->adl_offset, map->nr_pages,
				   pagoda_segment_size(limits, VIRTIO_PAGODA_SEGMENT_SYSTEM), why);
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool map_aperture_packet(const struct pagoda_paging_limits *limits,
				const struct pagoda_paging_op *op,
				struct pagoda_paging_cursor *cursor,
				struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_map_aperture *map = &op->map_aperture;
	struct virtio_pagoda_map_aperture_segment *packet = (void *)buf->pos;
	struct pagoda_runs_packet runs;
	u32 flags = map->flags;

	runs = pagoda_runs_put(limits, buf, map->adl, map->adl_offset + cursor->done,
			       map->nr_pages - cursor->done, sizeof(*packet));
	if (!runs.nr_runs)
		return false;
	if (op->operation == VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2 && map->adl->contiguous)
		flags |= VIRTIO_PAGODA_MAP_CONTIGUOUS;
	*packet = (struct virtio_pagoda_map_aperture_segment){
		.packet = pagoda_packet_head(op->operation, flags, runs.length, op->allocation),
		.first_page = cpu_to_le64(map->first_page + cursor->done),
		.nr_pages = cpu_to_le64(runs.nr_pages),
		.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE),
		.nr_runs = cpu_to_le32(runs.nr_runs),
		.generation = cpu_to_le32(map->generation),
	};
	pagoda_buffer_commit(buf, runs.length, NULL, runs.cpu_pages);
	cursor->done += runs.nr_pages;
	return true;
}

enum pagoda_build pagoda_map_aperture_build(const struct pagoda_paging_limits *limits,
					    const struct pagoda_paging_op *op,
					    struct pagoda_paging_cursor *cursor,
					    struct pagoda_paging_buffer *buf)
{
	while (cursor->done < op->map_aperture.nr_pages) {
		if (!map_aperture_packet(limits, op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost pagoda_map_aperture_cost(const struct pagoda_paging_limits *limits,
						   const struct pagoda_paging_op *op,
						   u32 buffer_size)
{
	const struct pagoda_op_map_aperture *map = &op->map_aperture;
	u64 runs = pagoda_runs_count(map->adl, map->adl_offset, map->nr_pages);

	return pagoda_runs_cost(limits, buffer_size,
				sizeof(struct virtio_pagoda_map_aperture_segment), 0, runs);
}

int pagoda_unmap_aperture_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_unmap_aperture *unmap = &op->unmap_aperture;

	if (!unmap->dummy_page)
		return pagoda_refuse(why, -EINVAL, "unmap: dummy page missing");
	if (unmap->dummy_page & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "unmap: dummy page misaligned");
	if (!pagoda_within(unmap->dummy_page, VIRTIO_PAGODA_PAGE_SIZE,
			   pagoda_segment_size(limits, VIRTIO_PAGODA_SEGMENT_SYSTEM)))
		return pagoda_refuse(why, -ERANGE, "unmap: dummy page too large");
	return range_validate(limits, unmap->first_page, unmap->nr_pages, why);
}

enum pagoda_build pagoda_unmap_aperture_build(const struct pagoda_paging_limits *limits,
					      const struct pagoda_paging_op *op,
					      struct pagoda_paging_cursor *cursor,
					      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_unmap_aperture *unmap = &op->unmap_aperture;
	struct virtio_pagoda_unmap_aperture_segment *packet = (void *)buf->pos;

	if (!pagoda_buffer_has(buf, sizeof(*packet)))
		return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	*packet = (struct virtio_pagoda_unmap_aperture_segment) {
		.packet = pagoda_packet_head(op->operation, 0, sizeof(*packet), op->allocation),
		.first_page = cpu_to_le64(unmap->first_page),
		.nr_pages = cpu_to_le64(unmap->nr_pages),
		.dummy_page = cpu_to_le64(unmap->dummy_page),
		.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE),
	};
	pagoda_buffer_commit(buf, sizeof(*packet), NULL, unmap->cpu_pages);
	cursor->done = unmap->nr_pages;
	return PAGODA_BUILD_SUCCESS;
}

struct pagoda_paging_cost
pagoda_unmap_aperture_cost(const struct pagoda_paging_limits *limits,
			   const struct pagoda_paging_op *op, u32 buffer_size)
{
	return pagoda_cost_single(0, sizeof(struct virtio_pagoda_unmap_aperture_segment));
}
