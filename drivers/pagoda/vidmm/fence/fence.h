/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Monitored fences: 64-bit values in memory that the GPU and the CPU write, user space
 * reads, and threads and jobs wait for (WDDM 2.0; C180 - C184).
 *
 * The value is the first 64 bits of a page, which is an allocation without a handle. Each wait for
 * a value and each promise of a value holds the fence: while the fence is held, the page stays in
 * place; else the page may be swapped and come back elsewhere. During a reset of the device that
 * isn't a sleep, held fences show the maximum value, except those with NO_MAX_ON_RESET.
 *
 * A value isn't a dma_fence and is never turned into a dma_fence: no value is guaranteed to
 * come in finite time.
 *
 * To signal at once: pagoda_mfences_signal(). To signal after work, in the order of calls:
 *	pagoda_mfence_promise		checks the value, and allocates what signalling needs
 *	then one of
 *	pagoda_mfence_take_back		the work was refused: the value may be promised again
 *	pagoda_mfence_signal_paging	the GPU, else the CPU, stores it behind the paging (C116)
 *	pagoda_mfence_signal_after	the CPU stores the value when a dma_fence has signalled
 *
 * To wait for all or any of several values: pagoda_mfence_group_create(). To wait for one value:
 *	pagoda_mfence_wait_init		checks that the fence may be waited for, and holds it
 *	pagoda_mfence_wait_arm		has the function called once, when the fence has the value
 *					or the device is gone
 *	pagoda_mfence_wait_fini		releases the wait, armed or not: after the return the
 *					function isn't running and won't be called
 *
 * The order of all locks is in core/core.h.
 */
#ifndef PAGODA_VIDMM_FENCE_FENCE_H
#define PAGODA_VIDMM_FENCE_FENCE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct dma_fence;
struct eventfd_ctx;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_exec_account;
struct pagoda_mfence;
struct pagoda_mfence_group;
struct pagoda_mfence_signal;
struct pagoda_vidmm;
struct pagoda_vidmm_args;

/**
 * struct pagoda_mfence_value - A monitored fence and a value to signal or to wait for
 * @mfence: Fence
 * @value: Value
 */
struct pagoda_mfence_value {
	struct pagoda_mfence *mfence;
	u64 value;
};

/**
 * struct pagoda_mfence_wait - A wait for a value of a monitored fence; embedded
 * @node: In &pagoda_mfence.waits from arming until the wait ends or is disarmed
 * @waiter: In &pagoda_mfence.waiters, armed or not
 * @left: Points to &pagoda_mfence_group.left, a number of waits: at 0 or less the group is over and
 *	doesn't need this wait any more. NULL = no group
 * @mfence: Fence, a reference and a hold
 * @value: Value that the fence must have at least
 * @func: Called once, unless the wait is disarmed before: with 0 when the fence has at least
 *	@value, or with -ENODEV if the device is gone and the value won't come. Called in any
 *	context, with interrupts off and &pagoda_mfence.lock held: takes spinlocks only, calls no
 *	function of monitored fences
 * @arg: For @func
 * @came: Set by sync_value_came(), the @func of waits of deferred work: the wait has ended, with
 *	the value or because the device is gone
 */
struct pagoda_mfence_wait {
	struct rb_node node;
	struct list_head waiter;
	const atomic_t *left;
	struct pagoda_mfence *mfence;
	u64 value;
	void (*func)(struct pagoda_mfence_wait *wait, int error);
	void *arg;
	bool came;
};

/* fences.c: set up the monitored fences of a device, end all waits for them, undo the set-up */
int pagoda_mfences_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
void pagoda_mfences_stop(struct pagoda_vidmm *vidmm);
void pagoda_mfences_fini(struct pagoda_vidmm *vidmm);

/* awaited.c: have waits tested after stores by the GPU */
void pagoda_mfences_changed(struct pagoda_vidmm *vidmm, const struct pagoda_exec_account *account);

/* fence.c: create a monitored fence, take and drop references, return its page's allocation */
struct pagoda_mfence *pagoda_mfence_create(struct pagoda_vidmm *vidmm,
					   struct pagoda_client *client, u32 flags, u64 value);
struct pagoda_mfence *pagoda_mfence_get(struct pagoda_mfence *mfence);
void pagoda_mfence_put(struct pagoda_mfence *mfence);
struct pagoda_bo *pagoda_mfence_bo(struct pagoda_mfence *mfence);

/* signal.c: promise values of monitored fences or take promises back; signal after work, or now */
struct pagoda_mfence_signal *pagoda_mfence_promise(struct pagoda_mfence *mfence, u64 value);
void pagoda_mfence_take_back(struct pagoda_mfence_signal *signal);
void pagoda_mfence_signal_paging(struct pagoda_mfence_signal *signal, struct dma_fence *paging);
void pagoda_mfence_signal_after(struct pagoda_mfence_signal *signal, struct dma_fence *fence);
int pagoda_mfences_signal(struct pagoda_vidmm *vidmm, const struct pagoda_mfence_value *list,
			  u32 count);

/* wait.c: waits for a value of a monitored fence, refusal of new waits, values during a reset */
int pagoda_mfence_wait_init(struct pagoda_mfence_wait *wait, struct pagoda_mfence *mfence,
			    u64 value,
			    void (*func)(struct pagoda_mfence_wait *wait, int error), void *arg);
int pagoda_mfence_close(struct pagoda_mfence *mfence);
void pagoda_mfence_wait_arm(struct pagoda_mfence_wait *wait);
void pagoda_mfence_wait_disarm(struct pagoda_mfence_wait *wait);
void pagoda_mfence_wait_fini(struct pagoda_mfence_wait *wait);
bool pagoda_mfence_wait_is_over(struct pagoda_mfence_wait *wait);
void pagoda_mfence_device_lost(struct pagoda_vidmm *vidmm);
void pagoda_mfence_restore_all(struct pagoda_vidmm *vidmm);

/* group.c: waits for all or any of several monitored fences, by a thread or for an eventfd */
struct pagoda_mfence_group *pagoda_mfence_group_create(const struct pagoda_mfence_value *list,
						       u32 count, bool any);
int pagoda_mfence_group_wait(struct pagoda_mfence_group *group, long timeout, u32 *first);
void pagoda_mfence_group_destroy(struct pagoda_mfence_group *group);
void pagoda_mfence_group_notify(struct pagoda_mfence_group *group, struct pagoda_client *client,
				struct eventfd_ctx *event);
void pagoda_mfence_client_close(struct pagoda_vidmm *vidmm, struct pagoda_client *client);

#endif
