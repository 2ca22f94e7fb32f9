// SPDX-License-Identifier: GPL-2.0
/* Surfaces as tiles and as rows; see tiled_helpers.h. */
#include "tiled_helpers.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define SWIZZLE		VIRTIO_PAGODA_TRANSFER_SWIZZLE
#define UNSWIZZLE	VIRTIO_PAGODA_TRANSFER_UNSWIZZLE

/* Both tilings, with levels smaller than a tile; tiled_bo() adds a page behind the last level. */
const struct pagoda_layout tiled_layouts[TILED_LAYOUTS] = {
	{ .tiling = VIRTIO_PAGODA_TILING_4K, .pitch = 256, .height = 192, .mips = 4 },
	{ .tiling = VIRTIO_PAGODA_TILING_64K, .pitch = 512, .height = 256, .mips = 2 },
};

struct pagoda_bo *tiled_bo(struct pagoda_rig *rig, const struct pagoda_layout *layout,
			   u32 flags, u32 supported)
{
	const struct pagoda_bo_params params = {
		.size = pagoda_layout_size(layout) + PAGE_SIZE,
		.flags = flags,
		.supported = supported,
		.layout = *layout,
	};
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(bo));
	return bo;
}

/* Moves to VRAM, where surfaces are contiguous. */
int tiled_to_vram(struct pagoda_bo *bo)
{
	const struct ttm_place place = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};

	return pagoda_rig_place(bo, &place, false);
}

/* Computed from the definition of the layout, not by the driver's code. */
u64 tiled_offset(const struct pagoda_layout *layout, u64 offset)
{
	u32 tile = layout->tiling == VIRTIO_PAGODA_TILING_4K ? 64 : 256;
	u64 pitch = layout->pitch, height = layout->height, level = 0;
	u32 mip;

	for (mip = 0; mip < layout->mips; mip++) {
		u64 in_level = offset - level;

		if (in_level < pitch * height) {
			u64 row = in_level / pitch, column = in_level % pitch;
			u64 number = row / tile * (pitch / tile) + column / tile;

			return level + number * tile * tile + row % tile * tile + column % tile;
		}
		level += pitch * height;
		pitch = DIV_ROUND_UP(pitch / 2, tile) * tile;
		height = DIV_ROUND_UP(height / 2, tile) * tile;
	}
	return offset;
}

u8 tiled_byte(u32 seed, u64 offset)
{
	return ((offset ^ offset >> 7 ^ (u64)seed << 5) * 0x9e3779b97f4a7c15ull) >> 56;
}

/*
 * Returns the kernel address of byte @offset of the surface's memory, in VRAM or system memory;
 * NULL if the surface has no pages.
 */
static u8 *tiled_memory(struct pagoda_rig *rig, struct pagoda_bo *bo, u64 offset)
{
	if (bo->ttm.resource->mem_type == TTM_PL_VRAM)
		return rig->engine.vram + ((u64)bo->ttm.resource->start << PAGE_SHIFT) + offset;
	if (!bo->ttm.ttm || !ttm_tt_is_populated(bo->ttm.ttm))
		return NULL;
	return page_address(bo->ttm.ttm->pages[offset >> PAGE_SHIFT]) + offset_in_page(offset);
}

/*
 * With @write writes the bytes of @seed, else returns whether the surface's memory has them; as
 * tiles with @tiles, else as rows. Returns false without pages, true after writing.
 */
bool tiled_content(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed, bool tiles,
		   bool write)
{
	u64 offset;

	pagoda_rig_settle(rig);
	for (offset = 0; offset < bo->ttm.base.size; offset++) {
		u64 at = tiles ? tiled_offset(&bo->tiling.layout, offset) : offset;
		u8 *byte = tiled_memory(rig, bo, at);

		if (!byte)
			return false;
		if (write)
			*byte = tiled_byte(seed, offset);
		else if (*byte != tiled_byte(seed, offset))
			return false;
	}
	return true;
}

bool tiled_is(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	return tiled_content(rig, bo, seed, true, false);
}

bool rows_are(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	return tiled_content(rig, bo, seed, false, false);
}

/*
 * With @write writes the bytes of @seed in rows, else returns whether the window has them; uses the
 * pages that a page fault would map. Returns false if no window is shown, true after writing.
 */
bool window_content(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed, bool write)
{
	u64 offset;

	if (!pagoda_swizzle_is_shown(bo))
		return false;
	for (offset = 0; offset < bo->ttm.base.size; offset++) {
		unsigned long pfn = pagoda_swizzle_pfn(bo, offset >> PAGE_SHIFT);
		u8 *byte = page_address(pfn_to_page(pfn)) + offset_in_page(offset);

		if (write)
			*byte = tiled_byte(seed, offset);
		else if (*byte != tiled_byte(seed, offset))
			return false;
	}
	return true;
}

/* Calls pagoda_swizzle_acquire() until it isn't busy; waits without the reservation in between. */
int tiled_acquire(struct pagoda_bo *bo)
{
	struct dma_fence *busy;
	int ret;

	do {
		dma_resv_lock(bo->ttm.base.resv, NULL);
		ret = pagoda_swizzle_acquire(bo, &busy);
		dma_resv_unlock(bo->ttm.base.resv);
		if (busy)
			dma_fence_wait(busy, false);
		dma_fence_put(busy);
	} while (ret == -EAGAIN);
	return ret;
}

int tiled_release(struct pagoda_bo *bo)
{
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	ret = pagoda_swizzle_release(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/* Returns a surface in VRAM whose window is shown to the CPU and has the bytes of @seed. */
struct pagoda_bo *tiled_shown(struct pagoda_rig *rig, const struct pagoda_layout *layout,
			      u32 seed)
{
	struct pagoda_bo *bo = tiled_bo(rig, layout, CPU, VRAM | APERTURE);

	KUNIT_ASSERT_EQ(rig->test, 0, tiled_to_vram(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, tiled_acquire(bo));
	KUNIT_ASSERT_TRUE(rig->test, window_content(rig, bo, seed, true));
	return bo;
}

/* Moves to @place; in VRAM to a contiguous range. */
int tiled_place(struct pagoda_bo *bo, enum pagoda_place place)
{
	switch (place) {
	case PAGODA_PLACE_VRAM:
		return tiled_to_vram(bo);
	case PAGODA_PLACE_APERTURE:
		return pagoda_rig_to_aperture(bo, false);
	case PAGODA_PLACE_APERTURE_BOUND:
		return pagoda_rig_to_aperture(bo, true);
	default:
		return pagoda_rig_to_system(bo);
	}
}

u32 tiled_conversion(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	u32 count = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	const struct pagoda_rig_note *note;

	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, count - 1);
	return note ? note->flags & (SWIZZLE | UNSWIZZLE) : ~0u;
}
