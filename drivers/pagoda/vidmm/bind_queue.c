// SPDX-License-Identifier: GPL-2.0
/*
 * Arrays of VM_BIND: at once, or when what they wait for is there.
 *
 * An array is accepted, or refused, when it is asked for: the plan says what
 * addresses will be by then. It is made at once if nothing is to be waited for and no
 * other array waits, else in its turn by the queue's worker, which takes the same
 * lock as the ioctls but never waits with it held. What it signals is published
 * when the page tables' operations are in the stream, so nobody waits for a fence that
 * nobody works for.
 *
 * What can't be made in the end leaves the VM unusable: those that wait behind it, and all
 * that is asked for later, get ECANCELED.
 */
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_print.h>
#include "bind.h"

/* Times an array that waited is tried while no list is locked. */
#define QUEUE_TRIES	8

/* Others, with their lists, may have been in the way of page tables. */
static bool bind_may_work(int error)
{
	return error == -ENOMEM || error == -EBUSY;
}

/**
 * pagoda_bind_job_create() - Make an array
 * @count: Entries, not 0
 *
 * Context: May sleep.
 * Return: The array, all zeros, pagoda_bind_job_put() it; or NULL.
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
	pagoda_syncs_put(&job->syncs);
	kvfree(job->binds);
	kfree(job);
}

/**
 * pagoda_bind_job_put() - Drop a reference
 * @job: Array
 *
 * The last one drops those of the allocations and syncobjs.
 *
 * Context: May sleep.
 */
void pagoda_bind_job_put(struct pagoda_bind_job *job)
{
	kref_put(&job->kref, job_free);
}

/* ---- The queue --------------------------------------------------------------- */

static struct pagoda_vm *queue_vm(struct pagoda_deferred *queue)
{
	return container_of(queue, struct pagoda_vm, queue);
}

static struct pagoda_bind_job *queue_job(struct pagoda_deferred_item *item)
{
	return container_of(item, struct pagoda_bind_job, item);
}

/* The VM can't be used any more; what waits is given up as soon as its turn comes. */
static void queue_fail(struct pagoda_vm *vm, int error)
{
	drm_dbg_driver(vm->vidmm->drm, "VM %u: a change failed: %d\n", vm->id, error);
	vm->error = error;
	pagoda_deferred_stop(&vm->queue, -ECANCELED);
}

/* What fails in a way that can't work, or the last time, is final. */
static int queue_try(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool last)
{
	struct dma_fence *fence = NULL;
	int ret;

	mutex_lock(&vm->lock);
	ret = vm->closed ? -ECANCELED : pagoda_bind_run(vm, job->binds, job->count, &fence);
	if (!ret)
		pagoda_syncs_signal(&job->syncs, fence);
	else if (last || !bind_may_work(ret))
		queue_fail(vm, ret);
	mutex_unlock(&vm->lock);
	dma_fence_put(fence);
	return ret;
}

static int queue_try_alone(struct pagoda_vm *vm, struct pagoda_bind_job *job)
{
	u32 tries = 0;
	int ret;

	pagoda_residency_enter(vm->vidmm, PAGODA_ATTEMPT_ALONE, false);
	do {
		ret = queue_try(vm, job, ++tries == QUEUE_TRIES);
	} while (bind_may_work(ret) && tries < QUEUE_TRIES);
	pagoda_residency_leave(vm->vidmm, PAGODA_ATTEMPT_ALONE);
	return ret;
}

static int queue_make(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_bind_job *job = queue_job(item);
	struct pagoda_vm *vm = queue_vm(queue);
	int ret = queue_try(vm, job, false);

	if (bind_may_work(ret))
		ret = queue_try_alone(vm, job);
	if (!ret)
		pagoda_deferred_kick(vm->vidmm);
	return ret;
}

/* Who closes a handle has to look into queues only if the allocation is in one. */
static void job_count_waits(struct pagoda_bind_job *job, int add)
{
	u32 i;

	for (i = 0; i < job->count; i++)
		if (job->binds[i].bo)
			atomic_add(add, &job->binds[i].bo->waits);
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
	.make = queue_make,
	.put = queue_put,
};

/**
 * pagoda_bind_queue_init() - Nothing waits
 * @vm: VM
 */
void pagoda_bind_queue_init(struct pagoda_vm *vm)
{
	INIT_LIST_HEAD(&vm->waiting);
	pagoda_deferred_init(&vm->queue, vm->vidmm, &vm->client->payer, &queue_ops, true);
}

/**
 * pagoda_bind_forget_waiting() - What waits doesn't map an allocation any more
 * @vm: VM, locked
 * @bo: Allocation whose handle was closed
 *
 * The allocation itself stays until what waits is done (C145).
 *
 * Context: May sleep and allocate; can't fail.
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

/* ---- Asking for a change ------------------------------------------------------ */

/* Is there anything that is waited for and isn't there yet? */
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

static int job_queue(struct pagoda_vm *vm, struct pagoda_bind_job *job)
{
	int ret = pagoda_deferred_prepare(&job->item, &job->syncs);

	if (ret)
		return ret;
	kref_get(&job->kref);
	list_add_tail(&job->entry, &vm->waiting);
	job_count_waits(job, 1);
	pagoda_deferred_add(&vm->queue, &job->item);
	return 0;
}

static int job_run(struct pagoda_vm *vm, struct pagoda_bind_job *job, struct dma_fence **fence)
{
	int ret = pagoda_bind_run(vm, job->binds, job->count, fence);

	if (ret)
		return ret;
	pagoda_syncs_signal(&job->syncs, *fence);
	pagoda_deferred_kick(vm->vidmm);
	return 0;
}

/* Taken, and possible: the VM's lock is held. */
static int job_accept(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool waits,
		      struct dma_fence **fence)
{
	LIST_HEAD(undo);
	int ret;

	ret = pagoda_plan_array(vm, job->binds, job->count, job->update, &undo);
	if (!ret)
		ret = waits ? job_queue(vm, job) : job_run(vm, job, fence);
	if (ret)
		pagoda_plan_undo(vm, job->binds, job->count, &undo);
	else
		pagoda_plan_keep(&undo);
	return ret;
}

/*
 * Only signals, room and the end of the device end the wait (C144): what the queue waits for may
 * never come. A rebuild or a sleep doesn't wait for the caller.
 */
static int queue_wait_room(struct pagoda_vm *vm)
{
	struct pagoda_deferred *queue = &vm->queue;
	struct pagoda_gate *gate = pagoda_gate_pause(vm->vidmm);
	long left;

	/* Who takes the device away waits for ioctls and tells nobody first. */
	left = wait_event_interruptible_timeout(queue->room, READ_ONCE(queue->count) <
						DRM_PAGODA_MAX_QUEUED_BINDS, HZ / 4);
	pagoda_gate_resume(vm->vidmm, gate);
	if (left < 0)
		return left;
	return drm_dev_is_unplugged(vm->vidmm->drm) ? -ENODEV : 0;
}

/* Whether the array has to wait for room in the queue: then the VM isn't locked any more. */
static bool job_needs_room(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool *waits)
{
	*waits = !pagoda_deferred_is_empty(&vm->queue) || job_waits(job);
	if (vm->closed || vm->error || !*waits ||
	    READ_ONCE(vm->queue.count) < DRM_PAGODA_MAX_QUEUED_BINDS)
		return false;
	mutex_unlock(&vm->lock);
	return true;
}

static int job_try(struct pagoda_vm *vm, struct pagoda_bind_job *job, bool alone,
		   struct dma_fence **fence)
{
	bool waits;
	int ret;

	for (;;) {
		ret = mutex_lock_interruptible(&vm->lock);
		if (ret)
			return ret;
		if (!job_needs_room(vm, job, &waits))
			break;
		/* Nobody else is served meanwhile: it has to be asked for again. */
		if (alone)
			return -EBUSY;
		ret = queue_wait_room(vm);
		if (ret)
			return ret;
	}
	if (vm->closed)
		ret = -ENOENT;
	else
		ret = vm->error ? -ECANCELED : job_accept(vm, job, waits, fence);
	mutex_unlock(&vm->lock);
	return ret;
}

/**
 * pagoda_vm_bind_job() - Ask for a change
 * @vm: The VM
 * @job: Array; each entry checked by pagoda_vm_range_valid() and against its
 *	allocation; all COPY or none. CHOOSE: has the addresses afterwards
 * @fence: Out: signals when the addresses can be used; the caller's. NULL: they can, or
 *	it waits
 *
 * All or nothing. What @job signals is signalled by it, at last with an error.
 *
 * Context: May sleep and allocate. Outside of reservations.
 * Return: 0; -EEXIST or -EINVAL (the plan, or driver protection that isn't unique),
 * -ENOENT (the VM was closed), -ECANCELED (it is unusable), -ENOMEM, -EBUSY, -ENODEV,
 * -EINTR or -ERESTARTSYS.
 */
int pagoda_vm_bind_job(struct pagoda_vm *vm, struct pagoda_bind_job *job,
		       struct dma_fence **fence)
{
	int ret;

	*fence = NULL;
	ret = job_try(vm, job, false, fence);
	if (!bind_may_work(ret))
		return ret;
	ret = pagoda_residency_enter(vm->vidmm, PAGODA_ATTEMPT_ALONE, true);
	if (ret)
		return ret;
	ret = job_try(vm, job, true, fence);
	pagoda_residency_leave(vm->vidmm, PAGODA_ATTEMPT_ALONE);
	return ret;
}

/**
 * pagoda_vm_bind() - Ask for a change that waits for nothing and signals nothing
 * @vm: The VM
 * @binds: Entries as pagoda_vm_bind_job() has them; the allocations are the caller's
 * @count: Their number, not 0
 * @fence: As pagoda_vm_bind_job()
 *
 * Context: May sleep and allocate. Outside of reservations.
 * Return: See pagoda_vm_bind_job().
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
 * pagoda_vm_condition() - Can a VM be used?
 * @vm: VM
 * @error: Out: positive errno of the change that failed, or 0
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
