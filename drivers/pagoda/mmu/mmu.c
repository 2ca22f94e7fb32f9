// SPDX-License-Identifier: GPL-2.0
/* Creates and destroys the page-table subsystem of a device, and tells the device's update mode. */
#include <linux/err.h>
#include <linux/slab.h>

#include "core/check.h"
#include "internal.h"

/* Returns whether pt_levels fits va_bits, 4 KiB pages exist and the update mode is known. */
static bool mmu_args_are_good(const struct pagoda_mmu_args *args)
{
	const struct pagoda_paging_limits *limits = args->limits;

	return pagoda_pt_levels_fit(limits->va_bits, limits->pt_levels) &&
	       limits->page_sizes & VIRTIO_PAGODA_PAGE_SIZE &&
	       args->mode <= VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL;
}

/**
 * pagoda_mmu_create() - Make the page-table subsystem of a device
 * @args: Copied; limits and ops must outlive the subsystem
 *
 * Makes the paging process (address space 0) too: calls table_alloc(), written() and set_root().
 *
 * Context: probe; may sleep.
 * Return: the subsystem; ERR_PTR of -EINVAL for limits or an update mode that make no sense, or if
 *	table_alloc() gives a table that isn't in system memory or that the CPU can't reach;
 *	-ENOMEM, or the error of table_alloc() or set_root().
 */
struct pagoda_mmu *pagoda_mmu_create(const struct pagoda_mmu_args *args)
{
	const u32 most = VIRTIO_PAGODA_PT_ENTRIES * (VIRTIO_PAGODA_PT_ENTRIES + 1);
	struct pagoda_mmu *mmu;
	int ret;
	u32 i;

	if (!mmu_args_are_good(args))
		return ERR_PTR(-EINVAL);
	mmu = kzalloc(sizeof(*mmu), GFP_KERNEL);
	if (!mmu)
		return ERR_PTR(-ENOMEM);
	mmu->args = *args;
	xa_init(&mmu->pages);
	mutex_init(&mmu->leaving);
	INIT_LIST_HEAD(&mmu->gone);
	/*
	 * The differences between consecutive values all differ, so no builder can encode three
	 * entries as a run.
	 */
	for (i = 0; i < VIRTIO_PAGODA_PT_ENTRIES; i++)
		mmu->scattered[i] = VIRTIO_PAGODA_PTE_VALID |
				    (u64)(most - i * i - i) << VIRTIO_PAGODA_PAGE_SHIFT;
	ret = pagoda_process_create(mmu);
	if (!ret)
		return mmu;
	xa_destroy(&mmu->pages);
	kfree(mmu);
	return ERR_PTR(ret);
}

/**
 * pagoda_mmu_destroy() - Undo pagoda_mmu_create()
 * @mmu: Page tables of the device; all spaces but the paging process' are destroyed, and
 *	no operation is in flight
 *
 * Context: may sleep.
 */
void pagoda_mmu_destroy(struct pagoda_mmu *mmu)
{
	pagoda_process_destroy(mmu);
	pagoda_mmu_reap(mmu, true);
	WARN_ON(!xa_empty(&mmu->pages));
	xa_destroy(&mmu->pages);
	mutex_destroy(&mmu->leaving);
	kfree(mmu);
}

/* Returns the mode in which the driver writes page tables (C89). */
enum virtio_pagoda_update_mode pagoda_mmu_mode(const struct pagoda_mmu *mmu)
{
	return mmu->args.mode;
}
