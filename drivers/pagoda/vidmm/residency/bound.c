// SPDX-License-Identifier: GPL-2.0
/* Allocations of a client's residency list that a VM maps: jobs of the VM need them too (C152). */
#include <linux/slab.h>
#include <kunit/static_stub.h>
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/require.h"
#include "vidmm/vm/vm.h"
#include "residency.h"

/*
 * Returns the number of allocations on residency list @reqs that @vm maps, that aren't private to
 * @vm or marked by bound_name(). Fills @bos, unless NULL, with up to @room of them and references.
 */
static u32 bound_collect(struct pagoda_requirements *reqs, struct pagoda_vm *vm,
			 struct pagoda_bo **bos, u32 room)
{
	struct pagoda_requirement *req;
	struct drm_gpuvm_bo *vm_bo;
	u32 n = 0;

	spin_lock(&vm->base.extobj.lock);
	list_for_each_entry(vm_bo, &vm->base.extobj.list, list.entry.extobj) {
		req = pagoda_require_find(reqs, pagoda_bo_of_gem(vm_bo->obj));
		if (!req || req->named)
			continue;
		if (bos && n == room)
			break;
		if (bos) {
			drm_gem_object_get(vm_bo->obj);
			bos[n] = req->bo;
		}
		n++;
	}
	spin_unlock(&vm->base.extobj.lock);
	return n;
}

static int bound_get(struct pagoda_requirements *reqs, struct pagoda_vm *vm,
		     struct pagoda_bo **named, u32 nr_named, struct pagoda_bo ***bos, u32 *count)
{
	u32 room = bound_collect(reqs, vm, NULL, 0);

	if (!room)
		return 0;
	*bos = kvmalloc_array(nr_named + room, sizeof(**bos), GFP_KERNEL_ACCOUNT);
	if (!*bos)
		return -ENOMEM;
	if (nr_named)
		memcpy(*bos, named, nr_named * sizeof(**bos));
	*count += bound_collect(reqs, vm, *bos + nr_named, room);
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
	}
}

/**
 * pagoda_require_bound() - Collect the allocations on a client's residency list that a VM maps
 * @vm: VM, locked: nothing is bound meanwhile
 * @named: Allocations that the caller has anyway: they aren't collected
 * @nr_named: Number of @named
 * @bos: Set to an array for kvfree() with @named, then what was collected, with references; to NULL
 *	if nothing was collected
 * @count: Set to the length of *@bos, or to @nr_named
 *
 * Allocations that are private to the VM are left out: they share its reservation.
 *
 * Context: May sleep and allocate.
 * Return: 0 or -ENOMEM.
 */
int pagoda_require_bound(struct pagoda_vm *vm, struct pagoda_bo **named, u32 nr_named,
			 struct pagoda_bo ***bos, u32 *count)
{
	struct pagoda_requirements *reqs = vm->client->requirements;
	int ret;

	lockdep_assert_held(&vm->lock);
	*bos = NULL;
	*count = nr_named;
	if (!READ_ONCE(reqs->count))
		return 0;
	mutex_lock(&reqs->lock);
	bound_name(reqs, named, nr_named, true);
	ret = bound_get(reqs, vm, named, nr_named, bos, count);
	bound_name(reqs, named, nr_named, false);
	mutex_unlock(&reqs->lock);
	return ret;
}
