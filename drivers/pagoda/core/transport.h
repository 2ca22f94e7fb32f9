/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transport: the interface by which queue/ sends buffers, and control.c control commands, to the
 * device. virtio/ implements a transport for the driver, KUnit suites have a fake. The paging queue
 * and each engine have a transport of their own.
 */
#ifndef PAGODA_TRANSPORT_H
#define PAGODA_TRANSPORT_H

#include <linux/cache.h>
#include <linux/types.h>
#include <linux/virtio_pagoda.h>

struct pagoda_transport;

/**
 * struct pagoda_fault - struct virtio_pagoda_fault, checked and in CPU order
 * @reason: enum virtio_pagoda_fault_reason, a known value
 * @opcode: Opcode of the packet or command, as reported by the device, unchecked
 * @offset: Offset of the packet in the buffer: less than the buffer's size, 0 in an empty buffer;
 *	in an event not compared with that size
 * @access: enum virtio_pagoda_access
 * @address: Address or field value that was refused
 * @level: Page-table level at which the walk stopped, as reported by the device, unchecked
 * @command: GPU virtual address of the command, 0 for packets, as reported by the device, unchecked
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
 * @PAGODA_OUTCOME_OK: the device executed the request completely
 * @PAGODA_OUTCOME_FAULT: the device refused the packet or command that struct pagoda_fault names,
 *	and halted the queue
 * @PAGODA_OUTCOME_ABORTED: the request came back because of a reset, or of the device's removal or
 *	loss of power; the request may have been executed
 * @PAGODA_OUTCOME_BAD_ANSWER: the completion that the device wrote is invalid
 */
enum pagoda_outcome {
	PAGODA_OUTCOME_OK,
	PAGODA_OUTCOME_FAULT,
	PAGODA_OUTCOME_ABORTED,
	PAGODA_OUTCOME_BAD_ANSWER,
};

/**
 * struct pagoda_request - A buffer on its way to the device
 * @header: Head that the device reads; filled by &pagoda_transport_ops.submit
 * @completion: Tail that the device writes; parsed by the transport only
 * @seqno: Number of the request on its queue
 * @data: The buffer; kmalloc or page memory, physically contiguous
 * @size: Bytes of @data that were built
 * @start: Offset in @data of the first byte to execute
 * @skipped: Out: bytes that the device says it didn't copy, because they weren't written; set
 *	before @complete, 0 unless the outcome is %PAGODA_OUTCOME_OK. The transport doesn't check
 *	that @skipped is at most what the request moves
 * @context: Execution context if @data is a struct virtio_pagoda_execute; 0 if @data has packets
 * @complete: Called by the transport once for each successful submit, when the device gave the
 *	request back, or can't any more; in any context, also with interrupts off, never under a
 *	lock of the transport. In the dma_fence signalling path
 *
 * A request belongs to the caller of &pagoda_transport_ops.submit before that call, and to the
 * transport from then on until @complete is called. If the device keeps a request in spite of a
 * reset, the transport calls @complete when the transport is taken down and the device can't reach
 * memory any more, which may be long after the reset. Members that the device writes share no cache
 * line with other data.
 */
struct pagoda_request {
	struct virtio_pagoda_request header;
	struct virtio_pagoda_completion completion ____cacheline_aligned;
	u64 seqno ____cacheline_aligned;
	void *data;
	u32 size;
	u32 start;
	u64 context;
	u64 skipped;
	void (*complete)(struct pagoda_request *request, enum pagoda_outcome outcome,
			 const struct pagoda_fault *fault);
};

/**
 * struct pagoda_reset_result - Progress of a queue at its reset
 * @seqno: Number of the last request that was executed completely; requests before were executed
 *	completely, or an earlier reset counted them as executed
 * @offset: Paging queue: offset, in the request with number @seqno + 1, of the first packet that
 *	wasn't executed completely
 */
struct pagoda_reset_result {
	u64 seqno;
	u32 offset;
};

/**
 * struct pagoda_command - A control command, struct virtio_pagoda_control in CPU order
 * @type: SET_ROOT, ACQUIRE_RANGE, RELEASE_RANGE, RESET_ADAPTER, START_DIRTY, STOP_DIRTY or
 *	QUERY_DIRTY of enum virtio_pagoda_control_type
 * @index: SET_ROOT: number of the address space. ACQUIRE_RANGE, RELEASE_RANGE: number of the
 *	swizzling range. START_DIRTY, STOP_DIRTY, QUERY_DIRTY: number of the tracker
 * @address: SET_ROOT: address of the root table. ACQUIRE_RANGE: offset of the surface in VRAM.
 *	START_DIRTY, QUERY_DIRTY: offset of the range in VRAM
 * @size: SET_ROOT: entries of the root table. ACQUIRE_RANGE: bytes of the surface. RELEASE_RANGE:
 *	1 = write the range's view back into the surface, 0 = drop the view. START_DIRTY,
 *	QUERY_DIRTY: bytes of the range
 * @segment: SET_ROOT: segment of the root table
 * @tiling: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @pitch: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @height: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @mips: ACQUIRE_RANGE: as in struct virtio_pagoda_layout
 * @words: QUERY_DIRTY: receives a bit for each page of the range; else NULL
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
	u64 *words;
};

/**
 * struct pagoda_transport_ops - Functions of a transport
 * @submit: Puts a request into the ring without notifying the device. Returns 0, -ENOSPC if the
 *	ring is full (drm_sched's credits prevent that), or -ENODEV if the device is gone or has no
 *	power. Any context, doesn't sleep or allocate
 * @kick: Notifies the device of new requests. Any context
 * @poll: Handles completions without waiting for an interrupt; calls &pagoda_request.complete. Any
 *	context but interrupt
 * @reset: Halts the queue, takes back every request (&pagoda_request.complete of each is called
 *	before @reset returns 0) and gets the queue's progress. Returns 0, -ETIMEDOUT if the device
 *	doesn't answer, -EIO if the device refuses, gives an invalid answer or keeps a request, or
 *	-ENODEV. Sleeps, for seconds if the device doesn't answer; doesn't allocate. The next
 *	request of the paging queue has the number behind &pagoda_reset_result.seqno, that of an
 *	engine the number behind its last request
 * @control: Has the device execute a control command, which may concern any queue. Returns 0 when
 *	the device has executed the command, -EINVAL if the device refuses, -ETIMEDOUT, -EIO if the
 *	answer is invalid, or -ENODEV. Sleeps for as long as @reset, for RESET_ADAPTER longer;
 *	doesn't allocate. After RESET_ADAPTER the device has no request of any queue any more;
 *	@poll of each queue takes back the queue's requests
 * @depth: Returns the number of requests that an empty ring has room for
 * @doorbells: Returns the number of notifications sent to the device so far; for statistics
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
 * struct pagoda_transport - A transport; embedded in the struct of its implementation
 * @ops: Functions of the implementation
 */
struct pagoda_transport {
	const struct pagoda_transport_ops *ops;
};

#endif
