// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations: made, accounted, described, mapped.
 *
 * An allocation starts in the system segment without a page. What it may become
 * is fixed when it is made: segments it may live in, in the order they are tried,
 * and where it goes when it is evicted. The three placement functions at the
 * end are the only ones that turn that into what TTM is asked for.
 */
#include <linux/slab.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <pagoda/virtio.h>
#include "vidmm.h"

/**
 * pagoda_client_create() - Accounting for a new DRM file
 *
 * Context: May sleep.
 * Return: The client, pagoda_client_put() it; NULL without memory.
 */
struct pagoda_client *pagoda_client_create(void)
{
	struct pagoda_client *client = kzalloc(sizeof(*client), GFP_KERNEL);

	if (client)
		kref_init(&client->kref);
	return client;
}

static void pagoda_client_release(struct kref *kref)
{
	kfree(container_of(kref, struct pagoda_client, kref));
}

/**
 * pagoda_client_put() - The file is closed, or an allocation of it is gone
 * @client: Client
 *
 * Context: Any but interrupts.
 */
void pagoda_client_put(struct pagoda_client *client)
{
	kref_put(&client->kref, pagoda_client_release);
}

/**
 * pagoda_segment_of() - Segment of a place
 * @res: Resource
 *
 * System pages that the GPU uses count as the aperture with or without an
 * address in it.
 *
 * Return: enum virtio_pagoda_segment.
 */
u32 pagoda_segment_of(const struct ttm_resource *res)
{
	switch (res->mem_type) {
	case TTM_PL_VRAM:
		return VIRTIO_PAGODA_SEGMENT_VRAM;
	case TTM_PL_TT:
		return VIRTIO_PAGODA_SEGMENT_APERTURE;
	default:
		return VIRTIO_PAGODA_SEGMENT_SYSTEM;
	}
}

static void bo_charge(struct pagoda_bo *bo, s64 sign)
{
	if (bo->charged != VIRTIO_PAGODA_SEGMENT_COUNT)
		atomic64_add(sign * (s64)bo->ttm.base.size,
			     &bo->client->segment_bytes[bo->charged]);
}

/**
 * pagoda_bo_account() - Charge an allocation's bytes to where it is now
 * @bo: Allocation, reservation held or nobody else left
 * @from: Where it was; may be NULL
 * @to: Where it is; NULL when it goes away
 *
 * What was charged before is remembered in the allocation, because TTM guts
 * without asking for a move: @from may already be history.
 *
 * Context: Any but interrupts.
 */
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *from, struct ttm_resource *to)
{
	u32 segment = to ? pagoda_segment_of(to) : VIRTIO_PAGODA_SEGMENT_COUNT;

	if (segment == bo->charged)
		return;
	bo_charge(bo, -1);
	bo->charged = segment;
	bo_charge(bo, 1);
}

static void pagoda_bo_destroy(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	xa_erase(&bo->vidmm->bos, bo->id);
	drm_gem_object_release(&ttm_bo->base);
	pagoda_client_put(bo->client);
	kfree(bo);
}

/**
 * pagoda_bo_is_ours() - Is this TTM object an allocation?
 * @bo: TTM object
 *
 * TTM hangs what a move leaves behind on objects of its own; those have nothing
 * of ours around them.
 *
 * Return: Whether pagoda_bo_of_ttm() may be used.
 */
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo)
{
	return bo->destroy == pagoda_bo_destroy;
}

static u32 bo_vram_flags(u32 flags)
{
	u32 vram = 0;

	if (flags & (DRM_PAGODA_ALLOCATION_CONTIGUOUS |
		     DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY))
		vram |= TTM_PL_FLAG_CONTIGUOUS;
	if (flags & DRM_PAGODA_ALLOCATION_FROM_END)
		vram |= TTM_PL_FLAG_TOPDOWN;
	return vram;
}

/* The segments of the supported set that could hold it if they were empty. */
static u32 bo_usable_segments(struct pagoda_vidmm *vidmm, const struct pagoda_bo_params *params)
{
	const struct ttm_place vram = {
		.mem_type = TTM_PL_VRAM,
		.flags = bo_vram_flags(params->flags),
	};
	u32 usable = 0;

	if (pagoda_vram_could_hold(vidmm, &vram, params->size, params->alignment))
		usable |= DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
	if (params->size >> PAGE_SHIFT <= vidmm->info->aperture_pages)
		usable |= DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
	return usable & params->supported;
}

/**
 * pagoda_bo_params_could_fit() - Could this allocation ever be resident?
 * @vidmm: The manager
 * @params: What is asked for
 *
 * Context: Any.
 * Return: Whether a supported segment could hold it if nothing else was there.
 */
bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params)
{
	return bo_usable_segments(vidmm, params);
}

/*
 * Named segments first, then the other supported ones, VRAM before the aperture.
 * Those that could never hold it are left out: TTM would evict everything else
 * to find that out.
 */
static void bo_set_order(struct pagoda_bo *bo, const struct pagoda_bo_params *params)
{
	u32 left = bo_usable_segments(bo->vidmm, params);
	u32 n = 0;
	u32 i, id;

	for (i = 0; i < ARRAY_SIZE(params->preferred) && params->preferred[i]; i++) {
		id = params->preferred[i];
		if (left & DRM_PAGODA_SEGMENT_BIT(id))
			bo->preferred[n++] = id;
		left &= ~DRM_PAGODA_SEGMENT_BIT(id);
	}
	for (id = DRM_PAGODA_SEGMENT_VRAM; id <= DRM_PAGODA_SEGMENT_APERTURE; id++)
		if (left & DRM_PAGODA_SEGMENT_BIT(id))
			bo->preferred[n++] = id;
}

static struct pagoda_bo *bo_alloc(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				  const struct pagoda_bo_params *params)
{
	struct pagoda_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	if (!bo)
		return NULL;
	bo->vidmm = vidmm;
	bo->id = atomic64_inc_return(&vidmm->next_id);
	bo->flags = params->flags;
	if (bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY)
		bo->flags |= DRM_PAGODA_ALLOCATION_CONTIGUOUS;
	bo->supported = params->supported;
	bo->eviction = params->eviction;
	bo->alignment = params->alignment;
	bo->charged = VIRTIO_PAGODA_SEGMENT_COUNT;
	bo_set_order(bo, params);
	if (xa_err(xa_store(&vidmm->bos, bo->id, bo, GFP_KERNEL))) {
		kfree(bo);
		return NULL;
	}
	kref_get(&client->kref);
	bo->client = client;
	return bo;
}

/**
 * pagoda_bo_create() - Make an allocation
 * @vidmm: The manager
 * @client: Who pays
 * @params: What was asked for; checked
 *
 * Context: May sleep and allocate.
 * Return: The allocation with one GEM reference, in the system segment, without
 * pages; or ERR_PTR.
 */
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct pagoda_bo *bo;
	int ret;

	bo = bo_alloc(vidmm, client, params);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->ttm.base.funcs = &pagoda_bo_gem_funcs;
	drm_gem_private_object_init(vidmm->drm, &bo->ttm.base, params->size);

	/* On failure it calls pagoda_bo_destroy(). */
	ret = ttm_bo_init_reserved(&vidmm->ttm, &bo->ttm, ttm_bo_type_device, &placement,
				   params->alignment >> PAGE_SHIFT, &ctx, NULL, NULL,
				   pagoda_bo_destroy);
	if (ret)
		return ERR_PTR(ret);
	dma_resv_unlock(bo->ttm.base.resv);
	return bo;
}

/**
 * pagoda_bo_of_gem() - Allocation around a GEM object of ours
 * @obj: GEM object
 *
 * Return: The allocation; no reference is taken.
 */
struct pagoda_bo *pagoda_bo_of_gem(struct drm_gem_object *obj)
{
	return pagoda_bo_of_ttm(drm_gem_ttm_of_gem(obj));
}

/**
 * pagoda_bo_gem() - GEM object of an allocation
 * @bo: Allocation
 *
 * Return: The object; no reference is taken.
 */
struct drm_gem_object *pagoda_bo_gem(struct pagoda_bo *bo)
{
	return &bo->ttm.base;
}

/*
 * TTM's aperture holds what was made resident in shared memory and what was
 * evicted to there: only the request tells them apart.
 */
static u32 bo_residency(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (!bo->resident || !res || res->mem_type == TTM_PL_SYSTEM)
		return DRM_PAGODA_NOT_RESIDENT;
	if (res->mem_type == TTM_PL_VRAM)
		return DRM_PAGODA_RESIDENT_IN_GPU_MEMORY;
	return DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY;
}

static void bo_describe_place(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info)
{
	struct ttm_resource *res = bo->ttm.resource;

	info->segment = res ? pagoda_segment_of(res) : DRM_PAGODA_SEGMENT_SYSTEM;
	info->num_ranges = 0;
	info->address = 0;
	if (info->segment == DRM_PAGODA_SEGMENT_VRAM) {
		info->num_ranges = pagoda_vram_count_ranges(res);
		info->address = (u64)res->start << PAGE_SHIFT;
	} else if (info->segment == DRM_PAGODA_SEGMENT_APERTURE &&
		   pagoda_aperture_has_address(res)) {
		info->num_ranges = 1;
		info->address = pagoda_aperture_of(res)->node.start << PAGE_SHIFT;
	}
}

/**
 * pagoda_bo_info() - Describe an allocation
 * @bo: Allocation
 * @info: Filled but for the handle
 *
 * Context: Takes the reservation; may sleep.
 */
void pagoda_bo_info(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info)
{
	info->flags = bo->flags;
	info->size = bo->ttm.base.size;
	info->supported = bo->supported;
	info->eviction = bo->eviction;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	info->residency = bo_residency(bo);
	info->state = READ_ONCE(bo->lost) ? DRM_PAGODA_CONTENT_LOST : 0;
	bo_describe_place(bo, info);
	dma_resv_unlock(bo->ttm.base.resv);
}

static void pagoda_bo_gem_free(struct drm_gem_object *obj)
{
	ttm_bo_put(drm_gem_ttm_of_gem(obj));
}

static int pagoda_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	if (!(pagoda_bo_of_gem(obj)->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE))
		return -EACCES;
	return drm_gem_ttm_mmap(obj, vma);
}

/* Sharing needs pinning rules that the ABI doesn't have yet. */
static struct dma_buf *pagoda_bo_gem_export(struct drm_gem_object *obj, int flags)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static enum drm_gem_object_status pagoda_bo_gem_status(struct drm_gem_object *obj)
{
	return READ_ONCE(pagoda_bo_of_gem(obj)->resident) ? DRM_GEM_OBJECT_RESIDENT : 0;
}

const struct drm_gem_object_funcs pagoda_bo_gem_funcs = {
	.free = pagoda_bo_gem_free,
	.mmap = pagoda_bo_gem_mmap,
	.export = pagoda_bo_gem_export,
	.status = pagoda_bo_gem_status,
	.vm_ops = &pagoda_bo_vm_ops,
};

/* Only who is reached by physical address gets one in the aperture (C162, C163). */
static struct ttm_place bo_place_aperture(struct pagoda_bo *bo)
{
	struct ttm_place place = { .mem_type = TTM_PL_TT };

	if (bo->flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY)
		place.lpfn = bo->vidmm->info->aperture_pages;
	return place;
}

/**
 * pagoda_bo_placement_resident() - Where the GPU can use an allocation
 * @bo: Allocation
 * @places: Filled, at least 4
 *
 * Segments in the order of preference (C161), supported ones only (C160). Room
 * is made in the first; the others are taken when that fails.
 *
 * Return: Number of places.
 */
u32 pagoda_bo_placement_resident(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n;

	for (n = 0; n < DRM_PAGODA_MAX_PREFERRED && bo->preferred[n]; n++) {
		if (bo->preferred[n] == DRM_PAGODA_SEGMENT_VRAM)
			places[n] = (struct ttm_place) {
				.mem_type = TTM_PL_VRAM,
				.flags = bo_vram_flags(bo->flags),
			};
		else
			places[n] = bo_place_aperture(bo);
		if (n)
			places[n].flags |= TTM_PL_FLAG_FALLBACK;
	}
	return n;
}

/**
 * pagoda_bo_placement_evicted() - Where an allocation goes when it is evicted
 * @bo: Allocation
 * @places: Filled, at least 4
 *
 * The eviction segment (C37), behind it the system segment, which always has
 * room.
 *
 * Return: Number of places.
 */
u32 pagoda_bo_placement_evicted(struct pagoda_bo *bo, struct ttm_place *places)
{
	u32 n = 0;

	if (bo->eviction & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE))
		places[n++] = bo_place_aperture(bo);
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}

/**
 * pagoda_bo_placement_cpu() - Where the CPU can reach an allocation
 * @bo: Allocation
 * @places: Filled, at least 4
 *
 * The visible part of VRAM if there is room and the device has one, else system
 * memory, as the aperture if that is supported. Nobody is evicted because
 * somebody else looks at his memory.
 *
 * Return: Number of places.
 */
u32 pagoda_bo_placement_cpu(struct pagoda_bo *bo, struct ttm_place *places)
{
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = bo->vidmm->vram.visible_size >> PAGE_SHIFT,
		.flags = bo_vram_flags(bo->flags) | TTM_PL_FLAG_DESIRED,
	};
	u32 n = 0;

	if (bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM) && visible.lpfn &&
	    pagoda_vram_could_hold(bo->vidmm, &visible, bo->ttm.base.size, bo->alignment))
		places[n++] = visible;
	if (bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE))
		places[n++] = bo_place_aperture(bo);
	places[n++] = (struct ttm_place) { .mem_type = TTM_PL_SYSTEM };
	return n;
}
