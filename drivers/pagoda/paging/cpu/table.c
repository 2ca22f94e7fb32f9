// SPDX-License-Identifier: GPL-2.0
/* CPU executor: UPDATE_PAGE_TABLE, FLUSH_TLB, COPY_PAGE_TABLE_ENTRIES. */
#include <linux/compiler.h>
#include <linux/minmax.h>
#include "walk.h"

#define PAGODA_ENTRY		VIRTIO_PAGODA_PT_ENTRY_BYTES

/*
 * The page table that an UPDATE_PAGE_TABLE writes: @memory if the packet has the table's virtual
 * address, else @side.
 */
struct pagoda_cpu_table {
	struct pagoda_cpu_virtual memory;
	struct pagoda_cpu_side side;
	bool is_virtual;
};

/*
 * Accepts the modes in which the device writes page tables, if the table's segment fits the mode.
 * Returns 0 or a fault reason.
 */
static u32 update_mode_check(const struct virtio_pagoda_update_page_table *update)
{
	u32 segment = le32_to_cpu(update->table_segment);

	switch (le32_to_cpu(update->mode)) {
	case VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL:
		return segment ? VIRTIO_PAGODA_FAULT_RESERVED : VIRTIO_PAGODA_FAULT_NONE;
	case VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL:
		return segment == VIRTIO_PAGODA_SEGMENT_SYSTEM ||
		       segment == VIRTIO_PAGODA_SEGMENT_VRAM ?
		       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	default:
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	}
}

static u32 update_place_check(const struct pagoda_paging_limits *limits,
			      const struct virtio_pagoda_update_page_table *update)
{
	bool use_64k = le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_USE_64K;
	u32 level = le32_to_cpu(update->level), reason;

	if (le32_to_cpu(update->address_space) >= limits->max_address_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	reason = update_mode_check(update);
	if (reason)
		return reason;
	if (le64_to_cpu(update->table_address) & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (level >= limits->pt_levels)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (use_64k && !pagoda_pt_may_use_64k(limits, level))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	return level && update->driver_protection ? VIRTIO_PAGODA_FAULT_RESERVED :
						    VIRTIO_PAGODA_FAULT_NONE;
}

static u32 update_values_check(const struct pagoda_paging_limits *limits,
			       const struct virtio_pagoda_update_page_table *update)
{
	bool use_64k = le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_USE_64K;
	bool repeat = le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_REPEAT;
	u32 nr_entries = le32_to_cpu(update->nr_entries);
	u64 increment = le32_to_cpu(update->increment), address;
	u64 most = pagoda_pt_entries(limits, le32_to_cpu(update->level), use_64k);

	if (!nr_entries || !pagoda_within(le32_to_cpu(update->first_entry), nr_entries, most))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (increment & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (repeat && increment)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if (le32_to_cpu(update->nr_values) != (repeat || increment ? 1 : nr_entries))
		return VIRTIO_PAGODA_FAULT_BAD_LENGTH;
	/* The address in the last entry must not overflow the address bits. */
	address = le64_to_cpu(*(const __le64 *)(update + 1)) & VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	return pagoda_within(address, (nr_entries - 1) * increment,
			     VIRTIO_PAGODA_PTE_ADDRESS_MASK) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
}

/*
 * Checks that the device's MMU, if there is one, allows writes to addresses [@address, @end), a
 * part of a table in system memory, and that the packet has a struct page array. Returns the fault
 * reason of the first bad page, UNREACHABLE without an array, or 0.
 */
static u32 table_system_check(const struct pagoda_cpu_packet *cpu, u64 address, u64 end)
{
	u64 next;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	for (; address < end && !reason; address = next) {
		next = min(end, address + pagoda_page_left(address));
		reason = pagoda_cpu_system_check(cpu->exec, address, next - address, true);
	}
	return reason || cpu->dst_pages ? reason : VIRTIO_PAGODA_FAULT_UNREACHABLE;
}

/*
 * Checks that the CPU may write bytes [@first, @end) of the update's table; sets @table. Returns 0
 * or a fault reason.
 */
static u32 table_prepare(const struct pagoda_cpu_packet *cpu,
			 const struct virtio_pagoda_update_page_table *update, u64 first, u64 end,
			 struct pagoda_cpu_table *table)
{
	u64 address = le64_to_cpu(update->table_address), at;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	struct pagoda_cpu_leaf leaf;

	*table = (struct pagoda_cpu_table) {
		.memory = {
			.exec = cpu->exec,
			.pages = cpu->dst_pages,
			.base = address,
			.write = true,
			.tables = true,
		},
		.side = { .exec = cpu->exec, .pages = cpu->dst_pages },
		.is_virtual = le32_to_cpu(update->mode) == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL,
	};
	/* The table must not reach beyond the last 64-bit address. */
	if (!pagoda_within(address, end, U64_MAX))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (table->is_virtual) {
		for (at = first; at < end && !reason; at += pagoda_page_left(at))
			reason = pagoda_cpu_virtual_find(&table->memory, address + at, &leaf);
		return reason;
	}
	if (le32_to_cpu(update->table_segment) == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return table_system_check(cpu, address + first, address + end);
	reason = pagoda_cpu_vram_check(cpu->exec, address, end);
	if (!reason)
		table->side.vram = cpu->exec->vram + address;
	return reason;
}

static u32 table_map(const struct pagoda_cpu_table *table, u64 offset,
		     struct pagoda_cpu_mapping *mapping)
{
	if (table->is_virtual)
		return pagoda_cpu_virtual_map(&table->memory, table->memory.base + offset, mapping);
	mapping->page = pagoda_cpu_side_map(&table->side, offset & ~PAGODA_PAGE_MASK);
	mapping->at = mapping->page + (offset & PAGODA_PAGE_MASK);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static void table_unmap(const struct pagoda_cpu_table *table,
			const struct pagoda_cpu_mapping *mapping)
{
	if (table->is_virtual)
		pagoda_cpu_virtual_unmap(&table->memory, mapping);
	else
		pagoda_cpu_side_unmap(&table->side, mapping->page);
}

/* Returns entry @i that the packet writes; an increment changes only the entry's address bits. */
static __le64 update_value(const struct virtio_pagoda_update_page_table *update, u32 i)
{
	const __le64 *values = (const void *)(update + 1);
	u64 increment = le32_to_cpu(update->increment), address, value;

	if (le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_REPEAT)
		return values[0];
	if (!increment)
		return values[i];
	value = le64_to_cpu(values[0]);
	address = (value + i * increment) & VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	return cpu_to_le64((value & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK) | address);
}

/*
 * Writes entries from number *@done on, up to the end of the page that @offset is in; advances
 * *@done. Returns 0 or a fault reason.
 */
static u32 update_page(const struct pagoda_cpu_table *table,
		       const struct virtio_pagoda_update_page_table *update, u64 offset, u32 stride,
		       u32 *done)
{
	u32 end = min_t(u64, le32_to_cpu(update->nr_entries),
			*done + (pagoda_page_left(offset) + stride - 1) / stride);
	struct pagoda_cpu_mapping mapping;
	u32 reason = table_map(table, offset, &mapping);
	u8 *at = mapping.at;

	if (reason)
		return reason;
	/* If @at is NULL, the table's virtual address maps zeros: writes are dropped. */
	for (; *done < end; (*done)++) {
		if (!at)
			continue;
		WRITE_ONCE(*(__le64 *)at, update_value(update, *done));
		at += stride;
	}
	table_unmap(table, &mapping);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_update_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_update_page_table *update = cpu->data;
	const struct pagoda_paging_limits *limits = cpu->exec->limits;
	u32 nr_entries = le32_to_cpu(update->nr_entries), done = 0, stride;
	struct pagoda_cpu_table table;
	u64 first;
	u32 reason;

	if (!limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (le16_to_cpu(update->packet.flags) &
	    ~(VIRTIO_PAGODA_UPDATE_REPEAT | VIRTIO_PAGODA_UPDATE_INITIAL |
	      VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION | VIRTIO_PAGODA_UPDATE_USE_64K))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = update_place_check(limits, update);
	if (!reason)
		reason = update_values_check(limits, update);
	if (reason)
		return reason;
	stride = pagoda_pt_stride(limits, le32_to_cpu(update->level));
	first = (u64)le32_to_cpu(update->first_entry) * stride +
		pagoda_pt_word(limits, le32_to_cpu(update->level),
			       le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_USE_64K);
	reason = table_prepare(cpu, update, first,
			       first + PAGODA_ENTRY + (u64)(nr_entries - 1) * stride, &table);
	while (!reason && done < nr_entries)
		reason = update_page(&table, update, first + (u64)done * stride, stride, &done);
	return reason;
}

/*
 * Only checks the packet: the CPU executor walks the tables for each access and has no TLB. Returns
 * 0 or a fault reason.
 */
u32 pagoda_flush_tlb_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_flush_tlb *flush = cpu->data;
	u64 start = le64_to_cpu(flush->start), end = le64_to_cpu(flush->end);
	const struct pagoda_root *root;

	if (!cpu->exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (flush->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (le32_to_cpu(flush->address_space) >= cpu->exec->limits->max_address_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (!cpu->exec->roots)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (start > end || end > pagoda_va_end(cpu->exec->limits))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	/*
	 * A flush that names another root than the space has means that the driver lost track of
	 * tables.
	 */
	root = &cpu->exec->roots[le32_to_cpu(flush->address_space)];
	return !root->entries || (root->segment == le32_to_cpu(flush->root_segment) &&
				  root->address == le64_to_cpu(flush->root_address)) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
}

/*
 * Checks the source or, if @write, the destination of a range of COPY_PAGE_TABLE_ENTRIES.
 * Returns a fault reason or 0.
 */
static u32 range_table_check(const struct pagoda_cpu_packet *cpu, u64 table, u32 first,
			     u32 nr_entries, bool write)
{
	const struct pagoda_cpu_virtual memory = {
		.exec = cpu->exec,
		.tables = true,
		.write = write,
	};
	struct pagoda_cpu_leaf leaf;

	if (table & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (!nr_entries || !pagoda_within(first, nr_entries, VIRTIO_PAGODA_PT_ENTRIES))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	return pagoda_cpu_virtual_find(&memory, table, &leaf);
}

static u32 range_check(const struct pagoda_cpu_packet *cpu,
		       const struct virtio_pagoda_copy_range *range)
{
	u32 nr_entries = le32_to_cpu(range->nr_entries);
	u32 reason;

	if (range->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	reason = range_table_check(cpu, le64_to_cpu(range->src_table),
				   le32_to_cpu(range->src_entry), nr_entries, false);
	return reason ? reason :
			range_table_check(cpu, le64_to_cpu(range->dst_table),
					  le32_to_cpu(range->dst_entry), nr_entries, true);
}

/*
 * Copies page-table entries as memmove() does, but with a single 64-bit access for each; if @from
 * is NULL, writes zeros.
 */
static void entries_move(__le64 *to, const __le64 *from, u32 nr_entries)
{
	u32 i;

	for (i = 0; i < nr_entries; i++) {
		u32 at = to > from ? nr_entries - 1 - i : i;

		WRITE_ONCE(to[at], from ? READ_ONCE(from[at]) : 0);
	}
}

static u32 range_copy(const struct pagoda_cpu_packet *cpu,
		      const struct virtio_pagoda_copy_range *range)
{
	struct pagoda_cpu_virtual src = { .exec = cpu->exec, .tables = true };
	struct pagoda_cpu_virtual dst = { .exec = cpu->exec, .tables = true, .write = true };
	u64 src_at = le32_to_cpu(range->src_entry) * PAGODA_ENTRY;
	u64 dst_at = le32_to_cpu(range->dst_entry) * PAGODA_ENTRY;
	struct pagoda_cpu_mapping from, to;
	u32 reason;

	reason = pagoda_cpu_virtual_map(&src, le64_to_cpu(range->src_table) + src_at, &from);
	if (reason)
		return reason;
	reason = pagoda_cpu_virtual_map(&dst, le64_to_cpu(range->dst_table) + dst_at, &to);
	if (!reason) {
		if (to.at)
			entries_move((void *)to.at, (void *)from.at,
				     le32_to_cpu(range->nr_entries));
		pagoda_cpu_virtual_unmap(&dst, &to);
	}
	pagoda_cpu_virtual_unmap(&src, &from);
	return reason;
}

/*
 * Copies page-table entries for a COPY_PAGE_TABLE_ENTRIES packet: the entries that the source
 * tables have when the packet is executed, not when it was built (C111). Returns 0 or a fault
 * reason.
 */
u32 pagoda_copy_entries_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = cpu->data;
	const struct virtio_pagoda_copy_range *ranges = (const void *)(copy + 1);
	u32 nr_ranges = le32_to_cpu(copy->nr_ranges), i, reason = VIRTIO_PAGODA_FAULT_NONE;

	if (!cpu->exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (copy->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (le32_to_cpu(copy->address_space) >= cpu->exec->limits->max_address_spaces)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	if (!nr_ranges)
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	for (i = 0; i < nr_ranges && !reason; i++)
		reason = range_check(cpu, &ranges[i]);
	for (i = 0; i < nr_ranges && !reason; i++)
		reason = range_copy(cpu, &ranges[i]);
	return reason;
}
