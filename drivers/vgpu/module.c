// SPDX-License-Identifier: GPL-2.0
/* pagoda_vgpu.ko: adds a Pagoda GPU to the machine that loads the module. */
#define pr_fmt(fmt) "pagoda_vgpu: " fmt

#include <linux/err.h>
#include <linux/module.h>

#include "vgpu.h"

static struct pagoda_vgpu_params vgpu_params;
static struct pagoda_vgpu *vgpu_device;

static int __init vgpu_init(void)
{
	int err;

	err = pagoda_vgpu_params_read(&vgpu_params);
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
