// SPDX-License-Identifier: GPL-2.0
/*
 * Submissions until they are made: checked against limits, made at once, or queued in the context
 * without memory and without a fence until all that they wait for has signalled and their engine
 * has a place (queue/exec_places.c).
 */
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/*
 * Makes a deferred job; gives up its context if that fails. If paging that the job waits for
 * failed, only the job is cancelled: the client asked for that paging, and the job would fault.
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
	if (READ_ONCE(queue->hurried) && !submit->fenced) {
		if (pagoda_quota_charge(submit->quota, PAGODA_LIMIT_FENCED, 1))
			return -EAGAIN;
		submit->fenced = true;
	}
	ret = pagoda_submit_make(submit, false);
	if (ret && ret != -ERESTART)
		pagoda_context_give_up(submit->context);
	return ret;
}

static struct pagoda_context *submit_context(struct pagoda_deferred *queue)
{
	return container_of(queue, struct pagoda_context, deferred);
}

static bool submit_ready(struct pagoda_deferred *queue)
{
	return pagoda_exec_context_ask(submit_context(queue)->exec);
}

static bool submit_owns(struct pagoda_deferred *queue, struct dma_fence *fence)
{
	return pagoda_exec_context_owns(submit_context(queue)->exec, fence);
}

/* The caller of pagoda_deferred_cancel() still has a reference to the context. */
static void submit_put_deferred(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	pagoda_submit_free(container_of(item, struct pagoda_submit, item));
}

static const struct pagoda_deferred_ops submit_deferred_ops = {
	.ready = submit_ready,
	.owns = submit_owns,
	.make = submit_make_deferred,
	.put = submit_put_deferred,
};

/* Charges a job that waits for a point or value that doesn't exist, or is behind such a job. */
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

/* Queues a job without memory and without a fence. */
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
	pagoda_deferred_add(&submit->context->deferred, &submit->item);
	return 0;
}

/* Returns true if later jobs synchronise with the job's fence, which must exist then. */
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
 * Checks that a fenced job can be armed now. Returns -EAGAIN if queued jobs of the context must be
 * armed first, -EBUSY if those are too many, or -EINVAL.
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

/* Charges a submission, unless an attempt that ended with -EAGAIN did. */
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

/* Returns true if nothing has to be waited for before the job is prepared. */
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

/* Makes the job if it is due, or queues it. */
static int submit_make_or_defer(struct pagoda_submit *submit)
{
	int ret = submit_is_due(submit) ? pagoda_submit_make(submit, true) : -ERESTART;

	if (!ret)
		pagoda_submit_free(submit);
	else if (ret == -ERESTART)
		ret = submit_defer(submit);
	/* Queued jobs ask for places of their own. */
	if (ret && pagoda_deferred_is_empty(&submit->context->deferred))
		pagoda_exec_context_pass(submit->context->exec);
	return ret;
}

/* Enters a section and locks the context. Returns 0, -ENODEV, -EINTR or -ERESTARTSYS. */
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

/* Accepts a submission, which is consumed if 0 is returned; else as submit_check_fenced(). */
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

/**
 * pagoda_submit() - Submit commands of a context (SUBMIT)
 * @submit: Checked submission; consumed
 * @job: Out: number of the job in its context
 *
 * The job is made when all that it waits for has signalled and a place of its engine is free;
 * until then it waits in the context's queue, without memory and without a fence. A fenced job is
 * made at once, with a fence that waits for the others.
 *
 * Context: May sleep and allocate. Outside of sections and reservations.
 * Return: 0; -ENOMEM if an allocation can't be made resident; -ENODATA if a listed allocation is
 * offered; -EBUSY if too many jobs are queued; -EINVAL if the job is fenced and something it waits
 * for, or a job before it, has no fence and can't get one; -ECANCELED if the context is banned, the
 * client in error or the VM unusable; -ENOENT if the context is destroyed; -ENODEV, -EINTR or
 * -ERESTARTSYS.
 */
int pagoda_submit(struct pagoda_submit *submit, u64 *job)
{
	struct pagoda_context *context = submit->context;
	int ret;

	pagoda_context_get(context);
	submit->fenced |= submit_has_implicit(submit);
	while ((ret = submit_in_turn(submit, job)) == -EAGAIN) {
		ret = pagoda_deferred_settle(&context->deferred);
		if (!ret)
			continue;
		if (ret == -EBUSY)
			ret = -EINVAL;
		break;
	}
	if (ret)
		pagoda_submit_free(submit);
	pagoda_context_put(context);
	return ret;
}

/**
 * pagoda_context_create() - Create an execution context
 * @vm: VM with the address space of the context
 * @engine: Execution engine, checked
 * @priority: enum drm_pagoda_priority, checked
 *
 * When this function returns, the save area is initialised and names the VM's page tables. A reset
 * during the creation isn't reported to the new context, which had no content to lose (C190).
 *
 * Context: May sleep and allocate; for as long as a rebuild takes. Outside of sections and
 * reservations.
 * Return: The context, to be released with pagoda_context_destroy(); or ERR_PTR: -ENOMEM; -ENOENT
 * if the VM was closed; -EIO if the device failed without a reset; -EMFILE if the client or its
 * user has too many contexts; -EINTR.
 */
struct pagoda_context *pagoda_context_create(struct pagoda_vm *vm, u32 engine, u32 priority)
{
	return pagoda_context_make(vm, engine, priority, &submit_deferred_ops);
}
