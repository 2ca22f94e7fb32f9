// SPDX-License-Identifier: GPL-2.0
/* Helpers for the suites of tiled transfers, of swizzling ranges and of dirty tracking. */
#include "engine_swizzle_helpers.h"

/* Returns a random number below @limit, which isn't 0. */
u32 swizzle_below(struct swizzle_world *world, u32 limit)
{
	return prandom_u32_state(&world->rnd) % limit;
}

/*
 * Returns the offset in the tiled view of the byte at @offset of the linear view: the definition of
 * a tiled surface.
 */
u64 swizzle_reference(const struct virtio_pagoda_layout *layout, u64 offset)
{
	u64 tile = le32_to_cpu(layout->tiling) == VIRTIO_PAGODA_TILING_4K ? 64 : 256;
	u64 pitch = le32_to_cpu(layout->pitch), height = le32_to_cpu(layout->height);
	u64 level = 0;
	u32 mip;

	for (mip = 0; mip < le32_to_cpu(layout->mips); mip++) {
		u64 inside = offset - level;
		u64 x = inside % pitch, y = inside / pitch;

		if (y < height)
			return level + (y / tile * (pitch / tile) + x / tile) * tile * tile +
			       y % tile * tile + x % tile;
		level += pitch * height;
		pitch = DIV_ROUND_UP(pitch / 2, tile) * tile;
		height = DIV_ROUND_UP(height / 2, tile) * tile;
	}
	return offset;
}

static u64 swizzle_levels(const struct virtio_pagoda_layout *layout)
{
	u64 tile = le32_to_cpu(layout->tiling) == VIRTIO_PAGODA_TILING_4K ? 64 : 256;
	u64 pitch = le32_to_cpu(layout->pitch), height = le32_to_cpu(layout->height);
	u64 size = 0;
	u32 mip;

	for (mip = 0; mip < le32_to_cpu(layout->mips); mip++) {
		size += pitch * height;
		pitch = DIV_ROUND_UP(pitch / 2, tile) * tile;
		height = DIV_ROUND_UP(height / 2, tile) * tile;
	}
	return size;
}

/* Returns a world, and gives the engine_fixture in test->priv more memory; prints the seed. */
struct swizzle_world *swizzle_world_init(struct kunit *test)
{
	struct swizzle_world *world = test_zalloc(test, sizeof(*world));
	struct engine_fixture *fix = test->priv;
	u32 i;

	world->fix = fix;
	world->linear = test_vzalloc(test, SWIZZLE_HALF);
	world->expected = test_vzalloc(test, SWIZZLE_HALF);
	fix->vram = test_vzalloc(test, SWIZZLE_VRAM);
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = SWIZZLE_VRAM;
	fix->engine.dirty = test_vzalloc(test, SWIZZLE_VRAM / ENGINE_PAGE);
	if (fix->marks)
		fix->marks = test_vzalloc(test, SWIZZLE_VRAM);
	fix->engine.nr_invalid = 0;
	fix->engine.swizzling_bytes = SWIZZLE_HALF;
	for (i = 0; i < ENGINE_RANGES; i++)
		fix->ranges[i].window = test_vzalloc(test, SWIZZLE_HALF);
	kunit_info(test, "seed %#llx", SWIZZLE_SEED);
	prandom_seed_state(&world->rnd, SWIZZLE_SEED);
	return world;
}

/*
 * Chooses a surface of the given tiling and number of mip levels, and the content that it shall
 * have; doesn't write to VRAM. Some surfaces have bytes behind their mip levels.
 */
void swizzle_surface(struct swizzle_world *world, u32 tiling, u32 mips)
{
	bool small = tiling == VIRTIO_PAGODA_TILING_4K;
	u32 tile = small ? 64 : 256;
	u64 i;

	engine_layout(&world->tiled.layout, tiling,
		      tile * (1 + swizzle_below(world, small ? 16 : 3)),
		      tile * (1 + swizzle_below(world, small ? 8 : 2)), mips);
	world->size = swizzle_levels(&world->tiled.layout) +
		      swizzle_below(world, 3) * ENGINE_PAGE;
	world->tiled.surface_size = cpu_to_le64(world->size);
	world->address = swizzle_below(world, (SWIZZLE_HALF - world->size) / ENGINE_PAGE + 1) *
			 ENGINE_PAGE;
	prandom_bytes_state(&world->rnd, world->linear, world->size);
	for (i = 0; i < world->size; i++)
		world->expected[swizzle_reference(&world->tiled.layout, i)] = world->linear[i];
}

/* Returns the first byte of the surface in VRAM. */
u8 *swizzle_tiled(struct swizzle_world *world)
{
	return world->fix->vram + world->address;
}

/* Expects @world->expected in the surface, and zeros in the rest of the lower half of VRAM. */
void swizzle_expect_surface(struct kunit *test, struct swizzle_world *world)
{
	u8 *end = swizzle_tiled(world) + world->size;

	KUNIT_EXPECT_MEMEQ(test, swizzle_tiled(world), world->expected, world->size);
	if (world->address)
		KUNIT_EXPECT_NULL(test, memchr_inv(world->fix->vram, 0, world->address));
	if (world->address + world->size < SWIZZLE_HALF)
		KUNIT_EXPECT_NULL(test, memchr_inv(end, 0, world->fix->vram + SWIZZLE_HALF - end));
}

/* Chooses @nr scattered pages of system memory for a piece of a transfer. */
void swizzle_pages(struct swizzle_world *world, u8 *pages, u32 nr)
{
	u32 first = swizzle_below(world, ENGINE_HOLE);
	u32 i;

	for (i = 0; i < nr; i++)
		pages[i] = (first + i * 5) % ENGINE_HOLE;
}

/* Copies @linear into pages of system memory if @in, else from the pages to @linear. */
void swizzle_system(struct swizzle_world *world, const u8 *pages, u8 *linear, u64 size,
		    bool in)
{
	u64 done, part;

	for (done = 0; done < size; done += part) {
		u8 *page = world->fix->system + *pages++ * ENGINE_PAGE;

		part = min(size - done, ENGINE_PAGE);
		if (in)
			memcpy(page, linear + done, part);
		else
			memcpy(linear + done, page, part);
	}
}
