// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an operation from a recorded packet, and has the builder build the operation again. In a
 * large buffer the result must be the packet's bytes, or, of an UPDATE_PAGE_TABLE, packets with the
 * same entries. In small buffers the result must be well-formed packets that together do as much
 * work. If the packet is one of several of an operation, only its part is built again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "restream.h"

#define REBUILD_PASSES	100000

/* An operation made from a packet, with the page lists and arrays that the operation points to. */
struct rebuild {
	struct pagoda_paging_op op;
	struct pagoda_adl adl[2];
	void *memory[2];
};

/* Makes a page list of a packet's runs: an address for each page, or one base if @contiguous. */
static void rebuild_adl(struct rebuild *rebuild, int side, const struct virtio_pagoda_run *runs,
			u32 nr_runs, bool contiguous)
{
	struct pagoda_adl *adl = &rebuild->adl[side];
	dma_addr_t *pages;
	u64 at = 0, i;
	u32 run;

	for (run = 0; run < nr_runs; run++)
		adl->nr_pages += le32_to_cpu(runs[run].nr_pages);
	adl->contiguous = contiguous;
	adl->base = le64_to_cpu(runs[0].address);
	if (contiguous)
		return;
	pages = fuzz_alloc((adl->nr_pages + 1) * sizeof(*pages));
	rebuild->memory[side] = pages;
	adl->pages = pages;
	for (run = 0; run < nr_runs; run++)
		for (i = 0; i < le32_to_cpu(runs[run].nr_pages); i++)
			pages[at++] = le64_to_cpu(runs[run].address) + i * FUZZ_PAGE;
}

static struct pagoda_side rebuild_side(struct rebuild *rebuild, int number,
				       const struct virtio_pagoda_location *location,
				       const struct virtio_pagoda_run *runs)
{
	u32 nr_runs = le32_to_cpu(location->nr_runs);

	if (nr_runs)
		rebuild_adl(rebuild, number, runs, nr_runs, false);
	return (struct pagoda_side) {
		.segment = le32_to_cpu(location->segment),
		.generation = le32_to_cpu(location->generation),
		.address = le64_to_cpu(location->address),
		.adl = nr_runs ? &rebuild->adl[number] : NULL,
	};
}

static void rebuild_tiled(struct pagoda_op_transfer *transfer,
			  const struct virtio_pagoda_tiled *tiled, bool surface_is_dst)
{
	struct pagoda_side *piece = surface_is_dst ? &transfer->src : &transfer->dst;

	transfer->offset = le64_to_cpu(tiled->offset);
	transfer->surface_size = le64_to_cpu(tiled->surface_size);
	transfer->layout = (struct pagoda_layout) {
		.tiling = le32_to_cpu(tiled->layout.tiling),
		.pitch = le32_to_cpu(tiled->layout.pitch),
		.height = le32_to_cpu(tiled->layout.height),
		.mips = le32_to_cpu(tiled->layout.mips),
	};
	/* The packet has the address of the piece's first byte, the operation that of offset 0. */
	if (piece->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		piece->address -= transfer->offset;
}

static void rebuild_transfer(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_special_lock_transfer *lock = packet;
	const struct virtio_pagoda_transfer *transfer = packet;
	struct pagoda_op_transfer *op = &rebuild->op.transfer;
	u32 nr_src, nr_dst, at = fuzz_packet_runs(packet, &nr_src, &nr_dst);
	const struct virtio_pagoda_run *runs = packet + at;

	op->size = le64_to_cpu(transfer->size);
	op->flags = le16_to_cpu(transfer->packet.flags);
	op->src = rebuild_side(rebuild, 0, &transfer->src, runs);
	op->dst = rebuild_side(rebuild, 1, &transfer->dst, runs + nr_src);
	if (rebuild->op.operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) {
		op->range_id = le32_to_cpu(lock->range_id);
		op->range_data = le32_to_cpu(lock->range_data);
		rebuild_tiled(op, &lock->tiled, op->src.segment != VIRTIO_PAGODA_SEGMENT_VRAM);
	} else if (at != sizeof(*transfer)) {
		rebuild_tiled(op, (const void *)(transfer + 1),
			      op->flags & VIRTIO_PAGODA_TRANSFER_SWIZZLE);
	}
}

static void rebuild_map(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	u32 flags = le16_to_cpu(map->packet.flags);

	rebuild_adl(rebuild, 0, (const void *)(map + 1), le32_to_cpu(map->nr_runs),
		    flags & VIRTIO_PAGODA_MAP_CONTIGUOUS);
	rebuild->op.map_aperture = (struct pagoda_op_map_aperture) {
		.first_page = le64_to_cpu(map->first_page),
		.nr_pages = le64_to_cpu(map->nr_pages),
		.adl = &rebuild->adl[0],
		.flags = flags & VIRTIO_PAGODA_MAP_CACHE_COHERENT,
		.generation = le32_to_cpu(map->generation),
	};
}

static void rebuild_mmu(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_map_mmu *map = packet;

	rebuild->op.map_mmu = (struct pagoda_op_map_mmu) {
		.address = le64_to_cpu(map->address),
		.nr_pages = le64_to_cpu(map->nr_pages),
		.mmu = le32_to_cpu(map->mmu),
		.flags = le16_to_cpu(map->packet.flags),
	};
	if (!map->nr_runs)
		return;
	rebuild_adl(rebuild, 0, (const void *)(map + 1), le32_to_cpu(map->nr_runs), false);
	rebuild->op.map_mmu.adl = &rebuild->adl[0];
}

static void rebuild_update(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;
	u32 nr_entries = le32_to_cpu(update->nr_entries);
	u32 nr_values = le32_to_cpu(update->nr_values);
	const __le64 *values = (const void *)(update + 1);
	u64 *entries = fuzz_alloc(nr_entries * sizeof(*entries));
	u32 i;

	for (i = 0; i < nr_entries; i++)
		entries[i] = le64_to_cpu(values[nr_values == 1 ? 0 : i]) +
			     (u64)i * le32_to_cpu(update->increment);
	rebuild->memory[0] = entries;
	rebuild->op.update_page_table = (struct pagoda_op_update_page_table) {
		.mode = le32_to_cpu(update->mode),
		.level = le32_to_cpu(update->level),
		.first_entry = le32_to_cpu(update->first_entry),
		.nr_entries = nr_entries,
		.flags = le16_to_cpu(update->packet.flags),
		.address_space = le32_to_cpu(update->address_space),
		.table_entries = le32_to_cpu(update->first_entry) + nr_entries,
		.table_segment = le32_to_cpu(update->table_segment),
		.table_address = le64_to_cpu(update->table_address),
		.first_va = le64_to_cpu(update->first_va),
		.allocation_offset = le64_to_cpu(update->allocation_offset),
		.driver_protection = le64_to_cpu(update->driver_protection),
		.values = entries,
	};
}

static void rebuild_copy(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_copy_range *from = (const void *)(copy + 1);
	u32 nr_ranges = le32_to_cpu(copy->nr_ranges), i;
	struct pagoda_copy_range *ranges = fuzz_alloc(nr_ranges * sizeof(*ranges));

	for (i = 0; i < nr_ranges; i++)
		ranges[i] = (struct pagoda_copy_range) {
			.src_table = le64_to_cpu(from[i].src_table),
			.dst_table = le64_to_cpu(from[i].dst_table),
			.src_entry = le32_to_cpu(from[i].src_entry),
			.dst_entry = le32_to_cpu(from[i].dst_entry),
			.nr_entries = le32_to_cpu(from[i].nr_entries),
		};
	rebuild->memory[0] = ranges;
	rebuild->op.copy_entries = (struct pagoda_op_copy_entries) {
		.address_space = le32_to_cpu(copy->address_space),
		.nr_ranges = nr_ranges,
		.ranges = ranges,
	};
}

static void rebuild_fences(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;
	const struct virtio_pagoda_fence_residency *from = (const void *)(notify + 1);
	u32 nr_fences = le32_to_cpu(notify->nr_fences), i;
	struct pagoda_fence_residency *fences = fuzz_alloc(nr_fences * sizeof(*fences));

	for (i = 0; i < nr_fences; i++)
		fences[i] = (struct pagoda_fence_residency) {
			.fence = le64_to_cpu(from[i].fence),
			.current_value = le64_to_cpu(from[i].current_value),
			.monitored_value = le64_to_cpu(from[i].monitored_value),
		};
	rebuild->memory[0] = fences;
	rebuild->op.notify_fences = (struct pagoda_op_notify_fences) { nr_fences, fences };
}

static void rebuild_context(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_update_context_allocation *update = packet;
	const struct virtio_pagoda_init_context_resource *init = packet;

	if (rebuild->op.operation == VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE) {
		rebuild->op.init_context = (struct pagoda_op_init_context) {
			.context = le64_to_cpu(init->context),
			.size = le64_to_cpu(init->size),
			.gpu_address = le64_to_cpu(init->gpu_address),
			.dst = rebuild_side(rebuild, 0, &init->dst, (const void *)(init + 1)),
		};
		return;
	}
	rebuild->op.update_context = (struct pagoda_op_update_context) {
		.address = le64_to_cpu(update->address),
		.size = le64_to_cpu(update->size),
		.data = update + 1,
		.data_size = le32_to_cpu(update->data_size),
		.data_offset = le32_to_cpu(update->data_offset),
	};
}

static void rebuild_virtual(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	const struct virtio_pagoda_virtual_fill *fill = packet;

	if (rebuild->op.operation == VIRTIO_PAGODA_OP_VIRTUAL_FILL)
		rebuild->op.virtual_fill = (struct pagoda_op_virtual_fill) {
			.size = le64_to_cpu(fill->size),
			.address = le64_to_cpu(fill->address),
			.allocation_offset = le64_to_cpu(fill->allocation_offset),
			.pattern = le32_to_cpu(fill->pattern),
		};
	else
		rebuild->op.virtual_transfer = (struct pagoda_op_virtual_transfer) {
			.size = le64_to_cpu(transfer->size),
			.src_address = le64_to_cpu(transfer->src_address),
			.dst_address = le64_to_cpu(transfer->dst_address),
			.allocation_offset = le64_to_cpu(transfer->allocation_offset),
			.direction = le32_to_cpu(transfer->direction),
			.flags = le16_to_cpu(transfer->packet.flags),
		};
}

static void rebuild_notice(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_notify_residency *residency = packet;
	const struct virtio_pagoda_notify_alloc *alloc = packet;
	u32 flags = le16_to_cpu(residency->packet.flags);

	if (rebuild->op.operation == VIRTIO_PAGODA_OP_NOTIFY_ALLOC)
		rebuild->op.notify_alloc = (struct pagoda_op_notify_alloc) {
			.process = le64_to_cpu(alloc->process),
			.offset = le64_to_cpu(alloc->offset),
			.size = le64_to_cpu(alloc->size),
			.address = le64_to_cpu(alloc->address),
			.flags = flags,
		};
	else
		rebuild->op.notify_residency = (struct pagoda_op_notify_residency) {
			.address = le64_to_cpu(residency->address),
			.segment = le32_to_cpu(residency->segment),
			.flags = flags,
			.offset = le64_to_cpu(residency->offset),
			.nr_pages = le64_to_cpu(residency->nr_pages),
		};
}

/* Makes an operation whose packets have only fields: no runs, values or data follow. */
static void rebuild_small(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_fill *fill = packet;
	const struct virtio_pagoda_discard_content *discard = packet;
	const struct virtio_pagoda_access_physical *access = packet;
	const struct virtio_pagoda_unmap_aperture_segment *unmap = packet;
	const struct virtio_pagoda_flush_tlb *flush = packet;
	const struct virtio_pagoda_signal_monitored_fence *signal = packet;
	struct pagoda_paging_op *op = &rebuild->op;

	switch (op->operation) {
	case VIRTIO_PAGODA_OP_FILL:
		op->fill = (struct pagoda_op_fill) {
			le64_to_cpu(fill->size), le64_to_cpu(fill->address),
			le32_to_cpu(fill->segment), le32_to_cpu(fill->pattern),
		};
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		op->discard_content = (struct pagoda_op_discard_content) {
			le64_to_cpu(discard->size), le64_to_cpu(discard->address),
			le32_to_cpu(discard->segment), 0,
		};
		break;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		op->access_physical = (struct pagoda_op_access_physical) {
			.address = le64_to_cpu(access->address),
			.segment = le32_to_cpu(access->segment),
			.size = le32_to_cpu(access->size),
		};
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		op->unmap_aperture = (struct pagoda_op_unmap_aperture) {
			.first_page = le64_to_cpu(unmap->first_page),
			.nr_pages = le64_to_cpu(unmap->nr_pages),
			.dummy_page = le64_to_cpu(unmap->dummy_page),
		};
		break;
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		op->flush_tlb = (struct pagoda_op_flush_tlb) {
			.root_address = le64_to_cpu(flush->root_address),
			.root_segment = le32_to_cpu(flush->root_segment),
			.address_space = le32_to_cpu(flush->address_space),
			.start = le64_to_cpu(flush->start),
			.end = le64_to_cpu(flush->end),
		};
		break;
	default:
		op->signal_fence = (struct pagoda_op_signal_fence) {
			.address = le64_to_cpu(signal->address),
			.value = le64_to_cpu(signal->value),
			.segment = le32_to_cpu(signal->segment),
			.flags = le16_to_cpu(signal->packet.flags),
		};
	}
}

static void rebuild_operation(struct rebuild *rebuild, const void *packet)
{
	const struct virtio_pagoda_packet *head = packet;

	rebuild->op.operation = le16_to_cpu(head->opcode);
	rebuild->op.allocation = le64_to_cpu(head->allocation);
	switch (rebuild->op.operation) {
	case VIRTIO_PAGODA_OP_TRANSFER:
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		rebuild_transfer(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		rebuild_map(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_MAP_MMU:
	case VIRTIO_PAGODA_OP_UNMAP_MMU:
		rebuild_mmu(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		rebuild_update(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		rebuild_copy(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		rebuild_fences(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		rebuild_context(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		rebuild_virtual(rebuild, packet);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY:
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2:
		rebuild_notice(rebuild, packet);
		break;
	default:
		rebuild_small(rebuild, packet);
	}
}

/*
 * Returns the work of a packet: bytes, pages, entries, ranges or fences if the builder may divide
 * the packet's operation among several packets; else 1.
 */
static u64 rebuild_work(const void *packet)
{
	const struct virtio_pagoda_packet *head = packet;
	const struct virtio_pagoda_update_page_table *update = packet;
	const struct virtio_pagoda_copy_page_table_entries *copy = packet;
	const struct virtio_pagoda_notify_fence_residency *fences = packet;
	const struct virtio_pagoda_map_aperture_segment *map = packet;
	const struct virtio_pagoda_transfer *transfer = packet;
	const struct virtio_pagoda_map_mmu *mmu = packet;

	switch (le16_to_cpu(head->opcode)) {
	case VIRTIO_PAGODA_OP_TRANSFER:
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		return le64_to_cpu(transfer->size);
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		return le64_to_cpu(map->nr_pages);
	case VIRTIO_PAGODA_OP_MAP_MMU:
	case VIRTIO_PAGODA_OP_UNMAP_MMU:
		return le64_to_cpu(mmu->nr_pages);
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return le32_to_cpu(update->nr_entries);
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		return le32_to_cpu(copy->nr_ranges);
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		return le32_to_cpu(fences->nr_fences);
	default:
		return 1;
	}
}

/*
 * Builds an operation in as many passes as needed, each into all @size bytes of @data. Returns the
 * work of all packets built; 0 = the builder failed or built nothing, or a packet is malformed.
 * @built is set to the bytes of the last pass.
 */
static u64 rebuild_build(const struct pagoda_paging_limits *limits,
			 const struct pagoda_paging_op *op, u8 *data, u32 size, u32 *built)
{
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_paging_private priv[256];
	u32 passes, offset, next;
	enum pagoda_build ret;
	u64 work = 0;

	for (passes = 0; passes < REBUILD_PASSES; passes++) {
		struct pagoda_paging_buffer buf = {
			.pos = data, .size = size, .priv = (void *)priv, .priv_size = sizeof(priv),
		};

		ret = pagoda_paging_build(limits, op, &cursor, &buf);
		*built = buf.write_offset;
		for (offset = 0; offset < *built; offset = next) {
			next = fuzz_packet_next(data, *built, offset);
			if (!next || fuzz_packet_length(data + offset, *built - offset) !=
				     next - offset)
				return 0;
			work += rebuild_work(data + offset);
		}
		if (ret == PAGODA_BUILD_SUCCESS)
			return work;
		if (!*built || ret == PAGODA_BUILD_ALLOCATION_BUSY)
			return 0;
	}
	return 0;
}

/*
 * Returns whether @packet is an UPDATE_PAGE_TABLE and the packets in @data have the same entries.
 * The bytes may differ: if @packet was part of a longer update, the builder may encode its entries
 * differently now that these entries are a whole update.
 */
static bool rebuild_same_entries(const void *packet, const u8 *data, u32 built)
{
	struct rebuild whole = { }, part;
	u32 done = 0, offset, next;
	bool same = true;

	if (le16_to_cpu(((const struct virtio_pagoda_packet *)packet)->opcode) !=
	    VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE)
		return false;
	rebuild_operation(&whole, packet);
	for (offset = 0; offset < built && same; offset = next) {
		const struct pagoda_op_update_page_table *update = &part.op.update_page_table;

		part = (struct rebuild) { };
		next = fuzz_packet_next(data, built, offset);
		rebuild_operation(&part, data + offset);
		same = update->first_entry == whole.op.update_page_table.first_entry + done &&
		       !memcmp(update->values, whole.op.update_page_table.values + done,
			       update->nr_entries * sizeof(u64));
		done += update->nr_entries;
		free(part.memory[0]);
	}
	same &= done == whole.op.update_page_table.nr_entries;
	free(whole.memory[0]);
	return same;
}

/*
 * Makes the operation of a well-formed packet of @length bytes and builds the operation again, in
 * buffers of several sizes. Returns what went wrong, NULL = nothing.
 */
const char *restream_rebuild(const struct pagoda_paging_limits *limits, const void *packet,
			     u32 length)
{
	static const u32 sizes[] = { PAGODA_PAGING_MIN_BUFFER, 520, 1000, 4096 };
	struct rebuild rebuild = { };
	u32 room = length + 65536, built, i;
	u8 *data = fuzz_alloc(room);
	const char *why = NULL;

	rebuild_operation(&rebuild, packet);
	if (!pagoda_paging_validate(limits, &rebuild.op, &why))
		why = NULL;
	if (!why && rebuild_build(limits, &rebuild.op, data, room, &built) != rebuild_work(packet))
		why = "not all of it was built";
	if (!why && (built != length || memcmp(data, packet, length)) &&
	    !rebuild_same_entries(packet, data, built))
		why = "other bytes";
	for (i = 0; i < ARRAY_SIZE(sizes) && !why; i++)
		if (rebuild_build(limits, &rebuild.op, data, sizes[i], &built) !=
		    rebuild_work(packet))
			why = "not all of it was built in small buffers";
	free(rebuild.memory[0]);
	free(rebuild.memory[1]);
	free(data);
	return why;
}
