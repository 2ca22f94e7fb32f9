// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the GPU's engine: refused opcodes, packets and buffers; the effects of FILL,
 * DISCARD_CONTENT, READ_PHYSICAL, WRITE_PHYSICAL and SIGNAL_MONITORED_FENCE; runs that start inside
 * of a buffer, fail or are stopped.
 */
#include <linux/random.h>
#include <linux/sizes.h>
#include "paging/coverage.h"
#include "vidmm/ttm/internal.h"
#include "engine_helpers.h"

/*
 * Returns whether the fixture's engine, without a device MMU, has the operation: each but MAP_MMU
 * and UNMAP_MMU.
 */
static bool engine_supports(u32 opcode)
{
	return !(ENGINE_MMU_OPS & BIT_ULL(VIRTIO_PAGODA_F_OP(opcode)));
}

/*
 * An unknown opcode is refused, and so is an operation that wasn't negotiated. A valid packet of
 * each negotiated operation is executed.
 */
static void engine_opcode_test(struct kunit *test)
{
	static const u16 unknown[] = { 0, VIRTIO_PAGODA_OP_COUNT, 25, 26, 0x7fff, 0xffff };
	struct engine_fixture *fix = test->priv;
	u64 all = fix->engine.features;
	u32 i;

	KUNIT_EXPECT_EQ(test, pagoda_engine_features() & ENGINE_MMU_OPS, ENGINE_MMU_OPS);

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		engine_packet(fix, unknown[i], 128);
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_OPCODE, "unknown");
	}
	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++) {
		KUNIT_EXPECT_EQ(test, engine_supports(i),
				!!(all & BIT_ULL(VIRTIO_PAGODA_F_OP(i))));
		engine_add_valid(fix, i);
		if (engine_supports(i)) {
			engine_expect_done(test, fix);
			fix->engine.features = all & ~BIT_ULL(VIRTIO_PAGODA_F_OP(i));
			engine_add_valid(fix, i);
		}
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNSUPPORTED,
				    pagoda_engine_op_name(i));
		fix->engine.features = all;
	}
}

/* An execution queue executes the operations in @allowed, and refuses all others without effect. */
static void engine_exec_queue_test(struct kunit *test)
{
	static const u16 allowed[] = {
		VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_FILL,
		VIRTIO_PAGODA_OP_READ_PHYSICAL, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
		VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
	};
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u32 i, j;

	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++) {
		if (!engine_supports(i))
			continue;
		for (j = 0; j < ARRAY_SIZE(allowed); j++)
			if (allowed[j] == i)
				break;
		engine_add_valid(fix, i);
		engine_snapshot(fix);
		if (j < ARRAY_SIZE(allowed)) {
			KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_EXEC, 0),
					PAGODA_ENGINE_DONE);
			continue;
		}
		KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_EXEC, 0),
				PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_FORBIDDEN);
		engine_expect_unchanged(test, fix, pagoda_engine_op_name(i));
	}
}

static const struct engine_mutation engine_mutations[] = {
	MUTATE(TRANSFER, transfer, packet.length, 0, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.length, 8, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.length, 72, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.length, 103, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.length, 112, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.length, 0xfffffff8, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.flags, 1, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.flags, 2, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.flags, 3, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, packet.flags, 4, BAD_FLAGS),
	MUTATE(TRANSFER, transfer, packet.flags, 0x8008, BAD_FLAGS),
	MUTATE(TRANSFER, transfer, size, 0, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, size, 4098, MISALIGNED),
	MUTATE(TRANSFER, transfer, size, 4096, BAD_RUNS),
	MUTATE(TRANSFER, transfer, size, 8196, BAD_RUNS),
	MUTATE(TRANSFER, transfer, size, 0xfffffffffffffffc, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, src.segment, 3, BAD_SEGMENT),
	MUTATE(TRANSFER, transfer, src.segment, 0xffffffff, BAD_SEGMENT),
	MUTATE(TRANSFER, transfer, src.segment, 2, UNREACHABLE),
	MUTATE(TRANSFER, transfer, src.address, 1, MISALIGNED),
	MUTATE(TRANSFER, transfer, src.address, 63 * 4096, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, src.address, 0xfffffffffffff000, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, src.address, 59 * 4096, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, src.address, 60 * 4096, OUT_OF_RANGE),
	MUTATE(TRANSFER, transfer, src.generation, 1, RESERVED),
	MUTATE(TRANSFER, transfer, src.reserved, 1, RESERVED),
	MUTATE(TRANSFER, transfer, src.nr_runs, 1, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, dst.nr_runs, 0, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, dst.nr_runs, 3, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, dst.nr_runs, 0xffffffff, BAD_LENGTH),
	MUTATE(TRANSFER, transfer, dst.segment, 1, RESERVED),
	MUTATE(TRANSFER, transfer, dst.segment, 2, RESERVED),
	MUTATE(TRANSFER, transfer, dst.address, 4096, RESERVED),
	MUTATE(TRANSFER, transfer, dst.generation, 1, RESERVED),
	MUTATE(TRANSFER, transfer, dst.reserved, 1, RESERVED),
	MUTATE_RUN(TRANSFER, transfer, 0, address, 0x100000001, MISALIGNED),
	MUTATE_RUN(TRANSFER, transfer, 0, address, 0, UNREACHABLE),
	MUTATE_RUN(TRANSFER, transfer, 1, address, 0x100000000 + 48 * 4096, UNREACHABLE),
	MUTATE_RUN(TRANSFER, transfer, 1, address, 0x100000000 + 64 * 4096, UNREACHABLE),
	MUTATE_RUN(TRANSFER, transfer, 1, address, 1ull << 40, UNREACHABLE),
	MUTATE_RUN(TRANSFER, transfer, 1, address, 0xfffffffffffff000, UNREACHABLE),
	MUTATE_RUN(TRANSFER, transfer, 1, nr_pages, 0, BAD_RUNS),
	MUTATE_RUN(TRANSFER, transfer, 1, nr_pages, 2, BAD_RUNS),
	MUTATE_RUN(TRANSFER, transfer, 0, nr_pages, 0xffffffff, BAD_RUNS),
	MUTATE_RUN(TRANSFER, transfer, 1, reserved, 1, RESERVED),

	MUTATE(FILL, fill, packet.length, 32, BAD_LENGTH),
	MUTATE(FILL, fill, packet.length, 48, BAD_LENGTH),
	MUTATE(FILL, fill, packet.flags, 1, BAD_FLAGS),
	MUTATE(FILL, fill, size, 0, OUT_OF_RANGE),
	MUTATE(FILL, fill, size, 6, MISALIGNED),
	MUTATE(FILL, fill, size, 62 * 4096, OUT_OF_RANGE),
	MUTATE(FILL, fill, size, 0xfffffffffffffffc, OUT_OF_RANGE),
	MUTATE(FILL, fill, address, 2, MISALIGNED),
	MUTATE(FILL, fill, address, 64 * 4096, OUT_OF_RANGE),
	MUTATE(FILL, fill, address, 64 * 4096 - 4, OUT_OF_RANGE),
	MUTATE(FILL, fill, address, 60 * 4096 - 4, OUT_OF_RANGE),
	MUTATE(FILL, fill, segment, 0, BAD_SEGMENT),
	MUTATE(FILL, fill, segment, 2, BAD_SEGMENT),
	MUTATE(FILL, fill, segment, 3, BAD_SEGMENT),

	MUTATE(DISCARD_CONTENT, discard_content, packet.length, 48, BAD_LENGTH),
	MUTATE(DISCARD_CONTENT, discard_content, packet.flags, 1, BAD_FLAGS),
	MUTATE(DISCARD_CONTENT, discard_content, size, 0, OUT_OF_RANGE),
	MUTATE(DISCARD_CONTENT, discard_content, size, 4100, MISALIGNED),
	MUTATE(DISCARD_CONTENT, discard_content, address, 4, MISALIGNED),
	MUTATE(DISCARD_CONTENT, discard_content, address, 63 * 4096, OUT_OF_RANGE),
	MUTATE(DISCARD_CONTENT, discard_content, address, 59 * 4096, OUT_OF_RANGE),
	MUTATE(DISCARD_CONTENT, discard_content, segment, 2, BAD_SEGMENT),
	MUTATE(DISCARD_CONTENT, discard_content, segment, 0, BAD_SEGMENT),
	MUTATE(DISCARD_CONTENT, discard_content, reserved, 1, RESERVED),

	MUTATE(READ_PHYSICAL, access_physical, packet.flags, 1, BAD_FLAGS),
	MUTATE(READ_PHYSICAL, access_physical, packet.length, 24, BAD_LENGTH),
	MUTATE(READ_PHYSICAL, access_physical, size, 0, OUT_OF_RANGE),
	MUTATE(READ_PHYSICAL, access_physical, size, 3, OUT_OF_RANGE),
	MUTATE(READ_PHYSICAL, access_physical, size, 16, OUT_OF_RANGE),
	MUTATE(READ_PHYSICAL, access_physical, address, 4, MISALIGNED),
	MUTATE(READ_PHYSICAL, access_physical, address, 64 * 4096, OUT_OF_RANGE),
	MUTATE(READ_PHYSICAL, access_physical, segment, 2, UNREACHABLE),
	MUTATE(READ_PHYSICAL, access_physical, segment, 0, UNREACHABLE),
	MUTATE(READ_PHYSICAL, access_physical, segment, 3, BAD_SEGMENT),
	MUTATE(WRITE_PHYSICAL, access_physical, packet.flags, 1, BAD_FLAGS),
	MUTATE(WRITE_PHYSICAL, access_physical, size, 5, OUT_OF_RANGE),
	MUTATE(WRITE_PHYSICAL, access_physical, address, 12, MISALIGNED),
	MUTATE(WRITE_PHYSICAL, access_physical, address, 60 * 4096, OUT_OF_RANGE),
	MUTATE(WRITE_PHYSICAL, access_physical, segment, 2, UNREACHABLE),
	MUTATE(WRITE_PHYSICAL, access_physical, segment, 3, BAD_SEGMENT),

	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, packet.flags, 2, BAD_FLAGS),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, packet.length, 48, BAD_LENGTH),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, first_page, 61, OUT_OF_RANGE),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, first_page, ~0ull, OUT_OF_RANGE),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, nr_pages, 0, OUT_OF_RANGE),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, nr_pages, 3, BAD_RUNS),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, nr_pages, 5, BAD_RUNS),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, segment, 1, BAD_SEGMENT),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, generation, 0, STALE_GENERATION),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, generation, 1 << 24, STALE_GENERATION),
	MUTATE(MAP_APERTURE_SEGMENT, map_aperture_segment, reserved, 1, RESERVED),
	MUTATE_RUN(MAP_APERTURE_SEGMENT, map_aperture_segment, 3, address, 8, MISALIGNED),
	MUTATE_RUN(MAP_APERTURE_SEGMENT, map_aperture_segment, 3, address, 4096, UNREACHABLE),
	MUTATE_RUN(MAP_APERTURE_SEGMENT, map_aperture_segment, 3, nr_pages, 0, BAD_RUNS),
	MUTATE_RUN(MAP_APERTURE_SEGMENT, map_aperture_segment, 0, reserved, 1, RESERVED),
	MUTATE(MAP_APERTURE_SEGMENT2, map_aperture_segment, packet.flags, 2, BAD_RUNS),
	MUTATE(MAP_APERTURE_SEGMENT2, map_aperture_segment, packet.flags, 4, BAD_FLAGS),
	MUTATE(MAP_APERTURE_SEGMENT2, map_aperture_segment, first_page, 61, OUT_OF_RANGE),
	MUTATE(MAP_APERTURE_SEGMENT2, map_aperture_segment, segment, 0, BAD_SEGMENT),

	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, packet.flags, 1, BAD_FLAGS),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, first_page, 61, OUT_OF_RANGE),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, nr_pages, 0, OUT_OF_RANGE),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, nr_pages, ~0ull, OUT_OF_RANGE),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, dummy_page, 0, UNREACHABLE),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, dummy_page, 12, MISALIGNED),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, dummy_page, 4096, UNREACHABLE),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, segment, 1, BAD_SEGMENT),
	MUTATE(UNMAP_APERTURE_SEGMENT, unmap_aperture_segment, reserved, 1, RESERVED),

	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, packet.flags, 1, RESERVED),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, packet.flags, 8, BAD_FLAGS),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, address, 4, MISALIGNED),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, address, 1ull << 63, OUT_OF_RANGE),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, segment, 0, UNREACHABLE),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, segment, 2, UNREACHABLE),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, segment, 3, BAD_SEGMENT),
	MUTATE(SIGNAL_MONITORED_FENCE, signal_monitored_fence, reserved, 1, RESERVED),

	MUTATE(NOTIFY_ALLOC, notify_alloc, packet.flags, 0, BAD_FLAGS),
	MUTATE(NOTIFY_ALLOC, notify_alloc, packet.flags, 3, BAD_FLAGS),
	MUTATE(NOTIFY_ALLOC, notify_alloc, packet.flags, 4, BAD_FLAGS),
	MUTATE(NOTIFY_ALLOC, notify_alloc, offset, 0xfffffffffffff000, OUT_OF_RANGE),
	MUTATE(NOTIFY_ALLOC, notify_alloc, packet.allocation, 0, OUT_OF_RANGE),
	MUTATE(NOTIFY_ALLOC, notify_alloc, offset, 1, MISALIGNED),
	MUTATE(NOTIFY_ALLOC, notify_alloc, offset, 0xfffffffffffff000, OUT_OF_RANGE),
	MUTATE(NOTIFY_ALLOC, notify_alloc, size, 0, OUT_OF_RANGE),
	MUTATE(NOTIFY_ALLOC, notify_alloc, size, 4, MISALIGNED),
	MUTATE(NOTIFY_ALLOC, notify_alloc, process, 1, RESERVED),
};

/* A packet with one bad field is refused, without effect. */
static void engine_malformed_test(struct kunit *test)
{
	engine_expect_mutations(test, test->priv, engine_mutations, ARRAY_SIZE(engine_mutations));
}

/*
 * A buffer that is cut within a packet faults without effect on memory; a buffer that is cut
 * between packets is executed. A buffer larger than &pagoda_engine.max_buffer is refused.
 */
static void engine_truncated_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u32 i, size, whole;

	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++) {
		if (!engine_supports(i))
			continue;
		engine_add_notify(fix);
		whole = fix->size;
		engine_add_valid(fix, i);
		for (size = fix->size; size;) {
			size -= 4;
			engine_snapshot(fix);
			fix->size = size;
			KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0),
					size == 0 || size == whole ? PAGODA_ENGINE_DONE :
					PAGODA_ENGINE_FAULT);
			if (run.fault.reason)
				KUNIT_EXPECT_EQ(test, run.fault.reason,
						size % 8 ? VIRTIO_PAGODA_FAULT_BAD_BUFFER :
						VIRTIO_PAGODA_FAULT_BAD_LENGTH);
			engine_expect_unchanged(test, fix, "truncated");
		}
	}
	fix->size = ENGINE_BUFFER + 8;
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_BUFFER, "too long");
}

/*
 * Execution starts at the packet at &pagoda_engine_run.start. A start within a packet, or beyond
 * the end of the buffer, is refused.
 */
static void engine_start_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u32 start, i, size;

	for (start = 0; start <= 4 * 40 + 8; start += 4) {
		bool boundary = start % 40 == 0 && start <= 4 * 40;

		memset(fix->vram, 0, ENGINE_PAGE);
		for (i = 0; i < 4; i++)
			engine_add_fill(fix, i * 4, 4, i + 1);
		size = fix->size;
		KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, start),
				boundary ? PAGODA_ENGINE_DONE : PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, run.fault.reason, boundary ? VIRTIO_PAGODA_FAULT_NONE :
				VIRTIO_PAGODA_FAULT_BAD_BUFFER);
		KUNIT_EXPECT_EQ(test, run.offset, boundary ? size : 0);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_EQ(test, ((u32 *)fix->vram)[i],
					boundary && i >= start / 40 ? i + 1 : 0);
	}
}

/* A FILL writes its pattern to each word of the range and to no other. */
static void engine_fill_test(struct kunit *test)
{
	static const u32 patterns[] = { 0, 0x5a5a5a5a, 0x01020304, 0xffffffff, 0x00ff00ff };
	struct engine_fixture *fix = test->priv;
	u32 i, round;

	PAGODA_PROVES(C39, C40, C43);
	for (round = 0; round < 200; round++) {
		u32 pattern = patterns[round % ARRAY_SIZE(patterns)];
		u32 first = get_random_u32_below(12 * 1024);
		u32 words = 1 + get_random_u32_below(round % 2 ? 12 : 3000);
		u32 *vram = (u32 *)fix->vram;

		engine_snapshot(fix);
		engine_add_fill(fix, first * 4, words * 4, pattern);
		engine_expect_done(test, fix);
		for (i = first; i < first + words; i++)
			if (le32_to_cpu((__force __le32)vram[i]) != pattern)
				break;
		KUNIT_EXPECT_EQ(test, i, first + words);
		memcpy(vram + first, engine_before(fix, (u8 *)(vram + first)), words * 4);
		engine_expect_unchanged(test, fix, "around the filled range");
	}
}

/* DISCARD_CONTENT changes no memory, or poisons exactly its range if the engine is told to. */
static void engine_discard_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u32 *words = (u32 *)(fix->vram + 5 * ENGINE_PAGE);
	u32 i;

	engine_snapshot(fix);
	engine_add_valid(fix, VIRTIO_PAGODA_OP_DISCARD_CONTENT);
	engine_expect_done(test, fix);
	engine_expect_unchanged(test, fix, "discard without poison");
	fix->engine.poison_discarded = true;
	engine_add_valid(fix, VIRTIO_PAGODA_OP_DISCARD_CONTENT);
	engine_expect_done(test, fix);
	for (i = 0; i < 2 * ENGINE_PAGE / 4; i++)
		KUNIT_ASSERT_EQ(test, le32_to_cpu((__force __le32)words[i]), PAGODA_ENGINE_POISON);
	memcpy(words, engine_before(fix, (u8 *)words), 2 * ENGINE_PAGE);
	engine_expect_unchanged(test, fix, "around the poison");
}

/*
 * READ_PHYSICAL changes no memory, and WRITE_PHYSICAL sets exactly its bytes to 0, in each segment.
 */
static void engine_physical_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	const struct {
		u32 segment;
		u64 address;
		u8 *here;
	} places[] = {
		{ VIRTIO_PAGODA_SEGMENT_SYSTEM, engine_bus(5) + 64, fix->system + 5 * 4096 + 64 },
		{ VIRTIO_PAGODA_SEGMENT_VRAM, ENGINE_PAGE - 8, fix->vram + ENGINE_PAGE - 8 },
		{ VIRTIO_PAGODA_SEGMENT_APERTURE, 3 * ENGINE_PAGE + 16,
		  fix->system + 10 * ENGINE_PAGE + 16 },
	};
	u32 i, size;

	PAGODA_PROVES(C49, C50);
	engine_add_valid(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT);
	engine_expect_done(test, fix);
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (size = 1; size <= 8; size *= 2) {
			memset(places[i].here, 0xcc, 8);
			engine_snapshot(fix);
			engine_add_physical(fix, VIRTIO_PAGODA_OP_READ_PHYSICAL,
					    places[i].segment, places[i].address, size);
			engine_expect_done(test, fix);
			engine_expect_unchanged(test, fix, "READ_PHYSICAL");
			engine_add_physical(fix, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
					    places[i].segment, places[i].address, size);
			engine_expect_done(test, fix);
			KUNIT_EXPECT_NULL(test, memchr_inv(places[i].here, 0, size));
			memset(places[i].here, 0xcc, size);
			engine_expect_unchanged(test, fix, "around WRITE_PHYSICAL");
		}
	}
}

/*
 * SIGNAL_MONITORED_FENCE stores its value and sends an event if asked to; with FORWARD the value in
 * memory never decreases.
 */
static void engine_signal_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 value = get_random_u64();
	u32 i;

	engine_snapshot(fix);
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_SYSTEM, engine_bus(7) + 8, value, 0);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->fences, 0);
	KUNIT_EXPECT_EQ(test, *(u64 *)(fix->system + 7 * ENGINE_PAGE + 8), value);
	memcpy(fix->system + 7 * ENGINE_PAGE + 8,
	       engine_before(fix, fix->system + 7 * ENGINE_PAGE + 8), 8);
	engine_expect_unchanged(test, fix, "around the fence");
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_VRAM, 8, value, VIRTIO_PAGODA_SIGNAL_EVENT);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->fences, 1);
	KUNIT_EXPECT_EQ(test, fix->fence_value, value);
	for (i = 0; i < 3; i++) {
		u64 next = value / 2 + i * (value / 4 + 1);

		engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_VRAM, 8, next,
				  VIRTIO_PAGODA_SIGNAL_FORWARD | VIRTIO_PAGODA_SIGNAL_EVENT);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_EQ(test, *(u64 *)(fix->vram + 8), max(value, next));
		KUNIT_EXPECT_EQ(test, fix->fences, 2 + i);
	}
}

/*
 * After an injected failure the packets before the failed packet are executed, and the failed
 * packet isn't, or half of it is with fail_middle. The run can be resumed at that packet.
 */
static void engine_failure_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u32 i;

	for (i = 0; i < 6; i++) {
		bool middle = i % 2;
		u32 at = i / 2;
		u64 done;

		memset(fix->vram, 0, 3 * ENGINE_PAGE);
		engine_add_fill(fix, 0, ENGINE_PAGE, ~0u);
		engine_add_fill(fix, ENGINE_PAGE, ENGINE_PAGE, ~0u);
		engine_add_fill(fix, 2 * ENGINE_PAGE, ENGINE_PAGE, ~0u);
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
		run.buffer = fix->buffer;
		run.size = fix->size;
		run.fail_at = at;
		run.fail_middle = middle;
		fix->size = 0;
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_DEVICE_FAILURE);
		KUNIT_EXPECT_EQ(test, run.fault.offset, at * 40);
		KUNIT_EXPECT_EQ(test, run.packets, at);
		done = (u8 *)memchr(fix->vram, 0, 3 * ENGINE_PAGE) - fix->vram;
		KUNIT_EXPECT_EQ(test, done, at * ENGINE_PAGE + (middle ? ENGINE_PAGE / 2 : 0));
		/* Resumed, the packet fails again: fail_at is still set. */
		run.start = run.offset;
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, run.fault.offset, at * 40);
		run.fail_at = PAGODA_ENGINE_NEVER;
		run.stop_at = 2;
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_STOPPED);
		KUNIT_EXPECT_EQ(test, run.offset, 80);
		run.start = run.offset;
		run.stop_at = PAGODA_ENGINE_NEVER;
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_DONE);
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, 0xff, 3 * ENGINE_PAGE));
	}
}

/*
 * Executes the buffer on a queue of @kind, with the byte at @stop as the run's stop flag: the
 * buffer itself writes that byte. Expects that the run stops at @offset.
 */
static void engine_expect_stop(struct kunit *test, struct engine_fixture *fix, u32 kind,
			       const u8 *stop, u32 offset)
{
	u32 queue = kind == PAGODA_ENGINE_QUEUE_EXEC ? VIRTIO_PAGODA_QUEUE_EXEC0 :
						       VIRTIO_PAGODA_QUEUE_PAGING;
	struct pagoda_engine_run run;

	pagoda_engine_run_init(&run, kind, queue, 1);
	run.buffer = fix->buffer;
	run.size = fix->size;
	run.stop = (const bool *)stop;
	fix->size = 0;
	KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run), PAGODA_ENGINE_STOPPED);
	KUNIT_EXPECT_EQ(test, run.offset, offset);
	KUNIT_EXPECT_EQ(test, run.packets, !!offset);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE);
}

/*
 * When told to stop, an execution queue stops within a packet, and the paging queue after the
 * packet.
 */
static void engine_stop_test(struct kunit *test)
{
	static const u32 kinds[] = { PAGODA_ENGINE_QUEUE_EXEC, PAGODA_ENGINE_QUEUE_PAGING };
	const struct engine_side src = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	const struct engine_side dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 3 * SZ_1M };
	struct engine_fixture *fix = test->priv;
	u8 *vram = test_vzalloc(test, SZ_8M);
	u32 i, size;

	fix->engine.vram = vram;
	fix->engine.vram_size = SZ_8M;
	fix->engine.dirty = test_vzalloc(test, SZ_8M / ENGINE_PAGE);
	fix->marks = test_vzalloc(test, SZ_8M);
	fix->engine.nr_invalid = 0;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool whole = kinds[i] == PAGODA_ENGINE_QUEUE_PAGING;

		memset(vram, 0, SZ_8M);
		engine_add_fill(fix, 0, 3 * SZ_1M, 0x01010101);
		size = fix->size;
		engine_add_fill(fix, 3 * SZ_1M, ENGINE_PAGE, 0x01010101);
		engine_expect_stop(test, fix, kinds[i], vram, whole ? size : 0);
		KUNIT_EXPECT_EQ(test, vram[SZ_1M - 1], 1);
		KUNIT_EXPECT_EQ(test, vram[3 * SZ_1M - 1], whole);
		KUNIT_EXPECT_EQ(test, vram[3 * SZ_1M], 0);

		memset(vram, 1, 3 * SZ_1M);
		engine_add_transfer(fix, 3 * SZ_1M, &src, &dst);
		size = fix->size;
		engine_add_fill(fix, 6 * SZ_1M, ENGINE_PAGE, 0x01010101);
		engine_expect_stop(test, fix, kinds[i], vram + 3 * SZ_1M, whole ? size : 0);
		KUNIT_EXPECT_EQ(test, vram[4 * SZ_1M - 1], 1);
		KUNIT_EXPECT_EQ(test, vram[6 * SZ_1M - 1], whole);
		KUNIT_EXPECT_EQ(test, vram[6 * SZ_1M], 0);
	}
}

const u32 pagoda_engine_faulted[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_FILL, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
	VIRTIO_PAGODA_OP_READ_PHYSICAL, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
	VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
	VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0
};

static struct kunit_case engine_cases[] = {
	KUNIT_CASE(engine_opcode_test),
	KUNIT_CASE(engine_exec_queue_test),
	KUNIT_CASE(engine_malformed_test),
	KUNIT_CASE_SLOW(engine_truncated_test),
	KUNIT_CASE(engine_start_test),
	KUNIT_CASE(engine_fill_test),
	KUNIT_CASE(engine_discard_test),
	KUNIT_CASE(engine_physical_test),
	KUNIT_CASE(engine_signal_test),
	KUNIT_CASE(engine_failure_test),
	KUNIT_CASE(engine_stop_test),
	{}
};

static struct kunit_suite engine_suite = {
	.name = "pagoda_engine",
	.init = engine_suite_init,
	.test_cases = engine_cases,
};

kunit_test_suite(engine_suite);
