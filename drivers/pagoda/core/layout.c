// SPDX-License-Identifier: GPL-2.0
/* Checks the geometry of tiled surfaces, and computes their size. */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/virtio_pagoda.h>
#include "check.h"
#include "layout.h"

/* Returns the width of a tile in bytes, which equals the tile's height in rows. */
static u32 layout_tile(const struct pagoda_layout *layout)
{
	return layout->tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
							   VIRTIO_PAGODA_TILE_64K_WIDTH;
}

/*
 * Returns the bytes of all mip levels together, a multiple of the page size. Each level is half as
 * wide and half as high as the level before, rounded up to whole tiles.
 */
u64 pagoda_layout_size(const struct pagoda_layout *layout)
{
	u32 tile = layout_tile(layout);
	u64 pitch = layout->pitch, height = layout->height;
	u64 size = 0;
	u32 mip;

	for (mip = 0; mip < layout->mips; mip++) {
		size += pitch * height;
		pitch = ALIGN(pitch / 2, tile);
		height = ALIGN(height / 2, tile);
	}
	return size;
}

/**
 * pagoda_layout_validate() - Check the geometry of a tiled surface
 * @layout: Geometry
 * @size: Bytes of the surface
 * @why: Set to a constant text if the geometry is refused
 *
 * Context: Any.
 * Return: 0, -EINVAL for a bad member of @layout, or -ERANGE if the mip levels need more than
 * @size.
 */
int pagoda_layout_validate(const struct pagoda_layout *layout, u64 size, const char **why)
{
	u32 tile = layout_tile(layout);

	if (layout->tiling == VIRTIO_PAGODA_TILING_LINEAR ||
	    layout->tiling >= VIRTIO_PAGODA_TILING_COUNT)
		return pagoda_refuse(why, -EINVAL, "layout: tiling");
	if (!layout->pitch || layout->pitch > VIRTIO_PAGODA_MAX_PITCH ||
	    !IS_ALIGNED(layout->pitch, tile))
		return pagoda_refuse(why, -EINVAL, "layout: pitch");
	if (!layout->height || !IS_ALIGNED(layout->height, tile))
		return pagoda_refuse(why, -EINVAL, "layout: height");
	if (!layout->mips || layout->mips > VIRTIO_PAGODA_MAX_MIPS)
		return pagoda_refuse(why, -EINVAL, "layout: mips");
	if (pagoda_layout_size(layout) > size)
		return pagoda_refuse(why, -ERANGE, "layout: more than the surface has");
	return 0;
}
