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

/* Bytes at the end of each buffer for the write of its sequence number. */
#define PAGODA_STREAM_TAIL	sizeof(struct virtio_pagoda_signal_monitored_fence)

/**
 * struct pagoda_stream - The paging buffer being filled
 * @vidmm: Manager
 * @limits: Limits of the device, for the builders
 * @lock: Protects the members below. Taken on the dma_fence signalling path
 * @open: Armed submission being filled, or NULL
 * @reserve: Submission kept ready for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes the operations in @open move
 * @plugs: Number of callers that will add more soon
 * @in_transfer: A transaction waits between two pieces of a transfer, without @lock
 * @turn: Woken when that transaction goes on
 * @restarts: Number of times that paging was started again after a reset of the device. An
 *	operation emitted before the last restart was given up, or the device has forgotten it
 * @flush: Pushes @open after @patience; this bound makes an armed and open fence legal
 * @overrun: Requests a reset: more was emitted than was announced, and there was no memory for it
 * @patience: Jiffies until @flush; constant
 * @wq: Work queue of @flush, usable in reclaim
 * @args: Arguments of pagoda_stream_init()
 * @room: Bytes operations may use of the smallest buffer: all but the fence write
 * @packets: Packets the smallest submission has private data for, but for the fence write
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
 * struct pagoda_journal_loss - A submission that failed for good
 * @seqno: Number of the submission
 * @offset: First byte that wasn't executed
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
 * @losses: Ring of the last submissions that failed
 * @nr_losses: Number of submissions that failed so far
 * @recording_mutex: Keeps @recording from being freed
 * @recording_lock: Protects the members below
 * @recording: Recorded items, one after another; NULL = not recording
 * @recording_size: Size of @recording in bytes
 * @recording_used: Bytes in use of @recording
 * @recording_dropped: Number of items that had no room
 * @recording_missed: Number of the last submission before the recording began, plus the number
 *	of losses that had no room: the recording lacks them
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
