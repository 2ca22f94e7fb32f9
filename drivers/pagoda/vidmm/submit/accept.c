// SPDX-License-Identifier: GPL-2.0
/*
 * Accepting submissions: a submission is checked against limits. Then its job is made (submit.c),
 * that is prepared, armed and pushed: either at once; or later, when all that the job waits for has
 * signalled and the engine has a place for the job (queue/exec_places.c). Until then the submission
 * is queued in its context, and the job has neither memory nor a fence. A fenced job is made at
 * once, and so are, just before, the jobs that are queued before it in its context.
 *
 * pagoda_context_create() is here, too, because the queue of a context gets functions of this file,
 * which make and free queued submissions.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/ledger/policy.h"
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/*
 * Returns the errno for user space: -ENOMEM instead of -ENOSPC, which says that a job doesn't fit,
 * whatever leaves; else @error.
 */
static int submit_error(int error)
{
	return error == -ENOSPC ? -ENOMEM : error;
}

/*
 * Called when a deferred job couldn't be made because of @error. Returns true if the job found no
 * room, for the first time, and other jobs may be in the way: sets @submit->blockers to a fence
 * behind those jobs, after which the job is to be made again, and gives the engine's place away.
 */
static bool submit_waits_for_room(struct pagoda_submit *submit, int error)
{
	struct pagoda_context *context = submit->context;

	if ((error != -ENOMEM && error != -EBUSY) || submit->waited)
		return false;
	submit->waited = true;
	submit->blockers = pagoda_room_blockers(context->vm->vidmm, context->vm->client);
	if (submit->blockers)
		pagoda_exec_context_pass(context->exec);
	return submit->blockers;
}

/*
 * Returns true if @submit->blockers is NULL, or has signalled and is dropped. Else has the queue's
 * worker run again when the fence signals.
 */
static bool submit_is_free(struct pagoda_deferred *queue, struct pagoda_submit *submit)
{
	if (submit->blockers && !pagoda_deferred_is_signalled(queue, submit->blockers))
		return false;
	dma_fence_put(submit->blockers);
	submit->blockers = NULL;
	return true;
}

/*
 * &pagoda_deferred_ops.make: makes the job of a deferred submission, and bans the context if that
 * fails for good. If a paging request that the job waits for has failed, only this job, which would
 * fault, is cancelled. While &pagoda_deferred.hurried is set, the job becomes a fenced job.
 * Returns 0; -EAGAIN if there are too many fenced jobs or they hold too much memory, or if a fence
 * has to signal first (&pagoda_submit.blockers); -ERESTART if the job has to ask for a place again;
 * or another negative errno, with which the submission ends.
 */
static int submit_make_deferred(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_submit *submit = container_of(item, struct pagoda_submit, item);
	int ret;

	if (pagoda_syncs_failed(&submit->syncs)) {
		drm_dbg_driver(queue->vidmm->drm,
			       "a job is cancelled: the paging it waits for failed\n");
		pagoda_exec_context_pass(submit->context->exec);
		return -ECANCELED;
	}
	/* submit_ready() has waited for &pagoda_submit.blockers, unless the queue is hurried. */
	if (!submit_is_free(queue, submit))
		return -EAGAIN;
	if (READ_ONCE(queue->hurried) && !submit->fenced) {
		if (pagoda_quota_charge(submit->quota, PAGODA_LIMIT_FENCED, 1))
			return -EAGAIN;
		submit->fenced = true;
	}
	ret = pagoda_submit_make(submit, false);
	if (ret == -EINPROGRESS)
		return -EAGAIN;
	if (submit_waits_for_room(submit, ret))
		return -ERESTART;
	if (ret && ret != -ERESTART)
		pagoda_context_give_up(submit->context);
	return submit_error(ret);
}

static struct pagoda_context *submit_context(struct pagoda_deferred *queue)
{
	return container_of(queue, struct pagoda_context, deferred);
}

static bool submit_ready(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_submit *submit = container_of(item, struct pagoda_submit, item);

	return submit_is_free(queue, submit) &&
	       pagoda_exec_context_ask(submit_context(queue)->exec);
}

static bool submit_owns(struct pagoda_deferred *queue, struct dma_fence *fence)
{
	return pagoda_exec_context_owns(submit_context(queue)->exec, fence);
}

static void submit_waits(struct pagoda_deferred *queue)
{
	pagoda_ahead_kick(submit_context(queue)->vm->client);
}

/*
 * &pagoda_deferred_ops.put: frees a submission, and with it a reference to the context, which
 * contains @queue: the caller of pagoda_deferred_cancel() still has a reference.
 */
static void submit_put_deferred(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	pagoda_submit_free(container_of(item, struct pagoda_submit, item));
}

static const struct pagoda_deferred_ops submit_deferred_ops = {
	.ready = submit_ready,
	.owns = submit_owns,
	.waits = submit_waits,
	.make = submit_make_deferred,
	.put = submit_put_deferred,
};

/*
 * Charges PAGODA_LIMIT_WAITING for a job that waits for a timeline point that doesn't exist yet or
 * a value that a monitored fence hasn't reached, or that is queued behind such a job. Returns 0 or
 * the limit's error.
 */
static int submit_charge_held(struct pagoda_submit *submit)
{
	struct pagoda_context *context = submit->context;
	int ret;

	if (pagoda_syncs_look(&submit->syncs) && !atomic_read(&context->held))
		return 0;
	ret = pagoda_quota_charge(submit->quota, PAGODA_LIMIT_WAITING, 1);
	if (ret)
		return ret;
	submit->held = true;
	atomic_inc(&context->held);
	return 0;
}

/*
 * Tells the policy which allocations the deferred job lists: when victims are chosen, the next use
 * of these allocations is known, not predicted. Does nothing without memory.
 */
static void submit_expect(struct pagoda_submit *submit)
{
	struct pagoda_vm *vm = submit->context->vm;
	struct pagoda_closing *closing = &vm->client->closing;
	struct pagoda_policy_coming *coming;
	u64 bytes = 0;
	u32 i;

	if (!submit->nr_bos)
		return;
	coming = kvcalloc(submit->nr_bos, sizeof(*coming), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!coming)
		return;
	pagoda_victims_expect(vm->vidmm, vm->client, submit->bos, coming, submit->nr_bos);
	for (i = 0; i < submit->nr_bos; i++)
		bytes += submit->bos[i]->ttm.base.size;
	mutex_lock(&closing->lock);
	submit->bytes = bytes;
	submit->coming = coming;
	mutex_unlock(&closing->lock);
}

/*
 * Queues a submission in its context; its job has neither memory nor a fence until the job is made.
 * Returns 0; or a negative errno, and the submission isn't queued.
 */
static int submit_defer(struct pagoda_submit *submit)
{
	int ret = submit_charge_held(submit);

	if (!ret)
		ret = pagoda_closing_hold_up(submit);
	if (ret)
		return ret;
	ret = pagoda_deferred_prepare(&submit->item, &submit->syncs);
	if (ret)
		return ret;
	submit_expect(submit);
	pagoda_deferred_add(&submit->context->deferred, &submit->item);
	return 0;
}

/*
 * Returns true if the job synchronises implicitly with other work, by fences in the reservations of
 * allocations that it lists: then the job needs a fence at once.
 */
static bool submit_has_implicit(const struct pagoda_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->nr_bos; i++)
		if (submit->flags[i] & DRM_PAGODA_SUBMIT_IMPLICIT &&
		    !submit->bos[i]->vm.private_to)
			return true;
	return false;
}

/*
 * Checks whether a fenced job can be armed now. Returns 0 if so, and for a job that isn't fenced;
 * -EINVAL if the job waits for a point that doesn't exist or a value that wasn't reached; -EAGAIN
 * if queued jobs of the context must be armed first; or -EBUSY if DRM_PAGODA_MAX_FENCED_JOBS or
 * more jobs are queued in the context.
 */
static int submit_check_fenced(struct pagoda_submit *submit)
{
	struct pagoda_context *context = submit->context;

	if (!submit->fenced)
		return 0;
	if (!pagoda_syncs_look(&submit->syncs)) {
		drm_dbg_driver(context->vm->vidmm->drm,
			       "a fenced job waits for what isn't submitted\n");
		return -EINVAL;
	}
	if (pagoda_deferred_is_empty(&context->deferred))
		return 0;
	if (READ_ONCE(context->deferred.count) < DRM_PAGODA_MAX_FENCED_JOBS)
		return -EAGAIN;
	drm_dbg_driver(context->vm->vidmm->drm, "too many jobs before a fenced job\n");
	return -EBUSY;
}

/*
 * Charges a submission to the client's quota, unless an earlier attempt to accept the submission
 * has done so. Returns 0 or the limit's error.
 */
static int submit_charge(struct pagoda_submit *submit)
{
	struct pagoda_quota *quota = submit->context->vm->client->quota;
	int ret;

	if (submit->quota)
		return 0;
	ret = pagoda_quota_charge(quota, PAGODA_LIMIT_JOBS, 1);
	if (ret)
		return ret;
	if (submit->fenced)
		ret = pagoda_quota_charge(quota, PAGODA_LIMIT_FENCED, 1);
	if (ret)
		pagoda_quota_uncharge(quota, PAGODA_LIMIT_JOBS, 1);
	else
		submit->quota = quota;
	return ret;
}

/*
 * Returns true if the job can be made now: no job is queued before it, all fences that it waits for
 * exist, and no paging request that it waits for failed. In addition, unless the job is fenced, all
 * these fences must have signalled, the engine must have a place, which is then kept for the
 * context, and &pagoda_vidmm.defer_jobs must not be set.
 */
static bool submit_is_due(struct pagoda_submit *submit)
{
	struct pagoda_context *context = submit->context;

	if (!pagoda_syncs_look(&submit->syncs) || pagoda_syncs_failed(&submit->syncs) ||
	    !pagoda_deferred_is_empty(&context->deferred))
		return false;
	if (submit->fenced)
		return true;
	return !context->vm->vidmm->defer_jobs && pagoda_syncs_are_done(&submit->syncs) &&
	       pagoda_exec_context_ask(context->exec);
}

/*
 * Makes the job if submit_is_due() allows that; if not, or if that fails with -ERESTART, queues the
 * submission. Returns 0 if @submit was consumed, else a negative errno. -EBUSY of
 * pagoda_submit_make(), for memory in use, becomes -ENOMEM, after which the caller may wait for
 * memory: a returned -EBUSY is a limit's error.
 */
static int submit_make_or_defer(struct pagoda_submit *submit)
{
	int ret = submit_is_due(submit) ? pagoda_submit_make(submit, true) : -ERESTART;

	if (ret == -EBUSY)
		ret = -ENOMEM;
	if (!ret)
		pagoda_submit_free(submit);
	else if (ret == -ERESTART)
		ret = submit_defer(submit);
	/* Give back the place that was asked for, unless queued jobs of the context need it. */
	if (ret && pagoda_deferred_is_empty(&submit->context->deferred))
		pagoda_exec_context_pass(submit->context->exec);
	return ret;
}

/* Calls pagoda_enter() and locks the context. Returns 0, -ENODEV, -EINTR or -ERESTARTSYS. */
static int submit_begin(struct pagoda_context *context)
{
	struct pagoda_vidmm *vidmm = context->vm->vidmm;
	int ret = pagoda_enter(vidmm);

	if (ret)
		return ret;
	ret = mutex_lock_interruptible(&context->lock);
	if (ret)
		pagoda_leave(vidmm);
	return ret;
}

static void submit_end(struct pagoda_context *context)
{
	mutex_unlock(&context->lock);
	pagoda_leave(context->vm->vidmm);
}

/*
 * Accepts a submission, that is makes or queues its job: sets *@job to the number of the job,
 * consumes @submit and returns 0. Else returns -EAGAIN if queued jobs of the context must be armed
 * first, or another errno of submit_make_or_defer() or pagoda_submit(); then @submit is still the
 * caller's.
 */
static int submit_in_turn(struct pagoda_submit *submit, u64 *job)
{
	struct pagoda_context *context = submit->context;
	struct pagoda_client *client = context->vm->client;
	int ret = submit_begin(context);

	if (ret)
		return ret;
	if (context->dead)
		ret = -ENOENT;
	else if (pagoda_exec_context_is_banned(context->exec) || READ_ONCE(client->error))
		ret = -ECANCELED;
	else
		ret = submit_check_fenced(submit);
	if (!ret && pagoda_context_queued(context) >= DRM_PAGODA_MAX_QUEUED_JOBS) {
		drm_dbg_driver(context->vm->vidmm->drm, "context %llu has too many jobs queued\n",
			       context->id);
		ret = -EBUSY;
	}
	if (!ret)
		ret = submit_charge(submit) ?: submit_make_or_defer(submit);
	if (!ret)
		*job = ++context->accepted;
	submit_end(context);
	return ret;
}

/*
 * Accepts a submission as submit_in_turn() does; if queued jobs of the context have to be armed
 * before, has them armed and tries again. Returns 0 or a negative errno.
 */
static int submit_settled(struct pagoda_submit *submit, u64 *job)
{
	int ret;

	while ((ret = submit_in_turn(submit, job)) == -EAGAIN) {
		ret = pagoda_deferred_settle(&submit->context->deferred);
		if (ret)
			return ret == -EBUSY ? -EINVAL : ret;
	}
	return ret;
}

/*
 * Waits if that may help a submission that wasn't accepted because of the error *@ret: for
 * &pagoda_submit.blockers if *@ret is -EINPROGRESS; for jobs that may free memory if *@ret is
 * -ENOMEM, but only once (*@tries counts). Returns whether the caller is to try the submission
 * again now. Sets *@ret to -ERESTARTSYS if a signal ends the wait.
 */
static bool submit_again(struct pagoda_submit *submit, u32 *tries, int *ret)
{
	struct pagoda_vm *vm = submit->context->vm;

	if (pagoda_room_await(&submit->blockers, ret))
		return true;
	return *ret == -ENOMEM && pagoda_room_again(vm->vidmm, vm->client, tries, ret);
}

/**
 * pagoda_submit() - Submit commands of a context (SUBMIT)
 * @submit: Checked submission; consumed
 * @job: Out: number of the job in its context
 *
 * The job is made, that is prepared, armed and pushed, when all that the job waits for has
 * signalled and a place of the engine is free; until then the submission waits in the context's
 * queue, without memory and without a fence. A fenced job (&pagoda_submit.fenced) is made at once,
 * behind the queued jobs of its context, which then are made as fenced jobs, too; a fenced job has
 * memory and a fence while it waits. If that is more memory than the user's share allows, this
 * function itself first waits for what the job waits for. This function also waits until memory
 * that can't move yet can, and once, if there is no room, for jobs (pagoda_room_again()).
 *
 * Context: May sleep and allocate. Outside of pagoda_enter() sections and reservations.
 * Return: 0; -ENOMEM if an allocation can't be made resident; -ENODATA if a listed allocation is
 * offered; -EBUSY if too many jobs are queued; -EINVAL if the job is fenced, and something
 * that it waits for has no fence yet, or a job before it can't get a fence; -ECANCELED if the
 * context is banned, the client in error or the VM unusable; -ENOENT if the context is destroyed;
 * -ENODEV, -EINTR or -ERESTARTSYS.
 */
int pagoda_submit(struct pagoda_submit *submit, u64 *job)
{
	struct pagoda_context *context = submit->context;
	u32 tries = 0;
	int ret;

	pagoda_context_get(context);
	submit->fenced |= submit_has_implicit(submit);
	do {
		ret = submit_settled(submit, job);
	} while (ret && submit_again(submit, &tries, &ret));
	if (ret)
		pagoda_submit_free(submit);
	pagoda_context_put(context);
	return submit_error(ret);
}

/**
 * pagoda_context_create() - Create an execution context
 * @vm: VM with the address space of the context
 * @engine: Execution engine, checked
 * @priority: enum drm_pagoda_priority, checked
 *
 * When this function returns, the save area is initialised and contains the root of the VM's page
 * tables. A reset of the device during the creation isn't reported to the new context, which had no
 * content to lose (C190).
 *
 * Context: May sleep, for as long as a rebuild of the device takes, and allocate. Outside of
 * pagoda_enter() sections and reservations.
 * Return: The context, to be released with pagoda_context_destroy(); or ERR_PTR: -ENOMEM; -ENOENT
 * if the VM was closed; -EIO if the device failed without a reset; -EMFILE if the client or its
 * user has too many contexts; -ENODEV, -EINTR or -ERESTARTSYS.
 */
struct pagoda_context *pagoda_context_create(struct pagoda_vm *vm, u32 engine, u32 priority)
{
	return pagoda_context_make(vm, engine, priority, &submit_deferred_ops);
}
