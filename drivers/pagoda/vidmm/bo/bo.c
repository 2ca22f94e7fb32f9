// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations: creation, a walk over all of them, charging to budgets, description, waiting for
 * fences, listing their pages' addresses for the device, noting whether they are to be resident.
 *
 * An allocation starts in the system segment without backing pages. The segments that an
 * allocation may be in, the order in which these are tried, and the segments that the allocation
 * is evicted to are fixed at its creation. placement.c makes TTM placements of these segments.
 */
#include <linux/dma-buf.h>
#include <linux/slab.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/drm_gpuvm.h>
#include <drm/drm_print.h>
#include <drm/drm_utils.h>
#include "core/core.h"
#include "core/info.h"
#include "paging/paging.h"
#include "queue/exec.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/client.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "bo.h"

/*
 * Charges the allocation's bytes, in the budget of &pagoda_bo.client, to @segment instead of the
 * segment charged before; PAGODA_BUDGET_SEGMENTS charges none. An imported allocation has no client
 * before its first handle: then only &pagoda_bo.part.segment is set.
 */
void pagoda_bo_charge(struct pagoda_bo *bo, u32 segment)
{
	if (bo->client) {
		pagoda_budget_charge(&bo->client->budget, &bo->part, segment);
		pagoda_ears_trace_usage(bo->client);
	} else {
		bo->part.segment = segment;
	}
}

/*
 * Returns whether a resource is in VRAM and the CPU can reach all of the resource. Returns false if
 * the CPU can reach all of VRAM, because victims needn't be chosen by visibility then.
 */
static bool is_visible(struct pagoda_vidmm *vidmm, struct ttm_resource *res)
{
	return res && res->mem_type == TTM_PL_VRAM &&
	       vidmm->info->visible_size < vidmm->info->vram_size &&
	       pagoda_vram_is_visible(vidmm, res);
}

/**
 * pagoda_bo_account() - Charge an allocation's bytes to the segment of a new resource
 * @bo: Allocation; its reservation is held, or no other reference is left
 * @to: Resource that the allocation has from now on; NULL if it has none
 *
 * Also tells the policy, which chooses victims, where @to is, and frees the kept copy if @to isn't
 * in VRAM. &pagoda_bo.part says which segment was charged before: TTM may free an object's resource
 * without asking the driver for a move.
 *
 * Context: May sleep for long if a kept copy is freed.
 */
void pagoda_bo_account(struct pagoda_bo *bo, struct ttm_resource *to)
{
	u32 segment = to ? pagoda_segment_of(to) : PAGODA_BUDGET_SEGMENTS;

	pagoda_victims_moved(bo, to, is_visible(bo->vidmm, to));
	if (segment != VIRTIO_PAGODA_SEGMENT_VRAM)
		pagoda_copy_drop(bo);
	if (segment != bo->part.segment)
		pagoda_bo_charge(bo, segment);
}

/**
 * pagoda_bo_set_resident() - Note whether an allocation is to be resident: &pagoda_bo.wish.resident
 * @bo: Allocation, reservation held; moves nothing
 * @resident: true: a request or a job made the allocation resident; false: EVICT was called for
 *	the allocation, which no client has on its residency list any more
 *
 * Clears &pagoda_bo.wish.released and &pagoda_bo.wish.trimmed. Tells the client's budget, and
 * promotion, which brings allocations with @resident back to VRAM. An evicted allocation doesn't
 * count as settled any more (ledger/settled.c).
 *
 * Context: Any but interrupts.
 */
void pagoda_bo_set_resident(struct pagoda_bo *bo, bool resident)
{
	if (!resident)
		pagoda_settled_clear(bo);
	bo->wish.trimmed = false;
	/*
	 * This barrier pairs with that in paging_let_go(): a MAKE_RESIDENT that is under way has
	 * raised &pagoda_bo.wish.required before @released is cleared below.
	 */
	smp_mb();
	if (bo->wish.resident != resident || READ_ONCE(bo->wish.released)) {
		WRITE_ONCE(bo->wish.resident, resident);
		WRITE_ONCE(bo->wish.released, false);
		pagoda_wish_changed(bo);
	}
	pagoda_promote_look(bo);
}

/* Returns @params->flags, plus CONTIGUOUS if the allocation is tiled or accessed physically. */
static u32 bo_flags(const struct pagoda_bo_params *params)
{
	u32 flags = params->flags;

	if (flags & DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY || params->layout.tiling)
		flags |= DRM_PAGODA_ALLOCATION_CONTIGUOUS;
	return flags;
}

/* Returns the bits of those supported segments that, when empty, could hold the allocation. */
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

/* Returns whether any supported segment, when empty, could hold an allocation with @params. */
bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params)
{
	return bo_usable_segments(vidmm, params);
}

/*
 * Fills @bo->preferred: the segments that the client prefers, in the client's order, then other
 * supported segments, VRAM before the aperture. Leaves out segments that could never hold the
 * allocation: if VRAM were among the places, for instance, TTM would get -E2BIG from vram_alloc()
 * and try no later place.
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
	INIT_LIST_HEAD(&bo->choice.tried);
	INIT_LIST_HEAD(&bo->choice.kept);
	RB_CLEAR_NODE(&bo->wish.promote.node);
	bo_set_order(bo, params);
	bo->part = (struct pagoda_budget_part) {
		.bytes = params->size,
		.prefers = pagoda_budget_group(bo->preferred[0]),
		.segment = PAGODA_BUDGET_SEGMENTS,
	};
	if (xa_reserve(&vidmm->bos, bo->id, GFP_KERNEL_ACCOUNT)) {
		kfree(bo);
		return NULL;
	}
	if (client)
		kref_get(&client->kref);
	bo->client = client;
	if (params->vm) {
		drm_gpuvm_get(params->uses->gpuvm);
		bo->vm.private_to = params->vm;
		bo->vm.uses = params->uses;
	}
	return bo;
}

/*
 * struct bo_origin - what a new allocation is made from; each pointer may be NULL
 * @type: type of the TTM object
 * @shared: GEM object whose reservation, which is held, the allocation uses
 * @imported: dma-buf whose memory and reservation, which is held, the allocation uses
 * @table_of: VM that the allocation will be a page table of
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
	struct pagoda_policy_lane *lane;
	struct pagoda_bo *bo;
	int ret;

	if (resv)
		dma_resv_assert_held(resv);
	lane = kzalloc(sizeof(*lane), GFP_KERNEL_ACCOUNT);
	bo = lane ? bo_alloc(vidmm, client, params) : NULL;
	if (!bo) {
		kfree(lane);
		return ERR_PTR(-ENOMEM);
	}
	bo->vm.table_of = origin->table_of;
	if (origin->shared)
		drm_gem_object_get(origin->shared);
	bo->vm.shared = origin->shared;
	if (origin->imported)
		get_dma_buf(origin->imported);
	bo->share.imported = origin->imported;
	bo->ttm.base.funcs = vidmm->gem_funcs;
	drm_gem_private_object_init(vidmm->drm, &bo->ttm.base, params->size);
	pagoda_victims_add(bo, lane);

	/* On failure ttm_bo_init_reserved() calls @vidmm->bo_destroy, which frees @bo. */
	ret = ttm_bo_init_reserved(&vidmm->ttm, &bo->ttm, origin->type, &placement,
				   params->alignment >> PAGE_SHIFT, &ctx, NULL, resv,
				   vidmm->bo_destroy);
	if (ret)
		return ERR_PTR(ret);
	/* Walks over all allocations find only complete ones. bo_alloc() has reserved the entry. */
	xa_store(&vidmm->bos, bo->id, bo, 0);
	return bo;
}

/**
 * pagoda_bo_create_kernel() - Create an allocation for the driver's own use
 * @vidmm: The manager
 * @client: Client whose budget the allocation is charged to
 * @params: Parameters of the allocation
 * @shared: GEM object whose reservation, which is held, the allocation uses as its own; not NULL
 * @table_of: VM that the allocation will be a page table of, or NULL
 *
 * Context: May sleep and allocate.
 * Return: The allocation with one GEM reference, in the system segment, without backing pages; or
 * ERR_PTR(-ENOMEM).
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
	struct pagoda_bo *bo = bo_create(vidmm, client, params, &origin);

	if (!IS_ERR(bo))
		pagoda_wish_changed(bo);
	return bo;
}

/**
 * pagoda_bo_create_import() - Create an allocation around the memory of a dma-buf
 * @vidmm: The manager
 * @dma_buf: The dma-buf, of which the allocation gets a reference; the allocation uses its
 *	reservation
 *
 * Context: May sleep and allocate; waits for kernel fences of other devices. Takes the reservation,
 * and drops it before the return.
 * Return: The allocation with one GEM reference, not attached to the dma-buf yet; or ERR_PTR:
 * -E2BIG if the dma-buf is larger than the aperture, -ENOMEM, -ENOSPC without an mmap offset, or
 * -ERESTARTSYS.
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
 * pagoda_bo_adl() - List the addresses at which the device reaches an allocation's system pages
 * @bo: Allocation with a populated tt, reservation held
 * @adl: Filled; valid while the reservation is held or a fence keeps the pages
 *
 * If the device has an MMU, the list is a contiguous range of device addresses, and the bus
 * addresses of the pages aren't used.
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

/*
 * Returns whether the device shall snoop the CPU's caches when it accesses the pages of an
 * allocation's tt: the CPU maps these pages cached, and the device can snoop (WDDM 3.5). The
 * reservation is held.
 */
bool pagoda_bo_is_coherent(struct pagoda_bo *bo)
{
	return bo->ttm.ttm->caching == ttm_cached &&
	       bo->vidmm->paging_limits->features & BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
}

/**
 * pagoda_bo_create() - Create an allocation
 * @vidmm: The manager
 * @client: Client whose budget the allocation is charged to
 * @params: Parameters of the allocation; checked by the caller
 *
 * An allocation that is private to a VM uses the VM's reservation as its own.
 *
 * Context: May sleep and allocate.
 * Return: The allocation with one GEM reference, unlocked, in the system segment, without backing
 * pages; or ERR_PTR: -ENOMEM, or -ENOSPC without an mmap offset.
 */
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params)
{
	struct drm_gem_object *shared = params->vm ? params->uses->gpuvm->r_obj : NULL;
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

/*
 * Returns enum drm_pagoda_residency of an allocation: not resident in the system segment; elsewhere
 * only resident if a request or a job made it resident after its creation and the last EVICT.
 * TTM_PL_TT holds both allocations that were made resident and evicted ones: only
 * &pagoda_bo.wish.resident tells these two kinds apart. The reservation is held.
 */
static u32 bo_residency(struct pagoda_bo *bo)
{
	struct ttm_resource *res = bo->ttm.resource;

	dma_resv_assert_held(bo->ttm.base.resv);
	if (!bo->wish.resident || !res || res->mem_type == TTM_PL_SYSTEM)
		return DRM_PAGODA_NOT_RESIDENT;
	if (res->mem_type == TTM_PL_VRAM)
		return DRM_PAGODA_RESIDENT_IN_GPU_MEMORY;
	return DRM_PAGODA_RESIDENT_IN_SHARED_MEMORY;
}

static void bo_describe_place(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info)
{
	struct ttm_resource *res = bo->ttm.resource;

	dma_resv_assert_held(bo->ttm.base.resv);
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
 * Queues open paging buffers before the wait: a thread that collects operations in such a buffer
 * may not queue the buffer soon, and the allocation's fences may be behind the operations. Every
 * fence of the driver signals in the end, also when the device is gone.
 *
 * Context: Sleeps. No reservation is held.
 * Return: 0 if all fences have signalled, -ETIME if the time is over, or -ERESTARTSYS.
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

/**
 * pagoda_bo_next() - Find the next allocation in a walk over all allocations
 * @vidmm: Manager
 * @id: In: smallest &pagoda_bo.id to look for; out: that of the allocation found
 * @filter: %PAGODA_BO_EXPOSED to find only allocations with that mark, or %XA_PRESENT
 *
 * Context: Any but interrupts.
 * Return: A reference to the allocation with the smallest &pagoda_bo.id that isn't below *@id; or
 * NULL.
 */
struct pagoda_bo *pagoda_bo_next(struct pagoda_vidmm *vidmm, unsigned long *id, xa_mark_t filter)
{
	struct pagoda_bo *bo;

	xa_lock(&vidmm->bos);
	/*
	 * Skips allocations without a reference, which TTM frees now or once their fences have
	 * signalled: such an allocation is neither moved nor mapped for user space any more, and
	 * needs no mapping on a device that was reset.
	 */
	bo = xa_find(&vidmm->bos, id, ULONG_MAX, filter);
	while (bo && !kref_get_unless_zero(&bo->ttm.base.refcount))
		bo = xa_find_after(&vidmm->bos, id, ULONG_MAX, filter);
	xa_unlock(&vidmm->bos);
	return bo;
}

/**
 * pagoda_bo_expose() - Mark an allocation with %PAGODA_BO_EXPOSED
 * @bo: Allocation
 *
 * Context: Any but interrupts.
 */
void pagoda_bo_expose(struct pagoda_bo *bo)
{
	if (!xa_get_mark(&bo->vidmm->bos, bo->id, PAGODA_BO_EXPOSED))
		xa_set_mark(&bo->vidmm->bos, bo->id, PAGODA_BO_EXPOSED);
}

/*
 * Returns whether an allocation is imported and its dma-buf isn't mapped for the device: then the
 * allocation has no bus addresses, whatever its TTM resource. The reservation is held.
 */
bool pagoda_import_is_away(const struct pagoda_bo *bo)
{
	return bo->share.imported && !(bo->ttm.ttm && bo->ttm.ttm->sg);
}
