/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations shared by the files of vidmm/ and the KUnit suites. */
#ifndef PAGODA_VIDMM_INTERNAL_H
#define PAGODA_VIDMM_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/idr.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include <drm/ttm/ttm_tt.h>
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/ledger/promotion.h"
#include "vidmm/recover/coredump.h"
#include "vidmm/segment/memory.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/recording.h"
#include "vidmm/stream/stream.h"
#include "compat.h"
#include "reset.h"
#include "vidmm.h"

struct dmem_cgroup_pool_state;
struct dma_buf;
struct pagoda_victims;
struct shrinker;
struct dma_buf_attachment;
struct pagoda_command;
struct pagoda_engines;
struct pagoda_stream_txn;
struct pagoda_transport;

/* ---- Moves (move.c) ------------------------------------------------------ */

/**
 * enum pagoda_place - Places of content in the decision table of moves
 * @PAGODA_PLACE_NONE: no resource yet
 * @PAGODA_PLACE_SYSTEM_EMPTY: system segment, no pages, no swap
 * @PAGODA_PLACE_SYSTEM: system segment with content
 * @PAGODA_PLACE_APERTURE: aperture without an address
 * @PAGODA_PLACE_APERTURE_BOUND: aperture with an address
 * @PAGODA_PLACE_VRAM: VRAM
 * @PAGODA_PLACE_COUNT: number of places
 */
enum pagoda_place {
	PAGODA_PLACE_NONE,
	PAGODA_PLACE_SYSTEM_EMPTY,
	PAGODA_PLACE_SYSTEM,
	PAGODA_PLACE_APERTURE,
	PAGODA_PLACE_APERTURE_BOUND,
	PAGODA_PLACE_VRAM,
	PAGODA_PLACE_COUNT
};

/* Steps of a move, in the order they are emitted. */
#define PAGODA_STEP_POPULATE	BIT(0)		/* give the tt pages, or swap it in */
#define PAGODA_STEP_NOTIFY	BIT(1)		/* NOTIFY_ALLOC(Eviction) if wanted */
#define PAGODA_STEP_MAP		BIT(2)		/* MAP_APERTURE_SEGMENT(2) of the target */
#define PAGODA_STEP_FILL	BIT(3)		/* FILL with zeros where not clean */
#define PAGODA_STEP_TRANSFER	BIT(4)		/* TRANSFER the content */
#define PAGODA_STEP_FLUSH	BIT(5)		/* READ_*, WRITE_PHYSICAL: the CPU will look */
#define PAGODA_STEP_UNMAP	BIT(6)		/* UNMAP_APERTURE_SEGMENT of the source */
#define PAGODA_STEP_NEVER	BIT(7)		/* TTM doesn't ask for this */
#define PAGODA_STEP_DISCARD	BIT(8)		/* DISCARD_CONTENT instead of all of it */

u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to);
struct pagoda_paging_op pagoda_move_map_op(struct pagoda_bo *bo, struct ttm_resource *res,
					   const struct pagoda_adl *pages);
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res);
int pagoda_move(struct ttm_buffer_object *ttm_bo, bool evict, struct ttm_operation_ctx *ctx,
		struct ttm_resource *new_mem, struct ttm_place *hop);

/* ---- Moves by virtual addresses (virtual.c) ------------------------------- */

/**
 * struct pagoda_virtual_side - Source or destination of a move by virtual addresses
 * @res: Resource or NULL
 * @vram: Walk over the resource if it is VRAM
 * @extents: VRAM: room for all its ranges
 */
struct pagoda_virtual_side {
	struct ttm_resource *res;
	struct pagoda_vram_cursor vram;
	struct pagoda_map_extent *extents;
};

/**
 * struct pagoda_unique - Bytes of an allocation that are mapped with unique driver protection
 * @start: First byte
 * @end: Byte after the last
 * @value: Driver protection
 */
struct pagoda_unique {
	u64 start;
	u64 end;
	u64 value;
};

int pagoda_unique_of(struct pagoda_bo *bo, struct pagoda_unique **list, u32 *count);

/**
 * struct pagoda_virtual - A move by virtual addresses
 * @bo: Allocation
 * @side: Source and destination, by the window they are mapped in
 * @unique: Ranges with unique driver protection, by offset
 * @nr_unique: Number of entries in @unique
 * @at_unique: First entry that isn't behind the bytes moved so far
 * @txn: Transaction, or NULL while costs are added up
 * @cost: Sum of the costs
 * @ret: First error of mapping or unmapping; there should be none
 */
struct pagoda_virtual {
	struct pagoda_bo *bo;
	struct pagoda_virtual_side side[PAGODA_SCRATCH_COUNT];
	struct pagoda_unique *unique;
	u32 nr_unique;
	u32 at_unique;
	struct pagoda_stream_txn *txn;
	struct pagoda_paging_cost *cost;
	int ret;
};

bool pagoda_virtual_wanted(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo);
int pagoda_virtual_init(struct pagoda_virtual *virtual, struct pagoda_bo *bo,
			struct ttm_resource *src, struct ttm_resource *dst);
void pagoda_virtual_fini(struct pagoda_virtual *virtual);
int pagoda_virtual_transfer(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn,
			    struct pagoda_paging_cost *cost);
int pagoda_virtual_fill(struct pagoda_virtual *virtual, struct pagoda_stream_txn *txn, u64 epoch,
			struct pagoda_paging_cost *cost);

/* ---- Page tables (tables.c) ---------------------------------------------- */

int pagoda_tables_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_tables_fini(struct pagoda_vidmm *vidmm);
void pagoda_tables_forget(struct pagoda_vidmm *vidmm);
void pagoda_tables_rescued(struct pagoda_vidmm *vidmm, const struct pagoda_submission *sub,
			   u32 start);

/* ---- Notices (notice.c), leaving for good (release.c), looking in (access.c) ----------------*/

bool pagoda_notice_left(const struct pagoda_bo *bo, struct pagoda_paging_op *op);
int pagoda_notice_arrived(struct pagoda_bo *bo, struct ttm_resource *res,
			  int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);
int pagoda_notice_eviction(struct pagoda_bo *bo, struct pagoda_stream_txn *txn,
			   struct pagoda_paging_cost *cost);
int pagoda_notice_eviction_wait(struct pagoda_bo *bo, bool no_wait);
struct pagoda_paging_op pagoda_release_unmap_op(struct pagoda_vidmm *vidmm,
						struct ttm_resource *res);
bool pagoda_release_is_mapped(struct ttm_resource *res);
void pagoda_move_release(struct pagoda_bo *bo);
void pagoda_move_discard(struct pagoda_bo *bo);
int pagoda_release_discard_ops(struct pagoda_bo *bo, struct ttm_resource *res,
			       int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);
struct dma_fence *pagoda_access_user(struct pagoda_bo *bo, enum dma_resv_usage usage);
struct dma_fence *pagoda_access_blocker(struct pagoda_bo *bo);
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write);

/* ---- Copies of allocations in VRAM (copy.c) ----------------------------------- */

/**
 * struct pagoda_copies - All copies of allocations in VRAM
 * @bytes: Sum of their sizes, including those that are given up and not freed yet
 * @limit: Most of @bytes; constant
 * @lock: Protects the lists; innermost, and taken where memory is reclaimed
 * @list: struct pagoda_copy, in the order in which they were kept
 * @unwanted: Copies that @work has to give up
 * @work: Gives up @unwanted
 * @shrinker: Called where memory is short; NULL when the hardware is gone
 */
struct pagoda_copies {
	atomic64_t bytes;
	u64 limit;
	spinlock_t lock;	/* list, unwanted */
	struct list_head list;
	struct list_head unwanted;
	struct work_struct work;
	struct shrinker *shrinker;
};

struct pagoda_copy;

int pagoda_copies_init(struct pagoda_vidmm *vidmm);
void pagoda_copies_stop(struct pagoda_vidmm *vidmm);
const struct pagoda_bo *pagoda_copy_owner(struct ttm_buffer_object *bo);
void pagoda_copy_keep(struct pagoda_bo *bo, struct dma_fence *reader);
struct pagoda_copy *pagoda_copy_take(struct pagoda_bo *bo);
void pagoda_copy_put_back(struct pagoda_bo *bo, struct pagoda_copy *copy);
void pagoda_copy_put(struct pagoda_bo *bo, struct pagoda_copy *copy, bool left);
void pagoda_copy_drop(struct pagoda_bo *bo);
void pagoda_copy_swap_notify(struct ttm_buffer_object *bo);
bool pagoda_copy_is_clean(struct pagoda_bo *bo);
void pagoda_copy_settle(struct pagoda_bo *bo);
void pagoda_copy_moved(struct pagoda_bo *bo);
void pagoda_copy_used(struct pagoda_bo *bo);
void pagoda_copy_shared(struct pagoda_bo *bo);
void pagoda_copy_written(struct pagoda_bo *bo);
void pagoda_copy_required(struct pagoda_bo *bo);
void pagoda_copy_released(struct pagoda_bo *bo, bool unwritten);

/* ---- Residency of lists (residency.c) --------------------------------------- */

/**
 * enum pagoda_attempt - How hard it is tried to make lists resident
 * @PAGODA_ATTEMPT_SHARED: beside other lists
 * @PAGODA_ATTEMPT_ALONE: no other list is locked, and every allocation may be evicted
 * @PAGODA_ATTEMPT_EMPTIED: alone, nothing is executed, and the list leaves VRAM first
 * @PAGODA_ATTEMPTS: number of attempts
 */
enum pagoda_attempt {
	PAGODA_ATTEMPT_SHARED,
	PAGODA_ATTEMPT_ALONE,
	PAGODA_ATTEMPT_EMPTIED,
	PAGODA_ATTEMPTS
};

/**
 * struct pagoda_demand - Bytes that a list needs, by where they can be
 * @only_vram: in VRAM
 * @only_aperture: at an address of the aperture
 * @either: at one of both
 */
struct pagoda_demand {
	u64 only_vram;
	u64 only_aperture;
	u64 either;
};

void pagoda_demand_add(struct pagoda_demand *demand, const struct pagoda_bo *bo);
void pagoda_demand_remove(struct pagoda_demand *demand, const struct pagoda_bo *bo);
u64 pagoda_demand_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand);
int pagoda_residency_enter(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt,
			   bool interruptible);
void pagoda_residency_leave(struct pagoda_vidmm *vidmm, enum pagoda_attempt attempt);
struct dma_fence *pagoda_residency_later(struct pagoda_vidmm *vidmm, struct dma_fence *latest,
					 struct dma_resv *resv);

/* ---- Address spaces of clients (vm.c, table_memory.c) ------------------------- */

struct pagoda_table_memory;
struct pagoda_vm;

void pagoda_vm_bo_moves(struct pagoda_bo *bo);
int pagoda_vm_bo_opened(struct pagoda_bo *bo, bool opened);
int pagoda_vm_table_alloc(struct pagoda_vm *vm, u32 size, struct pagoda_table_memory *memory);
void pagoda_vm_table_free(struct pagoda_vm *vm, struct pagoda_table_memory *memory,
			  struct dma_fence *fence);
bool pagoda_vm_may_evict(struct pagoda_bo *bo);
void pagoda_vm_table_evict(struct pagoda_bo *bo);
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout);

/* ---- Monitored fences (fence*.c) ------------------------------------------ */

/**
 * struct pagoda_mfences - All monitored fences
 * @lock: Protects @held; also held while the CPU checks and stores fence values. Inside of
 *	reservations; taken in the dma_fence signalling path
 * @held: Fences with a page that is pinned in its place
 * @kept: Kept promises, to be released
 * @look: Work that looks at all of @held
 * @reap: Work that releases @kept
 * @wq: For both, and for waits without a sleeping thread
 */
struct pagoda_mfences {
	struct mutex lock;	/* held */
	struct list_head held;
	struct llist_head kept;
	struct work_struct look;
	struct work_struct reap;
	struct workqueue_struct *wq;
};

int pagoda_mfences_init(struct pagoda_vidmm *vidmm);
void pagoda_mfences_stop(struct pagoda_vidmm *vidmm);
void pagoda_mfences_fini(struct pagoda_vidmm *vidmm);
void pagoda_mfences_reap(struct work_struct *work);

/* ---- The manager (vidmm.c) ----------------------------------------------- */

/* Statistics; struct drm_pagoda_stats documents each counter. */
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

/**
 * struct pagoda_dummy - Page behind unmapped addresses of the aperture (dummy.c)
 * @mem: The page; zeros, unless something wrote where it mustn't
 * @flush: Another page, which WRITE_PHYSICAL writes to
 * @lock: Protects @found, @offset and @value
 * @found: Number of times that the page wasn't zeros
 * @offset: Offset in bytes of the last stray word
 * @value: The last stray word
 */
struct pagoda_dummy {
	struct pagoda_sysmem mem;
	struct pagoda_sysmem flush;
	spinlock_t lock;	/* found, offset, value */
	u64 found;
	u32 offset;
	u64 value;
};

struct drm_printer;

int pagoda_dummy_init(struct pagoda_vidmm *vidmm);
int pagoda_dummy_map(struct pagoda_vidmm *vidmm);
void pagoda_dummy_inspect(struct pagoda_vidmm *vidmm);
void pagoda_dummy_print(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_dummy_fini(struct pagoda_vidmm *vidmm);

/* ttm_tt.num_pages is 32 bits wide. */
#define PAGODA_TT_ORDERS	33

/**
 * struct pagoda_vidmm - The memory manager of a device
 * @ttm: TTM's device
 * @drm: DRM device
 * @info: What the device reported about itself
 * @reserve_start: First byte of the part of VRAM for page tables and save areas only; constant
 * @reserve_size: Bytes of that part, 0 = there is none; constant
 * @vram: Segment 1
 * @aperture: Segment 2
 * @swizzle: Swizzling ranges
 * @device_mmu: Device addresses of system memory
 * @stream: Paging buffers
 * @journal: Record of the stream
 * @executor: Memory as the CPU executor sees it; protected by @stream's order
 * @mmu: Page tables, NULL on a device without address spaces
 * @roots: Root of each address space as the device has it; written with @control_lock held, read
 *	while nothing of the space executes
 * @control_lock: Protects @transport and @deaf; outside of the transport's locks; taken in the
 *	dma_fence signalling path
 * @scratch_lock: Protects the scratch windows outside of moves
 * @transport: Way to the device for control commands, NULL when it is gone
 * @deaf: The device failed a command that sets a root; no more of them are sent until a reset
 * @dummy: Page behind unmapped aperture addresses
 * @bos: Allocations by id, for packets and debugfs; its lock keeps an allocation from going away
 *	while it is looked at
 * @next_id: Last allocation id given
 * @spaces: Numbers of address spaces in use
 * @next_context: Last context id given
 * @residency: Held while lists of allocations are locked; for writing if other lists must not
 *	interfere. Outside of all reservations and VMs' locks
 * @settling_calls: Number of calls that looked for settled allocations
 * @required_lock: Protects &pagoda_bo.wish.requirements of all allocations; nothing is allocated
 *	with it held
 * @taking: Number of threads that place an allocation by evicting others from VRAM
 * @pressing: Number of threads that can't place an allocation otherwise: they evict memory that
 *	queued changes of VMs keep in place (C145), and page tables that only wait for paging
 * @mfences: Monitored fences
 * @engines: Engines that execute commands, NULL if there are none
 * @resets: Number of times the device was reset as a whole
 * @reset: State of a reset
 * @deferred_lock: Protects @deferred; taken from interrupts
 * @deferred: Queues of deferred work that aren't empty
 * @coredump: The last failure, for the device coredump
 * @losses: Number of times that paging gave up content; see pagoda_lost_mark()
 * @aborts: Number of @losses that a reset caused; counted before @losses
 * @offers: Offered allocations
 * @victims: The choice of victims
 * @promotion: Allocations that wait for room in VRAM
 * @bandwidth: Measured bandwidth of paging; the queue measures it
 * @submit_share: Percent of the bandwidth that each client's submissions may evict from VRAM for
 *	allocations they only prefer to have there; 0 = no limit. Constant
 * @copies: Copies of allocations in VRAM
 * @budgets: Usage and budgets of clients
 * @listeners: Clients that receive events
 * @stats: Counters
 * @nr_populated: Allocations that have pages, by the power of two their number is rounded up to
 *	(pages.c)
 * @reaches_part: The device doesn't reach all of the machine's memory; constant
 * @pin_limit: Bytes of one client's allocations that may be pinned for other devices
 * @limits: Limits of clients and users
 * @moves_by_cpu: Moves are done by TTM's own copy, for the benchmark to compare with
 * @dmem_roots: The root cgroup's share of each segment, by TTM_PL_*; NULL = the segment isn't a
 *	region of the dmem controller. Constant while it is one
 */
struct pagoda_vidmm {
	struct ttm_device ttm;
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	u64 reserve_start;
	u64 reserve_size;
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
	struct mutex control_lock;	/* transport, deaf, roots */
	struct mutex scratch_lock;	/* scratch windows outside of moves */
	struct pagoda_transport *transport;
	bool deaf;
	struct pagoda_dummy *dummy;
	struct xarray bos;
	atomic64_t next_id;
	struct ida spaces;
	atomic64_t next_context;
	struct rw_semaphore residency;
	atomic64_t settling_calls;
	spinlock_t required_lock;	/* pagoda_bo.wish.requirements */
	atomic_t taking;
	atomic_t pressing;
	struct pagoda_mfences *mfences;
	struct pagoda_engines *engines;
	atomic64_t resets;
	struct pagoda_reset *reset;
	spinlock_t deferred_lock;	/* deferred */
	struct list_head deferred;
	atomic64_t losses;
	atomic64_t aborts;
	struct pagoda_offers *offers;
	struct pagoda_victims *victims;
	struct pagoda_promotion *promotion;
	struct pagoda_bandwidth *bandwidth;
	u32 submit_share;
	struct pagoda_copies *copies;
	struct pagoda_budgets *budgets;
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

/* Returns whether TTM's own copy does moves, for the benchmark. */
static inline bool pagoda_vidmm_moves_by_cpu(struct pagoda_vidmm *vidmm)
{
#ifdef CONFIG_DRM_PAGODA_BENCH
	return READ_ONCE(vidmm->moves_by_cpu);
#else
	return false;
#endif
}

u64 pagoda_vidmm_segment_size(struct pagoda_vidmm *vidmm);
u64 pagoda_vidmm_vram_size(struct pagoda_vidmm *vidmm);
int pagoda_vidmm_command_locked(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);
int pagoda_vidmm_command(struct pagoda_vidmm *vidmm, const struct pagoda_command *command);

static inline struct pagoda_vidmm *pagoda_vidmm_of_ttm(struct ttm_device *bdev)
{
	return container_of(bdev, struct pagoda_vidmm, ttm);
}

/* Returns the operation that maps the aperture; both are never used on one device (C64). */
static inline u32 pagoda_vidmm_map_op(const struct pagoda_vidmm *vidmm)
{
	u32 op = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;

	if (vidmm->stream->limits.features & BIT_ULL(VIRTIO_PAGODA_F_OP(op)))
		return op;
	return VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT;
}

#endif
