// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables as allocations: except in CPU_VIRTUAL mode (tables.c), a VM's tables are kernel
 * allocations in VRAM with the VM's reservation, each contiguous and aligned to its size. A table
 * leaves its place only by eviction, which copies nothing, because mmu/ has a copy of the content
 * of each table. pagoda_vm_may_evict() tells whether VMs let a table, or any other allocation,
 * leave its place now.
 */
#include "core/core.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * Allocates VRAM for a page table of @size bytes, and fills @memory. May evict other
 * allocations. Caller holds the VM's reservation. Returns 0 or -ENOMEM.
 */
int pagoda_vm_table_alloc(struct pagoda_vm *vm, u32 size, struct pagoda_table_memory *memory)
{
	const struct pagoda_bo_params params = {
		.size = size,
		.flags = DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM),
		.alignment = size,
	};
	struct pagoda_bo *bo;

	dma_resv_assert_held(pagoda_vm_resv(vm));
	bo = pagoda_bo_create_kernel(vm->vidmm, vm->client, &params, vm->base.r_obj, vm);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (pagoda_room_take(vm, bo)) {
		drm_gem_object_put(pagoda_bo_gem(bo));
		return -ENOMEM;
	}
	dma_fence_put(vm->placed);
	vm->placed = pagoda_stream_last_move(vm->vidmm);
	*memory = (struct pagoda_table_memory) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.size = size,
		.address = (u64)bo->ttm.resource->start << PAGE_SHIFT,
		.cookie = bo,
	};
	return 0;
}

/*
 * Frees a page table at once, although the device may read the table until @fence, that of a TLB
 * flush, signals. This is safe because only moves and writes of new page tables use the freed VRAM
 * next: these are executed behind the release of the table, which is behind @fence. Caller holds
 * the VM's reservation.
 */
void pagoda_vm_table_free(struct pagoda_vm *vm, struct pagoda_table_memory *memory,
			  struct dma_fence *fence)
{
	struct pagoda_bo *bo = memory->cookie;

	dma_resv_assert_held(pagoda_vm_resv(vm));
	pagoda_fixed_leaves(vm, bo);
	bo->vm.table_of = NULL;
	bo->vm.behind = dma_fence_get(fence);
	drm_gem_object_put(pagoda_bo_gem(bo));
}

/*
 * Returns true if no job of the VM is in flight, nor paging of an allocation that shares the VM's
 * reservation: page tables, save areas and private allocations. If @urgent, only jobs count: the
 * eviction of a table then waits for the paging.
 */
static bool vm_is_idle(struct pagoda_vm *vm, bool urgent)
{
	struct dma_resv *resv = pagoda_vm_resv(vm);

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP))
		return true;
	return urgent &&
	       !pagoda_stream_has_foreign(vm->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * pagoda_vm_may_evict() - Tell whether VMs allow an allocation to be evicted now
 * @bo: Allocation, reservation held
 * @urgent: &pagoda_operation.urgent of the operation that needs room
 *
 * Page tables and save areas may move only while no job of their VM is in flight (WDDM 5.4, C85): a
 * submitted job finds both where they were at submission. Allocations that queued VM_BIND arrays
 * will map stay for these arrays (C145); but not if @urgent, because the fences that an array waits
 * for may never signal. &pagoda_vm.keep may forbid more.
 *
 * Return: false if a VM keeps @bo in place, or if &pagoda_bo.choice.keep does, which doesn't count
 * for a private allocation while &pagoda_vm.keep isn't %PAGODA_VM_KEEP_NOTHING.
 */
bool pagoda_vm_may_evict(struct pagoda_bo *bo, bool urgent)
{
	struct drm_gem_object *obj = pagoda_bo_gem(bo);
	struct pagoda_vm *vm = bo->vm.table_of ?: bo->vm.save_of;

	if (vm)
		return vm->keep != PAGODA_VM_KEEP_BOUND && vm_is_idle(vm, urgent);
	if (bo->vm.was_save)
		return dma_resv_test_signaled(obj->resv, DMA_RESV_USAGE_BOOKKEEP);
	if (atomic_read(&bo->wish.waits) && !urgent)
		return false;
	if (bo->vm.private_to && bo->vm.private_to->keep != PAGODA_VM_KEEP_NOTHING)
		return list_empty(&obj->gpuva.list);
	return !bo->choice.keep;
}

/*
 * Has the device forget the root of the VM's page tables, and so refuse TLB flushes that name the
 * root. First waits for the flushes that were emitted before; the space's lock, which the caller
 * holds, keeps further flushes back. The dma_fence signalling path never takes the space's lock, so
 * the wait ends, and so does a reset of the device, if the device fails the command.
 */
static void vm_table_detach(struct pagoda_vm *vm)
{
	pagoda_stream_flush(vm->vidmm);
	if (vm->last)
		dma_fence_wait(vm->last, false);
	pagoda_space_detach(vm->space);
}

/**
 * pagoda_vm_table_evict() - Unlink a page table whose memory is about to be dropped
 * @bo: Allocation, reservation held; nothing is done unless @bo is a page table
 *
 * Emits updates that make all entries of the table invalid; for a root, after the device forgot the
 * root; for another table, together with the update of a resident parent's entry and a TLB flush
 * (C91). Drops the VM's reference to @bo, because a table that is restored gets a new allocation.
 *
 * Context: May sleep and allocate.
 */
void pagoda_vm_table_evict(struct pagoda_bo *bo)
{
	struct pagoda_vm *vm = bo->vm.table_of;
	struct pagoda_vidmm *vidmm = bo->vidmm;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct pagoda_stream_order order = {};
	struct pagoda_paging_cost cost;
	struct pagoda_root root;
	struct dma_fence *fence;

	if (!vm)
		return;
	pagoda_space_root(vm->space, &root);
	pagoda_space_lock(vm->space);
	if (root.address == (u64)bo->ttm.resource->start << PAGE_SHIFT)
		vm_table_detach(vm);
	cost = pagoda_space_evict_cost(vm->space, pagoda_stream_room(vidmm));
	order.behind[PAGODA_EDGE_CHANGED] = vm->last;
	pagoda_stream_begin_in_must(&txn, vidmm, &order, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
	pagoda_space_evict_table(vm->space, bo, &emit);
	fence = pagoda_stream_end(&txn);
	pagoda_vm_note_last(vm, fence);
	dma_fence_put(fence);
	pagoda_space_unlock(vm->space);
	pagoda_fixed_leaves(vm, bo);
	bo->vm.table_of = NULL;
	drm_gem_object_put(pagoda_bo_gem(bo));
}
