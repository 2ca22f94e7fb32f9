// SPDX-License-Identifier: GPL-2.0
/*
 * The event queue: notifications from the device. All buffers lie in the ring, and each is put back
 * into the ring as soon as the event in the buffer was handled.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "check.h"
#include "internal.h"

/* Callbacks into the upper layers; constant while the virtio driver is registered. */
const struct pagoda_virtio_callbacks *pagoda_virtio_top;

static int event_post(struct pagoda_event_queue *events, struct virtio_pagoda_event *buffer)
{
	struct scatterlist sg;

	lockdep_assert_held(&events->lock);
	sg_init_one(&sg, buffer, sizeof(*buffer));
	return virtqueue_add_inbuf(events->vq, &sg, 1, buffer, GFP_ATOMIC);
}

static void event_take(struct pagoda_virtio *virtio, struct virtio_pagoda_event *buffer, u32 len)
{
	struct virtio_pagoda_event raw = *buffer;
	struct device *dev = &virtio->vdev->dev;
	struct pagoda_event event;

	if (pagoda_event_check(&raw, len, &event)) {
		dev_err_ratelimited(dev, "event of type %u and %u bytes makes no sense\n",
				    le32_to_cpu(raw.type), len);
		return;
	}
	if (event.lost)
		dev_warn_ratelimited(dev, "%u events lost\n", event.lost);
	if (event.type == VIRTIO_PAGODA_EVENT_RESET)
		dev_err_ratelimited(dev, "the device reset itself\n");
	if (virtio->events.enabled && pagoda_virtio_top->event)
		pagoda_virtio_top->event(virtio->priv, &event);
}

/* Virtqueue callback: handles all events that arrived. */
void pagoda_event_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;
	struct pagoda_event_queue *events = &virtio->events;
	struct virtio_pagoda_event *buffer;
	unsigned long flags;
	bool notify;
	u32 len;

	spin_lock_irqsave(&events->lock, flags);
	do {
		virtqueue_disable_cb(vq);
		while ((buffer = virtqueue_get_buf(vq, &len))) {
			event_take(virtio, buffer, len);
			/*
			 * Put the buffer back. There is room, as the buffer has just left the ring:
			 * this fails only if the ring is broken.
			 */
			event_post(events, buffer);
		}
	} while (!pagoda_virtio_listen(vq));
	notify = virtqueue_kick_prepare(vq);
	spin_unlock_irqrestore(&events->lock, flags);
	if (notify)
		virtqueue_notify(vq);
}

/*
 * Work item: tells the upper layers, by a RESET event, that the device doesn't work. Breaks the
 * virtqueues before, so that no thread waits for the device any more, and so that a reset which the
 * upper layers request because of the event fails at once.
 */
static void events_broken_work(struct work_struct *work)
{
	const struct pagoda_event event = { .type = VIRTIO_PAGODA_EVENT_RESET };
	struct pagoda_virtio *virtio = container_of(work, struct pagoda_virtio, broken);

	dev_err(&virtio->vdev->dev, "the device doesn't work any more\n");
	virtio_break_device(virtio->vdev);
	spin_lock_irq(&virtio->events.lock);
	if (virtio->events.enabled && pagoda_virtio_top->event)
		pagoda_virtio_top->event(virtio->priv, &event);
	spin_unlock_irq(&virtio->events.lock);
}

/*
 * &virtio_driver.config_changed. The configuration is constant, so that only the status can have
 * changed: the device may need a reset. Breaking the virtqueues is deferred to a work item, because
 * virtio's list of queues isn't locked against interrupts.
 */
void pagoda_events_config_changed(struct virtio_device *vdev)
{
	struct pagoda_virtio *virtio = vdev->priv;

	if (vdev->config->get_status(vdev) & VIRTIO_CONFIG_S_NEEDS_RESET)
		schedule_work(&virtio->broken);
}

/* Initializes events.lock and the work item virtio->broken before the device is used. */
void pagoda_events_prepare(struct pagoda_virtio *virtio)
{
	spin_lock_init(&virtio->events.lock);
	INIT_WORK(&virtio->broken, events_broken_work);
}

/*
 * Begins, or with @enable false ends, calling &pagoda_virtio_callbacks.event. After a call with
 * @enable false has returned, the callback neither runs nor will be called.
 */
void pagoda_events_enable(struct pagoda_virtio *virtio, bool enable)
{
	spin_lock_irq(&virtio->events.lock);
	virtio->events.enabled = enable;
	spin_unlock_irq(&virtio->events.lock);
}

/*
 * Sets the virtqueue of a ready device and adds all event buffers to the virtqueue; with @vq NULL,
 * forgets the virtqueue. Returns 0, or -ENODEV if a buffer couldn't be added.
 */
int pagoda_events_attach(struct pagoda_event_queue *events, struct virtqueue *vq)
{
	u32 i;
	int ret = 0;

	spin_lock_irq(&events->lock);
	events->vq = vq;
	for (i = 0; vq && i < events->count && !ret; i++)
		ret = event_post(events, &events->buffers[i]);
	spin_unlock_irq(&events->lock);
	if (ret)
		return -ENODEV;
	if (vq)
		virtqueue_kick(vq);
	return 0;
}

/*
 * Allocates the event buffers and adds them to the virtqueue of a ready device. Returns 0, -ENOMEM,
 * or -ENODEV if a buffer couldn't be added.
 */
int pagoda_events_init(struct pagoda_virtio *virtio)
{
	struct pagoda_event_queue *events = &virtio->events;

	events->count = min_t(u32, PAGODA_EVENT_BUFFERS, virtqueue_get_vring_size(events->vq));
	events->buffers = kcalloc(events->count, sizeof(*events->buffers), GFP_KERNEL);
	if (!events->buffers)
		return -ENOMEM;
	return pagoda_events_attach(events, events->vq);
}

/* Takes all event buffers back from the virtqueue of a device that was reset. */
void pagoda_events_detach(struct pagoda_event_queue *events)
{
	while (events->vq && virtqueue_detach_unused_buf(events->vq))
		;
}

/* Frees the event buffers. The device was reset, so that it has none of them. */
void pagoda_events_fini(struct pagoda_virtio *virtio)
{
	kfree(virtio->events.buffers);
	virtio->events.buffers = NULL;
}
