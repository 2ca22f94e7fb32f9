// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of a transaction: validated, encoded by their builders, and traced.
 *
 * Operations are appended to the open submission of a line. When a builder runs out of room, the
 * submission is queued and the operation continues in a new submission. When a builder answers that
 * the allocation is busy, the transaction waits until the allocation is idle and builds the
 * operation again with AllocationIsIdle.
 *
 * Where a transaction has no submission left, it gets one of those that are set aside, or, if it
 * exceeds its cost, allocates another one.
 */
#include <linux/sched/mm.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/trace.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/limits.h"
#include "internal.h"
#include "stream.h"

/*
 * Returns the number of packets whose private data fits into a submission, besides the packet that
 * writes the fence page.
 */
u32 pagoda_stream_sub_packets(const struct pagoda_submission *sub)
{
	return sub->priv_size / PAGODA_PAGING_MIN_PRIVATE - 1;
}

/*
 * Allocates another submission for a transaction that exceeds its cost, which is a bug of the
 * driver. Doesn't reclaim, which isn't allowed in the fence signalling path.
 */
static struct pagoda_submission *txn_get_more(struct pagoda_stream_txn *txn)
{
	struct pagoda_vidmm *vidmm = txn->vidmm;
	unsigned int flags = memalloc_noreclaim_save();
	struct pagoda_submission *sub = pagoda_queue_get(vidmm->queue, txn->line->queue, 0, 0);

	memalloc_noreclaim_restore(flags);
	if (!atomic64_fetch_inc(&vidmm->stats.overruns))
		drm_err(vidmm->drm, "paging takes more than it should\n");
	return sub;
}

/* Sets &pagoda_stream_line.in_transfer, or clears it and wakes transactions that wait for that. */
static void line_set_transfer(struct pagoda_stream *stream, struct pagoda_stream_line *line,
			      bool in_transfer)
{
	lockdep_assert_held(&stream->lock);
	WRITE_ONCE(line->in_transfer, in_transfer);
	if (!in_transfer)
		wake_up_all(&stream->turn);
}

/*
 * Drops the stream's lock for a wait of a transaction. If @keeps, the transaction keeps its turn:
 * other transactions of the line wait in pagoda_stream_lock_line().
 */
static void txn_unlock(struct pagoda_stream_txn *txn, struct pagoda_stream *stream, bool keeps)
{
	if (keeps)
		line_set_transfer(stream, txn->line, true);
	pagoda_stream_unlock(stream, txn->cookie);
}

/*
 * Undoes txn_unlock(). A transaction that didn't keep its turn waits until no other transaction of
 * the line does.
 */
static void txn_relock(struct pagoda_stream_txn *txn, struct pagoda_stream *stream, bool keeps)
{
	if (!keeps) {
		pagoda_stream_lock_line(txn, stream);
		return;
	}
	txn->cookie = pagoda_stream_lock(stream);
	line_set_transfer(stream, txn->line, false);
}

/*
 * Waits, without the stream's lock, for one of the submissions that are set aside, which becomes
 * the transaction's spare. Keeps other transactions of the line out meanwhile. All submissions of
 * the transaction so far are queued, so that their fences, which the wait may depend on, will
 * signal.
 */
static void txn_get_aside(struct pagoda_stream_txn *txn, struct pagoda_stream *stream)
{
	lockdep_assert_held(&stream->aside);
	txn_unlock(txn, stream, true);
	txn->only = pagoda_queue_get_aside(stream->vidmm->queue, txn->line->queue);
	txn_relock(txn, stream, true);
	txn->nr_spare = 1;
}

/*
 * Opens a spare submission of the transaction, whose fence is published from here on. Returns 0; or
 * a negative errno if there is neither a spare nor memory. After such a failure the current
 * operation may have been emitted in part: requests a reset, because only a rebuilt device is in
 * the state that the driver expects.
 */
static int txn_open(struct pagoda_stream_txn *txn, struct pagoda_stream *stream)
{
	struct pagoda_stream_line *line = txn->line;
	struct pagoda_submission *sub;

	lockdep_assert_held(&stream->lock);
	if (txn->failed)
		return txn->failed;
	if (txn->aside && !txn->nr_spare)
		txn_get_aside(txn, stream);
	/*
	 * While txn_get_aside() waited, pagoda_stream_restart(), which doesn't wait for a turn, may
	 * have opened a submission.
	 */
	if (line->open)
		return 0;
	sub = txn->nr_spare ? txn->spare[--txn->nr_spare] : txn_get_more(txn);
	if (IS_ERR(sub)) {
		txn->failed = PTR_ERR(sub);
		queue_work(system_dfl_wq, &stream->overrun);
		return txn->failed;
	}
	sub->operations = 0;
	sub->owner = txn->quota;
	sub->kcov = txn->kcov;
	pagoda_limits_take(stream->vidmm->limits, txn->quota, pagoda_submission_bytes(sub));
	pagoda_submission_arm(sub);
	line->open = sub;
	list_add_tail(&line->opened, &stream->opened);
	dma_fence_put(line->last);
	line->last = dma_fence_get(sub->fence);
	line->open_cost = 0;
	line->buf = (struct pagoda_paging_buffer) {
		.pos = sub->data,
		.size = sub->size - PAGODA_STREAM_TAIL,
		.priv = sub->priv,
		.priv_size = pagoda_stream_sub_packets(sub) * PAGODA_PAGING_MIN_PRIVATE,
	};
	return 0;
}

/*
 * Waits for the transaction's operations so far, and for all fences in the reservation of its
 * allocation. Returns 0; -EBUSY if a wait takes longer than &pagoda_stream.busy_patience; or
 * another negative errno.
 */
static int txn_wait_fences(struct pagoda_stream_txn *txn)
{
	unsigned long patience = txn->vidmm->stream->busy_patience;
	long ret = 1;

	atomic64_inc(&txn->vidmm->stats.cpu_waits);
	if (txn->fence)
		ret = dma_fence_wait_timeout(txn->fence, false, patience);
	if (ret > 0)
		ret = dma_resv_wait_timeout(txn->bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP,
					    false, patience);
	return ret > 0 ? 0 : ret ?: -EBUSY;
}

/*
 * Allocates a spare submission if the transaction has none left: txn_wait_idle() has queued the
 * open submission, which wasn't full, and the cost doesn't include that. Returns 0 or a negative
 * errno.
 */
static int txn_get_spare(struct pagoda_stream_txn *txn)
{
	struct pagoda_submission *sub;

	if (txn->nr_spare || !txn->spare || txn->aside)
		return 0;
	sub = pagoda_queue_get(txn->vidmm->queue, txn->line->queue, 0, 0);
	if (IS_ERR(sub))
		return PTR_ERR(sub);
	txn->spare[txn->nr_spare++] = sub;
	return 0;
}

/*
 * Queues the line's open submission; waits, without the stream's lock, until the transaction's
 * allocation is idle; and calls &pagoda_stream_args.make_idle. Meanwhile other transactions of the
 * line go on, unless @txn is between pieces of a transfer; @txn waits if another transaction is.
 * Returns 0; -EBUSY if the transaction mustn't wait, has no allocation or has waited too long;
 * -ENOMEM; or an error of the wait or of make_idle().
 */
static int txn_wait_idle(struct pagoda_stream_txn *txn, u32 operation)
{
	struct pagoda_stream *stream = txn->vidmm->stream;
	int ret;

	if (txn->no_wait || !txn->bo)
		return -EBUSY;
	if (txn->line->open)
		pagoda_stream_push(stream, txn->line);
	txn_unlock(txn, stream, txn->in_transfer);
	ret = txn_wait_fences(txn);
	if (!ret)
		ret = stream->args.make_idle(txn->bo, operation);
	if (!ret)
		ret = txn_get_spare(txn);
	txn_relock(txn, stream, txn->in_transfer);
	return ret;
}

static void op_say_idle(struct pagoda_paging_op *op)
{
	if (op->operation == VIRTIO_PAGODA_OP_DISCARD_CONTENT)
		op->discard_content.flags |= PAGODA_ALLOCATION_IS_IDLE;
	else
		op->transfer.flags |= PAGODA_ALLOCATION_IS_IDLE;
}

/*
 * Returns whether @op is a piece of a transfer that other pieces have to follow, without other
 * operations of the line in between (C28).
 */
static bool op_leaves_transfer(const struct pagoda_paging_op *op)
{
	return (op->operation == VIRTIO_PAGODA_OP_TRANSFER ||
		op->operation == VIRTIO_PAGODA_OP_SPECIAL_LOCK_TRANSFER) &&
	       !(op->transfer.flags & VIRTIO_PAGODA_TRANSFER_END);
}

static void txn_trace(struct pagoda_stream_txn *txn, const struct pagoda_paging_op *op, u64 moved,
		      u32 encoded, int pass)
{
	struct pagoda_paging_ends ends;

	if (!trace_pagoda_op_enabled())
		return;
	ends = pagoda_paging_ends(op);
	trace_pagoda_op(dev_name(txn->vidmm->drm->dev), op->allocation,
			op->operation, moved, ends.src_segment, ends.dst_segment,
			txn->line->open->id, encoded, pass);
}

/*
 * Calls the builder of @op once, pass number @pass; counts the packets, and adds the pass to trace
 * and journal. Returns the builder's result.
 */
static enum pagoda_build txn_build(struct pagoda_stream_txn *txn,
				   const struct pagoda_paging_op *op, u64 moved,
				   struct pagoda_paging_cursor *cursor, int pass)
{
	struct pagoda_paging_buffer *buf = &txn->line->buf;
	struct pagoda_vidmm *vidmm = txn->vidmm;
	u32 offset = buf->write_offset;
	enum pagoda_build result;
	u8 *priv = buf->priv;

	result = pagoda_paging_build(&vidmm->stream->limits, op, cursor, buf);
	atomic64_add((buf->priv - priv) / PAGODA_PAGING_MIN_PRIVATE, &vidmm->stats.commands);
	txn_trace(txn, op, moved, buf->write_offset - offset, pass);
	pagoda_journal_note(vidmm->journal, op, txn->line->open->id, offset,
			    buf->write_offset - offset, pass);
	if (op->operation == VIRTIO_PAGODA_OP_UPDATE_PAGE_TABLE &&
	    op->update_page_table.mode == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		pagoda_journal_written(vidmm->journal, op);
	return result;
}

/*
 * Encodes @op, which is valid, in as many submissions and with as many passes as needed. Returns 0
 * or an error, as pagoda_stream_emit().
 */
static int txn_encode(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op, u64 moved)
{
	struct pagoda_stream *stream = txn->vidmm->stream;
	struct pagoda_stream_line *line = txn->line;
	struct pagoda_paging_cursor cursor = {};
	enum pagoda_build result;
	int pass = 0, ret;

	for (;;) {
		ret = line->open ? 0 : txn_open(txn, stream);
		if (ret)
			return ret;
		result = txn_build(txn, op, moved, &cursor, pass++);
		if (result == PAGODA_BUILD_SUCCESS)
			return 0;
		if (result == PAGODA_BUILD_INSUFFICIENT_BUFFER) {
			atomic64_inc(&txn->vidmm->stats.insufficient);
			pagoda_stream_push(stream, line);
			continue;
		}
		atomic64_inc(&txn->vidmm->stats.busy_retries);
		ret = txn_wait_idle(txn, op->operation);
		if (ret)
			return ret;
		op_say_idle(op);
	}
}

/**
 * pagoda_stream_emit() - Append an operation to the stream, in as many submissions as needed
 * @txn: Transaction
 * @op: Operation. Only its flag AllocationIsIdle changes between the builder's passes (C6 - C8):
 *	this function sets the flag after a wait. The caller's next operation must begin without
 *	the flag, because @op makes the allocation busy (C15)
 *
 * Context: Between begin and end of @txn. Sleeps if the allocation is busy (C14), or if @txn needs
 * another of the submissions that are set aside.
 * Return: 0; -EINVAL, -ERANGE or -EOPNOTSUPP if the operation is refused. -EBUSY if the allocation
 * is busy and the transaction must not wait, or waited too long; or an error of
 * &pagoda_stream_args.make_idle; or -ENOMEM after a wait: then nothing of @op was encoded. -ENOMEM
 * if the transaction's cost was too low and there was no memory: then the device will be reset.
 */
int pagoda_stream_emit(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op)
{
	struct pagoda_vidmm *vidmm = txn->vidmm;
	struct pagoda_stream_line *line = txn->line;
	struct pagoda_stream *stream = vidmm->stream;
	const char *why = NULL;
	u64 moved;
	int ret;

	lockdep_assert_held(&stream->lock);
	ret = pagoda_paging_validate(&stream->limits, op, &why);
	if (ret) {
		drm_dbg_driver(vidmm->drm, "%s refused: %s\n",
			       pagoda_paging_name(op->operation), why);
		return ret;
	}
	/* The submissions that the operation is behind may be open in other lines: queue them. */
	if (txn->fresh)
		pagoda_stream_push_all(stream);
	txn->fresh = false;

	moved = pagoda_paging_moved(&stream->limits, op);
	ret = txn_encode(txn, op, moved);
	if (ret)
		return ret;
	line->open->operations++;
	line->open_cost += moved;
	txn->in_transfer = op_leaves_transfer(op);
	dma_fence_put(txn->fence);
	txn->fence = dma_fence_get(line->open->fence);
	if (line->open_cost >= PAGODA_PIECE_BYTES)
		pagoda_stream_push(stream, line);
	return 0;
}

/**
 * pagoda_stream_emit_valid() - Append an operation that is never refused; a &pagoda_emit.emit
 * @txn: Transaction, a struct pagoda_stream_txn
 * @op: Operation that is always valid and never busy
 *
 * Context: Between begin and end of @txn; waits only for a submission that is set aside.
 */
void pagoda_stream_emit_valid(void *txn, struct pagoda_paging_op *op)
{
	struct pagoda_stream_txn *stream_txn = txn;
	int ret = pagoda_stream_emit(stream_txn, op);

	WARN_ON_ONCE(ret && !stream_txn->failed);
}
