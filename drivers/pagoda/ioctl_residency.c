// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls about lists of allocations.
 */
#include <linux/dma-fence-chain.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_syncobj.h>
#include <pagoda/vidmm.h>
#include "device.h"
#include "ioctl.h"

/**
 * struct bo_list - The caller's list, looked up
 * @bos: Allocations with references
 * @count: Their number
 */
struct bo_list {
	struct pagoda_bo **bos;
	u32 count;
};

/* Sizes first, in the order the header gives errors. */
static int list_check(struct drm_device *drm, const struct drm_pagoda_array *array, u32 entry)
{
	if (pagoda_refuse(drm, array->count > DRM_PAGODA_MAX_ENTRIES))
		return -E2BIG;
	if (pagoda_refuse(drm, !array->count) ||
	    pagoda_refuse(drm, array->stride < entry) ||
	    pagoda_refuse(drm, array->stride > PAGE_SIZE) ||
	    pagoda_refuse(drm, array->stride % sizeof(u64)))
		return -EINVAL;
	return 0;
}

static char __user *list_entry_ptr(const struct drm_pagoda_array *array, u32 index)
{
	return (char __user *)u64_to_user_ptr(array->array) + (u64)index * array->stride;
}

static int list_copy_entry(struct drm_device *drm, const struct drm_pagoda_array *array,
			   u32 index, u32 *handle)
{
	struct drm_pagoda_residency_entry entry;
	int ret;

	ret = copy_struct_from_user(&entry, sizeof(entry), list_entry_ptr(array, index),
				    array->stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	if (pagoda_refuse(drm, entry.flags))
		return -EINVAL;
	*handle = entry.handle;
	return 0;
}

static int list_compare(const void *a, const void *b)
{
	const struct pagoda_bo *x = *(const struct pagoda_bo * const *)a;
	const struct pagoda_bo *y = *(const struct pagoda_bo * const *)b;

	return x < y ? -1 : x > y;
}

/* By allocation and not by handle: one allocation may have several. */
static int list_check_unique(struct drm_device *drm, const struct bo_list *list)
{
	struct pagoda_bo **sorted;
	int ret = 0;
	u32 i;

	sorted = kvmemdup(list->bos, list->count * sizeof(*sorted), GFP_KERNEL);
	if (!sorted)
		return -ENOMEM;
	sort(sorted, list->count, sizeof(*sorted), list_compare, NULL);
	for (i = 1; i < list->count && !ret; i++)
		if (pagoda_refuse(drm, sorted[i] == sorted[i - 1]))
			ret = -EINVAL;
	kvfree(sorted);
	return ret;
}

static void list_put(struct bo_list *list)
{
	while (list->count)
		pagoda_bo_put(list->bos[--list->count]);
	kvfree(list->bos);
}

static int list_lookup(struct drm_device *drm, struct drm_file *file, const u32 *handles,
		       u32 count, struct bo_list *list)
{
	for (list->count = 0; list->count < count; list->count++) {
		struct pagoda_bo *bo = pagoda_bo_lookup(file, handles[list->count]);

		if (pagoda_refuse(drm, !bo))
			return -ENOENT;
		list->bos[list->count] = bo;
	}
	return list_check_unique(drm, list);
}

/* All of user memory is read before the first handle is looked up. */
static int list_get(struct drm_device *drm, struct drm_file *file,
		    const struct drm_pagoda_array *array, struct bo_list *list)
{
	u32 *handles;
	u32 i;
	int ret;

	ret = list_check(drm, array, sizeof(struct drm_pagoda_residency_entry));
	if (ret)
		return ret;
	list->count = 0;
	list->bos = kvmalloc_array(array->count, sizeof(*list->bos), GFP_KERNEL);
	handles = kvmalloc_array(array->count, sizeof(*handles), GFP_KERNEL);
	if (!list->bos || !handles)
		ret = -ENOMEM;
	for (i = 0; i < array->count && !ret; i++)
		ret = list_copy_entry(drm, array, i, &handles[i]);
	if (!ret)
		ret = list_lookup(drm, file, handles, array->count, list);
	kvfree(handles);
	if (ret)
		list_put(list);
	return ret;
}

/**
 * struct out_point - Point of a timeline that the work will signal
 * @syncobj: Syncobj, or NULL: nobody wants to know
 * @chain: Got in advance: after the work nothing may fail
 * @point: Point
 */
struct out_point {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

static void point_put(struct out_point *out)
{
	if (!out->syncobj)
		return;
	dma_fence_chain_free(out->chain);
	drm_syncobj_put(out->syncobj);
}

static int point_get(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
		     struct out_point *out)
{
	*out = (struct out_point) { .point = point };
	if (pagoda_refuse(drm, !handle != !point))
		return -EINVAL;
	if (!handle)
		return 0;
	out->syncobj = drm_syncobj_find(file, handle);
	if (pagoda_refuse(drm, !out->syncobj))
		return -ENOENT;
	out->chain = dma_fence_chain_alloc();
	if (out->chain)
		return 0;
	drm_syncobj_put(out->syncobj);
	return -ENOMEM;
}

/* Signalled if there is nothing to wait for. */
static void point_add(struct out_point *out, struct dma_fence *fence)
{
	if (!out->syncobj)
		return;
	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
	out->chain = NULL;
	dma_fence_put(fence);
}

/**
 * pagoda_ioctl_make_resident() - DRM_IOCTL_PAGODA_MAKE_RESIDENT
 * @drm: Device
 * @data: struct drm_pagoda_make_resident
 * @file: Caller
 *
 * Context: May sleep.
 * Return: See include/uapi/drm/pagoda_drm.h.
 */
int pagoda_ioctl_make_resident(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_make_resident *args = data;
	struct out_point out;
	struct bo_list list;
	struct dma_fence *fence;
	u64 trim;
	int ret;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->paging_queue) ||
	    pagoda_refuse(drm, args->pad))
		return -EINVAL;
	ret = list_get(drm, file, &args->entries, &list);
	if (ret)
		return ret;
	ret = point_get(drm, file, args->syncobj, args->point, &out);
	if (ret)
		goto put_list;

	ret = pagoda_residency_make(pagoda_device_of_drm(drm)->vidmm, list.bos, list.count,
				    &fence, &trim);
	args->bytes_to_trim = ret == -ENOMEM ? trim : 0;
	args->num_resident = ret ? 0 : list.count;
	args->pending = !ret && fence && !dma_fence_is_signaled(fence);
	if (!ret)
		point_add(&out, fence);
	dma_fence_put(fence);
	point_put(&out);
put_list:
	list_put(&list);
	return ret;
}

/**
 * pagoda_ioctl_evict() - DRM_IOCTL_PAGODA_EVICT
 * @drm: Device
 * @data: struct drm_pagoda_evict
 * @file: Caller
 *
 * Context: May sleep.
 * Return: See include/uapi/drm/pagoda_drm.h.
 */
int pagoda_ioctl_evict(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_evict *args = data;
	struct out_point out;
	struct bo_list list;
	struct dma_fence *fence;
	int ret;

	if (pagoda_refuse(drm, args->flags))
		return -EINVAL;
	ret = list_get(drm, file, &args->entries, &list);
	if (ret)
		return ret;
	ret = point_get(drm, file, args->syncobj, args->point, &out);
	if (ret)
		goto put_list;

	ret = pagoda_residency_evict(pagoda_device_of_drm(drm)->vidmm, list.bos, list.count,
				     &fence);
	if (!ret) {
		args->bytes_to_trim = 0;
		point_add(&out, fence);
	}
	dma_fence_put(fence);
	point_put(&out);
put_list:
	list_put(&list);
	return ret;
}

static int status_get(struct drm_device *drm, struct drm_file *file, const char __user *from,
		      u32 stride, struct drm_pagoda_residency_status *status)
{
	struct drm_pagoda_allocation_info info;
	struct pagoda_bo *bo;
	int ret;

	ret = copy_struct_from_user(status, sizeof(*status), from, stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	bo = pagoda_bo_lookup(file, status->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	pagoda_bo_info(bo, &info);
	pagoda_bo_put(bo);

	status->residency = info.residency;
	status->segment = info.segment;
	status->state = info.state;
	return 0;
}

/* All of them are answered, or none. */
static int status_list(struct drm_device *drm, struct drm_file *file,
		       const struct drm_pagoda_array *array,
		       struct drm_pagoda_residency_status *list)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		ret = status_get(drm, file, list_entry_ptr(array, i), array->stride, &list[i]);
	}
	for (i = 0; i < array->count && !ret; i++)
		if (copy_to_user(list_entry_ptr(array, i), &list[i], sizeof(list[i])))
			ret = -EFAULT;
	return ret;
}

/**
 * pagoda_ioctl_query_residency() - DRM_IOCTL_PAGODA_QUERY_RESIDENCY
 * @drm: Device
 * @data: struct drm_pagoda_query_residency
 * @file: Caller
 *
 * Context: May sleep.
 * Return: See include/uapi/drm/pagoda_drm.h.
 */
int pagoda_ioctl_query_residency(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_query_residency *args = data;
	struct drm_pagoda_residency_status *list;
	int ret;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	ret = list_check(drm, &args->entries, sizeof(*list));
	if (ret)
		return ret;
	list = kvmalloc_array(args->entries.count, sizeof(*list), GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	ret = status_list(drm, file, &args->entries, list);
	kvfree(list);
	return ret;
}
