/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_FAKE_TRANSPORT_H
#define PAGODA_KUNIT_FAKE_TRANSPORT_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "core/transport.h"

/*
 * A device with one queue that does what a test says. The device takes requests in order, one at a
 * time, has the test's function execute each, and completes the request. At a fault the device
 * halts until a reset, as the real one does. After a reset the next request of the paging queue has
 * the number behind the last one executed; for an engine all requests submitted count as executed.
 *
 * The device also checks the transport's user, and counts in @violations: requests whose numbers
 * don't follow each other, that start behind their end or for which the ring has no room; and
 * calls of submit, poll and reset during a reset.
 */

#define PAGODA_FAKE_DEPTH	16
#define PAGODA_FAKE_ORDERS	8
#define PAGODA_FAKE_LOG		64

/* When requests are executed. */
enum pagoda_fake_mode {
	PAGODA_FAKE_IMMEDIATE,	/* within kick() */
	PAGODA_FAKE_DEFERRED,	/* by a work item */
	PAGODA_FAKE_HELD,	/* by a work item, as many as pagoda_fake_transport_let() allows */
};

enum pagoda_fake_trouble {
	PAGODA_FAKE_FAULT,	/* execute the request up to an offset, then report a fault */
	PAGODA_FAKE_SILENT,	/* execute the request, complete it only when poll() is called */
	PAGODA_FAKE_DROP,	/* execute the request, don't complete it: a reset gives it back */
	PAGODA_FAKE_HANG,	/* execute the request up to an offset, then hang */
	PAGODA_FAKE_CORRUPT,	/* execute the request, complete it with an invalid answer */
};

/* Results of pagoda_fake_execute that are neither success nor a fault. */
#define PAGODA_FAKE_STANDS_STILL	(-EBUSY)
#define PAGODA_FAKE_BABBLES		(-EPROTO)

/*
 * Executes data[start, end) of a request. Returns 0; an error, with fault->offset the offset of the
 * packet that failed and fault->reason the reason; %PAGODA_FAKE_STANDS_STILL to hang at
 * fault->offset; or %PAGODA_FAKE_BABBLES to halt with an invalid answer. May sleep unless the mode
 * is immediate.
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
	void (*stopped)(void *arg);	/* called in a successful reset, no request runs; or NULL */
	void *arg;
	struct workqueue_struct *wq;
	struct work_struct work;

	spinlock_t lock;	/* protects the members below, except @skipped and what tests set */
	enum pagoda_fake_mode mode;
	struct pagoda_fake_slot ring[PAGODA_FAKE_DEPTH];
	u32 nr_ring;
	u32 permits;		/* number of requests that may still run in held mode */
	bool running;
	u64 skipped;		/* clean bytes that the running request skipped; set by @execute */
	bool halted;		/* executes nothing until a reset or go_on() */
	bool hangs;		/* halted, and doesn't complete the request */
	bool resetting;
	u64 seqno;		/* last request that was, or counts as, executed to its end */
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
	} log[PAGODA_FAKE_LOG];	/* the first calls of submit(), also those that failed */
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
 * @trouble. A fault or hang happens at @offset.
 */
void pagoda_fake_transport_order(struct pagoda_fake_transport *fake, u64 seqno,
				 enum pagoda_fake_trouble trouble, u32 offset, u32 times);
/* Does what RESET_ADAPTER does to a queue: requests count as executed and end as aborted. */
void pagoda_fake_transport_lose(struct pagoda_fake_transport *fake);
/*
 * Waits until the device has requests and can execute none of them without a call by the test or
 * the driver: the device halted, held mode has no permit left, or the requests were executed
 * without completion.
 */
void pagoda_fake_transport_wait_silent(struct pagoda_fake_transport *fake);
/*
 * Lets a device that hangs or halted at a fault go on, without a reset; a request in which the
 * device hung is executed again, from &pagoda_request.start.
 */
void pagoda_fake_transport_go_on(struct pagoda_fake_transport *fake);
/* Allows @count more executions of requests in held mode; requests that wait are executed first. */
void pagoda_fake_transport_let(struct pagoda_fake_transport *fake, u32 count);

#endif
