// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations: creation, accounting, description, mapping.
 *
 * An allocation starts in the system segment without backing pages. The segments that it may
 * live in, the order in which they are tried, and the segments that it is evicted to are fixed
 * at its creation. placement.c turns them into placements for TTM.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include "core/core.h"
#include "queue/exec.h"
#include "vidmm/ledger/lists.h"
#include "vidmm/residency/pace.h"
#include "vidmm/ttm/prime.h"
#include "vidmm/vm/vm.h"
#include "virtio/virtio.h"
#include "victims.h"

/**
 * pagoda_client_create() - Create the accounting of a new DRM file
 * @vidmm: The manager; outlives the client
 *
 * Context: May sleep.
 * Return: The client, to be released with pagoda_client_put(), or NULL without memory.
 */
struct pagoda_client *pagoda_client_create(struct pagoda_vidmm *vidmm)
{
	struct pagoda_client *client = kzalloc(sizeof(*client), GFP_KERNEL_ACCOUNT);

	if (!client)
		return NULL;
	client->requirements = pagoda_requirements_create();
	client->account = pagoda_exec_account_create();
	client->quota = pagoda_quota_create(vidmm->limits);
	if (!client->requirements || !client->account || !client->quota) {
		pagoda_quota_put(client->quota);
		pagoda_exec_account_put(client->account);
		pagoda_requirements_destroy(client->requirements);
		kfree(client);
		return NULL;
	}
	kref_init(&client->kref);
	mutex_init(&client->lock);
	mutex_init(&client->payer.lock);
	xa_init_flags(&client->paging_queues, XA_FLAGS_ALLOC1);
	xa_init_flags(&client->vms, XA_FLAGS_ALLOC1);
	xa_init_flags(&client->contexts, XA_FLAGS_ALLOC1);
	xa_init_flags(&client->fences, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&client->groups);
	pagoda_closing_init(&client->closing, vidmm);
	pagoda_ears_init(&client->ears);
	pagoda_pace_init(vidmm, &client->pace);
	pagoda_budget_join(vidmm->budgets, &client->budget);
	return client;
}

static void pagoda_client_release(struct kref *kref)
{
	struct pagoda_client *client = container_of(kref, struct pagoda_client, kref);

	pagoda_budget_leave(&client->budget);
	pagoda_requirements_destroy(client->requirements);
	pagoda_exec_account_put(client->account);
	pagoda_quota_put(client->quota);
	kfree(client->pager);
	mutex_destroy(&client->closing.lock);
	mutex_destroy(&client->payer.lock);
	mutex_destroy(&client->lock);
	kfree(client);
}

/**
 * pagoda_client_put() - Drop a reference to a client
 * @client: Client; its DRM file holds a reference, as do its allocations, VMs, waits and listeners
 *
 * Context: Any but interrupts.
 */
void pagoda_client_put(struct pagoda_client *client)
{
	kref_put(&client->kref, pagoda_client_release);
}

/**
 * pagoda_segment_of() - Segment of a TTM resource
 * @res: Resource
 *
 * System pages that the GPU uses count as the aperture segment, with or without an address in the
 * aperture.
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

/* No client is charged for an imported allocation before it has its first handle. */
static void bo_charge(struct pagoda_bo *bo, u32 segment)
{
	if (bo->client)
		pagoda_budget_charge(&bo->client->budget, &bo->part, segment);
	else
		bo->part.segment = segment;
}

/**
 * pagoda_bo_account() - Charge an allocation's bytes to the segment it is in now
 * @bo: Allocation; its reservation is held, or no other reference is left
 * @from: Resource it had; may be NULL
 * @to: Resource it has; NULL when the allocation goes away
 *
 * The segment charged before is remembered in the allocation: TTM guts an object without asking the
 * driver for a move, so @from may be out of date.
 *
 * Context: Any but interrupts.
 */
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *from, struct ttm_resource *to)
{
	u32 segment = to ? pagoda_segment_of(to) : PAGODA_BUDGET_SEGMENTS;

	pagoda_victims_moved(bo, to);
	if (segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		pagoda_copy_drop(bo);
	if (segment != bo->part.segment)
		bo_charge(bo, segment);
}

/**
 * pagoda_bo_set_resident() - Note that an allocation was made resident, or evicted on request
 * @bo: Allocation, already moved; reservation held
 * @resident: Whether it was made resident
 *
 * Context: Any but interrupts.
 */
void pagoda_bo_set_resident(struct pagoda_bo *bo, bool resident)
{
	if (!resident)
		pagoda_settled_clear(bo);
	WRITE_ONCE(bo->wish.resident, resident);
	/*
	 * The client's requirement is counted before @released is cleared. Pairs with
	 * paging_let_go().
	 */
	smp_mb();
	WRITE_ONCE(bo->wish.released, false);
	pagoda_promote_look(bo);
}

static void bo_free(struct pagoda_bo *bo)
{
	drm_gem_object_release(&bo->ttm.base);
	if (bo->share.imported)
		dma_buf_put(bo->share.imported);
	if (bo->vm.shared)
		drm_gem_object_put(bo->vm.shared);
	if (bo->vm.private_to)
		pagoda_vm_put(bo->vm.private_to);
	if (bo->client)
		pagoda_client_put(bo->client);
	kfree(bo);
}

static void bo_detach_work(struct work_struct *work)
{
	struct pagoda_bo *bo = container_of(work, struct pagoda_bo, share.detach);

	pagoda_import_detach(bo);
	bo_free(bo);
}

/*
 * Detaching takes the reservation of the dma-buf, which the caller that drops the last
 * reference may hold: a work item detaches.
 */
static void pagoda_bo_destroy(struct ttm_buffer_object *ttm_bo)
{
	struct pagoda_bo *bo = pagoda_bo_of_ttm(ttm_bo);

	xa_erase(&bo->vidmm->bos, bo->id);
	pagoda_copy_drop(bo);
	pagoda_promote_forget(bo);
	pagoda_victims_remove(bo);
	if (!bo->share.imported) {
		bo_free(bo);
		return;
	}
	INIT_WORK(&bo->share.detach, bo_detach_work);
	queue_work(bo->vidmm->ttm.wq, &bo->share.detach);
}

/**
 * pagoda_bo_is_ours() - Test whether a TTM object is an allocation of this driver
 * @bo: TTM object
 *
 * TTM creates objects of its own for resources that a move leaves behind; there is no struct
 * pagoda_bo around those.
 *
 * Return: Whether pagoda_bo_of_ttm() may be used.
 */
bool pagoda_bo_is_ours(struct ttm_buffer_object *bo)
{
	return bo->destroy == pagoda_bo_destroy;
}

/* Returns the requested flags and the flags that they imply. */
static u32 bo_flags(const struct pagoda_bo_params *params)
{
	u32 flags = params->flags;

	if (flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY || params->layout.tiling)
		flags |= DRM_PAGODA_ALLOCATION_CONTIGUOUS;
	return flags;
}

/* Returns the supported segments that could hold the allocation if they were empty. */
static u32 bo_usable_segments(struct pagoda_vidmm *vidmm, const struct pagoda_bo_params *params)
{
	const struct ttm_place vram = {
		.mem_type = TTM_PL_VRAM,
		.flags = pagoda_bo_vram_flags(bo_flags(params)),
	};
	u32 usable = 0;

	if (pagoda_vram_could_hold(vidmm, &vram, params->size, params->alignment))
		usable |= DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM);
	if (params->size >> PAGE_SHIFT <= vidmm->info->aperture_pages)
		usable |= DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
	return usable & params->supported;
}

/**
 * pagoda_bo_params_could_fit() - Test whether an allocation could ever be resident
 * @vidmm: The manager
 * @params: Parameters of the allocation
 *
 * Context: Any.
 * Return: Whether an empty supported segment could hold it.
 */
bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params)
{
	return bo_usable_segments(vidmm, params);
}

/*
 * Orders the segments: those that the client prefers, then the other supported ones, VRAM
 * before the aperture. A segment that could never hold the allocation is left out, because TTM
 * would evict everything else from it first.
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
	struct pagoda_bo *bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);

	if (!bo)
		return NULL;
	bo->vidmm = vidmm;
	bo->id = atomic64_inc_return(&vidmm->next_id);
	bo->flags = bo_flags(params);
	bo->supported = params->supported;
	bo->eviction = params->eviction;
	bo->alignment = params->alignment;
	bo->tiling.layout = params->layout;
	bo->wish.priority = DRM_PAGODA_RESIDENCY_NORMAL;
	bo->choice.written = true;
	bo->content.keeps_copy = true;
	bo->ttm.priority = pagoda_priority_level(bo);
	INIT_LIST_HEAD(&bo->wish.requirements);
	INIT_LIST_HEAD(&bo->vm.evicted);
	INIT_LIST_HEAD(&bo->offer.entry);
	INIT_LIST_HEAD(&bo->choice.tried);
	RB_CLEAR_NODE(&bo->wish.promote.node);
	bo_set_order(bo, params);
	bo->part = (struct pagoda_budget_part) {
		.bytes = params->size,
		.wanted = pagoda_budget_group(bo->preferred[0]),
		.segment = PAGODA_BUDGET_SEGMENTS,
	};
	if (xa_err(xa_store(&vidmm->bos, bo->id, bo, GFP_KERNEL_ACCOUNT))) {
		kfree(bo);
		return NULL;
	}
	if (client)
		kref_get(&client->kref);
	bo->client = client;
	if (params->vm)
		bo->vm.private_to = pagoda_vm_get(params->vm);
	return bo;
}

/*
 * struct bo_origin - object type, shared reservation, imported dma-buf (both reservations are
 * held), and the VM in case of a page table; each pointer may be NULL
 */
struct bo_origin {
	enum ttm_bo_type type;
	struct drm_gem_object *shared;
	struct dma_buf *imported;
	struct pagoda_vm *table_of;
};

static struct dma_resv *bo_origin_resv(const struct bo_origin *origin)
{
	if (origin->imported)
		return origin->imported->resv;
	return origin->shared ? origin->shared->resv : NULL;
}

static struct pagoda_bo *bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params,
				   const struct bo_origin *origin)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct ttm_placement placement = { .num_placement = 1, .placement = &system };
	struct ttm_operation_ctx ctx = { .interruptible = !origin->shared };
	struct dma_resv *resv = bo_origin_resv(origin);
	struct pagoda_bo *bo;
	int ret;

	if (resv)
		dma_resv_assert_held(resv);
	bo = bo_alloc(vidmm, client, params);
	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->vm.table_of = origin->table_of;
	if (origin->shared)
		drm_gem_object_get(origin->shared);
	bo->vm.shared = origin->shared;
	if (origin->imported)
		get_dma_buf(origin->imported);
	bo->share.imported = origin->imported;
	bo->ttm.base.funcs = &pagoda_bo_gem_funcs;
	drm_gem_private_object_init(vidmm->drm, &bo->ttm.base, params->size);
	pagoda_victims_add(bo);

	/* On failure ttm_bo_init_reserved() calls pagoda_bo_destroy(). */
	ret = ttm_bo_init_reserved(&vidmm->ttm, &bo->ttm, origin->type, &placement,
				   params->alignment >> PAGE_SHIFT, &ctx, NULL, resv,
				   pagoda_bo_destroy);
	return ret ? ERR_PTR(ret) : bo;
}

/**
 * pagoda_bo_create_kernel() - Create an allocation for the driver's own use
 * @vidmm: The manager
 * @client: Client that is charged
 * @params: Parameters of the allocation
 * @shared: Object that shares its reservation with the allocation; the reservation is held
 * @table_of: VM of which the allocation will be a page table, or NULL
 *
 * Context: May sleep and allocate.
 * Return: The allocation with one GEM reference, without backing pages, or ERR_PTR.
 */
struct pagoda_bo *pagoda_bo_create_kernel(struct pagoda_vidmm *vidmm,
					  struct pagoda_client *client,
					  const struct pagoda_bo_params *params,
					  struct drm_gem_object *shared, struct pagoda_vm *table_of)
{
	const struct bo_origin origin = {
		.type = ttm_bo_type_kernel,
		.shared = shared,
		.table_of = table_of,
	};

	return bo_create(vidmm, client, params, &origin);
}

/**
 * pagoda_bo_create_import() - Create an allocation around the memory of a dma-buf
 * @vidmm: The manager
 * @dma_buf: The dma-buf; its reservation becomes the allocation's
 *
 * Context: May sleep and allocate. Takes the reservation.
 * Return: The allocation with one GEM reference, not attached, or ERR_PTR: -E2BIG if it is larger
 * than the aperture.
 */
struct pagoda_bo *pagoda_bo_create_import(struct pagoda_vidmm *vidmm, struct dma_buf *dma_buf)
{
	const struct bo_origin origin = { .type = ttm_bo_type_sg, .imported = dma_buf };
	const struct pagoda_bo_params params = {
		.size = dma_buf->size,
		.flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE | DRM_PAGODA_ALLOCATION_CACHED |
			 DRM_PAGODA_ALLOCATION_IMPORTED,
		.supported = DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE),
	};
	struct pagoda_bo *bo;

	if (!pagoda_bo_params_could_fit(vidmm, &params))
		return ERR_PTR(-E2BIG);
	dma_resv_lock(dma_buf->resv, NULL);
	bo = bo_create(vidmm, NULL, &params, &origin);
	dma_resv_unlock(dma_buf->resv);
	return bo;
}

/**
 * pagoda_bo_adl() - Describe an allocation's system pages as the device reaches them
 * @bo: Allocation with a populated tt, reservation held
 * @adl: Filled; valid while the reservation is held or a fence keeps the pages
 *
 * Behind a device MMU the pages are one contiguous range of device addresses, and their bus
 * addresses aren't used.
 *
 * Context: Any.
 */
void pagoda_bo_adl(struct pagoda_bo *bo, struct pagoda_adl *adl)
{
	struct ttm_tt *tt = bo->ttm.ttm;
	const struct drm_mm_node *node = &pagoda_tt_of(tt)->node;

	*adl = (struct pagoda_adl) {
		.nr_pages = tt->num_pages,
		.contiguous = drm_mm_node_allocated(node),
		.base = node->start << PAGE_SHIFT,
		.pages = tt->dma_address,
		.cpu_pages = tt->pages,
	};
}

/**
 * pagoda_bo_is_coherent() - Test whether the device shall snoop accesses to an allocation's system
 * pages
 * @bo: Allocation with a tt, reservation held
 *
 * Return: Whether its pages are cached and the device can snoop (WDDM 3.5).
 */
bool pagoda_bo_is_coherent(struct pagoda_bo *bo)
{
	return bo->ttm.ttm->caching == ttm_cached &&
	       bo->vidmm->stream->limits.features & BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
}

/**
 * pagoda_bo_create() - Create an allocation
 * @vidmm: The manager
 * @client: Client that is charged
 * @params: Parameters of the allocation; checked by the caller
 *
 * An allocation that is private to a VM shares the VM's reservation: one lock covers all of them.
 *
 * Context: May sleep and allocate.
 * Return: The allocation with one GEM reference, in the system segment, without backing pages, or
 * ERR_PTR.
 */
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params)
{
	struct drm_gem_object *shared = params->vm ? pagoda_vm_shared(params->vm) : NULL;
	const struct bo_origin origin = { .type = ttm_bo_type_device, .shared = shared };
	struct pagoda_bo *bo;

	if (shared)
		dma_resv_lock(shared->resv, NULL);
	bo = bo_create(vidmm, client, params, &origin);
	if (shared)
		dma_resv_unlock(shared->resv);
	else if (!IS_ERR(bo))
		dma_resv_unlock(bo->ttm.base.resv);
	return bo;
}

/**
 * pagoda_bo_is_usable_in() - Test whether an allocation may be used in a VM
 * @bo: Allocation
 * @vm: VM
 *
 * Return: False if the allocation is private to another VM.
 */
bool pagoda_bo_is_usable_in(const struct pagoda_bo *bo, const struct pagoda_vm *vm)
{
	return !bo->vm.private_to || bo->vm.private_to == vm;
}

/**
 * pagoda_bo_of_gem() - Allocation around a GEM object of this driver
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
 * Returns enum drm_pagoda_residency of an allocation. TTM_PL_TT holds allocations that were made
 * resident in shared memory as well as evicted ones: only @resident tells them apart.
 */
static u32 bo_residency(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	if (!bo->wish.resident || !res || res->mem_type == TTM_PL_SYSTEM)
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
 * @info: Filled, except for the handle
 *
 * Context: Takes the reservation; may sleep.
 */
void pagoda_bo_info(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info)
{
	info->flags = bo->flags;
	info->size = bo->ttm.base.size;
	info->supported = bo->supported;
	info->eviction = bo->eviction;
	info->tiling = bo->tiling.layout.tiling;
	info->pitch = bo->tiling.layout.pitch;
	info->height = bo->tiling.layout.height;
	info->mips = bo->tiling.layout.mips;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	info->residency = bo_residency(bo);
	info->state = READ_ONCE(bo->content.lost) ? DRM_PAGODA_CONTENT_LOST : 0;
	if (pagoda_bo_is_offered(bo))
		info->state |= DRM_PAGODA_CONTENT_OFFERED;
	bo_describe_place(bo, info);
	dma_resv_unlock(bo->ttm.base.resv);
}

/**
 * pagoda_bo_wait() - Wait for all fences of an allocation
 * @bo: Allocation
 * @timeout_ns: Absolute CLOCK_MONOTONIC time at which the wait ends; 0 or less doesn't wait
 *
 * Commands that other threads have collected in the stream are sent first, because those threads
 * may go on collecting for a while. Every fence of the driver signals, with or without a device.
 *
 * Context: Sleeps. Outside of reservations.
 * Return: 0, -ETIME or -ERESTARTSYS.
 */
int pagoda_bo_wait(struct pagoda_bo *bo, s64 timeout_ns)
{
	struct dma_resv *resv = bo->ttm.base.resv;
	long ret;

	if (dma_resv_test_signaled(resv, DMA_RESV_USAGE_BOOKKEEP))
		return 0;
	if (timeout_ns <= 0)
		return -ETIME;
	pagoda_stream_flush(bo->vidmm);
	ret = dma_resv_wait_timeout(resv, DMA_RESV_USAGE_BOOKKEEP, true,
				    drm_timeout_abs_to_jiffies(timeout_ns));
	if (ret < 0)
		return ret;
	return ret ? 0 : -ETIME;
}

static void pagoda_bo_gem_free(struct drm_gem_object *obj)
{
	ttm_bo_fini(drm_gem_ttm_of_gem(obj));
}

/*
 * An imported allocation has no client before its first handle: the first client to open it is
 * charged.
 */
static void bo_set_client(struct pagoda_bo *bo, struct pagoda_client *client)
{
	u32 segment;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	if (!bo->client) {
		segment = bo->part.segment;
		bo->part.segment = PAGODA_BUDGET_SEGMENTS;
		kref_get(&client->kref);
		bo->client = client;
		bo_charge(bo, segment);
	}
	dma_resv_unlock(bo->ttm.base.resv);
}

static int pagoda_bo_gem_open(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);
	int ret = -EPERM;

	/* A handle by a global name (GEM_FLINK): an offered allocation has no other users. */
	if (!pagoda_bo_is_offered(bo))
		ret = pagoda_vm_bo_opened(bo, true);
	if (ret) {
		drm_dbg_driver(obj->dev, "allocation %llu can't be opened by name\n", bo->id);
		return ret;
	}
	pagoda_closing_undo(file->driver_priv, bo);
	if (bo->share.imported)
		bo_set_client(bo, file->driver_priv);
	/* The count includes the handle that is being opened. */
	if (READ_ONCE(obj->handle_count) > 1)
		pagoda_copy_shared(bo);
	return 0;
}

/* GPU addresses and residency counts end with the handle (in WDDM: with the allocation). */
static void pagoda_bo_gem_close(struct drm_gem_object *obj, struct drm_file *file)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);
	struct pagoda_gate gate;

	pagoda_gate_enter(bo->vidmm, &gate, false);
	pagoda_closing_handle(file->driver_priv, bo);
	pagoda_gate_leave(bo->vidmm, &gate);
}

/* The exporter of the dma-buf makes the mapping, which holds the dma-buf instead of the object. */
static int bo_mmap_imported(struct pagoda_bo *bo, struct vm_area_struct *vma)
{
	int ret;

	vma->vm_private_data = NULL;
	vma->vm_ops = NULL;
	ret = dma_buf_mmap(bo->share.imported, vma, 0);
	if (ret)
		return ret;
	vm_flags_set(vma, VM_DONTEXPAND);
	drm_gem_object_put(&bo->ttm.base);
	return 0;
}

/**
 * pagoda_bo_may_be_mapped() - Test whether the CPU may map an allocation (C175)
 * @bo: Allocation
 *
 * An allocation that isn't declared CPU-visible is mapped in system memory only, where
 * pagoda_bo_placement_cpu() moves it: it can't be mapped if the GPU may not use it there.
 *
 * Context: Any.
 * Return: Whether it may be mapped.
 */
bool pagoda_bo_may_be_mapped(const struct pagoda_bo *bo)
{
	return bo->flags & DRM_PAGODA_ALLOCATION_CPU_VISIBLE ||
	       bo->supported & DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE);
}

static int pagoda_bo_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct pagoda_bo *bo = pagoda_bo_of_gem(obj);

	if (bo->share.imported)
		return bo_mmap_imported(bo, vma);
	if (!pagoda_bo_may_be_mapped(bo))
		return -EACCES;
	if (pagoda_offer_refuses(bo))
		return -ENODATA;
	if (bo->is_fence) {
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	return pagoda_gem_ttm_mmap(obj, vma);
}

static struct dma_buf *pagoda_bo_gem_export(struct drm_gem_object *obj, int flags)
{
	return pagoda_prime_export(pagoda_bo_of_gem(obj), flags);
}

const struct drm_gem_object_funcs pagoda_bo_gem_funcs = {
	.free = pagoda_bo_gem_free,
	.open = pagoda_bo_gem_open,
	.close = pagoda_bo_gem_close,
	.mmap = pagoda_bo_gem_mmap,
	.export = pagoda_bo_gem_export,
	.vm_ops = &pagoda_bo_vm_ops,
};
