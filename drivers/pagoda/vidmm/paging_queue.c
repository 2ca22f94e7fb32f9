// SPDX-License-Identifier: GPL-2.0
/*
 * Paging queues: MAKE_RESIDENT and EVICT as WDDM has them.
 *
 * A call changes the client's residency list (require.c), and that is all it does when
 * everything is where it shall be. Else it leaves a request with the client's pager, one
 * queue of work for all paging queues of the client: a request stands before those of lower
 * priority that nobody has begun, and behind all others, so that those of one paging queue
 * are made in order. A value is public when its request has been given to the GPU, as a point
 * of the queue's timeline: nobody waits for a fence that nobody works for, and the
 * timeline signals in order whatever becomes of the requests.
 *
 * What fails for want of memory is tried again, for a bounded time: others, with their
 * lists, may have been in the way. What can't be made then is told by the error of the point,
 * takes its counts back, and puts the client in error if it had to succeed.
 */
#include <linux/dma-fence-chain.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include "paging_queue.h"
#include "require.h"
#include "vm.h"

/* How long a request that finds no memory is repeated. */
#define PATIENCE	(HZ / 2)
#define PATIENCE_MUST	(5 * HZ)

/**
 * struct paging_request - What the pager has to do
 * @item: In the pager
 * @queue: Who gave it a value; a reference
 * @syncs: What it signals
 * @bos: Allocations, references
 * @count: Their number
 * @make: They shall be resident; else leave
 * @held: pagoda_offer_prevent() was called for @bos
 * @flags: DRM_PAGODA_RESIDENT_ or DRM_PAGODA_EVICT_ flags
 * @value: Its value
 * @growth: What it is to bring, as the client's budget counts it
 * @tried: It failed before
 * @give_up: Jiffies when it isn't tried again, if it was
 */
struct paging_request {
	struct pagoda_deferred_item item;
	struct pagoda_paging_queue *queue;
	struct pagoda_syncs syncs;
	struct pagoda_bo **bos;
	u32 count;
	bool make;
	bool held;
	u32 flags;
	u64 value;
	struct pagoda_budget_growth growth;
	bool tried;
	unsigned long give_up;
};

static struct paging_request *request_of(struct pagoda_deferred_item *item)
{
	return container_of(item, struct paging_request, item);
}

/* ---- Requests ------------------------------------------------------------------- */

/* Who waits for it asks for budgets next: once it is through, nothing is expected of it. */
static void request_settle(struct paging_request *request)
{
	pagoda_budget_arrived(&request->queue->client->budget, &request->growth);
}

/* Before the point signals: what waits for it may offer then. */
static void request_let_go(struct paging_request *request)
{
	if (request->held)
		pagoda_offer_allow(request->bos, request->count);
	request->held = false;
}

static void request_free(struct paging_request *request)
{
	request_settle(request);
	request_let_go(request);
	while (request->count)
		drm_gem_object_put(pagoda_bo_gem(request->bos[--request->count]));
	kvfree(request->bos);
	kvfree(request->growth.parts);
	pagoda_syncs_put(&request->syncs);
	pagoda_paging_queue_put(request->queue);
	kfree(request);
}

static int request_copy(struct paging_request *request, const struct pagoda_paging_args *args)
{
	request->bos = kvmemdup(args->bos, args->count * sizeof(*args->bos), GFP_KERNEL_ACCOUNT);
	if (!request->bos)
		return -ENOMEM;
	for (; request->count < args->count; request->count++)
		drm_gem_object_get(pagoda_bo_gem(request->bos[request->count]));
	return 0;
}

/* The point of the queue's timeline, the last entry; which one isn't known yet. */
static int request_add_point(struct pagoda_paging_queue *queue, struct pagoda_syncs *syncs)
{
	struct dma_fence_chain *chain = dma_fence_chain_alloc();
	int ret;

	if (!chain)
		return -ENOMEM;
	drm_syncobj_get(queue->syncobj);
	ret = pagoda_syncs_add(syncs, queue->syncobj, 0, chain);
	if (ret) {
		drm_syncobj_put(queue->syncobj);
		dma_fence_chain_free(chain);
	}
	return ret;
}

static struct pagoda_sync *request_point(struct paging_request *request)
{
	return &request->syncs.list[request->syncs.count - 1];
}

/* What is signalled is the request's when nothing can fail any more. */
static int request_fill(struct paging_request *request, struct pagoda_paging_args *args)
{
	int ret = request_copy(request, args);

	if (!ret)
		ret = pagoda_deferred_prepare(&request->item, &request->syncs);
	if (ret)
		return ret;
	ret = request_add_point(request->queue, &args->syncs);
	if (ret) {
		dma_fence_put(request->item.failure);
		return ret;
	}
	request->syncs = args->syncs;
	args->syncs = (struct pagoda_syncs) {};
	return 0;
}

static struct paging_request *request_create(struct pagoda_paging_queue *queue,
					     struct pagoda_paging_args *args, bool make)
{
	struct paging_request *request = kzalloc(sizeof(*request), GFP_KERNEL_ACCOUNT);

	if (!request)
		return NULL;
	pagoda_paging_queue_get(queue);
	request->queue = queue;
	request->make = make;
	request->flags = args->flags;
	request->item.priority = queue->priority;
	request->item.is_paging = true;
	if (!request_fill(request, args))
		return request;
	request_free(request);
	return NULL;
}

/* ---- The pager -------------------------------------------------------------------- */

static bool paging_lacks_memory(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

/* Whether what went wrong is one of the things that must not. */
static bool paging_is_fatal(u32 flags, bool lacks_memory)
{
	if (flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED)
		return true;
	return flags & DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER && lacks_memory;
}

static int request_make(struct paging_request *request, struct pagoda_bo **bos,
			struct dma_fence **fence)
{
	struct pagoda_client *client = request->queue->client;
	u32 count = pagoda_require_select(client, bos, request->count);
	u64 trim;
	int ret = 0;

	if (count)
		ret = pagoda_residency_make(request->queue->vidmm, bos, count, fence, &trim);
	return ret ?: pagoda_client_validate(client, fence);
}

/* The array may be put in another order. */
static int request_run(struct paging_request *request, struct dma_fence **fence)
{
	struct pagoda_bo **bos;
	int ret;

	bos = kvmemdup(request->bos, request->count * sizeof(*bos), GFP_KERNEL_ACCOUNT);
	if (!bos)
		return -ENOMEM;
	if (request->make)
		ret = request_make(request, bos, fence);
	else
		ret = pagoda_residency_evict(request->queue->vidmm, bos, request->count, fence);
	kvfree(bos);
	return ret;
}

static bool request_may_wait(struct paging_request *request)
{
	bool must = request->make && request->flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED;
	const struct pagoda_paging_queue *queue = request->queue;

	if (!request->tried)
		request->give_up = jiffies + (must ? queue->patience_must : queue->patience);
	request->tried = true;
	return time_before(jiffies, request->give_up);
}

/*
 * What lacks memory lacks it as a list. Anything else that goes wrong is the matter of an
 * entry: it costs the count of those that can't be made resident by themselves, either.
 */
static void request_take_back(struct paging_request *request, int error)
{
	struct pagoda_paging_queue *queue = request->queue;
	struct dma_fence *fence;
	u64 trim;
	u32 i;

	if (paging_lacks_memory(error)) {
		pagoda_require_take_back(queue->client, request->bos, request->count);
		return;
	}
	for (i = 0; i < request->count; i++) {
		struct pagoda_bo *bo = request->bos[i];

		if (!pagoda_require_count(queue->client, bo))
			continue;
		if (pagoda_residency_make(queue->vidmm, &bo, 1, &fence, &trim))
			pagoda_require_take_back(queue->client, &bo, 1);
		dma_fence_put(fence);
	}
}

/* Before the point exists: what waits for it looks when it does. */
static void paging_queue_note_failure(struct pagoda_paging_queue *queue, u64 value)
{
	spin_lock(&queue->failures_lock);
	queue->failures[queue->nr_failures++ % PAGODA_PAGING_FAILURES] = value;
	spin_unlock(&queue->failures_lock);
}

static void request_fail(struct paging_request *request, int error)
{
	struct pagoda_paging_queue *queue = request->queue;

	drm_dbg_driver(queue->vidmm->drm, "value %llu of a paging queue failed: %d\n",
		       request->value, error);
	request_settle(request);
	paging_queue_note_failure(queue, request->value);
	mutex_lock(&queue->lock);
	queue->error = error;
	queue->failed = request->value;
	mutex_unlock(&queue->lock);
	if (!request->make)
		return;
	request_take_back(request, error);
	request_let_go(request);
	if (paging_is_fatal(request->flags, paging_lacks_memory(error)))
		pagoda_client_fail(queue->client, error);
}

static int paging_make(struct pagoda_deferred *pager, struct pagoda_deferred_item *item)
{
	struct paging_request *request = request_of(item);
	struct dma_fence *fence = NULL;
	int ret = request_run(request, &fence);

	if (!paging_lacks_memory(ret))
		request_settle(request);
	if (!ret) {
		request_let_go(request);
		pagoda_syncs_signal(&request->syncs, fence);
	}
	dma_fence_put(fence);
	if (paging_lacks_memory(ret) && request_may_wait(request))
		return -EAGAIN;
	if (ret)
		request_fail(request, ret);
	else
		pagoda_deferred_kick(pager->vidmm);
	return ret;
}

static void paging_put(struct pagoda_deferred *pager, struct pagoda_deferred_item *item)
{
	request_free(request_of(item));
}

static const struct pagoda_deferred_ops paging_ops = {
	.make = paging_make,
	.put = paging_put,
};

/* The client's lock is held. */
static int paging_start(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	if (client->pager)
		return 0;
	client->pager = kzalloc(sizeof(*client->pager), GFP_KERNEL_ACCOUNT);
	if (!client->pager)
		return -ENOMEM;
	pagoda_deferred_init(client->pager, vidmm, &client->payer, &paging_ops, false);
	return 0;
}

/**
 * pagoda_client_drop_lists() - Nobody uses the client's paging queues and list any more
 * @client: Client
 *
 * What the pager has not begun is given up.
 *
 * Context: Sleeps. Outside of all locks that paging takes.
 */
void pagoda_client_drop_lists(struct pagoda_client *client)
{
	if (client->pager)
		pagoda_deferred_cancel(client->pager, -ECANCELED);
	pagoda_require_forget_all(client);
}

/* ---- Paging queues ------------------------------------------------------------------ */

/**
 * pagoda_paging_queue_create() - Make a paging queue
 * @vidmm: Manager
 * @client: Client
 * @priority: -1, 0 or 1, checked
 * @syncobj: Timeline of its values
 *
 * Context: May sleep and allocate.
 * Return: The queue, pagoda_paging_queue_put() it; or ERR_PTR(-ENOMEM).
 */
struct pagoda_paging_queue *pagoda_paging_queue_create(struct pagoda_vidmm *vidmm,
						       struct pagoda_client *client, int priority,
						       struct drm_syncobj *syncobj)
{
	struct pagoda_paging_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&client->lock);
	ret = paging_start(vidmm, client);
	mutex_unlock(&client->lock);
	if (ret) {
		kfree(queue);
		return ERR_PTR(ret);
	}
	kref_init(&queue->kref);
	mutex_init(&queue->lock);
	spin_lock_init(&queue->failures_lock);
	queue->vidmm = vidmm;
	queue->client = client;
	queue->priority = priority;
	queue->patience = PATIENCE;
	queue->patience_must = PATIENCE_MUST;
	drm_syncobj_get(syncobj);
	queue->syncobj = syncobj;
	return queue;
}

static void paging_queue_release(struct kref *kref)
{
	struct pagoda_paging_queue *queue = container_of(kref, struct pagoda_paging_queue, kref);

	drm_syncobj_put(queue->syncobj);
	mutex_destroy(&queue->lock);
	kfree(queue);
}

/**
 * pagoda_paging_queue_get() - Take a reference
 * @queue: Paging queue
 */
void pagoda_paging_queue_get(struct pagoda_paging_queue *queue)
{
	kref_get(&queue->kref);
}

/**
 * pagoda_paging_queue_put() - Drop a reference
 * @queue: Paging queue
 *
 * Context: May sleep.
 */
void pagoda_paging_queue_put(struct pagoda_paging_queue *queue)
{
	kref_put(&queue->kref, paging_queue_release);
}

/**
 * pagoda_paging_queue_of() - Whose values are the points of a timeline?
 * @client: Client
 * @syncobj: Timeline
 *
 * Context: May sleep.
 * Return: The client's paging queue, pagoda_paging_queue_put() it; or NULL.
 */
struct pagoda_paging_queue *pagoda_paging_queue_of(struct pagoda_client *client,
						   const struct drm_syncobj *syncobj)
{
	struct pagoda_paging_queue *queue;
	unsigned long id;

	if (xa_empty(&client->paging_queues))
		return NULL;
	mutex_lock(&client->lock);
	xa_for_each(&client->paging_queues, id, queue)
		if (queue->syncobj == syncobj)
			break;
	if (queue)
		pagoda_paging_queue_get(queue);
	mutex_unlock(&client->lock);
	return queue;
}

/**
 * pagoda_paging_queue_failed() - Did the request fail that has a value?
 * @queue: Paging queue
 * @value: Value whose point exists
 *
 * The timeline itself forgets errors of points that others follow.
 *
 * Context: Takes a spinlock.
 * Return: Whether it did and is one of the last %PAGODA_PAGING_FAILURES.
 */
bool pagoda_paging_queue_failed(struct pagoda_paging_queue *queue, u64 value)
{
	bool failed = false;
	u32 i;

	if (!READ_ONCE(queue->nr_failures))
		return false;
	spin_lock(&queue->failures_lock);
	for (i = 0; i < PAGODA_PAGING_FAILURES && !failed; i++)
		failed = value && queue->failures[i] == value;
	spin_unlock(&queue->failures_lock);
	return failed;
}

/**
 * pagoda_paging_queue_state() - What a queue was given, and what failed
 * @queue: Paging queue
 * @state: Filled but for the queue's id
 *
 * Context: May sleep.
 */
void pagoda_paging_queue_state(struct pagoda_paging_queue *queue,
			       struct drm_pagoda_paging_queue_state *state)
{
	*state = (struct drm_pagoda_paging_queue_state) { .queue = state->queue };
	mutex_lock(&queue->lock);
	state->error = -queue->error;
	state->failed = queue->failed;
	state->given = queue->given;
	mutex_unlock(&queue->lock);
	state->client_error = -READ_ONCE(queue->client->error);
}

/* Values and requests are in the same order. */
static void paging_queue_add(struct pagoda_paging_queue *queue, struct paging_request *request,
			     u64 *value)
{
	mutex_lock(&queue->lock);
	request->value = ++queue->given;
	request_point(request)->point = request->value;
	*value = request->value;
	pagoda_deferred_add(queue->client->pager, &request->item);
	mutex_unlock(&queue->lock);
}

/* @growth: what becomes resident, NULL: it leaves. The caller's again if it fails. */
static int paging_enqueue(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args,
			  const struct pagoda_budget_growth *growth)
{
	struct paging_request *request = request_create(queue, args, growth);

	if (!request)
		return -ENOMEM;
	if (growth) {
		request->growth = *growth;
		request->held = true;
	}
	paging_queue_add(queue, request, &args->value);
	return 0;
}

/*
 * All that may be brought to where it prefers to be. What is on the list is there, or on its
 * way, or was taken for others: it was asked for when it was put there.
 */
static void paging_growth_add(struct pagoda_budget_growth *growth, struct pagoda_client *client,
			      struct pagoda_bo *bo)
{
	u32 at = growth->count;

	if (bo->client != client || READ_ONCE(bo->ttm.pin_count))
		return;
	growth->parts[at] = &bo->part;
	growth->count++;
	if (pagoda_require_count(client, bo))
		return;
	swap(growth->parts[at], growth->parts[growth->asked]);
	growth->asked++;
}

static int paging_growth(struct pagoda_client *client, const struct pagoda_paging_args *args,
			 struct pagoda_budget_growth *growth)
{
	u32 i;

	*growth = (struct pagoda_budget_growth) {
		.parts = kvmalloc_array(args->count, sizeof(*growth->parts), GFP_KERNEL_ACCOUNT),
	};
	if (!growth->parts)
		return -ENOMEM;
	for (i = 0; i < args->count; i++)
		paging_growth_add(growth, client, args->bos[i]);
	return 0;
}

/**
 * pagoda_paging_is_made() - What a paging queue was asked for is as it shall be
 * @queue: Paging queue
 * @args: What; its list isn't looked at
 *
 * Context: May sleep.
 */
void pagoda_paging_is_made(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args)
{
	pagoda_syncs_signal(&args->syncs, NULL);
	pagoda_syncs_put(&args->syncs);
	pagoda_deferred_kick(queue->vidmm);
}

/* Answers 1 if nothing is left to do. */
static int paging_list_and_enqueue(struct pagoda_paging_queue *queue,
				   struct pagoda_paging_args *args,
				   const struct pagoda_budget_growth *growth)
{
	struct pagoda_client *client = queue->client;
	int ret = pagoda_require(client, args->bos, args->count, &args->bytes_to_trim);

	if (ret)
		return ret;
	if (pagoda_residency_is_made(client, args->bos, args->count, false))
		return 1;
	ret = paging_enqueue(queue, args, growth);
	if (ret)
		pagoda_require_take_back(client, args->bos, args->count);
	return ret;
}

/* Answers as paging_list_and_enqueue(), which has the growth if it answers 0. */
static int paging_expect(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args,
			 struct pagoda_budget_growth *growth)
{
	bool deny = args->flags & DRM_PAGODA_RESIDENT_DENY_OVERBUDGET;
	struct pagoda_budget *budget = &queue->client->budget;
	int ret;

	args->bytes_to_trim = pagoda_budget_expect(budget, growth, deny);
	if (args->bytes_to_trim)
		return -ENOMEM;
	ret = paging_list_and_enqueue(queue, args, growth);
	if (ret)
		pagoda_budget_arrived(budget, growth);
	return ret;
}

static int paging_try_unoffered(struct pagoda_paging_queue *queue,
				struct pagoda_paging_args *args)
{
	struct pagoda_budget_growth growth;
	int ret = paging_growth(queue->client, args, &growth);

	if (ret)
		return ret;
	ret = paging_expect(queue, args, &growth);
	if (ret)
		kvfree(growth.parts);
	return ret;
}

/* A request that is left with the pager keeps its entries from being offered. */
static int paging_try_make(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args)
{
	int ret = pagoda_offer_prevent(args->bos, args->count);

	if (ret)
		return ret;
	ret = paging_try_unoffered(queue, args);
	if (ret)
		pagoda_offer_allow(args->bos, args->count);
	if (ret > 0)
		pagoda_paging_is_made(queue, args);
	return min(ret, 0);
}

/**
 * pagoda_paging_make_resident() - Put allocations on the client's list
 * @queue: Paging queue
 * @args: What; its answers are filled
 *
 * Context: May sleep and allocate; waits for others only if too many requests are queued.
 * Outside of reservations.
 * Return: 0; -ENOMEM, with @args->bytes_to_trim if the list would be too long, or the client
 * over its budget that mustn't be; -EOVERFLOW; -ENODATA if one is offered, which is no error of
 * the client whatever the flags;
 * -ECANCELED if the client is in error; -ERESTARTSYS. Then no count has changed.
 */
int pagoda_paging_make_resident(struct pagoda_paging_queue *queue,
				struct pagoda_paging_args *args)
{
	struct pagoda_client *client = queue->client;
	int ret;

	args->value = 0;
	args->bytes_to_trim = 0;
	if (READ_ONCE(client->error))
		return -ECANCELED;
	ret = pagoda_deferred_wait_room(client->pager, DRM_PAGODA_MAX_QUEUED_PAGING);
	if (ret)
		return ret;
	ret = paging_try_make(queue, args);
	if (ret && ret != -ENODATA && paging_is_fatal(args->flags, args->bytes_to_trim))
		pagoda_client_fail(client, ret);
	return ret;
}

/* Does anything have to leave because of this? */
static bool paging_must_leave(const struct pagoda_paging_args *args)
{
	u32 i;

	if (args->flags & DRM_PAGODA_EVICT_ONLY_IF_NECESSARY)
		return false;
	for (i = 0; i < args->count; i++)
		if (!pagoda_require_clients(args->bos[i]))
			return true;
	return false;
}

/*
 * An allocation that no client requires any more doesn't come back once its place was needed.
 * Another client that just now requires it is counted first, and makes it resident then: if that
 * came before it was released here, the count is found.
 */
static void paging_let_go(const struct pagoda_paging_args *args)
{
	u32 i;

	for (i = 0; i < args->count; i++) {
		struct pagoda_bo *bo = args->bos[i];

		if (pagoda_require_clients(bo))
			continue;
		WRITE_ONCE(bo->released, true);
		/* Pairs with pagoda_bo_set_resident(). */
		smp_mb();
		if (pagoda_require_clients(bo))
			WRITE_ONCE(bo->released, false);
	}
}

/**
 * pagoda_paging_evict() - Take allocations from the client's list
 * @queue: Paging queue
 * @args: What; its answers are filled
 *
 * If there is no memory for the request they stay until their place is needed, as they may
 * anyway.
 *
 * Context: May sleep and allocate; waits for others only if too many requests are queued.
 * Outside of reservations.
 * Return: 0; -ENOENT if one of them isn't on the list; -ERESTARTSYS. Then no count has
 * changed.
 */
int pagoda_paging_evict(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args)
{
	struct pagoda_client *client = queue->client;
	int ret;

	args->value = 0;
	args->bytes_to_trim = 0;
	ret = pagoda_deferred_wait_room(client->pager, DRM_PAGODA_MAX_QUEUED_PAGING);
	if (!ret)
		ret = pagoda_require_release(client, args->bos, args->count,
					     args->flags & DRM_PAGODA_EVICT_NOT_WRITTEN_TO);
	if (ret)
		return ret;
	paging_let_go(args);
	if (!paging_must_leave(args) || paging_enqueue(queue, args, NULL))
		pagoda_paging_is_made(queue, args);
	args->bytes_to_trim = pagoda_budget_excess(&client->budget);
	return 0;
}
