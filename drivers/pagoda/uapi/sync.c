// SPDX-License-Identifier: GPL-2.0
/* Turns each struct drm_pagoda_sync in user memory into a struct pagoda_sync with references. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/submit/submit.h"
#include "args.h"
#include "uapi.h"

/* Prepares, in @sync, a wait for @value of @mfence; the wait is armed only if work is deferred. */
static int sync_get_wait(struct pagoda_mfence *mfence, u64 value, struct pagoda_sync *sync)
{
	struct pagoda_mfence_wait *wait = kzalloc(sizeof(*wait), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!wait)
		return -ENOMEM;
	ret = pagoda_mfence_wait_init(wait, mfence, value, NULL, NULL);
	if (ret)
		kfree(wait);
	else
		sync->value = wait;
	return ret;
}

static int sync_get_fence(struct drm_device *drm, struct drm_file *file,
			  const struct drm_pagoda_sync *args, struct pagoda_sync *sync)
{
	struct pagoda_mfence *mfence =
		pagoda_client_find(file->driver_priv, PAGODA_OBJECT_FENCE, args->handle);
	struct pagoda_mfence_signal *promise;
	int ret;

	if (pagoda_refuse(drm, !mfence))
		return -ENOENT;
	if (sync->signal) {
		promise = pagoda_mfence_promise(mfence, args->point);
		ret = PTR_ERR_OR_ZERO(promise);
		if (!ret)
			sync->promise = promise;
	} else {
		ret = sync_get_wait(mfence, args->point, sync);
	}
	pagoda_mfence_put(mfence);
	pagoda_refuse(drm, ret);
	return ret;
}

static int sync_get(struct drm_device *drm, struct drm_file *file,
		    const struct drm_pagoda_sync *args, struct pagoda_sync *sync)
{
	sync->point = args->point;
	sync->signal = args->flags & DRM_PAGODA_SYNC_SIGNAL;
	if (args->flags & DRM_PAGODA_SYNC_FENCE)
		return sync_get_fence(drm, file, args, sync);
	sync->syncobj = drm_syncobj_find(file, args->handle);
	if (pagoda_refuse(drm, !sync->syncobj))
		return -ENOENT;
	if (sync->signal && sync->point) {
		sync->ordered = pagoda_point_alloc(sync->syncobj, sync->point);
		if (!sync->ordered) {
			drm_syncobj_put(sync->syncobj);
			return -ENOMEM;
		}
	}
	if (!sync->signal)
		sync->source = pagoda_paging_queue_of(file->driver_priv, sync->syncobj);
	return 0;
}

static int sync_copy(struct drm_device *drm, const struct drm_pagoda_array *array, u32 index,
		     struct drm_pagoda_sync *sync)
{
	int ret = copy_struct_from_user(sync, sizeof(*sync), pagoda_array_entry(array, index),
					array->stride);

	if (pagoda_refuse(drm, ret))
		return ret;
	if (pagoda_refuse(drm, sync->flags & ~(DRM_PAGODA_SYNC_SIGNAL | DRM_PAGODA_SYNC_FENCE)))
		return -EINVAL;
	return 0;
}

/*
 * Copies and checks a list of struct drm_pagoda_sync, which may be empty; on success the caller
 * frees @syncs with pagoda_syncs_put(). Returns 0, -E2BIG, -EINVAL, -EFAULT, -ENOENT, -ENOMEM,
 * -EPERM, -EDQUOT, -ENODEV or -ERESTARTSYS.
 */
int pagoda_syncs_get(struct drm_device *drm, struct drm_file *file,
		     const struct drm_pagoda_array *array, struct pagoda_syncs *syncs)
{
	struct drm_pagoda_sync args;
	int ret;

	*syncs = (struct pagoda_syncs) {};
	if (!array->count)
		return 0;
	ret = pagoda_array_check(drm, array, sizeof(args));
	if (ret)
		return ret;
	syncs->list = kvcalloc(array->count, sizeof(*syncs->list), GFP_KERNEL_ACCOUNT);
	if (!syncs->list)
		return -ENOMEM;
	for (; syncs->count < array->count; syncs->count++) {
		ret = sync_copy(drm, array, syncs->count, &args);
		if (!ret)
			ret = sync_get(drm, file, &args, &syncs->list[syncs->count]);
		if (ret) {
			pagoda_syncs_put(syncs);
			return ret;
		}
	}
	return 0;
}
