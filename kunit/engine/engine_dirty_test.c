// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty tracking: what marks a page of VRAM as written, and which trackers see the mark.
 *
 * That every packet marks each page that it changes is tested by other suites whose engine is from
 * engine_fixture_init(): see engine_execute().
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include "engine_command_helpers.h"
#include "engine_swizzle_helpers.h"

#define TRACKER		3u
#define OTHER		5u
#define OWNER		VIRTIO_PAGODA_DIRTY_OWNER
#define DIRTY		VIRTIO_PAGODA_TRANSFER_DIRTY
#define CLEAN		VIRTIO_PAGODA_TRANSFER_CLEAN
#define BLOCK_PAGES	(VIRTIO_PAGODA_DIRTY_BLOCK / VIRTIO_PAGODA_PAGE_SIZE)

static const struct engine_side dirty_vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };

/* Gives each test an engine whose dirty bits engine_execute() neither clears nor checks. */
static int dirty_init(struct kunit *test)
{
	struct engine_fixture *fix = engine_fixture_init(test);

	fix->marks = NULL;
	test->priv = fix;
	return 0;
}

static bool dirty_start(struct engine_fixture *fix, u32 tracker, u32 page, u32 pages)
{
	return pagoda_engine_dirty_start(&fix->engine, tracker, page * ENGINE_PAGE,
					 pages * ENGINE_PAGE);
}

/* Returns, and clears, a tracker's bits of up to 64 pages; bit n is page @page + n. */
static u64 dirty_query(struct kunit *test, u32 tracker, u32 page, u32 pages)
{
	struct engine_fixture *fix = test->priv;
	__le64 word = 0;

	KUNIT_EXPECT_TRUE(test, pagoda_engine_dirty_query(&fix->engine, tracker,
							  page * ENGINE_PAGE, pages * ENGINE_PAGE,
							  &word));
	return le64_to_cpu(word);
}

static void dirty_write(struct kunit *test, u32 page, u32 pages)
{
	engine_add_fill(test->priv, page * ENGINE_PAGE, pages * ENGINE_PAGE, page);
	engine_expect_done(test, test->priv);
}

/* A tracker starts with no bit set, whatever was written before, and sees later writes. */
static void dirty_starts_clear(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	PAGODA_PROVES(C201);
	dirty_write(test, 0, 20);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 16));
	KUNIT_EXPECT_EQ(test, 0ull, dirty_query(test, TRACKER, 0, 16));
	dirty_write(test, 3, 2);
	KUNIT_EXPECT_EQ(test, 0x18ull, dirty_query(test, TRACKER, 0, 16));
	KUNIT_EXPECT_EQ(test, 0ull, dirty_query(test, TRACKER, 0, 16));
	/* What is written while the tracker is stopped isn't seen when the tracker starts again. */
	KUNIT_EXPECT_TRUE(test, pagoda_engine_dirty_stop(&fix->engine, TRACKER));
	dirty_write(test, 0, 16);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 16));
	KUNIT_EXPECT_EQ(test, 0ull, dirty_query(test, TRACKER, 0, 16));
}

/*
 * If the ranges of two trackers overlap, start, query and stop of one tracker leave the bits of the
 * other tracker alone.
 */
static void dirty_trackers_overlap(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	PAGODA_PROVES(C203);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 16));
	dirty_write(test, 8, 2);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, OTHER, 8, 16));
	dirty_write(test, 10, 1);
	KUNIT_EXPECT_EQ(test, 0x4ull, dirty_query(test, OTHER, 8, 16));
	KUNIT_EXPECT_TRUE(test, pagoda_engine_dirty_stop(&fix->engine, OTHER));
	dirty_write(test, 11, 1);
	KUNIT_EXPECT_EQ(test, 0xf00ull, dirty_query(test, TRACKER, 0, 16));
}

/*
 * A query of a part of a tracker's range leaves the bits of all other pages alone, also of pages
 * next to the part.
 */
static void dirty_query_of_a_part(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	PAGODA_PROVES(C204);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 32));
	dirty_write(test, 0, 32);
	KUNIT_EXPECT_EQ(test, 0x3full, dirty_query(test, TRACKER, 5, 6));
	KUNIT_EXPECT_EQ(test, 0xffffffffull & ~(0x3full << 5), dirty_query(test, TRACKER, 0, 32));
}

/* Starts, stops and queries of trackers with bad arguments are refused, and change nothing. */
static void dirty_refusals(struct kunit *test)
{
	static const struct {
		u32 tracker;
		u64 address, size;
	} starts[] = {
		{ VIRTIO_PAGODA_DIRTY_CONTENT, 0, ENGINE_PAGE },
		{ VIRTIO_PAGODA_DIRTY_TRACKERS, 0, ENGINE_PAGE },
		{ ~0u, 0, ENGINE_PAGE },
		{ OTHER, 0, 0 },
		{ OTHER, 8, ENGINE_PAGE },
		{ OTHER, 0, ENGINE_PAGE + 8 },
		{ OTHER, 0, ENGINE_BYTES + ENGINE_PAGE },
		{ OTHER, ENGINE_BYTES, ENGINE_PAGE },
		{ OTHER, -ENGINE_PAGE, 2 * ENGINE_PAGE },
		{ TRACKER, 0, ENGINE_PAGE },
	};
	struct engine_fixture *fix = test->priv;
	__le64 word = 0;
	u32 i;

	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 4, 4));
	dirty_write(test, 0, 16);
	for (i = 0; i < ARRAY_SIZE(starts); i++)
		KUNIT_EXPECT_FALSE_MSG(test, pagoda_engine_dirty_start(&fix->engine,
								       starts[i].tracker,
								       starts[i].address,
								       starts[i].size),
				       "start %u", i);
	KUNIT_EXPECT_FALSE(test, pagoda_engine_dirty_stop(&fix->engine, OTHER));
	KUNIT_EXPECT_FALSE(test, pagoda_engine_dirty_stop(&fix->engine, 0));
	for (i = 0; i < 9; i++)
		KUNIT_EXPECT_EQ_MSG(test, i == 4,
				    pagoda_engine_dirty_query(&fix->engine, TRACKER,
							      i * ENGINE_PAGE, 4 * ENGINE_PAGE,
							      &word), "query at %u", i);
	KUNIT_EXPECT_EQ(test, 0xfull, le64_to_cpu(word));
	fix->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
	KUNIT_EXPECT_FALSE(test, dirty_start(fix, OTHER, 0, 1));
	KUNIT_EXPECT_FALSE(test, pagoda_engine_dirty_stop(&fix->engine, TRACKER));
}

/* After a reset of the adapter all pages count as written, and no tracker is started. */
static void dirty_reset(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, ENGINE_PAGES));
	pagoda_engine_reset_adapter(&fix->engine, PAGODA_ENGINE_VRAM_KEEP);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->engine.dirty, 0xff, ENGINE_PAGES));
	KUNIT_EXPECT_FALSE(test, pagoda_engine_dirty_stop(&fix->engine, TRACKER));
}

/* ---- A write races with queries ---------------------------------------------------- */

struct dirty_race {
	struct engine_fixture *fix;
	u32 rounds;
	bool done;
};

/* Thread that fills pages of VRAM with changing patterns, by packets of an execution queue. */
static int dirty_race_write(void *data)
{
	struct dirty_race *race = data;
	u32 i;

	for (i = 0; i < race->rounds; i++) {
		struct virtio_pagoda_fill fill = {
			.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_FILL),
			.packet.length = cpu_to_le32(sizeof(fill)),
			.size = cpu_to_le64(3 * ENGINE_PAGE),
			.address = cpu_to_le64(i * 7 % 13 * ENGINE_PAGE),
			.pattern = cpu_to_le32(i * 0x01010203 + 1),
			.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM),
		};
		struct pagoda_engine_run run;

		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, VIRTIO_PAGODA_QUEUE_EXEC0,
				       i + 1);
		run.buffer = &fill;
		run.size = sizeof(fill);
		pagoda_engine_execute(&race->fix->engine, &run);
		if (!(i % 16))
			schedule();
	}
	smp_store_release(&race->done, true);	/* after all writes */
	return 0;
}

static void dirty_race_fetch(struct kunit *test, u8 *shadow)
{
	struct engine_fixture *fix = test->priv;
	u64 bits = dirty_query(test, TRACKER, 0, 16);
	u32 page;

	for (page = 0; page < 16; page++)
		if (bits & BIT_ULL(page))
			memcpy(shadow + page * ENGINE_PAGE, fix->vram + page * ENGINE_PAGE,
			       ENGINE_PAGE);
}

/*
 * Copies the pages that each query reports, as a live migration does, while another thread writes.
 * After a last query the copy is complete: each write was reported by the query that ran at the
 * time, or by the next query.
 */
static void dirty_query_races(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct dirty_race race = { .fix = fix, .rounds = 20000 };
	u8 *shadow = test_vzalloc(test, 16 * ENGINE_PAGE);
	struct task_struct *writer;

	PAGODA_PROVES(C202);
	memcpy(shadow, fix->vram, 16 * ENGINE_PAGE);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 16));
	writer = kthread_run(dirty_race_write, &race, "pagoda-dirty");
	KUNIT_ASSERT_FALSE(test, IS_ERR(writer));
	while (!smp_load_acquire(&race.done)) {	/* before the last query */
		dirty_race_fetch(test, shadow);
		schedule();
	}
	dirty_race_fetch(test, shadow);
	KUNIT_EXPECT_MEMEQ(test, shadow, fix->vram, 16 * ENGINE_PAGE);
}

/* ---- Transfers --------------------------------------------------------------------- */

static void dirty_add(struct engine_fixture *fix, u64 size, const struct engine_side *src,
		      const struct engine_side *dst, u16 flags)
{
	struct virtio_pagoda_transfer *transfer = (void *)(fix->buffer + fix->size);

	engine_add_transfer(fix, size, src, dst);
	transfer->packet.flags = cpu_to_le16(flags);
}

/* Returns a side that is the first @nr system pages, with a run for each; fills in @pages. */
static struct engine_side dirty_system(u8 *pages, u32 nr)
{
	u32 i;

	for (i = 0; i < nr; i++)
		pages[i] = i;
	return (struct engine_side) { .nr_runs = nr, .pages = pages };
}

/* Paging marks what it writes: transfers into VRAM and fills, physical and virtual. */
static void dirty_by_paging(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u8 pages[4];
	const struct engine_side system = dirty_system(pages, 4);

	PAGODA_PROVES(C205);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 32));
	dirty_add(fix, 4 * ENGINE_PAGE, &system, &dirty_vram, 0);
	engine_add_fill(fix, 6 * ENGINE_PAGE, 8, 1);
	engine_add_virtual(fix, ENGINE_VA_SYSTEM, ENGINE_VA + 8 * ENGINE_PAGE, 2 * ENGINE_PAGE,
			   VIRTIO_PAGODA_SYSTEM_TO_LOCAL, 0);
	engine_add_virtual_fill(fix, ENGINE_VA + 12 * ENGINE_PAGE + 8, ENGINE_PAGE, 5);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, 0x334full, dirty_query(test, TRACKER, 0, 32));
	/* A transfer out of VRAM marks no page. */
	dirty_add(fix, 4 * ENGINE_PAGE, &dirty_vram, &system, 0);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, 0ull, dirty_query(test, TRACKER, 0, 32));
}

/*
 * A transfer with CLEAN clears its pages' bits of the trackers OWNER and CONTENT, and sets those of
 * all other trackers. If the transfer fails in the middle, the pages that were written have the bit
 * of OWNER set, too.
 */
static void dirty_clean(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u8 pages[4];
	const struct engine_side system = dirty_system(pages, 4);

	dirty_write(test, 0, 8);
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, OWNER, 0, 32));
	KUNIT_ASSERT_TRUE(test, dirty_start(fix, TRACKER, 0, 32));
	dirty_write(test, 2, 4);
	dirty_add(fix, 4 * ENGINE_PAGE, &system, &dirty_vram, CLEAN);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, 0x30ull, dirty_query(test, OWNER, 0, 32));
	KUNIT_EXPECT_EQ(test, 0x3full, dirty_query(test, TRACKER, 0, 32));
	KUNIT_EXPECT_EQ(test, 0, fix->engine.dirty[3] & BIT(VIRTIO_PAGODA_DIRTY_CONTENT));
	KUNIT_EXPECT_NE(test, 0, fix->engine.dirty[4] & BIT(VIRTIO_PAGODA_DIRTY_CONTENT));
	dirty_add(fix, 4 * ENGINE_PAGE, &system, &dirty_vram, CLEAN);
	engine_expect_failure(test, fix, true);
	KUNIT_EXPECT_EQ(test, 0x3ull, dirty_query(test, OWNER, 0, 32));
}

/*
 * Writes a page, then transfers three 64 KiB blocks out of VRAM to the first system pages with
 * DIRTY, by virtual addresses if @by_address. Expects that only the page's 64 KiB block was copied.
 */
static void dirty_move_out(struct kunit *test, bool by_address, u32 page)
{
	struct engine_fixture *fix = test->priv;
	u32 block = page / BLOCK_PAGES, n;
	u8 pages[3 * BLOCK_PAGES];
	const struct engine_side system = dirty_system(pages, ARRAY_SIZE(pages));
	struct pagoda_engine_run run;

	for (n = 0; n < ARRAY_SIZE(pages); n++)
		fix->engine.dirty[n] = 0xff & ~BIT(VIRTIO_PAGODA_DIRTY_CONTENT);
	dirty_write(test, page, 1);
	memset(fix->system, 0x5a, sizeof(pages) * ENGINE_PAGE);
	if (by_address)
		engine_add_virtual(fix, ENGINE_VA, ENGINE_VA_SYSTEM, sizeof(pages) * ENGINE_PAGE,
				   VIRTIO_PAGODA_LOCAL_TO_SYSTEM, DIRTY);
	else
		dirty_add(fix, sizeof(pages) * ENGINE_PAGE, &dirty_vram, &system, DIRTY);
	KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_DONE,
			engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0));
	KUNIT_EXPECT_EQ(test, 2ull * VIRTIO_PAGODA_DIRTY_BLOCK, run.skipped);
	for (n = 0; n < 3; n++) {
		u8 *here = fix->system + n * VIRTIO_PAGODA_DIRTY_BLOCK;

		if (n != block)
			KUNIT_EXPECT_NULL(test, memchr_inv(here, 0x5a,
							   VIRTIO_PAGODA_DIRTY_BLOCK));
		else
			KUNIT_EXPECT_MEMEQ(test, here,
					   fix->vram + n * VIRTIO_PAGODA_DIRTY_BLOCK,
					   VIRTIO_PAGODA_DIRTY_BLOCK);
	}
	/* The page is still marked: the packet may be executed again. */
	KUNIT_EXPECT_NE(test, 0, fix->engine.dirty[page] & BIT(VIRTIO_PAGODA_DIRTY_CONTENT));
}

/* A transfer with DIRTY copies the 64 KiB blocks in which a page was written, and no others. */
static void dirty_out(struct kunit *test)
{
	static const u32 written[] = { 0, BLOCK_PAGES - 1, BLOCK_PAGES, 3 * BLOCK_PAGES - 1 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(written); i++) {
		dirty_move_out(test, false, written[i]);
		dirty_move_out(test, true, written[i]);
	}
}

/*
 * A transfer with DIRTY of a part of a 64 KiB block copies nothing if only pages outside of that
 * part were written, which may be another allocation's.
 */
static void dirty_neighbours(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	const struct engine_side middle = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM,
					    .address = 4 * ENGINE_PAGE };
	u8 pages[4];
	const struct engine_side system = dirty_system(pages, 4);
	struct pagoda_engine_run run;
	bool by_address;

	for (by_address = false;; by_address = true) {
		memset(fix->engine.dirty, 0xff & ~BIT(VIRTIO_PAGODA_DIRTY_CONTENT), ENGINE_PAGES);
		dirty_write(test, 3, 1);
		dirty_write(test, 8, 1);
		if (by_address)
			engine_add_virtual(fix, ENGINE_VA + 4 * ENGINE_PAGE, ENGINE_VA_SYSTEM,
					   4 * ENGINE_PAGE, VIRTIO_PAGODA_LOCAL_TO_SYSTEM, DIRTY);
		else
			dirty_add(fix, 4 * ENGINE_PAGE, &middle, &system, DIRTY);
		KUNIT_EXPECT_EQ(test, PAGODA_ENGINE_DONE,
				engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0));
		KUNIT_EXPECT_EQ(test, 4 * ENGINE_PAGE, run.skipped);
		if (by_address)
			break;
	}
}

/* CLEAN and DIRTY are refused in transfers where they have no meaning, or without the feature. */
static void dirty_flags(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u8 pages[4];
	const struct engine_side system = dirty_system(pages, 2);
	const struct engine_side far = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM,
					 .address = 8 * ENGINE_PAGE };
	const struct {
		const struct engine_side *src, *dst;
		u64 size;
		u16 flags;
		bool feature;
	} bad[] = {
		{ &system, &dirty_vram, 2 * ENGINE_PAGE, CLEAN | DIRTY, true },
		{ &system, &dirty_vram, 2 * ENGINE_PAGE, DIRTY, true },
		{ &system, &dirty_vram, 2 * ENGINE_PAGE - 8, CLEAN, true },
		{ &dirty_vram, &system, 2 * ENGINE_PAGE, CLEAN, true },
		{ &dirty_vram, &far, 2 * ENGINE_PAGE, CLEAN | DIRTY, true },
		{ &system, &dirty_vram, 2 * ENGINE_PAGE, CLEAN, false },
		{ &dirty_vram, &system, 2 * ENGINE_PAGE, DIRTY, false },
	};
	u64 features = fix->engine.features;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		fix->engine.features = features;
		if (!bad[i].feature)
			fix->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
		dirty_add(fix, bad[i].size, bad[i].src, bad[i].dst, bad[i].flags);
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "flags");
	}
	fix->engine.features = features;
	engine_add_virtual(fix, ENGINE_VA_SYSTEM, ENGINE_VA + 8, ENGINE_PAGE,
			   VIRTIO_PAGODA_SYSTEM_TO_LOCAL, CLEAN);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "a part of a page");
	engine_add_virtual(fix, ENGINE_VA_SYSTEM, ENGINE_VA, ENGINE_PAGE,
			   VIRTIO_PAGODA_SYSTEM_TO_LOCAL, DIRTY);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "dirty into VRAM");
}

/* ---- Jobs and tiled surfaces --------------------------------------------------------- */

/* Commands mark all pages that they write, and the end of a job marks the save area. */
static void dirty_by_commands(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	struct virtio_pagoda_copy_rect *rect;
	u64 to, from;

	command_shape_set(fix, &mmu_shapes[0]);
	to = fix->va + COMMAND_AT_VRAM;
	from = fix->va + COMMAND_AT_64K;
	fix->mmu->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
	fix->mmu->marks = test_vzalloc(test, MMU_VRAM);
	command_copy(fix, from + 16, to + 8, 5000);
	command_fill(fix, to + 3 * SZ_4K, 8192, 0x1234);
	command_store(fix, to + 6 * SZ_4K, 0x99, 0);
	command_atomic_add(fix, to + 7 * SZ_4K, 1, to + 8 * SZ_4K, 0);
	command_signal(fix, to + 9 * SZ_4K, 77, 0);
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_ADD, 2000, to + 10 * SZ_4K, from, from, 0);
	command_reduce(fix, VIRTIO_PAGODA_REDUCE_HASH, 10, from, to + 13 * SZ_4K, 1);
	command_set_register(fix, 1, 0x4321, 0);
	command_store_register(fix, 1, to + 14 * SZ_4K);
	rect = command_rect(fix, 64, 70);
	command_surface(&rect->src, from, VIRTIO_PAGODA_TILING_4K, 64, 128, 0, 0);
	command_surface(&rect->dst, to + 15 * SZ_4K, VIRTIO_PAGODA_TILING_LINEAR, 256, 70, 0, 0);
	command_expect_done(fix, 10, "writes");
	/* The save area is in VRAM, too: the job's end has written registers to it. */
	KUNIT_EXPECT_EQ(test, 0xff, fix->mmu->engine.dirty[COMMAND_IMAGE / MMU_PAGE]);
	/* The page with the code was only read, so that page isn't marked. */
	KUNIT_EXPECT_EQ(test, 0, fix->mmu->engine.dirty[0]);
}

/* A surface that is written tile by tile, or from a swizzling range's window, is marked. */
static void dirty_by_tiles(struct kunit *test)
{
	struct swizzle_world *world = swizzle_world_init(test);
	struct engine_fixture *fix = world->fix;
	const struct engine_side linear = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM,
					    .address = SWIZZLE_HALF };
	struct engine_side tiled = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };

	fix->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_DIRTY);
	fix->marks = test_vzalloc(test, SWIZZLE_VRAM);
	swizzle_surface(world, VIRTIO_PAGODA_TILING_4K, 1);
	tiled.address = world->address;
	world->tiled.offset = 0;
	engine_add_tiled(fix, ENGINE_PAGE, &linear, &tiled, VIRTIO_PAGODA_TRANSFER_SWIZZLE,
			 &world->tiled);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_EQ(test, 0xff, fix->engine.dirty[world->address / ENGINE_PAGE]);
	memset(fix->engine.dirty, 0, SWIZZLE_VRAM / ENGINE_PAGE);
	KUNIT_ASSERT_EQ(test, 0u, pagoda_engine_range_acquire(&fix->engine, 0, world->address,
							      world->size,
							      &world->tiled.layout));
	KUNIT_EXPECT_EQ(test, 0, fix->engine.dirty[world->address / ENGINE_PAGE]);
	KUNIT_ASSERT_EQ(test, 0u, pagoda_engine_range_release(&fix->engine, 0, true));
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->engine.dirty + world->address / ENGINE_PAGE, 0xff,
					   world->size / ENGINE_PAGE));
}

static struct kunit_case dirty_cases[] = {
	KUNIT_CASE(dirty_starts_clear),
	KUNIT_CASE(dirty_trackers_overlap),
	KUNIT_CASE(dirty_query_of_a_part),
	KUNIT_CASE(dirty_refusals),
	KUNIT_CASE(dirty_reset),
	KUNIT_CASE(dirty_query_races),
	KUNIT_CASE(dirty_by_paging),
	KUNIT_CASE(dirty_clean),
	KUNIT_CASE(dirty_out),
	KUNIT_CASE(dirty_neighbours),
	KUNIT_CASE(dirty_flags),
	KUNIT_CASE(dirty_by_commands),
	KUNIT_CASE(dirty_by_tiles),
	{}
};

static struct kunit_suite dirty_suite = {
	.name = "pagoda_engine_dirty",
	.init = dirty_init,
	.test_cases = dirty_cases,
};

kunit_test_suites(&dirty_suite);
