// SPDX-License-Identifier: GPL-2.0
/*
 * Fixed memory: page tables and save areas in VRAM, outside of the reserve. While a job of their VM
 * is in flight they can't leave (C85), and an allocation that is larger than the rest of VRAM
 * doesn't fit, whatever is evicted.
 *
 * Each VM counts the bytes of its own. Only if the sum of all VMs' bytes could be in the way, the
 * VMs are looked at one by one: then those with jobs in flight count, and the VM that needs room.
 */
#include <drm/drm_managed.h>
#include "core/core.h"
#include "mmu/mmu.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/*
 * Most VMs that fixed_now() looks at, under a spinlock: further VMs count as if they kept no page
 * tables and save areas in VRAM.
 */
#define FIXED_VMS	256

/**
 * struct pagoda_fixed - Page tables and save areas of all VMs in VRAM, outside of the reserve
 * @lock: Protects all members and &pagoda_vm.fixed of all VMs. Fences may be found signalled under
 *	this lock, and their callbacks run
 * @vms: VMs that have such page tables or save areas, linked by &pagoda_vm_fixed.entry
 * @bytes: Bytes of all VMs' page tables and save areas; also read without @lock
 */
struct pagoda_fixed {
	spinlock_t lock;	/* protects all members, and pagoda_vm.fixed */
	struct list_head vms;
	u64 bytes;
};

/* Sets up &pagoda_vidmm.fixed before any VM is created. Probe; may sleep. Returns 0 or -ENOMEM. */
int pagoda_fixed_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_fixed *fixed = drmm_kzalloc(vidmm->drm, sizeof(*fixed), GFP_KERNEL);

	if (!fixed)
		return -ENOMEM;
	spin_lock_init(&fixed->lock);
	INIT_LIST_HEAD(&fixed->vms);
	vidmm->fixed = fixed;
	return 0;
}

static void fixed_count(struct pagoda_vm *vm, struct pagoda_bo *bo, bool add)
{
	struct pagoda_fixed *fixed = vm->vidmm->fixed;
	struct pagoda_vm_fixed *own = &vm->fixed;
	u64 *bytes = bo->vm.table_of ? &own->tables : &own->saves;
	u64 size = bo->ttm.base.size;

	bo->vm.fixed = add;
	spin_lock(&fixed->lock);
	*bytes += add ? size : -size;
	WRITE_ONCE(fixed->bytes, fixed->bytes + (add ? size : -size));
	if (!own->tables && !own->saves)
		list_del_init(&own->entry);
	else if (list_empty(&own->entry))
		list_add_tail(&own->entry, &fixed->vms);
	spin_unlock(&fixed->lock);
}

/*
 * Returns the bytes of page tables and save areas of all VMs in VRAM, outside of the reserve; also
 * those of VMs without jobs in flight, which can leave VRAM. Any context.
 */
u64 pagoda_fixed_bytes(struct pagoda_vidmm *vidmm)
{
	return READ_ONCE(vidmm->fixed->bytes);
}

/*
 * Counts a page table or save area that was placed, if it is in VRAM outside of the reserve; else
 * doesn't count it any more. The VM's reservation is held.
 */
void pagoda_fixed_placed(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;
	bool fixed = pagoda_bo_is_in_vram(bo) && !pagoda_reserve_holds(vm->vidmm, res);

	dma_resv_assert_held(pagoda_vm_resv(vm));
	if (fixed != bo->vm.fixed)
		fixed_count(vm, bo, fixed);
}

/*
 * No longer counts a page table or save area, which is about to move or to be freed. After a move
 * that failed, the next pagoda_fixed_placed() counts the page table or save area again.
 */
void pagoda_fixed_leaves(struct pagoda_vm *vm, struct pagoda_bo *bo)
{
	if (bo->vm.fixed)
		fixed_count(vm, bo, false);
}

/*
 * Returns the bytes of VRAM that page tables and save areas keep now, in the first FIXED_VMS VMs:
 * those of VMs with jobs in flight; and, if @own is a VM without such jobs, @own's page tables less
 * the size of the reserve, to which they could move.
 */
static u64 fixed_now(struct pagoda_fixed *fixed, const struct pagoda_vm *own)
{
	u32 left = FIXED_VMS;
	struct pagoda_vm *vm;
	u64 bytes = 0;

	spin_lock(&fixed->lock);
	list_for_each_entry(vm, &fixed->vms, fixed.entry) {
		if (pagoda_stream_is_awaited(vm->vidmm, pagoda_vm_resv(vm)))
			bytes += vm->fixed.tables + vm->fixed.saves;
		else if (vm == own)
			bytes += vm->fixed.tables - min(vm->fixed.tables,
							vm->vidmm->reserve_size);
		if (!--left)
			break;
	}
	spin_unlock(&fixed->lock);
	return bytes;
}

/*
 * Returns the bytes of a demand that don't fit beside the page tables and save areas that can't
 * leave now; @own as for pagoda_fixed_check().
 */
static u64 fixed_misfit(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
			const struct pagoda_vm *own)
{
	if (!pagoda_demand_misfit_beside(vidmm, demand, pagoda_fixed_bytes(vidmm)))
		return 0;
	return pagoda_demand_misfit_beside(vidmm, demand, fixed_now(vidmm->fixed, own));
}

/**
 * pagoda_fixed_check() - Test whether a demand can fit beside what can't leave
 * @vidmm: The manager
 * @demand: Demand, of pagoda_demand_add_movable()
 * @own: VM whose page tables are needed at the same time, too; or NULL
 * @misfit: Out: bytes of the demand that don't fit; 0 = the demand may fit
 *
 * Pinned allocations can't leave, and page tables and save areas of VMs with jobs in flight.
 *
 * Context: Takes a spinlock; not in interrupts. The answer may change at once.
 * Return: 0; -ENOSPC if the demand doesn't fit even beside pinned allocations alone; else -ENOMEM.
 */
int pagoda_fixed_check(struct pagoda_vidmm *vidmm, const struct pagoda_demand *demand,
		       const struct pagoda_vm *own, u64 *misfit)
{
	*misfit = pagoda_demand_misfit_beside(vidmm, demand, 0);
	if (*misfit)
		return -ENOSPC;
	*misfit = fixed_misfit(vidmm, demand, own);
	return *misfit ? -ENOMEM : 0;
}

/*
 * Returns whether the evicted page tables of a VM, a page each at least, may fit into VRAM and the
 * reserve, beside the page tables and save areas that can't leave now. Takes a mutex.
 */
bool pagoda_fixed_leaves_room(struct pagoda_vm *vm)
{
	const struct pagoda_demand demand = {
		.only_vram = (u64)pagoda_space_nr_absent(vm->space) << PAGE_SHIFT,
	};

	return fixed_misfit(vm->vidmm, &demand, vm) <= vm->vidmm->reserve_size;
}
