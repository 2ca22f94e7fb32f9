// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of a VM's page tables: memory that mappings show, commits, invalidation of mappings, and
 * return of evicted page tables. Also tells which addresses can be mapped.
 */
#include <linux/slab.h>
#include "core/core.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * In CPU_VIRTUAL mode, waits for the fences of @resv, if not NULL: then the CPU changes page table
 * entries at once, not behind earlier work, so jobs that use the entries must have ended.
 */
static void vm_wait_for_users(struct pagoda_vm *vm, struct dma_resv *resv)
{
	if (!resv || pagoda_mmu_mode(vm->vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL)
		return;
	pagoda_stream_flush(vm->vidmm);
	dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, false, MAX_SCHEDULE_TIMEOUT);
}

/*
 * Adds @fence, that of a TLB flush, to an allocation's reservation @resv: before the flush, no
 * other allocation may get the memory (C101). Reserves two slots, because a move that follows adds
 * its fence, too; without memory for slots, waits for @fence. Does nothing if either is NULL.
 */
static void vm_keep_until(struct pagoda_vm *vm, struct dma_resv *resv, struct dma_fence *fence)
{
	if (!resv || !fence)
		return;
	if (dma_resv_reserve_fences(resv, 2))
		pagoda_stream_wait_fence(vm->vidmm, fence);
	else
		dma_resv_add_fence(resv, fence, DMA_RESV_USAGE_BOOKKEEP);
}

/*
 * Invalidates the page table entries of a range. @resv is the reservation of the allocation that
 * the entries show, which keeps its memory until the TLB flush has completed; NULL = no memory has
 * to be kept. With %PAGODA_VM_EVICTS the stream executes the invalidation behind jobs that use the
 * allocation; in CPU_VIRTUAL mode this function waits for these jobs. With another @why nothing
 * waits for jobs: a job that still uses the range faults. Can't fail.
 */
void pagoda_vm_invalidate_range(struct pagoda_vm *vm, struct dma_resv *resv, enum pagoda_vm_why why,
				u64 va, u64 size)
{
	struct pagoda_stream_order order = {
		.line = why == PAGODA_VM_HIDES ? vm->line : NULL,
	};
	struct pagoda_vidmm *vidmm = vm->vidmm;
	bool pipelined = why == PAGODA_VM_EVICTS;
	struct pagoda_paging_cost cost;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct dma_fence *fence;

	if (pipelined)
		vm_wait_for_users(vm, resv);
	pagoda_space_lock(vm->space);
	cost = pagoda_space_invalidate_cost(vm->space, va, size, pagoda_stream_room(vidmm));
	if (cost.packets) {
		order.behind[PAGODA_EDGE_CHANGED] = vm->last;
		pagoda_stream_begin_in_must(&txn, vidmm, &order,
					    pipelined ? PAGODA_STREAM_WAITS_FOR_VICTIM :
							PAGODA_STREAM_WAITS_NOT,
					    pipelined ? resv : NULL, &cost);
		pagoda_space_invalidate(vm->space, va, size, &emit);
		fence = pagoda_stream_end(&txn);
		pagoda_vm_note_last(vm, fence);
		vm_keep_until(vm, resv, fence);
		dma_fence_put(fence);
	}
	pagoda_space_unlock(vm->space);
}

/**
 * pagoda_vm_bo_evicted() - Remember that page tables don't show an allocation's mappings any more
 * @vm_bo: Mappings of the allocation in one VM; the reservation of the allocation is held
 *
 * A private allocation that isn't offered gets into &pagoda_vm.evicted: the next submission to the
 * VM tries to make the allocation resident again.
 */
void pagoda_vm_bo_evicted(struct drm_gpuvm_bo *vm_bo)
{
	struct pagoda_vm *vm = pagoda_vm_of(vm_bo->vm);
	struct pagoda_bo *bo = pagoda_bo_of_gem(vm_bo->obj);

	pagoda_settled_clear(bo);
	drm_gpuvm_bo_evict(vm_bo, true);
	if (bo->vm.private_to && !pagoda_bo_is_offered(bo) &&
	    (bo->vm.left_out || list_empty(&bo->vm.evicted))) {
		bo->vm.left_out = false;
		list_move_tail(&bo->vm.evicted, &vm->evicted);
	}
}

/*
 * Returns true if jobs can reach an allocation by a valid mapping; the reservation is held. False
 * for page tables and save areas, which have no mappings: new ones aren't in use yet, and others
 * move only while no job of their VM is in flight.
 */
bool pagoda_vm_bo_is_shown(struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo;
	struct drm_gpuva *va;

	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo))
		drm_gpuvm_bo_for_each_va(va, vm_bo)
			if (!drm_gpuva_invalidated(va))
				return true;
	return false;
}

/* Returns true if a job, or another device, may still use @bo, whose reservation is held. */
bool pagoda_vm_bo_is_used(struct pagoda_bo *bo)
{
	return (!bo->vm.private_to || pagoda_vm_bo_is_shown(bo)) &&
	       pagoda_stream_has_foreign(bo->vidmm, bo->ttm.base.resv, DMA_RESV_USAGE_BOOKKEEP);
}

static void vm_bo_invalidate(struct pagoda_vm *vm, struct drm_gpuvm_bo *vm_bo,
			     enum pagoda_vm_why why)
{
	struct drm_gpuva *va;

	drm_gpuvm_bo_for_each_va(va, vm_bo) {
		if (drm_gpuva_invalidated(va))
			continue;
		pagoda_vm_invalidate_range(vm, vm_bo->obj->resv, why, va->va.addr,
					   va->va.range);
		drm_gpuva_invalidate(va, true);
	}
}

/*
 * Invalidates all mappings of @bo, whose reservation is held, in @vm, without waiting for jobs. May
 * sleep and allocate.
 */
void pagoda_vm_bo_invalidate(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	struct drm_gpuvm_bo *vm_bo = drm_gpuvm_bo_find(&vm->base, pagoda_bo_gem(bo));

	if (!vm_bo)
		return;
	vm_bo_invalidate(vm, vm_bo, PAGODA_VM_HIDES);
	drm_gpuvm_bo_put(vm_bo);
}

/**
 * pagoda_vm_bo_hide() - Invalidate all mappings of an allocation, in all VMs
 * @bo: Allocation, reservation held
 * @why: %PAGODA_VM_MOVES or %PAGODA_VM_EVICTS if the allocation is about to move, which the caller
 *	does; %PAGODA_VM_HIDES if it stays where it is
 *
 * The device executes the invalidation before the move: a job that uses one of the addresses
 * afterwards faults instead of reaching memory that may belong to another allocation by then (C101,
 * C105).
 *
 * Context: May sleep and allocate; waits for jobs with EVICTS in CPU_VIRTUAL mode. Not in a stream
 * transaction.
 */
void pagoda_vm_bo_hide(struct pagoda_bo *bo, enum pagoda_vm_why why)
{
	struct drm_gpuvm_bo *vm_bo;

	if (bo->vm.save_of)
		pagoda_fixed_leaves(bo->vm.save_of, bo);
	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo)) {
		vm_bo_invalidate(pagoda_vm_of(vm_bo->vm), vm_bo, why);
		pagoda_vm_bo_evicted(vm_bo);
	}
}

/* Called after a change of page tables was emitted: forgets the moves that it is behind. */
static void vm_forget_moves(struct pagoda_vm *vm)
{
	dma_fence_put(vm->moved);
	vm->moved = NULL;
	dma_fence_put(vm->placed);
	vm->placed = NULL;
}

/*
 * Carries out the staged change @update, which is consumed also on failure. If the change emits
 * paging operations, replaces *@fence, which may be NULL, by the fence that signals when these have
 * completed; that fence also stands for a fence of paging which it replaces. Caller holds the VM's
 * reservation. If the root changed, writes the root into the save areas, and waits for the device.
 * Returns 0; or -ENOMEM, and nothing has changed.
 */
int pagoda_vm_commit(struct pagoda_vm *vm, struct pagoda_pt_update *update,
		     struct dma_fence **fence)
{
	struct pagoda_vidmm *vidmm = vm->vidmm;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct pagoda_paging_cost cost = pagoda_pt_update_cost(update, pagoda_stream_room(vidmm));
	struct pagoda_stream_order order = {
		.line = pagoda_pt_update_uses_windows(update) ? NULL : vm->line,
		.behind[PAGODA_EDGE_MOVED] = vm->moved,
		.behind[PAGODA_EDGE_PLACED] = vm->placed,
		.behind[PAGODA_EDGE_COVERED] = *fence,
	};
	struct dma_fence *done;
	int ret;

	pagoda_assert_entered(vidmm);
	dma_resv_assert_held(pagoda_vm_resv(vm));
	ret = dma_resv_reserve_fences(pagoda_vm_resv(vm), 1);
	if (ret) {
		pagoda_pt_update_abort(update);
		return ret;
	}
	pagoda_space_lock(vm->space);
	order.behind[PAGODA_EDGE_CHANGED] = vm->last;
	ret = pagoda_stream_begin_in(&txn, vidmm, &order, &cost);
	if (ret) {
		pagoda_space_unlock(vm->space);
		pagoda_pt_update_abort(update);
		return ret;
	}
	pagoda_pt_update_commit(update, &emit);
	done = pagoda_stream_end(&txn);
	pagoda_vm_note_last(vm, done);
	pagoda_space_unlock(vm->space);
	vm_forget_moves(vm);
	if (pagoda_pt_update_waits(update))
		pagoda_stream_flush(vm->vidmm);
	pagoda_pt_update_finish(update, done);
	if (done) {
		dma_resv_add_fence(pagoda_vm_resv(vm), done, DMA_RESV_USAGE_BOOKKEEP);
		dma_fence_put(*fence);
		*fence = done;
	}
	pagoda_save_update_roots(vm);
	return 0;
}

/**
 * pagoda_vm_rebuild_tables() - Write page tables again after a reset of the device
 * @vm: VM, its reservation held
 *
 * Tables are written at their present addresses, and the root is set; tables that were evicted stay
 * evicted. Does nothing if the tables were written since the last reset.
 *
 * Context: May sleep and allocate. In a section, or in the rebuild after a reset.
 * Return: 0 or -ENOMEM.
 */
int pagoda_vm_rebuild_tables(struct pagoda_vm *vm)
{
	struct pagoda_pt_update *update;
	struct dma_fence *fence = NULL;
	int ret;

	dma_resv_assert_held(pagoda_vm_resv(vm));
	if (!pagoda_space_is_stale(vm->space))
		return 0;
	ret = pagoda_space_prepare_rebuild(vm->space, &update);
	if (!ret)
		ret = pagoda_vm_commit(vm, update, &fence);
	dma_fence_put(fence);
	return ret;
}

/**
 * pagoda_vm_make_tables_resident() - Bring back page tables that were evicted or lost in a reset
 * @vm: VM, its reservation held
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_vm_make_tables_resident(struct pagoda_vm *vm)
{
	struct pagoda_pt_update *update;
	struct dma_fence *fence = NULL;
	int ret = pagoda_vm_rebuild_tables(vm);

	if (ret || pagoda_space_is_resident(vm->space))
		return ret;
	if (!pagoda_fixed_leaves_room(vm))
		return -ENOMEM;
	ret = pagoda_space_prepare_restore(vm->space, &update);
	if (!ret)
		ret = pagoda_vm_commit(vm, update, &fence);
	dma_fence_put(fence);
	return ret;
}

/* Stores @fence, if not NULL, as that of the last operation on @vm->space, whose lock is held. */
void pagoda_vm_note_last(struct pagoda_vm *vm, struct dma_fence *fence)
{
	if (!fence)
		return;
	dma_fence_put(vm->last);
	vm->last = dma_fence_get(fence);
}

/*
 * Describes in @map the present memory of the bytes [@offset, @offset + @size) of @bo, for a
 * mapping in @vm that shows these bytes, once or, as a window, repeatedly. Fills in @map->kind, the
 * allocation and the memory, and completes @map->flags. While the GPU can't use the allocation
 * where it is, @map->kind is PAGODA_MAP_INVALID; else notes the allocation's last move, if the move
 * hasn't ended, in &pagoda_vm.moved. Caller holds the reservations of @vm and @bo, and calls
 * pagoda_vm_place_put() on @place once @map was used. Returns 0 or -ENOMEM.
 */
int pagoda_vm_place_get(struct pagoda_vm *vm, struct pagoda_bo *bo, u64 offset, u64 size,
			struct pagoda_vm_place *place, struct pagoda_map *map)
{
	struct ttm_resource *res = bo->ttm.resource;
	struct pagoda_vram_cursor cur;
	u32 n = 0;

	map->kind = PAGODA_MAP_MEMORY;
	map->allocation = bo->id;
	map->allocation_offset = offset;
	if (!res || res->mem_type == TTM_PL_SYSTEM || pagoda_import_is_away(bo)) {
		*map = (struct pagoda_map) { .va = map->va, .size = map->size };
		return 0;
	}
	vm->moved = pagoda_residency_later(vm->vidmm, vm->moved, bo->ttm.base.resv);
	if (res->mem_type != TTM_PL_VRAM) {
		pagoda_bo_adl(bo, &place->adl);
		map->adl = &place->adl;
		map->adl_offset = offset >> PAGE_SHIFT;
		if (pagoda_bo_is_coherent(bo))
			map->flags |= PAGODA_PTE_CACHE_COHERENT;
		return 0;
	}
	place->extents = kvmalloc_array(pagoda_vram_count_ranges(res), sizeof(*place->extents),
					GFP_KERNEL_ACCOUNT);
	if (!place->extents)
		return -ENOMEM;
	pagoda_vram_first(&cur, res, offset, size);
	for (; cur.size; pagoda_vram_next(&cur, cur.size))
		place->extents[n++] = (struct pagoda_map_extent) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = cur.address,
			.size = cur.size,
		};
	place->nr_extents = n;
	map->extents = place->extents;
	map->nr_extents = n;
	return 0;
}

/* Frees the extents in @place, which pagoda_vm_place_get() filled or which is all zeros. */
void pagoda_vm_place_put(struct pagoda_vm_place *place)
{
	kvfree(place->extents);
	place->extents = NULL;
}

/**
 * pagoda_vm_range() - Range of addresses that can be mapped
 * @vm: VM
 * @start: Set to the first address
 * @end: Set to the address behind the last one
 */
void pagoda_vm_range(const struct pagoda_vm *vm, u64 *start, u64 *end)
{
	*start = vm->base.mm_start;
	*end = vm->base.mm_start + vm->base.mm_range;
}

/**
 * pagoda_vm_range_valid() - Tell whether a range can be mapped
 * @vm: VM
 * @address: First byte
 * @size: Bytes
 *
 * Return: true if the range is not empty, page aligned and inside pagoda_vm_range().
 */
bool pagoda_vm_range_valid(const struct pagoda_vm *vm, u64 address, u64 size)
{
	u64 start, end;

	pagoda_vm_range(vm, &start, &end);
	return size && PAGE_ALIGNED(address) && PAGE_ALIGNED(size) && address >= start &&
	       address < end && size <= end - address;
}

/*
 * Fills @map with what page tables have to show for mapping @va. Caller holds the reservation of
 * the mapped allocation, and calls pagoda_vm_place_put() on @place once @map was used. Returns 0 or
 * -ENOMEM.
 */
int pagoda_vm_va_place_get(struct pagoda_va *va, struct pagoda_vm_place *place,
			   struct pagoda_map *map)
{
	*map = (struct pagoda_map) {
		.va = va->base.va.addr,
		.size = va->base.va.range,
		.driver_protection = va->driver_protection,
		.flags = pagoda_bind_pte_flags(va->flags),
		.window = va->window,
		.first = va->first,
	};
	return pagoda_vm_place_get(pagoda_vm_of(va->base.vm), pagoda_bo_of_gem(va->base.gem.obj),
				   va->base.gem.offset, va->window ?: va->base.va.range, place,
				   map);
}
