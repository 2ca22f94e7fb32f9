// SPDX-License-Identifier: GPL-2.0
/* Budgets of clients by the rule in budget.h, and the usage of segments. */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/rbtree_augmented.h>
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
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		budgets->pool[group] = sizes[group] - sizes[group] / PAGODA_BUDGET_KERNEL;
}

/* Adds a client's budget, which is all zeros, to the device's budgets. */
void pagoda_budget_join(struct pagoda_budgets *budgets, struct pagoda_budget *budget)
{
	budget->budgets = budgets;
}

/* ---- What clients want ----------------------------------------------------------- */

static struct pagoda_budget_claim *claim_of(struct rb_node *node)
{
	return rb_entry_safe(node, struct pagoda_budget_claim, node);
}

static struct pagoda_budget_sum claim_sum(struct rb_node *node)
{
	return node ? claim_of(node)->all : (struct pagoda_budget_sum) {};
}

/*
 * Sets @claim->all to the sum of the claims in the tree below @claim, with @claim itself. Returns
 * true if @stops and nothing has changed.
 */
static bool claim_add_up(struct pagoda_budget_claim *claim, bool stops)
{
	struct pagoda_budget_sum left = claim_sum(claim->node.rb_left);
	struct pagoda_budget_sum right = claim_sum(claim->node.rb_right);
	const struct pagoda_budget_sum all = {
		.bytes = left.bytes + claim->bytes + right.bytes,
		.count = left.count + 1 + right.count,
	};

	if (stops && all.bytes == claim->all.bytes && all.count == claim->all.count)
		return true;
	claim->all = all;
	return false;
}

RB_DECLARE_CALLBACKS(static, claim_callbacks, struct pagoda_budget_claim, node, all, claim_add_up);

static void claim_insert(struct rb_root *root, struct pagoda_budget_claim *claim)
{
	struct rb_node **link = &root->rb_node, *parent = NULL;
	struct pagoda_budget_claim *each;

	while (*link) {
		parent = *link;
		each = claim_of(parent);
		each->all.bytes += claim->bytes;
		each->all.count++;
		link = claim->bytes < each->bytes ? &parent->rb_left : &parent->rb_right;
	}
	claim->all = (struct pagoda_budget_sum) { .bytes = claim->bytes, .count = 1 };
	rb_link_node(&claim->node, parent, link);
	rb_insert_augmented(&claim->node, root, &claim_callbacks);
}

/*
 * Called after a change of what a client wants or reserves: sets the client's claim on the group,
 * which is what the client wants beyond its reservation, but at most the size of the pool; a larger
 * claim would change no budget. Returns whether the claim has changed.
 */
static bool claim_update(struct pagoda_budget *budget, u32 group)
{
	struct pagoda_budgets *budgets = budget->budgets;
	struct pagoda_budget_claim *claim = &budget->claims[group];
	u64 bytes = min(budget_beyond(budget->wanted[group], budget->reservation[group]),
			budgets->pool[group]);

	lockdep_assert_held(&budgets->lock);
	if (bytes == claim->bytes)
		return false;
	if (claim->bytes)
		rb_erase_augmented(&claim->node, &budgets->claims[group], &claim_callbacks);
	claim->bytes = bytes;
	if (bytes)
		claim_insert(&budgets->claims[group], claim);
	return true;
}

static void budget_set_reservation(struct pagoda_budget *budget, u32 group, u64 bytes)
{
	lockdep_assert_held(&budget->budgets->lock);
	budget->budgets->reserved[group] -= budget->reservation[group];
	budget->budgets->reserved[group] += bytes;
	budget->reservation[group] = bytes;
	claim_update(budget, group);
}

/*
 * Drops a closed client's reservations. The client's allocations, which may outlive its file, go on
 * counting as used and wanted.
 */
void pagoda_budget_close(struct pagoda_budget *budget)
{
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		budget_set_reservation(budget, group, 0);
	spin_unlock(&budget->budgets->lock);
	budgets_changed(budget->budgets);
}

/* Ends a client's budget, after the last allocation charged to the client was freed. */
void pagoda_budget_leave(struct pagoda_budget *budget)
{
	u32 group;

	pagoda_budget_close(budget);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		WARN_ON(budget->wanted[group]);
}

/**
 * pagoda_budget_want() - Update whether an allocation is wanted
 * @budget: Budget of the client that is charged for the allocation
 * @part: &pagoda_bo.part of the allocation
 * @wants: Returns whether the allocation is wanted. Called under a spinlock: of several threads
 *	that change the result, the last to call this function finds all changes
 *
 * Context: Takes a spinlock; not in interrupts.
 */
void pagoda_budget_want(struct pagoda_budget *budget, struct pagoda_budget_part *part,
			bool (*wants)(const struct pagoda_budget_part *part))
{
	bool wanted, changed = false;

	if (part->prefers == PAGODA_BUDGET_GROUPS)
		return;
	spin_lock(&budget->budgets->lock);
	wanted = wants(part);
	if (wanted != part->wanted) {
		WRITE_ONCE(part->wanted, wanted);
		budget->wanted[part->prefers] += wanted ? part->bytes : -part->bytes;
		changed = claim_update(budget, part->prefers);
	}
	spin_unlock(&budget->budgets->lock);
	if (changed)
		budgets_changed(budget->budgets);
}

/* ---- What clients use of the segments --------------------------------------------- */

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
	spin_lock(&budget->budgets->lock);
	if (part->segment != PAGODA_BUDGET_SEGMENTS)
		atomic64_sub(part->bytes, &budget->segment_bytes[part->segment]);
	part->segment = segment;
	if (part->segment != PAGODA_BUDGET_SEGMENTS)
		atomic64_add(part->bytes, &budget->segment_bytes[part->segment]);
	spin_unlock(&budget->budgets->lock);
}

/*
 * Charges a client for @bytes of page tables in system memory, which the CPU writes: they count as
 * used and as wanted. Negative when such tables are freed. Takes a spinlock; not in interrupts.
 */
void pagoda_budget_charge_tables(struct pagoda_budget *budget, s64 bytes)
{
	const u32 group = DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL;
	bool changed;

	spin_lock(&budget->budgets->lock);
	atomic64_add(bytes, &budget->table_bytes);
	budget->wanted[group] += bytes;
	changed = claim_update(budget, group);
	spin_unlock(&budget->budgets->lock);
	if (changed)
		budgets_changed(budget->budgets);
}

/* ---- How a budget is found ------------------------------------------------------- */

static u64 budget_reserved_by_others(const struct pagoda_budget *budget, u32 group)
{
	return budget->budgets->reserved[group] - budget->reservation[group];
}

/*
 * Returns a client's budget of a group, in whole pages: the largest size that is left of the pool
 * without other clients' reservations, if each other client keeps its claim, but at most this size.
 *
 * A claim fits if the pool is enough for all claims when larger claims, and the budget, are cut to
 * its size. If a claim fits, so does each smaller one. The claims that fit are kept; the budget and
 * each of the larger claims get equal shares of the rest.
 */
static u64 budget_find(const struct pagoda_budget *budget, u32 group)
{
	const struct pagoda_budgets *budgets = budget->budgets;
	u64 pool = budget_beyond(budgets->pool[group], budget_reserved_by_others(budget, group));
	u64 own = budget->claims[group].bytes, need, most = 0;
	struct rb_node *node = budgets->claims[group].rb_node;
	struct pagoda_budget_sum all = claim_sum(node), kept = {}, here;

	lockdep_assert_held(&budgets->lock);
	while (node) {
		const struct pagoda_budget_claim *claim = claim_of(node);

		here = claim_sum(node->rb_left);
		here.bytes += kept.bytes;
		here.count += kept.count;
		/*
		 * Bytes needed if larger claims were cut to the size of @claim, and the budget was
		 * as large as @claim.
		 */
		need = here.bytes + claim->bytes * (all.count - here.count);
		need += budget_beyond(claim->bytes, own);
		if (need > pool) {
			node = node->rb_left;
			continue;
		}
		most = claim->bytes;
		kept.bytes = here.bytes + claim->bytes;
		kept.count = here.count + 1;
		node = node->rb_right;
	}
	if (own && own <= most) {
		kept.bytes -= own;
		kept.count--;
	}
	return round_down(div_u64(pool - kept.bytes, all.count - !!own - kept.count + 1),
			  PAGE_SIZE);
}

/*
 * Returns the size of the largest reservation that a client could make now, instead of its present
 * one: the reservations of all clients together may take at most half of the pool.
 */
static u64 budget_available(const struct pagoda_budget *budget, u32 group)
{
	return budget_beyond(budget->budgets->pool[group] / 2,
			     budget_reserved_by_others(budget, group));
}

/* ---- Queries and changes of a client's budget ------------------------------------ */

/**
 * pagoda_budget_info() - Report a client's budget and usage
 * @budget: The client's budget
 * @group: enum drm_pagoda_segment_group
 * @info: Filled
 *
 * Context: Takes a spinlock; not in interrupts.
 */
void pagoda_budget_info(struct pagoda_budget *budget, u32 group, struct pagoda_budget_info *info)
{
	spin_lock(&budget->budgets->lock);
	*info = (struct pagoda_budget_info) {
		.budget = budget_find(budget, group),
		.wanted = budget->wanted[group],
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
 * Context: Takes a spinlock; not in interrupts.
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

/**
 * pagoda_budget_excess() - Bytes that a client wants beyond its budgets
 * @budget: The client's budget
 *
 * Context: Takes a spinlock; not in interrupts.
 * Return: The sum over all groups.
 */
u64 pagoda_budget_excess(struct pagoda_budget *budget)
{
	u64 excess = 0;
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		excess += budget_beyond(budget->wanted[group], budget_find(budget, group));
	spin_unlock(&budget->budgets->lock);
	return excess;
}

/**
 * pagoda_budget_is_over() - Test whether a client's memory leaves VRAM before that of others
 * @budget: The client's budget
 *
 * A client that wants more than its budget, but has less, takes nothing from others. A client that
 * has more than its budget, but wants less, isn't over its budget either.
 *
 * Context: Takes a spinlock; not in interrupts.
 * Return: true if the client both wants and has more of the local group than its budget.
 */
bool pagoda_budget_is_over(struct pagoda_budget *budget)
{
	const u32 group = DRM_PAGODA_SEGMENT_GROUP_LOCAL;
	u64 least;
	bool over;

	spin_lock(&budget->budgets->lock);
	least = min(budget->wanted[group], pagoda_budget_usage(budget, group));
	over = least > budget_find(budget, group);
	spin_unlock(&budget->budgets->lock);
	return over;
}

/**
 * pagoda_budget_denied() - By how much a client would exceed its budgets if it wanted more (C167)
 * @budget: The client's budget
 * @more: Bytes that the client would want in addition, by group
 *
 * Context: Takes a spinlock; not in interrupts.
 * Return: Bytes that the client would want beyond its budgets, summed over the groups for which
 * @more isn't 0; 0 = the client may want @more.
 */
u64 pagoda_budget_denied(struct pagoda_budget *budget, const u64 *more)
{
	u64 excess = 0;
	u32 group;

	spin_lock(&budget->budgets->lock);
	for (group = 0; group < PAGODA_BUDGET_GROUPS; group++)
		if (more[group])
			excess += budget_beyond(budget->wanted[group] + more[group],
						budget_find(budget, group));
	spin_unlock(&budget->budgets->lock);
	return excess;
}
