// SPDX-License-Identifier: GPL-2.0
/*
 * Mappings that become valid again: mappings of allocations that moved are in the gpuva tree, but
 * not in the page tables. Such mappings of a VM are collected, whatever allocations they show, and
 * written to the page tables in batches, each with one TLB flush at most. The mappings are marked
 * valid in the gpuva tree only after the page tables were changed.
 *
 * Also makes mappings of offered allocations invalid (pagoda_offer_hide()).
 */
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include "mmu/mmu.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * Most mappings written to page tables by one change, for which arrays with an element for each
 * mapping are allocated.
 */
#define REBIND_BATCH	1024

static int rebind_grow(struct pagoda_rebind *rebind)
{
	u32 room = rebind->room ? 2 * rebind->room : 16;
	struct drm_gpuva **vas = kvmalloc_array(room, sizeof(*vas), GFP_KERNEL_ACCOUNT);

	if (!vas)
		return -ENOMEM;
	memcpy(vas, rebind->vas, rebind->count * sizeof(*vas));
	kvfree(rebind->vas);
	rebind->vas = vas;
	rebind->room = room;
	return 0;
}

/**
 * pagoda_rebind_add() - Collect the invalid mappings of an allocation
 * @rebind: Mappings collected so far
 * @vm_bo: Mappings of the allocation in the VM; nothing is collected if the allocation is offered
 *	or is where the GPU can't use the allocation. Else, without invalid mappings, @vm_bo leaves
 *	the VM's list of evicted allocations
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_rebind_add(struct pagoda_rebind *rebind, struct drm_gpuvm_bo *vm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(vm_bo->obj);
	struct ttm_resource *res = bo->ttm.resource;
	u32 before = rebind->count;
	struct drm_gpuva *va;
	int ret;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_rebind_add, rebind, vm_bo);
	if (!res || res->mem_type == TTM_PL_SYSTEM || pagoda_bo_is_offered(bo) ||
	    pagoda_import_is_away(bo))
		return 0;
	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (!drm_gpuva_invalidated(va))
			continue;
		if (rebind->count == rebind->room) {
			ret = rebind_grow(rebind);
			if (ret)
				return ret;
		}
		rebind->vas[rebind->count++] = va;
	}
	if (rebind->count == before)
		drm_gpuvm_bo_evict(vm_bo, false);
	return 0;
}

static int rebind_commit(struct pagoda_rebind *rebind, struct drm_gpuva **vas, u32 count,
			 struct pagoda_map *maps, struct pagoda_vm_place *places,
			 struct dma_fence **fence)
{
	struct pagoda_pt_update *update;
	int ret = 0;
	u32 i;

	for (i = 0; i < count && !ret; i++)
		ret = pagoda_vm_va_place_get(pagoda_va_of(vas[i]), &places[i], &maps[i]);
	if (!ret)
		ret = pagoda_space_prepare(rebind->vm->space, maps, count, &update);
	if (!ret)
		ret = pagoda_vm_commit(rebind->vm, update, fence);
	for (i = 0; i < count && !ret; i++)
		drm_gpuva_invalidate(vas[i], false);
	return ret;
}

static int rebind_batch(struct pagoda_rebind *rebind, struct drm_gpuva **vas, u32 count,
			struct dma_fence **fence)
{
	struct pagoda_map *maps = kvcalloc(count, sizeof(*maps), GFP_KERNEL_ACCOUNT);
	struct pagoda_vm_place *places = kvcalloc(count, sizeof(*places), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;
	u32 i;

	if (maps && places)
		ret = rebind_commit(rebind, vas, count, maps, places, fence);
	for (i = 0; places && i < count; i++)
		pagoda_vm_place_put(&places[i]);
	kvfree(places);
	kvfree(maps);
	return ret;
}

/**
 * pagoda_rebind_run() - Make the collected mappings valid
 * @rebind: Collected mappings; their allocations haven't moved since
 * @fence: *@fence, which may be NULL, is replaced by the fence that signals when the page tables
 *	are updated, if paging operations were emitted
 *
 * Context: May sleep and allocate; waits for the VM's jobs if the change isn't safe while these run
 * (C102). The VM's page tables are resident.
 * Return: 0, -ENOMEM or, in CPU_VIRTUAL mode, -EAGAIN (pagoda_room_later()) or another error of
 * allocating a page table; on failure some mappings may be valid.
 */
int pagoda_rebind_run(struct pagoda_rebind *rebind, struct dma_fence **fence)
{
	u32 done, step, i;
	int ret = 0;

	for (done = 0; done < rebind->count && !ret; done += step) {
		step = min_t(u32, rebind->count - done, REBIND_BATCH);
		ret = rebind_batch(rebind, rebind->vas + done, step, fence);
	}
	for (i = 0; i < rebind->count && !ret; i++)
		drm_gpuvm_bo_evict(rebind->vas[i]->vm_bo, false);
	return ret;
}

void pagoda_rebind_fini(struct pagoda_rebind *rebind)
{
	kvfree(rebind->vas);
	*rebind = (struct pagoda_rebind) { .vm = rebind->vm };
}

/*
 * Makes valid the VM's invalid mappings of those allocations that aren't offered and that the GPU
 * can use at their present place. Replaces *@fence, which may be NULL, by the fence that signals
 * when the page tables are updated, if paging operations were emitted. Caller holds the
 * reservations of the VM and of all mapped allocations; page tables are resident. Returns 0 or an
 * error of pagoda_rebind_run().
 */
int pagoda_rebind_all(struct pagoda_vm *vm, struct dma_fence **fence)
{
	struct pagoda_rebind rebind = { .vm = vm };
	struct drm_gpuvm_bo *vm_bo, *next;
	int ret = 0;

	/*
	 * No other thread changes the list: a change needs the reservation of the allocation that
	 * enters or leaves the list, and the caller holds those of all mapped allocations.
	 */
	list_for_each_entry_safe(vm_bo, next, &vm->base.evict.list, list.entry.evict) {
		ret = pagoda_rebind_add(&rebind, vm_bo);
		if (ret)
			break;
	}
	if (!ret)
		ret = pagoda_rebind_run(&rebind, fence);
	pagoda_rebind_fini(&rebind);
	return ret;
}

/**
 * pagoda_offer_hide() - Invalidate the mappings of allocations that were offered
 * @vm: VM, its reservation held
 *
 * The allocations are those in &pagoda_vm.offered, which is emptied. While jobs of the VM, which
 * may use the allocations, haven't ended, nothing is done.
 *
 * Context: May sleep and allocate. Not in a stream transaction.
 * Return: true if there are such allocations, and jobs that may use them, so that the mappings stay
 * valid.
 */
bool pagoda_offer_hide(struct pagoda_vm *vm)
{
	struct pagoda_bo *bo, *next;

	if (list_empty(&vm->offered))
		return false;
	if (pagoda_stream_has_foreign(vm->vidmm, pagoda_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP))
		return true;
	list_for_each_entry_safe(bo, next, &vm->offered, vm.evicted) {
		list_del_init(&bo->vm.evicted);
		pagoda_vm_bo_hide(bo, PAGODA_VM_HIDES);
	}
	return false;
}
