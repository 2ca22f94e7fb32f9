// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces: creation, destruction, locking, queries, and the changes without a prepare phase:
 * invalidation of whole mappings, eviction of tables, taking the root from the device.
 */
#include <linux/slab.h>

#include "internal.h"

/**
 * pagoda_space_create() - Make an address space
 * @mmu: Page tables of the device
 * @id: Number of the space for the device, not 0
 * @data: The owner's data, an argument of functions in &struct pagoda_mmu_ops
 *
 * The space has no table until something is mapped.
 *
 * Context: may sleep.
 * Return: the space, ERR_PTR(-ENOMEM) or ERR_PTR(-EINVAL) for a number the device doesn't
 *	support.
 */
struct pagoda_space *pagoda_space_create(struct pagoda_mmu *mmu, u32 id, void *data)
{
	struct pagoda_space *space;

	if (!id || id >= mmu->args.limits->max_address_spaces)
		return ERR_PTR(-EINVAL);
	space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	if (!space)
		return ERR_PTR(-ENOMEM);
	space->mmu = mmu;
	space->id = id;
	space->data = data;
	space->records = RB_ROOT;
	mutex_init(&space->lock);
	INIT_LIST_HEAD(&space->tables);
	return space;
}

/**
 * pagoda_space_destroy() - Undo pagoda_space_create()
 * @space: Space without jobs and operations in flight, and without an update under way
 *
 * Remaining tables are freed without an update that makes their entries invalid: unless the device
 * is lost, the caller has closed the space by pagoda_space_prepare_close().
 *
 * Context: may sleep, calls table_free() and, if the device has a root of the space, set_root().
 */
void pagoda_space_destroy(struct pagoda_space *space)
{
	struct pagoda_table *table, *next;

	pagoda_space_detach(space);
	list_for_each_entry_safe(table, next, &space->tables, link) {
		list_del_init(&table->link);
		pagoda_table_leave(table, NULL);
	}
	pagoda_records_clear(space);
	mutex_destroy(&space->lock);
	kfree(space);
}

/**
 * pagoda_space_lock() - Lock the tables of a space
 * @space: Space
 *
 * Context: may sleep.
 */
void pagoda_space_lock(struct pagoda_space *space)
{
	mutex_lock(&space->lock);
}

void pagoda_space_unlock(struct pagoda_space *space)
{
	mutex_unlock(&space->lock);
}

/* ---- Making mappings of a space invalid ------------------------------------ */

/* Returns an upper bound of the operations that invalidate [@va, @end) in a leaf table. */
static u32 invalidate_count_leaf(const struct pagoda_table *table, u64 va, u64 end)
{
	u32 last = min(pagoda_table_index(table, end - 1) + 1, table->nr_entries), i;
	const u64 *values = table->words[0].values;
	bool before = false;
	u32 runs = 0;

	/*
	 * Mappings of zeros have no record: each sequence of words that aren't 0 may take an
	 * operation.
	 */
	for (i = pagoda_table_index(table, va); i < last; i++) {
		runs += values[i] && !before;
		before = values[i];
	}
	return runs + 2 * pagoda_records_count(table->space, va, end - va);
}

/*
 * Adds to *@ops and *@windows upper bounds of the operations and table windows that invalidating
 * addresses [@va, @end) takes in @table and below.
 */
static void invalidate_count(struct pagoda_table *table, u64 va, u64 end, u32 *ops, u32 *windows)
{
	u32 shift = pagoda_table_shift(table), index, w;
	u64 start, next;

	++*windows;
	if (!table->level) {
		*ops += invalidate_count_leaf(table, va, end);
		return;
	}
	for (start = va; start < end; start = next) {
		index = pagoda_table_index(table, start);
		if (index >= table->nr_entries)
			return;
		next = min(end, round_down(start, 1ull << shift) + (1ull << shift));
		for (w = 0; w < pagoda_table_nr_words(table); w++) {
			struct pagoda_table *child = table->words[w].children[index];

			if (child && child->linked)
				invalidate_count(child, start, next, ops, windows);
			else if (table->words[w].values[index])
				++*ops;
		}
	}
}

static u32 root_windows(const struct pagoda_space *space)
{
	if (!space->root)
		return 0;
	return DIV_ROUND_UP(space->root->memory.size, PAGODA_TABLE_WINDOW_BYTES);
}

/**
 * pagoda_space_invalidate_cost() - Upper bound of the cost of pagoda_space_invalidate()
 * @space: Space
 * @va: First address
 * @size: Bytes
 * @buffer_size: Bytes of the smallest buffer that the transaction may get
 *
 * Context: the space's lock is held, until the transaction is over.
 * Return: upper bounds.
 */
struct pagoda_paging_cost pagoda_space_invalidate_cost(struct pagoda_space *space, u64 va,
						       u64 size, u32 buffer_size)
{
	u32 ops[2] = {}, windows;

	lockdep_assert_held(&space->lock);
	windows = root_windows(space);
	if (space->root)
		invalidate_count(space->root, va, va + size, &ops[1], &windows);
	return pagoda_cost_batch(space->mmu, ops, ARRAY_SIZE(ops) - 1, windows, buffer_size);
}

/**
 * pagoda_space_invalidate() - Make all mappings of a range invalid
 * @space: Space
 * @va: First address
 * @size: Bytes: one or several whole mappings
 * @emit: Where operations go, in a transaction begun with pagoda_space_invalidate_cost()
 *
 * Emits nothing if no mapping is valid; else the last operation is a flush, unless the device has
 * no root of the space. From that flush on accesses fault until the range is mapped again. No table
 * is freed.
 *
 * Context: the space's lock is held since before the transaction. Doesn't allocate.
 */
void pagoda_space_invalidate(struct pagoda_space *space, u64 va, u64 size,
			     const struct pagoda_emit *emit)
{
	struct pagoda_batch batch;

	lockdep_assert_held(&space->lock);
	pagoda_batch_init(&batch, space, NULL);
	pagoda_range_invalidate(&batch, va, size);
	pagoda_batch_emit_tables(&batch, emit);
	pagoda_batch_emit_flush(&batch, emit);
}

/* ---- Eviction of tables ----------------------------------------------------- */

/**
 * pagoda_space_evict_cost() - Upper bound of the cost of pagoda_space_evict_table()
 * @space: Space
 * @buffer_size: Bytes of the smallest buffer that the transaction may get
 *
 * Context: the space's lock is held, until the transaction is over.
 * Return: upper bounds.
 */
struct pagoda_paging_cost pagoda_space_evict_cost(struct pagoda_space *space, u32 buffer_size)
{
	/*
	 * Enough: one operation for each word of an entry, at most two, makes the table's entries
	 * invalid, and one sets the parent's entry.
	 */
	const u32 ops[2] = { 0, 6 };

	lockdep_assert_held(&space->lock);
	return pagoda_cost_batch(space->mmu, ops, ARRAY_SIZE(ops) - 1,
				 4 + 2 * root_windows(space), buffer_size);
}

static struct pagoda_table *space_find(struct pagoda_space *space, const void *cookie)
{
	struct pagoda_table *table;

	list_for_each_entry(table, &space->tables, link)
		if (table->resident && table->memory.cookie == cookie)
			return table;
	return NULL;
}

/**
 * pagoda_space_evict_table() - Take the memory from a table
 * @space: Space of which no job executes; detached from the device if the table is the root
 * @cookie: The owner's cookie of the memory; nothing happens if no resident table has it
 * @emit: Where operations go, in a transaction begun with pagoda_space_evict_cost()
 *
 * The owner may use the memory once the emitted operations have been executed; table_free()
 * isn't called.
 *
 * Context: the space's lock is held since before the transaction. Doesn't allocate.
 */
void pagoda_space_evict_table(struct pagoda_space *space, void *cookie,
			      const struct pagoda_emit *emit)
{
	struct pagoda_table *table = space_find(space, cookie);
	struct pagoda_batch batch;

	lockdep_assert_held(&space->lock);
	pagoda_batch_init(&batch, space, NULL);
	if (!table || WARN_ON(!table->parent && space->attached))
		return;
	pagoda_emit_last(table, &table->memory, table->nr_entries, emit);
	pagoda_mmu_unregister(space->mmu, &table->memory);
	table->resident = false;
	space->nr_absent++;
	if (!table->parent)
		return;
	pagoda_table_link(&batch, table);
	pagoda_batch_emit_tables(&batch, emit);
	pagoda_batch_emit_flush(&batch, emit);
}

/**
 * pagoda_space_is_resident() - Test whether all tables of a space are resident
 * @space: Space
 *
 * Context: may sleep, takes the space's lock.
 * Return: true if all tables are resident and none is stale; contexts of the space can't run
 *	otherwise.
 */
bool pagoda_space_is_resident(struct pagoda_space *space)
{
	return !pagoda_space_nr_absent(space) && !pagoda_space_is_stale(space);
}

/**
 * pagoda_space_is_stale() - Test whether the tables of a space have to be rebuilt
 * @space: Space
 *
 * Context: may sleep, takes the space's lock.
 * Return: true from pagoda_space_forget(), if the space had tables, until the commit of
 *	pagoda_space_prepare_rebuild().
 */
bool pagoda_space_is_stale(struct pagoda_space *space)
{
	bool stale;

	mutex_lock(&space->lock);
	stale = space->stale;
	mutex_unlock(&space->lock);
	return stale;
}

/* Returns the number of evicted tables of a space. May sleep, takes the space's lock. */
u32 pagoda_space_nr_absent(struct pagoda_space *space)
{
	u32 absent;

	mutex_lock(&space->lock);
	absent = space->nr_absent;
	mutex_unlock(&space->lock);
	return absent;
}

/**
 * pagoda_space_detach() - Take the root from the device, so that the root can be evicted
 * @space: Space; no job of the space executes until a restore was finished, and no operation for
 *	the space is in flight: a flush names the root, and the device refuses a wrong root
 *
 * Does nothing if the device can't have a root of the space.
 *
 * Context: may sleep, calls set_root(), and so outside a transaction; the space's lock may be
 *	held. Updates of the space are kept out.
 */
void pagoda_space_detach(struct pagoda_space *space)
{
	const struct pagoda_root none = {};

	if (space->attached || space->stale)
		space->mmu->args.ops->set_root(space->mmu->args.owner, space->id, &none);
	space->attached = false;
}

/**
 * pagoda_space_forget() - Note that the device has lost the root and the tables of a space
 * @space: Space
 *
 * No FLUSH_TLB of the space is emitted until an update, such as the rebuild, sets the root again.
 * The owner has the tables rebuilt before any other update of the space, except one that closes the
 * space, and before a context of the space runs. Invalidations, and evictions of tables, may come
 * before.
 *
 * Context: may sleep, takes the space's lock.
 */
void pagoda_space_forget(struct pagoda_space *space)
{
	mutex_lock(&space->lock);
	space->attached = false;
	space->stale = space->root;
	mutex_unlock(&space->lock);
}

/* ---- Queries about an address space ----------------------------------------- */

/*
 * Sets *@entry to the entry for @va, valid or not, of the lowest linked table that covers @va, and
 * *@page_size to the bytes that the entry covers; as in the device, an entry of a 64 KiB table that
 * isn't 0 comes before one of a 4 KiB table. Returns whether the entry is valid, as an entry that
 * maps zeros is, too; false with *@entry and *@page_size unchanged if no table covers @va.
 */
static bool space_walk(const struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size)
{
	const struct pagoda_table *table = space->root, *next;
	u32 index, w;

	lockdep_assert_held(&space->lock);
	while (table && va < pagoda_table_end(table)) {
		index = pagoda_table_index(table, va);
		*entry = table->words[0].values[index];
		*page_size = 1ull << pagoda_table_shift(table);
		for (next = NULL, w = 0; table->level && w < pagoda_table_nr_words(table); w++) {
			const struct pagoda_table *child = table->words[w].children[index];

			if (!child || !child->linked)
				continue;
			if (!next || child->words[0].values[pagoda_table_index(child, va)])
				next = child;
		}
		if (!next)
			return *entry & VIRTIO_PAGODA_PTE_VALID;
		table = next;
	}
	return false;
}

/**
 * pagoda_space_lookup() - Look up the translation of an address
 * @space: Space
 * @va: Address
 * @entry: Set to the hardware entry, valid or not, of the lowest linked table that covers @va;
 *	unchanged if the space has no table that covers @va
 * @page_size: Set to the bytes that @entry covers; unchanged if @entry is
 *
 * The driver's copies of the tables are read, so that the tables needn't be resident.
 *
 * Context: may sleep, takes the space's lock.
 * Return: true if that entry is valid: @va is mapped to memory, or to zeros (VALID | ZERO); else
 * false.
 */
bool pagoda_space_lookup(struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size)
{
	bool found;

	mutex_lock(&space->lock);
	found = space_walk(space, va, entry, page_size);
	mutex_unlock(&space->lock);
	return found;
}

u32 pagoda_space_id(const struct pagoda_space *space)
{
	return space->id;
}

/* Returns how many bytes of memory the resident tables of @space take. Takes the space's lock. */
u64 pagoda_space_table_bytes(struct pagoda_space *space)
{
	struct pagoda_table *table;
	u64 bytes = 0;

	mutex_lock(&space->lock);
	list_for_each_entry(table, &space->tables, link)
		if (table->resident)
			bytes += table->memory.size;
	mutex_unlock(&space->lock);
	return bytes;
}
