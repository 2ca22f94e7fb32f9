// SPDX-License-Identifier: GPL-2.0
/*
 * TRANSFER: checks the packet and copies from any segment to any segment, in pieces that are
 * contiguous on both sides. Copies that swizzle or unswizzle a surface in VRAM are in swizzle.c.
 */
#include "internal.h"

static bool transfer_is_tiled(const struct virtio_pagoda_transfer *transfer)
{
	return le16_to_cpu(transfer->packet.flags) &
	       (VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE);
}

static bool transfer_swizzles(const struct virtio_pagoda_transfer *transfer)
{
	return le16_to_cpu(transfer->packet.flags) & VIRTIO_PAGODA_TRANSFER_SWIZZLE;
}

static const struct virtio_pagoda_tiled *
transfer_tiled(const struct virtio_pagoda_transfer *transfer)
{
	return (const void *)(transfer + 1);
}

static const struct virtio_pagoda_run *
transfer_src_runs(const struct virtio_pagoda_transfer *transfer)
{
	return (const void *)(transfer_tiled(transfer) + transfer_is_tiled(transfer));
}

static const struct virtio_pagoda_run *
transfer_dst_runs(const struct virtio_pagoda_transfer *transfer)
{
	return transfer_src_runs(transfer) + le32_to_cpu(transfer->src.nr_runs);
}

/* Returns the number of runs of source and destination together. */
u64 pagoda_engine_transfer_runs(const struct virtio_pagoda_transfer *transfer)
{
	return (u64)le32_to_cpu(transfer->src.nr_runs) + le32_to_cpu(transfer->dst.nr_runs);
}

u64 pagoda_engine_transfer_tail(const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;

	return pagoda_engine_transfer_runs(transfer) * sizeof(struct virtio_pagoda_run) +
	       transfer_is_tiled(transfer) * sizeof(struct virtio_pagoda_tiled);
}

static bool runs_overlap(const struct virtio_pagoda_run *a, const struct virtio_pagoda_run *b)
{
	u64 a_start = le64_to_cpu(a->address), b_start = le64_to_cpu(b->address);

	return a_start < b_start + le32_to_cpu(b->nr_pages) * PAGODA_PAGE &&
	       b_start < a_start + le32_to_cpu(a->nr_pages) * PAGODA_PAGE;
}

/*
 * Returns whether the run lists of source and destination share a page. If they do, *@address
 * receives the address of the destination's run in the first pair of runs that overlap, in the
 * order of the loops. Compares each run with each, without sorting: copies within system memory are
 * rare.
 */
static bool transfer_runs_overlap(struct pagoda_exec *exec,
				  const struct virtio_pagoda_transfer *transfer, u64 *address)
{
	const struct virtio_pagoda_run *src = transfer_src_runs(transfer);
	const struct virtio_pagoda_run *dst = transfer_dst_runs(transfer);
	u32 nr_src = le32_to_cpu(transfer->src.nr_runs);
	u32 nr_dst = le32_to_cpu(transfer->dst.nr_runs);
	u32 i, j;

	for (i = 0; i < nr_src; i++) {
		for (j = 0; j < nr_dst; j++) {
			if (runs_overlap(&src[i], &dst[j])) {
				*address = le64_to_cpu(dst[j].address);
				return true;
			}
		}
		pagoda_shim_yield();
	}
	return false;
}

/*
 * Returns whether source and destination overlap by the addresses in the packet. Addresses that
 * only lead to the same page of memory, of two aperture pages or of an aperture page and a run,
 * don't count: aperture pages after their UNMAP lead to the dummy page (C58). If true is returned,
 * *@address is the address at which the destination begins, even if the overlap begins later; in
 * system memory, the address of the destination's run that transfer_runs_overlap() found.
 */
static bool transfer_overlaps(struct pagoda_exec *exec,
			      const struct virtio_pagoda_transfer *transfer, u64 *address)
{
	u64 src = le64_to_cpu(transfer->src.address);
	u64 dst = le64_to_cpu(transfer->dst.address);
	u64 src_size = le64_to_cpu(transfer->size);
	u64 dst_size = src_size;

	*address = dst;
	if (transfer->src.segment != transfer->dst.segment)
		return false;
	if (le32_to_cpu(transfer->src.segment) == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return transfer_runs_overlap(exec, transfer, address);
	if (transfer_is_tiled(transfer)) {
		u64 surface = le64_to_cpu(transfer_tiled(transfer)->surface_size);

		*(transfer_swizzles(transfer) ? &dst_size : &src_size) = surface;
	}
	return src < dst + dst_size && dst < src + src_size;
}

/*
 * Checks the size and the number of runs of a TRANSFER or SPECIAL_LOCK_TRANSFER. Returns a fault
 * reason or 0.
 */
u32 pagoda_engine_transfer_size_check(struct pagoda_exec *exec,
				      const struct virtio_pagoda_transfer *transfer)
{
	u64 nr_runs = pagoda_engine_transfer_runs(transfer);
	u64 size = le64_to_cpu(transfer->size);

	if (!size)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	if (size % 4)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_MISALIGNED, size);
	if (nr_runs > exec->engine->max_runs)
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_RUNS, nr_runs);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/* Returns whether @side is in VRAM, so that CLEAN or DIRTY is possible; false if tiled. */
static bool transfer_is_in_vram(const struct virtio_pagoda_transfer *transfer,
				const struct virtio_pagoda_location *side)
{
	return !transfer_is_tiled(transfer) &&
	       le32_to_cpu(side->segment) == VIRTIO_PAGODA_SEGMENT_VRAM;
}

/*
 * Accepts CLEAN and DIRTY as pagoda_engine_dirty_flags_check() does. Refuses flag SWIZZLE together
 * with UNSWIZZLE, and each of them unless SPECIAL_LOCK_TRANSFER is negotiated. Returns a fault
 * reason or 0.
 */
static u32 transfer_flags_check(struct pagoda_exec *exec,
				const struct virtio_pagoda_transfer *transfer)
{
	u64 tiling = 1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER);
	u16 both = VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	u16 flags = le16_to_cpu(transfer->packet.flags) & both;

	if (flags == both || (flags && !(exec->engine->features & tiling)))
		return pagoda_refuse(exec, VIRTIO_PAGODA_FAULT_BAD_FLAGS, flags);
	return pagoda_engine_dirty_flags_check(exec, le16_to_cpu(transfer->packet.flags),
					       le64_to_cpu(transfer->size),
					       transfer_is_in_vram(transfer, &transfer->dst),
					       transfer_is_in_vram(transfer, &transfer->src));
}

static u32 transfer_side_check(struct pagoda_exec *exec,
			       const struct virtio_pagoda_transfer *transfer, bool dst)
{
	u32 access = dst ? VIRTIO_PAGODA_ACCESS_WRITE : VIRTIO_PAGODA_ACCESS_READ;
	u64 size = le64_to_cpu(transfer->size);

	if (transfer_is_tiled(transfer) && transfer_swizzles(transfer) == dst)
		return pagoda_engine_tiled_check(exec, dst ? &transfer->dst : &transfer->src,
						 transfer_tiled(transfer), size, access);
	if (dst)
		return pagoda_engine_location_check(exec, &transfer->dst,
						    transfer_dst_runs(transfer), size,
						    access);
	return pagoda_engine_location_check(exec, &transfer->src,
					    transfer_src_runs(transfer), size, access);
}

u32 pagoda_engine_transfer_validate(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;
	u64 address;
	u32 reason;

	reason = transfer_flags_check(exec, transfer);
	if (reason)
		return reason;
	reason = pagoda_engine_transfer_size_check(exec, transfer);
	if (reason)
		return reason;
	reason = transfer_side_check(exec, transfer, false);
	if (reason)
		return reason;
	reason = transfer_side_check(exec, transfer, true);
	if (reason)
		return reason;
	if (transfer_overlaps(exec, transfer, &address))
		return pagoda_engine_refuse(exec, VIRTIO_PAGODA_FAULT_OVERLAP, address,
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Copies @left bytes. With @only_dirty, skips and counts the bytes for which
 * pagoda_engine_is_dirty() returns false. Returns a fault reason, PAGODA_STOPPED or 0.
 */
static u32 transfer_copy(struct pagoda_exec *exec, struct pagoda_cursor *src,
			 struct pagoda_cursor *dst, u64 left, bool only_dirty)
{
	/* Used with @only_dirty only: the source is then one range of VRAM, which begins here. */
	const u8 *start = exec->engine->vram + src->address;
	u64 whole = left;
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;

	while (left && !reason) {
		u64 size;

		if (!src->here_size) {
			reason = pagoda_engine_cursor_refill(exec, src);
			if (reason)
				return reason;
		}
		if (!dst->here_size) {
			reason = pagoda_engine_cursor_refill(exec, dst);
			if (reason)
				return reason;
		}
		size = min(src->here_size, dst->here_size);
		size = min_t(u64, size, PAGODA_CHUNK);
		if (only_dirty && !pagoda_engine_is_dirty(exec->engine, src->here, &size, start,
							  whole)) {
			exec->run->skipped += size;
		} else {
			pagoda_copy(dst->here, src->here, size);
			pagoda_engine_wrote(exec->engine, dst->here, size);
		}
		src->here += size;
		src->here_size -= size;
		dst->here += size;
		dst->here_size -= size;
		left -= size;
		reason = pagoda_progress(exec, size);
	}
	return reason;
}

static u32 transfer_linear(struct pagoda_exec *exec, const struct virtio_pagoda_transfer *transfer,
			   struct pagoda_cursor *src, struct pagoda_cursor *dst, u64 left)
{
	u16 flags = le16_to_cpu(transfer->packet.flags);
	u32 reason = transfer_copy(exec, src, dst, left, flags & VIRTIO_PAGODA_TRANSFER_DIRTY);

	if (!reason && flags & VIRTIO_PAGODA_TRANSFER_CLEAN && !exec->half)
		pagoda_engine_cleaned(exec->engine,
				      exec->engine->vram + le64_to_cpu(transfer->dst.address),
				      left);
	return reason;
}

u32 pagoda_engine_transfer_execute(struct pagoda_exec *exec, const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;
	const struct virtio_pagoda_tiled *tiled = transfer_tiled(transfer);
	u64 left = ALIGN_DOWN(le64_to_cpu(transfer->size) >> exec->half, 4);
	bool swizzle = transfer_swizzles(transfer);
	u8 *const *spans = exec->run->spans;
	struct pagoda_cursor src, dst;

	pagoda_engine_cursor_init(&src, &transfer->src, transfer_src_runs(transfer), spans, left,
				  VIRTIO_PAGODA_ACCESS_READ);
	if (spans)
		spans += le32_to_cpu(transfer->src.nr_runs);
	pagoda_engine_cursor_init(&dst, &transfer->dst, transfer_dst_runs(transfer), spans, left,
				  VIRTIO_PAGODA_ACCESS_WRITE);
	src.combines = true;
	dst.combines = true;
	if (!transfer_is_tiled(transfer))
		return transfer_linear(exec, transfer, &src, &dst, left);
	if (transfer->packet.allocation)
		return pagoda_engine_tiled_copy(exec, (swizzle ? &dst : &src)->address, tiled,
						swizzle ? &src : &dst, left, swizzle);
	/* C31: without an allocation bytes are copied as they are, whatever the flags. */
	(swizzle ? &dst : &src)->address += le64_to_cpu(tiled->offset);
	return transfer_copy(exec, &src, &dst, left, false);
}
