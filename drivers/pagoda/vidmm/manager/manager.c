// SPDX-License-Identifier: GPL-2.0
/*
 * The memory manager as a whole: created at probe, stopped when the device is removed, destroyed
 * with the last reference to the DRM device, after all files are closed. Sets up here: CPU
 * executor, engines, budgets, holdings, regions of the dmem controller, members of struct
 * pagoda_vidmm; calls the init, stop and fini functions of all other parts.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <drm/drm_cache.h>
#include <drm/drm_device.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>
#include <drm/drm_print.h>
#include "core/compat.h"
#include "core/core.h"
#include "core/life.h"
#include "core/info.h"
#include "paging/cpu/cpu.h"
#include "queue/exec.h"
#include "vidmm/bo/bo.h"
#include "vidmm/fence/fence.h"
#include "vidmm/fence/sync.h"
#include "vidmm/ledger/allocation.h"
#include "vidmm/ledger/budget.h"
#include "vidmm/ledger/events.h"
#include "vidmm/ledger/holdings.h"
#include "vidmm/ledger/ledger.h"
#include "vidmm/ledger/limits.h"
#include "vidmm/recover/recover.h"
#include "vidmm/residency/residency.h"
#include "vidmm/segment/segment.h"
#include "vidmm/stream/stream.h"
#include "vidmm/submit/submit.h"
#include "vidmm/ttm/ttm.h"
#include "vidmm/vm/vm.h"
#include "manager.h"

/* Mark of an entry in &pagoda_vidmm.bos: pagoda_vidmm_stop() has a reference to the allocation. */
#define VIDMM_HELD	XA_MARK_0

static void *executor_map_page(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return kmap_local_page(array[index]);
}

static void executor_unmap_page(void *address)
{
	kunmap_local(address);
}

static const void *executor_page_at(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return array[index];
}

static void executor_fini(struct pagoda_vidmm *vidmm)
{
	kvfree(vidmm->executor->aperture);
	kvfree(vidmm->executor->generations);
	kvfree(vidmm->executor->mmu);
}

/*
 * Sets up the CPU executor, which executes paging buffers on the CPU. Only if the CPU executes all
 * buffers (@args->use_cpu), the executor has an aperture and device addresses of its own: the CPU
 * can't change those of a device, and must not report that it did. Without device addresses of its
 * own, the executor accepts any address of system memory, because the private data of packets names
 * the pages. Returns 0 or -ENOMEM.
 */
static int executor_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_cpu_executor *exec = drmm_kzalloc(vidmm->drm, sizeof(*exec), GFP_KERNEL);
	u64 pages = vidmm->info->aperture_pages;

	if (!exec)
		return -ENOMEM;
	vidmm->executor = exec;
	*exec = (struct pagoda_cpu_executor) {
		.vram = pagoda_vram_window(vidmm),
		.vram_size = pagoda_vram_window(vidmm) ? vidmm->info->visible_size : 0,
		.map_page = executor_map_page,
		.unmap_page = executor_unmap_page,
		.page_at = executor_page_at,
		.limits = vidmm->paging_limits,
		.ranges = pagoda_swizzle_cpu_ranges(vidmm),
	};
	if (!args->use_cpu)
		return 0;
	exec->aperture = kvcalloc(pages, sizeof(*exec->aperture), GFP_KERNEL);
	exec->generations = kvcalloc(pages, sizeof(*exec->generations), GFP_KERNEL);
	exec->aperture_pages = pages;
	exec->mmu_pages = vidmm->info->mmu_pages;
	if (exec->mmu_pages)
		exec->mmu = kvcalloc(exec->mmu_pages, sizeof(*exec->mmu), GFP_KERNEL);
	if (exec->aperture && exec->generations && !exec->mmu == !exec->mmu_pages)
		return 0;
	executor_fini(vidmm);
	return -ENOMEM;
}

/*
 * Creates the engines of a device that executes command buffers; none if the device has no page
 * tables, which jobs need, or if the CPU executes all paging buffers: the device's engines see
 * neither the aperture of the CPU executor nor its TLB flushes. Returns 0 or a negative errno.
 */
static int engines_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	const struct pagoda_engines_args engines = {
		.dev = vidmm->drm->dev,
		.transports = args->engines,
		.count = vidmm->info->num_engines,
		.timeout_ms = args->job_timeout_ms,
		.ops = &pagoda_context_exec_ops,
		.owner = vidmm,
	};
	int ret;

	if (!args->engines || !vidmm->mmu || args->use_cpu ||
	    !(vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_EXECUTE)))
		return 0;
	vidmm->engines = pagoda_engines_create(&engines);
	ret = PTR_ERR_OR_ZERO(vidmm->engines);
	if (ret)
		vidmm->engines = NULL;
	return ret;
}

/* Returns true if the manager has engines, as engines_init() says. */
bool pagoda_vidmm_has_engines(struct pagoda_vidmm *vidmm)
{
	return vidmm->engines;
}

static void engines_stop(struct pagoda_vidmm *vidmm)
{
	if (vidmm->engines)
		pagoda_engines_stop(vidmm->engines);
	/* Run deferred work again: deferred jobs fail now that the engines are stopped. */
	pagoda_deferred_kick(vidmm);
}

static void engines_fini(struct pagoda_vidmm *vidmm)
{
	if (vidmm->engines)
		pagoda_engines_destroy(vidmm->engines);
}

static void manager_budgets_changed(void *owner)
{
	struct pagoda_vidmm *vidmm = owner;

	pagoda_listeners_budgets_changed(vidmm->listeners);
	pagoda_promote_kick(vidmm);
}

/*
 * Sets up the budgets. The local group has all of VRAM that clients can use. The non-local group
 * has half of the system memory, as with WDDM, and at least 64 MiB. Returns 0 or -ENOMEM.
 */
static int budgets_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	const u64 sizes[PAGODA_BUDGET_GROUPS] = {
		[DRM_PAGODA_SEGMENT_GROUP_LOCAL] = pagoda_vidmm_vram_size(vidmm),
		[DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL] =
			max_t(u64, (u64)totalram_pages() << PAGE_SHIFT >> 1, SZ_64M),
	};

	vidmm->budgets = drmm_kzalloc(vidmm->drm, sizeof(*vidmm->budgets), GFP_KERNEL);
	if (!vidmm->budgets)
		return -ENOMEM;
	pagoda_budgets_init(vidmm->budgets, sizes);
	vidmm->budgets->owner = vidmm;
	vidmm->budgets->changed = manager_budgets_changed;
	return 0;
}

static int holdings_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	vidmm->holdings = drmm_kzalloc(vidmm->drm, sizeof(*vidmm->holdings), GFP_KERNEL);
	if (!vidmm->holdings)
		return -ENOMEM;
	pagoda_holdings_init(vidmm->holdings, vidmm->drm->primary->index);
	return 0;
}

static const struct drm_gem_object_funcs gem_funcs = {
	.free = pagoda_bo_gem_free,
	.open = pagoda_handle_open,
	.close = pagoda_handle_close,
	.export = pagoda_bo_gem_export,
	.mmap = pagoda_bo_gem_mmap,
	.vm_ops = &pagoda_bo_vm_ops,
};

static int control_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	vidmm->transport = args->transport;
	vidmm->bo_destroy = pagoda_bo_destroy;
	vidmm->gem_funcs = &gem_funcs;
	vidmm->closing_work = pagoda_closing_work;
	vidmm->ahead_work = pagoda_ahead_work;
	vidmm->job_timeout_ms = args->job_timeout_ms;
	vidmm->submit_share = args->submit_share;
	vidmm->defer_jobs = args->defer_jobs;
	vidmm->ahead_jobs = args->ahead_jobs;
	/*
	 * If the device reaches only a part of system memory, TTM allocates pages by the DMA API,
	 * which gives pages in that part: a bounce buffer would hold a second copy of the content.
	 */
	vidmm->reaches_part = drm_need_swiotlb(vidmm->info->system_address_bits);
	mutex_init(&vidmm->control_lock);
	mutex_init(&vidmm->scratch_lock);
	xa_init(&vidmm->bos);
	ida_init(&vidmm->spaces);
	spin_lock_init(&vidmm->required_lock);
	spin_lock_init(&vidmm->deferred_lock);
	INIT_LIST_HEAD(&vidmm->deferred);
	get_device(vidmm->info->dma_dev);
	return 0;
}

static void control_stop(struct pagoda_vidmm *vidmm)
{
	mutex_lock(&vidmm->control_lock);
	vidmm->transport = NULL;
	mutex_unlock(&vidmm->control_lock);
}

static void control_fini(struct pagoda_vidmm *vidmm)
{
	put_device(vidmm->info->dma_dev);
	ida_destroy(&vidmm->spaces);
	xa_destroy(&vidmm->bos);
	mutex_destroy(&vidmm->scratch_lock);
	mutex_destroy(&vidmm->control_lock);
}

static int limits_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	/* Clients can't have address space 0, which belongs to the paging process. */
	const u64 spaces = max(vidmm->info->max_address_spaces, 1u) - 1;

	vidmm->pin_limit = args->pin_limit ?: pagoda_vidmm_segment_size(vidmm) / 2;
	return pagoda_limits_init(vidmm, spaces, vidmm->pin_limit);
}

static void listeners_stop(struct pagoda_vidmm *vidmm)
{
	pagoda_listeners_stop(vidmm->listeners);
}

static void listeners_fini(struct pagoda_vidmm *vidmm)
{
	pagoda_listeners_fini(vidmm->listeners);
}

static int ttm_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	return pagoda_ttm_device_init(&vidmm->ttm, &pagoda_ttm_funcs, vidmm->info->dma_dev,
				      vidmm->drm->anon_inode->i_mapping,
				      vidmm->drm->vma_offset_manager, vidmm->reaches_part);
}

static void ttm_fini(struct pagoda_vidmm *vidmm)
{
	ttm_device_fini(&vidmm->ttm);
}

/* Registers VRAM and the aperture as regions of the dmem cgroup controller; both or none. */
static int dmem_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	int ret = pagoda_dmem_register(vidmm, ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM),
				       TTM_PL_VRAM);

	if (ret)
		return ret;
	ret = pagoda_dmem_register(vidmm, ttm_manager_type(&vidmm->ttm, TTM_PL_TT), TTM_PL_TT);
	if (ret)
		pagoda_dmem_unregister(vidmm, ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM),
				       TTM_PL_VRAM);
	return ret;
}

static void dmem_fini(struct pagoda_vidmm *vidmm)
{
	pagoda_dmem_unregister(vidmm, ttm_manager_type(&vidmm->ttm, TTM_PL_TT), TTM_PL_TT);
	pagoda_dmem_unregister(vidmm, ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM), TTM_PL_VRAM);
}

/*
 * Starts a recording of paging buffers, unless @args->record_kb is 0, before the stream's first
 * buffer: a recording that debugfs starts lacks the first buffers. Returns 0; -EINVAL if the size
 * is too large; or -ENOMEM.
 */
static int recording_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	return pagoda_vidmm_record(vidmm, (u64)args->record_kb << 10);
}

static void stream_overrun(struct pagoda_vidmm *vidmm)
{
	pagoda_reset_request(vidmm, PAGODA_RESET_PAGING);
}

static int stream_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	struct pagoda_stream_args stream = {
		.ops = &pagoda_stream_queue_ops,
		.needs_idle = pagoda_swizzle_needs_idle,
		.make_idle = pagoda_swizzle_make_idle,
		.overrun = stream_overrun,
	};
	int ret;

	stream.fence_page = pagoda_dummy_fence_page(vidmm, &stream.fence_address);
	ret = pagoda_stream_init(vidmm, args, &stream);
	vidmm->executor->limits = vidmm->paging_limits;
	return ret;
}

static int mapped_init(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	int ret;

	pagoda_device_mmu_start(vidmm);
	ret = pagoda_dummy_map(vidmm);
	/* The stream is freed before the pages mapped so far: free these without UNMAP_MMU. */
	if (ret)
		pagoda_device_mmu_stop(vidmm);
	return ret;
}

/*
 * Evicts the allocations that are still in VRAM or the aperture segment, for which the stream is
 * needed, then stops the stream. After that the device executes nothing, and system pages, such as
 * those of page tables, are freed without being unmapped from the device.
 */
static void content_fini(struct pagoda_vidmm *vidmm)
{
	flush_workqueue(vidmm->ttm.wq);
	ttm_resource_manager_evict_all(&vidmm->ttm, ttm_manager_type(&vidmm->ttm, TTM_PL_TT));
	ttm_resource_manager_evict_all(&vidmm->ttm, ttm_manager_type(&vidmm->ttm, TTM_PL_VRAM));
	flush_workqueue(vidmm->ttm.wq);
	pagoda_stream_stop(vidmm);
	pagoda_device_mmu_stop(vidmm);
}

static void recovery_stop(struct pagoda_vidmm *vidmm)
{
	/* Wake readers of events first: they needn't wait for the rest of the shutdown. */
	pagoda_listeners_gone(vidmm->listeners);
	pagoda_promote_stop(vidmm);
	pagoda_reset_stop(vidmm);
}

static void recovery_fini(struct pagoda_vidmm *vidmm)
{
	pagoda_promote_stop(vidmm);
	pagoda_copies_stop(vidmm);
}

/*
 * The parts of the manager. pagoda_vidmm_create() sets them up in this order. In reverse order,
 * pagoda_vidmm_stop() stops them when the device is removed, and later, when the last reference to
 * the DRM device is dropped, pagoda_vidmm_destroy() frees them. If a part can't be set up, the
 * parts before it are freed, the last part first.
 */
static const struct vidmm_part {
	const char *name;
	int (*init)(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args);
	void (*stop)(struct pagoda_vidmm *vidmm);
	void (*fini)(struct pagoda_vidmm *vidmm);
} vidmm_parts[] = {
	{ "control", control_init, control_stop, control_fini },
	{ "limits", limits_init },
	{ "listeners", pagoda_listeners_init, listeners_stop, listeners_fini },
	{ "victims", pagoda_victims_init, NULL, pagoda_victims_fini },
	{ "fixed memory", pagoda_fixed_init },
	{ "promotion", pagoda_promote_init, NULL, pagoda_promote_stop },
	{ "budgets", budgets_init },
	{ "holdings", holdings_init },
	{ "reset", pagoda_reset_init, NULL, pagoda_reset_fini },
	{ "rebuild", pagoda_rebuild_init },
	{ "copies", pagoda_copies_init, pagoda_copies_stop, pagoda_copies_fini },
	{ "TTM", ttm_init, NULL, ttm_fini },
	{ "device MMU", pagoda_device_mmu_init, pagoda_device_mmu_stop, pagoda_device_mmu_fini },
	{ "own pages", pagoda_dummy_init, NULL, pagoda_dummy_fini },
	{ "fences", pagoda_mfences_init, pagoda_mfences_stop, pagoda_mfences_fini },
	{ "VRAM", pagoda_vram_init, NULL, pagoda_vram_fini },
	{ "aperture", pagoda_aperture_init, NULL, pagoda_aperture_fini },
	{ "dmem regions", dmem_init, NULL, dmem_fini },
	{ "swizzling ranges", pagoda_swizzle_init, NULL, pagoda_swizzle_fini },
	{ "CPU executor", executor_init, NULL, executor_fini },
	{ "journal", pagoda_journal_init, NULL, pagoda_journal_fini },
	{ "coredump", pagoda_coredump_init, pagoda_coredump_stop, pagoda_coredump_fini },
	{ "recording", recording_init },
	{ "stream", stream_init, pagoda_stream_stop, pagoda_stream_fini },
	{ "mapped pages", mapped_init, NULL, pagoda_device_mmu_stop },
	{ "page tables", pagoda_tables_init, NULL, pagoda_tables_fini },
	{ "content", NULL, NULL, content_fini },
	{ "engines", engines_init, engines_stop, engines_fini },
	{ "recovery", NULL, recovery_stop, recovery_fini },
};

static void vidmm_fini_parts(struct pagoda_vidmm *vidmm, u32 count)
{
	while (count--)
		if (vidmm_parts[count].fini)
			vidmm_parts[count].fini(vidmm);
}

static int vidmm_init_parts(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	const struct vidmm_part *part = vidmm_parts;
	int ret;

	for (; part < vidmm_parts + ARRAY_SIZE(vidmm_parts); part++) {
		ret = part->init ? part->init(vidmm, args) : 0;
		if (!ret)
			continue;
		drm_dbg_driver(vidmm->drm, "%s can't be set up (%d)\n", part->name, ret);
		vidmm_fini_parts(vidmm, part - vidmm_parts);
		return ret;
	}
	return 0;
}

/**
 * pagoda_vidmm_create() - Create the memory manager of a device
 * @args: See struct pagoda_vidmm_args
 *
 * Context: Probe; may sleep and allocate; waits for the device.
 * Return: The manager, for pagoda_vidmm_stop() and pagoda_vidmm_destroy(); or ERR_PTR: -EINVAL if
 * VRAM has no room for the reserve, -ENOMEM, or another error of a part.
 */
struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args)
{
	struct pagoda_vidmm *vidmm = kzalloc(sizeof(*vidmm), GFP_KERNEL);
	int ret;

	if (!vidmm)
		return ERR_PTR(-ENOMEM);
	vidmm->drm = args->drm;
	vidmm->info = args->info;
	/* Plan the reserve first: the parts ask how much of VRAM is left without the reserve. */
	ret = pagoda_reserve_plan(vidmm, args->reserve);
	if (!ret)
		ret = vidmm_init_parts(vidmm, args);
	if (!ret)
		return vidmm;
	kfree(vidmm);
	return ERR_PTR(ret);
}

/*
 * Takes a reference to every allocation that isn't marked VIDMM_HELD, and marks the allocation so.
 * Returns false if an allocation is still in &pagoda_vidmm.bos whose last reference another thread
 * has dropped.
 */
static bool vidmm_hold_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id;
	bool all = true;

	xa_lock(&vidmm->bos);
	xa_for_each(&vidmm->bos, id, bo) {
		if (xa_get_mark(&vidmm->bos, id, VIDMM_HELD))
			continue;
		if (kref_get_unless_zero(&bo->ttm.base.refcount))
			__xa_set_mark(&vidmm->bos, id, VIDMM_HELD);
		else
			all = false;
	}
	xa_unlock(&vidmm->bos);
	return all;
}

/**
 * pagoda_vidmm_stop() - Stop the manager because the device is removed
 * @vidmm: The manager; its DRM device is unplugged, or was never registered: no thread enters a
 *	section any more but by pagoda_enter_anyway(), and no CPU page fault looks at content
 *
 * When this function returns, all work is done or given up, and no page is mapped for the device.
 * Allocations have lost their content and can only be closed.
 *
 * Context: May sleep for long.
 */
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm)
{
	u32 n = ARRAY_SIZE(vidmm_parts);
	struct pagoda_bo *bo;
	unsigned long id;

	pagoda_sections_drain(vidmm);
	while (n--)
		if (vidmm_parts[n].stop)
			vidmm_parts[n].stop(vidmm);
	/* No allocation may be freed during ttm_device_clear_dma_mappings(): hold them all. */
	while (!vidmm_hold_all(vidmm))
		fsleep(USEC_PER_MSEC);
	flush_workqueue(vidmm->ttm.wq);
	xa_for_each_marked(&vidmm->bos, id, bo, VIDMM_HELD)
		pagoda_prime_stop(bo);
	ttm_device_clear_dma_mappings(&vidmm->ttm);
	xa_for_each_marked(&vidmm->bos, id, bo, VIDMM_HELD) {
		xa_clear_mark(&vidmm->bos, id, VIDMM_HELD);
		drm_gem_object_put(&bo->ttm.base);
	}
}

/**
 * pagoda_vidmm_destroy() - Undo pagoda_vidmm_create()
 * @vidmm: The manager, stopped or never used; no allocation has a handle or a mapping any more
 *
 * Context: May sleep.
 */
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm)
{
	vidmm_fini_parts(vidmm, ARRAY_SIZE(vidmm_parts));
	kfree(vidmm);
}

static void vidmm_mark_needs_idle(struct pagoda_bo *bo)
{
	dma_resv_assert_held(bo->ttm.base.resv);
	bo->content.needs_idle = true;
}

/**
 * pagoda_vidmm_set_needs_idle() - Fault injection: make moves wait until the allocation is idle
 * @vidmm: The manager
 * @id: Allocation id
 *
 * From now on the builder answers ALLOCATION_BUSY to moves of the allocation while it isn't idle,
 * as if the allocation had set-up that can't be queued (C11 - C14).
 *
 * Context: Takes the reservation; may sleep.
 * Return: 0; or -ENOENT if there is no allocation with this id.
 */
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id)
{
	unsigned long at = id;
	struct pagoda_bo *bo = pagoda_bo_next(vidmm, &at, XA_PRESENT);

	if (!bo)
		return -ENOENT;
	if (at == id) {
		dma_resv_lock(bo->ttm.base.resv, NULL);
		vidmm_mark_needs_idle(bo);
		dma_resv_unlock(bo->ttm.base.resv);
	}
	drm_gem_object_put(&bo->ttm.base);
	return at == id ? 0 : -ENOENT;
}
