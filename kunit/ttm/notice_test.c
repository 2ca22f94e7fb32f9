// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of notices: what the device is told of residency and eviction, how often and when; and of
 * the flush of the device's write combiner.
 */
#include "rig/rig.h"

#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY
#define TELL		DRM_PAGODA_ALLOCATION_RESIDENCY_NOTIFICATION
#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define ONE		VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY
#define RANGES		VIRTIO_PAGODA_OP_NOTIFY_RESIDENCY2

static void notice_expect(struct kunit *test, const struct pagoda_rig_note *note, bool resident,
			  u32 segment, u64 address)
{
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->flags, resident ? VIRTIO_PAGODA_NOTIFY_RESIDENT : 0);
	KUNIT_EXPECT_EQ(test, note->dst, segment);
	KUNIT_EXPECT_EQ(test, note->address, address);
}

static u64 notice_vram(struct pagoda_bo *bo)
{
	return (u64)bo->ttm.resource->start << PAGE_SHIFT;
}

/*
 * Of a contiguous allocation, even if it moves in several pieces, the device gets one notice for an
 * arrival in VRAM, after the last copy in, and one for an eviction, before the first copy out.
 */
static void notice_chunks(struct kunit *test)
{
	const struct pagoda_rig_options options = { .large = true, .mode = test->param_value };
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 2500, PHYSICAL | TELL, VRAM, 0);
	struct pagoda_bo *silent = pagoda_rig_bo(rig, 3, PHYSICAL, VRAM, 0);
	struct pagoda_bo *scattered = pagoda_rig_bo(rig, 3, TELL, VRAM, 0);
	const struct pagoda_rig_note *left, *arrived;
	u32 copy = pagoda_rig_copy_op(rig), copies;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(silent));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(scattered));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C113, C114, C115);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 1);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, RANGES, bo->id), 0);
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, 0), true,
		      VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	copies = pagoda_rig_count(rig, copy, bo->id);
	KUNIT_EXPECT_GT(test, copies, 1);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 2);
	left = pagoda_rig_find(rig, ONE, bo->id, 1);
	notice_expect(test, left, false, 0, 0);
	KUNIT_EXPECT_TRUE(test, left < pagoda_rig_find(rig, copy, bo->id, 0));

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 3);
	arrived = pagoda_rig_find(rig, ONE, bo->id, 2);
	notice_expect(test, arrived, true, VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));
	KUNIT_EXPECT_TRUE(test, arrived > pagoda_rig_find(rig, copy, bo->id, 2 * copies - 1));
	pagoda_rig_close(bo);
	pagoda_rig_close(silent);
	pagoda_rig_close(scattered);
}

/*
 * The notice that an allocation arrived follows the fill; in a move from place to place it comes
 * after the notice that the allocation left.
 */
static void notice_moves(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, VRAM | APERTURE, 0);
	struct pagoda_bo *dirt = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	const struct ttm_place low = { .mem_type = TTM_PL_VRAM, .lpfn = 5 };
	const struct ttm_place high = { .mem_type = TTM_PL_VRAM, .fpfn = 5 };
	const struct pagoda_rig_note *note;
	u64 aperture;

	pagoda_rig_write_vram(rig, dirt, 1);
	pagoda_rig_close(dirt);
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &low, false));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C114, C115);
	note = pagoda_rig_find(rig, ONE, bo->id, 0);
	notice_expect(test, note, true, VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));
	KUNIT_EXPECT_NOT_NULL(test, pagoda_rig_find(rig, pagoda_rig_fill_op(rig), bo->id, 0));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_find(rig, pagoda_rig_fill_op(rig), bo->id, 0) < note);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &high, false));
	pagoda_rig_settle(rig);
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, 1), false, 0, 0);
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, 2), true,
		      VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	aperture = pagoda_aperture_of(bo->ttm.resource)->node.start << PAGE_SHIFT;
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, 3), false, 0, 0);
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, 4), true,
		      VIRTIO_PAGODA_SEGMENT_APERTURE, aperture);
	pagoda_rig_close(bo);
	/* The object that TTM made for the last move holds a reference to the allocation. */
	flush_workqueue(rig->vidmm->ttm.wq);
	pagoda_rig_settle(rig);
	note = pagoda_rig_find(rig, ONE, 0, 5);
	notice_expect(test, note, false, 0, 0);
	KUNIT_EXPECT_TRUE(test, note < pagoda_rig_find(rig,
						       VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT,
						       0, 0));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 6);
}

/*
 * A scattered allocation is announced by a notice for each range. The ranges are as long as
 * possible, and together have each page once.
 */
static void notice_ranges(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 12, CPU | TELL, VRAM | APERTURE, 0);
	const struct pagoda_rig_note *note;
	struct pagoda_adl pages;
	u64 page = 0;
	u32 nth = 1;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	note = pagoda_rig_find(rig, RANGES, bo->id, 0);
	notice_expect(test, note, true, VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	pagoda_rig_settle(rig);
	while (pagoda_rig_find(rig, RANGES, bo->id, nth) &&
	       pagoda_rig_find(rig, RANGES, bo->id, nth)->flags)
		nth++;
	note = pagoda_rig_find(rig, RANGES, bo->id, nth++);
	notice_expect(test, note, false, 0, 0);
	KUNIT_EXPECT_EQ(test, note->size, 12);
	pagoda_bo_adl(bo, &pages);
	for (; page < 12; page += note->size) {
		note = pagoda_rig_find(rig, RANGES, bo->id, nth++);
		notice_expect(test, note, true, VIRTIO_PAGODA_SEGMENT_SYSTEM,
			      pagoda_adl_page(&pages, page));
		KUNIT_ASSERT_EQ(test, note->offset, page);
		KUNIT_ASSERT_GT(test, note->size, 0);
		if (page)
			KUNIT_EXPECT_NE(test, note->address,
					pagoda_adl_page(&pages, page - 1) + PAGE_SIZE);
	}
	PAGODA_PROVES(C113);
	KUNIT_EXPECT_EQ(test, page, 12);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 0);
	/* Of a move to system memory, as before a swap-out, the device is told, too. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	note = pagoda_rig_find(rig, RANGES, bo->id, nth++);
	notice_expect(test, note, false, 0, 0);
	KUNIT_EXPECT_NULL(test, pagoda_rig_find(rig, RANGES, bo->id, nth));
	pagoda_rig_close(bo);
}

/*
 * Before the DISCARD_CONTENT of an allocation that is closed, or is discardable or offered and is
 * evicted, the device is told that the allocation leaves.
 */
static void notice_discard(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *gutted = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, VRAM, 0);
	struct pagoda_bo *closed = pagoda_rig_bo(rig, 5, CPU | TELL, VRAM, 0);
	struct pagoda_bo *offered = pagoda_rig_bo(rig, 5, CPU | TELL, VRAM, 0);
	u64 id[] = { gutted->id, closed->id, offered->id };
	u32 opcode[] = { ONE, RANGES, RANGES }, last, i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(gutted));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(closed));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(offered));
	KUNIT_ASSERT_EQ(test, 0, pagoda_offer(rig->vidmm, &offered, 1, DRM_PAGODA_OFFER_LOW, 0));
	pagoda_rig_close(closed);
	gutted->content.discardable = true;
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->vram->manager));
	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(id); i++) {
		const struct pagoda_rig_note *discard, *left;

		last = pagoda_rig_count(rig, opcode[i], id[i]) - 1;
		left = pagoda_rig_find(rig, opcode[i], id[i], last);
		discard = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, id[i], 0);
		notice_expect(test, left, false, 0, 0);
		KUNIT_ASSERT_NOT_NULL(test, discard);
		PAGODA_PROVES(C114);
		KUNIT_EXPECT_TRUE(test, left < discard);
	}
	pagoda_rig_close(gutted);
	pagoda_rig_close(offered);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0), 2);
}

/* After a move that failed, the last notice says where the allocation still is. */
static void notice_undone(struct kunit *test)
{
	const struct ttm_place system = { .mem_type = TTM_PL_SYSTEM };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, VRAM, 0);
	u32 last;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	bo->content.needs_idle = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &system, true));
	pagoda_rig_settle(rig);
	last = pagoda_rig_count(rig, ONE, bo->id) - 1;
	notice_expect(test, pagoda_rig_find(rig, ONE, bo->id, last), true,
		      VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bo));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id), 0);
	pagoda_rig_close(bo);
}

/* A device without NOTIFY_RESIDENCY and NOTIFY_RESIDENCY2 gets no notices of residency. */
static void notice_unknown(struct kunit *test)
{
	const struct pagoda_rig_options options = {
		.without = BIT_ULL(VIRTIO_PAGODA_F_OP(ONE)) | BIT_ULL(VIRTIO_PAGODA_F_OP(RANGES)),
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &options);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_close(bo);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, ONE, 0) + pagoda_rig_count(rig, RANGES, 0), 0);
}

/*
 * The notice of an eviction comes in pieces of at most a scratch window's size; while the device
 * executes each, the pages of the piece are mapped at the address in it.
 */
static void notice_eviction(struct kunit *test)
{
	const u32 pages = (PAGODA_SCRATCH_BYTES >> PAGE_SHIFT) + 3;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, CPU |
					     DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION, APERTURE, 0);
	u64 done = 0;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C118, C119, C120);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, bo->id), 2);
	KUNIT_ASSERT_EQ(test, rig->nr_shown, 2);
	for (i = 0; i < 2; i++) {
		const struct pagoda_rig_note *note;
		struct page **page = bo->ttm.ttm->pages + (done >> PAGE_SHIFT);

		note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, bo->id, i);
		KUNIT_EXPECT_EQ(test, note->flags, VIRTIO_PAGODA_NOTIFY_EVICTION);
		KUNIT_EXPECT_EQ(test, note->offset, done);
		KUNIT_EXPECT_NE(test, note->address, 0);
		KUNIT_EXPECT_EQ(test, rig->shown[i].first, page_to_phys(page[0]));
		done += note->size;
		KUNIT_EXPECT_EQ(test, rig->shown[i].last,
				page_to_phys(page[(note->size >> PAGE_SHIFT) - 1]));
	}
	KUNIT_EXPECT_EQ(test, done, (u64)pages << PAGE_SHIFT);
	/* Closing isn't an eviction: there is no further notice. */
	pagoda_rig_close(bo);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0), 2);
}

/*
 * After a copy to system memory the device's write combiner is flushed: by a write if the CPU's
 * mappings aren't cached, by a read if they are, and not at all where the device snoops.
 */
static void notice_flush(struct kunit *test)
{
	const struct pagoda_rig_mode *mode = test->param_value;
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *plain = pagoda_rig_bo(rig, 3, CPU, VRAM, 0);
	struct pagoda_bo *cached = pagoda_rig_bo(rig, 3, CPU | DRM_PAGODA_ALLOCATION_CACHED,
						 VRAM, 0);
	const struct pagoda_rig_note *write;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(plain));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(cached));
	pagoda_rig_write(rig, plain, 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(plain));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(cached));
	pagoda_rig_settle(rig);
	write = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, plain->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, write);
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, write->address),
			page_to_phys(rig->vidmm->dummy->flush.page));
	KUNIT_EXPECT_TRUE(test, write > pagoda_rig_find(rig, pagoda_rig_copy_op(rig),
							plain->id, 0));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_WRITE_PHYSICAL, 0), 1);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_READ_PHYSICAL,
					       plain->id), 0);
	/* In GPU_VIRTUAL mode the page-table entry says that the page is snooped. */
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_READ_PHYSICAL, cached->id),
			mode->update_mode != VIRTIO_PAGODA_UPDATE_GPU_VIRTUAL);
	PAGODA_PROVES(C51);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, plain, 1));
	pagoda_rig_close(plain);
	pagoda_rig_close(cached);
}

/*
 * At a reset the device forgets notices. The rebuild tells the device again where each allocation
 * is, in VRAM or in the aperture, and nothing of an allocation that is in neither.
 */
static void notice_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, VRAM, 0),
		pagoda_rig_bo(rig, 5, CPU | PHYSICAL | TELL, APERTURE, 0),
		pagoda_rig_bo(rig, 5, CPU | TELL, VRAM, 0),
		pagoda_rig_bo(rig, 5, CPU | TELL, VRAM, 0),
	};
	u32 told[ARRAY_SIZE(bos)], i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[0]));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bos[1], true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bos[2]));
	pagoda_rig_settle(rig);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		told[i] = pagoda_rig_count(rig, i < 2 ? ONE : RANGES, bos[i]->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_reset(rig->vidmm));
	pagoda_rig_settle(rig);
	notice_expect(test, pagoda_rig_find(rig, ONE, bos[0]->id, told[0]), true,
		      VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bos[0]));
	notice_expect(test, pagoda_rig_find(rig, ONE, bos[1]->id, told[1]), true,
		      VIRTIO_PAGODA_SEGMENT_APERTURE,
		      pagoda_aperture_of(bos[1]->ttm.resource)->node.start << PAGE_SHIFT);
	notice_expect(test, pagoda_rig_find(rig, RANGES, bos[2]->id, told[2]), true,
		      VIRTIO_PAGODA_SEGMENT_VRAM, notice_vram(bos[2]));
	KUNIT_EXPECT_EQ(test, 0u, pagoda_rig_count(rig, RANGES, bos[3]->id));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		pagoda_rig_close(bos[i]);
}

static struct kunit_case notice_cases[] = {
	PAGODA_CASE_PARAM_SLOW(notice_chunks, pagoda_rig_modes),
	KUNIT_CASE_PARAM(notice_moves, pagoda_rig_modes),
	PAGODA_CASE_PARAM_SLOW(notice_ranges, pagoda_rig_modes),
	KUNIT_CASE_PARAM(notice_reset, pagoda_rig_modes),
	KUNIT_CASE_PARAM(notice_discard, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(notice_undone, pagoda_rig_mmu_modes),
	KUNIT_CASE(notice_unknown),
	KUNIT_CASE_PARAM(notice_eviction, pagoda_rig_modes),
	KUNIT_CASE_PARAM(notice_flush, pagoda_rig_modes),
	{}
};

static struct kunit_suite notice_suite = {
	.name = "pagoda_notice",
	.test_cases = notice_cases,
};

kunit_test_suite(notice_suite);
