// SPDX-License-Identifier: GPL-2.0
/*
 * Windows of the paging space: addresses by which the device reaches memory for the time of a
 * transaction.
 *
 *	map	writes entries of the window, one operation for each leaf table
 *	flush	drops the device's cached translations of the window (C72)
 *	use	VIRTUAL_TRANSFER, VIRTUAL_FILL and other operations with virtual addresses
 *	unmap	makes the entries invalid again and flushes (C78)
 *
 * All four are in one transaction of the stream, so no other transaction's operations come between,
 * and the next user finds the window empty. But in CPU_VIRTUAL mode the CPU writes entries when the
 * operation is built: the user of a window then waits for the window's previous use before the map,
 * and for the present use before the unmap. In that mode moves use physical addresses, and only
 * synchronous users, one at a time, use windows.
 */
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/math.h>
#include <linux/minmax.h>

#include "process.h"

static_assert(PAGODA_TABLE_WINDOWS * PAGODA_TABLE_WINDOW_BYTES == PAGODA_BLOCK_BYTES);

/*
 * Returns whether 64 KiB entries can map @map: the device has such entries, the memory isn't in the
 * aperture, and its size and all its addresses are multiples of 64 KiB, as the window's virtual
 * address is (C127). Unlike in other spaces, system memory may be mapped by 64 KiB entries too: the
 * pages of a big allocation often come in large pieces, which the device then translates much
 * faster.
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

/* Makes the next pagoda_process_flush() cover the @size bytes of addresses from @start on. */
static void scratch_changed(struct pagoda_process *process, u64 start, u64 size)
{
	if (!process->flush_end || start < process->flush_start)
		process->flush_start = start;
	process->flush_end = max(process->flush_end, start + size);
}

/*
 * Sets @op to an update of the entries for bytes [@offset, @offset + @size) of an area of windows,
 * or for as many of them as one leaf table translates; the caller adds the values. Returns the
 * number of bytes that these entries translate.
 */
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

/*
 * Emits updates of page-table entries of the paging space: byte @offset and the following bytes of
 * @area, a scratch window or table windows, then show the memory of @map.
 */
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
 * @window: Window that wasn't mapped since the last pagoda_process_unmap()
 * @map: Memory; va is ignored, size is at most %PAGODA_SCRATCH_BYTES
 * @large: Set to whether 64 KiB entries map the memory (C73), which they do if they can
 * @emit: Where the operations go
 *
 * pagoda_process_flush() comes before the window's use (C72), pagoda_process_unmap() after.
 *
 * Context: Under the stream's lock. In CPU_VIRTUAL mode no use of the window is in flight.
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
 *	takes the next windows too
 * @memory: Memory of the table
 * @emit: Where the operations go
 *
 * For GPU_VIRTUAL updates and COPY_PAGE_TABLE_ENTRIES. Flush and unmap as after
 * pagoda_process_map().
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
 * pagoda_process_flush() - Flush translations of the paging space that changed since the last flush
 * @mmu: Page tables of the device
 * @emit: Where the operation goes; none if nothing changed
 *
 * The flush is needed even if the device doesn't cache invalid entries: a window is used again and
 * again, and the CPU may have changed entries without an operation (C72, C106).
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
 * pagoda_process_unmap() - Invalidate all mapped entries of windows, and flush
 * @mmu: Page tables of the device
 * @emit: Where the operations go
 *
 * Once the operations are executed, the device reaches no page through a window (C78).
 *
 * Context: Under the stream's lock. In CPU_VIRTUAL mode no use of a window is in flight.
 */
void pagoda_process_unmap(struct pagoda_mmu *mmu, const struct pagoda_emit *emit)
{
	u32 i;

	for (i = 0; i < PAGODA_AREA_COUNT; i++)
		scratch_unmap(mmu, &mmu->process->area[i], emit);
	pagoda_process_flush(mmu, emit);
}

/**
 * pagoda_process_lost() - Have the CPU invalidate all windows, after operations were lost
 * @mmu: Page tables of the device
 *
 * The lost operations may include an unmap, and the map of a later use: that use shall fault
 * rather than reach memory of another allocation. It is up to the caller that the device drops its
 * cached translations: by a reset of the whole device, or by roots that are set again
 * (pagoda_tables_rescued()).
 *
 * Context: Any, the dma_fence signalling path included. The device executes no operation that uses
 * the paging space during the call.
 */
void pagoda_process_lost(struct pagoda_mmu *mmu)
{
	u32 slot;

	for (slot = PAGODA_SLOT_WINDOWS; slot < PAGODA_SLOT_COUNT; slot++)
		pagoda_process_wipe(mmu, slot);
}

/*
 * Returns the cost of the FLUSH_TLB operations that follow when windows are mapped @times times and
 * unmapped @times times.
 */
static struct pagoda_paging_cost cost_flushes(struct pagoda_mmu *mmu, u32 times, u32 buffer_size)
{
	struct pagoda_paging_op op = scratch_flush_op(mmu->process);
	struct pagoda_paging_cost sum = {}, cost;

	cost = pagoda_paging_cost(mmu->args.limits, &op, buffer_size);
	pagoda_cost_add(&sum, cost, 2 * times);
	return sum;
}

/*
 * Adds to @sum, @times times, the cost of writing @nr entries of the leaf table of @slot, a 2 MiB
 * part of the paging space, and of making them invalid again; @buffer_size as for
 * pagoda_process_cost().
 */
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
 * pagoda_process_cost() - Upper bound of the cost of mapping, flushing and unmapping both scratch
 *	windows
 * @mmu: Page tables of the device
 * @size: Bytes of each mapping
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * Return: The bound for scattered pages, whose 4 KiB entries cost more than 64 KiB entries.
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
 * pagoda_process_table_cost() - Upper bound of the cost of mapping and unmapping table windows
 * @mmu: Page tables of the device
 * @nr_tables: Number of windows; they are mapped, flushed and unmapped in groups of
 *	%PAGODA_TABLE_WINDOWS
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * Return: The bound.
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

/*
 * Returns an upper bound of the cost of an update whose values aren't known yet: the caller has set
 * the values of @op to &pagoda_mmu.scattered. Scattered entries take the most bytes, and these
 * bytes make the most packets if all packets are of the smallest size.
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
