// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets: the rule, and the accounting it needs. budget.h describes the rule.
 *
 * The callers that move allocations keep the usage up to date, and the expected growth with it,
 * so that a byte that arrives isn't counted twice. Page tables that the CPU writes are counted
 * without the lock: a budget is found from a count that was right at some time during the call,
 * read once for each client.
 */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include "budget.h"

/*
 * Returns the enum drm_pagoda_segment_group of a segment, or PAGODA_BUDGET_GROUPS: there is no
 * budget for system memory that the GPU doesn't use.
 */
u32 pagoda_budget_group(u32 segment)
{
	switch (segment) {
	case DRM_PAGODA_SEGMENT_VRAM:
		return DRM_PAGODA_SEGMENT_GROUP_LOCAL;
	case DRM_PAGODA_SEGMENT_APERTURE:
		return DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL;
	default:
		return PAGODA_BUDGET_GROUPS;
	}
}

u64 pagoda_budget_usage(const struct pagoda_budget *budget, u32 group)
{
	bool has_tables = group == DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL;
	u64 bytes = has_tables ? atomic64_read(&budget->table_bytes) : 0;
	u32 id;

	for (id = 0; id < PAGODA_BUDGET_SEGMENTS; id++)
		if (pagoda_budget_group(id) == group)
			bytes += atomic64_read(&budget->segment_bytes[id]);
	return bytes;
}

static void budgets_changed(struct pagoda_budgets *budgets)
{
	if (budgets->changed)
		budgets->changed(budgets->owner);
}

static u64 budget_beyond(u64 bytes, u64 limit)
{
	return bytes > limit ? bytes - limit : 0;
}

/* Sets up budgets without clients; @sizes are the bytes of each group. */
void pagoda_budgets_init(struct pagoda_budgets *budgets, const u64 *sizes)
{
	u32 group;

	*budgets = (struct pagoda_budgets) {};
	spin_lock_init(&budgets->lock);
	INIT_LIST_HEAD(&budgets->clients);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		budgets->pool[group] = sizes[group] - sizes[group] / PAGODA_BUDGET_KERNEL;
}

/* Adds a client's budget, all zeros, to the device's. */
void pagoda_budget_join(struct pagoda_budgets *budgets, struct pagoda_budget *budget)
{
	budget->budgets = budgets;
	spin_lock(&budgets->lock);
	list_add_tail(&budget->link, &budgets->clients);
	spin_unlock(&budgets->lock);
}

static void budget_set_reservation(struct pagoda_budget *budget, u32 group, u64 bytes)
{
	lockdep_assert_held(&budget->budgets->lock);
	budget->budgets->reserved[group] -= budget->reservation[group];
	budget->budgets->reserved[group] += bytes;
	budget->reservation[group] = bytes;
}

/* Drops a closed client's reservations; other clients may still use its allocations. */
void pagoda_budget_close(struct pagoda_budget *budget)
{
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		budget_set_reservation(budget, group, 0);
	spin_unlock(&budget->budgets->lock);
	budgets_changed(budget->budgets);
}

/* Removes a client's budget, to which nothing is charged any more. */
void pagoda_budget_leave(struct pagoda_budget *budget)
{
	pagoda_budget_close(budget);
	spin_lock(&budget->budgets->lock);
	list_del(&budget->link);
	spin_unlock(&budget->budgets->lock);
}

static bool part_is_missing(const struct pagoda_budget_part *part)
{
	return part->wanted != PAGODA_BUDGET_GROUPS &&
	       pagoda_budget_group(part->segment) != part->wanted;
}

static u64 part_expected(const struct pagoda_budget_part *part)
{
	return part->requests && part_is_missing(part) ? part->bytes : 0;
}

/*
 * A part that changes may change the expected growth: part_leave() is called before the change,
 * part_enter() after it.
 */
static void part_leave(struct pagoda_budget *budget, const struct pagoda_budget_part *part)
{
	lockdep_assert_held(&budget->budgets->lock);
	if (part_expected(part))
		budget->expected[part->wanted] -= part->bytes;
}

static void part_enter(struct pagoda_budget *budget, const struct pagoda_budget_part *part)
{
	lockdep_assert_held(&budget->budgets->lock);
	if (part_expected(part))
		budget->expected[part->wanted] += part->bytes;
}

/**
 * pagoda_budget_charge() - Charge an allocation to its new segment
 * @budget: Budget of the client that pays for the allocation
 * @part: The allocation's part of @budget
 * @segment: enum drm_pagoda_segment_id, or %PAGODA_BUDGET_SEGMENTS: nowhere
 *
 * Context: Takes a spinlock; not in interrupts.
 */
void pagoda_budget_charge(struct pagoda_budget *budget, struct pagoda_budget_part *part,
			  u32 segment)
{
	u32 from = pagoda_budget_group(part->segment), to = pagoda_budget_group(segment);

	spin_lock(&budget->budgets->lock);
	part_leave(budget, part);
	if (part->segment != PAGODA_BUDGET_SEGMENTS)
		atomic64_sub(part->bytes, &budget->segment_bytes[part->segment]);
	part->segment = segment;
	if (part->segment != PAGODA_BUDGET_SEGMENTS)
		atomic64_add(part->bytes, &budget->segment_bytes[part->segment]);
	part_enter(budget, part);
	spin_unlock(&budget->budgets->lock);
	if (from != to)
		budgets_changed(budget->budgets);
}

/* Charges page tables that the CPU writes, which grow by @bytes, or shrink if negative. */
void pagoda_budget_charge_tables(struct pagoda_budget *budget, s64 bytes)
{
	atomic64_add(bytes, &budget->table_bytes);
	budgets_changed(budget->budgets);
}

/* ---- The rule ------------------------------------------------------------------- */

static u64 budget_reserved_by_others(const struct pagoda_budget *budget, u32 group)
{
	return budget->budgets->reserved[group] - budget->reservation[group];
}

/*
 * Subtracts from @left the claims of all clients that claim no more than @level, and returns an
 * equal share of the rest for each other client, of which @budget is always one. Repeated with
 * the result as level, the share doesn't shrink.
 */
static u64 budget_raise(const struct pagoda_budget *budget, u64 left, u64 level)
{
	const struct pagoda_budget *each;
	u32 sharers = 1;

	list_for_each_entry(each, &budget->budgets->clients, link) {
		if (each == budget)
			continue;
		if (each->claim <= level)
			left -= each->claim;
		else
			sharers++;
	}
	return div_u64(left, sharers);
}

/*
 * Returns the highest level that leaves room for what other clients claim up to it. Each turn
 * but the last satisfies a client; what that can add is a part of the last step, so there are
 * few turns.
 */
static u64 budget_find(const struct pagoda_budget *budget, u32 group)
{
	struct pagoda_budgets *budgets = budget->budgets;
	u64 pool = budget_beyond(budgets->pool[group], budget_reserved_by_others(budget, group));
	struct pagoda_budget *each;
	u64 level = 0, next;

	lockdep_assert_held(&budgets->lock);
	/* A claim is the usage beyond the reservation, read once: it may change meanwhile. */
	list_for_each_entry(each, &budgets->clients, link)
		each->claim = budget_beyond(pagoda_budget_usage(each, group),
					    each->reservation[group]);
	while ((next = budget_raise(budget, pool, level)) != level)
		level = next;
	return round_down(level, PAGE_SIZE);
}

/*
 * All reservations together take at most half of the pool: the other half is for clients
 * without one.
 */
static u64 budget_available(const struct pagoda_budget *budget, u32 group)
{
	return budget_beyond(budget->budgets->pool[group] / 2,
			     budget_reserved_by_others(budget, group));
}

/* ---- Requests of clients --------------------------------------------------------- */

/**
 * pagoda_budget_info() - Report a client's budget and usage
 * @budget: The client's budget
 * @group: enum drm_pagoda_segment_group
 * @info: Filled
 *
 * Context: Takes a spinlock, held for a time proportional to the number of clients.
 */
void pagoda_budget_info(struct pagoda_budget *budget, u32 group, struct pagoda_budget_info *info)
{
	spin_lock(&budget->budgets->lock);
	*info = (struct pagoda_budget_info) {
		.budget = budget_find(budget, group),
		.usage = pagoda_budget_usage(budget, group),
		.reservation = budget->reservation[group],
		.available = budget_available(budget, group),
	};
	spin_unlock(&budget->budgets->lock);
}

/**
 * pagoda_budget_reserve() - Set how much memory a client needs at least
 * @budget: The client's budget
 * @group: enum drm_pagoda_segment_group
 * @bytes: Size of the reservation; 0 = none
 *
 * Return: 0, or -EDQUOT if @bytes is more than is available; then nothing has changed.
 */
int pagoda_budget_reserve(struct pagoda_budget *budget, u32 group, u64 bytes)
{
	struct pagoda_budgets *budgets = budget->budgets;
	int ret = 0;

	spin_lock(&budgets->lock);
	if (bytes > budget_available(budget, group))
		ret = -EDQUOT;
	else
		budget_set_reservation(budget, group, bytes);
	spin_unlock(&budgets->lock);
	if (!ret)
		budgets_changed(budgets);
	return ret;
}

static u64 budget_excess(const struct pagoda_budget *budget, u32 group, u64 more)
{
	u64 usage = pagoda_budget_usage(budget, group) + budget->expected[group] + more;

	return budget_beyond(usage, budget_find(budget, group));
}

/**
 * pagoda_budget_excess() - Bytes by which a client is over its budgets
 * @budget: The client's budget
 *
 * Context: Takes a spinlock, held for a time proportional to the number of clients.
 * Return: The sum over all groups; expected growth counts.
 */
u64 pagoda_budget_excess(struct pagoda_budget *budget)
{
	u64 excess = 0;
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		excess += budget_excess(budget, group, 0);
	spin_unlock(&budget->budgets->lock);
	return excess;
}

static void growth_count(struct pagoda_budget *budget, const struct pagoda_budget_growth *growth,
			 s32 requests)
{
	u32 i;

	for (i = 0; i < growth->count; i++) {
		part_leave(budget, growth->parts[i]);
		growth->parts[i]->requests += requests;
		part_enter(budget, growth->parts[i]);
	}
}

/**
 * pagoda_budget_expect() - Note that a client's usage will grow
 * @budget: The client's budget
 * @growth: Allocations that will be resident; not freed before pagoda_budget_arrived()
 * @deny: Refuse growth of the allocations asked for beyond the budget of their group (C167)
 *
 * Context: Takes a spinlock, for as long as @growth is. With @deny the time is also proportional to
 * the number of clients.
 * Return: 0, and pagoda_budget_arrived() has to follow; with @deny the number of bytes over the
 * budget, and nothing has changed.
 */
u64 pagoda_budget_expect(struct pagoda_budget *budget, const struct pagoda_budget_growth *growth,
			 bool deny)
{
	u64 bytes[PAGODA_BUDGET_GROUPS] = {}, excess = 0;
	const struct pagoda_budget_part *part;
	u32 group, i;

	spin_lock(&budget->budgets->lock);
	/* Sum up the bytes that aren't expected yet. */
	for (i = 0; i < growth->asked; i++) {
		part = growth->parts[i];
		if (!part->requests && part_is_missing(part))
			bytes[part->wanted] += part->bytes;
	}
	for (group = 0; group < PAGODA_BUDGET_GROUPS && deny; group++)
		if (bytes[group])
			excess += budget_excess(budget, group, bytes[group]);
	if (!excess)
		growth_count(budget, growth, 1);
	spin_unlock(&budget->budgets->lock);
	return excess;
}

/**
 * pagoda_budget_arrived() - End an expectation: the usage has grown, or won't grow
 * @budget: The client's budget
 * @growth: As with pagoda_budget_expect(); emptied
 *
 * Context: Takes a spinlock, for as long as @growth is.
 */
void pagoda_budget_arrived(struct pagoda_budget *budget, struct pagoda_budget_growth *growth)
{
	spin_lock(&budget->budgets->lock);
	growth_count(budget, growth, -1);
	spin_unlock(&budget->budgets->lock);
	growth->count = 0;
	growth->asked = 0;
}
