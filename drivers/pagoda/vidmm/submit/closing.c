// SPDX-License-Identifier: GPL-2.0
/*
 * Handles of allocations: what opening and closing a handle does, also if jobs need the allocation
 * when its handle is closed.
 *
 * When a GPU address ends, the driver doesn't wait for jobs: a job that used the address would
 * fault. An allocation that jobs may need when its handle is closed therefore keeps its GPU
 * addresses and its count on the residency list until all jobs that the client had deferred by then
 * were armed or given up, and after that until the armed jobs that use the allocation have ended.
 * Jobs need
 *
 *	listed allocations		the job names them
 *	private allocations of their VM	every job of the VM has them resident
 *	the client's residency list	every job has resident what its VM maps (C152)
 *
 * The allocation isn't kept for jobs that are submitted after the handle was closed, because they
 * can't name it. If the client gets a new handle before addresses and count were taken away, they
 * stay.
 */
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/require.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/*
 * Jiffies until &pagoda_closing.work runs again if it couldn't enter a section, or the client has
 * too much paging in flight.
 */
#define CLOSING_PATIENCE	(HZ / 50 ?: 1)

/* A handle that was closed while jobs needed the allocation. */
struct closing_handle {
	struct list_head entry;		/* in &pagoda_closing.handles, by @until */
	struct pagoda_closing *closing;
	struct pagoda_bo *bo;		/* a reference */
	u64 until;			/* deferred jobs with smaller numbers may need @bo */
	struct dma_fence *users;	/* fence of all work that uses @bo, a reference; or NULL */
	struct dma_fence_cb callback;	/* on @users */
	bool looked;			/* @users was looked up, once no deferred job needed @bo */
};

/*
 * Takes an allocation off the client's residency list, unmaps it in all VMs of the client, and, if
 * it is private, notes that it has no handle any more.
 */
static void closing_forget(struct pagoda_client *client, struct pagoda_bo *bo)
{
	pagoda_require_forget(client, bo);
	pagoda_client_forget(client, bo);
	pagoda_vm_bo_opened(bo, false);
}

static void closing_free(struct closing_handle *handle)
{
	list_del(&handle->entry);
	if (handle->users)
		dma_fence_remove_callback(handle->users, &handle->callback);
	dma_fence_put(handle->users);
	drm_gem_object_put(pagoda_bo_gem(handle->bo));
	kfree(handle);
}

/* Returns the first closed handle if no deferred job needs its allocation any more; else NULL. */
static struct closing_handle *closing_due(struct pagoda_closing *closing)
{
	struct closing_handle *handle;
	struct pagoda_submit *first;

	lockdep_assert_held(&closing->lock);
	handle = list_first_entry_or_null(&closing->handles, struct closing_handle, entry);
	first = list_first_entry_or_null(&closing->jobs, struct pagoda_submit, held_up);
	return handle && (!first || first->number >= handle->until) ? handle : NULL;
}

static void closing_users_ended(struct dma_fence *fence, struct dma_fence_cb *callback)
{
	struct closing_handle *handle = container_of(callback, struct closing_handle, callback);

	mod_delayed_work(system_dfl_wq, &handle->closing->work, 0);
}

/*
 * Returns true if all work (armed jobs, paging, other devices) has ended that used a closed
 * handle's allocation when this function was first called for the handle. Else returns false, and
 * the work item runs again when this work has ended. Also returns true without memory to look up
 * the fences. May sleep and allocate.
 */
static bool closing_is_idle(struct closing_handle *handle)
{
	struct dma_resv *resv = handle->bo->ttm.base.resv;

	lockdep_assert_held(&handle->closing->lock);
	if (handle->users)
		return dma_fence_is_signaled(handle->users);
	if (handle->looked)
		return true;
	handle->looked = true;
	if (dma_resv_get_singleton(resv, DMA_RESV_USAGE_BOOKKEEP, &handle->users) || !handle->users)
		return true;
	return dma_fence_add_callback(handle->users, &handle->callback, closing_users_ended);
}

/*
 * Takes the first closed handle off &pagoda_closing.handles and returns it, if no job needs its
 * allocation any more; else returns NULL. Sets &pagoda_closing.forgetting to that allocation, or to
 * NULL.
 */
static struct closing_handle *closing_take(struct pagoda_closing *closing)
{
	struct closing_handle *handle;

	mutex_lock(&closing->lock);
	handle = closing_due(closing);
	if (handle && !closing_is_idle(handle))
		handle = NULL;
	if (handle)
		list_del_init(&handle->entry);
	closing->forgetting = handle ? handle->bo : NULL;
	mutex_unlock(&closing->lock);
	return handle;
}

/*
 * Work item: calls closing_forget() for closed handles whose allocation no job needs any more, each
 * in a section of its own, in the order in which they were closed. &pagoda_closing.lock isn't held
 * meanwhile, so that submissions of the client go on.
 */
void pagoda_closing_work(struct work_struct *work)
{
	struct pagoda_closing *closing = container_of(to_delayed_work(work),
						      struct pagoda_closing, work);
	struct pagoda_client *client = container_of(closing, struct pagoda_client, closing);
	struct closing_handle *handle;
	struct pagoda_caller caller;

	pagoda_kcov_begin(client->kcov);
	do {
		if (pagoda_caller_must_wait(closing->vidmm, client) ||
		    !pagoda_try_enter(closing->vidmm)) {
			queue_delayed_work(system_dfl_wq, &closing->work, CLOSING_PATIENCE);
			break;
		}
		pagoda_caller_begin(closing->vidmm, &caller, client);
		mutex_lock(&closing->forget_lock);
		handle = closing_take(closing);
		if (handle)
			closing_forget(client, handle->bo);
		mutex_unlock(&closing->forget_lock);
		pagoda_caller_end(closing->vidmm, &caller);
		pagoda_leave(closing->vidmm);
		if (handle)
			closing_free(handle);
	} while (handle);
	pagoda_kcov_end();
}

/**
 * pagoda_closing_begin_end() - Stop unmapping allocations one by one, because a client's file is
 * being closed
 * @client: Client
 *
 * When a handle is closed from now on, the allocation isn't unmapped, and the handle isn't entered
 * into &pagoda_closing.handles: unmapping would have to wait for jobs, and pagoda_vm_close() unmaps
 * all allocations of a VM at once.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_closing_begin_end(struct pagoda_client *client)
{
	mutex_lock(&client->closing.lock);
	client->closing.ends = true;
	mutex_unlock(&client->closing.lock);
}

/**
 * pagoda_closing_end() - End what a client did for queued jobs, once its contexts are gone
 * @client: Client, after pagoda_closing_begin_end()
 *
 * Frees the closed handles, and ends paging ahead of the engines.
 *
 * Context: May sleep. Outside of pagoda_enter() sections and reservations.
 */
void pagoda_closing_end(struct pagoda_client *client)
{
	struct pagoda_closing *closing = &client->closing;
	struct closing_handle *handle, *next;

	pagoda_ahead_end(client);
	mutex_lock(&closing->lock);
	list_for_each_entry_safe(handle, next, &closing->handles, entry) {
		pagoda_vm_bo_opened(handle->bo, false);
		closing_free(handle);
	}
	mutex_unlock(&closing->lock);
	/* The handles are freed, and with them the callbacks that queue the work item. */
	cancel_delayed_work_sync(&closing->work);
}

/*
 * Undoes pagoda_closing_hold_up(), if that was called, because the job was armed or is given up.
 * Queues the work item if no deferred job needs the allocation of the first closed handle any more.
 * May sleep.
 */
void pagoda_closing_let_go(struct pagoda_submit *submit)
{
	struct pagoda_vm *vm;
	struct pagoda_closing *closing;

	if (!submit->queued)
		return;
	vm = submit->context->vm;
	closing = &vm->client->closing;
	pagoda_offer_allow(submit->bos, submit->nr_queued);
	submit->nr_queued = 0;
	atomic_dec(&vm->queued);
	mutex_lock(&closing->lock);
	list_del(&submit->held_up);
	if (list_empty(&closing->jobs))
		pagoda_require_purge(vm->client);
	if (!closing->ends && closing_due(closing))
		queue_delayed_work(system_dfl_wq, &closing->work, 0);
	mutex_unlock(&closing->lock);
	submit->queued = false;
}

/*
 * Counts a deferred job in &pagoda_vm.queued and in &pagoda_bo.wish.queued of the allocations that
 * it lists, which can't be offered until pagoda_closing_let_go(); enters the job into
 * &pagoda_closing.jobs. May sleep. Returns 0; or -ENODATA if an allocation is offered, and then the
 * job is neither counted nor entered.
 */
int pagoda_closing_hold_up(struct pagoda_submit *submit)
{
	struct pagoda_vm *vm = submit->context->vm;
	struct pagoda_closing *closing = &vm->client->closing;
	int ret;

	mutex_lock(&closing->lock);
	submit->number = closing->next;
	WRITE_ONCE(closing->next, closing->next + 1);
	list_add_tail(&submit->held_up, &closing->jobs);
	mutex_unlock(&closing->lock);
	atomic_inc(&vm->queued);
	submit->queued = true;
	ret = pagoda_offer_prevent(submit->bos, submit->nr_bos);
	if (ret)
		pagoda_closing_let_go(submit);
	else
		submit->nr_queued = submit->nr_bos;
	return ret;
}

/*
 * Returns the number that the client's next deferred job will get; 0 if the client has no deferred
 * job now. A job that another thread just defers or makes may be taken into account or not. Any
 * context.
 */
u64 pagoda_closing_next(struct pagoda_client *client)
{
	struct pagoda_closing *closing = &client->closing;

	return list_empty_careful(&closing->jobs) ? 0 : READ_ONCE(closing->next);
}

/*
 * Returns true if a deferred job of the client may need the allocation, or an armed job or another
 * device uses it.
 */
static bool closing_is_needed(struct pagoda_client *client, struct pagoda_bo *bo)
{
	lockdep_assert_held(&client->closing.lock);
	if (pagoda_stream_is_awaited(client->closing.vidmm, bo->ttm.base.resv))
		return true;
	if (list_empty(&client->closing.jobs))
		return false;
	return pagoda_require_count(client, bo) || atomic_read(&bo->wish.queued) ||
	       (bo->vm.private_to && atomic_read(&bo->vm.private_to->queued));
}

/*
 * Adds an allocation, whose handle is being closed, to &pagoda_closing.handles. Returns false
 * without memory for that: then the allocation is unmapped although jobs need it. Caller holds
 * &pagoda_closing.lock.
 */
static bool closing_keep(struct pagoda_closing *closing, struct pagoda_bo *bo)
{
	struct closing_handle *handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&closing->lock);
	if (!handle)
		return false;
	drm_gem_object_get(pagoda_bo_gem(bo));
	handle->closing = closing;
	handle->bo = bo;
	handle->until = closing->next;
	list_add_tail(&handle->entry, &closing->handles);
	if (list_empty(&closing->jobs))
		queue_delayed_work(system_dfl_wq, &closing->work, 0);
	return true;
}

/*
 * Called when the client closes its handle of an allocation: calls closing_forget() now; or has
 * that called later if jobs need the allocation; or leaves the unmapping to pagoda_vm_close() if
 * &pagoda_closing.ends is set. May sleep and allocate; in a pagoda_enter() section, outside of
 * reservations.
 */
void pagoda_closing_handle(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_closing *closing = &client->closing;
	bool kept;

	/* The release of the file sets this; no ioctl that closes a handle runs then or later. */
	if (closing->ends) {
		pagoda_vm_bo_opened(bo, false);
		return;
	}
	mutex_lock(&closing->lock);
	kept = closing_is_needed(client, bo) && closing_keep(closing, bo);
	mutex_unlock(&closing->lock);
	if (!kept)
		closing_forget(client, bo);
}

/*
 * Removes an allocation from &pagoda_closing.handles when the client gets a handle again: GPU
 * addresses and the count on the residency list stay if they weren't taken away yet. If addresses
 * and count are being taken away, waits until that is done, so that addresses which the client maps
 * with the new handle stay. May sleep.
 */
void pagoda_closing_undo(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_closing *closing = &client->closing;
	struct closing_handle *handle, *next;
	bool forgetting;

	mutex_lock(&closing->lock);
	list_for_each_entry_safe(handle, next, &closing->handles, entry)
		if (handle->bo == bo)
			closing_free(handle);
	forgetting = closing->forgetting == bo;
	mutex_unlock(&closing->lock);
	if (!forgetting)
		return;
	mutex_lock(&closing->forget_lock);
	mutex_unlock(&closing->forget_lock);
}

/*
 * Makes @client the client that is charged for an imported allocation, unless a client is charged
 * already: an imported allocation has no client before its first handle.
 */
static void handle_set_client(struct pagoda_bo *bo, struct pagoda_client *client)
{
	u32 segment;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (!bo->client) {
		segment = bo->part.segment;
		bo->part.segment = PAGODA_BUDGET_SEGMENTS;
		kref_get(&client->kref);
		bo->client = client;
		if (bo->ttm.resource && bo->ttm.resource->mem_type == TTM_PL_TT)
			pagoda_hold_for(bo->vidmm, &pagoda_aperture_of(bo->ttm.resource)->held,
					client);
		pagoda_bo_charge(bo, segment);
		pagoda_wish_changed(bo);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

/**
 * pagoda_handle_open() - &drm_gem_object_funcs.open of allocations
 * @obj: Allocation
 * @file: File that gets a handle
 *
 * If the client closed a handle of the allocation while jobs needed it, GPU addresses and the count
 * on the residency list now stay (pagoda_closing_undo()). The client is charged for an imported
 * allocation for which no client is charged yet.
 *
 * Context: May sleep. Outside of reservations.
 * Return: 0; or -EPERM if the allocation is offered, or is private to a VM and has or had a handle.
 */
int pagoda_handle_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);
	int ret = -EPERM;

	/* An offered allocation can only be opened by a GEM_FLINK name: refuse new users. */
	if (!pagoda_bo_is_offered(bo))
		ret = pagoda_vm_bo_opened(bo, true);
	if (ret) {
		drm_dbg_driver(obj->dev, "allocation %llu can't be opened by name\n", bo->id);
		return ret;
	}
	pagoda_closing_undo(file->driver_priv, bo);
	if (bo->share.imported)
		handle_set_client(bo, file->driver_priv);
	/* &drm_gem_object.handle_count includes the handle that is being opened. */
	if (READ_ONCE(obj->handle_count) > 1)
		pagoda_copy_shared(bo);
	return 0;
}

/**
 * pagoda_handle_close() - &drm_gem_object_funcs.close of allocations
 * @obj: Allocation
 * @file: File that loses its last handle
 *
 * The allocation's GPU addresses and its count on the client's residency list end with the handle
 * (in WDDM: with the allocation) or, if jobs need the allocation, when none needs it any more. If
 * the client's file is being closed, addresses and count end with the VM and the residency list.
 *
 * Context: May sleep. Outside of pagoda_enter() sections and reservations.
 */
void pagoda_handle_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);

	if (READ_ONCE(bo->content.track))
		pagoda_track_stop(bo, file->driver_priv);
	pagoda_enter_anyway(bo->vidmm);
	pagoda_closing_handle(file->driver_priv, bo);
	pagoda_leave(bo->vidmm);
}
