/* SPDX-License-Identifier: GPL-2.0 */
/* What the driver reports in debugfs, in fdinfo and to the QUERY ioctl. */
#ifndef PAGODA_DEBUG_DEBUG_H
#define PAGODA_DEBUG_DEBUG_H

#include <linux/types.h>

struct drm_file;
struct drm_minor;
struct drm_pagoda_segment_info;
struct drm_pagoda_stats;
struct drm_printer;
struct pagoda_bo;
struct pagoda_client;
struct pagoda_vidmm;

/**
 * struct pagoda_memory - Memory of a client in a segment, in bytes
 * @total: Size of the client's allocations and of the driver's memory for the client
 * @shared: Bytes of @total that other files have handles of, or that are exported as dma-bufs
 * @resident: Bytes of the segment that the client's allocations and the driver's memory for the
 *	client take up; in the system segment with the kept copies of allocations in VRAM
 * @active: Bytes of @resident whose reservations have fences that aren't signalled
 * @purgeable: Bytes of @total that are offered, take up memory and aren't active
 * @spilled: Bytes of allocations that prefer this segment and are in another, although they were
 *	made resident or are on a residency list, and aren't offered
 */
struct pagoda_memory {
	u64 total;
	u64 shared;
	u64 resident;
	u64 active;
	u64 purgeable;
	u64 spilled;
};

/*
 * report.c: a client's memory and engine time; usage of a segment; the device's counters; text for
 * debugfs
 */
void pagoda_memory_add(struct pagoda_memory *memory, const struct pagoda_client *client,
		       struct pagoda_bo *bo, bool shared);
void pagoda_memory_add_client(struct pagoda_memory *memory, const struct pagoda_client *client);
u64 pagoda_client_engine_ns(struct pagoda_client *client, struct pagoda_vidmm *vidmm, u32 engine);
int pagoda_vidmm_segment_info(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			      u32 id, struct drm_pagoda_segment_info *info);
void pagoda_vidmm_stats(struct pagoda_vidmm *vidmm, struct drm_pagoda_stats *stats);
void pagoda_vidmm_print_segments(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_lru(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_queue(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_buffers(struct pagoda_vidmm *vidmm, struct drm_printer *p);

/* fdinfo.c: prints /proc/<pid>/fdinfo/<fd> */
void pagoda_show_fdinfo(struct drm_printer *p, struct drm_file *file);

/* debugfs.c: creates the debugfs files */
void pagoda_debugfs_init(struct drm_minor *minor);

#endif
