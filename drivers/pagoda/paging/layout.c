// SPDX-License-Identifier: GPL-2.0
/* Geometry of tiled surfaces: which make sense, and how many bytes they take. */
#include <linux/align.h>
#include <linux/errno.h>

#include "emit.h"

/* Bytes in a tile's row, and its rows. */
static u32 pagoda_layout_tile(const struct pagoda_layout *layout)
{
	return layout->tiling == VIRTIO_PAGODA_TILING_4K ? VIRTIO_PAGODA_TILE_4K_WIDTH :
							   VIRTIO_PAGODA_TILE_64K_WIDTH;
}

/**
 * pagoda_layout_size() - Bytes that all mip levels of a surface take
 * @layout: Valid geometry
 *
 * Levels follow each other, each half as wide and high as the one before, rounded
 * up to whole tiles.
 *
 * Context: any.
 * Return: bytes, a multiple of the page size.
 */
u64 pagoda_layout_size(const struct pagoda_layout *layout)
{
	u32 tile = pagoda_layout_tile(layout);
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
 * pagoda_layout_validate() - Refuse a geometry
 * @layout: Geometry of a tiled surface
 * @size: Bytes of the surface
 * @why: Set when refused
 *
 * Context: any.
 * Return: 0, -EINVAL, or -ERANGE when the levels need more than @size.
 */
int pagoda_layout_validate(const struct pagoda_layout *layout, u64 size, const char **why)
{
	u32 tile = pagoda_layout_tile(layout);

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
