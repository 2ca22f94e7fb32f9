// SPDX-License-Identifier: GPL-2.0
/*
 * VIRTUAL_TRANSFER and VIRTUAL_FILL: copies and fills by virtual addresses of the paging space.
 * Commands of jobs use the same copy and fill, with checks of their own.
 *
 * Every page of a packet is checked before the first byte changes, and the page's memory is stored
 * in run->spans for the copy or fill, if possible. The translation lock is released for a moment
 * after each PAGODA_CHUNK of work, so that no FLUSH_TLB waits long. If translations change in that
 * moment, the stored memory is dropped, and the rest of the packet uses the new pages or faults.
 */
#include "internal.h"

/*
 * Returns where the spans of memory are stored that the check of a packet found for its source
 * (ACCESS_READ) or its destination (ACCESS_WRITE).
 */
static struct pagoda_notes *notes_of(struct pagoda_exec *exec, u32 access)
{
	return &exec->notes[access == VIRTIO_PAGODA_ACCESS_WRITE];
}

/*
 * Checks the pages of a source or destination, also against @wants (PAGODA_VIRTUAL_*), and stores
 * the spans of memory found for them in the unused part of exec->run->spans, except for the last
 * @spare pointers. Returns 0 or a fault reason.
 */
static u32 side_check(struct pagoda_exec *exec, u64 va, u64 size, u32 access, u32 wants, u32 spare)
{
	struct pagoda_notes *notes = notes_of(exec, access);
	u32 reason;

	if (exec->spans)
		*notes = (struct pagoda_notes) {
			.next = exec->spans,
			.end = exec->spans,
			.limit = exec->run->spans + exec->engine->max_runs - spare,
		};
	reason = pagoda_engine_virtual_check(exec, 0, va, size, access, wants, notes);
	/*
	 * If translations changed, what was stored is dropped: exec->spans becomes NULL, and
	 * nothing is stored for the rest of the packet.
	 */
	exec->spans = notes->end;
	return reason;
}

/*
 * Checks the size and the address of a range, before any page table is read. Returns a fault
 * reason or 0.
 */
static u32 virtual_range_check(struct pagoda_exec *exec, u64 va, u64 size, u32 access)
{
	u64 limit = 1ull << exec->engine->va_bits;

	if (!exec->engine->nr_spaces)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_CONTEXT, 0, access);
	if (!size || size > VIRTIO_PAGODA_MAX_VIRTUAL)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, size, access);
	if (size % 4)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, size, access);
	if (va % 4)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, va, access);
	if (va > limit - size)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, va, access);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Returns what a VIRTUAL_TRANSFER requires of the pages of its source or destination, as
 * PAGODA_VIRTUAL_* bits (C73, C74).
 */
static u32 side_wants(const struct virtio_pagoda_virtual_transfer *transfer, u16 flag_64k,
		      u32 system_direction)
{
	u32 wants = le16_to_cpu(transfer->packet.flags) & flag_64k ? PAGODA_VIRTUAL_64K :
								     PAGODA_VIRTUAL_NOT_64K;

	return wants | (le32_to_cpu(transfer->direction) == system_direction ?
			PAGODA_VIRTUAL_SYSTEM : PAGODA_VIRTUAL_LOCAL);
}

static u32 virtual_transfer_fields(struct pagoda_exec *exec,
				   const struct virtio_pagoda_virtual_transfer *transfer)
{
	u64 src = le64_to_cpu(transfer->src_address);
	u64 dst = le64_to_cpu(transfer->dst_address);
	u32 direction = le32_to_cpu(transfer->direction);
	u64 size = le64_to_cpu(transfer->size);
	u32 reason;

	if (transfer->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(transfer->reserved));
	if (direction > VIRTIO_PAGODA_LOCAL_TO_LOCAL)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS, direction);
	reason = virtual_range_check(exec, src, size, VIRTIO_PAGODA_ACCESS_READ);
	if (reason)
		return reason;
	reason = virtual_range_check(exec, dst, size, VIRTIO_PAGODA_ACCESS_WRITE);
	if (reason)
		return reason;
	if (src < dst + size && dst < src + size)
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OVERLAP, dst,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return pagoda_engine_dirty_flags_check(exec, le16_to_cpu(transfer->packet.flags),
					       size | dst,
					       direction != VIRTIO_PAGODA_LOCAL_TO_SYSTEM,
					       direction != VIRTIO_PAGODA_SYSTEM_TO_LOCAL);
}

u32 pagoda_engine_virtual_transfer_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	u64 size = le64_to_cpu(transfer->size);
	u32 src_wants, dst_wants, reason;

	reason = virtual_transfer_fields(exec, transfer);
	if (reason)
		return reason;
	src_wants = side_wants(transfer, VIRTIO_PAGODA_VIRTUAL_SRC_64K,
			       VIRTIO_PAGODA_SYSTEM_TO_LOCAL);
	dst_wants = side_wants(transfer, VIRTIO_PAGODA_VIRTUAL_DST_64K,
			       VIRTIO_PAGODA_LOCAL_TO_SYSTEM);
	/*
	 * Leave a sixteenth of run->spans for the destination, which usually is contiguous if the
	 * source isn't.
	 */
	reason = side_check(exec, le64_to_cpu(transfer->src_address), size,
			    VIRTIO_PAGODA_ACCESS_READ, src_wants, exec->engine->max_runs / 16);
	if (reason)
		return reason;
	return side_check(exec, le64_to_cpu(transfer->dst_address), size,
			  VIRTIO_PAGODA_ACCESS_WRITE, dst_wants, 0);
}

/*
 * Prepares the access to the current span of a source or destination, which isn't snooped. For a
 * read, the write combiner's lines of this memory are written back. For a write, the span may be
 * redirected to a line of the combiner; if the write ends with this span (@want bytes), the
 * combiner may cut off the span's last line.
 */
static void side_combine(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 want)
{
	if (side->access == VIRTIO_PAGODA_ACCESS_WRITE)
		pagoda_engine_combine_write(exec, &side->span.here, &side->span.size,
					    side->span.size == want);
	else
		pagoda_engine_combine_meet(exec, side->span.here, side->span.size);
}

/*
 * Sets side->span to the next memory of a source or destination that is contiguous for the CPU, at
 * most @want bytes. Does nothing while side->span isn't used up. Returns 0 or a fault reason.
 */
u32 pagoda_engine_side_refill(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 want)
{
	struct pagoda_notes *notes = side->notes;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	bool noted = notes && notes->next != notes->end;

	if (side->span.size)
		return reason;
	if (noted) {
		side->span.here = notes->next[0];
		side->span.size = min_t(u64, want, notes->next[1] - notes->next[0]);
		side->span.combined = notes->combined;
	} else {
		reason = pagoda_engine_virtual_span(exec, side->space, side->va, want,
						    side->access, &side->span);
	}
	if (!reason && side->span.combined)
		side_combine(exec, side, want);
	if (noted) {
		notes->next[0] += side->span.size;
		if (notes->next[0] == notes->next[1])
			notes->next += 2;
	}
	return reason;
}

/*
 * Looks up the memory of the next @size bytes of a source or destination, up to the first fault,
 * and stores the memory for the copy, in half of the room of exec->run->spans. To look up all pages
 * first is faster than to look up each page after the copy of the page before: such a copy fills
 * the CPU's store buffer.
 */
void pagoda_engine_side_ahead(struct pagoda_exec *exec, struct pagoda_span_side *side, u64 size)
{
	struct pagoda_notes *notes = notes_of(exec, side->access);
	u32 half = exec->engine->max_runs / 2;
	struct pagoda_virtual_span span;
	u8 **room = exec->run->spans;
	u64 va = side->va;

	if (!room)
		return;
	if (side->access == VIRTIO_PAGODA_ACCESS_WRITE)
		room += half;
	side->notes = notes;
	*notes = (struct pagoda_notes) { .next = room, .end = room, .limit = room + half };
	for (; size && notes->limit; va += span.size, size -= span.size) {
		/* Not reported here: the copy meets the same fault when it reaches @va. */
		if (pagoda_engine_virtual_span(exec, side->space, va, size, side->access, &span))
			break;
		pagoda_engine_note(notes, &span);
	}
}

static void side_copy(u8 *dst, const u8 *src, u64 size)
{
	if (src)
		pagoda_copy(dst, src, size);
	else
		memset(dst, 0, size);	/* C94: @src is a page of zeros */
}

/*
 * Copies @left bytes from @src to @dst; @flags may have CLEAN or DIRTY, as in a packet. The sides'
 * spans (&pagoda_span_side.span) are empty before the call. The spans are empty again after a call
 * that returns no fault, because this function takes no span that reaches beyond the @left bytes.
 * So the caller may release the translation lock between two calls, although a release makes spans
 * invalid. Returns a fault reason, or 0.
 */
u32 pagoda_engine_virtual_copy(struct pagoda_exec *exec, struct pagoda_span_side *src,
			       struct pagoda_span_side *dst, u64 left, u16 flags)
{
	bool only_dirty = flags & VIRTIO_PAGODA_TRANSFER_DIRTY;
	bool clean = flags & VIRTIO_PAGODA_TRANSFER_CLEAN;
	const u8 *start = NULL;
	u64 whole = 0, size;
	u32 reason;

	while (left) {
		bool next = !src->span.size;

		reason = pagoda_engine_side_refill(exec, src, left);
		if (next) {
			start = src->span.here;
			whole = src->span.size;
		}
		if (!reason)
			reason = pagoda_engine_side_refill(exec, dst, left);
		if (reason)
			return reason;
		size = min(src->span.size, dst->span.size);
		if (only_dirty && !pagoda_engine_is_dirty(exec->engine, src->span.here, &size,
							  start, whole)) {
			exec->run->skipped += size;
		} else if (dst->span.here) {
			side_copy(dst->span.here, src->span.here, size);
			pagoda_engine_wrote(exec->engine, dst->span.here, size);
			if (clean)
				pagoda_engine_cleaned(exec->engine, dst->span.here, size);
		}
		pagoda_side_advance(src, size);
		pagoda_side_advance(dst, size);
		left -= size;
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_virtual_transfer_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_virtual_transfer *transfer = packet;
	u64 left = ALIGN_DOWN(le64_to_cpu(transfer->size) >> exec->half, 4);
	u16 flags = le16_to_cpu(transfer->packet.flags);
	struct pagoda_span_side src = {
		.va = le64_to_cpu(transfer->src_address),
		.access = VIRTIO_PAGODA_ACCESS_READ,
		.notes = notes_of(exec, VIRTIO_PAGODA_ACCESS_READ),
	};
	struct pagoda_span_side dst = {
		.va = le64_to_cpu(transfer->dst_address),
		.access = VIRTIO_PAGODA_ACCESS_WRITE,
		.notes = notes_of(exec, VIRTIO_PAGODA_ACCESS_WRITE),
	};
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	while (left && !reason) {
		u32 chunk = min_t(u64, left, PAGODA_CHUNK);

		reason = pagoda_engine_virtual_copy(exec, &src, &dst, chunk, flags);
		left -= chunk;
		pagoda_virtual_progress(exec, chunk);
	}
	return reason;
}

/*
 * Fills with @pattern the next memory of @dst that is contiguous, at most @want bytes; sets *@size
 * to the number of bytes filled, or dropped in a page of zeros. Returns 0 or a fault reason.
 */
u32 pagoda_engine_virtual_fill(struct pagoda_exec *exec, struct pagoda_span_side *dst, u64 want,
			       u32 pattern, u64 *size)
{
	u32 reason = pagoda_engine_side_refill(exec, dst, want);

	if (reason)
		return reason;
	*size = dst->span.size;
	if (dst->span.here)
		pagoda_engine_fill_words(dst->span.here, *size, pattern);
	if (dst->span.here)
		pagoda_engine_wrote(exec->engine, dst->span.here, *size);
	pagoda_side_advance(dst, *size);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_engine_virtual_fill_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_virtual_fill *fill = packet;
	u64 address = le64_to_cpu(fill->address);
	u64 size = le64_to_cpu(fill->size);
	u32 reason;

	if (fill->reserved)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_RESERVED,
				     le32_to_cpu(fill->reserved));
	reason = virtual_range_check(exec, address, size, VIRTIO_PAGODA_ACCESS_WRITE);
	if (reason)
		return reason;
	return side_check(exec, address, size, VIRTIO_PAGODA_ACCESS_WRITE, 0, 0);
}

u32 pagoda_engine_virtual_fill_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_virtual_fill *fill = packet;
	u64 left = ALIGN_DOWN(le64_to_cpu(fill->size) >> exec->half, 4);
	struct pagoda_span_side dst = {
		.va = le64_to_cpu(fill->address),
		.access = VIRTIO_PAGODA_ACCESS_WRITE,
		.notes = notes_of(exec, VIRTIO_PAGODA_ACCESS_WRITE),
	};
	u64 size;
	u32 reason;

	while (left) {
		reason = pagoda_engine_virtual_fill(exec, &dst, min_t(u64, left, PAGODA_CHUNK),
						    le32_to_cpu(fill->pattern), &size);
		if (reason)
			return reason;
		left -= size;
		pagoda_virtual_progress(exec, size);
	}
	return VIRTIO_PAGODA_FAULT_NONE;
}
