// SPDX-License-Identifier: GPL-2.0
/*
 * TRANSFER (C26 - C35): copies from and to VRAM, aperture or page lists; with SWIZZLE or UNSWIZZLE,
 * and an allocation, one side is a tiled surface in VRAM. SPECIAL_LOCK_TRANSFER: copies between a
 * tiled surface in VRAM, which the CPU sees untiled in a swizzling range, and memory outside VRAM.
 *
 * An operation is a single packet, unless its size is 0 (no packet), or its page lists have more
 * runs than a packet may have or the buffer has room for. &pagoda_paging_cursor.done is in bytes;
 * all packets but the last end at the end of a page. A surface's location is that of its first byte
 * in every packet; struct virtio_pagoda_tiled says where in its linear view the packet's bytes are.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "runs.h"
#include "table.h"

#define PAGODA_TRANSFER_TILING	(VIRTIO_PAGODA_TRANSFER_SWIZZLE | \
				 VIRTIO_PAGODA_TRANSFER_UNSWIZZLE)
#define PAGODA_TRANSFER_TRACKING (VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY)
#define PAGODA_TRANSFER_ENDS	(VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END)

/* Number of pages that a packet copies, and the numbers of runs of its source and destination. */
struct pagoda_transfer_runs {
	u64 pages;
	u32 nr_src;
	u32 nr_dst;
};

u64 pagoda_transfer_tail(const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;
	bool tiled = le16_to_cpu(transfer->packet.flags) & PAGODA_TRANSFER_TILING;

	return pagoda_special_lock_tail(packet) + tiled * sizeof(struct virtio_pagoda_tiled);
}

u64 pagoda_special_lock_tail(const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;

	return ((u64)le32_to_cpu(transfer->src.nr_runs) + le32_to_cpu(transfer->dst.nr_runs)) *
	       sizeof(struct virtio_pagoda_run);
}

/* Returns the side that is a tiled surface, NULL if neither side is. */
static const struct pagoda_side *transfer_surface(const struct pagoda_paging_op *op)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;

	if (op->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER)
		return transfer->src.segment == VIRTIO_PAGODA_SEGMENT_VRAM ? &transfer->src :
									     &transfer->dst;
	/* Without an allocation the copy is linear, whatever the flags (C31). */
	if (!op->allocation || !(transfer->flags & PAGODA_TRANSFER_TILING))
		return NULL;
	return transfer->flags & VIRTIO_PAGODA_TRANSFER_SWIZZLE ? &transfer->dst : &transfer->src;
}

/* Returns how many bytes of a packet come before the runs of its page lists. */
static u32 transfer_head(const struct pagoda_paging_op *op)
{
	if (op->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER)
		return sizeof(struct virtio_pagoda_special_lock_transfer);
	return sizeof(struct virtio_pagoda_transfer) +
	       !!transfer_surface(op) * sizeof(struct virtio_pagoda_tiled);
}

/*
 * Checks the flags CLEAN and DIRTY of a TRANSFER or VIRTUAL_TRANSFER; @flags has no other. CLEAN
 * needs @into (whole pages of VRAM are the destination), DIRTY needs @out (the source is in VRAM),
 * and both together are refused. Returns 0, or a negative errno with the reason in *@why.
 */
int pagoda_tracking_validate(const struct pagoda_paging_limits *limits, u32 flags, bool into,
			     bool out, const char **why)
{
	if (!flags)
		return 0;
	if (!(limits->features & 1ull << VIRTIO_PAGODA_F_DIRTY))
		return pagoda_refuse(why, -EOPNOTSUPP, "transfer: device has no dirty tracking");
	if (flags == PAGODA_TRANSFER_TRACKING ||
	    (flags == VIRTIO_PAGODA_TRANSFER_CLEAN && !into) ||
	    (flags == VIRTIO_PAGODA_TRANSFER_DIRTY && !out))
		return pagoda_refuse(why, -EINVAL, "transfer: clean or dirty at the wrong side");
	return 0;
}

static int transfer_flags_validate(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op, const char **why)
{
	u64 tiling = 1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER);
	u32 flags = op->transfer.flags;

	if (flags & ~(PAGODA_TRANSFER_TILING | PAGODA_TRANSFER_ENDS | PAGODA_TRANSFER_TRACKING |
		      PAGODA_ALLOCATION_IS_IDLE))
		return pagoda_refuse(why, -EINVAL, "transfer: unknown flag");
	if (flags & PAGODA_TRANSFER_TRACKING &&
	    (flags & PAGODA_TRANSFER_TILING ||
	     op->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER))
		return pagoda_refuse(why, -EINVAL, "transfer: tiled, clean or dirty");
	if ((flags & PAGODA_TRANSFER_TILING) == PAGODA_TRANSFER_TILING)
		return pagoda_refuse(why, -EINVAL, "transfer: swizzle and unswizzle");
	if (flags & PAGODA_TRANSFER_TILING && op->allocation && !(limits->features & tiling))
		return pagoda_refuse(why, -EOPNOTSUPP, "transfer: device has no tiling");
	return pagoda_tracking_validate(limits, flags & PAGODA_TRANSFER_TRACKING,
					op->transfer.dst.segment == VIRTIO_PAGODA_SEGMENT_VRAM &&
					!(op->transfer.size & PAGODA_PAGE_MASK),
					op->transfer.src.segment == VIRTIO_PAGODA_SEGMENT_VRAM,
					why);
}

static int surface_validate(const struct pagoda_paging_limits *limits,
			    const struct pagoda_op_transfer *transfer,
			    const struct pagoda_side *surface, const char **why)
{
	if (surface->segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL, "surface: not in VRAM");
	if (surface->generation)
		return pagoda_refuse(why, -EINVAL, "side: generation outside the aperture");
	if (!transfer->size)
		return 0;
	if (surface->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "side: address misaligned");
	if (!pagoda_within(surface->address, transfer->surface_size, limits->vram_size))
		return pagoda_refuse(why, -ERANGE, "side: outside the segment");
	if (!pagoda_within(transfer->offset, transfer->size, transfer->surface_size))
		return pagoda_refuse(why, -ERANGE, "surface: piece outside");
	return pagoda_layout_validate(&transfer->layout, transfer->surface_size, why);
}

static int transfer_side_validate(const struct pagoda_paging_limits *limits,
				  const struct pagoda_paging_op *op, const struct pagoda_side *side,
				  const char **why)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;

	if (side == transfer_surface(op))
		return surface_validate(limits, transfer, side, why);
	return pagoda_side_validate(limits, side, transfer->offset, transfer->mdl_offset,
				    transfer->size, why);
}

/*
 * Returns whether source and destination overlap. Two page lists that aren't both contiguous count
 * as overlapping only if they are the same list: the caller of pagoda_paging_validate() makes sure
 * that different lists have no page in common.
 */
static bool sides_overlap(const struct pagoda_paging_op *op)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	const struct pagoda_side *surface = transfer_surface(op);
	u64 src = transfer->src.address + transfer->offset, src_size = transfer->size;
	u64 dst = transfer->dst.address + transfer->offset, dst_size = transfer->size;

	if (!transfer->size || transfer->src.segment != transfer->dst.segment)
		return false;
	if (transfer->src.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		if (!transfer->src.adl->contiguous || !transfer->dst.adl->contiguous)
			return transfer->src.adl == transfer->dst.adl;
		src = transfer->src.adl->base;
		dst = transfer->dst.adl->base;
	}
	if (surface == &transfer->src) {
		src -= transfer->offset;
		src_size = transfer->surface_size;
	} else if (surface) {
		dst -= transfer->offset;
		dst_size = transfer->surface_size;
	}
	return src < dst + dst_size && dst < src + src_size;
}

/*
 * &pagoda_paging_row.validate of TRANSFER and SPECIAL_LOCK_TRANSFER. Addresses and page lists of a
 * transfer of size zero, which encodes nothing (C35), aren't checked. Returns 0, or a negative
 * errno with the reason in *@why.
 */
int pagoda_transfer_validate(const struct pagoda_paging_limits *limits,
			     const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	int ret;

	if (transfer->size % 4)
		return pagoda_refuse(why, -EINVAL, "transfer: size misaligned");
	if (transfer->offset & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "transfer: offset misaligned");
	ret = transfer_flags_validate(limits, op, why) ?:
	      transfer_side_validate(limits, op, &transfer->src, why) ?:
	      transfer_side_validate(limits, op, &transfer->dst, why);
	if (!ret && sides_overlap(op))
		ret = pagoda_refuse(why, -EINVAL, "transfer: source and destination overlap");
	return ret;
}

int pagoda_special_lock_validate(const struct pagoda_paging_limits *limits,
				 const struct pagoda_paging_op *op, const char **why)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;

	if (transfer->flags & PAGODA_TRANSFER_TILING)
		return pagoda_refuse(why, -EINVAL, "lock: swizzle flag");
	if (transfer->range_id >= limits->swizzling_ranges)
		return pagoda_refuse(why, -ERANGE, "lock: no such swizzling range");
	if (transfer->surface_size > limits->swizzling_bytes)
		return pagoda_refuse(why, -ERANGE, "lock: surface larger than the range");
	if (transfer->src.segment == VIRTIO_PAGODA_SEGMENT_VRAM &&
	    transfer->dst.segment == VIRTIO_PAGODA_SEGMENT_VRAM)
		return pagoda_refuse(why, -EINVAL, "lock: both sides in VRAM");
	return pagoda_transfer_validate(limits, op, why);
}

/*
 * For a copy between two page lists: sets @runs to the number of pages, at most @nr_pages from
 * index @first of both lists on, that a packet of at most @max_runs runs can copy, and to the
 * numbers of runs of source and destination that the packet needs. Each turn of the loop goes on
 * to the next end of a run of either side.
 */
static void transfer_merge(const struct pagoda_op_transfer *transfer, u64 first, u64 nr_pages,
			   u32 max_runs, struct pagoda_transfer_runs *runs)
{
	u64 src_end = 0, dst_end = 0;

	*runs = (struct pagoda_transfer_runs) { };
	while (runs->pages < nr_pages) {
		bool src_new = src_end == runs->pages, dst_new = dst_end == runs->pages;

		if (runs->nr_src + runs->nr_dst + src_new + dst_new > max_runs)
			break;
		if (src_new)
			src_end += pagoda_run_length(transfer->src.adl, first + src_end,
						     nr_pages - src_end);
		if (dst_new)
			dst_end += pagoda_run_length(transfer->dst.adl, first + dst_end,
						     nr_pages - dst_end);
		runs->nr_src += src_new;
		runs->nr_dst += dst_new;
		runs->pages = min(src_end, dst_end);
	}
}

/*
 * Writes to @at the source's runs, then the destination's, at most @max_runs together, for at most
 * @nr_pages pages. @first is the index of the first of these pages in the page list of each side; a
 * side outside of system memory has no page list, and so no runs. Returns the number of pages, and
 * the numbers of runs written.
 */
static struct pagoda_transfer_runs transfer_runs_write(const struct pagoda_op_transfer *transfer,
						       u64 first, u64 nr_pages, u32 max_runs,
						       struct virtio_pagoda_run *at)
{
	bool src = transfer->src.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
	bool dst = transfer->dst.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
	struct pagoda_transfer_runs runs = { .pages = nr_pages };
	u64 pages;

	if (src && dst) {
		transfer_merge(transfer, first, nr_pages, max_runs, &runs);
		pagoda_runs_write(transfer->src.adl, first, runs.pages, at, runs.nr_src, &pages);
		pagoda_runs_write(transfer->dst.adl, first, runs.pages, at + runs.nr_src,
				  runs.nr_dst, &pages);
	} else if (src) {
		runs.nr_src = pagoda_runs_write(transfer->src.adl, first, nr_pages, at, max_runs,
						&runs.pages);
	} else if (dst) {
		runs.nr_dst = pagoda_runs_write(transfer->dst.adl, first, nr_pages, at, max_runs,
						&runs.pages);
	}
	return runs;
}

static struct virtio_pagoda_location transfer_location(const struct pagoda_paging_op *op,
						       const struct pagoda_side *side, u64 done,
						       u32 nr_runs)
{
	if (side == transfer_surface(op))
		return pagoda_location_make(side, 0, 0);
	return pagoda_location_make(side, op->transfer.offset + done, nr_runs);
}

static struct virtio_pagoda_tiled tiled_make(const struct pagoda_op_transfer *transfer, u64 done)
{
	return (struct virtio_pagoda_tiled) {
		.offset = cpu_to_le64(transfer->offset + done),
		.surface_size = cpu_to_le64(transfer->surface_size),
		.layout = {
			.tiling = cpu_to_le32(transfer->layout.tiling),
			.pitch = cpu_to_le32(transfer->layout.pitch),
			.height = cpu_to_le32(transfer->layout.height),
			.mips = cpu_to_le32(transfer->layout.mips),
		},
	};
}

/* Writes the fields that a packet has between struct virtio_pagoda_transfer and the runs. */
static void transfer_extra(const struct pagoda_paging_op *op, u64 done,
			   struct virtio_pagoda_transfer *packet)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	struct virtio_pagoda_special_lock_transfer *lock = (void *)packet;

	if (op->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) {
		lock->range_id = cpu_to_le32(transfer->range_id);
		lock->range_data = cpu_to_le32(transfer->range_data);
		lock->tiled = tiled_make(transfer, done);
	} else if (transfer_surface(op)) {
		*(struct virtio_pagoda_tiled *)(packet + 1) = tiled_make(transfer, done);
	}
}

static u32 transfer_flags(const struct pagoda_paging_op *op, bool start, bool end)
{
	u32 flags = PAGODA_TRANSFER_TRACKING;

	if (transfer_surface(op))
		flags |= PAGODA_TRANSFER_TILING;
	if (start)
		flags |= VIRTIO_PAGODA_TRANSFER_START;
	if (end)
		flags |= VIRTIO_PAGODA_TRANSFER_END;
	return op->transfer.flags & flags;
}

/*
 * Encodes the next packet of @op, advances @cursor and @buf; returns false, having encoded nothing,
 * if @buf has no room for a packet with @min_runs runs.
 */
static bool transfer_packet(const struct pagoda_paging_limits *limits,
			    const struct pagoda_paging_op *op, struct pagoda_paging_cursor *cursor,
			    struct pagoda_paging_buffer *buf, u32 min_runs)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	struct virtio_pagoda_transfer *packet = (void *)buf->pos;
	u64 first = transfer->mdl_offset + (cursor->done >> VIRTIO_PAGODA_PAGE_SHIFT);
	u64 left = transfer->size - cursor->done;
	u32 head = transfer_head(op);
	struct pagoda_transfer_runs runs;
	u32 fit, length;
	u64 bytes;

	fit = pagoda_runs_fit(limits, buf->size, head);
	if (!pagoda_buffer_has(buf, head) || fit < min_runs)
		return false;
	runs = transfer_runs_write(transfer, first, pagoda_pages(left), fit,
				   (void *)(buf->pos + head));
	bytes = min(left, runs.pages << VIRTIO_PAGODA_PAGE_SHIFT);
	length = head + (runs.nr_src + runs.nr_dst) * sizeof(struct virtio_pagoda_run);
	*packet = (struct virtio_pagoda_transfer){
		.packet = pagoda_packet_head(op->operation,
					     transfer_flags(op, !cursor->done, bytes == left),
					     length, op->allocation),
		.size = cpu_to_le64(bytes),
		.src = transfer_location(op, &transfer->src, cursor->done, runs.nr_src),
		.dst = transfer_location(op, &transfer->dst, cursor->done, runs.nr_dst),
	};
	transfer_extra(op, cursor->done, packet);
	pagoda_buffer_commit(buf, length, pagoda_side_cpu_pages(&transfer->src, first),
			     pagoda_side_cpu_pages(&transfer->dst, first));
	cursor->done += bytes;
	return true;
}

/*
 * &pagoda_paging_row.build of TRANSFER and SPECIAL_LOCK_TRANSFER. If the operation has the flags
 * START and END, only its first packet gets START, and only its last packet gets END (C27).
 */
enum pagoda_build pagoda_transfer_build(const struct pagoda_paging_limits *limits,
					const struct pagoda_paging_op *op,
					struct pagoda_paging_cursor *cursor,
					struct pagoda_paging_buffer *buf)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	u32 min_runs = (transfer->src.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) +
		       (transfer->dst.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM);

	if (!transfer->size)
		return PAGODA_BUILD_SUCCESS;
	if (op->needs_idle && !(transfer->flags & PAGODA_ALLOCATION_IS_IDLE))
		return PAGODA_BUILD_ALLOCATION_BUSY;
	while (cursor->done < transfer->size) {
		if (!transfer_packet(limits, op, cursor, buf, min_runs))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

static u64 side_runs(const struct pagoda_op_transfer *transfer, const struct pagoda_side *side)
{
	if (side->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return 0;
	return pagoda_runs_count(side->adl, transfer->mdl_offset, pagoda_pages(transfer->size));
}

struct pagoda_paging_cost pagoda_transfer_cost(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	u64 src_runs = side_runs(transfer, &transfer->src);
	u64 dst_runs = side_runs(transfer, &transfer->dst);
	struct pagoda_paging_cost cost;

	if (!transfer->size)
		return (struct pagoda_paging_cost) { };
	if (!src_runs && !dst_runs)
		return pagoda_cost_single(transfer->size, transfer_head(op));
	cost = pagoda_runs_cost(limits, buffer_size, transfer_head(op), src_runs, dst_runs);
	cost.moved = transfer->size;
	return cost;
}
