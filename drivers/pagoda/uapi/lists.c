// SPDX-License-Identifier: GPL-2.0
/*
 * Turns handles from user space, single or in lists, into allocations; describes an allocation; and
 * tests whether MAKE_RESIDENT has nothing left to do for a list, but to count the call.
 */
#include <linux/prefetch.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include "core/core.h"
#include "core/device.h"
#include "core/life.h"
#include "vidmm/bo/bo.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ttm/ttm.h"
#include "args.h"

/* Most handles that are looked up before drm_file.table_lock is dropped and taken again. */
#define LIST_SOME	64

/* Returns the allocation with a reference, for pagoda_bo_put(); or NULL. */
struct pagoda_bo *pagoda_bo_lookup(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *obj = drm_gem_object_lookup(file, handle);

	return obj ? pagoda_bo_of_gem(obj) : NULL;
}

void pagoda_bo_put(struct pagoda_bo *bo)
{
	drm_gem_object_put(pagoda_bo_gem(bo));
}

/*
 * Calls pagoda_bo_info() in a section, which begins only after a rebuild of the device that is due:
 * the rebuild finds out whether content was lost. Returns 0 or the error of pagoda_enter().
 */
int pagoda_bo_describe(struct drm_device *drm, struct pagoda_bo *bo,
		       struct drm_pagoda_allocation_info *info)
{
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(drm)->vidmm;
	int ret = pagoda_enter(vidmm);

	if (ret)
		return ret;
	pagoda_bo_info(bo, info);
	pagoda_leave(vidmm);
	return 0;
}

/*
 * Copies @array from user memory to @entries. Returns 0; -EINVAL for a flag that isn't in
 * @known_flags; -EFAULT; or -E2BIG if unknown members of an entry aren't 0.
 */
static int list_copy(struct drm_device *drm, const struct drm_pagoda_array *array,
		     u32 known_flags, struct pagoda_bo_entry *entries)
{
	int ret = 0;
	u32 i;

	if (array->stride == sizeof(*entries))
		ret = copy_from_user(entries, pagoda_array_entry(array, 0),
				     array->count * sizeof(*entries)) ? -EFAULT : 0;
	for (i = 0; i < array->count && !ret && array->stride != sizeof(*entries); i++)
		ret = copy_struct_from_user(&entries[i], sizeof(*entries),
					    pagoda_array_entry(array, i), array->stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	for (i = 0; i < array->count; i++)
		if (pagoda_refuse(drm, entries[i].flags & ~known_flags))
			return -EINVAL;
	return 0;
}

/* Drops the references to the allocations of a list, and frees its arrays. */
void pagoda_bo_list_put(struct pagoda_bo_list *list)
{
	while (list->count)
		pagoda_bo_put(list->bos[--list->count]);
	kvfree(list->bos);
	kvfree(list->flags);
	kvfree(list->entries);
}

/*
 * Looks up handles; sets @bos to NULL for a handle without an allocation. Prefetches the part of
 * each allocation that is used first: with long lists most of the time is spent waiting for memory.
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

/*
 * Looks up the @count handles behind the first @list->count. Allocations found, up to the first
 * handle without one, get a reference and are counted in @list->count. Returns true if all were
 * found.
 */
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
	while (list->count < count)
		if (pagoda_refuse(drm, !list_lookup_some(file, min(count - list->count, LIST_SOME),
							 list)))
			return -ENOENT;
	return pagoda_check_unique(drm, (void **)list->bos, list->count);
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
 * Looks up the handles in @entries, and calls pagoda_settling_some() for their allocations: returns
 * how many of these, from the first on, are settled. With @undo calls pagoda_settling_undo() for
 * all instead. table_lock keeps the allocations from being freed.
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
 * Returns true only if nothing is left to do to make a list of @count allocations, at least one,
 * resident: each allocation is in the segment that it prefers, its paging is done, and all VMs that
 * map the allocation map it there (it is settled, see vidmm/ledger/settled.c); and none is named
 * twice. With @counted, each allocation must be on the client's residency list, and if true is
 * returned, each allocation's count on the residency list was increased. Takes no reservation and
 * no reference. If false is returned, no count has changed, and @entries may contain invalid
 * handles. False is always returned if TTM chooses the victims (policy=lru).
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
