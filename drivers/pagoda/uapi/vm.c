// SPDX-License-Identifier: GPL-2.0
/*
 * VM_CREATE and VM_DESTROY; bind.c has VM_BIND and VM_STATE.
 *
 * A thread that looks up an object by id holds the client's lock or takes a reference: an object
 * that another thread destroys meanwhile lives until both threads are done.
 */
#include <drm/drm_file.h>
#include "core/device.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
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
	ret = pagoda_client_add(client, PAGODA_OBJECT_VM, vm, &args->vm);
	if (ret) {
		pagoda_vm_close(vm);
		pagoda_vm_put(vm);
	}
	return ret;
}

int pagoda_ioctl_vm_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_vm_destroy *args = data;
	struct pagoda_vm *vm;
	int ret;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	vm = pagoda_client_find(client, PAGODA_OBJECT_VM, args->vm);
	if (pagoda_refuse(drm, !vm))
		return -ENOENT;
	/* Without client->lock: the call takes the VM's lock, which paging may hold for long. */
	ret = pagoda_vm_retire(vm);
	if (!pagoda_refuse(drm, ret)) {
		/* pagoda_vm_retire() succeeds once for a VM: no other thread removes the id. */
		pagoda_client_remove(client, PAGODA_OBJECT_VM, args->vm);
		pagoda_vm_close(vm);
		pagoda_vm_put(vm);
	}
	pagoda_vm_put(vm);
	return ret;
}
