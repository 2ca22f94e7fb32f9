// SPDX-License-Identifier: GPL-2.0
/* struct pagoda_side, an operation's source or destination: in a segment, or a page list. */
#include "emit.h"
#include "runs.h"

/*
 * Checks that @size bytes are in the segment, from @side->address + @offset on, or in the page
 * list, from page @first on. If @size is 0, address and page list aren't checked. Returns 0,
 * -EINVAL for a malformed side, or -ERANGE for a side that is too short or has too large an address
 * or generation, with the reason in *@why.
 */
int pagoda_side_validate(const struct pagoda_paging_limits *limits,
			 const struct pagoda_side *side, u64 offset, u64 first, u64 size,
			 const char **why)
{
	u64 limit = pagoda_segment_size(limits, side->segment);

	if (side->segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_refuse(why, -EINVAL, "side: no such segment");
	if (side->generation && side->segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_refuse(why, -EINVAL, "side: generation outside the aperture");
	if (side->generation > VIRTIO_PAGODA_MAX_GENERATION)
		return pagoda_refuse(why, -ERANGE, "side: generation too large");
	if (!size)
		return 0;
	if (side->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return pagoda_adl_validate(side->adl, first, pagoda_pages(size), limit, why);
	if (side->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "side: address misaligned");
	if (side->address > limit || !pagoda_within(offset, size, limit - side->address))
		return pagoda_refuse(why, -ERANGE, "side: outside the segment");
	return 0;
}

/*
 * Returns @side as packets name a side, with @nr_runs runs; @offset is added to an address in VRAM
 * or aperture.
 */
struct virtio_pagoda_location pagoda_location_make(const struct pagoda_side *side, u64 offset,
						   u32 nr_runs)
{
	bool system = side->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;

	return (struct virtio_pagoda_location) {
		.segment = cpu_to_le32(side->segment),
		.nr_runs = cpu_to_le32(nr_runs),
		.address = cpu_to_le64(system ? 0 : side->address + offset),
		.generation = cpu_to_le32(side->generation),
	};
}

/*
 * Returns where the struct page array of the side's page list has page @first; NULL for VRAM and
 * aperture, or if the list has no such array.
 */
const void *pagoda_side_cpu_pages(const struct pagoda_side *side, u64 first)
{
	if (side->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return NULL;
	return pagoda_adl_cpu_pages(side->adl, first);
}
