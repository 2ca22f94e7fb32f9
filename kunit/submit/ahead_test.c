// SPDX-License-Identifier: GPL-2.0
/*
 * Paging ahead of the engines: what queued jobs list comes to VRAM before a place is free for the
 * jobs; what leaves for that and what doesn't; limits, charges, and how it ends.
 */
#include <linux/delay.h>
#include <linux/workqueue.h>
#include "ledger/traffic_helpers.h"
#include "queue/queue_helpers.h"
#include "residency/offer_helpers.h"
#include "vidmm/submit/internal.h"

#define HERE	SZ_4M
#define FULL	7	/* pieces that leave room for no other one */
#define JOBS	8
#define ROUNDS	1000	/* most rounds of ahead_settle(): far more than needed */
#define BYTES	((u64)PIECE << PAGE_SHIFT)

/*
 * An engine that is held: jobs of @first have its places, jobs of @client are queued. Both contexts
 * are of the rig's client.
 */
struct ahead_world {
	struct pagoda_rig *rig;
	struct submit_client *first;
	struct submit_client *client;
	struct pagoda_bo *full[FULL];
};

static struct ahead_world *ahead_world(struct kunit *test, u32 jobs)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.engines = true,
		.ahead = jobs,
	};
	struct ahead_world *w = test_zalloc(test, sizeof(*w));
	u32 i;

	w->rig = pagoda_rig_create(test, &options);
	w->first = submit_client(w->rig, 0);
	w->client = submit_client(w->rig, 0);
	pagoda_rig_hold(w->rig, 0, true);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, 0, submit_empty(w->first, NULL));
	return w;
}

static void ahead_world_end(struct ahead_world *w)
{
	pagoda_rig_hold(w->rig, 0, false);
	if (w->client->context && w->client->sent)
		KUNIT_EXPECT_EQ(w->rig->test, 0, submit_wait(w->client));
	submit_client_end(w->client);
	submit_client_end(w->first);
	close_all(w->full, FULL);
}

static struct pagoda_client_ahead *ahead_of(struct submit_client *client)
{
	return &client->vm->client->ahead;
}

/* Waits until all has come in that may come in for the jobs that are queued now. */
static void ahead_settle(struct submit_client *client)
{
	struct pagoda_client_ahead *ahead = ahead_of(client);
	u32 round = 0;

	do {
		flush_delayed_work(&client->context->deferred.work);
		flush_work(&ahead->work);
		settle_moves(client->rig);
		flush_work(&ahead->work);
	} while (READ_ONCE(ahead->fence) && ++round < ROUNDS);
	KUNIT_EXPECT_LT(client->rig->test, round, (u32)ROUNDS);
}

static u32 ahead_queued(struct submit_client *client)
{
	return READ_ONCE(client->context->deferred.count);
}

/* Returns a piece with content of @seed, which isn't in VRAM. */
static struct pagoda_bo *ahead_piece(struct pagoda_rig *rig, u32 supported, u32 seed)
{
	struct pagoda_bo *bo = piece(rig, CPU, supported, seed);

	KUNIT_ASSERT_EQ(rig->test, 0, pagoda_rig_to_system(bo));
	settle_moves(rig);
	return bo;
}

/* Fills VRAM with idle pieces that no job has listed so far. */
static void ahead_fill(struct ahead_world *w)
{
	u32 i;

	for (i = 0; i < FULL; i++)
		w->full[i] = piece(w->rig, CPU, SUBMIT_VRAM, 10 + i);
	settle_moves(w->rig);
}

/* Queues a job without commands that lists @count allocations. */
static void ahead_job(struct submit_client *client, struct pagoda_bo **bos, u32 count)
{
	struct submit_args args = { .nr_bos = count };

	memcpy(args.bos, bos, count * sizeof(*bos));
	KUNIT_ASSERT_EQ(client->rig->test, 0, submit_empty(client, &args));
}

static u64 ahead_evictions(struct ahead_world *w)
{
	return atomic64_read(&w->rig->vidmm->stats.evictions);
}

/* ---- What comes in -------------------------------------------------------------------- */

/*
 * What a queued job lists is in VRAM before the engine has a place for the job, and the job finds
 * its content; the allocation isn't kept there.
 */
static void ahead_comes_in(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	const struct submit_args args = { .bos[0] = bo, .nr_bos = 1 };
	u64 before = submit_word(w->rig, bo, 0);

	KUNIT_ASSERT_EQ(test, 0, submit_map(w->client, bo, HERE));
	submit_add(w->client, HERE, 1);
	KUNIT_ASSERT_EQ(test, 0, submit_job(w->client, &args));
	ahead_settle(w->client);
	KUNIT_EXPECT_EQ(test, 1u, ahead_queued(w->client));
	KUNIT_EXPECT_TRUE(test, in_vram(bo) && pagoda_rig_idle(bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(w->rig, bo, 1));
	KUNIT_EXPECT_EQ(test, 1ll, atomic64_read(&ahead_of(w->client)->count));
	KUNIT_EXPECT_EQ(test, (s64)BYTES, atomic64_read(&ahead_of(w->client)->bytes));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_EQ(test, before + 1, submit_word(w->rig, bo, 0));
	submit_close(w->client, bo);
	ahead_world_end(w);
}

/*
 * What came in may leave again, because a queued job holds no memory; it isn't brought in once
 * more, but the job still finds its content.
 */
static void ahead_may_leave(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);

	ahead_job(w->client, &bo, 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, 0, pagoda_rig_to_system(bo));
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_TRUE(test, in_vram(bo) && pagoda_rig_holds(w->rig, bo, 1));
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* What a job lists comes in while the job waits for a fence, although its engine is idle. */
static void ahead_waits_for_fences(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct submit_client *other = submit_client(w->rig, 1);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	const struct submit_args args = {
		.bos[0] = bo,
		.nr_bos = 1,
		.in = w->first->done,
		.in_point = w->first->sent,
	};

	KUNIT_ASSERT_EQ(test, 0, submit_empty(other, &args));
	ahead_settle(other);
	KUNIT_EXPECT_EQ(test, 1u, ahead_queued(other));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	submit_client_end(other);
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/*
 * Nothing comes in for a job that waits for a point which no work will signal so far: it may never
 * be executed. When the point exists, its allocation comes in.
 */
static void ahead_not_for_missing(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	const struct submit_args args = {
		.bos[0] = bo,
		.nr_bos = 1,
		.in = submit_syncobj(test),
		.in_point = 1,
	};

	KUNIT_ASSERT_EQ(test, 0, submit_empty(w->client, &args));
	flush_delayed_work(&w->client->context->deferred.work);
	pagoda_ahead_kick(w->rig->client);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	submit_signal(w->client, args.in, 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_EQ(test, 1u, ahead_queued(w->client));
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* ---- What leaves ---------------------------------------------------------------------- */

/*
 * Nothing leaves VRAM that a job before lists, even if nothing else can leave; once other
 * allocations can leave, as many of them leave as are needed.
 */
static void ahead_evicts_nothing_nearer(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	u64 before;
	u32 i;

	ahead_fill(w);
	for (i = 2; i < FULL; i++)
		pagoda_rig_pin(w->full[i], true);
	ahead_job(w->client, w->full, 2);
	ahead_job(w->client, &bo, 1);
	before = ahead_evictions(w);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, before, ahead_evictions(w));
	for (i = 2; i < FULL; i++)
		pagoda_rig_pin(w->full[i], false);
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bo) && pagoda_rig_holds(w->rig, bo, 1));
	KUNIT_EXPECT_TRUE(test, in_vram(w->full[0]) && in_vram(w->full[1]));
	KUNIT_EXPECT_EQ(test, before + 1, ahead_evictions(w));
	KUNIT_EXPECT_EQ(test, 3u, ahead_queued(w->client));
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* An allocation leaves that only a later job lists: of two such, the one that is used later. */
static void ahead_evicts_later(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	u32 i;

	ahead_fill(w);
	for (i = 0; i < FULL; i++)
		pagoda_rig_pin(w->full[i], true);
	ahead_job(w->client, &bo, 1);
	ahead_job(w->client, w->full, 2);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	for (i = 0; i < 2; i++)
		pagoda_rig_pin(w->full[i], false);
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bo) && pagoda_rig_holds(w->rig, bo, 1));
	KUNIT_EXPECT_TRUE(test, in_vram(w->full[0]));
	KUNIT_EXPECT_FALSE(test, in_vram(w->full[1]));
	for (i = 2; i < FULL; i++)
		pagoda_rig_pin(w->full[i], false);
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/*
 * All victims of an allocation leave, or none: none if the policy's first choice is idle, but the
 * second one is in use.
 */
static void ahead_evicts_all_or_none(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = pagoda_rig_bo(w->rig, 2 * PIECE, CPU, SUBMIT_VRAM, 0);
	struct dma_fence *fence = pagoda_test_fence(test);
	u64 before;
	u32 i;

	ahead_fill(w);
	for (i = 1; i < FULL; i++)
		make_busy(w->rig, w->full[i], fence);
	before = ahead_evictions(w);
	ahead_job(w->client, &bo, 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_EQ(test, before, ahead_evictions(w));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, bo->ttm.resource && in_vram(bo));
	KUNIT_EXPECT_EQ(test, before + 2, ahead_evictions(w));
	KUNIT_EXPECT_EQ(test, 2u, ahead_queued(w->client));
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* ---- Limits --------------------------------------------------------------------------- */

/* Allocations come in for so many jobs at most; for the next job when the first has a place. */
static void ahead_few_jobs(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, 2);
	struct pagoda_bo *bos[3];
	u32 i;

	for (i = 0; i < 3; i++) {
		bos[i] = ahead_piece(w->rig, SUBMIT_VRAM, i);
		ahead_job(w->client, &bos[i], 1);
	}
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]) && in_vram(bos[1]));
	KUNIT_EXPECT_FALSE(test, in_vram(bos[2]));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[2]));
	close_all(bos, 3);
	ahead_world_end(w);
}

/* Several jobs are looked at only if they list no more than half of VRAM together. */
static void ahead_few_bytes(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bos[5];
	u32 i;

	for (i = 0; i < 5; i++)
		bos[i] = ahead_piece(w->rig, SUBMIT_VRAM, i);
	/* With half a piece of code each: two and a half pieces, one and a half, two and a half. */
	ahead_job(w->client, bos, 2);
	ahead_job(w->client, bos + 2, 1);
	ahead_job(w->client, bos + 3, 2);
	ahead_settle(w->client);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, in_vram(bos[i]), i < 3);
	KUNIT_EXPECT_EQ(test, 3ll * BYTES, atomic64_read(&ahead_of(w->client)->bytes));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	close_all(bos, 5);
	ahead_world_end(w);
}

/*
 * One slice is paged at a time: what the next job lists doesn't come in before the device has paged
 * what came in for the first one.
 */
static void ahead_one_slice(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_client_ahead *ahead = ahead_of(w->client);
	struct pagoda_bo *bos[2];
	u32 i;

	for (i = 0; i < 2; i++)
		bos[i] = ahead_piece(w->rig, SUBMIT_VRAM, i);
	pagoda_fake_transport_mode(w->rig->fake, PAGODA_FAKE_HELD);
	for (i = 0; i < 2; i++) {
		ahead_job(w->client, &bos[i], 1);
		flush_delayed_work(&w->client->context->deferred.work);
		pagoda_ahead_kick(w->rig->client);
		flush_work(&ahead->work);
		KUNIT_EXPECT_TRUE(test, in_vram(bos[0]));
		KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	}
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bos[1]));
	KUNIT_EXPECT_EQ(test, 2ll, atomic64_read(&ahead->count));
	KUNIT_EXPECT_EQ(test, 2u, ahead_queued(w->client));
	close_all(bos, 2);
	ahead_world_end(w);
}

/*
 * An allocation that other work uses is passed over, not waited for: what the job lists behind it
 * comes in.
 */
static void ahead_passes_over_used(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct dma_fence *fence = pagoda_test_fence(test);
	struct pagoda_bo *bos[2];
	u32 i;

	for (i = 0; i < 2; i++)
		bos[i] = ahead_piece(w->rig, SUBMIT_VRAM, i);
	make_busy(w->rig, bos[0], fence);
	ahead_job(w->client, bos, 2);
	flush_delayed_work(&w->client->context->deferred.work);
	/* Don't flush the other work item, which might wait for the fence. */
	for (i = 0; i < ROUNDS && !READ_ONCE(bos[1]->choice.in_vram); i++)
		fsleep(USEC_PER_MSEC);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bos[1]->choice.in_vram));
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bos[0]->choice.in_vram));
	dma_fence_signal(fence);
	dma_fence_put(fence);
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->client));
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]) && pagoda_rig_holds(w->rig, bos[0], 0));
	close_all(bos, 2);
	ahead_world_end(w);
}

/* With the module's parameter ahead_jobs=0 nothing comes in. */
static void ahead_off(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, 0);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);

	ahead_job(w->client, &bo, 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* ---- Charges -------------------------------------------------------------------------- */

/* The paging counts in the quota of the client that has queued the job, while it is in flight. */
static void ahead_is_charged(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_client *other = pagoda_client_create(w->rig->vidmm);
	struct pagoda_bo *bo = ahead_piece(w->rig, SUBMIT_VRAM, 1);
	struct pagoda_quota *quota = w->rig->client->quota;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, other);
	pagoda_fake_transport_mode(w->rig->fake, PAGODA_FAKE_HELD);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_quota_count(quota, PAGODA_LIMIT_PAGING));
	ahead_job(w->client, &bo, 1);
	flush_delayed_work(&w->client->context->deferred.work);
	flush_work(&ahead_of(w->client)->work);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_NE(test, 0ull, pagoda_quota_count(quota, PAGODA_LIMIT_PAGING));
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_quota_count(other->quota, PAGODA_LIMIT_PAGING));
	ahead_settle(w->client);
	/* Submissions are given back slightly later than their fences signal. */
	for (i = 0; i < 1000 && pagoda_quota_count(quota, PAGODA_LIMIT_PAGING); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_quota_count(quota, PAGODA_LIMIT_PAGING));
	pagoda_client_put(other);
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/*
 * An allocation that could be used elsewhere takes free room without a token; others leave for it
 * only if the client has tokens, and that takes tokens.
 */
static void ahead_takes_tokens(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bo = ahead_piece(w->rig, EITHER, 1);
	struct pagoda_traffic *bucket = &w->rig->client->pace.traffic;

	ahead_fill(w);
	traffic_hold(bucket);
	ahead_job(w->client, &bo, 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, 0ull, bucket->spent);
	traffic_let(bucket);
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, BYTES, bucket->spent);
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/* ---- Other clients, and the end ------------------------------------------------------- */

/*
 * What a job of another client uses stays, and no paging waits for that job: while it runs, an
 * allocation comes to VRAM by request. When the job has ended, its allocations may leave.
 */
static void ahead_delays_no_other(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_client *mine = w->rig->client, *theirs = pagoda_client_create(w->rig->vidmm);
	struct pagoda_bo *bo = pagoda_rig_bo(w->rig, 2 * PIECE, CPU, SUBMIT_VRAM, 0), *paged;
	struct submit_client *other;
	u64 before;

	KUNIT_ASSERT_NOT_NULL(test, theirs);
	w->rig->client = theirs;
	other = submit_client(w->rig, 1);
	paged = ahead_piece(w->rig, SUBMIT_VRAM, 2);
	w->rig->client = mine;
	ahead_fill(w);
	pagoda_rig_close(w->full[FULL - 1]);
	w->full[FULL - 1] = NULL;
	settle_moves(w->rig);
	pagoda_rig_hold(w->rig, 1, true);
	ahead_job(other, w->full, FULL - 1);
	KUNIT_EXPECT_EQ(test, 0u, ahead_queued(other));
	before = ahead_evictions(w);
	ahead_job(w->client, &bo, 1);
	flush_delayed_work(&w->client->context->deferred.work);
	flush_work(&ahead_of(w->client)->work);
	KUNIT_EXPECT_EQ(test, before, ahead_evictions(w));
	/* An eviction would wait for the job, and the request for the eviction. */
	pagoda_rig_hold(w->rig, 1, ahead_evictions(w) == before);
	KUNIT_EXPECT_EQ(test, 0, make_resident(w->rig, paged));
	settle_moves(w->rig);
	KUNIT_EXPECT_TRUE(test, in_vram(paged) && pagoda_rig_holds(w->rig, paged, 2));
	KUNIT_EXPECT_EQ(test, before, ahead_evictions(w));
	KUNIT_EXPECT_EQ(test, 0ll, atomic64_read(&theirs->ahead.count));
	pagoda_rig_hold(w->rig, 1, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(other));
	ahead_job(w->client, NULL, 0);
	ahead_settle(w->client);
	KUNIT_EXPECT_TRUE(test, bo->ttm.resource && in_vram(bo));
	submit_client_end(other);
	pagoda_rig_close(paged);
	pagoda_ahead_end(theirs);
	pagoda_client_put(theirs);
	pagoda_rig_close(bo);
	ahead_world_end(w);
}

/*
 * When the jobs of a destroyed context have been cancelled, or paging ahead has ended with the
 * client, nothing comes in any more, even if there is room now.
 */
static void ahead_is_cancelled(struct kunit *test)
{
	struct ahead_world *w = ahead_world(test, JOBS);
	struct pagoda_bo *bos[2];
	u32 i;

	for (i = 0; i < 2; i++)
		bos[i] = ahead_piece(w->rig, SUBMIT_VRAM, i);
	ahead_fill(w);
	for (i = 0; i < FULL; i++)
		pagoda_rig_pin(w->full[i], true);
	ahead_job(w->client, &bos[0], 1);
	ahead_settle(w->client);
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));
	pagoda_context_destroy(w->client->context);
	w->client->context = NULL;
	for (i = 0; i < FULL; i++)
		pagoda_rig_pin(w->full[i], false);
	close_all(w->full, FULL);
	memset(w->full, 0, sizeof(w->full));
	settle_moves(w->rig);
	pagoda_ahead_kick(w->rig->client);
	flush_work(&ahead_of(w->client)->work);
	KUNIT_EXPECT_FALSE(test, in_vram(bos[0]));

	ahead_job(w->first, &bos[0], 1);
	ahead_settle(w->first);
	KUNIT_EXPECT_TRUE(test, in_vram(bos[0]));
	pagoda_ahead_end(w->rig->client);
	ahead_job(w->first, &bos[1], 1);
	ahead_settle(w->first);
	KUNIT_EXPECT_FALSE(test, in_vram(bos[1]));
	pagoda_rig_hold(w->rig, 0, false);
	KUNIT_EXPECT_EQ(test, 0, submit_wait(w->first));
	close_all(bos, 2);
	ahead_world_end(w);
}

static struct kunit_case ahead_cases[] = {
	KUNIT_CASE_PARAM(ahead_comes_in, pagoda_rig_modes),
	KUNIT_CASE_PARAM(ahead_may_leave, pagoda_rig_update_modes),
	KUNIT_CASE(ahead_waits_for_fences),
	KUNIT_CASE(ahead_not_for_missing),
	KUNIT_CASE_PARAM(ahead_evicts_nothing_nearer, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(ahead_evicts_later, pagoda_rig_update_modes),
	KUNIT_CASE(ahead_evicts_all_or_none),
	KUNIT_CASE(ahead_few_jobs),
	KUNIT_CASE(ahead_few_bytes),
	KUNIT_CASE(ahead_one_slice),
	KUNIT_CASE(ahead_passes_over_used),
	KUNIT_CASE(ahead_off),
	KUNIT_CASE(ahead_is_charged),
	KUNIT_CASE(ahead_takes_tokens),
	KUNIT_CASE_PARAM(ahead_delays_no_other, pagoda_rig_update_modes),
	KUNIT_CASE_PARAM(ahead_is_cancelled, pagoda_rig_update_modes),
	{}
};

static struct kunit_suite ahead_suite = {
	.name = "pagoda_ahead",
	.test_cases = ahead_cases,
};

kunit_test_suite(ahead_suite);
