// SPDX-License-Identifier: GPL-2.0
/*
 * Prints packets as text: SPECIAL_LOCK_TRANSFER, the operations of save areas, notices of the
 * residency of allocations and fences, MAP_MMU and UNMAP_MMU.
 */
#include "emit.h"
#include "print.h"
#include "table.h"

static const struct pagoda_flag_name residency_flag_names[] = {
	{ VIRTIO_PAGODA_NOTIFY_RESIDENT, "RESIDENT" },
	{ }
};

static const struct pagoda_flag_name map_mmu_flag_names[] = {
	{ VIRTIO_PAGODA_MAP_MMU_READ_ONLY, "READ_ONLY" },
	{ }
};

void pagoda_special_lock_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_special_lock_transfer *lock = packet;

	pagoda_print_transfer(text, &lock->transfer);
	pagoda_text_add(text, " range %u data 0x%x", le32_to_cpu(lock->range_id),
			le32_to_cpu(lock->range_data));
	pagoda_print_tiled(text, &lock->tiled);
	pagoda_print_flags(text, packet, pagoda_transfer_flag_names);
}

void pagoda_init_context_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_init_context_resource *init = packet;

	pagoda_print_bytes(text, le64_to_cpu(init->size));
	pagoda_text_add(text, " context=%llu va 0x%llx ->", pagoda_number(init->context),
			pagoda_number(init->gpu_address));
	pagoda_print_location(text, &init->dst);
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_update_context_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;

	pagoda_print_bytes(text, le32_to_cpu(update->data_size));
	pagoda_text_add(text, " at byte 0x%x of", le32_to_cpu(update->data_offset));
	pagoda_print_bytes(text, le64_to_cpu(update->size));
	pagoda_text_add(text, " va 0x%llx", pagoda_number(update->address));
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_notify_residency_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_notify_residency *notify = packet;

	pagoda_print_address(text, le32_to_cpu(notify->segment), le64_to_cpu(notify->address));
	if (notify->nr_pages || notify->offset) {
		pagoda_print_count(text, le64_to_cpu(notify->nr_pages), "page");
		pagoda_text_add(text, " from page %llu", pagoda_number(notify->offset));
	}
	pagoda_print_flags(text, packet, residency_flag_names);
}

void pagoda_notify_fences_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;

	pagoda_print_count(text, le32_to_cpu(notify->nr_fences), "fence");
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_map_mmu_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;

	pagoda_print_count(text, le64_to_cpu(map->nr_pages), "page");
	pagoda_text_add(text, " device 0x%llx mmu %u", pagoda_number(map->address),
			le32_to_cpu(map->mmu));
	if (map->nr_runs) {
		pagoda_text_add(text, " -> system");
		pagoda_print_count(text, le32_to_cpu(map->nr_runs), "run");
	}
	pagoda_print_flags(text, packet, map_mmu_flag_names);
}
