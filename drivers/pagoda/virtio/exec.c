// SPDX-License-Identifier: GPL-2.0
/*
 * The engines' queues: a ring each, whose transport the queue layer uses.
 */
#include <linux/slab.h>

#include "internal.h"

/**
 * pagoda_virtio_engine_transport() - The way to an engine
 * @virtio: Device
 * @engine: Engine, below &pagoda_device_info.num_engines
 *
 * Return: the transport, valid until the remove callback returned; requests that
 * it could not get back until then it completes afterwards.
 */
struct pagoda_transport *pagoda_virtio_engine_transport(struct pagoda_virtio *virtio,
							u32 engine)
{
	return &virtio->engines[engine].base;
}

/**
 * pagoda_exec_interrupt() - An engine is through with something
 * @vq: An execution queue
 *
 * Context: interrupt.
 */
void pagoda_exec_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;

	pagoda_ring_drain(&virtio->engines[vq->index - VIRTIO_PAGODA_QUEUE_EXEC0]);
}

/**
 * pagoda_exec_init() - Set the execution queues up
 * @virtio: Device
 * @vqs: Its virtqueues, the execution queues only
 *
 * Context: may sleep and allocate; before the device is ready.
 * Return: 0, -ENOMEM, or -EINVAL for a queue without room for a request.
 */
int pagoda_exec_init(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	u32 i;

	virtio->engines = kcalloc(virtio->info.num_engines, sizeof(*virtio->engines),
				  GFP_KERNEL);
	if (!virtio->engines)
		return -ENOMEM;
	for (i = 0; i < virtio->info.num_engines; i++) {
		pagoda_ring_init(&virtio->engines[i], virtio, vqs[i]);
		if (!virtio->engines[i].depth) {
			dev_err(&virtio->vdev->dev, "engine %u without room for a request\n", i);
			return -EINVAL;
		}
	}
	return 0;
}

/**
 * pagoda_exec_detach() - Give back what engines kept
 * @virtio: Device that was reset
 *
 * Context: process.
 */
void pagoda_exec_detach(struct pagoda_virtio *virtio)
{
	u32 i;

	for (i = 0; virtio->engines && i < virtio->info.num_engines; i++)
		pagoda_ring_detach(&virtio->engines[i]);
}

/**
 * pagoda_exec_attach() - pagoda_ring_attach() for all engines
 * @virtio: Device
 * @vqs: Its virtqueues, the execution queues only; NULL: there are none
 *
 * Context: process; nobody submits.
 * Return: 0 or -ENODEV.
 */
int pagoda_exec_attach(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < virtio->info.num_engines; i++)
		ret = pagoda_ring_attach(&virtio->engines[i], vqs ? vqs[i] : NULL) ?: ret;
	return ret;
}

/**
 * pagoda_exec_fini() - Free the queues
 * @virtio: Device; nobody submits any more
 *
 * Context: process.
 */
void pagoda_exec_fini(struct pagoda_virtio *virtio)
{
	kfree(virtio->engines);
	virtio->engines = NULL;
}
