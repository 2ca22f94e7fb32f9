/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interface between queue/ and the code that carries buffers to the device: virtio/ in the
 * driver, a fake in the KUnit suites. The paging queue and each engine have their own transport.
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
 * @opcode: Opcode, as reported by the device
 * @offset: Offset in the buffer, within its size
 * @access: enum virtio_pagoda_access
 * @address: Refused address
 * @level: Page-table level at which the walk stopped, as reported by the device
 * @command: GPU virtual address of the command, 0 for packets, as reported by the device
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
 * enum pagoda_outcome - Result of a request
 * @PAGODA_OUTCOME_OK: executed completely
 * @PAGODA_OUTCOME_FAULT: refused at fault.offset, the queue is halted
 * @PAGODA_OUTCOME_ABORTED: given back by a reset
 * @PAGODA_OUTCOME_BAD_ANSWER: the device's completion is invalid
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
 * @seqno: Number of the request on its queue
 * @data: The buffer; kmalloc or page memory, physically contiguous
 * @size: Bytes built
 * @start: Offset in @data of the first byte to execute
 * @context: Execution context, then @data is a struct virtio_pagoda_execute; or 0
 * @complete: Called once by the transport when the device gave the request back; in
 *	interrupt context or with interrupts off, never under a lock of the transport.
 *	On the dma_fence signalling path
 *
 * Owned by the caller until submit, by the transport until @complete. A transport that could not
 * get a request back calls @complete when the transport is taken down and the device can't reach
 * memory any more, which may be long after a failed reset. Members that the device writes share no
 * cache line with other data.
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
 * struct pagoda_reset_result - Progress of a queue at its reset
 * @seqno: All requests up to this number were executed completely
 * @offset: Byte in the request behind @seqno at which the first packet that wasn't executed
 *	completely begins; paging queue only
 */
struct pagoda_reset_result {
	u64 seqno;
	u32 offset;
};

/**
 * struct pagoda_command - A control command, struct virtio_pagoda_control in CPU order
 * @type: SET_ROOT, ACQUIRE_RANGE, RELEASE_RANGE or RESET_ADAPTER of enum
 *	virtio_pagoda_control_type
 * @index: Number of the address space or range
 * @address: Address of the root table or surface
 * @size: Entries of the root table, bytes of the surface, or whether RELEASE_RANGE writes the
 *	range's view back into the surface
 * @segment: Segment of the root table
 * @tiling: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @pitch: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @height: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @mips: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
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
 * struct pagoda_transport_ops - Functions of a transport
 * @submit: Puts a request into the ring without notifying the device.
 *	0, or -ENOSPC when the ring is full (drm_sched's credits prevent that),
 *	-ENODEV when the device is gone. Any context, doesn't sleep or allocate
 * @kick: Notifies the device of new requests. Any context
 * @poll: Handles completions without waiting for an interrupt; calls
 *	request->complete. Any context but interrupt
 * @reset: Halts the queue, takes back every request (request->complete is called for each
 *	request before @reset returns) and asks for the queue's progress. 0, -ETIMEDOUT or
 *	-EIO when the device doesn't answer or its answer is invalid, -ENODEV.
 *	Sleeps, for seconds if the device doesn't answer; doesn't allocate. The paging
 *	queue continues with the number behind pagoda_reset_result.seqno, an engine with
 *	the number behind its last request
 * @control: Executes a control command, which may concern any queue: when 0 is returned the
 *	device has executed the command. -EINVAL when the device refuses, -ETIMEDOUT, -EIO,
 *	-ENODEV. Sleeps, for as long as @reset, RESET_ADAPTER longer; doesn't allocate. After
 *	RESET_ADAPTER the device has no request of any queue any more; @poll of each queue
 *	takes back its requests
 * @depth: Returns the number of requests the ring has room for
 * @doorbells: Returns the number of doorbells rung so far; for statistics
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
 * @ops: Functions
 */
struct pagoda_transport {
	const struct pagoda_transport_ops *ops;
};

#endif
