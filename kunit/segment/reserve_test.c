// SPDX-License-Identifier: GPL-2.0
/*
 * The reserve: its default size, where it is, and that page tables and save areas are placed in the
 * reserve when they find no other place; when the reserve is full, too, operations fail and change
 * nothing. vram_test.c compares allocations in VRAM and in the reserve with a map of pages.
 */
#include <kunit/static_stub.h>
#include <linux/sizes.h>
#include "debug/debug.h"
#include "rig/vidmm_helpers.h"
#include "submit/submit_helpers.h"
#include "vm/vm_helpers.h"

#define RESERVE	16u	/* pages */
#define FAR	((u64)SZ_2G)
#define MOST	40u	/* most mappings of a VM, each with page tables of its own */
#define POISON	0xa5

/* ---- Placement ----------------------------------------------------------------------- */

/*
 * Shape of a device, with the size of the reserve that is asked for, and expected @size and @start
 * of the reserve; all in pages. @size 0: pagoda_reserve_plan() is expected to fail.
 */
struct reserve_plan {
	struct pagoda_kunit_shape shape;
	u32 size;
	u32 start;
};

static const struct reserve_plan reserve_plans[] = {
	{ { .vram = 1024, .reserve = 16 }, 16, 1008 },
	{ { .vram = 1024, .reserve = 512 }, 512, 512 },
	{ { .vram = 1024, .reserve = 513 } },
	{ { .vram = 1003, .reserve = 8, .nr_invalid = 2, .invalid = { { 990, 2 }, { 1000, 3 } } },
	  8, 992 },
	{ { .vram = 1003, .reserve = 9, .nr_invalid = 2, .invalid = { { 990, 2 }, { 1000, 3 } } },
	  9, 981 },
	{ { .vram = 256, .alignment = 16, .reserve = 5, .nr_invalid = 1,
	    .invalid = { { 250, 1 } } }, 16, 224 },
	{ { .vram = 64, .reserve = 24, .nr_invalid = 2, .invalid = { { 20, 1 }, { 41, 1 } } } },
};

static void reserve_plan_name(const struct reserve_plan *plan, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u of %u pages, %u invalid ranges",
		 plan->shape.reserve, plan->shape.vram, plan->shape.nr_invalid);
}

KUNIT_ARRAY_PARAM(reserve_plan, reserve_plans, reserve_plan_name);

/*
 * The reserve is the last aligned range of its size in VRAM without invalid parts. If there is no
 * such range, or the size is more than half of VRAM, pagoda_reserve_plan() returns -EINVAL.
 */
static void reserve_where(struct kunit *test)
{
	const struct reserve_plan *plan = test->param_value;
	struct pagoda_vidmm *vidmm = test_zalloc(test, sizeof(*vidmm));
	struct drm_device *drm = pagoda_kunit_drm(test);

	vidmm->drm = drm;
	vidmm->info = pagoda_kunit_info(test, drm->dev, &plan->shape);
	KUNIT_EXPECT_EQ(test, plan->size ? 0 : -EINVAL,
			pagoda_reserve_plan(vidmm, (u64)plan->shape.reserve << PAGE_SHIFT));
	KUNIT_EXPECT_EQ(test, (u64)plan->size << PAGE_SHIFT, vidmm->reserve_size);
	KUNIT_EXPECT_EQ(test, (u64)plan->start << PAGE_SHIFT, vidmm->reserve_start);
	KUNIT_EXPECT_EQ(test, (u64)(plan->shape.vram - plan->size) << PAGE_SHIFT,
			pagoda_vidmm_segment_size(vidmm));
}

/* Clients can use what of VRAM is neither in the reserve nor in a range that is invalid. */
static void reserve_leaves_the_rest(struct kunit *test)
{
	const struct pagoda_extent invalid[] = {
		{ .size = SZ_64K }, { .offset = SZ_2M, .size = SZ_1M },
	};
	const struct pagoda_device_info info = {
		.vram_size = SZ_16M, .invalid = invalid, .nr_invalid = ARRAY_SIZE(invalid),
	};
	struct pagoda_vidmm *vidmm = test_zalloc(test, sizeof(*vidmm));

	vidmm->info = &info;
	vidmm->reserve_size = SZ_256K;
	KUNIT_EXPECT_EQ(test, SZ_16M - SZ_256K, pagoda_vidmm_segment_size(vidmm));
	KUNIT_EXPECT_EQ(test, SZ_16M - SZ_256K - SZ_64K - SZ_1M, pagoda_vidmm_vram_size(vidmm));
}

/*
 * The default size is a 64th of VRAM, rounded down to a power of two, 64 KiB at least and 16 MiB at
 * most; or 0 if that is more than half of VRAM or fits nowhere in one piece.
 */
static void reserve_share(struct kunit *test)
{
	static const struct {
		u64 vram;
		u64 share;
	} shares[] = {
		{ SZ_64K, 0 }, { SZ_128K, SZ_64K }, { SZ_4M, SZ_64K }, { SZ_64M, SZ_1M },
		{ SZ_64M + SZ_1M, SZ_1M }, { SZ_256M, SZ_4M }, { 8ull << 30, SZ_16M },
		{ 1ull << 40, SZ_16M },
	};
	struct pagoda_extent invalid = {};
	struct pagoda_device_info info = { .alignment = PAGE_SIZE, .invalid = &invalid };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shares); i++) {
		info.vram_size = shares[i].vram;
		KUNIT_EXPECT_EQ(test, shares[i].share, pagoda_reserve_default(&info));
	}
	/* No contiguous range is large enough. */
	info.vram_size = SZ_128K;
	info.nr_invalid = 1;
	invalid.offset = SZ_64K - PAGE_SIZE;
	invalid.size = 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_reserve_default(&info));
}

/* ---- Users --------------------------------------------------------------------------- */

struct reserve_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_bo *hog;
	struct pagoda_bo *shown;
	u32 base;	/* value of the first word of @shown */
};

static bool reserve_serves(struct reserve_test *t)
{
	return pagoda_mmu_mode(t->rig->vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
}

static struct drm_pagoda_segment_info reserve_info(struct pagoda_rig *rig)
{
	struct drm_pagoda_segment_info info;

	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_vidmm_segment_info(rig->vidmm, NULL,
								DRM_PAGODA_SEGMENT_VRAM, &info));
	return info;
}

/*
 * Returns how many pages of the reserve are in use; expects only page tables and save areas in the
 * reserve, and that the segment's statistics tell the same number of bytes.
 */
static u32 reserve_pages(struct reserve_test *t)
{
	struct pagoda_reserve *reserve = &t->rig->vidmm->vram->reserve;
	struct pagoda_bo *bo;
	unsigned long id = 0;
	u64 bytes = 0;

	for (; (bo = pagoda_bo_next(t->rig->vidmm, &id, XA_PRESENT)); id++) {
		dma_resv_lock(bo->ttm.base.resv, NULL);
		if (pagoda_bo_is_in_vram(bo) &&
		    pagoda_reserve_has(reserve, (u64)bo->ttm.resource->start << PAGE_SHIFT)) {
			KUNIT_EXPECT_TRUE(t->test, bo->vm.table_of || bo->vm.save_of);
			bytes += bo->ttm.base.size;
		}
		dma_resv_unlock(bo->ttm.base.resv);
		drm_gem_object_put(&bo->ttm.base);
	}
	KUNIT_EXPECT_EQ(t->test, bytes, reserve_info(t->rig).reserve_usage);
	return bytes >> PAGE_SHIFT;
}

/* Also runs if the case failed midway: destroying the rig evicts all of VRAM, so unpin @hog. */
static void reserve_drop_hog(void *hog)
{
	pagoda_rig_pin(hog, false);
	pagoda_rig_close(hog);
}

/* Fills VRAM outside of the reserve with a pinned allocation, and the reserve with poison. */
static struct reserve_test reserve_fill(struct kunit *test)
{
	struct reserve_test t = { .test = test, .rig = submit_rig_reserve(test, RESERVE) };
	struct pagoda_reserve *reserve = &t.rig->vidmm->vram->reserve;
	struct drm_pagoda_segment_info info = reserve_info(t.rig);

	KUNIT_ASSERT_EQ(test, (PAGODA_RIG_VRAM_PAGES - RESERVE) << PAGE_SHIFT, info.size);
	KUNIT_ASSERT_EQ(test, RESERVE << PAGE_SHIFT, info.reserve_size);
	memset(t.rig->engine.vram + reserve->start, POISON, reserve->size);
	t.shown = vmt_bo(t.rig, 1, 0x1000);
	t.base = 0x1000;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(t.shown, false));
	t.hog = pagoda_rig_bo(t.rig, info.size >> PAGE_SHIFT, 0, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.hog));
	pagoda_rig_pin(t.hog, true);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, reserve_drop_hog, t.hog));
	info = reserve_info(t.rig);
	KUNIT_EXPECT_EQ(test, info.size, info.usage);
	KUNIT_EXPECT_EQ(test, 0ull, info.largest_free);
	KUNIT_EXPECT_EQ(test, 0u, reserve_pages(&t));
	return t;
}

static void reserve_end(struct reserve_test *t)
{
	pagoda_rig_settle_freed(t->rig);
	KUNIT_EXPECT_EQ(t->test, 0u, reserve_pages(t));
	kunit_release_action(t->test, reserve_drop_hog, t->hog);
	pagoda_rig_close(t->shown);
}

static u64 reserve_at(u32 index)
{
	return FAR + (u64)index * SZ_1G;
}

static int reserve_map(struct reserve_test *t, struct pagoda_vm *vm, u32 index)
{
	return vmt_map(vm, t->shown, reserve_at(index), 0, PAGE_SIZE, 0);
}

/*
 * Maps @t->shown at one address after another until a map fails for want of page tables, at most
 * %MOST times; returns the number of mappings, and in *@ret the result of the last map.
 */
static u32 reserve_map_all(struct reserve_test *t, struct pagoda_vm *vm, int *ret)
{
	u32 count = 0;

	do {
		*ret = reserve_map(t, vm, count);
	} while (!*ret && ++count < MOST);
	return count;
}

/* Expects @count mappings, and faults beside them, although the tables' memory was poisoned. */
static void reserve_expect(struct reserve_test *t, struct pagoda_vm *vm, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		vmt_expect(t->rig, vm->id, reserve_at(i), t->base);
		KUNIT_EXPECT_NE(t->test, VIRTIO_PAGODA_FAULT_NONE,
				vmt_fault(t->rig, vm->id, reserve_at(i) + PAGE_SIZE));
	}
	KUNIT_EXPECT_NE(t->test, VIRTIO_PAGODA_FAULT_NONE,
			vmt_fault(t->rig, vm->id, reserve_at(count)));
}

/*
 * When the rest of VRAM is full, page tables are placed in the reserve; a map for which the reserve
 * has no room fails with -ENOMEM and leaves nothing in the reserve, all of which is free after the
 * VM is closed. In CPU_VIRTUAL mode page tables are in system memory, and no map fails.
 */
static void reserve_for_tables(struct kunit *test)
{
	struct reserve_test t = reserve_fill(test);
	bool serves = reserve_serves(&t);
	struct pagoda_vm *vm;
	u32 round, count, pages, most = 0;
	int ret;

	for (round = 0; round < 3; round++) {
		vm = vmt_make(t.rig);
		count = reserve_map_all(&t, vm, &ret);
		KUNIT_EXPECT_EQ(test, serves ? -ENOMEM : 0, ret);
		KUNIT_EXPECT_GT(test, count, 3u);
		/* Memory that was freed can be used again. */
		KUNIT_EXPECT_TRUE(test, !round || count == most);
		most = count;
		pagoda_rig_settle_freed(t.rig);
		reserve_expect(&t, vm, count);
		pages = reserve_pages(&t);
		KUNIT_EXPECT_EQ(test, serves, pages > RESERVE - 3);
		KUNIT_EXPECT_EQ(test, serves, reserve_info(t.rig).reserve_refused > round);
		if (serves)
			KUNIT_EXPECT_EQ(test, -ENOMEM, reserve_map(&t, vm, count));
		pagoda_rig_settle_freed(t.rig);
		KUNIT_EXPECT_EQ(test, pages, reserve_pages(&t));
		vmt_drop(vm);
		pagoda_rig_settle_freed(t.rig);
		KUNIT_EXPECT_EQ(test, 0u, reserve_pages(&t));
	}
	reserve_end(&t);
}

static struct pagoda_vram_resource *reserve_no_vram(void)
{
	return NULL;
}

/* Without kernel memory for a struct pagoda_vram_resource a map fails and changes nothing. */
static void reserve_no_memory(struct kunit *test)
{
	struct reserve_test t = reserve_fill(test);
	struct pagoda_vm *vm = vmt_make(t.rig);
	u32 pages;

	KUNIT_ASSERT_EQ(test, 0, reserve_map(&t, vm, 0));
	pages = reserve_pages(&t);
	KUNIT_EXPECT_GT(test, pages, 0u);
	kunit_activate_static_stub(test, pagoda_vram_new_resource, reserve_no_vram);
	KUNIT_EXPECT_EQ(test, -ENOMEM, reserve_map(&t, vm, 1));
	kunit_deactivate_static_stub(test, pagoda_vram_new_resource);
	pagoda_rig_settle_freed(t.rig);
	KUNIT_EXPECT_EQ(test, pages, reserve_pages(&t));
	KUNIT_EXPECT_EQ(test, 0, reserve_map(&t, vm, 1));
	reserve_expect(&t, vm, 2);
	vmt_drop(vm);
	reserve_end(&t);
}

/*
 * Page tables of an idle VM leave the reserve to make room for those of another VM, and are back,
 * with all mappings, after the next VM_BIND of the idle VM.
 */
static void reserve_idle_ones_leave(struct kunit *test)
{
	struct reserve_test t = reserve_fill(test);
	struct pagoda_vm *vms[2] = { vmt_make(t.rig) };
	u32 i, count;
	int ret;

	count = reserve_map_all(&t, vms[0], &ret);
	KUNIT_EXPECT_EQ(test, -ENOMEM, ret);
	pagoda_rig_settle_freed(t.rig);
	vms[1] = vmt_make(t.rig);
	for (i = 0; i < 4; i++) {
		struct pagoda_vm *vm = vms[(i + 1) % 2];

		ret = i % 2 ? vmt_set(vm, DRM_PAGODA_BIND_UNMAP, reserve_at(count), PAGE_SIZE) :
			      reserve_map(&t, vm, i / 2);
		KUNIT_ASSERT_EQ(test, 0, ret);
		pagoda_rig_settle_freed(t.rig);
		reserve_expect(&t, vm, i % 2 ? count : i / 2 + 1);
	}
	vmt_drop(vms[0]);
	vmt_drop(vms[1]);
	reserve_end(&t);
}

static struct pagoda_aperture_resource *reserve_no_aperture(void)
{
	return NULL;
}

static struct pagoda_context *reserve_context(struct reserve_test *t, struct pagoda_vm *vm)
{
	struct pagoda_context *context;

	kunit_activate_static_stub(t->test, pagoda_aperture_new_resource, reserve_no_aperture);
	context = pagoda_context_create(vm, 0, DRM_PAGODA_PRIORITY_NORMAL);
	kunit_deactivate_static_stub(t->test, pagoda_aperture_new_resource);
	return context;
}

/*
 * Save areas are placed in the reserve if VRAM and the aperture have no other room; when the
 * reserve is full, too, creating a context fails with -ENOMEM.
 */
static void reserve_for_save_areas(struct kunit *test)
{
	struct reserve_test t = reserve_fill(test);
	struct pagoda_vm *vm = vmt_make(t.rig);
	struct pagoda_context *contexts[RESERVE + 1];
	u32 count;

	for (count = 0; count < ARRAY_SIZE(contexts); count++) {
		contexts[count] = reserve_context(&t, vm);
		if (IS_ERR(contexts[count]))
			break;
		KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(contexts[count]->save.bo));
	}
	KUNIT_EXPECT_GT(test, count, 0u);
	KUNIT_ASSERT_LT(test, count, ARRAY_SIZE(contexts));
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(contexts[count]));
	KUNIT_EXPECT_EQ(test, count, list_count_nodes(&vm->saves));
	pagoda_rig_settle_freed(t.rig);
	KUNIT_EXPECT_GT(test, reserve_pages(&t) + VIRTIO_PAGODA_CONTEXT_BYTES / PAGE_SIZE, RESERVE);
	pagoda_context_destroy(contexts[--count]);
	pagoda_rig_settle_freed(t.rig);
	contexts[count] = reserve_context(&t, vm);
	KUNIT_EXPECT_FALSE(test, IS_ERR(contexts[count]));
	for (count++; count; count--)
		if (!IS_ERR(contexts[count - 1]))
			pagoda_context_destroy(contexts[count - 1]);
	vmt_drop(vm);
	reserve_end(&t);
}

/* ---- A client that uses all of VRAM at once ------------------------------------------- */

static int reserve_job(struct submit_client *client, struct pagoda_bo *bo, u64 before, u64 after)
{
	u64 last = FAR + bo->ttm.base.size - sizeof(u64);

	submit_compare(client, FAR, before);
	submit_compare(client, last, before);
	submit_store(client, FAR, after);
	submit_store(client, last, after);
	return submit_job(client, NULL);
}

static void reserve_expect_job(struct submit_client *client, struct pagoda_bo *bo, u64 before,
			       u64 after)
{
	struct kunit *test = client->rig->test;

	KUNIT_ASSERT_EQ(test, 0, reserve_job(client, bo, before, after));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_in_vram(bo));
	KUNIT_EXPECT_EQ(test, after, submit_word(client->rig, bo, 0));
}

/*
 * Jobs can use a private allocation that supports VRAM only and fills VRAM up to the reserve: its
 * page tables are in the reserve, or in CPU_VIRTUAL mode in system memory.
 */
static void reserve_for_whole_vram(struct kunit *test)
{
	struct reserve_test t = { .test = test, .rig = submit_rig_reserve(test, RESERVE) };
	struct submit_client *client = submit_client(t.rig, 0);
	u64 size = pagoda_vidmm_vram_size(t.rig->vidmm);
	struct pagoda_bo *bo = submit_private(client, size >> PAGE_SHIFT, SUBMIT_VRAM, FAR);

	KUNIT_ASSERT_EQ(test, (u64)(PAGODA_RIG_VRAM_PAGES - RESERVE) << PAGE_SHIFT, size);
	reserve_expect_job(client, bo, 0, 1);
	KUNIT_EXPECT_EQ(test, reserve_serves(&t), reserve_pages(&t) > 0);
	reserve_expect_job(client, bo, 1, 2);
	/* After a reset the content is zero, and jobs can use the allocation as before. */
	KUNIT_EXPECT_EQ(test, 0, pagoda_vidmm_reset(t.rig->vidmm));
	reserve_expect_job(client, bo, 0, 3);
	KUNIT_EXPECT_EQ(test, reserve_serves(&t), reserve_pages(&t) > 0);
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(t.rig);
	KUNIT_EXPECT_EQ(test, 0u, reserve_pages(&t));
}

/*
 * Without a reserve, page tables in VRAM leave no room for an allocation of VRAM's size (-ENOMEM).
 */
static void reserve_is_needed(struct kunit *test)
{
	struct reserve_test t = { .test = test, .rig = submit_rig(test) };
	struct submit_client *client = submit_client(t.rig, 0);
	struct pagoda_bo *bo = submit_private(client, PAGODA_RIG_VRAM_PAGES, SUBMIT_VRAM, FAR);
	int ret = reserve_job(client, bo, 0, 1);

	KUNIT_EXPECT_EQ(test, reserve_serves(&t) ? -ENOMEM : 0, ret);
	if (!ret)
		KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	pagoda_rig_close(bo);
}

static struct kunit_case reserve_cases[] = {
	KUNIT_CASE_PARAM(reserve_where, reserve_plan_gen_params),
	KUNIT_CASE(reserve_leaves_the_rest),
	KUNIT_CASE(reserve_share),
	KUNIT_CASE_PARAM(reserve_for_tables, pagoda_rig_modes),
	KUNIT_CASE(reserve_no_memory),
	KUNIT_CASE(reserve_idle_ones_leave),
	KUNIT_CASE(reserve_for_save_areas),
	KUNIT_CASE_PARAM(reserve_for_whole_vram, pagoda_rig_modes),
	KUNIT_CASE_PARAM(reserve_is_needed, pagoda_rig_update_modes),
	{ }
};

static struct kunit_suite reserve_suite = {
	.name = "pagoda_reserve",
	.test_cases = reserve_cases,
};

kunit_test_suite(reserve_suite);
