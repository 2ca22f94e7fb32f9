// SPDX-License-Identifier: GPL-2.0
/*
 * Random streams of operations, with some damaged packets, executed by the device's engine and by
 * the CPU executor: verdicts and memory are equal.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "vidmm/stream/internal.h"
#include "executor_world.h"

#define PAGODA_STREAMS		400
#define PAGODA_STREAM_OPS	12
/*
 * Only the first PAGODA_MAPPABLE pages of system memory, and the dummy page, are mapped into the
 * aperture. Page lists that are copied from or to the aperture have none of these pages.
 */
#define PAGODA_MAPPABLE		20
/*
 * Maximum number of operations in a buffer: each may have two page lists, and pagoda_world_list()
 * keeps only PAGODA_WORLD_LISTS lists valid.
 */
#define PAGODA_BUFFER_OPS	(PAGODA_WORLD_LISTS / 2 - 1)

/* State of random streams, of the buffer being built, and counts of what was executed. */
struct random_stream {
	struct pagoda_world *world;
	struct rnd_state rnd;
	u32 generation;	/* of the map operation that was drawn last */
	u32 ops;	/* upper bound of the operations in the buffer */
	u32 built;	/* operations that validation accepted */
	u32 faults;	/* buffers that faulted */
	u32 good;	/* buffers that succeeded */
};

static u32 random_pick(struct random_stream *s, u32 low, u32 high)
{
	return pagoda_random(&s->rnd, low, high);
}

static bool random_chance(struct random_stream *s, u32 percent)
{
	return random_pick(s, 0, 99) < percent;
}

/*
 * Returns a list of @nr_pages consecutive pages of system memory, all from @low to @high - 1:
 * marked as contiguous, or an array in which up to four pairs of pages are swapped.
 */
static const struct pagoda_adl *random_list(struct random_stream *s, u32 low, u32 high,
					    u32 nr_pages)
{
	u32 first = random_pick(s, low, high - nr_pages);
	struct pagoda_world_list *list = pagoda_world_list(s->world, first, nr_pages);
	u32 swaps = random_pick(s, 0, 4);

	list->adl.contiguous = random_chance(s, 30);
	while (!list->adl.contiguous && swaps--) {
		u32 a = random_pick(s, 0, nr_pages - 1);
		u32 b = random_pick(s, 0, nr_pages - 1);

		swap(list->pages[a], list->pages[b]);
		swap(list->cpu_pages[a], list->cpu_pages[b]);
	}
	return &list->adl;
}

static struct pagoda_side random_vram(struct random_stream *s)
{
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = random_pick(s, 0, PAGODA_WORLD_VRAM - 10) * PAGODA_WORLD_PAGE,
	};
}

static struct pagoda_side random_aperture(struct random_stream *s)
{
	u32 page = random_pick(s, 0, PAGODA_WORLD_APERTURE - 3);
	u32 generation = s->world->exec.generations[page];

	if (random_chance(s, 20))
		generation = 0;
	else if (random_chance(s, 10))
		generation = random_pick(s, 1, s->generation + 1);
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.generation = generation,
		.address = page * PAGODA_WORLD_PAGE,
	};
}

/*
 * Makes a random transfer. Source and destination have no memory in common, except that two ranges
 * of VRAM may overlap: validation refuses such a transfer.
 */
static void random_transfer(struct random_stream *s, struct pagoda_op_transfer *transfer)
{
	u32 pages = random_pick(s, 1, 9), spare = random_pick(s, 0, 2);
	u32 all = PAGODA_WORLD_SYSTEM - 2, end = random_chance(s, 30) ? 4 * 100 : 0;

	transfer->src = random_vram(s);
	transfer->dst = random_vram(s);
	switch (random_pick(s, 0, 9)) {
	case 0 ... 3:
		transfer->dst = (struct pagoda_side) {
			.adl = random_list(s, 0, all, pages + spare),
		};
		break;
	case 4:
		transfer->src = (struct pagoda_side) {
			.adl = random_list(s, 0, PAGODA_MAPPABLE, pages + spare),
		};
		transfer->dst = (struct pagoda_side) {
			.adl = random_list(s, PAGODA_MAPPABLE, all, pages + spare),
		};
		break;
	case 5 ... 7:
		pages = random_pick(s, 1, 3);
		transfer->src = random_aperture(s);
		if (random_chance(s, 50))
			transfer->dst = (struct pagoda_side) {
				.adl = random_list(s, PAGODA_MAPPABLE, all, pages + spare),
			};
		break;
	}
	if (random_chance(s, 50))
		swap(transfer->src, transfer->dst);
	transfer->size = pages * PAGODA_WORLD_PAGE - end;
	transfer->mdl_offset = spare;
	transfer->offset = random_pick(s, 0, 1) * PAGODA_WORLD_PAGE;
	transfer->flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
}

static void random_map(struct random_stream *s, struct pagoda_op_map_aperture *map)
{
	map->nr_pages = random_pick(s, 1, 8);
	map->first_page = random_pick(s, 0, PAGODA_WORLD_APERTURE - map->nr_pages);
	map->adl_offset = random_pick(s, 0, 2);
	map->adl = random_list(s, 0, PAGODA_MAPPABLE, map->adl_offset + map->nr_pages);
	map->flags = random_pick(s, 0, 1) * VIRTIO_PAGODA_MAP_CACHE_COHERENT;
	map->generation = ++s->generation;
}

static void random_unmap(struct random_stream *s, struct pagoda_op_unmap_aperture *unmap)
{
	unmap->nr_pages = random_pick(s, 1, 6);
	unmap->first_page = random_pick(s, 0, PAGODA_WORLD_APERTURE - unmap->nr_pages);
	unmap->dummy_page = pagoda_world_bus(PAGODA_WORLD_DUMMY);
	unmap->cpu_pages = &s->world->cpu_pages[PAGODA_WORLD_DUMMY];
}

/*
 * Returns a random address, aligned to @size, in a random segment. Sets *@segment, and for system
 * memory also *@cpu_pages.
 */
static u64 random_address(struct random_stream *s, u32 size, u32 *segment, const void **cpu_pages)
{
	u64 inside = ALIGN_DOWN(random_pick(s, 0, 4095), size);
	u32 page;

	*segment = random_pick(s, 0, 2);
	if (*segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return random_pick(s, 0, PAGODA_WORLD_VRAM - 1) * PAGODA_WORLD_PAGE + inside;
	if (*segment == VIRTIO_PAGODA_SEGMENT_APERTURE)
		return random_pick(s, 0, PAGODA_WORLD_APERTURE - 1) * PAGODA_WORLD_PAGE +
		       inside;
	page = random_pick(s, 0, PAGODA_WORLD_FENCE);
	*cpu_pages = &s->world->cpu_pages[page];
	return pagoda_world_bus(page) + inside;
}

static void random_small(struct random_stream *s, struct pagoda_paging_op *op)
{
	struct pagoda_op_access_physical *access = &op->access_physical;
	struct pagoda_op_signal_fence *signal = &op->signal_fence;

	switch (random_pick(s, 0, 4)) {
	case 0:
	case 1:
		op->operation = random_pick(s, VIRTIO_PAGODA_OP_READ_PHYSICAL,
					    VIRTIO_PAGODA_OP_WRITE_PHYSICAL);
		access->size = 1u << random_pick(s, 0, 3);
		access->address = random_address(s, access->size, &access->segment,
						 &access->cpu_pages);
		break;
	case 2:
		op->operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE;
		signal->value = prandom_u32_state(&s->rnd);
		signal->flags = random_pick(s, 0, 1) * VIRTIO_PAGODA_SIGNAL_EVENT |
				random_pick(s, 0, 1) * VIRTIO_PAGODA_SIGNAL_FORWARD;
		signal->address = random_address(s, 8, &signal->segment, &signal->cpu_pages);
		break;
	case 3:
		op->operation = VIRTIO_PAGODA_OP_NOTIFY_ALLOC;
		op->allocation = 1;
		op->notify_alloc.size = PAGODA_WORLD_PAGE;
		op->notify_alloc.flags = VIRTIO_PAGODA_NOTIFY_EVICTION;
		break;
	case 4:
		op->operation = VIRTIO_PAGODA_OP_DISCARD_CONTENT;
		op->discard_content = (struct pagoda_op_discard_content) {
			.size = PAGODA_WORLD_PAGE,
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		};
		break;
	}
}

static struct pagoda_paging_op random_op(struct random_stream *s)
{
	struct pagoda_paging_op op = { .operation = VIRTIO_PAGODA_OP_TRANSFER };

	op.allocation = random_pick(s, 0, 3);
	switch (random_pick(s, 0, 9)) {
	case 0:
		op.operation = VIRTIO_PAGODA_OP_FILL;
		op.fill = (struct pagoda_op_fill) {
			.size = random_pick(s, 1, 3000) * 4,
			.address = random_pick(s, 0, 20000) * 4,
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.pattern = random_chance(s, 30) ? 0x7a7a7a7a :
				   prandom_u32_state(&s->rnd),
		};
		break;
	case 1:
	case 2:
		op.operation = random_chance(s, 50) ?
			       VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT :
			       VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;
		random_map(s, &op.map_aperture);
		break;
	case 3:
		op.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT;
		random_unmap(s, &op.unmap_aperture);
		break;
	case 4:
		random_small(s, &op);
		break;
	default:
		random_transfer(s, &op.transfer);
	}
	return op;
}

/*
 * Returns whether a byte of a packet may be damaged: not if the packet could stay valid and name
 * another segment, or another page by its bus address. Such a packet names other memory for the
 * engine, which follows bus addresses, than for the CPU executor, which follows struct pages.
 */
static bool byte_may_change(const u8 *packet, u32 byte)
{
	const struct virtio_pagoda_packet *head = (const void *)packet;
	u32 opcode = le16_to_cpu(head->opcode);
	u32 head_size = opcode == VIRTIO_PAGODA_OP_TRANSFER ? 72 : 48;

	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		if ((byte >= 24 && byte < 28) || (byte >= 48 && byte < 52))
			return false;
		return byte < head_size || (byte - head_size) % 16 == 0 ||
		       (byte - head_size) % 16 >= 8;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		return byte < head_size || (byte - head_size) % 16 == 0 ||
		       (byte - head_size) % 16 >= 8;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		return byte <= 32 || byte >= 40;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		return byte <= 16 || byte >= 28;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		return byte <= 16 || (byte >= 24 && byte < 32) || byte >= 36;
	default:
		return true;
	}
}

/* Changes a random byte of a packet in the buffer, unless that byte may not be damaged. */
static void random_damage(struct random_stream *s)
{
	u32 target = random_pick(s, 0, s->world->buf.write_offset - 1);
	const struct virtio_pagoda_packet *head;
	u32 offset = 0, byte;
	u8 *packet;

	do {
		packet = s->world->data + offset;
		head = (const void *)packet;
		offset += le32_to_cpu(head->length);
	} while (offset <= target);
	byte = target - (packet - s->world->data);
	if (random_chance(s, 40))
		byte = random_pick(s, 0, 31);
	if (byte < 2)
		packet[0] = random_chance(s, 50) ? 0 : VIRTIO_PAGODA_OP_FLUSH_TLB;
	else if (byte_may_change(packet, byte))
		packet[byte] ^= random_chance(s, 50) ? 1u << random_pick(s, 0, 7) :
				random_pick(s, 1, 255);
}

static void random_submit(struct random_stream *s)
{
	struct pagoda_verdict verdict;

	if (s->world->buf.write_offset && random_chance(s, 25))
		random_damage(s);
	verdict = pagoda_world_submit(s->world);
	s->faults += !verdict.good;
	s->good += verdict.good;
	s->ops = 1;	/* random_add() may go on with an operation in the next buffer */
	pagoda_world_fresh(s->world, random_pick(s, 120, 1200));
}

/*
 * Builds an operation, unless validation refuses it, and submits each buffer that the operation
 * fills; after a fault in a buffer the rest of the operation is built all the same.
 */
static void random_add(struct random_stream *s, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = { };
	const char *why;

	if (pagoda_paging_validate(&s->world->limits, op, &why))
		return;
	s->built++;
	while (pagoda_paging_build(&s->world->limits, op, &cursor, &s->world->buf) ==
	       PAGODA_BUILD_INSUFFICIENT_BUFFER)
		random_submit(s);
}

/* Both machines agree on the verdict about each buffer, and after each stream have equal memory. */
static void random_streams_test(struct kunit *test)
{
	struct random_stream *s = test_zalloc(test, sizeof(*s));
	u32 stream, i;

	pagoda_test_seed(test, &s->rnd);
	s->world = pagoda_world_make(test, &s->rnd);
	for (stream = 0; stream < PAGODA_STREAMS; stream++) {
		for (i = 0; i < PAGODA_STREAM_OPS; i++) {
			struct pagoda_paging_op op;

			if (s->ops++ == PAGODA_BUFFER_OPS)
				random_submit(s);
			op = random_op(s);
			random_add(s, &op);
		}
		random_submit(s);
		pagoda_world_compare(s->world);
	}
	kunit_info(test, "%u operations, %u buffers executed, %u faulted, %u fence events\n",
		   s->built, s->good, s->faults, s->world->fences);
	KUNIT_EXPECT_GT(test, s->built, PAGODA_STREAMS * PAGODA_STREAM_OPS / 2);
	KUNIT_EXPECT_GT(test, s->good, PAGODA_STREAMS);
	KUNIT_EXPECT_GT(test, s->faults, PAGODA_STREAMS / 8);
	KUNIT_EXPECT_GT(test, s->world->fences, 0);
}

static struct kunit_case random_cases[] = {
	KUNIT_CASE(random_streams_test),
	{ }
};

static struct kunit_suite random_suite = {
	.name = "pagoda_executor_streams",
	.test_cases = random_cases,
};

kunit_test_suite(random_suite);
