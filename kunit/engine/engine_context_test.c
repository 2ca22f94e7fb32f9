// SPDX-License-Identifier: GPL-2.0
/* Operations on save areas of contexts, notices to the device, and signals of monitored fences. */
#include <kunit/test-bug.h>
#include "paging/coverage.h"
#include "engine_helpers.h"

static const struct engine_mutation context_mutations[] = {
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, packet.flags, 1, BAD_FLAGS),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, packet.length, 64, BAD_LENGTH),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, size, 0, OUT_OF_RANGE),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, size, 4100, MISALIGNED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, size, 3 * 4096, BAD_RUNS),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, size, 4096, BAD_RUNS),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, gpu_address, 8, MISALIGNED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, gpu_address, 1ull << 47,
	       OUT_OF_RANGE),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.segment, 3, BAD_SEGMENT),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.segment, 1, RESERVED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.address, 4096, RESERVED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.generation, 1, RESERVED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.reserved, 1, RESERVED),
	MUTATE(INIT_CONTEXT_RESOURCE, init_context_resource, dst.nr_runs, 1, BAD_LENGTH),
	MUTATE_RUN(INIT_CONTEXT_RESOURCE, init_context_resource, 1, address, 0, UNREACHABLE),
	MUTATE_RUN(INIT_CONTEXT_RESOURCE, init_context_resource, 1, address,
		   0x100000000 + 48 * 4096, UNREACHABLE),
	MUTATE_RUN(INIT_CONTEXT_RESOURCE, init_context_resource, 1, address, 12, MISALIGNED),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, packet.flags, 1, BAD_FLAGS),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, packet.length, 40,
	       BAD_LENGTH),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, address, ENGINE_VA + 8,
	       MISALIGNED),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, address, 1ull << 47,
	       OUT_OF_RANGE),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, address, 1ull << 46,
	       INVALID_ENTRY),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, size, ENGINE_PAGE + 11,
	       OUT_OF_RANGE),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, size, ~0ull, OUT_OF_RANGE),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, data_size, 0, BAD_LENGTH),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, data_size, 19, RESERVED),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, data_size, ~0u, BAD_LENGTH),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, data_offset,
	       2 * ENGINE_PAGE - 19, OUT_OF_RANGE),
	MUTATE(UPDATE_CONTEXT_ALLOCATION, update_context_allocation, data_offset, ~0u,
	       OUT_OF_RANGE),
};

/* Each bad field of INIT_CONTEXT_RESOURCE and UPDATE_CONTEXT_ALLOCATION is refused. */
static void context_malformed_test(struct kunit *test)
{
	engine_expect_mutations(test, test->priv, context_mutations,
				ARRAY_SIZE(context_mutations));
}

static void context_expect_image(struct kunit *test, const u8 *here, u64 context)
{
	const struct virtio_pagoda_context_image *image = (const void *)here;

	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->magic), VIRTIO_PAGODA_CONTEXT_MAGIC);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->context), context);
	KUNIT_EXPECT_NULL(test, memchr_inv(here + 16, 0, ENGINE_PAGE - 16));
}

/*
 * INIT_CONTEXT_RESOURCE writes a head and zeros behind it to a save area in system memory, VRAM or
 * the aperture, and changes nothing around the save area.
 */
static void context_init_test(struct kunit *test)
{
	static const u8 pages[] = { 11, 9, 30 };
	const struct engine_side sides[] = {
		{ .nr_runs = ARRAY_SIZE(pages), .pages = pages },
		{ .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = 5 * ENGINE_PAGE },
		{ .segment = VIRTIO_PAGODA_SEGMENT_APERTURE, .address = 3 * ENGINE_PAGE,
		  .generation = 7 },
	};
	struct engine_fixture *fix = test->priv;
	u8 *const here[3][3] = {
		{ fix->system + 11 * ENGINE_PAGE, fix->system + 9 * ENGINE_PAGE,
		  fix->system + 30 * ENGINE_PAGE },
		{ fix->vram + 5 * ENGINE_PAGE, fix->vram + 6 * ENGINE_PAGE,
		  fix->vram + 7 * ENGINE_PAGE },
		{ fix->system + 10 * ENGINE_PAGE, fix->system + 11 * ENGINE_PAGE,
		  fix->system + 12 * ENGINE_PAGE },
	};
	u32 i, j;

	/* The aperture can be used only where it is mapped. */
	engine_add_init_context(fix, 3 * ENGINE_PAGE, 1, &sides[2]);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNREACHABLE, "not mapped");
	engine_add_valid(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT);
	engine_expect_done(test, fix);
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		engine_snapshot(fix);
		engine_add_init_context(fix, 3 * ENGINE_PAGE, i + 40, &sides[i]);
		engine_expect_done(test, fix);
		context_expect_image(test, here[i][0], i + 40);
		for (j = 0; j < 3; j++) {
			if (j)
				KUNIT_EXPECT_NULL(test, memchr_inv(here[i][j], 0, ENGINE_PAGE));
			memcpy(here[i][j], engine_before(fix, here[i][j]), ENGINE_PAGE);
		}
		engine_expect_unchanged(test, fix, "around the save area");
	}
}

/*
 * An INIT_CONTEXT_RESOURCE that fails at its start has written nothing; if the failure is in the
 * middle of the packet, the first half of the save area is written. The packet, executed again,
 * writes all of the save area.
 */
static void context_failure_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	const struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };

	memset(fix->vram, 0xee, 2 * ENGINE_PAGE);
	engine_add_init_context(fix, 2 * ENGINE_PAGE, 9, &vram);
	engine_expect_failure(test, fix, false);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, 0xee, 2 * ENGINE_PAGE));
	engine_add_init_context(fix, 2 * ENGINE_PAGE, 9, &vram);
	engine_expect_failure(test, fix, true);
	context_expect_image(test, fix->vram, 9);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + ENGINE_PAGE, 0xee, ENGINE_PAGE));
	engine_add_init_context(fix, 2 * ENGINE_PAGE, 9, &vram);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + ENGINE_PAGE, 0, ENGINE_PAGE));
}

/*
 * UPDATE_CONTEXT_ALLOCATION writes every byte of its data, also across pages, and changes nothing
 * else.
 */
static void context_update_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	static const struct {
		u64 va;
		u32 offset, size;
	} places[] = {
		{ ENGINE_VA + 6 * ENGINE_PAGE, 0, 8 },
		{ ENGINE_VA + 6 * ENGINE_PAGE, ENGINE_PAGE - 3, 9 },
		{ ENGINE_VA + 6 * ENGINE_PAGE, 1, 3 * ENGINE_PAGE - 2 },
		{ ENGINE_VA_SYSTEM + 20 * ENGINE_PAGE, 7, 1 },
		{ ENGINE_VA_SYSTEM + 20 * ENGINE_PAGE, 2 * ENGINE_PAGE - 40, 48 },
	};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		u8 *here = (i < 3 ? fix->vram + 6 * ENGINE_PAGE : fix->system + 20 * ENGINE_PAGE) +
			   places[i].offset;
		u8 *data;

		engine_snapshot(fix);
		data = engine_add_update_context(fix, places[i].va, 3 * ENGINE_PAGE,
						 places[i].offset, places[i].size);
		for (j = 0; j < places[i].size; j++)
			data[j] = j * 7 + i;
		engine_expect_done(test, fix);
		KUNIT_EXPECT_MEMEQ(test, here, data, places[i].size);
		memcpy(here, engine_before(fix, here), places[i].size);
		engine_expect_unchanged(test, fix, "around the data");
	}
	engine_add_update_context(fix, ENGINE_VA + 6 * ENGINE_PAGE, 4096, 0, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "no data");
}

/*
 * An UPDATE_CONTEXT_ALLOCATION that fails in the middle has written the first half of its data; if
 * the failure is at the packet's start, nothing is written.
 */
static void context_update_failure_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u8 *here = fix->vram + 6 * ENGINE_PAGE;

	memset(here, 0, ENGINE_PAGE);
	engine_add_update_context(fix, ENGINE_VA + 6 * ENGINE_PAGE, ENGINE_PAGE, 0, 32);
	engine_expect_failure(test, fix, false);
	KUNIT_EXPECT_NULL(test, memchr_inv(here, 0, ENGINE_PAGE));
	engine_add_update_context(fix, ENGINE_VA + 6 * ENGINE_PAGE, ENGINE_PAGE, 0, 32);
	engine_expect_failure(test, fix, true);
	KUNIT_EXPECT_NULL(test, memchr_inv(here, 0x5a, 16));
	KUNIT_EXPECT_NULL(test, memchr_inv(here + 16, 0, ENGINE_PAGE - 16));
}

static const struct engine_mutation notify_mutations[] = {
	MUTATE(NOTIFY_RESIDENCY, notify_residency, packet.flags, 2, BAD_FLAGS),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, packet.flags, 0, RESERVED),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, packet.length, 56, BAD_LENGTH),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, packet.allocation, 0, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, address, 4, MISALIGNED),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, address, 64 * 4096, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, address, 60 * 4096, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, offset, 1, RESERVED),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, nr_pages, 1, RESERVED),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, segment, 3, BAD_SEGMENT),
	MUTATE(NOTIFY_RESIDENCY, notify_residency, reserved, 1, RESERVED),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, packet.flags, 2, BAD_FLAGS),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, packet.flags, 0, RESERVED),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, packet.allocation, 0, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, address, 62 * 4096, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, address, 58 * 4096, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, address, 0xfffffffffffff000, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, offset, ~0ull, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, offset, (1ull << 52) - 3, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, nr_pages, 0, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, nr_pages, 57, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, nr_pages, 1ull << 52, OUT_OF_RANGE),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, segment, 0xffffffff, BAD_SEGMENT),
	MUTATE(NOTIFY_RESIDENCY2, notify_residency, reserved, 1, RESERVED),
	MUTATE(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, packet.flags, 1, BAD_FLAGS),
	MUTATE(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, nr_fences, 1, BAD_LENGTH),
	MUTATE(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, nr_fences, ~0u, BAD_LENGTH),
	MUTATE(NOTIFY_FENCE_RESIDENCY, notify_fence_residency, reserved, 1, RESERVED),
};

/* Each bad field and address of NOTIFY_RESIDENCY, _RESIDENCY2 and _FENCE_RESIDENCY is refused. */
static void notify_malformed_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	static const struct {
		u64 address;
		u32 reason;
	} bad[] = {
		{ ENGINE_BUS + 4, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ ENGINE_BUS + ENGINE_HOLE * ENGINE_PAGE, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ 8, VIRTIO_PAGODA_FAULT_UNREACHABLE },
		{ 1ull << 40, VIRTIO_PAGODA_FAULT_UNREACHABLE },
	};
	struct virtio_pagoda_notify_residency *notify;
	u32 i;

	engine_expect_mutations(test, fix, notify_mutations, ARRAY_SIZE(notify_mutations));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		engine_add_fence_residency(fix, 3)[2].current_value = cpu_to_le64(bad[i].address);
		engine_expect_fault(test, fix, bad[i].reason, "current value");
		engine_add_fence_residency(fix, 3)[2].monitored_value =
			cpu_to_le64(bad[i].address);
		engine_expect_fault(test, fix, bad[i].reason, "monitored value");
	}
	engine_add_fence_residency(fix, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "no fence");
	/* Addresses beyond the end of the aperture or of system memory are refused. */
	notify = engine_add_residency(fix, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2, 1);
	notify->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE);
	notify->address = cpu_to_le64(ENGINE_BYTES);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "aperture");
	notify = engine_add_residency(fix, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2, 1);
	notify->segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_SYSTEM);
	notify->address = cpu_to_le64(1ull << fix->engine.system_bits);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNREACHABLE, "system memory");
}

/*
 * The engine hands each notice to pagoda_engine_ops.notify once, but not if the packet fails; no
 * memory changes.
 */
static void notify_given_test(struct kunit *test)
{
	static const u16 opcodes[] = {
		VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2,
		VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, VIRTIO_PAGODA_OP_NOTIFY_ALLOC,
	};
	struct engine_fixture *fix = test->priv;
	u32 i;

	engine_snapshot(fix);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		fix->notices = 0;
		engine_add_valid(fix, opcodes[i]);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_EQ(test, fix->notices, 1);
		KUNIT_EXPECT_EQ(test, le16_to_cpu(fix->notice.opcode), opcodes[i]);
		engine_add_valid(fix, opcodes[i]);
		engine_expect_failure(test, fix, true);
		KUNIT_EXPECT_EQ(test, fix->notices, 1);
	}
	engine_expect_unchanged(test, fix, "notices");
}

/*
 * A notice of an allocation or fence that isn't resident succeeds without an address. A notice that
 * names a segment for such an allocation is refused.
 */
static void notify_evicted_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_notify_residency *notify;
	u32 i;

	for (i = 0; i < 2; i++) {
		notify = engine_add_residency(fix, i ? VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2 :
					      VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, i);
		notify->packet.flags = 0;
		notify->address = 0;
		notify->segment = 0;
		engine_expect_done(test, fix);
		notify = engine_add_residency(fix, i ? VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2 :
					      VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, i);
		notify->packet.flags = 0;
		notify->address = 0;
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "segment of nothing");
	}
	/* The address of a fence's value may be 0: the value's page isn't resident. */
	engine_add_fence_residency(fix, 2)[0].current_value = 0;
	engine_add_fence_residency(fix, 1)[0].monitored_value = 0;
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->notices, 4);
}

/* A notice succeeds if pagoda_engine_ops.notify is NULL. */
static void notify_deaf_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_ops ops = *fix->engine.ops;

	ops.notify = NULL;
	fix->engine.ops = &ops;
	engine_add_valid(fix, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->notices, 0);
}

#define FENCE_PAGES	4u

/*
 * Appends a FILL of VRAM, a TRANSFER of the filled pages to system memory, and the signal, with an
 * event, of a fence in system memory, which is named by its virtual address if @virtual.
 */
static void fence_add_work(struct engine_fixture *fix, u64 value, bool virtual)
{
	static const u8 pages[] = { 20, 21, 22, 23 };
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	const struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	u16 flags = VIRTIO_PAGODA_SIGNAL_EVENT | (virtual ? VIRTIO_PAGODA_SIGNAL_VIRTUAL : 0);

	engine_add_fill(fix, 0, FENCE_PAGES * ENGINE_PAGE, value);
	engine_add_transfer(fix, FENCE_PAGES * ENGINE_PAGE, &vram, &system);
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_SYSTEM,
			  virtual ? ENGINE_VA_SYSTEM + 7 * ENGINE_PAGE : engine_bus(7), value,
			  flags);
}

static u64 *fence_value(struct engine_fixture *fix)
{
	return (u64 *)(fix->system + 7 * ENGINE_PAGE);
}

/*
 * Called when the event is sent. Expects that the value and the results of all earlier work are in
 * memory.
 */
static void fence_told(struct engine_fixture *fix, const struct pagoda_engine_run *run, u64 address,
		       u64 value)
{
	struct kunit *test = kunit_get_current_test();
	u8 byte = fix->fence_value;

	KUNIT_EXPECT_EQ(test, *fence_value(fix), fix->fence_value);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, byte, FENCE_PAGES * ENGINE_PAGE));
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->system + 20 * ENGINE_PAGE, byte,
					   FENCE_PAGES * ENGINE_PAGE));
}

/*
 * A fence's event and value come after all earlier work; if a packet before the fence or the fence
 * itself fails, neither comes.
 */
static void fence_order_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;
	u32 round;

	PAGODA_PROVES(C116);
	fix->fence = fence_told;
	for (round = 1; round < 20; round++) {
		fence_add_work(fix, round * 0x01010101u, round % 2);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_EQ(test, fix->fences, round);
	}
	/* If the work is incomplete, or the fence itself fails, there is no value and no event. */
	for (round = 0; round < 6; round++) {
		fence_add_work(fix, 0x77777777, round % 2);
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
		run.buffer = fix->buffer;
		run.size = fix->size;
		run.fail_at = round / 2;
		run.fail_middle = true;
		fix->size = 0;
		KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run),
				PAGODA_ENGINE_FAULT);
		KUNIT_EXPECT_EQ(test, *fence_value(fix), 19 * 0x01010101u);
		KUNIT_EXPECT_EQ(test, fix->fences, 19);
	}
}

/* A fence at a virtual address is translated: bad addresses fault, others change 8 bytes only. */
static void fence_virtual_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	static const struct {
		u64 va;
		u32 reason;
	} bad[] = {
		{ ENGINE_VA + 4, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ 1ull << 47, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 1ull << 46, VIRTIO_PAGODA_FAULT_INVALID_ENTRY },
		{ ENGINE_VA_SYSTEM + ENGINE_HOLE * ENGINE_PAGE, VIRTIO_PAGODA_FAULT_UNREACHABLE },
	};
	u64 value = 0x0123456789abcdefull;
	u8 *here = fix->vram + 9 * ENGINE_PAGE + 8;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		engine_add_signal(fix, 0, bad[i].va, value, VIRTIO_PAGODA_SIGNAL_VIRTUAL);
		engine_expect_fault(test, fix, bad[i].reason, "virtual fence");
	}
	engine_snapshot(fix);
	engine_add_signal(fix, 0, ENGINE_VA + 9 * ENGINE_PAGE + 8, value,
			  VIRTIO_PAGODA_SIGNAL_VIRTUAL);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->fences, 0);
	KUNIT_EXPECT_EQ(test, *(u64 *)here, value);
	memcpy(here, engine_before(fix, here), 8);
	engine_expect_unchanged(test, fix, "around the fence");
}

static struct kunit_case context_cases[] = {
	KUNIT_CASE(context_malformed_test),
	KUNIT_CASE(context_init_test),
	KUNIT_CASE(context_failure_test),
	KUNIT_CASE(context_update_test),
	KUNIT_CASE(context_update_failure_test),
	{}
};

static struct kunit_suite context_suite = {
	.name = "pagoda_engine_context",
	.init = engine_suite_init,
	.test_cases = context_cases,
};

static struct kunit_case notify_cases[] = {
	KUNIT_CASE(notify_malformed_test),
	KUNIT_CASE(notify_given_test),
	KUNIT_CASE(notify_evicted_test),
	KUNIT_CASE(notify_deaf_test),
	{}
};

static struct kunit_suite notify_suite = {
	.name = "pagoda_engine_notify",
	.init = engine_suite_init,
	.test_cases = notify_cases,
};

const u32 pagoda_context_faulted[] = {
	VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE, VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
	VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2,
	VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, 0
};

static struct kunit_case fence_cases[] = {
	KUNIT_CASE(fence_order_test),
	KUNIT_CASE(fence_virtual_test),
	{}
};

static struct kunit_suite fence_suite = {
	.name = "pagoda_engine_fence",
	.init = engine_suite_init,
	.test_cases = fence_cases,
};

kunit_test_suites(&context_suite, &notify_suite, &fence_suite);
