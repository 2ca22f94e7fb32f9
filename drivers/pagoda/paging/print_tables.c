// SPDX-License-Identifier: GPL-2.0
/*
 * Prints packets as text: VIRTUAL_TRANSFER, VIRTUAL_FILL, UPDATE_PAGE_TABLE, FLUSH_TLB and
 * COPY_PAGE_TABLE_ENTRIES.
 */
#include <linux/kernel.h>

#include "emit.h"
#include "print.h"
#include "table.h"

static const struct pagoda_flag_name virtual_flag_names[] = {
	{ VIRTIO_PAGODA_VIRTUAL_SRC_64K, "SRC_64K" },
	{ VIRTIO_PAGODA_VIRTUAL_DST_64K, "DST_64K" },
	{ VIRTIO_PAGODA_TRANSFER_CLEAN, "CLEAN" },
	{ VIRTIO_PAGODA_TRANSFER_DIRTY, "DIRTY" },
	{ }
};

static const struct pagoda_flag_name update_flag_names[] = {
	{ VIRTIO_PAGODA_UPDATE_REPEAT, "REPEAT" },
	{ VIRTIO_PAGODA_UPDATE_INITIAL, "INITIAL" },
	{ VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION, "NOTIFY_EVICTION" },
	{ VIRTIO_PAGODA_UPDATE_USE_64K, "64K" },
	{ }
};

void pagoda_virtual_transfer_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	static const char *const names[] = {
		"local to system", "system to local", "local to local"
	};
	u32 direction = le32_to_cpu(transfer->direction);

	pagoda_print_bytes(text, le64_to_cpu(transfer->size));
	pagoda_text_add(text, " va 0x%llx -> va 0x%llx", pagoda_number(transfer->src_address),
			pagoda_number(transfer->dst_address));
	if (direction < ARRAY_SIZE(names))
		pagoda_text_add(text, " %s", names[direction]);
	else
		pagoda_text_add(text, " direction %u", direction);
	pagoda_text_add(text, " from byte 0x%llx", pagoda_number(transfer->allocation_offset));
	pagoda_print_flags(text, packet, virtual_flag_names);
}

void pagoda_virtual_fill_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_virtual_fill *fill = packet;

	pagoda_print_bytes(text, le64_to_cpu(fill->size));
	pagoda_text_add(text, " va 0x%llx pattern 0x%08x from byte 0x%llx",
			pagoda_number(fill->address), le32_to_cpu(fill->pattern),
			pagoda_number(fill->allocation_offset));
	pagoda_print_flags(text, packet, NULL);
}

/*
 * Prints the address of an update's page table: with GPU_PHYSICAL segment and address, with
 * GPU_VIRTUAL a virtual address, with any other mode the mode's number and the bare address.
 */
static void print_table(struct pagoda_paging_text *text,
			const struct virtio_pagoda_update_page_table *update)
{
	u32 mode = le32_to_cpu(update->mode);

	if (mode == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL)
		pagoda_print_address(text, le32_to_cpu(update->table_segment),
				     le64_to_cpu(update->table_address));
	else if (mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL)
		pagoda_text_add(text, " va 0x%llx", pagoda_number(update->table_address));
	else
		pagoda_text_add(text, " mode %u 0x%llx", mode,
				pagoda_number(update->table_address));
}

void pagoda_update_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;
	const __le64 *values = (const void *)(update + 1);
	u32 first = le32_to_cpu(update->first_entry), nr_entries = le32_to_cpu(update->nr_entries);

	pagoda_text_add(text, " L%u", le32_to_cpu(update->level));
	print_table(text, update);
	pagoda_text_add(text, " [%u..%llu) %u %s space=%u va=0x%llx", first,
			(unsigned long long)first + nr_entries, nr_entries,
			nr_entries == 1 ? "entry" : "entries", le32_to_cpu(update->address_space),
			pagoda_number(update->first_va));
	if (update->nr_values)
		pagoda_text_add(text, " = 0x%llx", pagoda_number(values[0]));
	if (update->increment)
		pagoda_text_add(text, " +0x%x", le32_to_cpu(update->increment));
	else if (le32_to_cpu(update->nr_values) > 1)
		pagoda_text_add(text, " ...");
	pagoda_print_flags(text, packet, update_flag_names);
}

void pagoda_flush_tlb_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_flush_tlb *flush = packet;

	pagoda_text_add(text, " space=%u root", le32_to_cpu(flush->address_space));
	pagoda_print_address(text, le32_to_cpu(flush->root_segment),
			     le64_to_cpu(flush->root_address));
	if (flush->start || flush->end)
		pagoda_text_add(text, " [0x%llx..0x%llx)", pagoda_number(flush->start),
				pagoda_number(flush->end));
	else
		pagoda_text_add(text, " whole space");
	pagoda_print_flags(text, packet, NULL);
}

/* Prints the number of ranges, and of the ranges only the first, because packets can be long. */
void pagoda_copy_entries_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_copy_range *range = (const void *)(copy + 1);
	u32 nr_ranges = le32_to_cpu(copy->nr_ranges);

	pagoda_text_add(text, " space=%u", le32_to_cpu(copy->address_space));
	pagoda_print_count(text, nr_ranges, "range");
	if (nr_ranges)
		pagoda_text_add(text, " va 0x%llx [%u] -> va 0x%llx [%u] %u entries",
				pagoda_number(range->src_table), le32_to_cpu(range->src_entry),
				pagoda_number(range->dst_table), le32_to_cpu(range->dst_entry),
				le32_to_cpu(range->nr_entries));
	pagoda_print_flags(text, packet, NULL);
}
