/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of the software GPU: executes paging buffers, and the commands of programs,
 * on memory it is given.
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

struct pagoda_engine_run;

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
	 * is below 2^52. What it returned must stay so until the run ends, with
	 * %VIRTIO_PAGODA_F_WRITE_COMBINER until the lines written through it are drained;
	 * then it is also as aligned as @bus is, up to a line.
	 */
	void *(*system_span)(void *context, u64 bus, u64 want, u64 *got);

	/**
	 * @fence: A fence was written whose packet or command asks for an event: the
	 * one whose opcode and place are @run->offset, @run->fault.opcode and .command.
	 */
	void (*fence)(void *context, const struct pagoda_engine_run *run, u64 address,
		      u64 value);

	/**
	 * @idle: @run can't go on until somebody else writes to memory; it has looked
	 * @run->looks times. May sleep, better not for long, and not when @run->stop is
	 * set. No lock of the engine is held. NULL: it looks again at once.
	 */
	void (*idle)(void *context, const struct pagoda_engine_run *run);

	/**
	 * @notify: A notice (NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2, NOTIFY_ALLOC,
	 * NOTIFY_FENCE_RESIDENCY, or an UPDATE_PAGE_TABLE with a note) was executed.
	 * May be NULL.
	 */
	void (*notify)(void *context, const struct virtio_pagoda_packet *packet);
};

/**
 * struct pagoda_engine_space - Root page table of an address space
 * @address: Offset in the segment, or bus (device) address
 * @entries: Entries, 0 = the space has no root
 * @segment: VRAM or SYSTEM
 *
 * Changed with @translation held for writing.
 */
struct pagoda_engine_space {
	u64 address;
	u64 entries;
	u32 segment;
};

/** PAGODA_ENGINE_TLB_ENTRIES: translations a TLB holds; a power of two. */
#define PAGODA_ENGINE_TLB_ENTRIES	1024

/**
 * struct pagoda_engine_tlb_entry - A translation kept
 * @tag: Address space and first address, in a form of tlb.c's own; 0 = empty
 * @entry: The page-table entry it comes from, 0 = invalid and known to be
 * @size: Bytes the entry covers
 */
struct pagoda_engine_tlb_entry {
	u64 tag;
	u64 entry;
	u64 size;
};

/**
 * struct pagoda_engine_tlb - Translations one queue keeps
 *
 * Used by that queue's thread with @translation held for reading, emptied by
 * whoever holds it for writing.
 */
struct pagoda_engine_tlb {
	/** @sizes: Bit n set: an entry of 2^n bytes may be there. */
	u64 sizes;
	/** @entries: Direct mapped. */
	struct pagoda_engine_tlb_entry entries[PAGODA_ENGINE_TLB_ENTRIES];
};

/** PAGODA_ENGINE_LINE_BYTES: bytes of a line of a write combiner, a power of two. */
#define PAGODA_ENGINE_LINE_BYTES	64
/** PAGODA_ENGINE_LINES: lines of each queue's write combiner. */
#define PAGODA_ENGINE_LINES		4
/** PAGODA_ENGINE_COMBINERS: one for the paging queue, one for each engine there can be. */
#define PAGODA_ENGINE_COMBINERS		(1 + VIRTIO_PAGODA_MAX_ENGINES)

/**
 * struct pagoda_engine_line - Memory that a queue wrote and that isn't all written back
 * @here: The memory, aligned to its size; NULL = the line is free
 * @loaded: @found is recent; else it is loaded anew before the queue writes again
 * @now: What it shall be
 * @found: What was there, or was written back since
 */
struct pagoda_engine_line {
	u8 *here;
	bool loaded;
	__le64 now[PAGODA_ENGINE_LINE_BYTES / 8];
	__le64 found[PAGODA_ENGINE_LINE_BYTES / 8];
};

/**
 * struct pagoda_engine_combiner - Writes of one queue to memory that isn't snooped
 * @used: Not all of @lines are free
 * @next: Line that makes room next, counted on
 * @lines: The lines
 *
 * The paging queue's is its thread's. An engine's is used by its thread with
 * @translation held for reading, and drained by what holds that for writing.
 */
struct pagoda_engine_combiner {
	bool used;
	u32 next;
	struct pagoda_engine_line lines[PAGODA_ENGINE_LINES];
};

/**
 * struct pagoda_engine_swizzling - A swizzling range
 * @window: Its linear window, @swizzling_bytes of the engine
 * @address: Surface in VRAM
 * @size: Its bytes, 0 = not bound
 * @layout: Its geometry
 *
 * Changed with @swizzling_lock held for writing.
 */
struct pagoda_engine_swizzling {
	u8 *window;
	u64 address;
	u64 size;
	struct virtio_pagoda_layout layout;
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
	/** @aperture_snoops: Pages that are mapped as CACHE_COHERENT; NULL = all of them. */
	bool *aperture_snoops;
	/**
	 * @mmu: Device MMU: one word a device page, as in @aperture; NULL if there is
	 * none. Unused unless %VIRTIO_PAGODA_F_DEVICE_MMU was negotiated. UNMAP_MMU takes
	 * @translation for writing, so that no access that is under way uses an old page
	 * when it is complete.
	 */
	u64 *mmu;
	/** @mmu_pages: Its entries. */
	u64 mmu_pages;
	/** @spaces: Address spaces, 0 is the paging process'; NULL = none. */
	struct pagoda_engine_space *spaces;
	/** @nr_spaces: Its entries. */
	u32 nr_spaces;
	/** @va_bits: Width of virtual addresses. */
	u32 va_bits;
	/** @pt_levels: Levels of page tables. */
	u32 pt_levels;
	/** @page_sizes: Bit n set: pages of 2^n bytes. */
	u32 page_sizes;
	/** @tlbs: A TLB for each queue that executes; NULL = nothing is cached. */
	struct pagoda_engine_tlb *tlbs;
	/** @nr_tlbs: Its entries. */
	u32 nr_tlbs;
	/**
	 * @combiners: The write combiner of each queue, numbered as @tlbs are; unused unless
	 * %VIRTIO_PAGODA_F_WRITE_COMBINER was negotiated.
	 */
	struct pagoda_engine_combiner combiners[PAGODA_ENGINE_COMBINERS];
	/**
	 * @translation: Held by a packet that translates addresses, for reading and as
	 * long as it is checked and executed; for writing by FLUSH_TLB, MAP_MMU,
	 * UNMAP_MMU and SET_ROOT, which so wait for accesses with old translations
	 * (C103, C121). Taken before @swizzling_lock.
	 */
	struct pagoda_shim_rwlock translation;
	/** @changes: How often @translation was taken for writing; changed with it. */
	u64 changes;
	/** @ranges: Swizzling ranges. */
	struct pagoda_engine_swizzling *ranges;
	/** @nr_ranges: Its entries. */
	u32 nr_ranges;
	/** @swizzling_bytes: Bytes of each window. */
	u64 swizzling_bytes;
	/** @swizzling_lock: For what uses (reading) and binds (writing) @ranges. */
	struct pagoda_shim_rwlock swizzling_lock;
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
	/** @commands: The same of commands, counted when their job ends. */
	atomic64_t commands[VIRTIO_PAGODA_COMMAND_COUNT];
	/** @faults: Packets and buffers refused, by reason. */
	atomic64_t faults[VIRTIO_PAGODA_FAULT_COUNT];
};

/** PAGODA_ENGINE_POISON: What discarded bytes read as under poisoning. */
#define PAGODA_ENGINE_POISON	0xd15ca4d1u

/** enum pagoda_engine_vram - What VRAM holds after pagoda_engine_reset_adapter(). */
enum pagoda_engine_vram {
	PAGODA_ENGINE_VRAM_POISON,	/* %PAGODA_ENGINE_POISON all over */
	PAGODA_ENGINE_VRAM_ZERO,
	PAGODA_ENGINE_VRAM_KEEP,	/* what it held before */
};

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
 * struct pagoda_engine_page - What an address is mapped to
 * @segment: Segment id
 * @level: Of the entry, or of the one that is at fault
 * @address: Of the byte within the segment
 * @flags: VIRTIO_PAGODA_PTE_ bits of the entry
 */
struct pagoda_engine_page {
	u32 segment;
	u32 level;
	u64 address;
	u64 flags;
};

/**
 * struct pagoda_engine_fault - Why and where a packet or command was refused
 * @reason: enum virtio_pagoda_fault_reason
 * @opcode: As found in the packet or command
 * @offset: Of the packet in the buffer, or of the entry whose commands were executed
 * @access: enum virtio_pagoda_access
 * @address: Address or value that was refused; the virtual one if there is one
 * @level: Page-table level a walk stopped at
 * @command: Virtual address of the command, 0 for packets
 */
struct pagoda_engine_fault {
	u32 reason;
	u32 opcode;
	u32 offset;
	u32 access;
	u64 address;
	u32 level;
	u64 command;
};

/** PAGODA_ENGINE_NEVER: No packet, for the packet numbers below. */
#define PAGODA_ENGINE_NEVER	0xffffffffu

/**
 * struct pagoda_engine_run - One buffer and what became of it
 *
 * Packets are those of the buffer, or with @context the commands it leads to.
 */
struct pagoda_engine_run {
	/** @kind: Decides which opcodes are allowed. */
	enum pagoda_engine_queue kind;
	/** @queue: Virtqueue number, handed on to @fence. */
	u32 queue;
	/**
	 * @tlb: Number of the TLB and the write combiner to use; the paging queue's is 0,
	 * engine i's i + 1.
	 */
	u32 tlb;
	/** @seqno: Request number, handed on to @fence. */
	u64 seqno;
	/**
	 * @context: Execution context. If it isn't 0, and %VIRTIO_PAGODA_F_EXECUTE was
	 * negotiated, the buffer of an execution queue is a struct virtio_pagoda_execute.
	 */
	u64 context;
	/** @buffer: Private copy of the buffer, aligned to 8. */
	const void *buffer;
	/** @size: Its bytes. */
	u32 size;
	/** @start: Offset of the first packet to execute. */
	u32 start;
	/**
	 * @stop: Read between packets; true ends the run there. Commands and what an
	 * execution queue has of packets also end in the middle. May be NULL.
	 */
	const bool *stop;
	/** @stop_at: Test: stop before this packet of the buffer. */
	u32 stop_at;
	/** @fail_at: Test: this packet of the buffer fails with DEVICE_FAILURE. */
	u32 fail_at;
	/** @fail_middle: Test: it fails after half of its effect. */
	bool fail_middle;

	/**
	 * @spans: Room for max_runs pointers, so that a run, or a span of a virtual
	 * range, is looked up once rather than when it is checked and when it is
	 * used. May be NULL.
	 */
	u8 **spans;

	/** @fault: Out: set when the run faulted, else zero. */
	struct pagoda_engine_fault fault;
	/** @offset: Out: first packet not executed whole; @size when done. */
	u32 offset;
	/** @packets: Out: packets executed whole. */
	u32 packets;
	/** @bytes: Out: bytes copied and filled; by commands, read or written. */
	u64 bytes;
	/** @looks: Times the command at hand has looked for what it waits for. */
	u32 looks;
};

u64 pagoda_engine_features(void);
bool pagoda_engine_init(struct pagoda_engine *engine);
void pagoda_engine_reset(struct pagoda_engine *engine);
void pagoda_engine_reset_adapter(struct pagoda_engine *engine, enum pagoda_engine_vram vram);
void pagoda_engine_write_back(struct pagoda_engine *engine, u32 number);
bool pagoda_engine_holds_writes(const struct pagoda_engine *engine, u32 number);
void pagoda_engine_run_init(struct pagoda_engine_run *run,
			    enum pagoda_engine_queue kind, u32 queue, u64 seqno);
enum pagoda_engine_outcome pagoda_engine_execute(struct pagoda_engine *engine,
						 struct pagoda_engine_run *run);
u32 pagoda_engine_root_set(struct pagoda_engine *engine, u32 space, u32 segment,
			   u64 address, u64 entries);
u32 pagoda_engine_range_acquire(struct pagoda_engine *engine, u32 range, u64 address,
				u64 size, const struct virtio_pagoda_layout *layout);
u32 pagoda_engine_range_release(struct pagoda_engine *engine, u32 range, bool write_back);
bool pagoda_engine_mmu_lookup(const struct pagoda_engine *engine, u64 page, u64 *address,
			      bool *read_only);
bool pagoda_engine_aperture_lookup(const struct pagoda_engine *engine, u64 page,
				   u64 *address, u32 *generation);
const char *pagoda_engine_op_name(u32 opcode);
const char *pagoda_engine_command_name(u32 opcode);
const char *pagoda_engine_fault_name(u32 reason);
u32 pagoda_engine_lookup(struct pagoda_engine *engine, u32 space, u64 va,
			 struct pagoda_engine_page *page);

#endif
