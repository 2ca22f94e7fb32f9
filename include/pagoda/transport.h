/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the queue layer needs of whatever carries its buffers to the device:
 * virtio/ in the driver, a fake in the KUnit suites. The paging queue has one, and
 * each engine.
 */
#ifndef PAGODA_TRANSPORT_H
#define PAGODA_TRANSPORT_H

#include <linux/cache.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>

struct pagoda_transport;

/**
 * struct pagoda_fault - struct virtio_pagoda_fault, checked and in CPU order
 * @reason: enum virtio_pagoda_fault_reason, within its range
 * @opcode: Opcode, as the device says
 * @offset: Offset in the buffer, within its size
 * @access: enum virtio_pagoda_access
 * @address: Refused address
 * @level: Page-table level the walk stopped at, as the device says
 * @command: GPU virtual address of the command, 0 for packets, as the device says
 */
struct pagoda_fault {
	u32 reason;
	u32 opcode;
	u32 offset;
	u32 access;
	u64 address;
	u32 level;
	u64 command;
};

/**
 * enum pagoda_outcome - What became of a request
 * @PAGODA_OUTCOME_OK: executed whole
 * @PAGODA_OUTCOME_FAULT: refused at fault.offset, the queue is halted
 * @PAGODA_OUTCOME_ABORTED: given back by a reset
 * @PAGODA_OUTCOME_BAD_ANSWER: the device's completion makes no sense
 */
enum pagoda_outcome {
	PAGODA_OUTCOME_OK,
	PAGODA_OUTCOME_FAULT,
	PAGODA_OUTCOME_ABORTED,
	PAGODA_OUTCOME_BAD_ANSWER,
};

/**
 * struct pagoda_request - A buffer on its way to the device
 * @header: Head the device reads; filled by pagoda_transport_ops.submit
 * @completion: Tail the device writes; parsed by the transport only
 * @seqno: Number on its queue
 * @data: The buffer; kmalloc or page memory, physically contiguous
 * @size: Bytes built
 * @start: Offset to start from
 * @context: Execution context, then @data is a struct virtio_pagoda_execute; or 0
 * @complete: Called once by the transport when the device gave it back; from
 *	interrupt context or with interrupts off, never under a transport lock.
 *	On the way to signalling a fence
 *
 * Owned by the caller until submit, by the transport until @complete. A
 * transport that could not get a request back calls @complete for it when it is
 * taken down and the device can't reach memory any more; that may be long after
 * a failed reset. Aligned so that what the device writes shares no cache line
 * with anything else.
 */
struct pagoda_request {
	struct virtio_pagoda_request header;
	struct virtio_pagoda_completion completion ____cacheline_aligned;
	u64 seqno ____cacheline_aligned;
	void *data;
	u32 size;
	u32 start;
	u64 context;
	void (*complete)(struct pagoda_request *request, enum pagoda_outcome outcome,
			 const struct pagoda_fault *fault);
};

/**
 * struct pagoda_reset_result - How far a queue came
 * @seqno: All requests up to it were executed whole
 * @offset: First packet not executed whole in the next one; paging only
 */
struct pagoda_reset_result {
	u64 seqno;
	u32 offset;
};

/**
 * struct pagoda_command - A control command, struct virtio_pagoda_control in CPU order
 * @type: SET_ROOT, ACQUIRE_RANGE, RELEASE_RANGE or RESET_ADAPTER of enum
 *	virtio_pagoda_control_type
 * @index: Address space or range
 * @address: Root table or surface
 * @size: Entries, bytes, or whether to write back
 * @segment: Of the root table
 * @tiling: ACQUIRE_RANGE: geometry, as in struct virtio_pagoda_layout
 * @pitch: The same
 * @height: The same
 * @mips: The same
 */
struct pagoda_command {
	u32 type;
	u32 index;
	u64 address;
	u64 size;
	u32 segment;
	u32 tiling;
	u32 pitch;
	u32 height;
	u32 mips;
};

/**
 * struct pagoda_transport_ops - Calls down
 * @submit: Puts a request into the ring without telling the device.
 *	0, or -ENOSPC when the ring is full (the caller's credits prevent that),
 *	-ENODEV when the device is gone. Any context, doesn't sleep or allocate
 * @kick: Tells the device that there is work. Any context
 * @poll: Handles completions that are there although no interrupt came; calls
 *	request->complete. Any context but interrupt
 * @reset: Halts the queue, takes back every request (complete is called
 *	for each before it returns) and asks how far it came. 0, -ETIMEDOUT or
 *	-EIO when the device doesn't answer or answers nonsense, -ENODEV.
 *	Sleeps, for seconds if the device doesn't answer; doesn't allocate. The paging
 *	queue goes on with the number behind pagoda_reset_result.seqno, an engine with
 *	the one behind the last it was given
 * @control: Executes a control command, of whatever queue: when it returns 0 the
 *	device has done it. -EINVAL when the device refuses, -ETIMEDOUT, -EIO, -ENODEV.
 *	Sleeps, for as long as @reset, RESET_ADAPTER longer; doesn't allocate. After
 *	RESET_ADAPTER the device has no request of any queue any more; @poll of each
 *	takes back those it had
 * @depth: Requests the ring has room for
 * @doorbells: Doorbells rung so far; for statistics
 */
struct pagoda_transport_ops {
	int (*submit)(struct pagoda_transport *transport, struct pagoda_request *request);
	void (*kick)(struct pagoda_transport *transport);
	void (*poll)(struct pagoda_transport *transport);
	int (*reset)(struct pagoda_transport *transport, struct pagoda_reset_result *result);
	int (*control)(struct pagoda_transport *transport, const struct pagoda_command *command);
	u32 (*depth)(struct pagoda_transport *transport);
	u64 (*doorbells)(struct pagoda_transport *transport);
};

/**
 * struct pagoda_transport - Base of a transport; embedded by its implementation
 * @ops: Its calls
 */
struct pagoda_transport {
	const struct pagoda_transport_ops *ops;
};

#endif
