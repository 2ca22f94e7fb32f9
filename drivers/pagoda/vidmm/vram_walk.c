// SPDX-License-Identifier: GPL-2.0
/*
 * Walking VRAM resources: what else is there to know about a list of blocks.
 *
 * The blocks of a resource don't change while it lives. Everything here is
 * called with the reservation of its allocation held and takes no lock.
 */
#include "vidmm.h"

static struct pagoda_vram_resource *walk_resource(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_vram_resource, base);
}

static struct gpu_buddy *walk_buddy(struct ttm_resource *res)
{
	return &pagoda_vidmm_of_ttm(res->bo->bdev)->vram.mm;
}

static u64 walk_block_end(struct gpu_buddy *mm, struct gpu_buddy_block *block)
{
	return gpu_buddy_block_offset(block) + gpu_buddy_block_size(mm, block);
}

/**
 * pagoda_vram_count_ranges() - Contiguous ranges a resource consists of
 * @res: Resource in VRAM
 *
 * Context: reservation of its allocation held.
 * Return: At least 1.
 */
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

/**
 * pagoda_vram_is_contiguous() - Whether a resource is one range (C162)
 * @res: Resource in VRAM
 *
 * Context: reservation of its allocation held.
 * Return: true if one address and the size describe it.
 */
bool pagoda_vram_is_contiguous(struct ttm_resource *res)
{
	return pagoda_vram_count_ranges(res) == 1;
}

/**
 * pagoda_vram_is_visible() - Whether the CPU can reach all of a resource
 * @vidmm: Memory manager
 * @res: Resource in VRAM
 *
 * Context: reservation of its allocation held.
 * Return: true if pagoda_vram_pfn() may be asked for any of its pages.
 */
bool pagoda_vram_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res)
{
	struct pagoda_vram *vram = &vidmm->vram;
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

/* Takes in what follows @block without a gap and, in a walk that asks, is as clean. */
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
 * @offset: First byte of the resource
 * @size: Bytes; the walk ends at the end of the resource at the latest
 *
 * A whole walk has as many steps as pagoda_vram_count_ranges() says, and no part more.
 *
 * Context: reservation of the allocation held while the cursor is used.
 */
void pagoda_vram_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size)
{
	cur->split = false;
	walk_first(cur, res, offset, size);
}

/**
 * pagoda_vram_first_clean() - Start a walk that tells what reads as zeros
 * @cur: Cursor
 * @res: Resource in VRAM
 * @size: Bytes, from the beginning
 * @epoch: pagoda_reset_epoch() when the move into it began
 *
 * As pagoda_vram_first(), but a range ends also where what is known of the content
 * changes: @cur->clean tells what the blocks held when they were given out, and only
 * the first to write the resource may rely on it. There can be more of these than
 * pagoda_vram_count_ranges() says.
 *
 * Context: as pagoda_vram_first().
 */
void pagoda_vram_first_clean(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
			     u64 size, u64 epoch)
{
	/* A reset of the device leaves nothing clean. */
	cur->split = !epoch;
	walk_first(cur, res, 0, size);
}

/**
 * pagoda_vram_next() - Go on in a walk
 * @cur: Cursor
 * @size: Bytes done, at most @cur->size
 *
 * Context: as pagoda_vram_first().
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
