/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Budgets: how much memory of a segment group (WDDM: local, non-local) a client should use.
 *
 * Microsoft doesn't say how a budget is found; Pagoda has this rule. A 32nd of each group is
 * kept for the kernel, the rest is the pool. For a client, the pool is split like this:
 *
 *	other clients keep their reservations,
 *	other clients keep what they want beyond that, but each at most as much as the budget,
 *	the rest is the budget.
 *
 * So without reservations all clients have equal shares of the pool, and what a client doesn't want
 * of its share is lent to the others: the budget of a client that is alone is the pool. A client's
 * budget depends on what other clients want and reserve, never on the client's own wants or
 * reservation (C166). A client that wants and reserves nothing takes nothing from other clients'
 * budgets.
 *
 * Whether an allocation is wanted (pagoda_wish_changed()) doesn't depend on its place; its bytes
 * count in the group that it prefers. So evictions for want of room change no budget.
 *
 * No allocation is evicted for a budget: a client that wants more than its budget is told how much
 * to trim. But of allocations that aren't offered, the policy (policy.h) chooses first those of
 * clients that are over their budget (pagoda_budget_is_over()).
 *
 * What clients want beyond their reservations is kept in a tree, in order and with sums, so that
 * finding a budget takes a time proportional to the logarithm of the number of clients.
 *
 * The functions depend on the structs below only, not on the driver's objects.
 */
#ifndef PAGODA_VIDMM_LEDGER_BUDGET_H
#define PAGODA_VIDMM_LEDGER_BUDGET_H

#include <linux/atomic.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

/** PAGODA_BUDGET_GROUPS: number of segment groups. */
#define PAGODA_BUDGET_GROUPS	(DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL + 1)

/** PAGODA_BUDGET_SEGMENTS: number of segments, including the system segment. */
#define PAGODA_BUDGET_SEGMENTS	(DRM_PAGODA_SEGMENT_APERTURE + 1)

/** PAGODA_BUDGET_KERNEL: the size of each group divided by this is kept for the kernel. */
#define PAGODA_BUDGET_KERNEL	32

/**
 * struct pagoda_budgets - Budgets of all clients of a device
 * @lock: Protects @claims, @pool and @reserved
 * @claims: Tree of the clients' struct pagoda_budget_claim in the order of their bytes, by group
 * @pool: Bytes of each group that clients share
 * @reserved: Sum of the clients' reservations in bytes, by group
 * @owner: Argument of @changed; constant
 * @changed: Called when a budget may have changed, because a client wants or reserves more or
 *	less, in any context but interrupts; constant, may be NULL
 */
struct pagoda_budgets {
	spinlock_t lock;	/* protects claims, pool, reserved */
	struct rb_root claims[PAGODA_BUDGET_GROUPS];
	u64 pool[PAGODA_BUDGET_GROUPS];
	u64 reserved[PAGODA_BUDGET_GROUPS];
	void *owner;
	void (*changed)(void *owner);
};

/**
 * struct pagoda_budget_sum - Sum of some claims
 * @bytes: Sum of &pagoda_budget_claim.bytes of the claims
 * @count: Number of claims
 */
struct pagoda_budget_sum {
	u64 bytes;
	u32 count;
};

/**
 * struct pagoda_budget_claim - What a client wants of a group beyond its reservation
 * @node: Entry in &pagoda_budgets.claims while @bytes isn't 0
 * @bytes: Bytes, at most the pool
 * @all: Sum of this claim and the claims in the subtree below @node
 *
 * Protected by &pagoda_budgets.lock.
 */
struct pagoda_budget_claim {
	struct rb_node node;
	u64 bytes;
	struct pagoda_budget_sum all;
};

/**
 * struct pagoda_budget - Usage, wants and reservation of a client
 * @budgets: Budgets of all clients of the device
 * @segment_bytes: Bytes of the client's allocations by segment id, including page tables, save
 *	areas and other allocations that the driver makes for the client. Changed under
 *	&pagoda_budgets.lock, read without it
 * @table_bytes: Bytes of the client's page tables that the CPU writes: these are system memory
 *	that the GPU uses, but no allocations. Changed under &pagoda_budgets.lock, read without it
 * @reservation: Bytes that the client says it needs at least, by group; protected by
 *	&pagoda_budgets.lock
 * @wanted: Bytes that the client wants, by group: of the client's allocations that are wanted and,
 *	in the non-local group, @table_bytes; protected by &pagoda_budgets.lock
 * @claims: What the client wants beyond @reservation, by group
 */
struct pagoda_budget {
	struct pagoda_budgets *budgets;
	atomic64_t segment_bytes[PAGODA_BUDGET_SEGMENTS];
	atomic64_t table_bytes;
	u64 reservation[PAGODA_BUDGET_GROUPS];
	u64 wanted[PAGODA_BUDGET_GROUPS];
	struct pagoda_budget_claim claims[PAGODA_BUDGET_GROUPS];
};

/**
 * struct pagoda_budget_part - An allocation in the budget of the client that is charged for it
 * @bytes: Size of the allocation; constant
 * @prefers: enum drm_pagoda_segment_group that the allocation prefers to be in,
 *	%PAGODA_BUDGET_GROUPS = none; constant
 * @segment: Id of the segment that @bytes are charged to, %PAGODA_BUDGET_SEGMENTS = none;
 *	protected by &pagoda_budgets.lock
 * @wanted: The allocation counts in &pagoda_budget.wanted of @prefers; changed under
 *	&pagoda_budgets.lock
 */
struct pagoda_budget_part {
	u64 bytes;
	u32 prefers;
	u32 segment;
	bool wanted;
};

/**
 * struct pagoda_budget_info - Budget of a client in a segment group (local or non-local), in bytes
 * @budget: Most bytes that the client should want
 * @wanted: Bytes that the client wants in the group: &pagoda_budget.wanted
 * @usage: Bytes of the client's allocations that are in memory of the group now, or on their way to
 *	it; of the non-local group also the page tables that the CPU writes
 * @reservation: Bytes that the client says it needs at least
 * @available: Largest reservation that would be accepted
 */
struct pagoda_budget_info {
	u64 budget;
	u64 wanted;
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
void pagoda_budget_want(struct pagoda_budget *budget, struct pagoda_budget_part *part,
			bool (*wants)(const struct pagoda_budget_part *part));
u64 pagoda_budget_usage(const struct pagoda_budget *budget, u32 group);
void pagoda_budget_info(struct pagoda_budget *budget, u32 group, struct pagoda_budget_info *info);
int pagoda_budget_reserve(struct pagoda_budget *budget, u32 group, u64 bytes);
u64 pagoda_budget_excess(struct pagoda_budget *budget);
bool pagoda_budget_is_over(struct pagoda_budget *budget);
u64 pagoda_budget_denied(struct pagoda_budget *budget, const u64 *more);

#endif
