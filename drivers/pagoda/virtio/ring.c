// SPDX-License-Identifier: GPL-2.0
/*
 * Requests to the device: the transport of the paging queue and of each engine.
 *
 * A request is three descriptors: head, buffer, completion; or two, if the buffer is empty.
 * Indirect descriptors are not negotiated, so that nothing is allocated in the dma_fence signalling
 * path and the number of requests that surely fit into the ring is known beforehand.
 *
 * A device that lost its power counts requests from 1 again. Only this file converts between the
 * device's numbers and the queue layer's, by pagoda_ring.before.
 */
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/scatterlist.h>
#include <linux/virtio_config.h>
#include <kunit/static_stub.h>

#include "check.h"
#include "internal.h"

#define PAGODA_RING_DESCRIPTORS	3

static struct pagoda_ring *ring_of(struct pagoda_transport *transport)
{
	return container_of(transport, struct pagoda_ring, base);
}

/*
 * Checks the completion of @request, of which the device says that it wrote @len bytes, and calls
 * the request's complete().
 */
static void ring_complete(struct pagoda_ring *ring, struct pagoda_request *request, u32 len)
{
	struct virtio_pagoda_completion completion = request->completion;
	struct pagoda_fault fault;
	enum pagoda_outcome outcome;

	le64_add_cpu(&completion.seqno, ring->before);
	if (completion.fault.reason)
		le64_add_cpu(&completion.fault.seqno, ring->before);
	outcome = pagoda_completion_check(&completion, len, ring->vq->index, request, &fault);
	request->skipped = outcome == PAGODA_OUTCOME_OK ? le64_to_cpu(completion.skipped) : 0;
	request->complete(request, outcome, &fault);
	atomic_dec(&ring->outstanding);
}

static struct pagoda_request *ring_take(struct pagoda_ring *ring, u32 *len)
{
	struct pagoda_request *request = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ring->lock, flags);
	/* Look again: requests that came back before interrupts were on raise no interrupt. */
	while (ring->vq && !(request = virtqueue_get_buf(ring->vq, len)))
		if (pagoda_virtio_listen(ring->vq))
			break;
	spin_unlock_irqrestore(&ring->lock, flags);
	return request;
}

/* Handles all completions that arrived; calls the requests' complete() without a lock. */
void pagoda_ring_drain(struct pagoda_ring *ring)
{
	struct pagoda_request *request;
	unsigned long flags;
	u32 len;

	spin_lock_irqsave(&ring->lock, flags);
	if (ring->vq)
		virtqueue_disable_cb(ring->vq);
	spin_unlock_irqrestore(&ring->lock, flags);
	while ((request = ring_take(ring, &len)))
		ring_complete(ring, request, len);
}

/* Virtqueue callback: handles the completions of the paging queue. */
void pagoda_paging_interrupt(struct virtqueue *vq)
{
	struct pagoda_virtio *virtio = vq->vdev->priv;

	pagoda_ring_drain(&virtio->paging);
}

static int ring_add(struct pagoda_ring *ring, struct pagoda_request *request)
{
	struct scatterlist head, data, tail, *sgs[PAGODA_RING_DESCRIPTORS];
	u32 out = 0;

	lockdep_assert_held(&ring->lock);
	sg_init_one(&head, &request->header, sizeof(request->header));
	sgs[out++] = &head;
	if (request->size) {
		sg_init_one(&data, request->data, request->size);
		sgs[out++] = &data;
	}
	sg_init_one(&tail, &request->completion, sizeof(request->completion));
	sgs[out] = &tail;
	return virtqueue_add_sgs(ring->vq, sgs, out, 1, request, GFP_ATOMIC);
}

static int ring_submit(struct pagoda_transport *transport, struct pagoda_request *request)
{
	struct pagoda_ring *ring = ring_of(transport);
	unsigned long flags;
	int ret;

	request->header = (struct virtio_pagoda_request) {
		.seqno = cpu_to_le64(request->seqno - ring->before),
		.size = cpu_to_le32(request->size),
		.start = cpu_to_le32(request->start),
		.context = cpu_to_le64(request->context),
	};
	/* Bytes that the device doesn't write must not look like an answer. */
	memset(&request->completion, 0, sizeof(request->completion));
	request->skipped = 0;
	atomic_inc(&ring->outstanding);
	spin_lock_irqsave(&ring->lock, flags);
	ret = ring->vq ? ring_add(ring, request) : -ENODEV;
	if (!ret)
		ring->last = request->seqno;
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!ret)
		return 0;
	atomic_dec(&ring->outstanding);
	return ret == -ENOSPC ? -ENOSPC : -ENODEV;
}

/* Shows the device the requests added; returns whether the device wants its doorbell rung. */
static bool ring_kick_prepare(struct pagoda_ring *ring)
{
	lockdep_assert_held(&ring->lock);
	return ring->vq && virtqueue_kick_prepare(ring->vq);
}

/* Rings the doorbell, unless the device asked for no doorbells or has no power. */
static void ring_kick(struct pagoda_transport *transport)
{
	struct pagoda_ring *ring = ring_of(transport);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&ring->lock, flags);
	notify = ring_kick_prepare(ring);
	spin_unlock_irqrestore(&ring->lock, flags);
	if (!notify)
		return;
	atomic64_inc(&ring->doorbells);
	virtqueue_notify(ring->vq);
}

/*
 * &pagoda_transport_ops.reset: halts the queue, takes all requests back, and gets the device's
 * progress. The queue layer compares the progress with the requests submitted. Returns 0,
 * -ETIMEDOUT if the device doesn't answer, -EIO if the device refuses, gives an impossible answer
 * or keeps a request, or -ENODEV.
 */
static int ring_reset(struct pagoda_transport *transport, struct pagoda_reset_result *result)
{
	struct pagoda_ring *ring = ring_of(transport);
	int ret, left;

	if (!ring->vq || virtqueue_is_broken(ring->vq))
		return -ENODEV;
	ret = pagoda_control_reset_queue(ring->virtio, ring->vq->index, result);
	pagoda_ring_drain(ring);
	if (ret)
		return ret;
	result->seqno += ring->before;
	/*
	 * An interrupt on another CPU may still complete the last requests; that CPU may be a
	 * virtual CPU that its host has stopped for a while.
	 */
	if (read_poll_timeout(atomic_read, left, !left || virtqueue_is_broken(ring->vq), 50,
			      PAGODA_CONTROL_TIMEOUT_MS * USEC_PER_MSEC, false,
			      &ring->outstanding))
		return -EIO;
	if (left)
		return -ENODEV;
	return 0;
}

/*
 * Completes, as PAGODA_OUTCOME_ABORTED, the requests that the device still had when the device was
 * reset; the device can't reach memory any more. The ring may be zeroed, never initialised.
 */
void pagoda_ring_detach(struct pagoda_ring *ring)
{
	const struct pagoda_fault none = {};
	struct pagoda_request *request;

	if (!ring->vq)
		return;
	while ((request = virtqueue_detach_unused_buf(ring->vq))) {
		request->complete(request, PAGODA_OUTCOME_ABORTED, &none);
		atomic_dec(&ring->outstanding);
	}
}

/*
 * Sets the virtqueue of a device that has power again; with @vq NULL, removes the virtqueue. The
 * device has no request of the ring, and no request is submitted meanwhile. Returns 0, or -ENODEV
 * if the new virtqueue has less room than the ring's depth.
 */
int pagoda_ring_attach(struct pagoda_ring *ring, struct virtqueue *vq)
{
	spin_lock_irq(&ring->lock);
	ring->vq = vq;
	ring->before = ring->last;
	spin_unlock_irq(&ring->lock);
	if (vq && virtqueue_get_vring_size(vq) / PAGODA_RING_DESCRIPTORS < ring->depth)
		return -ENODEV;
	return 0;
}

static void ring_poll(struct pagoda_transport *transport)
{
	pagoda_ring_drain(ring_of(transport));
}

static int ring_control(struct pagoda_transport *transport, const struct pagoda_command *command)
{
	return pagoda_control_command(ring_of(transport)->virtio, command);
}

static u32 ring_depth(struct pagoda_transport *transport)
{
	return ring_of(transport)->depth;
}

static u64 ring_doorbells(struct pagoda_transport *transport)
{
	return atomic64_read(&ring_of(transport)->doorbells);
}

static const struct pagoda_transport_ops ring_transport_ops = {
	.submit = ring_submit,
	.kick = ring_kick,
	.poll = ring_poll,
	.reset = ring_reset,
	.control = ring_control,
	.depth = ring_depth,
	.doorbells = ring_doorbells,
};

/* Sets up a zeroed ring for @vq, before virtio_device_ready(). */
void pagoda_ring_init(struct pagoda_ring *ring, struct pagoda_virtio *virtio,
		      struct virtqueue *vq)
{
	ring->base.ops = &ring_transport_ops;
	ring->virtio = virtio;
	ring->vq = vq;
	spin_lock_init(&ring->lock);
	ring->depth = virtqueue_get_vring_size(vq) / PAGODA_RING_DESCRIPTORS;
}
