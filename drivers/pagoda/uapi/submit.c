// SPDX-License-Identifier: GPL-2.0
/* ioctls about execution contexts and jobs: CONTEXT_CREATE, _DESTROY, _STATE; SUBMIT. */
#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include "core/device.h"
#include "core/life.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/manager/manager.h"
#include "vidmm/submit/submit.h"
#include "vidmm/vm/vm.h"
#include "args.h"
#include "uapi.h"

static_assert(DRM_PAGODA_MAX_COMMAND_BUFFERS == VIRTIO_PAGODA_MAX_COMMAND_BUFFERS);

#define ENTRY_FLAGS	(DRM_PAGODA_SUBMIT_IMPLICIT | DRM_PAGODA_SUBMIT_WRITE | \
			 DRM_PAGODA_SUBMIT_READ)

static int context_check(struct drm_device *drm, const struct drm_pagoda_context_create *args)
{
	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad) ||
	    pagoda_refuse(drm, args->engine >= pagoda_device_of_drm(drm)->info.num_engines) ||
	    pagoda_refuse(drm, args->priority > DRM_PAGODA_PRIORITY_HIGH))
		return -EINVAL;
	if (args->priority == DRM_PAGODA_PRIORITY_HIGH &&
	    pagoda_refuse(drm, !capable(CAP_SYS_NICE)))
		return -EPERM;
	return 0;
}

int pagoda_ioctl_context_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_context_create *args = data;
	struct pagoda_context *context;
	struct pagoda_vm *vm;
	int ret;

	ret = context_check(drm, args);
	if (ret)
		return ret;
	if (pagoda_refuse(drm, READ_ONCE(client->error)))
		return -ECANCELED;
	vm = pagoda_client_find(client, PAGODA_OBJECT_VM, args->vm);
	if (pagoda_refuse(drm, !vm))
		return -ENOENT;
	context = pagoda_context_create(vm, args->engine, args->priority);
	pagoda_vm_put(vm);
	if (IS_ERR(context))
		return PTR_ERR(context);
	ret = pagoda_client_add(client, PAGODA_OBJECT_CONTEXT, context, &args->context);
	if (ret)
		pagoda_context_destroy(context);
	/*
	 * pagoda_client_fail() bans all contexts of a client; it may have done so before this
	 * context was added.
	 */
	else if (READ_ONCE(client->error))
		pagoda_client_fail(client, client->error);
	return ret;
}

int pagoda_ioctl_context_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_context_destroy *args = data;
	struct pagoda_context *context;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	context = pagoda_client_remove(file->driver_priv, PAGODA_OBJECT_CONTEXT, args->context);
	if (pagoda_refuse(drm, !context))
		return -ENOENT;
	pagoda_context_destroy(context);
	return 0;
}

int pagoda_ioctl_context_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	struct drm_pagoda_context_state *args = data;
	struct pagoda_context *context;
	int ret;

	context = pagoda_client_find(file->driver_priv, PAGODA_OBJECT_CONTEXT, args->context);
	if (pagoda_refuse(drm, !context))
		return -ENOENT;
	/*
	 * A rebuild that is due, which pagoda_enter() waits for, finds out which contexts a reset
	 * concerns.
	 */
	ret = pagoda_enter(vidmm);
	if (!ret) {
		pagoda_context_state(context, args);
		pagoda_leave(vidmm);
	}
	pagoda_context_put(context);
	return ret;
}

static int submit_get_buffer(struct drm_device *drm, const struct drm_pagoda_array *array,
			     u32 index, struct virtio_pagoda_command_buffer *buffer)
{
	struct drm_pagoda_command_buffer entry;
	int ret = copy_struct_from_user(&entry, sizeof(entry), pagoda_array_entry(array, index),
					array->stride);

	if (pagoda_refuse(drm, ret))
		return ret;
	if (pagoda_refuse(drm, entry.address % VIRTIO_PAGODA_COMMAND_ALIGN) ||
	    pagoda_refuse(drm, entry.size % VIRTIO_PAGODA_COMMAND_ALIGN) ||
	    pagoda_refuse(drm, !entry.size) ||
	    pagoda_refuse(drm, entry.size > VIRTIO_PAGODA_MAX_COMMAND_BUFFER) ||
	    pagoda_refuse(drm, entry.address > U64_MAX - entry.size))
		return -EINVAL;
	buffer->address = cpu_to_le64(entry.address);
	buffer->size = cpu_to_le64(entry.size);
	return 0;
}

static int submit_get_buffers(struct drm_device *drm, const struct drm_pagoda_array *array,
			      struct pagoda_submit *submit)
{
	int ret;
	u32 i;

	if (!array->count)
		return 0;
	if (pagoda_refuse(drm, array->count > DRM_PAGODA_MAX_COMMAND_BUFFERS))
		return -E2BIG;
	ret = pagoda_array_check(drm, array, sizeof(struct drm_pagoda_command_buffer));
	if (ret)
		return ret;
	submit->buffers = kcalloc(array->count, sizeof(*submit->buffers), GFP_KERNEL_ACCOUNT);
	if (!submit->buffers)
		return -ENOMEM;
	submit->nr_buffers = array->count;
	for (i = 0; i < array->count && !ret; i++)
		ret = submit_get_buffer(drm, array, i, &submit->buffers[i]);
	return ret;
}

static int submit_get_bos(struct drm_device *drm, struct drm_file *file,
			  const struct drm_pagoda_array *array, struct pagoda_submit *submit)
{
	struct pagoda_vm *vm = pagoda_context_vm(submit->context);
	struct pagoda_bo_list list;
	int ret;
	u32 i;

	if (!array->count)
		return 0;
	ret = pagoda_bo_list_get(drm, file, array, ENTRY_FLAGS, &list);
	if (ret)
		return ret;
	submit->bos = list.bos;
	submit->flags = list.flags;
	submit->nr_bos = list.count;
	kvfree(list.entries);
	for (i = 0; i < submit->nr_bos; i++) {
		bool implicit = submit->flags[i] & DRM_PAGODA_SUBMIT_IMPLICIT;
		bool write = submit->flags[i] & DRM_PAGODA_SUBMIT_WRITE;
		bool reads = submit->flags[i] & DRM_PAGODA_SUBMIT_READ;

		if (pagoda_refuse(drm, write && (!implicit || reads)))
			return -EINVAL;
		if (pagoda_refuse(drm, !pagoda_bo_is_usable_in(submit->bos[i], vm)))
			return -EPERM;
	}
	return 0;
}

int pagoda_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_submit *args = data;
	struct pagoda_submit *submit;
	int ret = 0;

	if (pagoda_refuse(drm, args->flags & ~DRM_PAGODA_SUBMIT_FENCED))
		return -EINVAL;
	if (pagoda_refuse(drm, !pagoda_vidmm_has_engines(pagoda_device_of_drm(drm)->vidmm)))
		return -EOPNOTSUPP;
	submit = kzalloc(sizeof(*submit), GFP_KERNEL_ACCOUNT);
	if (!submit)
		return -ENOMEM;
	submit->fenced = args->flags & DRM_PAGODA_SUBMIT_FENCED;
	submit->context =
		pagoda_client_find(file->driver_priv, PAGODA_OBJECT_CONTEXT, args->context);
	if (pagoda_refuse(drm, !submit->context))
		ret = -ENOENT;
	if (!ret)
		ret = submit_get_buffers(drm, &args->buffers, submit);
	if (!ret)
		ret = submit_get_bos(drm, file, &args->entries, submit);
	if (!ret)
		ret = pagoda_syncs_get(drm, file, &args->syncs, &submit->syncs);
	if (!ret)
		return pagoda_submit(submit, &args->job);
	pagoda_submit_free(submit);
	return ret;
}
