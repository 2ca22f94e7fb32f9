/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Structs and functions that the files of the stream share: stream, lines, journal, hash of notes
 * about threads.
 */
#ifndef PAGODA_VIDMM_STREAM_INTERNAL_H
#define PAGODA_VIDMM_STREAM_INTERNAL_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "paging/paging.h"
#include "stream.h"

struct pagoda_journal_entry;
struct pagoda_paging_op;
struct pagoda_queue;
struct pagoda_submission;
struct pagoda_vidmm;
struct workqueue_struct;

/* Bytes kept free at the end of each paging buffer for the packet that writes the fence page. */
#define PAGODA_STREAM_TAIL	sizeof(struct virtio_pagoda_signal_monitored_fence)

/* Log2 of the number of hash buckets, by thread: for plugs, and for struct pagoda_caller. */
#define PAGODA_CALLER_BITS	6

/* struct pagoda_callers - a hash bucket; @list: list of struct pagoda_caller */
struct pagoda_callers {
	spinlock_t lock;	/* protects list */
	struct hlist_head list;
};

/**
 * struct pagoda_stream_line - Operations that are executed in the order in which they were emitted
 * @queue: Line of the paging queue
 * @open: Submission to which operations are appended, and whose fence is published already; or
 *	NULL. Stays open between transactions if the last transaction's thread has plugged the
 *	stream, or has called pagoda_stream_end_later()
 * @opened: In &pagoda_stream.opened if @open isn't NULL
 * @buf: Write position in @open
 * @open_cost: Bytes that the operations in @open move
 * @in_transfer: A transaction waits, without &pagoda_stream.lock, between two pieces of a transfer
 *	or for a submission that is set aside: no transaction of the line but a restart's may begin
 * @last: Fence of the last submission that was opened, or NULL
 *
 * &pagoda_stream.lock protects all but @queue, which is constant.
 */
struct pagoda_stream_line {
	struct pagoda_line *queue;
	struct pagoda_submission *open;
	struct list_head opened;
	struct pagoda_paging_buffer buf;
	u64 open_cost;
	bool in_transfer;
	struct dma_fence *last;
};

/**
 * struct pagoda_stream - The stream of paging buffers
 * @vidmm: Manager
 * @limits: Limits of the device, which builders of packets obey
 * @lock: Protects @opened, @reserve, @plugs, @restarts and the members of all lines. Taken in the
 *	dma_fence signalling path
 * @moves: Line of moves
 * @opened: Lines with an open submission, linked by &pagoda_stream_line.opened
 * @reserve: Allocated submission for the next small transaction of @moves, or NULL
 * @plugs: Plugs of threads, by hash of the thread
 * @turn: Wait queue, woken when &pagoda_stream_line.in_transfer of any line is cleared
 * @restarts: Number of times that paging was started again after a reset; see
 *	pagoda_stream_restarts()
 * @flush: Work item that queues open submissions, up to @patience jiffies after a transaction left
 *	a submission open
 * @overrun: Work item that calls @args.overrun(), which requests a reset
 * @patience: Most jiffies that a submission stays open after a transaction; constant
 * @busy_patience: Most jiffies of each of the two waits after a builder has answered that the
 *	allocation is busy: for the transaction's fence, and for the allocation's fences; constant
 * @wq: Work queue of @flush, usable in reclaim
 * @args: Arguments of pagoda_stream_init()
 * @room: Bytes that operations may use in the smallest paging buffer: all but
 *	%PAGODA_STREAM_TAIL
 * @packets: Number of packets whose private data fits into the smallest submission, besides the
 *	packet that writes the fence page
 * @aside: Held by a transaction that uses the submissions which are set aside
 * @callers: Notes of the clients that threads page for, by hash of the thread
 */
struct pagoda_stream {
	struct pagoda_vidmm *vidmm;
	struct pagoda_paging_limits limits;
	struct mutex lock;	/* protects lines, opened, reserve, plugs, restarts */
	struct pagoda_stream_line moves;
	struct list_head opened;
	struct pagoda_submission *reserve;
	struct hlist_head plugs[1 << PAGODA_CALLER_BITS];
	wait_queue_head_t turn;
	u64 restarts;
	struct delayed_work flush;
	struct work_struct overrun;
	unsigned long patience;
	unsigned long busy_patience;
	struct workqueue_struct *wq;
	struct pagoda_stream_args args;
	u32 room;
	u32 packets;
	struct mutex aside;	/* held by the one transaction that uses what is set aside */
	struct pagoda_callers callers[1 << PAGODA_CALLER_BITS];
};

/**
 * struct pagoda_journal_loss - A submission that was given up
 * @seqno: Number of the submission
 * @offset: Offset of the first byte that wasn't executed
 * @error: Negative errno
 */
struct pagoda_journal_loss {
	u64 seqno;
	u32 offset;
	int error;
};

/**
 * struct pagoda_journal_number - Number of a submission that was sent or given up
 * @id: &pagoda_submission.id; 0 while @seqno changes
 * @seqno: &pagoda_submission.seqno
 */
struct pagoda_journal_number {
	u64 id;
	u64 seqno;
};

/**
 * struct pagoda_journal - Journal of the last operations, and a recording of all paging buffers
 * @vidmm: Manager
 * @entries: Ring; written under the stream's lock, read without a lock. &pagoda_journal_entry.seqno
 *	is the submission's id here
 * @numbers: Numbers of the last submissions, at index id % %PAGODA_JOURNAL_ENTRIES; read without a
 *	lock
 * @recorded: Number of the last entry in @entries; entries are numbered from 1 since probe
 * @losses: Ring of the last submissions that were given up
 * @nr_losses: Number of submissions that were given up so far
 * @recording_mutex: Held while @recording is replaced, and by readers, for which @recording must
 *	stay
 * @recording_lock: Protects the members below
 * @recording: Buffer of recorded items, without gaps; NULL = not recording
 * @recording_size: Size of @recording in bytes
 * @recording_used: Bytes of @recording that have items
 * @recording_dropped: Number of items left out: the first without room in @recording, and all later
 * @recording_missed: Value for &pagoda_recording_head.missed
 * @last_seqno: Number of the last submission that was sent or given up
 */
struct pagoda_journal {
	struct pagoda_vidmm *vidmm;
	struct pagoda_journal_entry *entries;
	struct pagoda_journal_number *numbers;
	u64 recorded;
	struct pagoda_journal_loss losses[64];
	u32 nr_losses;
	struct mutex recording_mutex;	/* keeps recording from being freed */
	spinlock_t recording_lock;	/* protects all members below */
	u8 *recording;
	u64 recording_size;
	u64 recording_used;
	u64 recording_dropped;
	u64 recording_missed;
	u64 last_seqno;
};

void pagoda_callers_init(struct pagoda_stream *stream);
struct pagoda_caller *pagoda_caller_find(struct pagoda_stream *stream);
void pagoda_caller_pays(struct pagoda_stream *stream, struct pagoda_stream_txn *txn);
bool pagoda_stream_lock(struct pagoda_stream *stream);
void pagoda_stream_unlock(struct pagoda_stream *stream, bool cookie);
void pagoda_stream_lock_line(struct pagoda_stream_txn *txn, struct pagoda_stream *stream);
bool pagoda_stream_is_plugged(struct pagoda_stream *stream);
void pagoda_stream_push(struct pagoda_stream *stream, struct pagoda_stream_line *line);
void pagoda_stream_push_all(struct pagoda_stream *stream);
u32 pagoda_stream_sub_packets(const struct pagoda_submission *sub);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 id, u32 offset, u32 encoded, int pass);
void pagoda_journal_sent(struct pagoda_journal *journal, const struct pagoda_submission *sub);

#endif
