// SPDX-License-Identifier: GPL-2.0
/*
 * Effects of transfers, fills, accesses and aperture mappings, executed by the device's engine and
 * by the CPU executor, and what the CPU executor refuses.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "rig/prove.h"
#include "vidmm/segment/internal.h"
#include "coverage.h"
#include "executor_world.h"

#define PAGE		PAGODA_WORLD_PAGE
#define DUMMY_BYTES(w)	((w)->cpu_system + PAGODA_WORLD_DUMMY * PAGE)

static struct pagoda_world *world_seeded(struct kunit *test)
{
	struct rnd_state rnd;

	pagoda_test_seed(test, &rnd);
	return pagoda_world_make(test, &rnd);
}

static struct pagoda_side executor_vram(u64 page)
{
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = page * PAGE,
	};
}

static struct pagoda_side executor_aperture(u64 page, u32 generation)
{
	return (struct pagoda_side) {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.generation = generation,
		.address = page * PAGE,
	};
}

static struct pagoda_side executor_system(const struct pagoda_world_list *list)
{
	return (struct pagoda_side) { .adl = &list->adl };
}

static struct pagoda_paging_op executor_transfer(struct pagoda_side src, struct pagoda_side dst,
						 u64 size)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = { .size = size, .src = src, .dst = dst },
	};
}

static struct pagoda_paging_op executor_fill(u64 address, u64 size, u32 pattern)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = { size, address, VIRTIO_PAGODA_SEGMENT_VRAM, pattern },
	};
}

static struct pagoda_paging_op executor_map(u32 opcode, u64 first, u64 nr_pages, u32 generation,
					    const struct pagoda_world_list *list)
{
	return (struct pagoda_paging_op) {
		.operation = opcode,
		.map_aperture = {
			.first_page = first,
			.nr_pages = nr_pages,
			.generation = generation,
			.adl = &list->adl,
		},
	};
}

static struct pagoda_paging_op executor_unmap(struct pagoda_world *world, u64 first, u64 nr_pages)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = {
			.first_page = first,
			.nr_pages = nr_pages,
			.dummy_page = pagoda_world_bus(PAGODA_WORLD_DUMMY),
			.cpu_pages = &world->cpu_pages[PAGODA_WORLD_DUMMY],
		},
	};
}

/* Builds an operation into the buffer, behind the packets that the buffer has. */
static void executor_append(struct pagoda_world *world, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = { };

	KUNIT_ASSERT_EQ(world->test,
			pagoda_paging_build(&world->limits, op, &cursor, &world->buf),
			PAGODA_BUILD_SUCCESS);
}

/*
 * Copies @nr_pages of VRAM to scattered pages of system memory and back to another place in VRAM,
 * each time in two pieces (a single page in one), built into buffers of @buffer bytes. Expects the
 * copy in VRAM to equal the original.
 */
static void round_trip(struct pagoda_world *world, u32 nr_pages, u32 buffer)
{
	struct pagoda_world_list *list = pagoda_world_list(world, 3, nr_pages);
	u64 first = nr_pages / 2 * PAGE, size = nr_pages * PAGE;
	u8 *before = kunit_kmalloc(world->test, size, GFP_KERNEL);
	u32 i, piece;

	KUNIT_ASSERT_NOT_NULL(world->test, before);
	for (i = 0; i + 1 < nr_pages; i += 2) {
		swap(list->pages[i], list->pages[i + 1]);
		swap(list->cpu_pages[i], list->cpu_pages[i + 1]);
	}
	memcpy(before, world->exec.vram + 2 * PAGE, size);
	for (i = 0; i < 2; i++) {
		for (piece = first ? 0 : 1; piece < 2; piece++) {
			struct pagoda_paging_op op;

			op = i ? executor_transfer(executor_system(list), executor_vram(16), 0) :
				 executor_transfer(executor_vram(2), executor_system(list), 0);
			op.transfer.size = piece ? size - first : first;
			op.transfer.offset = piece ? first : 0;
			op.transfer.mdl_offset = piece ? first / PAGE : 0;
			pagoda_world_do(world, &op, buffer);
		}
	}
	KUNIT_EXPECT_EQ(world->test, memcmp(world->exec.vram + 16 * PAGE, before, size), 0);
	KUNIT_EXPECT_EQ(world->test, memcmp(world->engine_vram + 16 * PAGE, before, size), 0);
	pagoda_world_compare(world);
}

/* Content copied out of VRAM and in again, in few packets or in a packet a run, is unchanged. */
static void round_trip_test(struct kunit *test)
{
	static const u32 sizes[] = { 1, 2, 3, 7, 13 };
	struct pagoda_world *world = world_seeded(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		round_trip(world, sizes[i], PAGODA_WORLD_BUFFER);
		round_trip(world, sizes[i], 72 + 16);
	}
	PAGODA_PROVES(C26, C30);
}

/*
 * Fills of various places and sizes, not only whole pages, write exactly their range; a buffer that
 * is a byte too small for the packet stays empty.
 */
static void fill_test(struct kunit *test)
{
	static const struct { u64 address, size; u32 pattern; } cases[] = {
		{ 0, 4, 0x01020304 }, { 4, 8, 0xfedcba98 }, { 0x1ffc, 0x1008, 0x11223344 },
		{ 0x3000, 0x2000, 0 }, { 0x6008, 12, 0x5a5a5a5a }, { 0x8000, 0x10000, 0x80000001 },
	};
	struct pagoda_world *world = world_seeded(test);
	u64 size = PAGODA_WORLD_VRAM * PAGE, byte;
	u8 *before = kunit_kmalloc(test, size, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, before);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pagoda_paging_op op =
			executor_fill(cases[i].address, cases[i].size, cases[i].pattern);
		u64 end = cases[i].address + cases[i].size;
		struct pagoda_paging_cursor cursor = { };

		memcpy(before, world->exec.vram, size);
		pagoda_world_fresh(world, 39);
		KUNIT_EXPECT_EQ(test,
				pagoda_paging_build(&world->limits, &op, &cursor, &world->buf),
				PAGODA_BUILD_INSUFFICIENT_BUFFER);
		KUNIT_EXPECT_EQ(test, world->buf.write_offset, 0);
		pagoda_world_fresh(world, 40);
		KUNIT_EXPECT_EQ(test,
				pagoda_paging_build(&world->limits, &op, &cursor, &world->buf),
				PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_TRUE(test, pagoda_world_submit(world).good);
		pagoda_world_compare(world);
		for (byte = cases[i].address; byte < end; byte++)
			KUNIT_ASSERT_EQ(test, world->exec.vram[byte],
					(u8)(cases[i].pattern >> (byte % 4 * 8)));
		KUNIT_EXPECT_EQ(test, memcmp(world->exec.vram, before, cases[i].address), 0);
		KUNIT_EXPECT_EQ(test, memcmp(world->exec.vram + end, before + end, size - end), 0);
	}
	PAGODA_PROVES(C39, C40, C43, C44);
}

/*
 * Operations of one buffer take effect in order: where two fills overlap the second one wins, and a
 * copy behind them copies that result.
 */
static void order_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op first = executor_fill(0, PAGE, 0x11111111);
	struct pagoda_paging_op second = executor_fill(PAGE / 2, PAGE, 0x22222222);
	struct pagoda_paging_op copy = executor_transfer(executor_vram(0), executor_vram(9), PAGE);

	executor_append(world, &first);
	executor_append(world, &second);
	executor_append(world, &copy);
	KUNIT_EXPECT_TRUE(test, pagoda_world_submit(world).good);
	pagoda_world_compare(world);
	KUNIT_EXPECT_NULL(test, memchr_inv(world->exec.vram + 9 * PAGE, 0x11, PAGE / 2));
	KUNIT_EXPECT_NULL(test, memchr_inv(world->exec.vram + 9 * PAGE + PAGE / 2, 0x22, PAGE / 2));
	PAGODA_PROVES(C19);
}

/* Returns how many bytes of the CPU executor's VRAM and system memory differ from @before. */
static u32 executor_changed(const struct pagoda_world *world, const u8 *before)
{
	u64 vram = PAGODA_WORLD_VRAM * PAGE, system = PAGODA_WORLD_SYSTEM * PAGE, i;
	u32 changed = 0;

	for (i = 0; i < vram; i++)
		changed += before[i] != world->exec.vram[i];
	for (i = 0; i < system; i++)
		changed += before[vram + i] != world->cpu_system[i];
	return changed;
}

/*
 * Sets 8 bytes at byte @inside of page 5 of @segment to 0xff, saves VRAM and system memory to
 * @before, and executes an access of @size bytes at these bytes on both machines. The caller has
 * mapped page 5 of the aperture to page 5 of system memory.
 */
static void access_bytes(struct pagoda_world *world, u32 opcode, u32 segment, u32 size, u64 inside,
			 u8 *before)
{
	u64 vram = PAGODA_WORLD_VRAM * PAGE, system = PAGODA_WORLD_SYSTEM * PAGE;
	bool in_vram = segment == VIRTIO_PAGODA_SEGMENT_VRAM;
	struct pagoda_paging_op op = {
		.operation = opcode,
		.access_physical = {
			.address = (segment ? 5 * PAGE : pagoda_world_bus(5)) + inside,
			.segment = segment,
			.size = size,
			.cpu_pages = &world->cpu_pages[5],
		},
	};

	memset((in_vram ? world->exec.vram : world->cpu_system) + 5 * PAGE + inside, 0xff, 8);
	memset((in_vram ? world->engine_vram : world->engine_system) + 5 * PAGE + inside, 0xff, 8);
	memcpy(before, world->exec.vram, vram);
	memcpy(before + vram, world->cpu_system, system);
	pagoda_world_do(world, &op, PAGODA_WORLD_BUFFER);
	pagoda_world_compare(world);
}

/* READ_PHYSICAL changes no byte, WRITE_PHYSICAL as many bytes as its access has. */
static void access_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op map = executor_map(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 5, 1, 1,
						   pagoda_world_list(world, 5, 1));
	u8 *before = kunit_kmalloc(test, (PAGODA_WORLD_VRAM + PAGODA_WORLD_SYSTEM) * PAGE,
				   GFP_KERNEL);
	u32 segment, size;
	u64 inside = 0x800;

	KUNIT_ASSERT_NOT_NULL(test, before);
	pagoda_world_do(world, &map, PAGODA_WORLD_BUFFER);
	for (segment = 0; segment < VIRTIO_PAGODA_SEGMENT_COUNT; segment++) {
		for (size = 1; size <= 8; size *= 2, inside += 8) {
			access_bytes(world, VIRTIO_PAGODA_OP_READ_PHYSICAL, segment, size, inside,
				     before);
			KUNIT_EXPECT_EQ(test, executor_changed(world, before), 0);
			PAGODA_PROVES(C49);
			access_bytes(world, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, segment, size, inside,
				     before);
			KUNIT_EXPECT_EQ(test, executor_changed(world, before), size);
			PAGODA_PROVES(C50);
		}
	}
}

/*
 * Both operations that map into the aperture map page i of their range to page adl_offset + i of
 * the list, whether the list is an array or marked as contiguous, and map no other aperture page.
 */
static void map_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	u32 opcode, i, generation;
	u64 bus;

	for (i = 0; i < 4; i++) {
		struct pagoda_world_list *list = pagoda_world_list(world, 8, 10);
		struct pagoda_paging_op op;
		u32 page;

		opcode = i < 2 ? VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT :
				 VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;
		list->adl.contiguous = i % 2;
		op = executor_map(opcode, 4 + i, 7, 100 + i, list);
		op.map_aperture.adl_offset = 2;
		memset(world->engine.aperture, 0, PAGODA_WORLD_APERTURE * sizeof(u64));
		memset(world->exec.aperture, 0, PAGODA_WORLD_APERTURE * sizeof(void *));
		pagoda_world_do(world, &op, PAGODA_WORLD_BUFFER);
		pagoda_world_compare(world);
		for (page = 0; page < PAGODA_WORLD_APERTURE; page++) {
			bool mapped = pagoda_engine_aperture_lookup(&world->engine, page, &bus,
								    &generation);

			KUNIT_ASSERT_EQ(test, mapped, page >= 4 + i && page < 11 + i);
			if (!mapped)
				continue;
			KUNIT_EXPECT_EQ(test, bus, pagoda_world_bus(8 + 2 + page - 4 - i));
			KUNIT_EXPECT_EQ(test, generation, 100 + i);
		}
	}
	PAGODA_PROVES(C52, C65);
}

/*
 * UNMAP_APERTURE_SEGMENT makes pages of the aperture refer to the dummy page: reads and writes
 * that still name the old mapping's generation reach the dummy page and no other memory.
 */
static void unmap_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op map = executor_map(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0, 6, 9,
						   pagoda_world_list(world, 8, 6));
	struct pagoda_paging_op unmap = executor_unmap(world, 1, 3);
	struct pagoda_paging_op write =
		executor_transfer(executor_vram(0), executor_aperture(1, 9), 3 * PAGE);
	struct pagoda_paging_op read =
		executor_transfer(executor_aperture(2, 9), executor_vram(20), PAGE);
	u64 system = PAGODA_WORLD_SYSTEM * PAGE, dummy = PAGODA_WORLD_DUMMY * PAGE, bus;
	u8 *before = kunit_kmalloc(test, system, GFP_KERNEL);
	u32 i, page, generation;

	KUNIT_ASSERT_NOT_NULL(test, before);
	memcpy(before, world->cpu_system, system);
	pagoda_world_do(world, &map, PAGODA_WORLD_BUFFER);
	for (i = 0; i < 2; i++) {
		pagoda_world_do(world, &unmap, PAGODA_WORLD_BUFFER);
		pagoda_world_compare(world);
		for (page = 0; page < 6; page++) {
			pagoda_engine_aperture_lookup(&world->engine, page, &bus, &generation);
			KUNIT_EXPECT_EQ(test, bus, pagoda_world_bus(page >= 1 && page < 4 ?
								    PAGODA_WORLD_DUMMY : 8 + page));
		}
		PAGODA_PROVES(C57, C61);
	}
	pagoda_world_do(world, &write, PAGODA_WORLD_BUFFER);
	pagoda_world_do(world, &read, PAGODA_WORLD_BUFFER);
	pagoda_world_compare(world);
	/*
	 * Of the three pages that are written to the dummy page, the last one stays; no other
	 * system memory changes.
	 */
	KUNIT_EXPECT_EQ(test, memcmp(DUMMY_BYTES(world), world->exec.vram + 2 * PAGE, PAGE), 0);
	KUNIT_EXPECT_EQ(test, memcmp(world->exec.vram + 20 * PAGE, DUMMY_BYTES(world), PAGE), 0);
	KUNIT_EXPECT_EQ(test, memcmp(world->cpu_system, before, dummy), 0);
	KUNIT_EXPECT_EQ(test, memcmp(world->cpu_system + dummy + PAGE, before + dummy + PAGE,
				     system - dummy - PAGE), 0);
	PAGODA_PROVES(C58, C59);
}

/*
 * A buffer that the engine executes twice, each time with equal content of memory before, has the
 * same effect both times, and on the CPU executor, too. The bytes of the buffer don't change.
 */
static void resubmit_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_world_list *list = pagoda_world_list(world, 8, 6);
	struct pagoda_paging_op ops[] = {
		executor_fill(0, 2 * PAGE, 0x12345678),
		executor_map(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, 3, 6, 7, list),
		executor_transfer(executor_vram(0), executor_aperture(4, 7), 4 * PAGE),
		executor_transfer(executor_system(list), executor_vram(12), 5 * PAGE + 4),
		executor_unmap(world, 3, 1),
	};
	u64 vram = PAGODA_WORLD_VRAM * PAGE, system = PAGODA_WORLD_SYSTEM * PAGE;
	u8 *memory = kunit_kmalloc(test, vram + system, GFP_KERNEL);
	u8 *bytes = kunit_kzalloc(test, PAGODA_WORLD_BUFFER, GFP_KERNEL);
	u8 *after = kunit_kmalloc(test, vram + system, GFP_KERNEL);
	struct pagoda_verdict verdict;
	u32 i;

	KUNIT_ASSERT_TRUE(test, memory && bytes && after);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		executor_append(world, &ops[i]);
	memcpy(bytes, world->data, PAGODA_WORLD_BUFFER);
	memcpy(memory, world->engine_vram, vram);
	memcpy(memory + vram, world->engine_system, system);
	for (i = 0; i < 2; i++) {
		verdict = pagoda_world_run_engine(world, 0);
		KUNIT_EXPECT_TRUE(test, verdict.good);
		KUNIT_EXPECT_EQ(test, verdict.stopped_at, world->buf.write_offset);
		KUNIT_EXPECT_MEMEQ(test, bytes, world->data, PAGODA_WORLD_BUFFER);
		PAGODA_PROVES(C21);
		if (i)
			break;
		memcpy(after, world->engine_vram, vram);
		memcpy(after + vram, world->engine_system, system);
		memcpy(world->engine_vram, memory, vram);
		memcpy(world->engine_system, memory + vram, system);
	}
	KUNIT_EXPECT_EQ(test, memcmp(after, world->engine_vram, vram), 0);
	KUNIT_EXPECT_EQ(test, memcmp(after + vram, world->engine_system, system), 0);
	verdict = pagoda_world_run_cpu(world, 0);
	KUNIT_EXPECT_TRUE(test, verdict.good);
	KUNIT_EXPECT_EQ(test, verdict.stopped_at, world->buf.write_offset);
	KUNIT_EXPECT_MEMEQ(test, bytes, world->data, PAGODA_WORLD_BUFFER);
	pagoda_world_compare(world);
	PAGODA_PROVES(C22);
}

/* The CPU executor maps pages by struct page only, and refuses packets without struct pages. */
static void no_bus_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_world_list *list = pagoda_world_list(world, 8, 3);
	struct pagoda_paging_op op =
		executor_transfer(executor_vram(1), executor_system(list), 3 * PAGE);
	struct pagoda_paging_op map =
		executor_map(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0, 3, 1, list);
	u32 i;

	for (i = 0; i < 3; i++)
		list->pages[i] = 0xdead0000beef0000 + i * 0x5000;
	executor_append(world, &op);
	executor_append(world, &map);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, 0);
	KUNIT_EXPECT_EQ(test, memcmp(world->cpu_system + 8 * PAGE, world->exec.vram + PAGE,
				     3 * PAGE), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_PTR_EQ(test, world->exec.aperture[i],
				    (const void *)world->cpu_pages[8 + i]);

	list->adl.cpu_pages = NULL;
	memset(world->exec.aperture, 0, PAGODA_WORLD_APERTURE * sizeof(void *));
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, &op);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, -EFAULT);
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, &map);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, -EFAULT);
	KUNIT_EXPECT_NULL(test, world->exec.aperture[0]);
	PAGODA_PROVES(C66);
}

/*
 * Packets before the offset at which execution starts aren't executed, and an offset within a
 * packet or behind the last packet's end is refused.
 */
static void start_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op ops[] = {
		executor_fill(0, 8, 0x11111111),
		executor_fill(8, 8, 0x22222222),
		executor_transfer(executor_aperture(0, 0), executor_vram(3), PAGE),
		executor_fill(16, 8, 0x33333333),
	};
	struct pagoda_verdict verdict;
	u8 before[8];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		executor_append(world, &ops[i]);
	memcpy(before, world->exec.vram, 8);
	verdict = pagoda_world_run_cpu(world, 40);
	KUNIT_EXPECT_EQ(test, verdict.error, -EFAULT);
	KUNIT_EXPECT_EQ(test, verdict.stopped_at, 80);
	KUNIT_EXPECT_MEMEQ(test, world->exec.vram, before, 8);
	KUNIT_EXPECT_EQ(test, world->exec.vram[8], 0x22);
	KUNIT_EXPECT_NE(test, world->exec.vram[16], 0x33);

	verdict = pagoda_world_run_cpu(world, 80 + 72);
	KUNIT_EXPECT_EQ(test, verdict.error, 0);
	KUNIT_EXPECT_EQ(test, verdict.stopped_at, world->buf.write_offset);
	KUNIT_EXPECT_EQ(test, world->exec.vram[16], 0x33);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, world->buf.write_offset).error, 0);
	for (i = 8; i < world->buf.write_offset + 16; i += 8) {
		if (i == 40 || i == 80 || i == 152 || i == world->buf.write_offset)
			continue;
		verdict = pagoda_world_run_cpu(world, i);
		KUNIT_EXPECT_EQ(test, verdict.error, -EINVAL);
		KUNIT_EXPECT_EQ(test, verdict.stopped_at, i);
	}
	KUNIT_EXPECT_MEMEQ(test, world->exec.vram, before, 8);
}

static void expect_error(struct pagoda_world *world, const struct pagoda_paging_op *op, int error)
{
	struct pagoda_verdict verdict;

	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, op);
	verdict = pagoda_world_run_cpu(world, 0);
	KUNIT_EXPECT_EQ(world->test, verdict.error, error);
	KUNIT_EXPECT_EQ(world->test, verdict.stopped_at, error ? 0 : world->buf.write_offset);
}

/*
 * The CPU executor refuses aperture pages that aren't mapped or have another generation, VRAM that
 * it can't reach, and unknown opcodes and flags; refused packets have no effect.
 */
static void errors_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op fill = executor_fill(0, 8, 0x11111111);
	struct pagoda_paging_op map = executor_map(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0, 2, 5,
						   pagoda_world_list(world, 8, 2));
	struct pagoda_paging_op use =
		executor_transfer(executor_aperture(0, 4), executor_vram(0), PAGE);
	struct pagoda_paging_op edge =
		executor_transfer(executor_vram(0), executor_aperture(1, 5), 2 * PAGE);
	struct virtio_pagoda_packet *packet = (void *)world->data;
	u8 *vram = world->exec.vram;
	u8 before[8];

	memcpy(before, vram, 8);
	expect_error(world, &use, -EFAULT);	/* page isn't mapped */
	expect_error(world, &map, 0);
	expect_error(world, &use, -EFAULT);	/* generation is stale */
	expect_error(world, &edge, -EFAULT);	/* last page isn't mapped */
	KUNIT_EXPECT_NE(test, memcmp(world->cpu_system + 9 * PAGE, vram, PAGE), 0);
	use.transfer.src.generation = 5;
	world->exec.vram_size = 0;
	expect_error(world, &use, -EFAULT);	/* no VRAM is reachable */
	expect_error(world, &fill, -EFAULT);
	world->exec.vram_size = PAGE;
	world->exec.vram = NULL;
	expect_error(world, &fill, -EFAULT);
	world->exec.vram = vram;
	KUNIT_EXPECT_MEMEQ(test, vram, before, 8);

	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, &(struct pagoda_paging_op){
				       .operation = VIRTIO_PAGODA_OP_UNMAP_MMU,
				       .map_mmu.nr_pages = 1,
			       });
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, -EOPNOTSUPP);
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, &fill);
	packet->opcode = cpu_to_le16(VIRTIO_PAGODA_OP_COUNT);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, -EINVAL);
	packet->opcode = cpu_to_le16(VIRTIO_PAGODA_OP_FILL);
	packet->flags = cpu_to_le16(1);
	KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error, -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, vram, before, 8);
	expect_error(world, &use, 0);
}

/*
 * The engine and the CPU executor refuse a TRANSFER packet whose source and destination overlap by
 * the addresses in the packet. The test changes the address of the destination in a built packet.
 */
static void overlap_test(struct kunit *test)
{
	struct pagoda_world *world = world_seeded(test);
	struct pagoda_paging_op vram =
		executor_transfer(executor_vram(2), executor_vram(9), 3 * PAGE);
	struct pagoda_paging_op system =
		executor_transfer(executor_system(pagoda_world_list(world, 4, 3)),
				  executor_system(pagoda_world_list(world, 9, 3)), 3 * PAGE);
	struct virtio_pagoda_transfer *transfer = (void *)world->data;
	struct virtio_pagoda_run *runs = (void *)(transfer + 1);
	u32 page;

	executor_append(world, &vram);
	for (page = 0; page < 6; page++) {
		transfer->dst.address = cpu_to_le64(page * PAGE);
		KUNIT_EXPECT_EQ(test, pagoda_world_submit(world).error, page < 5 ? -EINVAL : 0);
	}
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	executor_append(world, &system);
	for (page = 2; page < 8; page++) {
		/*
		 * The CPU executor, too, decides by bus addresses whether runs overlap, although it
		 * copies by struct pages.
		 */
		runs[1].address = cpu_to_le64(pagoda_world_bus(page));
		KUNIT_EXPECT_EQ(test, pagoda_world_run_cpu(world, 0).error,
				page < 7 ? -EINVAL : 0);
		KUNIT_EXPECT_EQ(test, pagoda_world_run_engine(world, 0).good, page == 7);
	}
}

const u32 pagoda_executor_compared[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_FILL, VIRTIO_PAGODA_OP_DISCARD_CONTENT,
	VIRTIO_PAGODA_OP_READ_PHYSICAL, VIRTIO_PAGODA_OP_WRITE_PHYSICAL,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
	VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
	VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0
};

static struct kunit_case executor_cases[] = {
	KUNIT_CASE(round_trip_test),
	KUNIT_CASE(fill_test),
	KUNIT_CASE(order_test),
	KUNIT_CASE(access_test),
	KUNIT_CASE(map_test),
	KUNIT_CASE(unmap_test),
	KUNIT_CASE(resubmit_test),
	KUNIT_CASE(no_bus_test),
	KUNIT_CASE(start_test),
	KUNIT_CASE(errors_test),
	KUNIT_CASE(overlap_test),
	{ }
};

static struct kunit_suite executor_suite = {
	.name = "pagoda_executor",
	.test_cases = executor_cases,
};

kunit_test_suite(executor_suite);
