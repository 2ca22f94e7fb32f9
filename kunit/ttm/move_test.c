// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of moves: the table of steps, the effect on content, the order and flags of packets, TTM's
 * own objects, mappings in the aperture, notices of eviction, a client's usage.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <drm/drm_gem.h>
#include "debug/debug.h"
#include "queue/queue_helpers.h"
#include "rig/rig.h"

#define VRAM		DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define APERTURE	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_APERTURE)
#define CPU		DRM_PAGODA_ALLOCATION_CPU_VISIBLE
#define PHYSICAL	DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY

/* pagoda_move_steps() agrees with rules that say when each step of a move is needed. */
static void move_table_test(struct kunit *test)
{
	static const enum pagoda_place to_system = PAGODA_PLACE_SYSTEM;
	enum pagoda_place from, to;

	for (from = PAGODA_PLACE_NONE; from < PAGODA_PLACE_COUNT; from++) {
		bool content = from != PAGODA_PLACE_NONE && from != PAGODA_PLACE_SYSTEM_EMPTY;

		KUNIT_EXPECT_EQ(test, pagoda_move_steps(from, PAGODA_PLACE_NONE),
				PAGODA_STEP_NEVER);
		KUNIT_EXPECT_EQ(test, pagoda_move_steps(from, PAGODA_PLACE_SYSTEM_EMPTY),
				pagoda_move_steps(from, to_system));
		for (to = PAGODA_PLACE_SYSTEM; to < PAGODA_PLACE_COUNT; to++) {
			u32 steps = pagoda_move_steps(from, to);
			bool crosses = (from == PAGODA_PLACE_VRAM) || (to == PAGODA_PLACE_VRAM);

			KUNIT_EXPECT_EQ(test, !!(steps & PAGODA_STEP_FILL),
					!content && to == PAGODA_PLACE_VRAM);
			KUNIT_EXPECT_EQ(test, !!(steps & PAGODA_STEP_TRANSFER),
					content && crosses);
			KUNIT_EXPECT_EQ(test, !!(steps & PAGODA_STEP_MAP),
					to == PAGODA_PLACE_APERTURE_BOUND);
			KUNIT_EXPECT_EQ(test, !!(steps & PAGODA_STEP_UNMAP),
					from == PAGODA_PLACE_APERTURE_BOUND);
			KUNIT_EXPECT_EQ(test, !!(steps & PAGODA_STEP_FLUSH),
					from == PAGODA_PLACE_VRAM && to != PAGODA_PLACE_VRAM);
		}
	}
}

/*
 * Content survives moves between VRAM, system memory and the aperture, in allocations of several
 * sizes.
 */
static void move_round_trip(struct kunit *test)
{
	static const u32 sizes[] = { 1, 3, 16, 77, 200 };
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct pagoda_bo *bo = pagoda_rig_bo(rig, sizes[i], CPU, VRAM | APERTURE, 0);

		pagoda_rig_write_vram(rig, bo, i);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		/* Content in system memory is linear, in the order the CPU sees. */
		PAGODA_PROVES(C26, C33);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
		/* Wait until TTM has freed the aperture range that the allocation had before. */
		pagoda_rig_settle_freed(rig);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, i));
		pagoda_rig_close(bo);
	}
	KUNIT_EXPECT_EQ(test, rig->fake->violations, 0);
}

static void expect_one_transfer(struct kunit *test, struct pagoda_rig *rig, struct pagoda_bo *bo,
				u32 skip, u32 pieces)
{
	u64 sum = 0, next_dst = 0;
	u32 i;

	for (i = 0; i < pieces; i++) {
		const struct pagoda_rig_note *note =
			pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, skip + i);

		KUNIT_ASSERT_NOT_NULL(test, note);
		KUNIT_EXPECT_EQ(test, !!(note->flags & VIRTIO_PAGODA_TRANSFER_START), i == 0);
		KUNIT_EXPECT_EQ(test, !!(note->flags & VIRTIO_PAGODA_TRANSFER_END),
				i == pieces - 1);
		if (note->dst == VIRTIO_PAGODA_SEGMENT_APERTURE && i)
			KUNIT_EXPECT_EQ(test, note->address, next_dst);
		next_dst = note->address + note->size;
		sum += note->size;
	}
	KUNIT_EXPECT_EQ(test, sum, bo->ttm.base.size);
}

/*
 * An allocation that is fragmented in VRAM is copied by one TRANSFER for each range, in order; only
 * the first has START, only the last END, and the sizes add up to the allocation's size.
 */
static void move_fragments(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct pagoda_bo *bo;
	u32 i, before;

	pagoda_rig_fragment(rig, odd, count);
	bo = pagoda_rig_bo(rig, 50, CPU, VRAM | APERTURE, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, pagoda_vram_count_ranges(bo->ttm.resource), 50);
	pagoda_rig_write(rig, bo, 99);
	before = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	PAGODA_PROVES(C26, C27, C29);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 99));
	expect_one_transfer(test, rig, bo, before, 50);
	before = pagoda_rig_count(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 99));
	expect_one_transfer(test, rig, bo, before, 50);
	pagoda_rig_close(bo);
	for (i = 0; i < count; i++)
		pagoda_rig_close(odd[i]);
}

/* A large move is split into pieces, even in one range of VRAM. */
static void move_pieces(struct kunit *test)
{
	const struct pagoda_rig_options large = { .large = true, .mode = test->param_value };
	const struct ttm_place one_range = {
		.mem_type = TTM_PL_VRAM,
		.flags = TTM_PL_FLAG_CONTIGUOUS,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &large);
	u32 pages = 2 * (PAGODA_PIECE_BYTES >> PAGE_SHIFT) + 77;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, pages, CPU, VRAM, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	pagoda_rig_write(rig, bo, 6);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	PAGODA_PROVES(C26, C27, C29, C30);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	expect_one_transfer(test, rig, bo, 0, 3);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_place(bo, &one_range, false));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 6));
	expect_one_transfer(test, rig, bo, 3, 3);
	KUNIT_EXPECT_EQ(test, rig->fake->violations, 0);
	pagoda_rig_close(bo);
}

/*
 * A stray write through an address that was unmapped is found on the dummy page at the next unmap;
 * it is counted once, with its offset and value.
 */
static void move_finds_stray_writes(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, APERTURE, 0);
	u64 *page = page_address(rig->vidmm->dummy->mem.page);
	u64 found = rig->vidmm->dummy->found;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, found, rig->vidmm->dummy->found);
	/* Flushes of the write combiner write to another page. */
	KUNIT_EXPECT_NE(test, rig->vidmm->dummy->mem.address, rig->vidmm->dummy->flush.address);
	page[7] = 0x1234;
	PAGODA_PROVES(C59);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, found + 1, rig->vidmm->dummy->found);
	KUNIT_EXPECT_EQ(test, 7 * sizeof(u64), rig->vidmm->dummy->offset);
	KUNIT_EXPECT_EQ(test, 0x1234, rig->vidmm->dummy->value);
	/* A stray write is also found at the unmap of an allocation that is freed. */
	page[0] = 1;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_close(bo);
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, found + 2, rig->vidmm->dummy->found);
	KUNIT_EXPECT_EQ(test, 0, page[0]);
}

/*
 * Expects, in the order of execution, each transfer that was started to end before the next one
 * starts.
 */
static void expect_transfers_whole(struct kunit *test, struct pagoda_rig *rig)
{
	u64 pending = 0;
	u32 i;

	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		if (note->opcode != VIRTIO_PAGODA_OP_TRANSFER)
			continue;
		if (note->flags & VIRTIO_PAGODA_TRANSFER_START)
			KUNIT_EXPECT_EQ(test, pending, 0);
		else
			KUNIT_EXPECT_EQ(test, pending, note->allocation);
		pending = note->flags & VIRTIO_PAGODA_TRANSFER_END ? 0 : note->allocation;
	}
}

struct mover {
	struct pagoda_bo *bo;
	struct completion done;
	int ret;
};

static int mover_run(void *data)
{
	struct mover *mover = data;
	u32 i;

	for (i = 0; i < 20 && !mover->ret; i++)
		mover->ret = i & 1 ? pagoda_rig_to_vram(mover->bo) :
				     pagoda_rig_to_system(mover->bo);
	complete(&mover->done);
	return 0;
}

/*
 * Several threads move allocations that are fragmented in VRAM: their transfers don't interleave.
 */
static void move_threads(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	struct mover movers[3] = {};
	u32 i;

	pagoda_rig_fragment(rig, odd, count);
	for (i = 0; i < ARRAY_SIZE(movers); i++) {
		movers[i].bo = pagoda_rig_bo(rig, 20, CPU, VRAM, 0);
		init_completion(&movers[i].done);
		pagoda_rig_write_vram(rig, movers[i].bo, i);
	}
	/*
	 * Each piece of a move of the first allocation is busy, so the move waits between pieces.
	 */
	movers[0].bo->content.needs_idle = true;
	for (i = 0; i < ARRAY_SIZE(movers); i++) {
		struct task_struct *task = kthread_run(mover_run, &movers[i], "pagoda-mover");

		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	}
	for (i = 0; i < ARRAY_SIZE(movers); i++) {
		wait_for_completion(&movers[i].done);
		KUNIT_EXPECT_EQ(test, movers[i].ret, 0);
		KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, movers[i].bo, i));
	}
	PAGODA_PROVES(C28);
	KUNIT_EXPECT_LT(test, rig->nr_log, PAGODA_RIG_LOG);
	expect_transfers_whole(test, rig);
	for (i = 0; i < ARRAY_SIZE(movers); i++)
		pagoda_rig_close(movers[i].bo);
	for (i = 0; i < count; i++)
		pagoda_rig_close(odd[i]);
}

/*
 * With small paging buffers a move takes several submissions, and no other transfer comes between.
 */
static void move_multipass(struct kunit *test)
{
	const struct pagoda_rig_options small = {
		.buffer_size = PAGE_SIZE,
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &small);
	u32 count = PAGODA_RIG_VRAM_PAGES / 2;
	struct pagoda_bo **odd = test_calloc(test, count, sizeof(*odd));
	const struct pagoda_rig_note *first, *last;
	struct drm_pagoda_stats stats;
	struct pagoda_bo *bo;
	u32 i;

	pagoda_rig_fragment(rig, odd, count);
	bo = pagoda_rig_bo(rig, 200, CPU, VRAM, 0);
	pagoda_rig_write_vram(rig, bo, 5);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 5));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	PAGODA_PROVES(C7, C10, C28);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 5));
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_GT(test, stats.insufficient, 0);
	first = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 0);
	last = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, bo->id, 199);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_NOT_NULL(test, last);
	KUNIT_EXPECT_LT(test, first->seqno + 1, last->seqno);
	expect_transfers_whole(test, rig);
	pagoda_rig_close(bo);
	for (i = 0; i < count; i++)
		pagoda_rig_close(odd[i]);
}

/*
 * A new allocation in VRAM is zero, whatever the VRAM had before; blocks known to be zero aren't
 * filled again.
 */
static void move_fresh_is_zero(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), 0), 0);
	pagoda_rig_write(rig, bo, 1);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(rig);

	bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	PAGODA_PROVES(C45, C41, C42);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), bo->id), 0);
	for (i = 0; i < rig->nr_log; i++) {
		const struct pagoda_rig_note *note = &rig->log[i];

		if (note->opcode != pagoda_rig_fill_op(rig))
			continue;
		if (note->opcode == VIRTIO_PAGODA_OP_FILL)
			KUNIT_EXPECT_EQ(test, note->dst, VIRTIO_PAGODA_SEGMENT_VRAM);
		/* A filled allocation has no content to copy. */
		KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, pagoda_rig_copy_op(rig),
						       note->allocation), 0);
	}
	pagoda_rig_close(bo);
}

/* A copy out of VRAM addresses plain system memory by its pages, and the aperture by an address. */
static void move_eviction_segment(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *plain = pagoda_rig_bo(rig, 7, CPU | DRM_PAGODA_ALLOCATION_CACHED,
						VRAM, 0);
	struct pagoda_bo *mapped = pagoda_rig_bo(rig, 7, CPU | PHYSICAL, VRAM | APERTURE,
						 APERTURE);
	const struct pagoda_rig_note *note, *read;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(plain));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(mapped));
	pagoda_rig_write(rig, plain, 1);
	pagoda_rig_write(rig, mapped, 2);
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->vram->manager));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C37);
	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, plain->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->dst, VIRTIO_PAGODA_SEGMENT_SYSTEM);
	/* After the copy a read makes the device write out what it may still buffer. */
	read = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_READ_PHYSICAL, plain->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, read);
	KUNIT_EXPECT_TRUE(test, read > note);
	note = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_TRANSFER, mapped->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, note);
	KUNIT_EXPECT_EQ(test, note->dst, VIRTIO_PAGODA_SEGMENT_APERTURE);
	PAGODA_PROVES(C162, C163);
	KUNIT_EXPECT_TRUE(test, pagoda_aperture_has_address(mapped->ttm.resource));
	KUNIT_EXPECT_EQ(test, rig->vidmm->aperture->mapped, 7);
	PAGODA_PROVES(C51);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, plain, 1));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, mapped, 2));
	pagoda_rig_close(plain);
	pagoda_rig_close(mapped);
}

/*
 * An eviction doesn't wait for the device: the copy of the victim out of VRAM and the fill for the
 * new allocation are queued in order.
 */
static void move_pipelined(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *old = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	struct pagoda_bo *new = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	const struct pagoda_rig_note *out, *fill;
	struct drm_pagoda_stats stats;

	pagoda_rig_write_vram(rig, old, 3);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(new));
	/* The device hasn't executed anything yet. */
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(new));
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(old));
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, pagoda_rig_copy_op(rig), 0), 0);
	pagoda_vidmm_stats(rig->vidmm, &stats);
	KUNIT_EXPECT_EQ(test, stats.cpu_waits, 0);

	pagoda_rig_settle(rig);
	PAGODA_PROVES(C36, C19);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, old, 3));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, new));
	out = pagoda_rig_find(rig, pagoda_rig_copy_op(rig), old->id, 0);
	fill = pagoda_rig_find(rig, pagoda_rig_fill_op(rig), new->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, out);
	KUNIT_ASSERT_NOT_NULL(test, fill);
	KUNIT_EXPECT_TRUE(test, out < fill);
	pagoda_rig_close(old);
	pagoda_rig_close(new);
}

/* The pages of an allocation that moves to VRAM are freed only after the copy. */
static void move_ghost(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU | DRM_PAGODA_ALLOCATION_CACHED, VRAM, 0);
	struct page *page;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, 8);
	page = bo->ttm.ttm->pages[0];
	get_page(page);
	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	msleep(20);
	KUNIT_EXPECT_FALSE(test, pagoda_rig_idle(bo));
	KUNIT_EXPECT_NULL(test, bo->ttm.ttm);
	PAGODA_PROVES(C36);
	KUNIT_EXPECT_EQ(test, page_count(page), 2);
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 8));
	flush_workqueue(rig->vidmm->ttm.wq);
	KUNIT_EXPECT_EQ(test, page_count(page), 1);
	put_page(page);
	pagoda_rig_close(bo);
}

static void stranger_destroy(struct ttm_buffer_object *bo)
{
	drm_gem_object_release(&bo->base);
	kfree(bo);
}

/* Returns an object of the kind TTM creates for what a move leaves behind, without driver state. */
static struct ttm_buffer_object *stranger(struct pagoda_rig *rig, u32 pages, u32 mem_type)
{
	struct ttm_place place = { .mem_type = mem_type };
	struct ttm_placement placement = { .num_placement = 1, .placement = &place };
	struct ttm_operation_ctx ctx = {};
	struct ttm_buffer_object *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(rig->test, bo);
	drm_gem_private_object_init(rig->drm, &bo->base, (size_t)pages << PAGE_SHIFT);
	KUNIT_ASSERT_EQ(rig->test, 0,
			ttm_bo_init_reserved(&rig->vidmm->ttm, bo, ttm_bo_type_kernel, &placement,
					     0, &ctx, NULL, NULL, stranger_destroy));
	dma_resv_unlock(bo->base.resv);
	return bo;
}

/* TTM can evict and swap out its own objects, which are no allocations of the driver. */
static void move_stranger(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct ttm_buffer_object *vram = stranger(rig, PAGODA_RIG_VRAM_PAGES, TTM_PL_VRAM);
	struct ttm_buffer_object *pages = stranger(rig, 3, TTM_PL_TT);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);
	struct ttm_operation_ctx hasty = { .no_wait_gpu = true };
	struct dma_fence *reads = pagoda_test_fence(test);
	struct ttm_operation_ctx ctx = {};

	KUNIT_ASSERT_EQ(test, TTM_PL_VRAM, vram->resource->mem_type);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_NULL(test, vram->resource);

	/* Pages that are still read aren't swapped out. */
	pagoda_rig_add_fence(test, pages->base.resv, reads, DMA_RESV_USAGE_KERNEL);
	KUNIT_EXPECT_GE(test, 0, ttm_device_swapout(&rig->vidmm->ttm, &hasty, GFP_KERNEL));
	KUNIT_ASSERT_EQ(test, TTM_PL_TT, pages->resource->mem_type);
	dma_fence_signal(reads);
	dma_fence_put(reads);
	KUNIT_EXPECT_EQ(test, 3, ttm_device_swapout(&rig->vidmm->ttm, &ctx, GFP_KERNEL));
	KUNIT_EXPECT_EQ(test, TTM_PL_SYSTEM, pages->resource->mem_type);
	ttm_bo_fini(vram);
	ttm_bo_fini(pages);
	pagoda_rig_close(bo);
}

/*
 * A discardable allocation is gutted when it is evicted: the device gets DISCARD_CONTENT and no
 * copy, and the content is zero when the allocation is back.
 */
static void move_discard(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, VRAM, 0);

	pagoda_rig_write_vram(rig, bo, 4);
	bo->content.discardable = true;
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->vram->manager));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C46, C48);
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_DISCARD_CONTENT, bo->id), 0);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, pagoda_rig_copy_op(rig), bo->id), 0);
	bo->content.discardable = false;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	PAGODA_PROVES(C47);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	KUNIT_EXPECT_GT(test, pagoda_rig_count(rig, pagoda_rig_fill_op(rig), bo->id), 0);
	pagoda_rig_close(bo);
}

/*
 * If the device has MAP_APERTURE_SEGMENT2, mappings in the aperture use nothing else. When an
 * allocation is closed, its pages are freed only after the unmap, which points the addresses to the
 * dummy page.
 */
static void move_aperture(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *wc = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, APERTURE, 0);
	struct pagoda_bo *cached = pagoda_rig_bo(rig, 6, CPU | PHYSICAL |
						 DRM_PAGODA_ALLOCATION_CACHED, APERTURE, 0);
	const struct pagoda_rig_note *map;
	u64 address, first;
	u32 generation, i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(wc, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(cached, true));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C64);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT, 0), 0);
	map = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, wc->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	first = map->address;
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, first + i,
								      &address, &generation));
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address),
				page_to_phys(wc->ttm.ttm->pages[i]));
		KUNIT_EXPECT_EQ(test, generation, map->generation);
	}

	pagoda_fake_transport_mode(rig->fake, PAGODA_FAKE_HELD);
	{
		struct page *page = wc->ttm.ttm->pages[0];

		get_page(page);
		pagoda_rig_close(wc);
		msleep(20);
		PAGODA_PROVES(C62);
		KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, first,
								      &address, &generation));
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address),
				page_to_phys(page));
		KUNIT_EXPECT_GT(test, page_count(page), 1);
		put_page(page);
	}
	pagoda_rig_settle(rig);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, first + i,
								      &address, &generation));
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address),
				page_to_phys(rig->vidmm->dummy->mem.page));
	}
	/* The other allocation is still mapped. */
	map = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, cached->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine, map->address,
							      &address, &generation));
	KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address),
			page_to_phys(cached->ttm.ttm->pages[0]));
	pagoda_rig_close(cached);
}

/* On a device without MAP_APERTURE_SEGMENT2 the driver uses MAP_APERTURE_SEGMENT only. */
static void move_aperture_old(struct kunit *test)
{
	const struct pagoda_rig_options old = {
		.without = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2)),
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &old);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, APERTURE, 0);

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT,
					       bo->id), 1);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, 0), 0);
	pagoda_rig_close(bo);
}

/*
 * Only an allocation with APERTURE_CPU_VISIBLE gets a kernel address in the aperture, at which the
 * CPU finds the allocation's pages.
 */
static void move_aperture_cpu(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *with = pagoda_rig_bo(rig, 5, CPU | PHYSICAL |
					       DRM_PAGODA_ALLOCATION_APERTURE_CPU_VISIBLE,
					       APERTURE, 0);
	struct pagoda_bo *without = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, APERTURE, 0);
	u8 *cpu;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(with, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(without, true));
	pagoda_rig_write(rig, with, 6);
	PAGODA_PROVES(C67);
	KUNIT_EXPECT_NULL(test, pagoda_aperture_of(without->ttm.resource)->cpu);
	cpu = pagoda_aperture_of(with->ttm.resource)->cpu;
	KUNIT_ASSERT_NOT_NULL(test, cpu);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, 0, memcmp(cpu + i * PAGE_SIZE,
						page_address(with->ttm.ttm->pages[i]), PAGE_SIZE));
	pagoda_rig_close(with);
	pagoda_rig_close(without);
}

/* A mapping in the aperture is cache coherent only for cached pages on a device that can snoop. */
static void move_coherent(struct kunit *test)
{
	const struct pagoda_rig_mode *mode = test->param_value;
	const u64 map2 = BIT_ULL(VIRTIO_PAGODA_F_OP(VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2));
	const struct pagoda_rig_options options[] = {
		{ .mode = mode },
		{ .without = map2, .mode = mode },
		{ .not_coherent = true, .mode = mode },
	};
	u32 i, cached;

	for (i = 0; i < ARRAY_SIZE(options) * 2; i++) {
		struct pagoda_rig *rig = pagoda_rig_create(test, &options[i / 2]);
		u32 operation = pagoda_vidmm_map_op(rig->vidmm);
		const struct pagoda_rig_note *map;
		struct pagoda_bo *bo;

		cached = i % 2 ? DRM_PAGODA_ALLOCATION_CACHED : 0;
		bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL | cached, APERTURE, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
		pagoda_rig_settle(rig);
		map = pagoda_rig_find(rig, operation, bo->id, 0);
		KUNIT_ASSERT_NOT_NULL(test, map);
		PAGODA_PROVES(C56);
		KUNIT_EXPECT_EQ(test, !!(map->flags & VIRTIO_PAGODA_MAP_CACHE_COHERENT),
				cached && !options[i / 2].not_coherent);
		pagoda_rig_close(bo);
	}
}

/*
 * A move that fails after its target was mapped in the aperture unmaps the target again; the
 * content stays in VRAM.
 */
static void move_undone(struct kunit *test)
{
	const struct ttm_place aperture = {
		.mem_type = TTM_PL_TT,
		.lpfn = PAGODA_RIG_APERTURE_PAGES,
	};
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 5, CPU | PHYSICAL, VRAM | APERTURE, APERTURE);
	const struct pagoda_rig_note *map;
	u32 generation, i;
	u64 address;

	pagoda_rig_write_vram(rig, bo, 1);
	bo->content.needs_idle = true;
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_rig_place(bo, &aperture, true));
	pagoda_rig_settle(rig);
	map = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_MAP_APERTURE_SEGMENT2, bo->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, map);
	PAGODA_PROVES(C62);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_TRUE(test, pagoda_engine_aperture_lookup(&rig->engine,
								      map->address + i,
								      &address, &generation));
		KUNIT_EXPECT_EQ(test, pagoda_rig_bus(rig, address),
				page_to_phys(rig->vidmm->dummy->mem.page));
	}
	KUNIT_EXPECT_EQ(test, bo->ttm.resource->mem_type, TTM_PL_VRAM);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	KUNIT_EXPECT_EQ(test, rig->vidmm->aperture->mapped, 0);
	pagoda_rig_close(bo);
}

/*
 * When an allocation with NOTIFY_EVICTION leaves the aperture for system memory, the device is told
 * once, before the unmap.
 */
static void move_notify(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *asked = pagoda_rig_bo(rig, 3, CPU | PHYSICAL |
						DRM_PAGODA_ALLOCATION_NOTIFY_EVICTION,
						VRAM | APERTURE, 0);
	struct pagoda_bo *other = pagoda_rig_bo(rig, 3, CPU | PHYSICAL, VRAM | APERTURE, 0);
	const struct pagoda_rig_note *notice, *unmap;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(asked));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(asked, true));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(other, true));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(asked));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(other));
	pagoda_rig_settle(rig);
	PAGODA_PROVES(C118);
	notice = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, asked->id, 0);
	unmap = pagoda_rig_find(rig, VIRTIO_PAGODA_OP_UNMAP_APERTURE_SEGMENT, asked->id, 0);
	KUNIT_ASSERT_NOT_NULL(test, notice);
	KUNIT_ASSERT_NOT_NULL(test, unmap);
	KUNIT_EXPECT_EQ(test, notice->flags, VIRTIO_PAGODA_NOTIFY_EVICTION);
	KUNIT_EXPECT_TRUE(test, notice < unmap);
	KUNIT_EXPECT_EQ(test, pagoda_rig_count(rig, VIRTIO_PAGODA_OP_NOTIFY_ALLOC, 0), 1);
	pagoda_rig_close(asked);
	pagoda_rig_close(other);
}

static u64 client_bytes(struct pagoda_rig *rig, u32 segment)
{
	return atomic64_read(&rig->client->budget.segment_bytes[segment]);
}

/*
 * A client's usage of a segment counts the bytes of its allocations in the segment; the usage
 * follows moves, and is 0 when all are freed.
 */
static void move_account(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 7, CPU | PHYSICAL, VRAM | APERTURE, 0);
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_VRAM), 7 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_SYSTEM), 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_VRAM), 0);
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_APERTURE), 7 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_APERTURE), 0);
	KUNIT_EXPECT_EQ(test, client_bytes(rig, VIRTIO_PAGODA_SEGMENT_SYSTEM), 7 * PAGE_SIZE);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(rig);
	for (i = 0; i < VIRTIO_PAGODA_SEGMENT_COUNT; i++)
		KUNIT_EXPECT_EQ(test, client_bytes(rig, i), 0);
}

static struct kunit_case move_cases[] = {
	KUNIT_CASE(move_table_test),
	KUNIT_CASE_PARAM(move_finds_stray_writes, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_round_trip, pagoda_rig_modes),
	PAGODA_CASE_PARAM_SLOW(move_fragments, pagoda_rig_mmu_modes),
	PAGODA_CASE_PARAM_SLOW(move_pieces, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_threads, pagoda_rig_modes),
	PAGODA_CASE_PARAM_SLOW(move_multipass, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_fresh_is_zero, pagoda_rig_modes),
	KUNIT_CASE_PARAM(move_eviction_segment, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_pipelined, pagoda_rig_modes),
	KUNIT_CASE_PARAM(move_ghost, pagoda_rig_modes),
	KUNIT_CASE_PARAM(move_stranger, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_discard, pagoda_rig_modes),
	KUNIT_CASE_PARAM(move_aperture, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_aperture_old, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_aperture_cpu, pagoda_rig_mmu_modes),
	PAGODA_CASE_PARAM_SLOW(move_coherent, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_undone, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_notify, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(move_account, pagoda_rig_modes),
	{}
};

static struct kunit_suite move_suite = {
	.name = "pagoda_move",
	.test_cases = move_cases,
};

kunit_test_suite(move_suite);
