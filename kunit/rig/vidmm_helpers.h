/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A DRM device, a device description, segments, objects to place in them, and random numbers, for
 * the suites of vidmm/. What these functions make is freed at the end of the test, last made first;
 * but what pagoda_kunit_object() and pagoda_kunit_alloc() make, the test frees.
 */
#ifndef PAGODA_KUNIT_VIDMM_HELPERS_H
#define PAGODA_KUNIT_VIDMM_HELPERS_H

#include <linux/prandom.h>
#include <kunit/test.h>
#include "vidmm.h"
#include "virtio/virtio.h"

/**
 * struct pagoda_kunit_shape - Description of a device, in pages
 * @vram: Size of VRAM
 * @visible: Size of the CPU-visible part of VRAM
 * @aperture: Size of the aperture; 0 = 64
 * @alignment: Alignment of VRAM addresses; 0 = 1
 * @zeroed: The device says that VRAM contains zeros at first
 * @reserve: Size of the reserve, for page tables and save areas
 * @nr_invalid: Number of ranges in @invalid
 * @invalid: First page and number of pages of each invalid range
 */
struct pagoda_kunit_shape {
	u32 vram;
	u32 visible;
	u32 aperture;
	u32 alignment;
	bool zeroed;
	u32 reserve;
	u32 nr_invalid;
	u32 invalid[4][2];
};

extern const struct ttm_device_funcs pagoda_kunit_ttm_funcs;

struct drm_device *pagoda_kunit_drm(struct kunit *test);
struct pagoda_device_info *pagoda_kunit_info(struct kunit *test, struct device *dma_dev,
					     const struct pagoda_kunit_shape *shape);
struct pagoda_vidmm *pagoda_kunit_segments(struct kunit *test,
					   const struct pagoda_kunit_shape *shape);
void pagoda_kunit_segments_end(struct kunit *test, struct pagoda_vidmm *vidmm);

struct ttm_buffer_object *pagoda_kunit_object(struct kunit *test, struct pagoda_vidmm *vidmm,
					      u32 pages, u32 align);
void pagoda_kunit_object_end(struct ttm_buffer_object *bo);
int pagoda_kunit_alloc(struct ttm_buffer_object *bo, u32 type, const struct ttm_place *place,
		       struct ttm_resource **res);

struct ttm_buffer_object *pagoda_kunit_bo(struct kunit *test, struct pagoda_vidmm *vidmm,
					  u32 pages, const struct ttm_place *place);
int pagoda_kunit_validate(struct ttm_buffer_object *bo, const struct ttm_place *place);

u32 pagoda_kunit_seed(struct kunit *test, struct rnd_state *rnd);
/* Returns a random number below @limit. */
u32 pagoda_kunit_below(struct rnd_state *rnd, u32 limit);

#endif
