// SPDX-License-Identifier: GPL-2.0
/* CPU executor: TRANSFER, FILL, DISCARD_CONTENT. swizzle.c copies from and to tiled surfaces. */
#include <linux/minmax.h>
#include <linux/string.h>
#include "internal.h"

static bool runs_meet(const struct virtio_pagoda_run *a, const struct virtio_pagoda_run *b)
{
	u64 a_page = le64_to_cpu(a->address) >> VIRTIO_PAGODA_PAGE_SHIFT;
	u64 b_page = le64_to_cpu(b->address) >> VIRTIO_PAGODA_PAGE_SHIFT;

	return a_page < b_page ? b_page - a_page < le32_to_cpu(a->nr_pages) :
				 a_page - b_page < le32_to_cpu(b->nr_pages);
}

/* Where the parts of a TRANSFER packet behind struct virtio_pagoda_transfer are. */
struct pagoda_cpu_transfer {
	const struct virtio_pagoda_tiled *tiled;	/* NULL = neither side is tiled */
	const struct virtio_pagoda_run *src_runs;
	const struct virtio_pagoda_run *dst_runs;
	bool swizzle;
};

static void transfer_parse(const struct virtio_pagoda_transfer *transfer,
			   struct pagoda_cpu_transfer *parts)
{
	u32 flags = le16_to_cpu(transfer->packet.flags);
	const void *behind = transfer + 1;

	*parts = (struct pagoda_cpu_transfer) {
		.swizzle = flags & VIRTIO_PAGODA_TRANSFER_SWIZZLE,
		.src_runs = behind,
	};
	if (flags & (VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE)) {
		parts->tiled = behind;
		parts->src_runs = behind + sizeof(*parts->tiled);
	}
	parts->dst_runs = parts->src_runs + le32_to_cpu(transfer->src.nr_runs);
}

/* Returns whether source and destination overlap, judged by the addresses in the packet. */
static bool transfer_overlaps(const struct virtio_pagoda_transfer *transfer,
			      const struct pagoda_cpu_transfer *parts)
{
	const struct virtio_pagoda_run *end = parts->dst_runs + le32_to_cpu(transfer->dst.nr_runs);
	const struct virtio_pagoda_run *s, *d;
	u64 from = le64_to_cpu(transfer->src.address), to = le64_to_cpu(transfer->dst.address);
	u64 from_size = le64_to_cpu(transfer->size), to_size = from_size;

	if (transfer->src.segment != transfer->dst.segment)
		return false;
	if (parts->tiled && parts->swizzle)
		to_size = le64_to_cpu(parts->tiled->surface_size);
	else if (parts->tiled)
		from_size = le64_to_cpu(parts->tiled->surface_size);
	if (le32_to_cpu(transfer->src.segment) != VIRTIO_PAGODA_SEGMENT_SYSTEM)
		return from < to + to_size && to < from + from_size;
	for (s = parts->src_runs; s < parts->dst_runs; s++) {
		for (d = parts->dst_runs; d < end; d++) {
			if (runs_meet(s, d))
				return true;
		}
	}
	return false;
}

static u32 transfer_flags_check(const struct pagoda_cpu_executor *exec,
				const struct virtio_pagoda_transfer *transfer)
{
	u32 tiling = VIRTIO_PAGODA_TRANSFER_SWIZZLE | VIRTIO_PAGODA_TRANSFER_UNSWIZZLE;
	u64 feature = 1ull << VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER);
	bool whole = !(le64_to_cpu(transfer->size) % VIRTIO_PAGODA_PAGE_SIZE);
	__le32 vram = cpu_to_le32(VIRTIO_PAGODA_SEGMENT_VRAM);
	u32 flags = le16_to_cpu(transfer->packet.flags);

	if (flags & ~(tiling | VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END |
		      PAGODA_CPU_TRACKING) ||
	    (flags & tiling) == tiling)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (flags & tiling && exec->limits && !(exec->limits->features & feature))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	return pagoda_cpu_tracking_is_valid(exec, flags, !(flags & tiling) &&
					    transfer->dst.segment == vram && whole,
					    !(flags & tiling) && transfer->src.segment == vram) ?
	       VIRTIO_PAGODA_FAULT_NONE : VIRTIO_PAGODA_FAULT_BAD_FLAGS;
}

/*
 * Copies bytes in linear order from the source to the destination: page by page, unless both are
 * in VRAM.
 */
static void transfer_copy(const struct pagoda_cpu_side *dst, const struct pagoda_cpu_side *src,
			  u64 size)
{
	u64 done;

	if (src->vram && dst->vram) {
		memcpy(dst->vram, src->vram, size);
		return;
	}
	for (done = 0; done < size; done += VIRTIO_PAGODA_PAGE_SIZE) {
		size_t bytes = min_t(u64, size - done, VIRTIO_PAGODA_PAGE_SIZE);
		u8 *from = pagoda_cpu_side_map(src, done);
		u8 *to = pagoda_cpu_side_map(dst, done);

		/* Unmapped pages of the aperture all lead to one page, the dummy page (C58). */
		if (from != to)
			memcpy(to, from, bytes);
		pagoda_cpu_side_unmap(dst, to);
		pagoda_cpu_side_unmap(src, from);
	}
}

/*
 * Checks the source, then the destination, then that these don't overlap; sets @surface for the
 * tiled side, if there is one, and @src and @dst for sides that aren't tiled. Returns 0 or a fault
 * reason.
 */
static u32 transfer_prepare(const struct pagoda_cpu_packet *cpu,
			    const struct pagoda_cpu_transfer *parts,
			    struct pagoda_cpu_surface *surface, struct pagoda_cpu_side *src,
			    struct pagoda_cpu_side *dst)
{
	const struct virtio_pagoda_transfer *transfer = cpu->data;
	u64 size = le64_to_cpu(transfer->size);
	u32 reason;

	if (parts->tiled && !parts->swizzle)
		reason = pagoda_cpu_surface_prepare(cpu->exec, &transfer->src, parts->tiled, size,
						    surface);
	else
		reason = pagoda_cpu_side_prepare(cpu->exec, &transfer->src, size, parts->src_runs,
						 cpu->src_pages, false, src);
	if (reason)
		return reason;
	if (parts->tiled && parts->swizzle)
		reason = pagoda_cpu_surface_prepare(cpu->exec, &transfer->dst, parts->tiled, size,
						    surface);
	else
		reason = pagoda_cpu_side_prepare(cpu->exec, &transfer->dst, size, parts->dst_runs,
						 cpu->dst_pages, true, dst);
	if (!reason && transfer_overlaps(transfer, parts))
		reason = VIRTIO_PAGODA_FAULT_OVERLAP;
	return reason;
}

u32 pagoda_transfer_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_transfer *transfer = cpu->data;
	u64 size = le64_to_cpu(transfer->size);
	struct pagoda_cpu_transfer parts;
	struct pagoda_cpu_surface surface;
	struct pagoda_cpu_side src, dst;
	u32 reason;

	reason = transfer_flags_check(cpu->exec, transfer);
	if (!reason)
		reason = pagoda_cpu_transfer_size_check(cpu->exec, transfer);
	if (reason)
		return reason;
	transfer_parse(transfer, &parts);
	reason = transfer_prepare(cpu, &parts, &surface, &src, &dst);
	if (reason)
		return reason;
	if (parts.tiled && transfer->packet.allocation) {
		pagoda_cpu_surface_copy(&surface, NULL, parts.swizzle ? &src : &dst, size,
					parts.swizzle);
		return VIRTIO_PAGODA_FAULT_NONE;
	}
	/* Without an allocation the copy is linear, whatever the flags (C31). */
	if (parts.tiled)
		*(parts.swizzle ? &dst : &src) = (struct pagoda_cpu_side) {
			.exec = cpu->exec,
			.vram = surface.vram + surface.offset,
		};
	transfer_copy(&dst, &src, size);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_fill_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_fill *fill = cpu->data;
	u64 address = le64_to_cpu(fill->address), size = le64_to_cpu(fill->size);
	u32 pattern = le32_to_cpu(fill->pattern);
	u32 reason;

	if (fill->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if ((address | size) % 4)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (le32_to_cpu(fill->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	reason = pagoda_cpu_vram_check(cpu->exec, address, size);
	if (reason)
		return reason;
	if (pattern == 0x01010101u * (u8)pattern)
		memset(cpu->exec->vram + address, (u8)pattern, size);
	else
		memset32((u32 *)(cpu->exec->vram + address), (__force u32)fill->pattern, size / 4);
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Only checks the packet: discarded content is undefined, so the content of VRAM may stay (C46).
 * Returns a fault reason or 0.
 */
u32 pagoda_discard_content_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_discard_content *discard = cpu->data;
	u64 address = le64_to_cpu(discard->address), size = le64_to_cpu(discard->size);

	if (discard->packet.flags)
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	if (discard->reserved)
		return VIRTIO_PAGODA_FAULT_RESERVED;
	if ((address | size) & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (le32_to_cpu(discard->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	return pagoda_cpu_vram_check(cpu->exec, address, size);
}
