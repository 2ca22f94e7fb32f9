/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver asks of builders, seen in the moment in which it is built: the operation itself,
 * with what the device never gets to see, and the state of an allocation then. Instead of
 * the journal's entry.
 */
#ifndef PAGODA_KUNIT_SPY_H
#define PAGODA_KUNIT_SPY_H

#include <linux/completion.h>

#include "rig.h"

#define PAGODA_SPY_NOTES	512u
#define PAGODA_SPY_DATA		24u

/**
 * struct pagoda_spy_note - A pass of a builder, or what the CPU wrote into a page table at once
 * @op: The operation; its pointers may be stale
 * @data: First bytes of the private data of UPDATE_CONTEXT_ALLOCATION
 * @value: First value of UPDATE_PAGE_TABLE
 * @seqno: Submission its packets are in
 * @encoded: Bytes of them
 * @executed: Submissions the device had executed
 * @pass: Number of the pass
 * @written: Entries were written by the CPU
 * @locked: The stream's lock was held
 * @reserved: The reservation of &pagoda_spy.bo was held
 * @idle: No fence of it was unsignalled, of any usage
 */
struct pagoda_spy_note {
	struct pagoda_paging_op op;
	u8 data[PAGODA_SPY_DATA];
	u64 value;
	u64 seqno;
	u32 encoded;
	u64 executed;
	int pass;
	bool written;
	bool locked;
	bool reserved;
	bool idle;
};

/**
 * struct pagoda_spy - What was seen
 * @rig: The rig
 * @bo: Allocation whose fences are looked at, or NULL
 * @notes: The notes
 * @nr: Their number
 */
struct pagoda_spy {
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	struct pagoda_spy_note *notes;
	u32 nr;
};

/* One at a time, of what the calling thread emits; and threads that called _join. */
struct pagoda_spy *pagoda_spy_begin(struct pagoda_rig *rig, struct pagoda_bo *bo);
void pagoda_spy_join(struct pagoda_spy *spy);
void pagoda_spy_end(struct pagoda_spy *spy);
/* The @nth note (from 0) with that opcode and allocation (0 = any), or NULL. */
const struct pagoda_spy_note *pagoda_spy_find(const struct pagoda_spy *spy, u32 opcode,
					      u64 allocation, u32 nth);

/**
 * struct pagoda_worker - A thread that does one thing
 * @spy: Sees what the thread emits, or NULL
 * @run: The thing
 * @arg: What with
 * @ret: What became of it
 * @done: It is done
 */
struct pagoda_worker {
	struct pagoda_spy *spy;
	int (*run)(void *arg);
	void *arg;
	int ret;
	struct completion done;
};

void pagoda_worker_start(struct kunit *test, struct pagoda_worker *worker);
/* Is it done, after @patience at the latest? */
bool pagoda_worker_is_done(struct pagoda_worker *worker, unsigned long patience);
/* Waits until it is, and expects 0. */
void pagoda_worker_end(struct kunit *test, struct pagoda_worker *worker);

#endif
