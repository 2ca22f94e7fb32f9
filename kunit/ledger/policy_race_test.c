// SPDX-License-Identifier: GPL-2.0
/* The victim policy against plain LRU on patterns of uses, and the time that a pick takes. */
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/sizes.h>
#include "rig/alloc.h"
#include "vidmm/ledger/policy.h"

#define SET	64

/*
 * The policy and plain LRU with the same VRAM and the same uses. All items have one size. @lru:
 * items that plain LRU has in VRAM, the longest unused first. @order: all items, the last used
 * first. @known: an item was used before; its first use counts as no move. @distrusted: the policy
 * distrusted its predictions at some time.
 */
struct race {
	struct pagoda_policy policy;
	struct pagoda_policy_group group;
	struct pagoda_policy_item items[SET];
	struct pagoda_policy_lane lanes[SET];
	bool in_vram[SET];
	u32 lru[SET + 1];
	u32 nr_lru;
	u32 order[SET];
	u32 room;
	u32 used;
	u32 policy_moves;
	u32 lru_moves;
	bool known[SET];
	bool distrusted;
};

static struct race *race_make(struct kunit *test, u32 room, u64 clock)
{
	struct race *race = test_zalloc(test, sizeof(*race));
	u32 n;

	pagoda_policy_init(&race->policy, room * SZ_64K);
	pagoda_policy_group_init(&race->group, NULL);
	race->policy.clock = clock;
	race->room = room;
	for (n = 0; n < SET; n++) {
		pagoda_policy_add(&race->policy, &race->items[n], &race->lanes[n], &race->group,
				  SZ_64K);
		race->order[n] = n;
	}
	return race;
}

/* Makes @n the most recently used item of @order. */
static void race_order(struct race *race, u32 n)
{
	u32 at;

	for (at = 0; race->order[at] != n; at++)
		;
	memmove(&race->order[1], &race->order[0], at * sizeof(race->order[0]));
	race->order[0] = n;
}

static void race_lru(struct race *race, u32 n)
{
	u32 at;

	for (at = 0; at < race->nr_lru && race->lru[at] != n; at++)
		;
	if (at == race->nr_lru) {
		race->lru_moves += race->known[n];
		race->nr_lru++;
	}
	memmove(&race->lru[at], &race->lru[at + 1],
		(race->nr_lru - at - 1) * sizeof(race->lru[0]));
	race->lru[race->nr_lru - 1] = n;
	if (race->nr_lru > race->room) {
		memmove(race->lru, race->lru + 1, --race->nr_lru * sizeof(race->lru[0]));
		race->lru_moves++;
	}
}

static void race_policy(struct kunit *test, struct race *race, u32 n)
{
	struct pagoda_policy_item *victim;

	if (!race->in_vram[n] && race->used == race->room) {
		victim = pagoda_policy_pick(&race->policy, PAGODA_POLICY_NEED_ANY, NULL);
		KUNIT_ASSERT_NOT_NULL(test, victim);
		race->in_vram[victim - race->items] = false;
		pagoda_policy_leave(&race->policy, victim);
		race->policy_moves++;
		race->used--;
	}
	if (!race->in_vram[n]) {
		race->policy_moves += race->known[n];
		race->in_vram[n] = true;
		race->used++;
	}
	pagoda_policy_use(&race->policy, &race->items[n]);
	race->distrusted |= race->policy.distrusts;
}

static void race_use(struct kunit *test, struct race *race, u32 n)
{
	race_policy(test, race, n);
	race_lru(race, n);
	race_order(race, n);
	race->known[n] = true;
}

static void race_cycles(struct kunit *test, struct race *race, u32 count)
{
	u32 n;

	for (; count; count--)
		for (n = 0; n < SET; n++)
			race_use(test, race, n);
}

/*
 * Uses random items: the more recently an item was used, the likelier it is used again, so that no
 * policy without foresight does better than plain LRU.
 */
static void race_lately(struct kunit *test, struct race *race, u32 count)
{
	struct rnd_state random;

	prandom_seed_state(&random, 7);
	for (; count; count--) {
		u32 back = prandom_u32_state(&random) % (1 + prandom_u32_state(&random) % SET);

		race_use(test, race, race->order[back]);
	}
}

/* Uses, each time, the last used of the items that the policy doesn't have in VRAM. */
static void race_adversary(struct kunit *test, struct race *race, u32 count)
{
	u32 n;

	for (; count; count--) {
		for (n = 0; n < SET - 1 && race->in_vram[race->order[n]]; n++)
			;
		race_use(test, race, race->order[n]);
	}
}

/*
 * Items used in a cycle of which three quarters fit into VRAM: at least a quarter has to move,
 * plain LRU moves all, and the policy moves less than 2/5 of that.
 */
static void race_beats_lru(struct kunit *test)
{
	struct race *race = race_make(test, SET * 3 / 4, 0);

	race_cycles(test, race, 100);
	kunit_info(test, "cycle: policy %u, LRU %u\n", race->policy_moves, race->lru_moves);
	KUNIT_EXPECT_LT(test, race->policy_moves, race->lru_moves * 2 / 5);
	KUNIT_EXPECT_FALSE(test, race->distrusted);
}

/* Where plain LRU is at its best, the policy moves at most 2 % more. */
static void race_harms_nobody(struct kunit *test)
{
	struct race *race = race_make(test, SET / 2, 0);

	race_lately(test, race, 50000);
	kunit_info(test, "lately: policy %u, LRU %u\n", race->policy_moves, race->lru_moves);
	KUNIT_EXPECT_LE(test, race->policy_moves, race->lru_moves + race->lru_moves / 50);
}

/*
 * A program that defies predictions makes the policy use plain LRU, each time for longer: the
 * policy moves at most 2 % more than plain LRU.
 */
static void race_falls_back(struct kunit *test)
{
	struct race *race = race_make(test, SET / 2, 0);

	race_cycles(test, race, 4);
	race_adversary(test, race, 50000);
	kunit_info(test, "adversary: policy %u, LRU %u\n", race->policy_moves, race->lru_moves);
	KUNIT_EXPECT_TRUE(test, race->distrusted);
	KUNIT_EXPECT_LE(test, race->policy_moves, race->lru_moves + race->lru_moves / 50);
}

/*
 * Expects the policy's account of a use (@behind, @lru_moved) to be what the policy and plain LRU
 * moved, unless judge() has just reset the account.
 */
static void race_check_account(struct kunit *test, struct race *race, const struct race *before)
{
	const struct pagoda_policy *policy = &race->policy;
	s64 chance = 2 * policy->capacity;
	s64 lru = race->lru_moves - before->lru_moves;
	s64 ours = race->policy_moves - before->policy_moves;

	if (policy->distrusts != before->policy.distrusts || policy->behind == -chance)
		return;
	KUNIT_EXPECT_EQ(test, policy->lru_moved - before->policy.lru_moved, lru * 16);
	KUNIT_EXPECT_EQ(test, policy->behind - before->policy.behind, (ours - lru) * 16);
}

/*
 * The policy knows exactly what plain LRU would have in VRAM, and how much the policy and plain LRU
 * have moved.
 */
static void race_knows_lru(struct kunit *test)
{
	struct race *before = test_zalloc(test, sizeof(*before));
	struct race *race = race_make(test, SET / 2, 0);
	struct rnd_state random;
	u32 n, step;

	prandom_seed_state(&random, 9);
	for (step = 0; step < 2000; step++) {
		*before = *race;
		race_use(test, race, prandom_u32_state(&random) % SET);
		KUNIT_EXPECT_EQ(test, race->policy.recent_pages, race->nr_lru * 16);
		for (n = 0; n < race->nr_lru; n++)
			KUNIT_EXPECT_FALSE(test, list_empty(&race->items[race->lru[n]].recent));
		race_check_account(test, race, before);
	}
}

/* Predictions that were distrusted are used again later, and stay in use if they are right. */
static void race_trusts_again(struct kunit *test)
{
	struct race *race = race_make(test, SET * 3 / 4, 0);
	u32 policy_moves, lru_moves;

	race->policy.behind = 2 * race->policy.capacity + 1;
	race_cycles(test, race, 1);
	KUNIT_EXPECT_TRUE(test, race->distrusted);
	race_cycles(test, race, 20);
	KUNIT_EXPECT_FALSE(test, race->policy.distrusts);
	policy_moves = race->policy_moves;
	lru_moves = race->lru_moves;
	race_cycles(test, race, 20);
	KUNIT_EXPECT_LT(test, race->policy_moves - policy_moves,
			(race->lru_moves - lru_moves) * 2 / 5);
}

/* The policy's clock wraps: victims stay the same as without. */
static void race_clock_wraps(struct kunit *test)
{
	struct race *race = race_make(test, SET * 3 / 4, 0);
	struct race *wraps = race_make(test, SET * 3 / 4, -3ull * SET * 16);
	struct rnd_state random;
	u32 n;

	prandom_seed_state(&random, 3);
	for (n = 0; n < 10 * SET; n++) {
		u32 item = prandom_u32_state(&random) % 8 ? n % SET :
							    prandom_u32_state(&random) % SET;

		race_use(test, race, item);
		race_use(test, wraps, item);
		KUNIT_ASSERT_MEMEQ(test, race->in_vram, wraps->in_vram, sizeof(race->in_vram));
	}
	KUNIT_EXPECT_LT(test, wraps->policy.clock, race->policy.clock);
	KUNIT_EXPECT_GT(test, race->policy_moves, 0);
}

/* ---- Cost ------------------------------------------------------------------------ */

#define FEW	1000
#define MANY	100000
#define PICKS	512
#define ROUNDS	16
#define TRIES	10
#define MOST	12

/* What the measurement of victims needs; @other is overwritten to empty the processor's caches. */
struct cost {
	struct pagoda_policy policy;
	struct pagoda_policy_group group;
	struct pagoda_policy_item items[MANY];
	struct pagoda_policy_lane lanes[MANY];
	struct pagoda_policy_item *victims[PICKS];
	u8 other[SZ_16M];
};

/* Adds @count items, spread evenly over the memory for MANY items, and has them used. */
static void cost_fill(struct cost *cost, u32 count)
{
	const u32 apart = MANY / count;
	u32 n;

	pagoda_policy_init(&cost->policy, 16ull * count * SZ_4K);
	pagoda_policy_group_init(&cost->group, NULL);
	for (n = 0; n < count; n++)
		pagoda_policy_add(&cost->policy, &cost->items[n * apart],
				  &cost->lanes[n * apart], &cost->group, (1 + n % 31) * SZ_4K);
	/* Some intervals are short, so that the policy has many rows. */
	for (n = 0; n < 4 * count; n++)
		pagoda_policy_use(&cost->policy,
				  &cost->items[(n % 4 ? n : n / 1024 * n) % count * apart]);
}

/*
 * Returns the nanoseconds in which PICKS victims are picked, with empty caches at first, and leave
 * VRAM. Then they are used again.
 */
static u64 cost_round(struct cost *cost, u8 round)
{
	struct pagoda_policy_item *victim;
	u64 start, took;
	u32 n;

	memset(cost->other, round, sizeof(cost->other));
	start = ktime_get_ns();
	for (n = 0; n < PICKS; n++) {
		victim = pagoda_policy_pick(&cost->policy, PAGODA_POLICY_NEED_ANY, NULL);
		pagoda_policy_leave(&cost->policy, victim);
		cost->victims[n] = victim;
	}
	took = ktime_get_ns() - start;
	for (n = 0; n < PICKS; n++)
		pagoda_policy_use(&cost->policy, cost->victims[n]);
	return took;
}

/* Returns nanoseconds per victim, the best of several rounds. */
static u64 cost_measure(struct cost *cost, u32 count)
{
	u64 best = U64_MAX;
	u32 round;

	cost_fill(cost, count);
	for (round = 0; round < ROUNDS; round++)
		best = min(best, cost_round(cost, round));
	return div_u64(best, PICKS);
}

static void cost_free(void *cost)
{
	kvfree(cost);
}

/*
 * With a hundred times as many candidates a pick may take MOST times as long, because of cache
 * misses, which no test can exclude. A scan of all candidates would take over a hundred times as
 * long.
 */
static void race_flat_cost(struct kunit *test)
{
	struct cost *cost = kvzalloc(sizeof(*cost), GFP_KERNEL);
	u64 few = U64_MAX, many = U64_MAX;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, cost);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, cost_free, cost));
	/* Repeated, because other programs may use the machine for as long as all rounds take. */
	for (i = 0; i < TRIES && (!i || many > MOST * few); i++) {
		memset(cost, 0, sizeof(*cost));
		few = cost_measure(cost, FEW);
		memset(cost, 0, sizeof(*cost));
		many = cost_measure(cost, MANY);
	}
	kunit_info(test, "a victim among %u: %llu ns, among %u: %llu ns\n", FEW, few, MANY, many);
	KUNIT_EXPECT_LE(test, many, MOST * few);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE(race_beats_lru),
	KUNIT_CASE(race_harms_nobody),
	KUNIT_CASE(race_falls_back),
	KUNIT_CASE(race_knows_lru),
	KUNIT_CASE(race_trusts_again),
	KUNIT_CASE(race_clock_wraps),
	KUNIT_CASE_SLOW(race_flat_cost),
	{}
};

static struct kunit_suite race_suite = {
	.name = "pagoda_policy_race",
	.test_cases = race_cases,
};

kunit_test_suite(race_suite);
