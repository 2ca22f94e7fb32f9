/* SPDX-License-Identifier: GPL-2.0 */
/* A move under way: what move.c decides and move_steps.c emits. */
#ifndef PAGODA_MOVE_H
#define PAGODA_MOVE_H

#include "vidmm.h"

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
 * @src: Where it is; may be NULL
 * @dst: Where it goes
 * @steps: PAGODA_STEP_ bits
 * @stays: The pages stay where they are and are resident: nothing to tell
 * @was_told: &pagoda_bo.told before
 * @epoch: pagoda_reset_epoch() before anything was emitted
 * @pages: System side
 * @copy: TRANSFER or SPECIAL_LOCK_TRANSFER, what is the same in all pieces
 * @kept: It leaves VRAM with pages that were kept, and this has TTM's; or NULL
 * @torn: Some of the content was discarded
 * @unflushed: The device may hold what it wrote to the system side, until the flush
 * @virtual: The move by virtual addresses, if @is_virtual
 * @is_virtual: Copies and fills are in the paging process' address space
 * @txn: Transaction, or NULL while costs are added up
 * @cost: Their sum
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

/** pagoda_move_leaves_vram() - Is it a move out of VRAM? */
static inline bool pagoda_move_leaves_vram(const struct pagoda_move *m)
{
	return m->src && m->src->mem_type == TTM_PL_VRAM && m->dst->mem_type != TTM_PL_VRAM;
}

/** pagoda_move_is_page_in() - Is it a move into VRAM? */
static inline bool pagoda_move_is_page_in(const struct pagoda_move *m)
{
	return m->dst->mem_type == TTM_PL_VRAM && !(m->src && m->src->mem_type == TTM_PL_VRAM);
}

int pagoda_move_run(struct pagoda_move *m);
void pagoda_move_undo(struct pagoda_move *m);

#endif
