/* SPDX-License-Identifier: GPL-2.0 */
/* What the stream and its journal share. */
#ifndef PAGODA_VIDMM_STREAM_INTERNAL_H
#define PAGODA_VIDMM_STREAM_INTERNAL_H

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

/* Bytes at the end of each paging buffer for the packet that writes the buffer's number. */
#define PAGODA_STREAM_TAIL	sizeof(struct virtio_pagoda_signal_monitored_fence)

/**
 * struct pagoda_stream - The stream of paging buffers
 * @vidmm: Manager
 * @limits: Limits of the device, which builders of packets obey
 * @lock: Protects the members below. Taken on the dma_fence signalling path
 * @open: Open submission: operations are appended to it, and its fence is published; or NULL
 * @reserve: Spare submission for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes that the operations in @open move
 * @plugs: Number of pagoda_stream_plug() calls not undone: @open stays open between
 *	transactions
 * @in_transfer: A transaction waits between two pieces of a transfer, without @lock: no other
 *	may begin
 * @turn: Waits for @in_transfer to be cleared
 * @restarts: Number of times that paging was started again after a reset; see
 *	pagoda_stream_restarts()
 * @flush: Submits @open after @patience at the latest, because its fence is published
 * @overrun: Calls @args.overrun(), which requests a reset
 * @patience: Jiffies until @flush; constant
 * @wq: Work queue of @flush, usable in reclaim
 * @args: Arguments of pagoda_stream_init()
 * @room: Bytes of the smallest paging buffer that operations may use: all but
 *	%PAGODA_STREAM_TAIL
 * @packets: Packets that fit into the smallest submission's private data, without the fence
 *	write
 */
struct pagoda_stream {
	struct pagoda_vidmm *vidmm;
	struct pagoda_paging_limits limits;
	struct mutex lock;	/* all below */
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
 * struct pagoda_journal - The last operations, and a recording of all paging buffers
 * @vidmm: Manager
 * @entries: Ring; written under the stream's lock, read without a lock
 * @recorded: Number of the last entry
 * @losses: Ring of the last submissions that were given up
 * @nr_losses: Number of submissions that were given up so far
 * @recording_mutex: Held by readers, keeps @recording from being freed
 * @recording_lock: Protects the members below
 * @recording: Buffer of recorded items, without gaps; NULL = not recording
 * @recording_size: Size of @recording in bytes
 * @recording_used: Bytes of @recording that have items
 * @recording_dropped: Number of items left out for want of room
 * @recording_missed: &pagoda_recording_head.missed
 * @last_seqno: Number of the last submission
 */
struct pagoda_journal {
	struct pagoda_vidmm *vidmm;
	struct pagoda_journal_entry *entries;
	u64 recorded;
	struct pagoda_journal_loss losses[64];
	u32 nr_losses;
	struct mutex recording_mutex;	/* life of recording */
	spinlock_t recording_lock;	/* all below */
	u8 *recording;
	u64 recording_size;
	u64 recording_used;
	u64 recording_dropped;
	u64 recording_missed;
	u64 last_seqno;
};

bool pagoda_stream_lock(struct pagoda_stream *stream);
void pagoda_stream_unlock(struct pagoda_stream *stream, bool cookie);
void pagoda_stream_push(struct pagoda_stream *stream);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 seqno, u32 offset, u32 encoded, int pass);
void pagoda_journal_record(struct pagoda_journal *journal, const struct pagoda_submission *sub);

#endif
