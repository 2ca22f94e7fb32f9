// SPDX-License-Identifier: GPL-2.0
/* ioctls about monitored fences: FENCE_CREATE, FENCE_DESTROY, FENCE_SIGNAL and FENCE_WAIT. */
#include <linux/eventfd.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_utils.h>
#include <drm/drm_vma_manager.h>
#include "core/device.h"
#include "core/life.h"
#include "vidmm/fence/fence.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "args.h"

#define FENCE_FLAGS \
	(DRM_PAGODA_FENCE_NO_SIGNAL | DRM_PAGODA_FENCE_NO_WAIT | \
	 DRM_PAGODA_FENCE_NO_MAX_ON_RESET | DRM_PAGODA_FENCE_ALLOW_REWIND)

int pagoda_ioctl_fence_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_fence_create *args = data;
	struct pagoda_mfence *mfence;
	struct drm_gem_object *obj;
	int ret;

	if (pagoda_refuse(drm, args->flags & ~FENCE_FLAGS))
		return -EINVAL;
	mfence = pagoda_mfence_create(pagoda_device_of_drm(drm)->vidmm, client, args->flags,
				      args->value);
	if (IS_ERR(mfence))
		return PTR_ERR(mfence);
	obj = pagoda_bo_gem(pagoda_mfence_bo(mfence));
	ret = drm_vma_node_allow(&obj->vma_node, file);
	if (!ret) {
		/*
		 * Fill in the offset before the id is published: from then on another thread may
		 * destroy the fence.
		 */
		args->offset = drm_vma_node_offset_addr(&obj->vma_node);
		ret = pagoda_client_add(client, PAGODA_OBJECT_FENCE, mfence, &args->fence);
		if (ret)
			drm_vma_node_revoke(&obj->vma_node, file);
	}
	if (ret)
		pagoda_mfence_put(mfence);
	return ret;
}

int pagoda_ioctl_fence_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	struct drm_pagoda_fence_destroy *args = data;
	struct pagoda_mfence *mfence;
	int ret;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	mutex_lock(&client->lock);
	mfence = xa_load(&client->objects[PAGODA_OBJECT_FENCE], args->fence);
	ret = mfence ? pagoda_mfence_close(mfence) : -ENOENT;
	if (!ret)
		xa_erase(&client->objects[PAGODA_OBJECT_FENCE], args->fence);
	mutex_unlock(&client->lock);
	if (pagoda_refuse(drm, ret))
		return ret;
	/* A fence's GPU mappings end with its id, as an allocation's do with its handle. */
	pagoda_enter_anyway(vidmm);
	pagoda_client_forget(client, pagoda_mfence_bo(mfence));
	pagoda_leave(vidmm);
	pagoda_client_drop_fence(file, mfence);
	return 0;
}

/* Monitored fences and values that an ioctl names; the list has a reference to each fence. */
struct fence_list {
	struct pagoda_mfence_value *entries;
	u32 count;
};

static void list_put(struct fence_list *list)
{
	while (list->count)
		pagoda_mfence_put(list->entries[--list->count].mfence);
	kvfree(list->entries);
}

static int list_get_entry(struct drm_device *drm, struct pagoda_client *client,
			  const struct drm_pagoda_array *array, struct fence_list *list)
{
	struct pagoda_mfence_value *to = &list->entries[list->count];
	struct drm_pagoda_fence_value entry;
	int ret;

	ret = copy_struct_from_user(&entry, sizeof(entry), pagoda_array_entry(array, list->count),
				    array->stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	if (pagoda_refuse(drm, entry.pad))
		return -EINVAL;
	to->mfence = pagoda_client_find(client, PAGODA_OBJECT_FENCE, entry.fence);
	to->value = entry.value;
	if (pagoda_refuse(drm, !to->mfence))
		return -ENOENT;
	list->count++;
	return 0;
}

static int list_check_unique(struct drm_device *drm, const struct fence_list *list)
{
	void **fences = kvmalloc_array(list->count, sizeof(*fences), GFP_KERNEL_ACCOUNT);
	int ret;
	u32 i;

	if (!fences)
		return -ENOMEM;
	for (i = 0; i < list->count; i++)
		fences[i] = list->entries[i].mfence;
	ret = pagoda_check_unique(drm, fences, list->count);
	kvfree(fences);
	return ret;
}

static int list_get(struct drm_device *drm, struct pagoda_client *client,
		    const struct drm_pagoda_array *array, struct fence_list *list)
{
	int ret = pagoda_array_check(drm, array, sizeof(struct drm_pagoda_fence_value));

	if (ret)
		return ret;
	list->count = 0;
	list->entries = kvmalloc_array(array->count, sizeof(*list->entries), GFP_KERNEL_ACCOUNT);
	if (!list->entries)
		return -ENOMEM;
	while (list->count < array->count && !ret)
		ret = list_get_entry(drm, client, array, list);
	if (!ret)
		ret = list_check_unique(drm, list);
	if (ret)
		list_put(list);
	return ret;
}

int pagoda_ioctl_fence_signal(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_fence_signal *args = data;
	struct fence_list list;
	int ret;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	ret = list_get(drm, file->driver_priv, &args->entries, &list);
	if (ret)
		return ret;
	ret = pagoda_mfences_signal(pagoda_device_of_drm(drm)->vidmm, list.entries, list.count);
	pagoda_refuse(drm, ret);
	list_put(&list);
	return ret;
}

static int wait_check(struct drm_device *drm, const struct drm_pagoda_fence_wait *args)
{
	bool event = args->flags & DRM_PAGODA_FENCE_WAIT_EVENTFD;

	if (pagoda_refuse(drm, args->flags & ~(DRM_PAGODA_FENCE_WAIT_ANY |
					       DRM_PAGODA_FENCE_WAIT_EVENTFD)) ||
	    pagoda_refuse(drm, args->pad) ||
	    pagoda_refuse(drm, !event && args->eventfd) ||
	    pagoda_refuse(drm, event && args->timeout_ns))
		return -EINVAL;
	return 0;
}

/*
 * Prepares the waits for the values that FENCE_WAIT names. The preparation may enter sections; the
 * wait itself is outside of sections. Returns the struct pagoda_mfence_group or an ERR_PTR.
 */
static struct pagoda_mfence_group *wait_prepare(struct drm_device *drm, struct drm_file *file,
						const struct drm_pagoda_fence_wait *args)
{
	struct pagoda_mfence_group *group;
	struct fence_list list;
	int ret;

	ret = list_get(drm, file->driver_priv, &args->entries, &list);
	if (ret)
		return ERR_PTR(ret);
	group = pagoda_mfence_group_create(list.entries, list.count,
					   args->flags & DRM_PAGODA_FENCE_WAIT_ANY);
	list_put(&list);
	return group;
}

static int wait_notify(struct drm_device *drm, struct drm_file *file,
		       const struct drm_pagoda_fence_wait *args)
{
	struct eventfd_ctx *event = eventfd_ctx_fdget(args->eventfd);
	struct pagoda_mfence_group *group;

	if (pagoda_refuse(drm, IS_ERR(event)))
		return PTR_ERR(event);
	group = wait_prepare(drm, file, args);
	if (pagoda_refuse(drm, IS_ERR(group))) {
		eventfd_ctx_put(event);
		return PTR_ERR(group);
	}
	pagoda_mfence_group_notify(group, file->driver_priv, event);
	return 0;
}

/*
 * The FENCE_WAIT ioctl: waits, unless an eventfd is to be signalled. A removal of the device ends
 * the wait. Returns 0 or a negative errno.
 */
int pagoda_ioctl_fence_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_fence_wait *args = data;
	struct pagoda_mfence_group *group;
	long timeout = 0;
	int ret;

	ret = wait_check(drm, args);
	if (ret)
		return ret;
	if (args->flags & DRM_PAGODA_FENCE_WAIT_EVENTFD)
		return wait_notify(drm, file, args);
	group = wait_prepare(drm, file, args);
	if (pagoda_refuse(drm, IS_ERR(group)))
		return PTR_ERR(group);
	if (args->timeout_ns > 0)
		timeout = drm_timeout_abs_to_jiffies(args->timeout_ns);
	ret = pagoda_mfence_group_wait(group, timeout, &args->first);
	pagoda_mfence_group_destroy(group);
	return ret;
}
