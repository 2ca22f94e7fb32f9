/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A tiled surface for tests. Its linear view has rows one after another, its tiled view is how the
 * surface lies in VRAM. swizzle_reference() defines where a byte of one view is in the other.
 */
#ifndef PAGODA_KUNIT_ENGINE_SWIZZLE_HELPERS_H
#define PAGODA_KUNIT_ENGINE_SWIZZLE_HELPERS_H

#include <linux/prandom.h>
#include <linux/sizes.h>

#include "engine_helpers.h"

#define SWIZZLE_VRAM	SZ_2M
#define SWIZZLE_HALF	SZ_1M		/* half of VRAM; bytes of a range's window */
#define SWIZZLE_PAGES	40u		/* most system pages in a piece of a transfer */
#define SWIZZLE_SEED	0x74696c65ull

/**
 * struct swizzle_world - An engine with more memory than engine_fixture_init() gives, and a surface
 * @fix: Engine
 * @rnd: Source of random numbers
 * @address: Offset of the surface in VRAM
 * @size: Bytes of the surface
 * @tiled: Geometry of the surface, as packets have it
 * @linear: Expected content of the linear view
 * @expected: Expected content of the tiled view
 */
struct swizzle_world {
	struct engine_fixture *fix;
	struct rnd_state rnd;
	u64 address;
	u64 size;
	struct virtio_pagoda_tiled tiled;
	u8 *linear;
	u8 *expected;
};

u32 swizzle_below(struct swizzle_world *world, u32 limit);
u64 swizzle_reference(const struct virtio_pagoda_layout *layout, u64 offset);
struct swizzle_world *swizzle_world_init(struct kunit *test);
void swizzle_surface(struct swizzle_world *world, u32 tiling, u32 mips);
u8 *swizzle_tiled(struct swizzle_world *world);
void swizzle_expect_surface(struct kunit *test, struct swizzle_world *world);
void swizzle_pages(struct swizzle_world *world, u8 *pages, u32 nr);
void swizzle_system(struct swizzle_world *world, const u8 *pages, u8 *linear, u64 size,
		    bool in);

#endif
