// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep of the machine: the GPU loses its power, and with the power all state and the content of
 * VRAM, except for the part that is preserved (&pagoda_vgpu_params.preserved).
 *
 * The virtio bus leaves power management to the parent of the virtio device. The parent is a
 * platform device, which has a driver for power management alone.
 */
#include <linux/device.h>
#include <linux/platform_device.h>
#include <linux/pm.h>

#include "vgpu.h"

#ifdef CONFIG_PM_SLEEP
/*
 * Has the virtio driver freeze the device. The first @outlives bytes of VRAM keep their content in
 * two resets of the device: by the driver at the end of its freeze, and later, in power_comes(), by
 * the virtio core before the driver's restore. Returns 0 or a negative errno.
 */
static int power_goes(struct device *dev, u64 outlives)
{
	struct pagoda_vgpu *vgpu = dev_get_drvdata(dev);
	int err;

	if (!vgpu)
		return 0;
	vgpu->outlives = outlives;
	err = virtio_device_freeze(&vgpu->vdev);
	if (err)
		vgpu->outlives = 0;
	return err;
}

static int power_comes(struct device *dev)
{
	struct pagoda_vgpu *vgpu = dev_get_drvdata(dev);
	int err;

	if (!vgpu)
		return 0;
	err = virtio_device_restore(&vgpu->vdev);
	vgpu->outlives = 0;
	return err;
}

static int power_suspend(struct device *dev)
{
	const struct pagoda_vgpu *vgpu = dev_get_drvdata(dev);
	u64 outlives = 0;

	if (vgpu && vgpu->params->preserved & VIRTIO_PAGODA_PRESERVED_STANDBY)
		outlives = vgpu->params->vram_size;
	return power_goes(dev, outlives);
}

static int power_freeze(struct device *dev)
{
	const struct pagoda_vgpu *vgpu = dev_get_drvdata(dev);
	u64 outlives = 0;

	if (vgpu && vgpu->params->preserved & VIRTIO_PAGODA_PRESERVED_HIBERNATE)
		outlives = vgpu->params->vram_size;
	else if (vgpu)
		outlives = vgpu->params->preserved_bytes;
	return power_goes(dev, outlives);
}

static const struct dev_pm_ops power_ops = {
	.suspend = power_suspend,
	.resume = power_comes,
	.freeze = power_freeze,
	.thaw = power_comes,
	.poweroff = power_freeze,
	.restore = power_comes,
};
#endif

struct platform_driver pagoda_vgpu_power = {
	.driver = {
		.name = PAGODA_VGPU_NAME,
		.suppress_bind_attrs = true,
#ifdef CONFIG_PM_SLEEP
		.pm = &power_ops,
#endif
	},
};
