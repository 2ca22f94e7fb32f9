// SPDX-License-Identifier: GPL-2.0
/*
 * Random streams of operations, some of them damaged, executed by the device's engine and by the
 * CPU executor: verdict and memory are equal.
 */
#include <kunit/test.h>
#include <linux/string.h>

#include "executor_world.h"
#include "rig/prove.h"

#define PAGODA_STREAMS		400
#define PAGODA_STREAM_OPS	12
/* Pages that the aperture may map; transfers through it use the others. */
#define PAGODA_MAPPABLE		20
/* Most operations of a buffer: each has up to two page lists, which have to stay valid. */
#define PAGODA_BUFFER_OPS	(PAGODA_WORLD_LISTS / 2 - 1)

/* State from which a stream is made. */
struct pagoda_stream {
	struct pagoda_world *world;
	struct rnd_state rnd;
	u32 generation;	/* of the mapping that was made last */
	u32 ops;	/* operations in the buffer */
	u32 built;	/* operations that were accepted */
	u32 faults;	/* buffers that faulted */
	u32 good;	/* buffers that succeeded */
};

static u32 pagoda_stream_pick(struct pagoda_stream *s, u32 low, u32 high)
{
	return pagoda_random(&s->rnd, low, high);
}

static bool pagoda_stream_chance(struct pagoda_stream *s, u32 percent)
{
	return pagoda_stream_pick(s, 0, 99) < percent;
}

/* Returns a list of @nr_pages different pages from @low to @high - 1, in some runs. */
static const struct pagoda_adl *pagoda_stream_list(struct pagoda_stream *s, u32 low, u32 high,
						   u32 nr_pages)
{
	u32 first = pagoda_stream_pick(s, low, high - nr_pages);
	struct pagoda_world_list *list = pagoda_world_list(s->world, first, nr_pages);
	u32 swaps = pagoda_stream_pick(s, 0, 4);

	list->adl.contiguous = pagoda_stream_chance(s, 30);
	while (!list->adl.contiguous && swaps--) {
		u32 a = pagoda_stream_pick(s, 0, nr_pages - 1);
		u32 b = pagoda_stream_pick(s, 0, nr_pages - 1);

		swap(list->pages[a], list->pages[b]);
		swap(list->cpu_pages[a], list->cpu_pages[b]);
	}
	return &list->adl;
}

static struct pagoda_side pagoda_stream_vram(struct pagoda_stream *s)
{
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = pagoda_stream_pick(s, 0, PAGODA_WORLD_VRAM - 10) * PAGODA_WORLD_PAGE,
	};
}

static struct pagoda_side pagoda_stream_aperture(struct pagoda_stream *s)
{
	u32 page = pagoda_stream_pick(s, 0, PAGODA_WORLD_APERTURE - 3);
	u32 generation = s->world->exec.generations[page];

	if (pagoda_stream_chance(s, 20))
		generation = 0;
	else if (pagoda_stream_chance(s, 10))
		generation = pagoda_stream_pick(s, 1, s->generation + 1);
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.generation = generation,
		.address = page * PAGODA_WORLD_PAGE,
	};
}

/* Chooses two sides that have no memory in common except the dummy page. */
static void pagoda_stream_transfer(struct pagoda_stream *s, struct pagoda_op_transfer *transfer)
{
	u32 pages = pagoda_stream_pick(s, 1, 9), spare = pagoda_stream_pick(s, 0, 2);
	u32 all = PAGODA_WORLD_SYSTEM - 2, end = pagoda_stream_chance(s, 30) ? 4 * 100 : 0;

	transfer->src = pagoda_stream_vram(s);
	transfer->dst = pagoda_stream_vram(s);
	switch (pagoda_stream_pick(s, 0, 9)) {
	case 0 ... 3:
		transfer->dst = (struct pagoda_side) {
			.adl = pagoda_stream_list(s, 0, all, pages + spare),
		};
		break;
	case 4:
		transfer->src = (struct pagoda_side) {
			.adl = pagoda_stream_list(s, 0, PAGODA_MAPPABLE, pages + spare),
		};
		transfer->dst = (struct pagoda_side) {
			.adl = pagoda_stream_list(s, PAGODA_MAPPABLE, all, pages + spare),
		};
		break;
	case 5 ... 7:
		pages = pagoda_stream_pick(s, 1, 3);
		transfer->src = pagoda_stream_aperture(s);
		if (pagoda_stream_chance(s, 50))
			transfer->dst = (struct pagoda_side) {
				.adl = pagoda_stream_list(s, PAGODA_MAPPABLE, all, pages + spare),
			};
		break;
	}
	if (pagoda_stream_chance(s, 50))
		swap(transfer->src, transfer->dst);
	transfer->size = pages * PAGODA_WORLD_PAGE - end;
	transfer->mdl_offset = spare;
	transfer->offset = pagoda_stream_pick(s, 0, 1) * PAGODA_WORLD_PAGE;
	transfer->flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
}

static void pagoda_stream_map(struct pagoda_stream *s, struct pagoda_op_map_aperture *map)
{
	map->nr_pages = pagoda_stream_pick(s, 1, 8);
	map->first_page = pagoda_stream_pick(s, 0, PAGODA_WORLD_APERTURE - map->nr_pages);
	map->adl_offset = pagoda_stream_pick(s, 0, 2);
	map->adl = pagoda_stream_list(s, 0, PAGODA_MAPPABLE, map->adl_offset + map->nr_pages);
	map->flags = pagoda_stream_pick(s, 0, 1) * VIRTIO_PAGODA_MAP_CACHE_COHERENT;
	map->generation = ++s->generation;
}

static void pagoda_stream_unmap(struct pagoda_stream *s, struct pagoda_op_unmap_aperture *unmap)
{
	unmap->nr_pages = pagoda_stream_pick(s, 1, 6);
	unmap->first_page = pagoda_stream_pick(s, 0, PAGODA_WORLD_APERTURE - unmap->nr_pages);
	unmap->dummy_page = pagoda_world_bus(PAGODA_WORLD_DUMMY);
	unmap->cpu_pages = &s->world->cpu_pages[PAGODA_WORLD_DUMMY];
}

/* Returns an address in any segment, aligned to @size. */
static u64 pagoda_stream_address(struct pagoda_stream *s, u32 size, u32 *segment,
				 const void **cpu_pages)
{
	u64 inside = ALIGN_DOWN(pagoda_stream_pick(s, 0, 4095), size);
	u32 page;

	*segment = pagoda_stream_pick(s, 0, 2);
	if (*segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_stream_pick(s, 0, PAGODA_WORLD_VRAM - 1) * PAGODA_WORLD_PAGE + inside;
	if (*segment == VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_stream_pick(s, 0, PAGODA_WORLD_APERTURE - 1) * PAGODA_WORLD_PAGE +
		       inside;
	page = pagoda_stream_pick(s, 0, PAGODA_WORLD_FENCE);
	*cpu_pages = &s->world->cpu_pages[page];
	return pagoda_world_bus(page) + inside;
}

static void pagoda_stream_small(struct pagoda_stream *s, struct pagoda_paging_op *op)
{
	struct pagoda_op_access_physical *access = &op->access_physical;
	struct pagoda_op_signal_fence *signal = &op->signal_fence;

	switch (pagoda_stream_pick(s, 0, 4)) {
	case 0:
	case 1:
		op->operation = pagoda_stream_pick(s, VIRTIO_PAGODA_OP_READ_PHYSICAL,
						   VIRTIO_PAGODA_OP_WRITE_PHYSICAL);
		access->size = 1u << pagoda_stream_pick(s, 0, 3);
		access->address = pagoda_stream_address(s, access->size, &access->segment,
							&access->cpu_pages);
		break;
	case 2:
		op->operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE;
		signal->value = prandom_u32_state(&s->rnd);
		signal->flags = pagoda_stream_pick(s, 0, 1) * VIRTIO_PAGODA_SIGNAL_EVENT |
				pagoda_stream_pick(s, 0, 1) * VIRTIO_PAGODA_SIGNAL_FORWARD;
		signal->address = pagoda_stream_address(s, 8, &signal->segment,
							&signal->cpu_pages);
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

static struct pagoda_paging_op pagoda_stream_op(struct pagoda_stream *s)
{
	struct pagoda_paging_op op = { .operation = VIRTIO_PAGODA_OP_TRANSFER };

	op.allocation = pagoda_stream_pick(s, 0, 3);
	switch (pagoda_stream_pick(s, 0, 9)) {
	case 0:
		op.operation = VIRTIO_PAGODA_OP_FILL;
		op.fill = (struct pagoda_op_fill) {
			.size = pagoda_stream_pick(s, 1, 3000) * 4,
			.address = pagoda_stream_pick(s, 0, 20000) * 4,
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.pattern = pagoda_stream_chance(s, 30) ? 0x7a7a7a7a :
				   prandom_u32_state(&s->rnd),
		};
		break;
	case 1:
	case 2:
		op.operation = pagoda_stream_chance(s, 50) ?
			       VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT :
			       VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;
		pagoda_stream_map(s, &op.map_aperture);
		break;
	case 3:
		op.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT;
		pagoda_stream_unmap(s, &op.unmap_aperture);
		break;
	case 4:
		pagoda_stream_small(s, &op);
		break;
	default:
		pagoda_stream_transfer(s, &op.transfer);
	}
	return op;
}

/*
 * Returns whether a byte may be damaged. It may not if the damaged packet could be valid and name
 * other memory for the engine, which follows bus addresses, than for the CPU executor, which
 * follows struct pages: page numbers of addresses, and segments.
 */
static bool pagoda_byte_may_change(const u8 *packet, u32 byte)
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

/* Changes one byte of one packet. */
static void pagoda_stream_damage(struct pagoda_stream *s)
{
	u32 target = pagoda_stream_pick(s, 0, s->world->buf.write_offset - 1);
	const struct virtio_pagoda_packet *head;
	u32 offset = 0, byte;
	u8 *packet;

	do {
		packet = s->world->data + offset;
		head = (const void *)packet;
		offset += le32_to_cpu(head->length);
	} while (offset <= target);
	byte = target - (packet - s->world->data);
	if (pagoda_stream_chance(s, 40))
		byte = pagoda_stream_pick(s, 0, 31);
	if (byte < 2)
		packet[0] = pagoda_stream_chance(s, 50) ? 0 : VIRTIO_PAGODA_OP_FLUSH_TLB;
	else if (pagoda_byte_may_change(packet, byte))
		packet[byte] ^= pagoda_stream_chance(s, 50) ? 1u << pagoda_stream_pick(s, 0, 7) :
				pagoda_stream_pick(s, 1, 255);
}

static void pagoda_stream_submit(struct pagoda_stream *s)
{
	struct pagoda_verdict verdict;

	if (s->world->buf.write_offset && pagoda_stream_chance(s, 25))
		pagoda_stream_damage(s);
	verdict = pagoda_world_submit(s->world);
	s->faults += !verdict.good;
	s->good += verdict.good;
	s->ops = 1;	/* the operation that is being built may go on */
	pagoda_world_fresh(s->world, pagoda_stream_pick(s, 120, 1200));
}

/* Builds an operation as the driver does; after a fault the rest of the operation goes on. */
static void pagoda_stream_add(struct pagoda_stream *s, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = { };
	const char *why;

	if (pagoda_paging_validate(&s->world->limits, op, &why))
		return;
	s->built++;
	while (pagoda_paging_build(&s->world->limits, op, &cursor, &s->world->buf) ==
	       PAGODA_BUILD_INSUFFICIENT_BUFFER)
		pagoda_stream_submit(s);
}

/* Each buffer gets one verdict from both machines, and after each stream their memory is equal. */
static void pagoda_random_streams_test(struct kunit *test)
{
	struct pagoda_stream *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	u32 stream, i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	pagoda_test_seed(test, &s->rnd);
	s->world = pagoda_world_make(test, &s->rnd);
	for (stream = 0; stream < PAGODA_STREAMS; stream++) {
		for (i = 0; i < PAGODA_STREAM_OPS; i++) {
			struct pagoda_paging_op op;

			if (s->ops++ == PAGODA_BUFFER_OPS)
				pagoda_stream_submit(s);
			op = pagoda_stream_op(s);
			pagoda_stream_add(s, &op);
		}
		pagoda_stream_submit(s);
		pagoda_world_compare(s->world);
	}
	kunit_info(test, "%u operations, %u buffers executed, %u faulted, %u fence events\n",
		   s->built, s->good, s->faults, s->world->fences);
	KUNIT_EXPECT_GT(test, s->built, PAGODA_STREAMS * PAGODA_STREAM_OPS / 2);
	KUNIT_EXPECT_GT(test, s->good, PAGODA_STREAMS);
	KUNIT_EXPECT_GT(test, s->faults, PAGODA_STREAMS / 8);
	KUNIT_EXPECT_GT(test, s->world->fences, 0);
}

static struct kunit_case pagoda_stream_cases[] = {
	KUNIT_CASE(pagoda_random_streams_test),
	{ }
};

static struct kunit_suite pagoda_stream_suite = {
	.name = "pagoda_executor_streams",
	.test_cases = pagoda_stream_cases,
};

kunit_test_suite(pagoda_stream_suite);
