/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations that VMs map, and what is expected of these after a reset of the whole device. */
#ifndef PAGODA_KUNIT_RESET_HELPERS_H
#define PAGODA_KUNIT_RESET_HELPERS_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include "rig/rig.h"
#include "vm/vm_helpers.h"

#define RESET_PAGES	8	/* of each allocation */

static inline struct pagoda_bo *reset_bo(struct pagoda_rig *rig, u32 flags, u32 seed)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, RESET_PAGES, VM_CPU | flags,
					     VM_VRAM | VM_APERTURE, 0);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_write(rig, bo, seed);
	return bo;
}

static inline void reset_map(struct pagoda_rig *rig, struct pagoda_vm *vm, struct pagoda_bo *bo,
			     u64 address)
{
	KUNIT_ASSERT_EQ(rig->test, 0, vmt_map(vm, bo, address, 0, RESET_PAGES * PAGE_SIZE, 0));
}

/*
 * Expects that @va and the addresses behind it lead to the allocation's RESET_PAGES pages for a job
 * of the VM.
 */
static inline void reset_expect_mapped(struct pagoda_rig *rig, struct pagoda_vm *vm,
				       struct pagoda_bo *bo, u64 va)
{
	struct pagoda_vram_cursor cur;
	const void *want;
	void *here;
	u32 page;

	pagoda_rig_settle(rig);
	KUNIT_ASSERT_EQ(rig->test, 0, vmt_bring(vm, NULL));
	pagoda_rig_settle(rig);
	for (page = 0; page < RESET_PAGES; page++) {
		if (bo->ttm.resource->mem_type == TTM_PL_VRAM) {
			pagoda_vram_first(&cur, bo->ttm.resource, page * PAGE_SIZE, PAGE_SIZE);
			want = rig->engine.vram + cur.address;
		} else {
			want = page_address(bo->ttm.ttm->pages[page]);
		}
		vmt_reach(rig, vm->id, va + page * PAGE_SIZE, PAGE_SIZE,
			  VIRTIO_PAGODA_ACCESS_READ, &here);
		KUNIT_EXPECT_PTR_EQ(rig->test, want, here);
	}
}

/* Waits until the device is rebuilt, five seconds at most; returns whether it is. */
static inline bool reset_is_rebuilt(struct pagoda_rig *rig)
{
	unsigned long end = jiffies + 5 * HZ;

	while (pagoda_reset_is_pending(rig->vidmm) && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	return !pagoda_reset_is_pending(rig->vidmm);
}

/* Gives the allocation new content, and expects that moves to all places keep this content. */
static inline void reset_expect_works(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 seed)
{
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_lost_settle(bo));
	dma_resv_unlock(bo->ttm.base.resv);
	pagoda_rig_write(rig, bo, seed);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bo, seed));
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_aperture(bo, true));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bo, seed));
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bo, seed));
	KUNIT_EXPECT_EQ(rig->test, 0, rig->fake->violations);
}

#endif
