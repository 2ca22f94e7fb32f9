/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_FAKE_TRANSPORT_H
#define PAGODA_KUNIT_FAKE_TRANSPORT_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "core/transport.h"

/*
 * A device that does what a test says, for one queue. It takes requests in order, one at a time,
 * has the test's function execute each, and completes it. Like the real device it halts at a fault
 * until it is reset. After a reset the paging queue takes the request behind the last one executed;
 * an engine counts all requests that it was given as executed.
 *
 * The device also checks the transport's user: requests whose numbers don't follow each other or
 * that start behind their end, submit, poll and reset during a reset, and requests for which the
 * ring has no room are counted in @violations.
 */

#define PAGODA_FAKE_DEPTH	16
#define PAGODA_FAKE_ORDERS	8
#define PAGODA_FAKE_LOG		64

/* When requests are executed. */
enum pagoda_fake_mode {
	PAGODA_FAKE_IMMEDIATE,	/* within kick() */
	PAGODA_FAKE_DEFERRED,	/* by a work item */
	PAGODA_FAKE_HELD,	/* as many as pagoda_fake_transport_let() allows */
};

enum pagoda_fake_trouble {
	PAGODA_FAKE_FAULT,	/* execute the request up to an offset, then report a fault */
	PAGODA_FAKE_SILENT,	/* execute the request, without interrupt: only poll() finds it */
	PAGODA_FAKE_DROP,	/* execute the request, never complete it: only a reset finds it */
	PAGODA_FAKE_HANG,	/* execute the request up to an offset, then hang */
	PAGODA_FAKE_CORRUPT,	/* execute the request, complete it with nonsense */
};

/* Results of pagoda_fake_execute besides 0 and errors that are faults. */
#define PAGODA_FAKE_STANDS_STILL	(-EBUSY)
#define PAGODA_FAKE_BABBLES		(-EPROTO)

/*
 * Executes data[start, end) of a request. Returns 0; an error, with fault->offset the offset of the
 * packet that failed and fault->reason the reason; %PAGODA_FAKE_STANDS_STILL to hang at
 * fault->offset; or %PAGODA_FAKE_BABBLES to answer with nonsense. May sleep unless the mode is
 * immediate.
 */
typedef int (*pagoda_fake_execute)(void *arg, u64 seqno, const void *data, u32 start,
				   u32 end, struct pagoda_fault *fault);

/* Executes a control command; returns what pagoda_transport_ops.control() returns. May sleep. */
typedef int (*pagoda_fake_control)(void *arg, const struct pagoda_command *command);

/* See pagoda_fake_transport_order(). */
struct pagoda_fake_order {
	enum pagoda_fake_trouble trouble;
	u64 seqno;
	u32 offset;
	u32 times;
};

struct pagoda_fake_slot {
	struct pagoda_request *request;
	u64 seqno;
	bool done;
};

struct pagoda_fake_transport {
	struct pagoda_transport base;
	pagoda_fake_execute execute;
	pagoda_fake_control control;	/* NULL: commands fail with -ENODEV */
	void (*stopped)(void *arg);	/* called in a reset, when no request runs; may be NULL */
	void *arg;
	struct workqueue_struct *wq;
	struct work_struct work;

	spinlock_t lock;	/* protects the members below, except @skipped and what tests set */
	enum pagoda_fake_mode mode;
	struct pagoda_fake_slot ring[PAGODA_FAKE_DEPTH];
	u32 nr_ring;
	u32 permits;		/* number of requests that may still run in held mode */
	bool running;
	u64 skipped;		/* bytes the running request didn't copy; @execute adds up */
	bool halted;		/* executes nothing until a reset or go_on() */
	bool hangs;		/* halted, and doesn't complete the request */
	bool resetting;
	u64 seqno;		/* last request that was executed to its end */
	u32 offset;		/* byte reached in the request after @seqno */
	u64 last_submitted;
	u32 most;		/* highest @nr_ring so far */
	struct pagoda_fake_order orders[PAGODA_FAKE_ORDERS];
	u32 nr_orders;

	/* Set by the test. */
	bool engine;		/* an engine's queue, not the paging queue */
	int submit_error;
	int reset_error;	/* resets fail with this error, requests stay with the device */
	bool reset_lies;	/* resets report @lie as the progress */
	struct pagoda_reset_result lie;
	u32 reset_delay_ms;
	bool reset_held;	/* resets don't return while this is set */
	int control_error;	/* commands fail with this error and aren't executed */

	/* Read by the test. */
	u32 submits;
	struct {
		u64 seqno;
		const void *data;
		u32 start;
	} log[PAGODA_FAKE_LOG];	/* the first calls of submit */
	u32 resets;
	u32 polls;
	u32 controls;		/* number of commands, refused ones included */
	struct pagoda_command command;	/* last command */
	u32 violations;
	u64 doorbells;
};

struct pagoda_fake_transport *pagoda_fake_transport_create(struct kunit *test,
							   pagoda_fake_execute execute,
							   void *arg);
/* Halts the device and gives back all requests as aborted; also called at the end of the test. */
void pagoda_fake_transport_drain(struct pagoda_fake_transport *fake);
void pagoda_fake_transport_mode(struct pagoda_fake_transport *fake,
				enum pagoda_fake_mode mode);
/*
 * The next @times executions of request @seqno that start at or before byte @offset end in
 * @trouble: a fault or hang happens at @offset.
 */
void pagoda_fake_transport_order(struct pagoda_fake_transport *fake, u64 seqno,
				 enum pagoda_fake_trouble trouble, u32 offset, u32 times);
/* Does what RESET_ADAPTER does to a queue: all requests count as executed and are given back. */
void pagoda_fake_transport_lose(struct pagoda_fake_transport *fake);
/*
 * Waits until the device has requests and does nothing about them: because it hangs, mustn't run
 * them, or suppressed their completion. The transport's user hears no more of the device, however
 * long the test waits.
 */
void pagoda_fake_transport_wait_silent(struct pagoda_fake_transport *fake);
/*
 * Lets a device that hangs or halted at a fault go on, without a reset; a request in which it hung
 * is executed again from its start.
 */
void pagoda_fake_transport_go_on(struct pagoda_fake_transport *fake);
/* In held mode: allows @count more executions of requests, and begins with those that wait. */
void pagoda_fake_transport_let(struct pagoda_fake_transport *fake, u32 count);

#endif
