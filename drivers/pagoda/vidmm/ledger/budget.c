// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets of clients by the rule in budget.h, and the usage that the rule needs.
 *
 * Usage and expected growth change together when an allocation moves, so that no byte counts as
 * both. Page tables that the CPU writes are charged without pagoda_budgets.lock, so budget_find()
 * reads the usage of each client only once.
 */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include "budget.h"

/* Returns a segment's enum drm_pagoda_segment_group, or PAGODA_BUDGET_GROUPS for none. */
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

/* Adds a client's budget, which is all zeros, to the device's budgets. */
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

/* Drops a closed client's reservations; an allocation counts as used until it is freed. */
void pagoda_budget_close(struct pagoda_budget *budget)
{
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		budget_set_reservation(budget, group, 0);
	spin_unlock(&budget->budgets->lock);
	budgets_changed(budget->budgets);
}

/* Removes a client's budget after the last allocation charged to it was freed. */
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
 * Called before a change of a part, and part_enter() after the change: together they keep
 * &pagoda_budget.expected the sum of part_expected() over the client's parts.
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
 * @budget: Budget of the client that is charged for the allocation
 * @part: &pagoda_bo.part of the allocation
 * @segment: enum drm_pagoda_segment_id, or %PAGODA_BUDGET_SEGMENTS to charge no segment
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

/* Adds @bytes, negative when tables are freed, to a client's page tables that the CPU writes. */
void pagoda_budget_charge_tables(struct pagoda_budget *budget, s64 bytes)
{
	atomic64_add(bytes, &budget->table_bytes);
	budgets_changed(budget->budgets);
}

/* ---- How a budget is found ------------------------------------------------------- */

static u64 budget_reserved_by_others(const struct pagoda_budget *budget, u32 group)
{
	return budget->budgets->reserved[group] - budget->reservation[group];
}

/*
 * Subtracts from @left the claims of the other clients that claim at most @level. Returns an
 * equal share of the rest for @budget and each client that claims more than @level. The share is at
 * least @level if @level is 0 or a share that an earlier call returned.
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
 * Returns the budget: the size that is left of the pool if each other client keeps its claim, but
 * at most this size. From the second pass of the loop on, a pass raises @level only if the pass
 * before raised @level to at least the claim of another client, so the loop ends; there are few
 * passes.
 */
static u64 budget_find(const struct pagoda_budget *budget, u32 group)
{
	struct pagoda_budgets *budgets = budget->budgets;
	u64 pool = budget_beyond(budgets->pool[group], budget_reserved_by_others(budget, group));
	struct pagoda_budget *each;
	u64 level = 0, next;

	lockdep_assert_held(&budgets->lock);
	/* Read each usage only once: page tables are charged without the lock. */
	list_for_each_entry(each, &budgets->clients, link)
		each->claim = budget_beyond(pagoda_budget_usage(each, group),
					    each->reservation[group]);
	while ((next = budget_raise(budget, pool, level)) != level)
		level = next;
	return round_down(level, PAGE_SIZE);
}

/* Returns the client's largest reservation: all clients reserve at most half of the pool. */
static u64 budget_available(const struct pagoda_budget *budget, u32 group)
{
	return budget_beyond(budget->budgets->pool[group] / 2,
			     budget_reserved_by_others(budget, group));
}

/* ---- Calls for a client ---------------------------------------------------------- */

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
 * Return: 0, or -EDQUOT if @bytes exceeds &pagoda_budget_info.available; nothing has changed
 * then.
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
 * pagoda_budget_excess() - Bytes by which a client's usage exceeds its budgets
 * @budget: The client's budget
 *
 * Context: Takes a spinlock, held for a time proportional to the number of clients.
 * Return: The sum over all groups; expected growth counts as usage.
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
 * @growth: Allocations that a request brings; not freed before pagoda_budget_arrived()
 * @deny: Refuse if the allocations newly asked for would take the usage over a budget (C167)
 *
 * Context: Takes a spinlock, held for a time proportional to @growth->count; with @deny to the
 * number of clients, too.
 * Return: 0, and pagoda_budget_arrived() has to follow; or with @deny the number of bytes by which
 * the usage would exceed budgets, and nothing has changed.
 */
u64 pagoda_budget_expect(struct pagoda_budget *budget, const struct pagoda_budget_growth *growth,
			 bool deny)
{
	u64 bytes[PAGODA_BUDGET_GROUPS] = {}, excess = 0;
	const struct pagoda_budget_part *part;
	u32 group, i;

	spin_lock(&budget->budgets->lock);
	/* Sum up the bytes that aren't expected for another request already. */
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
 * pagoda_budget_arrived() - Undo pagoda_budget_expect(): the usage has grown, or won't grow
 * @budget: The client's budget
 * @growth: Allocations given to pagoda_budget_expect(); emptied
 *
 * Context: Takes a spinlock, held for a time proportional to @growth->count.
 */
void pagoda_budget_arrived(struct pagoda_budget *budget, struct pagoda_budget_growth *growth)
{
	spin_lock(&budget->budgets->lock);
	growth_count(budget, growth, -1);
	spin_unlock(&budget->budgets->lock);
	growth->count = 0;
	growth->asked = 0;
}
