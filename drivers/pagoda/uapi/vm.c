// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls about address spaces; bind.c has VM_BIND.
 *
 * Ids belong to a client. A thread that looks up an object holds the client's lock or takes a
 * reference: an object that is destroyed by one thread while another thread uses it lives until
 * both are done.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include "core/device.h"
#include "core/vidmm.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/lists.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/* Most objects of a type per client, where DRM_PAGODA_MAX_* has no smaller number. */
#define CLIENT_MAX_OBJECTS	65536

/* Gives an object an id, not 0. Returns 0, -ENOMEM, or -EMFILE if the client has too many. */
int pagoda_client_add(struct xarray *objects, void *object, u32 *id)
{
	int ret = xa_alloc(objects, id, object, XA_LIMIT(1, CLIENT_MAX_OBJECTS),
			   GFP_KERNEL_ACCOUNT);

	return ret == -EBUSY ? -EMFILE : ret;
}

/* Returns the VM with a reference, for pagoda_vm_put(); or NULL. */
struct pagoda_vm *pagoda_client_vm(struct pagoda_client *client, u32 id)
{
	struct pagoda_vm *vm;

	mutex_lock(&client->lock);
	vm = xa_load(&client->vms, id);
	if (vm)
		pagoda_vm_get(vm);
	mutex_unlock(&client->lock);
	return vm;
}

int pagoda_ioctl_vm_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_vm_create *args = data;
	struct pagoda_vm *vm;
	int ret;

	if (pagoda_refuse(drm, args->flags))
		return -EINVAL;
	vm = pagoda_vm_create(pagoda_device_of_drm(drm)->vidmm, client);
	if (IS_ERR(vm))
		return PTR_ERR(vm);
	pagoda_vm_range(vm, &args->start, &args->end);
	ret = pagoda_client_add(&client->vms, vm, &args->vm);
	if (ret) {
		pagoda_vm_close(vm);
		pagoda_vm_put(vm);
	}
	return ret;
}

/* The caller has retired the VM, so no other thread removes it. */
static void vm_remove(struct pagoda_client *client, u32 id, struct pagoda_vm *vm)
{
	mutex_lock(&client->lock);
	xa_erase(&client->vms, id);
	mutex_unlock(&client->lock);
	pagoda_vm_close(vm);
	pagoda_vm_put(vm);
}

int pagoda_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_vm_destroy *args = data;
	struct pagoda_vm *vm;
	int ret;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	vm = pagoda_client_vm(client, args->vm);
	if (pagoda_refuse(drm, !vm))
		return -ENOENT;
	/* Paging may hold the VM's lock for long, so the client's lock isn't held here. */
	ret = pagoda_vm_retire(vm);
	if (!pagoda_refuse(drm, ret))
		vm_remove(client, args->vm, vm);
	pagoda_vm_put(vm);
	return ret;
}

/**
 * pagoda_client_kill() - Cancel the jobs of a client before its file is closed
 * @client: Client
 *
 * Cancels jobs that haven't begun. The close that follows doesn't wait for the other jobs.
 *
 * Context: May sleep.
 */
void pagoda_client_kill(struct pagoda_client *client)
{
	struct pagoda_context *context;
	unsigned long id;

	pagoda_closing_begin_end(client);
	xa_for_each(&client->contexts, id, context)
		pagoda_context_kill(context);
}

/**
 * pagoda_client_close() - Drop all objects of a closed file but its VMs
 * @file: File, after pagoda_client_kill()
 *
 * Doesn't wait for jobs: the VMs are left for pagoda_client_close_vms().
 *
 * Context: May sleep.
 */
void pagoda_client_close(struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct pagoda_paging_queue *queue;
	struct pagoda_context *context;
	struct pagoda_mfence *mfence;
	unsigned long id;

	pagoda_client_drop_lists(client);
	pagoda_budget_close(&client->budget);
	xa_for_each(&client->paging_queues, id, queue)
		pagoda_paging_queue_put(queue);
	pagoda_mfence_client_close(pagoda_device_of_drm(file->minor->dev)->vidmm, client);
	xa_for_each(&client->contexts, id, context)
		pagoda_context_destroy(context);
	pagoda_closing_end(client);
	xa_for_each(&client->fences, id, mfence)
		pagoda_client_drop_fence(file, mfence);
	xa_destroy(&client->contexts);
	xa_destroy(&client->fences);
	xa_destroy(&client->paging_queues);
}

/**
 * pagoda_client_wait_idle() - Wait for all users of memory that a closed client's VMs map
 * @client: Client, after pagoda_client_close()
 * @timeout: Jiffies, for all VMs together
 *
 * Context: Sleeps, outside of the gate.
 * Return: true if there are none any more.
 */
bool pagoda_client_wait_idle(struct pagoda_client *client, long timeout)
{
	struct pagoda_vm *vm;
	unsigned long id;

	xa_for_each(&client->vms, id, vm) {
		timeout = dma_resv_wait_timeout(pagoda_vm_shared(vm)->resv, DMA_RESV_USAGE_BOOKKEEP,
						false, timeout);
		if (timeout <= 0)
			return false;
	}
	return true;
}

/**
 * pagoda_client_close_vms() - Close the VMs that pagoda_client_close() has left
 * @client: Client
 *
 * Context: May sleep; as long as a job runs.
 */
void pagoda_client_close_vms(struct pagoda_client *client)
{
	struct pagoda_vm *vm;
	unsigned long id;

	xa_for_each(&client->vms, id, vm) {
		pagoda_vm_close(vm);
		pagoda_vm_put(vm);
	}
	xa_destroy(&client->vms);
}
