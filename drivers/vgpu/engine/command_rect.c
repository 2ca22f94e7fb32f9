// SPDX-License-Identifier: GPL-2.0
/*
 * The command COPY_RECT: copies the rows of a rectangle between two surfaces, each linear or tiled.
 * A surface is a range of virtual addresses: its pages may be scattered, in any segment.
 */
#include "command.h"

/*
 * Most bytes of a surface whose memory is looked up at once, before any of these bytes is copied:
 * the rows and tiles that follow a byte have consecutive addresses.
 */
#define PAGODA_RECT_AHEAD	0x10000u

/*
 * struct pagoda_rect - A surface while rows of it are copied
 * @side: memory of the surface that was found last; copies don't advance @side
 * @address: virtual address of the surface's first byte
 * @pitch: bytes from a row of the surface to the next row
 * @x: offset of the rectangle in a row, in bytes
 * @row: current row of the surface
 * @shift: log2 of the width of a tile in bytes, 0 = linear
 */
struct pagoda_rect {
	struct pagoda_span_side side;
	u64 address;
	u64 pitch;
	u64 x;
	u64 row;
	u32 shift;
};

static u64 surface_bytes(const struct virtio_pagoda_surface *surface)
{
	return (u64)le32_to_cpu(surface->pitch) * le32_to_cpu(surface->height);
}

static bool surface_valid(const struct virtio_pagoda_surface *surface)
{
	u32 tiling = le32_to_cpu(surface->tiling);
	u32 pitch = le32_to_cpu(surface->pitch);
	u32 height = le32_to_cpu(surface->height);
	u32 width;

	if (tiling >= VIRTIO_PAGODA_TILING_COUNT || !pitch || pitch > VIRTIO_PAGODA_MAX_PITCH ||
	    !height)
		return false;
	if (tiling == VIRTIO_PAGODA_TILING_LINEAR)
		return true;
	width = 1u << pagoda_tile_shift(tiling);
	return IS_ALIGNED(pitch, width) && IS_ALIGNED(height, width);
}

/*
 * Checks a source or destination surface, and that the rectangle of @rect lies within the surface.
 * Returns a fault reason or 0.
 */
static u32 surface_check(struct pagoda_job *job, const struct virtio_pagoda_surface *surface,
			 const struct virtio_pagoda_copy_rect *rect, u32 access)
{
	u64 right = (u64)le32_to_cpu(surface->x) + le32_to_cpu(rect->width);
	u64 bottom = (u64)le32_to_cpu(surface->y) + le32_to_cpu(rect->rows);
	u64 address = le64_to_cpu(surface->address);

	if (surface->reserved)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_RESERVED,
					 le32_to_cpu(surface->reserved));
	if (!surface_valid(surface))
		return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_BAD_LAYOUT, address,
					    access);
	if (right > le32_to_cpu(surface->pitch))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, right);
	if (bottom > le32_to_cpu(surface->height))
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, bottom);
	if (surface->tiling)
		return pagoda_job_aligned(job, address, PAGODA_PAGE, access);
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_rect_validate(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_copy_rect *rect = command;
	u32 reason;

	if (!rect->width || !rect->rows)
		return pagoda_job_refuse(job, VIRTIO_PAGODA_FAULT_OUT_OF_RANGE, 0);
	reason = surface_check(job, &rect->src, rect, VIRTIO_PAGODA_ACCESS_READ);
	if (reason)
		return reason;
	reason = surface_check(job, &rect->dst, rect, VIRTIO_PAGODA_ACCESS_WRITE);
	if (reason)
		return reason;
	if (pagoda_ranges_meet(le64_to_cpu(rect->src.address), surface_bytes(&rect->src),
			       le64_to_cpu(rect->dst.address), surface_bytes(&rect->dst)))
		return pagoda_engine_refuse(&job->exec, VIRTIO_PAGODA_FAULT_OVERLAP,
					    le64_to_cpu(rect->dst.address),
					    VIRTIO_PAGODA_ACCESS_WRITE);
	return VIRTIO_PAGODA_FAULT_NONE;
}

static struct pagoda_rect rect_make(const struct pagoda_job *job,
				    const struct virtio_pagoda_surface *surface, u32 access)
{
	u32 tiling = le32_to_cpu(surface->tiling);

	return (struct pagoda_rect) {
		.side = pagoda_job_side(job, 0, access),
		.address = le64_to_cpu(surface->address),
		.pitch = le32_to_cpu(surface->pitch),
		.x = le32_to_cpu(surface->x),
		.row = le32_to_cpu(surface->y),
		.shift = tiling == VIRTIO_PAGODA_TILING_LINEAR ? 0 : pagoda_tile_shift(tiling),
	};
}

/*
 * Finds the memory of byte @column of the surface's current row, and reduces *@size to the bytes
 * from this byte on that are contiguous in memory. *@here is NULL for a page of zeros. Returns 0 or
 * a fault reason.
 */
static u32 rect_find(struct pagoda_job *job, struct pagoda_rect *rect, u64 column, u64 *size,
		     u8 **here)
{
	struct pagoda_span_side *side = &rect->side;
	u64 va = rect->address, skip;
	u32 reason;

	if (rect->shift) {
		va += pagoda_tile_offset(rect->pitch, rect->shift, rect->row, column);
		*size = min(*size, (1ull << rect->shift) - (column & ((1ull << rect->shift) - 1)));
	} else {
		va += rect->row * rect->pitch + column;
	}
	skip = va - side->va;
	if (skip >= side->span.size) {
		side->va = va;
		side->span.size = 0;
		skip = 0;
		reason = pagoda_engine_side_refill(&job->exec, side, PAGODA_RECT_AHEAD);
		if (reason)
			return reason;
	}
	*size = min(*size, side->span.size - skip);
	*here = side->span.here ? side->span.here + skip : NULL;
	return VIRTIO_PAGODA_FAULT_NONE;
}

/*
 * Copies the rectangle's @width bytes in the current row from @src to @dst and moves both surfaces
 * to their next row. Returns a fault reason or 0.
 */
static u32 rect_row(struct pagoda_job *job, struct pagoda_rect *src, struct pagoda_rect *dst,
		    u64 width)
{
	u64 done, size;
	u8 *from, *to;
	u32 reason;

	for (done = 0; done < width; done += size) {
		size = width - done;
		reason = rect_find(job, src, src->x + done, &size, &from);
		if (!reason)
			reason = rect_find(job, dst, dst->x + done, &size, &to);
		if (reason)
			return reason;
		if (to && from)
			pagoda_copy(to, from, size);
		else if (to)
			memset(to, 0, size);
		if (to)
			pagoda_engine_wrote(job->exec.engine, to, size);
	}
	src->row++;
	dst->row++;
	return VIRTIO_PAGODA_FAULT_NONE;
}

u32 pagoda_command_rect_execute(struct pagoda_job *job, const void *command)
{
	const struct virtio_pagoda_copy_rect *rect = command;
	struct pagoda_rect src = rect_make(job, &rect->src, VIRTIO_PAGODA_ACCESS_READ);
	struct pagoda_rect dst = rect_make(job, &rect->dst, VIRTIO_PAGODA_ACCESS_WRITE);
	u32 left = le32_to_cpu(rect->rows) >> job->exec.half;
	u64 width = le32_to_cpu(rect->width);
	u32 reason = VIRTIO_PAGODA_FAULT_NONE;
	u64 since = 0;

	while (left && !reason) {
		reason = rect_row(job, &src, &dst, width);
		if (reason)
			break;
		left--;
		since += width;
		/*
		 * Count whole rows only: a row has at most MAX_PITCH bytes, so not much more than a
		 * PAGODA_CHUNK is copied at once.
		 */
		if (since < PAGODA_CHUNK && left)
			continue;
		src.side.span.size = 0;
		dst.side.span.size = 0;
		reason = pagoda_job_progress(job, since);
		since = 0;
	}
	return reason;
}
