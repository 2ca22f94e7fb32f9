// SPDX-License-Identifier: GPL-2.0
/*
 * Resets of the whole device, phase 2: the device's state is rebuilt from the driver's records.
 *
 *	1. sections	no thread is in a section; the records forget the roots and mappings that
 *			the device lost
 *	2. stream	the driver's own pages are mapped in the device MMU, the paging process
 *			gets its page tables and root; from then on paging works
 *	3. allocations	their pages are mapped in the device MMU, and in the aperture, where WDDM
 *			wants an unmap first; lost content of VRAM is reported to the device, by a
 *			TRANSFER without size per allocation, and replaced by zeros, unless a save
 *			area had it; offered allocations that lost content leave VRAM
 *	4. spaces	for contexts with armed jobs: page tables are written again at their
 *			present addresses, roots are set, lost save areas are initialised
 *	5. fences	monitored fences get their values back, and the engines go on
 *
 * How long the rebuild takes mustn't depend on what idle clients have. So the page tables of a VM
 * without armed jobs stay lost until a VM_BIND or a job of the VM brings them back, as after an
 * eviction (pagoda_vm_make_tables_resident()), and the save area of a context without armed jobs
 * until its next job is prepared (pagoda_save_validate()). The client that uses the VM does that
 * and pays. Until then the device has no root of the VM.
 *
 * TTM's worker, page faults, swapping and dma-buf's calls enter no section: they take reservations,
 * locks of address spaces and the stream during a rebuild, too. The paging that they emit is
 * correct: no paging is executed before step 2, when step 1 has removed from the records what the
 * device lost, and a move before step 3 maps the moved pages in the device MMU itself.
 *
 * Fences of jobs and paging from before the reset never wait for the rebuild, which allocates. The
 * rebuild waits for paging only, neither for jobs that haven't begun nor for what these wait for.
 */
#include <linux/delay.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/submit/context.h"
#include "vidmm/submit/submit.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "internal.h"
#include "recover.h"

/*
 * REBUILD_TRIES: most tries of a rebuild, not counting those that fail with -EAGAIN or during which
 * the device was reset again.
 * REBUILD_WAIT_MS: milliseconds between two tries.
 */
#define REBUILD_TRIES	200
#define REBUILD_WAIT_MS	10

/*
 * The paging operations that map one allocation in the aperture again after a reset of the device,
 * and repeat the allocation's residency notices. Content isn't moved.
 */
struct rebuild {
	struct pagoda_vidmm *vidmm;
	struct pagoda_bo *bo;			/* reservation held */
	struct pagoda_stream_txn *txn;		/* NULL in the pass that adds up @cost */
	struct pagoda_paging_cost cost;
};

static int rebuild_op(void *arg, struct pagoda_paging_op *op)
{
	struct rebuild *r = arg;
	struct pagoda_vidmm *vidmm = r->vidmm;

	op->allocation = r->bo->id;
	if (r->txn)
		return pagoda_stream_emit(r->txn, op);
	pagoda_cost_add(&r->cost, pagoda_stream_cost(vidmm, op), 1);
	return 0;
}

static int rebuild_aperture(struct rebuild *r)
{
	struct ttm_resource *res = r->bo->ttm.resource;
	struct pagoda_paging_op op;
	struct pagoda_adl pages;
	int ret;

	if (!pagoda_release_is_mapped(res))
		return 0;
	pagoda_bo_adl(r->bo, &pages);
	op = pagoda_release_unmap_op(r->vidmm, res);
	ret = rebuild_op(r, &op);
	op = pagoda_move_map_op(r->bo, res, &pages);
	return ret ?: rebuild_op(r, &op);
}

/*
 * Repeats the notices, if there were any, that the allocation @r->bo is resident: the device forgot
 * them in the reset. Returns 0 or a negative errno.
 */
static int rebuild_notices(struct rebuild *r)
{
	if (!r->bo->content.told)
		return 0;
	return min(pagoda_notice_arrived(r->bo, r->bo->ttm.resource, rebuild_op, r), 0);
}

static int rebuild_run(struct rebuild *r)
{
	return rebuild_aperture(r) ?: rebuild_notices(r);
}

static int rebuild_mappings(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo)
{
	struct rebuild r = { .vidmm = vidmm, .bo = bo };
	struct pagoda_stream_txn txn;
	int ret = rebuild_run(&r);

	if (ret || !r.cost.packets)
		return ret;
	ret = pagoda_stream_begin(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, 0, &r.cost);
	if (ret)
		return ret;
	r.txn = &txn;
	ret = rebuild_run(&r);
	dma_fence_put(pagoda_stream_end(&txn));
	return ret;
}

/*
 * If paging of an allocation was given up because of a reset, has rebuild_tell() mark the contexts
 * of all VMs that map the allocation, and of the VM to which it is private, as reset, and ban these
 * contexts if that paging broke the device (C190).
 */
static void rebuild_blame(struct pagoda_bo *bo)
{
	u32 aborted = atomic_xchg(&bo->content.aborted, 0);
	struct drm_gpuvm_bo *vm_bo;

	if (!aborted)
		return;
	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		atomic_or(aborted, &pagoda_vm_of(vm_bo->vm)->aborted);
	if (bo->vm.private_to)
		atomic_or(aborted, &bo->vm.private_to->aborted);
}

/*
 * Has an allocation with content from before the reset leave VRAM if it is offered. If a job that
 * hasn't begun may use the offered allocation, it stays, because the rebuild doesn't wait for such
 * jobs: the offered content is replaced by zeros.
 */
static int rebuild_offered(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo)
{
	if (!pagoda_bo_is_offered(bo) ||
	    !pagoda_stream_has_foreign(vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP))
		return pagoda_offer_drop(bo);
	pagoda_offer_torn(bo);
	return 0;
}

/*
 * Marks the content of a save area as lost if it is @stale. The zeros, and what the device is told,
 * are left to pagoda_save_validate(), or to a move. Returns whether the content counts as lost by
 * this reset: not if an earlier loss wasn't made good yet.
 */
static bool rebuild_lost_save(struct pagoda_bo *bo, bool stale)
{
	bool news = stale && !READ_ONCE(bo->content.lost);

	if (news)
		pagoda_bo_mark_lost(bo);
	return news;
}

static int rebuild_reserved(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo, u32 *lost)
{
	bool stale, clear;
	int ret;

	dma_resv_assert_held(bo->ttm.base.resv);
	stale = pagoda_lost_is_stale(bo);
	/*
	 * VRAM content that bears the epoch &pagoda_reset.kept_epoch was preserved over a sleep of
	 * the machine, and belongs to the epoch which that sleep began. If the device was reset
	 * since, the content is stale.
	 */
	if (stale && bo->content.epoch == READ_ONCE(vidmm->reset->kept_epoch)) {
		bo->content.epoch++;
		stale = pagoda_lost_is_stale(bo);
	}
	ret = stale ? rebuild_offered(vidmm, bo) : 0;
	if (ret)
		return ret;
	stale = pagoda_lost_is_stale(bo);
	if (bo->vm.save_of)
		stale = rebuild_lost_save(bo, stale);
	/* Content that was lost because paging failed or was given up needs zeros, too. */
	clear = !bo->vm.save_of && (stale || READ_ONCE(bo->content.unclean));
	ret = pagoda_device_mmu_remap(vidmm, bo->ttm.ttm);
	if (!ret && bo->ttm.resource)
		ret = rebuild_mappings(vidmm, bo);
	/* Have the next CPU access fault and wait until the zeros are written. */
	if (!ret && clear)
		ttm_bo_unmap_virtual(&bo->ttm);
	if (!ret && clear)
		ret = pagoda_lost_clear(bo);
	*lost += !ret && stale;
	rebuild_blame(bo);
	return ret;
}

/* Returns whether a reset may lose anything of the allocation, as %PAGODA_BO_EXPOSED says. */
static bool rebuild_is_exposed(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	return (res && (res->mem_type == TTM_PL_VRAM || pagoda_aperture_has_address(res))) ||
	       bo->content.told || READ_ONCE(bo->content.unclean);
}

/*
 * Rebuilds an allocation, and removes its mark %PAGODA_BO_EXPOSED unless a next reset may lose
 * anything of it. The mark is removed first: stream_lost_packet() may set it at any time.
 */
static int rebuild_allocation(struct pagoda_vidmm *vidmm, struct pagoda_bo *bo, u32 *lost)
{
	int ret;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	xa_clear_mark(&vidmm->bos, bo->id, PAGODA_BO_EXPOSED);
	ret = rebuild_reserved(vidmm, bo, lost);
	if (ret || rebuild_is_exposed(bo))
		pagoda_bo_expose(bo);
	dma_resv_unlock(bo->ttm.base.resv);
	return ret;
}

/*
 * Rebuilds all allocations of which the reset may have lost anything: with a device MMU all, else
 * those with the mark %PAGODA_BO_EXPOSED.
 */
static int rebuild_allocations(struct pagoda_vidmm *vidmm, u32 *lost)
{
	xa_mark_t filter = vidmm->info->mmu_pages ? XA_PRESENT : PAGODA_BO_EXPOSED;
	struct pagoda_bo *bo;
	unsigned long id = 0;
	int ret = 0;

	for (; !ret && (bo = pagoda_bo_next(vidmm, &id, filter)); id++) {
		ret = rebuild_allocation(vidmm, bo, lost);
		drm_gem_object_put(&bo->ttm.base);
	}
	return ret;
}

/*
 * Marks all contexts of a VM as reset if paging of an allocation that the VM maps was given up.
 * Bans the contexts if that paging broke the device (C190). The marks are set even if the rebuild
 * fails later, because a repeated rebuild finds &pagoda_vm.aborted cleared.
 */
static void rebuild_tell(struct pagoda_vm *vm)
{
	u32 aborted = atomic_xchg(&vm->aborted, 0);
	struct pagoda_context *context;
	struct pagoda_save *save;

	if (!aborted)
		return;
	mutex_lock(&vm->lock);
	list_for_each_entry(save, &vm->saves, entry) {
		context = container_of(save, struct pagoda_context, save);
		atomic_or(DRM_PAGODA_CONTEXT_RESET, &context->state);
		if (aborted & PAGODA_ABORTED_TO_BLAME)
			pagoda_context_give_up(context);
	}
	mutex_unlock(&vm->lock);
}

/* Returns true if a context has armed jobs that haven't ended. */
static bool rebuild_is_armed(const struct pagoda_context *context)
{
	u64 submitted, completed;

	if (!context->exec)
		return false;
	pagoda_exec_context_progress(context->exec, &submitted, &completed);
	return submitted != completed;
}

/* Rebuilds the page tables of a VM, and save areas of its contexts that have armed jobs. */
static int rebuild_space(struct pagoda_vm *vm)
{
	struct pagoda_save *save;
	int ret;

	mutex_lock(&vm->lock);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	ret = pagoda_vm_rebuild_tables(vm);
	list_for_each_entry(save, &vm->saves, entry) {
		if (ret)
			break;
		if (rebuild_is_armed(container_of(save, struct pagoda_context, save)))
			ret = pagoda_save_rebuild(save);
	}
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	return ret;
}

/*
 * Rebuilds the VMs that have armed jobs: such a job isn't prepared again, and may run once the
 * engines go on. All jobs that an ioctl or a worker armed have their fences in the VM's reservation
 * by now, because no thread is in a section. Waits for the device only to set roots, and in
 * CPU_VIRTUAL mode.
 */
static int rebuild_spaces(struct pagoda_vidmm *vidmm)
{
	struct pagoda_plug plug;
	struct pagoda_vm *vm;
	int ret = 0;

	pagoda_stream_plug(vidmm, &plug);
	mutex_lock(&vidmm->reset->vms_lock);
	list_for_each_entry(vm, &vidmm->reset->vms, entry) {
		rebuild_tell(vm);
		if (pagoda_stream_is_awaited(vidmm, pagoda_vm_resv(vm)))
			ret = rebuild_space(vm);
		if (ret)
			break;
	}
	mutex_unlock(&vidmm->reset->vms_lock);
	pagoda_stream_unplug(vidmm, &plug);
	return ret;
}

/* Removes roots and mappings that the device lost in the reset from the driver's records. */
static void rebuild_forget(struct pagoda_vidmm *vidmm)
{
	struct pagoda_vm *vm;

	mutex_lock(&vidmm->reset->vms_lock);
	list_for_each_entry(vm, &vidmm->reset->vms, entry)
		pagoda_space_forget(vm->space);
	mutex_unlock(&vidmm->reset->vms_lock);
	pagoda_tables_forget(vidmm);
	pagoda_swizzle_forget(vidmm);
}

static int rebuild_all(struct pagoda_vidmm *vidmm, u32 *lost)
{
	struct pagoda_paging_cost cost;
	struct pagoda_plug plug;
	int ret;

	rebuild_forget(vidmm);
	cost = pagoda_device_mmu_own_cost(vidmm);
	/* Map the driver's pages first: each paging buffer writes the fence page at its end. */
	ret = pagoda_stream_restart(vidmm, &cost, pagoda_device_mmu_remap_own);
	if (ret)
		return ret;
	/* Wait until earlier submissions are given up and have marked their allocations. */
	pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	pagoda_device_mmu_drop_kept(vidmm);
	pagoda_stream_plug(vidmm, &plug);
	ret = rebuild_allocations(vidmm, lost);
	pagoda_stream_unplug(vidmm, &plug);
	if (!ret)
		ret = rebuild_spaces(vidmm);
	pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	if (!ret)
		pagoda_mfence_restore_all(vidmm);
	return ret;
}

/*
 * Tries of a rebuild: how many are left, and the number of allocations whose content tries so far
 * found lost in the reset that began @epoch.
 */
struct rebuild_tries {
	u32 left;
	u64 epoch;
	u32 lost;
};

/*
 * Tries a rebuild. A failure lowers tries->left, unless the error is -EAGAIN or the device was
 * reset during the try; at 0 the device is never used again. Returns true if the rebuild has to be
 * tried again.
 */
static bool rebuild_try(struct pagoda_vidmm *vidmm, struct rebuild_tries *tries)
{
	u64 epoch = pagoda_reset_epoch(vidmm);
	int ret;

	if (epoch != tries->epoch)
		tries->lost = 0;
	tries->epoch = epoch;
	ret = rebuild_all(vidmm, &tries->lost);
	if (epoch != pagoda_reset_epoch(vidmm))
		return true;
	if (ret == -EAGAIN || (ret && --tries->left)) {
		msleep(REBUILD_WAIT_MS);
		return true;
	}
	if (ret)
		drm_err(vidmm->drm, "the device can't be built anew (%d)\n", ret);
	return !pagoda_reset_end(vidmm, epoch, tries->lost, ret);
}

/*
 * Work item &pagoda_reset.rebuild: rebuilds the device's state after a reset, phase 2 of the reset.
 */
static void reset_rebuild(struct work_struct *work)
{
	struct pagoda_reset *reset = container_of(work, struct pagoda_reset, rebuild);
	struct pagoda_vidmm *vidmm = reset->vidmm;
	struct rebuild_tries tries = { .left = REBUILD_TRIES };

	down_write(&reset->sections);
	/* May find nothing to rebuild: a reset during a rebuild queues the work item again. */
	while (pagoda_reset_is_pending(vidmm) && !READ_ONCE(reset->asleep) &&
	       rebuild_try(vidmm, &tries))
		;
	up_write(&reset->sections);
}

/**
 * pagoda_rebuild_init() - Set up the work item that rebuilds the device after a reset
 * @vidmm: Manager, after pagoda_reset_init()
 * @args: Unused
 *
 * Context: Probe.
 * Return: 0.
 */
int pagoda_rebuild_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	INIT_WORK(&vidmm->reset->rebuild, reset_rebuild);
	return 0;
}
