// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the GPU's TLBs: a cached translation, or a cached invalid entry, is used until FLUSH_TLB
 * or a new root drops it, and not after that; each queue has a TLB of its own.
 */
#include <linux/kthread.h>
#include <linux/sched.h>
#include "engine_mmu_helpers.h"

#define VRAM	VIRTIO_PAGODA_SEGMENT_VRAM
#define A	0x10000ull	/* A, B and C: offsets of pages in VRAM */
#define B	0x20000ull
#define C	0x30000ull

static void tlb_flush(struct kunit *test, struct engine_fixture *fix, u32 space, u64 start, u64 end)
{
	engine_add_flush(fix, space, start, end);
	engine_expect_done(test, fix);
}

static void tlb_map(struct engine_fixture *fix, u64 va, u64 size, u64 address)
{
	mmu_map(fix, 0, va, size, mmu_entry(VRAM, address, 0));
}

static bool tlb_reaches(struct engine_fixture *fix, u64 va, u64 address)
{
	return mmu_reach(fix, 0, 0, va) == fix->vram + address;
}

/*
 * A remapped address, in a page of any size, leads to the old page until the flush, and to the new
 * page after it.
 */
static void tlb_remap_test(struct kunit *test)
{
	static const u64 sizes[] = { SZ_4K, SZ_64K, SZ_2M };
	struct engine_fixture *fix = test->priv;
	u64 va, old, new;
	u32 shape, i;

	PAGODA_PROVES(C103);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		mmu_shape_set(test, fix, &mmu_shapes[shape]);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			va = fix->shape->va + i * SZ_2M;
			old = sizes[i];
			new = sizes[i] == SZ_2M ? 0 : 2 * sizes[i];
			tlb_map(fix, va, sizes[i], old);
			KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, old));
			tlb_map(fix, va, sizes[i], new);
			KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va + sizes[i] - 1,
							    old + sizes[i] - 1));
			tlb_flush(test, fix, 0, va, va + sizes[i]);
			KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, new));
		}
	}
}

/*
 * A VIRTUAL_FILL of a remapped address writes the old page without a flush, and the new page after
 * a flush.
 */
static void tlb_stale_fill_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 flush;

	PAGODA_PROVES(C103);
	for (flush = 0; flush < 2; flush++) {
		mmu_shape_set(test, fix, fix->shape);
		memset(fix->vram + A, 0, MMU_PAGE);
		memset(fix->vram + B, 0, MMU_PAGE);
		tlb_map(fix, va, SZ_4K, A);
		engine_add_virtual_fill(fix, va, MMU_PAGE, 0x11111111);
		engine_expect_done(test, fix);
		tlb_map(fix, va, SZ_4K, B);
		if (flush)
			engine_add_flush(fix, 0, va, va);
		engine_add_virtual_fill(fix, va, MMU_PAGE, 0x22222222);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + A, flush ? 0x11 : 0x22, MMU_PAGE));
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + B, flush ? 0x22 : 0, MMU_PAGE));
	}
}

/*
 * Maps four pages of 4 KiB and one of 2 MiB in space 0, and a page of 4 KiB in space 1, has the TLB
 * cache their translations, and maps other memory at these addresses, without a flush.
 */
static void tlb_prepare(struct kunit *test, struct engine_fixture *fix)
{
	u64 va = fix->shape->va;
	u32 i;

	mmu_shape_set(test, fix, fix->shape);
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, A, 0));
	mmu_reach(fix, 0, 1, va);
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, B, 0));
	for (i = 0; i < 4; i++) {
		tlb_map(fix, va + i * MMU_PAGE, SZ_4K, A);
		mmu_reach(fix, 0, 0, va + i * MMU_PAGE);
		tlb_map(fix, va + i * MMU_PAGE, SZ_4K, B);
	}
	tlb_map(fix, va + SZ_2M, SZ_2M, 0);
	mmu_reach(fix, 0, 0, va + SZ_2M);
	tlb_map(fix, va + SZ_2M, SZ_2M, SZ_2M);
}

/*
 * Returns which pages of tlb_prepare() in space 0 were flushed: bits 0 to 3 for the 4 KiB pages,
 * bit 4 for the 2 MiB page. Expects that the page in space 1 wasn't flushed.
 */
static u32 tlb_flushed(struct kunit *test, struct engine_fixture *fix)
{
	u64 va = fix->shape->va;
	u32 i, flushed = 0;

	for (i = 0; i < 4; i++) {
		if (tlb_reaches(fix, va + i * MMU_PAGE, B))
			flushed |= 1 << i;
		else
			KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va + i * MMU_PAGE, A));
	}
	flushed |= tlb_reaches(fix, va + SZ_2M, SZ_2M) << 4;
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va), fix->vram + A);
	return flushed;
}

/*
 * A flush drops the translations of all pages in its range, the page at the end included, and no
 * others.
 */
static void tlb_range_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	const struct {
		u64 start, end;
		u32 flushed;
	} ranges[] = {
		{ va, va, 0x1 },
		{ va + 0x1000, va + 0x1000, 0x2 },
		{ va + 0x1000, va + 0x2000, 0x6 },	/* includes the page at the end */
		{ va + 0x1fff, va + 0x2001, 0x6 },
		{ va + 0x4000, va + SZ_2M - 1, 0x0 },
		{ va + 0x3000, va + SZ_2M, 0x18 },
		{ va + SZ_2M + SZ_1M, va + SZ_2M + SZ_1M, 0x10 },
		{ va + 2 * SZ_2M, 1ull << 47, 0x0 },
		{ 0, va - 1, 0x0 },
		{ 0, va, 0x1 },
		{ 0, 1ull << 47, 0x1f },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		tlb_prepare(test, fix);
		tlb_flush(test, fix, 0, ranges[i].start, ranges[i].end);
		KUNIT_EXPECT_EQ_MSG(test, tlb_flushed(test, fix), ranges[i].flushed, "%#llx-%#llx",
				    ranges[i].start, ranges[i].end);
	}
}

/* A flush with start = end = 0 drops all translations of its space, and none of another space. */
static void tlb_whole_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;

	PAGODA_PROVES(C104);
	tlb_prepare(test, fix);
	KUNIT_EXPECT_EQ(test, tlb_flushed(test, fix), 0);
	/* tlb_flushed() checks that the other space keeps its translation. */
	tlb_flush(test, fix, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, tlb_flushed(test, fix), 0x1f);
}

/* An invalid entry is cached, at any level, unless the device has INVALID_NOT_CACHED. */
static void tlb_invalid_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 level;

	PAGODA_PROVES(C106);
	for (level = 0; level < fix->shape->levels; level++) {
		/* Until the flush the cached invalid entry is used. */
		mmu_shape_set(test, fix, fix->shape);
		mmu_word(fix, 0, va, level, false);
		KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va));
		tlb_map(fix, va, SZ_4K, A);
		KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va));
		tlb_flush(test, fix, 0, va, va);
		KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, A));
		/* With INVALID_NOT_CACHED an invalid entry isn't cached. */
		mmu_shape_set(test, fix, fix->shape);
		fix->engine.features |= BIT_ULL(VIRTIO_PAGODA_F_INVALID_NOT_CACHED);
		mmu_word(fix, 0, va, level, false);
		KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va));
		tlb_map(fix, va, SZ_4K, A);
		KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, A));
		/* With INVALID_NOT_CACHED a valid entry is cached all the same. */
		tlb_map(fix, va, SZ_4K, B);
		KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, A));
	}
}

/*
 * Each queue has a TLB of its own, and one flush is for the TLBs of all queues. A queue without a
 * TLB needs no flush.
 */
static void tlb_queues_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 i;

	tlb_map(fix, va, SZ_4K, A);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + A);
	tlb_map(fix, va, SZ_4K, B);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 2, 0, va), fix->vram + B);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + A);
	tlb_map(fix, va, SZ_4K, C);
	tlb_flush(test, fix, 0, va, va);
	for (i = 0; i < ENGINE_TLBS; i++)
		KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, i, 0, va), fix->vram + C);
	/* A queue without a TLB sees every change. */
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, ENGINE_TLBS, 0, va), fix->vram + C);
	tlb_map(fix, va, SZ_4K, A);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, ENGINE_TLBS, 0, va), fix->vram + A);
}

/*
 * A new root, or the removal of a root, drops the translations of its space, and none of another
 * space.
 */
static void tlb_root_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_engine_space other;
	u64 va = fix->shape->va;

	tlb_map(fix, va, SZ_4K, A);
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, C, 0));
	mmu_map(fix, 2, va, SZ_4K, mmu_entry(VRAM, B, 0));
	other = fix->spaces[2];
	KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, A));
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va), fix->vram + C);
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, A, 0));
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, other.segment, other.address,
						     other.entries), 0);
	KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, B));
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va), fix->vram + C);
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, 0, 0, 0), 0);
	KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va));
}

/* A flush with a bad space, root or range is refused and drops no translation. */
static void tlb_refused_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct virtio_pagoda_flush_tlb *flush;
	u64 va = fix->shape->va;

	tlb_map(fix, va, SZ_4K, A);
	mmu_reach(fix, 0, 0, va);
	tlb_map(fix, va, SZ_4K, B);
	flush = engine_add_flush(fix, 0, 0, 0);
	flush->root_address = cpu_to_le64(le64_to_cpu(flush->root_address) + MMU_PAGE);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, "other root");
	flush = engine_add_flush(fix, 0, 0, 0);
	flush->root_segment = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_SYSTEM);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, "other segment");
	flush = engine_add_flush(fix, 0, 0, 0);
	flush->address_space = cpu_to_le32(ENGINE_SPACES);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, "no such space");
	engine_add_flush(fix, 0, va + 1, va);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "backwards");
	engine_add_flush(fix, 0, va, (1ull << 47) + 1);
	engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "too far");
	KUNIT_EXPECT_TRUE(test, tlb_reaches(fix, va, A));
	/*
	 * A space without a root has no translations: its flush succeeds, whatever root the packet
	 * names.
	 */
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 1, 0, 0, 0), 0);
	flush = engine_add_flush(fix, 1, 0, 0);
	flush->root_address = cpu_to_le64(MMU_PAGE);
	engine_expect_done(test, fix);
}

/*
 * With twice as many pages as a TLB has entries, each page leads to its memory, and more than half
 * of the entries are in use in the end.
 */
static void tlb_many_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 i, stale = 0;

	for (i = 0; i < 2048; i++) {
		tlb_map(fix, va + i * MMU_PAGE, SZ_4K, i % 1024 * MMU_PAGE);
		KUNIT_ASSERT_TRUE(test, tlb_reaches(fix, va + i * MMU_PAGE, i % 1024 * MMU_PAGE));
	}
	for (i = 0; i < 2048; i++)
		KUNIT_ASSERT_TRUE(test, tlb_reaches(fix, va + i * MMU_PAGE, i % 1024 * MMU_PAGE));
	for (i = 2048; i--;) {
		tlb_map(fix, va + i * MMU_PAGE, SZ_4K, SZ_4M);
		stale += !tlb_reaches(fix, va + i * MMU_PAGE, SZ_4M);
	}
	KUNIT_EXPECT_LE(test, stale, PAGODA_ENGINE_TLB_ENTRIES);
	KUNIT_EXPECT_GT(test, stale, PAGODA_ENGINE_TLB_ENTRIES / 2);
}

/*
 * A thread that executes a buffer again and again, as a queue with TLB 1, and counts its runs and
 * errors.
 */
struct tlb_worker {
	struct engine_fixture *fix;
	struct task_struct *task;
	void *buffer;
	u32 size;
	u32 runs;
	u32 errors;
};

static int tlb_worker_thread(void *data)
{
	struct tlb_worker *worker = data;
	struct pagoda_engine_run run;

	while (!kthread_should_stop()) {
		pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING,
				       VIRTIO_PAGODA_QUEUE_PAGING, 1);
		run.tlb = 1;
		run.buffer = worker->buffer;
		run.size = worker->size;
		if (pagoda_engine_execute(&worker->fix->engine, &run) != PAGODA_ENGINE_DONE)
			worker->errors++;
		WRITE_ONCE(worker->runs, worker->runs + 1);
		cond_resched();
	}
	return 0;
}

static void tlb_worker_start(struct kunit *test, struct engine_fixture *fix,
			     struct tlb_worker *worker)
{
	worker->fix = fix;
	worker->size = fix->size;
	worker->buffer = test_zalloc(test, fix->size);
	memcpy(worker->buffer, fix->buffer, fix->size);
	fix->size = 0;
	worker->task = kthread_run(tlb_worker_thread, worker, "pagoda-tlb-test");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, worker->task);
}

/*
 * After a flush another queue, which fills the flushed address all the time, doesn't write to the
 * old page any more.
 */
static void tlb_concurrent_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va, pages[] = { A, B };
	struct tlb_worker worker = {};
	u32 i, runs, written = 0;

	PAGODA_PROVES(C103);
	tlb_map(fix, va, SZ_64K, A);
	engine_add_virtual_fill(fix, va, SZ_64K, 0x5a5a5a5a);
	tlb_worker_start(test, fix, &worker);
	for (i = 0; i < 300; i++) {
		tlb_map(fix, va, SZ_64K, pages[(i + 1) % 2]);
		tlb_flush(test, fix, 0, va, va);
		memset(fix->vram + pages[i % 2], 0, SZ_64K);
		/* The first of two runs may have begun before the flush, the second didn't. */
		runs = READ_ONCE(worker.runs);
		while (READ_ONCE(worker.runs) < runs + 2)
			cond_resched();
		KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + pages[i % 2], 0, SZ_64K));
		written += fix->vram[pages[(i + 1) % 2]] == 0x5a;
	}
	kthread_stop(worker.task);
	KUNIT_EXPECT_EQ(test, worker.errors, 0);
	KUNIT_EXPECT_EQ(test, written, 300);
}

static struct kunit_case tlb_cases[] = {
	KUNIT_CASE(tlb_remap_test),
	KUNIT_CASE(tlb_stale_fill_test),
	KUNIT_CASE(tlb_range_test),
	KUNIT_CASE(tlb_whole_test),
	KUNIT_CASE(tlb_invalid_test),
	KUNIT_CASE(tlb_queues_test),
	KUNIT_CASE(tlb_root_test),
	KUNIT_CASE(tlb_refused_test),
	KUNIT_CASE(tlb_many_test),
	KUNIT_CASE(tlb_concurrent_test),
	{}
};

static struct kunit_suite tlb_suite = {
	.name = "pagoda_engine_tlb",
	.init = mmu_suite_init,
	.test_cases = tlb_cases,
};

kunit_test_suite(tlb_suite);
