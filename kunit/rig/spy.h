/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Spy: records each operation at the moment when its packets are built or the CPU has written its
 * entries, with the members that the device never sees, and the state of an allocation. A spy
 * replaces two functions of the journal. Worker: a thread in which a test calls a function.
 */
#ifndef PAGODA_KUNIT_SPY_H
#define PAGODA_KUNIT_SPY_H

#include <linux/completion.h>

#include "rig.h"

#define PAGODA_SPY_NOTES	512u
#define PAGODA_SPY_DATA		24u

/**
 * struct pagoda_spy_note - A pass of a builder, or a page table write by the CPU
 * @op: The operation; its pointers may be stale
 * @data: First bytes of the private data of UPDATE_CONTEXT_ALLOCATION
 * @value: First value of UPDATE_PAGE_TABLE
 * @seqno: &pagoda_submission.id of the submission with the packets; 0 if @written
 * @encoded: Bytes of the packets
 * @executed: Number of the last request that the device had executed
 * @pass: Number of the pass
 * @written: The CPU wrote the entries
 * @locked: The stream's lock was held
 * @reserved: The reservation of &pagoda_spy.bo was held
 * @idle: All fences of &pagoda_spy.bo, of any usage, were signalled
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
 * struct pagoda_spy - The notes of a test
 * @rig: The rig
 * @bo: Allocation whose reservation and fences are recorded, or NULL
 * @notes: The notes
 * @nr: Number of notes
 */
struct pagoda_spy {
	struct pagoda_rig *rig;
	struct pagoda_bo *bo;
	struct pagoda_spy_note *notes;
	u32 nr;
};

/*
 * Begins to record what the test's thread emits, and threads that call pagoda_spy_join(), until
 * pagoda_spy_end(); one spy at a time. @bo: &pagoda_spy.bo.
 */
struct pagoda_spy *pagoda_spy_begin(struct pagoda_rig *rig, struct pagoda_bo *bo);
void pagoda_spy_join(struct pagoda_spy *spy);
void pagoda_spy_end(struct pagoda_spy *spy);
/* Returns the @nth note (from 0) with that opcode and allocation (0 = any), or NULL. */
const struct pagoda_spy_note *pagoda_spy_find(const struct pagoda_spy *spy, u32 opcode,
					      u64 allocation, u32 nth);

/**
 * struct pagoda_worker - A thread that calls one function
 * @spy: Spy that records what the thread emits, or NULL
 * @run: The function
 * @arg: Argument of the function
 * @ret: Return value of the function
 * @done: The function has returned
 */
struct pagoda_worker {
	struct pagoda_spy *spy;
	int (*run)(void *arg);
	void *arg;
	int ret;
	struct completion done;
};

void pagoda_worker_start(struct kunit *test, struct pagoda_worker *worker);
/* Waits until the function has returned, at most @patience jiffies; returns whether it has. */
bool pagoda_worker_is_done(struct pagoda_worker *worker, unsigned long patience);
/* Waits for the function, a minute at most, and expects it to return 0. */
void pagoda_worker_end(struct kunit *test, struct pagoda_worker *worker);

#endif
