// SPDX-License-Identifier: GPL-2.0
/*
 * The VRAM segment: TTM's resource manager for the device's memory.
 *
 * A buddy allocator gives out blocks, and knows which blocks read as zeros; a block that a resource
 * had doesn't count as zeros again. A freed range may be allocated again while the device still
 * copies from that range for a move: the next use of the range comes later in the line of moves or,
 * if the range becomes a page table, behind all moves so far (PAGODA_EDGE_PLACED).
 *
 * The blocks of a resource don't change until the resource is freed, so a caller that holds the
 * allocation's reservation may look at them without pagoda_vram.lock.
 */
#include <linux/list_sort.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <kunit/static_stub.h>
#include <kunit/visibility.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/info.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "segment.h"

/* A range of VRAM in bytes; @end is exclusive. */
struct vram_range {
	u64 start;
	u64 end;
};

/*
 * Position in the tree of the buddy allocator, for a loop over free ranges in the order of their
 * addresses. pagoda_vram.lock is held during the loop.
 */
struct vram_holes {
	struct gpu_buddy *mm;
	struct gpu_buddy_block *leaf;
	unsigned int root;
};

static struct pagoda_vram *vram_of_manager(struct ttm_resource_manager *man)
{
	return container_of(man, struct pagoda_vram, manager);
}

static struct pagoda_vram_resource *vram_resource(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_vram_resource, base);
}

/* Returns the allocator of @address: the reserve's or VRAM's. Both use VRAM's addresses. */
static struct gpu_buddy *vram_buddy(struct pagoda_vram *vram, u64 address)
{
	return pagoda_reserve_has(&vram->reserve, address) ? &vram->reserve.mm : &vram->mm;
}

/* Returns the blocks that the allocator of @address never gives out, sorted by address. */
static struct list_head *vram_taken(struct pagoda_vram *vram, u64 address)
{
	return pagoda_reserve_has(&vram->reserve, address) ? &vram->reserve.outside :
							     &vram->reserved;
}

static u64 vram_address(struct ttm_resource *res)
{
	return (u64)res->start << PAGE_SHIFT;
}

static struct vram_range vram_block_range(struct gpu_buddy *mm, struct gpu_buddy_block *block)
{
	u64 start = gpu_buddy_block_offset(block);

	return (struct vram_range){ start, start + gpu_buddy_block_size(mm, block) };
}

/* Returns the range that a placement allows, rounded inwards to the allocator's granularity. */
static struct vram_range vram_place_range(struct pagoda_vram *vram, const struct ttm_place *place)
{
	struct gpu_buddy *mm = &vram->mm;
	u64 start = (u64)place->fpfn << PAGE_SHIFT;
	u64 end = place->lpfn ? (u64)place->lpfn << PAGE_SHIFT : mm->size;

	start = min(round_up(start, mm->chunk_size), mm->size);
	end = round_down(min(end, mm->size), mm->chunk_size);
	return (struct vram_range){ start, max(start, end) };
}

/* ---- Search for free ranges -------------------------------------------------- */

static struct gpu_buddy_block *vram_first_leaf(struct gpu_buddy_block *block)
{
	while (gpu_buddy_block_is_split(block))
		block = block->left;
	return block;
}

static void vram_next_leaf(struct vram_holes *holes)
{
	struct gpu_buddy_block *block = holes->leaf;

	while (block->parent && block == block->parent->right)
		block = block->parent;
	if (block->parent)
		holes->leaf = vram_first_leaf(block->parent->right);
	else if (++holes->root < holes->mm->n_roots)
		holes->leaf = vram_first_leaf(holes->mm->roots[holes->root]);
	else
		holes->leaf = NULL;
}

static void vram_first_hole(struct vram_holes *holes, struct gpu_buddy *mm)
{
	holes->mm = mm;
	holes->root = 0;
	holes->leaf = vram_first_leaf(mm->roots[0]);
}

/* Sets *@hole to the next hole: all adjacent free blocks. Returns false if no hole is left. */
static bool vram_next_hole(struct vram_holes *holes, struct vram_range *hole)
{
	while (holes->leaf && !gpu_buddy_block_is_free(holes->leaf))
		vram_next_leaf(holes);
	if (!holes->leaf)
		return false;
	*hole = vram_block_range(holes->mm, holes->leaf);
	for (vram_next_leaf(holes); holes->leaf; vram_next_leaf(holes)) {
		if (!gpu_buddy_block_is_free(holes->leaf))
			break;
		hole->end += gpu_buddy_block_size(holes->mm, holes->leaf);
	}
	return true;
}

/*
 * Returns the lowest start, or with @from_end the highest, of an aligned range of @size bytes in
 * @hole; U64_MAX if no such range fits.
 */
static u64 vram_fit(struct vram_range hole, u64 size, u64 align, bool from_end)
{
	u64 start;

	if (hole.start >= hole.end || hole.end - hole.start < size)
		return U64_MAX;
	start = from_end ? round_down(hole.end - size, align) : round_up(hole.start, align);
	if (start < hole.start || start > hole.end - size)
		return U64_MAX;
	return start;
}

/*
 * Returns the start of an aligned range of @size bytes in the smallest hole of @range that has room
 * for it, so that large holes stay; U64_MAX if no hole has room. Visits all blocks of @mm.
 */
static u64 vram_best_fit(struct pagoda_vram *vram, struct gpu_buddy *mm, struct vram_range range,
			 u64 size, u64 align, bool from_end)
{
	struct vram_holes holes;
	struct vram_range hole;
	u64 best = U64_MAX;
	u64 smallest = U64_MAX;

	vram->walks++;
	vram_first_hole(&holes, mm);
	while (vram_next_hole(&holes, &hole)) {
		u64 start;

		hole.start = max(hole.start, range.start);
		hole.end = min(hole.end, range.end);
		start = vram_fit(hole, size, align, from_end);
		if (start == U64_MAX || hole.end - hole.start > smallest)
			continue;
		if (hole.end - hole.start == smallest && !from_end)
			continue;
		smallest = hole.end - hole.start;
		best = start;
	}
	return best;
}

/* Returns how many resources in VRAM were freed so far: a greater value tells of new free room. */
u64 pagoda_vram_frees(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->vram->frees);
}

/*
 * Visits up to PAGODA_WALK_SLICE blocks of VRAM from address *@at on, and moves *@at behind them.
 * *@run is the number of free bytes directly before *@at; *@largest becomes the size of the largest
 * free range seen so far. Returns false at VRAM's end.
 */
static bool vram_visit_slice(struct gpu_buddy *mm, u64 *at, u64 *run, u64 *largest)
{
	u32 looked;

	for (looked = 0; *at < mm->size && looked < PAGODA_WALK_SLICE; looked++) {
		struct gpu_buddy_block *block = pagoda_vram_block_at(mm, *at);

		*at += gpu_buddy_block_size(mm, block);
		*run = gpu_buddy_block_is_free(block) ? *run + gpu_buddy_block_size(mm, block) : 0;
		*largest = max(*largest, *run);
	}
	return *at < mm->size;
}

/*
 * Returns the bytes of the largest free range outside of the reserve. Visits the blocks of VRAM
 * only if blocks were allocated or freed since the last visit began. Drops pagoda_vram.lock every
 * few blocks, so that the result may miss allocations and frees during the visit. May sleep.
 */
u64 pagoda_vram_largest_free(struct pagoda_vidmm *vidmm)
{
	struct pagoda_vram *vram = vidmm->vram;
	u64 at = 0, run = 0, largest = 0, changes;

	mutex_lock(&vram->lock);
	changes = vram->changes;
	if (vram->largest_at == changes) {
		largest = vram->largest;
		mutex_unlock(&vram->lock);
		return largest;
	}
	while (vram_visit_slice(&vram->mm, &at, &run, &largest)) {
		mutex_unlock(&vram->lock);
		pagoda_walk_pause();
		mutex_lock(&vram->lock);
	}
	vram->largest = largest;
	vram->largest_at = changes;
	mutex_unlock(&vram->lock);
	return largest;
}

/**
 * pagoda_vram_could_hold() - Whether an allocation would fit in a placement if VRAM were empty
 * @vidmm: Memory manager
 * @place: Placement in VRAM: its range, and whether the allocation must be contiguous
 * @size: Size of the allocation in bytes
 * @align: Alignment in bytes that the allocation needs if contiguous; a power of two or 0
 *
 * If this returns false, vram_alloc() fails with -E2BIG, and TTM tries no other placement: a caller
 * that has a choice of segments has to leave VRAM out.
 *
 * Context: Any; takes no lock.
 * Return: true if the range of @place has @size bytes, contiguous if so asked, without invalid
 * ranges of VRAM and, unless @place begins in the reserve, without the reserve.
 */
bool pagoda_vram_could_hold(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
			    u64 size, u64 align)
{
	struct pagoda_vram *vram = vidmm->vram;
	struct vram_range range = vram_place_range(vram, place);
	struct list_head *taken = vram_taken(vram, range.start);
	bool contiguous = place->flags & TTM_PL_FLAG_CONTIGUOUS;
	struct gpu_buddy_block *block;
	struct vram_range hole = range;
	u64 sum = 0;

	align = max(align, vram->mm.chunk_size);
	list_for_each_entry(block, taken, link) {
		struct vram_range invalid = vram_block_range(&vram->mm, block);

		hole.end = clamp(invalid.start, hole.start, range.end);
		if (contiguous && vram_fit(hole, size, align, false) != U64_MAX)
			return true;
		sum += hole.end - hole.start;
		hole.start = clamp(invalid.end, hole.start, range.end);
	}
	hole.end = range.end;
	if (contiguous)
		return vram_fit(hole, size, align, false) != U64_MAX;
	return sum + hole.end - hole.start >= size;
}

/* ---- TTM's resource manager functions, with their helpers --------------------- */

/*
 * Returns whether no content will be copied to the new resource of @bo: then blocks known to be
 * zeros are preferred, each of which may save a FILL. @bo may be a ghost of TTM's, which is part of
 * no struct pagoda_bo.
 */
static bool vram_wants_zeros(struct ttm_buffer_object *bo)
{
	if (bo->resource && bo->resource->mem_type == TTM_PL_VRAM)
		return false;
	if (!bo->ttm)
		return true;
	return !ttm_tt_is_populated(bo->ttm) && !(bo->ttm->page_flags & TTM_TT_FLAG_SWAPPED);
}

/*
 * Allocates a contiguous range that is one block of the buddy allocator, for which not all blocks
 * have to be visited. Returns 0; -EINVAL if a block can't be asked for: @size isn't a power of two,
 * @align is larger than @size, @range isn't all of @mm, or @from_end is set; -ENOSPC if no free
 * range of @size bytes is aligned to @size; or another negative errno.
 */
static int vram_alloc_block(struct gpu_buddy *mm, struct vram_range range, u64 size, u64 align,
			    bool from_end, struct list_head *blocks)
{
	if (!is_power_of_2(size) || align > size || from_end || range.start ||
	    range.end != mm->size)
		return -EINVAL;
	return gpu_buddy_alloc_blocks(mm, 0, mm->size, size, size, blocks, 0);
}

/*
 * Allocates a contiguous range of exactly @size bytes, without rounding up to a power of two. If
 * larger than @align, the largest power of two that divides @size is tried as alignment before
 * @align: this takes fewer buddy blocks and leaves no gaps between allocations of equal size.
 * Returns 0 or a negative errno.
 */
static int vram_alloc_contiguous(struct pagoda_vram *vram, struct gpu_buddy *mm,
				 struct vram_range range, u64 size, u64 align, bool from_end,
				 struct list_head *blocks)
{
	u64 natural = max(align, size & -size), start = U64_MAX;
	int ret = vram_alloc_block(mm, range, size, align, from_end, blocks);

	if (!ret || (ret != -ENOSPC && ret != -EINVAL))
		return ret;
	if (ret == -EINVAL)
		start = vram_best_fit(vram, mm, range, size, natural, from_end);
	if (start == U64_MAX && align < natural)
		start = vram_best_fit(vram, mm, range, size, align, from_end);
	if (start == U64_MAX)
		return -ENOSPC;
	return gpu_buddy_alloc_blocks(mm, start, start + size, size, mm->chunk_size, blocks, 0);
}

static int vram_alloc_scattered(struct gpu_buddy *mm, struct vram_range range, u64 size,
				u64 align, unsigned long flags, struct list_head *blocks)
{
	int ret;

	if (range.start || range.end != mm->size)
		flags |= GPU_BUDDY_RANGE_ALLOCATION;
	ret = gpu_buddy_alloc_blocks(mm, range.start, range.end, size, align, blocks, flags);
	/* Try again without the alignment, which only a contiguous range needs. */
	if ((ret == -ENOSPC || ret == -EINVAL) && align > mm->chunk_size)
		ret = gpu_buddy_alloc_blocks(mm, range.start, range.end, size, mm->chunk_size,
					     blocks, flags);
	return ret;
}

static int vram_alloc_blocks(struct pagoda_vram *vram, struct ttm_buffer_object *bo,
			     const struct ttm_place *place, struct list_head *blocks)
{
	struct vram_range range = vram_place_range(vram, place);
	struct gpu_buddy *mm = vram_buddy(vram, range.start);
	u64 size = round_up((u64)bo->base.size, mm->chunk_size);
	u64 align = max((u64)bo->page_alignment << PAGE_SHIFT, mm->chunk_size);
	bool from_end = place->flags & TTM_PL_FLAG_TOPDOWN;
	unsigned long flags = 0;

	lockdep_assert_held(&vram->lock);
	if (mm == &vram->mm && mm->avail < size + pagoda_vram_claimed(vram, bo))
		return -ENOSPC;
	if (place->flags & TTM_PL_FLAG_CONTIGUOUS)
		return vram_alloc_contiguous(vram, mm, range, size, align, from_end, blocks);
	if (from_end)
		flags |= GPU_BUDDY_TOPDOWN_ALLOCATION;
	if (vram_wants_zeros(bo))
		flags |= GPU_BUDDY_CLEAR_ALLOCATION;
	return vram_alloc_scattered(mm, range, size, align, flags, blocks);
}

/* Returns the CPU-visible bytes of @blocks; 0 in the reserve, where no visible room is counted. */
static u64 vram_visible_bytes(struct pagoda_vram *vram, struct list_head *blocks)
{
	struct gpu_buddy_block *block;
	u64 bytes = 0;

	list_for_each_entry(block, blocks, link) {
		struct vram_range range = vram_block_range(&vram->mm, block);

		if (pagoda_reserve_has(&vram->reserve, range.start))
			break;
		if (range.start < vram->visible_size)
			bytes += min(range.end, vram->visible_size) - range.start;
	}
	return bytes;
}

VISIBLE_IF_KUNIT struct pagoda_vram_resource *pagoda_vram_new_resource(void)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_vram_new_resource);
	return kzalloc(sizeof(struct pagoda_vram_resource), GFP_KERNEL_ACCOUNT);
}

static void vram_note_free(struct pagoda_vram *vram)
{
	lockdep_assert_held(&vram->lock);
	vram->changes++;
	WRITE_ONCE(vram->vidmm->vram_free, vram->mm.avail);
}

/*
 * &ttm_resource_manager_func.alloc of VRAM. Returns 0; -ENOSPC if TTM should evict a victim and try
 * again, -E2BIG if no eviction can help, or another negative errno. ttm_resource_init(), which puts
 * the resource on TTM's LRU lists, comes after all that can fail.
 */
static int vram_alloc(struct ttm_resource_manager *man, struct ttm_buffer_object *bo,
		      const struct ttm_place *place, struct ttm_resource **res)
{
	struct pagoda_vram *vram = vram_of_manager(man);
	struct pagoda_vram_resource *vres;
	int ret;

	if (!bo->base.size ||
	    !pagoda_vram_could_hold(pagoda_vidmm_of_ttm(bo->bdev), place, bo->base.size,
				    (u64)bo->page_alignment << PAGE_SHIFT))
		return -E2BIG;
	vres = pagoda_vram_new_resource();
	if (!vres)
		return -ENOMEM;
	INIT_LIST_HEAD(&vres->blocks);

	mutex_lock(&vram->lock);
	ret = vram_alloc_blocks(vram, bo, place, &vres->blocks);
	if (!ret) {
		pagoda_vram_own(vres);
		vres->visible = vram_visible_bytes(vram, &vres->blocks);
		vram->visible_used += vres->visible;
		vram_note_free(vram);
	}
	mutex_unlock(&vram->lock);
	if (ret) {
		kfree(vres);
		return ret;
	}

	ttm_resource_init(bo, place, &vres->base);
	pagoda_hold(vram->vidmm, &vres->held, pagoda_client_of_ttm(bo), VIRTIO_PAGODA_SEGMENT_VRAM,
		    vres->base.size);
	vres->base.start = gpu_buddy_block_offset(list_first_entry(&vres->blocks,
								   struct gpu_buddy_block,
								   link)) >> PAGE_SHIFT;
	/* TTM need not move the resource if contiguous memory is asked for later. */
	if (pagoda_vram_is_contiguous(&vres->base))
		vres->base.placement |= TTM_PL_FLAG_CONTIGUOUS;
	*res = &vres->base;
	return 0;
}

/*
 * Frees a resource and its blocks, and has promotion look for allocations to bring back. May sleep,
 * allocates nothing; also called on TTM's work queue.
 */
static void vram_free(struct ttm_resource_manager *man, struct ttm_resource *res)
{
	struct pagoda_vram *vram = vram_of_manager(man);
	struct pagoda_vram_resource *vres = vram_resource(res);

	ttm_resource_fini(man, res);
	mutex_lock(&vram->lock);
	vram->visible_used -= vres->visible;
	gpu_buddy_free_list(vram_buddy(vram, vram_address(res)), &vres->blocks, 0);
	WRITE_ONCE(vram->frees, vram->frees + 1);
	vram_note_free(vram);
	mutex_unlock(&vram->lock);
	pagoda_let_go(vram->vidmm, &vres->held);
	kfree(vres);
	pagoda_promote_kick(vram->vidmm);
}

/*
 * Returns whether evicting @res can make room at @place: whether their ranges overlap, and either
 * both or none of @res and the start of @place are in the reserve.
 */
static bool vram_intersects(struct ttm_resource_manager *man, struct ttm_resource *res,
			    const struct ttm_place *place, size_t size)
{
	struct pagoda_vram *vram = vram_of_manager(man);
	struct vram_range range = vram_place_range(vram, place);
	struct gpu_buddy_block *block;

	if (vram_buddy(vram, vram_address(res)) != vram_buddy(vram, range.start))
		return false;
	list_for_each_entry(block, &vram_resource(res)->blocks, link) {
		struct vram_range used = vram_block_range(&vram->mm, block);

		if (used.start < range.end && used.end > range.start)
			return true;
	}
	return false;
}

/*
 * Returns whether @res lies within the range of @place, so that the allocation needn't move; TTM
 * itself compares the flag for contiguity. The reserve counts as VRAM: a resource in the reserve is
 * compatible with a place that is all of VRAM, and stays in the reserve.
 */
static bool vram_compatible(struct ttm_resource_manager *man, struct ttm_resource *res,
			    const struct ttm_place *place, size_t size)
{
	struct pagoda_vram *vram = vram_of_manager(man);
	struct vram_range range = vram_place_range(vram, place);
	struct gpu_buddy_block *block;

	list_for_each_entry(block, &vram_resource(res)->blocks, link) {
		struct vram_range used = vram_block_range(&vram->mm, block);

		if (used.start < range.start || used.end > range.end)
			return false;
	}
	return true;
}

static void vram_debug(struct ttm_resource_manager *man, struct drm_printer *p)
{
	struct pagoda_vram *vram = vram_of_manager(man);
	struct vram_holes holes;
	struct vram_range hole;
	u64 largest = 0;
	u64 count = 0;

	mutex_lock(&vram->lock);
	vram_first_hole(&holes, &vram->mm);
	while (vram_next_hole(&holes, &hole)) {
		largest = max(largest, hole.end - hole.start);
		count++;
	}
	drm_printf(p, "  visible: %llu bytes, %llu in use\n", vram->visible_size,
		   vram->visible_used);
	drm_printf(p, "  free: %llu bytes, %llu known to be zero\n", vram->mm.avail,
		   vram->mm.clear_avail);
	drm_printf(p, "  holes: %llu, largest %llu bytes; all blocks were visited %llu times\n",
		   count, largest, vram->walks);
	drm_printf(p, "  reserve: %llu bytes, %llu in use, placed %lld, refused %lld\n",
		   vram->reserve.size, pagoda_reserve_used(vram),
		   atomic64_read(&vram->reserve.placed), atomic64_read(&vram->reserve.refused));
	mutex_unlock(&vram->lock);
}

static const struct ttm_resource_manager_func vram_manager_func = {
	.alloc = vram_alloc,
	.free = vram_free,
	.intersects = vram_intersects,
	.compatible = vram_compatible,
	.debug = vram_debug,
};

/* ---- Init and fini --------------------------------------------------------- */

/*
 * Notes in VRAM's allocator that all of VRAM reads as zeros, because the device has zeroed VRAM: no
 * FILL is needed for the first allocation of a block. Returns 0 or a negative errno.
 */
static int vram_mark_all_clean(struct pagoda_vram *vram)
{
	struct gpu_buddy *mm = &vram->mm;
	LIST_HEAD(blocks);
	int ret;

	ret = gpu_buddy_alloc_blocks(mm, 0, mm->size, mm->size, mm->chunk_size, &blocks, 0);
	if (!ret)
		gpu_buddy_free_list(mm, &blocks, GPU_BUDDY_CLEARED);
	return ret;
}

/*
 * Allocates @range in VRAM's allocator for good, except for chunks (pagoda_vram_chunk()) that were
 * allocated before. Returns 0 or -ENOMEM.
 */
static int vram_reserve(struct pagoda_vram *vram, struct vram_range range)
{
	struct gpu_buddy *mm = &vram->mm;
	u64 chunk = mm->chunk_size;
	int ret;

	ret = gpu_buddy_alloc_blocks(mm, range.start, range.end, range.end - range.start,
				     chunk, &vram->reserved, 0);
	if (ret != -ENOSPC)
		return ret;
	for (; range.start < range.end; range.start += chunk) {
		ret = gpu_buddy_alloc_blocks(mm, range.start, range.start + chunk, chunk, chunk,
					     &vram->reserved, 0);
		if (ret && ret != -ENOSPC)
			return ret;
	}
	return 0;
}

static int vram_compare_blocks(void *priv, const struct list_head *a, const struct list_head *b)
{
	u64 left = gpu_buddy_block_offset(list_entry(a, struct gpu_buddy_block, link));
	u64 right = gpu_buddy_block_offset(list_entry(b, struct gpu_buddy_block, link));

	return left < right ? -1 : left > right;
}

/*
 * Allocates for good, in VRAM's allocator, the ranges of VRAM that the device reports as invalid,
 * so that no resource gets them (C164). Returns 0 or a negative errno.
 */
static int vram_reserve_invalid(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_vram *vram = vidmm->vram;
	struct gpu_buddy *mm = &vram->mm;
	u32 i;

	for (i = 0; i < info->nr_invalid; i++) {
		u64 start = info->invalid[i].offset;
		struct vram_range range = {
			.start = round_down(start, mm->chunk_size),
			.end = min(round_up(start + info->invalid[i].size, mm->chunk_size),
				   mm->size),
		};
		int ret;

		if (range.start >= range.end)
			continue;
		ret = vram_reserve(vram, range);
		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Allocates invalid ranges and the reserve in VRAM's allocator for good, and sets up the reserve's
 * allocator. Returns 0 or a negative errno.
 */
static int vram_reserve_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_vram *vram = vidmm->vram;
	const struct vram_range range = {
		.start = vram->reserve.start,
		.end = vram->reserve.start + vram->reserve.size,
	};
	int ret = vram_reserve_invalid(vidmm);

	if (ret)
		return ret;
	INIT_LIST_HEAD(&vram->reserve.outside);
	if (vram->reserve.size)
		ret = vram_reserve(vram, range);
	if (!ret)
		ret = pagoda_reserve_init(vram);
	if (ret)
		return ret;
	list_sort(NULL, &vram->reserved, vram_compare_blocks);
	list_sort(NULL, &vram->reserve.outside, vram_compare_blocks);
	return 0;
}

static void vram_fini_blocks(struct pagoda_vram *vram)
{
	pagoda_reserve_fini(vram);
	gpu_buddy_free_list(&vram->mm, &vram->reserved, 0);
	gpu_buddy_fini(&vram->mm);
}

static int vram_init_blocks(struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_vram *vram = vidmm->vram;
	int ret;

	ret = gpu_buddy_init(&vram->mm, info->vram_size, pagoda_vram_chunk(info));
	if (ret)
		return ret;
	if (info->vram_zeroed)
		ret = vram_mark_all_clean(vram);
	if (!ret)
		ret = vram_reserve_all(vidmm);
	if (ret) {
		gpu_buddy_free_list(&vram->mm, &vram->reserved, 0);
		gpu_buddy_fini(&vram->mm);
	}
	return ret;
}

/* Returns the kernel address of the CPU-visible part of VRAM, or NULL if no part is visible. */
u8 *pagoda_vram_window(struct pagoda_vidmm *vidmm)
{
	return vidmm->vram->window;
}

/**
 * pagoda_vram_init() - Make the VRAM segment
 * @vidmm: Memory manager; drm, info and ttm are set up, and the reserve is planned
 * @args: Unused
 *
 * Context: May sleep and allocate; before the device is registered.
 * Return: 0, -ENOMEM, or -EINVAL if only a part of visible VRAM is RAM with struct pages; on
 * failure pagoda_vram_fini() isn't needed.
 */
int pagoda_vram_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_vram *vram;
	int ret;

	vram = drmm_kzalloc(vidmm->drm, sizeof(*vram), GFP_KERNEL);
	if (!vram)
		return -ENOMEM;
	vidmm->vram = vram;
	vram->vidmm = vidmm;
	mutex_init(&vram->lock);
	INIT_LIST_HEAD(&vram->reserved);
	INIT_LIST_HEAD(&vram->claims);
	vram->reserve.start = vidmm->reserve_start;
	vram->reserve.size = vidmm->reserve_size;
	vram->visible_size = vidmm->info->visible_size;
	ret = vram_init_blocks(vidmm);
	if (ret)
		goto err_lock;
	vram->largest_at = U64_MAX;
	WRITE_ONCE(vidmm->vram_free, vram->mm.avail);
	ret = pagoda_vram_map_window(vidmm);
	if (ret)
		goto err_blocks;

	vram->manager.func = &vram_manager_func;
	vram->manager.use_tt = false;
	ttm_resource_manager_init(&vram->manager, &vidmm->ttm, vidmm->info->vram_size);
	ttm_set_driver_manager(&vidmm->ttm, TTM_PL_VRAM, &vram->manager);
	ttm_resource_manager_set_used(&vram->manager, true);
	return 0;

err_blocks:
	vram_fini_blocks(vram);
err_lock:
	mutex_destroy(&vram->lock);
	return ret;
}

/**
 * pagoda_vram_fini() - Empty the VRAM segment and take it down
 * @vidmm: Memory manager, after pagoda_vram_init()
 *
 * Evicts allocations left in VRAM: in KUnit tests only, else content_fini() has evicted all before.
 * If VRAM can't be emptied, an error is logged and the segment isn't taken down.
 *
 * Context: May sleep; the segment has no other users any more.
 */
void pagoda_vram_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_vram *vram = vidmm->vram;

	if (ttm_resource_manager_evict_all(&vidmm->ttm, &vram->manager)) {
		drm_err(vidmm->drm, "VRAM can't be emptied\n");
		return;
	}
	ttm_resource_manager_set_used(&vram->manager, false);
	ttm_resource_manager_cleanup(&vram->manager);
	ttm_set_driver_manager(&vidmm->ttm, TTM_PL_VRAM, NULL);
	drm_WARN_ON(vidmm->drm, vram->visible_used);
	pagoda_vram_unmap_window(vidmm);
	vram_fini_blocks(vram);
	mutex_destroy(&vram->lock);
}

/* Returns the bytes of VRAM that the CPU can reach, without those of the reserve. */
static u64 vram_visible_size(const struct pagoda_vram *vram)
{
	const struct pagoda_reserve *reserve = &vram->reserve;
	u64 end = reserve->start + reserve->size, size = vram->visible_size;

	return size - (min(size, end) - min(size, reserve->start));
}

/* Fills in @info, in which the caller has set the id only, for VRAM. May sleep. */
void pagoda_vram_report(struct pagoda_vidmm *vidmm, struct drm_pagoda_segment_info *info)
{
	struct pagoda_vram *vram = vidmm->vram;

	info->size = pagoda_vidmm_segment_size(vidmm);
	info->visible_size = vram_visible_size(vram);
	if (info->visible_size == info->size)
		info->flags |= DRM_PAGODA_SEGMENT_CPU_VISIBLE;
	else if (info->visible_size)
		info->flags |= DRM_PAGODA_SEGMENT_CPU_PARTIAL;
	info->largest_free = pagoda_vram_largest_free(vidmm);
	info->reserve_size = vram->reserve.size;
	info->reserve_refused = atomic64_read(&vram->reserve.refused);
	mutex_lock(&vram->lock);
	info->visible_usage = vram->visible_used;
	info->reserve_usage = pagoda_reserve_used(vram);
	mutex_unlock(&vram->lock);
	/* TTM's usage includes the reserve, and may lag behind the reserve's allocator. */
	info->usage = ttm_resource_manager_usage(&vram->manager);
	info->usage -= min(info->usage, info->reserve_usage);
}
