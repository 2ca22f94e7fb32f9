// SPDX-License-Identifier: GPL-2.0
/*
 * A DRM device, a device description, segments, objects to place in them, and random numbers, for
 * the suites of vidmm/.
 *
 * The device is on KUnit's own bus, so that nothing but KUnit has to be configured. The CPU window
 * of VRAM is real memory in several pieces, as with the software GPU.
 */
#include <linux/dma-mapping.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <kunit/device.h>
#include "alloc.h"
#include "vidmm_helpers.h"

/* Pages of one piece of the window; odd, so that blocks of the buddy allocator cross pieces. */
#define WINDOW_PIECE	37

static const struct drm_driver kunit_drm_driver = {
	.driver_features = DRIVER_GEM | PAGODA_DRIVER_GEM_GPUVA | DRIVER_RENDER,
	.name = "pagoda_kunit",
	.desc = "Pagoda's KUnit suites",
};

static void kunit_vfree(void *memory)
{
	vfree(memory);
}

void *test_vzalloc(struct kunit *test, size_t size)
{
	void *memory = vzalloc(size);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kunit_vfree, memory), 0);
	return memory;
}

static void kunit_drm_put(void *drm)
{
	drm_dev_put(drm);
}

/* Returns a DRM device that isn't registered: enough for GEM objects, TTM and messages. */
struct drm_device *pagoda_kunit_drm(struct kunit *test)
{
	struct device *dev = kunit_device_register(test, "pagoda_kunit");
	struct drm_device *drm;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, dev);
	KUNIT_ASSERT_EQ(test, dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64)), 0);
	drm = drm_dev_alloc(&kunit_drm_driver, dev);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, drm);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kunit_drm_put, drm), 0);
	return drm;
}

/* ---- Device description ----------------------------------------------------- */

struct kunit_piece {
	void *memory;
	size_t size;
};

static void kunit_piece_free(void *data)
{
	struct kunit_piece *piece = data;

	free_pages_exact(piece->memory, piece->size);
}

static u64 kunit_piece_alloc(struct kunit *test, size_t size)
{
	struct kunit_piece *piece = test_zalloc(test, sizeof(*piece));

	piece->size = size;
	piece->memory = alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO);
	KUNIT_ASSERT_NOT_NULL(test, piece->memory);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kunit_piece_free, piece), 0);
	return virt_to_phys(piece->memory);
}

static void kunit_info_window(struct kunit *test, struct pagoda_device_info *info, u32 pages)
{
	struct pagoda_extent *window;
	u32 count = DIV_ROUND_UP(pages, WINDOW_PIECE);
	u32 i;

	window = test_calloc(test, count, sizeof(*window));
	for (i = 0; i < count; i++) {
		window[i].offset = (u64)i * WINDOW_PIECE << PAGE_SHIFT;
		window[i].size = min_t(u64, pages - i * WINDOW_PIECE, WINDOW_PIECE) << PAGE_SHIFT;
		window[i].address = kunit_piece_alloc(test, window[i].size);
	}
	info->visible_size = (u64)pages << PAGE_SHIFT;
	info->window = window;
	info->nr_window = count;
}

static void kunit_info_invalid(struct kunit *test, struct pagoda_device_info *info,
			       const struct pagoda_kunit_shape *shape)
{
	struct pagoda_extent *invalid;
	u32 i;

	invalid = test_calloc(test, shape->nr_invalid, sizeof(*invalid));
	for (i = 0; i < shape->nr_invalid; i++) {
		invalid[i].offset = (u64)shape->invalid[i][0] << PAGE_SHIFT;
		invalid[i].size = (u64)shape->invalid[i][1] << PAGE_SHIFT;
	}
	info->invalid = invalid;
	info->nr_invalid = shape->nr_invalid;
}

/* Returns a description as the virtio layer makes it, of a device of this shape. */
struct pagoda_device_info *pagoda_kunit_info(struct kunit *test, struct device *dma_dev,
					     const struct pagoda_kunit_shape *shape)
{
	struct pagoda_device_info *info = test_zalloc(test, sizeof(*info));

	info->dma_dev = dma_dev;
	info->features = (BIT_ULL(VIRTIO_PAGODA_OP_COUNT - 1) - 1) |
			 BIT_ULL(VIRTIO_PAGODA_F_COHERENT);
	info->vram_size = (u64)shape->vram << PAGE_SHIFT;
	info->aperture_pages = shape->aperture ?: 64;
	info->max_buffer_bytes = VIRTIO_PAGODA_MAX_BUFFER;
	info->max_runs = 128;
	info->num_engines = 1;
	info->alignment = (shape->alignment ?: 1) << PAGE_SHIFT;
	info->system_address_bits = 52;
	info->coherent = true;
	info->vram_zeroed = shape->zeroed;
	if (shape->visible)
		kunit_info_window(test, info, shape->visible);
	if (shape->nr_invalid)
		kunit_info_invalid(test, info, shape);
	return info;
}

/* ---- Segments ---------------------------------------------------------------- */

static struct ttm_tt *kunit_tt_create(struct ttm_buffer_object *bo, u32 page_flags)
{
	struct ttm_tt *tt = kzalloc(sizeof(*tt), GFP_KERNEL);

	if (tt && ttm_tt_init(tt, bo, page_flags, ttm_cached, 0)) {
		kfree(tt);
		return NULL;
	}
	return tt;
}

static void kunit_tt_destroy(struct ttm_device *bdev, struct ttm_tt *tt)
{
	ttm_tt_fini(tt);
	kfree(tt);
}

static void kunit_evict_flags(struct ttm_buffer_object *bo, struct ttm_placement *placement)
{
	static const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };

	placement->placement = &system;
	placement->num_placement = 1;
}

/* No copy: suites of segments check addresses, not content. */
static int kunit_move(struct ttm_buffer_object *bo, bool evict, struct ttm_operation_ctx *ctx,
		      struct ttm_resource *new_mem, struct ttm_place *hop)
{
	ttm_bo_move_null(bo, new_mem);
	return 0;
}

const struct ttm_device_funcs pagoda_kunit_ttm_funcs = {
	.ttm_tt_create = kunit_tt_create,
	.ttm_tt_destroy = kunit_tt_destroy,
	.eviction_valuable = ttm_bo_eviction_valuable,
	.evict_flags = kunit_evict_flags,
	.move = kunit_move,
};

static void kunit_segments_fini(void *data)
{
	struct pagoda_vidmm *vidmm = data;

	pagoda_vram_fini(vidmm);
	pagoda_aperture_fini(vidmm);
	ttm_device_fini(&vidmm->ttm);
}

/*
 * &pagoda_vidmm.bo_destroy, by which the driver recognizes objects that are allocations. No object
 * of these suites has this function.
 */
static void kunit_segments_bo_destroy(struct ttm_buffer_object *bo)
{
}

/* Returns a manager with segments, but without a stream: moves change TTM's state only. */
struct pagoda_vidmm *pagoda_kunit_segments(struct kunit *test,
					   const struct pagoda_kunit_shape *shape)
{
	struct pagoda_vidmm *vidmm = test_zalloc(test, sizeof(*vidmm));
	struct drm_device *drm = pagoda_kunit_drm(test);
	const struct pagoda_vidmm_args args = { .traffic_share = 1 };

	vidmm->drm = drm;
	vidmm->info = pagoda_kunit_info(test, drm->dev, shape);
	vidmm->bo_destroy = kunit_segments_bo_destroy;
	vidmm->holdings = test_zalloc(test, sizeof(*vidmm->holdings));
	pagoda_holdings_init(vidmm->holdings, 0);
	KUNIT_ASSERT_EQ(test, pagoda_ttm_device_init(&vidmm->ttm, &pagoda_kunit_ttm_funcs, drm->dev,
						     drm->anon_inode->i_mapping,
						     drm->vma_offset_manager, false), 0);
	KUNIT_ASSERT_EQ(test, pagoda_reserve_plan(vidmm, (u64)shape->reserve << PAGE_SHIFT), 0);
	KUNIT_ASSERT_EQ(test, pagoda_promote_init(vidmm, &args), 0);
	KUNIT_ASSERT_EQ(test, pagoda_aperture_init(vidmm, &args), 0);
	KUNIT_ASSERT_EQ(test, pagoda_vram_init(vidmm, &args), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kunit_segments_fini, vidmm), 0);
	return vidmm;
}

/* Destroys the segments before the test ends, to check what is left. */
void pagoda_kunit_segments_end(struct kunit *test, struct pagoda_vidmm *vidmm)
{
	kunit_release_action(test, kunit_segments_fini, vidmm);
}

/* ---- Objects ------------------------------------------------------------------ */

/*
 * Returns an object with only what a segment manager uses; the caller calls
 * pagoda_kunit_object_end() for it.
 */
struct ttm_buffer_object *pagoda_kunit_object(struct kunit *test, struct pagoda_vidmm *vidmm,
					      u32 pages, u32 align)
{
	struct ttm_buffer_object *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, bo);
	drm_gem_private_object_init(vidmm->drm, &bo->base, (size_t)pages << PAGE_SHIFT);
	bo->bdev = &vidmm->ttm;
	bo->page_alignment = align;
	return bo;
}

void pagoda_kunit_object_end(struct ttm_buffer_object *bo)
{
	drm_gem_private_object_fini(&bo->base);
	kfree(bo);
}

/* Does what ttm_resource_alloc() does, which modules can't call. */
int pagoda_kunit_alloc(struct ttm_buffer_object *bo, u32 type, const struct ttm_place *place,
		       struct ttm_resource **res)
{
	struct ttm_resource_manager *man = ttm_manager_type(bo->bdev, type);
	struct ttm_place in_type = *place;

	in_type.mem_type = type;
	return man->func->alloc(man, bo, &in_type, res);
}

static void kunit_bo_destroy(struct ttm_buffer_object *bo)
{
	drm_gem_object_release(&bo->base);
	kfree(bo);
}

static void kunit_bo_put(void *data)
{
	ttm_bo_fini(data);
}

/* Returns an object that TTM placed at @place and may move, or NULL if that failed. */
struct ttm_buffer_object *pagoda_kunit_bo(struct kunit *test, struct pagoda_vidmm *vidmm,
					  u32 pages, const struct ttm_place *place)
{
	struct ttm_placement placement = { .num_placement = 1, .placement = place };
	struct ttm_buffer_object *bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	struct ttm_operation_ctx ctx = {};

	KUNIT_ASSERT_NOT_NULL(test, bo);
	drm_gem_private_object_init(vidmm->drm, &bo->base, (size_t)pages << PAGE_SHIFT);
	if (ttm_bo_init_reserved(&vidmm->ttm, bo, ttm_bo_type_device, &placement, 1, &ctx, NULL,
				 NULL, kunit_bo_destroy))
		return NULL;
	dma_resv_unlock(bo->base.resv);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, kunit_bo_put, bo), 0);
	return bo;
}

/* Has TTM move an object to @place. */
int pagoda_kunit_validate(struct ttm_buffer_object *bo, const struct ttm_place *place)
{
	struct ttm_placement placement = { .num_placement = 1, .placement = place };
	struct ttm_operation_ctx ctx = {};
	int ret;

	dma_resv_lock(bo->base.resv, NULL);
	ret = ttm_bo_validate(bo, &placement, &ctx);
	dma_resv_unlock(bo->base.resv);
	return ret;
}

/* ---- Random numbers ------------------------------------------------------------ */

/* Seeds @rnd anew in each run, and logs the seed, to repeat a failure; returns the seed. */
u32 pagoda_kunit_seed(struct kunit *test, struct rnd_state *rnd)
{
	u32 seed = get_random_u32();

	kunit_info(test, "seed %#x\n", seed);
	prandom_seed_state(rnd, seed);
	return seed;
}

u32 pagoda_kunit_below(struct rnd_state *rnd, u32 limit)
{
	return prandom_u32_state(rnd) % limit;
}
