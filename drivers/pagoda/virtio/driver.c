// SPDX-License-Identifier: GPL-2.0
/*
 * The virtio driver: initializes a device, calls probe() of struct pagoda_virtio_callbacks for the
 * device, and takes the device down again.
 */
#include <linux/cc_platform.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include "check.h"
#include "internal.h"

/* Most entries of virtio_features, which has an entry for each feature that the driver supports. */
#define PAGODA_MAX_FEATURES	64

static unsigned int virtio_features[PAGODA_MAX_FEATURES];

/**
 * pagoda_virtio_device() - Get the device, for messages and as a parent
 * @virtio: Device
 *
 * Return: the virtio device.
 */
struct device *pagoda_virtio_device(struct pagoda_virtio *virtio)
{
	return &virtio->vdev->dev;
}

/**
 * pagoda_virtio_info() - Get the properties that the device reported
 * @virtio: Device
 *
 * Return: limits and lists, constant until the remove callback returned.
 */
const struct pagoda_device_info *pagoda_virtio_info(struct pagoda_virtio *virtio)
{
	return &virtio->info;
}

/**
 * pagoda_virtio_transport() - Get the transport of the paging queue
 * @virtio: Device
 *
 * Return: the transport, valid until the remove callback returned. Requests that the transport
 * could not get back until then are completed afterwards.
 */
struct pagoda_transport *pagoda_virtio_transport(struct pagoda_virtio *virtio)
{
	return &virtio->paging.base;
}

static int virtio_refuse(struct pagoda_virtio *virtio, const struct pagoda_refusal *refusal,
			 int ret)
{
	dev_err(&virtio->vdev->dev, "device refused: %s: %s (0x%llx)\n", refusal->field,
		refusal->why, refusal->value);
	return ret;
}

static int virtio_read_config(struct pagoda_virtio *virtio, struct pagoda_config_counts *counts)
{
	struct virtio_device *vdev = virtio->vdev;
	struct pagoda_device_info *info = &virtio->info;
	struct pagoda_refusal refusal = {};
	bool translated;
	int ret;

	/* Without ACCESS_PLATFORM a device takes all addresses for physical addresses. */
	translated = device_iommu_mapped(vdev->dev.parent) || cc_platform_has(CC_ATTR_MEM_ENCRYPT);
	ret = pagoda_features_check(vdev->features, translated, &refusal);
	if (ret)
		return virtio_refuse(virtio, &refusal, ret);
	pagoda_virtio_read_space(vdev, &virtio->config);
	ret = pagoda_config_check(&virtio->config, vdev->features, info, counts, &refusal);
	if (ret)
		return virtio_refuse(virtio, &refusal, ret);
	info->dma_dev = vdev->dev.parent;
	ret = dma_set_mask_and_coherent(info->dma_dev,
					DMA_BIT_MASK(info->system_address_bits));
	if (ret)
		dev_err(&vdev->dev, "no %u-bit DMA: %d\n", info->system_address_bits, ret);
	return ret;
}

static int virtio_init_queues(struct pagoda_virtio *virtio)
{
	struct virtqueue *vqs[PAGODA_MAX_QUEUES];
	int ret = pagoda_virtio_find_queues(virtio, vqs);

	if (ret)
		return ret;
	virtio->control.vq = vqs[VIRTIO_PAGODA_QUEUE_CONTROL];
	virtio->events.vq = vqs[VIRTIO_PAGODA_QUEUE_EVENT];
	pagoda_ring_init(&virtio->paging, virtio, vqs[VIRTIO_PAGODA_QUEUE_PAGING]);
	ret = pagoda_control_init(virtio) ?:
	      pagoda_exec_init(virtio, &vqs[VIRTIO_PAGODA_QUEUE_EXEC0]);
	if (!ret && !virtio->paging.depth) {
		dev_err(&virtio->vdev->dev, "paging ring without room for a request\n");
		ret = -EINVAL;
	}
	return ret;
}

static int virtio_check_memory(struct pagoda_virtio *virtio,
			       const struct pagoda_config_counts *counts,
			       struct pagoda_refusal *refusal)
{
	struct device *parent = virtio->vdev->dev.parent;
	/* The kernel names platform devices: no other device can pass as the software GPU. */
	bool in_kernel = dev_is_platform(parent) && strstarts(dev_name(parent), "pagoda-vgpu");

	return pagoda_extents_check_memory(virtio->window, counts->window, in_kernel, "CPU window",
					   refusal) ?:
	       pagoda_extents_check_memory(virtio->swizzling, counts->swizzling, in_kernel,
					   "swizzling ranges", refusal);
}

static int virtio_check_extents(struct pagoda_virtio *virtio,
				const struct pagoda_config_counts *counts)
{
	const struct pagoda_device_info *info = &virtio->info;
	struct pagoda_refusal refusal = {};
	int ret;

	ret = pagoda_extents_check_window(virtio->window, counts->window, info->visible_size,
					  "CPU window", &refusal) ?:
	      pagoda_extents_check_invalid(virtio->invalid, counts->invalid, info->vram_size,
					   &refusal) ?:
	      pagoda_extents_check_window(virtio->swizzling, counts->swizzling,
					  info->swizzling_bytes * info->swizzling_ranges,
					  "swizzling ranges", &refusal) ?:
	      virtio_check_memory(virtio, counts, &refusal);
	return ret ? virtio_refuse(virtio, &refusal, ret) : 0;
}

static int virtio_read_extents(struct pagoda_virtio *virtio,
			       const struct pagoda_config_counts *counts)
{
	struct pagoda_device_info *info = &virtio->info;
	int ret;

	ret = pagoda_virtio_read_list(virtio, VIRTIO_PAGODA_EXTENTS_WINDOW, counts->window,
				      &virtio->window);
	if (!ret)
		ret = pagoda_virtio_read_list(virtio, VIRTIO_PAGODA_EXTENTS_INVALID,
					      counts->invalid, &virtio->invalid);
	if (!ret && counts->swizzling)
		ret = pagoda_virtio_read_list(virtio, VIRTIO_PAGODA_EXTENTS_SWIZZLING,
					      counts->swizzling, &virtio->swizzling);
	if (!ret)
		ret = virtio_check_extents(virtio, counts);
	if (ret)
		return ret;
	info->window = virtio->window;
	info->nr_window = counts->window;
	info->invalid = virtio->invalid;
	info->nr_invalid = counts->invalid;
	info->swizzling = virtio->swizzling;
	info->nr_swizzling = counts->swizzling;
	return 0;
}

static void virtio_free(struct pagoda_virtio *virtio)
{
	cancel_work_sync(&virtio->broken);
	kvfree(virtio->swizzling);
	kvfree(virtio->invalid);
	kvfree(virtio->window);
	kfree(virtio);
}

static void virtio_down(struct pagoda_virtio *virtio)
{
	pagoda_virtio_quiet(virtio);
	pagoda_exec_fini(virtio);
	pagoda_events_fini(virtio);
	pagoda_control_fini(virtio);
	if (virtio->control.vq)
		virtio->vdev->config->del_vqs(virtio->vdev);
	virtio->vdev->priv = NULL;
}

static int virtio_up(struct pagoda_virtio *virtio)
{
	struct pagoda_config_counts counts;
	int ret;

	ret = virtio_read_config(virtio, &counts);
	if (ret)
		return ret;
	ret = virtio_init_queues(virtio);
	if (ret)
		goto err_down;
	virtio_device_ready(virtio->vdev);
	ret = virtio_read_extents(virtio, &counts) ?: pagoda_events_init(virtio);
	if (ret)
		goto err_down;
	return 0;

err_down:
	virtio_down(virtio);
	return ret;
}

static int virtio_probe(struct virtio_device *vdev)
{
	struct pagoda_virtio *virtio = kzalloc(sizeof(*virtio), GFP_KERNEL);
	int ret;

	if (!virtio)
		return -ENOMEM;
	virtio->vdev = vdev;
	pagoda_events_prepare(virtio);
	vdev->priv = virtio;
	ret = virtio_up(virtio);
	if (ret)
		goto err_free;
	ret = pagoda_virtio_top->probe(virtio, &virtio->priv);
	if (ret)
		goto err_down;
	pagoda_events_enable(virtio, true);
	return 0;

err_down:
	virtio_down(virtio);
err_free:
	vdev->priv = NULL;
	virtio_free(virtio);
	return ret;
}

static void virtio_remove(struct virtio_device *vdev)
{
	struct pagoda_virtio *virtio = vdev->priv;

	pagoda_events_enable(virtio, false);
	pagoda_virtio_top->remove(virtio->priv);
	virtio_down(virtio);
	virtio_free(virtio);
}

/* Refuses indirect descriptors, which would be allocated in the dma_fence signalling path. */
static int virtio_validate(struct virtio_device *vdev)
{
	__virtio_clear_bit(vdev, VIRTIO_RING_F_INDIRECT_DESC);
	return 0;
}

static const struct virtio_device_id virtio_ids[] = {
	{ VIRTIO_ID_PAGODA, VIRTIO_DEV_ANY_ID },
	{ 0 },
};
MODULE_DEVICE_TABLE(virtio, virtio_ids);

static struct virtio_driver virtio_pagoda_driver = {
	.driver.name = "pagoda",
	.id_table = virtio_ids,
	.feature_table = virtio_features,
	.validate = virtio_validate,
	.probe = virtio_probe,
	.remove = virtio_remove,
	.config_changed = pagoda_events_config_changed,
	.freeze = pagoda_power_freeze,
	.restore = pagoda_power_restore,
};

/**
 * pagoda_virtio_register() - Register the virtio driver
 * @callbacks: Called for each device; must stay valid until pagoda_virtio_unregister()
 *
 * Context: may sleep; module initialisation only.
 * Return: 0 or a negative error code.
 */
int pagoda_virtio_register(const struct pagoda_virtio_callbacks *callbacks)
{
	u64 wanted = pagoda_features_wanted();
	unsigned int bit, count = 0;

	for (bit = 0; bit < PAGODA_MAX_FEATURES; bit++)
		if (wanted & BIT_ULL(bit))
			virtio_features[count++] = bit;
	virtio_pagoda_driver.feature_table_size = count;
	pagoda_virtio_top = callbacks;
	return register_virtio_driver(&virtio_pagoda_driver);
}

/**
 * pagoda_virtio_unregister() - Unregister the virtio driver and remove all devices
 *
 * Context: may sleep; the remove callback runs for each device.
 */
void pagoda_virtio_unregister(void)
{
	unregister_virtio_driver(&virtio_pagoda_driver);
}
