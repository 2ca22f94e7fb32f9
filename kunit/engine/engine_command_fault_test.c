// SPDX-License-Identifier: GPL-2.0
/*
 * Commands with accesses that aren't allowed: where the engine stops, the fault that it reports,
 * and the bytes that were written until then. And commands that are fetched from pages of every
 * kind, and from a page that is mapped anew while a job executes.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include "rig/alloc.h"
#include "engine_command_helpers.h"

#define READS	VIRTIO_PAGODA_ACCESS_READ
#define WRITES	VIRTIO_PAGODA_ACCESS_WRITE
#define FETCHES	VIRTIO_PAGODA_ACCESS_FETCH

/* Kind of a page of the odd region, by the page's number modulo 4. */
#define ODD_READ_ONLY	0
#define ODD_WRITABLE	1
#define ODD_NO_EXECUTE	2
#define ODD_NOTHING	3

static u64 odd_page(struct command_fixture *fix, u32 page)
{
	return fix->va + COMMAND_AT_ODD + page * MMU_PAGE;
}

/*
 * Expects that since the snapshot the range has changed, in each of its pages, and no other memory
 * but the save area's count of jobs; restores range and count.
 */
static void fault_expect_changed(struct command_fixture *fix, u64 va, u64 size, const char *what)
{
	struct engine_fixture *mmu = fix->mmu;
	__le64 *jobs = &command_image(fix)->saved[VIRTIO_PAGODA_REGISTERS];
	u64 i, piece;
	u8 *here;

	for (i = 0; i < size; i += piece) {
		piece = min(size - i, MMU_PAGE - (va + i) % MMU_PAGE);
		here = command_memory(fix, va + i);
		KUNIT_EXPECT_NE_MSG(fix->test, 0, memcmp(here, mmu->before + (here - mmu->memory),
							 piece), "%s", what);
		memcpy(here, mmu->before + (here - mmu->memory), piece);
	}
	le64_add_cpu(jobs, -1);
	engine_expect_unchanged(fix->test, mmu, what);
}

static void fault_expect(struct command_fixture *fix, u32 reason, u64 address, u32 access,
			 u32 level, const char *what)
{
	u64 command = fix->va;

	engine_snapshot(fix->mmu);
	command_expect_fault(fix, reason, address, access, what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.level, level, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.command, command, "%s", what);
}

/*
 * A COPY stops at the first page that it may not access: exactly the bytes before that page are
 * copied.
 */
static void fault_copy_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 hole = odd_page(fix, ODD_NOTHING), to = fix->va + COMMAND_AT_64K;
	u64 from = fix->va + COMMAND_AT_VRAM, nowhere = fix->va + COMMAND_REGIONS * SZ_2M;
	u64 limit = 1ull << fix->mmu->engine.va_bits;

	PAGODA_PROVES(C95);
	fix->ahead = true;
	command_copy(fix, hole - 100, to, 200);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "from nothing");
	fault_expect_changed(fix, to, 100, "from nothing");
	command_copy(fix, from, hole - 5000, 6000);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, WRITES, 0, "to nothing");
	fault_expect_changed(fix, hole - 5000, 5000, "to nothing");
	/* This source has no level-0 table, that of the next COPY has no level-1 table either. */
	command_copy(fix, nowhere + 8, to, 4);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, nowhere + 8, READS, 1, "far away");
	fault_expect_changed(fix, to, 0, "far away");
	command_copy(fix, fix->va + SZ_1G, to, 4);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, fix->va + SZ_1G, READS, 2,
		     "farther away");
	fault_expect_changed(fix, to, 0, "farther away");
	command_copy(fix, limit - 8, to, 16);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, limit - 8, READS, 2, "the last");
	fault_expect_changed(fix, to, 0, "the last");
	command_copy(fix, from, limit, 16);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, limit, WRITES, 0, "behind the last");
	fault_expect_changed(fix, to, 0, "behind the last");
	command_copy(fix, from, odd_page(fix, 4), 16);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, odd_page(fix, 4), WRITES, 0, "read-only");
	fault_expect_changed(fix, to, 0, "read-only");
	engine_expect_guards(test, fix->mmu, "guards");
}

/*
 * Commands fault on read-only and unmapped pages with the right reason, address and access, and
 * only bytes that were written before the fault have changed.
 */
static void fault_protection_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 hole = odd_page(fix, ODD_NOTHING), writable = odd_page(fix, ODD_WRITABLE);
	u64 read_only = odd_page(fix, ODD_READ_ONLY), to = fix->va + COMMAND_AT_64K;

	command_fill(fix, writable + 16, MMU_PAGE * 3, 0x01020304);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, WRITES, 0, "fill");
	fault_expect_changed(fix, writable + 16, 2 * MMU_PAGE - 16, "fill");
	command_store(fix, read_only, 1, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, read_only, WRITES, 0, "store");
	fault_expect_changed(fix, to, 0, "store");
	command_signal(fix, read_only + 8, 1, VIRTIO_PAGODA_COMMAND_EVENT);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, read_only + 8, WRITES, 0, "signal");
	fault_expect_changed(fix, to, 0, "signal");
	KUNIT_EXPECT_EQ(test, fix->fences, 0);
	command_wait(fix, hole + 8, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole + 8, READS, 0, "wait");
	fault_expect_changed(fix, to, 0, "wait");
	/* The addition itself takes effect, although the old value can't be stored. */
	command_atomic_add(fix, to, 1, read_only + 16, VIRTIO_PAGODA_COMMAND_WIDE);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, read_only + 16, WRITES, 0, "add");
	fault_expect_changed(fix, to, 8, "add");
	command_compare(fix, hole, 0, 0, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "compare");
	fault_expect_changed(fix, to, 0, "compare");
}

/*
 * COMPUTE stops at the element that faults and COPY_RECT in the row that faults, with the results
 * before the fault in memory. A REDUCE that faults stores nothing.
 */
static void fault_array_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 hole = odd_page(fix, ODD_NOTHING), to = fix->va + COMMAND_AT_64K + 4;
	u64 a = fix->va + COMMAND_AT_VRAM, read_only = odd_page(fix, 4);
	struct virtio_pagoda_copy_rect *rect;

	command_compute(fix, VIRTIO_PAGODA_COMPUTE_XOR, 4096, to, a, hole - 400, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "operand");
	fault_expect_changed(fix, to, 400, "operand");
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_MULTIPLY_ADD, 4096, to, a, a + 4, hole - 8);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "third operand");
	fault_expect_changed(fix, to, 8, "third operand");
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_ADD, 4, read_only, a, a + 4, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, read_only, WRITES, 0, "result");
	fault_expect_changed(fix, to, 0, "result");
	/* The memory for all but two of the elements is missing. */
	command_compute(fix, VIRTIO_PAGODA_COMPUTE_XOR, 1ull << 61, hole - 8, hole - 8, hole - 8,
			0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "in place");
	fault_expect_changed(fix, hole - 8, 8, "in place");
	command_reduce(fix, VIRTIO_PAGODA_REDUCE_SUM, 4096, hole - 4, to + 4, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "elements");
	fault_expect_changed(fix, to, 0, "elements");
	command_reduce(fix, VIRTIO_PAGODA_REDUCE_SUM, 4096, a, read_only + 8, 0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_READ_ONLY, read_only + 8, WRITES, 0, "sum");
	fault_expect_changed(fix, to, 0, "sum");
	/* The source's first two rows and 40 bytes of the third are mapped. */
	rect = command_rect(fix, 64, 8);
	command_surface(&rect->src, hole - 240, VIRTIO_PAGODA_TILING_LINEAR, 100, 8, 0, 0);
	command_surface(&rect->dst, fix->va + COMMAND_AT_64K, VIRTIO_PAGODA_TILING_4K, 64, 64, 0,
			0);
	fault_expect(fix, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, READS, 0, "rows");
	fault_expect_changed(fix, fix->va + COMMAND_AT_64K, 64 * 2 + 40, "rows");
}

/* Executes a request whose only command buffer is at @va; expects a fault as described. */
static void fault_fetch(struct command_fixture *fix, u64 va, u32 reason, u64 address, u64 command,
			u32 access, const char *what)
{
	command_request(fix);
	fix->request.execute.nr_buffers = cpu_to_le32(1);
	fix->request.buffers[0].address = cpu_to_le64(va);
	fix->request.buffers[0].size = cpu_to_le64(4 * MMU_PAGE);
	KUNIT_EXPECT_EQ_MSG(fix->test, command_execute(fix), PAGODA_ENGINE_FAULT, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.reason, reason, "%s: %s", what,
			    pagoda_engine_fault_name(fix->run.fault.reason));
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.address, address, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.command, command, "%s", what);
	KUNIT_EXPECT_EQ_MSG(fix->test, fix->run.fault.access, access, "%s", what);
}

/*
 * Commands can't be fetched from unmapped pages, no-execute pages or too large addresses, and zeros
 * aren't a command.
 */
static void fault_fetch_test(struct kunit *test)
{
	struct command_fixture *fix = command_fixture_init(test);
	u64 hole = odd_page(fix, ODD_NOTHING), no_execute = odd_page(fix, ODD_NO_EXECUTE);
	u64 zero = fix->va + COMMAND_AT_ZERO, last = no_execute - 16, there;

	fault_fetch(fix, hole, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, hole, hole, FETCHES, "nothing");
	fault_fetch(fix, no_execute, VIRTIO_PAGODA_FAULT_NO_EXECUTE, no_execute, no_execute,
		    FETCHES, "no-execute");
	fault_fetch(fix, zero, VIRTIO_PAGODA_FAULT_BAD_COMMAND, 0, zero,
		    VIRTIO_PAGODA_ACCESS_NONE, "zeros");
	fault_fetch(fix, 1ull << 60, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 1ull << 60, 1ull << 60,
		    FETCHES, "outside");
	/* The end of this command is on a no-execute page. */
	command_store(fix, fix->va + COMMAND_AT_VRAM, 1, 0);
	memcpy(command_memory(fix, last), fix->mmu->vram, 16);
	fault_fetch(fix, last, VIRTIO_PAGODA_FAULT_NO_EXECUTE, no_execute, last, FETCHES,
		    "the end of a command");
	KUNIT_EXPECT_EQ(test, fix->run.fault.opcode, VIRTIO_PAGODA_COMMAND_STORE);
	/* The engine doesn't read the body of a NOP, so the body may be on any page. */
	command_add(fix, VIRTIO_PAGODA_COMMAND_NOP, 0, 4 * MMU_PAGE - 8);
	memcpy(command_memory(fix, last), fix->mmu->vram, 8);
	there = last + 4 * MMU_PAGE - 8;
	*(__le64 *)command_memory(fix, there) = 0;
	fault_fetch(fix, last, VIRTIO_PAGODA_FAULT_BAD_COMMAND, 0, there,
		    VIRTIO_PAGODA_ACCESS_NONE, "behind a NOP");
	KUNIT_EXPECT_EQ(test, fix->run.packets, 1);
}

/* Commands are executed from pages of every kind of memory, also across the border of two pages. */
static void fault_fetch_places_test(struct kunit *test)
{
	static const u64 places[] = {
		COMMAND_AT_VRAM, COMMAND_AT_SYSTEM, COMMAND_AT_APERTURE, COMMAND_AT_64K,
		COMMAND_AT_2M, COMMAND_AT_ODD,
	};
	struct command_fixture *fix = command_fixture_init(test);
	u32 shape, place, size, i;
	u64 va, to;

	for (shape = 0; shape < MMU_SHAPES; shape++) {
		command_shape_set(fix, &mmu_shapes[shape]);
		to = fix->va + COMMAND_AT_2M + SZ_1M;
		for (place = 0; place < ARRAY_SIZE(places); place++) {
			va = fix->va + places[place] + 2 * MMU_PAGE - 24 * 3 - 8;
			if (places[place] == COMMAND_AT_ODD)	/* all code on its first page */
				va -= MMU_PAGE;
			for (i = 0; i < 3; i++)
				command_store(fix, to + 4 * i, 16 * shape + place + i, 0);
			size = fix->code_size;
			memcpy(command_memory(fix, va), fix->mmu->vram, size);
			/* This command has its head on one page and the rest on the next. */
			command_store(fix, to + 12, 16 * shape + place + 3, 0);
			for (i = 0; i < 24; i++)
				if (places[place] != COMMAND_AT_ODD)
					*command_memory(fix, va + size + i) =
						fix->mmu->vram[size + i];
			fix->code_size = 0;
			command_branch(fix, va, places[place] == COMMAND_AT_ODD ? size : size + 24);
			command_expect_done(fix, places[place] == COMMAND_AT_ODD ? 4 : 5, "fetch");
			for (i = 0; i < (places[place] == COMMAND_AT_ODD ? 3 : 4); i++)
				KUNIT_EXPECT_EQ(test, 16 * shape + place + i,
						le32_to_cpu(*(__le32 *)
							    command_memory(fix, to + 4 * i)));
		}
	}
}

/**
 * struct fault_setter - A thread that sets the root of a job's address space again
 * @fix: Engine, and the context of the job
 * @ops: The engine's operations, but for system_span()
 * @inner: The engine's own operations
 * @task: The thread, woken by the first lookup of system memory
 * @woken: @task was woken
 * @done: The root is set
 * @page: Entry of the page that the code's address leads to from the first wait of the job on
 */
struct fault_setter {
	struct command_fixture *fix;
	struct pagoda_engine_ops ops;
	const struct pagoda_engine_ops *inner;
	struct task_struct *task;
	bool woken;
	struct completion done;
	u64 page;
};

static int fault_setter_run(void *data)
{
	struct fault_setter *setter = data;
	struct engine_fixture *mmu = setter->fix->mmu;
	const struct pagoda_engine_space root = mmu->spaces[COMMAND_SPACE];

	KUNIT_EXPECT_EQ(setter->fix->test, VIRTIO_PAGODA_FAULT_NONE,
			pagoda_engine_root_set(&mmu->engine, COMMAND_SPACE, root.segment,
					       root.address, root.entries));
	complete(&setter->done);
	return 0;
}

/*
 * Looks system memory up. The job's first lookup is that of its code: wakes the thread and goes on
 * when the thread waits for the translation lock, which the job holds.
 */
static void *fault_setter_span(void *context, u64 bus, u64 want, u64 *got)
{
	struct command_fixture *fix = ((struct engine_fixture *)context)->priv;
	struct fault_setter *setter = fix->test->priv;

	if (!setter->woken) {
		setter->woken = true;
		wake_up_process(setter->task);
		while (task_is_running(setter->task))
			cond_resched();
		KUNIT_EXPECT_FALSE(fix->test, completion_done(&setter->done));
	}
	return setter->inner->system_span(context, bus, want, got);
}

/*
 * Called when the job waits, without the translation lock. Maps another page at the code's address,
 * and ends the job's wait when the root is set.
 */
static void fault_setter_idle(struct command_fixture *fix)
{
	struct fault_setter *setter = fix->test->priv;

	command_map(fix, fix->va + COMMAND_AT_SYSTEM, SZ_4K, setter->page);
	if (!setter->woken || !wait_for_completion_timeout(&setter->done, 60 * HZ))
		fix->stop = true;
	*(__le64 *)command_memory(fix, fix->va + COMMAND_AT_VRAM) = cpu_to_le64(1);
}

static struct fault_setter *fault_setter_start(struct kunit *test)
{
	struct fault_setter *setter = test_zalloc(test, sizeof(*setter));
	struct engine_fixture *mmu;

	test->priv = setter;
	setter->fix = command_fixture_init(test);
	setter->fix->idle = fault_setter_idle;
	setter->page = setter->fix->pages[COMMAND_AT_SYSTEM / MMU_PAGE + 1].entry;
	init_completion(&setter->done);
	mmu = setter->fix->mmu;
	setter->inner = mmu->engine.ops;
	setter->ops = *mmu->engine.ops;
	setter->ops.system_span = fault_setter_span;
	mmu->engine.ops = &setter->ops;
	setter->task = kthread_create(fault_setter_run, setter, "pagoda-setter");
	KUNIT_ASSERT_FALSE(test, IS_ERR(setter->task));
	get_task_struct(setter->task);
	return setter;
}

/*
 * After a root is set, a job fetches commands by the new translations, even if the job had looked
 * up the memory of its code while the thread that sets the root waited for the translation lock.
 */
static void fault_fetch_root_test(struct kunit *test)
{
	struct fault_setter *setter = fault_setter_start(test);
	struct command_fixture *fix = setter->fix;
	u64 va = fix->va + COMMAND_AT_SYSTEM, flag = fix->va + COMMAND_AT_VRAM;
	u32 size, page;

	*(__le64 *)command_memory(fix, flag) = 0;
	for (page = 0; page < 2; page++) {
		fix->code_size = 0;
		command_wait(fix, flag, 1);
		command_store(fix, flag + 8, 7 + page, 0);
		size = fix->code_size;
		memcpy(command_memory(fix, va + page * MMU_PAGE), fix->mmu->vram, size);
	}
	fix->code_size = 0;
	command_branch(fix, va, size);
	command_expect_done(fix, 3, "code that was mapped anew");
	KUNIT_EXPECT_EQ(test, 8, le32_to_cpu(*(__le32 *)command_memory(fix, flag + 8)));
	/* The thread was woken and has ended. */
	KUNIT_EXPECT_EQ(test, 0, kthread_stop(setter->task));
	put_task_struct(setter->task);
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(fault_copy_test),
	KUNIT_CASE(fault_protection_test),
	KUNIT_CASE(fault_array_test),
	KUNIT_CASE(fault_fetch_test),
	KUNIT_CASE(fault_fetch_places_test),
	KUNIT_CASE(fault_fetch_root_test),
	{}
};

static struct kunit_suite fault_suite = {
	.name = "pagoda_engine_command_fault",
	.test_cases = fault_cases,
};

kunit_test_suite(fault_suite);
