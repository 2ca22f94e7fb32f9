// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the paging and execution queues: taken from the ring, executed, and completed or
 * kept back as injected misbehaviour says; and the reset of a queue.
 *
 * Each function runs in the queue's own thread, so that the ring, the requests that the queue holds
 * back until a reset (held), and its progress (executed, offset) need no lock.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/wait.h>

#include "vgpu.h"

/* Returns the size of a completion: without F_DIRTY it ends before its last field, @skipped. */
static u32 completion_size(const struct pagoda_vgpu_queue *queue)
{
	return queue->vgpu->engine.features & BIT_ULL(VIRTIO_PAGODA_F_DIRTY) ?
	       sizeof(struct virtio_pagoda_completion) :
	       offsetof(struct virtio_pagoda_completion, skipped);
}

static void request_push(struct pagoda_vgpu_queue *queue, const struct pagoda_vgpu_held *held,
			 const struct pagoda_vgpu_mischief *mischief)
{
	u32 written = pagoda_vgpu_chain_write(&held->chain, 0, &held->completion,
					      completion_size(queue));

	if (mischief && mischief->corrupt == PAGODA_VGPU_CORRUPT_LENGTH)
		written = mischief->value;
	pagoda_vgpu_queue_complete(queue, held->chain.head, written,
				   !mischief || !mischief->lost_interrupt);
}

/* Completes queue->swapped, which was kept back (reorder), if any. Runs in the queue's thread. */
void pagoda_vgpu_request_flush(struct pagoda_vgpu_queue *queue)
{
	if (!queue->has_swapped)
		return;
	queue->has_swapped = false;
	request_push(queue, &queue->swapped, NULL);
}

/*
 * Keeps a request in queue->held until the queue is reset. If that array, which has as many entries
 * as the ring, is full, marks the device as broken instead.
 */
static void request_hold(struct pagoda_vgpu_queue *queue, const struct pagoda_vgpu_held *held)
{
	if (queue->nr_held < PAGODA_VGPU_RING_SIZE)
		queue->held[queue->nr_held++] = *held;
	else
		pagoda_vgpu_break(queue, "more requests than the ring has room for");
}

static void request_corrupt(struct virtio_pagoda_completion *completion,
			    const struct pagoda_vgpu_mischief *mischief)
{
	if (mischief->corrupt == PAGODA_VGPU_CORRUPT_SEQNO)
		completion->seqno = cpu_to_le64(mischief->value);
	else if (mischief->corrupt == PAGODA_VGPU_CORRUPT_STATUS)
		completion->status = cpu_to_le32(mischief->value);
	else if (mischief->corrupt == PAGODA_VGPU_CORRUPT_PACKETS)
		completion->packets = cpu_to_le32(mischief->value);
	else if (mischief->corrupt == PAGODA_VGPU_CORRUPT_FAULT)
		completion->fault.reason = cpu_to_le32(mischief->value);
}

/*
 * Completes an executed request, then the request that was kept back, if any. As @mischief says,
 * the completion is falsified, sent without an interrupt, kept back until after the completion of
 * the next request, or not sent before a reset of the queue.
 */
static void request_complete(struct pagoda_vgpu_queue *queue, struct pagoda_vgpu_held *held,
			     const struct pagoda_vgpu_mischief *mischief)
{
	if (mischief->drop) {
		request_hold(queue, held);
		return;
	}
	request_corrupt(&held->completion, mischief);
	if (mischief->reorder && !queue->has_swapped) {
		queue->swapped = *held;
		queue->has_swapped = true;
		return;
	}
	request_push(queue, held, mischief);
	pagoda_vgpu_request_flush(queue);
}

/* Sleeps for @us microseconds; a reset of the queue or of the device ends the sleep early. */
static void request_sleep(struct pagoda_vgpu_queue *queue, u32 us)
{
	(void)wait_event_hrtimeout(queue->wake, pagoda_vgpu_queue_stopping(queue),
				   ns_to_ktime((u64)us * NSEC_PER_USEC));
}

/*
 * Checks the header and the size of a request of @readable bytes. Returns 0, or a fault reason with
 * the refused value in *@value.
 */
static u32 request_check(const struct pagoda_vgpu_queue *queue,
			 const struct virtio_pagoda_request *request, u64 readable, u64 *value)
{
	u64 seqno = le64_to_cpu(request->seqno);
	u32 size = le32_to_cpu(request->size);

	*value = readable;
	if (readable < sizeof(*request))
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	*value = size;
	if (readable - sizeof(*request) != size || size > VIRTIO_PAGODA_MAX_BUFFER)
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	*value = seqno;
	if (seqno != queue->executed + 1)
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	*value = le64_to_cpu(request->reserved);
	if (*value)
		return VIRTIO_PAGODA_FAULT_BAD_BUFFER;
	*value = le64_to_cpu(request->context);
	if (*value && queue->index == VIRTIO_PAGODA_QUEUE_PAGING)
		return VIRTIO_PAGODA_FAULT_BAD_CONTEXT;
	return VIRTIO_PAGODA_FAULT_NONE;
}

static enum pagoda_engine_outcome request_run(struct pagoda_vgpu_queue *queue, u64 readable,
					      struct pagoda_engine_run *run,
					      const struct pagoda_vgpu_mischief *mischief)
{
	const struct virtio_pagoda_request *request = queue->buffer;
	u64 value;
	u32 reason;

	reason = request_check(queue, request, readable, &value);
	if (reason) {
		run->fault.reason = reason;
		run->fault.address = value;
		atomic64_inc(&queue->vgpu->engine.faults[reason]);
		return PAGODA_ENGINE_FAULT;
	}
	run->context = le64_to_cpu(request->context);
	run->buffer = request + 1;
	run->size = le32_to_cpu(request->size);
	run->start = le32_to_cpu(request->start);
	run->stop = &queue->stop;
	run->spans = queue->spans;
	run->fail_at = mischief->fail_at;
	run->fail_middle = mischief->fail_middle;
	run->stop_at = mischief->hang_at;
	if (mischief->delay_us)
		request_sleep(queue, mischief->delay_us);
	/* An injected hang comes before a packet, and an empty buffer has none: hang here. */
	if (!run->size && !mischief->hang_at)
		return PAGODA_ENGINE_STOPPED;
	return pagoda_engine_execute(&queue->vgpu->engine, run);
}

/* Counts the fault of @run, describes it in @completion, and halts @queue until a queue reset. */
static void request_fault(struct pagoda_vgpu_queue *queue, const struct pagoda_engine_run *run,
			  struct virtio_pagoda_completion *completion)
{
	const struct virtio_pagoda_request *request = queue->buffer;

	completion->fault = (struct virtio_pagoda_fault) {
		.reason = cpu_to_le32(run->fault.reason),
		.opcode = cpu_to_le32(run->fault.opcode),
		.offset = cpu_to_le32(run->fault.offset),
		.queue = cpu_to_le32(queue->index),
		.seqno = completion->seqno,
		.address = cpu_to_le64(run->fault.address),
		.access = cpu_to_le32(run->fault.access),
		.level = cpu_to_le32(run->fault.level),
		.context = queue->index == VIRTIO_PAGODA_QUEUE_PAGING ? 0 : request->context,
		.command = cpu_to_le64(run->fault.command),
	};
	queue->halted = true;
	atomic64_inc(&queue->faults);
}

/*
 * Waits until the queue is reset or the thread has to end, then keeps the unfinished request in
 * queue->held, from which the reset returns the request to the driver as aborted.
 */
static void request_interrupted(struct pagoda_vgpu_queue *queue, struct pagoda_vgpu_held *held)
{
	held->completion.status = cpu_to_le32(VIRTIO_PAGODA_STATUS_ABORTED);
	wait_event_idle(queue->wake, pagoda_vgpu_queue_stopping(queue));
	request_hold(queue, held);
}

/*
 * Takes a request from the ring, copies the request to queue->buffer and counts it in queue->given.
 * Returns false if the ring has no request; also, after marking the device as broken, if the ring
 * or the request's chain is invalid.
 */
static bool request_pop(struct pagoda_vgpu_queue *queue, struct pagoda_vgpu_chain *chain)
{
	struct virtio_pagoda_request *request = queue->buffer;
	int err;

	memset(request, 0, sizeof(*request));
	err = pagoda_vgpu_ring_pop(&queue->ring, chain, request,
				   sizeof(*request) + VIRTIO_PAGODA_MAX_BUFFER);
	if (err < 0)
		pagoda_vgpu_break(queue, "malformed descriptor chain");
	else if (err && chain->writable_bytes < completion_size(queue))
		pagoda_vgpu_break(queue, "no room for a completion");
	if (err <= 0 || chain->writable_bytes < completion_size(queue))
		return false;
	queue->given++;
	return true;
}

static enum pagoda_engine_outcome request_measure(struct pagoda_vgpu_queue *queue, u64 readable,
						  struct pagoda_engine_run *run,
						  const struct pagoda_vgpu_mischief *mischief)
{
	enum pagoda_engine_outcome outcome;
	u64 began = ktime_get_ns();

	atomic64_inc(&queue->requests);
	outcome = request_run(queue, readable, run, mischief);
	if (run->context)
		atomic64_inc(&queue->jobs);
	atomic64_add(run->packets, &queue->packets);
	atomic64_add(run->bytes, &queue->bytes);
	atomic64_add(ktime_get_ns() - began, &queue->busy_ns);
	return outcome;
}

/*
 * Takes the next request from the ring, if there is one, executes and completes it. A fault halts
 * the queue; the completion and an event report the fault. A request whose execution was stopped
 * isn't completed: waits for the reset of the queue, then keeps the request in queue->held. A
 * request that a test wants dropped is kept in queue->held, too, after its execution. Runs in the
 * queue's thread.
 */
void pagoda_vgpu_request_execute(struct pagoda_vgpu_queue *queue)
{
	const struct virtio_pagoda_request *request = queue->buffer;
	struct pagoda_vgpu_mischief mischief;
	enum pagoda_engine_outcome outcome;
	struct pagoda_vgpu_held held = {};
	struct pagoda_engine_run run;

	if (!request_pop(queue, &held.chain))
		return;
	pagoda_vgpu_inject_next(queue, le64_to_cpu(request->seqno), &mischief);
	pagoda_engine_run_init(&run, queue->index == VIRTIO_PAGODA_QUEUE_PAGING ?
			       PAGODA_ENGINE_QUEUE_PAGING : PAGODA_ENGINE_QUEUE_EXEC,
			       queue->index, le64_to_cpu(request->seqno));
	outcome = request_measure(queue, held.chain.readable, &run, &mischief);

	/* A request refused as a whole doesn't change the queue's progress, queue->offset. */
	if (run.buffer && run.fault.reason != VIRTIO_PAGODA_FAULT_BAD_BUFFER)
		queue->offset = run.offset;
	held.completion.seqno = request->seqno;
	held.completion.packets = cpu_to_le32(run.packets);
	held.completion.skipped = cpu_to_le64(run.skipped);
	if (outcome == PAGODA_ENGINE_STOPPED) {
		request_interrupted(queue, &held);
		return;
	}
	if (outcome == PAGODA_ENGINE_DONE) {
		held.completion.status = cpu_to_le32(VIRTIO_PAGODA_STATUS_OK);
		queue->executed = run.seqno;
		queue->offset = 0;
	} else {
		held.completion.status = cpu_to_le32(VIRTIO_PAGODA_STATUS_FAULT);
		request_fault(queue, &run, &held.completion);
		pagoda_vgpu_event_fault(queue, &held.completion.fault);
	}
	request_complete(queue, &held, &mischief);
}

/*
 * Returns to the driver, one after the other: the request that was kept back; the requests in
 * queue->held, dropped ones with their outcome, stopped ones with STATUS_ABORTED; the requests that
 * are still in the ring, with STATUS_ABORTED.
 */
static void request_return_all(struct pagoda_vgpu_queue *queue)
{
	const struct virtio_pagoda_request *request = queue->buffer;
	struct pagoda_vgpu_held held = {};
	u32 i;

	pagoda_vgpu_request_flush(queue);
	for (i = 0; i < queue->nr_held; i++)
		request_push(queue, &queue->held[i], NULL);
	queue->nr_held = 0;
	held.completion.status = cpu_to_le32(VIRTIO_PAGODA_STATUS_ABORTED);
	for (i = 0; i < queue->ring.vring.num && !READ_ONCE(queue->vgpu->broken); i++) {
		if (!request_pop(queue, &held.chain))
			break;
		held.completion.seqno = request->seqno;
		request_push(queue, &held, NULL);
	}
}

/*
 * Stores the queue's progress in reset_seqno and reset_offset, the answer to a reset. After
 * RESET_QUEUE of the paging queue, paging continues from that progress (C186). For an engine's
 * queue, and for any queue in RESET_ADAPTER, all requests taken from the ring then count as
 * executed, so that the following requests have new numbers (C187, C193).
 */
static void request_count(struct pagoda_vgpu_queue *queue)
{
	queue->reset_seqno = queue->executed;
	queue->reset_offset = queue->offset;
	if (queue->index != VIRTIO_PAGODA_QUEUE_PAGING || READ_ONCE(queue->vgpu->resetting)) {
		queue->executed = queue->given;
		queue->offset = 0;
	}
	queue->given = queue->executed;
}

/*
 * Carries out RESET_QUEUE of @queue, or the queue's part of RESET_ADAPTER: returns all requests to
 * the driver and completes reset_done. For RESET_ADAPTER then waits until the engine is reset. Runs
 * in the queue's thread, between two requests.
 */
void pagoda_vgpu_request_reset(struct pagoda_vgpu_queue *queue)
{
	struct pagoda_vgpu *vgpu = queue->vgpu;
	bool waits = READ_ONCE(vgpu->resetting);
	u32 before = READ_ONCE(vgpu->adapter_resets);

	/* Write back combined writes before any request is returned to the driver. */
	pagoda_engine_write_back(&vgpu->engine,
				 queue->index == VIRTIO_PAGODA_QUEUE_PAGING ? 0 :
				 1 + queue->index - VIRTIO_PAGODA_QUEUE_EXEC0);
	request_return_all(queue);
	request_count(queue);
	queue->halted = false;
	atomic64_inc(&queue->resets);
	WRITE_ONCE(queue->stop, false);
	WRITE_ONCE(queue->reset_wanted, false);
	complete(&queue->reset_done);
	fsleep(pagoda_vgpu_inject_late(queue));
	if (!waits)
		return;
	/*
	 * Wait for the control queue's thread to end RESET_ADAPTER: that thread is stopped before
	 * this thread, so this wait ends. vgpu->resetting may be true again for the next reset and
	 * isn't read. Acquire: pairs with control_reset_adapter(), which resets the engine before
	 * adapter_resets changes.
	 */
	wait_event_idle(queue->wake, smp_load_acquire(&vgpu->adapter_resets) != before);
}

/* Number of checks of a WAIT command's value, the first ones, after which there is no sleep. */
#define PAGODA_IDLE_LOOKS	64
/* Most microseconds of a sleep between two checks; the first sleeps are shorter. */
#define PAGODA_IDLE_MAX_US	200

/* Called between two checks of a WAIT command's value: sleeps, or at first only yields the CPU. */
void pagoda_vgpu_request_idle(void *context, const struct pagoda_engine_run *run)
{
	struct pagoda_vgpu *vgpu = context;
	u32 us = run->looks / 8;

	if (run->looks > PAGODA_IDLE_LOOKS)
		request_sleep(&vgpu->queues[run->queue], min(us, PAGODA_IDLE_MAX_US));
	else
		cond_resched();
}
