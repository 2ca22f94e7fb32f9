/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations for the files of mmu/ and for KUnit suites; the rest of the driver doesn't see them.
 *
 * A word is the driver's copy of a page-table entry. With dual PTEs an entry of a level-1 table has
 * two words: word 0 for the 4 KiB table or the large page, word 1 for the 64 KiB table. A struct
 * pagoda_words holds word 0, or word 1, of all entries of a table.
 *
 *	block	the 2 MiB of addresses that a leaf table covers, of 4 KiB or of 64 KiB entries
 *	chunk	the 64 KiB of addresses that an entry of a 64 KiB table covers
 *	record	allocation, offset and DriverProtection of a range, for the fields of
 *		UPDATE_PAGE_TABLE besides the entries
 */
#ifndef PAGODA_MMU_INTERNAL_H
#define PAGODA_MMU_INTERNAL_H

#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/sizes.h>
#include <linux/xarray.h>
#include "mmu.h"

struct pagoda_process;

/** PAGODA_PT_LEVELS: maximum number of page-table levels. */
#define PAGODA_PT_LEVELS	6
#define PAGODA_BLOCK_SHIFT	(VIRTIO_PAGODA_PAGE_SHIFT + VIRTIO_PAGODA_PT_INDEX_BITS)
#define PAGODA_BLOCK_BYTES	BIT_ULL(PAGODA_BLOCK_SHIFT)
#define PAGODA_CHUNK_BYTES	((u64)SZ_64K)
#define PAGODA_CHUNK_PAGES	(PAGODA_CHUNK_BYTES >> VIRTIO_PAGODA_PAGE_SHIFT)

/**
 * struct pagoda_mmu - Page tables of a device
 * @args: Arguments of pagoda_mmu_create()
 * @process: The paging process, whose address space has number 0
 * @pages: struct page pointers of all page tables in system memory; index: bus address in pages
 * @leaving: Protects @gone
 * @gone: List, by &pagoda_table.link, of freed tables that operations in flight may still use
 * @scattered: Entry values of which no builder can encode three as a run, for bounds of costs
 */
struct pagoda_mmu {
	struct pagoda_mmu_args args;
	struct pagoda_process *process;
	struct xarray pages;
	struct mutex leaving;	/* protects gone */
	struct list_head gone;
	u64 scattered[VIRTIO_PAGODA_PT_ENTRIES];
};

/**
 * struct pagoda_words - The driver's copy of one word of each entry of a table
 * @values: The words in the device's format; 0 where an entry links a table that isn't resident
 * @dirty: A bit for each word that the current batch has to write; clear between batches
 * @children: Table below each entry, or NULL; the array itself is NULL for leaf tables
 */
struct pagoda_words {
	u64 *values;
	unsigned long *dirty;
	struct pagoda_table **children;
};

/**
 * struct pagoda_table - A page table
 * @space: Space of the table
 * @parent: Table above, NULL for the root
 * @twin: 4 KiB table, made by prepare, by which commit may replace this 64 KiB table, or NULL
 * @link: Node in &pagoda_space.tables, later in &pagoda_mmu.gone
 * @work: Node in &pagoda_batch.work, &pagoda_pt_update.fresh or &pagoda_pt_update.dropped
 * @fence: For a table in &pagoda_mmu.gone: fence of the flush that makes the table unreachable, or
 *	NULL
 * @words: The driver's copy of the entries; words[1] only in level-1 tables with dual PTEs
 * @va: First address that the table translates
 * @level: 0 = leaf
 * @is_64k: Leaf table of 64 KiB entries
 * @nr_entries: Number of entries that the device may use
 * @room: Number of entries that @words has memory for; differs from @nr_entries only in a root
 * @nr_valid: Number of words, in both elements of @words, with the valid bit
 * @nr_children: Number of tables in &pagoda_words.children of @words
 * @memory: Memory of a table that is @resident
 * @next: Memory that commit puts into @memory, if @has_next
 * @window_va: Address of the table in the table windows, if @has_window
 * @resident: @memory belongs to the table and holds the entries; false if the table is evicted, or
 *	fresh
 * @linked: The parent's entry leads to this table, or will once the table is resident; of a root:
 *	commit has put the root to use
 * @fresh: Prepare made the table, and commit hasn't used the table so far
 * @initial: @memory holds garbage: the next update has InitialUpdate
 * @whole: The current batch writes all words, invalid ones too; only if @initial
 * @dropped: The current batch takes the table out of the space
 * @has_next: @next is valid
 * @has_window: @window_va is valid
 *
 * &pagoda_space.lock protects all members but @next and @has_next, which only updates use;
 * &pagoda_mmu.leaving protects tables in &pagoda_mmu.gone. An invalidation skips tables that aren't
 * linked, so prepare may fill in a new table without the lock.
 */
struct pagoda_table {
	struct pagoda_space *space;
	struct pagoda_table *parent;
	struct pagoda_table *twin;
	struct list_head link;
	struct list_head work;
	struct dma_fence *fence;
	struct pagoda_words words[2];
	u64 va;
	u32 level;
	u32 nr_entries;
	u32 room;
	u32 nr_valid;
	u32 nr_children;
	struct pagoda_table_memory memory;
	struct pagoda_table_memory next;
	u64 window_va;
	bool is_64k;
	bool resident;
	bool linked;
	bool fresh;
	bool initial;
	bool whole;
	bool dropped;
	bool has_next;
	bool has_window;
};

/**
 * struct pagoda_record - The allocation that is mapped in a range
 * @node: Node in &pagoda_space.records, by address
 * @link: Node in the list of an update's spare records
 * @va: First address of the range
 * @size: Bytes of the range
 * @allocation: Number of the allocation
 * @allocation_offset: Byte of the allocation that @va shows, or at which a repeating window begins
 * @window: Bytes of the window of the allocation that repeats over the range, 0: nothing repeats
 * @first: Byte of the window that @va shows
 * @driver_protection: DriverProtection of the map call (C98)
 */
struct pagoda_record {
	struct rb_node node;
	struct list_head link;
	u64 va;
	u64 size;
	u64 allocation;
	u64 allocation_offset;
	u64 window;
	u64 first;
	u64 driver_protection;
};

/**
 * struct pagoda_space - An address space
 * @mmu: Page tables of the device
 * @data: The owner's data for the space, an argument of &struct pagoda_mmu_ops
 * @id: Number by which the device knows the space
 * @lock: Protects all members below, and each struct pagoda_table of the space
 * @nr_absent: Number of evicted tables in @tables
 * @root: Root table or NULL
 * @tables: All tables, in no order
 * @records: struct pagoda_record, disjoint, by address
 * @attached: The device has @root set for the space, so that flushes name @root; false also from a
 *	commit that moves @root until finish sets @root again. Finish and pagoda_space_detach()
 *	change this member without @lock
 * @stale: The device lost its memory, and no commit has rebuilt the tables since: resident tables
 *	may hold garbage. Even if @attached isn't set, the device may have a root of the space that
 *	was set between the loss and pagoda_space_forget(); no job uses that root
 */
struct pagoda_space {
	struct pagoda_mmu *mmu;
	void *data;
	u32 id;
	struct mutex lock;	/* protects all members below, and the tables */
	u32 nr_absent;
	struct pagoda_table *root;
	struct list_head tables;
	struct rb_root records;
	bool attached;
	bool stale;
};

/* process.c: creates and destroys the paging process, whose address space is the paging space */
int pagoda_process_create(struct pagoda_mmu *mmu);
void pagoda_process_destroy(struct pagoda_mmu *mmu);

/**
 * struct pagoda_pt_update - A change of a space, from prepare to finish
 * @space: The space
 * @maps: Copy of the caller's maps, which point to the caller's extents and page lists
 * @copies: Copy of the caller's list of copies
 * @nr_maps: Entries of @maps
 * @nr_copies: Entries of @copies
 * @records: Spare struct pagoda_record, from which commit takes what it adds to the space
 * @fresh: List, by &pagoda_table.work, of tables that prepare made and commit hasn't used
 * @dropped: List, by &pagoda_table.work, of tables that commit took out of the space
 * @old_root: Memory of the root before commit resized the root
 * @old_entries: Number of entries in @old_root, 0: the root wasn't resized, or was evicted before
 * @root_entries: Number of entries the root shall have, 0: no change
 * @counted: Address of the block that block_count_present() counted last, U64_MAX: none
 * @path: Level-1 table at the end of the path that pagoda_update_path() counted last, NULL: none
 * @large_start: Lowest address of the maps that may turn whole 2 MiB blocks into one entry each
 * @large_end: Address behind the last of the maps that may turn whole 2 MiB blocks into one entry
 * @ranges: Number of ranges of COPY_PAGE_TABLE_ENTRIES for @copies
 * @windows: Upper bound of the table windows that commit maps
 * @ops: Element n is an upper bound of the number of operations that write n entries each
 * @suspended: suspend() was called, or, in prepare, has to be called at the end of prepare
 * @set_root: Finish calls set_root()
 * @restore: Evicted tables get memory and their entries again
 * @rebuild: Resident tables have garbage in their memory and are written again
 * @close: All mappings and tables are removed, the root too
 */
struct pagoda_pt_update {
	struct pagoda_space *space;
	struct pagoda_map *maps;
	struct pagoda_space_copy *copies;
	u32 nr_maps;
	u32 nr_copies;
	struct list_head records;
	struct list_head fresh;
	struct list_head dropped;
	struct pagoda_table_memory old_root;
	u32 old_entries;
	u32 root_entries;
	u64 counted;
	struct pagoda_table *path;
	u64 large_start;
	u64 large_end;
	u32 ranges;
	u32 windows;
	u32 ops[VIRTIO_PAGODA_PT_ENTRIES + 1];
	bool suspended;
	bool set_root;
	bool restore;
	bool rebuild;
	bool close;
};

/**
 * struct pagoda_batch - Changes of page-table entries that are emitted together
 * @space: The space, locked
 * @update: The update being committed, NULL for an invalidation or an eviction
 * @work: For each level the list, by &pagoda_table.work, of tables to be written
 * @start: First address whose changed entry needs a flush, U64_MAX: none does
 * @end: Address behind the last whose changed entry needs a flush, 0: none does
 */
struct pagoda_batch {
	struct pagoda_space *space;
	struct pagoda_pt_update *update;
	struct list_head work[PAGODA_PT_LEVELS];
	u64 start;
	u64 end;
};

/**
 * struct pagoda_map_place - Cursor over the memory of a map
 * @map: The map, of kind PAGODA_MAP_MEMORY
 * @extent: Index of the current extent of @map, or of the current page of its ADL
 * @offset: Byte within the current extent; 0 with an ADL
 * @left: Bytes to the end of @map's repeating window, U64_MAX if nothing repeats
 */
struct pagoda_map_place {
	const struct pagoda_map *map;
	u64 extent;
	u64 offset;
	u64 left;
};

/* map.c: checks of struct pagoda_map; the cursor struct pagoda_map_place over a map's memory */
int pagoda_range_check(const struct pagoda_space *space, u64 va, u64 size);
int pagoda_map_check(const struct pagoda_space *space, const struct pagoda_map *map);
void pagoda_place_init(struct pagoda_map_place *place, const struct pagoda_map *map);
u64 pagoda_place_run(const struct pagoda_map_place *place, u64 want, u32 *segment, u64 *address);
void pagoda_place_advance(struct pagoda_map_place *place, u64 bytes);
void pagoda_place_entries(struct pagoda_map_place *place, u32 shift, u32 nr, u64 *entries);
bool pagoda_place_is_large(const struct pagoda_map_place *place, const struct pagoda_mmu *mmu,
			   u64 bytes);
bool pagoda_place_is_64k(const struct pagoda_map_place *place, const struct pagoda_mmu *mmu,
			 u64 va, u64 bytes);

/*
 * table.c: page tables and their memory; pages of tables by bus address, for the CPU executor;
 * tables that operations in flight may still use
 */
u32 pagoda_table_bytes(const struct pagoda_mmu *mmu, u32 level, u32 nr_entries);
struct pagoda_table *pagoda_table_create(struct pagoda_space *space, u32 level, bool is_64k,
					 u64 va, u32 nr_entries);
void pagoda_table_destroy(struct pagoda_table *table);
int pagoda_table_widen(struct pagoda_table *root, u32 room);
int pagoda_table_get_memory(struct pagoda_table *table, u32 nr_entries);
void pagoda_table_put_memory(struct pagoda_space *space, struct pagoda_table_memory *memory,
			     struct dma_fence *fence);
void pagoda_table_leave(struct pagoda_table *table, struct dma_fence *fence);
int pagoda_mmu_register(struct pagoda_mmu *mmu, const struct pagoda_table_memory *memory);
void pagoda_mmu_unregister(struct pagoda_mmu *mmu, const struct pagoda_table_memory *memory);
void pagoda_mmu_reap(struct pagoda_mmu *mmu, bool all);

/* record.c: records of mapped ranges; see struct pagoda_record */
int pagoda_records_reserve(struct list_head *spare, u32 nr);
void pagoda_records_release(struct list_head *spare);
struct pagoda_record *pagoda_record_find(struct pagoda_space *space, u64 va);
struct pagoda_record *pagoda_record_next(struct pagoda_record *record);
u64 pagoda_record_offset(const struct pagoda_record *record, u64 va);
u32 pagoda_records_count(struct pagoda_space *space, u64 va, u64 size);
void pagoda_records_remove(struct pagoda_space *space, u64 va, u64 size,
			   struct list_head *spare);
void pagoda_records_insert(struct pagoda_space *space, const struct pagoda_record *what,
			   struct list_head *spare);
void pagoda_records_copy(struct pagoda_space *space, const struct pagoda_space_copy *copy,
			 struct list_head *spare);
void pagoda_records_clear(struct pagoda_space *space);

/* block.c: changes of page-table words; callers hold &pagoda_space.lock */
void pagoda_batch_init(struct pagoda_batch *batch, struct pagoda_space *space,
		       struct pagoda_pt_update *update);
void pagoda_table_settle(struct pagoda_table *table);
void pagoda_batch_touch(struct pagoda_batch *batch, struct pagoda_table *table);
void pagoda_batch_flush(struct pagoda_batch *batch, u64 va, u64 size);
void pagoda_word_set(struct pagoda_batch *batch, struct pagoda_table *table, u32 w, u32 index,
		     u64 value, bool force);
void pagoda_table_link(struct pagoda_batch *batch, struct pagoda_table *table);
void pagoda_table_unlink(struct pagoda_batch *batch, struct pagoda_table *table);
void pagoda_block_set(struct pagoda_batch *batch, struct pagoda_table *parent, u32 index,
		      u64 value);
void pagoda_block_write(struct pagoda_batch *batch, struct pagoda_table *parent, u64 va,
			u64 size, const struct pagoda_map *map, struct pagoda_map_place *place);
void pagoda_block_split(struct pagoda_batch *batch, struct pagoda_table *parent, u32 index);

/*
 * grow.c: parts of the preparation of an update: counts its operations, makes its tables and root
 */
void pagoda_update_count(struct pagoda_pt_update *update, u32 entries, u32 more);
void pagoda_update_count_tables(struct pagoda_pt_update *update, u32 nr);
u32 pagoda_update_pieces(const struct pagoda_pt_update *update);
int pagoda_update_make_table(struct pagoda_pt_update *update, struct pagoda_table *parent,
			     u64 va, bool is_64k, struct pagoda_table *twin_of);
int pagoda_update_path(struct pagoda_pt_update *update, u64 va, struct pagoda_table **parent);
void pagoda_update_count_root(struct pagoda_pt_update *update);
int pagoda_update_root(struct pagoda_pt_update *update);

/*
 * apply.c: maps and unmaps ranges in the driver's copy of the page tables, links tables on the way
 * to an address, and drops tables without entries, all within a batch
 */
void pagoda_map_apply(struct pagoda_batch *batch, const struct pagoda_map *map);
void pagoda_range_invalidate(struct pagoda_batch *batch, u64 va, u64 size);
void pagoda_range_unmap(struct pagoda_batch *batch, u64 va, u64 size);
void pagoda_batch_prune(struct pagoda_batch *batch, bool empty_ones);
struct pagoda_table *pagoda_path_link(struct pagoda_batch *batch, u64 va);

/*
 * emit.c: emits UPDATE_PAGE_TABLE for a batch's changed words or for a table that loses its memory,
 * and FLUSH_TLB
 */
void pagoda_batch_emit_tables(struct pagoda_batch *batch, const struct pagoda_emit *emit);
void pagoda_batch_emit_flush(struct pagoda_batch *batch, const struct pagoda_emit *emit);
void pagoda_emit_last(struct pagoda_table *table, const struct pagoda_table_memory *memory,
		      u32 nr_entries, const struct pagoda_emit *emit);

/* copy.c: copies of page-table entries, by COPY_PAGE_TABLE_ENTRIES or by updates */
u64 pagoda_copy_step(const struct pagoda_space_copy *copy, u64 done);
void pagoda_copies_split(struct pagoda_batch *batch);
void pagoda_copies_commit(struct pagoda_batch *batch, const struct pagoda_emit *emit);

/* update.c and scratch.c: upper bounds of the cost of page-table updates */
struct pagoda_paging_cost pagoda_cost_unknown(struct pagoda_mmu *mmu,
					      const struct pagoda_paging_op *op,
					      u32 buffer_size);
struct pagoda_paging_cost pagoda_cost_batch(struct pagoda_mmu *mmu, const u32 *ops, u32 most,
					    u32 windows, u32 buffer_size);

static inline bool pagoda_mmu_is_dual(const struct pagoda_mmu *mmu)
{
	return mmu->args.limits->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
}

static inline bool pagoda_mmu_has_pages(const struct pagoda_mmu *mmu, u64 bytes)
{
	return mmu->args.limits->page_sizes & bytes;
}

/* Returns log2 of the bytes that an entry at @level translates, except in 64 KiB tables. */
static inline u32 pagoda_level_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + level * VIRTIO_PAGODA_PT_INDEX_BITS;
}

/* Returns log2 of the bytes that an entry of @table translates. */
static inline u32 pagoda_table_shift(const struct pagoda_table *table)
{
	return table->is_64k ? ilog2(SZ_64K) : pagoda_level_shift(table->level);
}

/* Returns how many words an entry of @table has: two at level 1 with dual PTEs, else one. */
static inline u32 pagoda_table_nr_words(const struct pagoda_table *table)
{
	return table->level == 1 && pagoda_mmu_is_dual(table->space->mmu) ? 2 : 1;
}

/* Returns the index of the entry of @table that translates @va. */
static inline u32 pagoda_table_index(const struct pagoda_table *table, u64 va)
{
	return (va - table->va) >> pagoda_table_shift(table);
}

static inline u64 pagoda_table_entry_va(const struct pagoda_table *table, u32 index)
{
	return table->va + ((u64)index << pagoda_table_shift(table));
}

/* Returns which word of the parent's entry links @table: 0 or 1. */
static inline u32 pagoda_table_word(const struct pagoda_table *table)
{
	return table->is_64k && pagoda_mmu_is_dual(table->space->mmu);
}

/* Returns the address behind the last address that @table translates. */
static inline u64 pagoda_table_end(const struct pagoda_table *table)
{
	return pagoda_table_entry_va(table, table->nr_entries);
}

#endif
