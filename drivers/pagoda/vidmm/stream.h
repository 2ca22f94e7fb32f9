/* SPDX-License-Identifier: GPL-2.0 */
/* The stream of paging buffers, and what is kept of what was in it. */
#ifndef PAGODA_STREAM_H
#define PAGODA_STREAM_H

#include <linux/dma-resv.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <pagoda/journal.h>
#include <pagoda/mmu.h>
#include <pagoda/paging.h>
#include <pagoda/queue.h>
#include "memory.h"

/** PAGODA_PIECE_BYTES: most bytes of one TRANSFER or FILL; about a millisecond. */
#define PAGODA_PIECE_BYTES	(8u << 20)

/* ---- Stream (stream.c): the loop of the OS side around the builder ------- */

/**
 * struct pagoda_stream - The paging buffer being filled
 * @queue: Where full ones go
 * @limits: For the builders
 * @lock: Protects everything below. Taken on the way to signalling a fence
 * @open: Armed submission being filled, or NULL
 * @reserve: One that is ready, for small operations, or NULL
 * @buf: Write position in @open
 * @open_cost: Bytes the operations in @open move
 * @plugs: Callers that will add more soon
 * @in_transfer: A transaction waits between two pieces of a transfer, without the lock
 * @turn: Woken when it goes on
 * @restarts: Times the device was reset and paging worked again: what was emitted before the
 *	last is given up, if it wasn't executed for a device that has forgotten it
 * @flush: Pushes @open when they take too long; the bound that makes an armed
 *	and open fence legal
 * @overrun: Asks for a reset: more was emitted than was announced, and there was no memory for it
 * @patience: Jiffies until it does; constant
 * @wq: For @flush, usable in reclaim
 * @fence_mem: Page where each submission writes its number at its end
 * @room: Bytes operations may use of the smallest buffer: all but that write
 * @packets: Packets the smallest submission has private data for, without it
 */
struct pagoda_stream {
	struct pagoda_queue *queue;
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
	struct pagoda_sysmem fence_mem;
	u32 room;
	u32 packets;
};

/**
 * struct pagoda_stream_txn - Operations that become visible as one fence
 * @vidmm: Whose stream
 * @bo: Allocation whose fences BUSY waits for, or NULL (C25)
 * @spare: Submissions got in advance, so that nothing can fail once started
 * @only: Where @spare points if it is a single one
 * @fence: Fence of the last submission used
 * @nr_spare: Entries of @spare; taken from the end
 * @failed: -ENOMEM: more was emitted than was announced, and there was no memory for it;
 *	nothing more is
 * @fresh: The next operation must not share a submission with earlier ones: the
 *	last entry of @spare has dependencies
 * @in_transfer: What was emitted last is a piece of a transfer, and not the last one
 * @no_wait: Answer -EBUSY instead of waiting
 * @cookie: Of the fence signalling section the transaction is
 */
struct pagoda_stream_txn {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;
	struct pagoda_submission **spare;
	struct pagoda_submission *only;
	struct dma_fence *fence;
	u32 nr_spare;
	int failed;
	bool fresh;
	bool in_transfer;
	bool no_wait;
	bool cookie;
};

extern const struct pagoda_queue_ops pagoda_stream_queue_ops;
int pagoda_stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_stream_fini(struct pagoda_vidmm *vidmm);
void pagoda_stream_plug(struct pagoda_vidmm *vidmm);
void pagoda_stream_unplug(struct pagoda_vidmm *vidmm);
void pagoda_stream_flush(struct pagoda_vidmm *vidmm);
void pagoda_stream_wait_fence(struct pagoda_vidmm *vidmm, struct dma_fence *fence);
void pagoda_stream_wait_resv(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			     enum dma_resv_usage usage);
bool pagoda_stream_has_foreign(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			       enum dma_resv_usage usage);
int pagoda_stream_wait_idle(struct pagoda_vidmm *vidmm, long timeout);
int pagoda_stream_begin(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			struct pagoda_bo *bo, struct dma_resv *resv,
			enum dma_resv_usage usage, const struct pagoda_paging_cost *cost);
void pagoda_stream_begin_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			      struct pagoda_bo *bo, struct dma_resv *resv,
			      const struct pagoda_paging_cost *cost);
int pagoda_stream_emit(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op);
void pagoda_stream_emit_valid(void *txn, struct pagoda_paging_op *op);
int pagoda_stream_restart(struct pagoda_vidmm *vidmm);
struct dma_fence *pagoda_stream_end(struct pagoda_stream_txn *txn);
int pagoda_stream_end_wait(struct pagoda_stream_txn *txn);

/* ---- Journal (journal.c): what the stream did ----------------------------- */

/**
 * struct pagoda_journal_loss - A submission that failed for good
 * @seqno: Its number
 * @offset: First byte that wasn't executed
 * @error: Why
 */
struct pagoda_journal_loss {
	u64 seqno;
	u32 offset;
	int error;
};

/**
 * struct pagoda_journal - The last operations, and a recording of all of them
 * @entries: Ring; written under the stream's lock, read without one
 * @recorded: Number of the last entry
 * @losses: Last submissions that failed, a ring
 * @nr_losses: Failed so far
 * @recording_mutex: Keeps @recording from being freed
 * @recording_lock: Protects everything below
 * @recording: Buffers, one after another; NULL = nobody wants them
 * @recording_size: Its bytes
 * @recording_used: Bytes of them in use
 * @recording_dropped: Submissions that had no room
 * @recording_missed: Number of the last submission before the recording began, and one
 *	more for each whose losses had no room: what came then isn't in it
 * @last_seqno: Number of the last submission
 */
struct pagoda_journal {
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

int pagoda_journal_init(struct pagoda_journal *journal);
void pagoda_journal_fini(struct pagoda_journal *journal);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 seqno, u32 offset, u32 encoded, int pass);
void pagoda_journal_record(struct pagoda_journal *journal, const struct pagoda_submission *sub);
void pagoda_journal_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op);
void pagoda_journal_root(struct pagoda_journal *journal, u32 space,
			 const struct pagoda_root *root);
void pagoda_journal_reset(struct pagoda_journal *journal);
void pagoda_journal_lost(struct pagoda_journal *journal, u64 seqno, u32 offset, int error);

#endif
