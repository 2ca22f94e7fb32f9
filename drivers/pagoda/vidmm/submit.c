// SPDX-License-Identifier: GPL-2.0
/*
 * Submission. With the VM's reservation and those of the listed allocations held:
 *
 *	page tables and save area are brought back if they were evicted
 *	listed allocations, those the VM shows of the client's residency list (C152), and
 *	private ones that moved, are brought where the GPU can use them, or the submission is
 *	refused; how much others leave VRAM for what could be used elsewhere is limited (pace.c)
 *	mappings that became invalid are valid again; at last all of that is placed anew
 *	windows in which the CPU sees tiled allocations are taken away
 *	the job gets its dependencies; it is armed, its fence published, and pushed
 *
 * Until it is armed nothing is done that anybody could see but allocations in other
 * places. Private allocations that didn't move aren't looked at: what a submission costs
 * doesn't depend on their number, on the residency list or not.
 *
 * Paging waits for the job's fence before it moves what the job may use: everything
 * private, tables and save area by the VM's reservation, what is listed by its own.
 */
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_exec.h>
#include <drm/drm_print.h>
#include <pagoda/exec.h>
#include <pagoda/submit.h>
#include "context.h"
#include "pace.h"
#include "require.h"
#include "victims.h"
#include "vm.h"

/* Fences one reservation may get from a job, if several allocations share it. */
#define SUBMIT_SLOTS	3

/**
 * struct submit_run - A submission being made
 * @submit: What was asked for
 * @vm: Its VM, locked
 * @bos: What it lists, then what else the client's residency list has that the VM shows
 * @nr_bos: Their number
 * @required: @bos if there are such others, else NULL; with references to them
 * @job: Its job
 * @attempt: How hard it is tried
 * @room: Room its private allocations made
 * @pace: What others leave VRAM for
 * @rebind: Mappings to make valid
 * @tables: Fence behind what was done to the tables, or NULL
 * @ctx: For moves
 * @losses: pagoda_lost_mark() before anything was looked at
 * @fence: Out: the job's, a reference
 */
struct submit_run {
	struct pagoda_submit *submit;
	struct pagoda_vm *vm;
	struct pagoda_bo **bos;
	u32 nr_bos;
	struct pagoda_bo **required;
	struct pagoda_exec_job *job;
	enum pagoda_attempt attempt;
	struct pagoda_room room;
	struct pagoda_pace pace;
	struct pagoda_rebind rebind;
	struct dma_fence *tables;
	struct ttm_operation_ctx ctx;
	u64 losses;
	struct dma_fence *fence;
};

/*
 * What it uses can't be offered while it waits. The reservations are held for a moment each,
 * so that an offer comes before it or finds it.
 */
static void submit_count_vm(struct pagoda_submit *submit)
{
	struct pagoda_vm *vm = submit->context->vm;

	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	atomic_inc(&vm->queued);
	dma_resv_unlock(pagoda_vm_resv(vm));
}

static int submit_count_bo(struct pagoda_bo *bo)
{
	int ret = 0;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (pagoda_offer_refuses(bo))
		ret = -ENODATA;
	else
		atomic_inc(&bo->queued);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

static void submit_uncount(struct pagoda_submit *submit)
{
	if (!submit->queued)
		return;
	while (submit->nr_queued)
		atomic_dec(&submit->bos[--submit->nr_queued]->queued);
	atomic_dec(&submit->context->vm->queued);
	pagoda_closing_let_go(submit);
	submit->queued = false;
}

static int submit_count(struct pagoda_submit *submit)
{
	int ret = 0;

	pagoda_closing_hold_up(submit);
	submit_count_vm(submit);
	submit->queued = true;
	while (!ret && submit->nr_queued < submit->nr_bos) {
		ret = submit_count_bo(submit->bos[submit->nr_queued]);
		submit->nr_queued += !ret;
	}
	if (ret)
		submit_uncount(submit);
	return ret;
}

static int submit_charge(struct pagoda_submit *submit)
{
	struct pagoda_context *context = submit->context;
	struct pagoda_quota *quota = context->vm->client->quota;
	int ret;

	if (pagoda_context_queued(context) >= DRM_PAGODA_MAX_QUEUED_JOBS) {
		drm_dbg_driver(context->vm->vidmm->drm, "context %llu has too many jobs queued\n",
			       context->id);
		return -EBUSY;
	}
	ret = pagoda_quota_charge(quota, PAGODA_LIMIT_JOBS, 1);
	if (!ret)
		submit->quota = quota;
	return ret;
}

static int submit_charge_wait(struct pagoda_submit *submit)
{
	int ret = pagoda_quota_charge(submit->quota, PAGODA_LIMIT_WAITING, 1);

	submit->waits = !ret;
	return ret;
}

static void submit_uncharge(struct pagoda_submit *submit)
{
	struct pagoda_quota *quota = submit->context ? submit->context->vm->client->quota : NULL;

	if (submit->waits)
		pagoda_quota_uncharge(quota, PAGODA_LIMIT_WAITING, 1);
	if (submit->quota)
		pagoda_quota_uncharge(quota, PAGODA_LIMIT_JOBS, 1);
}

/* The job is charged for from now on. */
static void submit_pass_charge(struct pagoda_submit *submit, struct pagoda_exec_job *job)
{
	job->payer = submit->quota;
	submit->quota = NULL;
}

/**
 * pagoda_submit_free() - A submission isn't used any more
 * @submit: Submission, all of it filled or zero
 *
 * Context: May sleep.
 */
void pagoda_submit_free(struct pagoda_submit *submit)
{
	submit_uncount(submit);
	submit_uncharge(submit);
	while (submit->nr_bos)
		drm_gem_object_put(pagoda_bo_gem(submit->bos[--submit->nr_bos]));
	kvfree(submit->bos);
	kvfree(submit->flags);
	kfree(submit->buffers);
	pagoda_syncs_put(&submit->syncs);
	if (submit->context)
		pagoda_context_put(submit->context);
	kfree(submit);
}

static int submit_lock(struct submit_run *run, struct drm_exec *exec)
{
	int ret = drm_gpuvm_prepare_vm(&run->vm->base, exec, 1);
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++) {
		ret = drm_exec_prepare_obj(exec, pagoda_bo_gem(run->bos[i]), 1);
		if (!ret && i < run->submit->nr_bos && pagoda_offer_refuses(run->bos[i]))
			ret = -ENODATA;
	}
	return ret;
}

/* ---- Residency -------------------------------------------------------------- */

static int submit_bring(struct submit_run *run, struct pagoda_bo *bo)
{
	int ret;

	pagoda_swizzle_expect_job(bo);
	ret = pagoda_pace_place(&run->pace, bo, &run->ctx);
	if (!ret)
		ret = pagoda_lost_clear(bo);
	if (!ret)
		pagoda_bo_set_resident(bo, true);
	return ret;
}

static int submit_rebind_bo(struct submit_run *run, struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_find(&run->vm->base, pagoda_bo_gem(bo));
	int ret = 0;

	if (!vm_bo)
		return 0;
	if (vm_bo->evicted)
		ret = pagoda_rebind_add(&run->rebind, vm_bo);
	drm_gpuvm_bo_put(vm_bo);
	return ret;
}

static bool submit_is_bound(struct pagoda_bo *bo)
{
	return !list_empty(&pagoda_bo_gem(bo)->gpuva.list);
}

/*
 * What is private and is where it was may hold what somebody else left there, if paging
 * lost something since the last job.
 */
static int submit_clear_lost(struct submit_run *run)
{
	struct pagoda_vm *vm = run->vm;
	struct drm_gpuva *va;
	int ret = 0;

	if (vm->losses == run->losses)
		return 0;
	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = va->gem.obj ? pagoda_bo_of_gem(va->gem.obj) : NULL;

		if (bo && bo->private_to == vm)
			ret = pagoda_lost_clear(bo);
		if (ret)
			return ret;
	}
	vm->losses = run->losses;
	return 0;
}

/* What is on the client's residency list and offered stays where it is until it is reclaimed. */
static bool submit_uses(const struct submit_run *run, u32 index)
{
	return index < run->submit->nr_bos || !pagoda_bo_is_offered(run->bos[index]);
}

static int submit_bring_rank(struct submit_run *run, u32 rank)
{
	struct pagoda_bo *bo;
	int ret = 0;
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		if (submit_uses(run, i) && pagoda_room_rank(run->bos[i]) == rank)
			ret = submit_bring(run, run->bos[i]);
	list_for_each_entry(bo, &run->vm->evicted, evicted) {
		if (ret)
			break;
		if (submit_is_bound(bo) && pagoda_room_rank(bo) == rank)
			ret = submit_bring(run, bo);
	}
	return ret;
}

static int submit_bring_all(struct submit_run *run)
{
	int ret = 0;
	u32 rank;

	run->pace = (struct pagoda_pace) { .client = run->vm->client };
	for (rank = 0; rank < PAGODA_ROOM_RANKS && !ret; rank++)
		ret = submit_bring_rank(run, rank);
	return ret;
}

/* All of it is where it stays: nothing of it leaves while the reservations are held. */
static int submit_rebind_all(struct submit_run *run)
{
	struct pagoda_bo *bo;
	int ret = 0;
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		if (!run->bos[i]->private_to && submit_uses(run, i))
			ret = submit_rebind_bo(run, run->bos[i]);
	list_for_each_entry(bo, &run->vm->evicted, evicted) {
		if (ret)
			break;
		ret = submit_rebind_bo(run, bo);
	}
	if (!ret)
		ret = pagoda_rebind_run(&run->rebind, &run->tables);
	pagoda_rebind_fini(&run->rebind);
	return ret;
}

static void submit_keep(struct submit_run *run, enum pagoda_vm_keep keep)
{
	pagoda_room_keep(run->vm, keep);
	pagoda_victims_keep(run->vm->vidmm, run->bos, run->nr_bos, keep != PAGODA_VM_KEEP_NOTHING);
}

static void submit_settle(struct submit_run *run)
{
	u32 i;

	pagoda_pace_settle(&run->pace, run->submit->context);
	for (i = 0; i < run->nr_bos; i++)
		ttm_bo_move_to_lru_tail_unlocked(&run->bos[i]->ttm);
	spin_lock(&run->vm->vidmm->ttm.lru_lock);
	ttm_lru_bulk_move_tail(&run->vm->bulk);
	spin_unlock(&run->vm->vidmm->ttm.lru_lock);
	pagoda_victims_used(run->vm, run->bos, run->nr_bos);
}

/* What fills VRAM may be the VM's own: what can be used elsewhere makes room. */
static int submit_in_room(struct submit_run *run, int (*step)(struct submit_run *run))
{
	int ret;

	do {
		ret = step(run);
	} while (ret == -ENOMEM && pagoda_room_make(&run->room));
	return ret;
}

static int submit_bring_tables(struct submit_run *run)
{
	return pagoda_vm_make_tables_resident(run->vm) ?:
	       pagoda_context_validate(run->submit->context);
}

/* -ENOSPC: it wouldn't fit if nobody else had anything. */
static int submit_check_demand(struct submit_run *run)
{
	struct pagoda_demand demand = {};
	u32 i;

	pagoda_room_demand_all(run->vm, &demand);
	for (i = 0; i < run->nr_bos; i++)
		if (submit_uses(run, i) &&
		    (!run->bos[i]->private_to || !submit_is_bound(run->bos[i])))
			pagoda_demand_add(&demand, run->bos[i]);
	return pagoda_demand_misfit(run->vm->vidmm, &demand) ? -ENOSPC : 0;
}

static int submit_leave_vram(struct submit_run *run)
{
	int ret = pagoda_room_leave_all(run->vm);
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = pagoda_room_leave(run->bos[i]);
	return ret;
}

/*
 * Places may be such that what is needed fits only if all of it is placed anew, the page
 * tables, which can be anywhere, at last.
 */
static int submit_place_anew(struct submit_run *run)
{
	int ret;

	submit_keep(run, PAGODA_VM_KEEP_PRIVATE);
	ret = submit_leave_vram(run);
	return ret ?: submit_bring_all(run);
}

static int submit_place(struct submit_run *run)
{
	int ret = 0;

	if (run->attempt != PAGODA_ATTEMPT_SHARED)
		ret = submit_check_demand(run);
	if (!ret && run->attempt == PAGODA_ATTEMPT_EMPTIED)
		ret = submit_place_anew(run);
	if (ret)
		return ret;
	submit_keep(run, PAGODA_VM_KEEP_BOUND);
	ret = submit_in_room(run, submit_bring_tables);
	if (!ret)
		ret = submit_in_room(run, submit_bring_all);
	return ret ?: submit_in_room(run, submit_rebind_all);
}

/* Many moves share paging buffers while the stream is plugged. */
static int submit_validate(struct submit_run *run)
{
	int ret;

	run->room = (struct pagoda_room) {
		.vm = run->vm,
		.last = run->attempt != PAGODA_ATTEMPT_SHARED,
	};
	run->tables = NULL;
	run->losses = pagoda_lost_mark(run->vm->vidmm);
	pagoda_stream_plug(run->vm->vidmm);
	pagoda_offer_hide(run->vm);
	pagoda_pace_again(run->vm);
	ret = submit_clear_lost(run);
	if (!ret)
		ret = submit_place(run);
	submit_keep(run, PAGODA_VM_KEEP_NOTHING);
	pagoda_stream_unplug(run->vm->vidmm);
	if (!ret)
		submit_settle(run);
	dma_fence_put(run->tables);
	return ret;
}

/* ---- The job ---------------------------------------------------------------- */

/* The fence behind all that was done to the page tables so far. */
static int submit_depend_on_tables(struct submit_run *run)
{
	struct dma_fence *last;
	int ret = 0;

	pagoda_space_lock(run->vm->space);
	last = run->vm->last ? dma_fence_get(run->vm->last) : NULL;
	pagoda_space_unlock(run->vm->space);
	if (last)
		ret = pagoda_exec_job_add_fence(run->job, last);
	dma_fence_put(last);
	return ret;
}

/* What wasn't listed has no flags. */
static u32 submit_flags(const struct submit_run *run, u32 index)
{
	return index < run->submit->nr_bos ? run->submit->flags[index] : 0;
}

/* What is private is used by its VM only: nobody to be in sync with. */
static bool submit_is_implicit(const struct submit_run *run, u32 index)
{
	return submit_flags(run, index) & DRM_PAGODA_SUBMIT_IMPLICIT &&
	       !run->bos[index]->private_to;
}

static int submit_depend_on_bo(struct submit_run *run, u32 index)
{
	bool write = submit_flags(run, index) & DRM_PAGODA_SUBMIT_WRITE;

	return pagoda_exec_job_add_resv(run->job, pagoda_bo_gem(run->bos[index])->resv,
					submit_is_implicit(run, index) ?
					dma_resv_usage_rw(write) : DMA_RESV_USAGE_KERNEL);
}

static int submit_depend(struct submit_run *run)
{
	const struct pagoda_submit *submit = run->submit;
	struct dma_fence *fence;
	u32 i, index = 0;
	int ret;

	ret = pagoda_exec_job_add_resv(run->job, pagoda_vm_resv(run->vm), DMA_RESV_USAGE_KERNEL);
	if (!ret)
		ret = submit_depend_on_tables(run);
	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = submit_depend_on_bo(run, i);
	while (!ret && (fence = pagoda_syncs_next(&submit->syncs, &index)))
		ret = pagoda_exec_job_add_fence(run->job, fence);
	return ret;
}

static int submit_reserve(struct submit_run *run)
{
	int ret = dma_resv_reserve_fences(pagoda_vm_resv(run->vm), SUBMIT_SLOTS);
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = dma_resv_reserve_fences(pagoda_bo_gem(run->bos[i])->resv, SUBMIT_SLOTS);
	return ret;
}

/* Point of no return. */
static void submit_push(struct submit_run *run)
{
	u32 i;

	pagoda_exec_job_arm(run->job);
	run->fence = dma_fence_get(run->job->fence);
	dma_resv_add_fence(pagoda_vm_resv(run->vm), run->fence, DMA_RESV_USAGE_BOOKKEEP);
	for (i = 0; i < run->nr_bos; i++) {
		bool write = submit_flags(run, i) & DRM_PAGODA_SUBMIT_WRITE;

		if (run->bos[i]->private_to)
			continue;
		dma_resv_add_fence(pagoda_bo_gem(run->bos[i])->resv, run->fence,
				   !submit_is_implicit(run, i) ? DMA_RESV_USAGE_BOOKKEEP :
				   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}
	submit_pass_charge(run->submit, run->job);
	pagoda_exec_job_push(run->job);
	run->job = NULL;
}

/* What the CPU wrote to windows goes where the job finds it; the CPU's next access waits for it. */
static int submit_take_windows(struct submit_run *run)
{
	int ret = pagoda_swizzle_use_private(run->vm->vidmm, run->vm);
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = pagoda_swizzle_use(run->bos[i]);
	return ret;
}

static int submit_create_job(struct submit_run *run)
{
	const struct pagoda_submit *submit = run->submit;

	run->job = pagoda_exec_job_create(submit->context->exec, submit->nr_buffers);
	if (IS_ERR(run->job))
		return PTR_ERR(run->job);
	run->job->mark = run->losses;
	memcpy(run->job->buffers, submit->buffers, submit->nr_buffers * sizeof(*submit->buffers));
	return 0;
}

static int submit_locked(struct submit_run *run)
{
	int ret = submit_validate(run);

	if (!ret)
		ret = submit_take_windows(run);
	if (ret)
		return ret;
	ret = submit_create_job(run);
	if (ret)
		return ret;
	ret = submit_depend(run);
	if (!ret)
		ret = submit_reserve(run);
	if (ret)
		pagoda_exec_job_put(run->job);
	else
		submit_push(run);
	return ret;
}

/* The work is inside of the loop, where the ticket may still ask for victims. */
static int submit_in_vm(struct submit_run *run)
{
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES |
		      (run->ctx.interruptible ? DRM_EXEC_INTERRUPTIBLE_WAIT : 0),
		      run->nr_bos + 1);
	drm_exec_until_all_locked(&exec) {
		ret = submit_lock(run, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
		ret = submit_locked(run);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/* No list, or nothing on it that isn't private: what was listed will do. */
static int submit_collect(struct submit_run *run)
{
	const struct pagoda_submit *submit = run->submit;
	int ret;

	ret = pagoda_require_bound(run->vm, submit->bos, submit->nr_bos, &run->required,
				   &run->nr_bos);
	run->bos = run->required ?: submit->bos;
	return ret;
}

static void submit_drop_required(struct submit_run *run)
{
	if (!run->required)
		return;
	while (run->nr_bos > run->submit->nr_bos)
		drm_gem_object_put(pagoda_bo_gem(run->required[--run->nr_bos]));
	kvfree(run->required);
	run->required = NULL;
}

/* The VM is locked: what it shows stays the same. */
static int submit_run_locked(struct submit_run *run)
{
	int ret = run->vm->error ? -ECANCELED : submit_collect(run);

	return ret ?: submit_in_vm(run);
}

static int submit_try(struct submit_run *run)
{
	struct pagoda_vidmm *vidmm = run->vm->vidmm;
	int ret = pagoda_residency_enter(vidmm, run->attempt, run->ctx.interruptible);

	if (ret)
		return ret;
	if (!run->ctx.interruptible)
		mutex_lock(&run->vm->lock);
	else
		ret = mutex_lock_interruptible(&run->vm->lock);
	if (!ret) {
		ret = submit_run_locked(run);
		mutex_unlock(&run->vm->lock);
		submit_drop_required(run);
	}
	pagoda_residency_leave(vidmm, run->attempt);
	return ret;
}

/*
 * All that is waited for is there. As with lists that are made resident, other lists may
 * be in the way of what would fit, or the places of what is resident.
 */
static int submit_make(struct pagoda_submit *submit, bool interruptible)
{
	struct pagoda_vm *vm = submit->context->vm;
	struct submit_run run = {
		.submit = submit,
		.vm = vm,
		.rebind.vm = vm,
		.ctx = {
			.interruptible = interruptible,
			.resv = pagoda_vm_resv(vm),
			.allow_res_evict = true,
		},
	};
	int ret;

	for (; run.attempt < PAGODA_ATTEMPTS; run.attempt++) {
		ret = submit_try(&run);
		if (ret != -ENOMEM && ret != -EBUSY)
			break;
	}
	if (ret)
		return ret == -ENOSPC ? -ENOMEM : ret;
	/* What waits for the job may offer what the job used. */
	submit_uncount(submit);
	pagoda_syncs_signal(&submit->syncs, run.fence);
	dma_fence_put(run.fence);
	pagoda_deferred_kick(vm->vidmm);
	return 0;
}

/* ---- Submissions that wait ---------------------------------------------------- */

static struct pagoda_submit *submit_of(struct pagoda_deferred_item *item)
{
	return container_of(item, struct pagoda_submit, item);
}

/*
 * It was accepted: what can't be kept of that costs the context. Paging that failed was the
 * client's request: the job would fault, and isn't executed.
 */
static int submit_make_deferred(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	struct pagoda_submit *submit = submit_of(item);
	int ret;

	if (pagoda_syncs_failed(&submit->syncs)) {
		drm_dbg_driver(queue->vidmm->drm,
			       "a job is cancelled: the paging it waits for failed\n");
		return -ECANCELED;
	}
	ret = submit_make(submit, false);
	if (ret)
		pagoda_context_give_up(submit->context);
	return ret;
}

/* The reference to the context is dropped by who cancels the queue. */
static void submit_put_deferred(struct pagoda_deferred *queue, struct pagoda_deferred_item *item)
{
	pagoda_submit_free(submit_of(item));
}

const struct pagoda_deferred_ops pagoda_submit_deferred_ops = {
	.make = submit_make_deferred,
	.put = submit_put_deferred,
};

static int submit_defer(struct pagoda_submit *submit)
{
	int ret = submit_charge_wait(submit);

	if (!ret)
		ret = submit_count(submit);
	if (ret)
		return ret;
	ret = pagoda_deferred_prepare(&submit->item, &submit->syncs);
	if (ret)
		return ret;
	pagoda_deferred_add(&submit->context->deferred, &submit->item);
	return 0;
}

static bool submit_has_implicit(const struct pagoda_submit *submit)
{
	u32 i;

	for (i = 0; i < submit->nr_bos; i++)
		if (submit->flags[i] & DRM_PAGODA_SUBMIT_IMPLICIT && !submit->bos[i]->private_to)
			return true;
	return false;
}

/*
 * Jobs that are submitted later find the fence of a job with implicit sync: there has to be one.
 * -EAGAIN: not before what can be made of the queue was made.
 */
static int submit_check_implicit(struct pagoda_submit *submit, bool settled)
{
	struct pagoda_context *context = submit->context;

	if (!submit_has_implicit(submit))
		return 0;
	if (!pagoda_syncs_look(&submit->syncs)) {
		drm_dbg_driver(context->vm->vidmm->drm,
			       "implicit sync of a job that waits for what isn't submitted\n");
		return -EINVAL;
	}
	if (pagoda_deferred_is_empty(&context->deferred))
		return 0;
	if (!settled)
		return -EAGAIN;
	drm_dbg_driver(context->vm->vidmm->drm,
		       "implicit sync behind a job that waits for what isn't submitted\n");
	return -EINVAL;
}

/* The context is locked. The submission is used up if 0 is returned. */
static int submit_accept(struct pagoda_submit *submit, bool settled)
{
	struct pagoda_context *context = submit->context;
	int ret;

	if (context->dead)
		return -ENOENT;
	if (pagoda_exec_context_is_banned(context->exec) || READ_ONCE(context->vm->client->error))
		return -ECANCELED;
	ret = submit_check_implicit(submit, settled);
	if (ret)
		return ret;
	ret = submit_charge(submit);
	if (ret)
		return ret;
	if (!pagoda_syncs_look(&submit->syncs) || pagoda_syncs_failed(&submit->syncs) ||
	    !pagoda_deferred_is_empty(&context->deferred))
		return submit_defer(submit);
	ret = submit_make(submit, true);
	if (!ret)
		pagoda_submit_free(submit);
	return ret;
}

static int submit_in_turn(struct pagoda_submit *submit, bool settled, u64 *job)
{
	struct pagoda_context *context = submit->context;
	int ret = mutex_lock_interruptible(&context->lock);

	if (ret)
		return ret;
	ret = submit_accept(submit, settled);
	if (!ret)
		*job = ++context->accepted;
	mutex_unlock(&context->lock);
	return ret;
}

/**
 * pagoda_submit() - Have commands executed
 * @submit: What and with what, checked; used up
 * @job: Out: its number in its context
 *
 * If something it waits for isn't there, or something before it waits, it is kept in
 * the context's queue and made later.
 *
 * Context: May sleep and allocate. Outside of reservations.
 * Return: 0; -ENOMEM if something can't be resident; -ENODATA if something listed is offered;
 * -EBUSY if too many jobs are queued; -EINVAL if it uses implicit sync and would be kept;
 * -ECANCELED if the context is banned, the client in error or the VM unusable, -ENOENT if the
 * context is destroyed; -ENODEV, -EINTR or -ERESTARTSYS.
 */
int pagoda_submit(struct pagoda_submit *submit, u64 *job)
{
	struct pagoda_context *context = submit->context;
	int ret;

	pagoda_context_get(context);
	ret = submit_in_turn(submit, false, job);
	if (ret == -EAGAIN)
		ret = pagoda_deferred_settle(&context->deferred) ?:
		      submit_in_turn(submit, true, job);
	if (ret)
		pagoda_submit_free(submit);
	pagoda_context_put(context);
	return ret;
}
