// SPDX-License-Identifier: GPL-2.0
/*
 * Walks over many allocations, or over the buddy allocator's blocks of VRAM: no lock that other
 * clients need is held for more than %PAGODA_WALK_SLICE of them.
 */
#include <linux/delay.h>
#include <linux/sizes.h>
#include <kunit/static_stub.h>
#include "residency/offer_helpers.h"
#include "vidmm/ledger/require.h"
#include "vm/vm_helpers.h"

#define MANY	(3 * PAGODA_WALK_SLICE + 8)
#define SLICES	4u	/* of %MANY allocations */
#define HERE	SZ_64M
#define PINNED	500u	/* pages; the rest of VRAM is too small for 2 * %LARGE + %MANY */
#define LARGE	256u
#define BOUND	(3 * PAGODA_WALK_SLICE - 1)	/* at most MANY; 2 pauses */
#define HOLES	400u

/*
 * struct slices - what the stub of pagoda_walk_pause() does: in each pause of a walk expects that
 * @lock isn't held, and counts the pause in @pauses. In the first pause @late is kept, as if
 * another operation needed it, until pause %SLICES + 1, the first of the next walk. @nested: the
 * stub itself is in a walk, whose pauses don't count
 */
static struct slices {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct lockdep_map *lock;
	struct pagoda_bo *late;
	struct pagoda_bo **bos;
	u32 pauses;
	bool nested;
} slices;

static void slices_pause(void)
{
	KUNIT_EXPECT_FALSE(slices.test, pagoda_rig_lock_is_held(slices.lock));
	if (slices.nested)
		return;
	slices.pauses++;
	if (!slices.late || (slices.pauses != 1 && slices.pauses != SLICES + 1))
		return;
	slices.nested = true;
	pagoda_victims_keep(slices.rig->vidmm, &slices.late, 1, slices.pauses == 1);
	slices.nested = false;
}

static void slices_begin(struct kunit *test, u32 flags)
{
	u32 i;

	slices = (struct slices){ .test = test, .rig = submit_rig(test) };
	slices.lock = pagoda_rig_lock_map(&slices.rig->vidmm->victims->lock);
	slices.bos = kunit_kcalloc(test, MANY + 1, sizeof(*slices.bos), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slices.bos);
	for (i = 0; i < MANY; i++)
		slices.bos[i] = pagoda_rig_bo(slices.rig, 1, flags, SUBMIT_VRAM, 0);
	kunit_activate_static_stub(test, pagoda_walk_pause, slices_pause);
}

static void slices_end(void)
{
	kunit_deactivate_static_stub(slices.test, pagoda_walk_pause);
	close_all(slices.bos, MANY);
}

/*
 * Of many allocations that an operation keeps, uses, and keeps no more, the policy is told in
 * slices.
 */
static void slices_policy(struct kunit *test)
{
	struct pagoda_vidmm *vidmm;
	struct pagoda_vm_uses uses = {};

	slices_begin(test, 0);
	vidmm = slices.rig->vidmm;
	pagoda_victims_keep(vidmm, slices.bos, MANY, true);
	KUNIT_EXPECT_EQ(test, SLICES, slices.pauses);
	KUNIT_EXPECT_EQ(test, (u32)MANY, vidmm->victims->nr_kept);
	pagoda_victims_used(vidmm, &uses, slices.bos, MANY, NULL, 0);
	KUNIT_EXPECT_EQ(test, 2 * SLICES, slices.pauses);
	pagoda_victims_keep(vidmm, slices.bos, MANY, false);
	KUNIT_EXPECT_EQ(test, 3 * SLICES, slices.pauses);
	KUNIT_EXPECT_EQ(test, 0u, vidmm->victims->nr_kept);
	slices_end();
}

/*
 * An operation that finds no victim looks for an allocation that another operation keeps, with
 * pauses if the operation keeps many itself. In this test the other operation ends in such a pause,
 * and its allocation becomes the victim.
 */
static void slices_of_others(struct kunit *test)
{
	struct pagoda_bo *pinned, *large, *late;
	struct dma_fence *fence;
	u64 trim;

	slices_begin(test, 0);
	pinned = pagoda_rig_bo(slices.rig, PINNED, 0, SUBMIT_VRAM, 0);
	late = pagoda_rig_bo(slices.rig, LARGE, 0, SUBMIT_VRAM, 0);
	large = pagoda_rig_bo(slices.rig, LARGE, 0, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(slices.rig, pinned));
	pagoda_rig_pin(pinned, true);
	KUNIT_ASSERT_EQ(test, 0, make_resident(slices.rig, late));
	slices.bos[MANY] = large;
	slices.late = late;
	slices.pauses = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(slices.rig, slices.bos, MANY + 1, &fence,
							  &trim));
	dma_fence_put(fence);
	KUNIT_EXPECT_FALSE(test, in_vram(late));
	/* The operation's own allocations are kept, and then kept no more, in slices, too. */
	KUNIT_EXPECT_EQ(test, 2 * SLICES + MANY / PAGODA_WALK_SLICE, slices.pauses);
	pagoda_rig_pin(pinned, false);
	pagoda_rig_close(pinned);
	pagoda_rig_close(large);
	pagoda_rig_close(late);
	slices_end();
}

/*
 * The allocations of the residency list that a VM maps are collected in slices as large as allowed:
 * in the pauses the spinlock of the VM's list isn't held.
 */
static void slices_bound(struct kunit *test)
{
	struct pagoda_bo **found;
	struct pagoda_vm *vm;
	u32 i, count;
	u64 trim;

	slices_begin(test, 0);
	vm = vmt_make(slices.rig);
	slices.lock = pagoda_rig_lock_map(&vm->base.extobj.lock);
	for (i = 0; i < BOUND; i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, slices.bos[i], HERE + i * PAGE_SIZE, 0,
						 PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(slices.rig->client, slices.bos, BOUND, &trim));
	slices.pauses = 0;
	mutex_lock(&vm->lock);
	KUNIT_ASSERT_EQ(test, 0, pagoda_require_bound(vm, U64_MAX, NULL, 0, &found, &count));
	mutex_unlock(&vm->lock);
	KUNIT_EXPECT_EQ(test, (u32)BOUND, count);
	/* The list is walked twice: to count the allocations, and to collect them. */
	KUNIT_EXPECT_EQ(test, 2 * (BOUND / PAGODA_WALK_SLICE), slices.pauses);
	for (i = 0; i < count; i++)
		drm_gem_object_put(pagoda_bo_gem(found[i]));
	kvfree(found);
	pagoda_client_drop_lists(slices.rig->client);
	vmt_drop(vm);
	slices_end();
}

/* QUERY visits the buddy allocator's blocks in slices, and not at all unless they have changed. */
static void slices_largest_free(struct kunit *test)
{
	struct drm_pagoda_segment_info info = { .id = DRM_PAGODA_SEGMENT_VRAM };
	struct pagoda_vram *vram;
	struct pagoda_bo **odd = kunit_kcalloc(test, HOLES, sizeof(*odd), GFP_KERNEL);
	u32 pauses;

	KUNIT_ASSERT_NOT_NULL(test, odd);
	slices_begin(test, 0);
	vram = slices.rig->vidmm->vram;
	slices.lock = pagoda_rig_lock_map(&vram->lock);
	pagoda_rig_fragment(slices.rig, odd, HOLES);
	slices.pauses = 0;
	pagoda_vram_report(slices.rig->vidmm, &info);
	pauses = slices.pauses;
	KUNIT_EXPECT_GE(test, pauses, 2 * HOLES / PAGODA_WALK_SLICE);
	pagoda_vram_report(slices.rig->vidmm, &info);
	KUNIT_EXPECT_EQ(test, pauses, slices.pauses);
	close_all(odd, HOLES);
	flush_workqueue(slices.rig->vidmm->ttm.wq);
	slices_end();
}

static u32 slices_moves;
static unsigned long slices_until;

static void slices_wait_for_moves(struct pagoda_vidmm *vidmm, unsigned long until)
{
	/* The pauses of a list have one end. */
	if (slices_moves++)
		KUNIT_EXPECT_EQ(slices.test, slices_until, until);
	slices_until = until;
	msleep(2 * jiffies_to_msecs(1));
}

/* Before each allocation of a list that moves, little of what moved before is in flight. */
static void slices_in_flight(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[5];
	struct dma_fence *fence;
	u64 trim;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = pagoda_rig_bo(rig, 1, 0, SUBMIT_VRAM, 0);
	slices.test = test;
	slices_moves = 0;
	kunit_activate_static_stub(test, pagoda_caller_pause, slices_wait_for_moves);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, bos, ARRAY_SIZE(bos), &fence,
							  &trim));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, (u32)ARRAY_SIZE(bos), slices_moves);
	slices_moves = 0;
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_evict(rig, bos, ARRAY_SIZE(bos), &fence));
	dma_fence_put(fence);
	KUNIT_EXPECT_EQ(test, (u32)ARRAY_SIZE(bos), slices_moves);
	kunit_deactivate_static_stub(test, pagoda_caller_pause);
	close_all(bos, ARRAY_SIZE(bos));
}

static struct kunit_case slices_cases[] = {
	KUNIT_CASE(slices_policy),
	KUNIT_CASE(slices_of_others),
	KUNIT_CASE(slices_bound),
	KUNIT_CASE(slices_largest_free),
	KUNIT_CASE(slices_in_flight),
	{}
};

static struct kunit_suite slices_suite = {
	.name = "pagoda_slices",
	.test_cases = slices_cases,
};

kunit_test_suite(slices_suite);
