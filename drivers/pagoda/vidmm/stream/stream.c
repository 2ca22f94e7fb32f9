// SPDX-License-Identifier: GPL-2.0
/*
 * The stream of paging buffers: its set-up and end, lines, plugs, waits for fences. emit.c
 * appends operations to the open submission of a line.
 *
 * Several moves may share a submission, and so a fence and a doorbell: while a thread has plugged
 * the stream, submissions stay open between the thread's moves. If a thread that hasn't plugged the
 * stream calls pagoda_stream_end(), the submission of the line is queued all the same. The fence of
 * an open submission is published, so a work item, which allocates nothing, queues the submission
 * up to PAGODA_PLUG_MS after a transaction, even if the plugging thread sleeps in reclaim.
 *
 * Operations that free memory share submissions in the same way, also without a plug: see
 * pagoda_stream_end_later().
 */
#include <linux/dma-mapping.h>
#include <linux/hash.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include <kunit/static_stub.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "queue/queue.h"
#include "vidmm/ledger/limits.h"
#include "internal.h"
#include "stream.h"

/*
 * Most milliseconds that a submission stays open after a transaction: much longer than it takes to
 * emit a move, so that moves share the submission; short for a thread that waits for the fence.
 */
#define PAGODA_PLUG_MS		10

/* &pagoda_stream.busy_patience in jiffies: as long as TTM's own waits. */
#define PAGODA_BUSY_TIMEOUT	(15 * HZ)

/*
 * Takes the stream's lock and starts a fence signalling section, because a thread that holds the
 * lock may keep a published fence from signalling: lockdep reports reclaim and waits for fences
 * under the lock (C24). Returns the cookie that pagoda_stream_unlock() takes.
 */
bool pagoda_stream_lock(struct pagoda_stream *stream)
{
	bool cookie = dma_fence_begin_signalling();

	mutex_lock(&stream->lock);
	return cookie;
}

void pagoda_stream_unlock(struct pagoda_stream *stream, bool cookie)
{
	mutex_unlock(&stream->lock);
	dma_fence_end_signalling(cookie);
}

/*
 * Takes the stream's lock when &pagoda_stream_line.in_transfer isn't set in the transaction's line.
 * While the flag is set, another transaction of the line waits without the lock: between two pieces
 * of a transfer, because transfers mustn't overlap in the stream (C28), or for a submission that is
 * set aside. What the other transaction waits for doesn't depend on this transaction.
 */
void pagoda_stream_lock_line(struct pagoda_stream_txn *txn, struct pagoda_stream *stream)
{
	for (;;) {
		txn->cookie = pagoda_stream_lock(stream);
		if (!txn->line->in_transfer)
			return;
		pagoda_stream_unlock(stream, txn->cookie);
		wait_event(stream->turn, !READ_ONCE(txn->line->in_transfer));
	}
}

/*
 * Queues the open submission of @line, after a last packet that writes the fence page. Caller holds
 * the stream's lock.
 */
void pagoda_stream_push(struct pagoda_stream *stream, struct pagoda_stream_line *line)
{
	struct pagoda_submission *sub = line->open;
	struct pagoda_paging_cursor cursor = {};
	const struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_SIGNAL_MONITORED_FENCE,
		.signal_fence = {
			.segment = VIRTIO_PAGODA_SEGMENT_SYSTEM,
			.address = stream->args.fence_address,
			.cpu_pages = &stream->args.fence_page,
		},
	};
	enum pagoda_build result;

	lockdep_assert_held(&stream->lock);
	line->buf.size += PAGODA_STREAM_TAIL;
	line->buf.priv_size += PAGODA_PAGING_MIN_PRIVATE;
	result = pagoda_paging_build(&stream->limits, &op, &cursor, &line->buf);
	WARN_ON_ONCE(result != PAGODA_BUILD_SUCCESS);

	sub->built = line->buf.write_offset;
	sub->priv_built = line->buf.priv - sub->priv;
	sub->operations++;
	sub->moved = line->open_cost;
	pagoda_limits_moves(stream->vidmm->limits, sub->owner, sub->moved);
	atomic64_inc(&stream->vidmm->stats.commands);
	line->open = NULL;
	list_del_init(&line->opened);
	pagoda_submission_push(sub);
}

/* Queues the open submissions of all lines. Caller holds the stream's lock. */
void pagoda_stream_push_all(struct pagoda_stream *stream)
{
	struct pagoda_stream_line *line, *next;

	lockdep_assert_held(&stream->lock);
	list_for_each_entry_safe(line, next, &stream->opened, opened)
		pagoda_stream_push(stream, line);
}

/*
 * &pagoda_queue_ops.numbered: writes the number of a submission, which is about to be sent or given
 * up, into the submission's last packet, which writes the fence page; notes the number in the
 * journal, and records the buffer if a recording runs.
 */
void pagoda_stream_numbered(void *owner, struct pagoda_submission *sub)
{
	struct virtio_pagoda_signal_monitored_fence *tail =
		(void *)(sub->data + sub->built - PAGODA_STREAM_TAIL);
	struct pagoda_vidmm *vidmm = owner;

	tail->value = cpu_to_le64(sub->seqno);
	pagoda_journal_sent(vidmm->journal, sub);
}

/**
 * pagoda_stream_flush() - Queue the open submissions of all lines
 * @vidmm: Memory manager
 *
 * Open submissions are queued although threads, perhaps the caller, have plugged the stream.
 *
 * Context: May sleep. The caller has no open transaction.
 */
void pagoda_stream_flush(struct pagoda_vidmm *vidmm)
{
	struct pagoda_stream *stream = vidmm->stream;
	bool cookie = pagoda_stream_lock(stream);

	pagoda_stream_push_all(stream);
	pagoda_stream_unlock(stream, cookie);
}

static void stream_flush_work(struct work_struct *work)
{
	struct pagoda_stream *stream =
		container_of(to_delayed_work(work), struct pagoda_stream, flush);

	pagoda_stream_flush(stream->vidmm);
}

/**
 * pagoda_caller_pause() - Wait a little while the thread's paging in flight moves much content
 * @vidmm: Manager
 * @until: Time, in jiffies, at which a wait ends at the latest: %PAGODA_PAUSE_MS after the first
 *	call for a list
 *
 * For loops that page one allocation of a list after the other, with the whole list locked: else
 * other clients' moves would wait for the whole list. Copies may wait for jobs, and a reset for the
 * caller's section: therefore @until. Does nothing for a thread without a client, and from a reset
 * to the end of the rebuild.
 *
 * Context: Sleeps; reservations may be held. The caller has no open transaction.
 */
void pagoda_caller_pause(struct pagoda_vidmm *vidmm, unsigned long until)
{
	struct pagoda_caller *caller;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_caller_pause, vidmm, until);
	caller = pagoda_caller_find(vidmm->stream);
	if (!caller || !pagoda_limits_must_pause(caller->quota) || pagoda_reset_is_pending(vidmm))
		return;
	pagoda_stream_flush(vidmm);
	pagoda_limits_pause(caller->quota, until);
}

/**
 * pagoda_stream_wait_fence() - Wait for a fence that may depend on an open submission
 * @vidmm: Memory manager
 * @fence: Fence, of paging or not
 *
 * Open submissions are queued first, because the caller may have plugged the stream.
 *
 * Context: Sleeps; signals don't end the wait. The caller has no open transaction.
 */
void pagoda_stream_wait_fence(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	if (dma_fence_is_signaled(fence))
		return;
	pagoda_stream_flush(vidmm);
	dma_fence_wait(fence, false);
}

/**
 * pagoda_stream_wait_resv() - Wait for fences of a reservation that may depend on open submissions
 * @vidmm: Memory manager
 * @resv: Reservation
 * @usage: Usage of the fences to wait for
 *
 * Open submissions are queued first, as by pagoda_stream_wait_fence().
 *
 * Context: Sleeps; signals don't end the wait. The caller has no open transaction.
 */
void pagoda_stream_wait_resv(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			     enum dma_resv_usage usage)
{
	if (dma_resv_test_signaled(resv, usage))
		return;
	pagoda_stream_flush(vidmm);
	dma_resv_wait_timeout(resv, usage, false, MAX_SCHEDULE_TIMEOUT);
}

/**
 * pagoda_stream_wait_idle() - Wait for all operations emitted so far
 * @vidmm: Memory manager
 * @timeout: Most jiffies to wait
 *
 * Queues the open submissions of all lines first.
 *
 * Context: Sleeps. The caller has no open transaction, and holds no lock that is needed to signal
 * a fence.
 * Return: 0; or -ETIME if operations haven't ended after @timeout.
 */
int pagoda_stream_wait_idle(struct pagoda_vidmm *vidmm, long timeout)
{
	pagoda_stream_flush(vidmm);
	return pagoda_queue_wait_idle(vidmm->queue, timeout);
}

static void stream_overrun_work(struct work_struct *work)
{
	struct pagoda_stream *stream = container_of(work, struct pagoda_stream, overrun);

	stream->args.overrun(stream->vidmm);
}

/* Returns true if a fence is unsignalled and isn't that of a submission to the paging queue. */
static bool stream_is_foreign(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	return !pagoda_queue_owns(vidmm->queue, fence) && !dma_fence_is_signaled(fence);
}

/**
 * pagoda_stream_has_foreign() - Whether a reservation has unsignalled fences that aren't the paging
 * queue's
 * @vidmm: Memory manager
 * @resv: Reservation, held
 * @usage: Usage of the fences to look at
 *
 * Fences of the paging queue don't count: a transaction comes behind all paging that it has to come
 * behind, by its line and its edges (enum pagoda_stream_edge).
 *
 * Return: true if there is such a fence, for example of a job or of another device.
 */
bool pagoda_stream_has_foreign(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			       enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, usage, fence)
		if (stream_is_foreign(vidmm, fence))
			return true;
	return false;
}

/*
 * Returns true if a fence is unsignalled, and isn't the fence of paging or of a job that has ended
 * or has a place of an engine. Process context.
 */
bool pagoda_stream_is_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_stream_is_queued, vidmm, fence);
	return stream_is_foreign(vidmm, fence) &&
	       !(vidmm->engines && pagoda_engines_have_place(vidmm->engines, fence));
}

/**
 * pagoda_stream_has_queued() - Whether a reservation has unsignalled fences that the stream must
 * not wait for
 * @vidmm: Memory manager
 * @resv: Reservation, held
 * @usage: Usage of the fences to look at
 *
 * The stream waits for paging and for jobs that have a place of an engine. How long other fences
 * take, those of fenced jobs without a place and of other devices, is up to clients; and a fenced
 * job may get a place only after jobs that wait for the stream.
 *
 * Context: Process context.
 * Return: true if there is such a fence: the memory may not leave its place now.
 */
bool pagoda_stream_has_queued(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			      enum dma_resv_usage usage)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, usage, fence)
		if (pagoda_stream_is_queued(vidmm, fence))
			return true;
	return false;
}

/*
 * Returns a reference to a fence of a reservation for which pagoda_stream_is_queued() is true; or
 * NULL if there is none. The reservation needn't be held. Process context.
 */
struct dma_fence *pagoda_stream_get_queued(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
					   enum dma_resv_usage usage)
{
	struct dma_fence *fence, *found = NULL;
	struct dma_resv_iter cursor;

	dma_resv_iter_begin(&cursor, resv, usage);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		if (!pagoda_stream_is_queued(vidmm, fence))
			continue;
		found = dma_fence_get(fence);
		break;
	}
	dma_resv_iter_end(&cursor);
	return found;
}

/*
 * Returns true if a reservation has an unsignalled fence, of any usage, that isn't of paging. The
 * reservation needn't be held. Any context.
 */
bool pagoda_stream_is_awaited(struct pagoda_vidmm *vidmm, struct dma_resv *resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	bool found = false;

	dma_resv_iter_begin(&cursor, resv, DMA_RESV_USAGE_BOOKKEEP);
	dma_resv_for_each_fence_unlocked(&cursor, fence) {
		found = stream_is_foreign(vidmm, fence);
		if (found)
			break;
	}
	dma_resv_iter_end(&cursor);
	return found;
}

/**
 * pagoda_stream_await() - Wait for jobs and other devices before a transaction, which then needn't
 * wait for them in the stream
 * @vidmm: Memory manager
 * @resv: Reservation, held
 * @usage: Usage of the fences to wait for
 * @interruptible: Signals end the wait
 *
 * Fences of the paging queue aren't waited for: the transaction comes behind that paging in the
 * stream. If there is something to wait for, queues the open submissions of all lines first.
 *
 * Context: Sleeps. The caller has no open transaction.
 * Return: 0 or -ERESTARTSYS.
 */
int pagoda_stream_await(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			enum dma_resv_usage usage, bool interruptible)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;
	long ret;

	if (!pagoda_stream_has_foreign(vidmm, resv, usage))
		return 0;
	pagoda_stream_flush(vidmm);
	dma_resv_for_each_fence(&cursor, resv, usage, fence) {
		if (!stream_is_foreign(vidmm, fence))
			continue;
		ret = dma_fence_wait(fence, interruptible);
		if (ret)
			return ret;
	}
	return 0;
}

static struct hlist_head *stream_plugs(struct pagoda_stream *stream)
{
	lockdep_assert_held(&stream->lock);
	return &stream->plugs[hash_ptr(current, PAGODA_CALLER_BITS)];
}

/*
 * Returns whether the current thread has plugged the stream; other threads may have, too. Caller
 * holds the stream's lock.
 */
bool pagoda_stream_is_plugged(struct pagoda_stream *stream)
{
	struct pagoda_plug *plug;

	hlist_for_each_entry(plug, stream_plugs(stream), entry)
		if (plug->task == current)
			return true;
	return false;
}

static void stream_add_plug(struct pagoda_stream *stream, struct pagoda_plug *plug)
{
	plug->task = current;
	hlist_add_head(&plug->entry, stream_plugs(stream));
}

/**
 * pagoda_stream_plug() - Let the next transactions of the current thread share submissions
 * @vidmm: Memory manager
 * @plug: Filled in; valid until pagoda_stream_unplug()
 *
 * Until pagoda_stream_unplug(), pagoda_stream_end() in this thread leaves the line's submission
 * open. Each line has submissions of its own.
 *
 * Context: May sleep. Nests; each call needs a pagoda_stream_unplug().
 */
void pagoda_stream_plug(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug)
{
	struct pagoda_stream *stream = vidmm->stream;
	bool cookie = pagoda_stream_lock(stream);

	stream_add_plug(stream, plug);
	pagoda_stream_unlock(stream, cookie);
}

/**
 * pagoda_stream_plug_pass() - Take over a plug from another thread: from then on transactions of
 * the current thread share submissions
 * @vidmm: Memory manager
 * @plug: Plug of another thread, which waits for the current one and then takes the plug back by a
 *	call of its own. Nothing happens if the plug is the current thread's already
 *
 * Context: May sleep.
 */
void pagoda_stream_plug_pass(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug)
{
	struct pagoda_stream *stream = vidmm->stream;
	bool cookie;

	if (plug->task == current)
		return;
	cookie = pagoda_stream_lock(stream);
	hlist_del(&plug->entry);
	stream_add_plug(stream, plug);
	pagoda_stream_unlock(stream, cookie);
}

/*
 * Undoes one pagoda_stream_plug() of the current thread; if the thread has no plug left, queues the
 * open submissions of all lines. May sleep.
 */
void pagoda_stream_unplug(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug)
{
	struct pagoda_stream *stream = vidmm->stream;
	bool cookie = pagoda_stream_lock(stream);

	hlist_del(&plug->entry);
	if (!pagoda_stream_is_plugged(stream))
		pagoda_stream_push_all(stream);
	pagoda_stream_unlock(stream, cookie);
}

/* Returns the number of bytes that operations may use in the smallest paging buffer. */
u32 pagoda_stream_room(struct pagoda_vidmm *vidmm)
{
	return vidmm->stream->room;
}

/* Returns an upper bound of the cost of @op, whatever the sizes of the paging buffers. */
struct pagoda_paging_cost pagoda_stream_cost(struct pagoda_vidmm *vidmm,
					     const struct pagoda_paging_op *op)
{
	return pagoda_paging_cost(vidmm->paging_limits, op, vidmm->stream->room);
}

/*
 * Returns the number of times that paging was started again after a reset of the device. Mappings
 * that were emitted before the last restart don't exist in the device: it has forgotten them in the
 * reset, or hasn't executed them.
 */
u64 pagoda_stream_restarts(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->stream->restarts);
}

/**
 * pagoda_stream_line_create() - Make a line for the page tables of a VM
 * @vidmm: Memory manager
 *
 * Context: May sleep and allocate.
 * Return: The line, for pagoda_stream_line_destroy(); or ERR_PTR(-ENOMEM).
 */
struct pagoda_stream_line *pagoda_stream_line_create(struct pagoda_vidmm *vidmm)
{
	struct pagoda_stream_line *line = kzalloc(sizeof(*line), GFP_KERNEL_ACCOUNT);

	if (!line)
		return ERR_PTR(-ENOMEM);
	line->queue = pagoda_line_create(vidmm->queue);
	if (IS_ERR(line->queue)) {
		struct pagoda_line *error = line->queue;

		kfree(line);
		return ERR_CAST(error);
	}
	INIT_LIST_HEAD(&line->opened);
	return line;
}

/**
 * pagoda_stream_line_destroy() - Destroy the line of a VM
 * @vidmm: Memory manager
 * @line: Line without open transaction; operations that were emitted are still executed
 *
 * Context: May sleep.
 */
void pagoda_stream_line_destroy(struct pagoda_vidmm *vidmm, struct pagoda_stream_line *line)
{
	struct pagoda_stream *stream = vidmm->stream;
	bool cookie = pagoda_stream_lock(stream);

	if (line->open)
		pagoda_stream_push(stream, line);
	pagoda_stream_unlock(stream, cookie);
	pagoda_line_put(line->queue);
	dma_fence_put(line->last);
	kfree(line);
}

/**
 * pagoda_stream_line_await() - Wait until a line has fewer than %PAGODA_STREAM_LINE_MOST
 * submissions in flight
 * @line: The line, which the caller keeps from being destroyed
 *
 * The scheduler sends the oldest submission that is ready, of whatever line: if a line had more, a
 * submission of another line would have to wait for all of them.
 *
 * Context: Sleeps. Outside of all locks and sections.
 * Return: 0; or -ERESTARTSYS if a signal ends the wait.
 */
int pagoda_stream_line_await(struct pagoda_stream_line *line)
{
	return pagoda_line_await(line->queue, PAGODA_STREAM_LINE_MOST);
}

/**
 * pagoda_stream_line_full() - Fence to wait for while a line has too many submissions in flight
 * @vidmm: Memory manager
 * @line: The line
 *
 * For work items, which don't wait themselves. If the line has too many submissions, queues the
 * open submissions of all lines, so that the fence will signal.
 *
 * Context: May sleep.
 * Return: NULL if pagoda_stream_line_await() wouldn't wait; else a reference to the fence of the
 * line's last submission.
 */
struct dma_fence *pagoda_stream_line_full(struct pagoda_vidmm *vidmm,
					  struct pagoda_stream_line *line)
{
	struct pagoda_stream *stream = vidmm->stream;
	struct dma_fence *fence = NULL;
	bool cookie;

	if (pagoda_line_armed_jobs(line->queue) < PAGODA_STREAM_LINE_MOST)
		return NULL;
	cookie = pagoda_stream_lock(stream);
	pagoda_stream_push_all(stream);
	if (line->last)
		fence = dma_fence_get(line->last);
	pagoda_stream_unlock(stream, cookie);
	return fence;
}

/**
 * pagoda_stream_last_move() - Get the last fence of the line of moves
 * @vidmm: Memory manager
 *
 * Context: May sleep. The caller has no open transaction.
 * Return: A reference to the fence behind all operations of the line of moves so far, whose
 * submission may still be open; NULL = there were no operations.
 */
struct dma_fence *pagoda_stream_last_move(struct pagoda_vidmm *vidmm)
{
	struct pagoda_stream *stream = vidmm->stream;
	struct dma_fence *fence = NULL;
	bool cookie = pagoda_stream_lock(stream);

	if (stream->moves.last)
		fence = dma_fence_get(stream->moves.last);
	pagoda_stream_unlock(stream, cookie);
	return fence;
}

static struct pagoda_paging_limits stream_limits(const struct pagoda_device_info *info)
{
	return (struct pagoda_paging_limits) {
		.features = info->features,
		.vram_size = info->vram_size,
		.aperture_pages = info->aperture_pages,
		.mmu_pages = info->mmu_pages,
		.swizzling_bytes = info->swizzling_bytes,
		.max_runs = info->max_runs,
		.va_bits = info->va_bits,
		.pt_levels = info->pt_levels,
		.page_sizes = info->page_sizes,
		.max_address_spaces = info->max_address_spaces,
		.swizzling_ranges = info->swizzling_ranges,
	};
}

/**
 * pagoda_stream_init() - Set up the stream and the paging queue
 * @vidmm: Memory manager with @info set
 * @args: Parameters of the memory manager
 * @stream_args: Callbacks and the fence page; copied
 *
 * Context: Probe; may sleep.
 * Return: 0, -ENOMEM or another error of pagoda_queue_create().
 */
int pagoda_stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args,
		       const struct pagoda_stream_args *stream_args)
{
	const struct pagoda_device_info *info = vidmm->info;
	const struct pagoda_queue_args queue = {
		.dev = vidmm->drm->dev,
		.transport = args->transport,
		.ops = stream_args->ops,
		.owner = vidmm,
		.buffer_size = info->max_buffer_bytes,
		.priv_size = max_t(u32, info->max_buffer_bytes / 2, PAGE_SIZE),
		.timeout_ms = args->timeout_ms,
		.use_cpu = args->use_cpu,
	};
	struct pagoda_stream *stream;
	u32 bytes, priv_bytes;

	stream = drmm_kzalloc(vidmm->drm, sizeof(*stream), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	vidmm->stream = stream;
	stream->vidmm = vidmm;
	stream->args = *stream_args;
	stream->limits = stream_limits(info);
	vidmm->paging_limits = &stream->limits;
	mutex_init(&stream->lock);
	mutex_init(&stream->aside);
	INIT_LIST_HEAD(&stream->opened);
	INIT_LIST_HEAD(&stream->moves.opened);
	pagoda_callers_init(stream);
	init_waitqueue_head(&stream->turn);
	INIT_DELAYED_WORK(&stream->flush, stream_flush_work);
	INIT_WORK(&stream->overrun, stream_overrun_work);
	stream->patience = msecs_to_jiffies(PAGODA_PLUG_MS);
	stream->busy_patience = PAGODA_BUSY_TIMEOUT;

	stream->wq = alloc_workqueue("pagoda-stream", WQ_MEM_RECLAIM | WQ_HIGHPRI | WQ_PERCPU, 1);
	if (!stream->wq)
		return -ENOMEM;
	vidmm->queue = pagoda_queue_create(&queue);
	if (IS_ERR(vidmm->queue)) {
		destroy_workqueue(stream->wq);
		return PTR_ERR(vidmm->queue);
	}
	stream->moves.queue = pagoda_queue_main(vidmm->queue);
	pagoda_queue_smallest(vidmm->queue, &bytes, &priv_bytes);
	stream->room = bytes - PAGODA_STREAM_TAIL;
	stream->packets = priv_bytes / PAGODA_PAGING_MIN_PRIVATE - 1;
	return 0;
}

/**
 * pagoda_stream_stop() - Finish or give up all paging, because the device is removed
 * @vidmm: Memory manager; later only operations that free memory may be emitted, which are given up
 *
 * Context: May sleep for long.
 */
void pagoda_stream_stop(struct pagoda_vidmm *vidmm)
{
	flush_delayed_work(&vidmm->stream->flush);
	pagoda_queue_stop(vidmm->queue);
	cancel_work_sync(&vidmm->stream->overrun);
}

/* Undoes pagoda_stream_init() when no thread emits operations any more. May sleep. */
void pagoda_stream_fini(struct pagoda_vidmm *vidmm)
{
	struct pagoda_stream *stream = vidmm->stream;

	/* Operations that freed memory after pagoda_stream_stop() may be in open submissions. */
	pagoda_stream_flush(vidmm);
	cancel_delayed_work_sync(&stream->flush);
	cancel_work_sync(&stream->overrun);
	if (stream->reserve)
		pagoda_submission_put(stream->reserve);
	dma_fence_put(stream->moves.last);
	pagoda_queue_destroy(stream->vidmm->queue);
	destroy_workqueue(stream->wq);
	mutex_destroy(&stream->aside);
	mutex_destroy(&stream->lock);
}

/**
 * pagoda_residency_later() - Find the last paging fence of several allocations: to be called for
 * each of them in turn
 * @vidmm: The manager
 * @latest: Result of the call for the previous allocation, a reference that is consumed; NULL in
 *	the first call
 * @resv: Reservation of the next allocation, held
 *
 * Looks at fences with DMA_RESV_USAGE_KERNEL. Those of paging are all of the line of moves, in
 * which they signal in order: the latest stands for all. Those of other devices that share the
 * allocation are left to pagoda_residency_and_others().
 *
 * Context: Any.
 * Return: A reference to the latest paging fence of the allocations so far; NULL if all their
 * paging fences have signalled.
 */
struct dma_fence *pagoda_residency_later(struct pagoda_vidmm *vidmm, struct dma_fence *latest,
					 struct dma_resv *resv)
{
	struct dma_resv_iter cursor;
	struct dma_fence *fence;

	dma_resv_for_each_fence(&cursor, resv, DMA_RESV_USAGE_KERNEL, fence) {
		if (!pagoda_queue_owns(vidmm->queue, fence) || dma_fence_is_signaled(fence))
			continue;
		if (latest && !dma_fence_is_later(fence, latest))
			continue;
		dma_fence_put(latest);
		latest = dma_fence_get(fence);
	}
	return latest;
}
