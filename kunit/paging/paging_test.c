// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the operations of paging/: the table of operations (paging/table.c), the packets and
 * private data that the builders encode, and the three results of a build (enum pagoda_build).
 */
#include <kunit/test.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "paging/cpu/cpu.h"
#include "paging/table.h"
#include "rig/prove.h"
#include "paging_golden.h"
#include "paging_helpers.h"

/*
 * Each operation of paging_golden.c is encoded as exactly its golden bytes. The announced cost is
 * at least the number of these bytes, and larger by a packet's head and a run at most.
 */
static void golden_test(struct kunit *test)
{
	const struct pagoda_golden *golden = test->param_value;
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_paging_cost cost;
	struct pagoda_guarded guarded;
	const char *why = NULL;

	pagoda_guarded_init(test, &guarded, 512, 64);
	pagoda_guarded_fresh(&guarded, 512, 64);
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&limits, &golden->op, &why), 0, "%s", why);
	KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &golden->op, &cursor, &guarded.buf),
			PAGODA_BUILD_SUCCESS);
	pagoda_guarded_check(test, &guarded);
	KUNIT_EXPECT_EQ(test, guarded.buf.write_offset, golden->size);
	KUNIT_EXPECT_MEMEQ(test, pagoda_guarded_data(&guarded), golden->bytes, golden->size);
	/*
	 * C46: DISCARD_CONTENT is these 40 bytes and no copy. C43, C60: the FILL and the
	 * MAP_APERTURE_SEGMENT of the goldens have no allocation.
	 */
	PAGODA_PROVES(C2, C3, C30, C31, C46, C60, C69);

	/* The cost may count a second packet: the end of a used buffer may split the operation. */
	cost = pagoda_paging_cost(&limits, &golden->op, 512);
	KUNIT_EXPECT_GE(test, cost.encoded, golden->size);
	KUNIT_EXPECT_LE(test, cost.encoded, golden->size + 72 + 16);
	KUNIT_EXPECT_LE(test, cost.packets, 2);
}

/* Building an operation twice gives the same bytes, and changes neither operation nor limits. */
static void pure_test(struct kunit *test)
{
	const struct pagoda_golden *golden = test->param_value;
	struct pagoda_paging_limits limits = pagoda_test_limits(64), limits_before = limits;
	struct pagoda_paging_op op = golden->op;
	struct pagoda_guarded guarded[2];
	u32 i;

	for (i = 0; i < 2; i++) {
		struct pagoda_paging_cursor cursor = { };

		pagoda_guarded_init(test, &guarded[i], 512, 64);
		pagoda_guarded_fresh(&guarded[i], 512, 64);
		KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &op, &cursor, &guarded[i].buf),
				PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_MEMEQ(test, &op, &golden->op, sizeof(op));
		KUNIT_EXPECT_MEMEQ(test, &limits, &limits_before, sizeof(limits));
	}
	KUNIT_EXPECT_MEMEQ(test, guarded[0].block, guarded[1].block,
			   512 + 2 * PAGODA_GUARD_BYTES);
	KUNIT_EXPECT_MEMEQ(test, guarded[0].priv_block, guarded[1].priv_block,
			   64 + 2 * PAGODA_GUARD_BYTES);
}

/*
 * Any operation is refused if the device lacks the operation's feature bit, or allows fewer than
 * two runs a packet.
 */
static void feature_test(struct kunit *test)
{
	const struct pagoda_golden *golden = test->param_value;
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	const char *why = NULL;

	limits.features &= ~(1ull << VIRTIO_PAGODA_F_OP(golden->op.operation));
	KUNIT_EXPECT_EQ(test, pagoda_paging_validate(&limits, &golden->op, &why), -EOPNOTSUPP);
	KUNIT_EXPECT_STREQ(test, why, "operation not offered by the device");
	limits = pagoda_test_limits(1);
	KUNIT_EXPECT_EQ(test, pagoda_paging_validate(&limits, &golden->op, &why), -EINVAL);
	KUNIT_EXPECT_STREQ(test, why, "fewer than two runs a packet");
}

/* Each opcode has a row in the table of operations, with its name; other values have no row. */
static void table_test(struct kunit *test)
{
	static const struct {
		const char *name;
		const char *lower;
	} names[VIRTIO_PAGODA_OP_COUNT] = {
#define PAGODA_NAME(NAME, name, opcode)[opcode] = { #NAME, #name },
		VIRTIO_PAGODA_OPS(PAGODA_NAME)
#undef PAGODA_NAME
	};
	u32 i;

	for (i = 1; i < VIRTIO_PAGODA_OP_COUNT; i++) {
		const struct pagoda_paging_row *row = pagoda_paging_row(i);

		KUNIT_ASSERT_NOT_NULL(test, row);
		KUNIT_EXPECT_STREQ(test, row->name, names[i].name);
		KUNIT_EXPECT_EQ(test, strcasecmp(row->name, names[i].lower), 0);
		KUNIT_EXPECT_STREQ(test, pagoda_paging_name(i), names[i].name);
	}
	KUNIT_EXPECT_NULL(test, pagoda_paging_row(0));
	KUNIT_EXPECT_NULL(test, pagoda_paging_row(VIRTIO_PAGODA_OP_COUNT));
	KUNIT_EXPECT_NULL(test, pagoda_paging_row(U32_MAX));
}

/*
 * Makes one build call with @done in the cursor and a fresh buffer of 512 bytes; sets *@encoded to
 * the number of bytes encoded. Expects that the cursor doesn't move if the result, which is
 * returned, is allocation busy.
 */
static enum pagoda_build build_once(struct kunit *test, const struct pagoda_paging_op *op, u64 done,
				    u32 *encoded)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_paging_cursor cursor = { .done = done };
	struct pagoda_guarded guarded;
	enum pagoda_build ret;

	pagoda_guarded_init(test, &guarded, 512, 64);
	pagoda_guarded_fresh(&guarded, 512, 64);
	ret = pagoda_paging_build(&limits, op, &cursor, &guarded.buf);
	pagoda_guarded_check(test, &guarded);
	*encoded = guarded.buf.write_offset;
	if (ret == PAGODA_BUILD_ALLOCATION_BUSY)
		KUNIT_EXPECT_EQ(test, cursor.done, done);
	return ret;
}

/* An operation with an unknown opcode is accepted, built without a packet, and counted (C17). */
static void unknown_test(struct kunit *test)
{
	static const u32 unknown[] = { 0, VIRTIO_PAGODA_OP_COUNT, 0x10001, U32_MAX };
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	u64 count = pagoda_paging_unknown_count();
	struct pagoda_paging_op op;
	const char *why = NULL;
	u32 i, encoded;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		memset(&op, 0xff, sizeof(op));
		op.operation = unknown[i];
		KUNIT_EXPECT_EQ(test, pagoda_paging_validate(&limits, &op, &why), 0);
		KUNIT_EXPECT_EQ(test, build_once(test, &op, 0, &encoded), PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_EQ(test, encoded, 0);
		KUNIT_EXPECT_EQ(test, pagoda_paging_unknown_count(), count + i + 1);
		KUNIT_EXPECT_EQ(test, pagoda_paging_cost(&limits, &op, 4096).packets, 0);
		KUNIT_EXPECT_STREQ(test, pagoda_paging_name(unknown[i]), "UNKNOWN");
		PAGODA_PROVES(C17);
	}
}

/*
 * With needs_idle and without PAGODA_ALLOCATION_IS_IDLE a TRANSFER or DISCARD_CONTENT is answered
 * allocation busy and encodes nothing; with this flag both are built as any other operation. The
 * golden SPECIAL_LOCK_TRANSFER has the flag.
 */
static void busy_test(struct kunit *test)
{
	u32 i, encoded;

	for (i = 0; i < pagoda_nr_goldens; i++) {
		struct pagoda_paging_op op = pagoda_goldens[i].op;
		bool may = op.operation == VIRTIO_PAGODA_OP_TRANSFER ||
			   op.operation == VIRTIO_PAGODA_OP_DISCARD_CONTENT;

		op.needs_idle = true;
		if (op.operation == VIRTIO_PAGODA_OP_TRANSFER)
			op.transfer.flags &= ~PAGODA_ALLOCATION_IS_IDLE;
		/* C13: build_once() expects that allocation busy doesn't move the cursor. */
		KUNIT_EXPECT_EQ(test, build_once(test, &op, 0, &encoded),
				may ? PAGODA_BUILD_ALLOCATION_BUSY : PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_EQ(test, !encoded, may);
		PAGODA_PROVES(C11, C13);

		if (op.operation == VIRTIO_PAGODA_OP_TRANSFER)
			op.transfer.flags |= PAGODA_ALLOCATION_IS_IDLE;
		if (op.operation == VIRTIO_PAGODA_OP_DISCARD_CONTENT)
			op.discard_content.flags |= PAGODA_ALLOCATION_IS_IDLE;
		KUNIT_EXPECT_EQ(test, build_once(test, &op, 0, &encoded), PAGODA_BUILD_SUCCESS);
		/* The flag is for the builder only: the packet is as long as without it. */
		KUNIT_EXPECT_EQ(test, encoded, pagoda_goldens[i].size);
		PAGODA_PROVES(C12);
	}
}

static void empty_transfer_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.allocation = 7,
		.needs_idle = true,
		.transfer.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
		.transfer.src.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	};
	const char *why = NULL;
	u32 encoded;

	/*
	 * A transfer of 0 bytes says that the content is lost (C35): it is accepted without a page
	 * list, is never busy in spite of needs_idle, and encodes nothing.
	 */
	KUNIT_EXPECT_EQ(test, pagoda_paging_validate(&limits, &op, &why), 0);
	KUNIT_EXPECT_EQ(test, build_once(test, &op, 0, &encoded), PAGODA_BUILD_SUCCESS);
	KUNIT_EXPECT_EQ(test, encoded, 0);
	KUNIT_EXPECT_EQ(test, pagoda_paging_cost(&limits, &op, 4096).encoded, 0);
	PAGODA_PROVES(C35);
}

/*
 * A TRANSFER without an allocation is a linear copy: SWIZZLE and UNSWIZZLE change no byte of the
 * packet (C31).
 */
static void linear_test(struct kunit *test)
{
	static const u32 tiling[] = {
		0, VIRTIO_PAGODA_TRANSFER_SWIZZLE, VIRTIO_PAGODA_TRANSFER_UNSWIZZLE,
	};
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_guarded guarded[ARRAY_SIZE(tiling)];
	const char *why = "";
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tiling); i++) {
		struct pagoda_paging_op op = pagoda_goldens[0].op;
		struct pagoda_paging_cursor cursor = { };

		op.allocation = 0;
		op.transfer.flags = tiling[i];
		if (tiling[i]) {
			op.transfer.surface_size = 0x8000;
			op.transfer.layout = (struct pagoda_layout) {
				.tiling = VIRTIO_PAGODA_TILING_4K,
				.pitch = 256,
				.height = 128,
				.mips = 1,
			};
		}
		KUNIT_EXPECT_EQ_MSG(test, pagoda_paging_validate(&limits, &op, &why), 0, "%s", why);
		pagoda_guarded_init(test, &guarded[i], 512, 64);
		pagoda_guarded_fresh(&guarded[i], 512, 64);
		KUNIT_EXPECT_EQ(test, pagoda_paging_build(&limits, &op, &cursor, &guarded[i].buf),
				PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_MEMEQ(test, guarded[i].block, guarded[0].block,
				   512 + 2 * PAGODA_GUARD_BYTES);
	}
	PAGODA_PROVES(C31);
}

/*
 * Each packet's private data has the packet's offset in the buffer, and points to the element of
 * the packet's first page in the list's struct page array.
 */
static void private_test(struct kunit *test)
{
	const void *pages[5];
	struct pagoda_adl adl = *pagoda_goldens[0].op.transfer.dst.adl;
	struct pagoda_paging_op op = pagoda_goldens[0].op;
	struct pagoda_paging_limits limits = pagoda_test_limits(2);
	const struct pagoda_paging_private *priv;
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_guarded guarded;
	u32 i;

	adl.cpu_pages = pages;
	op.transfer.dst.adl = &adl;
	limits.max_runs = 1;
	pagoda_guarded_init(test, &guarded, 512, 200);
	pagoda_guarded_fresh(&guarded, 512, 200);
	for (i = 0; i < 2; i++) {
		cursor.done = 0;
		KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &op, &cursor, &guarded.buf),
				PAGODA_BUILD_SUCCESS);
	}
	pagoda_guarded_check(test, &guarded);
	priv = pagoda_guarded_priv(&guarded);
	KUNIT_ASSERT_EQ(test, 200 - guarded.buf.priv_size, 4 * sizeof(*priv));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, priv[i].offset, i * 88);
		KUNIT_EXPECT_EQ(test, priv[i].reserved, 0);
		KUNIT_EXPECT_NULL(test, priv[i].src_pages);
		KUNIT_EXPECT_PTR_EQ(test, priv[i].dst_pages, (void *)(pages + 1 + (i % 2) * 2));
	}
	PAGODA_PROVES(C20);
}

static void *private_map(const void *pages, u64 index)
{
	return ((void *const *)pages)[index];
}

static void private_unmap(void *address)
{
}

/*
 * Returns an operation that signals @value to a fence on @page, which the CPU executor finds by the
 * packet's private data only.
 */
static struct pagoda_paging_op private_signal(const void *const *page, u64 value)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = { .address = value << 12, .value = value, .cpu_pages = page },
	};
}

/*
 * An operation that encodes nothing uses no private data. When the CPU executor executes one of two
 * buffers, from the first or from the second packet on, each packet uses its own private data.
 */
static void private_range_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_cpu_executor exec = {
		.map_page = private_map, .unmap_page = private_unmap,
	};
	const struct pagoda_paging_op nothing = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer.src.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	};
	u64 *pages = test_calloc(test, 4, 4096);
	const void *at[4];
	struct pagoda_guarded guarded[2];
	u32 i, start = 0, stopped_at;

	for (i = 0; i < 4; i++) {
		struct pagoda_guarded *to = &guarded[i / 2];
		struct pagoda_paging_op op = private_signal(&at[i], i + 1);
		struct pagoda_paging_cursor cursor = { };
		u32 left;

		at[i] = pages + i * 512;
		if (i % 2 == 0) {
			pagoda_guarded_init(test, to, 512, 128);
			pagoda_guarded_fresh(to, 512, 128);
		} else {
			start = to->buf.write_offset;
		}
		left = to->buf.priv_size;
		KUNIT_EXPECT_EQ(test, PAGODA_BUILD_SUCCESS,
				pagoda_paging_build(&limits, &nothing, &cursor, &to->buf));
		KUNIT_EXPECT_EQ(test, left, to->buf.priv_size);
		cursor.done = 0;
		KUNIT_EXPECT_EQ(test, PAGODA_BUILD_SUCCESS,
				pagoda_paging_build(&limits, &op, &cursor, &to->buf));
		KUNIT_EXPECT_EQ(test, left - sizeof(struct pagoda_paging_private),
				to->buf.priv_size);
	}
	for (i = 0; i < 4; i++) {
		struct pagoda_guarded *from = &guarded[i / 2];

		memset(pages, 0, 4 * 4096);
		/* Each buffer is executed as a whole, then from its second packet on. */
		KUNIT_EXPECT_EQ(test, 0, pagoda_cpu_execute(&exec, pagoda_guarded_data(from),
							    from->buf.write_offset,
							    i % 2 ? start : 0,
							    pagoda_guarded_priv(from),
							    128 - from->buf.priv_size,
							    &stopped_at));
		KUNIT_EXPECT_EQ(test, i == 0 ? 1 : 0, pages[0]);
		KUNIT_EXPECT_EQ(test, i <= 1 ? 2 : 0, pages[512]);
		KUNIT_EXPECT_EQ(test, i == 2 ? 3 : 0, pages[1024]);
		KUNIT_EXPECT_EQ(test, i >= 2 ? 4 : 0, pages[1536]);
	}
	PAGODA_PROVES(C20);
}

/*
 * MAP_APERTURE_SEGMENT, MAP_APERTURE_SEGMENT2 and UNMAP_APERTURE_SEGMENT are accepted and built
 * with and without an allocation, and with and without a device that owns the range (C60).
 */
static void ownerless_range_test(struct kunit *test)
{
	static const u32 opcodes[] = {
		VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
		VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
	};
	const struct pagoda_adl adl = { .nr_pages = 4, .contiguous = true, .base = 0x10000 };
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_guarded guarded[4];
	const char *why = "";
	u32 i, n;

	for (i = 0; i < 4 * ARRAY_SIZE(opcodes); i++) {
		struct pagoda_paging_op op = { .operation = opcodes[i / 4] };
		struct pagoda_paging_cursor cursor = { };
		const struct virtio_pagoda_packet *packet;

		n = i % 4;
		op.allocation = n & 1 ? 7 : 0;
		if (op.operation == VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT)
			op.unmap_aperture = (struct pagoda_op_unmap_aperture) {
				.device = n & 2 ? 3 : 0, .nr_pages = 4, .dummy_page = 0x5000,
			};
		else
			op.map_aperture = (struct pagoda_op_map_aperture) {
				.device = n & 2 ? 3 : 0, .nr_pages = 4, .adl = &adl,
				.generation = 1,
			};
		KUNIT_EXPECT_EQ_MSG(test, pagoda_paging_validate(&limits, &op, &why), 0, "%s", why);
		pagoda_guarded_init(test, &guarded[n], 512, 64);
		pagoda_guarded_fresh(&guarded[n], 512, 64);
		KUNIT_ASSERT_EQ(test, PAGODA_BUILD_SUCCESS,
				pagoda_paging_build(&limits, &op, &cursor, &guarded[n].buf));
		packet = (const void *)pagoda_guarded_data(&guarded[n]);
		KUNIT_EXPECT_EQ(test, op.allocation, le64_to_cpu(packet->allocation));
		KUNIT_EXPECT_EQ(test, op.operation, le16_to_cpu(packet->opcode));
		/* The member device isn't encoded: packets with and without it are equal. */
		if (n & 2)
			KUNIT_EXPECT_MEMEQ(test, guarded[n].block, guarded[n & 1].block,
					   512 + 2 * PAGODA_GUARD_BYTES);
	}
	PAGODA_PROVES(C60);
}

/* A packet isn't encoded if there is no room for the packet's private data. */
static void private_full_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	struct pagoda_guarded guarded;
	u32 i, size;

	pagoda_guarded_init(test, &guarded, 512, PAGODA_PAGING_MIN_PRIVATE);
	for (i = 0; i < pagoda_nr_goldens; i++) {
		for (size = 0; size <= PAGODA_PAGING_MIN_PRIVATE; size++) {
			bool full = size < PAGODA_PAGING_MIN_PRIVATE;
			struct pagoda_paging_cursor cursor = { };

			pagoda_guarded_fresh(&guarded, 512, size);
			KUNIT_EXPECT_EQ(test, pagoda_paging_build(&limits, &pagoda_goldens[i].op,
								  &cursor, &guarded.buf),
					full ? PAGODA_BUILD_INSUFFICIENT_BUFFER :
					PAGODA_BUILD_SUCCESS);
			pagoda_guarded_check(test, &guarded);
			KUNIT_EXPECT_EQ(test, !cursor.done, full);
			KUNIT_EXPECT_EQ(test, !guarded.buf.write_offset, full);
		}
	}
}

/* For each buffer size an operation of one packet is encoded completely or not at all. */
static void golden_sizes(struct kunit *test, const struct pagoda_golden *golden,
			 struct pagoda_guarded *guarded)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);
	u32 size;

	for (size = 0; size <= PAGODA_PAGING_MIN_BUFFER; size++) {
		struct pagoda_paging_cursor cursor = { };
		bool fits = size >= golden->size;

		pagoda_guarded_fresh(guarded, size, 64);
		KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &golden->op, &cursor,
							  &guarded->buf),
				fits ? PAGODA_BUILD_SUCCESS : PAGODA_BUILD_INSUFFICIENT_BUFFER);
		pagoda_guarded_check(test, guarded);
		KUNIT_ASSERT_EQ(test, guarded->buf.write_offset, fits ? golden->size : 0);
		KUNIT_ASSERT_EQ(test, !cursor.done, !fits);
		if (fits)
			KUNIT_ASSERT_EQ(test, memcmp(pagoda_guarded_data(guarded), golden->bytes,
						     golden->size), 0);
	}
}

static void paging_every_size_test(struct kunit *test)
{
	struct pagoda_guarded guarded;
	u32 i;

	pagoda_guarded_init(test, &guarded, PAGODA_PAGING_MIN_BUFFER, 64);
	for (i = 0; i < pagoda_nr_goldens; i++) {
		/* Operations with a tail may take several packets: see the lists in coverage.h. */
		if (!pagoda_paging_row(pagoda_goldens[i].op.operation)->tail)
			golden_sizes(test, &pagoda_goldens[i], &guarded);
	}
	PAGODA_PROVES(C1, C2, C3, C4, C5, C9, C44);
}

static struct kunit_case paging_cases[] = {
	KUNIT_CASE(table_test),
	KUNIT_CASE_PARAM(golden_test, pagoda_golden_gen_params),
	KUNIT_CASE_PARAM(pure_test, pagoda_golden_gen_params),
	KUNIT_CASE_PARAM(feature_test, pagoda_golden_gen_params),
	KUNIT_CASE(unknown_test),
	KUNIT_CASE(busy_test),
	KUNIT_CASE(empty_transfer_test),
	KUNIT_CASE(linear_test),
	KUNIT_CASE(private_test),
	KUNIT_CASE(private_range_test),
	KUNIT_CASE(ownerless_range_test),
	KUNIT_CASE(private_full_test),
	KUNIT_CASE(paging_every_size_test),
	{ }
};

static struct kunit_suite paging_suite = {
	.name = "pagoda_paging",
	.test_cases = paging_cases,
};

kunit_test_suite(paging_suite);
