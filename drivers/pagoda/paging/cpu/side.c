// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: checks of the memory that a packet names, of the size of transfers and of the flags
 * CLEAN and DIRTY; set-up of struct pagoda_cpu_side.
 */
#include "internal.h"

/*
 * Returns whether the device accepts the flags CLEAN and DIRTY of a packet: CLEAN if @into, the
 * caller's check that whole pages are copied into VRAM; DIRTY if @out, that bytes are copied out of
 * VRAM; not both, and neither without F_DIRTY.
 */
bool pagoda_cpu_tracking_is_valid(const struct pagoda_cpu_executor *exec, u32 flags, bool into,
				  bool out)
{
	flags &= PAGODA_CPU_TRACKING;
	if (!flags)
		return true;
	if (exec->limits && !(exec->limits->features & 1ull << VIRTIO_PAGODA_F_DIRTY))
		return false;
	return flags == VIRTIO_PAGODA_TRANSFER_CLEAN ? into :
	       flags == VIRTIO_PAGODA_TRANSFER_DIRTY && out;
}

/*
 * Checks that a range isn't empty, that it is in VRAM, and that the CPU can reach the range.
 * Without @exec->limits, what the CPU can't reach of VRAM counts as outside of VRAM, unless the CPU
 * reaches none of VRAM. Returns VIRTIO_PAGODA_FAULT_NONE, OUT_OF_RANGE, as the device would, or
 * UNREACHABLE.
 */
u32 pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size)
{
	u64 reached = exec->vram ? exec->vram_size : 0;
	u64 end = exec->vram ? reached : U64_MAX;

	if (exec->limits)
		end = exec->limits->vram_size;
	if (!size || !pagoda_within(address, size, end))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	return pagoda_within(address, size, reached) ? VIRTIO_PAGODA_FAULT_NONE :
						       VIRTIO_PAGODA_FAULT_UNREACHABLE;
}

/*
 * Checks that all pages of an aperture range have been mapped or unmapped before (an unmapped page
 * leads to the dummy page), and that no page is mapped with a generation other than @generation;
 * @generation 0 matches any. Returns a fault reason or 0.
 */
u32 pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation)
{
	u64 first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 limit = exec->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
	u64 page, end;

	if (!exec->aperture)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	if (!size || !pagoda_within(address, size, limit))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	end = pagoda_pages(address + size);
	for (page = first; page < end; page++) {
		u32 mapped = exec->generations ? exec->generations[page] : 0;

		if (!exec->aperture[page])
			return VIRTIO_PAGODA_FAULT_UNREACHABLE;
		if (generation && mapped && mapped != generation)
			return VIRTIO_PAGODA_FAULT_STALE_GENERATION;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * If the device has an MMU, checks that MAP_MMU mapped the @size (not 0) bytes of device addresses
 * from @address on, for writing if @write. Returns VIRTIO_PAGODA_FAULT_NONE, NOT_MAPPED or
 * READ_ONLY.
 */
u32 pagoda_cpu_system_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			    bool write)
{
	u64 limit = exec->mmu_pages << VIRTIO_PAGODA_PAGE_SHIFT, page, end;

	if (!exec->mmu)
		return VIRTIO_PAGODA_FAULT_NONE;
	if (!pagoda_within(address, size, limit))
		return VIRTIO_PAGODA_FAULT_NOT_MAPPED;
	end = pagoda_pages(address + size);
	for (page = address >> VIRTIO_PAGODA_PAGE_SHIFT; page < end; page++) {
		if (!exec->mmu[page])
			return VIRTIO_PAGODA_FAULT_NOT_MAPPED;
		if (write && exec->mmu_read_only && exec->mmu_read_only[page])
			return VIRTIO_PAGODA_FAULT_READ_ONLY;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Returns whether @list->pages has a struct page for each of a run's @nr_pages pages, of which the
 * first has index @first.
 */
static bool run_has_pages(const struct pagoda_cpu_executor *exec,
			  const struct pagoda_cpu_runs *list, u64 first, u32 nr_pages)
{
	u32 i;

	for (i = 0; i < nr_pages && list->pages; i++)
		if (!exec->page_at(list->pages, first + i))
			return false;
	return list->pages;
}

static u32 run_check(const struct pagoda_cpu_executor *exec, const struct pagoda_cpu_runs *list,
		     const struct virtio_pagoda_run *run, u64 first)
{
	u64 address = le64_to_cpu(run->address);
	u32 nr_pages = le32_to_cpu(run->nr_pages), reason = VIRTIO_PAGODA_FAULT_NONE;

	if (run->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (!nr_pages || !pagoda_within(first, nr_pages, list->nr_pages))
		return VIRTIO_PAGODA_FAULT_BAD_RUNS;
	if (address & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (!list->bus)
		reason = pagoda_cpu_system_check(exec, address,
						 (u64)nr_pages << VIRTIO_PAGODA_PAGE_SHIFT,
						 list->write);
	if (!reason && !run_has_pages(exec, list, first, nr_pages))
		reason = VIRTIO_PAGODA_FAULT_UNREACHABLE;
	return reason;
}

/*
 * Checks that the runs of @list are well-formed and have struct pages, and that the device's MMU,
 * if there is one, allows the access, unless @list->bus is set. Returns a fault reason or 0.
 */
u32 pagoda_cpu_runs_check(const struct pagoda_cpu_executor *exec,
			  const struct pagoda_cpu_runs *list)
{
	u64 sum = 0;
	u32 i, reason;

	if (!list->nr_runs || (exec->limits && list->nr_runs > exec->limits->max_runs))
		return VIRTIO_PAGODA_FAULT_BAD_RUNS;
	for (i = 0; i < list->nr_runs; i++) {
		reason = run_check(exec, list, &list->runs[i], sum);
		if (reason)
			return reason;
		sum += le32_to_cpu(list->runs[i].nr_pages);
	}
	return sum == list->nr_pages ? VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_BAD_RUNS;
}

/*
 * Checks the fields of a location; fields that its segment doesn't use have to be zero. Returns
 * a fault reason or 0.
 */
static u32 location_check(const struct virtio_pagoda_location *location)
{
	u32 segment = le32_to_cpu(location->segment);

	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	if (location->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (location->generation && segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (le32_to_cpu(location->generation) > VIRTIO_PAGODA_MAX_GENERATION)
		return VIRTIO_PAGODA_FAULT_STALE_GENERATION;
	if (segment == VIRTIO_PAGODA_SEGMENT_SYSTEM ? !!location->address : !!location->nr_runs)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	return le64_to_cpu(location->address) & PAGODA_PAGE_MASK ?
	       VIRTIO_PAGODA_FAULT_MISALIGNED : VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks the source or, if @write, the destination of a packet, and sets @side; @runs and @pages
 * are used only for system memory. Returns a fault reason or 0.
 */
u32 pagoda_cpu_side_prepare(struct pagoda_cpu_executor *exec,
			    const struct virtio_pagoda_location *location, u64 size,
			    const struct virtio_pagoda_run *runs, const void *pages, bool write,
			    struct pagoda_cpu_side *side)
{
	const struct pagoda_cpu_runs list = {
		.runs = runs,
		.nr_runs = le32_to_cpu(location->nr_runs),
		.nr_pages = pagoda_pages(size),
		.pages = pages,
		.write = write,
	};
	u64 address = le64_to_cpu(location->address);
	u32 reason = location_check(location);

	*side = (struct pagoda_cpu_side) { .exec = exec };
	if (reason)
		return reason;
	switch (le32_to_cpu(location->segment)) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->pages = pages;
		return pagoda_cpu_runs_check(exec, &list);
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		reason = pagoda_cpu_vram_check(exec, address, size);
		if (!reason)
			side->vram = exec->vram + address;
		return reason;
	default:
		side->pages = exec->aperture;
		side->first = address >> VIRTIO_PAGODA_PAGE_SHIFT;
		return pagoda_cpu_aperture_check(exec, address, size,
						 le32_to_cpu(location->generation));
	}
}

/*
 * Checks size and number of runs of a TRANSFER or SPECIAL_LOCK_TRANSFER. Returns a fault reason or
 * 0.
 */
u32 pagoda_cpu_transfer_size_check(const struct pagoda_cpu_executor *exec,
				   const struct virtio_pagoda_transfer *transfer)
{
	u64 nr_runs = (u64)le32_to_cpu(transfer->src.nr_runs) + le32_to_cpu(transfer->dst.nr_runs);
	u64 size = le64_to_cpu(transfer->size);

	if (!size)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (size % 4)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	return exec->limits && nr_runs > exec->limits->max_runs ? VIRTIO_PAGODA_FAULT_BAD_RUNS :
								  VIRTIO_PAGODA_FAULT_NONE;
}
