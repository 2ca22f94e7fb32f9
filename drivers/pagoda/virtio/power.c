// SPDX-License-Identifier: GPL-2.0
/*
 * Sleep and wake-up of the machine: the device loses its power, and all its state but for VRAM that
 * it preserves, without being removed. Transports and limits that the upper layers refer to stay
 * valid.
 *
 * Waking allocates only the virtqueues, and the extent lists to be compared with those read at
 * probe. A device whose properties after waking differ from those before isn't used any more.
 */
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>

#include "core/info.h"
#include "internal.h"

/*
 * Attaches all virtqueues but the event queue's, or detaches them if @vqs is NULL. Returns 0 or
 * -ENODEV.
 */
static int power_attach(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	int ret;

	pagoda_control_attach(&virtio->control, vqs ? vqs[VIRTIO_PAGODA_QUEUE_CONTROL] : NULL);
	ret = pagoda_ring_attach(&virtio->paging,
				 vqs ? vqs[VIRTIO_PAGODA_QUEUE_PAGING] : NULL);
	return pagoda_exec_attach(virtio, vqs ? &vqs[VIRTIO_PAGODA_QUEUE_EXEC0] : NULL) ?: ret;
}

static void power_down(struct pagoda_virtio *virtio)
{
	pagoda_virtio_quiet(virtio);
	pagoda_events_attach(&virtio->events, NULL);
	power_attach(virtio, NULL);
	virtio->vdev->config->del_vqs(virtio->vdev);
}

static int power_check_list(struct pagoda_virtio *virtio, u32 list, u32 count,
			    const struct pagoda_extent *was)
{
	struct pagoda_extent *is;
	int ret = pagoda_virtio_read_list(virtio, list, count, &is);

	if (!ret && memcmp(is, was, count * sizeof(*is)))
		ret = -ENODEV;
	kvfree(is);
	return ret;
}

/*
 * Returns 0 if the device has the same configuration and extent lists as at probe, -ENODEV if not,
 * or the error of pagoda_virtio_read_list().
 */
static int power_check(struct pagoda_virtio *virtio)
{
	const struct pagoda_device_info *info = &virtio->info;
	struct virtio_pagoda_config config;
	int ret;

	pagoda_virtio_read_space(virtio->vdev, &config);
	if (memcmp(&config, &virtio->config, sizeof(config)))
		return -ENODEV;
	ret = power_check_list(virtio, VIRTIO_PAGODA_EXTENTS_WINDOW, info->nr_window,
			       virtio->window) ?:
	      power_check_list(virtio, VIRTIO_PAGODA_EXTENTS_INVALID, info->nr_invalid,
			       virtio->invalid);
	if (ret || !info->nr_swizzling)
		return ret;
	return power_check_list(virtio, VIRTIO_PAGODA_EXTENTS_SWIZZLING, info->nr_swizzling,
				virtio->swizzling);
}

static int power_up(struct pagoda_virtio *virtio)
{
	struct virtqueue *vqs[PAGODA_MAX_QUEUES];
	int ret = pagoda_virtio_find_queues(virtio, vqs);

	if (ret)
		return ret;
	ret = power_attach(virtio, vqs);
	virtio_device_ready(virtio->vdev);
	if (!ret)
		ret = power_check(virtio);
	if (!ret)
		ret = pagoda_events_attach(&virtio->events, vqs[VIRTIO_PAGODA_QUEUE_EVENT]);
	if (ret)
		power_down(virtio);
	return ret;
}

/*
 * &virtio_driver.freeze. Returns 0, or an error if the machine mustn't sleep; then the device is as
 * before. May sleep.
 */
int pagoda_power_freeze(struct virtio_device *vdev)
{
	struct pagoda_virtio *virtio = vdev->priv;
	int ret = pagoda_virtio_top->sleep(virtio->priv);

	if (ret)
		return ret;
	pagoda_events_enable(virtio, false);
	/*
	 * The device is reset before it wakes, and works again: the work item would break its new
	 * virtqueues. Until then the virtio core doesn't call config_changed, which queues the work
	 * item.
	 */
	cancel_work_sync(&virtio->broken);
	/* Without virtqueues, because the last wake-up failed, the device is down already. */
	if (virtio->control.vq)
		power_down(virtio);
	return 0;
}

/*
 * &virtio_driver.restore, called for a reset device with its features negotiated as before. Returns
 * 0, or an error if the device isn't used any more. May sleep.
 */
int pagoda_power_restore(struct virtio_device *vdev)
{
	struct pagoda_virtio *virtio = vdev->priv;
	int error = power_up(virtio);
	int ret;

	if (error)
		dev_err(&vdev->dev, "the device didn't come back as it was: %d\n", error);
	else
		pagoda_events_enable(virtio, true);
	ret = pagoda_virtio_top->wake(virtio->priv, error);
	return error ?: ret;
}
