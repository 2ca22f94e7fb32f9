// SPDX-License-Identifier: GPL-2.0
/*
 * The device's own MMU: the GPU reaches the pages that were mapped for it, and no others.
 *
 * Device addresses look like the bus addresses of the fixture, but the tests map each device page
 * to another bus address; only page tables have the same address in both.
 */
#include <linux/vmalloc.h>
#include "paging/coverage.h"
#include "engine_helpers.h"

#define MMU_PAGES	(ENGINE_BUS / ENGINE_PAGE + ENGINE_PAGES)
#define MMU_FEATURES	(ENGINE_MMU_OPS | BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU))

static struct virtio_pagoda_map_mmu *mmu_packet(struct engine_fixture *fix, u16 opcode, u32 first,
						u32 nr_pages, u32 nr_runs)
{
	struct virtio_pagoda_map_mmu *map;

	map = engine_packet(fix, opcode, sizeof(*map) + nr_runs * sizeof(struct virtio_pagoda_run));
	map->address = cpu_to_le64(engine_bus(first));
	map->nr_pages = cpu_to_le64(nr_pages);
	map->nr_runs = cpu_to_le32(nr_runs);
	return map;
}

/* Appends a MAP_MMU of device pages from @first on to system pages from @page on. */
static void mmu_add_map(struct engine_fixture *fix, u32 first, u32 nr_pages, u32 page, u16 flags)
{
	struct virtio_pagoda_map_mmu *map;
	struct virtio_pagoda_run *run;

	map = mmu_packet(fix, VIRTIO_PAGODA_OP_MAP_MMU, first, nr_pages, 1);
	map->packet.flags = cpu_to_le16(flags);
	run = (void *)(map + 1);
	run->address = cpu_to_le64(engine_bus(page));
	run->nr_pages = cpu_to_le32(nr_pages);
}

static void mmu_add_unmap(struct engine_fixture *fix, u32 first, u32 nr_pages)
{
	mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, first, nr_pages, 0);
}

/*
 * Appends a TRANSFER from device page @page, at the device address engine_bus(@page), to page @vram
 * of VRAM, or back if @write.
 */
static void mmu_add_copy(struct engine_fixture *fix, u8 page, u32 vram, bool write)
{
	const struct engine_side system = { .nr_runs = 1, .pages = &page };
	const struct engine_side local = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = vram * ENGINE_PAGE,
	};

	if (write)
		engine_add_transfer(fix, ENGINE_PAGE, &local, &system);
	else
		engine_add_transfer(fix, ENGINE_PAGE, &system, &local);
}

static u8 *mmu_system(struct engine_fixture *fix, u32 page)
{
	return fix->system + page * ENGINE_PAGE;
}

static bool mmu_same(struct engine_fixture *fix, u32 vram, u32 page)
{
	return !memcmp(fix->vram + vram * ENGINE_PAGE, mmu_system(fix, page), ENGINE_PAGE);
}

/*
 * A transfer accesses the bus pages that its device pages are mapped to, although device pages next
 * to each other are mapped in reverse or far apart.
 */
static void mmu_transfer_test(struct kunit *test)
{
	static const u8 pages[] = { 8, 12, 9 };
	const struct engine_side system = { .nr_runs = 3, .pages = pages };
	const struct engine_side local = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	struct engine_fixture *fix = test->priv;

	mmu_add_map(fix, 8, 1, 21, 0);
	mmu_add_map(fix, 9, 1, 20, 0);
	mmu_add_map(fix, 12, 2, 5, 0);
	engine_add_transfer(fix, 3 * ENGINE_PAGE, &system, &local);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 21));
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 1, 5));
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 2, 20));
	mmu_add_copy(fix, 13, 7, true);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 7, 6));
	engine_expect_guards(test, fix, "transfer");
}

/* A run of pages of which only some are mapped to consecutive bus addresses is copied right. */
static void mmu_long_run_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *run;
	u32 i;

	mmu_add_map(fix, 8, 4, 30, 0);
	mmu_add_map(fix, 12, 1, 34, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	mmu_add_map(fix, 13, 3, 10, 0);
	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER,
				 sizeof(*transfer) + sizeof(*run));
	transfer->size = cpu_to_le64(8 * ENGINE_PAGE);
	transfer->src.nr_runs = cpu_to_le32(1);
	transfer->dst.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	run = (void *)(transfer + 1);
	run->address = cpu_to_le64(engine_bus(8));
	run->nr_pages = cpu_to_le32(8);
	engine_expect_done(test, fix);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_TRUE_MSG(test, mmu_same(fix, i, i < 5 ? 30 + i : 5 + i), "page %u", i);
}

/*
 * Accesses to device pages that aren't mapped fault: next to mapped pages, at the bus address of a
 * mapped page, and beyond the end of the MMU's table.
 */
static void mmu_unmapped_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	mmu_add_map(fix, 8, 2, 20, 0);
	engine_expect_done(test, fix);
	mmu_add_copy(fix, 7, 0, false);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "before");
	mmu_add_copy(fix, 10, 0, true);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "behind");
	mmu_add_copy(fix, 20, 0, false);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "bus address");
	mmu_add_copy(fix, ENGINE_PAGES, 0, false);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "beyond the table");
	engine_add_physical(fix, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, VIRTIO_PAGODA_SEGMENT_SYSTEM,
			    engine_bus(21), 8);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "physical");
	/* Without the feature device addresses are bus addresses. */
	fix->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_DEVICE_MMU);
	mmu_add_copy(fix, 8, 0, false);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 8));
	mmu_add_map(fix, 8, 2, 20, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNSUPPORTED, "not negotiated");
}

/*
 * Transfers and fences that write to a read-only mapping fault; another mapping of the page may be
 * writable.
 */
static void mmu_read_only_test(struct kunit *test)
{
	static const u8 read[] = { 8, 9 }, written[] = { 9, 10 };
	const struct engine_side src = { .nr_runs = 2, .pages = read };
	const struct engine_side dst = { .nr_runs = 2, .pages = written };
	struct engine_fixture *fix = test->priv;

	mmu_add_map(fix, 8, 3, 20, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	mmu_add_copy(fix, 8, 0, false);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 20));
	mmu_add_copy(fix, 8, 1, true);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "write");
	/* The TRANSFER looks device page 9 up for reading before it looks it up for writing. */
	mmu_add_map(fix, 10, 1, 22, 0);
	engine_expect_done(test, fix);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &src, &dst);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "read, then write");
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_SYSTEM, engine_bus(9), 1, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "fence");
	/* System page 20 is writable by device page 40, then by device page 8, mapped anew. */
	mmu_add_map(fix, 40, 1, 20, 0);
	mmu_add_copy(fix, 40, 1, true);
	mmu_add_map(fix, 8, 1, 20, 0);
	mmu_add_copy(fix, 8, 2, true);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 2, 20));
}

/*
 * If the second of two pages with consecutive bus addresses is read-only, a write to a run of both
 * pages faults.
 */
static void mmu_read_only_run_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *run;

	mmu_add_map(fix, 8, 1, 20, 0);
	mmu_add_map(fix, 9, 1, 21, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	engine_expect_done(test, fix);
	transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER,
				 sizeof(*transfer) + sizeof(*run));
	transfer->size = cpu_to_le64(2 * ENGINE_PAGE);
	transfer->src.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	transfer->dst.nr_runs = cpu_to_le32(1);
	run = (void *)(transfer + 1);
	run->address = cpu_to_le64(engine_bus(8));
	run->nr_pages = cpu_to_le32(2);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "second page");
}

/*
 * A mapping takes effect within a buffer, and so does unmapping, although the engine looked the
 * page up before.
 */
static void mmu_replace_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_run run;

	PAGODA_PROVES(C121);
	mmu_add_map(fix, 8, 2, 20, 0);
	mmu_add_copy(fix, 8, 0, false);
	mmu_add_map(fix, 8, 1, 30, 0);
	mmu_add_copy(fix, 8, 1, false);
	mmu_add_copy(fix, 9, 2, false);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 20));
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 1, 30));
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 2, 21));

	engine_snapshot(fix);
	mmu_add_copy(fix, 8, 30, false);
	mmu_add_unmap(fix, 8, 2);
	mmu_add_unmap(fix, 8, 2);	/* no effect */
	mmu_add_copy(fix, 8, 3, true);
	KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0),
			PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NOT_MAPPED);
	KUNIT_EXPECT_EQ(test, run.fault.address, engine_bus(8));
	KUNIT_EXPECT_EQ(test, run.packets, 3);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 30, 30));
	KUNIT_EXPECT_MEMEQ(test, mmu_system(fix, 30), engine_before(fix, mmu_system(fix, 30)),
			   ENGINE_PAGE);
	/* Device page 9 isn't mapped for execution queues either. */
	mmu_add_copy(fix, 9, 3, true);
	KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_EXEC, 0),
			PAGODA_ENGINE_FAULT);
	KUNIT_EXPECT_EQ(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NOT_MAPPED);
}

/* The aperture holds device addresses, which are translated at each use. */
static void mmu_aperture_test(struct kunit *test)
{
	const struct engine_side aperture = {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE, .address = 3 * ENGINE_PAGE,
	};
	const struct engine_side local = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	struct engine_fixture *fix = test->priv;

	engine_add_map(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0, 3, 2, 8, 1, false);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "map");
	engine_add_unmap(fix, 3, 2, 11);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "dummy");
	mmu_add_map(fix, 8, 2, 25, 0);
	engine_add_map(fix, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0, 3, 2, 8, 1, false);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &aperture, &local);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 25));
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 1, 26));
	mmu_add_map(fix, 8, 1, 35, 0);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &aperture, &local);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 35));
	mmu_add_map(fix, 9, 1, 26, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	engine_expect_done(test, fix);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &local, &aperture);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "aperture");
	mmu_add_unmap(fix, 9, 1);
	engine_expect_done(test, fix);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &aperture, &local);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "aperture");
}

/* A fence in system memory is written through the device MMU. */
static void mmu_fence_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	const u64 value = 0x1122334455667788ull;

	mmu_add_map(fix, 8, 1, 25, 0);
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_SYSTEM, engine_bus(8) + 16, value, 0);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, *(u64 *)(mmu_system(fix, 25) + 16), value);
	mmu_add_unmap(fix, 8, 1);
	engine_expect_done(test, fix);
	engine_add_signal(fix, VIRTIO_PAGODA_SEGMENT_SYSTEM, engine_bus(8) + 16, 0, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "fence");
}

/* Page tables in system memory, and the pages they map, are reached through the device MMU. */
static void mmu_tables_test(struct kunit *test)
{
	const u64 va = ENGINE_VA + (ENGINE_PAGES + 8) * ENGINE_PAGE;
	struct engine_fixture *fix = test->priv;
	u32 i;

	engine_add_virtual_fill(fix, va, ENGINE_PAGE, 7);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_TABLE, "unmapped root");
	mmu_add_map(fix, ENGINE_ROOT, 3, ENGINE_ROOT, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	engine_expect_done(test, fix);
	engine_add_virtual_fill(fix, va, ENGINE_PAGE, 7);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "unmapped page");
	mmu_add_map(fix, 8, 1, 25, 0);
	engine_add_virtual_fill(fix, va, ENGINE_PAGE, 0x01020304);
	engine_expect_done(test, fix);
	for (i = 0; i < ENGINE_PAGE / 4; i++)
		KUNIT_EXPECT_EQ(test, ((u32 *)mmu_system(fix, 25))[i], 0x01020304);
	mmu_add_map(fix, 8, 1, 25, VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	engine_expect_done(test, fix);
	engine_add_virtual_fill(fix, va, ENGINE_PAGE, 7);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_READ_ONLY, "read-only page");
}

/* A MAP_MMU or UNMAP_MMU with one bad field is refused without effect. */
static void mmu_malformed_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_map_mmu *map;

	mmu_add_map(fix, 8, 2, 20, 2);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "flags");
	map = mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, 8, 2, 0);
	map->packet.flags = cpu_to_le16(VIRTIO_PAGODA_MAP_MMU_READ_ONLY);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "unmap flags");
	mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, 8, 2, 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_RUNS, "unmap runs");
	map = mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, 8, 2, 0);
	map->mmu = cpu_to_le32(1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_RESERVED, "mmu");
	map = mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, 8, 2, 0);
	map->address = cpu_to_le64(engine_bus(8) + 8);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_MISALIGNED, "address");
	mmu_add_unmap(fix, ENGINE_PAGES - 1, 2);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "end");
	mmu_add_unmap(fix, 8, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "no pages");
	map = mmu_packet(fix, VIRTIO_PAGODA_OP_UNMAP_MMU, 8, 2, 0);
	map->nr_pages = cpu_to_le64(U64_MAX);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "all pages");
	mmu_add_map(fix, 8, 2, ENGINE_HOLE - 1, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNREACHABLE, "hole");
	mmu_packet(fix, VIRTIO_PAGODA_OP_MAP_MMU, 8, 2, 0);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_RUNS, "no runs");
	mmu_add_map(fix, 8, 2, 20, 0);
	((struct virtio_pagoda_map_mmu *)fix->buffer)->nr_pages = cpu_to_le64(3);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_RUNS, "too few");
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->engine.mmu, 0, MMU_PAGES * sizeof(u64)));
}

/* A failed MAP_MMU or UNMAP_MMU succeeds when it is repeated. */
static void mmu_failure_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	bool read_only;
	u64 address;

	mmu_add_map(fix, 8, 4, 20, 0);
	engine_expect_failure(test, fix, false);
	KUNIT_EXPECT_FALSE(test, pagoda_engine_mmu_lookup(&fix->engine, engine_bus(8) / ENGINE_PAGE,
							  &address, &read_only));
	mmu_add_map(fix, 8, 4, 20, 0);
	engine_expect_failure(test, fix, true);
	/* Half of the pages may be mapped: the repeated packet maps all. */
	mmu_add_map(fix, 8, 4, 20, 0);
	mmu_add_copy(fix, 11, 0, false);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, mmu_same(fix, 0, 23));
	mmu_add_unmap(fix, 8, 4);
	engine_expect_failure(test, fix, true);
	mmu_add_unmap(fix, 8, 4);
	engine_expect_done(test, fix);
	mmu_add_copy(fix, 11, 0, false);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_NOT_MAPPED, "unmapped");
	/* A reset of the device unmaps everything. */
	mmu_add_map(fix, 8, 4, 20, 0);
	engine_expect_done(test, fix);
	pagoda_engine_reset(&fix->engine);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->engine.mmu, 0, MMU_PAGES * sizeof(u64)));
}

static int mmu_test_init(struct kunit *test)
{
	struct engine_fixture *fix = engine_fixture_init(test);

	fix->engine.mmu = test_vzalloc(test, MMU_PAGES * sizeof(u64));
	fix->engine.mmu_pages = MMU_PAGES;
	KUNIT_ASSERT_TRUE(test, pagoda_engine_init(&fix->engine));
	fix->engine.features |= MMU_FEATURES;
	test->priv = fix;
	return 0;
}

const u32 pagoda_device_mmu_faulted[] = {
	VIRTIO_PAGODA_OP_MAP_MMU, VIRTIO_PAGODA_OP_UNMAP_MMU, 0
};

static struct kunit_case mmu_cases[] = {
	KUNIT_CASE(mmu_transfer_test),
	KUNIT_CASE(mmu_long_run_test),
	KUNIT_CASE(mmu_unmapped_test),
	KUNIT_CASE(mmu_read_only_test),
	KUNIT_CASE(mmu_read_only_run_test),
	KUNIT_CASE(mmu_replace_test),
	KUNIT_CASE(mmu_aperture_test),
	KUNIT_CASE(mmu_fence_test),
	KUNIT_CASE(mmu_tables_test),
	KUNIT_CASE(mmu_malformed_test),
	KUNIT_CASE(mmu_failure_test),
	{}
};

static struct kunit_suite mmu_suite = {
	.name = "pagoda_engine_device_mmu",
	.init = mmu_test_init,
	.test_cases = mmu_cases,
};

kunit_test_suite(mmu_suite);
