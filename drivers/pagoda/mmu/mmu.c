// SPDX-License-Identifier: GPL-2.0
/* The page-table subsystem of a device: what its spaces have in common. */
#include <linux/err.h>
#include <linux/slab.h>

#include "core/check.h"
#include "core/check.h"
#include "internal.h"

/* Can the tables the device describes translate anything? */
static bool mmu_args_are_good(const struct pagoda_mmu_args *args)
{
	const struct pagoda_paging_limits *limits = args->limits;

	return pagoda_pt_levels_fit(limits->va_bits, limits->pt_levels) &&
	       limits->page_sizes & VIRTIO_PAGODA_PAGE_SIZE &&
	       args->mode <= VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL;
}

/* Neither a run nor twice the same. */
static void mmu_scatter(u64 *values)
{
	u32 i;

	for (i = 0; i < VIRTIO_PAGODA_PT_ENTRIES; i++)
		values[i] = VIRTIO_PAGODA_PTE_VALID |
			    (u64)(i * i + i + 1) << VIRTIO_PAGODA_PAGE_SHIFT;
}

/**
 * pagoda_mmu_create() - Make the page-table subsystem of a device
 * @args: How; copied, what it points to must outlive the result
 *
 * Makes the paging process, so table_alloc() and set_root() are called from here.
 *
 * Context: probe; may sleep.
 * Return: the subsystem; ERR_PTR of -EINVAL for limits that make no sense, -ENOMEM, or
 *	what set_root() answered.
 */
struct pagoda_mmu *pagoda_mmu_create(const struct pagoda_mmu_args *args)
{
	struct pagoda_mmu *mmu;
	int ret;

	if (!mmu_args_are_good(args))
		return ERR_PTR(-EINVAL);
	mmu = kzalloc(sizeof(*mmu), GFP_KERNEL);
	if (!mmu)
		return ERR_PTR(-ENOMEM);
	mmu->args = *args;
	xa_init(&mmu->pages);
	mutex_init(&mmu->leaving);
	INIT_LIST_HEAD(&mmu->gone);
	mmu_scatter(mmu->scattered);
	ret = pagoda_process_create(mmu);
	if (!ret)
		return mmu;
	xa_destroy(&mmu->pages);
	kfree(mmu);
	return ERR_PTR(ret);
}

/**
 * pagoda_mmu_destroy() - Undo pagoda_mmu_create()
 * @mmu: Page tables of the device; no space but the first is left, nothing is in flight
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

/**
 * pagoda_mmu_mode() - How page tables are written
 * @mmu: Page tables of the device
 *
 * Context: any.
 * Return: the mode declared (C89).
 */
enum virtio_pagoda_update_mode pagoda_mmu_mode(const struct pagoda_mmu *mmu)
{
	return mmu->args.mode;
}
