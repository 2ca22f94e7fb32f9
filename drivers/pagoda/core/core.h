/* SPDX-License-Identifier: GPL-2.0 */
/*
 * struct pagoda_vidmm, which has pointers to all parts of the manager; the manager's counters and
 * arguments; order of all locks; control commands and sizes of VRAM (control.c).
 */
#ifndef PAGODA_CORE_CORE_H
#define PAGODA_CORE_CORE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/container_of.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/virtio_pagoda.h>
#include <linux/xarray.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include "info.h"

struct dmem_cgroup_pool_state;
struct drm_device;
struct drm_gem_object_funcs;
struct pagoda_aperture;
struct pagoda_bandwidth;
struct pagoda_budgets;
struct pagoda_command;
struct pagoda_copies;
struct pagoda_coredump;
struct pagoda_cpu_executor;
struct pagoda_device_info;
struct pagoda_device_mmu;
struct pagoda_dummy;
struct pagoda_engines;
struct pagoda_fixed;
struct pagoda_holdings;
struct pagoda_journal;
struct pagoda_limits;
struct pagoda_listeners;
struct pagoda_mfences;
struct pagoda_missing;
struct pagoda_mmu;
struct pagoda_points;
struct pagoda_promotion;
struct pagoda_queue;
struct pagoda_reset;
struct pagoda_root;
struct pagoda_stream;
struct pagoda_swizzle;
struct pagoda_transport;
struct pagoda_victims;
struct pagoda_vram;
struct ttm_buffer_object;
struct ttm_device;

/**
 * DOC: Locks, outermost first
 *
 * A thread that holds a lock takes only locks that come later in this list. Mutexes, semaphores
 * and reservations::
 *
 *	pagoda_payer.lock		held while the payer's thread executes a work item
 *	pagoda_reset.sections		a section (section.c), and a rebuild; not under mmap_lock:
 *					user memory is accessed outside of sections
 *	pagoda_context.lock
 *	pagoda_closing.forget_lock	held while a work item takes an allocation out of VMs
 *	pagoda_closing.lock
 *	pagoda_client.lock
 *	pagoda_reset.vms_lock
 *	pagoda_vm.lock			a change of structure; the dma_fence signalling path
 *					only tries to take this lock
 *	pagoda_requirements.lock
 *	mmap_lock
 *	reservations			of a VM, which its page tables, save areas and private
 *					allocations share, and of allocations; several: drm_exec
 *	pages_turn (pages.c)
 *	pagoda_vidmm.scratch_lock
 *	pagoda_swizzle.lock		other reservations are only tried under this lock
 *	pagoda_space.lock
 *	pagoda_vram.lock and
 *	pagoda_aperture.lock		TTM's work queue takes the two without a reservation
 *	pagoda_mmu.leaving
 *	pagoda_exec_engine.kill_lock
 *	pagoda_stream.aside		also taken in reclaim: no allocation may reclaim
 *
 * Mutexes that the dma_fence signalling path takes: no allocation under such a mutex may reclaim::
 *
 *	pagoda_stream.lock		open paging buffers
 *	pagoda_device_mmu.lock
 *	pagoda_reset.lock
 *	pagoda_exec_engine.reset_lock
 *	pagoda_exec_context.owner_lock
 *	pagoda_mfences.lock
 *	pagoda_vidmm.control_lock
 *	pagoda_control.lock		of the virtio transport
 *
 * Spinlocks::
 *
 *	lru_lock of TTM
 *	pagoda_points.lock, then the locks of syncobjs and pagoda_missing.lock; not in interrupts
 *	pagoda_victims.lock		fences may be found signalled under this lock; then
 *					pagoda_vidmm.required_lock or pagoda_budgets.lock
 *	pagoda_fixed.lock		fences may be found signalled under this lock
 *	pagoda_flight.signal_lock
 *	locks of dma_fences
 *	pagoda_mfence.lock, then locks of a wait's function
 *	pagoda_vidmm.deferred_lock, then pagoda_deferred.lock
 *	pagoda_flight.lock
 *	locks of rings, of the control queue and of the event queue (virtio)
 *
 * A thread that holds one of pagoda_paging_queue.lock, pagoda_listeners.lock,
 * pagoda_listener.reading and pagoda_journal.recording_mutex takes only spinlocks and mmap_lock.
 * Spinlocks not listed here are innermost, with two exceptions: pagoda_ears.lock is taken under
 * pagoda_vidmm.required_lock, and the lock of &pagoda_listener.wait under pagoda_ears.lock.
 */

/*
 * Statistics, documented in struct drm_pagoda_stats; but @paged_out includes what the device didn't
 * copy (&pagoda_queue_stats.skipped), and @overruns, for tests, counts submissions that a
 * transaction needed beyond its announced cost, which is a bug of the driver.
 */
struct pagoda_counters {
	atomic64_t paged_in;
	atomic64_t paged_out;
	atomic64_t moved;
	atomic64_t filled;
	atomic64_t discarded;
	atomic64_t evictions;
	atomic64_t page_ins;
	atomic64_t cpu_waits;
	atomic64_t busy_retries;
	atomic64_t insufficient;
	atomic64_t overruns;
	atomic64_t commands;
	atomic64_t faults;
	atomic64_t lost;
	atomic64_t range_acquires;
	atomic64_t range_steals;
};

/*
 * Number of entries of &pagoda_vidmm.nr_populated: log2 of a 32-bit number of pages, rounded up, is
 * 0 to 32.
 */
#define PAGODA_TT_ORDERS	33

/**
 * struct pagoda_vidmm - The memory manager of a device
 * @ttm: TTM's device
 * @drm: DRM device
 * @info: What the device reported about itself
 * @reserve_start: First byte of the part of VRAM for page tables and save areas only; constant
 * @reserve_size: Bytes of that part, 0 = there is none; constant
 * @paging_limits: Limits of the device, for builders and page tables
 * @vram_free: Bytes of VRAM outside of the reserve that are free; written with pagoda_vram.lock
 *	held, read without that lock
 * @bo_destroy: &ttm_buffer_object.destroy of allocations; constant
 * @gem_funcs: &drm_gem_object.funcs of allocations; constant
 * @closing_work: Work function of &pagoda_closing.work, which takes closed allocations out of VMs;
 *	constant
 * @ahead_work: Work function of &pagoda_client_ahead.work, which brings in what queued jobs list;
 *	constant
 * @job_timeout_ms: Milliseconds that a job may run; constant
 * @queue: Paging queue, which has the submissions of @stream executed, those of a line in order
 * @vram: Manager of VRAM, segment 1
 * @aperture: Manager of the aperture, segment 2
 * @swizzle: Swizzling ranges
 * @device_mmu: Device addresses of system memory
 * @stream: Emits all paging operations, line by line, into paging buffers
 * @journal: The last operations of @stream, for debugfs and coredumps
 * @executor: Memory as the CPU executor sees it; used by one submission of @stream at a time
 * @mmu: Page tables, NULL on a device without address spaces
 * @roots: Root table that the device has for each address space; written with @control_lock held
 *	while nothing executes in that address space, so that the CPU executor reads without a lock
 * @control_lock: Protects @transport, @tracks, @deaf and writes of @roots; taken in the dma_fence
 *	signalling path
 * @scratch_lock: Held by a user of the paging process' scratch windows that waits for the device:
 *	an update of a save area, or an eviction notice in CPU_VIRTUAL mode. A move uses the
 *	windows within one transaction of @stream, without this lock
 * @transport: Transport for control commands, NULL once the device is being removed
 * @tracks: 1 + pagoda_reset_epoch() when the device was last told to track what it writes for
 *	bo/track.c; 0 = never. Protected by @control_lock
 * @deaf: The device failed a SET_ROOT that was to replace a FLUSH_TLB which the CPU executed: no
 *	other SET_ROOT is sent for that purpose until the device is reset. Also read without
 *	@control_lock
 * @dummy: Page that the device accesses at unmapped aperture addresses
 * @bos: Allocations by id, from the end of their creation on; no allocation is freed while the
 *	xarray's lock is held
 * @next_id: Last allocation id that was given
 * @spaces: The numbers of GPU address spaces that are in use
 * @next_context: Last context id that was given
 * @settling_calls: Number of the last call of pagoda_settling_begin()
 * @required_lock: Protects &pagoda_bo.wish.requirements of all allocations; nothing is allocated
 *	with this lock held
 * @mfences: Monitored fences
 * @engines: Engines that execute commands, NULL if there are none
 * @resets: Number of resets of the whole device, sleeps included: the epoch
 * @reset: State of the reset or rebuild of the device, and sections
 * @deferred_lock: Protects @deferred; taken from interrupts
 * @deferred: Queues of deferred work that aren't empty
 * @missing: Queues of deferred work that wait for a point of a syncobj which has no fence yet
 * @points: Points of syncobjs that accepted work will signal
 * @coredump: Text about a failure of a job or of paging, or a reset, for the device coredump
 * @losses: Number of times that an allocation lost content because paging failed or was given up;
 *	see pagoda_lost_mark()
 * @aborts: Number of the @losses that a reset of the device caused; such a loss is added to @aborts
 *	before it is added to @losses
 * @victims: Chooses the allocations that leave VRAM when room is needed
 * @fixed: Page tables and save areas in VRAM, outside of the reserve
 * @pinned: Bytes of aperture addresses that pinned allocations have
 * @releases: Number of frees of allocations, ends of pins and ends of jobs together: after each of
 *	these an operation that found no room may find room
 * @promotion: Evicted allocations that come back when there is room in VRAM
 * @bandwidth: Bandwidth of paging, as measured by @queue
 * @submit_share: Percent of the paging bandwidth at which each client's submissions may evict from
 *	VRAM for allocations that could be used elsewhere; 0 = no limit. Constant
 * @defer_jobs: Jobs, but fenced ones, are prepared in a work item, as if their engine were busy.
 *	Constant
 * @ahead_jobs: Most queued jobs of a client whose allocations come to VRAM ahead of the jobs; 0 =
 *	none. Constant
 * @copies: System memory that still has the content of allocations in VRAM
 * @budgets: Usage and budgets of clients
 * @holdings: Bytes of each segment that clients hold
 * @listeners: Files that clients read their events from
 * @stats: Counters
 * @nr_populated: Number of allocations that have pages, for each log2 of the number of pages,
 *	rounded up (pages.c)
 * @reaches_part: The device can't address all of the machine's memory; constant
 * @pin_limit: Bytes of one client's allocations that may be pinned for other devices
 * @limits: Limits of clients and users
 * @moves_by_cpu: TTM's function copies moved content, but not tiled; set by the benchmark only
 * @dmem_roots: The root cgroup's share of each segment, by TTM_PL_*; NULL = the segment isn't a
 *	region of the dmem controller. Constant while the segment is a region
 */
struct pagoda_vidmm {
	struct ttm_device ttm;
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	u64 reserve_start;
	u64 reserve_size;
	const struct pagoda_paging_limits *paging_limits;
	u64 vram_free;
	void (*bo_destroy)(struct ttm_buffer_object *bo);
	const struct drm_gem_object_funcs *gem_funcs;
	work_func_t closing_work;
	work_func_t ahead_work;
	u32 job_timeout_ms;
	struct pagoda_queue *queue;
	struct pagoda_vram *vram;
	struct pagoda_aperture *aperture;
	struct pagoda_swizzle *swizzle;
	struct pagoda_device_mmu *device_mmu;
	struct pagoda_stream *stream;
	struct pagoda_journal *journal;
	struct pagoda_coredump *coredump;
	struct pagoda_cpu_executor *executor;
	struct pagoda_mmu *mmu;
	struct pagoda_root *roots;
	struct mutex control_lock;	/* protects @transport, @tracks, @deaf, writes of @roots */
	struct mutex scratch_lock;	/* protects scratch windows, but not from moves */
	struct pagoda_transport *transport;
	u64 tracks;
	bool deaf;
	struct pagoda_dummy *dummy;
	struct xarray bos;
	atomic64_t next_id;
	struct ida spaces;
	atomic64_t next_context;
	atomic64_t settling_calls;
	spinlock_t required_lock;	/* protects &pagoda_bo.wish.requirements */
	struct pagoda_mfences *mfences;
	struct pagoda_engines *engines;
	atomic64_t resets;
	struct pagoda_reset *reset;
	spinlock_t deferred_lock;	/* protects @deferred */
	struct list_head deferred;
	struct pagoda_missing *missing;
	struct pagoda_points *points;
	atomic64_t losses;
	atomic64_t aborts;
	struct pagoda_victims *victims;
	struct pagoda_fixed *fixed;
	atomic64_t pinned;
	atomic64_t releases;
	struct pagoda_promotion *promotion;
	struct pagoda_bandwidth *bandwidth;
	u32 submit_share;
	bool defer_jobs;
	u32 ahead_jobs;
	struct pagoda_copies *copies;
	struct pagoda_budgets *budgets;
	struct pagoda_holdings *holdings;
	struct pagoda_listeners *listeners;
	struct pagoda_counters stats;
	atomic_t nr_populated[PAGODA_TT_ORDERS];
	bool reaches_part;
	u64 pin_limit;
	struct pagoda_limits *limits;
#ifdef CONFIG_DRM_PAGODA_BENCH
	bool moves_by_cpu;
#endif
	struct dmem_cgroup_pool_state *dmem_roots[TTM_PL_VRAM + 1];
};

/* Returns &pagoda_vidmm.moves_by_cpu, or false without CONFIG_DRM_PAGODA_BENCH. */
static inline bool pagoda_vidmm_moves_by_cpu(struct pagoda_vidmm *vidmm)
{
#ifdef CONFIG_DRM_PAGODA_BENCH
	return READ_ONCE(vidmm->moves_by_cpu);
#else
	return false;
#endif
}

static inline struct pagoda_vidmm *pagoda_vidmm_of_ttm(struct ttm_device *bdev)
{
	return container_of(bdev, struct pagoda_vidmm, ttm);
}

/*
 * Returns the opcode of all operations that map aperture pages on this device (C64):
 * MAP_APERTURE_SEGMENT2 if the device has that operation, else MAP_APERTURE_SEGMENT.
 */
static inline u32 pagoda_vidmm_map_op(const struct pagoda_vidmm *vidmm)
{
	u32 op = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;

	if (vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_OP(op)))
		return op;
	return VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT;
}

/**
 * struct pagoda_vidmm_args - Arguments of pagoda_vidmm_create()
 * @drm: DRM device, its anon_inode and vma_offset_manager set up
 * @info: Properties of the device, checked; must outlive the manager
 * @transport: Transport of the paging queue and of control commands
 * @use_cpu: Execute paging buffers on the CPU; needs all of VRAM visible
 * @timeout_ms: Milliseconds that a paging buffer may take
 * @update_mode: enum virtio_pagoda_update_mode: how page tables are written; with GPU_VIRTUAL the
 *	device pages by virtual addresses
 * @record_kb: KiB of paging buffers to record from the first one on, 0 = none
 * @engines: Transport of each execution engine; NULL: no engine is used
 * @job_timeout_ms: Milliseconds that a job may run on an engine
 * @pin_limit: Bytes of a client's allocations that may be pinned for other devices; 0 = half of
 *	VRAM's size without the reserve
 * @lru: TTM chooses victims in VRAM that aren't offered, the least recently used first; otherwise
 *	&pagoda_policy chooses, by predicted use and more
 * @promote_ms: Milliseconds that room in VRAM has to last before evicted allocations are promoted;
 *	0 = no promotion
 * @traffic_share: Percent of the paging bandwidth that promotion may use while clients use the
 *	device, 1 to 100
 * @submit_share: Percent of the paging bandwidth at which a client's submissions may evict from
 *	VRAM for allocations that could be used elsewhere, 1 to 100; 0 = without a limit
 * @defer_jobs: Prepare every job, but fenced ones, in a work item, never in SUBMIT
 * @ahead_jobs: Most queued jobs of a client whose allocations come to VRAM ahead of the jobs; 0 =
 *	none
 * @reserve: Bytes of VRAM that only page tables and save areas may use; 0 = none
 * @copies_limit: Bytes of system pages that are kept while their content is in VRAM; 0 = a quarter
 *	of RAM, less than a page = none
 */
struct pagoda_vidmm_args {
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	struct pagoda_transport *transport;
	bool use_cpu;
	u32 timeout_ms;
	u32 update_mode;
	u32 record_kb;
	struct pagoda_transport **engines;
	u32 job_timeout_ms;
	u64 pin_limit;
	bool lru;
	u32 promote_ms;
	u32 traffic_share;
	u32 submit_share;
	bool defer_jobs;
	u32 ahead_jobs;
	u64 reserve;
	u64 copies_limit;
};

u64 pagoda_vidmm_segment_size(struct pagoda_vidmm *vidmm);
u64 pagoda_vidmm_vram_size(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_command_locked(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);
int pagoda_vidmm_command(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);

#endif
