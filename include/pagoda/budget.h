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
 *	context save areas and whatever else the driver allocates for it. Atomic because
 *	moves happen in anybody's context
 * @table_bytes: Bytes of its page tables that the CPU writes: system memory that the GPU uses,
 *	and no allocation
 * @reservation: Bytes it says it needs at least; &pagoda_budgets.lock
 * @expected: Bytes that accepted requests will add to its usage; the same
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
void pagoda_budget_charge(struct pagoda_budget *budget, u32 segment, s64 bytes);
void pagoda_budget_charge_tables(struct pagoda_budget *budget, s64 bytes);
u64 pagoda_budget_usage(const struct pagoda_budget *budget, u32 group);
void pagoda_budget_info(struct pagoda_budget *budget, u32 group, struct pagoda_budget_info *info);
int pagoda_budget_reserve(struct pagoda_budget *budget, u32 group, u64 bytes);
u64 pagoda_budget_excess(struct pagoda_budget *budget);
u64 pagoda_budget_expect(struct pagoda_budget *budget, const u64 *bytes, bool deny);
void pagoda_budget_arrived(struct pagoda_budget *budget, const u64 *bytes);

#endif
