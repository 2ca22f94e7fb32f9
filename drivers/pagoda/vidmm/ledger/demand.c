// SPDX-License-Identifier: GPL-2.0
/*
 * What allocations need at the same time, by the segments that they can be in.
 *
 * A demand that exceeds the segments can't be met, whatever is evicted. Besides bytes this is so
 * for contiguous allocations with an alignment: each begins with an aligned piece of VRAM of its
 * own, and another one can't begin in the piece where it ends.
 */
#include <linux/math.h>
#include <linux/minmax.h>
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
 * Returns the sum in @demand that an allocation's size has to be added to: by the segments that the
 * GPU can use it in. NULL = none, as scattered system pages will do.
 */
static u64 *demand_part(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	if (bo->supported == PAGODA_VRAM_BIT)
		return &demand->only_vram;
	if (!(bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY))
		return NULL; /* the GPU can use scattered system pages */
	if (bo->supported == PAGODA_APERTURE_BIT)
		return &demand->only_aperture;
	return &demand->either;
}

static u64 demand_alignment(u32 index)
{
	return (u64)SZ_8K << index;
}

/*
 * Adds to &pagoda_demand.slots, or subtracts if @sign is -1, the aligned ranges of VRAM that a
 * contiguous allocation takes up, at least in part.
 */
static void demand_slots(struct pagoda_demand *demand, const struct pagoda_bo *bo, s64 sign)
{
	u32 i;

	if (bo->supported != PAGODA_VRAM_BIT || !(bo->flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS))
		return;
	for (i = 0; i < PAGODA_DEMAND_ALIGNMENTS && demand_alignment(i) <= bo->alignment; i++)
		demand->slots[i] += sign * DIV_ROUND_UP_ULL(bo->ttm.base.size,
							    demand_alignment(i));
}

/*
 * Adds the size of an allocation, and the aligned ranges of VRAM that it takes up, to a demand;
 * nothing if the GPU can use it in scattered system pages.
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

/* Returns how many multiples of @alignment are in a range of VRAM; @end is exclusive. */
static u64 slots_in(u64 start, u64 end, u64 alignment)
{
	start = round_up(start, alignment);
	return start < end ? DIV_ROUND_UP_ULL(end - start, alignment) : 0;
}

/*
 * Returns how many multiples of @alignment are in the part of a range of VRAM that is outside of
 * the reserve.
 */
static u64 slots_of_clients(const struct pagoda_vidmm *vidmm, u64 start, u64 end, u64 alignment)
{
	u64 from = vidmm->reserve_start, to = from + vidmm->reserve_size;

	if (from == to || from < start || from >= end)
		return slots_in(start, end, alignment);
	return slots_in(start, from, alignment) + slots_in(to, end, alignment);
}

/* Returns how many multiples of @alignment are in the VRAM that clients' allocations can use. */
static u64 slots_in_vram(const struct pagoda_vidmm *vidmm, u64 alignment)
{
	const struct pagoda_device_info *info = vidmm->info;
	u64 start = 0, slots = 0;
	u32 i;

	for (i = 0; i < info->nr_invalid; i++) {
		slots += slots_of_clients(vidmm, start, info->invalid[i].offset, alignment);
		start = info->invalid[i].offset + info->invalid[i].size;
	}
	return slots + slots_of_clients(vidmm, start, info->vram_size, alignment);
}

/*
 * Returns the bytes of those contiguous allocations of @demand that can't be in VRAM at the same
 * time as the others, because each needs aligned ranges of its own.
 */
static u64 demand_excess_slots(const struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand)
{
	u64 most = 0;
	u32 i;

	for (i = 0; i < PAGODA_DEMAND_ALIGNMENTS && demand->slots[i]; i++)
		most = max(most, residency_excess(demand->slots[i],
						  slots_in_vram(vidmm, demand_alignment(i))) *
			   demand_alignment(i));
	return most;
}

/**
 * pagoda_demand_misfit() - Bytes by which a demand exceeds VRAM, the aligned pieces of VRAM, the
 * aperture, or VRAM and the aperture together
 * @vidmm: The manager
 * @demand: Demand of allocations that are needed at the same time
 *
 * Return: The largest of the numbers of bytes. 0 = the demand fits, or at least nothing but
 * fragmentation by contiguous allocations of different sizes is in the way.
 */
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand)
{
	u64 aperture = vidmm->info->aperture_pages << PAGE_SHIFT;
	u64 vram = pagoda_vidmm_vram_size(vidmm);
	u64 all = demand->only_vram + demand->only_aperture + demand->either;

	return max(max3(residency_excess(demand->only_vram, vram),
			residency_excess(demand->only_aperture, aperture),
			residency_excess(all, vram + aperture)),
		   demand_excess_slots(vidmm, demand));
}
