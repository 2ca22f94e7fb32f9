// SPDX-License-Identifier: GPL-2.0
/* OFFER, RECLAIM and SET_PRIORITY: a client tells how much it needs its allocations. */
#include <linux/dma-fence.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include "core/device.h"
#include "core/life.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/residency/residency.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/* pagoda_bo_list_get() reads the priority in a drm_pagoda_priority_entry as flags. */
static_assert(sizeof(struct drm_pagoda_priority_entry) ==
	      sizeof(struct drm_pagoda_residency_entry));
static_assert(offsetof(struct drm_pagoda_priority_entry, priority) ==
	      offsetof(struct drm_pagoda_residency_entry, flags));

int pagoda_ioctl_offer(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_offer *args = data;
	struct pagoda_bo_list list;
	int ret;

	if (pagoda_refuse(drm, args->flags & ~DRM_PAGODA_OFFER_ALLOW_DECOMMIT) ||
	    pagoda_refuse(drm, args->priority < DRM_PAGODA_OFFER_LOW) ||
	    pagoda_refuse(drm, args->priority > DRM_PAGODA_OFFER_AUTO))
		return -EINVAL;
	ret = pagoda_bo_list_get(drm, file, &args->entries, 0, &list);
	if (ret)
		return ret;
	ret = pagoda_offer(pagoda_device_of_drm(drm)->vidmm, list.bos, list.count, args->priority,
			   args->flags);
	pagoda_bo_list_put(&list);
	return ret;
}

/* Returns 0 if args->results is empty, or valid and writable; else -EINVAL, -E2BIG or -EFAULT. */
static int reclaim_check_results(struct drm_device *drm, const struct drm_pagoda_reclaim *args)
{
	const struct drm_pagoda_array *results = &args->results;
	int ret;

	if (!results->count) {
		if (pagoda_refuse(drm, results->array) || pagoda_refuse(drm, results->stride))
			return -EINVAL;
		return 0;
	}
	ret = pagoda_array_check(drm, results, sizeof(struct drm_pagoda_reclaim_result_entry));
	if (ret)
		return ret;
	if (pagoda_refuse(drm, results->count != args->entries.count))
		return -EINVAL;
	if (fault_in_safe_writeable(pagoda_array_entry(results, 0),
				    (size_t)results->count * results->stride))
		return -EFAULT;
	return 0;
}

/*
 * Writes the results to the caller's array; stops at an entry that isn't writable any more: the
 * offers have ended, so the call doesn't fail.
 */
static void reclaim_answer(const struct drm_pagoda_array *array, const u32 *results)
{
	struct drm_pagoda_reclaim_result_entry entry = {};
	u32 i;

	for (i = 0; i < array->count; i++) {
		entry.result = results[i];
		if (copy_to_user(pagoda_array_entry(array, i), &entry, sizeof(entry)))
			return;
	}
}

/*
 * Reclaims the offered allocations of a list; *@fence receives a fence that signals after the
 * paging and the kernel fences of other devices, or NULL. With @all the call fails if there is no
 * memory for an allocation; else the allocation's entry of @results says so. Ignores a failure to
 * make GPU mappings valid again: the next SUBMIT to a VM with such a mapping makes the mapping
 * valid. Returns 0 or a negative errno.
 */
static int reclaim(struct pagoda_client *client, const struct pagoda_bo_list *list, u32 *results,
		   bool all, struct dma_fence **fence)
{
	struct pagoda_vidmm *vidmm = list->bos[0]->vidmm;
	u32 tries = 0;
	int ret;

	ret = pagoda_caller_await_moves(vidmm, client);
	if (ret)
		return ret;
	do {
		ret = pagoda_enter(vidmm);
		if (ret)
			return ret;
		ret = pagoda_reclaim(vidmm, list->bos, list->count, results, all, fence);
		if (!ret)
			pagoda_client_validate(client, fence);
		pagoda_leave(vidmm);
	} while (pagoda_room_await(fence, &ret) ||
		 pagoda_room_again(vidmm, client, &tries, &ret));
	if (!ret)
		pagoda_residency_with_others(list->bos, list->count, fence);
	return ret;
}

/*
 * Reclaims a list, gives the fence of the paging to @out, the point to signal, sets @args->pending,
 * and writes the results to user memory. Fulfils the promise @signal, if not NULL, or takes the
 * promise back on failure. Returns 0 or a negative errno.
 */
static int reclaim_list(struct drm_device *drm, struct drm_file *file,
			struct drm_pagoda_reclaim *args, const struct pagoda_bo_list *list,
			struct pagoda_out_point *out, struct pagoda_mfence_signal *signal)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	u32 *results = kvcalloc(list->count, sizeof(*results), GFP_KERNEL_ACCOUNT);
	struct dma_fence *fence = NULL;
	int ret = -ENOMEM;

	if (results)
		ret = reclaim(file->driver_priv, list, results, !args->results.count, &fence);
	if (!ret) {
		args->pending = fence && !dma_fence_is_signaled(fence);
		pagoda_point_add(vidmm, out, fence);
		reclaim_answer(&args->results, results);
	}
	pagoda_promise_end(vidmm, signal, fence, ret);
	dma_fence_put(fence);
	kvfree(results);
	return ret;
}

int pagoda_ioctl_reclaim(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_reclaim *args = data;
	struct pagoda_mfence_signal *signal;
	struct pagoda_out_point out;
	struct pagoda_bo_list list;
	int ret;

	if (pagoda_refuse(drm, args->flags) ||
	    pagoda_refuse(drm, !args->fence && args->fence_value))
		return -EINVAL;
	ret = reclaim_check_results(drm, args);
	if (ret)
		return ret;
	ret = pagoda_bo_list_get(drm, file, &args->entries, 0, &list);
	if (ret)
		return ret;
	args->pending = 0;
	ret = pagoda_point_get(drm, file, args->syncobj, args->point, &out);
	if (ret)
		goto put_list;
	ret = pagoda_client_promise(drm, file->driver_priv, args->fence, args->fence_value,
				    &signal);
	if (ret)
		goto put_point;
	ret = reclaim_list(drm, file, args, &list, &out, signal);
put_point:
	pagoda_point_put(&out);
put_list:
	pagoda_bo_list_put(&list);
	return ret;
}

int pagoda_ioctl_set_priority(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_set_priority *args = data;
	struct pagoda_bo_list list;
	int ret;
	u32 i;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	ret = pagoda_bo_list_get(drm, file, &args->entries, U32_MAX, &list);
	if (ret)
		return ret;
	for (i = 0; i < list.count && !ret; i++)
		if (pagoda_refuse(drm, list.flags[i] < DRM_PAGODA_RESIDENCY_MINIMUM) ||
		    pagoda_refuse(drm, list.flags[i] > DRM_PAGODA_RESIDENCY_MAXIMUM))
			ret = -EINVAL;
	if (!ret)
		ret = pagoda_set_priority(pagoda_device_of_drm(drm)->vidmm, list.bos, list.flags,
					  list.count);
	pagoda_bo_list_put(&list);
	return ret;
}
