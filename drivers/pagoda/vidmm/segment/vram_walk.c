// SPDX-License-Identifier: GPL-2.0
/*
 * Walks over the contiguous ranges of a VRAM resource, which is a list of buddy blocks.
 *
 * The blocks of a resource don't change while the resource lives. All functions for resources are
 * called with the reservation of the allocation held, or before the resource is in use, and take no
 * lock. This file also has the granularity of VRAM and TTM's placement flags for VRAM.
 */
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "internal.h"
#include "segment.h"

static struct pagoda_vram_resource *walk_resource(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_vram_resource, base);
}

static struct gpu_buddy *walk_buddy(struct ttm_resource *res)
{
	return &pagoda_vidmm_of_ttm(res->bo->bdev)->vram->mm;
}

static u64 walk_block_end(struct gpu_buddy *mm, struct gpu_buddy_block *block)
{
	return gpu_buddy_block_offset(block) + gpu_buddy_block_size(mm, block);
}

/* Returns the number of contiguous ranges of a resource in VRAM, at least 1. */
u32 pagoda_vram_count_ranges(struct ttm_resource *res)
{
	struct gpu_buddy *mm = walk_buddy(res);
	struct gpu_buddy_block *block;
	u64 end = U64_MAX;
	u32 count = 0;

	list_for_each_entry(block, &walk_resource(res)->blocks, link) {
		count += gpu_buddy_block_offset(block) != end;
		end = walk_block_end(mm, block);
	}
	return count;
}

/* Returns whether a resource in VRAM is a single contiguous range (C162). */
bool pagoda_vram_is_contiguous(struct ttm_resource *res)
{
	return pagoda_vram_count_ranges(res) == 1;
}

/* Returns whether the CPU can reach all of a resource in VRAM, as pagoda_vram_pfn() needs. */
bool pagoda_vram_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res)
{
	struct pagoda_vram *vram = vidmm->vram;
	struct gpu_buddy_block *block;

	list_for_each_entry(block, &walk_resource(res)->blocks, link) {
		if (walk_block_end(&vram->mm, block) > vram->visible_size)
			return false;
	}
	return true;
}

static bool walk_clean(const struct pagoda_vram_cursor *cur, struct gpu_buddy_block *block)
{
	return cur->split && gpu_buddy_block_is_clear(block);
}

/*
 * Sets the current range to @block from byte @skip on and the blocks that follow without a gap, as
 * far as the walk goes. With &pagoda_vram_cursor.split the range ends before a block that is
 * cleared if @block isn't, or isn't cleared if @block is.
 */
static void walk_load(struct pagoda_vram_cursor *cur, struct gpu_buddy_block *block,
		      u64 skip)
{
	struct gpu_buddy *mm = walk_buddy(&cur->resource->base);
	u64 end = walk_block_end(mm, block);

	cur->address = gpu_buddy_block_offset(block) + skip;
	cur->clean = walk_clean(cur, block);
	while (end - cur->address < cur->left &&
	       !list_is_last(&block->link, &cur->resource->blocks)) {
		struct gpu_buddy_block *next = list_next_entry(block, link);

		if (gpu_buddy_block_offset(next) != end || walk_clean(cur, next) != cur->clean)
			break;
		block = next;
		end = walk_block_end(mm, block);
	}
	cur->block = block;
	cur->size = min(end - cur->address, cur->left);
}

static void walk_end(struct pagoda_vram_cursor *cur)
{
	cur->block = NULL;
	cur->size = 0;
	cur->left = 0;
}

static void walk_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size)
{
	struct gpu_buddy *mm = walk_buddy(res);
	struct gpu_buddy_block *block;

	cur->resource = walk_resource(res);
	walk_end(cur);
	if (WARN_ON_ONCE(offset > res->size || size > res->size - offset) || !size)
		return;
	cur->left = size;
	list_for_each_entry(block, &cur->resource->blocks, link) {
		u64 bytes = gpu_buddy_block_size(mm, block);

		if (offset < bytes) {
			walk_load(cur, block, offset);
			return;
		}
		offset -= bytes;
	}
}

/**
 * pagoda_vram_first() - Start a walk over the contiguous ranges of a resource
 * @cur: Cursor; @cur->size is 0 when there is nothing to walk
 * @res: Resource in VRAM
 * @offset: First byte, relative to the resource
 * @size: Bytes to walk; @offset + @size is at most the size of the resource
 *
 * A walk has at most pagoda_vram_count_ranges() ranges.
 *
 * Context: Caller holds the reservation of the allocation while the cursor is used.
 */
void pagoda_vram_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size)
{
	cur->split = false;
	walk_first(cur, res, offset, size);
}

/**
 * pagoda_vram_first_clean() - Start a walk that tells which ranges read as zeros
 * @cur: Cursor
 * @res: Resource in VRAM
 * @size: Bytes to walk, from the beginning of the resource
 * @epoch: pagoda_reset_epoch() when the move into the resource began
 *
 * A range also ends where cleared blocks meet others, so the walk can have more ranges than
 * pagoda_vram_count_ranges(). @cur->clean tells whether the range was known to read as zeros when
 * its blocks were allocated. After a reset of the device @cur->clean is false for every range. Only
 * the first writer of the resource may rely on @cur->clean.
 *
 * Context: Caller holds the reservation of the allocation.
 */
void pagoda_vram_first_clean(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
			     u64 size, u64 epoch)
{
	/* After a reset of the device no block is known to be zeros. */
	cur->split = !epoch;
	walk_first(cur, res, 0, size);
}

/**
 * pagoda_vram_next() - Advance a cursor in its range, or from the range's end to the next range
 * @cur: Cursor
 * @size: Bytes to advance, at most @cur->size
 *
 * At the end of the walk @cur->size is 0.
 *
 * Context: Caller holds the reservation of the allocation.
 */
void pagoda_vram_next(struct pagoda_vram_cursor *cur, u64 size)
{
	if (WARN_ON_ONCE(size > cur->size))
		size = cur->size;
	cur->address += size;
	cur->size -= size;
	cur->left -= size;
	if (cur->size)
		return;
	if (cur->left && !list_is_last(&cur->block->link, &cur->resource->blocks))
		walk_load(cur, list_next_entry(cur->block, link), 0);
	else
		walk_end(cur);
}

/* Returns the allocation granularity of VRAM in bytes, a power of two. */
u64 pagoda_vram_chunk(const struct pagoda_device_info *info)
{
	return max_t(u64, PAGE_SIZE, info->alignment);
}

/* Returns the TTM_PL_FLAG_* of a place in VRAM for an allocation with @flags. */
u32 pagoda_bo_vram_flags(u32 flags)
{
	u32 vram = 0;

	if (flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS)
		vram |= TTM_PL_FLAG_CONTIGUOUS;
	if (flags & DRM_PAGODA_ALLOCATION_FROM_END)
		vram |= TTM_PL_FLAG_TOPDOWN;
	return vram;
}
