/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_QUEUE_HELPERS_H
#define PAGODA_KUNIT_QUEUE_HELPERS_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/workqueue.h>
#include "queue/queue.h"
#include "rig/fake_transport.h"

#define PAGODA_TEST_MAX_SEQNO	64
#define PAGODA_TEST_MAX_UNITS	8
/*
 * Long enough that a slow machine is never mistaken for a silent device. Tests make the watchdog
 * expire themselves once the device is silent.
 */
#define PAGODA_TEST_TIMEOUT_MS	120000

/*
 * A queue on a fake device that executes "packets" of 8 bytes, with counts of how often each packet
 * was executed, by the device and by the CPU.
 */
struct pagoda_queue_test {
	struct kunit *test;
	struct pagoda_queue_args args;
	struct pagoda_queue *queue;
	struct pagoda_fake_transport *fake;

	/* executions by sequence number and packet */
	u8 device[PAGODA_TEST_MAX_SEQNO][PAGODA_TEST_MAX_UNITS];
	u8 cpu[PAGODA_TEST_MAX_SEQNO][PAGODA_TEST_MAX_UNITS];
	/* last packet executed; packets out of order, executed in all, and with wrong bytes */
	u64 last_unit;
	u32 disorder;
	u64 executed;
	u32 wrong_bytes;

	/*
	 * execute(): error, and where it stops then; lost(): what it returns, calls, arguments of
	 * the last call, calls for a submission that is to blame and number of the last of these
	 */
	int cpu_error;
	u32 cpu_stops_at;
	u32 nr_lost;
	u64 lost_seqno;
	u32 lost_offset;
	int lost_error;
	bool lost_is_fatal;
	u32 nr_blamed;
	u64 blamed_seqno;
	u32 late_lost;		/* calls of lost() after the fence signalled */

	/* sums of the arguments of measured() */
	u64 measured_bytes;
	u64 measured_ns;

	/* reset_adapter(): error, number of resets, and what a test does during a reset */
	int adapter_error;	/* -EOPNOTSUPP unless the test says otherwise */
	u32 adapter_resets;
	void (*adapter_hook)(struct pagoda_queue_test *t);

	/* pagoda_queue_test_block(): a work item that waits for @let holds up recovery */
	struct work_struct blocker;
	struct completion let;
};

struct pagoda_queue_test *pagoda_queue_test_create(struct kunit *test, bool use_cpu);
/*
 * Arms and pushes a submission of @units packets, which is executed after @after, if not NULL.
 * Returns a reference to the submission's fence.
 */
struct dma_fence *pagoda_queue_test_push(struct pagoda_queue_test *t, u32 units,
					 struct dma_fence *after);
/* As pagoda_queue_test_push(), but into @line. */
struct dma_fence *pagoda_queue_test_push_in(struct pagoda_queue_test *t, struct pagoda_line *line,
					    u32 units, struct dma_fence *after);
void pagoda_queue_test_push_many(struct pagoda_queue_test *t, struct dma_fence **fences,
				 u32 count, u32 units);
/* Waits for a fence and drops the reference to it; returns 0, the fence's error, or -ETIME. */
int pagoda_queue_test_wait(struct dma_fence *fence);
/*
 * Waits until the device has requests and does nothing about them, then has the watchdog find that
 * the timeout has expired.
 */
void pagoda_queue_test_expire(struct pagoda_queue_test *t);
/* Keeps recovery and the watchdog from running until pagoda_queue_test_let(). */
void pagoda_queue_test_block(struct pagoda_queue_test *t);
void pagoda_queue_test_let(struct pagoda_queue_test *t);
/* Waits until the queue has noted that the device's queue has to be reset. */
void pagoda_queue_test_wait_need(struct pagoda_queue_test *t);
struct pagoda_queue_stats pagoda_queue_test_stats(struct pagoda_queue_test *t);
/* Expects each packet of submission @seqno to have been executed once, by the device or the CPU. */
void pagoda_queue_test_expect_once(struct pagoda_queue_test *t, u64 seqno, u32 units);
/*
 * Expects no packet out of order or with wrong bytes, no call of lost() after the fence signalled,
 * and no violation of the transport's rules.
 */
void pagoda_queue_test_expect_clean(struct pagoda_queue_test *t);

/* Sets the timeout for later submissions; the device must have no submission now. */
void pagoda_test_queue_timeout(struct pagoda_queue *queue, u32 timeout_ms);
/*
 * Waits for the fences of all submissions pushed so far, and for the callbacks of the last fence of
 * up to 32 lines, which may run after a wait for the fence returned. Returns 0 or -ETIME.
 */
int pagoda_test_queue_settle(struct pagoda_queue *queue);

/*
 * Expects of a signalled scheduler fence, whose timeline's name is @name, that it uses nothing of
 * this module, except a name that is never freed, and that its members are as the DRM scheduler set
 * them: sched is @sched, which the caller read earlier, and there is a parent.
 */
void pagoda_test_expect_kept(struct kunit *test, struct dma_fence *fence, const char *name,
			     const void *sched);
/*
 * Expects that a fence isn't signalled and shows these names. The names aren't checked for a fence
 * of a device's work on kernels on which signalled fences keep their operations.
 */
void pagoda_test_expect_name(struct kunit *test, struct dma_fence *fence, const char *driver,
			     const char *timeline);
/* Returns the scheduler that a scheduler's fence points to. */
const void *pagoda_test_fence_sched(struct kunit *test, struct dma_fence *fence);

/*
 * Returns how many workqueues of the driver and of fake transports there are with a thread that
 * executes work items when there is no memory for other threads.
 */
u32 pagoda_test_rescuers(void);
/* Expects that a work item in @wq gets a processor before those of other workqueues. */
void pagoda_test_expect_urgent(struct kunit *test, struct workqueue_struct *wq);

/* Returns a new fence, a reference, which the test has to signal. */
struct dma_fence *pagoda_test_fence(struct kunit *test);
/* Returns whether pagoda_test_fence() made the fence, which hasn't signalled. */
bool pagoda_is_test_fence(const struct dma_fence *fence);

#endif
