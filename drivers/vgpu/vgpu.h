/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The software GPU: a virtio device that this module implements in the kernel, for the driver in
 * the same kernel. This header has the structs of a device, its parameters, VRAM, queues, rings,
 * requests, notices and injected misbehaviour, and the functions that the module's files call from
 * each other.
 *
 * The driver's side of every ring belongs to the virtio core, the device's side to this module:
 * each queue except the event queue has a thread, which reads the requests that the driver made
 * available, executes them and calls the ring's interrupt handler. The device trusts neither the
 * content of a ring nor memory that a descriptor points to.
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
#define PAGODA_VGPU_NOTICES	64	/* number of the last notices that are kept */
#define PAGODA_VGPU_NOTICE_SIZE	80	/* most bytes kept of the packet of a notice */

struct dentry;
struct seq_file;
struct task_struct;

/* Module parameters as the user gave them; module.c describes each. */
struct pagoda_vgpu_given {
	unsigned int vram_mb;
	char *visible;
	unsigned int visible_mb;
	unsigned int aperture_mb;
	unsigned int engines;
	char *invalid;
	unsigned int pt_levels;
	unsigned int dual_pte;
	unsigned int cache_invalid;
	unsigned int device_mmu;
	unsigned int mmu_mb;
	unsigned int ranges;
	unsigned int range_mb;
	char *reset_vram;
	char *preserve;
	char *misconfigure;
};

/**
 * struct pagoda_vgpu_params - Module parameters, checked
 * @vram_size: Bytes of VRAM
 * @visible_size: Bytes from the start of VRAM that the CPU may reach
 * @aperture_pages: Number of pages of the aperture
 * @engines: Number of execution engines, each with a queue
 * @invalid: Sorted, disjoint ranges of VRAM that must not be used
 * @nr_invalid: Entries of @invalid
 * @pt_levels: Levels of page tables
 * @va_bits: Width of virtual addresses
 * @dual_pte: A level-1 page-table entry points to a table of 4 KiB pages and to one of 64 KiB pages
 * @cache_invalid: TLBs also cache that a page-table entry is invalid
 * @mmu_pages: Pages that the device MMU can map, 0 = there is no device MMU
 * @ranges: Number of swizzling ranges: windows that show a tiled surface to the CPU as rows
 * @range_bytes: Bytes of the window of each swizzling range, 0 without ranges
 * @reset_vram: Content of VRAM after RESET_ADAPTER
 * @preserved: VIRTIO_PAGODA_PRESERVED_* flags: in which sleep of the machine VRAM keeps its content
 * @preserved_bytes: Bytes from the start of VRAM that outlive hibernation; 0 for none or all
 * @misconfigure: Text of misconfigure=, for pagoda_vgpu_misconfigure()
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
	const char *misconfigure;
};

/**
 * struct pagoda_vgpu_vram - Memory that serves as VRAM, or as the windows of swizzling ranges
 * @pages: Pages of the memory, in order
 * @nr_pages: Number of @pages
 * @vaddr: Kernel address of a contiguous mapping of all @pages
 * @extents: Physically contiguous parts that the CPU may reach, little endian as for GET_EXTENTS
 * @nr_extents: Entries of @extents
 * @touched: A driver may have written to the memory; false: the memory is all zeros
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
 * @vring: Addresses of the ring's three parts, in memory that the driver may write at any time
 * @next_avail: Number of available entries that the device has taken, modulo 2^16
 * @next_used: Number of used entries that the device has published, modulo 2^16
 * @signalled: Value of @next_used when pagoda_vgpu_ring_interrupts() was last called
 * @event_idx: VIRTIO_RING_F_EVENT_IDX was negotiated
 * @indirect: VIRTIO_RING_F_INDIRECT_DESC was negotiated
 *
 * The caller ensures that only one thread at a time uses a ring.
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
 * @head: First descriptor, which identifies the chain in the used ring
 * @nr_writable: Entries of @writable
 * @readable: Bytes that the driver sent, including bytes for which the buffer had no room
 * @writable_bytes: Bytes of all entries of @writable
 * @writable: Pieces of contiguous memory for the device's answer; further pieces that the chain
 *	names are ignored
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

/**
 * enum pagoda_vgpu_corrupt - What a test falsifies in a request's completion
 * @PAGODA_VGPU_CORRUPT_NOTHING: nothing
 * @PAGODA_VGPU_CORRUPT_SEQNO: the request's number
 * @PAGODA_VGPU_CORRUPT_STATUS: the status
 * @PAGODA_VGPU_CORRUPT_LENGTH: the number of written bytes that the used ring tells
 * @PAGODA_VGPU_CORRUPT_PACKETS: the number of executed packets or commands
 * @PAGODA_VGPU_CORRUPT_FAULT: the reason of the fault
 */
enum pagoda_vgpu_corrupt {
	PAGODA_VGPU_CORRUPT_NOTHING,
	PAGODA_VGPU_CORRUPT_SEQNO,
	PAGODA_VGPU_CORRUPT_STATUS,
	PAGODA_VGPU_CORRUPT_LENGTH,
	PAGODA_VGPU_CORRUPT_PACKETS,
	PAGODA_VGPU_CORRUPT_FAULT,
};

/**
 * struct pagoda_vgpu_mischief - Misbehaviour for one request or reset, see inject.c
 * @delay_us: Microseconds to wait before the execution, or after the answer to a reset
 * @fail_at: Index in the request of the packet or command that fails, %PAGODA_ENGINE_NEVER = none
 * @fail_middle: The packet or command at @fail_at fails after half of its effect, see
 *	&pagoda_engine_run.fail_middle for those that have no half
 * @hang_at: Index of the packet or command before which the request hangs until a reset,
 *	%PAGODA_ENGINE_NEVER = none
 * @drop: Execute the request, but don't complete it before a reset of the queue
 * @lost_interrupt: Complete the request without an interrupt
 * @reorder: Complete the request after the next request, or alone if none comes for a second or the
 *	queue is reset before; no effect if the request before is still kept back
 * @fail_reset: Refuse the reset
 * @corrupt: What is falsified in the request's completion
 * @value: Value that replaces the one named by @corrupt
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
 * struct pagoda_vgpu_held - An executed or stopped request that the driver hasn't got back yet
 * @chain: Descriptor chain of the request
 * @completion: Completion that the driver will get for the request
 */
struct pagoda_vgpu_held {
	struct pagoda_vgpu_chain chain;
	struct virtio_pagoda_completion completion;
};

/**
 * struct pagoda_vgpu_notices - Notices: the packets that were passed to pagoda_vgpu_notify()
 * @lock: Protects all members below
 * @counts: Number of notices since the device was created, by opcode
 * @total: Number of notices since the device was created
 * @last: First bytes of the packets of the last notices; notice n is at n % %PAGODA_VGPU_NOTICES
 */
struct pagoda_vgpu_notices {
	spinlock_t lock;	/* protects all members below */
	u64 counts[VIRTIO_PAGODA_OP_COUNT];
	u64 total;
	u64 last[PAGODA_VGPU_NOTICES][PAGODA_VGPU_NOTICE_SIZE / sizeof(u64)];
};

struct pagoda_vgpu;

/**
 * struct pagoda_vgpu_queue - A virtqueue and its thread
 *
 * Members are used by the thread @task only, unless a member's description says otherwise. Any
 * thread may read constants and counters.
 */
struct pagoda_vgpu_queue {
	/** @vgpu: Device; constant. */
	struct pagoda_vgpu *vgpu;
	/** @index: Virtqueue number; constant. */
	u32 index;
	/** @name: "control", "paging", "event", "exec0"; constant. */
	char name[16];
	/** @vq: The driver's side of the ring; constant while @task runs. */
	struct virtqueue *vq;
	/** @ring: The device's side of the ring; of the event queue, protected by event_lock. */
	struct pagoda_vgpu_ring ring;
	/** @task: The queue's thread; the event queue has none. */
	struct task_struct *task;
	/** @wake: Wait queue on which @task sleeps, and which any thread wakes. */
	wait_queue_head_t wake;
	/**
	 * @kicked: @task has to look at the ring: the driver rang the doorbell, or requests may
	 * have come without a doorbell. Set by any thread, cleared by @task.
	 */
	bool kicked;
	/**
	 * @stop: Asks the engine to stop the request being executed: before the next packet, and on
	 * an execution queue in the middle of a packet or command, too. Set by any thread, cleared
	 * by @task.
	 */
	bool stop;
	/**
	 * @reset_wanted: The control queue's thread wants @task to reset this queue, and waits for
	 * @reset_done. Set by the control queue's thread, cleared by @task.
	 */
	bool reset_wanted;
	/** @reset_done: Completed by @task when @reset_seqno and @reset_offset are valid. */
	struct completion reset_done;
	/** @reset_seqno: Answer to a reset: value of @executed when @task began the reset. */
	u64 reset_seqno;
	/** @reset_offset: Answer to a reset: value of @offset when @task began the reset. */
	u32 reset_offset;
	/** @buffer: Private copy of the request or control command being executed. */
	void *buffer;
	/** @spans: %PAGODA_VGPU_MAX_RUNS pointers: &pagoda_engine_run.spans of each run in turn. */
	u8 **spans;
	/** @executed: Number of the last request that was executed, or counted so by a reset. */
	u64 executed;
	/** @offset: Byte offset reached in the request that follows @executed. */
	u32 offset;
	/**
	 * @given: Value that @executed would have if all requests taken from the ring were
	 * executed.
	 */
	u64 given;
	/** @halted: A request faulted: @task executes no request until a reset of the queue. */
	bool halted;
	/**
	 * @held: Requests to be returned to the driver by the next reset, oldest first: stopped
	 * before their end, or dropped (failure injection).
	 */
	struct pagoda_vgpu_held *held;
	/** @nr_held: Entries of @held. */
	u32 nr_held;
	/**
	 * @swapped: Executed request whose completion comes right after that of the next request,
	 * or alone if none comes, see &pagoda_vgpu_mischief.reorder.
	 */
	struct pagoda_vgpu_held swapped;
	/** @has_swapped: @swapped holds a request. */
	bool has_swapped;

	/** @doorbells: Number of doorbells that the driver rang. */
	atomic64_t doorbells;
	/** @interrupts: Number of interrupts that the device raised. */
	atomic64_t interrupts;
	/** @requests: Requests (or control commands) taken from the ring to be executed. */
	atomic64_t requests;
	/** @jobs: Number of requests with a valid header that named an execution context. */
	atomic64_t jobs;
	/** @packets: Number of packets and commands executed completely. */
	atomic64_t packets;
	/** @bytes: Bytes that packets and commands worked on; a copied byte counts once. */
	atomic64_t bytes;
	/** @busy_ns: Nanoseconds of the execution of requests, with delays that tests inject. */
	atomic64_t busy_ns;
	/** @faults: Number of requests that faulted. */
	atomic64_t faults;
	/** @resets: Number of resets of the queue, alone or together with the adapter. */
	atomic64_t resets;
};

/**
 * enum pagoda_vgpu_trouble - Reset or failure of the device that a test, not the driver, asks for
 * @PAGODA_VGPU_WORKS: no action
 * @PAGODA_VGPU_RESETS: the device carries out a RESET_ADAPTER and sends the driver an event; no
 *	action without F_EXECUTE, or if a rule refuses RESET_ADAPTER
 * @PAGODA_VGPU_BREAKS: the device reports NEEDS_RESET in its status until the driver resets it
 */
enum pagoda_vgpu_trouble {
	PAGODA_VGPU_WORKS,
	PAGODA_VGPU_RESETS,
	PAGODA_VGPU_BREAKS,
};

/** struct pagoda_vgpu - A software GPU */
struct pagoda_vgpu {
	/** @vdev: The virtio device; the release of its last reference completes @released. */
	struct virtio_device vdev;
	/** @pdev: Parent of @vdev. */
	struct platform_device *pdev;
	/** @released: Completed when the last reference to @vdev was dropped. */
	struct completion released;
	/** @params: Module parameters; constant. */
	const struct pagoda_vgpu_params *params;
	/** @config: Configuration space; constant once @vdev is registered. */
	struct virtio_pagoda_config config;
	/** @features: Feature bits that the device offers; constant once @vdev is registered. */
	u64 features;
	/** @vram: Video memory. */
	struct pagoda_vgpu_vram vram;
	/** @windows: Memory of the windows of all swizzling ranges, one window after another. */
	struct pagoda_vgpu_vram windows;
	/** @notices: Counts and last packets of the notices passed to pagoda_vgpu_notify(). */
	struct pagoda_vgpu_notices notices;
	/** @invalid_extents: Little-endian copy of &pagoda_vgpu_params.invalid for GET_EXTENTS. */
	struct virtio_pagoda_extent invalid_extents[PAGODA_VGPU_MAX_INVALID];
	/** @dirty_words: Answer to a QUERY_DIRTY; used by the control queue's thread. */
	__le64 dirty_words[VIRTIO_PAGODA_MAX_DIRTY_PAGES / 64];
	/**
	 * @engine: Executes packets and commands; its features only change while no thread runs.
	 */
	struct pagoda_engine engine;
	/** @status: Device status, as the driver wrote it, without NEEDS_RESET. */
	u8 status;
	/**
	 * @broken: The device needs a reset by the driver (NEEDS_RESET): a ring, or a request in
	 * it, was invalid, or a test asked for that. Set by any queue's thread, cleared by the
	 * driver's reset.
	 */
	bool broken;
	/**
	 * @outlives: Bytes from the start of VRAM that a reset of the device doesn't zero; 0 except
	 * while the machine sleeps.
	 */
	u64 outlives;
	/**
	 * @resetting: A RESET_ADAPTER is under way: the thread of a queue that was reset waits
	 * until RESET_ADAPTER ends. Written by the control queue's thread.
	 */
	bool resetting;
	/** @adapter_resets: RESET_ADAPTERs that ended. Written by the control queue's thread. */
	u32 adapter_resets;
	/** @queues: Queues, indexed by virtqueue number. */
	struct pagoda_vgpu_queue queues[PAGODA_VGPU_MAX_QUEUES];
	/** @nr_queues: Number of @queues in use. */
	u32 nr_queues;
	/** @event_lock: Protects the event queue's ring and @events_lost. */
	struct mutex event_lock;
	/** @events_lost: Events dropped for want of a buffer since an event was last sent. */
	u32 events_lost;
	/** @events_sent: Number of events sent since the device was created. */
	atomic64_t events_sent;
	/** @events_dropped: Events dropped for want of a buffer since the device was created. */
	atomic64_t events_dropped;
	/** @inject_lock: Protects the list @injections and the counters of its rules. */
	spinlock_t inject_lock;
	/** @injections: Rules of misbehaviour that tests wrote to debugfs, oldest first. */
	struct list_head injections;
	/**
	 * @trouble: Set by tests, unless it is set; carried out and cleared by the control queue's
	 * thread, or cleared by a reset of the device.
	 */
	enum pagoda_vgpu_trouble trouble;
	/** @debugfs: The device's directory in debugfs. */
	struct dentry *debugfs;
};

static inline struct pagoda_vgpu *pagoda_vgpu_of(struct virtio_device *vdev)
{
	return container_of(vdev, struct pagoda_vgpu, vdev);
}

/* params.c: read the module parameters; apply misconfigure=, which falsifies the configuration */
int pagoda_vgpu_params_read(const struct pagoda_vgpu_given *given,
			    struct pagoda_vgpu_params *params);
int pagoda_vgpu_misconfigure(const char *list, struct virtio_pagoda_config *config, u64 *features);

/*
 * vram.c: allocate, free and zero the memory of VRAM or of the swizzling ranges' windows; look up
 * system memory by its bus address
 */
int pagoda_vgpu_vram_init(struct pagoda_vgpu_vram *vram, u64 size, u64 visible_size);
void pagoda_vgpu_vram_fini(struct pagoda_vgpu_vram *vram);
void pagoda_vgpu_vram_zero(struct pagoda_vgpu_vram *vram, u64 from);
void *pagoda_vgpu_system_span(void *context, u64 bus, u64 want, u64 *got);

/* tables.c: allocate and free address spaces, TLBs, device MMU and windows of swizzling ranges */
int pagoda_vgpu_tables_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_tables_fini(struct pagoda_vgpu *vgpu);

/* notices.c: keep a notice that the engine received; print the last notices */
void pagoda_vgpu_notify(void *context, const struct virtio_pagoda_packet *packet);
void pagoda_vgpu_notices_show(struct pagoda_vgpu *vgpu, struct seq_file *file);

/* power.c: driver of the platform device, for sleep and wake-up of the machine */

/* Name of the platform device and of the driver that handles its power. */
#define PAGODA_VGPU_NAME	"pagoda-vgpu"

extern struct platform_driver pagoda_vgpu_power;

/* device.c: create and destroy a device; mark a device as broken, in need of a reset */
struct pagoda_vgpu *pagoda_vgpu_create(const struct pagoda_vgpu_params *params);
void pagoda_vgpu_destroy(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_break(struct pagoda_vgpu_queue *queue, const char *why);

/*
 * ring.c: set up the device's side of a split virtqueue; take a descriptor chain from the ring,
 * write to its memory and return it; test whether the driver wants an interrupt, and tell the
 * driver whether to ring the doorbell
 */
void pagoda_vgpu_ring_init(struct pagoda_vgpu_ring *ring, struct virtqueue *vq);
int pagoda_vgpu_ring_pop(struct pagoda_vgpu_ring *ring, struct pagoda_vgpu_chain *chain,
			 void *buffer, u32 size);
void pagoda_vgpu_ring_push(struct pagoda_vgpu_ring *ring, u16 head, u32 written);
bool pagoda_vgpu_ring_interrupts(struct pagoda_vgpu_ring *ring);
void pagoda_vgpu_ring_mute(struct pagoda_vgpu_ring *ring);
bool pagoda_vgpu_ring_listen(struct pagoda_vgpu_ring *ring);
u32 pagoda_vgpu_chain_write(const struct pagoda_vgpu_chain *chain, u32 offset,
			    const void *data, u32 size);

/*
 * queue.c: allocate and free what queues need; create and delete rings and threads; start and stop
 * the threads; complete a request
 */
int pagoda_vgpu_queues_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_queues_fini(struct pagoda_vgpu *vgpu);
int pagoda_vgpu_queues_find(struct pagoda_vgpu *vgpu, unsigned int nvqs,
			    struct virtqueue *vqs[], struct virtqueue_info info[]);
void pagoda_vgpu_queues_start(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_queues_stop(struct pagoda_vgpu *vgpu);
int pagoda_vgpu_queues_trouble(struct pagoda_vgpu *vgpu, enum pagoda_vgpu_trouble trouble);
void pagoda_vgpu_queues_delete(struct pagoda_vgpu *vgpu);
bool pagoda_vgpu_queue_stopping(const struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_queue_complete(struct pagoda_vgpu_queue *queue, u16 head, u32 written,
				bool interrupt);

/*
 * request.c: execute and complete a request of the paging or an execution queue; complete a request
 * that was kept back; reset such a queue; sleep between the checks of a WAIT command
 */
void pagoda_vgpu_request_execute(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_flush(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_reset(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_request_idle(void *context, const struct pagoda_engine_run *run);

/* control.c: execute a command of the control queue; carry out vgpu->trouble, which a test set */
void pagoda_vgpu_control_execute(struct pagoda_vgpu_queue *queue);
void pagoda_vgpu_control_trouble(struct pagoda_vgpu_queue *queue);

/* event.c: send the driver an event: a reset by the device, a fault, a signalled fence */
void pagoda_vgpu_event_reset(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_event_fault(struct pagoda_vgpu_queue *queue,
			     const struct virtio_pagoda_fault *fault);
void pagoda_vgpu_event_fence(void *context, const struct pagoda_engine_run *run, u64 address,
			     u64 value);

/*
 * inject.c: misbehaviour that a test asks for by debugfs: add, print and remove rules; get what the
 * rules say for the next request, or for a reset
 */
ssize_t pagoda_vgpu_inject_write(struct pagoda_vgpu *vgpu, char *line);
void pagoda_vgpu_inject_show(struct pagoda_vgpu *vgpu, struct seq_file *file);
void pagoda_vgpu_inject_clear(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_inject_next(struct pagoda_vgpu_queue *queue, u64 seqno,
			     struct pagoda_vgpu_mischief *mischief);
bool pagoda_vgpu_inject_reset(struct pagoda_vgpu_queue *queue);
u32 pagoda_vgpu_inject_late(struct pagoda_vgpu_queue *queue);

/* debugfs.c: create and remove the debugfs files of the device */
void pagoda_vgpu_debugfs_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_debugfs_fini(struct pagoda_vgpu *vgpu);

/* kcov.c: create a debugfs file for fuzzers; collect coverage of a queue's thread */
#ifdef CONFIG_KCOV
void pagoda_vgpu_kcov_init(struct pagoda_vgpu *vgpu);
void pagoda_vgpu_kcov_begin(void);
void pagoda_vgpu_kcov_end(void);
#else
static inline void pagoda_vgpu_kcov_init(struct pagoda_vgpu *vgpu)
{
}

static inline void pagoda_vgpu_kcov_begin(void)
{
}

static inline void pagoda_vgpu_kcov_end(void)
{
}
#endif

#endif
