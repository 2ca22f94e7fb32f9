// SPDX-License-Identifier: GPL-2.0
/*
 * Tests that no client sees another client's bytes (C200), in places that user space can't look at
 * or only with luck: memory of page tables and save areas, and memory that a lost copy should have
 * filled.
 */
#include "residency/offer_helpers.h"
#include "vm/vm_helpers.h"

#define SECRET		0x5ec2e75ec2e75ec2ull
#define FAR		SZ_1G		/* between mappings: each mapping has tables of its own */
#define MAPPINGS	5u

/* Returns an allocation of all of VRAM, in which any byte that was left in VRAM would be seen. */
static struct pagoda_bo *take_all(struct pagoda_rig *rig)
{
	struct pagoda_bo *bo = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES, CPU, SUBMIT_VRAM, 0);

	/* The VRAM of a closed allocation is freed only once the allocation is idle. */
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(rig->test, 0, pagoda_rig_to_vram(bo));
	KUNIT_EXPECT_EQ(rig->test, bo->ttm.resource->mem_type, (u32)TTM_PL_VRAM);
	pagoda_rig_settle(rig);
	return bo;
}

static u32 words_in_use(struct pagoda_rig *rig)
{
	const u64 *words = (const u64 *)rig->engine.vram;
	u64 i, count = rig->engine.vram_size / sizeof(*words);
	u32 used = 0;

	for (i = 0; i < count; i++)
		used += words[i] != 0;
	return used;
}

/*
 * The memory of page tables that were freed, by unmapping or with their VM, is zero in the next
 * allocation.
 */
static void isolation_tables(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	const bool in_vram = pagoda_mmu_mode(rig->vidmm->mmu) != VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	struct pagoda_bo *bo = vmt_bo(rig, 3, 1), *next;
	struct pagoda_vm *vm;
	u32 i;

	memset(rig->engine.vram, 0, rig->engine.vram_size);
	vm = vmt_make(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	for (i = 0; i < MAPPINGS; i++)
		KUNIT_ASSERT_EQ(test, 0, vmt_map(vm, bo, (1 + i) * (u64)FAR, 0, 3 * PAGE_SIZE, 0));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(vm));
	pagoda_rig_settle(rig);
	/* Each mapping needs entries, which in CPU_VIRTUAL mode aren't in VRAM. */
	KUNIT_EXPECT_EQ(test, words_in_use(rig) >= MAPPINGS, in_vram);
	KUNIT_ASSERT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_UNMAP, FAR, 2 * (u64)FAR));
	vmt_drop(vm);
	pagoda_rig_close(bo);
	next = take_all(rig);
	PAGODA_PROVES(C200);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, next));
	KUNIT_EXPECT_EQ(test, 0, words_in_use(rig));
	pagoda_rig_close(next);
}

/*
 * A save area holds registers, which are the client's data; the memory of a freed save area is zero
 * in the next allocation.
 */
static void isolation_save_area(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *save = submit_save_area(client), *next;
	u64 start;

	KUNIT_ASSERT_EQ(test, save->ttm.resource->mem_type, (u32)TTM_PL_VRAM);
	start = (u64)save->ttm.resource->start << PAGE_SHIFT;
	pagoda_rig_settle(rig);
	memset64((u64 *)(rig->engine.vram + start), SECRET,
		 VIRTIO_PAGODA_CONTEXT_BYTES / sizeof(u64));
	submit_client_end(client);
	next = take_all(rig);
	PAGODA_PROVES(C200);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, next));
	pagoda_rig_close(next);
}

/*
 * Pages that a copy is to fill aren't zeroed first. If the copy is lost and the pages are swapped
 * out before any access, they must come back as zeros, not with the bytes of their former user.
 */
static void isolation_lost_and_swapped(struct kunit *test)
{
	const struct pagoda_rig_options blind = {
		.no_window = true,
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 3, CPU, SUBMIT_VRAM, 0);
	struct ttm_operation_ctx ctx = {};
	u32 i;

	pagoda_rig_write_vram(rig, bo, 1);
	pagoda_rig_settle(rig);
	pagoda_rig_refuse_copy_out(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bo->content.unclean));
	for (i = 0; i < bo->ttm.ttm->num_pages; i++)
		memset64(page_address(bo->ttm.ttm->pages[i]), SECRET, PAGE_SIZE / sizeof(u64));
	swap_out_all(rig);
	KUNIT_EXPECT_TRUE(test, bo->ttm.ttm->page_flags & TTM_TT_FLAG_SWAPPED);

	/* Replace the lost content by zeros and bring the pages back, as a page fault does. */
	dma_resv_lock(bo->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, pagoda_lost_settle(bo));
	KUNIT_EXPECT_EQ(test, 0, ttm_bo_populate(&bo->ttm, &ctx));
	dma_resv_unlock(bo->ttm.base.resv);
	PAGODA_PROVES(C200);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, bo));
	pagoda_rig_close(bo);
}

#define HERE	SZ_4M

/*
 * The copy of an allocation into VRAM is lost while a VM maps the allocation, which no job lists
 * and no residency list has: a job that reads its address finds zeros, not what was in VRAM before.
 */
static void isolation_lost_and_bound(struct kunit *test)
{
	const struct pagoda_rig_options blind = {
		.no_window = true,
		.engines = true,
		.mode = test->param_value,
	};
	struct pagoda_rig *rig = pagoda_rig_create(test, &blind);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *shown = pagoda_rig_bo(rig, 3, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo *out = submit_private(client, 3, SUBMIT_APERTURE, HERE + SZ_2M);
	struct pagoda_bo *before = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES / 2, CPU, SUBMIT_VRAM,
						 0);

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, shown, HERE));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(shown));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(shown));
	pagoda_rig_write_vram(rig, before, 1);
	pagoda_rig_close(before);
	pagoda_rig_settle_freed(rig);
	pagoda_rig_settle(rig);

	/* The device refuses the copy in every attempt. */
	pagoda_rig_refuse_next(rig);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(shown));
	pagoda_rig_settle(rig);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(shown->content.lost));
	KUNIT_ASSERT_EQ(test, 0, vmt_validate(client->vm));
	submit_copy(client, HERE, HERE + SZ_2M, 3 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	PAGODA_PROVES(C200);
	KUNIT_EXPECT_TRUE(test, pagoda_rig_is_zero(rig, out));
	KUNIT_EXPECT_EQ(test, 1, pagoda_reset_epoch(rig->vidmm));
	pagoda_vm_forget(client->vm, shown);
	pagoda_vm_forget(client->vm, out);
	pagoda_rig_close(shown);
	pagoda_rig_close(out);
	submit_client_end(client);
}

static struct kunit_case isolation_cases[] = {
	KUNIT_CASE_PARAM(isolation_tables, pagoda_rig_modes),
	KUNIT_CASE(isolation_save_area),
	KUNIT_CASE_PARAM(isolation_lost_and_swapped, pagoda_rig_modes),
	KUNIT_CASE_PARAM(isolation_lost_and_bound, pagoda_rig_modes),
	{}
};

static struct kunit_suite isolation_suite = {
	.name = "pagoda_isolation",
	.test_cases = isolation_cases,
};

kunit_test_suite(isolation_suite);
