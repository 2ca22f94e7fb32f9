/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of the CPU executor share. */
#ifndef PAGODA_PAGING_CPU_H
#define PAGODA_PAGING_CPU_H

#include <linux/types.h>
#include <pagoda/paging.h>

#include "emit.h"

/**
 * struct pagoda_cpu_packet - A packet about to be executed
 * @exec: Memory
 * @data: The packet; its length is right, nothing else was looked at
 * @src_pages: struct page array of the source's runs, or NULL
 * @dst_pages: The same for the destination, map target or fence page
 */
struct pagoda_cpu_packet {
	struct pagoda_cpu_executor *exec;
	const void *data;
	const void *src_pages;
	const void *dst_pages;
};

/**
 * struct pagoda_cpu_side - Memory that was checked, to be reached page by page
 * @exec: Memory
 * @vram: VRAM: its first byte, else NULL
 * @pages: Else the struct page array
 * @first: and the entry of the first page
 */
struct pagoda_cpu_side {
	struct pagoda_cpu_executor *exec;
	u8 *vram;
	const void *pages;
	u64 first;
};

int pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size);
int pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation);
int pagoda_cpu_runs_check(const struct virtio_pagoda_run *runs, u32 nr_runs, u64 nr_pages);

/* The page that is @done bytes into the side, or NULL; pairs with the next. */
static inline u8 *pagoda_cpu_side_map(const struct pagoda_cpu_side *side, u64 done)
{
	if (side->vram)
		return side->vram + done;
	return side->exec->map_page(side->pages,
				    side->first + (done >> VIRTIO_PAGODA_PAGE_SHIFT));
}

static inline void pagoda_cpu_side_unmap(const struct pagoda_cpu_side *side, u8 *address)
{
	if (!side->vram)
		side->exec->unmap_page(address);
}

#endif
