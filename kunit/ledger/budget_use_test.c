// SPDX-License-Identifier: GPL-2.0
/*
 * Budgets of clients: usage compared with the allocations that are resident, numbers of fdinfo,
 * requests that must not exceed a budget, and which allocations are wanted.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <drm/drm_file.h>
#include <drm/drm_print.h>
#include <drm/drm_syncobj.h>
#include "core/device.h"
#include "debug/debug.h"
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "rig/vidmm_helpers.h"

#define LOCAL		DRM_PAGODA_SEGMENT_GROUP_LOCAL
#define NON_LOCAL	DRM_PAGODA_SEGMENT_GROUP_NON_LOCAL
#define HERE		SZ_4M

/* ---- Usage ---------------------------------------------------------------------------- */

static u64 usage_of(struct pagoda_client *client, u32 group)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, group, &info);
	return info.usage;
}

/* Returns the bytes of VRAM that the client wants. */
static u64 wanted_by(struct pagoda_client *client)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	return info.wanted;
}

/*
 * Returns the bytes that the rig's client has in a TTM memory type, summed up over its allocations,
 * page tables and save areas.
 */
static u64 usage_counted(struct pagoda_rig *rig, u32 type)
{
	struct pagoda_bo *bo;
	unsigned long id;
	u64 bytes = 0;

	xa_for_each(&rig->vidmm->bos, id, bo)
		if (bo->client == rig->client && bo->ttm.resource &&
		    bo->ttm.resource->mem_type == type)
			bytes += bo->ttm.base.size;
	return bytes;
}

static void usage_expect(struct pagoda_rig *rig, u64 vram, u64 aperture)
{
	KUNIT_EXPECT_EQ(rig->test, usage_of(rig->client, LOCAL), vram);
	KUNIT_EXPECT_EQ(rig->test, usage_of(rig->client, NON_LOCAL), aperture);
	KUNIT_EXPECT_EQ(rig->test, usage_counted(rig, TTM_PL_VRAM), vram);
	KUNIT_EXPECT_EQ(rig->test, usage_counted(rig, TTM_PL_TT), aperture);
}

/*
 * Usage follows each move: the usage of a segment is the sum of the sizes of the client's
 * allocations that are in the segment.
 */
static void budget_usage_moves(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(rig, 5, CPU, EITHER, 0),
		pagoda_rig_bo(rig, 7, CPU, EITHER, SUBMIT_APERTURE),
		pagoda_rig_bo(rig, 11, 0, SUBMIT_VRAM, 0),
		pagoda_rig_bo(rig, 13, CPU, SUBMIT_APERTURE, 0),
	};
	u64 vram = usage_of(rig->client, LOCAL);
	u32 i;

	PAGODA_PROVES(C165);
	/* An allocation that was never resident counts in no group's usage. */
	usage_expect(rig, vram, 0);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[i]));
	usage_expect(rig, vram + 23 * PAGE_SIZE, 13 * PAGE_SIZE);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[i]));
	/* The aperture is the second allocation's eviction segment. */
	usage_expect(rig, vram, 20 * PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[2]));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bos[2], DRM_PAGODA_OFFER_LOW));
	usage_expect(rig, vram + 11 * PAGE_SIZE, 20 * PAGE_SIZE);
	/* A discarded allocation counts in no group's usage. */
	KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[2]));
	usage_expect(rig, vram, 20 * PAGE_SIZE);
	swap_out_all(rig);
	usage_expect(rig, vram, usage_counted(rig, TTM_PL_TT));
	close_all(bos, ARRAY_SIZE(bos));
	pagoda_rig_settle_freed(rig);
	usage_expect(rig, vram, 0);
}

/* Page tables of a VM and save areas of contexts count as usage of their client. */
static void budget_usage_tables(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	bool by_cpu = pagoda_mmu_mode(rig->vidmm->mmu) == VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL;
	u64 before = usage_of(rig->client, LOCAL), local, non_local;
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = submit_private(client, 4, SUBMIT_VRAM, HERE);

	submit_store(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	local = usage_of(rig->client, LOCAL);
	non_local = usage_of(rig->client, NON_LOCAL);
	PAGODA_PROVES(C165);
	KUNIT_EXPECT_EQ(test, local, usage_counted(rig, TTM_PL_VRAM));
	/* Tables that the CPU writes are in pages that belong to no allocation. */
	if (by_cpu)
		KUNIT_EXPECT_GE(test, non_local, usage_counted(rig, TTM_PL_TT) + 4 * PAGE_SIZE);
	else
		KUNIT_EXPECT_EQ(test, non_local, usage_counted(rig, TTM_PL_TT));
	/*
	 * The allocation, the code, the save area, and a page table of each level count at least.
	 */
	KUNIT_EXPECT_GE(test, local + non_local, before + (4 + SUBMIT_PAGES + 4) * PAGE_SIZE +
						 VIRTIO_PAGODA_CONTEXT_BYTES);
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, LOCAL), usage_counted(rig, TTM_PL_VRAM));
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, LOCAL), before);
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, NON_LOCAL), 0ull);
}

/* Page tables that are evicted don't count as usage of VRAM until they come back. */
static void budget_usage_evicted_tables(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	u64 before = usage_of(rig->client, LOCAL), usage;
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, SUBMIT_VRAM, 0);
	struct submit_args args = { .bos = { bo }, .nr_bos = 1 };

	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bo, HERE));
	submit_store(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	pagoda_rig_settle_freed(rig);
	usage = usage_of(rig->client, LOCAL);
	KUNIT_EXPECT_EQ(test, usage, usage_counted(rig, TTM_PL_VRAM));
	KUNIT_ASSERT_EQ(test, 0, ttm_resource_manager_evict_all(&rig->vidmm->ttm,
								&rig->vidmm->vram->manager));
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, LOCAL), usage_counted(rig, TTM_PL_VRAM));
	KUNIT_EXPECT_LT(test, usage_of(rig->client, LOCAL), usage);
	/* The next job has the tables brought back. */
	submit_compare(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, LOCAL), usage_counted(rig, TTM_PL_VRAM));
	pagoda_vm_forget(client->vm, bo);
	submit_client_end(client);
	pagoda_rig_close(bo);
	pagoda_rig_settle_freed(rig);
	KUNIT_EXPECT_EQ(test, usage_of(rig->client, LOCAL), before);
}

/* Tests the numbers of fdinfo: bytes in all and resident, in use by jobs, purgeable and shared. */
static void budget_memory(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *busy = pagoda_rig_bo(rig, 4, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo *idle = pagoda_rig_bo(rig, 8, CPU, SUBMIT_VRAM, 0);
	struct submit_args args = { .bos = { busy }, .nr_bos = 1 };
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};
	struct pagoda_memory *vram = &memory[DRM_PAGODA_SEGMENT_VRAM];
	struct dma_fence *fence;
	u64 others;

	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, idle));
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, busy, HERE));
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	pagoda_rig_settle(rig);
	others = usage_of(rig->client, LOCAL) - 12 * PAGE_SIZE;
	/* Submit a job that doesn't complete yet. */
	pagoda_rig_hold(rig, 0, true);
	submit_store(client, HERE, 3);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, busy, DRM_PAGODA_OFFER_LOW));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, idle, DRM_PAGODA_OFFER_LOW));
	pagoda_memory_add(memory, rig->client, busy, false);
	pagoda_memory_add(memory, rig->client, idle, true);
	KUNIT_EXPECT_EQ(test, vram->total, 0ull);
	KUNIT_EXPECT_EQ(test, vram->active, 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vram->purgeable, 8 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vram->shared, 8 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vram->resident, 12 * PAGE_SIZE);
	pagoda_memory_add_client(memory, rig->client);
	KUNIT_EXPECT_EQ(test, vram->total, 12 * PAGE_SIZE + others);
	KUNIT_EXPECT_EQ(test, vram->resident, vram->total);
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_rig_settle(rig);
	/* The numbers of a client that has a handle of an allocation that another client made. */
	memset(memory, 0, sizeof(memory));
	pagoda_memory_add(memory, NULL, busy, true);
	KUNIT_EXPECT_EQ(test, vram->total, 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vram->active, 0ull);
	KUNIT_EXPECT_EQ(test, vram->purgeable, 4 * PAGE_SIZE);
	/* A discarded allocation has no pages. */
	memset(memory, 0, sizeof(memory));
	KUNIT_ASSERT_EQ(test, 0, evict(rig, idle));
	pagoda_memory_add(memory, NULL, idle, false);
	KUNIT_EXPECT_EQ(test, vram->total, 0ull);
	KUNIT_EXPECT_EQ(test, memory[DRM_PAGODA_SEGMENT_SYSTEM].total, 8 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memory[DRM_PAGODA_SEGMENT_SYSTEM].resident, 0ull);
	KUNIT_EXPECT_EQ(test, memory[DRM_PAGODA_SEGMENT_SYSTEM].purgeable, 0ull);
	/* Only a resident allocation counts as active. */
	memset(memory, 0, sizeof(memory));
	fence = pagoda_test_fence(test);
	pagoda_rig_add_fence(test, idle->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	pagoda_memory_add(memory, NULL, idle, false);
	KUNIT_EXPECT_EQ(test, memory[DRM_PAGODA_SEGMENT_SYSTEM].total, 8 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, memory[DRM_PAGODA_SEGMENT_SYSTEM].active, 0ull);
	dma_fence_signal(fence);
	dma_fence_put(fence);
	pagoda_vm_forget(client->vm, busy);
	submit_client_end(client);
	pagoda_rig_close(busy);
	pagoda_rig_close(idle);
}

/* Returns the number in the text's line for @key; the line has to name @unit. */
static u64 fdinfo_number(struct kunit *test, const char *text, const char *key, const char *unit)
{
	const char *line = strstr(text, key);
	char found[8] = {};
	u64 number = 0;
	int count;

	KUNIT_ASSERT_NOT_NULL_MSG(test, line, "%s", key);
	count = sscanf(line + strlen(key), ":\t%llu %7s", &number, found);
	KUNIT_EXPECT_EQ_MSG(test, 2, count, "%s", key);
	KUNIT_EXPECT_STREQ_MSG(test, unit, found, "%s", key);
	return number;
}

/* Returns what fdinfo shows of a file of the rig's client that has handles of the allocations. */
static const char *fdinfo_read(struct pagoda_rig *rig, struct pagoda_bo **bos, u32 count)
{
	struct pagoda_device *pagoda = test_zalloc(rig->test, sizeof(*pagoda));
	struct drm_file *file = test_zalloc(rig->test, sizeof(*file));
	struct drm_minor minor = { .dev = &pagoda->drm };
	char *text = test_zalloc(rig->test, SZ_8K);
	struct drm_print_iterator iterator = { .data = text, .remain = SZ_8K - 1 };
	struct drm_printer p = drm_coredump_printer(&iterator);
	u32 i;

	pagoda->vidmm = rig->vidmm;
	pagoda->info = rig->info;
	file->driver_priv = rig->client;
	file->minor = &minor;
	spin_lock_init(&file->table_lock);
	idr_init(&file->object_idr);
	for (i = 0; i < count; i++)
		KUNIT_ASSERT_LT(rig->test, 0, idr_alloc(&file->object_idr, pagoda_bo_gem(bos[i]), 1,
							0, GFP_KERNEL));
	pagoda_show_fdinfo(&p, file);
	idr_destroy(&file->object_idr);
	return text;
}

/*
 * fdinfo shows of an allocation that was made resident: the bytes elsewhere than in VRAM, which the
 * allocation prefers; what is in use, and can't be purged; what can be purged after an offer. And
 * fdinfo shows the time of engines.
 */
static void fdinfo_use(struct pagoda_rig *rig, struct pagoda_bo *bo)
{
	struct kunit *test = rig->test;
	struct dma_fence *fence = pagoda_test_fence(test);
	u64 kib = bo->ttm.base.size / SZ_1K;
	const char *text;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	KUNIT_ASSERT_TRUE(test, bo->wish.resident);
	text = fdinfo_read(rig, &bo, 1);
	KUNIT_EXPECT_EQ(test, kib, fdinfo_number(test, text, "pagoda-spilled-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, 0, fdinfo_number(test, text, "pagoda-spilled-gtt", "KiB"));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_rig_settle_freed(rig);
	pagoda_rig_add_fence(test, bo->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	text = fdinfo_read(rig, &bo, 1);
	KUNIT_EXPECT_EQ(test, 0, fdinfo_number(test, text, "pagoda-spilled-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, kib, fdinfo_number(test, text, "drm-active-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, 0, fdinfo_number(test, text, "drm-engine-exec0", "ns"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "drm-purgeable-vram:\t0"));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	text = fdinfo_read(rig, &bo, 1);
	KUNIT_EXPECT_EQ(test, kib, fdinfo_number(test, text, "drm-purgeable-vram", "KiB"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "drm-active-vram:\t0"));
}

/* fdinfo shows the client's numbers, in KiB. */
static void budget_fdinfo(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(rig, 8, CPU, SUBMIT_VRAM, 0),
		pagoda_rig_bo(rig, 4, CPU, SUBMIT_VRAM, 0),
	};
	struct pagoda_budget_info info;
	const char *text;

	/*
	 * The first allocation is copied to VRAM; the second stays in system memory, without pages.
	 */
	pagoda_rig_write_vram(rig, bos[0], 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[0]));
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[0]));
	pagoda_rig_settle_freed(rig);
	KUNIT_ASSERT_FALSE(test, in_vram(bos[1]));
	pagoda_budget_info(&rig->client->budget, LOCAL, &info);
	text = fdinfo_read(rig, bos, ARRAY_SIZE(bos));
	KUNIT_EXPECT_EQ(test, 4 * PAGE_SIZE / SZ_1K,
			fdinfo_number(test, text, "drm-total-memory", "KiB"));
	KUNIT_EXPECT_EQ(test, 8 * PAGE_SIZE / SZ_1K,
			fdinfo_number(test, text, "drm-total-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, 8 * PAGE_SIZE / SZ_1K,
			fdinfo_number(test, text, "drm-resident-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, 8 * PAGE_SIZE / SZ_1K,
			fdinfo_number(test, text, "pagoda-usage-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, info.budget / SZ_1K,
			fdinfo_number(test, text, "pagoda-budget-vram", "KiB"));
	KUNIT_EXPECT_EQ(test, 8 * PAGE_SIZE / SZ_1K,
			fdinfo_number(test, text, "pagoda-paged-in", "KiB"));
	fdinfo_use(rig, bos[0]);
	close_all(bos, ARRAY_SIZE(bos));
}

/* Page tables that the CPU writes count as resident in the aperture. */
static void budget_tables(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};
	struct pagoda_memory *gtt = &memory[DRM_PAGODA_SEGMENT_APERTURE];
	u64 before;

	pagoda_memory_add_client(memory, rig->client);
	before = gtt->resident;
	pagoda_budget_charge_tables(&rig->client->budget, 3 * PAGE_SIZE);
	memset(memory, 0, sizeof(memory));
	pagoda_memory_add_client(memory, rig->client);
	KUNIT_EXPECT_EQ(test, before + 3 * PAGE_SIZE, gtt->resident);
	KUNIT_EXPECT_EQ(test, 0, memory[DRM_PAGODA_SEGMENT_VRAM].resident);
	pagoda_budget_charge_tables(&rig->client->budget, -3 * (s64)PAGE_SIZE);
}

/* Expects how many bytes of the allocation count as spilled from segment @id. */
static void spilled_expect(struct pagoda_rig *rig, struct pagoda_bo *bo, u32 id, u64 bytes)
{
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};

	pagoda_memory_add(memory, rig->client, bo, false);
	KUNIT_EXPECT_EQ(rig->test, bytes, memory[id].spilled);
}

/*
 * An allocation that isn't in the segment that it prefers counts as spilled if it was made resident
 * or is on a residency list, prefers a segment, and isn't offered.
 */
static void budget_spilled(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 4, CPU, SUBMIT_VRAM, 0);
	const u32 vram = DRM_PAGODA_SEGMENT_VRAM;
	const u64 size = bo->ttm.base.size;

	KUNIT_ASSERT_EQ(test, vram, bo->preferred[0]);
	spilled_expect(rig, bo, vram, 0);
	atomic_inc(&bo->wish.required);
	spilled_expect(rig, bo, vram, size);
	atomic_dec(&bo->wish.required);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bo));
	pagoda_rig_settle_freed(rig);
	spilled_expect(rig, bo, vram, 0);
	bo->preferred[0] = 0;
	spilled_expect(rig, bo, DRM_PAGODA_SEGMENT_SYSTEM, 0);
	bo->preferred[0] = vram;
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	pagoda_rig_settle_freed(rig);
	spilled_expect(rig, bo, vram, size);
	KUNIT_ASSERT_EQ(test, 0, offer(rig, bo, DRM_PAGODA_OFFER_LOW));
	atomic_inc(&bo->wish.required);
	spilled_expect(rig, bo, vram, 0);
	atomic_dec(&bo->wish.required);
	pagoda_rig_close(bo);
}

/*
 * Of what is in no segment, only pages count as resident: what the client is charged for doesn't
 * change that.
 */
static void budget_system_pages(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create_mode(test);
	struct pagoda_memory memory[PAGODA_BUDGET_SEGMENTS] = {};
	struct pagoda_memory *system = &memory[DRM_PAGODA_SEGMENT_SYSTEM];
	struct pagoda_bo *bos[] = {
		pagoda_rig_bo(rig, 8, CPU, SUBMIT_VRAM, 0),
		pagoda_rig_bo(rig, 4, CPU, SUBMIT_VRAM, 0),
	};

	/* Only the first allocation has pages. */
	pagoda_rig_write_vram(rig, bos[0], 1);
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bos[0]));
	pagoda_rig_settle_freed(rig);
	pagoda_memory_add(memory, rig->client, bos[0], false);
	pagoda_memory_add(memory, rig->client, bos[1], false);
	pagoda_memory_add_client(memory, rig->client);
	KUNIT_EXPECT_EQ(test, 12 * PAGE_SIZE, system->total);
	KUNIT_EXPECT_EQ(test, 8 * PAGE_SIZE, system->resident);
	close_all(bos, ARRAY_SIZE(bos));
}

/* Returns how often the text has @key. */
static u32 fdinfo_lines(const char *text, const char *key)
{
	u32 count = 0;

	while ((text = strstr(text, key))) {
		text += strlen(key);
		count++;
	}
	return count;
}

/* fdinfo has each region once; only VRAM and the aperture have budgets. */
static void budget_regions(struct kunit *test)
{
	struct pagoda_rig *rig = pagoda_rig_create(test, NULL);
	const char *text = fdinfo_read(rig, NULL, 0);

	KUNIT_EXPECT_EQ_MSG(test, 3, fdinfo_lines(text, "drm-total-"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 3, fdinfo_lines(text, "drm-resident-"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 1, fdinfo_lines(text, "drm-total-memory:"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 1, fdinfo_lines(text, "drm-total-vram:"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 1, fdinfo_lines(text, "drm-total-gtt:"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 2, fdinfo_lines(text, "pagoda-budget-"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 1, fdinfo_lines(text, "pagoda-budget-vram:"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 1, fdinfo_lines(text, "pagoda-budget-gtt:"), "%s", text);
	KUNIT_EXPECT_EQ_MSG(test, 2, fdinfo_lines(text, "pagoda-spilled-"), "%s", text);
}

/* ---- Not over the budget ------------------------------------------------------------------ */

#define DENY	DRM_PAGODA_RESIDENT_DENY_OVERBUDGET
#define PAGES	64u
#define BOS	12u
#define WALL	(PAGODA_RIG_VRAM_PAGES - 5 * PAGES - PAGES / 2)	/* pages; five of @bos fit beside */

struct deny_test {
	struct pagoda_rig *rig;
	struct pagoda_client *other;
	struct drm_syncobj *timeline;
	struct pagoda_paging_queue *queue;
	struct pagoda_bo *bos[BOS];
	struct pagoda_paging_args last;
};

/*
 * Has another client reserve so much that the rig's client may want @budget more allocations, and
 * half of one, within its budget.
 */
static struct deny_test deny_begin(struct kunit *test, u32 budget)
{
	struct deny_test t = { .rig = submit_rig(test), .timeline = submit_syncobj(test) };
	struct pagoda_budget_info info;
	u32 i;

	t.other = pagoda_client_create(t.rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, t.other);
	t.queue = pagoda_paging_queue_create(t.rig->vidmm, t.rig->client, 0, t.timeline);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t.queue));
	for (i = 0; i < BOS; i++)
		t.bos[i] = pagoda_rig_bo(t.rig, PAGES, CPU, SUBMIT_VRAM, 0);
	pagoda_budget_info(&t.rig->client->budget, LOCAL, &info);
	KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&t.other->budget, LOCAL,
						       info.budget - info.wanted -
						       (budget * PAGES + PAGES / 2) * PAGE_SIZE));
	return t;
}

static void deny_end(struct deny_test *t)
{
	pagoda_client_drop_lists(t->rig->client);
	pagoda_paging_queue_put(t->queue);
	pagoda_client_put(t->other);
	close_all(t->bos, BOS);
}

static int deny_make(struct deny_test *t, u32 first, u32 count, u32 flags)
{
	t->last = (struct pagoda_paging_args) {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	return pagoda_paging_make_resident(t->queue, &t->last);
}

static int deny_evict(struct deny_test *t, u32 first, u32 count)
{
	t->last = (struct pagoda_paging_args) { .bos = &t->bos[first], .count = count };
	return pagoda_paging_evict(t->queue, &t->last);
}

static int deny_wait(struct deny_test *t)
{
	return t->last.value ? submit_wait_point(t->timeline, t->last.value) : 0;
}

/*
 * Expects a request with DENY_OVERBUDGET to be refused, to report @over bytes to trim, and to have
 * no other effect.
 */
static void deny_refused(struct deny_test *t, u32 first, u32 count, u64 over)
{
	struct kunit *test = t->rig->test;
	u64 usage = usage_of(t->rig->client, LOCAL), wanted = wanted_by(t->rig->client);
	u64 given = t->queue->given;
	u32 i, counts[BOS];

	for (i = 0; i < BOS; i++)
		counts[i] = pagoda_require_count(t->rig->client, t->bos[i]);
	KUNIT_EXPECT_EQ(test, -ENOMEM, deny_make(t, first, count, DENY));
	KUNIT_EXPECT_EQ(test, t->last.bytes_to_trim, over);
	KUNIT_EXPECT_EQ(test, t->last.value, 0ull);
	KUNIT_EXPECT_EQ(test, t->queue->given, given);
	KUNIT_EXPECT_EQ(test, usage_of(t->rig->client, LOCAL), usage);
	KUNIT_EXPECT_EQ(test, wanted_by(t->rig->client), wanted);
	KUNIT_EXPECT_EQ(test, t->rig->client->error, 0);
	for (i = 0; i < BOS; i++)
		KUNIT_EXPECT_EQ(test, counts[i], pagoda_require_count(t->rig->client, t->bos[i]));
}

/*
 * A request with DENY_OVERBUDGET that exceeds the budget fails with -ENOMEM, has no effect, and
 * reports by how many bytes.
 */
static void budget_denies(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const u64 half = PAGES / 2 * PAGE_SIZE, one = PAGES * PAGE_SIZE;

	PAGODA_PROVES(C167);
	deny_refused(&t, 0, 9, half);
	deny_refused(&t, 0, 12, 3 * one + half);
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 0, 6, DENY));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	/* An allocation that is already on the residency list adds nothing to what is wanted. */
	deny_refused(&t, 3, 6, half);
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 2, 6, DENY));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	deny_refused(&t, 11, 1, half);
	/* Without the flag a request may exceed the budget; EVICT reports by how much. */
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 8, 2, 0));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	deny_refused(&t, 11, 1, 2 * one + half);
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 0, 10, DENY));
	KUNIT_ASSERT_EQ(test, 0, deny_evict(&t, 0, 1));
	KUNIT_EXPECT_EQ(test, t.last.bytes_to_trim, one + half);
	/* After EVICT of that much the request succeeds. */
	KUNIT_ASSERT_EQ(test, 0, deny_evict(&t, 0, 1));
	KUNIT_ASSERT_EQ(test, 0, deny_evict(&t, 8, 2));
	KUNIT_ASSERT_EQ(test, 0, deny_evict(&t, 8, 2));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 11, 1, DENY));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	KUNIT_EXPECT_TRUE(test, in_vram(t.bos[11]));
	deny_end(&t);
}

/*
 * Allocations of an accepted request count as wanted before they are resident, and not again when
 * they are.
 */
static void budget_denies_ahead(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const u64 half = PAGES / 2 * PAGE_SIZE;
	u64 value;

	/* The pager blocks at the first allocation until the dma_resv is unlocked. */
	dma_resv_lock(t.bos[0]->ttm.base.resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 0, 5, DENY));
	KUNIT_ASSERT_NE(test, t.last.value, 0ull);
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 5, 3, 0));
	value = t.last.value;
	deny_refused(&t, 8, 1, half);
	KUNIT_EXPECT_EQ(test, pagoda_budget_excess(&t.rig->client->budget), 0ull);
	dma_resv_unlock(t.bos[0]->ttm.base.resv);
	KUNIT_ASSERT_EQ(test, 0, submit_wait_point(t.timeline, value));
	deny_refused(&t, 8, 1, half);
	/* Without the other client's reservation the budget is larger. */
	KUNIT_ASSERT_EQ(test, 0, pagoda_budget_reserve(&t.other->budget, LOCAL, 0));
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 8, 1, DENY));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	deny_end(&t);
}

/*
 * A request finds no place for its last allocations before the dma_resv of another allocation,
 * which fills most of VRAM, is unlocked: all allocations of the request count as wanted from the
 * call on, and only once.
 */
static void budget_counts_once(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const struct pagoda_bo_params params = {
		.size = WALL * PAGE_SIZE, .flags = CPU, .supported = SUBMIT_VRAM,
	};
	struct pagoda_bo *wall = test_ok(test, pagoda_bo_create(t.rig->vidmm, NULL, &params));
	const u64 half = PAGES / 2 * PAGE_SIZE, one = PAGES * PAGE_SIZE;
	u64 before = usage_of(t.rig->client, LOCAL), wanted = wanted_by(t.rig->client);
	u64 room, value;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(wall));
	pagoda_rig_settle(t.rig);
	room = pagoda_vidmm_vram_size(t.rig->vidmm) -
	       ttm_resource_manager_usage(ttm_manager_type(&t.rig->vidmm->ttm, TTM_PL_VRAM));
	KUNIT_ASSERT_GE(test, room, one);
	KUNIT_ASSERT_LT(test, room, 6 * one);
	dma_resv_lock(wall->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 0, 6, DENY));
	while (t.last.value && usage_of(t.rig->client, LOCAL) < before + rounddown(room, one))
		fsleep(100);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 6 * one);
	deny_refused(&t, 6, 3, half);
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 6, 2, DENY));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	/*
	 * The last two allocations are evicted and requested again: two requests name them, but
	 * they count as wanted once.
	 */
	KUNIT_EXPECT_EQ(test, 0, deny_evict(&t, 6, 2));
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 6, 2, DENY));
	value = t.last.value;
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	deny_refused(&t, 8, 1, half);
	dma_resv_unlock(wall->ttm.base.resv);
	KUNIT_ASSERT_EQ(test, 0, submit_wait_point(t.timeline, value));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	KUNIT_EXPECT_EQ(test, usage_of(t.rig->client, LOCAL), before + 8 * one);
	deny_end(&t);
	pagoda_rig_close(wall);
}

/*
 * An allocation isn't wanted any more after EVICT, even if the pager hasn't executed the
 * MAKE_RESIDENT request yet.
 */
static void budget_wants_no_longer(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const u64 one = PAGES * PAGE_SIZE;
	u64 before = wanted_by(t.rig->client);

	dma_resv_lock(t.bos[0]->ttm.base.resv, NULL);
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 0, 2, DENY));
	KUNIT_EXPECT_EQ(test, 0, deny_make(&t, 2, 6, DENY));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), before + 8 * one);
	KUNIT_EXPECT_EQ(test, 0, deny_evict(&t, 2, 6));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), before + 2 * one);
	dma_resv_unlock(t.bos[0]->ttm.base.resv);
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), before + 2 * one);
	KUNIT_EXPECT_EQ(test, usage_of(t.rig->client, LOCAL), usage_counted(t.rig, TTM_PL_VRAM));
	KUNIT_EXPECT_FALSE(test, in_vram(t.bos[2]));
	deny_refused(&t, 2, 7, one / 2);
	/* The residency list is emptied before the request is executed: no more is wanted. */
	dma_resv_lock(t.bos[2]->ttm.base.resv, NULL);
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 2, 6, DENY));
	pagoda_require_forget_all(t.rig->client);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), before + 2 * one);
	dma_resv_unlock(t.bos[2]->ttm.base.resv);
	deny_end(&t);
}

/* ---- What is wanted --------------------------------------------------------------------- */

static u64 budget_of(struct pagoda_client *client)
{
	struct pagoda_budget_info info;

	pagoda_budget_info(&client->budget, LOCAL, &info);
	return info.budget;
}

/*
 * Allocations are evicted to trim VRAM, are swapped out, and come back: what their client uses
 * changes, but neither what the client wants nor another client's budget.
 */
static void budget_ignores_moves(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const u64 one = PAGES * PAGE_SIZE;
	u64 usage = usage_of(t.rig->client, LOCAL), wanted = wanted_by(t.rig->client), budget;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 0, 6, 0));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	for (i = 6; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, t.bos[i]));
	budget = budget_of(t.other);
	KUNIT_EXPECT_EQ(test, usage_of(t.rig->client, LOCAL), usage + 8 * one);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	KUNIT_ASSERT_EQ(test, 0, pagoda_vidmm_trim(t.rig->vidmm, U64_MAX));
	KUNIT_EXPECT_LT(test, usage_of(t.rig->client, LOCAL), usage + one);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	KUNIT_EXPECT_EQ(test, budget_of(t.other), budget);
	swap_out_all(t.rig);
	KUNIT_EXPECT_EQ(test, budget_of(t.other), budget);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, t.bos[i]));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 8 * one);
	KUNIT_EXPECT_EQ(test, budget_of(t.other), budget);
	deny_end(&t);
}

/* An allocation is wanted from MAKE_RESIDENT to EVICT, but not while it is offered. */
static void budget_follows_wishes(struct kunit *test)
{
	struct deny_test t = deny_begin(test, 8);
	const u64 one = PAGES * PAGE_SIZE;
	u64 wanted = wanted_by(t.rig->client), budget = budget_of(t.other);

	KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, t.bos[0]));
	KUNIT_ASSERT_EQ(test, 0, make_resident(t.rig, t.bos[1]));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 2 * one);
	KUNIT_EXPECT_EQ(test, budget_of(t.other), budget - 2 * one);
	KUNIT_ASSERT_EQ(test, 0, offer(t.rig, t.bos[0], DRM_PAGODA_OFFER_LOW));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + one);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(t.rig, t.bos[0]));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 2 * one);
	/* After EVICT with ONLY_IF_NECESSARY the allocation stays in VRAM, but isn't wanted. */
	KUNIT_ASSERT_EQ(test, 0, deny_make(&t, 2, 1, 0));
	KUNIT_ASSERT_EQ(test, 0, deny_wait(&t));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 3 * one);
	t.last = (struct pagoda_paging_args) {
		.bos = &t.bos[2], .count = 1, .flags = DRM_PAGODA_EVICT_ONLY_IF_NECESSARY,
	};
	KUNIT_ASSERT_EQ(test, 0, pagoda_paging_evict(t.queue, &t.last));
	KUNIT_EXPECT_TRUE(test, in_vram(t.bos[2]));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 2 * one);
	KUNIT_ASSERT_EQ(test, 0, evict(t.rig, t.bos[0]));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + one);
	/*
	 * An allocation on another client's residency list counts as wanted by the client that made
	 * it.
	 */
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(t.other, &t.bos[0], 1, &t.last.bytes_to_trim));
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + 2 * one);
	pagoda_client_drop_lists(t.other);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted + one);
	/* An allocation without references isn't wanted any more. */
	pagoda_rig_close(t.bos[1]);
	KUNIT_EXPECT_EQ(test, wanted_by(t.rig->client), wanted);
	KUNIT_EXPECT_EQ(test, budget_of(t.other), budget);
	t.bos[1] = pagoda_rig_bo(t.rig, PAGES, CPU, SUBMIT_VRAM, 0);
	deny_end(&t);
}

static struct kunit_case budget_use_cases[] = {
	KUNIT_CASE_PARAM(budget_usage_moves, pagoda_rig_modes),
	KUNIT_CASE_PARAM(budget_usage_tables, pagoda_rig_modes),
	KUNIT_CASE_PARAM(budget_usage_evicted_tables, pagoda_rig_modes),
	KUNIT_CASE_PARAM(budget_memory, pagoda_rig_modes),
	KUNIT_CASE_PARAM(budget_fdinfo, pagoda_rig_mmu_modes),
	KUNIT_CASE(budget_tables),
	KUNIT_CASE_PARAM(budget_spilled, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_system_pages, pagoda_rig_mmu_modes),
	KUNIT_CASE(budget_regions),
	KUNIT_CASE_PARAM(budget_denies, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_denies_ahead, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_counts_once, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_wants_no_longer, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_ignores_moves, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(budget_follows_wishes, pagoda_rig_mmu_modes),
	{ }
};

static struct kunit_suite budget_use_suite = {
	.name = "pagoda_budget_use",
	.test_cases = budget_use_cases,
};

kunit_test_suite(budget_use_suite);
