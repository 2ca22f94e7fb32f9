// SPDX-License-Identifier: GPL-2.0
/*
 * Maps into the books, and tables out of them.
 *
 * Nothing here allocates: tables that may be needed hang in the tree since prepare,
 * not linked. What isn't used goes back in finish.
 */
#include "internal.h"

/**
 * pagoda_path_link() - Go down to a block
 * @batch: Changes of an update
 * @va: Address in it
 *
 * Return: its level-1 table, with everything above linked.
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

/* The entry of a large page; the driver's bits are for leaf entries only (C98). */
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

/* Is there anything in a block? */
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

/* Removes what is mapped in [@va, @end), which the table covers; down at most six. */
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

/**
 * pagoda_range_unmap() - Nothing is mapped in a range any more
 * @batch: Changes of an update
 * @va: First address
 * @size: Bytes
 */
void pagoda_range_unmap(struct pagoda_batch *batch, u64 va, u64 size)
{
	if (batch->space->root)
		unmap_range(batch, batch->space->root, va, va + size);
}

/**
 * pagoda_map_apply() - A range becomes what a map says
 * @batch: Changes of an update
 * @map: The map, which prepare has seen
 */
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

	/* A large page that is split asks the records what it was. */
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

/**
 * pagoda_range_invalidate() - What is mapped in a range becomes invalid
 * @batch: Changes
 * @va: First address
 * @size: Bytes; whole mappings
 *
 * Tables and records stay.
 */
void pagoda_range_invalidate(struct pagoda_batch *batch, u64 va, u64 size)
{
	if (batch->space->root)
		invalidate_range(batch, batch->space->root, va, va + size);
}

/* Takes a table out of the tree; its parent's word was or is now changed. */
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

/**
 * pagoda_batch_prune() - Tables that hold nothing any more leave
 * @batch: Changes of an update, all of them made
 * @empty_ones: Also those that hold nothing, not only those that were replaced
 *
 * Only tables that were touched are looked at, from the leaves up: a parent whose
 * last table goes is touched by that.
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
