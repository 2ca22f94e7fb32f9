// SPDX-License-Identifier: GPL-2.0
/*
 * Checks that each operation is complete: the operation's row in the driver's table has all
 * columns, the engine executes the operation, and there are golden bytes and tests of each kind. A
 * failing check names the operation and the missing part.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "../drivers/vgpu/engine/engine.h"
#include "paging/paging.h"
#include "paging/table.h"
#include "coverage.h"
#include "paging_golden.h"

static bool coverage_listed(const u32 *ops, u32 opcode)
{
	for (; *ops; ops++) {
		if (*ops == opcode)
			return true;
	}
	return false;
}

/* Expects each operation to be in at least one of the lists. */
static void expect_listed(struct kunit *test, const u32 *const *lists, u32 nr_lists,
			  const char *what)
{
	u32 opcode, i;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool listed = false;

		for (i = 0; i < nr_lists; i++)
			listed |= coverage_listed(lists[i], opcode);
		KUNIT_EXPECT_TRUE_MSG(test, listed, "%s: %s", pagoda_paging_name(opcode), what);
	}
}

#define PAGODA_EXPECT_COLUMN(column) \
	KUNIT_EXPECT_TRUE_MSG(test, !!(row->column), "%s lacks " #column, row->name)

/*
 * Each operation's row in the driver's table has all columns, and the engine executes the operation
 * and has the same name for it.
 */
static void columns_test(struct kunit *test)
{
	static const char *const names[VIRTIO_PAGODA_OP_COUNT] = {
#define PAGODA_NAME(NAME, name, opcode)[opcode] = #NAME,
		VIRTIO_PAGODA_OPS(PAGODA_NAME)
#undef PAGODA_NAME
	};
	u32 opcode;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		const struct pagoda_paging_row *row = pagoda_paging_row(opcode);

		KUNIT_ASSERT_NOT_NULL(test, row);
		/* Tracepoints take the operations' names from VIRTIO_PAGODA_OPS, too. */
		KUNIT_ASSERT_STREQ(test, row->name, names[opcode]);
		KUNIT_EXPECT_STREQ(test, pagoda_engine_op_name(opcode), names[opcode]);
		KUNIT_EXPECT_TRUE_MSG(test, pagoda_engine_features() &
				      1ull << VIRTIO_PAGODA_F_OP(opcode),
				      "%s isn't executed by the engine", row->name);
		PAGODA_EXPECT_COLUMN(trigger);
		PAGODA_EXPECT_COLUMN(points);
		PAGODA_EXPECT_COLUMN(head);
		PAGODA_EXPECT_COLUMN(validate);
		PAGODA_EXPECT_COLUMN(build);
		PAGODA_EXPECT_COLUMN(execute);
		PAGODA_EXPECT_COLUMN(print);
		PAGODA_EXPECT_COLUMN(cost);
		PAGODA_EXPECT_COLUMN(ends);
	}
}

/* Each operation has golden bytes. */
static void golden_coverage_test(struct kunit *test)
{
	u32 opcode, i;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool golden = false;

		for (i = 0; i < pagoda_nr_goldens; i++)
			golden |= pagoda_goldens[i].op.operation == opcode;
		KUNIT_EXPECT_TRUE_MSG(test, golden, "%s: no golden bytes",
				      pagoda_paging_name(opcode));
	}
}

/*
 * Each operation that may need several packets is tested with buffers of every size: all that have
 * a tail except INIT_CONTEXT_RESOURCE and UNMAP_MMU. All others are one packet, whatever the
 * buffer, which suite pagoda_paging tests.
 */
static void multipass_coverage_test(struct kunit *test)
{
	u32 opcode;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool single = !pagoda_paging_row(opcode)->tail ||
			      opcode == VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE ||
			      opcode == VIRTIO_PAGODA_OP_UNMAP_MMU;

		KUNIT_EXPECT_TRUE_MSG(test, single ||
				      coverage_listed(pagoda_multipass_multipass, opcode) ||
				      coverage_listed(pagoda_table_multipass, opcode) ||
				      coverage_listed(pagoda_state_multipass, opcode),
				      "%s: no buffers of every size", pagoda_paging_name(opcode));
	}
}

/* For each operation there is a test in which the driver refuses it. */
static void refusal_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_validate_refused, pagoda_state_refused, pagoda_table_refused,
	};

	expect_listed(test, lists, ARRAY_SIZE(lists), "never refused by the driver");
}

/* For each operation there is a test in which the engine refuses the packet. */
static void fault_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_engine_faulted, pagoda_context_faulted, pagoda_swizzle_faulted,
		pagoda_device_mmu_faulted, pagoda_virtual_faulted,
	};

	expect_listed(test, lists, ARRAY_SIZE(lists), "never refused by the device");
}

/* For each operation there is a test that compares the engine with the CPU executor. */
static void executor_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_executor_compared, pagoda_executor_table_compared,
		pagoda_executor_state_compared,
	};

	expect_listed(test, lists, ARRAY_SIZE(lists), "engine and executor not compared");
}

static struct kunit_case coverage_cases[] = {
	KUNIT_CASE(columns_test),
	KUNIT_CASE(golden_coverage_test),
	KUNIT_CASE(multipass_coverage_test),
	KUNIT_CASE(refusal_coverage_test),
	KUNIT_CASE(fault_coverage_test),
	KUNIT_CASE(executor_coverage_test),
	{ }
};

static struct kunit_suite coverage_suite = {
	.name = "pagoda_coverage",
	.test_cases = coverage_cases,
};

kunit_test_suite(coverage_suite);
