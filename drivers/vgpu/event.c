// SPDX-License-Identifier: GPL-2.0
/*
 * The event queue: sends events (faults, signalled fences, resets) to the driver, in buffers that
 * the driver provides.
 *
 * No thread waits for a buffer: an event for which there is no buffer is dropped and counted, and
 * the count is sent with the next event that has a buffer. While the device is broken, or if the
 * driver set up no event queue, events are dropped without being counted.
 */
#include "vgpu.h"

static void event_send(struct pagoda_vgpu *vgpu, struct virtio_pagoda_event *event)
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

/* Sends the driver an event with @fault, which has halted @queue. Runs in the queue's thread. */
void pagoda_vgpu_event_fault(struct pagoda_vgpu_queue *queue,
			     const struct virtio_pagoda_fault *fault)
{
	struct virtio_pagoda_event event = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_FAULT),
		.fault = *fault,
	};

	event_send(queue->vgpu, &event);
}

/*
 * Sends an event to the driver: the device carried out a RESET_ADAPTER that the driver didn't ask
 * for. Runs in the control queue's thread.
 */
void pagoda_vgpu_event_reset(struct pagoda_vgpu *vgpu)
{
	struct virtio_pagoda_event event = {
		.type = cpu_to_le32(VIRTIO_PAGODA_EVENT_RESET),
	};

	event_send(vgpu, &event);
}

/*
 * Sends an event to the driver: @run signalled the monitored fence at @address with @value. The
 * address is virtual if a command, or a packet with SIGNAL_VIRTUAL, signalled. Runs in the thread
 * of the queue that executes @run.
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

	event_send(context, &event);
}
