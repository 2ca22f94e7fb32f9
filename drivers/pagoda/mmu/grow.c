// SPDX-License-Identifier: GPL-2.0
/*
 * What a prepare adds to the tree: tables on the way to a block, and the root; and the
 * count of what commit may emit, from above.
 */
#include <linux/slab.h>

#include "internal.h"

/* Entries that the operations of one piece may fall into, besides those it writes. */
#define PIECES		2
/* The same with dual PTEs, where chunks of a block alternate between two tables. */
#define PIECES_DUAL	(4 * (VIRTIO_PAGODA_PT_ENTRIES_64K + 2))

/**
 * pagoda_update_count() - Add what commit may emit
 * @update: The update
 * @entries: Entries that are written in a row; a table's worth is one operation
 * @more: Operations of one entry besides
 */
void pagoda_update_count(struct pagoda_pt_update *update, u32 entries, u32 more)
{
	update->ops[min_t(u32, entries, VIRTIO_PAGODA_PT_ENTRIES)] +=
		DIV_ROUND_UP(entries, VIRTIO_PAGODA_PT_ENTRIES);
	update->ops[1] += more;
}

/**
 * pagoda_update_pieces() - Operations that the ends of a piece may take
 * @update: The update
 *
 * Return: their number.
 */
u32 pagoda_update_pieces(const struct pagoda_pt_update *update)
{
	return pagoda_mmu_is_dual(update->space->mmu) ? PIECES_DUAL : PIECES;
}

/**
 * pagoda_update_count_tables() - Add tables that show in windows; the root may take many
 * @update: The update
 * @nr: Windows
 */
void pagoda_update_count_tables(struct pagoda_pt_update *update, u32 nr)
{
	update->windows += nr;
}

static u32 space_levels(const struct pagoda_space *space)
{
	return space->mmu->args.limits->pt_levels;
}

/* The tables above a block: first updates, links, last updates. */
static void update_count_path(struct pagoda_pt_update *update)
{
	u32 levels = space_levels(update->space);

	pagoda_update_count(update, 0, 6 * levels);
	pagoda_update_count_tables(update, levels);
}

/* ---- Tables ---------------------------------------------------------------- */

/* Hangs a table with memory into the tree: below @parent, as root, or as a twin. */
static void update_hang(struct pagoda_pt_update *update, struct pagoda_table *table,
			struct pagoda_table *parent, struct pagoda_table *twin_of)
{
	struct pagoda_space *space = update->space;

	mutex_lock(&space->lock);
	table->parent = parent;
	table->fresh = true;
	list_add(&table->link, &space->tables);
	list_add(&table->work, &update->fresh);
	if (twin_of) {
		twin_of->twin = table;
	} else if (parent) {
		parent->words[pagoda_table_word(table)]
			.children[pagoda_table_index(parent, table->va)] = table;
		parent->nr_children++;
	} else {
		space->root = table;
	}
	mutex_unlock(&space->lock);
}

/**
 * pagoda_update_make_table() - Hang a new table into the tree
 * @update: The update
 * @parent: Table above
 * @va: An address that it translates
 * @is_64k: It is a 64 KiB table
 * @twin_of: Table that it shall replace, or NULL
 *
 * Context: may sleep, takes the space's lock.
 * Return: 0, -ENOMEM or what table_alloc() answered.
 */
int pagoda_update_make_table(struct pagoda_pt_update *update, struct pagoda_table *parent,
			     u64 va, bool is_64k, struct pagoda_table *twin_of)
{
	u32 level = parent->level - 1, nr = is_64k ? VIRTIO_PAGODA_PT_ENTRIES_64K :
						     VIRTIO_PAGODA_PT_ENTRIES;
	struct pagoda_table *table;
	int ret;

	va = round_down(va, 1ull << pagoda_level_shift(parent->level));
	table = pagoda_table_create(update->space, level, is_64k, va, nr);
	if (!table)
		return -ENOMEM;
	ret = pagoda_table_get_memory(table, nr);
	if (ret) {
		pagoda_table_destroy(table);
		return ret;
	}
	update_hang(update, table, parent, twin_of);
	pagoda_update_count(update, 0, 4);
	return 0;
}

/**
 * pagoda_update_path() - Level-1 table of a block; makes what is missing on the way
 * @update: The update; the space has a root
 * @va: An address of the block
 * @parent: Out: the table
 *
 * Context: may sleep, takes the space's lock.
 * Return: 0, -ENOMEM or what table_alloc() answered.
 */
int pagoda_update_path(struct pagoda_pt_update *update, u64 va, struct pagoda_table **parent)
{
	struct pagoda_table *table = update->space->root, *child;
	int ret;

	while (table->level > 1) {
		child = table->words[0].children[pagoda_table_index(table, va)];
		if (!child) {
			ret = pagoda_update_make_table(update, table, va, false, NULL);
			if (ret)
				return ret;
			child = table->words[0].children[pagoda_table_index(table, va)];
		}
		table = child;
	}
	/* Once for all pieces in a row: what is above them is written once in a batch. */
	if (update->path != table)
		update_count_path(update);
	update->path = table;
	*parent = table;
	return 0;
}

/* ---- The root -------------------------------------------------------------- */

static u32 root_used(const struct pagoda_table *root)
{
	u32 nr = root->nr_entries, w;

	for (; nr; nr--)
		for (w = 0; w < pagoda_table_nr_words(root); w++)
			if (root->words[w].values[nr - 1] || root->words[w].children[nr - 1])
				return nr;
	return 0;
}

/* Entries of the root that the maps of the update need. */
static u64 root_needed(const struct pagoda_pt_update *update)
{
	u32 shift = pagoda_level_shift(space_levels(update->space) - 1), i;
	u64 need = 0;

	for (i = 0; i < update->nr_maps; i++)
		if (update->maps[i].kind != PAGODA_MAP_INVALID)
			need = max(need, ((update->maps[i].va + update->maps[i].size - 1) >> shift)
					 + 1);
	for (i = 0; i < update->nr_copies; i++)
		need = max(need, ((max(update->copies[i].src, update->copies[i].dst) +
				   update->copies[i].size - 1) >> shift) + 1);
	return need;
}

/* Entries the root shall have, for what is there and what comes. */
static u32 root_wanted(const struct pagoda_space *space, u64 need)
{
	const struct pagoda_paging_limits *limits = space->mmu->args.limits;
	u32 top = limits->va_bits - pagoda_level_shift(space_levels(space) - 1);

	if (space_levels(space) > 2)
		return 1u << min_t(u32, top, VIRTIO_PAGODA_PT_INDEX_BITS);
	if (space->root)
		need = max_t(u64, need, root_used(space->root));
	return max_t(u64, roundup_pow_of_two(need), VIRTIO_PAGODA_PT_ENTRIES);
}

static int root_make(struct pagoda_pt_update *update, u32 entries)
{
	struct pagoda_space *space = update->space;
	struct pagoda_table *root;
	int ret;

	root = pagoda_table_create(space, space_levels(space) - 1, false, 0, entries);
	if (!root)
		return -ENOMEM;
	ret = pagoda_table_get_memory(root, entries);
	if (ret) {
		pagoda_table_destroy(root);
		return ret;
	}
	update_hang(update, root, NULL, NULL);
	return 0;
}

static int root_resize(struct pagoda_pt_update *update, u32 entries)
{
	struct pagoda_table *root = update->space->root;
	int ret;

	/* The books last: they stay wide until the space is gone. */
	ret = pagoda_table_get_memory(root, entries);
	if (ret)
		return ret;
	ret = pagoda_table_widen(root, entries);
	if (ret) {
		root->has_next = false;
		pagoda_table_put_memory(update->space, &root->next, NULL);
		return ret;
	}
	update->root_entries = entries;
	pagoda_update_count(update, entries, 4 + 2 * (root->nr_valid + root->nr_children) +
		     4 * pagoda_records_count(update->space, 0, U64_MAX));
	return 0;
}

/**
 * pagoda_update_count_root() - Add windows that the root shows in
 * @update: The update
 */
void pagoda_update_count_root(struct pagoda_pt_update *update)
{
	const struct pagoda_table *root = update->space->root;
	u32 bytes;

	if (!root)
		return;
	bytes = pagoda_table_bytes(root->space->mmu, root->level, root->room);
	pagoda_update_count_tables(update, 2 * DIV_ROUND_UP(bytes, PAGODA_TABLE_WINDOW_BYTES));
}

/**
 * pagoda_update_root() - Make or resize the root
 * @update: The update, with its maps and copies
 *
 * With two levels only it grows to what is needed, and shrinks when a quarter would do;
 * without memory for that it stays as it is.
 *
 * Context: may sleep, takes the space's lock.
 * Return: 0, -ENOMEM or what table_alloc() answered.
 */
int pagoda_update_root(struct pagoda_pt_update *update)
{
	struct pagoda_table *root = update->space->root;
	u64 need = root_needed(update);
	u32 entries;
	int ret = 0;

	if (!root && !need)
		return 0;
	entries = root_wanted(update->space, need);
	if (!root)
		ret = root_make(update, entries);
	else if (entries > root->nr_entries)
		ret = root_resize(update, entries);
	else if (entries <= root->nr_entries / 4 && root->resident)
		root_resize(update, entries);
	pagoda_update_count_root(update);
	return ret;
}
