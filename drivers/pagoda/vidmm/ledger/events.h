/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events that a client receives in a file, which is polled and read; there is one file for each
 * listener.
 *
 * There is no queue. A listener has a slot for each kind of event; an event that happens again
 * before the slot was read is counted in the slot, which has the latest value. So nothing is
 * allocated when an event happens, no thread waits for a client that doesn't read, and nothing
 * can overflow.
 *
 * A loss of content is reported in the dma_fence signalling path: that takes spinlocks only,
 * and so does an eviction. A worker looks at budgets and resets; the code that changes them
 * kicks it.
 */
#ifndef PAGODA_EVENTS_H
#define PAGODA_EVENTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct pagoda_client;
struct pagoda_vidmm;

/**
 * struct pagoda_listeners - All listeners of a device
 * @lock: Protects @list; nothing is allocated with it held
 * @list: struct pagoda_listener
 * @count: Number of listeners, read without the lock
 * @work: Looks at budgets and at the device
 * @gone: There is no device any more
 */
struct pagoda_listeners {
	struct mutex lock;	/* list */
	struct list_head list;
	atomic_t count;
	struct work_struct work;
	bool gone;
};

/**
 * struct pagoda_ears - The listeners of a client
 * @lock: Protects @listeners; taken in the dma_fence signalling path
 * @listeners: struct pagoda_listener
 */
struct pagoda_ears {
	spinlock_t lock;	/* listeners */
	struct list_head listeners;
};

int pagoda_listeners_init(struct pagoda_vidmm *vidmm);
void pagoda_listeners_gone(struct pagoda_listeners *all);
void pagoda_listeners_stop(struct pagoda_listeners *all);
void pagoda_listeners_fini(struct pagoda_listeners *all);
void pagoda_listeners_kick(struct pagoda_listeners *all);
void pagoda_ears_init(struct pagoda_ears *ears);
void pagoda_ears_close(struct pagoda_ears *ears);
void pagoda_ears_content_lost(struct pagoda_ears *ears);
void pagoda_ears_evicted(struct pagoda_ears *ears, u32 group, u64 bytes);
int pagoda_listener_open(struct pagoda_vidmm *vidmm, struct pagoda_client *client, bool nonblock);

#endif
