// SPDX-License-Identifier: GPL-2.0
/*
 * The control queue: short commands, which its thread carries out and answers one at a time. The
 * thread also carries out the reset or failure that a test asks for by debugfs.
 */
#include "vgpu.h"

/*
 * GET_EXTENTS: writes the list's extents from control->first on, as many as have room and at most
 * MAX_EXTENTS_PER_ANSWER, to the chain's memory, behind the room for @answer, and their number to
 * @answer. Returns false for an unknown list, or a first extent beyond the list's end.
 */
static bool control_extents(struct pagoda_vgpu *vgpu, const struct virtio_pagoda_control *control,
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
	case VIRTIO_PAGODA_EXTENTS_SWIZZLING:
		extents = vgpu->windows.extents;
		nr_extents = vgpu->windows.nr_extents;
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
 * Asks the thread of @queue for a reset. The thread completes queue->reset_done soon, because the
 * engine stops before the next packet, or on an execution queue after the next PAGODA_CHUNK of
 * work at the latest.
 */
static void control_reset_begin(struct pagoda_vgpu_queue *queue)
{
	reinit_completion(&queue->reset_done);
	WRITE_ONCE(queue->stop, true);
	/* Release: the thread that sees @reset_wanted also sees @stop and vgpu->resetting. */
	smp_store_release(&queue->reset_wanted, true);
	wake_up(&queue->wake);
}

static bool control_reset(struct pagoda_vgpu *vgpu, const struct virtio_pagoda_control *control,
			  struct virtio_pagoda_answer *answer)
{
	u32 index = le32_to_cpu(control->index);
	struct pagoda_vgpu_queue *queue;

	if (index >= vgpu->nr_queues || index == VIRTIO_PAGODA_QUEUE_CONTROL ||
	    index == VIRTIO_PAGODA_QUEUE_EVENT)
		return false;
	queue = &vgpu->queues[index];
	if (!queue->task || pagoda_vgpu_inject_reset(queue))
		return false;
	control_reset_begin(queue);
	wait_for_completion(&queue->reset_done);
	answer->seqno = cpu_to_le64(queue->reset_seqno);
	answer->offset = cpu_to_le32(queue->reset_offset);
	return true;
}

/*
 * Carries out RESET_ADAPTER: has the threads of the paging and execution queues reset their queues,
 * waits for that, then resets the engine. Those threads wait until the engine is reset: a request
 * that arrives meanwhile is executed after the reset. Returns false, with nothing reset, if
 * F_EXECUTE isn't negotiated, or a test asked for a refusal.
 */
static bool control_reset_adapter(struct pagoda_vgpu *vgpu)
{
	u32 i;

	if (!(vgpu->engine.features & BIT_ULL(VIRTIO_PAGODA_F_EXECUTE)) ||
	    pagoda_vgpu_inject_reset(&vgpu->queues[VIRTIO_PAGODA_QUEUE_CONTROL]))
		return false;
	WRITE_ONCE(vgpu->resetting, true);
	for (i = VIRTIO_PAGODA_QUEUE_PAGING; i < vgpu->nr_queues; i++)
		if (vgpu->queues[i].task)
			control_reset_begin(&vgpu->queues[i]);
	for (i = VIRTIO_PAGODA_QUEUE_PAGING; i < vgpu->nr_queues; i++)
		if (vgpu->queues[i].task)
			wait_for_completion(&vgpu->queues[i].reset_done);
	pagoda_engine_reset_adapter(&vgpu->engine, vgpu->params->reset_vram);
	WRITE_ONCE(vgpu->resetting, false);
	/* Release: a thread that sees the new adapter_resets also sees the engine reset. */
	smp_store_release(&vgpu->adapter_resets, vgpu->adapter_resets + 1);
	for (i = VIRTIO_PAGODA_QUEUE_PAGING; i < vgpu->nr_queues; i++)
		wake_up(&vgpu->queues[i].wake);
	return true;
}

/* Returns whether all fields of @control are zero that a command of its type doesn't use. */
static bool control_clean(const struct virtio_pagoda_control *control)
{
	struct virtio_pagoda_control rest = *control;

	rest.type = 0;
	switch (le32_to_cpu(control->type)) {
	case VIRTIO_PAGODA_CONTROL_GET_EXTENTS:
		rest.first = 0;
		break;
	case VIRTIO_PAGODA_CONTROL_SET_ROOT:
		rest.segment = 0;
		rest.address = 0;
		rest.size = 0;
		break;
	case VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE:
		memset(&rest.layout, 0, sizeof(rest.layout));
		rest.address = 0;
		rest.size = 0;
		break;
	case VIRTIO_PAGODA_CONTROL_START_DIRTY:
	case VIRTIO_PAGODA_CONTROL_QUERY_DIRTY:
		rest.address = 0;
		rest.size = 0;
		break;
	case VIRTIO_PAGODA_CONTROL_RELEASE_RANGE:
		rest.size = 0;
		break;
	}
	if (le32_to_cpu(control->type) != VIRTIO_PAGODA_CONTROL_NOP &&
	    le32_to_cpu(control->type) != VIRTIO_PAGODA_CONTROL_RESET_ADAPTER)
		rest.index = 0;
	return !memchr_inv(&rest, 0, sizeof(rest));
}

/*
 * SET_ROOT: sets or removes the root page table of an address space. Waits until no queue uses
 * translations, which doesn't take long, because every packet and every job soon ends or releases
 * the translation lock for a moment. Returns false if the root is refused, or UPDATE_PAGE_TABLE
 * isn't negotiated.
 */
static bool control_root(struct pagoda_vgpu *vgpu, const struct virtio_pagoda_control *control)
{
	u64 op = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE));

	return vgpu->engine.features & op &&
	       !pagoda_engine_root_set(&vgpu->engine, le32_to_cpu(control->index),
				       le32_to_cpu(control->segment),
				       le64_to_cpu(control->address),
				       le64_to_cpu(control->size));
}

static bool control_range(struct pagoda_vgpu *vgpu, const struct virtio_pagoda_control *control,
			  bool acquire)
{
	u64 op = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER));
	u32 range = le32_to_cpu(control->index);
	u64 size = le64_to_cpu(control->size);

	if (!(vgpu->engine.features & op))
		return false;
	if (acquire)
		return !pagoda_engine_range_acquire(&vgpu->engine, range,
						    le64_to_cpu(control->address), size,
						    &control->layout);
	return size <= 1 && !pagoda_engine_range_release(&vgpu->engine, range, size);
}

/*
 * QUERY_DIRTY: clears the tracker's bits of the range, writes the bits as they were to the chain's
 * memory, behind the room for @answer, and the number of their words to @answer. Returns false,
 * with no bit changed, if the tracker doesn't track all of the range, or if the range is invalid or
 * has more bits than one answer, or the chain, has room for.
 */
static bool control_query(struct pagoda_vgpu *vgpu, const struct pagoda_vgpu_chain *chain,
			  const struct virtio_pagoda_control *control,
			  struct virtio_pagoda_answer *answer)
{
	u64 pages = le64_to_cpu(control->size) / VIRTIO_PAGODA_PAGE_SIZE;
	u64 bytes = DIV_ROUND_UP_ULL(pages, 64) * sizeof(__le64);

	if (pages > VIRTIO_PAGODA_MAX_DIRTY_PAGES ||
	    bytes > chain->writable_bytes - sizeof(*answer))
		return false;
	memset(vgpu->dirty_words, 0, bytes);
	if (!pagoda_engine_dirty_query(&vgpu->engine, le32_to_cpu(control->index),
				       le64_to_cpu(control->address), le64_to_cpu(control->size),
				       vgpu->dirty_words))
		return false;
	pagoda_vgpu_chain_write(chain, sizeof(*answer), vgpu->dirty_words, bytes);
	answer->count = cpu_to_le32(bytes / sizeof(__le64));
	return true;
}

/*
 * Returns the bytes of the extents or words behind @answer, which @answer counts; 0 if the command
 * has none or was refused.
 */
static u32 control_tail(const struct virtio_pagoda_control *control,
			const struct virtio_pagoda_answer *answer)
{
	u32 entry = le32_to_cpu(control->type) == VIRTIO_PAGODA_CONTROL_QUERY_DIRTY ?
		    sizeof(__le64) : sizeof(struct virtio_pagoda_extent);

	return le32_to_cpu(answer->count) * entry;
}

/*
 * Carries out a command, and sets the members of @answer that the command returns, but not the
 * status, which the caller sets. Returns false, with @answer unchanged, for an invalid or refused
 * command.
 */
static bool control_answer(struct pagoda_vgpu *vgpu, const struct pagoda_vgpu_chain *chain,
			   const struct virtio_pagoda_control *control,
			   struct virtio_pagoda_answer *answer)
{
	if (chain->readable != sizeof(*control) || !control_clean(control))
		return false;
	switch (le32_to_cpu(control->type)) {
	case VIRTIO_PAGODA_CONTROL_NOP:
		return true;
	case VIRTIO_PAGODA_CONTROL_GET_EXTENTS:
		return control_extents(vgpu, control, chain, answer);
	case VIRTIO_PAGODA_CONTROL_RESET_QUEUE:
		return control_reset(vgpu, control, answer);
	case VIRTIO_PAGODA_CONTROL_RESET_ADAPTER:
		return control_reset_adapter(vgpu);
	case VIRTIO_PAGODA_CONTROL_SET_ROOT:
		return control_root(vgpu, control);
	case VIRTIO_PAGODA_CONTROL_ACQUIRE_RANGE:
		return control_range(vgpu, control, true);
	case VIRTIO_PAGODA_CONTROL_RELEASE_RANGE:
		return control_range(vgpu, control, false);
	case VIRTIO_PAGODA_CONTROL_START_DIRTY:
		return pagoda_engine_dirty_start(&vgpu->engine, le32_to_cpu(control->index),
						 le64_to_cpu(control->address),
						 le64_to_cpu(control->size));
	case VIRTIO_PAGODA_CONTROL_STOP_DIRTY:
		return pagoda_engine_dirty_stop(&vgpu->engine, le32_to_cpu(control->index));
	case VIRTIO_PAGODA_CONTROL_QUERY_DIRTY:
		return control_query(vgpu, chain, control, answer);
	default:
		return false;
	}
}

/*
 * Takes a command from the ring, if there is one, carries it out and answers it. If the ring or the
 * command's chain is invalid, marks the device as broken instead. Runs in the control queue's
 * thread.
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
	if (control_answer(queue->vgpu, &chain, control, &answer))
		answer.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_OK);
	else
		answer.status = cpu_to_le32(VIRTIO_PAGODA_CONTROL_EINVAL);
	written = pagoda_vgpu_chain_write(&chain, 0, &answer, sizeof(answer));
	written += control_tail(control, &answer);
	pagoda_vgpu_queue_complete(queue, chain.head, written, true);
}

/*
 * Carries out vgpu->trouble, a reset or a failure that a test asked for through debugfs, or forgets
 * it if no driver has set DRIVER_OK, or control_reset_adapter() refuses the reset. Runs in the
 * control queue's thread.
 */
void pagoda_vgpu_control_trouble(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu *vgpu = queue->vgpu;
	enum pagoda_vgpu_trouble trouble = xchg(&vgpu->trouble, PAGODA_VGPU_WORKS);

	if (!(READ_ONCE(vgpu->status) & VIRTIO_CONFIG_S_DRIVER_OK))
		return;
	if (trouble == PAGODA_VGPU_BREAKS)
		pagoda_vgpu_break(queue, "a test asks for it");
	if (trouble == PAGODA_VGPU_RESETS && control_reset_adapter(vgpu))
		pagoda_vgpu_event_reset(vgpu);
}
