/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Budgets: how much memory of a segment group (WDDM: local, non-local) a client should use.
 *
 * Microsoft doesn't say how a budget is found; this is Pagoda's rule. A 32nd of each group is
 * kept for the kernel, the rest is the pool. For a client, the pool is split like this:
 *
 *	other clients keep their reservations,
 *	other clients keep their usage beyond that, each up to the size of the budget found,
 *	the rest is the budget.
 *
 * So all clients have equal shares of what isn't reserved, and the unused part of a share is
 * lent to the others: a client that is alone has the pool. A client's budget depends on what
 * other clients use and reserve, never on the client's own usage or reservation (C166). A client
 * that uses and reserves nothing takes nothing from other clients' budgets.
 *
 * No allocation is evicted for a budget: a client over its budget is told how much to trim.
 *
 * A request, such as MAKE_RESIDENT, is answered before its allocations have moved. Each byte
 * that a request brings counts as expected until it is charged to its new group, and as used
 * from then on: never as both, and never as neither while a request for it is unfinished.
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

/** PAGODA_BUDGET_KERNEL: the kernel keeps the size of each group divided by this. */
#define PAGODA_BUDGET_KERNEL	32

/**
 * struct pagoda_budgets - Budgets of all clients of a device
 * @lock: Protects @clients, @pool and @reserved
 * @clients: List of the clients' struct pagoda_budget
 * @pool: Bytes of each group that clients share
 * @reserved: Sum of the clients' reservations in bytes, by group
 * @owner: Argument of @changed; constant
 * @changed: Called when a client's usage or reservation changed, in any context; constant, may
 *	be NULL
 */
struct pagoda_budgets {
	spinlock_t lock;	/* protects clients, pool, reserved */
	struct list_head clients;
	u64 pool[PAGODA_BUDGET_GROUPS];
	u64 reserved[PAGODA_BUDGET_GROUPS];
	void *owner;
	void (*changed)(void *owner);
};

/**
 * struct pagoda_budget - Usage and reservation of a client
 * @budgets: Budgets of all clients of the device
 * @link: Entry in &pagoda_budgets.clients
 * @segment_bytes: Bytes of the client's allocations by segment id, including page tables, save
 *	areas and other allocations that the driver makes for the client. Changed under
 *	&pagoda_budgets.lock, read without it
 * @table_bytes: Bytes of the client's page tables that the CPU writes: these are system memory
 *	that the GPU uses, but no allocations
 * @reservation: Bytes that the client says it needs at least, by group; protected by
 *	&pagoda_budgets.lock
 * @expected: Bytes that unfinished requests will still add to the client's usage, by group;
 *	protected by &pagoda_budgets.lock
 * @claim: Usage beyond the reservation in bytes, valid only while a budget is being found;
 *	protected by &pagoda_budgets.lock
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
 * struct pagoda_budget_part - An allocation in the budget of the client that is charged for it
 * @bytes: Size of the allocation; constant
 * @wanted: enum drm_pagoda_segment_group that the allocation prefers to be in,
 *	%PAGODA_BUDGET_GROUPS = none; constant
 * @segment: Id of the segment that @bytes are charged to, %PAGODA_BUDGET_SEGMENTS = none;
 *	protected by &pagoda_budgets.lock
 * @requests: Number of unfinished requests that bring the allocation to @wanted; protected by
 *	&pagoda_budgets.lock
 */
struct pagoda_budget_part {
	u64 bytes;
	u32 wanted;
	u32 segment;
	u32 requests;
};

/**
 * struct pagoda_budget_growth - Allocations that a request will bring to &pagoda_budget_part.wanted
 * @parts: Pointers to &pagoda_bo.part of allocations of a single client, each only once
 * @count: Number of entries of @parts
 * @asked: Number of leading entries of @parts that the client newly asks for: only these are
 *	checked against the budget
 */
struct pagoda_budget_growth {
	struct pagoda_budget_part **parts;
	u32 count;
	u32 asked;
};

/**
 * struct pagoda_budget_info - Budget of a client and a group, all in bytes
 * @budget: Bytes that the usage should not exceed
 * @usage: Bytes in use
 * @reservation: Bytes that the client says it needs at least
 * @available: Largest reservation that would be accepted
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
