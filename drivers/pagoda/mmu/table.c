// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables: their books, and the memory the owner gives for them.
 *
 * Pages of tables in system memory are registered by bus address for the CPU
 * executor, which may not make a page from a number (C66). They stay so until the
 * fence behind the last operation that can reach the table has signalled; the owner
 * doesn't get to use the memory for anything else before.
 */
#include <linux/dma-fence.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "internal.h"

/**
 * pagoda_table_bytes() - Memory a table takes
 * @mmu: Page tables of the device
 * @level: 0 = leaf
 * @nr_entries: Entries, at most 2^27
 *
 * Return: bytes, a power of two and at least a page.
 */
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

/**
 * pagoda_table_create() - Make the books of a table
 * @space: Space it is for
 * @level: 0 = leaf
 * @is_64k: Leaf table of 64 KiB entries
 * @va: First address
 * @nr_entries: Entries
 *
 * Context: may sleep. The table has neither memory nor a place yet.
 * Return: the table, NULL without memory.
 */
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

/**
 * pagoda_table_destroy() - Free the books of a table
 * @table: Table without memory, in no list
 */
void pagoda_table_destroy(struct pagoda_table *table)
{
	u32 w;

	for (w = 0; w < ARRAY_SIZE(table->words); w++)
		words_fini(&table->words[w]);
	kfree(table);
}

/**
 * pagoda_table_widen() - Make room for more entries in the books of a root
 * @root: Root
 * @room: Entries
 *
 * Context: may sleep; takes the space's lock.
 * Return: 0 or -ENOMEM, then nothing changed.
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

/**
 * pagoda_mmu_register() - Let the CPU executor find the pages of a table
 * @mmu: Page tables of the device
 * @memory: Memory of the table; nothing happens unless it is system memory
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
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

/**
 * pagoda_mmu_unregister() - Undo pagoda_mmu_register()
 * @mmu: Page tables of the device
 * @memory: Memory of a table that no operation uses any more
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
 * pagoda_mmu_table_page() - Page of a table in system memory
 * @mmu: Page tables of the device
 * @bus: Bus address
 *
 * Context: any but interrupts.
 * Return: the page as entries of struct page arrays have it, NULL if there is no table.
 */
const void *pagoda_mmu_table_page(struct pagoda_mmu *mmu, u64 bus)
{
	return xa_load(&mmu->pages, bus >> VIRTIO_PAGODA_PAGE_SHIFT);
}

/**
 * pagoda_table_get_memory() - Ask the owner for memory of a table
 * @table: Table; gets it as the next one
 * @nr_entries: Entries it shall hold
 *
 * Context: may sleep; the space's lock isn't held.
 * Return: 0 or -ENOMEM.
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

/* Puts a table where its pages stay registered until @fence, which it takes. */
static void mmu_keep(struct pagoda_mmu *mmu, struct pagoda_table *table, struct dma_fence *fence)
{
	table->fence = dma_fence_get(fence);
	mutex_lock(&mmu->leaving);
	list_add_tail(&table->link, &mmu->gone);
	mutex_unlock(&mmu->leaving);
}

/**
 * pagoda_mmu_reap() - Forget tables whose last operation was executed
 * @mmu: Page tables of the device
 * @all: Nothing is in flight
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

/**
 * pagoda_table_put_memory() - Give memory back that no operation ever used or uses
 * @space: Space it was for
 * @memory: The memory
 * @fence: Signalled already; for the owner
 */
void pagoda_table_put_memory(struct pagoda_space *space, struct pagoda_table_memory *memory,
			     struct dma_fence *fence)
{
	struct pagoda_mmu *mmu = space->mmu;

	pagoda_mmu_unregister(mmu, memory);
	mmu->args.ops->table_free(mmu->args.owner, space->data, memory, fence);
}

/**
 * pagoda_table_leave() - Take a table out of the books and give back its memory
 * @table: Table that nothing is linked by any more
 * @fence: Of the flush behind which nothing reaches it, NULL if nothing ever did
 *
 * Context: may sleep; the space's lock isn't held.
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
	mmu_keep(mmu, table, fence);
	mmu->args.ops->table_free(mmu->args.owner, data, &memory, fence);
	pagoda_mmu_reap(mmu, false);
}

/**
 * pagoda_space_root() - The root table of a space
 * @space: Space
 * @root: Set; no entries if there is none or it isn't resident
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
