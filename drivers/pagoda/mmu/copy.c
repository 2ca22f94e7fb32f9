// SPDX-License-Identifier: GPL-2.0
/*
 * COPY_PAGE_TABLE_ENTRIES (C108 - C112): copies entries from table to table, as they are when
 * the device executes the operation.
 *
 * First updates turn everything in the blocks into 4 KiB entries; then come the copies, in
 * order; then the flush. The destination is instead written from the words of the source
 * without the operation (CPU_VIRTUAL mode, C112), while a table isn't resident, and when a copy
 * writes entries that the copy itself or an earlier copy reads: an operation that is executed
 * again after being half done has to find its source unchanged (C137).
 */
#include "internal.h"

/* Most ranges in an operation; each takes two table windows. */
#define COPY_RANGES	16
/* Copies that are compared pair by pair; later copies only with the bounds of all sources. */
#define COPY_COMPARED	32

/* Ranges of the next operation; @tables: source and destination table of each of @nr ranges. */
struct copy_ranges {
	struct pagoda_space *space;
	const struct pagoda_emit *emit;
	u32 nr;
	struct pagoda_table *tables[COPY_RANGES][2];
	struct pagoda_copy_range ranges[COPY_RANGES];
};

/* Returns the bytes of a copy from @done on that are in one block in source and destination. */
u64 pagoda_copy_step(const struct pagoda_space_copy *copy, u64 done)
{
	u64 src = (copy->src + done) & (PAGODA_BLOCK_BYTES - 1);
	u64 dst = (copy->dst + done) & (PAGODA_BLOCK_BYTES - 1);

	return min(copy->size - done, PAGODA_BLOCK_BYTES - max(src, dst));
}

/* Splits all entries of blocks that the update's copies read or write into 4 KiB entries. */
void pagoda_copies_split(struct pagoda_batch *batch)
{
	const struct pagoda_pt_update *update = batch->update;
	u64 done, step, va;
	u32 i, side;

	for (i = 0; i < update->nr_copies; i++) {
		const struct pagoda_space_copy *copy = &update->copies[i];

		for (done = 0; done < copy->size; done += step) {
			step = pagoda_copy_step(copy, done);
			for (side = 0; side < 2; side++) {
				struct pagoda_table *parent;

				va = (side ? copy->dst : copy->src) + done;
				parent = pagoda_path_link(batch, va);
				pagoda_block_split(batch, parent, pagoda_table_index(parent, va));
			}
		}
	}
}

static struct pagoda_table *copy_leaf(struct pagoda_space *space, u64 va)
{
	struct pagoda_table *table = space->root;

	while (table->level)
		table = table->words[0].children[pagoda_table_index(table, va)];
	return table;
}

/* Sets a word without an update: the device writes the entry when it executes the copy. */
static void word_book(struct pagoda_table *table, u32 index, u64 value)
{
	u64 *word = &table->words[0].values[index];

	table->nr_valid += (value & VIRTIO_PAGODA_PTE_VALID) - (*word & VIRTIO_PAGODA_PTE_VALID);
	*word = value;
}

static void ranges_window(struct copy_ranges *copies, u32 i, u32 side)
{
	u64 address = pagoda_process_map_table(copies->space->mmu, 2 * i + side,
					       &copies->tables[i][side]->memory, copies->emit);

	if (side)
		copies->ranges[i].dst_table = address;
	else
		copies->ranges[i].src_table = address;
}

static void ranges_emit(struct copy_ranges *copies)
{
	struct pagoda_mmu *mmu = copies->space->mmu;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_COPY_PAGE_TABLE_ENTRIES,
		.copy_entries = {
			.address_space = copies->space->id,
			.nr_ranges = copies->nr,
			.ranges = copies->ranges,
		},
	};
	u32 i;

	if (!copies->nr)
		return;
	for (i = 0; i < copies->nr; i++) {
		ranges_window(copies, i, 0);
		ranges_window(copies, i, 1);
	}
	pagoda_process_flush(mmu, copies->emit);
	copies->emit->emit(copies->emit->arg, &op);
	pagoda_process_unmap(mmu, copies->emit);
	copies->nr = 0;
}

static void ranges_add(struct copy_ranges *copies, struct pagoda_table *src, u32 src_entry,
		       struct pagoda_table *dst, u32 dst_entry, u32 nr_entries)
{
	u32 i = copies->nr++;

	copies->tables[i][0] = src;
	copies->tables[i][1] = dst;
	copies->ranges[i] = (struct pagoda_copy_range) {
		.src_entry = src_entry,
		.dst_entry = dst_entry,
		.nr_entries = nr_entries,
	};
	if (copies->nr == COPY_RANGES)
		ranges_emit(copies);
}

/* Lets the device copy a part that is in one table in source and destination. */
static void copy_part(struct pagoda_batch *batch, struct copy_ranges *copies, u64 from, u64 to,
		      u64 size)
{
	struct pagoda_table *src = copy_leaf(batch->space, from);
	struct pagoda_table *dst = copy_leaf(batch->space, to);
	u32 src_entry = pagoda_table_index(src, from), dst_entry = pagoda_table_index(dst, to);
	u32 nr = size >> VIRTIO_PAGODA_PAGE_SHIFT, i;

	for (i = 0; i < nr; i++)
		word_book(dst, dst_entry + i, src->words[0].values[src_entry + i]);
	/* The source may change before the copy is executed, so any entry may differ then. */
	pagoda_batch_flush(batch, to, size);
	ranges_add(copies, src, src_entry, dst, dst_entry, nr);
}

static void copy_by_device(struct pagoda_batch *batch, struct copy_ranges *copies,
			   const struct pagoda_space_copy *copy)
{
	u64 done, step;

	for (done = 0; done < copy->size; done += step) {
		step = pagoda_copy_step(copy, done);
		copy_part(batch, copies, copy->src + done, copy->dst + done, step);
	}
}

/* Copies words page by page, in the order in which no word is overwritten before being read. */
static void copy_by_words(struct pagoda_batch *batch, const struct pagoda_space_copy *copy)
{
	bool backward = copy->dst > copy->src;
	u64 done, at;

	for (done = 0; done < copy->size; done += VIRTIO_PAGODA_PAGE_SIZE) {
		struct pagoda_table *src, *dst;

		at = backward ? copy->size - VIRTIO_PAGODA_PAGE_SIZE - done : done;
		src = copy_leaf(batch->space, copy->src + at);
		dst = copy_leaf(batch->space, copy->dst + at);
		pagoda_word_set(batch, dst, 0, pagoda_table_index(dst, copy->dst + at),
				src->words[0].values[pagoda_table_index(src, copy->src + at)],
				false);
	}
}

/* Returns whether a copy may write entries that the copy or an earlier copy of @update reads. */
static bool copies_overlap(const struct pagoda_pt_update *update)
{
	u64 first_src = U64_MAX, last_src = 0;
	u32 i, j;

	for (i = 0; i < update->nr_copies; i++) {
		const struct pagoda_space_copy *copy = &update->copies[i];

		first_src = min(first_src, copy->src);
		last_src = max(last_src, copy->src + copy->size);
		if (copy->dst >= last_src || copy->dst + copy->size <= first_src)
			continue;
		if (i >= COPY_COMPARED)
			return true;
		for (j = 0; j <= i; j++)
			if (copy->dst < update->copies[j].src + update->copies[j].size &&
			    update->copies[j].src < copy->dst + copy->size)
				return true;
	}
	return false;
}

/* Makes the copies of the update, after the batch's other changes were emitted. */
void pagoda_copies_commit(struct pagoda_batch *batch, const struct pagoda_emit *emit)
{
	struct pagoda_space *space = batch->space;
	struct copy_ranges copies = { .space = space, .emit = emit };
	bool device = space->mmu->args.mode != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL &&
		      !space->nr_absent && !copies_overlap(batch->update);
	u32 i;

	for (i = 0; i < batch->update->nr_copies; i++) {
		const struct pagoda_space_copy *copy = &batch->update->copies[i];

		if (device)
			copy_by_device(batch, &copies, copy);
		else
			copy_by_words(batch, copy);
		pagoda_records_copy(space, copy, &batch->update->records);
	}
	if (device)
		ranges_emit(&copies);
	else
		pagoda_batch_emit_tables(batch, emit);
}
