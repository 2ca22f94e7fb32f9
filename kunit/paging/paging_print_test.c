// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the printer, with well-formed packets, malformed packets and random bytes; of
 * pagoda_paging_walk(), and of pagoda_paging_ends().
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "paging_golden.h"
#include "paging_helpers.h"

static const u8 *golden_find(const char *name)
{
	u32 i;

	for (i = 0; i < pagoda_nr_goldens; i++) {
		if (!strcmp(pagoda_goldens[i].name, name))
			return pagoda_goldens[i].bytes;
	}
	return NULL;
}

/*
 * Each golden packet is printed as its offset and its text; a text buffer that is too small gets
 * the beginning, and isn't overrun.
 */
static void print_golden_test(struct kunit *test)
{
	const struct pagoda_golden *golden = test->param_value;
	char data[256], line[256];
	struct pagoda_paging_text text = { .data = data, .size = sizeof(data) };
	struct pagoda_paging_text tight = { .data = line, .size = 20 };

	snprintf(line, sizeof(line), "0x0000 %s\n", golden->text);
	KUNIT_EXPECT_EQ(test, pagoda_paging_print(golden->bytes, golden->size, &text), 1);
	KUNIT_EXPECT_STREQ(test, data, line);
	KUNIT_EXPECT_EQ(test, text.len, strlen(line));

	memset(line, 'x', sizeof(line));
	KUNIT_EXPECT_EQ(test, pagoda_paging_print(golden->bytes, golden->size, &tight), 1);
	KUNIT_EXPECT_EQ(test, tight.len, 19);
	KUNIT_EXPECT_EQ(test, line[19], 0);
	KUNIT_EXPECT_EQ(test, line[20], 'x');
	KUNIT_EXPECT_MEMEQ(test, line, data, 19);
}

/* A flush of a range that ends before its start isn't printed as one of the whole space. */
static void print_flush_test(struct kunit *test)
{
	const struct virtio_pagoda_flush_tlb flush = {
		.packet.opcode = cpu_to_le16(VIRTIO_PAGODA_OP_FLUSH_TLB),
		.packet.length = cpu_to_le32(sizeof(flush)),
		.start = cpu_to_le64(0x1000),
	};
	char line[256];
	struct pagoda_paging_text text = { .data = line, .size = sizeof(line) };

	KUNIT_EXPECT_EQ(test, pagoda_paging_print(&flush, sizeof(flush), &text), 1);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, " [0x1000..0x0)\n"), "%s", line);
}

/* The first malformed packet ends the printing with the reason in the text and with -EINVAL. */
static void print_malformed_test(struct kunit *test)
{
	u8 *data = test_zalloc(test, 256);
	char line[256];
	struct pagoda_paging_text text = { .data = line, .size = sizeof(line) };
	struct virtio_pagoda_packet *second;

	memcpy(data, golden_find("fill"), 40);
	memcpy(data + 40, golden_find("read"), 32);
	second = (void *)(data + 40);
	KUNIT_EXPECT_EQ(test, pagoda_paging_print(data, 72, &text), 2);
	KUNIT_EXPECT_EQ(test, pagoda_paging_print(data, 0, &text), 0);

#define PAGODA_EXPECT_MALFORMED(size, expected) do { \
	text.len = 0; \
	KUNIT_EXPECT_EQ(test, pagoda_paging_print(data, size, &text), -EINVAL); \
	KUNIT_EXPECT_NOT_NULL(test, strstr(line, "FILL")); \
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(line, "0x0028 malformed: " expected "\n"), \
				  "%s", line); \
} while (0)
	PAGODA_EXPECT_MALFORMED(48, "packet head cut off");
	PAGODA_EXPECT_MALFORMED(64, "packet longer than the buffer");
	second->length = cpu_to_le32(24);
	PAGODA_EXPECT_MALFORMED(72, "packet length");
	second->length = cpu_to_le32(33);
	PAGODA_EXPECT_MALFORMED(80, "packet length");
	second->length = 0;
	PAGODA_EXPECT_MALFORMED(72, "packet length");
	second->opcode = 0;
	PAGODA_EXPECT_MALFORMED(72, "unknown opcode");
	second->opcode = cpu_to_le16(VIRTIO_PAGODA_OP_COUNT);
	PAGODA_EXPECT_MALFORMED(72, "unknown opcode");
	/* Numbers of runs that don't fit the length, or whose bytes would exceed 32 bits. */
	memcpy(data + 40, golden_find("map2"), 64);
	data[40 + 36] = 2;
	PAGODA_EXPECT_MALFORMED(104, "packet length");
	data[40 + 39] = 0x10;
	PAGODA_EXPECT_MALFORMED(104, "packet length");
#undef PAGODA_EXPECT_MALFORMED
}

/*
 * Random bytes are printed, or reported as malformed, without a read behind their end, which KASAN
 * would report.
 */
static void print_random_test(struct kunit *test)
{
	struct pagoda_paging_text text = { .size = 4096 };
	struct rnd_state rnd;
	u32 i, j;

	pagoda_test_seed(test, &rnd);
	text.data = kunit_kmalloc(test, text.size, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, text.data);
	for (i = 0; i < 4000; i++) {
		u32 size = pagoda_random(&rnd, 0, 25) * 8;
		u8 *data = kunit_kmalloc(test, size, GFP_KERNEL);
		int ret;

		KUNIT_ASSERT_NOT_NULL(test, data);
		prandom_bytes_state(&rnd, data, size);
		/* Three quarters of the buffers have plausible heads. */
		for (j = 0; j + 16 <= size && i % 4; j += 40) {
			struct virtio_pagoda_packet *packet = (void *)(data + j);

			packet->opcode = cpu_to_le16(pagoda_random(&rnd, 0, 24));
			packet->length = cpu_to_le32(pagoda_random(&rnd, 2, 13) * 8);
		}
		text.len = 0;
		ret = pagoda_paging_print(data, size, &text);
		KUNIT_EXPECT_LE(test, ret, (int)size / 16);
		KUNIT_EXPECT_LT(test, text.len, text.size);
		if (text.len)
			KUNIT_EXPECT_EQ(test, text.data[text.len - 1], '\n');
		KUNIT_EXPECT_EQ(test, ret < 0, !!strstr(text.len ? text.data : "", "malformed"));
		kunit_kfree(test, data);
	}
}

struct pagoda_visits {
	u32 count;
	u32 opcode[3];
	u64 allocation[3];
};

static void paging_print_visit(void *arg, const struct virtio_pagoda_packet *packet)
{
	struct pagoda_visits *visits = arg;

	visits->opcode[visits->count % 3] = le16_to_cpu(packet->opcode);
	visits->allocation[visits->count % 3] = le64_to_cpu(packet->allocation);
	visits->count++;
}

/* pagoda_paging_walk() visits the packets from offset @start on, up to a malformed packet. */
static void walk_test(struct kunit *test)
{
	u8 *data = test_zalloc(test, 40 + 40 + 32);
	struct pagoda_visits visits = { };

	memcpy(data, golden_find("discard"), 40);
	memcpy(data + 40, golden_find("fill"), 40);
	memcpy(data + 80, golden_find("read"), 32);
	pagoda_paging_walk(data, 112, 0, paging_print_visit, &visits);
	KUNIT_EXPECT_EQ(test, visits.count, 3);
	KUNIT_EXPECT_EQ(test, visits.opcode[0], VIRTIO_PAGODA_OP_DISCARD_CONTENT);
	KUNIT_EXPECT_EQ(test, visits.allocation[0], 5);
	KUNIT_EXPECT_EQ(test, visits.opcode[2], VIRTIO_PAGODA_OP_READ_PHYSICAL);

	visits.count = 0;
	data[80] = 0;
	pagoda_paging_walk(data, 112, 40, paging_print_visit, &visits);
	KUNIT_EXPECT_EQ(test, visits.count, 1);
	KUNIT_EXPECT_EQ(test, visits.opcode[0], VIRTIO_PAGODA_OP_FILL);
}

/*
 * pagoda_paging_ends(), for traces and the journal, returns the addresses at which a piece of a
 * transfer begins, and the root, start and size of a flushed range.
 */
static void print_ends_of_pieces(struct kunit *test)
{
	const struct pagoda_paging_op transfer = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.offset = 0x2000,
			.size = 0x3000,
			.src = { VIRTIO_PAGODA_SEGMENT_APERTURE, 1, 0x40000 },
			.dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x100000 },
		},
	};
	const struct pagoda_paging_op flush = {
		.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
		.flush_tlb = {
			.root_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.root_address = 0x7000,
			.address_space = 1,
			.start = 0x200000,
			.end = 0x204000,
		},
	};
	struct pagoda_paging_ends ends = pagoda_paging_ends(&transfer);

	KUNIT_EXPECT_EQ(test, 0x42000ull, ends.source);
	KUNIT_EXPECT_EQ(test, 0x102000ull, ends.address);
	KUNIT_EXPECT_EQ(test, 0x3000ull, ends.size);
	KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_SEGMENT_APERTURE, (u32)ends.src_segment);
	KUNIT_EXPECT_EQ(test, (u32)VIRTIO_PAGODA_SEGMENT_VRAM, (u32)ends.dst_segment);
	ends = pagoda_paging_ends(&flush);
	KUNIT_EXPECT_EQ(test, 0x7000ull, ends.source);
	KUNIT_EXPECT_EQ(test, 0x200000ull, ends.address);
	KUNIT_EXPECT_EQ(test, 0x4000ull, ends.size);
}

static struct kunit_case print_cases[] = {
	KUNIT_CASE_PARAM(print_golden_test, pagoda_golden_gen_params),
	KUNIT_CASE(print_flush_test),
	KUNIT_CASE(print_malformed_test),
	KUNIT_CASE(print_random_test),
	KUNIT_CASE(walk_test),
	KUNIT_CASE(print_ends_of_pieces),
	{ }
};

static struct kunit_suite print_suite = {
	.name = "pagoda_paging_print",
	.test_cases = print_cases,
};

kunit_test_suite(print_suite);
