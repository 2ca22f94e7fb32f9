// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions: append operations to the stream, as WDDM's OS does by calling BuildPagingBuffer
 * (emit.c).
 *
 * A transaction is a fence signalling section, because the fence of the open submission is
 * published. So pagoda_stream_begin() first allocates submissions for the worst case, unless the
 * operations fit into a submission that is there already, and then takes the stream's lock.
 *
 * After a reset of the device, pagoda_stream_restart() begins and ends the first transaction.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include "core/compat.h"
#include "core/core.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/limits.h"
#include "internal.h"
#include "stream.h"

static void txn_drop_spares(struct pagoda_stream_txn *txn)
{
	while (txn->nr_spare)
		pagoda_submission_put(txn->spare[--txn->nr_spare]);
	if (txn->spare != &txn->only)
		kvfree(txn->spare);
	txn->spare = NULL;
}

/*
 * Returns whether operations of @cost fit into an empty submission, and move less than
 * PAGODA_PIECE_BYTES.
 */
static bool sub_fits(const struct pagoda_submission *sub, const struct pagoda_paging_cost *cost)
{
	return sub->size - PAGODA_STREAM_TAIL >= cost->encoded &&
	       pagoda_stream_sub_packets(sub) >= cost->packets && cost->moved < PAGODA_PIECE_BYTES;
}

/*
 * Returns whether the transaction needs no new submission, which is usual for a move: operations of
 * @cost fit into the line's open submission or, if the line is that of moves, into
 * &pagoda_stream.reserve, which the transaction then gets as its spare.
 */
static bool txn_start_small(struct pagoda_stream_txn *txn, struct pagoda_stream *stream,
			    const struct pagoda_paging_cost *cost)
{
	struct pagoda_stream_line *line = txn->line;
	struct pagoda_submission *sub = line == &stream->moves ? stream->reserve : NULL;

	lockdep_assert_held(&stream->lock);
	if (line->open && line->buf.size >= cost->encoded &&
	    line->buf.priv_size >= cost->packets * PAGODA_PAGING_MIN_PRIVATE &&
	    line->open_cost + cost->moved < PAGODA_PIECE_BYTES)
		return true;
	if (!sub || !sub_fits(sub, cost))
		return false;
	stream->reserve = NULL;
	txn->only = sub;
	txn->spare = &txn->only;
	txn->nr_spare = 1;
	return true;
}

/*
 * Allocates a submission with room for all operations of a transaction, or the largest there is.
 * Returns the submission or an ERR_PTR.
 */
static struct pagoda_submission *txn_get(struct pagoda_stream_txn *txn,
					 const struct pagoda_paging_cost *cost)
{
	u64 bytes = cost->encoded + PAGODA_STREAM_TAIL;
	u64 priv_bytes = (cost->packets + 1ull) * PAGODA_PAGING_MIN_PRIVATE;

	return pagoda_queue_get(txn->vidmm->queue, txn->line->queue, min_t(u64, bytes, U32_MAX),
				min_t(u64, priv_bytes, U32_MAX));
}

/*
 * Allocates spare submissions for the worst case: the open submission has no room, and a submission
 * is queued when it has no room for bytes or packets, or moves PAGODA_PIECE_BYTES. When memory is
 * fragmented buffers are smaller, but have at least &pagoda_stream.room bytes for operations. Most
 * transactions fit into one submission; those of the line of moves get another one for
 * &pagoda_stream.reserve, if that is NULL and there is memory. Returns 0 or -ENOMEM.
 */
static int txn_get_spares(struct pagoda_stream_txn *txn, struct pagoda_stream *stream,
			  const struct pagoda_paging_cost *cost)
{
	u32 extra = 3 + DIV_ROUND_UP_ULL(cost->moved, PAGODA_PIECE_BYTES);
	u32 most = extra + DIV_ROUND_UP_ULL(cost->encoded, stream->room) +
		   DIV_ROUND_UP(cost->packets, stream->packets);
	bool keeps = txn->line == &stream->moves && !READ_ONCE(stream->reserve);
	u64 bytes = 0, packets = 0;
	bool fits = false;

	txn->spare = kvmalloc_array(most, sizeof(*txn->spare), GFP_KERNEL_ACCOUNT);
	if (!txn->spare)
		return -ENOMEM;
	while (extra || bytes < cost->encoded || packets < cost->packets) {
		struct pagoda_submission *sub = txn_get(txn, cost);

		if (IS_ERR(sub) && fits)
			break;
		if (IS_ERR(sub)) {
			txn_drop_spares(txn);
			return PTR_ERR(sub);
		}
		txn->spare[txn->nr_spare++] = sub;
		fits = fits || (txn->nr_spare == 1 && sub_fits(sub, cost));
		if (fits)
			extra = txn->nr_spare == 1 && keeps;
		else if (bytes >= cost->encoded && packets >= cost->packets)
			extra--;
		bytes += sub->size - PAGODA_STREAM_TAIL;
		packets += pagoda_stream_sub_packets(sub);
	}
	return 0;
}

/*
 * Returns whether the transaction has to wait until the submission of @fence, which may be NULL, is
 * sent: true only for a submission of another line that isn't sent yet.
 */
bool pagoda_stream_is_behind(struct pagoda_stream_txn *txn, enum pagoda_stream_edge edge,
			     struct dma_fence *fence)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_stream_is_behind, txn, edge, fence);
	return fence && pagoda_queue_owns(txn->vidmm->queue, fence) &&
	       !pagoda_line_owns(txn->line->queue, fence) && !pagoda_queue_is_sent(fence);
}

typedef int txn_act(struct pagoda_stream_txn *txn, struct dma_fence *fence);

/*
 * Calls @act for each fence that the transaction has to wait for by pagoda_stream_is_behind(): of
 * those in &pagoda_stream_order.behind, and of those in @resv, if not NULL, of any usage. Ends with
 * the first result of @act that isn't 0, and returns it; else returns 0.
 */
static int txn_visit_behind(struct pagoda_stream_txn *txn, struct dma_resv *resv, txn_act *act)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	int ret = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(txn->order.behind) && !ret; i++)
		if (pagoda_stream_is_behind(txn, i, txn->order.behind[i]))
			ret = act(txn, txn->order.behind[i]);
	if (!resv || ret)
		return ret;
	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP, fence) {
		if (!pagoda_stream_is_behind(txn, PAGODA_EDGE_SHOWN, fence))
			continue;
		ret = act(txn, fence);
		if (ret)
			break;
	}
	return ret;
}

static int txn_say_behind(struct pagoda_stream_txn *txn, struct dma_fence *fence)
{
	return 1;
}

static int txn_add_behind(struct pagoda_stream_txn *txn, struct dma_fence *fence)
{
	return pagoda_submission_add_fence(txn->spare[txn->nr_spare - 1], fence);
}

static int txn_await_behind(struct pagoda_stream_txn *txn, struct dma_fence *fence)
{
	pagoda_stream_wait_fence(txn->vidmm, fence);
	return 0;
}

/*
 * Begins a transaction with submissions that are allocated for it. In the stream, the first
 * operation waits for the fences in @resv with @usage, if @foreign, and for the submissions of
 * other lines that the transaction is behind, if @behind. Returns 0 or -ENOMEM.
 */
static int txn_begin_large(struct pagoda_stream_txn *txn, struct pagoda_stream *stream,
			   struct dma_resv *resv, enum dma_resv_usage usage, bool foreign,
			   bool behind, const struct pagoda_paging_cost *cost)
{
	int ret = txn_get_spares(txn, stream, cost);

	if (ret)
		return ret;
	if (foreign)
		ret = pagoda_submission_add_resv(txn->spare[txn->nr_spare - 1], resv, usage);
	if (!ret && behind)
		ret = txn_visit_behind(txn, resv, txn_add_behind);
	if (ret) {
		txn_drop_spares(txn);
		return ret;
	}
	txn->fresh = foreign || behind;
	pagoda_stream_lock_line(txn, stream);
	return 0;
}

/*
 * Begins a transaction that uses the submissions that are set aside; waits until no other
 * transaction uses them. The dependencies of a submission would take memory. So this function
 * itself waits for the fences in @resv that aren't of paging, if @foreign, and for the submissions
 * of other lines that the transaction is behind, if @behind.
 */
static void txn_begin_aside(struct pagoda_stream_txn *txn, struct pagoda_stream *stream,
			    struct dma_resv *resv, enum dma_resv_usage usage, bool foreign,
			    bool behind)
{
	if (foreign)
		pagoda_stream_await(stream->vidmm, resv, usage, false);
	if (behind)
		txn_visit_behind(txn, resv, txn_await_behind);
	mutex_lock(&stream->aside);
	/* No reclaim while stream->aside is held: in reclaim a transaction may take it, too. */
	txn->memalloc = memalloc_noreclaim_save();
	/* Submissions that are set aside may be open: queue them, so that they become free. */
	pagoda_stream_flush(stream->vidmm);
	txn->aside = true;
	txn->only = pagoda_queue_get_aside(stream->vidmm->queue, txn->line->queue);
	txn->spare = &txn->only;
	txn->nr_spare = 1;
	pagoda_stream_lock_line(txn, stream);
}

/*
 * Begins a transaction. Returns 0 or -ENOMEM. With @must it doesn't fail: without memory, or if far
 * too many paging buffers are in flight, the transaction uses the submissions that are set aside.
 */
static int txn_begin(struct pagoda_stream_txn *txn, enum pagoda_stream_waits waits,
		     struct dma_resv *resv, enum dma_resv_usage usage, bool must,
		     const struct pagoda_paging_cost *cost)
{
	struct pagoda_vidmm *vidmm = txn->vidmm;
	struct pagoda_stream *stream = vidmm->stream;
	struct pagoda_bo *bo = txn->bo;
	bool foreign = resv && pagoda_stream_has_foreign(vidmm, resv, usage);
	bool behind = txn_visit_behind(txn, resv, txn_say_behind);
	bool busy = bo && stream->args.needs_idle(bo, VIRTIO_PAGODA_OP_TRANSFER);
	int ret = -ENOMEM;

	WARN_ON_ONCE(foreign && (waits != PAGODA_STREAM_WAITS_FOR_VICTIM ||
				 pagoda_stream_has_queued(vidmm, resv, usage)));
	if (!foreign && !behind && !busy) {
		pagoda_stream_lock_line(txn, stream);
		if (txn_start_small(txn, stream, cost))
			return 0;
		pagoda_stream_unlock(stream, txn->cookie);
	}
	if (!must || !pagoda_limits_is_full(vidmm->limits, txn->quota))
		ret = txn_begin_large(txn, stream, resv, usage, foreign, behind, cost);
	if (!ret || !must)
		return ret;
	txn_begin_aside(txn, stream, resv, usage, foreign, behind);
	return 0;
}

/**
 * pagoda_stream_begin() - Begin a transaction
 * @txn: Filled in; to be ended by pagoda_stream_end() if 0 is returned
 * @vidmm: Memory manager
 * @bo: Allocation that the operations are about, reservation held; or NULL (C25)
 * @waits: What the first operation waits for in addition to paging; warns if @resv has other fences
 *	to wait for
 * @resv: Reservation of the memory that the operations are about, held; or NULL
 * @usage: Usage of the fences in @resv that signal before the first operation is executed
 * @cost: Upper bound of the costs of all operations together
 *
 * Takes the stream's lock: no other thread emits operations until pagoda_stream_end(), except while
 * pagoda_stream_emit() waits. Other operations of the line never come between the pieces of a
 * transfer (C28).
 *
 * Context: May sleep and allocate. Not in a fence signalling section. In reclaim this function
 * doesn't fail, as pagoda_stream_begin_must().
 * Return: 0 or -ENOMEM; on failure nothing has happened.
 */
int pagoda_stream_begin(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			struct pagoda_bo *bo, enum pagoda_stream_waits waits, struct dma_resv *resv,
			enum dma_resv_usage usage, const struct pagoda_paging_cost *cost)
{
	*txn = (struct pagoda_stream_txn) {
		.vidmm = vidmm,
		.line = &vidmm->stream->moves,
		.bo = bo,
	};
	pagoda_caller_pays(vidmm->stream, txn);
	return txn_begin(txn, waits, resv, usage, current->flags & PF_MEMALLOC, cost);
}

/**
 * pagoda_stream_begin_in() - Begin a transaction of a line, behind submissions of other lines
 * @txn: Filled in
 * @vidmm: Memory manager
 * @order: The line, and the submissions that the operations are behind
 * @cost: Upper bound of the costs of all operations together
 *
 * Context: As pagoda_stream_begin().
 * Return: 0 or -ENOMEM; on failure nothing has happened.
 */
int pagoda_stream_begin_in(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			   const struct pagoda_stream_order *order,
			   const struct pagoda_paging_cost *cost)
{
	*txn = (struct pagoda_stream_txn) {
		.vidmm = vidmm,
		.line = order->line ?: &vidmm->stream->moves,
		.order = *order,
	};
	pagoda_caller_pays(vidmm->stream, txn);
	return txn_begin(txn, PAGODA_STREAM_WAITS_NOT, NULL, 0, current->flags & PF_MEMALLOC,
			 cost);
}

/**
 * pagoda_stream_begin_must() - Begin a transaction, without failing
 * @txn: Filled in
 * @vidmm: Memory manager
 * @bo: Allocation, or NULL. Its client pays unless a client is noted for the current thread. If
 *	&pagoda_bo.vm.behind is set, the operations come behind that fence's submission
 * @waits: As for pagoda_stream_begin()
 * @resv: As for pagoda_stream_begin(), with fences of any usage; or NULL
 * @cost: Upper bound of the costs of all operations together
 *
 * For operations that free memory or can't be left out. Without memory, or if the client that pays
 * has, or the device has in all, far too many paging buffers in flight, the transaction uses a few
 * submissions that are set aside; transactions that do so take turns.
 *
 * Context: May sleep for long: until submissions in flight have ended; and, if the submissions that
 * are set aside are used, until the jobs have ended that the first operation would wait for. Not in
 * a fence signalling section.
 */
void pagoda_stream_begin_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			      struct pagoda_bo *bo, enum pagoda_stream_waits waits,
			      struct dma_resv *resv, const struct pagoda_paging_cost *cost)
{
	*txn = (struct pagoda_stream_txn) {
		.vidmm = vidmm,
		.line = &vidmm->stream->moves,
		.order.behind[PAGODA_EDGE_DROPPED] = bo ? bo->vm.behind : NULL,
		.bo = bo,
	};
	pagoda_caller_pays(vidmm->stream, txn);
	if (!txn->quota && bo && bo->client) {
		txn->quota = bo->client->quota;
		txn->kcov = bo->client->kcov;
	}
	txn_begin(txn, waits, resv, DMA_RESV_USAGE_BOOKKEEP, true, cost);
}

/**
 * pagoda_stream_begin_in_must() - Begin a transaction as pagoda_stream_begin_in(), without failing
 * @txn: Filled in
 * @vidmm: Memory manager
 * @order: The line, and the submissions that the operations are behind
 * @waits: As for pagoda_stream_begin()
 * @resv: As for pagoda_stream_begin_must(), or NULL
 * @cost: Upper bound of the costs of all operations together
 *
 * Context: As pagoda_stream_begin_must().
 */
void pagoda_stream_begin_in_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
				 const struct pagoda_stream_order *order,
				 enum pagoda_stream_waits waits, struct dma_resv *resv,
				 const struct pagoda_paging_cost *cost)
{
	*txn = (struct pagoda_stream_txn) {
		.vidmm = vidmm,
		.line = order->line ?: &vidmm->stream->moves,
		.order = *order,
	};
	pagoda_caller_pays(vidmm->stream, txn);
	txn_begin(txn, waits, resv, DMA_RESV_USAGE_BOOKKEEP, true, cost);
}

/**
 * pagoda_stream_restart() - Start paging again on a device that was reset
 * @vidmm: Memory manager; no address space of the device has a root
 * @cost: Upper bound of the cost of the operations that @first emits
 * @first: Called, in the first transaction after the reset, to emit operations
 *
 * Operations in submissions that are open now are given up. The page tables of the paging process
 * are rebuilt before any new operation can use them (C80). Nothing happens if paging works already.
 *
 * Context: May sleep and allocate.
 * Return: 0, also if paging works already; -ENOMEM; -EAGAIN if the device is being reset again;
 * or the error with which the device answered a command. On failure paging isn't started.
 */
int pagoda_stream_restart(struct pagoda_vidmm *vidmm, const struct pagoda_paging_cost *cost,
			  void (*first)(struct pagoda_vidmm *vidmm, struct pagoda_stream_txn *txn))
{
	struct pagoda_stream *stream = vidmm->stream;
	struct pagoda_stream_txn txn = { .vidmm = vidmm, .line = &stream->moves };
	int ret = txn_get_spares(&txn, stream, cost);

	if (ret)
		return ret;
	txn.cookie = pagoda_stream_lock(stream);
	if (pagoda_queue_is_closed(stream->vidmm->queue)) {
		pagoda_stream_push_all(stream);
		if (vidmm->mmu)
			ret = pagoda_process_rebuild(vidmm->mmu);
		if (!ret && !pagoda_queue_restart(stream->vidmm->queue))
			ret = -EAGAIN;
		if (!ret) {
			WRITE_ONCE(stream->restarts, stream->restarts + 1);
			first(vidmm, &txn);
		}
	}
	dma_fence_put(pagoda_stream_end(&txn));
	return ret;
}

/*
 * Ends a transaction. Queues the open submission of its line; but with @later, or if the thread has
 * plugged the stream, leaves that to &pagoda_stream.flush or to a later transaction. A spare that
 * is left may become &pagoda_stream.reserve; all others are freed.
 */
static void txn_end(struct pagoda_stream_txn *txn, bool later)
{
	struct pagoda_stream *stream = txn->vidmm->stream;
	struct pagoda_stream_line *line = txn->line;
	bool aside = txn->aside;

	if (line->open && !later && !pagoda_stream_is_plugged(stream))
		pagoda_stream_push(stream, line);
	else if (line->open)
		queue_delayed_work(stream->wq, &stream->flush, stream->patience);
	/* A spare that waits for fences must not be kept for another transaction. */
	if (line == &stream->moves && !stream->reserve && txn->nr_spare && !txn->fresh && !aside)
		stream->reserve = txn->spare[--txn->nr_spare];
	pagoda_stream_unlock(stream, txn->cookie);
	txn_drop_spares(txn);
	if (aside) {
		memalloc_noreclaim_restore(txn->memalloc);
		mutex_unlock(&stream->aside);
	}
}

/**
 * pagoda_stream_end() - End a transaction
 * @txn: Transaction
 *
 * Queues the line's open submission, unless the current thread has plugged the stream.
 *
 * Context: Drops the stream's lock.
 * Return: A reference to the fence behind the last operation, or NULL if nothing was emitted.
 */
struct dma_fence *pagoda_stream_end(struct pagoda_stream_txn *txn)
{
	txn_end(txn, false);
	return txn->fence;
}

/**
 * pagoda_stream_end_later() - End a transaction whose fence is of no use
 * @txn: Transaction
 *
 * The operations may share a submission with operations that follow. The submission is queued after
 * a few milliseconds at the latest; before that, for example, when it is full, by
 * pagoda_stream_flush(), or by the pagoda_stream_end() of a thread that hasn't plugged the stream.
 * The caller gets no fence to wait for.
 *
 * Context: Drops the stream's lock.
 */
void pagoda_stream_end_later(struct pagoda_stream_txn *txn)
{
	txn_end(txn, true);
	dma_fence_put(txn->fence);
}

/**
 * pagoda_stream_end_wait() - End a transaction and wait until its operations were executed
 * @txn: Transaction
 *
 * Queues the line's open submission even if the stream is plugged.
 *
 * Context: Drops the stream's lock, then sleeps.
 * Return: 0, or the error of the last operation's submission.
 */
int pagoda_stream_end_wait(struct pagoda_stream_txn *txn)
{
	struct pagoda_stream *stream = txn->vidmm->stream;
	struct dma_fence *fence;
	int ret;

	if (txn->line->open)
		pagoda_stream_push(stream, txn->line);
	fence = pagoda_stream_end(txn);
	if (!fence)
		return 0;
	dma_fence_wait(fence, false);
	ret = fence->error;
	dma_fence_put(fence);
	return ret;
}
