// SPDX-License-Identifier: GPL-2.0
/*
 * Each operation is complete: a row with all columns in the driver's table, one in the device's,
 * golden bytes, and tests of each kind. A failure names the missing part.
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "../drivers/vgpu/engine/engine.h"
#include "paging/paging.h"
#include "paging/table.h"
#include "coverage.h"
#include "paging_golden.h"

static bool pagoda_listed(const u32 *ops, u32 opcode)
{
	for (; *ops; ops++) {
		if (*ops == opcode)
			return true;
	}
	return false;
}

/* Each operation is in one of the lists. */
static void pagoda_expect_listed(struct kunit *test, const u32 *const *lists, u32 nr_lists,
				 const char *what)
{
	u32 opcode, i;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool listed = false;

		for (i = 0; i < nr_lists; i++)
			listed |= pagoda_listed(lists[i], opcode);
		KUNIT_EXPECT_TRUE_MSG(test, listed, "%s: %s", pagoda_paging_name(opcode), what);
	}
}

#define PAGODA_EXPECT_COLUMN(column) \
	KUNIT_EXPECT_TRUE_MSG(test, !!(row->column), "%s lacks " #column, row->name)

/* The driver's row has all columns, and the device has the operation under its name. */
static void pagoda_columns_test(struct kunit *test)
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
		/* Names of tracepoints come from this list, too. */
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
static void pagoda_golden_coverage_test(struct kunit *test)
{
	u32 opcode, i;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool golden = false;

		for (i = 0; i < PAGODA_GOLDENS; i++)
			golden |= pagoda_goldens[i].op.operation == opcode;
		KUNIT_EXPECT_TRUE_MSG(test, golden, "%s: no golden bytes",
				      pagoda_paging_name(opcode));
	}
}

/*
 * Operations with a tail may need several packets, but INIT_CONTEXT_RESOURCE and UNMAP_MMU never
 * do. Operations without a tail are one packet, whatever the buffer: the suite pagoda_paging has
 * them.
 */
static void pagoda_multipass_coverage_test(struct kunit *test)
{
	u32 opcode;

	for (opcode = 1; opcode < VIRTIO_PAGODA_OP_COUNT; opcode++) {
		bool single = !pagoda_paging_row(opcode)->tail ||
			      opcode == VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE ||
			      opcode == VIRTIO_PAGODA_OP_UNMAP_MMU;

		KUNIT_EXPECT_TRUE_MSG(test, single ||
				      pagoda_listed(pagoda_multipass_multipass, opcode) ||
				      pagoda_listed(pagoda_table_multipass, opcode) ||
				      pagoda_listed(pagoda_state_multipass, opcode),
				      "%s: no buffers of every size", pagoda_paging_name(opcode));
	}
}

/* The driver's refusal of each operation has a test. */
static void pagoda_refusal_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_validate_refused, pagoda_state_refused, pagoda_table_refused,
	};

	pagoda_expect_listed(test, lists, ARRAY_SIZE(lists), "never refused by the driver");
}

/* The device's refusal of each operation has a test. */
static void pagoda_fault_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_engine_faulted, pagoda_context_faulted, pagoda_swizzle_faulted,
		pagoda_device_mmu_faulted, pagoda_virtual_faulted,
	};

	pagoda_expect_listed(test, lists, ARRAY_SIZE(lists), "never refused by the device");
}

/* For each operation the engine has been compared with the CPU executor. */
static void pagoda_executor_coverage_test(struct kunit *test)
{
	static const u32 *const lists[] = {
		pagoda_executor_compared, pagoda_executor_table_compared,
		pagoda_executor_state_compared,
	};

	pagoda_expect_listed(test, lists, ARRAY_SIZE(lists), "engine and executor not compared");
}

static struct kunit_case pagoda_coverage_cases[] = {
	KUNIT_CASE(pagoda_columns_test),
	KUNIT_CASE(pagoda_golden_coverage_test),
	KUNIT_CASE(pagoda_multipass_coverage_test),
	KUNIT_CASE(pagoda_refusal_coverage_test),
	KUNIT_CASE(pagoda_fault_coverage_test),
	KUNIT_CASE(pagoda_executor_coverage_test),
	{ }
};

static struct kunit_suite pagoda_coverage_suite = {
	.name = "pagoda_coverage",
	.test_cases = pagoda_coverage_cases,
};

kunit_test_suite(pagoda_coverage_suite);
