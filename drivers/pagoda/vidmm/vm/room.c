// SPDX-License-Identifier: GPL-2.0
/*
 * Room in VRAM for a VM whose own allocations fill VRAM.
 *
 * Private allocations share the reservation of their VM. A thread that changes the VM's mappings
 * holds this reservation and relies on the places of the allocations: private allocations with
 * mappings aren't evicted then (&pagoda_vm.keep). But while no change of page tables is staged,
 * pagoda_room_make() may move such allocations out of VRAM, to make room for page tables or for
 * allocations that the GPU can use only in VRAM. Offered allocations, and those that the GPU
 * can use at their new place, go first; then, for VM_BIND only, allocations that the next
 * submission brings back. When no such allocation is left, page tables and save areas are placed in
 * the reserve (reserve.c).
 *
 * If there is no room all the same, callers wait for jobs that keep memory in place
 * (pagoda_room_blockers()).
 */
#include <linux/dma-fence-unwrap.h>
#include <linux/sched/signal.h>
#include <drm/drm_device.h>
#include <drm/drm_print.h>
#include "core/core.h"
#include "core/life.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "internal.h"
#include "vm.h"

/* Bytes of VRAM that the first pagoda_room_make() tries to free: page tables need little. */
#define ROOM_FIRST	SZ_64K

/* Returns true if VRAM is the only place where the GPU can use the allocation. */
static bool room_is_choosy(const struct pagoda_bo *bo)
{
	return bo->supported == DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
}

/**
 * pagoda_room_rank() - Order in which the allocations of a list are brought to VRAM
 * @bo: Allocation
 *
 * Allocations that the GPU can use only in VRAM go first, and of these the contiguous ones before
 * the others; then allocations that the GPU can use elsewhere, too, contiguous or not.
 *
 * Return: Below %PAGODA_ROOM_RANKS; 0 goes first.
 */
u32 pagoda_room_rank(const struct pagoda_bo *bo)
{
	if (!room_is_choosy(bo))
		return 2;
	return bo->flags & DRM_PAGODA_ALLOCATION_CONTIGUOUS ? 0 : 1;
}

/*
 * Sets places[0] to a place outside of VRAM where the GPU can use @bo. Returns 1, or 0 if there is
 * no such place.
 */
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
	struct pagoda_operation op = { .flags = PAGODA_PL_PIPELINED };
	int ret = pagoda_bo_place(bo, away ? pagoda_bo_placement_evicted : room_elsewhere, &op);

	pagoda_promote_look(bo);
	return ret;
}

/* Returns the private allocation that @va maps, if @va is its first mapping in the VM; or NULL. */
static struct pagoda_bo *room_private(struct pagoda_vm *vm, struct drm_gpuva *va)
{
	struct pagoda_bo *bo = va->gem.obj ? pagoda_bo_of_gem(va->gem.obj) : NULL;

	if (!bo || bo->vm.private_to != vm)
		return NULL;
	return list_first_entry(&va->vm_bo->list.gpuva, struct drm_gpuva, gem.entry) == va ?
	       bo : NULL;
}

/* Returns the pagoda_priority_step() of all mapped private allocations in VRAM, as a bit mask. */
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

/*
 * Moves mapped private allocations out of VRAM until @bytes have left: offered ones first, then by
 * priority, lowest first (C168). Without @away, only offered ones are moved to where the GPU can't
 * use them. Returns the number of bytes that left.
 */
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

/**
 * pagoda_room_make() - Move private allocations out of VRAM, each time more of them
 * @room: The VM and how to make room; @room->bytes is 0 the first time. The VM's reservation and
 *	&pagoda_vm.lock are held, and no change of page tables is staged
 *
 * Moves only allocations with mappings: TTM evicts the others. Moves nothing if the VM's evicted
 * page tables can't fit now, whatever moves. Else, if no allocation could be moved and @room->last
 * is set, the reserve is opened to page tables and save areas if one of these has found no place in
 * VRAM.
 *
 * Context: May sleep and allocate.
 * Return: true if allocations were moved or the reserve was opened: a retry may find room.
 */
bool pagoda_room_make(struct pagoda_room *room)
{
	u64 done;

	lockdep_assert_held(&room->vm->lock);
	dma_resv_assert_held(pagoda_vm_resv(room->vm));
	if (!pagoda_fixed_leaves_room(room->vm))
		return false;
	room->bytes = room->bytes ? 2 * room->bytes : ROOM_FIRST;
	done = room_spill(room->vm, room->bytes, false);
	if (!done && room->away)
		done = room_spill(room->vm, room->bytes, true);
	if (done)
		return true;
	if (!room->last || room->vm->reserve != PAGODA_VM_RESERVE_MISSED)
		return false;
	room->vm->reserve = PAGODA_VM_RESERVE_OPEN;
	return true;
}

/* Brings @bo, a page table or save area of the VM, to a place, as pagoda_room_take(). */
static int room_take(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	struct pagoda_operation op = {
		.ttm.resv = pagoda_vm_resv(vm),
		.ttm.allow_res_evict = vm->keep == PAGODA_VM_KEEP_BOUND,
		.exec = vm->exec,
	};
	int ret;

	ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);
	if (ret == -ENOMEM || ret == -EBUSY) {
		op.urgent = true;
		ret = pagoda_bo_place(bo, pagoda_bo_placement_resident, &op);
	}
	if (ret != -ENOMEM || !vm->vidmm->reserve_size)
		return ret;
	if (vm->keep == PAGODA_VM_KEEP_NOTHING || vm->reserve == PAGODA_VM_RESERVE_OPEN)
		return pagoda_reserve_place(bo, &op.ttm);
	vm->reserve = PAGODA_VM_RESERVE_MISSED;
	return ret;
}

/*
 * Makes @bo, a page table or save area of the VM, resident. Caller holds the VM's reservation. Of
 * the VM's own allocations, only private ones without mappings are evicted for @bo, and only with
 * PAGODA_VM_KEEP_BOUND. If there is no other room, @bo is placed in the reserve with
 * PAGODA_VM_KEEP_NOTHING, or once pagoda_room_make() has opened the reserve. Returns 0, -ENOMEM, or
 * another error of pagoda_bo_place().
 */
int pagoda_room_take(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	int ret;

	dma_resv_assert_held(pagoda_vm_resv(vm));
	ret = room_take(vm, bo);
	if (!ret)
		pagoda_fixed_placed(vm, bo);
	return ret;
}

/**
 * pagoda_room_keep() - Set which of a VM's allocations don't leave VRAM, and shut the reserve
 * @vm: VM, its reservation held
 * @keep: New value of &pagoda_vm.keep; unless it is %PAGODA_VM_KEEP_NOTHING, the caller may call
 *	pagoda_room_make() afterwards
 * @exec: Reservations that the caller holds; NULL with %PAGODA_VM_KEEP_NOTHING
 */
void pagoda_room_keep(struct pagoda_vm *vm, enum pagoda_vm_keep keep, struct drm_exec *exec)
{
	dma_resv_assert_held(pagoda_vm_resv(vm));
	vm->keep = keep;
	vm->exec = exec;
	vm->reserve = PAGODA_VM_RESERVE_SHUT;
}

/**
 * pagoda_room_leave() - Evict an allocation from VRAM, unless it is elsewhere
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
 * pagoda_room_leave_all() - Evict all private allocations with mappings from VRAM
 * @vm: VM, locked, its reservation held
 *
 * The submission being made, or else the next one, brings back those that aren't offered.
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
 * pagoda_room_demand_all() - Add up the memory that private allocations with mappings need
 * @vm: VM, locked, its reservation held
 * @demand: Sum to which the needs of those allocations that aren't offered are added
 */
void pagoda_room_demand_all(struct pagoda_vm *vm, struct pagoda_demand *demand)
{
	struct drm_gpuva *va;

	drm_gpuvm_for_each_va(va, &vm->base) {
		struct pagoda_bo *bo = room_private(vm, va);

		if (bo && !pagoda_bo_is_offered(bo))
			pagoda_demand_add_movable(demand, bo);
	}
}

/**
 * pagoda_room_wait_idle() - Wait until page tables and save areas of all VMs may be evicted
 * @vidmm: The manager; the caller keeps new submissions out and has called pagoda_stream_flush()
 * @interruptible: Signals end the wait
 * @timeout: Jiffies, for all VMs together
 *
 * Page tables and save areas stay in place while a job of their VM executes (C85, C123). Waits
 * until all fences in the reservations of all VMs have signalled.
 *
 * Context: Sleeps, as long as jobs last. Outside of reservations.
 * Return: 0, -ERESTARTSYS or -ETIME.
 */
int pagoda_room_wait_idle(struct pagoda_vidmm *vidmm, bool interruptible, long timeout)
{
	struct pagoda_vm *vm;
	long left = timeout;

	mutex_lock(&vidmm->reset->vms_lock);
	list_for_each_entry(vm, &vidmm->reset->vms, entry) {
		left = dma_resv_wait_timeout(pagoda_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP,
					     interruptible, left);
		if (left <= 0)
			break;
	}
	mutex_unlock(&vidmm->reset->vms_lock);
	return left ? min(left, 0l) : -ETIME;
}

/*
 * Returns a fence that signals after two fences, of which either may be NULL; consumes the
 * references. Without memory returns @first, which isn't behind @second.
 */
static struct dma_fence *blockers_join(struct dma_fence *first, struct dma_fence *second)
{
	struct dma_fence *both;

	if (!first || !second)
		return first ?: second;
	both = dma_fence_unwrap_merge(first, second);
	dma_fence_put(second);
	if (!both)
		return first;
	dma_fence_put(first);
	return both;
}

/*
 * Returns a fence behind all jobs and paging of the client's VMs; NULL if nothing is in flight.
 * Without memory the fence may be behind a part of these, or be NULL.
 */
static struct dma_fence *blockers_of(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct dma_fence *all = NULL, *fence;
	struct pagoda_vm *vm;

	mutex_lock(&vidmm->reset->vms_lock);
	list_for_each_entry(vm, &vidmm->reset->vms, entry)
		if (vm->client == client &&
		    !dma_resv_get_singleton(pagoda_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP, &fence))
			all = blockers_join(all, fence);
	mutex_unlock(&vidmm->reset->vms_lock);
	return all;
}

/**
 * pagoda_room_blockers() - Get a fence behind the jobs that may be in the way of an allocation
 * @vidmm: The manager
 * @client: Client that needs room
 *
 * Page tables and save areas of a VM, and freed allocations, stay in place while jobs use them; and
 * all that a fenced job uses, until it has a place of an engine. The jobs to wait for are those of
 * any client that have a place now, and all jobs of @client. Other fenced jobs aren't waited for,
 * and other jobs keep no memory in place.
 *
 * Context: May sleep and allocate. Outside of reservations.
 * Return: The fence, a reference; NULL if there is no such job, or no memory to tell.
 */
struct dma_fence *pagoda_room_blockers(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct dma_fence *placed = vidmm->engines ? pagoda_engines_placed(vidmm->engines) : NULL;

	return blockers_join(placed, blockers_of(vidmm, client));
}

/**
 * pagoda_room_await() - Wait for a fence before which an operation couldn't be done
 * @late: The fence, a reference, if *@ret is -EINPROGRESS; set to NULL then
 * @ret: Result of the operation; set to -ERESTARTSYS if a signal ends the wait
 *
 * Context: Sleeps, as long as a client lets work wait. Outside of sections, reservations and locks.
 * Return: Whether the caller is to try the operation again.
 */
bool pagoda_room_await(struct dma_fence **late, int *ret)
{
	if (*ret != -EINPROGRESS)
		return false;
	*ret = dma_fence_wait(*late, true);
	dma_fence_put(*late);
	*late = NULL;
	/* A wait for a fence that has signalled already doesn't look for signals. */
	if (!*ret && signal_pending(current))
		*ret = -ERESTARTSYS;
	return !*ret;
}

/**
 * pagoda_room_later() - Have a change of page tables that has done enough for one call made again
 * @late: *@late, a reference or NULL, is replaced if @ret is -EAGAIN: by a fence that has signalled
 * @ret: Result of a function that may allocate page tables
 *
 * With -EAGAIN much memory was swapped out to make room for page tables, and that wasn't enough
 * yet. The caller comes again, by pagoda_room_await(), once it has dropped the locks and left the
 * section that other threads may need meanwhile.
 *
 * Context: Any but interrupts.
 * Return: -EINPROGRESS if @ret is -EAGAIN, else @ret.
 */
int pagoda_room_later(struct dma_fence **late, int ret)
{
	if (ret != -EAGAIN)
		return ret;
	dma_fence_put(*late);
	*late = dma_fence_get_stub();
	return -EINPROGRESS;
}

/**
 * pagoda_room_again() - Wait once for jobs that may free memory, for an operation that found no
 * room
 * @vidmm: The manager
 * @client: Client that needs room
 * @tries: Number of earlier calls for the operation in which *@ret was -ENOMEM or -EBUSY, counted
 *	here; 0 before the first call
 * @ret: Result of the operation: with -ENOMEM or -EBUSY there may be room when jobs have ended;
 *	-ENOSPC, which is replaced by -ENOMEM, says that nothing helps. Set to -ERESTARTSYS if a
 *	signal ends the wait
 *
 * Waits for the jobs that have a place of an engine when this function is called, and for those of
 * the client.
 *
 * Context: Sleeps as long as these jobs last. Outside of sections, reservations and locks.
 * Return: Whether the caller is to try the operation again.
 */
bool pagoda_room_again(struct pagoda_vidmm *vidmm, struct pagoda_client *client, u32 *tries,
		       int *ret)
{
	struct dma_fence *blockers = NULL;
	long left;

	if (*ret == -ENOSPC)
		*ret = -ENOMEM;
	else if ((*ret == -ENOMEM || *ret == -EBUSY) && !(*tries)++)
		blockers = pagoda_room_blockers(vidmm, client);
	if (!blockers)
		return false;
	drm_dbg_driver(vidmm->drm, "no room (%d): waits for jobs of engines and of the client\n",
		       *ret);
	left = dma_fence_wait(blockers, true);
	dma_fence_put(blockers);
	if (left < 0)
		*ret = left;
	return left >= 0;
}
