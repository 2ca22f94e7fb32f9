// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays of VM_BIND: applied at once, or queued until the fences they wait for have signalled.
 *
 * An array is accepted or refused when the array is submitted: the plan (bind_plan.c) has the use
 * of the addresses as queued arrays will leave it. An accepted array is applied at once if it waits
 * for no fence and the queue is empty. Otherwise the worker of the queue (&pagoda_vm.queue) applies
 * the array after the arrays before it. The worker takes pagoda_vm.lock, as ioctls do, but not
 * while it waits for the fences of an array. The fence that an array signals is published when the
 * array's operations on page tables are in the stream of paging operations, so that no thread waits
 * for a fence without work behind it.
 *
 * If an array that needn't be queued can't be applied, the call fails and nothing has changed. A
 * queued array that can't be applied leaves the VM unusable: arrays queued behind that array, and
 * all later arrays, end with ECANCELED.
 *
 * When a client closes a handle, pagoda_vm_forget() unmaps the allocation, in queued arrays, too.
 */
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * Most attempts to apply a queued array: the first attempt, and those that are made within about a
 * quarter of a second once the jobs have ended that may be in the way.
 */
#define QUEUE_TRIES	8

/* Returns true if an array that failed may succeed later: @error is -ENOMEM or -EBUSY. */
static bool bind_may_work(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

/**
 * pagoda_bind_job_create() - Allocate an array of VM_BIND entries
 * @count: Number of entries, not 0
 *
 * Context: May sleep.
 * Return: The array with zeroed entries, for pagoda_bind_job_put(); or NULL without memory.
 */
struct pagoda_bind_job *pagoda_bind_job_create(u32 count)
{
	struct pagoda_bind_job *job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);

	if (!job)
		return NULL;
	kref_init(&job->kref);
	INIT_LIST_HEAD(&job->entry);
	job->count = count;
	job->binds = kvcalloc(count, sizeof(*job->binds), GFP_KERNEL_ACCOUNT);
	if (job->binds)
		return job;
	kfree(job);
	return NULL;
}

static void job_free(struct kref *kref)
{
	struct pagoda_bind_job *job = container_of(kref, struct pagoda_bind_job, kref);
	u32 i;

	for (i = 0; i < job->count; i++)
		if (job->binds[i].bo)
			drm_gem_object_put(pagoda_bo_gem(job->binds[i].bo));
	dma_fence_put(job->blockers);
	pagoda_syncs_put(&job->syncs);
	kvfree(job->binds);
	kfree(job);
}

/**
 * pagoda_bind_job_put() - Drop a reference to an array
 * @job: Array
 *
 * With the last reference, the array's references to allocations and syncobjs are dropped.
 *
 * Context: May sleep.
 */
void pagoda_bind_job_put(struct pagoda_bind_job *job)
{
	kref_put(&job->kref, job_free);
}

/* ---- The queue of VM_BIND arrays --------------------------------------------- */

static struct pagoda_vm *queue_vm(struct pagoda_deferred *queue)
{
	return container_of(queue, struct pagoda_vm, queue);
}

static struct pagoda_bind_job *queue_job(struct pagoda_deferred_item *item)
{
	return container_of(item, struct pagoda_bind_job, item);
}

/*
 * Applies a queued array. After -EAGAIN and, unless @last is set, after -ENOMEM or -EBUSY, the
 * array is left for another attempt. Any other error makes the VM unusable: the arrays queued
 * behind end with -ECANCELED. Returns 0 or the error.
 */
static int queue_try(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool last)
{
	struct dma_fence *fence = NULL;
	int ret;

	mutex_lock(&vm->lock);
	ret = vm->closed ? -ECANCELED : pagoda_bind_run(vm, job->binds, job->count, &fence);
	if (!ret) {
		pagoda_syncs_signal(vm->vidmm, &job->syncs, fence);
	} else if (ret != -EAGAIN && (last || !bind_may_work(ret))) {
		drm_dbg_driver(vm->vidmm->drm, "VM %u: a change failed: %d\n", vm->id, ret);
		vm->error = ret;
		pagoda_deferred_stop(&vm->queue, -ECANCELED);
	}
	mutex_unlock(&vm->lock);
	dma_fence_put(fence);
	return ret;
}

static int queue_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_bind_job *job = queue_job(item);
	struct pagoda_vm *vm = queue_vm(queue);
	int ret = queue_try(vm, job, job->tries + 1 == QUEUE_TRIES);

	/* Page tables need more room than one call makes: at once try again, in a new section. */
	if (ret == -EAGAIN)
		return -ERESTART;
	job->tries++;
	if (!bind_may_work(ret) || job->tries == QUEUE_TRIES)
		return ret;
	if (job->tries == 1) {
		dma_fence_put(job->blockers);
		job->blockers = pagoda_room_blockers(vm->vidmm, vm->client);
	}
	return -EAGAIN;
}

/*
 * Returns false if the item's array found no room, and the jobs in the way haven't ended; or if too
 * many changes of the VM's page tables were in flight, and the last of these hasn't ended. The
 * worker then runs again when their fence, &pagoda_bind_job.blockers, signals.
 */
static bool queue_ready(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_bind_job *job = queue_job(item);
	struct pagoda_vm *vm = queue_vm(queue);

	if (!job->blockers && vm->line)
		job->blockers = pagoda_stream_line_full(vm->vidmm, vm->line);
	return !job->blockers || pagoda_deferred_is_signalled(queue, job->blockers);
}

/* Adds @add to &pagoda_bo.wish.waits, the number of queued entries, of each entry's allocation. */
static void job_count_waits(struct pagoda_bind_job *job, int add)
{
	u32 i;

	for (i = 0; i < job->count; i++)
		if (job->binds[i].bo)
			atomic_add(add, &job->binds[i].bo->wish.waits);
}

static void queue_put(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_bind_job *job = queue_job(item);
	struct pagoda_vm *vm = queue_vm(queue);

	mutex_lock(&vm->lock);
	list_del_init(&job->entry);
	job_count_waits(job, -1);
	mutex_unlock(&vm->lock);
	pagoda_bind_job_put(job);
}

static const struct pagoda_deferred_ops queue_ops = {
	.ready = queue_ready,
	.make = queue_make,
	.put = queue_put,
};

void pagoda_bind_queue_init(struct pagoda_vm *vm)
{
	INIT_LIST_HEAD(&vm->waiting);
	pagoda_deferred_init(&vm->queue, vm->vidmm, &vm->client->payer, &queue_ops, true);
}

/*
 * Turns queued MAP and MAP_FENCE entries of @bo into UNMAP, and marks free in the plan addresses at
 * which queued arrays would show @bo. The arrays keep their references to @bo (C145). Caller holds
 * pagoda_vm.lock. May allocate; can't fail.
 */
void pagoda_bind_forget_waiting(struct pagoda_vm *vm, const struct pagoda_bo *bo)
{
	struct pagoda_bind_job *job;
	u32 i;

	lockdep_assert_held(&vm->lock);
	list_for_each_entry(job, &vm->waiting, entry) {
		for (i = 0; i < job->count; i++) {
			struct pagoda_bind *entry = &job->binds[i];

			pagoda_plan_forget(vm, entry->address, entry->size, bo);
			if (pagoda_bind_is_map(entry) && entry->bo == bo)
				entry->type = DRM_PAGODA_BIND_UNMAP;
		}
	}
}

/* ---- Submitting the array of operations of a VM_BIND call ------------------------ */

/* Returns true if a fence that a VM_BIND array waits for doesn't exist yet or hasn't signalled. */
static bool job_waits(struct pagoda_bind_job *job)
{
	struct dma_fence *fence;
	u32 index = 0;

	if (!pagoda_syncs_look(&job->syncs))
		return true;
	while ((fence = pagoda_syncs_next(&job->syncs, &index)))
		if (!dma_fence_is_signaled(fence))
			return true;
	return false;
}

/* Returns true if an allocation that an entry would map is offered; that is written to the log. */
static bool job_maps_offered(const struct pagoda_bind_job *job)
{
	u32 i;

	for (i = 0; i < job->count; i++)
		if (job->binds[i].bo && pagoda_offer_refuses(job->binds[i].bo))
			return true;
	return false;
}

/*
 * Queues an array. Returns 0; or -ENOMEM, or -ENODATA if an allocation was offered after the
 * caller's look-up, and the array isn't queued.
 */
static int job_queue(struct pagoda_vm *vm, struct pagoda_bind_job *job)
{
	int ret = -ENODATA;

	job_count_waits(job, 1);
	/*
	 * The look for offers comes after &pagoda_bo.wish.waits is raised: this barrier pairs with
	 * that in offer_mark_all(). Of a VM_BIND and an OFFER at the same time at least one fails.
	 */
	smp_mb();
	if (!job_maps_offered(job))
		ret = pagoda_deferred_prepare(&job->item, &job->syncs);
	if (ret) {
		job_count_waits(job, -1);
		return ret;
	}
	kref_get(&job->kref);
	list_add_tail(&job->entry, &vm->waiting);
	pagoda_deferred_add(&vm->queue, &job->item);
	return 0;
}

/*
 * Enters an array into the plan, then queues the array if it @waits, or applies the array now. Only
 * an array that is applied changes *@fence, as pagoda_bind_run() does. Returns 0 or a negative
 * errno. Caller holds pagoda_vm.lock.
 */
static int job_accept(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool waits,
		      struct dma_fence **fence)
{
	LIST_HEAD(undo);
	int ret;

	lockdep_assert_held(&vm->lock);
	ret = pagoda_plan_array(vm, job->binds, job->count, job->update, &undo);
	if (!ret && waits)
		ret = job_queue(vm, job);
	else if (!ret)
		ret = pagoda_bind_run(vm, job->binds, job->count, fence);
	if (ret) {
		pagoda_plan_undo(vm, job->binds, job->count, &undo);
		return ret;
	}
	if (!waits)
		pagoda_syncs_signal(vm->vidmm, &job->syncs, *fence);
	pagoda_plan_keep(&undo);
	return 0;
}

/*
 * Waits for room in the VM's queue, but only for a quarter of a second, because fences that queued
 * arrays wait for may never signal. The caller repeats the call until there is room, a signal comes
 * or the device is gone (C144). Returns 0, also if there is no room yet, or -ERESTARTSYS.
 */
static int queue_wait_room(struct pagoda_vm *vm)
{
	struct pagoda_deferred *queue = &vm->queue;

	return min(wait_event_interruptible_timeout(queue->room, READ_ONCE(queue->count) <
						    DRM_PAGODA_MAX_QUEUED_BINDS, HZ / 4), 0l);
}

/*
 * Sets *@waits to whether the array has to be queued. Returns true if the array has to be queued,
 * the queue is full, and the VM is neither closed nor unusable.
 */
static bool job_needs_room(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool *waits)
{
	*waits = !pagoda_deferred_is_empty(&vm->queue) || job_waits(job);
	return !vm->closed && !vm->error && *waits &&
	       READ_ONCE(vm->queue.count) >= DRM_PAGODA_MAX_QUEUED_BINDS;
}

/*
 * Applies or queues an array. If the array has to be queued and the queue is full, sets *@full and
 * returns -EBUSY; else clears *@full. Only an array that is applied changes *@fence, as
 * pagoda_bind_run() does. Returns 0 or a negative errno.
 */
static int job_try(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool *full,
		   struct dma_fence **fence)
{
	bool waits;
	int ret = mutex_lock_interruptible(&vm->lock);

	*full = false;
	if (ret)
		return ret;
	*full = job_needs_room(vm, job, &waits);
	if (*full)
		ret = -EBUSY;
	else if (vm->closed)
		ret = -ENOENT;
	else
		ret = vm->error ? -ECANCELED : job_accept(vm, job, waits, fence);
	mutex_unlock(&vm->lock);
	return ret;
}

/**
 * pagoda_vm_bind_job() - Submit an array of VM_BIND entries
 * @vm: The VM
 * @job: Array; each entry was checked by pagoda_vm_range_valid() and against its allocation; all
 *	entries are COPY or none is. CHOOSE entries get their addresses
 * @fence: Set to the fence after which the addresses can be used, with a reference; to NULL if they
 *	can be used at once, or the array was queued
 *
 * The array is accepted as a whole or not at all. The syncobjs of an accepted @job are signalled in
 * any case, if need be with an error.
 *
 * Context: May sleep and allocate; waits for room in the VM's queue and in its line of the stream
 * and, if page tables find no room in VRAM, once for the client's jobs and all jobs that have a
 * place of an engine; for the VM's jobs if the change isn't safe while these run (C102). Outside of
 * pagoda_enter() sections and reservations.
 * Return: 0; -EEXIST or -EINVAL (the plan, or as pagoda_unique_check()), -ENOENT (the VM was
 * closed), -ECANCELED (the VM is unusable), -ENODATA (an allocation is offered), -ENOMEM, -EBUSY,
 * -ENODEV, -EINTR or -ERESTARTSYS.
 */
int pagoda_vm_bind_job(struct pagoda_vm *vm, struct pagoda_bind_job *job,
		       struct dma_fence **fence)
{
	struct dma_fence *late = NULL;
	bool full, again;
	u32 tries = 0;
	int ret;

	*fence = NULL;
	do {
		ret = vm->line ? pagoda_stream_line_await(vm->line) : 0;
		if (!ret)
			ret = pagoda_enter(vm->vidmm);
		if (ret)
			return ret;
		ret = job_try(vm, job, &full, fence);
		pagoda_leave(vm->vidmm);
		if (full)
			ret = queue_wait_room(vm);
		else
			ret = pagoda_room_later(&late, ret);
		again = full ? !ret : pagoda_room_await(&late, &ret) ||
				      pagoda_room_again(vm->vidmm, vm->client, &tries, &ret);
	} while (again);
	return ret;
}

/*
 * Calls pagoda_vm_bind_job() with an array of copies of @binds, without syncobjs. The references to
 * the allocations in @binds stay the caller's. Returns what pagoda_vm_bind_job() returns.
 */
int pagoda_vm_bind(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		   struct dma_fence **fence)
{
	struct pagoda_bind_job *job = pagoda_bind_job_create(count);
	int ret;
	u32 i;

	if (!job)
		return -ENOMEM;
	memcpy(job->binds, binds, count * sizeof(*binds));
	for (i = 0; i < count; i++)
		if (binds[i].bo)
			drm_gem_object_get(pagoda_bo_gem(binds[i].bo));
	ret = pagoda_vm_bind_job(vm, job, fence);
	pagoda_bind_job_put(job);
	return ret;
}

/**
 * pagoda_vm_condition() - Tell whether a VM can be used
 * @vm: VM
 * @error: Set to the positive errno of the VM_BIND array that couldn't be applied, or 0
 *
 * Context: May sleep.
 * Return: enum drm_pagoda_vm_condition.
 */
int pagoda_vm_condition(struct pagoda_vm *vm, int *error)
{
	mutex_lock(&vm->lock);
	*error = -vm->error;
	mutex_unlock(&vm->lock);
	return *error ? DRM_PAGODA_VM_BIND_FAILED : DRM_PAGODA_VM_USABLE;
}

static bool forget_next(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 *address, u64 *size)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_find(&vm->base, pagoda_bo_gem(bo));
	struct drm_gpuva *va;

	if (!vm_bo)
		return false;
	va = list_first_entry_or_null(&vm_bo->list.gpuva, struct drm_gpuva, gem.entry);
	if (va) {
		*address = va->va.addr;
		*size = va->va.range;
	}
	drm_gpuvm_bo_put(vm_bo);
	return va;
}

/**
 * pagoda_vm_forget() - Unmap an allocation after the client closed its handle
 * @vm: One of the client's VMs
 * @bo: Allocation; the caller has a reference
 *
 * Invalidates the mappings of @bo in @vm, which needs no memory, removes the mappings from the
 * gpuva tree and marks their addresses free, or only reserved in a reserved range (C139). Entries
 * of queued arrays that map @bo become UNMAP.
 *
 * Context: May sleep and allocate. In a section, outside of reservations.
 */
void pagoda_vm_forget(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	struct pagoda_books books;
	u64 address, size;

	mutex_lock(&vm->lock);
	pagoda_books_init(&books, vm, NULL, 0);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	pagoda_vm_bo_invalidate(vm, bo);
	while (forget_next(vm, bo, &address, &size)) {
		pagoda_books_unmap(&books, address, size);
		pagoda_plan_forget(vm, address, size, bo);
	}
	if (bo->vm.private_to == vm)
		list_del_init(&bo->vm.evicted);
	dma_resv_unlock(bo->ttm.base.resv);
	pagoda_bind_forget_waiting(vm, bo);
	mutex_unlock(&vm->lock);
	pagoda_books_fini(&books);
}
