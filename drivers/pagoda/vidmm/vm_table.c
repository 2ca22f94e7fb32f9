// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables as allocations: each is a kernel allocation in VRAM with its VM's
 * reservation, in one piece and aligned to its size, that only eviction moves, and
 * eviction of it copies nothing: mmu/ knows what was in it.
 */
#include <linux/slab.h>
#include <pagoda/virtio.h>
#include "vm.h"

/**
 * pagoda_vm_table_alloc() - VRAM for a table
 * @vm: VM whose reservation is held
 * @size: Bytes
 * @memory: Filled
 *
 * Context: May sleep, allocate and evict others.
 * Return: 0 or -ENOMEM.
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

	bo = pagoda_bo_create_kernel(vm->vidmm, vm->client, &params, vm->base.r_obj, vm);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	if (pagoda_room_take(vm, bo)) {
		drm_gem_object_put(pagoda_bo_gem(bo));
		return -ENOMEM;
	}
	*memory = (struct pagoda_table_memory) {
		.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
		.size = size,
		.address = (u64)bo->ttm.resource->start << PAGE_SHIFT,
		.cookie = bo,
	};
	return 0;
}

/**
 * pagoda_vm_table_free() - A table isn't reached any more behind a fence
 * @vm: VM whose reservation is held
 * @memory: From pagoda_vm_table_alloc()
 * @fence: Fence or NULL
 *
 * VRAM needs no fence: who gets it next writes it on the same timeline, behind the
 * flush.
 *
 * Context: May sleep.
 */
void pagoda_vm_table_free(struct pagoda_vm *vm, struct pagoda_table_memory *memory,
			  struct dma_fence *fence)
{
	struct pagoda_bo *bo = memory->cookie;

	bo->table_of = NULL;
	drm_gem_object_put(pagoda_bo_gem(bo));
}

/*
 * Does nothing of a VM run? What else of it leaves, a save area, is under way for a while: when
 * somebody can't be served otherwise that is waited for, as who evicts a table does.
 */
static bool vm_is_idle(struct pagoda_vm *vm)
{
	struct dma_resv *resv = pagoda_vm_resv(vm);

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP))
		return true;
	return atomic_read(&vm->vidmm->pressing) &&
	       !pagoda_stream_has_foreign(vm->vidmm, resv, DMA_RESV_USAGE_BOOKKEEP);
}

/**
 * pagoda_vm_may_evict() - May something of a VM leave now?
 * @bo: Allocation, reservation held
 *
 * Tables move only while nothing of their space runs (WDDM 5.4), save areas only while
 * their context doesn't (C85): a job that is submitted finds both where they were then.
 * What changes that wait will map stays for them (C145) until somebody can't be served
 * otherwise: what they wait for may never come.
 *
 * Return: Whether it may. What isn't of a VM always may.
 */
bool pagoda_vm_may_evict(struct pagoda_bo *bo)
{
	struct drm_gem_object *obj = pagoda_bo_gem(bo);
	struct pagoda_vm *vm = bo->table_of ?: bo->save_of;

	if (vm)
		return vm->keep != PAGODA_VM_KEEP_BOUND && vm_is_idle(vm);
	if (atomic_read(&bo->waits) && !atomic_read(&bo->vidmm->pressing))
		return false;
	if (bo->private_to && bo->private_to->keep != PAGODA_VM_KEEP_NOTHING)
		return list_empty(&obj->gpuva.list);
	return !bo->keep;
}

/*
 * The device gives up the root at once, and refuses a flush that names it from then on:
 * those that are on their way have to arrive first, and the space's lock, which is
 * held, keeps others back. Nobody takes it on the way to signalling a fence.
 */
static void vm_table_detach(struct pagoda_vm *vm)
{
	pagoda_stream_flush(vm->vidmm);
	if (vm->last)
		dma_fence_wait(vm->last, false);
	pagoda_space_detach(vm->space);
}

/**
 * pagoda_vm_table_evict() - A table is about to be gutted
 * @bo: Table, reservation held
 *
 * Its last update, its parent's entry and a flush go into the stream (C91). The
 * reference the page tables had is dropped: a table that comes back is a new
 * allocation.
 *
 * Context: May sleep and allocate.
 */
void pagoda_vm_table_evict(struct pagoda_bo *bo)
{
	struct pagoda_vm *vm = bo->table_of;
	struct pagoda_stream *stream = &bo->vidmm->stream;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct pagoda_paging_cost cost;
	struct pagoda_root root;
	struct dma_fence *fence;

	if (!vm)
		return;
	pagoda_space_root(vm->space, &root);
	pagoda_space_lock(vm->space);
	if (root.address == (u64)bo->ttm.resource->start << PAGE_SHIFT)
		vm_table_detach(vm);
	cost = pagoda_space_evict_cost(vm->space, stream->room);
	pagoda_stream_begin_must(&txn, bo->vidmm, NULL, NULL, &cost);
	pagoda_space_evict_table(vm->space, bo, &emit);
	fence = pagoda_stream_end(&txn);
	pagoda_vm_note_last(vm, fence);
	dma_fence_put(fence);
	pagoda_space_unlock(vm->space);
	bo->table_of = NULL;
	drm_gem_object_put(pagoda_bo_gem(bo));
}
