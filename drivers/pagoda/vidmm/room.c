// SPDX-License-Identifier: GPL-2.0
/*
 * Room in VRAM for a VM that fills it by itself.
 *
 * What is private to a VM shares its reservation, and who changes the VM holds that: what
 * is bound doesn't leave meanwhile (&pagoda_vm.keep), because the change relies on where it
 * is. When nothing is staged some of it may go, so that there is room for page tables or
 * for what can't be used elsewhere. First goes what the GPU can use where it goes, then, if
 * the caller executes nothing, what comes back with the next submission. When nobody is
 * left who could go, page tables and save areas get their place in the reserve (reserve.c).
 */
#include "vm.h"

/* Bytes to free the first time; page tables are small. */
#define ROOM_FIRST	SZ_64K

/* VRAM is the only place where the GPU can use it. */
static bool room_is_choosy(const struct pagoda_bo *bo)
{
	return bo->supported == DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
}

/**
 * pagoda_room_rank() - Who is brought to VRAM first, if all of a list shall get there
 * @bo: Allocation
 *
 * What can be used elsewhere takes what is left by what can't, and pieces what is left by
 * what has to be in one.
 *
 * Return: Below %PAGODA_ROOM_RANKS; 0 goes first.
 */
u32 pagoda_room_rank(const struct pagoda_bo *bo)
{
	if (!room_is_choosy(bo))
		return 2;
	return bo->flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS ? 0 : 1;
}

/* Where the GPU can use it but for VRAM; 0: it isn't wanted there. */
static u32 room_elsewhere(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = pagoda_bo_placement_resident(bo, places);

	while (n && places[n - 1].mem_type == TTM_PL_VRAM)
		n--;
	if (n)
		places[0] = places[n - 1];
	return n ? 1 : 0;
}

static int room_move(struct pagoda_bo *bo, bool away)
{
	struct ttm_operation_ctx ctx = {};
	int ret = pagoda_bo_place(bo, away ? pagoda_bo_placement_evicted : room_elsewhere, &ctx);

	pagoda_promote_look(bo);
	return ret;
}

/* The private allocation a mapping shows, if it is the first that shows it; else NULL. */
static struct pagoda_bo *room_private(struct pagoda_vm *vm, struct drm_gpuva *va)
{
	struct pagoda_bo *bo = va->gem.obj ? pagoda_bo_of_gem(va->gem.obj) : NULL;

	if (!bo || bo->private_to != vm)
		return NULL;
	return list_first_entry(&va->vm_bo->list.gpuva, struct drm_gpuva, gem.entry) == va ?
	       bo : NULL;
}

/* What there is in VRAM, by pagoda_priority_step(). */
static u32 room_steps(struct pagoda_vm *vm)
{
	struct drm_gpuva *va;
	u32 steps = 0;

	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = room_private(vm, va);

		if (bo && pagoda_bo_is_in_vram(bo))
			steps |= BIT(pagoda_priority_step(bo));
	}
	return steps;
}

static u64 room_spill_step(struct pagoda_vm *vm, u32 step, u64 bytes, bool away)
{
	struct drm_gpuva *va;
	u64 done = 0;

	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = room_private(vm, va);

		if (done >= bytes)
			break;
		if (bo && pagoda_bo_is_in_vram(bo) && pagoda_priority_step(bo) == step &&
		    !room_move(bo, away || pagoda_bo_is_offered(bo)))
			done += bo->ttm.base.size;
	}
	return done;
}

/* Who is offered goes first, then who has less priority (C168). */
static u64 room_spill(struct pagoda_vm *vm, u64 bytes, bool away)
{
	unsigned long steps = room_steps(vm);
	u64 done = 0;
	u32 step;

	for_each_set_bit(step, &steps, PAGODA_PRIORITY_STEPS) {
		if (done >= bytes)
			break;
		done += room_spill_step(vm, step, bytes - done, away);
	}
	return done;
}

/* If that is what was missed: true. */
static bool room_open_reserve(struct pagoda_room *room)
{
	if (!room->last || room->vm->reserve != PAGODA_VM_RESERVE_MISSED)
		return false;
	room->vm->reserve = PAGODA_VM_RESERVE_OPEN;
	return true;
}

/**
 * pagoda_room_make() - Private allocations make room in VRAM, each time for more
 * @room: Zero the first time but for the VM and how; its reservation and
 *	&pagoda_vm.lock are held, nothing is being staged
 *
 * Only such that are bound: others leave by themselves. At last the reserve is open to page
 * tables and save areas, if one of them found no place.
 *
 * Context: May sleep and allocate.
 * Return: Whether there is more than before.
 */
bool pagoda_room_make(struct pagoda_room *room)
{
	u64 done;

	room->bytes = room->bytes ? 2 * room->bytes : ROOM_FIRST;
	done = room_spill(room->vm, room->bytes, false);
	if (!done && room->away)
		done = room_spill(room->vm, room->bytes, true);
	return done || room_open_reserve(room);
}

/**
 * pagoda_room_take() - Bring a page table or save area to where the device finds it
 * @vm: Its VM, whose reservation it has, held
 * @bo: Table or save area
 *
 * Of what shares the reservation only that is evicted which &pagoda_vm.keep allows. The reserve
 * is for who finds no place when nobody is about to make room, pagoda_room_make().
 *
 * Context: May sleep, allocate and evict others.
 * Return: 0, -ENOMEM, or what else pagoda_bo_place() answers.
 */
int pagoda_room_take(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	struct ttm_operation_ctx ctx = {
		.resv = pagoda_vm_resv(vm),
		.allow_res_evict = vm->keep == PAGODA_VM_KEEP_BOUND,
	};
	int ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &ctx);

	if (!ret)
		return 0;
	atomic_inc(&vm->vidmm->pressing);
	ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &ctx);
	atomic_dec(&vm->vidmm->pressing);
	if (ret != -ENOMEM || !vm->vidmm->vram.reserve.size)
		return ret;
	if (vm->keep == PAGODA_VM_KEEP_NOTHING || vm->reserve == PAGODA_VM_RESERVE_OPEN)
		return pagoda_reserve_place(bo, &ctx);
	vm->reserve = PAGODA_VM_RESERVE_MISSED;
	return ret;
}

/**
 * pagoda_room_keep() - What of a VM doesn't leave from now on
 * @vm: VM, its reservation held
 * @keep: What; pagoda_room_make() may be called unless it is nothing
 */
void pagoda_room_keep(struct pagoda_vm *vm, enum pagoda_vm_keep keep)
{
	vm->keep = keep;
	vm->reserve = PAGODA_VM_RESERVE_SHUT;
}

/**
 * pagoda_room_leave() - An allocation gives up its place in VRAM
 * @bo: Allocation, reservation held
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno.
 */
int pagoda_room_leave(struct pagoda_bo *bo)
{
	return pagoda_bo_is_in_vram(bo) ? room_move(bo, true) : 0;
}

/**
 * pagoda_room_leave_all() - All private allocations that are bound give up theirs
 * @vm: VM, locked, its reservation held
 *
 * The next submission brings them back.
 *
 * Context: May sleep and allocate.
 * Return: 0 or a negative errno.
 */
int pagoda_room_leave_all(struct pagoda_vm *vm)
{
	struct drm_gpuva *va;
	int ret = 0;

	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = room_private(vm, va);

		ret = bo ? pagoda_room_leave(bo) : 0;
		if (ret)
			break;
	}
	return ret;
}

/**
 * pagoda_room_demand_all() - What all private allocations that are bound need
 * @vm: VM, locked, its reservation held
 * @demand: Added to
 */
void pagoda_room_demand_all(struct pagoda_vm *vm, struct pagoda_demand *demand)
{
	struct drm_gpuva *va;

	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = room_private(vm, va);

		if (bo && !pagoda_bo_is_offered(bo))
			pagoda_demand_add(demand, bo);
	}
}

/**
 * pagoda_room_wait_idle() - Wait until page tables and save areas may leave
 * @vidmm: The manager; the caller keeps new submissions out
 * @interruptible: Signals end the wait
 * @timeout: For all of it, in jiffies
 *
 * They stay while something of their VM executes (C85, C123): what stood in the way
 * because of that doesn't afterwards.
 *
 * Context: Sleeps, as long as jobs last. Outside of reservations.
 * Return: 0, -ERESTARTSYS or -ETIME.
 */
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout)
{
	struct pagoda_vm *vm;
	long left = timeout;

	mutex_lock(&vidmm->reset.vms_lock);
	list_for_each_entry(vm, &vidmm->reset.vms, entry) {
		left = dma_resv_wait_timeout(pagoda_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP,
					     interruptible, left);
		if (left <= 0)
			break;
	}
	mutex_unlock(&vidmm->reset.vms_lock);
	return left ? min(left, 0l) : -ETIME;
}
