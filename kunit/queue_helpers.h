/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_QUEUE_HELPERS_H
#define PAGODA_KUNIT_QUEUE_HELPERS_H

#include <kunit/test.h>
#include <linux/dma-fence.h>

#include <pagoda/queue.h>

#include "fake_transport.h"

#define PAGODA_TEST_MAX_SEQNO	64
#define PAGODA_TEST_MAX_UNITS	8
/*
 * Long enough that a slow machine is never taken for a silent device: the watchdog is made
 * to look when the test knows that it is one.
 */
#define PAGODA_TEST_TIMEOUT_MS	120000

/*
 * A queue on a fake device that executes "packets" of 8 bytes and counts how
 * often each was executed, by the device and by the CPU.
 */
struct pagoda_queue_test {
	struct kunit *test;
	struct pagoda_queue *queue;
	struct pagoda_fake_transport *fake;

	/* By sequence number and packet. */
	u8 device[PAGODA_TEST_MAX_SEQNO][PAGODA_TEST_MAX_UNITS];
	u8 cpu[PAGODA_TEST_MAX_SEQNO][PAGODA_TEST_MAX_UNITS];
	/* Of every packet executed, in order. */
	u64 last_unit;
	u32 disorder;
	u64 executed;
	u32 wrong_bytes;

	/* What execute() answers, and what lost() was told. */
	int cpu_error;
	u32 cpu_stops_at;
	u32 nr_lost;
	u64 lost_seqno;
	u32 lost_offset;
	int lost_error;
	u32 late_lost;		/* lost() after the fence signalled */

	/* What measured() was told, all together. */
	u64 measured_bytes;
	u64 measured_ns;
};

struct pagoda_queue_test *pagoda_queue_test_create(struct kunit *test, bool use_cpu);
/* A submission of @units packets, armed, pushed; a reference of its fence. */
struct dma_fence *pagoda_queue_test_push(struct pagoda_queue_test *t, u32 units,
					 struct dma_fence *after);
void pagoda_queue_test_push_many(struct pagoda_queue_test *t, struct dma_fence **fences,
				 u32 count, u32 units);
/* Waits for a fence and drops it; its error or -ETIME. */
int pagoda_queue_test_wait(struct dma_fence *fence);
/* Waits until the device doesn't say anything any more, and has it be so for too long. */
void pagoda_queue_test_expire(struct pagoda_queue_test *t);
struct pagoda_queue_stats pagoda_queue_test_stats(struct pagoda_queue_test *t);
/* Each packet of @seqno was executed once, by the device or by the CPU. */
void pagoda_queue_test_expect_once(struct pagoda_queue_test *t, u64 seqno, u32 units);
/* Nothing was out of order, the transport was used as it wants to be. */
void pagoda_queue_test_expect_clean(struct pagoda_queue_test *t);

/* Another timeout for what isn't given to the device yet; it has nothing. */
void pagoda_test_queue_timeout(struct pagoda_queue *queue, u32 timeout_ms);
/*
 * Waits for all that was pushed so far, and until what waits for the last fence was called:
 * who only waits for that may find it signalled before. 0 or -ETIME.
 */
int pagoda_test_queue_settle(struct pagoda_queue *queue);

/* A fence that a test signals. */
struct dma_fence *pagoda_test_fence(struct kunit *test);

#endif
