// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the allocations that have to leave a range of VRAM to free it. Each allocated block of
 * VRAM's allocator points to the resource that the block belongs to; blocks of the reserve and of
 * invalid ranges point to no resource.
 */
#include <drm/ttm/ttm_bo.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "segment.h"

static u64 block_end(struct gpu_buddy *mm, struct gpu_buddy_block *block)
{
	return gpu_buddy_block_offset(block) + gpu_buddy_block_size(mm, block);
}

/* Returns the unsplit block of @mm that contains @address. Caller holds pagoda_vram.lock. */
struct gpu_buddy_block *pagoda_vram_block_at(struct gpu_buddy *mm, u64 address)
{
	struct gpu_buddy_block *block;
	u32 root = 0;

	while (block_end(mm, mm->roots[root]) <= address)
		root++;
	block = mm->roots[root];
	while (gpu_buddy_block_is_split(block))
		block = address < block_end(mm, block->left) ? block->left : block->right;
	return block;
}

/*
 * Returns a reference to the allocation that an allocated block belongs to; NULL for a block of the
 * reserve or an invalid range, of a ghost of TTM's, of an allocation without references, or of a
 * resource that isn't initialised for TTM yet. Called with pagoda_vram.lock held, without which the
 * resource may be freed.
 */
static struct pagoda_bo *block_owner(struct pagoda_vidmm *vidmm, struct gpu_buddy_block *block)
{
	struct pagoda_vram_resource *res = block->private;
	struct ttm_buffer_object *bo;

	if (!res)
		return NULL;
	/* TTM replaces &ttm_resource.bo under this lock, before it frees the former @bo. */
	spin_lock(&vidmm->ttm.lru_lock);
	bo = READ_ONCE(res->base.bo);
	if (bo && !(pagoda_bo_is_ours(bo) && kref_get_unless_zero(&bo->base.refcount)))
		bo = NULL;
	spin_unlock(&vidmm->ttm.lru_lock);
	return bo ? pagoda_bo_of_ttm(bo) : NULL;
}

/*
 * Stores a pointer to a new resource in each block of the resource, for block_owner(). Called with
 * pagoda_vram.lock held.
 */
void pagoda_vram_own(struct pagoda_vram_resource *res)
{
	struct gpu_buddy_block *block;

	list_for_each_entry(block, &res->blocks, link)
		block->private = res;
}

/*
 * Returns whether an allocated block belongs to one of @count allocations. No reference is taken:
 * the caller has references to @bos, and holds pagoda_vram.lock, without which the resource may be
 * freed.
 */
static bool block_is_of(struct gpu_buddy_block *block, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_vram_resource *res = block->private;
	struct ttm_buffer_object *bo = res ? READ_ONCE(res->base.bo) : NULL;

	/* Begin at the end: most likely the last of @bos, to which the block before belongs. */
	while (count--)
		if (&bos[count]->ttm == bo)
			return true;
	return false;
}

/**
 * pagoda_vram_owners() - Get the allocations that have to leave a range of VRAM to free it
 * @vidmm: Memory manager
 * @start: Offset of the range in VRAM
 * @size: Bytes of the range, which ends in VRAM
 * @bos: Filled with the allocations, each once and with a reference, sorted by the address of an
 *	allocation's first block in the range
 * @room: Number of entries that fit into @bos
 *
 * pagoda_vram.lock is dropped every few blocks: for blocks that are freed or allocated during the
 * walk, @bos may have the former allocation, or none.
 *
 * Context: May sleep.
 * Return: Number of entries in @bos; -EBUSY, without references, if there are more than @room, or
 * if something in the range can't leave: the reserve, an invalid range, or a resource that TTM is
 * about to free or begins to use.
 */
int pagoda_vram_owners(struct pagoda_vidmm *vidmm, u64 start, u64 size, struct pagoda_bo **bos,
		       u32 room)
{
	struct pagoda_vram *vram = vidmm->vram;
	u64 at = start;
	u32 count = 0, looked = 0;
	int ret = 0;

	mutex_lock(&vram->lock);
	while (at < start + size && !ret) {
		struct gpu_buddy_block *block;
		struct pagoda_bo *bo = NULL;

		if (!(++looked % PAGODA_WALK_SLICE)) {
			mutex_unlock(&vram->lock);
			pagoda_walk_pause();
			mutex_lock(&vram->lock);
		}
		block = pagoda_vram_block_at(&vram->mm, at);
		at = block_end(&vram->mm, block);
		if (gpu_buddy_block_is_free(block) || block_is_of(block, bos, count))
			continue;
		if (count < room)
			bo = block_owner(vidmm, block);
		if (bo)
			bos[count++] = bo;
		else
			ret = -EBUSY;
	}
	mutex_unlock(&vram->lock);
	while (ret && count)
		drm_gem_object_put(&bos[--count]->ttm.base);
	return ret ?: count;
}
