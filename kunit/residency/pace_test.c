// SPDX-License-Identifier: GPL-2.0
/*
 * Pace: which evictions from VRAM a job may cause with tokens and without, what they cost, and when
 * an allocation that was left out comes to VRAM.
 */
#include <linux/sizes.h>
#include "debug/debug.h"
#include "ledger/traffic_helpers.h"
#include "offer_helpers.h"

#define HERE	SZ_4M
#define THERE	(HERE + SZ_2M)
#define CROWD	7	/* pieces of VRAM that another client has */
#define BYTES	((u64)PIECE << PAGE_SHIFT)

/*
 * A client, and VRAM without room for another piece: @crowd, of another client, and @rest, half a
 * piece, leave half a piece, of which page tables and save areas take a part.
 */
struct pace_test {
	struct pagoda_rig *rig;
	struct submit_client *client;
	struct pagoda_bo *crowd[CROWD];
	struct pagoda_bo *rest;
};

static void pace_begin(struct kunit *test, struct pace_test *t, bool promotes)
{
	const struct pagoda_rig_options options = {
		.mode = test->param_value,
		.engines = true,
		.promotes = promotes,
	};

	*t = (struct pace_test) { .rig = pagoda_rig_create(test, &options) };
	t->client = submit_client(t->rig, 0);
	KUNIT_ASSERT_EQ(test, 0, submit_empty(t->client, NULL));
	KUNIT_ASSERT_EQ(test, 0, submit_wait(t->client));
	crowd_in(t->rig, t->crowd, CROWD);
	t->rest = pagoda_rig_bo(t->rig, PIECE / 2, 0, SUBMIT_VRAM, 0);
	KUNIT_ASSERT_EQ(test, 0, make_resident(t->rig, t->rest));
	pagoda_rig_settle(t->rig);
}

static void pace_end(struct pace_test *t)
{
	submit_client_end(t->client);
	pagoda_rig_close(t->rest);
	close_all(t->crowd, CROWD);
}

static struct pagoda_traffic *pace_bucket(struct pace_test *t)
{
	return &t->client->vm->client->pace.traffic;
}

static struct drm_pagoda_stats pace_stats(struct pace_test *t)
{
	struct drm_pagoda_stats stats;

	pagoda_vidmm_stats(t->rig->vidmm, &stats);
	pagoda_client_stats(t->client->vm->client, &stats);
	return stats;
}

/* Returns an allocation that jobs must list, mapped at @address. */
static struct pagoda_bo *pace_shared(struct submit_client *client, u32 supported, u64 address)
{
	struct pagoda_bo *bo = pagoda_rig_bo(client->rig, PIECE, CPU, supported, 0);

	KUNIT_ASSERT_EQ(client->rig->test, 0, submit_map(client, bo, address));
	return bo;
}

/*
 * Submits a job that stores @value at @address and lists @listed, if not NULL; waits for the job.
 */
static void pace_job(struct submit_client *client, u64 address, u64 value, struct pagoda_bo *listed)
{
	const struct submit_args args = { .bos[0] = listed, .nr_bos = !!listed };

	submit_store(client, address, value);
	KUNIT_ASSERT_EQ(client->rig->test, 0, submit_job(client, &args));
	KUNIT_EXPECT_EQ(client->rig->test, 0, submit_wait(client));
}

/*
 * Without tokens, allocations that may be in either segment are used from the aperture, and nothing
 * is evicted; with tokens, they come to VRAM.
 */
static void pace_leaves_out(struct kunit *test)
{
	struct drm_pagoda_stats before, after;
	struct pagoda_bo *mine, *listed;
	struct pace_test t;

	pace_begin(test, &t, false);
	mine = submit_private(t.client, PIECE, EITHER, HERE);
	listed = pace_shared(t.client, EITHER, THERE);
	traffic_hold(pace_bucket(&t));
	before = pace_stats(&t);
	submit_store(t.client, HERE, 0x1111);
	pace_job(t.client, THERE, 0x2222, listed);
	after = pace_stats(&t);
	KUNIT_EXPECT_FALSE(test, in_vram(mine) || in_vram(listed));
	KUNIT_EXPECT_EQ(test, before.evictions, after.evictions);
	KUNIT_EXPECT_EQ(test, 1ull, after.submit_held - before.submit_held);
	KUNIT_EXPECT_EQ(test, 2 * BYTES, after.submit_left - before.submit_left);
	KUNIT_EXPECT_EQ(test, 0ull, after.submit_spent);
	KUNIT_EXPECT_GT(test, 0ll, after.submit_tokens);
	/*
	 * Without tokens, the next job neither tries to bring @mine, which was left out, to VRAM
	 * nor adds @mine to submit_left again.
	 */
	pace_job(t.client, HERE + 8, 0x3333, NULL);
	KUNIT_EXPECT_EQ(test, after.submit_left, pace_stats(&t).submit_left);
	KUNIT_EXPECT_FALSE(test, list_empty(&t.client->vm->left_out));
	traffic_let(pace_bucket(&t));
	submit_compare(t.client, HERE, 0x1111);
	submit_compare(t.client, HERE + 8, 0x3333);
	submit_compare(t.client, THERE, 0x2222);
	pace_job(t.client, THERE + 8, 0x4444, listed);
	after = pace_stats(&t);
	KUNIT_EXPECT_TRUE(test, in_vram(mine) && in_vram(listed));
	KUNIT_EXPECT_EQ(test, 2ull, after.evictions - before.evictions);
	KUNIT_EXPECT_EQ(test, 2 * BYTES, after.submit_spent);
	KUNIT_EXPECT_EQ(test, 0x4444ull, submit_word(t.rig, listed, 8));
	KUNIT_EXPECT_TRUE(test, list_empty(&t.client->vm->left_out));
	submit_close(t.client, mine);
	submit_close(t.client, listed);
	pace_end(&t);
}

/* Free room in VRAM is used without tokens, and costs none. */
static void pace_takes_free(struct kunit *test)
{
	struct drm_pagoda_stats before, after;
	struct pagoda_bo *bo;
	struct pace_test t;

	pace_begin(test, &t, false);
	bo = submit_private(t.client, PIECE, EITHER, HERE);
	close_all(&t.crowd[CROWD - 1], 1);
	t.crowd[CROWD - 1] = NULL;
	flush_workqueue(t.rig->vidmm->ttm.wq);
	traffic_hold(pace_bucket(&t));
	before = pace_stats(&t);
	pace_job(t.client, HERE, 0x1111, NULL);
	after = pace_stats(&t);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, before.evictions, after.evictions);
	KUNIT_EXPECT_EQ(test, before.submit_held, after.submit_held);
	KUNIT_EXPECT_EQ(test, 0ull, after.submit_spent);
	submit_close(t.client, bo);
	pace_end(&t);
}

/* Returns the bytes of the allocations in @crowd and @rest that aren't in VRAM. */
static u64 pace_away(struct pace_test *t)
{
	u64 bytes = in_vram(t->rest) ? 0 : BYTES / 2;
	u32 i;

	for (i = 0; i < CROWD; i++)
		bytes += in_vram(t->crowd[i]) ? 0 : BYTES;
	return bytes;
}

/* An allocation costs a token for each byte that leaves VRAM for it, whatever its own size. */
static void pace_pays_what_leaves(struct kunit *test)
{
	const u32 pages = PIECE * 5 / 8; /* more than is free; no other allocation's size */
	struct drm_pagoda_stats before, after;
	struct pagoda_bo *bo;
	struct pace_test t;

	pace_begin(test, &t, false);
	bo = submit_private(t.client, pages, EITHER, HERE);
	before = pace_stats(&t);
	pace_job(t.client, HERE, 0x1111, NULL);
	after = pace_stats(&t);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_NE(test, 0ull, pace_away(&t));
	KUNIT_EXPECT_EQ(test, pace_away(&t), after.submit_spent - before.submit_spent);
	submit_close(t.client, bo);
	pace_end(&t);
}

/* An allocation that supports VRAM only comes to VRAM even without tokens, and costs none. */
static void pace_only_vram(struct kunit *test)
{
	struct drm_pagoda_stats before, after;
	struct pagoda_bo *mine, *listed;
	struct pace_test t;

	pace_begin(test, &t, false);
	mine = submit_private(t.client, PIECE, SUBMIT_VRAM, HERE);
	listed = pace_shared(t.client, SUBMIT_VRAM, THERE);
	traffic_hold(pace_bucket(&t));
	before = pace_stats(&t);
	submit_store(t.client, HERE, 0x1111);
	pace_job(t.client, THERE, 0x2222, listed);
	after = pace_stats(&t);
	KUNIT_EXPECT_TRUE(test, in_vram(mine) && in_vram(listed));
	KUNIT_EXPECT_EQ(test, 2ull, after.evictions - before.evictions);
	KUNIT_EXPECT_EQ(test, before.submit_held, after.submit_held);
	KUNIT_EXPECT_EQ(test, 0ull, after.submit_spent);
	KUNIT_EXPECT_EQ(test, 0x1111ull, submit_word(t.rig, mine, 0));
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, listed, 0));
	submit_close(t.client, mine);
	submit_close(t.client, listed);
	pace_end(&t);
}

/*
 * An allocation is brought to VRAM without tokens by MAKE_RESIDENT, and by a job if it is on its
 * client's residency list.
 */
static void pace_requested(struct kunit *test)
{
	struct pagoda_bo *asked, *required;
	struct pace_test t;
	u64 before, trim;

	pace_begin(test, &t, false);
	asked = pace_shared(t.client, EITHER, HERE);
	required = pace_shared(t.client, EITHER, THERE);
	traffic_hold(pace_bucket(&t));
	before = pace_stats(&t).evictions;
	KUNIT_EXPECT_EQ(test, 0, make_resident(t.rig, asked));
	KUNIT_EXPECT_TRUE(test, in_vram(asked));
	KUNIT_EXPECT_EQ(test, before + 1, pace_stats(&t).evictions);
	/*
	 * Put the allocation on the residency list, which moves nothing: the job brings it to VRAM,
	 * although the job doesn't list it.
	 */
	KUNIT_ASSERT_EQ(test, 0, pagoda_require(t.rig->client, &required, 1, &trim));
	PAGODA_PROVES(C152);
	pace_job(t.client, THERE, 0x2222, NULL);
	KUNIT_EXPECT_TRUE(test, in_vram(required));
	KUNIT_EXPECT_EQ(test, before + 2, pace_stats(&t).evictions);
	KUNIT_EXPECT_EQ(test, 0ull, pace_stats(&t).submit_held);
	KUNIT_EXPECT_EQ(test, 0ull, pace_stats(&t).submit_spent);
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, required, 0));
	KUNIT_EXPECT_EQ(test, 0, pagoda_require_release(t.rig->client, &required, 1, false, 0));
	submit_close(t.client, asked);
	submit_close(t.client, required);
	pace_end(&t);
}

/* With one token left, a whole piece comes to VRAM; the next allocation is left out. */
static void pace_debt(struct kunit *test)
{
	struct submit_args args = { .nr_bos = 2 };
	struct drm_pagoda_stats after;
	struct pace_test t;

	pace_begin(test, &t, false);
	args.bos[0] = pace_shared(t.client, EITHER, HERE);
	args.bos[1] = pace_shared(t.client, EITHER, THERE);
	traffic_give(pace_bucket(&t), 1);
	submit_store(t.client, HERE, 0x1111);
	submit_store(t.client, THERE, 0x2222);
	KUNIT_ASSERT_EQ(test, 0, submit_job(t.client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t.client));
	after = pace_stats(&t);
	KUNIT_EXPECT_TRUE(test, in_vram(args.bos[0]));
	KUNIT_EXPECT_FALSE(test, in_vram(args.bos[1]));
	KUNIT_EXPECT_EQ(test, BYTES, after.submit_spent);
	KUNIT_EXPECT_EQ(test, BYTES, after.submit_left);
	KUNIT_EXPECT_GT(test, 0ll, after.submit_tokens);
	KUNIT_EXPECT_EQ(test, 0x1111ull, submit_word(t.rig, args.bos[0], 0));
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, args.bos[1], 0));
	submit_close(t.client, args.bos[0]);
	submit_close(t.client, args.bos[1]);
	pace_end(&t);
}

/*
 * Private allocations of the VM that were left out are tried again only as far as the tokens go:
 * one of the three isn't tried, and none is counted again.
 */
static void pace_again_in_part(struct kunit *test)
{
	struct pagoda_bo *bos[3];
	struct pace_test t;
	u32 i, in = 0;

	pace_begin(test, &t, false);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		bos[i] = submit_private(t.client, PIECE, EITHER, HERE + i * SZ_2M);
	traffic_hold(pace_bucket(&t));
	pace_job(t.client, HERE, 0x1111, NULL);
	KUNIT_EXPECT_EQ(test, 3 * BYTES, pace_stats(&t).submit_left);
	traffic_give(pace_bucket(&t), BYTES + 1);
	pace_job(t.client, HERE + SZ_2M, 0x2222, NULL);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		in += in_vram(bos[i]);
	KUNIT_EXPECT_EQ(test, 2u, in);
	KUNIT_EXPECT_EQ(test, 2 * BYTES, pace_stats(&t).submit_spent);
	KUNIT_EXPECT_EQ(test, 3 * BYTES, pace_stats(&t).submit_left);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&t.client->vm->left_out));
	traffic_let(pace_bucket(&t));
	submit_compare(t.client, HERE, 0x1111);
	submit_compare(t.client, HERE + SZ_2M, 0x2222);
	pace_job(t.client, HERE + 2 * SZ_2M, 0x3333, NULL);
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		KUNIT_EXPECT_TRUE(test, in_vram(bos[i]));
	KUNIT_EXPECT_EQ(test, 0x3333ull, submit_word(t.rig, bos[2], 0));
	for (i = 0; i < ARRAY_SIZE(bos); i++)
		submit_close(t.client, bos[i]);
	pace_end(&t);
}

/* An allocation that was left out and then moved is usable by the GPU in the next job. */
static void pace_moved_meanwhile(struct kunit *test)
{
	struct pagoda_bo *bo;
	struct pace_test t;

	pace_begin(test, &t, false);
	bo = submit_private(t.client, PIECE, EITHER, HERE);
	traffic_hold(pace_bucket(&t));
	pace_job(t.client, HERE, 0x1111, NULL);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_ASSERT_EQ(test, 0, pagoda_rig_to_system(bo));
	submit_compare(t.client, HERE, 0x1111);
	pace_job(t.client, HERE + 8, 0x2222, NULL);
	KUNIT_EXPECT_EQ(test, (u32)TTM_PL_TT, bo->ttm.resource->mem_type);
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, bo, 8));
	/* pagoda_vm_forget() removes an allocation from the list of those that were left out. */
	pagoda_vm_forget(t.client->vm, bo);
	KUNIT_EXPECT_TRUE(test, list_empty(&t.client->vm->left_out));
	pagoda_rig_close(bo);
	pace_end(&t);
}

/*
 * An allocation that was left out is offered, and reclaimed while nothing can leave VRAM for it:
 * later submissions try to bring it to VRAM again.
 */
static void pace_reclaimed(struct kunit *test)
{
	struct pagoda_bo *bo;
	struct pace_test t;
	u32 i;

	pace_begin(test, &t, false);
	bo = submit_private(t.client, PIECE, EITHER, HERE);
	traffic_hold(pace_bucket(&t));
	pace_job(t.client, HERE, 0x1111, NULL);
	KUNIT_EXPECT_FALSE(test, list_empty(&t.client->vm->left_out));
	KUNIT_ASSERT_EQ(test, 0, offer(t.rig, bo, DRM_PAGODA_OFFER_HIGH));
	KUNIT_EXPECT_TRUE(test, list_empty(&t.client->vm->left_out));
	for (i = 0; i < CROWD; i++)
		pagoda_rig_pin(t.crowd[i], true);
	pagoda_rig_pin(t.rest, true);
	KUNIT_EXPECT_EQ(test, DRM_PAGODA_RECLAIM_OK, reclaim(t.rig, bo));
	pagoda_rig_pin(t.rest, false);
	for (i = 0; i < CROWD; i++)
		pagoda_rig_pin(t.crowd[i], false);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_EXPECT_FALSE(test, list_empty(&t.client->vm->left_out));
	traffic_let(pace_bucket(&t));
	submit_compare(t.client, HERE, 0x1111);
	pace_job(t.client, HERE + 8, 0x2222, NULL);
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, bo, 8));
	submit_close(t.client, bo);
	pace_end(&t);
}

/*
 * Each client has tokens of its own: while one client has none, a job of another client still
 * evicts allocations to bring its own to VRAM.
 */
static void pace_others(struct kunit *test)
{
	struct pagoda_bo *bo, *theirs;
	struct submit_client *other;
	struct pagoda_client *mine;
	struct pace_test t;

	pace_begin(test, &t, false);
	mine = t.rig->client;
	t.rig->client = pagoda_client_create(t.rig->vidmm);
	KUNIT_ASSERT_NOT_NULL(test, t.rig->client);
	other = submit_client(t.rig, 1);
	theirs = submit_private(other, PIECE, EITHER, HERE);
	/* The VM and its allocations hold references to the client. */
	pagoda_client_put(t.rig->client);
	t.rig->client = mine;
	bo = submit_private(t.client, PIECE, EITHER, HERE);
	traffic_hold(pace_bucket(&t));
	pace_job(t.client, HERE, 0x1111, NULL);
	pace_job(other, HERE, 0x2222, NULL);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	KUNIT_EXPECT_TRUE(test, in_vram(theirs));
	KUNIT_EXPECT_EQ(test, 0ull, pace_stats(&t).submit_spent);
	KUNIT_EXPECT_EQ(test, BYTES, other->vm->client->pace.traffic.spent);
	KUNIT_EXPECT_EQ(test, 0x1111ull, submit_word(t.rig, bo, 0));
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, theirs, 0));
	submit_close(t.client, bo);
	submit_close(other, theirs);
	submit_client_end(other);
	pace_end(&t);
}

/*
 * The aperture has room for two of a job's three allocations. The third one is brought to VRAM
 * without tokens, and no allocation of the job is evicted for another.
 */
static void pace_nowhere_else(struct kunit *test)
{
	struct submit_args args = { .nr_bos = 3 };
	struct pace_test t;
	u32 i, in = 0;

	pace_begin(test, &t, false);
	for (i = 0; i < args.nr_bos; i++) {
		args.bos[i] = pagoda_rig_bo(t.rig, PIECE,
					    CPU | DRM_PAGODA_ALLOCATION_ACCESSED_PHYSICALLY,
					    EITHER, 0);
		KUNIT_ASSERT_EQ(test, 0, submit_map(t.client, args.bos[i], HERE + i * SZ_2M));
		submit_store(t.client, HERE + i * SZ_2M, i + 1);
	}
	traffic_hold(pace_bucket(&t));
	KUNIT_ASSERT_EQ(test, 0, submit_job(t.client, &args));
	KUNIT_EXPECT_EQ(test, 0, submit_wait(t.client));
	for (i = 0; i < args.nr_bos; i++) {
		in += in_vram(args.bos[i]);
		KUNIT_EXPECT_EQ(test, i + 1ull, submit_word(t.rig, args.bos[i], 0));
	}
	KUNIT_EXPECT_EQ(test, 1u, in);
	KUNIT_EXPECT_EQ(test, 2 * BYTES, pace_stats(&t).submit_left);
	for (i = 0; i < args.nr_bos; i++)
		submit_close(t.client, args.bos[i]);
	pace_end(&t);
}

/*
 * An allocation that was left out is brought to VRAM by promotion if room becomes free and no job
 * comes.
 */
static void pace_promoted(struct kunit *test)
{
	struct pagoda_bo *bo;
	struct pace_test t;
	bool in = false;

	pace_begin(test, &t, true);
	bo = submit_private(t.client, PIECE, EITHER, HERE);
	traffic_hold(pace_bucket(&t));
	pace_job(t.client, HERE, 0x1111, NULL);
	KUNIT_EXPECT_FALSE(test, in_vram(bo));
	close_all(&t.crowd[CROWD - 1], 1);
	t.crowd[CROWD - 1] = NULL;
	flush_workqueue(t.rig->vidmm->ttm.wq);
	while (!in && READ_ONCE(t.rig->vidmm->promotion->count)) {
		flush_delayed_work(&t.rig->vidmm->promotion->work);
		pagoda_rig_settle(t.rig);
		in = in_vram(bo);
	}
	KUNIT_EXPECT_TRUE(test, in_vram(bo));
	submit_compare(t.client, HERE, 0x1111);
	pace_job(t.client, HERE, 0x2222, NULL);
	KUNIT_EXPECT_EQ(test, 0x2222ull, submit_word(t.rig, bo, 0));
	KUNIT_EXPECT_TRUE(test, list_empty(&t.client->vm->left_out));
	submit_close(t.client, bo);
	pace_end(&t);
}

static struct kunit_case pace_cases[] = {
	KUNIT_CASE_PARAM(pace_leaves_out, pagoda_rig_update_modes),
	KUNIT_CASE(pace_takes_free),
	KUNIT_CASE(pace_pays_what_leaves),
	KUNIT_CASE(pace_only_vram),
	KUNIT_CASE(pace_requested),
	KUNIT_CASE(pace_debt),
	KUNIT_CASE(pace_again_in_part),
	KUNIT_CASE(pace_moved_meanwhile),
	KUNIT_CASE(pace_reclaimed),
	KUNIT_CASE(pace_others),
	KUNIT_CASE(pace_nowhere_else),
	KUNIT_CASE(pace_promoted),
	{}
};

static struct kunit_suite pace_suite = {
	.name = "pagoda_pace",
	.test_cases = pace_cases,
};

kunit_test_suite(pace_suite);
