/* SPDX-License-Identifier: GPL-2.0 */
/* Declarations that the files of the stream share. */
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
struct pagoda_quota;
struct pagoda_submission;
struct pagoda_vidmm;
struct workqueue_struct;

/* Bytes kept free at the end of each paging buffer for the packet that writes the fence page. */
#define PAGODA_STREAM_TAIL	sizeof(struct virtio_pagoda_signal_monitored_fence)

/* Log2 of the number of hash buckets for notes of threads that page for clients. */
#define PAGODA_CALLER_BITS	6

/* struct pagoda_callers - a hash bucket of notes. @list: struct pagoda_caller */
struct pagoda_callers {
	spinlock_t lock;	/* protects list */
	struct hlist_head list;
};

/**
 * struct pagoda_stream - The stream of paging buffers
 * @vidmm: Manager
 * @limits: Limits of the device, which builders of packets obey
 * @lock: Protects the members below. Taken in the dma_fence signalling path
 * @open: Submission to which operations are appended, and whose fence is published already; or
 *	NULL. Stays open between transactions if the stream is plugged, or if no thread needs the
 *	fence of the last transaction
 * @reserve: Spare submission for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes that the operations in @open move
 * @plugs: Number of pagoda_stream_plug() calls not undone
 * @in_transfer: A transaction waits, without @lock, between two pieces of a transfer or for a
 *	submission that is set aside: no other transaction may begin
 * @turn: Wait queue, woken when @in_transfer is cleared
 * @restarts: Number of times that paging was started again after a reset; see
 *	pagoda_stream_restarts()
 * @flush: Work item that queues @open if no thread has done so in @patience jiffies
 * @overrun: Work item that calls @args.overrun(), which requests a reset
 * @patience: Longest time that @open stays open after a transaction, in jiffies; constant
 * @wq: Work queue of @flush, usable in reclaim
 * @args: Arguments of pagoda_stream_init()
 * @room: Bytes of the smallest paging buffer that operations may use: all but
 *	%PAGODA_STREAM_TAIL
 * @packets: Packets that fit into the smallest submission's private data, besides the write of
 *	the fence page
 * @aside: Held by a transaction that uses the submissions which are set aside
 * @callers: Notes of threads that page for clients, by hash of the thread
 */
struct pagoda_stream {
	struct pagoda_vidmm *vidmm;
	struct pagoda_paging_limits limits;
	struct mutex lock;	/* protects all below */
	struct pagoda_submission *open;
	struct pagoda_submission *reserve;
	struct pagoda_paging_buffer buf;
	u64 open_cost;
	unsigned int plugs;
	bool in_transfer;
	wait_queue_head_t turn;
	u64 restarts;
	struct delayed_work flush;
	struct work_struct overrun;
	unsigned long patience;
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
 * struct pagoda_journal - Journal of the last operations, and a recording of all paging buffers
 * @vidmm: Manager
 * @entries: Ring; written under the stream's lock, read without a lock
 * @recorded: Number of the last entry of the journal
 * @losses: Ring of the last submissions that were given up
 * @nr_losses: Number of submissions that were given up so far
 * @recording_mutex: Readers hold it to keep @recording from being freed
 * @recording_lock: Protects the members below
 * @recording: Buffer of recorded items, without gaps; NULL = not recording
 * @recording_size: Size of @recording in bytes
 * @recording_used: Bytes of @recording that have items
 * @recording_dropped: Number of items left out because @recording had no room
 * @recording_missed: Value for &pagoda_recording_head.missed
 * @last_seqno: Number of the last submission that was queued
 */
struct pagoda_journal {
	struct pagoda_vidmm *vidmm;
	struct pagoda_journal_entry *entries;
	u64 recorded;
	struct pagoda_journal_loss losses[64];
	u32 nr_losses;
	struct mutex recording_mutex;	/* keeps recording from being freed */
	spinlock_t recording_lock;	/* protects all below */
	u8 *recording;
	u64 recording_size;
	u64 recording_used;
	u64 recording_dropped;
	u64 recording_missed;
	u64 last_seqno;
};

void pagoda_callers_init(struct pagoda_stream *stream);
struct pagoda_quota *pagoda_caller_quota(struct pagoda_stream *stream);
bool pagoda_stream_lock(struct pagoda_stream *stream);
void pagoda_stream_unlock(struct pagoda_stream *stream, bool cookie);
void pagoda_stream_push(struct pagoda_stream *stream);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 seqno, u32 offset, u32 encoded, int pass);
void pagoda_journal_record(struct pagoda_journal *journal, const struct pagoda_submission *sub);

#endif
