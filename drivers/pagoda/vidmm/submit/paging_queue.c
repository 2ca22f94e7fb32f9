// SPDX-License-Identifier: GPL-2.0
/*
 * Paging queues: MAKE_RESIDENT and EVICT with WDDM's semantics.
 *
 * A call changes the client's residency list (require.c). If nothing has to move now, the call
 * is done. Else the call queues a request for the client's pager, which is one queue of work for
 * all paging queues of the client. The pager runs requests one at a time, by priority, then in the
 * order of arrival: those of one paging queue run in order. A request that waits may be overtaken
 * by one of higher priority. Each request has a value. The value becomes a point of the paging
 * queue's timeline syncobj when the request's paging operations are emitted, or when the request
 * has failed: every fence that can be waited for has work behind it, and the timeline signals in
 * order even if requests fail.
 *
 * A request of EVICT first waits, outside of sections, for the jobs that use its allocations. An
 * allocation that new jobs use after the wait stays in place until that place is needed.
 *
 * A request that fails for want of memory is repeated when jobs that may be in the way have ended,
 * and then for a bounded time, because of other clients' residency lists: each time that memory was
 * freed or a job has ended, and once more at the end. A request that can't fit, whatever leaves,
 * isn't repeated, unless it has to succeed (MUST_SUCCEED): then the end of a pin may help. A
 * request that fails for good sets the error of its point. A failed MAKE_RESIDENT also takes back
 * counts that the call added to the residency list (request_take_back()), and puts the client in
 * error if it had to succeed.
 */
#include <linux/dma-fence-chain.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include "core/core.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/require.h"
#include "vidmm/residency/residency.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "paging_queue.h"
#include "submit.h"

/*
 * Jiffies for which a request that finds no memory is repeated, without and with MUST_SUCCEED. The
 * time begins with the first failed attempt after which the request has no jobs to wait for.
 */
#define PATIENCE	(HZ / 2)
#define PATIENCE_MUST	(5 * HZ)

/* A MAKE_RESIDENT or EVICT that is queued for the pager. */
struct paging_request {
	struct pagoda_deferred_item item;
	struct pagoda_paging_queue *queue;	/* a reference */
	struct pagoda_syncs syncs;
	struct pagoda_bo **bos;			/* references */
	u32 count;
	bool make;				/* MAKE_RESIDENT, else EVICT */
	bool held;				/* pagoda_offer_prevent() was called for @bos */
	u32 flags;				/* DRM_PAGODA_RESIDENT_* or DRM_PAGODA_EVICT_* */
	u64 value;				/* point of the queue's timeline */
	bool tried;				/* an attempt found no memory */
	bool misfits;				/* last attempt: doesn't fit, whatever leaves */
	unsigned long give_up;			/* jiffies at which repetitions end; 0 = not set */
	u64 releases;				/* pagoda_vidmm.releases after the last attempt */
	u32 idle;				/* EVICT: number of @bos waited for so far */
	struct dma_fence *users;		/* fence that the next attempt waits for, or NULL */
};

static struct paging_request *request_of(struct pagoda_deferred_item *item)
{
	return container_of(item, struct paging_request, item);
}

/* ---- Requests: queued MAKE_RESIDENT and EVICT ----------------------------------- */

/*
 * Lets the allocations of a request be offered again. Called before the request's point gets a
 * fence, because a thread that waits for the point may offer the allocations next.
 */
static void request_let_go(struct paging_request *request)
{
	if (request->held)
		pagoda_offer_allow(request->bos, request->count);
	request->held = false;
}

static void request_free(struct paging_request *request)
{
	request_let_go(request);
	while (request->count)
		drm_gem_object_put(pagoda_bo_gem(request->bos[--request->count]));
	kvfree(request->bos);
	dma_fence_put(request->users);
	pagoda_syncs_put(&request->syncs);
	pagoda_paging_queue_put(request->queue);
	kfree(request);
}

/*
 * Adds a point of @queue->syncobj to the end of @syncs; paging_enqueue() fills in the point's
 * value. Returns 0 or a negative errno.
 */
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

/*
 * Copies @args->bos to the request, with references; after the last step that can fail, moves
 * @args->syncs to the request. Returns 0 or a negative errno.
 */
static int request_fill(struct paging_request *request, struct pagoda_paging_args *args)
{
	int ret;

	request->bos = kvmemdup(args->bos, args->count * sizeof(*args->bos), GFP_KERNEL_ACCOUNT);
	if (!request->bos)
		return -ENOMEM;
	for (; request->count < args->count; request->count++)
		drm_gem_object_get(pagoda_bo_gem(request->bos[request->count]));
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

/* ---- The pager: worker of all paging queues of a client --------------------------- */

static bool paging_lacks_memory(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

/*
 * Returns true if failure of a MAKE_RESIDENT with @flags puts the client in error: with
 * MUST_SUCCEED always; with CANT_TRIM_FURTHER if @lacks_memory.
 */
static bool paging_is_fatal(u32 flags, bool lacks_memory)
{
	if (flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED)
		return true;
	return flags & DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER && lacks_memory;
}

/*
 * Does the paging that the request asks for, on a copy of @request->bos, which callees reorder;
 * MAKE_RESIDENT also makes mappings valid. The caller has set *@fence to NULL; *@fence receives the
 * fence behind the paging, if there is any, or with -EINPROGRESS the fence to wait for before the
 * next try. Returns 0 or a negative errno; -ENOMEM with @request->misfits set if a MAKE_RESIDENT
 * doesn't fit, whatever leaves.
 */
static int request_run(struct paging_request *request, struct dma_fence **fence)
{
	struct pagoda_client *client = request->queue->client;
	struct pagoda_vidmm *vidmm = request->queue->vidmm;
	u32 count = request->count;
	struct pagoda_bo **bos;
	int ret = 0;
	u64 trim;

	bos = kvmemdup(request->bos, request->count * sizeof(*bos), GFP_KERNEL_ACCOUNT);
	if (!bos)
		return -ENOMEM;
	if (request->make) {
		count = pagoda_require_select(client, bos, count);
		if (count)
			ret = pagoda_residency_make(vidmm, bos, count, fence, &trim);
		if (!ret)
			ret = pagoda_room_later(fence, pagoda_client_validate(client, fence));
	} else {
		ret = pagoda_residency_evict(vidmm, bos, count, fence);
	}
	if (!ret)
		ret = pagoda_residency_and_others(request->bos, request->count, fence);
	if (!ret && request->make)
		pagoda_residency_note(bos, count);
	kvfree(bos);
	request->misfits = ret == -ENOSPC;
	return request->misfits ? -ENOMEM : ret;
}

/*
 * Returns true if a request that found no memory is to be repeated. After the first attempt, if
 * jobs may be in the way, sets @request->users: the request is repeated when these have ended. In
 * all other cases sets @request->give_up, unless it is set: the request is repeated until then.
 */
static bool request_may_wait(struct paging_request *request)
{
	bool must = request->make && request->flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED;
	const struct pagoda_paging_queue *queue = request->queue;

	if (request->misfits && !must)
		return false;
	request->releases = atomic64_read(&queue->vidmm->releases);
	if (!request->tried) {
		request->users = pagoda_room_blockers(queue->vidmm, queue->client);
		request->tried = true;
		if (request->users)
			return true;
	}
	if (!request->give_up)
		request->give_up = jiffies + (must ? queue->patience_must : queue->patience) ?: 1;
	return time_before(jiffies, request->give_up);
}

/*
 * Takes back counts that a failed MAKE_RESIDENT added to the residency list: for lack of memory
 * those of all its allocations; after any other error, which single allocations cause, only those
 * of allocations that can't be made resident even alone.
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
		else
			pagoda_residency_note(&bo, 1);
		dma_fence_put(fence);
	}
}

static void request_fail(struct paging_request *request, int error)
{
	struct pagoda_paging_queue *queue = request->queue;

	drm_dbg_driver(queue->vidmm->drm, "value %llu of a paging queue failed: %d\n",
		       request->value, error);
	/*
	 * Store the value of the failed request before its point gets a fence:
	 * paging_queue_failed() then finds the value for any waiter on the point.
	 */
	spin_lock(&queue->failures_lock);
	queue->failures[queue->nr_failures++ % PAGODA_PAGING_FAILURES] = request->value;
	spin_unlock(&queue->failures_lock);
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

/*
 * Returns true if it is too early to repeat a request that found no memory: @request->give_up isn't
 * reached, and since the last attempt no job has ended and no memory was freed or unpinned.
 */
static bool request_is_vain(const struct paging_request *request)
{
	return request->give_up && time_before(jiffies, request->give_up) &&
	       request->releases == atomic64_read(&request->queue->vidmm->releases);
}

static int paging_make(struct pagoda_deferred *pager, struct pagoda_deferred_item *item)
{
	struct paging_request *request = request_of(item);
	struct dma_fence *fence = NULL;
	int ret;

	if (request_is_vain(request))
		return -EAGAIN;
	ret = request_run(request, &fence);
	if (!ret) {
		request_let_go(request);
		pagoda_syncs_signal(pager->vidmm, &request->syncs, fence);
	}
	if (ret == -EINPROGRESS) {
		request->users = fence;
		return -EAGAIN;
	}
	dma_fence_put(fence);
	if (paging_lacks_memory(ret) && request_may_wait(request))
		return -EAGAIN;
	if (ret)
		request_fail(request, ret);
	return ret;
}

/*
 * Returns true if @request->users is NULL, or has signalled and is dropped. Else has the pager run
 * again when the fence signals.
 */
static bool request_is_alone(struct pagoda_deferred *pager, struct paging_request *request)
{
	if (request->users && !pagoda_deferred_is_signalled(pager, request->users))
		return false;
	dma_fence_put(request->users);
	request->users = NULL;
	return true;
}

/*
 * &pagoda_deferred_ops.ready of the pager: returns true if the fence has signalled that the next
 * attempt waits for, and, for EVICT, if the work has ended that uses the allocations: each
 * allocation's fences are looked up once, when those of the allocations before it have signalled.
 * If there is no memory to look up an allocation's fences, its work isn't waited for.
 */
static bool paging_ready(struct pagoda_deferred *pager, struct pagoda_deferred_item *item)
{
	struct paging_request *request = request_of(item);
	struct dma_resv *resv;

	if (!request_is_alone(pager, request))
		return false;
	while (!request->make && request->idle < request->count) {
		resv = request->bos[request->idle++]->ttm.base.resv;
		if (dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, &request->users))
			request->users = NULL;
		if (!request_is_alone(pager, request))
			return false;
	}
	return true;
}

static void paging_put(struct pagoda_deferred *pager, struct pagoda_deferred_item *item)
{
	request_free(request_of(item));
}

static const struct pagoda_deferred_ops paging_ops = {
	.ready = paging_ready,
	.make = paging_make,
	.put = paging_put,
};

/**
 * pagoda_client_drop_lists() - Stop the pager of a client and empty the client's residency list
 * @client: Client that uses its paging queues and residency list no more
 *
 * A request that the pager is executing now may still be done; all others, also those that were
 * tried before, end with -ECANCELED.
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

/*
 * &pagoda_sync_source.failed of a paging queue. Returns true if the request with @value is among
 * the last PAGODA_PAGING_FAILURES requests that failed. The fences of the timeline don't tell: the
 * error of a point is lost when the timeline gets another point.
 */
static bool paging_queue_failed(struct pagoda_sync_source *source, u64 value)
{
	struct pagoda_paging_queue *queue =
		container_of(source, struct pagoda_paging_queue, source);
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

/* &pagoda_sync_source.put of a paging queue: drops a reference to the queue. */
static void paging_queue_put(struct pagoda_sync_source *source)
{
	pagoda_paging_queue_put(container_of(source, struct pagoda_paging_queue, source));
}

/**
 * pagoda_paging_queue_create() - Create a paging queue
 * @vidmm: Manager
 * @client: Client
 * @priority: -1, 0 or 1, checked
 * @syncobj: Timeline of the queue's values; the queue takes its own reference
 *
 * Context: May sleep and allocate. Takes the client's lock.
 * Return: The queue, to be released with pagoda_paging_queue_put(); or ERR_PTR(-ENOMEM).
 */
struct pagoda_paging_queue *pagoda_paging_queue_create(struct pagoda_vidmm *vidmm,
						       struct pagoda_client *client, int priority,
						       struct drm_syncobj *syncobj)
{
	struct pagoda_paging_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);
	struct pagoda_deferred *pager;

	if (!queue)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&client->lock);
	pager = client->pager;
	if (!pager) {
		pager = kzalloc(sizeof(*pager), GFP_KERNEL_ACCOUNT);
		if (pager)
			pagoda_deferred_init(pager, vidmm, &client->payer, &paging_ops, false);
		client->pager = pager;
	}
	mutex_unlock(&client->lock);
	if (!pager) {
		kfree(queue);
		return ERR_PTR(-ENOMEM);
	}
	queue->source.failed = paging_queue_failed;
	queue->source.put = paging_queue_put;
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

void pagoda_paging_queue_get(struct pagoda_paging_queue *queue)
{
	kref_get(&queue->kref);
}

/* Drops a reference; the last one frees the queue. May sleep. */
void pagoda_paging_queue_put(struct pagoda_paging_queue *queue)
{
	kref_put(&queue->kref, paging_queue_release);
}

/**
 * pagoda_paging_queue_of() - Find the client's paging queue that a timeline belongs to
 * @client: Client
 * @syncobj: Timeline syncobj
 *
 * Context: May sleep. Takes the client's lock.
 * Return: &pagoda_paging_queue.source of the queue, with a reference to the queue; or NULL.
 */
struct pagoda_sync_source *pagoda_paging_queue_of(struct pagoda_client *client,
						  const struct drm_syncobj *syncobj)
{
	struct pagoda_paging_queue *queue;
	unsigned long id;

	if (xa_empty(&client->objects[PAGODA_OBJECT_PAGING_QUEUE]))
		return NULL;
	mutex_lock(&client->lock);
	xa_for_each(&client->objects[PAGODA_OBJECT_PAGING_QUEUE], id, queue)
		if (queue->syncobj == syncobj)
			break;
	if (queue)
		pagoda_paging_queue_get(queue);
	mutex_unlock(&client->lock);
	return queue ? &queue->source : NULL;
}

/**
 * pagoda_paging_queue_state() - Get a paging queue's last value, last failure, and the client's
 * error
 * @queue: Paging queue
 * @state: All members are filled in but the id, @queue, which the caller has set
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

/*
 * Queues a request for the pager: MAKE_RESIDENT if @make, else EVICT. Sets @args->value. Returns 0
 * or -ENOMEM.
 */
static int paging_enqueue(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args,
			  bool make)
{
	struct paging_request *request = request_create(queue, args, make);

	if (!request)
		return -ENOMEM;
	request->held = make;
	/* With this lock held, requests get into the pager in the order of their values. */
	mutex_lock(&queue->lock);
	request->value = ++queue->given;
	request->syncs.list[request->syncs.count - 1].point = request->value;
	args->value = request->value;
	pagoda_deferred_add(queue->client->pager, &request->item);
	mutex_unlock(&queue->lock);
	return 0;
}

/**
 * pagoda_paging_is_made() - Signal the syncs of a call for which the pager has nothing to do
 * @queue: Paging queue
 * @args: The call; @args->syncs is signalled and released
 *
 * Context: May sleep.
 */
void pagoda_paging_is_made(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args)
{
	pagoda_syncs_signal(queue->vidmm, &args->syncs, NULL);
	pagoda_syncs_put(&args->syncs);
}

/*
 * Adds allocations, for which the caller has prevented OFFER, to the residency list and queues a
 * request. Returns 1, without a request, if the allocations are resident already; else 0 or a
 * negative errno, as pagoda_paging_make_resident() says.
 */
static int paging_try_unoffered(struct pagoda_paging_queue *queue,
				struct pagoda_paging_args *args)
{
	bool must = args->flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED;
	struct pagoda_client *client = queue->client;
	u64 trim;
	int ret;

	if (args->flags & DRM_PAGODA_RESIDENT_DENY_OVERBUDGET)
		ret = pagoda_require_within(client, args->bos, args->count, &args->bytes_to_trim);
	else
		ret = pagoda_require(client, args->bos, args->count, &args->bytes_to_trim);
	if (ret)
		return ret;
	if (pagoda_residency_is_made(client, args->bos, args->count, false))
		return 1;
	ret = pagoda_residency_check(queue->vidmm, args->bos, args->count, &trim);
	if (ret == -ENOSPC && !must) {
		args->bytes_to_trim = trim;
		ret = -ENOMEM;
	} else {
		ret = paging_enqueue(queue, args, true);
	}
	if (ret)
		pagoda_require_take_back(client, args->bos, args->count);
	return ret;
}

/*
 * Prevents OFFER of the allocations and calls paging_try_unoffered(). If that queues a request,
 * OFFER stays prevented until the request is done. If the allocations are resident already, signals
 * @args->syncs. Returns 0 or a negative errno.
 */
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
 * pagoda_paging_make_resident() - Add allocations to the client's residency list (MAKE_RESIDENT)
 * @queue: Paging queue
 * @args: Allocations, flags and syncs; @args->value and @args->bytes_to_trim are filled
 *
 * @args->value is 0 if the allocations are resident already.
 *
 * Context: May sleep and allocate; waits for other requests only if too many are queued. Outside of
 * reservations.
 * Return: 0; -ENOMEM, with @args->bytes_to_trim not 0 if the list, or @args->bos together with
 * pinned allocations, would exceed the device's memory or, with DENY_OVERBUDGET, the client would
 * exceed its budget; -EOVERFLOW if a count would overflow; -ENODATA if an allocation is offered;
 * -ECANCELED if the client is in error; -ERESTARTSYS. After an error no count has changed. The
 * client is put in error by -ENOMEM and -EOVERFLOW with MUST_SUCCEED, and by -ENOMEM with
 * CANT_TRIM_FURTHER if @args->bytes_to_trim isn't 0.
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

/*
 * Returns true if EVICT has to queue a request, because an allocation is on no client's residency
 * list any more; always false with ONLY_IF_NECESSARY.
 */
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
 * Sets &pagoda_bo.wish.released of allocations that are on no client's residency list any more:
 * these don't count as wanted, and promotion doesn't bring them back once they were evicted. A
 * thread that makes an allocation resident meanwhile first raises &pagoda_bo.wish.required, then
 * clears the flag: if the thread clears the flag before it is set here, the second
 * pagoda_require_clients() finds the raised count, and the flag is cleared here again.
 */
static void paging_let_go(const struct pagoda_paging_args *args)
{
	u32 i;

	for (i = 0; i < args->count; i++) {
		struct pagoda_bo *bo = args->bos[i];

		if (pagoda_require_clients(bo))
			continue;
		WRITE_ONCE(bo->wish.released, true);
		/* This barrier pairs with that in pagoda_bo_set_resident(). */
		smp_mb();
		if (pagoda_require_clients(bo))
			WRITE_ONCE(bo->wish.released, false);
		pagoda_wish_changed(bo);
	}
}

/**
 * pagoda_paging_evict() - Remove allocations from the client's residency list (EVICT)
 * @queue: Paging queue
 * @args: Allocations, flags and syncs; @args->value and @args->bytes_to_trim are filled
 *
 * If there is no memory for a request, 0 is returned all the same, and the allocations stay in
 * place until their VRAM is needed, as the rules of EVICT permit anyway.
 *
 * Context: May sleep and allocate; waits for other requests only if too many are queued. Outside of
 * reservations.
 * Return: 0; -ENOENT if an allocation isn't on the list; -ENOMEM; -ERESTARTSYS. After an error no
 * count has changed.
 */
int pagoda_paging_evict(struct pagoda_paging_queue *queue, struct pagoda_paging_args *args)
{
	struct pagoda_client *client = queue->client;
	int ret;

	args->value = 0;
	args->bytes_to_trim = 0;
	ret = pagoda_deferred_wait_room(client->pager, DRM_PAGODA_MAX_QUEUED_PAGING);
	if (ret)
		return ret;
	ret = pagoda_require_release(client, args->bos, args->count,
				     args->flags & DRM_PAGODA_EVICT_NOT_WRITTEN_TO,
				     pagoda_closing_next(client));
	if (ret)
		return ret;
	paging_let_go(args);
	if (!paging_must_leave(args) || paging_enqueue(queue, args, false))
		pagoda_paging_is_made(queue, args);
	args->bytes_to_trim = pagoda_budget_excess(&client->budget);
	return 0;
}
