/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Surfaces (tiled allocations) with known bytes: as tiles, as rows, and in the windows where the
 * CPU sees rows.
 */
#ifndef PAGODA_KUNIT_TILED_HELPERS_H
#define PAGODA_KUNIT_TILED_HELPERS_H

#include "rig/rig.h"

#define TILED_LAYOUTS	2
extern const struct pagoda_layout tiled_layouts[TILED_LAYOUTS];

struct pagoda_bo *tiled_bo(struct pagoda_rig *rig, const struct pagoda_layout *layout,
			   u32 flags, u32 supported);
int tiled_to_vram(struct pagoda_bo *bo);
int tiled_place(struct pagoda_bo *bo, enum pagoda_place place);
int tiled_acquire(struct pagoda_bo *bo);
int tiled_release(struct pagoda_bo *bo);
struct pagoda_bo *tiled_shown(struct pagoda_rig *rig, const struct pagoda_layout *layout,
			      u32 seed);

/* Returns SWIZZLE or UNSWIZZLE as the allocation's last TRANSFER has, or 0; ~0 without TRANSFER. */
u32 tiled_conversion(struct pagoda_rig *rig, struct pagoda_bo *bo);

/* Returns where, as an offset in the tiles, the byte at @offset of the rows is. */
u64 tiled_offset(const struct pagoda_layout *layout, u64 offset);
/* Returns the byte that content of @seed has at @offset of the rows. */
u8 tiled_byte(u32 seed, u64 offset);
bool tiled_content(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed, bool tiles,
		   bool write);
bool tiled_is(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool rows_are(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed);
bool window_content(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed, bool write);

#endif
