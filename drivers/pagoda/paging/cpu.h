/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the CPU executor share. Its functions return fault reasons, those the
 * device would refuse the packet with: which one is found first is part of the contract
 * (flags, fields in the order the device looks at them, memory).
 */
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

/**
 * struct pagoda_cpu_surface - A tiled surface that was checked
 * @vram: Its first byte
 * @layout: Geometry
 * @offset: First byte of the piece in its linear view
 */
struct pagoda_cpu_surface {
	u8 *vram;
	struct pagoda_layout layout;
	u64 offset;
};

u32 pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size);
u32 pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation);

/* cpu_transfer.c: checks one side and prepares it for copying */
u32 pagoda_cpu_transfer_size_check(const struct pagoda_cpu_executor *exec,
				   const struct virtio_pagoda_transfer *transfer);
u32 pagoda_cpu_side_prepare(struct pagoda_cpu_executor *exec,
			    const struct virtio_pagoda_location *location, u64 size,
			    const struct virtio_pagoda_run *runs, const void *pages, bool write,
			    struct pagoda_cpu_side *side);

/* cpu_swizzle.c */
u32 pagoda_cpu_surface_prepare(struct pagoda_cpu_executor *exec,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_tiled *tiled, u64 size,
			       struct pagoda_cpu_surface *surface);
void pagoda_cpu_surface_copy(const struct pagoda_cpu_surface *surface, u8 *window,
			     const struct pagoda_cpu_side *piece, u64 size, bool swizzle);

/* cpu_mmu.c */
u32 pagoda_cpu_system_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			    bool write);

/**
 * struct pagoda_cpu_runs - Runs to be checked
 * @runs: The runs
 * @nr_runs: Their number
 * @nr_pages: Pages they shall have together
 * @pages: struct page array of these pages, or NULL
 * @write: They are going to be written
 * @bus: Their addresses are bus addresses even with a device MMU
 */
struct pagoda_cpu_runs {
	const struct virtio_pagoda_run *runs;
	u32 nr_runs;
	u64 nr_pages;
	const void *pages;
	bool write;
	bool bus;
};

u32 pagoda_cpu_runs_check(const struct pagoda_cpu_executor *exec,
			  const struct pagoda_cpu_runs *list);

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
