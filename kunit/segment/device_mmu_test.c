// SPDX-License-Identifier: GPL-2.0
/*
 * Device-MMU mode: pages that the device reaches, when they are unmapped, and when they are freed;
 * also if the device fails at MAP_MMU or UNMAP_MMU, and before the rebuild after a reset.
 */
#include <kunit/static_stub.h>
#include <kunit/test-bug.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/workqueue.h>
#include "../drivers/pagoda/queue/internal.h"
#include "rig/rig.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define CACHED		DRM_PAGODA_ALLOCATION_CACHED
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)

/*
 * Number of pages that a small device MMU can map, of which the driver's own pages, mostly page
 * tables, take a part.
 */
#define SMALL_MMU	128

static struct pagoda_rig *mmu_rig(struct kunit *test, u32 mmu_pages)
{
	static const struct pagoda_rig_mode mode = {
		.update_mode = VIRTIO_PAGODA_UPDATE_GPU_PHYSICAL,
		.device_mmu = true,
	};
	const struct pagoda_rig_options options = { .mode = &mode, .mmu_pages = mmu_pages };

	return pagoda_rig_create(test, &options);
}

/* Returns how many pages of device addresses the driver has given out. */
static u64 mmu_used(struct pagoda_rig *rig)
{
	struct drm_mm_node *node;
	u64 used = 0;

	mutex_lock(&rig->vidmm->device_mmu->lock);
	drm_mm_for_each_node(node, &rig->vidmm->device_mmu->mm)
		used += node->size;
	mutex_unlock(&rig->vidmm->device_mmu->lock);
	return used;
}

/* Returns how many pages of device addresses the device has an entry for. */
static u64 mmu_mapped(struct pagoda_rig *rig)
{
	u64 page, bus, mapped = 0;
	bool read_only;

	for (page = 0; page < rig->engine.mmu_pages; page++)
		mapped += pagoda_engine_mmu_lookup(&rig->engine, page, &bus, &read_only);
	return mapped;
}

/*
 * Waits until all paging is complete and TTM has unmapped and freed what moves and closed
 * allocations left.
 */
static void mmu_settle(struct pagoda_rig *rig)
{
	pagoda_rig_settle_freed(rig);
	pagoda_rig_settle(rig);
}

static u64 mmu_address(struct pagoda_bo *bo)
{
	return pagoda_tt_of(bo->ttm.ttm)->node.start << PAGE_SHIFT;
}

/*
 * Returns an allocation in system memory, with content of @seed; waits until all paging is
 * complete.
 */
static struct pagoda_bo *mmu_bo(struct pagoda_rig *rig, u32 pages, u32 flags, u32 seed)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, CPU | flags, VRAM | APERTURE, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, seed);
	mmu_settle(rig);
	return bo;
}

/*
 * The device reaches an allocation's system pages from when they are allocated until they are
 * freed.
 */
static void mmu_follows_pages(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	u64 used = mmu_used(rig), mapped = mmu_mapped(rig);
	struct pagoda_bo *bo = mmu_bo(rig, 7, CACHED, 1);
	u64 address = mmu_address(bo);
	struct page *page = bo->ttm.ttm->pages[6];
	u32 i;

	PAGODA_PROVES(C62, C121);
	KUNIT_EXPECT_NE(test, address, 0);
	for (i = 0; i < 7; i++)
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address + i * PAGE_SIZE),
				page_to_phys(bo->ttm.ttm->pages[i]));
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used + 7);

	get_page(page);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	msleep(20);
	/* As long as the copy isn't complete, the pages are kept and the device reaches them. */
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address + 6 * PAGE_SIZE), page_to_phys(page));
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address + 6 * PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	put_page(page);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
	KUNIT_EXPECT_EQ(test, mmu_mapped(rig), mapped);
}

static int mmu_swap_out(struct pagoda_rig *rig)
{
	struct ttm_operation_ctx ctx = {};

	return ttm_device_swapout(&rig->vidmm->ttm, &ctx, GFP_KERNEL);
}

/* A swapped out allocation has no device addresses, and gets some again with its pages. */
static void mmu_swap(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	u64 used = mmu_used(rig), mapped = mmu_mapped(rig);
	struct pagoda_bo *bo = mmu_bo(rig, 5, 0, 3);

	KUNIT_ASSERT_EQ(test, 5, mmu_swap_out(rig));
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
	KUNIT_EXPECT_EQ(test, mmu_mapped(rig), mapped);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	pagoda_rig_close(bo);
}

/* An allocation's device addresses are contiguous; these and the kernel address show its pages. */
static void mmu_contiguous(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 9, CPU | PHYSICAL |
					     DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE,
					     APERTURE, 0);
	const struct pagoda_rig_note *map;
	u64 address, base;
	u32 generation, i;
	u8 *cpu;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_write(rig, bo, 2);
	pagoda_rig_settle(rig);
	map = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	PAGODA_PROVES(C66, C67);
	base = mmu_address(bo);
	cpu = pagoda_aperture_of(bo->ttm.resource)->cpu;
	KUNIT_ASSERT_NOT_NULL(test, cpu);
	KUNIT_EXPECT_TRUE(test, map->flags & VIRTIO_PAGODA_MAP_CONTIGUOUS);
	for (i = 0; i < 9; i++) {
		struct page *page = bo->ttm.ttm->pages[i];

		KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine,
								      map->address + i,
								      &address, &generation));
		KUNIT_EXPECT_EQ(test, address, base + i * PAGE_SIZE);
		KUNIT_EXPECT_NE(test, address, page_to_phys(page));
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address), page_to_phys(page));
		KUNIT_EXPECT_EQ(test, 0, memcmp(cpu + i * PAGE_SIZE, page_address(page),
						PAGE_SIZE));
	}
	pagoda_rig_close(bo);
}

/*
 * If an allocation finds no device addresses free, other allocations are swapped out; if even then
 * too few are free, the allocation gets -ENOMEM and stays in VRAM.
 */
static void mmu_exhausted(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, SMALL_MMU);
	u64 used = mmu_used(rig);
	u32 pages = (SMALL_MMU - 1 - used) / 2 - 1, i;
	struct pagoda_bo *bos[4], *large;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = mmu_bo(rig, pages, 0, i + 1);
	KUNIT_EXPECT_LE(test, mmu_used(rig), SMALL_MMU - 1);
	for (i = 0; i < ARRAY_SIZE(bos); i++) {
		KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bos[i]));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bos[i], i + 1));
		mmu_settle(rig);
	}
	large = pagoda_rig_bo(rig, SMALL_MMU - used, CPU, VRAM | APERTURE, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(large));
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_to_system(large));
	KUNIT_EXPECT_EQ(test, large->ttm.resource->mem_type, TTM_PL_VRAM);
	pagoda_rig_close(large);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
}

/*
 * An allocation with as many pages as the device has device addresses, of which page 0 is never
 * given out, gets -ENOMEM, and no other allocation is swapped out for it.
 */
static void mmu_too_large(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, SMALL_MMU);
	struct pagoda_bo *bo = mmu_bo(rig, 4, 0, 1);
	struct pagoda_bo *large = pagoda_rig_bo(rig, SMALL_MMU, CPU, VRAM | APERTURE, 0);
	u64 used;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(large));
	mmu_settle(rig);
	used = mmu_used(rig);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_to_system(large));
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
	KUNIT_EXPECT_TRUE(test, ttm_tt_is_populated(bo->ttm.ttm));
	pagoda_rig_close(large);
	pagoda_rig_close(bo);
}

/*
 * For an allocation with NOTIFY_IOMMU_UNMAP, and for no other, a notice is sent behind the copy of
 * its content and before UNMAP_MMU.
 */
static void mmu_notice(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *asked = mmu_bo(rig, 3, DRM_PAGODA_ALLOCATION_NOTIFY_IOMMU_UNMAP, 1);
	struct pagoda_bo *other = mmu_bo(rig, 3, 0, 2);
	const struct pagoda_rig_note *notice, *unmap;
	u64 id = asked->id;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(asked));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(other));
	mmu_settle(rig);
	PAGODA_PROVES(C118, C121);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0), 1);
	notice = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, id, 0);
	unmap = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_UNMAP_MMU, id, 0);
	KUNIT_ASSERT_NOT_NULL(test, notice);
	KUNIT_ASSERT_NOT_NULL(test, unmap);
	KUNIT_EXPECT_EQ(test, notice->flags, VIRTIO_PAGODA_NOTIFY_IOMMU_UNMAP);
	KUNIT_EXPECT_EQ(test, notice->offset, 0);
	KUNIT_EXPECT_EQ(test, notice->size, 3 * PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, id, 0) < notice);
	/* The notice is in an earlier submission: UNMAP_MMU is emitted when that one has ended. */
	KUNIT_EXPECT_LT(test, notice->seqno, unmap->seqno);
	pagoda_rig_close(asked);
	pagoda_rig_close(other);
}

/* Pages that the device failed to unmap aren't freed before the device is reset or gone. */
static void mmu_unmap_fails(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	u64 used = mmu_used(rig);
	struct pagoda_bo *bo = mmu_bo(rig, 4, CACHED, 5);
	u64 address = mmu_address(bo);
	struct page *page = bo->ttm.ttm->pages[0];

	get_page(page);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU,
		.allocation = bo->id,
		.times = 100,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	mmu_settle(rig);
	PAGODA_PROVES(C62, C121);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address), page_to_phys(page));
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used + 4);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 5));
	rig->fail.times = 0;
	pagoda_rig_close(bo);
	mmu_settle(rig);
	pagoda_device_mmu_stop(rig->vidmm);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
	put_page(page);
}

/*
 * An allocation that is swapped out while the device fails to unmap its pages gets other pages when
 * it is used again; after a reset the pages that the device kept are freed, and no others.
 */
static void mmu_swap_unmap_fails(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	u64 used = mmu_used(rig);
	struct pagoda_bo *bo = mmu_bo(rig, 5, CACHED, 3);
	struct page *kept = bo->ttm.ttm->pages[4];

	get_page(kept);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU,
		.allocation = bo->id,
		.times = 100,
	};
	KUNIT_ASSERT_EQ(test, 5, mmu_swap_out(rig));
	rig->fail.times = 0;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, page_count(kept), 2);
	KUNIT_EXPECT_PTR_NE(test, bo->ttm.ttm->pages[4], kept);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used + 10);
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_reset_wait(rig->vidmm);
	KUNIT_EXPECT_EQ(test, page_count(kept), 1);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used + 5);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	put_page(kept);
	pagoda_rig_close(bo);
}

/*
 * Pages of the driver that the device failed to unmap aren't freed before the device is reset or
 * gone.
 */
static void mmu_unmap_own_fails(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_sysmem *mem = test_zalloc(test, 2 * sizeof(*mem));
	struct page *pages[2];
	u64 used = mmu_used(rig);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		KUNIT_ASSERT_EQ(test, 0, pagoda_sysmem_alloc(rig->vidmm, &mem[i]));
		pages[i] = mem[i].page;
		get_page(pages[i]);
		KUNIT_ASSERT_EQ(test, 0, pagoda_sysmem_map(rig->vidmm, &mem[i], &mem[i].page));
		rig->fail = (struct pagoda_rig_fail) {
			.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU,
			.times = 100,
		};
		pagoda_sysmem_release(rig->vidmm, &mem[i], pagoda_sysmem_free_page);
		PAGODA_PROVES(C62, C121);
		KUNIT_EXPECT_EQ(test, page_count(pages[i]), 2);
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, mem[i].address),
				page_to_phys(pages[i]));
		KUNIT_EXPECT_EQ(test, mmu_used(rig), used + 1);
		rig->fail.times = 0;
		if (!i) {
			KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
			pagoda_reset_wait(rig->vidmm);
		} else {
			pagoda_device_mmu_stop(rig->vidmm);
		}
		KUNIT_EXPECT_EQ(test, page_count(pages[i]), 1);
		KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
		put_page(pages[i]);
	}
}

/* If UNMAP_MMU fails, with the replays of its submission, UNMAP_MMU is emitted once more. */
static void mmu_unmap_is_repeated(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	u64 used = mmu_used(rig), mapped = mmu_mapped(rig);
	struct pagoda_bo *bo = mmu_bo(rig, 4, 0, 5);

	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_UNMAP_MMU,
		.allocation = bo->id,
		.times = 3,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, rig->fail.times, 0);
	KUNIT_EXPECT_EQ(test, mmu_used(rig), used);
	KUNIT_EXPECT_EQ(test, mmu_mapped(rig), mapped);
	pagoda_rig_close(bo);
}

/* After a MAP_MMU that failed the CPU copies; MAP_MMU is emitted again before the next move. */
static void mmu_map_fails(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, VRAM, 0);
	const struct ttm_place visible = {
		.mem_type = TTM_PL_VRAM,
		.lpfn = PAGODA_RIG_VISIBLE_PAGES,
	};

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &visible, false));
	pagoda_rig_write(rig, bo, 6);
	rig->fail = (struct pagoda_rig_fail) {
		.opcode = VIRTIO_PAGODA_OP_MAP_MMU,
		.allocation = bo->id,
		.times = 3,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, rig->fail.times, 0);
	/* The CPU did the copy that the device couldn't do. */
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, mmu_address(bo)), 0);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	mmu_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 1);
	pagoda_rig_close(bo);
}

/* ---- After a reset ----------------------------------------------------------- */

/* Waits until the rebuild has opened the queue: submissions pushed from now on aren't given up. */
static void mmu_wait_open(struct pagoda_rig *rig)
{
	while (pagoda_queue_is_closed(rig->vidmm->queue))
		fsleep(100);
}

/*
 * Lets the rebuild complete, and expects one reset of the device, none of the queue, and nothing
 * that the fake device objects to.
 */
static void mmu_expect_calm(struct pagoda_rig *rig)
{
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_DEFERRED);
	pagoda_reset_wait(rig->vidmm);
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(rig->test, 1, pagoda_reset_epoch(rig->vidmm));
	KUNIT_EXPECT_EQ(rig->test, 0, rig->fake->resets);
	KUNIT_EXPECT_EQ(rig->test, 0, rig->fake->violations);
}

/*
 * A thread that is in no section may move an allocation before the rebuild gets to it: the device
 * has forgotten the mapping of the pages, and the move emits MAP_MMU again.
 */
static void mmu_moves_before_the_rebuild(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *bo = mmu_bo(rig, 7, CACHED, 1);

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	/*
	 * By then the rebuild has emitted MAP_MMU for the driver's own pages, and waits for the
	 * device, which is held.
	 */
	mmu_wait_open(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	mmu_expect_calm(rig);
	KUNIT_EXPECT_FALSE(test, bo->content.lost);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_rig_close(bo);
}

struct mmu_blocker {
	struct work_struct work;
	struct completion begun;
	struct completion let;
};

static void mmu_block(struct work_struct *work)
{
	struct mmu_blocker *blocker = container_of(work, struct mmu_blocker, work);

	complete(&blocker->begun);
	wait_for_completion(&blocker->let);
}

/*
 * An allocation may be moved before the rebuild even if the fence of its MAP_MMU, which is given up
 * because of the reset, hasn't signalled yet: the move emits MAP_MMU again.
 */
static void mmu_moves_before_the_loss(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 7, CPU | CACHED, VRAM | APERTURE, 0);
	struct pagoda_queue *queue = rig->vidmm->queue;
	struct mmu_blocker blocker;

	INIT_WORK_ONSTACK(&blocker.work, mmu_block);
	init_completion(&blocker.begun);
	init_completion(&blocker.let);
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	KUNIT_EXPECT_EQ(test, 0, pagoda_reset_request(rig->vidmm, PAGODA_RESET_ASKED));
	/* The work item that gives up submissions runs behind this one. */
	queue_work(queue->recover_wq, &blocker.work);
	wait_for_completion(&blocker.begun);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 0, dma_fence_get_status(pagoda_tt_of(bo->ttm.ttm)->mapped));
	pagoda_leave(rig->vidmm);
	mmu_wait_open(rig);
	KUNIT_EXPECT_EQ(test, 0, dma_fence_get_status(pagoda_tt_of(bo->ttm.ttm)->mapped));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	complete(&blocker.let);
	flush_work(&blocker.work);
	destroy_work_on_stack(&blocker.work);
	mmu_expect_calm(rig);
	KUNIT_EXPECT_FALSE(test, bo->content.lost);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

/*
 * A manager that can't be set up, because a recording would be too large, frees its own pages
 * without UNMAP_MMU: there is no stream yet.
 */
static void mmu_is_not_set_up(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_device_info info = rig->info;
	const struct pagoda_vidmm_args args = {
		.drm = rig->drm,
		.info = &info,
		.transport = &rig->fake->base,
		.timeout_ms = 5000,
		.record_kb = U32_MAX,
	};
	u32 submits;

	info.visible_size = 0;
	info.nr_window = 0;
	pagoda_rig_settle(rig);
	submits = rig->fake->submits;
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR_OR_ZERO(pagoda_vidmm_create(&args)));
	KUNIT_EXPECT_EQ(test, submits, rig->fake->submits);
}

static struct pagoda_bo *mmu_forgotten;

/*
 * Stands in for pagoda_stream_is_behind(), once: from then on the stream counts as restarted since
 * MAP_MMU of @mmu_forgotten.
 */
static bool mmu_forgets(struct pagoda_stream_txn *txn, enum pagoda_stream_edge edge,
			struct dma_fence *fence)
{
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_stream_is_behind);
	pagoda_tt_of(mmu_forgotten->ttm.ttm)->restarts--;
	return pagoda_stream_is_behind(txn, edge, fence);
}

/*
 * The stream is restarted just before the transaction of a move out of system pages: these are
 * mapped for the device again before the device copies from them.
 */
static void mmu_moves_after_a_restart(struct kunit *test)
{
	struct pagoda_rig *rig = mmu_rig(test, 0);
	struct pagoda_bo *bo = mmu_bo(rig, 7, CACHED, 3);
	u32 maps = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_MMU, bo->id);

	mmu_forgotten = bo;
	kunit_activate_static_stub(test, pagoda_stream_is_behind, mmu_forgets);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_vram(bo));
	mmu_settle(rig);
	KUNIT_EXPECT_EQ(test, maps + 1, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_MMU, bo->id));
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_VRAM, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 3));
	pagoda_rig_close(bo);
}

static struct kunit_case mmu_cases[] = {
	KUNIT_CASE(mmu_follows_pages),
	KUNIT_CASE(mmu_swap),
	KUNIT_CASE(mmu_contiguous),
	KUNIT_CASE(mmu_exhausted),
	KUNIT_CASE(mmu_too_large),
	KUNIT_CASE(mmu_notice),
	KUNIT_CASE(mmu_unmap_fails),
	KUNIT_CASE(mmu_swap_unmap_fails),
	KUNIT_CASE(mmu_unmap_own_fails),
	KUNIT_CASE(mmu_unmap_is_repeated),
	KUNIT_CASE(mmu_map_fails),
	KUNIT_CASE(mmu_moves_before_the_rebuild),
	KUNIT_CASE(mmu_moves_before_the_loss),
	KUNIT_CASE(mmu_moves_after_a_restart),
	KUNIT_CASE(mmu_is_not_set_up),
	{}
};

static struct kunit_suite mmu_suite = {
	.name = "pagoda_device_mmu",
	.test_cases = mmu_cases,
};

kunit_test_suite(mmu_suite);
