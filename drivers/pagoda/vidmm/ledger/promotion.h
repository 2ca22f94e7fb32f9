/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Promotion: evicted allocations come back to VRAM by themselves. State of promotion (promote.c),
 * and the allocations that wait for it, in order (waiting.c).
 */
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

/** PAGODA_PROMOTE_SLICES: most slices of promotion's paging under way, about a millisecond each */
#define PAGODA_PROMOTE_SLICES	2

/**
 * struct pagoda_promote_key - Sort key of allocations that wait for promotion
 * @step: pagoda_priority_step(); a higher value is promoted first
 * @used: &pagoda_policy.clock at the last use; a higher value is promoted first
 * @id: &pagoda_bo.id; a lower value is promoted first
 */
struct pagoda_promote_key {
	u32 step;
	u64 used;
	u64 id;
};

/**
 * struct pagoda_promote_item - Place of an allocation among those that wait for promotion
 * @node: Entry in &pagoda_promotion.waiting, cleared while the allocation doesn't wait
 * @key: Key of @node
 *
 * Changed with the allocation's reservation and pagoda_promotion.lock held, or while the
 * allocation is destroyed; for pagoda_promote_waits() the reservation or the lock is enough.
 */
struct pagoda_promote_item {
	struct rb_node node;
	struct pagoda_promote_key key;
};

/**
 * struct pagoda_promote_slice - Slice: about a millisecond of promotion's paging, under way
 * @vidmm: The manager
 * @fence: Fence of the slice's paging, a reference; NULL = no slice. Used by
 *	&pagoda_promotion.work only, and at the end of promotion
 * @callback: Queues &pagoda_promotion.work when @fence signals
 */
struct pagoda_promote_slice {
	struct pagoda_vidmm *vidmm;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
};

/**
 * struct pagoda_promotion - Promotion of evicted allocations to VRAM
 * @vidmm: Manager
 * @lock: Protects @waiting, @count and @bytes
 * @waiting: Allocations that wait: &pagoda_bo.wish.promote by key
 * @count: Number of entries in @waiting; also read without the lock
 * @bytes: Sum of the sizes of the waiting allocations
 * @period: Jiffies that room in VRAM has to last before a walk; 0 = no promotion. Constant
 * @work: The walk: brings waiting allocations to VRAM, in the order of their keys. Only this
 *	work item uses the members below, unless something else is said at the member
 * @patience: Jiffies until the next walk, longer after walks that promoted nothing. Any thread
 *	may read it, and set it to @period when there is much room
 * @news: There may be room for a waiting allocation: a walk is to begin; set by any thread
 * @walking: A walk has begun and isn't at its end: it goes on behind @at
 * @skipped: The walk has left out an allocation for -EBUSY, which a later walk tries again
 * @at: Key of the last allocation that the walk looked at
 * @slices: Slices under way, a ring
 * @sent: Number of slices sent so far
 * @ended: Number of slices whose end was noticed so far
 * @commands: &pagoda_counters.commands, which counts paging, at the last look or after the last
 *	slice, to notice paging of clients
 * @busy_ns: pagoda_engines_busy_ns() at the last look, to notice jobs
 * @traffic: Bucket that promotion pays from; read by any thread
 * @promoted: Bytes promoted so far; read by any thread
 * @promotions: Number of promotions so far; read by any thread
 */
struct pagoda_promotion {
	struct pagoda_vidmm *vidmm;
	spinlock_t lock;	/* protects waiting, count, bytes */
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
 * Most jiffies until promotion, which found no token, looks again: tokens come faster than expected
 * if clients stop using the device.
 */
#define PAGODA_PROMOTE_POOR		(HZ / 20 ?: 1)

bool pagoda_promote_is_before(const struct pagoda_promote_key *a,
			      const struct pagoda_promote_key *b);
struct pagoda_bo *pagoda_promote_bo(struct rb_node *node);
bool pagoda_promote_waits(const struct pagoda_bo *bo);
bool pagoda_promote_is_wanted(const struct pagoda_bo *bo);
void pagoda_promote_again(struct pagoda_promotion *promotion, unsigned long delay);

#endif
