/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The video memory manager: what the ioctls may ask of it.
 *
 * Lock order, outermost first:
 *	pagoda_vidmm.residency (not inside mmap_lock: faults lock one allocation)
 *	mmap_lock
 *	reservation of an allocation (several: drm_exec)
 *	pagoda_vram.lock, pagoda_aperture.lock (segment managers; TTM calls them
 *		with a reservation held, or from its work queue without one)
 *	pagoda_stream.lock (the open paging buffer; taken on the way to
 *		signalling a fence: nobody allocates with reclaim under it)
 *	spinlocks of TTM, the queue and the transport
 */
#ifndef PAGODA_VIDMM_H
#define PAGODA_VIDMM_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/types.h>
#include <drm/pagoda_drm.h>

struct dma_fence;
struct drm_device;
struct drm_file;
struct drm_gem_object;
struct drm_printer;
struct pagoda_bo;
struct pagoda_device_info;
struct pagoda_transport;
struct pagoda_vidmm;

/**
 * struct pagoda_vidmm_args - How to make a memory manager
 * @drm: DRM device, its anon_inode and vma_offset_manager set up
 * @info: What the device told, checked; must outlive the manager
 * @transport: The way to the device
 * @use_cpu: Execute paging buffers on the CPU; needs all of VRAM visible
 * @timeout_ms: Paging timeout
 */
struct pagoda_vidmm_args {
	struct drm_device *drm;
	const struct pagoda_device_info *info;
	struct pagoda_transport *transport;
	bool use_cpu;
	u32 timeout_ms;
};

struct pagoda_vidmm *pagoda_vidmm_create(const struct pagoda_vidmm_args *args);
void pagoda_vidmm_stop(struct pagoda_vidmm *vidmm);
void pagoda_vidmm_destroy(struct pagoda_vidmm *vidmm);

/**
 * struct pagoda_client - Accounting of one DRM file
 * @segment_bytes: Bytes of its allocations in each segment, by segment id;
 *	atomic because moves happen in anybody's context
 * @kref: An allocation outlives the file that made it
 */
struct pagoda_client {
	struct kref kref;
	atomic64_t segment_bytes[3];
};

struct pagoda_client *pagoda_client_create(void);
void pagoda_client_put(struct pagoda_client *client);

/**
 * struct pagoda_bo_params - A checked ALLOCATION_CREATE
 * @size: Bytes, multiple of the page size
 * @flags: DRM_PAGODA_ALLOCATION_ flags
 * @supported: Segment set
 * @eviction: Eviction segment set
 * @preferred: Segment ids in order, then zeros
 * @alignment: Bytes, a power of two; 0 = none
 */
struct pagoda_bo_params {
	u64 size;
	u32 flags;
	u32 supported;
	u32 eviction;
	u32 preferred[DRM_PAGODA_MAX_PREFERRED];
	u32 alignment;
};

bool pagoda_bo_params_could_fit(struct pagoda_vidmm *vidmm,
				const struct pagoda_bo_params *params);
struct pagoda_bo *pagoda_bo_create(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
				   const struct pagoda_bo_params *params);
struct pagoda_bo *pagoda_bo_of_gem(struct drm_gem_object *obj);
struct drm_gem_object *pagoda_bo_gem(struct pagoda_bo *bo);
void pagoda_bo_info(struct pagoda_bo *bo, struct drm_pagoda_allocation_info *info);
void pagoda_bo_mark_lost(struct pagoda_bo *bo);

int pagoda_residency_make(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			  struct dma_fence **fence, u64 *bytes_to_trim);
int pagoda_residency_evict(struct pagoda_vidmm *vidmm, struct pagoda_bo **bos, u32 count,
			   struct dma_fence **fence);

int pagoda_vidmm_segment_info(struct pagoda_vidmm *vidmm, struct pagoda_client *client,
			      u32 id, struct drm_pagoda_segment_info *info);
void pagoda_vidmm_stats(struct pagoda_vidmm *vidmm, struct drm_pagoda_stats *stats);
void pagoda_vidmm_print_segments(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_lru(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_queue(struct pagoda_vidmm *vidmm, struct drm_printer *p);
void pagoda_vidmm_print_buffers(struct pagoda_vidmm *vidmm, struct drm_printer *p);
int pagoda_vidmm_set_needs_idle(struct pagoda_vidmm *vidmm, u64 id);

#endif
