// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a space after prepare (prepare.c): cost, commit, finish and abort.
 *
 * Commit changes words (the driver's copy of entries) and records and emits operations, with memory
 * that prepare allocated. Steps that have to wait for the device are left to finish: setting the
 * root, resuming contexts, freeing tables.
 */
#include <linux/bitmap.h>
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/*
 * Number of steps in which emit.c writes tables. If there are fewer table windows than tables, each
 * step maps all tables anew.
 */
#define WINDOW_STEPS	4
/* Lower bound of the table windows used at a time, while a step has tables left to map. */
#define WINDOW_TABLES	(PAGODA_TABLE_WINDOWS / 2)

/* Takes @table, which prepare made and commit didn't need, out of the tree of tables. */
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

/*
 * Takes the tables that prepare made and commit didn't need, those in &pagoda_pt_update.fresh, out
 * of the tree of tables. Caller holds the space's lock.
 */
static void update_discard(struct pagoda_pt_update *update)
{
	struct pagoda_table *table;

	lockdep_assert_held(&update->space->lock);
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

/* ---- Upper bounds of the cost of a change ---------------------------------- */

/* Returns an upper bound of the cost of an update of @nr consecutive entries of any values. */
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

/*
 * In GPU_VIRTUAL mode: adds the cost of mapping and unmapping @windows table windows, at most
 * %PAGODA_TABLE_WINDOWS at a time.
 */
static void cost_add_windows(struct pagoda_paging_cost *sum, struct pagoda_mmu *mmu, u32 windows,
			     u32 buffer_size)
{
	u32 rounds = 1;

	if (mmu->args.mode != VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL || !windows)
		return;
	if (windows > PAGODA_TABLE_WINDOWS) {
		windows *= WINDOW_STEPS;
		rounds = WINDOW_STEPS * PAGODA_PT_LEVELS + windows / WINDOW_TABLES;
	}
	for (; windows > WINDOW_TABLES; windows -= WINDOW_TABLES)
		pagoda_cost_add(sum, pagoda_process_table_cost(mmu, WINDOW_TABLES, buffer_size), 1);
	pagoda_cost_add(sum, pagoda_process_table_cost(mmu, windows, buffer_size), 1);
	pagoda_cost_add(sum, pagoda_process_table_cost(mmu, 1, buffer_size), rounds);
}

/*
 * Returns an upper bound of the cost of changes that are emitted together and of their FLUSH_TLB:
 * @ops[n] operations of n entries each, n up to @most, in at most @windows table windows.
 * @buffer_size: bytes of the smallest buffer.
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
 * pagoda_pt_update_cost() - Upper bound of the cost of a commit's operations
 * @update: Update
 * @buffer_size: Bytes of the smallest buffer that the transaction may get
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

/* ---- Commit of a change of page tables ------------------------------------- */

/*
 * Has all entries of @table, whose memory holds garbage, written. A table is written as a whole, so
 * that the number of operations depends on records alone; of a root with more than
 * VIRTIO_PAGODA_PT_ENTRIES entries only words (the driver's copies of entries) that aren't 0 are
 * written, because all entries are made invalid first.
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

/*
 * Moves the root to the memory of another size that prepare allocated, if any. No context of the
 * space runs during the move: contexts are suspended if the device has the root, and can't run
 * without a root.
 */
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
	/* Until finish sets the root, no context runs, and no flush may name the root. */
	batch->space->attached = false;
	table_rewrite(batch, root);
	update->set_root = true;
}

/* Gives evicted tables the memory that prepare allocated, and has all their entries written. */
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

/* Has all entries of resident tables, whose content is lost, written again in place. */
static void commit_rebuild(struct pagoda_batch *batch)
{
	struct pagoda_space *space = batch->space;
	struct pagoda_table *table;

	/* Until finish sets the root, no flush may name the root. */
	space->attached = false;
	space->stale = false;
	list_for_each_entry(table, &space->tables, link) {
		if (!table->resident || !table->linked)
			continue;
		table->initial = true;
		table_rewrite(batch, table);
		if (!table->parent)
			batch->update->set_root = true;
	}
}

/*
 * Takes the root, which is the last table, out of the space, emits updates that make all entries of
 * a resident root invalid, and forgets all records. Has finish take the root from the device, if
 * the device may have it.
 */
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
	batch->update->set_root = space->attached || space->stale;
	space->stale = false;
	space->root = NULL;
	pagoda_records_clear(space);
}

/**
 * pagoda_pt_update_uses_windows() - Does commit use windows of the paging space?
 * @update: Update that was prepared
 *
 * Return: Whether commit may map table windows: in GPU_VIRTUAL mode true, in GPU_PHYSICAL mode true
 * for copies. The operations of such a commit have to be emitted to the stream's line of moves,
 * because all spaces share the windows.
 */
bool pagoda_pt_update_uses_windows(const struct pagoda_pt_update *update)
{
	switch (update->space->mmu->args.mode) {
	case VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL:
		return false;
	case VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL:
		return true;
	default:
		return update->nr_copies;
	}
}

/**
 * pagoda_pt_update_commit() - Change the tables of a space
 * @update: Update that was prepared; the caller calls finish next
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

/* ---- Finish or abort of a change of page tables ---------------------------- */

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
 * pagoda_pt_update_waits() - Does finish wait for the operations of commit?
 * @update: Update that was committed
 *
 * If finish waits, the owner submits the operations before calling finish.
 *
 * Return: Whether finish sets a root (a new root, or the space's root again after a rebuild) or
 * takes the root away, or contexts were suspended.
 */
bool pagoda_pt_update_waits(const struct pagoda_pt_update *update)
{
	return update->set_root || update->suspended;
}

/**
 * pagoda_pt_update_finish() - End a change that was committed
 * @update: Update; freed
 * @fence: Fence behind all operations of commit, NULL if they have been executed
 *
 * Waits for @fence if pagoda_pt_update_waits() returns true: contexts can't use addresses of a new
 * root before finish returns. Tables that the commit dropped go back to the owner with @fence. If
 * set_root() fails, the device has no root of the space until the owner has the space rebuilt
 * (pagoda_space_prepare_rebuild()), so the error isn't returned.
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

/**
 * pagoda_pt_update_abort() - Undo prepare
 * @update: Update that wasn't committed; freed
 *
 * Frees the tables and memory that prepare allocated, and resumes contexts. The driver's copy of a
 * root that was to grow stays enlarged.
 *
 * Context: as pagoda_pt_update_finish(), but set_root() isn't called. Takes the space's lock.
 */
void pagoda_pt_update_abort(struct pagoda_pt_update *update)
{
	struct pagoda_table *table;

	mutex_lock(&update->space->lock);
	update_discard(update);
	mutex_unlock(&update->space->lock);
	list_for_each_entry(table, &update->space->tables, link) {
		if (!table->has_next)
			continue;
		table->has_next = false;
		pagoda_table_put_memory(update->space, &table->next, NULL);
	}
	update_free_tables(&update->fresh, NULL);
	update_resume(update);
	update_destroy(update);
}
