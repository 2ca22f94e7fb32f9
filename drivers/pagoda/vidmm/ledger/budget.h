/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Budgets: how much of a segment group a client should use (WDDM 10.1).
 *
 * Microsoft doesn't say how a budget is found; this is Pagoda's rule. Of each group some is kept
 * for the kernel, the rest is the pool. For one client, of the pool
 *
 *	the reservations of other clients are theirs,
 *	other clients keep what they use beyond that, but none more than the budget itself,
 *	the rest is the budget.
 *
 * So each client has the same share of what isn't reserved by others, and the unused part of
 * their shares is lent: a client that is alone has the pool. A budget depends on what other
 * clients use and reserve, never on the client itself: its own reservation changes nothing
 * (C166), and its usage takes nothing from it. Files that use nothing count for nothing.
 *
 * Nothing is enforced here: a client over its budget is told how much it should trim.
 *
 * Requests are answered before their allocations have arrived. Each byte of an allocation that a
 * request is to bring is expected until it is charged to the group it comes to, and used from
 * then on: never both, and never neither before the last request for it is through.
 *
 * The functions depend on the structs below only, not on the driver's objects.
 */
#ifndef PAGODA_VIDMM_LEDGER_BUDGET_H
#define PAGODA_VIDMM_LEDGER_BUDGET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/** PAGODA_BUDGET_GROUPS: number of segment groups. */
#define PAGODA_BUDGET_GROUPS	(DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL + 1)

/** PAGODA_BUDGET_SEGMENTS: number of segments, including the system segment. */
#define PAGODA_BUDGET_SEGMENTS	(DRM_PAGODA_SEGMENT_APERTURE + 1)

/** PAGODA_BUDGET_KERNEL: the kernel keeps one part in this many of each group. */
#define PAGODA_BUDGET_KERNEL	32

/**
 * struct pagoda_budgets - Budgets of all clients of a device
 * @lock: Protects all members below
 * @clients: struct pagoda_budget
 * @pool: Bytes of each group that clients share
 * @reserved: Bytes of the pool that clients have reserved
 * @owner: Argument of @changed; constant
 * @changed: Called when usage or a reservation changed, in any context; constant, may be NULL
 */
struct pagoda_budgets {
	spinlock_t lock;	/* all below */
	struct list_head clients;
	u64 pool[PAGODA_BUDGET_GROUPS];
	u64 reserved[PAGODA_BUDGET_GROUPS];
	void *owner;
	void (*changed)(void *owner);
};

/**
 * struct pagoda_budget - Usage and reservation of a client
 * @budgets: The device's
 * @link: Entry in &pagoda_budgets.clients
 * @segment_bytes: Bytes of its allocations in each segment, by segment id; with page tables,
 *	context save areas and other allocations that the driver makes for it. Changed under
 *	&pagoda_budgets.lock, read without it
 * @table_bytes: Bytes of its page tables that the CPU writes: system memory that the GPU uses, and
 *	no allocation
 * @reservation: Bytes it says it needs at least; protected by &pagoda_budgets.lock
 * @expected: Bytes that requests will add to its usage and haven't yet; protected by
 *	&pagoda_budgets.lock
 * @claim: Used while a client's budget is being found; protected by &pagoda_budgets.lock
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
 * struct pagoda_budget_part - Part of an allocation in the budget of the client that pays for it
 * @bytes: Its size; constant
 * @wanted: enum drm_pagoda_segment_group it prefers to be in, %PAGODA_BUDGET_GROUPS = none;
 *	constant
 * @segment: Segment its bytes are charged to, %PAGODA_BUDGET_SEGMENTS = none; protected by
 *	&pagoda_budgets.lock
 * @requests: Number of unfinished requests that are to bring it to @wanted; protected by
 *	&pagoda_budgets.lock
 */
struct pagoda_budget_part {
	u64 bytes;
	u32 wanted;
	u32 segment;
	u32 requests;
};

/**
 * struct pagoda_budget_growth - Allocations that a request will bring
 * @parts: Parts of one client's allocations, each only once; those that are asked for first
 * @count: Number of parts
 * @asked: Number of parts that are asked for: the rest was there before and can't exceed the budget
 */
struct pagoda_budget_growth {
	struct pagoda_budget_part **parts;
	u32 count;
	u32 asked;
};

/**
 * struct pagoda_budget_info - Budget of a client and a group, all in bytes
 * @budget: Size that the usage should not exceed
 * @usage: Bytes in use
 * @reservation: Bytes that the client says it needs at least
 * @available: Largest possible reservation
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
