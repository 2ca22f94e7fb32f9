// SPDX-License-Identifier: GPL-2.0
/*
 * Reasons to refuse UPDATE_PAGE_TABLE, COPY_PAGE_TABLE_ENTRIES, FLUSH_TLB, VIRTUAL_TRANSFER,
 * VIRTUAL_FILL, or a tiled surface's geometry. Tests change an accepted operation, or the device's
 * limits, so that a reason applies; for most limits tests also try the nearest accepted value.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include "paging/paging.h"
#include "rig/prove.h"
#include "coverage.h"
#include "paging_helpers.h"

#define VRAM		VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM		VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE	VIRTIO_PAGODA_SEGMENT_APERTURE
#define VRAM_SIZE	0x40000000ull
#define VA_END		BIT_ULL(47)
#define PAGODA_SPACES		16
#define PAGODA_IN(segment)	((u64)(segment) << PAGODA_PTE_SEGMENT_SHIFT)
#define PAGODA_TO_SYSTEM	PAGODA_PTE_VALID
#define PAGODA_TO_VRAM		(PAGODA_PTE_VALID | PAGODA_IN(VRAM))
#define PAGODA_TO_APERTURE	(PAGODA_PTE_VALID | PAGODA_IN(APERTURE))
#define PAGODA_ZEROS		(PAGODA_PTE_VALID | PAGODA_PTE_ZERO)
#define PAGODA_IS_64K		BIT_ULL(PAGODA_PTE_PAGE_SIZE_SHIFT)
#define PAGODA_64K		VIRTIO_PAGODA_UPDATE_USE_64K

static struct pagoda_paging_limits table_limits(void)
{
	struct pagoda_paging_limits limits = pagoda_test_limits(64);

	limits.vram_size = VRAM_SIZE;
	limits.aperture_pages = 1024;
	limits.max_address_spaces = PAGODA_SPACES;
	return limits;
}

static const struct pagoda_pte two_ptes[] = {
	{ PAGODA_TO_VRAM, 0x7000 },
	{ PAGODA_TO_VRAM, 0x9000 },
};

static const struct pagoda_paging_op update_ok = {
	.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
	.update_page_table = {
		.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
		.first_entry = 10,
		.nr_entries = 2,
		.address_space = 3,
		.table_entries = VIRTIO_PAGODA_PT_ENTRIES,
		.table_segment = VRAM,
		.table_address = 0x11000,
		.first_va = 0xa000,
		.allocation_offset = 0x4000,
		.ptes = two_ptes,
	},
};

static void refuse_update_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	const struct pagoda_paging_op ok = update_ok;
	const char *no_64k = "update: device has no 64 KiB tables there";

	ACCEPTED((void)o);
	REFUSED(update->mode = 3, -EINVAL, "update: no such mode");
	REFUSED(update->flags = 1u << 4, -EINVAL, "update: unknown flag");
	REFUSED(update->flags = 1u << 31, -EINVAL, "update: unknown flag");
	REFUSED(update->level = 4, -EINVAL, "update: no such level");
	REFUSED(update->level = 2; update->flags = PAGODA_64K, -EINVAL,
		"update: 64 KiB pages above level 1");
	ACCEPTED(update->address_space = PAGODA_SPACES - 1);
	REFUSED(update->address_space = PAGODA_SPACES, -ERANGE, "update: no such address space");
	/* USE_64K at level 1 needs dual PTEs, at level 0 only a device with 64 KiB pages. */
	ACCEPTED(update->level = 1; update->flags = PAGODA_64K; update->table_address = 0x12000);
	limits.features &= ~BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE);
	REFUSED(update->level = 1; update->flags = PAGODA_64K, -EOPNOTSUPP, no_64k);
	ACCEPTED(update->flags = PAGODA_64K; update->table_entries = 32; update->nr_entries = 1;
		 update->ptes = &(struct pagoda_pte) { });
	limits.page_sizes &= ~SZ_64K;
	REFUSED(update->flags = PAGODA_64K, -EOPNOTSUPP, no_64k);
}

static void refuse_entries_range_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	const struct pagoda_paging_op ok = update_ok;
	const u64 values[] = { 0, 0 };
	struct pagoda_paging_op root = ok;

	REFUSED(update->table_entries = 0, -EINVAL, "update: size of the table");
	REFUSED(update->table_entries = 513, -EINVAL, "update: size of the table");
	REFUSED(update->table_entries = 33; update->flags = PAGODA_64K, -EINVAL,
		"update: size of the table");
	/* Virtual addresses of 47 bits leave 256 entries for the root table. */
	root.update_page_table.level = 3;
	root.update_page_table.table_entries = 256;
	ACCEPTED_OP(root, (void)o);
	REFUSED_OP(root, update->table_entries = 257, -EINVAL, "update: size of the table");
	REFUSED(update->nr_entries = 0, -EINVAL, "update: no entries");
	ACCEPTED(update->first_entry = 510);
	REFUSED(update->first_entry = 511, -ERANGE, "update: entries outside the table");
	REFUSED(update->first_entry = U32_MAX, -ERANGE, "update: entries outside the table");
	REFUSED(update->first_va += 0x800, -EINVAL, "update: address misaligned");
	REFUSED(update->allocation_offset += 8, -EINVAL, "update: address misaligned");
	ACCEPTED(update->first_va = VA_END - 0x1000);
	REFUSED(update->first_va = VA_END, -ERANGE, "update: outside the address space");
	REFUSED(update->ptes = NULL, -EINVAL, "update: not exactly one list of entries");
	REFUSED(update->values = values, -EINVAL, "update: not exactly one list of entries");
	ACCEPTED(update->values = values; update->ptes = NULL);
}

static void refuse_table_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	struct pagoda_paging_op ok = update_ok;
	u64 table[4];

	REFUSED(update->cpu_table = table, -EINVAL, "update: CPU address of a GPU update");
	REFUSED(update->table_segment = APERTURE, -EINVAL,
		"update: table neither in VRAM nor in system memory");
	REFUSED(update->table_address += 0x800, -EINVAL, "update: table misaligned");
	ACCEPTED(update->table_address = VRAM_SIZE - 0x1000);
	REFUSED(update->table_address = VRAM_SIZE, -ERANGE, "update: table out of range");
	ACCEPTED(update->table_segment = SYSTEM; update->table_address = 1ull << 50);
	/* With dual PTEs a table of level 1 has 8 KiB, to which its physical address is aligned. */
	REFUSED(update->level = 1, -EINVAL, "update: table misaligned");
	ok.update_page_table.mode = VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
	REFUSED((void)o, -EINVAL, "update: segment of a virtual address");
	ok.update_page_table.table_segment = 0;
	ACCEPTED(update->level = 1);
	REFUSED(update->table_address += 8, -EINVAL, "update: table misaligned");
	ACCEPTED(update->table_address = VA_END - 0x1000);
	REFUSED(update->table_address = VA_END, -ERANGE, "update: table out of range");
	REFUSED(update->level = 1; update->table_address = VA_END - 0x1000, -ERANGE,
		"update: table out of range");
	ok.update_page_table.mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	ok.update_page_table.cpu_table = table;
	ACCEPTED((void)o);
	REFUSED(update->table_address += 8, -EINVAL, "update: table misaligned");
	ok.update_page_table.table_address = 0;
	ACCEPTED((void)o);
	REFUSED(update->cpu_table = NULL, -EINVAL, "update: CPU address missing");
	REFUSED(update->cpu_table = (u8 *)table + 4, -EINVAL, "update: CPU address misaligned");
	REFUSED(update->table_segment = VRAM, -EINVAL, "update: segment of a virtual address");
}

/* Returns an UPDATE_PAGE_TABLE operation that writes one entry, @pte, to a table of @level. */
static struct pagoda_paging_op entry_op(u32 level, u32 flags, const struct pagoda_pte *pte)
{
	struct pagoda_paging_op op = update_ok;

	op.update_page_table.level = level;
	op.update_page_table.flags = flags;
	op.update_page_table.table_address = 0x12000;
	op.update_page_table.table_entries = level == 3 ? 256 : 512;
	if (!level && flags & PAGODA_64K)
		op.update_page_table.table_entries = 32;
	op.update_page_table.nr_entries = 1;
	op.update_page_table.ptes = pte;
	return op;
}

struct pagoda_entry_case {
	u32 level;
	u32 flags;
	struct pagoda_pte pte;
	int error;
	const char *why;
};

static void entries_check(struct kunit *test, const struct pagoda_paging_limits *limits,
			  const struct pagoda_entry_case *cases, u32 nr_cases)
{
	u32 i;

	for (i = 0; i < nr_cases; i++) {
		const struct pagoda_entry_case *c = &cases[i];
		struct pagoda_paging_op op = entry_op(c->level, c->flags, &c->pte);

		pagoda_expect_verdict(test, limits, &op, c->error, c->why, i);
	}
}

static const struct pagoda_entry_case leaf_cases[] = {
	{ 0, 0, { PAGODA_TO_VRAM, VRAM_SIZE - SZ_4K } },
	{ 0, 0, { PAGODA_TO_VRAM, VRAM_SIZE }, -ERANGE, "entry: outside the segment" },
	{ 0, 0, { PAGODA_TO_VRAM, 0x7800 }, -EINVAL, "entry: address misaligned" },
	{ 0, 0, { PAGODA_TO_APERTURE, 1023 * SZ_4K } },
	{ 0, 0, { PAGODA_TO_APERTURE, 1024 * SZ_4K }, -ERANGE, "entry: outside the segment" },
	{ 0, 0, { PAGODA_TO_SYSTEM, (1ull << 52) - SZ_4K } },
	{ 0, 0, { PAGODA_TO_SYSTEM, 1ull << 52 }, -ERANGE, "entry: outside the segment" },
	{ 0, 0, { PAGODA_PTE_VALID | PAGODA_IN(3), 0 }, -EINVAL, "entry: no such segment" },
	{ 0, 0, { PAGODA_PTE_VALID | PAGODA_IN(31), 0 }, -EINVAL, "entry: no such segment" },
	{ 0, 0, { PAGODA_TO_VRAM | PAGODA_IS_64K, 0 }, -EINVAL,
	  "entry: page-table size in a leaf" },
	{ 0, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, 0 }, -EINVAL,
	  "entry: large page at the wrong level" },
	{ 0, PAGODA_64K, { PAGODA_TO_VRAM, VRAM_SIZE - SZ_64K } },
	{ 0, PAGODA_64K, { PAGODA_TO_VRAM, 0xf000 }, -EINVAL, "entry: address misaligned" },
	{ 0, PAGODA_64K, { PAGODA_TO_VRAM, VRAM_SIZE }, -ERANGE,
	  "entry: outside the segment" },
	{ 0, 0, { PAGODA_ZEROS, 0 } },
	{ 2, 0, { PAGODA_ZEROS, 0 } },
	{ 0, 0, { PAGODA_ZEROS | PAGODA_PTE_LARGE_PAGE, 0 }, -EINVAL,
	  "entry: zeros with a page size" },
	{ 1, 0, { PAGODA_ZEROS | PAGODA_IS_64K, 0 }, -EINVAL, "entry: zeros with a page size" },
	{ 0, 0, { PAGODA_ZEROS | PAGODA_PTE_READ_ONLY, 0 }, -EINVAL,
	  "entry: zeros that are read-only" },
	/* An invalid entry may have any address and segment, and the flags of any valid entry. */
	{ 0, 0, { PAGODA_PTE_LARGE_PAGE | PAGODA_PTE_READ_ONLY | PAGODA_IN(9), 0x123 } },
	{ 0, 0, { BIT_ULL(11), 0 }, -EINVAL, "entry: another adapter" },
	{ 0, 0, { PAGODA_TO_VRAM | BIT_ULL(16), 0 }, -EINVAL, "entry: another adapter" },
	{ 0, 0, { PAGODA_TO_VRAM | BIT_ULL(18), 0 }, -EINVAL, "entry: unknown flag" },
	{ 0, 0, { BIT_ULL(63), 0 }, -EINVAL, "entry: unknown flag" },
};

static const struct pagoda_entry_case level_cases[] = {
	{ 1, 0, { PAGODA_TO_VRAM, 0x5000 } },
	{ 1, 0, { PAGODA_TO_SYSTEM, 0x5000 } },
	{ 1, PAGODA_64K, { PAGODA_TO_VRAM, 0x5000 } },
	{ 1, 0, { PAGODA_TO_VRAM, 0x5100 }, -EINVAL, "entry: address misaligned" },
	{ 1, 0, { PAGODA_TO_VRAM, VRAM_SIZE }, -ERANGE, "entry: outside the segment" },
	{ 1, 0, { PAGODA_TO_APERTURE, 0x5000 }, -EINVAL,
	  "entry: table neither in VRAM nor in system memory" },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_READ_ONLY, 0x5000 }, -EINVAL,
	  "entry: leaf flag above the leaves" },
	{ 2, 0, { PAGODA_TO_VRAM | PAGODA_PTE_CACHE_COHERENT, 0x6000 }, -EINVAL,
	  "entry: leaf flag above the leaves" },
	{ 3, 0, { PAGODA_TO_VRAM | PAGODA_PTE_NO_EXECUTE, 0x6000 }, -EINVAL,
	  "entry: leaf flag above the leaves" },
	/* With dual PTEs entries of level 2 lead to tables of 8 KiB, which are aligned to 8 KiB. */
	{ 2, 0, { PAGODA_TO_VRAM, 0x6000 } },
	{ 2, 0, { PAGODA_TO_VRAM, 0x5000 }, -EINVAL, "entry: address misaligned" },
	{ 3, 0, { PAGODA_TO_VRAM, 0x5000 } },
	{ 2, 0, { PAGODA_TO_VRAM | PAGODA_IS_64K, 0x6000 }, -EINVAL,
	  "entry: page-table size above level 1" },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_IS_64K, 0x6000 }, -EINVAL,
	  "entry: page-table size with dual tables" },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, VRAM_SIZE - SZ_2M } },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE | PAGODA_PTE_READ_ONLY, 0 } },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, SZ_1M }, -EINVAL,
	  "entry: address misaligned" },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, VRAM_SIZE }, -ERANGE,
	  "entry: outside the segment" },
	{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE | PAGODA_IS_64K, 0 }, -EINVAL,
	  "entry: page-table size in a leaf" },
	{ 1, PAGODA_64K, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, 0 }, -EINVAL,
	  "entry: large page among 64 KiB tables" },
	{ 2, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, 0 }, -EINVAL,
	  "entry: large page at the wrong level" },
};

static void refuse_entry_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	static const struct pagoda_entry_case coherent[] = {
		{ 0, 0, { PAGODA_TO_SYSTEM | PAGODA_PTE_CACHE_COHERENT, 0 }, -EOPNOTSUPP,
		  "entry: device isn't coherent" },
	}, single[] = {
		{ 1, 0, { PAGODA_TO_VRAM | PAGODA_IS_64K, 0x5000 } },
		{ 2, 0, { PAGODA_TO_VRAM, 0x5000 } },
	}, small[] = {
		{ 1, 0, { PAGODA_TO_VRAM | PAGODA_IS_64K, 0x5000 }, -EOPNOTSUPP,
		  "entry: device has no 64 KiB pages" },
		{ 1, 0, { PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE, 0 }, -EOPNOTSUPP,
		  "entry: device has no 2 MiB pages" },
	};

	entries_check(test, &limits, leaf_cases, ARRAY_SIZE(leaf_cases));
	entries_check(test, &limits, level_cases, ARRAY_SIZE(level_cases));
	limits.features &= ~BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	entries_check(test, &limits, coherent, ARRAY_SIZE(coherent));
	limits.features &= ~BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE);
	entries_check(test, &limits, single, ARRAY_SIZE(single));
	limits.page_sizes = SZ_4K;
	entries_check(test, &limits, small, ARRAY_SIZE(small));
	PAGODA_PROVES(C99);
}

/*
 * Each entry that an update uses is checked; unused entries aren't: with REPEAT all but the first,
 * with USE_64K all but the first of each sixteen.
 */
static void refuse_each_entry_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	struct pagoda_pte ptes[17] = { { PAGODA_TO_VRAM, 0 } };
	struct pagoda_paging_op ok = update_ok;

	ok.update_page_table.ptes = ptes;
	ok.update_page_table.table_address = 0x12000;
	ptes[1] = (struct pagoda_pte) { PAGODA_TO_VRAM, 0x10 };
	REFUSED((void)o, -EINVAL, "entry: address misaligned");
	ACCEPTED(update->flags = VIRTIO_PAGODA_UPDATE_REPEAT);
	/* Of each sixteen entries only the first, for a 64 KiB page, is used (C88). */
	ok.update_page_table.flags = PAGODA_64K;
	ok.update_page_table.table_entries = 32;
	ACCEPTED((void)o);
	ptes[16] = ptes[1];
	REFUSED((void)o, -EINVAL, "entry: address misaligned");
	PAGODA_PROVES(C88);
}

#define PAGODA_MANY_VALUES	200

/* Returns a random entry in the device's format, often with an address at or past a limit. */
static u64 some_value(struct rnd_state *rnd)
{
	static const u64 kinds[] = {
		0, PAGODA_ZEROS, PAGODA_TO_VRAM, PAGODA_TO_APERTURE, PAGODA_TO_SYSTEM,
		PAGODA_TO_VRAM | PAGODA_PTE_READ_ONLY, PAGODA_TO_VRAM | PAGODA_PTE_CACHE_COHERENT,
		PAGODA_ZEROS | PAGODA_PTE_READ_ONLY, PAGODA_TO_VRAM | PAGODA_PTE_LARGE_PAGE,
		PAGODA_PTE_VALID | PAGODA_IN(3),
	};
	const u64 places[] = {
		0, SZ_64K, VRAM_SIZE - SZ_64K, VRAM_SIZE - SZ_4K, VRAM_SIZE,
		1008ull * SZ_4K, 1023ull * SZ_4K, 1024ull * SZ_4K,
		VIRTIO_PAGODA_PTE_ADDRESS_MASK & ~(u64)(SZ_64K - 1), VIRTIO_PAGODA_PTE_ADDRESS_MASK,
		(u64)pagoda_random(rnd, 0, 1023) * SZ_4K,
	};
	u64 driver = pagoda_random(rnd, 0, 7) ? 0 : pagoda_random(rnd, 0, 4095);
	struct pagoda_pte pte = {
		.flags = kinds[pagoda_random(rnd, 0, ARRAY_SIZE(kinds) - 1)],
		.address = places[pagoda_random(rnd, 0, ARRAY_SIZE(places) - 1)],
	};

	return pagoda_pte_encode(&pte, driver);
}

/*
 * Validates each of @count entries in the device's format alone, as a struct pagoda_pte; returns 0
 * or the first error.
 */
static int values_verdict(const struct pagoda_paging_limits *limits, struct pagoda_paging_op op,
			  const u64 *values, u32 count, const char **why)
{
	struct pagoda_pte pte;
	int ret = 0;
	u32 i;

	op.update_page_table.values = NULL;
	op.update_page_table.ptes = &pte;
	op.update_page_table.nr_entries = 1;
	for (i = 0; i < count && !ret; i++) {
		pte = pagoda_pte_decode(values[i]);
		ret = pagoda_paging_validate(limits, &op, why);
	}
	return ret;
}

/*
 * The driver validates leaf entries in the device's format many at a time, by a comparison with an
 * accepted entry: the result for all equals the first error of the entries validated one by one.
 */
static void refuse_values_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	u64 *values = test_calloc(test, PAGODA_MANY_VALUES, sizeof(*values));
	struct pagoda_paging_op op = update_ok;
	u32 round, i, n, refused = 0;
	struct rnd_state rnd;
	const char *why;
	int ret;

	pagoda_test_seed(test, &rnd);
	op.update_page_table.first_entry = 0;
	op.update_page_table.ptes = NULL;
	op.update_page_table.values = values;
	for (round = 0; round < 2000; round++) {
		bool is_64k = round % 4 == 3;

		op.update_page_table.flags = is_64k ? PAGODA_64K : 0;
		op.update_page_table.table_entries = is_64k ? 32 : VIRTIO_PAGODA_PT_ENTRIES;
		n = pagoda_random(&rnd, 1, is_64k ? 32 : PAGODA_MANY_VALUES);
		op.update_page_table.nr_entries = n;
		memset64(values, some_value(&rnd), n);
		for (i = pagoda_random(&rnd, 0, 3); i; i--)
			values[pagoda_random(&rnd, 0, n - 1)] = some_value(&rnd);
		why = NULL;
		ret = values_verdict(&limits, op, values, n, &why);
		refused += !!ret;
		pagoda_expect_verdict(test, &limits, &op, ret, ret ? why : NULL, round);
	}
	/* Of the 2000 random updates more than 200 are refused, and more than 200 accepted. */
	KUNIT_EXPECT_GT(test, refused, 200);
	KUNIT_EXPECT_LT(test, refused, 1800);
}

/*
 * Each of several 64 KiB entries has to end inside the segment, even where a 4 KiB entry would be
 * inside, and where the entry before, which differs only in the address, was accepted.
 */
static void refuse_values_at_the_end_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	u64 values[] = {
		PAGODA_TO_VRAM, PAGODA_TO_VRAM | SZ_64K, PAGODA_TO_VRAM | SZ_1M,
	};
	struct pagoda_paging_op op = update_ok;
	const char *why = NULL;

	limits.vram_size = SZ_1M + SZ_4K;
	op.update_page_table.flags = PAGODA_64K;
	op.update_page_table.table_entries = 32;
	op.update_page_table.first_entry = 0;
	op.update_page_table.first_va = 0;
	op.update_page_table.nr_entries = 2;
	op.update_page_table.ptes = NULL;
	op.update_page_table.values = values;
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_validate(&limits, &op, &why));
	op.update_page_table.nr_entries = 3;
	KUNIT_EXPECT_EQ(test, -ERANGE, pagoda_paging_validate(&limits, &op, &why));
	KUNIT_EXPECT_STREQ(test, "entry: outside the segment", why ?: "");
	/* The smallest VRAM that has all 64 KiB of the third entry. */
	limits.vram_size = SZ_1M + SZ_64K;
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_validate(&limits, &op, &why));
}

/* DriverProtection may have any value at level 0, and has to be 0 at other levels. */
static void refuse_protection_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	u64 values[] = { 0, 1ull << VIRTIO_PAGODA_PTE_DRIVER_SHIFT };
	struct pagoda_paging_op ok = update_ok;
	u32 level;

	ACCEPTED(update->driver_protection = U64_MAX);
	ok.update_page_table.table_address = 0x12000;
	ok.update_page_table.table_entries = 256;
	for (level = 1; level < limits.pt_levels; level++) {
		ok.update_page_table.level = level;
		REFUSED(update->driver_protection = 1, -EINVAL,
			"update: driver's protection above level 0");
		REFUSED(update->driver_protection = 1ull << 63, -EINVAL,
			"update: driver's protection above level 0");
		REFUSED(update->ptes = NULL; update->values = values, -EINVAL,
			"entry: driver's bits above level 0");
	}
	ok.update_page_table.level = 0;
	ACCEPTED(update->ptes = NULL; update->values = values);
	PAGODA_PROVES(C98);
}

static void refuse_virtual_transfer_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.size = 0x2000,
			.src_address = 0x1000004,
			.dst_address = 0x1002004,
			.direction = VIRTIO_PAGODA_LOCAL_TO_LOCAL,
			.flags = VIRTIO_PAGODA_VIRTUAL_SRC_64K,
		},
	};
	const char *overlap = "virtual: source and destination overlap";
	const char *side = "transfer: clean or dirty at the wrong side";

	ACCEPTED((void)o);
	REFUSED(virt_copy->flags |= 4, -EINVAL, "virtual: unknown flag");
	REFUSED(virt_copy->direction = 3, -EINVAL, "virtual: no such direction");
	REFUSED(virt_copy->size = 0, -EINVAL, "virtual: size zero");
	REFUSED(virt_copy->size = 0x1ffe, -EINVAL, "virtual: size misaligned");
	ACCEPTED(virt_copy->size = VIRTIO_PAGODA_MAX_VIRTUAL;
		 virt_copy->src_address = VIRTIO_PAGODA_MAX_VIRTUAL * 2);
	REFUSED(virt_copy->size = VIRTIO_PAGODA_MAX_VIRTUAL + 4;
		virt_copy->src_address = VIRTIO_PAGODA_MAX_VIRTUAL * 2, -ERANGE,
		"virtual: size too large");
	REFUSED(virt_copy->src_address += 2, -EINVAL, "virtual: address misaligned");
	REFUSED(virt_copy->dst_address += 1, -EINVAL, "virtual: address misaligned");
	ACCEPTED(virt_copy->src_address = VA_END - 0x2000);
	REFUSED(virt_copy->src_address = VA_END - 0x1ffc, -ERANGE,
		"virtual: outside the address space");
	REFUSED(virt_copy->dst_address = VA_END - 0x1ffc, -ERANGE,
		"virtual: outside the address space");
	REFUSED(virt_copy->dst_address = -4ull, -ERANGE, "virtual: outside the address space");
	REFUSED(virt_copy->dst_address -= 4, -EINVAL, overlap);
	REFUSED(virt_copy->src_address += 0x3ffc, -EINVAL, overlap);
	ACCEPTED(virt_copy->src_address += 0x4000);
	limits.features &= ~(1ull << VIRTIO_PAGODA_F_DIRTY);
	REFUSED(virt_copy->flags |= VIRTIO_PAGODA_TRANSFER_DIRTY, -EOPNOTSUPP,
		"transfer: device has no dirty tracking");
	limits.features |= 1ull << VIRTIO_PAGODA_F_DIRTY;
	ACCEPTED(virt_copy->flags |= VIRTIO_PAGODA_TRANSFER_DIRTY);
	REFUSED(virt_copy->flags |= VIRTIO_PAGODA_TRANSFER_CLEAN, -EINVAL, side);
	ACCEPTED(virt_copy->flags |= VIRTIO_PAGODA_TRANSFER_CLEAN; virt_copy->dst_address += 0xffc);
	REFUSED(virt_copy->flags |= VIRTIO_PAGODA_TRANSFER_DIRTY;
		virt_copy->direction = VIRTIO_PAGODA_SYSTEM_TO_LOCAL, -EINVAL, side);
	limits.page_sizes &= ~SZ_64K;
	REFUSED((void)o, -EOPNOTSUPP, "virtual: device has no 64 KiB pages");
	ACCEPTED(virt_copy->flags = 0);
}

static void refuse_virtual_fill_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_FILL,
		.virtual_fill = { .size = 8, .address = VA_END - 8 },
	};

	ACCEPTED((void)o);
	REFUSED(virt_fill->size = 0, -EINVAL, "virtual: size zero");
	REFUSED(virt_fill->size = 6, -EINVAL, "virtual: size misaligned");
	REFUSED(virt_fill->size = -4ull, -ERANGE, "virtual: size too large");
	REFUSED(virt_fill->address -= 2, -EINVAL, "virtual: address misaligned");
	REFUSED(virt_fill->address += 4, -ERANGE, "virtual: outside the address space");
	/* For a device without virtual addresses, each address is refused. */
	limits.va_bits = 0;
	REFUSED(virt_fill->address = 0, -ERANGE, "virtual: outside the address space");
}

static void refuse_flush_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
		.flush_tlb = {
			.root_address = VRAM_SIZE - SZ_4K,
			.root_segment = VRAM,
			.address_space = PAGODA_SPACES - 1,
			.start = VA_END - SZ_4K,
			.end = VA_END,
		},
	};

	ACCEPTED((void)o);
	REFUSED(flush->address_space++, -ERANGE, "flush: no such address space");
	REFUSED(flush->root_segment = APERTURE, -EINVAL,
		"flush: root neither in VRAM nor in system memory");
	REFUSED(flush->root_address -= 8, -EINVAL, "flush: root misaligned");
	REFUSED(flush->root_address += SZ_4K, -ERANGE, "flush: root outside the segment");
	ACCEPTED(flush->root_segment = SYSTEM; flush->root_address = 1ull << 50);
	REFUSED(flush->start = flush->end, -EINVAL, "flush: empty range");
	REFUSED(flush->end = 0, -EINVAL, "flush: empty range");
	REFUSED(flush->end++, -ERANGE, "flush: outside the address space");
	ACCEPTED(flush->start = 0);
	ACCEPTED(flush->start = 0; flush->end = 0);
}

static void refuse_copy_test(struct kunit *test)
{
	struct pagoda_paging_limits limits = table_limits();
	struct pagoda_copy_range ranges[] = {
		{ VA_END - SZ_4K, SZ_4K, 511, 0, 1 },
		{ SZ_4K, VA_END - SZ_4K, 0, 0, 512 },
	};
	const struct pagoda_copy_range good = ranges[1];
	const struct pagoda_paging_op ok = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = { PAGODA_SPACES - 1, ARRAY_SIZE(ranges), ranges },
	};

	ACCEPTED((void)o);
	REFUSED(o.copy_entries.address_space++, -ERANGE, "copy: no such address space");
	REFUSED(o.copy_entries.nr_ranges = 0, -EINVAL, "copy: ranges missing");
	REFUSED(o.copy_entries.ranges = NULL, -EINVAL, "copy: ranges missing");
	/* The last range is checked like the first. */
	REFUSED(ranges[1].nr_entries = 0, -EINVAL, "copy: range without entries");
	ranges[1] = good;
	REFUSED(ranges[1].src_entry = 1, -ERANGE, "copy: entries outside the table");
	ranges[1] = good;
	REFUSED(ranges[1].dst_entry = U32_MAX, -ERANGE, "copy: entries outside the table");
	ranges[1] = good;
	REFUSED(ranges[1].src_table += 8, -EINVAL, "copy: table misaligned");
	ranges[1] = good;
	REFUSED(ranges[1].dst_table -= 8, -EINVAL, "copy: table misaligned");
	ranges[1] = good;
	REFUSED(ranges[1].dst_table += SZ_4K, -ERANGE, "copy: table outside the address space");
	ranges[1] = good;
	REFUSED(ranges[1].src_table = -0x1000ull, -ERANGE, "copy: table outside the address space");
}

static void layout_expect(struct kunit *test, const struct pagoda_layout *layout, u64 size,
			  int error, const char *text)
{
	const char *why = NULL;

	KUNIT_EXPECT_EQ_MSG(test, pagoda_layout_validate(layout, size, &why), error, "%s", text);
	KUNIT_EXPECT_STREQ(test, why ? why : "accepted", text);
}

static void refuse_layout_test(struct kunit *test)
{
	static const struct {
		struct pagoda_layout layout;
		u64 size;
		int error;
		const char *text;
	} cases[] = {
		{ { VIRTIO_PAGODA_TILING_4K, 128, 192, 1 }, 128 * 192, 0, "accepted" },
		{ { VIRTIO_PAGODA_TILING_LINEAR, 128, 192, 1 }, SZ_1M, -EINVAL, "layout: tiling" },
		{ { VIRTIO_PAGODA_TILING_COUNT, 128, 192, 1 }, SZ_1M, -EINVAL, "layout: tiling" },
		{ { VIRTIO_PAGODA_TILING_4K, 0, 192, 1 }, SZ_1M, -EINVAL, "layout: pitch" },
		{ { VIRTIO_PAGODA_TILING_4K, 32, 192, 1 }, SZ_1M, -EINVAL, "layout: pitch" },
		{ { VIRTIO_PAGODA_TILING_64K, 128, 256, 1 }, SZ_1M, -EINVAL, "layout: pitch" },
		{ { VIRTIO_PAGODA_TILING_4K, 65536, 64, 1 }, SZ_4M, 0, "accepted" },
		{ { VIRTIO_PAGODA_TILING_4K, 65600, 64, 1 }, SZ_8M, -EINVAL, "layout: pitch" },
		{ { VIRTIO_PAGODA_TILING_4K, 128, 0, 1 }, SZ_1M, -EINVAL, "layout: height" },
		{ { VIRTIO_PAGODA_TILING_64K, 256, 192, 1 }, SZ_1M, -EINVAL, "layout: height" },
		{ { VIRTIO_PAGODA_TILING_4K, 128, 192, 0 }, SZ_1M, -EINVAL, "layout: mips" },
		{ { VIRTIO_PAGODA_TILING_4K, 64, 64, 16 }, SZ_64K, 0, "accepted" },
		{ { VIRTIO_PAGODA_TILING_4K, 64, 64, 17 }, SZ_1M, -EINVAL, "layout: mips" },
		{ { VIRTIO_PAGODA_TILING_4K, 128, 192, 1 }, 128 * 192 - 1, -ERANGE,
		  "layout: more than the surface has" },
		/* Three mip levels take 14 tiles: 3 x 3, 2 x 2 and 1 x 1. */
		{ { VIRTIO_PAGODA_TILING_4K, 192, 192, 3 }, 14 * SZ_4K, 0, "accepted" },
		{ { VIRTIO_PAGODA_TILING_4K, 192, 192, 3 }, 13 * SZ_4K, -ERANGE,
		  "layout: more than the surface has" },
		{ { VIRTIO_PAGODA_TILING_64K, 65536, 0xffffff00, 16 }, SZ_1G, -ERANGE,
		  "layout: more than the surface has" },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		layout_expect(test, &cases[i].layout, cases[i].size, cases[i].error, cases[i].text);
}

const u32 pagoda_table_refused[] = {
	VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, VIRTIO_PAGODA_OP_VIRTUAL_FILL,
	VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, VIRTIO_PAGODA_OP_FLUSH_TLB,
	VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 0
};

static struct kunit_case table_validate_cases[] = {
	KUNIT_CASE(refuse_update_test),
	KUNIT_CASE(refuse_entries_range_test),
	KUNIT_CASE(refuse_table_test),
	KUNIT_CASE(refuse_entry_test),
	KUNIT_CASE(refuse_each_entry_test),
	KUNIT_CASE(refuse_values_test),
	KUNIT_CASE(refuse_values_at_the_end_test),
	KUNIT_CASE(refuse_protection_test),
	KUNIT_CASE(refuse_virtual_transfer_test),
	KUNIT_CASE(refuse_virtual_fill_test),
	KUNIT_CASE(refuse_flush_test),
	KUNIT_CASE(refuse_copy_test),
	KUNIT_CASE(refuse_layout_test),
	{ }
};

static struct kunit_suite table_validate_suite = {
	.name = "pagoda_paging_table_validate",
	.test_cases = table_validate_cases,
};

kunit_test_suite(table_validate_suite);
