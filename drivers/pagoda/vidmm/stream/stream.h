/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stream of paging buffers: its lines, transactions and plugs, waits for its fences, notes of
 * the client that pays for a thread's paging; and the journal and recording of the stream.
 */
#ifndef PAGODA_VIDMM_STREAM_STREAM_H
#define PAGODA_VIDMM_STREAM_STREAM_H

#include <linux/dma-resv.h>
#include <linux/list.h>
#include <linux/types.h>
#include "core/kcov.h"

struct dma_fence;
struct dma_resv;
struct drm_printer;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_journal;
struct pagoda_paging_cost;
struct pagoda_paging_op;
struct pagoda_quota;
struct pagoda_root;
struct pagoda_stream_line;
struct pagoda_submission;
struct pagoda_vidmm;
struct pagoda_vidmm_args;
struct task_struct;
struct wait_queue_entry;

/*
 * Lines: operations of a line are executed in the order in which they were emitted. There is one
 * line of moves, and one line for the page tables of each VM.
 *
 *	moves		moves, with the invalidation of entries that show what moves, and the
 *			eviction of page tables; releases, notices, save areas, fence values,
 *			mappings of the device MMU; all that uses windows of the paging process
 *	a VM's		other changes of the VM's page tables, and their TLB flushes
 *
 * An operation that waits holds up the operations behind it: in its line all later operations, in
 * other lines only those that enum pagoda_stream_edge puts behind it.
 *
 * The table says where paging waits for jobs that use the memory. All clients share the line of
 * moves, so only the two kinds of moves with "in the stream" wait for jobs in that line; a warning
 * is logged if another transaction would.
 *
 *	eviction for room	in the stream: the first operation of the victim's transaction waits
 *				for jobs that use the victim and have a place of an engine. An
 *				allocation that other jobs or devices use is no victim
 *				(pagoda_stream_has_queued())
 *	EVICT			the ioctl or the pager waits, outside of sections. An allocation
 *				that new jobs use after the wait stays in place
 *	move for an importer	in the stream, as a victim's; but for jobs without a place of an
 *				engine and for other devices the caller waits, before the
 *				transaction
 *	other moves, also for	the caller waits, before the transaction (pagoda_stream_await())
 *	an exporter, access of
 *	a CPU, lost content
 *	memory that is freed	TTM waits, in a work item: operations are emitted when the memory is
 *				idle
 *	unmapping		nothing waits: a job that uses the address faults
 *	closed handles		a work item of the client waits: the addresses end when jobs that
 *				may use them have ended
 */

/**
 * enum pagoda_stream_waits - What a transaction waits for in the stream, in addition to paging
 * @PAGODA_STREAM_WAITS_NOT: nothing: the caller has waited for what uses the memory, or needn't
 * @PAGODA_STREAM_WAITS_FOR_VICTIM: jobs that have a place of an engine and use a victim, or an
 *	allocation that an importer wants
 */
enum pagoda_stream_waits {
	PAGODA_STREAM_WAITS_NOT,
	PAGODA_STREAM_WAITS_FOR_VICTIM,
};

/* Another array of VM_BIND waits while a VM's line has so many submissions, or more, in flight. */
#define PAGODA_STREAM_LINE_MOST	16

/* Most milliseconds that the pauses of a list take together, see pagoda_caller_pause(). */
#define PAGODA_PAUSE_MS		100

/*
 * Most bytes of a single TRANSFER or FILL, which take about a millisecond; a submission that moves
 * as many gets no further operation.
 */
#define PAGODA_PIECE_BYTES	(8u << 20)

/**
 * struct pagoda_stream_args - Callbacks of the stream, and its fence page
 * @ops: Functions that the paging queue calls
 * @needs_idle: Returns whether a VIRTIO_PAGODA_OP_* on an allocation is busy until the allocation
 *	is idle (&pagoda_paging_op.needs_idle); reservation held
 * @make_idle: Does what can't be queued as packets, once an allocation is idle, before a busy
 *	operation is built again; reservation held. May sleep; returns 0 or a negative errno
 * @overrun: Called when operations were lost, because a transaction exceeded its cost and there
 *	was no memory for another submission. May sleep
 * @fence_address: Address of the fence page for the device: each submission writes its number
 *	there at its end
 * @fence_page: Fence page, for the CPU
 */
struct pagoda_stream_args {
	const struct pagoda_queue_ops *ops;
	bool (*needs_idle)(const struct pagoda_bo *bo, u32 operation);
	int (*make_idle)(struct pagoda_bo *bo, u32 operation);
	void (*overrun)(struct pagoda_vidmm *vidmm);
	u64 fence_address;
	struct page *fence_page;
};

/**
 * struct pagoda_caller - A note: a thread pages for a client, which pays (caller.c)
 * @entry: In &pagoda_stream.callers
 * @task: The thread
 * @quota: Quota of the client, a reference: the thread's submissions count there
 * @kcov: &pagoda_client.kcov, for the thread's submissions
 */
struct pagoda_caller {
	struct hlist_node entry;
	struct task_struct *task;
	struct pagoda_quota *quota;
	struct pagoda_kcov kcov;
};

/**
 * enum pagoda_stream_edge - Why a transaction is behind a submission of another line
 * @PAGODA_EDGE_MOVED: A change of page tables is behind the moves of the allocations that its
 *	entries show: before these moves the memory has another allocation's content
 * @PAGODA_EDGE_PLACED: A change of page tables that has new tables is behind all moves so far: a
 *	table's memory may still have content that moves away
 * @PAGODA_EDGE_CHANGED: Any operation on a VM's page tables is behind the last such operation of
 *	the VM: the result of the later operation counts
 * @PAGODA_EDGE_COVERED: A change of page tables, or the store of a monitored fence's value, is
 *	behind the paging that its caller emitted before: the caller hands out the last fence for
 *	all of that paging (C116)
 * @PAGODA_EDGE_SHOWN: A move is behind the changes of page tables whose fences are in the moving
 *	allocation's reservation: no entry shows memory that the allocation has left, and all
 *	unmapping that was emitted before is done (C101)
 * @PAGODA_EDGE_DROPPED: The release of a page table is behind the change that dropped the table:
 *	the device may read the table until then
 * @PAGODA_EDGES: Number of edges
 *
 * The device executes submissions in the order in which they are sent, so a transaction waits only
 * until the submissions that it is behind are sent. A move may wait for changes of page tables;
 * these wait for no jobs, and only for moves that the move has to wait for in its line anyway.
 */
enum pagoda_stream_edge {
	PAGODA_EDGE_MOVED,
	PAGODA_EDGE_PLACED,
	PAGODA_EDGE_CHANGED,
	PAGODA_EDGE_COVERED,
	PAGODA_EDGE_SHOWN,
	PAGODA_EDGE_DROPPED,
	PAGODA_EDGES
};

/**
 * struct pagoda_stream_order - Line of a transaction, and the submissions of other lines that the
 * transaction is behind
 * @line: Line, or NULL for the line of moves
 * @behind: For each edge the fence of a submission that the operations come behind, or NULL; a
 *	fence that isn't one of paging is ignored. NULL for %PAGODA_EDGE_SHOWN
 */
struct pagoda_stream_order {
	struct pagoda_stream_line *line;
	struct dma_fence *behind[PAGODA_EDGES];
};

/**
 * struct pagoda_plug - Plug of the stream by a thread, whose transactions then share submissions
 * @entry: In &pagoda_stream.plugs
 * @task: The thread
 */
struct pagoda_plug {
	struct hlist_node entry;
	struct task_struct *task;
};

/**
 * struct pagoda_stream_txn - Transaction: operations that a caller emits together, with a fence
 * behind the last of them
 * @vidmm: Memory manager that has the stream
 * @line: Line that the operations are appended to
 * @order: Submissions of other lines that the first operation is behind
 * @bo: Allocation to wait for when an operation is busy, or NULL (C25)
 * @spare: Submissions allocated in advance, so that the operations can't fail for want of
 *	memory
 * @only: Array of a single entry for @spare to point to
 * @fence: Fence of the submission with the last operation, a reference; NULL before the first
 * @quota: Quota that pays for the submissions that the transaction opens, or NULL
 * @kcov: &pagoda_client.kcov of the client with @quota, for these submissions
 * @nr_spare: Number of entries of @spare; the last is used first
 * @failed: 0; or -ENOMEM if the operations exceeded the transaction's cost, and there was no
 *	memory for another submission: operations that need a new submission fail
 * @fresh: The next operation must not go into the open submission, but into the last entry of
 *	@spare, which waits for fences
 * @in_transfer: The last operation was a piece of a transfer that other pieces have to follow
 * @aside: The transaction uses the submissions that are set aside, each when it is needed
 * @memalloc: If @aside, returned by memalloc_noreclaim_save(): the transaction doesn't reclaim
 * @no_wait: pagoda_stream_emit() returns -EBUSY instead of waiting for a busy allocation
 * @cookie: Returned by dma_fence_begin_signalling(): the transaction is a fence signalling
 *	section
 */
struct pagoda_stream_txn {
	struct pagoda_vidmm *vidmm;
	struct pagoda_stream_line *line;
	struct pagoda_stream_order order;
	struct pagoda_bo *bo;
	struct pagoda_submission **spare;
	struct pagoda_submission *only;
	struct dma_fence *fence;
	struct pagoda_quota *quota;
	struct pagoda_kcov kcov;
	u32 nr_spare;
	int failed;
	bool fresh;
	bool in_transfer;
	bool aside;
	unsigned int memalloc;
	bool no_wait;
	bool cookie;
};

/*
 * stream.c: set-up and end of the stream; its lines and plugs; waits for fences, and looks at
 * fences that paging may have to wait for
 */
struct dma_fence *pagoda_residency_later(struct pagoda_vidmm *vidmm, struct dma_fence *latest,
					 struct dma_resv *resv);
int pagoda_stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args,
		       const struct pagoda_stream_args *stream_args);
void pagoda_stream_stop(struct pagoda_vidmm *vidmm);
void pagoda_stream_numbered(void *owner, struct pagoda_submission *sub);
struct pagoda_paging_cost pagoda_stream_cost(struct pagoda_vidmm *vidmm,
					     const struct pagoda_paging_op *op);
u32 pagoda_stream_room(struct pagoda_vidmm *vidmm);
u64 pagoda_stream_restarts(struct pagoda_vidmm *vidmm);
void pagoda_stream_fini(struct pagoda_vidmm *vidmm);
struct pagoda_stream_line *pagoda_stream_line_create(struct pagoda_vidmm *vidmm);
void pagoda_stream_line_destroy(struct pagoda_vidmm *vidmm, struct pagoda_stream_line *line);
int pagoda_stream_line_await(struct pagoda_stream_line *line);
struct dma_fence *pagoda_stream_line_full(struct pagoda_vidmm *vidmm,
					  struct pagoda_stream_line *line);
struct dma_fence *pagoda_stream_last_move(struct pagoda_vidmm *vidmm);
void pagoda_stream_plug(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug);
void pagoda_stream_plug_pass(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug);
void pagoda_stream_unplug(struct pagoda_vidmm *vidmm, struct pagoda_plug *plug);
void pagoda_stream_flush(struct pagoda_vidmm *vidmm);
void pagoda_stream_wait_fence(struct pagoda_vidmm *vidmm, struct dma_fence *fence);
void pagoda_stream_wait_resv(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			     enum dma_resv_usage usage);
bool pagoda_stream_has_foreign(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			       enum dma_resv_usage usage);
bool pagoda_stream_is_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence);
struct dma_fence *pagoda_stream_get_queued(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
					   enum dma_resv_usage usage);
bool pagoda_stream_has_queued(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			      enum dma_resv_usage usage);
bool pagoda_stream_is_awaited(struct pagoda_vidmm *vidmm, struct dma_resv *resv);
int pagoda_stream_await(struct pagoda_vidmm *vidmm, struct dma_resv *resv,
			enum dma_resv_usage usage, bool interruptible);
int pagoda_stream_wait_idle(struct pagoda_vidmm *vidmm, long timeout);

/* transaction.c: transactions of the stream, and its restart after a reset of the device */
int pagoda_stream_begin(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			struct pagoda_bo *bo, enum pagoda_stream_waits waits, struct dma_resv *resv,
			enum dma_resv_usage usage, const struct pagoda_paging_cost *cost);
void pagoda_stream_begin_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			      struct pagoda_bo *bo, enum pagoda_stream_waits waits,
			      struct dma_resv *resv, const struct pagoda_paging_cost *cost);
bool pagoda_stream_is_behind(struct pagoda_stream_txn *txn, enum pagoda_stream_edge edge,
			     struct dma_fence *fence);
int pagoda_stream_begin_in(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
			   const struct pagoda_stream_order *order,
			   const struct pagoda_paging_cost *cost);
void pagoda_stream_begin_in_must(struct pagoda_stream_txn *txn, struct pagoda_vidmm *vidmm,
				 const struct pagoda_stream_order *order,
				 enum pagoda_stream_waits waits, struct dma_resv *resv,
				 const struct pagoda_paging_cost *cost);
int pagoda_stream_emit(struct pagoda_stream_txn *txn, struct pagoda_paging_op *op);
void pagoda_stream_emit_valid(void *txn, struct pagoda_paging_op *op);
int pagoda_stream_restart(struct pagoda_vidmm *vidmm, const struct pagoda_paging_cost *cost,
			  void (*first)(struct pagoda_vidmm *vidmm, struct pagoda_stream_txn *txn));
struct dma_fence *pagoda_stream_end(struct pagoda_stream_txn *txn);
void pagoda_stream_end_later(struct pagoda_stream_txn *txn);
int pagoda_stream_end_wait(struct pagoda_stream_txn *txn);

/* caller.c: note the client that pays for a thread's paging; wait until a client may page */
void pagoda_caller_begin(struct pagoda_vidmm *vidmm, struct pagoda_caller *caller,
			 struct pagoda_client *client);
void pagoda_caller_end(struct pagoda_vidmm *vidmm, struct pagoda_caller *caller);
int pagoda_caller_await(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
int pagoda_caller_await_moves(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
void pagoda_caller_pause(struct pagoda_vidmm *vidmm, unsigned long until);
bool pagoda_caller_must_wait(struct pagoda_vidmm *vidmm, struct pagoda_client *client);
bool pagoda_caller_tell(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			struct wait_queue_entry *entry);
void pagoda_caller_untell(struct pagoda_client *client, struct wait_queue_entry *entry);

/*
 * journal.c: write and read the journal of the last operations, and the recording of paging buffers
 */
void pagoda_vidmm_print_journal(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_vidmm_record(struct pagoda_vidmm *vidmm, u64 size);
ssize_t pagoda_vidmm_read_recording(struct pagoda_vidmm *vidmm, char __user *buf, size_t size,
				    loff_t *pos);
void *pagoda_vidmm_journal(struct pagoda_vidmm *vidmm, size_t *size);
int pagoda_journal_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_journal_fini(struct pagoda_vidmm *vidmm);
void pagoda_journal_written(struct pagoda_journal *journal, const struct pagoda_paging_op *op);
void pagoda_journal_root(struct pagoda_journal *journal, u32 space,
			 const struct pagoda_root *root);
void pagoda_journal_reset(struct pagoda_journal *journal);
void pagoda_journal_lost(struct pagoda_journal *journal, u64 seqno, u32 offset, int error);

#endif
