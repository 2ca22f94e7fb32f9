/* SPDX-License-Identifier: GPL-2.0 */
/* The way back to VRAM; see promote.c. */
#ifndef PAGODA_PROMOTE_H
#define PAGODA_PROMOTE_H

#include <linux/dma-fence.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <pagoda/traffic.h>

struct drm_printer;
struct pagoda_bo;
struct pagoda_vidmm;

/** PAGODA_PROMOTE_SLICES: slices under way at a time, so that paging has always one to do */
#define PAGODA_PROMOTE_SLICES	2

/**
 * struct pagoda_promote_key - Who comes first: the most important, then who was used last
 * @step: pagoda_priority_step(); more is earlier
 * @used: &pagoda_policy.clock of its last use; more is earlier
 * @id: Number of the allocation; less is earlier
 */
struct pagoda_promote_key {
	u32 step;
	u64 used;
	u64 id;
};

/**
 * struct pagoda_promote_item - An allocation that wants to be in VRAM
 * @node: In &pagoda_promotion.waiting; cleared: it isn't
 * @key: Its place there
 *
 * Changed with the allocation's reservation and pagoda_promotion.lock held, or by who destroys
 * it; whoever has one of them may look whether it waits.
 */
struct pagoda_promote_item {
	struct rb_node node;
	struct pagoda_promote_key key;
};

/**
 * struct pagoda_promote_slice - Some paging under way
 * @vidmm: The manager
 * @fence: Behind it, a reference; NULL = none is. The work's
 * @callback: Calls the work when it signals
 */
struct pagoda_promote_slice {
	struct pagoda_vidmm *vidmm;
	struct dma_fence *fence;
	struct dma_fence_cb callback;
};

/**
 * struct pagoda_promotion - What was driven out of VRAM and shall come back
 * @lock: Protects @waiting, @count and @bytes; nests in reservations
 * @waiting: &pagoda_bo.promote by key
 * @count: Their number; also read without the lock
 * @bytes: Their sum
 * @period: Jiffies that room has to last; 0 = nothing comes back by itself. Constant
 * @work: Brings it back. All below are its own, unless said otherwise
 * @patience: Jiffies until it looks; longer when nothing comes of it, until there is much
 *	room: read, and then set, by anybody
 * @news: There may be room for who was refused; set by anybody
 * @walking: @at means something
 * @skipped: Somebody was in use in this walk
 * @at: Who was looked at last
 * @slices: What is under way, a ring
 * @sent: Slices sent so far
 * @ended: Slices known to have ended
 * @commands: &pagoda_counters.commands when it was done with its own
 * @busy_ns: pagoda_engines_busy_ns() when it looked last
 * @traffic: What it pays from
 * @promoted: Bytes that came back; read by anybody
 * @promotions: Allocations that did; the same
 */
struct pagoda_promotion {
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

void pagoda_promote_init(struct pagoda_vidmm *vidmm, u32 period_ms, u32 share);
void pagoda_promote_stop(struct pagoda_vidmm *vidmm);
void pagoda_promote_kick(struct pagoda_vidmm *vidmm);
void pagoda_promote_look(struct pagoda_bo *bo);
void pagoda_promote_forget(struct pagoda_bo *bo);

#endif
