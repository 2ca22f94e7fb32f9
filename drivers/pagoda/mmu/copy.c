// SPDX-License-Identifier: GPL-2.0
/*
 * COPY_PAGE_TABLE_ENTRIES (C108 - C112): the device copies entries from page table to page table,
 * as the entries are when the device executes the operation.
 *
 * A commit first emits updates that turn all entries of the 2 MiB blocks in question into 4 KiB
 * entries, then the copies in order, then the flush. In these cases updates write the words (the
 * driver's copy of entries) of the source to the destination instead: in CPU_VIRTUAL mode (C112);
 * while a table of the space isn't resident; and if a copy writes, or in a long list may write,
 * entries that the copy itself or an earlier copy reads, because an operation that is executed
 * again after half of it was executed has to find its source unchanged (C137).
 */
#include "internal.h"

/*
 * Maximum number of ranges in one COPY_PAGE_TABLE_ENTRIES. Each range takes two windows of the
 * paging space, in which the device reaches the source table and the destination table.
 */
#define COPY_RANGES	16
/*
 * Number of copies that copies_overlap() compares pair by pair; the destination of a later copy is
 * compared only with the lowest and highest address of all sources so far.
 */
#define COPY_COMPARED	32

/*
 * The @nr ranges of the COPY_PAGE_TABLE_ENTRIES that is emitted next; @tables has the source and
 * the destination table of each range.
 */
struct copy_ranges {
	struct pagoda_space *space;
	const struct pagoda_emit *emit;
	u32 nr;
	struct pagoda_table *tables[COPY_RANGES][2];
	struct pagoda_copy_range ranges[COPY_RANGES];
};

/* Returns for how many bytes from @done on source and destination stay in one 2 MiB block each. */
u64 pagoda_copy_step(const struct pagoda_space_copy *copy, u64 done)
{
	u64 src = (copy->src + done) & (PAGODA_BLOCK_BYTES - 1);
	u64 dst = (copy->dst + done) & (PAGODA_BLOCK_BYTES - 1);

	return min(copy->size - done, PAGODA_BLOCK_BYTES - max(src, dst));
}

/* Splits all entries of 2 MiB blocks that the update's copies use into 4 KiB entries. */
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

/*
 * Sets a word, the driver's copy of an entry, and emits no update: the device writes the entry when
 * the device executes COPY_PAGE_TABLE_ENTRIES.
 */
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

/*
 * Adds a range to @copies by which the device copies the entries of @size bytes of addresses from
 * @from to @to, each within one leaf table; copies the driver's words of these entries at once.
 */
static void copy_part(struct pagoda_batch *batch, struct copy_ranges *copies, u64 from, u64 to,
		      u64 size)
{
	struct pagoda_table *src = copy_leaf(batch->space, from);
	struct pagoda_table *dst = copy_leaf(batch->space, to);
	u32 src_entry = pagoda_table_index(src, from), dst_entry = pagoda_table_index(dst, to);
	u32 nr = size >> VIRTIO_PAGODA_PAGE_SHIFT, i;

	for (i = 0; i < nr; i++)
		word_book(dst, dst_entry + i, src->words[0].values[src_entry + i]);
	/*
	 * Flush the whole range, whatever changes in the driver's copy: the device copies what the
	 * source has when the operation is executed.
	 */
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

/*
 * Makes a copy by updates: sets the destination's words, the driver's copies of entries, to the
 * source's, in the order that overwrites no word before that word is read.
 */
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

/* Returns whether any copy of @update may write entries that the same or an earlier copy reads. */
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

/*
 * Makes the copies of the batch's update: copies words (the driver's copies of entries) and
 * records, and emits COPY_PAGE_TABLE_ENTRIES or updates. The batch's other changes were emitted
 * before.
 */
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
