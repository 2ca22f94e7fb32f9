// SPDX-License-Identifier: GPL-2.0
/*
 * The memory manager as a whole: created at probe, stopped when the hardware goes, destroyed
 * when the last file is closed.
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
#include <drm/drm_managed.h>
#include "core/core.h"
#include "core/transport.h"
#include "vidmm/bo/victims.h"
#include "vidmm/submit/context.h"
#include "vidmm/ttm/prime.h"
#include "virtio/virtio.h"

/* Marks allocations that pagoda_vidmm_stop() holds a reference of. */
#define VIDMM_HELD	XA_MARK_0

static void *vidmm_map_page(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return kmap_local_page(array[index]);
}

static void vidmm_unmap_page(void *address)
{
	kunmap_local(address);
}

static const void *vidmm_page_at(const void *pages, u64 index)
{
	struct page * const *array = pages;

	return array[index];
}

static void vidmm_fini_executor(struct pagoda_vidmm *vidmm)
{
	kvfree(vidmm->executor->aperture);
	kvfree(vidmm->executor->generations);
	kvfree(vidmm->executor->mmu);
}

/*
 * Sets up the CPU executor, which does the device's work on the CPU. It has an aperture and
 * device addresses only if it does all work: otherwise it can't change the device's, and must
 * not report that it did. Without them it takes any address of system memory: it reaches pages
 * by other means.
 */
static int vidmm_init_executor(struct pagoda_vidmm *vidmm, bool use_cpu)
{
	struct pagoda_cpu_executor *exec = drmm_kzalloc(vidmm->drm, sizeof(*exec), GFP_KERNEL);
	u64 pages = vidmm->info->aperture_pages;

	if (!exec)
		return -ENOMEM;
	vidmm->executor = exec;
	*exec = (struct pagoda_cpu_executor) {
		.vram = vidmm->vram->window,
		.vram_size = vidmm->vram->window ? vidmm->vram->visible_size : 0,
		.map_page = vidmm_map_page,
		.unmap_page = vidmm_unmap_page,
		.page_at = vidmm_page_at,
		.limits = &vidmm->stream->limits,
		.ranges = vidmm->swizzle->cpu,
	};
	if (!use_cpu)
		return 0;
	exec->aperture = kvcalloc(pages, sizeof(*exec->aperture), GFP_KERNEL);
	exec->generations = kvcalloc(pages, sizeof(*exec->generations), GFP_KERNEL);
	exec->aperture_pages = pages;
	exec->mmu_pages = vidmm->info->mmu_pages;
	if (exec->mmu_pages)
		exec->mmu = kvcalloc(exec->mmu_pages, sizeof(*exec->mmu), GFP_KERNEL);
	if (exec->aperture && exec->generations && !exec->mmu == !exec->mmu_pages)
		return 0;
	vidmm_fini_executor(vidmm);
	return -ENOMEM;
}

/* Jobs need page tables: without them there are no engines. */
static int vidmm_init_engines(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	const struct pagoda_engines_args engines = {
		.dev = vidmm->drm->dev,
		.transports = args->engines,
		.count = vidmm->info->num_engines,
		.timeout_ms = args->job_timeout_ms,
		.ops = &pagoda_context_exec_ops,
		.owner = vidmm,
	};

	if (!args->engines || !vidmm->mmu ||
	    !(vidmm->info->features & BIT_ULL(VIRTIO_PAGODA_F_EXECUTE)))
		return 0;
	vidmm->engines = pagoda_engines_create(&engines);
	if (!IS_ERR(vidmm->engines))
		return 0;
	return PTR_ERR(vidmm->engines);
}

/**
 * pagoda_vidmm_has_engines() - Test whether the device executes commands
 * @vidmm: The manager
 *
 * Context: Any.
 * Return: Whether it does.
 */
bool pagoda_vidmm_has_engines(struct pagoda_vidmm *vidmm)
{
	return vidmm->engines;
}

/* Sets up the segments and the stream; TTM's device exists already. */
static int vidmm_init_parts(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	int ret;

	ret = pagoda_device_mmu_init(vidmm);
	if (ret)
		return ret;
	ret = pagoda_dummy_init(vidmm);
	if (ret)
		goto err_mmu;
	ret = pagoda_vram_init(vidmm);
	if (ret)
		goto err_dummy;
	ret = pagoda_aperture_init(vidmm);
	if (ret)
		goto err_vram;
	ret = pagoda_swizzle_init(vidmm);
	if (ret)
		goto err_aperture;
	ret = vidmm_init_executor(vidmm, args->use_cpu);
	if (ret)
		goto err_swizzle;
	ret = pagoda_journal_init(vidmm);
	if (ret)
		goto err_executor;
	ret = pagoda_coredump_init(vidmm);
	if (ret)
		goto err_journal;
	/* Recording begins before the stream's first buffer; debugfs would be too late. */
	ret = pagoda_vidmm_record(vidmm, (u64)args->record_kb << 10);
	if (ret)
		goto err_coredump;
	ret = pagoda_stream_init(vidmm, args);
	if (ret)
		goto err_coredump;
	vidmm->executor->limits = &vidmm->stream->limits;
	ret = pagoda_device_mmu_start(vidmm);
	if (!ret)
		ret = pagoda_tables_init(vidmm, args);
	if (ret)
		goto err_stream;
	ret = vidmm_init_engines(vidmm, args);
	if (ret)
		goto err_tables;
	return 0;

err_tables:
	pagoda_tables_fini(vidmm);
err_stream:
	pagoda_device_mmu_stop(vidmm);
	pagoda_stream_fini(vidmm);
err_coredump:
	pagoda_coredump_fini(vidmm);
err_journal:
	pagoda_journal_fini(vidmm);
err_executor:
	vidmm_fini_executor(vidmm);
err_swizzle:
	pagoda_swizzle_fini(vidmm);
err_aperture:
	pagoda_aperture_fini(vidmm);
err_vram:
	pagoda_vram_fini(vidmm);
err_dummy:
	pagoda_dummy_fini(vidmm);
err_mmu:
	pagoda_device_mmu_fini(vidmm);
	return ret;
}

/**
 * pagoda_vidmm_segment_size() - Size of VRAM without the reserve
 * @vidmm: The manager
 *
 * Return: Bytes.
 */
u64 pagoda_vidmm_segment_size(struct pagoda_vidmm *vidmm)
{
	return vidmm->info->vram_size - vidmm->reserve_size;
}

/**
 * pagoda_vidmm_vram_size() - Size of VRAM that clients can use
 * @vidmm: The manager
 *
 * Return: Bytes; pagoda_vidmm_segment_size() without invalid ranges.
 */
u64 pagoda_vidmm_vram_size(struct pagoda_vidmm *vidmm)
{
	u64 size = pagoda_vidmm_segment_size(vidmm);
	u32 i;

	for (i = 0; i < vidmm->info->nr_invalid; i++)
		size -= vidmm->info->invalid[i].size;
	return size;
}

static void vidmm_budgets_changed(void *owner)
{
	struct pagoda_vidmm *vidmm = owner;

	pagoda_listeners_kick(vidmm->listeners);
	pagoda_promote_kick(vidmm);
}

/* System memory for graphics is half of the machine's memory, as with WDDM (7.5). */
static int vidmm_init_budgets(struct pagoda_vidmm *vidmm)
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
	vidmm->budgets->changed = vidmm_budgets_changed;
	return 0;
}

/* Sets up what needs no undoing. */
static int vidmm_init_ledger(struct pagoda_vidmm *vidmm, const struct pagoda_vidmm_args *args)
{
	/* Address space 0 belongs to the paging process. */
	const u64 spaces = max(vidmm->info->max_address_spaces, 1u) - 1;
	int ret = pagoda_limits_init(vidmm, spaces, vidmm->pin_limit);

	if (!ret)
		ret = pagoda_offers_init(vidmm);
	if (!ret)
		ret = pagoda_listeners_init(vidmm);
	if (!ret)
		ret = pagoda_promote_init(vidmm, args->promote_ms, args->traffic_share);
	if (!ret)
		ret = vidmm_init_budgets(vidmm);
	if (!ret)
		ret = pagoda_reset_init(vidmm);
	return ret;
}

static struct pagoda_vidmm *vidmm_alloc(const struct pagoda_vidmm_args *args)
{
	struct pagoda_vidmm *vidmm = kzalloc(sizeof(*vidmm), GFP_KERNEL);
	int ret;

	if (!vidmm)
		return ERR_PTR(-ENOMEM);
	vidmm->drm = args->drm;
	vidmm->info = args->info;
	vidmm->transport = args->transport;
	/* The reserve is planned first: the parts set up later are told how much VRAM is left. */
	ret = pagoda_reserve_plan(vidmm, args->reserve);
	if (ret)
		goto err_free;
	vidmm->pin_limit = args->pin_limit ?: pagoda_vidmm_segment_size(vidmm) / 2;
	mutex_init(&vidmm->control_lock);
	mutex_init(&vidmm->scratch_lock);
	xa_init(&vidmm->bos);
	ida_init(&vidmm->spaces);
	init_rwsem(&vidmm->residency);
	vidmm->submit_share = args->submit_share;
	ret = vidmm_init_ledger(vidmm, args);
	if (ret)
		goto err_free;
	ret = pagoda_victims_init(vidmm, args->lru);
	if (ret)
		goto err_free;
	spin_lock_init(&vidmm->required_lock);
	spin_lock_init(&vidmm->deferred_lock);
	INIT_LIST_HEAD(&vidmm->deferred);
	ret = pagoda_mfences_init(vidmm);
	if (ret)
		goto err_victims;
	ret = pagoda_copies_init(vidmm);
	if (ret)
		goto err_mfences;
	get_device(vidmm->info->dma_dev);
	return vidmm;

err_mfences:
	pagoda_mfences_fini(vidmm);
err_victims:
	pagoda_victims_fini(vidmm);
err_free:
	kfree(vidmm);
	return ERR_PTR(ret);
}

static void vidmm_free(struct pagoda_vidmm *vidmm)
{
	pagoda_copies_stop(vidmm);
	pagoda_listeners_fini(vidmm->listeners);
	pagoda_reset_fini(vidmm);
	put_device(vidmm->info->dma_dev);
	pagoda_mfences_fini(vidmm);
	pagoda_victims_fini(vidmm);
	xa_destroy(&vidmm->bos);
	mutex_destroy(&vidmm->scratch_lock);
	mutex_destroy(&vidmm->control_lock);
	ida_destroy(&vidmm->spaces);
	kfree(vidmm);
}

/**
 * pagoda_vidmm_create() - Create the memory manager of a device
 * @args: See struct pagoda_vidmm_args
 *
 * Context: Probe; may sleep.
 * Return: The manager or ERR_PTR.
 */
struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args)
{
	struct pagoda_vidmm *vidmm = vidmm_alloc(args);
	int ret;

	if (IS_ERR(vidmm))
		return vidmm;
	/* Pages that the DMA API bounces would have two contents. */
	vidmm->reaches_part = drm_need_swiotlb(vidmm->info->system_address_bits);
	ret = pagoda_ttm_device_init(&vidmm->ttm, &pagoda_ttm_funcs, vidmm->info->dma_dev,
				     vidmm->drm->anon_inode->i_mapping,
				     vidmm->drm->vma_offset_manager, vidmm->reaches_part);
	if (ret)
		goto err_free;
	ret = vidmm_init_parts(vidmm, args);
	if (ret)
		goto err_ttm;
	return vidmm;

err_ttm:
	ttm_device_fini(&vidmm->ttm);
err_free:
	vidmm_free(vidmm);
	return ERR_PTR(ret);
}

/**
 * pagoda_vidmm_command_locked() - Have the device execute a command
 * @vidmm: The manager
 * @command: Command
 *
 * Context: pagoda_vidmm.control_lock is held; sleeps until the device answered.
 * Return: Result of the transport; -ENODEV once the device is gone.
 */
int pagoda_vidmm_command_locked(struct pagoda_vidmm *vidmm, const struct pagoda_command *command)
{
	lockdep_assert_held(&vidmm->control_lock);
	if (!vidmm->transport)
		return -ENODEV;
	return vidmm->transport->ops->control(vidmm->transport, command);
}

/**
 * pagoda_vidmm_command() - Have the device execute a command
 * @vidmm: The manager
 * @command: Command
 *
 * Context: Takes pagoda_vidmm.control_lock; sleeps until the device answered.
 * Return: Result of the transport; -ENODEV once the device is gone.
 */
int pagoda_vidmm_command(struct pagoda_vidmm *vidmm, const struct pagoda_command *command)
{
	int ret;

	mutex_lock(&vidmm->control_lock);
	ret = pagoda_vidmm_command_locked(vidmm, command);
	mutex_unlock(&vidmm->control_lock);
	return ret;
}

/*
 * Takes a reference to every allocation. Returns false if an allocation couldn't be held
 * because its last reference is just being dropped: it is gone soon.
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

static void vidmm_stop_sharing(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id;

	xa_for_each_marked(&vidmm->bos, id, bo, VIDMM_HELD)
		pagoda_prime_stop(bo);
}

static void vidmm_drop_all(struct pagoda_vidmm *vidmm)
{
	struct pagoda_bo *bo;
	unsigned long id;

	xa_for_each_marked(&vidmm->bos, id, bo, VIDMM_HELD) {
		xa_clear_mark(&vidmm->bos, id, VIDMM_HELD);
		drm_gem_object_put(&bo->ttm.base);
	}
}

/**
 * pagoda_vidmm_stop() - Stop the manager because the hardware goes
 * @vidmm: The manager; no ioctl and no fault is in it and none will come
 *
 * All work is done or given up, and no page is mapped for the device any more. The allocations that
 * are left can only be closed. Content is lost.
 *
 * TTM frees the pages without regard to an allocation that is being closed: so all allocations are
 * held until it is done.
 *
 * Context: May sleep for long.
 */
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm)
{
	/* Readers of events needn't wait for the rest of the shutdown. */
	pagoda_listeners_gone(vidmm->listeners);
	pagoda_promote_stop(vidmm);
	pagoda_reset_stop(vidmm);
	/* Paging waits for jobs. */
	if (vidmm->engines)
		pagoda_engines_stop(vidmm->engines);
	pagoda_deferred_kick(vidmm);
	flush_delayed_work(&vidmm->stream->flush);
	pagoda_queue_stop(vidmm->stream->queue);
	cancel_work_sync(&vidmm->stream->overrun);
	pagoda_mfences_stop(vidmm);
	pagoda_device_mmu_stop(vidmm);
	pagoda_coredump_stop(vidmm);
	mutex_lock(&vidmm->control_lock);
	vidmm->transport = NULL;
	mutex_unlock(&vidmm->control_lock);
	pagoda_listeners_stop(vidmm->listeners);
	pagoda_copies_stop(vidmm);
	while (!vidmm_hold_all(vidmm)) {
		flush_workqueue(vidmm->ttm.wq);
		fsleep(USEC_PER_MSEC);
	}
	flush_workqueue(vidmm->ttm.wq);
	vidmm_stop_sharing(vidmm);
	ttm_device_clear_dma_mappings(&vidmm->ttm);
	vidmm_drop_all(vidmm);
}

/**
 * pagoda_vidmm_destroy() - Undo pagoda_vidmm_create()
 * @vidmm: The manager, stopped or never used; no allocation has a handle or a mapping any more
 *
 * Context: May sleep.
 */
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm)
{
	pagoda_promote_stop(vidmm);
	if (vidmm->engines)
		pagoda_engines_destroy(vidmm->engines);
	pagoda_copies_stop(vidmm);
	flush_workqueue(vidmm->ttm.wq);
	pagoda_aperture_fini(vidmm);
	pagoda_vram_fini(vidmm);
	flush_workqueue(vidmm->ttm.wq);
	pagoda_device_mmu_stop(vidmm);
	pagoda_stream_fini(vidmm);
	pagoda_tables_fini(vidmm);
	pagoda_coredump_fini(vidmm);
	pagoda_journal_fini(vidmm);
	vidmm_fini_executor(vidmm);
	pagoda_swizzle_fini(vidmm);
	pagoda_dummy_fini(vidmm);
	pagoda_device_mmu_fini(vidmm);
	ttm_device_fini(&vidmm->ttm);
	vidmm_free(vidmm);
}

/**
 * pagoda_vidmm_set_needs_idle() - Fault injection: make an allocation's set-up impossible to queue
 * @vidmm: The manager
 * @id: Allocation id
 *
 * Its next moves are answered ALLOCATION_BUSY until it is idle (C11 - C14).
 *
 * Context: Takes the reservation; may sleep.
 * Return: 0 or -ENOENT.
 */
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id)
{
	struct pagoda_bo *bo;

	xa_lock(&vidmm->bos);
	bo = xa_load(&vidmm->bos, id);
	if (bo && !kref_get_unless_zero(&bo->ttm.base.refcount))
		bo = NULL;
	xa_unlock(&vidmm->bos);
	if (!bo)
		return -ENOENT;

	dma_resv_lock(bo->ttm.base.resv, NULL);
	bo->content.needs_idle = true;
	dma_resv_unlock(bo->ttm.base.resv);
	drm_gem_object_put(&bo->ttm.base);
	return 0;
}
