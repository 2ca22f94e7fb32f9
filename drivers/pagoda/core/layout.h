/* SPDX-License-Identifier: GPL-2.0 */
/* struct pagoda_layout: the geometry of a tiled surface, with its check and its size in bytes. */
#ifndef PAGODA_CORE_LAYOUT_H
#define PAGODA_CORE_LAYOUT_H

#include <linux/types.h>

/**
 * struct pagoda_layout - Geometry of a surface, struct virtio_pagoda_layout in CPU order
 * @tiling: enum virtio_pagoda_tiling
 * @pitch: Bytes from row to row of mip level 0
 * @height: Rows of mip level 0
 * @mips: Number of mip levels
 */
struct pagoda_layout {
	u32 tiling;
	u32 pitch;
	u32 height;
	u32 mips;
};

u64 pagoda_layout_size(const struct pagoda_layout *layout);
int pagoda_layout_validate(const struct pagoda_layout *layout, u64 size, const char **why);

#endif
