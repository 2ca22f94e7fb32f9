// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on page tables and with virtual addresses, executed by the device's engine and by the
 * CPU executor, which walk page tables in their own ways and must agree on memory and refusals.
 *
 * Space 0 uses 4 MiB of addresses; space 1 has no root. The tables of space 0 are in the first
 * pages of VRAM, but for one leaf table in system memory. A virtual page v that is mapped to system
 * memory other than that table is mapped to page v % 32 of system memory, so that the struct pages
 * for the CPU executor are known in advance.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "executor_world.h"

#define PAGE		PAGODA_WORLD_PAGE
#define SEED		20261122
#define ROOT		(0 * PAGE)
#define LEVEL2		(1 * PAGE)
#define LEVEL1		(2 * PAGE)	/* two pages with dual PTEs */
#define LEAF		(4 * PAGE)
#define LEAF_64K	(5 * PAGE)
#define FREE		16		/* first page of VRAM for data; no table is behind it */
#define SYSTEM_LEAF	40		/* page of system memory that is a table */
#define SYSTEM_PAGES	32
#define VA_PAGES	1024
#define TO_VRAM		(VIRTIO_PAGODA_PTE_VALID | 1ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT)
#define TO_SYSTEM	VIRTIO_PAGODA_PTE_VALID
#define TO_APERTURE	(VIRTIO_PAGODA_PTE_VALID | 2ull << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT)
#define ZEROS		(VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO)

struct pagoda_table_world {
	struct pagoda_world *world;
	struct pagoda_engine_space spaces[2];
	struct pagoda_root roots[2];
	struct rnd_state rnd;
	const void *pages[VA_PAGES];
	u64 expected[2][VIRTIO_PAGODA_PT_ENTRIES];
	bool dual;
};

/*
 * Returns the page of system memory at a bus address, NULL for other addresses. Any page is found,
 * not only SYSTEM_LEAF: a damaged entry may point to any page as if the page were a table.
 */
static const void *world_table_page(void *context, u64 bus)
{
	struct pagoda_world *world = context;
	u64 page = (bus - pagoda_world_bus(0)) / PAGE;

	return bus >= pagoda_world_bus(0) && page < PAGODA_WORLD_SYSTEM ? world->cpu_pages[page] :
									  NULL;
}

static struct pagoda_paging_op executor_table_update(u32 level, u64 table, u32 first,
						     u32 nr_entries, const u64 *values)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
			.level = level,
			.first_entry = first,
			.nr_entries = nr_entries,
			.table_entries = level == 3 ? 256 : 512,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.table_address = table,
			.values = values,
		},
	};
}

static void do_update(struct pagoda_table_world *t, u32 level, u64 table, u32 first, u64 value)
{
	struct pagoda_paging_op op = executor_table_update(level, table, first, 1, &value);

	pagoda_world_do(t->world, &op, PAGODA_WORLD_BUFFER);
}

/* Makes all entries of a table invalid; with dual PTEs at level 1, the word that @flags selects. */
static void do_clear(struct pagoda_table_world *t, u32 level, u64 table, u32 flags)
{
	struct pagoda_pte invalid = { };
	struct pagoda_paging_op op =
		executor_table_update(level, table, 0, level == 3 ? 256 : 512, NULL);

	op.update_page_table.flags = flags | VIRTIO_PAGODA_UPDATE_REPEAT;
	op.update_page_table.ptes = &invalid;
	if (!level && flags & VIRTIO_PAGODA_UPDATE_USE_64K) {
		op.update_page_table.table_entries = 32;
		op.update_page_table.nr_entries = 32;
	}
	pagoda_world_do(t->world, &op, PAGODA_WORLD_BUFFER);
}

static void tables_link(struct pagoda_table_world *t)
{
	u64 system = TO_SYSTEM | pagoda_world_bus(SYSTEM_LEAF);
	u64 second = TO_VRAM | LEAF_64K;
	struct pagoda_paging_op op;

	do_clear(t, 3, ROOT, 0);
	do_clear(t, 2, LEVEL2, 0);
	do_clear(t, 1, LEVEL1, 0);
	do_clear(t, 0, LEAF, 0);
	do_clear(t, 0, LEAF_64K, VIRTIO_PAGODA_UPDATE_USE_64K);
	do_update(t, 3, ROOT, 0, TO_VRAM | LEVEL2);
	do_update(t, 2, LEVEL2, 0, TO_VRAM | LEVEL1);
	do_update(t, 1, LEVEL1, 0, TO_VRAM | LEAF);
	if (t->dual) {
		do_clear(t, 1, LEVEL1, VIRTIO_PAGODA_UPDATE_USE_64K);
		op = executor_table_update(1, LEVEL1, 0, 1, &second);
		op.update_page_table.flags = VIRTIO_PAGODA_UPDATE_USE_64K;
		pagoda_world_do(t->world, &op, PAGODA_WORLD_BUFFER);
	}
	do_update(t, 1, LEVEL1, 1, system);
	memset(t->world->engine_system + SYSTEM_LEAF * PAGE, 0, PAGE);
	memset(t->world->cpu_system + SYSTEM_LEAF * PAGE, 0, PAGE);
}

static struct pagoda_table_world *table_world_make(struct kunit *test, bool dual)
{
	struct pagoda_table_world *t = test_zalloc(test, sizeof(*t));
	struct pagoda_world *world;
	u32 i;

	prandom_seed_state(&t->rnd, SEED);
	world = pagoda_world_make(test, &t->rnd);
	t->world = world;
	t->dual = dual;
	world->engine.va_bits = 47;
	world->engine.pt_levels = 4;
	world->engine.page_sizes = 0x1000 | 0x10000 | 0x200000;
	world->engine.spaces = t->spaces;
	world->engine.nr_spaces = 2;
	world->engine.features &= ~(1ull << VIRTIO_PAGODA_F_DUAL_PTE);
	if (dual)
		world->engine.features |= 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
	world->limits.features = world->engine.features;
	world->limits.va_bits = 47;
	world->limits.pt_levels = 4;
	world->limits.page_sizes = world->engine.page_sizes;
	world->limits.max_address_spaces = 2;
	world->exec.limits = &world->limits;
	world->exec.roots = t->roots;
	world->exec.table_page = world_table_page;
	world->exec.context = world;
	KUNIT_ASSERT_EQ(test, pagoda_engine_root_set(&world->engine, 0, VIRTIO_PAGODA_SEGMENT_VRAM,
						     ROOT, 256), 0);
	t->roots[0] = (struct pagoda_root) { ROOT, 256, VIRTIO_PAGODA_SEGMENT_VRAM };
	for (i = 0; i < VA_PAGES; i++)
		t->pages[i] = world->cpu_pages[i % SYSTEM_PAGES];
	tables_link(t);
	return t;
}

static struct pagoda_paging_op executor_table_vfill(struct pagoda_table_world *t, u64 va, u64 size,
						    u32 pattern)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_FILL,
		.virtual_fill = {
			.size = size,
			.address = va,
			.allocation_offset = 0x7000,
			.pattern = pattern,
			.dst_pages = &t->pages[va / PAGE],
		},
	};
}

static struct pagoda_paging_op executor_table_vtransfer(struct pagoda_table_world *t, u64 src,
							u64 dst, u64 size, u32 direction, u32 flags)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.size = size,
			.src_address = src,
			.dst_address = dst,
			.allocation_offset = 0x9000,
			.direction = direction,
			.flags = flags,
			.src_pages = &t->pages[src / PAGE],
			.dst_pages = &t->pages[dst / PAGE],
		},
	};
}

/* Executes an operation on both machines, which must agree; returns the CPU executor's error. */
static int executor_table_try(struct pagoda_table_world *t, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = { };
	const char *why = "";
	int error;

	KUNIT_ASSERT_EQ_MSG(t->world->test, pagoda_paging_validate(&t->world->limits, op, &why), 0,
			    "%s", why);
	pagoda_world_fresh(t->world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(t->world->test, pagoda_paging_build(&t->world->limits, op, &cursor,
							    &t->world->buf),
			PAGODA_BUILD_SUCCESS);
	error = pagoda_world_submit(t->world).error;
	pagoda_world_compare(t->world);
	return error;
}

/*
 * Virtual transfers and fills reach each page by its page-table entry, and obey ZERO and READ_ONLY;
 * transfers are refused for a wrong direction or page size.
 */
static void virtual_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, true);
	u8 *vram = t->world->exec.vram, *system = t->world->cpu_system;
	struct pagoda_paging_op op;
	u8 before[16];
	u32 i;

	/* Map four virtual pages to VRAM in reverse order, and four to system memory in order. */
	for (i = 0; i < 4; i++) {
		do_update(t, 0, LEAF, 8 + i, TO_VRAM | (FREE + (i ^ 3)) * PAGE);
		do_update(t, 0, LEAF, 18 + i, TO_SYSTEM | pagoda_world_bus(18 + i));
	}
	op = executor_table_vtransfer(t, 8 * PAGE + 4, 18 * PAGE + 8, 3 * PAGE,
				      VIRTIO_PAGODA_LOCAL_TO_SYSTEM, 0);
	KUNIT_ASSERT_EQ(test, executor_table_try(t, &op), 0);
	for (i = 4; i < 3 * PAGE + 4; i++)
		KUNIT_ASSERT_EQ(test, system[18 * PAGE + 4 + i],
				vram[(FREE + (i / PAGE ^ 3)) * PAGE + i % PAGE]);
	PAGODA_PROVES(C69, C71);

	op = executor_table_vfill(t, 9 * PAGE - 8, 16, 0xcafe1234);
	KUNIT_ASSERT_EQ(test, executor_table_try(t, &op), 0);
	KUNIT_EXPECT_EQ(test, *(u32 *)(vram + (FREE + 3) * PAGE + PAGE - 4), 0xcafe1234);
	KUNIT_EXPECT_EQ(test, *(u32 *)(vram + (FREE + 2) * PAGE), 0xcafe1234);
	KUNIT_EXPECT_EQ(test, *(u32 *)(vram + (FREE + 2) * PAGE + 4), 0xcafe1234);

	/* Pages whose entry has ZERO read as zeros, and writes to them are dropped. */
	do_update(t, 0, LEAF, 30, ZEROS);
	op = executor_table_vtransfer(t, 30 * PAGE, 18 * PAGE, PAGE, VIRTIO_PAGODA_LOCAL_TO_SYSTEM,
				      0);
	KUNIT_ASSERT_EQ(test, executor_table_try(t, &op), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(system + 18 * PAGE, 0, PAGE));
	op = executor_table_vfill(t, 30 * PAGE, PAGE, 1);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), 0);
	PAGODA_PROVES(C94);

	/* A fill that reaches a read-only or an invalid page is refused and writes nothing. */
	do_update(t, 0, LEAF, 9, TO_VRAM | VIRTIO_PAGODA_PTE_READ_ONLY | FREE * PAGE);
	memcpy(before, vram + (FREE + 3) * PAGE + PAGE - 16, 16);
	op = executor_table_vfill(t, 9 * PAGE - 16, 32, 0x55555555);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
	KUNIT_EXPECT_MEMEQ(test, vram + (FREE + 3) * PAGE + PAGE - 16, before, 16);
	PAGODA_PROVES(C96);
	do_update(t, 0, LEAF, 9, 0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
	/*
	 * Transfers are refused if the direction doesn't fit the segments, or SRC_64K doesn't fit
	 * the page size.
	 */
	op = executor_table_vtransfer(t, 8 * PAGE, 18 * PAGE, PAGE, VIRTIO_PAGODA_SYSTEM_TO_LOCAL,
				      0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EINVAL);
	op = executor_table_vtransfer(t, 8 * PAGE, 18 * PAGE, PAGE, VIRTIO_PAGODA_LOCAL_TO_SYSTEM,
				      VIRTIO_PAGODA_VIRTUAL_SRC_64K);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
}

static void poke_system(struct pagoda_table_world *t, u32 index, u64 value)
{
	u64 at = SYSTEM_LEAF * PAGE + index * 8;

	*(__le64 *)(t->world->engine_system + at) = cpu_to_le64(value);
	*(__le64 *)(t->world->cpu_system + at) = cpu_to_le64(value);
}

/*
 * COPY_PAGE_TABLE_ENTRIES copies its ranges in order, each as memmove() does, also within a table;
 * if a range can't be reached, no range is copied.
 */
static void copy_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, false);
	u64 window = 64 * PAGE;
	struct pagoda_copy_range ranges[] = {
		{ window, window + PAGE, 0, 100, 8 },
		/* Copies the entries that the first range wrote. */
		{ window + PAGE, window + PAGE, 100, 103, 8 },
		{ window + PAGE, window, 100, 200, 11 },
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = { 0, ARRAY_SIZE(ranges), ranges },
	};
	u8 *a = t->world->exec.vram + 20 * PAGE, *b = a + PAGE;
	u64 *a_after = t->expected[0], *b_after = t->expected[1];

	do_update(t, 0, LEAF, 64, TO_VRAM | 20 * PAGE);
	do_update(t, 0, LEAF, 65, TO_VRAM | 21 * PAGE);
	memcpy(a_after, a, PAGE);
	memcpy(b_after, b, PAGE);
	memcpy(b_after + 100, a_after, 64);
	memmove(b_after + 103, b_after + 100, 64);
	memcpy(a_after + 200, b_after + 100, 88);
	KUNIT_ASSERT_EQ(test, executor_table_try(t, &op), 0);
	KUNIT_EXPECT_MEMEQ(test, b, (u8 *)b_after, PAGE);
	KUNIT_EXPECT_MEMEQ(test, a, (u8 *)a_after, PAGE);
	PAGODA_PROVES(C108, C109);

	/* An address space that doesn't exist: no range is copied. */
	((struct virtio_pagoda_copy_page_table_entries *)t->world->data)->address_space =
		cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, pagoda_world_submit(t->world).error, -EINVAL);
	KUNIT_EXPECT_MEMEQ(test, b, (u8 *)b_after, PAGE);

	/* One range is unreachable: no range is copied. */
	ranges[2].src_table = 70 * PAGE;
	ranges[0].src_entry = 300;
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
	KUNIT_EXPECT_MEMEQ(test, b, (u8 *)b_after, PAGE);
	KUNIT_EXPECT_MEMEQ(test, a, (u8 *)a_after, PAGE);
}

/*
 * A range overwrites other entries of the leaf table that translates the next range's source. That
 * leaf table, in system memory, is also the source of the last range.
 */
static void copy_into_tables_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, false);
	u64 window = 64 * PAGE;
	struct pagoda_copy_range ranges[] = {
		{ window, window + PAGE, 0, 0, 4 },
		{ SZ_2M + 100 * PAGE, window, 0, 300, 4 },
		{ window + PAGE, window, 0, 400, 4 },
	};
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = { 0, ARRAY_SIZE(ranges), ranges },
	};

	do_update(t, 0, LEAF, 64, TO_VRAM | 20 * PAGE);
	do_update(t, 0, LEAF, 65, TO_SYSTEM | pagoda_world_bus(SYSTEM_LEAF));
	poke_system(t, 100, TO_VRAM | 21 * PAGE);
	KUNIT_ASSERT_EQ(test, executor_table_try(t, &op), 0);
	KUNIT_EXPECT_MEMEQ(test, t->world->cpu_system + SYSTEM_LEAF * PAGE,
			   t->world->exec.vram + 20 * PAGE, 32);
	KUNIT_EXPECT_MEMEQ(test, t->world->exec.vram + 20 * PAGE + 300 * 8,
			   t->world->exec.vram + 21 * PAGE, 32);
	KUNIT_EXPECT_MEMEQ(test, t->world->exec.vram + 20 * PAGE + 400 * 8,
			   t->world->exec.vram + 20 * PAGE, 32);
}

/*
 * Returns whether page @page of @vram has @value in every byte; else expects the page to be as in
 * @before.
 */
static bool own_tables_filled(struct kunit *test, const u8 *vram, u32 page, u8 value,
			      const u8 *before)
{
	if (!memchr_inv(vram + page * PAGE, value, PAGE))
		return true;
	KUNIT_EXPECT_MEMEQ(test, vram + page * PAGE, before + page * PAGE, PAGE);
	return false;
}

/*
 * A fill overwrites the leaf table that maps the last page of the fill. On each machine the fill is
 * executed to its end, or refused at the last page, and no page is written but the three that were
 * mapped when the fill began.
 */
static void fill_own_table_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, false);
	struct pagoda_paging_op op = executor_table_vfill(t, 8 * PAGE, 3 * PAGE, 0);
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_world *world = t->world;
	u8 *before = test_vzalloc(test, PAGODA_WORLD_VRAM * PAGE);
	u8 *vram[] = { world->engine_vram, world->exec.vram };
	struct pagoda_verdict verdict[2];
	u32 i, page;

	do_update(t, 0, LEAF, 8, TO_VRAM | FREE * PAGE);
	do_update(t, 0, LEAF, 9, TO_VRAM | LEAF);
	do_update(t, 0, LEAF, 10, TO_VRAM | (FREE + 1) * PAGE);
	memcpy(before, world->exec.vram, PAGODA_WORLD_VRAM * PAGE);
	pagoda_world_fresh(world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(test, pagoda_paging_build(&world->limits, &op, &cursor, &world->buf),
			PAGODA_BUILD_SUCCESS);
	verdict[0] = pagoda_world_run_engine(world, 0);
	verdict[1] = pagoda_world_run_cpu(world, 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, verdict[i].reason, verdict[i].good ?
				VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_INVALID_ENTRY);
		KUNIT_EXPECT_TRUE(test, own_tables_filled(test, vram[i], FREE, 0, before));
		KUNIT_EXPECT_TRUE(test, own_tables_filled(test, vram[i], LEAF / PAGE, 0, before));
		KUNIT_EXPECT_EQ(test, verdict[i].good,
				own_tables_filled(test, vram[i], FREE + 1, 0, before));
		for (page = FREE + 2; page < PAGODA_WORLD_VRAM; page++)
			KUNIT_EXPECT_MEMEQ(test, vram[i] + page * PAGE, before + page * PAGE,
					   PAGE);
	}
}

/*
 * UPDATE_PAGE_TABLE writes exactly its entries, by physical and by virtual address of the table, in
 * VRAM and in system memory.
 */
static void update_modes_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, true);
	u8 *vram = t->world->exec.vram, *system = t->world->cpu_system;
	struct pagoda_paging_op op;
	u64 values[40], *expected = t->expected[0];
	u32 i;

	for (i = 0; i < 40; i++)
		values[i] = TO_VRAM | (i < 30 ? i + 1 : 40 - i) * PAGE << (i == 35);
	do_update(t, 0, LEAF, 64, TO_VRAM | 20 * PAGE);
	do_update(t, 0, LEAF, 65, TO_SYSTEM | pagoda_world_bus(65 % SYSTEM_PAGES));
	memcpy(expected, vram + 20 * PAGE, PAGE);
	memcpy(expected + 77, values, sizeof(values));

	op = executor_table_update(0, 20 * PAGE, 77, 40, values);
	t->world->limits.vram_size = 1ull << 30;
	pagoda_world_do(t->world, &op, 200);
	KUNIT_EXPECT_MEMEQ(test, vram + 20 * PAGE, (u8 *)expected, PAGE);

	memset(expected + 77, 0, sizeof(values));
	op.update_page_table.mode = VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
	op.update_page_table.table_segment = 0;
	op.update_page_table.table_address = 64 * PAGE;
	for (i = 0; i < 40; i++)
		values[i] = 0;
	pagoda_world_do(t->world, &op, 200);
	KUNIT_EXPECT_MEMEQ(test, vram + 20 * PAGE, (u8 *)expected, PAGE);

	/* A table in system memory, by virtual address, then by bus address. */
	memcpy(expected, system + 1 * PAGE, PAGE);
	for (i = 0; i < 40; i++)
		values[i] = TO_VRAM | (i ^ 1) * PAGE;
	memcpy(expected + 77, values, sizeof(values));
	op.update_page_table.table_address = 65 * PAGE;
	op.update_page_table.table_pages = &t->pages[65];
	pagoda_world_do(t->world, &op, PAGODA_WORLD_BUFFER);
	KUNIT_EXPECT_MEMEQ(test, system + 1 * PAGE, (u8 *)expected, PAGE);
	memcpy(expected + 177, values, sizeof(values));
	op.update_page_table.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL;
	op.update_page_table.first_entry = 177;
	op.update_page_table.table_address = pagoda_world_bus(1);
	pagoda_world_do(t->world, &op, PAGODA_WORLD_BUFFER);
	KUNIT_EXPECT_MEMEQ(test, system + 1 * PAGE, (u8 *)expected, PAGE);
	pagoda_world_compare(t->world);
	PAGODA_PROVES(C86);
}

/* Builds an UPDATE_PAGE_TABLE of three entries with scattered addresses; returns the packet. */
static struct virtio_pagoda_update_page_table *update_built(struct pagoda_table_world *t)
{
	static const u64 values[] = { TO_VRAM | 20 * PAGE, TO_VRAM | 22 * PAGE, TO_VRAM };
	struct pagoda_paging_op op = executor_table_update(0, 20 * PAGE, 77, 3, values);
	struct pagoda_paging_cursor cursor = { };

	pagoda_world_fresh(t->world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(t->world->test, pagoda_paging_build(&t->world->limits, &op, &cursor,
							    &t->world->buf),
			PAGODA_BUILD_SUCCESS);
	return (void *)t->world->data;
}

/* Expects both machines to refuse the packet after the changes to p in the last arguments. */
#define UPDATE_REFUSED(reason_name, ...) do { \
	struct virtio_pagoda_update_page_table *p = update_built(t); \
	\
	__VA_ARGS__; \
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_##reason_name, \
			pagoda_world_submit(t->world).reason); \
} while (0)

/* An UPDATE_PAGE_TABLE with a bad field is refused. */
static void update_refused_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, false);

	update_built(t);
	KUNIT_ASSERT_TRUE(test, pagoda_world_submit(t->world).good);
	UPDATE_REFUSED(BAD_FLAGS, p->packet.flags = cpu_to_le16(1 << 15));
	UPDATE_REFUSED(BAD_CONTEXT, p->address_space = cpu_to_le32(2));
	UPDATE_REFUSED(BAD_FLAGS, p->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL));
	UPDATE_REFUSED(RESERVED, p->mode = cpu_to_le32(VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL));
	UPDATE_REFUSED(BAD_SEGMENT,
		       p->table_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_APERTURE));
	UPDATE_REFUSED(MISALIGNED, p->table_address = cpu_to_le64(20 * PAGE + 8));
	UPDATE_REFUSED(OUT_OF_RANGE, p->table_address = cpu_to_le64(PAGODA_WORLD_VRAM * PAGE));
	UPDATE_REFUSED(OUT_OF_RANGE, p->level = cpu_to_le32(4));
	UPDATE_REFUSED(BAD_FLAGS, p->level = cpu_to_le32(1),
		       p->packet.flags = cpu_to_le16(VIRTIO_PAGODA_UPDATE_USE_64K));
	UPDATE_REFUSED(RESERVED, p->level = cpu_to_le32(1), p->driver_protection = cpu_to_le64(1));
	UPDATE_REFUSED(OUT_OF_RANGE, p->nr_entries = 0);
	UPDATE_REFUSED(OUT_OF_RANGE, p->first_entry = cpu_to_le32(510));
	UPDATE_REFUSED(BAD_LENGTH, p->nr_entries = cpu_to_le32(2));
	UPDATE_REFUSED(BAD_LENGTH, p->increment = cpu_to_le32(PAGE));
	UPDATE_REFUSED(MISALIGNED, p->increment = cpu_to_le32(8));
	UPDATE_REFUSED(RESERVED, p->increment = cpu_to_le32(PAGE),
		       p->packet.flags = cpu_to_le16(VIRTIO_PAGODA_UPDATE_REPEAT));
	pagoda_world_compare(t->world);
}

/*
 * Returns a random entry, most often a valid one, of a leaf table for virtual page @v, or, in a
 * table of 64 KiB entries, for the @each pages from @v on.
 */
static u64 executor_table_random_entry(struct pagoda_table_world *t, u32 v, u32 each)
{
	u64 flags = pagoda_random(&t->rnd, 0, 9) ? 0 : VIRTIO_PAGODA_PTE_READ_ONLY;

	/* Sets no bit of a page number in VRAM: else the entry could map a page table. */
	if (!pagoda_random(&t->rnd, 0, 15))
		flags |= 1ull << pagoda_random(&t->rnd, 1, 63) & ~(PAGODA_WORLD_VRAM * PAGE - PAGE);
	switch (pagoda_random(&t->rnd, 0, 5)) {
	case 0:
		return flags & ~VIRTIO_PAGODA_PTE_VALID;
	case 1:
		return ZEROS | flags;
	case 2:
		/*
		 * Sets no bit of the address: with a wrong bus address the CPU executor, which uses
		 * struct pages (C66), would still use the right page.
		 */
		return TO_SYSTEM | (flags & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK) |
		       pagoda_world_bus(v % SYSTEM_PAGES);
	case 3:
		return TO_APERTURE | flags | (each > 1 ? 0 : v % PAGODA_WORLD_APERTURE) * PAGE;
	default:
		return TO_VRAM | flags | (each > 1 ? FREE : FREE + v % 16) * PAGE;
	}
}

/* Writes an entry to VRAM of both machines, without an operation, so that any value is possible. */
static void executor_table_poke(struct pagoda_table_world *t, u64 address, u64 value)
{
	*(__le64 *)(t->world->engine_vram + address) = cpu_to_le64(value);
	*(__le64 *)(t->world->exec.vram + address) = cpu_to_le64(value);
}

/* Sets some entries of each leaf table at random; sometimes damages an entry of a table above. */
static void random_tables(struct pagoda_table_world *t)
{
	u64 above[] = { ROOT, LEVEL2, LEVEL1 };
	u32 i, j;

	executor_table_poke(t, ROOT, TO_VRAM | LEVEL2);
	executor_table_poke(t, LEVEL2, TO_VRAM | LEVEL1);
	executor_table_poke(t, LEVEL1, TO_VRAM | LEAF);
	if (t->dual) {
		executor_table_poke(t, LEVEL1 + 8, TO_VRAM | LEAF_64K);
		executor_table_poke(t, LEVEL1 + 16, TO_SYSTEM | pagoda_world_bus(SYSTEM_LEAF));
	} else if (pagoda_random(&t->rnd, 0, 1)) {
		executor_table_poke(t, LEVEL1, TO_VRAM | VIRTIO_PAGODA_PTE_TABLE_64K | LEAF_64K);
	}
	for (i = 0; i < 32; i++) {
		executor_table_poke(t, LEAF + i * 8, executor_table_random_entry(t, i, 1));
		poke_system(t, i, executor_table_random_entry(t, 512 + i, 1));
	}
	for (i = 0; i < 2; i++) {
		u64 entry = t->dual && pagoda_random(&t->rnd, 0, 1) ? 0 :
			    executor_table_random_entry(t, i * 16, 16);

		executor_table_poke(t, LEAF_64K + i * 8, entry);
		/*
		 * Addresses with a valid entry in both leaf tables are refused (C93), so most 4 KiB
		 * entries for addresses that a valid 64 KiB entry translates are made invalid.
		 */
		for (j = 0; j < 16 && entry & VIRTIO_PAGODA_PTE_VALID; j++)
			if (pagoda_random(&t->rnd, 0, 31))
				executor_table_poke(t, LEAF + (i * 16 + j) * 8, 0);
	}
	if (!pagoda_random(&t->rnd, 0, 4))
		executor_table_poke(t, above[pagoda_random(&t->rnd, 0, 2)],
				    (pagoda_random(&t->rnd, 0, 1) ? TO_VRAM | LEAF : ZEROS) ^
					    1ull << pagoda_random(&t->rnd, 0, 63));
}

static struct pagoda_paging_op random_virtual(struct pagoda_table_world *t)
{
	u64 far = (pagoda_random(&t->rnd, 0, 3) ? 0 : 512) * PAGE;
	u64 src = far + pagoda_random(&t->rnd, 0, 7) * PAGE + pagoda_random(&t->rnd, 0, 1) * 12;
	u64 dst = pagoda_random(&t->rnd, 16, 30) * PAGE + pagoda_random(&t->rnd, 0, 1) * 2048;
	u64 size = 4 * pagoda_random(&t->rnd, 1, 1500);

	if (pagoda_random(&t->rnd, 0, 2)) {
		/*
		 * Direction and flags are drawn here, not in the call's arguments: the compiler may
		 * evaluate arguments in any order.
		 */
		u32 direction = pagoda_random(&t->rnd, 0, 2);
		u32 flags = pagoda_random(&t->rnd, 0, 3) ? 0 : pagoda_random(&t->rnd, 0, 3);

		/*
		 * Virtual pages 16 to 31 are mapped to the same VRAM as pages 0 to 15. Copy to page
		 * 26 and above only: if source and destination had memory in common, the result
		 * would be undefined.
		 */
		dst = pagoda_random(&t->rnd, 26, 30) * PAGE + dst % PAGE;
		return executor_table_vtransfer(t, src, dst, size, direction, flags);
	}
	return executor_table_vfill(t, dst, size, prandom_u32_state(&t->rnd));
}

/*
 * With random content in page tables, both machines have equal memory after each virtual transfer
 * or fill, and agree on the verdict.
 */
static void random_walk_test(struct kunit *test)
{
	u32 round, i, good, bad;

	for (round = 0; round < 2; round++) {
		struct pagoda_table_world *t = table_world_make(test, round);
		struct pagoda_world_list *list = pagoda_world_list(t->world, 8, 20);
		struct pagoda_paging_op map = {
			.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
			.map_aperture = { .nr_pages = 20, .generation = 1, .adl = &list->adl },
		};

		kunit_info(test, "seed %u\n", SEED);
		pagoda_world_do(t->world, &map, PAGODA_WORLD_BUFFER);
		for (i = 0, good = 0, bad = 0; i < 1000; i++) {
			struct pagoda_paging_op op;

			random_tables(t);
			op = random_virtual(t);
			if (executor_table_try(t, &op))
				bad++;
			else
				good++;
		}
		KUNIT_EXPECT_GT(test, good, 50);
		KUNIT_EXPECT_GT(test, bad, 50);
	}
}

const u32 pagoda_executor_table_compared[] = {
	VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, VIRTIO_PAGODA_OP_FLUSH_TLB,
	VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
	VIRTIO_PAGODA_OP_VIRTUAL_FILL, 0
};

/* Access through a level-1 entry with ZERO is refused if the entry also has TABLE_64K or LARGE. */
static void zero_marks_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, false);
	struct pagoda_paging_op op = executor_table_vfill(t, 0, 64, 1);

	executor_table_poke(t, LEVEL1, ZEROS);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), 0);
	executor_table_poke(t, LEVEL1, ZEROS | VIRTIO_PAGODA_PTE_TABLE_64K);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
	executor_table_poke(t, LEVEL1, ZEROS | VIRTIO_PAGODA_PTE_LARGE);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
	executor_table_poke(t, LEVEL1,
			    (ZEROS | VIRTIO_PAGODA_PTE_TABLE_64K) & ~VIRTIO_PAGODA_PTE_VALID);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EFAULT);
}

/* With dual PTEs, an access to a chunk with valid entries in both leaf tables is refused. */
static void dual_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, true);
	struct pagoda_paging_op first = executor_table_vfill(t, 0, 64, 1);
	struct pagoda_paging_op all = executor_table_vfill(t, 0, SZ_64K, 2);
	struct pagoda_paging_op both = executor_table_vfill(t, 5 * PAGE, 64, 3);
	struct pagoda_paging_op next = executor_table_vfill(t, 19 * PAGE, 64, 4);

	executor_table_poke(t, LEAF_64K, TO_VRAM | FREE * PAGE);
	executor_table_poke(t, LEAF + 19 * 8, TO_VRAM | (FREE + 2) * PAGE);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &all), 0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &next), 0);
	/* One valid 4 KiB entry in the chunk is enough, wherever in the chunk the access begins. */
	executor_table_poke(t, LEAF + 5 * 8, TO_VRAM | (FREE + 1) * PAGE);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &both), -EFAULT);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), -EFAULT);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &all), -EFAULT);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &next), 0);
	executor_table_poke(t, LEAF_64K, 0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &both), 0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), -EFAULT);
	/*
	 * One word of the level-1 entry has ZERO, for the whole block, and the table of the other
	 * word has a valid entry.
	 */
	executor_table_poke(t, LEVEL1 + 8, ZEROS);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), -EFAULT);
	executor_table_poke(t, LEAF + 5 * 8, 0);
	executor_table_poke(t, LEAF + 19 * 8, 0);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), 0);
	executor_table_poke(t, LEVEL1, ZEROS);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), -EFAULT);
	executor_table_poke(t, LEVEL1 + 8, TO_VRAM | LEAF_64K);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), 0);
	executor_table_poke(t, LEAF_64K + 31 * 8, TO_VRAM | FREE * PAGE);
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &first), -EFAULT);
	PAGODA_PROVES(C93);
}

/*
 * Builds a FLUSH_TLB from @op, puts @start and @end into the packet, and executes it on both
 * machines. Returns the CPU executor's error.
 */
static int try_flush(struct pagoda_table_world *t, const struct pagoda_paging_op *op, u64 start,
		     u64 end)
{
	struct virtio_pagoda_flush_tlb *flush = (void *)t->world->data;
	struct pagoda_paging_cursor cursor = { };

	pagoda_world_fresh(t->world, PAGODA_WORLD_BUFFER);
	KUNIT_ASSERT_EQ(t->world->test, pagoda_paging_build(&t->world->limits, op, &cursor,
							    &t->world->buf),
			PAGODA_BUILD_SUCCESS);
	flush->start = cpu_to_le64(start);
	flush->end = cpu_to_le64(end);
	return pagoda_world_submit(t->world).error;
}

/* The CPU executor has no TLB to flush, but refuses each FLUSH_TLB that the engine refuses. */
static void flush_test(struct kunit *test)
{
	struct pagoda_table_world *t = table_world_make(test, true);
	u64 end = 1ull << t->world->limits.va_bits;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
		.flush_tlb = { .root_address = ROOT, .root_segment = VIRTIO_PAGODA_SEGMENT_VRAM },
	};

	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), 0);
	KUNIT_EXPECT_EQ(test, try_flush(t, &op, PAGE, end), 0);
	KUNIT_EXPECT_EQ(test, try_flush(t, &op, PAGE, PAGE), 0);
	KUNIT_EXPECT_EQ(test, try_flush(t, &op, PAGE, 0), -EFAULT);
	KUNIT_EXPECT_EQ(test, try_flush(t, &op, 2 * PAGE, PAGE), -EFAULT);
	KUNIT_EXPECT_EQ(test, try_flush(t, &op, 0, end + 1), -EFAULT);
	op.flush_tlb.root_address = LEVEL1;
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EINVAL);
	op.flush_tlb.root_address = ROOT;
	op.flush_tlb.root_segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), -EINVAL);
	/* A space without a root accepts any root. */
	op.flush_tlb.address_space = 1;
	KUNIT_EXPECT_EQ(test, executor_table_try(t, &op), 0);
	((struct virtio_pagoda_flush_tlb *)t->world->data)->address_space = cpu_to_le32(2);
	KUNIT_EXPECT_EQ(test, pagoda_world_submit(t->world).error, -EINVAL);
}

static struct kunit_case executor_table_cases[] = {
	KUNIT_CASE(virtual_test),
	KUNIT_CASE(copy_test),
	KUNIT_CASE(copy_into_tables_test),
	KUNIT_CASE(fill_own_table_test),
	KUNIT_CASE(update_modes_test),
	KUNIT_CASE(update_refused_test),
	KUNIT_CASE(zero_marks_test),
	KUNIT_CASE(dual_test),
	KUNIT_CASE(flush_test),
	KUNIT_CASE(random_walk_test),
	{ }
};

static struct kunit_suite executor_table_suite = {
	.name = "pagoda_executor_tables",
	.test_cases = executor_table_cases,
};

kunit_test_suite(executor_table_suite);
