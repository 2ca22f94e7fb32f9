// SPDX-License-Identifier: GPL-2.0
/*
 * UPDATE_PAGE_TABLE and COPY_PAGE_TABLE_ENTRIES: writes to page tables.
 *
 * Entries are stored unchecked: the walk in walk.c checks them, since the memory of a table can be
 * written in other ways, too. A word of an entry is written by a single store, so that a walk by
 * another queue sees either the word's old or its new value.
 */
#include "internal.h"

#define PAGODA_PTE_BYTES	((u64)VIRTIO_PAGODA_PT_ENTRY_BYTES)

u64 pagoda_engine_update_tail(const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;

	return le32_to_cpu(update->nr_values) * PAGODA_PTE_BYTES;
}

static bool update_64k(const struct virtio_pagoda_update_page_table *update)
{
	return le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_USE_64K;
}

/* Returns the bytes of an entry of the packet's table: two words in a dual level-1 table. */
static u64 update_stride(const struct pagoda_exec *exec,
			 const struct virtio_pagoda_update_page_table *update)
{
	bool two = le32_to_cpu(update->level) == 1 && pagoda_engine_dual(exec->engine);

	return PAGODA_PTE_BYTES << two;
}

/* Returns the address of the word to write for entry @index of the packet's entries. */
static u64 update_address(const struct pagoda_exec *exec,
			  const struct virtio_pagoda_update_page_table *update, u64 index)
{
	u64 stride = update_stride(exec, update);
	bool second = update_64k(update) && stride > PAGODA_PTE_BYTES;

	return le64_to_cpu(update->table_address) +
	       (le32_to_cpu(update->first_entry) + index) * stride + second * PAGODA_PTE_BYTES;
}

/* Returns the most entries that a table of the packet's level, for its page size, can have. */
static u64 update_limit(const struct pagoda_exec *exec,
			const struct virtio_pagoda_update_page_table *update)
{
	u32 level = le32_to_cpu(update->level);

	if (level == exec->engine->pt_levels - 1)
		return pagoda_engine_root_limit(exec->engine);
	return !level && update_64k(update) ? VIRTIO_PAGODA_PT_ENTRIES_64K :
					      VIRTIO_PAGODA_PT_ENTRIES;
}

/*
 * Returns whether entries for 64 KiB pages exist at @level: in leaf tables if the device has such
 * pages, at level 1 as the second words of dual tables.
 */
static bool update_64k_valid(const struct pagoda_exec *exec, u32 level)
{
	if (level)
		return level == 1 && pagoda_engine_dual(exec->engine);
	return exec->engine->page_sizes & 1u << 16;
}

static u32 update_table_check(struct pagoda_exec *exec,
			      const struct virtio_pagoda_update_page_table *update)
{
	u32 segment = le32_to_cpu(update->table_segment);
	u64 address = le64_to_cpu(update->table_address);
	u32 space = le32_to_cpu(update->address_space);
	u32 level = le32_to_cpu(update->level);

	if (space >= exec->engine->nr_spaces)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, space);
	switch (le32_to_cpu(update->mode)) {
	case VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL:
		if (segment != VIRTIO_PAGODA_SEGMENT_VRAM &&
		    segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
			return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_SEGMENT, segment);
		break;
	case VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL:
		if (segment)
			return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED, segment);
		break;
	default:
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS,
				     le32_to_cpu(update->mode));
	}
	if (!IS_ALIGNED(address, PAGODA_PAGE))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, address);
	if (level >= exec->engine->pt_levels)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, level);
	if (update_64k(update) && !update_64k_valid(exec, level))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS,
				     VIRTIO_PAGODA_UPDATE_USE_64K);
	if (level && update->driver_protection)		/* C98: only leaves have a protection */
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le64_to_cpu(update->driver_protection));
	return VIRTIO_PAGODA_FAULT_NONE;
}

static u32 update_values_check(struct pagoda_exec *exec,
			       const struct virtio_pagoda_update_page_table *update)
{
	bool repeat = le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_REPEAT;
	const __le64 *values = (const void *)(update + 1);
	u64 mask = VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	u32 first = le32_to_cpu(update->first_entry);
	u32 entries = le32_to_cpu(update->nr_entries);
	u32 increment = le32_to_cpu(update->increment);
	u32 nr_values = le32_to_cpu(update->nr_values);

	if (!entries || (u64)first + entries > update_limit(exec, update))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, first);
	if (increment % PAGODA_PAGE)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, increment);
	if (repeat && increment)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED, increment);
	if (nr_values != (repeat || increment ? 1 : entries))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_LENGTH, nr_values);
	if ((u64)increment * (entries - 1) > mask - (le64_to_cpu(values[0]) & mask))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE,
				     le64_to_cpu(values[0]));
	/* The addresses of the entries, of which a root may have many, mustn't wrap around. */
	if (update_address(exec, update, entries - 1) + PAGODA_PTE_BYTES <
	    le64_to_cpu(update->table_address))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE,
				     le64_to_cpu(update->table_address));
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Finds the memory of the packet's entries from @index on. *@got receives how many of @want entries
 * are contiguous. *@here is NULL for a page of zeros, to which nothing is written. Returns 0 or a
 * fault reason.
 */
static u32 update_memory(struct pagoda_exec *exec,
			 const struct virtio_pagoda_update_page_table *update, u64 index, u32 want,
			 __le64 **here, u32 *got)
{
	u64 address = update_address(exec, update, index);
	u64 stride = update_stride(exec, update);
	struct pagoda_virtual_span span = { .size = (want - 1) * stride + PAGODA_PTE_BYTES };
	u32 reason;

	if (le32_to_cpu(update->mode) == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL) {
		reason = pagoda_engine_virtual_span(exec, 0, address, span.size,
						    VIRTIO_PAGODA_ACCESS_WRITE, &span);
	} else if (le32_to_cpu(update->table_segment) == VIRTIO_PAGODA_SEGMENT_VRAM) {
		reason = pagoda_engine_vram_check(exec, address, span.size,
						  VIRTIO_PAGODA_ACCESS_WRITE);
		if (!reason)
			span.here = exec->engine->vram + address;
	} else {
		u64 limit = pagoda_engine_mmu_limit(exec, &reason);

		if (address < limit)
			reason = pagoda_system_span(exec, address, min(span.size, limit - address),
						    VIRTIO_PAGODA_ACCESS_WRITE, &span.here,
						    &span.size);
		if (reason)
			pagoda_engine_refuse(exec, reason, address, VIRTIO_PAGODA_ACCESS_WRITE);
	}
	*here = (__le64 *)span.here;
	*got = (span.size - PAGODA_PTE_BYTES) / stride + 1;
	return reason;
}

u32 pagoda_engine_update_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;
	u32 left = le32_to_cpu(update->nr_entries);
	u64 index = 0;
	__le64 *here;
	u32 reason, got;

	reason = update_table_check(exec, update);
	if (reason)
		return reason;
	reason = update_values_check(exec, update);
	if (reason)
		return reason;
	for (; left; index += got, left -= got) {
		reason = update_memory(exec, update, index, min_t(u32, left, PAGODA_UPDATE_CHUNK),
				       &here, &got);
		if (reason)
			return reason;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Stores entries @index to @index + @count - 1 of the packet at @here, @step words apart. */
static void update_write(const struct virtio_pagoda_update_page_table *update, u64 index, u32 count,
			 u32 step, __le64 *here)
{
	const __le64 *values = (const void *)(update + 1);
	u64 increment = le32_to_cpu(update->increment);
	u64 value = le64_to_cpu(values[0]) + index * increment;

	if (le32_to_cpu(update->nr_values) == 1) {
		for (; count; count--, here += step, value += increment)
			WRITE_ONCE(*here, cpu_to_le64(value));
		return;
	}
	values += index;
	if (step == 1)	/* entries of a single word, as most tables have */
		for (; count >= 4; count -= 4, here += 4, values += 4) {
			WRITE_ONCE(here[0], values[0]);
			WRITE_ONCE(here[1], values[1]);
			WRITE_ONCE(here[2], values[2]);
			WRITE_ONCE(here[3], values[3]);
		}
	for (; count; count--, here += step)
		WRITE_ONCE(*here, *values++);
}

u32 pagoda_engine_update_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;
	u32 step = update_stride(exec, update) / PAGODA_PTE_BYTES;
	u32 left = le32_to_cpu(update->nr_entries) >> exec->half;
	const struct pagoda_engine_ops *ops = exec->engine->ops;
	u64 index = 0;
	__le64 *here;
	u32 reason, got;

	for (; left; index += got, left -= got) {
		reason = update_memory(exec, update, index, min_t(u32, left, PAGODA_UPDATE_CHUNK),
				       &here, &got);
		if (reason)
			return reason;
		if (here) {
			update_write(update, index, got, step, here);
			pagoda_engine_wrote(exec->engine, here, got * step * PAGODA_PTE_BYTES);
		}
		pagoda_virtual_progress(exec, got * PAGODA_PTE_BYTES);
	}
	if (!exec->half && ops->notify && le16_to_cpu(update->packet.flags) &
	    (VIRTIO_PAGODA_UPDATE_INITIAL | VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION))
		ops->notify(exec->engine->context, packet);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u64 pagoda_engine_copy_entries_tail(const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;

	return le32_to_cpu(copy->nr_ranges) * (u64)sizeof(struct virtio_pagoda_copy_range);
}

/*
 * Checks that the @entries entries from @first on lie in a page table of one page at virtual
 * address @table, and that their memory can be accessed. Returns 0 or a fault reason.
 */
static u32 copy_table_check(struct pagoda_exec *exec, u64 table, u32 first, u32 entries, u32 access)
{
	u64 va = table + first * PAGODA_PTE_BYTES;

	if (!IS_ALIGNED(table, PAGODA_PAGE))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, table, access);
	if (!entries || (u64)first + entries > VIRTIO_PAGODA_PT_ENTRIES)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, va, access);
	return pagoda_engine_virtual_check(exec, 0, va, entries * PAGODA_PTE_BYTES, access, 0,
					   NULL);
}

u32 pagoda_engine_copy_entries_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_copy_range *range = (const void *)(copy + 1);
	const struct virtio_pagoda_copy_range *end = range + le32_to_cpu(copy->nr_ranges);
	u32 reason;

	if (le32_to_cpu(copy->address_space) >= exec->engine->nr_spaces)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT,
				     le32_to_cpu(copy->address_space));
	if (range == end)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	for (; range < end; range++) {
		u32 entries = le32_to_cpu(range->nr_entries);

		if (range->reserved)
			return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
					     le32_to_cpu(range->reserved));
		reason = copy_table_check(exec, le64_to_cpu(range->src_table),
					  le32_to_cpu(range->src_entry), entries,
					  VIRTIO_PAGODA_ACCESS_READ);
		if (!reason)
			reason = copy_table_check(exec, le64_to_cpu(range->dst_table),
						  le32_to_cpu(range->dst_entry), entries,
						  VIRTIO_PAGODA_ACCESS_WRITE);
		if (reason)
			return reason;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Copies @count entries by single accesses, in an order in which an overlapping @dst overwrites no
 * entry before it is copied. If @src is NULL, a page of zeros, stores zeros.
 */
static void entries_move(__le64 *dst, const __le64 *src, u64 count)
{
	u64 i;

	if (!src) {
		for (i = 0; i < count; i++)
			WRITE_ONCE(dst[i], 0);
	} else if (dst <= src) {
		for (i = 0; i < count; i++)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
	} else {
		for (i = count; i--;)
			WRITE_ONCE(dst[i], READ_ONCE(src[i]));
	}
}

/*
 * Copies @count page-table entries; source and destination each lie within a page, so that their
 * memory is contiguous. Returns 0 or a fault reason.
 */
static u32 copy_range(struct pagoda_exec *exec, const struct virtio_pagoda_copy_range *range,
		      u64 count)
{
	u64 src_va = le64_to_cpu(range->src_table) +
		     le32_to_cpu(range->src_entry) * PAGODA_PTE_BYTES;
	u64 dst_va = le64_to_cpu(range->dst_table) +
		     le32_to_cpu(range->dst_entry) * PAGODA_PTE_BYTES;
	u64 bytes = count * PAGODA_PTE_BYTES;
	struct pagoda_virtual_span src, dst;
	u32 reason;

	reason = pagoda_engine_virtual_span(exec, 0, src_va, bytes, VIRTIO_PAGODA_ACCESS_READ,
					    &src);
	if (!reason)
		reason = pagoda_engine_virtual_span(exec, 0, dst_va, bytes,
						    VIRTIO_PAGODA_ACCESS_WRITE, &dst);
	if (!reason && dst.here) {
		entries_move((__le64 *)dst.here, (const __le64 *)src.here,
			     min(src.size, dst.size) / PAGODA_PTE_BYTES);
		pagoda_engine_wrote(exec->engine, dst.here, min(src.size, dst.size));
	}
	pagoda_virtual_progress(exec, bytes);
	return reason;
}

/*
 * Copies the packet's ranges in order (C109): a range is read only after the previous range was
 * written (C111). An injected failure copies half of the ranges, or half of a single range. Returns
 * 0 or a fault reason.
 */
u32 pagoda_engine_copy_entries_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_copy_range *range = (const void *)(copy + 1);
	u32 nr_ranges = le32_to_cpu(copy->nr_ranges);
	bool one = nr_ranges == 1;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u32 left = one ? 1 : nr_ranges >> exec->half;

	for (; left && !reason; left--, range++) {
		u64 count = le32_to_cpu(range->nr_entries) >> (one && exec->half);

		if (count)
			reason = copy_range(exec, range, count);
	}
	return reason;
}
