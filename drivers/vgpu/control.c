// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: small questions, answered one at a time.
 */
#include "vgpu.h"

static bool pagoda_control_extents(struct pagoda_vgpu *vgpu,
				   const struct virtio_pagoda_control *control,
				   const struct pagoda_vgpu_chain *chain,
				   struct virtio_pagoda_answer *answer)
{
	u32 room = (chain->writable_bytes - sizeof(*answer)) / sizeof(struct virtio_pagoda_extent);
	const struct virtio_pagoda_extent *extents;
	u64 first = le64_to_cpu(control->first);
	u32 nr_extents;
	u32 count;

	switch (le32_to_cpu(control->index)) {
	case VIRTIO_PAGODA_EXTENTS_WINDOW:
		extents = vgpu->vram.extents;
		nr_extents = vgpu->vram.nr_extents;
		break;
	case VIRTIO_PAGODA_EXTENTS_INVALID:
		extents = vgpu->invalid_extents;
		nr_extents = vgpu->params->nr_invalid;
		break;
	default:
		return false;
	}
	if (first > nr_extents)
		return false;
	count = min3(nr_extents - (u32)first, room, (u32)VIRTIO_PAGODA_MAX_EXTENTS_PER_ANSWER);
	pagoda_vgpu_chain_write(chain, sizeof(*answer), extents + first, count * sizeof(*extents));
	answer->count = cpu_to_le32(count);
	return true;
}

/*
 * Hands the reset to the thread that owns the queue and waits for it: an engine
 * stops at the next packet, and nothing it does blocks for longer.
 */
static bool pagoda_control_reset(struct pagoda_vgpu *vgpu,
				 const struct virtio_pagoda_control *control,
				 struct virtio_pagoda_answer *answer)
{
	u32 index = le32_to_cpu(control->index);
	struct pagoda_vgpu_queue *queue;

	if (control->first || index >= vgpu->nr_queues ||
	    index == VIRTIO_PAGODA_QUEUE_CONTROL || index == VIRTIO_PAGODA_QUEUE_EVENT)
		return false;
	queue = &vgpu->queues[index];
	if (!queue->task)
		return false;
	reinit_completion(&queue->reset_done);
	WRITE_ONCE(queue->stop, true);
	WRITE_ONCE(queue->reset_wanted, true);
	wake_up(&queue->wake);
	wait_for_completion(&queue->reset_done);
	answer->seqno = cpu_to_le64(queue->executed);
	answer->offset = cpu_to_le32(queue->offset);
	return true;
}

static bool pagoda_control_answer(struct pagoda_vgpu *vgpu,
				  const struct pagoda_vgpu_chain *chain,
				  const struct virtio_pagoda_control *control,
				  struct virtio_pagoda_answer *answer)
{
	if (chain->readable != sizeof(*control))
		return false;
	switch (le32_to_cpu(control->type)) {
	case VIRTIO_PAGODA_CONTROL_NOP:
		return !control->index && !control->first;
	case VIRTIO_PAGODA_CONTROL_GET_EXTENTS:
		return pagoda_control_extents(vgpu, control, chain, answer);
	case VIRTIO_PAGODA_CONTROL_RESET_QUEUE:
		return pagoda_control_reset(vgpu, control, answer);
	default:
		return false;
	}
}

/**
 * pagoda_vgpu_control_execute() - Take the next command and answer it
 * @queue: The control queue, with something available
 *
 * Context: the control queue's thread.
 */
void pagoda_vgpu_control_execute(struct pagoda_vgpu_queue *queue)
{
	const struct virtio_pagoda_control *control = queue->buffer;
	struct virtio_pagoda_answer answer = {};
	struct pagoda_vgpu_chain chain;
	u32 written;
	int err;

	err = pagoda_vgpu_ring_pop(&queue->ring, &chain, queue->buffer, sizeof(*control));
	if (!err)
		return;
	if (err < 0 || chain.writable_bytes < sizeof(answer)) {
		pagoda_vgpu_break(queue, "malformed command");
		return;
	}
	atomic64_inc(&queue->requests);
	if (pagoda_control_answer(queue->vgpu, &chain, control, &answer))
		answer.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_OK);
	else
		answer.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_EINVAL);
	written = pagoda_vgpu_chain_write(&chain, 0, &answer, sizeof(answer));
	written += le32_to_cpu(answer.count) * sizeof(struct virtio_pagoda_extent);
	pagoda_vgpu_queue_complete(queue, chain.head, written, true);
}
