// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of the paging space: memory that the device shall reach by virtual
 * addresses for a moment.
 *
 *	map	entries of the window, one operation a leaf table
 *	flush	the device forgets what it knew of the window (C72)
 *	use	VIRTUAL_TRANSFER, VIRTUAL_FILL and whatever else takes such addresses
 *	unmap	entries invalid again, flush (C78)
 *
 * All four are in one transaction of the stream, so no other transaction's operations come
 * between, and the next user finds the window empty. That is true where entries are
 * written by the stream. In CPU_VIRTUAL mode entries are written when the operation is
 * built: the user of a window then has to know that the stream has executed the last use,
 * and has to wait for its own use before the unmap. Moves use no windows in that mode: they
 * are physical. Synchronous users, one at a time, do.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "process.h"

static_assert(PAGODA_TABLE_WINDOWS * PAGODA_TABLE_WINDOW_BYTES == PAGODA_BLOCK_BYTES);

/*
 * Can 64 KiB entries map it? The low 16 bits of both addresses are zero then (C127).
 * System memory too, unlike in other spaces: the pages of a big allocation often come
 * in large pieces, and the device finds its way through them so much faster.
 */
static bool scratch_is_large(const struct pagoda_mmu *mmu, const struct pagoda_map *map)
{
	struct pagoda_map_place here;
	u64 done, run, address;
	u32 segment;

	if (!pagoda_mmu_has_pages(mmu, PAGODA_CHUNK_BYTES) || map->size % PAGODA_CHUNK_BYTES)
		return false;
	pagoda_place_init(&here, map);
	for (done = 0; done < map->size; done += run) {
		run = pagoda_place_run(&here, map->size - done, &segment, &address);
		if (segment == VIRTIO_PAGODA_SEGMENT_APERTURE ||
		    (run | address) % PAGODA_CHUNK_BYTES)
			return false;
		pagoda_place_advance(&here, run);
	}
	return true;
}

/* Those bytes are translated in a new way: the next flush has to cover them. */
static void scratch_changed(struct pagoda_process *process, u64 start, u64 size)
{
	if (!process->flush_end || start < process->flush_start)
		process->flush_start = start;
	process->flush_end = max(process->flush_end, start + size);
}

/* Entries of [@offset, @offset + @size) of an area; one leaf table at a time. */
static u64 scratch_update(struct pagoda_mmu *mmu, const struct pagoda_process_area *area,
			  u64 offset, u64 size, struct pagoda_paging_op *op)
{
	u64 page = pagoda_area_page(area);
	u64 inside = offset % PAGODA_BLOCK_BYTES;
	u64 part = min(size, PAGODA_BLOCK_BYTES - inside);

	*op = pagoda_process_update(mmu, area->slot + offset / PAGODA_BLOCK_BYTES, inside / page,
				    DIV_ROUND_UP_ULL(part, page));
	return part;
}

static void scratch_fill_values(struct pagoda_process *process, struct pagoda_map_place *here,
				u32 nr, u64 page)
{
	const struct pagoda_pte pte = { .flags = PAGODA_PTE_VALID | here->map->flags };
	u64 entry = pagoda_pte_encode(&pte, here->map->driver_protection);
	u32 i;

	pagoda_place_entries(here, ilog2(page), nr, process->values);
	for (i = 0; i < nr; i++)
		process->values[i] |= entry;
}

/* @offset: of the area, where the mapping begins */
static void scratch_map(struct pagoda_mmu *mmu, struct pagoda_process_area *area, u64 offset,
			const struct pagoda_map *map, const struct pagoda_emit *emit)
{
	struct pagoda_process *process = mmu->process;
	struct pagoda_map_place here;
	u64 done, part;

	pagoda_place_init(&here, map);
	for (done = 0; done < map->size; done += part) {
		struct pagoda_paging_op op;

		part = scratch_update(mmu, area, offset + done, map->size - done, &op);
		scratch_fill_values(process, &here, op.update_page_table.nr_entries,
				    pagoda_area_page(area));
		op.allocation = map->allocation;
		op.update_page_table.allocation_offset = map->allocation_offset + done;
		op.update_page_table.driver_protection = map->driver_protection;
		op.update_page_table.values = process->values;
		emit->emit(emit->arg, &op);
	}
	area->mapped = max(area->mapped, offset + map->size);
	scratch_changed(process, pagoda_slot_address(area->slot) + offset, map->size);
}

/**
 * pagoda_process_map() - Map memory into a scratch window
 * @mmu: Page tables of the device
 * @window: Which one; not mapped since the last pagoda_process_unmap()
 * @map: Memory; its va is ignored, its size is 1 to %PAGODA_SCRATCH_BYTES
 * @large: Set to whether 64 KiB entries map it (C73): they do wherever they can
 * @emit: Where the operations go
 *
 * Context: Under the stream's lock. In CPU_VIRTUAL mode see the head of this file.
 * Return: Address of the first byte in the paging space.
 */
u64 pagoda_process_map(struct pagoda_mmu *mmu, enum pagoda_scratch window,
		       const struct pagoda_map *map, bool *large,
		       const struct pagoda_emit *emit)
{
	struct pagoda_process_area *area;

	*large = scratch_is_large(mmu, map);
	area = &mmu->process->area[window + (*large ? PAGODA_AREA_LARGE : PAGODA_AREA_SCRATCH)];
	WARN_ON_ONCE(area->mapped || map->size > PAGODA_SCRATCH_BYTES);
	scratch_map(mmu, area, 0, map, emit);
	return pagoda_slot_address(area->slot);
}

/**
 * pagoda_process_map_table() - Map a page table into the paging space
 * @mmu: Page tables of the device
 * @index: Table window, below %PAGODA_TABLE_WINDOWS; a table larger than a window
 *	takes those behind it too
 * @memory: The table
 * @emit: Where the operations go
 *
 * Context: As pagoda_process_map().
 * Return: Address of the table in the paging space.
 */
u64 pagoda_process_map_table(struct pagoda_mmu *mmu, u32 index,
			     const struct pagoda_table_memory *memory,
			     const struct pagoda_emit *emit)
{
	struct pagoda_process_area *area = &mmu->process->area[PAGODA_AREA_WINDOWS];
	const struct pagoda_map_extent extent = {
		.segment = memory->segment,
		.address = memory->address,
		.size = memory->size,
	};
	const struct pagoda_map map = {
		.size = memory->size,
		.kind = PAGODA_MAP_MEMORY,
		.flags = PAGODA_PTE_NO_EXECUTE,
		.extents = &extent,
		.nr_extents = 1,
	};
	u64 offset = (u64)index * PAGODA_TABLE_WINDOW_BYTES;

	WARN_ON_ONCE(offset + map.size > PAGODA_BLOCK_BYTES);
	scratch_map(mmu, area, offset, &map, emit);
	return pagoda_slot_address(area->slot) + offset;
}

static struct pagoda_paging_op scratch_flush_op(const struct pagoda_process *process)
{
	return (struct pagoda_paging_op) {
		.operation = VIRTIO_PAGODA_OP_FLUSH_TLB,
		.flush_tlb = {
			.root_address = process->root.address,
			.root_segment = process->root.segment,
			.address_space = PAGODA_PROCESS_SPACE,
			.start = process->flush_start,
			.end = process->flush_end,
		},
	};
}

/**
 * pagoda_process_flush() - Flush what changed since the last flush
 * @mmu: Page tables of the device
 * @emit: Where the operation goes; none if nothing changed
 *
 * Also where the TLB never holds invalid entries: a window is used again and again,
 * and what a device executed is not all that the CPU may have (C72, C106).
 *
 * Context: Under the stream's lock.
 */
void pagoda_process_flush(struct pagoda_mmu *mmu, const struct pagoda_emit *emit)
{
	struct pagoda_process *process = mmu->process;
	struct pagoda_paging_op op = scratch_flush_op(process);

	if (!process->flush_end)
		return;
	process->flush_start = 0;
	process->flush_end = 0;
	emit->emit(emit->arg, &op);
}

static void scratch_unmap(struct pagoda_mmu *mmu, struct pagoda_process_area *area,
			  const struct pagoda_emit *emit)
{
	static const u64 invalid;
	u64 done, part;

	for (done = 0; done < area->mapped; done += part) {
		struct pagoda_paging_op op;

		part = scratch_update(mmu, area, done, area->mapped - done, &op);
		op.update_page_table.flags |= VIRTIO_PAGODA_UPDATE_REPEAT;
		op.update_page_table.values = &invalid;
		emit->emit(emit->arg, &op);
	}
	if (area->mapped)
		scratch_changed(mmu->process, pagoda_slot_address(area->slot), area->mapped);
	area->mapped = 0;
}

/**
 * pagoda_process_unmap() - Invalidate all that is mapped in windows, and flush
 * @mmu: Page tables of the device
 * @emit: Where the operations go
 *
 * When they are executed no page reached through a window is reached any more (C78).
 *
 * Context: Under the stream's lock. In CPU_VIRTUAL mode see the head of this file.
 */
void pagoda_process_unmap(struct pagoda_mmu *mmu, const struct pagoda_emit *emit)
{
	u32 i;

	for (i = 0; i < PAGODA_AREA_COUNT; i++)
		scratch_unmap(mmu, &mmu->process->area[i], emit);
	pagoda_process_flush(mmu, emit);
}

/**
 * pagoda_process_lost() - What was to unmap windows was never executed
 * @mmu: Page tables of the device
 *
 * The CPU does it instead: what uses a window next and had its mapping in the part
 * that was lost shall find nothing, rather than memory of another allocation. The
 * device has forgotten its translations when it was reset.
 *
 * Context: Any, the way to signalling a fence included; the device executes nothing
 * meanwhile that uses the paging space.
 */
void pagoda_process_lost(struct pagoda_mmu *mmu)
{
	u32 slot;

	for (slot = PAGODA_SLOT_WINDOWS; slot < PAGODA_SLOT_COUNT; slot++)
		pagoda_process_wipe(mmu, slot);
}

/* One flush behind map and one in unmap, @times times. */
static struct pagoda_paging_cost cost_flushes(struct pagoda_mmu *mmu, u32 times, u32 buffer_size)
{
	struct pagoda_paging_op op = scratch_flush_op(mmu->process);
	struct pagoda_paging_cost sum = {}, cost;

	cost = pagoda_paging_cost(mmu->args.limits, &op, buffer_size);
	pagoda_cost_add(&sum, cost, 2 * times);
	return sum;
}

/* A table written with @nr entries and made invalid again, @times times. */
static void cost_tables(struct pagoda_mmu *mmu, struct pagoda_paging_cost *sum, u32 slot, u32 nr,
			u32 times, u32 buffer_size)
{
	struct pagoda_paging_op op = pagoda_process_update(mmu, slot, 0, nr);
	struct pagoda_paging_cost cost;

	op.update_page_table.values = mmu->scattered;
	cost = pagoda_cost_unknown(mmu, &op, buffer_size);
	pagoda_cost_add(sum, cost, times);
	op.update_page_table.flags |= VIRTIO_PAGODA_UPDATE_REPEAT;
	cost = pagoda_paging_cost(mmu->args.limits, &op, buffer_size);
	pagoda_cost_add(sum, cost, times);
}

/**
 * pagoda_process_cost() - Bounds for one map on each side, flush and unmap
 * @mmu: Page tables of the device
 * @size: Bytes of each mapping
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * Context: Any.
 * Return: Upper bounds: pages in no order, which is more than 64 KiB entries take.
 */
struct pagoda_paging_cost pagoda_process_cost(struct pagoda_mmu *mmu, u64 size, u32 buffer_size)
{
	struct pagoda_paging_cost sum = cost_flushes(mmu, 1, buffer_size);
	u32 slots = size / PAGODA_BLOCK_BYTES;
	u32 rest = size % PAGODA_BLOCK_BYTES / VIRTIO_PAGODA_PAGE_SIZE;

	cost_tables(mmu, &sum, PAGODA_SLOT_SCRATCH, VIRTIO_PAGODA_PT_ENTRIES,
		    slots * PAGODA_SCRATCH_COUNT, buffer_size);
	if (rest)
		cost_tables(mmu, &sum, PAGODA_SLOT_SCRATCH, rest, PAGODA_SCRATCH_COUNT,
			    buffer_size);
	return sum;
}

/**
 * pagoda_process_table_cost() - Bounds for table windows mapped and unmapped
 * @mmu: Page tables of the device
 * @nr_tables: Windows; they are flushed and unmapped every %PAGODA_TABLE_WINDOWS
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * Context: Any.
 * Return: Upper bounds.
 */
struct pagoda_paging_cost pagoda_process_table_cost(struct pagoda_mmu *mmu, u32 nr_tables,
						    u32 buffer_size)
{
	u32 times = DIV_ROUND_UP(nr_tables, PAGODA_TABLE_WINDOWS);
	struct pagoda_paging_cost sum = cost_flushes(mmu, times, buffer_size);

	cost_tables(mmu, &sum, PAGODA_SLOT_WINDOWS,
		    PAGODA_TABLE_WINDOW_BYTES / VIRTIO_PAGODA_PAGE_SIZE, nr_tables, buffer_size);
	return sum;
}

/**
 * pagoda_cost_unknown() - Upper bound for an update whose entries aren't known yet
 * @mmu: Page tables of the device
 * @op: UPDATE_PAGE_TABLE with &pagoda_mmu.scattered for values
 * @buffer_size: Bytes of the smallest buffer
 *
 * Scattered entries take the most bytes; most packets there are if all of them are small.
 *
 * Return: the cost.
 */
struct pagoda_paging_cost pagoda_cost_unknown(struct pagoda_mmu *mmu,
					      const struct pagoda_paging_op *op,
					      u32 buffer_size)
{
	u32 least = sizeof(struct virtio_pagoda_update_page_table) + VIRTIO_PAGODA_PT_ENTRY_BYTES;
	struct pagoda_paging_cost cost = pagoda_paging_cost(mmu->args.limits, op, buffer_size);

	cost.packets = max_t(u32, cost.packets, cost.encoded / least);
	return cost;
}
