// SPDX-License-Identifier: GPL-2.0
/* Transfers that swizzle or unswizzle, compared byte by byte with swizzle_reference(). */
#include "engine_swizzle_helpers.h"

/*
 * Swizzles a piece from @linear + @offset into the surface or, unless @swizzle, unswizzles the
 * piece from the surface to @linear + @offset.
 */
static void swizzle_piece(struct kunit *test, struct swizzle_world *world, u8 *linear, u64 offset,
			  u64 size, bool swizzle)
{
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = world->address,
	};
	u8 pages[SWIZZLE_PAGES];
	const struct engine_side system = {
		.nr_runs = DIV_ROUND_UP(size, ENGINE_PAGE),
		.pages = pages,
	};

	swizzle_pages(world, pages, system.nr_runs);
	world->tiled.offset = cpu_to_le64(offset);
	if (swizzle)
		swizzle_system(world, pages, linear + offset, size, true);
	engine_add_tiled(world->fix, size, swizzle ? &system : &vram, swizzle ? &vram : &system,
			 swizzle ? VIRTIO_PAGODA_TRANSFER_SWIZZLE :
				   VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, &world->tiled);
	engine_expect_done(test, world->fix);
	if (!swizzle)
		swizzle_system(world, pages, linear + offset, size, false);
}

static void swizzle_pieces(struct kunit *test, struct swizzle_world *world, u8 *linear,
			   bool swizzle)
{
	u64 offset, size;

	for (offset = 0; offset < world->size; offset += size) {
		size = (1 + swizzle_below(world, SWIZZLE_PAGES)) * ENGINE_PAGE;
		size = min(size, world->size - offset);
		swizzle_piece(test, world, linear, offset, size, swizzle);
	}
}

/*
 * Swizzles the whole surface with one packet if @swizzle, else unswizzles it; the linear view is at
 * the start of VRAM's upper half.
 */
static void swizzle_whole(struct kunit *test, struct swizzle_world *world, bool swizzle)
{
	const struct engine_side tiled = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = world->address,
	};
	const struct engine_side linear = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = SWIZZLE_HALF,
	};

	world->tiled.offset = 0;
	engine_add_tiled(world->fix, world->size, swizzle ? &linear : &tiled,
			 swizzle ? &tiled : &linear, swizzle ? VIRTIO_PAGODA_TRANSFER_SWIZZLE :
			 VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, &world->tiled);
	engine_expect_done(test, world->fix);
}

/*
 * For random geometries each byte of a surface is swizzled to its place, and unswizzled back, in
 * pieces of scattered pages and as a whole.
 */
static void swizzle_identity_test(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	u8 *got = test_vzalloc(test, SWIZZLE_HALF);
	u8 *upper = world->fix->vram + SWIZZLE_HALF;
	u32 round;

	PAGODA_PROVES(C32);
	for (round = 0; round < 32; round++) {
		bool small = round < VIRTIO_PAGODA_MAX_MIPS;

		memset(world->fix->vram, 0, SWIZZLE_VRAM);
		world->fix->span_limit = swizzle_below(world, 3);
		swizzle_surface(world, small ? VIRTIO_PAGODA_TILING_4K : VIRTIO_PAGODA_TILING_64K,
				small ? round + 1 : 1 + round % 5);
		swizzle_pieces(test, world, world->linear, true);
		swizzle_expect_surface(test, world);
		swizzle_pieces(test, world, got, false);
		KUNIT_EXPECT_MEMEQ(test, got, world->linear, world->size);
		swizzle_whole(test, world, false);
		KUNIT_EXPECT_MEMEQ(test, upper, world->linear, world->size);
		memset(swizzle_tiled(world), 0, world->size);
		swizzle_whole(test, world, true);
		swizzle_expect_surface(test, world);
	}
}

/* A piece may end within a page and within a tile's row: no byte before or behind it changes. */
static void swizzle_partial_test(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	u8 *got = test_vzalloc(test, SWIZZLE_HALF);
	u32 round;
	u64 i;

	for (round = 0; round < 40; round++) {
		u64 offset, size;

		memset(world->fix->vram, 0, SWIZZLE_VRAM);
		memset(got, 0, SWIZZLE_HALF);
		swizzle_surface(world, 1 + round % 2, 1 + round % 4);
		offset = swizzle_below(world, world->size / ENGINE_PAGE) * ENGINE_PAGE;
		size = min(world->size - offset, SWIZZLE_PAGES * ENGINE_PAGE);
		size = 4 * (1 + swizzle_below(world, size / 4));
		swizzle_piece(test, world, world->linear, offset, size, true);
		for (i = 0; i < world->size; i++)
			if (i < offset || i >= offset + size)
				world->expected[swizzle_reference(&world->tiled.layout, i)] = 0;
		swizzle_expect_surface(test, world);
		swizzle_piece(test, world, got, offset, size, false);
		KUNIT_EXPECT_MEMEQ(test, got + offset, world->linear + offset, size);
	}
}

/*
 * A tiled TRANSFER that names no allocation copies linearly, from or to VRAM at the surface's
 * address plus the piece's offset.
 */
static void swizzle_no_allocation_test(struct kunit *test)
{
	static const u8 pages[] = { 3, 40, 17 };
	struct swizzle_world *world = swizzle_world_init(test);
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	struct engine_fixture *fix = world->fix;
	u64 size = 3 * ENGINE_PAGE - 24;
	u8 *got = test_vzalloc(test, 3 * ENGINE_PAGE);
	u32 round;

	PAGODA_PROVES(C31);
	for (round = 0; round < 8; round++) {
		u64 offset = (1 + round) * ENGINE_PAGE;
		u8 *piece;

		swizzle_surface(world, 1 + round % 2, 2);
		vram.address = world->address;
		piece = fix->vram + world->address + offset;
		world->tiled.offset = cpu_to_le64(offset);
		memset(fix->vram, 0, SWIZZLE_VRAM);
		swizzle_system(world, pages, world->linear, size, true);
		engine_add_tiled(fix, size, &system, &vram, VIRTIO_PAGODA_TRANSFER_SWIZZLE,
				 &world->tiled)->packet.allocation = 0;
		engine_expect_done(test, fix);
		KUNIT_EXPECT_MEMEQ(test, piece, world->linear, size);
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram, 0, world->address + offset));
		KUNIT_EXPECT_NULL(test, memchr_inv(piece + size, 0, SWIZZLE_HALF -
						   world->address - offset - size));
		prandom_bytes_state(&world->rnd, piece, size);
		engine_add_tiled(fix, size, &vram, &system, VIRTIO_PAGODA_TRANSFER_UNSWIZZLE,
				 &world->tiled)->packet.allocation = 0;
		engine_expect_done(test, fix);
		swizzle_system(world, pages, got, size, false);
		KUNIT_EXPECT_MEMEQ(test, got, piece, size);
	}
}

/* A tiled TRANSFER with one field changed, as struct engine_mutation for other packets. */
struct swizzle_mutation {
	u32 offset;
	u32 width;
	u64 value;
	u32 reason;
};

#define SWIZZLE_FIELD(type, field, base, number, REASON) { \
		.offset = (base) + offsetof(struct virtio_pagoda_##type, field), \
		.width = sizeof_field(struct virtio_pagoda_##type, field), \
		.value = number, \
		.reason = VIRTIO_PAGODA_FAULT_##REASON, \
	}
#define SWIZZLE_TRANSFER(field, number, REASON) \
	SWIZZLE_FIELD(transfer, field, 0, number, REASON)
#define SWIZZLE_TILED(field, number, REASON) \
	SWIZZLE_FIELD(tiled, field, sizeof(struct virtio_pagoda_transfer), number, REASON)

static const struct swizzle_mutation swizzle_mutations[] = {
	SWIZZLE_TRANSFER(packet.flags, 0, BAD_LENGTH),
	SWIZZLE_TRANSFER(packet.flags, 3, BAD_FLAGS),
	SWIZZLE_TRANSFER(packet.flags, 2, BAD_SEGMENT),
	SWIZZLE_TRANSFER(packet.flags, 5, BAD_FLAGS),
	SWIZZLE_TRANSFER(packet.length, 72, BAD_LENGTH),
	SWIZZLE_TRANSFER(size, 0, OUT_OF_RANGE),
	SWIZZLE_TRANSFER(size, 4098, MISALIGNED),
	SWIZZLE_TRANSFER(size, 4096, BAD_RUNS),
	SWIZZLE_TRANSFER(src.segment, 1, RESERVED),
	SWIZZLE_TRANSFER(dst.segment, 0, BAD_SEGMENT),
	SWIZZLE_TRANSFER(dst.segment, 2, BAD_SEGMENT),
	SWIZZLE_TRANSFER(dst.address, 4, MISALIGNED),
	SWIZZLE_TRANSFER(dst.address, 44 * 4096, OUT_OF_RANGE),
	SWIZZLE_TRANSFER(dst.address, 48 * 4096, OUT_OF_RANGE),
	SWIZZLE_TRANSFER(dst.generation, 1, RESERVED),
	SWIZZLE_TRANSFER(dst.reserved, 1, RESERVED),
	SWIZZLE_TILED(offset, 8, MISALIGNED),
	SWIZZLE_TILED(offset, 16 * 4096, OUT_OF_RANGE),
	SWIZZLE_TILED(offset, 0xfffffffffffff000, OUT_OF_RANGE),
	SWIZZLE_TILED(surface_size, 4096, OUT_OF_RANGE),
	SWIZZLE_TILED(surface_size, 10 * 4096 - 1, BAD_LAYOUT),
	SWIZZLE_TILED(surface_size, 0xffffffffffffffff, OUT_OF_RANGE),
	SWIZZLE_TILED(layout.tiling, 0, BAD_LAYOUT),
	SWIZZLE_TILED(layout.tiling, 2, BAD_LAYOUT),
	SWIZZLE_TILED(layout.tiling, 3, BAD_LAYOUT),
	SWIZZLE_TILED(layout.pitch, 0, BAD_LAYOUT),
	SWIZZLE_TILED(layout.pitch, 96, BAD_LAYOUT),
	SWIZZLE_TILED(layout.pitch, 65536 + 64, BAD_LAYOUT),
	SWIZZLE_TILED(layout.pitch, 1024, BAD_LAYOUT),
	SWIZZLE_TILED(layout.height, 0, BAD_LAYOUT),
	SWIZZLE_TILED(layout.height, 100, BAD_LAYOUT),
	SWIZZLE_TILED(layout.height, 0xffffffc0, BAD_LAYOUT),
	SWIZZLE_TILED(layout.mips, 0, BAD_LAYOUT),
	SWIZZLE_TILED(layout.mips, 16, BAD_LAYOUT),
	SWIZZLE_TILED(layout.mips, 17, BAD_LAYOUT),
};

/*
 * Appends a swizzling TRANSFER of two pages, from byte ENGINE_PAGE of the linear view on, into a
 * surface of 17 pages at page 2 of VRAM.
 */
static void swizzle_add_valid(struct engine_fixture *fix)
{
	static const u8 pages[] = { 4, 9 };
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	const struct engine_side vram = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = 2 * ENGINE_PAGE,
	};
	struct virtio_pagoda_tiled tiled = {
		.offset = cpu_to_le64(ENGINE_PAGE),
		.surface_size = cpu_to_le64(17 * ENGINE_PAGE),
	};

	engine_layout(&tiled.layout, VIRTIO_PAGODA_TILING_4K, 256, 128, 2);
	engine_add_tiled(fix, 2 * ENGINE_PAGE, &system, &vram, VIRTIO_PAGODA_TRANSFER_SWIZZLE,
			 &tiled);
}

/* A tiled transfer with one bad field is refused, without effect. */
static void swizzle_malformed_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 tiling = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER));
	u32 i;

	for (i = 0; i < ARRAY_SIZE(swizzle_mutations); i++) {
		const struct swizzle_mutation *mutation = &swizzle_mutations[i];
		__le64 value = cpu_to_le64(mutation->value);
		char what[32];

		snprintf(what, sizeof(what), "%u: %#llx", mutation->offset, mutation->value);
		swizzle_add_valid(fix);
		memcpy(fix->buffer + mutation->offset, &value, mutation->width);
		engine_expect_fault(test, fix, mutation->reason, what);
	}
	fix->engine.features &= ~tiling;
	swizzle_add_valid(fix);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "no tiling");
	fix->engine.features |= tiling;
	swizzle_add_valid(fix);
	engine_expect_done(test, fix);
	engine_expect_guards(test, fix, "malformed");
}

/*
 * A tiled TRANSFER is refused if its linear side in VRAM overlaps the surface, whatever the
 * direction.
 */
static void swizzle_overlap_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_tiled tiled = { .surface_size = cpu_to_le64(17 * ENGINE_PAGE) };
	const struct engine_side surface = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = 20 * ENGINE_PAGE,
	};
	struct engine_side piece = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	u32 page, i;

	engine_layout(&tiled.layout, VIRTIO_PAGODA_TILING_4K, 256, 128, 2);
	for (page = 16; page < 40; page++) {
		piece.address = page * ENGINE_PAGE;
		for (i = 0; i < 2; i++) {
			engine_add_tiled(fix, 2 * ENGINE_PAGE, i ? &surface : &piece,
					 i ? &piece : &surface, i ?
					 VIRTIO_PAGODA_TRANSFER_UNSWIZZLE :
					 VIRTIO_PAGODA_TRANSFER_SWIZZLE, &tiled);
			if (page + 2 > 20 && page < 37)
				engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP,
						    "overlap");
			else
				engine_expect_done(test, fix);
		}
	}
}

/*
 * After a swizzling TRANSFER has failed in the middle, the first half of the piece, in linear
 * order, is in the surface, and the second half isn't.
 */
static void swizzle_failure_test(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	static const u8 pages[] = { 4, 9 };
	const struct engine_side system = { .nr_runs = ARRAY_SIZE(pages), .pages = pages };
	struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	u64 i;

	swizzle_surface(world, VIRTIO_PAGODA_TILING_4K, 1);
	vram.address = world->address;
	swizzle_system(world, pages, world->linear, 2 * ENGINE_PAGE, true);
	for (i = 0; i < world->size; i++)
		if (i >= ENGINE_PAGE)
			world->expected[swizzle_reference(&world->tiled.layout, i)] = 0;
	engine_add_tiled(world->fix, 2 * ENGINE_PAGE, &system, &vram,
			 VIRTIO_PAGODA_TRANSFER_SWIZZLE, &world->tiled);
	engine_expect_failure(test, world->fix, true);
	swizzle_expect_surface(test, world);
}

static struct kunit_case swizzle_cases[] = {
	KUNIT_CASE_SLOW(swizzle_identity_test),
	KUNIT_CASE_SLOW(swizzle_partial_test),
	KUNIT_CASE(swizzle_no_allocation_test),
	KUNIT_CASE(swizzle_malformed_test),
	KUNIT_CASE(swizzle_overlap_test),
	KUNIT_CASE(swizzle_failure_test),
	{}
};

static struct kunit_suite swizzle_suite = {
	.name = "pagoda_engine_swizzle",
	.init = engine_suite_init,
	.test_cases = swizzle_cases,
};

kunit_test_suite(swizzle_suite);
