// SPDX-License-Identifier: GPL-2.0
/*
 * Builds UPDATE_PAGE_TABLE (C86 - C100): encodes packets, or in CPU_VIRTUAL mode stores the entries
 * in the table (C76); computes the cost. &pagoda_paging_cursor.done counts entries.
 *
 * Consecutive entries that are equal, or whose addresses grow by a constant number of bytes, are a
 * run: a packet of its own with a single value, and REPEAT or an increment, encodes a run of any
 * length. A run so short that its values take less room than such a packet is encoded as values.
 * Where a longer run begins and ends depends only on the entries and never on the buffer, so that
 * the end of a buffer costs at most a packet's head.
 */
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

/*
 * PAGODA_PT_HEAD and PAGODA_PT_VALUE are bytes. PAGODA_PT_RUN is the shortest run, in entries, that
 * is worth a packet of its own if another packet has to follow for the entries behind the run,
 * PAGODA_PT_RUN_AT_END the shortest if the run ends the update.
 */
#define PAGODA_PT_HEAD		sizeof(struct virtio_pagoda_update_page_table)
#define PAGODA_PT_VALUE		VIRTIO_PAGODA_PT_ENTRY_BYTES
#define PAGODA_PT_RUN		(2 * PAGODA_PT_HEAD / PAGODA_PT_VALUE + 2)
#define PAGODA_PT_RUN_AT_END	(PAGODA_PT_HEAD / PAGODA_PT_VALUE + 2)
/*
 * Stands for the step, the bytes from an entry's address to the next entry's, of two entries that
 * can't be in the same run.
 */
#define PAGODA_PT_NO_STEP	1ull

u64 pagoda_update_tail(const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;

	return (u64)le32_to_cpu(update->nr_values) * VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/*
 * Number of entries that a packet writes, and how the packet encodes them: the number of values
 * that follow its head, the step in bytes, and whether VIRTIO_PAGODA_UPDATE_REPEAT is set.
 */
struct pagoda_pt_piece {
	u32 nr_entries;
	u32 nr_values;
	u32 increment;
	bool repeat;
};

/*
 * Returns by how many bytes the address grows from @entry to @next; PAGODA_PT_NO_STEP if bits
 * outside of the address differ, or if the address shrinks or grows by more than 32 bits can hold.
 */
static inline u64 pagoda_pt_step(u64 entry, u64 next)
{
	u64 step = next - entry;

	if ((entry ^ next) & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK || step > U32_MAX)
		return PAGODA_PT_NO_STEP;
	return step;
}

/*
 * Returns how many entries the run from @first on has, 1 if no run begins there; sets *@step to the
 * run's step in bytes, which means nothing without a run.
 */
static u32 pt_run(const struct pagoda_op_update_page_table *update, u32 first, u64 *step)
{
	u64 entry = pagoda_update_entry(update, first), next;
	u32 i = first + 1, end = update->nr_entries;

	*step = 0;
	if (i == end)
		return 1;
	next = pagoda_update_entry(update, i);
	*step = pagoda_pt_step(entry, next);
	if (*step == PAGODA_PT_NO_STEP)
		return 1;
	for (i++; i < end; i++) {
		next += *step;
		/* A run also ends where the address overflows into other bits. */
		if (pagoda_update_entry(update, i) != next ||
		    (next ^ entry) & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK)
			break;
	}
	return i - first;
}

/*
 * Returns the index of the first entry of the run that entries @at and @at + 1 are in, at least
 * @first: entries before @first aren't looked at.
 */
static u32 pt_run_start(const struct pagoda_op_update_page_table *update, u32 first, u32 at)
{
	u64 next = pagoda_update_entry(update, at), entry;
	u64 step = pagoda_pt_step(next, pagoda_update_entry(update, at + 1));

	for (; at > first; at--, next = entry) {
		entry = pagoda_update_entry(update, at - 1);
		if (pagoda_pt_step(entry, next) != step)
			break;
	}
	return at;
}

/* Returns whether the three entries from @at on are in one run. */
static bool pt_is_run(const struct pagoda_op_update_page_table *update, u32 at)
{
	u64 middle = pagoda_update_entry(update, at + 1);
	u64 step = pagoda_pt_step(pagoda_update_entry(update, at), middle);

	return step != PAGODA_PT_NO_STEP &&
	       step == pagoda_pt_step(middle, pagoda_update_entry(update, at + 2));
}

/*
 * Returns whether a run of @length entries becomes a packet of its own instead of values in the
 * packets around it: if the run is long enough to save room (PAGODA_PT_RUN, PAGODA_PT_RUN_AT_END),
 * or if no entries are left before the run (@at_start) and none behind it in the update (@at_end).
 */
static bool pt_run_pays(u32 length, bool at_start, bool at_end)
{
	if (at_end)
		return at_start || length >= PAGODA_PT_RUN_AT_END;
	return length >= PAGODA_PT_RUN;
}

/*
 * Skips entries for pt_values() as long as no run is found, which is the usual case with scattered
 * memory: three values with two different distances aren't in a run. Returns the index to go on at.
 */
static inline u32 pagoda_pt_skip(const u64 *values, u32 at, u32 end)
{
	for (; at + PAGODA_PT_RUN <= end; at += PAGODA_PT_RUN - 2) {
		const u64 *probe = &values[at + PAGODA_PT_RUN - 3];

		if (probe[2] - probe[1] == probe[1] - probe[0])
			break;
	}
	return at;
}

/*
 * Returns how many entries from @first on, at most @fit, come before the next run that is worth a
 * packet of its own (pt_run_pays()), or before the end. Runs are measured beyond @fit, too, so that
 * the end of a buffer doesn't cut them. The caller knows that no such run begins at @first.
 *
 * Invariant of the loop: no such run begins between @first and @at. If such a run begins in the
 * PAGODA_PT_RUN entries from @at on, but not in the last two of these entries, the run contains the
 * last three of these entries; if the run is shorter than PAGODA_PT_RUN, the run contains the
 * update's last three entries. So checking three entries (@probe) is enough.
 */
static u32 pt_values(const struct pagoda_op_update_page_table *update, u32 first, u32 fit)
{
	u32 at = first, end = update->nr_entries, probe, start, run;
	u64 step;

	while (at < end && at - first < fit) {
		if (update->values)
			at = pagoda_pt_skip(update->values, at, end);
		probe = min_t(u64, (u64)at + PAGODA_PT_RUN, end);
		if (probe < first + 3)
			return min(end - first, fit);
		probe -= 3;
		if (!pt_is_run(update, probe)) {
			at = probe + 3 == end ? end : probe + 1;
			continue;
		}
		start = pt_run_start(update, first, probe);
		run = pt_run(update, start, &step);
		if (start != first && pt_run_pays(run, false, run == end - start)) {
			at = start;
			break;
		}
		/* This run isn't worth a packet; only its last entry can begin another run. */
		at = start + run == end ? end : start + run - 1;
	}
	return min(at - first, fit);
}

static struct pagoda_pt_piece pt_next(const struct pagoda_op_update_page_table *update, u32 first,
				      u32 fit)
{
	u32 left = update->nr_entries - first, run;
	struct pagoda_pt_piece piece = { .nr_entries = left, .nr_values = 1, .repeat = true };
	u64 step;

	if (update->flags & VIRTIO_PAGODA_UPDATE_REPEAT)
		return piece;
	run = pt_run(update, first, &step);
	if (pt_run_pays(run, true, run == left)) {
		piece.nr_entries = run;
		piece.repeat = run > 1 && !step;
		piece.increment = run > 1 ? step : 0;
		return piece;
	}
	piece.nr_entries = pt_values(update, first, fit);
	piece.nr_values = piece.nr_entries;
	piece.repeat = false;
	return piece;
}

static void pt_values_write(const struct pagoda_op_update_page_table *update, u32 first,
			    u32 nr_values, __le64 *at)
{
	u32 i;

	if (update->values && !(update->flags & VIRTIO_PAGODA_UPDATE_REPEAT) &&
	    cpu_to_le64(1) == (__force __le64)1ull) {
		memcpy(at, &update->values[first], (size_t)nr_values * PAGODA_PT_VALUE);
		return;
	}
	for (i = 0; i < nr_values; i++)
		at[i] = cpu_to_le64(pagoda_update_entry(update, first + i));
}

/*
 * Returns the flags of a packet. INITIAL is only in an update's first packet, NOTIFY_EVICTION only
 * in the last, so that the device counts each of the two flags once for an update.
 */
static u32 update_flags(const struct pagoda_op_update_page_table *update, u32 done,
			const struct pagoda_pt_piece *piece)
{
	u32 flags = update->flags & VIRTIO_PAGODA_UPDATE_USE_64K;

	if (!done)
		flags |= update->flags & VIRTIO_PAGODA_UPDATE_INITIAL;
	if (done + piece->nr_entries == update->nr_entries)
		flags |= update->flags & VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION;
	return piece->repeat ? flags | VIRTIO_PAGODA_UPDATE_REPEAT : flags;
}

/* Returns how many bytes of virtual addresses each entry of the update translates. */
static u64 update_coverage(const struct pagoda_op_update_page_table *update)
{
	if (!update->level && pagoda_update_is_64k(update))
		return SZ_64K;
	return 1ull << pagoda_pt_shift(update->level);
}

/* Encodes the next packet of @op, advances @cursor and @buf; returns false if @buf has no room. */
static bool update_packet(const struct pagoda_paging_op *op, struct pagoda_paging_cursor *cursor,
			  struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;
	struct virtio_pagoda_update_page_table *packet = (void *)buf->pos;
	u64 skipped = cursor->done * update_coverage(update);
	struct pagoda_pt_piece piece;
	u32 length;

	if (!pagoda_buffer_has(buf, PAGODA_PT_HEAD + PAGODA_PT_VALUE))
		return false;
	piece = pt_next(update, cursor->done, (buf->size - PAGODA_PT_HEAD) / PAGODA_PT_VALUE);
	length = PAGODA_PT_HEAD + piece.nr_values * PAGODA_PT_VALUE;
	*packet = (struct virtio_pagoda_update_page_table) {
		.packet = pagoda_packet_head(op->operation,
					     update_flags(update, cursor->done, &piece),
					     length, op->allocation),
		.table_address = cpu_to_le64(update->table_address),
		.first_va = cpu_to_le64(update->first_va + skipped),
		.allocation_offset = cpu_to_le64(update->allocation_offset +
						 (op->allocation ? skipped : 0)),
		.driver_protection = cpu_to_le64(update->driver_protection &
						 ~PAGODA_PROTECTION_UNIQUE),
		.table_segment = cpu_to_le32(update->table_segment),
		.mode = cpu_to_le32(update->mode),
		.level = cpu_to_le32(update->level),
		.first_entry = cpu_to_le32(update->first_entry + cursor->done),
		.nr_entries = cpu_to_le32(piece.nr_entries),
		.nr_values = cpu_to_le32(piece.nr_values),
		.increment = cpu_to_le32(piece.increment),
		.address_space = cpu_to_le32(update->address_space),
	};
	pt_values_write(update, cursor->done, piece.nr_values, (void *)(packet + 1));
	pagoda_buffer_commit(buf, length, NULL, update->table_pages);
	cursor->done += piece.nr_entries;
	return true;
}

/* Stores the entries in the table, for CPU_VIRTUAL mode, in which nothing is encoded (C76). */
static void update_store(const struct pagoda_paging_limits *limits,
			 const struct pagoda_op_update_page_table *update)
{
	u32 stride = pagoda_pt_stride(limits, update->level);
	u8 *at = update->cpu_table + (u64)update->first_entry * stride +
		 pagoda_pt_word(limits, update->level, pagoda_update_is_64k(update));
	u32 i;

	for (i = 0; i < update->nr_entries; i++, at += stride)
		WRITE_ONCE(*(__le64 *)at, cpu_to_le64(pagoda_update_entry(update, i)));
}

/*
 * &pagoda_paging_row.build of UPDATE_PAGE_TABLE. In CPU_VIRTUAL mode @buf may be NULL: the CPU
 * stores each entry once, by a single 64-bit store, and the memory barrier behind the stores is up
 * to the caller.
 */
enum pagoda_build pagoda_update_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;

	if (update->mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL) {
		update_store(limits, update);
		cursor->done = update->nr_entries;
		return PAGODA_BUILD_SUCCESS;
	}
	while (cursor->done < update->nr_entries) {
		if (!update_packet(op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

u64 pagoda_update_moved(const struct pagoda_paging_op *op)
{
	return (u64)op->update_page_table.nr_entries * VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/*
 * Returns the moved bytes, and upper bounds of the encoded bytes and packets: those with an endless
 * buffer, plus the head of another packet for each end of a buffer that may split a packet. The
 * first buffer may be used in part; in the fresh buffers behind it less than a packet with a single
 * value stays free. In CPU_VIRTUAL mode only the moved bytes aren't 0.
 */
struct pagoda_paging_cost pagoda_update_cost(const struct pagoda_paging_limits *limits,
					     const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;
	struct pagoda_paging_cost cost = { .moved = pagoda_update_moved(op) };
	struct pagoda_pt_piece piece;
	u32 used = buffer_size - 2 * PAGODA_PT_HEAD - PAGODA_PT_VALUE;
	u64 rest, cuts = 1;
	u32 done;

	if (update->mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return cost;
	for (done = 0; done < update->nr_entries; done += piece.nr_entries) {
		piece = pt_next(update, done, U32_MAX);
		cost.encoded += PAGODA_PT_HEAD + piece.nr_values * PAGODA_PT_VALUE;
		cost.packets++;
	}
	if (cost.encoded == PAGODA_PT_HEAD + PAGODA_PT_VALUE)
		return cost;
	rest = cost.encoded + PAGODA_PT_HEAD;
	if (rest > buffer_size)
		cuts += DIV_ROUND_UP(rest - buffer_size, used);
	cost.encoded += cuts * PAGODA_PT_HEAD;
	cost.packets += cuts;
	return cost;
}
