// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND: application of an array of entries to the page tables and the gpuva tree.
 *
 * An array that the plan (bind_plan.c) has accepted is applied as a whole or not at all: first, all
 * memory that the array can need is allocated, and the change of the page tables for all entries is
 * staged; only then do page tables and gpuva tree change, which can't fail.
 */
#include <linux/slab.h>
#include <drm/drm_exec.h>
#include "core/compat.h"
#include "mmu/mmu.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "vm.h"

/*
 * Array of entries, @binds, that is being applied to @vm, of which pagoda_vm.lock is held. If all
 * entries are COPY, @copies has one element per entry. Else no entry is COPY, and @maps, @places
 * and @vm_bos have one element per entry; entries that map no allocation don't use @places and
 * @vm_bos.
 */
struct bind {
	struct pagoda_vm *vm;
	const struct pagoda_bind *binds;
	u32 count;
	struct pagoda_map *maps;
	struct pagoda_vm_place *places;
	struct pagoda_space_copy *copies;
	struct drm_gpuvm_bo **vm_bos;
	struct pagoda_books books;
};

static bool bind_is_copies(const struct bind *bind)
{
	return bind->binds[0].type == DRM_PAGODA_BIND_COPY;
}

static void bind_free(struct bind *bind)
{
	pagoda_books_fini(&bind->books);
	kvfree(bind->vm_bos);
	kvfree(bind->copies);
	kvfree(bind->places);
	kvfree(bind->maps);
}

static int bind_alloc(struct bind *bind)
{
	int ret = pagoda_books_init(&bind->books, bind->vm, bind->binds, bind->count);

	if (bind_is_copies(bind)) {
		bind->copies = kvcalloc(bind->count, sizeof(*bind->copies), GFP_KERNEL_ACCOUNT);
		if (!ret && bind->copies)
			return 0;
	} else {
		bind->maps = kvcalloc(bind->count, sizeof(*bind->maps), GFP_KERNEL_ACCOUNT);
		bind->places = kvcalloc(bind->count, sizeof(*bind->places), GFP_KERNEL_ACCOUNT);
		bind->vm_bos = kvcalloc(bind->count, sizeof(*bind->vm_bos), GFP_KERNEL_ACCOUNT);
		if (!ret && bind->maps && bind->places && bind->vm_bos)
			return 0;
	}
	bind_free(bind);
	return -ENOMEM;
}

/*
 * Locks the reservations of the VM, of the allocations that the array maps, and of all allocations
 * that the VM maps now in the ranges that the entries change or copy. Returns 0 or a negative
 * errno.
 */
static int bind_lock(struct bind *bind, struct drm_exec *exec)
{
	struct drm_gpuvm *base = &bind->vm->base;
	struct pagoda_bo *last = NULL;
	u32 i;
	int ret;

	ret = drm_gpuvm_prepare_vm(base, exec, 1);
	for (i = 0; i < bind->count && !ret; i++) {
		const struct pagoda_bind *entry = &bind->binds[i];

		if (pagoda_bind_is_map(entry) && entry->bo != last) {
			ret = drm_exec_prepare_obj(exec, pagoda_bo_gem(entry->bo), 1);
			last = entry->bo;
		}
		if (!ret && entry->type == DRM_PAGODA_BIND_COPY)
			ret = drm_gpuvm_prepare_range(base, exec, entry->offset, entry->size, 1);
		if (!ret)
			ret = drm_gpuvm_prepare_range(base, exec, entry->address, entry->size, 1);
	}
	return ret;
}

static int bind_describe_map(struct bind *bind, u32 index)
{
	const struct pagoda_bind *entry = &bind->binds[index];
	struct pagoda_map *map = &bind->maps[index];
	struct drm_gpuvm_bo *vm_bo;

	/* Only of an array that wasn't queued: OFFER doesn't offer what queued arrays map. */
	if (pagoda_offer_refuses(entry->bo))
		return -ENODATA;
	map->flags = pagoda_bind_pte_flags(entry->flags);
	map->driver_protection = entry->driver_protection;
	if (entry->window < entry->size)
		map->window = entry->window;
	vm_bo = drm_gpuvm_bo_obtain_locked(&bind->vm->base, pagoda_bo_gem(entry->bo));
	if (IS_ERR(vm_bo))
		return PTR_ERR(vm_bo);
	bind->vm_bos[index] = vm_bo;
	drm_gpuvm_bo_extobj_add(vm_bo);
	return pagoda_vm_place_get(bind->vm, entry->bo, entry->offset,
				   map->window ?: entry->size, &bind->places[index], map);
}

static int bind_describe(struct bind *bind)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < bind->count && !ret; i++) {
		const struct pagoda_bind *entry = &bind->binds[i];
		struct pagoda_map *map = &bind->maps[i];

		map->va = entry->address;
		map->size = entry->size;
		if (pagoda_bind_is_map(entry))
			ret = bind_describe_map(bind, i);
		else if (entry->type == DRM_PAGODA_BIND_MAP_ZERO)
			map->kind = PAGODA_MAP_ZERO;
		else
			map->kind = PAGODA_MAP_INVALID;
	}
	return ret;
}

/*
 * Frees the extents of @bind->places, and drops the references of @bind->vm_bos; mappings that were
 * made have references of their own.
 */
static void bind_put_places(struct bind *bind)
{
	u32 i;

	for (i = 0; i < bind->count && bind->places; i++) {
		pagoda_vm_place_put(&bind->places[i]);
		drm_gpuvm_bo_put(bind->vm_bos[i]);
		bind->vm_bos[i] = NULL;
	}
}

/*
 * Stages the array's change of the page tables and sets *@update to the staged change. Returns 0;
 * or a negative errno, and nothing is staged.
 */
static int bind_prepare(struct bind *bind, struct pagoda_pt_update **update)
{
	struct pagoda_space *space = bind->vm->space;
	int ret;
	u32 i;

	ret = pagoda_vm_make_tables_resident(bind->vm);
	if (ret)
		return ret;
	if (bind_is_copies(bind)) {
		for (i = 0; i < bind->count; i++)
			bind->copies[i] = (struct pagoda_space_copy) {
				.src = bind->binds[i].offset,
				.dst = bind->binds[i].address,
				.size = bind->binds[i].size,
			};
		return pagoda_space_prepare_copy(space, bind->copies, bind->count, update);
	}
	ret = bind_describe(bind);
	if (ret)
		return ret;
	ret = pagoda_unique_check(bind->vm, bind->binds, bind->count);
	if (ret)
		return ret;
	return pagoda_space_prepare(space, bind->maps, bind->count, update);
}

static void bind_note(struct bind *bind)
{
	u32 i;

	for (i = 0; i < bind->count; i++) {
		const struct pagoda_bind *entry = &bind->binds[i];
		bool map = pagoda_bind_is_map(entry);

		pagoda_books_note(&bind->books, entry, map ? bind->vm_bos[i] : NULL,
				  map && bind->maps[i].kind == PAGODA_MAP_MEMORY);
	}
}

static int bind_try(struct bind *bind, struct dma_fence **fence)
{
	struct pagoda_pt_update *update;
	int ret;

	ret = bind_prepare(bind, &update);
	if (!ret)
		ret = pagoda_vm_commit(bind->vm, update, fence);
	if (!ret)
		bind_note(bind);
	bind_put_places(bind);
	return ret;
}

/*
 * Applies the array. While page tables find no room, moves private allocations of the VM out of
 * VRAM; at last opens the reserve, if need be. The caller has set *@fence to NULL;
 * pagoda_vm_commit() may replace *@fence. Returns 0 or a negative errno.
 */
static int bind_apply(struct bind *bind, struct drm_exec *exec, struct dma_fence **fence)
{
	struct pagoda_room room = { .vm = bind->vm, .away = true, .last = true };
	int ret;

	pagoda_room_keep(bind->vm, PAGODA_VM_KEEP_BOUND, exec);
	do {
		ret = bind_try(bind, fence);
	} while (ret == -ENOMEM && pagoda_room_make(&room));
	pagoda_room_keep(bind->vm, PAGODA_VM_KEEP_NOTHING, NULL);
	return ret;
}

static int bind_locked(struct bind *bind, struct dma_fence **fence)
{
	struct drm_gpuvm *base = &bind->vm->base;
	struct drm_exec exec;
	int ret = 0;

	drm_exec_init(&exec, DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		      bind->count + 1);
	drm_exec_until_all_locked(&exec) {
		ret = bind_lock(bind, &exec);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
		ret = bind_apply(bind, &exec, fence);
		drm_exec_retry_on_contention(&exec);
		if (ret)
			break;
	}
	/*
	 * If an attempt to make room waited for a victim, @exec holds the victim's reservation,
	 * too, which has no slot for the fence that is added below.
	 */
	if (exec.prelocked && exec.prelocked->resv != pagoda_vm_resv(bind->vm))
		drm_exec_unlock_obj(&exec, exec.prelocked);
	/* Keep the memory of unmapped allocations until the TLB flush has completed (C101). */
	if (!ret && *fence)
		drm_gpuvm_resv_add_fence(base, &exec, *fence, DMA_RESV_USAGE_BOOKKEEP,
					 DMA_RESV_USAGE_BOOKKEEP);
	drm_exec_fini(&exec);
	return ret;
}

/*
 * Applies all entries, or none, of an array that pagoda_plan_array() accepted. Sets *@fence to the
 * fence after which the addresses can be used, with a reference; to NULL if the addresses can be
 * used at once. Caller holds pagoda_vm.lock and no reservation. Returns 0, -EINVAL as
 * pagoda_unique_check(), -ENODATA if an allocation is offered, -ENOMEM, -EBUSY, -EINTR,
 * -ERESTARTSYS or, in CPU_VIRTUAL mode, -EAGAIN (pagoda_room_later()) or another error of
 * allocating a page table.
 */
int pagoda_bind_run(struct pagoda_vm *vm, const struct pagoda_bind *binds, u32 count,
		    struct dma_fence **fence)
{
	struct bind bind = { .vm = vm, .binds = binds, .count = count };
	int ret;

	lockdep_assert_held(&vm->lock);
	*fence = NULL;
	ret = bind_alloc(&bind);
	if (ret)
		return ret;
	ret = bind_locked(&bind, fence);
	bind_free(&bind);
	return ret;
}
