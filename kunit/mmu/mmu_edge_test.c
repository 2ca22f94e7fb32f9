// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of page tables where mistakes are likely: the order of updates; roots that grow or can't
 * grow; evicted and rebuilt tables; the allocations that updates name long after the map; changes
 * and copies of many tables; aborted and refused changes; parts of 2 MiB blocks.
 */
#include <linux/dma-fence.h>
#include <linux/err.h>
#include "../drivers/pagoda/mmu/internal.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "rig/alloc.h"
#include "rig/prove.h"
#include "mmu_helpers.h"

#define VA	((u64)SZ_4M)
#define FAR	(16ull * SZ_1G)
#define VRAM	((u64)SZ_512M)
#define NOTED	VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION

static const struct mmu_variant physical = {
	VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, false, true
};

static struct mmu_rig *make(struct kunit *test, u32 mode, u32 levels, bool dual, bool not_cached)
{
	const struct mmu_variant variant = { mode, levels, dual, not_cached };

	return mmu_rig_make(test, &variant, 0x9a60da);
}

static struct pagoda_map map_of(struct pagoda_map_extent *extent, u64 va, u64 address, u64 size)
{
	*extent = (struct pagoda_map_extent) { VIRTIO_PAGODA_SEGMENT_VRAM, address, size };
	return mmu_map_vram(extent, va);
}

static void map_vram(struct mmu_rig *rig, u64 va, u64 address, u64 size)
{
	struct pagoda_map_extent extent;
	struct pagoda_map map = map_of(&extent, va, address, size);

	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &map, 1));
}

static void unmap(struct mmu_rig *rig, u64 va, u64 size)
{
	const struct pagoda_map map = { .va = va, .size = size };

	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &map, 1));
}

/* Returns operation @n of those emitted if it is an UPDATE_PAGE_TABLE of space 1, else NULL. */
static const struct pagoda_op_update_page_table *update_at(struct mmu_rig *rig, u32 n)
{
	const struct pagoda_paging_op *op = &rig->seen[n].op;

	if (op->operation != VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE ||
	    op->update_page_table.address_space != 1)
		return NULL;
	return &op->update_page_table;
}

/* Returns how many emitted updates of space 1 are of tables at @level and have all of @flags. */
static u32 updates(struct mmu_rig *rig, u32 level, u32 flags)
{
	u32 n, nr = 0;

	KUNIT_ASSERT_LE(rig->test, rig->nr_seen, MMU_RIG_SEEN);
	for (n = 0; n < rig->nr_seen; n++) {
		const struct pagoda_op_update_page_table *update = update_at(rig, n);

		nr += update && update->level == level && (update->flags & flags) == flags;
	}
	return nr;
}

static void *leaf_of(struct mmu_rig *rig, u64 va)
{
	struct pagoda_table *table = rig->spaces[1]->root;

	while (table->level)
		table = table->words[0].children[pagoda_table_index(table, va)];
	return table->memory.cookie;
}

static u32 reason_at(struct mmu_rig *rig, u64 va)
{
	u64 found;

	return mmu_rig_access(rig, 1, va, VIRTIO_PAGODA_ACCESS_READ, &found);
}

/* ---- Order of updates ------------------------------------------------------ */

/*
 * A table is filled before an entry leads to it, and a table that isn't needed any more gets its
 * last update after the entry that led to it has changed.
 */
static void edge_order(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	bool changed = false;
	u32 n, level = 0;

	PAGODA_PROVES(C122);
	map_vram(rig, VA, VRAM + SZ_4K, SZ_2M);
	for (n = 0; n < rig->nr_seen; n++) {
		const struct pagoda_op_update_page_table *update = update_at(rig, n);

		if (!update)
			continue;
		KUNIT_EXPECT_GE(test, update->level, level);
		level = update->level;
	}
	KUNIT_EXPECT_EQ(test, level, 2);
	map_vram(rig, VA, VRAM, SZ_2M);
	for (n = 0; n < rig->nr_seen; n++) {
		const struct pagoda_op_update_page_table *update = update_at(rig, n);

		if (!update)
			continue;
		changed |= update->level;
		if (!update->level)
			KUNIT_EXPECT_TRUE(test, changed);
	}
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 0, NOTED));
	mmu_rig_check(rig, 1, VA, SZ_2M);
	/* Mapping the same memory again emits the level-1 update again. */
	map_vram(rig, VA, VRAM, SZ_2M);
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 1, 0));
}

/*
 * A level-1 table with dual PTEs is cleared by two updates, one for each word of its entries. When
 * the table is new, only the first of them has INITIAL; when the table is dropped, only the last
 * has NOTIFY_EVICTION. Contexts are suspended to cut a 64 KiB entry.
 */
static void edge_dual_notes(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, true, true);
	u32 n, last = 0;

	PAGODA_PROVES(C90, C91, C102);
	map_vram(rig, VA, VRAM, SZ_64K);
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 1, VIRTIO_PAGODA_UPDATE_INITIAL));
	KUNIT_EXPECT_EQ(test, 0, rig->nr_suspends);
	map_vram(rig, VA + SZ_4K, VRAM, SZ_4K);
	KUNIT_EXPECT_EQ(test, 1, rig->nr_suspends);
	unmap(rig, VA, SZ_64K);
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 1, NOTED));
	for (n = 0; n < rig->nr_seen; n++)
		if (update_at(rig, n) && update_at(rig, n)->level == 1)
			last = update_at(rig, n)->flags;
	KUNIT_EXPECT_TRUE(test, last & NOTED);
}

/* ---- The resizable root of two levels of tables ---------------------------- */

static u64 root_entries(struct mmu_rig *rig)
{
	struct pagoda_root root;

	pagoda_space_root(rig->spaces[1], &root);
	return root.entries;
}

static void edge_root(struct kunit *test, bool dual)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, dual, true);
	const struct pagoda_map far = { .va = FAR, .size = SZ_2M };
	struct pagoda_pt_update *update;
	u64 last = (u64)SZ_1G - SZ_2M;
	struct pagoda_map more = far;
	u32 tables;

	map_vram(rig, last, VRAM, SZ_2M);
	unmap(rig, FAR, SZ_2M);
	KUNIT_EXPECT_EQ(test, 512, root_entries(rig));
	more.kind = PAGODA_MAP_ZERO;
	tables = rig->nr_tables;
	KUNIT_ASSERT_EQ(test, 0, pagoda_space_prepare(rig->spaces[1], &more, 1, &update));
	KUNIT_EXPECT_EQ(test, 1, rig->suspended);
	pagoda_pt_update_abort(update);
	KUNIT_EXPECT_EQ(test, 0, rig->suspended);
	KUNIT_EXPECT_EQ(test, tables, rig->nr_tables);
	/* A root whose last entry is valid grows, and its old memory gets a last update. */
	map_vram(rig, FAR, VRAM, SZ_64K);
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 1, NOTED));
	mmu_rig_check(rig, 1, last, SZ_2M);
	/*
	 * Changes of other addresses don't shrink the root while an entry in its upper half is
	 * used, or one in its second quarter.
	 */
	map_vram(rig, VA, VRAM, SZ_4K);
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	mmu_rig_check(rig, 1, FAR, SZ_128K);
	map_vram(rig, FAR, VRAM, SZ_2M);
	map_vram(rig, VA, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	map_vram(rig, 10ull * SZ_1G, VRAM, SZ_2M);
	unmap(rig, FAR, SZ_2M);
	map_vram(rig, VA, VRAM, SZ_4K);
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	mmu_rig_check(rig, 1, 10ull * SZ_1G, SZ_4M);
	mmu_rig_check(rig, 1, last, SZ_4M);
}

/*
 * If a change that enlarges the root is aborted, its tables are freed and contexts resumed. The
 * root grows for a far mapping, and stays large while more than a quarter of its entries is needed,
 * without and with dual PTEs.
 */
static void edge_roots(struct kunit *test)
{
	edge_root(test, false);
	edge_root(test, true);
}

/*
 * If memory for a larger root can't be allocated, prepare returns -ENOMEM: the root stays as it is,
 * no new table is left, and no contexts are suspended.
 */
static void edge_root_fails(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, false, true);
	const struct pagoda_map far = { .va = FAR, .size = SZ_2M, .kind = PAGODA_MAP_ZERO };
	struct pagoda_pt_update *update;
	u32 tables;

	map_vram(rig, VA, VRAM, SZ_8K);
	KUNIT_ASSERT_EQ(test, 512, rig->spaces[1]->root->room);
	tables = rig->nr_tables;
	rig->fail_alloc = 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_space_prepare(rig->spaces[1], &far, 1, &update));
	KUNIT_EXPECT_EQ(test, 512, rig->spaces[1]->root->room);
	KUNIT_EXPECT_EQ(test, tables, rig->nr_tables);
	KUNIT_EXPECT_EQ(test, 0, rig->suspended);
	mmu_rig_check(rig, 1, VA, SZ_16K);
}

/*
 * Addresses for which the root would take more than half of VRAM are refused, without an
 * allocation.
 */
static void edge_root_vram(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, false, true);
	struct pagoda_map map = { .kind = PAGODA_MAP_ZERO, .size = SZ_4K };
	u32 allocs = rig->nr_allocs;

	/* 16384 entries take 128 KiB, half of 256 KiB: VRAM is rounded down to a power of two. */
	rig->limits.vram_size = SZ_256K + SZ_128K;
	map.va = 16384ull * SZ_2M;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	KUNIT_EXPECT_EQ(test, allocs, rig->nr_allocs);
	map.va -= SZ_4K;
	KUNIT_EXPECT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	rig->limits.vram_size = MMU_RIG_VRAM;
}

/* A change that needs a larger root while the root is evicted makes the larger root resident. */
static void edge_root_away(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, false, true);

	map_vram(rig, VA, VRAM, SZ_8K);
	pagoda_space_detach(rig->spaces[1]);
	mmu_rig_evict(rig, 1, mmu_rig_any_table(rig, 1, true));
	map_vram(rig, FAR, VRAM, SZ_2M);
	KUNIT_EXPECT_TRUE(test, pagoda_space_is_resident(rig->spaces[1]));
	mmu_rig_check(rig, 1, VA, SZ_16K);
	mmu_rig_check(rig, 1, FAR, SZ_2M);
}

/* A map with more large pages than an UPDATE_PAGE_TABLE may write entries takes several updates. */
static void edge_many_large(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, false, true);
	const struct pagoda_map_extent extents[] = {
		{ VIRTIO_PAGODA_SEGMENT_VRAM, 0, SZ_1G }, { VIRTIO_PAGODA_SEGMENT_VRAM, 0, SZ_1G },
	};
	struct pagoda_map map = mmu_map_vram(extents, VA);
	u32 n;

	map.size = 2ull * SZ_1G;
	map.nr_extents = 2;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	for (n = 0; n < rig->nr_seen; n++)
		if (update_at(rig, n) && !(update_at(rig, n)->flags & VIRTIO_PAGODA_UPDATE_REPEAT))
			KUNIT_EXPECT_LE(test, update_at(rig, n)->nr_entries,
					VIRTIO_PAGODA_PT_ENTRIES);
	mmu_rig_check(rig, 1, VA + SZ_1G - SZ_2M, SZ_4M);
}

/* ---- Evicted tables ----------------------------------------------------------------- */

/*
 * Addresses whose leaf table is evicted fault until the table is restored; the entries of an
 * evicted table can be copied.
 */
static void edge_evicted(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, false, false);
	const struct pagoda_space_copy copy = {
		.src = VA + SZ_4K, .dst = VA + SZ_1G + SZ_16K, .size = SZ_4K
	};

	PAGODA_PROVES(C91, C105, C106);
	map_vram(rig, VA, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, reason_at(rig, VA));
	mmu_rig_evict(rig, 1, leaf_of(rig, VA));
	KUNIT_EXPECT_EQ(test, 1, updates(rig, 0, NOTED));
	/* The eviction flushed the TLB; by this access the TLB caches an invalid entry. */
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, reason_at(rig, VA));
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	KUNIT_EXPECT_EQ(test, 0, reason_at(rig, VA));
	mmu_rig_check(rig, 1, VA, SZ_16K);
	/* Entries of an evicted table are copied from words, the driver's copy of them. */
	mmu_rig_evict(rig, 1, leaf_of(rig, VA));
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copy, 1));
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	mmu_rig_check(rig, 1, VA + SZ_1G, SZ_64K);
	/* An evicted table whose last mapping is removed needn't be restored. */
	unmap(rig, copy.dst, SZ_4K);
	mmu_rig_evict(rig, 1, leaf_of(rig, VA));
	unmap(rig, VA, SZ_8K);
	KUNIT_EXPECT_TRUE(test, pagoda_space_is_resident(rig->spaces[1]));
	KUNIT_EXPECT_EQ(test, SZ_4K, pagoda_space_table_bytes(rig->spaces[1]));
	KUNIT_EXPECT_EQ(test, 0, pagoda_records_count(rig->spaces[1], 0, U64_MAX));
}

/* Addresses unmapped while their level-1 table is evicted stay unmapped after the restore. */
static void edge_evicted_upper(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, false, false);
	struct pagoda_table *root, *upper;

	map_vram(rig, VA, VRAM, SZ_8K);
	map_vram(rig, VA + SZ_4M, VRAM + SZ_4M, SZ_8K);
	root = rig->spaces[1]->root;
	upper = root->words[0].children[pagoda_table_index(root, VA)];
	KUNIT_ASSERT_EQ(test, 1u, upper->level);
	mmu_rig_evict(rig, 1, upper->memory.cookie);
	KUNIT_EXPECT_NE(test, 0u, reason_at(rig, VA + SZ_4M));
	unmap(rig, VA, SZ_8K);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	mmu_rig_check(rig, 1, VA, SZ_8M);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY, reason_at(rig, VA));
	KUNIT_EXPECT_EQ(test, 0, reason_at(rig, VA + SZ_4M));
}

/* The root doesn't shrink so far that an address whose leaf table is evicted has no root entry. */
static void edge_evicted_far(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, false, false);

	map_vram(rig, FAR, VRAM, SZ_64K);
	mmu_rig_evict(rig, 1, leaf_of(rig, FAR));
	KUNIT_EXPECT_NE(test, 0u, reason_at(rig, FAR));
	/* Each change shrinks the root if possible. */
	map_vram(rig, VA, VRAM + SZ_4M, SZ_4K);
	map_vram(rig, VA, VRAM + SZ_4M, SZ_8K);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	mmu_rig_check(rig, 1, FAR, SZ_128K);
	mmu_rig_check(rig, 1, VA, SZ_16K);
}

/*
 * Tables in VRAM hold garbage that would translate, as after a loss of the device's memory: the
 * space, unless it is empty, is stale until a rebuild has written all entries, invalid ones too.
 */
static void rebuild_run(struct mmu_rig *rig)
{
	u32 page;

	pagoda_space_forget(rig->spaces[1]);
	KUNIT_EXPECT_TRUE(rig->test, pagoda_space_is_resident(rig->spaces[1]));
	for (page = 0; page < 64; page += 3)
		map_vram(rig, VA + page * SZ_4K, VRAM + page * SZ_8K, SZ_4K);
	unmap(rig, VA + 9 * SZ_4K, SZ_4K);
	map_vram(rig, VA + SZ_2M, VRAM, SZ_2M);
	map_vram(rig, VA + SZ_1G, VRAM + SZ_4M, SZ_64K);
	mmu_rig_scribble(rig);
	pagoda_space_forget(rig->spaces[1]);
	KUNIT_EXPECT_TRUE(rig->test, pagoda_space_is_stale(rig->spaces[1]));
	KUNIT_EXPECT_FALSE(rig->test, pagoda_space_is_resident(rig->spaces[1]));
	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_rebuild(rig, 1));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_space_is_resident(rig->spaces[1]));
	mmu_rig_check(rig, 1, VA - SZ_2M, SZ_2M * 4);
	mmu_rig_check(rig, 1, VA + SZ_1G - SZ_2M, SZ_2M * 2);
	/* Map an address that was unmapped at the loss, and unmap an address that was mapped. */
	map_vram(rig, VA + 9 * SZ_4K, VRAM + SZ_8M, SZ_4K);
	unmap(rig, VA, SZ_4K);
	mmu_rig_check(rig, 1, VA, SZ_2M);
}

static void edge_rebuild(struct kunit *test)
{
	u32 levels;

	for (levels = 2; levels <= 4; levels++) {
		rebuild_run(make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, levels, false, false));
		rebuild_run(make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, levels, true, false));
		rebuild_run(make(test, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, levels, true, true));
	}
}

/* The rebuild of a root that has grown makes all entries invalid that the space doesn't use. */
static void edge_rebuild_large_root(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 2, i, false);

		map_vram(rig, VA, VRAM, SZ_4K);
		map_vram(rig, FAR, VRAM + SZ_4M, SZ_64K);
		KUNIT_ASSERT_LT(test, 512, root_entries(rig));
		mmu_rig_scribble(rig);
		KUNIT_ASSERT_EQ(test, 0, mmu_rig_rebuild(rig, 1));
		mmu_rig_check(rig, 1, VA - SZ_2M, SZ_2M * 4);
		mmu_rig_check(rig, 1, FAR - SZ_4M, SZ_4M);
		mmu_rig_check(rig, 1, FAR, SZ_2M);
		/* Between VA and FAR, where the root's first 512 entries end. */
		mmu_rig_check(rig, 1, SZ_1G - SZ_2M, SZ_4M);
	}
}

/* ---- Allocations named by updates --------------------------------------------------- */

/*
 * Expects the emitted updates of leaf tables that map addresses, of which the first is from @va to
 * @va + @size, to name @allocation and the offset of that first address, which is @at for @va.
 * Returns how many entries these updates write.
 */
static u32 expect_quotes(struct mmu_rig *rig, u64 va, u64 size, u64 allocation, u64 at)
{
	u32 n, pages = 0;

	for (n = 0; n < rig->nr_seen; n++) {
		const struct pagoda_op_update_page_table *update = update_at(rig, n);

		if (!update || update->level || update->first_va < va ||
		    update->first_va >= va + size || !(rig->seen[n].value & 1))
			continue;
		KUNIT_EXPECT_EQ(rig->test, allocation, rig->seen[n].op.allocation);
		KUNIT_EXPECT_EQ(rig->test, at + update->first_va - va, update->allocation_offset);
		pages += update->nr_entries;
	}
	return pages;
}

/*
 * A mapping is cut by a later map, and one of its pages copied: when evicted tables are restored,
 * the updates for each piece name the allocation and offset that the piece shows.
 */
static void edge_records(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	const struct pagoda_space_copy copy = {
		.src = VA + SZ_4K, .dst = VA + SZ_2M + SZ_16K, .size = SZ_4K
	};
	struct pagoda_map_extent extent;
	struct pagoda_map map;

	PAGODA_PROVES(C100);
	map = map_of(&extent, VA, VRAM, SZ_32K);
	map.allocation_offset = SZ_1M;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	map = map_of(&extent, VA + SZ_16K, VRAM + SZ_2M, SZ_4K);
	map.allocation = 8;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	map = map_of(&extent, VA + SZ_2M, VRAM + SZ_4M, SZ_64K);
	map.allocation = 9;
	map.extents = &extent;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copy, 1));
	mmu_rig_evict(rig, 1, leaf_of(rig, VA));
	mmu_rig_evict(rig, 1, leaf_of(rig, VA + SZ_2M));
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	KUNIT_EXPECT_EQ(test, 4, expect_quotes(rig, VA, SZ_16K, 7, SZ_1M));
	KUNIT_EXPECT_EQ(test, 1, expect_quotes(rig, VA + SZ_16K, SZ_4K, 8, 0));
	KUNIT_EXPECT_EQ(test, 3, expect_quotes(rig, VA + SZ_16K + SZ_4K, SZ_4K * 3, 7,
					       SZ_1M + SZ_16K + SZ_4K));
	KUNIT_EXPECT_EQ(test, 4, expect_quotes(rig, VA + SZ_2M, SZ_16K, 9, 0));
	KUNIT_EXPECT_EQ(test, 1, expect_quotes(rig, copy.dst, SZ_4K, 7, SZ_1M + SZ_4K));
	KUNIT_EXPECT_EQ(test, 11, expect_quotes(rig, copy.dst + SZ_4K, SZ_64K - SZ_16K - SZ_4K, 9,
						SZ_16K + SZ_4K));
}

/* ---- Many tables ----------------------------------------------------------- */

/*
 * A copy of 20 blocks with a mapped page each copies all pages, by two COPY_PAGE_TABLE_ENTRIES,
 * which have at most 16 ranges each.
 */
static void edge_long_copy(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, 3, false, true);
	const struct pagoda_space_copy copy = {
		.src = VA, .dst = VA + SZ_1G, .size = 20 * SZ_2M
	};
	u32 i;

	PAGODA_PROVES(C108, C109);
	for (i = 0; i < 20; i++)
		map_vram(rig, VA + i * SZ_2M, VRAM + i * SZ_64K, SZ_4K);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copy, 1));
	for (i = 0; i < 20; i++)
		mmu_rig_check(rig, 1, copy.dst + i * SZ_2M, SZ_8K);
}

/* One change may write more tables than there are table windows: windows are used several times. */
static void edge_many_tables(struct kunit *test)
{
	struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, 3, false, true);
	u32 nr = PAGODA_TABLE_WINDOWS + 20, i;
	struct pagoda_map_extent extent;
	struct pagoda_map *maps = test_calloc(test, nr, sizeof(*maps));

	for (i = 0; i < nr; i++)
		maps[i] = map_of(&extent, VA + (u64)i * SZ_2M, VRAM, SZ_4K);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, maps, nr));
	for (i = 0; i < nr; i++)
		mmu_rig_check(rig, 1, VA + (u64)i * SZ_2M, SZ_8K);
	unmap(rig, VA, (u64)nr * SZ_2M);
	for (i = 0; i < nr; i++)
		mmu_rig_check(rig, 1, VA + (u64)i * SZ_2M, SZ_4K);
	KUNIT_EXPECT_EQ(test, SZ_4K, pagoda_space_table_bytes(rig->spaces[1]));
}

/* ---- Aborted and refused changes ---------------------------------------------------- */

/*
 * Aborting a change resumes contexts and leaves nothing behind: the same change can be prepared
 * again and committed.
 */
static void edge_abort(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	struct pagoda_map_extent extent;
	const struct pagoda_map map = map_of(&extent, VA + SZ_1M, VRAM, SZ_4K);
	struct pagoda_pt_update *update;
	u32 i;

	PAGODA_PROVES(C102);
	map_vram(rig, VA, VRAM, SZ_64K);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_space_prepare(rig->spaces[1], &map, 1, &update));
		KUNIT_EXPECT_EQ(test, 1, rig->suspended);
		pagoda_pt_update_abort(update);
		KUNIT_EXPECT_EQ(test, 0, rig->suspended);
	}
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	mmu_rig_check(rig, 1, VA, SZ_2M);
}

/* There are no page tables for limits without 4 KiB pages or levels, or for an unknown mode. */
static void edge_limits(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	struct pagoda_mmu_args args = rig->mmu->args;
	struct pagoda_paging_limits limits = rig->limits;

	args.limits = &limits;
	limits.page_sizes &= ~SZ_4K;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(pagoda_mmu_create(&args)));
	limits = rig->limits;
	limits.pt_levels = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(pagoda_mmu_create(&args)));
	limits = rig->limits;
	args.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL + 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(pagoda_mmu_create(&args)));
}

static void edge_refusals(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	struct pagoda_map_extent extents[] = {
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_8K }, { VIRTIO_PAGODA_SEGMENT_VRAM },
	};
	dma_addr_t pages[2] = { MMU_RIG_DATA_BUS, MMU_RIG_DATA_BUS + SZ_64K };
	const struct pagoda_adl adl = { .nr_pages = 2, .pages = pages };
	const struct pagoda_map good = mmu_map_vram(extents, VA);
	struct pagoda_map map = good;

	map.nr_extents = 2;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	extents[0].segment = VIRTIO_PAGODA_SEGMENT_COUNT;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &good, 1));
	extents[0].segment = VIRTIO_PAGODA_SEGMENT_VRAM;
	extents[0].address++;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &good, 1));
	extents[0].address--;
	map = good;
	map.adl = &adl;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map.extents = NULL;
	map.adl_offset = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map.adl_offset = 0;
	KUNIT_EXPECT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.va = (1ull << 39) - SZ_8K;
	KUNIT_EXPECT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	mmu_rig_check(rig, 1, map.va, SZ_8K);
}

/*
 * In GPU_VIRTUAL mode the whole root must fit into the table windows: addresses that need a larger
 * root are refused.
 */
static void edge_reach(struct kunit *test)
{
	struct pagoda_map map = { .kind = PAGODA_MAP_ZERO, .size = SZ_4K };
	struct mmu_rig *rig;
	u32 dual;

	for (dual = 0; dual < 2; dual++) {
		rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, 2, dual, true);
		map.va = 512ull * SZ_1G >> dual;
		KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	}
}

/* For a device with 4 KiB pages only, no entry is large and no table has 64 KiB entries. */
static void edge_page_sizes(struct kunit *test)
{
	struct mmu_rig *rig = mmu_rig_make(test, &physical, 1);
	u32 n;

	PAGODA_PROVES(C99);
	rig->limits.page_sizes = SZ_4K;
	map_vram(rig, VA, VRAM, SZ_2M);
	map_vram(rig, VA + SZ_2M, VRAM, SZ_64K);
	map_vram(rig, VA, VRAM + SZ_2M, SZ_2M);
	for (n = 0; n < rig->nr_seen; n++)
		KUNIT_EXPECT_FALSE(test, rig->seen[n].value & VIRTIO_PAGODA_PTE_LARGE);
	mmu_rig_check(rig, 1, VA, SZ_4M);
	KUNIT_EXPECT_EQ(test, 0, updates(rig, 0, VIRTIO_PAGODA_UPDATE_USE_64K));
	unmap(rig, VA, SZ_4M);
}

/*
 * One change has two maps: the first maps two whole blocks, the second maps or unmaps a part of the
 * second block.
 */
static void edge_part_of_a_block(struct kunit *test)
{
	static const struct {
		u64 at;
		u64 size;
		bool unmaps;
	} parts[] = {
		{ SZ_16K, SZ_4K, false }, { SZ_64K, SZ_64K, false },
		{ SZ_16K, SZ_4K, true }, { SZ_64K, SZ_64K, true },
	};
	u32 i;

	for (i = 0; i < 2 * ARRAY_SIZE(parts); i++) {
		struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, i % 2, true);
		const u64 va = VA + SZ_2M + parts[i / 2].at, size = parts[i / 2].size;
		struct pagoda_map_extent extents[2];
		struct pagoda_map maps[] = {
			map_of(&extents[0], VA, VRAM, SZ_4M),
			map_of(&extents[1], va, VRAM + SZ_8M, size),
		};

		if (parts[i / 2].unmaps)
			maps[1] = (struct pagoda_map) { .va = va, .size = size };
		KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, maps, ARRAY_SIZE(maps)));
		mmu_rig_check(rig, 1, VA - SZ_2M, SZ_8M);
	}
}

/*
 * One change unmaps a page of a block that maps nothing yet, and then maps 64 KiB around that page:
 * by one entry, because the unmap didn't put a table of 4 KiB entries into the block.
 */
static void edge_unmap_then_map(struct kunit *test)
{
	struct pagoda_map_extent extent;
	struct pagoda_map maps[] = {
		{ .va = VA + SZ_2M + SZ_4K, .size = SZ_4K },
		map_of(&extent, VA + SZ_2M, VRAM, SZ_64K),
	};
	u64 entry, size;
	u32 dual;

	for (dual = 0; dual < 2; dual++) {
		struct mmu_rig *rig = make(test, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, dual, true);

		/* Makes the level-1 table, in which the unmap looks for the block. */
		map_vram(rig, VA, VRAM, SZ_4K);
		KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, maps, ARRAY_SIZE(maps)));
		KUNIT_ASSERT_TRUE(test, pagoda_space_lookup(rig->spaces[1], maps[0].va, &entry,
							    &size));
		KUNIT_EXPECT_EQ(test, SZ_64K, size);
		mmu_rig_check(rig, 1, VA, SZ_4M);
	}
}

static struct kunit_case mmu_edge_cases[] = {
	KUNIT_CASE(edge_order),
	KUNIT_CASE(edge_dual_notes),
	KUNIT_CASE(edge_roots),
	KUNIT_CASE(edge_root_fails),
	KUNIT_CASE(edge_root_vram),
	KUNIT_CASE(edge_root_away),
	KUNIT_CASE(edge_many_large),
	KUNIT_CASE(edge_evicted),
	KUNIT_CASE(edge_evicted_upper),
	KUNIT_CASE(edge_evicted_far),
	KUNIT_CASE(edge_rebuild),
	KUNIT_CASE(edge_rebuild_large_root),
	KUNIT_CASE(edge_records),
	KUNIT_CASE(edge_long_copy),
	KUNIT_CASE(edge_many_tables),
	KUNIT_CASE(edge_abort),
	KUNIT_CASE(edge_limits),
	KUNIT_CASE(edge_refusals),
	KUNIT_CASE(edge_reach),
	KUNIT_CASE(edge_page_sizes),
	KUNIT_CASE(edge_part_of_a_block),
	KUNIT_CASE(edge_unmap_then_map),
	{}
};

static struct kunit_suite mmu_edge_suite = {
	.name = "pagoda_mmu_edge",
	.test_cases = mmu_edge_cases,
};

kunit_test_suite(mmu_edge_suite);
