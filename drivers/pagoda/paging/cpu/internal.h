/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declarations that the files of the CPU executor share. Functions that check return the fault
 * reason with which the device would refuse the packet, so checks are in the device's order: flags,
 * other fields, memory.
 */
#ifndef PAGODA_PAGING_CPU_INTERNAL_H
#define PAGODA_PAGING_CPU_INTERNAL_H

#include <linux/types.h>
#include "core/check.h"
#include "cpu.h"

/**
 * struct pagoda_cpu_side - A packet's source or destination, checked, to be mapped page by page
 * @exec: The executor, for its callbacks
 * @vram: Kernel address of the first byte, NULL if the memory isn't in VRAM
 * @pages: struct page array of memory that isn't in VRAM
 * @first: Index in @pages of the first page
 */
struct pagoda_cpu_side {
	struct pagoda_cpu_executor *exec;
	u8 *vram;
	const void *pages;
	u64 first;
};

/**
 * struct pagoda_cpu_surface - A tiled surface in VRAM, checked
 * @vram: Kernel address of the first byte of the surface
 * @layout: Geometry of the surface
 * @offset: Byte of the surface's linear view at which the packet's copy starts
 */
struct pagoda_cpu_surface {
	u8 *vram;
	struct pagoda_layout layout;
	u64 offset;
};

/* Flags by which the device tracks writes; the CPU executor checks them, but copies all bytes. */
#define PAGODA_CPU_TRACKING	(VIRTIO_PAGODA_TRANSFER_CLEAN | VIRTIO_PAGODA_TRANSFER_DIRTY)

/* side.c: whether a packet's flags CLEAN and DIRTY are legal for its sides */
bool pagoda_cpu_tracking_is_valid(const struct pagoda_cpu_executor *exec, u32 flags, bool into,
				  bool out);

/*
 * side.c: check a range of VRAM, a range of the aperture, or the size of a TRANSFER; check and set
 * up a packet's source or destination. Each returns a fault reason or 0
 */
u32 pagoda_cpu_vram_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size);
u32 pagoda_cpu_aperture_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			      u32 generation);
u32 pagoda_cpu_transfer_size_check(const struct pagoda_cpu_executor *exec,
				   const struct virtio_pagoda_transfer *transfer);
u32 pagoda_cpu_side_prepare(struct pagoda_cpu_executor *exec,
			    const struct virtio_pagoda_location *location, u64 size,
			    const struct virtio_pagoda_run *runs, const void *pages, bool write,
			    struct pagoda_cpu_side *side);

/* swizzle.c: check a tiled surface (returns a fault reason or 0), and copy from or to it */
u32 pagoda_cpu_surface_prepare(struct pagoda_cpu_executor *exec,
			       const struct virtio_pagoda_location *location,
			       const struct virtio_pagoda_tiled *tiled, u64 size,
			       struct pagoda_cpu_surface *surface);
void pagoda_cpu_surface_copy(const struct pagoda_cpu_surface *surface, u8 *window,
			     const struct pagoda_cpu_side *piece, u64 size, bool swizzle);

/*
 * side.c: checks that the device's MMU, if there is one, allows an access to a range of system
 * memory; returns a fault reason or 0
 */
u32 pagoda_cpu_system_check(const struct pagoda_cpu_executor *exec, u64 address, u64 size,
			    bool write);

/**
 * struct pagoda_cpu_runs - Runs of a packet, to be checked
 * @runs: The runs
 * @nr_runs: Number of runs
 * @nr_pages: Exact number of pages that all runs together must have
 * @pages: Array in which &pagoda_cpu_executor.page_at finds the struct page of each page; a packet
 *	with NULL, or with a page that isn't found, is refused
 * @write: The packet is going to write the pages
 * @bus: The packet is a MAP_MMU, whose runs have bus addresses. If the device has an MMU, the runs
 *	of other packets have device addresses, which MAP_MMU must have mapped
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

/*
 * Maps the page that begins @done bytes into @side, until pagoda_cpu_side_unmap(). Returns the
 * page's address.
 */
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
