// SPDX-License-Identifier: GPL-2.0
/* Makes packets of every operation at random, valid or nearly valid. */
#include "fuzz.h"

#define RUN_SIZE	sizeof(struct virtio_pagoda_run)
#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define SWIZZLE		VIRTIO_PAGODA_TRANSFER_SWIZZLE
#define UNSWIZZLE	VIRTIO_PAGODA_TRANSFER_UNSWIZZLE

static u64 state;
/* Kind of device, as &struct fuzz_head.device, that the packet which is being made is for. */
static u32 device;

void fuzz_seed(u64 seed)
{
	state = seed;
}

u32 fuzz_pick(u32 count)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % count;
}

bool fuzz_chance(u32 percent)
{
	return fuzz_pick(100) < percent;
}

/* Chooses @pages pages in a row of system memory; returns their address as packets name it. */
static u64 make_system(u32 pages)
{
	return (device & FUZZ_DEVICE_MMU ? 0 : FUZZ_BUS) +
	       fuzz_pick(FUZZ_SYSTEM + 1 - pages) * FUZZ_PAGE;
}

/* Makes up to @nr_runs runs of @pages pages together, @bus: by bus addresses. Returns how many. */
static u32 make_runs(struct virtio_pagoda_run *runs, u32 nr_runs, u64 pages, bool bus)
{
	u32 i;

	for (i = 0; i < nr_runs && pages; i++) {
		u32 part = i + 1 == nr_runs ? pages : 1 + fuzz_pick(pages);
		u64 address;

		if (part > FUZZ_SYSTEM)
			part = FUZZ_SYSTEM;
		address = make_system(part);
		if (bus && address < FUZZ_BUS)
			address += FUZZ_BUS;
		runs[i] = (struct virtio_pagoda_run) {
			.address = cpu_to_le64(address),
			.nr_pages = cpu_to_le32(part),
		};
		pages -= part;
	}
	return i;
}

static u32 make_side(struct virtio_pagoda_location *side, struct virtio_pagoda_run *runs,
		     u64 pages, u32 segment)
{
	side->segment = cpu_to_le32(segment);
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->nr_runs = cpu_to_le32(make_runs(runs, 1 + fuzz_pick(FUZZ_RUNS / 2), pages,
						      false));
		break;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		side->address = cpu_to_le64(fuzz_pick(FUZZ_VRAM + 1 - pages) * FUZZ_PAGE);
		break;
	default:
		side->address = cpu_to_le64(fuzz_pick(20) * FUZZ_PAGE);
		side->generation = cpu_to_le32(fuzz_pick(3));
	}
	return le32_to_cpu(side->nr_runs);
}

/*
 * Describes a surface; returns its number of pages. There are few different layouts, so that a
 * swizzling range that a packet set up often fits the surface of another packet.
 */
static u32 make_tiled(struct virtio_pagoda_tiled *tiled)
{
	bool large = fuzz_chance(15);
	u32 tile = large ? VIRTIO_PAGODA_TILE_64K_WIDTH : VIRTIO_PAGODA_TILE_4K_WIDTH;
	u32 width = tile * (large ? 1 : 1 + fuzz_pick(2)), height = tile * (large ? 1 : 2);
	u32 mips = large ? 1 : 1 + fuzz_pick(3);
	u32 pages = large ? 16 : width * height / FUZZ_PAGE + mips + 1;

	*tiled = (struct virtio_pagoda_tiled) {
		.offset = cpu_to_le64(fuzz_pick(pages) * FUZZ_PAGE),
		.surface_size = cpu_to_le64(pages * FUZZ_PAGE),
		.layout = {
			.tiling = cpu_to_le32(large ? VIRTIO_PAGODA_TILING_64K :
						      VIRTIO_PAGODA_TILING_4K),
			.pitch = cpu_to_le32(width),
			.height = cpu_to_le32(height),
			.mips = cpu_to_le32(mips),
		},
	};
	return pages;
}

static u32 make_transfer(struct virtio_pagoda_transfer *transfer)
{
	struct virtio_pagoda_tiled *tiled = (void *)(transfer + 1);
	u32 tiling = fuzz_chance(30) ? 1 + fuzz_pick(2) : 0;
	struct virtio_pagoda_run *runs = (void *)(tiled + !!tiling);
	u32 surface = tiling ? make_tiled(tiled) : 0, nr_runs;
	u32 pages = 1 + fuzz_pick(tiling ? 3 : 6);

	nr_runs = make_side(&transfer->src, runs, pages, tiling == UNSWIZZLE ? VRAM :
			    fuzz_pick(VIRTIO_PAGODA_SEGMENT_COUNT));
	nr_runs += make_side(&transfer->dst, runs + nr_runs, pages, tiling == SWIZZLE ? VRAM :
			     fuzz_pick(VIRTIO_PAGODA_SEGMENT_COUNT));
	if (tiling)
		(tiling == SWIZZLE ? &transfer->dst : &transfer->src)->address =
			cpu_to_le64(fuzz_pick(FUZZ_VRAM + 1 - surface) * FUZZ_PAGE);
	transfer->packet.flags = cpu_to_le16(fuzz_pick(4) << 3 | tiling);
	transfer->packet.allocation = cpu_to_le64(fuzz_pick(4));
	transfer->size = cpu_to_le64(pages * FUZZ_PAGE -
				     (fuzz_chance(30) ? 4 * fuzz_pick(1024) : 0));
	return (u8 *)(runs + nr_runs) - (u8 *)transfer;
}

static u32 make_lock(struct virtio_pagoda_special_lock_transfer *lock)
{
	struct virtio_pagoda_transfer *transfer = &lock->transfer;
	struct virtio_pagoda_run *runs = (void *)(lock + 1);
	u32 pages = 1 + fuzz_pick(3), nr_runs;
	bool out = fuzz_chance(40);
	struct virtio_pagoda_location *vram = out ? &transfer->src : &transfer->dst;

	make_tiled(&lock->tiled);
	vram->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	vram->address = cpu_to_le64(fuzz_pick(3) * 16 * FUZZ_PAGE);
	nr_runs = make_side(out ? &transfer->dst : &transfer->src, runs, pages,
			    2 * fuzz_pick(2));
	transfer->packet.flags = cpu_to_le16(fuzz_pick(4) << 3);
	transfer->size = cpu_to_le64(pages * FUZZ_PAGE);
	lock->range_id = cpu_to_le32(fuzz_pick(FUZZ_RANGES));
	return sizeof(*lock) + nr_runs * RUN_SIZE;
}

static u32 make_map(struct virtio_pagoda_map_aperture_segment *map)
{
	u32 pages = 1 + fuzz_pick(6);
	u32 nr_runs = make_runs((void *)(map + 1), 1 + fuzz_pick(4), pages, false);

	map->packet.flags = cpu_to_le16(fuzz_pick(2));
	map->first_page = cpu_to_le64(fuzz_pick(20));
	map->nr_pages = cpu_to_le64(pages);
	map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	map->nr_runs = cpu_to_le32(nr_runs);
	map->generation = cpu_to_le32(1 + fuzz_pick(3));
	return sizeof(*map) + nr_runs * RUN_SIZE;
}

static u32 make_unmap(struct virtio_pagoda_unmap_aperture_segment *unmap)
{
	unmap->first_page = cpu_to_le64(fuzz_pick(20));
	unmap->nr_pages = cpu_to_le64(1 + fuzz_pick(20));
	unmap->dummy_page = cpu_to_le64(make_system(1));
	unmap->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	return sizeof(*unmap);
}

static u32 make_mmu(struct virtio_pagoda_map_mmu *map, bool mapping)
{
	u32 pages = 1 + fuzz_pick(4), nr_runs = 0;

	if (mapping) {
		nr_runs = make_runs((void *)(map + 1), 1 + fuzz_pick(4), pages, true);
		map->packet.flags = cpu_to_le16(fuzz_chance(20));
	}
	map->address = cpu_to_le64(fuzz_pick(FUZZ_SYSTEM + 4) * FUZZ_PAGE);
	map->nr_pages = cpu_to_le64(pages);
	map->nr_runs = cpu_to_le32(nr_runs);
	return sizeof(*map) + nr_runs * RUN_SIZE;
}

static u64 make_address(__le32 *segment, u32 size)
{
	u32 number = fuzz_pick(VIRTIO_PAGODA_SEGMENT_COUNT);
	u64 page = number == VIRTIO_PAGODA_SEGMENT_SYSTEM ? make_system(1) :
		   fuzz_pick(number == VIRTIO_PAGODA_SEGMENT_VRAM ? FUZZ_VRAM : 20) * FUZZ_PAGE;

	*segment = cpu_to_le32(number);
	return page + fuzz_pick(FUZZ_PAGE / size) * size;
}

/*
 * Returns the address of a page that is mapped when an input begins, or in few cases isn't: mostly
 * of VRAM if @local, else mostly of system memory.
 */
static u64 make_page_va(bool local)
{
	switch (fuzz_pick(12)) {
	case 0:
		return FUZZ_VA_MORE + fuzz_pick(16) * FUZZ_PAGE;
	case 1:
	case 2:
		return FUZZ_VA_64K + (local ? fuzz_pick(4) : 4 + fuzz_pick(4)) * 0x10000;
	case 3:
		return (local ? FUZZ_VA_ZERO : FUZZ_VA_2M) + fuzz_pick(FUZZ_SYSTEM) * FUZZ_PAGE;
	case 4:
		return FUZZ_VA_TABLE + fuzz_pick(FUZZ_SYSTEM) * FUZZ_PAGE;
	case 5:
		return FUZZ_VA_2M_MORE + fuzz_pick(20) * FUZZ_PAGE;
	case 6:
		return fuzz_pick(9) * FUZZ_VA_LARGE + fuzz_pick(512) * FUZZ_PAGE;
	default:
		return local ? FUZZ_VA_VRAM + fuzz_pick(FUZZ_VRAM) * FUZZ_PAGE :
			       FUZZ_VA_SYSTEM + fuzz_pick(FUZZ_SYSTEM) * FUZZ_PAGE;
	}
}

static u64 make_va(bool local, u32 align)
{
	u64 page = make_page_va(local);

	return fuzz_chance(60) ? page : page + fuzz_pick(FUZZ_PAGE / align) * align;
}

static u64 make_size(void)
{
	u32 pages = fuzz_chance(80) ? fuzz_pick(4) : fuzz_pick(600);

	return 4 + pages * FUZZ_PAGE + 4 * (fuzz_chance(50) ? 1023 : fuzz_pick(1024));
}

static u32 make_virtual_transfer(struct virtio_pagoda_virtual_transfer *transfer)
{
	u32 direction = fuzz_pick(3);
	u64 src = make_va(direction != VIRTIO_PAGODA_SYSTEM_TO_LOCAL, 4);
	u64 dst = make_va(direction != VIRTIO_PAGODA_LOCAL_TO_SYSTEM, 4);
	u16 flags = 0;

	if (src - FUZZ_VA_64K < FUZZ_VA_LARGE)
		flags |= VIRTIO_PAGODA_VIRTUAL_SRC_64K;
	if (dst - FUZZ_VA_64K < FUZZ_VA_LARGE)
		flags |= VIRTIO_PAGODA_VIRTUAL_DST_64K;
	transfer->packet.flags = cpu_to_le16(fuzz_chance(90) ? flags : fuzz_pick(4));
	transfer->size = cpu_to_le64(make_size());
	transfer->src_address = cpu_to_le64(src);
	transfer->dst_address = cpu_to_le64(dst);
	transfer->direction = cpu_to_le32(direction);
	return sizeof(*transfer);
}

/* Makes a page-table entry: of a page, a table or zeros, or an invalid entry. */
static u64 make_entry(u32 level)
{
	u64 segment = fuzz_pick(3), address, entry = VIRTIO_PAGODA_PTE_VALID;

	address = segment == VIRTIO_PAGODA_SEGMENT_SYSTEM ? make_system(1) :
							    fuzz_pick(FUZZ_VRAM) * FUZZ_PAGE;
	if (level && fuzz_chance(70)) {
		segment = fuzz_chance(80);
		address = segment ? (u64)(FUZZ_TABLE_4K + fuzz_pick(8)) * FUZZ_PAGE :
				    make_system(1);
	}
	switch (fuzz_pick(16)) {
	case 0:
		return VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO;
	case 1:
		return 0;
	case 2:
		entry |= 1ull << fuzz_pick(64);
		break;
	case 3:
		entry |= VIRTIO_PAGODA_PTE_READ_ONLY;
		break;
	case 4:
		entry |= VIRTIO_PAGODA_PTE_TABLE_64K;
		break;
	case 5:
		entry |= VIRTIO_PAGODA_PTE_LARGE;
		address &= ~(FUZZ_VA_LARGE - 1);
		break;
	case 6:
		entry |= (u64)fuzz_pick(4096) << VIRTIO_PAGODA_PTE_DRIVER_SHIFT;
		break;
	case 7:
		address &= ~0xffffull;
		break;
	case 8:
		address += fuzz_chance(50) ? 1ull << (12 + fuzz_pick(40)) : FUZZ_VRAM * FUZZ_PAGE;
		break;
	}
	return entry | segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT |
	       (address & VIRTIO_PAGODA_PTE_ADDRESS_MASK);
}

static u32 make_update(struct virtio_pagoda_update_page_table *update)
{
	static const u8 pages[] = {
		FUZZ_TABLE_4K, FUZZ_TABLE_64K, FUZZ_TABLE_1, FUZZ_TABLE_2, FUZZ_TABLE_2 + 1,
	};
	u32 table = fuzz_pick(ARRAY_SIZE(pages)), level = table < 2 ? 0 : table - 1, i;
	__le64 *values = (void *)(update + 1);
	u32 entries = 1 + fuzz_pick(fuzz_chance(80) ? 6 : 200), nr_values = 1;
	u64 address = pages[table] * FUZZ_PAGE;
	u16 flags = 0;

	update->mode = cpu_to_le32(1 + fuzz_pick(2));
	if (le32_to_cpu(update->mode) == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL) {
		update->table_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		if (fuzz_chance(20)) {
			update->table_segment = 0;
			address = make_system(1);
		}
	} else if (fuzz_chance(20)) {
		address = make_page_va(fuzz_chance(50));
	}
	if (table == 1 || (level == 1 && device & FUZZ_DUAL && fuzz_chance(50)))
		flags |= VIRTIO_PAGODA_UPDATE_USE_64K;
	if (fuzz_chance(10))
		flags |= 2 << fuzz_pick(2);
	switch (fuzz_pick(3)) {
	case 0:
		flags |= VIRTIO_PAGODA_UPDATE_REPEAT;
		break;
	case 1:
		update->increment = cpu_to_le32(FUZZ_PAGE << (fuzz_chance(30) ? fuzz_pick(20) : 0));
		if (update->increment)
			break;
		/* fall through */
	default:
		entries = 1 + entries % 6;
		nr_values = entries;
	}
	for (i = 0; i < nr_values; i++)
		values[i] = cpu_to_le64(make_entry(level));
	update->packet.flags = cpu_to_le16(flags);
	update->table_address = cpu_to_le64(address);
	update->level = cpu_to_le32(level);
	update->first_entry = cpu_to_le32(fuzz_pick(level ? 9 : table ? 16 : 120));
	update->nr_entries = cpu_to_le32(entries);
	update->nr_values = cpu_to_le32(nr_values);
	update->address_space = cpu_to_le32(fuzz_pick(FUZZ_SPACES));
	return sizeof(*update) + nr_values * 8;
}

static u64 make_table_va(void)
{
	switch (fuzz_pick(4)) {
	case 0:
		return make_page_va(fuzz_chance(50));
	case 1:
		return FUZZ_VA_SYSTEM + FUZZ_TABLE_SYS * FUZZ_PAGE;
	default:
		return FUZZ_VA_VRAM + (FUZZ_TABLE_4K + fuzz_pick(3)) * FUZZ_PAGE;
	}
}

static u32 make_copy(struct virtio_pagoda_copy_page_table_entries *copy)
{
	struct virtio_pagoda_copy_range *ranges = (void *)(copy + 1);
	u32 nr_ranges = 1 + fuzz_pick(3), i;

	for (i = 0; i < nr_ranges; i++) {
		u32 entries = 1 + fuzz_pick(fuzz_chance(80) ? 20 : 512);

		ranges[i] = (struct virtio_pagoda_copy_range) {
			.src_table = cpu_to_le64(make_table_va()),
			.dst_table = cpu_to_le64(make_table_va()),
			.src_entry = cpu_to_le32(fuzz_pick(513 - entries)),
			.dst_entry = cpu_to_le32(fuzz_pick(513 - entries)),
			.nr_entries = cpu_to_le32(entries),
		};
		/* The same table is source and destination, so that both may overlap. */
		if (fuzz_chance(30))
			ranges[i].dst_table = ranges[i].src_table;
		if (fuzz_chance(30))
			ranges[i].dst_entry = cpu_to_le32((le32_to_cpu(ranges[i].src_entry) +
							   fuzz_pick(7)) % (513 - entries));
	}
	copy->nr_ranges = cpu_to_le32(nr_ranges);
	copy->address_space = cpu_to_le32(fuzz_pick(FUZZ_SPACES));
	return sizeof(*copy) + nr_ranges * sizeof(*ranges);
}

static u32 make_flush(struct virtio_pagoda_flush_tlb *flush)
{
	if (fuzz_chance(70)) {
		flush->start = cpu_to_le64(make_page_va(fuzz_chance(50)));
		flush->end = cpu_to_le64(le64_to_cpu(flush->start) + fuzz_pick(3) * FUZZ_PAGE);
	}
	flush->root_address = cpu_to_le64(fuzz_world_root(device));
	flush->root_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	flush->address_space = cpu_to_le32(fuzz_chance(20));
	return sizeof(*flush);
}

static u32 make_init_context(struct virtio_pagoda_init_context_resource *init)
{
	u32 pages = 1 + fuzz_pick(4);
	u32 nr_runs = make_side(&init->dst, (void *)(init + 1), pages, fuzz_pick(3));

	init->size = cpu_to_le64(pages * FUZZ_PAGE);
	init->context = cpu_to_le64(fuzz_pick(3));
	init->gpu_address = cpu_to_le64(fuzz_chance(50) ? make_page_va(true) : 0);
	return sizeof(*init) + nr_runs * RUN_SIZE;
}

static u32 make_update_context(struct virtio_pagoda_update_context_allocation *update)
{
	u32 bytes = 1 + fuzz_pick(48);

	memset(update + 1, 0xc5, bytes);
	update->address = cpu_to_le64(make_page_va(fuzz_chance(50)));
	update->size = cpu_to_le64(4 * FUZZ_PAGE);
	update->data_size = cpu_to_le32(bytes);
	update->data_offset = cpu_to_le32(fuzz_pick(FUZZ_PAGE));
	return sizeof(*update) + (bytes + 7) / 8 * 8;
}

static u32 make_residency(struct virtio_pagoda_notify_residency *notify, bool second)
{
	bool resident = fuzz_chance(70);

	notify->packet.allocation = cpu_to_le64(1);
	notify->packet.flags = cpu_to_le16(resident);
	if (resident)
		notify->address = cpu_to_le64(make_address(&notify->segment, FUZZ_PAGE));
	if (second) {
		notify->offset = cpu_to_le64(fuzz_pick(8));
		notify->nr_pages = cpu_to_le64(1 + fuzz_pick(4));
	}
	return sizeof(*notify);
}

static u32 make_fences(struct virtio_pagoda_notify_fence_residency *notify)
{
	struct virtio_pagoda_fence_residency *fences = (void *)(notify + 1);
	u32 nr_fences = 1 + fuzz_pick(3), i;

	for (i = 0; i < nr_fences; i++) {
		fences[i].fence = cpu_to_le64(i);
		fences[i].current_value = cpu_to_le64(make_system(1) + 8 * fuzz_pick(512));
		if (fuzz_chance(50))
			fences[i].monitored_value = fences[i].current_value + cpu_to_le64(8);
	}
	notify->nr_fences = cpu_to_le32(nr_fences);
	return sizeof(*notify) + nr_fences * sizeof(*fences);
}

static u32 make_signal(struct virtio_pagoda_signal_monitored_fence *signal)
{
	signal->value = cpu_to_le64(state);
	signal->packet.flags = cpu_to_le16(fuzz_pick(VIRTIO_PAGODA_SIGNAL_FLAGS + 1));
	if (le16_to_cpu(signal->packet.flags) & VIRTIO_PAGODA_SIGNAL_VIRTUAL)
		signal->address = cpu_to_le64(make_va(fuzz_chance(50), 8));
	else
		signal->address = cpu_to_le64(make_address(&signal->segment, 8));
	return sizeof(*signal);
}

/* Makes a packet of an operation that has only a few fields, and nothing behind these. */
static u32 make_small(void *packet, u32 opcode)
{
	struct virtio_pagoda_access_physical *access = packet;
	struct virtio_pagoda_notify_alloc *notify = packet;
	struct virtio_pagoda_virtual_fill *virtual = packet;
	struct virtio_pagoda_fill *fill = packet;
	struct virtio_pagoda_discard_content *discard = packet;
	u32 size = 1u << fuzz_pick(4), pattern = fuzz_chance(30) ? 0x5a5a5a5a :
								  fuzz_pick(0x7fffffff);

	switch (opcode) {
	case VIRTIO_PAGODA_OP_FILL:
		fill->size = cpu_to_le64(4 + 4 * fuzz_pick(3000));
		fill->address = cpu_to_le64(4 * fuzz_pick(60000));
		fill->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		fill->pattern = cpu_to_le32(pattern);
		break;
	case VIRTIO_PAGODA_OP_VIRTUAL_FILL:
		virtual->size = cpu_to_le64(make_size());
		virtual->address = cpu_to_le64(make_va(fuzz_chance(50), 4));
		virtual->pattern = cpu_to_le32(pattern);
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		discard->size = cpu_to_le64((1 + fuzz_pick(3)) * FUZZ_PAGE);
		discard->address = cpu_to_le64(fuzz_pick(FUZZ_VRAM - 3) * FUZZ_PAGE);
		discard->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		break;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		access->size = cpu_to_le32(size);
		access->address = cpu_to_le64(make_address(&access->segment, size));
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		notify->packet.flags = cpu_to_le16(1 + fuzz_pick(2));
		notify->packet.allocation = cpu_to_le64(1);
		notify->size = cpu_to_le64(FUZZ_PAGE);
		break;
	}
	return fuzz_packet_fixed(opcode);
}

static u32 make_fields(void *packet, u32 opcode)
{
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		return make_transfer(packet);
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		return make_lock(packet);
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		return make_map(packet);
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		return make_unmap(packet);
	case VIRTIO_PAGODA_OP_MAP_MMU:
	case VIRTIO_PAGODA_OP_UNMAP_MMU:
		return make_mmu(packet, opcode == VIRTIO_PAGODA_OP_MAP_MMU);
	case VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER:
		return make_virtual_transfer(packet);
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return make_update(packet);
	case VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES:
		return make_copy(packet);
	case VIRTIO_PAGODA_OP_FLUSH_TLB:
		return make_flush(packet);
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
		return make_init_context(packet);
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		return make_update_context(packet);
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY:
	case VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2:
		return make_residency(packet, opcode == VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2);
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		return make_fences(packet);
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		return make_signal(packet);
	default:
		return make_small(packet, opcode);
	}
}

/*
 * Writes a random packet, valid or nearly valid, to the FUZZ_PACKET_MAX bytes at @data; returns the
 * size of the packet. The packet names system memory, tables and the root as for a device of @kind
 * (&struct fuzz_head.device), but may be of any operation, even one that this device refuses.
 */
u32 fuzz_make_packet(u8 *data, u32 kind)
{
	static const u8 often[] = {
		VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
		VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		VIRTIO_PAGODA_OP_VIRTUAL_FILL, VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER,
	};
	struct virtio_pagoda_packet *head = (void *)data;
	u32 opcode = fuzz_chance(50) ? often[fuzz_pick(ARRAY_SIZE(often))] :
				       1 + fuzz_pick(VIRTIO_PAGODA_OP_COUNT - 1);
	u32 length;

	device = kind;
	memset(data, 0, FUZZ_PACKET_MAX);
	length = make_fields(data, opcode);
	fuzz_require(length <= FUZZ_PACKET_MAX);
	head->opcode = cpu_to_le16(opcode);
	head->length = cpu_to_le32(length);
	return length;
}
