/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of the software GPU: executes paging buffers on memory it is given.
 *
 * It knows neither virtio nor threads. Its caller copies a buffer out of the
 * reach of whoever wrote it, fills struct pagoda_engine_run and calls
 * pagoda_engine_execute(); every queue may do so at the same time.
 */
#ifndef PAGODA_VGPU_ENGINE_H
#define PAGODA_VGPU_ENGINE_H

#include "shim.h"
#include <linux/virtio_pagoda.h>

/**
 * struct pagoda_engine_range - A range of VRAM that must not be touched
 * @start: First byte
 * @size: Bytes, not zero
 */
struct pagoda_engine_range {
	u64 start;
	u64 size;
};

/**
 * struct pagoda_engine_ops - What the engine asks of its surroundings
 *
 * Called from pagoda_engine_execute(), by several threads at once.
 */
struct pagoda_engine_ops {
	/**
	 * @system_span: Finds the memory behind a bus address. Returns a
	 * pointer good for reading and writing and sets @got to how many of
	 * the @want bytes (not zero) follow there without a gap, at least up
	 * to the end of the page; NULL when the address is not memory. @bus
	 * is below 2^52. What it returned must stay so until the run ends.
	 */
	void *(*system_span)(void *context, u64 bus, u64 want, u64 *got);

	/** @fence: A fence was written whose packet asks for an event. */
	void (*fence)(void *context, u32 queue, u64 seqno, u32 offset,
		      u64 address, u64 value);
};

/**
 * struct pagoda_engine - Memory, limits and counters of a GPU
 *
 * Everything but @aperture's entries, @poison_discarded and the counters is
 * constant while anything executes.
 */
struct pagoda_engine {
	/** @vram: Segment 1, contiguous for the CPU, aligned to 8. */
	u8 *vram;
	/** @vram_size: Its bytes, multiple of the page size. */
	u64 vram_size;
	/** @invalid: Sorted and disjoint parts of VRAM that fault. */
	const struct pagoda_engine_range *invalid;
	/** @nr_invalid: Entries of @invalid. */
	u32 nr_invalid;
	/** @max_runs: Most runs in one packet. */
	u32 max_runs;
	/** @max_buffer: Most bytes in one buffer. */
	u32 max_buffer;
	/** @system_bits: Width of bus addresses, 32 to 52. */
	u32 system_bits;
	/**
	 * @aperture: One word a page, written whole by whoever executes MAP
	 * and UNMAP and read whole by everybody else: no lock.
	 */
	u64 *aperture;
	/** @aperture_pages: Its entries. */
	u64 aperture_pages;
	/** @features: Negotiated feature bits. */
	u64 features;
	/** @poison_discarded: Overwrite what DISCARD_CONTENT gives up. */
	bool poison_discarded;
	/** @ops: Callbacks. */
	const struct pagoda_engine_ops *ops;
	/** @context: Handed to @ops. */
	void *context;
	/** @executed: Packets executed whole, by opcode. */
	atomic64_t executed[VIRTIO_PAGODA_OP_COUNT];
	/** @faults: Packets and buffers refused, by reason. */
	atomic64_t faults[VIRTIO_PAGODA_FAULT_COUNT];
};

/** PAGODA_ENGINE_POISON: What discarded bytes read as under poisoning. */
#define PAGODA_ENGINE_POISON	0xd15ca4d1u

/** enum pagoda_engine_queue - What kind of queue a buffer came from. */
enum pagoda_engine_queue {
	PAGODA_ENGINE_QUEUE_PAGING,
	PAGODA_ENGINE_QUEUE_EXEC,
};

/** enum pagoda_engine_outcome - How a run ended. */
enum pagoda_engine_outcome {
	PAGODA_ENGINE_DONE,	/* every packet was executed */
	PAGODA_ENGINE_FAULT,	/* stopped at a packet, see the fault */
	PAGODA_ENGINE_STOPPED,	/* asked to stop between two packets */
};

/**
 * struct pagoda_engine_fault - Why and where a packet was refused
 * @reason: enum virtio_pagoda_fault_reason
 * @opcode: As found in the packet
 * @offset: Of the packet in the buffer
 * @access: enum virtio_pagoda_access
 * @address: Address or value that was refused
 */
struct pagoda_engine_fault {
	u32 reason;
	u32 opcode;
	u32 offset;
	u32 access;
	u64 address;
};

/** PAGODA_ENGINE_NEVER: No packet, for the packet numbers below. */
#define PAGODA_ENGINE_NEVER	0xffffffffu

/**
 * struct pagoda_engine_run - One buffer and what became of it
 */
struct pagoda_engine_run {
	/** @kind: Decides which opcodes are allowed. */
	enum pagoda_engine_queue kind;
	/** @queue: Virtqueue number, handed on to @fence. */
	u32 queue;
	/** @seqno: Request number, handed on to @fence. */
	u64 seqno;
	/** @buffer: Private copy of the buffer, aligned to 8. */
	const void *buffer;
	/** @size: Its bytes. */
	u32 size;
	/** @start: Offset of the first packet to execute. */
	u32 start;
	/** @stop: Read between packets; true ends the run there. May be NULL. */
	const bool *stop;
	/** @stop_at: Test: stop before this packet of the buffer. */
	u32 stop_at;
	/** @fail_at: Test: this packet of the buffer fails with DEVICE_FAILURE. */
	u32 fail_at;
	/** @fail_middle: Test: it fails after half of its effect. */
	bool fail_middle;

	/**
	 * @spans: Room for max_runs pointers, so that a run is looked up once
	 * rather than when it is checked and when it is used. May be NULL.
	 */
	u8 **spans;

	/** @fault: Out: set when the run faulted, else zero. */
	struct pagoda_engine_fault fault;
	/** @offset: Out: first packet not executed whole; @size when done. */
	u32 offset;
	/** @packets: Out: packets executed whole. */
	u32 packets;
	/** @bytes: Out: bytes copied and filled. */
	u64 bytes;
};

u64 pagoda_engine_features(void);
bool pagoda_engine_init(struct pagoda_engine *engine);
void pagoda_engine_reset(struct pagoda_engine *engine);
void pagoda_engine_run_init(struct pagoda_engine_run *run,
			    enum pagoda_engine_queue kind, u32 queue, u64 seqno);
enum pagoda_engine_outcome pagoda_engine_execute(struct pagoda_engine *engine,
						 struct pagoda_engine_run *run);
bool pagoda_engine_aperture_lookup(const struct pagoda_engine *engine, u64 page,
				   u64 *address, u32 *generation);
const char *pagoda_engine_op_name(u32 opcode);
const char *pagoda_engine_fault_name(u32 reason);

#endif
