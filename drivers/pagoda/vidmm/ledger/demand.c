// SPDX-License-Identifier: GPL-2.0
/*
 * What allocations need at the same time, by the segments that they can be in.
 *
 * A demand that exceeds the segments can't be met, whatever is evicted. A demand may be too large
 * although the segments have enough bytes: each contiguous allocation with an alignment begins with
 * an aligned piece of VRAM of its own, and in the piece where it ends no other such allocation can
 * begin. And no contiguous allocation fits across a range of VRAM that is invalid or reserved.
 */
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include "core/core.h"
#include "core/info.h"
#include "allocation.h"
#include "internal.h"
#include "ledger.h"

static u64 residency_excess(u64 need, u64 room)
{
	return need > room ? need - room : 0;
}

/*
 * Returns the member of @demand that an allocation's size has to be added to, by the segments that
 * the GPU can use it in; NULL if the GPU can use it in scattered system pages.
 */
static u64 *demand_part(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	if (bo->supported == PAGODA_VRAM_BIT)
		return &demand->only_vram;
	if (!(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY))
		return NULL; /* scattered system pages, which no demand counts, will do */
	if (bo->supported == PAGODA_APERTURE_BIT)
		return &demand->only_aperture;
	return &demand->either;
}

/* Returns log2 of the size in bytes of the pieces that entry @index of slots and runs counts. */
static u32 demand_shift(u32 index)
{
	return ilog2(SZ_8K) + index;
}

/*
 * Returns how many pieces of VRAM, of 1 << @shift bytes and aligned to their size, a contiguous
 * allocation keeps from others of that alignment: if the allocation has at least that alignment,
 * the number of pieces that it touches; else the number of pieces that it covers as a whole
 * wherever it begins.
 */
static u64 demand_slots_of(const struct pagoda_bo *bo, u32 shift)
{
	u64 size = bo->ttm.base.size, piece = BIT_ULL(shift);

	if (piece <= bo->alignment)
		return (size + piece - 1) >> shift;
	size += max_t(u64, bo->alignment, PAGE_SIZE);
	return size < piece ? 0 : (size >> shift) - 1;
}

/*
 * Adds the pieces of VRAM that an allocation needs, or subtracts them if @sign is -1; none, unless
 * the allocation is contiguous and can be used in VRAM only.
 */
static void demand_slots(struct pagoda_demand *demand, const struct pagoda_bo *bo, s64 sign)
{
	u32 i, shift;

	if (bo->supported != PAGODA_VRAM_BIT || !(bo->flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS))
		return;
	for (i = 0; i < PAGODA_DEMAND_ALIGNMENTS; i++) {
		shift = demand_shift(i);
		demand->slots[i] += sign * demand_slots_of(bo, shift);
		demand->runs[i] += sign * (bo->ttm.base.size >> shift);
	}
}

/*
 * Adds the size of an allocation, and the pieces of VRAM that it needs if contiguous and usable in
 * VRAM only, to a demand; nothing if the GPU can use it in scattered system pages.
 */
void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	u64 *part = demand_part(demand, bo);

	if (part)
		*part += bo->ttm.base.size;
	demand_slots(demand, bo, 1);
}

/* Undoes an earlier pagoda_demand_add() of the allocation. */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	u64 *part = demand_part(demand, bo);

	if (part)
		*part -= bo->ttm.base.size;
	demand_slots(demand, bo, -1);
}

/*
 * Counts in @room the aligned pieces that begin in a range of VRAM, whether or not they end in the
 * range, and the pieces of the same sizes that fit into the range at any address; @end is
 * exclusive.
 */
static void room_add(struct pagoda_demand *room, u64 start, u64 end)
{
	u64 first, piece;
	u32 i, shift;

	for (i = 0; i < PAGODA_DEMAND_ALIGNMENTS && start < end; i++) {
		shift = demand_shift(i);
		piece = BIT_ULL(shift);
		first = round_up(start, piece);
		room->slots[i] += first < end ? (end - first + piece - 1) >> shift : 0;
		room->runs[i] += (end - start) >> shift;
	}
}

/* room_add() for the parts of a range of VRAM that are outside of the reserve. */
static void room_add_clients(struct pagoda_demand *room, const struct pagoda_vidmm *vidmm,
			     u64 start, u64 end)
{
	u64 from = vidmm->reserve_start, to = from + vidmm->reserve_size;

	if (from == to || from < start || from >= end) {
		room_add(room, start, end);
		return;
	}
	room_add(room, start, from);
	room_add(room, to, end);
}

/* Counts in @room, all zeros before, the pieces of VRAM that clients' allocations can use. */
static void room_count(struct pagoda_demand *room, const struct pagoda_vidmm *vidmm)
{
	const struct pagoda_device_info *info = vidmm->info;
	u64 start = 0;
	u32 i;

	for (i = 0; i < info->nr_invalid; i++) {
		room_add_clients(room, vidmm, start, info->invalid[i].offset);
		start = info->invalid[i].offset + info->invalid[i].size;
	}
	room_add_clients(room, vidmm, start, info->vram_size);
}

/*
 * Returns by how many bytes the pieces that the contiguous allocations of @demand need exceed those
 * that VRAM has: the largest number for a size of pieces; 0 = there are enough of each size.
 */
static u64 demand_excess_pieces(const struct pagoda_vidmm *vidmm,
				const struct pagoda_demand *demand)
{
	struct pagoda_demand room = {};
	u64 most = 0;
	u32 i;

	if (!demand->runs[0] && !demand->slots[0])
		return 0;
	room_count(&room, vidmm);
	for (i = 0; i < PAGODA_DEMAND_ALIGNMENTS; i++)
		most = max(most, max(residency_excess(demand->slots[i], room.slots[i]),
				     residency_excess(demand->runs[i], room.runs[i])) <<
			   demand_shift(i));
	return most;
}

/* Returns pagoda_demand_misfit() for @vram bytes of VRAM and @aperture bytes of addresses. */
static u64 demand_misfit(const struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
			 u64 vram, u64 aperture)
{
	u64 all = demand->only_vram + demand->only_aperture + demand->either;

	return max(max3(residency_excess(demand->only_vram, vram),
			residency_excess(demand->only_aperture, aperture),
			residency_excess(all, vram + aperture)),
		   demand_excess_pieces(vidmm, demand));
}

/**
 * pagoda_demand_misfit() - Bytes by which a demand exceeds VRAM, the pieces of VRAM in which
 * contiguous allocations fit, the aperture, or VRAM and the aperture together
 * @vidmm: The manager
 * @demand: Demand of allocations that are needed at the same time
 *
 * Return: The largest of the numbers of bytes. 0 = the demand fits, or at least nothing but
 * fragmentation by contiguous allocations of different sizes is in the way.
 */
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand)
{
	return demand_misfit(vidmm, demand, pagoda_vidmm_vram_size(vidmm),
			     vidmm->info->aperture_pages << PAGE_SHIFT);
}

/*
 * Adds an allocation to a demand as pagoda_demand_add(), unless it is pinned: a pinned allocation
 * has its place already, and pagoda_demand_misfit_beside() takes its aperture addresses off the
 * room.
 */
void pagoda_demand_add_movable(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	if (!READ_ONCE(bo->ttm.pin_count))
		pagoda_demand_add(demand, bo);
}

/*
 * Returns pagoda_demand_misfit() for a demand of pagoda_demand_add_movable(), with less room:
 * without the aperture's bytes of pinned allocations (&pagoda_vidmm.pinned), and without @fixed
 * bytes of VRAM, of page tables and save areas that can't leave.
 */
u64 pagoda_demand_misfit_beside(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
				u64 fixed)
{
	u64 aperture = vidmm->info->aperture_pages << PAGE_SHIFT;
	u64 vram = pagoda_vidmm_vram_size(vidmm), pinned = atomic64_read(&vidmm->pinned);

	return demand_misfit(vidmm, demand, residency_excess(vram, fixed),
			     residency_excess(aperture, pinned));
}
