// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations of a client's residency list that a VM maps: jobs of the VM need these allocations
 * resident, too, without listing them (C152).
 */
#include <linux/slab.h>
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/require.h"
#include "vidmm/vm/vm.h"
#include "residency.h"

/*
 * Returns whether the residency list makes @job need @bo: the allocation is on the list, or left
 * the list when @job was queued already; and bound_name() hasn't marked it as named by the caller.
 */
static bool bound_is_wanted(struct pagoda_requirements *reqs, u64 job, struct pagoda_bo *bo)
{
	struct pagoda_requirement *req = pagoda_require_find(reqs, bo);
	void *until;

	if (req)
		return !req->named;
	until = xa_load(&reqs->left, bo->id);
	return until && job < xa_to_value(until) && !xa_get_mark(&reqs->left, bo->id, XA_MARK_0);
}

/*
 * Returns the number of allocations that the VM maps, that aren't private to the VM, and for which
 * bound_is_wanted() is true; with @bos fills in up to @room of them, each with a reference. The
 * extobj list changes only under &pagoda_vm.lock: no spinlock is needed.
 */
static u32 bound_collect(struct pagoda_requirements *reqs, struct pagoda_vm *vm, u64 job,
			 struct pagoda_bo **bos, u32 room)
{
	struct drm_gpuvm_bo *vm_bo;
	u32 n = 0, looked = 0;

	lockdep_assert_held(&vm->lock);
	list_for_each_entry(vm_bo, &vm->base.extobj.list, list.entry.extobj) {
		if (!(++looked % PAGODA_WALK_SLICE))
			pagoda_walk_pause();
		if (!bound_is_wanted(reqs, job, pagoda_bo_of_gem(vm_bo->obj)))
			continue;
		if (bos && n == room)
			break;
		if (bos) {
			drm_gem_object_get(vm_bo->obj);
			bos[n] = pagoda_bo_of_gem(vm_bo->obj);
		}
		n++;
	}
	return n;
}

static int bound_get(struct pagoda_requirements *reqs, struct pagoda_vm *vm, u64 job,
		     struct pagoda_bo **named, u32 nr_named, struct pagoda_bo ***bos, u32 *count)
{
	u32 room = bound_collect(reqs, vm, job, NULL, 0);

	if (!room)
		return 0;
	*bos = kvmalloc_array(nr_named + room, sizeof(**bos), GFP_KERNEL_ACCOUNT);
	if (!*bos)
		return -ENOMEM;
	if (nr_named)
		memcpy(*bos, named, nr_named * sizeof(**bos));
	*count += bound_collect(reqs, vm, job, *bos + nr_named, room);
	return 0;
}

static void bound_name(struct pagoda_requirements *reqs, struct pagoda_bo **bos, u32 count,
		       bool named)
{
	struct pagoda_requirement *req;
	u32 i;

	for (i = 0; i < count; i++) {
		req = pagoda_require_find(reqs, bos[i]);
		if (req)
			req->named = named;
		else if (named)
			xa_set_mark(&reqs->left, bos[i]->id, XA_MARK_0);
		else
			xa_clear_mark(&reqs->left, bos[i]->id, XA_MARK_0);
	}
}

/**
 * pagoda_require_bound() - Collect the allocations on a client's residency list that a VM maps
 * @vm: VM, locked: no mapping is added or removed during the call
 * @job: Number of a queued job (&pagoda_submit.number): allocations that left the list since the
 *	job was queued are collected, too; %U64_MAX = only allocations on the list
 * @named: Allocations that the caller names itself: they aren't collected once more, and get no
 *	further references
 * @nr_named: Number of @named
 * @bos: Out: array of @named, followed by the collected allocations with a reference each, to be
 *	freed by kvfree(); NULL if nothing was collected
 * @count: Out: length of *@bos; @nr_named if *@bos is NULL
 *
 * Allocations that are private to the VM are left out: they share its reservation.
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_require_bound(struct pagoda_vm *vm, u64 job, struct pagoda_bo **named, u32 nr_named,
			 struct pagoda_bo ***bos, u32 *count)
{
	struct pagoda_requirements *reqs = vm->client->requirements;
	int ret;

	lockdep_assert_held(&vm->lock);
	*bos = NULL;
	*count = nr_named;
	if (!READ_ONCE(reqs->count) && (job == U64_MAX || xa_empty(&reqs->left)))
		return 0;
	mutex_lock(&reqs->lock);
	bound_name(reqs, named, nr_named, true);
	ret = bound_get(reqs, vm, job, named, nr_named, bos, count);
	bound_name(reqs, named, nr_named, false);
	mutex_unlock(&reqs->lock);
	return ret;
}
