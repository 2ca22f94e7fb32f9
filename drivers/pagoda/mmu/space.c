// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces: creation, destruction, queries, and the changes that need no
 * prepare: invalidation of whole mappings, and tables that are evicted.
 */
#include <linux/slab.h>

#include "internal.h"

/**
 * pagoda_space_create() - Make an address space
 * @mmu: Page tables of the device
 * @id: Number the device knows it by, not 0
 * @data: For the owner's calls
 *
 * It has no table until something is mapped.
 *
 * Context: may sleep.
 * Return: the space, ERR_PTR(-ENOMEM) or ERR_PTR(-EINVAL) for a number the device doesn't
 *	have.
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

static void space_set_no_root(struct pagoda_space *space)
{
	const struct pagoda_root none = {};

	space->mmu->args.ops->set_root(space->mmu->args.owner, space->id, &none);
	space->attached = false;
}

/**
 * pagoda_space_destroy() - Undo pagoda_space_create()
 * @space: Space of which nothing is in flight; no update is under way
 *
 * Tables that are still there go without a last update: pagoda_space_prepare_close()
 * comes before, unless the device is lost.
 *
 * Context: may sleep, calls set_root() and table_free().
 */
void pagoda_space_destroy(struct pagoda_space *space)
{
	struct pagoda_table *table, *next;

	if (space->attached)
		space_set_no_root(space);
	list_for_each_entry_safe(table, next, &space->tables, link) {
		list_del_init(&table->link);
		pagoda_table_leave(table, NULL);
	}
	pagoda_records_clear(space);
	mutex_destroy(&space->lock);
	kfree(space);
}

/**
 * pagoda_space_lock() - Keep others from changing a space's tables
 * @space: Space
 *
 * Context: may sleep.
 */
void pagoda_space_lock(struct pagoda_space *space)
{
	mutex_lock(&space->lock);
}

/**
 * pagoda_space_unlock() - Undo pagoda_space_lock()
 * @space: Space
 */
void pagoda_space_unlock(struct pagoda_space *space)
{
	mutex_unlock(&space->lock);
}

/* ---- Invalidation ---------------------------------------------------------- */

/* Runs of words that aren't zero. */
static u32 words_runs(const struct pagoda_words *words, u32 first, u32 end)
{
	bool before = false;
	u32 runs = 0;

	for (; first < end; first++) {
		runs += words->values[first] && !before;
		before = words->values[first];
	}
	return runs;
}

/* Of a leaf table: what isn't mapped by a record, zeros that is, makes runs of its own. */
static u32 invalidate_count_leaf(const struct pagoda_table *table, u64 va, u64 end)
{
	u32 first = pagoda_table_index(table, va);
	u32 last = pagoda_table_index(table, end - 1);

	return words_runs(&table->words[0], first, min(last + 1, table->nr_entries)) +
	       2 * pagoda_records_count(table->space, va, end - va);
}

/* Operations that invalidate a range of a table, from above. */
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
 * pagoda_space_invalidate_cost() - What invalidating a range can emit at most
 * @space: Space
 * @va: First address
 * @size: Bytes
 * @buffer_size: Bytes of the smallest fresh buffer it will get
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
 * pagoda_space_invalidate() - What is mapped in a range becomes invalid
 * @space: Space
 * @va: First address
 * @size: Bytes: one or several whole mappings
 * @emit: Where operations go, in a transaction begun with the cost of it
 *
 * Accesses fault from the flush on, which is the last operation, until the range is
 * mapped anew. Tables stay.
 *
 * Context: the space's lock is held since before the transaction. Doesn't allocate.
 */
void pagoda_space_invalidate(struct pagoda_space *space, u64 va, u64 size,
			     const struct pagoda_emit *emit)
{
	struct pagoda_batch batch;

	pagoda_batch_init(&batch, space, NULL);
	pagoda_range_invalidate(&batch, va, size);
	pagoda_batch_emit_tables(&batch, emit);
	pagoda_batch_emit_flush(&batch, emit);
}

/* ---- Tables that leave and come back --------------------------------------- */

/**
 * pagoda_space_evict_cost() - What evicting one table can emit at most
 * @space: Space
 * @buffer_size: Bytes of the smallest fresh buffer it will get
 *
 * Context: the space's lock is held, until the transaction is over.
 * Return: upper bounds.
 */
struct pagoda_paging_cost pagoda_space_evict_cost(struct pagoda_space *space, u32 buffer_size)
{
	/* Both words of the last update, and of the parent's entry. */
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
 * pagoda_space_evict_table() - A table loses its memory
 * @space: Space of which nothing executes; a root was detached
 * @cookie: The owner's, of the table's memory; nothing happens if there is no such
 *	table, or it was evicted
 * @emit: Where operations go, in a transaction begun with pagoda_space_evict_cost()
 *
 * The owner may use the memory behind what this emits; it isn't given to table_free().
 *
 * Context: the space's lock is held since before the transaction. Doesn't allocate.
 */
void pagoda_space_evict_table(struct pagoda_space *space, void *cookie,
			      const struct pagoda_emit *emit)
{
	struct pagoda_table *table = space_find(space, cookie);
	struct pagoda_batch batch;

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
 * pagoda_space_is_resident() - Can contexts of the space run?
 * @space: Space
 *
 * Context: may sleep, takes the space's lock.
 * Return: whether all tables are where the device finds them.
 */
bool pagoda_space_is_resident(struct pagoda_space *space)
{
	bool resident;

	mutex_lock(&space->lock);
	resident = !space->nr_absent;
	mutex_unlock(&space->lock);
	return resident;
}

/**
 * pagoda_space_detach() - Take the root from the device, so that it can be evicted
 * @space: Space of which nothing executes, until a restore was finished, and nothing
 *	that was emitted is in flight: a flush names the root, and the device checks it
 *
 * Context: may sleep, calls set_root(); the space's lock may be held. Updates of the
 *	space are kept out.
 * Return: 0 or what set_root() answered.
 */
int pagoda_space_detach(struct pagoda_space *space)
{
	const struct pagoda_root none = {};
	int ret = 0;

	if (space->attached)
		ret = space->mmu->args.ops->set_root(space->mmu->args.owner, space->id, &none);
	if (!ret)
		space->attached = false;
	return ret;
}

/**
 * pagoda_space_forget() - The device doesn't know the space's root any more
 * @space: Space
 *
 * Context: may sleep, takes the space's lock.
 */
void pagoda_space_forget(struct pagoda_space *space)
{
	mutex_lock(&space->lock);
	space->attached = false;
	mutex_unlock(&space->lock);
}

/* ---- What is there --------------------------------------------------------- */

/* The entry that translates @va: the 64 KiB table of a block is looked at first. */
static bool space_walk(const struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size)
{
	const struct pagoda_table *table = space->root, *next;
	u32 index, w;

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
 * pagoda_space_lookup() - What the books say of an address
 * @space: Space
 * @va: Address
 * @entry: Set to the hardware entry that translates it
 * @page_size: Set to the bytes that entry covers
 *
 * Context: may sleep, takes the space's lock.
 * Return: whether it is translated; by tables that may not be resident.
 */
bool pagoda_space_lookup(struct pagoda_space *space, u64 va, u64 *entry, u64 *page_size)
{
	bool found;

	mutex_lock(&space->lock);
	found = space_walk(space, va, entry, page_size);
	mutex_unlock(&space->lock);
	return found;
}

/**
 * pagoda_space_id() - Number of a space
 * @space: Space
 *
 * Return: the number the device knows it by.
 */
u32 pagoda_space_id(const struct pagoda_space *space)
{
	return space->id;
}

/**
 * pagoda_space_table_bytes() - Memory a space's tables take
 * @space: Space
 *
 * Context: may sleep, takes the space's lock.
 * Return: bytes of all tables that are resident.
 */
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
