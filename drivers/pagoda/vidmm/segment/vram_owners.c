// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the allocations that have to leave a range of VRAM to free it. Each allocated block of
 * VRAM's allocator points to the resource that the block belongs to; blocks of the reserve and of
 * invalid ranges point to no resource.
 */
#include <linux/hash.h>
#include <linux/log2.h>
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

/* Buckets of struct owners: twice as many as allocations, so that few share a bucket. */
#define OWNERS_BITS	(const_ilog2(PAGODA_VRAM_OWNERS) + 1)

/*
 * struct owners - allocations that a walk has found so far, a reference each, and where to find
 * them, so that the time for a block doesn't grow with their number
 * @buckets: hash table with open addressing: index in @bos plus one, or 0
 */
struct owners {
	struct pagoda_bo **bos;
	u32 count;
	u8 buckets[1 << OWNERS_BITS];
};

/*
 * Returns the bucket of an allocation: 0 if the walk hasn't found @bo, which may be NULL or
 * anything else. @bo is only compared.
 */
static u8 *owners_bucket(struct owners *owners, const struct ttm_buffer_object *bo)
{
	u32 i = hash_ptr(bo, OWNERS_BITS);

	while (owners->buckets[i] && &owners->bos[owners->buckets[i] - 1]->ttm != bo)
		i = (i + 1) % ARRAY_SIZE(owners->buckets);
	return &owners->buckets[i];
}

/*
 * Returns whether the walk has found the allocation of an allocated block before. Takes no
 * reference: the caller holds pagoda_vram.lock, without which the resource may be freed.
 */
static bool owners_have(struct owners *owners, struct gpu_buddy_block *block)
{
	struct pagoda_vram_resource *res = block->private;

	return *owners_bucket(owners, res ? READ_ONCE(res->base.bo) : NULL);
}

/* Adds an allocation, and takes over the caller's reference. */
static void owners_add(struct owners *owners, struct pagoda_bo *bo)
{
	u8 *bucket = owners_bucket(owners, &bo->ttm);

	/* TTM may have told just now that the block, too, belongs to an allocation found before. */
	if (*bucket) {
		drm_gem_object_put(&bo->ttm.base);
		return;
	}
	owners->bos[owners->count++] = bo;
	*bucket = owners->count;
}

/**
 * pagoda_vram_owners() - Get the allocations that have to leave a range of VRAM to free it
 * @vidmm: Memory manager
 * @start: Offset of the range in VRAM
 * @size: Bytes of the range, which ends in VRAM
 * @bos: Filled with the allocations, each once and with a reference, sorted by the address of an
 *	allocation's first block in the range
 * @room: Number of entries that fit into @bos, at most %PAGODA_VRAM_OWNERS
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
	struct owners owners = { .bos = bos };
	u64 at = start;
	u32 looked = 0;
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
		if (gpu_buddy_block_is_free(block) || owners_have(&owners, block))
			continue;
		if (owners.count < room)
			bo = block_owner(vidmm, block);
		if (bo)
			owners_add(&owners, bo);
		else
			ret = -EBUSY;
	}
	mutex_unlock(&vram->lock);
	while (ret && owners.count)
		drm_gem_object_put(&bos[--owners.count]->ttm.base);
	return ret ?: owners.count;
}
