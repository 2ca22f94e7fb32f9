// SPDX-License-Identifier: GPL-2.0
/*
 * Changes inputs as packets, seldom as bytes: makes, doubles and drops whole packets, sets fields
 * to values near a limit, and joins packets of two inputs. In most cases the length of a changed
 * packet is corrected, and so is the size that the packet states for its runs: a wrong length or
 * size mostly ends the execution of a buffer early. job_make.c changes the commands of a job.
 */
#include "job.h"

/* Returns a limit that some check compares with, or a value near such a limit. */
static u64 make_boundary(void)
{
	static const u64 values[] = {
		0, 1, 2, 3, FUZZ_RUNS, FUZZ_APERTURE, FUZZ_PAGE, 16, 512, FUZZ_MMU * FUZZ_PAGE,
		FUZZ_WINDOW, FUZZ_VA_LARGE, 1ull << 30, 1ull << 47, 0x7f8000000000,
		FUZZ_VRAM * FUZZ_PAGE,
		FUZZ_APERTURE * FUZZ_PAGE, FUZZ_BUS, FUZZ_BUS + FUZZ_SYSTEM * FUZZ_PAGE,
		VIRTIO_PAGODA_MAX_GENERATION, 1ull << 16, 1ull << 31, 1ull << 32, 1ull << 40,
		1ull << 44, 1ull << 52, 1ull << 63, ~0ull, ~0ull << VIRTIO_PAGODA_PAGE_SHIFT,
		0xfffff000,
	};
	static const u32 near[] = { 0, 0, 0, 1, 4, 8, FUZZ_PAGE };
	u64 value = values[fuzz_pick(ARRAY_SIZE(values))], by = near[fuzz_pick(ARRAY_SIZE(near))];

	return fuzz_chance(50) ? value + by : value - by;
}

/* Changes 16, 32 or 64 bits of a packet: inverts a bit, adds or subtracts, or sets a value. */
static void change_field(u8 *packet, u32 length)
{
	u32 width = 2u << fuzz_pick(3);
	u8 *at = packet + fuzz_pick(length / width) * width;
	u64 value = 0;

	memcpy(&value, at, width);
	switch (fuzz_pick(4)) {
	case 0:
		value ^= 1ull << fuzz_pick(8 * width);
		break;
	case 1:
		value += (u64)(fuzz_chance(50) ? 1 : -1) * (fuzz_chance(50) ? 1 : FUZZ_PAGE);
		break;
	default:
		value = make_boundary();
	}
	memcpy(at, &value, width);
}

/*
 * Sets the size or number of pages in a packet to @pages, which the packet's runs add up to; the
 * size of a transfer may be 4 bytes less.
 */
static void put_pages_right(void *packet, u64 pages)
{
	struct virtio_pagoda_map_aperture_segment *map = packet;
	struct virtio_pagoda_init_context_resource *init = packet;
	struct virtio_pagoda_transfer *transfer = packet;
	struct virtio_pagoda_map_mmu *mmu = packet;

	switch (le16_to_cpu(map->packet.opcode)) {
	case VIRTIO_PAGODA_OP_TRANSFER:
	case VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER:
		transfer->size = cpu_to_le64(pages * FUZZ_PAGE - 4 * fuzz_pick(2));
		break;
	case VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE:
		init->size = cpu_to_le64(pages * FUZZ_PAGE);
		break;
	case VIRTIO_PAGODA_OP_MAP_MMU:
		mmu->nr_pages = cpu_to_le64(pages);
		break;
	default:
		map->nr_pages = cpu_to_le64(pages);
	}
}

/*
 * Sets a packet's length to what counts and flags call for, and in most cases the size that the
 * packet states to what its runs add up to. Does nothing if that length would exceed the buffer.
 */
static void put_right(u8 *data, u32 size, u32 offset)
{
	struct virtio_pagoda_packet *head = (void *)(data + offset);
	u64 length = fuzz_packet_length(head, size - offset), pages = 0;
	const struct virtio_pagoda_run *run;
	u32 nr_src, nr_dst, at, i;

	if (!length || length > size - offset)
		return;
	head->length = cpu_to_le32(length);
	at = fuzz_packet_runs(head, &nr_src, &nr_dst);
	run = (void *)(data + offset + at);
	for (i = 0; i < (nr_src ? nr_src : nr_dst); i++)
		pages += le32_to_cpu(run[i].nr_pages);
	if (pages && fuzz_chance(60))
		put_pages_right(head, pages);
}

/*
 * Returns the offset of a packet that is chosen at random; *@next is the offset behind the packet,
 * or 0 if the buffer has no packet.
 */
static u32 choose_packet(const u8 *data, u32 size, u32 *next)
{
	u32 offset = 0, chosen = 0, count = 0, end;

	*next = 0;
	while (offset < size) {
		end = fuzz_packet_next(data, size, offset);
		if (!end)
			break;
		if (!fuzz_pick(++count)) {
			chosen = offset;
			*next = end;
		}
		offset = end;
	}
	return chosen;
}

/*
 * Inserts a packet of @length bytes before or behind a packet that is chosen at random, if @room
 * allows. Returns the new size.
 */
static u32 insert(u8 *data, u32 size, u32 room, const u8 *packet, u32 length)
{
	u32 next, at = choose_packet(data, size, &next);

	if (size + length > room)
		return size;
	if (fuzz_chance(50))
		at = next;
	memmove(data + at + length, data + at, size - at);
	memcpy(data + at, packet, length);
	return size + length;
}

static u32 mutate_packets(u8 *data, u32 size, u32 room, u32 device)
{
	u64 aligned[FUZZ_PACKET_MAX / sizeof(u64)];
	u32 next, at = choose_packet(data, size, &next), length = next - at;
	u8 *packet = (void *)aligned;

	if (!next || fuzz_chance(25))
		return insert(data, size, room, packet, fuzz_make_packet(packet, device));
	switch (fuzz_pick(8)) {
	case 0:
		memmove(data + at, data + next, size - next);
		return size - length;
	case 1:
		if (length > FUZZ_PACKET_MAX)
			return size;
		memcpy(packet, data + at, length);
		return insert(data, size, room, packet, length);
	case 2:
		LLVMFuzzerMutate(data + at, length, length);
		break;
	default:
		change_field(data + at, length);
	}
	if (fuzz_chance(85))
		put_right(data, size, at);
	return size;
}

static void mutate_head(struct fuzz_head *head)
{
	if (fuzz_chance(15))
		head->mode = (head->mode & FUZZ_JOB) |
			     (fuzz_chance(85) ? fuzz_pick(32) : fuzz_pick(128));
	if (fuzz_chance(5))
		head->text = fuzz_pick(256);
	if (fuzz_chance(5))
		head->device = fuzz_pick(256);
	if (fuzz_chance(10))
		head->start = fuzz_chance(60) ? 0 : fuzz_pick(6);
	if (fuzz_chance(10))
		head->fail = fuzz_chance(60) ? 0 : fuzz_pick(8);
}

/*
 * Changes the commands of a job, and sometimes head->reserved, which says what is wrong in the
 * job's request. Returns the new size of the input.
 */
static size_t mutate_job(u8 *data, size_t size, size_t room)
{
	struct fuzz_head *head = (void *)data;
	u32 changes;

	if (fuzz_chance(3)) {
		head->reserved[0] = fuzz_pick(256);
		head->reserved[1] = fuzz_chance(70) ? 0 : 1 << fuzz_pick(8);
	}
	for (changes = 1 + fuzz_pick(4); changes; changes--)
		size = sizeof(*head) + fuzz_job_mutate(data + sizeof(*head), size - sizeof(*head),
						       room - sizeof(*head));
	return size;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t room, unsigned int seed)
{
	struct fuzz_head *head = (void *)data;
	u32 changes;

	fuzz_seed(seed);
	if (room < sizeof(*head))
		return 0;
	if (room > sizeof(*head) + FUZZ_BUFFER)
		room = sizeof(*head) + FUZZ_BUFFER;
	if (size < sizeof(*head) || size > room) {
		memset(head, 0, sizeof(*head));
		size = sizeof(*head);
	}
	mutate_head(head);
	if (size == sizeof(*head) && fuzz_chance(50))
		head->mode |= FUZZ_JOB;
	if (head->mode & FUZZ_JOB)
		return mutate_job(data, size, room);
	if (size > sizeof(*head) && fuzz_chance(2))
		return LLVMFuzzerMutate(data, size, room);
	for (changes = 1 + fuzz_pick(4); changes; changes--)
		size = sizeof(*head) + mutate_packets(data + sizeof(*head), size - sizeof(*head),
						      room - sizeof(*head), head->device);
	return size;
}

/*
 * Joins the head and first packets of @a and the last packets of @b. Returns the size, or 0 if an
 * input is a job or too short, or there is too little room.
 */
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b, size_t b_size,
				 u8 *out, size_t room, unsigned int seed)
{
	const u32 skip = sizeof(struct fuzz_head);
	u32 next, from;

	fuzz_seed(seed);
	if (room > skip + FUZZ_BUFFER)
		room = skip + FUZZ_BUFFER;
	if (a_size < skip || b_size < skip || a_size > room ||
	    (a[0] | b[0]) & FUZZ_JOB)
		return 0;
	choose_packet(a + skip, a_size - skip, &next);
	from = choose_packet(b + skip, b_size - skip, &(u32){ 0 });
	if (skip + next + (b_size - skip - from) > room)
		return 0;
	memcpy(out, a, skip + next);
	memcpy(out + skip + next, b + skip + from, b_size - skip - from);
	return skip + next + (b_size - skip - from);
}
