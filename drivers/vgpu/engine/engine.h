/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of the software GPU: executes paging buffers, and the commands of programs, on memory
 * that the caller provides.
 *
 * The engine knows neither virtio nor threads. Its caller copies a buffer to memory that the
 * submitter can't write to, fills struct pagoda_engine_run and calls pagoda_engine_execute(); every
 * queue may do so concurrently.
 */
#ifndef PAGODA_VGPU_ENGINE_H
#define PAGODA_VGPU_ENGINE_H

#include "shim.h"
#include <linux/virtio_pagoda.h>

/**
 * struct pagoda_engine_range - A range of VRAM that must not be accessed
 * @start: Offset of the first byte
 * @size: Bytes, not zero
 */
struct pagoda_engine_range {
	u64 start;
	u64 size;
};

struct pagoda_engine_run;

/**
 * struct pagoda_engine_ops - Callbacks of the engine to its environment
 *
 * Called from pagoda_engine_execute(), by several threads concurrently.
 */
struct pagoda_engine_ops {
	/**
	 * @system_span: Finds the memory behind a bus address. Returns a pointer for reading
	 * and writing and sets @got to the contiguous bytes there, as many as possible of the
	 * @want bytes (not zero), at least up to the end of the page; NULL when the address
	 * is not memory. @bus is below 2^52. The pointer must stay valid until the run ends,
	 * with %VIRTIO_PAGODA_F_WRITE_COMBINER until the lines written through it are
	 * drained; then the pointer is also as aligned as @bus is, up to a line.
	 */
	void *(*system_span)(void *context, u64 bus, u64 want, u64 *got);

	/**
	 * @fence: A packet or command that asks for an event wrote to a fence. @run->offset,
	 * @run->fault.opcode and @run->fault.command identify the packet or command.
	 */
	void (*fence)(void *context, const struct pagoda_engine_run *run, u64 address,
		      u64 value);

	/**
	 * @idle: @run can't continue until another queue or the CPU writes to memory;
	 * @run->looks is the number of checks so far. May sleep, preferably not for long, and
	 * not when @run->stop is set. No lock of the engine is held. NULL: the engine checks
	 * again at once.
	 */
	void (*idle)(void *context, const struct pagoda_engine_run *run);

	/**
	 * @notify: A notice (NOTIFY_RESIDENCY, NOTIFY_RESIDENCY2, NOTIFY_ALLOC,
	 * NOTIFY_FENCE_RESIDENCY, or an UPDATE_PAGE_TABLE with a note) was executed. May be
	 * NULL.
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
 * struct pagoda_engine_tlb_entry - A cached translation
 * @tag: Address space and first address, in a format private to tlb.c; 0 = empty
 * @entry: Page-table entry of the translation, 0 = known to be invalid
 * @size: Bytes the entry covers
 */
struct pagoda_engine_tlb_entry {
	u64 tag;
	u64 entry;
	u64 size;
};

/**
 * struct pagoda_engine_tlb - Translations cached by one queue
 *
 * Used by the queue's thread with @translation held for reading; emptied with @translation held for
 * writing.
 */
struct pagoda_engine_tlb {
	/** @sizes: Bit n set: there may be an entry of 2^n bytes. */
	u64 sizes;
	/** @entries: Direct mapped. */
	struct pagoda_engine_tlb_entry entries[PAGODA_ENGINE_TLB_ENTRIES];
};

/** PAGODA_ENGINE_LINE_BYTES: bytes of a line of a write combiner, a power of two. */
#define PAGODA_ENGINE_LINE_BYTES	64
/** PAGODA_ENGINE_LINES: lines of each queue's write combiner. */
#define PAGODA_ENGINE_LINES		4
/**
 * PAGODA_ENGINE_COMBINERS: write combiners: one of the paging queue, one of each possible engine.
 */
#define PAGODA_ENGINE_COMBINERS		(1 + VIRTIO_PAGODA_MAX_ENGINES)

/**
 * struct pagoda_engine_line - Memory that a queue wrote to and that isn't completely written back
 * @here: The memory, aligned to the size of a line; NULL = the line is free
 * @loaded: @found is recent; else the line is loaded again before the queue writes to it
 * @now: Content as the queue wrote it
 * @found: Content when the line was loaded or last written back
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
 * @next: Counter that selects the next line to be replaced
 * @lines: The lines
 *
 * The paging queue's combiner is used by the queue's thread only. An engine's combiner is used by
 * the engine's thread with @translation held for reading, and drained with @translation held for
 * writing.
 */
struct pagoda_engine_combiner {
	bool used;
	u32 next;
	struct pagoda_engine_line lines[PAGODA_ENGINE_LINES];
};

/**
 * struct pagoda_engine_swizzling - A swizzling range
 * @window: Linear window of the range, @swizzling_bytes of the engine
 * @address: Offset of the surface in VRAM
 * @size: Bytes of the surface, 0 = the range is not bound
 * @layout: Layout of the surface
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
 * Members are constant while the engine executes, except for those with a lock, the entries of
 * @aperture, @poison_discarded and the counters.
 */
struct pagoda_engine {
	/** @vram: Segment 1, contiguous for the CPU, aligned to 8. */
	u8 *vram;
	/** @vram_size: Bytes of @vram, multiple of the page size. */
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
	 * @aperture: One word per page. MAP and UNMAP write each word with a single store, and all
	 * other users read it with a single load: no lock.
	 */
	u64 *aperture;
	/** @aperture_pages: Entries of @aperture. */
	u64 aperture_pages;
	/** @aperture_snoops: Pages that are mapped as CACHE_COHERENT; NULL = all of them. */
	bool *aperture_snoops;
	/**
	 * @mmu: Device MMU: one word per device page, as in @aperture; NULL if there is none.
	 * Unused unless %VIRTIO_PAGODA_F_DEVICE_MMU was negotiated. UNMAP_MMU holds @translation
	 * for writing, so that no access in progress uses an old page when UNMAP_MMU is complete.
	 */
	u64 *mmu;
	/** @mmu_pages: Entries of @mmu. */
	u64 mmu_pages;
	/** @spaces: Address spaces, 0 belongs to the paging process; NULL = none. */
	struct pagoda_engine_space *spaces;
	/** @nr_spaces: Entries of @spaces. */
	u32 nr_spaces;
	/** @va_bits: Width of virtual addresses. */
	u32 va_bits;
	/** @pt_levels: Levels of page tables. */
	u32 pt_levels;
	/** @page_sizes: Bit n set: pages of 2^n bytes. */
	u32 page_sizes;
	/** @tlbs: A TLB for each queue that executes; NULL = translations aren't cached. */
	struct pagoda_engine_tlb *tlbs;
	/** @nr_tlbs: Entries of @tlbs. */
	u32 nr_tlbs;
	/**
	 * @combiners: The write combiner of each queue, indexed like @tlbs; unused unless
	 * %VIRTIO_PAGODA_F_WRITE_COMBINER was negotiated.
	 */
	struct pagoda_engine_combiner combiners[PAGODA_ENGINE_COMBINERS];
	/**
	 * @translation: Held for reading by a packet that translates addresses, while the packet is
	 * checked and executed; held for writing by FLUSH_TLB, MAP_MMU, UNMAP_MMU and SET_ROOT,
	 * which so wait for accesses with old translations (C103, C121). Taken before
	 * @swizzling_lock.
	 */
	struct pagoda_shim_rwlock translation;
	/**
	 * @changes: Number of times that @translation was held for writing; protected by
	 * @translation.
	 */
	u64 changes;
	/** @ranges: Swizzling ranges. */
	struct pagoda_engine_swizzling *ranges;
	/** @nr_ranges: Entries of @ranges. */
	u32 nr_ranges;
	/** @swizzling_bytes: Bytes of each window. */
	u64 swizzling_bytes;
	/** @swizzling_lock: Held for reading to use @ranges, for writing to bind them. */
	struct pagoda_shim_rwlock swizzling_lock;
	/** @features: Negotiated feature bits. */
	u64 features;
	/** @poison_discarded: Overwrite the memory that DISCARD_CONTENT gives up. */
	bool poison_discarded;
	/** @ops: Callbacks. */
	const struct pagoda_engine_ops *ops;
	/** @context: First argument of @ops. */
	void *context;
	/** @executed: Packets executed completely, by opcode. */
	atomic64_t executed[VIRTIO_PAGODA_OP_COUNT];
	/** @commands: Commands executed completely, by opcode; counted when their job ends. */
	atomic64_t commands[VIRTIO_PAGODA_COMMAND_COUNT];
	/** @faults: Packets and buffers refused, by reason. */
	atomic64_t faults[VIRTIO_PAGODA_FAULT_COUNT];
};

/** PAGODA_ENGINE_POISON: Content of discarded memory while poisoning is on. */
#define PAGODA_ENGINE_POISON	0xd15ca4d1u

/** enum pagoda_engine_vram - Content of VRAM after pagoda_engine_reset_adapter(). */
enum pagoda_engine_vram {
	PAGODA_ENGINE_VRAM_POISON,	/* everywhere %PAGODA_ENGINE_POISON */
	PAGODA_ENGINE_VRAM_ZERO,
	PAGODA_ENGINE_VRAM_KEEP,	/* content before the reset */
};

/** enum pagoda_engine_queue - Kind of the queue that a buffer came from. */
enum pagoda_engine_queue {
	PAGODA_ENGINE_QUEUE_PAGING,
	PAGODA_ENGINE_QUEUE_EXEC,
};

/** enum pagoda_engine_outcome - How a run ended. */
enum pagoda_engine_outcome {
	PAGODA_ENGINE_DONE,	/* all packets were executed */
	PAGODA_ENGINE_FAULT,	/* stopped at a packet or command, see the fault */
	PAGODA_ENGINE_STOPPED,	/* stopped on request, before the end */
};

/**
 * struct pagoda_engine_page - Translation of an address
 * @segment: Segment id
 * @level: Level of the entry, or of the entry at fault
 * @address: Address of the byte within the segment
 * @flags: VIRTIO_PAGODA_PTE_* bits of the entry
 */
struct pagoda_engine_page {
	u32 segment;
	u32 level;
	u64 address;
	u64 flags;
};

/**
 * struct pagoda_engine_fault - Reason why a packet or command was refused, and its coordinates
 * @reason: enum virtio_pagoda_fault_reason
 * @opcode: Opcode as found in the packet or command
 * @offset: Offset of the packet in the buffer, or of the entry that leads to the commands
 *	being executed
 * @access: enum virtio_pagoda_access
 * @address: Address or value that was refused; the virtual address if there is one
 * @level: Page-table level that a walk stopped at
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

/** PAGODA_ENGINE_NEVER: No packet, as a value of @stop_at and @fail_at. */
#define PAGODA_ENGINE_NEVER	0xffffffffu

/**
 * struct pagoda_engine_run - One buffer and the result of its execution
 *
 * Packets are those of the buffer, or with @context the commands that the buffer leads to.
 */
struct pagoda_engine_run {
	/** @kind: Decides which opcodes are allowed. */
	enum pagoda_engine_queue kind;
	/** @queue: Virtqueue number, passed to @fence. */
	u32 queue;
	/**
	 * @tlb: Index of the TLB and the write combiner to use: 0 for the paging queue, i + 1 for
	 * engine i.
	 */
	u32 tlb;
	/** @seqno: Request number, passed to @fence. */
	u64 seqno;
	/**
	 * @context: Execution context. If @context isn't 0, and %VIRTIO_PAGODA_F_EXECUTE was
	 * negotiated, the buffer of an execution queue is a struct virtio_pagoda_execute.
	 */
	u64 context;
	/** @buffer: Private copy of the buffer, aligned to 8. */
	const void *buffer;
	/** @size: Bytes of @buffer. */
	u32 size;
	/** @start: Offset of the first packet to execute. */
	u32 start;
	/**
	 * @stop: Read between packets; true ends the run there. Commands, and packets of an
	 * execution queue, also end in the middle. May be NULL.
	 */
	const bool *stop;
	/** @stop_at: Test: stop before this packet of the buffer. */
	u32 stop_at;
	/** @fail_at: Test: this packet of the buffer fails with DEVICE_FAILURE. */
	u32 fail_at;
	/** @fail_middle: Test: the packet fails after half of its effect. */
	bool fail_middle;

	/**
	 * @spans: Room for max_runs pointers, so that a run, or a span of a virtual range, is
	 * looked up once rather than both when it is checked and when it is used. May be NULL.
	 */
	u8 **spans;

	/** @fault: Out: set when the run faulted, else zero. */
	struct pagoda_engine_fault fault;
	/** @offset: Out: offset of the first packet not executed completely; @size when done. */
	u32 offset;
	/** @packets: Out: packets executed completely. */
	u32 packets;
	/** @bytes: Out: bytes copied and filled; by commands, read or written. */
	u64 bytes;
	/** @looks: Number of times that the current command has checked the value it waits for. */
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
