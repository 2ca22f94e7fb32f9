// SPDX-License-Identifier: GPL-2.0
/*
 * Kept copies, without dirty tracking: how much is kept, when copies are freed, and copies that
 * can't be freed now.
 */
#include <kunit/static_stub.h>
#include <linux/delay.h>
#include <linux/shrinker.h>
#include "copy_helpers.h"
#include "rig/spy.h"
#include "vidmm/segment/internal.h"
#include "vm/vm_helpers.h"

#define HERE		SZ_4M
#define ADDRESSES	256u	/* pages that a small MMU of the device can map */

/* ---- How much is kept ------------------------------------------------------------ */

/* A copy that would exceed copies->limit isn't kept. */
static void copy_has_a_limit(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	t.rig->vidmm->copies->limit = COPY_PAGES * PAGE_SIZE - 1;
	copy_bring(&t);
	copy_leave(&t, UNWRITTEN);
	copy_bring(&t);
	KUNIT_EXPECT_NULL(test, t.bo->content.copy);
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	t.rig->vidmm->copies->limit++;
	copy_bring(&t);
	copy_expect(&t, false, 1);
	copy_end(&t);
}

/* Short of pages, TTM frees copies instead of swapping them out. */
static void copy_is_given_up(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);

	copy_keep(&t);
	pagoda_rig_settle(t.rig);
	swap_out_all(t.rig);
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	copy_bring(&t);
	copy_expect(&t, false, 1);
	copy_end(&t);
}

/*
 * Calls the shrinker for @pages pages and waits until the copies that it chose are freed. Returns
 * the number of their pages, or SHRINK_STOP.
 */
static u64 copies_shrink(struct copy_test *t, u64 pages)
{
	struct pagoda_copies *copies = t->rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = pages };
	u64 given = copies->shrinker->scan_objects(copies->shrinker, &sc);

	flush_work(&copies->work);
	return given;
}

/* The shrinker counts and frees copies, but no content, and stops if there is no copy. */
static void copy_shrinks(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL };

	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_keep(&t);
	KUNIT_EXPECT_EQ(test, COPY_PAGES, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, COPY_PAGES, copies_shrink(&t, 1));
	/* The allocation stays in VRAM, and its freed copy doesn't count any more. */
	KUNIT_EXPECT_TRUE(test, in_vram(t.bo));
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&copies->bytes));
	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_expect(&t, true, 1);
	/* The allocation gets a new copy, which is freed when the allocation leaves VRAM. */
	copy_bring(&t);
	copy_expect(&t, false, 1);
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies_shrink(&t, 1));
	copy_end(&t);
}

/* Stands in for pagoda_pages_alloc(): fails with -ENOMEM as long as there are copies. */
static int pages_beside_no_copy(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
				const struct ttm_operation_ctx *ctx)
{
	if (atomic64_read(&vidmm->copies->bytes))
		return -ENOMEM;
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_pages_alloc);
	return pagoda_pages_alloc(vidmm, tt, ctx);
}

/* If an allocation finds no pages, copies are freed, and the allocation gets pages. */
static void copy_makes_way(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);

	copy_keep(&t);
	pagoda_rig_settle(t.rig);
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_no_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 0ll, (s64)atomic64_read(&t.rig->vidmm->copies->bytes));
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/* ---- Copies that can't be freed now ------------------------------------------------ */

#define LIMIT	(60 * HZ)

/* Returns another allocation in VRAM, with content of seed 1 and a copy newer than that of @t. */
static struct copy_test copy_keep_second(struct copy_test *t)
{
	struct copy_test second = copy_begin(t->rig, 0);

	copy_bring(&second);
	copy_leave(&second, UNWRITTEN);
	pagoda_rig_settle_freed(t->rig);
	copy_bring(&second);
	KUNIT_ASSERT_NOT_NULL(t->test, second.bo->content.copy);
	pagoda_rig_settle_freed(t->rig);
	return second;
}

static void copy_end_second(struct copy_test *second)
{
	copy_leave(second, UNWRITTEN);
	KUNIT_EXPECT_TRUE(second->test, pagoda_rig_holds(second->rig, second->bo, 1));
	pagoda_paging_queue_put(second->queue);
	pagoda_rig_close(second->bo);
}

static bool copy_has_pages(struct copy_test *t)
{
	bool has;

	dma_resv_lock(t->bo->ttm.base.resv, NULL);
	has = pagoda_copy_has_pages(t->bo);
	dma_resv_unlock(t->bo->ttm.base.resv);
	return has;
}

static u64 copy_bytes(struct copy_test *t)
{
	return atomic64_read(&t->rig->vidmm->copies->bytes);
}

/* Holds the copy of an allocation locked, as a move out of VRAM does, until @let. */
struct copy_holder {
	struct pagoda_bo *bo;
	struct pagoda_worker worker;
	struct completion held;
	struct completion let;
};

static int copy_holder_run(void *arg)
{
	struct copy_holder *holder = arg;
	struct pagoda_copy *copy;

	dma_resv_lock(holder->bo->ttm.base.resv, NULL);
	copy = pagoda_copy_take(holder->bo);
	complete(&holder->held);
	wait_for_completion_timeout(&holder->let, LIMIT);
	if (copy)
		pagoda_copy_put_back(holder->bo, copy);
	dma_resv_unlock(holder->bo->ttm.base.resv);
	return copy ? 0 : -ENOENT;
}

static void copy_hold(struct copy_test *t, struct copy_holder *holder)
{
	*holder = (struct copy_holder) {
		.bo = t->bo,
		.worker = { .run = copy_holder_run, .arg = holder },
	};
	init_completion(&holder->held);
	init_completion(&holder->let);
	pagoda_worker_start(t->test, &holder->worker);
	KUNIT_ASSERT_NE(t->test, 0ul, wait_for_completion_timeout(&holder->held, LIMIT));
}

static void copy_let(struct copy_test *t, struct copy_holder *holder)
{
	complete(&holder->let);
	pagoda_worker_end(t->test, &holder->worker);
	flush_delayed_work(&t->rig->vidmm->copies->retry);
	flush_work(&t->rig->vidmm->copies->work);
}

/* Stands in for pagoda_pages_alloc(): fails with -ENOMEM as long as there are two copies. */
static int pages_beside_one_copy(struct pagoda_vidmm *vidmm, struct ttm_tt *tt,
				 const struct ttm_operation_ctx *ctx)
{
	if (atomic64_read(&vidmm->copies->bytes) > COPY_PAGES * PAGE_SIZE)
		return -ENOMEM;
	kunit_deactivate_static_stub(kunit_get_current_test(), pagoda_pages_alloc);
	return pagoda_pages_alloc(vidmm, tt, ctx);
}

/* An allocation that finds no pages gets those of a newer copy if the oldest copy is locked. */
static void copy_in_use_is_passed_over(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	copy_hold(&t, &holder);
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_one_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, COPY_PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	copy_let(&t, &holder);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/*
 * The shrinker chooses a locked copy and a newer copy: only the newer copy is freed before the
 * locked copy is unlocked, and the shrinker doesn't count the locked copy any more either.
 */
static void copy_in_use_holds_up_no_other(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = 2 * COPY_PAGES };
	unsigned long end = jiffies + LIMIT / 2;
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	KUNIT_EXPECT_EQ(test, 2ul * COPY_PAGES,
			copies->shrinker->count_objects(copies->shrinker, &sc));
	copy_hold(&t, &holder);
	KUNIT_EXPECT_EQ(test, 2ul * COPY_PAGES,
			copies->shrinker->scan_objects(copies->shrinker, &sc));
	while (copy_bytes(&t) != COPY_PAGES * PAGE_SIZE && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, COPY_PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	KUNIT_EXPECT_EQ(test, SHRINK_EMPTY, copies->shrinker->count_objects(copies->shrinker, &sc));
	KUNIT_EXPECT_EQ(test, SHRINK_STOP, copies->shrinker->scan_objects(copies->shrinker, &sc));
	copy_let(&t, &holder);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/* Waits until @copies->retry is to run in @delay jiffies the next time, if not too long. */
static void copies_await_delay(struct kunit *test, struct pagoda_copies *copies,
			       unsigned long delay)
{
	unsigned long end = jiffies + LIMIT / 2;

	while (READ_ONCE(copies->delay) != delay && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, delay, READ_ONCE(copies->delay));
}

static int copy_flush_ttm(void *arg)
{
	struct pagoda_rig *rig = arg;

	flush_workqueue(rig->vidmm->ttm.wq);
	return 0;
}

/*
 * While a copy that the shrinker chose stays locked, TTM's work queue gets to the end of its work,
 * and the copy is tried less and less often, down to once in a second.
 */
static void copy_in_use_costs_little(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = COPY_PAGES };
	struct pagoda_worker worker = { .run = copy_flush_ttm, .arg = t.rig };
	struct copy_holder holder;

	copy_keep(&t);
	copy_hold(&t, &holder);
	KUNIT_EXPECT_EQ(test, COPY_PAGES, copies->shrinker->scan_objects(copies->shrinker, &sc));
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_TRUE(test, pagoda_worker_is_done(&worker, LIMIT / 4));
	copies_await_delay(test, copies, HZ);
	KUNIT_EXPECT_EQ(test, COPY_PAGES * PAGE_SIZE, (size_t)copy_bytes(&t));
	copy_let(&t, &holder);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/* Has the shrinker find a copy locked, after so many tries that the next one comes much later. */
static void copy_meet_late(struct copy_test *t, struct copy_holder *holder)
{
	struct kunit *test = t->test;
	struct pagoda_copies *copies = t->rig->vidmm->copies;
	struct shrink_control sc = { .gfp_mask = GFP_KERNEL, .nr_to_scan = COPY_PAGES };

	copy_keep(t);
	copy_hold(t, holder);
	copies->delay = 100 * LIMIT;
	KUNIT_EXPECT_EQ(test, COPY_PAGES, copies->shrinker->scan_objects(copies->shrinker, &sc));
	/* The delay is used up when the next one is HZ. */
	copies_await_delay(test, copies, HZ);
}

/* However late the next try is, a copy is freed when the move that has locked the copy fails. */
static void copy_is_freed_when_unlocked(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	unsigned long end = jiffies + LIMIT / 2;
	struct copy_holder holder;

	copy_meet_late(&t, &holder);
	complete(&holder.let);
	pagoda_worker_end(test, &holder.worker);
	while (copy_bytes(&t) && time_before(jiffies, end))
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_expect(&t, true, 1);
	copy_end(&t);
}

/* A copy that is locked isn't tried again once the device goes, however late the next try was. */
static void copy_in_use_is_forgotten(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0);
	struct pagoda_copies *copies = t.rig->vidmm->copies;
	struct copy_holder holder;

	copy_meet_late(&t, &holder);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&copies->retry));
	pagoda_copies_stop(t.rig->vidmm);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&copies->retry));
	copy_let(&t, &holder);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&copies->retry));
	copy_end(&t);
}

/*
 * An allocation that finds no pages gets those of a newer copy if TTM has freed the pages of the
 * oldest copy.
 */
static void copy_without_pages_gives_none(struct kunit *test)
{
	struct copy_test t = copy_begin(submit_rig(test), 0), second;
	struct pagoda_bo *bo = pagoda_rig_bo(t.rig, 1, CPU, SUBMIT_APERTURE, 0);
	struct copy_holder holder;

	copy_keep(&t);
	second = copy_keep_second(&t);
	/* TTM's swap-out passes over the copy of @second, which is locked. */
	copy_hold(&second, &holder);
	swap_out_all(t.rig);
	copy_let(&second, &holder);
	KUNIT_EXPECT_TRUE(test, copy_has_pages(&second));
	KUNIT_EXPECT_FALSE(test, copy_has_pages(&t));
	kunit_activate_static_stub(test, pagoda_pages_alloc, pages_beside_no_copy);
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_aperture(bo, false));
	KUNIT_EXPECT_EQ(test, 0ull, copy_bytes(&t));
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	pagoda_rig_close(bo);
	copy_end(&t);
}

/*
 * For page tables in system memory that find no device addresses, the oldest copy is freed, and no
 * other, because that is enough.
 */
static void copy_makes_way_for_tables(struct kunit *test)
{
	static const struct pagoda_rig_mode mode = { VIRTIO_PAGODA_UPDATE_CPU_VIRTUAL, true };
	const struct pagoda_rig_options options = { .mode = &mode, .mmu_pages = ADDRESSES };
	struct copy_test t = copy_begin(pagoda_rig_create(test, &options), 0), second;
	struct drm_mm_node *nodes = test_calloc(test, ADDRESSES, sizeof(*nodes));
	struct pagoda_vm *vm = vmt_make(t.rig);
	u32 count;

	copy_keep(&t);
	second = copy_keep_second(&t);
	count = vmt_take_addresses(t.rig, nodes, ADDRESSES);
	KUNIT_EXPECT_EQ(test, 0, vmt_set(vm, DRM_PAGODA_BIND_MAP_ZERO, HERE, PAGE_SIZE));
	vmt_give_addresses(t.rig, nodes, count);
	KUNIT_EXPECT_FALSE(test, copy_has_pages(&t));
	KUNIT_EXPECT_TRUE(test, copy_has_pages(&second));
	vmt_expect(t.rig, vm->id, HERE, 0);
	vmt_drop(vm);
	copy_end_second(&second);
	copy_expect(&t, true, 1);
	copy_end(&t);
}

static struct kunit_case copy_free_cases[] = {
	KUNIT_CASE_PARAM(copy_has_a_limit, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_is_given_up, pagoda_rig_mmu_modes),
	KUNIT_CASE_PARAM(copy_shrinks, pagoda_rig_mmu_modes),
	KUNIT_CASE(copy_makes_way),
	KUNIT_CASE(copy_in_use_is_passed_over),
	KUNIT_CASE(copy_in_use_holds_up_no_other),
	KUNIT_CASE(copy_in_use_costs_little),
	KUNIT_CASE(copy_is_freed_when_unlocked),
	KUNIT_CASE(copy_in_use_is_forgotten),
	KUNIT_CASE(copy_without_pages_gives_none),
	KUNIT_CASE(copy_makes_way_for_tables),
	{ }
};

static struct kunit_suite copy_free_suite = {
	.name = "pagoda_copy_free",
	.test_cases = copy_free_cases,
};

kunit_test_suite(copy_free_suite);
