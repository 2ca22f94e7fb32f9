// SPDX-License-Identifier: GPL-2.0
/* Virtqueues in memory; see ring_helpers.h. */
#include <linux/mm.h>
#include "rig/alloc.h"
#include "ring_helpers.h"
#include "virtio/internal.h"

static bool ring_notify(struct virtqueue *vq)
{
	return true;
}

static void ring_delete(void *vq)
{
	vring_del_virtqueue(vq);
}

struct virtqueue *ring_virtqueue(struct kunit *test, struct virtio_device *vdev, u32 size,
				 void (*callback)(struct virtqueue *vq), struct vring *vring)
{
	void *pages = test_zalloc(test, PAGE_ALIGN(vring_size(size, PAGE_SIZE)) + PAGE_SIZE);
	struct virtqueue *vq;

	pages = PTR_ALIGN(pages, PAGE_SIZE);
	vring_init(vring, size, pages, PAGE_SIZE);
	vq = vring_new_virtqueue(VIRTIO_PAGODA_QUEUE_PAGING, size, PAGE_SIZE, vdev, true, false,
				 pages, ring_notify, callback, "ring");
	KUNIT_ASSERT_NOT_NULL(test, vq);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, ring_delete, vq));
	__virtqueue_unbreak(vq);
	return vq;
}
