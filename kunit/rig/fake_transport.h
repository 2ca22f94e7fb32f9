/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_FAKE_TRANSPORT_H
#define PAGODA_KUNIT_FAKE_TRANSPORT_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "core/transport.h"

/*
 * A device that does what a test says. It takes requests in order, one at a time, has the test's
 * function execute each, and completes it. Like the real device it halts at a fault until it is
 * reset. After that the paging queue goes on where it was; an engine counts all requests that it
 * was given as executed.
 *
 * It also checks its user: requests whose numbers don't follow each other, calls during a reset,
 * and more requests than there is room for are counted in @violations.
 */

#define PAGODA_FAKE_DEPTH	16
#define PAGODA_FAKE_ORDERS	8
#define PAGODA_FAKE_LOG		64

/* When requests are executed. */
enum pagoda_fake_mode {
	PAGODA_FAKE_IMMEDIATE,	/* within kick() */
	PAGODA_FAKE_DEFERRED,	/* by a work item */
	PAGODA_FAKE_HELD,	/* when the test says so */
};

enum pagoda_fake_trouble {
	PAGODA_FAKE_FAULT,	/* refuse the packet at an offset */
	PAGODA_FAKE_SILENT,	/* execute the request, without interrupt: only poll() finds it */
	PAGODA_FAKE_DROP,	/* execute the request, never complete it: only a reset finds it */
	PAGODA_FAKE_HANG,	/* execute the request up to an offset, then hang */
	PAGODA_FAKE_CORRUPT,	/* execute the request, complete it with nonsense */
};

/*
 * Executes data[start, end) of a request. Returns 0, an error (with fault->offset the offset of the
 * packet that failed and fault->reason the reason), PAGODA_FAKE_STANDS_STILL to hang there, or
 * PAGODA_FAKE_BABBLES to answer with nonsense. May sleep unless the mode is immediate.
 */
#define PAGODA_FAKE_STANDS_STILL	(-EBUSY)
#define PAGODA_FAKE_BABBLES		(-EPROTO)

typedef int (*pagoda_fake_execute)(void *arg, u64 seqno, const void *data, u32 start,
				   u32 end, struct pagoda_fault *fault);

/* Executes a control command; returns what pagoda_transport_ops.control() does. May sleep. */
typedef int (*pagoda_fake_control)(void *arg, const struct pagoda_command *command);

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
	pagoda_fake_control control;	/* NULL: -ENODEV */
	void (*stopped)(void *arg);	/* in a reset, when nothing executes; may be NULL */
	void *arg;
	struct workqueue_struct *wq;
	struct work_struct work;

	spinlock_t lock;	/* protects all members below */
	enum pagoda_fake_mode mode;
	struct pagoda_fake_slot ring[PAGODA_FAKE_DEPTH];
	u32 nr_ring;
	u32 permits;		/* held mode: requests that may still run */
	bool running;
	u64 skipped;		/* of the running request, added up by @execute */
	bool halted;		/* until a reset */
	bool hangs;		/* until a reset, without a completion */
	bool resetting;
	u64 seqno;		/* executed to its end */
	u32 offset;		/* reached in the next request */
	u64 last_submitted;
	u32 most;		/* most requests at one time */
	struct pagoda_fake_order orders[PAGODA_FAKE_ORDERS];
	u32 nr_orders;

	/* Set by the test. */
	bool engine;		/* an engine's queue, not the paging queue */
	int submit_error;
	int reset_error;	/* reset fails, requests stay with the device */
	bool reset_lies;	/* reset answers with @lie */
	struct pagoda_reset_result lie;
	u32 reset_delay_ms;
	bool reset_held;	/* reset doesn't return while it is set */
	int control_error;	/* commands fail with this error and aren't executed */

	/* Read by the test. */
	u32 submits;
	struct {
		u64 seqno;
		const void *data;
		u32 start;
	} log[PAGODA_FAKE_LOG];	/* first submits */
	u32 resets;
	u32 polls;
	u32 controls;		/* commands, refused ones included */
	struct pagoda_command command;	/* last command */
	u32 violations;
	u64 doorbells;
};

struct pagoda_fake_transport *pagoda_fake_transport_create(struct kunit *test,
							   pagoda_fake_execute execute,
							   void *arg);
/* Gives back all requests; also called at the end of the test. */
void pagoda_fake_transport_drain(struct pagoda_fake_transport *fake);
void pagoda_fake_transport_mode(struct pagoda_fake_transport *fake,
				enum pagoda_fake_mode mode);
/* @trouble happens to request @seqno at @offset, @times times in a row. */
void pagoda_fake_transport_order(struct pagoda_fake_transport *fake, u64 seqno,
				 enum pagoda_fake_trouble trouble, u32 offset, u32 times);
/* Does what RESET_ADAPTER does to a queue: all requests count as executed and are given back. */
void pagoda_fake_transport_lose(struct pagoda_fake_transport *fake);
/*
 * Waits until the device has requests and does nothing about them, because it hangs or because
 * their completion was suppressed. The user hears no more of the device, however long the test
 * waits.
 */
void pagoda_fake_transport_wait_silent(struct pagoda_fake_transport *fake);
/* Lets a hanging device go on. */
void pagoda_fake_transport_go_on(struct pagoda_fake_transport *fake);
/* In held mode: lets @count more requests run, and runs those that are there. */
void pagoda_fake_transport_let(struct pagoda_fake_transport *fake, u32 count);

#endif
