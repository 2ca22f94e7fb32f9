/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files of ttm/ share. move.c decides on the steps of a move,
 * move_steps.c emits their operations.
 */
#ifndef PAGODA_VIDMM_TTM_INTERNAL_H
#define PAGODA_VIDMM_TTM_INTERNAL_H

#include <linux/bits.h>
#include <linux/dma-resv.h>
#include <linux/types.h>
#include <drm/ttm/ttm_placement.h>
#include <drm/ttm/ttm_resource.h>
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/segment/segment.h"

struct dma_buf;
struct dma_fence;
struct drm_device;
struct pagoda_bo;
struct pagoda_copy;
struct pagoda_map_extent;
struct pagoda_paging_cost;
struct pagoda_paging_op;
struct pagoda_stream_txn;
struct pagoda_unique;
struct pagoda_vidmm;
struct ttm_buffer_object;
struct ttm_operation_ctx;
struct ttm_place;
struct ttm_resource;

/*
 * Steps of a move, bits of &pagoda_move.steps. POPULATE comes first; pagoda_move_run() has the
 * order of the others.
 */
#define PAGODA_STEP_POPULATE	BIT(0)		/* a move populates the tt before other steps */
#define PAGODA_STEP_NOTIFY	BIT(1)		/* a move emits NOTIFY_ALLOC if bo->flags want it */
#define PAGODA_STEP_MAP		BIT(2)		/* a move maps the destination in the aperture */
#define PAGODA_STEP_FILL	BIT(3)		/* a move writes zeros to VRAM that may lack them */
#define PAGODA_STEP_TRANSFER	BIT(4)		/* a move copies the content by TRANSFER */
#define PAGODA_STEP_FLUSH	BIT(5)		/* a move drains the write combiner if necessary */
#define PAGODA_STEP_UNMAP	BIT(6)		/* a move unmaps the source from the aperture */
#define PAGODA_STEP_NEVER	BIT(7)		/* TTM never asks for such a move */
#define PAGODA_STEP_DISCARD	BIT(8)		/* a move discards VRAM content, copies nothing */

/**
 * struct pagoda_move_side - Walk over the source or the destination of a move
 * @res: Resource that is walked
 * @vram: Position of the walk if @res is in VRAM
 * @extents: Array for the ranges of a piece, with room for all contiguous ranges of @res, if @res
 *	is in VRAM and the move is by virtual addresses; else NULL
 */
struct pagoda_move_side {
	struct ttm_resource *res;
	struct pagoda_vram_cursor vram;
	struct pagoda_map_extent *extents;
};

/**
 * struct pagoda_virtual - State of a move by virtual addresses
 * @unique: Ranges of the allocation's bytes that only one driver protection may map, sorted
 * @nr_unique: Number of entries in @unique
 * @at_unique: Index of the first entry of @unique that ends after the bytes moved so far
 * @ret: First error of mapping or unmapping a scratch window; there should be none
 */
struct pagoda_virtual {
	struct pagoda_unique *unique;
	u32 nr_unique;
	u32 at_unique;
	int ret;
};

/**
 * struct pagoda_move - A move under way
 * @vidmm: Manager
 * @bo: Allocation
 * @src: Resource that the allocation has; may be NULL
 * @dst: Resource that the allocation moves to
 * @side: Walks over @src and @dst: entries PAGODA_SCRATCH_SOURCE and _DESTINATION
 * @steps: PAGODA_STEP_* bits
 * @pipelined: The stream, not the caller, waits for jobs that use the allocation: the move is an
 *	eviction, or the place has %PAGODA_PL_PIPELINED
 * @ahead: The place has %PAGODA_PL_AHEAD
 * @usage: Usage of the fences in the allocation's reservation that signal before the move is
 *	executed
 * @stays: The content stays in its pages, and the device was told that these are resident: the move
 *	has no notice
 * @was_told: &pagoda_bo.content.told before the move
 * @epoch: pagoda_reset_epoch() before anything was emitted
 * @pages: System pages of the allocation, if it has a tt
 * @copy: TRANSFER or SPECIAL_LOCK_TRANSFER with the members that are equal in all of its pieces
 * @tracking: %VIRTIO_PAGODA_TRANSFER_CLEAN, a flag of all pieces; %VIRTIO_PAGODA_TRANSFER_DIRTY, a
 *	flag of all pieces but those that the CPU may have written; or 0
 * @kept: Kept copy that gave its pages to the allocation, which leaves VRAM; @kept holds the tt
 *	that the allocation had before. NULL = none
 * @torn: A DISCARD_CONTENT of at least some of the content was emitted
 * @unflushed: The device's write combiner may hold bytes written to @dst; cleared by the flush
 * @virtual: State of the move by virtual addresses, if @is_virtual
 * @is_virtual: Copies and fills use addresses in the paging process' address space
 * @txn: Transaction that operations are emitted to; NULL in the run that adds up their costs
 * @cost: Sum of the costs of all operations, and of notices that pagoda_move_undo() repeats
 */
struct pagoda_move {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	struct ttm_resource *src;
	struct ttm_resource *dst;
	struct pagoda_move_side side[PAGODA_SCRATCH_COUNT];
	u32 steps;
	bool pipelined;
	bool ahead;
	enum dma_resv_usage usage;
	bool stays;
	bool was_told;
	u64 epoch;
	struct pagoda_adl pages;
	struct pagoda_paging_op copy;
	u32 tracking;
	struct pagoda_copy *kept;
	bool torn;
	bool unflushed;
	struct pagoda_virtual virtual;
	bool is_virtual;
	struct pagoda_stream_txn *txn;
	struct pagoda_paging_cost cost;
};

static inline bool pagoda_move_leaves_vram(const struct pagoda_move *m)
{
	return m->src && m->src->mem_type == TTM_PL_VRAM && m->dst->mem_type != TTM_PL_VRAM;
}

/* Returns whether an allocation outside of VRAM, or without a resource yet, moves to VRAM. */
static inline bool pagoda_move_is_page_in(const struct pagoda_move *m)
{
	return m->dst->mem_type == TTM_PL_VRAM && !(m->src && m->src->mem_type == TTM_PL_VRAM);
}

/* move.c: moves an allocation's content from one place to another */
u32 pagoda_move_steps(enum pagoda_place from, enum pagoda_place to);
int pagoda_move(struct ttm_buffer_object *ttm_bo, bool evict, struct ttm_operation_ctx *ctx,
		struct ttm_resource *new_mem, struct ttm_place *hop);

/* virtual.c: copies and fills by virtual addresses, in windows of the paging space */
bool pagoda_virtual_wanted(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo);
int pagoda_virtual_init(struct pagoda_move *m);
void pagoda_virtual_fini(struct pagoda_move *m);
int pagoda_virtual_transfer(struct pagoda_move *m, u64 done, u64 *size, u32 tracking);
int pagoda_virtual_fill(struct pagoda_move *m, u64 done);

/*
 * notice.c: notices that an allocation isn't resident any more, or that its content leaves shared
 * memory
 */
bool pagoda_notice_left(const struct pagoda_bo *bo, struct pagoda_paging_op *op);
int pagoda_notice_eviction(struct pagoda_bo *bo, struct pagoda_stream_txn *txn,
			   struct pagoda_paging_cost *cost);
int pagoda_notice_eviction_wait(struct pagoda_bo *bo, bool no_wait);

/* release.c: allocations that leave their place without a copy */
void pagoda_move_release(struct pagoda_bo *bo);
void pagoda_move_release_idle(struct pagoda_bo *bo);
void pagoda_move_discard(struct pagoda_bo *bo);
int pagoda_release_discard_ops(struct pagoda_bo *bo, struct ttm_resource *res,
			       int (*emit)(void *arg, struct pagoda_paging_op *op), void *arg);

/*
 * access.c: reads and writes content for ptrace and /proc/<pid>/mem; a fence for which such an
 * access would wait
 */
struct dma_fence *pagoda_access_blocker(struct pagoda_bo *bo);
int pagoda_move_access(struct pagoda_bo *bo, u64 offset, void *buf, int len, int write);

/* fault.c: whether the CPU can't map an allocation where it is; brings it to where the CPU can */
bool pagoda_fault_must_move(struct pagoda_bo *bo);
int pagoda_fault_bring(struct pagoda_bo *bo, bool interruptible, struct dma_fence **late);

/* move_steps.c: emits the steps of a move, or adds up their cost; undoes a failed move */
int pagoda_move_run(struct pagoda_move *m);
void pagoda_move_undo(struct pagoda_move *m);

/* prime.c: tell importers of a move; export an allocation; whether a dma-buf is such an export */
void pagoda_prime_moves(struct pagoda_bo *bo);
struct dma_buf *pagoda_prime_export(struct pagoda_bo *bo, int flags);
bool pagoda_prime_is_ours(const struct dma_buf *dma_buf, const struct drm_device *drm);

/* import.c: maps and unmaps the memory of an import for the device; detaches an import */
int pagoda_import_map(struct pagoda_bo *bo, struct ttm_operation_ctx *ctx);
void pagoda_import_unmap(struct pagoda_bo *bo);
void pagoda_import_detach(struct pagoda_bo *bo);

#endif
