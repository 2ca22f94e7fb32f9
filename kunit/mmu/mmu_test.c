// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the operations that mmu/ emits for changes of page tables: which, in which order, and
 * when none. Also of large and 64 KiB entries, resized roots, repeating windows, copies, failed
 * allocations, the fence with which tables are freed, and refused maps.
 */
#include <linux/dma-fence.h>
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/queue_helpers.h"
#include "rig/alloc.h"
#include "rig/prove.h"
#include "mmu_helpers.h"

#define VA	((u64)SZ_4M)
#define VRAM	((u64)SZ_512M)

static const struct mmu_variant physical = {
	VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 3, false, true
};

static struct mmu_rig *make(struct kunit *test, const struct mmu_variant *variant)
{
	return mmu_rig_make(test, variant, 0x9a60da);
}

static void map_vram(struct mmu_rig *rig, u64 va, u64 address, u64 size)
{
	struct pagoda_map_extent extent = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM, .address = address, .size = size,
	};
	struct pagoda_map map = mmu_map_vram(&extent, va);

	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &map, 1));
}

static void unmap(struct mmu_rig *rig, u64 va, u64 size)
{
	const struct pagoda_map map = { .va = va, .size = size };

	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &map, 1));
}

/* Returns emitted update @n of space 1, counted from 0, or NULL behind the last one. */
static const struct mmu_seen *update_seen(struct mmu_rig *rig, u32 n)
{
	u32 i;

	KUNIT_ASSERT_LE(rig->test, rig->nr_seen, MMU_RIG_SEEN);
	for (i = 0; i < rig->nr_seen; i++)
		if (rig->seen[i].op.operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE &&
		    rig->seen[i].op.update_page_table.address_space == 1 && !n--)
			return &rig->seen[i];
	return NULL;
}

/*
 * Contiguous memory is mapped by one level-1 entry per 2 MiB, without leaf tables, if memory and
 * virtual addresses are aligned to 2 MiB.
 */
static void mmu_large(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	const struct mmu_seen *seen;
	u32 i, large = 0;

	PAGODA_PROVES(C99);
	map_vram(rig, VA, VRAM, 4 * SZ_2M);
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		bool is_large = seen->value & VIRTIO_PAGODA_PTE_LARGE;

		KUNIT_EXPECT_NE(test, 0, seen->op.update_page_table.level);
		if (is_large) {
			KUNIT_EXPECT_EQ(test, 1, seen->op.update_page_table.level);
			KUNIT_EXPECT_EQ(test, 4, seen->op.update_page_table.nr_entries);
			large++;
		}
	}
	KUNIT_EXPECT_EQ(test, 1, large);
	/* Memory that is one page off is mapped by leaf entries, without PTE_LARGE. */
	map_vram(rig, VA + SZ_1G, VRAM + SZ_4K, SZ_2M);
	for (i = 0, large = 0; (seen = update_seen(rig, i)); i++)
		large += !!(seen->value & VIRTIO_PAGODA_PTE_LARGE);
	KUNIT_EXPECT_EQ(test, 0, large);
	mmu_rig_check(rig, 1, VA, SZ_2M);
	mmu_rig_check(rig, 1, VA + SZ_1G, SZ_2M);
}

/*
 * Updates that map pages in leaf tables name the mapping's allocation, offset and DriverProtection;
 * links to tables and the first updates of new tables name none.
 */
static void mmu_quotes(struct kunit *test)
{
	const u64 protection = PAGODA_PROTECTION_UNIQUE | 0xabc;
	struct mmu_rig *rig = make(test, &physical);
	const struct pagoda_map_extent extents[] = {
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_8K },
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM + SZ_1M, SZ_2M },
	};
	struct pagoda_map map = mmu_map_vram(extents, VA + SZ_4K);
	const struct mmu_seen *seen;
	u32 i, leaves = 0;

	PAGODA_PROVES(C98, C100);
	map.size += extents[1].size;
	map.nr_extents = 2;
	map.driver_protection = protection;
	map.allocation_offset = SZ_1M;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;

		if (update->level || !seen->value) {
			KUNIT_EXPECT_EQ(test, 0, update->driver_protection);
			KUNIT_EXPECT_EQ(test, 0, seen->op.allocation);
			continue;
		}
		KUNIT_EXPECT_EQ(test, protection, update->driver_protection);
		KUNIT_EXPECT_EQ(test, map.allocation, seen->op.allocation);
		KUNIT_EXPECT_EQ(test, update->first_va - map.va, update->allocation_offset - SZ_1M);
		leaves++;
	}
	KUNIT_EXPECT_EQ(test, 2, leaves);
}

/* Returns whether emitted update @n is the first one of its table, or, if @last, the last one. */
static bool update_is_edge(struct mmu_rig *rig, u32 n, bool last)
{
	u64 address = update_seen(rig, n)->op.update_page_table.table_address;
	u32 segment = update_seen(rig, n)->op.update_page_table.table_segment;
	const struct mmu_seen *seen;
	u32 i;

	for (i = last ? n + 1 : 0; (seen = update_seen(rig, i)) && (last || i < n); i++)
		if (seen->op.update_page_table.table_address == address &&
		    seen->op.update_page_table.table_segment == segment)
			return false;
	return true;
}

/*
 * The first update of a new table, with INITIAL, and the last one of a dropped table, with
 * NOTIFY_EVICTION, make all entries of the table invalid.
 */
static void mmu_first_and_last(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	const struct mmu_seen *seen;
	u32 i, notes = 0;

	PAGODA_PROVES(C90, C91, C107);
	map_vram(rig, VA, VRAM + SZ_4K, SZ_8K);
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;
		bool first = update_is_edge(rig, i, false);

		KUNIT_EXPECT_EQ(test, first, !!(update->flags & VIRTIO_PAGODA_UPDATE_INITIAL));
		if (!first)
			continue;
		KUNIT_EXPECT_EQ(test, update->table_entries, update->nr_entries);
		KUNIT_EXPECT_EQ(test, 0, seen->value);
	}
	KUNIT_EXPECT_EQ(test, 3, mmu_rig_count(rig, VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE, 1) - 3);
	unmap(rig, VA, SZ_8K);
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;

		if (!(update->flags & VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION))
			continue;
		notes++;
		KUNIT_EXPECT_TRUE(test, update_is_edge(rig, i, true));
		KUNIT_EXPECT_EQ(test, update->table_entries, update->nr_entries);
		KUNIT_EXPECT_TRUE(test, update->flags & VIRTIO_PAGODA_UPDATE_REPEAT);
		KUNIT_EXPECT_EQ(test, 0, seen->value);
	}
	/* The leaf table and the level-1 table get a last update; the root stays. */
	KUNIT_EXPECT_EQ(test, 2, notes);
}

static u32 flushes(struct mmu_rig *rig)
{
	return mmu_rig_count(rig, VIRTIO_PAGODA_OP_FLUSH_TLB, 1);
}

/* If the TLB caches no invalid entries, only addresses of changed valid entries are flushed. */
static void mmu_flushes(struct kunit *test)
{
	struct mmu_variant variant = physical;
	struct mmu_rig *rig;

	PAGODA_PROVES(C105, C106);
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_8K);
	map_vram(rig, VA + SZ_8K, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, flushes(rig));
	map_vram(rig, VA, VRAM + SZ_1M, SZ_8K);
	KUNIT_EXPECT_EQ(test, 1, flushes(rig));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_OP_FLUSH_TLB, rig->seen[rig->nr_seen - 1].op.operation);
	KUNIT_EXPECT_EQ(test, VA, rig->seen[rig->nr_seen - 1].op.flush_tlb.start);
	KUNIT_EXPECT_EQ(test, VA + SZ_8K, rig->seen[rig->nr_seen - 1].op.flush_tlb.end);
	mmu_rig_invalidate(rig, 1, VA, SZ_8K);
	KUNIT_EXPECT_EQ(test, 1, flushes(rig));
	mmu_rig_invalidate(rig, 1, VA, SZ_8K);
	KUNIT_EXPECT_EQ(test, 0, flushes(rig));
	unmap(rig, VA, SZ_16K);
	KUNIT_EXPECT_EQ(test, 1, flushes(rig));
}

/* If the TLB may cache invalid entries, the TLB is flushed when an invalid entry becomes valid. */
static void mmu_flushes_invalid(struct kunit *test)
{
	struct mmu_variant variant = physical;
	struct mmu_rig *rig;

	PAGODA_PROVES(C106);
	variant.not_cached = false;
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_8K);
	/* By this access the device caches that the entries are invalid. */
	mmu_rig_check(rig, 1, VA + SZ_8K, SZ_8K);
	map_vram(rig, VA + SZ_8K, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 1, flushes(rig));
	mmu_rig_check(rig, 1, VA, SZ_16K);
	/* The entry of a table above maps 2 MiB, where there was neither table nor page. */
	mmu_rig_check(rig, 1, VA + SZ_4M, SZ_8K);
	map_vram(rig, VA + SZ_4M, VRAM, SZ_2M);
	KUNIT_EXPECT_EQ(test, 1, flushes(rig));
	mmu_rig_check(rig, 1, VA + SZ_4M, SZ_2M);
}

/* Returns the number of emitted updates of @space, and expects all of them to use @mode. */
static u32 modes_count(struct mmu_rig *rig, u32 space, u32 mode)
{
	u32 i, count = 0;

	for (i = 0; i < rig->nr_seen; i++) {
		const struct pagoda_paging_op *op = &rig->seen[i].op;

		if (op->operation != VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE ||
		    op->update_page_table.address_space != space)
			continue;
		KUNIT_EXPECT_EQ(rig->test, mode, op->update_page_table.mode);
		count++;
	}
	return count;
}

/*
 * Every emitted update, of VMs' spaces and of the paging space, uses the update mode that mmu/ was
 * made with.
 */
static void mmu_modes(struct kunit *test)
{
	struct pagoda_map_extent extent = { VIRTIO_PAGODA_SEGMENT_VRAM, VRAM + SZ_4K, SZ_8K };
	struct pagoda_map map = mmu_map_vram(&extent, VA);
	struct mmu_variant variant = physical;
	struct mmu_rig *rig;
	u32 space;

	for (variant.mode = 0; variant.mode <= VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL; variant.mode++) {
		rig = make(test, &variant);
		for (space = 1; space < 3; space++) {
			PAGODA_PROVES(C89);
			KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, space, &map, 1));
			KUNIT_ASSERT_LE(test, rig->nr_seen, MMU_RIG_SEEN);
			KUNIT_EXPECT_GT(test, modes_count(rig, space, variant.mode), 0);
			/* In GPU_VIRTUAL mode, windows for the tables are updated, too. */
			KUNIT_EXPECT_EQ(test, variant.mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL,
					!!modes_count(rig, 0, variant.mode));
		}
	}
}

/*
 * Without dual PTEs, when a 4 KiB page is mapped in a block with a table of 64 KiB entries, a table
 * of 4 KiB entries with the same mappings replaces that table, while contexts are suspended.
 */
static void mmu_demotion(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	struct pagoda_map_extent extent = { VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_1M };
	struct pagoda_map map = mmu_map_vram(&extent, VA);
	u64 entry, size, protection = 0x5a5;
	const struct mmu_seen *seen;
	u32 i, kept = 0;

	map.driver_protection = protection;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	KUNIT_ASSERT_TRUE(test, pagoda_space_lookup(rig->spaces[1], VA, &entry, &size));
	KUNIT_EXPECT_EQ(test, SZ_64K, size);
	KUNIT_EXPECT_EQ(test, 0, rig->nr_suspends);
	map_vram(rig, VA + SZ_1M, VRAM, SZ_4K);
	KUNIT_EXPECT_EQ(test, 1, rig->nr_suspends);
	KUNIT_ASSERT_TRUE(test, pagoda_space_lookup(rig->spaces[1], VA, &entry, &size));
	KUNIT_EXPECT_EQ(test, SZ_4K, size);
	PAGODA_PROVES(C126);
	/* Each page keeps its protection, and all updates happen while contexts are suspended. */
	mmu_rig_check(rig, 1, VA, SZ_2M);
	for (i = 0; (seen = update_seen(rig, i)); i++)
		KUNIT_EXPECT_TRUE(test, seen->suspended);
	for (i = 0; (seen = update_seen(rig, i)); i++)
		kept += seen->op.update_page_table.driver_protection == protection &&
			seen->op.allocation == map.allocation;
	KUNIT_EXPECT_EQ(test, 1, kept);
}

/*
 * With dual PTEs, when a chunk changes from the 64 KiB table to the 4 KiB table or back, the old
 * entries are made invalid before the new ones are valid.
 */
static void mmu_dual(struct kunit *test)
{
	struct mmu_variant variant = physical;
	const struct mmu_seen *seen;
	bool gone = false, back = false;
	struct mmu_rig *rig;
	u32 i;

	PAGODA_PROVES(C93);
	variant.dual = true;
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_64K);
	map_vram(rig, VA + SZ_4K, VRAM + SZ_1M, SZ_4K);
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;

		if (update->level)
			continue;
		if (update->flags & VIRTIO_PAGODA_UPDATE_USE_64K)
			gone |= !seen->value;
		else if (seen->value)
			KUNIT_EXPECT_TRUE(test, gone);
	}
	KUNIT_EXPECT_TRUE(test, gone);
	mmu_rig_check(rig, 1, VA, SZ_128K);
	map_vram(rig, VA, VRAM, SZ_64K);
	for (i = 0, gone = false; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;

		if (update->level)
			continue;
		if (!(update->flags & VIRTIO_PAGODA_UPDATE_USE_64K)) {
			gone |= !seen->value;
		} else if (seen->value) {
			KUNIT_EXPECT_TRUE(test, gone);
			back = true;
		}
	}
	KUNIT_EXPECT_TRUE(test, back);
	mmu_rig_check(rig, 1, VA, SZ_128K);
}

static u64 root_entries(struct mmu_rig *rig)
{
	struct pagoda_root root;

	pagoda_space_root(rig->spaces[1], &root);
	return root.entries;
}

/* With two levels of tables the root grows for a high address, and shrinks after its unmap. */
static void mmu_root_resize(struct kunit *test)
{
	struct mmu_variant variant = physical;
	const u64 far = 16ull * SZ_1G;
	struct pagoda_root root;
	struct mmu_rig *rig;
	u64 found;

	variant.levels = 2;
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 512, root_entries(rig));
	map_vram(rig, far, VRAM, SZ_2M);
	KUNIT_EXPECT_EQ(test, 16384, root_entries(rig));
	KUNIT_EXPECT_EQ(test, 1, rig->nr_suspends);
	mmu_rig_check(rig, 1, VA, SZ_16K);
	mmu_rig_check(rig, 1, far, SZ_2M);
	PAGODA_PROVES(C124, C125);
	/*
	 * The root entry of @far is valid, but the device doesn't use entries behind the end of the
	 * root that was set: here 512.
	 */
	pagoda_space_root(rig->spaces[1], &root);
	KUNIT_ASSERT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			pagoda_engine_root_set(&rig->engine, 1, root.segment, root.address, 512));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			mmu_rig_access(rig, 1, far, VIRTIO_PAGODA_ACCESS_READ, &found));
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			mmu_rig_access(rig, 1, VA, VIRTIO_PAGODA_ACCESS_READ, &found));
	KUNIT_ASSERT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			pagoda_engine_root_set(&rig->engine, 1, root.segment, root.address,
					       root.entries));
	unmap(rig, far, SZ_2M);
	map_vram(rig, VA + SZ_8K, VRAM, SZ_8K);
	KUNIT_EXPECT_EQ(test, 512, root_entries(rig));
	mmu_rig_check(rig, 1, VA, SZ_32K);
	mmu_rig_check(rig, 1, far, SZ_8K);
	/*
	 * The root was set three times: the first one; then, with contexts suspended, the larger
	 * and the smaller one.
	 */
	KUNIT_EXPECT_EQ(test, 3, rig->nr_roots);
	KUNIT_EXPECT_EQ(test, 0, rig->roots_while_running);
}

/* A 64 KiB entry is used only if virtual and memory address are both multiples of 64 KiB. */
static void mmu_64k(struct kunit *test)
{
	struct mmu_variant variant = physical;
	u32 step, large[2] = {}, small = 0;
	u64 entry, size, va;

	PAGODA_PROVES(C127);
	for (step = 0; step < 2 * 16; step++) {
		struct mmu_rig *rig;
		u64 off = step / 2 % 4 * SZ_4K, other = step / 8 * SZ_4K;

		variant.dual = step % 2;
		rig = make(test, &variant);
		map_vram(rig, VA + off, VRAM + other, SZ_256K);
		for (va = VA; va < VA + SZ_512K; va += SZ_4K) {
			if (!pagoda_space_lookup(rig->spaces[1], va, &entry, &size))
				continue;
			small += size == SZ_4K;
			if (size != SZ_64K)
				continue;
			large[variant.dual]++;
			KUNIT_EXPECT_EQ(test, off, other);
			KUNIT_EXPECT_EQ(test, 0, (entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK) % SZ_64K);
		}
		mmu_rig_check(rig, 1, VA, SZ_512K);
	}
	/*
	 * Without dual PTEs only the mapping with @off and @other 0 has 64 KiB entries, for 64
	 * pages. With dual PTEs the other mappings with @off == @other, which begin in the middle
	 * of a chunk, have 64 KiB entries for the chunks inside the mapping, too.
	 */
	KUNIT_EXPECT_EQ(test, 64, large[0]);
	KUNIT_EXPECT_GT(test, large[1], 64);
	KUNIT_EXPECT_GT(test, small, 0);
}

/* Whichever table allocation fails, prepare returns -ENOMEM, and nothing is emitted or changed. */
static void mmu_no_memory(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	const struct pagoda_map_extent extents[] = {
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_4M },
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_4K },
	};
	const struct pagoda_map maps[] = {
		mmu_map_vram(&extents[0], (u64)SZ_1G - SZ_2M - SZ_4K),
		mmu_map_vram(&extents[1], VA + SZ_1M),
	};
	u32 n, tables;
	u64 bytes;
	int ret;

	/* The change has to replace this table of 64 KiB entries. */
	map_vram(rig, VA, VRAM, SZ_64K);
	tables = rig->nr_tables;
	bytes = pagoda_space_table_bytes(rig->spaces[1]);
	for (n = 1, ret = -ENOMEM; ret; n++) {
		KUNIT_ASSERT_LT(test, n, 16);
		mmu_rig_begin(rig);
		rig->fail_alloc = n;
		ret = mmu_rig_change(rig, 1, maps, 2);
		if (!ret)
			break;
		KUNIT_EXPECT_EQ(test, -ENOMEM, ret);
		KUNIT_EXPECT_EQ(test, 0, rig->nr_seen);
		KUNIT_EXPECT_EQ(test, tables, rig->nr_tables);
		KUNIT_EXPECT_EQ(test, bytes, pagoda_space_table_bytes(rig->spaces[1]));
		KUNIT_EXPECT_EQ(test, 0, rig->suspended);
		mmu_rig_check(rig, 1, VA, SZ_2M);
	}
	KUNIT_EXPECT_GT(test, n, 4);
	rig->fail_alloc = 0;
	mmu_rig_check(rig, 1, VA, SZ_2M);
	mmu_rig_check(rig, 1, (u64)SZ_1G - SZ_4M, 4 * SZ_2M);
}

/*
 * COPY_PAGE_TABLE_ENTRIES copies the entries that the source has when the device executes the
 * operation, not those that the source had when the operation was emitted.
 */
static void mmu_copy_late(struct kunit *test)
{
	const struct pagoda_space_copy copy = { .src = VA, .dst = VA + SZ_1G, .size = SZ_8K };
	struct mmu_rig *rig = make(test, &physical);
	u64 found, place = VRAM + SZ_1M;
	u8 *late;
	u32 size;

	PAGODA_PROVES(C108, C111);
	map_vram(rig, VA, VRAM, SZ_16K);
	map_vram(rig, VA + SZ_1G, VRAM + SZ_2M, SZ_4K);
	rig->hold = true;
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copy, 1));
	KUNIT_EXPECT_EQ(test, 1, mmu_rig_count(rig, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 1));
	size = rig->buf.write_offset;
	late = test_zalloc(test, size);
	memcpy(late, rig->data, size);
	rig->buf.pos = rig->data;
	rig->buf.write_offset = 0;
	rig->buf.size = rig->buffer_size;
	rig->hold = false;
	map_vram(rig, VA, place, SZ_8K);
	memcpy(rig->data, late, size);
	rig->buf.write_offset = size;
	mmu_rig_execute(rig);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
			mmu_rig_access(rig, 1, copy.dst + SZ_4K, VIRTIO_PAGODA_ACCESS_READ,
				       &found));
	KUNIT_EXPECT_EQ(test, (place + SZ_4K) | VIRTIO_PAGODA_SEGMENT_VRAM << 8, found);
	KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_INVALID_ENTRY,
			mmu_rig_access(rig, 1, copy.dst + SZ_8K, VIRTIO_PAGODA_ACCESS_READ,
				       &found));
}

/* In CPU_VIRTUAL mode entries are copied by updates, without COPY_PAGE_TABLE_ENTRIES. */
static void mmu_copy_by_cpu(struct kunit *test)
{
	const struct pagoda_space_copy copy = { .src = VA, .dst = VA + SZ_1G, .size = SZ_8K };
	struct mmu_variant variant = physical;
	struct mmu_rig *rig;

	PAGODA_PROVES(C112);
	variant.mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_16K);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copy, 1));
	KUNIT_EXPECT_EQ(test, 0, mmu_rig_count(rig, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 1));
	mmu_rig_check(rig, 1, copy.dst, SZ_16K);
}

/*
 * A map with a window shows the window's pages again and again, from &pagoda_map.first on, and no
 * update writes entries across the end of the window.
 */
static void mmu_repeats(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	const struct pagoda_map_extent extents[] = {
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_8K },
		{ VIRTIO_PAGODA_SEGMENT_VRAM, VRAM + SZ_1M, SZ_4K },
	};
	struct pagoda_map map = {
		.va = VA, .size = 7 * SZ_4K, .kind = PAGODA_MAP_MEMORY, .allocation = 3,
		.allocation_offset = SZ_1M, .window = 3 * SZ_4K, .first = SZ_4K,
		.extents = extents, .nr_extents = 2,
	};
	const struct mmu_seen *seen;
	u32 i, leaves = 0, pages = 0;
	u64 found;

	PAGODA_PROVES(C100, C136);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	for (i = 0; (seen = update_seen(rig, i)); i++) {
		const struct pagoda_op_update_page_table *update = &seen->op.update_page_table;
		u64 page = SZ_4K + update->first_va - VA;

		if (update->level || !seen->value)
			continue;
		KUNIT_EXPECT_EQ(test, SZ_1M + page % map.window, update->allocation_offset);
		KUNIT_EXPECT_LE(test, page % map.window + update->nr_entries * SZ_4K, map.window);
		pages += update->nr_entries;
		leaves++;
	}
	KUNIT_EXPECT_EQ(test, 7, pages);
	KUNIT_EXPECT_EQ(test, 3, leaves);
	for (i = 0; i < 7; i++) {
		const u64 at[] = { VRAM, VRAM + SZ_4K, VRAM + SZ_1M };

		KUNIT_EXPECT_EQ(test, VIRTIO_PAGODA_FAULT_NONE,
				mmu_rig_access(rig, 1, VA + i * SZ_4K, VIRTIO_PAGODA_ACCESS_READ,
					       &found));
		KUNIT_EXPECT_EQ(test, at[(1 + i) % 3] | VIRTIO_PAGODA_SEGMENT_VRAM << 8, found);
	}
	/* The pages around an unmapped page stay as they were. */
	unmap(rig, VA + SZ_4K, SZ_4K);
	mmu_rig_check(rig, 1, VA, SZ_64K);
	map.first = map.window;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map.first = 0;
	map.window += SZ_4K;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
}

/*
 * Overlapping copies in both directions, within a table and across its end, have the result of
 * memmove() in every update mode; in a list, later copies read what earlier copies wrote.
 */
static void mmu_copy_over_itself(struct kunit *test)
{
	struct mmu_variant variant = physical;
	const struct pagoda_space_copy copies[] = {
		{ VA, VA + SZ_4K, SZ_32K },
		{ VA + SZ_8K, VA, SZ_32K },
		{ VA, VA + SZ_2M - SZ_16K, SZ_32K },
		{ VA + SZ_2M - SZ_32K, VA + SZ_2M - SZ_16K, SZ_64K },
	};
	struct mmu_rig *rig;
	u32 i;

	PAGODA_PROVES(C137);
	for (variant.mode = 0; variant.mode <= VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL; variant.mode++) {
		rig = make(test, &variant);
		for (i = 0; i < 10; i++)
			map_vram(rig, VA + i * SZ_4K, VRAM + (i * 7 % 10) * SZ_4K, SZ_4K);
		for (i = 0; i < ARRAY_SIZE(copies); i++) {
			KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, &copies[i], 1));
			mmu_rig_check(rig, 1, VA, SZ_4M);
		}
		KUNIT_ASSERT_EQ(test, 0, mmu_rig_copy(rig, 1, copies, ARRAY_SIZE(copies)));
		mmu_rig_check(rig, 1, VA, SZ_4M);
		/*
		 * COPY_PAGE_TABLE_ENTRIES isn't used: executing it again would copy changed
		 * entries.
		 */
		KUNIT_EXPECT_EQ(test, 0,
				mmu_rig_count(rig, VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES, 1));
	}
}

/*
 * table_free() of a dropped table gets the fence that finish was given, and pagoda_mmu_table_page()
 * finds the pages of the table while that fence hasn't signalled.
 */
static void mmu_free_behind_flush(struct kunit *test)
{
	struct mmu_variant variant = physical;
	const struct pagoda_map nothing = { .va = VA, .size = SZ_8K };
	struct pagoda_pt_update *update;
	struct dma_fence *fence;
	struct mmu_rig *rig;
	u64 bus;

	variant.mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	rig = make(test, &variant);
	map_vram(rig, VA, VRAM, SZ_8K);
	bus = MMU_RIG_BUS + ((u8 *)mmu_rig_any_table(rig, 1, false) - rig->system.memory);
	fence = pagoda_test_fence(test);
	KUNIT_ASSERT_EQ(test, 0, pagoda_space_prepare(rig->spaces[1], &nothing, 1, &update));
	pagoda_space_lock(rig->spaces[1]);
	pagoda_pt_update_commit(update, &rig->emit);
	pagoda_space_unlock(rig->spaces[1]);
	pagoda_pt_update_finish(update, fence);
	KUNIT_EXPECT_PTR_EQ(test, fence, rig->freed_with);
	KUNIT_EXPECT_NOT_NULL(test, pagoda_mmu_table_page(rig->mmu, bus));
	mmu_rig_execute(rig);
	mmu_rig_expect(rig, 1, &nothing);
	mmu_rig_check(rig, 1, VA, SZ_8K);
	dma_fence_signal(fence);
	/* Creating a table frees dropped tables whose fence has signalled. */
	map_vram(rig, VA + SZ_1G, VRAM, SZ_8K);
	mmu_rig_check(rig, 1, VA + SZ_1G, SZ_8K);
	KUNIT_EXPECT_EQ(test, 1, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

static void mmu_refusals(struct kunit *test)
{
	struct mmu_rig *rig = make(test, &physical);
	struct pagoda_map_extent extent = { VIRTIO_PAGODA_SEGMENT_VRAM, VRAM, SZ_8K };
	const struct pagoda_map good = mmu_map_vram(&extent, VA);
	struct pagoda_map map;

	map = good;
	map.va = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.va++;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.va = 1ull << 39;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.size += SZ_4K;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.size = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.flags = PAGODA_PTE_LARGE_PAGE;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	map = good;
	map.kind = PAGODA_MAP_ZERO;
	map.driver_protection = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL, mmu_rig_change(rig, 1, &map, 1));
	KUNIT_EXPECT_EQ(test, 0, mmu_rig_change(rig, 1, &good, 1));
}

static struct kunit_case mmu_cases[] = {
	KUNIT_CASE(mmu_large),
	KUNIT_CASE(mmu_quotes),
	KUNIT_CASE(mmu_first_and_last),
	KUNIT_CASE(mmu_flushes),
	KUNIT_CASE(mmu_flushes_invalid),
	KUNIT_CASE(mmu_modes),
	KUNIT_CASE(mmu_demotion),
	KUNIT_CASE(mmu_dual),
	KUNIT_CASE(mmu_root_resize),
	KUNIT_CASE(mmu_64k),
	KUNIT_CASE(mmu_no_memory),
	KUNIT_CASE(mmu_copy_late),
	KUNIT_CASE(mmu_copy_by_cpu),
	KUNIT_CASE(mmu_repeats),
	KUNIT_CASE(mmu_copy_over_itself),
	KUNIT_CASE(mmu_free_behind_flush),
	KUNIT_CASE(mmu_refusals),
	{}
};

static struct kunit_suite mmu_suite = {
	.name = "pagoda_mmu",
	.test_cases = mmu_cases,
};

kunit_test_suite(mmu_suite);
