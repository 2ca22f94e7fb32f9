// SPDX-License-Identifier: GPL-2.0
/* The removal of the device while another thread is in a section or frees an allocation. */
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include "rig/rig.h"
#include "rig/spy.h"
#include "segment/tiled_helpers.h"

#define VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE

static int unplug_run(void *rig)
{
	pagoda_rig_unplug(rig);
	return 0;
}

/*
 * pagoda_vidmm_stop() stops nothing before all threads have left their sections: what was begun
 * before the removal still reaches the device.
 */
static void unplug_waits_for_sections(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, VRAM, 0);
	struct pagoda_worker worker = { .run = unplug_run, .arg = rig };

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_enter(rig->vidmm));
	pagoda_worker_start(test, &worker);
	while (!rwsem_is_contended(&rig->vidmm->reset->sections) &&
	       !pagoda_worker_is_done(&worker, 1))
		;
	KUNIT_EXPECT_NOT_NULL(test, READ_ONCE(rig->vidmm->transport));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(rig, bo, 1));
	pagoda_leave(rig->vidmm);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_NULL(test, rig->vidmm->transport);
	pagoda_rig_close(bo);
}

static int unplug_close(void *bo)
{
	pagoda_rig_close(bo);
	return 0;
}

/*
 * pagoda_vidmm_stop() returns only after an allocation whose last reference is gone was freed. In
 * this test that takes long, because a lock is needed that the test holds.
 */
static void unplug_waits_for_frees(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_bo *bo = tiled_shown(rig, &tiled_layouts[0], 1);
	struct pagoda_worker close = { .run = unplug_close, .arg = bo };
	struct pagoda_worker stop = { .run = unplug_run, .arg = rig };

	mutex_lock(&rig->vidmm->swizzle->lock);
	pagoda_worker_start(test, &close);
	while (kref_read(&bo->ttm.base.refcount) && !pagoda_worker_is_done(&close, 1))
		;
	pagoda_worker_start(test, &stop);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&stop, HZ / 2));
	mutex_unlock(&rig->vidmm->swizzle->lock);
	pagoda_worker_end(test, &close);
	pagoda_worker_end(test, &stop);
}

static struct kunit_case reset_unplug_cases[] = {
	KUNIT_CASE(unplug_waits_for_sections),
	KUNIT_CASE(unplug_waits_for_frees),
	{}
};

static struct kunit_suite reset_unplug_suite = {
	.name = "pagoda_reset_unplug",
	.test_cases = reset_unplug_cases,
};

kunit_test_suite(reset_unplug_suite);
