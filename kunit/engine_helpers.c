// SPDX-License-Identifier: GPL-2.0
/* Set-up of an engine for tests, and building of its packets. */
#include <linux/random.h>
#include <linux/vmalloc.h>

#include "engine_helpers.h"

#define ENGINE_MEMORY	(4 * ENGINE_PAGE + 2 * ENGINE_BYTES + ENGINE_PAGES * sizeof(u64))
#define ENGINE_GUARD	0xa5

static void engine_buffer_free(void *memory)
{
	vfree(memory);
}

static u8 *engine_alloc(struct kunit *test, size_t size)
{
	u8 *memory = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, engine_buffer_free, memory), 0);
	return memory;
}

/* System memory starts at ENGINE_BUS and has a hole of one page. */
static void *engine_system_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct engine_fixture *fix = context;
	u64 offset = bus - ENGINE_BUS;
	u64 end = ENGINE_BYTES;

	if (bus < ENGINE_BUS || offset >= ENGINE_BYTES || offset / ENGINE_PAGE == ENGINE_HOLE)
		return NULL;
	if (offset < ENGINE_HOLE * ENGINE_PAGE)
		end = ENGINE_HOLE * ENGINE_PAGE;
	if (fix->span_limit)
		end = min(end, (offset / ENGINE_PAGE + fix->span_limit) * ENGINE_PAGE);
	*got = end - offset;
	return fix->system + offset;
}

static void engine_fence(void *context, u32 queue, u64 seqno, u32 offset, u64 address, u64 value)
{
	struct engine_fixture *fix = context;

	fix->fences++;
	fix->fence_value = value;
}

static const struct pagoda_engine_ops engine_ops = {
	.system_span = engine_system_span,
	.fence = engine_fence,
};

static void engine_layout(struct engine_fixture *fix)
{
	u8 *here = fix->memory;

	memset(here, ENGINE_GUARD, ENGINE_MEMORY);
	fix->vram = here + ENGINE_PAGE;
	fix->system = fix->vram + ENGINE_BYTES + ENGINE_PAGE;
	fix->engine.aperture = (u64 *)(fix->system + ENGINE_BYTES + ENGINE_PAGE);
	get_random_bytes(fix->vram, ENGINE_BYTES);
	get_random_bytes(fix->system, ENGINE_BYTES);
	memset(fix->engine.aperture, 0, ENGINE_PAGES * sizeof(u64));
}

/**
 * engine_fixture_init() - Make an engine with random content everywhere
 * @test: Test that owns it
 *
 * Return: the fixture; the test is aborted when there is no memory.
 */
struct engine_fixture *engine_fixture_init(struct kunit *test)
{
	struct engine_fixture *fix = kunit_kzalloc(test, sizeof(*fix), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fix);
	fix->memory = engine_alloc(test, ENGINE_MEMORY);
	fix->before = engine_alloc(test, ENGINE_MEMORY);
	fix->buffer = engine_alloc(test, ENGINE_BUFFER);
	engine_layout(fix);
	fix->invalid = (struct pagoda_engine_range) {
		.start = ENGINE_INVALID * ENGINE_PAGE,
		.size = ENGINE_PAGE,
	};
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = ENGINE_BYTES;
	fix->engine.invalid = &fix->invalid;
	fix->engine.nr_invalid = 1;
	fix->engine.max_runs = ENGINE_MAX_RUNS;
	fix->engine.max_buffer = ENGINE_BUFFER;
	fix->engine.system_bits = 40;
	fix->engine.aperture_pages = ENGINE_PAGES;
	fix->engine.features = pagoda_engine_features() | BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	fix->engine.ops = &engine_ops;
	fix->engine.context = fix;
	KUNIT_ASSERT_TRUE(test, pagoda_engine_init(&fix->engine));
	return fix;
}

/** engine_snapshot() - Remember all memory there is */
void engine_snapshot(struct engine_fixture *fix)
{
	memcpy(fix->before, fix->memory, ENGINE_MEMORY);
}

/** engine_before() - Where the snapshot keeps a byte of VRAM or system memory */
u8 *engine_before(struct engine_fixture *fix, const u8 *here)
{
	return fix->before + (here - fix->memory);
}

/** engine_expect_unchanged() - All memory is what the snapshot says */
void engine_expect_unchanged(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	size_t i;

	if (!memcmp(fix->before, fix->memory, ENGINE_MEMORY))
		return;
	for (i = 0; fix->before[i] == fix->memory[i];)
		i++;
	KUNIT_FAIL(test, "%s: byte %zu is %#x, not %#x", what, i, fix->memory[i], fix->before[i]);
}

/** engine_expect_guards() - Nothing was written outside VRAM, system and aperture */
void engine_expect_guards(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	const u8 *guards[] = {
		fix->memory,
		fix->vram + ENGINE_BYTES,
		fix->system + ENGINE_BYTES,
		(u8 *)(fix->engine.aperture + ENGINE_PAGES),
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(guards); i++)
		KUNIT_EXPECT_NULL_MSG(test, memchr_inv(guards[i], ENGINE_GUARD, ENGINE_PAGE),
				      "%s: guard %u was written", what, i);
}

/** engine_bus() - Bus address of a page of system memory */
u64 engine_bus(u32 page)
{
	return ENGINE_BUS + page * ENGINE_PAGE;
}

/** engine_packet() - Append a packet, zeroed but for its head */
void *engine_packet(struct engine_fixture *fix, u16 opcode, u32 length)
{
	struct virtio_pagoda_packet *packet = (void *)(fix->buffer + fix->size);

	WARN_ON(fix->size + length > ENGINE_BUFFER);
	memset(packet, 0, length);
	packet->opcode = cpu_to_le16(opcode);
	packet->length = cpu_to_le32(length);
	fix->size += length;
	return packet;
}

static void engine_location(struct virtio_pagoda_location *location, const struct engine_side *side,
			    struct virtio_pagoda_run *runs)
{
	u32 i;

	location->segment = cpu_to_le32(side->segment);
	location->nr_runs = cpu_to_le32(side->nr_runs);
	location->address = cpu_to_le64(side->address);
	location->generation = cpu_to_le32(side->generation);
	for (i = 0; i < side->nr_runs; i++) {
		runs[i].address = cpu_to_le64(engine_bus(side->pages[i]));
		runs[i].nr_pages = cpu_to_le32(1);
	}
}

/** engine_add_transfer() - Append a TRANSFER */
void engine_add_transfer(struct engine_fixture *fix, u64 size, const struct engine_side *src,
			 const struct engine_side *dst)
{
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *runs;

	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER, sizeof(*transfer) +
				 (src->nr_runs + dst->nr_runs) * sizeof(*runs));
	runs = (void *)(transfer + 1);
	transfer->size = cpu_to_le64(size);
	engine_location(&transfer->src, src, runs);
	engine_location(&transfer->dst, dst, runs + src->nr_runs);
}

/** engine_add_fill() - Append a FILL of VRAM, with no allocation */
void engine_add_fill(struct engine_fixture *fix, u64 address, u64 size, u32 pattern)
{
	struct virtio_pagoda_fill *fill = engine_packet(fix, VIRTIO_PAGODA_OP_FILL, sizeof(*fill));

	fill->size = cpu_to_le64(size);
	fill->address = cpu_to_le64(address);
	fill->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	fill->pattern = cpu_to_le32(pattern);
}

/** engine_add_map() - Append a MAP_APERTURE_SEGMENT or 2, as one run or as many */
void engine_add_map(struct engine_fixture *fix, u16 opcode, u16 flags, u32 first, u32 nr_pages,
		    u32 page, u32 generation, bool array)
{
	struct virtio_pagoda_map_aperture_segment *map;
	u32 nr_runs = array ? nr_pages : 1;
	struct virtio_pagoda_run *runs;
	u32 i;

	map = engine_packet(fix, opcode, sizeof(*map) + nr_runs * sizeof(*runs));
	runs = (void *)(map + 1);
	map->packet.flags = cpu_to_le16(flags);
	map->first_page = cpu_to_le64(first);
	map->nr_pages = cpu_to_le64(nr_pages);
	map->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	map->nr_runs = cpu_to_le32(nr_runs);
	map->generation = cpu_to_le32(generation);
	for (i = 0; i < nr_runs; i++) {
		runs[i].address = cpu_to_le64(engine_bus(page + i));
		runs[i].nr_pages = cpu_to_le32(nr_pages / nr_runs);
	}
}

/** engine_add_unmap() - Append an UNMAP_APERTURE_SEGMENT */
void engine_add_unmap(struct engine_fixture *fix, u32 first, u32 nr_pages, u32 dummy)
{
	struct virtio_pagoda_unmap_aperture_segment *unmap;

	unmap = engine_packet(fix, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, sizeof(*unmap));
	unmap->first_page = cpu_to_le64(first);
	unmap->nr_pages = cpu_to_le64(nr_pages);
	unmap->dummy_page = cpu_to_le64(engine_bus(dummy));
	unmap->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
}

/** engine_add_physical() - Append a READ_PHYSICAL or WRITE_PHYSICAL */
void engine_add_physical(struct engine_fixture *fix, u16 opcode, u32 segment, u64 address,
			 u32 size)
{
	struct virtio_pagoda_access_physical *physical;

	physical = engine_packet(fix, opcode, sizeof(*physical));
	physical->address = cpu_to_le64(address);
	physical->segment = cpu_to_le32(segment);
	physical->size = cpu_to_le32(size);
}

/** engine_add_signal() - Append a SIGNAL_MONITORED_FENCE */
void engine_add_signal(struct engine_fixture *fix, u32 segment, u64 address, u64 value,
		       u16 flags)
{
	struct virtio_pagoda_signal_monitored_fence *signal;

	signal = engine_packet(fix, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE, sizeof(*signal));
	signal->packet.flags = cpu_to_le16(flags);
	signal->address = cpu_to_le64(address);
	signal->value = cpu_to_le64(value);
	signal->segment = cpu_to_le32(segment);
}

/** engine_add_notify() - Append a NOTIFY_ALLOC, which changes nothing */
void engine_add_notify(struct engine_fixture *fix)
{
	struct virtio_pagoda_notify_alloc *notify;

	notify = engine_packet(fix, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, sizeof(*notify));
	notify->packet.flags = cpu_to_le16(VIRTIO_PAGODA_NOTIFY_EVICTION);
	notify->packet.allocation = cpu_to_le64(1);
	notify->size = cpu_to_le64(ENGINE_PAGE);
}

/** engine_add_valid() - Append a packet of @opcode with nothing wrong about it */
void engine_add_valid(struct engine_fixture *fix, u16 opcode)
{
	static const u8 pages[] = { 4, 9 };
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = 2 * ENGINE_PAGE,
	};
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	struct virtio_pagoda_discard_content *discard;

	switch (opcode) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		engine_add_transfer(fix, 2 * ENGINE_PAGE - 8, &vram, &system);
		break;
	case VIRTIO_PAGODA_OP_FILL:
		engine_add_fill(fix, 3 * ENGINE_PAGE, ENGINE_PAGE, 0x01020304);
		break;
	case VIRTIO_PAGODA_OP_DISCARD_CONTENT:
		discard = engine_packet(fix, opcode, sizeof(*discard));
		discard->size = cpu_to_le64(2 * ENGINE_PAGE);
		discard->address = cpu_to_le64(5 * ENGINE_PAGE);
		discard->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
		break;
	case VIRTIO_PAGODA_OP_READ_PHYSICAL:
	case VIRTIO_PAGODA_OP_WRITE_PHYSICAL:
		engine_add_physical(fix, opcode, VIRTIO_PAGODA_SEGMENT_VRAM, 64, 8);
		break;
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT:
	case VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2:
		engine_add_map(fix, opcode, 0, 3, 4, 10, 7, true);
		break;
	case VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT:
		engine_add_unmap(fix, 3, 4, 1);
		break;
	case VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE:
		engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_VRAM, 128, 5, 0);
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_ALLOC:
		engine_add_notify(fix);
		break;
	default:
		engine_packet(fix, opcode, 128);
	}
}

/** engine_run() - Execute the buffer from @start on and start a new one */
enum pagoda_engine_outcome engine_run(struct engine_fixture *fix, struct pagoda_engine_run *run,
				      enum pagoda_engine_queue kind, u32 start)
{
	pagoda_engine_run_init(run, kind, 1, 1);
	run->buffer = fix->buffer;
	run->size = fix->size;
	run->start = start;
	run->spans = fix->spans;
	fix->size = 0;
	return pagoda_engine_execute(&fix->engine, run);
}

/** engine_expect_done() - Execute the buffer, which has nothing wrong about it */
void engine_expect_done(struct kunit *test, struct engine_fixture *fix)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	outcome = engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
	KUNIT_EXPECT_EQ_MSG(test, outcome, PAGODA_ENGINE_DONE, "op %s: %s",
			    pagoda_engine_op_name(run.fault.opcode),
			    pagoda_engine_fault_name(run.fault.reason));
	KUNIT_EXPECT_EQ(test, run.offset, run.size);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE);
}

/**
 * engine_expect_fault() - Execute the buffer: its last packet is refused
 * @test: Test
 * @fix: Fixture, whose snapshot is taken here
 * @reason: Why it must be
 * @what: Name for messages
 *
 * Memory must be what it was: packets before the last must have no effect.
 */
void engine_expect_fault(struct kunit *test, struct engine_fixture *fix, u32 reason,
			 const char *what)
{
	struct pagoda_engine_run run;
	enum pagoda_engine_outcome outcome;

	engine_snapshot(fix);
	outcome = engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
	KUNIT_EXPECT_EQ_MSG(test, outcome, PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, run.fault.reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(run.fault.reason));
	KUNIT_EXPECT_EQ_MSG(test, run.fault.offset, run.offset, "%s", what);
	engine_expect_unchanged(test, fix, what);
}
