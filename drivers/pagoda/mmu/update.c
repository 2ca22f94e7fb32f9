// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a space, second part: what they cost, commit, finish and abort.
 *
 * Commit changes the books and emits; it needs nothing that prepare didn't get.
 * What has to wait for the device is left to finish: handing over a root, letting
 * contexts run again, giving tables back.
 */
#include <linux/bitmap.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/* Steps that may need windows of their own when a batch doesn't fit them. */
#define WINDOW_STEPS	4
/* Tables that fit the windows whatever their sizes. */
#define WINDOW_TABLES	(PAGODA_TABLE_WINDOWS / 2)

/* Takes a table that wasn't used out of the tree again; the lock is held. */
static void update_unhang(struct pagoda_table *table)
{
	struct pagoda_table *parent = table->parent, **place;

	list_del_init(&table->link);
	if (!parent) {
		table->space->root = NULL;
		return;
	}
	place = &parent->words[pagoda_table_word(table)]
			 .children[pagoda_table_index(parent, table->va)];
	if (*place == table) {
		*place = NULL;
		parent->nr_children--;
	} else if (*place && (*place)->twin == table) {
		(*place)->twin = NULL;
	}
}

/* Removes tables that weren't used from the tree; they stay in the update's list. */
static void update_discard(struct pagoda_pt_update *update)
{
	struct pagoda_table *table;

	list_for_each_entry(table, &update->fresh, work)
		update_unhang(table);
}

static void update_free_tables(struct list_head *tables, struct dma_fence *fence)
{
	struct pagoda_table *table, *next;

	list_for_each_entry_safe(table, next, tables, work) {
		list_del_init(&table->work);
		pagoda_table_leave(table, fence);
	}
}

static void update_destroy(struct pagoda_pt_update *update)
{
	pagoda_records_release(&update->records);
	kvfree(update->maps);
	kvfree(update->copies);
	kfree(update);
}

/* ---- Cost ------------------------------------------------------------------ */

/* An operation that writes @nr entries which have nothing to do with each other. */
static struct pagoda_paging_cost cost_entries(struct pagoda_mmu *mmu, u32 nr, u32 buffer_size)
{
	const struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = mmu->args.mode,
			.nr_entries = nr,
			.table_entries = VIRTIO_PAGODA_PT_ENTRIES,
			.values = mmu->scattered,
		},
	};

	return pagoda_cost_unknown(mmu, &op, buffer_size);
}

static struct pagoda_paging_cost cost_flush(struct pagoda_mmu *mmu, u32 buffer_size)
{
	const struct pagoda_paging_op op = { .operation = VIRTIO_PAGODA_OP_FLUSH_TLB };

	return pagoda_paging_cost(mmu->args.limits, &op, buffer_size);
}

static struct pagoda_paging_cost cost_copy(struct pagoda_mmu *mmu, u32 buffer_size)
{
	static const struct pagoda_copy_range range = { .nr_entries = 1 };
	const struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = { .nr_ranges = 1, .ranges = &range },
	};

	return pagoda_paging_cost(mmu->args.limits, &op, buffer_size);
}

/* Tables shown in windows, in as many goes as it takes. */
static void cost_add_windows(struct pagoda_paging_cost *sum, struct pagoda_mmu *mmu, u32 windows,
			     u32 buffer_size)
{
	u32 goes = 1;

	if (mmu->args.mode != VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL || !windows)
		return;
	if (windows > PAGODA_TABLE_WINDOWS) {
		windows *= WINDOW_STEPS;
		goes = WINDOW_STEPS * PAGODA_PT_LEVELS + windows / WINDOW_TABLES;
	}
	for (; windows > WINDOW_TABLES; windows -= WINDOW_TABLES)
		pagoda_cost_add(sum, pagoda_process_table_cost(mmu, WINDOW_TABLES, buffer_size), 1);
	pagoda_cost_add(sum, pagoda_process_table_cost(mmu, windows, buffer_size), 1);
	pagoda_cost_add(sum, pagoda_process_table_cost(mmu, 1, buffer_size), goes);
}

/**
 * pagoda_cost_batch() - Upper bound for a batch
 * @mmu: Page tables of the device
 * @ops: How many operations write n entries, by n
 * @most: Last entry of @ops
 * @windows: Upper bound for the tables written
 * @buffer_size: Bytes of the smallest buffer
 *
 * Return: the cost, with the flush.
 */
struct pagoda_paging_cost pagoda_cost_batch(struct pagoda_mmu *mmu, const u32 *ops, u32 most,
					    u32 windows, u32 buffer_size)
{
	struct pagoda_paging_cost sum = cost_flush(mmu, buffer_size);
	u32 n;

	for (n = 1; n <= most; n++)
		if (ops[n])
			pagoda_cost_add(&sum, cost_entries(mmu, n, buffer_size), ops[n]);
	cost_add_windows(&sum, mmu, windows, buffer_size);
	return sum;
}

/**
 * pagoda_pt_update_cost() - What committing an update can emit at most
 * @update: Update
 * @buffer_size: Bytes of the smallest fresh buffer it will get
 *
 * Context: any.
 * Return: upper bounds.
 */
struct pagoda_paging_cost pagoda_pt_update_cost(const struct pagoda_pt_update *update,
						u32 buffer_size)
{
	struct pagoda_mmu *mmu = update->space->mmu;
	struct pagoda_paging_cost sum;

	sum = pagoda_cost_batch(mmu, update->ops, VIRTIO_PAGODA_PT_ENTRIES, update->windows,
				buffer_size);
	if (!update->ranges || mmu->args.mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return sum;
	pagoda_cost_add(&sum, cost_copy(mmu, buffer_size), update->ranges);
	pagoda_cost_add(&sum, pagoda_process_table_cost(mmu, 2, buffer_size), update->ranges);
	return sum;
}

/* ---- Commit ---------------------------------------------------------------- */

/*
 * All that a table says is to be written to new memory: at once, where that is one packet, so
 * that the number of operations depends on records alone. Of a long root only what is valid.
 */
static void table_rewrite(struct pagoda_batch *batch, struct pagoda_table *table)
{
	u32 w, i;

	pagoda_batch_touch(batch, table);
	table->whole = table->initial && table->nr_entries <= VIRTIO_PAGODA_PT_ENTRIES;
	if (table->whole)
		return;
	for (w = 0; w < pagoda_table_nr_words(table); w++)
		for (i = 0; i < table->nr_entries; i++)
			if (table->words[w].values[i])
				__set_bit(i, table->words[w].dirty);
}

/* The root moves to memory of another size. Contexts are suspended. */
static void commit_root(struct pagoda_batch *batch)
{
	struct pagoda_pt_update *update = batch->update;
	struct pagoda_table *root = batch->space->root;

	if (!update->root_entries || !root->has_next)
		return;
	if (root->resident) {
		update->old_root = root->memory;
		update->old_entries = root->nr_entries;
	} else {
		batch->space->nr_absent--;
	}
	pagoda_table_settle(root);
	root->nr_entries = update->root_entries;
	/* Until finish: nothing runs, and a flush would name a root the device hasn't. */
	batch->space->attached = false;
	table_rewrite(batch, root);
	update->set_root = true;
}

/* Tables that were evicted come back with what the books say. */
static void commit_restore(struct pagoda_batch *batch)
{
	struct pagoda_space *space = batch->space;
	struct pagoda_table *table;

	list_for_each_entry(table, &space->tables, link) {
		if (table->resident || !table->has_next)
			continue;
		pagoda_table_settle(table);
		space->nr_absent--;
		table_rewrite(batch, table);
		pagoda_table_link(batch, table);
		if (!space->mmu->args.invalid_not_cached)
			pagoda_batch_flush(batch, table->va, pagoda_table_end(table) - table->va);
		if (!table->parent)
			batch->update->set_root = true;
	}
}

/* Tables whose content is lost are written where they are. */
static void commit_rebuild(struct pagoda_batch *batch)
{
	struct pagoda_space *space = batch->space;
	struct pagoda_table *table;

	/* Until finish: a flush would name a root the device hasn't. */
	space->attached = false;
	list_for_each_entry(table, &space->tables, link) {
		if (!table->resident || !table->linked)
			continue;
		table->initial = true;
		table_rewrite(batch, table);
		if (!table->parent)
			batch->update->set_root = true;
	}
}

/* The root leaves as the last table of a space. */
static void commit_close_root(struct pagoda_batch *batch, const struct pagoda_emit *emit)
{
	struct pagoda_space *space = batch->space;
	struct pagoda_table *root = space->root;

	if (root->resident)
		pagoda_emit_last(root, &root->memory, root->nr_entries, emit);
	else
		space->nr_absent--;
	list_del_init(&root->link);
	list_add_tail(&root->work, &batch->update->dropped);
	batch->update->set_root = space->attached;
	space->root = NULL;
	pagoda_records_clear(space);
}

/**
 * pagoda_pt_update_commit() - Make a change
 * @update: Update that was prepared; finish is what is left to be called
 * @emit: Where operations go, in a transaction begun with the update's cost
 *
 * Context: the space's lock is held since before the transaction. Doesn't allocate.
 */
void pagoda_pt_update_commit(struct pagoda_pt_update *update, const struct pagoda_emit *emit)
{
	struct pagoda_space *space = update->space;
	struct pagoda_batch batch;
	bool first;
	u32 i;

	pagoda_batch_init(&batch, space, update);
	first = space->root && space->root->fresh;
	commit_root(&batch);
	if (update->restore)
		commit_restore(&batch);
	if (update->rebuild)
		commit_rebuild(&batch);
	for (i = 0; i < update->nr_maps; i++)
		pagoda_map_apply(&batch, &update->maps[i]);
	if (update->nr_copies)
		pagoda_copies_split(&batch);
	if (update->close && space->root)
		pagoda_range_unmap(&batch, 0, pagoda_table_end(space->root));
	update->set_root |= first && space->root && !space->root->fresh;
	update_discard(update);
	pagoda_batch_prune(&batch, !update->nr_copies);
	pagoda_batch_emit_tables(&batch, emit);
	if (update->nr_copies)
		pagoda_copies_commit(&batch, emit);
	if (update->old_entries)
		pagoda_emit_last(space->root, &update->old_root, update->old_entries, emit);
	pagoda_batch_emit_flush(&batch, emit);
	if (update->close && space->root)
		commit_close_root(&batch, emit);
}

/* ---- Finish and abort ------------------------------------------------------ */

static void update_resume(struct pagoda_pt_update *update)
{
	const struct pagoda_mmu_args *args = &update->space->mmu->args;

	if (update->suspended && args->ops->resume)
		args->ops->resume(args->owner, update->space->data);
}

static void update_set_root(struct pagoda_pt_update *update)
{
	struct pagoda_space *space = update->space;
	const struct pagoda_mmu_args *args = &space->mmu->args;
	struct pagoda_root root;

	if (!update->set_root)
		return;
	pagoda_space_root(space, &root);
	space->attached = !args->ops->set_root(args->owner, space->id, &root) && root.entries;
}

/**
 * pagoda_pt_update_waits() - Will the end of a change wait for what its commit emitted?
 * @update: Update that was committed
 *
 * Then the owner sends it before.
 *
 * Context: any.
 * Return: Whether the device gets another root or contexts were suspended.
 */
bool pagoda_pt_update_waits(const struct pagoda_pt_update *update)
{
	return update->set_root || update->suspended;
}

/**
 * pagoda_pt_update_finish() - What is left when a change is on its way
 * @update: Update that was committed; gone afterwards
 * @fence: Behind everything that commit emitted, NULL if that was executed
 *
 * Waits for @fence if pagoda_pt_update_waits() says so: addresses of a new root can't be used
 * before this returned. Tables that became unreachable go back to the owner with @fence.
 *
 * Context: may sleep, calls set_root(), resume() and table_free(). Neither the space's
 *	nor the stream's lock is held. Other updates of the space are kept out.
 */
void pagoda_pt_update_finish(struct pagoda_pt_update *update, struct dma_fence *fence)
{
	if (fence && pagoda_pt_update_waits(update))
		dma_fence_wait(fence, false);
	update_set_root(update);
	update_resume(update);
	if (update->old_entries)
		pagoda_table_put_memory(update->space, &update->old_root, NULL);
	update_free_tables(&update->dropped, fence);
	update_free_tables(&update->fresh, NULL);
	update_destroy(update);
}

/* Memory for tables that are in use already. */
static void update_put_next(struct pagoda_pt_update *update)
{
	struct pagoda_table *table;

	list_for_each_entry(table, &update->space->tables, link) {
		if (!table->has_next)
			continue;
		table->has_next = false;
		pagoda_table_put_memory(update->space, &table->next, NULL);
	}
}

/**
 * pagoda_pt_update_abort() - Give back what prepare got
 * @update: Update that wasn't committed; gone afterwards
 *
 * Context: as pagoda_pt_update_finish().
 */
void pagoda_pt_update_abort(struct pagoda_pt_update *update)
{
	mutex_lock(&update->space->lock);
	update_discard(update);
	mutex_unlock(&update->space->lock);
	update_put_next(update);
	update_free_tables(&update->fresh, NULL);
	update_resume(update);
	update_destroy(update);
}
