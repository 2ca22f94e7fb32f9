// SPDX-License-Identifier: GPL-2.0
/*
 * Emits UPDATE_PAGE_TABLE for dirty words (changed entries in the driver's copy of a table), and
 * FLUSH_TLB.
 *
 * The order within a batch:
 *
 *	1. level by level, leaf tables first, so that no table is reachable before it is complete:
 *	   a) first update of a table in new memory, InitialUpdate (C90), which makes every entry
 *	      invalid; but a table that is rewritten (restored, rebuilt, resized) gets its entries
 *	      at once, if it has at most VIRTIO_PAGODA_PT_ENTRIES
 *	   b) changed entries that are now invalid: before c), because with dual PTEs a chunk
 *	      may change from one table to the other (C93)
 *	   c) changed entries that are now valid
 *	2. last update of dropped tables, NotifyEviction (C91), which makes every entry invalid
 *	   (C107)
 *	3. one flush over all changes that need one (C105, C106), if the device has a root of the
 *	   space
 *
 * Without dual PTEs dropped tables get no updates before 2, so that their mappings stay until the
 * entry above leads elsewhere. With dual PTEs dropped tables are cleared in 1b already, because the
 * new entry may be in a table that is reachable all the time.
 *
 * In GPU_VIRTUAL mode an update names a table by an address in the paging process' table windows:
 * all tables of a batch are mapped there at once if there are enough windows, else in rounds within
 * each step.
 */
#include <linux/bitmap.h>

#include "internal.h"

/*
 * Steps in which the tables of a batch are written: first update of tables in new memory, changed
 * entries that are now invalid, changed entries that are now valid, last update of dropped tables.
 */
enum emit_step {
	STEP_INITIAL,
	STEP_INVALID,
	STEP_VALID,
	STEP_LAST,
	STEP_COUNT
};

/*
 * Entries [@first, @end) that one UPDATE_PAGE_TABLE writes. The update names the allocation of
 * @record, the record that all these entries belong to. If @record is NULL, the update names no
 * allocation, as for links to tables and for entries that belong to no record.
 */
struct emit_run {
	const struct pagoda_record *record;
	u32 first;
	u32 end;
};

/*
 * Returns an UPDATE_PAGE_TABLE of all @nr_entries entries, yet without values, that names the table
 * by kernel, physical or window address, as the update mode requires.
 */
static struct pagoda_paging_op table_update(const struct pagoda_table *table,
					    const struct pagoda_table_memory *memory,
					    u32 nr_entries)
{
	enum virtio_pagoda_update_mode mode = table->space->mmu->args.mode;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = mode,
			.level = table->level,
			.flags = table->is_64k ? VIRTIO_PAGODA_UPDATE_USE_64K : 0,
			.address_space = table->space->id,
			.table_entries = nr_entries,
			.nr_entries = nr_entries,
			.table_pages = memory->pages,
			.first_va = table->va,
		},
	};

	if (mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL) {
		op.update_page_table.cpu_table = memory->cpu;
		op.update_page_table.table_address = memory->address;
	} else if (mode == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL) {
		op.update_page_table.table_segment = memory->segment;
		op.update_page_table.table_address = memory->address;
	} else {
		op.update_page_table.table_address = table->window_va;
	}
	return op;
}

/*
 * Emits an update that makes all entries of a table in @memory invalid; for a level-1 table with
 * dual PTEs two, one for word 0 of all entries and one for word 1.
 */
static void emit_clear(const struct pagoda_table *table,
		       const struct pagoda_table_memory *memory, u32 nr_entries, u32 flags,
		       const struct pagoda_emit *emit)
{
	static const u64 invalid;
	u32 nr_words = pagoda_table_nr_words(table), w;

	for (w = 0; w < nr_words; w++) {
		struct pagoda_paging_op op = table_update(table, memory, nr_entries);

		op.update_page_table.flags |= VIRTIO_PAGODA_UPDATE_REPEAT;
		op.update_page_table.values = &invalid;
		if (w)
			op.update_page_table.flags |= VIRTIO_PAGODA_UPDATE_USE_64K;
		/* Of two updates the first has INITIAL, the last has NOTIFY_EVICTION. */
		if (flags & VIRTIO_PAGODA_UPDATE_INITIAL ? !w : w == nr_words - 1)
			op.update_page_table.flags |= flags;
		emit->emit(emit->arg, &op);
	}
}

static bool word_is_valid(const struct pagoda_words *words, u32 index)
{
	return words->values[index] & VIRTIO_PAGODA_PTE_VALID;
}

/* Returns whether a word maps memory, so isn't invalid, zeros or a link to a table. */
static bool word_is_memory(const struct pagoda_table *table, const struct pagoda_words *words,
			   u32 index)
{
	u64 value = words->values[index];

	return value & VIRTIO_PAGODA_PTE_VALID && !(value & VIRTIO_PAGODA_PTE_ZERO) &&
	       (!table->level || value & VIRTIO_PAGODA_PTE_LARGE);
}

/*
 * Returns the entries from @first on, before @end, that map consecutive pages of one record's
 * allocation (C100); if no record covers @first, the entries in front of the next record.
 */
static struct emit_run run_by_record(const struct pagoda_table *table, u32 first, u32 end)
{
	u64 va = pagoda_table_entry_va(table, first), limit;
	struct pagoda_record *record = pagoda_record_find(table->space, va);
	struct emit_run run = { .first = first, .end = end };

	if (!record)
		return run;
	limit = record->va;
	if (record->va <= va) {
		run.record = record;
		limit = record->va + record->size;
		if (record->window)
			limit = min(limit, va + record->window -
				    (pagoda_record_offset(record, va) - record->allocation_offset));
	}
	/* Round up: only an invalid entry can lie across a record's end (C93). */
	limit = DIV_ROUND_UP_ULL(limit - va, 1ull << pagoda_table_shift(table));
	run.end = min_t(u64, end, first + limit);
	return run;
}

/*
 * Returns the dirty words from @first on that one update can write: all valid or all invalid, and
 * all mapping memory or none. If they map memory, or @table is a leaf table, all are also of one
 * record, or all of none. In a table above the leaves, links and invalid words may be of several
 * records.
 */
static struct emit_run run_next(const struct pagoda_table *table,
				const struct pagoda_words *words, u32 first)
{
	bool valid = word_is_valid(words, first), memory = word_is_memory(table, words, first);
	/* Words that agree in these bits agree in word_is_valid() and word_is_memory(). */
	const u64 kind = VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO | VIRTIO_PAGODA_PTE_LARGE;
	u32 limit = min_t(u32, table->nr_entries, first + VIRTIO_PAGODA_PT_ENTRIES);
	struct emit_run run = { .first = first };
	u32 end = first + 1;

	limit = find_next_zero_bit(words->dirty, limit, first);
	while (end < limit && (!((words->values[first] ^ words->values[end]) & kind) ||
			       (word_is_valid(words, end) == valid &&
				word_is_memory(table, words, end) == memory)))
		end++;
	run.end = end;
	return memory || !table->level ? run_by_record(table, first, end) : run;
}

static void emit_run(const struct pagoda_table *table, u32 w, const struct emit_run *run,
		     u32 flags, const struct pagoda_emit *emit)
{
	struct pagoda_paging_op op = table_update(table, &table->memory, table->nr_entries);
	struct pagoda_op_update_page_table *update = &op.update_page_table;

	update->first_entry = run->first;
	update->nr_entries = run->end - run->first;
	update->first_va = pagoda_table_entry_va(table, run->first);
	update->values = &table->words[w].values[run->first];
	update->flags |= flags;
	if (w)
		update->flags |= VIRTIO_PAGODA_UPDATE_USE_64K;
	if (run->record) {
		op.allocation = run->record->allocation;
		update->allocation_offset = pagoda_record_offset(run->record, update->first_va);
		update->driver_protection = table->level ? 0 : run->record->driver_protection;
	}
	emit->emit(emit->arg, &op);
}

/*
 * Emits updates for the dirty words (changed, but not written to the table yet) that are valid if
 * @valid, else for those that are invalid, and clears the dirty bits of these words.
 */
static void emit_dirty(struct pagoda_table *table, bool valid, const struct pagoda_emit *emit)
{
	u32 nr_words = pagoda_table_nr_words(table), w, index;
	struct emit_run run;

	for (w = 0; w < nr_words; w++) {
		struct pagoda_words *words = &table->words[w];

		for (index = find_first_bit(words->dirty, table->nr_entries);
		     index < table->nr_entries;
		     index = find_next_bit(words->dirty, table->nr_entries, run.end)) {
			run = run_next(table, words, index);
			if (word_is_valid(words, index) != valid)
				continue;
			emit_run(table, w, &run, 0, emit);
			bitmap_clear(words->dirty, run.first, run.end - run.first);
		}
	}
}

/* Returns the words from @first on that map memory of one record, or that all map no memory. */
static struct emit_run run_whole(const struct pagoda_table *table,
				 const struct pagoda_words *words, u32 first)
{
	bool memory = word_is_memory(table, words, first);
	struct emit_run run = { .first = first, .end = first + 1 };

	while (run.end < table->nr_entries && word_is_memory(table, words, run.end) == memory)
		run.end++;
	return memory ? run_by_record(table, first, run.end) : run;
}

/* Emits all words of a table, invalid ones too, because the table's memory has garbage in it. */
static void emit_whole(struct pagoda_table *table, const struct pagoda_emit *emit)
{
	u32 nr_words = pagoda_table_nr_words(table), flags = VIRTIO_PAGODA_UPDATE_INITIAL, w;
	struct emit_run run;

	for (w = 0; w < nr_words; w++) {
		for (run.end = 0; run.end < table->nr_entries; flags = 0) {
			run = run_whole(table, &table->words[w], run.end);
			emit_run(table, w, &run, flags, emit);
		}
		bitmap_zero(table->words[w].dirty, table->nr_entries);
	}
}

static bool table_is_dirty(const struct pagoda_table *table)
{
	u32 w;

	for (w = 0; w < pagoda_table_nr_words(table); w++)
		if (!bitmap_empty(table->words[w].dirty, table->nr_entries))
			return true;
	return false;
}

static void table_step(struct pagoda_table *table, enum emit_step step,
		       const struct pagoda_emit *emit)
{
	switch (step) {
	case STEP_INITIAL:
		if (!table->initial || table->dropped)
			break;
		if (table->whole)
			emit_whole(table, emit);
		else
			emit_clear(table, &table->memory, table->nr_entries,
				   VIRTIO_PAGODA_UPDATE_INITIAL, emit);
		break;
	case STEP_INVALID:
		/* STEP_INITIAL has written all invalid entries already. */
		if (table->initial)
			break;
		if (!table->dropped)
			emit_dirty(table, false, emit);
		else if (pagoda_mmu_is_dual(table->space->mmu) && table_is_dirty(table))
			emit_clear(table, &table->memory, table->nr_entries, 0, emit);
		break;
	case STEP_VALID:
		if (!table->dropped)
			emit_dirty(table, true, emit);
		break;
	default:
		if (table->dropped && !table->initial)
			emit_clear(table, &table->memory, table->nr_entries,
				   VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION, emit);
	}
}

static u32 table_windows(const struct pagoda_table *table)
{
	return DIV_ROUND_UP(table->memory.size, PAGODA_TABLE_WINDOW_BYTES);
}

/*
 * Maps @table, unless it is evicted or mapped already, into table windows from window number *@next
 * on, and adds the number of windows taken to *@next. Returns true, also for a table that wasn't to
 * be mapped; false if too few windows are left.
 */
static bool window_open(struct pagoda_table *table, u32 *next, const struct pagoda_emit *emit)
{
	u32 nr = table_windows(table);

	if (!table->resident || table->has_window)
		return true;
	if (nr > PAGODA_TABLE_WINDOWS - *next)
		return false;
	table->window_va = pagoda_process_map_table(table->space->mmu, *next, &table->memory,
						    emit);
	table->has_window = true;
	*next += nr;
	return true;
}

static void step_list(struct list_head *tables, enum emit_step step,
		      const struct pagoda_emit *emit)
{
	struct pagoda_table *table;

	list_for_each_entry(table, tables, work)
		if (table->resident)
			table_step(table, step, emit);
}

static bool batch_fits_windows(const struct pagoda_batch *batch)
{
	struct pagoda_table *table;
	u32 level, nr = 0;

	for (level = 0; level < PAGODA_PT_LEVELS; level++)
		list_for_each_entry(table, &batch->work[level], work)
			nr += table->resident ? table_windows(table) : 0;
	return nr <= PAGODA_TABLE_WINDOWS;
}

/*
 * Does @step for the tables of @level that @batch writes. Maps as many tables at a time as there
 * are table windows in the paging space.
 */
static void step_by_windows(struct pagoda_batch *batch, u32 level, enum emit_step step,
			    const struct pagoda_emit *emit)
{
	struct pagoda_mmu *mmu = batch->space->mmu;
	struct pagoda_table *table;
	LIST_HEAD(some);
	LIST_HEAD(done);

	while (!list_empty(&batch->work[level])) {
		u32 next = 0;

		while (!list_empty(&batch->work[level])) {
			table = list_first_entry(&batch->work[level], struct pagoda_table, work);
			if (!window_open(table, &next, emit))
				break;
			list_move_tail(&table->work, &some);
		}
		pagoda_process_flush(mmu, emit);
		step_list(&some, step, emit);
		pagoda_process_unmap(mmu, emit);
		list_for_each_entry(table, &some, work)
			table->has_window = false;
		list_splice_tail_init(&some, &done);
	}
	list_splice(&done, &batch->work[level]);
}

static void batch_steps(struct pagoda_batch *batch, bool by_windows,
			const struct pagoda_emit *emit)
{
	enum emit_step step;
	u32 level;

	/* Leaf tables first: no table may be reachable before all its entries are written. */
	for (level = 0; level < PAGODA_PT_LEVELS; level++) {
		for (step = STEP_INITIAL; step < STEP_LAST; step++) {
			if (by_windows)
				step_by_windows(batch, level, step, emit);
			else
				step_list(&batch->work[level], step, emit);
		}
	}
	for (level = 0; level < PAGODA_PT_LEVELS; level++) {
		if (by_windows)
			step_by_windows(batch, level, STEP_LAST, emit);
		else
			step_list(&batch->work[level], STEP_LAST, emit);
	}
}

/*
 * Maps the tables of @batch that aren't evicted into table windows, by which updates name the
 * tables. The caller checked that the windows suffice.
 */
static void windows_open(struct pagoda_batch *batch, const struct pagoda_emit *emit)
{
	struct pagoda_table *table;
	u32 level, next = 0;

	for (level = 0; level < PAGODA_PT_LEVELS; level++)
		list_for_each_entry(table, &batch->work[level], work)
			window_open(table, &next, emit);
	if (next)
		pagoda_process_flush(batch->space->mmu, emit);
}

/*
 * Called when all changes of @batch were emitted: empties @batch, and adds the tables that @batch
 * drops to &pagoda_pt_update.dropped, for finish to free.
 */
static void batch_done(struct pagoda_batch *batch)
{
	struct pagoda_table *table, *next;
	u32 level, w;

	for (level = 0; level < PAGODA_PT_LEVELS; level++) {
		list_for_each_entry_safe(table, next, &batch->work[level], work) {
			list_del_init(&table->work);
			table->has_window = false;
			table->initial = false;
			table->whole = false;
			for (w = 0; w < pagoda_table_nr_words(table); w++)
				bitmap_zero(table->words[w].dirty, table->room);
			if (!table->dropped)
				continue;
			list_del_init(&table->link);
			list_add_tail(&table->work, &batch->update->dropped);
		}
	}
}

/*
 * Emits the updates that write the dirty words of @batch, but not the flush of the space's
 * translations; skips tables that are evicted. Leaves @batch without tables.
 */
void pagoda_batch_emit_tables(struct pagoda_batch *batch, const struct pagoda_emit *emit)
{
	bool windows = batch->space->mmu->args.mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;
	bool fits = !windows || batch_fits_windows(batch);
	u32 level, used = 0;

	for (level = 0; level < PAGODA_PT_LEVELS; level++)
		used += !list_empty(&batch->work[level]);
	if (windows && fits && used)
		windows_open(batch, emit);
	batch_steps(batch, !fits, emit);
	if (windows && fits && used)
		pagoda_process_unmap(batch->space->mmu, emit);
	batch_done(batch);
}

/*
 * Emits a FLUSH_TLB of the translations that @batch changed, if there are any and the device has a
 * root of the space. Without a root the device caches no translation of the space, and setting a
 * root drops all cached translations of the space.
 */
void pagoda_batch_emit_flush(struct pagoda_batch *batch, const struct pagoda_emit *emit)
{
	const struct pagoda_space *space = batch->space;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
		.flush_tlb = {
			.address_space = space->id,
			.start = batch->start,
			.end = batch->end,
		},
	};

	if (!batch->end || !space->attached || !space->root->resident)
		return;
	op.flush_tlb.root_address = space->root->memory.address;
	op.flush_tlb.root_segment = space->root->memory.segment;
	emit->emit(emit->arg, &op);
}

/* Before @table loses @memory: emits the last update, which makes all entries invalid. */
void pagoda_emit_last(struct pagoda_table *table, const struct pagoda_table_memory *memory,
		      u32 nr_entries, const struct pagoda_emit *emit)
{
	struct pagoda_mmu *mmu = table->space->mmu;
	bool windows = mmu->args.mode == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL;

	if (windows) {
		table->window_va = pagoda_process_map_table(mmu, 0, memory, emit);
		pagoda_process_flush(mmu, emit);
	}
	emit_clear(table, memory, nr_entries, VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION, emit);
	if (windows)
		pagoda_process_unmap(mmu, emit);
}
