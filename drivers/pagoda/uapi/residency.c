// SPDX-License-Identifier: GPL-2.0
/* MAKE_RESIDENT and EVICT (with a paging queue: paging.c), and QUERY_RESIDENCY. */
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include "core/device.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/residency/residency.h"
#include "vidmm/stream/stream.h"
#include "vidmm/vm/vm.h"
#include "args.h"

static_assert(sizeof(struct pagoda_bo_entry) == sizeof(struct drm_pagoda_residency_entry));
static_assert(sizeof(struct pagoda_bo_entry) == sizeof(struct drm_pagoda_submit_entry));

#define EVICT_FLAGS	(DRM_PAGODA_EVICT_ONLY_IF_NECESSARY | DRM_PAGODA_EVICT_NOT_WRITTEN_TO)

/*
 * Checks the flags, padding and fence value of @args. Flags concern the residency list, which is
 * used only with a paging queue. Returns 0 or -EINVAL.
 */
static int make_resident_check(struct drm_device *drm, const struct drm_pagoda_make_resident *args)
{
	bool deny = args->flags & DRM_PAGODA_RESIDENT_DENY_OVERBUDGET;
	bool must = args->flags & DRM_PAGODA_RESIDENT_MUST_SUCCEED;

	if (pagoda_refuse(drm, args->flags & ~(DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER |
					       DRM_PAGODA_RESIDENT_MUST_SUCCEED |
					       DRM_PAGODA_RESIDENT_DENY_OVERBUDGET)) ||
	    pagoda_refuse(drm, deny && args->flags != DRM_PAGODA_RESIDENT_DENY_OVERBUDGET) ||
	    pagoda_refuse(drm, args->flags && !args->paging_queue) ||
	    pagoda_refuse(drm, must && !(args->flags & DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER)) ||
	    pagoda_refuse(drm, args->pad) || pagoda_refuse(drm, args->pad2) ||
	    pagoda_refuse(drm, !args->fence && args->fence_value))
		return -EINVAL;
	return 0;
}

/*
 * Makes the allocations of @list, which were looked up, resident, in a section. Unless nothing is
 * left to do, sets *@fence and *@trim as pagoda_residency_make() does: the fence of the paging, or
 * with -EINPROGRESS the fence to wait for first, and the bytes that can't fit. Returns 0; or a
 * negative errno, and no allocation counts as resident that didn't before.
 */
static int make_resident_try(struct pagoda_client *client, struct pagoda_bo_list *list,
			     struct dma_fence **fence, u64 *trim)
{
	struct pagoda_vidmm *vidmm = list->bos[0]->vidmm;
	int ret = pagoda_enter(vidmm);

	if (ret)
		return ret;
	if (!pagoda_residency_is_made(client, list->bos, list->count, true)) {
		ret = pagoda_residency_make(vidmm, list->bos, list->count, fence, trim);
		if (!ret)
			ret = pagoda_room_later(fence, pagoda_client_validate(client, fence));
		if (!ret)
			pagoda_residency_note(list->bos, list->count);
	}
	pagoda_leave(vidmm);
	return ret;
}

/*
 * Makes a list of allocations resident; without room, waits outside of sections and tries again.
 * Checks first, without reservations, whether nothing is left to do: then *@fence, NULL before, and
 * *@trim are unchanged. Else *@fence receives a fence that signals after the paging and the kernel
 * fences of other devices, or NULL if there is nothing to wait for, and *@trim the bytes that can't
 * fit, 0 if all fit. Returns 0 or a negative errno.
 */
static int make_resident(struct drm_device *drm, struct drm_file *file, u32 count,
			 struct pagoda_bo_list *list, struct dma_fence **fence, u64 *trim)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	struct pagoda_client *client = file->driver_priv;
	u32 tries = 0;
	int ret;

	if (pagoda_bo_list_is_settled(drm, file, list->entries, count, false))
		return 0;
	ret = pagoda_bo_list_lookup(drm, file, count, list) ?:
	      pagoda_caller_await_moves(vidmm, client);
	if (ret)
		return ret;
	do {
		dma_fence_put(*fence);
		*fence = NULL;
		ret = make_resident_try(client, list, fence, trim);
	} while (pagoda_room_await(fence, &ret) ||
		 pagoda_room_again(vidmm, client, &tries, &ret));
	if (!ret)
		pagoda_residency_with_others(list->bos, list->count, fence);
	return ret;
}

static int evict(struct drm_device *drm, struct pagoda_client *client, struct pagoda_bo_list *list,
		 struct dma_fence **fence)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	int ret = pagoda_caller_await_moves(vidmm, client) ?:
		  pagoda_residency_await(list->bos, list->count) ?: pagoda_enter(vidmm);

	if (ret)
		return ret;
	ret = pagoda_residency_evict(vidmm, list->bos, list->count, fence);
	pagoda_leave(vidmm);
	if (!ret)
		pagoda_residency_with_others(list->bos, list->count, fence);
	return ret;
}

int pagoda_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_make_resident *args = data;
	struct pagoda_out_point out;
	struct pagoda_bo_list list;
	struct pagoda_mfence_signal *signal;
	struct dma_fence *fence = NULL;
	u64 trim = 0;
	int ret;

	ret = make_resident_check(drm, args);
	if (ret)
		return ret;
	if (args->paging_queue)
		return pagoda_make_resident_queued(drm, file, args);
	args->paging_value = 0;
	ret = pagoda_bo_list_copy(drm, &args->entries, 0, &list);
	if (ret)
		return ret;
	ret = pagoda_point_get(drm, file, args->syncobj, args->point, &out);
	if (ret)
		goto put_list;
	ret = pagoda_client_promise(drm, client, args->fence, args->fence_value, &signal);
	if (ret)
		goto put_point;

	ret = make_resident(drm, file, args->entries.count, &list, &fence, &trim);
	args->bytes_to_trim = ret == -ENOMEM ? trim : 0;
	args->num_resident = ret ? 0 : args->entries.count;
	args->pending = !ret && fence && !dma_fence_is_signaled(fence);
	if (!ret)
		pagoda_point_add(pagoda_device_of_drm(drm)->vidmm, &out, fence);
	pagoda_promise_end(pagoda_device_of_drm(drm)->vidmm, signal, fence, ret);
	dma_fence_put(fence);
put_point:
	pagoda_point_put(&out);
put_list:
	pagoda_bo_list_put(&list);
	return ret;
}

int pagoda_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_client *client = file->driver_priv;
	struct drm_pagoda_evict *args = data;
	struct pagoda_out_point out;
	struct pagoda_bo_list list;
	struct dma_fence *fence = NULL;
	int ret;

	if (pagoda_refuse(drm, args->flags & ~EVICT_FLAGS) ||
	    pagoda_refuse(drm, args->flags && !args->paging_queue) ||
	    pagoda_refuse(drm, args->pad))
		return -EINVAL;
	if (args->paging_queue)
		return pagoda_evict_queued(drm, file, args);
	args->paging_value = 0;
	ret = pagoda_bo_list_get(drm, file, &args->entries, 0, &list);
	if (ret)
		return ret;
	ret = pagoda_point_get(drm, file, args->syncobj, args->point, &out);
	if (ret)
		goto put_list;

	ret = evict(drm, file->driver_priv, &list, &fence);
	if (!ret) {
		args->bytes_to_trim = pagoda_budget_excess(&client->budget);
		pagoda_point_add(pagoda_device_of_drm(drm)->vidmm, &out, fence);
	}
	dma_fence_put(fence);
	pagoda_point_put(&out);
put_list:
	pagoda_bo_list_put(&list);
	return ret;
}

static int status_get(struct drm_device *drm, struct drm_file *file, const char __user *from,
		      u32 stride, void *answer)
{
	struct drm_pagoda_residency_status *status = answer;
	struct drm_pagoda_allocation_info info;
	struct pagoda_bo *bo;
	int ret;

	ret = copy_struct_from_user(status, sizeof(*status), from, stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	bo = pagoda_bo_lookup(file, status->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	ret = pagoda_bo_describe(drm, bo, &info);
	pagoda_bo_put(bo);
	if (ret)
		return ret;

	status->residency = info.residency;
	status->segment = info.segment;
	status->state = info.state;
	return 0;
}

int pagoda_ioctl_query_residency(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_query_residency *args = data;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	return pagoda_array_answer(drm, file, &args->entries,
				   sizeof(struct drm_pagoda_residency_status), status_get);
}
