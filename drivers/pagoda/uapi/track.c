// SPDX-License-Identifier: GPL-2.0
/* TRACK: starts, stops and queries the record of which pages of an allocation the GPU wrote. */
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include "core/device.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/allocation.h"
#include "args.h"

static_assert(PAGE_SIZE == DRM_PAGODA_TRACK_PAGE, "a bit of TRACK is a page");

static size_t track_bytes(const struct drm_pagoda_track *args)
{
	return DIV_ROUND_UP_ULL(args->size >> PAGE_SHIFT, 64) * sizeof(u64);
}

/* Returns 0 if a QUERY names a part of the allocation and writable memory, or a negative errno. */
static int track_check(struct drm_device *drm, const struct drm_pagoda_track *args,
		       struct pagoda_bo *bo)
{
	u64 size = bo->ttm.base.size;

	if (pagoda_refuse(drm, (args->offset | args->size) & ~PAGE_MASK) ||
	    pagoda_refuse(drm, !args->size || args->size > size) ||
	    pagoda_refuse(drm, args->offset > size - args->size) ||
	    pagoda_refuse(drm, args->size >> PAGE_SHIFT > DRM_PAGODA_MAX_TRACK_PAGES))
		return -EINVAL;
	if (fault_in_safe_writeable(u64_to_user_ptr(args->bits), track_bytes(args)))
		return -EFAULT;
	return 0;
}

static int track_report(struct drm_device *drm, const struct drm_pagoda_track *args,
			struct pagoda_bo *bo, const struct pagoda_client *client)
{
	u64 *words;
	int ret = track_check(drm, args, bo);

	if (ret)
		return ret;
	words = kvzalloc(track_bytes(args), GFP_KERNEL_ACCOUNT);
	if (!words)
		return -ENOMEM;
	ret = pagoda_track_query(bo, client, args->offset, args->size, words);
	if (!ret && copy_to_user(u64_to_user_ptr(args->bits), words, track_bytes(args))) {
		pagoda_track_restore(bo, args->offset, args->size, words);
		ret = -EFAULT;
	}
	kvfree(words);
	return ret;
}

int pagoda_ioctl_track(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_track *args = data;
	bool query = args->operation == DRM_PAGODA_TRACK_QUERY;
	struct pagoda_bo *bo;
	int ret;

	if (pagoda_refuse(drm, args->operation > DRM_PAGODA_TRACK_QUERY) ||
	    pagoda_refuse(drm, !query && (args->offset || args->size || args->bits)))
		return -EINVAL;
	bo = pagoda_bo_lookup(file, args->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	if (query)
		ret = track_report(drm, args, bo, file->driver_priv);
	else if (args->operation == DRM_PAGODA_TRACK_STOP)
		ret = pagoda_track_stop(bo, file->driver_priv);
	else if (pagoda_refuse(drm, bo->client != file->driver_priv))
		ret = -EPERM;
	else
		ret = pagoda_track_start(bo, file->driver_priv);
	pagoda_bo_put(bo);
	return ret;
}
