// SPDX-License-Identifier: GPL-2.0
/*
 * The event queue: buffers the driver left for us to tell it something.
 *
 * Nobody waits for a buffer: an event that finds none is counted, and the count
 * travels with the next one that does.
 */
#include "vgpu.h"

static void pagoda_event_send(struct pagoda_vgpu *vgpu, struct virtio_pagoda_event *event)
{
	struct pagoda_vgpu_queue *queue = &vgpu->queues[VIRTIO_PAGODA_QUEUE_EVENT];
	struct pagoda_vgpu_chain chain;
	int err;

	guard(mutex)(&vgpu->event_lock);
	if (!queue->vq || READ_ONCE(vgpu->broken))
		return;
	err = pagoda_vgpu_ring_pop(&queue->ring, &chain, NULL, 0);
	if (!err) {
		vgpu->events_lost++;
		atomic64_inc(&vgpu->events_dropped);
		return;
	}
	if (err < 0 || chain.writable_bytes < sizeof(*event)) {
		pagoda_vgpu_break(queue, "malformed event buffer");
		return;
	}
	event->lost = cpu_to_le32(vgpu->events_lost);
	vgpu->events_lost = 0;
	atomic64_inc(&vgpu->events_sent);
	pagoda_vgpu_chain_write(&chain, 0, event, sizeof(*event));
	pagoda_vgpu_queue_complete(queue, chain.head, sizeof(*event), true);
}

/**
 * pagoda_vgpu_event_fault() - Tell the driver of a fault
 * @queue: Queue that halted
 * @fault: Its coordinates, as in the completion
 *
 * Context: the queue's thread.
 */
void pagoda_vgpu_event_fault(struct pagoda_vgpu_queue *queue,
			     const struct virtio_pagoda_fault *fault)
{
	struct virtio_pagoda_event event = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FAULT),
		.fault = *fault,
	};

	pagoda_event_send(queue->vgpu, &event);
}

/**
 * pagoda_vgpu_event_reset() - Tell the driver that the device did a RESET_ADAPTER unasked
 * @vgpu: Device
 *
 * Context: the control queue's thread.
 */
void pagoda_vgpu_event_reset(struct pagoda_vgpu *vgpu)
{
	struct virtio_pagoda_event event = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_RESET),
	};

	pagoda_event_send(vgpu, &event);
}

/**
 * pagoda_vgpu_event_fence() - Tell the driver that a monitored fence was written
 * @context: The device
 * @run: Request whose packet or command signals
 * @address: Where the fence is; for a command in its address space
 * @value: What was written
 *
 * Context: the queue's thread.
 */
void pagoda_vgpu_event_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			     u64 value)
{
	struct virtio_pagoda_event event = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FENCE),
		.value = cpu_to_le64(value),
		.fault = {
			.opcode = cpu_to_le32(run->fault.opcode),
			.offset = cpu_to_le32(run->offset),
			.queue = cpu_to_le32(run->queue),
			.seqno = cpu_to_le64(run->seqno),
			.address = cpu_to_le64(address),
			.context = cpu_to_le64(run->context),
			.command = cpu_to_le64(run->fault.command),
		},
	};

	pagoda_event_send(context, &event);
}
