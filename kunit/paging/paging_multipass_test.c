// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of multipass: however a TRANSFER or an aperture map is split over buffers, the packets of
 * all buffers together have the effect of one unlimited buffer; every buffer has whole packets
 * only; nothing is written outside of a buffer. Also tested: costs are never exceeded, a contiguous
 * list is one run, all packets of an operation have its flags, generation and the like, and sizes
 * beyond 4 GiB are encoded right.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define PAGODA_LIST_PAGES	48
#define PAGODA_LIST_SKIP	3
#define PAGODA_PAGES_MOVED	(PAGODA_LIST_PAGES - PAGODA_LIST_SKIP)
/* Of the last page a TRANSFER covers 20 bytes; maps cover whole pages. */
#define PAGODA_BYTES_MOVED	((PAGODA_PAGES_MOVED - 1) * 4096ull + 20)
#define PAGODA_CAPACITY		8192
#define PAGODA_PRIV_CAPACITY	(64 * PAGODA_PAGING_MIN_PRIVATE)

enum pagoda_list { SCATTERED, CONTIGUOUS, VRAM, APERTURE };

/* An operation that may need several packets. */
struct pagoda_case {
	const char *name;
	u32 operation;
	enum pagoda_list src;
	enum pagoda_list dst;
};

static const struct pagoda_case paging_multipass_cases[] = {
	{ "vram to scattered", VIRTIO_PAGODA_OP_TRANSFER, VRAM, SCATTERED },
	{ "scattered to vram", VIRTIO_PAGODA_OP_TRANSFER, SCATTERED, VRAM },
	{ "vram to contiguous", VIRTIO_PAGODA_OP_TRANSFER, VRAM, CONTIGUOUS },
	{ "contiguous to vram", VIRTIO_PAGODA_OP_TRANSFER, CONTIGUOUS, VRAM },
	{ "vram to vram", VIRTIO_PAGODA_OP_TRANSFER, VRAM, VRAM },
	{ "aperture to scattered", VIRTIO_PAGODA_OP_TRANSFER, APERTURE, SCATTERED },
	{ "vram to aperture", VIRTIO_PAGODA_OP_TRANSFER, VRAM, APERTURE },
	{ "scattered to scattered", VIRTIO_PAGODA_OP_TRANSFER, SCATTERED, SCATTERED },
	{ "contiguous to scattered", VIRTIO_PAGODA_OP_TRANSFER, CONTIGUOUS, SCATTERED },
	{ "scattered to contiguous", VIRTIO_PAGODA_OP_TRANSFER, SCATTERED, CONTIGUOUS },
	{ "contiguous to contiguous", VIRTIO_PAGODA_OP_TRANSFER, CONTIGUOUS, CONTIGUOUS },
	{ "map scattered", VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, SCATTERED },
	{ "map contiguous", VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, CONTIGUOUS },
	{ "map2 scattered", VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, SCATTERED },
	{ "map2 contiguous", VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, CONTIGUOUS },
};

KUNIT_ARRAY_PARAM_DESC(pagoda_case, paging_multipass_cases, name);

/* The operation of a case, its page lists, and what is needed to build the operation many times. */
struct pagoda_setup {
	struct kunit *test;
	struct pagoda_paging_limits limits;
	struct pagoda_paging_op op;
	struct pagoda_pages src;
	struct pagoda_pages dst;
	struct pagoda_guarded guarded;
	struct pagoda_image image;
	struct rnd_state rnd;
	u32 min_size;
	u32 passes;
};

static void paging_multipass_list_make(struct pagoda_setup *s, enum pagoda_list list, u64 base,
				       struct pagoda_pages *pages)
{
	if (list == CONTIGUOUS)
		pagoda_pages_contiguous(s->test, pages, base, PAGODA_LIST_PAGES);
	else
		pagoda_pages_scattered(s->test, pages, base, PAGODA_LIST_PAGES, 3, &s->rnd);
}

static struct pagoda_side side_make(enum pagoda_list list, u64 base,
				    const struct pagoda_pages *pages)
{
	if (list == VRAM)
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = base,
		};
	if (list == APERTURE)
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_APERTURE,
			.generation = 5,
			.address = 0x8000,
		};
	return (struct pagoda_side) { .adl = &pages->adl };
}

static bool paging_multipass_list_is_pages(enum pagoda_list list)
{
	return list == SCATTERED || list == CONTIGUOUS;
}

static void transfer_setup(struct pagoda_setup *s, const struct pagoda_case *c)
{
	s->op.transfer = (struct pagoda_op_transfer) {
		.offset = 5 * 4096,
		.size = PAGODA_BYTES_MOVED,
		.mdl_offset = PAGODA_LIST_SKIP,
		.flags = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
		.src = side_make(c->src, 0x200000000, &s->src),
		.dst = side_make(c->dst, 0x600000000, &s->dst),
	};
	s->min_size = 72 + 16 * (paging_multipass_list_is_pages(c->src) +
				 paging_multipass_list_is_pages(c->dst));
}

static void map_setup(struct pagoda_setup *s)
{
	s->op.map_aperture = (struct pagoda_op_map_aperture) {
		.first_page = 100,
		.nr_pages = PAGODA_PAGES_MOVED,
		.adl_offset = PAGODA_LIST_SKIP,
		.adl = &s->src.adl,
		.generation = 7,
	};
	s->min_size = 48 + 16;
}

static void setup_init(struct kunit *test, struct pagoda_setup *s, u32 max_runs)
{
	const struct pagoda_case *c = test->param_value;
	const char *why = "";

	memset(s, 0, sizeof(*s));
	s->test = test;
	pagoda_test_seed(test, &s->rnd);
	s->limits = pagoda_test_limits(max_runs);
	paging_multipass_list_make(s, c->src, 0x100000000, &s->src);
	paging_multipass_list_make(s, c->dst, 0x900000000, &s->dst);
	s->op.operation = c->operation;
	s->op.allocation = 42;
	if (c->operation == VIRTIO_PAGODA_OP_TRANSFER)
		transfer_setup(s, c);
	else
		map_setup(s);
	pagoda_guarded_init(test, &s->guarded, PAGODA_CAPACITY, PAGODA_PRIV_CAPACITY);
	pagoda_image_init(test, &s->image, PAGODA_LIST_PAGES);
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&s->limits, &s->op, &why), 0, "%s", why);
}

/* Returns PAGODA_PLACE() of page @i of a transfer's source or destination, according to C30. */
static u64 side_place(const struct pagoda_op_transfer *transfer, const struct pagoda_side *side,
		      const struct pagoda_pages *pages, u64 i)
{
	if (!side->segment)
		return PAGODA_PLACE(0, pagoda_pages_at(pages, transfer->mdl_offset + i));
	return PAGODA_PLACE(side->segment, side->address + transfer->offset + i * 4096);
}

/*
 * Expects the decoded packets to be the operation: every page once, in order, with the right source
 * and destination.
 */
static void image_check(struct pagoda_setup *s)
{
	const struct pagoda_op_transfer *transfer = &s->op.transfer;
	const struct pagoda_op_map_aperture *map = &s->op.map_aperture;
	bool move = s->op.operation == VIRTIO_PAGODA_OP_TRANSFER;
	u64 i;

	KUNIT_ASSERT_EQ(s->test, s->image.nr_pages, PAGODA_PAGES_MOVED);
	for (i = 0; i < PAGODA_PAGES_MOVED; i++) {
		u64 src = move ? side_place(transfer, &transfer->src, &s->src, i) :
				 PAGODA_PLACE(0, pagoda_pages_at(&s->src, map->adl_offset + i));
		u64 dst = move ? side_place(transfer, &transfer->dst, &s->dst, i) :
				 PAGODA_PLACE(2, (map->first_page + i) * 4096);

		KUNIT_ASSERT_EQ(s->test, s->image.src[i], src);
		KUNIT_ASSERT_EQ(s->test, s->image.dst[i], dst);
	}
	if (!move)
		return;
	KUNIT_ASSERT_EQ(s->test, s->image.bytes, PAGODA_BYTES_MOVED);
	KUNIT_ASSERT_EQ(s->test, s->image.starts, 1);
	KUNIT_ASSERT_EQ(s->test, s->image.ends, 1);
	KUNIT_ASSERT_TRUE(s->test, s->image.start_first && s->image.end_last);
}

/*
 * Expects each packet's private data to point, for a side that is a page list, to the packet's
 * first page in the list's struct page array, else to be NULL; @done: the cursor before the call.
 */
static void priv_check(struct pagoda_setup *s, u64 done)
{
	const struct pagoda_paging_private *priv = pagoda_guarded_priv(&s->guarded);
	const u8 *data = pagoda_guarded_data(&s->guarded);
	bool move = s->op.operation == VIRTIO_PAGODA_OP_TRANSFER;
	u64 page = PAGODA_LIST_SKIP + (move ? done / 4096 : done);
	u32 offset = 0;

	while (offset < s->guarded.buf.write_offset) {
		const struct virtio_pagoda_transfer *packet = (const void *)(data + offset);
		const struct virtio_pagoda_map_aperture_segment *map = (const void *)packet;
		const void *src = s->src.cpu_pages + page, *dst = s->dst.cpu_pages + page;

		if (!move)
			dst = src;
		if (!move || s->op.transfer.src.segment)
			src = NULL;
		if (move && s->op.transfer.dst.segment)
			dst = NULL;
		KUNIT_ASSERT_EQ(s->test, priv->offset, offset);
		KUNIT_ASSERT_PTR_EQ(s->test, priv->src_pages, src);
		KUNIT_ASSERT_PTR_EQ(s->test, priv->dst_pages, dst);
		page += move ? DIV_ROUND_UP(le64_to_cpu(packet->size), 4096) :
			       le64_to_cpu(map->nr_pages);
		offset += le32_to_cpu(packet->packet.length);
		priv++;
	}
	KUNIT_ASSERT_PTR_EQ(s->test, (void *)s->guarded.buf.priv, (void *)priv);
}

/* Makes one build call with a fresh buffer and checks what must hold after any call. */
static enum pagoda_build paging_multipass_pass(struct pagoda_setup *s,
					       struct pagoda_paging_cursor *cursor, u32 size,
					       u32 priv_size)
{
	struct pagoda_paging_op before = s->op;
	u64 done = cursor->done;
	enum pagoda_build ret;
	bool progress;

	pagoda_guarded_fresh(&s->guarded, size, priv_size);
	ret = pagoda_paging_build(&s->limits, &s->op, cursor, &s->guarded.buf);
	KUNIT_ASSERT_TRUE(s->test, ret == PAGODA_BUILD_SUCCESS ||
			  ret == PAGODA_BUILD_INSUFFICIENT_BUFFER);
	pagoda_guarded_check(s->test, &s->guarded);
	KUNIT_ASSERT_EQ(s->test, memcmp(&before, &s->op, sizeof(before)), 0);
	KUNIT_ASSERT_TRUE(s->test, pagoda_image_add(&s->image, pagoda_guarded_data(&s->guarded),
						    s->guarded.buf.write_offset,
						    s->limits.max_runs));
	priv_check(s, done);
	progress = cursor->done > done;
	KUNIT_ASSERT_EQ(s->test, progress, !!s->guarded.buf.write_offset);
	KUNIT_ASSERT_EQ(s->test, progress,
			size >= s->min_size && priv_size >= PAGODA_PAGING_MIN_PRIVATE);
	s->passes++;
	return ret;
}

/*
 * Builds the whole operation, into a buffer of @first bytes and then into others of random sizes
 * from @low to @high, and expects the packets to be the operation.
 */
static void paging_multipass_passes(struct pagoda_setup *s, u32 first, u32 low, u32 high,
				    u32 priv_size)
{
	struct pagoda_paging_cursor cursor = { };
	u32 size = first;

	pagoda_image_reset(&s->image);
	s->passes = 0;
	while (paging_multipass_pass(s, &cursor, size, priv_size) ==
	       PAGODA_BUILD_INSUFFICIENT_BUFFER) {
		KUNIT_ASSERT_LE(s->test, s->passes, 2 * PAGODA_LIST_PAGES);
		size = pagoda_random(&s->rnd, low, high);
	}
	image_check(s);
}

/*
 * With buffers of every size, from 0 to more than the whole operation needs: buffers too small for
 * a packet make no progress, in all larger ones the operation is built.
 */
static void paging_multipass_every_size_test(struct kunit *test)
{
	static const u32 max_runs[] = { 2, 5, 1000 };
	struct pagoda_setup *s = test_zalloc(test, sizeof(*s));
	u32 i, size, past;

	for (i = 0; i < ARRAY_SIZE(max_runs); i++) {
		setup_init(test, s, max_runs[i]);
		for (size = 0, past = 0; past < 40; size++) {
			struct pagoda_paging_cursor cursor = { };

			KUNIT_ASSERT_LE(test, size, PAGODA_CAPACITY);
			if (size < s->min_size) {
				pagoda_image_reset(&s->image);
				KUNIT_ASSERT_EQ(test,
						paging_multipass_pass(s, &cursor, size,
								      PAGODA_PRIV_CAPACITY),
						PAGODA_BUILD_INSUFFICIENT_BUFFER);
				continue;
			}
			paging_multipass_passes(s, size, size, size, PAGODA_PRIV_CAPACITY);
			past += s->passes == 1;
			PAGODA_PROVES(C1, C2, C3, C4, C5, C30);
		}
		KUNIT_EXPECT_LE(test, s->min_size, PAGODA_PAGING_MIN_BUFFER);
	}
}

/*
 * The operation is built in buffers of random sizes, of which the first may be as small as the rest
 * of a used buffer.
 */
static void random_split_test(struct kunit *test)
{
	struct pagoda_setup *s = test_zalloc(test, sizeof(*s));
	u32 i;

	setup_init(test, s, 6);
	for (i = 0; i < 400; i++) {
		s->limits.max_runs = pagoda_random(&s->rnd, 2, 40);
		paging_multipass_passes(s, pagoda_random(&s->rnd, 0, 600), s->min_size,
					pagoda_random(&s->rnd, s->min_size, 1500),
					PAGODA_PRIV_CAPACITY);
	}
	PAGODA_PROVES(C5);
}

/*
 * The operation is built in buffers of the smallest size, PAGODA_PAGING_MIN_BUFFER, with private
 * data for one packet each.
 */
static void min_buffer_test(struct kunit *test)
{
	static const u32 max_runs[] = { 2, 3, 1000 };
	struct pagoda_setup *s = test_zalloc(test, sizeof(*s));
	u32 i;

	for (i = 0; i < ARRAY_SIZE(max_runs); i++) {
		setup_init(test, s, max_runs[i]);
		paging_multipass_passes(s, PAGODA_PAGING_MIN_BUFFER, PAGODA_PAGING_MIN_BUFFER,
					PAGODA_PAGING_MIN_BUFFER, PAGODA_PAGING_MIN_PRIVATE);
		PAGODA_PROVES(C9);
	}
}

/*
 * The packets and bytes that pagoda_paging_cost() announces are never exceeded; for a large buffer
 * pagoda_paging_cost() announces at most a packet more than the operation takes.
 */
static void cost_test(struct kunit *test)
{
	struct pagoda_setup *s = test_zalloc(test, sizeof(*s));
	u32 i, low;

	setup_init(test, s, 6);
	for (i = 0; i < 400; i++) {
		struct pagoda_paging_cost cost;

		s->limits.max_runs = pagoda_random(&s->rnd, 2, 60);
		low = pagoda_random(&s->rnd, 0, 900);
		cost = pagoda_paging_cost(&s->limits, &s->op, low);
		low = max(low, PAGODA_PAGING_MIN_BUFFER);
		paging_multipass_passes(s, pagoda_random(&s->rnd, 0, 2000), low, low + 600,
					PAGODA_PRIV_CAPACITY);
		KUNIT_ASSERT_LE(test, s->image.packets, cost.packets);
		KUNIT_ASSERT_LE(test, s->image.encoded, cost.encoded);
		KUNIT_ASSERT_EQ(test, cost.moved, s->image.bytes);
	}
	s->limits.max_runs = 1000;
	paging_multipass_passes(s, PAGODA_CAPACITY, 1, 1, PAGODA_PRIV_CAPACITY);
	KUNIT_EXPECT_EQ(test, s->image.packets, 1);
	KUNIT_EXPECT_LE(test, pagoda_paging_cost(&s->limits, &s->op, PAGODA_CAPACITY).packets, 2);
	KUNIT_EXPECT_LE(test, pagoda_paging_cost(&s->limits, &s->op, PAGODA_CAPACITY).encoded,
			s->image.encoded + 72 + 16);
}

/* A contiguous list is encoded as a single run, and so are the consecutive pages of an array. */
static void contiguous_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(1000);
	struct pagoda_pages contiguous, list;
	struct pagoda_image images[2];
	struct rnd_state rnd;
	u32 i, page;

	prandom_seed_state(&rnd, 1);
	pagoda_pages_contiguous(test, &contiguous, 0x100002000, 1000);
	pagoda_pages_scattered(test, &list, 0x100000000, 1000, 1, &rnd);
	for (page = 0; page < 1000; page++)
		list.addresses[page] = 0x100002000 + page * 4096ull;
	for (i = 0; i < 2; i++) {
		struct pagoda_paging_op op = {
			.operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2,
			.map_aperture = {
				.first_page = 9,
				.nr_pages = 900,
				.adl_offset = 50,
				.adl = i ? &contiguous.adl : &list.adl,
				.generation = 3,
			},
		};
		struct pagoda_paging_cursor cursor = { };
		struct pagoda_guarded guarded;

		pagoda_guarded_init(test, &guarded, 512, 64);
		pagoda_guarded_fresh(&guarded, 512, 64);
		pagoda_image_init(test, &images[i], 1000);
		KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &op, &cursor, &guarded.buf),
				PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_EQ(test, guarded.buf.write_offset, 48 + 16);
		KUNIT_ASSERT_TRUE(test, pagoda_image_add(&images[i], pagoda_guarded_data(&guarded),
							 guarded.buf.write_offset, 1000));
		KUNIT_EXPECT_EQ(test, images[i].nr_pages, 900);
	}
	KUNIT_EXPECT_MEMEQ(test, images[0].src, images[1].src, 900 * sizeof(u64));
	KUNIT_EXPECT_MEMEQ(test, images[0].dst, images[1].dst, 900 * sizeof(u64));
	PAGODA_PROVES(C65);
}

/*
 * Builds into a buffer with @room bytes, and private data for one packet, from @cursor on, and
 * expects the result @expected. Returns the packet.
 */
static const struct virtio_pagoda_transfer *
one_packet(struct kunit *test, const struct pagoda_paging_op *op, u32 max_runs, u32 room,
	   struct pagoda_paging_cursor *cursor, enum pagoda_build expected)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(max_runs);
	struct pagoda_guarded *guarded = test_zalloc(test, sizeof(*guarded));
	const char *why = "";

	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&limits, op, &why), 0, "%s", why);
	pagoda_guarded_init(test, guarded, 512, 64);
	pagoda_guarded_fresh(guarded, room, PAGODA_PAGING_MIN_PRIVATE);
	KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, op, cursor, &guarded->buf), expected);
	pagoda_guarded_check(test, guarded);
	KUNIT_ASSERT_GE(test, guarded->buf.write_offset, 72);
	return (const void *)pagoda_guarded_data(guarded);
}

/* Sizes and offsets beyond 4 GiB are encoded right, for VRAM and for a contiguous list. */
static void beyond_4g_test(struct kunit *test)
{
	struct pagoda_adl adl = { .nr_pages = U32_MAX, .contiguous = true, .base = 1ull << 40 };
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.offset = 10ull << 30,
			.size = (6ull << 30) + 8,
			.mdl_offset = 3,
			.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x1000 },
			.dst = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 1ull << 39 },
		},
	};
	struct pagoda_paging_cursor cursor = { };
	const struct virtio_pagoda_transfer *packet;
	const struct virtio_pagoda_run *run;

	packet = one_packet(test, &op, 2, 72, &cursor, PAGODA_BUILD_SUCCESS);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(packet->size), (6ull << 30) + 8);
	KUNIT_EXPECT_EQ(test, cursor.done, (6ull << 30) + 8);

	op.transfer.dst = (struct pagoda_side) { .adl = &adl };
	cursor.done = 5ull << 30;
	packet = one_packet(test, &op, 2, 88, &cursor, PAGODA_BUILD_SUCCESS);
	run = (const void *)(packet + 1);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(packet->size), (1ull << 30) + 8);
	KUNIT_EXPECT_EQ(test, le64_to_cpu(packet->src.address), 0x1000 + (15ull << 30));
	KUNIT_EXPECT_EQ(test, le64_to_cpu(run->address), (1ull << 40) + 3 * 4096 + (5ull << 30));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(run->nr_pages), (1u << 18) + 1);
	KUNIT_EXPECT_EQ(test, cursor.done, (6ull << 30) + 8);
	PAGODA_PROVES(C5);
}

/* Builds a copy of six 1 GiB runs, a packet each: cursor and addresses are right beyond 4 GiB. */
static void progress_beyond_4g_test(struct kunit *test)
{
	u64 nr_pages = 6ull << 18, i;
	dma_addr_t *addresses = kvmalloc_array(nr_pages, sizeof(*addresses), GFP_KERNEL);
	struct pagoda_adl adl = { .nr_pages = nr_pages, .pages = addresses };
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_TRANSFER,
		.transfer = {
			.size = 6ull << 30,
			.src = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, 0x1000 },
			.dst = { .adl = &adl },
		},
	};
	struct pagoda_paging_cursor cursor = { };

	KUNIT_ASSERT_NOT_NULL(test, addresses);
	for (i = 0; i < nr_pages; i++)
		addresses[i] = (1ull << 40) + i * 4096 + (i >> 18) * 0x100000;
	for (i = 0; i < 6; i++) {
		int status = i == 5 ? PAGODA_BUILD_SUCCESS : PAGODA_BUILD_INSUFFICIENT_BUFFER;
		const struct virtio_pagoda_transfer *packet;
		const struct virtio_pagoda_run *run;

		packet = one_packet(test, &op, 2, 88, &cursor, status);
		run = (const void *)(packet + 1);
		KUNIT_EXPECT_EQ(test, cursor.done, (i + 1) << 30);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(packet->size), 1ull << 30);
		KUNIT_EXPECT_EQ(test, le64_to_cpu(packet->src.address), 0x1000 + (i << 30));
		KUNIT_EXPECT_EQ(test, le64_to_cpu(run->address), addresses[i << 18]);
	}
	kvfree(addresses);
	PAGODA_PROVES(C5);
}

/* ---- Fields that all packets of an operation repeat --------------------------------- */

/*
 * Fields that all packets of an operation have in common; @flags without flags that only the first
 * or the last packet has (START, END, INITIAL).
 */
struct pagoda_common {
	u32 flags;
	u32 generation;
	u32 space;
	u32 level;
	u32 tiling;
	u32 segment;
	u64 protection;
};

struct pagoda_repeats {
	const char *name;
	struct pagoda_paging_op op;
	struct pagoda_common common;
};

#define REPEATS_SURFACE { .segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = 0x10000 }
#define REPEATS_LAYOUT { .tiling = VIRTIO_PAGODA_TILING_4K, .pitch = 4096, .height = 64, .mips = 1 }

static const struct pagoda_repeats repeats[] = {
	{ "map", { .operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, .map_aperture = {
		.nr_pages = PAGODA_PAGES_MOVED, .flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT,
		.generation = 7, } },
	  { VIRTIO_PAGODA_MAP_CACHE_COHERENT, 7, .segment = VIRTIO_PAGODA_SEGMENT_APERTURE } },
	{ "map2", { .operation = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, .map_aperture = {
		.nr_pages = PAGODA_PAGES_MOVED, .flags = VIRTIO_PAGODA_MAP_CACHE_COHERENT,
		.generation = 8, } },
	  { VIRTIO_PAGODA_MAP_CACHE_COHERENT, 8, .segment = VIRTIO_PAGODA_SEGMENT_APERTURE } },
	{ "map mmu", { .operation = VIRTIO_PAGODA_OP_MAP_MMU, .map_mmu = {
		.nr_pages = PAGODA_PAGES_MOVED, .flags = VIRTIO_PAGODA_MAP_MMU_READ_ONLY, } },
	  { VIRTIO_PAGODA_MAP_MMU_READ_ONLY } },
	{ "from the aperture", { .operation = VIRTIO_PAGODA_OP_TRANSFER, .transfer = {
		.size = PAGODA_BYTES_MOVED, .flags = VIRTIO_PAGODA_TRANSFER_START,
		.src = { .segment = VIRTIO_PAGODA_SEGMENT_APERTURE, .generation = 9 }, } },
	  { .generation = 9, .segment = VIRTIO_PAGODA_SEGMENT_APERTURE } },
	{ "unswizzle", { .operation = VIRTIO_PAGODA_OP_TRANSFER, .allocation = 42, .transfer = {
		.size = PAGODA_PAGES_MOVED * 4096ull, .flags = VIRTIO_PAGODA_TRANSFER_UNSWIZZLE,
		.src = REPEATS_SURFACE, .layout = REPEATS_LAYOUT, .surface_size = 4096 * 64, } },
	  { VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, .tiling = VIRTIO_PAGODA_TILING_4K,
	    .segment = VIRTIO_PAGODA_SEGMENT_VRAM } },
	{ "update", { .operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, .allocation = 42,
		.update_page_table = { .mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, .nr_entries = 32,
			.flags = VIRTIO_PAGODA_UPDATE_USE_64K | VIRTIO_PAGODA_UPDATE_INITIAL,
			.address_space = 3, .table_entries = 32,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM, .table_address = 0x7000,
			.driver_protection = 0x345, } },
	  { VIRTIO_PAGODA_UPDATE_USE_64K, .space = 3, .segment = VIRTIO_PAGODA_SEGMENT_VRAM,
	    .protection = 0x345 } },
	{ "update above", { .operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = { .mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, .nr_entries = 200,
			.level = 2, .address_space = 4, .table_entries = 512,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM, .table_address = 0x8000, } },
	  { .space = 4, .level = 2, .segment = VIRTIO_PAGODA_SEGMENT_VRAM } },
};

KUNIT_ARRAY_PARAM_DESC(repeats, repeats, name);

static struct pagoda_common common_of_transfer(const struct virtio_pagoda_transfer *transfer)
{
	const u32 one = VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END;
	const struct virtio_pagoda_tiled *tiled = (const void *)(transfer + 1);
	u32 flags = le16_to_cpu(transfer->packet.flags) & ~one;

	return (struct pagoda_common) {
		.flags = flags,
		.generation = le32_to_cpu(transfer->src.generation),
		.tiling = flags ? le32_to_cpu(tiled->layout.tiling) : 0,
		.segment = le32_to_cpu(transfer->src.segment),
	};
}

static struct pagoda_common common_of_update(const struct virtio_pagoda_update_page_table *update)
{
	return (struct pagoda_common) {
		.flags = le16_to_cpu(update->packet.flags) & VIRTIO_PAGODA_UPDATE_USE_64K,
		.space = le32_to_cpu(update->address_space),
		.level = le32_to_cpu(update->level),
		.segment = le32_to_cpu(update->table_segment),
		.protection = le64_to_cpu(update->driver_protection),
	};
}

static struct pagoda_common common_of(const struct virtio_pagoda_packet *packet)
{
	const struct virtio_pagoda_map_aperture_segment *map = (const void *)packet;

	switch (le16_to_cpu(packet->opcode)) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		return common_of_transfer((const void *)packet);
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		return common_of_update((const void *)packet);
	case VIRTIO_PAGODA_OP_MAP_MMU:
		return (struct pagoda_common) { .flags = le16_to_cpu(packet->flags) };
	default:
		return (struct pagoda_common) {
			.flags = le16_to_cpu(packet->flags),
			.generation = le32_to_cpu(map->generation),
			.segment = le32_to_cpu(map->segment),
		};
	}
}

/*
 * Gives @op a scattered page list, or scattered entries, so that the operation takes several
 * buffers.
 */
static void repeats_scatter(struct kunit *test, struct pagoda_paging_op *op,
			    struct pagoda_pages *pages)
{
	u64 *values = test_calloc(test, VIRTIO_PAGODA_PT_ENTRIES, sizeof(*values));
	struct rnd_state rnd;
	u32 i;

	pagoda_test_seed(test, &rnd);
	pagoda_pages_scattered(test, pages, 0x100000000, PAGODA_LIST_PAGES, 1, &rnd);
	switch (op->operation) {
	case VIRTIO_PAGODA_OP_TRANSFER:
		op->transfer.dst.adl = &pages->adl;
		break;
	case VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE:
		for (i = 0; i < op->update_page_table.nr_entries; i++)
			values[i] = (u64)prandom_u32_state(&rnd) << VIRTIO_PAGODA_PAGE_SHIFT;
		op->update_page_table.values = values;
		break;
	case VIRTIO_PAGODA_OP_MAP_MMU:
		op->map_mmu.adl = &pages->adl;
		break;
	default:
		op->map_aperture.adl = &pages->adl;
	}
}

/*
 * All packets of an operation have its generation, space, level, tiling, segment and protection,
 * and its flags but START, END and INITIAL.
 */
static void every_packet_test(struct kunit *test)
{
	const struct pagoda_paging_limits limits = pagoda_test_limits(4);
	const struct pagoda_repeats *row = test->param_value;
	struct pagoda_paging_op op = row->op;
	struct pagoda_paging_cursor cursor = { };
	struct pagoda_guarded guarded = { };
	struct pagoda_pages pages = { };
	enum pagoda_build ret;
	const char *why = "";
	u32 packets = 0;

	repeats_scatter(test, &op, &pages);
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&limits, &op, &why), 0, "%s", why);
	pagoda_guarded_init(test, &guarded, 200, PAGODA_PAGING_MIN_PRIVATE);
	do {
		struct pagoda_common common;

		pagoda_guarded_fresh(&guarded, 200, PAGODA_PAGING_MIN_PRIVATE);
		ret = pagoda_paging_build(&limits, &op, &cursor, &guarded.buf);
		KUNIT_ASSERT_NE(test, 0u, guarded.buf.write_offset);
		common = common_of((const void *)pagoda_guarded_data(&guarded));
		KUNIT_EXPECT_MEMEQ_MSG(test, &common, &row->common, sizeof(common), "packet %u",
				       packets);
		packets++;
	} while (ret == PAGODA_BUILD_INSUFFICIENT_BUFFER);
	KUNIT_EXPECT_EQ(test, ret, PAGODA_BUILD_SUCCESS);
	KUNIT_EXPECT_GT(test, packets, 2u);
}

const u32 pagoda_multipass_multipass[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
	VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, 0
};

static struct kunit_case multipass_cases[] = {
	KUNIT_CASE_PARAM(paging_multipass_every_size_test, pagoda_case_gen_params),
	KUNIT_CASE_PARAM(random_split_test, pagoda_case_gen_params),
	KUNIT_CASE_PARAM(min_buffer_test, pagoda_case_gen_params),
	KUNIT_CASE_PARAM(cost_test, pagoda_case_gen_params),
	KUNIT_CASE(contiguous_test),
	KUNIT_CASE_PARAM(every_packet_test, repeats_gen_params),
	KUNIT_CASE(beyond_4g_test),
	KUNIT_CASE(progress_beyond_4g_test),
	{ }
};

static struct kunit_suite multipass_suite = {
	.name = "pagoda_multipass",
	.test_cases = multipass_cases,
};

kunit_test_suite(multipass_suite);
