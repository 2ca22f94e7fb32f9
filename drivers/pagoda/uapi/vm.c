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
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/submit/submit.h"
#include "vidmm/vm/vm.h"
#include "args.h"

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
