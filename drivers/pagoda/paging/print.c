// SPDX-License-Identifier: GPL-2.0
/*
 * Paging buffers as text, one line per packet:
 *
 *	0x0000 TRANSFER alloc=7 2 MiB vram+0x100000 -> system 3 runs [START END]
 *
 * The bytes are untrusted. A packet with a known opcode and the right length is printed with any
 * values of its fields; the first other packet ends the text. This file has helpers of all print*.c
 * and prints TRANSFER, FILL, DISCARD_CONTENT, the operations of the aperture, READ_PHYSICAL,
 * WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE and NOTIFY_ALLOC.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "print.h"
#include "table.h"

const struct pagoda_flag_name pagoda_transfer_flag_names[] = {
	{ VIRTIO_PAGODA_TRANSFER_SWIZZLE, "SWIZZLE" },
	{ VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, "UNSWIZZLE" },
	{ VIRTIO_PAGODA_TRANSFER_START, "START" },
	{ VIRTIO_PAGODA_TRANSFER_END, "END" },
	{ VIRTIO_PAGODA_TRANSFER_CLEAN, "CLEAN" },
	{ VIRTIO_PAGODA_TRANSFER_DIRTY, "DIRTY" },
	{ }
};

static const struct pagoda_flag_name map_flag_names[] = {
	{ VIRTIO_PAGODA_MAP_CACHE_COHERENT, "CACHE_COHERENT" },
	{ VIRTIO_PAGODA_MAP_CONTIGUOUS, "CONTIGUOUS" },
	{ }
};

static const struct pagoda_flag_name signal_flag_names[] = {
	{ VIRTIO_PAGODA_SIGNAL_VIRTUAL, "VIRTUAL" },
	{ VIRTIO_PAGODA_SIGNAL_EVENT, "EVENT" },
	{ VIRTIO_PAGODA_SIGNAL_FORWARD, "FORWARD" },
	{ }
};

static const struct pagoda_flag_name notify_flag_names[] = {
	{ VIRTIO_PAGODA_NOTIFY_EVICTION, "EVICTION" },
	{ VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP, "IOMMU_UNMAP" },
	{ }
};

/* Appends to @text; what doesn't fit is cut off, and @text stays terminated by a 0 byte. */
void pagoda_text_add(struct pagoda_paging_text *text, const char *format, ...)
{
	size_t room = text->size - text->len;
	va_list args;
	int length;

	if (text->len >= text->size)
		return;
	va_start(args, format);
	length = vsnprintf(text->data + text->len, room, format, args);
	va_end(args);
	if (length > 0)
		text->len += min_t(size_t, length, room - 1);
}

/* Prints a number of bytes in the largest unit, from B to TiB, that leaves a whole number. */
void pagoda_print_bytes(struct pagoda_paging_text *text, u64 bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	u32 unit = 0;

	while (bytes && bytes % 1024 == 0 && unit + 1 < ARRAY_SIZE(units)) {
		bytes /= 1024;
		unit++;
	}
	pagoda_text_add(text, " %llu %s", (unsigned long long)bytes, units[unit]);
}

void pagoda_print_count(struct pagoda_paging_text *text, u64 count, const char *what)
{
	pagoda_text_add(text, " %llu %s%s", (unsigned long long)count, what,
			count == 1 ? "" : "s");
}

void pagoda_print_address(struct pagoda_paging_text *text, u32 segment, u64 address)
{
	static const char *const names[] = { "system", "vram", "aperture" };

	if (segment < ARRAY_SIZE(names))
		pagoda_text_add(text, " %s+0x%llx", names[segment], (unsigned long long)address);
	else
		pagoda_text_add(text, " segment %u+0x%llx", segment, (unsigned long long)address);
}

void pagoda_print_location(struct pagoda_paging_text *text,
			   const struct virtio_pagoda_location *location)
{
	u32 segment = le32_to_cpu(location->segment);

	if (segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		pagoda_text_add(text, " system");
		pagoda_print_count(text, le32_to_cpu(location->nr_runs), "run");
	} else {
		pagoda_print_address(text, segment, le64_to_cpu(location->address));
	}
	if (location->generation)
		pagoda_text_add(text, " generation %u", le32_to_cpu(location->generation));
}

void pagoda_print_flags(struct pagoda_paging_text *text,
			const struct virtio_pagoda_packet *packet,
			const struct pagoda_flag_name *names)
{
	u32 flags = le16_to_cpu(packet->flags);
	const char *before = " [";

	if (!flags)
		return;
	for (; names && names->name; names++) {
		if (!(flags & names->flag))
			continue;
		pagoda_text_add(text, "%s%s", before, names->name);
		flags &= ~names->flag;
		before = " ";
	}
	if (flags)
		pagoda_text_add(text, "%s0x%x", before, flags);
	pagoda_text_add(text, "]");
}

void pagoda_print_transfer(struct pagoda_paging_text *text,
			   const struct virtio_pagoda_transfer *transfer)
{
	pagoda_print_bytes(text, le64_to_cpu(transfer->size));
	pagoda_print_location(text, &transfer->src);
	pagoda_text_add(text, " ->");
	pagoda_print_location(text, &transfer->dst);
}

void pagoda_transfer_print(struct pagoda_paging_text *text, const void *packet)
{
	u32 tiling = VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	const struct virtio_pagoda_transfer *transfer = packet;

	pagoda_print_transfer(text, transfer);
	if (le16_to_cpu(transfer->packet.flags) & tiling)
		pagoda_print_tiled(text, (const void *)(transfer + 1));
	pagoda_print_flags(text, packet, pagoda_transfer_flag_names);
}

void pagoda_fill_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_fill *fill = packet;

	pagoda_print_bytes(text, le64_to_cpu(fill->size));
	pagoda_print_address(text, le32_to_cpu(fill->segment), le64_to_cpu(fill->address));
	pagoda_text_add(text, " pattern 0x%08x", le32_to_cpu(fill->pattern));
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_discard_content_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_discard_content *discard = packet;

	pagoda_print_bytes(text, le64_to_cpu(discard->size));
	pagoda_print_address(text, le32_to_cpu(discard->segment), le64_to_cpu(discard->address));
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_map_aperture_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;

	pagoda_print_count(text, le64_to_cpu(map->nr_pages), "page");
	pagoda_text_add(text, " aperture page %llu generation %u",
			(unsigned long long)le64_to_cpu(map->first_page),
			le32_to_cpu(map->generation));
	pagoda_text_add(text, " -> system");
	pagoda_print_count(text, le32_to_cpu(map->nr_runs), "run");
	pagoda_print_flags(text, packet, map_flag_names);
}

void pagoda_unmap_aperture_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;

	pagoda_print_count(text, le64_to_cpu(unmap->nr_pages), "page");
	pagoda_text_add(text, " aperture page %llu -> dummy 0x%llx",
			(unsigned long long)le64_to_cpu(unmap->first_page),
			(unsigned long long)le64_to_cpu(unmap->dummy_page));
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_access_physical_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_access_physical *access = packet;

	pagoda_print_bytes(text, le32_to_cpu(access->size));
	pagoda_print_address(text, le32_to_cpu(access->segment), le64_to_cpu(access->address));
	pagoda_print_flags(text, packet, NULL);
}

void pagoda_signal_fence_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;

	pagoda_print_address(text, le32_to_cpu(signal->segment), le64_to_cpu(signal->address));
	pagoda_text_add(text, " = %llu", (unsigned long long)le64_to_cpu(signal->value));
	pagoda_print_flags(text, packet, signal_flag_names);
}

void pagoda_notify_alloc_print(struct pagoda_paging_text *text, const void *packet)
{
	const struct virtio_pagoda_notify_alloc *notify = packet;

	pagoda_print_bytes(text, le64_to_cpu(notify->size));
	pagoda_text_add(text, " from byte 0x%llx va 0x%llx process=%llu",
			(unsigned long long)le64_to_cpu(notify->offset),
			(unsigned long long)le64_to_cpu(notify->address),
			(unsigned long long)le64_to_cpu(notify->process));
	pagoda_print_flags(text, packet, notify_flag_names);
}

void pagoda_print_tiled(struct pagoda_paging_text *text, const struct virtio_pagoda_tiled *tiled)
{
	static const char *const names[] = { "linear", "4K", "64K" };
	u32 tiling = le32_to_cpu(tiled->layout.tiling);

	pagoda_text_add(text, " from byte 0x%llx of", pagoda_number(tiled->offset));
	pagoda_print_bytes(text, le64_to_cpu(tiled->surface_size));
	if (tiling < VIRTIO_PAGODA_TILING_COUNT)
		pagoda_text_add(text, " tiles %s", names[tiling]);
	else
		pagoda_text_add(text, " tiles %u", tiling);
	pagoda_text_add(text, " %u x %u", le32_to_cpu(tiled->layout.pitch),
			le32_to_cpu(tiled->layout.height));
	pagoda_print_count(text, le32_to_cpu(tiled->layout.mips), "mip");
}
