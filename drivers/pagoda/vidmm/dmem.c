// SPDX-License-Identifier: GPL-2.0
/*
 * Limits and protection by control groups: the dmem controller.
 *
 * VRAM and the aperture are regions, "drm/<device>/vram" and "drm/<device>/aperture". What
 * needs no address in the aperture is charged there, too: it is memory that the GPU uses, and
 * may be more than the region's capacity. TTM charges the cgroup of the current task whenever it
 * makes a resource, and gives the charge back with the resource, after the move. A maximum that is
 * lowered below what is used evicts.
 */
#include <drm/drm_drv.h>
#include <pagoda/compat.h>
#include "dmem.h"
#include "vidmm.h"

/* ---- Regions ------------------------------------------------------------------- */

static int dmem_reclaim(struct dmem_cgroup_pool_state *pool, u64 bytes, void *priv)
{
	struct ttm_resource_manager *man = priv;
	struct pagoda_vidmm *vidmm = pagoda_vidmm_of_ttm(man->bdev);
	struct pagoda_gate gate;
	int idx, ret;

	if (!drm_dev_enter(vidmm->drm, &idx))
		return -ENODEV;
	ret = pagoda_gate_enter(vidmm, &gate, true);
	if (!ret) {
		ret = ttm_resource_manager_dmem_reclaim(pool, bytes, priv);
		pagoda_gate_leave(vidmm, &gate);
	}
	drm_dev_exit(idx);
	return ret;
}

static const struct dmem_cgroup_ops dmem_ops = {
	.reclaim = dmem_reclaim,
};

/**
 * pagoda_dmem_register() - Make a segment a region of the dmem cgroup controller
 * @vidmm: The manager
 * @man: The segment's manager, not used yet
 * @type: TTM_PL_ of the segment
 *
 * Nothing on kernels without that controller.
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno.
 */
int pagoda_dmem_register(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man, u32 type)
{
	const struct dmem_cgroup_init init = {
		.size = man->size,
		.ops = &dmem_ops,
		.reclaim_priv = man,
	};
	struct dmem_cgroup_region *region;

	region = pagoda_dmem_register_region(&init, "drm/%s/%s", vidmm->drm->unique,
					     type == TTM_PL_VRAM ? "vram" : "aperture");
	if (IS_ERR_OR_NULL(region))
		return PTR_ERR_OR_ZERO(region);
	pagoda_dmem_set_region(man, region);
	return 0;
}

/**
 * pagoda_dmem_unregister() - Undo pagoda_dmem_register()
 * @vidmm: The manager
 * @man: The segment's manager, which may have resources that are charged
 * @type: TTM_PL_ of the segment
 *
 * Waits for reclaim that is under way, before there is nothing to reclaim from. Charges hold what
 * they need of the region until they are given back.
 *
 * Context: Sleeps. No other thread uses the manager.
 */
void pagoda_dmem_unregister(struct pagoda_vidmm *vidmm, struct ttm_resource_manager *man,
			    u32 type)
{
	struct dmem_cgroup_region *region = pagoda_dmem_region(man);

	if (!region)
		return;
	pagoda_dmem_set_region(man, NULL);
	dmem_cgroup_unregister_region(region);
}

/**
 * pagoda_dmem_allows() - May the current process have more of a segment?
 * @man: The segment's manager
 * @size: Bytes
 *
 * If not, only what its own cgroup has there can make room, which TTM looks for.
 *
 * Context: May sleep and allocate.
 * Return: Whether it may, or there is no limit.
 */
bool pagoda_dmem_allows(struct ttm_resource_manager *man, u64 size)
{
	struct dmem_cgroup_region *region = pagoda_dmem_region(man);
	struct dmem_cgroup_pool_state *pool = NULL, *limit = NULL;
	int ret = region ? dmem_cgroup_try_charge(region, size, &pool, &limit) : -ENOENT;

	if (!ret)
		dmem_cgroup_uncharge(pool, size);
	if (limit)
		dmem_cgroup_pool_state_put(limit);
	return ret != -EAGAIN;
}
