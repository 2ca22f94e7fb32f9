// SPDX-License-Identifier: GPL-2.0
/*
 * Measures changes of page tables: a GiB is mapped to other memory again and again, in tables
 * in VRAM that the device writes by physical addresses.
 *
 * The benchmark has a struct pagoda_mmu and an address space of its own, which no job uses, so
 * the mapped memory need not exist. Each change changes all entries, and so needs a TLB flush.
 * A change is compared with memset64() of as many entries in VRAM, and with UPDATE_PAGE_TABLE
 * operations that write an entry each; operations of a table each are compared with memset64().
 */
#include <linux/err.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <drm/pagoda_drm.h>
#include "core/core.h"
#include "core/info.h"
#include "core/transport.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "lib.h"

#define BENCH_MAPPED		((u64)SZ_1G)
#define BENCH_PTES		((u32)(BENCH_MAPPED >> PAGE_SHIFT))
/* Bytes of bench_tables.bo: half for the space's tables, half for bench_spare(). */
#define BENCH_TABLE_BYTES	(16ull << 20)
/* Number of operations in a measurement of operations that write one entry each. */
#define BENCH_SINGLES		4096
/* Entries per operation in a measurement of operations that write a whole table each. */
#define BENCH_PTES_EACH		VIRTIO_PAGODA_PT_ENTRIES

/*
 * Goal for updates through the queue: the updates' rate divided by memset64()'s, in thousandths. An
 * entry is accessed four times: checked, copied into the paging buffer, copied by the device to
 * where the driver can't change it, and stored, atomically for concurrent page-table walks.
 */
#define BENCH_QUEUE_GOAL	250

/* Layout of the memory that is mapped: scattered or contiguous 4 KiB pages, or 2 MiB pages. */
enum bench_shape {
	BENCH_SCATTERED,
	BENCH_CONTIGUOUS,
	BENCH_LARGE,
	BENCH_SHAPES
};

static const char * const bench_shape_names[] = {
	[BENCH_SCATTERED] = "4KiB-scattered",
	[BENCH_CONTIGUOUS] = "4KiB-contiguous",
	[BENCH_LARGE] = "2MiB",
};

/* A table of the paging process in system memory, which the device never uses. */
struct bench_table {
	struct page *pages[2];
	u32 order;
};

struct bench_tables {
	struct bench *b;
	struct pagoda_mmu *mmu;
	struct pagoda_space *space;
	struct pagoda_bo *bo;
	u64 used;
	struct pagoda_map_extent *extents;
	struct pagoda_stream_txn *txn;
	struct pagoda_pt_update *update;
	u32 flushes;
	int ret;
};

/* ---- Memory of the page tables that are measured ---------------------------- */

static int bench_table_system(u32 size, struct pagoda_table_memory *memory)
{
	struct bench_table *table = kzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	table->order = get_order(size);
	table->pages[0] = alloc_pages(GFP_KERNEL | __GFP_ZERO, table->order);
	if (!table->pages[0]) {
		kfree(table);
		return -ENOMEM;
	}
	table->pages[1] = table->pages[0] + 1;
	*memory = (struct pagoda_table_memory) {
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
		.size = size,
		.address = page_to_phys(table->pages[0]),
		.cpu = page_address(table->pages[0]),
		.pages = table->pages,
		.cookie = table,
	};
	return 0;
}

static int bench_table_alloc(void *owner, void *space_data, u32 level, u32 size,
			     struct pagoda_table_memory *memory)
{
	struct bench_tables *t = owner;
	u64 at = ALIGN(t->used, size);

	if (!space_data)
		return bench_table_system(size, memory);
	if (at + size > BENCH_TABLE_BYTES / 2)
		return -ENOMEM;
	t->used = at + size;
	*memory = (struct pagoda_table_memory) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.size = size,
		.address = pagoda_bench_address(t->bo) + at,
		.cookie = t,
	};
	return 0;
}

/* Frees a table in system memory; tables in VRAM are freed with bench_tables.bo. */
static void bench_table_free(void *owner, void *space_data, struct pagoda_table_memory *memory,
			     struct dma_fence *fence)
{
	struct bench_table *table = memory->cookie;

	if (space_data)
		return;
	__free_pages(table->pages[0], table->order);
	kfree(table);
}

/* Sets a space's root table; space 0 keeps the root of the driver's own paging process. */
static int bench_set_root(void *owner, u32 space, const struct pagoda_root *root)
{
	const struct pagoda_command command = {
		.type = VIRTIO_PAGODA_CONTROL_SET_ROOT,
		.index = space,
		.address = root->entries ? root->address : 0,
		.size = root->entries,
		.segment = root->entries ? root->segment : 0,
	};
	struct bench_tables *t = owner;

	return space ? pagoda_vidmm_command(t->b->vidmm, &command) : 0;
}

static const struct pagoda_mmu_ops bench_mmu_ops = {
	.table_alloc = bench_table_alloc,
	.table_free = bench_table_free,
	.set_root = bench_set_root,
};

/* ---- The change of page tables that is measured ------------------------------- */

/*
 * Returns the number of the page that entry @i of a table gets. Permutes by triangular numbers,
 * which reach each page once, so that the pages of no three consecutive entries are equally far
 * apart, and builders find no run.
 */
static u64 tables_scatter(u32 i)
{
	return ((u64)i * (i + 1) / 2) % VIRTIO_PAGODA_PT_ENTRIES;
}

/* Returns the virtual address where a shape is mapped; never 0, which can't be mapped. */
static u64 bench_shape_va(enum bench_shape shape)
{
	return (shape + 1) * 4 * BENCH_MAPPED;
}

/* Fills t->extents for @shape, at other addresses than for @turn - 1; returns their number. */
static u32 bench_shape_fill(struct bench_tables *t, enum bench_shape shape, u32 turn)
{
	u64 blocks = t->b->vidmm->paging_limits->vram_size / SZ_2M;
	u64 base = SZ_4G + (turn & 1) * BENCH_MAPPED;
	u32 i, nr = shape == BENCH_SCATTERED ? BENCH_PTES :
		    shape == BENCH_CONTIGUOUS ? 1 : BENCH_MAPPED / SZ_2M;

	for (i = 0; i < nr; i++) {
		struct pagoda_map_extent *extent = &t->extents[i];

		extent->size = BENCH_MAPPED / nr;
		extent->segment = shape == BENCH_LARGE ? VIRTIO_PAGODA_SEGMENT_VRAM :
							 VIRTIO_PAGODA_SEGMENT_SYSTEM;
		if (shape == BENCH_LARGE)
			extent->address = (i * 3 + turn) % blocks * SZ_2M;
		else if (shape == BENCH_SCATTERED)
			extent->address = base + (ALIGN_DOWN((u64)i, VIRTIO_PAGODA_PT_ENTRIES) +
						  tables_scatter(i)) * PAGE_SIZE;
		else
			extent->address = base + PAGE_SIZE;	/* where no large page can begin */
	}
	return nr;
}

static int bench_prepare(struct bench_tables *t, enum bench_shape shape, u32 turn, u64 *ns)
{
	const struct pagoda_map map = {
		.va = bench_shape_va(shape),
		.size = BENCH_MAPPED,
		.kind = PAGODA_MAP_MEMORY,
		.allocation = 1,
		.extents = t->extents,
		.nr_extents = bench_shape_fill(t, shape, turn),
	};
	u64 start = ktime_get_ns();
	int ret = pagoda_space_prepare(t->space, &map, 1, &t->update);

	*ns = ktime_get_ns() - start;
	return ret;
}

static void bench_take(void *arg, struct pagoda_paging_op *op)
{
	struct bench_tables *t = arg;
	int ret = pagoda_stream_emit(t->txn, op);

	t->flushes += op->operation == VIRTIO_PAGODA_OP_FLUSH_TLB;
	t->ret = t->ret ?: ret;
}

static int bench_commit(struct pagoda_stream_txn *txn, void *arg)
{
	struct bench_tables *t = arg;
	const struct pagoda_emit emit = { .emit = bench_take, .arg = t };

	t->txn = txn;
	t->ret = 0;
	t->flushes = 0;
	pagoda_pt_update_commit(t->update, &emit);
	return t->ret;
}

/*
 * Sets *@ns to the time that commit and execution of the prepared page-table change t->update took.
 * Ends the change, or aborts it if the transaction can't begin. Returns 0 or a negative errno.
 */
static int bench_change(struct bench_tables *t, u64 *ns)
{
	struct pagoda_paging_cost cost =
		pagoda_pt_update_cost(t->update, pagoda_stream_room(t->b->vidmm));
	int ret;

	t->txn = NULL;
	pagoda_space_lock(t->space);
	ret = pagoda_bench_run(t->b, &cost, bench_commit, t, ns);
	pagoda_space_unlock(t->space);
	if (t->txn)
		pagoda_pt_update_finish(t->update, NULL);
	else
		pagoda_pt_update_abort(t->update);
	return ret;
}

/* ---- Writes of entries to compare with ------------------------------------------ */

/*
 * Returns the address in VRAM of the second half of bench_tables.bo, which is written only for
 * comparison: bench_table_alloc() takes tables of the address space from the first half.
 */
static u64 bench_spare(struct bench_tables *t)
{
	return pagoda_bench_address(t->bo) + BENCH_TABLE_BYTES / 2;
}

static u64 bench_memset(struct bench_tables *t, u64 ptes, u64 value)
{
	u64 *here = (u64 *)(pagoda_vram_window(t->b->vidmm) + bench_spare(t));
	u64 start = ktime_get_ns();

	memset64(here, value, ptes);
	return ktime_get_ns() - start;
}

/*
 * Returns an operation that writes @values to @nr entries, from entry @i on, of the leaf tables at
 * bench_spare(), which aren't in the tree of the address space.
 */
static struct pagoda_paging_op bench_update_op(struct bench_tables *t, u32 i, u32 nr,
					       const u64 *values)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.allocation = 1,
		.update_page_table = {
			.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
			.first_entry = i % VIRTIO_PAGODA_PT_ENTRIES,
			.nr_entries = nr,
			.address_space = pagoda_space_id(t->space),
			.table_entries = VIRTIO_PAGODA_PT_ENTRIES,
			.table_segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.table_address = bench_spare(t) + ALIGN_DOWN(i * 8, PAGE_SIZE),
			.first_va = bench_shape_va(BENCH_SCATTERED) + (u64)i * PAGE_SIZE,
			.allocation_offset = (u64)i * PAGE_SIZE,
			.values = values,
		},
	};
}

/* Writes of @count entries for scattered pages, in operations of @each entries. */
struct bench_updates {
	struct bench_tables *t;
	const u64 *values;
	u32 count;
	u32 each;
};

static int bench_updates_emit(struct pagoda_stream_txn *txn, void *arg)
{
	const struct bench_updates *updates = arg;
	int ret = 0;
	u32 i;

	for (i = 0; i < updates->count && !ret; i += updates->each) {
		struct pagoda_paging_op op = bench_update_op(updates->t, i, updates->each,
							     updates->values);

		ret = pagoda_stream_emit(txn, &op);
	}
	return ret;
}

static int bench_updates_run(struct bench_updates *updates, u64 *ns)
{
	struct bench *b = updates->t->b;
	struct pagoda_vidmm *vidmm = b->vidmm;
	const struct pagoda_paging_op op = bench_update_op(updates->t, 0, updates->each,
							   updates->values);
	struct pagoda_paging_cost cost = {};

	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &op),
			updates->count / updates->each);
	return pagoda_bench_run(b, &cost, bench_updates_emit, updates, ns);
}

/*
 * Sets *@ns to the time that writing @count entries by operations of @each entries takes, scaled to
 * BENCH_PTES entries. Returns 0 or a negative errno.
 */
static int bench_updates(struct bench_tables *t, u32 count, u32 each, u64 *ns)
{
	struct bench_updates updates = { .t = t, .count = count, .each = each };
	u64 *values = kmalloc_array(each, sizeof(*values), GFP_KERNEL);
	int ret;
	u32 i;

	if (!values)
		return -ENOMEM;
	for (i = 0; i < each; i++)
		values[i] = VIRTIO_PAGODA_PTE_VALID |
			    (SZ_4G + tables_scatter(i) * PAGE_SIZE);
	updates.values = values;
	ret = bench_updates_run(&updates, ns);
	*ns *= BENCH_PTES / count;
	kfree(values);
	return ret;
}

/* ---- Measuring a layout of memory (enum bench_shape) ----------------------------- */

struct bench_table_times {
	u64 queue[BENCH_RUNS];
	u64 whole[BENCH_RUNS];
	u64 memset[BENCH_RUNS];
	u64 singles[BENCH_RUNS];
	u64 updates[BENCH_RUNS];
	u64 bytes;
	u32 flushes;
};

static int bench_shape_run(struct bench_tables *t, enum bench_shape shape, u32 run, u64 ptes,
			   struct bench_table_times *times)
{
	struct pagoda_queue *queue = t->b->vidmm->queue;
	struct pagoda_queue_stats before, after;
	u64 prepared;
	int ret;

	ret = bench_prepare(t, shape, run + 1, &prepared);
	if (ret)
		return ret;
	pagoda_queue_stats(queue, &before);
	ret = bench_change(t, &times->queue[run]);
	pagoda_queue_stats(queue, &after);
	times->whole[run] = times->queue[run] + prepared;
	times->bytes = after.bytes - before.bytes;
	times->flushes = max(times->flushes, t->flushes);
	times->memset[run] = bench_memset(t, ptes, run);
	ret = ret ?: bench_updates(t, BENCH_SINGLES, 1, &times->singles[run]);
	return ret ?: bench_updates(t, BENCH_PTES, BENCH_PTES_EACH, &times->updates[run]);
}

/*
 * Reports a rate; @theirs is copied, because pagoda_bench_rate() sorts the times. Returns what
 * pagoda_bench_rate() returns.
 */
static u64 bench_table_rate(struct bench *b, enum bench_shape shape, const char *what, u64 ptes,
			    u64 *ours, const u64 *theirs)
{
	u64 base[BENCH_RUNS];
	char metric[64];

	memcpy(base, theirs, sizeof(base));
	snprintf(metric, sizeof(metric), "pte.%s.%s", bench_shape_names[shape], what);
	return pagoda_bench_rate(b, metric, "PTE/s", ptes, ours, base);
}

static void bench_shape_report(struct bench *b, enum bench_shape shape, u64 ptes,
			       struct bench_table_times *times)
{
	char metric[64];

	if (shape == BENCH_SCATTERED)
		pagoda_bench_goal(b, "pte.queue-by-memset64",
				  bench_table_rate(b, shape, "queue-by-memset64", ptes,
						   times->updates, times->memset),
				  BENCH_QUEUE_GOAL);
	bench_table_rate(b, shape, "commit-and-queue-by-memset64", ptes, times->queue,
			 times->memset);
	bench_table_rate(b, shape, "prepare-commit-queue-by-memset64", ptes, times->whole,
			 times->memset);
	/* Both rates of this metric count each 4 KiB as an entry, even if entries map 2 MiB. */
	bench_table_rate(b, shape, "commit-and-queue-by-operation-a-page", BENCH_PTES, times->queue,
			 times->singles);
	snprintf(metric, sizeof(metric), "pte.%s.buffer-bytes-per-MiB", bench_shape_names[shape]);
	pagoda_bench_value(b, metric, DIV_ROUND_UP_ULL(times->bytes, BENCH_MAPPED >> 20), "bytes");
	snprintf(metric, sizeof(metric), "pte.%s.flushes-per-batch", bench_shape_names[shape]);
	pagoda_bench_value(b, metric, times->flushes, "flushes");
}

static int bench_shape(struct bench_tables *t, enum bench_shape shape)
{
	u64 ptes = shape == BENCH_LARGE ? BENCH_MAPPED / SZ_2M : BENCH_PTES;
	struct bench_table_times times = {};
	u64 unused;
	u32 run;
	int ret;

	/* The first change allocates the tables and isn't measured. */
	ret = bench_prepare(t, shape, 0, &unused);
	if (!ret)
		ret = bench_change(t, &unused);
	for (run = 0; run < BENCH_RUNS && !ret; run++)
		ret = bench_shape_run(t, shape, run, ptes, &times);
	if (!ret)
		bench_shape_report(t->b, shape, ptes, &times);
	return ret;
}

static int bench_space(struct bench_tables *t)
{
	enum bench_shape shape;
	u64 unused;
	int ret = 0;

	t->space = pagoda_space_create(t->mmu, t->b->vidmm->info->max_address_spaces - 1, t);
	if (IS_ERR(t->space))
		return PTR_ERR(t->space);
	for (shape = 0; shape < BENCH_SHAPES && !ret; shape++)
		ret = bench_shape(t, shape);
	if (!ret)
		ret = pagoda_space_prepare_close(t->space, &t->update);
	if (!ret)
		ret = bench_change(t, &unused);
	pagoda_space_destroy(t->space);
	return ret;
}

static int bench_books(struct bench_tables *t)
{
	const struct pagoda_mmu_args args = {
		.limits = t->b->vidmm->paging_limits,
		.mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
		.invalid_not_cached = t->b->vidmm->info->invalid_not_cached,
		.ops = &bench_mmu_ops,
		.owner = t,
	};
	int ret;

	t->mmu = pagoda_mmu_create(&args);
	if (IS_ERR(t->mmu))
		return PTR_ERR(t->mmu);
	ret = bench_space(t);
	pagoda_mmu_destroy(t->mmu);
	return ret;
}

int pagoda_bench_tables(struct bench *b)
{
	struct bench_tables t = { .b = b };
	int ret = -ENOMEM;

	if (!b->vidmm->mmu)
		return 0;
	t.bo = pagoda_bench_bo(b, BENCH_TABLE_BYTES, DRM_PAGODA_ALLOCATION_CONTIGUOUS);
	if (IS_ERR(t.bo))
		return PTR_ERR(t.bo);
	t.extents = kvmalloc_array(BENCH_PTES, sizeof(*t.extents), GFP_KERNEL);
	if (t.extents)
		ret = pagoda_bench_move(t.bo, TTM_PL_VRAM);
	if (!ret)
		ret = bench_books(&t);
	kvfree(t.extents);
	pagoda_bench_close(t.bo);
	return ret;
}
