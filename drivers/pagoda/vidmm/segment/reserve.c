// SPDX-License-Identifier: GPL-2.0
/*
 * The reserve: a part of VRAM that only page tables and save areas of contexts may use.
 *
 * Page tables and save areas are placed like other allocations, and other allocations are
 * evicted for them. But VRAM may be full of allocations that can't be evicted, such as those of
 * a job that needs all of VRAM at once. The reserve is for a page table or save area that finds no
 * other place when no eviction can make more room (vm/room.c).
 *
 * The reserve is the last contiguous range of its size in VRAM without ranges that the device
 * reports as invalid: the end of VRAM is the least likely to be CPU-visible. The reserve has a
 * buddy allocator of its own with VRAM's addresses, in which the rest of VRAM is allocated for
 * good. In VRAM's allocator the reserve is allocated for good. So no other allocation gets into
 * the reserve.
 *
 * For TTM the reserve is VRAM: resources in the reserve move out when VRAM is emptied. Idle
 * resources in the reserve are evicted for a page table or save area that is placed in the reserve,
 * but not for an allocation elsewhere in VRAM (vram_intersects()).
 */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include "core/compat.h"
#include "core/core.h"
#include "vidmm/ledger/allocation.h"
#include "internal.h"
#include "segment.h"

/*
 * Default size of the reserve: VRAM's size divided by RESERVE_SHARE, rounded down to a power of
 * two, at least RESERVE_LEAST and at most RESERVE_MOST bytes; no reserve if that is more than half
 * of VRAM or fits nowhere in one piece. Page tables for all of VRAM take a 512th of its size.
 */
#define RESERVE_SHARE	64
#define RESERVE_LEAST	SZ_64K
#define RESERVE_MOST	SZ_16M

/* The reserve is at most VRAM's size divided by RESERVE_LIMIT. */
#define RESERVE_LIMIT	2

/* Returns the start of VRAM's last range of @size bytes without invalid parts; U64_MAX if none. */
static u64 reserve_find(const struct pagoda_device_info *info, u64 size)
{
	u64 chunk = pagoda_vram_chunk(info);
	u64 end = round_down(info->vram_size, chunk);
	u32 i;

	for (i = info->nr_invalid; i-- > 0; ) {
		const struct pagoda_extent *invalid = &info->invalid[i];

		if (end < size || round_up(invalid->offset + invalid->size, chunk) <= end - size)
			break;
		end = round_down(invalid->offset, chunk);
	}
	return end < size ? U64_MAX : end - size;
}

/**
 * pagoda_reserve_default() - Size of the reserve if no module parameter sets it
 * @info: Device
 *
 * Context: Any.
 * Return: Bytes; 0, no reserve, if VRAM is too small, or has no valid range of that size.
 */
u64 pagoda_reserve_default(const struct pagoda_device_info *info)
{
	u64 share = rounddown_pow_of_two(info->vram_size / RESERVE_SHARE | 1);
	u64 size = clamp_t(u64, share, RESERVE_LEAST, RESERVE_MOST);

	size = round_up(size, pagoda_vram_chunk(info));
	if (size > info->vram_size / RESERVE_LIMIT || reserve_find(info, size) == U64_MAX)
		return 0;
	return size;
}

/**
 * pagoda_reserve_plan() - Decide where the reserve will be
 * @vidmm: Memory manager; its drm and info are set
 * @size: Size of the reserve in bytes, rounded up to the granularity of VRAM; 0 = no reserve
 *
 * Sets &pagoda_vidmm.reserve_start and &pagoda_vidmm.reserve_size for good.
 *
 * Context: Probe; before pagoda_vram_init().
 * Return: 0, or -EINVAL if @size is more than half of VRAM or fits nowhere in one piece.
 */
int pagoda_reserve_plan(struct pagoda_vidmm *vidmm, u64 size)
{
	const struct pagoda_device_info *info = vidmm->info;

	size = round_up(size, pagoda_vram_chunk(info));
	if (size > info->vram_size / RESERVE_LIMIT || reserve_find(info, size) == U64_MAX) {
		drm_err(vidmm->drm,
			"reserve_kb=%llu: more than half of VRAM, or nowhere in one piece\n",
			size >> 10);
		return -EINVAL;
	}
	vidmm->reserve_size = size;
	vidmm->reserve_start = size ? reserve_find(info, size) : 0;
	return 0;
}

static int reserve_take(struct pagoda_reserve *reserve, u64 start, u64 end)
{
	struct gpu_buddy *mm = &reserve->mm;

	if (start == end)
		return 0;
	return gpu_buddy_alloc_blocks(mm, start, end, end - start, mm->chunk_size,
				      &reserve->outside, 0);
}

/*
 * Sets up the reserve's allocator, if there is a reserve. Called after the reserve was allocated
 * for good in VRAM's allocator. Returns 0 or -ENOMEM; on failure nothing is left behind.
 */
int pagoda_reserve_init(struct pagoda_vram *vram)
{
	struct pagoda_reserve *reserve = &vram->reserve;
	int ret;

	if (!reserve->size)
		return 0;
	ret = gpu_buddy_init(&reserve->mm, vram->mm.size, vram->mm.chunk_size);
	if (ret)
		return ret;
	ret = reserve_take(reserve, 0, reserve->start);
	if (!ret)
		ret = reserve_take(reserve, reserve->start + reserve->size, reserve->mm.size);
	if (ret)
		pagoda_reserve_fini(vram);
	return ret;
}

void pagoda_reserve_fini(struct pagoda_vram *vram)
{
	struct pagoda_reserve *reserve = &vram->reserve;

	if (!reserve->size)
		return;
	gpu_buddy_free_list(&reserve->mm, &reserve->outside, 0);
	gpu_buddy_fini(&reserve->mm);
}

/* Returns the bytes of the reserve that are allocated. Caller holds pagoda_vram.lock. */
u64 pagoda_reserve_used(struct pagoda_vram *vram)
{
	struct pagoda_reserve *reserve = &vram->reserve;

	lockdep_assert_held(&vram->lock);
	return reserve->size ? reserve->size - reserve->mm.avail : 0;
}

/* Returns whether @res, a resource of VRAM, is in the reserve. */
bool pagoda_reserve_holds(const struct pagoda_vidmm *vidmm, const struct ttm_resource *res)
{
	return pagoda_reserve_has(&vidmm->vram->reserve, (u64)res->start << PAGE_SHIFT);
}

/**
 * pagoda_reserve_place() - Place a page table or save area in the reserve
 * @bo: Page table or save area for which there was no other room; reservation held
 * @ctx: Says whether signals end waits, and whether waits are allowed at all
 *
 * Idle page tables and save areas in the reserve are evicted for @bo.
 *
 * Context: May sleep and allocate.
 * Return: 0; -ENOMEM if there is no reserve or no room in the reserve; -EINTR or -ERESTARTSYS after
 * a signal; or another error of the move.
 */
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct pagoda_reserve *reserve = &bo->vidmm->vram->reserve;
	const struct ttm_place place = {
		.mem_type = TTM_PL_VRAM,
		.fpfn = reserve->start >> PAGE_SHIFT,
		.lpfn = (reserve->start + reserve->size) >> PAGE_SHIFT,
		.flags = pagoda_bo_vram_flags(bo->flags),
	};
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	int ret;

	if (!reserve->size || WARN_ON_ONCE(bo->ttm.type != ttm_bo_type_kernel))
		return -ENOMEM;
	ret = ttm_bo_validate(&bo->ttm, &placement, ctx);
	if (!ret)
		atomic64_inc(&reserve->placed);
	else
		atomic64_inc(&reserve->refused);
	return ret;
}
