// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables: struct pagoda_table, and the memory that the owner allocates for tables.
 *
 * Pages of tables in system memory are registered by bus address for the CPU executor, which
 * may not turn an address into a page (C66). A dropped table stays registered until the fence
 * behind the last operation that can reach the table has signalled; until then the owner doesn't
 * use the memory for anything else either.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/* Returns the bytes of a table of at most 2^27 entries: a power of two, at least a page. */
u32 pagoda_table_bytes(const struct pagoda_mmu *mmu, u32 level, u32 nr_entries)
{
	u32 entry = VIRTIO_PAGODA_PT_ENTRY_BYTES;

	if (level == 1 && pagoda_mmu_is_dual(mmu))
		entry *= 2;
	return max_t(u32, roundup_pow_of_two(nr_entries * entry), VIRTIO_PAGODA_PAGE_SIZE);
}

static int words_init(struct pagoda_words *words, bool leaf, u32 room)
{
	words->values = kvcalloc(room, sizeof(*words->values), GFP_KERNEL_ACCOUNT);
	words->dirty = kvcalloc(BITS_TO_LONGS(room), sizeof(*words->dirty), GFP_KERNEL_ACCOUNT);
	if (!leaf)
		words->children = kvcalloc(room, sizeof(*words->children), GFP_KERNEL_ACCOUNT);
	return words->values && words->dirty && (leaf || words->children) ? 0 : -ENOMEM;
}

static void words_fini(struct pagoda_words *words)
{
	kvfree(words->values);
	kvfree(words->dirty);
	kvfree(words->children);
}

/* Returns a table of invalid entries with neither memory nor parent, NULL if out of memory. */
struct pagoda_table *pagoda_table_create(struct pagoda_space *space, u32 level, bool is_64k,
					 u64 va, u32 nr_entries)
{
	struct pagoda_table *table = kzalloc(sizeof(*table), GFP_KERNEL_ACCOUNT);
	int ret = 0;
	u32 w;

	if (!table)
		return NULL;
	table->space = space;
	table->level = level;
	table->is_64k = is_64k;
	table->va = va;
	table->nr_entries = nr_entries;
	table->room = nr_entries;
	INIT_LIST_HEAD(&table->link);
	INIT_LIST_HEAD(&table->work);
	for (w = 0; w < pagoda_table_nr_words(table) && !ret; w++)
		ret = words_init(&table->words[w], !level, nr_entries);
	if (!ret)
		return table;
	pagoda_table_destroy(table);
	return NULL;
}

/* Frees @table, which is in no list, with its words, but not &pagoda_table.memory. */
void pagoda_table_destroy(struct pagoda_table *table)
{
	u32 w;

	for (w = 0; w < ARRAY_SIZE(table->words); w++)
		words_fini(&table->words[w]);
	kfree(table);
}

/*
 * Enlarges the driver's copy of a root table (&pagoda_table.words) to @room entries. Returns 0, or
 * -ENOMEM. Takes the space's lock.
 */
int pagoda_table_widen(struct pagoda_table *root, u32 room)
{
	u32 nr_words = pagoda_table_nr_words(root), w;
	struct pagoda_words wide[2] = {};
	int ret = 0;

	if (room <= root->room)
		return 0;
	for (w = 0; w < nr_words && !ret; w++)
		ret = words_init(&wide[w], false, room);
	mutex_lock(&root->space->lock);
	for (w = 0; w < nr_words && !ret; w++) {
		memcpy(wide[w].values, root->words[w].values, root->room * sizeof(u64));
		memcpy(wide[w].children, root->words[w].children,
		       root->room * sizeof(root->words[w].children[0]));
		swap(wide[w], root->words[w]);
	}
	if (!ret)
		root->room = room;
	mutex_unlock(&root->space->lock);
	for (w = 0; w < nr_words; w++)
		words_fini(&wide[w]);
	return ret;
}

/*
 * Enters the pages of a table in system memory into &pagoda_mmu.pages, where the CPU executor finds
 * them by bus address. Does nothing for VRAM or without struct pages, else also calls
 * pagoda_mmu_reap(). Returns 0 or -ENOMEM.
 */
int pagoda_mmu_register(struct pagoda_mmu *mmu, const struct pagoda_table_memory *memory)
{
	u64 first = memory->address >> VIRTIO_PAGODA_PAGE_SHIFT;
	void *const *pages = memory->pages;
	u32 i;

	if (!pages || memory->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return 0;
	pagoda_mmu_reap(mmu, false);
	for (i = 0; i < memory->size >> VIRTIO_PAGODA_PAGE_SHIFT; i++)
		if (xa_err(xa_store(&mmu->pages, first + i, pages[i], GFP_KERNEL_ACCOUNT)))
			goto err_erase;
	return 0;

err_erase:
	while (i--)
		xa_erase(&mmu->pages, first + i);
	return -ENOMEM;
}

/*
 * Undoes pagoda_mmu_register(). The caller knows that no operation needs the pages of the table any
 * more.
 */
void pagoda_mmu_unregister(struct pagoda_mmu *mmu, const struct pagoda_table_memory *memory)
{
	u64 first = memory->address >> VIRTIO_PAGODA_PAGE_SHIFT;
	u32 i;

	if (!memory->pages || memory->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return;
	for (i = 0; i < memory->size >> VIRTIO_PAGODA_PAGE_SHIFT; i++)
		xa_erase(&mmu->pages, first + i);
}

/**
 * pagoda_mmu_table_page() - Page of a table in system memory, for the CPU executor
 * @mmu: Page tables of the device
 * @bus: Bus address
 *
 * Context: any but interrupts.
 * Return: the struct page, NULL if no table of any space is at @bus.
 */
const void *pagoda_mmu_table_page(struct pagoda_mmu *mmu, u64 bus)
{
	return xa_load(&mmu->pages, bus >> VIRTIO_PAGODA_PAGE_SHIFT);
}

/*
 * Allocates &pagoda_table.next, the memory for @nr_entries entries of @table. Returns 0, -ENOMEM or
 * the error of table_alloc(). May sleep; the space's lock isn't held.
 */
int pagoda_table_get_memory(struct pagoda_table *table, u32 nr_entries)
{
	struct pagoda_mmu *mmu = table->space->mmu;
	u32 size = pagoda_table_bytes(mmu, table->level, nr_entries);
	struct pagoda_table_memory memory = {};
	int ret;

	ret = mmu->args.ops->table_alloc(mmu->args.owner, table->space->data, table->level, size,
					 &memory);
	if (ret)
		return ret;
	memory.size = size;
	ret = pagoda_mmu_register(mmu, &memory);
	if (ret) {
		mmu->args.ops->table_free(mmu->args.owner, table->space->data, &memory, NULL);
		return ret;
	}
	table->next = memory;
	table->has_next = true;
	return 0;
}

/*
 * Frees each struct pagoda_table in &pagoda_mmu.gone whose fence, if any, has signalled, and takes
 * the table's pages out of &pagoda_mmu.pages; the table's memory is back with its owner already.
 * With @all frees all structs in &pagoda_mmu.gone: the caller knows that no operation is in flight.
 */
void pagoda_mmu_reap(struct pagoda_mmu *mmu, bool all)
{
	struct pagoda_table *table, *next;

	mutex_lock(&mmu->leaving);
	list_for_each_entry_safe(table, next, &mmu->gone, link) {
		if (!all && table->fence && !dma_fence_is_signaled(table->fence))
			continue;
		list_del(&table->link);
		dma_fence_put(table->fence);
		pagoda_mmu_unregister(mmu, &table->memory);
		pagoda_table_destroy(table);
	}
	mutex_unlock(&mmu->leaving);
}

/*
 * Takes the pages of @memory out of &pagoda_mmu.pages and gives @memory, which no operation uses,
 * back to the owner of the page tables. @fence, an argument of table_free(), is NULL or has
 * signalled.
 */
void pagoda_table_put_memory(struct pagoda_space *space, struct pagoda_table_memory *memory,
			     struct dma_fence *fence)
{
	struct pagoda_mmu *mmu = space->mmu;

	pagoda_mmu_unregister(mmu, memory);
	mmu->args.ops->table_free(mmu->args.owner, space->data, memory, fence);
}

/*
 * Gives the memory of @table, which is out of the tree of tables, back to the owner at once, with
 * @fence, and leaves it to pagoda_mmu_reap() to free @table when @fence has signalled. @fence is
 * that of the flush behind which the device can't reach @table; NULL if the device can't reach
 * @table any more. A table that isn't resident is freed at once. Memory that prepare allocated for
 * @table, if any, goes back without a fence. May sleep; the space's lock isn't held.
 */
void pagoda_table_leave(struct pagoda_table *table, struct dma_fence *fence)
{
	struct pagoda_mmu *mmu = table->space->mmu;
	struct pagoda_table_memory memory = table->memory;
	void *data = table->space->data;
	bool resident = table->resident;

	if (table->has_next)
		pagoda_table_put_memory(table->space, &table->next, NULL);
	if (!resident) {
		pagoda_table_destroy(table);
		return;
	}
	/* The pages stay in &pagoda_mmu.pages until pagoda_mmu_reap() finds @fence signalled. */
	table->fence = dma_fence_get(fence);
	mutex_lock(&mmu->leaving);
	list_add_tail(&table->link, &mmu->gone);
	mutex_unlock(&mmu->leaving);
	mmu->args.ops->table_free(mmu->args.owner, data, &memory, fence);
	pagoda_mmu_reap(mmu, false);
}

/**
 * pagoda_space_root() - The root table of a space
 * @space: Space
 * @root: Set; of 0 entries if the space has no root or the root isn't resident
 *
 * Context: may sleep, takes the space's lock.
 */
void pagoda_space_root(struct pagoda_space *space, struct pagoda_root *root)
{
	*root = (struct pagoda_root) {};
	mutex_lock(&space->lock);
	if (space->root && space->root->resident) {
		root->address = space->root->memory.address;
		root->segment = space->root->memory.segment;
		root->entries = space->root->nr_entries;
	}
	mutex_unlock(&space->lock);
}
