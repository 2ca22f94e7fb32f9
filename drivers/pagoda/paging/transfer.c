// SPDX-License-Identifier: GPL-2.0
/*
 * TRANSFER (C26 - C35): copy between any two of VRAM, aperture and page lists.
 *
 * A piece of a move is one packet, unless its page lists have more runs than a
 * packet or the buffer takes. Progress is counted in bytes; it ends between two
 * pages until the piece itself ends.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "emit.h"
#include "runs.h"
#include "table.h"

#define PAGODA_TRANSFER_TILING	(VIRTIO_PAGODA_TRANSFER_SWIZZLE | \
				 VIRTIO_PAGODA_TRANSFER_UNSWIZZLE)
#define PAGODA_TRANSFER_ENDS	(VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END)

/* The runs of one packet, as they lie behind its head. */
struct pagoda_transfer_runs {
	u64 pages;
	u32 nr_src;
	u32 nr_dst;
};

u64 pagoda_transfer_tail(const void *packet)
{
	const struct virtio_pagoda_transfer *transfer = packet;

	return ((u64)le32_to_cpu(transfer->src.nr_runs) + le32_to_cpu(transfer->dst.nr_runs)) *
	       sizeof(struct virtio_pagoda_run);
}

static int pagoda_transfer_flags_validate(const struct pagoda_paging_limits *limits,
					  const struct pagoda_paging_op *op, const char **why)
{
	u64 tiling = 1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER);
	u32 flags = op->transfer.flags;

	if (flags & ~(PAGODA_TRANSFER_TILING | PAGODA_TRANSFER_ENDS | PAGODA_ALLOCATION_IS_IDLE))
		return pagoda_refuse(why, -EINVAL, "transfer: unknown flag");
	if ((flags & PAGODA_TRANSFER_TILING) == PAGODA_TRANSFER_TILING)
		return pagoda_refuse(why, -EINVAL, "transfer: swizzle and unswizzle");
	if (flags & PAGODA_TRANSFER_TILING && op->allocation && !(limits->features & tiling))
		return pagoda_refuse(why, -EOPNOTSUPP, "transfer: device has no tiling");
	return 0;
}

static int pagoda_side_validate(const struct pagoda_paging_limits *limits,
				const struct pagoda_op_transfer *transfer,
				const struct pagoda_side *side, const char **why)
{
	u64 limit = pagoda_segment_size(limits, side->segment);

	if (side->segment >= VIRTIO_PAGODA_SEGMENT_COUNT)
		return pagoda_refuse(why, -EINVAL, "transfer: no such segment");
	if (side->generation && side->segment != VIRTIO_PAGODA_SEGMENT_APERTURE)
		return pagoda_refuse(why, -EINVAL, "transfer: generation outside the aperture");
	if (side->generation > VIRTIO_PAGODA_MAX_GENERATION)
		return pagoda_refuse(why, -ERANGE, "transfer: generation too large");
	if (!transfer->size)
		return 0;
	if (side->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return pagoda_adl_validate(side->adl, transfer->mdl_offset,
					   pagoda_pages(transfer->size), why);
	if (side->address & PAGODA_PAGE_MASK)
		return pagoda_refuse(why, -EINVAL, "transfer: address misaligned");
	if (side->address > limit ||
	    !pagoda_within(transfer->offset, transfer->size, limit - side->address))
		return pagoda_refuse(why, -ERANGE, "transfer: outside the segment");
	return 0;
}

/* Page by page comparison of two scattered lists is the caller's business. */
static bool pagoda_sides_overlap(const struct pagoda_op_transfer *transfer)
{
	u64 src = transfer->src.address, dst = transfer->dst.address;

	if (!transfer->size || transfer->src.segment != transfer->dst.segment)
		return false;
	if (transfer->src.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		if (!transfer->src.adl->contiguous || !transfer->dst.adl->contiguous)
			return transfer->src.adl == transfer->dst.adl;
		src = transfer->src.adl->base;
		dst = transfer->dst.adl->base;
	}
	return max(src, dst) - min(src, dst) < transfer->size;
}

/**
 * pagoda_transfer_validate() - Refuse a TRANSFER
 * @limits: Of the device
 * @op: The operation
 * @why: Set when refused
 *
 * A zero-size transfer (C35) needs neither addresses nor page lists.
 *
 * Context: any.
 * Return: 0, -EINVAL, -ERANGE or -EOPNOTSUPP.
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
	ret = pagoda_transfer_flags_validate(limits, op, why);
	if (!ret)
		ret = pagoda_side_validate(limits, transfer, &transfer->src, why);
	if (!ret)
		ret = pagoda_side_validate(limits, transfer, &transfer->dst, why);
	if (!ret && pagoda_sides_overlap(transfer))
		ret = pagoda_refuse(why, -EINVAL, "transfer: source and destination overlap");
	return ret;
}

/*
 * Both sides are page lists: how many pages have at most @max_runs runs, and how
 * many those are on each side. Each step goes to the nearer end of a run.
 */
static void pagoda_transfer_merge(const struct pagoda_op_transfer *transfer, u64 first,
				  u64 nr_pages, u32 max_runs, struct pagoda_transfer_runs *runs)
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

/* Writes at most @max_runs runs for at most @nr_pages pages. */
static struct pagoda_transfer_runs
pagoda_transfer_runs_write(const struct pagoda_op_transfer *transfer, u64 first, u64 nr_pages,
			   u32 max_runs, struct virtio_pagoda_run *at)
{
	bool src = transfer->src.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
	bool dst = transfer->dst.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;
	struct pagoda_transfer_runs runs = { .pages = nr_pages };
	u64 pages;

	if (src && dst) {
		pagoda_transfer_merge(transfer, first, nr_pages, max_runs, &runs);
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

static struct virtio_pagoda_location
pagoda_location_make(const struct pagoda_op_transfer *transfer, const struct pagoda_side *side,
		     u64 done, u32 nr_runs)
{
	bool system = side->segment == VIRTIO_PAGODA_SEGMENT_SYSTEM;

	return (struct virtio_pagoda_location) {
		.segment = cpu_to_le32(side->segment),
		.nr_runs = cpu_to_le32(nr_runs),
		.address = cpu_to_le64(system ? 0 : side->address + transfer->offset + done),
		.generation = cpu_to_le32(side->generation),
	};
}

static const void *pagoda_side_cpu_pages(const struct pagoda_side *side, u64 first)
{
	if (side->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return NULL;
	return pagoda_adl_cpu_pages(side->adl, first);
}

/* Without an allocation there is no layout to convert to (C31). */
static u32 pagoda_transfer_flags(const struct pagoda_paging_op *op, bool start, bool end)
{
	u32 flags = 0;

	if (op->allocation)
		flags |= PAGODA_TRANSFER_TILING;
	if (start)
		flags |= VIRTIO_PAGODA_TRANSFER_START;
	if (end)
		flags |= VIRTIO_PAGODA_TRANSFER_END;
	return op->transfer.flags & flags;
}

/* Encodes the next packet; false if there is no room for one. */
static bool pagoda_transfer_packet(const struct pagoda_paging_limits *limits,
				   const struct pagoda_paging_op *op,
				   struct pagoda_paging_cursor *cursor,
				   struct pagoda_paging_buffer *buf, u32 min_runs)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	struct virtio_pagoda_transfer *packet = (void *)buf->pos;
	u64 first = transfer->mdl_offset + (cursor->done >> VIRTIO_PAGODA_PAGE_SHIFT);
	u64 left = transfer->size - cursor->done;
	struct pagoda_transfer_runs runs;
	u32 fit, length;
	u64 bytes;

	fit = pagoda_runs_fit(limits, buf->size, sizeof(*packet));
	if (!pagoda_buffer_has(buf, sizeof(*packet)) || fit < min_runs)
		return false;
	runs = pagoda_transfer_runs_write(transfer, first, pagoda_pages(left), fit,
					  (void *)(packet + 1));
	bytes = min(left, runs.pages << VIRTIO_PAGODA_PAGE_SHIFT);
	length = sizeof(*packet) + (runs.nr_src + runs.nr_dst) * sizeof(struct virtio_pagoda_run);
	*packet = (struct virtio_pagoda_transfer) {
		.packet = pagoda_packet_head(op->operation,
					     pagoda_transfer_flags(op, !cursor->done,
								   bytes == left),
					     length, op->allocation),
		.size = cpu_to_le64(bytes),
		.src = pagoda_location_make(transfer, &transfer->src, cursor->done, runs.nr_src),
		.dst = pagoda_location_make(transfer, &transfer->dst, cursor->done, runs.nr_dst),
	};
	pagoda_buffer_commit(buf, length, pagoda_side_cpu_pages(&transfer->src, first),
			     pagoda_side_cpu_pages(&transfer->dst, first));
	cursor->done += bytes;
	return true;
}

/**
 * pagoda_transfer_build() - Encode a TRANSFER
 * @limits: Of the device
 * @op: Valid operation
 * @cursor: Bytes encoded so far
 * @buf: Where to
 *
 * START goes on the packet that begins the piece and END on the one that ends
 * it, if the operation has them, however many packets there are (C27).
 *
 * Context: any.
 * Return: any of enum pagoda_build.
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
		if (!pagoda_transfer_packet(limits, op, cursor, buf, min_runs))
			return PAGODA_BUILD_INSUFFICIENT_BUFFER;
	}
	return PAGODA_BUILD_SUCCESS;
}

static u64 pagoda_side_runs(const struct pagoda_op_transfer *transfer,
			    const struct pagoda_side *side)
{
	if (side->segment != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return 0;
	return pagoda_runs_count(side->adl, transfer->mdl_offset, pagoda_pages(transfer->size));
}

/**
 * pagoda_transfer_cost() - Upper bounds for a TRANSFER
 * @limits: Of the device
 * @op: Valid operation
 * @buffer_size: Bytes of the smallest fresh buffer
 *
 * Context: any. Reads the page lists.
 * Return: the bounds.
 */
struct pagoda_paging_cost pagoda_transfer_cost(const struct pagoda_paging_limits *limits,
					       const struct pagoda_paging_op *op, u32 buffer_size)
{
	const struct pagoda_op_transfer *transfer = &op->transfer;
	u64 src_runs = pagoda_side_runs(transfer, &transfer->src);
	u64 dst_runs = pagoda_side_runs(transfer, &transfer->dst);
	struct pagoda_paging_cost cost;

	if (!transfer->size)
		return (struct pagoda_paging_cost) { };
	if (!src_runs && !dst_runs)
		return pagoda_cost_single(transfer->size, sizeof(struct virtio_pagoda_transfer));
	cost = pagoda_runs_cost(limits, buffer_size, sizeof(struct virtio_pagoda_transfer),
				src_runs, dst_runs);
	cost.moved = transfer->size;
	return cost;
}
