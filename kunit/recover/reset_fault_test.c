// SPDX-License-Identifier: GPL-2.0
/* CPU page faults while the device is reset. */
#include <linux/mm.h>
#include <linux/mman.h>
#include "rig/map.h"
#include "rig/rig.h"
#include "vidmm/ttm/ttm.h"

#define VRAM	DRM_PAGODA_SEGMENT_BIT(DRM_PAGODA_SEGMENT_VRAM)
#define CPU	DRM_PAGODA_ALLOCATION_CPU_VISIBLE

/* Faults a page of a mapping in, as a write to the page does. Returns 0 or a negative errno. */
static int fault_access(unsigned long at)
{
	bool unlocked = false;
	int ret;

	mmap_read_lock(current->mm);
	ret = fixup_user_fault(current->mm, at, FAULT_FLAG_WRITE, &unlocked);
	mmap_read_unlock(current->mm);
	return ret;
}

/* TTM functions for the test, and how many CPU page-table entries faults have added with them. */
struct fault_hook {
	struct ttm_device_funcs funcs;
	u32 added;
};

/* io_mem_pfn() of the test: as if a reset began while a fault adds the first page-table entry. */
static unsigned long fault_hook_pfn(struct ttm_buffer_object *bo, unsigned long offset)
{
	struct fault_hook *hook = container_of(bo->bdev->funcs, struct fault_hook, funcs);

	if (!hook->added++)
		WRITE_ONCE(pagoda_vidmm_of_ttm(bo->bdev)->reset->hidden, true);
	return pagoda_ttm_funcs.io_mem_pfn(bo, offset);
}

/*
 * A reset that begins after a fault has looked for a reset leaves no CPU mapping of VRAM: the fault
 * takes its page-table entry back, and the access faults again after the reset.
 */
static void fault_meets_reset(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	const struct ttm_device_funcs *funcs = rig->vidmm->ttm.funcs;
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, VRAM, 0);
	struct fault_hook *hook = test_zalloc(test, sizeof(*hook));
	unsigned long at;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(bo));
	pagoda_rig_settle(rig);
	at = rig_map(rig, bo, O_RDWR, PROT_READ | PROT_WRITE);
	KUNIT_ASSERT_NE(test, 0, at);
	hook->funcs = *funcs;
	hook->funcs.io_mem_pfn = fault_hook_pfn;
	rig->vidmm->ttm.funcs = &hook->funcs;
	KUNIT_EXPECT_EQ(test, 0, fault_access(at));
	KUNIT_EXPECT_EQ(test, 1, hook->added);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(rig->vidmm->reset->hidden));
	WRITE_ONCE(rig->vidmm->reset->hidden, false);
	KUNIT_EXPECT_EQ(test, 0, fault_access(at));
	KUNIT_EXPECT_EQ(test, 2, hook->added);
	/* Without a reset the page-table entry stays. */
	KUNIT_EXPECT_EQ(test, 0, fault_access(at));
	KUNIT_EXPECT_EQ(test, 2, hook->added);
	rig->vidmm->ttm.funcs = funcs;
	rig_unmap(rig, bo, at);
	pagoda_rig_close(bo);
}

static struct kunit_case reset_fault_cases[] = {
	KUNIT_CASE(fault_meets_reset),
	{}
};

static struct kunit_suite reset_fault_suite = {
	.name = "pagoda_reset_fault",
	.test_cases = reset_fault_cases,
};

kunit_test_suite(reset_fault_suite);
