// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers of tiled surfaces, context updates, fence notices and maps of the device MMU, split
 * over buffers of any size: the packets of all buffers together are the operation, unit by unit
 * (page, fence or eight bytes) and in order, and the operation's cost is never exceeded.
 */
#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define PAGODA_SEED		20261124
#define PAGODA_LIST_PAGES	48
#define PAGODA_LIST_SKIP	3
#define PAGODA_UNITS		(PAGODA_LIST_PAGES - PAGODA_LIST_SKIP)
#define PAGODA_CAPACITY		3072
#define PAGODA_PRIVATE		(64 * PAGODA_PAGING_MIN_PRIVATE)
#define PAGODA_SURFACE		0x200000ull
#define PAGODA_PIECE		(5 * 4096ull)	/* start in the surface's linear view */

struct pagoda_state_case {
	const char *name;
	u32 operation;
	u32 flags;
	u32 head;
	u32 unit;
	bool in;
};

static const struct pagoda_state_case paging_state_state_cases[] = {
	{ "swizzle", VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_TRANSFER_SWIZZLE, 104, 16, true },
	{ "unswizzle", VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_TRANSFER_UNSWIZZLE, 104, 16 },
	{ "lock in", VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, 0, 112, 16, true },
	{ "lock out", VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER, 0, 112, 16 },
	{ "map mmu", VIRTIO_PAGODA_OP_MAP_MMU, VIRTIO_PAGODA_MAP_MMU_READ_ONLY, 40, 16 },
	{ "fences", VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY, 0, 24, 24 },
	{ "update context", VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION, 0, 40, 8 },
};

const u32 pagoda_state_multipass[] = {
	VIRTIO_PAGODA_OP_TRANSFER, VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER,
	VIRTIO_PAGODA_OP_MAP_MMU, VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY,
	VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION, 0
};

KUNIT_ARRAY_PARAM_DESC(pagoda_state, paging_state_state_cases, name);

/* A unit of an operation, as packets have it: a page, a fence, or eight bytes. */
struct pagoda_unit {
	u64 where;
	u64 what;
	u64 more;
};

struct pagoda_state_setup {
	struct kunit *test;
	const struct pagoda_state_case *c;
	struct pagoda_paging_limits limits;
	struct pagoda_paging_op op;
	struct pagoda_pages pages;
	struct pagoda_fence_residency fences[PAGODA_UNITS];
	u64 data[PAGODA_UNITS];
	struct pagoda_unit want[PAGODA_UNITS];
	struct pagoda_unit got[PAGODA_UNITS];
	u32 nr_got;
	u32 packets;
	u32 encoded;
	u32 starts;
	u32 ends;
	struct pagoda_guarded guarded;
	struct rnd_state rnd;
};

static void state_tiled(struct pagoda_state_setup *s)
{
	const struct pagoda_side surface = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = PAGODA_SURFACE,
	};
	const struct pagoda_side list = { .adl = &s->pages.adl };
	u32 i;

	s->op.transfer = (struct pagoda_op_transfer) {
		.offset = PAGODA_PIECE,
		.size = PAGODA_UNITS * 4096,
		.mdl_offset = PAGODA_LIST_SKIP,
		.flags = s->c->flags | VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END,
		.src = s->c->in ? list : surface,
		.dst = s->c->in ? surface : list,
		.range_id = 2,
		.range_data = 99,
		.layout = { VIRTIO_PAGODA_TILING_64K, 256, 512, 3 },
		.surface_size = 1 << 20,
	};
	for (i = 0; i < PAGODA_UNITS; i++)
		s->want[i] = (struct pagoda_unit) {
			.where = PAGODA_PIECE + i * 4096,
			.what = pagoda_pages_at(&s->pages, PAGODA_LIST_SKIP + i),
			.more = PAGODA_SURFACE,
		};
}

static void paging_state_state_map(struct pagoda_state_setup *s)
{
	u32 i;

	s->op.map_mmu = (struct pagoda_op_map_mmu) {
		.address = 0x7000,
		.nr_pages = PAGODA_UNITS,
		.adl_offset = PAGODA_LIST_SKIP,
		.adl = &s->pages.adl,
		.flags = s->c->flags,
	};
	for (i = 0; i < PAGODA_UNITS; i++)
		s->want[i] = (struct pagoda_unit) {
			.where = 0x7000 + i * 4096,
			.what = pagoda_pages_at(&s->pages, PAGODA_LIST_SKIP + i),
		};
}

static void state_fences(struct pagoda_state_setup *s)
{
	u32 i;

	s->op.notify_fences = (struct pagoda_op_notify_fences) { PAGODA_UNITS, s->fences };
	for (i = 0; i < PAGODA_UNITS; i++) {
		s->fences[i] = (struct pagoda_fence_residency) { i + 1, 8 * i, 0x1000 + 8 * i };
		s->want[i] = (struct pagoda_unit) { i + 1, 8 * i, 0x1000 + 8 * i };
	}
}

static void state_context(struct pagoda_state_setup *s)
{
	u32 i;

	s->op.update_context = (struct pagoda_op_update_context) {
		.address = 0x5000,
		.size = 0x4000,
		.data = s->data,
		.data_size = sizeof(s->data),
		.data_offset = 0x48,
	};
	for (i = 0; i < PAGODA_UNITS; i++) {
		s->data[i] = 0x100000000ull * i + 7;
		s->want[i] = (struct pagoda_unit) { 0x48 + 8 * i, s->data[i], 0x5000 };
	}
}

static void state_setup_init(struct kunit *test, struct pagoda_state_setup *s)
{
	const char *why = "";

	s->test = test;
	s->c = test->param_value;
	prandom_seed_state(&s->rnd, PAGODA_SEED);
	s->limits = pagoda_test_limits(1000);
	s->op.operation = s->c->operation;
	s->op.allocation = 42;
	pagoda_pages_scattered(test, &s->pages, 0x100000000, PAGODA_LIST_PAGES, 3, &s->rnd);
	if (s->c->head == 40 && s->c->unit == 8)
		state_context(s);
	else if (s->c->operation == VIRTIO_PAGODA_OP_MAP_MMU)
		paging_state_state_map(s);
	else if (s->c->operation == VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY)
		state_fences(s);
	else
		state_tiled(s);
	pagoda_guarded_init(test, &s->guarded, PAGODA_CAPACITY, PAGODA_PRIVATE);
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&s->limits, &s->op, &why), 0, "%s", why);
}

static void state_unit(struct pagoda_state_setup *s, u64 where, u64 what, u64 more)
{
	KUNIT_ASSERT_LT(s->test, s->nr_got, PAGODA_UNITS);
	s->got[s->nr_got++] = (struct pagoda_unit) { where, what, more };
}

/*
 * Records a unit for each page of @nr_runs runs; @where is the first page's offset in the surface,
 * or device address. Returns the number of pages.
 */
static u64 state_runs(struct pagoda_state_setup *s, const struct virtio_pagoda_run *run,
		      u32 nr_runs, u64 where, u64 more)
{
	u64 pages = 0, page;

	KUNIT_ASSERT_LE(s->test, nr_runs, s->limits.max_runs);
	for (; nr_runs; nr_runs--, run++) {
		for (page = 0; page < le32_to_cpu(run->nr_pages); page++, pages++)
			state_unit(s, where + pages * 4096, le64_to_cpu(run->address) + page * 4096,
				   more);
	}
	return pages;
}

static void state_tiled_decode(struct pagoda_state_setup *s,
			       const struct virtio_pagoda_transfer *transfer)
{
	const struct virtio_pagoda_location *surface = s->c->in ? &transfer->dst : &transfer->src;
	const struct virtio_pagoda_location *list = s->c->in ? &transfer->src : &transfer->dst;
	bool lock = s->c->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	const struct virtio_pagoda_tiled *tiled = (const void *)transfer + (lock ? 80 : 72);
	u32 flags = le16_to_cpu(transfer->packet.flags);
	u64 pages;

	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(tiled->surface_size), 1 << 20);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(tiled->layout.height), 512);
	KUNIT_ASSERT_EQ(s->test, flags & 3, s->c->flags);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(surface->nr_runs), 0);
	if (lock)
		KUNIT_ASSERT_EQ(s->test, le32_to_cpu(((const __le32 *)transfer)[18]), 2);
	s->starts += flags & VIRTIO_PAGODA_TRANSFER_START && !s->nr_got;
	pages = state_runs(s, (const void *)(tiled + 1), le32_to_cpu(list->nr_runs),
			   le64_to_cpu(tiled->offset), le64_to_cpu(surface->address));
	KUNIT_ASSERT_EQ(s->test, pages * 4096, le64_to_cpu(transfer->size));
	s->ends += flags & VIRTIO_PAGODA_TRANSFER_END && s->nr_got == PAGODA_UNITS;
	KUNIT_ASSERT_EQ(s->test, !!(flags & VIRTIO_PAGODA_TRANSFER_END),
			s->nr_got == PAGODA_UNITS);
}

static void state_decode(struct pagoda_state_setup *s, const void *packet)
{
	const struct virtio_pagoda_notify_fence_residency *notify = packet;
	const struct virtio_pagoda_update_context_allocation *update = packet;
	const struct virtio_pagoda_fence_residency *fence = (const void *)(notify + 1);
	const struct virtio_pagoda_map_mmu *map = packet;
	const __le64 *word = (const void *)(update + 1);
	u32 i;

	switch (s->c->operation) {
	case VIRTIO_PAGODA_OP_MAP_MMU:
		KUNIT_ASSERT_EQ(s->test, le16_to_cpu(map->packet.flags), s->c->flags);
		KUNIT_ASSERT_EQ(s->test,
				state_runs(s, (const void *)(map + 1), le32_to_cpu(map->nr_runs),
					   le64_to_cpu(map->address), 0),
				le64_to_cpu(map->nr_pages));
		break;
	case VIRTIO_PAGODA_OP_NOTIFY_FENCE_RESIDENCY:
		for (i = 0; i < le32_to_cpu(notify->nr_fences); i++)
			state_unit(s, le64_to_cpu(fence[i].fence),
				   le64_to_cpu(fence[i].current_value),
				   le64_to_cpu(fence[i].monitored_value));
		break;
	case VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION:
		for (i = 0; i < le32_to_cpu(update->data_size); i += 8)
			state_unit(s, le32_to_cpu(update->data_offset) + i,
				   le64_to_cpu(word[i / 8]), le64_to_cpu(update->address));
		break;
	default:
		state_tiled_decode(s, packet);
	}
}

/* Makes one build call with a fresh buffer and checks what must hold after any call. */
static enum pagoda_build state_pass(struct pagoda_state_setup *s,
				    struct pagoda_paging_cursor *cursor, u32 size)
{
	const u8 *data = pagoda_guarded_data(&s->guarded);
	u64 done = cursor->done;
	enum pagoda_build ret;
	u32 offset = 0;

	pagoda_guarded_fresh(&s->guarded, size, PAGODA_PRIVATE);
	ret = pagoda_paging_build(&s->limits, &s->op, cursor, &s->guarded.buf);
	pagoda_guarded_check(s->test, &s->guarded);
	KUNIT_ASSERT_EQ(s->test, cursor->done > done, size >= s->c->head + s->c->unit);
	while (offset < s->guarded.buf.write_offset) {
		const struct virtio_pagoda_packet *packet = (const void *)(data + offset);

		KUNIT_ASSERT_EQ(s->test, le16_to_cpu(packet->opcode), s->c->operation);
		KUNIT_ASSERT_EQ(s->test, le64_to_cpu(packet->allocation), 42);
		state_decode(s, packet);
		offset += le32_to_cpu(packet->length);
		s->packets++;
	}
	KUNIT_ASSERT_EQ(s->test, offset, s->guarded.buf.write_offset);
	s->encoded += offset;
	return ret;
}

/*
 * Builds the whole operation, into a buffer of @first bytes and then into others of random sizes
 * from @low to @high, and expects the decoded units to be the operation's units in order.
 */
static void state_passes(struct pagoda_state_setup *s, u32 first, u32 low, u32 high)
{
	bool tiled = s->c->operation == VIRTIO_PAGODA_OP_TRANSFER ||
		     s->c->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER;
	struct pagoda_paging_cursor cursor = { };
	u32 size = first, passes = 0;

	s->nr_got = 0;
	s->packets = 0;
	s->encoded = 0;
	s->starts = 0;
	s->ends = 0;
	while (state_pass(s, &cursor, size) == PAGODA_BUILD_INSUFFICIENT_BUFFER) {
		KUNIT_ASSERT_LE(s->test, passes++, 2 * PAGODA_UNITS);
		size = pagoda_random(&s->rnd, low, high);
	}
	KUNIT_ASSERT_EQ(s->test, s->nr_got, PAGODA_UNITS);
	KUNIT_ASSERT_EQ(s->test, memcmp(s->got, s->want, sizeof(s->want)), 0);
	KUNIT_ASSERT_EQ(s->test, s->starts, tiled);
	KUNIT_ASSERT_EQ(s->test, s->ends, tiled);
}

/*
 * With buffers of every size: buffers too small for a packet make no progress; in all larger ones
 * the packets carry all units in order. No byte is written outside of a buffer.
 */
static void state_sizes_test(struct kunit *test)
{
	struct pagoda_state_setup *s = test_zalloc(test, sizeof(*s));
	u32 size;

	state_setup_init(test, s);
	for (size = 0; size < s->c->head + s->c->unit; size++) {
		struct pagoda_paging_cursor cursor = { };

		KUNIT_ASSERT_EQ(test, state_pass(s, &cursor, size),
				PAGODA_BUILD_INSUFFICIENT_BUFFER);
	}
	for (; size < s->c->head + (PAGODA_UNITS + 2) * s->c->unit; size++)
		state_passes(s, size, size, size);
	KUNIT_EXPECT_EQ(test, s->packets, 1);
	state_passes(s, PAGODA_PAGING_MIN_BUFFER, PAGODA_PAGING_MIN_BUFFER,
		     PAGODA_PAGING_MIN_BUFFER);
	PAGODA_PROVES(C2, C3, C4, C5, C9);
}

/*
 * With random sizes of buffers and few runs per packet, the packets and bytes that
 * pagoda_paging_cost() announces are never exceeded.
 */
static void state_cost_test(struct kunit *test)
{
	struct pagoda_state_setup *s = test_zalloc(test, sizeof(*s));
	u32 i;

	state_setup_init(test, s);
	for (i = 0; i < 300; i++) {
		u32 low = pagoda_random(&s->rnd, PAGODA_PAGING_MIN_BUFFER, 900);
		struct pagoda_paging_cost cost;

		s->limits.max_runs = pagoda_random(&s->rnd, 2, 40);
		cost = pagoda_paging_cost(&s->limits, &s->op, low);
		state_passes(s, pagoda_random(&s->rnd, 0, 900), low, low + 300);
		KUNIT_ASSERT_LE(test, s->packets, cost.packets);
		KUNIT_ASSERT_LE(test, s->encoded, cost.encoded);
	}
	PAGODA_PROVES(C5);
}

static struct kunit_case paging_state_cases[] = {
	KUNIT_CASE_PARAM(state_sizes_test, pagoda_state_gen_params),
	KUNIT_CASE_PARAM(state_cost_test, pagoda_state_gen_params),
	{ }
};

static struct kunit_suite paging_state_suite = {
	.name = "pagoda_paging_state",
	.test_cases = paging_state_cases,
};

kunit_test_suite(paging_state_suite);
