/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue layer: paging buffers go in, fences come out.
 *
 * A device has one paging queue, which has lines: the submissions of a line are executed in the
 * order in which they were armed, and a submission that waits for its dependencies holds up no
 * other line. The queue has a line from the start; the owner creates others. Between lines only
 * dependencies make an order. The device executes submissions in the order in which they are sent,
 * so a submission that depends on a submission of another line only waits until the latter is sent.
 *
 * A submission is one paging buffer with its private data, its dependencies and its fence. The life
 * of a submission:
 *
 *	get   allocates all that the submission will ever need; may sleep and fail, or take one of
 *	      the submissions that were set aside, and not fail
 *	add   collects dependencies; may sleep and fail
 *	arm   publishes the fence. From here to push the caller must not allocate with
 *	      reclaim, take a reservation lock or wait for a fence of this driver
 *	push  hands the built buffer over to the queue; the fence signals in finite time
 *	put   instead of arm: frees the submission unused
 *
 * Submissions of a line are armed and pushed in the same order, under a lock of the caller; only
 * one submission of a line at a time is armed and not pushed yet. A submission gets its number when
 * the scheduler hands it over to be sent, because the device counts what it is sent.
 *
 * Operations that never run concurrently (C23): two builds of buffers, which hold the caller's
 * lock; and, of the device's queue, submit, poll and reset. A build may run concurrently with
 * submit, poll or reset: a buffer belongs to its builder until push, and from then on only
 * &pagoda_queue_ops.numbered writes to the buffer. A submission pushed during a reset of the
 * device's queue is sent after the reset.
 *
 * When the device refuses or loses a submission, the queue resets the device's queue and continues
 * from the first packet that wasn't executed, with unchanged sequence numbers and before any newer
 * submission, PAGODA_QUEUE_REPLAYS times; then the owner's execute() runs the rest on the CPU; if
 * execute() fails too, the queue reports the submission to the owner's lost() and continues behind
 * the submission, or has the whole device reset if lost() returns true. A fence always signals,
 * with an error when the work wasn't done.
 *
 * When a reset of the device's queue fails, or when a reset of the whole device is requested, the
 * owner resets the whole device. All submissions in flight that weren't executed completely are
 * lost then, and so are submissions pushed before the owner has rebuilt the device's memory and
 * called pagoda_queue_restart(). The queue doesn't wait for the rebuild, in which the owner may
 * allocate, and wait for threads that wait for fences. If the whole device can't be reset either,
 * execute() runs all submissions on the CPU from then on.
 */
#ifndef PAGODA_QUEUE_H
#define PAGODA_QUEUE_H

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/types.h>
#include "core/kcov.h"

struct device;
struct drm_printer;
struct pagoda_fault;
struct pagoda_line;
struct pagoda_queue;
struct pagoda_transport;

/** PAGODA_QUEUE_REPLAYS: most times that the device gets a packet again that it failed at. */
#define PAGODA_QUEUE_REPLAYS	2
/** PAGODA_QUEUE_HISTORY: most finished submissions kept with their buffers, for debugfs. */
#define PAGODA_QUEUE_HISTORY	8

/**
 * struct pagoda_submission - One paging buffer, as its builder sees it
 * @data: The buffer: page aligned, @size bytes
 * @priv: Private data, @priv_size bytes
 * @size: Bytes of @data
 * @priv_size: Bytes of @priv
 * @built: Bytes of @data in use; set by the builder's caller before push
 * @priv_built: Bytes of @priv in use; set by the builder's caller before push
 * @operations: Operations in the buffer, for traces; set by the builder's caller before push
 * @moved: Bytes of content that the operations move; set by the builder's caller before push
 * @owner: For the caller's use in &struct pagoda_queue_ops
 * @to_blame: Set by the queue, for &pagoda_queue_ops.lost: the device failed at this submission,
 *	and after that the device's queue couldn't be reset
 * @kcov: Set by the builder's caller before push: background work on the submission counts there
 * @fence: After arm: signals when the submission is finished; the submission's reference, so users
 *	of the fence take their own
 * @id: After arm: one more than that of the submission armed before, of any line
 * @seqno: From &pagoda_queue_ops.numbered on: number of the submission, one more than that of the
 *	submission sent before; 0 before
 */
struct pagoda_submission {
	u8 *data;
	u8 *priv;
	u32 size;
	u32 priv_size;
	u32 built;
	u32 priv_built;
	u32 operations;
	u64 moved;
	void *owner;
	bool to_blame;
	struct pagoda_kcov kcov;
	struct dma_fence *fence;
	u64 id;
	u64 seqno;
};

/**
 * struct pagoda_queue_ops - Operations of the queue's owner (vidmm)
 * @numbered: The submission has got its number, and is about to be sent, executed on the CPU or
 *	given up: the owner may still write the number into the buffer. Called in the order of
 *	numbers, in the dma_fence signalling path: doesn't allocate. May be NULL
 * @execute: Run the submission on the CPU from byte @start; returns 0, or an error and in
 *	*@stopped_at the offset of the first packet that wasn't executed completely. Called if the
 *	device doesn't execute (pagoda_queue_args.use_cpu, or a device that can't be reset), and
 *	when the device failed at a packet more than PAGODA_QUEUE_REPLAYS times. Called in a work
 *	item in the dma_fence signalling path: must not allocate with reclaim or take a reservation
 *	lock. If NULL, such submissions are lost
 * @lost: The submission failed for good with @error from byte @offset on: the owner marks content
 *	that wasn't written as lost, to be replaced by zeros before it is used. Returns true if
 *	the device must not continue without the submission's effect: the queue then resets the
 *	whole device, unless the submission was given up because of a reset of the whole device or
 *	of pagoda_queue_stop(), or the CPU executes all submissions. Called in the context of
 *	@execute, before the fence signals. May be NULL
 * @reset_adapter: Reset the whole device: if @broken, because the paging queue can't continue
 *	otherwise, also after @lost returned true; if @asked isn't 0, because of calls of
 *	pagoda_queue_reset_adapter(), whose reasons @asked has. Both may be so. Until the return the
 *	queue sends no submission. If the owner returns 0, requests that the device had and didn't
 *	execute are lost, and the owner rebuilds the device's memory and calls
 *	pagoda_queue_restart(); after an error the queue never uses the device again. Called in the
 *	context of @execute. NULL counts as an error
 * @measured: Submissions that move @bytes were executed, one after the other, within @ns; the
 *	time they waited for dependencies isn't counted. Called in the dma_fence signalling path,
 *	with spinlocks held and interrupts off; one call at a time. May be NULL
 * @ended: The fence of an armed submission has signalled; after the return the submission's memory
 *	may be used for another submission. Process context, in the dma_fence signalling path. May
 *	be NULL
 */
struct pagoda_queue_ops {
	void (*numbered)(void *owner, struct pagoda_submission *submission);
	int (*execute)(void *owner, struct pagoda_submission *submission, u32 start,
		       u32 *stopped_at);
	bool (*lost)(void *owner, struct pagoda_submission *submission, u32 offset,
		     int error);
	int (*reset_adapter)(void *owner, u32 asked, bool broken);
	void (*measured)(void *owner, u64 bytes, u64 ns);
	void (*ended)(void *owner, struct pagoda_submission *submission);
};

/**
 * struct pagoda_queue_args - Description of a queue
 * @dev: Device for messages and the scheduler
 * @transport: Transport to the device; may be NULL with @use_cpu
 * @ops: Owner's operations
 * @owner: First argument of the owner's operations
 * @buffer_size: Most bytes of a paging buffer, multiple of the page size
 * @priv_size: Bytes of private data of a submission with a buffer of @buffer_size bytes; smaller
 *	submissions have less
 * @timeout_ms: Milliseconds without progress after which the queue polls for completions, and
 *	resets the device's queue if the poll finds none; well below TTM's 15 s waits
 * @use_cpu: Execute on the CPU, never on the device
 */
struct pagoda_queue_args {
	struct device *dev;
	struct pagoda_transport *transport;
	const struct pagoda_queue_ops *ops;
	void *owner;
	u32 buffer_size;
	u32 priv_size;
	u32 timeout_ms;
	bool use_cpu;
};

/**
 * struct pagoda_queue_stats - Counters since the queue was created
 * @submissions: Submissions pushed
 * @bytes: Bytes of paging buffers pushed
 * @doorbells: Doorbells rung
 * @resets: Resets of the device's queue by recovery, failed ones too
 * @replayed: Submissions given to the device again after a reset of its queue
 * @rescued: Submissions finished by the CPU after the device failed
 * @lost: Submissions that failed for good
 * @polled: Completions without an interrupt, found by the watchdog
 * @skipped: Bytes that the device didn't copy out of VRAM, because they weren't written
 * @given_up: Submissions of @lost that failed because of a reset of the whole device
 */
struct pagoda_queue_stats {
	u64 submissions;
	u64 bytes;
	u64 doorbells;
	u64 resets;
	u64 replayed;
	u64 rescued;
	u64 lost;
	u64 polled;
	u64 skipped;
	u64 given_up;
};

struct pagoda_queue *pagoda_queue_create(const struct pagoda_queue_args *args);
void pagoda_queue_destroy(struct pagoda_queue *queue);
void pagoda_queue_stop(struct pagoda_queue *queue);

struct pagoda_line *pagoda_line_create(struct pagoda_queue *queue);
void pagoda_line_put(struct pagoda_line *line);
struct pagoda_line *pagoda_queue_main(struct pagoda_queue *queue);
bool pagoda_line_owns(const struct pagoda_line *line, const struct dma_fence *fence);
u32 pagoda_line_armed_jobs(struct pagoda_line *line);
int pagoda_line_await(struct pagoda_line *line, u32 most);

struct pagoda_submission *pagoda_queue_get(struct pagoda_queue *queue, struct pagoda_line *line,
					   u32 bytes, u32 priv_bytes);
struct pagoda_submission *pagoda_queue_get_aside(struct pagoda_queue *queue,
						 struct pagoda_line *line);
void pagoda_queue_smallest(const struct pagoda_queue *queue, u32 *bytes, u32 *priv_bytes);
u32 pagoda_submission_bytes(const struct pagoda_submission *submission);
u64 pagoda_queue_busy_bytes(struct pagoda_queue *queue);
void pagoda_submission_put(struct pagoda_submission *submission);
int pagoda_submission_add_fence(struct pagoda_submission *submission,
				struct dma_fence *fence);
int pagoda_submission_add_resv(struct pagoda_submission *submission,
			       struct dma_resv *resv, enum dma_resv_usage usage);
bool pagoda_queue_owns(struct pagoda_queue *queue, struct dma_fence *fence);
bool pagoda_queue_is_sent(struct dma_fence *fence);
void pagoda_submission_arm(struct pagoda_submission *submission);
void pagoda_submission_push(struct pagoda_submission *submission);

int pagoda_queue_reset_adapter(struct pagoda_queue *queue, u32 reasons);
bool pagoda_queue_is_closed(struct pagoda_queue *queue);
bool pagoda_queue_restart(struct pagoda_queue *queue);
int pagoda_queue_wait_idle(struct pagoda_queue *queue, long timeout);
void pagoda_queue_stats(struct pagoda_queue *queue, struct pagoda_queue_stats *stats);
void pagoda_queue_print(struct pagoda_queue *queue, struct drm_printer *p);

void pagoda_queue_visit_recent(struct pagoda_queue *queue,
			       void (*visit)(void *arg, const void *data, u32 size,
					     u64 seqno, int error),
			       void *arg);

#endif
