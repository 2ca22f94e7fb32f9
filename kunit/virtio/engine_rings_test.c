// SPDX-License-Identifier: GPL-2.0
/* The engines' rings as a whole: set-up, new virtqueues after a sleep, end. */
#include <kunit/test.h>
#include "core/transport.h"
#include "rig/alloc.h"
#include "ring_helpers.h"
#include "virtio/internal.h"

/* Descriptors of a virtqueue that has room for five requests, or for none. */
#define ROOM_FOR_FIVE	16u
#define ROOM_FOR_NONE	2u

static struct virtqueue *rings_queue(struct kunit *test, struct pagoda_virtio *virtio, u32 size)
{
	struct vring vring;

	return ring_virtqueue(test, virtio->vdev, size, pagoda_exec_interrupt, &vring);
}

static struct pagoda_virtio *rings_virtio(struct kunit *test, u32 engines)
{
	struct pagoda_virtio *virtio = test_zalloc(test, sizeof(*virtio));

	virtio->vdev = test_zalloc(test, sizeof(*virtio->vdev));
	virtio->vdev->priv = virtio;
	virtio->info.num_engines = engines;
	ring_device_init(virtio->vdev);
	return virtio;
}

/* Each engine gets a ring with the room of its virtqueue; the rings end with the device. */
static void rings_have_room(struct kunit *test)
{
	struct pagoda_virtio *virtio = rings_virtio(test, 2);
	struct virtqueue *vqs[2] = {
		rings_queue(test, virtio, ROOM_FOR_FIVE),
		rings_queue(test, virtio, 2 * ROOM_FOR_FIVE),
	};
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_exec_init(virtio, vqs));
	for (i = 0; i < ARRAY_SIZE(vqs); i++) {
		struct pagoda_transport *transport = pagoda_virtio_engine_transport(virtio, i);

		KUNIT_EXPECT_PTR_EQ(test, vqs[i], virtio->engines[i].vq);
		KUNIT_EXPECT_EQ(test, i ? 10u : 5u, transport->ops->depth(transport));
	}
	pagoda_exec_fini(virtio);
	KUNIT_EXPECT_NULL(test, virtio->engines);
}

/* A device is refused if one of its engines has a virtqueue without room for a request. */
static void rings_need_room(struct kunit *test)
{
	struct pagoda_virtio *virtio = rings_virtio(test, 2);
	struct virtqueue *vqs[2] = {
		rings_queue(test, virtio, ROOM_FOR_FIVE),
		rings_queue(test, virtio, ROOM_FOR_NONE),
	};

	KUNIT_EXPECT_EQ(test, -EINVAL, pagoda_exec_init(virtio, vqs));
	pagoda_exec_fini(virtio);
	virtio->info.num_engines = 1;
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_init(virtio, vqs));
	pagoda_exec_fini(virtio);
}

/*
 * After a sleep, each ring gets its new virtqueue. The device is refused if a virtqueue has less
 * room than before, whichever engine's.
 */
static void rings_keep_their_room(struct kunit *test)
{
	struct pagoda_virtio *virtio = rings_virtio(test, 2);
	struct virtqueue *enough = rings_queue(test, virtio, ROOM_FOR_FIVE);
	struct virtqueue *less = rings_queue(test, virtio, ROOM_FOR_NONE);
	struct virtqueue *vqs[2] = { enough, enough };
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_exec_init(virtio, vqs));
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_attach(virtio, NULL));
	for (i = 0; i < ARRAY_SIZE(vqs); i++) {
		KUNIT_EXPECT_NULL(test, virtio->engines[i].vq);
		vqs[i] = less;
		KUNIT_EXPECT_EQ(test, -ENODEV, pagoda_exec_attach(virtio, vqs));
		vqs[i] = enough;
		KUNIT_EXPECT_EQ(test, 0, pagoda_exec_attach(virtio, NULL));
	}
	KUNIT_EXPECT_EQ(test, 0, pagoda_exec_attach(virtio, vqs));
	for (i = 0; i < ARRAY_SIZE(vqs); i++)
		KUNIT_EXPECT_PTR_EQ(test, enough, virtio->engines[i].vq);
	pagoda_exec_fini(virtio);
}

static struct kunit_case rings_cases[] = {
	KUNIT_CASE(rings_have_room),
	KUNIT_CASE(rings_need_room),
	KUNIT_CASE(rings_keep_their_room),
	{}
};

static struct kunit_suite rings_suite = {
	.name = "pagoda_ring_engines",
	.test_cases = rings_cases,
};

kunit_test_suite(rings_suite);
