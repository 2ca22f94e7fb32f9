// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of words: a word is the driver's copy of a page-table entry. A change sets the word at
 * once and marks the word dirty; emit.c later emits operations that write dirty words to the table.
 *
 * The words of a level-1 entry tell what maps the entry's block, which is 2 MiB of addresses:
 *
 *	invalid		nothing
 *	large		the entry itself: one large page, or zeros (VALID | ZERO)
 *	4 KiB table	a table of 4 KiB entries, which word 0 links
 *	64 KiB table	a table of 64 KiB entries, which word 0 links; with dual PTEs word 1
 *			links the table, and word 0 may link a 4 KiB table as well: each 64 KiB
 *			chunk of addresses has valid entries in at most one of the two (C93)
 *
 * If a part of a "large" block changes, the block is split into 4 KiB entries. Without dual PTEs, a
 * 64 KiB table that can't hold a change is replaced by its twin, a 4 KiB table that the prepare
 * phase made and that gets the same translations. 4 KiB entries aren't merged into larger entries
 * later.
 */
#include <linux/bitmap.h>

#include "internal.h"

/* Number of entries for which leaf_write() computes addresses at a time, on its stack. */
#define LEAF_CHUNK	64

/*
 * Initialises @batch, the changes of page-table entries that are emitted together, without changes.
 * @update is the update being committed; NULL if a move only makes entries invalid, or if a table
 * is evicted. Caller holds the space's lock.
 */
void pagoda_batch_init(struct pagoda_batch *batch, struct pagoda_space *space,
		       struct pagoda_pt_update *update)
{
	u32 level;

	lockdep_assert_held(&space->lock);
	batch->space = space;
	batch->update = update;
	batch->start = U64_MAX;
	batch->end = 0;
	for (level = 0; level < PAGODA_PT_LEVELS; level++)
		INIT_LIST_HEAD(&batch->work[level]);
}

/*
 * Gives @table the memory that prepare allocated for it, &pagoda_table.next, in which all entries
 * have yet to be written.
 */
void pagoda_table_settle(struct pagoda_table *table)
{
	table->memory = table->next;
	table->has_next = false;
	table->resident = true;
	table->initial = true;
}

/*
 * Adds @table to the tables that @batch writes. A table that prepare made and that commit hasn't
 * used so far gets its memory and counts as used from now on.
 */
void pagoda_batch_touch(struct pagoda_batch *batch, struct pagoda_table *table)
{
	if (table->fresh) {
		table->fresh = false;
		list_del_init(&table->work);
		pagoda_table_settle(table);
	}
	if (list_empty(&table->work))
		list_add_tail(&table->work, &batch->work[table->level]);
}

/* Makes the flush at the end of @batch cover the @size bytes of addresses from @va on. */
void pagoda_batch_flush(struct pagoda_batch *batch, u64 va, u64 size)
{
	batch->start = min(batch->start, va);
	batch->end = max(batch->end, va + size);
}

/*
 * Returns whether changing a word of @table from @old to @value needs a TLB flush: yes if @old is
 * valid and differs from @value (C105), or if @value maps memory or zeros while the TLB may hold
 * the invalid @old (C106). A new link to a table needs no flush by itself: this function is called
 * for the words of the linked table, too.
 */
static bool word_needs_flush(const struct pagoda_table *table, u64 old, u64 value)
{
	const u64 end = VIRTIO_PAGODA_PTE_LARGE | VIRTIO_PAGODA_PTE_ZERO;

	if (old & VIRTIO_PAGODA_PTE_VALID)
		return old != value;
	return value & VIRTIO_PAGODA_PTE_VALID && (!table->level || value & end) &&
	       !table->space->mmu->args.invalid_not_cached;
}

/*
 * Sets word @w of entry @index to @value, marks the word dirty, and adds the TLB flush that the
 * change needs, if any, to @batch. Without @force, nothing happens if @value is the word's value
 * already.
 */
void pagoda_word_set(struct pagoda_batch *batch, struct pagoda_table *table, u32 w, u32 index,
		     u64 value, bool force)
{
	struct pagoda_words *words = &table->words[w];
	u64 old = words->values[index];

	if (old == value && !force)
		return;
	table->nr_valid += (value & VIRTIO_PAGODA_PTE_VALID) - (old & VIRTIO_PAGODA_PTE_VALID);
	words->values[index] = value;
	__set_bit(index, words->dirty);
	pagoda_batch_touch(batch, table);
	if (word_needs_flush(table, old, value))
		pagoda_batch_flush(batch, pagoda_table_entry_va(table, index),
				   1ull << pagoda_table_shift(table));
}

/*
 * Returns the value of the parent's entry that leads to @table; 0 (invalid) if @table is evicted.
 */
static u64 table_link_value(const struct pagoda_table *table)
{
	struct pagoda_pte pte = {
		.flags = PAGODA_PTE_VALID |
			 (u64)table->memory.segment << PAGODA_PTE_SEGMENT_SHIFT,
		.address = table->memory.address,
	};

	if (table->is_64k && !pagoda_mmu_is_dual(table->space->mmu))
		pte.flags |= 1ull << PAGODA_PTE_PAGE_SIZE_SHIFT;
	return table->resident ? pagoda_pte_encode(&pte, 0) : 0;
}

/*
 * Marks @table as linked, adds @table to @batch and, unless @table is the root, sets the parent's
 * entry: a link, or invalid if @table is evicted.
 */
void pagoda_table_link(struct pagoda_batch *batch, struct pagoda_table *table)
{
	struct pagoda_table *parent = table->parent;

	table->linked = true;
	pagoda_batch_touch(batch, table);
	if (!parent)
		return;
	pagoda_word_set(batch, parent, pagoda_table_word(table),
			pagoda_table_index(parent, table->va), table_link_value(table), false);
}

/*
 * If a leaf table has valid entries, makes all entries invalid and marks all dirty, also those that
 * were invalid already: one operation can write all.
 */
static void table_clear(struct pagoda_batch *batch, struct pagoda_table *table)
{
	bool any = table->nr_valid;
	u32 i;

	for (i = 0; any && i < table->nr_entries; i++)
		pagoda_word_set(batch, table, 0, i, 0, true);
}

/*
 * Makes a leaf table's entries invalid and the table unlinked; the caller sets the parent's word.
 */
void pagoda_table_unlink(struct pagoda_batch *batch, struct pagoda_table *table)
{
	table_clear(batch, table);
	if (table->linked)
		pagoda_batch_touch(batch, table);
	table->linked = false;
}

/*
 * Makes a 2 MiB block a single level-1 entry with @value: a large page, VALID | ZERO, or 0
 * (invalid). The block's leaf tables are unlinked. A large page's entry is written even if it has
 * @value already.
 */
void pagoda_block_set(struct pagoda_batch *batch, struct pagoda_table *parent, u32 index,
		      u64 value)
{
	bool force = value & VIRTIO_PAGODA_PTE_VALID && !(value & VIRTIO_PAGODA_PTE_ZERO);
	u32 w;

	for (w = 0; w < pagoda_table_nr_words(parent); w++) {
		struct pagoda_table *child = parent->words[w].children[index];

		if (child)
			pagoda_table_unlink(batch, child);
		pagoda_word_set(batch, parent, w, index, w ? 0 : value, !w && force);
	}
}

/*
 * Returns whether level-1 entry @index of @parent maps its 2 MiB itself, without a leaf table. With
 * dual PTEs only word 0 of the entry can.
 */
static bool block_is_large(const struct pagoda_table *parent, u32 index)
{
	const struct pagoda_table *child = parent->words[0].children[index];

	return parent->words[0].values[index] & VIRTIO_PAGODA_PTE_VALID &&
	       !(child && child->linked);
}

/* Returns the 4 KiB entry for the page @offset bytes into what the larger @entry maps. */
static u64 entry_part(u64 entry, u64 offset)
{
	if (entry & VIRTIO_PAGODA_PTE_ZERO || !(entry & VIRTIO_PAGODA_PTE_VALID))
		return entry;
	return (entry & ~VIRTIO_PAGODA_PTE_LARGE) + offset;
}

/*
 * Returns the 4 KiB entry @entry, made from a large page's entry, with the DriverProtection of the
 * record that covers @va added: only leaf entries have DriverProtection, so the large page's entry
 * had none (C98). Without such a record, or for zeros, returns @entry as it is.
 */
static u64 entry_protect(struct pagoda_space *space, u64 entry, u64 va)
{
	struct pagoda_record *record = pagoda_record_find(space, va);
	struct pagoda_pte pte;

	if (!record || record->va > va || entry & VIRTIO_PAGODA_PTE_ZERO)
		return entry;
	pte = pagoda_pte_decode(entry);
	return pagoda_pte_encode(&pte, record->driver_protection);
}

/* Makes @nr 4 KiB entries of @table, from index @first on, map what the larger @entry maps. */
static void leaf_spread(struct pagoda_batch *batch, struct pagoda_table *table, u32 first,
			u32 nr, u64 entry)
{
	u32 i;

	for (i = 0; i < nr; i++)
		pagoda_word_set(batch, table, 0, first + i,
				entry_part(entry, (u64)i << VIRTIO_PAGODA_PAGE_SHIFT), false);
}

/*
 * Replaces large entry @index of @parent by a link to @table, whose 4 KiB entries get the large
 * entry's translations.
 */
static void block_spread(struct pagoda_batch *batch, struct pagoda_table *parent, u32 index,
			 struct pagoda_table *table)
{
	u64 entry = entry_part(parent->words[0].values[index], 0);

	leaf_spread(batch, table, 0, table->nr_entries,
		    entry_protect(batch->space, entry, table->va));
	pagoda_table_link(batch, table);
}

/*
 * Without dual PTEs: replaces 64 KiB table @table by its twin, the 4 KiB table that prepare made,
 * with the same translations, and returns the twin.
 */
static struct pagoda_table *block_demote(struct pagoda_batch *batch, struct pagoda_table *table)
{
	struct pagoda_table *twin = table->twin, *parent = table->parent;
	u32 index = pagoda_table_index(parent, table->va), i;

	table->twin = NULL;
	parent->words[0].children[index] = twin;
	parent->nr_children++;
	for (i = 0; table->linked && i < table->nr_entries; i++)
		leaf_spread(batch, twin, i * PAGODA_CHUNK_PAGES, PAGODA_CHUNK_PAGES,
			    table->words[0].values[i]);
	if (table->linked)
		pagoda_table_link(batch, twin);
	pagoda_table_unlink(batch, table);
	pagoda_batch_touch(batch, table);
	return twin;
}

/*
 * Without dual PTEs: returns the leaf table for a write into a 2 MiB block. A large entry is split
 * into 4 KiB entries, unless the write covers the @whole block. A 64 KiB table is replaced by its
 * &pagoda_table.twin, the 4 KiB table that prepare made for that, if a large entry is split or
 * 64 KiB entries can't hold the write (!@is_64k).
 */
static struct pagoda_table *block_leaf(struct pagoda_batch *batch, struct pagoda_table *parent,
				       u32 index, bool whole, bool is_64k)
{
	struct pagoda_table *table = parent->words[0].children[index];
	bool spread = block_is_large(parent, index) && !whole;

	if (table->is_64k && (!is_64k || spread))
		table = block_demote(batch, table);
	if (spread)
		block_spread(batch, parent, index, table);
	return table;
}

/* Returns the bits that are the same in all leaf entries of @map: all but segment and address. */
static u64 map_entry(const struct pagoda_map *map)
{
	const struct pagoda_pte pte = { .flags = PAGODA_PTE_VALID | map->flags };

	switch (map->kind) {
	case PAGODA_MAP_MEMORY:
		return pagoda_pte_encode(&pte, map->driver_protection);
	case PAGODA_MAP_ZERO:
		return VIRTIO_PAGODA_PTE_VALID | VIRTIO_PAGODA_PTE_ZERO;
	default:
		return 0;
	}
}

/* Returns whether any of @nr words of @table, from index @first on, isn't @value. */
static bool leaf_differs(const struct pagoda_table *table, u32 first, u32 nr, u64 value)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (table->words[0].values[first + i] != value)
			return true;
	return false;
}

/*
 * Sets @nr words from index @first on to @entry | @places[i], and adds the TLB flush that the
 * changes need, if any, to @batch; the caller marks the words dirty.
 */
static void leaf_fill(struct pagoda_batch *batch, struct pagoda_table *table, u32 first, u32 nr,
		      u64 entry, const u64 *places)
{
	u64 *values = &table->words[0].values[first];
	u32 was = 0, start = 0, end = 0, i;

	for (i = 0; i < nr; i++) {
		u64 value = entry | places[i];

		was += values[i] & VIRTIO_PAGODA_PTE_VALID;
		if (word_needs_flush(table, values[i], value)) {
			start = end ? start : i;
			end = i + 1;
		}
		values[i] = value;
	}
	table->nr_valid += nr * (u32)(entry & VIRTIO_PAGODA_PTE_VALID) - was;
	if (end)
		pagoda_batch_flush(batch, pagoda_table_entry_va(table, first + start),
				   (u64)(end - start) << pagoda_table_shift(table));
}

/*
 * Sets the entries of leaf table @table for @size bytes of @map from @va on, and marks all of these
 * entries dirty, even unchanged ones, to be written together. If @map is MEMORY, the entries map
 * the memory at @place, which moves behind that memory. If @map isn't MEMORY and no entry changes,
 * nothing is marked dirty.
 */
static void leaf_write(struct pagoda_batch *batch, struct pagoda_table *table, u64 va, u64 size,
		       const struct pagoda_map *map, struct pagoda_map_place *place)
{
	u32 first = pagoda_table_index(table, va), shift = pagoda_table_shift(table);
	u32 nr = size >> shift, done, got;
	u64 entry = map_entry(map), places[LEAF_CHUNK] = {};

	if (map->kind != PAGODA_MAP_MEMORY && !leaf_differs(table, first, nr, entry))
		return;
	for (done = 0; done < nr; done += got) {
		got = min_t(u32, nr - done, LEAF_CHUNK);
		if (map->kind == PAGODA_MAP_MEMORY)
			pagoda_place_entries(place, shift, got, places);
		leaf_fill(batch, table, first + done, got, entry, places);
	}
	bitmap_set(table->words[0].dirty, first, nr);
	pagoda_batch_touch(batch, table);
}

/*
 * With dual PTEs: if the 64 KiB entry of @va in @large is valid, makes this entry invalid and,
 * unless the caller overwrites the @whole 64 KiB, sets 4 KiB entries in @small that map the same
 * memory.
 */
static void chunk_open(struct pagoda_batch *batch, struct pagoda_table *large,
		       struct pagoda_table *small, u64 va, bool whole)
{
	u32 index = pagoda_table_index(large, va);
	u64 entry = large->words[0].values[index];

	if (!(entry & VIRTIO_PAGODA_PTE_VALID))
		return;
	pagoda_word_set(batch, large, 0, index, 0, false);
	if (whole)
		return;
	leaf_spread(batch, small, index * PAGODA_CHUNK_PAGES, PAGODA_CHUNK_PAGES, entry);
	pagoda_table_link(batch, small);
}

/*
 * With dual PTEs: applies @map to @size bytes from @va on, within one 64 KiB chunk, by an entry of
 * @large if possible, else by entries of @small.
 */
static void chunk_write(struct pagoda_batch *batch, struct pagoda_table *small,
			struct pagoda_table *large, u64 va, u64 size,
			const struct pagoda_map *map, struct pagoda_map_place *place)
{
	bool whole = size == PAGODA_CHUNK_BYTES;
	bool is_64k = whole && map->kind == PAGODA_MAP_MEMORY && large &&
		      pagoda_place_is_64k(place, batch->space->mmu, va, size);
	const struct pagoda_map nothing = { .kind = PAGODA_MAP_INVALID };

	if (is_64k) {
		if (small)
			leaf_write(batch, small, va, size, &nothing, NULL);
		leaf_write(batch, large, va, size, map, place);
		pagoda_table_link(batch, large);
		return;
	}
	if (large)
		chunk_open(batch, large, small, va, whole);
	if (!small)
		return;
	leaf_write(batch, small, va, size, map, place);
	if (map->kind != PAGODA_MAP_INVALID)
		pagoda_table_link(batch, small);
}

static void block_write_dual(struct pagoda_batch *batch, struct pagoda_table *parent, u64 va,
			     u64 size, const struct pagoda_map *map, struct pagoda_map_place *place)
{
	u32 index = pagoda_table_index(parent, va);
	struct pagoda_table *small = parent->words[0].children[index];
	struct pagoda_table *large = parent->words[1].children[index];
	u64 end = va + size, next;

	if (block_is_large(parent, index)) {
		if (size != PAGODA_BLOCK_BYTES)
			block_spread(batch, parent, index, small);
		else
			pagoda_word_set(batch, parent, 0, index, 0, false);
	}
	for (; va < end; va = next) {
		next = min(end, round_down(va, PAGODA_CHUNK_BYTES) + PAGODA_CHUNK_BYTES);
		chunk_write(batch, small, large, va, next - va, map, place);
	}
}

/*
 * Applies @map to @size bytes from @va on, within one 2 MiB block, in leaf tables that existed or
 * that prepare made. @place is used, and moved behind the @size bytes, only if @map is MEMORY.
 */
void pagoda_block_write(struct pagoda_batch *batch, struct pagoda_table *parent, u64 va,
			u64 size, const struct pagoda_map *map, struct pagoda_map_place *place)
{
	bool whole = size == PAGODA_BLOCK_BYTES;
	struct pagoda_table *table;
	bool is_64k;

	if (pagoda_mmu_is_dual(batch->space->mmu)) {
		block_write_dual(batch, parent, va, size, map, place);
		return;
	}
	if (map->kind == PAGODA_MAP_MEMORY)
		is_64k = pagoda_place_is_64k(place, batch->space->mmu, va, size);
	else
		is_64k = IS_ALIGNED(va | size, PAGODA_CHUNK_BYTES);
	table = block_leaf(batch, parent, pagoda_table_index(parent, va), whole, is_64k);
	leaf_write(batch, table, va, size, map, place);
	pagoda_table_link(batch, table);
}

/*
 * Turns all entries of a 2 MiB block into entries of a 4 KiB table, which prepare made if the block
 * had none. Without dual PTEs that table replaces a 64 KiB table of the block.
 */
void pagoda_block_split(struct pagoda_batch *batch, struct pagoda_table *parent, u32 index)
{
	struct pagoda_table *small, *large;
	u32 i;

	small = parent->words[0].children[index];
	if (!pagoda_mmu_is_dual(batch->space->mmu)) {
		small = block_leaf(batch, parent, index, false, false);
		pagoda_table_link(batch, small);
		return;
	}
	large = parent->words[1].children[index];
	if (block_is_large(parent, index))
		block_spread(batch, parent, index, small);
	for (i = 0; large && i < large->nr_entries; i++)
		chunk_open(batch, large, small, pagoda_table_entry_va(large, i), false);
	pagoda_table_link(batch, small);
}
