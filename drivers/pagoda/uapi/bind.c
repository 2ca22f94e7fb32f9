// SPDX-License-Identifier: GPL-2.0
/*
 * VM_BIND and VM_STATE: turns arguments from user space into arguments of vidmm/vm/.
 *
 * All entries are copied and checked, and memory for answers is checked to be writable, before the
 * first side effect. Checks that depend on what is mapped are done by vidmm/vm/bind_plan.c and
 * bind_unique.c.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uaccess.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include "core/life.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/vm/vm.h"
#include "args.h"
#include "uapi.h"

#define PROTECTION_FLAGS	(DRM_PAGODA_BIND_READ_ONLY | DRM_PAGODA_BIND_NO_EXECUTE)

/*
 * Fields that a bind entry of one type may set: the bits in @flags; a handle (of an allocation or
 * fence) if @handle; an offset if @offset; driver_protection and window if @map.
 */
struct bind_rule {
	u32 flags;
	bool handle;
	bool offset;
	bool map;
};

static const struct bind_rule bind_rules[] = {
	[DRM_PAGODA_BIND_MAP] = {
		.flags = PROTECTION_FLAGS | DRM_PAGODA_BIND_CHOOSE,
		.handle = true,
		.offset = true,
		.map = true,
	},
	[DRM_PAGODA_BIND_UNMAP] = {},
	[DRM_PAGODA_BIND_MAP_ZERO] = { .flags = DRM_PAGODA_BIND_CHOOSE },
	[DRM_PAGODA_BIND_COPY] = { .offset = true },
	[DRM_PAGODA_BIND_NO_ACCESS] = {},
	[DRM_PAGODA_BIND_RESERVE] = { .flags = DRM_PAGODA_BIND_CHOOSE },
	[DRM_PAGODA_BIND_MAP_FENCE] = {
		.flags = PROTECTION_FLAGS | DRM_PAGODA_BIND_CHOOSE,
		.handle = true,
	},
};

/* Returns -EINVAL if a field or flag without meaning for the entry's type isn't 0; else 0. */
static int bind_check_fields(struct drm_device *drm, const struct drm_pagoda_bind_entry *entry)
{
	const struct bind_rule *rule = &bind_rules[entry->type];

	if (pagoda_refuse(drm, entry->pad) ||
	    pagoda_refuse(drm, entry->flags & ~rule->flags) ||
	    pagoda_refuse(drm, !rule->handle && entry->handle) ||
	    pagoda_refuse(drm, !rule->offset && entry->offset) ||
	    pagoda_refuse(drm, !rule->map && entry->driver_protection) ||
	    pagoda_refuse(drm, !rule->map && entry->window))
		return -EINVAL;
	return 0;
}

/*
 * Checks the range of addresses of a VM_BIND entry, which for RESERVE must be whole chunks of
 * DRM_PAGODA_RESERVE_ALIGN bytes, and that the offset is whole pages. With BIND_CHOOSE the entry's
 * address is only a lower bound, and bind_plan.c chooses a valid address. Returns 0 or -EINVAL.
 */
static int bind_check_range(struct drm_device *drm, struct pagoda_vm *vm,
			    const struct drm_pagoda_bind_entry *entry)
{
	bool choose = entry->flags & DRM_PAGODA_BIND_CHOOSE;
	bool reserve = entry->type == DRM_PAGODA_BIND_RESERVE;
	u64 chunks = reserve ? entry->size | (choose ? 0 : entry->address) : 0;
	u64 start, end;

	pagoda_vm_range(vm, &start, &end);
	if (pagoda_refuse(drm, !PAGE_ALIGNED(entry->offset)) ||
	    pagoda_refuse(drm, !PAGE_ALIGNED(entry->address)) ||
	    pagoda_refuse(drm, !pagoda_vm_range_valid(vm, choose ? start : entry->address,
						      entry->size)) ||
	    pagoda_refuse(drm, !IS_ALIGNED(chunks, DRM_PAGODA_RESERVE_ALIGN)))
		return -EINVAL;
	return 0;
}

static int bind_check_window(struct drm_device *drm, const struct drm_pagoda_bind_entry *entry)
{
	if (pagoda_refuse(drm, !PAGE_ALIGNED(entry->window)) ||
	    pagoda_refuse(drm, entry->window > entry->size) ||
	    pagoda_refuse(drm, entry->window && entry->size % entry->window))
		return -EINVAL;
	return 0;
}

/*
 * Checks an entry's own fields, but not its allocation, nor what the VM maps already. Returns 0 or
 * -EINVAL.
 */
static int bind_check_entry(struct drm_device *drm, struct pagoda_vm *vm, bool update,
			    const struct drm_pagoda_bind_entry *entry)
{
	int ret;

	if (pagoda_refuse(drm, entry->type < DRM_PAGODA_BIND_MAP) ||
	    pagoda_refuse(drm, entry->type > DRM_PAGODA_BIND_MAP_FENCE) ||
	    pagoda_refuse(drm, update && entry->type == DRM_PAGODA_BIND_RESERVE) ||
	    pagoda_refuse(drm, update && entry->flags & DRM_PAGODA_BIND_CHOOSE))
		return -EINVAL;
	ret = bind_check_fields(drm, entry);
	if (!ret)
		ret = bind_check_range(drm, vm, entry);
	if (!ret)
		ret = bind_check_window(drm, entry);
	if (!ret && entry->type == DRM_PAGODA_BIND_COPY &&
	    pagoda_refuse(drm, !pagoda_vm_range_valid(vm, entry->offset, entry->size)))
		ret = -EINVAL;
	if (!ret && entry->type == DRM_PAGODA_BIND_MAP_FENCE &&
	    pagoda_refuse(drm, entry->size != PAGE_SIZE))
		ret = -EINVAL;
	return ret;
}

static int bind_get_bo(struct drm_device *drm, struct drm_file *file, struct pagoda_vm *vm,
		       const struct drm_pagoda_bind_entry *entry, struct pagoda_bind *bind)
{
	u64 bytes = entry->window ?: entry->size, size;

	bind->bo = pagoda_bo_lookup(file, entry->handle);
	if (pagoda_refuse(drm, !bind->bo))
		return -ENOENT;
	if (pagoda_refuse(drm, !pagoda_bo_is_usable_in(bind->bo, vm)))
		return -EPERM;
	if (pagoda_refuse(drm, pagoda_bo_is_offered(bind->bo)))
		return -ENODATA;
	size = pagoda_bo_gem(bind->bo)->size;
	if (pagoda_refuse(drm, entry->offset > size) ||
	    pagoda_refuse(drm, bytes > size - entry->offset))
		return -EINVAL;
	return 0;
}

/*
 * Sets @bind->bo to the page of a client's monitored fence, an allocation without a handle, and
 * takes a reference. Returns 0 or -ENOENT.
 */
static int bind_get_fence(struct drm_device *drm, struct drm_file *file, u32 handle,
			  struct pagoda_bind *bind)
{
	struct pagoda_mfence *mfence =
		pagoda_client_find(file->driver_priv, PAGODA_OBJECT_FENCE, handle);

	if (pagoda_refuse(drm, !mfence))
		return -ENOENT;
	bind->bo = pagoda_mfence_bo(mfence);
	drm_gem_object_get(pagoda_bo_gem(bind->bo));
	pagoda_mfence_put(mfence);
	return 0;
}

/*
 * Returns -EFAULT if the entry has BIND_CHOOSE, and its member address in user memory, which gets
 * the chosen address, isn't writable; else 0.
 */
static int bind_check_answer(struct drm_device *drm, const struct drm_pagoda_bind_entry *entry,
			     char __user *user)
{
	size_t size = sizeof(entry->address);

	user += offsetof(struct drm_pagoda_bind_entry, address);
	if (entry->flags & DRM_PAGODA_BIND_CHOOSE &&
	    pagoda_refuse(drm, fault_in_safe_writeable(user, size)))
		return -EFAULT;
	return 0;
}

static int bind_get_entry(struct drm_device *drm, struct drm_file *file, struct pagoda_vm *vm,
			  const struct drm_pagoda_vm_bind *args, u32 index,
			  struct pagoda_bind *bind)
{
	char __user *user = pagoda_array_entry(&args->entries, index);
	bool update = args->flags & DRM_PAGODA_VM_BIND_UPDATE;
	struct drm_pagoda_bind_entry entry;
	int ret;

	ret = copy_struct_from_user(&entry, sizeof(entry), user, args->entries.stride);
	if (pagoda_refuse(drm, ret))
		return ret;
	ret = bind_check_entry(drm, vm, update, &entry);
	if (!ret)
		ret = bind_check_answer(drm, &entry, user);
	if (ret)
		return ret;
	*bind = (struct pagoda_bind) {
		.type = entry.type,
		.flags = entry.flags,
		.handle = entry.handle,
		.address = entry.address,
		.size = entry.size,
		.offset = entry.offset,
		.driver_protection = entry.driver_protection,
		.window = entry.window,
	};
	if (entry.type == DRM_PAGODA_BIND_MAP)
		return bind_get_bo(drm, file, vm, &entry, bind);
	if (entry.type == DRM_PAGODA_BIND_MAP_FENCE)
		return bind_get_fence(drm, file, entry.handle, bind);
	return 0;
}

static int bind_get_entries(struct drm_device *drm, struct drm_file *file, struct pagoda_vm *vm,
			    const struct drm_pagoda_vm_bind *args, struct pagoda_bind_job *job)
{
	bool copies;
	int ret = 0;
	u32 i;

	for (i = 0; i < job->count && !ret; i++)
		ret = bind_get_entry(drm, file, vm, args, i, &job->binds[i]);
	copies = job->binds[0].type == DRM_PAGODA_BIND_COPY;
	for (i = 1; i < job->count && !ret; i++) {
		bool copy = job->binds[i].type == DRM_PAGODA_BIND_COPY;

		if (pagoda_refuse(drm, copies != copy))
			ret = -EINVAL;
	}
	return ret;
}

static int bind_get(struct drm_device *drm, struct drm_file *file, struct pagoda_vm *vm,
		    const struct drm_pagoda_vm_bind *args, struct pagoda_bind_job **out)
{
	struct pagoda_bind_job *job;
	int ret;

	ret = pagoda_array_check(drm, &args->entries,
				 offsetofend(struct drm_pagoda_bind_entry, driver_protection));
	if (ret)
		return ret;
	job = pagoda_bind_job_create(args->entries.count);
	if (!job)
		return -ENOMEM;
	job->update = args->flags & DRM_PAGODA_VM_BIND_UPDATE;
	ret = bind_get_entries(drm, file, vm, args, job);
	if (!ret)
		ret = pagoda_syncs_get(drm, file, &args->syncs, &job->syncs);
	if (!ret)
		ret = pagoda_point_get_sync(drm, file, args->syncobj, args->point, &job->syncs);
	if (ret)
		pagoda_bind_job_put(job);
	else
		*out = job;
	return ret;
}

/*
 * Unmaps allocations of @job whose handles another thread closed after the lookup: closing a handle
 * unmaps its allocation, but maybe did so before this VM_BIND mapped the allocation.
 */
static void bind_forget_closed(struct drm_file *file, struct pagoda_vm *vm,
			       const struct pagoda_bind_job *job)
{
	struct pagoda_bo *bo;
	u32 i;

	for (i = 0; i < job->count; i++) {
		const struct pagoda_bind *bind = &job->binds[i];

		/* The page of a fence stays mapped: the page has no handle to close. */
		if (!bind->bo || bind->type == DRM_PAGODA_BIND_MAP_FENCE)
			continue;
		bo = pagoda_bo_lookup(file, bind->handle);
		if (bo != bind->bo) {
			pagoda_enter_anyway(vm->vidmm);
			pagoda_vm_forget(vm, bind->bo);
			pagoda_leave(vm->vidmm);
		}
		if (bo)
			pagoda_bo_put(bo);
	}
}

/* Writes chosen addresses to the caller's array; stops at an entry that isn't writable any more. */
static void bind_answer(const struct drm_pagoda_vm_bind *args, const struct pagoda_bind_job *job)
{
	u32 i;

	for (i = 0; i < job->count; i++) {
		struct drm_pagoda_bind_entry __user *user;

		if (!(job->binds[i].flags & DRM_PAGODA_BIND_CHOOSE))
			continue;
		user = (void __user *)pagoda_array_entry(&args->entries, i);
		if (put_user(job->binds[i].address, &user->address))
			return;
	}
}

int pagoda_ioctl_vm_bind(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_vm_bind *args = data;
	struct pagoda_bind_job *job;
	struct dma_fence *fence;
	struct pagoda_vm *vm;
	int ret;

	if (pagoda_refuse(drm, args->flags & ~DRM_PAGODA_VM_BIND_UPDATE) ||
	    pagoda_refuse(drm, args->pad))
		return -EINVAL;
	vm = pagoda_client_find(file->driver_priv, PAGODA_OBJECT_VM, args->vm);
	if (pagoda_refuse(drm, !vm))
		return -ENOENT;
	ret = bind_get(drm, file, vm, args, &job);
	if (ret)
		goto put_vm;
	ret = pagoda_vm_bind_job(vm, job, &fence);
	if (!ret) {
		bind_forget_closed(file, vm, job);
		bind_answer(args, job);
		dma_fence_put(fence);
	}
	pagoda_bind_job_put(job);
put_vm:
	pagoda_vm_put(vm);
	return ret;
}

int pagoda_ioctl_vm_state(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_vm_state *args = data;
	struct pagoda_vm *vm;
	int error;

	if (pagoda_refuse(drm, args->pad))
		return -EINVAL;
	vm = pagoda_client_find(file->driver_priv, PAGODA_OBJECT_VM, args->vm);
	if (pagoda_refuse(drm, !vm))
		return -ENOENT;
	args->condition = pagoda_vm_condition(vm, &error);
	args->error = error;
	pagoda_vm_put(vm);
	return 0;
}
