// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the job of a submission. These steps are done with the reservations of the VM and of the
 * allocations in step 2 held:
 *
 *	1. Page tables and the save area are made resident if they were evicted.
 *	2. Listed allocations, those of the client's residency list that the VM maps (C152; also
 *	   if they left the list while the submission was queued), and private allocations that
 *	   moved are placed where the GPU can use them, or the submission fails. Offered
 *	   allocations that aren't listed are passed over. How many bytes are evicted from VRAM for
 *	   allocations that could be used elsewhere is limited (pace.c).
 *	3. Invalid mappings become valid again. If steps 1 to 3 find no memory, the last attempt
 *	   takes all these allocations out of VRAM and places them anew. If that fails, too, the
 *	   caller (accept.c) waits without a lock or reservation until the client's jobs, and all
 *	   jobs that have a place of an engine by then, have ended, because these jobs keep page
 *	   tables in place; then the caller begins again, once.
 *	4. Swizzling ranges are taken from tiled allocations: the content that the CPU wrote to a
 *	   window gets into the tiles.
 *	5. The job gets its dependencies and is armed, the job's fence is published, and the job is
 *	   pushed to the scheduler.
 *
 * Until the job is armed, a submission that fails has changed nothing visible but the places of
 * allocations. The cost of a submission doesn't depend on the number of private allocations: those
 * that didn't move aren't visited, whether they are on the residency list or not, unless VRAM lacks
 * room or content of an allocation was lost.
 *
 * Paging that moves an allocation which the job may use first waits for the job's fence. For
 * private allocations, page tables and the save area the fence is in the VM's reservation; for each
 * other allocation, in the reservation of the allocation.
 */
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <drm/drm_device.h>
#include <drm/drm_exec.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/residency/residency.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "context.h"
#include "internal.h"
#include "submit.h"

/*
 * Most slots that the job's fence takes in one reservation: allocations that share the reservation
 * may differ in usage.
 */
#define SUBMIT_SLOTS	3

/* State of pagoda_submit_make(), which makes the job of a submission. */
struct submit_run {
	struct pagoda_submit *submit;
	struct pagoda_vm *vm;			/* its pagoda_vm.lock is held */
	struct pagoda_bo **bos;			/* listed ones; then the residency list's */
	u32 nr_bos;
	struct pagoda_bo **required;		/* @bos if allocated for the run, else NULL */
	struct pagoda_exec_job *job;
	enum pagoda_attempt attempt;
	bool misfits;				/* doesn't fit: another attempt now is in vain */
	struct pagoda_room room;		/* how private allocations make room */
	struct pagoda_pace pace;
	struct pagoda_rebind rebind;
	struct dma_fence *tables;		/* fence of page table updates, or NULL */
	struct pagoda_operation op;
	u64 losses;				/* pagoda_lost_mark() before submit_place() */
	struct dma_fence *fence;		/* out: the job's fence, a reference */
};

/**
 * pagoda_submit_free() - Free a submission
 * @submit: Submission; members that were not filled in yet are zero
 *
 * Drops the references to allocations and the context, uncharges the quota of what is still charged
 * for the submission, and takes back promised values of monitored fences that weren't signalled.
 *
 * Context: May sleep. Outside of reservations.
 */
void pagoda_submit_free(struct pagoda_submit *submit)
{
	pagoda_closing_let_go(submit);
	if (submit->held) {
		pagoda_quota_uncharge(submit->context->vm->client->quota, PAGODA_LIMIT_WAITING, 1);
		atomic_dec(&submit->context->held);
	}
	if (submit->quota && submit->fenced)
		pagoda_quota_uncharge(submit->quota, PAGODA_LIMIT_FENCED, 1);
	if (submit->quota)
		pagoda_quota_uncharge(submit->quota, PAGODA_LIMIT_JOBS, 1);
	if (submit->coming)
		pagoda_victims_forget(submit->context->vm->vidmm, submit->coming, submit->nr_bos);
	kvfree(submit->coming);
	while (submit->nr_bos)
		drm_gem_object_put(pagoda_bo_gem(submit->bos[--submit->nr_bos]));
	kvfree(submit->bos);
	kvfree(submit->flags);
	kfree(submit->buffers);
	dma_fence_put(submit->blockers);
	pagoda_syncs_put(&submit->syncs);
	if (submit->context)
		pagoda_context_put(submit->context);
	kfree(submit);
}

/* ---- Making a job's allocations resident ------------------------------------ */

/*
 * Called for an allocation that can't move before the fence @run->op.late has signalled. Returns 0
 * if the GPU can use the allocation where it is; else stores that fence in &pagoda_submit.blockers
 * and returns -EINPROGRESS.
 */
static int submit_late(struct submit_run *run, struct pagoda_bo *bo)
{
	struct dma_fence *late = run->op.late;

	run->op.late = NULL;
	if (pagoda_residency_is_placed(bo)) {
		dma_fence_put(late);
		return 0;
	}
	run->submit->blockers = late;
	return -EINPROGRESS;
}

static int submit_bring(struct submit_run *run, struct pagoda_bo *bo)
{
	int ret;

	pagoda_swizzle_expect_job(bo);
	ret = pagoda_pace_place(&run->pace, bo, &run->op);
	if (ret == -EINPROGRESS)
		ret = submit_late(run, bo);
	if (ret)
		return ret;
	ret = pagoda_lost_clear(bo);
	if (ret)
		return ret;
	pagoda_bo_set_resident(bo, true);
	return 0;
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
 * If paging has lost content of any allocation since the last call for the VM, replaces lost
 * content by zeros in all private allocations that the VM maps: submit_place() visits none that
 * didn't move, which may show another allocation's content. Returns 0 or a negative errno.
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

		if (bo && bo->vm.private_to == vm)
			ret = pagoda_lost_clear(bo);
		if (ret)
			return ret;
	}
	vm->losses = run->losses;
	return 0;
}

/*
 * Returns whether a submission places allocation @index of @run->bos and makes its mappings valid:
 * true unless the allocation is offered and only the residency list, not the job, lists it.
 */
static bool submit_uses(const struct submit_run *run, u32 index)
{
	return index < run->submit->nr_bos || !pagoda_bo_is_offered(run->bos[index]);
}

static int submit_bring_all(struct submit_run *run)
{
	struct pagoda_bo *bo;
	u32 rank, i;
	int ret;

	run->pace = (struct pagoda_pace) { .client = run->vm->client };
	for (rank = 0; rank < PAGODA_ROOM_RANKS; rank++) {
		for (i = 0; i < run->nr_bos; i++) {
			if (!submit_uses(run, i) || pagoda_room_rank(run->bos[i]) != rank)
				continue;
			ret = submit_bring(run, run->bos[i]);
			if (ret)
				return ret;
		}
		list_for_each_entry(bo, &run->vm->evicted, vm.evicted) {
			if (!submit_is_bound(bo) || pagoda_room_rank(bo) != rank)
				continue;
			ret = submit_bring(run, bo);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/*
 * Makes the invalid mappings of the job's allocations valid. Called when all these allocations have
 * been placed; they stay in place while the reservations are held. Returns 0 or a negative errno.
 */
static int submit_rebind_all(struct submit_run *run)
{
	struct pagoda_bo *bo;
	int ret = 0;
	u32 i;

	for (i = 0; i < run->nr_bos && !ret; i++)
		if (!run->bos[i]->vm.private_to && submit_uses(run, i))
			ret = submit_rebind_bo(run, run->bos[i]);
	list_for_each_entry(bo, &run->vm->evicted, vm.evicted) {
		if (ret)
			break;
		ret = submit_rebind_bo(run, bo);
	}
	if (!ret)
		ret = pagoda_room_later(&run->submit->blockers,
					pagoda_rebind_run(&run->rebind, &run->tables));
	pagoda_rebind_fini(&run->rebind);
	return ret;
}

static void submit_keep(struct submit_run *run, enum pagoda_vm_keep keep)
{
	pagoda_room_keep(run->vm, keep, keep == PAGODA_VM_KEEP_NOTHING ? NULL : run->op.exec);
	pagoda_victims_keep(run->vm->vidmm, run->bos, run->nr_bos, keep != PAGODA_VM_KEEP_NOTHING);
}

/*
 * Executes @step, and again as long as @step fails with -ENOMEM and pagoda_room_make() can make
 * room: private allocations of the VM may fill VRAM, and TTM evicts none of them that has mappings
 * while &pagoda_vm.keep isn't PAGODA_VM_KEEP_NOTHING. Returns 0 or a negative errno.
 */
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
	int ret = pagoda_room_later(&run->submit->blockers,
				    pagoda_vm_make_tables_resident(run->vm));

	return ret ?: pagoda_save_validate(&run->submit->context->save);
}

/*
 * Checks whether the allocations that the job needs at the same time fit. Returns 0 if so; -ENOSPC
 * if they wouldn't fit even if all other allocations left that can; or -ENOMEM if they may fit when
 * other jobs have ended, which keep page tables and save areas in VRAM. Sets @run->misfits after an
 * error. The first attempt counts only @run->bos, because a VM may have many private allocations.
 */
static int submit_check_demand(struct submit_run *run)
{
	bool first = run->attempt == PAGODA_ATTEMPT_FIRST;
	struct pagoda_demand demand = {};
	u64 misfit;
	u32 i;
	int ret;

	if (!first)
		pagoda_room_demand_all(run->vm, &demand);
	for (i = 0; i < run->nr_bos; i++)
		if (submit_uses(run, i) &&
		    (first || !run->bos[i]->vm.private_to || !submit_is_bound(run->bos[i])))
			pagoda_demand_add_movable(&demand, run->bos[i]);
	ret = pagoda_fixed_check(run->vm->vidmm, &demand, run->vm, &misfit);
	if (!ret && !pagoda_fixed_leaves_room(run->vm))
		ret = -ENOMEM;
	run->misfits = ret;
	return ret;
}

/*
 * Steps 1 to 3: places page tables, the save area and the job's allocations, and makes the mappings
 * valid. Returns 0 or a negative errno.
 */
static int submit_place(struct submit_run *run)
{
	int ret = submit_check_demand(run);
	u32 i;

	if (ret)
		return ret;
	/*
	 * Because of fragmentation the allocations may fit only if all of them are placed anew.
	 * Page tables, which fit anywhere, are placed after them.
	 */
	if (run->attempt == PAGODA_ATTEMPT_ANEW) {
		submit_keep(run, PAGODA_VM_KEEP_PRIVATE);
		ret = pagoda_room_leave_all(run->vm);
		for (i = 0; i < run->nr_bos && !ret; i++)
			ret = pagoda_room_leave(run->bos[i]);
		if (!ret)
			ret = submit_bring_all(run);
		if (ret)
			return ret;
	}
	submit_keep(run, PAGODA_VM_KEEP_BOUND);
	ret = submit_in_room(run, submit_bring_tables);
	if (ret)
		return ret;
	ret = submit_in_room(run, submit_bring_all);
	return ret ?: submit_in_room(run, submit_rebind_all);
}

/*
 * Invalidates the VM's mappings of private allocations that were offered, unless other jobs of the
 * VM, which may use them, are in flight. If such jobs are in flight, a job that isn't fenced is put
 * off once: gives the engine's place away, sets &pagoda_submit.blockers to a fence behind the other
 * jobs, and returns -ERESTART. In all other cases returns 0; mappings that stayed valid are
 * invalidated by a later job.
 */
static int submit_hide_offers(struct submit_run *run)
{
	struct pagoda_submit *submit = run->submit;

	if (!pagoda_offer_hide(run->vm) || submit->fenced || submit->let_end)
		return 0;
	if (dma_resv_get_singleton(pagoda_vm_resv(run->vm), DMA_RESV_USAGE_BOOKKEEP,
				   &submit->blockers))
		return 0;
	submit->let_end = true;
	pagoda_exec_context_pass(submit->context->exec);
	return -ERESTART;
}

/*
 * Makes resident all that the job needs, makes mappings valid, and notes the use of the allocations
 * for the choice of victims. Plugs the stream of paging operations, so that moves share paging
 * buffers. Returns 0 or a negative errno.
 */
static int submit_validate(struct submit_run *run)
{
	struct pagoda_vm *vm = run->vm;
	struct pagoda_vidmm *vidmm = vm->vidmm;
	int ret = submit_hide_offers(run);
	struct pagoda_plug plug;
	u32 i;

	if (ret)
		return ret;
	run->room = (struct pagoda_room) {
		.vm = vm,
		.last = run->attempt != PAGODA_ATTEMPT_FIRST,
	};
	run->tables = NULL;
	run->losses = pagoda_lost_mark(vidmm);
	pagoda_stream_plug(vidmm, &plug);
	pagoda_pace_again(vm);
	ret = submit_clear_lost(run) ?: submit_place(run);
	submit_keep(run, PAGODA_VM_KEEP_NOTHING);
	pagoda_stream_unplug(vidmm, &plug);
	dma_fence_put(run->tables);
	if (ret)
		return ret;
	pagoda_pace_settle(&run->pace, vm, run->submit->context->id);
	for (i = 0; i < run->nr_bos; i++)
		ttm_bo_move_to_lru_tail_unlocked(&run->bos[i]->ttm);
	spin_lock(&vidmm->ttm.lru_lock);
	ttm_lru_bulk_move_tail(&vm->uses.bulk);
	spin_unlock(&vidmm->ttm.lru_lock);
	pagoda_victims_used(vidmm, &vm->uses, run->bos, run->nr_bos, run->submit->flags,
			    run->submit->nr_bos);
	return 0;
}

/* ---- Making the job --------------------------------------------------------- */

/* Returns the DRM_PAGODA_SUBMIT_* flags of an allocation; 0 if the job doesn't list it. */
static u32 submit_flags(const struct submit_run *run, u32 index)
{
	return index < run->submit->nr_bos ? run->submit->flags[index] : 0;
}

/*
 * Returns true if the job synchronises implicitly with other users of an allocation; false for a
 * private allocation, which no other VM uses.
 */
static bool submit_is_implicit(const struct submit_run *run, u32 index)
{
	return submit_flags(run, index) & DRM_PAGODA_SUBMIT_IMPLICIT &&
	       !run->bos[index]->vm.private_to;
}

/*
 * Adds the job's dependencies: fences of paging and of page table updates; for implicit
 * synchronisation, other fences of allocations; and fences of &pagoda_submit.syncs. Returns 0 or a
 * negative errno.
 */
static int submit_depend(struct submit_run *run)
{
	struct dma_fence *fence;
	u32 i, index = 0;
	int ret;

	ret = pagoda_exec_job_add_resv(run->job, pagoda_vm_resv(run->vm), DMA_RESV_USAGE_KERNEL);
	if (ret)
		return ret;
	pagoda_space_lock(run->vm->space);
	fence = run->vm->last ? dma_fence_get(run->vm->last) : NULL;
	pagoda_space_unlock(run->vm->space);
	if (fence)
		ret = pagoda_exec_job_add_fence(run->job, fence);
	dma_fence_put(fence);
	for (i = 0; i < run->nr_bos && !ret; i++) {
		bool write = submit_flags(run, i) & DRM_PAGODA_SUBMIT_WRITE;

		ret = pagoda_exec_job_add_resv(run->job, pagoda_bo_gem(run->bos[i])->resv,
					       submit_is_implicit(run, i) ?
					       dma_resv_usage_rw(write) : DMA_RESV_USAGE_KERNEL);
	}
	while (!ret && (fence = pagoda_syncs_next(&run->submit->syncs, &index)))
		ret = pagoda_exec_job_add_fence(run->job, fence);
	return ret;
}

/*
 * Returns a reference to an unsignalled fence that is neither of paging nor of a job that has a
 * place of an engine: @fence itself or, if @fence is a point of a timeline, the fence of that point
 * or of an earlier point. NULL if there is none.
 */
static struct dma_fence *fence_find_queued(struct pagoda_vidmm *vidmm, struct dma_fence *fence)
{
	struct dma_fence *point, *found = NULL;

	dma_fence_chain_for_each(point, fence) {
		struct dma_fence *work = dma_fence_chain_contained(point);

		if (!pagoda_stream_is_queued(vidmm, work))
			continue;
		found = dma_fence_get(work);
		dma_fence_put(point);
		break;
	}
	return found;
}

/*
 * Returns a reference to an unsignalled fence that the job waits for and that is neither of paging
 * nor of a job that has a place of an engine; or NULL.
 */
static struct dma_fence *submit_find_queued(struct submit_run *run)
{
	struct pagoda_vidmm *vidmm = run->vm->vidmm;
	struct dma_fence *found = NULL, *fence;
	u32 i, index = 0;

	while (!found && (fence = pagoda_syncs_next(&run->submit->syncs, &index)))
		found = fence_find_queued(vidmm, fence);
	for (i = 0; i < run->nr_bos && !found; i++) {
		bool write = submit_flags(run, i) & DRM_PAGODA_SUBMIT_WRITE;

		if (submit_is_implicit(run, i))
			found = pagoda_stream_get_queued(vidmm, pagoda_bo_gem(run->bos[i])->resv,
							 dma_resv_usage_rw(write));
	}
	return found;
}

/*
 * Returns the number of pages of VRAM that the client's allocations, and others that this job uses,
 * have now.
 */
static u64 submit_pages(const struct submit_run *run)
{
	struct pagoda_client *client = run->vm->client;
	u64 bytes = pagoda_budget_usage(&client->budget, DRM_PAGODA_SEGMENT_GROUP_LOCAL);
	u32 i;

	for (i = 0; i < run->nr_bos; i++)
		if (run->bos[i]->client != client && pagoda_bo_is_in_vram(run->bos[i]))
			bytes += run->bos[i]->ttm.base.size;
	return bytes >> PAGE_SHIFT;
}

/*
 * Gives a fenced job that waits for nothing but paging a place of the engine, if there is one.
 * Returns true if the job has the place now.
 */
static bool submit_place_fenced(struct submit_run *run)
{
	struct pagoda_exec_context *exec = run->submit->context->exec;
	bool ready = pagoda_syncs_are_done(&run->submit->syncs);
	u32 i;

	for (i = 0; i < run->nr_bos && ready; i++) {
		bool write = submit_flags(run, i) & DRM_PAGODA_SUBMIT_WRITE;

		ready = !submit_is_implicit(run, i) ||
			!pagoda_stream_has_foreign(run->vm->vidmm, pagoda_bo_gem(run->bos[i])->resv,
						   dma_resv_usage_rw(write));
	}
	if (!ready)
		return false;
	if (pagoda_exec_context_ask(exec) && pagoda_exec_job_place(run->job))
		return true;
	pagoda_exec_context_pass(exec);
	return false;
}

/*
 * Gives a fenced job a place of the engine now or, if that isn't possible, has the job wait for a
 * place after it was armed; this function doesn't wait. Until the job has the place, what it uses
 * can't leave VRAM. If that is more than the user's share allows, and the job waits for other
 * fences than those of paging and of jobs with places, sets &pagoda_submit.blockers to such a fence
 * and returns -EINPROGRESS. Else returns 0 or another negative errno.
 */
static int submit_wait_place(struct submit_run *run)
{
	struct pagoda_submit *submit = run->submit;

	if (submit_place_fenced(run))
		return 0;
	if (!pagoda_quota_hold(submit->quota, submit_pages(run)))
		submit->blockers = submit_find_queued(run);
	if (submit->blockers)
		return -EINPROGRESS;
	return pagoda_exec_job_wait_place(run->job);
}

/* Arms the job, publishes the job's fence and pushes the job to the scheduler; can't fail. */
static void submit_push(struct submit_run *run)
{
	u32 i;

	pagoda_exec_job_arm(run->job);
	run->fence = dma_fence_get(run->job->fence);
	dma_resv_add_fence(pagoda_vm_resv(run->vm), run->fence, DMA_RESV_USAGE_BOOKKEEP);
	for (i = 0; i < run->nr_bos; i++) {
		bool write = submit_flags(run, i) & DRM_PAGODA_SUBMIT_WRITE;

		if (run->bos[i]->vm.private_to)
			continue;
		dma_resv_add_fence(pagoda_bo_gem(run->bos[i])->resv, run->fence,
				   !submit_is_implicit(run, i) ? DMA_RESV_USAGE_BOOKKEEP :
				   write ? DMA_RESV_USAGE_WRITE : DMA_RESV_USAGE_READ);
	}
	/* From here on the job, not the submission, gives back what was charged to the quota. */
	run->job->payer = run->submit->quota;
	run->job->fenced = run->submit->fenced;
	run->submit->quota = NULL;
	pagoda_exec_job_push(run->job);
	run->job = NULL;
}

/*
 * Makes resident all that the job needs, and makes and pushes the job. The caller holds the VM's
 * lock and all reservations. Returns 0 or a negative errno: -ERESTART if a job that isn't fenced
 * gets no place of the engine, or because of submit_hide_offers().
 */
static int submit_locked(struct submit_run *run)
{
	const struct pagoda_submit *submit = run->submit;
	int ret = submit_validate(run);
	u32 i;

	if (ret)
		return ret;
	/* Move what the CPU wrote from windows to tiles; the next CPU access waits for the job. */
	ret = pagoda_swizzle_use_private(run->vm->vidmm, run->vm);
	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = pagoda_swizzle_use(run->bos[i]);
	if (ret)
		return ret;
	run->job = pagoda_exec_job_create(submit->context->exec, submit->nr_buffers);
	if (IS_ERR(run->job))
		return PTR_ERR(run->job);
	run->job->mark = run->losses;
	run->job->kcov = run->vm->client->kcov;
	memcpy(run->job->buffers, submit->buffers, submit->nr_buffers * sizeof(*submit->buffers));
	ret = submit_depend(run);
	if (!ret)
		ret = dma_resv_reserve_fences(pagoda_vm_resv(run->vm), SUBMIT_SLOTS);
	for (i = 0; i < run->nr_bos && !ret; i++)
		ret = dma_resv_reserve_fences(pagoda_bo_gem(run->bos[i])->resv, SUBMIT_SLOTS);
	if (!ret && submit->fenced)
		ret = submit_wait_place(run);
	else if (!ret && !pagoda_exec_job_place(run->job))
		ret = -ERESTART;
	if (ret)
		pagoda_exec_job_put(run->job);
	else
		submit_push(run);
	return ret;
}

/*
 * Locks all reservations, prepares, arms and pushes the job, all in the drm_exec loop, so that
 * victims can be locked with the ticket of the drm_exec; then unlocks. Returns 0; -ENODATA if a
 * listed allocation is offered; or another negative errno, as submit_locked().
 */
static int submit_in_vm(struct submit_run *run)
{
	u32 flags = run->op.ttm.interruptible ? DRM_EXEC_INTERRUPTIBLE_WAIT : 0;
	struct drm_exec exec;
	int ret = 0;
	u32 i;

	drm_exec_init(&exec, DRM_EXEC_IGNORE_DUPLICATES | flags, run->nr_bos + 1);
	drm_exec_until_all_locked(&exec) {
		ret = drm_gpuvm_prepare_vm(&run->vm->base, &exec, 1);
		for (i = 0; i < run->nr_bos && !ret; i++) {
			ret = drm_exec_prepare_obj(&exec, pagoda_bo_gem(run->bos[i]), 1);
			if (!ret && i < run->submit->nr_bos && pagoda_offer_refuses(run->bos[i]))
				ret = -ENODATA;
		}
		drm_exec_retry_on_contention(&exec);
		run->op.exec = &exec;
		if (!ret)
			ret = submit_locked(run);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	drm_exec_fini(&exec);
	return ret;
}

/*
 * Takes pagoda_vm.lock, so that no mapping is added or removed, and makes one attempt to prepare,
 * arm and push the job. Returns 0 or a negative errno.
 */
static int submit_try(struct submit_run *run)
{
	const struct pagoda_submit *submit = run->submit;
	struct pagoda_vm *vm = run->vm;
	int ret = 0;

	if (run->op.ttm.interruptible)
		ret = mutex_lock_interruptible(&vm->lock);
	else
		mutex_lock(&vm->lock);
	if (ret)
		return ret;
	/* &submit_run.required stays NULL if the residency list adds no allocation. */
	ret = vm->error ? -ECANCELED :
			  pagoda_require_bound(vm, submit->queued ? submit->number : U64_MAX,
					       submit->bos, submit->nr_bos, &run->required,
					       &run->nr_bos);
	run->bos = run->required ?: submit->bos;
	if (!ret)
		ret = submit_in_vm(run);
	mutex_unlock(&vm->lock);
	if (run->required) {
		while (run->nr_bos > submit->nr_bos)
			drm_gem_object_put(pagoda_bo_gem(run->required[--run->nr_bos]));
		kvfree(run->required);
		run->required = NULL;
	}
	return ret;
}

/*
 * Makes the job of a submission, that is prepares, arms and pushes the job, and gives the job's
 * fence to the syncobjs; @submit stays the caller's. Called when all fences and values that the job
 * waits for exist. If @interruptible, signals end waits. If there is no room, makes attempts that
 * move more allocations (enum pagoda_attempt). Returns 0 or a negative errno, such as
 *
 *	-ENOSPC		the job doesn't fit, whatever leaves
 *	-ENOMEM, -EBUSY	there may be room when other jobs have ended (pagoda_room_blockers())
 *	-ERESTART	the job has to ask for a place of the engine again; if
 *			&pagoda_submit.blockers isn't NULL, after that fence has signalled
 *	-EINPROGRESS	the job can't be made before &pagoda_submit.blockers has signalled: memory
 *			that the job needs can't move until then, or the job is fenced and would
 *			hold too much memory while it waits for that fence; or the fence has
 *			signalled, and the job is to be made again at once (pagoda_room_later())
 *	-ENODATA	a listed allocation is offered
 *	-ECANCELED	the VM is unusable
 */
int pagoda_submit_make(struct pagoda_submit *submit, bool interruptible)
{
	struct pagoda_vm *vm = submit->context->vm;
	struct submit_run run = {
		.submit = submit,
		.vm = vm,
		.rebind.vm = vm,
		.op.ttm = {
			.interruptible = interruptible,
			.resv = pagoda_vm_resv(vm),
			.allow_res_evict = true,
		},
		.op.flags = PAGODA_PL_PROMPT,
	};
	int ret;

	pagoda_assert_entered(vm->vidmm);
	for (; run.attempt < PAGODA_ATTEMPTS; run.attempt++) {
		run.op.urgent = run.attempt != PAGODA_ATTEMPT_FIRST;
		ret = submit_try(&run);
		if ((ret != -ENOMEM && ret != -EBUSY) || run.misfits)
			break;
	}
	if (ret)
		return ret;
	/*
	 * Allow offers before the syncobjs are signalled: a thread that waits for the syncobjs may
	 * offer allocations that the job used.
	 */
	pagoda_closing_let_go(submit);
	pagoda_syncs_signal(vm->vidmm, &submit->syncs, run.fence);
	dma_fence_put(run.fence);
	return 0;
}
