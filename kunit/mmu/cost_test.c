// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that the cost that is announced to the stream is an upper bound for the operations that are
 * emitted, with patterns of mappings that take the most operations; and what an overrun does, more
 * operations than announced.
 */
#include <kunit/static_stub.h>
#include "../drivers/pagoda/mmu/internal.h"
#include "rig/rig.h"
#include "mmu_helpers.h"

#define VA	((u64)SZ_1G - SZ_2M)
#define LEAVES	2
#define PAGES	(LEAVES * VIRTIO_PAGODA_PT_ENTRIES)
#define MAPS	64

/* ---- Page tables ------------------------------------------------------------ */

/* Consecutive mappings, in this order in each period; the rest of a period is invalid. */
struct cost_pattern {
	const char *name;	/* for messages */
	u32 period;	/* in pages */
	u32 zeros;	/* pages that read as zeros */
	u32 memory;	/* pages of memory, contiguous */
	u32 pages;	/* pages of memory, none contiguous with the next */
	u32 window;	/* pages of a window, which repeats over the whole range; 0: none */
};

static const struct cost_pattern patterns[] = {
	{ "zeros on every other page", 2, 1, 0, 0 },
	{ "zeros on every third page", 3, 1, 0, 0 },
	{ "zeros beside memory", 2, 1, 1, 0 },
	{ "a page in three", 3, 0, 1, 0 },
	{ "runs of 22 and a zero", 23, 1, 22, 0 },
	{ "runs of 22 apart", 24, 1, 22, 0 },
	{ "chunks of all kinds", 48, 5, 16, 11 },
	{ "a window of a page", .window = 1 },
	{ "a window of three pages", .window = 3 },
};

struct cost_maps {
	struct pagoda_map maps[MAPS];
	struct pagoda_map_extent extents[MAPS];
	u32 nr;
};

static void maps_send(struct mmu_rig *rig, struct cost_maps *some)
{
	if (some->nr)
		KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, some->maps, some->nr));
	some->nr = 0;
}

static void maps_add(struct mmu_rig *rig, struct cost_maps *some, u32 page, u32 nr, bool memory)
{
	struct pagoda_map_extent *extent = &some->extents[some->nr];
	struct pagoda_map *map = &some->maps[some->nr++];
	u64 va = VA + page * (u64)SZ_4K, size = nr * (u64)SZ_4K;

	/* Maps at consecutive addresses aren't contiguous in memory. */
	*extent = (struct pagoda_map_extent) {
		VIRTIO_PAGODA_SEGMENT_VRAM, SZ_512M + (page * 7 % PAGES) * (u64)SZ_4K, size,
	};
	if (memory)
		*map = mmu_map_vram(extent, va);
	else
		*map = (struct pagoda_map) { .kind = PAGODA_MAP_ZERO, .va = va, .size = size };
	map->allocation = memory ? 1 + page % 5 : 0;
	if (some->nr == MAPS)
		maps_send(rig, some);
}

static void map_window(struct mmu_rig *rig, u64 window)
{
	struct pagoda_map_extent extent = { VIRTIO_PAGODA_SEGMENT_VRAM, SZ_512M, window };
	struct pagoda_map map = mmu_map_vram(&extent, VA);

	map.size = LEAVES * SZ_2M;
	map.window = window;
	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &map, 1));
}

static void map_pattern(struct mmu_rig *rig, const struct cost_pattern *pattern)
{
	struct cost_maps *some;
	u32 page, i;

	if (pattern->window) {
		map_window(rig, pattern->window * (u64)SZ_4K);
		return;
	}
	some = test_zalloc(rig->test, sizeof(*some));
	for (page = 0; page + pattern->period <= PAGES; page += pattern->period) {
		u32 at = page;

		if (pattern->zeros)
			maps_add(rig, some, at, pattern->zeros, false);
		at += pattern->zeros;
		if (pattern->memory)
			maps_add(rig, some, at, pattern->memory, true);
		at += pattern->memory;
		for (i = 0; i < pattern->pages; i++)
			maps_add(rig, some, at + i, 1, true);
	}
	maps_send(rig, some);
}

static void evict_all(struct mmu_rig *rig)
{
	void *table;

	while ((table = mmu_rig_any_table(rig, 1, false)))
		mmu_rig_evict(rig, 1, table);
	pagoda_space_detach(rig->spaces[1]);
	while ((table = mmu_rig_any_table(rig, 1, true)))
		mmu_rig_evict(rig, 1, table);
}

static void unmap_all(struct mmu_rig *rig)
{
	struct pagoda_map none = { .kind = PAGODA_MAP_INVALID, .va = VA, .size = LEAVES * SZ_2M };

	KUNIT_ASSERT_EQ(rig->test, 0, mmu_rig_change(rig, 1, &none, 1));
}

/*
 * Maps a pattern, evicts, restores and rebuilds its tables, invalidates and unmaps the pattern; the
 * rig expects no transaction to emit more than its cost. The end of the test closes the space, with
 * the pattern mapped.
 */
static void tables_run(struct kunit *test, const struct mmu_variant *variant,
		       const struct cost_pattern *pattern)
{
	struct mmu_rig *rig = mmu_rig_make(test, variant, 0x9a60da);

	kunit_info(test, "%s", pattern->name);
	map_pattern(rig, pattern);
	mmu_rig_check(rig, 1, VA, LEAVES * SZ_2M);
	evict_all(rig);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_restore(rig, 1));
	mmu_rig_check(rig, 1, VA, LEAVES * SZ_2M);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_rebuild(rig, 1));
	mmu_rig_check(rig, 1, VA, LEAVES * SZ_2M);
	mmu_rig_invalidate(rig, 1, VA, LEAVES * SZ_2M);
	mmu_rig_check(rig, 1, VA, LEAVES * SZ_2M);
	map_pattern(rig, pattern);
	unmap_all(rig);
	mmu_rig_check(rig, 1, VA, LEAVES * SZ_2M);
	map_pattern(rig, pattern);
}

/* For every pattern, no change of the page tables emits more than its cost. */
static void cost_of_tables(struct kunit *test)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		tables_run(test, test->param_value, &patterns[i]);
}

/*
 * An update of 1 to 40 entries never costs more than pagoda_cost_unknown() announces for unknown
 * values: with page addresses that grow, that shrink, in pairs, and far apart.
 */
static void cost_of_few_entries(struct kunit *test)
{
	static const struct mmu_variant variant = { VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 4 };
	static const s64 steps[][2] = {
		{ 1, 1 }, { -1, -1 }, { 1, 3 }, { 1, -5 }, { 1 << 21, -7 },
	};
	struct mmu_rig *rig = mmu_rig_make(test, &variant, 0x9a60da);
	struct pagoda_paging_cost bound, cost;
	u64 values[40], page;
	u32 kind, nr, i;

	for (kind = 0; kind < ARRAY_SIZE(steps); kind++) {
		page = 1ull << 24;
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			values[i] = VIRTIO_PAGODA_PTE_VALID | page << VIRTIO_PAGODA_PAGE_SHIFT;
			page += steps[kind][i % 2];
		}
		for (nr = 1; nr <= ARRAY_SIZE(values); nr++) {
			struct pagoda_paging_op op = {
				.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
				.update_page_table = {
					.mode = variant.mode,
					.nr_entries = nr,
					.table_entries = VIRTIO_PAGODA_PT_ENTRIES,
					.values = values,
				},
			};

			cost = pagoda_paging_cost(&rig->limits, &op, PAGE_SIZE);
			op.update_page_table.values = rig->mmu->scattered;
			bound = pagoda_cost_unknown(rig->mmu, &op, PAGE_SIZE);
			KUNIT_EXPECT_LE_MSG(test, cost.encoded, bound.encoded, "%u of kind %u", nr,
					    kind);
			KUNIT_EXPECT_LE_MSG(test, cost.packets, bound.packets, "%u of kind %u", nr,
					    kind);
		}
	}
}

/* A map of 1 GiB in large pages costs as much as one update of 512 entries, not 512 updates. */
static void cost_of_large_entries(struct kunit *test)
{
	static const struct mmu_variant variant = { VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, 4 };
	const struct pagoda_map_extent extent = { VIRTIO_PAGODA_SEGMENT_VRAM, 0, SZ_1G };
	const struct pagoda_map map = mmu_map_vram(&extent, SZ_1G);
	const u64 values = VIRTIO_PAGODA_PT_ENTRIES * VIRTIO_PAGODA_PT_ENTRY_BYTES;
	struct mmu_rig *rig = mmu_rig_make(test, &variant, 0x9a60da);
	struct pagoda_pt_update *update;
	struct pagoda_paging_cost cost;

	KUNIT_ASSERT_EQ(test, 0, pagoda_space_prepare(rig->spaces[1], &map, 1, &update));
	cost = pagoda_pt_update_cost(update, SZ_64K);
	pagoda_pt_update_abort(update);
	KUNIT_EXPECT_GE(test, cost.encoded, values);
	KUNIT_EXPECT_LT(test, cost.encoded, 3 * values);
	KUNIT_ASSERT_EQ(test, 0, mmu_rig_change(rig, 1, &map, 1));
	KUNIT_EXPECT_LE(test, rig->encoded, cost.encoded);
}

/*
 * To map, flush and unmap both scratch windows takes no more than pagoda_process_cost() announces,
 * with scattered pages; for a single page the cost has no reserve in which a packet would fit.
 */
static void cost_of_windows(struct kunit *test)
{
	static const u32 sizes[] = { 1, 2, 511, 512, 513, 1025 };
	struct mmu_variant variant = { VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, 4 };
	dma_addr_t *pages = test_calloc(test, 1025, sizeof(*pages));
	const struct pagoda_adl adl = { .nr_pages = 1025, .pages = pages };
	struct pagoda_map map = { .kind = PAGODA_MAP_MEMORY, .adl = &adl };
	struct pagoda_paging_cost cost;
	struct mmu_rig *rig;
	u32 i, window;
	bool large;

	for (i = 0; i < adl.nr_pages; i++)
		pages[i] = MMU_RIG_DATA_BUS + (i ^ 1) * 2 * MMU_RIG_PAGE;
	for (; variant.mode <= VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL; variant.mode++) {
		rig = mmu_rig_make(test, &variant, 0x9a60da);
		for (i = 0; i < ARRAY_SIZE(sizes); i++) {
			map.size = sizes[i] * MMU_RIG_PAGE;
			cost = pagoda_process_cost(rig->mmu, map.size, PAGODA_PAGING_MIN_BUFFER);
			mmu_rig_begin(rig);
			for (window = 0; window < PAGODA_SCRATCH_COUNT; window++)
				pagoda_process_map(rig->mmu, window, &map, &large, &rig->emit);
			pagoda_process_flush(rig->mmu, &rig->emit);
			pagoda_process_unmap(rig->mmu, &rig->emit);
			KUNIT_EXPECT_LE_MSG(test, rig->encoded, cost.encoded, "%u pages", sizes[i]);
			KUNIT_EXPECT_LE_MSG(test, rig->packets, cost.packets, "%u pages", sizes[i]);
			mmu_rig_execute(rig);
		}
	}
}

static const struct mmu_variant variants[] = {
#define MODES(levels, dual) \
	{ VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, levels, dual, false }, \
	{ VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL, levels, dual, false }, \
	{ VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL, levels, dual, false }
	MODES(2, false), MODES(2, true), MODES(4, false), MODES(4, true), MODES(3, true),
};

static void variant_name(const struct mmu_variant *variant, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "mode %u, %u levels%s", variant->mode,
		 variant->levels, variant->dual ? ", dual" : "");
}

KUNIT_ARRAY_PARAM(variants, variants, variant_name);

/* ---- The stream ------------------------------------------------------------- */

#define OPERATIONS	3000

static const struct pagoda_rig_options small_buffers = { .buffer_size = PAGE_SIZE };

static struct pagoda_submission *get_nothing(struct pagoda_queue *queue, struct pagoda_line *line,
					     u32 bytes, u32 priv_bytes)
{
	return ERR_PTR(-ENOMEM);
}

/*
 * Emits up to OPERATIONS fills of a page, none of them announced, which fill several buffers;
 * unless @memory, no buffer can be allocated for them. *@emitted receives the number of calls of
 * pagoda_stream_emit(). Returns the error of the last call, or 0.
 */
static int emit_too_much(struct pagoda_rig *rig, bool memory, u32 *emitted)
{
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FILL,
		.fill = { .pattern = 7, .size = SZ_4K, .segment = VIRTIO_PAGODA_SEGMENT_VRAM },
	};
	struct pagoda_stream *stream = rig->vidmm->stream;
	struct pagoda_paging_cost none = {};
	struct pagoda_stream_txn txn;
	struct dma_fence *fence;
	int ret = 0;

	if (!stream->reserve)
		stream->reserve = test_ok(rig->test,
					  pagoda_queue_get(stream->vidmm->queue, NULL, 0, 0));
	/* pagoda_stream_begin() takes the reserve, so only the overrun calls pagoda_queue_get(). */
	if (!memory)
		kunit_activate_static_stub(rig->test, pagoda_queue_get, get_nothing);
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_stream_begin(&txn, rig->vidmm, NULL,
							  PAGODA_STREAM_WAITS_NOT, NULL,
							  DMA_RESV_USAGE_KERNEL, &none));
	for (*emitted = 0; !ret && *emitted < OPERATIONS; ++*emitted)
		ret = pagoda_stream_emit(&txn, &op);
	fence = pagoda_stream_end(&txn);
	dma_fence_put(fence);
	if (!memory)
		kunit_deactivate_static_stub(rig->test, pagoda_queue_get);
	return ret;
}

/* An overrun finds memory: all of its operations are executed. */
static void cost_overrun(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, &small_buffers);
	u32 emitted;

	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, 0, emit_too_much(rig, true, &emitted));
	KUNIT_EXPECT_EQ(test, OPERATIONS, emitted);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, OPERATIONS, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_FILL, 0));
	KUNIT_EXPECT_GT(test, atomic64_read(&rig->vidmm->stats.overruns), 0);
	rig->overruns = atomic64_read(&rig->vidmm->stats.overruns);
}

/* An overrun without memory stops between two packets, and the device is rebuilt. */
static void cost_overrun_without_memory(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, &small_buffers);
	u64 epoch = pagoda_reset_epoch(rig->vidmm);
	u32 emitted;

	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, -ENOMEM, emit_too_much(rig, false, &emitted));
	KUNIT_EXPECT_LT(test, emitted, OPERATIONS);
	flush_work(&rig->vidmm->stream->overrun);
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_GT(test, pagoda_reset_epoch(rig->vidmm), epoch);
	KUNIT_EXPECT_EQ(test, 1ll, atomic64_read(&rig->vidmm->stats.overruns));
	rig->overruns = 1;
}

static struct kunit_case cost_cases[] = {
	KUNIT_CASE_PARAM(cost_of_tables, variants_gen_params),
	KUNIT_CASE(cost_of_few_entries),
	KUNIT_CASE(cost_of_large_entries),
	KUNIT_CASE(cost_of_windows),
	KUNIT_CASE(cost_overrun),
	KUNIT_CASE(cost_overrun_without_memory),
	{}
};

static struct kunit_suite cost_suite = {
	.name = "pagoda_cost",
	.test_cases = cost_cases,
};

kunit_test_suite(cost_suite);
