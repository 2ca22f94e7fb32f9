// SPDX-License-Identifier: GPL-2.0
/* Tests of token buckets of the paging-traffic budget, at invented times. */
#include <linux/prandom.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include "rig/vidmm_helpers.h"

#define SECOND	((u64)NSEC_PER_SEC)
#define START	(100 * SECOND)
#define BURST	(64 * SZ_1K)
#define RATE	SZ_1M		/* bytes per second */

/* A bandwidth that was never measured. */
static const struct pagoda_bandwidth unknown;

static void traffic_make(struct pagoda_traffic *traffic)
{
	pagoda_traffic_init(traffic, &unknown, 5, PAGODA_TRAFFIC_ALONE, BURST, START);
	traffic->fixed = RATE;
}

static struct pagoda_traffic_state traffic_at(struct pagoda_traffic *traffic, u64 now)
{
	struct pagoda_traffic_state state;

	pagoda_traffic_look(traffic, now, &state);
	return state;
}

/* Before a bandwidth was measured nothing is limited. */
static void traffic_unknown(struct kunit *test)
{
	struct pagoda_traffic traffic;

	pagoda_traffic_init(&traffic, &unknown, 5, PAGODA_TRAFFIC_ALONE, BURST, START);
	pagoda_traffic_spend(&traffic, 100 * BURST);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START));
	KUNIT_EXPECT_EQ(test, 100ull * BURST, traffic_at(&traffic, START).spent);
	KUNIT_EXPECT_EQ(test, (s64)BURST, traffic_at(&traffic, START).tokens);
	KUNIT_EXPECT_EQ(test, 0ull, traffic_at(&traffic, START).rate);
}

/* If both percentages are 0 there is no limit. */
static void traffic_unlimited(struct kunit *test)
{
	struct pagoda_bandwidth bandwidth = {};
	struct pagoda_traffic traffic;

	pagoda_bandwidth_measure(&bandwidth, SZ_64M, SECOND);
	pagoda_traffic_init(&traffic, &bandwidth, 0, 0, BURST, START);
	pagoda_traffic_spend(&traffic, 100 * BURST);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START));
	KUNIT_EXPECT_EQ(test, 100ull * BURST, traffic_at(&traffic, START).spent);
	KUNIT_EXPECT_EQ(test, 0ull, traffic_at(&traffic, START).rate);
}

/* Two buckets with one measured bandwidth: each has its own tokens and its own share. */
static void traffic_two(struct kunit *test)
{
	struct pagoda_bandwidth bandwidth = {};
	struct pagoda_traffic one, other;

	pagoda_traffic_init(&one, &bandwidth, 25, 25, BURST, START);
	pagoda_traffic_init(&other, &bandwidth, 50, 50, BURST, START);
	pagoda_bandwidth_measure(&bandwidth, SZ_64M, SECOND);
	KUNIT_EXPECT_EQ(test, (u64)SZ_16M, traffic_at(&one, START).rate);
	KUNIT_EXPECT_EQ(test, (u64)SZ_32M, traffic_at(&other, START).rate);
	pagoda_traffic_spend(&one, 2 * BURST);
	KUNIT_EXPECT_EQ(test, -(s64)BURST, traffic_at(&one, START).tokens);
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&one, START));
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&other, START));
	KUNIT_EXPECT_EQ(test, (s64)BURST, traffic_at(&other, START).tokens);
	/*
	 * 64 KiB of debt, and a token, at 16 MiB a second take a 256th of a second, within
	 * rounding.
	 */
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&one, START + SECOND / 257));
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&one, START + SECOND / 255));
}

/* A call with an earlier time than that of the last call adds no tokens. */
static void traffic_late(struct kunit *test)
{
	struct pagoda_traffic traffic;

	traffic_make(&traffic);
	pagoda_traffic_spend(&traffic, 3 * BURST);
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&traffic, START + SECOND / 100));
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&traffic, START));
	KUNIT_EXPECT_GT(test, 0ll, traffic_at(&traffic, START + SECOND / 100).tokens);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + SECOND));
}

/*
 * A debt is paid exactly, to the token, and each call before the end of the wait prolongs the wait
 * by a nanosecond at most.
 */
static void traffic_debt(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u64 wait, now, asked = 0;

	traffic_make(&traffic);
	pagoda_traffic_spend(&traffic, 3 * BURST);
	wait = pagoda_traffic_wait(&traffic, START);
	/* Tokens of twice the burst, plus one. */
	KUNIT_EXPECT_EQ(test, (2 * BURST + 1) * SECOND / RATE + 1, wait);
	for (now = START; now < START + wait; now += 777, asked++)
		if (!pagoda_traffic_wait(&traffic, now))
			break;
	KUNIT_EXPECT_GE(test, now, START + wait);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + wait + 1000 + asked));
	KUNIT_EXPECT_EQ(test, asked + 1, traffic.refused);
}

/* No more than &pagoda_traffic.burst tokens are saved up. */
static void traffic_full(struct kunit *test)
{
	struct pagoda_traffic traffic;

	traffic_make(&traffic);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + 1000000 * SECOND));
	KUNIT_EXPECT_EQ(test, (s64)BURST, traffic.tokens);
	pagoda_traffic_spend(&traffic, BURST);
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&traffic, START + 1000000 * SECOND));
}

/*
 * Without other traffic the rate is 125 % of the bandwidth; beside other traffic it is the share,
 * until other traffic has stopped for a while, here a second.
 */
static void traffic_others(struct kunit *test)
{
	struct pagoda_bandwidth bandwidth = {};
	struct pagoda_traffic traffic;
	u64 alone, beside;

	pagoda_traffic_init(&traffic, &bandwidth, 5, PAGODA_TRAFFIC_ALONE, BURST, START);
	pagoda_bandwidth_measure(&bandwidth, SZ_64M, SECOND);
	KUNIT_EXPECT_EQ(test, (s64)SZ_64M, atomic64_read(&bandwidth.rate));
	pagoda_traffic_spend(&traffic, BURST + SZ_64M);
	alone = pagoda_traffic_wait(&traffic, START);
	KUNIT_EXPECT_LT(test, alone, SECOND);
	KUNIT_EXPECT_GT(test, alone, SECOND / 2);
	pagoda_traffic_others(&traffic, START);
	beside = pagoda_traffic_wait(&traffic, START);
	KUNIT_EXPECT_GE(test, beside, 20 * SECOND);
	KUNIT_EXPECT_LT(test, beside, 21 * SECOND);
	/* The other traffic stopped a second ago. */
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + SECOND));
}

/*
 * Saved tokens aren't spent beside other traffic: one more move is allowed, for a single token that
 * is left, then the share applies.
 */
static void traffic_saved(struct kunit *test)
{
	struct pagoda_bandwidth bandwidth = {};
	struct pagoda_traffic traffic;

	pagoda_traffic_init(&traffic, &bandwidth, 5, PAGODA_TRAFFIC_ALONE, BURST, START);
	pagoda_bandwidth_measure(&bandwidth, SZ_64M, SECOND);
	pagoda_traffic_others(&traffic, START);
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START));
	pagoda_traffic_spend(&traffic, BURST);
	KUNIT_EXPECT_NE(test, 0ull, pagoda_traffic_wait(&traffic, START));
	/* Other traffic takes away saved tokens, but no debt. */
	pagoda_traffic_others(&traffic, START);
	KUNIT_EXPECT_EQ(test, 1 - (s64)BURST, traffic_at(&traffic, START).tokens);
	/* The other traffic stopped a second ago: tokens may be saved up again. */
	KUNIT_EXPECT_EQ(test, 0ull, pagoda_traffic_wait(&traffic, START + SECOND));
	KUNIT_EXPECT_EQ(test, (s64)BURST, traffic_at(&traffic, START + SECOND).tokens);
}

/* A single sample changes the measured bandwidth little, a lasting change is followed. */
static void traffic_measures(struct kunit *test)
{
	struct pagoda_bandwidth bandwidth = {};
	u32 i;

	pagoda_bandwidth_measure(&bandwidth, SZ_8M, SECOND / 100);
	pagoda_bandwidth_measure(&bandwidth, SZ_8M, SECOND);
	KUNIT_EXPECT_GT(test, atomic64_read(&bandwidth.rate), 80ll * SZ_8M);
	for (i = 0; i < 100; i++)
		pagoda_bandwidth_measure(&bandwidth, SZ_8M, SECOND);
	KUNIT_EXPECT_LT(test, atomic64_read(&bandwidth.rate), 2ll * SZ_8M);
	/* Implausibly fast, as after completions that were reported late. */
	for (i = 0; i < 4; i++) {
		pagoda_bandwidth_measure(&bandwidth, SZ_8M, i);
		KUNIT_EXPECT_LT(test, atomic64_read(&bandwidth.rate), 4ll * SZ_8M);
	}
	for (i = 0; i < 100; i++)
		pagoda_bandwidth_measure(&bandwidth, SZ_8M, SECOND / 100);
	KUNIT_EXPECT_GT(test, atomic64_read(&bandwidth.rate), 80ll * SZ_8M);
	for (i = 0; i < 1000; i++)
		pagoda_bandwidth_measure(&bandwidth, 0, SECOND);
	KUNIT_EXPECT_GE(test, atomic64_read(&bandwidth.rate), 1ll);
}

/*
 * At random times, no more is spent than a full bucket and the tokens that came since, but for the
 * last move; and at least half of that.
 */
static void traffic_random(struct kunit *test)
{
	struct pagoda_traffic traffic;
	u64 now = START, spent = 0, most = 0, wait, bytes;
	struct rnd_state rnd;
	u32 i;

	pagoda_kunit_seed(test, &rnd);
	traffic_make(&traffic);
	for (i = 0; i < 10000; i++) {
		wait = pagoda_traffic_wait(&traffic, now);
		if (wait) {
			now += pagoda_kunit_below(&rnd, 2) ? wait :
			       pagoda_kunit_below(&rnd, 1 << 20);
			continue;
		}
		bytes = 1 + pagoda_kunit_below(&rnd, 2 * BURST);
		pagoda_traffic_spend(&traffic, bytes);
		spent += bytes;
		most = BURST + (now - START) / 1000 * RATE / (NSEC_PER_SEC / 1000) + RATE / 1000;
		/* The last move may leave a debt. */
		KUNIT_ASSERT_LE(test, spent - bytes, most);
	}
	/* Tokens were asked for all the time, so that not much less is spent either. */
	KUNIT_EXPECT_GE(test, 2 * spent, most);
}

static struct kunit_case traffic_cases[] = {
	KUNIT_CASE(traffic_unknown),
	KUNIT_CASE(traffic_unlimited),
	KUNIT_CASE(traffic_two),
	KUNIT_CASE(traffic_late),
	KUNIT_CASE(traffic_debt),
	KUNIT_CASE(traffic_full),
	KUNIT_CASE(traffic_others),
	KUNIT_CASE(traffic_saved),
	KUNIT_CASE(traffic_measures),
	KUNIT_CASE(traffic_random),
	{}
};

static struct kunit_suite traffic_suite = {
	.name = "pagoda_traffic",
	.test_cases = traffic_cases,
};

kunit_test_suite(traffic_suite);
