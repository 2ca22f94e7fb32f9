/* SPDX-License-Identifier: GPL-2.0 */
/* Promotion to VRAM; see promote.c. */
#ifndef PAGODA_VIDMM_LEDGER_PROMOTION_H
#define PAGODA_VIDMM_LEDGER_PROMOTION_H

#include <linux/atomic.h>
#include <linux/dma-fence.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "traffic.h"

struct dma_fence;
struct pagoda_vidmm;

/**
 * PAGODA_PROMOTE_SLICES: number of slices under way at a time, so that the device always has
 * one to execute
 */
#define PAGODA_PROMOTE_SLICES	2

/**
 * struct pagoda_promote_key - Order of promotion: residency priority, then latest use
 * @step: pagoda_priority_step(); a higher value comes first
 * @used: &pagoda_policy.clock of the last use; a higher value comes first
 * @id: Number of the allocation; a lower number comes first
 */
struct pagoda_promote_key {
	u32 step;
	u64 used;
	u64 id;
};

/**
 * struct pagoda_promote_item - An allocation that waits for promotion
 * @node: Entry in &pagoda_promotion.waiting; cleared if it doesn't wait
 * @key: Its key in that tree
 *
 * Changed with the allocation's reservation and pagoda_promotion.lock held, or while the allocation
 * is destroyed; either lock is enough to test whether it waits.
 */
struct pagoda_promote_item {
	struct rb_node node;
	struct pagoda_promote_key key;
};

/**
 * struct pagoda_promote_slice - Paging of a slice under way
 * @vidmm: The manager
 * @fence: Fence behind the slice, a reference; NULL = none. Used by the work only
 * @callback: Queues the work when the fence signals
 */
struct pagoda_promote_slice {
	struct pagoda_vidmm *vidmm;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
};

/**
 * struct pagoda_promotion - Allocations that wait for promotion to VRAM, and the walk
 * @vidmm: Manager
 * @lock: Protects @waiting, @count and @bytes
 * @waiting: &pagoda_bo.wish.promote by key
 * @count: Number of entries in @waiting; also read without the lock
 * @bytes: Sum of their sizes
 * @period: Jiffies that room has to last; 0 = no promotion. Constant
 * @work: The walk. All members below belong to the work, unless said otherwise
 * @patience: Jiffies until the next walk; longer when walks fail, until there is much room. Any
 *	thread may read it and reset it
 * @news: There may be room for a waiting allocation; set by any thread
 * @walking: @at is valid
 * @skipped: An allocation was in use in this walk
 * @at: Key of the last allocation that was looked at
 * @slices: Slices under way, a ring
 * @sent: Number of slices sent so far
 * @ended: Number of slices known to have ended
 * @commands: &pagoda_counters.commands after the work's own commands
 * @busy_ns: pagoda_engines_busy_ns() at the last look
 * @traffic: Bucket that promotion pays from
 * @promoted: Bytes that came back; read by any thread
 * @promotions: Number of allocations that came back; read by any thread
 */
struct pagoda_promotion {
	struct pagoda_vidmm *vidmm;
	spinlock_t lock;	/* waiting, count, bytes */
	struct rb_root waiting;
	u32 count;
	u64 bytes;
	unsigned long period;
	struct delayed_work work;
	unsigned long patience;
	bool news;
	bool walking;
	bool skipped;
	struct pagoda_promote_key at;
	struct pagoda_promote_slice slices[PAGODA_PROMOTE_SLICES];
	u32 sent;
	u32 ended;
	u64 commands;
	u64 busy_ns;
	struct pagoda_traffic traffic;
	atomic64_t promoted;
	atomic64_t promotions;
};

/*
 * Longest wait for tokens, in jiffies: other paging may stop earlier, and the rate is higher
 * then.
 */
#define PAGODA_PROMOTE_POOR		(HZ / 20 ?: 1)

bool pagoda_promote_is_before(const struct pagoda_promote_key *a,
			      const struct pagoda_promote_key *b);
struct pagoda_bo *pagoda_promote_bo(struct rb_node *node);
bool pagoda_promote_waits(const struct pagoda_bo *bo);
bool pagoda_promote_is_wanted(const struct pagoda_bo *bo);
void pagoda_promote_again(struct pagoda_promotion *promotion, unsigned long delay);

#endif
