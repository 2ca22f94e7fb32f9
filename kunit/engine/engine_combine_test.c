// SPDX-License-Identifier: GPL-2.0
/*
 * The write combiner: which writes of a queue it holds back from memory, after which events all of
 * these writes are in memory, and that nothing is written to their pages later.
 */
#include <linux/kthread.h>
#include <linux/random.h>
#include <linux/sched/task.h>
#include "vidmm/ttm/internal.h"
#include "engine_command_helpers.h"
#include "engine_helpers.h"

#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM		VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE
#define MAP		VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT
#define COMBINER	BIT_ULL(VIRTIO_PAGODA_F_WRITE_COMBINER)
#define LINE		PAGODA_ENGINE_LINE_BYTES

/* Pages: the source of copies, in VRAM; their target and the first other page, in system memory. */
#define SOURCE		2u
#define TARGET		4u
#define OTHER		30u
/* Page of the aperture that tests map to TARGET. */
#define WINDOW		3u

static struct engine_fixture *combine_fixture(struct kunit *test)
{
	struct engine_fixture *fix = engine_fixture_init(test);

	fix->engine.features |= COMBINER;
	fix->engine.aperture_snoops = test_vzalloc(test, ENGINE_PAGES);
	return fix;
}

static u8 *combine_source(struct engine_fixture *fix)
{
	return fix->vram + SOURCE * ENGINE_PAGE;
}

static u8 *combine_target(struct engine_fixture *fix)
{
	return fix->system + TARGET * ENGINE_PAGE;
}

static struct engine_side combine_window(void)
{
	return (struct engine_side) { .segment = APERTURE, .address = WINDOW * ENGINE_PAGE };
}

/* Fills the source with random bytes and appends a TRANSFER from the source to @dst. */
static void combine_add_copy(struct engine_fixture *fix, const struct engine_side *dst)
{
	const struct engine_side vram = { .segment = VRAM, .address = SOURCE * ENGINE_PAGE };

	get_random_bytes(combine_source(fix), ENGINE_PAGE);
	engine_add_transfer(fix, ENGINE_PAGE, &vram, dst);
}

static void combine_add_runs(struct engine_fixture *fix)
{
	static const u8 page = TARGET;

	combine_add_copy(fix, &(struct engine_side) { .nr_runs = 1, .pages = &page });
}

/* Returns whether all of the source is in the target. */
static bool combine_is_there(struct engine_fixture *fix)
{
	return !memcmp(combine_target(fix), combine_source(fix), ENGINE_PAGE);
}

/*
 * Returns whether the target has all of the source but the last line, in whose place the target
 * still has the content of the snapshot.
 */
static bool combine_is_late(struct engine_fixture *fix)
{
	size_t most = ENGINE_PAGE - LINE;

	return !memcmp(combine_target(fix), combine_source(fix), most) &&
	       !memcmp(combine_target(fix) + most,
		       engine_before(fix, combine_target(fix) + most), LINE);
}

/* Copies the source to the target; expects that only the last line stays in the combiner. */
static void combine_copy_late(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	combine_add_runs(fix);
	engine_snapshot(fix);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE_MSG(test, combine_is_late(fix), "%s", what);
	KUNIT_EXPECT_TRUE(test, pagoda_engine_holds_writes(&fix->engine, 0));
}

/* Expects that the copy is complete, and that later drains write nothing more to the target. */
static void combine_expect_over(struct kunit *test, struct engine_fixture *fix, const char *what)
{
	u32 i;

	KUNIT_EXPECT_TRUE_MSG(test, combine_is_there(fix), "%s", what);
	KUNIT_EXPECT_FALSE_MSG(test, pagoda_engine_holds_writes(&fix->engine, 0), "%s", what);
	/* The target's page gets another owner's content; the next copies use all lines. */
	get_random_bytes(combine_target(fix), ENGINE_PAGE);
	engine_snapshot(fix);
	for (i = 0; i < 2 * PAGODA_ENGINE_LINES; i++) {
		const u8 page = OTHER + i;
		const struct engine_side side = { .nr_runs = 1, .pages = &page };

		combine_add_copy(fix, &side);
	}
	engine_expect_done(test, fix);
	pagoda_engine_write_back(&fix->engine, 0);
	KUNIT_EXPECT_MEMEQ(test, combine_target(fix), engine_before(fix, combine_target(fix)),
			   ENGINE_PAGE);
}

static void combine_add_read(struct engine_fixture *fix)
{
	engine_add_physical(fix, VIRTIO_PAGODA_OP_READ_PHYSICAL, SYSTEM, engine_bus(OTHER), 8);
}

static void combine_add_write(struct engine_fixture *fix)
{
	engine_add_physical(fix, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, SYSTEM, engine_bus(OTHER), 1);
}

static void combine_add_signal(struct engine_fixture *fix)
{
	engine_add_signal(fix, SYSTEM, engine_bus(OTHER), 5, 0);
}

static void combine_add_map(struct engine_fixture *fix)
{
	engine_add_map(fix, MAP, 0, 9, 1, OTHER, 7, true);
}

static void combine_add_unmap(struct engine_fixture *fix)
{
	engine_add_unmap(fix, 9, 1, OTHER);
}

static void combine_add_flush(struct engine_fixture *fix)
{
	engine_add_flush(fix, 0, ENGINE_VA, ENGINE_VA + ENGINE_PAGE);
}

/*
 * READ_PHYSICAL, WRITE_PHYSICAL, SIGNAL_MONITORED_FENCE, the aperture's operations and FLUSH_TLB
 * bring the paging queue's writes that were held back to memory; a FILL of VRAM doesn't.
 */
static void combine_drains_test(struct kunit *test)
{
	static const struct {
		const char *what;
		void (*add)(struct engine_fixture *fix);
	} drains[] = {
		{ "READ_PHYSICAL", combine_add_read },
		{ "WRITE_PHYSICAL", combine_add_write },
		{ "SIGNAL_MONITORED_FENCE", combine_add_signal },
		{ "MAP_APERTURE_SEGMENT", combine_add_map },
		{ "UNMAP_APERTURE_SEGMENT", combine_add_unmap },
		{ "FLUSH_TLB", combine_add_flush },
	};
	struct engine_fixture *fix = combine_fixture(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(drains); i++) {
		combine_copy_late(test, fix, drains[i].what);
		/* A FILL of VRAM doesn't drain: the line stays in the combiner. */
		engine_add_fill(fix, 8 * ENGINE_PAGE, ENGINE_PAGE, 3);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_TRUE_MSG(test, combine_is_late(fix), "%s", drains[i].what);
		drains[i].add(fix);
		engine_expect_done(test, fix);
		PAGODA_PROVES(C51);
		combine_expect_over(test, fix, drains[i].what);
		engine_expect_guards(test, fix, drains[i].what);
	}
}

/*
 * Held writes are in memory after a request that is refused, fails or is stopped, and after
 * RESET_QUEUE and RESET_ADAPTER. A reset of the device drops held writes.
 */
static void combine_ends_test(struct kunit *test)
{
	struct engine_fixture *fix = combine_fixture(test);
	struct pagoda_engine_run run;

	combine_add_runs(fix);
	engine_packet(fix, VIRTIO_PAGODA_OP_COUNT, 16);
	KUNIT_EXPECT_EQ(test, engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0),
			PAGODA_ENGINE_FAULT);
	combine_expect_over(test, fix, "refused");

	combine_copy_late(test, fix, "before a failure");
	engine_add_fill(fix, 8 * ENGINE_PAGE, ENGINE_PAGE, 3);
	engine_expect_failure(test, fix, false);
	combine_expect_over(test, fix, "failed");

	combine_add_runs(fix);
	combine_add_read(fix);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_PAGING, 1, 1);
	run.buffer = fix->buffer;
	run.size = fix->size;
	run.stop_at = 1;
	fix->size = 0;
	KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run), PAGODA_ENGINE_STOPPED);
	combine_expect_over(test, fix, "stopped");

	combine_copy_late(test, fix, "before RESET_QUEUE");
	pagoda_engine_write_back(&fix->engine, 0);
	combine_expect_over(test, fix, "RESET_QUEUE");

	combine_copy_late(test, fix, "before RESET_ADAPTER");
	pagoda_engine_reset_adapter(&fix->engine, PAGODA_ENGINE_VRAM_KEEP);
	combine_expect_over(test, fix, "RESET_ADAPTER");

	/* After a reset of the device nothing is written: its driver may be gone. */
	combine_copy_late(test, fix, "before a reset");
	pagoda_engine_reset(&fix->engine);
	KUNIT_EXPECT_FALSE(test, pagoda_engine_holds_writes(&fix->engine, 0));
	pagoda_engine_write_back(&fix->engine, 0);
	KUNIT_EXPECT_TRUE(test, combine_is_late(fix));
}

static int combine_write_back_run(void *data)
{
	struct engine_fixture *fix = data;

	pagoda_engine_write_back(&fix->engine, 0);
	return 0;
}

/* While a thread changes translations, pagoda_engine_write_back() waits and writes nothing. */
static void combine_write_back_test(struct kunit *test)
{
	struct engine_fixture *fix = combine_fixture(test);
	struct task_struct *task;

	task = kthread_create(combine_write_back_run, fix, "pagoda-combine");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	get_task_struct(task);
	combine_copy_late(test, fix, "before a change of translations");
	pagoda_shim_write_lock(&fix->engine.translation);
	wake_up_process(task);
	while (task_is_running(task))
		cond_resched();
	KUNIT_EXPECT_TRUE(test, combine_is_late(fix));
	KUNIT_EXPECT_TRUE(test, pagoda_engine_holds_writes(&fix->engine, 0));
	pagoda_shim_write_unlock(&fix->engine.translation);
	KUNIT_EXPECT_EQ(test, 0, kthread_stop(task));
	put_task_struct(task);
	combine_expect_over(test, fix, "after a change of translations");
}

/*
 * Through a page of the aperture that is mapped as coherent, queue and CPU see each other's bytes
 * at once. Through another page the last line of the queue's copy is held back: the queue's next
 * read of this line first brings it to memory, over bytes that the CPU wrote since the copy.
 */
static void combine_aperture_test(struct kunit *test)
{
	static const u16 opcodes[] = { MAP, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2 };
	const struct engine_side back = { .segment = VRAM, .address = 9 * ENGINE_PAGE };
	const struct engine_side window = combine_window();
	struct engine_fixture *fix = combine_fixture(test);
	u8 *last = combine_target(fix) + ENGINE_PAGE - LINE, *seen = fix->vram + 9 * ENGINE_PAGE;
	u32 i, byte;

	for (i = 0; i < 4; i++) {
		bool coherent = i & 1;

		engine_add_map(fix, opcodes[i / 2], coherent ? VIRTIO_PAGODA_MAP_CACHE_COHERENT : 0,
			       WINDOW, 1, TARGET, 20 + i, true);
		combine_add_copy(fix, &window);
		/* Each byte of the target's last line differs from the source: a write shows. */
		for (byte = 0; byte < LINE; byte++)
			last[byte] = ~combine_source(fix)[ENGINE_PAGE - LINE + byte];
		engine_snapshot(fix);
		engine_expect_done(test, fix);
		PAGODA_PROVES(C55);
		KUNIT_EXPECT_EQ(test, combine_is_there(fix), coherent);
		KUNIT_EXPECT_EQ(test, combine_is_late(fix), !coherent);
		KUNIT_EXPECT_EQ(test, pagoda_engine_holds_writes(&fix->engine, 0), !coherent);
		/*
		 * After the copy the CPU writes the last line, without a flush; then the GPU reads
		 * it.
		 */
		memset(last, 0x11 + i, LINE);
		engine_add_transfer(fix, ENGINE_PAGE, &window, &back);
		engine_expect_done(test, fix);
		KUNIT_EXPECT_EQ(test, !memcmp(seen, combine_target(fix), ENGINE_PAGE), true);
		KUNIT_EXPECT_EQ(test, !memchr_inv(seen + ENGINE_PAGE - LINE, 0x11 + i, LINE),
				coherent);
		KUNIT_EXPECT_EQ(test, !memcmp(seen, combine_source(fix), ENGINE_PAGE), !coherent);
		engine_add_unmap(fix, WINDOW, 1, OTHER);
		engine_expect_done(test, fix);
	}
}

/*
 * One packet copies to two neighbouring pages of the aperture, of which only the first is coherent:
 * only the last line of the second page is held back.
 */
static void combine_mixed_test(struct kunit *test)
{
	const struct engine_side vram = { .segment = VRAM, .address = SOURCE * ENGINE_PAGE };
	const struct engine_side window = combine_window();
	struct engine_fixture *fix = combine_fixture(test);
	u8 *end = combine_target(fix) + ENGINE_PAGE;

	engine_add_map(fix, MAP, VIRTIO_PAGODA_MAP_CACHE_COHERENT, WINDOW, 1, TARGET, 5, true);
	engine_add_map(fix, MAP, 0, WINDOW + 1, 1, TARGET + 1, 5, true);
	engine_add_transfer(fix, 2 * ENGINE_PAGE, &vram, &window);
	engine_snapshot(fix);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, combine_is_there(fix));
	KUNIT_EXPECT_MEMEQ(test, end, combine_source(fix) + ENGINE_PAGE, ENGINE_PAGE - LINE);
	KUNIT_EXPECT_MEMEQ(test, end + ENGINE_PAGE - LINE,
			   engine_before(fix, end + ENGINE_PAGE - LINE), LINE);
	combine_add_read(fix);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_MEMEQ(test, combine_target(fix), combine_source(fix), 2 * ENGINE_PAGE);
}

/*
 * The coherent flag of the page-table entry decides whether the last line of a virtual transfer or
 * fill to system memory is held back, for sizes from 4 bytes to more than a page.
 */
static void combine_virtual_test(struct kunit *test)
{
	static const u32 sizes[] = { 4, LINE - 4, LINE, LINE + 4, 3 * LINE, 2 * 4096 - 8 };
	struct engine_fixture *fix = combine_fixture(test);
	__le64 *leaf = (void *)(fix->system + (ENGINE_ROOT + 2) * ENGINE_PAGE);
	u64 va = ENGINE_VA_SYSTEM + TARGET * ENGINE_PAGE + 20;
	u8 *target = combine_target(fix) + 20;
	u32 i, page;

	for (i = 0; i < 4 * ARRAY_SIZE(sizes); i++) {
		u32 size = sizes[i / 4];
		bool coherent = i & 1, fill = i & 2;

		for (page = TARGET; page < TARGET + 3; page++)
			leaf[ENGINE_PAGES + page] =
				cpu_to_le64(engine_bus(page) | VIRTIO_PAGODA_PTE_VALID |
					    (coherent ? VIRTIO_PAGODA_PTE_COHERENT : 0));
		engine_add_flush(fix, 0, 0, 0);
		get_random_bytes(combine_source(fix), 2 * ENGINE_PAGE);
		if (fill)
			engine_add_virtual_fill(fix, va, size, 0x01020300 + i);
		else
			engine_add_virtual(fix, ENGINE_VA + SOURCE * ENGINE_PAGE, va, size,
					   VIRTIO_PAGODA_LOCAL_TO_SYSTEM, 0);
		engine_snapshot(fix);
		engine_expect_done(test, fix);
		PAGODA_PROVES(C97);
		KUNIT_EXPECT_EQ(test, pagoda_engine_holds_writes(&fix->engine, 0), !coherent);
		/* The last word is in the last line, which is held back unless coherent. */
		KUNIT_EXPECT_EQ_MSG(test, !memcmp(target + size - 4,
						  engine_before(fix, target + size - 4), 4),
				    !coherent, "%u bytes", size);
		combine_add_read(fix);
		engine_expect_done(test, fix);
		if (fill)
			memset32((u32 *)combine_source(fix), 0x01020300 + i, size / 4);
		KUNIT_EXPECT_MEMEQ(test, target, combine_source(fix), size);
		KUNIT_EXPECT_MEMEQ(test, target + size, engine_before(fix, target + size), LINE);
	}
}

/*
 * No write is held back if packets are executed by an execution queue, or if the feature isn't
 * negotiated.
 */
static void combine_not_test(struct kunit *test)
{
	struct engine_fixture *fix = combine_fixture(test);
	struct pagoda_engine_run run;

	combine_add_runs(fix);
	pagoda_engine_run_init(&run, PAGODA_ENGINE_QUEUE_EXEC, VIRTIO_PAGODA_QUEUE_EXEC0, 1);
	run.buffer = fix->buffer;
	run.size = fix->size;
	fix->size = 0;
	KUNIT_EXPECT_EQ(test, pagoda_engine_execute(&fix->engine, &run), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_TRUE(test, combine_is_there(fix));
	fix->engine.features &= ~COMBINER;
	combine_add_runs(fix);
	engine_expect_done(test, fix);
	KUNIT_EXPECT_TRUE(test, combine_is_there(fix));
	KUNIT_EXPECT_FALSE(test, pagoda_engine_holds_writes(&fix->engine, 0));
}

/* ---- Jobs ------------------------------------------------------------------- */

/* Executes the code as a job without VIRTIO_PAGODA_EXECUTE_DRAIN. */
static enum pagoda_engine_outcome combine_job(struct command_fixture *fix)
{
	command_request(fix);
	fix->request.execute.flags = 0;
	return command_execute(fix);
}

static u64 combine_word(struct command_fixture *fix, u64 va)
{
	return le64_to_cpu(READ_ONCE(*(__le64 *)command_memory(fix, va)));
}

/*
 * Executes a job that stores @value and then @value + 1 at @va. Expects that memory has changed,
 * but isn't @value + 1 yet, when the job has ended.
 */
static void combine_store_late(struct command_fixture *fix, u64 va, u64 value, const char *what)
{
	u64 before = combine_word(fix, va);

	command_store(fix, va, value, VIRTIO_PAGODA_COMMAND_WIDE);
	/* The engine sees its own store: to read the value, it brings the store to memory. */
	command_compare(fix, va, value, ~0ull, VIRTIO_PAGODA_COMMAND_WIDE);
	command_store(fix, va, value + 1, VIRTIO_PAGODA_COMMAND_WIDE);
	KUNIT_EXPECT_EQ_MSG(fix->test, combine_job(fix), PAGODA_ENGINE_DONE, "%s", what);
	KUNIT_EXPECT_NE_MSG(fix->test, combine_word(fix, va), value + 1, "%s", what);
	KUNIT_EXPECT_NE_MSG(fix->test, combine_word(fix, va), before, "%s", what);
}

static void combine_expect_word(struct command_fixture *fix, u64 va, u64 value, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(fix->test, combine_word(fix, va), value, "%s", what);
	KUNIT_EXPECT_FALSE_MSG(fix->test, pagoda_engine_holds_writes(&fix->mmu->engine, 1), "%s",
			       what);
}

/*
 * The coherent flag of the page-table entry decides whether a store is in memory when its job has
 * ended, unless the job has VIRTIO_PAGODA_EXECUTE_DRAIN: then the store is.
 */
static void combine_entry_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_SYSTEM;
	u32 i;

	for (i = 0; i < MMU_SHAPES; i++) {
		command_shape_set(fix, &mmu_shapes[i]);
		va = fix->va + COMMAND_AT_SYSTEM;
		command_map(fix, va + MMU_PAGE, SZ_4K,
			    mmu_entry(SYSTEM, ENGINE_BUS + 40 * MMU_PAGE,
				      VIRTIO_PAGODA_PTE_COHERENT));
		command_store(fix, va + MMU_PAGE, 5 + i, VIRTIO_PAGODA_COMMAND_WIDE);
		KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
		PAGODA_PROVES(C97);
		combine_expect_word(fix, va + MMU_PAGE, 5 + i, "coherent");
		combine_store_late(fix, va, 0x10000 + 2 * i, "not coherent");
		command_request(fix);
		KUNIT_EXPECT_EQ(test, command_execute(fix), PAGODA_ENGINE_DONE);
		combine_expect_word(fix, va, 0x10001 + 2 * i, "a job that drains");
	}
}

/*
 * If the page-table entry isn't coherent, the coherent flag of the aperture's page decides whether
 * a store is in memory when its job has ended.
 */
static void combine_entry_aperture_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_APERTURE;

	combine_store_late(fix, va, 7, "neither is coherent");
	pagoda_engine_write_back(&fix->mmu->engine, 1);
	combine_expect_word(fix, va, 8, "written back");
	fix->mmu->engine.aperture_snoops[0] = true;
	command_store(fix, va, 9, VIRTIO_PAGODA_COMMAND_WIDE);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	PAGODA_PROVES(C55);
	combine_expect_word(fix, va, 9, "the page is coherent");
}

/*
 * A store that an execution engine holds back isn't in memory after UNMAP_APERTURE_SEGMENT of its
 * page, but is after FLUSH_TLB.
 */
static void combine_unmapped_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_APERTURE;

	combine_store_late(fix, va, 17, "before UNMAP_APERTURE_SEGMENT");
	engine_add_unmap(fix->mmu, 0, 1, OTHER);
	engine_expect_done(test, fix->mmu);
	KUNIT_EXPECT_EQ(test, combine_word(fix, va), 17);
	KUNIT_EXPECT_TRUE(test, pagoda_engine_holds_writes(&fix->mmu->engine, 1));
	engine_add_flush(fix->mmu, 0, 0, 0);
	engine_expect_done(test, fix->mmu);
	combine_expect_word(fix, va, 18, "FLUSH_TLB");
}

/*
 * Called while a WAIT waits. Expects that the store before the WAIT is in memory, then writes the
 * awaited value.
 */
static void combine_idle(struct command_fixture *fix)
{
	u64 va = fix->va + COMMAND_AT_SYSTEM;

	combine_expect_word(fix, va, 31, "WAIT");
	*(__le64 *)command_memory(fix, va + MMU_PAGE) = cpu_to_le64(1);
}

/* SIGNAL, WAIT and a fault bring a job's stores to memory, ATOMIC_ADD those in its own line. */
static void combine_release_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_SYSTEM;

	command_store(fix, va, 11, VIRTIO_PAGODA_COMMAND_WIDE);
	command_signal(fix, va + MMU_PAGE, 12, VIRTIO_PAGODA_COMMAND_EVENT);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_EQ(test, fix->fence_seen, 12);
	combine_expect_word(fix, va, 11, "SIGNAL");

	command_store(fix, va, 21, VIRTIO_PAGODA_COMMAND_WIDE);
	command_atomic_add(fix, va, 1, 0, VIRTIO_PAGODA_COMMAND_WIDE);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	combine_expect_word(fix, va, 22, "ATOMIC_ADD");

	*(__le64 *)command_memory(fix, va + MMU_PAGE) = 0;
	command_store(fix, va, 31, VIRTIO_PAGODA_COMMAND_WIDE);
	command_wait(fix, va + MMU_PAGE, 1);
	fix->idle = combine_idle;
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);

	command_store(fix, va, 41, VIRTIO_PAGODA_COMMAND_WIDE);
	command_compare(fix, va + MMU_PAGE, 40, ~0ull, VIRTIO_PAGODA_COMMAND_WIDE);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_FAULT);
	combine_expect_word(fix, va, 41, "fault");
}

/*
 * Stores are in memory after FLUSH_TLB, a new root, or a reset of the queue, and aren't written
 * again later.
 */
static void combine_taken_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	struct pagoda_engine *engine = &fix->mmu->engine;
	const struct pagoda_engine_space *root = &fix->mmu->spaces[COMMAND_SPACE];
	u64 va = fix->va + COMMAND_AT_SYSTEM;
	u32 i;

	combine_store_late(fix, va, 51, "before FLUSH_TLB");
	/* FLUSH_TLB of another space drains, too: lines aren't told apart by address space. */
	engine_add_flush(fix->mmu, 0, 0, 0);
	engine_expect_done(test, fix->mmu);
	combine_expect_word(fix, va, 52, "FLUSH_TLB");

	combine_store_late(fix, va, 61, "before SET_ROOT");
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(engine, COMMAND_SPACE, root->segment,
						     root->address, root->entries),
			VIRTIO_PAGODA_FAULT_NONE);
	combine_expect_word(fix, va, 62, "SET_ROOT");

	combine_store_late(fix, va, 71, "before RESET_QUEUE");
	pagoda_engine_write_back(engine, 1);
	combine_expect_word(fix, va, 72, "RESET_QUEUE");

	/* The page has another owner now: nothing is written to it any more. */
	*(__le64 *)command_memory(fix, va) = cpu_to_le64(99);
	for (i = 1; i < 4 * PAGODA_ENGINE_LINES; i++)
		command_store(fix, va + i * LINE, i, 0);
	command_expect_done(fix, 4 * PAGODA_ENGINE_LINES - 1, "others");
	combine_expect_word(fix, va, 99, "afterwards");
}

/*
 * Writing a line back changes only the bytes that were stored. The oldest line is written back when
 * another line takes its place.
 */
static void combine_lines_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_SYSTEM;
	u8 *line = command_memory(fix, va);
	u32 i;

	memset(line, 0, LINE);
	command_store(fix, va + 4, 0x11111111, 0);
	command_store(fix, va + 40, 0x2222222222222222ull, VIRTIO_PAGODA_COMMAND_WIDE);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_NULL(test, memchr_inv(line, 0, LINE));
	memset(line, 0x33, 4);
	memset(line + 48, 0x44, 4);
	for (i = 1; i < PAGODA_ENGINE_LINES; i++)
		command_store(fix, va + i * LINE, i, 0);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	KUNIT_EXPECT_EQ(test, line[4], 0);
	command_store(fix, va + i * LINE, i, 0);
	KUNIT_EXPECT_EQ(test, combine_job(fix), PAGODA_ENGINE_DONE);
	for (i = 0; i < LINE; i++)
		KUNIT_EXPECT_EQ_MSG(test, line[i], i < 4 ? 0x33 : i < 8 ? 0x11 : i < 40 ? 0 :
				    i < 48 ? 0x22 : i < 52 ? 0x44 : 0, "byte %u", i);
	pagoda_engine_write_back(&fix->mmu->engine, 1);
	for (i = 1; i <= PAGODA_ENGINE_LINES; i++)
		KUNIT_EXPECT_EQ(test, line[i * LINE], i);
}

/*
 * After a line was drained, a job that stores to the line sees what the CPU wrote next to the
 * stored bytes since.
 */
static void combine_loads_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 va = fix->va + COMMAND_AT_SYSTEM;
	__le64 *words = (__le64 *)command_memory(fix, va);
	u32 i;

	for (i = 1; i < 5; i++) {
		words[0] = cpu_to_le64(i);
		words[1] = cpu_to_le64(100 + i);
		/* A line that wasn't loaded again would have 77 already, and not write it. */
		command_store(fix, va, 77, VIRTIO_PAGODA_COMMAND_WIDE);
		command_copy(fix, va + 8, va + 16, 8);
		command_expect_done(fix, 2, "job");
		combine_expect_word(fix, va, 77, "stored");
		combine_expect_word(fix, va + 8, 100 + i, "the CPU's");
		combine_expect_word(fix, va + 16, 100 + i, "copied");
	}
	/*
	 * The last store's value equals what was loaded into the line at first, but is written all
	 * the same, because ATOMIC_ADD has changed memory since.
	 */
	words[1] = 0;
	command_store(fix, va, 5, VIRTIO_PAGODA_COMMAND_WIDE);
	command_atomic_add(fix, va + 8, 6, 0, VIRTIO_PAGODA_COMMAND_WIDE);
	command_store(fix, va + 8, 0, VIRTIO_PAGODA_COMMAND_WIDE);
	command_expect_done(fix, 3, "job");
	combine_expect_word(fix, va, 5, "stored");
	combine_expect_word(fix, va + 8, 0, "stored last");
}

static struct kunit_case combine_cases[] = {
	KUNIT_CASE(combine_drains_test),
	KUNIT_CASE(combine_ends_test),
	KUNIT_CASE(combine_write_back_test),
	KUNIT_CASE(combine_aperture_test),
	KUNIT_CASE(combine_mixed_test),
	KUNIT_CASE(combine_virtual_test),
	KUNIT_CASE(combine_not_test),
	KUNIT_CASE(combine_entry_test),
	KUNIT_CASE(combine_entry_aperture_test),
	KUNIT_CASE(combine_unmapped_test),
	KUNIT_CASE(combine_release_test),
	KUNIT_CASE(combine_taken_test),
	KUNIT_CASE(combine_lines_test),
	KUNIT_CASE(combine_loads_test),
	{}
};

static struct kunit_suite combine_suite = {
	.name = "pagoda_engine_combine",
	.test_cases = combine_cases,
};

kunit_test_suite(combine_suite);
