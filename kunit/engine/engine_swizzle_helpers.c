// SPDX-License-Identifier: GPL-2.0
/* Helpers for the suites of tiled transfers and of swizzling ranges. */
#include "engine_swizzle_helpers.h"

/* Returns a random number below @limit, which isn't 0. */
u32 swizzle_below(struct swizzle_world *world, u32 limit)
{
	return prandom_u32_state(&world->rnd) % limit;
}

/**
 * swizzle_reference() - Definition of a tiled surface
 * @layout: Its geometry
 * @offset: Offset of a byte in the linear view
 *
 * Return: The byte's offset in the tiled view.
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

/**
 * swizzle_world_init() - Give an engine more memory
 * @test: Test whose fixture it is, an engine_fixture
 *
 * Prints the seed.
 *
 * Return: The world; it is freed with the test.
 */
struct swizzle_world *swizzle_world_init(struct kunit *test)
{
	struct swizzle_world *world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	struct engine_fixture *fix = test->priv;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, world);
	world->fix = fix;
	world->linear = engine_alloc(test, SWIZZLE_HALF);
	world->expected = engine_alloc(test, SWIZZLE_HALF);
	fix->vram = engine_alloc(test, SWIZZLE_VRAM);
	fix->engine.vram = fix->vram;
	fix->engine.vram_size = SWIZZLE_VRAM;
	fix->engine.nr_invalid = 0;
	fix->engine.swizzling_bytes = SWIZZLE_HALF;
	for (i = 0; i < ENGINE_RANGES; i++)
		fix->ranges[i].window = engine_alloc(test, SWIZZLE_HALF);
	kunit_info(test, "seed %#llx", SWIZZLE_SEED);
	prandom_seed_state(&world->rnd, SWIZZLE_SEED);
	return world;
}

/**
 * swizzle_surface() - Choose a surface and its content
 * @world: World
 * @tiling: enum virtio_pagoda_tiling
 * @mips: Number of mip levels
 *
 * Some surfaces have bytes behind their mip levels.
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

/**
 * swizzle_expect_surface() - Compare the surface with its expected content
 * @test: Test
 * @world: World whose lower half of VRAM was zero
 *
 * The rest of the lower half must still be zero.
 */
void swizzle_expect_surface(struct kunit *test, struct swizzle_world *world)
{
	u8 *end = swizzle_tiled(world) + world->size;

	KUNIT_EXPECT_MEMEQ(test, swizzle_tiled(world), world->expected, world->size);
	if (world->address)
		KUNIT_EXPECT_NULL(test, memchr_inv(world->fix->vram, 0, world->address));
	if (world->address + world->size < SWIZZLE_HALF)
		KUNIT_EXPECT_NULL(test, memchr_inv(end, 0, world->fix->vram + SWIZZLE_HALF - end));
}

/**
 * swizzle_pages() - Choose scattered pages of system memory for a piece
 * @world: World
 * @pages: Out: numbers of the pages
 * @nr: Number of pages
 */
void swizzle_pages(struct swizzle_world *world, u8 *pages, u32 nr)
{
	u32 first = swizzle_below(world, ENGINE_HOLE);
	u32 i;

	for (i = 0; i < nr; i++)
		pages[i] = (first + i * 5) % ENGINE_HOLE;
}

/**
 * swizzle_system() - Copy between pages of system memory and a linear view
 * @world: World
 * @pages: Numbers of the pages
 * @linear: Linear view
 * @size: Bytes to copy
 * @in: Into the pages, else out of them
 */
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
