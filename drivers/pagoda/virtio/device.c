// SPDX-License-Identifier: GPL-2.0
/*
 * Steps that probe, sleep, wake-up and removal share: reading the configuration and the extent
 * lists of a device, creating the device's virtqueues, and a reset that takes back all the device
 * has.
 */
#include <linux/slab.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include "internal.h"

/* Reads the configuration space by 32-bit accesses, also to 64-bit fields. May sleep. */
void pagoda_virtio_read_space(struct virtio_device *vdev, struct virtio_pagoda_config *config)
{
	BUILD_BUG_ON(sizeof(*config) % sizeof(u32));
	__virtio_cread_many(vdev, 0, config, sizeof(*config) / sizeof(u32), sizeof(u32));
}

/*
 * Creates the virtqueues, %PAGODA_MAX_QUEUES at most, of a device that has no virtqueues. Returns 0
 * or a negative error code. May sleep and allocate.
 */
int pagoda_virtio_find_queues(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	struct virtqueue_info infos[PAGODA_MAX_QUEUES] = {
		[VIRTIO_PAGODA_QUEUE_CONTROL] = { "control", pagoda_control_interrupt },
		[VIRTIO_PAGODA_QUEUE_PAGING] = { "paging", pagoda_paging_interrupt },
		[VIRTIO_PAGODA_QUEUE_EVENT] = { "event", pagoda_event_interrupt },
	};
	u32 count = VIRTIO_PAGODA_QUEUE_EXEC0 + virtio->info.num_engines;
	u32 i;
	int ret;

	for (i = VIRTIO_PAGODA_QUEUE_EXEC0; i < count; i++)
		infos[i] = (struct virtqueue_info) { "exec", pagoda_exec_interrupt };
	ret = virtio_find_vqs(virtio->vdev, count, vqs, infos, NULL);
	if (ret)
		dev_err(&virtio->vdev->dev, "no virtqueues: %d\n", ret);
	return ret;
}

/*
 * Reads an extent list (enum virtio_pagoda_extents) of @count entries from a ready device. Returns
 * 0, -ENOMEM or an error of pagoda_control_get_extents(); the caller frees *@extents with kvfree()
 * in any case. May sleep and allocate.
 */
int pagoda_virtio_read_list(struct pagoda_virtio *virtio, u32 list, u32 count,
			    struct pagoda_extent **extents)
{
	int ret;

	*extents = kvcalloc(max(count, 1U), sizeof(**extents), GFP_KERNEL);
	if (!*extents)
		return -ENOMEM;
	ret = pagoda_control_get_extents(virtio, list, *extents, count);
	if (ret)
		dev_err(&virtio->vdev->dev, "device refused: extent list %u can't be read: %d\n",
			list, ret);
	return ret;
}

/*
 * Resets the device, which can't reach memory any more afterwards, completes all requests as
 * aborted, and takes event buffers and commands back. Called in any state of the device; may sleep.
 */
void pagoda_virtio_quiet(struct pagoda_virtio *virtio)
{
	virtio_reset_device(virtio->vdev);
	virtio_synchronize_cbs(virtio->vdev);
	pagoda_ring_detach(&virtio->paging);
	pagoda_exec_detach(virtio);
	pagoda_events_detach(&virtio->events);
	pagoda_control_detach(&virtio->control);
}
