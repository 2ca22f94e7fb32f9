/* SPDX-License-Identifier: GPL-2.0 */
/* Sizes of page tables that follow from the device's limits, and entries of an update. */
#ifndef PAGODA_PAGING_PT_H
#define PAGODA_PAGING_PT_H

#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <pagoda/paging.h>

/* Byte behind the last virtual address. */
static inline u64 pagoda_va_end(const struct pagoda_paging_limits *limits)
{
	return limits->va_bits && limits->va_bits < 64 ? 1ull << limits->va_bits : 0;
}

static inline bool pagoda_has_64k(const struct pagoda_paging_limits *limits)
{
	return limits->page_sizes & SZ_64K;
}

static inline bool pagoda_has_dual(const struct pagoda_paging_limits *limits)
{
	return limits->features & 1ull << VIRTIO_PAGODA_F_DUAL_PTE;
}

/* log2 of the addresses that an entry of a level translates. */
static inline u32 pagoda_pt_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + level * VIRTIO_PAGODA_PT_INDEX_BITS;
}

/*
 * Do so many levels translate addresses of that width? Each level has an index of at least
 * one bit. The root of two levels may be longer than an index counts: 1 GiB at 48 bits.
 */
static inline bool pagoda_pt_levels_fit(u32 va_bits, u32 levels)
{
	if (levels < 2 || levels > VIRTIO_PAGODA_PT_MAX_LEVELS ||
	    va_bits > VIRTIO_PAGODA_MAX_VA_BITS)
		return false;
	if (levels == 2)
		return va_bits > pagoda_pt_shift(1) && va_bits <= VIRTIO_PAGODA_MAX_VA_BITS_2;
	return va_bits > pagoda_pt_shift(levels - 1) && va_bits <= pagoda_pt_shift(levels);
}

/* Bytes from entry to entry: level 1 has two words an entry with dual tables. */
static inline u32 pagoda_pt_stride(const struct pagoda_paging_limits *limits, u32 level)
{
	bool two = level == 1 && pagoda_has_dual(limits);

	return two ? 2 * VIRTIO_PAGODA_PT_ENTRY_BYTES : VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/* Byte of the word that is written within an entry. */
static inline u32 pagoda_pt_word(const struct pagoda_paging_limits *limits, u32 level, bool use_64k)
{
	bool second = use_64k && level == 1 && pagoda_has_dual(limits);

	return second ? VIRTIO_PAGODA_PT_ENTRY_BYTES : 0;
}

/* Most entries of a table; only the root of two levels has more than an index counts. */
static inline u64 pagoda_pt_entries(const struct pagoda_paging_limits *limits, u32 level,
				    bool use_64k)
{
	u64 root = pagoda_va_end(limits) >> pagoda_pt_shift(level);

	if (!level)
		return use_64k ? VIRTIO_PAGODA_PT_ENTRIES_64K : VIRTIO_PAGODA_PT_ENTRIES;
	if (level == 1 && limits->pt_levels == 2)
		return root;
	return min_t(u64, root, VIRTIO_PAGODA_PT_ENTRIES);
}

/* Is there something at that level that UPDATE_USE_64K chooses? */
static inline bool pagoda_pt_may_use_64k(const struct pagoda_paging_limits *limits, u32 level)
{
	if (level)
		return level == 1 && pagoda_has_dual(limits);
	return pagoda_has_64k(limits);
}

static inline bool pagoda_update_is_64k(const struct pagoda_op_update_page_table *update)
{
	return update->flags & VIRTIO_PAGODA_UPDATE_USE_64K;
}

/* The DXGK_PTE of entry @i: with 64 KiB pages the one at the page's start (C88). */
static inline const struct pagoda_pte *
pagoda_update_pte(const struct pagoda_op_update_page_table *update, u32 i)
{
	if (update->flags & VIRTIO_PAGODA_UPDATE_REPEAT)
		return update->ptes;
	if (pagoda_update_is_64k(update) && !update->level)
		return &update->ptes[(u64)i * (SZ_64K / VIRTIO_PAGODA_PAGE_SIZE)];
	return &update->ptes[i];
}

/* Entry @i as the table gets it. */
static inline u64 pagoda_update_entry(const struct pagoda_op_update_page_table *update, u32 i)
{
	if (update->values)
		return update->values[update->flags & VIRTIO_PAGODA_UPDATE_REPEAT ? 0 : i];
	return pagoda_pte_encode(pagoda_update_pte(update, i), update->driver_protection);
}

#endif
