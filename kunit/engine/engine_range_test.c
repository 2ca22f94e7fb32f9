// SPDX-License-Identifier: GPL-2.0
/*
 * Swizzling ranges: the windows in which the CPU sees tiled surfaces as rows, and transfers from
 * and to these windows (SPECIAL_LOCK_TRANSFER).
 */
#include "paging/coverage.h"
#include "engine_swizzle_helpers.h"

static u32 swizzle_acquire(struct swizzle_world *world, u32 range)
{
	return pagoda_engine_range_acquire(&world->fix->engine, range, world->address, world->size,
					   &world->tiled.layout);
}

/*
 * When a range is acquired, its window shows the surface as rows. Bytes that the CPU writes into
 * the window are in the surface, tiled, once the range is released with write-back.
 */
static void swizzle_range_test(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	struct engine_fixture *fix = world->fix;
	u32 round;

	for (round = 0; round < 12; round++) {
		u32 range = round % ENGINE_RANGES;
		u8 *window = fix->ranges[range].window;

		memset(fix->vram, 0, SWIZZLE_VRAM);
		memset(window, 0xee, SWIZZLE_HALF);
		swizzle_surface(world, 1 + round % 2, 1 + round % 5);
		memcpy(swizzle_tiled(world), world->expected, world->size);
		KUNIT_EXPECT_EQ(test, swizzle_acquire(world, range), VIRTIO_PAGODA_FAULT_NONE);
		KUNIT_EXPECT_MEMEQ(test, window, world->linear, world->size);
		if (world->size < SWIZZLE_HALF)
			KUNIT_EXPECT_EQ(test, window[world->size], 0xee);
		/* A release without write-back leaves the surface as it is. */
		memset(swizzle_tiled(world), 0xaa, world->size);
		if (round % 3 == 0) {
			KUNIT_EXPECT_EQ(test, pagoda_engine_range_release(&fix->engine, range,
									  false),
					VIRTIO_PAGODA_FAULT_NONE);
			KUNIT_EXPECT_NULL(test, memchr_inv(swizzle_tiled(world), 0xaa,
							   world->size));
			KUNIT_EXPECT_EQ(test, swizzle_acquire(world, range),
					VIRTIO_PAGODA_FAULT_NONE);
			KUNIT_EXPECT_NULL(test, memchr_inv(window, 0xaa, world->size));
		}
		memcpy(window, world->linear, world->size);
		KUNIT_EXPECT_EQ(test, pagoda_engine_range_release(&fix->engine, range, true),
				VIRTIO_PAGODA_FAULT_NONE);
		swizzle_expect_surface(test, world);
		KUNIT_EXPECT_EQ(test, pagoda_engine_range_release(&fix->engine, range, true),
				VIRTIO_PAGODA_FAULT_BAD_LAYOUT);
	}
}

/*
 * Acquiring a range with a bad number, geometry or place is refused, and a range that was bound
 * stays as it is. A range that doesn't exist or isn't bound can't be released.
 */
static void swizzle_range_refused_test(struct kunit *test)
{
	static const struct {
		u32 range, tiling, pitch;
		u64 address, size;
		u32 reason;
	} bad[] = {
		{ 2, 1, 64, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ ~0u, 1, 64, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ 0, 0, 64, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ 0, 2, 256, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ 0, 1, 128, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ 0, 1, 32, 0, 4096, VIRTIO_PAGODA_FAULT_BAD_LAYOUT },
		{ 0, 1, 64, 8, 4096, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ 0, 1, 64, 0, 4100, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ 0, 1, 64, 0, 0, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, 1, 64, 0, ENGINE_WINDOW + 4096, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, 1, 64, ENGINE_BYTES, 4096, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, 1, 64, 59 * 4096, 8192, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, 1, 64, 0xfffffffffffff000, 8192, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
	};
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_layout layout;
	u32 i;

	engine_layout(&layout, VIRTIO_PAGODA_TILING_4K, 64, 64, 1);
	KUNIT_EXPECT_EQ(test, pagoda_engine_range_acquire(&fix->engine, 0, 0, 4096, &layout),
			VIRTIO_PAGODA_FAULT_NONE);
	engine_snapshot(fix);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		engine_layout(&layout, bad[i].tiling, bad[i].pitch, 64, 1);
		KUNIT_EXPECT_EQ_MSG(test, pagoda_engine_range_acquire(&fix->engine, bad[i].range,
								      bad[i].address, bad[i].size,
								      &layout),
				    bad[i].reason, "%u", i);
	}
	engine_expect_unchanged(test, fix, "refused");
	KUNIT_EXPECT_EQ(test, fix->ranges[0].size, 4096);
	KUNIT_EXPECT_EQ(test, pagoda_engine_range_release(&fix->engine, 2, false),
			VIRTIO_PAGODA_FAULT_BAD_LAYOUT);
	pagoda_engine_reset(&fix->engine);
	KUNIT_EXPECT_EQ(test, pagoda_engine_range_release(&fix->engine, 0, false),
			VIRTIO_PAGODA_FAULT_BAD_LAYOUT);
}

static struct virtio_pagoda_special_lock_transfer *
swizzle_add_lock(struct swizzle_world *world, u64 offset, const u8 *pages, u32 nr, bool in,
		 u16 flags)
{
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = world->address,
	};
	const struct engine_side system = { .nr_runs = nr, .pages = pages };
	struct virtio_pagoda_special_lock_transfer *lock;

	lock = engine_add_lock(world->fix, nr * ENGINE_PAGE, in ? &system : &vram,
			       in ? &vram : &system, flags);
	lock->range_id = cpu_to_le32(1);
	lock->tiled = world->tiled;
	lock->tiled.offset = cpu_to_le64(offset);
	return lock;
}

/*
 * Transfers all pieces of a surface through range 1, into VRAM from @linear if @in, else out of
 * VRAM to @linear; each by way of scattered system pages.
 */
static void swizzle_lock_pieces(struct kunit *test, struct swizzle_world *world, u8 *linear,
				bool in)
{
	u8 pages[SWIZZLE_PAGES];
	u64 offset, size;

	for (offset = 0; offset < world->size; offset += size) {
		u16 flags = offset ? 0 : VIRTIO_PAGODA_TRANSFER_START;

		size = min((1 + swizzle_below(world, SWIZZLE_PAGES)) * ENGINE_PAGE,
			   world->size - offset);
		if (offset + size == world->size)
			flags |= VIRTIO_PAGODA_TRANSFER_END;
		swizzle_pages(world, pages, size / ENGINE_PAGE);
		if (in)
			swizzle_system(world, pages, linear + offset, size, true);
		swizzle_add_lock(world, offset, pages, size / ENGINE_PAGE, in, flags);
		engine_expect_done(test, world->fix);
		if (!in)
			swizzle_system(world, pages, linear + offset, size, false);
	}
}

/*
 * SPECIAL_LOCK_TRANSFERs out of VRAM copy the window's bytes, and the last packet frees the range;
 * into VRAM they fill surface and window, and the first packet binds the range.
 */
static void swizzle_lock_test(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	struct engine_fixture *fix = world->fix;
	struct pagoda_engine_swizzling *range = &fix->ranges[1];
	u8 *got = test_vzalloc(test, SWIZZLE_HALF);
	u32 round;

	for (round = 0; round < 12; round++) {
		memset(fix->vram, 0, SWIZZLE_VRAM);
		swizzle_surface(world, 1 + round % 2, 1 + round % 5);
		KUNIT_EXPECT_EQ(test, swizzle_acquire(world, 1), VIRTIO_PAGODA_FAULT_NONE);
		memcpy(range->window, world->linear, world->size);
		swizzle_lock_pieces(test, world, got, false);
		KUNIT_EXPECT_MEMEQ(test, got, world->linear, world->size);
		KUNIT_EXPECT_EQ(test, range->size, 0);
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, 0, SWIZZLE_VRAM));

		memset(range->window, 0, SWIZZLE_HALF);
		swizzle_lock_pieces(test, world, world->linear, true);
		swizzle_expect_surface(test, world);
		KUNIT_EXPECT_MEMEQ(test, range->window, world->linear, world->size);
		KUNIT_EXPECT_EQ(test, range->address, world->address);
		KUNIT_EXPECT_EQ(test, range->size, world->size);
	}
}

static const struct engine_mutation swizzle_lock_mutations[] = {
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.packet.flags, 9, BAD_FLAGS),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.packet.flags, 0, BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.packet.flags, 16,
	       BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.packet.length, 112,
	       BAD_LENGTH),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.size, 0, OUT_OF_RANGE),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.size, 4098, MISALIGNED),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.size, 4096, BAD_RUNS),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.src.segment, 1, BAD_SEGMENT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.src.segment, 3, BAD_SEGMENT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.src.nr_runs, 1, BAD_LENGTH),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.dst.segment, 2, BAD_SEGMENT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.dst.segment, 0, BAD_SEGMENT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.dst.address, 48 * 4096,
	       OUT_OF_RANGE),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, transfer.dst.generation, 1, RESERVED),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, range_id, 2, BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, range_id, ~0u, BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.offset, 4, MISALIGNED),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.offset, 16 * 4096,
	       OUT_OF_RANGE),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.surface_size, 4 * 4096,
	       BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.surface_size, 33 * 4096,
	       BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.layout.tiling, 0, BAD_LAYOUT),
	MUTATE(SPECIAL_LOCK_TRANSFER, special_lock_transfer, tiled.layout.mips, 17, BAD_LAYOUT),
	MUTATE_RUN(SPECIAL_LOCK_TRANSFER, special_lock_transfer, 1, address,
		   0x100000000 + 48 * 4096, UNREACHABLE),
	MUTATE_RUN(SPECIAL_LOCK_TRANSFER, special_lock_transfer, 1, reserved, 1, RESERVED),
};

/*
 * A SPECIAL_LOCK_TRANSFER with a bad field is refused, and out of VRAM also if the range isn't
 * bound to exactly the surface.
 */
static void swizzle_lock_refused_test(struct kunit *test)
{
	static const u8 pages[] = { 4, 9 };
	struct engine_fixture *fix = test->priv;
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = 2 * ENGINE_PAGE,
	};
	struct virtio_pagoda_layout layout;
	u32 i;

	engine_expect_mutations(test, fix, swizzle_lock_mutations,
				ARRAY_SIZE(swizzle_lock_mutations));
	for (i = 0; i < 4; i++) {
		engine_layout(&layout, VIRTIO_PAGODA_TILING_4K, i == 1 ? 128 : 256, 128, 2);
		KUNIT_EXPECT_EQ(test, pagoda_engine_range_acquire(&fix->engine, 0,
								  (2 + (i == 2)) * ENGINE_PAGE,
								  (17 + (i == 3)) * ENGINE_PAGE,
								  &layout),
				VIRTIO_PAGODA_FAULT_NONE);
		engine_add_lock(fix, 2 * ENGINE_PAGE, &vram, &system, VIRTIO_PAGODA_TRANSFER_START);
		if (i)
			engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, "other");
		else
			engine_expect_done(test, fix);
	}
}

/*
 * A range is free after the last piece was transferred out of VRAM, but stays bound if that
 * transfer fails. A transfer that fails in the middle has copied half of its words, rounded down.
 */
static void swizzle_lock_failure_test(struct kunit *test)
{
	static const u8 pages[] = { 4, 9 };
	struct swizzle_world *world = swizzle_world_init(test);
	struct engine_fixture *fix = world->fix;
	u8 *got = test_vzalloc(test, 2 * ENGINE_PAGE);
	u16 flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
	u32 i;

	swizzle_surface(world, VIRTIO_PAGODA_TILING_4K, 3);
	KUNIT_EXPECT_EQ(test, swizzle_acquire(world, 1), VIRTIO_PAGODA_FAULT_NONE);
	memcpy(fix->ranges[1].window, world->linear, world->size);
	for (i = 0; i < 2; i++) {
		memset(fix->system, 0, ENGINE_BYTES);
		swizzle_add_lock(world, 0, pages, 2, false, flags);
		engine_expect_failure(test, fix, i);
		swizzle_system(world, pages, got, 2 * ENGINE_PAGE, false);
		KUNIT_EXPECT_MEMEQ(test, got, world->linear, i * ENGINE_PAGE);
		KUNIT_EXPECT_NULL(test, memchr_inv(got + i * ENGINE_PAGE, 0,
						   (2 - i) * ENGINE_PAGE));
		KUNIT_EXPECT_EQ(test, fix->ranges[1].size, world->size);
	}
	memset(fix->system, 0, ENGINE_BYTES);
	swizzle_add_lock(world, 0, pages, 1, false, flags)->transfer.size = cpu_to_le64(12);
	engine_expect_failure(test, fix, true);
	swizzle_system(world, pages, got, 12, false);
	KUNIT_EXPECT_MEMEQ(test, got, world->linear, 4);
	KUNIT_EXPECT_NULL(test, memchr_inv(got + 4, 0, 8));
	swizzle_add_lock(world, 0, pages, 2, false, flags);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, fix->ranges[1].size, 0);
	swizzle_add_lock(world, 0, pages, 2, false, flags);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, "free");
}

const u32 pagoda_swizzle_faulted[] = {
	VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, 0
};

static struct kunit_case range_cases[] = {
	KUNIT_CASE(swizzle_range_test),
	KUNIT_CASE(swizzle_range_refused_test),
	KUNIT_CASE(swizzle_lock_test),
	KUNIT_CASE(swizzle_lock_refused_test),
	KUNIT_CASE(swizzle_lock_failure_test),
	{}
};

static struct kunit_suite range_suite = {
	.name = "pagoda_engine_range",
	.init = engine_suite_init,
	.test_cases = range_cases,
};

kunit_test_suite(range_suite);
