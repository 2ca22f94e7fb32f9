// SPDX-License-Identifier: GPL-2.0
/*
 * The GPU's engine: transfers, the aperture, several queues at once, malicious buffers, and the
 * start and reset of the engine.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/sched.h>
#include "vidmm/ttm/internal.h"
#include "engine_helpers.h"

#define MAP	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT
#define MAP2	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2

#define DUMMY	1u	/* system page behind unmapped pages of the aperture */

/*
 * Expects that aperture pages from @first on are mapped with @generation to system pages from @page
 * on or, if @generation is 0, unmapped with @page as the dummy page.
 */
static void engine_expect_pages(struct kunit *test, struct engine_fixture *fix, u32 first,
				u32 nr_pages, u32 page, u32 generation)
{
	u32 i, found;
	u64 address;

	for (i = 0; i < nr_pages; i++) {
		KUNIT_ASSERT_TRUE(test, pagoda_engine_aperture_lookup(&fix->engine, first + i,
								      &address, &found));
		KUNIT_EXPECT_EQ(test, address, engine_bus(page + (generation ? i : 0)));
		KUNIT_EXPECT_EQ(test, found, generation);
	}
}

/* Returns the memory of byte @offset of a side, by the definition of its segment. */
static u8 *engine_side_byte(struct engine_fixture *fix, const struct engine_side *side, u64 offset)
{
	u64 address = side->address + offset;
	u32 generation;
	u64 bus;

	switch (side->segment) {
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return fix->vram + address;
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		return fix->system + side->pages[offset / ENGINE_PAGE] * ENGINE_PAGE +
		       offset % ENGINE_PAGE;
	default:
		pagoda_engine_aperture_lookup(&fix->engine, address / ENGINE_PAGE, &bus,
					      &generation);
		return fix->system + (bus - ENGINE_BUS) + address % ENGINE_PAGE;
	}
}

static void engine_transfer_one(struct kunit *test, struct engine_fixture *fix,
				const struct engine_side *src, const struct engine_side *dst,
				u64 size)
{
	u64 i;

	engine_snapshot(fix);
	engine_add_transfer(fix, size, src, dst);
	engine_expect_done(test, fix);
	for (i = 0; i < size; i++) {
		u8 *to = engine_side_byte(fix, dst, i);

		KUNIT_ASSERT_EQ(test, *to, *engine_before(fix, engine_side_byte(fix, src, i)));
		*to = *engine_before(fix, to);
	}
	engine_expect_unchanged(test, fix, "around the copy");
}

/*
 * A TRANSFER between any two segments copies every byte and changes no other, for sizes of whole
 * pages and others, and however many system pages are contiguous for the CPU.
 */
static void engine_transfer_test(struct kunit *test)
{
	static const u64 sizes[] = { 4, 2048, 4096, 4100, 8192, 3 * 4096 - 4, 3 * 4096 };
	static const u8 from_pages[] = { 20, 21, 30 }, to_pages[] = { 33, 35, 34 };
	struct engine_side sides[2][3] = {
		{
			{ .segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .pages = from_pages },
			{ .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = 8 * ENGINE_PAGE },
			{ .segment = VIRTIO_PAGODA_SEGMENT_APERTURE, .address = 0 },
		}, {
			{ .segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .pages = to_pages },
			{ .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = 11 * ENGINE_PAGE },
			{ .segment = VIRTIO_PAGODA_SEGMENT_APERTURE, .address = 5 * ENGINE_PAGE,
			  .generation = 9 },
		},
	};
	struct engine_fixture *fix = test->priv;
	u32 from, to, i;

	engine_add_map(fix, MAP, 0, 0, 3, 2, 3, true);
	engine_add_map(fix, MAP, 0, 5, 1, 44, 9, true);
	engine_add_map(fix, MAP, 0, 6, 2, 40, 9, true);
	engine_expect_done(test, fix);
	for (fix->span_limit = 0; fix->span_limit < 3; fix->span_limit++) {
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			sides[0][0].nr_runs = DIV_ROUND_UP(sizes[i], ENGINE_PAGE);
			sides[1][0].nr_runs = sides[0][0].nr_runs;
			for (from = 0; from < 3; from++)
				for (to = 0; to < 3; to++)
					engine_transfer_one(test, fix, &sides[0][from],
							    &sides[1][to], sizes[i]);
		}
	}
}

/* A run is copied whole, however many of its pages are contiguous for the CPU. */
static void engine_transfer_run_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_transfer *transfer;
	struct virtio_pagoda_run *run;
	u32 pages;

	for (pages = 1; pages <= 9; pages++) {
		for (fix->span_limit = 0; fix->span_limit < 4; fix->span_limit++) {
			transfer = engine_packet(fix, VIRTIO_PAGODA_OP_TRANSFER,
						 sizeof(*transfer) + sizeof(*run));
			run = (void *)(transfer + 1);
			transfer->size = cpu_to_le64(pages * ENGINE_PAGE - 12);
			transfer->src.nr_runs = cpu_to_le32(1);
			transfer->dst.segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
			run->address = cpu_to_le64(engine_bus(10));
			run->nr_pages = cpu_to_le32(pages);
			get_random_bytes(fix->vram, pages * ENGINE_PAGE);
			engine_snapshot(fix);
			engine_expect_done(test, fix);
			KUNIT_EXPECT_MEMEQ(test, fix->vram, fix->system + 10 * ENGINE_PAGE,
					   pages * ENGINE_PAGE - 12);
			memcpy(fix->vram, engine_before(fix, fix->vram), pages * ENGINE_PAGE - 12);
			engine_expect_unchanged(test, fix, "around the copy");
		}
	}
}

/*
 * Overlapping source and destination are refused, in VRAM, in the aperture and in runs of system
 * memory.
 */
static void engine_overlap_test(struct kunit *test)
{
	static const u8 low[] = { 20, 21 }, high[] = { 21, 22 }, apart[] = { 22, 23 };
	struct engine_side src = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = ENGINE_PAGE };
	struct engine_side dst = src;
	struct engine_fixture *fix = test->priv;
	u32 i;

	engine_add_map(fix, MAP, 0, 0, 8, 20, 1, true);
	engine_expect_done(test, fix);
	for (i = 0; i < 2; i++) {
		dst.address = src.address;
		engine_add_transfer(fix, 8192, &src, &dst);
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "same");
		dst.address = 0;
		engine_add_transfer(fix, 4100, &src, &dst);
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "below");
		dst.address = 2 * ENGINE_PAGE;
		engine_add_transfer(fix, 4100, &src, &dst);
		engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "above");
		engine_transfer_one(test, fix, &src, &dst, 4096);
		src.segment = VIRTIO_PAGODA_SEGMENT_APERTURE;
		dst.segment = src.segment;
	}
	src = (struct engine_side) { .nr_runs = 2, .pages = low };
	dst = (struct engine_side) { .nr_runs = 2, .pages = high };
	engine_add_transfer(fix, 8192, &src, &dst);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OVERLAP, "runs");
	dst.pages = apart;
	engine_transfer_one(test, fix, &src, &dst, 8192);
}

/* Mapping and unmapping pages of the aperture changes the entries of these pages and no others. */
static void engine_map_test(struct kunit *test)
{
	static const u16 opcodes[] = { MAP, MAP2 };
	struct engine_fixture *fix = test->priv;
	u32 i;

	PAGODA_PROVES(C52, C53, C60);
	engine_add_map(fix, MAP, 0, 0, 8, 2, 77, true);
	engine_expect_done(test, fix);
	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		engine_add_map(fix, opcodes[i], VIRTIO_PAGODA_MAP_CACHE_COHERENT, 3, 2, 20, 5 + i,
			       true);
		engine_expect_done(test, fix);
		engine_expect_pages(test, fix, 0, 3, 2, 77);
		engine_expect_pages(test, fix, 3, 2, 20, 5 + i);
		engine_expect_pages(test, fix, 5, 3, 7, 77);
		engine_add_unmap(fix, 4, 2, DUMMY);
		engine_expect_done(test, fix);
		engine_expect_pages(test, fix, 3, 1, 20, 5 + i);
		engine_expect_pages(test, fix, 4, 2, DUMMY, 0);
		engine_expect_pages(test, fix, 6, 2, 8, 77);
		engine_add_map(fix, MAP, 0, 4, 2, 6, 77, true);
		engine_expect_done(test, fix);
	}
	fix->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	engine_add_map(fix, MAP, VIRTIO_PAGODA_MAP_CACHE_COHERENT, 3, 2, 20, 1, true);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_FLAGS, "not coherent");
}

/* One run of contiguous pages makes the entries that an array of pages makes. */
static void engine_map_forms_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 entries[7];

	PAGODA_PROVES(C65);
	engine_add_map(fix, MAP2, 0, 9, 7, 30, 4, true);
	engine_expect_done(test, fix);
	memcpy(entries, fix->engine.aperture + 9, sizeof(entries));
	engine_add_unmap(fix, 9, 7, DUMMY);
	engine_add_map(fix, MAP2, VIRTIO_PAGODA_MAP_CONTIGUOUS, 9, 7, 30, 4, false);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_MEMEQ(test, entries, fix->engine.aperture + 9, sizeof(entries));
	engine_expect_pages(test, fix, 9, 7, 30, 4);
}

/* An unmapped page of the aperture leads to the dummy page, for reads and writes. */
static void engine_dummy_test(struct kunit *test)
{
	const struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	/* This generation was never mapped: for unmapped pages it isn't checked. */
	const struct engine_side aperture = {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.address = 3 * ENGINE_PAGE,
		.generation = 1234,
	};
	struct engine_fixture *fix = test->priv;
	u8 *dummy = fix->system + DUMMY * ENGINE_PAGE;
	u32 i;

	PAGODA_PROVES(C57, C58, C61);
	engine_add_valid(fix, MAP);
	engine_add_unmap(fix, 3, 4, DUMMY);
	engine_expect_done(test, fix);
	engine_expect_pages(test, fix, 3, 4, DUMMY, 0);
	/* All writes go to the dummy page and nowhere else; it keeps the last page's bytes. */
	engine_snapshot(fix);
	engine_add_transfer(fix, 4 * ENGINE_PAGE, &vram, &aperture);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_MEMEQ(test, dummy, fix->vram + 3 * ENGINE_PAGE, ENGINE_PAGE);
	memcpy(dummy, engine_before(fix, dummy), ENGINE_PAGE);
	engine_expect_unchanged(test, fix, "write through an unmapped range");
	/* All reads are from the dummy page. */
	engine_add_transfer(fix, 4 * ENGINE_PAGE, &aperture, &vram);
	engine_expect_done(test, fix);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_MEMEQ(test, dummy, fix->vram + i * ENGINE_PAGE, ENGINE_PAGE);
	/* Unmapping again has no effect, and pages that were never mapped can be unmapped. */
	engine_snapshot(fix);
	engine_add_unmap(fix, 3, 4, DUMMY);
	engine_expect_done(test, fix);
	engine_expect_unchanged(test, fix, "unmapped twice");
	engine_add_unmap(fix, 0, ENGINE_PAGES, DUMMY);
	engine_expect_done(test, fix);
	engine_expect_pages(test, fix, 0, ENGINE_PAGES, DUMMY, 0);
}

/*
 * An access to the aperture with another generation than that of the mapping faults; an access with
 * generation 0 doesn't.
 */
static void engine_generation_test(struct kunit *test)
{
	struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	struct engine_side aperture = {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.address = 3 * ENGINE_PAGE,
		.generation = 7,
	};
	struct engine_fixture *fix = test->priv;

	engine_add_transfer(fix, 4, &vram, &aperture);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNREACHABLE, "never mapped");
	engine_add_valid(fix, MAP);
	engine_expect_done(test, fix);
	engine_transfer_one(test, fix, &vram, &aperture, 4 * ENGINE_PAGE);
	/* A page in the middle is mapped anew, as if for another allocation. */
	engine_add_map(fix, MAP, 0, 5, 1, 40, 8, true);
	engine_expect_done(test, fix);
	engine_add_transfer(fix, 4 * ENGINE_PAGE, &vram, &aperture);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_STALE_GENERATION, "write");
	engine_add_transfer(fix, 4 * ENGINE_PAGE, &aperture, &vram);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_STALE_GENERATION, "read");
	engine_transfer_one(test, fix, &vram, &aperture, 2 * ENGINE_PAGE);
	aperture.generation = 0;
	engine_transfer_one(test, fix, &vram, &aperture, 4 * ENGINE_PAGE);
	aperture.generation = VIRTIO_PAGODA_MAX_GENERATION + 1;
	engine_add_transfer(fix, 4, &vram, &aperture);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_STALE_GENERATION, "too large");
}

/* A thread that executes buffers as a second queue. */
struct engine_worker {
	struct kunit *test;
	struct engine_fixture *fix;	/* of the test: engine and memory */
	struct engine_fixture *mine;	/* for building packets only */
	u32 runs;	/* number of buffers that were executed */
	u32 errors;	/* number of @runs that failed or wrote wrong bytes */
	bool signal;	/* signals a fence rather than copies through the aperture */
};

static void engine_worker_copy(struct engine_worker *worker, struct engine_fixture *mine)
{
	const struct engine_side vram = { .segment = VIRTIO_PAGODA_SEGMENT_VRAM };
	const struct engine_side aperture = {
		.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
		.address = 10 * ENGINE_PAGE,
		.generation = 6,
	};
	struct engine_fixture *fix = worker->fix;
	struct pagoda_engine_run run;

	memset(fix->vram, worker->runs, 4 * ENGINE_PAGE);
	engine_add_transfer(mine, 4 * ENGINE_PAGE, &vram, &aperture);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, 3, worker->runs);
	run.buffer = mine->buffer;
	run.size = mine->size;
	mine->size = 0;
	if (pagoda_engine_execute(&fix->engine, &run) != PAGODA_ENGINE_DONE ||
	    memchr_inv(fix->system + 20 * ENGINE_PAGE, worker->runs & 0xff, 4 * ENGINE_PAGE))
		worker->errors++;
}

static void engine_worker_signal(struct engine_worker *worker, struct engine_fixture *mine)
{
	struct pagoda_engine_run run;

	engine_add_signal(mine, VIRTIO_PAGODA_SEGMENT_VRAM, 0, worker->runs % 2 ? ~0ull : 0, 0);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, 3, worker->runs);
	run.buffer = mine->buffer;
	run.size = mine->size;
	mine->size = 0;
	if (pagoda_engine_execute(&worker->fix->engine, &run) != PAGODA_ENGINE_DONE)
		worker->errors++;
}

static int engine_worker_thread(void *data)
{
	struct engine_worker *worker = data;

	while (!kthread_should_stop()) {
		if (worker->signal)
			engine_worker_signal(worker, worker->mine);
		else
			engine_worker_copy(worker, worker->mine);
		WRITE_ONCE(worker->runs, worker->runs + 1);
		cond_resched();
	}
	return 0;
}

static void engine_worker_start(struct kunit *test, struct engine_worker *worker,
				struct task_struct **task)
{
	/* engine_execute() can't tell which pages were written by its run if two queues run. */
	worker->fix->marks = NULL;
	worker->mine = test_zalloc(test, sizeof(*worker->mine));
	worker->mine->buffer = worker->fix->buffer + ENGINE_BUFFER / 2;
	*task = kthread_run(engine_worker_thread, worker, "pagoda-engine-test");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, *task);
}

static void engine_worker_stop(struct kunit *test, struct engine_worker *worker,
			       struct task_struct *task)
{
	while (READ_ONCE(worker->runs) < 20)
		cond_resched();
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, worker->errors, 0);
	kunit_info(test, "%u buffers on the other queue\n", worker->runs);
}

/*
 * A queue uses a range of the aperture while the pages on both sides are mapped and unmapped: no
 * copy fails.
 */
static void engine_concurrent_map_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct engine_worker worker = { .test = test, .fix = fix };
	struct task_struct *task;
	u32 i;

	PAGODA_PROVES(C53, C54);
	engine_add_map(fix, MAP, 0, 10, 4, 20, 6, false);
	engine_expect_done(test, fix);
	engine_worker_start(test, &worker, &task);
	for (i = 0; i < 5000; i++) {
		engine_add_map(fix, MAP, 0, 6, 4, 30, 7, i % 2);
		engine_add_map(fix, MAP2, 0, 14, 4, 34, 8, i % 2);
		engine_add_unmap(fix, 6, 4, DUMMY);
		engine_add_unmap(fix, 14, 4, DUMMY);
		engine_expect_done(test, fix);
		cond_resched();
	}
	engine_worker_stop(test, &worker, task);
	engine_expect_pages(test, fix, 10, 4, 20, 6);
}

/* A fence's value is stored as a whole: a reader never sees half of it. */
static void engine_concurrent_signal_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct engine_worker worker = { .test = test, .fix = fix, .signal = true };
	struct task_struct *task;
	u32 i, torn = 0;

	memset(fix->vram, 0, 8);
	engine_worker_start(test, &worker, &task);
	for (i = 0; i < 200000; i++) {
		u64 seen = READ_ONCE(*(u64 *)fix->vram);

		torn += seen && seen != ~0ull;
		if (i % 64 == 0)
			cond_resched();
	}
	engine_worker_stop(test, &worker, task);
	KUNIT_EXPECT_EQ(test, torn, 0);
}

/*
 * Random noise in valid packets never makes the engine write outside of its memory, and each fault
 * that the engine reports is well formed.
 */
static void engine_hostile_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 seed = get_random_u64();
	struct pagoda_engine_run run;
	struct rnd_state random;
	u32 round, i, bad = 0;

	kunit_info(test, "seed %#llx\n", seed);
	prandom_seed_state(&random, seed);
	for (round = 0; round < 30000; round++) {
		u32 noise = prandom_u32_state(&random) % 4;

		for (i = 0; i < 1 + round % 5; i++)
			engine_add_valid(fix, 1 + prandom_u32_state(&random) % 23);
		if (noise == 3)
			prandom_bytes_state(&random, fix->buffer, fix->size);
		for (i = 0; i < noise; i++)
			fix->buffer[prandom_u32_state(&random) % fix->size] =
				prandom_u32_state(&random);
		fix->span_limit = round % 4;
		if (engine_run(fix, &run, prandom_u32_state(&random) % 2,
			       round % 3 ? 0 : prandom_u32_state(&random)) == PAGODA_ENGINE_DONE)
			continue;
		bad++;
		KUNIT_ASSERT_NE(test, run.fault.reason, VIRTIO_PAGODA_FAULT_NONE);
		KUNIT_ASSERT_LT(test, run.fault.reason, VIRTIO_PAGODA_FAULT_COUNT);
		KUNIT_ASSERT_EQ(test, run.fault.offset, run.offset);
		KUNIT_ASSERT_LE(test, run.offset, run.size);
		cond_resched();
	}
	engine_expect_guards(test, fix, "hostile");
	KUNIT_EXPECT_GT(test, bad, 1000);
	KUNIT_EXPECT_LT(test, bad, 30000);
}

/* pagoda_engine_init() refuses bad sizes; a reset unmaps the aperture and clears features. */
static void engine_init_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine *engine = kunit_kmalloc(test, sizeof(*engine), GFP_KERNEL);
	const struct pagoda_engine_range outside = { .start = ENGINE_BYTES, .size = ENGINE_PAGE };

	KUNIT_ASSERT_NOT_NULL(test, engine);
	*engine = fix->engine;
	KUNIT_EXPECT_TRUE(test, pagoda_engine_init(engine));
	engine->vram_size--;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	*engine = fix->engine;
	engine->aperture_pages = 0;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	*engine = fix->engine;
	engine->system_bits = 53;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	engine->system_bits = 31;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	*engine = fix->engine;
	engine->max_runs = 1;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	*engine = fix->engine;
	engine->invalid = &outside;
	KUNIT_EXPECT_FALSE(test, pagoda_engine_init(engine));
	/* After a reset no page of the aperture is mapped and no feature is negotiated. */
	engine_add_valid(fix, MAP);
	engine_expect_done(test, fix);
	pagoda_engine_reset(&fix->engine);
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->engine.aperture, 0, ENGINE_PAGES * sizeof(u64)));
	engine_add_valid(fix, MAP);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_UNSUPPORTED, "after reset");
	engine_expect_guards(test, fix, "reset");
}

static struct kunit_case engine_memory_cases[] = {
	KUNIT_CASE(engine_transfer_test),
	KUNIT_CASE(engine_transfer_run_test),
	KUNIT_CASE(engine_overlap_test),
	KUNIT_CASE(engine_map_test),
	KUNIT_CASE(engine_map_forms_test),
	KUNIT_CASE(engine_dummy_test),
	KUNIT_CASE(engine_generation_test),
	KUNIT_CASE(engine_concurrent_map_test),
	KUNIT_CASE(engine_concurrent_signal_test),
	KUNIT_CASE(engine_hostile_test),
	KUNIT_CASE(engine_init_test),
	{}
};

static struct kunit_suite engine_memory_suite = {
	.name = "pagoda_engine_memory",
	.init = engine_suite_init,
	.test_cases = engine_memory_cases,
};

kunit_test_suite(engine_memory_suite);
