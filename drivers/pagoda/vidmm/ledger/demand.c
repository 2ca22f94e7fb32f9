// SPDX-License-Identifier: GPL-2.0
/* Bytes that allocations need at the same time, by the segments that they can be in. */
#include <drm/drm_exec.h>
#include "core/core.h"
#include "core/info.h"
#include "allocation.h"
#include "internal.h"
#include "ledger.h"

static u64 residency_excess(u64 need, u64 room)
{
	return need > room ? need - room : 0;
}

/* Returns the member of @demand that an allocation's size belongs to; NULL = to none. */
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

/* Adds an allocation's size to a demand, unless the GPU can use scattered system pages. */
void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	u64 *part = demand_part(demand, bo);

	if (part)
		*part += bo->ttm.base.size;
}

/* Undoes an earlier pagoda_demand_add() of the allocation. */
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo)
{
	u64 *part = demand_part(demand, bo);

	if (part)
		*part -= bo->ttm.base.size;
}

/**
 * pagoda_demand_misfit() - Bytes by which a demand exceeds VRAM, the aperture or both together
 * @vidmm: The manager
 * @demand: Demand of allocations that are needed at the same time
 *
 * Return: The largest of the three numbers of bytes; 0 = the demand fits.
 */
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand)
{
	u64 aperture = vidmm->info->aperture_pages << PAGE_SHIFT;
	u64 vram = pagoda_vidmm_vram_size(vidmm);
	u64 all = demand->only_vram + demand->only_aperture + demand->either;

	return max3(residency_excess(demand->only_vram, vram),
		    residency_excess(demand->only_aperture, aperture),
		    residency_excess(all, vram + aperture));
}
