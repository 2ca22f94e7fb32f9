// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of paging queues: values in order, priorities, requests that need no paging; offered
 * allocations, requests that fail when they are executed, with what this means for jobs; the end of
 * a client. Requests that find no room: paging_room_test.c.
 */
#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-fence-chain.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <drm/drm_syncobj.h>
#include "queue/queue_helpers.h"
#include "rig/spy.h"
#include "paging_queue_helpers.h"

#define HERE		SZ_4M
#define PAGES		64u
#define MUST		(DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER | DRM_PAGODA_RESIDENT_MUST_SUCCEED)

static u32 paging_copies(struct paging_test *t, u32 index)
{
	return pagoda_rig_count(t->rig, pagoda_rig_copy_op(t->rig), t->bos[index]->id);
}

/*
 * The values of a paging queue count up and signal in order. When a value has signalled, the
 * allocations of its request are in VRAM, or out of VRAM after EVICT, with their content.
 */
static void paging_values_in_order(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 value, last = 0;
	u32 i, round;

	for (round = 0; round < 3; round++) {
		pagoda_rig_settle_freed(t.rig);
		for (i = 0; i + 2 <= MOST; i += 2) {
			KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, i, 2, 0, &value));
			PAGODA_PROVES(C156);
			KUNIT_ASSERT_EQ(test, ++last, value);
		}
		/* When a value has signalled, so have all values before it. */
		KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, last));
		for (i = 1; i <= last; i++)
			KUNIT_EXPECT_TRUE(test, paging_is_over(&t, NORMAL, i));
		PAGODA_PROVES(C149);
		for (i = 0; i < MOST; i++) {
			KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, i));
			KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bos[i], i));
		}
		KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 0, MOST, 0, &value));
		KUNIT_ASSERT_EQ(test, ++last, value);
		KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, last));
		PAGODA_PROVES(C154);
		for (i = 0; i < MOST; i++) {
			KUNIT_EXPECT_FALSE(test, paging_in_vram(&t, i));
			KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t.rig, t.bos[i], i));
		}
	}
	paging_end(&t);
}

/*
 * Calls that need no paging return the value 0, but change the allocations' counts in the residency
 * list.
 */
static void paging_done_at_once(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 value;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 2, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, LOW, 0, 2, 0, &value));
		KUNIT_EXPECT_EQ(test, 0ull, value);
	}
	PAGODA_PROVES(C146);
	for (i = 0; i < 5; i++) {
		KUNIT_EXPECT_EQ(test, 6 - i, paging_count(&t, 0));
		KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, HIGH, 0, 2, 0, &value));
		KUNIT_EXPECT_EQ(test, 0ull, value);
		KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 0));
	}
	/*
	 * The EVICT that lowers the count to 0 moves the allocation out of VRAM; with
	 * ONLY_IF_NECESSARY the allocation stays until its room is needed, and is resident again
	 * without a copy.
	 */
	KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 0, 2,
					      DRM_PAGODA_EVICT_ONLY_IF_NECESSARY, &value));
	PAGODA_PROVES(C153);
	KUNIT_EXPECT_EQ(test, 0ull, value);
	KUNIT_EXPECT_EQ(test, 0u, paging_count(&t, 0));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 0));
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 2, 0, &value));
	KUNIT_EXPECT_EQ(test, 0ull, value);
	KUNIT_EXPECT_EQ(test, 1u, paging_copies(&t, 0));
	KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 0, 2, 0, &value));
	KUNIT_EXPECT_NE(test, 0ull, value);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_FALSE(test, paging_in_vram(&t, 0));
	KUNIT_EXPECT_EQ(test, -ENOENT, paging_evict(&t, NORMAL, 0, 2, 0, &value));
	paging_end(&t);
}

/*
 * Holds the reservation of allocation 0 in a thread of its own, because the test's thread locks
 * other reservations.
 */
static int paging_hold(void *arg)
{
	struct paging_test *t = arg;

	dma_resv_lock(t->bos[0]->ttm.base.resv, NULL);
	complete(&t->held);
	wait_for_completion(&t->let);
	dma_resv_unlock(t->bos[0]->ttm.base.resv);
	complete(&t->over);
	return 0;
}

/* Has the pager begin a request for allocation 0, which it can't execute until paging_let(). */
static void paging_block(struct paging_test *t)
{
	u64 value;

	init_completion(&t->held);
	init_completion(&t->let);
	init_completion(&t->over);
	KUNIT_ASSERT_FALSE(t->test, IS_ERR(kthread_run(paging_hold, t, "pagoda-hold")));
	wait_for_completion(&t->held);
	KUNIT_ASSERT_EQ(t->test, 0, paging_resident(t, HIGH, 0, 1, 0, &value));
	KUNIT_ASSERT_NE(t->test, 0ull, value);
	msleep(20);
}

static void paging_let(struct paging_test *t)
{
	complete(&t->let);
	wait_for_completion(&t->over);
}

/* Queued requests are executed by priority, and in order within a priority. */
static void paging_higher_priority_first(struct kunit *test)
{
	static const u32 queues[] = { LOW, NORMAL, LOW, HIGH, NORMAL, HIGH };
	static const u32 order[] = { 4, 6, 2, 5, 1, 3 };
	struct paging_test t = paging_make(test, PAGES);
	const struct pagoda_rig_note *note, *before = NULL;
	u64 values[ARRAY_SIZE(queues)];
	u32 i;

	paging_block(&t);
	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, queues[i], 1 + i, 1, 0, &values[i]));
		KUNIT_ASSERT_NE(test, 0ull, values[i]);
		KUNIT_EXPECT_FALSE(test, paging_is_over(&t, queues[i], values[i]));
	}
	paging_let(&t);
	for (i = 0; i < ARRAY_SIZE(queues); i++)
		KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, queues[i], values[i]));
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		note = pagoda_rig_find(t.rig, pagoda_rig_copy_op(t.rig), t.bos[order[i]]->id, 0);
		KUNIT_ASSERT_NOT_NULL(test, note);
		PAGODA_PROVES(C157);
		KUNIT_EXPECT_TRUE(test, !before || before < note);
		before = note;
	}
	paging_end(&t);
}

/*
 * An allocation that EVICT takes off the list before the turn of its MAKE_RESIDENT request isn't
 * moved; the other allocation of the request is.
 */
static void paging_evicted_before_its_turn(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 value;

	paging_block(&t);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 2, 0, &value));
	KUNIT_EXPECT_EQ(test, 1ull, value);
	KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 1, 1, 0, &value));
	KUNIT_EXPECT_EQ(test, 2ull, value);
	pagoda_require_forget(t.rig->client, t.bos[0]);
	paging_let(&t);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, 2));
	KUNIT_EXPECT_EQ(test, 0u, paging_copies(&t, 1));
	KUNIT_EXPECT_EQ(test, 1u, paging_copies(&t, 2));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 2));
	paging_end(&t);
}

/*
 * EVICT of an allocation that work uses is done when the work has ended, and keeps no reference to
 * the work's fence then.
 */
static void paging_evicts_after_work(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct dma_fence *fence = pagoda_test_fence(test);
	u64 value;

	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 1, 0, &value));
	KUNIT_ASSERT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	pagoda_rig_add_fence(test, t.bos[0]->ttm.base.resv, fence, DMA_RESV_USAGE_BOOKKEEP);
	KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 0, 1, 0, &value));
	KUNIT_ASSERT_NE(test, 0ull, value);
	flush_delayed_work(&t.rig->client->pager->work);
	KUNIT_EXPECT_FALSE(test, paging_is_over(&t, NORMAL, value));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 0));
	dma_fence_signal(fence);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_FALSE(test, paging_in_vram(&t, 0));
	pagoda_rig_settle_freed(t.rig);
	paging_end(&t);
	pagoda_rig_settle_freed(t.rig);
	/* The allocation and its reservation are freed: the test has the only reference. */
	KUNIT_EXPECT_EQ(test, 1u, kref_read(&fence->refcount));
	dma_fence_put(fence);
}

static int paging_one_more(void *arg)
{
	u64 value;

	return paging_resident(arg, NORMAL, 1, 1, 0, &value);
}

/*
 * While a client has DRM_PAGODA_MAX_QUEUED_PAGING requests queued, its next MAKE_RESIDENT waits; it
 * goes on when a request is done.
 */
static void paging_has_a_limit(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct pagoda_worker worker = { .run = paging_one_more, .arg = &t };
	const u32 *count = &t.rig->client->pager->count;
	u64 value;

	paging_block(&t);
	do {
		KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 1, 0, &value));
	} while (READ_ONCE(*count) < DRM_PAGODA_MAX_QUEUED_PAGING);
	pagoda_worker_start(test, &worker);
	KUNIT_EXPECT_FALSE(test, pagoda_worker_is_done(&worker, HZ / 10));
	KUNIT_EXPECT_EQ(test, value, paging_count(&t, 1));
	paging_let(&t);
	pagoda_worker_end(test, &worker);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_EQ(test, value + 1, paging_count(&t, 1));
	paging_end(&t);
}

/* ---- Offers ------------------------------------------------------------------------- */

static int paging_offer(struct paging_test *t, u32 index)
{
	return pagoda_offer(t->rig->vidmm, &t->bos[index], 1, DRM_PAGODA_OFFER_NORMAL, 0);
}

/*
 * MAKE_RESIDENT of several allocations, one of them offered, fails with -ENODATA: no count changes,
 * and the client isn't in error.
 */
static void paging_refuses_what_is_offered(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 value;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, paging_offer(&t, 2));
	KUNIT_EXPECT_EQ(test, -ENODATA, paging_resident(&t, NORMAL, 1, 3, MUST, &value));
	KUNIT_EXPECT_EQ(test, 0ull, value);
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	for (i = 1; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0u, paging_count(&t, i));
	/* The refused call has left nothing that keeps the other allocations from being offered. */
	KUNIT_EXPECT_EQ(test, 0, paging_offer(&t, 1));
	KUNIT_EXPECT_EQ(test, 0, paging_offer(&t, 3));
	paging_end(&t);
}

/* While a MAKE_RESIDENT request waits, its allocations can't be offered (-EBUSY). */
static void paging_keeps_from_being_offered(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 value;
	u32 i;

	paging_block(&t);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 3, MUST, &value));
	KUNIT_EXPECT_EQ(test, -EBUSY, paging_offer(&t, 2));
	KUNIT_EXPECT_EQ(test, -EBUSY, pagoda_offer(t.rig->vidmm, &t.bos[3], 2,
						   DRM_PAGODA_OFFER_NORMAL, 0));
	KUNIT_EXPECT_FALSE(test, pagoda_bo_is_offered(t.bos[4]));
	paging_let(&t);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, 1u, paging_count(&t, i));
		KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, i));
	}
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	KUNIT_EXPECT_EQ(test, 0, paging_offer(&t, 2));
	KUNIT_EXPECT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 1, 0, &value));
	paging_end(&t);
}

/*
 * If an allocation of a request fails for a reason of its own, only its count is undone, and the
 * other allocations become resident.
 */
static void paging_failure_of_one_entry(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct drm_pagoda_paging_queue_state state = {};
	u64 value;
	u32 i;

	paging_block(&t);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 3, 0, &value));
	/*
	 * Offer the allocation directly, because OFFER would refuse: its entry fails when the
	 * request is executed.
	 */
	WRITE_ONCE(t.bos[2]->offer.rank, PAGODA_OFFER_NORMAL);
	paging_let(&t);
	KUNIT_EXPECT_EQ(test, -ENODATA, paging_wait(&t, NORMAL, value));
	flush_delayed_work(&t.rig->client->pager->work);
	WRITE_ONCE(t.bos[2]->offer.rank, PAGODA_OFFER_NONE);
	pagoda_paging_queue_state(t.queues[NORMAL], &state);
	KUNIT_EXPECT_EQ(test, (u32)ENODATA, state.error);
	KUNIT_EXPECT_EQ(test, value, state.failed);
	for (i = 1; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, i == 2 ? 0u : 1u, paging_count(&t, i));
		KUNIT_EXPECT_EQ(test, i != 2, paging_in_vram(&t, i));
	}
	paging_end(&t);
}

/*
 * Submits a job that waits for a point and stores @value; returns the syncobj that the job signals.
 */
static struct drm_syncobj *paging_job(struct paging_test *t, struct submit_client *client,
				      struct drm_syncobj *in, u64 point, u64 value)
{
	const struct submit_args args = {
		.in = in, .in_point = point, .out = submit_syncobj(t->test),
	};

	submit_store(client, HERE, value);
	KUNIT_ASSERT_EQ(t->test, 0, submit_job(client, &args));
	return args.out;
}

/*
 * Calls MAKE_RESIDENT for one allocation, and has the request signal point 1 of @syncobj, too;
 * returns the paging value.
 */
static u64 paging_signal(struct paging_test *t, u32 index, struct drm_syncobj *syncobj)
{
	struct pagoda_paging_args args = { .bos = &t->bos[index], .count = 1 };

	drm_syncobj_get(syncobj);
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_syncs_add(&args.syncs, syncobj, 1,
						     dma_fence_chain_alloc()));
	KUNIT_ASSERT_EQ(t->test, 0, pagoda_paging_make_resident(t->queues[NORMAL], &args));
	KUNIT_ASSERT_NE(t->test, 0ull, args.value);
	return args.value;
}

/*
 * A job that waits for the value of a failed request is cancelled, whether SUBMIT came before the
 * failure or later, when the timeline has forgotten the error. The context's next job is executed.
 */
static void paging_failure_cancels_jobs(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct submit_client *client = submit_client(t.rig, 0);
	struct pagoda_bo *bo = submit_private(client, 1, SUBMIT_VRAM, HERE);
	struct drm_pagoda_paging_queue_state state = {};
	struct drm_syncobj *own = submit_syncobj(test), *outs[5];
	u64 failed, good;

	KUNIT_ASSERT_EQ(test, 0,
			xa_err(xa_store(&t.rig->client->objects[PAGODA_OBJECT_PAGING_QUEUE], 1,
					t.queues[NORMAL], GFP_KERNEL)));
	paging_block(&t);
	failed = paging_signal(&t, 1, own);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 2, 1, 0, &good));
	outs[0] = paging_job(&t, client, t.points[NORMAL], failed, 1);
	outs[1] = paging_job(&t, client, own, 1, 2);
	outs[2] = paging_job(&t, client, t.points[NORMAL], good, 3);
	/*
	 * Offer the allocation directly, because OFFER would refuse: the request of value @failed
	 * fails in its turn.
	 */
	WRITE_ONCE(t.bos[1]->offer.rank, PAGODA_OFFER_NORMAL);
	paging_let(&t);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait_point(outs[0], 0));
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait_point(outs[1], 0));
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(outs[2], 0));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(t.rig, bo, 0));
	flush_delayed_work(&t.rig->client->pager->work);
	WRITE_ONCE(t.bos[1]->offer.rank, PAGODA_OFFER_NONE);
	pagoda_paging_queue_state(t.queues[NORMAL], &state);
	KUNIT_EXPECT_EQ(test, (u32)ENODATA, state.error);
	KUNIT_EXPECT_EQ(test, failed, state.failed);
	KUNIT_EXPECT_EQ(test, good, state.given);

	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, good));
	outs[3] = paging_job(&t, client, t.points[NORMAL], failed, 4);
	KUNIT_EXPECT_EQ(test, -ECANCELED, submit_wait_point(outs[3], 0));
	KUNIT_EXPECT_EQ(test, 3ull, submit_word(t.rig, bo, 0));
	outs[4] = paging_job(&t, client, t.points[NORMAL], good, 5);
	KUNIT_EXPECT_EQ(test, 0, submit_wait_point(outs[4], 0));
	KUNIT_EXPECT_EQ(test, 5ull, submit_word(t.rig, bo, 0));
	KUNIT_EXPECT_EQ(test, 0u, submit_state(client).state);
	KUNIT_EXPECT_EQ(test, 5ull, submit_state(client).submitted);
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	xa_erase(&t.rig->client->objects[PAGODA_OBJECT_PAGING_QUEUE], 1);
	submit_close(client, bo);
	submit_client_end(client);
	paging_end(&t);
}

/*
 * When a client is closed, the values of its requests signal, with -ECANCELED if the requests
 * weren't executed.
 */
static void paging_ends_with_the_client(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	u64 values[8];
	u32 i;
	int error;

	paging_block(&t);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1 + i, 1, 0, &values[i]));
	paging_let(&t);
	pagoda_client_drop_lists(t.rig->client);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		error = paging_wait(&t, NORMAL, values[i]);
		KUNIT_EXPECT_TRUE(test, !error || error == -ECANCELED);
		KUNIT_EXPECT_EQ(test, 0u, pagoda_require_clients(t.bos[1 + i]));
	}
	KUNIT_EXPECT_EQ(test, 0u, t.rig->client->requirements->count);
	paging_end(&t);
}

/*
 * @client requires an allocation that another client's EVICT has just taken off that client's
 * residency list; @asked counts the calls of pagoda_require_clients(), @ret is what
 * pagoda_require() returned.
 */
struct paging_race {
	struct pagoda_client *client;
	struct pagoda_bo *bo;
	u32 asked;
	int ret;
};

static struct paging_race paging_race;

/*
 * Stub of pagoda_require_clients(): in the first call the client requires the allocation after the
 * answer is known and before the caller gets it.
 */
static u32 paging_race_clients(const struct pagoda_bo *bo)
{
	u32 count = atomic_read(&bo->wish.required);
	u64 trim;

	if (paging_race.asked++)
		return count;
	paging_race.ret = pagoda_require(paging_race.client, &paging_race.bo, 1, &trim);
	dma_resv_lock(bo->ttm.base.resv, NULL);
	pagoda_bo_set_resident(paging_race.bo, true);
	dma_resv_unlock(bo->ttm.base.resv);
	return count;
}

/*
 * If a client requires an allocation while another client's EVICT finds it on no residency list,
 * the allocation doesn't stay marked as released: it may be promoted.
 */
static void paging_given_up_and_required(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct pagoda_paging_args args = {
		.bos = &t.bos[0], .count = 1, .flags = DRM_PAGODA_EVICT_ONLY_IF_NECESSARY,
	};
	u64 value;

	paging_race = (struct paging_race) {
		.client = pagoda_client_create(t.rig->vidmm), .bo = t.bos[0], .ret = 1,
	};
	KUNIT_ASSERT_NOT_NULL(test, paging_race.client);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 1, 0, &value));
	KUNIT_ASSERT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	kunit_activate_static_stub(test, pagoda_require_clients, paging_race_clients);
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_evict(t.queues[NORMAL], &args));
	kunit_deactivate_static_stub(test, pagoda_require_clients);
	KUNIT_EXPECT_EQ(test, 0, paging_race.ret);
	KUNIT_EXPECT_EQ(test, 1u, pagoda_require_clients(t.bos[0]));
	KUNIT_EXPECT_FALSE(test, t.bos[0]->wish.released);
	/* An allocation that no client requires stays marked: it isn't promoted. */
	pagoda_client_drop_lists(paging_race.client);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 1, 0, &value));
	KUNIT_ASSERT_EQ(test, 0, value ? paging_wait(&t, NORMAL, value) : 0);
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_evict(t.queues[NORMAL], &args));
	KUNIT_EXPECT_TRUE(test, t.bos[0]->wish.released);
	pagoda_client_put(paging_race.client);
	paging_end(&t);
}

/*
 * When the value of a MAKE_RESIDENT signals, mappings of the allocations in the client's VMs are
 * valid: a job that follows doesn't fault.
 */
static void paging_shows_what_it_brings(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct submit_client *client = submit_client(t.rig, 0);
	u64 value;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0,
			xa_err(xa_store(&t.rig->client->objects[PAGODA_OBJECT_VM], 1, client->vm,
					GFP_KERNEL)));
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_map(client, t.bos[i], HERE + i * SZ_2M));
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 3, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	PAGODA_PROVES(C149);
	KUNIT_EXPECT_TRUE(test, list_empty(&client->vm->base.evict.list));
	for (i = 0; i < 3; i++)
		submit_store(client, HERE + i * SZ_2M, 90 + i);
	KUNIT_ASSERT_EQ(test, 0, submit_job(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, 90ull + i, submit_word(t.rig, t.bos[i], 0));
		pagoda_vm_forget(client->vm, t.bos[i]);
	}
	xa_erase(&t.rig->client->objects[PAGODA_OBJECT_VM], 1);
	submit_client_end(client);
	paging_end(&t);
}

static struct kunit_case paging_queue_cases[] = {
	KUNIT_CASE_PARAM(paging_values_in_order, pagoda_rig_modes),
	KUNIT_CASE(paging_done_at_once),
	KUNIT_CASE_PARAM(paging_higher_priority_first, pagoda_rig_update_modes),
	KUNIT_CASE(paging_evicted_before_its_turn),
	KUNIT_CASE(paging_evicts_after_work),
	KUNIT_CASE(paging_has_a_limit),
	KUNIT_CASE(paging_refuses_what_is_offered),
	KUNIT_CASE(paging_keeps_from_being_offered),
	KUNIT_CASE(paging_failure_of_one_entry),
	KUNIT_CASE(paging_failure_cancels_jobs),
	KUNIT_CASE(paging_ends_with_the_client),
	KUNIT_CASE(paging_given_up_and_required),
	KUNIT_CASE_PARAM(paging_shows_what_it_brings, pagoda_rig_modes),
	{ }
};

static struct kunit_suite paging_queue_suite = {
	.name = "pagoda_paging_queue",
	.test_cases = paging_queue_cases,
};

kunit_test_suite(paging_queue_suite);
