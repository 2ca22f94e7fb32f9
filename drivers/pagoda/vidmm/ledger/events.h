/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that a client polls for and reads from a file, the listener; and the tracepoint of
 * budgets.
 *
 * A listener has no queue, but a slot for each kind of event: an event that happens again
 * before the slot was read is counted in the slot. So nothing is allocated when an event
 * happens, no thread waits for a client that doesn't read, and nothing can overflow.
 *
 * Losses of content and evictions are reported where they happen, also in the dma_fence
 * signalling path, under spinlocks only. Resets and changes of budgets are found by two work
 * items, which the code that causes them queues.
 *
 * The work item for budgets looks at once, and then not again for %PAGODA_BUDGET_PERIOD, however
 * often budgets change in that time; the next look finds the last state. A look reports a budget
 * that is materially different from the one last reported. A look tells a client to trim when the
 * client wants more than the budget last reported and, at the last look, didn't; or wants more and
 * this look has reported a smaller budget; not when the client only wants still more.
 */
#ifndef PAGODA_VIDMM_LEDGER_EVENTS_H
#define PAGODA_VIDMM_LEDGER_EVENTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "budget.h"

struct drm_pagoda_event;
struct pagoda_client;
struct pagoda_vidmm;
struct pagoda_vidmm_args;

/** PAGODA_BUDGET_PERIOD: jiffies between two looks at the budgets, at least. */
#define PAGODA_BUDGET_PERIOD	HZ

/**
 * PAGODA_BUDGET_STEP: a budget differs materially from the budget last reported if the difference
 * is larger than the budget last reported divided by this.
 */
#define PAGODA_BUDGET_STEP	64

/**
 * struct pagoda_listeners - All listeners of a device
 * @lock: Protects @list; nothing is allocated with @lock held
 * @list: List of struct pagoda_listener
 * @count: Number of listeners, read without @lock
 * @work: Work item that reports resets, and that the device is gone, to all listeners
 * @budgets: Work item that reports changed budgets, and how much to trim, to all listeners
 * @next: get_jiffies_64() from which on @budgets looks again; used by @budgets only
 * @gone: The device is gone, or won't be used again
 */
struct pagoda_listeners {
	struct mutex lock;	/* protects list */
	struct list_head list;
	atomic_t count;
	struct work_struct work;
	struct delayed_work budgets;
	u64 next;
	bool gone;
};

/**
 * struct pagoda_ears - The listeners of a client
 * @lock: Protects @listeners; taken in the dma_fence signalling path
 * @listeners: List of struct pagoda_listener of the client
 */
struct pagoda_ears {
	spinlock_t lock;	/* protects listeners */
	struct list_head listeners;
};

/* Number of slots of a listener: one for each kind of event, by type and segment group. */
#define PAGODA_LISTENER_SLOTS	8

/**
 * struct pagoda_listener_slot - Unread events of a kind, by type and segment group
 * @count: Number of unread events
 * @value: Value of the last event (&drm_pagoda_event.value); for EVICTED the sum of the bytes of
 *	all unread events
 */
struct pagoda_listener_slot {
	u64 count;
	u64 value;
};

/**
 * struct pagoda_listener - A file that reports events
 * @link: Entry of &pagoda_listeners.list
 * @of_client: Entry of &pagoda_ears.listeners
 * @vidmm: Manager
 * @client: Client, a reference
 * @reading: Held by the thread that reads the file
 * @wait: Wait queue of readers; the wait queue's lock protects @slots
 * @slots: Unread events by kind
 * @pid: Process that opened the file, for traces
 * @budget: Budget last reported, by segment group; read for traces without a lock
 * @over: By segment group: the client wanted more than @budget when a look last compared them
 * @resets: pagoda_reset_count() that was last reported, or when the file was opened
 * @gone: The device's loss was reported, or the file was opened after the loss; read by readers
 *	without a lock
 * @closed: The client's DRM file was closed: readers don't wait for events any more, and read this
 *	without a lock
 *
 * @budget, @over, @resets and @gone are protected by &pagoda_listeners.lock, @closed by
 * &pagoda_ears.lock. When @gone or @closed of a joined listener is set, the wait queue's lock is
 * held, too: no event is counted once either is set.
 */
struct pagoda_listener {
	struct list_head link;
	struct list_head of_client;
	struct pagoda_vidmm *vidmm;
	struct pagoda_client *client;
	struct mutex reading;	/* one reader at a time */
	wait_queue_head_t wait;
	struct pagoda_listener_slot slots[PAGODA_LISTENER_SLOTS];
	int pid;
	u64 budget[PAGODA_BUDGET_GROUPS];
	bool over[PAGODA_BUDGET_GROUPS];
	u64 resets;
	bool gone;
	bool closed;
};

int pagoda_listeners_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_listeners_gone(struct pagoda_listeners *all);
void pagoda_listeners_stop(struct pagoda_listeners *all);
void pagoda_listeners_fini(struct pagoda_listeners *all);
void pagoda_listeners_kick(struct pagoda_listeners *all);
void pagoda_listeners_budgets_changed(struct pagoda_listeners *all);
void pagoda_ears_init(struct pagoda_ears *ears);
void pagoda_ears_close(struct pagoda_ears *ears);
void pagoda_ears_content_lost(struct pagoda_ears *ears);
void pagoda_ears_evicted(struct pagoda_ears *ears, u32 group, u64 bytes);
void pagoda_ears_trace_usage(struct pagoda_client *client);
void pagoda_listener_join(struct pagoda_listener *listener);
void pagoda_listener_leave(struct pagoda_listener *listener);
bool pagoda_listener_has_news(struct pagoda_listener *listener);
u32 pagoda_listener_peek(struct pagoda_listener *listener, struct drm_pagoda_event *news, u32 room);
void pagoda_listener_consume(struct pagoda_listener *listener,
			     const struct drm_pagoda_event *news, u32 count);

#endif
