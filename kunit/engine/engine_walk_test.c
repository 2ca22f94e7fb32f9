// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the GPU's walk of page tables: valid, invalid and malformed entries in tables of several
 * shapes; spaces, roots, permissions and pages of zeros; random tables.
 */
#include <linux/prandom.h>
#include <linux/random.h>
#include "engine_mmu_helpers.h"

#define RD	VIRTIO_PAGODA_ACCESS_READ
#define WR	VIRTIO_PAGODA_ACCESS_WRITE
#define EX	VIRTIO_PAGODA_ACCESS_FETCH
#define VRAM	VIRTIO_PAGODA_SEGMENT_VRAM
#define SYSTEM	VIRTIO_PAGODA_SEGMENT_SYSTEM
#define APERTURE VIRTIO_PAGODA_SEGMENT_APERTURE

/*
 * A page to map: @size bytes at offset @va from the shape's first address, which lead to @address
 * in @segment.
 */
struct walk_page {
	u64 va;
	u64 size;
	u32 segment;
	u64 address;
};

static const struct walk_page walk_pages[] = {
	{ 0, SZ_4K, VRAM, 0x7000 },
	{ 0x1000, SZ_4K, VRAM, 0x8000 },
	{ 0x2000, SZ_4K, VRAM, 0x3000 },
	{ 0x3000, SZ_4K, SYSTEM, ENGINE_BUS + 0x5000 },
	{ 0x4000, SZ_4K, SYSTEM, ENGINE_BUS + 0x6000 },
	{ 0x5000, SZ_4K, APERTURE, 0x4000 },
	{ 0x6000, SZ_4K, APERTURE, 0x5000 },
	{ 0x1ff000, SZ_4K, VRAM, 0x1000 },
	{ SZ_2M, SZ_2M, VRAM, SZ_2M },
	{ 2 * SZ_2M, SZ_64K, VRAM, 0x50000 },
	{ 2 * SZ_2M + SZ_64K, SZ_64K, VRAM, 0x60000 },
	{ 2 * SZ_2M + 0x1f0000, SZ_64K, SYSTEM, ENGINE_BUS + 0x20000 },
	{ 2 * SZ_2M + 0x100000, SZ_64K, APERTURE, 0x10000 },
};

static void walk_map_pages(struct engine_fixture *fix)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(walk_pages); i++)
		mmu_map(fix, 0, fix->shape->va + walk_pages[i].va, walk_pages[i].size,
			mmu_entry(walk_pages[i].segment, walk_pages[i].address, 0));
}

static void walk_page_check(struct kunit *test, struct engine_fixture *fix,
			    const struct walk_page *page, u64 inside, u32 access)
{
	struct pagoda_virtual_span span = {};
	u64 va = fix->shape->va + page->va + inside;

	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va, 8, access, &span, NULL), 0);
	KUNIT_EXPECT_PTR_EQ(test, span.here,
			    mmu_memory(fix, page->segment, page->address + inside));
	KUNIT_EXPECT_EQ(test, span.size, min(8ull, page->size - inside));
	KUNIT_EXPECT_EQ(test, span.page_size, page->size);
	KUNIT_EXPECT_EQ(test, span.segment, page->segment);
}

/*
 * In each of mmu_shapes, the pages in walk_pages, of all sizes and segments, are translated to
 * their memory.
 */
static void walk_pages_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u32 shape, i;

	for (shape = 0; shape < MMU_SHAPES; shape++) {
		mmu_shape_set(test, fix, &mmu_shapes[shape]);
		walk_map_pages(fix);
		for (i = 0; i < ARRAY_SIZE(walk_pages); i++) {
			walk_page_check(test, fix, &walk_pages[i], 0, RD);
			walk_page_check(test, fix, &walk_pages[i], 0x128, WR);
			walk_page_check(test, fix, &walk_pages[i], walk_pages[i].size - 8, EX);
		}
	}
}

/*
 * Pages of one size at consecutive addresses are one span if their memory is contiguous and their
 * flags are equal, else they aren't. No span is longer than asked for.
 */
static void walk_coalesce_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_virtual_span span;
	u64 va = fix->shape->va;

	walk_map_pages(fix);
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va + 16, SZ_1M, RD, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, 0x2000 - 16);
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va + 16, 0x1004, RD, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, 0x1004);
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va + 0x3000, SZ_1M, RD, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, 0x2000);
	/* The pages are consecutive in the aperture, but their system pages are in reverse. */
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va + 0x5000, SZ_1M, RD, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, 0x1000);
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 0, va + 2 * SZ_2M, SZ_1M, RD, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, 2 * SZ_64K);
	/* A read-only page isn't in one span with a writable page. */
	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, 0, 0));
	mmu_map(fix, 1, va + MMU_PAGE, SZ_4K,
		mmu_entry(VRAM, MMU_PAGE, VIRTIO_PAGODA_PTE_READ_ONLY));
	KUNIT_ASSERT_EQ(test, mmu_span(fix, 0, 1, va, SZ_8K, WR, &span, NULL), 0);
	KUNIT_EXPECT_EQ(test, span.size, MMU_PAGE);
}

static void walk_invalid_one(struct kunit *test, struct engine_fixture *fix)
{
	u64 va = fix->shape->va, other;
	u32 level;

	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, 0, 0));
	for (level = 0; level < fix->shape->levels; level++) {
		other = va + (1ull << (12 + 9 * level));
		if (other >> fix->engine.va_bits)
			break;
		mmu_expect_refused(test, fix, other, RD, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
				   level, "invalid");
		/* The second access gets the same fault reason from the TLB. */
		mmu_expect_refused(test, fix, other + 8, WR, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
				   level, "invalid again");
	}
	/* Without VALID the other bits of an entry don't matter. */
	*mmu_word(fix, 0, va + 5 * MMU_PAGE, 0, false) = cpu_to_le64(~1ull);
	mmu_expect_refused(test, fix, va + 5 * MMU_PAGE, RD, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, 0,
			   "all but valid");
}

/*
 * An access through an invalid entry, or in a space without a root, faults; the fault has the
 * address, the access and the level at which the walk ended.
 */
static void walk_invalid_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u32 shape, top;

	PAGODA_PROVES(C95);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		mmu_shape_set(test, fix, &mmu_shapes[shape]);
		walk_invalid_one(test, fix);
	}
	top = fix->shape->levels - 1;
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, 0, 0, 0), 0);
	mmu_expect_refused(test, fix, fix->shape->va, RD, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, top,
			   "no root");
	mmu_expect_refused(test, fix, 1ull << 47, RD, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0,
			   "address too large");
}

/*
 * An access to an address beyond the last entry of a root faults: memory behind that entry isn't
 * part of the table.
 */
static void walk_root_end_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	const struct pagoda_engine_space root = fix->engine.spaces[0];
	u32 top = fix->shape->levels - 1;
	u64 va = 1ull << (12 + 9 * top);

	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, 0x1000, 0));
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + 0x1000);
	KUNIT_ASSERT_EQ(test, 0, pagoda_engine_root_set(&fix->engine, 0, root.segment,
							root.address, 1));
	mmu_expect_refused(test, fix, va, RD, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, top,
			   "behind the root");
	KUNIT_ASSERT_EQ(test, 0, pagoda_engine_root_set(&fix->engine, 0, root.segment,
							root.address, 2));
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + 0x1000);
}

/* Each space has its own translations; an access in a space that doesn't exist faults. */
static void walk_space_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_virtual_span span;
	u64 va = fix->shape->va;

	mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, 0x1000, 0));
	mmu_map(fix, 2, va, SZ_4K, mmu_entry(VRAM, 0x2000, 0));
	KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va));
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va), fix->vram + 0x1000);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 2, va), fix->vram + 0x2000);
	KUNIT_EXPECT_EQ(test, mmu_span(fix, 0, ENGINE_SPACES, va, 8, RD, &span, NULL),
			VIRTIO_PAGODA_FAULT_BAD_CONTEXT);
}

/* Writes to read-only pages and fetches from no-execute pages fault; reads don't. */
static void walk_permission_test(struct kunit *test)
{
	static const u64 sizes[] = { SZ_4K, SZ_64K, SZ_2M };
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++, va += SZ_2M) {
		u32 level = sizes[i] == SZ_2M;

		mmu_map(fix, 0, va, sizes[i], mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_READ_ONLY));
		mmu_expect_refused(test, fix, va, WR, VIRTIO_PAGODA_FAULT_READ_ONLY, level,
				   "write");
		KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram);
		mmu_map(fix, 1, va, sizes[i], mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_NO_EXECUTE));
		KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 1, va), fix->vram);
		mmu_map(fix, 0, va + SZ_256M, sizes[i],
			mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_NO_EXECUTE));
		mmu_expect_refused(test, fix, va + SZ_256M, EX,
				   VIRTIO_PAGODA_FAULT_NO_EXECUTE, level, "fetch");
	}
}

/*
 * Addresses translated by a valid entry with ZERO, at any level, read as zeros; writes are dropped.
 */
static void walk_zero_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	struct pagoda_virtual_span span;
	u32 shape, level;
	u64 va, other;

	PAGODA_PROVES(C94);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		for (level = 0; level < mmu_shapes[shape].levels; level++) {
			mmu_shape_set(test, fix, &mmu_shapes[shape]);
			va = fix->shape->va;
			*mmu_word(fix, 0, va, level, false) =
				cpu_to_le64(VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO);
			KUNIT_EXPECT_EQ(test, mmu_span(fix, 0, 0, va, 64, RD, &span, NULL), 0);
			KUNIT_EXPECT_NULL(test, span.here);
			KUNIT_EXPECT_EQ(test, span.page_size, 1ull << (12 + 9 * level));
			engine_snapshot(fix);
			engine_add_virtual_fill(fix, va, MMU_PAGE, 0x12345678);
			engine_expect_done(test, fix);
			engine_expect_unchanged(test, fix, "write to zeros");
			other = va + (1ull << (12 + 9 * level));
			if (other >> fix->engine.va_bits)
				break;
			mmu_map(fix, 0, other, SZ_4K, mmu_entry(VRAM, 0x3000, 0));
			engine_add_virtual(fix, va, other, MMU_PAGE, VIRTIO_PAGODA_LOCAL_TO_LOCAL,
					   0);
			engine_expect_done(test, fix);
			KUNIT_EXPECT_NULL(test, memchr_inv(fix->vram + 0x3000, 0, MMU_PAGE));
		}
	}
}

/* An entry that no correct driver writes. */
struct walk_bad {
	u32 level;
	bool page_64k;
	u64 entry;
	const char *what;
};

#define BAD(level, page_64k, segment, address, flags) \
	{ level, page_64k, VIRTIO_PAGODA_PTE_VALID | (flags) | (address) | \
	  (u64)(segment) << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT, \
	  #level " " #page_64k " " #segment " " #address " " #flags }

#define LARGE		VIRTIO_PAGODA_PTE_LARGE
#define TABLE_64K	VIRTIO_PAGODA_PTE_TABLE_64K
#define ZERO		VIRTIO_PAGODA_PTE_ZERO
#define TABLE		(MMU_VRAM - SZ_1M)

static const struct walk_bad walk_bad[] = {
	BAD(0, false, VRAM, 0, LARGE),
	BAD(0, true, VRAM, 0, LARGE),
	BAD(0, false, VRAM, 0, TABLE_64K),
	BAD(0, false, VRAM, 0, LARGE | ZERO),
	BAD(0, false, 3, 0, 0),
	BAD(0, false, 31, 0, 0),
	BAD(0, false, VRAM, MMU_VRAM, 0),
	BAD(0, false, VRAM, 0xffffffffff000, 0),
	BAD(0, false, VRAM, MMU_INVALID, 0),
	BAD(0, false, SYSTEM, 1ull << 40, 0),
	BAD(0, false, APERTURE, MMU_APERTURE * MMU_PAGE, 0),
	BAD(0, true, VRAM, 0x11000, 0),
	BAD(0, true, VRAM, MMU_INVALID, 0),
	BAD(0, true, APERTURE, 0x20000, 0),
	BAD(1, false, VRAM, SZ_1M, LARGE),
	BAD(1, false, VRAM, SZ_4M, LARGE),		/* includes the unusable page */
	BAD(1, false, VRAM, MMU_VRAM, LARGE),
	BAD(1, false, APERTURE, 0, LARGE),		/* the aperture is smaller */
	BAD(1, false, VRAM, 0, LARGE | TABLE_64K),
	BAD(1, false, VRAM, 0, ZERO | TABLE_64K),
	BAD(1, false, VRAM, 0, ZERO | LARGE),
	BAD(1, false, APERTURE, 0, 0),
	BAD(1, false, 3, 0, 0),
	BAD(1, false, VRAM, MMU_VRAM, 0),
	BAD(1, false, VRAM, MMU_INVALID, 0),
	BAD(1, false, SYSTEM, ENGINE_BUS - MMU_PAGE, 0),
	BAD(1, false, SYSTEM, ENGINE_BUS + MMU_SYSTEM, 0),
	BAD(1, false, VRAM, TABLE, VIRTIO_PAGODA_PTE_READ_ONLY),
	BAD(1, false, VRAM, TABLE, VIRTIO_PAGODA_PTE_COHERENT),
	BAD(1, false, VRAM, TABLE, 1ull << VIRTIO_PAGODA_PTE_DRIVER_SHIFT),
	BAD(2, false, VRAM, 0, LARGE),
	BAD(2, false, VRAM, TABLE, TABLE_64K),
	BAD(2, false, VRAM, MMU_VRAM, 0),
	BAD(2, false, APERTURE, 0, 0),
	BAD(2, false, VRAM, TABLE, 1ull << 63),
	BAD(2, false, VRAM, TABLE, LARGE | ZERO),
};

/* A malformed entry isn't cached; accesses fault with BAD_TABLE at the entry's level. */
static void walk_bad_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = mmu_shapes[0].va;
	u32 shape, i;

	PAGODA_PROVES(C99);
	for (shape = 0; shape < MMU_SHAPES; shape++) {
		for (i = 0; i < ARRAY_SIZE(walk_bad); i++) {
			const struct walk_bad *bad = &walk_bad[i];

			if (bad->level >= mmu_shapes[shape].levels)
				continue;
			mmu_shape_set(test, fix, &mmu_shapes[shape]);
			va = fix->shape->va;
			*mmu_word(fix, 0, va, bad->level, bad->page_64k) = cpu_to_le64(bad->entry);
			mmu_expect_refused(test, fix, va, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE,
					   bad->level, bad->what);
			/* The malformed entry wasn't cached: the corrected entry is used. */
			mmu_map(fix, 1, va, SZ_4K, mmu_entry(VRAM, 0x1000, 0));
			*mmu_word(fix, 0, va, bad->level, bad->page_64k) =
				bad->level ? *mmu_word(fix, 1, va, bad->level, false) :
				cpu_to_le64(mmu_entry(VRAM, 0, 0));
			KUNIT_EXPECT_NOT_NULL_MSG(test, mmu_reach(fix, 0, 0, va), "%s", bad->what);
		}
	}
}

/*
 * Accesses fault through an entry that uses a feature or page size that the device doesn't have, or
 * memory that doesn't exist.
 */
static void walk_limits_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;

	fix->engine.page_sizes = SZ_4K;
	mmu_map(fix, 0, va, SZ_2M, mmu_entry(VRAM, 0, 0));
	mmu_expect_refused(test, fix, va, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 1, "no 2 MiB");
	mmu_map(fix, 0, va + SZ_2M, SZ_64K, mmu_entry(VRAM, 0, 0));
	mmu_expect_refused(test, fix, va + SZ_2M, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 1,
			   "no 64 KiB");
	fix->engine.page_sizes |= SZ_64K | SZ_2M;
	fix->engine.features &= ~BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	mmu_map(fix, 0, va + 2 * SZ_2M, SZ_4K, mmu_entry(VRAM, 0, VIRTIO_PAGODA_PTE_COHERENT));
	mmu_expect_refused(test, fix, va + 2 * SZ_2M, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0,
			   "not coherent");
	mmu_map(fix, 0, va + 3 * SZ_2M, SZ_4K, mmu_entry(SYSTEM, ENGINE_BUS + MMU_SYSTEM, 0));
	mmu_expect_refused(test, fix, va + 3 * SZ_2M, RD, VIRTIO_PAGODA_FAULT_UNREACHABLE, 0,
			   "no memory");
	fix->engine.aperture[3] = 0;
	mmu_map(fix, 0, va + 4 * SZ_2M, SZ_4K, mmu_entry(APERTURE, 3 * MMU_PAGE, 0));
	mmu_expect_refused(test, fix, va + 4 * SZ_2M, RD, VIRTIO_PAGODA_FAULT_UNREACHABLE, 0,
			   "aperture not mapped");
}

/*
 * With dual tables: if the tables of 4 KiB and of 64 KiB pages both have a valid entry for an
 * address, all accesses to the 64 KiB page are refused, also where only one table has an entry.
 */
static void walk_dual_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 va = mmu_shapes[4].va;

	PAGODA_PROVES(C93);
	mmu_shape_set(test, fix, &mmu_shapes[4]);
	mmu_map(fix, 0, va, SZ_64K, mmu_entry(VRAM, SZ_64K, 0));
	mmu_map(fix, 0, va + SZ_64K, SZ_4K, mmu_entry(VRAM, 0x3000, 0));
	mmu_map(fix, 0, va + 0x5000, SZ_4K, mmu_entry(VRAM, 0x4000, 0));
	mmu_expect_refused(test, fix, va + 0x5000, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0, "both");
	mmu_expect_refused(test, fix, va, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0, "first of both");
	mmu_expect_refused(test, fix, va + 0xffff, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0, "last");
	*mmu_word(fix, 0, va + 0x5000, 0, false) = 0;
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + SZ_64K);
	KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va + SZ_64K), fix->vram + 0x3000);
	KUNIT_EXPECT_NULL(test, mmu_reach(fix, 0, 0, va + SZ_64K + 0x1000));
	/*
	 * A large page counts as an entry of the 4 KiB side; in the word of the 64 KiB side it is
	 * refused.
	 */
	mmu_map(fix, 0, va + SZ_2M, SZ_2M, mmu_entry(VRAM, 0, 0));
	mmu_map(fix, 0, va + SZ_2M, SZ_64K, mmu_entry(VRAM, 0, 0));
	mmu_expect_refused(test, fix, va + SZ_2M, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0,
			   "large and small");
	mmu_expect_refused(test, fix, va + SZ_4M - 1, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 0,
			   "large and small elsewhere");
	*mmu_word(fix, 0, va + 2 * SZ_2M, 1, true) = cpu_to_le64(mmu_entry(VRAM, 0, LARGE));
	mmu_expect_refused(test, fix, va + 2 * SZ_2M, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 1,
			   "large in the second word");
	/* A level-1 table with dual entries has two pages and must be aligned to their size. */
	*mmu_word(fix, 0, va + SZ_1G, 2, false) = cpu_to_le64(mmu_entry(VRAM, TABLE + MMU_PAGE, 0));
	mmu_expect_refused(test, fix, va + SZ_1G, RD, VIRTIO_PAGODA_FAULT_BAD_TABLE, 2,
			   "misaligned table");
}

/* A bad root is refused, and the previous one stays. Addresses beyond a root's entries fault. */
static void walk_root_test(struct kunit *test)
{
	static const struct {
		u32 space, segment;
		u64 address, entries;
		u32 reason;
	} roots[] = {
		{ ENGINE_SPACES, VRAM, 0, 512, VIRTIO_PAGODA_FAULT_BAD_CONTEXT },
		{ 0, APERTURE, 0, 512, VIRTIO_PAGODA_FAULT_BAD_SEGMENT },
		{ 0, VRAM, 8, 512, VIRTIO_PAGODA_FAULT_MISALIGNED },
		{ 0, VRAM, MMU_VRAM, 512, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, VRAM, MMU_INVALID, 512, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, SYSTEM, 1ull << 40, 512, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE },
		{ 0, VRAM, 0, 513, VIRTIO_PAGODA_FAULT_BAD_TABLE },
		{ 0, VRAM, 0, ~0ull, VIRTIO_PAGODA_FAULT_BAD_TABLE },
	};
	struct engine_fixture *fix = test->priv;
	u64 va = fix->shape->va;
	u32 i;

	mmu_map(fix, 0, va, SZ_4K, mmu_entry(VRAM, 0x1000, 0));
	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		KUNIT_EXPECT_EQ(test, roots[i].reason,
				pagoda_engine_root_set(&fix->engine, roots[i].space,
						       roots[i].segment, roots[i].address,
						       roots[i].entries));
		KUNIT_EXPECT_PTR_EQ(test, mmu_reach(fix, 0, 0, va), fix->vram + 0x1000);
	}
	/* With two entries the second gigabyte is reached, with one it isn't. */
	for (i = 2; i; i--) {
		KUNIT_EXPECT_EQ(test, 0,
				pagoda_engine_root_set(&fix->engine, 0, fix->shape->segment,
						       fix->spaces[0].address, i));
		KUNIT_EXPECT_EQ(test, i > 1, !!mmu_reach(fix, 0, 0, va));
	}
	pagoda_engine_reset(&fix->engine);
	KUNIT_EXPECT_EQ(test, fix->spaces[0].entries, 0);
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, VRAM, MMU_PAGE, 0),
			VIRTIO_PAGODA_FAULT_RESERVED);
	/* With two levels and dual tables each entry of the root has two words. */
	mmu_shape_set(test, fix, &mmu_shapes[2]);
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, VRAM, MMU_VRAM - SZ_8K, 513),
			VIRTIO_PAGODA_FAULT_OUT_OF_RANGE);
	KUNIT_EXPECT_EQ(test, pagoda_engine_root_set(&fix->engine, 0, VRAM, MMU_VRAM - SZ_8K, 512),
			0);
}

static u64 walk_random_word(struct rnd_state *random)
{
	u64 word = (u64)prandom_u32_state(random) << 32 | prandom_u32_state(random);
	u32 kind = prandom_u32_state(random) % 8;

	if (!kind)
		return word;
	/* Of eight words, about seven point into VRAM, four of these to VRAM for tables. */
	word &= MMU_VRAM - 1 + (kind == 7 ? MMU_VRAM : 0);
	word = ALIGN_DOWN(word, kind == 1 ? SZ_2M : kind == 2 ? SZ_64K : SZ_8K);
	if (kind > 3)
		word = MMU_VRAM - MMU_TABLES + word % MMU_TABLES;
	return mmu_entry(VRAM, word, kind == 1 ? LARGE : 0);
}

static void walk_random_tables(struct engine_fixture *fix, struct rnd_state *random)
{
	__le64 *word = (__le64 *)(fix->vram + MMU_VRAM - MMU_TABLES);
	__le64 *system = (__le64 *)(fix->system + MMU_DATA);
	u32 i;

	for (i = 0; i < MMU_TABLES / sizeof(*word); i++)
		word[i] = cpu_to_le64(walk_random_word(random));
	for (i = 0; i < (MMU_SYSTEM - MMU_DATA) / sizeof(*word); i++)
		system[i] = cpu_to_le64(walk_random_word(random) | (i % 3 ? 0 : ENGINE_BUS));
}

/* Returns whether a span is in usable VRAM or in system memory, or is of a page of zeros. */
static bool walk_span_inside(struct engine_fixture *fix, const struct pagoda_virtual_span *span)
{
	u64 vram = span->here - fix->vram, system = span->here - fix->system;

	if (!span->here)
		return true;
	if (span->segment == VRAM)
		return vram < MMU_VRAM && span->size <= MMU_VRAM - vram &&
		       (vram + span->size <= MMU_INVALID || vram >= MMU_INVALID + MMU_PAGE);
	return system < MMU_SYSTEM && span->size <= MMU_SYSTEM - system;
}

static void walk_hostile_round(struct kunit *test, struct engine_fixture *fix,
			       struct rnd_state *random, u32 *found)
{
	struct pagoda_engine_fault fault;
	struct pagoda_virtual_span span;
	struct pagoda_engine_run run;
	u64 va, size;
	u32 i, reason;

	for (i = 0; i < 400; i++) {
		va = ((u64)prandom_u32_state(random) << 32 | prandom_u32_state(random)) >> 16;
		size = 1 + (prandom_u32_state(random) >> prandom_u32_state(random) % 32);
		if (fix->shape->levels == 2)
			va %= SZ_1G;
		reason = mmu_span(fix, 0, i % ENGINE_SPACES, va, size,
				  RD + prandom_u32_state(random) % 3, &span, &fault);
		KUNIT_ASSERT_LT(test, reason, VIRTIO_PAGODA_FAULT_COUNT);
		if (reason)
			continue;
		KUNIT_ASSERT_TRUE(test, span.size && span.size <= size);
		KUNIT_ASSERT_TRUE(test, walk_span_inside(fix, &span));
		(*found)++;
		engine_add_virtual_fill(fix, va & ~3ull,
					min_t(u64, span.size + 7, SZ_64K) & ~3ull, i);
		engine_add_virtual(fix, va & ~3ull, (va + SZ_4M) & ~3ull, SZ_64K, i % 3, i % 4);
		engine_run(fix, &run, PAGODA_ENGINE_QUEUE_PAGING, 0);
		KUNIT_ASSERT_LE(test, run.offset, run.size);
	}
}

/*
 * Random tables, many entries of which point to such tables: nothing outside of the segments is
 * read or written (KASAN, guards), and every walk ends.
 */
static void walk_hostile_test(struct kunit *test)
{
	struct engine_fixture *fix = test->priv;
	u64 seed = get_random_u64();
	struct rnd_state random;
	u32 round, found = 0;

	kunit_info(test, "seed %#llx\n", seed);
	prandom_seed_state(&random, seed);
	for (round = 0; round < 2 * MMU_SHAPES; round++) {
		u32 before = found;

		mmu_shape_set(test, fix, &mmu_shapes[round % MMU_SHAPES]);
		walk_random_tables(fix, &random);
		walk_hostile_round(test, fix, &random, &found);
		kunit_info(test, "shape %u: %u addresses lead to memory\n", round % MMU_SHAPES,
			   found - before);
	}
	engine_expect_guards(test, fix, "guards");
	KUNIT_EXPECT_GT(test, found, 100);
}

/*
 * An UPDATE_PAGE_TABLE of entries that its table can't have is refused: beyond 512 or, in a root,
 * beyond what the bits of an address need, which is 256 with four levels.
 */
static void walk_root_update_test(struct kunit *test)
{
	static const struct {
		u32 shape, level, first, nr_entries;
		bool good;
	} updates[] = {
		{ 4, 3, 255, 1, true }, { 4, 3, 0, 256, true }, { 4, 3, 256, 1, false },
		{ 4, 3, 255, 2, false }, { 4, 3, 0, 257, false }, { 4, 2, 0, 512, true },
		{ 4, 2, 512, 1, false }, { 5, 4, 1, 1, false }, { 5, 4, 0, 1, true },
		{ 1, 1, 512, 1, true }, { 1, 0, 512, 1, false },
	};
	struct virtio_pagoda_update_page_table *update;
	struct engine_fixture *fix = test->priv;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(updates); i++) {
		mmu_shape_set(test, fix, &mmu_shapes[updates[i].shape]);
		update = mmu_add_update(fix, mmu_table_alloc(fix), updates[i].level,
					updates[i].first, updates[i].nr_entries, 1,
					VIRTIO_PAGODA_UPDATE_REPEAT);
		*(__le64 *)(update + 1) = 0;
		if (updates[i].good)
			engine_expect_done(test, fix);
		else
			engine_expect_fault(test, fix, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, "update");
	}
}

static struct kunit_case walk_cases[] = {
	KUNIT_CASE(walk_pages_test),
	KUNIT_CASE(walk_coalesce_test),
	KUNIT_CASE(walk_invalid_test),
	KUNIT_CASE(walk_root_end_test),
	KUNIT_CASE(walk_space_test),
	KUNIT_CASE(walk_permission_test),
	KUNIT_CASE_SLOW(walk_zero_test),
	KUNIT_CASE(walk_bad_test),
	KUNIT_CASE_SLOW(walk_limits_test),
	KUNIT_CASE(walk_dual_test),
	KUNIT_CASE(walk_root_test),
	KUNIT_CASE(walk_root_update_test),
	KUNIT_CASE_SLOW(walk_hostile_test),
	{}
};

static struct kunit_suite walk_suite = {
	.name = "pagoda_engine_walk",
	.init = mmu_suite_init,
	.test_cases = walk_cases,
};

kunit_test_suite(walk_suite);
