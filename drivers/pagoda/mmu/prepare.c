// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a space, first part: the prepare phase. grow.c makes the tables, update.c has the
 * other phases.
 *
 * Prepare walks the tables, adds every table that commit may need to the tree of tables, not linked
 * by a parent's entry and so invisible to the device, and reserves records. Tables and records that
 * commit doesn't use are freed by finish, or all by abort. Prepare also counts an upper bound of
 * the operations that commit emits.
 *
 * Only prepare, commit and abort change the structure of the tree, and the caller never runs two of
 * them at a time. Prepare takes the space's lock while adding a table, because an invalidation may
 * be walking the tree.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

static struct pagoda_pt_update *update_create(struct pagoda_space *space)
{
	struct pagoda_pt_update *update = kzalloc(sizeof(*update), GFP_KERNEL_ACCOUNT);

	if (!update)
		return NULL;
	update->space = space;
	update->counted = U64_MAX;
	update->large_start = U64_MAX;
	INIT_LIST_HEAD(&update->records);
	INIT_LIST_HEAD(&update->fresh);
	INIT_LIST_HEAD(&update->dropped);
	return update;
}

/* ---- Blocks: the 2 MiB of a level-1 entry ---------------------------------- */

/* Returns whether level-1 entry @index of @parent maps its 2 MiB itself, without a leaf table. */
static bool prepare_is_large(const struct pagoda_table *parent, u32 index)
{
	const struct pagoda_table *child = parent->words[0].children[index];

	return parent->words[0].values[index] & VIRTIO_PAGODA_PTE_VALID &&
	       !(child && child->linked);
}

/*
 * Remembers the addresses of @map if it may turn whole 2 MiB blocks into one entry each, for
 * block_was_set().
 */
static void update_note_large(struct pagoda_pt_update *update, const struct pagoda_map *map)
{
	if (map->kind == PAGODA_MAP_INVALID || map->size < PAGODA_BLOCK_BYTES)
		return;
	update->large_start = min(update->large_start, map->va);
	update->large_end = max(update->large_end, map->va + map->size);
}

/*
 * Returns whether one of the first @nr_before maps of @update may turn the 2 MiB block of @va into
 * one entry.
 */
static bool block_was_set(const struct pagoda_pt_update *update, u32 nr_before, u64 va)
{
	u64 start = round_down(va, PAGODA_BLOCK_BYTES);
	u32 i;

	if (start < update->large_start || start + PAGODA_BLOCK_BYTES > update->large_end)
		return false;
	for (i = 0; i < nr_before; i++) {
		const struct pagoda_map *map = &update->maps[i];

		if (map->kind != PAGODA_MAP_INVALID && map->va <= start &&
		    map->va + map->size >= start + PAGODA_BLOCK_BYTES)
			return true;
	}
	return false;
}

/*
 * Makes the 4 KiB table for the 2 MiB block of @va unless there is one. If a 64 KiB table is in its
 * place (without dual PTEs), the new table becomes the twin by which commit replaces the 64 KiB
 * table, and contexts are to be suspended unless the 64 KiB table is new, too. Returns 0, -ENOMEM
 * or the error of table_alloc().
 */
static int block_make_small(struct pagoda_pt_update *update, struct pagoda_table *parent, u64 va)
{
	struct pagoda_table *table = parent->words[0].children[pagoda_table_index(parent, va)];

	if (!table)
		return pagoda_update_make_table(update, parent, va, false, NULL);
	if (!table->is_64k || table->twin)
		return 0;
	update->suspended |= !table->fresh;
	return pagoda_update_make_table(update, parent, va, false, table);
}

static int block_make_large(struct pagoda_pt_update *update, struct pagoda_table *parent, u64 va)
{
	u32 w = pagoda_mmu_is_dual(update->space->mmu);

	if (parent->words[w].children[pagoda_table_index(parent, va)])
		return 0;
	return pagoda_update_make_table(update, parent, va, true, NULL);
}

static bool map_is_64k(const struct pagoda_map *map, const struct pagoda_map_place *place,
		       const struct pagoda_mmu *mmu, u64 va, u64 size)
{
	if (map->kind == PAGODA_MAP_MEMORY)
		return pagoda_place_is_64k(place, mmu, va, size);
	return IS_ALIGNED(va | size, PAGODA_CHUNK_BYTES);
}

/*
 * Without dual PTEs: makes the leaf table that commit needs for @size bytes of @map at @va, and for
 * what the rest of the 2 MiB block maps, unless there is such a table or no table is needed.
 * @spread: at commit a single entry may map the block, of which only a part changes. Returns 0,
 * -ENOMEM or the error of table_alloc().
 */
static int block_prepare_single(struct pagoda_pt_update *update, struct pagoda_table *parent,
				u64 va, u64 size, const struct pagoda_map *map,
				const struct pagoda_map_place *place, bool spread)
{
	struct pagoda_mmu *mmu = update->space->mmu;
	struct pagoda_table *table = parent->words[0].children[pagoda_table_index(parent, va)];

	if (!table && !spread && map->kind == PAGODA_MAP_INVALID)
		return 0;
	if (spread || !map_is_64k(map, place, mmu, va, size))
		return block_make_small(update, parent, va);
	if (table)
		return 0;
	/* Without a leaf table zeros get a 4 KiB table even where 64 KiB entries would do. */
	if (map->kind != PAGODA_MAP_MEMORY)
		return block_make_small(update, parent, va);
	return block_make_large(update, parent, va);
}

/*
 * With dual PTEs: sets *@small if the range needs a table of 4 KiB entries, *@large if the range
 * needs a table of 64 KiB entries, and *@cut if the range covers only a part of a 64 KiB chunk;
 * clears none of the three.
 */
static void block_chunks(const struct pagoda_mmu *mmu, u64 va, u64 size,
			 const struct pagoda_map *map, const struct pagoda_map_place *from,
			 bool *small, bool *large, bool *cut)
{
	struct pagoda_map_place place = *from;
	u64 end = va + size, next;

	for (; va < end; va = next) {
		bool memory = map->kind == PAGODA_MAP_MEMORY;

		next = min(end, round_down(va, PAGODA_CHUNK_BYTES) + PAGODA_CHUNK_BYTES);
		if (next - va != PAGODA_CHUNK_BYTES)
			*cut = true;
		if (memory && pagoda_place_is_64k(&place, mmu, va, next - va))
			*large = true;
		else
			*small |= map->kind != PAGODA_MAP_INVALID;
		if (memory)
			pagoda_place_advance(&place, next - va);
	}
}

static int block_prepare_dual(struct pagoda_pt_update *update, struct pagoda_table *parent,
			      u64 va, u64 size, const struct pagoda_map *map,
			      const struct pagoda_map_place *place, bool spread)
{
	struct pagoda_table *there = parent->words[1].children[pagoda_table_index(parent, va)];
	bool small = spread, large = false, cut = false;
	int ret;

	block_chunks(update->space->mmu, va, size, map, place, &small, &large, &cut);
	if (there && cut) {
		small = true;
		update->suspended |= !there->fresh;
	}
	if (small) {
		ret = block_make_small(update, parent, va);
		if (ret)
			return ret;
	}
	return large ? block_make_large(update, parent, va) : 0;
}

/*
 * Counts operations for all present entries of the 2 MiB block of @va, of which only a part
 * changes: commit may write them again. Consecutive calls for one block count once, because commit
 * writes each entry only once.
 */
static void block_count_present(struct pagoda_pt_update *update, u64 va)
{
	u64 block = round_down(va, PAGODA_BLOCK_BYTES);

	if (block == update->counted)
		return;
	update->counted = block;
	pagoda_update_count(update, VIRTIO_PAGODA_PT_ENTRIES, 4 + 4 *
			    pagoda_records_count(update->space, block, PAGODA_BLOCK_BYTES));
	pagoda_update_count_tables(update, 3);
}

/* Returns an upper bound of how often the repeating window of @map starts anew in @size bytes. */
static u32 piece_wraps(const struct pagoda_map *map, u64 size)
{
	return map->window ? size / map->window + 1 : 0;
}

static int block_prepare(struct pagoda_pt_update *update, u32 which, struct pagoda_table *parent,
			 u64 va, u64 size, const struct pagoda_map_place *place)
{
	const struct pagoda_map *map = &update->maps[which];
	bool spread = size != PAGODA_BLOCK_BYTES &&
		      (prepare_is_large(parent, pagoda_table_index(parent, va)) ||
		       block_was_set(update, which, va));

	pagoda_update_count(update, size >> VIRTIO_PAGODA_PAGE_SHIFT,
			    2 + 2 * pagoda_update_pieces(update) + piece_wraps(map, size));
	if (spread || size != PAGODA_BLOCK_BYTES)
		block_count_present(update, va);
	else
		pagoda_update_count_tables(update, 3);
	if (pagoda_mmu_is_dual(update->space->mmu))
		return block_prepare_dual(update, parent, va, size, map, place, spread);
	return block_prepare_single(update, parent, va, size, map, place, spread);
}

/* Counts the operations that may remove the entries and leaf tables of the 2 MiB block of @va. */
static void block_count_leaving(struct pagoda_pt_update *update,
				const struct pagoda_table *parent, u64 va)
{
	u32 index = pagoda_table_index(parent, va), w;

	for (w = 0; w < pagoda_table_nr_words(parent); w++) {
		if (!parent->words[w].children[index] && !parent->words[w].values[index])
			continue;
		pagoda_update_count(update, 0, 4);
		pagoda_update_count_tables(update, 2);
	}
}

/* ---- Ranges to be mapped or unmapped (struct pagoda_map) ------------------- */

static int map_prepare_blocks(struct pagoda_pt_update *update, u32 which)
{
	const struct pagoda_map *map = &update->maps[which];
	u64 va = map->va, end = va + map->size, next;
	struct pagoda_table *parent = NULL, *last = NULL;
	struct pagoda_map_place place;
	u32 run = 0;
	int ret;

	for (pagoda_place_init(&place, map); va < end; va = next) {
		bool memory = map->kind == PAGODA_MAP_MEMORY, large;

		next = min(end, round_down(va, PAGODA_BLOCK_BYTES) + PAGODA_BLOCK_BYTES);
		ret = pagoda_update_path(update, va, &parent);
		if (ret)
			return ret;
		large = memory ? pagoda_place_is_large(&place, update->space->mmu, next - va) :
				 next - va == PAGODA_BLOCK_BYTES;
		if (!large) {
			ret = block_prepare(update, which, parent, va, next - va, &place);
			if (ret)
				return ret;
		} else {
			block_count_leaving(update, parent, va);
		}
		/* One operation writes adjacent large entries of a table. */
		if (run && (!large || parent != last)) {
			pagoda_update_count(update, run,
					    pagoda_mmu_is_dual(update->space->mmu) * run);
			run = 0;
		}
		run += large;
		last = parent;
		if (memory)
			pagoda_place_advance(&place, next - va);
	}
	pagoda_update_count(update, run, pagoda_mmu_is_dual(update->space->mmu) * run);
	return 0;
}

static int unmap_prepare_block(struct pagoda_pt_update *update, u32 which,
			       struct pagoda_table *parent, u64 va, u64 end)
{
	struct pagoda_map_place nowhere = {};

	block_count_leaving(update, parent, va);
	if (end - va == PAGODA_BLOCK_BYTES)
		return 0;
	return block_prepare(update, which, parent, va, end - va, &nowhere);
}

/*
 * Prepare for unmapping [@va, @end) of map number @which: counts the operations, and makes the 4
 * KiB tables that blocks of which only a part is unmapped need, in the tables that exist at and
 * below @table. Returns 0, -ENOMEM or the error of table_alloc().
 */
static int unmap_prepare(struct pagoda_pt_update *update, u32 which, struct pagoda_table *table,
			 u64 va, u64 end)
{
	u32 shift = pagoda_table_shift(table);
	u64 next;
	int ret = 0;

	pagoda_update_count(update, 0, 6);
	pagoda_update_count_tables(update, 1);
	for (; va < end && !ret; va = next) {
		u32 index = pagoda_table_index(table, va);
		struct pagoda_table *child;

		if (index >= table->room)
			return 0;
		next = min(end, round_down(va, 1ull << shift) + (1ull << shift));
		child = table->words[0].children[index];
		if (table->level == 1)
			ret = unmap_prepare_block(update, which, table, va, next);
		else if (child)
			ret = unmap_prepare(update, which, child, va, next);
	}
	return ret;
}

static int map_prepare(struct pagoda_pt_update *update, u32 which)
{
	const struct pagoda_map *map = &update->maps[which];

	if (map->kind != PAGODA_MAP_INVALID)
		return map_prepare_blocks(update, which);
	if (!update->space->root)
		return 0;
	return unmap_prepare(update, which, update->space->root, map->va, map->va + map->size);
}

static void update_suspend(struct pagoda_pt_update *update)
{
	struct pagoda_space *space = update->space;
	const struct pagoda_mmu_ops *ops = space->mmu->args.ops;

	if (update->root_entries && space->attached)
		update->suspended = true;
	if (update->suspended && ops->suspend)
		ops->suspend(space->mmu->args.owner, space->data);
}

static int update_prepare_maps(struct pagoda_pt_update *update, const struct pagoda_map *maps,
			       u32 nr_maps)
{
	u32 i;
	int ret;

	update->maps = kvmalloc_array(nr_maps, sizeof(*maps), GFP_KERNEL_ACCOUNT);
	if (!update->maps)
		return -ENOMEM;
	memcpy(update->maps, maps, nr_maps * sizeof(*maps));
	update->nr_maps = nr_maps;
	ret = pagoda_records_reserve(&update->records, 2 * nr_maps);
	if (!ret)
		ret = pagoda_update_root(update);
	for (i = 0; i < nr_maps && !ret; i++) {
		ret = map_prepare(update, i);
		update_note_large(update, &maps[i]);
	}
	return ret;
}

/*
 * Last step of every prepare: sets *@out to the update and suspends contexts if necessary, or
 * aborts the update if @ret is an error. Returns @ret.
 */
static int update_ready(struct pagoda_pt_update *update, int ret,
			struct pagoda_pt_update **out)
{
	if (ret) {
		/* suspend() wasn't called yet: keep abort from calling resume(). */
		update->suspended = false;
		pagoda_pt_update_abort(update);
		return ret;
	}
	update_suspend(update);
	*out = update;
	return 0;
}

/**
 * pagoda_space_prepare() - Prepare a change of some ranges
 * @space: Space
 * @maps: Ranges to be mapped or unmapped, in this order; copied, but extents and lists of pages
 *	must stay until commit
 * @nr_maps: Entries of @maps, at least 1
 * @update: Set to the update, for commit or abort
 *
 * Suspends contexts of the space until finish or abort if the change isn't safe while they
 * run (C102): a 64 KiB table may be replaced, a 64 KiB entry may be cut with dual PTEs, or a root
 * that the device has is resized.
 *
 * Context: May sleep, and calls table_alloc(); the space's lock isn't held. The caller
 *	keeps other updates of the space out until finish or abort.
 * Return: 0; -EINVAL for a malformed map, a range that can't be mapped, or memory that doesn't
 *	match the range; -ENOMEM or the error of table_alloc(). After an error no mapping has
 *	changed, and no context is suspended.
 */
int pagoda_space_prepare(struct pagoda_space *space, const struct pagoda_map *maps, u32 nr_maps,
			 struct pagoda_pt_update **update)
{
	struct pagoda_pt_update *new;
	u32 i;

	for (i = 0; i < nr_maps; i++)
		if (pagoda_map_check(space, &maps[i]))
			return -EINVAL;
	if (!nr_maps)
		return -EINVAL;
	new = update_create(space);
	if (!new)
		return -ENOMEM;
	return update_ready(new, update_prepare_maps(new, maps, nr_maps), update);
}

/**
 * pagoda_space_prepare_close() - Prepare the removal of everything in a space
 * @space: Space
 * @update: Set to the update, for commit or abort
 *
 * Commit invalidates every valid entry (C107), then emits updates that make all entries of every
 * resident table invalid; finish takes the root, if set, from the device. Only
 * pagoda_space_destroy() may follow.
 *
 * Context: as pagoda_space_prepare(). No job of the space executes from finish on.
 * Return: 0 or -ENOMEM.
 */
int pagoda_space_prepare_close(struct pagoda_space *space, struct pagoda_pt_update **update)
{
	struct pagoda_pt_update *new = update_create(space);
	struct pagoda_table *root = space->root;
	int ret = 0;

	if (!new)
		return -ENOMEM;
	new->close = true;
	if (root) {
		pagoda_update_count_root(new);
		ret = unmap_prepare(new, 0, root, 0, pagoda_table_end(root));
	}
	return update_ready(new, ret, update);
}

/*
 * Adds to the update's bound of operations those that write @table as a whole, because @table gets
 * new memory or has lost its content.
 */
static void update_count_table(struct pagoda_pt_update *update, const struct pagoda_table *table)
{
	u32 records = pagoda_records_count(update->space, table->va,
					   pagoda_table_end(table) - table->va);

	pagoda_update_count(update, 2 * table->nr_entries, 8 + 4 * records +
		     2 * (table->level ? table->nr_valid + table->nr_children : 0) +
		     pagoda_update_pieces(update));
	pagoda_update_count_tables(update, 2);
}

static int update_prepare_restore(struct pagoda_pt_update *update)
{
	struct pagoda_space *space = update->space;
	struct pagoda_table *table;
	int ret;

	update->restore = true;
	pagoda_update_count_root(update);
	list_for_each_entry(table, &space->tables, link) {
		if (table->resident)
			continue;
		ret = pagoda_table_get_memory(table, table->nr_entries);
		if (ret)
			return ret;
		update_count_table(update, table);
	}
	return 0;
}

/**
 * pagoda_space_prepare_restore() - Allocate memory for tables that were evicted
 * @space: Space
 * @update: Set to the update, for commit or abort
 *
 * Commit writes the tables' entries to the memory and links the tables; finish sets the root if it
 * was evicted.
 *
 * Context: as pagoda_space_prepare().
 * Return: 0, -ENOMEM or the error of table_alloc().
 */
int pagoda_space_prepare_restore(struct pagoda_space *space, struct pagoda_pt_update **update)
{
	struct pagoda_pt_update *new = update_create(space);

	if (!new)
		return -ENOMEM;
	return update_ready(new, update_prepare_restore(new), update);
}

/**
 * pagoda_space_prepare_rebuild() - Prepare to write resident tables again
 * @space: Space whose tables lost their content, after pagoda_space_forget()
 * @update: Set to the update, for commit or abort
 *
 * Tables that are evicted stay evicted.
 *
 * Context: as pagoda_space_prepare().
 * Return: 0 or -ENOMEM.
 */
int pagoda_space_prepare_rebuild(struct pagoda_space *space, struct pagoda_pt_update **update)
{
	struct pagoda_pt_update *new = update_create(space);
	struct pagoda_table *table;

	if (!new)
		return -ENOMEM;
	new->rebuild = true;
	pagoda_update_count_root(new);
	list_for_each_entry(table, &space->tables, link)
		if (table->resident)
			update_count_table(new, table);
	return update_ready(new, 0, update);
}

/*
 * Makes the 4 KiB table that the 2 MiB block of @va needs for a copy to or from the block, and
 * counts the operations that split the block. Contexts are to be suspended if the block has a 64
 * KiB table that this update didn't make.
 */
static int copy_prepare_block(struct pagoda_pt_update *update, u64 va)
{
	struct pagoda_table *parent = NULL;
	u64 block = round_down(va, PAGODA_BLOCK_BYTES);
	u32 index;
	int ret;

	ret = pagoda_update_path(update, va, &parent);
	if (ret)
		return ret;
	index = pagoda_table_index(parent, va);
	if (pagoda_mmu_is_dual(update->space->mmu) && parent->words[1].children[index])
		update->suspended |= !parent->words[1].children[index]->fresh;
	pagoda_update_count(update, VIRTIO_PAGODA_PT_ENTRIES,
			    8 + 2 * pagoda_update_pieces(update) +
			    4 * pagoda_records_count(update->space, block, PAGODA_BLOCK_BYTES));
	pagoda_update_count_tables(update, 3);
	return block_make_small(update, parent, va);
}

static int copy_prepare(struct pagoda_pt_update *update, const struct pagoda_space_copy *copy)
{
	u64 done, step, src, dst;
	int ret;

	for (done = 0; done < copy->size; done += step) {
		src = copy->src + done;
		dst = copy->dst + done;
		step = pagoda_copy_step(copy, done);
		ret = copy_prepare_block(update, src);
		if (!ret)
			ret = copy_prepare_block(update, dst);
		if (ret)
			return ret;
		/* If updates replace COPY_PAGE_TABLE_ENTRIES, each entry may take an update. */
		pagoda_update_count(update, step >> VIRTIO_PAGODA_PAGE_SHIFT,
				    8 + (step >> VIRTIO_PAGODA_PAGE_SHIFT));
		update->ranges++;
	}
	return 0;
}

static int update_prepare_copies(struct pagoda_pt_update *update,
				 const struct pagoda_space_copy *copies, u32 nr_copies)
{
	u32 i, records;
	int ret;

	update->copies = kvmalloc_array(nr_copies, sizeof(*copies), GFP_KERNEL_ACCOUNT);
	if (!update->copies)
		return -ENOMEM;
	memcpy(update->copies, copies, nr_copies * sizeof(*copies));
	update->nr_copies = nr_copies;
	ret = pagoda_update_root(update);
	for (i = 0; i < nr_copies && !ret; i++) {
		ret = copy_prepare(update, &copies[i]);
		/* Earlier copies may give each page of the source its own record. */
		records = copies[i].size >> VIRTIO_PAGODA_PAGE_SHIFT;
		if (nr_copies == 1)
			records = pagoda_records_count(update->space, copies[i].src,
						       copies[i].size);
		if (!ret)
			ret = pagoda_records_reserve(&update->records, records + 1);
	}
	return ret;
}

/**
 * pagoda_space_prepare_copy() - Prepare copies of entries
 * @space: Space
 * @copies: Copies to be made, in this order (C109)
 * @nr_copies: Entries of @copies, at least 1
 * @update: Set to the update, for commit or abort
 *
 * The device copies entries as they are when the operation is executed (C111), except in the cases
 * that struct pagoda_space_copy names. Only 4 KiB entries are copied: larger entries of the 2 MiB
 * blocks in question are split. Commit copies the driver's copy of the entries (words) at once: if
 * the source changes before the device executes the copy, words and table of the destination
 * differ until the caller maps the destination again.
 *
 * Context: as pagoda_space_prepare().
 * Return: 0; -EINVAL for ranges that can't be mapped, -ENOMEM or the error of table_alloc().
 */
int pagoda_space_prepare_copy(struct pagoda_space *space, const struct pagoda_space_copy *copies,
			      u32 nr_copies, struct pagoda_pt_update **update)
{
	struct pagoda_pt_update *new;
	u32 i;

	for (i = 0; i < nr_copies; i++)
		if (pagoda_range_check(space, copies[i].src, copies[i].size) ||
		    pagoda_range_check(space, copies[i].dst, copies[i].size))
			return -EINVAL;
	if (!nr_copies)
		return -EINVAL;
	new = update_create(space);
	if (!new)
		return -ENOMEM;
	return update_ready(new, update_prepare_copies(new, copies, nr_copies), update);
}
