// SPDX-License-Identifier: GPL-2.0
/*
 * Applies a struct pagoda_map: sets the page-table entries and the struct pagoda_record of a range.
 * Also makes ranges invalid, links the tables on the way to an address, and drops page tables that
 * are left without valid entries.
 *
 * No function in this file allocates: the prepare phase of an update has added all tables that may
 * be needed to the tree of tables, not linked by an entry of their parents. The finish phase frees
 * tables that stayed unused.
 */
#include "internal.h"

/*
 * Links each table on the path from the root to the level-1 table of @va that isn't linked yet.
 * Returns the level-1 table; prepare has made all tables on the path.
 */
struct pagoda_table *pagoda_path_link(struct pagoda_batch *batch, u64 va)
{
	struct pagoda_table *table = batch->space->root;

	for (;;) {
		if (!table->linked)
			pagoda_table_link(batch, table);
		if (table->level == 1)
			return table;
		table = table->words[0].children[pagoda_table_index(table, va)];
	}
}

/*
 * Returns the valid level-1 entry that maps 2 MiB of @map as a whole: a large page of the memory at
 * @place, which moves on by 2 MiB; or, for a map of kind PAGODA_MAP_ZERO, a page of zeros. The
 * entry has no DriverProtection, which only level-0 entries have (C98).
 */
static u64 large_entry(const struct pagoda_map *map, struct pagoda_map_place *place)
{
	struct pagoda_pte pte = { .flags = PAGODA_PTE_VALID | PAGODA_PTE_ZERO };
	u32 segment;

	if (map->kind == PAGODA_MAP_MEMORY) {
		pagoda_place_run(place, VIRTIO_PAGODA_PAGE_SIZE, &segment, &pte.address);
		pagoda_place_advance(place, PAGODA_BLOCK_BYTES);
		pte.flags = PAGODA_PTE_VALID | PAGODA_PTE_LARGE_PAGE | map->flags |
			    (u64)segment << PAGODA_PTE_SEGMENT_SHIFT;
	}
	return pagoda_pte_encode(&pte, 0);
}

static void map_blocks(struct pagoda_batch *batch, const struct pagoda_map *map)
{
	u64 va = map->va, end = va + map->size, next;
	struct pagoda_map_place place;

	pagoda_place_init(&place, map);
	for (; va < end; va = next) {
		struct pagoda_table *parent = pagoda_path_link(batch, va);
		bool large;

		next = min(end, round_down(va, PAGODA_BLOCK_BYTES) + PAGODA_BLOCK_BYTES);
		if (map->kind == PAGODA_MAP_ZERO)
			large = next - va == PAGODA_BLOCK_BYTES;
		else
			large = pagoda_place_is_large(&place, batch->space->mmu, next - va);
		if (large)
			pagoda_block_set(batch, parent, pagoda_table_index(parent, va),
					 large_entry(map, &place));
		else
			pagoda_block_write(batch, parent, va, next - va, map, &place);
	}
}

/*
 * Returns whether level-1 entry @index of @parent maps anything: one of its words (copies of the
 * entry) is valid or leads to a linked leaf table.
 */
static bool block_is_used(const struct pagoda_table *parent, u32 index)
{
	u32 w;

	for (w = 0; w < pagoda_table_nr_words(parent); w++) {
		const struct pagoda_table *child = parent->words[w].children[index];

		if ((child && child->linked) ||
		    parent->words[w].values[index] & VIRTIO_PAGODA_PTE_VALID)
			return true;
	}
	return false;
}

static void unmap_block(struct pagoda_batch *batch, struct pagoda_table *parent, u64 va, u64 end)
{
	const struct pagoda_map nothing = { .kind = PAGODA_MAP_INVALID };
	u32 index = pagoda_table_index(parent, va);

	if (!block_is_used(parent, index))
		return;
	if (end - va == PAGODA_BLOCK_BYTES)
		pagoda_block_set(batch, parent, index, 0);
	else
		pagoda_block_write(batch, parent, va, end - va, &nothing, NULL);
}

/* Makes the entries for addresses [@va, @end) in @table, and in the tables below it, invalid. */
static void unmap_range(struct pagoda_batch *batch, struct pagoda_table *table, u64 va, u64 end)
{
	u32 shift = pagoda_table_shift(table);
	u64 next;

	for (; va < end; va = next) {
		u32 index = pagoda_table_index(table, va);
		struct pagoda_table *child;

		if (index >= table->nr_entries)
			return;
		next = min(end, round_down(va, 1ull << shift) + (1ull << shift));
		if (table->level == 1) {
			unmap_block(batch, table, va, next);
			continue;
		}
		child = table->words[0].children[index];
		if (child && child->linked)
			unmap_range(batch, child, va, next);
	}
}

/*
 * Makes all entries for a range of addresses invalid, and unlinks the leaf tables of whole 2 MiB
 * blocks. The range's records stay, and tables left unlinked or empty stay until
 * pagoda_batch_prune().
 */
void pagoda_range_unmap(struct pagoda_batch *batch, u64 va, u64 size)
{
	if (batch->space->root)
		unmap_range(batch, batch->space->root, va, va + size);
}

/* Sets the page-table entries and the records of @map's range of addresses to what @map maps. */
void pagoda_map_apply(struct pagoda_batch *batch, const struct pagoda_map *map)
{
	struct pagoda_space *space = batch->space;
	const struct pagoda_record record = {
		.va = map->va,
		.size = map->size,
		.allocation = map->allocation,
		.allocation_offset = map->allocation_offset,
		.window = map->window,
		.first = map->first,
		.driver_protection = map->driver_protection,
	};

	/*
	 * Change entries before records: if a large page is split, its 4 KiB entries get the
	 * DriverProtection of the page's record, which the map is about to cut.
	 */
	if (map->kind != PAGODA_MAP_INVALID)
		map_blocks(batch, map);
	else
		pagoda_range_unmap(batch, map->va, map->size);
	pagoda_records_remove(space, map->va, map->size, &batch->update->records);
	if (map->kind == PAGODA_MAP_MEMORY)
		pagoda_records_insert(space, &record, &batch->update->records);
}

static void invalidate_leaf(struct pagoda_batch *batch, struct pagoda_table *table, u64 va,
			    u64 end)
{
	u32 index = pagoda_table_index(table, va);

	for (; pagoda_table_entry_va(table, index) < end && index < table->nr_entries; index++)
		pagoda_word_set(batch, table, 0, index, 0, false);
}

static void invalidate_range(struct pagoda_batch *batch, struct pagoda_table *table, u64 va,
			     u64 end)
{
	u32 shift = pagoda_table_shift(table), w;
	u64 next;

	if (!table->level) {
		invalidate_leaf(batch, table, va, end);
		return;
	}
	for (; va < end; va = next) {
		u32 index = pagoda_table_index(table, va);
		struct pagoda_table *child = NULL;

		if (index >= table->nr_entries)
			return;
		next = min(end, round_down(va, 1ull << shift) + (1ull << shift));
		for (w = 0; w < pagoda_table_nr_words(table); w++) {
			child = table->words[w].children[index];
			if (child && child->linked)
				invalidate_range(batch, child, va, next);
			else
				pagoda_word_set(batch, table, w, index, 0, false);
		}
	}
}

/* Makes all entries for a range of whole mappings invalid. The range's tables and records stay. */
void pagoda_range_invalidate(struct pagoda_batch *batch, u64 va, u64 size)
{
	if (batch->space->root)
		invalidate_range(batch, batch->space->root, va, va + size);
}

/*
 * Takes @table out of the tree of tables, for finish to free; if @table is linked, the parent's
 * entry becomes invalid.
 */
static void table_drop(struct pagoda_batch *batch, struct pagoda_table *table)
{
	struct pagoda_table *parent = table->parent;
	u32 index = pagoda_table_index(parent, table->va), w = pagoda_table_word(table);

	if (parent->words[w].children[index] == table)
		parent->words[w].children[index] = NULL;
	parent->nr_children--;
	if (table->linked)
		pagoda_word_set(batch, parent, w, index, 0, false);
	table->linked = false;
	table->dropped = true;
	if (!table->resident)
		batch->space->nr_absent--;
	pagoda_batch_touch(batch, parent);
}

/*
 * Drops the tables of @batch, except a root, that no parent's entry links any more and, with
 * @empty_ones, those with neither valid entries nor child tables. Leaf tables come first, because
 * dropping a table adds the table's parent to @batch.
 */
void pagoda_batch_prune(struct pagoda_batch *batch, bool empty_ones)
{
	struct pagoda_table *table;
	u32 level;

	for (level = 0; level < PAGODA_PT_LEVELS; level++)
		list_for_each_entry(table, &batch->work[level], work)
			if (table->parent && !table->dropped &&
			    (!table->linked ||
			     (empty_ones && !table->nr_valid && !table->nr_children)))
				table_drop(batch, table);
}
