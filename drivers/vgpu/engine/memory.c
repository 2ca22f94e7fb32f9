// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the memory, as the CPU accesses it, of a segment's addresses and of run lists.
 *
 * A span is memory that is contiguous for the CPU. A cursor goes through the source or destination
 * of a packet span by span. Checks come first and access nothing; memory that the checks accept is
 * then accessed without a fault, except for aperture pages that another queue remaps in between.
 */
#include "internal.h"

/* Stores @reason, @address and @access as the fault of the packet or command. Returns @reason. */
u32 pagoda_engine_refuse(struct pagoda_exec *exec, u32 reason, u64 address, u32 access)
{
	exec->run->fault.reason = reason;
	exec->run->fault.address = address;
	exec->run->fault.access = access;
	return reason;
}

/*
 * Translates an address of system memory, gets the span there from ops->system_span() and keeps it
 * as exec->window. *@here receives where the span begins, and *@got how many bytes of the span the
 * caller may use, at most @want. The callback isn't trusted: a span of no bytes is refused. Returns
 * a fault reason, which isn't stored in run->fault, or 0.
 */
u32 pagoda_engine_system_lookup(struct pagoda_exec *exec, u64 address, u64 want, u32 access,
				u8 **here, u64 *got)
{
	struct pagoda_engine *engine = exec->engine;
	bool translated = pagoda_translates(engine) && !exec->bus;
	bool read_only = false;
	u64 bus = address;
	u64 limit = want;
	u64 size = 0;
	u32 reason;
	u8 *found;

	if (translated) {
		reason = pagoda_engine_mmu_translate(exec, address, want, access, &bus, &limit,
						     &read_only);
		if (reason)
			return reason;
	}
	found = engine->ops->system_span(engine->context, bus, limit, &size);
	if (!found || !size)
		return VIRTIO_PAGODA_FAULT_UNREACHABLE;
	/* Limit the span: what follows for the CPU may have another device address, or none. */
	if (translated)
		size = min(size, limit);
	exec->window_bus = address;
	exec->window_size = size;
	exec->window = found;
	exec->window_read_only = read_only;
	*here = found;
	*got = min(want, size);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Returns whether a range of VRAM is inside of the segment and outside of the ranges published as
 * invalid. If not, *@bad receives the range's first invalid address, or @address for a range that
 * isn't inside of the segment.
 */
bool pagoda_engine_vram_valid(const struct pagoda_engine *engine, u64 address, u64 size, u64 *bad)
{
	u32 i;

	*bad = address;
	if (!size || size > engine->vram_size || address > engine->vram_size - size)
		return false;
	for (i = 0; i < engine->nr_invalid; i++) {
		const struct pagoda_engine_range *range = &engine->invalid[i];

		if (range->start >= address + size)
			break;
		if (range->start + range->size > address) {
			*bad = address > range->start ? address : range->start;
			return false;
		}
	}
	return true;
}

u32 pagoda_engine_vram_check(struct pagoda_exec *exec, u64 address, u64 size, u32 access)
{
	u64 bad;

	if (pagoda_engine_vram_valid(exec->engine, address, size, &bad))
		return VIRTIO_PAGODA_FAULT_NONE;
	return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, bad, access);
}

/*
 * Checks that a run of @size bytes begins at a page and can be reached. Unless @span is NULL,
 * *@span receives the run's memory, or NULL if that isn't contiguous. Returns 0 or a fault reason.
 */
static u32 run_check(struct pagoda_exec *exec, u64 address, u64 size, u32 access, u8 **span)
{
	u8 *here = NULL;
	u32 reason;
	u64 limit = pagoda_engine_mmu_limit(exec, &reason);
	u64 got = 0;

	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address, access);
	if (size > limit || address > limit - size)
		return pagoda_engine_refuse(exec, reason, address, access);
	reason = pagoda_system_span(exec, address, size, access, &here, &got);
	if (span)
		*span = !reason && got == size ? here : NULL;
	while (!reason && got < size) {
		address += got;
		size -= got;
		reason = pagoda_system_span(exec, address, size, access, &here, &got);
	}
	return reason ? pagoda_engine_refuse(exec, reason, address, access) : reason;
}

/*
 * Checks that runs are whole pages, can be reached for an @access (enum virtio_pagoda_access), and
 * have exactly @nr_pages pages together, and that @nr_runs isn't 0 or more than the engine's limit.
 * Stores the memory of each run, NULL if it isn't contiguous, in exec->spans, if that isn't NULL.
 * Returns a fault reason or 0.
 */
u32 pagoda_engine_runs_check(struct pagoda_exec *exec, const struct virtio_pagoda_run *runs,
			     u32 nr_runs, u64 nr_pages, u32 access)
{
	u64 sum = 0;
	u32 i, reason;

	if (!nr_runs || nr_runs > exec->engine->max_runs)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, nr_runs, access);
	for (i = 0; i < nr_runs; i++) {
		u32 pages = le32_to_cpu(runs[i].nr_pages);
		u64 address = le64_to_cpu(runs[i].address);

		if (runs[i].reserved)
			return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
						    le32_to_cpu(runs[i].reserved), access);
		sum += pages;
		if (!pages || sum > nr_pages)
			return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, address,
						    access);
		reason = run_check(exec, address, pages * PAGODA_PAGE, access,
				   exec->spans ? exec->spans++ : NULL);
		if (reason)
			return reason;
	}
	if (sum != nr_pages)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, sum, access);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks the fields of a location; fields that the location's segment doesn't use must be zero.
 * Returns a fault reason or 0.
 */
static u32 location_fields(struct pagoda_exec *exec, const struct virtio_pagoda_location *location,
			   u32 access)
{
	u32 segment = le32_to_cpu(location->segment);
	u32 generation = le32_to_cpu(location->generation);
	u64 address = le64_to_cpu(location->address);

	if (segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment, access);
	if (location->reserved)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
					    le32_to_cpu(location->reserved), access);
	if (generation && segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED, generation, access);
	if (generation > VIRTIO_PAGODA_MAX_GENERATION)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_STALE_GENERATION,
					    generation, access);
	if (segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return address ? pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED, address,
						      access) :
				 VIRTIO_PAGODA_FAULT_NONE;
	if (location->nr_runs)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
					    le32_to_cpu(location->nr_runs), access);
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address, access);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Checks the fields and the memory of a location of @size bytes that a packet names. Returns a
 * fault reason or 0.
 */
u32 pagoda_engine_location_check(struct pagoda_exec *exec,
				 const struct virtio_pagoda_location *location,
				 const struct virtio_pagoda_run *runs, u64 size, u32 access)
{
	u64 address = le64_to_cpu(location->address);
	u32 reason;

	reason = location_fields(exec, location, access);
	if (reason)
		return reason;
	switch (le32_to_cpu(location->segment)) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return pagoda_engine_runs_check(exec, runs, le32_to_cpu(location->nr_runs),
					 size / PAGODA_PAGE + !!(size % PAGODA_PAGE), access);
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return pagoda_engine_vram_check(exec, address, size, access);
	default:
		return pagoda_engine_aperture_check(exec, address, size,
						    le32_to_cpu(location->generation), access);
	}
}

/*
 * Sets a cursor to the first of @size bytes at a location that was checked. @spans has the memory
 * that the check found for each of @runs, or is NULL.
 */
void pagoda_engine_cursor_init(struct pagoda_cursor *cursor,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_run *runs, u8 *const *spans,
			       u64 size, u32 access)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->segment = le32_to_cpu(location->segment);
	cursor->generation = le32_to_cpu(location->generation);
	cursor->address = le64_to_cpu(location->address);
	cursor->access = access;
	cursor->left = size;
	cursor->run = runs;
	cursor->span = spans;
	cursor->snooped = cursor->segment == VIRTIO_PAGODA_SEGMENT_VRAM;
}

/*
 * If the check stored the memory of the next run of pages, makes that memory, at most cursor->left
 * bytes, the cursor's span and returns true. Returns false if not: the caller looks memory up.
 */
static bool system_noted(struct pagoda_cursor *cursor)
{
	u64 size = le32_to_cpu(cursor->run->nr_pages) * PAGODA_PAGE;

	if (!cursor->span || !*cursor->span)
		return false;
	cursor->here = *cursor->span++;
	cursor->here_size = min(size, cursor->left);
	cursor->run++;
	return true;
}

/*
 * Moves the cursor to the next span of a run list that was checked. If the span ends inside of a
 * run, cursor->address keeps the offset of the rest in the run. Returns 0 or a fault reason.
 */
static u32 system_next(struct pagoda_exec *exec, struct pagoda_cursor *cursor)
{
	u64 bus = le64_to_cpu(cursor->run->address) + cursor->address;
	u64 size = le32_to_cpu(cursor->run->nr_pages) * PAGODA_PAGE - cursor->address;
	u32 reason;
	u64 got;

	reason = pagoda_system_span(exec, bus, min(size, cursor->left), cursor->access,
				    &cursor->here, &got);
	if (unlikely(reason))
		return pagoda_engine_refuse(exec, reason, bus, cursor->access);
	cursor->here_size = got;
	if (got == size) {
		cursor->run++;
		if (cursor->span)
			cursor->span++;
		cursor->address = 0;
	} else {
		cursor->address += got;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Prepares the access to the cursor's span, if such accesses are combined. For a read, the write
 * combiner's lines of this memory are written back. For a write, the span may be redirected to a
 * line of the combiner; if the combiner cuts off the span's last line, this becomes cursor->tail.
 */
static void cursor_combine(struct pagoda_exec *exec, struct pagoda_cursor *cursor)
{
	u8 *here = cursor->here;
	u64 size = cursor->here_size;

	if (!cursor->combines || cursor->snooped)
		return;
	if (cursor->access != VIRTIO_PAGODA_ACCESS_WRITE) {
		pagoda_engine_combine_meet(exec, here, size);
		return;
	}
	pagoda_engine_combine_write(exec, &cursor->here, &cursor->here_size, cursor->left == size);
	cursor->tail = here + cursor->here_size;
	cursor->tail_size = size - cursor->here_size;
}

/*
 * Moves the cursor to the next span, memory that is contiguous for the CPU. The caller has used all
 * of the current span, and bytes are left. Returns a fault reason or 0.
 */
u32 pagoda_engine_cursor_refill(struct pagoda_exec *exec, struct pagoda_cursor *cursor)
{
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	if (cursor->tail_size) {
		cursor->here = cursor->tail;
		cursor->here_size = cursor->tail_size;
	} else if (cursor->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		if (!system_noted(cursor))
			reason = system_next(exec, cursor);
	} else if (cursor->segment == VIRTIO_PAGODA_SEGMENT_VRAM) {
		cursor->here = exec->engine->vram + cursor->address;
		cursor->here_size = cursor->left;
	} else {
		reason = pagoda_engine_aperture_span(exec, cursor);
	}
	if (reason)
		return reason;
	cursor_combine(exec, cursor);
	cursor->left -= cursor->here_size;
	return reason;
}

/*
 * Checks @size bytes within a page, outside of VRAM the whole page; *@here receives the bytes'
 * memory. 1 to 8 bytes, aligned to their number, can be accessed by a single load or store.
 * Returns 0 or a fault reason.
 */
u32 pagoda_engine_address_resolve(struct pagoda_exec *exec, u32 segment, u64 address,
				  u32 size, u32 access, u8 **here)
{
	struct pagoda_cursor cursor = { .access = access, .address = address, .left = size };
	u64 page = ALIGN_DOWN(address, PAGODA_PAGE);
	u64 got;
	u32 reason;

	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		reason = run_check(exec, page, PAGODA_PAGE, access, NULL);
		return reason ? reason : pagoda_system_span(exec, address, size, access, here,
							    &got);
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		reason = pagoda_engine_vram_check(exec, address, size, access);
		if (!reason)
			*here = exec->engine->vram + address;
		return reason;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		reason = pagoda_engine_aperture_check(exec, address, size, 0, access);
		if (!reason)
			reason = pagoda_engine_aperture_span(exec, &cursor);
		*here = cursor.here;
		return reason;
	default:
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment, access);
	}
}
