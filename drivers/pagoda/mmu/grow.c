// SPDX-License-Identifier: GPL-2.0
/*
 * Parts of the prepare step of a change of page tables: adds tables that commit may need to the
 * tree of tables, makes or resizes the root, and counts an upper bound of the operations that
 * commit emits.
 */
#include <linux/slab.h>

#include "internal.h"

/* Operations that a range within a 2 MiB block may take in addition to one: one at each end. */
#define PIECES		2
/*
 * Operations that a range within a 2 MiB block may take in addition to one, with dual PTEs, where
 * the entries of neighbouring 64 KiB may be in different tables.
 */
#define PIECES_DUAL	(4 * (VIRTIO_PAGODA_PT_ENTRIES_64K + 2))

/*
 * Adds to the update's bound of operations: those that write @entries consecutive entries, and
 * @more that write one entry each.
 */
void pagoda_update_count(struct pagoda_pt_update *update, u32 entries, u32 more)
{
	update->ops[min_t(u32, entries, VIRTIO_PAGODA_PT_ENTRIES)] +=
		DIV_ROUND_UP(entries, VIRTIO_PAGODA_PT_ENTRIES);
	update->ops[1] += more;
}

/* Returns how many operations a range within a 2 MiB block may take in addition to one. */
u32 pagoda_update_pieces(const struct pagoda_pt_update *update)
{
	return pagoda_mmu_is_dual(update->space->mmu) ? PIECES_DUAL : PIECES;
}

/* Adds @nr to &pagoda_pt_update.windows: a table that changes takes one, a large root several. */
void pagoda_update_count_tables(struct pagoda_pt_update *update, u32 nr)
{
	update->windows += nr;
}

static u32 space_levels(const struct pagoda_space *space)
{
	return space->mmu->args.limits->pt_levels;
}

/* ---- Adding tables to the tree of page tables ------------------------------ */

/*
 * Adds @table to the space's tree of tables: if @twin_of isn't NULL, as the 4 KiB table by which
 * commit may replace 64 KiB table @twin_of; else below @parent; as the root if @parent is NULL,
 * too.
 */
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

/*
 * Makes a table of the level below @parent for @va, with memory, adds the table to the tree of
 * tables, and counts its operations. The table becomes &pagoda_table.twin of 64 KiB table @twin_of,
 * or is below @parent if @twin_of is NULL. Returns 0, -ENOMEM or the error of table_alloc(). Takes
 * the space's lock.
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

/*
 * Sets *@parent to the level-1 table of @va. Makes this table and those between it and the root,
 * which exists, if they are missing; makes no level-0 table. Returns 0, -ENOMEM or the error of
 * table_alloc(). Takes the space's lock.
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
	/*
	 * Count first updates (C90), links and last updates (C91) of the tables from the root to
	 * @table once for calls in a row with the same level-1 table, because a batch writes each
	 * entry above once.
	 */
	if (update->path != table) {
		pagoda_update_count(update, 0, 6 * space_levels(update->space));
		pagoda_update_count_tables(update, space_levels(update->space));
	}
	update->path = table;
	*parent = table;
	return 0;
}

/* ---- Making the root table larger ------------------------------------------ */

/* Returns the number of root entries up to the last that has a value or a child table. */
static u32 root_used(const struct pagoda_table *root)
{
	u32 nr = root->nr_entries, w;

	for (; nr; nr--)
		for (w = 0; w < pagoda_table_nr_words(root); w++)
			if (root->words[w].values[nr - 1] || root->words[w].children[nr - 1])
				return nr;
	return 0;
}

/* Returns the number of root entries that the maps and copies of the update need. */
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

/*
 * Returns the number of entries that the root shall have: with two levels a power of two, at least
 * VIRTIO_PAGODA_PT_ENTRIES, that suffices for @need entries and for those in use; with more levels
 * a constant.
 */
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

	/* Words come last: enlarged words couldn't be undone if table_alloc() failed. */
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

/* Counts the table windows that the root takes in its old and in its new memory. */
void pagoda_update_count_root(struct pagoda_pt_update *update)
{
	const struct pagoda_table *root = update->space->root;
	u32 bytes;

	if (!root)
		return;
	bytes = pagoda_table_bytes(root->space->mmu, root->level, root->room);
	pagoda_update_count_tables(update, 2 * DIV_ROUND_UP(bytes, PAGODA_TABLE_WINDOW_BYTES));
}

/*
 * Makes the root if the update's maps and copies need a root, or prepares to resize the root. With
 * two levels the root grows as needed; a resident root shrinks if a quarter of its entries would
 * do, ignoring errors. Returns 0, -ENOMEM or the error of table_alloc(). Takes the space's lock.
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
