// SPDX-License-Identifier: GPL-2.0
/*
 * Execution contexts: creation and destruction, save areas, bans and states; clients in error.
 *
 * A context has a save area, an allocation that shares the VM's reservation. INIT_CONTEXT_RESOURCE
 * writes the save area before a job of the context can run (C81), and again if a reset lost the
 * content. A move of the save area copies its content (C82). The save area contains the root of the
 * page tables. When the root changes, UPDATE_CONTEXT_ALLOCATION writes the new root to the save
 * area through the scratch window (C84). The code for save areas is in vm/save.c.
 */
#include <linux/slab.h>
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

static int context_make_exec(struct pagoda_context *context, u32 priority)
{
	struct pagoda_engines *engines = context->vm->vidmm->engines;

	if (!engines)
		return 0;
	context->exec = pagoda_exec_context_create(engines, context->engine, priority, context->id,
						   context->vm->id, context);
	if (IS_ERR(context->exec))
		return PTR_ERR(context->exec);
	pagoda_exec_context_set_account(context->exec, context->vm->client->account);
	return 0;
}

static int context_set_up(struct pagoda_context *context, u32 priority)
{
	int ret;

	lockdep_assert_held(&context->vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(context->vm));
	ret = pagoda_save_create(&context->save, context->vm, context->id);
	if (ret)
		return ret;
	ret = pagoda_vm_make_tables_resident(context->vm);
	if (!ret)
		ret = pagoda_save_enter(&context->save, context->vm);
	if (ret) {
		pagoda_save_drop(&context->save);
		return ret;
	}
	ret = context_make_exec(context, priority);
	if (ret)
		pagoda_save_destroy(&context->save);
	return ret;
}

static struct pagoda_context *context_alloc(struct pagoda_vm *vm, u32 engine,
					    const struct pagoda_deferred_ops *ops)
{
	struct pagoda_quota *quota = vm->client->quota;
	int ret = pagoda_quota_charge(quota, PAGODA_LIMIT_CONTEXTS, 1);
	struct pagoda_context *context;

	if (ret)
		return ERR_PTR(ret);
	context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);
	if (!context) {
		pagoda_quota_uncharge(quota, PAGODA_LIMIT_CONTEXTS, 1);
		return ERR_PTR(-ENOMEM);
	}
	kref_init(&context->kref);
	mutex_init(&context->lock);
	spin_lock_init(&context->state_lock);
	pagoda_deferred_init(&context->deferred, vm->vidmm, &vm->client->payer, ops, true);
	context->vm = pagoda_vm_get(vm);
	context->engine = engine;
	context->id = atomic64_inc_return(&vm->vidmm->next_context);
	return context;
}

static void context_release(struct kref *kref)
{
	struct pagoda_context *context = container_of(kref, struct pagoda_context, kref);

	pagoda_quota_uncharge(context->vm->client->quota, PAGODA_LIMIT_CONTEXTS, 1);
	pagoda_vm_put(context->vm);
	mutex_destroy(&context->lock);
	kfree(context);
}

void pagoda_context_get(struct pagoda_context *context)
{
	kref_get(&context->kref);
}

/* Drops a reference; the last one frees the context. May sleep. */
void pagoda_context_put(struct pagoda_context *context)
{
	kref_put(&context->kref, context_release);
}

static int context_try(struct pagoda_context *context, u32 priority)
{
	struct pagoda_vm *vm = context->vm;
	int ret = pagoda_enter(vm->vidmm);

	if (ret)
		return ret;
	ret = mutex_lock_interruptible(&vm->lock);
	if (ret)
		goto leave;
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ret = vm->closed ? -ENOENT : context_set_up(context, priority);
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
leave:
	pagoda_leave(vm->vidmm);
	return ret;
}

/*
 * Returns true if the device was reset since pagoda_reset_epoch() returned @epoch, or is being
 * reset or rebuilt: the next context_try() waits for the rebuild.
 */
static bool context_lost_to_reset(struct pagoda_vidmm *vidmm, u64 epoch)
{
	return pagoda_reset_is_pending(vidmm) || epoch != pagoda_reset_epoch(vidmm);
}

/*
 * Creates a context as pagoda_context_create() says; @ops are the functions of the context's queue
 * &pagoda_context.deferred. Returns the context or an ERR_PTR.
 */
struct pagoda_context *pagoda_context_make(struct pagoda_vm *vm, u32 engine, u32 priority,
					   const struct pagoda_deferred_ops *ops)
{
	struct pagoda_context *context = context_alloc(vm, engine, ops);
	u64 epoch;
	int ret;

	if (IS_ERR(context))
		return context;
	do {
		epoch = pagoda_reset_epoch(vm->vidmm);
		ret = context_try(context, priority);
	} while (ret == -EIO && context_lost_to_reset(vm->vidmm, epoch));
	if (!ret)
		return context;
	pagoda_context_put(context);
	return ERR_PTR(ret);
}

/* Returns the VM of a context; no reference is taken. */
struct pagoda_vm *pagoda_context_vm(struct pagoda_context *context)
{
	return context->vm;
}

/**
 * pagoda_context_kill() - Refuse and cancel further work of a context
 * @context: Context
 *
 * Jobs that haven't begun are cancelled; jobs that run go on to their end. Doesn't wait for any
 * job: a caller that destroys many contexts first kills all these contexts.
 *
 * Context: May sleep.
 */
void pagoda_context_kill(struct pagoda_context *context)
{
	mutex_lock(&context->lock);
	context->dead = true;
	mutex_unlock(&context->lock);
	pagoda_deferred_stop(&context->deferred, -ECANCELED);
	if (context->exec)
		pagoda_exec_context_ban(context->exec);
}

/**
 * pagoda_context_destroy() - Destroy a context
 * @context: Context without a handle; the caller's reference is dropped
 *
 * Jobs that run go on to their end: their fences keep the save area and the VM's page tables in
 * place until then.
 *
 * Context: May sleep. Outside of pagoda_enter() sections and reservations.
 */
void pagoda_context_destroy(struct pagoda_context *context)
{
	struct pagoda_vm *vm = context->vm;

	pagoda_context_kill(context);
	pagoda_deferred_cancel(&context->deferred, -ECANCELED);
	pagoda_enter_anyway(vm->vidmm);
	if (context->exec)
		pagoda_exec_context_destroy(context->exec);
	mutex_lock(&vm->lock);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	pagoda_save_destroy(&context->save);
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	pagoda_leave(vm->vidmm);
	pagoda_context_put(context);
}

/* ---- Bans and state of contexts ---------------------------------------------------- */

/**
 * pagoda_context_give_up() - Ban a context for a reason other than a fault or hang of its job
 * @context: Context; all its jobs that haven't begun are cancelled
 *
 * Context: May sleep.
 */
void pagoda_context_give_up(struct pagoda_context *context)
{
	atomic_or(DRM_PAGODA_CONTEXT_BANNED, &context->state);
	pagoda_deferred_stop(&context->deferred, -ECANCELED);
	if (context->exec)
		pagoda_exec_context_ban(context->exec);
}

static void context_fail(struct pagoda_context *context)
{
	atomic_or(DRM_PAGODA_CONTEXT_CLIENT_ERROR, &context->state);
	pagoda_context_give_up(context);
}

/**
 * pagoda_client_fail() - Put a client in error
 * @client: Client, for which a MAKE_RESIDENT failed that had to succeed
 * @error: Negative errno of the failure; the first error of a client is kept
 *
 * All contexts of the client are banned, and no SUBMIT or MAKE_RESIDENT of the client is accepted
 * any more (C151).
 *
 * Context: May sleep. Outside of VMs' and contexts' locks.
 */
void pagoda_client_fail(struct pagoda_client *client, int error)
{
	struct pagoda_context *context;
	unsigned long id;

	mutex_lock(&client->lock);
	if (!client->error)
		WRITE_ONCE(client->error, error);
	xa_for_each(&client->objects[PAGODA_OBJECT_CONTEXT], id, context)
		context_fail(context);
	mutex_unlock(&client->lock);
}

static void context_progress(struct pagoda_context *context,
			     struct drm_pagoda_context_state *state)
{
	bool waiting;

	mutex_lock(&context->lock);
	waiting = !pagoda_deferred_is_empty(&context->deferred);
	/* After pagoda_context_kill(), &pagoda_context.exec may be destroyed. */
	if (context->exec && !context->dead)
		pagoda_exec_context_progress(context->exec, &state->submitted, &state->completed);
	if (!waiting && state->completed == state->submitted)
		state->completed = context->accepted;
	state->submitted = context->accepted;
	mutex_unlock(&context->lock);
}

/*
 * Returns the number of a context's jobs, deferred or armed, that were accepted and aren't done. A
 * deferred job that is being made at this moment may count twice. Caller holds pagoda_context.lock,
 * and has found that &pagoda_context.dead isn't set.
 */
u64 pagoda_context_queued(struct pagoda_context *context)
{
	u64 submitted, completed;

	lockdep_assert_held(&context->lock);
	pagoda_exec_context_progress(context->exec, &submitted, &completed);
	return READ_ONCE(context->deferred.count) + submitted - completed;
}

/**
 * pagoda_context_state() - Get the state of a context
 * @context: Context
 * @state: All members are filled in but the id, @context, which the caller has set
 *
 * Context: May sleep.
 */
void pagoda_context_state(struct pagoda_context *context, struct drm_pagoda_context_state *state)
{
	struct pagoda_exec_report report;

	*state = (struct drm_pagoda_context_state) { .context = state->context };
	context_progress(context, state);
	spin_lock(&context->state_lock);
	state->state = atomic_read(&context->state);
	report = context->report;
	spin_unlock(&context->state_lock);
	state->resets = pagoda_reset_count(context->vm->vidmm);
	state->job = report.job;
	state->engine = report.engine;
	if (report.hung || !report.job)
		return;
	state->address = report.fault.address;
	state->command = report.fault.command;
	state->reason = report.fault.reason;
	state->access = report.fault.access;
	state->level = report.fault.level;
}
