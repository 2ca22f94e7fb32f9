// SPDX-License-Identifier: GPL-2.0
/*
 * pagoda_vgpu.ko: adds a Pagoda GPU to the machine that loads the module. With an invalid
 * parameter, loading fails.
 */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/err.h>
#include <linux/module.h>

#include "vgpu.h"

static struct pagoda_vgpu_given vgpu_given = {
	.vram_mb = 256,
	.visible = "all",
	.aperture_mb = 1024,
	.engines = 1,
	.invalid = "",
	.pt_levels = 4,
	.mmu_mb = 4096,
	.ranges = 4,
	.range_mb = 4,
	.reset_vram = "poison",
	.preserve = "nothing",
	.misconfigure = "",
};

module_param_named(vram_mb, vgpu_given.vram_mb, uint, 0444);
MODULE_PARM_DESC(vram_mb, "Video memory in MiB (default 256)");

module_param_named(visible, vgpu_given.visible, charp, 0444);
MODULE_PARM_DESC(visible, "Video memory the CPU can reach: all, some or none (default all)");

module_param_named(visible_mb, vgpu_given.visible_mb, uint, 0444);
MODULE_PARM_DESC(visible_mb, "MiB the CPU can reach with visible=some (default a quarter)");

module_param_named(aperture_mb, vgpu_given.aperture_mb, uint, 0444);
MODULE_PARM_DESC(aperture_mb, "Address space of the aperture in MiB (default 1024)");

module_param_named(engines, vgpu_given.engines, uint, 0444);
MODULE_PARM_DESC(engines, "Execution engines (default 1)");

module_param_named(invalid, vgpu_given.invalid, charp, 0444);
MODULE_PARM_DESC(invalid, "Unusable video memory: offset:size[,offset:size...] in KiB (default none)");

module_param_named(pt_levels, vgpu_given.pt_levels, uint, 0444);
MODULE_PARM_DESC(pt_levels, "Levels of page tables: 2, 4, 5 or 6 (default 4)");

module_param_named(dual_pte, vgpu_given.dual_pte, uint, 0444);
MODULE_PARM_DESC(dual_pte, "Level-1 entries hold a 4 KiB and a 64 KiB table: 0 or 1 (default 0)");

module_param_named(cache_invalid, vgpu_given.cache_invalid, uint, 0444);
MODULE_PARM_DESC(cache_invalid, "TLBs keep invalid entries: 0 or 1 (default 0)");

module_param_named(device_mmu, vgpu_given.device_mmu, uint, 0444);
MODULE_PARM_DESC(device_mmu, "The GPU translates system addresses itself: 0 or 1 (default 0)");

module_param_named(mmu_mb, vgpu_given.mmu_mb, uint, 0444);
MODULE_PARM_DESC(mmu_mb, "Address space of the GPU's own MMU in MiB (default 4096)");

module_param_named(ranges, vgpu_given.ranges, uint, 0444);
MODULE_PARM_DESC(ranges, "Swizzling ranges (default 4)");

module_param_named(range_mb, vgpu_given.range_mb, uint, 0444);
MODULE_PARM_DESC(range_mb, "MiB in the window of a swizzling range (default 4)");

module_param_named(reset_vram, vgpu_given.reset_vram, charp, 0444);
MODULE_PARM_DESC(reset_vram,
		 "What video memory holds after a reset: poison, zero or keep (default poison)");

module_param_named(preserve, vgpu_given.preserve, charp, 0444);
MODULE_PARM_DESC(preserve,
		 "When video memory outlives that the machine sleeps: nothing, standby, half (of it in hibernation too) or always (default nothing)");

module_param_named(misconfigure, vgpu_given.misconfigure, charp, 0444);
MODULE_PARM_DESC(misconfigure,
		 "Test only: falsify the configuration space, field:value[,field:value...]");

static struct pagoda_vgpu_params vgpu_params;
static struct pagoda_vgpu *vgpu_device;

static int __init vgpu_init(void)
{
	int err;

	err = pagoda_vgpu_params_read(&vgpu_given, &vgpu_params);
	if (err)
		return err;
	err = platform_driver_register(&pagoda_vgpu_power);
	if (err)
		return err;
	vgpu_device = pagoda_vgpu_create(&vgpu_params);
	err = PTR_ERR_OR_ZERO(vgpu_device);
	if (err == -ENOMEM)
		pr_err("vram_mb=%llu: not enough memory\n", vgpu_params.vram_size >> 20);
	if (err)
		platform_driver_unregister(&pagoda_vgpu_power);
	return err;
}
module_init(vgpu_init);

static void __exit vgpu_exit(void)
{
	pagoda_vgpu_destroy(vgpu_device);
	platform_driver_unregister(&pagoda_vgpu_power);
}
module_exit(vgpu_exit);

MODULE_AUTHOR("The Pagoda authors");
MODULE_VERSION("1.0");
MODULE_DESCRIPTION("Pagoda: the software GPU");
MODULE_LICENSE("GPL");
