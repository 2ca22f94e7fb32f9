/* SPDX-License-Identifier: GPL-2.0 */
/* The stream of paging buffers, and the journal of its operations. */
#ifndef PAGODA_STREAM_H
#define PAGODA_STREAM_H

#include <linux/dma-resv.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "queue/queue.h"
#include "vidmm/segment/memory.h"
#include "recording.h"

/* Most bytes of one TRANSFER or FILL: about a millisecond. */
#define PAGODA_PIECE_BYTES	(8u << 20)

/* ---- Stream (stream.c): the loop of the OS side around the builder ------- */

/**
 * struct pagoda_stream - The paging buffer being filled
 * @vidmm: Manager
 * @queue: Queue that full submissions go to
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
 * @fence_mem: Fence page: each submission writes its number there at its end
 * @room: Bytes operations may use of the smallest buffer: all but the fence write
 * @packets: Packets the smallest submission has private data for, but for the fence write
 */
struct pagoda_stream {
	struct pagoda_vidmm *vidmm;
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
 * @vidmm: Memory manager that has the stream
 * @bo: Allocation to wait for when an operation is busy, or NULL (C25)
 * @spare: Submissions allocated in advance, so that a started operation can't fail
 * @only: Array that @spare points to if it has a single entry
 * @fence: Fence of the last submission used
 * @nr_spare: Entries of @spare; taken from the end
 * @failed: -ENOMEM: more was emitted than was announced, and there was no memory for it;
 *	all further operations fail
 * @fresh: The next operation must not share a submission with earlier ones: the
 *	last entry of @spare has dependencies
 * @in_transfer: The last operation emitted is a piece of a transfer, and not the last piece
 * @no_wait: Return -EBUSY instead of waiting
 * @cookie: Of dma_fence_begin_signalling(); the transaction is a fence signalling section
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

/* ---- Journal (journal.c): the stream's last operations -------------------- */

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

int pagoda_journal_init(struct pagoda_vidmm *vidmm);
void pagoda_journal_fini(struct pagoda_vidmm *vidmm);
void pagoda_journal_note(struct pagoda_journal *journal, const struct pagoda_paging_op *op,
			 u64 seqno, u32 offset, u32 encoded, int pass);
void pagoda_journal_record(struct pagoda_journal *journal, const struct pagoda_submission *sub);
void pagoda_journal_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op);
void pagoda_journal_root(struct pagoda_journal *journal, u32 space,
			 const struct pagoda_root *root);
void pagoda_journal_reset(struct pagoda_journal *journal);
void pagoda_journal_lost(struct pagoda_journal *journal, u64 seqno, u32 offset, int error);

#endif
