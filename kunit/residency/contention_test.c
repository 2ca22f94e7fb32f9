// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that need room at the same time: each waits for the others, none for jobs with locks
 * held, and each gets its room in the end.
 */
#include <drm/drm_exec.h>
#include <linux/completion.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include "core/compat.h"
#include "core/life.h"
#include "core/trace.h"
#include "residency/offer_helpers.h"

#define PIECES		10u	/* two more than fit into VRAM */
#define LISTED		5u	/* two lists don't fit into VRAM together */
#define ROUNDS		60u
#define ALIGNED		SZ_64K
#define LARGE		(PAGODA_RIG_VRAM_PAGES * 5 / 8) /* pages: two don't fit into VRAM */
#define PART		32u	/* pages; %PARTS of them fill VRAM but for the reserve */
#define PARTS		(PAGODA_RIG_VRAM_PAGES / PART - 1)
/* Jiffies after which an operation that hasn't ended waits. */
#define A_WHILE		(HZ / 5)

/* Work item that makes a list resident @times times. */
struct maker {
	struct work_struct work;
	struct completion done;
	struct pagoda_rig *rig;
	struct pagoda_bo *bos[LISTED];
	u32 count;
	u32 times;
	int ret;
};

/* Makes the list resident as the ioctl does: waits for jobs outside of sections. */
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
	} while (pagoda_room_again(maker->rig->vidmm, maker->rig->client, &tries, &ret));
	return ret;
}

static void maker_work(struct work_struct *work)
{
	struct maker *maker = container_of(work, struct maker, work);
	u32 i;

	for (i = 0; i < maker->times && !maker->ret; i++)
		maker->ret = maker_make(maker);
	complete(&maker->done);
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

/* A wait for room is traced with the jobs that it is for. */
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
 * If all that could leave VRAM is held by another operation, an operation waits for that one, and
 * no third operation waits for either.
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

/* Of two lists that each hold a part of what the other needs, both get their room, each time. */
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
 * Page tables stay in place while jobs of their VM run. An allocation that needs their room waits
 * for the jobs in its caller's time: others page meanwhile, and sections can be closed.
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

/* Returns a contiguous page that has an aligned piece of VRAM for itself. */
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
 * A list that can't fit, though its bytes would, is refused at once and evicts nothing; the same
 * list less what is to be trimmed fits.
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
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			pagoda_rig_make_resident(rig, list, most + 1, &fence, &trim));
	KUNIT_EXPECT_EQ(test, (u64)ALIGNED, trim);
	KUNIT_EXPECT_EQ(test, before, atomic64_read(&rig->vidmm->stats.evictions));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_make_resident(rig, list, most, &fence, &trim));
	dma_fence_put(fence);
	for (i = 0; i <= most; i++)
		pagoda_rig_close(list[i]);
	pieces_check(rig, bos);
}

/* Free room that an operation claims isn't for others, until the operation has ended. */
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
	/* Without other victims, an operation takes what others claim. */
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
 * For a contiguous allocation as little leaves as has to, although the allocations that weren't
 * used for longest lie apart.
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

static struct kunit_case contention_cases[] = {
	KUNIT_CASE(contention_tells_of_jobs),
	KUNIT_CASE(contention_waits_for_the_holder),
	KUNIT_CASE_SLOW(contention_lists_take_turns),
	KUNIT_CASE(contention_refuses_first),
	KUNIT_CASE(contention_claims_room),
	KUNIT_CASE(contention_frees_a_window),
	KUNIT_CASE_PARAM(contention_jobs_hold_up_one, pagoda_rig_modes),
	{ }
};

static struct kunit_suite contention_suite = {
	.name = "pagoda_contention",
	.test_cases = contention_cases,
};

kunit_test_suite(contention_suite);
