// SPDX-License-Identifier: GPL-2.0
/*
 * ioctls about lists of allocations.
 */
#include <linux/dma-fence-chain.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/prefetch.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_syncobj.h>
#include "core/device.h"
#include "core/vidmm.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/lists.h"
#include "vidmm/vm/vm.h"
#include "args.h"

/*
 * Checks an array with at least @entry bytes per entry. Returns 0, -E2BIG or -EINVAL, in the order
 * of errors that the ABI header documents.
 */
int pagoda_array_check(struct drm_device *drm, const struct drm_pagoda_array *array, u32 entry)
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

/* Returns the user pointer of an entry of a checked array. */
char __user *pagoda_array_entry(const struct drm_pagoda_array *array, u32 index)
{
	return (char __user *)u64_to_user_ptr(array->array) + (u64)index * array->stride;
}

static_assert(sizeof(struct pagoda_bo_entry) == sizeof(struct drm_pagoda_residency_entry));
static_assert(sizeof(struct pagoda_bo_entry) == sizeof(struct drm_pagoda_submit_entry));

#define EVICT_FLAGS	(DRM_PAGODA_EVICT_ONLY_IF_NECESSARY | DRM_PAGODA_EVICT_NOT_WRITTEN_TO)

static int list_copy_entry(const struct drm_pagoda_array *array, u32 index,
			   struct pagoda_bo_entry *entry)
{
	return copy_struct_from_user(entry, sizeof(*entry), pagoda_array_entry(array, index),
				     array->stride);
}

/* Copies all entries at once if they have the kernel's size. */
static int list_copy(struct drm_device *drm, const struct drm_pagoda_array *array,
		     u32 known_flags, struct pagoda_bo_entry *entries)
{
	int ret = 0;
	u32 i;

	if (array->stride == sizeof(*entries))
		ret = copy_from_user(entries, pagoda_array_entry(array, 0),
				     array->count * sizeof(*entries)) ? -EFAULT : 0;
	for (i = 0; i < array->count && !ret && array->stride != sizeof(*entries); i++)
		ret = list_copy_entry(array, i, &entries[i]);
	if (pagoda_refuse(drm, ret))
		return ret;
	for (i = 0; i < array->count; i++)
		if (pagoda_refuse(drm, entries[i].flags & ~known_flags))
			return -EINVAL;
	return 0;
}

/* Returns false if @object is in the table already. */
static bool unique_add(const void **table, u32 bits, const void *object)
{
	u32 at = hash_ptr(object, bits);

	for (; table[at]; at = (at + 1) & (BIT(bits) - 1))
		if (table[at] == object)
			return false;
	table[at] = object;
	return true;
}

/*
 * Refuses a list that names an object twice, in linear time. Objects are compared by address, as an
 * object may have several handles. @count isn't 0. Returns 0, -EINVAL or -ENOMEM.
 */
int pagoda_check_unique(struct drm_device *drm, void * const *objects, u32 count)
{
	/* The table is at most half full. */
	u32 bits = ilog2(count) + 2, i;
	const void **table;
	int ret = 0;

	if (count == 1)
		return 0;
	table = kvcalloc(BIT(bits), sizeof(*table), GFP_KERNEL_ACCOUNT);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++)
		if (pagoda_refuse(drm, !unique_add(table, bits, objects[i])))
			ret = -EINVAL;
	kvfree(table);
	return ret;
}

/* Frees a list and its references. */
void pagoda_bo_list_put(struct pagoda_bo_list *list)
{
	while (list->count)
		pagoda_bo_put(list->bos[--list->count]);
	kvfree(list->bos);
	kvfree(list->flags);
	kvfree(list->entries);
}

/*
 * Prefetches the part of each allocation that is used first, for all of them together: in long
 * lists most of the time is spent waiting for memory.
 */
static void list_find(struct drm_file *file, const struct pagoda_bo_entry *entries, u32 count,
		      struct pagoda_bo **bos)
{
	struct drm_gem_object *obj;
	u32 i;

	lockdep_assert_held(&file->table_lock);
	for (i = 0; i < count; i++) {
		obj = idr_find(&file->object_idr, entries[i].handle);
		bos[i] = obj ? pagoda_bo_of_gem(obj) : NULL;
		prefetchw(obj);
	}
}

/* Number of handles that are looked up under one hold of the lock. */
#define LIST_SOME	64

/* Returns whether all were found; those found have a reference and are in @list->count. */
static bool list_lookup_some(struct drm_file *file, u32 count, struct pagoda_bo_list *list)
{
	const struct pagoda_bo_entry *entries = list->entries + list->count;
	struct pagoda_bo **bos = list->bos + list->count;
	u32 i;

	spin_lock(&file->table_lock);
	list_find(file, entries, count, bos);
	for (i = 0; i < count && bos[i]; i++) {
		drm_gem_object_get(pagoda_bo_gem(bos[i]));
		list->flags[list->count] = entries[i].flags;
		list->count++;
	}
	spin_unlock(&file->table_lock);
	return i == count;
}

static int list_lookup(struct drm_device *drm, struct drm_file *file, u32 count,
		       struct pagoda_bo_list *list)
{
	while (list->count < count)
		if (pagoda_refuse(drm, !list_lookup_some(file, min(count - list->count, LIST_SOME),
							 list)))
			return -ENOENT;
	return pagoda_check_unique(drm, (void **)list->bos, list->count);
}

/*
 * Copies a list of handles and flags into @list->entries; only @known_flags may be set. The caller
 * calls pagoda_bo_list_put() on success. Returns 0, -E2BIG, -EINVAL, -EFAULT or -ENOMEM.
 */
int pagoda_bo_list_copy(struct drm_device *drm, const struct drm_pagoda_array *array,
			u32 known_flags, struct pagoda_bo_list *list)
{
	int ret = pagoda_array_check(drm, array, sizeof(*list->entries));

	if (ret)
		return ret;
	*list = (struct pagoda_bo_list) {
		.entries = kvmalloc_array(array->count, sizeof(*list->entries), GFP_KERNEL_ACCOUNT),
	};
	if (!list->entries)
		return -ENOMEM;
	ret = list_copy(drm, array, known_flags, list->entries);
	if (ret)
		pagoda_bo_list_put(list);
	return ret;
}

/*
 * Looks up a copied list, in which no allocation may be named twice. The caller calls
 * pagoda_bo_list_put() in any case. Returns 0, -EINVAL, -ENOENT or -ENOMEM.
 */
int pagoda_bo_list_lookup(struct drm_device *drm, struct drm_file *file, u32 count,
			  struct pagoda_bo_list *list)
{
	list->bos = kvmalloc_array(count, sizeof(*list->bos), GFP_KERNEL_ACCOUNT);
	list->flags = kvmalloc_array(count, sizeof(*list->flags), GFP_KERNEL_ACCOUNT);
	if (!list->bos || !list->flags)
		return -ENOMEM;
	return list_lookup(drm, file, count, list);
}

/*
 * Copies and looks up a list in which no allocation may be named twice. All user memory is read
 * before the first handle is looked up. Returns 0 (then the caller calls pagoda_bo_list_put()),
 * -E2BIG, -EINVAL, -EFAULT, -ENOENT or -ENOMEM.
 */
int pagoda_bo_list_get(struct drm_device *drm, struct drm_file *file,
		       const struct drm_pagoda_array *array, u32 known_flags,
		       struct pagoda_bo_list *list)
{
	int ret = pagoda_bo_list_copy(drm, array, known_flags, list);

	if (ret)
		return ret;
	ret = pagoda_bo_list_lookup(drm, file, array->count, list);
	if (ret)
		pagoda_bo_list_put(list);
	return ret;
}

/*
 * Counts @count entries as settled, or with @undo takes that back. The allocations can't be freed
 * while the lock is held. Returns the number of entries from the first that are settled.
 */
static u32 list_settle_some(struct drm_file *file, const struct pagoda_bo_entry *entries,
			    u32 count, struct pagoda_settling *settling, bool undo)
{
	struct pagoda_bo *bos[LIST_SOME];

	spin_lock(&file->table_lock);
	list_find(file, entries, count, bos);
	if (undo)
		pagoda_settling_undo(settling, bos, count);
	else
		count = pagoda_settling_some(settling, bos, count);
	spin_unlock(&file->table_lock);
	return count;
}

static bool list_settle(struct drm_file *file, const struct pagoda_bo_entry *entries, u32 count,
			struct pagoda_settling *settling)
{
	u32 done = 0, some = 0, settled = 0;

	for (; done < count && settled == some; done += settled) {
		some = min(count - done, LIST_SOME);
		settled = list_settle_some(file, entries + done, some, settling, false);
	}
	if (done == count)
		return true;
	for (; done; done -= some) {
		some = min(done, LIST_SOME);
		list_settle_some(file, entries + done - some, some, settling, true);
	}
	return false;
}

/*
 * Returns whether all of a list is resident and wanted already, and no allocation is named twice;
 * @count isn't 0. With @counted, each allocation must be on the caller's residency list, and is
 * required once more if the function returns true. Takes no reservation and no reference. If false
 * is returned, nothing has changed, and the list may contain errors.
 */
bool pagoda_bo_list_is_settled(struct drm_device *drm, struct drm_file *file,
			       const struct pagoda_bo_entry *entries, u32 count, bool counted)
{
	struct pagoda_settling settling;
	bool settled;

	if (!pagoda_settling_begin(&settling, pagoda_device_of_drm(drm)->vidmm, file->driver_priv,
				   counted))
		return false;
	settled = list_settle(file, entries, count, &settling);
	pagoda_settling_end(&settling);
	return settled;
}

void pagoda_point_put(struct pagoda_out_point *out)
{
	if (!out->syncobj)
		return;
	dma_fence_chain_free(out->chain);
	drm_syncobj_put(out->syncobj);
}

/*
 * Gets all that signalling a point can need, for pagoda_point_put(). @handle and @point are both 0
 * or both set. Returns 0, -EINVAL, -ENOENT or -ENOMEM.
 */
int pagoda_point_get(struct drm_device *drm, struct drm_file *file, u32 handle, u64 point,
		     struct pagoda_out_point *out)
{
	*out = (struct pagoda_out_point) { .point = point };
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

/* Adds the fence of the submitted work to the point; NULL is a signalled fence. */
void pagoda_point_add(struct pagoda_out_point *out, struct dma_fence *fence)
{
	if (!out->syncobj)
		return;
	fence = fence ? dma_fence_get(fence) : dma_fence_get_stub();
	drm_syncobj_add_point(out->syncobj, out->chain, fence, out->point);
	out->chain = NULL;
	dma_fence_put(fence);
}

/* Flags say how to treat the client's residency list, so they need a paging queue. */
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

/* Usually the list was made resident before, and still is resident. */
static int make_resident(struct drm_device *drm, struct drm_file *file, u32 count,
			 struct pagoda_bo_list *list, struct dma_fence **fence, u64 *trim)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	struct pagoda_client *client = file->driver_priv;
	int ret;

	if (pagoda_bo_list_is_settled(drm, file, list->entries, count, false))
		return 0;
	ret = pagoda_bo_list_lookup(drm, file, count, list);
	if (ret)
		return ret;
	if (pagoda_residency_is_made(client, list->bos, count, true))
		return 0;
	ret = pagoda_residency_make(vidmm, list->bos, count, fence, trim);
	return ret ?: pagoda_client_validate(client, fence);
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
	if (!ret) {
		pagoda_point_add(&out, fence);
		pagoda_deferred_kick(pagoda_device_of_drm(drm)->vidmm);
	}
	if (signal && !ret)
		pagoda_mfence_signal_paging(signal);
	else if (signal)
		pagoda_mfence_take_back(signal);
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
	struct dma_fence *fence;
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

	ret = pagoda_residency_evict(pagoda_device_of_drm(drm)->vidmm, list.bos, list.count,
				     &fence);
	if (!ret) {
		args->bytes_to_trim = pagoda_budget_excess(&client->budget);
		pagoda_point_add(&out, fence);
		pagoda_deferred_kick(pagoda_device_of_drm(drm)->vidmm);
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
	pagoda_bo_info(bo, &info);
	pagoda_bo_put(bo);

	status->residency = info.residency;
	status->segment = info.segment;
	status->state = info.state;
	return 0;
}

/* Answers all entries, or none. */
static int array_answer(struct drm_device *drm, struct drm_file *file,
			const struct drm_pagoda_array *array, u32 entry,
			pagoda_answer_func answer, char *answers)
{
	int ret = 0;
	u32 i;

	for (i = 0; i < array->count && !ret; i++) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		ret = answer(drm, file, pagoda_array_entry(array, i), array->stride,
			     answers + (size_t)i * entry);
	}
	for (i = 0; i < array->count && !ret; i++)
		if (copy_to_user(pagoda_array_entry(array, i), answers + (size_t)i * entry, entry))
			ret = -EFAULT;
	return ret;
}

/*
 * Fills in an array of entries in user memory, all or none, by @answer; @entry is the size of an
 * entry's first version. Returns 0, the error of @answer, -E2BIG, -EINVAL, -EFAULT, -ENOMEM or
 * -ERESTARTSYS.
 */
int pagoda_array_answer(struct drm_device *drm, struct drm_file *file,
			const struct drm_pagoda_array *array, u32 entry,
			pagoda_answer_func answer)
{
	char *answers;
	int ret = pagoda_array_check(drm, array, entry);

	if (ret)
		return ret;
	answers = kvmalloc_array(array->count, entry, GFP_KERNEL_ACCOUNT);
	if (!answers)
		return -ENOMEM;
	ret = array_answer(drm, file, array, entry, answer, answers);
	kvfree(answers);
	return ret;
}

int pagoda_ioctl_query_residency(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_query_residency *args = data;

	if (pagoda_refuse(drm, args->flags) || pagoda_refuse(drm, args->pad))
		return -EINVAL;
	return pagoda_array_answer(drm, file, &args->entries,
				   sizeof(struct drm_pagoda_residency_status), status_get);
}
