// SPDX-License-Identifier: GPL-2.0
/*
 * The reserve: a part of VRAM that only page tables and save areas of contexts may use.
 *
 * Whoever maps memory needs tables for it, and whoever executes needs both. They are placed
 * like everything else, and others leave for them. What doesn't leave may fill VRAM to the last
 * page: work that needs all of it at once, or the very memory that the tables show. The reserve
 * is for those that find no place although nobody can make more room (room.c).
 *
 * It is in one piece, as near to the end of VRAM as what the device reports invalid allows,
 * where the CPU sees least. It has an allocator of its own, with VRAM's addresses: in it all
 * else is taken for good, as the reserve is in VRAM's. Nobody can be placed in it by mistake,
 * and giving something back can't fail.
 *
 * To TTM it is VRAM: what is in it leaves when VRAM is emptied, and what is idle for others
 * that need the reserve; but not for who needs another part of VRAM (vram.c).
 */
#include <linux/log2.h>
#include <linux/sizes.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/ttm/ttm_bo.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/* Page tables of 4 KiB pages for all of VRAM take a 512th of it, and one chain of tables little. */
#define RESERVE_SHARE	64
#define RESERVE_LEAST	SZ_64K
#define RESERVE_MOST	SZ_16M

/* Most that may be asked for is one part of so many. */
#define RESERVE_LIMIT	2

/* Where it can be; U64_MAX: nowhere. Invalid ranges are in the order of addresses. */
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
 * pagoda_reserve_default() - How large the reserve is if nobody says so
 * @info: Device
 *
 * Context: Any.
 * Return: Bytes; 0 if VRAM is too small, or too much of it invalid.
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
 * @vidmm: Memory manager with drm and info set up
 * @size: Bytes that are wanted; 0 = none
 *
 * From then on &pagoda_reserve.start and size say what isn't others'.
 *
 * Context: Probe; before pagoda_vram_init().
 * Return: 0, or -EINVAL if it would be more than half of VRAM, or is nowhere in one piece.
 */
int pagoda_reserve_plan(struct pagoda_vidmm *vidmm, u64 size)
{
	const struct pagoda_device_info *info = vidmm->info;
	struct pagoda_reserve *reserve = &vidmm->vram.reserve;

	size = round_up(size, pagoda_vram_chunk(info));
	if (size > info->vram_size / RESERVE_LIMIT || reserve_find(info, size) == U64_MAX) {
		drm_err(vidmm->drm, "reserve_kb=%llu: more than half of VRAM, or nowhere in one piece\n",
			size >> 10);
		return -EINVAL;
	}
	reserve->size = size;
	reserve->start = size ? reserve_find(info, size) : 0;
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

/**
 * pagoda_reserve_init() - Make the reserve's allocator
 * @vram: Segment with an allocator in which the reserve is taken
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM; nothing is left behind then.
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

/**
 * pagoda_reserve_fini() - Undo pagoda_reserve_init()
 * @vram: Segment; nothing is in the reserve
 *
 * Context: May sleep.
 */
void pagoda_reserve_fini(struct pagoda_vram *vram)
{
	struct pagoda_reserve *reserve = &vram->reserve;

	if (!reserve->size)
		return;
	gpu_buddy_free_list(&reserve->mm, &reserve->outside, 0);
	gpu_buddy_fini(&reserve->mm);
}

/**
 * pagoda_reserve_used() - How much of the reserve is in use
 * @vram: Segment
 *
 * Context: &pagoda_vram.lock is held.
 * Return: Bytes.
 */
u64 pagoda_reserve_used(struct pagoda_vram *vram)
{
	struct pagoda_reserve *reserve = &vram->reserve;

	lockdep_assert_held(&vram->lock);
	return reserve->size ? reserve->size - reserve->mm.avail : 0;
}

/**
 * pagoda_reserve_place() - Bring a page table or save area to the reserve
 * @bo: It, reservation held; it has no place where the device finds it
 * @ctx: Whether waits may be interrupted, or happen at all
 *
 * Idle ones of others leave for it.
 *
 * Context: May sleep and allocate.
 * Return: 0; -ENOMEM if there is no reserve, or no room in it; or what ttm_bo_validate()
 * answers.
 */
int pagoda_reserve_place(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx)
{
	struct pagoda_reserve *reserve = &bo->vidmm->vram.reserve;
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
