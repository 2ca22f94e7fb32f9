// SPDX-License-Identifier: GPL-2.0
/*
 * UPDATE_PAGE_TABLE and COPY_PAGE_TABLE_ENTRIES, built into buffers of any size: the packets of all
 * buffers together write or copy each entry of the operation once and no other entry, and exceed
 * the announced cost neither in number nor in bytes. Also updates that the build call itself writes
 * (CPU_VIRTUAL), bytes of packets per MiB mapped, and the device's format of an entry.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define PAGODA_FIRST		5
#define PAGODA_ENTRIES		200
#define PAGODA_TABLE_WORDS	1024
#define PAGODA_GARBAGE		0x5a5a5a5a5a5a5a5aull
#define PAGODA_SEED		20261121
#define PAGODA_BUFFER		2048
#define PAGODA_PRIVATE		(64 * PAGODA_PAGING_MIN_PRIVATE)

/* Pattern of the addresses of a case's entries; with ZEROS the entries are invalid. */
enum pagoda_pattern { SCATTERED, RISING, FALLING, MIXED, ZEROS, SHORT_RUNS };

struct pagoda_table_case {
	const char *name;
	enum pagoda_pattern pattern;
	u32 mode;
	u32 level;
	u32 flags;
	bool values;
	bool single;
};

#define PAGODA_PHYSICAL	VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL
#define PAGODA_VIRTUAL	VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL
#define PAGODA_64K	VIRTIO_PAGODA_UPDATE_USE_64K
#define PAGODA_NOTES	(VIRTIO_PAGODA_UPDATE_INITIAL | VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION)

static const struct pagoda_table_case table_cases[] = {
	{ "scattered", SCATTERED, PAGODA_PHYSICAL, 0, PAGODA_NOTES },
	{ "scattered values", SCATTERED, PAGODA_VIRTUAL, 0, 0, true },
	{ "contiguous", RISING, PAGODA_PHYSICAL, 0, 0 },
	{ "falling", FALLING, PAGODA_PHYSICAL, 0, PAGODA_NOTES },
	{ "mixed", MIXED, PAGODA_PHYSICAL, 0, PAGODA_NOTES },
	{ "mixed values", MIXED, PAGODA_PHYSICAL, 0, 0, true },
	{ "short runs", SHORT_RUNS, PAGODA_VIRTUAL, 0, 0 },
	{ "invalid", ZEROS, PAGODA_VIRTUAL, 0, PAGODA_NOTES },
	{ "repeat", SCATTERED, PAGODA_PHYSICAL, 0, VIRTIO_PAGODA_UPDATE_REPEAT | PAGODA_NOTES },
	{ "repeat value", SCATTERED, PAGODA_VIRTUAL, 0, VIRTIO_PAGODA_UPDATE_REPEAT, true },
	{ "64k", SCATTERED, PAGODA_PHYSICAL, 0, PAGODA_64K },
	{ "64k contiguous", RISING, PAGODA_PHYSICAL, 0, PAGODA_64K },
	{ "64k values", MIXED, PAGODA_PHYSICAL, 0, PAGODA_64K, true },
	{ "dual first word", MIXED, PAGODA_PHYSICAL, 1, 0 },
	{ "dual second word", MIXED, PAGODA_PHYSICAL, 1, PAGODA_64K },
	{ "single level 1", MIXED, PAGODA_PHYSICAL, 1, 0, false, true },
	{ "level 2", SCATTERED, PAGODA_PHYSICAL, 2, PAGODA_NOTES },
};

KUNIT_ARRAY_PARAM_DESC(pagoda_table, table_cases, name);

/* A case with its operation; the table that has to result, and the table as packets wrote it. */
struct pagoda_table_setup {
	struct kunit *test;
	const struct pagoda_table_case *c;
	struct pagoda_paging_limits limits;
	struct pagoda_paging_op op;
	struct pagoda_guarded guarded;
	struct rnd_state rnd;
	struct pagoda_pte *ptes;
	u64 *values;
	u64 *expected;
	u64 *image;
	u32 packets;
	u32 encoded;
	u32 initial;
	u32 evicted;
	u32 passes;
	const void *pages[2];
};

static u32 row_entries(const struct pagoda_table_case *c)
{
	return c->flags & PAGODA_64K && !c->level ? 27 : PAGODA_ENTRIES;
}

static u32 row_table_entries(const struct pagoda_table_case *c)
{
	return c->flags & PAGODA_64K && !c->level ? 32 : 512;
}

/* Returns the alignment of the page or, above level 0, of the table that an entry points to. */
static u64 row_unit(const struct pagoda_table_case *c)
{
	if (!c->level)
		return c->flags & PAGODA_64K ? SZ_64K : SZ_4K;
	return c->level == 2 && !c->single ? 2 * SZ_4K : SZ_4K;
}

/*
 * Returns the address of entry @i in units of row_unit(). With SCATTERED no two entries in a row
 * have consecutive addresses.
 */
static u64 row_address(struct pagoda_table_setup *s, u32 i)
{
	u32 block = i / 40, within = i % 40;

	switch (s->c->pattern) {
	case RISING:
		return 1000 + i;
	case FALLING:
		return 5000 - i;
	case SHORT_RUNS:
		return 1000 + i / 16 * 100 + i % 16;
	case MIXED:
		/*
		 * Groups of 40 entries: 25 with consecutive addresses, then 15 without; in each
		 * third group all have the same address.
		 */
		if (block % 3 == 2)
			return 77;
		return within < 25 ? 1000 * (block + 1) + within :
				     9000 + (i ^ 1) * 2 + pagoda_random(&s->rnd, 0, 1);
	default:
		return 1000 + (i ^ 5) * 3 + pagoda_random(&s->rnd, 0, 1);
	}
}

/* Encodes an entry as virtio_pagoda.h says, without pagoda_pte_encode(), which is tested. */
static u64 row_hardware(const struct pagoda_pte *pte, u64 driver)
{
	if (!(pte->flags & 1))
		return 0;
	return (pte->flags & 0x7ff) | pte->address | (driver & 0xfff) << 52;
}

static void row_entries_make(struct pagoda_table_setup *s)
{
	const struct pagoda_table_case *c = s->c;
	u32 i, each = c->flags & PAGODA_64K && !c->level ? 16 : 1;
	u32 word = c->flags & PAGODA_64K && c->level == 1;
	u32 stride = c->level == 1 && !c->single ? 2 : 1;
	u64 driver = c->level ? 0 : 0xdeadbeefcafe0123ull;

	for (i = 0; i < PAGODA_TABLE_WORDS; i++)
		s->expected[i] = PAGODA_GARBAGE;
	for (i = 0; i < row_entries(c); i++) {
		struct pagoda_pte *pte = &s->ptes[i * each];
		u32 j, which = c->flags & VIRTIO_PAGODA_UPDATE_REPEAT ? 0 : i;

		pte->flags = c->pattern == ZEROS ? PAGODA_PTE_READ_ONLY :
			     PAGODA_PTE_VALID | 1ull << PAGODA_PTE_SEGMENT_SHIFT;
		if (!c->level && c->pattern == MIXED && i % 40 == 30)
			pte->flags |= PAGODA_PTE_NO_EXECUTE;
		pte->address = row_address(s, i) * row_unit(c);
		/* Of the 16 entries of a 64 KiB page only the first is used (C88): spoil others. */
		for (j = 1; j < each; j++)
			pte[j] = (struct pagoda_pte) { U64_MAX, 0x123 };
		s->values[i] = row_hardware(pte, driver);
		s->expected[(PAGODA_FIRST + i) * stride + word] = s->values[which];
	}
	s->op.update_page_table.driver_protection = driver;
}

static void table_setup_init(struct kunit *test, struct pagoda_table_setup *s)
{
	const struct pagoda_table_case *c = test->param_value;
	struct pagoda_op_update_page_table *update = &s->op.update_page_table;
	const char *why = "";

	s->test = test;
	s->c = c;
	prandom_seed_state(&s->rnd, PAGODA_SEED);
	s->limits = pagoda_test_limits(16);
	if (c->single)
		s->limits.features &= ~(1ull << VIRTIO_PAGODA_F_DUAL_PTE);
	s->ptes = test_zalloc(s->test, 16 * PAGODA_ENTRIES * sizeof(*s->ptes));
	s->values = test_zalloc(s->test, PAGODA_ENTRIES * sizeof(u64));
	s->expected = test_zalloc(s->test, PAGODA_TABLE_WORDS * sizeof(u64));
	s->image = test_zalloc(s->test, PAGODA_TABLE_WORDS * sizeof(u64));
	pagoda_guarded_init(test, &s->guarded, PAGODA_BUFFER, PAGODA_PRIVATE);
	s->op.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE;
	s->op.allocation = 42;
	*update = (struct pagoda_op_update_page_table) {
		.mode = c->mode,
		.level = c->level,
		.first_entry = PAGODA_FIRST,
		.nr_entries = row_entries(c),
		.flags = c->flags,
		.address_space = 3,
		.table_entries = row_table_entries(c),
		.table_segment = c->mode == PAGODA_PHYSICAL ? VIRTIO_PAGODA_SEGMENT_VRAM : 0,
		.table_address = 0x40000,
		.table_pages = s->pages,
		.first_va = 0x600000,
		.allocation_offset = 0x30000,
	};
	row_entries_make(s);
	if (c->values)
		update->values = s->values;
	else
		update->ptes = s->ptes;
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&s->limits, &s->op, &why), 0, "%s", why);
}

static u64 row_coverage(const struct pagoda_table_case *c)
{
	return c->level || !(c->flags & PAGODA_64K) ? 4096ull << 9 * c->level : SZ_64K;
}

/*
 * Checks the fields of a packet that follows packets with @done entries, and writes the packet's
 * values to @s->image.
 */
static void table_apply(struct pagoda_table_setup *s, const u8 *data, u32 done)
{
	const struct virtio_pagoda_update_page_table *p = (const void *)data;
	const struct pagoda_op_update_page_table *update = &s->op.update_page_table;
	const __le64 *values = (const void *)(data + 80);
	u32 flags = le16_to_cpu(p->packet.flags), nr_entries = le32_to_cpu(p->nr_entries);
	u32 increment = le32_to_cpu(p->increment), nr_values = le32_to_cpu(p->nr_values);
	u32 word = flags & PAGODA_64K && s->c->level == 1;
	u32 stride = s->c->level == 1 && !s->c->single ? 2 : 1, i;

	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->packet.length), 80 + 8 * nr_values);
	KUNIT_ASSERT_EQ(s->test, nr_values,
			flags & VIRTIO_PAGODA_UPDATE_REPEAT || increment ? 1 : nr_entries);
	KUNIT_ASSERT_FALSE(s->test, flags & VIRTIO_PAGODA_UPDATE_REPEAT && increment);
	KUNIT_ASSERT_EQ(s->test, increment % 4096, 0);
	KUNIT_ASSERT_EQ(s->test, flags & PAGODA_64K, s->c->flags & PAGODA_64K);
	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(p->packet.allocation), 42);
	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(p->table_address), update->table_address);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->table_segment), update->table_segment);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->mode), update->mode);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->level), update->level);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->address_space), 3);
	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(p->driver_protection),
			update->driver_protection & ~PAGODA_PROTECTION_UNIQUE);
	KUNIT_ASSERT_EQ(s->test, le32_to_cpu(p->first_entry), PAGODA_FIRST + done);
	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(p->first_va),
			update->first_va + done * row_coverage(s->c));
	KUNIT_ASSERT_EQ(s->test, le64_to_cpu(p->allocation_offset),
			update->allocation_offset + done * row_coverage(s->c));
	for (i = 0; i < nr_entries; i++) {
		u64 value = nr_values == 1 ? le64_to_cpu(values[0]) + (u64)i * increment :
					     le64_to_cpu(values[i]);

		s->image[(PAGODA_FIRST + done + i) * stride + word] = value;
	}
	s->initial += flags & VIRTIO_PAGODA_UPDATE_INITIAL ? 1 : 0;
	s->evicted += flags & VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION ? 1 : 0;
	/* Only the update's first packet has INITIAL, only the update's last NOTIFY_EVICTION. */
	if (flags & VIRTIO_PAGODA_UPDATE_INITIAL)
		KUNIT_ASSERT_EQ(s->test, done, 0);
	if (flags & VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION)
		KUNIT_ASSERT_EQ(s->test, done + nr_entries, update->nr_entries);
}

/*
 * Makes one build call with a fresh buffer of @size bytes. The call has to leave the operation
 * unchanged, encode whole packets with their private data, and advance the cursor by their entries.
 */
static enum pagoda_build table_pass(struct pagoda_table_setup *s,
				    struct pagoda_paging_cursor *cursor, u32 size)
{
	const struct pagoda_paging_private *priv = pagoda_guarded_priv(&s->guarded);
	const u8 *data = pagoda_guarded_data(&s->guarded);
	struct pagoda_paging_op before = s->op;
	u32 done = cursor->done, offset = 0;
	enum pagoda_build ret;

	pagoda_guarded_fresh(&s->guarded, size, PAGODA_PRIVATE);
	ret = pagoda_paging_build(&s->limits, &s->op, cursor, &s->guarded.buf);
	pagoda_guarded_check(s->test, &s->guarded);
	KUNIT_ASSERT_EQ(s->test, memcmp(&before, &s->op, sizeof(before)), 0);
	while (offset < s->guarded.buf.write_offset) {
		const struct virtio_pagoda_update_page_table *p = (const void *)(data + offset);

		table_apply(s, data + offset, done);
		KUNIT_ASSERT_EQ(s->test, priv->offset, offset);
		KUNIT_ASSERT_NULL(s->test, priv->src_pages);
		KUNIT_ASSERT_PTR_EQ(s->test, priv->dst_pages, (const void *)s->pages);
		offset += le32_to_cpu(p->packet.length);
		done += le32_to_cpu(p->nr_entries);
		s->packets++;
		priv++;
	}
	KUNIT_ASSERT_EQ(s->test, cursor->done, done);
	KUNIT_ASSERT_EQ(s->test, offset, s->guarded.buf.write_offset);
	KUNIT_ASSERT_EQ(s->test, !offset, size < 88);
	s->encoded += offset;
	s->passes++;
	return ret;
}

/*
 * Builds the whole update, into a buffer of @first bytes, then into others of random sizes from
 * @low to @high. Packets have to write exactly the expected table.
 */
static void table_passes(struct pagoda_table_setup *s, u32 first, u32 low, u32 high)
{
	struct pagoda_paging_cursor cursor = { };
	u32 size = first, i, notes = s->c->flags & PAGODA_NOTES ? 1 : 0;

	for (i = 0; i < PAGODA_TABLE_WORDS; i++)
		s->image[i] = PAGODA_GARBAGE;
	s->packets = 0;
	s->encoded = 0;
	s->initial = 0;
	s->evicted = 0;
	s->passes = 0;
	while (table_pass(s, &cursor, size) == PAGODA_BUILD_INSUFFICIENT_BUFFER) {
		KUNIT_ASSERT_LE(s->test, s->passes, 2 * PAGODA_ENTRIES);
		size = pagoda_random(&s->rnd, low, high);
	}
	KUNIT_ASSERT_EQ(s->test, cursor.done, s->op.update_page_table.nr_entries);
	KUNIT_ASSERT_MEMEQ(s->test, s->image, s->expected, PAGODA_TABLE_WORDS * sizeof(u64));
	KUNIT_ASSERT_EQ(s->test, s->initial, notes);
	KUNIT_ASSERT_EQ(s->test, s->evicted, notes);
}

/*
 * An update is built completely with buffers of any size from 88 bytes, a packet with one value, to
 * more than the whole update needs; in a smaller buffer nothing is encoded.
 */
static void table_sizes_test(struct kunit *test)
{
	struct pagoda_table_setup *s = test_zalloc(test, sizeof(*s));
	u32 size, past;

	table_setup_init(test, s);
	for (size = 0, past = 0; past < 20; size++) {
		struct pagoda_paging_cursor cursor = { };

		KUNIT_ASSERT_LE(test, size, PAGODA_BUFFER);
		if (size < 88) {
			KUNIT_ASSERT_EQ(test, table_pass(s, &cursor, size),
					PAGODA_BUILD_INSUFFICIENT_BUFFER);
			continue;
		}
		table_passes(s, size, size, size);
		past += s->passes == 1;
		PAGODA_PROVES(C1, C2, C3, C4, C5, C86, C87, C88, C92, C98);
	}
}

/*
 * With buffers of random sizes an update takes no more packets and bytes than pagoda_paging_cost()
 * announces, and the announced moved bytes are exact.
 */
static void table_cost_test(struct kunit *test)
{
	struct pagoda_table_setup *s = test_zalloc(test, sizeof(*s));
	struct pagoda_paging_cost cost;
	u32 i, low;

	table_setup_init(test, s);
	for (i = 0; i < 400; i++) {
		low = pagoda_random(&s->rnd, 0, 900);
		cost = pagoda_paging_cost(&s->limits, &s->op, low);
		low = max(low, PAGODA_PAGING_MIN_BUFFER);
		table_passes(s, pagoda_random(&s->rnd, 0, PAGODA_BUFFER), low, low + 600);
		KUNIT_ASSERT_LE(test, s->packets, cost.packets);
		KUNIT_ASSERT_LE(test, s->encoded, cost.encoded);
		KUNIT_ASSERT_EQ(test, cost.moved, 8 * s->op.update_page_table.nr_entries);
	}
	PAGODA_PROVES(C5, C9);
}

/*
 * In CPU_VIRTUAL mode the build call itself writes the expected table and encodes no packet; the
 * buffer may be NULL or have size 0.
 */
static void table_cpu_test(struct kunit *test)
{
	struct pagoda_table_setup *s = test_zalloc(test, sizeof(*s));
	struct pagoda_op_update_page_table *update;
	struct pagoda_paging_buffer nowhere = { };
	const char *why = "";
	u32 i, round;

	update = &s->op.update_page_table;
	table_setup_init(test, s);
	update->mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	update->table_segment = 0;
	update->table_address = 0;
	update->cpu_table = s->image;
	KUNIT_ASSERT_EQ_MSG(test, pagoda_paging_validate(&s->limits, &s->op, &why), 0, "%s", why);
	KUNIT_EXPECT_EQ(test, pagoda_paging_cost(&s->limits, &s->op, 4096).encoded, 0);
	KUNIT_EXPECT_EQ(test, pagoda_paging_cost(&s->limits, &s->op, 4096).packets, 0);
	for (round = 0; round < 2; round++) {
		struct pagoda_paging_cursor cursor = { };

		for (i = 0; i < PAGODA_TABLE_WORDS; i++)
			s->image[i] = PAGODA_GARBAGE;
		KUNIT_ASSERT_EQ(test, pagoda_paging_build(&s->limits, &s->op, &cursor,
							  round ? &nowhere : NULL),
				PAGODA_BUILD_SUCCESS);
		for (i = 0; i < PAGODA_TABLE_WORDS; i++)
			KUNIT_ASSERT_EQ(test, le64_to_cpu(((__le64 *)s->image)[i]),
					s->expected[i]);
		KUNIT_EXPECT_EQ(test, cursor.done, update->nr_entries);
		KUNIT_EXPECT_EQ(test, nowhere.write_offset, 0);
	}
	PAGODA_PROVES(C76, C86, C87, C88, C92);
}

/*
 * In buffers of 4 KiB, packets take at most 2150 bytes per MiB that is mapped to scattered pages,
 * and at most 64 bytes per MiB that is mapped to consecutive pages.
 */
static void table_density_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(16);
	u64 *values = kunit_kcalloc(test, 512, sizeof(u64), GFP_KERNEL);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = PAGODA_PHYSICAL,
			.nr_entries = 512,
			.table_entries = 512,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.values = values,
		},
	};
	u32 i, scattered, encoded;

	KUNIT_ASSERT_NOT_NULL(test, values);
	for (scattered = 0; scattered < 2; scattered++) {
		struct pagoda_paging_cursor cursor = { };
		struct pagoda_guarded guarded;
		enum pagoda_build ret;

		for (i = 0; i < 512; i++)
			values[i] = 1 + 4096ull * (scattered ? (i ^ 1) * 2 : i);
		pagoda_guarded_init(test, &guarded, 4096, PAGODA_PRIVATE);
		encoded = 0;
		do {
			pagoda_guarded_fresh(&guarded, 4096, PAGODA_PRIVATE);
			ret = pagoda_paging_build(&limits, &op, &cursor, &guarded.buf);
			encoded += guarded.buf.write_offset;
		} while (ret == PAGODA_BUILD_INSUFFICIENT_BUFFER);
		KUNIT_EXPECT_EQ(test, ret, PAGODA_BUILD_SUCCESS);
		KUNIT_EXPECT_LE(test, encoded / 2, scattered ? 2150 : 64);
	}
}

/* Returns the bytes of an update of 3 + @run + @behind entries: only the @run are consecutive. */
static u32 run_bytes(struct kunit *test, struct pagoda_guarded *guarded, u32 run, u32 behind)
{
	static const u64 pages[] = { 0x100, 0x104, 0x10c, 0x5000, 0x5003, 0x5009 };
	struct pagoda_paging_limits limits = pagoda_test_limits(16);
	struct pagoda_paging_cursor cursor = { };
	u64 values[64];
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = PAGODA_PHYSICAL,
			.nr_entries = 3 + run + behind,
			.table_entries = 512,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.values = values,
		},
	};
	u32 i;

	for (i = 0; i < op.update_page_table.nr_entries; i++) {
		u64 page = i < 3 ? pages[i] : i < 3 + run ? 0x1000 + i : pages[i - run];

		values[i] = 1 | page << 12;
	}
	pagoda_guarded_fresh(guarded, PAGODA_BUFFER, PAGODA_PRIVATE);
	KUNIT_ASSERT_EQ(test, pagoda_paging_build(&limits, &op, &cursor, &guarded->buf),
			PAGODA_BUILD_SUCCESS);
	return guarded->buf.write_offset;
}

/*
 * Consecutive entries become a packet of their own, of 88 bytes, if that takes fewer bytes than
 * their values: if entries follow, another packet's head of 80 bytes is needed for these.
 */
static void table_runs_test(struct kunit *test)
{
	struct pagoda_guarded guarded;
	u32 run;

	pagoda_guarded_init(test, &guarded, PAGODA_BUFFER, PAGODA_PRIVATE);
	for (run = 3; run <= 40; run++) {
		KUNIT_EXPECT_EQ_MSG(test, run_bytes(test, &guarded, run, 0),
				    80 + 3 * 8 + min(run * 8, 88), "run of %u at the end", run);
		KUNIT_EXPECT_EQ_MSG(test, run_bytes(test, &guarded, run, 3),
				    80 + 6 * 8 + min(run * 8, 88 + 80), "run of %u", run);
	}
}

/*
 * Encoding a valid entry and decoding the result keeps flags and address. An invalid entry is
 * encoded as 0, an entry with ZERO as VALID, ZERO and DriverProtection.
 */
static void pte_test(struct kunit *test)
{
	struct pagoda_pte pte = { PAGODA_PTE_READ_ONLY, 0x5000 }, back;
	u32 bit;

	KUNIT_EXPECT_EQ(test, pagoda_pte_encode(&pte, U64_MAX), 0);
	pte.flags |= PAGODA_PTE_VALID | PAGODA_PTE_ZERO;
	KUNIT_EXPECT_EQ(test, pagoda_pte_encode(&pte, 0x123), 0x1230000000000003);
	for (bit = 2; bit <= 10; bit++) {
		pte = (struct pagoda_pte) { PAGODA_PTE_VALID | 1ull << bit, 0xfffffffffe000 };
		KUNIT_EXPECT_EQ(test, pagoda_pte_encode(&pte, 0),
				1 | 1ull << bit | 0xfffffffffe000);
		back = pagoda_pte_decode(pagoda_pte_encode(&pte, 0xfff));
		KUNIT_EXPECT_EQ(test, back.flags, pte.flags);
		KUNIT_EXPECT_EQ(test, back.address, pte.address);
	}
	pte = (struct pagoda_pte) { PAGODA_PTE_VALID | 1ull << PAGODA_PTE_PAGE_SIZE_SHIFT, 0 };
	KUNIT_EXPECT_EQ(test, pagoda_pte_encode(&pte, PAGODA_PROTECTION_UNIQUE),
			VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_TABLE_64K);
	back = pagoda_pte_decode(VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_TABLE_64K);
	KUNIT_EXPECT_EQ(test, back.flags, pte.flags);
}

#define PAGODA_RANGES	20

/*
 * COPY_PAGE_TABLE_ENTRIES: for each buffer size with room for a range the packets have all ranges,
 * in order (C109), and from PAGODA_PAGING_MIN_BUFFER on don't exceed the announced cost.
 */
static void copy_sizes_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(16);
	struct pagoda_copy_range ranges[PAGODA_RANGES];
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = { 1, PAGODA_RANGES, ranges },
	};
	struct pagoda_guarded guarded;
	u32 i, size;

	for (i = 0; i < PAGODA_RANGES; i++)
		ranges[i] = (struct pagoda_copy_range) { i << 12, (i ^ 7) << 12, i, i * 2, i + 1 };
	pagoda_guarded_init(test, &guarded, 1024, PAGODA_PRIVATE);
	for (size = 0; size < 700; size++) {
		u32 low = max_t(u32, size, PAGODA_PAGING_MIN_BUFFER);
		struct pagoda_paging_cost cost = pagoda_paging_cost(&limits, &op, low);
		struct pagoda_paging_cursor cursor = { };
		u32 done = 0, packets = 0, encoded = 0;
		enum pagoda_build ret;

		do {
			const struct virtio_pagoda_copy_page_table_entries *p =
				(const void *)pagoda_guarded_data(&guarded);
			const struct virtio_pagoda_copy_range *range = (const void *)(p + 1);

			pagoda_guarded_fresh(&guarded, size, PAGODA_PRIVATE);
			ret = pagoda_paging_build(&limits, &op, &cursor, &guarded.buf);
			pagoda_guarded_check(test, &guarded);
			KUNIT_ASSERT_EQ(test, !guarded.buf.write_offset, size < 56);
			if (size < 56)
				break;
			KUNIT_ASSERT_EQ(test, le32_to_cpu(p->packet.length),
					guarded.buf.write_offset);
			KUNIT_ASSERT_EQ(test, le32_to_cpu(p->nr_ranges) * 32 + 24,
					guarded.buf.write_offset);
			for (i = 0; i < le32_to_cpu(p->nr_ranges); i++, range++, done++) {
				KUNIT_ASSERT_EQ(test, le64_to_cpu(range->src_table), done << 12);
				KUNIT_ASSERT_EQ(test, le64_to_cpu(range->dst_table),
						(done ^ 7) << 12);
				KUNIT_ASSERT_EQ(test, le32_to_cpu(range->src_entry), done);
				KUNIT_ASSERT_EQ(test, le32_to_cpu(range->dst_entry), done * 2);
				KUNIT_ASSERT_EQ(test, le32_to_cpu(range->nr_entries), done + 1);
				KUNIT_ASSERT_EQ(test, le32_to_cpu(range->reserved), 0);
			}
			KUNIT_ASSERT_EQ(test, cursor.done, done);
			encoded += guarded.buf.write_offset;
			packets++;
		} while (ret == PAGODA_BUILD_INSUFFICIENT_BUFFER);
		if (size < 56)
			continue;
		KUNIT_ASSERT_EQ(test, done, PAGODA_RANGES);
		if (size < PAGODA_PAGING_MIN_BUFFER)
			continue;
		KUNIT_ASSERT_LE(test, packets, cost.packets);
		KUNIT_ASSERT_LE(test, encoded, cost.encoded);
	}
	PAGODA_PROVES(C4, C5, C109);
}

const u32 pagoda_table_multipass[] = {
	VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 0
};

static struct kunit_case table_cases_list[] = {
	KUNIT_CASE_PARAM(table_sizes_test, pagoda_table_gen_params),
	KUNIT_CASE_PARAM(table_cost_test, pagoda_table_gen_params),
	KUNIT_CASE_PARAM(table_cpu_test, pagoda_table_gen_params),
	KUNIT_CASE(table_density_test),
	KUNIT_CASE(table_runs_test),
	KUNIT_CASE(pte_test),
	KUNIT_CASE(copy_sizes_test),
	{ }
};

static struct kunit_suite table_suite = {
	.name = "pagoda_paging_tables",
	.test_cases = table_cases_list,
};

kunit_test_suite(table_suite);
