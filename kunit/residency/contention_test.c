// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that need room in VRAM at the same time: they wait for each other, and for jobs
 * outside of sections, and each gets its room in the end. What can't fit is refused before anything
 * is evicted. Claims on free room, and evictions for a contiguous allocation.
 */
#include <drm/drm_exec.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/life.h"
#include "core/trace.h"
#include "residency/offer_helpers.h"

#define PIECES		10u	/* allocations of PIECE pages: two more than fit into VRAM */
#define LISTED		5u	/* pieces in a list: two lists don't fit into VRAM together */
#define ROUNDS		60u
#define ALIGNED		SZ_64K
#define LARGE		(PAGODA_RIG_VRAM_PAGES * 5 / 8) /* pages: two don't fit into VRAM */
#define PART		32u	/* pages; with PARTS of them, VRAM has room for one more at most */
#define PARTS		(PAGODA_RIG_VRAM_PAGES / PART - 1)
#define HOLES		(PAGODA_RIG_VRAM_PAGES / 2) /* free pages between those in use */
#define WIDE		80u	/* pages of a range of VRAM that 41 allocations have to leave */
#define FAR		((u64)SZ_2G)	/* a virtual address */
/* Jiffies after which a test considers an operation that hasn't ended to be waiting. */
#define A_WHILE		(HZ / 5)

/* Work item that makes a list resident @times times; 0 = once, without a second try. */
struct maker {
	struct work_struct work;
	struct completion done;
	struct pagoda_rig *rig;
	struct pagoda_bo *bos[LISTED];
	u32 count;
	u32 times;
	int ret;
};

/* Makes the list resident; unless @times is 0, waits for room outside of sections, if need be. */
static int maker_make(struct maker *maker)
{
	struct dma_fence *fence;
	u32 tries = 0;
	u64 trim;
	int ret;

	do {
		ret = pagoda_rig_make_resident(maker->rig, maker->bos, maker->count, &fence,
					       &trim);
		dma_fence_put(fence);
	} while (maker->times &&
		 pagoda_room_again(maker->rig->vidmm, maker->rig->client, &tries, &ret));
	return ret;
}

static void maker_work(struct work_struct *work)
{
	struct maker *maker = container_of(work, struct maker, work);
	u32 i;

	for (i = 0; i < max(maker->times, 1u) && !maker->ret; i++)
		maker->ret = maker_make(maker);
	complete_all(&maker->done);
}

static void maker_begin(struct maker *maker, struct pagoda_rig *rig, struct pagoda_bo **bos,
			u32 count, u32 times)
{
	*maker = (struct maker){ .rig = rig, .count = count, .times = times };
	memcpy(maker->bos, bos, count * sizeof(*bos));
	init_completion(&maker->done);
	INIT_WORK_ONSTACK(&maker->work, maker_work);
	queue_work(system_dfl_wq, &maker->work);
}

static int maker_end(struct maker *maker)
{
	wait_for_completion(&maker->done);
	flush_work(&maker->work);
	destroy_work_on_stack(&maker->work);
	return maker->ret;
}

static void pieces_create(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	for (i = 0; i < PIECES; i++)
		bos[i] = piece(rig, CPU, SUBMIT_VRAM, i);
}

static void pieces_check(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	pagoda_rig_settle(rig);
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_TRUE(rig->test, pagoda_rig_holds(rig, bos[i], i));
	close_all(bos, PIECES);
}

/* The last wait that was traced, and the number of waits. */
struct told {
	u64 context;
	u64 job;
	u64 bo;
	atomic_t waits;
};

static void told_probe(void *data, const char *dev, u64 context, u64 job, u64 bo)
{
	struct told *told = data;

	told->context = context;
	told->job = job;
	told->bo = bo;
	atomic_inc(&told->waits);
}

/* Unregisters told_probe(); returns whether @told was told of any wait. */
static bool told_end(struct told *told)
{
	unregister_trace_pagoda_wait(told_probe, told);
	tracepoint_synchronize_unregister();
	return atomic_read(&told->waits);
}

/* pagoda_room_blockers() traces the jobs that a wait for room will wait for. */
static void contention_tells_of_jobs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct told told = {};

	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, register_trace_pagoda_wait(told_probe, &told));
	dma_fence_put(pagoda_room_blockers(rig->vidmm, NULL));
	KUNIT_EXPECT_TRUE(test, told_end(&told));
	KUNIT_EXPECT_EQ(test, client->context->id, told.context);
	KUNIT_EXPECT_EQ(test, client->number, told.job);
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	submit_client_end(client);
}

/*
 * An operation waits for another operation that holds the reservations of all that could leave
 * VRAM; a third operation, which needs no room in VRAM, waits for neither.
 */
static void contention_waits_for_the_holder(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[PIECES];
	struct pagoda_bo *away[PIECES], *elsewhere;
	struct maker maker, other;
	struct told told = {};
	struct drm_exec exec;
	u32 i, nr_away = 0;
	int ret;

	elsewhere = pagoda_rig_bo(rig, 1, CPU, SUBMIT_APERTURE, 0);
	pieces_create(rig, bos);
	for (i = 0; i < PIECES; i++)
		KUNIT_EXPECT_EQ(test, 0, make_resident(rig, bos[i]));
	drm_exec_init(&exec, 0, PIECES);
	drm_exec_until_all_locked(&exec) {
		for (i = 0, nr_away = 0; i < PIECES; i++) {
			if (!in_vram(bos[i])) {
				away[nr_away++] = bos[i];
				continue;
			}
			ret = drm_exec_lock_obj(&exec, pagoda_bo_gem(bos[i]));
			drm_exec_retry_on_contention(&exec);
			KUNIT_EXPECT_EQ(test, 0, ret);
		}
	}
	KUNIT_EXPECT_NE(test, 0u, nr_away);
	KUNIT_ASSERT_EQ(test, 0, register_trace_pagoda_wait(told_probe, &told));
	maker_begin(&maker, rig, away, 1, 1);
	KUNIT_EXPECT_EQ(test, 0ul, wait_for_completion_timeout(&maker.done, A_WHILE));
	KUNIT_EXPECT_TRUE(test, told_end(&told));
	for (i = 0; i < PIECES && bos[i]->id != told.bo; i++)
		;
	KUNIT_EXPECT_TRUE(test, i < PIECES && in_vram(bos[i]));
	maker_begin(&other, rig, &elsewhere, 1, 1);
	KUNIT_EXPECT_EQ(test, 0, maker_end(&other));
	KUNIT_EXPECT_FALSE(test, completion_done(&maker.done));
	drm_exec_fini(&exec);
	KUNIT_EXPECT_EQ(test, 0, maker_end(&maker));
	KUNIT_EXPECT_TRUE(test, in_vram(away[0]));
	pagoda_rig_close(elsewhere);
	pieces_check(rig, bos);
}

/*
 * If all that could leave VRAM is being evicted for another operation, an operation waits for that
 * other operation instead of failing for want of room. In CPU_VIRTUAL mode, the eviction waits for
 * the job that uses the victim.
 */
static void contention_waits_for_an_eviction(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct submit_args args = { .nr_bos = 1 };
	struct maker makers[2];
	struct pagoda_bo *bos[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = pagoda_rig_bo(rig, LARGE, CPU, SUBMIT_VRAM, 0);
	args.bos[0] = bos[2];
	KUNIT_ASSERT_EQ(test, 0, submit_map(client, bos[2], FAR));
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, &args));
	KUNIT_ASSERT_TRUE(test, in_vram(bos[2]));
	for (i = 0; i < ARRAY_SIZE(makers); i++) {
		maker_begin(&makers[i], rig, &bos[i], 1, 0);
		wait_for_completion_timeout(&makers[i].done, A_WHILE);
	}
	/* Much longer than one wait for an operation that evicts, VICTIMS_LOOK_MOST_US. */
	msleep(600);
	pagoda_rig_hold(rig, 0, false);
	for (i = 0; i < ARRAY_SIZE(makers); i++)
		KUNIT_EXPECT_EQ_MSG(test, 0, maker_end(&makers[i]), "operation %u", i);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	pagoda_vm_forget(client->vm, bos[2]);
	submit_client_end(client);
	close_all(bos, ARRAY_SIZE(bos));
}

/*
 * Two threads make lists resident that don't fit into VRAM together: each list gets its room each
 * time.
 */
static void contention_lists_take_turns(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bos[PIECES];
	struct maker makers[2];

	pieces_create(rig, bos);
	maker_begin(&makers[0], rig, bos, LISTED, ROUNDS);
	maker_begin(&makers[1], rig, bos + LISTED, LISTED, ROUNDS);
	KUNIT_EXPECT_EQ(test, 0, maker_end(&makers[0]));
	KUNIT_EXPECT_EQ(test, 0, maker_end(&makers[1]));
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->vidmm->vram->claims));
	pieces_check(rig, bos);
}

/*
 * Page tables stay in place while jobs of their VM run. A call that needs the tables' room waits
 * for the jobs outside of sections: during the wait others can page, and sections can be closed.
 */
static void contention_jobs_hold_up_one(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	struct pagoda_bo *large, *small;
	struct maker maker;

	large = pagoda_rig_bo(rig, PAGODA_RIG_VRAM_PAGES - 1, CPU, SUBMIT_VRAM, 0);
	small = pagoda_rig_bo(rig, 1, CPU, EITHER, 0);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	maker_begin(&maker, rig, &large, 1, 1);
	KUNIT_EXPECT_EQ(test, 0ul, wait_for_completion_timeout(&maker.done, A_WHILE));
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, small));
	KUNIT_EXPECT_EQ(test, 0, evict(rig, small));
	pagoda_sections_close(rig->vidmm);
	pagoda_sections_open(rig->vidmm);
	KUNIT_EXPECT_FALSE(test, completion_done(&maker.done));
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, 0, maker_end(&maker));
	KUNIT_EXPECT_TRUE(test, in_vram(large));
	pagoda_rig_close(large);
	pagoda_rig_close(small);
	submit_client_end(client);
}

/* Returns an allocation of a page that has to be ALIGNED: no two fit into ALIGNED bytes of VRAM. */
static struct pagoda_bo *aligned_page(struct pagoda_rig *rig)
{
	const struct pagoda_bo_params params = {
		.size = PAGE_SIZE,
		.flags = DRM_PAGODA_ALLOCATION_CONTIGUOUS,
		.supported = SUBMIT_VRAM,
		.alignment = ALIGNED,
	};
	struct pagoda_bo *bo = pagoda_bo_create(rig->vidmm, rig->client, &params);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(rig->test, bo);
	return bo;
}

/*
 * MAKE_RESIDENT of a list whose bytes would fit, but not at aligned addresses, fails and evicts
 * nothing; the list less one allocation, as the bytes to trim say, fits.
 */
static void contention_refuses_first(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	u32 most = (PAGODA_RIG_VRAM_PAGES * PAGE_SIZE - rig->vidmm->reserve_size) / ALIGNED;
	struct pagoda_bo **list = kunit_kcalloc(test, most + 1, sizeof(*list), GFP_KERNEL);
	struct pagoda_bo *bos[PIECES];
	struct dma_fence *fence;
	u64 trim, before;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, list);
	pieces_create(rig, bos);
	for (i = 0; i < PIECES; i++)
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[i]));
	for (i = 0; i <= most; i++)
		list[i] = aligned_page(rig);
	before = atomic64_read(&rig->vidmm->stats.evictions);
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			pagoda_rig_make_resident(rig, list, most + 1, &fence, &trim));
	KUNIT_EXPECT_EQ(test, (u64)ALIGNED, trim);
	KUNIT_EXPECT_EQ(test, before, atomic64_read(&rig->vidmm->stats.evictions));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, list, most, &fence, &trim));
	dma_fence_put(fence);
	for (i = 0; i <= most; i++)
		pagoda_rig_close(list[i]);
	pieces_check(rig, bos);
}

/* Returns a contiguous allocation of @pages pages for VRAM, which needs no alignment. */
static struct pagoda_bo *contiguous(struct pagoda_rig *rig, u32 pages)
{
	return pagoda_rig_bo(rig, pages, DRM_PAGODA_ALLOCATION_CONTIGUOUS, SUBMIT_VRAM, 0);
}

/*
 * A contiguous allocation of ALIGNED bytes twice, less a page, covers ALIGNED bytes at an ALIGNED
 * address wherever it is: a list with it and as many aligned pages as fit alone is refused.
 */
static void contention_refuses_mixed(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	u32 most = pagoda_vidmm_vram_size(rig->vidmm) / ALIGNED, i;
	struct pagoda_bo **list = kunit_kcalloc(test, most + 1, sizeof(*list), GFP_KERNEL);
	struct dma_fence *fence;
	u64 trim;

	KUNIT_ASSERT_NOT_NULL(test, list);
	for (i = 0; i < most; i++)
		list[i] = aligned_page(rig);
	list[most] = contiguous(rig, 2 * ALIGNED / PAGE_SIZE - 1);
	KUNIT_EXPECT_EQ(test, -ENOSPC,
			pagoda_rig_make_resident(rig, list, most + 1, &fence, &trim));
	KUNIT_EXPECT_EQ(test, (u64)ALIGNED, trim);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, list, most, &fence, &trim));
	dma_fence_put(fence);
	close_all(list, most + 1);
}

/* On each side of an invalid range one of three contiguous allocations fits, not the third one. */
static void contention_refuses_runs(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	u32 half = PAGODA_RIG_VRAM_PAGES / 2, i;
	const struct pagoda_extent middle = {
		.offset = (u64)(half - 1) * PAGE_SIZE, .size = 2 * PAGE_SIZE,
	};
	const struct pagoda_device_info info = rig->info;
	struct pagoda_demand demand = {};
	struct pagoda_bo *list[3];

	rig->info.invalid = &middle;
	rig->info.nr_invalid = 1;
	for (i = 0; i < ARRAY_SIZE(list); i++) {
		KUNIT_EXPECT_EQ(test, 0ull, pagoda_demand_misfit(rig->vidmm, &demand));
		list[i] = contiguous(rig, half / 2 + 1);
		pagoda_demand_add(&demand, list[i]);
	}
	KUNIT_EXPECT_EQ(test, (u64)half / 2 * PAGE_SIZE,
			pagoda_demand_misfit(rig->vidmm, &demand));
	rig->info = info;
	close_all(list, ARRAY_SIZE(list));
}

/* Makes PIECES pieces resident, more than VRAM holds; returns the number of evictions so far. */
static u64 crowd_begin(struct pagoda_rig *rig, struct pagoda_bo **bos)
{
	u32 i;

	pieces_create(rig, bos);
	for (i = 0; i < PIECES; i++)
		KUNIT_ASSERT_EQ(rig->test, 0, make_resident(rig, bos[i]));
	return atomic64_read(&rig->vidmm->stats.evictions);
}

/*
 * While a job keeps page tables and a save area in VRAM, MAKE_RESIDENT of an allocation that needs
 * their room fails, with the bytes to trim; RECLAIM fails, too, but succeeds after the job. Neither
 * failure evicts anything.
 */
static void contention_counts_tables(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	u64 room = pagoda_vidmm_vram_size(rig->vidmm), before, trim;
	struct pagoda_vm_fixed *fixed = &client->vm->fixed;
	struct pagoda_bo *bos[PIECES], *large;
	struct dma_fence *fence;

	large = pagoda_rig_bo(rig, (room >> PAGE_SHIFT) - 1, CPU, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, large));
	KUNIT_ASSERT_EQ(test, 0, offer(rig, large, DRM_PAGODA_OFFER_LOW));
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(client, NULL));
	before = crowd_begin(rig, bos);
	KUNIT_EXPECT_FALSE(test, in_vram(large));
	KUNIT_EXPECT_LT(test, PAGE_SIZE, fixed->tables);
	KUNIT_EXPECT_EQ(test, -ENOMEM, reclaim(rig, large));
	KUNIT_EXPECT_TRUE(test, pagoda_bo_is_offered(large));
	WRITE_ONCE(large->offer.rank, PAGODA_OFFER_NONE);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_rig_make_resident(rig, &large, 1, &fence, &trim));
	KUNIT_EXPECT_EQ(test, fixed->tables + fixed->saves - PAGE_SIZE, trim);
	KUNIT_EXPECT_EQ(test, before, atomic64_read(&rig->vidmm->stats.evictions));
	WRITE_ONCE(large->offer.rank, PAGODA_OFFER_LOW);
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_LE(test, 0, reclaim(rig, large));
	KUNIT_EXPECT_TRUE(test, in_vram(large));
	pagoda_rig_close(large);
	pieces_check(rig, bos);
	submit_client_end(client);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_fixed_bytes(rig->vidmm));
}

/* A job is refused, and evicts nothing, if its list leaves no room for its own VM's page tables. */
static void contention_counts_own_tables(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct submit_client *client = submit_client(rig, 0);
	u64 room = pagoda_vidmm_vram_size(rig->vidmm), before;
	struct submit_args args = { .nr_bos = 1 };
	struct pagoda_bo *bos[PIECES];

	args.bos[0] = pagoda_rig_bo(rig, (room >> PAGE_SHIFT) - 1, CPU, SUBMIT_VRAM, 0);
	before = crowd_begin(rig, bos);
	KUNIT_EXPECT_EQ(test, -ENOMEM, submit_empty(client, &args));
	KUNIT_EXPECT_EQ(test, before, atomic64_read(&rig->vidmm->stats.evictions));
	pagoda_rig_close(args.bos[0]);
	pieces_check(rig, bos);
	submit_client_end(client);
}

/* Addresses that a VM maps, each by two page tables: the tables of two VMs don't fit into VRAM. */
#define TABLES	260u

static void tables_map(struct submit_client *client, struct pagoda_bo *bo)
{
	u32 i;

	for (i = 0; i < TABLES; i++)
		KUNIT_ASSERT_EQ(client->rig->test, 0,
				submit_map(client, bo, FAR + i * (u64)SZ_1G));
}

/* If a VM's page tables don't fit into VRAM beside those of a busy VM, they evict nothing. */
static void contention_counts_absent(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *bo = pagoda_rig_bo(rig, 1, CPU, SUBMIT_APERTURE, 0), *small;
	struct submit_client *idle = submit_client(rig, 0), *busy = submit_client(rig, 0);
	struct dma_resv *resv = pagoda_vm_resv(idle->vm);
	u64 before;

	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	tables_map(idle, bo);
	pagoda_rig_settle_freed(rig);
	tables_map(busy, bo);
	KUNIT_ASSERT_FALSE(test, pagoda_space_is_resident(idle->vm->space));
	pagoda_rig_hold(rig, 0, true);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(busy, NULL));
	small = pagoda_rig_bo(rig, 16, CPU, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, small));
	before = atomic64_read(&rig->vidmm->stats.evictions);
	pagoda_enter_anyway(rig->vidmm);
	dma_resv_lock(resv, NULL);
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_vm_make_tables_resident(idle->vm));
	dma_resv_unlock(resv);
	pagoda_leave(rig->vidmm);
	KUNIT_EXPECT_EQ(test, before, atomic64_read(&rig->vidmm->stats.evictions));
	KUNIT_EXPECT_TRUE(test, in_vram(small));
	pagoda_rig_hold(rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(busy));
	pagoda_vm_forget(idle->vm, bo);
	pagoda_vm_forget(busy->vm, bo);
	submit_client_end(idle);
	submit_client_end(busy);
	pagoda_rig_close(small);
	pagoda_rig_close(bo);
}

/* An allocation that may evict nothing gets no free room that another operation claims. */
static void contention_claims_room(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *first = pagoda_rig_bo(rig, LARGE, CPU, EITHER, 0);
	struct pagoda_bo *second = pagoda_rig_bo(rig, LARGE, CPU, EITHER, 0);
	struct pagoda_operation op = {};
	struct pagoda_vram_claim claim = {};
	struct drm_exec exec;
	int ret;

	drm_exec_init(&exec, 0, 2);
	drm_exec_until_all_locked(&exec) {
		ret = drm_exec_prepare_obj(&exec, pagoda_bo_gem(first), 1) ?:
		      drm_exec_prepare_obj(&exec, pagoda_bo_gem(second), 1);
		drm_exec_retry_on_contention(&exec);
		KUNIT_EXPECT_EQ(test, 0, ret);
	}
	pagoda_vram_claim(rig->vidmm, &claim, &first->ttm);
	KUNIT_EXPECT_NE(test, 0, pagoda_bo_place(second, pagoda_bo_placement_free, &op));
	KUNIT_EXPECT_FALSE(test, in_vram(second));
	pagoda_vram_unclaim(rig->vidmm, &claim);
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_place(second, pagoda_bo_placement_free, &op));
	KUNIT_EXPECT_TRUE(test, in_vram(second));
	/* An operation that finds no victim any more takes room that another claims. */
	pagoda_vram_claim(rig->vidmm, &claim, &second->ttm);
	drm_exec_unlock_obj(&exec, pagoda_bo_gem(second));
	KUNIT_EXPECT_EQ(test, 0, pagoda_bo_place(first, pagoda_bo_placement_resident, &op));
	KUNIT_EXPECT_TRUE(test, in_vram(first));
	drm_exec_fini(&exec);
	pagoda_vram_unclaim(rig->vidmm, &claim);
	KUNIT_EXPECT_TRUE(test, list_empty(&rig->vidmm->vram->claims));
	pagoda_rig_close(first);
	pagoda_rig_close(second);
}

/*
 * For a contiguous allocation of two PARTs at most two allocations are evicted, although those that
 * weren't used for longest don't lie side by side.
 */
static void contention_frees_a_window(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo **bos = kunit_kcalloc(test, PARTS, sizeof(*bos), GFP_KERNEL);
	struct pagoda_bo *want;
	u64 before;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, bos);
	want = pagoda_rig_bo(rig, 2 * PART, CPU | DRM_PAGODA_ALLOCATION_CONTIGUOUS, SUBMIT_VRAM, 0);
	for (i = 0; i < PARTS; i++) {
		bos[i] = pagoda_rig_bo(rig, PART, CPU, SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[i]));
	}
	for (i = 1; i < PARTS; i += 2)
		KUNIT_ASSERT_EQ(test, 0, evict(rig, bos[i]));
	settle_moves(rig);
	for (i = 1; i < PARTS; i += 2)
		KUNIT_ASSERT_EQ(test, 0, make_resident(rig, bos[i]));
	before = atomic64_read(&rig->vidmm->stats.evictions);
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, want));
	KUNIT_EXPECT_TRUE(test, in_vram(want));
	KUNIT_EXPECT_GE(test, before + 2, (u64)atomic64_read(&rig->vidmm->stats.evictions));
	pagoda_rig_close(want);
	close_all(bos, PARTS);
}

/*
 * When a range of VRAM is chosen that has to be freed for a contiguous allocation, a scattered
 * allocation counts once, however many pages it has in the range.
 */
static void contention_counts_scattered_once(struct kunit *test)
{
	struct pagoda_rig *rig = submit_rig(test);
	struct pagoda_bo *scattered = pagoda_rig_bo(rig, HOLES, CPU, SUBMIT_VRAM, 0);
	struct pagoda_bo **odd = test_calloc(test, HOLES, sizeof(*odd));
	struct pagoda_bo *want;
	u64 before;

	want = pagoda_rig_bo(rig, WIDE, CPU | DRM_PAGODA_ALLOCATION_CONTIGUOUS, SUBMIT_VRAM, 0);
	pagoda_rig_fragment(rig, odd, HOLES);
	KUNIT_ASSERT_EQ(test, 0, make_resident(rig, scattered));
	KUNIT_ASSERT_EQ(test, HOLES, pagoda_vram_count_ranges(scattered->ttm.resource));
	before = atomic64_read(&rig->vidmm->stats.evictions);
	KUNIT_EXPECT_EQ(test, 0, make_resident(rig, want));
	KUNIT_EXPECT_TRUE(test, in_vram(want));
	KUNIT_EXPECT_FALSE(test, in_vram(scattered));
	KUNIT_EXPECT_GE(test, before + WIDE / 2 + 1,
			(u64)atomic64_read(&rig->vidmm->stats.evictions));
	pagoda_rig_close(want);
	pagoda_rig_close(scattered);
	close_all(odd, HOLES);
}

static struct kunit_case contention_cases[] = {
	KUNIT_CASE(contention_tells_of_jobs),
	KUNIT_CASE(contention_waits_for_the_holder),
	KUNIT_CASE_SLOW(contention_lists_take_turns),
	KUNIT_CASE(contention_refuses_first),
	KUNIT_CASE(contention_refuses_mixed),
	KUNIT_CASE(contention_refuses_runs),
	KUNIT_CASE(contention_counts_tables),
	KUNIT_CASE(contention_counts_own_tables),
	KUNIT_CASE_SLOW(contention_counts_absent),
	KUNIT_CASE(contention_claims_room),
	KUNIT_CASE(contention_frees_a_window),
	KUNIT_CASE(contention_counts_scattered_once),
	KUNIT_CASE_PARAM(contention_jobs_hold_up_one, pagoda_rig_modes),
	KUNIT_CASE_PARAM(contention_waits_for_an_eviction, pagoda_rig_modes),
	{ }
};

static struct kunit_suite contention_suite = {
	.name = "pagoda_contention",
	.test_cases = contention_cases,
};

kunit_test_suite(contention_suite);
