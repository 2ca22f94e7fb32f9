// SPDX-License-Identifier: GPL-2.0
/*
 * UPDATE_PAGE_TABLE (C86 - C100). Progress is counted in entries.
 *
 * Entries whose addresses grow by the same number of bytes, and entries that are
 * all the same, are one value however many there are. A run shorter than what a
 * packet of its own costs stays among the values around it. Where a run begins and
 * ends depends on the entries only and never on the buffer, so that a cut costs one
 * head and nothing else.
 */
#include <linux/compiler.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "pt.h"
#include "table.h"

/*
 * A value of its own packet, in the middle of others: its packet and the head of the
 * one that goes on with them. At the end nothing goes on.
 */
#define PAGODA_PT_HEAD		sizeof(struct virtio_pagoda_update_page_table)
#define PAGODA_PT_VALUE		VIRTIO_PAGODA_PT_ENTRY_BYTES
#define PAGODA_PT_RUN		(2 * PAGODA_PT_HEAD / PAGODA_PT_VALUE + 2)
#define PAGODA_PT_RUN_AT_END	(PAGODA_PT_HEAD / PAGODA_PT_VALUE + 2)
/* Two entries that don't make a run; never a step, as steps are whole pages. */
#define PAGODA_PT_NO_STEP	1ull

u64 pagoda_update_tail(const void *packet)
{
	const struct virtio_pagoda_update_page_table *update = packet;

	return (u64)le32_to_cpu(update->nr_values) * VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/* Entries of the next packet, and the values it takes to say so. */
struct pagoda_pt_piece {
	u32 nr_entries;
	u32 nr_values;
	u32 increment;
	bool repeat;
};

/* Bytes that the address grows by from an entry to the next, if nothing else changes. */
static inline u64 pagoda_pt_step(u64 entry, u64 next)
{
	u64 step = next - entry;

	if ((entry ^ next) & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK || step > U32_MAX)
		return PAGODA_PT_NO_STEP;
	return step;
}

/* The run that starts at entry @first: how long, and its step. */
static u32 pagoda_pt_run(const struct pagoda_op_update_page_table *update, u32 first, u64 *step)
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
		/* An address that grew out of its bits is none. */
		if (pagoda_update_entry(update, i) != next ||
		    (next ^ entry) & ~VIRTIO_PAGODA_PTE_ADDRESS_MASK)
			break;
	}
	return i - first;
}

/* Where the run that entries @at and the next one are in starts, at @first or later. */
static u32 pagoda_pt_run_start(const struct pagoda_op_update_page_table *update, u32 first,
			       u32 at)
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

/* Are three entries from @at on in one run? */
static bool pagoda_pt_is_run(const struct pagoda_op_update_page_table *update, u32 at)
{
	u64 middle = pagoda_update_entry(update, at + 1);
	u64 step = pagoda_pt_step(pagoda_update_entry(update, at), middle);

	return step != PAGODA_PT_NO_STEP &&
	       step == pagoda_pt_step(middle, pagoda_update_entry(update, at + 2));
}

/* Is a run worth a packet? */
static bool pagoda_pt_run_pays(u32 length, bool at_start, bool at_end)
{
	if (at_end)
		return at_start || length >= PAGODA_PT_RUN_AT_END;
	return length >= PAGODA_PT_RUN;
}

/*
 * What pagoda_pt_values() does while nothing it looks at is a run, which is the usual case
 * where memory is scattered: then it is all there is to do. Mostly the distances say so.
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
 * Entries from @first on up to the next run that pays, or the end; at most @fit. A
 * run that reaches past what fits is looked at whole, so that it isn't cut.
 *
 * No run that pays begins before @at. The next one, if it begins before the last three
 * of as many entries as pay, has those in it, and if it only pays because it ends the
 * list, the last three of that: others needn't be looked at. That @first begins none is
 * known.
 */
static u32 pagoda_pt_values(const struct pagoda_op_update_page_table *update, u32 first, u32 fit)
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
		if (!pagoda_pt_is_run(update, probe)) {
			at = probe + 3 == end ? end : probe + 1;
			continue;
		}
		start = pagoda_pt_run_start(update, first, probe);
		run = pagoda_pt_run(update, start, &step);
		if (start != first && pagoda_pt_run_pays(run, false, run == end - start)) {
			at = start;
			break;
		}
		/* No run that pays begins within one that doesn't; its last may begin another. */
		at = start + run == end ? end : start + run - 1;
	}
	return min(at - first, fit);
}

static struct pagoda_pt_piece pagoda_pt_next(const struct pagoda_op_update_page_table *update,
					     u32 first, u32 fit)
{
	u32 left = update->nr_entries - first, run;
	struct pagoda_pt_piece piece = { .nr_entries = left, .nr_values = 1, .repeat = true };
	u64 step;

	if (update->flags & VIRTIO_PAGODA_UPDATE_REPEAT)
		return piece;
	run = pagoda_pt_run(update, first, &step);
	if (pagoda_pt_run_pays(run, true, run == left)) {
		piece.nr_entries = run;
		piece.repeat = run > 1 && !step;
		piece.increment = run > 1 ? step : 0;
		return piece;
	}
	piece.nr_entries = pagoda_pt_values(update, first, fit);
	piece.nr_values = piece.nr_entries;
	piece.repeat = false;
	return piece;
}

static void pagoda_pt_values_write(const struct pagoda_op_update_page_table *update, u32 first,
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

/* INITIAL is for the first packet and NOTIFY_EVICTION for the last: one note each. */
static u32 pagoda_update_flags(const struct pagoda_op_update_page_table *update, u32 done,
			       const struct pagoda_pt_piece *piece)
{
	u32 flags = update->flags & VIRTIO_PAGODA_UPDATE_USE_64K;

	if (!done)
		flags |= update->flags & VIRTIO_PAGODA_UPDATE_INITIAL;
	if (done + piece->nr_entries == update->nr_entries)
		flags |= update->flags & VIRTIO_PAGODA_UPDATE_NOTIFY_EVICTION;
	return piece->repeat ? flags | VIRTIO_PAGODA_UPDATE_REPEAT : flags;
}

/* Bytes that an entry of the update translates. */
static u64 pagoda_update_coverage(const struct pagoda_op_update_page_table *update)
{
	if (!update->level && pagoda_update_is_64k(update))
		return SZ_64K;
	return 1ull << pagoda_pt_shift(update->level);
}

/* Encodes the next packet; false if there is no room for one. */
static bool pagoda_update_packet(const struct pagoda_paging_op *op,
				 struct pagoda_paging_cursor *cursor,
				 struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;
	struct virtio_pagoda_update_page_table *packet = (void *)buf->pos;
	u64 skipped = cursor->done * pagoda_update_coverage(update);
	struct pagoda_pt_piece piece;
	u32 length;

	if (!pagoda_buffer_has(buf, PAGODA_PT_HEAD + PAGODA_PT_VALUE))
		return false;
	piece = pagoda_pt_next(update, cursor->done,
			       (buf->size - PAGODA_PT_HEAD) / PAGODA_PT_VALUE);
	length = PAGODA_PT_HEAD + piece.nr_values * PAGODA_PT_VALUE;
	*packet = (struct virtio_pagoda_update_page_table) {
		.packet = pagoda_packet_head(op->operation,
					     pagoda_update_flags(update, cursor->done, &piece),
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
	pagoda_pt_values_write(update, cursor->done, piece.nr_values, (void *)(packet + 1));
	pagoda_buffer_commit(buf, length, NULL, update->table_pages);
	cursor->done += piece.nr_entries;
	return true;
}

/* The table is there now: nothing is left for a buffer (C76). */
static void pagoda_update_store(const struct pagoda_paging_limits *limits,
				const struct pagoda_op_update_page_table *update)
{
	u32 stride = pagoda_pt_stride(limits, update->level);
	u8 *at = update->cpu_table + (u64)update->first_entry * stride +
		 pagoda_pt_word(limits, update->level, pagoda_update_is_64k(update));
	u32 i;

	for (i = 0; i < update->nr_entries; i++, at += stride)
		WRITE_ONCE(*(__le64 *)at, cpu_to_le64(pagoda_update_entry(update, i)));
}

/**
 * pagoda_update_build() - Encode an UPDATE_PAGE_TABLE, or store it
 * @limits: Of the device
 * @op: Valid operation
 * @cursor: Entries encoded so far
 * @buf: Where to; in CPU_VIRTUAL mode not looked at, so it may be NULL
 *
 * In CPU_VIRTUAL mode every entry is stored once, in one access; who makes others
 * see them orders that.
 *
 * Context: any.
 * Return: built, or insufficient buffer.
 */
enum pagoda_build pagoda_update_build(const struct pagoda_paging_limits *limits,
				      const struct pagoda_paging_op *op,
				      struct pagoda_paging_cursor *cursor,
				      struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_update_page_table *update = &op->update_page_table;

	if (update->mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL) {
		pagoda_update_store(limits, update);
		cursor->done = update->nr_entries;
		return PAGODA_BUILD_SUCCESS;
	}
	while (cursor->done < update->nr_entries) {
		if (!pagoda_update_packet(op, cursor, buf))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

/**
 * pagoda_update_moved() - Bytes of entries that an UPDATE_PAGE_TABLE writes
 * @op: Valid operation
 *
 * Context: any.
 * Return: the bytes.
 */
u64 pagoda_update_moved(const struct pagoda_paging_op *op)
{
	return (u64)op->update_page_table.nr_entries * VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/**
 * pagoda_update_cost() - Upper bounds for an UPDATE_PAGE_TABLE
 * @limits: Of the device
 * @op: Valid operation
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * The packets it takes without end of a buffer, and a head for every end there can
 * be: one of a buffer that was nearly full, and those of fresh ones that are used up
 * but for less than a packet of one value.
 *
 * Context: any. Reads the entries.
 * Return: the bounds; all zero in CPU_VIRTUAL mode but what is written.
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
		piece = pagoda_pt_next(update, done, U32_MAX);
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
