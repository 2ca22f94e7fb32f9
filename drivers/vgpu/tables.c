// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of the engine's address spaces, TLBs and device MMU, and of the windows of swizzling
 * ranges. The memory exists as long as the device, regardless of the negotiated features.
 */
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "vgpu.h"

static int tables_ranges(struct pagoda_vgpu *vgpu)
{
	const struct pagoda_vgpu_params *params = vgpu->params;
	struct pagoda_engine *engine = &vgpu->engine;
	u64 size = params->ranges * params->range_bytes;
	u32 i;
	int err;

	if (!size)
		return 0;
	err = pagoda_vgpu_vram_init(&vgpu->windows, size, size);
	if (err)
		return err;
	engine->ranges = vcalloc(params->ranges, sizeof(*engine->ranges));
	if (!engine->ranges)
		return -ENOMEM;
	for (i = 0; i < params->ranges; i++)
		engine->ranges[i].window = vgpu->windows.vaddr + i * params->range_bytes;
	engine->nr_ranges = params->ranges;
	engine->swizzling_bytes = params->range_bytes;
	return 0;
}

/*
 * Allocates the engine's address spaces, TLBs, swizzling ranges and device MMU. Returns 0 or
 * -ENOMEM; in both cases the caller later calls pagoda_vgpu_tables_fini().
 */
int pagoda_vgpu_tables_init(struct pagoda_vgpu *vgpu)
{
	const struct pagoda_vgpu_params *params = vgpu->params;
	struct pagoda_engine *engine = &vgpu->engine;
	int err;

	engine->va_bits = params->va_bits;
	engine->pt_levels = params->pt_levels;
	engine->page_sizes = SZ_4K | SZ_64K | SZ_2M;
	engine->spaces = vcalloc(PAGODA_VGPU_SPACES, sizeof(*engine->spaces));
	engine->nr_spaces = PAGODA_VGPU_SPACES;
	/* One TLB for the paging queue, and one for each engine. */
	engine->tlbs = vcalloc(1 + params->engines, sizeof(*engine->tlbs));
	engine->nr_tlbs = 1 + params->engines;
	if (!engine->spaces || !engine->tlbs)
		return -ENOMEM;
	err = tables_ranges(vgpu);
	if (err || !params->mmu_pages)
		return err;
	engine->mmu = vcalloc(params->mmu_pages, sizeof(*engine->mmu));
	engine->mmu_pages = params->mmu_pages;
	return engine->mmu ? 0 : -ENOMEM;
}

/* Frees what pagoda_vgpu_tables_init() allocated, when the device executes nothing. */
void pagoda_vgpu_tables_fini(struct pagoda_vgpu *vgpu)
{
	struct pagoda_engine *engine = &vgpu->engine;

	vfree(engine->mmu);
	vfree(engine->ranges);
	vfree(engine->tlbs);
	vfree(engine->spaces);
	pagoda_vgpu_vram_fini(&vgpu->windows);
}
