/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The queue layer: paging buffers go in, fences come out, in order.
 *
 * One paging timeline a device (TTM keeps a single eviction fence a manager).
 * A submission is one paging buffer with its private data, its dependencies and
 * its fence. Its life:
 *
 *	get   allocates everything it will ever need; may sleep and fail
 *	add   collects dependencies; may sleep and fail
 *	arm   publishes the fence. From here to push nothing may allocate with
 *	      reclaim, take a reservation lock or wait for a fence of ours
 *	push  hands the built buffer over; the fence signals in finite time
 *	put   instead of arm: gives it back unused
 *
 * Arm and push happen in the same order under the caller's lock; only one
 * submission is armed and not pushed at a time.
 *
 * What never happens at once (C23): two builds, which have the caller's lock; and of the
 * device's queue, submit, poll and reset. A build may happen beside one of these: its buffer
 * belongs to the builder until it is pushed, and doesn't change from then on. What is pushed
 * during a reset is submitted behind it.
 *
 * When the device refuses or loses a submission the queue resets it, goes on
 * from the first packet that wasn't executed, with the same sequence numbers
 * and before anything newer, PAGODA_QUEUE_REPLAYS times; then asks the
 * owner's rescue(); then tells its owner lost() and goes on behind it. A fence
 * always signals, with an error when the work wasn't done.
 *
 * When that reset fails, or somebody asks for it, the owner resets the whole device. All
 * that was in flight is lost then, and so is what is pushed before the owner has
 * rebuilt the device's memory and called pagoda_queue_restart(): nobody waits for
 * that, so the owner may take its time, allocate, and wait for who waits for fences.
 */
#ifndef PAGODA_QUEUE_H
#define PAGODA_QUEUE_H

#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/types.h>

struct device;
struct drm_printer;
struct pagoda_fault;
struct pagoda_queue;
struct pagoda_transport;

/** PAGODA_QUEUE_REPLAYS: times one packet is tried again on the device. */
#define PAGODA_QUEUE_REPLAYS	2
/** PAGODA_QUEUE_HISTORY: finished submissions kept whole for debugfs. */
#define PAGODA_QUEUE_HISTORY	8

/**
 * struct pagoda_submission - One paging buffer, what its builder may see of it
 * @data: The buffer: page aligned, @size bytes
 * @priv: Private data, @priv_size bytes
 * @size: Bytes of @data, a multiple of the page size
 * @priv_size: Bytes of @priv
 * @built: Bytes built; set by the builder's caller before push
 * @priv_built: Bytes of private data built; the same
 * @operations: Operations in it, for traces; the same
 * @moved: Bytes of content its operations move; the same
 * @owner: The caller's, for its callbacks
 * @fence: After arm: signals when the submission is through; reference is the
 *	submission's, take your own
 * @seqno: After arm: its number, one more than the one before
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
	struct dma_fence *fence;
	u64 seqno;
};

/**
 * struct pagoda_queue_ops - What the queue asks its owner (vidmm)
 * @execute: Run the submission on the CPU from byte @start; 0, or an error with
 *	*@stopped_at the first packet not executed whole. Used instead of
 *	the device if pagoda_queue_args.use_cpu, and as a rescue after replays
 *	failed. Work item context on the way to a fence: must not allocate
 *	with reclaim or take a reservation lock
 * @lost: The submission failed from @offset on for good with @error: mark its
 *	allocations' content as lost, clear what user space could see. True: the
 *	device must not go on without it, reset the whole of it (no matter for what
 *	a reset cost). Same context as @execute; called before the fence signals
 * @reset_adapter: Reset the whole device, because the queue is broken and couldn't be
 *	reset, because of the reasons in @asked (pagoda_queue_reset_adapter(); 0: there was
 *	no request), or both. Nothing of the queue is sent meanwhile. 0: all
 *	that the device had is lost, the owner rebuilds and calls
 *	pagoda_queue_restart(); else the device is never used again. Same context as
 *	@execute. May be NULL
 * @measured: Submissions that move @bytes were executed, one behind the other, within @ns;
 *	what they waited for before isn't counted. On the way to a fence, with spinlocks held
 *	and interrupts off; one call at a time. May be NULL
 */
struct pagoda_queue_ops {
	int (*execute)(void *owner, struct pagoda_submission *submission, u32 start,
		       u32 *stopped_at);
	bool (*lost)(void *owner, struct pagoda_submission *submission, u32 offset,
		     int error);
	int (*reset_adapter)(void *owner, u32 asked, bool broken);
	void (*measured)(void *owner, u64 bytes, u64 ns);
};

/**
 * struct pagoda_queue_args - How to make a queue
 * @dev: For messages and the scheduler
 * @transport: The way to the device
 * @ops: Owner's calls
 * @owner: Their first argument
 * @buffer_size: Bytes of a paging buffer, multiple of the page size
 * @priv_size: Bytes of private data a submission has
 * @timeout_ms: How long a submission may take before the queue looks what is
 *	wrong; well below TTM's 15 s waits
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
 * struct pagoda_queue_stats - Counters since the queue was made
 * @submissions: Pushed
 * @bytes: Bytes of paging buffers pushed
 * @doorbells: Doorbells rung
 * @resets: Times the queue was reset
 * @replayed: Submissions given to the device again
 * @rescued: Submissions finished by the CPU after the device failed
 * @lost: Submissions that failed for good
 * @polled: Completions found by a timeout, without an interrupt
 * @given_up: Of @lost, those that a reset of the whole device cost
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
	u64 given_up;
};

struct pagoda_queue *pagoda_queue_create(const struct pagoda_queue_args *args);
void pagoda_queue_destroy(struct pagoda_queue *queue);
void pagoda_queue_stop(struct pagoda_queue *queue);

struct pagoda_submission *pagoda_queue_get(struct pagoda_queue *queue);
void pagoda_submission_put(struct pagoda_submission *submission);
int pagoda_submission_add_fence(struct pagoda_submission *submission,
				struct dma_fence *fence);
int pagoda_submission_add_resv(struct pagoda_submission *submission,
			       struct dma_resv *resv, enum dma_resv_usage usage);
bool pagoda_queue_owns(struct pagoda_queue *queue, struct dma_fence *fence);
void pagoda_submission_arm(struct pagoda_submission *submission);
void pagoda_submission_push(struct pagoda_submission *submission);

int pagoda_queue_reset_adapter(struct pagoda_queue *queue, u32 reasons);
bool pagoda_queue_is_closed(struct pagoda_queue *queue);
bool pagoda_queue_restart(struct pagoda_queue *queue);
int pagoda_queue_wait_idle(struct pagoda_queue *queue, long timeout);
void pagoda_queue_stats(struct pagoda_queue *queue, struct pagoda_queue_stats *stats);
void pagoda_queue_print(struct pagoda_queue *queue, struct drm_printer *p);

/**
 * pagoda_queue_visit_recent() - Look at the last submissions
 * @queue: The queue
 * @visit: Called oldest first with buffer, bytes, sequence number and fence
 *	error, without a lock
 * @arg: Its first argument
 *
 * Context: any process context.
 */
void pagoda_queue_visit_recent(struct pagoda_queue *queue,
			       void (*visit)(void *arg, const void *data, u32 size,
					     u64 seqno, int error),
			       void *arg);

#endif
