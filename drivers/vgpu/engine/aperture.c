// SPDX-License-Identifier: GPL-2.0
/*
 * The aperture: pages of system memory at addresses of the GPU.
 *
 * An aperture page's entry is a 64-bit word, the bus page number in the low bits and the generation
 * of the mapping in the high bits, which packets and commands store and load with a single access.
 * No lock is needed: a page switches at once and neighbouring pages don't change (C53), so that
 * other queues continue to use neighbouring pages (C54).
 *
 *	zero				never mapped, never unmapped: faults
 *	page, generation 0		unmapped: the dummy page (C57, C58)
 *	page, generation not 0		mapped
 */
#include "internal.h"

#define PAGODA_ENTRY_PAGE_BITS	40
#define PAGODA_ENTRY_PAGE_MASK	((1ull << PAGODA_ENTRY_PAGE_BITS) - 1)

static_assert(VIRTIO_PAGODA_MAX_GENERATION >> (64 - PAGODA_ENTRY_PAGE_BITS) == 0,
	      "a generation and a page number share an entry");

static u64 entry_make(u64 bus, u32 generation)
{
	return (u64)generation << PAGODA_ENTRY_PAGE_BITS | bus >> VIRTIO_PAGODA_PAGE_SHIFT;
}

static u64 entry_bus(u64 entry)
{
	return (entry & PAGODA_ENTRY_PAGE_MASK) << VIRTIO_PAGODA_PAGE_SHIFT;
}

static u32 entry_generation(u64 entry)
{
	return entry >> PAGODA_ENTRY_PAGE_BITS;
}

/*
 * Returns whether an aperture page is snooped: mapped as CACHE_COHERENT, or unmapped (dummy page).
 * All pages are if the engine has no aperture_snoops.
 */
static bool page_snooped(const struct pagoda_engine *engine, u64 page)
{
	return !engine->aperture_snoops || READ_ONCE(engine->aperture_snoops[page]);
}

/*
 * Stores whether an aperture page is snooped, before the caller writes the page's entry: a packet
 * or command of another queue may use the old entry with the new value of @snooped.
 */
static void page_snoop(struct pagoda_engine *engine, u64 page, bool snooped)
{
	if (engine->aperture_snoops)
		WRITE_ONCE(engine->aperture_snoops[page], snooped);
}

/*
 * Checks a page's entry: accepts a dummy page, and a page mapped with @generation, or with any
 * generation if @generation is 0. Refuses a page that was never mapped nor unmapped. Returns 0 or a
 * fault reason.
 */
static u32 entry_check(struct pagoda_exec *exec, u64 entry, u64 address, u32 generation, u32 access)
{
	u32 mapped = entry_generation(entry);

	if (unlikely(!entry))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_UNREACHABLE, address, access);
	if (unlikely(generation && mapped && mapped != generation))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_STALE_GENERATION, address,
					    access);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks the entry and the memory of each aperture page of a range; with @generation 0 pages may be
 * mapped with any generation. Returns a fault reason or 0.
 */
u32 pagoda_engine_aperture_check(struct pagoda_exec *exec, u64 address, u64 size,
				 u32 generation, u32 access)
{
	const struct pagoda_engine *engine = exec->engine;
	u64 limit = engine->aperture_pages * PAGODA_PAGE;
	u64 end = address + size;
	u32 reason;
	u8 *here;
	u64 got;

	if (!size || size > limit || address > limit - size)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, address,
					    access);
	for (address = ALIGN_DOWN(address, PAGODA_PAGE); address < end; address += PAGODA_PAGE) {
		u64 entry = READ_ONCE(engine->aperture[address / PAGODA_PAGE]);

		reason = entry_check(exec, entry, address, generation, access);
		if (reason)
			return reason;
		reason = pagoda_system_span(exec, entry_bus(entry), PAGODA_PAGE, access, &here,
					    &got);
		if (reason)
			return pagoda_engine_refuse(exec, reason, address, access);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Moves a cursor to its next span in the aperture: a page, and the following pages as long as bus
 * addresses are contiguous and generation and snooping don't change. The first page's entry is
 * checked again, because another queue may have changed the entry since the packet was validated.
 * Returns 0 or a fault reason.
 */
u32 pagoda_engine_aperture_span(struct pagoda_exec *exec, struct pagoda_cursor *cursor)
{
	const struct pagoda_engine *engine = exec->engine;
	u64 inside = cursor->address % PAGODA_PAGE;
	u64 page = cursor->address / PAGODA_PAGE;
	u64 entry = READ_ONCE(engine->aperture[page]);
	u64 bus = entry_bus(entry);
	u64 size = PAGODA_PAGE - inside;
	u32 reason;
	u64 got;

	reason = entry_check(exec, entry, cursor->address, cursor->generation, cursor->access);
	if (reason)
		return reason;
	cursor->snooped = page_snooped(engine, page);
	while (size < cursor->left && size < PAGODA_CHUNK &&
	       READ_ONCE(engine->aperture[page + 1]) == entry + 1 &&
	       page_snooped(engine, page + 1) == cursor->snooped) {
		page++;
		entry++;
		size += PAGODA_PAGE;
	}
	reason = pagoda_system_span(exec, bus + inside, min(size, cursor->left), cursor->access,
				    &cursor->here, &got);
	if (unlikely(reason))
		return pagoda_engine_refuse(exec, reason, cursor->address, cursor->access);
	cursor->here_size = got;
	cursor->address += got;
	return VIRTIO_PAGODA_FAULT_NONE;
}

u64 pagoda_engine_map_tail(const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;

	return (u64)le32_to_cpu(map->nr_runs) * sizeof(struct virtio_pagoda_run);
}

/*
 * Checks that @segment is the aperture, and that the @pages pages from @first on, at least one,
 * which a MAP_ or UNMAP_APERTURE_SEGMENT changes, lie within the aperture (C63). Returns 0 or a
 * fault reason.
 */
static u32 aperture_range_check(struct pagoda_exec *exec, u32 segment, u64 first, u64 pages)
{
	u64 limit = exec->engine->aperture_pages;

	if (segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment);
	if (!pages || pages > limit || first > limit - pages)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, first);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_map_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	u32 generation = le32_to_cpu(map->generation);
	u64 pages = le64_to_cpu(map->nr_pages);
	u32 reason;

	if (le16_to_cpu(map->packet.flags) & VIRTIO_PAGODA_MAP_CACHE_COHERENT &&
	    !(exec->engine->features & 1ull << VIRTIO_PAGODA_F_COHERENT))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS,
				     VIRTIO_PAGODA_MAP_CACHE_COHERENT);
	if (map->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(map->reserved));
	reason = aperture_range_check(exec, le32_to_cpu(map->segment), le64_to_cpu(map->first_page),
				      pages);
	if (reason)
		return reason;
	if (!generation || generation > VIRTIO_PAGODA_MAX_GENERATION)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_STALE_GENERATION, generation);
	return pagoda_engine_runs_check(exec, (const void *)(map + 1), le32_to_cpu(map->nr_runs),
					pages, VIRTIO_PAGODA_ACCESS_NONE);
}

u32 pagoda_engine_map2_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;

	if (le16_to_cpu(map->packet.flags) & VIRTIO_PAGODA_MAP_CONTIGUOUS &&
	    le32_to_cpu(map->nr_runs) != 1)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, le32_to_cpu(map->nr_runs));
	return pagoda_engine_map_validate(exec, packet);
}

u32 pagoda_engine_map_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	const struct virtio_pagoda_run *run = (const void *)(map + 1);
	bool snooped = le16_to_cpu(map->packet.flags) & VIRTIO_PAGODA_MAP_CACHE_COHERENT;
	u64 left = le64_to_cpu(map->nr_pages) >> exec->half;
	u32 generation = le32_to_cpu(map->generation);
	u64 page = le64_to_cpu(map->first_page);

	/*
	 * Write back the paging queue's combined writes: after this packet the driver may free the
	 * pages that are replaced.
	 */
	pagoda_engine_combine_drain(exec->engine, exec->run->tlb);
	for (; left; run++) {
		u64 value = entry_make(le64_to_cpu(run->address), generation);
		u64 pages = min_t(u64, le32_to_cpu(run->nr_pages), left);

		left -= pages;
		for (; pages--; page++, value++) {
			page_snoop(exec->engine, page, snooped);
			WRITE_ONCE(exec->engine->aperture[page], value);
		}
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_unmap_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	u64 dummy = le64_to_cpu(unmap->dummy_page);
	struct virtio_pagoda_run run = {
		.address = unmap->dummy_page,
		.nr_pages = cpu_to_le32(1),
	};
	u32 reason;

	if (unmap->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(unmap->reserved));
	reason = aperture_range_check(exec, le32_to_cpu(unmap->segment),
				      le64_to_cpu(unmap->first_page), le64_to_cpu(unmap->nr_pages));
	if (reason)
		return reason;
	/* Bus address 0 can't be the dummy page: a zero entry is that of a page never mapped. */
	if (!dummy)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_UNREACHABLE, dummy);
	return pagoda_engine_runs_check(exec, &run, 1, 1, VIRTIO_PAGODA_ACCESS_NONE);
}

u32 pagoda_engine_unmap_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	u64 value = entry_make(le64_to_cpu(unmap->dummy_page), 0);
	u64 left = le64_to_cpu(unmap->nr_pages) >> exec->half;
	u64 page = le64_to_cpu(unmap->first_page);

	pagoda_engine_combine_drain(exec->engine, exec->run->tlb);
	for (; left--; page++) {
		page_snoop(exec->engine, page, true);
		WRITE_ONCE(exec->engine->aperture[page], value);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/**
 * pagoda_engine_aperture_lookup() - Get the translation of an aperture page
 * @engine: Engine
 * @page: Number of the aperture page
 * @address: Receives the bus address
 * @generation: Receives the generation; 0 = unmapped, the dummy page
 *
 * Context: any; the entry may change at any time.
 * Return: false when the page is outside of the aperture or was never mapped nor unmapped.
 */
bool pagoda_engine_aperture_lookup(const struct pagoda_engine *engine, u64 page,
				   u64 *address, u32 *generation)
{
	u64 entry;

	if (page >= engine->aperture_pages)
		return false;
	entry = READ_ONCE(engine->aperture[page]);
	*address = entry_bus(entry);
	*generation = entry_generation(entry);
	return entry;
}
