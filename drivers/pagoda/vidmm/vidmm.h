/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of vidmm/ show each other, and the KUnit suites.
 */
#ifndef PAGODA_VIDMM_INTERNAL_H
#define PAGODA_VIDMM_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_mm.h>
#include <drm/ttm/ttm_bo.h>
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include <drm/ttm/ttm_tt.h>
#include <pagoda/compat.h>
#include <pagoda/paging.h>
#include <pagoda/queue.h>
#include <pagoda/vidmm.h>

/** PAGODA_PIECE_BYTES: most bytes of one TRANSFER or FILL; about a millisecond. */
#define PAGODA_PIECE_BYTES	(8u << 20)

/* ---- VRAM segment (vram.c) ---------------------------------------------- */

/**
 * struct pagoda_vram - The VRAM segment
 * @manager: TTM's view; usage in bytes
 * @lock: Protects @mm, @visible_used and the block lists of resources
 * @mm: Blocks; pages reported invalid are allocated for good
 * @reserved: Blocks of the invalid ranges
 * @visible_size: Bytes from 0 the CPU can reach
 * @visible_used: Bytes of them in use
 * @window: Kernel address of VRAM's visible part, page-table contiguous, or NULL
 */
struct pagoda_vram {
	struct ttm_resource_manager manager;
	struct mutex lock;	/* mm, visible_used, block lists */
	struct gpu_buddy mm;
	struct list_head reserved;
	u64 visible_size;
	u64 visible_used;
	u8 *window;
};

/**
 * struct pagoda_vram_resource - An allocation's place in VRAM
 * @base: TTM's part; @base.start is the first page
 * @blocks: Buddy blocks in allocation order
 * @visible: Bytes of it the CPU can reach
 */
struct pagoda_vram_resource {
	struct ttm_resource base;
	struct list_head blocks;
	u64 visible;
};

/**
 * struct pagoda_vram_cursor - Walk over the contiguous ranges of a VRAM resource
 * @address: Offset in VRAM of the current range
 * @size: Bytes of it, never more than what is left of the walk; 0 = at the end
 * @clean: The range is known to read as zeros
 * @resource: Resource walked
 * @block: Current block
 * @left: Bytes left of the walk, with the current range
 */
struct pagoda_vram_cursor {
	u64 address;
	u64 size;
	bool clean;
	struct pagoda_vram_resource *resource;
	struct gpu_buddy_block *block;
	u64 left;
};

int pagoda_vram_init(struct pagoda_vidmm *vidmm);
void pagoda_vram_fini(struct pagoda_vidmm *vidmm);
bool pagoda_vram_is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res);
bool pagoda_vram_is_contiguous(struct ttm_resource *res);
u32 pagoda_vram_count_ranges(struct ttm_resource *res);
u64 pagoda_vram_largest_free(struct pagoda_vidmm *vidmm);
bool pagoda_vram_could_hold(struct pagoda_vidmm *vidmm, const struct ttm_place *place,
			    u64 size, u64 align);
void pagoda_vram_first(struct pagoda_vram_cursor *cur, struct ttm_resource *res,
		       u64 offset, u64 size);
void pagoda_vram_next(struct pagoda_vram_cursor *cur, u64 size);
unsigned long pagoda_vram_pfn(struct pagoda_vidmm *vidmm, struct ttm_resource *res,
			      unsigned long page_offset);
int pagoda_vram_map_window(struct pagoda_vidmm *vidmm);
void pagoda_vram_unmap_window(struct pagoda_vidmm *vidmm);

/* ---- Aperture segment (aperture.c) --------------------------------------- */

/**
 * struct pagoda_aperture - The aperture segment, TTM_PL_TT
 * @manager: TTM's view. System pages without an address count only in usage
 * @lock: Protects @mm, @mapped and @generation
 * @mm: Addresses in pages
 * @mapped: Pages that have an address, never more than the segment has (C68)
 * @generation: Last generation given to a mapping
 */
struct pagoda_aperture {
	struct ttm_resource_manager manager;
	struct mutex lock;	/* mm, mapped, generation */
	struct drm_mm mm;
	u64 mapped;
	u32 generation;
};

/**
 * struct pagoda_aperture_resource - System pages the GPU may use in place
 * @base: TTM's part
 * @node: Its address, allocated only if the placement asked for one
 *	(place->lpfn != 0)
 * @generation: Generation of its mapping, 0 without an address
 * @bound: MAP was issued and no UNMAP since; protected by the reservation
 * @cpu: Kernel address of the pages while mapped, if the allocation asked for one
 *	(C67); set before MAP, gone with the resource
 */
struct pagoda_aperture_resource {
	struct ttm_resource base;
	struct drm_mm_node node;
	u32 generation;
	bool bound;
	void *cpu;
};

/** pagoda_aperture_of() - Resource of the aperture around TTM's part. */
static inline struct pagoda_aperture_resource *pagoda_aperture_of(struct ttm_resource *res)
{
	return container_of(res, struct pagoda_aperture_resource, base);
}

int pagoda_aperture_init(struct pagoda_vidmm *vidmm);
void pagoda_aperture_fini(struct pagoda_vidmm *vidmm);
bool pagoda_aperture_has_address(struct ttm_resource *res);

#if IS_ENABLED(CONFIG_KUNIT)
/* For the suites to redirect: they return NULL when there is no memory. */
struct pagoda_vram_resource *pagoda_vram_new_resource(void);
struct pagoda_aperture_resource *pagoda_aperture_new_resource(void);
#endif

/* ---- Stream (stream.c): the loop of the OS side around the builder ------- */

/**
 * struct pagoda_stream - The paging buffer being filled
 * @queue: Where full ones go
 * @limits: For the builders
 * @lock: Protects everything below. Taken on the way to signalling a fence
 * @open: Armed submission being filled, or NULL
 * @reserve: One that is ready, for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes the operations in @open move
 * @plugs: Callers that will add more soon
 * @flush: Pushes @open when they take too long; the bound that makes an armed
 *	and open fence legal
 * @patience: Jiffies until it does; constant
 * @wq: For @flush, usable in reclaim
 * @fence_page: Where each submission writes its number at its end
 * @fence_dma: Its bus address
 * @room: Bytes operations may use of the smallest buffer: all but that write
 * @packets: Packets the smallest submission has private data for, without it
 */
struct pagoda_stream {
	struct pagoda_queue *queue;
	struct pagoda_paging_limits limits;
	struct mutex lock;	/* all below */
	struct pagoda_submission *open;
	struct pagoda_submission *reserve;
	struct pagoda_paging_buffer buf;
	u64 open_cost;
	unsigned int plugs;
	struct delayed_work flush;
	unsigned long patience;
	struct workqueue_struct *wq;
	struct page *fence_page;
	dma_addr_t fence_dma;
	u32 room;
	u32 packets;
};

/**
 * struct pagoda_stream_txn - Operations that become visible as one fence
 * @vidmm: Whose stream
 * @bo: Allocation whose fences BUSY waits for, or NULL (C25)
 * @spare: Submissions got in advance, so that nothing can fail once started
 * @only: Where @spare points if it is a single one
 * @fence: Fence of the last submission used
 * @nr_spare: Entries of @spare; taken from the end
 * @fresh: The next operation must not share a submission with earlier ones: the
 *	last entry of @spare has dependencies
 * @idle: @bo was waited for: %PAGODA_ALLOCATION_IS_IDLE may be said
 * @no_wait: Answer -EBUSY instead of waiting
 * @cookie: Of the fence signalling section the transaction is
 */
struct pagoda_stream_txn {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	struct pagoda_submission **spare;
	struct pagoda_submission *only;
	struct dma_fence *fence;
	u32 nr_spare;
	bool fresh;
	bool idle;
	bool no_wait;
	bool cookie;
};

int pagoda_stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_stream_fini(struct pagoda_vidmm *vidmm);
void pagoda_stream_plug(struct pagoda_vidmm *vidmm);
void pagoda_stream_unplug(struct pagoda_vidmm *vidmm);
int pagoda_stream_begin(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			struct pagoda_bo *bo, struct dma_resv *resv,
			enum dma_resv_usage usage, const struct pagoda_paging_cost *cost);
void pagoda_stream_begin_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			      struct pagoda_bo *bo, struct dma_resv *resv,
			      const struct pagoda_paging_cost *cost);
int pagoda_stream_emit(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op);
struct dma_fence *pagoda_stream_end(struct pagoda_stream_txn *txn);

/* ---- Moves (move.c) ------------------------------------------------------ */

/**
 * enum pagoda_place - Where content is, as the decision table sees it
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
#define PAGODA_STEP_FLUSH	BIT(5)		/* READ_PHYSICAL: the CPU will look */
#define PAGODA_STEP_UNMAP	BIT(6)		/* UNMAP_APERTURE_SEGMENT of the source */
#define PAGODA_STEP_NEVER	BIT(7)		/* TTM doesn't ask for this */

u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to);
enum pagoda_place pagoda_move_place(struct ttm_buffer_object *bo, struct ttm_resource *res);
int pagoda_move(struct ttm_buffer_object *ttm_bo, bool evict, struct ttm_operation_ctx *ctx,
		struct ttm_resource *new_mem, struct ttm_place *hop);

/* ---- Leaving for good (release.c), looking in (access.c) ------------------ */

struct pagoda_paging_op pagoda_release_unmap_op(struct pagoda_vidmm *vidmm,
						struct ttm_resource *res);
void pagoda_move_release(struct pagoda_bo *bo);
void pagoda_move_discard(struct pagoda_bo *bo);
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write);

/* ---- Allocations (bo.c, ttm.c) ------------------------------------------- */

/**
 * struct pagoda_bo - An allocation
 * @ttm: TTM's part, with the GEM object in it
 * @vidmm: Manager
 * @client: Who pays
 * @id: Number for traces and packets; never 0, never reused
 * @flags: DRM_PAGODA_ALLOCATION_ flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Supported segments it could fit in, preferred ones first, then zeros
 * @alignment: Bytes
 * @lost: Content was lost to a device failure; set from the fence path, sticky
 * @unclean: Lost, and not cleared since; set from the fence path, cleared with the
 *	reservation held
 * @needs_idle: Has set-up that can't be queued (fault injection sets it);
 *	protected by the reservation
 * @discardable: Its content isn't needed: eviction is DISCARD_CONTENT;
 *	protected by the reservation
 * @resident: Was made resident and not evicted on request since; protected by the
 *	reservation
 * @charged: Segment its bytes are charged to, %VIRTIO_PAGODA_SEGMENT_COUNT = none;
 *	protected by the reservation
 * @evict_places: What TTM was last told about eviction; the same
 */
struct pagoda_bo {
	struct ttm_buffer_object ttm;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	u64 id;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
	bool lost;
	bool unclean;
	bool needs_idle;
	bool discardable;
	bool resident;
	u32 charged;
	struct ttm_place evict_places[4];
};

/** pagoda_bo_of_ttm() - Allocation around a TTM object that is one of ours. */
static inline struct pagoda_bo *pagoda_bo_of_ttm(struct ttm_buffer_object *bo)
{
	return container_of(bo, struct pagoda_bo, ttm);
}

int pagoda_lost_clear(struct pagoda_bo *bo);
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo);
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *from, struct ttm_resource *to);
/* Fill places[] (at least 4) for the allocation; returns the number of them. */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places);
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places);

extern const struct ttm_device_funcs pagoda_ttm_funcs;
extern const struct drm_gem_object_funcs pagoda_bo_gem_funcs;
extern const struct vm_operations_struct pagoda_bo_vm_ops;
u32 pagoda_segment_of(const struct ttm_resource *res);

/* ---- The manager (vidmm.c) ----------------------------------------------- */

/* Statistics; struct drm_pagoda_stats says what each counts. */
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
	atomic64_t commands;
	atomic64_t faults;
	atomic64_t lost;
};

/**
 * struct pagoda_vidmm - The memory manager of a device
 * @ttm: TTM's device
 * @drm: DRM device
 * @info: What the device told
 * @vram: Segment 1
 * @aperture: Segment 2
 * @stream: Paging buffers
 * @executor: Memory as the CPU executor sees it; @stream's order protects it
 * @dummy_page: Page behind unmapped aperture addresses
 * @dummy_dma: Its bus address
 * @bos: Allocations by id, for what is only known by its name; its lock protects
 *	the allocation against going away while it is looked at
 * @next_id: Last allocation id given
 * @residency: Held by whoever locks lists of allocations; for writing by who must
 *	not be disturbed by other lists. Outside of all reservations
 * @stats: Counters
 * @moves_by_cpu: The benchmark wants TTM's own copy to compare with
 */
struct pagoda_vidmm {
	struct ttm_device ttm;
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	struct pagoda_vram vram;
	struct pagoda_aperture aperture;
	struct pagoda_stream stream;
	struct pagoda_cpu_executor executor;
	struct page *dummy_page;
	dma_addr_t dummy_dma;
	struct xarray bos;
	atomic64_t next_id;
	struct rw_semaphore residency;
	struct pagoda_counters stats;
#ifdef CONFIG_DRM_PAGODA_BENCH
	bool moves_by_cpu;
#endif
};

/** pagoda_vidmm_moves_by_cpu() - For the benchmark: shall TTM's own copy do moves? */
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

/** pagoda_vidmm_map_op() - Operation that maps the aperture: never both (C64). */
static inline u32 pagoda_vidmm_map_op(const struct pagoda_vidmm *vidmm)
{
	u32 op = VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2;

	if (vidmm->stream.limits.features & BIT_ULL(VIRTIO_PAGODA_F_OP(op)))
		return op;
	return VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT;
}

#endif
