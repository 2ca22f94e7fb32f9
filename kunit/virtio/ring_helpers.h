/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_RING_HELPERS_H
#define PAGODA_KUNIT_RING_HELPERS_H

#include <kunit/test.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_ring.h>

/* Prepares a zeroed virtio device, which has no bus, for ring_virtqueue(). */
static inline void ring_device_init(struct virtio_device *vdev)
{
	INIT_LIST_HEAD(&vdev->vqs);
	spin_lock_init(&vdev->vqs_list_lock);
}

/*
 * Returns a virtqueue of @size descriptors in memory, which works until the end of the test, and
 * fills in @vring, the device's view of the virtqueue. Notifications are ignored.
 */
struct virtqueue *ring_virtqueue(struct kunit *test, struct virtio_device *vdev, u32 size,
				 void (*callback)(struct virtqueue *vq), struct vring *vring);

#endif
