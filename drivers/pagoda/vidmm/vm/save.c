// SPDX-License-Identifier: GPL-2.0
/*
 * Save areas of contexts: a save area is the allocation in which an engine keeps a context's
 * registers between jobs. A save area contains the address of the root of the VM's page tables
 * (C84), and stays in place while a job of the VM is in flight (C85).
 *
 * A reset of the device loses the content of save areas in VRAM, and may prevent writes to others.
 * The rebuild after the reset restores only save areas of contexts that have armed jobs; the other
 * contexts' save areas are restored when the next job of the context is prepared.
 */
#include "core/core.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "paging/paging.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/* Root fields of struct virtio_pagoda_context_image; one UPDATE_CONTEXT_ALLOCATION writes all. */
struct save_root {
	__le64 root_address;
	__le64 root_entries;
	__le32 root_segment;
	__le32 address_space;
};

static_assert(offsetof(struct virtio_pagoda_context_image, saved) -
	      offsetof(struct virtio_pagoda_context_image, root_address) ==
	      sizeof(struct save_root));

/**
 * pagoda_save_side() - Describe the place of a save area
 * @save: Allocation of the save area; its reservation is held, or a job's fence keeps it in place
 * @adl: Filled in if the place is a list of pages
 *
 * Return: A range of VRAM, or @adl; never a kernel address (C83).
 */
struct pagoda_side pagoda_save_side(struct pagoda_bo *save, struct pagoda_adl *adl)
{
	if (save->ttm.resource->mem_type == TTM_PL_VRAM)
		return (struct pagoda_side) {
			.segment = VIRTIO_PAGODA_SEGMENT_VRAM,
			.address = (u64)save->ttm.resource->start << PAGE_SHIFT,
		};
	pagoda_bo_adl(save, adl);
	return (struct pagoda_side) { .segment = VIRTIO_PAGODA_SEGMENT_SYSTEM, .adl = adl };
}

/*
 * Ends a transaction; with @wait waits until its operations were executed. Returns 0, or their
 * error.
 */
static int save_end(struct pagoda_stream_txn *txn, bool wait)
{
	if (wait)
		return pagoda_stream_end_wait(txn);
	dma_fence_put(pagoda_stream_end(txn));
	return 0;
}

/*
 * Has the device initialise the save area. With @wait waits for that: jobs may follow at once.
 * Returns 0 or a negative errno.
 */
static int save_init(struct pagoda_save *save, bool wait)
{
	struct pagoda_vidmm *vidmm = save->vm->vidmm;
	struct pagoda_stream_txn txn;
	struct pagoda_paging_cost cost;
	struct pagoda_adl adl;
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_INIT_CONTEXT_RESOURCE,
		.allocation = save->bo->id,
		.init_context = {
			.context = save->context,
			.size = VIRTIO_PAGODA_CONTEXT_BYTES,
			.dst = pagoda_save_side(save->bo, &adl),
		},
	};
	int ret, done;

	cost = pagoda_stream_cost(vidmm, &op);
	ret = pagoda_stream_begin(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, 0, &cost);
	if (ret)
		return ret;
	ret = pagoda_stream_emit(&txn, &op);
	done = save_end(&txn, wait);
	return ret ?: done;
}

static struct pagoda_map save_map(struct pagoda_bo *save, struct pagoda_map_extent *extent,
				  struct pagoda_adl *adl)
{
	struct pagoda_side side = pagoda_save_side(save, adl);
	struct pagoda_map map = {
		.size = VIRTIO_PAGODA_CONTEXT_BYTES,
		.kind = PAGODA_MAP_MEMORY,
		.allocation = save->id,
	};

	if (side.segment == VIRTIO_PAGODA_SEGMENT_SYSTEM) {
		map.adl = adl;
	} else {
		*extent = (struct pagoda_map_extent) {
			.segment = side.segment,
			.address = side.address,
			.size = map.size,
		};
		map.extents = extent;
		map.nr_extents = 1;
	}
	return map;
}

/*
 * Has the device write @root into the save area, through a scratch window of the paging process.
 * With @wait waits for the write. In CPU_VIRTUAL mode the CPU changes the window's page table
 * entries at once: the device must have executed all earlier uses of the window before the CPU maps
 * the save area, and the write before the CPU unmaps the save area.
 */
static void save_update_root(struct pagoda_save *save, const struct save_root *root, bool wait)
{
	struct pagoda_vidmm *vidmm = save->vm->vidmm;
	bool by_cpu = pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	struct pagoda_stream_txn txn;
	struct pagoda_emit emit = { .emit = pagoda_stream_emit_valid, .arg = &txn };
	struct pagoda_map_extent extent;
	struct pagoda_adl adl = {};
	struct pagoda_map map = save_map(save->bo, &extent, &adl);
	struct pagoda_paging_op op = {
		.operation = VIRTIO_PAGODA_OP_UPDATE_CONTEXT_ALLOCATION,
		.allocation = save->bo->id,
		.update_context = {
			.size = VIRTIO_PAGODA_CONTEXT_BYTES,
			.data = root,
			.data_size = sizeof(*root),
			.data_offset = offsetof(struct virtio_pagoda_context_image, root_address),
			.pages = adl.cpu_pages,
		},
	};
	struct pagoda_paging_cost cost =
		pagoda_process_cost(vidmm->mmu, map.size, pagoda_stream_room(vidmm));
	bool large;

	pagoda_cost_add(&cost, pagoda_stream_cost(vidmm, &op), 1);
	mutex_lock(&vidmm->scratch_lock);
	if (by_cpu)
		pagoda_stream_wait_idle(vidmm, MAX_SCHEDULE_TIMEOUT);
	pagoda_stream_begin_must(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
	op.update_context.address = pagoda_process_map(vidmm->mmu, PAGODA_SCRATCH_DESTINATION,
						       &map, &large, &emit);
	pagoda_process_flush(vidmm->mmu, &emit);
	pagoda_stream_emit(&txn, &op);
	if (!by_cpu)
		pagoda_process_unmap(vidmm->mmu, &emit);
	save_end(&txn, wait || by_cpu);
	if (by_cpu) {
		pagoda_stream_begin_must(&txn, vidmm, NULL, PAGODA_STREAM_WAITS_NOT, NULL, &cost);
		pagoda_process_unmap(vidmm->mmu, &emit);
		dma_fence_put(pagoda_stream_end(&txn));
	}
	mutex_unlock(&vidmm->scratch_lock);
}

static bool save_root_is(const struct pagoda_root *a, const struct pagoda_root *b)
{
	return a->address == b->address && a->entries == b->entries && a->segment == b->segment;
}

/*
 * Writes the root of the VM's page tables into a resident save area that has another root (C84).
 * With @wait waits for the write.
 */
static void save_name_root(struct pagoda_save *save, bool wait)
{
	struct pagoda_vm *vm = save->vm;
	const struct save_root data = {
		.root_address = cpu_to_le64(vm->root.address),
		.root_entries = cpu_to_le64(vm->root.entries),
		.root_segment = cpu_to_le32(vm->root.segment),
		.address_space = cpu_to_le32(vm->id),
	};

	if (save_root_is(&save->root, &vm->root))
		return;
	save->root = vm->root;
	save_update_root(save, &data, wait);
}

/* Returns true if the device was reset since the save area was initialised or restored. */
static bool save_is_stale(const struct pagoda_save *save)
{
	return save->restarts != pagoda_stream_restarts(save->vm->vidmm);
}

/*
 * Restores a resident save area after a reset of the device, unless that was done since the reset:
 * if the content was lost, initialises the save area, and the context's registers are zero
 * afterwards. Waits for that, unless @wait isn't set and the save area is in VRAM, where another
 * reset would lose the content again. Returns 0 or a negative errno, -EIO if the device failed
 * again.
 */
static int save_restore(struct pagoda_save *save, bool wait)
{
	int ret;

	if (!save_is_stale(save))
		return 0;
	ret = pagoda_lost_clear(save->bo);
	if (!ret && READ_ONCE(save->bo->content.lost))
		ret = save_init(save, wait || !pagoda_bo_is_in_vram(save->bo));
	if (ret)
		return ret;
	WRITE_ONCE(save->bo->content.lost, false);
	/* The reset may have prevented an earlier write of the root: have it written again. */
	save->root = (struct pagoda_root) {};
	save->restarts = pagoda_stream_restarts(save->vm->vidmm);
	return 0;
}

/**
 * pagoda_save_rebuild() - Restore the save area of a context with armed jobs after a reset
 * @save: Save area, the VM's lock and reservation held; the VM's page tables are rebuilt. Armed
 *	jobs keep the save area resident
 *
 * Context: In the rebuild, which later waits for what this function emits. May sleep and allocate.
 * Return: 0; -EIO if the device failed again; or another error of pagoda_lost_clear().
 */
int pagoda_save_rebuild(struct pagoda_save *save)
{
	int ret;

	lockdep_assert_held(&save->vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(save->vm));
	ret = save_restore(save, false);
	if (!ret)
		save_name_root(save, false);
	return ret;
}

/**
 * pagoda_save_validate() - Make the save area of a context resident
 * @save: Save area, the VM's lock and reservation held
 *
 * Afterwards the save area contains the present root of the VM's page tables, even if the save area
 * couldn't be made resident when the root changed, or the device was reset. If the device is reset
 * meanwhile, the save area may be left unrestored: a job that is armed now is lost, or the rebuild
 * restores the save area for the job.
 *
 * Context: May sleep, allocate and evict other allocations. In a section.
 * Return: 0, -ENOMEM, or another error of pagoda_bo_place() or pagoda_lost_clear().
 */
int pagoda_save_validate(struct pagoda_save *save)
{
	int ret;

	lockdep_assert_held(&save->vm->lock);
	ret = pagoda_room_take(save->vm, save->bo);
	if (ret)
		return ret;
	ret = save_restore(save, true);
	if (ret)
		return pagoda_reset_is_pending(save->vm->vidmm) ? 0 : ret;
	save_name_root(save, true);
	return 0;
}

/*
 * If the root of the VM's page tables has changed, writes the new root into all save areas of the
 * VM (C84). A save area that can't be made resident, or has to be restored after a reset, gets the
 * root in its next pagoda_save_validate(). Caller holds the VM's lock and reservation.
 */
void pagoda_save_update_roots(struct pagoda_vm *vm)
{
	struct pagoda_save *save;
	struct pagoda_root root;

	pagoda_space_root(vm->space, &root);
	if (save_root_is(&root, &vm->root))
		return;
	vm->root = root;
	list_for_each_entry(save, &vm->saves, entry)
		if (!save_is_stale(save))
			pagoda_save_validate(save);
}

static struct pagoda_bo *save_create_bo(struct pagoda_vm *vm)
{
	const struct pagoda_bo_params params = {
		.size = VIRTIO_PAGODA_CONTEXT_BYTES,
		.flags = DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM) |
			     DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE),
	};

	return pagoda_bo_create_kernel(vm->vidmm, vm->client, &params, vm->base.r_obj, NULL);
}

/**
 * pagoda_save_drop() - Free a save area that isn't in &pagoda_vm.saves
 * @save: Save area; its context gets no more jobs. TTM frees the memory after the fences of jobs
 *	that still run
 *
 * Context: May sleep; the VM's reservation is held.
 */
void pagoda_save_drop(struct pagoda_save *save)
{
	pagoda_fixed_leaves(save->vm, save->bo);
	save->bo->vm.was_save = true;
	save->bo->vm.save_of = NULL;
	drm_gem_object_put(pagoda_bo_gem(save->bo));
}

/**
 * pagoda_save_create() - Allocate the save area of a context, and make it resident
 * @save: Filled in
 * @vm: VM that the context runs in; its lock and reservation are held
 * @context: Number of the context
 *
 * The caller then makes the VM's page tables resident and calls pagoda_save_enter(), or, if either
 * fails, pagoda_save_drop().
 *
 * Context: May sleep, allocate and evict other allocations.
 * Return: 0 or a negative errno.
 */
int pagoda_save_create(struct pagoda_save *save, struct pagoda_vm *vm, u64 context)
{
	int ret;

	lockdep_assert_held(&vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(vm));
	save->vm = vm;
	save->context = context;
	save->bo = save_create_bo(vm);
	if (IS_ERR(save->bo))
		return PTR_ERR(save->bo);
	save->bo->vm.save_of = vm;
	ret = pagoda_room_take(vm, save->bo);
	if (ret)
		pagoda_save_drop(save);
	return ret;
}

/**
 * pagoda_save_enter() - Initialise a save area, write the root of the page tables into it, and add
 * it to &pagoda_vm.saves
 * @save: Save area from pagoda_save_create(), still resident
 * @vm: VM, its lock and reservation held; its page tables are resident
 *
 * Context: May sleep and allocate; waits for the device.
 * Return: 0 or a negative errno.
 */
int pagoda_save_enter(struct pagoda_save *save, struct pagoda_vm *vm)
{
	int ret;

	lockdep_assert_held(&vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(vm));
	ret = save_init(save, true);
	if (ret)
		return ret;
	save->restarts = pagoda_stream_restarts(vm->vidmm);
	pagoda_save_update_roots(vm);
	save_name_root(save, true);
	list_add_tail(&save->entry, &vm->saves);
	return 0;
}

/**
 * pagoda_save_destroy() - Undo pagoda_save_create() and pagoda_save_enter()
 * @save: Save area of a context that gets no more jobs, though jobs may still run; the VM's lock
 *	and reservation are held
 *
 * Context: May sleep.
 */
void pagoda_save_destroy(struct pagoda_save *save)
{
	lockdep_assert_held(&save->vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(save->vm));
	list_del(&save->entry);
	pagoda_save_drop(save);
}
