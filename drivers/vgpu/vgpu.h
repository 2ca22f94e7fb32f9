/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The software GPU: a virtio device implemented in the kernel it serves.
 *
 * The driver's side of every ring is the virtio core's. The device's side is
 * ours: one thread a queue reads what the driver made available, executes it and
 * calls the ring's interrupt handler. Whatever lies in a ring or behind a
 * descriptor is treated as if a stranger had written it.
 */
#ifndef PAGODA_VGPU_H
#define PAGODA_VGPU_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <linux/wait.h>

#include "engine/engine.h"

#define PAGODA_VGPU_MAX_QUEUES	(VIRTIO_PAGODA_QUEUE_EXEC0 + VIRTIO_PAGODA_MAX_ENGINES)
#define PAGODA_VGPU_RING_SIZE	256
#define PAGODA_VGPU_MAX_RUNS	4064
#define PAGODA_VGPU_MAX_INVALID	64
#define PAGODA_VGPU_SPACES	256
#define PAGODA_VGPU_NOTICES	64	/* kept; a power of two */
#define PAGODA_VGPU_NOTICE_SIZE	80	/* bytes of each */

struct dentry;
struct seq_file;
struct task_struct;

/**
 * struct pagoda_vgpu_params - Module parameters, checked
 * @vram_size: Bytes of VRAM
 * @visible_size: Bytes from its start that the CPU may reach
 * @aperture_pages: Pages of the aperture
 * @engines: Execution queues
 * @invalid: Sorted, disjoint ranges of VRAM that must not be used
 * @nr_invalid: Entries of @invalid
 * @pt_levels: Levels of page tables
 * @va_bits: Width of virtual addresses
 * @dual_pte: Level-1 entries hold two tables
 * @cache_invalid: TLBs keep invalid entries
 * @mmu_pages: Pages of the device MMU, 0 = it has none
 * @ranges: Swizzling ranges
 * @range_bytes: Bytes of each one's window, 0 without ranges
 * @reset_vram: What VRAM holds after RESET_ADAPTER
 * @preserved: VIRTIO_PAGODA_PRESERVED_ flags
 * @preserved_bytes: Bytes of VRAM that outlive hibernation if a part does
 */
struct pagoda_vgpu_params {
	u64 vram_size;
	u64 visible_size;
	u64 aperture_pages;
	u32 engines;
	struct pagoda_engine_range invalid[PAGODA_VGPU_MAX_INVALID];
	u32 nr_invalid;
	u32 pt_levels;
	u32 va_bits;
	bool dual_pte;
	bool cache_invalid;
	u64 mmu_pages;
	u32 ranges;
	u64 range_bytes;
	enum pagoda_engine_vram reset_vram;
	u32 preserved;
	u64 preserved_bytes;
};

/**
 * struct pagoda_vgpu_vram - Memory that plays VRAM, or the ranges' windows
 * @pages: Its pages, in order
 * @nr_pages: How many
 * @vaddr: All of them mapped in a row
 * @extents: The CPU window, ready for GET_EXTENTS
 * @nr_extents: Entries of @extents
 * @touched: The driver may have written to it since it was zeroed
 */
struct pagoda_vgpu_vram {
	struct page **pages;
	unsigned long nr_pages;
	void *vaddr;
	struct virtio_pagoda_extent *extents;
	u32 nr_extents;
	bool touched;
};

/**
 * struct pagoda_vgpu_ring - The device's side of a split ring
 * @vring: Where its three parts are; read and written as shared memory
 * @next_avail: Available entries taken so far
 * @next_used: Used entries published so far
 * @signalled: @next_used when the driver was last given a chance of an interrupt
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 * @indirect: VIRTIO_RING_F_INDIRECT_DESC was negotiated
 *
 * Used by one thread at a time.
 */
struct pagoda_vgpu_ring {
	struct vring vring;
	u16 next_avail;
	u16 next_used;
	u16 signalled;
	bool event_idx;
	bool indirect;
};

#define PAGODA_VGPU_CHAIN_WRITABLE	8

/**
 * struct pagoda_vgpu_chain - A descriptor chain that was taken from a ring
 * @head: Its first descriptor; names the chain in the used ring
 * @nr_writable: Entries of @writable
 * @readable: Bytes the driver sent, copied or not
 * @writable_bytes: Bytes behind all entries of @writable
 * @writable: Memory for the answer
 */
struct pagoda_vgpu_chain {
	u16 head;
	u32 nr_writable;
	u64 readable;
	u32 writable_bytes;
	struct {
		void *here;
		u32 size;
	} writable[PAGODA_VGPU_CHAIN_WRITABLE];
};

/** enum pagoda_vgpu_corrupt - Field of a completion that is falsified. */
enum pagoda_vgpu_corrupt {
	PAGODA_VGPU_CORRUPT_NOTHING,
	PAGODA_VGPU_CORRUPT_SEQNO,
	PAGODA_VGPU_CORRUPT_STATUS,
	PAGODA_VGPU_CORRUPT_LENGTH,
	PAGODA_VGPU_CORRUPT_PACKETS,
	PAGODA_VGPU_CORRUPT_FAULT,
};

/**
 * struct pagoda_vgpu_mischief - What to do wrong with one request
 * @delay_us: Wait before it is executed
 * @fail_at: Packet or command that fails
 * @fail_middle: After half of its effect
 * @hang_at: Packet or command that is never reached
 * @drop: Execute, never complete
 * @lost_interrupt: Complete, never tell
 * @reorder: Complete after the next one
 * @fail_reset: It is a reset, and is refused
 * @corrupt: Falsify this field of the completion
 * @value: What it then says
 */
struct pagoda_vgpu_mischief {
	u32 delay_us;
	u32 fail_at;
	bool fail_middle;
	u32 hang_at;
	bool drop;
	bool lost_interrupt;
	bool reorder;
	bool fail_reset;
	enum pagoda_vgpu_corrupt corrupt;
	u64 value;
};

/**
 * struct pagoda_vgpu_held - A request that the driver was not given back
 * @chain: Its descriptors
 * @completion: What it will be told
 */
struct pagoda_vgpu_held {
	struct pagoda_vgpu_chain chain;
	struct virtio_pagoda_completion completion;
};

/**
 * struct pagoda_vgpu_notices - What the device was told
 * @lock: Protects all below
 * @counts: Notices by opcode
 * @total: Notices since the device was made
 * @last: Beginnings of the packets of the last of them, notice n at
 *	n % %PAGODA_VGPU_NOTICES
 */
struct pagoda_vgpu_notices {
	spinlock_t lock;	/* all below */
	u64 counts[VIRTIO_PAGODA_OP_COUNT];
	u64 total;
	u64 last[PAGODA_VGPU_NOTICES][PAGODA_VGPU_NOTICE_SIZE / sizeof(u64)];
};

struct pagoda_vgpu;

/**
 * struct pagoda_vgpu_queue - A virtqueue and the thread behind it
 *
 * Owned by the thread unless a member says otherwise.
 */
struct pagoda_vgpu_queue {
	/** @vgpu: Device. */
	struct pagoda_vgpu *vgpu;
	/** @index: Virtqueue number. */
	u32 index;
	/** @name: "control", "paging", "event", "exec0"; constant. */
	char name[16];
	/** @vq: The driver's side; constant while the thread runs. */
	struct virtqueue *vq;
	/** @ring: The device's side. Event queue: under event_lock. */
	struct pagoda_vgpu_ring ring;
	/** @task: The thread; the event queue has none. */
	struct task_struct *task;
	/** @wake: Where the thread sleeps. */
	wait_queue_head_t wake;
	/** @kicked: The doorbell was rung. Set by anybody, cleared by the thread. */
	bool kicked;
	/**
	 * @stop: Execution should end at the next packet, or at once in a job. Set by who
	 * asks for it.
	 */
	bool stop;
	/** @reset_wanted: The control queue asked for a reset and waits. */
	bool reset_wanted;
	/** @reset_done: Tells it that the answer is there. */
	struct completion reset_done;
	/** @reset_seqno: The answer: last request that was executed whole. */
	u64 reset_seqno;
	/** @reset_offset: The answer: how far the one behind it came. */
	u32 reset_offset;
	/** @buffer: Private copy of the request being executed. */
	void *buffer;
	/** @spans: Room for the engine, PAGODA_VGPU_MAX_RUNS pointers. */
	u8 **spans;
	/** @executed: Last request that was executed whole, or counts as if it was. */
	u64 executed;
	/** @offset: How far the one after @executed came. */
	u32 offset;
	/** @given: @executed, if all requests taken from the ring had been. */
	u64 given;
	/** @halted: Faulted; waits for a reset. */
	bool halted;
	/** @held: Requests dropped or interrupted, in order. */
	struct pagoda_vgpu_held *held;
	/** @nr_held: Entries of @held. */
	u32 nr_held;
	/** @swapped: A completion that waits for the next one. */
	struct pagoda_vgpu_held swapped;
	/** @has_swapped: @swapped is valid. */
	bool has_swapped;

	/** @doorbells: Times the driver rang. */
	atomic64_t doorbells;
	/** @interrupts: Times the driver was told. */
	atomic64_t interrupts;
	/** @requests: Requests taken from the ring. */
	atomic64_t requests;
	/** @jobs: Those of them that were executions of commands. */
	atomic64_t jobs;
	/** @packets: Packets and commands executed whole. */
	atomic64_t packets;
	/** @bytes: Bytes copied and filled; by commands, read or written. */
	atomic64_t bytes;
	/** @busy_ns: Time it was executing. */
	atomic64_t busy_ns;
	/** @faults: Requests that faulted. */
	atomic64_t faults;
	/** @resets: Queue resets. */
	atomic64_t resets;
};

/**
 * enum pagoda_vgpu_trouble - What a device may do that its driver didn't ask for
 * @PAGODA_VGPU_WORKS: nothing
 * @PAGODA_VGPU_RESETS: a RESET_ADAPTER, of which it tells
 * @PAGODA_VGPU_BREAKS: it needs a reset by the driver, and says so
 */
enum pagoda_vgpu_trouble {
	PAGODA_VGPU_WORKS,
	PAGODA_VGPU_RESETS,
	PAGODA_VGPU_BREAKS,
};

/** struct pagoda_vgpu - The device */
struct pagoda_vgpu {
	/** @vdev: The virtio device; its release completes @released. */
	struct virtio_device vdev;
	/** @pdev: Its parent. */
	struct platform_device *pdev;
	/** @released: Nobody refers to @vdev any more. */
	struct completion released;
	/** @params: Constant. */
	const struct pagoda_vgpu_params *params;
	/** @config: Configuration space; constant once registered. */
	struct virtio_pagoda_config config;
	/** @features: Features offered; constant once registered. */
	u64 features;
	/** @vram: Video memory. */
	struct pagoda_vgpu_vram vram;
	/** @windows: Of the swizzling ranges, one after another. */
	struct pagoda_vgpu_vram windows;
	/** @notices: What the engine was told. */
	struct pagoda_vgpu_notices notices;
	/** @invalid_extents: Copy of the parameter, ready for GET_EXTENTS. */
	struct virtio_pagoda_extent invalid_extents[PAGODA_VGPU_MAX_INVALID];
	/** @engine: What executes; features change while no thread runs. */
	struct pagoda_engine engine;
	/** @status: Device status, without NEEDS_RESET. Written by the driver. */
	u8 status;
	/** @broken: A ring made no sense: NEEDS_RESET. Written by any thread. */
	bool broken;
	/** @outlives: Bytes of VRAM that a reset doesn't cost: the power goes or comes. */
	u64 outlives;
	/**
	 * @resetting: Queues that were reset wait until the adapter is. Written by the
	 * control queue's thread.
	 */
	bool resetting;
	/** @adapter_resets: Times that @resetting ended; written as @resetting is. */
	u32 adapter_resets;
	/** @queues: Indexed by virtqueue number. */
	struct pagoda_vgpu_queue queues[PAGODA_VGPU_MAX_QUEUES];
	/** @nr_queues: How many there are. */
	u32 nr_queues;
	/** @event_lock: Protects the event queue's ring, @events_lost. */
	struct mutex event_lock;
	/** @events_lost: Events dropped since the last one that got through. */
	u32 events_lost;
	/** @events_sent: Events that got through. */
	atomic64_t events_sent;
	/** @events_dropped: Events dropped, ever. */
	atomic64_t events_dropped;
	/** @inject_lock: Protects @injections and their counters. */
	spinlock_t inject_lock;
	/** @injections: Rules of misbehaviour, oldest first. */
	struct list_head injections;
	/** @trouble: What a test wants; taken by the control queue's thread. */
	enum pagoda_vgpu_trouble trouble;
	/** @debugfs: Folder. */
	struct dentry *debugfs;
};

static inline struct pagoda_vgpu *pagoda_vgpu_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct pagoda_vgpu, vdev);
}

/* params.c */
int pagoda_vgpu_params_read(struct pagoda_vgpu_params *params);
int pagoda_vgpu_misconfigure(struct virtio_pagoda_config *config, u64 *features);

/* vram.c */
int pagoda_vgpu_vram_init(struct pagoda_vgpu_vram *vram, u64 size, u64 visible_size);
void pagoda_vgpu_vram_fini(struct pagoda_vgpu_vram *vram);
void pagoda_vgpu_vram_zero(struct pagoda_vgpu_vram *vram, u64 from);
void *pagoda_vgpu_system_span(void *context, u64 bus, u64 want, u64 *got);

/* tables.c */
int pagoda_vgpu_tables_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_tables_fini(struct pagoda_vgpu *vgpu);

/* notices.c */
void pagoda_vgpu_notify(void *context, const struct virtio_pagoda_packet *packet);
void pagoda_vgpu_notices_show(struct pagoda_vgpu *vgpu, struct seq_file *file);

/* power.c */

/* Of the platform device and of the driver that tells of its power. */
#define PAGODA_VGPU_NAME	"pagoda-vgpu"

extern struct platform_driver pagoda_vgpu_power;

/* device.c */
struct pagoda_vgpu *pagoda_vgpu_create(const struct pagoda_vgpu_params *params);
void pagoda_vgpu_destroy(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_break(struct pagoda_vgpu_queue *queue, const char *why);

/* ring.c */
void pagoda_vgpu_ring_init(struct pagoda_vgpu_ring *ring, struct virtqueue *vq);
int pagoda_vgpu_ring_pop(struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
			 void *buffer, u32 size);
void pagoda_vgpu_ring_push(struct pagoda_vgpu_ring *ring, u16 head, u32 written);
bool pagoda_vgpu_ring_interrupts(struct pagoda_vgpu_ring *ring);
void pagoda_vgpu_ring_mute(struct pagoda_vgpu_ring *ring);
bool pagoda_vgpu_ring_listen(struct pagoda_vgpu_ring *ring);
u32 pagoda_vgpu_chain_write(const struct pagoda_vgpu_chain *chain, u32 offset,
			    const void *data, u32 size);

/* queue.c */
int pagoda_vgpu_queues_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_queues_fini(struct pagoda_vgpu *vgpu);
int pagoda_vgpu_queues_find(struct pagoda_vgpu *vgpu, unsigned int nvqs,
			    struct virtqueue *vqs[], struct virtqueue_info info[]);
void pagoda_vgpu_queues_start(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_queues_stop(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_queues_trouble(struct pagoda_vgpu *vgpu, enum pagoda_vgpu_trouble trouble);
void pagoda_vgpu_queues_delete(struct pagoda_vgpu *vgpu);
bool pagoda_vgpu_queue_stopping(const struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_queue_complete(struct pagoda_vgpu_queue *queue, u16 head, u32 written,
				bool interrupt);

/* request.c */
void pagoda_vgpu_request_execute(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_flush(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_reset(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_idle(void *context, const struct pagoda_engine_run *run);

/* control.c */
void pagoda_vgpu_control_execute(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_control_trouble(struct pagoda_vgpu_queue *queue);

/* event.c */
void pagoda_vgpu_event_reset(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_event_fault(struct pagoda_vgpu_queue *queue,
			     const struct virtio_pagoda_fault *fault);
void pagoda_vgpu_event_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			     u64 value);

/* inject.c */
ssize_t pagoda_vgpu_inject_write(struct pagoda_vgpu *vgpu, char *line);
void pagoda_vgpu_inject_show(struct pagoda_vgpu *vgpu, struct seq_file *file);
void pagoda_vgpu_inject_clear(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_inject_next(struct pagoda_vgpu_queue *queue, u64 seqno,
			     struct pagoda_vgpu_mischief *mischief);
bool pagoda_vgpu_inject_reset(struct pagoda_vgpu_queue *queue);

/* debugfs.c */
void pagoda_vgpu_debugfs_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_debugfs_fini(struct pagoda_vgpu *vgpu);

#endif
