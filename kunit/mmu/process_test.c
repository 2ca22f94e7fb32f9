// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the paging process: its page tables when made, rebuilt, and while all else is evicted;
 * mappings in scratch windows and table windows; a flush that the CPU executed; and devices with
 * which VidMm can't be created.
 */
#include <linux/dma-fence.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "../drivers/pagoda/mmu/process.h"
#include "rig/rig.h"

#define VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE

/* Returns where the CPU finds the table's word that the device finds at @address of @segment. */
static u64 *process_word(struct pagoda_rig *rig, u32 segment, u64 address)
{
	if (segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return (u64 *)(rig->engine.vram + address);
	address = pagoda_rig_bus(rig, address);
	return page_address(pfn_to_page(PHYS_PFN(address))) + offset_in_page(address);
}

/*
 * Walks the tables of the paging space as the device does, from the root that the device has. Sets
 * *@entry to the leaf entry of @va, and *@page to the bytes that the entry covers. Returns whether
 * the entry is valid; false, with both unchanged, if there is no leaf table.
 */
static bool process_walk(struct pagoda_rig *rig, u64 va, u64 *entry, u64 *page)
{
	const struct pagoda_engine_space *root = &rig->engine.spaces[0];
	bool dual = rig->engine.features & BIT_ULL(VIRTIO_PAGODA_F_DUAL_PTE);
	u64 address = root->address, word = 0, index, shift;
	u32 segment = root->segment, level;
	bool large = false;

	for (level = rig->engine.pt_levels - 1; level; level--) {
		shift = VIRTIO_PAGODA_PAGE_SHIFT + level * VIRTIO_PAGODA_PT_INDEX_BITS;
		index = va >> shift & (VIRTIO_PAGODA_PT_ENTRIES - 1);
		if (level == rig->engine.pt_levels - 1 && index >= root->entries)
			return false;
		if (dual && level == 1) {
			large = *process_word(rig, segment, address + index * 16 + 8) & 1;
			index = index * 2 + large;
		}
		word = *process_word(rig, segment, address + index * 8);
		if (!(word & VIRTIO_PAGODA_PTE_VALID))
			return false;
		segment = (word & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >>
			  VIRTIO_PAGODA_PTE_SEGMENT_SHIFT;
		address = word & VIRTIO_PAGODA_PTE_ADDRESS_MASK;
	}
	large |= !!(word & VIRTIO_PAGODA_PTE_TABLE_64K);
	*page = large ? SZ_64K : SZ_4K;
	*entry = *process_word(rig, segment, address + va % SZ_2M / *page * 8);
	return *entry & VIRTIO_PAGODA_PTE_VALID;
}

/* Returns the first address from @from on that the paging space maps; @to if none below @to is. */
static u64 process_next_valid(struct pagoda_rig *rig, u64 from, u64 to)
{
	u64 entry, page;

	while (from < to && !process_walk(rig, from, &entry, &page))
		from += PAGE_SIZE;
	return from;
}

static void expect_as_made(struct kunit *test, struct pagoda_rig *rig)
{
	u64 tables = pagoda_slot_address(PAGODA_SLOT_TABLES);
	u64 entry, page, at = pagoda_slot_address(PAGODA_SLOT_WINDOWS);
	u32 slot, first = rig->engine.page_sizes & SZ_64K ? PAGODA_SLOT_COUNT : PAGODA_SLOT_LARGE;

	KUNIT_EXPECT_EQ(test, process_next_valid(rig, 0, tables), tables);
	KUNIT_EXPECT_EQ(test, process_next_valid(rig, at, SZ_128M), SZ_128M);
	for (slot = PAGODA_SLOT_TABLES; slot < first; slot++) {
		KUNIT_ASSERT_TRUE(test, process_walk(rig, tables + slot * PAGE_SIZE, &entry,
						     &page));
		KUNIT_EXPECT_EQ(test, page, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK,
				rig->vidmm->mmu->process->leaf[slot].address);
		/* The leaf table is mapped as system memory, writable, not executable. */
		KUNIT_EXPECT_EQ(test, entry & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK,
				VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_NO_EXECUTE);
	}
	KUNIT_EXPECT_EQ(test, process_next_valid(rig, tables + slot * PAGE_SIZE, at), at);
}

/*
 * Creating VidMm completes all tables of the paging space without submissions other than of
 * MAP_MMU, with 2, 4 and 5 levels, with and without 64 KiB pages and dual PTEs. The system page
 * table maps all leaf tables, and nothing else is mapped, in particular no window.
 */
static void process_set_up(struct kunit *test)
{
	static const u32 levels[] = { 4, 2, 5 };
	u32 n;

	for (n = 0; n < 4 * ARRAY_SIZE(levels); n++) {
		const struct pagoda_rig_options options = {
			.mode = test->param_value,
			.dual_pte = n & 1 && !(n & 2),
			.page_sizes = n & 2 ? SZ_4K : 0,
			.pt_levels = levels[n / 4],
		};
		struct pagoda_rig *rig = pagoda_rig_create(test, &options);

		KUNIT_ASSERT_NOT_NULL(test, rig->vidmm->mmu);
		/* A device MMU needs packets that map the tables; nothing else may be submitted. */
		KUNIT_EXPECT_EQ(test, rig->fake->submits,
				pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_MMU, 0));
		PAGODA_PROVES(C76, C77);
		expect_as_made(test, rig);
	}
}

static void process_scribble(struct pagoda_table_memory *table)
{
	if (table->cpu)
		memset(table->cpu, 0xff, table->size);
}

/*
 * After the device lost its memory, pagoda_process_rebuild() restores all tables without a
 * submission, while the device executes nothing; later moves keep content intact.
 */
static void process_rebuild(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 20, CPU, VRAM, 0);
	struct pagoda_process *process = rig->vidmm->mmu->process;
	u32 submits, i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(process->leaf); i++)
		process_scribble(&process->leaf[i]);
	for (i = 0; i < ARRAY_SIZE(process->upper); i++)
		process_scribble(&process->upper[i]);
	memset(rig->engine.spaces, 0, rig->engine.nr_spaces * sizeof(*rig->engine.spaces));
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	submits = rig->fake->submits;
	/* State left by an operation that had mapped a window when memory was lost. */
	process->area[PAGODA_AREA_SCRATCH].mapped = PAGE_SIZE;
	process->flush_end = SZ_8M;
	memset(process->values, 0x21, sizeof(process->values));
	KUNIT_ASSERT_EQ(test, 0, pagoda_process_rebuild(rig->vidmm->mmu));
	KUNIT_EXPECT_EQ(test, process->area[PAGODA_AREA_SCRATCH].mapped, 0);
	KUNIT_EXPECT_EQ(test, process->flush_end, 0);
	PAGODA_PROVES(C76, C80, C89);
	KUNIT_EXPECT_EQ(test, rig->fake->submits, submits);
	expect_as_made(test, rig);
	pagoda_rig_settle(rig);
	pagoda_rig_write(rig, bo, 4);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 4));
	pagoda_rig_close(bo);
}

static void process_count_emit(void *arg, struct pagoda_paging_op *op)
{
	u32 *nr = arg;

	(*nr)++;
}

/*
 * With dual PTEs, pagoda_process_rebuild() also makes word 1 of all level-1 entries invalid that
 * lead to no table of 64 KiB entries. Afterwards unmapping emits nothing for windows that were
 * mapped before.
 */
static void process_rebuild_dual(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.dual_pte = true,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_process *process = rig->vidmm->mmu->process;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 32, CPU, VRAM, 0);
	const __le64 *words = process->upper[0].cpu;
	u32 i, nr = 0;
	const struct pagoda_emit emit = { .emit = process_count_emit, .arg = &nr };

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(process->leaf); i++)
		process_scribble(&process->leaf[i]);
	for (i = 0; i < ARRAY_SIZE(process->upper); i++)
		process_scribble(&process->upper[i]);
	/* State left by operations that had mapped all windows when memory was lost. */
	for (i = 0; i < PAGODA_AREA_COUNT; i++)
		process->area[i].mapped = SZ_64K;
	KUNIT_ASSERT_EQ(test, 0, pagoda_process_rebuild(rig->vidmm->mmu));
	PAGODA_PROVES(C80);
	for (i = 0; i < VIRTIO_PAGODA_PT_ENTRIES; i++)
		if (i < PAGODA_SLOT_LARGE || i >= PAGODA_SLOT_COUNT)
			KUNIT_ASSERT_EQ_MSG(test, 0, le64_to_cpu(words[2 * i + 1]) &
					    VIRTIO_PAGODA_PTE_VALID, "entry %u", i);
	expect_as_made(test, rig);
	pagoda_process_unmap(rig->vidmm->mmu, &emit);
	KUNIT_EXPECT_EQ(test, 0, nr);
	pagoda_rig_write(rig, bo, 4);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 4));
	pagoda_rig_close(bo);
}

/*
 * Evicting all of VRAM and of the aperture doesn't move the paging space's tables: the root keeps
 * its address in system memory and all tables stay as they were made.
 */
static void process_stays(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	struct pagoda_root before, after;

	/* The allocation fills VRAM: no table is in there. */
	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_process_root(rig->vidmm->mmu, &before);
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->vram->manager));
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->aperture->manager));
	pagoda_rig_settle(rig);
	pagoda_process_root(rig->vidmm->mmu, &after);
	PAGODA_PROVES(C75);
	KUNIT_EXPECT_EQ(test, before.segment, VIRTIO_PAGODA_SEGMENT_SYSTEM);
	KUNIT_EXPECT_EQ(test, before.address, after.address);
	KUNIT_EXPECT_EQ(test, rig->engine.spaces[0].address, after.address);
	expect_as_made(test, rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

struct process_user {
	struct pagoda_stream_txn txn;
	int ret;
};

static void process_user_emit(void *arg, struct pagoda_paging_op *op)
{
	struct process_user *user = arg;

	user->ret = user->ret ?: pagoda_stream_emit(&user->txn, op);
}

static void process_user_end(struct kunit *test, struct process_user *user)
{
	struct dma_fence *fence = pagoda_stream_end(&user->txn);

	KUNIT_EXPECT_EQ(test, user->ret, 0);
	if (fence)
		dma_fence_wait(fence, false);
	dma_fence_put(fence);
}

/* A mapping to try: memory in @extents, or pages of @adl, whose addresses are @pages. */
struct process_case {
	struct pagoda_map map;
	struct pagoda_map_extent extents[64];
	struct pagoda_adl adl;
	dma_addr_t pages[1100];
};

/* Makes a random mapping. Its memory needn't exist, because it is never accessed. */
static void process_case_make(struct process_case *c, struct rnd_state *rnd)
{
	u32 unit = prandom_u32_state(rnd) & 1 ? 16 : 1, i, nr = 0;
	u32 total = unit * (1 + prandom_u32_state(rnd) % (1000 / unit));

	c->map = (struct pagoda_map) {
		.kind = PAGODA_MAP_MEMORY,
		.size = (u64)total << PAGE_SHIFT,
		.flags = prandom_u32_state(rnd) & 1 ? PAGODA_PTE_READ_ONLY : 0,
		.allocation = 77,
		.allocation_offset = (u64)(prandom_u32_state(rnd) % 100) << PAGE_SHIFT,
	};
	c->adl = (struct pagoda_adl) { .nr_pages = 1100, .pages = c->pages };
	switch (prandom_u32_state(rnd) % 3) {
	case 0:
		while (total && nr < ARRAY_SIZE(c->extents)) {
			u32 part = nr == ARRAY_SIZE(c->extents) - 1 ? total :
				   min(total, unit * (1 + prandom_u32_state(rnd) % 16));

			c->extents[nr++] = (struct pagoda_map_extent) {
				.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
				.address = (u64)prandom_u32_state(rnd) % 2 * unit << PAGE_SHIFT,
				.size = (u64)part << PAGE_SHIFT,
			};
			total -= part;
		}
		c->map.extents = c->extents;
		c->map.nr_extents = nr;
		break;
	case 1:
		c->adl.contiguous = true;
		c->adl.base = (u64)unit * (prandom_u32_state(rnd) % 1000) << PAGE_SHIFT;
		c->map.adl = &c->adl;
		c->map.adl_offset = unit * (prandom_u32_state(rnd) % 3);
		break;
	default:
		for (i = 0; i < c->adl.nr_pages; i++)
			c->pages[i] = i % unit ? c->pages[i - 1] + PAGE_SIZE :
				      (u64)unit * (prandom_u32_state(rnd) % 100000) << PAGE_SHIFT;
		c->map.adl = &c->adl;
		c->map.adl_offset = unit * (prandom_u32_state(rnd) % 3);
	}
}

/*
 * Returns the address of the memory that byte @offset of the mapping shows; sets *@segment to its
 * segment.
 */
static u64 process_case_at(const struct process_case *c, u64 offset, u32 *segment)
{
	u64 page = c->map.adl_offset + (offset >> PAGE_SHIFT);
	u32 i;

	*segment = VIRTIO_PAGODA_SEGMENT_SYSTEM;
	if (c->map.adl)
		return (c->adl.contiguous ? c->adl.base + (page << PAGE_SHIFT) : c->pages[page]) +
		       offset_in_page(offset);
	for (i = 0; offset >= c->extents[i].size; i++)
		offset -= c->extents[i].size;
	*segment = c->extents[i].segment;
	return c->extents[i].address + offset;
}

static void expect_mapped(struct kunit *test, struct pagoda_rig *rig, const struct process_case *c,
			  u64 va, bool large)
{
	u64 offset, entry, page, end = va + c->map.size;
	u32 segment;

	for (offset = 0; offset < c->map.size; offset += PAGE_SIZE) {
		u64 address = process_case_at(c, offset, &segment);

		KUNIT_ASSERT_TRUE(test, process_walk(rig, va + offset, &entry, &page));
		KUNIT_ASSERT_EQ(test, page, large ? SZ_64K : SZ_4K);
		KUNIT_ASSERT_EQ(test, (entry & VIRTIO_PAGODA_PTE_ADDRESS_MASK) +
				(va + offset) % page, address);
		KUNIT_ASSERT_EQ(test, (entry & VIRTIO_PAGODA_PTE_SEGMENT_MASK) >>
				VIRTIO_PAGODA_PTE_SEGMENT_SHIFT, segment);
		KUNIT_ASSERT_EQ(test, !!(entry & VIRTIO_PAGODA_PTE_READ_ONLY),
				!!(c->map.flags & PAGODA_PTE_READ_ONLY));
	}
	/* Nothing is mapped in the 1 MiB behind the mapping. */
	KUNIT_EXPECT_EQ(test, process_next_valid(rig, end, end + SZ_1M), end + SZ_1M);
}

/*
 * Random mappings appear in both scratch windows page by page as requested, in 4 KiB or 64 KiB
 * pages, and all window entries are invalid again after the unmap.
 */
static void process_windows(struct kunit *test)
{
	struct process_case *c = test_zalloc(test, 2 * sizeof(*c));
	struct process_user user = {};
	const struct pagoda_emit emit = { .emit = process_user_emit, .arg = &user };
	u32 n, window, large_ones = 0, seed = 20261121;
	struct rnd_state rnd;
	u64 va[2], windows;

	prandom_seed_state(&rnd, seed);
	kunit_info(test, "seed %u\n", seed);
	for (n = 0; n < 40; n++) {
		const struct pagoda_rig_options options = {
			.mode = test->param_value,
			.dual_pte = n & 1 && !(n & 2),
			.buffer_size = n & 2 ? PAGE_SIZE : 0,
		};
		struct pagoda_rig *rig = n % 4 && n > 3 ? NULL : pagoda_rig_create(test, &options);
		struct pagoda_mmu *mmu;
		struct pagoda_paging_cost cost;
		bool large[2];

		if (!rig)
			continue;
		mmu = rig->vidmm->mmu;
		windows = pagoda_slot_address(PAGODA_SLOT_WINDOWS);
		for (window = 0; window < 2; window++)
			process_case_make(&c[window], &rnd);
		cost = pagoda_process_cost(mmu, max(c[0].map.size, c[1].map.size),
					   rig->vidmm->stream->room);
		KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
							     PAGODA_STREAM_WAITS_NOT, NULL,
							     DMA_RESV_USAGE_KERNEL, &cost));
		for (window = 0; window < 2; window++)
			va[window] = pagoda_process_map(mmu, window, &c[window].map,
							&large[window], &emit);
		pagoda_process_flush(mmu, &emit);
		process_user_end(test, &user);
		for (window = 0; window < 2; window++)
			expect_mapped(test, rig, &c[window], va[window], large[window]);
		large_ones += large[0] + large[1];

		KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
							     PAGODA_STREAM_WAITS_NOT, NULL,
							     DMA_RESV_USAGE_KERNEL, &cost));
		pagoda_process_unmap(mmu, &emit);
		process_user_end(test, &user);
		PAGODA_PROVES(C78, C86, C87, C93);
		KUNIT_EXPECT_EQ(test, process_next_valid(rig, windows, SZ_128M), SZ_128M);
		KUNIT_EXPECT_EQ(test, process_next_valid(rig, 0, SZ_2M), SZ_2M);
	}
	KUNIT_EXPECT_GT(test, large_ones, 0);
}

/*
 * Emits operations; counts updates that name an allocation in @nr, and in @nr_wrong those of them
 * whose DriverProtection isn't @expected.
 */
struct process_watch {
	struct process_user user;
	u32 nr;
	u32 nr_wrong;
	u64 expected;
};

static void process_watch_emit(void *arg, struct pagoda_paging_op *op)
{
	struct process_watch *watch = arg;

	if (op->operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE && op->allocation) {
		watch->nr++;
		watch->nr_wrong += op->update_page_table.driver_protection != watch->expected;
	}
	process_user_emit(&watch->user, op);
}

/* If a map of a scratch window takes several updates, each has the map's DriverProtection. */
static void process_protection(struct kunit *test)
{
	struct process_watch watch = { .expected = 5 };
	const struct pagoda_emit emit = { .emit = process_watch_emit, .arg = &watch };
	struct process_case *c = test_zalloc(test, sizeof(*c));
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_mmu *mmu = rig->vidmm->mmu;
	struct pagoda_paging_cost cost;
	bool large;
	u32 i;

	/* An odd number of pages over more than one leaf table. */
	c->adl = (struct pagoda_adl) { .nr_pages = 1025, .pages = c->pages };
	for (i = 0; i < c->adl.nr_pages; i++)
		c->pages[i] = (dma_addr_t)i * 2 << PAGE_SHIFT;
	c->map = (struct pagoda_map) {
		.kind = PAGODA_MAP_MEMORY,
		.size = 1025ull << PAGE_SHIFT,
		.allocation = 77,
		.driver_protection = watch.expected,
		.adl = &c->adl,
	};
	cost = pagoda_process_cost(mmu, c->map.size, rig->vidmm->stream->room);
	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&watch.user.txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_KERNEL, &cost));
	pagoda_process_map(mmu, 0, &c->map, &large, &emit);
	pagoda_process_flush(mmu, &emit);
	pagoda_process_unmap(mmu, &emit);
	process_user_end(test, &watch.user);
	KUNIT_EXPECT_GE(test, watch.nr, 2u);
	KUNIT_EXPECT_EQ(test, 0u, watch.nr_wrong);
}

/*
 * Page tables of other address spaces are mapped in the first and the last table window: each entry
 * has the table's segment and address, and is invalid after the unmap.
 */
static void process_table_windows(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	const struct pagoda_table_memory small = {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM, .size = SZ_4K, .address = 7 * SZ_4K,
	};
	const struct pagoda_table_memory wide = {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .size = SZ_8K, .address = SZ_1G,
	};
	struct pagoda_paging_cost cost = pagoda_process_table_cost(rig->vidmm->mmu, 2,
								   rig->vidmm->stream->room);
	struct process_user user = {};
	const struct pagoda_emit emit = { .emit = process_user_emit, .arg = &user };
	u64 first, last, entry, page;

	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_KERNEL, &cost));
	first = pagoda_process_map_table(rig->vidmm->mmu, 0, &small, &emit);
	last = pagoda_process_map_table(rig->vidmm->mmu, PAGODA_TABLE_WINDOWS - 1, &wide, &emit);
	pagoda_process_flush(rig->vidmm->mmu, &emit);
	process_user_end(test, &user);
	KUNIT_ASSERT_TRUE(test, process_walk(rig, first, &entry, &page));
	KUNIT_EXPECT_EQ(test, entry, VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_NO_EXECUTE |
			(u64)small.segment << VIRTIO_PAGODA_PTE_SEGMENT_SHIFT | small.address);
	KUNIT_EXPECT_FALSE(test, process_walk(rig, first + SZ_4K, &entry, &page));
	KUNIT_ASSERT_TRUE(test, process_walk(rig, last + SZ_4K, &entry, &page));
	KUNIT_EXPECT_EQ(test, entry, VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_NO_EXECUTE |
			(wide.address + SZ_4K));

	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_KERNEL, &cost));
	pagoda_process_unmap(rig->vidmm->mmu, &emit);
	process_user_end(test, &user);
	KUNIT_EXPECT_FALSE(test, process_walk(rig, first, &entry, &page));
	KUNIT_EXPECT_FALSE(test, process_walk(rig, last, &entry, &page));
	KUNIT_EXPECT_FALSE(test, process_walk(rig, last + SZ_4K, &entry, &page));
}

/* Returns a one-page allocation in CPU-visible VRAM, filled with @byte; *@extent is its memory. */
static struct pagoda_bo *process_page(struct kunit *test, struct pagoda_rig *rig, u8 byte,
				      struct pagoda_map_extent *extent)
{
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = PAGODA_RIG_VISIBLE_PAGES,
	};
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &visible, false));
	pagoda_rig_settle(rig);
	*extent = (struct pagoda_map_extent) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.address = (u64)bo->ttm.resource->start << PAGE_SHIFT,
		.size = PAGE_SIZE,
	};
	memset(rig->engine.vram + extent->address, byte, PAGE_SIZE);
	return bo;
}

/*
 * Maps @src and @dst in the scratch windows, with a flush; returns the VIRTUAL_TRANSFER from one to
 * the other.
 */
static struct pagoda_paging_op process_copy(struct pagoda_rig *rig,
					    const struct pagoda_map_extent *src,
					    const struct pagoda_map_extent *dst,
					    const struct pagoda_emit *emit)
{
	struct pagoda_map map = { .kind = PAGODA_MAP_MEMORY, .size = PAGE_SIZE, .nr_extents = 1 };
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER,
		.virtual_transfer = {
			.size = PAGE_SIZE,
			.direction = VIRTIO_PAGODA_LOCAL_TO_LOCAL,
		},
	};
	bool large;

	map.extents = src;
	op.virtual_transfer.src_address = pagoda_process_map(rig->vidmm->mmu,
							     PAGODA_SCRATCH_SOURCE, &map, &large,
							     emit);
	map.extents = dst;
	op.virtual_transfer.dst_address = pagoda_process_map(rig->vidmm->mmu,
							     PAGODA_SCRATCH_DESTINATION, &map,
							     &large, emit);
	pagoda_process_flush(rig->vidmm->mmu, emit);
	return op;
}

/*
 * The device caches translations of the scratch windows, fails, and the CPU executes the rest of
 * the submission, which maps another source and flushes. When the device executes submissions
 * again, its cached translations are gone: its copy reads the new source.
 */
static void process_rescued_flush(struct kunit *test)
{
	static const struct pagoda_rig_mode gpu_virtual = { VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL };
	const struct pagoda_rig_options options = { .mode = &gpu_virtual };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	const struct pagoda_paging_cost cost = { .encoded = 4096 - 128, .packets = 40 };
	struct process_user user = {};
	const struct pagoda_emit emit = { .emit = process_user_emit, .arg = &user };
	struct pagoda_map_extent extent[3];
	struct pagoda_paging_op copy;
	struct pagoda_bo *bo[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bo); i++)
		bo[i] = process_page(test, rig, 0x11 * (i + 1), &extent[i]);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER, .allocation = 77,
		.times = 10, .middle = true,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_KERNEL, &cost));
	copy = process_copy(rig, &extent[0], &extent[2], &emit);
	copy.allocation = 77;
	process_user_emit(&user, &copy);
	pagoda_process_unmap(rig->vidmm->mmu, &emit);
	copy = process_copy(rig, &extent[1], &extent[2], &emit);
	process_user_end(test, &user);
	/* The next submission is executed by the device again. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_stream_begin(&user.txn, rig->vidmm, NULL,
						     PAGODA_STREAM_WAITS_NOT, NULL,
						     DMA_RESV_USAGE_KERNEL, &cost));
	process_user_emit(&user, &copy);
	pagoda_process_unmap(rig->vidmm->mmu, &emit);
	process_user_end(test, &user);
	PAGODA_PROVES(C103);
	KUNIT_EXPECT_EQ(test, rig->engine.vram[extent[2].address], 0x22);
	for (i = 0; i < ARRAY_SIZE(bo); i++)
		pagoda_rig_close(bo[i]);
}

/*
 * Creating VidMm fails with -ENODEV if the device lacks operations or virtual addresses that the
 * update mode needs; GPU_PHYSICAL mode needs neither VIRTUAL_FILL nor virtual addresses.
 */
static void process_refused(struct kunit *test)
{
	static const struct {
		u64 without;
		u32 va_bits;
		u32 mode;
		int ret;
	} cases[] = {
		{ BIT_ULL(VIRTIO_PAGODA_OP_VIRTUAL_FILL - 1), 48,
		  VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, -ENODEV },
		{ BIT_ULL(VIRTIO_PAGODA_OP_VIRTUAL_TRANSFER - 1), 48,
		  VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, -ENODEV },
		{ BIT_ULL(VIRTIO_PAGODA_OP_FLUSH_TLB - 1), 48,
		  VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, -ENODEV },
		{ 0, 0, VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, -ENODEV },
		{ 0, 0, VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, -ENODEV },
		{ 0, 0, VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 0 },
		{ BIT_ULL(VIRTIO_PAGODA_OP_VIRTUAL_FILL - 1), 48,
		  VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 0 },
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_device_info info;
	struct pagoda_vidmm_args args = {
		.drm = rig->drm,
		.info = &info,
		.transport = &rig->fake->base,
		.timeout_ms = 5000,
	};
	u32 refs = kref_read(&rig->info.dma_dev->kobj.kref), i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pagoda_vidmm *vidmm;

		info = rig->info;
		info.features &= ~cases[i].without;
		info.va_bits = cases[i].va_bits;
		info.visible_size = 0;
		info.nr_window = 0;
		args.update_mode = cases[i].mode;
		vidmm = pagoda_vidmm_create(&args);
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(vidmm), cases[i].ret);
		if (IS_ERR(vidmm))
			continue;
		KUNIT_EXPECT_EQ(test, pagoda_vidmm_has_tables(vidmm), !!cases[i].va_bits);
		pagoda_vidmm_destroy(vidmm);
	}
	KUNIT_EXPECT_EQ(test, refs, kref_read(&rig->info.dma_dev->kobj.kref));
}

/*
 * If the device refuses the root of the paging space, creating VidMm fails with that error and
 * leaves nothing behind.
 */
static void process_no_root(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_vidmm_args args = {
		.drm = rig->drm,
		.info = &rig->info,
		.transport = &rig->fake->base,
		.timeout_ms = 5000,
		.update_mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
	};
	struct pagoda_device_info info = rig->info;

	info.visible_size = 0;
	info.nr_window = 0;
	args.info = &info;
	rig->fake->control_error = -EIO;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(pagoda_vidmm_create(&args)), -EIO);
	rig->fake->control_error = 0;
}

static struct kunit_case process_cases[] = {
	PAGODA_CASE_PARAM_SLOW(process_set_up, pagoda_rig_modes),
	KUNIT_CASE_PARAM(process_rebuild, pagoda_rig_modes),
	KUNIT_CASE_PARAM(process_rebuild_dual, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(process_stays, pagoda_rig_modes),
	KUNIT_CASE_PARAM(process_windows, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(process_protection, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(process_table_windows, pagoda_rig_update_modes),
	KUNIT_CASE(process_rescued_flush),
	KUNIT_CASE(process_refused),
	KUNIT_CASE(process_no_root),
	{}
};

static struct kunit_suite process_suite = {
	.name = "pagoda_process",
	.test_cases = process_cases,
};

kunit_test_suite(process_suite);
