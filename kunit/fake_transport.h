/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PAGODA_KUNIT_FAKE_TRANSPORT_H
#define PAGODA_KUNIT_FAKE_TRANSPORT_H

#include <kunit/test.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <pagoda/transport.h>

/*
 * A device that does what a test tells it to. It takes requests in order, each
 * one after the one before is through, has the caller's function execute it,
 * and answers. Like the real one it halts at a fault until it is reset. The paging
 * queue goes on where it was then; an engine's counts all it was given as executed.
 *
 * It also watches its user: requests whose numbers don't follow each other,
 * calls during a reset, more requests than there is room for, are counted in
 * @violations.
 */

#define PAGODA_FAKE_DEPTH	16
#define PAGODA_FAKE_ORDERS	8
#define PAGODA_FAKE_LOG		64

/* When requests are executed. */
enum pagoda_fake_mode {
	PAGODA_FAKE_IMMEDIATE,	/* in kick */
	PAGODA_FAKE_DEFERRED,	/* by a work item */
	PAGODA_FAKE_HELD,	/* when the test says so */
};

enum pagoda_fake_trouble {
	PAGODA_FAKE_FAULT,	/* refuse the packet at an offset */
	PAGODA_FAKE_SILENT,	/* execute it, no interrupt: only poll finds it */
	PAGODA_FAKE_DROP,	/* execute it, never answer: only reset finds it */
	PAGODA_FAKE_HANG,	/* execute up to an offset, then stand still */
	PAGODA_FAKE_CORRUPT,	/* execute it, answer nonsense */
};

/*
 * Executes data[start, end) of a request; 0, or an error with fault->offset the
 * packet that failed and fault->reason why; or it stands still there, or answers
 * nonsense. May sleep unless the mode is immediate.
 */
#define PAGODA_FAKE_STANDS_STILL	(-EBUSY)
#define PAGODA_FAKE_BABBLES		(-EPROTO)

typedef int (*pagoda_fake_execute)(void *arg, u64 seqno, const void *data, u32 start,
				   u32 end, struct pagoda_fault *fault);

/* Executes a control command; returns as pagoda_transport_ops.control. May sleep. */
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
	void (*stopped)(void *arg);	/* reset, nothing executes; may be NULL */
	void *arg;
	struct workqueue_struct *wq;
	struct work_struct work;

	spinlock_t lock;	/* all below */
	enum pagoda_fake_mode mode;
	struct pagoda_fake_slot ring[PAGODA_FAKE_DEPTH];
	u32 nr_ring;
	u32 permits;		/* held mode: requests that may still run */
	bool running;
	bool halted;		/* until reset */
	bool hangs;		/* the same, and nobody was told */
	bool resetting;
	u64 seqno;		/* executed whole */
	u32 offset;		/* in the next */
	u64 last_submitted;
	u32 most;		/* requests it had at once */
	struct pagoda_fake_order orders[PAGODA_FAKE_ORDERS];
	u32 nr_orders;

	/* What the test sets. */
	bool engine;		/* not the paging queue */
	int submit_error;
	int reset_error;	/* reset fails, requests stay with the device */
	bool reset_lies;	/* reset answers with @lie */
	struct pagoda_reset_result lie;
	u32 reset_delay_ms;
	bool reset_held;	/* reset doesn't return as long as it is set */
	int control_error;	/* commands fail with it and aren't executed */

	/* What the test reads. */
	u32 submits;
	struct {
		u64 seqno;
		const void *data;
		u32 start;
	} log[PAGODA_FAKE_LOG];	/* the first submits */
	u32 resets;
	u32 polls;
	u32 controls;		/* commands, refused ones too */
	struct pagoda_command command;	/* the last of them */
	u32 violations;
	u64 doorbells;
};

struct pagoda_fake_transport *pagoda_fake_transport_create(struct kunit *test,
							   pagoda_fake_execute execute,
							   void *arg);
/* Gives back what it still has; also runs by itself at the end of the test. */
void pagoda_fake_transport_drain(struct pagoda_fake_transport *fake);
void pagoda_fake_transport_mode(struct pagoda_fake_transport *fake,
				enum pagoda_fake_mode mode);
/* Request @seqno gets into @trouble at @offset, @times times in a row. */
void pagoda_fake_transport_order(struct pagoda_fake_transport *fake, u64 seqno,
				 enum pagoda_fake_trouble trouble, u32 offset, u32 times);
/* What RESET_ADAPTER does to a queue: all counts as executed and is given back. */
void pagoda_fake_transport_lose(struct pagoda_fake_transport *fake);
/*
 * Waits until it has requests and does nothing about them: it hangs, or has told nobody
 * that it executed them. Its user hears nothing more of it, whatever the test waits for.
 */
void pagoda_fake_transport_wait_silent(struct pagoda_fake_transport *fake);
/* What stood still goes on. */
void pagoda_fake_transport_go_on(struct pagoda_fake_transport *fake);
/* Held mode: lets @count more requests run, and runs those that are there. */
void pagoda_fake_transport_let(struct pagoda_fake_transport *fake, u32 count);

#endif
