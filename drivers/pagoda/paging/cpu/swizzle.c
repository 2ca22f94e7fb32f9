// SPDX-License-Identifier: GPL-2.0
/*
 * CPU executor: tiled surfaces, for TRANSFER with SWIZZLE or UNSWIZZLE and for
 * SPECIAL_LOCK_TRANSFER. The linear view of a surface has its bytes in the order of untiled rows.
 * Where a byte is in the surface is computed from its offset in the linear view alone: slow, but
 * different from the device's engine, which is compared with this code.
 */
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include "internal.h"

/*
 * Returns where in the tiled surface byte @offset of its linear view, the untiled rows, is; sets
 * *@run to how many bytes from there on are consecutive in surface and view. Bytes behind the last
 * mip level aren't tiled: their offset is the same, and *@run is U64_MAX.
 */
static u64 tiled_offset(const struct pagoda_layout *layout, u64 offset, u64 *run)
{
	u64 tile = layout->tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
							       VIRTIO_PAGODA_TILE_64K_WIDTH;
	u64 pitch = layout->pitch, height = layout->height, level = 0, x, y;
	u32 mip;

	for (mip = 0; mip < layout->mips && offset - level >= pitch * height; mip++) {
		level += pitch * height;
		pitch = DIV_ROUND_UP(pitch / 2, tile) * tile;
		height = DIV_ROUND_UP(height / 2, tile) * tile;
	}
	if (mip == layout->mips) {
		*run = U64_MAX;
		return offset;
	}
	x = (offset - level) % pitch;
	y = (offset - level) / pitch;
	*run = tile - x % tile;
	return level + (y / tile * (pitch / tile) + x / tile) * tile * tile + y % tile * tile +
	       x % tile;
}

/*
 * Copies @left bytes between @linear and the surface's linear view from byte @offset on: into the
 * surface if @swizzle, else out of it.
 */
static void swizzle_page(u8 *surface, const struct pagoda_layout *layout, u64 offset, u8 *linear,
			 u64 left, bool swizzle)
{
	u64 run, at;

	for (; left; left -= run, offset += run, linear += run) {
		at = tiled_offset(layout, offset, &run);
		run = min(run, left);
		if (swizzle)
			memcpy(surface + at, linear, run);
		else
			memcpy(linear, surface + at, run);
	}
}

/*
 * Checks that @location is a valid tiled surface in VRAM and that its linear view has @size bytes
 * at @tiled->offset; sets @surface. Returns 0 or a fault reason.
 */
u32 pagoda_cpu_surface_prepare(struct pagoda_cpu_executor *exec,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_tiled *tiled, u64 size,
			       struct pagoda_cpu_surface *surface)
{
	u64 surface_size = le64_to_cpu(tiled->surface_size);
	struct pagoda_cpu_side side;
	const char *why;
	u32 reason;

	if (le32_to_cpu(location->segment) != VIRTIO_PAGODA_SEGMENT_VRAM)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	*surface = (struct pagoda_cpu_surface) {
		.layout = {
			.tiling = le32_to_cpu(tiled->layout.tiling),
			.pitch = le32_to_cpu(tiled->layout.pitch),
			.height = le32_to_cpu(tiled->layout.height),
			.mips = le32_to_cpu(tiled->layout.mips),
		},
		.offset = le64_to_cpu(tiled->offset),
	};
	if (surface->offset & PAGODA_PAGE_MASK)
		return VIRTIO_PAGODA_FAULT_MISALIGNED;
	if (!pagoda_within(surface->offset, size, surface_size))
		return VIRTIO_PAGODA_FAULT_OUT_OF_RANGE;
	if (pagoda_layout_validate(&surface->layout, surface_size, &why))
		return VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
	reason = pagoda_cpu_side_prepare(exec, location, surface_size, NULL, NULL, false, &side);
	surface->vram = side.vram;
	return reason;
}

/*
 * Copies @size bytes between the memory of @piece and the surface's linear view: into the surface
 * if @swizzle, else out of it. @window, if not NULL, is where a swizzling range shows these bytes
 * to the CPU: copies into the surface also write @window, and copies out of the surface read only
 * @window.
 */
void pagoda_cpu_surface_copy(const struct pagoda_cpu_surface *surface, u8 *window,
			     const struct pagoda_cpu_side *piece, u64 size, bool swizzle)
{
	u64 done;

	for (done = 0; done < size; done += VIRTIO_PAGODA_PAGE_SIZE) {
		u64 bytes = min_t(u64, size - done, VIRTIO_PAGODA_PAGE_SIZE);
		u8 *page = pagoda_cpu_side_map(piece, done);

		if (window && swizzle)
			memcpy(window + done, page, bytes);
		if (window && !swizzle)
			memcpy(page, window + done, bytes);
		else
			swizzle_page(surface->vram, &surface->layout, surface->offset + done, page,
				     bytes, swizzle);
		pagoda_cpu_side_unmap(piece, page);
	}
}

static bool range_shows(const struct pagoda_cpu_range *range, u64 address, u64 size,
			const struct pagoda_layout *layout)
{
	return range->address == address && range->size == size &&
	       range->layout.tiling == layout->tiling && range->layout.pitch == layout->pitch &&
	       range->layout.height == layout->height && range->layout.mips == layout->mips;
}

/*
 * A SPECIAL_LOCK_TRANSFER, checked: the surface in VRAM, the memory outside of VRAM, and the
 * swizzling range. @out: the surface is the source.
 */
struct pagoda_cpu_lock {
	struct pagoda_cpu_surface surface;
	struct pagoda_cpu_side piece;
	struct pagoda_cpu_range range;
	bool out;
};

static u32 lock_range_check(const struct pagoda_cpu_packet *cpu, const struct pagoda_cpu_lock *lock)
{
	const struct virtio_pagoda_special_lock_transfer *packet = cpu->data;
	bool start = le16_to_cpu(packet->transfer.packet.flags) & VIRTIO_PAGODA_TRANSFER_START;
	const struct pagoda_paging_limits *limits = cpu->exec->limits;
	u32 id = le32_to_cpu(packet->range_id);

	if (id >= limits->swizzling_ranges || lock->range.size > limits->swizzling_bytes)
		return VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
	if (!cpu->exec->ranges)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (!lock->out && start)
		return VIRTIO_PAGODA_FAULT_NONE;
	return range_shows(&cpu->exec->ranges[id], lock->range.address, lock->range.size,
			   &lock->range.layout) ?
		       VIRTIO_PAGODA_FAULT_NONE :
		       VIRTIO_PAGODA_FAULT_BAD_LAYOUT;
}

static u32 lock_prepare(const struct pagoda_cpu_packet *cpu, struct pagoda_cpu_lock *lock)
{
	const struct virtio_pagoda_special_lock_transfer *packet = cpu->data;
	const struct virtio_pagoda_transfer *transfer = &packet->transfer;
	bool out = le32_to_cpu(transfer->src.segment) == VIRTIO_PAGODA_SEGMENT_VRAM;
	const struct virtio_pagoda_location *surface = out ? &transfer->src : &transfer->dst;
	const struct virtio_pagoda_location *piece = out ? &transfer->dst : &transfer->src;
	u64 size = le64_to_cpu(transfer->size);
	u32 reason;

	if (le32_to_cpu(piece->segment) == VIRTIO_PAGODA_SEGMENT_VRAM)
		return VIRTIO_PAGODA_FAULT_BAD_SEGMENT;
	reason = pagoda_cpu_surface_prepare(cpu->exec, surface, &packet->tiled, size,
					    &lock->surface);
	if (!reason)
		reason = pagoda_cpu_side_prepare(cpu->exec, piece, size,
						 (const void *)(packet + 1),
						 out ? cpu->dst_pages : cpu->src_pages, out,
						 &lock->piece);
	if (reason)
		return reason;
	lock->out = out;
	lock->range = (struct pagoda_cpu_range) {
		.address = le64_to_cpu(surface->address),
		.size = le64_to_cpu(packet->tiled.surface_size),
		.layout = lock->surface.layout,
	};
	return lock_range_check(cpu, lock);
}

u32 pagoda_special_lock_execute(const struct pagoda_cpu_packet *cpu)
{
	const struct virtio_pagoda_special_lock_transfer *packet = cpu->data;
	u32 flags = le16_to_cpu(packet->transfer.packet.flags), reason;
	u64 size = le64_to_cpu(packet->transfer.size);
	struct pagoda_cpu_range *range;
	struct pagoda_cpu_lock lock;

	if (!cpu->exec->limits)
		return VIRTIO_PAGODA_FAULT_UNSUPPORTED;
	if (flags & ~(VIRTIO_PAGODA_TRANSFER_START | VIRTIO_PAGODA_TRANSFER_END))
		return VIRTIO_PAGODA_FAULT_BAD_FLAGS;
	reason = pagoda_cpu_transfer_size_check(cpu->exec, &packet->transfer);
	if (!reason)
		reason = lock_prepare(cpu, &lock);
	if (reason)
		return reason;
	range = &cpu->exec->ranges[le32_to_cpu(packet->range_id)];
	lock.range.window = range->window;
	if (!lock.out && flags & VIRTIO_PAGODA_TRANSFER_START)
		*range = lock.range;
	pagoda_cpu_surface_copy(&lock.surface, range->window + lock.surface.offset, &lock.piece,
				size, !lock.out);
	if (lock.out && flags & VIRTIO_PAGODA_TRANSFER_END)
		range->size = 0;
	return VIRTIO_PAGODA_FAULT_NONE;
}
