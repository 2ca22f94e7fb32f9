// SPDX-License-Identifier: GPL-2.0
/*
 * When promotion tries again: after sections were closed, and soon if much room has become free.
 */
#include "core/life.h"
#include "ledger/traffic_helpers.h"
#include "rig/vidmm_helpers.h"
#include "offer_helpers.h"

#define CROWD	8	/* pieces, as many as fit into VRAM */
#define ROUNDS	1000	/* most runs of the work item: far more than needed */

/* A piece that was evicted for @crowd and waits for promotion, which has no tokens at first. */
struct again_test {
	struct pagoda_rig *rig;
	struct pagoda_promotion *promotion;
	struct pagoda_bo *bo;
	struct pagoda_bo *crowd[CROWD];
};

static struct again_test again_make(struct kunit *test)
{
	const struct pagoda_rig_options options = { .engines = true, .promotes = true };
	struct again_test t = { .rig = pagoda_rig_create(test, &options) };

	t.promotion = t.rig->vidmm->promotion;
	traffic_hold(&t.promotion->traffic);
	t.bo = piece(t.rig, CPU, SUBMIT_VRAM, 1);
	crowd_in(t.rig, t.crowd, CROWD);
	KUNIT_ASSERT_FALSE(test, in_vram(t.bo));
	settle_moves(t.rig);
	return t;
}

/* Closes a piece of the crowd, whose room is free on return. */
static void again_free(struct again_test *t)
{
	pagoda_rig_close(t->crowd[0]);
	t->crowd[0] = NULL;
	settle_moves(t->rig);
}

/*
 * Runs the work item, as long as it is queued, until the piece is in VRAM; expects the piece there,
 * with its content.
 */
static void again_expect(struct again_test *t)
{
	struct kunit *test = t->rig->test;
	u32 round;

	for (round = 0; round < ROUNDS && !in_vram(t->bo); round++) {
		flush_delayed_work(&t->promotion->work);
		pagoda_rig_settle(t->rig);
	}
	KUNIT_EXPECT_TRUE(test, in_vram(t->bo));
	KUNIT_EXPECT_TRUE(test, pagoda_rig_holds(t->rig, t->bo, 1));
	pagoda_rig_close(t->bo);
	close_all(t->crowd, CROWD);
}

/*
 * A walk that finds sections closed ends, and another one begins by itself: nothing tells promotion
 * that sections are open again.
 */
static void again_after_sections(struct kunit *test)
{
	struct again_test t = again_make(test);

	again_free(&t);
	pagoda_sections_close(t.rig->vidmm);
	traffic_let(&t.promotion->traffic);
	flush_delayed_work(&t.promotion->work);
	KUNIT_EXPECT_FALSE(test, in_vram(t.bo));
	pagoda_sections_open(t.rig->vidmm);
	again_expect(&t);
}

/*
 * Room for all that waits, though not a byte more, ends the patience that walks in vain have
 * caused.
 */
static void again_soon(struct kunit *test)
{
	struct again_test t = again_make(test);

	/* The walk has begun: it goes on when there are tokens, and until then changes nothing. */
	flush_delayed_work(&t.promotion->work);
	KUNIT_ASSERT_TRUE(test, t.promotion->walking);
	WRITE_ONCE(t.promotion->patience, 8 * t.promotion->period);
	again_free(&t);
	KUNIT_EXPECT_EQ(test, t.promotion->bytes, READ_ONCE(t.rig->vidmm->vram_free));
	KUNIT_EXPECT_EQ(test, t.promotion->period, READ_ONCE(t.promotion->patience));
	traffic_let(&t.promotion->traffic);
	again_expect(&t);
}

static struct kunit_case again_cases[] = {
	KUNIT_CASE(again_after_sections),
	KUNIT_CASE(again_soon),
	{}
};

static struct kunit_suite again_suite = {
	.name = "pagoda_promote_again",
	.test_cases = again_cases,
};

kunit_test_suite(again_suite);
