// SPDX-License-Identifier: GPL-2.0
/*
 * Paging queues: values in order, priorities, requests that need no paging, requests that fail
 * late, and which contexts pay for that.
 */
#include <kunit/static_stub.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/dma-fence-chain.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <drm/drm_syncobj.h>
#include "submit_helpers.h"

#define HERE		SZ_4M
#define MOST		12u
#define PAGES		64u
#define CANT_TRIM	DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER
#define MUST		(CANT_TRIM | DRM_PAGODA_RESIDENT_MUST_SUCCEED)

struct paging_test {
	struct kunit *test;
	struct pagoda_rig *rig;
	struct pagoda_paging_queue *queues[3];
	struct drm_syncobj *points[3];
	struct pagoda_bo *bos[MOST];
	u64 trim;
	struct completion held;
	struct completion let;
	struct completion over;
};

#define LOW	0
#define NORMAL	1
#define HIGH	2

static struct paging_test paging_make(struct kunit *test, u32 pages)
{
	struct paging_test t = { .test = test, .rig = submit_rig(test) };
	u32 i;

	for (i = 0; i < 3; i++) {
		t.points[i] = submit_syncobj(test);
		t.queues[i] = pagoda_paging_queue_create(t.rig->vidmm, t.rig->client,
							 (int)i - NORMAL, t.points[i]);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t.queues[i]));
	}
	for (i = 0; i < MOST; i++) {
		t.bos[i] = pagoda_rig_bo(t.rig, pages, DRM_PAGODA_ALLOCATION_CPU_VISIBLE,
					 SUBMIT_VRAM, 0);
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bos[i]));
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(t.bos[i]));
		pagoda_rig_write(t.rig, t.bos[i], i);
	}
	pagoda_rig_settle_freed(t.rig);
	t.rig->nr_log = 0;
	return t;
}

static void paging_end(struct paging_test *t)
{
	u32 i;

	pagoda_client_drop_lists(t->rig->client);
	for (i = 0; i < 3; i++)
		pagoda_paging_queue_put(t->queues[i]);
	for (i = 0; i < MOST; i++)
		pagoda_rig_close(t->bos[i]);
}

/* Returns the call's return value and the paging value in @value. */
static int paging_resident(struct paging_test *t, u32 queue, u32 first, u32 count, u32 flags,
			   u64 *value)
{
	struct pagoda_paging_args args = {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	int ret = pagoda_paging_make_resident(t->queues[queue], &args);

	*value = args.value;
	t->trim = args.bytes_to_trim;
	return ret;
}

static int paging_evict(struct paging_test *t, u32 queue, u32 first, u32 count, u32 flags,
			u64 *value)
{
	struct pagoda_paging_args args = {
		.bos = &t->bos[first], .count = count, .flags = flags,
	};
	int ret = pagoda_paging_evict(t->queues[queue], &args);

	*value = args.value;
	return ret;
}

/* Waits for a value; returns its error. */
static int paging_wait(struct paging_test *t, u32 queue, u64 value)
{
	return value ? submit_wait_point(t->points[queue], value) : 0;
}

static bool paging_is_over(struct paging_test *t, u32 queue, u64 value)
{
	struct dma_fence *fence;
	bool over;

	if (!submit_point(t->points[queue], value, &fence))
		return false;
	over = !fence || dma_fence_is_signaled(fence);
	dma_fence_put(fence);
	return over;
}

static bool paging_in_vram(struct paging_test *t, u32 index)
{
	return t->bos[index]->ttm.resource->mem_type == TTM_PL_VRAM;
}

static u32 paging_copies(struct paging_test *t, u32 index)
{
	return pagoda_rig_count(t->rig, pagoda_rig_copy_op(t->rig), t->bos[index]->id);
}

static u32 paging_count(struct paging_test *t, u32 index)
{
	return pagoda_require_count(t->rig->client, t->bos[index]);
}

/*
 * Values count up and signal in order; then the allocations are where they should be, with their
 * content.
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
		/* When one value has signalled, so have all before it. */
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

/* Requests that need no paging return the value 0, but count. */
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
	 * The last EVICT moves the allocation, with the flag only if its room is needed; else it is
	 * back without a copy.
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

/* Holds the first allocation's reservation in a thread, because the test's thread locks others. */
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

/* Blocks the pager with a request it has begun, until paging_let(). */
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

/* A request that was undone before its turn moves nothing. */
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

/* A list that doesn't fit fails with -ENOMEM and the exact number of bytes to trim. */
static void paging_trims(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	u64 value, first;

	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 6, 0, &first));
	PAGODA_PROVES(C147, C148);
	KUNIT_EXPECT_EQ(test, -ENOMEM, paging_resident(&t, NORMAL, 5, 5, 0, &value));
	KUNIT_EXPECT_EQ(test, (u64)(2 * 2 * PAGES) << PAGE_SHIFT, t.trim);
	KUNIT_EXPECT_EQ(test, 1u, paging_count(&t, 5));
	KUNIT_EXPECT_EQ(test, 0u, paging_count(&t, 6));
	KUNIT_ASSERT_EQ(test, 0, paging_evict(&t, NORMAL, 0, 2, 0, &value));
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 5, 5, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_EQ(test, 2u, paging_count(&t, 5));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 9));
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	paging_end(&t);
}

static struct submit_client *paging_context(struct paging_test *t)
{
	struct submit_client *client = submit_client(t->rig, 0);

	KUNIT_ASSERT_EQ(t->test, 0,
			xa_err(xa_store(&t->rig->client->objects[PAGODA_OBJECT_CONTEXT], 1,
					client->context, GFP_KERNEL)));
	return client;
}

static void paging_expect_error(struct paging_test *t, struct submit_client *client)
{
	u32 expected = DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_CLIENT_ERROR;
	u64 value;

	KUNIT_EXPECT_EQ(t->test, expected, submit_state(client).state);
	KUNIT_EXPECT_EQ(t->test, -ECANCELED, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(t->test, -ECANCELED, paging_resident(t, NORMAL, 11, 1, 0, &value));
	KUNIT_EXPECT_EQ(t->test, 0u, paging_count(t, 11));
	xa_erase(&t->rig->client->objects[PAGODA_OBJECT_CONTEXT], 1);
	submit_client_end(client);
}

/* -ENOMEM with CANT_TRIM puts the client in error: its contexts are banned. */
static void paging_error_in_the_call(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	struct submit_client *client = paging_context(&t);
	u64 value;

	KUNIT_EXPECT_EQ(test, -ENOMEM, paging_resident(&t, NORMAL, 0, 9, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, submit_empty(client, NULL));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(client));
	KUNIT_EXPECT_EQ(test, -ENOMEM, paging_resident(&t, NORMAL, 0, 9, CANT_TRIM, &value));
	KUNIT_EXPECT_GT(test, t.trim, 0ull);
	KUNIT_EXPECT_EQ(test, 0u, paging_count(&t, 0));
	PAGODA_PROVES(C151);
	paging_expect_error(&t, client);
	paging_end(&t);
}

/* ---- Offers ------------------------------------------------------------------------- */

static int paging_offer(struct paging_test *t, u32 index)
{
	return pagoda_offer(t->rig->vidmm, &t->bos[index], 1, DRM_PAGODA_OFFER_NORMAL, 0);
}

/*
 * A list with an offered allocation fails with -ENODATA: no count changes, and the client isn't in
 * error.
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
	/* Nothing of the refused call is left. */
	KUNIT_EXPECT_EQ(test, 0, paging_offer(&t, 1));
	KUNIT_EXPECT_EQ(test, 0, paging_offer(&t, 3));
	paging_end(&t);
}

/* While a request waits, its allocations can't be offered (-EBUSY). */
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

/* An entry that fails for a reason of its own loses only its own count. */
static void paging_failure_of_one_entry(struct kunit *test)
{
	struct paging_test t = paging_make(test, PAGES);
	struct drm_pagoda_paging_queue_state state = {};
	u64 value;
	u32 i;

	paging_block(&t);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 1, 3, 0, &value));
	/*
	 * Set directly, because OFFER would refuse: the entry fails when the request is executed.
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

/* Submits a job that stores @value and waits for a point; returns the syncobj it signals. */
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

/* As paging_resident() for one allocation, also signalling a point of the caller's. */
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
 * A job that waits for a paging value that failed is cancelled, whether the job was waiting or
 * comes later, when the timeline has forgotten the error. The context's next job is executed.
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
	/* Set directly, because OFFER would refuse: the first request fails in its turn. */
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

/* Pins half of VRAM, which isn't taken into account when a list is accepted. */
static void paging_pin(struct paging_test *t, bool pin)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		dma_resv_lock(t->bos[i]->ttm.base.resv, NULL);
		if (pin)
			ttm_bo_pin(&t->bos[i]->ttm);
		else
			ttm_bo_unpin(&t->bos[i]->ttm);
		dma_resv_unlock(t->bos[i]->ttm.base.resv);
	}
}

static void paging_expect_failure(struct paging_test *t, u32 flags)
{
	struct drm_pagoda_paging_queue_state state = {};
	u64 value, next;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(t->test, 0, pagoda_rig_to_vram(t->bos[i]));
	paging_pin(t, true);
	KUNIT_ASSERT_EQ(t->test, 0, paging_resident(t, NORMAL, 4, 6, flags, &value));
	/* A request on another queue isn't affected. */
	KUNIT_ASSERT_EQ(t->test, 0, paging_resident(t, LOW, 4, 1, 0, &next));
	KUNIT_EXPECT_EQ(t->test, -ENOMEM, paging_wait(t, NORMAL, value));
	KUNIT_EXPECT_EQ(t->test, 0, paging_wait(t, LOW, next));
	pagoda_paging_queue_state(t->queues[NORMAL], &state);
	KUNIT_EXPECT_EQ(t->test, (u32)ENOMEM, state.error);
	KUNIT_EXPECT_EQ(t->test, value, state.failed);
	KUNIT_EXPECT_EQ(t->test, value, state.given);
	KUNIT_EXPECT_EQ(t->test, 1u, paging_count(t, 4));
	KUNIT_EXPECT_EQ(t->test, 0u, paging_count(t, 5));
	paging_pin(t, false);
}

/* A request without CANT_TRIM that fails late takes its counts back and can be repeated. */
static void paging_failure_later(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	u64 value;

	PAGODA_PROVES(C147);
	paging_expect_failure(&t, 0);
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 4, 6, 0, &value));
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 9));
	paging_end(&t);
}

/* A request with CANT_TRIM that fails late puts the client in error. */
static void paging_error_later(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	struct submit_client *client = paging_context(&t);

	paging_expect_failure(&t, CANT_TRIM);
	KUNIT_EXPECT_EQ(test, -ENOMEM, t.rig->client->error);
	paging_expect_error(&t, client);
	paging_end(&t);
}

/* A client in error has all its contexts banned and all their waiting jobs cancelled. */
static void paging_error_is_for_all_contexts(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	u32 expected = DRM_PAGODA_CONTEXT_BANNED | DRM_PAGODA_CONTEXT_CLIENT_ERROR, i;
	struct submit_args args = { .in = submit_syncobj(test), .in_point = 1 };
	struct submit_client *clients[3];

	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = submit_client(t.rig, i % 2);
		KUNIT_ASSERT_EQ(test, 0,
				xa_err(xa_store(&t.rig->client->objects[PAGODA_OBJECT_CONTEXT],
						i + 1, clients[i]->context, GFP_KERNEL)));
		KUNIT_ASSERT_EQ(test, 0, submit_empty(clients[i], &args));
	}
	paging_expect_failure(&t, CANT_TRIM);
	PAGODA_PROVES(C151);
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		KUNIT_EXPECT_EQ_MSG(test, -ECANCELED, submit_wait(clients[i]), "context %u", i);
		KUNIT_EXPECT_EQ_MSG(test, expected, submit_state(clients[i]).state, "context %u",
				    i);
		KUNIT_EXPECT_EQ_MSG(test, -ECANCELED, submit_empty(clients[i], NULL), "context %u",
				    i);
	}
	for (i = 0; i < ARRAY_SIZE(clients); i++) {
		xa_erase(&t.rig->client->objects[PAGODA_OBJECT_CONTEXT], i + 1);
		submit_client_end(clients[i]);
	}
	paging_end(&t);
}

/*
 * With MUST_SUCCEED the request is repeated for longer, and succeeds when the pinned allocations
 * can leave.
 */
static void paging_must_succeed_waits(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	u64 value;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bos[i]));
	paging_pin(&t, true);
	KUNIT_EXPECT_GT(test, t.queues[NORMAL]->patience_must, t.queues[NORMAL]->patience);
	/* Long enough for any machine. */
	t.queues[NORMAL]->patience_must = 100 * HZ;
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 4, 6, MUST, &value));
	msleep(1000);
	KUNIT_EXPECT_FALSE(test, paging_is_over(&t, NORMAL, value));
	paging_pin(&t, false);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
	KUNIT_EXPECT_TRUE(test, paging_in_vram(&t, 9));
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	paging_end(&t);
}

/*
 * When a client is closed, the values of its requests signal, with -ECANCELED if they weren't
 * executed.
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
 * A client that requires an allocation that another client just released; @asked counts questions
 * whether any client requires it, @ret is the result of the request.
 */
struct paging_race {
	struct pagoda_client *client;
	struct pagoda_bo *bo;
	u32 asked;
	int ret;
};

static struct paging_race paging_race;

/* Right after the first question is answered, the other client requires the allocation. */
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
 * An allocation is promoted for the client that requires it, although another client released it.
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
	/* An allocation that no client requires isn't promoted. */
	pagoda_client_drop_lists(paging_race.client);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 0, 1, 0, &value));
	KUNIT_ASSERT_EQ(test, 0, value ? paging_wait(&t, NORMAL, value) : 0);
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_evict(t.queues[NORMAL], &args));
	KUNIT_EXPECT_TRUE(test, t.bos[0]->wish.released);
	pagoda_client_put(paging_race.client);
	paging_end(&t);
}

/* When the value signals, mappings are valid: a job that follows doesn't fault. */
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

/* ---- Open buffers -------------------------------------------------------------------- */

struct paging_call {
	struct work_struct work;
	struct paging_test *t;
	struct completion done;
	int ret;
};

static void paging_call_work(struct work_struct *work)
{
	struct paging_call *call = container_of(work, struct paging_call, work);
	struct paging_test *t = call->t;
	struct dma_fence *fence;
	u64 trim;

	call->ret = pagoda_rig_make_resident(t->rig, &t->bos[4], 6, &fence, &trim);
	dma_fence_put(fence);
	complete(&call->done);
}

/*
 * A list finds no room, although other allocations and its own are evicted: buffers that are kept
 * open for more operations are sent before TTM waits for these.
 */
static void paging_sends_what_it_waits_for(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	struct paging_call call = { .t = &t };
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bos[i]));
	paging_pin(&t, true);
	pagoda_rig_settle(t.rig);
	pagoda_rig_share(t.rig, true);
	init_completion(&call.done);
	INIT_WORK_ONSTACK(&call.work, paging_call_work);
	queue_work(system_dfl_wq, &call.work);
	/* Much shorter than buffers may be kept open. */
	KUNIT_EXPECT_NE(test, 0ul, wait_for_completion_timeout(&call.done, 10 * HZ));
	pagoda_rig_share(t.rig, false);
	flush_work(&call.work);
	destroy_work_on_stack(&call.work);
	KUNIT_EXPECT_EQ(test, -ENOMEM, call.ret);
	paging_pin(&t, false);
	paging_end(&t);
}

static struct kunit_case paging_queue_cases[] = {
	KUNIT_CASE_PARAM(paging_values_in_order, pagoda_rig_modes),
	KUNIT_CASE(paging_done_at_once),
	KUNIT_CASE_PARAM(paging_higher_priority_first, pagoda_rig_update_modes),
	KUNIT_CASE(paging_evicted_before_its_turn),
	KUNIT_CASE(paging_trims),
	KUNIT_CASE(paging_error_in_the_call),
	KUNIT_CASE(paging_refuses_what_is_offered),
	KUNIT_CASE(paging_keeps_from_being_offered),
	KUNIT_CASE(paging_failure_of_one_entry),
	KUNIT_CASE(paging_failure_cancels_jobs),
	KUNIT_CASE_SLOW(paging_failure_later),
	KUNIT_CASE_SLOW(paging_error_later),
	KUNIT_CASE_SLOW(paging_error_is_for_all_contexts),
	KUNIT_CASE_SLOW(paging_must_succeed_waits),
	KUNIT_CASE(paging_ends_with_the_client),
	KUNIT_CASE(paging_given_up_and_required),
	KUNIT_CASE_SLOW(paging_sends_what_it_waits_for),
	KUNIT_CASE_PARAM(paging_shows_what_it_brings, pagoda_rig_modes),
	{ }
};

static struct kunit_suite paging_queue_suite = {
	.name = "pagoda_paging_queue",
	.test_cases = paging_queue_cases,
};

kunit_test_suite(paging_queue_suite);
