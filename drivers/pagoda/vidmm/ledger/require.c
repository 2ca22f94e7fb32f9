// SPDX-License-Identifier: GPL-2.0
/*
 * Residency lists: allocations that have to be resident while a client's jobs are executed,
 * each with the number of MAKE_RESIDENT calls for it that EVICT calls haven't undone.
 *
 * MAKE_RESIDENT or EVICT changes the counts of all of its allocations or of none (C147): all steps
 * that can fail come first. New entries have a count of 0, and are counted or removed before
 * pagoda_requirements.lock is dropped. The demand of all entries is kept as a sum, so that the
 * cost of a call doesn't depend on the length of the list.
 *
 * The functions here move no allocation. EVICT moves no allocation that is still on a list of any
 * client (&pagoda_bo.wish.required).
 */
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "allocation.h"
#include "client.h"
#include "events.h"
#include "internal.h"
#include "ledger.h"
#include "require.h"

/* Returns an empty residency list, or NULL if out of memory. */
struct pagoda_requirements *pagoda_requirements_create(void)
{
	struct pagoda_requirements *reqs = kzalloc(sizeof(*reqs), GFP_KERNEL_ACCOUNT);

	if (!reqs)
		return NULL;
	mutex_init(&reqs->lock);
	xa_init(&reqs->by_id);
	xa_init(&reqs->left);
	INIT_LIST_HEAD(&reqs->list);
	return reqs;
}

/* Frees a residency list, which has no entries any more; @reqs may be NULL. */
void pagoda_requirements_destroy(struct pagoda_requirements *reqs)
{
	if (!reqs)
		return;
	WARN_ON(!list_empty(&reqs->list));
	xa_destroy(&reqs->by_id);
	xa_destroy(&reqs->left);
	mutex_destroy(&reqs->lock);
	kfree(reqs);
}

struct pagoda_requirement *pagoda_require_find(struct pagoda_requirements *reqs,
					       const struct pagoda_bo *bo)
{
	lockdep_assert_held(&reqs->lock);
	return xa_load(&reqs->by_id, bo->id);
}

static int require_prepare_one(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_requirements *reqs = client->requirements;
	struct pagoda_requirement *req = pagoda_require_find(reqs, bo);
	int ret;

	if (req)
		return req->count == U32_MAX ? -EOVERFLOW : 0;
	req = kzalloc(sizeof(*req), GFP_KERNEL_ACCOUNT);
	if (!req)
		return -ENOMEM;
	INIT_LIST_HEAD(&req->entry);
	req->client = client;
	req->bo = bo;
	ret = xa_err(xa_store(&reqs->by_id, bo->id, req, GFP_KERNEL_ACCOUNT));
	if (ret)
		kfree(req);
	return ret;
}

/*
 * Frees the entries that require_prepare_one() made for allocations in @bos and that weren't
 * counted: their count is 0.
 */
static void require_unprepare(struct pagoda_requirements *reqs, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirement *req;
	u32 i;

	for (i = 0; i < count; i++) {
		req = pagoda_require_find(reqs, bos[i]);
		if (!req || req->count)
			continue;
		xa_erase(&reqs->by_id, bos[i]->id);
		kfree(req);
	}
}

static u64 require_excess(struct pagoda_requirements *reqs, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_demand demand = reqs->demand;
	u32 i;

	for (i = 0; i < count; i++)
		if (!pagoda_require_find(reqs, bos[i])->count)
			pagoda_demand_add(&demand, bos[i]);
	return pagoda_demand_misfit(bos[0]->vidmm, &demand);
}

static void require_count(struct pagoda_requirements *reqs, struct pagoda_requirement *req)
{
	if (req->count++)
		return;
	drm_gem_object_get(pagoda_bo_gem(req->bo));
	if (req->client == req->bo->client)
		req->bo->wish.owned = req;
	if (atomic_inc_return(&req->bo->wish.required) == 1)
		pagoda_wish_changed(req->bo);
	spin_lock(&req->bo->vidmm->required_lock);
	list_add_tail(&req->of_bo, &req->bo->wish.requirements);
	spin_unlock(&req->bo->vidmm->required_lock);
	pagoda_copy_required(req->bo);
	list_add_tail(&req->entry, &reqs->list);
	WRITE_ONCE(reqs->count, reqs->count + 1);
	pagoda_demand_add(&reqs->demand, req->bo);
}

/*
 * Moves an entry from the residency list to @gone. require_free() drops the entry's reference to
 * the allocation after @reqs was unlocked, because that reference may be the last.
 */
static void require_remove(struct pagoda_requirements *reqs, struct pagoda_requirement *req,
			   struct list_head *gone)
{
	xa_erase(&reqs->by_id, req->bo->id);
	if (req->bo->wish.owned == req)
		req->bo->wish.owned = NULL;
	list_move_tail(&req->entry, gone);
	WRITE_ONCE(reqs->count, reqs->count - 1);
	pagoda_demand_remove(&reqs->demand, req->bo);
	spin_lock(&req->bo->vidmm->required_lock);
	list_del(&req->of_bo);
	spin_unlock(&req->bo->vidmm->required_lock);
	pagoda_victims_user_left(req->bo, req->client);
	if (!atomic_dec_return(&req->bo->wish.required))
		pagoda_wish_changed(req->bo);
}

static void require_discount(struct pagoda_requirements *reqs, struct pagoda_requirement *req,
			     u32 times, bool unwritten, struct list_head *gone)
{
	req->count -= times;
	if (!req->count)
		require_remove(reqs, req, gone);
	pagoda_copy_released(req->bo, unwritten);
}

static void require_free(struct list_head *gone)
{
	struct pagoda_requirement *req, *next;

	list_for_each_entry_safe(req, next, gone, entry) {
		drm_gem_object_put(pagoda_bo_gem(req->bo));
		kfree(req);
	}
}

/*
 * Raises the counts of the first allocations in @bos, up to the first that isn't on the residency
 * list @reqs yet or whose count is U32_MAX. Returns how many counts were raised.
 */
static u32 require_again(struct pagoda_requirements *reqs, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirement *req;
	u32 i;

	for (i = 0; i < count; i++) {
		req = pagoda_require_find(reqs, bos[i]);
		if (!req || req->count == U32_MAX)
			break;
		req->count++;
	}
	return i;
}

static void require_not_again(struct pagoda_requirements *reqs, struct pagoda_bo **bos, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		pagoda_require_find(reqs, bos[i])->count--;
}

/*
 * Returns the bytes by which the client would exceed its budgets if it also wanted those of its own
 * allocations in @bos that it doesn't want yet: neither wanted (pagoda_wish_changed()) nor on its
 * residency list. Other clients' allocations don't count.
 */
static u64 require_denied(struct pagoda_client *client, struct pagoda_bo **bos, u32 count)
{
	u64 more[PAGODA_BUDGET_GROUPS] = {};
	u32 i;

	for (i = 0; i < count; i++) {
		const struct pagoda_budget_part *part = &bos[i]->part;

		if (bos[i]->client == client && part->prefers != PAGODA_BUDGET_GROUPS &&
		    !READ_ONCE(part->wanted) && !pagoda_require_find(client->requirements, bos[i]))
			more[part->prefers] += part->bytes;
	}
	return pagoda_budget_denied(&client->budget, more);
}

static int require_anew(struct pagoda_client *client, struct pagoda_bo **bos, u32 count, bool deny,
			u64 *bytes_to_trim)
{
	struct pagoda_requirements *reqs = client->requirements;
	int ret = 0;
	u32 i;

	if (deny)
		*bytes_to_trim = require_denied(client, bos, count);
	if (*bytes_to_trim)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++)
		ret = require_prepare_one(client, bos[i]);
	if (!ret)
		*bytes_to_trim = require_excess(reqs, bos, count);
	if (ret || *bytes_to_trim) {
		require_unprepare(reqs, bos, count);
		return ret ?: -ENOMEM;
	}
	for (i = 0; i < count; i++)
		require_count(reqs, pagoda_require_find(reqs, bos[i]));
	return 0;
}

static int require(struct pagoda_client *client, struct pagoda_bo **bos, u32 count, bool deny,
		   u64 *bytes_to_trim)
{
	struct pagoda_requirements *reqs = client->requirements;
	int ret = 0;
	u32 again;

	*bytes_to_trim = 0;
	mutex_lock(&reqs->lock);
	again = require_again(reqs, bos, count);
	if (again < count) {
		require_not_again(reqs, bos, again);
		ret = require_anew(client, bos, count, deny, bytes_to_trim);
	}
	mutex_unlock(&reqs->lock);
	return ret;
}

/**
 * pagoda_require() - Put allocations on a residency list, or raise their counts by 1
 * @client: Client
 * @bos: Allocations, each only once; the caller has references
 * @count: Number of allocations, not 0
 * @bytes_to_trim: Set: with -ENOMEM the bytes by which the client's list would exceed the device's
 *	memory, or 0 if the kernel had no memory for entries; else 0
 *
 * Context: May sleep and allocate.
 * Return: 0; -ENOMEM; -EOVERFLOW if a count is %U32_MAX; on failure no count has changed.
 */
int pagoda_require(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
		   u64 *bytes_to_trim)
{
	return require(client, bos, count, false, bytes_to_trim);
}

/**
 * pagoda_require_within() - Call pagoda_require(), but fail if that exceeds the client's budgets
 * @client: Client
 * @bos: Allocations, each only once; the caller has references
 * @count: Number of allocations, not 0
 * @bytes_to_trim: Set as by pagoda_require(); if budgets would be exceeded, to the bytes that the
 *	client would want beyond its budgets (C167)
 *
 * A call for allocations that all are on the list already never fails for a budget.
 *
 * Context: May sleep and allocate.
 * Return: 0; -ENOMEM, also if budgets would be exceeded; -EOVERFLOW if a count is %U32_MAX; on
 * failure no count has changed.
 */
int pagoda_require_within(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			  u64 *bytes_to_trim)
{
	return require(client, bos, count, true, bytes_to_trim);
}

/**
 * pagoda_require_release() - Lower the counts of allocations by 1; at 0 an allocation leaves the
 * list
 * @client: Client
 * @bos: Allocations, each only once; the caller has references
 * @count: Number of allocations
 * @unwritten: The client says that the content hasn't changed since the allocations were made
 *	resident, so that an eviction needs no copy if the allocation keeps one (C155)
 * @until: Queued jobs with smaller numbers (&pagoda_submit.number) still have the allocations made
 *	resident; 0 = no job is queued
 *
 * Context: May sleep, and allocate unless @until is 0.
 * Return: 0, -ENOENT if an allocation isn't on the client's list, or -ENOMEM; then no count has
 * changed.
 */
int pagoda_require_release(struct pagoda_client *client, struct pagoda_bo **bos, u32 count,
			   bool unwritten, u64 until)
{
	struct pagoda_requirements *reqs = client->requirements;
	LIST_HEAD(gone);
	int ret = 0;
	u32 i;

	mutex_lock(&reqs->lock);
	for (i = 0; i < count && !ret; i++)
		ret = pagoda_require_find(reqs, bos[i]) ? 0 : -ENOENT;
	for (i = 0; i < count && !ret && until; i++)
		ret = xa_err(xa_store(&reqs->left, bos[i]->id, xa_mk_value(until),
				      GFP_KERNEL_ACCOUNT));
	for (i = 0; i < count && !ret; i++)
		require_discount(reqs, pagoda_require_find(reqs, bos[i]), 1, unwritten, &gone);
	mutex_unlock(&reqs->lock);
	require_free(&gone);
	return ret;
}

/**
 * pagoda_require_take_back() - Undo a pagoda_require() because the call or its paging failed
 * @client: Client
 * @bos: Allocations that were given to pagoda_require()
 * @count: Number of allocations
 *
 * Skips allocations that EVICT or closing a handle has taken off the client's list since.
 *
 * Context: May sleep.
 */
void pagoda_require_take_back(struct pagoda_client *client, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirements *reqs = client->requirements;
	struct pagoda_requirement *req;
	LIST_HEAD(gone);
	u32 i;

	mutex_lock(&reqs->lock);
	for (i = 0; i < count; i++) {
		req = pagoda_require_find(reqs, bos[i]);
		if (req)
			require_discount(reqs, req, 1, false, &gone);
	}
	mutex_unlock(&reqs->lock);
	require_free(&gone);
}

/*
 * Removes an allocation, whatever its count, from a client's residency list, and from
 * &pagoda_requirements.left: queued jobs don't need it resident either. May sleep.
 */
void pagoda_require_forget(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_requirements *reqs = client->requirements;
	struct pagoda_requirement *req;
	LIST_HEAD(gone);

	if (!READ_ONCE(reqs->count) && xa_empty(&reqs->left))
		return;
	mutex_lock(&reqs->lock);
	xa_erase(&reqs->left, bo->id);
	req = pagoda_require_find(reqs, bo);
	if (req)
		require_discount(reqs, req, req->count, false, &gone);
	mutex_unlock(&reqs->lock);
	require_free(&gone);
}

/* Empties &pagoda_requirements.left, because no job of the client is queued any more. May sleep. */
void pagoda_require_purge(struct pagoda_client *client)
{
	struct pagoda_requirements *reqs = client->requirements;

	if (xa_empty(&reqs->left))
		return;
	mutex_lock(&reqs->lock);
	xa_destroy(&reqs->left);
	mutex_unlock(&reqs->lock);
}

/* Empties the residency list of a client that is closed. May sleep. */
void pagoda_require_forget_all(struct pagoda_client *client)
{
	struct pagoda_requirements *reqs = client->requirements;
	struct pagoda_requirement *req, *next;
	LIST_HEAD(gone);

	mutex_lock(&reqs->lock);
	list_for_each_entry_safe(req, next, &reqs->list, entry)
		require_discount(reqs, req, req->count, false, &gone);
	mutex_unlock(&reqs->lock);
	require_free(&gone);
}

/* Returns an allocation's count on a client's residency list; 0 = not on the list. May sleep. */
u32 pagoda_require_count(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_requirements *reqs = client->requirements;
	struct pagoda_requirement *req;
	u32 count;

	mutex_lock(&reqs->lock);
	req = pagoda_require_find(reqs, bo);
	count = req ? req->count : 0;
	mutex_unlock(&reqs->lock);
	return count;
}

/* Returns the number of clients that have an allocation on their residency lists. */
u32 pagoda_require_clients(const struct pagoda_bo *bo)
{
	KUNIT_STATIC_STUB_REDIRECT(pagoda_require_clients, bo);
	return atomic_read(&bo->wish.required);
}

/**
 * pagoda_require_left() - Report an eviction for want of room or to trim VRAM
 * @bo: Allocation, reservation held
 * @group: enum drm_pagoda_segment_group that the allocation leaves
 *
 * Reports EVICTED to all clients that have the allocation on their residency lists, before a
 * client can see that the allocation was evicted.
 *
 * Context: Any but interrupts; allocates nothing.
 */
void pagoda_require_left(struct pagoda_bo *bo, u32 group)
{
	struct pagoda_requirement *req;

	if (!pagoda_require_clients(bo))
		return;
	spin_lock(&bo->vidmm->required_lock);
	list_for_each_entry(req, &bo->wish.requirements, of_bo)
		pagoda_ears_evicted(&req->client->ears, group, bo->ttm.base.size);
	spin_unlock(&bo->vidmm->required_lock);
}

/**
 * pagoda_require_select() - Select the allocations of an array that are on a client's list
 * @client: Client
 * @bos: Array; allocations on the list are moved to the front and stay in order
 * @count: Number of allocations in @bos
 *
 * Context: May sleep.
 * Return: Number of allocations on the list.
 */
u32 pagoda_require_select(struct pagoda_client *client, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_requirements *reqs = client->requirements;
	u32 i, n = 0;

	mutex_lock(&reqs->lock);
	for (i = 0; i < count; i++) {
		if (!pagoda_require_find(reqs, bos[i]))
			continue;
		swap(bos[n], bos[i]);
		n++;
	}
	mutex_unlock(&reqs->lock);
	return n;
}
