/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Budgets: how much of a segment group a client should use (WDDM 10.1).
 *
 * Microsoft doesn't say how a budget is found; this is our rule. Of each group some is kept for
 * the kernel, the rest is the pool. For one client, of the pool
 *
 *	what others have reserved is theirs,
 *	what they use beyond that they keep, but none of them more than the budget itself,
 *	the rest is the budget.
 *
 * So everybody has the same share of what isn't reserved by others, and what others don't use of
 * theirs is lent: a client that is alone has the pool. A budget depends on what others use and
 * reserve, never on what the client itself does: its own reservation changes nothing (C166), and
 * what it uses takes nothing from it. Files that use nothing count for nothing.
 *
 * Nothing is enforced here: who uses more than his budget is told how much he should trim.
 *
 * Requests are answered before what they ask for is there. Of an allocation that a request is to
 * bring, each byte is expected until it is charged to the group it comes to, and used from then
 * on: never both, and never neither before the last request for it is through.
 *
 * Knows nothing of the driver's objects: its functions depend on the structs below only.
 */
#ifndef PAGODA_BUDGET_H
#define PAGODA_BUDGET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/** PAGODA_BUDGET_GROUPS: number of segment groups. */
#define PAGODA_BUDGET_GROUPS	(DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL + 1)
/** PAGODA_BUDGET_SEGMENTS: number of segments, with the system segment. */
#define PAGODA_BUDGET_SEGMENTS	(DRM_PAGODA_SEGMENT_APERTURE + 1)
/** PAGODA_BUDGET_KERNEL: the kernel keeps one part in so many of each group. */
#define PAGODA_BUDGET_KERNEL	32

/**
 * struct pagoda_budgets - All clients of a device
 * @lock: Protects all below; innermost
 * @clients: struct pagoda_budget
 * @pool: Bytes of each group that are there for clients
 * @reserved: Bytes of them that are reserved, by all clients
 * @changed: Called when usage or a reservation changed, in any context; constant, may be NULL
 */
struct pagoda_budgets {
	spinlock_t lock;	/* all below */
	struct list_head clients;
	u64 pool[PAGODA_BUDGET_GROUPS];
	u64 reserved[PAGODA_BUDGET_GROUPS];
	void (*changed)(struct pagoda_budgets *budgets);
};

/**
 * struct pagoda_budget - What a client uses and wants
 * @budgets: The device's
 * @link: In &pagoda_budgets.clients
 * @segment_bytes: Bytes of its allocations in each segment, by segment id; with page tables,
 *	context save areas and whatever else the driver allocates for it. Changed under
 *	&pagoda_budgets.lock, atomic for who reads without
 * @table_bytes: Bytes of its page tables that the CPU writes: system memory that the GPU uses,
 *	and no allocation
 * @reservation: Bytes it says it needs at least; &pagoda_budgets.lock
 * @expected: Bytes that requests are to add to its usage and haven't yet; the same
 * @claim: Only while somebody's budget is found; the same
 */
struct pagoda_budget {
	struct pagoda_budgets *budgets;
	struct list_head link;
	atomic64_t segment_bytes[PAGODA_BUDGET_SEGMENTS];
	atomic64_t table_bytes;
	u64 reservation[PAGODA_BUDGET_GROUPS];
	u64 expected[PAGODA_BUDGET_GROUPS];
	u64 claim;
};

/**
 * struct pagoda_budget_part - What an allocation is to the budget of the client that pays for it
 * @bytes: Its size; constant
 * @wanted: enum drm_pagoda_segment_group it prefers to be in, %PAGODA_BUDGET_GROUPS = none;
 *	constant
 * @segment: Segment its bytes are charged to, %PAGODA_BUDGET_SEGMENTS = none;
 *	&pagoda_budgets.lock
 * @requests: Requests that are to bring it to @wanted and aren't through; the same
 */
struct pagoda_budget_part {
	u64 bytes;
	u32 wanted;
	u32 segment;
	u32 requests;
};

/**
 * struct pagoda_budget_growth - What a request is to bring
 * @parts: Allocations of one client, each only once; those that are asked for first
 * @count: Their number
 * @asked: How many of them are asked for: the rest was before, and can't be too much
 */
struct pagoda_budget_growth {
	struct pagoda_budget_part **parts;
	u32 count;
	u32 asked;
};

/**
 * struct pagoda_budget_info - Numbers of a client and a group, all in bytes
 * @budget: What it should not exceed
 * @usage: What it uses
 * @reservation: What it says it needs at least
 * @available: Most that it may say
 */
struct pagoda_budget_info {
	u64 budget;
	u64 usage;
	u64 reservation;
	u64 available;
};

u32 pagoda_budget_group(u32 segment);
void pagoda_budgets_init(struct pagoda_budgets *budgets, const u64 *sizes);
void pagoda_budget_join(struct pagoda_budgets *budgets, struct pagoda_budget *budget);
void pagoda_budget_close(struct pagoda_budget *budget);
void pagoda_budget_leave(struct pagoda_budget *budget);
void pagoda_budget_charge(struct pagoda_budget *budget, struct pagoda_budget_part *part,
			  u32 segment);
void pagoda_budget_charge_tables(struct pagoda_budget *budget, s64 bytes);
u64 pagoda_budget_usage(const struct pagoda_budget *budget, u32 group);
void pagoda_budget_info(struct pagoda_budget *budget, u32 group, struct pagoda_budget_info *info);
int pagoda_budget_reserve(struct pagoda_budget *budget, u32 group, u64 bytes);
u64 pagoda_budget_excess(struct pagoda_budget *budget);
u64 pagoda_budget_expect(struct pagoda_budget *budget, const struct pagoda_budget_growth *growth,
			 bool deny);
void pagoda_budget_arrived(struct pagoda_budget *budget, struct pagoda_budget_growth *growth);

#endif
