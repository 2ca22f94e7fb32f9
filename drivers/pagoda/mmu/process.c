// SPDX-License-Identifier: GPL-2.0
/*
 * The paging process: address space 0, in which the device does its paging by virtual addresses.
 * process.h has the layout.
 *
 * All tables of the space are system memory, initialised here by the CPU, at once and without a
 * buffer, whatever the device's update mode is (C76, C89). Tables are complete before another table
 * leads to them (C122): leaves first, the root last, then set_root(). The tables exist from the
 * device's first operation to its last, and are no allocations: nothing can evict them (C75). Later
 * changes are made in the device's update mode, with an exception: when a buffer that may have
 * changed leaf tables of windows is lost, the CPU makes all entries of these tables invalid. The
 * operations behind the lost buffer are queued already, so an operation of the stream would come
 * too late.
 */
#include <linux/array_size.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include "process.h"

/* One level-1 table has enough entries for all slots, of 2 MiB each. */
static_assert((u64)PAGODA_SLOT_COUNT <= VIRTIO_PAGODA_PT_ENTRIES);
/* The slot of the system page table, in which leaf tables are mapped, has a page for each slot. */
static_assert((u64)PAGODA_SLOT_COUNT * VIRTIO_PAGODA_PAGE_SIZE <= PAGODA_BLOCK_BYTES);
static_assert(PAGODA_SCRATCH_BYTES % PAGODA_BLOCK_BYTES == 0);

static bool process_has_slot(const struct pagoda_mmu *mmu, u32 slot)
{
	if (slot >= PAGODA_SLOT_LARGE)
		return pagoda_mmu_has_pages(mmu, PAGODA_CHUNK_BYTES);
	return slot != PAGODA_SLOT_NEVER;
}

static u32 process_nr_upper(const struct pagoda_mmu *mmu)
{
	return mmu->args.limits->pt_levels - 1;
}

/* Returns the number of entries of the table at @level; a root has only the entries in use. */
static u32 process_upper_entries(const struct pagoda_mmu *mmu, u32 level)
{
	if (level < process_nr_upper(mmu))
		return VIRTIO_PAGODA_PT_ENTRIES;
	return level == 1 ? PAGODA_SLOT_COUNT : 1;
}

/* Returns the number of entries of the leaf table of @slot. */
u32 pagoda_process_entries(const struct pagoda_process *process, u32 slot)
{
	return slot < PAGODA_SLOT_LARGE ? VIRTIO_PAGODA_PT_ENTRIES : VIRTIO_PAGODA_PT_ENTRIES_64K;
}

/* Returns a CPU_VIRTUAL update of all entries of @table; the caller adds the new values. */
static struct pagoda_paging_op process_update_cpu(const struct pagoda_table_memory *table,
						  u32 level, u32 entries, u64 first_va)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE,
		.update_page_table = {
			.mode = VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL,
			.level = level,
			.nr_entries = entries,
			.address_space = PAGODA_PROCESS_SPACE,
			.table_entries = entries,
			.table_address = table->address,
			.cpu_table = table->cpu,
			.table_pages = table->pages,
			.first_va = first_va,
		},
	};
}

/*
 * Returns an update, in the device's update mode, of @nr entries from @first on of the leaf table
 * of @slot; the caller adds the new values.
 */
struct pagoda_paging_op pagoda_process_update(struct pagoda_mmu *mmu, u32 slot, u32 first, u32 nr)
{
	const struct pagoda_table_memory *table = &mmu->process->leaf[slot];
	u32 entries = pagoda_process_entries(mmu->process, slot);
	struct pagoda_paging_op op = process_update_cpu(table, 0, entries,
							pagoda_slot_address(slot));
	struct pagoda_op_update_page_table *update = &op.update_page_table;

	update->mode = mmu->args.mode;
	update->first_entry = first;
	update->nr_entries = nr;
	update->first_va += first * (PAGODA_BLOCK_BYTES / entries);
	if (slot >= PAGODA_SLOT_LARGE)
		update->flags = VIRTIO_PAGODA_UPDATE_USE_64K;
	if (update->mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return op;
	update->cpu_table = NULL;
	if (update->mode == VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL) {
		update->table_segment = table->segment;
		update->table_address = table->address;
	} else {
		update->table_address = pagoda_slot_address(PAGODA_SLOT_TABLES) +
					slot * VIRTIO_PAGODA_PAGE_SIZE;
	}
	return op;
}

static void process_written(struct pagoda_mmu *mmu, const struct pagoda_paging_op *op)
{
	if (mmu->args.ops->written)
		mmu->args.ops->written(mmu->args.owner, op);
}

/*
 * Has the CPU write the entries of a CPU_VIRTUAL update at once, without a buffer (C76). Returns 0,
 * or a negative errno if the update is refused, which is a bug of the driver.
 */
static int process_write(struct pagoda_mmu *mmu, const struct pagoda_paging_op *op)
{
	struct pagoda_paging_cursor cursor = {};
	struct pagoda_paging_buffer none = {};
	const char *why = NULL;
	int ret;

	ret = pagoda_paging_validate(mmu->args.limits, op, &why);
	if (ret) {
		pr_err("pagoda: paging process: %s\n", why);
		return ret;
	}
	if (pagoda_paging_build(mmu->args.limits, op, &cursor, &none) != PAGODA_BUILD_SUCCESS)
		return -EINVAL;
	process_written(mmu, op);
	return 0;
}

/*
 * Has the CPU make all entries of a slot's leaf table invalid at once, not in the order of the
 * stream (C89). The device must not use the slot's addresses during the call. May be called in the
 * dma_fence signalling path.
 */
void pagoda_process_wipe(struct pagoda_mmu *mmu, u32 slot)
{
	static const u64 invalid;
	const struct pagoda_table_memory *leaf = &mmu->process->leaf[slot];
	u32 entries = pagoda_process_entries(mmu->process, slot), i;
	struct pagoda_paging_op op = process_update_cpu(leaf, 0, entries,
							pagoda_slot_address(slot));
	__le64 *table = leaf->cpu;

	if (!table)
		return;
	for (i = 0; i < entries; i++)
		WRITE_ONCE(table[i], 0);
	op.update_page_table.flags = VIRTIO_PAGODA_UPDATE_REPEAT | VIRTIO_PAGODA_UPDATE_INITIAL;
	if (slot >= PAGODA_SLOT_LARGE)
		op.update_page_table.flags |= VIRTIO_PAGODA_UPDATE_USE_64K;
	op.update_page_table.values = &invalid;
	process_written(mmu, &op);
}

/*
 * Makes @op a table's first update (C90), which sets all entries to invalid, and has the CPU write
 * the entries at once. Returns 0 or a negative errno.
 */
static int process_clear(struct pagoda_mmu *mmu, struct pagoda_paging_op *op)
{
	static const struct pagoda_pte invalid;

	op->update_page_table.flags |= VIRTIO_PAGODA_UPDATE_REPEAT |
				       VIRTIO_PAGODA_UPDATE_INITIAL;
	op->update_page_table.ptes = &invalid;
	return process_write(mmu, op);
}

static int process_clear_slot(struct pagoda_mmu *mmu, u32 slot)
{
	u32 entries = pagoda_process_entries(mmu->process, slot);
	struct pagoda_paging_op op = process_update_cpu(&mmu->process->leaf[slot], 0, entries,
							pagoda_slot_address(slot));

	if (slot >= PAGODA_SLOT_LARGE)
		op.update_page_table.flags = VIRTIO_PAGODA_UPDATE_USE_64K;
	return process_clear(mmu, &op);
}

static int process_clear_upper(struct pagoda_mmu *mmu, u32 level)
{
	const struct pagoda_table_memory *table = &mmu->process->upper[level - 1];
	struct pagoda_paging_op op = process_update_cpu(table, level,
							process_upper_entries(mmu, level), 0);
	int ret = process_clear(mmu, &op);

	if (ret || level > 1 || !pagoda_mmu_is_dual(mmu))
		return ret;
	op.update_page_table.flags = VIRTIO_PAGODA_UPDATE_USE_64K;
	return process_clear(mmu, &op);
}

/*
 * Writes the system page table, the leaf table of PAGODA_SLOT_TABLES, which only a rebuild writes
 * again: entry n maps the leaf table of slot n. Returns 0 or a negative errno.
 */
static int process_map_tables(struct pagoda_mmu *mmu)
{
	struct pagoda_process *process = mmu->process;
	struct pagoda_paging_op op = process_update_cpu(&process->leaf[PAGODA_SLOT_TABLES], 0,
							VIRTIO_PAGODA_PT_ENTRIES,
							pagoda_slot_address(PAGODA_SLOT_TABLES));
	u32 slot;

	for (slot = 0; slot < PAGODA_SLOT_COUNT; slot++) {
		struct pagoda_pte pte = {
			.flags = PAGODA_PTE_VALID | PAGODA_PTE_NO_EXECUTE,
			.address = process->leaf[slot].address,
		};

		process->values[slot] = process_has_slot(mmu, slot) ? pagoda_pte_encode(&pte, 0) :
								      0;
	}
	op.update_page_table.nr_entries = PAGODA_SLOT_COUNT;
	op.update_page_table.values = process->values;
	return process_write(mmu, &op);
}

/*
 * Makes entry @entry of the paging process's table at @level, 1 or higher, point to @table, which
 * has 64 KiB entries if @large. Returns 0 or a negative errno.
 */
static int process_link(struct pagoda_mmu *mmu, u32 level, u32 entry,
			const struct pagoda_table_memory *table, bool large)
{
	struct pagoda_pte pte = { .flags = PAGODA_PTE_VALID, .address = table->address };
	struct pagoda_paging_op op = process_update_cpu(&mmu->process->upper[level - 1], level,
							process_upper_entries(mmu, level),
							entry * PAGODA_BLOCK_BYTES);

	if (large && pagoda_mmu_is_dual(mmu))
		op.update_page_table.flags = VIRTIO_PAGODA_UPDATE_USE_64K;
	else if (large)
		pte.flags |= 1ull << PAGODA_PTE_PAGE_SIZE_SHIFT;
	op.update_page_table.first_entry = entry;
	op.update_page_table.nr_entries = 1;
	op.update_page_table.ptes = &pte;
	return process_write(mmu, &op);
}

static int process_write_leaves(struct pagoda_mmu *mmu)
{
	int ret = 0;
	u32 slot;

	for (slot = 0; slot < PAGODA_SLOT_COUNT && !ret; slot++)
		if (process_has_slot(mmu, slot))
			ret = process_clear_slot(mmu, slot);
	return ret ?: process_map_tables(mmu);
}

static int process_write_upper(struct pagoda_mmu *mmu)
{
	struct pagoda_process *process = mmu->process;
	u32 level, slot;
	int ret;

	ret = process_clear_upper(mmu, 1);
	for (slot = 0; slot < PAGODA_SLOT_COUNT && !ret; slot++)
		if (process_has_slot(mmu, slot))
			ret = process_link(mmu, 1, slot, &process->leaf[slot],
					   slot >= PAGODA_SLOT_LARGE);
	for (level = 2; level <= process_nr_upper(mmu) && !ret; level++) {
		ret = process_clear_upper(mmu, level);
		if (!ret)
			ret = process_link(mmu, level, 0, &process->upper[level - 2], false);
	}
	return ret;
}

/**
 * pagoda_process_rebuild() - Write the paging space's tables again and set its root
 * @mmu: Page tables of the device
 *
 * For a device that lost its memory (C80), and for probe. Makes all entries of windows invalid.
 *
 * Context: No operation that uses the paging space is in flight, or emitted during the call. May
 * sleep, calls written() and set_root() of struct pagoda_mmu_ops.
 * Return: 0; the error of set_root(), or a negative errno for an update that was refused, which is
 *	a bug of the driver. After an error the paging space can't be used.
 */
int pagoda_process_rebuild(struct pagoda_mmu *mmu)
{
	struct pagoda_process *process = mmu->process;
	int ret;
	u32 i;

	for (i = 0; i < PAGODA_AREA_COUNT; i++)
		process->area[i].mapped = 0;
	process->flush_start = 0;
	process->flush_end = 0;
	ret = process_write_leaves(mmu);
	if (ret)
		return ret;
	ret = process_write_upper(mmu);
	if (ret)
		return ret;
	return mmu->args.ops->set_root(mmu->args.owner, PAGODA_PROCESS_SPACE, &process->root);
}

static int process_alloc_table(struct pagoda_mmu *mmu, u32 level, u32 bytes,
			       struct pagoda_table_memory *table)
{
	u32 size = round_up(bytes, VIRTIO_PAGODA_PAGE_SIZE);
	int ret;

	ret = mmu->args.ops->table_alloc(mmu->args.owner, NULL, level, size, table);
	if (ret)
		return ret;
	table->size = size;
	/* The CPU writes these tables, and the device reads them by bus address. */
	ret = -EINVAL;
	if (!WARN_ON(!table->cpu || table->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM))
		ret = pagoda_mmu_register(mmu, table);
	if (!ret)
		return 0;
	mmu->args.ops->table_free(mmu->args.owner, NULL, table, NULL);
	table->size = 0;
	return ret;
}

static int process_alloc(struct pagoda_mmu *mmu)
{
	u32 wide = VIRTIO_PAGODA_PT_ENTRIES * VIRTIO_PAGODA_PT_ENTRY_BYTES;
	struct pagoda_process *process = mmu->process;
	u32 slot, level;
	int ret = 0;

	for (slot = 0; slot < PAGODA_SLOT_COUNT && !ret; slot++)
		if (process_has_slot(mmu, slot))
			ret = process_alloc_table(mmu, 0, wide, &process->leaf[slot]);
	for (level = 1; level <= process_nr_upper(mmu) && !ret; level++)
		ret = process_alloc_table(mmu, level,
					  level == 1 && pagoda_mmu_is_dual(mmu) ? 2 * wide : wide,
					  &process->upper[level - 1]);
	return ret;
}

static void process_free_table(struct pagoda_mmu *mmu, struct pagoda_table_memory *table)
{
	if (!table->size)
		return;
	pagoda_mmu_unregister(mmu, table);
	mmu->args.ops->table_free(mmu->args.owner, NULL, table, NULL);
}

static void process_free(struct pagoda_mmu *mmu)
{
	u32 i;

	for (i = 0; i < PAGODA_SLOT_COUNT; i++)
		process_free_table(mmu, &mmu->process->leaf[i]);
	for (i = 0; i < ARRAY_SIZE(mmu->process->upper); i++)
		process_free_table(mmu, &mmu->process->upper[i]);
	kfree(mmu->process);
	mmu->process = NULL;
}

static void process_init_areas(struct pagoda_process *process)
{
	u32 window;

	for (window = 0; window < PAGODA_SCRATCH_COUNT; window++) {
		process->area[PAGODA_AREA_SCRATCH + window].slot =
			PAGODA_SLOT_SCRATCH + window * PAGODA_SCRATCH_SLOTS;
		process->area[PAGODA_AREA_LARGE + window] = (struct pagoda_process_area) {
			.slot = PAGODA_SLOT_LARGE + window * PAGODA_SCRATCH_SLOTS,
			.large = true,
		};
	}
	process->area[PAGODA_AREA_WINDOWS].slot = PAGODA_SLOT_WINDOWS;
}

/*
 * Makes the paging process and sets its root. Returns 0, -ENOMEM, the error of table_alloc() or
 * set_root(), or -EINVAL if table_alloc() gives a table that isn't in system memory or that the CPU
 * can't reach.
 */
int pagoda_process_create(struct pagoda_mmu *mmu)
{
	u32 level = process_nr_upper(mmu);
	int ret;

	mmu->process = kzalloc(sizeof(*mmu->process), GFP_KERNEL);
	if (!mmu->process)
		return -ENOMEM;
	process_init_areas(mmu->process);
	ret = process_alloc(mmu);
	if (ret)
		goto err_free;
	mmu->process->root = (struct pagoda_root) {
		.address = mmu->process->upper[level - 1].address,
		.entries = process_upper_entries(mmu, level),
		.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
	};
	ret = pagoda_process_rebuild(mmu);
	if (!ret)
		return 0;
err_free:
	process_free(mmu);
	return ret;
}

/*
 * Takes the root of the paging space from the device and frees the page tables of that space, which
 * pagoda_process_create() made. Called when no operation that uses the paging space is in flight
 * any more. May sleep.
 */
void pagoda_process_destroy(struct pagoda_mmu *mmu)
{
	const struct pagoda_root none = {};

	/*
	 * A device that still has the root, because it refused the command or didn't answer, reads
	 * no tables of a space without operations.
	 */
	mmu->args.ops->set_root(mmu->args.owner, PAGODA_PROCESS_SPACE, &none);
	process_free(mmu);
}

void pagoda_process_root(struct pagoda_mmu *mmu, struct pagoda_root *root)
{
	*root = mmu->process->root;
}

/*
 * Looks up @va in the paging space: sets *@entry to the leaf entry of @va, valid or not, and
 * *@page_size to the bytes that the entry covers. Returns whether the entry is valid; false with
 * *@entry and *@page_size unchanged if there is no leaf table for @va.
 */
bool pagoda_process_lookup(struct pagoda_mmu *mmu, u64 va, u64 *entry, u64 *page_size)
{
	u64 slot = va / PAGODA_BLOCK_BYTES;
	const __le64 *table;

	if (slot >= PAGODA_SLOT_COUNT || !process_has_slot(mmu, slot))
		return false;
	table = mmu->process->leaf[slot].cpu;
	*page_size = PAGODA_BLOCK_BYTES / pagoda_process_entries(mmu->process, slot);
	*entry = le64_to_cpu(READ_ONCE(table[va % PAGODA_BLOCK_BYTES / *page_size]));
	return *entry & VIRTIO_PAGODA_PTE_VALID;
}
