// SPDX-License-Identifier: GPL-2.0
/* The execution queues: a ring for each engine, which the queue layer uses as a transport. */
#include <linux/slab.h>

#include "core/info.h"
#include "internal.h"

/**
 * pagoda_virtio_engine_transport() - Get the transport of an engine
 * @virtio: Device
 * @engine: Engine, below &pagoda_device_info.num_engines
 *
 * Return: the transport, valid until the remove callback returned. Requests that the transport
 * could not get back until then are completed afterwards.
 */
struct pagoda_transport *pagoda_virtio_engine_transport(struct pagoda_virtio *virtio,
							u32 engine)
{
	return &virtio->engines[engine].base;
}

/* Virtqueue callback: handles the completions of an engine. */
void pagoda_exec_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;

	pagoda_ring_drain(&virtio->engines[vq->index - VIRTIO_PAGODA_QUEUE_EXEC0]);
}

/*
 * Sets the execution queues up before the device is ready; @vqs has the execution queues only.
 * Returns 0, -ENOMEM, or -EINVAL for a queue without room for a request.
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
			dev_err(&virtio->vdev->dev,
				PAGODA_ENGINE_NAME " without room for a request\n", i);
			return -EINVAL;
		}
	}
	return 0;
}

/* After a reset of the device, completes the requests that its engines still had, as aborted. */
void pagoda_exec_detach(struct pagoda_virtio *virtio)
{
	u32 i;

	for (i = 0; virtio->engines && i < virtio->info.num_engines; i++)
		pagoda_ring_detach(&virtio->engines[i]);
}

/*
 * Calls pagoda_ring_attach() for all engines while no request is submitted; @vqs has the execution
 * queues only, or is NULL. Returns 0 or -ENODEV.
 */
int pagoda_exec_attach(struct pagoda_virtio *virtio, struct virtqueue **vqs)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < virtio->info.num_engines; i++)
		ret = pagoda_ring_attach(&virtio->engines[i], vqs ? vqs[i] : NULL) ?: ret;
	return ret;
}

/* Frees the engines' rings, to which no request is submitted any more. */
void pagoda_exec_fini(struct pagoda_virtio *virtio)
{
	kfree(virtio->engines);
	virtio->engines = NULL;
}
