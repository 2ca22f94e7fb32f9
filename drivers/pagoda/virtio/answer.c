// SPDX-License-Identifier: GPL-2.0
/*
 * Checks of what a working device writes: completions, events, answers to control commands. Each
 * check gets the driver's own copy and the number of bytes that the device claims to have written.
 * Also pagoda_virtio_listen(), for all virtqueues.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/virtio.h>
#include <kunit/static_stub.h>
#include "check.h"
#include "internal.h"

static bool fault_check(const struct virtio_pagoda_fault *raw, struct pagoda_fault *fault)
{
	fault->reason = le32_to_cpu(raw->reason);
	fault->opcode = le32_to_cpu(raw->opcode);
	fault->offset = le32_to_cpu(raw->offset);
	fault->access = le32_to_cpu(raw->access);
	fault->address = le64_to_cpu(raw->address);
	fault->level = le32_to_cpu(raw->level);
	fault->command = le64_to_cpu(raw->command);
	return fault->reason != VIRTIO_PAGODA_FAULT_NONE &&
	       fault->reason < VIRTIO_PAGODA_FAULT_COUNT &&
	       fault->access <= VIRTIO_PAGODA_ACCESS_FETCH &&
	       !(fault->offset % VIRTIO_PAGODA_PACKET_ALIGN);
}

/*
 * Returns whether a completion's count of packets is possible: each packet takes room in a paging
 * buffer, but commands of a context (@request->context isn't 0) may be executed any number of
 * times.
 */
static bool packets_check(u32 packets, const struct pagoda_request *request)
{
	return request->context ||
	       packets <= request->size / sizeof(struct virtio_pagoda_packet);
}

/*
 * Returns whether a fault has @queue and the number and context of @request, and an offset within
 * its buffer (0 if the buffer is empty).
 */
static bool fault_is_of(const struct virtio_pagoda_fault *raw, u32 queue,
			const struct pagoda_request *request)
{
	u32 offset = le32_to_cpu(raw->offset);

	return (offset < request->size || !offset) && le32_to_cpu(raw->queue) == queue &&
	       le64_to_cpu(raw->seqno) == request->seqno &&
	       le64_to_cpu(raw->context) == request->context;
}

/*
 * Checks the driver's copy of a completion, of which the device wrote @len bytes. Returns the
 * outcome, PAGODA_OUTCOME_BAD_ANSWER for an impossible completion. @fault is filled if the outcome
 * is a fault, else zeroed.
 */
enum pagoda_outcome
pagoda_completion_check(const struct virtio_pagoda_completion *completion, u32 len,
			u32 queue, const struct pagoda_request *request,
			struct pagoda_fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	/* Without dirty tracking the device doesn't write the last field, which is 0 then. */
	if ((len != sizeof(*completion) && len != offsetof(typeof(*completion), skipped)) ||
	    le64_to_cpu(completion->seqno) != request->seqno ||
	    !packets_check(le32_to_cpu(completion->packets), request))
		return PAGODA_OUTCOME_BAD_ANSWER;
	switch (le32_to_cpu(completion->status)) {
	case VIRTIO_PAGODA_STATUS_OK:
		return completion->fault.reason ? PAGODA_OUTCOME_BAD_ANSWER :
						  PAGODA_OUTCOME_OK;
	case VIRTIO_PAGODA_STATUS_ABORTED:
		return PAGODA_OUTCOME_ABORTED;
	case VIRTIO_PAGODA_STATUS_FAULT:
		if (fault_check(&completion->fault, fault) &&
		    fault_is_of(&completion->fault, queue, request))
			return PAGODA_OUTCOME_FAULT;
		memset(fault, 0, sizeof(*fault));
		return PAGODA_OUTCOME_BAD_ANSWER;
	default:
		return PAGODA_OUTCOME_BAD_ANSWER;
	}
}

/*
 * Checks and converts the driver's copy of an event, of which the device wrote @len bytes. Returns
 * 0, or -EINVAL for an impossible event.
 */
int pagoda_event_check(const struct virtio_pagoda_event *raw, u32 len,
		       struct pagoda_event *event)
{
	memset(event, 0, sizeof(*event));
	if (len != sizeof(*raw))
		return -EINVAL;
	event->type = le32_to_cpu(raw->type);
	event->lost = le32_to_cpu(raw->lost);
	event->queue = le32_to_cpu(raw->fault.queue);
	event->seqno = le64_to_cpu(raw->fault.seqno);
	event->context = le64_to_cpu(raw->fault.context);
	switch (event->type) {
	case VIRTIO_PAGODA_EVENT_FAULT:
		return fault_check(&raw->fault, &event->fault) ? 0 : -EINVAL;
	case VIRTIO_PAGODA_EVENT_FENCE:
		event->value = le64_to_cpu(raw->value);
		event->fault.address = le64_to_cpu(raw->fault.address);
		return 0;
	case VIRTIO_PAGODA_EVENT_RESET:
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * Checks the driver's copy of the head of a control answer; @len, the bytes that the device wrote,
 * includes the entries behind the head, each of @entry bytes and at most @most. Returns 0, -EINVAL
 * if the device refused the command, or -EPROTO for an impossible answer.
 */
int pagoda_answer_check(const struct virtio_pagoda_answer *answer, u32 len, u32 entry, u32 most)
{
	u32 count = le32_to_cpu(answer->count);

	if (len < sizeof(*answer))
		return -EPROTO;
	switch (le32_to_cpu(answer->status)) {
	case VIRTIO_PAGODA_CONTROL_OK:
		break;
	case VIRTIO_PAGODA_CONTROL_EINVAL:
		return -EINVAL;
	default:
		return -EPROTO;
	}
	if (count > most || len != sizeof(*answer) + count * entry)
		return -EPROTO;
	return 0;
}

/*
 * Switches on the interrupts of a virtqueue in which no used buffer was found. Caller holds the
 * lock that serializes users of @vq. Returns false if a buffer arrived meanwhile, for which there
 * may be no interrupt: the caller looks again. Returns true otherwise, and for a broken device,
 * which sends nothing.
 */
bool pagoda_virtio_listen(struct virtqueue *vq)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_virtio_listen, vq);
	return virtqueue_enable_cb(vq) || virtqueue_is_broken(vq);
}
