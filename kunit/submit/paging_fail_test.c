// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of paging requests that fail or are refused: a job that waits for the value of a failed
 * request is cancelled; a refused request doesn't count for later requests.
 */
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <drm/drm_syncobj.h>
#include "residency/offer_helpers.h"

#define HERE		SZ_4M
#define MOST		12u

/*
 * A paging queue with the id 1 among the client's objects, and allocations of PIECE pages each,
 * which aren't resident at first.
 */
struct fail_test {
	struct pagoda_rig *rig;
	struct drm_syncobj *points;
	struct pagoda_paging_queue *queue;
	struct pagoda_bo *bos[MOST];
};

static struct fail_test fail_begin(struct kunit *test)
{
	struct fail_test t = { .rig = submit_rig(test), .points = submit_syncobj(test) };
	u32 i;

	t.queue = test_ok(test, pagoda_paging_queue_create(t.rig->vidmm, t.rig->client, 0,
							   t.points));
	KUNIT_ASSERT_EQ(test, 0,
			xa_err(xa_store(&t.rig->client->objects[PAGODA_OBJECT_PAGING_QUEUE], 1,
					t.queue, GFP_KERNEL)));
	for (i = 0; i < MOST; i++)
		t.bos[i] = pagoda_rig_bo(t.rig, PIECE, CPU, SUBMIT_VRAM, 0);
	return t;
}

static void fail_end(struct fail_test *t)
{
	xa_erase(&t->rig->client->objects[PAGODA_OBJECT_PAGING_QUEUE], 1);
	pagoda_client_drop_lists(t->rig->client);
	pagoda_paging_queue_put(t->queue);
	close_all(t->bos, MOST);
}

static int fail_resident(struct fail_test *t, u32 first, u32 count, u32 flags, u64 *value)
{
	struct pagoda_paging_args args = {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	int ret = pagoda_paging_make_resident(t->queue, &args);

	*value = args.value;
	return ret;
}

static int fail_wait(struct fail_test *t, u64 value)
{
	return value ? submit_wait_point(t->points, value) : 0;
}

/*
 * A job that waits for a failed paging value is cancelled, whether the value is before or behind
 * the point that the job signals in the job's list of syncobjs.
 */
static void paging_fail_behind_a_signal(struct kunit *test)
{
	struct fail_test t = fail_begin(test);
	struct submit_client *client = submit_client(t.rig, 0);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);
	struct delayed_work *pager = &t.rig->client->pager->work;
	struct submit_args args = { .in = t.points };
	u32 i;

	submit_store(client, HERE, 5);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < 2; i++) {
		args.out = submit_syncobj(test);
		args.out_first = i;
		disable_delayed_work_sync(pager);
		KUNIT_ASSERT_EQ(test, 0, fail_resident(&t, 0, 1, 0, &args.in_point));
		KUNIT_ASSERT_NE(test, 0ull, args.in_point);
		/*
		 * Offer the allocation directly, because OFFER would refuse: the request fails when
		 * the pager executes it.
		 */
		WRITE_ONCE(t.bos[0]->offer.rank, PAGODA_OFFER_NORMAL);
		submit_store(client, HERE, 1);
		KUNIT_ASSERT_EQ(test, 0, submit_job(client, &args));
		enable_delayed_work(pager);
		pagoda_deferred_kick(t.rig->vidmm);
		KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait_point(args.out, 0));
		flush_delayed_work(pager);
		WRITE_ONCE(t.bos[0]->offer.rank, PAGODA_OFFER_NONE);
		KUNIT_EXPECT_EQ(test, -ENODATA, fail_wait(&t, args.in_point));
	}
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(t.rig, bo, 0));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	submit_close(client, bo);
	submit_client_end(client);
	fail_end(&t);
}

/*
 * A request that is refused because the residency list wouldn't fit into the device's memory
 * doesn't count as expected growth: DENY_OVERBUDGET doesn't refuse a later request that stays
 * within the budget.
 */
static void paging_fail_expects_nothing(struct kunit *test)
{
	struct fail_test t = fail_begin(test);
	u64 value;

	KUNIT_ASSERT_EQ(test, 0, fail_resident(&t, 0, 6, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, fail_wait(&t, value));
	KUNIT_EXPECT_EQ(test, -ENOMEM, fail_resident(&t, 6, 5, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, fail_resident(&t, 11, 1, DRM_PAGODA_RESIDENT_DENY_OVERBUDGET,
					       &value));
	KUNIT_EXPECT_EQ(test, 0, fail_wait(&t, value));
	KUNIT_EXPECT_TRUE(test, in_vram(t.bos[11]));
	fail_end(&t);
}

static struct kunit_case paging_fail_cases[] = {
	KUNIT_CASE(paging_fail_behind_a_signal),
	KUNIT_CASE(paging_fail_expects_nothing),
	{ }
};

static struct kunit_suite paging_fail_suite = {
	.name = "pagoda_paging_fail",
	.test_cases = paging_fail_cases,
};

kunit_test_suite(paging_fail_suite);
