/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine of the software GPU: executes paging buffers, and the commands of programs, on memory
 * that the engine's caller provides.
 *
 * The engine knows neither virtio nor threads. Its caller copies a buffer to memory that the
 * submitter of the buffer can't write to, fills struct pagoda_engine_run and calls
 * pagoda_engine_execute(), for several queues concurrently if there are several. Other functions
 * initialize and reset the engine, set root page tables, bind swizzling ranges, write back write
 * combiners, start, stop and query dirty trackers, look translations up, and name opcodes and
 * faults.
 */
#ifndef PAGODA_VGPU_ENGINE_H
#define PAGODA_VGPU_ENGINE_H

#include "shim.h"
#include <linux/virtio_pagoda.h>

/**
 * struct pagoda_engine_range - Range of VRAM that must not be accessed, or that a dirty tracker
 * tracks
 * @start: Offset of the first byte
 * @size: Bytes; 0 only for a tracker that isn't started
 */
struct pagoda_engine_range {
	u64 start;
	u64 size;
};

struct pagoda_engine_run;

/**
 * struct pagoda_engine_ops - Callbacks of the engine to its environment
 *
 * Called from pagoda_engine_execute() and pagoda_engine_lookup(), by several threads concurrently.
 */
struct pagoda_engine_ops {
	/**
	 * @system_span: Returns the memory at bus address @bus (below 2^52), for reading and
	 * writing, or NULL if no memory is there. *@got receives how many bytes are contiguous: at
	 * least up to the end of the page, as many of @want (not 0) as possible, and perhaps more.
	 * The pointer is as aligned as @bus, up to 8 bytes, so that values of fences and page-table
	 * entries can be accessed by a single load or store. The pointer stays valid until the call
	 * of pagoda_engine_execute() or pagoda_engine_lookup() returns. With F_WRITE_COMBINER the
	 * pointer stays valid until the combiners' lines of this memory are written back, too, and
	 * is as aligned as @bus, up to the size of a line. The callback isn't NULL.
	 */
	void *(*system_span)(void *context, u64 bus, u64 want, u64 *got);

	/**
	 * @fence: A packet or command that asks for an event signalled the fence at @address, which
	 * is the address in the packet or command, with @value. Nothing was stored if FORWARD is
	 * set and the fence's value wasn't smaller, or if the fence is in a page of zeros.
	 * @run->offset, @run->fault.opcode and @run->fault.command identify the packet or command.
	 * The callback isn't NULL.
	 */
	void (*fence)(void *context, const struct pagoda_engine_run *run, u64 address,
		      u64 value);

	/**
	 * @idle: A WAIT command of @run has found the awaited value too small @run->looks times,
	 * and checks again after the callback, which may sleep briefly, but not while *@run->stop
	 * is true. The engine holds no lock. NULL: the engine only yields the CPU between checks.
	 */
	void (*idle)(void *context, const struct pagoda_engine_run *run);

	/**
	 * @notify: @packet was executed: a NOTIFY_* operation, or an UPDATE_PAGE_TABLE with
	 * UPDATE_INITIAL or UPDATE_NOTIFY_EVICTION. May be NULL.
	 */
	void (*notify)(void *context, const struct virtio_pagoda_packet *packet);
};

/**
 * struct pagoda_engine_space - Root page table of an address space
 * @address: Offset in VRAM, or address in system memory: a device address if the device MMU is on,
 *	else a bus address
 * @entries: Entries of the root table, 0 = the space has no root
 * @segment: Segment of the root table: VRAM or SYSTEM
 *
 * Changed with &pagoda_engine.translation held for writing.
 */
struct pagoda_engine_space {
	u64 address;
	u64 entries;
	u32 segment;
};

/** PAGODA_ENGINE_TLB_ENTRIES: most translations that a TLB holds; a power of two. */
#define PAGODA_ENGINE_TLB_ENTRIES	1024

/**
 * struct pagoda_engine_tlb_entry - A cached translation
 * @tag: Address space and first virtual address, in a format private to tlb.c; 0 = empty
 * @entry: Page-table entry in CPU byte order, 0 = the addresses are known to be invalid
 * @size: Bytes of virtual addresses that @entry translates, a power of two
 */
struct pagoda_engine_tlb_entry {
	u64 tag;
	u64 entry;
	u64 size;
};

/**
 * struct pagoda_engine_tlb - Translations cached by one queue
 *
 * Changed by the queue's thread with &pagoda_engine.translation held for reading, and by any thread
 * with that lock held for writing.
 */
struct pagoda_engine_tlb {
	/** @sizes: Bit n set: @entries may hold a translation of 2^n bytes. */
	u64 sizes;
	/** @entries: Direct mapped: address space, address and size select the one entry to use. */
	struct pagoda_engine_tlb_entry entries[PAGODA_ENGINE_TLB_ENTRIES];
};

/** PAGODA_ENGINE_LINE_BYTES: bytes of a line of a write combiner, a power of two. */
#define PAGODA_ENGINE_LINE_BYTES	64
/** PAGODA_ENGINE_LINES: number of lines of each queue's write combiner. */
#define PAGODA_ENGINE_LINES		4
/** PAGODA_ENGINE_COMBINERS: write combiners: the paging queue's, one for each possible engine. */
#define PAGODA_ENGINE_COMBINERS		(1 + VIRTIO_PAGODA_MAX_ENGINES)

/**
 * struct pagoda_engine_line - Line of a write combiner: writes that may not be in memory yet
 * @here: Memory that the line stands for, aligned to a line's size; NULL = the line is free
 * @loaded: false: memory is read into @now and @found before the queue's next write to the line
 * @now: Content of the memory as the queue wrote it
 * @found: Content of @now when the memory was read, or @now was last written back: bytes in which
 *	@now differs have to be written back
 */
struct pagoda_engine_line {
	u8 *here;
	bool loaded;
	__le64 now[PAGODA_ENGINE_LINE_BYTES / 8];
	__le64 found[PAGODA_ENGINE_LINE_BYTES / 8];
};

/**
 * struct pagoda_engine_combiner - Writes of one queue to memory that isn't snooped
 * @used: false: all of @lines are free
 * @next: Counter: @next modulo the number of lines is the index of the line to be replaced next
 * @lines: Lines, replaced in turn
 *
 * The paging queue's combiner is used by the queue's thread only. An engine's combiner is used by
 * the engine's thread with &pagoda_engine.translation held for reading, and written back by other
 * threads with that lock held for writing. While no queue executes, no lock is needed.
 */
struct pagoda_engine_combiner {
	bool used;
	u32 next;
	struct pagoda_engine_line lines[PAGODA_ENGINE_LINES];
};

/**
 * struct pagoda_engine_swizzling - Swizzling range: shows a tiled surface to the CPU as rows
 * @window: Memory that holds the rows, &pagoda_engine.swizzling_bytes long
 * @address: Offset of the surface in VRAM
 * @size: Bytes of the surface, 0 = the range is not bound to a surface
 * @layout: Layout of the surface
 *
 * Changed with &pagoda_engine.swizzling_lock held for writing, except for the content of @window.
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
 * Members are constant while the engine executes, except for what a lock protects, @combiners, the
 * entries of @aperture, @aperture_snoops and @dirty, @trackers, @poison_discarded and the counters.
 */
struct pagoda_engine {
	/** @vram: Memory of the VRAM segment, contiguous for the CPU, aligned to 8 bytes. */
	u8 *vram;
	/** @vram_size: Bytes of @vram, multiple of the page size. */
	u64 vram_size;
	/** @invalid: Sorted and disjoint parts of VRAM, to which accesses fault. */
	const struct pagoda_engine_range *invalid;
	/** @nr_invalid: Entries of @invalid. */
	u32 nr_invalid;
	/** @max_runs: Most runs of pages in a packet. */
	u32 max_runs;
	/** @max_buffer: Most bytes in a buffer. */
	u32 max_buffer;
	/** @system_bits: Width of bus addresses in bits, 32 to 52. */
	u32 system_bits;
	/**
	 * @aperture: A word for each aperture page. MAP_APERTURE_SEGMENT and UNMAP_APERTURE_SEGMENT
	 * write a word with a single store, and other operations read it with a single load,
	 * without a lock.
	 */
	u64 *aperture;
	/** @aperture_pages: Entries of @aperture. */
	u64 aperture_pages;
	/** @aperture_snoops: For each aperture page, whether it is snooped; NULL = all are. */
	bool *aperture_snoops;
	/**
	 * @mmu: A word for each page of device addresses, NULL = no device MMU. Unused unless
	 * %VIRTIO_PAGODA_F_DEVICE_MMU was negotiated. Changed with @translation held for writing,
	 * so that no access uses an old word any more when MAP_MMU or UNMAP_MMU is complete.
	 */
	u64 *mmu;
	/** @mmu_pages: Pages of device addresses that @mmu translates: the length of @mmu. */
	u64 mmu_pages;
	/** @spaces: Address spaces; space 0 is the paging process's. NULL = none. */
	struct pagoda_engine_space *spaces;
	/** @nr_spaces: Entries of @spaces. */
	u32 nr_spaces;
	/** @va_bits: Width of virtual addresses in bits. */
	u32 va_bits;
	/** @pt_levels: Levels of page tables. */
	u32 pt_levels;
	/** @page_sizes: Bit n set: pages of 2^n bytes are supported. */
	u32 page_sizes;
	/** @tlbs: TLBs of the paging queue and of each engine, NULL = there are no TLBs. */
	struct pagoda_engine_tlb *tlbs;
	/** @nr_tlbs: Entries of @tlbs. */
	u32 nr_tlbs;
	/**
	 * @combiners: The write combiner of each queue, indexed like @tlbs; unused unless
	 * %VIRTIO_PAGODA_F_WRITE_COMBINER was negotiated.
	 */
	struct pagoda_engine_combiner combiners[PAGODA_ENGINE_COMBINERS];
	/**
	 * @translation: Held for reading by jobs, and by packets that translate virtual or device
	 * addresses or write back an engine's write combiner; jobs, and long packets with virtual
	 * addresses, release the lock for moments. Held for writing by FLUSH_TLB, MAP_MMU,
	 * UNMAP_MMU, SET_ROOT and resets of the adapter or device, which thus wait for accesses
	 * with old translations (C103, C121). Taken before @swizzling_lock.
	 */
	struct pagoda_shim_rwlock translation;
	/** @changes: Number of times that @translation was held for writing; under that lock. */
	u64 changes;
	/**
	 * @ranges: Swizzling ranges, indexed by their numbers: windows in which the CPU sees tiled
	 * surfaces row by row.
	 */
	struct pagoda_engine_swizzling *ranges;
	/** @nr_ranges: Entries of @ranges. */
	u32 nr_ranges;
	/** @swizzling_bytes: Bytes of each range's window. */
	u64 swizzling_bytes;
	/** @swizzling_lock: Held for reading to use @ranges, for writing to bind or unbind them. */
	struct pagoda_shim_rwlock swizzling_lock;
	/**
	 * @dirty: A byte for each page of VRAM with a bit for each tracker: the page was written;
	 * NULL = the device has no dirty tracking. Changed without a lock. Unused unless
	 * %VIRTIO_PAGODA_F_DIRTY was negotiated.
	 */
	u8 *dirty;
	/**
	 * @trackers: Range that each tracker tracks, of size 0 if the tracker isn't started.
	 * Changed by control commands, one at a time, and by resets.
	 */
	struct pagoda_engine_range trackers[VIRTIO_PAGODA_DIRTY_TRACKERS];
	/** @features: Negotiated feature bits. */
	u64 features;
	/**
	 * @poison_discarded: DISCARD_CONTENT fills the discarded VRAM with %PAGODA_ENGINE_POISON;
	 * false: DISCARD_CONTENT changes nothing.
	 */
	bool poison_discarded;
	/** @ops: Callbacks to the engine's environment. */
	const struct pagoda_engine_ops *ops;
	/** @context: First argument of the callbacks in @ops. */
	void *context;
	/** @executed: Number of packets executed completely, by opcode. */
	atomic64_t executed[VIRTIO_PAGODA_OP_COUNT];
	/** @commands: Number of commands executed completely, by opcode; added when a job ends. */
	atomic64_t commands[VIRTIO_PAGODA_COMMAND_COUNT];
	/** @faults: Number of faulted runs and of requests refused without a run, by reason. */
	atomic64_t faults[VIRTIO_PAGODA_FAULT_COUNT];
};

/**
 * PAGODA_ENGINE_POISON: 32-bit word that fills VRAM whose content is lost: by DISCARD_CONTENT with
 * &pagoda_engine.poison_discarded, or by RESET_ADAPTER with %PAGODA_ENGINE_VRAM_POISON.
 */
#define PAGODA_ENGINE_POISON	0xd15ca4d1u

/** enum pagoda_engine_vram - Content of VRAM after pagoda_engine_reset_adapter(). */
enum pagoda_engine_vram {
	PAGODA_ENGINE_VRAM_POISON,	/* filled with %PAGODA_ENGINE_POISON */
	PAGODA_ENGINE_VRAM_ZERO,
	PAGODA_ENGINE_VRAM_KEEP,	/* unchanged by the reset */
};

/** enum pagoda_engine_queue - Kind of the queue that a buffer came from. */
enum pagoda_engine_queue {
	PAGODA_ENGINE_QUEUE_PAGING,
	PAGODA_ENGINE_QUEUE_EXEC,
};

/** enum pagoda_engine_outcome - How a run ended. */
enum pagoda_engine_outcome {
	PAGODA_ENGINE_DONE,	/* all packets or commands were executed */
	PAGODA_ENGINE_FAULT,	/* a packet, command or buffer faulted: pagoda_engine_run.fault */
	PAGODA_ENGINE_STOPPED,	/* ended early by pagoda_engine_run.stop or .stop_at */
};

/**
 * struct pagoda_engine_page - Translation of a virtual address
 * @segment: Segment of the memory that the virtual address leads to
 * @level: Level of the page-table entry that translates the address or at which the lookup faulted
 * @address: Address of that memory within @segment
 * @flags: Page-table entry without its segment and address. With %VIRTIO_PAGODA_PTE_ZERO there is
 *	no memory, and @segment and @address mean nothing
 */
struct pagoda_engine_page {
	u32 segment;
	u32 level;
	u64 address;
	u64 flags;
};

/**
 * struct pagoda_engine_fault - Why a packet or command was refused, and where it was
 * @reason: enum virtio_pagoda_fault_reason
 * @opcode: Opcode as found in the packet or command
 * @offset: Offset in the buffer: of the packet, or of a job's list entry that is being executed
 * @access: Kind of the access that was refused, enum virtio_pagoda_access
 * @address: Address (the virtual address if there is one) or value that was refused
 * @level: Page-table level that the translation stopped at, 0 without a translation
 * @command: Virtual address of the command, 0 = the fault isn't a command's
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

/** PAGODA_ENGINE_NEVER: Value of pagoda_engine_run.stop_at and .fail_at for no packet at all. */
#define PAGODA_ENGINE_NEVER	0xffffffffu

/**
 * struct pagoda_engine_run - A buffer to be executed, and the result of its execution
 *
 * For a job (see @context), "packets" are the commands in the memory that the buffer names.
 */
struct pagoda_engine_run {
	/** @kind: Kind of the buffer's queue; decides which opcodes are allowed. */
	enum pagoda_engine_queue kind;
	/** @queue: Virtqueue number, for the callbacks. */
	u32 queue;
	/** @tlb: Index of TLB and write combiner: 0 for the paging queue, i + 1 for engine i. */
	u32 tlb;
	/** @seqno: Request number, for the callbacks. */
	u64 seqno;
	/**
	 * @context: Execution context. If @context isn't 0, and %VIRTIO_PAGODA_F_EXECUTE was
	 * negotiated, the buffer of an execution queue is a job: a struct virtio_pagoda_execute
	 * and its list of command buffers. Any other buffer is a paging buffer.
	 */
	u64 context;
	/** @buffer: Private copy of the buffer, aligned to 8 bytes. */
	const void *buffer;
	/** @size: Bytes of @buffer. */
	u32 size;
	/** @start: Offset of the first packet to execute. */
	u32 start;
	/**
	 * @stop: If *@stop becomes true, the run ends before the next packet or command; commands,
	 * and packets of an execution queue, may also end in the middle. May be NULL.
	 */
	const bool *stop;
	/**
	 * @stop_at: Failure injection: the run stops before the packet with this index;
	 * %PAGODA_ENGINE_NEVER = none.
	 */
	u32 stop_at;
	/**
	 * @fail_at: Failure injection: the packet with this index in the buffer (from 0) fails;
	 * %PAGODA_ENGINE_NEVER = none.
	 */
	u32 fail_at;
	/**
	 * @fail_middle: Failure injection: packet @fail_at fails after half of its effect; without
	 * an effect if the effect has no half; READ_PHYSICAL, WRITE_PHYSICAL after all of it.
	 */
	bool fail_middle;

	/**
	 * @spans: Room for &pagoda_engine.max_runs pointers to memory that the check of a packet
	 * found for the execution, or COPY in advance. NULL = execution looks all memory up.
	 */
	u8 **spans;

	/** @fault: Out: why and where the run faulted; zero if it didn't. */
	struct pagoda_engine_fault fault;
	/**
	 * @offset: Out: offset in the buffer of the first packet, or of a job's first list entry,
	 * that isn't executed completely; @size if all is done.
	 */
	u32 offset;
	/** @packets: Out: packets executed completely, at most %PAGODA_ENGINE_NEVER - 1. */
	u32 packets;
	/**
	 * @bytes: Out: work of the run in bytes, also if it faulted; a copied byte counts once,
	 * and so does a byte that a transfer with DIRTY skipped.
	 */
	u64 bytes;
	/** @skipped: Out: bytes that transfers with DIRTY didn't copy, also if the run faulted. */
	u64 skipped;
	/** @looks: Number of times that the current WAIT has found the awaited value too small. */
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
bool pagoda_engine_dirty_start(struct pagoda_engine *engine, u32 tracker, u64 address, u64 size);
bool pagoda_engine_dirty_stop(struct pagoda_engine *engine, u32 tracker);
bool pagoda_engine_dirty_query(struct pagoda_engine *engine, u32 tracker, u64 address, u64 size,
			       __le64 *words);
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
