// SPDX-License-Identifier: GPL-2.0
/*
 * Address spaces of clients: creation and destruction, mappings that become valid again, and
 * handles of allocations that are opened and closed.
 *
 * Page tables are allocations in VRAM (table_memory.c), or system memory in CPU_VIRTUAL mode. The
 * tables in VRAM of an idle VM may be evicted; the next change of mappings, or the next job of the
 * VM, brings the tables back, and writes tables again that a reset of the device lost.
 *
 * The mappings of an allocation are invalidated before the allocation moves: the device executes
 * the invalidation before the move. The mappings become valid again in a MAKE_RESIDENT, RECLAIM or
 * SUBMIT that finds the allocation where the GPU can use it, not in the move: page tables may have
 * to be allocated, which a move must not do.
 */
#include <linux/slab.h>
#include <drm/drm_exec.h>
#include <kunit/static_stub.h>
#include "core/core.h"
#include "core/life.h"
#include "mmu/mmu.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/stream/stream.h"
#include "internal.h"
#include "vm.h"

/* Least address that can be mapped: page 0 is never valid (C77). */
#define VM_START	SZ_2M

/**
 * pagoda_vm_bo_opened() - Allow or refuse a new handle of an allocation, or forget its last handle
 * @bo: Allocation
 * @opened: True if a handle is created, false if the last handle is closed
 *
 * A private allocation has at most one handle ever: DRM's global names (GEM_FLINK) would give
 * the allocation further handles, also in other clients.
 *
 * Context: May sleep. Outside of reservations.
 * Return: 0, or -EPERM if @bo is private and has, or had, a handle.
 */
int pagoda_vm_bo_opened(struct pagoda_bo *bo, bool opened)
{
	struct pagoda_vm *vm = bo->vm.private_to;

	if (!vm)
		return 0;
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	if (opened && bo->vm.had_handle) {
		dma_resv_unlock(pagoda_vm_resv(vm));
		return -EPERM;
	}
	bo->vm.had_handle = true;
	bo->vm.opened = opened;
	/*
	 * pagoda_vm_forget(), which does this, too, may not be called for an allocation without
	 * mappings.
	 */
	if (!opened)
		list_del_init(&bo->vm.evicted);
	pagoda_priority_apply(bo);
	dma_resv_unlock(pagoda_vm_resv(vm));
	return 0;
}

/*
 * Does the work of pagoda_vm_validate(), with the reservations of the VM and of all allocations
 * that the VM maps held. Returns 0 or a negative errno.
 */
static int vm_validate_locked(struct drm_gpuvm_exec *vm_exec)
{
	struct pagoda_vm *vm = pagoda_vm_of(vm_exec->vm);
	struct pagoda_room room = { .vm = vm, .last = true };
	int ret;

	pagoda_room_keep(vm, PAGODA_VM_KEEP_BOUND, &vm_exec->exec);
	do {
		ret = pagoda_vm_make_tables_resident(vm) ?:
		      pagoda_rebind_all(vm, vm_exec->extra.priv);
	} while (ret == -ENOMEM && pagoda_room_make(&room));
	pagoda_room_keep(vm, PAGODA_VM_KEEP_NOTHING, NULL);
	return ret;
}

/*
 * Makes the VM's mappings of resident allocations that aren't offered valid again; does nothing for
 * a closed VM. Replaces *@fence by the fence that signals when the page tables are updated, if
 * paging operations were emitted. Called without reservations held. Returns 0, -ENOMEM, -EBUSY,
 * -EINTR, -ERESTARTSYS or another error of pagoda_rebind_run().
 */
int pagoda_vm_validate(struct pagoda_vm *vm, struct dma_fence **fence)
{
	struct drm_gpuvm_exec vm_exec = {
		.vm = &vm->base,
		.flags = DRM_EXEC_INTERRUPTIBLE_WAIT | DRM_EXEC_IGNORE_DUPLICATES,
		.num_fences = 1,
		.extra.fn = vm_validate_locked,
		.extra.priv = fence,
	};
	int ret;

	if (list_empty_careful(&vm->base.evict.list))
		return 0;
	ret = mutex_lock_interruptible(&vm->lock);
	if (ret)
		return ret;
	/* A closed VM has no page tables any more, or is about to lose them. */
	if (!vm->closed) {
		ret = drm_gpuvm_exec_lock(&vm_exec);
		if (!ret)
			drm_gpuvm_exec_unlock(&vm_exec);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

static int vm_take_id(struct pagoda_vm *vm)
{
	struct pagoda_vidmm *vidmm = vm->vidmm;
	u32 most = vidmm->paging_limits->max_address_spaces;
	int id, ret = pagoda_quota_charge(vm->client->quota, PAGODA_LIMIT_VMS, 1);

	if (ret)
		return ret;
	/* Space 0 belongs to the paging process. */
	id = ida_alloc_range(&vidmm->spaces, 1, most - 1, GFP_KERNEL_ACCOUNT);
	if (id < 0) {
		pagoda_quota_uncharge(vm->client->quota, PAGODA_LIMIT_VMS, 1);
		return id;
	}
	vm->id = id;
	return 0;
}

static void vm_give_id(struct pagoda_vm *vm)
{
	ida_free(&vm->vidmm->spaces, vm->id);
	pagoda_quota_uncharge(vm->client->quota, PAGODA_LIMIT_VMS, 1);
}

static int vm_init_space(struct pagoda_vm *vm)
{
	int ret = vm_take_id(vm);

	if (ret)
		return ret;
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	vm->space = pagoda_space_create(vm->vidmm->mmu, vm->id, vm);
	dma_resv_unlock(pagoda_vm_resv(vm));
	if (!IS_ERR(vm->space))
		return 0;
	vm_give_id(vm);
	return PTR_ERR(vm->space);
}

/*
 * Creates &pagoda_vm.space, which has no table yet, and adds the VM to &pagoda_reset.vms for
 * rebuilds. Returns 0 or a negative errno.
 */
static int vm_begin(struct pagoda_vm *vm)
{
	struct pagoda_reset *reset = vm->vidmm->reset;
	int ret = pagoda_enter(vm->vidmm);

	if (ret)
		return ret;
	ret = vm_init_space(vm);
	if (!ret) {
		mutex_lock(&reset->vms_lock);
		list_add_tail(&vm->entry, &reset->vms);
		mutex_unlock(&reset->vms_lock);
	}
	pagoda_leave(vm->vidmm);
	return ret;
}

/* Returns a line for a VM; NULL if all changes of page tables use windows; or ERR_PTR(-ENOMEM). */
static struct pagoda_stream_line *vm_create_line(struct pagoda_vidmm *vidmm)
{
	if (pagoda_mmu_mode(vidmm->mmu) == VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL)
		return NULL;
	return pagoda_stream_line_create(vidmm);
}

/**
 * pagoda_vm_create() - Make an address space
 * @vidmm: The manager
 * @client: Client that is charged for page tables and save areas
 *
 * Context: May sleep and allocate.
 * Return: The VM, to be destroyed by pagoda_vm_close() and pagoda_vm_put(); or ERR_PTR: -EOPNOTSUPP
 * if the device has no page tables, -EMFILE if the client has too many VMs, -ENOSPC if the client's
 * user has used up its share of the device's address spaces or no address space is free, -ENOMEM,
 * -ENODEV or -ERESTARTSYS.
 */
struct pagoda_vm *pagoda_vm_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client)
{
	struct pagoda_stream_line *line;
	struct drm_gem_object *resv;
	struct pagoda_vm *vm;
	int ret;

	if (!vidmm->mmu || vidmm->paging_limits->max_address_spaces < 2)
		return ERR_PTR(-EOPNOTSUPP);
	line = vm_create_line(vidmm);
	if (IS_ERR(line))
		return ERR_CAST(line);
	vm = kzalloc(sizeof(*vm), GFP_KERNEL_ACCOUNT);
	resv = drm_gpuvm_resv_object_alloc(vidmm->drm);
	if (!vm || !resv) {
		if (resv)
			drm_gem_object_put(resv);
		kfree(vm);
		if (line)
			pagoda_stream_line_destroy(vidmm, line);
		return ERR_PTR(-ENOMEM);
	}
	vm->vidmm = vidmm;
	vm->line = line;
	kref_get(&client->kref);
	vm->client = client;
	mutex_init(&vm->lock);
	vm->uses.gpuvm = &vm->base;
	pagoda_policy_group_init(&vm->uses.group, &client->choice.owner);
	INIT_LIST_HEAD(&vm->saves);
	pagoda_plan_init(vm);
	pagoda_bind_queue_init(vm);
	INIT_LIST_HEAD(&vm->evicted);
	INIT_LIST_HEAD(&vm->offered);
	INIT_LIST_HEAD(&vm->left_out);
	INIT_LIST_HEAD(&vm->fixed.entry);
	ttm_lru_bulk_move_init(&vm->uses.bulk);
	drm_gpuvm_init(&vm->base, "pagoda", 0, vidmm->drm, resv, VM_START,
		       pagoda_mmu_reach(vidmm->mmu) - VM_START, 0, 0, &pagoda_vm_ops);
	drm_gem_object_put(resv);
	ret = vm_begin(vm);
	if (!ret)
		return vm;
	drm_gpuvm_put(&vm->base);
	return ERR_PTR(ret);
}

struct pagoda_vm *pagoda_vm_get(struct pagoda_vm *vm)
{
	drm_gpuvm_get(&vm->base);
	return vm;
}

/* Drops a reference; the last reference frees the VM. May sleep. */
void pagoda_vm_put(struct pagoda_vm *vm)
{
	drm_gpuvm_put(&vm->base);
}

/*
 * Makes every page table entry invalid before the tables are freed (C107), and waits until the
 * device has executed all operations on the page tables. Without memory for a staged update,
 * invalidates the whole range of addresses instead, which needs no memory. Caller holds the VM's
 * reservation.
 */
static void vm_empty_tables(struct pagoda_vm *vm)
{
	struct pagoda_pt_update *update;
	struct dma_fence *fence = NULL;

	dma_resv_assert_held(pagoda_vm_resv(vm));
	if (pagoda_space_prepare_close(vm->space, &update) || pagoda_vm_commit(vm, update, &fence))
		pagoda_vm_invalidate_range(vm, NULL, PAGODA_VM_HIDES, vm->base.mm_start,
					   vm->base.mm_range);
	dma_fence_put(fence);
	if (vm->last)
		pagoda_stream_wait_fence(vm->vidmm, vm->last);
}

static void vm_empty_books(struct pagoda_vm *vm)
{
	struct drm_gpuva *va, *next;

	drm_gpuvm_for_each_va_safe(va, next, &vm->base) {
		struct drm_gem_object *obj = va->gem.obj;

		if (obj) {
			drm_gem_object_get(obj);
			dma_resv_lock(obj->resv, NULL);
		}
		drm_gpuva_remove(va);
		drm_gpuva_unlink(va);
		if (obj) {
			list_del_init(&pagoda_bo_of_gem(obj)->vm.evicted);
			dma_resv_unlock(obj->resv);
			drm_gem_object_put(obj);
		}
		kfree(pagoda_va_of(va));
	}
}

/* Waits until all fences in the VM's reservation have signalled: those of jobs and of paging. */
static void vm_wait_idle(struct pagoda_vm *vm)
{
	pagoda_stream_flush(vm->vidmm);
	dma_resv_wait_timeout(pagoda_vm_resv(vm), DMA_RESV_USAGE_BOOKKEEP, false,
			      MAX_SCHEDULE_TIMEOUT);
}

/*
 * Frees the VM's mappings and page tables. The caller has waited for the VM's jobs; paging may
 * still be in flight.
 */
static void vm_end(struct pagoda_vm *vm)
{
	mutex_lock(&vm->vidmm->reset->vms_lock);
	list_del(&vm->entry);
	mutex_unlock(&vm->vidmm->reset->vms_lock);
	mutex_lock(&vm->lock);
	pagoda_plan_fini(vm);
	/*
	 * Empty the page tables before the mappings go: a move needs the mappings to find, and make
	 * invalid, the entries that show the allocation.
	 */
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	vm_wait_idle(vm);
	vm_empty_tables(vm);
	dma_resv_unlock(pagoda_vm_resv(vm));
	vm_empty_books(vm);
	dma_resv_lock(pagoda_vm_resv(vm), NULL);
	pagoda_space_destroy(vm->space);
	vm->space = NULL;
	dma_resv_unlock(pagoda_vm_resv(vm));
	mutex_unlock(&vm->lock);
	vm_give_id(vm);
}

/**
 * pagoda_vm_close() - Destroy an address space that has no handle any more
 * @vm: VM without contexts
 *
 * Frees mappings and page tables, and cancels queued VM_BIND arrays. Threads that still have a
 * reference find &pagoda_vm.closed set.
 *
 * Context: May sleep, as long as jobs of the VM last. Outside of pagoda_enter() sections and
 * reservations.
 */
void pagoda_vm_close(struct pagoda_vm *vm)
{
	mutex_lock(&vm->lock);
	vm->closed = true;
	mutex_unlock(&vm->lock);
	pagoda_deferred_cancel(&vm->queue, -ECANCELED);
	/* Wait before pagoda_enter_anyway(): a rebuild or a sleep waits for threads in sections. */
	vm_wait_idle(vm);
	pagoda_enter_anyway(vm->vidmm);
	vm_end(vm);
	pagoda_leave(vm->vidmm);
}

/*
 * Returns the client's first VM with an id of at least *@id, with a reference, and sets *@id; NULL
 * if there is none. The client's lock, which all lookups of ids need, isn't held on return: the
 * caller's work on the VM may take long.
 */
static struct pagoda_vm *client_next_vm(struct pagoda_client *client, unsigned long *id)
{
	struct pagoda_vm *vm;

	mutex_lock(&client->lock);
	vm = xa_find(&client->objects[PAGODA_OBJECT_VM], id, ULONG_MAX, XA_PRESENT);
	if (vm)
		pagoda_vm_get(vm);
	mutex_unlock(&client->lock);
	return vm;
}

/**
 * pagoda_client_validate() - Make mappings of resident allocations valid in all VMs of a client
 * @client: Client; mappings of offered allocations stay invalid
 * @fence: *@fence is replaced by the fence that signals when the page tables are updated, if paging
 *	operations were emitted
 *
 * Context: In a pagoda_enter() section, outside of reservations. May sleep and allocate.
 * Return: 0 or an error of pagoda_vm_validate().
 */
int pagoda_client_validate(struct pagoda_client *client, struct dma_fence **fence)
{
	struct pagoda_vm *vm;
	unsigned long id = 0;
	int ret = 0;

	KUNIT_STATIC_STUB_REDIRECT(pagoda_client_validate, client, fence);
	for (; !ret && (vm = client_next_vm(client, &id)); id++) {
		ret = pagoda_vm_validate(vm, fence);
		pagoda_vm_put(vm);
	}
	return ret;
}

/* Returns one of the client's VMs that map the allocation, with a reference; NULL if none does. */
static struct pagoda_vm *client_vm_mapping(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_vm *found = NULL;
	struct drm_gpuvm_bo *vm_bo;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	drm_gem_for_each_gpuvm_bo(vm_bo, pagoda_bo_gem(bo)) {
		struct pagoda_vm *vm = pagoda_vm_of(vm_bo->vm);

		if (vm->client == client && !list_empty(&vm_bo->list.gpuva)) {
			found = pagoda_vm_get(vm);
			break;
		}
	}
	dma_resv_unlock(bo->ttm.base.resv);
	return found;
}

/* Calls pagoda_vm_forget() for @client's VMs with queued arrays: no list tells which name @bo. */
static void client_forget_waiting(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_vm *vm;
	unsigned long id = 0;

	for (; (vm = client_next_vm(client, &id)); id++) {
		if (!pagoda_deferred_is_empty(&vm->queue))
			pagoda_vm_forget(vm, bo);
		pagoda_vm_put(vm);
	}
}

/**
 * pagoda_client_forget() - Unmap an allocation when the client closes its handle
 * @client: Client
 * @bo: Allocation
 *
 * Calls pagoda_vm_forget() for the client's VMs that map the allocation, and, if queued VM_BIND
 * arrays name the allocation, for all of the client's VMs with queued arrays.
 *
 * Context: May sleep. In a section, outside of reservations.
 */
void pagoda_client_forget(struct pagoda_client *client, struct pagoda_bo *bo)
{
	struct pagoda_vm *vm;

	if (atomic_read(&bo->wish.waits))
		client_forget_waiting(client, bo);
	while ((vm = client_vm_mapping(client, bo))) {
		pagoda_vm_forget(vm, bo);
		pagoda_vm_put(vm);
	}
}

/**
 * pagoda_vm_retire() - Have a VM refuse further VM_BIND arrays and contexts
 * @vm: VM; pagoda_vm_close() follows
 *
 * Ioctls that still have a reference can't create contexts in the VM any more.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while the VM has contexts, -ENOENT if it was retired before.
 */
int pagoda_vm_retire(struct pagoda_vm *vm)
{
	int ret = 0;

	mutex_lock(&vm->lock);
	if (vm->closed)
		ret = -ENOENT;
	else if (list_empty(&vm->saves))
		vm->closed = true;
	else
		ret = -EBUSY;
	mutex_unlock(&vm->lock);
	return ret;
}

/* Returns the object whose reservation private allocations share; no reference is taken. */
struct drm_gem_object *pagoda_vm_shared(struct pagoda_vm *vm)
{
	return vm->base.r_obj;
}
