// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of paging requests that find no room in VRAM: the number of bytes to trim, failures in the
 * call and later, clients in error with all their contexts, and how long and when a request is
 * tried again.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/workqueue.h>
#include <drm/drm_syncobj.h>
#include "ttm/prime_helpers.h"
#include "paging_queue_helpers.h"

#define PAGES		64u
#define CANT_TRIM	DRM_PAGODA_RESIDENT_CANT_TRIM_FURTHER
#define MUST		(CANT_TRIM | DRM_PAGODA_RESIDENT_MUST_SUCCEED)

/* MAKE_RESIDENT of too much fails with -ENOMEM and the exact number of bytes to trim. */
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

/*
 * Pins allocations 0 to 3, which fill half of VRAM, or unpins them. When a request is accepted,
 * pins in VRAM of allocations that the request doesn't list aren't taken into account.
 */
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
	/*
	 * Count the end of the pins, as the driver does for its own: requests that found no room
	 * are tried again.
	 */
	if (!pin)
		atomic64_inc(&t->rig->vidmm->releases);
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

/* A request without CANT_TRIM that fails in the pager takes its counts back and can be repeated. */
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

/* A request with CANT_TRIM that fails in the pager puts the client in error. */
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
 * With MUST_SUCCEED a request that finds no room is repeated for longer than without, and succeeds
 * when the pinned allocations can leave.
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
 * With MUST_SUCCEED a request is queued even if it doesn't fit beside the allocations that are
 * pinned in the aperture now, and succeeds when they are unpinned; without, the call says how many
 * bytes don't fit.
 */
static void paging_must_succeed_beside_pins(struct kunit *test)
{
	const u32 flags = DRM_PAGODA_ALLOCATION_CPU_VISIBLE |
			  DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY;
	struct paging_test t = paging_make(test, PAGES);
	struct pagoda_bo *pinned = pagoda_rig_bo(t.rig, PRIME_PAGES, flags, SUBMIT_APERTURE, 0);
	struct pagoda_bo *wanted = pagoda_rig_bo(t.rig, PAGODA_RIG_APERTURE_PAGES - PRIME_PAGES + 1,
						 flags, SUBMIT_APERTURE, 0);
	struct pagoda_paging_args args = { .bos = &wanted, .count = 1 };
	struct dma_buf *dma_buf = prime_export(pinned);
	struct dma_buf_attachment *attach;

	KUNIT_ASSERT_NOT_NULL(test, dma_buf);
	attach = test_ok(test, prime_attach(t.rig, dma_buf));
	KUNIT_EXPECT_EQ(test, -ENOMEM, pagoda_paging_make_resident(t.queues[NORMAL], &args));
	KUNIT_EXPECT_EQ(test, (u64)PAGE_SIZE, args.bytes_to_trim);
	KUNIT_EXPECT_EQ(test, 0u, pagoda_require_count(t.rig->client, wanted));
	/* Long enough for any machine. */
	t.queues[NORMAL]->patience_must = 100 * HZ;
	args.flags = MUST;
	KUNIT_EXPECT_EQ(test, 0, pagoda_paging_make_resident(t.queues[NORMAL], &args));
	KUNIT_EXPECT_NE(test, 0ull, args.value);
	prime_detach(dma_buf, attach);
	prime_put(dma_buf);
	pagoda_rig_close(pinned);
	prime_settle(t.rig);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, args.value));
	KUNIT_EXPECT_EQ(test, 1u, pagoda_require_count(t.rig->client, wanted));
	KUNIT_EXPECT_EQ(test, 0, t.rig->client->error);
	pagoda_rig_close(wanted);
	paging_end(&t);
}

static s64 paging_moves(struct paging_test *t)
{
	return atomic64_read(&t->rig->vidmm->stats.page_ins);
}

/*
 * Within its patience, a request that found no room is tried again only when a job has ended or
 * memory was freed or unpinned, here freed in the aperture.
 */
static void paging_repeats_for_a_reason(struct kunit *test)
{
	struct paging_test t = paging_make(test, 2 * PAGES);
	struct pagoda_bo *other = pagoda_rig_bo(t.rig, 1, 0, SUBMIT_APERTURE, 0);
	u64 value;
	s64 moves;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_vram(t.bos[i]));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_aperture(other, false));
	paging_pin(&t, true);
	t.queues[NORMAL]->patience_must = 100 * HZ;
	moves = paging_moves(&t);
	KUNIT_ASSERT_EQ(test, 0, paging_resident(&t, NORMAL, 4, 6, MUST, &value));
	for (i = 0; i < 1000 && paging_moves(&t) == moves; i++)
		msleep(20);
	msleep(500);
	moves = paging_moves(&t);
	msleep(500);
	KUNIT_EXPECT_EQ(test, moves, paging_moves(&t));
	pagoda_rig_close(other);
	for (i = 0; i < 1000 && paging_moves(&t) == moves; i++)
		msleep(20);
	KUNIT_EXPECT_NE(test, moves, paging_moves(&t));
	KUNIT_EXPECT_FALSE(test, paging_is_over(&t, NORMAL, value));
	paging_pin(&t, false);
	KUNIT_EXPECT_EQ(test, 0, paging_wait(&t, NORMAL, value));
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
 * MAKE_RESIDENT finds no room, although other allocations and its own are evicted. Submissions of
 * these evictions, which would stay open for more operations, are queued before TTM waits for their
 * fences: the call fails soon.
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
	/* Much shorter than buffers stay open after pagoda_rig_share(). */
	KUNIT_EXPECT_NE(test, 0ul, wait_for_completion_timeout(&call.done, 10 * HZ));
	pagoda_rig_share(t.rig, false);
	flush_work(&call.work);
	destroy_work_on_stack(&call.work);
	KUNIT_EXPECT_EQ(test, -ENOMEM, call.ret);
	paging_pin(&t, false);
	paging_end(&t);
}

static struct kunit_case paging_room_cases[] = {
	KUNIT_CASE(paging_trims),
	KUNIT_CASE(paging_error_in_the_call),
	KUNIT_CASE_SLOW(paging_failure_later),
	KUNIT_CASE_SLOW(paging_error_later),
	KUNIT_CASE_SLOW(paging_error_is_for_all_contexts),
	KUNIT_CASE_SLOW(paging_must_succeed_waits),
	KUNIT_CASE(paging_must_succeed_beside_pins),
	KUNIT_CASE_SLOW(paging_repeats_for_a_reason),
	KUNIT_CASE_SLOW(paging_sends_what_it_waits_for),
	{ }
};

static struct kunit_suite paging_room_suite = {
	.name = "pagoda_paging_room",
	.test_cases = paging_room_cases,
};

kunit_test_suite(paging_room_suite);
