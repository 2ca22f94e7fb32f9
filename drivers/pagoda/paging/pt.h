/* SPDX-License-Identifier: GPL-2.0 */
/* The entries that an UPDATE_PAGE_TABLE operation writes. */
#ifndef PAGODA_PAGING_PT_H
#define PAGODA_PAGING_PT_H

#include <linux/sizes.h>
#include <linux/types.h>
#include "paging.h"

static inline bool pagoda_update_is_64k(const struct pagoda_op_update_page_table *update)
{
	return update->flags & VIRTIO_PAGODA_UPDATE_USE_64K;
}

/*
 * Returns the element of @update->ptes for entry @i: with REPEAT the only one; for a 64 KiB page,
 * which has sixteen elements, the first of these (C88).
 */
static inline const struct pagoda_pte *
pagoda_update_pte(const struct pagoda_op_update_page_table *update, u32 i)
{
	if (update->flags & VIRTIO_PAGODA_UPDATE_REPEAT)
		return update->ptes;
	if (pagoda_update_is_64k(update) && !update->level)
		return &update->ptes[(u64)i * (SZ_64K / VIRTIO_PAGODA_PAGE_SIZE)];
	return &update->ptes[i];
}

/* Returns entry @i that the update writes, in the device's format. */
static inline u64 pagoda_update_entry(const struct pagoda_op_update_page_table *update, u32 i)
{
	if (update->values)
		return update->values[update->flags & VIRTIO_PAGODA_UPDATE_REPEAT ? 0 : i];
	return pagoda_pte_encode(pagoda_update_pte(update, i), update->driver_protection);
}

#endif
