// SPDX-License-Identifier: GPL-2.0
/*
 * Changes inputs as packets rather than as bytes: makes, doubles, drops, moves and
 * splices whole packets, and sets fields to values near a limit. Most of the time
 * what a packet says about itself is put right afterwards (its length, its counts,
 * the pages of its runs), because most of what is wrong there ends a buffer early.
 */
#include "fuzz.h"

#define PACKET_MAX	(sizeof(struct virtio_pagoda_transfer) + 2 * FUZZ_RUNS * RUN_SIZE)
#define RUN_SIZE	sizeof(struct virtio_pagoda_run)

static const u16 opcodes[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_TRANSFER,
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_FILL, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
	VIRTIO_PAGODA_OP_READ_PHYSICAL, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
	VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE, VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
};

static u64 state;

static u32 pick(u32 count)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % count;
}

static bool chance(u32 percent)
{
	return pick(100) < percent;
}

/* A page of system memory; seldom one that isn't there. */
static __le64 make_bus(u32 pages)
{
	return cpu_to_le64(FUZZ_BUS + pick(FUZZ_SYSTEM + 1 - pages) * FUZZ_PAGE);
}

/* @nr_runs runs of @pages pages together; as many runs as there are pages at most. */
static u32 make_runs(struct virtio_pagoda_run *runs, u32 nr_runs, u64 pages)
{
	u32 i;

	for (i = 0; i < nr_runs && pages; i++) {
		u32 part = i + 1 == nr_runs ? pages : 1 + pick(pages);

		if (part > FUZZ_SYSTEM)
			part = FUZZ_SYSTEM;
		runs[i] = (struct virtio_pagoda_run) {
			.address = make_bus(part),
			.nr_pages = cpu_to_le32(part),
		};
		pages -= part;
	}
	return i;
}

static u32 make_side(struct virtio_pagoda_location *side, struct virtio_pagoda_run *runs, u64 pages)
{
	u32 segment = pick(VIRTIO_PAGODA_SEGMENT_COUNT);

	side->segment = cpu_to_le32(segment);
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		side->nr_runs = cpu_to_le32(make_runs(runs, 1 + pick(FUZZ_RUNS / 2), pages));
		break;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		side->address = cpu_to_le64(pick(FUZZ_VRAM + 1 - pages) * FUZZ_PAGE);
		break;
	default:
		side->address = cpu_to_le64(pick(FUZZ_APERTURE + 1 - pages) * FUZZ_PAGE);
		side->generation = cpu_to_le32(pick(3));
	}
	return le32_to_cpu(side->nr_runs);
}

static u32 make_transfer(struct virtio_pagoda_transfer *transfer)
{
	struct virtio_pagoda_run *runs = (void *)(transfer + 1);
	u32 pages = 1 + pick(6), nr_runs;

	nr_runs = make_side(&transfer->src, runs, pages);
	nr_runs += make_side(&transfer->dst, runs + nr_runs, pages);
	transfer->packet.flags = cpu_to_le16(pick(4) << 3);
	transfer->size = cpu_to_le64(pages * FUZZ_PAGE - (chance(30) ? 4 * pick(1024) : 0));
	return sizeof(*transfer) + nr_runs * RUN_SIZE;
}

static u32 make_map(struct virtio_pagoda_map_aperture_segment *map)
{
	u32 pages = 1 + pick(6), nr_runs = make_runs((void *)(map + 1), 1 + pick(4), pages);

	map->packet.flags = cpu_to_le16(pick(2));
	map->first_page = cpu_to_le64(pick(FUZZ_APERTURE + 1 - pages));
	map->nr_pages = cpu_to_le64(pages);
	map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	map->nr_runs = cpu_to_le32(nr_runs);
	map->generation = cpu_to_le32(1 + pick(3));
	return sizeof(*map) + nr_runs * RUN_SIZE;
}

static void make_unmap(struct virtio_pagoda_unmap_aperture_segment *unmap)
{
	u32 pages = 1 + pick(FUZZ_APERTURE);

	unmap->first_page = cpu_to_le64(pick(FUZZ_APERTURE + 1 - pages));
	unmap->nr_pages = cpu_to_le64(pages);
	unmap->dummy_page = make_bus(1);
	unmap->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
}

static u64 make_address(__le32 *segment, u32 size)
{
	u32 number = pick(VIRTIO_PAGODA_SEGMENT_COUNT);
	u64 base = number == VIRTIO_PAGODA_SEGMENT_SYSTEM ? FUZZ_BUS : 0;

	*segment = cpu_to_le32(number);
	return base + pick(FUZZ_VRAM) * FUZZ_PAGE + pick(FUZZ_PAGE / size) * size;
}

static void make_small(void *packet, u32 opcode)
{
	struct virtio_pagoda_access_physical *access = packet;
	struct virtio_pagoda_signal_monitored_fence *signal = packet;
	struct virtio_pagoda_notify_alloc *notify = packet;
	struct virtio_pagoda_fill *fill = packet;
	struct virtio_pagoda_discard_content *discard = packet;
	u32 size = 1u << pick(4);

	switch (opcode) {
	case VIRTIO_PAGODA_OP_FILL:
		fill->size = cpu_to_le64(4 + 4 * pick(3000));
		fill->address = cpu_to_le64(4 * pick(5000));
		fill->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		fill->pattern = cpu_to_le32(chance(30) ? 0x5a5a5a5a : pick(0x7fffffff));
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		discard->size = cpu_to_le64((1 + pick(3)) * FUZZ_PAGE);
		discard->address = cpu_to_le64(pick(FUZZ_VRAM - 3) * FUZZ_PAGE);
		discard->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		break;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		access->size = cpu_to_le32(size);
		access->address = cpu_to_le64(make_address(&access->segment, size));
		break;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		signal->address = cpu_to_le64(make_address(&signal->segment, 8));
		signal->value = cpu_to_le64(state);
		signal->packet.flags = cpu_to_le16(pick(2) * VIRTIO_PAGODA_SIGNAL_EVENT);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		notify->packet.flags = cpu_to_le16(1 + pick(2));
		notify->packet.allocation = cpu_to_le64(1);
		notify->size = cpu_to_le64(FUZZ_PAGE);
		break;
	}
}

/* A packet that is good, or nearly; returns its bytes. */
static u32 make_packet(u8 *data)
{
	struct virtio_pagoda_packet *head = (void *)data;
	u32 opcode = opcodes[pick(ARRAY_SIZE(opcodes))], length = fuzz_packet_fixed(opcode);

	memset(data, 0, PACKET_MAX);
	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		length = make_transfer((void *)data);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		length = make_map((void *)data);
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		make_unmap((void *)data);
		break;
	default:
		make_small(data, opcode);
	}
	head->opcode = cpu_to_le16(opcode);
	head->length = cpu_to_le32(length);
	return length;
}

/* A value at or next to where some check decides. */
static u64 make_boundary(void)
{
	static const u64 values[] = {
		0, 1, 2, 3, FUZZ_RUNS, FUZZ_APERTURE, FUZZ_PAGE, FUZZ_VRAM * FUZZ_PAGE,
		FUZZ_APERTURE * FUZZ_PAGE, FUZZ_BUS, FUZZ_BUS + FUZZ_SYSTEM * FUZZ_PAGE,
		VIRTIO_PAGODA_MAX_GENERATION, 1ull << 16, 1ull << 31, 1ull << 32, 1ull << 40,
		1ull << 44, 1ull << 52, 1ull << 63, ~0ull, ~0ull << VIRTIO_PAGODA_PAGE_SHIFT,
		0xfffff000,
	};
	static const u32 near[] = { 0, 0, 0, 1, 4, 8, FUZZ_PAGE };
	u64 value = values[pick(ARRAY_SIZE(values))], by = near[pick(ARRAY_SIZE(near))];

	return chance(50) ? value + by : value - by;
}

/* Sets, or moves by a little, some 16, 32 or 64 bits of a packet. */
static void change_field(u8 *packet, u32 length)
{
	u32 width = 2u << pick(3);
	u8 *at = packet + pick(length / width) * width;
	u64 value = 0;

	memcpy(&value, at, width);
	switch (pick(4)) {
	case 0:
		value ^= 1ull << pick(8 * width);
		break;
	case 1:
		value += (u64)(chance(50) ? 1 : -1) * (chance(50) ? 1 : FUZZ_PAGE);
		break;
	default:
		value = make_boundary();
	}
	memcpy(at, &value, width);
}

/* Makes a packet's length, then what its runs add up to, what the rest calls for. */
static void put_right(u8 *data, u32 size, u32 offset)
{
	struct virtio_pagoda_packet *head = (void *)(data + offset);
	u32 fixed = fuzz_packet_fixed(le16_to_cpu(head->opcode)), nr_src, nr_dst;
	struct virtio_pagoda_transfer *transfer = (void *)head;
	struct virtio_pagoda_map_aperture_segment *map = (void *)head;
	struct virtio_pagoda_run *run;
	u64 pages = 0, room;
	u32 i;

	if (!fixed || size - offset < fixed)
		return;
	room = (size - offset - fixed) / RUN_SIZE;
	fuzz_packet_runs(head, &nr_src, &nr_dst);
	if ((u64)nr_src + nr_dst > room)
		return;
	head->length = cpu_to_le32(fixed + (nr_src + nr_dst) * RUN_SIZE);
	run = (void *)(data + offset + fixed);
	for (i = 0; i < (nr_src ? nr_src : nr_dst); i++)
		pages += le32_to_cpu(run[i].nr_pages);
	if (!pages || chance(40))
		return;
	if (fixed == sizeof(*transfer))
		transfer->size = cpu_to_le64(pages * FUZZ_PAGE - 4 * pick(2));
	else
		map->nr_pages = cpu_to_le64(pages);
}

/* Where a packet starts, found by walking; *@next is where it ends. */
static u32 choose_packet(const u8 *data, u32 size, u32 *next)
{
	u32 offset = 0, chosen = 0, count = 0, end;

	*next = 0;
	while (offset < size) {
		end = fuzz_packet_next(data, size, offset);
		if (!end)
			break;
		if (!pick(++count)) {
			chosen = offset;
			*next = end;
		}
		offset = end;
	}
	return chosen;
}

/* Puts @length bytes where a packet starts or behind the last one. */
static u32 insert(u8 *data, u32 size, u32 room, const u8 *packet, u32 length)
{
	u32 next, at = choose_packet(data, size, &next);

	if (size + length > room)
		return size;
	if (chance(50))
		at = next;
	memmove(data + at + length, data + at, size - at);
	memcpy(data + at, packet, length);
	return size + length;
}

static u32 mutate_packets(u8 *data, u32 size, u32 room)
{
	u64 aligned[PACKET_MAX / sizeof(u64)];
	u32 next, at = choose_packet(data, size, &next), length = next - at;
	u8 *packet = (void *)aligned;

	if (!next || chance(25))
		return insert(data, size, room, packet, make_packet(packet));
	switch (pick(8)) {
	case 0:
		memmove(data + at, data + next, size - next);
		return size - length;
	case 1:
		if (length > PACKET_MAX)
			return size;
		memcpy(packet, data + at, length);
		return insert(data, size, room, packet, length);
	case 2:
		LLVMFuzzerMutate(data + at, length, length);
		break;
	default:
		change_field(data + at, length);
	}
	if (chance(85))
		put_right(data, size, at);
	return size;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_head *head = (void *)data;
	u32 changes;

	state = seed;
	if (room < sizeof(*head))
		return 0;
	if (room > sizeof(*head) + FUZZ_BUFFER)
		room = sizeof(*head) + FUZZ_BUFFER;
	if (size < sizeof(*head) || size > room) {
		memset(head, 0, sizeof(*head));
		size = sizeof(*head);
	}
	if (chance(20))
		head->mode = pick(16);
	if (chance(5))
		head->reserved[0] = pick(256);
	if (size > sizeof(*head) && chance(2))
		return LLVMFuzzerMutate(data, size, room);
	for (changes = 1 + pick(4); changes; changes--)
		size = sizeof(*head) + mutate_packets(data + sizeof(*head), size - sizeof(*head),
						      room - sizeof(*head));
	return size;
}

/* The first packets of one and the last of another. */
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b, size_t b_size,
				 u8 *out, size_t room, unsigned int seed)
{
	const u32 skip = sizeof(struct fuzz_head);
	u32 next, from;

	state = seed;
	if (room > skip + FUZZ_BUFFER)
		room = skip + FUZZ_BUFFER;
	if (a_size < skip || b_size < skip || a_size > room)
		return 0;
	choose_packet(a + skip, a_size - skip, &next);
	from = choose_packet(b + skip, b_size - skip, &(u32){ 0 });
	if (skip + next + (b_size - skip - from) > room)
		return 0;
	memcpy(out, a, skip + next);
	memcpy(out + skip + next, b + skip + from, b_size - skip - from);
	return skip + next + (b_size - skip - from);
}
