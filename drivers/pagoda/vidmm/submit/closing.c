// SPDX-License-Identifier: GPL-2.0
/*
 * Handles that are closed while jobs that are held up need the allocation.
 *
 * Paging waits for a job that was armed before it takes away what the job may use. A job that is
 * held up has no fence that paging could wait for: what the job needs keeps its addresses and its
 * place on the residency list until all jobs that were held up when the handle was closed have
 * been armed, or given up. From then on the stream's order does the rest.
 *
 *	listed by one of them			the job names it
 *	private to the VM of one of them	every job of the VM has it resident
 *	on the client's residency list		so has every job whose VM shows it (C152)
 *
 * All that is asked for when it is closed: no other job can name it any more. A client that gets
 * a handle of it again before has what it had.
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
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/* Time until it is tried again, in front of a rebuild of the device. */
#define CLOSING_PATIENCE	(HZ / 50 ?: 1)

/**
 * struct closing_handle - A handle that was closed
 * @entry: In &pagoda_closing.handles, by @until
 * @bo: Its allocation, a reference
 * @until: Jobs with smaller numbers may need it
 */
struct closing_handle {
	struct list_head entry;
	struct pagoda_bo *bo;
	u64 until;
};

static struct pagoda_client *closing_client(struct pagoda_closing *closing)
{
	return container_of(closing, struct pagoda_client, closing);
}

/* Addresses and counts go. */
static void closing_forget(struct pagoda_client *client, struct pagoda_bo *bo)
{
	pagoda_require_forget(client, bo);
	pagoda_client_forget(client, bo);
	pagoda_vm_bo_opened(bo, false);
}

static void closing_free(struct closing_handle *handle)
{
	list_del(&handle->entry);
	drm_gem_object_put(pagoda_bo_gem(handle->bo));
	kfree(handle);
}

/* The first handle that no job needs any more; all of them if nothing is held up. */
static struct closing_handle *closing_due(struct pagoda_closing *closing)
{
	struct closing_handle *handle;
	struct pagoda_submit *first;

	lockdep_assert_held(&closing->lock);
	handle = list_first_entry_or_null(&closing->handles, struct closing_handle, entry);
	first = list_first_entry_or_null(&closing->jobs, struct pagoda_submit, held_up);
	return handle && (!first || first->number >= handle->until) ? handle : NULL;
}

/* Only the client's own calls wait for the lock. */
static void closing_run(struct pagoda_closing *closing)
{
	struct closing_handle *handle;

	mutex_lock(&closing->lock);
	while ((handle = closing_due(closing))) {
		closing_forget(closing_client(closing), handle->bo);
		closing_free(handle);
	}
	mutex_unlock(&closing->lock);
}

/* The end of the client waits for it, inside of the gate. */
/* Work item of &pagoda_closing.work. */
void pagoda_closing_work(struct work_struct *work)
{
	struct pagoda_closing *closing = container_of(to_delayed_work(work),
						      struct pagoda_closing, work);
	struct pagoda_gate gate;

	if (!pagoda_gate_try(closing->vidmm, &gate)) {
		queue_delayed_work(system_dfl_wq, &closing->work, CLOSING_PATIENCE);
		return;
	}
	closing_run(closing);
	pagoda_gate_leave(closing->vidmm, &gate);
}

/**
 * pagoda_closing_begin_end() - The file of a client is being closed
 * @client: Client
 *
 * Its VMs will be closed, and what they map is unmapped then, all of it at once. Before, jobs that
 * run would have to be waited for.
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
 * pagoda_closing_end() - A client has no job any more, and never will
 * @client: Client
 *
 * After pagoda_closing_begin_end().
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_closing_end(struct pagoda_client *client)
{
	struct pagoda_closing *closing = &client->closing;
	struct closing_handle *handle, *next;

	cancel_delayed_work_sync(&closing->work);
	mutex_lock(&closing->lock);
	list_for_each_entry_safe(handle, next, &closing->handles, entry) {
		pagoda_vm_bo_opened(handle->bo, false);
		closing_free(handle);
	}
	mutex_unlock(&closing->lock);
}

/**
 * pagoda_closing_hold_up() - A job is held up
 * @submit: The job
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_closing_hold_up(struct pagoda_submit *submit)
{
	struct pagoda_closing *closing = &submit->context->vm->client->closing;

	mutex_lock(&closing->lock);
	submit->number = closing->next++;
	list_add_tail(&submit->held_up, &closing->jobs);
	mutex_unlock(&closing->lock);
}

/**
 * pagoda_closing_let_go() - A job is armed, or given up
 * @submit: Job that was held up
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_closing_let_go(struct pagoda_submit *submit)
{
	struct pagoda_closing *closing = &submit->context->vm->client->closing;

	mutex_lock(&closing->lock);
	list_del(&submit->held_up);
	if (!closing->ends && closing_due(closing))
		queue_delayed_work(system_dfl_wq, &closing->work, 0);
	mutex_unlock(&closing->lock);
}

static bool closing_is_listed(const struct pagoda_submit *submit, const struct pagoda_bo *bo)
{
	u32 i;

	for (i = 0; i < submit->nr_bos; i++)
		if (submit->bos[i] == bo)
			return true;
	return false;
}

static bool closing_is_needed(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_submit *submit;

	if (list_empty(&client->closing.jobs))
		return false;
	if (pagoda_require_count(client, bo))
		return true;
	list_for_each_entry(submit, &client->closing.jobs, held_up)
		if (bo->vm.private_to ? bo->vm.private_to == submit->context->vm :
				     closing_is_listed(submit, bo))
			return true;
	return false;
}

/* False without memory: then jobs that are held up don't find it. */
static bool closing_keep(struct pagoda_closing *closing, struct pagoda_bo *bo)
{
	struct closing_handle *handle = kmalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);

	if (!handle)
		return false;
	drm_gem_object_get(pagoda_bo_gem(bo));
	handle->bo = bo;
	handle->until = closing->next;
	list_add_tail(&handle->entry, &closing->handles);
	return true;
}

/**
 * pagoda_closing_handle() - A client closes its handle of an allocation
 * @client: Client
 * @bo: Allocation
 *
 * Context: May sleep and allocate. Inside of the gate, outside of reservations.
 */
void pagoda_closing_handle(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_closing *closing = &client->closing;
	bool ends, kept;

	mutex_lock(&closing->lock);
	ends = closing->ends;
	kept = !ends && closing_is_needed(client, bo) && closing_keep(closing, bo);
	mutex_unlock(&closing->lock);
	if (ends)
		pagoda_vm_bo_opened(bo, false);
	else if (!kept)
		closing_forget(client, bo);
}

/**
 * pagoda_closing_undo() - A client has a handle of an allocation again
 * @client: Client
 * @bo: Allocation
 *
 * What the client had before and wasn't taken yet stays.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_closing_undo(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct closing_handle *handle, *next;

	mutex_lock(&client->closing.lock);
	list_for_each_entry_safe(handle, next, &client->closing.handles, entry)
		if (handle->bo == bo)
			closing_free(handle);
	mutex_unlock(&client->closing.lock);
}

/*
 * An imported allocation has no client before its first handle: the first client to open it is
 * charged.
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
		pagoda_bo_charge(bo, segment);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

/**
 * pagoda_handle_open() - &drm_gem_object_funcs.open of allocations
 * @obj: Allocation
 * @file: File that gets a handle
 *
 * Context: May sleep.
 * Return: 0 or -EPERM.
 */
int pagoda_handle_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);
	int ret = -EPERM;

	/* A handle by a global name (GEM_FLINK): an offered allocation has no other users. */
	if (!pagoda_bo_is_offered(bo))
		ret = pagoda_vm_bo_opened(bo, true);
	if (ret) {
		drm_dbg_driver(obj->dev, "allocation %llu can't be opened by name\n", bo->id);
		return ret;
	}
	pagoda_closing_undo(file->driver_priv, bo);
	if (bo->share.imported)
		handle_set_client(bo, file->driver_priv);
	/* The count includes the handle that is being opened. */
	if (READ_ONCE(obj->handle_count) > 1)
		pagoda_copy_shared(bo);
	return 0;
}

/**
 * pagoda_handle_close() - &drm_gem_object_funcs.close of allocations
 * @obj: Allocation
 * @file: File that loses its last handle
 *
 * GPU addresses and residency counts end with the handle (in WDDM: with the allocation).
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_handle_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);
	struct pagoda_gate gate;

	pagoda_gate_enter(bo->vidmm, &gate, false);
	pagoda_closing_handle(file->driver_priv, bo);
	pagoda_gate_leave(bo->vidmm, &gate);
}
