// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on tiled surfaces, save areas, fences at virtual addresses and the device MMU, and
 * notices, executed by the device's engine and by the CPU executor: memory, swizzling ranges,
 * mapped pages and refusals are equal.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/cpu/cpu.h"
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "executor_world.h"

#define PAGE		PAGODA_WORLD_PAGE
#define SEED		20261123
#define RANGES		2
#define WINDOW		0x20000
#define MMU_PAGES	64
#define SURFACE		(2 * PAGE)	/* address of surfaces in VRAM */
#define ROOT		(30 * PAGE)	/* address of the root in VRAM */
#define LEAF		(31 * PAGE)	/* address of the leaf table in VRAM */
#define VA_PAGES	8		/* 0 - 3: VRAM pages 20 - 23; 4 - 7: system pages 4 - 7 */

/*
 * Engine and CPU executor, each with swizzling ranges, page tables of two levels and, after
 * state_add_mmu(), a device MMU.
 */
struct pagoda_state_world {
	struct pagoda_world *world;
	struct pagoda_engine_swizzling engine_ranges[RANGES];
	struct pagoda_cpu_range cpu_ranges[RANGES];
	struct pagoda_engine_space space;
	struct pagoda_root root;
	u64 mmu[MMU_PAGES];
	const void *cpu_mmu[MMU_PAGES];
	u8 read_only[MMU_PAGES];
	const void *va_pages[VA_PAGES];
	struct rnd_state rnd;
};

/* Writes a 64-bit word to VRAM of both machines. */
static void state_poke(struct pagoda_state_world *s, u64 address, u64 value)
{
	*(__le64 *)(s->world->engine_vram + address) = cpu_to_le64(value);
	*(__le64 *)(s->world->exec.vram + address) = cpu_to_le64(value);
}

static void state_tables(struct pagoda_state_world *s)
{
	u64 vram = VIRTIO_PAGODA_PTE_VALID | 1ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
	u32 i;

	for (i = 0; i < VIRTIO_PAGODA_PT_ENTRIES; i++) {
		state_poke(s, ROOT + i * 8, 0);
		state_poke(s, LEAF + i * 8, 0);
	}
	state_poke(s, ROOT, vram | LEAF);
	for (i = 0; i < VA_PAGES; i++) {
		state_poke(s, LEAF + i * 8,
			   i < 4 ? vram | (20 + i) * PAGE :
				   VIRTIO_PAGODA_PTE_VALID | pagoda_world_bus(i));
		s->va_pages[i] = s->world->cpu_pages[i];
	}
	s->space = (struct pagoda_engine_space) { ROOT, VIRTIO_PAGODA_PT_ENTRIES,
						  VIRTIO_PAGODA_SEGMENT_VRAM };
	s->root = (struct pagoda_root) { ROOT, VIRTIO_PAGODA_PT_ENTRIES,
					 VIRTIO_PAGODA_SEGMENT_VRAM };
}

static struct pagoda_state_world *state_make(struct kunit *test)
{
	struct pagoda_state_world *s = test_zalloc(test, sizeof(*s));
	struct pagoda_world *world;
	u32 i;

	prandom_seed_state(&s->rnd, SEED);
	world = pagoda_world_make(test, &s->rnd);
	s->world = world;
	for (i = 0; i < RANGES; i++) {
		s->engine_ranges[i].window = test_zalloc(test, WINDOW);
		s->cpu_ranges[i].window = test_zalloc(test, WINDOW);
	}
	world->engine.features &= ~(1ull << VIRTIO_PAGODA_F_DUAL_PTE);
	world->engine.ranges = s->engine_ranges;
	world->engine.nr_ranges = RANGES;
	world->engine.swizzling_bytes = WINDOW;
	world->engine.spaces = &s->space;
	world->engine.nr_spaces = 1;
	world->engine.va_bits = 47;
	world->engine.pt_levels = 2;
	world->engine.page_sizes = PAGE;
	world->limits.features = world->engine.features;
	world->limits.swizzling_ranges = RANGES;
	world->limits.swizzling_bytes = WINDOW;
	world->limits.va_bits = 47;
	world->limits.pt_levels = 2;
	world->limits.page_sizes = PAGE;
	world->limits.max_address_spaces = 1;
	world->exec.limits = &world->limits;
	world->exec.ranges = s->cpu_ranges;
	world->exec.roots = &s->root;
	state_tables(s);
	return s;
}

static void state_add_mmu(struct pagoda_state_world *s)
{
	struct pagoda_world *world = s->world;

	world->engine.mmu = s->mmu;
	world->engine.mmu_pages = MMU_PAGES;
	world->engine.features |= 1ull << VIRTIO_PAGODA_F_DEVICE_MMU;
	world->limits.features = world->engine.features;
	world->limits.mmu_pages = MMU_PAGES;
	world->exec.mmu = s->cpu_mmu;
	world->exec.mmu_read_only = s->read_only;
	world->exec.mmu_pages = MMU_PAGES;
}

static void state_compare(struct pagoda_state_world *s)
{
	u32 i;

	pagoda_world_compare(s->world);
	for (i = 0; i < RANGES; i++) {
		const struct pagoda_engine_swizzling *range = &s->engine_ranges[i];

		KUNIT_ASSERT_EQ(s->world->test, memcmp(range->window, s->cpu_ranges[i].window,
						       WINDOW), 0);
		KUNIT_ASSERT_EQ(s->world->test, range->size, s->cpu_ranges[i].size);
		if (range->size)
			KUNIT_ASSERT_EQ(s->world->test, range->address, s->cpu_ranges[i].address);
	}
	for (i = 0; i < MMU_PAGES; i++)
		KUNIT_ASSERT_EQ(s->world->test, !s->mmu[i], !s->cpu_mmu[i]);
}

/*
 * Builds an operation, which validation might refuse, into one buffer and executes the buffer on
 * both machines. Expects equal verdicts and memory; returns whether all packets were executed.
 */
static bool state_try(struct pagoda_state_world *s, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_verdict verdict;

	pagoda_world_fresh(s->world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(s->world->test, pagoda_paging_build(&s->world->limits, op, &cursor,
							    &s->world->buf), PAGODA_BUILD_SUCCESS);
	verdict = pagoda_world_submit(s->world);
	state_compare(s);
	return verdict.good;
}

static const struct pagoda_layout executor_state_layouts[] = {
	{ VIRTIO_PAGODA_TILING_4K, 64, 64, 1 },
	{ VIRTIO_PAGODA_TILING_4K, 256, 128, 2 },
	{ VIRTIO_PAGODA_TILING_4K, 192, 128, 4 },
	{ VIRTIO_PAGODA_TILING_64K, 256, 256, 1 },
};

static struct pagoda_paging_op executor_state_tiled(const struct pagoda_layout *layout,
						    u64 surface_size, bool in,
						    const struct pagoda_world_list *list)
{
	const struct pagoda_side surface = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, SURFACE };
	const struct pagoda_side pages = { .adl = &list->adl };

	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = 5,
		.transfer = {
			.size = surface_size,
			.flags = in ? VIRTIO_PAGODA_TRANSFER_SWIZZLE :
				      VIRTIO_PAGODA_TRANSFER_UNSWIZZLE,
			.src = in ? pages : surface,
			.dst = in ? surface : pages,
			.layout = *layout,
			.surface_size = surface_size,
		},
	};
}

/* Returns a list of pages from @first on, in which neighbours are swapped to get many runs. */
static struct pagoda_world_list *state_list(struct pagoda_state_world *s, u32 first, u32 nr_pages)
{
	struct pagoda_world_list *list = pagoda_world_list(s->world, first, nr_pages);
	u32 i;

	for (i = 0; i + 1 < nr_pages; i += 2) {
		swap(list->pages[i], list->pages[i + 1]);
		swap(list->cpu_pages[i], list->cpu_pages[i + 1]);
	}
	return list;
}

/*
 * Content that is swizzled into a surface and unswizzled again, in two pieces each, of one packet
 * or of many, is unchanged.
 */
static void executor_state_swizzle_identity_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	u32 i, j, page;

	for (i = 0; i < 2 * ARRAY_SIZE(executor_state_layouts); i++) {
		const struct pagoda_layout *layout = &executor_state_layouts[i / 2];
		u64 size = pagoda_layout_size(layout) + (i % 2) * PAGE;
		u32 buffer = i % 2 ? PAGODA_WORLD_BUFFER : 72 + 32 + 16;
		struct pagoda_world_list *from = state_list(s, 0, size / PAGE);
		struct pagoda_world_list *to = state_list(s, 20, size / PAGE);
		u64 first = size / PAGE / 2 * PAGE;

		prandom_bytes_state(&s->rnd, s->world->cpu_system, 20 * PAGE);
		memcpy(s->world->engine_system, s->world->cpu_system, 20 * PAGE);
		for (j = 0; j < 4; j++) {
			struct pagoda_paging_op op =
				executor_state_tiled(layout, size, j < 2, j < 2 ? from : to);

			op.transfer.offset = j % 2 ? first : 0;
			op.transfer.mdl_offset = j % 2 ? first / PAGE : 0;
			op.transfer.size = j % 2 ? size - first : first;
			pagoda_world_do(s->world, &op, buffer);
		}
		state_compare(s);
		for (page = 0; page < size / PAGE; page++)
			KUNIT_ASSERT_EQ(test, memcmp(to->cpu_pages[page], from->cpu_pages[page],
						     PAGE), 0);
	}
	PAGODA_PROVES(C32);
}

/* Swizzling puts bytes of the linear view at the tiled offsets that were computed by hand. */
static void swizzle_place_test(struct kunit *test)
{
	static const struct {
		u32 layout;
		u64 linear;
		u64 tiled;
	} places[] = {
		{ 1, 0, 0 }, { 1, 63, 63 }, { 1, 64, 4096 }, { 1, 255, 3 * 4096 + 63 },
		{ 1, 256, 64 }, { 1, 63 * 256, 63 * 64 }, { 1, 64 * 256, 4 * 4096 },
		{ 1, 32768, 32768 }, { 1, 32768 + 128, 32768 + 64 },	/* mip 1 is 128 x 64 */
		{ 1, 32768 + 64, 32768 + 4096 }, { 1, 40960 + 77, 40960 + 77 },
		{ 3, 256, 256 }, { 3, 65535, 65535 },
	};
	struct pagoda_state_world *s = state_make(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		const struct pagoda_layout *layout = &executor_state_layouts[places[i].layout];
		u64 size = pagoda_layout_size(layout) + PAGE;
		struct pagoda_world_list *list = pagoda_world_list(s->world, 0, size / PAGE);
		struct pagoda_paging_op op = executor_state_tiled(layout, size, true, list);

		memset(s->world->cpu_system, 0, size);
		s->world->cpu_system[places[i].linear] = 0xa7;
		memcpy(s->world->engine_system, s->world->cpu_system, size);
		pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
		state_compare(s);
		KUNIT_EXPECT_EQ_MSG(test, s->world->exec.vram[SURFACE + places[i].tiled], 0xa7,
				    "%u", i);
	}
	PAGODA_PROVES(C32);
}

/* A TRANSFER with SWIZZLE but without an allocation copies bytes in linear order. */
static void swizzle_linear_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_paging_op op = executor_state_tiled(&executor_state_layouts[1], 10 * PAGE,
							  true, pagoda_world_list(s->world, 0, 10));

	op.allocation = 0;
	pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, memcmp(s->world->exec.vram + SURFACE, s->world->cpu_system,
				     10 * PAGE), 0);
	PAGODA_PROVES(C31);
}

/*
 * A packet that has SWIZZLE and a layout but no allocation, which no builder makes, copies in
 * linear order, too.
 */
static void swizzle_stranger_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_paging_op op = executor_state_tiled(&executor_state_layouts[1], 10 * PAGE,
							  true, pagoda_world_list(s->world, 0, 4));
	struct virtio_pagoda_packet *packet = (void *)s->world->data;
	struct pagoda_paging_cursor cursor = { };

	op.transfer.offset = 3 * PAGE;
	op.transfer.size = 4 * PAGE;
	pagoda_world_fresh(s->world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(test, pagoda_paging_build(&s->world->limits, &op, &cursor, &s->world->buf),
			PAGODA_BUILD_SUCCESS);
	KUNIT_ASSERT_EQ(test, le16_to_cpu(packet->flags), VIRTIO_PAGODA_TRANSFER_SWIZZLE);
	packet->allocation = 0;
	KUNIT_ASSERT_TRUE(test, pagoda_world_submit(s->world).good);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, memcmp(s->world->exec.vram + SURFACE + 3 * PAGE,
				     s->world->cpu_system, 4 * PAGE), 0);
	PAGODA_PROVES(C31);
}

static struct pagoda_paging_op executor_state_lock(const struct pagoda_layout *layout, bool in,
						   u32 range, u32 flags,
						   const struct pagoda_world_list *list)
{
	struct pagoda_paging_op op =
		executor_state_tiled(layout, pagoda_layout_size(layout), in, list);

	op.operation = VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	op.transfer.flags = flags;
	op.transfer.range_id = range;
	return op;
}

/*
 * SPECIAL_LOCK_TRANSFER into VRAM writes the swizzling range's window and the surface;
 * SPECIAL_LOCK_TRANSFER out of VRAM copies the content of the window, not that of the surface.
 */
static void lock_test(struct kunit *test)
{
	u32 both = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
	struct pagoda_state_world *s = state_make(test);
	const struct pagoda_layout *layout = &executor_state_layouts[1];
	struct pagoda_world_list *from = state_list(s, 0, 10);
	struct pagoda_world_list *to = state_list(s, 20, 10);
	struct pagoda_paging_op in = executor_state_lock(layout, true, 1, both, from);
	struct pagoda_paging_op out = executor_state_lock(layout, false, 1, both, to);

	KUNIT_EXPECT_FALSE(test, state_try(s, &out));	/* no surface is bound */
	pagoda_world_do(s->world, &in, 112 + 16);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, s->cpu_ranges[1].size, 10 * PAGE);
	KUNIT_EXPECT_EQ(test, memcmp(s->cpu_ranges[1].window, from->cpu_pages[0], PAGE), 0);
	out.transfer.src.address += PAGE;
	KUNIT_EXPECT_FALSE(test, state_try(s, &out));	/* another surface is bound */
	out.transfer.src.address -= PAGE;
	out.transfer.layout.mips = 1;
	KUNIT_EXPECT_FALSE(test, state_try(s, &out));
	out.transfer.layout.mips = 2;
	s->engine_ranges[1].window[5000] ^= 0xff;
	s->cpu_ranges[1].window[5000] ^= 0xff;
	pagoda_world_do(s->world, &out, 112 + 16);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, memcmp(s->cpu_ranges[1].window + PAGE, to->cpu_pages[1], PAGE), 0);
	KUNIT_EXPECT_EQ(test, s->cpu_ranges[1].size, 0);
	/* A copy in binds the range only with START, a copy out unbinds the range only with END. */
	in.transfer.flags = VIRTIO_PAGODA_TRANSFER_END;
	KUNIT_EXPECT_FALSE(test, state_try(s, &in));
	in.transfer.flags = VIRTIO_PAGODA_TRANSFER_START;
	KUNIT_EXPECT_TRUE(test, state_try(s, &in));
	out.transfer.flags = VIRTIO_PAGODA_TRANSFER_START;
	KUNIT_EXPECT_TRUE(test, state_try(s, &out));
	KUNIT_EXPECT_EQ(test, s->cpu_ranges[1].size, 10 * PAGE);
	in.transfer.range_id = RANGES;
	KUNIT_EXPECT_FALSE(test, state_try(s, &in));
}

/* Flips all bits of a byte of system memory in both machines. */
static void state_flip(struct pagoda_state_world *s, u64 at)
{
	s->world->engine_system[at] ^= 0xff;
	s->world->cpu_system[at] ^= 0xff;
}

/*
 * A piece of a SPECIAL_LOCK_TRANSFER may end at any multiple of 4 bytes. A surface larger than the
 * window of the range is refused.
 */
static void lock_size_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	const struct pagoda_layout *layout = &executor_state_layouts[1];
	struct pagoda_paging_op in = executor_state_lock(layout, true, 1,
							 VIRTIO_PAGODA_TRANSFER_START,
							 state_list(s, 0, 10));
	u32 i;

	KUNIT_ASSERT_TRUE(test, state_try(s, &in));
	for (i = 1; i < 4; i++) {
		u64 end = 2 * PAGE - 4 * i;

		in.transfer.size = end;
		state_flip(s, end - 1);
		state_flip(s, end);
		KUNIT_EXPECT_TRUE(test, state_try(s, &in));
	}
	s->world->engine.swizzling_bytes = 10 * PAGE - 1;
	s->world->limits.swizzling_bytes = 10 * PAGE - 1;
	KUNIT_EXPECT_FALSE(test, state_try(s, &in));
	s->world->engine.swizzling_bytes++;
	s->world->limits.swizzling_bytes++;
	KUNIT_EXPECT_TRUE(test, state_try(s, &in));
}

/*
 * INIT_CONTEXT_RESOURCE initialises a save area in system memory or in VRAM, and is refused if the
 * save area's VRAM range or GPU virtual addresses are out of range.
 */
static void context_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_world_list *list = state_list(s, 8, 4);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
		.init_context = {
			.context = 77,
			.size = VIRTIO_PAGODA_CONTEXT_BYTES,
			.gpu_address = 4 * PAGE,
			.dst = { .adl = &list->adl },
		},
	};
	const struct virtio_pagoda_context_image *image = list->cpu_pages[0];

	pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->magic), VIRTIO_PAGODA_CONTEXT_MAGIC);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(image->context), 77);
	KUNIT_EXPECT_NULL(test, memchr_inv((const u8 *)image + 16, 0, PAGE - 16));
	KUNIT_EXPECT_NULL(test, memchr_inv(list->cpu_pages[3], 0, PAGE));
	op.init_context.dst = (struct pagoda_side) { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 5 * PAGE };
	pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
	state_compare(s);
	KUNIT_EXPECT_NULL(test, memchr_inv(s->world->exec.vram + 6 * PAGE, 0, 3 * PAGE));
	op.init_context.dst.address = 29 * PAGE;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	op.init_context.dst.address = 5 * PAGE;
	op.init_context.gpu_address = (1ull << 47) - PAGE;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
}

/*
 * UPDATE_CONTEXT_ALLOCATION writes across two neighbouring virtual pages, the first in VRAM and the
 * second in system memory, and is refused if a page isn't mapped.
 */
static void update_context_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
		.update_context = {
			.address = PAGE,
			.size = 7 * PAGE,
			.data_size = 2400,
			.data_offset = 3 * PAGE - 800,
			.pages = s->va_pages + 1,
		},
	};
	u8 *data = test_zalloc(test, 2400);

	prandom_bytes_state(&s->rnd, data, 2400);
	op.update_context.data = data;
	pagoda_world_do(s->world, &op, PAGODA_PAGING_MIN_BUFFER);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, memcmp(s->world->exec.vram + 24 * PAGE - 800, data, 800), 0);
	KUNIT_EXPECT_EQ(test, memcmp(s->world->cpu_pages[4], data + 800, 1600), 0);
	op.update_context.size = 9 * PAGE;
	op.update_context.data_offset = 7 * PAGE - 8;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	PAGODA_PROVES(C84);
}

/*
 * SIGNAL_MONITORED_FENCE with VIRTUAL writes a value at a virtual address, with FORWARD only if the
 * value is larger than the value at the address, and is refused for an unmapped address.
 */
static void signal_virtual_test(struct kunit *test)
{
	static const struct {
		u64 value;
		u64 left;
	} forward[] = {
		{ 0x123456789abcdef0, 0x123456789abcdef0 },
		{ 0x0fffffffffffffff, 0x123456789abcdef0 },
		{ 0x8000000000000000, 0x8000000000000000 },
		{ U64_MAX, U64_MAX },
		{ 0, U64_MAX },
	};
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = {
			.address = 5 * PAGE + 8,
			.value = 0x123456789abcdef0,
			.flags = VIRTIO_PAGODA_SIGNAL_VIRTUAL,
			.cpu_pages = s->va_pages + 5,
		},
	};
	u32 i;

	pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
	state_compare(s);
	KUNIT_EXPECT_EQ(test, *(u64 *)(s->world->cpu_pages[5] + 8), op.signal_fence.value);
	for (i = 0; i < ARRAY_SIZE(forward); i++) {
		op.signal_fence.value = forward[i].value;
		op.signal_fence.flags |= VIRTIO_PAGODA_SIGNAL_FORWARD;
		pagoda_world_do(s->world, &op, PAGODA_WORLD_BUFFER);
		state_compare(s);
		KUNIT_EXPECT_EQ(test, *(u64 *)(s->world->cpu_pages[5] + 8), forward[i].left);
	}
	op.signal_fence.address = VA_PAGES * PAGE;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	PAGODA_PROVES(C117);
}

/* Both machines accept and refuse the same notices. */
static void notice_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_fence_residency fences[] = {
		{ 1, pagoda_world_bus(3) + 8, 0 },
		{ 2, 0, pagoda_world_bus(4) },
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY,
		.allocation = 3,
		.notify_residency = {
			.address = 31 * PAGE,
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.flags = VIRTIO_PAGODA_NOTIFY_RESIDENT,
		},
	};

	KUNIT_EXPECT_TRUE(test, state_try(s, &op));
	op.notify_residency.address += PAGE;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	op.notify_residency.flags = 0;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	op.notify_residency = (struct pagoda_op_notify_residency) { };
	KUNIT_EXPECT_TRUE(test, state_try(s, &op));
	op.operation = VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	op.notify_residency.nr_pages = 9;
	KUNIT_EXPECT_TRUE(test, state_try(s, &op));
	op = (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
		.notify_fences = { ARRAY_SIZE(fences), fences },
	};
	KUNIT_EXPECT_TRUE(test, state_try(s, &op));
	fences[1].current_value = pagoda_world_bus(4) + 4;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
	fences[1].current_value = 0;
	fences[1].monitored_value += 4;
	KUNIT_EXPECT_FALSE(test, state_try(s, &op));
}

/*
 * Pages can be used by device addresses after MAP_MMU and until UNMAP_MMU; if mapped read-only,
 * only as a source.
 */
static void mmu_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_world_list *pages = state_list(s, 8, 6);
	struct pagoda_world_list *device = pagoda_world_list(s->world, 8, 6);
	struct pagoda_paging_op map = {
		.operation = VIRTIO_PAGODA_OP_MAP_MMU,
		.map_mmu = { .address = 10 * PAGE, .nr_pages = 6, .adl = &pages->adl },
	};
	struct pagoda_paging_op move = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.size = 6 * PAGE,
			.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 5 * PAGE },
			.dst = { .adl = &device->adl },
		},
	};
	u32 i;

	state_add_mmu(s);
	for (i = 0; i < 6; i++) {
		device->pages[i] = (10 + i) * PAGE;
		device->cpu_pages[i] = pages->cpu_pages[i];
	}
	KUNIT_EXPECT_FALSE(test, state_try(s, &move));
	pagoda_world_do(s->world, &map, 40 + 16);
	KUNIT_EXPECT_TRUE(test, state_try(s, &move));
	KUNIT_EXPECT_EQ(test, memcmp(pages->cpu_pages[5], s->world->exec.vram + 10 * PAGE, PAGE),
			0);
	map.map_mmu.nr_pages = 1;
	map.map_mmu.address = 15 * PAGE;
	map.map_mmu.adl_offset = 5;
	map.map_mmu.flags = VIRTIO_PAGODA_MAP_MMU_READ_ONLY;
	KUNIT_EXPECT_TRUE(test, state_try(s, &map));
	KUNIT_EXPECT_FALSE(test, state_try(s, &move));
	swap(move.transfer.src, move.transfer.dst);
	KUNIT_EXPECT_TRUE(test, state_try(s, &move));
	map.operation = VIRTIO_PAGODA_OP_UNMAP_MMU;
	KUNIT_EXPECT_TRUE(test, state_try(s, &map));
	KUNIT_EXPECT_FALSE(test, state_try(s, &move));
	KUNIT_EXPECT_TRUE(test, state_try(s, &map));
	move.transfer.size -= PAGE;
	KUNIT_EXPECT_TRUE(test, state_try(s, &move));
}

/* Maps device address @address to page @page of system memory, on both machines. */
static void executor_state_state_map(struct pagoda_state_world *s, u64 address, u32 page, u32 flags)
{
	pagoda_world_do(s->world, &(struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_MAP_MMU,
		.map_mmu = {
			.address = address, .nr_pages = 1, .flags = flags,
			.adl = &pagoda_world_list(s->world, page, 1)->adl,
		},
	}, PAGODA_WORLD_BUFFER);
}

/*
 * With a device MMU, MAP_APERTURE_SEGMENT names its pages, and UNMAP_APERTURE_SEGMENT the dummy
 * page, by device addresses: each is refused unless MAP_MMU has mapped all pages that it names.
 */
static void executor_state_mmu_aperture_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_world_list *device = pagoda_world_list(s->world, 8, 2);
	struct pagoda_paging_op map = {
		.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
		.map_aperture = { .nr_pages = 2, .adl = &device->adl, .generation = 1 },
	};
	struct pagoda_paging_op unmap = {
		.operation = VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
		.unmap_aperture = {
			.nr_pages = 1, .dummy_page = 12 * PAGE,
			.cpu_pages = &s->world->cpu_pages[PAGODA_WORLD_DUMMY],
		},
	};

	state_add_mmu(s);
	device->pages[0] = 10 * PAGE;
	device->pages[1] = 11 * PAGE;
	executor_state_state_map(s, 10 * PAGE, 8, 0);
	KUNIT_EXPECT_FALSE(test, state_try(s, &map));
	KUNIT_EXPECT_FALSE(test, state_try(s, &unmap));
	KUNIT_EXPECT_NULL(test, s->world->exec.aperture[0]);
}

/*
 * UPDATE_PAGE_TABLE of a table in system memory is refused unless the device MMU maps the table's
 * page writable.
 */
static void mmu_table_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	const u64 value = VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO;
	struct pagoda_paging_op update = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, .nr_entries = 1,
			.table_entries = VIRTIO_PAGODA_PT_ENTRIES, .table_address = 10 * PAGE,
			.table_pages = &s->world->cpu_pages[8], .values = &value,
		},
	};

	state_add_mmu(s);
	KUNIT_EXPECT_FALSE(test, state_try(s, &update));
	executor_state_state_map(s, 10 * PAGE, 8, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	KUNIT_EXPECT_FALSE(test, state_try(s, &update));
	executor_state_state_map(s, 10 * PAGE, 8, 0);
	KUNIT_EXPECT_TRUE(test, state_try(s, &update));
	KUNIT_EXPECT_EQ(test, *(u64 *)s->world->cpu_pages[8], value);
}

/* MAP_APERTURE_SEGMENT with CACHE_COHERENT is refused on a device without F_COHERENT. */
static void incoherent_test(struct kunit *test)
{
	struct pagoda_state_world *s = state_make(test);
	struct pagoda_paging_op map = {
		.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
		.map_aperture = {
			.nr_pages = 1, .adl = &pagoda_world_list(s->world, 8, 1)->adl,
			.flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT, .generation = 1,
		},
	};

	s->world->engine.features |= 1ull << VIRTIO_PAGODA_F_COHERENT;
	s->world->limits.features = s->world->engine.features;
	KUNIT_EXPECT_TRUE(test, state_try(s, &map));
	s->world->engine.features &= ~(1ull << VIRTIO_PAGODA_F_COHERENT);
	s->world->limits.features = s->world->engine.features;
	KUNIT_EXPECT_FALSE(test, state_try(s, &map));
}

const u32 pagoda_executor_state_compared[] = {
	VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
	VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION, VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY,
	VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
	VIRTIO_PAGODA_OP_MAP_MMU, VIRTIO_PAGODA_OP_UNMAP_MMU, 0
};

static struct kunit_case executor_state_state_cases[] = {
	KUNIT_CASE(executor_state_swizzle_identity_test),
	KUNIT_CASE(swizzle_place_test),
	KUNIT_CASE(swizzle_linear_test),
	KUNIT_CASE(swizzle_stranger_test),
	KUNIT_CASE(lock_test),
	KUNIT_CASE(lock_size_test),
	KUNIT_CASE(context_test),
	KUNIT_CASE(update_context_test),
	KUNIT_CASE(signal_virtual_test),
	KUNIT_CASE(notice_test),
	KUNIT_CASE(mmu_test),
	KUNIT_CASE(executor_state_mmu_aperture_test),
	KUNIT_CASE(mmu_table_test),
	KUNIT_CASE(incoherent_test),
	{ }
};

static struct kunit_suite state_suite = {
	.name = "pagoda_executor_state",
	.test_cases = executor_state_state_cases,
};

kunit_test_suite(state_suite);
