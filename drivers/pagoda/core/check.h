/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for checks of arguments, and what follows from a device's limits: sizes of segments,
 * geometry of page tables.
 */
#ifndef PAGODA_CORE_CHECK_H
#define PAGODA_CORE_CHECK_H

#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <asm/byteorder.h>
#include <linux/virtio_pagoda.h>
#include "info.h"

#define PAGODA_PAGE_MASK	((u64)VIRTIO_PAGODA_PAGE_SIZE - 1)

static inline int pagoda_refuse(const char **why, int error, const char *text)
{
	*why = text;
	return error;
}

static inline u64 pagoda_pages(u64 bytes)
{
	return (bytes >> VIRTIO_PAGODA_PAGE_SHIFT) + !!(bytes & PAGODA_PAGE_MASK);
}

/* Returns whether [start, start + size) is within [0, limit). */
static inline bool pagoda_within(u64 start, u64 size, u64 limit)
{
	return start <= limit && size <= limit - start;
}

/*
 * Returns the bytes of a segment, 0 for an unknown id. Of system memory: the bytes that MAP_MMU can
 * map if the device has an MMU of its own, else no limit (U64_MAX).
 */
static inline u64 pagoda_segment_size(const struct pagoda_paging_limits *limits, u32 segment)
{
	switch (segment) {
	case VIRTIO_PAGODA_SEGMENT_SYSTEM:
		if (limits->features & 1ull << VIRTIO_PAGODA_F_DEVICE_MMU)
			return limits->mmu_pages << VIRTIO_PAGODA_PAGE_SHIFT;
		return U64_MAX;
	case VIRTIO_PAGODA_SEGMENT_VRAM:
		return limits->vram_size;
	case VIRTIO_PAGODA_SEGMENT_APERTURE:
		return limits->aperture_pages << VIRTIO_PAGODA_PAGE_SHIFT;
	default:
		return 0;
	}
}

/* Returns the end of the GPU virtual addresses, or 0 if the device has no virtual addresses. */
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

/* Returns log2 of the bytes that an entry of a table at @level translates; level 0: 4 KiB. */
static inline u32 pagoda_pt_shift(u32 level)
{
	return VIRTIO_PAGODA_PAGE_SHIFT + level * VIRTIO_PAGODA_PT_INDEX_BITS;
}

/*
 * Returns whether page tables of @levels levels, at least 2, can translate addresses of @va_bits
 * bits, with at least one bit as index of each level. The root of two levels may have more entries
 * than any other table: 2^27 at 48 bits.
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

/* Returns the bytes of an entry: 16 at level 1 on a device with dual PTEs, else 8. */
static inline u32 pagoda_pt_stride(const struct pagoda_paging_limits *limits, u32 level)
{
	bool two = level == 1 && pagoda_has_dual(limits);

	return two ? 2 * VIRTIO_PAGODA_PT_ENTRY_BYTES : VIRTIO_PAGODA_PT_ENTRY_BYTES;
}

/*
 * Returns the byte offset, within an entry, of the 8 bytes that an update writes: 8 for the half of
 * a dual entry of level 1 that links the table of 64 KiB pages, else 0.
 */
static inline u32 pagoda_pt_word(const struct pagoda_paging_limits *limits, u32 level, bool use_64k)
{
	bool second = use_64k && level == 1 && pagoda_has_dual(limits);

	return second ? VIRTIO_PAGODA_PT_ENTRY_BYTES : 0;
}

/*
 * Returns how many entries a table at @level may have at most; @use_64k: a table of 64 KiB pages,
 * if @level is 0. Only the root of two levels may have more than VIRTIO_PAGODA_PT_ENTRIES.
 */
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

/* Returns whether an update of a table at @level may have VIRTIO_PAGODA_UPDATE_USE_64K. */
static inline bool pagoda_pt_may_use_64k(const struct pagoda_paging_limits *limits, u32 level)
{
	if (level)
		return level == 1 && pagoda_has_dual(limits);
	return pagoda_has_64k(limits);
}

#endif
