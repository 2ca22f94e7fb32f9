/* SPDX-License-Identifier: GPL-2.0 */
/* A move under way: move.c decides its steps, move_steps.c emits their operations. */
#ifndef PAGODA_MOVE_H
#define PAGODA_MOVE_H

#include "core/core.h"

#define POPULATE	PAGODA_STEP_POPULATE
#define NOTIFY		PAGODA_STEP_NOTIFY
#define MAP		PAGODA_STEP_MAP
#define FILL		PAGODA_STEP_FILL
#define TRANSFER	PAGODA_STEP_TRANSFER
#define FLUSH		PAGODA_STEP_FLUSH
#define UNMAP		PAGODA_STEP_UNMAP
#define NEVER		PAGODA_STEP_NEVER
#define DISCARD		PAGODA_STEP_DISCARD

/**
 * struct pagoda_move - A move under way
 * @vidmm: Manager
 * @bo: Allocation
 * @src: Resource that the allocation has; may be NULL
 * @dst: Resource that it moves to
 * @steps: PAGODA_STEP_* bits
 * @stays: The pages don't move, and the device knows that they are resident: no notice
 * @was_told: &pagoda_bo.content.told before the move
 * @epoch: pagoda_reset_epoch() before anything was emitted
 * @pages: Pages in system memory, if the allocation has a tt
 * @copy: TRANSFER or SPECIAL_LOCK_TRANSFER with the fields that all pieces share
 * @kept: The allocation leaves VRAM for pages that were kept, and @kept holds the pages that TTM
 *	allocated; or NULL
 * @torn: A DISCARD_CONTENT of some of the content was emitted
 * @unflushed: The device's write combiner may hold bytes of the system side; cleared by the flush
 * @virtual: State of the move by virtual addresses, if @is_virtual
 * @is_virtual: Copies and fills use the paging process' address space
 * @txn: Transaction, or NULL in the run that adds up costs
 * @cost: Sum of the costs
 */
struct pagoda_move {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	struct ttm_resource *src;
	struct ttm_resource *dst;
	u32 steps;
	bool stays;
	bool was_told;
	u64 epoch;
	struct pagoda_adl pages;
	struct pagoda_paging_op copy;
	struct pagoda_copy *kept;
	bool torn;
	bool unflushed;
	struct pagoda_virtual virtual;
	bool is_virtual;
	struct pagoda_stream_txn *txn;
	struct pagoda_paging_cost cost;
};

/* Returns whether a move is out of VRAM. */
static inline bool pagoda_move_leaves_vram(const struct pagoda_move *m)
{
	return m->src && m->src->mem_type == TTM_PL_VRAM && m->dst->mem_type != TTM_PL_VRAM;
}

/* Returns whether a move is into VRAM from elsewhere. */
static inline bool pagoda_move_is_page_in(const struct pagoda_move *m)
{
	return m->dst->mem_type == TTM_PL_VRAM && !(m->src && m->src->mem_type == TTM_PL_VRAM);
}

int pagoda_move_run(struct pagoda_move *m);
void pagoda_move_undo(struct pagoda_move *m);

#endif
