// SPDX-License-Identifier: GPL-2.0
/*
 * The table and the entry points of ioctls, and the ioctls about a single allocation or the device.
 *
 * All arguments from user space are copied and checked, without a lock of the driver held, and all
 * memory for answers is checked to be writable before the first side effect of an ioctl: a refused
 * ioctl changes nothing.
 */
#include <linux/compat.h>
#include <linux/pagemap.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_syncobj.h>
#include <drm/drm_vma_manager.h>
#include "core/core.h"
#include "core/device.h"
#include "debug/debug.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/manager/manager.h"
#include "vidmm/residency/residency.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "args.h"

#define ALLOCATION_FLAGS \
	(DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED | \
	 DRM_PAGODA_ALLOCATION_CONTIGUOUS | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY | \
	 DRM_PAGODA_ALLOCATION_FROM_END | DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION | \
	 DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE | \
	 DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION | \
	 DRM_PAGODA_ALLOCATION_NOTIFY_IOMMU_UNMAP)

#define VRAM_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE_BIT	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

static void query_device(struct pagoda_device *pagoda, struct drm_pagoda_device_info *info)
{
	u64 features = pagoda->info.features;

	if (!pagoda_vidmm_has_engines(pagoda->vidmm))
		features &= ~BIT_ULL(VIRTIO_PAGODA_F_EXECUTE);
	*info = (struct drm_pagoda_device_info) {
		.features = features,
		.page_size = PAGE_SIZE,
		.alignment = pagoda->info.alignment,
		.num_segments = DRM_PAGODA_SEGMENT_APERTURE,
		.num_engines = pagoda->info.num_engines,
		.max_entries = DRM_PAGODA_MAX_ENTRIES,
		.job_timeout_ms = pagoda->vidmm->job_timeout_ms,
		.swizzling_ranges = pagoda->info.swizzling_ranges,
		.swizzling_bytes = pagoda->info.swizzling_bytes,
	};
}

/*
 * Copies an answer of @size bytes, or only its first @args->size bytes if these are fewer, to user
 * memory; then sets @args->size to @size. Returns 0 or -EFAULT.
 */
static int query_answer(struct drm_pagoda_query *args, const void *answer, u32 size)
{
	u32 wanted = args->size;

	if (wanted && copy_to_user(u64_to_user_ptr(args->pointer), answer, min(wanted, size)))
		return -EFAULT;
	args->size = size;
	return 0;
}

static int pagoda_ioctl_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_device *pagoda = pagoda_device_of_drm(drm);
	struct drm_pagoda_query *args = data;
	union {
		struct drm_pagoda_device_info device;
		struct drm_pagoda_segment_info segment;
		struct drm_pagoda_stats stats;
	} answer;
	int ret;

	if (pagoda_refuse(drm, args->pad) ||
	    pagoda_refuse(drm, args->type != DRM_PAGODA_QUERY_SEGMENT && args->index))
		return -EINVAL;

	switch (args->type) {
	case DRM_PAGODA_QUERY_DEVICE:
		query_device(pagoda, &answer.device);
		return query_answer(args, &answer, sizeof(answer.device));
	case DRM_PAGODA_QUERY_SEGMENT:
		ret = pagoda_vidmm_segment_info(pagoda->vidmm, file->driver_priv, args->index,
						&answer.segment);
		if (pagoda_refuse(drm, ret))
			return ret;
		return query_answer(args, &answer, sizeof(answer.segment));
	case DRM_PAGODA_QUERY_STATS:
		pagoda_vidmm_stats(pagoda->vidmm, &answer.stats);
		pagoda_client_stats(file->driver_priv, &answer.stats);
		return query_answer(args, &answer, sizeof(answer.stats));
	}
	pagoda_refuse(drm, args->type);
	return -EINVAL;
}

static int create_check_segments(struct drm_device *drm,
				 const struct drm_pagoda_allocation_create *args)
{
	u32 named = 0;
	bool end = false;
	u32 i;

	if (pagoda_refuse(drm, args->supported & ~(VRAM_BIT | APERTURE_BIT)) ||
	    pagoda_refuse(drm, args->eviction & ~(VRAM_BIT | APERTURE_BIT)))
		return -ENOENT;
	if (pagoda_refuse(drm, !args->supported) ||
	    pagoda_refuse(drm, args->eviction & VRAM_BIT) ||
	    pagoda_refuse(drm, args->eviction & ~args->supported))
		return -EINVAL;
	for (i = 0; i < DRM_PAGODA_MAX_PREFERRED; i++) {
		u32 id = args->preferred[i];

		if (!id) {
			end = true;
			continue;
		}
		if (pagoda_refuse(drm, id > DRM_PAGODA_SEGMENT_APERTURE))
			return -ENOENT;
		if (pagoda_refuse(drm, end) ||
		    pagoda_refuse(drm, !(args->supported & DRM_PAGODA_SEGMENT_BIT(id))) ||
		    pagoda_refuse(drm, named & DRM_PAGODA_SEGMENT_BIT(id)))
			return -EINVAL;
		named |= DRM_PAGODA_SEGMENT_BIT(id);
	}
	return 0;
}

static int create_check(struct drm_device *drm, const struct drm_pagoda_allocation_create *args)
{
	bool visible = args->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE;
	bool aligned = args->alignment;

	if (pagoda_refuse(drm, !args->size) ||
	    pagoda_refuse(drm, args->size > DRM_PAGODA_MAX_ALLOCATION) ||
	    pagoda_refuse(drm, args->pad) || pagoda_refuse(drm, args->pad2) ||
	    pagoda_refuse(drm, args->flags & ~ALLOCATION_FLAGS) ||
	    pagoda_refuse(drm, args->flags & DRM_PAGODA_ALLOCATION_CACHED && !visible) ||
	    pagoda_refuse(drm, aligned && !is_power_of_2(args->alignment)) ||
	    pagoda_refuse(drm, aligned && args->alignment < PAGE_SIZE) ||
	    pagoda_refuse(drm, args->alignment > SZ_2M))
		return -EINVAL;
	return create_check_segments(drm, args);
}

static struct pagoda_bo_params create_params(const struct drm_pagoda_allocation_create *args)
{
	struct pagoda_bo_params params = {
		.size = PAGE_ALIGN(args->size),
		.flags = args->flags,
		.supported = args->supported,
		.eviction = args->eviction,
		.alignment = args->alignment,
		.layout = {
			.tiling = args->tiling,
			.pitch = args->pitch,
			.height = args->height,
			.mips = args->mips,
		},
	};

	memcpy(params.preferred, args->preferred, sizeof(params.preferred));
	return params;
}

static int create_with_handle(struct pagoda_device *pagoda, struct drm_file *file,
			      const struct pagoda_bo_params *params, u32 *handle)
{
	struct pagoda_bo *bo;
	int ret, idx;

	if (!drm_dev_enter(&pagoda->drm, &idx))
		return -ENODEV;
	bo = pagoda_bo_create(pagoda->vidmm, file->driver_priv, params);
	drm_dev_exit(idx);
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_handle_create(file, pagoda_bo_gem(bo), handle);
	pagoda_bo_put(bo);
	return ret;
}

static int pagoda_ioctl_allocation_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct pagoda_device *pagoda = pagoda_device_of_drm(drm);
	struct drm_pagoda_allocation_create *args = data;
	struct pagoda_bo_params params;
	const char *why;
	int ret;

	ret = create_check(drm, args);
	if (ret)
		return ret;
	params = create_params(args);
	ret = pagoda_swizzle_validate(pagoda->vidmm, &params, &why);
	if (ret) {
		drm_dbg_driver(drm, "allocation refused: %s\n", why);
		return ret;
	}
	if (pagoda_refuse(drm, !pagoda_bo_params_could_fit(pagoda->vidmm, &params)))
		return -E2BIG;
	if (args->vm) {
		params.vm = pagoda_client_find(file->driver_priv, PAGODA_OBJECT_VM, args->vm);
		if (pagoda_refuse(drm, !params.vm))
			return -ENOENT;
		params.uses = &params.vm->uses;
	}
	ret = create_with_handle(pagoda, file, &params, &args->handle);
	if (params.vm)
		pagoda_vm_put(params.vm);
	if (!ret)
		args->size = params.size;
	return ret;
}

static int pagoda_ioctl_allocation_mmap_offset(struct drm_device *drm, void *data,
					       struct drm_file *file)
{
	struct drm_pagoda_allocation_mmap_offset *args = data;
	struct pagoda_bo *bo;
	int ret = 0;

	if (pagoda_refuse(drm, args->flags))
		return -EINVAL;
	bo = pagoda_bo_lookup(file, args->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	if (pagoda_refuse(drm, !pagoda_bo_may_be_mapped(bo)))
		ret = -EACCES;
	else
		args->offset = drm_vma_node_offset_addr(&pagoda_bo_gem(bo)->vma_node);
	pagoda_bo_put(bo);
	return ret;
}

static int pagoda_ioctl_allocation_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_allocation_info *args = data;
	struct pagoda_bo *bo = pagoda_bo_lookup(file, args->handle);
	int ret;

	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	ret = pagoda_bo_describe(drm, bo, args);
	pagoda_bo_put(bo);
	return ret;
}

/* Returns -EIO if the content of @bo was lost and no client acknowledged that, else 0. */
static int wait_check_content(struct pagoda_bo *bo)
{
	struct drm_pagoda_allocation_info info;

	pagoda_bo_info(bo, &info);
	return info.state & DRM_PAGODA_CONTENT_LOST ? -EIO : 0;
}

static int pagoda_ioctl_allocation_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_pagoda_allocation_wait *args = data;
	bool acknowledge = args->flags & DRM_PAGODA_ALLOCATION_WAIT_ACKNOWLEDGE;
	struct pagoda_bo *bo;
	int ret;

	if (pagoda_refuse(drm, args->flags & ~DRM_PAGODA_ALLOCATION_WAIT_ACKNOWLEDGE))
		return -EINVAL;
	bo = pagoda_bo_lookup(file, args->handle);
	if (pagoda_refuse(drm, !bo))
		return -ENOENT;
	ret = pagoda_bo_wait(bo, args->timeout_ns);
	if (!ret)
		ret = acknowledge ? pagoda_lost_acknowledge(bo) : wait_check_content(bo);
	pagoda_bo_put(bo);
	return ret;
}

#define PAGODA_IOCTL(id, func) \
	DRM_IOCTL_DEF_DRV(PAGODA_##id, pagoda_ioctl_##func, DRM_RENDER_ALLOW)

const struct drm_ioctl_desc pagoda_ioctls[PAGODA_NUM_IOCTLS] = {
	PAGODA_IOCTL(QUERY, query),
	PAGODA_IOCTL(ALLOCATION_CREATE, allocation_create),
	PAGODA_IOCTL(ALLOCATION_MMAP_OFFSET, allocation_mmap_offset),
	PAGODA_IOCTL(ALLOCATION_INFO, allocation_info),
	PAGODA_IOCTL(ALLOCATION_WAIT, allocation_wait),
	PAGODA_IOCTL(MAKE_RESIDENT, make_resident),
	PAGODA_IOCTL(EVICT, evict),
	PAGODA_IOCTL(QUERY_RESIDENCY, query_residency),
	PAGODA_IOCTL(VM_CREATE, vm_create),
	PAGODA_IOCTL(VM_DESTROY, vm_destroy),
	PAGODA_IOCTL(VM_BIND, vm_bind),
	PAGODA_IOCTL(VM_STATE, vm_state),
	PAGODA_IOCTL(CONTEXT_CREATE, context_create),
	PAGODA_IOCTL(CONTEXT_DESTROY, context_destroy),
	PAGODA_IOCTL(FENCE_CREATE, fence_create),
	PAGODA_IOCTL(FENCE_DESTROY, fence_destroy),
	PAGODA_IOCTL(FENCE_SIGNAL, fence_signal),
	PAGODA_IOCTL(FENCE_WAIT, fence_wait),
	PAGODA_IOCTL(SUBMIT, submit),
	PAGODA_IOCTL(CONTEXT_STATE, context_state),
	PAGODA_IOCTL(PAGING_QUEUE_CREATE, paging_queue_create),
	PAGODA_IOCTL(PAGING_QUEUE_DESTROY, paging_queue_destroy),
	PAGODA_IOCTL(PAGING_QUEUE_STATE, paging_queue_state),
	PAGODA_IOCTL(QUERY_RESIDENCY_LIST, query_residency_list),
	PAGODA_IOCTL(OFFER, offer),
	PAGODA_IOCTL(RECLAIM, reclaim),
	PAGODA_IOCTL(SET_PRIORITY, set_priority),
	PAGODA_IOCTL(QUERY_MEMORY_INFO, query_memory_info),
	PAGODA_IOCTL(SET_RESERVATION, set_reservation),
	PAGODA_IOCTL(EVENTS, events),
	PAGODA_IOCTL(TRACK, track),
};

/*
 * Refuses a struct with unknown members that aren't 0 (-E2BIG), or where the answer couldn't be
 * written (-EFAULT). drm_ioctl() would ignore such members, and would notice that the answer can't
 * be written only after the work. Returns 0 if the struct is good.
 */
static int ioctl_check_struct(unsigned int known, unsigned int cmd, char __user *arg)
{
	unsigned int size = _IOC_SIZE(cmd);
	unsigned int kernel = _IOC_SIZE(known);
	int ret;

	if (cmd & IOC_OUT && fault_in_safe_writeable(arg, size))
		return -EFAULT;
	if (!(cmd & IOC_IN) || size <= kernel)
		return 0;
	ret = check_zeroed_user(arg + kernel, size - kernel);
	if (ret < 0)
		return ret;
	return ret ? 0 : -E2BIG;
}

/* Returns true if the DRM core's ioctl @cmd can give a syncobj a fence that deferred work needs. */
static bool ioctl_signals(unsigned int cmd)
{
	switch (_IOC_NR(cmd)) {
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
	case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
		return true;
	}
	return false;
}

static bool ioctl_is_ours(unsigned int cmd)
{
	return _IOC_NR(cmd) >= DRM_COMMAND_BASE &&
	       _IOC_NR(cmd) - DRM_COMMAND_BASE < PAGODA_NUM_IOCTLS;
}

/* Returns true if @cmd may page: ioctl_paid() first waits then, if the client pages too much. */
static bool ioctl_pages(unsigned int cmd)
{
	if (!ioctl_is_ours(cmd))
		return _IOC_NR(cmd) == _IOC_NR(DRM_IOCTL_GEM_CLOSE);
	switch (_IOC_NR(cmd) - DRM_COMMAND_BASE) {
	case DRM_PAGODA_MAKE_RESIDENT:
	case DRM_PAGODA_EVICT:
	case DRM_PAGODA_VM_CREATE:
	case DRM_PAGODA_VM_DESTROY:
	case DRM_PAGODA_VM_BIND:
	case DRM_PAGODA_CONTEXT_CREATE:
	case DRM_PAGODA_CONTEXT_DESTROY:
	case DRM_PAGODA_FENCE_CREATE:
	case DRM_PAGODA_SUBMIT:
	case DRM_PAGODA_OFFER:
	case DRM_PAGODA_RECLAIM:
		return true;
	}
	return false;
}

/*
 * Calls @ioctl, drm_ioctl() or drm_compat_ioctl(), for whose paging the client pays. If
 * ioctl_pages(@cmd) and the client or its user has too many paging buffers in flight already, first
 * waits until the device has executed enough of them: returns -ERESTARTSYS if the thread is killed
 * meanwhile.
 */
static long ioctl_paid(struct file *filp, unsigned int cmd, unsigned long arg,
		       long (*ioctl)(struct file *filp, unsigned int cmd, unsigned long arg))
{
	struct drm_file *file = filp->private_data;
	struct pagoda_vidmm *vidmm = pagoda_device_of_drm(file->minor->dev)->vidmm;
	struct pagoda_caller caller;
	long ret = ioctl_pages(cmd) ? pagoda_caller_await(vidmm, file->driver_priv) : 0;

	if (ret)
		return ret;
	pagoda_caller_begin(vidmm, &caller, file->driver_priv);
	ret = ioctl(filp, cmd, arg);
	pagoda_caller_end(vidmm, &caller);
	return ret;
}

/*
 * Calls ioctl_paid() for an ioctl of the DRM core. If ioctl_signals(@cmd), then has the client's
 * deferred work look for missing fences again.
 */
static long ioctl_core(struct file *filp, unsigned int cmd, unsigned long arg,
		       long (*ioctl)(struct file *filp, unsigned int cmd, unsigned long arg))
{
	struct drm_file *file = filp->private_data;
	long ret = ioctl_paid(filp, cmd, arg, ioctl);

	if (ioctl_signals(cmd))
		pagoda_missing_kick(pagoda_device_of_drm(file->minor->dev)->vidmm,
				    file->driver_priv);
	return ret;
}

/**
 * pagoda_ioctl() - file_operations.unlocked_ioctl
 * @filp: DRM file
 * @cmd: Number, with the size of the caller's struct
 * @arg: The caller's struct
 *
 * Neither a removal of the device nor its rebuild or sleep waits for an ioctl that copies from or
 * to user memory: an ioctl uses the device only in sections (core/section.c), in which it doesn't
 * copy.
 *
 * Context: May sleep.
 * Return: See include/uapi/drm/pagoda_drm.h.
 */
long pagoda_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct drm_file *file = filp->private_data;
	struct drm_device *drm = file->minor->dev;
	unsigned int nr = _IOC_NR(cmd) - DRM_COMMAND_BASE;
	long ret;

	if (!ioctl_is_ours(cmd))
		return ioctl_core(filp, cmd, arg, drm_ioctl);

	ret = ioctl_check_struct(pagoda_ioctls[nr].cmd, cmd, (char __user *)arg);
	if (pagoda_refuse(drm, ret))
		return drm_dev_is_unplugged(drm) ? -ENODEV : ret;
	if (nr != DRM_PAGODA_ALLOCATION_WAIT && nr != DRM_PAGODA_FENCE_WAIT)
		ret = pagoda_payer_follow(pagoda_device_of_drm(drm)->vidmm, file->driver_priv);
	return ret ?: ioctl_paid(filp, cmd, arg, drm_ioctl);
}

#ifdef CONFIG_COMPAT
/**
 * pagoda_compat_ioctl() - file_operations.compat_ioctl
 * @filp: DRM file
 * @cmd: Number, with the size of the caller's struct
 * @arg: The caller's struct
 *
 * The driver's structs are equal in 32 and 64 bits; those of the DRM core aren't.
 *
 * Context: May sleep.
 * Return: As pagoda_ioctl().
 */
long pagoda_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (ioctl_is_ours(cmd))
		return pagoda_ioctl(filp, cmd, (unsigned long)compat_ptr(arg));
	return ioctl_core(filp, cmd, arg, drm_compat_ioctl);
}
#endif
